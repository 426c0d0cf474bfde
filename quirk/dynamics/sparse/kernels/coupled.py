"""Tables of what is read off an evaluation, and of friction, which depends on it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

# What is read: a load of a constraint, its multiplier, a load of a force element, one of the numbers that its law
# gives, an energy of the system; a force that follows from several multipliers; how much more friction could hold than
# it does; whether there is one solution for all friction; and how far inside their cones several contacts can share a
# load.
OF_CONSTRAINT, MULTIPLIER, OF_FORCE, OUTPUT_OF_LAW, ENERGY, SHARE, CONE, SOLVABLE, PATCH = range(9)

# Entries of each reading. Of a load: whether it is a torque, and along which axis of N, -1 for its magnitude. Of a
# constraint: its nodes; of both its bodies where they are in states, kinematics and wrenches; and whether body j is the
# ground. Of a force element its number and its end; where an output or a multiplier is; which energies count. Of
# forces that follow from several multipliers where their terms begin, how many terms and how many forces there are; of
# contacts that share a load also where their numbers begin, how many contacts there are, and in how many ways they can.
(
    IS_TORQUE, AXIS, NODE, NODE_END, STATE_I, STATE_J, KIN_I, KIN_J, WRENCH_I, WRENCH_J, J_IS_GROUND, ELEMENT, END,
    PLACE, KINETIC, POTENTIAL, TERMS, TERM_COUNT, FORCES, PATCH_START, PATCH_SIZE, PATCH_WAYS,
) = range(22)  # fmt: skip
READING = 22
# Numbers of each reading: the level; the joint point of j in body coordinates; the inverse of the factor of moments. Of
# forces that follow from several multipliers their offsets, and behind them the coefficient of friction.
LEVEL, ARM, UNSCALED = 0, 1, 4
OFFSETS, COEFFICIENT = 1, 5
# Forces of a reading at most: a load and three components of friction.
MOST_FORCES = 4
NUMBERS = 13


@record
class Readings(NamedTuple):
    """R readings.

    kind (R,) · entries (READING R,), numbers (NUMBERS R,): as above · nodes: of all constraints, one after the other ·
    energies: where the outputs of laws have their energies · wrench: scratch · multipliers: of forces that follow from
    several · weights: of these · patches: of contacts that share a load inverse coefficients, weights and ways to share
    it otherwise, see `quirk.events.names.Patch` · shared, scratch: their loads, and what finding these takes
    """

    kind: np.ndarray
    entries: np.ndarray
    numbers: np.ndarray
    nodes: np.ndarray
    energies: np.ndarray
    wrench: np.ndarray
    multipliers: np.ndarray
    weights: np.ndarray
    patches: np.ndarray
    shared: np.ndarray
    scratch: np.ndarray


@record
class FrictionTables(NamedTuple):
    """C frictions of sliding bodies, and behind them S of bodies that stick.

    element (C,): its law · slip, direction (C,): where the outputs of that begin with the slip, and its inputs with the
    direction · size (C,): number of components · wrenches (2 C,): where bodies i and j are in arrays of wrenches

    Of both kinds: coefficient (C + S,) · takes (C + S,): which load counts, see `quirk.forces.friction` · place
    (C + S,): the first of two readings of a joint, or 0 for a contact; -1 where there is no load · terms (C + S + 1,):
    where those of each contact begin among `multipliers`, from which its load follows by `weights` · kinematics
    (2 (C + S),) of bodies i and j · axis (3 (C + S),) in body i · length (C + S,) · readings: of the loads of joints.

    Written: x, wrench: multipliers and wrenches without friction, then of a unit force of each, C + 1 times · load
    (6 C (C + 1),): what counts for each of these · present (6,): one load at the present magnitudes · varied (6,):
    scratch for one · matrix (C C,), rest, magnitude (C,) · solvable (1,): positive where there is one solution.
    """

    element: np.ndarray
    slip: np.ndarray
    direction: np.ndarray
    size: np.ndarray
    wrenches: np.ndarray
    coefficient: np.ndarray
    takes: np.ndarray
    place: np.ndarray
    terms: np.ndarray
    multipliers: np.ndarray
    weights: np.ndarray
    kinematics: np.ndarray
    axis: np.ndarray
    length: np.ndarray
    readings: Readings
    x: np.ndarray
    wrench: np.ndarray
    load: np.ndarray
    present: np.ndarray
    varied: np.ndarray
    matrix: np.ndarray
    rest: np.ndarray
    magnitude: np.ndarray
    solvable: np.ndarray
