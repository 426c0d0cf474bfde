"""Prescribed joint coordinates and rates for the assembly of the members of a batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..analysis.joint_coordinates import joint_targets
from ..errors import InputError
from ..system.system import System
from ..util import validate

OWNER = "Batch.assemble"


def targets_of_members(system: System, count: int, argument: str, given: Any) -> list[dict[str, Any] | None]:
    """Return the prescribed joint coordinates or rates of each of `count` members, in the form of `System.assemble`.

    Parameters
    ----------
    system : system of all members
    argument : "coordinates" or "rates", for errors
    given : scalars or arrays (count,) by name of the joint, or dicts of them by coordinate of the joint; or None

    Raises
    ------
    InputError
        If a value is neither a finite number nor an array (count,), or cannot be prescribed.
    """
    if given is None:
        return [None] * count
    if not isinstance(given, Mapping):
        raise InputError(f"{OWNER}: {argument} must be a dict of values by joint; got {given!r}")
    arrays = {joint: _arrays(count, f"{argument}[{joint!r}]", values) for joint, values in given.items()}
    targets: list[dict[str, Any] | None] = []
    for k in range(count):
        own = {joint: _member(values, k) for joint, values in arrays.items()}
        try:
            joint_targets(system, argument, own)
        except InputError as error:
            raise InputError(f"{OWNER}: member {k}: {error}") from error
        targets.append(own)
    return targets


def _arrays(count: int, argument: str, given: Any) -> Any:
    """Return the prescribed values for one joint as an array (count,), or as a dict of such arrays by coordinate.

    `argument` is the name of the argument of `Batch.assemble`, for errors.
    """
    if isinstance(given, Mapping):
        return {name: _arrays(count, f"{argument}[{name!r}]", values) for name, values in given.items()}
    numbers = validate.numbers(given)
    if numbers is None or numbers.shape not in ((), (count,)) or not np.isfinite(numbers).all():
        raise InputError(f"{OWNER}: {argument} must be a finite number, or an array ({count},) of them; got {given!r}")
    return np.broadcast_to(numbers, (count,))


def _member(values: Any, k: int) -> Any:
    """Return the prescribed value of member k, or a dict of its values by name of the coordinate."""
    if isinstance(values, Mapping):
        return {name: float(array[k]) for name, array in values.items()}
    return float(values[k])
