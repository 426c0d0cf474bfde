"""Stick, slip and slackness of elastic ropes during a run, and the event functions that detect changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quirk.bodies.state import Kinematics, State
from quirk.dynamics.model.applied_loads import exerted
from quirk.dynamics.model.time_derivatives import PoseDerivatives
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction
from quirk.errors import SwitchingError
from quirk.events.names import Reading
from quirk.forces.elastic_rope import ElasticRope
from quirk.forces.rope_sections import AHEAD, BACK, MARGIN_AHEAD, MARGIN_BACK, RESERVE, SLIPPING, STICKS
from quirk.system.configuration import Configuration
from quirk.system.system import System

# Kinds of events: at a stop the rope begins to slip along its course, or back, or sticks again; the only sticking stop
# of a belt exhausts its friction reserve; the rope becomes slack, or taut.
SLIPS_AHEAD, SLIPS_BACK, HOLDS, YIELDS, SLACKENS, TAUTENS = "slips", "slips back", "holds", "yields", "slack", "taut"
# Mean strain at which a slack rope becomes taut.
TAUT = 1e-9
# Friction margins against slip, as fractions of the tension: a margin below NEARLY counts as zero; at the start of a
# run a margin below -TOO_MUCH is an error.
NEARLY, TOO_MUCH = 1e-9, 1e-6
# Decrease of a friction margin, as a fraction of the tension, that round-off may cause at the start of sticking.
ROUND_OFF = 1e-10
# Slip below this fraction of the largest speed of the bodies is round-off.
STILL = 1e-9

# Name of a rope, index of the stop with friction, and kind of event.
Key = tuple[str, int, str]


@dataclass(frozen=True)
class RopeState:
    """Contact state of an elastic rope during an interval of a run.

    Attributes
    ----------
    states : STICKS, AHEAD, BACK or FREE for each stop (guide point) with friction
    slack : whether the rope is slack
    below : for each stop with friction, how far (N) the friction margins ahead and back may fall below zero while the
        rope sticks; this covers the error of the ratio of tensions at the end of slip
    """

    states: tuple[int, ...]
    slack: bool
    below: tuple[tuple[float, float], ...]


class RopeStates:
    """All elastic ropes with friction of a system."""

    def __init__(self, system: System) -> None:
        self._system = system
        self.all = [force for force in system.forces if isinstance(force, ElasticRope) and force.switches]

    def configured(self, base: Configuration, known: Mapping[str, RopeState]) -> Configuration:
        """Return the configuration `base` with each rope in its state in `known`, a dict by name."""
        return base.with_others(
            {rope.name: rope.in_state(known[rope.name].states) for rope in self.all if rope.name in known}
        )

    def guards(self, base: Configuration, known: Mapping[str, RopeState]) -> list[EventFunction]:
        """Return the event functions that detect changes of the rope states `known`, a dict by name of rope."""
        found = []
        for rope in self.all:
            if rope.name in base.idle or rope.name not in known:
                continue
            now, title = known[rope.name], f"{rope}"

            def watch(b: int, what: str, quantity: str, way: int, level: float = 0.0) -> None:
                reading = Reading(rope, quantity, None, level)  # noqa: B023
                found.append(EventFunction((rope.name, b, what), title, reading, way, True, way < 0))  # noqa: B023

            if now.slack:
                watch(0, TAUTENS, "stretch", 1, TAUT)
                continue
            watch(0, SLACKENS, "stretch", -1)
            alone = rope.path.closed and now.states.count(STICKS) == 1
            for b, (stop, state) in enumerate(zip(rope.sections.stops, now.states, strict=True)):
                if state != STICKS:
                    watch(b, HOLDS, f"{SLIPPING} {stop}", -1)
                elif alone:
                    # All other stops determine the ratio of the tensions here.
                    watch(b, YIELDS, f"{RESERVE} {stop}", -1, -NEARLY)
                else:
                    watch(b, SLIPS_AHEAD, f"{MARGIN_AHEAD} {stop}", -1, -now.below[b][0])
                    watch(b, SLIPS_BACK, f"{MARGIN_BACK} {stop}", -1, -now.below[b][1])
        return found

    def states_after_event(
        self, before: Mapping[str, RopeState], hit: Sequence[Key], t: float, state: State, base: Configuration
    ) -> dict[str, RopeState]:
        """Return the state of each rope after events, by name.

        Parameters
        ----------
        before : states before the events
        hit : keys of the event functions that cross zero at time t, s
        t, state, base : time, state of the system, and configuration without states of ropes
        """
        found = {}
        for rope in self.all:
            if rope.name in base.idle:
                continue
            crossed = {what: b for name, b, what in hit if name == rope.name}
            marks = {(b, what) for name, b, what in hit if name == rope.name}
            former, at = before.get(rope.name), _Instant(self._system, rope, t, state)
            slack = SLACKENS in crossed or (former.slack if former else at.stretch <= TAUT)
            if slack and TAUTENS not in crossed:
                found[rope.name] = RopeState(rope.loose, True, ())
                continue
            if former is None or former.slack:
                former = RopeState(
                    (STICKS,) * len(rope.sections.stops), False, ((0.0, 0.0),) * len(rope.sections.stops)
                )
                at.check(former.states)
            found[rope.name] = at.settled(former, marks)
        return found


class _Instant:
    """Tensions and slip of an elastic rope at a state and time t, s, which determine its new contact state."""

    def __init__(self, system: System, rope: ElasticRope, t: float, state: State) -> None:
        self.rope, self._t = rope, t
        kin = Kinematics.of(state)
        number = {body.name: k for k, body in enumerate(system.bodies)}
        self._rows = tuple(number.get(body.name, len(number)) for body in rope.bodies)
        self._moving, self._internal = PoseDerivatives.of(kin, 1), kin.internal
        reach = system.model.length
        self._fastest = float(np.abs(state.velocity).max() + reach * np.abs(state.angular_velocity).max())

    def quantities(self, states: tuple[int, ...]) -> dict[str, tuple[float, float]]:
        """Return the value and rate of each coordinate of the rope, by name, for assumed states of its stops.

        `states` contains STICKS, AHEAD, BACK or FREE for each stop with friction.
        """
        acts = exerted(self.rope.in_state(states), self._rows, self._moving, self._t, 0, {}, self._internal)
        return {
            name: (float(x[0]), float(x[1])) for name, x in zip(self.rope.coordinates, acts.coordinates, strict=True)
        }

    @property
    def stretch(self) -> float:
        """Mean strain of the rope."""
        return self.quantities((STICKS,) * len(self.rope.sections.stops))["stretch"][0]

    def check(self, states: tuple[int, ...]) -> None:
        """Raise a SwitchingError if friction cannot balance the initial tensions on the two sides of a stop.

        `states` contains the state of each stop with friction: STICKS, AHEAD, BACK or FREE.
        """
        now = self.quantities(states)
        for stop in self.rope.sections.stops:
            one, two = self._tensions(now, stop)
            margin = min(now[f"{MARGIN_AHEAD} {stop}"][0], now[f"{MARGIN_BACK} {stop}"][0])
            if margin < -TOO_MUCH * max(one, two):
                raise SwitchingError(
                    f"{self.rope}: the tensions before and behind points[{stop}], {one:.6g} N and {two:.6g} N, differ "
                    "by more than friction can hold: give the tensions of all spans by pretension=, or more friction"
                )

    def settled(self, former: RopeState, marks: set[tuple[int, str]]) -> RopeState:
        """Return the state of a taut rope, which sticks or slips at each stop where friction is at its limit.

        At such a stop either the rope slips in the direction of the limit, or its tensions move away from the limit.
        This linear complementarity problem is solved by principal pivoting: the first stop with a violated condition is
        exchanged between slipping and sticking, which terminates for this class of matrices (K. G. Murty, Linear
        Complementarity, 1988, chapter 4). `former` is the previous state, and `marks` are the limits reached, as (stop,
        quantity).
        """
        limits = self._limits(former, marks)
        count = len(former.states)
        slipping = {b for b, state in enumerate(former.states) if state != STICKS and (b, HOLDS) not in marks}
        slipping |= {b for b in limits if (b, SLIPS_AHEAD) in marks or (b, SLIPS_BACK) in marks}
        held: Sequence[int | None] = [None]
        if self.rope.path.closed and len(limits) == count:
            # A belt always sticks somewhere: nothing else would determine how fast it runs.
            order = sorted(range(count), key=lambda b: former.states[b] != STICKS)
            held = order[1:] + order[:1] if any(what == YIELDS for _, what in marks) else order
        for anchor in held:
            found = self._exchanged(limits, slipping - {anchor}, anchor)
            if found is not None:
                return found
        raise SwitchingError(
            f"{self.rope}: nothing determines where it sticks and slips: use a little less or more friction at one stop"
        )

    def _limits(self, former: RopeState, marks: set[tuple[int, str]]) -> dict[int, int]:
        """Return the possible direction of slip, AHEAD or BACK, at each stop where friction is at its limit, by index.

        `former` is the previous state of the rope, and `marks` are the limits reached by events, as (stop, quantity).
        """
        limits = {b: state for b, state in enumerate(former.states) if state != STICKS}
        limits |= {b: AHEAD for b, what in marks if what == SLIPS_AHEAD}
        limits |= {b: BACK for b, what in marks if what == SLIPS_BACK}
        now = self.quantities(former.states)
        for b, stop in enumerate(self.rope.sections.stops):
            if b in limits:
                continue
            margins = {AHEAD: now[f"{MARGIN_AHEAD} {stop}"][0], BACK: now[f"{MARGIN_BACK} {stop}"][0]}
            way = min(margins, key=margins.__getitem__)
            if (b, YIELDS) in marks or margins[way] <= NEARLY * max(self._tensions(now, stop)):
                limits[b] = way
        return limits

    def _exchanged(self, limits: Mapping[int, int], slipping: set[int], anchor: int | None) -> RopeState | None:
        """Return the state of the rope that satisfies the conditions of slip at all stops, or None if there is none.

        `limits` is the possible direction of slip at each stop where friction is at its limit. `slipping` are the stops
        at which the rope is assumed to slip at first, and `anchor` is a stop at which it must stick, or None.
        """
        slipping, stops = set(slipping), self.rope.sections.stops
        for _ in range(4 * len(limits) + 4):
            states = tuple(limits[b] if b in slipping else STICKS for b in range(len(stops)))
            now = self.quantities(states)
            wrong = [b for b in sorted(limits) if self._violated(now, stops[b], limits[b], b in slipping)]
            if not wrong:
                return RopeState(states, False, tuple(self._below(now, stop) for stop in stops))
            if wrong[0] == anchor:
                return None
            slipping ^= {wrong[0]}
        return None

    def _violated(self, now: Mapping[str, tuple[float, float]], stop: int, way: int, slips: bool) -> bool:
        """Whether the assumed state of one stop, slipping or sticking at its friction limit, violates its condition.

        A rope that slips must not slip opposite to `way`; where it sticks, the friction margin must not decrease.

        Parameters
        ----------
        now : values and rates of the rope's coordinates by name
        stop : index of the stop
        way : direction of slip allowed by the friction limit, AHEAD or BACK
        slips : whether the rope is assumed to slip
        """
        if slips:
            return now[f"{SLIPPING} {stop}"][0] < -STILL * self._fastest
        rate = now[f"{MARGIN_AHEAD if way == AHEAD else MARGIN_BACK} {stop}"][1]
        return rate < -STILL * self._fastest * self.rope.stiffness / self._shortest

    def _below(self, now: Mapping[str, tuple[float, float]], stop: int) -> tuple[float, float]:
        """Return how far (N) below zero the friction margins ahead and back at a stop may fall without an event.

        `now` are the values and rates of the rope's coordinates by name.
        """
        least = ROUND_OFF * max(self._tensions(now, stop))
        ahead, back = (least + max(0.0, -now[f"{margin} {stop}"][0]) for margin in (MARGIN_AHEAD, MARGIN_BACK))
        return ahead, back

    def _tensions(self, now: Mapping[str, tuple[float, float]], stop: int) -> tuple[float, float]:
        """Return the tensions (N) of the rope before and after the stop with index `stop`.

        `now` are the values and rates of the rope's coordinates.
        """
        spans = len(self.rope.sections.of_span)
        return now[f"tension {(stop - 1) % spans}"][0], now[f"tension {stop}"][0]

    @property
    def _shortest(self) -> float:
        """Shortest unstretched length of a section, m."""
        declared = [getattr(self.rope, name) for name in self.rope.internal]
        return float(np.min(self._internal.get(self.rope.name, declared)))
