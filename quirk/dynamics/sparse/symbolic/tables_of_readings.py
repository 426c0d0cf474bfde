"""Tables of readings: scalars that compiled code computes from an evaluation, such as a component of a joint force."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.constraints import Constraint
from quirk.constraints.sticking import Sticking
from quirk.dynamics.model.layout import KINEMATICS_SIZE, WRENCH_SIZE
from quirk.dynamics.model.model import Model
from quirk.events.names import LOADS, CommonMargin, KeptRows, Reading, Shared
from quirk.forces.friction import Friction
from quirk.forces.law_layout import COORDINATE
from quirk.forces.stick_slip import CONSTANT, NORMAL, StickSlip
from quirk.jit.simd import aligned

from ..kernels.applied import ELEMENT_SIZE, OUTPUT, Forces
from ..kernels.friction_margin import scratch_size_with_joints
from ..kernels.load_tables import (
    ARM,
    COEFFICIENT,
    COMMON_MARGIN,
    CONE,
    ENERGY,
    FORCES,
    KEPT_ROWS,
    LEVEL,
    MARGIN_FREE,
    MARGIN_JOINT_COUNT,
    MARGIN_JOINTS,
    MARGIN_LOADS,
    MARGIN_MEMBERS,
    MARGIN_SLIDES,
    MARGIN_START,
    MOST_FORCES,
    MULTIPLIER,
    NUMBERS,
    OF_CONSTRAINT,
    OF_FORCE,
    OFFSETS,
    OUTPUT_OF_LAW,
    PLACE,
    READING,
    SHARE,
    SOLVABLE,
    TERM_COUNT,
    TERMS,
    Readings,
)
from .tables import Tables


def flat_readings(readings: Sequence[Reading], model: Model, tables: Tables, forces: Forces) -> Readings:
    """Return the tables of readings, scalars computed from an evaluation such as a component of a joint force.

    Readings of disabled constraints and force elements are zero.
    """
    nodes: list[int] = []
    multipliers: list[int] = []
    weights: list[float] = []
    margins: list[float] = []
    slides: list[int] = []
    followed: list[int] = []
    kind, entries, numbers = [], [], []
    shared = [reading for reading in readings if isinstance(reading, CommonMargin)]
    # The loads of joints on which friction limits depend are additional readings, after the requested ones.
    loads = [Reading(joint, what, None, 0.0) for of in shared for joint in of.joints for what in ("force", "torque")]
    for reading in [*readings, *loads]:
        if isinstance(reading, Shared):
            e, x = _of_shared(reading, model, tables, multipliers, weights)
        elif isinstance(reading, CommonMargin):
            e, x = _of_common_margin(reading, model, tables, multipliers, weights, margins, slides)
            e[1][MARGIN_JOINTS], e[1][MARGIN_JOINT_COUNT] = len(followed), len(reading.joints)
            e[1][MARGIN_LOADS] = len(readings) + 2 * len(followed)
            followed += reading.places
        else:
            e, x = _entries(reading, model, tables, forces, nodes)
        kind.append(e[0])
        entries.append(e[1])
        numbers.append(x)
    sizes = [(len(reading.constants), len(reading.basis[0]), len(reading.rows)) for reading in shared]
    energies = [
        forces.entries[ELEMENT_SIZE * e + OUTPUT] + element.layout().energy
        for e, (element, _) in enumerate(model.forces)
        if element.stores
    ]
    return Readings(
        kind=np.array(kind, dtype=np.int64),
        entries=np.array(entries, dtype=np.int64).ravel(),
        numbers=np.array(numbers, dtype=float).reshape(-1, NUMBERS).ravel(),
        nodes=np.array(nodes, dtype=np.int64),
        energies=np.array(energies, dtype=np.int64),
        wrench=aligned(tables.slots.lanes * WRENCH_SIZE),
        multipliers=np.array(multipliers, dtype=np.int64),
        weights=np.array(weights, dtype=float),
        margins=np.array(margins, dtype=float),
        slides=np.array(slides, dtype=np.int64),
        followed=np.array(followed, dtype=np.int64),
        shared=np.zeros(max((components for components, _, _ in sizes), default=0)),
        basis=np.zeros(max((components * ways for components, ways, _ in sizes), default=0)),
        scratch=np.zeros(
            max((max(scratch_size_with_joints(components, ways), rows) for components, ways, rows in sizes), default=0)
        ),
    )


def _entries(
    reading: Reading, model: Model, tables: Tables, forces: Forces, nodes: list[int]
) -> tuple[tuple[int, list[int]], np.ndarray]:
    entries, numbers = [0] * READING, np.zeros(NUMBERS)
    numbers[0] = reading.level
    entries[:2] = int(reading.quantity == "torque"), -1 if reading.axis is None else reading.axis
    if reading.quantity == "solvable":
        return (SOLVABLE, entries), numbers
    if isinstance(reading, KeptRows):
        return (KEPT_ROWS, entries), numbers
    if reading.of is None:
        entries[14:16] = int(reading.quantity != "potential"), int(reading.quantity != "kinetic")
        return (ENERGY, entries), numbers
    if isinstance(reading.of, Constraint):
        rows = model.joint_rows.get(reading.of.name, range(0))
        if reading.quantity == "multiplier" and rows.stop > rows.start:
            entries[13] = int(tables.row_lane[rows.start])
            return (MULTIPLIER, entries), numbers
        if rows.stop > rows.start:
            _of_constraint(reading.of, model, tables, entries, numbers, nodes)
        else:
            entries[2:4] = len(nodes), len(nodes)
        return (OF_CONSTRAINT, entries), numbers
    number = next((e for e, (element, _) in enumerate(model.forces) if element.name == reading.of.name), None)
    if number is None:
        held = next((one for one, _ in model.joint_bodies if one.name == reading.of.name), None)
        if held is not None and reading.quantity in LOADS:  # sticking friction
            _of_constraint(held, model, tables, entries, numbers, nodes)
            numbers[ARM : ARM + 3] = 0.0  # torques of force elements are about the center of mass
            return (OF_CONSTRAINT, entries), numbers
        return (ENERGY, entries), numbers  # the part is disabled: an energy without terms is zero
    element, layout = model.forces[number][0], model.forces[number][0].layout()
    entries[11:13] = number, len(element.acting_ends) - 1
    if reading.quantity in ("force", "torque"):
        return (OF_FORCE, entries), numbers
    place = layout.energy
    if reading.quantity != "energy":
        place = layout.first_coordinate + COORDINATE * element.coordinates.index(reading.quantity)
    entries[13] = int(forces.entries[ELEMENT_SIZE * number + OUTPUT]) + place
    return (OUTPUT_OF_LAW, entries), numbers


def _of_shared(
    reading: Shared, model: Model, tables: Tables, multipliers: list[int], weights: list[float]
) -> tuple[tuple[int, list[int]], np.ndarray]:
    """Return the table entries of a reading that depends on linear combinations of multipliers.

    The entries are a pair, the kind of the reading and its integers, and an array of its floats; `kernels.load_tables`
    describes them. The indices of the multipliers are appended to `multipliers`, and their coefficients to `weights`.
    """
    entries, numbers = [0] * READING, np.zeros(NUMBERS)
    numbers[LEVEL] = reading.level
    numbers[OFFSETS : OFFSETS + len(reading.offsets)] = reading.offsets
    entries[TERMS], entries[TERM_COUNT], entries[FORCES] = len(multipliers), len(reading.rows), len(reading.offsets)
    multipliers += [int(tables.row_lane[model.joint_rows[name].start + row]) for name, row in reading.rows]
    own_weights = [weight for of in reading.weights for weight in of]
    weights += own_weights + [0.0] * (MOST_FORCES * len(reading.rows) - len(own_weights))
    if reading.quantity == "share":
        return (SHARE, entries), numbers
    friction = reading.of
    assert isinstance(friction, StickSlip)
    numbers[COEFFICIENT] = friction.static
    entries[PLACE] = -1
    if friction.takes not in (NORMAL, CONSTANT):
        sliding = sum(isinstance(element, Friction) for element, _ in model.forces)
        sticking = [held.name for held in sticking_by_load(model)]
        entries[PLACE] = sliding + sticking.index(friction.name)
    return (CONE, entries), numbers


def sticking_by_load(model: Model) -> list[Sticking]:
    """Return the sticking friction elements of a model whose friction limit is proportional to a constraint load."""
    sticking = [held for held, _ in model.joint_bodies if isinstance(held, Sticking)]
    return [held for held in sticking if isinstance(held.friction, Friction)]


def _of_common_margin(
    reading: CommonMargin,
    model: Model,
    tables: Tables,
    multipliers: list[int],
    weights: list[float],
    margins: list[float],
    slides: list[int],
) -> tuple[tuple[int, list[int]], np.ndarray]:
    """Return the table entries of the margin of dependent contacts or joints to their friction limits.

    The entries are a pair, the kind of the reading and its integers, and an array of its floats; `kernels.load_tables`
    describes them. The indices of the multipliers are appended to `multipliers`, zeros as placeholders to `weights`,
    the data of the contacts to `margins`, and the indices of their sliding friction elements to `slides`.
    """
    entries, numbers = [0] * READING, np.zeros(NUMBERS)
    numbers[LEVEL] = reading.level
    entries[TERMS], entries[TERM_COUNT] = len(multipliers), len(reading.rows)
    entries[MARGIN_START], entries[MARGIN_MEMBERS], entries[MARGIN_FREE] = (
        len(margins), len(reading.coefficients), len(reading.basis[0]),
    )  # fmt: skip
    multipliers += [int(tables.row_lane[model.joint_rows[name].start + row]) for name, row in reading.rows]
    weights += [0.0] * (MOST_FORCES * len(reading.rows))
    margins += [0.0 if mu == 0 else 1 / mu for mu in reading.coefficients]
    matrices = reading.weights, reading.basis, reading.bearings
    margins += [*reading.constants, *(x for rows in matrices for of in rows for x in of)]
    sliding = [element.name for element, _ in model.forces if isinstance(element, Friction)]
    entries[MARGIN_SLIDES] = len(slides) if any(reading.sliding) else -1
    slides += [-1 if name is None else sliding.index(name) for name in reading.sliding]
    return (COMMON_MARGIN, entries), numbers


def _of_constraint(
    constraint: Constraint, model: Model, tables: Tables, entries: list[int], numbers: np.ndarray, nodes: list[int]
) -> None:
    i, j = next(ends for candidate, ends in model.joint_bodies if candidate.name == constraint.name)
    rows, slots, n = model.joint_rows[constraint.name], tables.slots, len(model.mass)
    own_nodes = [
        k for k, joint in enumerate(tables.joints) if joint is not None and rows.start <= joint.rows.start < rows.stop
    ]
    entries[2:4] = len(nodes), len(nodes) + len(own_nodes)
    nodes += own_nodes
    sizes = STATE_SIZE, KINEMATICS_SIZE, WRENCH_SIZE
    entries[4:10] = [slots.offset(body, size) for size in sizes for body in (i, j)]
    entries[10] = int(j == n)
    placed = next(candidate for candidate, _ in model.joint_bodies if candidate.name == constraint.name)
    numbers[1:4] = placed.frame_j.origin
    numbers[4:] = np.linalg.cholesky(model.inertia[i if j == n else j]).ravel()
