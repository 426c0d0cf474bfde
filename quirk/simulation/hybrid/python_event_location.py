"""Location of events in steps that are taken in Python.

The algorithm is that of `quirk.dynamics.sparse.stepping.event_location`. Q event functions are monitored; each has a
sign, +1, -1 or 0, and `e` is its index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.stepping.crossing_tests import NOISE
from quirk.dynamics.sparse.stepping.event_functions import ENERGY, SAMPLES, VALUES, quantities_at, speeds
from quirk.dynamics.sparse.stepping.event_location import ABOUT, TOGETHER
from quirk.dynamics.sparse.stepping.event_roots import AS_GOOD_AS_ZERO, DESCENTS, GOLDEN, MOST_ITERATIONS
from quirk.dynamics.sparse.stepping.event_sides import AT_ONCE, AT_ZERO_STILL, HELD
from quirk.dynamics.sparse.stepping.run_state import Settings
from quirk.dynamics.sparse.stepping.watched_quantities import EventMonitor, Sides
from quirk.integrators import IntegrationError, InterpolatedStep
from quirk.integrators.breaks import SMALLEST_STEP_ULPS


class Crossings:
    """Signs of event functions, and location of their zeros within steps.

    Parameters
    ----------
    watch : event functions
    solver : solver that evaluates them
    settings : settings of the run
    """

    def __init__(self, watch: EventMonitor, solver: Solver, settings: Settings) -> None:
        self._watch, self._solver, self._settings = watch, solver, settings
        self._count = len(watch.guards)
        self._noted: list[tuple[Hashable, float, int, float]] = []

    def enter(self, sides: Sides, project: Callable[[float, np.ndarray], np.ndarray | None]) -> None:
        """Continue with the signs `sides` of event functions at the end of the preceding interval.

        `project(t, y)` projects a flat state onto the constraints.
        """
        self._project = project
        self._watch.take(sides)
        table = self._watch.table
        self._side, self._at_speed, self._scale = table.side, table.at_speed, table.scale
        self._unsettled, self._cut, self._capped = True, False, 0

    def refer(self, t: float, angles: np.ndarray, rates: np.ndarray) -> None:
        """Set the reference angles for the count of revolutions in event functions.

        `angles` (K, 3), rad, and `rates` (K, 3), rad/s, are the angles of K joints and their rates at time t, s.
        """
        self._watch.laws.refer(t, angles, rates)

    def unsettle(self) -> None:
        """Determine all signs again at the next step, because the state has changed abruptly."""
        self._unsettled = True

    @property
    def sides(self) -> Sides:
        """Sign and scale of each event function by key, and its rate if it crosses zero at the present time."""
        return self._watch.sides

    def noted(self) -> list[tuple[Hashable, float, int, float]]:
        """Return the events recorded since the last call, each as key, time (s), direction and total energy, J."""
        noted, self._noted = sorted(self._noted, key=lambda one: one[1]), []
        return noted

    def take_sides(self, t: float, y: np.ndarray) -> list[tuple[Hashable, int]]:
        """Determine the sign of each event function at a flat state.

        Returns the keys and directions of functions with an action that have changed sign: by a jump of the state, or
        as they were about to cross zero when the last step ended at another event.
        """
        hits: list[tuple[Hashable, int]] = []
        if not (self._count and self._unsettled):
            return hits
        self._unsettled = False
        span = self._settings.end - self._settings.start
        for e, (g, rate) in enumerate(self._values(t, y)):
            self._scale[e] = max(self._scale[e], abs(g))
            if self._watch.guards[e].positive:
                self._side[e] = 1.0
                continue
            before = self._side[e]
            still = abs(g) <= np.nanmax([abs(rate) * AT_ONCE * span, self._noise(e)])
            just_crossed = self._at_speed[e] > 0
            if still or (just_crossed and abs(g) <= AT_ZERO_STILL * self._scale[e]):
                # The rate of a quantity that is held constant, such as the gap of a closed contact, is round-off.
                if abs(rate) * span > self._noise(e) and abs(rate) > HELD * self._at_speed[e]:
                    self._side[e] = np.sign(rate)
                elif just_crossed and abs(g) > 0.5 * self._noise(e):  # so that round-off keeps its sign
                    self._side[e] = np.sign(g)
            else:
                self._side[e] = np.sign(g)
            side = self._side[e]
            if not just_crossed and before * side < 0 and self._direction(e) * side >= 0:
                self._crossed(e, t, y, hits)
        self._at_speed[:] = 0
        return hits

    def first_in(self, step: InterpolatedStep) -> float | None:
        """Return the time of the first event with an action in a step, s, or None if there is none before its end."""
        if not self._count:
            return None
        self._sample(step)
        times = [self._first_that_acts(e) for e in range(self._count)]
        self._capped = int(np.argmin(times))
        together = self._together(step)
        first = max(times[self._capped], step.t + together)
        self._cut = first < step.t_new - together
        return first if self._cut else None

    def _together(self, step: InterpolatedStep) -> float:
        """Return the interval, s, within which events count as simultaneous."""
        return float(TOGETHER * SMALLEST_STEP_ULPS * np.spacing(max(abs(step.t), abs(self._settings.end))))

    def settle(self, step: InterpolatedStep) -> list[tuple[Hashable, int]]:
        """Record all zeros of event functions in a step, or in its part after an event.

        Returns the keys and directions of functions with an action that are zero at the end of the step.
        """
        hits: list[tuple[Hashable, int]] = []
        self._at_speed[:] = 0
        if not self._count:
            return hits
        last = step.t_new >= self._settings.end
        ends = self._values(step.t_new, step.y_new) if self._cut or last else self._samples[-1]
        fast = np.where([guard.acts for guard in self._watch.guards], speeds(ends[:, 1]), 0.0)
        for e in range(self._count):
            since = step.t
            while (t := self._next(e, self._side[e], since)) <= step.t_new:
                self._side[e], since = -self._side[e], t
                if self._direction(e) * self._side[e] >= 0:
                    self._crossed(e, t, self.state_at(self._step, t), hits)
                    self._at_speed[e] = fast[e]
            # A quantity that is held at zero also has a rate, of round-off.
            moves = last and -self._side[e] * ends[e, 1] * (step.t_new - step.t) > self._noise(e)
            looked_at = moves or (self._cut and self._acts(e))
            if looked_at and not self._at_speed[e] and self._about(e, ends[e], self._together(step)):
                self._side[e], self._at_speed[e] = -self._side[e], fast[e]
                self._crossed(e, step.t_new, step.y_new, hits)
        return hits

    def _about(self, e: int, end: np.ndarray, together: float) -> bool:
        """Whether an event function is zero at the end of a step, up to round-off.

        `end` is its value and rate at the end, and `together` the interval of simultaneous events, s.
        """
        side, (g, rate) = self._side[e], end
        if self._direction(e) * side > 0:
            return False
        moving = side * rate < 0 and side * g + side * rate * ABOUT * together <= self._noise(e)
        return (self._cut and e == self._capped) or bool(moving)

    def _crossed(self, e: int, t: float, y: np.ndarray, hits: list[tuple[Hashable, int]]) -> None:
        key, way = self._watch.guards[e].key, int(self._side[e])
        if self._acts(e):
            hits.append((key, way))
            return
        energy = np.zeros(1)
        self._ask(ENERGY, t, y, energy)
        self._noted.append((key, float(t), way, float(energy[0])))

    def _noise(self, e: int) -> float:
        """Return the magnitude below which the value of event function e is round-off or, without projection, drift."""
        settings = self._settings
        drifts = settings.interval <= 0 and (settings.alpha > 0 or settings.beta > 0)
        return float((max(NOISE, settings.rtol) if drifts else NOISE) * self._scale[e])

    def _direction(self, e: int) -> int:
        return self._watch.guards[e].direction

    def _acts(self, e: int) -> bool:
        return self._watch.guards[e].acts

    def _ask(self, task: int, t: float, y: np.ndarray, out: np.ndarray) -> bool:
        solver = self._solver
        with self._watch.laws.calling(), solver.applied.calling():
            return bool(
                quantities_at(task, solver.mechanism, self._watch.table, float(t), solver.slots.state_to_lanes(y), out)
            )

    def _values(self, t: float, y: np.ndarray) -> np.ndarray:
        """Return the values and rates (Q, 2) of all event functions at time t for a flat state."""
        out = np.zeros(2 * self._count)
        if not self._ask(VALUES, t, y, out):
            self._watch.table.end[:] = out
            raise IntegrationError(f"a watched quantity has no value: {self._watch.trouble(t)}", t)
        return out.reshape(-1, 2)

    def _sample(self, step: InterpolatedStep) -> None:
        self._step, self._times = step, np.linspace(step.t, step.t_new, SAMPLES + 1)
        states = [*(self.state_at(step, t) for t in self._times[:-1]), step.y_new]
        self._samples = np.array([self._values(t, y) for t, y in zip(self._times, states, strict=True)])

    def _at(self, e: int, t: float) -> float:
        return float(self._values(t, self.state_at(self._step, t))[e, 0])

    def state_at(self, step: InterpolatedStep, t: float) -> np.ndarray:
        """Return the flat state at time t (s) within a step, projected onto the constraints like output states."""
        y = step.sample(t)
        projected = self._project(t, y)
        return y if projected is None else projected

    def _first_that_acts(self, e: int) -> float:
        """Return the time of the first event of function e in the step, s; infinity if it has none or no action."""
        side, since = self._side[e], self._times[0]
        while self._acts(e) and (t := self._next(e, side, since)) < np.inf:
            side, since = -side, t
            if self._direction(e) * side >= 0:
                return t
        return np.inf

    def _next(self, e: int, side: float, since: float) -> float:
        """Return the first time after `since`, s, at which event function e loses the sign `side`, or infinity."""
        g, rate, times = side * self._samples[:, e, 0], side * self._samples[:, e, 1], self._times
        if side == 0:
            last = self._samples[-1, e, 0]
            self._side[e] = np.sign(last) if abs(last) > self._noise(e) else 0.0
            return np.inf
        for m in range(1, len(times)):
            if times[m] <= since:
                continue
            a, b = max(times[m - 1], since), times[m]
            # Where it has just crossed, its value is zero.
            before = g[m - 1] if times[m - 1] >= since else 0.0
            if g[m] < -self._noise(e) or (g[m] == 0 and before > self._noise(e)):
                return self._root(e, side, (a, before), (b, g[m]))
            slopes = rate[m - 1] * (b - a), rate[m] * (b - a)
            if np.isnan(rate[m]):
                slopes = (
                    g[m - 1] - g[m - 2] if m > 1 else np.nan,
                    g[m + 1] - g[m] if m + 1 < len(times) else np.nan,
                )
            if times[m - 1] < since or not _lines_dip(before, slopes[0], g[m], slopes[1]):
                continue
            there, lowest = self._lowest(e, side, a, b)
            if lowest < -self._noise(e):
                return self._root(e, side, (a, before), (there, lowest))
        return np.inf

    def _root(self, e: int, side: float, start: tuple[float, float], end: tuple[float, float]) -> float:
        """Return the first time in an interval at which event function e loses the sign `side`, to round-off.

        `start` and `end` are pairs of time and value times `side`. Bisection and false position are combined. Reaching
        zero counts as a crossing, but not if the function was zero initially.
        """
        (a, ga), (b, gb) = start, end
        onto, fresh, moved = ga > 0, True, 0
        if gb != 0 and ga < AS_GOOD_AS_ZERO * abs(gb):
            ga = -gb
        for n in range(MOST_ITERATIONS):
            if np.nextafter(a, b) >= b:
                break
            t = 0.5 * (a + b) if n % 3 == 2 or gb == ga else b - gb * (b - a) / (gb - ga)
            if gb == 0 and fresh:
                t = b - 4 * np.spacing(b)  # it may have been zero for a while
            fresh = gb != 0
            t = t if a < t < b else 0.5 * (a + b)
            g = side * self._at(e, t)
            if g < 0 or (g == 0 and onto):
                b, gb, ga, moved = t, g, 0.5 * ga if moved > 0 else ga, 1
            else:
                a, ga, gb, moved = t, g, 0.5 * gb if moved < 0 else gb, -1
        return b

    def _lowest(self, e: int, side: float, a: float, c: float) -> tuple[float, float]:
        """Return a time (s) between a and c at which event function e, times `side`, has its minimum or is negative.

        The second result is the value of the function at this time, times `side`.
        """
        b = a + GOLDEN * (c - a)
        gb = side * self._at(e, b)
        for _ in range(DESCENTS):
            if gb < -self._noise(e):
                break
            t = b + GOLDEN * (c - b) if c - b > b - a else b - GOLDEN * (b - a)
            g = side * self._at(e, t)
            if g < gb:
                a, c = (b, c) if t > b else (a, b)
                b, gb = t, g
            elif t > b:
                c = t
            else:
                a = t
        return b, gb


def _lines_dip(a: float, p: float, b: float, q: float) -> bool:
    """Whether the lines from both ends of an interval, with slopes p and q, meet at or below zero within it.

    The lines start at the values a and b. They are the tangents of a convex function, or the lines through neighboring
    values. If the slope at one end is NaN, only the line from the other end is tested.
    """
    if np.isnan(p) or np.isnan(q):
        return bool(q > 0 and b - q <= 0) if np.isnan(p) else bool(p < 0 and a + p <= 0)
    return p < 0 < q and a + p * (b - q - a) / (p - q) <= 0
