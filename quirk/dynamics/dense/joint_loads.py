"""Loads of constraints from the multipliers, in the dense reference solver."""

from __future__ import annotations

from math import comb

import numpy as np

from quirk.bodies.state import Kinematics

from ..model.model import Model
from ..model.time_derivatives import PoseDerivatives
from .rows import row_derivatives


def joint_loads(
    model: Model, kin: Kinematics, t: float, multipliers: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return the load of each enabled constraint by name: force and torque (3,) of body i on body j, inertial frame.

    `multipliers` (m,) are the multipliers of all m rows at time t (s). The torque is about the origin of frame j.
    """
    force, torque = load_derivatives(model, PoseDerivatives.of(kin, 0), t, multipliers[None])
    return {name: (force[0, c], torque[0, c]) for c, name in enumerate(model.joint_rows)}


def load_derivatives(
    model: Model, motion: PoseDerivatives, t: float, multipliers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the loads of all enabled constraints, with time derivatives along a motion.

    `multipliers` (K, m) are the multipliers of m rows and their first K - 1 time derivatives; t is the time, s. Row k
    with multiplier lambda_k exerts lambda_k times its force and moment on body j; the moment is shifted from the center
    of mass to the joint point.

    Returns
    -------
    force, torque : (K, j, 3) each, on body j of each of the j enabled constraints, inertial frame
    """
    orders = len(multipliers)
    rows, R = row_derivatives(model, motion.truncated(orders - 1), t), motion.rotations(orders - 1)
    force, torque = np.zeros((2, orders, len(model.joint_bodies), 3))
    for c, (constraint, (_, j)) in enumerate(model.joint_bodies):
        mine = model.joint_rows[constraint.name]
        arm = R[j] @ constraint.frame_j.origin
        for k in range(orders):
            parts = [comb(k, m) * multipliers[k - m, mine] @ rows[mine, j, m] for m in range(k + 1)]
            wrench = np.sum(parts, axis=0)
            force[k, c] = wrench[:3]
            moved = sum(comb(k, m) * np.cross(arm[m], force[k - m, c]) for m in range(k + 1))
            torque[k, c] = wrench[3:] - moved
    return force, torque
