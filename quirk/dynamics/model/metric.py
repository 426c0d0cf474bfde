"""Metrics on the velocities of bodies: the mass metric and the uniform metric.

A metric is represented by W (6 n x 6 n, block diagonal, constant in body axes) with W W^T = M^-1 over (v, omega). In
the mass metric M is the mass matrix of the bodies; accelerations and projections are the nearest ones in this metric,
and the squared norm of a row of A W is the acceleration along this row due to a unit multiplier.

In the uniform metric every body has unit mass and, about all axes, the moment of inertia l^2 for its characteristic
length l. Rows are tested for linear dependence in this metric: A W has the rank of A for any masses, but unequal masses
make independent rows nearly parallel. In the uniform metric only dependent rows are parallel, up to round-off.
"""

from __future__ import annotations

import numpy as np

from .model import Model

# Lower limit of a body's length, as a fraction of the largest, for bodies with all joint points at the center of mass.
SMALLEST_BODY = 1e-3


class Metric:
    """Factor W of a metric on the velocities of n bodies: W W^T is the inverse of the metric.

    Attributes
    ----------
    translation : (n,) factor of the translations of each body
    rotation : (n, 3, 3) factor of the rotations of each body, body axes
    """

    def __init__(self, translation: np.ndarray, rotation: np.ndarray) -> None:
        self.translation, self.rotation = translation, rotation

    @classmethod
    def of_masses(cls, model: Model) -> Metric:
        """Return the mass metric of a model, the metric of kinetic energy."""
        return cls(1 / np.sqrt(model.mass), model.inverse_root)

    @classmethod
    def uniform(cls, model: Model) -> Metric:
        """Return the uniform metric of a model: unit masses, and moments of inertia l^2 for body lengths l."""
        return cls(np.ones(len(model.mass)), np.eye(3) / body_lengths(model)[:, None, None])

    def rows(self, A: np.ndarray) -> np.ndarray:
        """Return the product A W (m, 6 n) for m constraint rows A (m, 6 n)."""
        n = len(self.translation)
        A = A.reshape(-1, n, 6)
        translation = A[..., :3] * self.translation[:, None]
        return np.concatenate([translation, np.einsum("mni,nij->mnj", A[..., 3:], self.rotation)], axis=2).reshape(
            -1, 6 * n
        )

    def vector(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return W z as translations (n, 3) in the inertial frame and rotations (n, 3) in body axes, for z (6 n,)."""
        z = z.reshape(-1, 6)
        return self.translation[:, None] * z[:, :3], np.einsum("nij,nj->ni", self.rotation, z[:, 3:])

    def coordinates(self, translation: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """Return z (6 n,) such that W z consists of the given translations and rotations of n bodies, (n, 3) each.

        Translations are in the inertial frame, rotations (`turn`) in body axes.
        """
        turned = np.linalg.solve(self.rotation, turn[..., None])[..., 0]
        return np.concatenate([translation / self.translation[:, None], turned], axis=1).ravel()


def body_lengths(model: Model) -> np.ndarray:
    """Return a characteristic length (n,), m, of each of n bodies.

    It is the longest distance from the center of mass to a joint point, but at least a fraction of the largest such
    distance of any body. If there are none, it is the radius of gyration.
    """
    n = len(model.mass)
    arms = np.zeros(n + 1)
    ends = np.array([bodies for _, bodies in model.joint_bodies], dtype=np.int64).reshape(-1, 2)
    origins = np.array([(joint.frame_i.origin, joint.frame_j.origin) for joint, _ in model.joint_bodies])
    np.maximum.at(arms, ends, np.linalg.norm(origins.reshape(-1, 2, 3), axis=2))
    for placed in model.relations:
        np.maximum.at(arms, list(placed.bodies), np.linalg.norm(placed.frames[:, :3], axis=1))
    largest = arms[:n].max()
    if not largest > 0:
        return np.sqrt(np.trace(model.inertia, axis1=1, axis2=2) / model.mass)
    return np.maximum(arms[:n], SMALLEST_BODY * largest)
