"""Steps along a path of equilibria by pseudo-arclength continuation (Keller 1977), also across corners.

Equilibria satisfy g(u, p) = 0, where g are the accelerations in free coordinates u, and p is the parameter. The tangent
(du, dp) of the path satisfies K du + g_p dp = 0 with K = dg/du and g_p = dg/dp. Each step predicts a point along the
tangent, and Newton's method corrects it perpendicular to the tangent. g_p is approximated by a finite difference at the
predicted point and kept constant during the correction. This approximation affects neither the computed points nor the
turning points, where K is singular.

Beams are much stiffer in extension than in bending. A step that rotates beam segments also stretches them, in
proportion to the square of the rotation. Therefore the strains of the segments are additional unknowns, as in
`mixed_newton`, and their loads are linearized in the strains, which do not grow with the square of the rotation.

Where a one-sided spring engages or disengages, K jumps and the path has a corner. The path continues in the direction
for which the determinant of K, g_p and the tangent keeps its sign. K and g_p on the two sides agree along their common
border, so that the path leaves the border on the other side (Allgower and Georg, Introduction to Numerical Continuation
Methods, 2003, chapter 15).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.bodies.state import State
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.dense.projection import displaced, project
from quirk.dynamics.model.joint_angles import angles_at
from quirk.errors import AssemblyError, ConvergenceError, InputError
from quirk.forces import ForceElement
from quirk.system.system import System

from ..assembly import check_consistent
from .beam_strains import BeamStrains
from .free_accelerations import accelerations, size_of_loads
from .null_space import NullSpaceBasis
from .operating_point import Point
from .stiffness_switching import switched_elements

OWNER = "equilibrium_path"
# Step of finite differences with respect to the parameter, as a fraction of its range.
DIFFERENCE = 1e-5
# CONVERGED: residual of a converged point, as a fraction of that of the loads without mutual cancellation. ACCEPTED:
# largest accepted residual if iterations no longer reduce it. MOST_ITERATIONS: maximum number of iterations. ROUND_OFF:
# displacements that are round-off, as a fraction of the system's length; residuals due to them, large in thin beams,
# are accepted too.
CONVERGED, ACCEPTED, MOST_ITERATIONS, ROUND_OFF = 1e-13, 1e-9, 8, 1e-14
# Distance beyond a corner at which the path is continued, relative to the range of the parameter and to the system's
# length; it must exceed DIFFERENCE.
BEYOND = 1e-4
# Tolerance for the location of a turning point, by the parameter's component of the tangent or by the fraction of the
# step, and maximum number of iterations.
TURNED, MOST_TRIES = 1e-11, 60


@dataclass(frozen=True)
class PathPoint:
    """A point near the path of equilibria: a state and a parameter value, with accelerations g and their derivative K.

    Attributes
    ----------
    value : value of the parameter
    state, system : the state, and the system for this value of the parameter
    free : basis of free coordinates at the state
    g, K : (f,) accelerations and (f, f) their derivatives along free coordinates, with internal variables at the end
    size : norm of the accelerations that the loads would cause at this state without mutual cancellation
    loaded : largest value of `size` along the path so far, the reference for residuals where all loads vanish
    strains : (N, 6) strains of the N beam segments at which their loads in K are evaluated
    """

    value: float
    state: State
    system: System
    free: NullSpaceBasis
    g: np.ndarray
    K: np.ndarray
    size: float
    loaded: float
    strains: np.ndarray

    @property
    def residual(self) -> float:
        """Largest acceleration along a free coordinate; zero at an equilibrium."""
        return float(np.abs(self.g).max(initial=0.0))


# Derivatives of the accelerations of bodies (n, 6) and of internal rates (k,) with respect to the parameter, multiplied
# by the range of the parameter.
Slope = tuple[np.ndarray, np.ndarray]
# Direction of a path: components of the poses (n, 6), of internal variables (k,), and of the parameter as a fraction of
# its range.
Tangent = tuple[np.ndarray, np.ndarray, float]


class PathFollower:
    """Predictor and corrector of a path of equilibria over a parameter.

    Parameters
    ----------
    build : the user's function of the parameter, which returns the system, or the system and a starting state
    span : signed range of the parameter, negative if it decreases
    """

    def __init__(self, build: Callable[[float], Any], span: float) -> None:
        self.build, self.span = build, span

    def system_at(self, value: float) -> tuple[System, State]:
        """Return the system and the starting state for a value of the parameter, from the user's function."""
        built = self.build(value)
        system, state = built if isinstance(built, tuple) and len(built) == 2 else (built, None)
        if not isinstance(system, System) or not isinstance(state, State | None):
            raise InputError(f"{OWNER}: build must return a System, or a System and a State; got {built!r}")
        if any(
            isinstance(constraint, Unilateral) and system.is_active(constraint.name)
            for constraint in system.constraints
        ):
            raise InputError(f"{OWNER}: unilateral constraints are not supported; replace them by one-sided springs")
        return system, system.initial_state() if state is None else system.checked(state)

    def operating_point(self, value: float, state: State, system: System | None = None) -> Point:
        """Return the operating point for a value of the parameter, at `state` projected onto the constraints.

        `system` is the system for this value; by default it is built.
        """
        system = self.system_at(value)[0] if system is None else system
        plant, solver, parts = system.plant, system.plant.solver(), state.parts
        if system.model.rows:
            projected = project(system.model, plant.metric, state, 0.0, solver.row_independence(state, 0.0).independent)
            if projected is None:
                raise AssemblyError(f"{OWNER}: the projection onto the constraints failed")
            parts = (*projected.state.parts[:2], *parts[2:])
        consistent = State(*parts, angles=state.angles, internal=state.internal, bodies=state.bodies)
        solver.settle_state(consistent, 0.0)
        return Point.along(system, plant, solver, consistent, 0.0, angles_at(system.model, consistent, 0.0))

    def path_point(
        self,
        value: float,
        state: State,
        system: System | None = None,
        largest_size: float = 0.0,
        strains: np.ndarray | None = None,
    ) -> PathPoint:
        """Return the `PathPoint` of a state at a value of the parameter.

        `system` is the system for this value; by default it is built. `largest_size` is the largest value of
        `PathPoint.size` along the path so far. `strains` (N, 6) are the strains of beam segments at which their loads
        in the derivative K are evaluated; by default the strains at the state.
        """
        point = self.operating_point(value, state, system)
        free, segments, size = NullSpaceBasis.at(point), BeamStrains.of(point.system), size_of_loads(point)
        now = segments.strains(point)
        g, K, _ = accelerations(free, 0)
        if strains is not None and segments.names:
            with segments.at(point, strains, now):
                K = accelerations(free, 0)[1]
        used = now if strains is None else strains
        return PathPoint(value, point.state, point.system, free, g, K, size, max(size, largest_size), used)

    def slope(self, place: PathPoint) -> Slope:
        """Return the change of the accelerations with the parameter, at a constant state.

        The change is the derivative with respect to the parameter times the parameter's range. It consists of changes
        of the accelerations of the bodies (n, 6) and of the rates of internal variables (k,).
        """
        more, now = self.operating_point(place.value + DIFFERENCE * self.span, place.state), place.free.point
        bodies = np.concatenate([more.linear - now.linear, more.angular - now.angular], axis=1)
        return bodies / DIFFERENCE, (more.internal_rates - now.internal_rates) / DIFFERENCE

    def tangent(self, place: PathPoint, slope: Slope, previous: Tangent | None) -> Tangent:
        """Return the unit tangent of the path at the point `place`.

        The tangent points along the `previous` tangent or, if this is None, toward the end of the range. `slope` is the
        derivative g_p of the accelerations with respect to the parameter.
        """
        along = np.linalg.svd(self._derivatives(place, slope))[2][-1]
        sign = float(along[-1]) if previous is None else float(self.row(place, previous) @ along)
        return self._direction(place, along if sign >= 0 else -along)

    def _derivatives(self, place: PathPoint, slope: Slope) -> np.ndarray:
        """Return the derivatives [K, g_p] of the accelerations with respect to free coordinates and parameter.

        Free coordinates are relative to the size of the system times the square root of its mass, and the parameter is
        relative to its range. `slope` is g_p, the derivative with respect to the parameter.
        """
        return np.column_stack([place.K * self._unit(place), self._free_coordinates(place, *slope)])

    def _direction(self, place: PathPoint, coordinates: np.ndarray) -> Tangent:
        """Return a variation of bodies, internal variables and parameter from its coordinates in the basis at `place`.

        This method is the inverse of `row`.
        """
        unit, v = self._unit(place), place.free.velocities.shape[1]
        bodies = place.free.motions_from_weighted(place.free.velocities @ (unit * coordinates[:v, None]))[..., 0]
        return bodies, unit * coordinates[v:-1], float(coordinates[-1])

    def _orientation(self, place: PathPoint, slope: Slope, row: np.ndarray) -> float:
        """Return the sign of the determinant of the matrix [K, g_p; row], in which `row` is the tangent of the path.

        The sign is constant along a path, also across corners. K is the derivative of the accelerations at `place`, and
        `slope` is their derivative g_p with respect to the parameter.
        """
        return float(np.linalg.slogdet(np.vstack([self._derivatives(place, slope), row]))[0])

    def past_corner(self, place: PathPoint, tangent: Tangent) -> PathStep | None:
        """Return a step across a corner of the path close to `place`; None if no stiffness jumps nearby.

        `tangent` is the tangent of the path at `place`.
        """
        halfway, past = (self.predicted(place, tangent, length) for length in (BEYOND / 2, BEYOND))
        elements = switched_elements(place.free.point, halfway.free.point, past.free.point)
        if not elements:
            return None
        slope = self.slope(past)
        along = np.linalg.svd(self._derivatives(past, slope))[2][-1]
        same = self._orientation(past, slope, along) == self._orientation(
            place, self.slope(place), self.row(place, tangent)
        )
        turned = self._direction(past, along if same else -along)
        try:
            there = self.corrected(self.predicted(past, turned, BEYOND), turned, slope)
        except (AssemblyError, InputError) as error:
            raise path_error(place, f"{_jump_of(elements)}, and beyond it {error}") from error
        halfway = self.predicted(past, turned, BEYOND / 2)
        if switched_elements(past.free.point, halfway.free.point, there.free.point):
            raise path_error(place, f"{_jump_of(elements)}, and again shortly beyond it")
        return PathStep(self, place, there, turned, slope, BEYOND)

    def predicted(self, place: PathPoint, tangent: Tangent, length: float) -> PathPoint:
        """Return the point reached from the point `place` by a step of `length` along a tangent."""
        value = place.value + length * tangent[2] * self.span
        return self._displaced(place, length * tangent[0], length * tangent[1], value)

    def corrected(self, predicted: PathPoint, tangent: Tangent, slope: Slope) -> PathPoint:
        """Return the point of the path nearest to `predicted`, by Newton corrections perpendicular to a tangent.

        `slope` is the derivative g_p of the accelerations with respect to the parameter, which is kept constant.

        Raises
        ------
        AssemblyError
            If the corrections do not converge.
        """
        best = predicted
        for _ in range(MOST_ITERATIONS):
            if predicted.residual <= CONVERGED * predicted.size:
                break
            unit, v = self._unit(predicted), predicted.free.velocities.shape[1]
            row = self.row(predicted, tangent)
            A = np.vstack([np.column_stack([predicted.K * unit, self._free_coordinates(predicted, *slope)]), row])
            step = np.linalg.lstsq(A, -np.append(predicted.g, 0.0), rcond=None)[0]
            change = predicted.free.motions_from_weighted(predicted.free.velocities @ (unit * step[:v, None]))[..., 0]
            predicted = self._displaced(predicted, change, unit * step[v:-1], predicted.value + step[-1] * self.span)
            before, best = best, predicted if predicted.residual < best.residual else best
            if predicted.residual >= 0.5 * before.residual and before.residual < self._acceptable(before):
                break
        if best.residual > self._acceptable(best):
            raise AssemblyError(f"{OWNER}: no equilibrium was found near {predicted.value:g}")
        check_consistent(best.system, best.state, 0.0)
        return self.path_point(best.value, best.state, best.system, best.loaded) if len(best.strains) else best

    def _acceptable(self, place: PathPoint) -> float:
        """Return the largest residual of an equilibrium that corrections no longer reduce.

        The limit depends on the stiffness and the loads at the nearby point `place`.
        """
        stiffest = float(np.abs(place.K).max(initial=0.0)) * self._unit(place)
        return max(ACCEPTED * place.loaded, ROUND_OFF * stiffest)

    def _displaced(self, place: PathPoint, change: np.ndarray, internal: np.ndarray, value: float) -> PathPoint:
        """Return the `PathPoint` at the parameter `value` with displaced bodies and changed internal variables.

        `change` (n, 6) are the displacements and rotations from `place`, and `internal` (k,) the changes of internal
        variables.
        """
        point, moves, turns = place.free.point, change[:, :3], change[:, 3:]
        moved, segments = displaced(place.state, moves, turns), BeamStrains.of(place.system)
        strains = segments.strains(point)
        if segments.names:
            strains = strains + segments.rates(point, moves, turns)
        auxiliary, count = place.system.model.auxiliary, point.internal
        numbers = auxiliary.numbers(auxiliary.flat(place.state))[:count] + internal
        named = {name: numbers[where] for name, where in auxiliary.internal.items()}
        of = place.state
        state = State(*moved.parts, angles=of.angles, internal=named, bodies=of.bodies)
        return self.path_point(value, state, largest_size=place.loaded, strains=strains)

    def row(self, place: PathPoint, direction: Tangent) -> np.ndarray:
        """Return the coordinates of a variation of bodies, internal variables and parameter, in the basis at `place`.

        `direction` is the variation. The coordinates are relative to the size and mass of the system and to the range
        of the parameter, so that they can be used as a row of a matrix.
        """
        bodies, internal, of_parameter = direction
        return np.append(self._free_coordinates(place, bodies, internal) / self._unit(place), of_parameter)

    @staticmethod
    def _free_coordinates(place: PathPoint, bodies: np.ndarray, internal: np.ndarray) -> np.ndarray:
        """Return the free coordinates, in the basis at `place`, of a variation of bodies and internal variables.

        `bodies` (n, 6) and `internal` (k,) are the variation. The conversion is necessary because the bases of
        different points may be rotated or reversed with respect to each other.
        """
        variations = np.zeros((len(bodies), 12, 1))
        variations[:, 6:, 0] = bodies
        return place.free.coordinates(variations, internal[:, None])[place.free.poses.shape[1] :, 0]

    @staticmethod
    def _unit(place: PathPoint) -> float:
        """Return the unit of free coordinates, m sqrt(kg): the size of the system times the square root of its mass.

        The size is the largest extent of the positions of the bodies along an inertial axis, or the characteristic
        length if that is larger. With this unit, steps of finely divided beams are as long as those of coarsely divided
        ones.
        """
        model = place.system.model
        size = max(model.length, np.ptp(place.state.position, axis=0).max())
        return float(size * np.sqrt(model.mass.sum()))


def path_error(place: PathPoint, reason: Any) -> ConvergenceError:
    """Return a ConvergenceError: the path of equilibria cannot be continued beyond its last point `place`.

    `reason` ends the message.
    """
    message = f"{OWNER}: the path cannot be followed beyond {place.value:g}: {reason}"
    return ConvergenceError(message, state=place.state)


def _jump_of(elements: Sequence[ForceElement]) -> str:
    """Return the part of an error message that names the force elements whose stiffness jumps."""
    listed = ", ".join(str(element) for element in elements)
    return f"there the stiffness of {listed} jumps: use a smooth law"


@dataclass(frozen=True)
class PathStep:
    """Step along a path of equilibria.

    Attributes
    ----------
    follower : predictor and corrector of the path
    here, there : points at the start and at the end of the step
    tangent : unit tangent of the path at the start
    slope : derivative g_p of the accelerations with respect to the parameter, evaluated at the end
    length : length of the step along the tangent
    """

    follower: PathFollower
    here: PathPoint
    there: PathPoint
    tangent: Tangent
    slope: Slope
    length: float

    def turning_point(self) -> PathPoint:
        """Return the turning point within the step, where the parameter reverses."""
        return self._zero(lambda p: self.follower.tangent(p, self.slope, self.tangent)[2])

    def at(self, value: float) -> PathPoint:
        """Return the point of the path at a value of the parameter within the step."""
        near = self._zero(lambda p: (p.value - value) / self.follower.span)
        fixed = np.zeros_like(self.tangent[0]), np.zeros_like(self.tangent[1]), 1.0
        try:
            exactly = self.follower.path_point(value, near.state, largest_size=near.loaded)
            return self.follower.corrected(exactly, fixed, self.slope)
        except AssemblyError:
            # Close to a turning point, the point at the exact value may not be found, but the nearby one is.
            return near

    def _zero(self, function: Callable[[PathPoint], float]) -> PathPoint:
        """Return the point of the path within the step at which a function of a path point is zero.

        The zero is located by the Illinois method; each correction starts from the previous point.
        """
        a, b, fa, fb, point = 0.0, self.length, function(self.here), function(self.there), self.there
        for _ in range(MOST_TRIES):
            middle = (a * fb - b * fa) / (fb - fa)
            predicted = self.follower.predicted(point, self.tangent, middle - b)
            point = self.follower.corrected(predicted, self.tangent, self.slope)
            value = function(point)
            if abs(value) <= TURNED or abs(middle - b) <= TURNED * self.length:
                break
            if value * fb < 0:
                a, fa = b, fb
            else:
                fa *= 0.5
            b, fb = middle, value
        return point
