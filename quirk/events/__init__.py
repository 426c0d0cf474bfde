"""Events of a run: watched quantities, actions at crossings of a level, and functions called at equal intervals."""

from .actions import after, disable, enable, engage, follow, release, replace, set_velocity, switch_off, switch_on
from .event import Event
from .latch import Latch
from .names import distance_between
from .sampled import Sampled
from .sensors import sensors

__all__ = [
    "Event",
    "Latch",
    "Sampled",
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
