"""Paths of equilibria over a parameter, through turning points, by pseudo-arclength continuation (Keller 1977).

Equilibria satisfy g(u, p) = 0 with the accelerations g in free coordinates u. The tangent of the path satisfies K du +
g_p dp = 0: each step predicts along it, and Newton's method corrects perpendicular to it. g_p is approximated by a
finite difference at the predicted point and kept constant during the correction. Neither the computed points nor the
turning points, where K is singular, depend on it.

Where a one-sided spring engages or disengages, K jumps and the path has a corner. It continues in the direction in
which the determinant of K, g_p and the tangent keeps its sign: both sides have the same derivatives along their common
border, so the path leaves the border on the other side (Allgower and Georg, Introduction to Numerical Continuation
Methods, 2003, chapter 15).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from quirk.bodies.state import State
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.dense.projection import displaced, project
from quirk.dynamics.model.joint_angles import angles_at
from quirk.errors import AssemblyError, ConvergenceError, InputError
from quirk.forces import ForceElement
from quirk.system.system import System
from quirk.util import validate
from quirk.util.misuse import explained

from ..assembly import check_consistent
from .equilibrium import Equilibrium, equilibrium
from .free_accelerations import accelerations, size_of_loads
from .null_space import NullSpaceBasis
from .operating_point import Point
from .outputs import value_of
from .stiffness_switching import switched

OWNER = "equilibrium_path"
# Step of the finite difference with respect to the parameter, relative to its range.
DIFFERENCE = 1e-5
# Residual at which a point counts as converged, relative to the residual of the loads alone; largest residual that is
# accepted if steps no longer improve it; maximum number of iterations.
FOUND, MISSED, MOST_ITERATIONS = 1e-13, 1e-9, 8
# Largest angle (rad) between the tangents of consecutive points; below half of it steps grow.
BEND = 0.15
# Shortest step relative to the longest; shorter ones fail, unless there is a corner. Distance beyond a corner at which
# the path is continued, relative to the parameter's range and the system's size: larger than the finite difference.
SHORTEST, BEYOND = 1e-6, 1e-4
# Points closer together than this fraction of the longest step, on the way to a corner, are discarded.
CROWDED = 1e-2
# Tolerance of the parameter's component of the tangent at a turning point, or of the location in a step.
TURNED, MOST_TRIES = 1e-11, 60


@explained
@dataclass(frozen=True, repr=False)
class EquilibriumPath:
    """Equilibria of a system over one parameter.

    Attributes
    ----------
    values : (p,) values of the parameter at p points of the path
    states : the p equilibria, each a `State` with `loads`, `eigenvalues` and `stable`
    turning : indices of the turning points, at which the parameter reverses
    """

    values: np.ndarray
    states: list[Equilibrium]
    turning: list[int]
    _systems: list[System] = field(repr=False)

    @cached_property
    def stable(self) -> np.ndarray:
        """Whether each of the p equilibria is stable, (p,) bool; not reliable at turning points."""
        return np.array([state.stable for state in self.states])

    def of(self, name: str) -> np.ndarray:
        """Return the values (p,) of a quantity along the path, such as "hinge.angle" or "hinge.force.x", SI units."""
        pairs = zip(self._systems, self.states, strict=True)
        return np.array([value_of("EquilibriumPath.of", s, e.copy(), 0.0, name) for s, e in pairs])

    def __repr__(self) -> str:
        first, last, turning = self.values[0], self.values[-1], len(self.turning)
        return f"<EquilibriumPath: {len(self.values)} equilibria from {first:.6g} to {last:.6g}, {turning} turning>"

    def plot(self, name: str, **options: Any) -> Any:
        """Plot a quantity over the parameter; unstable parts are dashed. `options` are those of `Result.plot`."""
        from quirk.graphics.plot.roots import draw_equilibria

        return draw_equilibria(self.values, self.of(name), self.stable, self.turning, name, options)


@dataclass(frozen=True)
class _Place:
    """A point near the path of equilibria: a state and a parameter value, with accelerations g and their derivative K.

    Attributes
    ----------
    value : value of the parameter
    free : basis of free coordinates at the state
    size : norm of the accelerations that loads alone would cause at this state
    loaded : largest value of `size` so far, the reference for residuals where all loads vanish
    """

    value: float
    state: State
    system: System
    free: NullSpaceBasis
    g: np.ndarray
    K: np.ndarray
    size: float
    loaded: float

    @property
    def left(self) -> float:
        """Residual: largest acceleration along a free coordinate, zero at an equilibrium."""
        return float(np.abs(self.g).max(initial=0.0))


# Derivatives of the accelerations of bodies (n, 6) and of internal rates (k,), per range of the parameter.
_Slope = tuple[np.ndarray, np.ndarray]
# A direction: of the bodies (n, 6), of internal variables (k,), and of the parameter relative to its range.
_Tangent = tuple[np.ndarray, np.ndarray, float]


class _Follower:
    def __init__(self, build: Callable[[float], Any], span: float) -> None:
        self.build, self.span = build, span

    def made(self, value: float) -> tuple[System, State]:
        """Call the user's function for a value of the parameter, and return its system and the starting state."""
        made = self.build(value)
        system, state = made if isinstance(made, tuple) and len(made) == 2 else (made, None)
        if not isinstance(system, System) or not isinstance(state, State | None):
            raise InputError(f"{OWNER}: build must return a System, or a System and a State; got {made!r}")
        if any(
            isinstance(constraint, Unilateral) and system.is_active(constraint.name)
            for constraint in system.constraints
        ):
            raise InputError(f"{OWNER}: unilateral constraints are not supported; replace them by one-sided springs")
        return system, system.initial_state() if state is None else system.checked(state)

    def point(self, value: float, state: State, system: System | None = None) -> Point:
        """Return the operating point for a value of the parameter, at the state projected onto the constraints."""
        system = self.made(value)[0] if system is None else system
        plant, solver, parts = system.plant, system.plant.solver(), state.parts
        if system.model.rows:
            projected = project(system.model, plant.metric, state, 0.0, solver.verdict(state, 0.0).kept)
            if projected is None:
                raise AssemblyError(f"{OWNER}: the projection onto the constraints failed")
            parts = (*projected.state.parts[:2], *parts[2:])
        found = State(*parts, angles=state.angles, internal=state.internal, bodies=state.bodies)
        solver.settle_state(found, 0.0)
        return Point.along(system, plant, solver, found, 0.0, angles_at(system.model, found, 0.0))

    def place(self, value: float, state: State, system: System | None = None, loaded: float = 0.0) -> _Place:
        """Return the `_Place` of a state at a value of the parameter.

        `loaded` is the largest value of `_Place.size` so far.
        """
        point = self.point(value, state, system)
        free = NullSpaceBasis.at(point)
        g, K, _ = accelerations(free, 0)
        size = size_of_loads(point)
        return _Place(value, point.state, point.system, free, g, K, size, max(size, loaded))

    def slope(self, at: _Place) -> _Slope:
        """Return the derivative g_p of the accelerations with respect to the parameter, at a constant state.

        The result is relative to the range of the parameter: accelerations of the bodies (n, 6), and rates of internal
        variables (k,).
        """
        more, now = self.point(at.value + DIFFERENCE * self.span, at.state), at.free.point
        bodies = np.concatenate([more.linear - now.linear, more.angular - now.angular], axis=1)
        return bodies / DIFFERENCE, (more.internal_rates - now.internal_rates) / DIFFERENCE

    def tangent(self, at: _Place, slope: _Slope, ahead: _Tangent | None) -> _Tangent:
        """Return the unit tangent of the path at the point `at`.

        The tangent points along the previous tangent `ahead` or, if this is None, towards the end of the range. `slope`
        is the derivative g_p.
        """
        along = np.linalg.svd(self._derivatives(at, slope))[2][-1]
        sign = float(along[-1]) if ahead is None else float(self._row(at, ahead) @ along)
        return self._direction(at, along if sign >= 0 else -along)

    def _derivatives(self, at: _Place, slope: _Slope) -> np.ndarray:
        """Return the derivatives [K, g_p] of the accelerations with respect to free coordinates and parameter.

        Displacements are relative to the characteristic length of the system, and the parameter is relative to its
        range. `slope` is g_p.
        """
        return np.column_stack([at.K * self._unit(at), self._inner(at, *slope)])

    def _direction(self, at: _Place, along: np.ndarray) -> _Tangent:
        """Return the variations of bodies, internal variables and parameter that have the coordinates `along`.

        This method is the inverse of `_row`.
        """
        unit, v = self._unit(at), at.free.velocities.shape[1]
        bodies = at.free.spread(at.free.velocities @ (unit * along[:v, None]))[..., 0]
        return bodies, unit * along[v:-1], float(along[-1])

    def _way(self, at: _Place, slope: _Slope, row: np.ndarray) -> float:
        """Return the sign of the determinant of the matrix [K, g_p; row], in which `row` is the tangent of the path.

        The sign is constant along a path, also across corners. `at` is the point with K, and `slope` is g_p.
        """
        return float(np.linalg.slogdet(np.vstack([self._derivatives(at, slope), row]))[0])

    def past_corner(self, here: _Place, tangent: _Tangent) -> _Step | None:
        """Return a step across a corner of the path close to `here`, or None if no stiffness jumps near it.

        `tangent` is the tangent of the path at `here`.
        """
        beyond = self.predicted(here, tangent, BEYOND)
        elements = switched(here.free.point, beyond.free.point)
        if not elements:
            return None
        slope = self.slope(beyond)
        along = np.linalg.svd(self._derivatives(beyond, slope))[2][-1]
        same = self._way(beyond, slope, along) == self._way(here, self.slope(here), self._row(here, tangent))
        turned = self._direction(beyond, along if same else -along)
        try:
            there = self.corrected(self.predicted(beyond, turned, BEYOND), turned, slope)
        except (AssemblyError, InputError) as error:
            raise _lost(here, f"{_said(elements)}, and behind that {error}") from error
        if switched(beyond.free.point, there.free.point):
            raise _lost(here, f"{_said(elements)}, and again close behind that")
        return _Step(self, here, there, turned, slope, BEYOND)

    def predicted(self, at: _Place, tangent: _Tangent, length: float) -> _Place:
        """Return the point reached from the point `at` by a step of `length` along a tangent."""
        state = displaced(at.state, length * tangent[0][:, :3], length * tangent[0][:, 3:])
        return self._with(at, state, length * tangent[1], at.value + length * tangent[2] * self.span)

    def corrected(self, now: _Place, tangent: _Tangent, slope: _Slope) -> _Place:
        """Return the point of the path next to `now`, corrected perpendicular to a tangent.

        Raises an AssemblyError if none is found. `slope` is the derivative g_p, which is kept constant.
        """
        best = now
        for _ in range(MOST_ITERATIONS):
            if now.left <= FOUND * now.size:
                break
            unit, v = self._unit(now), now.free.velocities.shape[1]
            row = self._row(now, tangent)
            A = np.vstack([np.column_stack([now.K * unit, self._inner(now, *slope)]), row])
            step = np.linalg.lstsq(A, -np.append(now.g, 0.0), rcond=None)[0]
            change = now.free.spread(now.free.velocities @ (unit * step[:v, None]))[..., 0]
            state = displaced(now.state, change[:, :3], change[:, 3:])
            now = self._with(now, state, unit * step[v:-1], now.value + step[-1] * self.span)
            before, best = best, now if now.left < best.left else best
            if now.left >= 0.5 * before.left and before.left < MISSED * before.loaded:
                break
        if best.left > MISSED * best.loaded:
            raise AssemblyError(f"{OWNER}: no equilibrium was found near {now.value:g}")
        check_consistent(best.system, best.state, 0.0)
        return best

    def _with(self, before: _Place, moved: State, internal: np.ndarray, value: float) -> _Place:
        carried, own = before.system.model.carried, before.free.point.internal
        numbers = carried.numbers(carried.flat(before.state))[:own] + internal
        named = {name: numbers[where] for name, where in carried.internal.items()}
        of = before.state
        state = State(*moved.parts, angles=of.angles, internal=named, bodies=of.bodies)
        return self.place(value, state, loaded=before.loaded)

    def _row(self, at: _Place, direction: _Tangent) -> np.ndarray:
        """Return the coordinates of variations of bodies, internal variables and parameter, in the basis at a point.

        The coordinates are relative to the characteristic length of the system and to the range of the parameter.
        """
        bodies, internal, of_parameter = direction
        return np.append(self._inner(at, bodies, internal) / self._unit(at), of_parameter)

    @staticmethod
    def _inner(at: _Place, bodies: np.ndarray, internal: np.ndarray) -> np.ndarray:
        """Return the free coordinates, in the basis at a point, of variations of bodies and internal variables.

        `bodies` (n, 6) and `internal` (k,) are the variations. Each point has its own basis, which may be rotated or
        reversed with respect to that of another point.
        """
        whole = np.zeros((len(bodies), 12, 1))
        whole[:, 6:, 0] = bodies
        return at.free.coordinates(whole, internal[:, None])[at.free.poses.shape[1] :, 0]

    @staticmethod
    def _unit(at: _Place) -> float:
        return float(at.system.model.length * np.sqrt(at.system.model.mass.max()))


def _lost(last: _Place, why: Any) -> ConvergenceError:
    said = f"{OWNER}: the path cannot be followed beyond {last.value:g}: {why}"
    return ConvergenceError(said, state=last.state)


def _said(elements: Sequence[ForceElement]) -> str:
    listed = ", ".join(str(element) for element in elements)
    return f"there the stiffness of {listed} jumps: use a smooth law"


@dataclass(frozen=True)
class _Step:
    """A step along a path of equilibria: both end points, its length, the tangent at its start and g_p at its end.

    g_p is the derivative of the accelerations with respect to the parameter.
    """

    follower: _Follower
    here: _Place
    there: _Place
    tangent: _Tangent
    slope: _Slope
    length: float

    def turning_point(self) -> _Place:
        """Return the turning point within the step, where the parameter reverses."""
        return self._where(lambda place: self.follower.tangent(place, self.slope, self.tangent)[2])

    def at(self, value: float) -> _Place:
        """Return the point of the path at a value of the parameter within the step."""
        near = self._where(lambda place: (place.value - value) / self.follower.span)
        fixed = np.zeros_like(self.tangent[0]), np.zeros_like(self.tangent[1]), 1.0
        try:
            exactly = self.follower.place(value, near.state, loaded=near.loaded)
            return self.follower.corrected(exactly, fixed, self.slope)
        except AssemblyError:
            # Close to a turning point, the point at the exact value may not be found, but the nearby one is.
            return near

    def _where(self, function: Callable[[_Place], float]) -> _Place:
        """Return the point of the path within the step where a function is zero.

        The zero is located by the Illinois method; each correction starts from the previous point.
        """
        a, b, fa, fb, place = 0.0, self.length, function(self.here), function(self.there), self.there
        for _ in range(MOST_TRIES):
            middle = (a * fb - b * fa) / (fb - fa)
            predicted = self.follower.predicted(place, self.tangent, middle - b)
            place = self.follower.corrected(predicted, self.tangent, self.slope)
            value = function(place)
            if abs(value) <= TURNED or abs(middle - b) <= TURNED * self.length:
                break
            if value * fb < 0:
                a, fa = b, fb
            else:
                fa *= 0.5
            b, fb = middle, value
        return place


@explained
def equilibrium_path(
    build: Callable[[float], Any], start: float, stop: float, *, step: float = 0.05, most: int = 1000
) -> EquilibriumPath:
    """Return the equilibria of a system over a parameter; the path continues through turning points.

    Parameters
    ----------
    build : function of a value
        Returns the system, or a pair of the system and a starting state. The path begins at `start`, at the equilibrium
        near the starting state. The system has the same parts at all values, and no unilateral constraints.
    start, stop : float
        Range of the parameter. The path ends when it reaches `stop`, or an equal distance on the other side of `start`.
    step : float
        Longest step, relative to the range and to the size of the system.
    most : int
        Maximum number of points.

    Raises
    ------
    InputError
        If an argument is invalid, or `build` returns something else.
    ConvergenceError
        If there is no equilibrium at `start`, or the path cannot be continued; the error has its last state.

    Examples
    --------
    >>> def build(load):
    ...     block = quirk.Body.box("block", 1.0, [0.1, 0.1, 0.1], position=[0, 0, -1])
    ...     rail = quirk.Prismatic("rail", quirk.GROUND, block, axis="z")
    ...     spring = quirk.Spring("spring", quirk.GROUND, block, stiffness=10.0)
    ...     return quirk.System([block, rail, spring, quirk.Force("pull", block, [0, 0, -load])])
    >>> path = quirk.equilibrium_path(build, 0.0, 1.0, step=0.5)
    >>> path.of("block.position.z")[[0, -1]].round(6)
    array([-1. , -1.1])
    """
    first, last = (validate.number(OWNER, name, x) for name, x in (("start", start), ("stop", stop)))
    if first >= last and first <= last:
        raise InputError(f"{OWNER}: start and stop must differ; got {start!r} and {stop!r}")
    longest, most = validate.positive(OWNER, "step", step), validate.whole(OWNER, "most", most)
    follower = _Follower(build, last - first)
    system, state = follower.made(first)
    here = follower.place(first, equilibrium(system, state, 0.0), system)
    tangent = follower.tangent(here, follower.slope(here), None)
    places, turning, length, crowded = [here], list[int](), 0.25 * longest, 0
    while len(places) < most:
        try:
            predicted = follower.predicted(here, tangent, length)
            slope = follower.slope(predicted)
            there = follower.corrected(predicted, tangent, slope)
            ahead = follower.tangent(there, slope, tangent)
            bend = np.arccos(np.clip(follower._row(there, tangent) @ follower._row(there, ahead), -1, 1))
        except (AssemblyError, InputError) as error:
            bend, trouble = np.inf, error
        gone: _Step | None
        if bend <= BEND:
            gone = _Step(follower, here, there, tangent, slope, length)
            if tangent[2] * ahead[2] < 0:
                turning.append(len(places))
                places.append(gone.turning_point())
                crowded = 0
            crowded = crowded + 1 if length < CROWDED * longest else 0
            length = min(longest, length * (1.5 if bend < 0.5 * BEND else 1.0))
        elif length >= 2.0 * SHORTEST * longest:
            length *= 0.5
            continue
        else:
            gone = follower.past_corner(here, tangent)
            if gone is None:
                raise _lost(here, trouble if np.isinf(bend) else "it branches, or bends too sharply")
            # The last point on the way to a corner has been added already.
            del places[len(places) - max(crowded, 1) : -1]
            there, ahead = gone.there, follower.tangent(gone.there, gone.slope, gone.tangent)
            if tangent[2] * ahead[2] < 0:
                turning.append(len(places) - 1)
            length, crowded = 0.25 * longest, 0
        progress = (there.value - first) / (last - first)
        if abs(progress) > 1:
            places.append(gone.at(last if progress > 0 else 2 * first - last))
            break
        places.append(there)
        here, tangent = there, ahead
    return _as_path(places, turning)


def _as_path(places: list[_Place], turning: list[int]) -> EquilibriumPath:
    states = [
        Equilibrium(*of.parts, angles=of.angles, internal=of.internal, bodies=of.bodies, system=place.system)
        for place in places
        for of in [place.state]
    ]
    return EquilibriumPath(np.array([place.value for place in places]), states, turning, [p.system for p in places])
