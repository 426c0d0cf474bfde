"""Plots of the paths of points of bodies, in space or in a coordinate plane.

A body point is a pair: the name of a body, and a point (3,) in its coordinates, m.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection
from mpl_toolkits.mplot3d.art3d import Line3DCollection

from quirk.errors import InputError
from quirk.result.result import Result
from quirk.util import validate
from quirk.util.si_prefixes import label_lengths

from ..scene.drawing import draw_ground, draw_mechanism, moving
from ..scene.scene import LETTERS, Scene
from .body_points import checked_points, labels_of
from .event_marks import mark_on
from .figure_text import thin_out
from .figures import MOST_CURVES
from .sheet import Sheet

# Maximum number of paths named in a title, and color of unnamed paths.
MOST_LISTED, OTHERS = 4, "#c0c0c0"
# Quantities by which paths can be colored, with their units.
UNITS = {"velocity": "m/s", "acceleration": "m/s$^2$", "jerk": "m/s$^3$", "snap": "m/s$^4$"}


def checked_paths(
    result: Result, points: Any, color: str | None, at: float | None
) -> tuple[list[tuple[str, np.ndarray]], list[str]]:
    """Return the body points whose paths are drawn, and the names of bodies drawn without a legend entry.

    The arguments are those of `Plotter.paths`.
    """
    owner, others = "plot.paths", []
    if points is None:
        moved = np.ptp(result.state.position, axis=0).max(axis=1)
        kept = set(np.argsort(-moved, kind="stable")[:MOST_CURVES].tolist())
        names = [body.name for body in result.system.bodies]
        points = [(name, (0, 0, 0)) for row, name in enumerate(names) if row in kept]
        others = [name for row, name in enumerate(names) if row not in kept]
    pairs = checked_points(owner, "points", points, result.system)
    if color is not None:
        validate.choice(owner, "color", color, tuple(UNITS))
    if at is not None and not result.time[0] <= validate.number(owner, "at", at) <= result.time[-1]:
        raise InputError(f"{owner}: at must be from {result.time[0]:g} to {result.time[-1]:g} s; got {at:g}")
    return pairs, others


def draw_paths(
    sheet: Sheet,
    result: Result,
    points: list[tuple[str, np.ndarray]],
    color: str | None,
    time: float | None,
    bodies: list[str],
) -> None:
    """Draw the paths of body points and, faintly, the paths of the centers of mass of `bodies`.

    `color` is the quantity that colors the paths, or None. If a `time` (s) is given, the bodies are drawn at this time.
    """
    labels = labels_of(result.system, points)
    paths = [result[name].path(local) for name, local in points]
    curves = [path.position for path in paths]
    directions = moving(np.ptp(np.concatenate(curves), axis=0))
    solid = len(directions) == 3
    (ax,) = sheet.axes(over_time=False, subplot_kw={"projection": "3d"} if solid else None)
    for curve in curves:
        ax.plot(*curve[:, directions].T, linestyle="none", color="none")  # reserves space for all curves
    if time is not None:
        scene = Scene(result, np.array([time]), points)
        draw_ground(ax, scene, directions)
        draw_mechanism(ax, scene, 0, directions)
        rings = np.concatenate(scene.trails)[:, directions]
        ax.plot(*rings.T, "o", color="black", markerfacecolor="white", markersize=8, zorder=4)
    for number, name in enumerate(bodies):
        text = f"{len(bodies)} others, of bodies that move less" if number == 0 else None
        ax.plot(*result[name].position[:, directions].T, color=OTHERS, linewidth=0.5, zorder=0.5, label=text)
    if color is None:
        for label, curve in zip(labels, curves, strict=True):
            ax.plot(*curve[:, directions].T, label=label)
        ax.set_title("paths")
    else:
        sizes = [np.linalg.norm(getattr(path, color), axis=1) for path in paths]
        _draw_colored(ax, [curve[:, directions] for curve in curves], sizes, f"{color} ({UNITS[color]})")
        ax.set_title(f"path of {_listed(labels)}")
    if sheet.events is not None:
        for curve in curves:
            mark_on(ax, sheet.events, result.time, curve[:, directions], named=curve is curves[0])
    label_lengths(ax, [LETTERS[c] for c in directions], float(np.ptp(np.concatenate(curves), axis=0).max()))
    ax.set_aspect("equal")
    thin_out(ax)
    if not solid:
        ax.grid(alpha=0.3)
    sheet.legend(ax)


def _listed(labels: list[str]) -> str:
    more = f" and {len(labels) - MOST_LISTED} more" if len(labels) > MOST_LISTED else ""
    return ", ".join(labels[:MOST_LISTED]) + more


def _draw_colored(ax: Any, curves: Sequence[np.ndarray], sizes: Sequence[np.ndarray], label: str) -> None:
    """Draw curves colored by the values `sizes` at their points; each segment has the mean value of both ends."""
    norm = plt.Normalize(0.0, max(size.max() for size in sizes))
    for curve, size in zip(curves, sizes, strict=True):
        kind: Any = LineCollection if curve.shape[1] == 2 else Line3DCollection
        pieces = kind(np.stack([curve[:-1], curve[1:]], axis=1), cmap="turbo", norm=norm, linewidth=4, zorder=3)
        pieces.set_capstyle("round")
        pieces.set_array(0.5 * (size[:-1] + size[1:]))
        ax.add_collection(pieces, autolim=False)
    ax.get_figure().colorbar(pieces, ax=ax, label=label, shrink=0.8)
