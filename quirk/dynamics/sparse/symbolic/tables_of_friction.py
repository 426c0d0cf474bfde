"""Constant tables of friction whose magnitude or limit is proportional to constraint loads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quirk.dynamics.model.layout import KINEMATICS_SIZE, WRENCH_SIZE
from quirk.dynamics.model.model import Model
from quirk.events.names import Reading
from quirk.forces.friction import Friction
from quirk.forces.stick_slip import NORMAL
from quirk.jit.simd import aligned

from ..kernels.applied import ELEMENT_SIZE, INPUT, OUTPUT, Forces
from ..kernels.load_tables import FrictionTables
from ..kernels.shared_rows import LOAD
from .tables import Tables
from .tables_of_readings import flat_readings, sticking_by_load
from .tables_of_shared_rows import (
    Places,
    ValuesOfShares,
    frictions_by_load,
    places_of_friction,
    rows_of_friction,
    shared_row_tables,
)


def flat_frictions(model: Model, tables: Tables, forces: Forces) -> FrictionTables:
    """Return the tables of friction that depends on constraint loads.

    Sliding friction elements come first, in the order of the force elements, then sticking ones.
    """
    sliding = [(e, element) for e, (element, _) in enumerate(model.forces) if isinstance(element, Friction)]
    sticking, every = sticking_by_load(model), frictions_by_load(model)
    sides = [_rows_of_bodies(model, element) for element in every]
    read: list[Reading] = []
    place = [_place(element, model, tables, read) for element in every]
    terms = [_terms(element, model, tables) for element in every]
    first = np.cumsum([0, *(len(of) for of in terms)], dtype=np.int64)
    rows, joints = rows_of_friction(every)
    places = places_of_friction(every, first.tolist(), ValuesOfShares(rows, len(joints))) if rows.left_out else Places()
    C, lanes, bodies = len(sliding), 8 * len(tables.nodes.rows), tables.slots.lanes * WRENCH_SIZE

    def offsets(size: int, of: Sequence[tuple[int, int]]) -> np.ndarray:
        return np.array([tables.slots.offset(body, size) for pair in of for body in pair], dtype=np.int64)

    coordinates = [element.layout().first_coordinate for _, element in sliding]
    starts = forces.entries.reshape(-1, ELEMENT_SIZE)
    coefficient = [*(element.coefficient for _, element in sliding), *(element.friction.static for element in sticking)]
    return FrictionTables(
        element=np.array([e for e, _ in sliding], dtype=np.int64),
        slip=np.array([starts[e, OUTPUT] + c for (e, _), c in zip(sliding, coordinates, strict=True)], dtype=np.int64),
        direction=np.array(
            [starts[e, INPUT] + element.place_of("direction") for e, element in sliding], dtype=np.int64
        ),
        size=np.array([element.slip.size for _, element in sliding], dtype=np.int64),
        wrenches=offsets(WRENCH_SIZE, sides[:C]),
        coefficient=np.array(coefficient, dtype=float),
        takes=np.array([element.takes for element in every], dtype=np.int64),
        place=np.array(place, dtype=np.int64),
        terms=first,
        multipliers=np.array([lane for of in terms for lane, _ in of], dtype=np.int64),
        weights=np.array([weight for of in terms for _, weights in of for weight in weights], dtype=float),
        kinematics=offsets(KINEMATICS_SIZE, sides),
        axis=np.concatenate([np.zeros(0), *(element.on.frame_i.matrix[:, element.axis] for element in every)]),
        length=np.array([element.length for element in every], dtype=float),
        readings=flat_readings(read, model, tables, forces),
        shared=shared_row_tables(rows, joints, places, Places(), model, tables, forces, forces, len(model.forces)),
        x=aligned((C + 1) * lanes),
        wrench=aligned((C + 1) * bodies),
        load=np.zeros(LOAD * C * (C + 1)),
        present=np.zeros(LOAD),
        varied=np.zeros(LOAD),
        matrix=np.zeros(C * C),
        residual=np.zeros(C),
        magnitude=np.zeros(C),
        solvable=np.ones(1),
    )


def _rows_of_bodies(model: Model, friction: Friction) -> tuple[int, int]:
    number = {name: k for k, name in enumerate(model.body_names)}
    i, j = (number.get(body.name, len(number)) for body in friction.bodies)
    return i, j


def _place(friction: Friction, model: Model, tables: Tables, read: list[Reading]) -> int:
    """Return the index of the first of two readings: the force and the torque of the joint on which friction depends.

    Both readings are appended to `read`, the list of quantities to be computed from evaluations. For friction in a
    contact the function returns 0 and appends nothing. It returns -1 if the joint or the contact is disabled.
    """
    if friction.takes == NORMAL:
        return 0 if _terms(friction, model, tables) else -1
    rows = model.joint_rows.get(friction.on.name, range(0))
    if not rows.stop > rows.start:
        return -1
    read += [Reading(friction.on, what, None, 0.0) for what in ("force", "torque")]
    return len(read) - 2


def _terms(friction: Friction, model: Model, tables: Tables) -> list[tuple[int, tuple[float, ...]]]:
    """Return the indices of the multipliers on which the load of a contact or joint depends, each with LOAD weights.

    The normal force of a contact, in the first component, or the difference of force and torque of a joint from those
    of the run, is the weighted sum of these multipliers. Multipliers of disabled constraints are omitted.
    """
    known = model.joint_rows
    return [
        (int(tables.row_lane[known[name].start + row]), (*weights, *(LOAD - len(weights)) * [0.0]))
        for name, row, weights in friction.shares.terms
        if name in known
    ]
