"""Connectivity of bodies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..bodies.body import Body, Ground

if TYPE_CHECKING:
    from .system import System


def groups(system: System, forces: bool) -> list[list[str]]:
    """Return the groups of connected bodies as lists of names; see `System.groups`."""
    together = {id(body): [body] for body in system.bodies}
    for joined in _joined(system, forces):
        members = [body for body in joined if isinstance(body, Body)]
        for other in members[1:]:
            one, two = together[id(members[0])], together[id(other)]
            if one is not two:
                one += two
                together.update((id(body), one) for body in two)
    order = {id(body): number for number, body in enumerate(system.bodies)}
    found = {id(group): sorted(group, key=lambda body: order[id(body)]) for group in together.values()}
    return [[body.name for body in group] for group in found.values()]


def orphans(system: System) -> list[str]:
    """Return the names of unconnected bodies; see `System.orphans`."""
    joined = {id(body) for bodies in _joined(system, forces=True) for body in bodies}
    return [body.name for body in system.bodies if id(body) not in joined]


def _joined(system: System, forces: bool) -> Iterator[tuple[Body | Ground, ...]]:
    """Yield the bodies of each active constraint and, if `forces` is True, of each force element."""
    # The constraint of a planar body to its plane is part of the body.
    own = {id(part) for body in system.bodies for part in body.companions}
    for constraint in system.constraints:
        rows = system.model.joint_rows.get(constraint.name)
        if rows is not None and rows.stop > rows.start and id(constraint) not in own:
            yield constraint.bodies
    for force in system.forces if forces else ():
        if force.between and len(force.bodies) > 1:
            yield force.bodies
