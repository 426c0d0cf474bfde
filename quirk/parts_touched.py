"""Which part of a bounded surface a sphere touches: the face, an edge or a corner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .constraints import Contact
from .dynamics.sparse.host.watch import Guard
from .events.quantity import Gap
from .rotation import matrix
from .state import State
from .system import System

# A contact keeps its part until the sphere's center is beyond a border by this part of the size of the system. Below
# that round-off would switch a center that moves along a border to and fro; what the gap is in error there is of second
# order.
BEYOND = 1e-13


def part_at(system: System, contact: Contact, state: State, before: int | None = None) -> int:
    """Return the number of the part of a bounded surface that is nearest to the sphere at a state.

    The part `before` counts as long as the center is not beyond its borders.
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


def border_guards(system: System, parts: Mapping[str, int]) -> list[Guard]:
    """Return what is watched of contacts that touch these parts, by name: whether they pass a border."""
    slack, found = BEYOND * system.model.length, list[Guard]()
    for name, part in parts.items():
        contact: Any = system[name]
        for k, border in enumerate(contact.borders(part)):
            beyond = Gap(contact, 0, slack, border)
            found.append(Guard((name, k, "border"), f"{contact}", beyond, -1, True, True))
    return found


def _frame(system: System, body: Any, frame: Any, state: State) -> tuple[np.ndarray, np.ndarray]:
    """Origin and axes of a frame in N."""
    if body not in system.bodies:
        return frame.origin, frame.matrix
    row = system.bodies.index(body)
    R = matrix(state.orientation[row])
    return state.position[row] + R @ frame.origin, R @ frame.matrix
