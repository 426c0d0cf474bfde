"""Addition of parts to a system, and their removal.

Parts are bodies, constraints, forces and events. Parts that remain in the system keep their state.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ..beams import Beam
from ..bodies.body import Body
from ..bodies.state import State
from ..constraints import Constraint
from ..errors import InputError
from ..events import Event, Sampled
from ..forces import ForceElement

if TYPE_CHECKING:
    from .parts import Part
    from .system import System

# Maximum number of parts named in a message.
MOST_NAMED = 6


def remaining(system: System, names: Iterable[Any], dependents: bool) -> list[Part]:
    """Return the parts of a system except the parts in `names`.

    If `dependents` is True, parts that depend on the removed ones are also left out; see `System.without`.
    """
    out = {id(part): part for part in (system[name] for name in names)}
    owners = [part for part in system if isinstance(part, Body | Beam | Constraint | ForceElement)]
    for owner in owners:
        for companion in owner.companions:
            if id(owner) in out:
                out[id(companion)] = companion
            elif id(companion) in out:
                what = "beam" if isinstance(owner, Beam) else "body" if isinstance(owner, Body) else "part"
                raise InputError(f"System.without: {companion} belongs to {owner}: remove the {what} instead")
    asked = list(out.values())
    needing: list[Part] = []
    while more := [part for part in system if id(part) not in out and any(id(x) in out for x in needs(part, system))]:
        needing += more
        out.update((id(part), part) for part in more)
    if needing and not dependents:
        listed = ", ".join(str(part) for part in needing[:MOST_NAMED]) + (", ..." if len(needing) > MOST_NAMED else "")
        raise InputError(
            f"System.without: {listed} requires {', '.join(str(part) for part in asked[:MOST_NAMED])}: "
            "remove these parts, too, by name or with dependents=True"
        )
    return [part for part in system if id(part) not in out]


def needs(part: Part, system: System) -> list[object]:
    """Return the objects on which a part depends: bodies, joints, and force elements whose inputs it sets."""
    if isinstance(part, Sampled):
        return [system[name] for name in part.inputs]
    if isinstance(part, Body | Beam | Event):
        return []  # an event looks its quantities up by name when a run begins
    joint = getattr(part, "joint", None)
    bodies: Iterable[object] = part.needs if isinstance(part, ForceElement) else part.bodies
    joints = [joint] if isinstance(joint, Constraint) else getattr(part, "joints", None) or ()
    return [*bodies, *joints]


def carried_over(original: System, changed: System) -> State:
    """Return the initial state of the system `changed`, in which parts that are also in `original` keep their state."""
    before, start = original.initial_state(), changed.initial_state()
    rows = {id(body): row for row, body in enumerate(original.bodies)}
    for row, body in enumerate(changed.bodies):
        if id(body) in rows:
            for to, given in zip(start.parts, before.parts, strict=True):
                to[row] = given[rows[id(body)]]
    shared = {part.name for part in original if part.name in changed and changed[part.name] is part}
    start.angles = {name: angles for name, angles in before.angles.items() if name in shared}
    start.internal = {name: numbers for name, numbers in before.internal.items() if name in shared}
    return start
