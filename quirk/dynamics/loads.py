"""Joint loads from multipliers."""

from __future__ import annotations

import numpy as np

from quirk.state import Kinematics

from .model import Model
from .rows import spatial_rows


def joint_loads(
    model: Model, kin: Kinematics, t: float, multipliers: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Force and torque (3,) in N that body i exerts on body j at frame j's origin, for each active joint.

    Row k with multiplier lambda_k exerts lambda_k times its force and moment on body j; the moment is
    moved from the centre of mass to the joint point.
    """
    rows = spatial_rows(model, kin, t)
    loads = {}
    for constraint, (_, j) in model.joint_bodies:
        mine = model.joint_rows[constraint.name]
        wrench = multipliers[mine] @ rows[mine, j]
        force = wrench[:3]
        arm = kin.rotation[j] @ constraint.frame_j.origin
        loads[constraint.name] = force, wrench[3:] - np.cross(arm, force)
    return loads
