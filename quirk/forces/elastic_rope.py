"""Elastic ropes and belts over points and drums, with friction at each of them.

Spans are the straight parts between consecutive stops (points and drums). Where a stop has friction the tension may
differ on its two sides; the parts of the rope between such stops are its sections, each with one tension

    T = EA (l / L - 1) >= 0,

for its length l along the spans and arcs, and its unstretched length L. A rope without friction and winding drums may
also be damped: T = max(EA e + D e', 0) for a strain e = l / L - 1 > 0 with the rate e'. A section extends to the middle
of the arc on each drum with friction. Unstretched rope passes from section i, before a stop, to section o behind it at
the flow m, m/s, and L changes by the flows at both its ends. With the speed v of the drum's surface relative to the
middle of the arc, positive along the rope,

* a rope that sticks enters the arc at the speed of the surface: m = v / (1 + T_i / EA) for v > 0, and
  v / (1 + T_o / EA) for v < 0. It creeps where it leaves the arc, as in Reynolds' theory of belts.
* a rope sticks while T_o <= exp(mu theta) T_i and T_i <= exp(mu theta) T_o (Euler and Eytelwein). At such a limit
  the rope slips: the ratio of the tensions remains at the limit, and the flows follow from the rate of this ratio.

See K. L. Johnson, Contact Mechanics, 1985, section 8.2, for creep with an arc of adhesion where a belt enters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from ..autodiff.jet import Jet, where
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..constraints.drum import Plane, wrap
from ..constraints.rope_path import RopeCourse, RopePath
from ..errors import InputError
from .element import ForceElement
from .place import Place

# States of the rope at a stop: it sticks; it slips along the rope, or back; and it is free, since the rope is slack.
STICKS, AHEAD, BACK, FREE = 0, 1, -1, 2

# Quantities shown of each stop with friction: the speed of the drum's surface; the slip of the rope past it where it
# enters, m/s, and the same times its sign when slipping began; the margins of the tensions before and behind it against
# slip, N; and the margin of friction * angle over the sum of that of all other stops that slip.
SPEED, SLIP, SLIPPING = "speed", "slip", "slipping"
MARGIN_AHEAD, MARGIN_BACK, RESERVE = "grip ahead", "grip back", "reserve"
OF_STOPS = (SPEED, SLIP, SLIPPING, MARGIN_AHEAD, MARGIN_BACK, RESERVE)
TENSION, STRETCH = "tension", "stretch"
# Units of the quantities; "" for dimensionless ones.
UNITS = {
    TENSION: "N", STRETCH: "", SPEED: "m/s", SLIP: "m/s", SLIPPING: "m/s", MARGIN_AHEAD: "N", MARGIN_BACK: "N",
    RESERVE: "",
}  # fmt: skip
# Relative difference of two tensions that is round-off.
EQUAL = 1e-12


@dataclass(frozen=True)
class Sections:
    """Division of a rope into sections, each with one tension.

    Attributes
    ----------
    of_span : index of the section of each span
    stops : indices of the stops with friction, where sections meet
    before, behind : for each of these stops the sections before and behind it
    winds : for both ends of the rope, whether the end is wound onto a drum
    """

    of_span: tuple[int, ...]
    stops: tuple[int, ...]
    before: tuple[int, ...]
    behind: tuple[int, ...]
    winds: tuple[bool, bool]

    @classmethod
    def of(cls, path: RopePath, friction: Sequence[float]) -> Sections:
        """Return the sections of a rope; `friction` is the coefficient at each stop, zero at its ends."""
        stops = tuple(k for k in path.inner if friction[k] > 0)
        if path.closed and len(stops) < 2:
            stops = ()  # both sides of a single stop have the same tension
        spans = len(path.path) - (0 if path.closed else 1)
        count = max(len(stops), 1) if path.closed else len(stops) + 1
        passed = np.cumsum([k in stops for k in range(spans)])
        of_span = tuple(((passed - (1 if path.closed else 0)) % count).tolist())
        before = tuple(of_span[k - 1] for k in stops)
        behind = tuple(of_span[k] for k in stops)
        winds = (False, False) if path.closed else (path.drums[0], path.drums[-1])
        return cls(of_span, stops, before, behind, winds)

    @property
    def count(self) -> int:
        """Number of sections."""
        return max(self.of_span) + 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the internal variables or parameters that hold the unstretched lengths."""
        return tuple(f"unstretched_{n}" for n in range(self.count))

    @property
    def exchange(self) -> bool:
        """Whether the unstretched lengths change."""
        return bool(self.stops) or any(self.winds)


@dataclass
class Strained:
    """Kinematics and tensions of a rope at an instant.

    Attributes
    ----------
    course : course of the rope
    length : length l of each section, m
    unstretched : unstretched length L of each section, m
    strain : l / L - 1 of each section
    elastic : EA times the strain of each section, N, zero where it is slack
    tension : T of each section, N, with the part of the damping
    angle : wrapped angle of each stop with friction, rad
    """

    course: RopeCourse
    length: list[Any]
    unstretched: list[Any]
    strain: list[Any]
    elastic: list[Any]
    tension: list[Any]
    angle: list[Any]


class ElasticRope(ForceElement):
    """The elastic rope of a `Pulley`: tension by strain, and friction at points and drums.

    During runs, events switch the rope between sticking and slipping. Outside of runs the rope sticks.

    Parameters
    ----------
    name : str
    ends : bodies and frames of the stops
    path : stops in order
    numbers : geometric parameters of the stops, see `RopePath.measured`
    weights : number of falls of each span
    stiffness : EA, N
    friction : coefficient at each stop, zero at the ends
    unstretched : unstretched length of each section, m
    damping : D, N s; zero for a rope with friction or on winding drums
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
    ways: np.ndarray

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
        self.slips, self.ways = np.zeros(len(at)), np.zeros(len(at))
        for attribute, value in zip(self.sections.names, unstretched, strict=True):
            setattr(self, attribute, value)
        # Without damping no code is generated for it.
        self.damping, self.damps = damping, damping > 0
        fixed: tuple[str, ...] = ("numbers_of_path", "weights", "stiffness", "friction", "slips", "ways")
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
        """Whether the rope conserves energy, as it has no damping and no friction and is not wound onto drums."""
        return not self.internal and not self.damps

    @property
    def wakes(self) -> bool:
        """Whether the rope may tighten for a short time without an event."""
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
        """Return the rope with the state STICKS, AHEAD, BACK or FREE at each stop with friction."""
        return _in_state(self, states)

    @property
    def states(self) -> tuple[int, ...]:
        """State at each stop with friction."""
        pairs = zip(self.slips, self.ways, strict=True)
        return tuple((int(way) or FREE) if slips else STICKS for slips, way in pairs)

    @property
    def loose(self) -> tuple[int, ...]:
        """States of a slack rope at its stops with friction.

        The states are FREE, except that a closed rope sticks at the first stop, which determines its motion.
        """
        return tuple(STICKS if self.path.closed and b == 0 else FREE for b in range(len(self.sections.stops)))

    def check_smooth(self, shown: Mapping[str, float], still: float) -> None:
        """Raise an InputError if the rope has no derivatives in a state: at rest or at the limit of friction.

        `shown` are its quantities by name, and `still` is the largest speed that is round-off, m/s.
        """
        for stop in self.sections.stops:
            one, two = shown[f"tension {(stop - 1) % len(self.sections.of_span)}"], shown[f"tension {stop}"]
            apart, unequal = shown[f"{SLIPPING} {stop}"] != 0, abs(one - two) > EQUAL * max(one, two)
            if not apart and min(shown[f"{MARGIN_AHEAD} {stop}"], shown[f"{MARGIN_BACK} {stop}"]) <= 0:
                raise InputError(
                    f"{self}: at points[{stop}] it is at the limit of friction, where sticking and slipping differ, so "
                    "that there is no derivative: use a state in which it sticks or slips"
                )
            if not apart and unequal and self.path.drums[stop] and abs(shown[f"{SPEED} {stop}"]) <= still:
                raise InputError(
                    f"{self}: at points[{stop}] it rests with different tensions on both sides, where creep is another "
                    "one forward than back, so that there is no derivative: use a state in which the drum turns"
                )

    def potential(self, t: Any, *frames: Place) -> Any:
        """Return the energy of the strained sections, J, whose negative gradient gives the loads.

        The rope does work on the bodies by its tensions and, along the surface of each drum with friction, by the
        difference of the tensions on both sides of the drum.
        """
        now = self._strained(frames)
        work, energy = now.length[0].constant(0.0), now.length[0].constant(0.0)
        for length, unstretched, elastic, tension in zip(
            now.length, now.unstretched, now.elastic, now.tension, strict=True
        ):
            work = work + tension * length
            energy = energy + elastic * elastic * unstretched * (0.5 / self.stiffness)
        for stop, pull in self._pulls(now):
            work = work - pull * _surface(now.course, stop)
        return energy + work - work.bare

    def internal_rates(self, t: Any, *frames: Place) -> Any:
        """Return the rates of the unstretched lengths of the sections, m/s."""
        now = self._strained(frames)
        rates: list[Any] = [now.length[0].rate.constant(0.0) for _ in now.length]
        for b, flow in enumerate(self._flows(now)):
            rates[self.sections.before[b]] = rates[self.sections.before[b]] - flow
            rates[self.sections.behind[b]] = rates[self.sections.behind[b]] + flow
        if self.sections.winds[0]:
            rates[0] = rates[0] + _speed(now.course, 0) / (1.0 + now.tension[0] / self.stiffness)
        if self.sections.winds[1]:
            last = len(self.path.path) - 1
            rates[-1] = rates[-1] - _speed(now.course, last) / (1.0 + now.tension[-1] / self.stiffness)
        return rates

    def shown(self, t: Any, *frames: Place) -> Any:
        """Return the tension of each span; the quantities OF_STOPS of each stop with friction; and the mean strain."""
        now = self._strained(frames)
        found = [now.tension[section] for section in self.sections.of_span]
        sticking, flows = (self._sticking(now), self._flows(now)) if self.sections.stops else ([], [])
        holds = [mu * angle for mu, angle in zip(self.friction, now.angle, strict=True)]
        acting = [way * hold for way, hold in zip(self.ways, holds, strict=True)]
        for b, stop in enumerate(self.sections.stops):
            before, behind = (now.tension[side[b]] for side in (self.sections.before, self.sections.behind))
            speed = _speed(now.course, stop) if self.path.drums[stop] else now.length[0].rate.constant(0.0)
            entering = 1.0 + where(speed > 0.0, before, behind) / self.stiffness
            slip = (flows[b] - sticking[b]) * entering
            grown = np.exp(holds[b])
            others = sum((acting[c] for c in range(len(acting)) if c != b), start=now.length[0].constant(0.0))
            found += [speed, slip, slip * self.ways[b], grown * before - behind, grown * behind - before]
            found += [holds[b] - abs(others)]
        total, unstretched = sum(now.length[1:], now.length[0]), sum(now.unstretched[1:], now.unstretched[0])
        return [*found, total / unstretched - 1.0]

    def _strained(self, frames: Sequence[Place]) -> Strained:
        path, sections = self.path, self.sections
        course = path.measured(frames, self.numbers_of_path)
        length: list[Any] = [course.straight[0].constant(0.0) for _ in range(sections.count)]
        for section, weight, straight in zip(sections.of_span, self.weights, course.straight, strict=True):
            length[section] = length[section] + weight * straight
        angle = []
        for k in path.inner:
            sides = sections.of_span[k - 1], sections.of_span[k]
            if path.drums[k]:
                wrapped = wrap(_plane(course.into[k]), _plane(course.out[k]), course.near[k])
                for section in sides:
                    length[section] = length[section] + 0.5 * course.radius[k] * wrapped
            elif k in sections.stops:
                wrapped = _bend(course, k)
            if k in sections.stops:
                angle.append(wrapped.bare)
        unstretched = [getattr(self, name) for name in sections.names]
        strain = [one.bare / other - 1.0 for one, other in zip(length, unstretched, strict=True)]
        elastic = [where(one > 0.0, self.stiffness * one, one.constant(0.0)) for one in strain]
        tension = (
            [self._damped(*of) for of in zip(length, unstretched, elastic, strict=True)] if self.damps else elastic
        )
        return Strained(course, length, unstretched, strain, elastic, tension, angle)

    def _damped(self, length: Any, unstretched: Any, elastic: Any) -> Any:
        """Return the tension of a section with its damping, N; a rope never pushes."""
        found = elastic + self.damping * length.bare.rate / unstretched
        none = found.constant(0.0)
        return where(elastic > 0.0, where(found > 0.0, found, none), none)

    def _pulls(self, now: Strained) -> list[tuple[int, Any]]:
        """Return the drums driven by the rope, as pairs of the index of the stop and the force on the drum's surface.

        The force, N, is positive along the rope.
        """
        sides = zip(self.sections.stops, self.sections.before, self.sections.behind, strict=True)
        pulls = [(k, now.tension[o] - now.tension[i]) for k, i, o in sides if self.path.drums[k]]
        first, last = self.sections.winds
        pulls += [(0, now.tension[0])] if first else []
        return pulls + ([(len(self.path.path) - 1, -now.tension[-1])] if last else [])

    def _sticking(self, now: Strained) -> list[Any]:
        """Return the flow over each stop with friction, m/s, of a rope that sticks there."""
        found = []
        for k, i, o in zip(self.sections.stops, self.sections.before, self.sections.behind, strict=True):
            if not self.path.drums[k]:
                found.append(now.length[0].rate.constant(0.0))
                continue
            speed = _speed(now.course, k)
            found.append(speed / (1.0 + where(speed > 0.0, now.tension[i], now.tension[o]) / self.stiffness))
        return found

    def _flows(self, now: Strained) -> list[Any]:
        """Return the flow of unstretched rope over each stop with friction, m/s.

        With the strains e of the sections and the ratio R = exp(way mu theta), way = 1 or -1, a rope that slips
        satisfies e_o = R e_i. A slack rope, with way = 0, has equal strains. The time derivative of this equation is
        linear in the flows. Errors of the ratio from integration decay while the rope slips by its length.
        """
        sections, count = self.sections, len(self.sections.stops)
        stretch = [(1.0 + e) / L for e, L in zip(now.strain, now.unstretched, strict=True)]
        drawn = [one.bare.rate / L for one, L in zip(now.length, now.unstretched, strict=True)]
        drawn = self._wound(now, stretch, drawn)
        sticking = self._sticking(now)
        matrix: list[list[Any]] = [[0] * count for _ in range(count)]
        right: list[Any] = []
        for b, (i, o) in enumerate(zip(sections.before, sections.behind, strict=True)):
            slips, way = self.slips[b], self.ways[b]
            exponent = way * self.friction[b] * now.angle[b]
            ratio = np.exp(exponent)
            missed = now.strain[o] - ratio * now.strain[i]
            fades = way * missed / (now.unstretched[i] + now.unstretched[o])
            asked = drawn[o] - ratio * drawn[i] - ratio * exponent.rate * now.strain[i] - fades * sticking[b]
            right.append(slips * asked + (1.0 - slips) * sticking[b])
            own = stretch[o] + ratio * stretch[i] - fades
            matrix[b][b] = slips * own + (1.0 - slips)
            for c in range(count):
                # A section gains what flows over the stop before it and loses what flows over the stop behind it.
                for section, factor in ((o, stretch[o]), (i, -ratio * stretch[i])):
                    gains = (sections.behind[c] == section) - (sections.before[c] == section)
                    if c != b and gains:
                        matrix[b][c] = matrix[b][c] + gains * slips * factor
        return _solved(matrix, right)

    def _wound(self, now: Strained, stretch: Sequence[Any], drawn: Sequence[Any]) -> list[Any]:
        """Return the strain rates `drawn`, 1/s, plus the contribution of rope that is wound onto drums at the ends."""
        found = list(drawn)
        for end, (winds, sign) in enumerate(zip(self.sections.winds, (-1.0, 1.0), strict=True)):
            if winds:
                speed = _speed(now.course, end * (len(self.path.path) - 1))
                given = speed / (1.0 + now.tension[-end] / self.stiffness)
                found[-end] = found[-end] + sign * stretch[-end] * given
        return found


@lru_cache(1024)
def _in_state(rope: ElasticRope, states: tuple[int, ...]) -> ElasticRope:
    slips = np.array([float(state != STICKS) for state in states])
    ways = np.array([0.0 if state == FREE else float(state) for state in states])
    return rope.with_values({"slips": slips, "ways": ways})


def _plane(vector: Plane | None) -> Plane:
    assert vector is not None
    return vector


def _surface(course: RopeCourse, k: int) -> Jet:
    """Return a jet of value zero whose gradient is that of the travel of a drum's surface along the rope, m.

    The travel is relative to the middle of the arc or, at the ends of a rope, to the point where it touches the drum.
    """
    vectors = [vector for vector in (course.into[k], course.out[k]) if isinstance(_plane(vector)[0], Jet)]
    turned = sum(x.bare * y - y.bare * x for x, y in map(_plane, vectors))
    return turned * course.radius[k] * (-1.0 / len(vectors))


def _speed(course: RopeCourse, k: int) -> Jet:
    """Return the speed (m/s) of a drum's surface along the rope, relative to the middle of the arc, see `_surface`."""
    vectors = [vector for vector in (course.into[k], course.out[k]) if isinstance(_plane(vector)[0], Jet)]
    turns = sum(x.bare * y.bare.rate - y.bare * x.bare.rate for x, y in map(_plane, vectors))
    return turns * course.radius[k].bare * (-1.0 / len(vectors))


def _bend(course: RopeCourse, k: int) -> Jet:
    """Return the angle (rad) between the spans before and behind a point."""
    one, two = course.spans[k - 1], course.spans[k]
    across = np.cross(one, two)
    return np.sqrt(across @ across).arctan2(one @ two)


def _solved(matrix: list[list[Any]], right: list[Any]) -> list[Any]:
    """Return the solution of linear equations by elimination without pivoting.

    Rows are weakly dominated by their diagonal, at least one of them strictly.
    """
    rows = [[*row, x] for row, x in zip(matrix, right, strict=True)]
    count = len(rows)
    for k in range(count):
        inverse = 1.0 / rows[k][k]
        for row in rows[k + 1 :]:
            if isinstance(row[k], int):
                continue
            factor = row[k] * inverse
            for c in range(k + 1, count + 1):
                if not isinstance(rows[k][c], int):
                    row[c] = row[c] - factor * rows[k][c]
    found: list[Any] = [0] * count
    for k in reversed(range(count)):
        known = rows[k][count]
        for c in range(k + 1, count):
            if not isinstance(rows[k][c], int):
                known = known - rows[k][c] * found[c]
        found[k] = known / rows[k][k]
    return found
