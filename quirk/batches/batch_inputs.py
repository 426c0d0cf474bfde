"""Inputs of a batch: values of force elements that the caller sets for each member."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from typing import Any

import numpy as np

from ..errors import InputError, UnknownNameError
from ..forces import ForceElement
from ..simulation.run_inputs import LoopInput, checked_inputs, settable_inputs, with_settable
from ..system.system import System
from ..util import validate
from ..util.suggestion import suggestion

OWNER = "Batch"


class BatchInputs(MutableMapping[str, np.ndarray]):
    """Inputs of a batch by name: arrays (count,), or (count, n) for vectors, which may be written to.

    `Force` and `Torque` have vector inputs (3,), and `ComputedTorque` has its vector of targets. Assigning one value,
    a scalar or a vector, sets the input of all members. A value applies until it is set again.

    Parameters
    ----------
    system : System
    count : number of members
    names : names of force elements; None for all elements with a constant scalar or vector value
    """

    def __init__(self, system: System, count: int, names: Iterable[Any] | None) -> None:
        found: list[LoopInput]
        if names is None:
            found = [one for force in system.forces for one in settable_inputs(force).values()]
        else:
            if isinstance(names, str | ForceElement):
                names = [names]
            if not isinstance(names, Iterable):
                raise InputError(f"{OWNER}: inputs must be a list of names of force elements; got {names!r}")
            found = checked_inputs(system, names, OWNER)
        self.slots = {one.name: one for one in found}
        self._count = count
        self._values = {name: np.repeat(one.initial_value[None], count, axis=0) for name, one in self.slots.items()}

    def settable(self, system: System) -> System:
        """Return a copy of the system whose inputs can be set during a run."""
        return with_settable(system, self.slots.values())

    def changes(self, k: int) -> dict[str, dict[str, Any]]:
        """Return the inputs of member k that differ from the system's: changed arguments by name of the part."""
        changed: dict[str, dict[str, Any]] = {}
        for name, one in self.slots.items():
            value = self._values[name][k]
            if not np.array_equal(value, one.initial_value):
                changed.setdefault(one.element.name, {})[one.argument] = value.tolist() if one.shape else float(value)
        return changed

    def members(self, k: int) -> np.ndarray:
        """Return all inputs of member k as a flat array."""
        return np.concatenate([np.zeros(0), *(np.ravel(values[k]) for values in self._values.values())])

    def put(self, name: str, values: np.ndarray) -> None:
        """Set the input `name` of all members to `values` (count, ...), which must already be validated."""
        self._values[name][...] = values

    def __getitem__(self, name: str) -> np.ndarray:
        return self._values[self._known(name)]

    def __setitem__(self, name: str, values: Any) -> None:
        name = self._known(name)
        one, given = self.slots[name], validate.numbers(values)
        shapes = (one.shape, (self._count, *one.shape))
        if given is None or given.shape not in shapes or not np.isfinite(given).all():
            what = f"{values!r}" if given is None or given.shape in shapes else f"shape {given.shape}"
            raise InputError(
                f"{OWNER}: inputs[{name!r}]: {one.element}: {one.argument} must be finite numbers of shape "
                f"{shapes[1]}, or {shapes[0]} for all members; got {what}"
            )
        self._values[name][...] = given

    def __delitem__(self, name: str) -> None:
        raise InputError(f"{OWNER}: inputs cannot be removed from a batch; set {self._known(name)!r} to zero")

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)

    def __len__(self) -> int:
        return len(self.slots)

    def __repr__(self) -> str:
        return f"<BatchInputs: {list(self.slots)} of {self._count} members>"

    def _known(self, name: Any) -> str:
        name = getattr(name, "name", name)
        if name not in self.slots:
            hint = suggestion(str(name), list(self.slots), every=True) if self.slots else "the system has none"
            raise UnknownNameError(f"{OWNER}: there is no input {name!r}; {hint}")
        return str(name)
