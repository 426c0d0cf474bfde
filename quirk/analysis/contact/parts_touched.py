"""Parts of bounded surfaces: the face, edge or corner in contact with a sphere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from quirk.bodies.rotation import matrix
from quirk.bodies.state import State
from quirk.constraints import Contact
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.events.quantity import Gap
from quirk.system.system import System

# Distance beyond a border, as a fraction of the system's length, at which a contact changes to another part. Without
# this distance, round-off would cause repeated changes for a center that moves along a border. The resulting error of
# the gap is of second order in the distance.
BEYOND = 1e-13


def nearest_part(system: System, contact: Contact, state: State, before: int | None = None) -> int:
    """Return the index of the part (face, edge or corner) of a bounded surface nearest to the sphere at a state.

    The part with the index `before` is kept while the center of the sphere is within its borders.
    """
    assert contact.parts is not None
    ends = [_frame(system, body, frame, state) for body, frame in contact.ends]
    (r_one, R_one), (r_two, _) = reversed(ends) if contact.turned else ends
    x, y, _ = (r_two - r_one) @ R_one
    if before is not None:
        borders = contact.parts.borders(x, y, contact.numbers_of(before))
        if min(borders) >= -0.5 * BEYOND * system.model.length:
            return before
    return contact.parts.at(x, y, contact.numbers_of(0))


def border_guards(system: System, parts: Mapping[str, int]) -> list[EventFunction]:
    """Return event functions that detect when a sphere leaves the face, edge or corner in contact.

    `parts` is the index of the part in contact, by name of contact.
    """
    slack, found = BEYOND * system.model.length, list[EventFunction]()
    for name, part in parts.items():
        contact: Any = system[name]
        for k, border in enumerate(contact.borders(part)):
            beyond = Gap(contact, 0, slack, border)
            found.append(EventFunction((name, k, "border"), f"{contact}", beyond, -1, True, True))
    return found


def _frame(system: System, body: Any, frame: Any, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Return the origin (3,), m, and the axes (3, 3) of a body-fixed frame in the inertial frame."""
    if body not in system.bodies:
        return frame.origin, frame.matrix
    row = system.bodies.index(body)
    R = matrix(state.orientation[row])
    return state.position[row] + R @ frame.origin, R @ frame.matrix
