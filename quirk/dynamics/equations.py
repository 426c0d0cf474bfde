"""Equations of motion of a whole model: applied loads, accelerations, and y' = f(t, y)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from quirk import rotation
from quirk.state import Kinematics

from .applied import exerted
from .model import Model
from .towers import MotionTower
from .udwadia_kalaba import ROUND_OFF, ConstrainedMotion, constrained_motion


def applied_loads(model: Model, t: float, kin: Kinematics) -> tuple[np.ndarray, np.ndarray]:
    """Gravity and all force elements: force (n, 3) in N, torque (n, 3) in body axes about the centres of mass."""
    force, torque = applied_derivative(model, t, MotionTower.of(kin, 1), 0, kin.angles)
    return force, np.einsum("nji,nj->ni", kin.rotation[:-1], torque)


def applied_derivative(
    model: Model, t: float, motion: MotionTower, order: int, angles: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """A derivative of the applied loads along a motion: force and torque (n, 3) about the centres of mass, in N.

    Needs the velocities of the motion to that order; `angles` as in `Kinematics`.
    """
    # The last row collects what acts on the ground.
    loads = np.zeros((len(model.mass) + 1, 6))
    for element, rows in model.forces:
        np.add.at(loads, list(rows), exerted(element, rows, motion, t, order, angles).loads[:, order])
    force, torque = loads[:-1, :3], loads[:-1, 3:]
    if order == 0:
        force = force + model.mass[:, None] * model.gravity
    return force, torque


def motion(
    model: Model,
    t: float,
    kin: Kinematics,
    baumgarte: tuple[float, float] = (0.0, 0.0),
    kept: np.ndarray | None = None,
    least: float = ROUND_OFF,
) -> ConstrainedMotion:
    """Solve the equations of motion at one state; see `constrained_motion`."""
    return constrained_motion(model, kin, t, *applied_loads(model, t, kin), baumgarte, kept, least)


def angular_acceleration(motion: ConstrainedMotion, kin: Kinematics) -> np.ndarray:
    """omega_dot = T qdd (n, 3), body axes."""
    return np.einsum("nij,nj->ni", rotation.T_matrix(kin.orientation[:-1]), motion.acceleration[:, 3:])
