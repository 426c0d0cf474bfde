"""Quantities over time that are drawn, and what axes call them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# What axes call quantities of a unit.
OF_UNITS = {
    "s": "Time",
    "m": "Length",
    "m/s": "Velocity",
    "m/s$^2$": "Acceleration",
    "m/s$^3$": "Jerk",
    "m/s$^4$": "Snap",
    "rad": "Angle",
    "rad/s": "Angular velocity",
    "rad/s$^2$": "Angular acceleration",
    "deg": "Angle",
    "deg/s": "Angular velocity",
    "deg/s$^2$": "Angular acceleration",
    "N": "Force",
    "N m": "Torque",
    "J": "Energy",
    "W": "Power",
}
# Lengths that axes call by name.
LENGTHS = ("position", "displacement", "travel", "distance", "length")


@dataclass(frozen=True)
class Curve:
    """A quantity over time: what it is called, its unit, and values (nt,)."""

    name: str
    unit: str
    values: np.ndarray

    def in_degrees(self, name: str) -> Curve | None:
        """Return the quantity in degrees under a name; None if it is no angle or rate of one."""
        if not self.unit.startswith("rad"):
            return None
        return Curve(name, self.unit.replace("rad", "deg", 1), np.degrees(self.values))


def quantity_of(curves: Sequence[Curve]) -> str:
    """Return what axes call quantities of one unit, such as "Force"; lengths by their names if these agree."""
    unit = curves[0].unit
    words = {word for one in curves for word in one.name.strip("|").split(".")[1:] if word in LENGTHS}
    return words.pop().capitalize() if unit == "m" and len(words) == 1 else OF_UNITS.get(unit, "Value")
