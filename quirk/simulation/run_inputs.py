"""Inputs of a run: parameters of force elements that are set by the caller's loop or by a sampled function."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..dynamics.sparse.kernels.applied import ELEMENT_SIZE, INPUT
from ..dynamics.sparse.solver.solver import Solver
from ..errors import InputError, UnknownNameError
from ..forces import ComputedTorque, Controller, Force, ForceElement, Tendon, Torque
from ..forces.joint_actuation import Actuated
from ..forces.value import Value
from ..functions.motion import Motion
from ..system.parts import SETTABLE, part_of_input
from ..system.system import System
from ..util import validate
from ..util.suggestion import suggestion


@dataclass(frozen=True)
class LoopInput:
    """Parameter of a force element, a number or a vector, that can be set during a run.

    Attributes
    ----------
    name : name of the element, or a name such as "control.rates" for a second parameter
    element : the force element
    argument : name of the element's attribute that is the parameter
    components : names of the components of a vector; empty for a number
    """

    name: str
    element: ForceElement
    argument: str
    components: tuple[str, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the value: () for a scalar, (n,) for a vector."""
        return (len(self.components),) if self.components else ()

    @property
    def initial_value(self) -> np.ndarray:
        """Initial value of the parameter, with which the force element was constructed."""
        parameter = getattr(self.element, self.argument)
        return np.array(parameter.constant if isinstance(parameter, Value) else parameter, dtype=float)

    @property
    def limits(self) -> np.ndarray | None:
        """Smallest and largest effort (2,) if the effort has limits, otherwise None."""
        return getattr(self.element, "limits", None) if isinstance(self.element, Actuated) else None

    def copied_value(self) -> Any:
        """Return a copy of the element's parameter, whose value can be set independently of the original."""
        parameter = getattr(self.element, self.argument)
        if not isinstance(parameter, Value):
            return self.initial_value
        parameter = copy(parameter)
        parameter.constant = self.initial_value
        return parameter

    def set_value(self, value: Any) -> None:
        """Set the value of the parameter in a copied element, for evaluation of its force law in Python."""
        parameter = getattr(self.element, self.argument)
        array: Any = parameter.constant if isinstance(parameter, Value) else parameter
        array[...] = value

    def places(self, solver: Solver) -> list[np.ndarray]:
        """Return views of the array elements in a compiled solver that hold the value of the parameter.

        The list is empty if an event has replaced the force element.
        """
        found = []
        for e, (element, _) in enumerate(solver.model.forces):
            if element is not self.element:
                continue
            table = solver.applied.table
            first = table.entries[ELEMENT_SIZE * e + INPUT] + place_of(element, self.argument)
            found.append(table.inputs[first : first + self.initial_value.size])
        return found

    def following(self, times: Sequence[float], values: Sequence[np.ndarray]) -> Any:
        """Return the constructor argument of the force element that makes the parameter piecewise constant in time.

        The value is `values[k]` from `times[k]` (s) to the next time.
        """
        held = np.array(values)
        return [Motion.steps(times, column) for column in held.T] if self.shape else Motion.steps(times, held)


def place_of(element: ForceElement, argument: str) -> int:
    """Return the index of the first component of an attribute among all parameters of an element's force law."""
    place = 0
    for name in element.parameters:
        if name == argument:
            break
        held = getattr(element, name)
        if isinstance(held, Value):
            held = held.constant
        place += 0 if held is None else np.size(held)
    return place


def checked_inputs(system: System, names: Iterable[Any], owner: str = "Run") -> list[LoopInput]:
    """Return the inputs called `names`; inputs of the same force element refer to the same object.

    `owner` is the name of the calling function, for error messages.

    Raises
    ------
    InputError
        If a force element has no numeric parameter that can be set.
    """
    settable: dict[str, dict[str, LoopInput]] = {}
    found = []
    for name in (getattr(given, "name", given) for given in names):
        part_name = part_of_input(name, system)
        if part_name not in system:
            known = [own for force in system.forces for own in settable_inputs(force)]
            raise UnknownNameError(
                f"{owner}: inputs names {name!r}, which is no part of it; {suggestion(str(name), known, every=True)}"
            )
        part = system[part_name]
        if not isinstance(part, Actuated | Force | Torque | Tendon | Controller | ComputedTorque):
            raise InputError(
                f"{owner}: inputs names {part}, which has no number that could be set; an input is {SETTABLE}"
            )
        own = settable.setdefault(part.name, settable_inputs(part))
        if not own:
            example = _example(part)
            raise InputError(
                f"{owner}: inputs names {part}, whose {example.partition('=')[0]} is a function of time or of the "
                f"motion: make it with a number, such as {example}, which is then set"
            )
        if name not in own:
            hint = suggestion(name, own, every=True)
            raise UnknownNameError(f"{owner}: inputs names {name!r}, which {part} does not have; {hint}")
        found.append(own[name])
    return found


def _example(part: Any) -> str:
    """Return, for messages, an example of a constructor argument that gives a force element an input."""
    if isinstance(part, ComputedTorque):
        moving = next(name for name in part.motions if not part.motion(name).constant)
        argument = "rates" if part.own_rates and moving.startswith("speed") else "targets"
        return f"{argument}={[0.0] * len(part.joints or ())}"
    if isinstance(part, Controller):
        return "target=0.0"
    return f"{part.argument}={[0.0] * 3 if isinstance(part, Force | Torque) else 0.0}"


def checked_input(system: System, name: Any, owner: str = "Run") -> LoopInput:
    """Return the input called `name`; raise an InputError, which names the caller `owner`, if there is none."""
    return checked_inputs(system, [name], owner)[0]


def settable_inputs(part: Any) -> dict[str, LoopInput]:
    """Return the inputs of a force element by name; an empty dict if no numeric parameter of it can be set."""
    found: list[LoopInput] = []
    if isinstance(part, Controller) and part.target.constant:
        # A motion with a changing value would also need its rate, so the input is a parameter of the law instead.
        held = {"target": part.target(0.0), "parameters": (*part.parameters, "target"), "motions": ()}
        found = [LoopInput(part.name, part.with_values(held), "target")]
    elif isinstance(part, ComputedTorque):
        element = part.with_held_targets()
        if element is not None:
            names, joints = {part.name: "targets", f"{part.name}.rates": "rates"}, element.coordinates[: element.count]
            found = [LoopInput(name, element, argument, joints) for name, argument in names.items()]
    elif isinstance(part, Actuated | Force | Torque | Tendon):
        value = getattr(part, part.argument)
        if isinstance(value, Value) and value.constant is not None:
            components = ("x", "y", "z") if value.constant.ndim else ()
            found = [LoopInput(part.name, part, part.argument, components)]
    return {one.name: one for one in found}


def copied(inputs: Sequence[LoopInput]) -> list[LoopInput]:
    """Return inputs of copies of the force elements, so that `LoopInput.set_value` does not change the originals."""
    values: dict[int, dict[str, Any]] = {}
    for one in inputs:
        values.setdefault(id(one.element), {})[one.argument] = one.copied_value()
    elements = {id(one.element): one.element.with_values(values[id(one.element)]) for one in inputs}
    return [replace(one, element=elements[id(one.element)]) for one in inputs]


def same_value(value: Any, current: np.ndarray) -> bool:
    """Whether two values of an input, numbers or vectors of the same shape, are equal."""
    equal = value == current
    return bool(equal.all() if current.ndim else equal)


def with_settable(system: System, inputs: Iterable[LoopInput]) -> System:
    """Return a copy of a system in which the force elements of `inputs` replace the elements with the same names."""
    own = {one.element.name: one.element for one in inputs if one.element is not system[one.element.name]}
    return system._with([own.get(part.name, part) for part in system]) if own else system


class Inputs(MutableMapping[str, Any]):
    """Inputs of a run by name: scalars, arrays (3,) for `Force` and `Torque`, or (joints,) for `ComputedTorque`.

    A value applies until it is set again. Returned arrays are read-only; set all components together.

    Parameters
    ----------
    system : System
    names : names of force elements
    owner : title of the run or sampled function, for messages
    copies : whether the elements are copied, so that force laws evaluated in Python also use the values

    Attributes
    ----------
    system : the system, with elements whose values can be set
    slots : inputs by name
    initial : values with which the elements were constructed, arrays by name
    current_values : present values, arrays by name
    version : number of changes so far
    """

    def __init__(self, system: System, names: Iterable[Any], owner: str = "Run", *, copies: bool = False) -> None:
        if isinstance(names, str | ForceElement):
            names = [names]
        if not isinstance(names, Iterable):
            raise InputError(f"{owner}: inputs must be a list of names of force elements; got {names!r}")
        self._owner, self._copies = owner, copies
        found = checked_inputs(system, names, owner)
        found = copied(found) if copies else found
        if len({one.name for one in found}) < len(found):
            raise InputError(f"{owner}: inputs names an element twice: {[one.name for one in found]}")
        self.system = with_settable(system, found)
        elements = {force.name: force for force in self.system.forces}
        self.slots = {one.name: replace(one, element=elements[one.element.name]) for one in found}
        self.current_values = {name: one.initial_value for name, one in self.slots.items()}
        self.initial = dict(self.current_values)
        self.in_effect = dict(self.current_values)
        self._places: dict[str, list[np.ndarray]] = {name: [] for name in self.slots}
        self.version = 0

    def serve(self, solver: Solver) -> None:
        """Connect a solver to the inputs: later assignments also change the parameters of its force laws."""
        for name, one in self.slots.items():
            found = one.places(solver)
            self._places[name] += found
            for numbers in found:
                numbers[:] = self.current_values[name]

    def __getitem__(self, name: str) -> Any:
        value = self.current_values[self._checked_name(name)]
        if not value.ndim:
            return float(value)
        value = value.copy()
        value.flags.writeable = False  # assigning to a component would have no effect
        return value

    def __setitem__(self, name: str, value: Any) -> None:
        if name not in self.slots:
            name = self._checked_name(name)
        one = self.slots[name]
        if one.shape or type(value) is not float or not -np.inf < value < np.inf:
            value = validate.array(f"{self._owner}: inputs[{name!r}]: {one.element}", one.argument, value, one.shape)
        if same_value(value, self.current_values[name]):
            return
        self.current_values[name] = np.array(value)
        self.version += 1
        self._write_value(name)

    def _write_value(self, name: str) -> None:
        """Write the present value of an input to the solvers, and to its force element if this is a copy."""
        value = self.current_values[name]
        for numbers in self._places[name]:
            numbers[:] = value
        if self._copies:
            self.slots[name].set_value(value)

    def __delitem__(self, name: str) -> None:
        raise InputError(
            f"{self._owner}: inputs cannot be removed from a run; set {self._checked_name(name)!r} to zero"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.slots)

    def __len__(self) -> int:
        return len(self.slots)

    def __repr__(self) -> str:
        return f"<Inputs: {dict(self)}>"

    def _checked_name(self, name: Any) -> str:
        name = getattr(name, "name", name)
        if name not in self.slots:
            hint = suggestion(str(name), list(self.slots), every=True) if self.slots else "Run(..., inputs=[...])"
            raise UnknownNameError(f"{self._owner}: there is no input {name!r}; {hint}")
        return str(name)

    @property
    def changed(self) -> list[str]:
        """Names of the inputs changed since the last call of `take_effect`."""
        before = self.in_effect
        return [
            name
            for name, value in self.current_values.items()
            if value is not before[name] and not same_value(value, before[name])
        ]

    def take_effect(self) -> None:
        """Mark the present values as used by the run, so that `changed` is empty."""
        self.in_effect = dict(self.current_values)

    def snapshot(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
        """Return two dicts by name: the present values, and the values used by the last integration step."""
        return dict(self.current_values), dict(self.in_effect)

    def recall(self, saved: tuple[dict[str, np.ndarray], dict[str, np.ndarray]]) -> None:
        """Restore the values of a snapshot, in the solvers as well."""
        values, self.in_effect = dict(saved[0]), dict(saved[1])
        self.version += 1
        for name, value in values.items():
            self.current_values[name] = value
            self._write_value(name)
