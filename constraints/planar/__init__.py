"""Bodies that move in a common plane, and the constraints between them."""

from .body import PlanarBody
from .drivers import AngleDriver, CoordinateDriver, DistanceDriver, SlotDriver
from .gears import GearOnLink, GearPair, Rolling
from .joints import DoubleRevolute, ParallelVectors, PinInSlot, Prismatic, Revolute
from .plane import Plane

__all__ = [
    "AngleDriver",
    "CoordinateDriver",
    "DistanceDriver",
    "DoubleRevolute",
    "GearOnLink",
    "GearPair",
    "ParallelVectors",
    "PinInSlot",
    "PlanarBody",
    "Plane",
    "Prismatic",
    "Revolute",
    "Rolling",
    "SlotDriver",
]
