"""A motion at one instant: poses together with their derivatives of any order.

Spins are towers in N, from which everything fixed in a body follows (`quirk.constraints.tower`); users see angular
velocities and their derivatives in body axes. With omega = R omega_b, both are related by Leibniz' rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from quirk.autodiff.jet import Jet
from quirk.bodies import rotation
from quirk.bodies.state import Kinematics


@dataclass(frozen=True)
class MotionTower:
    """Poses of n bodies and of the ground, the last row of every array, with K derivatives.

    Attributes
    ----------
    position : (n + 1, K + 1, 3) in N
    orientation : (n + 1, 4) unit quaternions
    rotation : (n + 1, 3, 3) body to inertial
    spin : (n + 1, K, 3) angular velocities in N
    """

    position: np.ndarray
    orientation: np.ndarray
    rotation: np.ndarray
    spin: np.ndarray

    @property
    def order(self) -> int:
        """Number K of derivatives of the positions."""
        return self.position.shape[1] - 1

    @classmethod
    def of(cls, kin: Kinematics, order: int) -> MotionTower:
        """Return the motion of bodies at a state that keep their velocities and the spins in N."""
        position = np.zeros((len(kin.position), order + 1, 3))
        spin = np.zeros((len(kin.position), max(order, 1), 3))
        position[:, 0], spin[:, 0] = kin.position, kin.spin
        position[:, 1:2] = kin.velocity[:, None][:, :order]
        return cls(position, kin.orientation, kin.rotation, spin)

    @classmethod
    def in_body_axes(cls, position: np.ndarray, orientation: np.ndarray, omega: np.ndarray) -> MotionTower:
        """Return a motion given by positions (n, K + 1, 3), orientations (n, 4) and spins (n, K, 3) in body axes."""
        spin = np.zeros_like(omega)
        tower = cls(position, orientation, rotation.matrix(orientation), spin)
        for k in range(spin.shape[1]):
            spin[:, k] = _product(tower.rotations(k), omega, k)
        return tower

    def up_to(self, order: int) -> MotionTower:
        """Return this motion with `order` derivatives, at most as many as there are."""
        spin = self.spin[:, : max(order, 1)]
        return MotionTower(self.position[:, : order + 1], self.orientation, self.rotation, spin)

    def points(self, local: np.ndarray) -> np.ndarray:
        """Positions (n, K + 1, 3) in N, with derivatives, of the points at `local` (3,) of the bodies."""
        return self.position + self.rotations(self.order) @ local

    def rotations(self, order: int) -> np.ndarray:
        """R and its derivatives (n + 1, order + 1, 3, 3); needs the spin up to one order less."""
        R = np.zeros((len(self.rotation), order + 1, 3, 3))
        R[:, 0] = self.rotation
        for k in range(order):
            for m in range(k + 1):
                # The columns of R turn with the body.
                R[:, k + 1] += comb(k, m) * np.cross(self.spin[:, m, :, None], R[:, k - m], axis=1)
        return R

    def jets(self, order: int) -> Kinematics:
        """Return this motion as `Kinematics` whose numbers are jets of an order; needs velocities to that order."""
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
        """Angular velocities in body axes and the derivatives of these components (n + 1, order + 1, 3)."""
        back = np.swapaxes(self.rotations(order), 2, 3)
        return np.stack([_product(back, self.spin, k) for k in range(order + 1)], axis=1)


def _product(matrices: np.ndarray, vectors: np.ndarray, k: int) -> np.ndarray:
    """The k-th derivative (n, 3) of matrices times vectors, both towers."""
    parts = [comb(k, m) * np.einsum("nij,nj->ni", matrices[:, m], vectors[:, k - m]) for m in range(k + 1)]
    return np.sum(parts, axis=0)


def _jets(tower: np.ndarray) -> np.ndarray:
    """An array of jets (n, ...) from derivatives (n, K + 1, ...)."""
    series = np.moveaxis(tower, 1, -1) / factorials(tower.shape[1] - 1)
    jets = np.empty(series.shape[:-1], dtype=object)
    for place in np.ndindex(*jets.shape):
        jets[place] = Jet(series[place].tolist(), [])
    return jets


def factorials(order: int) -> np.ndarray:
    """0!, 1!, ... order!."""
    return np.cumprod([1.0, *range(1, order + 1)])
