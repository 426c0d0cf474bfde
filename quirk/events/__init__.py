"""Events of a run: watched quantities, and actions when they cross a level."""

from .actions import after, disable, enable, engage, follow, release, replace, set_velocity, switch_off, switch_on
from .event import Event
from .latch import Latch
from .names import distance_between
from .sensors import sensors

__all__ = [
    "Event",
    "Latch",
    "after",
    "disable",
    "distance_between",
    "enable",
    "engage",
    "follow",
    "release",
    "replace",
    "sensors",
    "set_velocity",
    "switch_off",
    "switch_on",
]
