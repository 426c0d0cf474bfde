"""Members of a batch: copies of one system with different values of some parameters, such as masses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..bodies.body import Body
from ..bodies.frame import Frame
from ..constraints import Constraint, Drum
from ..errors import InputError
from ..events.actions import After, Replace
from ..forces import ForceElement
from ..functions.motion import Motion
from ..simulation.sensitivity.numeric_arguments import (
    STATES,
    numeric_arguments,
    parameter_hint,
    parameter_names,
    similar_pairs,
)
from ..simulation.sensitivity.parameters import GRAVITY_NAME
from ..simulation.sensitivity.part_parameters import reconstructed
from ..system.system import System
from ..util import validate
from ..util.construction import made_with

OWNER = "Batch"
# Arguments that place a joint, which a frame replaces.
PLACES = ("point", "axis", "axis_i", "axis_j")
FRAME_ARGUMENTS = ("origin", "rotation")

# Changed arguments by name of the part.
Changes = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class VariedNumber:
    """A parameter that differs between members.

    Attributes
    ----------
    part : name of the part, "" for the gravity of the system
    parameter : name of the argument, or dotted name of a parameter of its value, such as "motion.amplitude"
    values : (count, ...) value of each member
    """

    part: str
    parameter: str
    values: np.ndarray

    @property
    def title(self) -> str:
        """Name of the parameter as a coordinate of data sets."""
        return f"{self.part}.{self.parameter}" if self.part else self.parameter

    @property
    def of_state(self) -> bool:
        """Whether the parameter is an initial position, orientation or velocity of a body."""
        return self.parameter in STATES


def checked_variation(system: System, count: int, vary: Any) -> list[VariedNumber]:
    """Return the parameters that differ between members, from the argument `vary` of `Batch`.

    Raises
    ------
    InputError
        If a name is unknown, or the shape of an array is not (count, ...).
    """
    if not isinstance(vary, Mapping):
        raise InputError(
            f"{OWNER}: vary must map pairs (part, parameter) to arrays with a value for each of the {count} members, "
            f'such as {{("rod", "mass"): masses}}; got {vary!r}'
        )
    return [_varied(system, count, key, values) for key, values in vary.items()]


def _varied(system: System, count: int, key: Any, values: Any) -> VariedNumber:
    if key in (GRAVITY_NAME, (GRAVITY_NAME,)):
        return VariedNumber("", GRAVITY_NAME, _members(GRAVITY_NAME, values, count, (3,)))
    if not (isinstance(key, tuple) and len(key) == 2 and isinstance(key[1], str)):
        raise InputError(
            f'{OWNER}: vary: keys must be pairs (part, parameter) such as ("rod", "mass"), or "gravity"; got {key!r}'
            f"{similar_pairs(system, key)}"
        )
    part, parameter = system[key[0]], key[1]
    if isinstance(part, Body) and parameter in STATES:
        shape: tuple[int, ...] = (4 if parameter == "orientation" else 3,)
    elif isinstance(part, Body | Constraint | ForceElement):
        shape = _value_of(part, parameter).shape
    else:
        raise InputError(f"{OWNER}: vary: {part} has no numbers that could differ between members")
    return VariedNumber(part.name, parameter, _members((part.name, parameter), values, count, shape))


def _members(key: Any, values: Any, count: int, shape: tuple[int, ...]) -> np.ndarray:
    """Return the values of a parameter for all members as an array (count, *shape).

    `key` is the parameter as named by the user, for errors.
    """
    given = validate.numbers(values)
    wanted = (count, *shape)
    if given is None or given.shape != wanted or not np.isfinite(given).all():
        what = f"{values!r}" if given is None else f"shape {given.shape}"
        if given is not None and given.shape == wanted:
            what = "values that are not finite"
        raise InputError(f"{OWNER}: vary: {key!r} must be an array of finite numbers of shape {wanted}; got {what}")
    return np.array(given, dtype=float)


def _value_of(part: Any, parameter: str) -> np.ndarray:
    """Return the present value of a parameter of a part.

    Raises
    ------
    InputError
        If the part has no parameter of this name; the message lists all names.
    """
    known = numeric_arguments(part)
    name, _, number = parameter.partition(".")
    if number:
        holder = getattr(part, name, None)
        if isinstance(holder, Frame) and number in FRAME_ARGUMENTS:
            return np.array(getattr(holder, number), dtype=float)
        if isinstance(holder, Motion):
            known = {f"{name}.{own}": value for own, value in numeric_arguments(holder).items()}
    if parameter in known:
        return known[parameter]
    hint = parameter_hint(part, parameter, dict.fromkeys([*parameter_names(part), *known]))
    raise InputError(f"{OWNER}: vary: {part} has no numeric argument {parameter!r}; {hint}")


def changes_of(varied: Sequence[VariedNumber], k: int) -> dict[str, dict[str, Any]]:
    """Return the changed arguments of the parts of member k, by name of the part.

    `varied` holds the parameters that differ between members.
    """
    changes: dict[str, dict[str, Any]] = {}
    for one in varied:
        if one.part and not one.of_state:
            value = one.values[k]
            changes.setdefault(one.part, {})[one.parameter] = value.tolist() if value.ndim else float(value)
    return changes


def varied_system(system: System, changes: Changes, gravity: np.ndarray | None = None) -> System:
    """Return a copy of a system with changed arguments of some parts.

    Parts that refer to changed parts are also constructed again. The initial state and the set of enabled parts are
    those of `system`. `gravity` (3,) is in m/s^2, by default that of `system`.

    Raises
    ------
    InputError
        If an argument of a part is invalid, or changes the initial pose of a body.
    """
    maker = MemberMaker(system, changes)
    owners: list[Body | Constraint | ForceElement] = [*system.bodies, *system.constraints, *system.forces]
    for owner in owners:
        if owner.companions:
            maker.member_part(owner)  # before its companions, which are those of the new part
    member = system._with([maker.member_part(part) for part in system], gravity)
    for old, new in zip(system.bodies, member.bodies, strict=True):
        refuse_moved(old, new, changes)
    member._initial = system.initial_state()
    return member


def refuse_moved(original: Body, changed: Body, changes: Changes) -> None:
    """Raise an InputError if a body constructed with changed arguments has a different initial pose than `original`."""
    if not (
        np.array_equal(original.position, changed.position)
        and np.array_equal(original.orientation, changed.orientation)
    ):
        raise InputError(
            f"{OWNER}: vary: {list(changes.get(original.name, ()))} of {original} also changes its initial pose: "
            "it is not an independent parameter"
        )


class MemberMaker:
    """Factory of copies of parts with changed arguments; each part is copied at most once.

    Parameters
    ----------
    system : System
    changes : changed arguments by name of the part
    replaced : pairs of a part of the system and a part that takes its place in the arguments of other parts
    """

    def __init__(self, system: System, changes: Changes, replaced: Iterable[tuple[Any, Any]] = ()) -> None:
        self._changes = changes
        self._parts = {id(part) for part in system}
        self._made = {id(part): new for part, new in replaced}

    def member_part(self, part: Any) -> Any:
        """Return a copy of a part with its changed arguments, or the part itself if its arguments are unchanged."""
        if id(part) not in self._made:
            self._made[id(part)] = part  # a part that refers to itself is not constructed again
            self._made[id(part)] = new = self._reconstructed(part, self._changes.get(getattr(part, "name", ""), {}))
            if isinstance(part, Body | Constraint | ForceElement) and new is not part:
                for old, own in zip(part.companions, new.companions, strict=True):
                    self._made[id(old)] = own
        return self._made[id(part)]

    def _reconstructed(self, part: Any, changes: Mapping[str, Any]) -> Any:
        call = made_with(part)
        if call is None and not changes:
            return part
        arguments = {name: self._substituted(x) for name, x in ({} if call is None else call.arguments).items()}
        new = {name: x for name, x in arguments.items() if call is not None and x is not call.arguments[name]}
        left_out: tuple[str, ...] = ()
        for parameter, value in changes.items():
            name, _, number = parameter.partition(".")
            held = new.get(name, getattr(part, name, None))
            if number and isinstance(held, Frame):
                parts = {"origin": held.origin, "rotation": held.rotation, number: value}
                new[name], left_out = Frame(**parts), PLACES
                other = "frame_j" if name == "frame_i" else "frame_i"
                new.setdefault(other, getattr(part, other))
            elif number:
                new[name] = reconstructed(held, {number: value})
            else:
                new[name] = value
        reads = part.reads if isinstance(part, ForceElement) else ()
        changed = any(id(one) in self._parts and self.member_part(one) is not one for one in reads)
        return reconstructed(part, new, left_out) if new or changed else part

    def _substituted(self, x: Any) -> Any:
        """Return the argument `x` with all changed parts in it replaced, or `x` itself if it contains none."""
        if id(x) in self._parts:
            return self.member_part(x)
        if isinstance(x, tuple | list):
            parts = [self._substituted(element) for element in x]
            return x if all(a is b for a, b in zip(parts, x, strict=True)) else type(x)(parts)
        if isinstance(x, Drum):
            body = self._substituted(x.body)
            return x if body is x.body else reconstructed(x, {"body": body})
        if isinstance(x, After):
            actions = self._substituted(x.actions)
            return x if actions is x.actions else replace(x, actions=actions)
        if isinstance(x, Replace):
            # The force is not a part of the system; changed arguments of the part that it replaces are not its own.
            force = self._made.setdefault(id(x.force), self._reconstructed(x.force, {}))
            return x if force is x.force else replace(x, force=force)
        return x
