"""Variations of a state across an event, including the variation of the event's time.

At an event an event function g is zero. A variation d of the state before the event delays the event by d_tau = -dg /
g', where dg is the resulting variation of g and g' its rate along the motion before the event. The state at the event
varies by d + f- d_tau. This variation is mapped across the jump, and referred back to the original time by subtracting
f+ d_tau, with f- and f+ the rates of the state before and after (the saltation matrix; see Leine and Nijmeijer,
Dynamics and Bifurcations of Non-Smooth Mechanical Systems, 2004, section 7). Variations are taken with respect to D
parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from quirk.analysis.contact.friction_modes import align_slip_directions
from quirk.analysis.linear.operating_point import Point
from quirk.analysis.linear.outputs import rows_of
from quirk.analysis.linear.quantity_derivatives import QuantityDerivatives
from quirk.bodies.state import STATE_SIZE
from quirk.dynamics.contact.impulse import largest_displacement
from quirk.dynamics.model.directions import OMEGA, SHIFT, TURN, VELOCITY, Directions, Inputs
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.dynamics.sparse.variation.variation import VariationIntegrator
from quirk.errors import InputError
from quirk.events.names import Reading
from quirk.events.quantity import Gap, Quantity
from quirk.forces.stick_slip import SlipBelow
from quirk.system.system import System

from ..hybrid.step_history import StepInterval
from .change import FRAME, ParameterChange, after_replacements, as_changes, as_motions, directions_at
from .geometry_derivatives import explicit_changes, gap_changes
from .impulses import after_impulse
from .part_parameters import GAP
from .slipping import limit_time, slip_end_time, unloading_time

OWNER = "simulate: sensitivities"
# Change of velocities, over the largest one, below which they are continuous.
STOPPED = 1e-12
# Simultaneous events stay simultaneous if the variations of their times differ by less than this fraction.
AT_ONCE = 1e-6
# Loads on either side of an event are extrapolated linearly to the event from two states: after the bodies have moved
# by this fraction of the length of the system, or of a rad, and by twice this fraction.
ASIDE = 1e-9
# A quantity jumps over its level at an event if it is then further from the level than this fraction of the level plus
# the change of the quantity since time zero at its present rate.
JUMPED = 1e-6
# Minimum ratio of a jump to the smooth change on either side of the event; smaller jumps are round-off.
DISTINCT = 100.0
# Jumps of poses below this fraction of the length of the system count as zero.
MOVED = 1e-8


class Jump:
    """Event between two intervals of a run, with the derivative of its time with respect to D parameters.

    Parameters
    ----------
    system : System
    before, after : intervals of integration steps before and after the event
    changes : derivatives of the system with respect to the D parameters
    integrators : integrators of variations in both intervals
    previous : (D,) derivative of the time of the event before, or zeros at the start; None if it is not known

    Attributes
    ----------
    later : (D,) derivative of the time of the event with respect to the parameters, s per unit
    unloaded : (D,) derivatives of the times at which the loads of contacts fall to zero, s per unit, by name of contact
    """

    def __init__(
        self,
        system: System,
        before: StepInterval,
        after: StepInterval,
        changes: Sequence[ParameterChange],
        integrators: Sequence[VariationIntegrator],
        previous: np.ndarray | None = None,
    ) -> None:
        self._system, self._before, self._after, self._previous = system, before, after, previous
        self._changes, self._changes_after = (
            after_replacements(changes, system, dict(interval.base.others)) for interval in (before, after)
        )
        self._integrators = integrators
        self.later = np.zeros(len(changes))
        self.unloaded: dict[str, np.ndarray] = {}

    def point(self) -> Point:
        """Return the operating point (model, state and time) just before the event."""
        return self._point(self._before, self._before.end, self._integrators[0])

    def across(self, variations: np.ndarray) -> np.ndarray:
        """Return the variations (D, 13 n + k) of the state after the event, from the variations before it.

        `variations` (D, 13 n + k) are the variations, with respect to D parameters, of the state vector of n bodies and
        k auxiliary states before the event.
        """
        before, after, model = self._before, self._after, self._before.plant.model
        point = self.point()
        bodies, internal = as_motions(model, before.end, variations)
        relevant = [guard for guard in before.events if not self._continuous(guard)]
        if before.events:
            at = self._derivatives(point, bodies, internal)
            if relevant:
                self.later = self._event_time(at, relevant)
            self.unloaded = self._unloading_times(at)
        if before.is_continuous_with(after):
            return variations
        same = np.array_equal(before.end, after.start)
        if same and before.plant is after.plant:
            if not relevant:
                return variations
            bodies, internal = self._load_variations(point, bodies, internal)
            return as_changes(model, after.start, bodies, internal)
        flow = _flow(point)
        bodies = bodies + flow[..., None] * self.later
        internal[: point.internal] += point.internal_rates[:, None] * self.later
        if not same:
            if largest_displacement(model, before.end, after.start) > MOVED * model.length:
                raise InputError(f"{OWNER}: {self._named}: displacements of bodies at events are not differentiated")
            smooth = all(_of_slip(guard) or _of_border(guard) or self._continuous(guard) for guard in before.events)
            if not smooth and _may_have_impulse(before, after):
                bodies = after_impulse(self._system, before, after, bodies, self._changes_after, self.later)
        align_slip_directions(self._integrators[1].solver, after.contact_state.friction)
        point = self._point(after, after.start, self._integrators[1])
        bodies = bodies - _flow(point)[..., None] * self.later
        internal[: point.internal] -= point.internal_rates[:, None] * self.later
        return as_changes(model, after.start, bodies, internal)

    def _load_variations(self, point: Point, bodies: np.ndarray, internal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the variations after an event at which loads may jump while the state is continuous.

        `point` is the operating point just before the event. `bodies` (n, 12, D) and `internal` (k, D) are the
        variations of n bodies and k internal variables before the event, with respect to D parameters.
        """
        speed = max(np.abs(_flow(point)[:, SHIFT]).max() / point.model.length, np.abs(_flow(point)[:, TURN]).max())
        if not speed > 0.0:
            return bodies, internal
        h = ASIDE / speed
        rates = [self._extrapolated_rates(point, times * h) for times in (-2.0, -1.0, 1.0, 2.0)]
        moved, auxiliary = (
            _jump_between(*sides)[..., None] * np.where(np.isfinite(self.later), self.later, 0.0)
            for sides in zip(*rates, strict=True)
        )
        internal[: point.internal] -= auxiliary
        return bodies - moved, internal

    def _extrapolated_rates(self, point: Point, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates of the states of bodies and internal variables at time h (s) from the event.

        The shapes are (n, 12) for n bodies and (k,) for k internal variables. The state at this time is extrapolated
        linearly from the operating point `point` just before the event; h may be negative.
        """
        model, y = point.model, self._before.end
        auxiliary = np.zeros((y.size - STATE_SIZE * point.bodies, 1))
        auxiliary[: point.internal, 0] = h * point.internal_rates
        shifted = y + as_changes(model, y, h * _flow(point)[..., None], auxiliary)[0]
        there = self._point(self._before, shifted, self._integrators[0], point.t + h)
        return _flow(there), there.internal_rates

    def _continuous(self, guard: EventFunction) -> bool:
        """Whether loads are continuous at the zero of the event function `guard`.

        This is the case, for example, where a contact opens because its load falls to zero.
        """
        if not isinstance(guard.key, tuple):
            return False
        if guard.key[2] == "solvable":
            raise InputError(f"{OWNER}: {guard.title}: no derivative exists where friction has no solution")
        return guard.key[2] in ("push", "faster", "turned", "slow", "return", "apart")

    @property
    def _named(self) -> str:
        return ", ".join(guard.title for guard in self._before.events) or f"at t = {self._before.reached:g} s"

    def _point(
        self, interval: StepInterval, y: np.ndarray, integrator: VariationIntegrator, t: float | None = None
    ) -> Point:
        t, solver = self._before.reached if t is None else t, integrator.solver
        state = interval.plant.model.auxiliary.state(y).copy()
        solver.settle_state(state, t)
        point = Point.along(self._system, interval.plant, solver, state, t, self._after.angles)
        point.differential = integrator.differential
        return point

    def _derivatives(self, point: Point, bodies: np.ndarray, internal: np.ndarray) -> QuantityDerivatives:
        """Return the derivatives of the motion with respect to D parameters at the operating point before the event.

        `bodies` (n, 12, D) and `internal` (k, D) are the variations of the states of n bodies and k internal variables.
        """
        directions = directions_at(point.model, self._changes, point.t)
        directions.bodies[:], directions.internal[:] = bodies, internal
        return QuantityDerivatives(point, point.variation(directions))

    @staticmethod
    def _along_flow(point: Point) -> QuantityDerivatives:
        """Return the derivatives of the motion with respect to time, as a single direction, at an operating point."""
        along = Directions.none(point.model, 1)
        along.bodies[:], along.internal[: point.internal], along.time[:] = (
            _flow(point)[..., None], point.internal_rates[:, None], 1.0,
        )  # fmt: skip
        return QuantityDerivatives(point, point.variation(along))

    def _event_time(self, at: QuantityDerivatives, event_functions: Sequence[EventFunction]) -> np.ndarray:
        """Return the variations (D,) of the time of the event with respect to D parameters, s per unit.

        `at` are the derivatives of the motion just before the event with respect to the parameters, and
        `event_functions` are the event functions that are zero.
        """
        by_guard = [
            self._of_friction(at, guard) if _of_slip(guard) else self._of_guard(at, guard) for guard in event_functions
        ]
        for change in by_guard[1:]:
            if np.abs(change - by_guard[0]).max() > AT_ONCE * np.abs(by_guard[0]).max():
                raise InputError(
                    f"{OWNER}: {self._named} occur together at t = {at.point.t:g} s, and their order depends on the "
                    "parameters: no derivative exists"
                )
        return by_guard[0]

    def _unloading_times(self, at: QuantityDerivatives) -> dict[str, np.ndarray]:
        """Return the variations (D,) of the times at which loads of contacts fall to zero, by name of contact.

        `at` are the derivatives of the motion just before the event with respect to D parameters.
        """
        loads = {
            _name_of(guard): guard.quantity
            for guard in self._before.events
            if isinstance(guard.quantity, Reading) and isinstance(guard.key, tuple) and guard.key[2] == "push"
        }
        if not loads:
            return {}
        flow = self._along_flow(at.point)
        return {name: unloading_time(at, flow, load) for name, load in loads.items()}

    def _of_guard(self, derivatives: QuantityDerivatives, guard: EventFunction) -> np.ndarray:
        value, rate, change = self._quantity(derivatives, guard)
        if _jumps_over_level(guard, value, rate, derivatives.point.t):
            return self._time_of_event_before(guard)
        if not np.isfinite(change).all():
            raise InputError(f"{OWNER}: {guard.title}: its function cannot be differentiated: use plain arithmetic")
        with np.errstate(divide="ignore", invalid="ignore"):  # a constant quantity at zero crosses by round-off
            return np.asarray(-change / rate)

    def _time_of_event_before(self, guard: EventFunction) -> np.ndarray:
        """Return the variations (D,) of the time of an event whose quantity has jumped at the event before it."""
        if self._before.t < self._before.reached:
            raise InputError(
                f"{OWNER}: {guard.title}: its quantity jumps over its level by itself, so that the event time has "
                "no derivative: let it depend smoothly on the motion"
            )
        if self._previous is None:
            raise InputError(
                f"{OWNER}: {guard.title}: its quantity jumps over its level at another event, which gradients of an "
                "objective do not include: give sensitivities= alone"
            )
        return self._previous

    def _quantity(self, derivatives: QuantityDerivatives, guard: EventFunction) -> tuple[float, float, np.ndarray]:
        """Return an event function, its rate along the motion, and the variations (D,) of its value.

        `derivatives` are the derivatives of the motion with respect to D parameters, and `guard` is the event function.
        """
        quantity = guard.quantity
        if isinstance(quantity, Reading):
            of_element = self._of_element(derivatives, quantity)
            if of_element is None:
                raise InputError(
                    f"{OWNER}: {guard.title}: events on loads, energies and disabled elements are not "
                    "differentiated: let the event depend on positions, of a body or by a function"
                )
            return of_element
        if isinstance(quantity, SlipBelow):
            terms, moved = derivatives.coordinate_terms(quantity, rows_of(derivatives.point, quantity), 0, {})
            return terms[0], terms[1], moved[0]
        assert isinstance(quantity, Quantity | Gap)
        seeds, numbers = self._of_gap(quantity) if isinstance(quantity, Gap) else ({}, np.zeros((0, 0)))
        terms, moved = derivatives.coordinate_terms(quantity, rows_of(derivatives.point, quantity), 0, seeds)
        if isinstance(quantity, Gap):
            return terms[0], terms[1], moved[0] + gap_changes(quantity, derivatives, numbers)
        return terms[0], terms[1], moved[0] + explicit_changes(quantity, derivatives, self._changes)

    @staticmethod
    def _of_element(derivatives: QuantityDerivatives, reading: Reading) -> tuple[float, float, np.ndarray] | None:
        """Return a force element's coordinate minus the level, its rate, and the variations (D,) of its value.

        Returns None if the element is disabled, or the quantity is not a coordinate. `derivatives` are the derivatives
        of the motion with respect to D parameters, and `reading` names the element and its coordinate.
        """
        for element, rows in derivatives.point.model.forces:
            if element is reading.of and reading.quantity in element.coordinates:
                terms, moved = derivatives.coordinate_terms(
                    element, rows, element.coordinates.index(reading.quantity), {}
                )
                return terms[0] - reading.level, terms[1], moved[0]
        return None

    def _of_friction(self, derivatives: QuantityDerivatives, guard: EventFunction) -> np.ndarray:
        """Return the variation (D,) of the time at which slip ends or friction reaches its limit, s per unit.

        `derivatives` are the derivatives of the motion with respect to D parameters, and `guard` is the event function.
        """
        assert isinstance(guard.key, tuple)
        if guard.key[2] == "slip":
            return slip_end_time(derivatives, str(guard.key[0]))
        assert isinstance(guard.quantity, Reading)
        return limit_time(derivatives, self._along_flow(derivatives.point), guard.quantity, self._changes)

    def _of_gap(self, gap: Gap) -> tuple[Inputs, np.ndarray]:
        """Return the derivatives, with respect to D parameters, of the frames and of the k constants of a gap.

        The derivatives of the frames are a dict by index of the input, those of the constants an array (k, D).
        """
        key, layout = (GAP + gap.label, gap.name, 0), gap.layout()
        count = len(gap.numbers_of_gap)
        numbers = [change.numbers.get(key, np.zeros(count + FRAME * layout.frames)) for change in self._changes]
        by_place = np.transpose(numbers)
        firsts = [layout.first_frame + f * layout.frame_size for f in range(layout.frames)]
        places = [first + c for first in firsts for c in range(FRAME)]
        return dict(zip(places, by_place[count:], strict=True)), by_place[:count]


def _jumps_over_level(guard: EventFunction, value: float, rate: float, t: float) -> bool:
    """Whether the quantity of a user's event at time t (s) jumps over its level instead of passing it.

    `value` is the quantity minus its level just before the event, and `rate` is its rate.
    """
    size = abs(getattr(guard.quantity, "level", 0.0)) + abs(rate * t)
    return not isinstance(guard.key, tuple) and not abs(value) <= JUMPED * size


def _may_have_impulse(before: StepInterval, after: StepInterval) -> bool:
    """Whether there may be an impulse at an event: constraints are added, a gap closes, or velocities jump.

    Contacts at rest are stopped again at each event, which changes velocities by round-off.
    """
    one, other = before.plant.model, after.plant.model
    if one.joint_rows.keys() != other.joint_rows.keys():
        return True
    if any(isinstance(guard.key, tuple) and guard.key[2] == "gap" for guard in before.events):
        return True
    start, end = one.auxiliary.state(before.end), other.auxiliary.state(after.start)
    fastest = max(np.abs(start.velocity).max() / one.length, np.abs(start.angular_velocity).max())
    jump = max(
        np.abs(end.velocity - start.velocity).max() / one.length,
        np.abs(end.angular_velocity - start.angular_velocity).max(),
    )
    return bool(jump > STOPPED * fastest)


def _of_slip(guard: EventFunction) -> bool:
    """Whether an event is the beginning or the end of slip."""
    return isinstance(guard.key, tuple) and guard.key[2] in ("slip", "cone")


def _name_of(guard: EventFunction) -> str:
    return str(guard.key[0] if isinstance(guard.key, tuple) else guard.key)


def _of_border(guard: EventFunction) -> bool:
    """Whether an event is the passage of a sphere from one face or edge of a bounded surface to another."""
    return isinstance(guard.key, tuple) and guard.key[2] == "border"


def _jump_between(
    far_before: np.ndarray, rate_before: np.ndarray, rate_after: np.ndarray, far_after: np.ndarray
) -> np.ndarray:
    """Return the jump of rates at an event, extrapolated linearly from two values on each side of the event.

    The jump counts as zero if it is no larger than the difference of the two values on either side. `far_before` and
    `rate_before` are the values before the event, in order of time, `rate_after` and `far_after` those after it.
    """
    jump = (2.0 * rate_after - far_after) - (2.0 * rate_before - far_before)
    smooth = np.maximum(np.abs(rate_before - far_before), np.abs(rate_after - far_after)).max(axis=0, initial=0.0)
    return np.where(np.abs(jump) > DISTINCT * smooth, jump, 0.0)


def _flow(point: Point) -> np.ndarray:
    """Return the rates (n, 12) of the states of n bodies along the motion at an operating point.

    The twelve components are described in `quirk.dynamics.model.directions`.
    """
    rates = np.zeros((point.bodies, 12))
    rates[:, SHIFT], rates[:, TURN] = point.state.velocity, point.state.angular_velocity
    rates[:, VELOCITY], rates[:, OMEGA] = point.linear, point.angular
    return rates


def derivatives_of_times(events: Iterable[Any], jumps: Sequence[Jump], count: int) -> np.ndarray:
    """Return the derivatives (events, D) of the times of the events of a run with respect to D = `count` parameters.

    `events` are the rows of `result.events`, and `jumps` the events between the intervals of the run. Changes of
    contacts and friction that follow from an event have its derivative.
    """
    by_event: dict[tuple[float, str], np.ndarray] = {}
    by_time: dict[float, np.ndarray] = {}
    for jump in jumps:
        time = jump._before.reached
        names = [_name_of(guard) for guard in jump._before.events]
        by_event.update({(time, name): jump.unloaded.get(name, jump.later) for name in names})
        first = jump.unloaded.get(names[0], jump.later) if names else jump.later
        by_time.setdefault(time, first)
    none = np.zeros(count)
    found = [by_event.get((event.time, event.name), by_time.get(event.time, none)) for event in events]
    return np.reshape(found, (len(found), count))
