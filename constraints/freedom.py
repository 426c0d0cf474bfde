"""Determination of the free coordinates of a joint.

Frame i is fixed, and the constraint rows are examined at several poses of frame j that satisfy the joint. Phi denotes
the residuals of the constraint rows.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from ..bodies import rotation
from .constraint import Joint
from .primitives import AXIS, INERTIAL, SEPARATION, Primitive
from .relation import LANES, Relation, layout_of

# Number of poses that are examined in addition to the one nearest to coincident frames, and the standard deviation of
# their random initial displacement, m and rad.
POSES, AWAY = 2, 0.3
# Largest residual, m and rad, of a pose that satisfies the joint, and maximum number of Newton steps; poses that do not
# converge are skipped.
SATISFIED, STEPS = 1e-9, 30
# Relative residual of a coordinate's gradient in the span of the rows' gradients below which it is constrained.
HELD = 1e-6


def is_constant(joint: Joint, coordinate: Relation) -> bool:
    """Whether a joint keeps a coordinate constant at all examined poses."""
    seen = False
    for number in range(1 + POSES):
        pose = _allowed_pose(joint, number)
        if pose is None:
            continue
        seen = True
        gradient, rows = _relation_rows(coordinate, *pose)[1][0], _rows(joint, *pose)[1]
        left = gradient - rows.T @ np.linalg.lstsq(rows.T, gradient, rcond=HELD)[0] if len(rows) else gradient
        if np.linalg.norm(left) > HELD * np.linalg.norm(gradient):
            return False
    return seen


@functools.lru_cache(256)
def _allowed_pose(joint: Joint, number: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Return a pose of frame j that satisfies the joint: origin (3,), m, and axes (3, 3) in frame i.

    The pose is computed by Newton's method from a pseudorandom initial guess with seed `number`; the result is None if
    the method does not converge.
    """
    d, turn = (AWAY if number else 0.0) * np.random.default_rng(number).normal(size=(2, 3))
    R = rotation.matrix(rotation.exp(turn))
    for _ in range(STEPS):
        phi, rows = _rows(joint, d, R)
        if np.abs(phi).max(initial=0.0) < SATISFIED:
            return d, R
        step = np.linalg.lstsq(rows, -phi, rcond=HELD)[0]
        d, R = d + step[:3], rotation.matrix(rotation.exp(step[3:])) @ R
    return None


def _rows(joint: Joint, d: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the residuals Phi (m,) of a joint with m rows, and their gradient (m, 6).

    The gradient is with respect to displacements and rotations of frame j, in the axes of frame i. `d` (3,), m, and `R`
    (3, 3) are the origin and axes of frame j in frame i.
    """
    parts = [
        _relation_rows(one, d, R) if isinstance(one, Relation) else _primitive_rows(one, d, R)
        for one in joint.primitives
        if not (isinstance(one, Relation) and one.of_velocities)
    ]
    return (
        np.concatenate([np.zeros(0), *(phi for phi, _ in parts)]),
        np.concatenate([np.zeros((0, 6)), *(rows for _, rows in parts)]),
    )


def _primitive_rows(primitive: Primitive, d: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    of_x, of_y = primitive.factors
    x = {INERTIAL: np.eye(3), AXIS: np.eye(3)[[primitive.axis_i]], SEPARATION: d[None]}[of_x]
    y = R[:, primitive.axis_j] if of_y == AXIS else d
    none = np.zeros_like(x)
    displacements = (y if of_x == SEPARATION else none) + (x if of_y == SEPARATION else none)
    return x @ y - primitive.offset, np.hstack([displacements, np.cross(y, x) if of_y == AXIS else none])


def _relation_rows(relation: Relation, d: np.ndarray, R: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    layout = layout_of(relation, 2, 1)
    parts: list[Sequence[float] | np.ndarray] = [relation.numbers]
    # Motions at t = 0, or at the nearest time for which they are defined.
    parts += [motion.derivatives(float(np.clip(0.0, motion.start, motion.end)), 1) for motion in relation.motions]
    here = np.concatenate([np.zeros(3), np.eye(3).ravel()])
    for origin, axes in ((np.zeros(3), np.eye(3)), (d, R)):
        parts += [here, origin, np.zeros(3), axes.ravel(), np.zeros(3)]
    outputs = np.zeros(layout.outputs)
    relation.fill(layout, False, 0.0, np.concatenate(parts), outputs)
    rows = outputs[layout.first_gradient :].reshape(layout.rows, 2, LANES)[:, 1, :6]
    return outputs[: layout.first_gradient : 2], rows
