"""Steady motions: a common rigid motion of all n bodies, with an additional spin of each body about a body-fixed axis.

The velocities are the sum of a rigid motion, v = V + Omega x r, and of spins sigma_i that are constant in body axes. In
co-moving axes the equations of small motions have constant coefficients, z' = (J - dXi) z. Here z' = J z are the
equations in inertial axes, and dXi z is the rate, in inertial axes, of a variation z that is constant in the co-moving
axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import State
from quirk.dynamics.model.applied_loads import gross_accelerations
from quirk.dynamics.model.directions import OMEGA, SHIFT, TURN, VELOCITY, Directions
from quirk.errors import InconsistentStateError

from .null_space import NullSpaceBasis
from .operating_point import OperatingVariation, Point

# Accelerations below this fraction of those that the loads would cause without mutual cancellation are zero: they
# result from round-off, or from a state given with few digits.
AT_REST = 1e-7
# Accelerations of a body are also zero if they are below this fraction of those that a displacement by the system's
# length, or a rotation by 1 rad, would cause. This applies if springs are unloaded, without loads for comparison.
ROUND_OFF = 1e-13
# Relative tolerance for the agreement of velocities and accelerations with a steady motion.
FITS = 1e-7
# Tolerance for the agreement of the equations of small motions at two times of a steady motion.
SAME = 1e-8
# Rotation angle (rad) of the fastest body between these two times.
LATER = 0.7
# Angle, rad, below which power series are used, because the closed formulas lose accuracy by cancellation.
SMALL_ANGLE = 1e-4


@dataclass(frozen=True)
class SteadyMotion:
    """Common rigid motion of n bodies, with an additional spin of each body.

    Attributes
    ----------
    velocity : (3,) V, velocity of the point of the rigid motion at the inertial origin, m/s
    turning : (3,) Omega, angular velocity of the rigid motion, inertial frame, rad/s
    spin : (n, 3) sigma, additional angular velocity of each body, body axes, rad/s
    """

    velocity: np.ndarray
    turning: np.ndarray
    spin: np.ndarray

    @classmethod
    def none(cls, bodies: int) -> SteadyMotion:
        """Return the steady motion of `bodies` bodies at rest."""
        return cls(np.zeros(3), np.zeros(3), np.zeros((bodies, 3)))

    def convected_rates(self, bodies: np.ndarray) -> np.ndarray:
        """Return the rates (n, 12, D) of D variations that are constant in the co-moving axes of this motion.

        `bodies` (n, 12, D) are the variations of the poses and velocities of n bodies.
        """
        found = np.empty_like(bodies)
        for part in (SHIFT, VELOCITY):
            found[:, part] = np.einsum("ij,njd->nid", rotation.skew(self.turning), bodies[:, part])
        for part in (TURN, OMEGA):
            found[:, part] = -np.einsum("nij,njd->nid", rotation.skew(self.spin), bodies[:, part])
        return found

    def relative_rates(self, varied: OperatingVariation) -> OperatingVariation:
        """Return variations with their time derivatives relative to the co-moving axes of this motion.

        `varied` contains the variations with their time derivatives in the inertial frame.
        """
        return replace(varied, bodies=varied.bodies - self.convected_rates(varied.directions.bodies))

    def state_after(self, state: State, tau: float) -> State:
        """Return the state reached from `state` by this steady motion after a time tau, s."""
        spun = rotation.exp(self.spin * tau)
        whole = rotation.exp(self.turning * tau)
        R = rotation.matrix(whole)
        # The integral of exp(Omega s) over the time, applied to V.
        moved = state.position @ R.T + _rotation_integral(self.turning, tau) @ self.velocity
        turned = rotation.multiply(rotation.multiply(np.broadcast_to(whole, spun.shape), state.orientation), spun)
        back = rotation.matrix(spun)
        omega = np.einsum("nji,nj->ni", back, state.angular_velocity)
        return replace(state, position=moved, orientation=turned, velocity=state.velocity @ R.T, angular_velocity=omega)

    def variations_after(self, directions: Directions, tau: float) -> Directions:
        """Return variations, constant in the co-moving axes, after this steady motion has continued for a time tau, s.

        `directions` contains the variations at the beginning.
        """
        R, back = rotation.matrix(rotation.exp(self.turning * tau)), rotation.matrix(rotation.exp(self.spin * tau))
        bodies = np.empty_like(directions.bodies)
        for part in (SHIFT, VELOCITY):
            bodies[:, part] = np.einsum("ij,njd->nid", R, directions.bodies[:, part])
        for part in (TURN, OMEGA):
            bodies[:, part] = np.einsum("nji,njd->nid", back, directions.bodies[:, part])
        return replace(directions, bodies=bodies)


def kind_of(free: NullSpaceBasis, variation: OperatingVariation) -> tuple[str, SteadyMotion]:
    """Return the kind of an operating point, and the steady motion in whose axes small motions are described.

    The kind is "equilibrium", "steady motion" or "instant". `variation` contains the time derivatives of the basis
    directions `free`.
    """
    point = free.point
    at_rest = SteadyMotion.none(point.bodies)
    if not _internal_rests(point):
        return "instant", at_rest
    if rests(point):
        return ("equilibrium", at_rest) if not _changes_in_time(point) else ("instant", at_rest)
    # A motion that starts from rest is not steady.
    for candidate, later, tau in frames(point):
        if _is_constant(free, variation, candidate, later, tau):
            return "steady motion", candidate
    return "instant", at_rest


def _internal_rests(point: Point) -> bool:
    """Whether the rates of all internal variables at an operating point are zero up to round-off."""
    size = np.append(_internal_size(point), 1.0).max()
    return bool(np.abs(point.internal_rates).max(initial=0.0) <= AT_REST * size)


def _internal_size(point: Point) -> np.ndarray:
    auxiliary = point.model.auxiliary
    return np.abs(auxiliary.numbers(auxiliary.flat(point.state))[: point.internal])


def load_rate(point: Point) -> float:
    """Return the rate (1/s) of the motion that the loads at an operating point would cause without mutual cancellation.

    The rate is sqrt(max(a / L, alpha)), where a and alpha are the largest linear and angular accelerations by the
    loads, and L is the characteristic length of the system.
    """
    return _scales(point)[0]


def rate_of(point: Point) -> float:
    """Return the order of magnitude of angular frequencies and growth rates at an operating point, 1/s.

    The result is the larger of two rates: `load_rate`, and the largest angular velocity, or velocity divided by the
    characteristic length, of the motion at the point.
    """
    return max(_scales(point))


def _scales(point: Point) -> tuple[float, float]:
    """Return two characteristic rates at an operating point, 1/s: from accelerations by loads, and from velocities.

    With the largest linear and angular accelerations a and alpha that the loads would cause without mutual
    cancellation, the largest velocity v and angular velocity omega of all bodies, and the characteristic length L of
    the system, these are sqrt(max(a / L, alpha)) and max(v / L, omega).
    """
    linear, angular = gross_accelerations(point.model, point.kin, point.laws)
    length = point.model.length
    state = point.state
    moving = max(np.abs(state.velocity).max() / length, np.abs(state.angular_velocity).max())
    return float(np.sqrt(max(linear.max() / length, angular.max()))), float(moving)


def rests(point: Point) -> bool:
    """Whether all velocities and accelerations at an operating point are zero up to round-off."""
    loads, moving = _scales(point)
    if not (moving <= AT_REST * loads or moving <= 0):
        return False
    size, nothing = _sizes(point, point.linear, point.angular), AT_REST * loads**2
    return bool((size <= nothing).all() or (size <= nothing + ROUND_OFF * _stiffness(point)).all())


def _sizes(point: Point, linear: np.ndarray, angular: np.ndarray) -> np.ndarray:
    """Return the magnitudes (2, n), 1/s^2, of linear accelerations (n, 3) and angular accelerations (n, 3).

    Linear accelerations are divided by the characteristic length of the system at the operating point `point`.
    """
    return np.stack([np.linalg.norm(linear, axis=1) / point.model.length, np.linalg.norm(angular, axis=1)])


def _stiffness(point: Point) -> np.ndarray:
    """Return the magnitudes (2, n), 1/s^2, of the accelerations caused by random displacements of all bodies.

    Displacements are from the operating point `point`, up to the characteristic length of the system, rotations up to 1
    rad.
    """
    directions, rng = Directions.none(point.model, 1), np.random.default_rng(0)
    directions.bodies[:, SHIFT] = point.model.length * rng.uniform(-1.0, 1.0, (point.bodies, 3, 1))
    directions.bodies[:, TURN] = rng.uniform(-1.0, 1.0, (point.bodies, 3, 1))
    tangent = point.tangent(directions)
    return _sizes(point, tangent.linear[0], tangent.angular[0])


def _changes_in_time(point: Point) -> bool:
    """Whether accelerations at an operating point depend explicitly on time, through loads or drivers."""
    model = point.model
    timed = any(element.motions or element.of_user for element, _ in model.forces)
    if not timed and not any(placed.relation.motions or placed.relation.of_user for placed in model.relations):
        return False
    directions = Directions.none(model, 1)
    directions.time[:] = 1.0
    tangent, (loads, _) = point.tangent(directions), _scales(point)
    size = max(np.abs(tangent.linear).max() / model.length, np.abs(tangent.angular).max())
    return bool(size > AT_REST * loads**3 or np.abs(tangent.levels[..., :2]).max(initial=0.0) > 0)


def _candidates(point: Point) -> list[SteadyMotion]:
    """Return the rigid motions that match the velocities and accelerations at an operating point; [] if there is none.

    If several motions match, the results are the motion of least norm, and the motion with the least spins of the
    bodies.
    """
    length, state, R = point.model.length, point.state, point.kin.rotation[:-1]
    middle = state.position.mean(axis=0)
    time = 1.0 / _scales(point)[1]
    n = point.bodies
    arms, v, omega = (state.position - middle) / length, state.velocity * time / length, state.angular_velocity * time
    a, alpha = point.linear * time**2 / length, point.angular * time**2
    # Rows over (V + Omega x middle, Omega): v = V + Omega x r, a = Omega x v, omega' = -omega x R^T Omega.
    rows = np.zeros((3, n, 3, 6))
    rows[0, :, :, :3], rows[0, :, :, 3:] = np.eye(3), -rotation.skew(arms)
    rows[1, :, :, 3:] = -rotation.skew(v)
    rows[2, :, :, 3:] = -rotation.skew(omega) @ np.swapaxes(R, 1, 2)
    # Velocities are exact; accelerations have the round-off of the loads.
    sure = np.array([1.0, *2 * [1.0 / (1.0 + (_scales(point)[0] * time) ** 2)]])[:, None, None]
    A, b = (sure[..., None] * rows).reshape(-1, 6), (sure * np.stack([v, a, alpha])).ravel()
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    rank = int((s > FITS * s[0]).sum())
    least = Vt[:rank].T @ ((U[:, :rank].T @ b) / s[:rank])
    if np.abs(A @ least - b).max() > FITS * max(1.0, np.abs(b).max()):
        return []
    null = Vt[rank:].T
    turns = np.swapaxes(R, 1, 2) @ null[3:]
    spins = (omega - np.einsum("nji,j->ni", R, least[3:])).ravel()
    steadiest = least + null @ np.linalg.lstsq(turns.reshape(3 * n, -1), spins, rcond=FITS)[0] if null.size else least
    found = []
    for x in (least, steadiest):
        turning = x[3:] / time
        velocity = x[:3] * length / time - np.cross(turning, middle)
        found.append(SteadyMotion(velocity, turning, state.angular_velocity - np.einsum("nji,j->ni", R, turning)))
    return found if null.size else found[:1]


def frames(point: Point) -> Iterator[tuple[SteadyMotion, Point, float]]:
    """Yield the steady motions that match the velocities and accelerations at an operating point and at a later one.

    Each item consists of the motion, the later operating point, and the time between the two points (s). The function
    does not test whether the equations of small motions have constant coefficients.
    """
    if not _scales(point)[1] > 0 or not _internal_rests(point):
        return
    for steady in _candidates(point):
        found = _later_point(point, steady)
        if found is not None:
            yield steady, *found


def _later_point(point: Point, steady: SteadyMotion) -> tuple[Point, float] | None:
    """Return the operating point after a steady motion for a time tau, and tau, s.

    The result is None if the accelerations at this point do not match, so that the motion is not steady.
    """
    tau = LATER / max(
        np.abs(point.state.angular_velocity).max(), np.abs(point.state.velocity).max() / point.model.length
    )
    state = steady.state_after(point.state, tau)
    try:
        later = Point(point.system, state, point.t + tau)
    except InconsistentStateError:
        return None
    R = rotation.matrix(rotation.exp(steady.turning * tau))
    back = rotation.matrix(rotation.exp(steady.spin * tau))
    missing = np.abs(later.linear - point.linear @ R.T).max() / point.model.length
    missing = max(missing, np.abs(later.angular - np.einsum("nji,nj->ni", back, point.angular)).max())
    return (later, tau) if missing <= FITS * max(_scales(point)) ** 2 else None


def _is_constant(
    free: NullSpaceBasis, variation: OperatingVariation, steady: SteadyMotion, later: Point, tau: float
) -> bool:
    """Whether the coefficients of the equations of small motions are equal at two points of a steady motion.

    `later` is the point reached after the time `tau`, s. `variation` contains the time derivatives of the basis
    directions `free` at the first point.
    """
    point = free.point
    scale = max(_scales(point)) ** 2
    one = _coefficients(free, steady.relative_rates(variation))
    # Poses and velocities are compared in units of the fastest rate.
    p, v = free.poses.shape[1], free.velocities.shape[1]
    rate = max(
        np.sqrt(np.abs(one[p : p + v, :p]).max(initial=0.0)),
        np.abs(one[p : p + v, p : p + v]).max(initial=0.0),
        scale**0.5,
    )
    unit = np.ones(free.size)
    unit[p : p + v] = 1.0 / rate
    there, moved = NullSpaceBasis.at(later), steady.variations_after(variation.directions, tau)
    same = there.coordinates(moved.bodies, moved.internal[: point.internal])
    if same.shape[0] != same.shape[1]:
        return False
    same = unit[:, None] * same / unit
    if np.abs(same.T @ same - np.eye(len(same))).max(initial=0.0) > SAME:
        return False
    other = unit[:, None] * _coefficients(there, steady.relative_rates(later.variation(moved))) / unit
    difference = (same.T @ other - unit[:, None] * one / unit) / rate
    return bool(np.abs(difference).max(initial=0.0) <= SAME)


def _coefficients(free: NullSpaceBasis, variation: OperatingVariation) -> np.ndarray:
    return free.coordinates(variation.bodies, variation.internal)


def _rotation_integral(turning: np.ndarray, tau: float) -> np.ndarray:
    """Return the integral (3, 3), s, of the rotation matrix exp(skew(turning) t) over the time from 0 to tau, s."""
    angle = float(np.linalg.norm(turning)) * tau
    cross = rotation.skew(turning * tau)
    if angle < SMALL_ANGLE:
        return np.asarray(tau * (np.eye(3) + 0.5 * cross + cross @ cross / 6.0))
    one, two = (1.0 - np.cos(angle)) / angle**2, (angle - np.sin(angle)) / angle**3
    return np.asarray(tau * (np.eye(3) + one * cross + two * cross @ cross))
