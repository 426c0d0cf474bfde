"""What events do: enable and disable constraints and forces, change drivers and velocities, or end the run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body
from ..constraints import Constraint
from ..errors import InputError
from ..forces import ForceElement
from ..functions.expression import Expression
from ..functions.motion import Motion
from ..util import validate
from ..util.construction import remembered
from ..util.suggestion import nearest_names, quoted


@dataclass(frozen=True)
class Enable:
    """Constraints and forces that are enabled; see `enable`."""

    names: tuple[str, ...]
    tolerance: float | None = None
    keep_offset: bool = False


@dataclass(frozen=True)
class Disable:
    """Constraints and forces that are disabled; see `disable`."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Engage:
    """Constraints that are switched on; see `engage`."""

    names: tuple[str, ...]
    tolerance: float | None = None
    keep_offset: bool = False


@dataclass(frozen=True)
class Release:
    """Constraints that are switched off; see `release`."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class Switch:
    """Forces that are switched on or off; see `switch_on` and `switch_off`."""

    names: tuple[str, ...]
    on: bool


@dataclass(frozen=True)
class Replace:
    """A force that is replaced by another one; see `replace`."""

    name: str
    force: ForceElement


@dataclass(frozen=True)
class Follow:
    """A driver that follows another motion; see `follow`."""

    name: str
    motion: Motion


@dataclass(frozen=True)
class SetVelocity:
    """Velocities that a body is given; see `set_velocity`."""

    name: str
    velocity: np.ndarray | None
    angular_velocity: np.ndarray | None


@dataclass(frozen=True)
class StopRun:
    """The end of the run."""


@dataclass(frozen=True)
class After:
    """Actions that are done when an event has happened so often; see `after`."""

    count: int
    actions: tuple[Any, ...]


Action = Enable | Disable | Engage | Release | Switch | Replace | Follow | SetVelocity | StopRun
# What an event takes as its action.
ActionLike = str | Action | After | Callable[..., Any] | Sequence[Any] | None


@remembered
def enable(
    *names: str | Constraint | ForceElement, tolerance: float | None = None, keep_offset: bool = False
) -> Enable:
    """Return the action that enables constraints and forces during a run.

    Forces act again. With constraints, velocities jump to the nearest ones in the mass metric that all active
    constraints allow: the impulsive form of the Udwadia-Kalaba equation, without restitution. Momentum is conserved
    where nothing holds on to the ground. Where poses are off the constraint, they are moved to the nearest ones that
    satisfy all active constraints if no body moves by more than `tolerance`.

    Parameters
    ----------
    names : str, Constraint or ForceElement
        At least one.
    tolerance : float, optional
        How far bodies may be moved, m, and in radians times the size of the system; default 1e-6 of that size.
    keep_offset : bool
        Let a constraint hold the bodies as they stand: frame i is put where frame j is.

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

    Velocities and internal variables stay as they are.

    Parameters
    ----------
    names : str, Constraint or ForceElement
        At least one.

    Examples
    --------
    >>> free = quirk.Event("free", "time", level=1.0, action=quirk.disable("latch"))
    >>> free.actions
    (Disable(names=('latch',)),)
    """
    return Disable(_names("disable", names))


@remembered
def engage(*names: str | Constraint, tolerance: float | None = None, keep_offset: bool = False) -> Engage:
    """Return the action that enables constraints: an earlier name of `enable`, with the same arguments.

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
    """Return the action that disables constraints: an earlier name of `disable`.

    Examples
    --------
    >>> quirk.release("latch")
    Release(names=('latch',))
    """
    return Release(_names("release", names))


@remembered
def switch_on(*names: str | Constraint | ForceElement) -> Switch:
    """Return the action that enables forces: an earlier name of `enable`.

    Examples
    --------
    >>> quirk.switch_on("spring")
    Switch(names=('spring',), on=True)
    """
    return Switch(_names("switch_on", names), True)


@remembered
def switch_off(*names: str | Constraint | ForceElement) -> Switch:
    """Return the action that disables forces: an earlier name of `disable`.

    Examples
    --------
    >>> quirk.switch_off("spring")
    Switch(names=('spring',), on=False)
    """
    return Switch(_names("switch_off", names), False)


@remembered
def replace(name: str | ForceElement, force: ForceElement) -> Replace:
    """Return the action that puts a force element, of the same name and with as many ends, in the place of another.

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
        raise InputError(f'replace: the new force must be named "{name}", as the one that it replaces; got {force}')
    return Replace(name, force)


@remembered
def follow(name: str | Constraint, motion: Motion) -> Follow:
    """Return the action that lets a driver follow another `Motion` of the run's time from now on.

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
    """Return the action that gives a body a velocity (3,) in N, m/s, or an angular velocity (3,) in body axes, rad/s.

    Where constraints do not allow it, all bodies then get the nearest velocities that they do allow.

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
    """Return the action that does another one when its event happens in a run for so many times, and at each later one.

    ``quirk.after(10, "stop")`` ends a run at the tenth.

    Examples
    --------
    >>> bounce = quirk.Event("bounce", "ball.position.z", direction=-1, action=quirk.after(10, "stop"))
    >>> bounce.actions[0].count
    10
    """
    return After(validate.whole("after", "count", count), checked_actions("after", action))


def checked_actions(title: str, action: Any) -> tuple[Action | After | Callable[..., Any], ...]:
    """Return the actions that an argument stands for: "record", "stop", actions, functions, or a list of these."""
    listed = list(action) if isinstance(action, Sequence) and not isinstance(action, str) else [action]
    found: list[Any] = []
    for one in listed:
        if one is None or (isinstance(one, str) and one == "record"):
            continue
        if isinstance(one, str) and one == "stop":
            found.append(StopRun())
        elif isinstance(one, Action | After) or (callable(one) and not isinstance(one, Expression)):
            found.append(one)
        else:
            meant = quoted(nearest_names(one, ("record", "stop"))) if isinstance(one, str) else ""
            raise InputError(
                f'{title}: action must be "record", "stop", what quirk.engage and its like return, a function of '
                f"(t, state) that returns such, or a list of these; got {one!r}"
                + (f"; did you mean {meant}?" if meant else "")
            )
    return tuple(found)


def functions_in(actions: Sequence[Any]) -> list[Callable[..., Any]]:
    """Return the functions of a user among actions."""
    found: list[Callable[..., Any]] = []
    for action in actions:
        found += functions_in(action.actions) if isinstance(action, After) else [action] if callable(action) else []
    return found


def _names(asked_by: str, names: Sequence[Any]) -> tuple[str, ...]:
    if not names:
        raise InputError(f"{asked_by}: give at least one name")
    found = tuple(getattr(name, "name", name) for name in names)
    for name in found:
        validate.name(asked_by, name)
    return found
