"""Plot of a mechanism at several times in one figure.

A body point is a pair: the name of a body, and a point (3,) in its coordinates, m.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.errors import InputError
from quirk.result.result import Result
from quirk.util import validate
from quirk.util.si_prefixes import label_lengths

from ..scene.drawing import draw_ground, draw_mechanism, moving
from ..scene.scene import LETTERS, Scene
from .figure_text import thin_out
from .sheet import Sheet

# Default number of times, and opacity at the first time.
USUAL, FAINTEST = 6, 0.15
TRAIL = "#cc3311"
# Number of points of a path between two of the displayed times.
FINENESS = 200


def checked_times(result: Result, times: Any) -> np.ndarray:
    """Return the sorted times at which the mechanism is drawn, s; default: equally spaced."""
    start, end = result.time[0], result.time[-1]
    if times is None:
        return np.linspace(start, end, USUAL) if end > start else np.array([start])
    given = validate.numbers(times)
    if given is None or given.ndim != 1 or not given.size:
        raise InputError(f"plot.ghosts: times must be a list of numbers, s; got {times!r}")
    given = validate.array("plot.ghosts", "times", given, given.shape)
    outside = given[(given < start) | (given > end)]
    if outside.size:
        raise InputError(f"plot.ghosts: times must be from {start:g} to {end:g} s; got {outside[0]:g}")
    return np.unique(given)


def draw_ghosts(
    sheet: Sheet,
    result: Result,
    times: np.ndarray,
    trails: list[tuple[str, np.ndarray]],
    view: tuple[float, float] | None,
) -> None:
    """Draw the mechanism at several times, earlier ones fainter, with the paths of some points between them.

    `trails` are body points, and `view` is the elevation and azimuth, degrees, or None.
    """
    scene = Scene(result, times, trails, FINENESS)
    directions = [0, 1, 2] if view is not None else moving(scene.extent)
    solid = len(directions) == 3
    (ax,) = sheet.axes(over_time=False, subplot_kw={"projection": "3d"} if solid else None)
    draw_ground(ax, scene, directions, len(times) - 1)
    for number, opacity in enumerate(np.linspace(1.0, FAINTEST, len(times))[::-1]):
        draw_mechanism(ax, scene, number, directions, opacity)
    for path in scene.trails:
        ax.plot(*path[:, directions].T, color=TRAIL, linewidth=1.2, zorder=3)
    if solid:
        scene.fit(ax, view)
    else:
        ax.set_aspect("equal")
        thin_out(ax)
        ax.grid(alpha=0.3)
    label_lengths(ax, [LETTERS[c] for c in directions], 2 * scene.half)
    ax.set_title("t = " + ", ".join(f"{t:.4g}" for t in times) + " s")
