"""Plots of the center of mass and the momentum of a group of bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes

from quirk.result.body_groups import rows_of

from .figures import literal_text
from .sheet import TIME, Sheet

if TYPE_CHECKING:
    from quirk.result.result import Result

LETTERS = "xyz"
# Maximum number of names in a title.
MOST_NAMES = 3


def draw_center_of_mass(sheet: Sheet, result: Result, bodies: Any) -> None:
    """Draw position, velocity and acceleration of the center of mass of several bodies, one below the other."""
    center, whose = result.center_of_mass(bodies), names_of(result, "plot.center_of_mass", bodies)
    axes = sheet.axes(3, 1, sharex=True)
    sheet.title(f"center of mass of {whose}, inertial axes")
    for ax, values, title, unit in (
        (axes[0], center.position, "position", "m"),
        (axes[1], center.velocity, "velocity", "m/s"),
        (axes[2], center.acceleration, "acceleration", "m/s$^2$"),
    ):
        _draw(ax, result.time, values)
        sheet.finish(ax, title, title.capitalize(), unit, TIME if ax is axes[-1] else "")


def draw_momentum(sheet: Sheet, result: Result, bodies: Any, about: Any) -> None:
    """Draw linear and angular momentum of several bodies, one below the other.

    `about` is the reference point (3,), m, inertial frame, or None for the center of mass.
    """
    momentum, whose = result.momentum_of(bodies, about), names_of(result, "plot.momentum", bodies)
    axes = sheet.axes(2, 1, sharex=True)
    sheet.title(f"momentum of {whose}, inertial axes")
    point = "the center of mass" if about is None else "(" + ", ".join(f"{x:g}" for x in about) + ")"
    _draw(axes[0], result.time, momentum.linear)
    sheet.finish(axes[0], "linear", "Momentum", "kg m/s", "")
    _draw(axes[1], result.time, momentum.angular)
    sheet.finish(axes[1], f"angular, about {point}", "Angular momentum", "kg m$^2$/s")


def names_of(result: Result, owner: str, bodies: Any) -> str:
    """Return the names of bodies as one string for a title."""
    rows = rows_of(result.system, owner, bodies)
    if len(rows) == len(result.system.bodies):
        return "all bodies"
    names = [literal_text(result.system.bodies[row].name) for row in rows]
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _draw(ax: Axes, time: np.ndarray, values: np.ndarray) -> None:
    for column, letter in enumerate(LETTERS):
        ax.plot(time, values[:, column], label=letter)
