"""Joints and constraints of rigid bodies."""

from .constant_velocity import ConstantVelocity
from .constraint import Constraint, Joint
from .contact import Contact
from .coupling import Coupling
from .curve_on_curve import CurveOnCurve
from .custom import CustomRows, Implicit
from .drawing import Drawing
from .drive import DistanceDrive, Drive, TrajectoryDrive
from .drum import Drum
from .gear import Gear
from .generic import Generic
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
from .on_curve import PointOnCurve
from .pulley import Pulley
from .rack import RackPinion
from .rolling import KnifeEdge, RollingDisk
from .screw import Screw
from .tendon_stop import TendonStop
from .unilateral import OneSided, Rope, Stop

__all__ = [
    "ConstantVelocity",
    "Constraint",
    "Contact",
    "Coupling",
    "CurveOnCurve",
    "CustomRows",
    "Cylindrical",
    "Distance",
    "DistanceDrive",
    "Drawing",
    "Drive",
    "Drum",
    "Fixed",
    "Free",
    "Gear",
    "Generic",
    "Implicit",
    "Joint",
    "KnifeEdge",
    "OneSided",
    "Planar",
    "PointOnCurve",
    "PointOnLine",
    "PointOnPlane",
    "Prismatic",
    "Pulley",
    "RackPinion",
    "Revolute",
    "RollingDisk",
    "Rope",
    "Screw",
    "Spherical",
    "Stop",
    "TendonStop",
    "TrajectoryDrive",
    "Universal",
]
