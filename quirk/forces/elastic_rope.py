"""Force element of elastic ropes and belts over points and drums; its theory is in `quirk.forces.rope_flow`.

The stops of a rope are points and drums; its spans are the straight parts between consecutive stops. A section is the
part of the rope between two stops with friction. A jet is a number with time derivatives and a gradient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..autodiff.jet import where
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..constraints.rope_path import RopePath
from ..errors import InputError
from .element import ForceElement
from .place import Place
from .rope_flow import flows, pulls, sticking_flows, strained
from .rope_geometry import surface_speed, surface_travel
from .rope_sections import (
    FREE,
    MARGIN_AHEAD,
    MARGIN_BACK,
    OF_STOPS,
    SLIPPING,
    SPEED,
    STICKS,
    STRETCH,
    TENSION,
    UNITS,
    Sections,
)

# Relative difference below which two tensions are equal up to round-off.
EQUAL = 1e-12


class ElasticRope(ForceElement):
    """The elastic rope of a `Pulley`: tension by strain, and friction at points and drums.

    During runs, events switch the rope between sticking and slipping at each stop (point or drum of its path).
    Outside of runs the rope sticks.

    Parameters
    ----------
    name : str
    ends : bodies and frames of the stops
    path : `RopePath` over the stops
    numbers : geometric parameters of the stops, from `RopePath.measured`
    weights : number of parallel falls of each span
    stiffness : axial stiffness EA, N
    friction : coefficient at each stop, zero at the ends
    unstretched : unstretched length of each section between stops with friction, m
    damping : damping D, force per strain rate, N s; zero for a rope with friction or on winding drums
    """

    drawing = ""
    undefined = "its rope has left a sheave, or a point has come within the radius of a drum"
    coordinates: tuple[str, ...] = ()
    numbers_of_path: np.ndarray
    weights: np.ndarray
    stiffness: float
    damping: float
    friction: np.ndarray
    slips: np.ndarray
    directions: np.ndarray

    def __init__(
        self,
        name: str,
        ends: Sequence[tuple[Body | Ground, Frame]],
        path: RopePath,
        numbers: Sequence[float],
        weights: np.ndarray,
        stiffness: float,
        friction: Sequence[float],
        unstretched: Sequence[float],
        damping: float = 0.0,
    ) -> None:
        self.path, self.sections = path, Sections.of(path, friction)
        self.numbers_of_path, self.weights, self.stiffness = np.array(numbers), np.array(weights), stiffness
        at = self.sections.stops
        self.friction = np.array([friction[k] for k in at])
        self.slips, self.directions = np.zeros(len(at)), np.zeros(len(at))
        for attribute, value in zip(self.sections.names, unstretched, strict=True):
            setattr(self, attribute, value)
        # Without damping no code is generated for it.
        self.damping, self.damps = damping, damping > 0
        fixed: tuple[str, ...] = ("numbers_of_path", "weights", "stiffness", "friction", "slips", "directions")
        fixed = (*fixed, "damping") if self.damps else fixed
        self.internal = self.sections.names if self.sections.exchange else ()
        self.parameters = fixed if self.internal else (*fixed, *self.sections.names)
        self.coordinates = (
            *(f"{TENSION} {k}" for k in range(len(self.sections.of_span))),
            *(f"{what} {k}" for k in at for what in OF_STOPS),
            STRETCH,
        )
        super().__init__(name, *ends)

    @property
    def conservative(self) -> bool:
        """Whether the rope conserves energy: it has no damping, no friction and no winding drums."""
        return not self.internal and not self.damps

    @property
    def wakes(self) -> bool:
        """Whether runs also sample tensions within steps: the rope may tighten briefly without an event."""
        return not self.switches

    @staticmethod
    def unit_of(coordinate: str) -> str:
        """Return the unit of a coordinate, "" if it is dimensionless."""
        return UNITS[coordinate.rstrip("0123456789 ")]

    @property
    def switches(self) -> bool:
        """Whether events of a run switch the rope between sticking and slipping."""
        return bool(self.sections.stops)

    def in_state(self, states: tuple[int, ...]) -> ElasticRope:
        """Return a copy of the rope with the given friction state at each stop with friction.

        A state is STICKS, AHEAD or BACK (slips forward or backward along the rope), or FREE (the rope is slack).
        """
        return _in_state(self, states)

    @property
    def states(self) -> tuple[int, ...]:
        """Friction state at each stop with friction: STICKS, AHEAD, BACK or FREE."""
        pairs = zip(self.slips, self.directions, strict=True)
        return tuple((int(direction) or FREE) if slips else STICKS for slips, direction in pairs)

    @property
    def loose(self) -> tuple[int, ...]:
        """Friction states of the rope when it is slack, one for each stop with friction.

        All states are FREE, except that a closed rope sticks at its first stop with friction, so that its position
        along the path remains determined.
        """
        return tuple(STICKS if self.path.closed and b == 0 else FREE for b in range(len(self.sections.stops)))

    def check_smooth(self, shown: Mapping[str, float], speed_tolerance: float) -> None:
        """Raise an InputError if the motion of the rope is not differentiable at the present state.

        The motion is not differentiable at the limit of friction, nor where a drum at rest has different tensions on
        its two sides. `shown` holds the values that the method `shown` returns, by name. Speeds up to
        `speed_tolerance`, m/s, count as zero.
        """
        for stop in self.sections.stops:
            before, behind = shown[f"tension {(stop - 1) % len(self.sections.of_span)}"], shown[f"tension {stop}"]
            slips, unequal = shown[f"{SLIPPING} {stop}"] != 0, abs(before - behind) > EQUAL * max(before, behind)
            if not slips and min(shown[f"{MARGIN_AHEAD} {stop}"], shown[f"{MARGIN_BACK} {stop}"]) <= 0:
                raise InputError(
                    f"{self}: at points[{stop}] it is at the limit of friction, where sticking and slipping differ, so "
                    "that there is no derivative: use a state in which it sticks or slips"
                )
            if not slips and unequal and self.path.drums[stop] and abs(shown[f"{SPEED} {stop}"]) <= speed_tolerance:
                raise InputError(
                    f"{self}: at points[{stop}] it rests with different tensions on both sides, where creep depends on "
                    "the direction of motion, so that there is no derivative: use a state in which the drum turns"
                )

    def potential(self, t: Any, *frames: Place) -> Any:
        """Return the elastic energy of all sections, J, as a jet whose negative gradient gives the loads on the bodies.

        With friction the gradient is not that of the elastic energy. It also contains the forces on drums that result
        from different tensions on their two sides.
        """
        now = strained(self, frames)
        work, energy = now.length[0].constant(0.0), now.length[0].constant(0.0)
        for length, unstretched, elastic, tension in zip(
            now.length, now.unstretched, now.elastic, now.tension, strict=True
        ):
            work = work + tension * length
            energy = energy + elastic * elastic * unstretched * (0.5 / self.stiffness)
        for stop, pull in pulls(self, now):
            work = work - pull * surface_travel(now.geometry, stop)
        return energy + work - work.bare

    def internal_rates(self, t: Any, *frames: Place) -> Any:
        """Return the rates of the unstretched lengths of the sections, m/s."""
        now = strained(self, frames)
        rates: list[Any] = [now.length[0].rate.constant(0.0) for _ in now.length]
        for b, flow in enumerate(flows(self, now)):
            rates[self.sections.before[b]] = rates[self.sections.before[b]] - flow
            rates[self.sections.behind[b]] = rates[self.sections.behind[b]] + flow
        if self.sections.winds[0]:
            rates[0] = rates[0] + surface_speed(now.geometry, 0) / (1.0 + now.tension[0] / self.stiffness)
        if self.sections.winds[1]:
            last = len(self.path.path) - 1
            rates[-1] = rates[-1] - surface_speed(now.geometry, last) / (1.0 + now.tension[-1] / self.stiffness)
        return rates

    def shown(self, t: Any, *frames: Place) -> Any:
        """Return quantities for plots and events, in the order of `coordinates`.

        The quantities are the tension of each span, N; the quantities `OF_STOPS` of each stop with friction; and the
        mean strain of the rope.
        """
        now = strained(self, frames)
        quantities = [now.tension[section] for section in self.sections.of_span]
        sticking, flow = (sticking_flows(self, now), flows(self, now)) if self.sections.stops else ([], [])
        holds = [mu * angle for mu, angle in zip(self.friction, now.angle, strict=True)]
        acting = [direction * hold for direction, hold in zip(self.directions, holds, strict=True)]
        for b, stop in enumerate(self.sections.stops):
            before, behind = (now.tension[side[b]] for side in (self.sections.before, self.sections.behind))
            speed = surface_speed(now.geometry, stop) if self.path.drums[stop] else now.length[0].rate.constant(0.0)
            entering = 1.0 + where(speed > 0.0, before, behind) / self.stiffness
            slip = (flow[b] - sticking[b]) * entering
            grown = np.exp(holds[b])
            others = sum((acting[c] for c in range(len(acting)) if c != b), start=now.length[0].constant(0.0))
            quantities += [speed, slip, slip * self.directions[b], grown * before - behind, grown * behind - before]
            quantities += [holds[b] - abs(others)]
        total, unstretched = sum(now.length[1:], now.length[0]), sum(now.unstretched[1:], now.unstretched[0])
        return [*quantities, total / unstretched - 1.0]


@lru_cache(1024)
def _in_state(rope: ElasticRope, states: tuple[int, ...]) -> ElasticRope:
    slips = np.array([float(state != STICKS) for state in states])
    directions = np.array([0.0 if state == FREE else float(state) for state in states])
    return rope.with_values({"slips": slips, "directions": directions})
