"""Loads of joints that events watch, where closed contacts or sticking friction share them.

Of loads that redundant constraints share, a run watches those of minimum norm, and results show the same. Loads that
joints share with contacts and sticking friction are redistributed in results, such that friction is within its limits.
Where this changes a watched load, rigid bodies do not say when it reaches its level.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from ..constraints import Constraint
from ..constraints.unilateral import Unilateral
from ..dynamics.sparse.stepping.watched_quantities import EventFunction
from ..errors import InputError, outside
from ..events.names import LOADS, Reading
from ..result.contact_loads import ContactLoadWarning
from ..result.result import Result

# Difference between the two loads, relative to the largest load of the joint, below which they are the same.
SAME_LOAD = 1e-3
REMEDY = "watch another quantity, or hold the body by fewer contacts and brakes"


class Undetermined(NamedTuple):
    """A watched load that the motion does not determine: its event function, and two possible values at time t, s."""

    guard: EventFunction
    t: float
    one: float
    other: float

    def __str__(self) -> str:
        reading = self.guard.quantity
        assert isinstance(reading, Reading)
        axis = "" if reading.axis is None else f".{'xyz'[reading.axis]}"
        unit = "N" if reading.quantity == "force" else "N m"
        return (
            f"{self.guard.title}: {reading.of} shares its {reading.quantity}{axis} with contacts or sticking friction, "
            f"and rigid bodies do not determine it: at t = {self.t:.9g} s it may be {self.one:.6g} or {self.other:.6g} "
            f"{unit}"
        )


def check_watched_loads(result: Result, guards: Iterable[EventFunction]) -> None:
    """Raise an InputError if the motion does not determine a watched load at the start, the only time of a result."""
    for found in _undetermined(result, guards):
        raise InputError(f"{found}: {REMEDY}")


def warn_of_watched_loads(result: Result, guards: Iterable[EventFunction]) -> bool:
    """Warn of watched loads that the motion of a result does not determine at all times; return whether there are any.

    The first one is named.
    """
    for found in _undetermined(result, guards):
        message = f"{found}, and its events follow from one of them: {REMEDY}"
        warnings.warn(message, ContactLoadWarning, stacklevel=outside())
        return True
    return False


def _undetermined(result: Result, guards: Iterable[EventFunction]) -> Iterator[Undetermined]:
    watched = [guard for guard in guards if is_load_of_joint(guard)]
    for segment, shares in zip(result.segments, result._shares if watched else (), strict=False):
        for guard in watched:
            reading = guard.quantity
            assert isinstance(reading, Reading)
            assert reading.of is not None
            change = shares.loads.get(reading.of.name)
            if change is None:
                continue
            load, kind = segment.joint_loads[reading.of.name], LOADS.index(reading.quantity)
            length = segment.model.length
            sizes = np.abs(np.stack([load, load + change]) / [[1.0], [length]]).max(axis=(0, 2, 3))
            one, other = (_component(of[:, kind], reading.axis) for of in (load, load + change))
            differs = np.abs(one - other) > SAME_LOAD * sizes * (length if kind else 1.0)
            for row in np.flatnonzero(differs)[:1]:
                yield Undetermined(guard, float(segment.time[row]), float(one[row]), float(other[row]))


def is_load_of_joint(guard: EventFunction) -> bool:
    """Whether an event function is a load of a constraint that is not unilateral."""
    reading = guard.quantity
    if not isinstance(reading, Reading) or reading.quantity not in LOADS:
        return False
    return isinstance(reading.of, Constraint) and not isinstance(reading.of, Unilateral)


def _component(vectors: np.ndarray, axis: int | None) -> np.ndarray:
    """Return a component of vectors (nt, 3), or their magnitudes for `axis` None."""
    return np.linalg.norm(vectors, axis=1) if axis is None else vectors[:, axis]
