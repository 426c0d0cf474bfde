"""Distribution of loads over dependent rows of contacts and friction, in the dense reference solver.

This module is the reference for `quirk.dynamics.sparse.kernels.shared_rows`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quirk.bodies.state import Kinematics
from quirk.forces.friction import NORMAL, Friction

from ..model.applied_loads import exerted
from ..model.constrained_motion import ConstrainedMotion
from ..model.model import Model
from ..model.time_derivatives import PoseDerivatives
from .joint_loads import joint_loads


def share_of(
    friction: Friction, model: Model, t: float, kin: Kinematics, motion: Callable[[np.ndarray], ConstrainedMotion]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows (k,) whose multipliers determine the normal load of a friction element, and their weights (k, l).

    The weighted sum of these multipliers is the normal load of a contact, l = 1, or the difference of force and torque
    of a joint, l = 6, axes of body i, from those of the run. `motion` returns the motion due to additional loads
    (n, 6), inertial frame, at time t (s) and the poses `kin`.
    """
    shared, known = friction.shares.rows, model.joint_rows
    if shared is None:
        shares = [(known[name].start + row, of) for name, row, of in friction.shares.terms if name in known]
        width = 1 if friction.takes == NORMAL else 6
        return np.array([row for row, _ in shares], dtype=np.int64), np.reshape([of for _, of in shares], (-1, width))
    kept = np.array([known[name].start + row for name, row in shared.kept])
    number = {name: k for k, name in enumerate(model.body_names)}
    base, poses = motion(np.zeros((len(number), 6))), PoseDerivatives.of(kin, 1)
    changes = []
    for one in shared.left_out:
        bodies = tuple(number.get(body.name, len(number)) for body, _ in one.law.ends)
        unit = exerted(one.law, bodies, poses, t, 0, kin.angles, kin.internal)
        loads = np.zeros((len(number) + 1, 6))
        np.add.at(loads, list(bodies), unit.loads[:, 0])
        changes.append(motion(loads[:-1]).multipliers - base.multipliers)
    null, d = np.array(changes).T, len(changes)
    whole = np.vstack([null[kept], np.eye(d)])
    C = np.array(shared.compliance)
    redistributed = -np.linalg.solve(whole.T @ (C[:, None] * whole), whole[: len(kept)].T * C[: len(kept)])
    if friction.takes == NORMAL:
        weights = np.vstack([np.eye(len(kept)), np.zeros((d, len(kept)))]) + whole @ redistributed
        return kept, weights[friction.shares.row][:, None]
    body, _ = friction.ends[0]
    R = kin.rotation[number[body.name]] if body.name in number else np.eye(3)
    of_joint = [np.ravel(np.array(joint_loads(model, kin, t, way)[friction.on.name]) @ R) for way in null.T]
    return kept, (np.array(of_joint).T @ redistributed).T
