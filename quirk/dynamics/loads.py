"""Joint loads from multipliers."""

from __future__ import annotations

import numpy as np

from quirk.state import Kinematics

from .model import Model
from .rows import wrenches


def joint_loads(model: Model, kin: Kinematics, multipliers: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Force and torque (3,) in N that body i exerts on body j at frame j's origin, for each active joint.

    Row k with multiplier lambda_k exerts lambda_k times its force and moment on body j; the moment is
    moved from the centre of mass to the joint point.
    """
    wrench = multipliers[:, None, None] * wrenches(model, kin)
    loads = {}
    for name, rows in model.joint_rows.items():
        force = wrench[rows, 0].sum(axis=0)
        torque = wrench[rows, 2].sum(axis=0)
        if rows.stop > rows.start:
            primitive = np.searchsorted(model.table.row, rows.start, side="right") - 1
            j = model.table.body[primitive, 1]
            arm = kin.rotation[j] @ model.table.arm[primitive, 1]
            torque = torque - np.cross(arm, force)
        loads[name] = force, torque
    return loads
