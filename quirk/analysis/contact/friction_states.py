"""Friction states along a run: sliding, sticking, and the event functions for their transitions."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from quirk.bodies.rotation import matrix
from quirk.bodies.state import State
from quirk.constraints.slip import OfGap, OfSurfaces
from quirk.dynamics.contact.contact_modes import ContactModes, Grip
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.events.names import Patch, Reading, Shared
from quirk.forces.friction import Friction, SlipComponent
from quirk.system.configuration import Configuration
from quirk.system.system import System

# Slip below this fraction of the rest speed of contacts has no direction of its own. Bodies that begin to slide come to
# rest again when they slide back at this speed, until they have been FASTER times as fast.
FLOOR, FASTER = 1e-2, 2.0
# Up to this multiple of that speed, sliding keeps its initial direction.
KEEPS = 2.0


@dataclass(frozen=True)
class SlidingContact:
    """State of a friction element that slides or sticks.

    Attributes
    ----------
    held : indices of the slip components with rows, while it sticks; otherwise None
    cone : while it sticks, the bound of its force, or the distribution of a shared load; None if other elements
        determine it
    load : while it slides on a contact, the rows that determine its normal load, see `Friction.shares`
    direction : (d,) direction of slip at the start of sliding
    floor : slip speed, m/s, below which the direction of slip is kept
    side : smooth side of spheres, see `OfSurfaces`
    slack : reverse slip speed, m/s, at which the bodies come to rest; None if they cannot
    heading : (d,) direction of slip at the last evaluation
    """

    held: tuple[int, ...] | None
    direction: tuple[float, ...] = ()
    floor: float = 0.0
    side: int = 1
    cone: Shared | Patch | None = None
    load: tuple[tuple[str, int, float], ...] = ()
    slack: float | None = None
    heading: tuple[float, ...] = field(default=(), compare=False)


class Frictions:
    """All load-dependent friction elements of a system."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.all = [force for force in system.forces if isinstance(force, Friction)]
        self.names = frozenset(friction.name for friction in self.all)

    def bare(self, base: Configuration) -> Configuration:
        """Return a configuration without friction."""
        return base.with_forces(off=self.names) if self.all else base

    def acting(self, base: Configuration, pushing: Container[str]) -> list[Friction]:
        """Return the friction elements whose joint is active or whose contact pushes."""
        return [
            one
            for one in self.all
            if one.name not in base.idle and (one.on.name in base.active or one.on.name in pushing)
        ]

    def configured(
        self, base: Configuration, rubbing: Mapping[str, SlidingContact], parts: Mapping[str, int]
    ) -> Configuration:
        """Return a configuration with friction in its present state, on the touched parts of bounded surfaces."""
        found = self.bare(base)
        for friction in self.all:
            rub = rubbing.get(friction.name)
            if rub is None:
                continue
            name = frozenset([friction.name])
            if rub.held == ():
                continue
            if rub.held is None:
                # Sliding keeps its initial direction until it has become faster.
                floor = rub.floor if rub.slack in (0.0, None) else KEEPS * FASTER * rub.floor
                part = parts.get(friction.on.name, 0)
                acting: Any = friction.sliding(rub.direction, floor, rub.side, part, rub.load)
                found = found.with_forces(on=name)
            else:
                acting = friction.sticking(rub.held, rub.side, parts.get(friction.on.name, 0))
                found = found.with_constraints(on=name)
            found = found.with_others({friction.name: acting})
        return found

    def guards(self, rubbing: Mapping[str, SlidingContact]) -> list[EventFunction]:
        """Return the event functions of friction: end of slip, limit of static friction, existence of a solution."""
        found, slides = [], False
        for friction in self.all:
            rub = rubbing.get(friction.name)
            if rub is None or (friction.static == np.inf and not isinstance(rub.cone, Patch)):
                continue
            quantity: Reading
            if rub.held is not None:
                if rub.cone is None:
                    continue
                quantity, what = rub.cone, "cone"
            else:
                slides = True
                if rub.slack is None:
                    continue
                quantity, what = Reading(friction, "ahead", None, -rub.slack), "slip"
                if rub.slack > 0:
                    faster = Reading(friction, "ahead", None, FASTER * rub.floor)
                    found.append(EventFunction((friction.name, 0, "faster"), f"{friction}", faster, 1, True))
            found.append(EventFunction((friction.name, 0, what), f"{friction}", quantity, -1, True, True))
        if slides:
            first = next(one for one in self.all if one.name in rubbing and rubbing[one.name].held is None)
            found.append(
                EventFunction((first.name, 0, "solvable"), f"{first}", Reading(None, "solvable", None, 0.0), -1, True)
            )
        return found

    def side(self, friction: Friction, state: State, push: np.ndarray | None = None) -> int:
        """Return the smooth side of a contact's first surface; `push` (3,) is the inertial normal of a user's gap."""
        if isinstance(friction.slip, OfGap):
            _, R = self._frame(friction.ends[0], state)
            return 1 if push is None or R[:, 2] @ push >= 0 else -1
        if not isinstance(friction.slip, OfSurfaces) or not friction.slip.has_sides:
            return 1
        frames = [self._frame(end, state) for end in friction.ends]
        (r_one, R_one), (r_two, _) = reversed(frames) if friction.slip.turned else frames
        return friction.slip.side_of(float(R_one[:, 2] @ (r_two - r_one)))

    def axis(self, friction: Friction, state: State) -> np.ndarray:
        """Return the axis of a friction element (3,) in the inertial frame."""
        _, R = self._frame(friction.ends[0], state)
        return np.asarray(R[:, friction.axis])

    def _frame(self, end: tuple[Any, Any], state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return origin and axes of a frame in the inertial frame."""
        body, frame = end
        if body in self._system.bodies:
            row = self._system.bodies.index(body)
            r, R = state.position[row], matrix(state.orientation[row])
        else:
            r, R = np.zeros(3), np.eye(3)
        return r + R @ frame.origin, R @ frame.matrix


def head(solver: Solver, rubbing: Mapping[str, SlidingContact]) -> None:
    """Set the directions of sliding friction in a solver to the current slip directions."""
    inputs, table = solver.applied.table.inputs, solver.frictions
    sliding = [element for element, _ in solver.model.forces if isinstance(element, Friction)]
    for k, element in enumerate(sliding):
        first = int(table.direction[k])
        inputs[first : first + element.slip.size] = rubbing[element.name].heading
        inputs[first + element.place_of("following") - element.place_of("direction")] = 1.0


def components(friction: Friction) -> list[tuple[SlipComponent, int]]:
    """Return the components of slip of a friction element, on both sides of its first surface, with the side."""
    turns = isinstance(friction.slip, OfSurfaces | OfGap) and friction.slip.has_sides
    sides = (1, -1) if turns else (1,)
    return [(SlipComponent(friction, c, side), side) for side in sides for c in range(friction.slip.size)]


def rub_of(
    friction: Friction,
    grip: Grip,
    found: ContactModes,
    k: int,
    side: int,
    floor: float,
    before: SlidingContact | None,
    load: tuple[tuple[str, int, float], ...],
) -> SlidingContact:
    """Return the state of a friction element that slides, from the solution at a state and the rows of its load."""
    e = found.sliding[k]
    assert e is not None
    heading, moving = tuple(float(part) for part in e), grip.moving is not None
    if moving and before is not None and before.held is None and before.side == side and before.slack == 0.0:
        # Continued sliding reuses the compiled model if its load is shared as before.
        return replace(before, heading=heading, load=load)
    slack: float | None = 0.0 if moving else floor
    if not moving and found.driven[k]:
        slack = None
    return SlidingContact(None, heading, floor, side, slack=slack, heading=heading, load=load)
