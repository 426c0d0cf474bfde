"""The constant-velocity joint, which transmits rotation between two intersecting shafts at equal rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..autodiff.jet import Jet, where
from ..bodies.frame import axes_with_z
from ..errors import InputError
from .constraint import TwoAxisJoint
from .primitives import coincidence
from .relation import TORQUE, MovingFrame, Relation

# Sine of the angle between opposite shafts below which the joint counts as folded.
FOLDED = 1e-6

# Cosine of 120 degrees, the angle above which the row uses x z or y z instead of w z; there w is a half.
BENT = -0.5


def homokinetic(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the residual of the constant-velocity joint, which is zero without rotation about the shafts' bisector.

    The rotation from one shaft to the other is about an axis in the bisecting plane, so that z = 0 in the relative
    quaternion (w, x, y, z). Rotation matrices give only the products w z, x z and y z. The residual is four times a
    product in which the factor of z is at least a half; w z alone would fail for folded shafts, where w vanishes.
    """
    i, j = frames
    x_i, y_i, z_i = i.rotation.T
    x_j, y_j, z_j = j.rotation.T
    bent = where(x_i @ x_j > y_i @ y_j, x_i @ z_j + z_i @ x_j, y_i @ z_j + z_i @ y_j)
    return [where(z_i @ z_j > BENT, x_i @ y_j - y_i @ x_j, bent)]


class ConstantVelocity(TwoAxisJoint):
    """Two intersecting shafts with equal rates of rotation at any angle, 4 rows (homokinetic joint).

    Parameters
    ----------
    point : (3,)
        Intersection of the shafts in the inertial frame at the initial poses, m.
    axis_i, axis_j : (3,)
        Directions of shafts i and j, both pointing from i to j, in the inertial frame at the initial poses: the z axes
        of the frames. Alternatively, give frame_i and frame_j.

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
        """Return the axes (3, 3) of both joint frames, as columns in the inertial frame.

        The unit vectors `axis_i` and `axis_j` (3,) are the z axes, and the frames have no relative twist.
        """
        if 1 + axis_i @ axis_j < FOLDED:
            raise InputError(f"{owner}: axis_i and axis_j must not be opposite: both point from i to j")
        axes = axes_with_z(axis_i)
        # The shortest rotation between both directions: reflections at the bisector and at axis_i.
        half = (axis_i + axis_j) / np.linalg.norm(axis_i + axis_j)
        turn = (2 * np.outer(half, half) - np.eye(3)) @ (2 * np.outer(axis_i, axis_i) - np.eye(3))
        return axes, turn @ axes
