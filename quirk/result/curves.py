"""Named quantities over time, with units and axis labels for plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Axis labels by unit.
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
# Lengths whose names are used as axis labels.
LENGTHS = ("position", "displacement", "travel", "distance", "length")


@dataclass(frozen=True)
class Curve:
    """A quantity over time.

    Attributes
    ----------
    name : name of the quantity, such as "hinge.angle"
    unit : unit, such as "rad"
    values : (nt,) values over time
    """

    name: str
    unit: str
    values: np.ndarray

    def in_degrees(self, name: str) -> Curve | None:
        """Return an angle or angular rate converted to degrees, with a new name; None for other quantities."""
        if not self.unit.startswith("rad"):
            return None
        return Curve(name, self.unit.replace("rad", "deg", 1), np.degrees(self.values))


def quantity_of(curves: Sequence[Curve]) -> str:
    """Return the axis label for quantities with the same unit, such as "Force".

    For lengths it is a word common to the names of the quantities, such as "Position".
    """
    unit = curves[0].unit
    words = {word for curve in curves for word in curve.name.strip("|").split(".")[1:] if word in LENGTHS}
    return words.pop().capitalize() if unit == "m" and len(words) == 1 else OF_UNITS.get(unit, "Value")
