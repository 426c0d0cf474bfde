"""Rotations as plain float arrays.

Quaternions are scalar-first (w, x, y, z), in Hamilton's convention, and map body to inertial vectors:
v_N = R(q) v_B. All functions broadcast over leading dimensions.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..util import validate

# Accepted deviation of R R^T from 1, for matrices typed with rounded digits.
ROUNDED = 1e-6


class _SciPyRotation(Protocol):
    def as_quat(self) -> Any: ...


class _Quaternion(Protocol):
    @property
    def components(self) -> Any: ...


# Types that `as_orientation` accepts.
OrientationLike = ArrayLike | _SciPyRotation | _Quaternion

IDENTITY = np.array([1.0, 0.0, 0.0, 0.0])

# Index of the component of q in each entry of T(q), and its factor.
_T_COMPONENT = np.array([[1, 0, 3, 2], [2, 3, 0, 1], [3, 2, 1, 0]])
_T_FACTOR = 2.0 * np.array([[-1, 1, 1, -1], [-1, -1, 1, 1], [-1, 1, -1, 1]])


def _components(v: np.ndarray) -> list[np.ndarray]:
    return [v[..., k] for k in range(v.shape[-1])]


def as_orientation(owner: str, argument: str, value: Any) -> np.ndarray:
    """Return an orientation as a unit quaternion (4,).

    `value` is 4 floats (w, x, y, z), a `quaternion.quaternion`, a `scipy.spatial.transform.Rotation` or a rotation
    matrix (3, 3); 4 floats are normalized. Other values raise an InputError, in which `owner` and `argument` name the
    object and its argument.
    """
    if hasattr(value, "as_quat"):  # scipy's Rotation, scalar-last
        value = np.roll(value.as_quat(), 1, axis=-1)
    elif hasattr(value, "components"):  # numpy-quaternion's scalar type
        value = value.components
    elif isinstance(value, np.ndarray) and value.dtype.kind == "V" and value.dtype.name == "quaternion":  # its arrays
        import quaternion

        value = quaternion.as_float_array(value)
    given = validate.numbers(value)
    if given is not None and given.shape == (3, 3):
        return from_matrix(_checked_matrix(owner, argument, validate.array(owner, argument, value, (3, 3))))
    if given is not None and given.shape != (4,):
        raise InputError(
            f"{owner}: {argument} must have shape (4,), a quaternion, or (3, 3), a matrix; got shape {given.shape}: "
            f"{value!r}"
        )
    q = validate.array(owner, argument, value if given is None else given, (4,))
    largest = np.abs(q).max()
    if largest < validate.ZERO_LENGTH:
        raise InputError(
            f"{owner}: {argument} must be a rotation; got the quaternion {q.tolist()}; no rotation is (1, 0, 0, 0)"
        )
    q /= largest  # so that the norm of very large numbers does not overflow
    return q / np.linalg.norm(q)


def _checked_matrix(owner: str, argument: str, R: np.ndarray) -> np.ndarray:
    """Return a matrix (3, 3) if it is a rotation up to rounding; otherwise raise an InputError."""
    error = float(np.abs(R @ R.T - np.eye(3)).max())
    if not error <= ROUNDED:
        raise InputError(
            f"{owner}: {argument} must be a rotation matrix; the largest entry of R R^T - 1 is {error:.3g}: columns "
            "must be orthogonal unit vectors"
        )
    if np.linalg.det(R) < 0:
        raise InputError(
            f"{owner}: {argument} must be a rotation matrix; this one mirrors: change the sign of a column"
        )
    return R


def unit(q: np.ndarray) -> np.ndarray:
    """Return quaternions (..., 4) divided by their norms."""
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


def skew(v: np.ndarray) -> np.ndarray:
    """Return the cross-product matrices (..., 3, 3) of vectors (..., 3): skew(a) @ b = a x b."""
    x, y, z = _components(np.asarray(v, dtype=float))
    zero = np.zeros_like(x)
    return np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)


def matrix(q: np.ndarray) -> np.ndarray:
    """Return the direction-cosine matrices (..., 3, 3) of unit quaternions (..., 4): v_N = R v_B."""
    if q.ndim == 1:  # numpy's arithmetic on single numbers takes ten times as long as Python's
        return np.array(_entries(*q.tolist())).reshape(3, 3)
    w, x, y, z = _components(q)
    return np.stack(_entries(w, x, y, z), axis=-1).reshape(*w.shape, 3, 3)


def _entries(w: Any, x: Any, y: Any, z: Any) -> list[Any]:
    """Return the nine entries, row by row, of the direction-cosine matrix of a unit quaternion (w, x, y, z)."""
    return [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip


def from_matrix(R: np.ndarray) -> np.ndarray:
    """Return the unit quaternion (4,), w >= 0, of a direction-cosine matrix (3, 3).

    The quaternion is the eigenvector to the largest eigenvalue of a symmetric matrix (Bar-Itzhack, J. Guid. Control
    Dyn. 23 (2000)). The method needs no case distinction, and gives the nearest rotation if R has round-off.
    """
    trace, difference = np.trace(R), R - R.T
    K = np.empty((4, 4))
    K[0, 0] = trace
    K[0, 1:] = K[1:, 0] = difference[2, 1], difference[0, 2], difference[1, 0]
    K[1:, 1:] = R + R.T - trace * np.eye(3)
    q = np.linalg.eigh(K)[1][:, -1]
    return q if q[0] >= 0 else -q


def multiply(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return the Hamilton products (..., 4) of quaternions (..., 4): R(multiply(p, q)) = R(p) R(q)."""
    if p.ndim == q.ndim == 1:
        return np.array(_product(*p.tolist(), *q.tolist()))
    return np.stack(_product(*_components(p), *_components(q)), axis=-1)


def _product(pw: Any, px: Any, py: Any, pz: Any, qw: Any, qx: Any, qy: Any, qz: Any) -> list[Any]:
    """Return the four components of the Hamilton product of p = (pw, px, py, pz) and q = (qw, qx, qy, qz)."""
    return [
        pw * qw - px * qx - py * qy - pz * qz,
        pw * qx + px * qw + py * qz - pz * qy,
        pw * qy - px * qz + py * qw + pz * qx,
        pw * qz + px * qy - py * qx + pz * qw,
    ]


def conjugate(q: np.ndarray) -> np.ndarray:
    """Return the conjugates (..., 4) of quaternions (..., 4); for unit quaternions they are the inverse rotations."""
    return np.asarray(q) * np.array([1.0, -1.0, -1.0, -1.0])


def exp(rotation_vector: np.ndarray) -> np.ndarray:
    """Return the unit quaternions (..., 4) of rotation vectors (..., 3), rad."""
    half = 0.5 * np.asarray(rotation_vector, dtype=float)
    angle = np.linalg.norm(half, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle), np.sinc(angle / np.pi) * half], axis=-1)


def log(q: np.ndarray) -> np.ndarray:
    """Return the rotation vectors (..., 3), rad, of unit quaternions (..., 4); their lengths are at most pi."""
    q = np.where(q[..., :1] < 0, -q, q)
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    half = np.arctan2(sine, q[..., :1])
    return 2 * q[..., 1:] / np.sinc(half / np.pi)


def T_matrix(q: np.ndarray) -> np.ndarray:
    """Return the matrix T (..., 3, 4) of omega = T(q) qdot, with the angular velocity omega in body axes.

    T = 2 [-q_v, w I - q_v^x]. Because dT/dt qdot = 0, also omega_dot = T(q) qddot.
    """
    return q[..., _T_COMPONENT] * _T_FACTOR


def rate(q: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """Return the quaternion rates qdot = T(q)^T omega / 4 (..., 4), with omega in body axes."""
    return 0.25 * np.einsum("...ij,...i->...j", T_matrix(q), omega)


def angles_123(R: np.ndarray) -> np.ndarray:
    """Return the body-fixed 1-2-3 angles (..., 3), rad, of rotation matrices (..., 3, 3).

    R = R_x(a) R_y(b) R_z(c), with b in [-pi/2, pi/2]. At gimbal lock, b = +-pi/2, only a +- c is determined; a is then
    computed by the same formula, and c is chosen for this a, so that the three angles still give R.
    """
    b = np.arctan2(R[..., 0, 2], np.hypot(R[..., 0, 0], R[..., 0, 1]))
    a = np.arctan2(-R[..., 1, 2], R[..., 2, 2])
    # Undo the rotation a before computing c: well defined even if cos b vanishes.
    sine, cosine = np.sin(a), np.cos(a)
    c = np.arctan2(
        cosine * R[..., 1, 0] + sine * R[..., 2, 0],
        cosine * R[..., 1, 1] + sine * R[..., 2, 1],
    )
    return np.stack([a, b, c], axis=-1)
