"""Joints and constraints: primitives, the kernels that evaluate them, and the named joints made of them."""

from .constraint import Constraint, Joint
from .joints import Cylindrical, Distance, Fixed, Free, Prismatic, Revolute, Spherical, Universal

__all__ = [
    "Constraint",
    "Cylindrical",
    "Distance",
    "Fixed",
    "Free",
    "Joint",
    "Prismatic",
    "Revolute",
    "Spherical",
    "Universal",
]
