"""Elasticity of cables in MJCF files, which MuJoCo computed with a plugin.

The plugin applies a torque K (w0 - w) / L between neighboring bodies of a cable, where w is the rotation vector from
one body to the next, w0 its value in the file, L the length of the first body, and K = diag(G J, E I_y, E I_z) with the
torsion constant J, the second moments of area I_y and I_z, and the moduli G (`twist`) and E (`bend`). If neighbors
rotate about several axes, this torque has no energy.

A bushing replaces the plugin, with the same torque to first order in w - w0. In a cable that is straight at rest the
torque of the bushing is conservative, and the two torques differ by terms of second order in w.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from quirk.bodies import rotation
from quirk.forces import Bushing

from .bodies import Bodies
from .description import DescriptionNames

# Rotations at rest below this angle, rad, are round-off.
STRAIGHT = 1e-12


@dataclass(frozen=True)
class Cable:
    """Torsional and bending stiffness between neighboring bodies of a cable with n vertices.

    Attributes
    ----------
    links : names of the n - 1 bodies
    stiffness : (n - 2, 3) stiffness K / L about x, y and z between neighbors, N m/rad
    rest : (n - 2, 3) unloaded rotation vector from each body to the next, rad
    """

    links: list[str]
    stiffness: np.ndarray
    rest: np.ndarray

    def couplings(self, bodies: Bodies, names: DescriptionNames) -> Iterator[Bushing]:
        """Yield a bushing for each pair of neighboring bodies.

        A bushing with a load conjugate to the rotation vector w exerts the torque J^-T load on the body, where J^-1 is
        the derivative of the rate of w with respect to the angular velocity. With J evaluated at w0, the torque is that
        of the plugin at w0.
        """
        for (one, two), stiffness, rest in zip(pairwise(self.links), self.stiffness, self.rest, strict=True):
            (body_i, i), (body_j, j) = bodies.place(one), bodies.place(two)
            matrix = np.zeros((6, 6))
            matrix[3:, 3:] = _angular_velocity_per_rate(rest).T * stiffness
            yield Bushing(
                names.part(two, "elasticity"), body_i, body_j, frame_i=i.frame, frame_j=j.frame,
                stiffness=matrix, preload=matrix[:, 3:] @ rest,
            )  # fmt: skip


def _angular_velocity_per_rate(w: np.ndarray) -> np.ndarray:
    """Return the derivative (3, 3) of the angular velocity with respect to the rate of the rotation vector w (3,), rad.

    The angular velocity is in the axes before the rotation.
    """
    angle, W = float(np.linalg.norm(w)), rotation.skew(w)
    if angle < STRAIGHT:
        return np.eye(3)
    first = 0.5 * np.sinc(0.5 * angle / np.pi) ** 2
    second = (angle - np.sin(angle)) / angle**3 if angle > 1e-2 else 1.0 / 6.0 - angle**2 / 120.0
    return np.eye(3) + first * W + second * W @ W
