"""Relative angles of two moving frames, for constraints and force laws.

The components of a moving frame's position and rotation matrix are jets: numbers that carry their time derivatives and
their gradient with respect to body poses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..autodiff.jet import Jet, where
from .primitives import X, Y, Z
from .relative import crossed

if TYPE_CHECKING:
    from .constraint import Constraint

# An angle is halved HALVINGS times, then computed from its tangent by a power series of TERMS terms. The result is
# accurate to round-off for angles up to pi.
HALVINGS, TERMS = 4, 9


def twist(i: Any, j: Any, axis: int) -> Jet:
    """Return the rotation angle (rad), in (-pi, pi], of frame j relative to frame i about the common axis X, Y or Z.

    If the axes of the two frames are not exactly aligned, the result is the twist component of the rotation about the
    axis.
    """
    a, b = (axis + 1) % 3, (axis + 2) % 3
    x_i, y_i, x_j, y_j = i.rotation[:, a], i.rotation[:, b], j.rotation[:, a], j.rotation[:, b]
    return (y_i @ x_j - x_i @ y_j).arctan2(x_i @ x_j + y_i @ y_j)


def angles_123(i: Any, j: Any) -> tuple[Jet, Jet, Jet]:
    """Return the three 1-2-3 angles (rad) of frame j relative to frame i (notes on inter-body joints, eqs. 19-22)."""
    R = i.rotation.T @ j.rotation
    return (-R[1, 2]).arctan2(R[2, 2]), R[0, 2].arcsin(), (-R[0, 1]).arctan2(R[0, 0])


def cross_angle(i: Any, j: Any, axis: int) -> Jet:
    """Return an angle (rad) of a universal joint: about x of frame i for `axis` X, about y of frame j for `axis` Y.

    x of frame i and y of frame j are perpendicular. The gradient of the angle with respect to small relative rotations
    is the unit vector along its axis.
    """
    if axis == X:
        y = j.rotation[:, Y]
        return (i.rotation[:, Z] @ y).arctan2(i.rotation[:, Y] @ y)
    x = i.rotation[:, X]
    return (j.rotation[:, Z] @ x).arctan2(j.rotation[:, X] @ x)


def free_angle(i: Any, j: Any, axis: int, of_three: bool) -> Jet:
    """Return the rotation angle (rad) of frame j relative to frame i about an axis.

    The angle is one of the 1-2-3 angles if `of_three` is true, otherwise the twist about the axis.
    """
    return angles_123(i, j)[axis] if of_three else twist(i, j, axis)


def counts_turns(constraint: Constraint, axis: int) -> bool:
    """Whether the relative angle of a constraint about `axis` (X, Y or Z) can exceed a turn, and is counted over turns.

    This holds for the first and third 1-2-3 angle, and for both angles of a universal joint.
    """
    return axis != (Z if crossed(constraint) else Y)


def gradients_123(x: np.ndarray, z: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gradients (3,) of the three 1-2-3 angles with respect to small relative rotations.

    `x` is the x axis of frame i and `z` the z axis of frame j, (3,) each, in the inertial frame. The product of a
    gradient with the relative angular velocity is the rate of the angle, rad/s.
    """
    y = np.cross(z, x)  # axis perpendicular to both, times the cosine of the second angle
    first, third = np.cross(y, z), np.cross(x, y)
    return first / (first @ x), y / np.sqrt(y @ y), third / (third @ z)


def rates_123(x: np.ndarray, z: np.ndarray, spin: np.ndarray) -> tuple[Jet, Jet, Jet]:
    """Return the rates (rad/s) of the three 1-2-3 angles of frame j relative to frame i.

    `x` is the x axis of frame i, `z` the z axis of frame j and `spin` the relative angular velocity (rad/s), (3,) each,
    in the inertial frame.
    """
    first, second, third = gradients_123(x, z)
    return first @ spin, second @ spin, third @ spin


def rotation_123(angles: Any) -> np.ndarray:
    """Return the rotation matrix (3, 3) for three 1-2-3 angles, rad, which may be jets or floats."""
    R: Any = np.eye(3, dtype=object)
    for axis, angle in enumerate(angles):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        turn = np.zeros((3, 3), dtype=object)
        cosine, sine = np.cos(angle), np.sin(angle)
        turn[axis, axis], turn[a, a], turn[b, b], turn[b, a], turn[a, b] = 1.0, cosine, cosine, sine, -sine
        R = R @ turn
    return R


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """Return the rotation vector (3,), rad, of a rotation matrix (3, 3) with an angle below pi.

    The function is smooth at zero. At the angle pi the result is NaN, because the axis is determined only up to its
    sign.
    """
    return _vector_and_bend(R)[0]


def relative_rotation_vector(i: Any, j: Any) -> np.ndarray:
    """Return the rotation vector (3,), rad, of frame j relative to frame i, in the axes of frame i.

    Its derivatives with respect to the poses use the closed form of the inverse differential of the exponential map: a
    small rotation d in the axes of i changes the rotation vector v by d - v x d / 2 + c v x (v x d), where c is a
    function of the angle.
    """
    bare = np.vectorize(lambda jet: jet.bare, otypes=[object])
    axes = bare(i.rotation).T
    x, bend = _vector_and_bend(axes @ bare(j.rotation))
    turn = axes @ (j.small_turn - i.small_turn)
    across = np.cross(x, turn)
    return x + turn - 0.5 * across + bend * np.cross(x, across)


def _vector_and_bend(R: np.ndarray) -> tuple[np.ndarray, Any]:
    """Return the rotation vector (3,), rad, of a rotation matrix (3, 3), and the coefficient c of its derivative.

    c is the factor of v x (v x d) in the change of a rotation vector v by a small rotation d. For a rotation by 2 h, c
    = (1 - h cot(h)) / (2 h)^2, which is 1/12 at h = 0.
    """
    # With the axis a: sin(angle) a, then tan(angle/4) a. Each halving of the angle maps m to m / (1 + sqrt(1 + m^2)).
    sine = np.array([0.5 * (R[(k + 2) % 3, (k + 1) % 3] - R[(k + 1) % 3, (k + 2) % 3]) for k in range(3)])
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    # cos(angle/2); for large angles computed from the sine, which is accurate there.
    w = where(trace > 0.0, 0.5 * np.sqrt(1.0 + trace), np.sqrt((sine @ sine) / (3.0 - trace)))
    scale = 0.5 / (w * (1.0 + w))
    square = (sine @ sine) * scale * scale
    tangents = [scale]
    for _ in range(HALVINGS - 2):
        half = 1.0 / (1.0 + np.sqrt(1.0 + square))
        scale, square = scale * half, square * half * half
        tangents.append(scale)
    # arctan(m) / m = 1 - m^2 rest
    rest: Any = 0.0
    for k in reversed(range(1, TERMS)):
        rest = 1.0 / (2 * k + 1) - square * rest
    series = 1.0 - square * rest
    whole = scale * series * 2.0**HALVINGS
    # (1 - u cot(u)) / u^2 of a sixteenth of the angle; its value at 2 u is (value at u + tan(u) / u) / 4.
    found, inverse = rest / (series * series), 1.0 / whole
    for k, tangent in enumerate(reversed(tangents)):
        found = 0.25 * found + 2.0 ** (HALVINGS - 2 - k) * tangent * inverse
    return sine * whole, 0.25 * found
