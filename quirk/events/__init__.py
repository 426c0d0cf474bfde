"""Events along a run: what is watched, and what happens when it crosses a level."""

from .actions import engage, follow, release, replace, set_velocity, switch_off, switch_on
from .event import Event
from .names import distance_between

__all__ = [
    "Event",
    "distance_between",
    "engage",
    "follow",
    "release",
    "replace",
    "set_velocity",
    "switch_off",
    "switch_on",
]
