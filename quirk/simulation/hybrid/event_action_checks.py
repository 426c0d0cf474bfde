"""Checks of event actions: the objects to which an action refers must be in the system and of a suitable kind."""

from __future__ import annotations

from typing import Any

from quirk.bodies.body import Body
from quirk.constraints import Constraint, DistanceDrive, Drive
from quirk.errors import InputError, UnknownNameError
from quirk.events.actions import (
    After,
    Disable,
    Enable,
    Engage,
    Follow,
    Release,
    Replace,
    SetVelocity,
    Switch,
    checked_actions,
)
from quirk.forces import ForceElement
from quirk.forces.elastic_rope import ElasticRope
from quirk.forces.flanks import Flanks
from quirk.forces.stick_slip import StickSlip
from quirk.system.system import System


def check_action(system: System, title: str, action: Any) -> None:
    """Raise an InputError if an action refers to an object that is not in the system, or of an unsuitable kind.

    `title` is the title of the event, for the error message.
    """
    kinds: tuple[tuple[Any, Any, str], ...] = (
        (Enable | Disable, Constraint | ForceElement, "constraint or force"),
        (Engage, Constraint, "constraint"),
        (Release, Constraint, "constraint"),
        (Switch, ForceElement, "force"),
        (Replace, ForceElement, "force"),
        (Follow, (Drive, DistanceDrive), "drive"),
        (SetVelocity, Body, "body"),
    )
    for kind, of, what in kinds:
        if isinstance(action, kind):
            for name in action.names if hasattr(action, "names") else (action.name,):
                part = _named_part(system, title, name)
                if not isinstance(part, of):
                    raise InputError(f"{title}: {part} is not a {what}")
    if isinstance(action, Replace):
        _check_replacement(system, title, action)
    for inner in action.actions if isinstance(action, After) else ():
        check_action(system, title, inner)


def _named_part(system: System, title: str, name: str) -> Any:
    try:
        return system[name]
    except UnknownNameError as error:
        raise UnknownNameError(f"{title}: its action names an unknown part: {error}") from None


def _check_replacement(system: System, title: str, action: Replace) -> None:
    old, new = system[action.name], action.force
    assert isinstance(old, ForceElement)
    controller = next((sampled for sampled in system.sampled if old.name in sampled.inputs), None)
    if controller is not None:
        raise InputError(
            f"{title}: {old} cannot be replaced, because {controller} sets its value: let the function of {controller} "
            "return another value, or disable the force and enable another one of the system"
        )
    bodies = {id(body) for body in system.bodies}
    if (isinstance(old, StickSlip) and old.sticks) or isinstance(old, Flanks | ElasticRope):
        raise InputError(f"{title}: {old} cannot be replaced: disable it, and enable another one of the system")
    if any(value.of_state for value in new.functions):
        raise InputError(
            f"{title}: {new} has a function of the state, f(t, state), which only elements of a system may have: "
            "make it a part of the system with active parts switched by quirk.enable and quirk.disable"
        )
    alien = [body for body in new.bodies if isinstance(body, Body) and id(body) not in bodies]
    if alien:
        raise InputError(f"{title}: {new} acts on {alien[0]}, which is not in the system")
    if (
        len(new.acting_ends) != len(old.acting_ends)
        or new.internal != old.internal
        or new.coordinates != old.coordinates
    ):
        raise InputError(
            f"{title}: {new} must have the same number of ends, and the same names of internal variables and "
            f"coordinates, as {old}, which it replaces"
        )


def actions_of(system: System, returned: Any, title: str) -> list[Any]:
    """Return the validated actions that a user function has returned as `returned`.

    `title` is the title of the event, for error messages.
    """
    listed = list(checked_actions(title, returned))
    for action in listed:
        check_action(system, title, action)
    return listed
