"""Loads that events watch, in systems whose redundant rows share them with closed contacts or sticking friction.

Without contacts and friction, events and results are based on the same loads, those of minimum norm. With them, results
show the multipliers of minimum norm within the limits of friction, and a run watches those of independent rows. Where
both give the same load, the motion determines it, or its undetermined part is zero. Where they differ, rigid bodies do
not say when the watched load reaches its level.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence

import numpy as np

from ..bodies import rotation
from ..constraints import Constraint
from ..constraints.unilateral import Unilateral
from ..dynamics.sparse.solver.joint_loads import JointLoads
from ..dynamics.sparse.solver.solver import Solver
from ..dynamics.sparse.stepping.watched_quantities import EventFunction, shares_with_contacts
from ..errors import InputError, outside
from ..events.names import LOADS, Reading
from ..result.contact_loads import ContactLoadWarning
from ..result.result import Result

# Difference between the two loads, relative to the largest load of the joint, below which they are the same. Rows that
# are dependent up to the rounding of dimensions cause smaller differences.
SAME_LOAD = 1e-3
# Maximum number of outputs of each segment of a result at which watched loads are compared.
MOST_COMPARED = 50
REMEDY = (
    "system.mobility() names redundant rows; replace joints so that the load is unique, such as the two hinges of a "
    "door by a Spherical and a PointOnLine joint, or watch another quantity"
)


def of_joints(guards: Iterable[EventFunction]) -> list[EventFunction]:
    """Return the event functions that are loads of constraints, except contacts."""
    return [
        guard
        for guard in guards
        if isinstance(guard.quantity, Reading)
        and isinstance(guard.quantity.of, Constraint)
        and not isinstance(guard.quantity.of, Unilateral)
        and guard.quantity.quantity in LOADS
    ]


def check_watched_loads(guards: Iterable[EventFunction], solver: Solver, t: float, y: np.ndarray) -> None:
    """Raise an InputError if the motion does not determine a watched load at time t (s) and state vector y."""
    watched, lanes = of_joints(guards), solver.slots.state_to_lanes(y)
    if not watched or not shares_with_contacts(solver.model):
        return
    solver.settle(lanes, t)
    if solver.redundant:
        solver.rates(t, lanes)
        for guard, one, other in _undetermined(watched, solver, y):
            raise InputError(f"{_described(guard, one, other, t)}: {REMEDY}")


def warn_of_watched_loads(result: Result, guards: Iterable[EventFunction]) -> None:
    """Warn of watched loads that the motion of a result does not determine at all times; the first one is named."""
    watched = of_joints(guards)
    for segment in result.segments if watched else ():
        solver = segment.solver()
        if not len(segment.time) or not shares_with_contacts(solver.model):
            continue
        solver.settle(solver.slots.state_to_lanes(segment.flat[0]), segment.instants[0])
        every = -(-len(segment.time) // MOST_COMPARED)
        for row in range(0, len(segment.time) if solver.redundant else 0, every):
            t, y = float(segment.instants[row]), segment.flat[row]
            solver.rates(t, solver.slots.state_to_lanes(y))
            for guard, one, other in _undetermined(watched, solver, y):
                warnings.warn(
                    f"{_described(guard, one, other, t)}, and its events follow from one of them: {REMEDY}",
                    ContactLoadWarning,
                    stacklevel=outside(),
                )
                return


def _described(guard: EventFunction, one: float, other: float, t: float) -> str:
    reading = guard.quantity
    assert isinstance(reading, Reading)
    axis = "" if reading.axis is None else f".{'xyz'[reading.axis]}"
    unit = "N" if reading.quantity == "force" else "N m"
    return (
        f"{guard.title}: redundant rows share the {reading.quantity}{axis} of {reading.of}, which rigid bodies do not "
        f"determine: at t = {t:.9g} s it may be {one:.6g} or {other:.6g} {unit}"
    )


def _undetermined(
    guards: Sequence[EventFunction], solver: Solver, y: np.ndarray
) -> list[tuple[EventFunction, float, float]]:
    """Return the watched loads that the last evaluation of a solver does not determine, each with two possible values.

    The values are those of the run and of the results; `y` is the evaluated state vector.
    """
    state = solver.model.auxiliary.state(y)
    position = np.append(state.position, np.zeros((1, 3)), axis=0)[None]
    R = rotation.matrix(np.append(state.orientation, [rotation.IDENTITY], axis=0))[None]
    reader, length = JointLoads(solver, solver.related), solver.model.length
    pairs = [
        [of[0] for of in reader.read([solver.work.G], [multipliers], position, R)]
        for multipliers in (solver.work.x[solver.tables.row_lane], solver.multipliers())
    ]
    place, found = {name: k for k, name in enumerate(solver.model.joint_rows)}, []
    for guard in guards:
        reading = guard.quantity
        assert isinstance(reading, Reading)
        assert reading.of is not None
        k = place.get(reading.of.name)
        if k is None:
            continue
        torque = reading.quantity == "torque"
        one, other = (
            float(np.linalg.norm(load) if reading.axis is None else load[reading.axis])
            for load in (pair[torque][k] for pair in pairs)
        )
        size = max(np.abs(pair[0][k]).max() * (length if torque else 1.0) for pair in pairs)
        size = max(size, *(np.abs(pair[1][k]).max() / (1.0 if torque else length) for pair in pairs))
        if abs(one - other) > SAME_LOAD * size:
            found.append((guard, one, other))
    return found
