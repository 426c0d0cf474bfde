"""Joint angles including full turns, from states and from the quadrants counted along a run.

Joints with three rotations have 1-2-3 angles, R_ij = R_x(a) R_y(b) R_z(c), where a and c can exceed a turn. Joints with
a cross (universal joints) have angles about x of frame i and y of frame j, R_ij = R_x(a) R_y(b), and both can exceed a
turn. Let p = (w, x, y, z) be the quaternion of R_ij, and e(a) = (cos a, sin a). The components of p form two vectors in
the plane, called plane vectors. Half the sum and half the difference of the two angles that can exceed a turn are the
polar angles of these vectors:

    1-2-3    (w + y, x + z) = (cos b/2 + sin b/2) e((a + c)/2),     (w - y, x - z) = (cos b/2 - sin b/2) e((a - c)/2)
    cross    (w - z, x + y) = e((a + b)/2),                         (w + z, x - y) = e((a - b)/2)

Along a run, the quadrants of both vectors are counted on over full turns, and determine the joint angles with full
turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.euler_angles import plane_forms
from quirk.bodies.state import STATE_SIZE, State
from quirk.constraints import Constraint
from quirk.constraints.relative import crossed, nearest
from quirk.jit.simd import WIDTH

from .layout import ORIENTATION, Slots
from .revolution_counter import Counter, TurnBound

if TYPE_CHECKING:
    from .model import Model

# Coefficients of the components of both plane vectors over (w, x, y, z).
ANGLES_123 = plane_forms("xyz")
CROSS = np.array([[1, 0, 0, -1], [0, 1, 1, 0], [1, 0, 0, 1], [0, 1, -1, 0]], dtype=float)


class CountedJoints:
    """All K distinct pairs of joint frames of a system whose relative angles are counted over full turns.

    The two plane vectors of a joint are vectors in the plane, formed from its relative quaternion; their polar angles
    are half the sum and half the difference of the two joint angles that can exceed a turn.

    Attributes
    ----------
    number : index of the pair by name of the constraint; a driver has the index of its joint
    ends : (K, 2) indices of bodies i and j; the ground is n, the number of bodies
    forms : (K, 4, 4) matrices H; H conj(q_i) q_j are the components of both plane vectors
    crossed : (K,) whether the joint has a cross (universal joint)
    """

    def __init__(self, constraints: Sequence[Constraint], ends: Sequence[tuple[int, int]]) -> None:
        self.number: dict[str, int] = {}
        distinct: dict[Any, tuple[Constraint, tuple[int, int]]] = {}
        places: dict[Any, int] = {}
        for constraint, pair in zip(constraints, ends, strict=True):
            key = pair, id(constraint.frame_i), id(constraint.frame_j), crossed(constraint)
            self.number[constraint.name] = places.setdefault(key, len(places))
            distinct.setdefault(key, (constraint, pair))
        self.ends = np.array([pair for _, pair in distinct.values()], dtype=np.int64).reshape(-1, 2)
        self.crossed = np.array([key[-1] for key in distinct], dtype=bool)
        frames = [(c.frame_i.rotation, c.frame_j.rotation) for c, _ in distinct.values()]
        i, j = np.array(frames).reshape(-1, 2, 4).swapaxes(0, 1)
        # p = conj(f_i) r f_j, column by column.
        p = rotation.multiply(rotation.multiply(rotation.conjugate(i)[:, None], np.eye(4)), j[:, None])
        self.forms = np.where(self.crossed[:, None, None], CROSS, ANGLES_123) @ np.swapaxes(p, 1, 2)

    def plane_vectors(self, orientation: np.ndarray) -> np.ndarray:
        """Return the two plane vectors of each of K joints, (..., K, 2, 2), for orientations (..., n, 4) of n bodies.

        Their polar angles are half the sum and half the difference of two joint angles.
        """
        q_i, q_j = self._of_ends(orientation, rotation.IDENTITY)
        r = rotation.multiply(rotation.conjugate(q_i), q_j)
        return np.einsum("krc,...kc->...kr", self.forms, r).reshape(*r.shape[:-1], 2, 2)

    def first_quadrants(self, orientation: np.ndarray) -> np.ndarray:
        """Return the quadrants (K, 2), numbered -2 to 1, of the two plane vectors of each of K joints at the start.

        The polar angles of these vectors are half the sum and half the difference of two joint angles. `orientation`
        (n, 4) are the initial orientations of n bodies.
        """
        return quadrants_of(self.plane_vectors(orientation))

    def full_turns(self, orientation: np.ndarray, angles: np.ndarray) -> np.ndarray:
        """Return the full turns (K, 3), rad, contained in joint angles (K, 3), rad, at the orientations of n bodies.

        `orientation` (n, 4) are quaternions.
        """
        vectors = self.plane_vectors(orientation)
        counted = self.angles(vectors, quadrants_of(vectors))
        return np.asarray(2 * np.pi * np.round((angles - counted) / (2 * np.pi)))

    def angles(self, vectors: np.ndarray, quadrants: np.ndarray) -> np.ndarray:
        """Return the joint angles (..., K, 3), rad, for the plane vectors of K joints and their quadrants.

        `vectors` (..., K, 2, 2) are the two plane vectors of each joint, and `quadrants` (..., K, 2) their quadrants,
        counted over full turns.
        """
        half = self.half_angles(vectors, quadrants)
        plus, minus = half[..., 0] + half[..., 1], half[..., 0] - half[..., 1]
        length = np.linalg.norm(vectors, axis=-1)
        second = 2 * np.arctan2(length[..., 0] - length[..., 1], length[..., 0] + length[..., 1])
        return self._columns(plus, second, minus)

    def half_angles(self, vectors: np.ndarray, quadrants: np.ndarray) -> np.ndarray:
        """Return the polar angles (..., K, 2), rad, of the two plane vectors of each joint, with full turns.

        They are half the sum and half the difference of two joint angles. `vectors` (..., K, 2, 2) are the plane
        vectors, and `quadrants` (..., K, 2) their quadrants, counted over full turns.
        """
        angles: np.ndarray = nearest(np.arctan2(vectors[..., 1], vectors[..., 0]), (quadrants + 0.5) * (0.5 * np.pi))
        return angles

    def nearest_angles(self, state: State, reference: np.ndarray) -> np.ndarray:
        """Return the joint angles (..., K, 3), rad, at a state that are nearest to `reference` (..., K, 3), rad.

        The state, with arrays (..., n, 3) and (..., n, 4), determines angles up to full turns.
        """
        vectors = self.plane_vectors(state.orientation)
        # A cross has no third angle, and the second 1-2-3 angle lies between -90 and 90 degrees.
        turning = np.arange(3) != np.where(self.crossed, 2, 1)[:, None]
        return nearest(self.angles(vectors, np.zeros(vectors.shape[:-1])), np.where(turning, reference, 0.0))

    def rates(self, state: State) -> np.ndarray:
        """Return the rates (..., K, 3), rad/s, of the joint angles that can exceed a turn; other entries are zero."""
        half = self.half_rates(state)
        plus, minus = half[..., 0] + half[..., 1], half[..., 0] - half[..., 1]
        return self._columns(plus, np.zeros_like(plus), minus)

    def half_rates(self, state: State) -> np.ndarray:
        """Return half the sum and half the difference of the rates of both joint angles that can exceed a turn.

        These rates (..., K, 2), rad/s, are the rates of the polar angles of the plane vectors of K joints. The result
        is zero where a plane vector vanishes, as at gimbal lock.
        """
        q_i, q_j = self._of_ends(state.orientation, rotation.IDENTITY)
        omega_i, omega_j = (_pure(w) for w in self._of_ends(state.angular_velocity, np.zeros(3)))
        r = rotation.multiply(rotation.conjugate(q_i), q_j)
        r_dot = 0.5 * (rotation.multiply(r, omega_j) - rotation.multiply(omega_i, r))
        u, v = (np.einsum("krc,...kc->...kr", self.forms, x).reshape(*x.shape[:-1], 2, 2) for x in (r, r_dot))
        with np.errstate(divide="ignore", invalid="ignore"):
            half = (u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]) / (u**2).sum(axis=-1)
        return np.where(np.isfinite(half), half, 0.0)

    def counter(self, slots: Slots, state: State, capacity: int, *, blind: bool = False) -> Counter:
        """Return a revolution counter, initialized at a state.

        Parameters
        ----------
        capacity : maximum number of output states whose quadrants are stored
        slots : order of the bodies in compiled arrays
        blind : whether steps have a fixed size, and may be too long to detect all passed quadrants
        """
        count = len(self.ends)
        orientation_index = np.array(
            [[slots.offset(b, STATE_SIZE) + 8 * ORIENTATION for b in pair] for pair in self.ends]
        )
        clock = TurnBound()
        with np.errstate(over="ignore"):
            clock.fastest = np.sqrt((state.angular_velocity**2).sum(axis=1)).max(initial=0.0)
        return Counter(
            blocks=slots.lanes // WIDTH,
            orientation_index=orientation_index.astype(np.int64).ravel(),
            forms=self.forms.ravel(),
            quadrants=self.first_quadrants(state.orientation).ravel(),
            due=np.zeros(count),
            counted=np.full(count, -1.0),
            lead=np.zeros(2 * count),
            spare=np.zeros(2 * count),
            blind=blind,
            clock=clock,
            kept=np.empty(2 * count * capacity, dtype=np.int64),
        )

    def _of_ends(self, rows: np.ndarray, ground: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the entries for bodies i and j of all joints, two arrays (..., K, c), from those of n bodies.

        `rows` (..., n, c) are the entries of all bodies, and `ground` (c,) is the entry for the ground.
        """
        whole = np.concatenate([rows, np.broadcast_to(ground, (*rows.shape[:-2], 1, len(ground)))], axis=-2)
        return whole[..., self.ends[:, 0], :], whole[..., self.ends[:, 1], :]

    def _columns(self, plus: np.ndarray, second: np.ndarray, minus: np.ndarray) -> np.ndarray:
        """Return the joint angles (..., K, 3), rad, from the polar angles of the two plane vectors of each joint.

        `plus` and `minus` (..., K) are the sum and difference of the polar angles, and `second` (..., K) the second
        1-2-3 angle.
        """
        zero = np.zeros_like(second)
        return np.stack([plus, np.where(self.crossed, minus, second), np.where(self.crossed, zero, minus)], axis=-1)


@dataclass(frozen=True)
class Turns:
    """Joint angles with full turns along a run, for K joints at nt output times.

    Attributes
    ----------
    joints : CountedJoints
    quadrants : (nt, K, 2) quadrants of the two plane vectors of each joint, counted along the run
    whole : (K, 3) full turns before the start of the count, rad
    """

    joints: CountedJoints
    quadrants: np.ndarray
    whole: np.ndarray

    @classmethod
    def since(cls, joints: CountedJoints, orientation: np.ndarray, angles: np.ndarray, quadrants: np.ndarray) -> Turns:
        """Return the full turns of joint angles along a run.

        Parameters
        ----------
        joints : the K pairs of joint frames
        orientation : (n, 4) initial orientations
        angles : (K, 3) initial joint angles with full turns, rad
        quadrants : (nt, 2 K) quadrants counted along the run
        """
        whole = joints.full_turns(orientation, angles)
        return cls(joints, quadrants.reshape(len(quadrants), len(whole), 2), whole)

    @classmethod
    def of_state(cls, joints: CountedJoints, state: State) -> Turns:
        """Return the full turns of the joint angles at a single state.

        Each angle is nearest to that stored in the state or, if none is stored, in (-pi, pi].
        """
        first = joints.first_quadrants(state.orientation).reshape(1, -1)
        return cls.since(joints, state.orientation, joints.nearest_angles(state, _stored_angles(joints, state)), first)

    def angles(self, orientation: np.ndarray, row: int | slice = slice(None)) -> np.ndarray:
        """Return the angles (nt, K, 3), rad, at orientations (nt, n, 4) of n bodies.

        If `row` selects a single output time, orientations are (n, 4), and the angles (K, 3).
        """
        return self.joints.angles(self.joints.plane_vectors(orientation), self.quadrants[row]) + self.whole


def polar_sign(axis: int) -> float:
    """Return 1 if a counted joint angle is the sum of both polar angles of the plane vectors, -1 if their difference.

    `axis` is the index 0, 1 or 2 of the angle.
    """
    return 1.0 if axis == 0 else -1.0


def angles_at(model: Model, state: State, t: float) -> np.ndarray:
    """Return the angles (K, 3), rad, of all K joints at a state, with full turns.

    An angle prescribed by a driver has the full turns of the prescribed motion at time t (s). Any other angle is the
    one nearest to the angle stored in the state, or in (-pi, pi] if none is stored.
    """
    joints = model.joints
    near = _stored_angles(joints, state)
    for constraint, _ in model.joint_bodies:
        if constraint.driven is not None:
            axis, motion = constraint.driven
            if motion.start <= t <= motion.end:
                near[joints.number[constraint.name], axis] = motion.derivatives_for(f"{constraint}, motion", t, 0)[0]
    return joints.nearest_angles(state, near)


def angles_by_name(joints: CountedJoints, angles: np.ndarray) -> dict[str, np.ndarray]:
    """Return the angles (K, 3) of K joints as a dict of arrays (3,) by name of the constraint, including drivers."""
    return {name: angles[k] for name, k in joints.number.items()}


def _stored_angles(joints: CountedJoints, state: State) -> np.ndarray:
    """Return the angles (K, 3), rad, that are stored in a state; missing angles are zero."""
    stored = np.zeros((len(joints.ends), 3))
    for name, angles in state.angles.items():
        if name in joints.number:
            stored[joints.number[name]] = angles
    return stored


def quadrants_of(vectors: np.ndarray) -> np.ndarray:
    """Return the quadrants (...), from -2 to 1, of vectors (..., 2) in the plane."""
    x, y = np.moveaxis(vectors, -1, 0)
    return np.where(y >= 0, np.where(x > 0, 0, 1), np.where(x < 0, -2, -1))


def _pure(omega: np.ndarray) -> np.ndarray:
    """Return quaternions (..., 4) with vector parts `omega` (..., 3) and scalar part zero."""
    return np.concatenate([np.zeros((*omega.shape[:-1], 1)), omega], axis=-1)
