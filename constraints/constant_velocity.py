"""The constant-velocity joint."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..autodiff.jet import Jet, where
from ..bodies.frame import axes_with_z
from ..errors import InputError
from .constraint import TwoAxisJoint
from .primitives import coincidence
from .relation import TORQUE, MovingFrame, Relation

# Sine of the angle at which shafts are as good as turned back upon each other.
FOLDED = 1e-6

# Cosine of the angle, 120 degrees, from which on shafts count as bent far: there w is a half.
BENT = -0.5


def homokinetic(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """No twist: one shaft is turned relative to the other about an axis across the plane that halves them.

    The quaternion (w, x, y, z) from one frame to the other has z = 0. A rotation tells w z, x z and y z alone; the row
    is four times one of these with a factor of at least a half, since w is zero where shafts are folded.
    """
    i, j = frames
    x_i, y_i, z_i = i.rotation.T
    x_j, y_j, z_j = j.rotation.T
    bent = where(x_i @ x_j > y_i @ y_j, x_i @ z_j + z_i @ x_j, y_i @ z_j + z_i @ y_j)
    return [where(z_i @ z_j > BENT, x_i @ y_j - y_i @ x_j, bent)]


class ConstantVelocity(TwoAxisJoint):
    """Two shafts that meet in a point and turn at the same rate whatever their angle, 4 rows (homokinetic joint).

    Parameters
    ----------
    point : (3,)
        Where the shafts meet, in N at the initial poses, m.
    axis_i, axis_j : (3,)
        Along the shafts i and j, both onwards from i to j, in N at the initial poses: z of the frames. Or frames.

    Examples
    --------
    >>> shaft = quirk.Body.cylinder("shaft", 1.0, 0.05, 0.5)
    >>> joint = quirk.ConstantVelocity("joint", quirk.GROUND, shaft, point=[0, 0, -0.25], axis_i="z", axis_j="z")
    >>> quirk.System([shaft, joint]).mobility().degrees_of_freedom
    2
    """

    primitives = (coincidence, Relation(homokinetic, ("no twist",), (TORQUE,)))

    @staticmethod
    def joint_axes(owner: str, axis_i: np.ndarray, axis_j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return axes with the given ones as z, turned into each other without twist."""
        if 1 + axis_i @ axis_j < FOLDED:
            raise InputError(f"{owner}: axis_i and axis_j must not point against each other: both lead from i to j")
        axes = axes_with_z(axis_i)
        # The shortest turn that takes one into the other: reflect twice, in the halfway vector and in axis_i.
        half = (axis_i + axis_j) / np.linalg.norm(axis_i + axis_j)
        turn = (2 * np.outer(half, half) - np.eye(3)) @ (2 * np.outer(axis_i, axis_i) - np.eye(3))
        return axes, turn @ axes
