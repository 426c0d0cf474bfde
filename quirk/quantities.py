"""What a system tells of one state."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Acceleration:
    """Accelerations of n bodies.

    Attributes
    ----------
    linear : (n, 3) of the centres of mass in N, m/s^2
    angular : (n, 3) rate of the angular velocity, body axes, rad/s^2
    quaternion : (n, 4) second derivative of the orientation, 1/s^2
    """

    linear: np.ndarray
    angular: np.ndarray
    quaternion: np.ndarray


@dataclass(frozen=True)
class ConstraintForces:
    """What all constraints together exert on each of n bodies: Q_c of the Udwadia-Kalaba equation.

    Attributes
    ----------
    force : (n, 3) N, in N
    torque : (n, 3) N m, about the centres of mass in body axes
    generalized : (7 n,) Q_c over (r, q) of each body, so that M xdd = Q + Q_c; what holds |q| = 1 included
    """

    force: np.ndarray
    torque: np.ndarray
    generalized: np.ndarray


@dataclass(frozen=True)
class JointLoad:
    """What body i exerts on body j at the joint point of body j: `force` and `torque`, both in N.

    (3,) each, or (K, 3) with derivatives.
    """

    force: np.ndarray
    torque: np.ndarray


@dataclass(frozen=True)
class MotionDerivatives:
    """Accelerations of n bodies, jerk, snap and so on, with joint loads and their derivatives.

    Attributes
    ----------
    linear : (K, n, 3) acceleration of the centres of mass in N, jerk, snap, ...
    angular : (K, n, 3) first, second, ... derivatives of the angular velocities' components in body axes
    multipliers : (K, m) of the constraint rows, with their derivatives
    loads : by constraint; force and torque (K, 3) in N, with their derivatives
    """

    linear: np.ndarray
    angular: np.ndarray
    multipliers: np.ndarray
    loads: dict[str, JointLoad]
