"""Results of a system's methods at one state: accelerations, loads and derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..util.misuse import explained


@explained
@dataclass(frozen=True)
class Acceleration:
    """Accelerations of n bodies.

    Attributes
    ----------
    linear : (n, 3) of the centers of mass, in the inertial frame, m/s^2
    angular : (n, 3) rate of the angular velocity, body axes, rad/s^2
    quaternion : (n, 4) second derivative of the orientation, 1/s^2
    """

    linear: np.ndarray
    angular: np.ndarray
    quaternion: np.ndarray


@explained
@dataclass(frozen=True)
class ConstraintForces:
    """Sum of all constraint loads on each of n bodies: Q_c of the Udwadia-Kalaba equation.

    Attributes
    ----------
    force : (n, 3) newton, in the inertial frame
    torque : (n, 3) newton meter, about the centers of mass, in body axes
    generalized : (7 n,) Q_c over (r, q) of each body, with M xdd = Q + Q_c; includes the part that keeps ``|q| = 1``
    """

    force: np.ndarray
    torque: np.ndarray
    generalized: np.ndarray


@explained
@dataclass(frozen=True)
class JointLoad:
    """Load that body i exerts on body j at the joint point of body j, in the inertial frame.

    Attributes
    ----------
    force : (3,) newton; or (K, 3), with K - 1 derivatives
    torque : (3,) newton meter; or (K, 3)
    """

    force: np.ndarray
    torque: np.ndarray


@explained
@dataclass(frozen=True)
class MotionDerivatives:
    """Accelerations, jerk, snap and higher derivatives of n bodies, with joint loads and their derivatives.

    Attributes
    ----------
    linear : (K, n, 3) acceleration of the centers of mass, jerk, snap, ..., in the inertial frame
    angular : (K, n, 3) first, second, ... derivatives of the angular velocities' components in body axes
    multipliers : (K, m) of the constraint rows, with their derivatives
    loads : by name of constraint; `force` and `torque` (K, 3), in the inertial frame, with their derivatives
    """

    linear: np.ndarray
    angular: np.ndarray
    multipliers: np.ndarray
    loads: dict[str, JointLoad]


@explained
@dataclass(frozen=True)
class VirtualWork:
    """Work, J, of all loads along one virtual displacement, one number each, or (k,) along k of them.

    Attributes
    ----------
    applied : by name, of each force element and of "gravity"
    constraints : by name, of each active constraint; for ideal constraints the sum along allowed displacements is zero
    """

    applied: dict[str, np.ndarray]
    constraints: dict[str, np.ndarray]

    @property
    def total(self) -> np.ndarray:
        """Work of all applied loads; along a basis of virtual displacements these are the generalized forces."""
        return np.sum(list(self.applied.values()), axis=0)

    @property
    def of_constraints(self) -> np.ndarray:
        """Work of all constraint loads."""
        return np.sum([np.zeros_like(self.total), *self.constraints.values()], axis=0)
