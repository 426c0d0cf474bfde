"""Tables of readings, scalars computed from an evaluation, and of friction proportional to constraint loads.

A reading is, for example, a component of a joint force or an energy. A node is a group of up to six constraint rows of
one joint; a wrench is a force and a moment on a body.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.jit.record import record

from .applied import Forces

# Kinds of readings:
#   OF_CONSTRAINT: component of the load of a constraint
#   MULTIPLIER: one multiplier
#   OF_FORCE: component of the load of a force element
#   OUTPUT_OF_LAW: output of a force law
#   ENERGY: energy of the system
#   SHARE: force that is a linear combination of multipliers
#   CONE: static friction limit minus the magnitude of a sticking friction force
#   SOLVABLE: positive if the equations of friction have a unique solution
#   COMMON_MARGIN: margin of dependent contacts or joints to their friction limits
#   KEPT_ROWS: threshold minus the largest multiplier of kept rows in redistributions of shared loads
(
    OF_CONSTRAINT, MULTIPLIER, OF_FORCE, OUTPUT_OF_LAW, ENERGY, SHARE, CONE, SOLVABLE, COMMON_MARGIN, KEPT_ROWS,
) = range(10)  # fmt: skip

# Integers of each reading; each kind of reading uses some of them.
#   IS_TORQUE, AXIS: of a load, 1 for the torque or 0 for the force, and the inertial axis, -1 for the magnitude
#   NODE, NODE_END: range of the nodes of a constraint
#   STATE_I, STATE_J, KIN_I, KIN_J, WRENCH_I, WRENCH_J: offsets of bodies i and j in arrays of states, kinematics and
#     wrenches
#   J_IS_GROUND: 1 if body j of the constraint is the ground, otherwise 0
#   ELEMENT, END: index of a force element, and of its side (body)
#   PLACE: index of an output or multiplier; for CONE, of the friction whose limit is proportional to a load, otherwise
#     -1
#   KINETIC, POTENTIAL: 1 if the energy includes kinetic or potential energy, otherwise 0
#   TERMS, TERM_COUNT, FORCES: of linear combinations of multipliers, the first term, number of terms and number of
#     forces
#   MARGIN_START, MARGIN_MEMBERS, MARGIN_FREE: of dependent contacts or joints, the first element in `Readings.margins`,
#     their number, and the number of independent redistributions of their loads
#   MARGIN_SLIDES: first element in `Readings.slides`; -1 if no contact slides
#   MARGIN_JOINTS, MARGIN_JOINT_COUNT, MARGIN_LOADS: of joints whose friction limit is proportional to their load, the
#     first element in `Readings.followed`, their number, and the first reading of their loads
(
    IS_TORQUE, AXIS, NODE, NODE_END, STATE_I, STATE_J, KIN_I, KIN_J, WRENCH_I, WRENCH_J, J_IS_GROUND, ELEMENT, END,
    PLACE, KINETIC, POTENTIAL, TERMS, TERM_COUNT, FORCES, MARGIN_START, MARGIN_MEMBERS, MARGIN_FREE,
    MARGIN_SLIDES, MARGIN_JOINTS, MARGIN_JOINT_COUNT, MARGIN_LOADS,
) = range(26)  # fmt: skip
READING = 26
# Indices among the floats of each reading:
#   LEVEL: threshold, which is subtracted from the quantity
#   ARM: joint point of body j in body axes, m
#   UNSCALED: matrix (3, 3) by rows that converts a scaled moment to a moment in body axes
#   OFFSETS: for linear combinations of multipliers, in place of ARM: constants that are added to the forces, N
#   COEFFICIENT: coefficient of friction, which follows after OFFSETS
LEVEL, ARM, UNSCALED = 0, 1, 4
OFFSETS, COEFFICIENT = 1, 5
# Maximum number of forces per reading: a normal load and three components of friction.
MOST_FORCES = 4
NUMBERS = 13


@record
class Readings(NamedTuple):
    """Tables of R readings: scalars, such as a joint force, that are computed from an evaluation.

    Dependent contacts, or joints, share a load whose distribution is not determined by the motion. Names in capitals
    are constants of this module.

    Attributes
    ----------
    kind : (R,) kind of each reading
    entries : (READING R,) integers of each reading, such as indices of its data in the other arrays
    numbers : (NUMBERS R,) floats of each reading, such as the threshold that is subtracted
    nodes : indices of the nodes of the constraints of all readings, concatenated
    energies : indices of the potential energies of force elements among the outputs of force laws
    wrench : scratch array for the loads of one constraint on its bodies
    multipliers, weights : indices of the multipliers in linear combinations, and their weights
    margins : for dependent contacts or joints: inverse friction coefficients; constants, weights of multipliers and
        redistributions, from which their loads are computed; and bearing forces of joints per unit load. See
        `quirk.events.names.CommonMargin`
    slides : for each dependent contact, the index of its sliding friction element; -1 if it does not slide
    followed : index, among dependent contacts and joints, of each joint whose friction limit is proportional to its
        load
    shared, basis : scratch arrays: loads of dependent contacts or joints, and redistributions of these loads
    scratch : scratch array for the computation of the largest margin to friction limits
    """

    kind: np.ndarray
    entries: np.ndarray
    numbers: np.ndarray
    nodes: np.ndarray
    energies: np.ndarray
    wrench: np.ndarray
    multipliers: np.ndarray
    weights: np.ndarray
    margins: np.ndarray
    slides: np.ndarray
    followed: np.ndarray
    shared: np.ndarray
    basis: np.ndarray
    scratch: np.ndarray


@record
class SharedRowTables(NamedTuple):
    """Tables of the rows of contacts and friction among which shared loads are distributed at each state.

    Of h + d rows that depend on each other, the first h are kept, and d are left out. A distribution of the load is
    given by multipliers of all rows. It is linear in the multipliers of the kept rows with which the others exert no
    force. Of j joints, the loads depend on the distribution. Further u rows depend on these rows, but have no load. See
    `quirk.forces.load_shares`.

    Attributes
    ----------
    laws : force laws with the loads of unit forces along the rows that are left out
    elements : (d + u,) index of the law of each row that is left out or without load
    left_out : number d of rows that are left out
    applied : 1 if these laws are evaluated together with the applied loads, otherwise 0
    first : (d + u + 1,) index in `wrenches` of the first body of each of these rows
    wrenches : offsets of the bodies of these rows in arrays of wrenches
    kept : (h,) index of the multiplier of each kept row
    compliance : (h + d + u,) relative compliance of each row
    joints : readings of force and torque of each of the j joints
    values : results, matrices by rows, and at the end the number 1:

        * weights (h + d + u, h) of the multipliers of kept rows in the multipliers of all rows; those of rows without
          load belong to the multiplier that would reduce the sum of compliances times squared multipliers most
        * redistributions (h + d, d), multipliers without effect on the motion, as columns
        * weights (6 j, h) of the multipliers of kept rows in the changes of force and torque of the joints, axes of
          body i
        * these changes (6 j, d) due to the redistributions
        * multipliers (h, u) of the kept rows that balance a unit multiplier of each row without load
    weight_targets, weight_sources, weight_factors : places in an array of weights to which values are added, indices of
        these values, and factors
    margin_targets, margin_sources, margin_factors : the same for the margins of readings
    largest : (1,) result: largest multiplier of a kept row in a redistribution by a unit multiplier of a row that is
        left out, both times the root of their compliance; it is large if kept rows are nearly dependent
    wrench, goal, x : scratch arrays for copies of those arrays of the workspace
    matrix, residual : (d d,) and (d,) scratch arrays
    """

    laws: Forces
    elements: np.ndarray
    left_out: int
    applied: int
    first: np.ndarray
    wrenches: np.ndarray
    kept: np.ndarray
    compliance: np.ndarray
    joints: Readings
    values: np.ndarray
    weight_targets: np.ndarray
    weight_sources: np.ndarray
    weight_factors: np.ndarray
    margin_targets: np.ndarray
    margin_sources: np.ndarray
    margin_factors: np.ndarray
    largest: np.ndarray
    wrench: np.ndarray
    goal: np.ndarray
    x: np.ndarray
    matrix: np.ndarray
    residual: np.ndarray


@record
class FrictionTables(NamedTuple):
    """Tables of C sliding friction elements, followed by S sticking friction elements.

    The friction forces of sliding elements and the friction limits of sticking elements are proportional to constraint
    loads. All arrays are flat; `x` and the arrays after it are written by compiled code.

    Attributes
    ----------
    element : (C,) index of the force element
    slip : (C,) index of the slip velocity among the outputs of force laws
    direction : (C,) index of the direction of slip among the inputs of force laws
    size : (C,) number of slip components
    wrenches : (2 C,) offsets of bodies i and j in arrays of wrenches
    coefficient : (C + S,) coefficient of friction
    takes : (C + S,) source of the normal load, NORMAL to CONSTANT in `quirk.forces.stick_slip`
    place : (C + S,) index of the first of two readings, force and torque of a joint; 0 for a contact, and -1 for a
        disabled joint or contact
    terms : (C + S + 1,) index in `multipliers` of the first term of the load of each contact or joint
    multipliers, weights : indices of the multipliers in these loads, and their weights, six for each multiplier
    kinematics : (2 (C + S),) offsets of bodies i and j in arrays of kinematics
    axis : (3 (C + S),) axis of the joint in axes of body i
    length : (C + S,) distance of the two bearings that share the load of a joint, m; 0 for a single bearing
    readings : readings of the joint loads
    shared : rows that share loads on which the friction depends; empty if there are none
    x, wrench : multipliers and wrenches in C + 1 cases: without friction, and under a unit force of each sliding
        element
    load : (6 C (C + 1),) constraint loads that determine the normal loads, in each of the C + 1 cases
    present : (6,) one constraint load at the present friction magnitudes
    varied : (6,) scratch array for one constraint load
    matrix, residual, magnitude : (C C,), (C,), (C,) Newton's matrix, its right-hand side, and the friction magnitudes
    solvable : (1,) positive if the solution for the magnitudes is unique
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
    shared: SharedRowTables
    x: np.ndarray
    wrench: np.ndarray
    load: np.ndarray
    present: np.ndarray
    varied: np.ndarray
    matrix: np.ndarray
    residual: np.ndarray
    magnitude: np.ndarray
    solvable: np.ndarray
