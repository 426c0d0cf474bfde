"""Euler angles in any of the twelve body-fixed sequences, continuous along a motion.

R = R_a(t1) R_b(t2) R_c(t3) rotates by t1 about axis a, then by t2 about the rotated axis b, then by t3 about the
rotated axis c. Let s and d be half the sum and half the difference of t1 and t3, and e(x) = (cos x, sin x). Two plane
vectors along e(s) and e(d) are linear in the quaternion (w, q) = (w, x, y, z). With k the axis that is neither a nor b,
and g = 1 if b follows a in x, y, z, x, otherwise -1:

 c = a     (w, q_a) = cos(t2/2) e(s),                (q_b, g q_k) = sin(t2/2) e(d)
 c = k     (w + g q_b, q_a + q_c) = √2 cos(p) e(s),  (w - g q_b, q_a - q_c) = √2 sin(p) e(d),  t2 = g (pi/2 - 2 p)

During a uniform rotation about a fixed axis, each vector moves along an ellipse, a cos x + b sin x, where x is half the
angle of rotation. The angle by which its direction changes follows from both ends and the sense of rotation along the
ellipse. An ellipse that is numerically a line passes through zero, a singularity of the Euler angles; beyond it the
vector keeps its direction and gets a negative length.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import rotation

# First, second and third axis of each sequence.
SEQUENCES = tuple(a + b + c for a in "xyz" for b in "xyz" for c in "xyz" if b not in (a, c))

# Length, relative to that of the unit quaternion, below which the direction of a plane vector is round-off.
SINGULAR = 1e-7
# Ratio of the axes of an ellipse below which the true path may be a line through zero; tested if the motion between two
# times is not known accurately.
NARROW = 0.1


def continued(sequence: str, time: np.ndarray, q: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the Euler angles (nt, 3), rad, of a rotating body at nt times, without jumps by full turns.

    `sequence` names the axes, such as "zyx"; `time` (nt,) is in s. `q` (nt, 4) is the orientation, and `omega` (nt, 3)
    the angular velocity in body axes, rad/s. Between two times the body is assumed to rotate about a fixed axis at a
    constant rate that is consistent with both angular velocities.
    """
    turn = _turns(time, q, omega)
    # q and -q are the same orientation; these signs make the sequence continuous.
    signs = np.sign((rotation.multiply(q[:-1], rotation.exp(turn)) * q[1:]).sum(axis=1))
    q = q * np.cumprod([1.0, *signs])[:, None]
    half, axis = 0.5 * np.linalg.norm(turn, axis=1), _unit(turn)
    b = rotation.multiply(q[:-1], np.insert(axis, 0, 0.0, axis=1))
    # Deviation of the path from the arc, caused by the change of angular velocity across the axis; the path has length
    # half.
    bend = np.linalg.norm(np.cross(axis, np.diff(omega, axis=0)), axis=1) * np.diff(time) / 8
    u, v = (_continuous_vector(time, q @ form.T, b @ form.T, half, bend) for form in np.split(plane_forms(sequence), 2))
    # If both vectors pass through zero, the signs of their lengths follow the quaternion.
    sense = np.sign(u.length[:-1] * v.drift - v.length[:-1] * u.drift)
    p = _continuous(np.arctan2(v.length, u.length), np.where(u.straight & v.straight, half * sense, 0.0))
    second = 2 * p if sequence[0] == sequence[2] else _sign(sequence) * (0.5 * np.pi - 2 * p)
    first, third = u.angle + v.angle, u.angle - v.angle
    return np.stack([first - _nearest_multiple(first[0]), second, third - _nearest_multiple(third[0])], axis=1)


def plane_forms(sequence: str) -> np.ndarray:
    """Return the matrix (4, 4) that maps a quaternion to two plane vectors, from which Euler angles are computed.

    Rows 0 and 1 give a vector whose direction is half the sum of the first and third Euler angle, rows 2 and 3 one
    whose direction is half their difference; see the module docstring. `sequence` names the axes, such as "zyx".
    """
    w, *axes = np.eye(4)
    a, b, c = (axes["xyz".index(letter)] for letter in sequence)
    g = _sign(sequence)
    if sequence[0] == sequence[2]:
        return np.array([w, a, b, g * (np.ones(4) - w - a - b)])
    return np.array([w + g * b, a + c, w - g * b, a - c])


def _sign(sequence: str) -> int:
    return 1 if sequence[:2] in "xyzx" else -1


def _turns(time: np.ndarray, q: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the rotation vectors (nt - 1, 3), rad, body axes, between successive times.

    The orientations `q` (nt, 4) determine a rotation up to full turns; the mean of the angular velocities `omega`
    (nt, 3), rad/s, at the two times selects the number of turns.
    """
    shortest = rotation.log(rotation.multiply(rotation.conjugate(q[:-1]), q[1:]))
    estimate = 0.5 * np.diff(time)[:, None] * (omega[:-1] + omega[1:])
    axis = _unit(np.where(shortest.any(axis=1, keepdims=True), shortest, estimate))
    return shortest + axis * _nearest_multiple(((estimate - shortest) * axis).sum(axis=1, keepdims=True))


class _ContinuousVector(NamedTuple):
    """A plane vector that varies continuously over nt times.

    Between two times it is a cos x + b sin x, where a is its value at the earlier time, b a constant vector, and x half
    the angle of rotation since the earlier time.

    Attributes
    ----------
    angle : (nt,) direction, rad
    length : (nt,) length, negative once the vector has passed through zero
    straight : (nt - 1,) whether the path between two times is numerically a line through zero
    drift : (nt - 1,) component of b along the direction of the vector at the earlier time
    """

    angle: np.ndarray
    length: np.ndarray
    straight: np.ndarray
    drift: np.ndarray


def _continuous_vector(
    time: np.ndarray, vector: np.ndarray, b: np.ndarray, half: np.ndarray, bend: np.ndarray
) -> _ContinuousVector:
    """Return the continuous direction and signed length of a plane vector over nt times.

    Parameters
    ----------
    time : (nt,) s
    vector : (nt, 2), the vector at each time
    b : (nt - 1, 2); between two times the vector is a cos x + b sin x, with a its value at the earlier time
    half : (nt - 1,) largest x of each interval, rad
    bend : (nt - 1,) upper bound on the distance of the true path from this ellipse
    """
    a = vector[:-1]
    across = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    squares = (a**2 + b**2).sum(axis=1)
    # `across` is the product of the semi-axes of the ellipse, `squares` the sum of their squares.
    longer = np.sqrt(0.5 * (squares + np.sqrt(np.maximum(squares**2 - 4 * across**2, 0.0))))
    short = np.linalg.norm(vector, axis=1) <= SINGULAR
    narrow = np.abs(across) <= np.minimum(SINGULAR + bend, NARROW * longer) * longer
    straight = narrow | short[:-1] | short[1:]
    # At a zero of the vector, its direction is interpolated from the times before and after.
    known = np.flatnonzero(~short)
    angle = np.zeros(len(time))
    if len(known) > 0:
        start = known[:-1]
        through = straight[start] | (np.diff(known) > 1)
        direction = np.arctan2(vector[known, 1], vector[known, 0])
        initial = np.where(through, 0.0, np.sign(across[start]) * half[start])
        angle = np.interp(time, time[known], _continuous(direction, initial, np.where(through, np.pi, 2 * np.pi)))
    along = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return _ContinuousVector(angle, (vector * along).sum(axis=1), straight, (b * along[:-1]).sum(axis=1))


def _continuous(angle: np.ndarray, expected_changes: np.ndarray, period: Any = 2 * np.pi) -> np.ndarray:
    """Return angles (n,), rad, unwrapped by multiples of `period`, rad, so that they vary continuously.

    The differences of the results are as close as possible to `expected_changes` (n - 1,), rad.
    """
    step = np.diff(angle)
    return angle[0] + np.cumsum([0.0, *(step + _nearest_multiple(expected_changes - step, period))])


def _nearest_multiple(angle: Any, period: Any = 2 * np.pi) -> Any:
    """Return the multiple of `period` nearest to an angle; both are in rad."""
    return period * np.round(angle / period)


def _unit(vector: np.ndarray) -> np.ndarray:
    """Return unit vectors (n, 3) along vectors (n, 3); a zero vector gives zero."""
    length = np.linalg.norm(vector, axis=1, keepdims=True)
    return vector / np.where(length > 0, length, 1.0)
