"""Actions of events.

An action enables or disables constraints and forces, replaces a force, changes the motion of a driver, sets the
velocity of a body, or ends the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body
from ..constraints import Constraint
from ..errors import InputError
from ..forces import ForceElement
from ..functions.expression import Expression
from ..functions.motion import Motion
from ..functions.user_function import check_arguments
from ..util import validate
from ..util.construction import remembered
from ..util.suggestion import nearest_names, quoted

if TYPE_CHECKING:
    from .event import Event


@dataclass(frozen=True)
class Enable:
    """Action that enables constraints and forces; see `enable`."""

    names: tuple[str, ...]
    tolerance: float | None = None
    keep_offset: bool = False


@dataclass(frozen=True)
class Disable:
    """Action that disables constraints and forces; see `disable`."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Engage:
    """Action that enables constraints; see `engage`."""

    names: tuple[str, ...]
    tolerance: float | None = None
    keep_offset: bool = False


@dataclass(frozen=True)
class Release:
    """Action that disables constraints; see `release`."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Switch:
    """Action that enables or disables forces; see `switch_on` and `switch_off`."""

    names: tuple[str, ...]
    on: bool


@dataclass(frozen=True)
class Replace:
    """Action that replaces a force element; see `replace`."""

    name: str
    force: ForceElement


@dataclass(frozen=True)
class Follow:
    """Action that changes the motion of a driver; see `follow`."""

    name: str
    motion: Motion


@dataclass(frozen=True)
class SetVelocity:
    """Action that sets the velocities of a body; see `set_velocity`."""

    name: str
    velocity: np.ndarray | None
    angular_velocity: np.ndarray | None


@dataclass(frozen=True)
class StopRun:
    """Action that ends the run."""


@dataclass(frozen=True)
class After:
    """Action that executes another action from a given occurrence of its event on; see `after`."""

    count: int
    actions: tuple[Any, ...]


Action = Enable | Disable | Engage | Release | Switch | Replace | Follow | SetVelocity | StopRun
# Types that an event accepts as its action.
ActionLike = str | Action | After | Callable[..., Any] | Sequence[Any] | None


@remembered
def enable(
    *names: str | Constraint | ForceElement, tolerance: float | None = None, keep_offset: bool = False
) -> Enable:
    """Return the action that enables constraints and forces during a run.

    When constraints are enabled, velocities jump to the nearest velocities, in the mass metric, that satisfy all active
    constraints: the impulsive form of the Udwadia-Kalaba equation, without restitution. Momentum is conserved unless
    bodies are constrained relative to the ground. If poses violate a constraint, they are projected onto all active
    constraints, provided that no body moves by more than `tolerance`.

    Parameters
    ----------
    names : str, Constraint or ForceElement
        Names or objects, at least one.
    tolerance : float, optional
        Largest allowed displacement of a body, m, and rotation, rad, times the characteristic length of the system;
        default: 1e-6 of that length.
    keep_offset : bool
        Hold the bodies at their current relative pose: frame i is moved to frame j.

    Raises
    ------
    InputError
        If there is no name, or `tolerance` is not positive.

    Examples
    --------
    >>> meet = quirk.Event("meet", "time", level=1.0, action=quirk.enable("latch", "spring"))
    >>> meet.actions
    (Enable(names=('latch', 'spring'), tolerance=None, keep_offset=False),)
    """
    if tolerance is not None:
        tolerance = validate.positive("enable", "tolerance", tolerance)
    return Enable(_names("enable", names), tolerance, validate.flag("enable", "keep_offset", keep_offset))


@remembered
def disable(*names: str | Constraint | ForceElement) -> Disable:
    """Return the action that disables constraints and forces during a run.

    Velocities and internal variables are unchanged.

    Parameters
    ----------
    names : str, Constraint or ForceElement
        Names or objects, at least one.

    Examples
    --------
    >>> free = quirk.Event("free", "time", level=1.0, action=quirk.disable("latch"))
    >>> free.actions
    (Disable(names=('latch',)),)
    """
    return Disable(_names("disable", names))


@remembered
def engage(*names: str | Constraint, tolerance: float | None = None, keep_offset: bool = False) -> Engage:
    """Return the action that enables constraints: alias of `enable`, with the same arguments.

    Examples
    --------
    >>> quirk.engage("latch", keep_offset=True)
    Engage(names=('latch',), tolerance=None, keep_offset=True)
    """
    if tolerance is not None:
        tolerance = validate.positive("engage", "tolerance", tolerance)
    return Engage(_names("engage", names), tolerance, validate.flag("engage", "keep_offset", keep_offset))


@remembered
def release(*names: str | Constraint) -> Release:
    """Return the action that disables constraints: alias of `disable`.

    Examples
    --------
    >>> quirk.release("latch")
    Release(names=('latch',))
    """
    return Release(_names("release", names))


@remembered
def switch_on(*names: str | Constraint | ForceElement) -> Switch:
    """Return the action that enables forces: alias of `enable`.

    Examples
    --------
    >>> quirk.switch_on("spring")
    Switch(names=('spring',), on=True)
    """
    return Switch(_names("switch_on", names), True)


@remembered
def switch_off(*names: str | Constraint | ForceElement) -> Switch:
    """Return the action that disables forces: alias of `disable`.

    Examples
    --------
    >>> quirk.switch_off("spring")
    Switch(names=('spring',), on=False)
    """
    return Switch(_names("switch_off", names), False)


@remembered
def replace(name: str | ForceElement, force: ForceElement) -> Replace:
    """Return the action that replaces a force element by another one with the same name and number of bodies.

    Internal variables of the new element have the values that those of the old one have then.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", 1.0, 0.1)
    >>> harder = quirk.Force("push", ball, [10.0, 0, 0])
    >>> quirk.Event("harder", "time", level=1.0, action=quirk.replace("push", harder))
    <Event "harder">
    """
    if not isinstance(force, ForceElement):
        raise InputError(f"replace: force must be a force element; got {force!r}")
    (name,) = _names("replace", (name,))
    if force.name != name:
        raise InputError(f'replace: the new force must be named "{name}", as the one it replaces; got {force}')
    return Replace(name, force)


@remembered
def follow(name: str | Constraint, motion: Motion) -> Follow:
    """Return the action that replaces the motion of a driver by another `Motion`, a function of the time of the run.

    Examples
    --------
    >>> faster = quirk.Motion.constant_rate(2.0, start=1.0)
    >>> quirk.Event("faster", "time", level=1.0, action=quirk.follow("motor", faster))
    <Event "faster">
    """
    if not isinstance(motion, Motion):
        raise InputError(f"follow: motion must be a quirk.Motion; got {motion!r}")
    return Follow(_names("follow", (name,))[0], motion)


@remembered
def set_velocity(
    name: str | Body, velocity: ArrayLike | None = None, angular_velocity: ArrayLike | None = None
) -> SetVelocity:
    """Return the action that sets the velocity (3,), inertial frame, m/s, or angular velocity (3,), body axes, rad/s.

    If the new velocity violates constraints, the velocities of all bodies are then projected onto the constraints.

    Examples
    --------
    >>> kick = quirk.Event("kick", "time", level=1.0, action=quirk.set_velocity("ball", velocity=[0, 0, 2.0]))
    >>> kick.actions[0].velocity
    array([0., 0., 2.])
    """
    if velocity is None and angular_velocity is None:
        raise InputError("set_velocity: give velocity or angular_velocity, or both")
    given = (
        None if vector is None else validate.array("set_velocity", argument, vector, (3,))
        for argument, vector in (("velocity", velocity), ("angular_velocity", angular_velocity))
    )
    return SetVelocity(_names("set_velocity", (name,))[0], *given)


@remembered
def after(count: int, action: ActionLike) -> After:
    """Return an action that executes `action` at occurrence number `count` of its event and at all later occurrences.

    ``quirk.after(10, "stop")`` ends a run at the tenth occurrence.

    Examples
    --------
    >>> bounce = quirk.Event("bounce", "ball.position.z", direction=-1, action=quirk.after(10, "stop"))
    >>> bounce.actions[0].count
    10
    """
    return After(validate.whole("after", "count", count), checked_actions("after", action))


def checked_actions(title: str, action: Any) -> tuple[Action | After | Callable[..., Any], ...]:
    """Return the actions in a user's argument as a tuple, without "record" and None.

    The argument is "record", "stop", an action, a function, or a list of these. `title` names the object in errors.
    """
    listed = list(action) if isinstance(action, Sequence) and not isinstance(action, str) else [action]
    found: list[Any] = []
    for one in listed:
        if one is None or (isinstance(one, str) and one == "record"):
            continue
        if isinstance(one, str) and one == "stop":
            found.append(StopRun())
        elif isinstance(one, Action | After) or (callable(one) and not isinstance(one, Expression)):
            check_arguments(title, "action", one, {"f(t, state)": 2})
            found.append(one)
        else:
            meant = quoted(nearest_names(one, ("record", "stop"))) if isinstance(one, str) else ""
            raise InputError(
                f'{title}: action must be "record", "stop", the result of quirk.enable and similar functions, a '
                f"function of (t, state) that returns one of these, or a list of these; got {one!r}"
                + (f"; did you mean {meant}?" if meant else "")
            )
    return tuple(found)


def functions_in(actions: Sequence[Any]) -> list[Callable[..., Any]]:
    """Return the user-defined functions in a sequence of actions, including functions inside `After`."""
    found: list[Callable[..., Any]] = []
    for action in actions:
        found += functions_in(action.actions) if isinstance(action, After) else [action] if callable(action) else []
    return found


def replacing_actions(events: Iterable[Event]) -> Iterator[tuple[tuple[str, int], Any]]:
    """Yield the actions of events that replace a constraint or force.

    Each item is ((name of the event, index of the action in this event), action).
    """
    for event in events:
        for number, action in enumerate(_flat(event.actions)):
            if isinstance(action, Replace | Follow):
                yield (event.name, number), action


def replacing_forces(events: Iterable[Event]) -> dict[str, list[ForceElement]]:
    """Return the force elements that actions of events put in the place of others, by name."""
    found: dict[str, list[ForceElement]] = {}
    for _, action in replacing_actions(events):
        if isinstance(action, Replace):
            found.setdefault(action.name, []).append(action.force)
    return found


def _flat(actions: Sequence[Any]) -> Iterator[Any]:
    for action in actions:
        if isinstance(action, After):
            yield from _flat(action.actions)
        else:
            yield action


def _names(asked_by: str, names: Sequence[Any]) -> tuple[str, ...]:
    if not names:
        raise InputError(f"{asked_by}: give at least one name")
    found = tuple(getattr(name, "name", name) for name in names)
    for name in found:
        validate.name(asked_by, name)
    return found
