"""The load of a joint that counts for its friction."""

from __future__ import annotations

import numpy as np

from quirk.forces.friction import ACROSS, ALONG, Friction


class JointLoad:
    """The load N of a joint that counts for its friction, from forces z (r,) along rows; see `Friction`.

    Parameters
    ----------
    friction : of a joint
    axis : (3,) of the joint in N
    base : (6,) force and torque without these forces, in N
    response : (6, r) of unit forces
    """

    def __init__(self, friction: Friction, axis: np.ndarray, base: np.ndarray, response: np.ndarray) -> None:
        across = np.eye(3) - np.outer(axis, axis)
        halves = [np.hstack([np.eye(3), np.zeros((3, 3))])]
        if friction.takes == ALONG:
            halves = [np.hstack([np.outer(axis, axis), np.zeros((3, 3))])]
        elif friction.takes == ACROSS:
            halves = [np.hstack([across, np.zeros((3, 3))])]
            if friction.length > 0:
                couple = np.cross(np.eye(3), axis).T / friction.length
                halves = [np.hstack([0.5 * across, sign * couple]) for sign in (1.0, -1.0)]
        self._parts = [(B @ base, B @ response) for B in halves]

    def __call__(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """Return N and its slopes (r,)."""
        N, slopes = 0.0, np.zeros(len(z))
        for base, response in self._parts:
            force = base + response @ z
            size = float(np.linalg.norm(force))
            N += size
            slopes += force @ response / size if size > 0 else 0.0
        return N, slopes

    def reaction(self, z: np.ndarray) -> float:
        """Return the load N that forces z (r,) alone would make."""
        return float(sum(np.linalg.norm(response @ z) for _, response in self._parts))
