"""Paths of body points, and the mechanism at one of its times, in space or in a coordinate plane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba_array
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d.art3d import Line3DCollection, Poly3DCollection

from . import validate
from .errors import InputError
from .figures import shown, wrapped
from .result import BodyView, Result
from .scene import LETTERS, Scene

# What paths can be coloured by.
UNITS = {"velocity": "m/s", "acceleration": "m/s$^2$", "jerk": "m/s$^3$", "snap": "m/s$^4$"}
# A direction in which points move less than this part of the most is none of their motion.
FLAT = 1e-6


def checked_paths(result: Result, points: Any, color: str | None, at: float | None) -> list[tuple[str, np.ndarray]]:
    """Return the body points whose paths are to be drawn; see `Plotter.paths`."""
    owner = "plot.paths"
    pairs = checked_points(owner, "points", points)
    for name, _ in pairs:
        if not isinstance(result[name], BodyView):
            raise InputError(f'{owner}: "{name}" must be the name of a body; got {result[name].of}')
    if color is not None:
        validate.choice(owner, "color", color, tuple(UNITS))
    if at is not None and not result.time[0] <= validate.number(owner, "at", at) <= result.time[-1]:
        raise InputError(f"{owner}: at must be from {result.time[0]:g} to {result.time[-1]:g} s; got {at:g}")
    return pairs


def draw_paths(
    figure: Figure, result: Result, points: list[tuple[str, np.ndarray]], color: str | None, at: float | None
) -> None:
    """Draw paths of body points in a figure."""
    labels = [f"{shown(name)} {coordinates(local)}".strip() for name, local in points]
    paths = [result[name].path(local) for name, local in points]
    curves = [path.position for path in paths]
    directions = moving(np.concatenate(curves))
    solid = len(directions) == 3
    ax: Any = figure.add_subplot(projection="3d" if solid else None)
    if at is not None:
        _draw_mechanism(ax, result, at, points, directions)
    if color is None:
        for label, curve in zip(labels, curves, strict=True):
            ax.plot(*curve[:, directions].T, label=label)
        ax.legend()
        ax.set_title("paths")
    else:
        sizes = [np.linalg.norm(getattr(path, color), axis=1) for path in paths]
        _draw_colored(ax, [curve[:, directions] for curve in curves], sizes, f"{color} ({UNITS[color]})")
        ax.set_title(wrapped(f"path of {', '.join(labels)}"))
    for axis, letter in zip("xyz", directions, strict=False):
        getattr(ax, f"set_{axis}label")(f"{LETTERS[letter]} (m)")
    ax.set_aspect("equal")
    if not solid:
        ax.grid(alpha=0.3)


def moving(points: np.ndarray) -> list[int]:
    """Return the coordinates in which points (k, 3) are to be shown: two of them where one stays as it is."""
    extent = np.ptp(points, axis=0)
    flat = [c for c in range(3) if extent[c] < FLAT * extent.max()]
    return [c for c in range(3) if c != flat[-1]] if flat else [0, 1, 2]


def _draw_colored(ax: Any, curves: Sequence[np.ndarray], sizes: Sequence[np.ndarray], label: str) -> None:
    """Draw curves, each piece in the colour of the mean of both ends."""
    norm = plt.Normalize(0.0, max(size.max() for size in sizes))
    for curve, size in zip(curves, sizes, strict=True):
        kind: Any = LineCollection if curve.shape[1] == 2 else Line3DCollection
        pieces = kind(np.stack([curve[:-1], curve[1:]], axis=1), cmap="turbo", norm=norm, linewidth=4, zorder=3)
        pieces.set_capstyle("round")
        pieces.set_array(0.5 * (size[:-1] + size[1:]))
        ax.add_collection(pieces)
        ax.plot(*curve.T, linestyle="none")  # makes room for the pieces
    ax.get_figure().colorbar(pieces, ax=ax, label=label, shrink=0.8)


def _draw_mechanism(ax: Any, result: Result, at: float, points: list[tuple[str, Any]], directions: list[int]) -> None:
    """Draw bodies, joints and, as rings, the points of the paths, all where they are at a time."""
    scene = Scene(result, np.array([at]), points)
    kind = PolyCollection if len(directions) == 2 else Poly3DCollection
    for name, faces in scene.faces.items():
        if not faces:
            continue
        r, R = (part[0] for part in scene.poses[name])
        placed = [(face @ R.T + r)[:, directions] for face in faces]
        colors = scene.colors[name]
        ax.add_collection(kind(placed, facecolor=to_rgba_array(colors, 0.3), edgecolor=colors, linewidth=0.8))
        ax.plot(*np.concatenate(placed).T, linestyle="none")
    if scene.constraints:
        dots = np.array([scene.joint_point(c)[0, directions] for c in scene.constraints])
        ax.plot(*dots.T, "o", color="black", markersize=4, zorder=4)
    rings = np.concatenate(scene.trails)[:, directions]
    ax.plot(*rings.T, "o", color="black", markerfacecolor="white", markersize=8, zorder=4)


def checked_points(owner: str, argument: str, points: Any) -> list[tuple[str, np.ndarray]]:
    """Return body points given as (body name, point (3,) in body coordinates)."""
    try:
        pairs = [(name, local) for name, local in points]
    except (TypeError, ValueError):
        raise InputError(
            f'{owner}: {argument} must be a list such as [("rod", [0.5, 0, 0])]: names of bodies with points in body '
            f"coordinates; got {points!r}"
        ) from None
    return [(name, validate.array(owner, f"point of {name!r}", local, (3,))) for name, local in pairs]


def coordinates(local: Any) -> str:
    """Return a body point as pictures name it; nothing for the centre of mass."""
    point = np.asarray(local, dtype=float)
    return "" if not point.any() else "(" + ", ".join(f"{x:g}" for x in point) + ")"
