"""Sliding or sticking of each friction element, and the event functions that detect a change.

Slip is the relative velocity of the two surfaces, with d = 1 or 2 components in the tangent plane. Bounded surfaces
consist of parts (faces and edges), which are numbered.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from quirk.bodies.rotation import matrix
from quirk.bodies.state import Kinematics, State
from quirk.constraints.slip import OfGap, OfSurfaces
from quirk.dynamics.contact.contact_modes import ContactModes, FrictionElement
from quirk.dynamics.model.applied_loads import coordinate_at
from quirk.dynamics.model.time_derivatives import PoseDerivatives
from quirk.dynamics.sparse.solver.slip_directions import set_slip_directions
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.events.dimension import Dimension
from quirk.events.names import CommonMargin, Reading, Shared
from quirk.forces.ball_friction import BallFriction
from quirk.forces.joint_friction import JointFriction
from quirk.forces.load_shares import LoadShares
from quirk.forces.stick_slip import (
    CONSTANT,
    COSINE,
    NO_SHARES,
    SlipAbove,
    SlipAhead,
    SlipBelow,
    SlipComponent,
    SlipTurned,
    StickSlip,
    sticking_elements,
)
from quirk.system.configuration import Configuration
from quirk.system.system import System

# SLIP_FLOOR: fraction of the rest speed of contacts below which the direction of slip is undefined. Bodies that begin
# to slide come to rest again if they slide back at this floor, unless their slip has exceeded FASTER times the floor.
SLIP_FLOOR, FASTER = 1e-2, 2.0
# Slip that drivers prescribe ends below this multiple of the floor, because it does not pass zero if it ends smoothly.
VANISHED = 1e-4
# The law of the onset of sliding (`friction_direction`) holds for slip up to this multiple of FASTER times the floor.
KEEPS = 2.0
# ENDS: with a constant friction limit and several slip components, slip keeps its direction below this multiple of the
# floor, or below the floor if it has just begun, until it ends, because the direction may turn infinitely fast there.
# ROUND_OFF: relative accuracy of the slip at the event.
ENDS, ROUND_OFF = 8.0, 1e-6
# Largest displacement of a sticking joint that counts as round-off: angle (rad), or fraction of the system's length.
POSITION_TOLERANCE = 1e-9


@dataclass(frozen=True)
class FrictionMode:
    """State of one friction element: sliding or sticking.

    Attributes
    ----------
    sticking_components : indices of the slip components kept at zero by constraint rows if it sticks; None if it slides
    margin : watched quantity that reaches zero at the limit of static friction if it sticks; None if the quantity of
        another element is watched instead
    load_rows : rows on which the normal load depends, as `shares` of `Friction.sliding`; of contacts if they slide
    direction : (d,) unit vector along the slip at the start of sliding
    floor : slip, m/s, below which the direction of the friction force is constant, or that of the onset of sliding
    turns : whether the direction below `floor` follows the law of the onset of sliding, in runs with fixed steps
    side : side of a sphere, +1 or -1, on which slip components are smooth; see `OfSurfaces`
    reversal_speed : reverse slip, m/s, at which the bodies come to rest, or slide in the opposite direction
    creep : slip, m/s, beyond which a sticking element starts to slide because drivers prescribe the slip or rows are no
        longer redundant; 0 if this cannot happen. A sliding element that has started in this way keeps the value;
        otherwise None
    position : coordinate, rad or m, at which a joint with constant friction sticks, or relative orientation of a ball
        joint; None if only rates are held
    is_ending : for friction of constant magnitude: whether the slip is so slow that its direction is kept until it
        vanishes
    ending_speed : slip, m/s, below which the direction of slip is kept
    is_prescribed : whether drivers and other constraints prescribe a component of the slip
    slip_direction : (d,) unit vector of slip at the last evaluation
    slides_since : time, s, at which sliding began; NaN if it sticks
    """

    sticking_components: tuple[int, ...] | None
    direction: tuple[float, ...] = ()
    floor: float = 0.0
    turns: bool = False
    side: int = 1
    margin: Shared | CommonMargin | None = None
    load_rows: LoadShares = NO_SHARES
    reversal_speed: float = 0.0
    creep: float | None = None
    position: tuple[float, ...] | None = None
    is_ending: bool = False
    ending_speed: float = 0.0
    is_prescribed: bool = False
    slip_direction: tuple[float, ...] = field(default=(), compare=False)
    slides_since: float = field(default=np.nan, compare=False)


class FrictionModes:
    """All friction elements of a system, which slide or stick.

    Parameters
    ----------
    system : System
    holds_positions : whether a sticking joint with constant friction has a row for its coordinate; otherwise it has a
        row for the rate only, so that sensitivities of the coordinate are not constrained to zero
    """

    def __init__(self, system: System, *, holds_positions: bool = True) -> None:
        self._system, self._holds_positions = system, holds_positions
        self.elements = sticking_elements(system.forces)
        self.names = frozenset(friction.name for friction in self.elements)

    def without_friction(self, base: Configuration) -> Configuration:
        """Return a copy of the configuration `base` with all friction elements disabled."""
        return base.with_forces(off=self.names) if self.elements else base

    def active_elements(self, base: Configuration, closed: Container[str]) -> list[StickSlip]:
        """Return the enabled friction elements whose joint is active or whose contact carries a load.

        `closed` contains the names of the closed contacts. `base` is the configuration without contacts.
        """
        return [
            one
            for one in self.elements
            if one.name not in base.idle and (one.acts_beside(base.active) or one.on.name in closed)
        ]

    def configured(
        self, base: Configuration, modes: Mapping[str, FrictionMode], parts: Mapping[str, int]
    ) -> Configuration:
        """Return the configuration in which each friction element has the state in `modes`.

        `parts` is the index of the part in contact of each bounded surface, by name of contact. `base` is the
        configuration without friction.
        """
        found = self.without_friction(base)
        for friction in self.elements:
            mode = modes.get(friction.name)
            if mode is None:
                continue
            name = frozenset([friction.name])
            if mode.sticking_components == ():
                continue
            if mode.sticking_components is None:
                # The law of the onset of sliding holds until the slip has become faster.
                begins = mode.reversal_speed > 0.0
                floor = KEEPS * FASTER * mode.floor if begins else mode.floor
                part = parts.get(friction.on.name, 0)
                law = begins or mode.turns
                acting: Any = friction.sliding(mode.direction, floor, mode.side, part, mode.load_rows, law)
                found = found.with_forces(on=name)
            else:
                acting = friction.sticking(
                    mode.sticking_components, mode.side, parts.get(friction.on.name, 0), mode.position, mode.load_rows
                )
                found = found.with_constraints(on=name)
            found = found.with_others({friction.name: acting})
        return found

    def guards(self, modes: Mapping[str, FrictionMode], parts: Mapping[str, int]) -> list[EventFunction]:
        """Return the event functions of all friction elements in the states `modes`.

        These functions detect the end of slip, the limit of static friction, slip caused by drivers or by the loss of
        redundancy of rows, and states beyond which the solution is not unique. `parts` contains the index of the part
        in contact of each bounded surface, by name of contact.
        """
        found, slides = [], False
        for friction in self.elements:
            mode = modes.get(friction.name)
            if mode is None or (friction.static == np.inf and not isinstance(mode.margin, CommonMargin)):
                continue
            quantity: Reading | SlipComponent
            if mode.sticking_components is not None:
                if mode.creep:
                    below = SlipBelow(friction.on_part(parts.get(friction.on.name, 0)), mode.side, mode.creep)
                    found.append(EventFunction((friction.name, 0, "creep"), f"{friction}", below, -1, True, True))
                if mode.margin is None:
                    continue
                quantity, what = mode.margin, "cone"
            else:
                slides = slides or friction.takes != CONSTANT
                ends = VANISHED * mode.floor if mode.is_prescribed else 0.0
                level = -mode.reversal_speed if mode.reversal_speed > 0 else ends
                quantity, what = _slip_quantity(friction, mode, level), "slip"
                if mode.reversal_speed > 0 or mode.is_ending:
                    faster = _slip_quantity(friction, mode, mode.floor if mode.is_ending else FASTER * mode.floor)
                    speed = Dimension.SPEED
                    found.append(
                        EventFunction((friction.name, 0, "faster"), f"{friction}", faster, 1, True, dimension=speed)
                    )
                elif _renews_direction(friction):
                    # Slip that passes exactly through zero does not turn, and is slow too briefly to be noticed.
                    found += _turning_events(friction, mode)
                elif friction.slip.size > 1:
                    part = parts.get(friction.on.name, 0)
                    found.append(_passing_event(friction.on_part(part), mode))
            found.append(EventFunction((friction.name, 0, what), f"{friction}", quantity, -1, True, True))
        if slides:
            first = next(
                one
                for one in self.elements
                if one.takes != CONSTANT and one.name in modes and modes[one.name].sticking_components is None
            )
            found.append(
                EventFunction((first.name, 0, "solvable"), f"{first}", Reading(None, "solvable", None, 0.0), -1, True)
            )
        return found

    def side(self, friction: StickSlip, state: State, push: np.ndarray | None = None) -> int:
        """Return the side of the first surface, +1 or -1, on which the slip components are smooth at a state.

        For a user-defined gap, the side follows from the contact normal `push` (3,), inertial frame.
        """
        if isinstance(friction.slip, OfGap):
            _, R = self._frame(friction.ends[0], state)
            return 1 if push is None or R[:, 2] @ push >= 0 else -1
        if not isinstance(friction.slip, OfSurfaces) or not friction.slip.has_sides:
            return 1
        frames = [self._frame(end, state) for end in friction.ends]
        (r_one, R_one), (r_two, _) = reversed(frames) if friction.slip.turned else frames
        return friction.slip.side_of(float(R_one[:, 2] @ (r_two - r_one)))

    def with_positions(
        self, modes: Mapping[str, FrictionMode], before: Mapping[str, FrictionMode], state: State
    ) -> dict[str, FrictionMode]:
        """Return the friction states completed by the coordinates at which joints with constant friction stick.

        `modes` are the states of the friction elements, and `before` those before the event, by name. A joint that
        already stuck and has not moved keeps its value.
        """
        if not self._holds_positions:
            return dict(modes)
        found, moving = dict(modes), PoseDerivatives.of(Kinematics.of(state), 2)
        number = {body.name: k for k, body in enumerate(self._system.bodies)}
        for friction in self.elements:
            mode, former = modes.get(friction.name), before.get(friction.name)
            if mode is None or not mode.sticking_components or not isinstance(friction, JointFriction):
                continue
            rows = tuple(number.get(body.name, len(number)) for body in friction.bodies)
            if isinstance(friction, BallFriction):
                (_, R), (_, turned) = (self._frame(end, state) for end in friction.ends)
                value = tuple((R.T @ turned).ravel().tolist())
            else:
                value = (float(coordinate_at(friction, rows, moving, 0.0, {}).value),)
            if former is not None and former.position is not None:
                unit = 1.0 if friction.rotates else self._system.model.length
                moved = np.abs(np.subtract(value, former.position)).max()
                value = former.position if moved <= POSITION_TOLERANCE * unit else value
            found[friction.name] = replace(mode, position=value)
        return found

    def axis(self, friction: StickSlip, state: State) -> np.ndarray:
        """Return the joint axis or contact normal (3,) of a friction element in the inertial frame."""
        _, R = self._frame(friction.ends[0], state)
        return np.asarray(R[:, friction.axis])

    def body_axes(self, friction: StickSlip, state: State) -> np.ndarray:
        """Return the axes (3, 3) of body i of a friction element in the inertial frame."""
        _, frame = friction.ends[0]
        return np.asarray(self._frame(friction.ends[0], state)[1] @ frame.matrix.T)

    def _frame(self, end: tuple[Any, Any], state: State) -> tuple[np.ndarray, np.ndarray]:
        """Return the origin (3,), m, and the axes (3, 3) of a body-fixed frame in the inertial frame.

        `end` is the pair of a body and a frame.
        """
        body, frame = end
        if body in self._system.bodies:
            row = self._system.bodies.index(body)
            r, R = state.position[row], matrix(state.orientation[row])
        else:
            r, R = np.zeros(3), np.eye(3)
        return r + R @ frame.origin, R @ frame.matrix


def align_slip_directions(solver: Solver, modes: Mapping[str, FrictionMode]) -> None:
    """Write the current direction of slip of each sliding friction element to the inputs of a compiled solver.

    `modes` are the states of the friction elements by name.
    """
    set_slip_directions(solver, {name: mode.slip_direction for name, mode in modes.items()})


def slip_components_of(friction: StickSlip) -> list[tuple[SlipComponent, int]]:
    """Return the slip components of a friction element, each with the side of the surface on which it is smooth."""
    turns = isinstance(friction.slip, OfSurfaces | OfGap) and friction.slip.has_sides
    sides = (1, -1) if turns else (1,)
    return [(SlipComponent(friction, c, side), side) for side in sides for c in range(friction.slip.size)]


def _slip_quantity(friction: StickSlip, mode: FrictionMode, level: float) -> Reading | SlipComponent:
    """Return the watched quantity of an event: the component of slip along the direction of sliding minus `level`, m/s.

    `mode` is the sliding state of the friction element, which contains this direction.
    """
    if friction.takes == CONSTANT:
        return SlipAhead(friction, mode.direction, -level)
    return Reading(friction, "ahead", None, level)


def _is_ending(before: FrictionMode, speed: float) -> bool:
    """Whether slip of magnitude `speed`, m/s, is so slow that its direction is kept until it vanishes.

    `before` is the previous state of the friction element.
    """
    if before.reversal_speed != 0.0:
        return False
    if before.is_ending:
        return speed < (1 - ROUND_OFF) * before.floor
    return speed <= (1 + ROUND_OFF) * before.ending_speed


def _turning_events(friction: StickSlip, mode: FrictionMode) -> list[EventFunction]:
    """Return event functions of friction whose reference direction must be renewed when the slip changes its direction.

    The first function detects that the direction of slip deviates too much from the reference direction. For decreasing
    slip, another one detects that slip becomes so slow that its direction is kept until it vanishes. For slip that has
    just begun, another one detects that slip exceeds this speed.
    """
    turned, slow = SlipTurned(friction, mode.direction), SlipAbove(friction, 1, mode.ending_speed)
    events = [(turned, "turned", -1), (slow, "slow", -1)]
    if mode.ending_speed == mode.floor:
        events.append((SlipAbove(friction, 1, FASTER * ENDS * mode.floor), "faster", 1))
    return [
        EventFunction((friction.name, 0, name), f"{friction}", watched, direction, True, direction < 0)
        for watched, name, direction in events
    ]


def _passing_event(friction: StickSlip, mode: FrictionMode) -> EventFunction:
    """Return the event function of slip that passes zero at less than its floor, and then exceeds the floor again.

    The direction of the friction force, which is constant below the floor, would jump there. Such slip counts as zero.
    """
    watched = SlipAbove(friction, mode.side, mode.floor)
    return EventFunction((friction.name, 0, "passes"), f"{friction}", watched, 1, True)


def _renews_direction(friction: StickSlip) -> bool:
    """Whether the direction of slip can change, so that events must renew the reference direction.

    This holds for friction with a constant limit and several slip components.
    """
    return friction.takes == CONSTANT and friction.slip.size > 1


def _has_turned(heading: tuple[float, ...], direction: tuple[float, ...]) -> bool:
    """Whether the direction of slip `heading` differs from `direction` by half the angle that a run tolerates.

    The result is False if one of the two is missing, ().
    """
    return len(heading) == len(direction) and not np.dot(heading, direction) > np.sqrt(0.5 * (1.0 + COSINE))


def _has_reversed(heading: tuple[float, ...], direction: tuple[float, ...]) -> bool:
    """Whether the direction of slip `heading` is more than 90 degrees from `direction`.

    The result is False if one of the two is missing, ().
    """
    return len(heading) == len(direction) and bool(np.dot(heading, direction) < 0.0)


def _keeps_direction(
    friction: StickSlip, before: FrictionMode, heading: tuple[float, ...], ends: bool, slow: bool
) -> bool:
    """Whether the compiled model of the sliding state `before` is valid for slip in the direction `heading`.

    `ends` is true at the end of slip, and `slow` if slip is below FASTER * ENDS times its floor. The compiled model
    contains the direction of slip for friction with a constant limit, and for other friction at the end of slip. The
    direction of the former may turn, and impacts may reverse both.
    """
    differs = _has_turned if friction.takes == CONSTANT else _has_reversed
    if differs(heading, before.direction) or before.is_ending != ends:
        return False
    return not _renews_direction(friction) or ends or slow or before.ending_speed > before.floor


def _begins_still(
    before: FrictionMode, element: FrictionElement, heading: tuple[float, ...], side: int, floor: float
) -> bool:
    """Whether friction has begun to slide and is still slower than `floor`, m/s, so that it slides on as it began.

    `before` is its previous sliding state, `element` has its present slip, in the direction `heading`, and `side` is
    the side of the first surface.
    """
    slips = element.slip_direction is not None and element.slip_speed < floor
    begun = before.reversal_speed > 0.0 and before.side == side
    return slips and begun and not _has_reversed(heading, before.direction)


def sliding_mode(
    friction: StickSlip,
    element: FrictionElement,
    found: ContactModes,
    k: int,
    side: int,
    floor: float,
    turns: bool,
    before: FrictionMode | None,
    load: LoadShares,
    speed: float,
    prescribed: bool,
) -> FrictionMode:
    """Return the sliding state of a friction element.

    Parameters
    ----------
    friction : the friction element
    element : data of the element in the contact problem, with its slip direction
    found : solution of the contact problem at this state
    k : index of the friction element in that solution
    side : side of the first surface, +1 or -1, on which slip components are smooth
    floor : slip, m/s, below which the direction of the friction force does not follow that of slip
    turns : as for `FrictionMode`
    before : previous state of the element, or None
    load : rows that determine the normal load
    speed : slip after the event, m/s, also where it counts as zero because it creeps
    prescribed : whether friction cannot change some component of the slip
    """
    e = found.slip_directions[k]
    assert e is not None
    heading, slips = tuple(float(part) for part in e), element.slip_direction is not None
    sliding_before = before if before is not None and before.sticking_components is None else None
    ends = (
        slips
        and _renews_direction(friction)
        and sliding_before is not None
        and _is_ending(sliding_before, element.slip_speed)
    )
    if sliding_before is not None and _begins_still(sliding_before, element, heading, side, floor):
        return replace(sliding_before, slip_direction=heading, load_rows=load, is_prescribed=prescribed)
    level = ENDS * floor if element.slip_speed >= (1 - ROUND_OFF) * FASTER * ENDS * floor else floor
    if (
        slips
        and sliding_before is not None
        and sliding_before.side == side
        and sliding_before.reversal_speed == 0.0
        and _keeps_direction(friction, sliding_before, heading, ends, level == floor)
    ):
        # Continued sliding reuses the compiled model if its load is shared as before.
        return replace(sliding_before, slip_direction=heading, load_rows=load, is_prescribed=prescribed)
    # Slip that begins without an event of its load was not held, as rows were redundant. A zero is not kept: what could
    # not creep while a stop held it may do so later.
    creeps = before is not None and (before.sticking_components is None or slips)
    creep = (before.creep or None) if before is not None and creeps else None
    begins = not slips and speed < (1 - ROUND_OFF) * FASTER * floor
    if ends:
        assert before is not None
        level = before.ending_speed
        floor = FASTER * level
    return FrictionMode(
        None,
        heading,
        floor,
        turns,
        side,
        reversal_speed=floor if begins else 0.0,
        slip_direction=heading,
        load_rows=load,
        creep=creep,
        is_ending=ends,
        ending_speed=level,
        is_prescribed=prescribed,
    )
