"""Return types of a system's methods at one state: accelerations, loads and derivatives."""

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
    linear : (n, 3) accelerations of the centers of mass, in the inertial frame, m/s^2
    angular : (n, 3) rates of the angular velocities, in body axes, rad/s^2
    quaternion : (n, 4) second time derivatives of the orientations, 1/s^2
    """

    linear: np.ndarray
    angular: np.ndarray
    quaternion: np.ndarray


@explained
@dataclass(frozen=True)
class ConstraintForces:
    """Sum of all constraint loads on each of n bodies, the vector Q_c of the Udwadia-Kalaba equation.

    Attributes
    ----------
    force : (n, 3) N, in the inertial frame
    torque : (n, 3) N m, about the centers of mass, in body axes
    generalized : (7 n,) Q_c conjugate to position and quaternion (r, q) of each body, with M xdd = Q + Q_c; it includes
        the load of the constraint ``|q| = 1``
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
    force : (3,) N; or (K, 3), the force and its first K - 1 time derivatives
    torque : (3,) N m; or (K, 3), the torque and its first K - 1 time derivatives
    """

    force: np.ndarray
    torque: np.ndarray


@explained
@dataclass(frozen=True)
class MotionDerivatives:
    """Accelerations, jerk, snap and further time derivatives of n bodies, with joint loads.

    K is the number of derivatives of the velocities.

    Attributes
    ----------
    linear : (K, n, 3) acceleration of the centers of mass, jerk, snap, ..., in the inertial frame, m/s^2, m/s^3, ...
    angular : (K, n, 3) first, second, ... time derivatives of the components of the angular velocities in body axes
    multipliers : (K, m) multipliers of the m constraint rows, and their first K - 1 time derivatives
    loads : joint loads by name of the constraint; `force` and `torque` are (K, 3), with K - 1 time derivatives
    """

    linear: np.ndarray
    angular: np.ndarray
    multipliers: np.ndarray
    loads: dict[str, JointLoad]


@explained
@dataclass(frozen=True)
class VirtualWork:
    """Work of all loads along virtual displacements, J.

    Each value is a scalar for one displacement, or an array (k,) for k displacements.

    Attributes
    ----------
    applied : work by name of force element, and of "gravity"
    constraints : work by name of active constraint; for ideal constraints the sum along allowed displacements is zero
    """

    applied: dict[str, np.ndarray]
    constraints: dict[str, np.ndarray]

    @property
    def total(self) -> np.ndarray:
        """Work of all applied loads, J.

        The works along the displacements of a basis are the generalized forces in the coordinates of the basis.
        """
        return np.sum(list(self.applied.values()), axis=0)

    @property
    def of_constraints(self) -> np.ndarray:
        """Work of the loads of all active constraints, J."""
        return np.sum([np.zeros_like(self.total), *self.constraints.values()], axis=0)
