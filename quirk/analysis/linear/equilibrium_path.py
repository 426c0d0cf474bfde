"""Paths of equilibria as functions of a parameter, through turning points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from quirk.errors import AssemblyError, InputError
from quirk.system.system import System
from quirk.util import validate
from quirk.util.misuse import explained

from .equilibrium import Equilibrium, equilibrium
from .outputs import value_of
from .path_continuation import OWNER, PathFollower, PathPoint, PathStep, path_error

# Largest angle (rad) between the tangents at consecutive points. The step is increased if the angle is below half of
# this.
BEND = 0.15
# Shortest step, as a fraction of the longest. If no such step succeeds, the path has a corner or cannot be continued.
SHORTEST = 1e-6
# Points before a corner are discarded if their distances are below this fraction of the longest step.
CROWDED = 1e-2


@explained
@dataclass(frozen=True, repr=False)
class EquilibriumPath:
    """Equilibria of a system as a function of one parameter.

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
        """Plot a quantity over the parameter, with unstable parts dashed; `options` are those of `Result.plot`."""
        from quirk.graphics.plot.roots import draw_equilibria

        return draw_equilibria(self.values, self.of(name), self.stable, self.turning, name, options)


@explained
def equilibrium_path(
    build: Callable[[float], Any], start: float, stop: float, *, step: float = 0.05, most: int = 1000
) -> EquilibriumPath:
    """Return the equilibria of a system as a function of a parameter; the path continues through turning points.

    Parameters
    ----------
    build : function of the parameter
        ``build(value)`` returns the system, or (system, starting state). The path begins at `start`, at the equilibrium
        near the starting state. The system must have the same parts for all values, and no unilateral constraints.
    start, stop : float
        Range of the parameter. The path ends when it reaches `stop`, or an equal distance on the other side of `start`.
    step : float
        Longest step, relative to the range and to the size of the system.
    most : int
        Maximum number of points.

    Raises
    ------
    InputError
        If an argument is invalid, or the return value of `build` is invalid.
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
    follower = PathFollower(build, last - first)
    system, state = follower.system_at(first)
    here = follower.path_point(first, equilibrium(system, state, 0.0), system)
    tangent = follower.tangent(here, follower.slope(here), None)
    points, turning, length, crowded = [here], list[int](), 0.25 * longest, 0
    while len(points) < most:
        try:
            predicted = follower.predicted(here, tangent, length)
            slope = follower.slope(predicted)
            there = follower.corrected(predicted, tangent, slope)
            ahead = follower.tangent(there, slope, tangent)
            bend = np.arccos(np.clip(follower.row(there, tangent) @ follower.row(there, ahead), -1, 1))
        except (AssemblyError, InputError) as error:
            bend, trouble = np.inf, error
        taken: PathStep | None
        if bend <= BEND:
            taken = PathStep(follower, here, there, tangent, slope, length)
            if tangent[2] * ahead[2] < 0:
                turning.append(len(points))
                points.append(taken.turning_point())
                crowded = 0
            crowded = crowded + 1 if length < CROWDED * longest else 0
            length = min(longest, length * (1.5 if bend < 0.5 * BEND else 1.0))
        elif length >= 2.0 * SHORTEST * longest:
            length *= 0.5
            continue
        else:
            taken = follower.past_corner(here, tangent)
            if taken is None:
                raise path_error(here, trouble if np.isinf(bend) else "it branches, or bends too sharply")
            # The last point on the way to a corner has been added already.
            del points[len(points) - max(crowded, 1) : -1]
            there, ahead = taken.there, follower.tangent(taken.there, taken.slope, taken.tangent)
            if tangent[2] * ahead[2] < 0:
                turning.append(len(points) - 1)
            length, crowded = 0.25 * longest, 0
        progress = (there.value - first) / (last - first)
        if abs(progress) > 1:
            points.append(taken.at(last if progress > 0 else 2 * first - last))
            break
        points.append(there)
        here, tangent = there, ahead
    return _as_path(points, turning)


def _as_path(points: list[PathPoint], turning: list[int]) -> EquilibriumPath:
    """Return an EquilibriumPath of the given points; `turning` are the indices of its turning points."""
    states = [
        Equilibrium(*of.parts, angles=of.angles, internal=of.internal, bodies=of.bodies, system=point.system)
        for point in points
        for of in [point.state]
    ]
    return EquilibriumPath(np.array([p.value for p in points]), states, turning, [p.system for p in points])
