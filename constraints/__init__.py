"""Joints and constraints: primitives, relations, the kernels that evaluate them, and the constraints made of them."""

from .constant_velocity import ConstantVelocity
from .constraint import Constraint, Joint
from .drive import DistanceDrive, Drive, TrajectoryDrive
from .gear import Gear
from .joints import (
    Cylindrical,
    Distance,
    Fixed,
    Free,
    Planar,
    PointOnLine,
    PointOnPlane,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from .rolling import KnifeEdge, RollingDisk
from .screw import Screw

__all__ = [
    "ConstantVelocity",
    "Constraint",
    "Cylindrical",
    "Distance",
    "DistanceDrive",
    "Drive",
    "Fixed",
    "Free",
    "Gear",
    "Joint",
    "KnifeEdge",
    "Planar",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Revolute",
    "RollingDisk",
    "Screw",
    "Spherical",
    "TrajectoryDrive",
    "Universal",
]
