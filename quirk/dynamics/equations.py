"""Equations of motion of a whole model: applied loads, accelerations, and y' = f(t, y)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from quirk import rotation
from quirk.constraints.jets import Jet
from quirk.forces.element import Wrenches
from quirk.state import Kinematics

from .model import Model
from .towers import MotionTower, factorials
from .udwadia_kalaba import ROUND_OFF, ConstrainedMotion, constrained_motion


def applied_loads(model: Model, t: float, kin: Kinematics) -> tuple[np.ndarray, np.ndarray]:
    """Gravity and all force elements: force (n, 3) in N, torque (n, 3) in body axes about the centres of mass."""
    loads = Wrenches(len(model.mass))
    loads.force[:-1] = model.mass[:, None] * model.gravity
    for element, rows in model.forces:
        element.add_load(t, kin, rows, loads)
    return loads.force[:-1], np.einsum("nji,nj->ni", kin.rotation[:-1], loads.torque[:-1])


def applied_derivative(
    model: Model, t: float, motion: MotionTower, order: int, angles: Mapping[str, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """A derivative of the applied loads along a motion: force and torque (n, 3) about the centres of mass, in N.

    Needs the velocities of the motion to that order; `angles` as in `Kinematics`.
    """
    n = len(model.mass)
    loads = Wrenches(n, object)
    if model.forces:
        kin, time = replace(motion.jets(order), angles=angles), Jet([t, 1.0, *[0.0] * order][: order + 1], [])
        for element, rows in model.forces:
            element.add_load(time, kin, rows, loads)
    constant = Jet([0.0] * (order + 1), [])
    factor = factorials(order)[-1]

    def derivative(load: np.ndarray) -> np.ndarray:
        return np.array([[factor * (constant + x).taylor[order] for x in row] for row in load[:-1]], dtype=float)

    force, torque = derivative(loads.force), derivative(loads.torque)
    if order == 0:
        force += model.mass[:, None] * model.gravity
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
