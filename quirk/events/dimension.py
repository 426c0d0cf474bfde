"""Physical dimensions of watched quantities, from which the round-off of their values follows."""

from __future__ import annotations

from enum import IntEnum


class Dimension(IntEnum):
    """Physical dimension of a watched quantity; UNKNOWN for user functions, loads, energies and the time."""

    UNKNOWN = 0
    LENGTH = 1
    ANGLE = 2
    SPEED = 3
    ANGULAR_SPEED = 4
