"""What a force element is to compiled kernels: a kind of law, two frames and a few numbers or a function."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quirk.frame import Frame

# A force at a point and a torque on body j, in N or in its axes; a torque about and a force along an axis of
# joint frame i; a spring and damper between two points.
FORCE, TORQUE, FORCE_IN_BODY, TORQUE_IN_BODY, JOINT_TORQUE, JOINT_FORCE, SPRING = range(7)


@dataclass(frozen=True)
class Law:
    """A force law that kernels know.

    Attributes
    ----------
    kind : one of the above
    frame_i, frame_j : Frame
        Where it acts, in the coordinates of its bodies; laws on one body use frame j alone.
    axis : which axis of frame i, for joints
    constants : (3,) the load, or stiffness, damping and rest length of a spring
    function : Value or None
        Called instead of constants with the time and the motion of the body, or angle and rate (displacement
        and rate) of the joint; its attribute `function` is that of the user
    """

    kind: int
    frame_i: Frame = field(default_factory=Frame)
    frame_j: Frame = field(default_factory=Frame)
    axis: int = 0
    constants: np.ndarray = field(default_factory=lambda: np.zeros(3))
    function: Any = None

    @property
    def of_joint(self) -> bool:
        """Whether the function is one of a joint's coordinate, not of a body's motion."""
        return self.kind in (JOINT_TORQUE, JOINT_FORCE)
