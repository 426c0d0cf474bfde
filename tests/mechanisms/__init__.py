"""Builders of mechanisms for tests: rods on hinges, chains and loops of them, and random mechanisms.

A mechanism that several tests need has its builder here; one that a single file is about stays in that file.
"""

from .random_mechanisms import (
    SPECIAL,
    VARIANTS,
    closed_contact,
    closed_one_sided,
    closed_rim,
    closed_rope,
    closed_stop,
    crossed_gear,
    point_of,
    pulley_with_drums,
    random_body,
    random_closings,
    random_forest,
    random_inertia,
    random_joint,
    random_quaternion,
    random_state,
    random_system,
    random_unit,
)
from .rods import chain, closed_loop, level_rod, pendulum

__all__ = [
    "SPECIAL", "VARIANTS", "chain", "closed_contact", "closed_loop", "closed_one_sided", "closed_rim", "closed_rope",
    "closed_stop", "crossed_gear", "level_rod", "pendulum", "point_of", "pulley_with_drums", "random_body",
    "random_closings", "random_forest", "random_inertia", "random_joint", "random_quaternion", "random_state",
    "random_system", "random_unit",
]  # fmt: skip
