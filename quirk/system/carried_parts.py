"""Parts that events have put in the place of others during a run, made again for an equal system.

Such a part refers to the bodies and joints of its own system. For another system, such as one of another process, an
equal part is made, which refers to the bodies and joints with the same names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..bodies.body import GROUND, Body
from ..constraints import Constraint, Distance, DistanceDrive, Drive, Joint
from ..constraints.constraint import with_frame_i
from ..constraints.drum import Drum
from ..errors import InputError
from ..events.actions import Follow, Replace, replacing_actions
from ..forces import ForceElement
from ..functions.digest import digest
from ..util.construction import made_with

if TYPE_CHECKING:
    from .configured_system import ConfiguredSystem


def carried_over(replaced: Mapping[str, Any], system: ConfiguredSystem) -> dict[str, Any]:
    """Return the parts `replaced`, by name, of a state, with those of other systems made anew for this system.

    Raises
    ------
    InputError
        If a part of another system cannot be made for this one.
    """
    own = {id(part) for part in (GROUND, *system)}
    return {name: part if _belongs(part, own) else _made_for(name, part, system) for name, part in replaced.items()}


def _belongs(part: Any, own: set[int]) -> bool:
    """Whether a part refers only to bodies, constraints and forces of a system, whose parts have the ids `own`."""
    return all(id(other) in own for other in _references([*part.bodies, *_arguments(part).values()]))


def _arguments(part: Any) -> Mapping[str, Any]:
    call = made_with(part)
    return {} if call is None else call.arguments


def _references(values: Any) -> list[Any]:
    """Return all bodies, constraints and forces in nested lists of arguments."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, Body | Constraint | ForceElement):
            found.append(value)
        elif isinstance(value, Drum):
            found.append(value.body)
        elif isinstance(value, tuple | list):
            found += _references(value)
    return found


def _made_for(name: str, part: Any, system: ConfiguredSystem) -> Any:
    """Return a copy of `part`, which an event of another system has put in the place of `name`, for this system.

    If the copy equals what an action of an event of this system puts in, the force or motion of the action is used.
    """
    if name not in system:
        raise InputError(f"{_refused(name, part)} has no part of this name to replace in this one")
    own: Any = system[name]
    actions = [action for _, action in replacing_actions(system.events) if action.name == name]
    if isinstance(own, Drive | DistanceDrive) and type(part) is type(own):
        motions = [action.motion for action in actions if isinstance(action, Follow)]
        return own.following(next((one for one in motions if _equal(one, part.motion, system)), part.motion))
    if isinstance(own, Distance) and isinstance(part, Distance):
        ends: dict[str, Any] = {"point_i": own.frame_i.origin, "point_j": own.frame_j.origin}
        return Distance(name, own.body_i, own.body_j, **ends, length=part.length)
    if isinstance(own, Joint) and type(part) is type(own):
        return with_frame_i(own, part.frame_i)
    call = made_with(part)
    if not isinstance(own, ForceElement) or not isinstance(part, ForceElement) or call is None:
        raise InputError(f"{_refused(name, part)} cannot be made again for this one: start from its own system")
    made = call.maker(**{argument: _substituted(x, name, part, system) for argument, x in call.arguments.items()})
    forces = [action.force for action in actions if isinstance(action, Replace)]
    return next((one for one in forces if _equal(one, made, system)), made)


def _substituted(x: Any, name: str, part: Any, system: ConfiguredSystem) -> Any:
    """Return the argument `x` with bodies, constraints and forces of another system replaced by those of this one."""
    if isinstance(x, Body | Constraint | ForceElement):
        if x.name not in system:
            raise InputError(f"{_refused(name, part)} refers to {x}, which this one does not have")
        return system[x.name]
    if isinstance(x, Drum):
        arguments = {key: _substituted(value, name, part, system) for key, value in _arguments(x).items()}
        return Drum(**arguments)
    if isinstance(x, tuple | list):
        return type(x)(_substituted(value, name, part, system) for value in x)
    return x


def _refused(name: str, part: Any) -> str:
    return f'State: replaced["{name}"]: {part}, by which an event has replaced a part of another system,'


def _equal(one: Any, other: Any, system: ConfiguredSystem) -> bool:
    """Whether two objects were made from equal arguments; parts of the system count as equal to themselves alone."""
    names = {id(part): part.name for part in (GROUND, *system)}
    return digest(one, names) == digest(other, names)
