"""Constant tables of the rows of contacts and friction among which shared loads are distributed at each state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from quirk.constraints import Constraint
from quirk.dynamics.model.layout import WRENCH_SIZE
from quirk.dynamics.model.model import Model
from quirk.events.names import CommonMargin, KeptRows, Reading, Shared
from quirk.forces import ForceElement
from quirk.forces.friction import Friction
from quirk.forces.load_shares import ForcesOfRows, SharedRows
from quirk.forces.stick_slip import NORMAL
from quirk.jit.simd import aligned

from ..kernels.applied import Forces
from ..kernels.cone_margin import LOADS
from ..kernels.friction_margin import BEARINGS
from ..kernels.load_tables import (
    MARGIN_FREE,
    MARGIN_MEMBERS,
    MARGIN_START,
    MOST_FORCES,
    READING,
    TERM_COUNT,
    TERMS,
    Readings,
    SharedRowTables,
)
from ..kernels.shared_rows import LOAD
from .tables import Tables
from .tables_of_readings import flat_readings, sticking_by_load

# No rows share loads.
NO_ROWS = SharedRows((), (), ())


@dataclass
class Places:
    """Places of an array to which multiples of computed values are added.

    Attributes
    ----------
    targets, sources, factors : index of the place, index of the value, and the factor, of each addition
    """

    targets: list[int] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    factors: list[float] = field(default_factory=list)

    def add(self, target: int, source: int, factor: float = 1.0) -> None:
        """Add the value with index `source`, times `factor`, to place `target`."""
        self.targets.append(target)
        self.sources.append(source)
        self.factors.append(factor)


class ValuesOfShares:
    """Indices of the values that compiled code computes for rows that share loads; see `SharedRowTables.values`.

    Parameters
    ----------
    rows : the rows that share loads
    joints : number of joints whose loads depend on the distribution
    """

    def __init__(self, rows: SharedRows, joints: int) -> None:
        self.h, self.d, unloaded = len(rows.kept), len(rows.left_out), len(rows.unloaded)
        self._redistributions = (self.h + self.d + unloaded) * self.h
        self._of_joints = self._redistributions + (self.h + self.d) * self.d
        self._redistributions_of_joints = self._of_joints + LOAD * joints * self.h
        # The last value is 1, for constant parts.
        self.one = self._redistributions_of_joints + LOAD * joints * self.d + self.h * unloaded

    def weight(self, row: int, kept: int) -> int:
        """Return the index of the weight of a kept row's multiplier in the multiplier of a row."""
        return self.h * row + kept

    def redistribution(self, row: int, left_out: int) -> int:
        """Return the index of the multiplier of a row in the redistribution by a row that is left out."""
        return self._redistributions + self.d * row + left_out

    def weight_of_joint(self, joint: int, component: int, kept: int) -> int:
        """Return the index of the weight of a kept row's multiplier in the change of a component of a joint load."""
        return self._of_joints + self.h * (LOAD * joint + component) + kept

    def redistribution_of_joint(self, joint: int, component: int, left_out: int) -> int:
        """Return the index of the change of a joint load in the redistribution by a row that is left out."""
        return self._redistributions_of_joints + self.d * (LOAD * joint + component) + left_out


def shared_row_tables(
    rows: SharedRows,
    joints: Sequence[Constraint],
    weights: Places,
    margins: Places,
    model: Model,
    tables: Tables,
    forces: Forces,
    laws: Forces,
    first_law: int | None,
) -> SharedRowTables:
    """Return the tables of rows that share loads.

    Parameters
    ----------
    rows : the rows that share loads
    joints : joints whose loads depend on the distribution
    weights, margins : places in arrays of weights, and in `Readings.margins`, of the computed values
    model, tables : the model, and its constant tables
    forces : tables of the force elements of the model
    laws : force laws that contain the unit loads of the rows left out and of those without load, in their order
    first_law : index of the first of them if they are evaluated with the applied loads; None for 0 otherwise
    """
    number = {name: k for k, name in enumerate(model.body_names)}
    others = [*rows.left_out, *rows.unloaded]
    bodies = [[number.get(body.name, len(number)) for body, _ in row.law.ends] for row in others]
    readings = [Reading(joint, what, None, 0.0) for joint in joints for what in ("force", "torque")]
    start = first_law or 0
    return SharedRowTables(
        laws=laws,
        elements=np.arange(start, start + len(others), dtype=np.int64),
        left_out=len(rows.left_out),
        applied=int(first_law is not None),
        first=np.cumsum([0, *map(len, bodies)], dtype=np.int64),
        wrenches=np.array([tables.slots.offset(b, WRENCH_SIZE) for of in bodies for b in of], dtype=np.int64),
        kept=np.array([tables.row_lane[model.joint_rows[name].start + row] for name, row in rows.kept], dtype=np.int64),
        compliance=np.array(rows.compliance),
        joints=flat_readings(readings, model, tables, forces),
        values=np.append(np.zeros(ValuesOfShares(rows, len(joints)).one), 1.0),
        weight_targets=np.array(weights.targets, dtype=np.int64),
        weight_sources=np.array(weights.sources, dtype=np.int64),
        weight_factors=np.array(weights.factors, dtype=float),
        margin_targets=np.array(margins.targets, dtype=np.int64),
        margin_sources=np.array(margins.sources, dtype=np.int64),
        margin_factors=np.array(margins.factors, dtype=float),
        largest=np.zeros(1),
        wrench=aligned(tables.slots.lanes * WRENCH_SIZE if others else 0),
        goal=aligned(8 * len(tables.nodes.rows) if others else 0),
        x=aligned(8 * len(tables.nodes.rows) if others else 0),
        matrix=np.zeros(len(rows.left_out) ** 2),
        residual=np.zeros(len(rows.left_out)),
    )


def rows_of_readings(readings: Sequence[Reading]) -> tuple[SharedRows, list[Constraint]]:
    """Return the rows that share loads on which readings depend, and the joints whose loads depend on them."""
    margins = [one for one in readings if isinstance(one, CommonMargin) and one.present is not None]
    present = [one.present.rows for one in readings if isinstance(one, Shared | CommonMargin) and one.present]
    present += [one.shared for one in readings if isinstance(one, KeptRows)]
    return next(iter(present), NO_ROWS), [joint for margin in margins for joint in margin.joints]


def places_of_readings(readings: Sequence[Reading], table: Readings, values: ValuesOfShares) -> tuple[Places, Places]:
    """Return the places of computed values among the weights, and among the margins, of readings.

    `table` are the tables of the readings, and `values` the indices of the values.
    """
    weights, margins, first_joint = Places(), Places(), 0
    for r, reading in enumerate(readings):
        if not isinstance(reading, Shared | CommonMargin) or reading.present is None:
            continue
        entries = table.entries[READING * r : READING * (r + 1)]
        if isinstance(reading, Shared):
            first = MOST_FORCES * int(entries[TERMS])
            _add_weights(weights, first, reading.present, int(entries[TERM_COUNT]), values)
        else:
            _add_margin(margins, entries.tolist(), reading, first_joint, values)
            first_joint += len(reading.joints)
    return weights, margins


def _add_weights(into: Places, first: int, present: ForcesOfRows, count: int, values: ValuesOfShares) -> None:
    """Add the places of the weights of `count` multipliers in forces along rows, from index `first` on."""
    for force, (row, factor) in enumerate(zip(present.places, present.factors, strict=True)):
        for k in range(count) if row >= 0 else ():
            into.add(first + count * force + k, values.weight(row, k), factor)


def _add_margin(
    into: Places, entries: Sequence[int], margin: CommonMargin, first_joint: int, values: ValuesOfShares
) -> None:
    """Add the places of the weights and redistributions of one common margin.

    `entries` are the integers of its reading. Of all joints in `values`, those of the margin follow `first_joint`.
    """
    present, joints = margin.present, len(margin.joints)
    assert present is not None
    count, free, cones = entries[TERM_COUNT], entries[MARGIN_FREE], entries[MARGIN_MEMBERS]
    components = LOADS * cones + BEARINGS * joints
    first = entries[MARGIN_START] + cones + components
    _add_weights(into, first, present, count, values)
    # Bearing forces are combinations of the six components of the load of a joint.
    combined = [
        (component, first_joint + component // BEARINGS, c, part)
        for component, row in enumerate(margin.bearings)
        for c, part in enumerate(row)
        if part != 0.0
    ]
    for component, joint, c, part in combined:
        for k in range(count):
            into.add(first + count * (LOADS * cones + component) + k, values.weight_of_joint(joint, c, k), part)
    basis = first + components * count
    used = [(d, f, part) for d, row in enumerate(present.combinations) for f, part in enumerate(row) if part != 0.0]
    for d, f, part in used:
        for force, (row, factor) in enumerate(zip(present.places, present.factors, strict=True)):
            if row >= 0:
                into.add(basis + free * force + f, values.redistribution(row, d), factor * part)
        for component, joint, c, share in combined:
            source = values.redistribution_of_joint(joint, c, d)
            into.add(basis + free * (LOADS * cones + component) + f, source, share * part)
    for place in sorted({target - basis for target in into.targets if target >= basis}):
        constant = margin.basis[place // free][place % free]
        if constant != 0.0:
            into.add(basis + place, values.one, constant)


def unit_loads_of(model: Model) -> list[tuple[ForceElement, tuple[int, ...]]]:
    """Return the laws of unit forces along the rows left out on which friction of a model depends, with their bodies.

    Bodies are given by their indices in the model; the ground has the index after the last body.
    """
    number = {name: k for k, name in enumerate(model.body_names)}
    rows, _ = rows_of_friction(frictions_by_load(model))
    return [(row.law, tuple(number.get(body.name, len(number)) for body, _ in row.law.ends)) for row in rows.left_out]


def frictions_by_load(model: Model) -> list[Friction]:
    """Return the friction of a model that depends on constraint loads: sliding elements, then sticking ones."""
    sliding = [element for element, _ in model.forces if isinstance(element, Friction)]
    return [*sliding, *(held.friction for held in sticking_by_load(model))]


def rows_of_friction(frictions: Sequence[Friction]) -> tuple[SharedRows, list[Constraint]]:
    """Return the rows that share loads on which friction depends, and the joints whose loads depend on them."""
    present = [one for one in frictions if one.shares.rows is not None]
    rows = next((one.shares.rows for one in present if one.shares.rows is not None), NO_ROWS)
    return rows, [one.on for one in present if one.takes != NORMAL]


def places_of_friction(frictions: Sequence[Friction], terms: Sequence[int], values: ValuesOfShares) -> Places:
    """Return the places of computed values among the weights of friction.

    `terms` (C + 1,) is the index of the first term of each of C friction elements, as in `FrictionTables`.
    """
    places, joint = Places(), 0
    for friction, first in zip(frictions, terms[:-1], strict=True):
        if friction.shares.rows is None:
            continue
        if friction.takes == NORMAL:
            for k in range(values.h):
                places.add(LOAD * (first + k), values.weight(friction.shares.row, k))
            continue
        for k in range(values.h):
            for c in range(LOAD):
                places.add(LOAD * (first + k) + c, values.weight_of_joint(joint, c, k))
        joint += 1
    return places
