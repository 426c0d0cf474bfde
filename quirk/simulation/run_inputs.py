"""Inputs of a run: parameters of force elements that the caller's loop or a sampled function sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.sparse.kernels.applied import ELEMENT_SIZE, INPUT
from ..dynamics.sparse.solver.solver import Solver
from ..errors import InputError, UnknownNameError
from ..forces import Controller, Force, ForceElement, Torque
from ..forces.joint_actuation import Actuated
from ..forces.value import Value
from ..functions.motion import PIECES, Motion
from ..system.system import System
from ..util import validate
from ..util.construction import made_with
from ..util.suggestion import suggestion


@dataclass(frozen=True)
class LoopInput:
    """A parameter of a force element, a number or a vector (3,), that can be set during a run.

    Attributes
    ----------
    element : ForceElement
    argument : name of the attribute that holds the parameter
    shape : () or (3,)
    """

    element: ForceElement
    argument: str
    shape: tuple[int, ...]

    @property
    def given(self) -> np.ndarray:
        """Initial value, with which the force element was constructed."""
        held = getattr(self.element, self.argument)
        return np.array(held.constant if isinstance(held, Value) else held, dtype=float)

    def copied(self) -> LoopInput:
        """Return the input with a copy of its element, whose value `hold` sets."""
        held = getattr(self.element, self.argument)
        own: Any = self.given
        if isinstance(held, Value):
            own = copy(held)
            own.constant = self.given
        return LoopInput(self.element.with_values({self.argument: own}), self.argument, self.shape)

    def hold(self, value: Any) -> None:
        """Set the value that the force law of a copied element uses in Python."""
        held = getattr(self.element, self.argument)
        array: Any = held.constant if isinstance(held, Value) else held
        array[...] = value

    def places(self, solver: Solver) -> list[np.ndarray]:
        """Return views of the array elements of a compiled solver that hold the value.

        The list is empty if an event has replaced the force element.
        """
        found = []
        for e, (element, _) in enumerate(solver.model.forces):
            if element is not self.element:
                continue
            table = solver.applied.table
            first = table.entries[ELEMENT_SIZE * e + INPUT] + place_of(element, self.argument)
            found.append(table.inputs[first : first + self.given.size])
        return found

    def following(self, times: Sequence[float], values: Sequence[np.ndarray]) -> ForceElement:
        """Return the element with a value that is piecewise constant in time.

        The value is `values[k]` from `times[k]` (s) to the next time.
        """
        held = np.array(values)
        motions = [Motion.steps(times, held[:, k]) for k in range(3)] if self.shape else Motion.steps(times, held)
        call = made_with(self.element)
        assert call is not None
        made: ForceElement = call.maker(**{**call.arguments, self.argument: motions})
        return made


def place_of(element: ForceElement, argument: str) -> int:
    """Return the index of an attribute's first component among all parameters of the element's force law."""
    place = 0
    for name in element.parameters:
        if name == argument:
            break
        held = getattr(element, name)
        if isinstance(held, Value):
            held = held.constant
        place += 0 if held is None else np.size(held)
    return place


def checked_input(system: System, name: Any, owner: str = "Run") -> LoopInput:
    """Return the input for the name of a force element.

    An InputError is raised if the element has no number that a loop can set.
    """
    name = getattr(name, "name", name)
    if name not in system:
        known = [force.name for force in system.forces if settable_input(force)]
        raise UnknownNameError(
            f"{owner}: inputs names {name!r}, which is no part of it; {suggestion(str(name), known, every=True)}"
        )
    part = system[name]
    if not isinstance(part, Actuated | Force | Torque | Controller):
        raise InputError(
            f"{owner}: inputs names {part}, which has no number that could be set; an input is an Actuator, a "
            "JointTorque, JointForce, Force or Torque, or a Controller, of which it is the target"
        )
    found = settable_input(part)
    if found is None:
        argument = "target" if isinstance(part, Controller) else part.argument
        raise InputError(
            f"{owner}: inputs names {part}, whose {argument} is a function of time or of the motion: make it with a "
            f"number, such as {argument}={[0.0] * 3 if isinstance(part, Force | Torque) else 0.0}, which is then set"
        )
    return found


def settable_input(part: Any) -> LoopInput | None:
    """Return the input of a force element, or None if it has no number that a loop can set."""
    if isinstance(part, Controller):
        target = part.target
        constant = target.kind == PIECES and target.coefficients.shape == (1, 1) and not target.added
        # A motion with a changing value would also need its rate, so the input is a parameter of the law instead.
        names = (*part.parameters, "target")
        held = {"target": target(0.0), "parameters": names, "motions": ()} if constant else {}
        return LoopInput(part.with_values(held), "target", ()) if constant else None
    if isinstance(part, Actuated | Force | Torque):
        held = getattr(part, part.argument)
        if isinstance(held, Value) and held.constant is not None:
            return LoopInput(part, part.argument, held.constant.shape)
    return None


def same_value(one: Any, other: np.ndarray) -> bool:
    """Whether two values of an input, numbers or vectors of the same shape, are equal."""
    equal = one == other
    return bool(equal.all() if other.ndim else equal)


class Inputs(MutableMapping[str, Any]):
    """Inputs of a run by name: numbers, or arrays (3,) for `Force` and `Torque`.

    A value applies until it is set again.

    Parameters
    ----------
    system : System
    names : names of force elements
    owner : title of the run or sampled function, for messages
    copies : whether the elements are copied, so that force laws evaluated in Python use the values, too

    Attributes
    ----------
    system : the system, with elements whose numbers can be set
    slots : inputs by name
    initial : values with which the elements were constructed, arrays by name
    values_now : present values, arrays by name
    version : number of changes so far
    """

    def __init__(self, system: System, names: Iterable[Any], owner: str = "Run", *, copies: bool = False) -> None:
        if isinstance(names, str | ForceElement):
            names = [names]
        if not isinstance(names, Iterable):
            raise InputError(f"{owner}: inputs must be a list of names of force elements; got {names!r}")
        self._owner, self._copies = owner, copies
        found = [checked_input(system, name, owner) for name in names]
        found = [one.copied() for one in found] if copies else found
        self.slots = {one.element.name: one for one in found}
        self.system = self._settable(system)
        if len(self.slots) < len(found):
            raise InputError(f"{owner}: inputs names an element twice: {[one.element.name for one in found]}")
        self.values_now = {name: one.given for name, one in self.slots.items()}
        self.initial = dict(self.values_now)
        self.in_effect = dict(self.values_now)
        self._places: dict[str, list[np.ndarray]] = {name: [] for name in self.slots}
        self.version = 0

    def _settable(self, system: System) -> System:
        """Return a copy of the system with force elements whose inputs can be set, in place of the original ones."""
        own = {name: one.element for name, one in self.slots.items() if one.element is not system[name]}
        return system._with([own.get(part.name, part) for part in system]) if own else system

    def serve(self, solver: Solver) -> None:
        """Connect a solver to the inputs, so that later assignments also change the inputs of its force laws."""
        for name, one in self.slots.items():
            found = one.places(solver)
            self._places[name] += found
            for numbers in found:
                numbers[:] = self.values_now[name]

    def __getitem__(self, name: str) -> Any:
        value = self.values_now[self._known(name)]
        return value.copy() if value.ndim else float(value)

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self.slots:
            name = self._known(name)
        one = self.slots[name]
        if one.shape or type(value) is not float or not -np.inf < value < np.inf:
            value = validate.array(f"{self._owner}: inputs[{name!r}]: {one.element}", one.argument, value, one.shape)
        if same_value(value, self.values_now[name]):
            return
        self.values_now[name] = np.array(value)
        self.version += 1
        self._put(name)

    def _put(self, name: str) -> None:
        """Write the present value of an input to the solvers, and to its element if that is a copy."""
        value = self.values_now[name]
        for numbers in self._places[name]:
            numbers[:] = value
        if self._copies:
            self.slots[name].hold(value)

    def __delitem__(self, name: str) -> None:
        raise InputError(f"{self._owner}: inputs cannot be removed from a run; set {self._known(name)!r} to zero")

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)

    def __len__(self) -> int:
        return len(self.slots)

    def __repr__(self) -> str:
        return f"<Inputs: {dict(self)}>"

    def _known(self, name: Any) -> str:
        name = getattr(name, "name", name)
        if name not in self.slots:
            hint = suggestion(str(name), list(self.slots), every=True) if self.slots else "Run(..., inputs=[...])"
            raise UnknownNameError(f"{self._owner}: there is no input {name!r}; {hint}")
        return str(name)

    @property
    def changed(self) -> list[str]:
        """Names of inputs that have changed since the last call of `take_effect`."""
        before = self.in_effect
        return [
            name
            for name, value in self.values_now.items()
            if value is not before[name] and not same_value(value, before[name])
        ]

    def take_effect(self) -> None:
        """Record that the present values are used by the run from now on."""
        self.in_effect = dict(self.values_now)

    def snapshot(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return the present values by name, and those that the last step has used."""
        return dict(self.values_now), dict(self.in_effect)

    def recall(self, saved: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]) -> None:
        """Restore the values of a snapshot, in the solvers as well."""
        values, self.in_effect = dict(saved[0]), dict(saved[1])
        self.version += 1
        for name, value in values.items():
            self.values_now[name] = value
            self._put(name)
