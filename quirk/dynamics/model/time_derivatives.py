"""Poses of bodies at one instant with their time derivatives of any order K.

Angular velocities omega and their derivatives are in the inertial frame, because they determine the derivatives of
vectors fixed in bodies (`quirk.constraints.time_derivatives`). User interfaces have angular velocities omega_b and
their derivatives in body axes, which follow from omega = R omega_b by Leibniz' rule. A jet is a number with time
derivatives and a gradient.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from quirk.autodiff.jet import Jet
from quirk.bodies import rotation
from quirk.bodies.state import Kinematics


@dataclass(frozen=True)
class PoseDerivatives:
    """Poses of n bodies and of the ground, with K time derivatives; the ground is the last row of every array.

    Attributes
    ----------
    position : (n + 1, K + 1, 3) inertial frame
    orientation : (n + 1, 4) unit quaternions
    rotation : (n + 1, 3, 3) body axes to inertial frame
    spin : (n + 1, K, 3) angular velocities and their derivatives, inertial frame
    """

    position: np.ndarray
    orientation: np.ndarray
    rotation: np.ndarray
    spin: np.ndarray

    @property
    def order(self) -> int:
        """Number K of time derivatives of the positions."""
        return self.position.shape[1] - 1

    @classmethod
    def of(cls, kin: Kinematics, order: int) -> PoseDerivatives:
        """Return the motion from a state with constant linear and angular velocities in the inertial frame.

        `kin` is the state, and `order` the number K of time derivatives.
        """
        position = np.zeros((len(kin.position), order + 1, 3))
        spin = np.zeros((len(kin.position), max(order, 1), 3))
        position[:, 0], spin[:, 0] = kin.position, kin.spin
        position[:, 1:2] = kin.velocity[:, None][:, :order]
        return cls(position, kin.orientation, kin.rotation, spin)

    @classmethod
    def in_body_axes(cls, position: np.ndarray, orientation: np.ndarray, omega: np.ndarray) -> PoseDerivatives:
        """Return a motion of n bodies from their poses and from angular velocities in body axes.

        Positions (n, K + 1, 3) and angular velocities (n, K, 3) include time derivatives; orientations are (n, 4).
        """
        spin = np.zeros_like(omega)
        result = cls(position, orientation, rotation.matrix(orientation), spin)
        for k in range(spin.shape[1]):
            spin[:, k] = _product(result.rotations(k), omega, k)
        return result

    def truncated(self, order: int) -> PoseDerivatives:
        """Return this motion with at most `order` time derivatives."""
        spin = self.spin[:, : max(order, 1)]
        return PoseDerivatives(self.position[:, : order + 1], self.orientation, self.rotation, spin)

    def points(self, local: np.ndarray) -> np.ndarray:
        """Return the position (n, K + 1, 3) of a point fixed in each body, with time derivatives.

        The result is in the inertial frame, m; `local` are the coordinates of the point in body axes, m.
        """
        return self.position + self.rotations(self.order) @ local

    def rotations(self, order: int) -> np.ndarray:
        """Return the rotation matrices R and their time derivatives (n + 1, order + 1, 3, 3).

        The attribute `spin` must have at least order - 1 derivatives.
        """
        R = np.zeros((len(self.rotation), order + 1, 3, 3))
        R[:, 0] = self.rotation
        for k in range(order):
            for m in range(k + 1):
                # The columns of R are fixed in the body: R' = omega x R.
                R[:, k + 1] += comb(k, m) * np.cross(self.spin[:, m, :, None], R[:, k - m], axis=1)
        return R

    def jets(self, order: int) -> Kinematics:
        """Return this motion as `Kinematics` whose components are jets, numbers with time derivatives.

        The velocities must have at least `order` derivatives.
        """
        R, spin, body = self.rotations(order), self.spin[:, : order + 1], self.body_spins(order)
        q = np.zeros((len(R), order + 1, 4))
        q[:, 0] = self.orientation
        for k in range(order):
            parts = [comb(k, m) * rotation.rate(q[:, m], body[:, k - m]) for m in range(k + 1)]
            q[:, k + 1] = np.sum(parts, axis=0)
        moving = self.position[:, : order + 2]
        return Kinematics(
            position=_jets(moving[:, :-1]),
            orientation=_jets(q),
            velocity=_jets(moving[:, 1:]),
            angular_velocity=_jets(body),
            rotation=_jets(R),
            spin=_jets(spin),
        )

    def body_spins(self, order: int) -> np.ndarray:
        """Return the angular velocities in body axes and the derivatives of their components, (n + 1, order + 1, 3)."""
        back = np.swapaxes(self.rotations(order), 2, 3)
        return np.stack([_product(back, self.spin, k) for k in range(order + 1)], axis=1)


def _product(matrices: np.ndarray, vectors: np.ndarray, k: int) -> np.ndarray:
    """Return the time derivative of order k (n, 3) of products of matrices and vectors.

    `matrices` (n, K + 1, 3, 3) and `vectors` (n, K + 1, 3) include the time derivatives, by order along axis 1.
    """
    parts = [comb(k, m) * np.einsum("nij,nj->ni", matrices[:, m], vectors[:, k - m]) for m in range(k + 1)]
    return np.sum(parts, axis=0)


def _jets(derivatives: np.ndarray) -> np.ndarray:
    """Return an array (n, ...) of jets from values with time derivatives (n, K + 1, ...)."""
    series = np.moveaxis(derivatives, 1, -1) / factorials(derivatives.shape[1] - 1)
    jets = np.empty(series.shape[:-1], dtype=object)
    for place in np.ndindex(*jets.shape):
        jets[place] = Jet(series[place].tolist(), [])
    return jets


def factorials(order: int) -> np.ndarray:
    """Return 0!, 1!, ... order! as an array (order + 1,)."""
    return np.cumprod([1.0, *range(1, order + 1)])
