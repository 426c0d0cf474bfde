"""Surroundings of a mechanism in an animation: level ground, walls with a grid, and tick labels.

The anchor is the point in the center of the image.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.ticker import MaxNLocator

from quirk.util.si_prefixes import prefixed

from ..scene.camera import Camera
from ..scene.plates import GROUND, GROUND_EDGE, cut_to

LETTERS = "xyz"
# Lengths, inches: smallest length of an axis with ticks, typical distance of ticks, and distances of tick labels, of
# axis names, and of the names of steep axes from their axis.
LEAST_AXIS, TICK_SPACE, TICKS, NAMES, STEEP_NAMES = 0.7, 0.55, 0.11, 0.36, 0.17
MOST_TICKS = 6
WALL, GRID = "#f6f6f6", "#d2d2d2"
TEXT = "#444444"
# Size of an image, inches, below which the font size is reduced.
FULL_SIZE = 4.0
# A plane is level if the cosine of the angle between its normal and the vertical exceeds this.
LEVEL = 1 - 1e-9
# A wall is seen edge-on if the cosine of the angle between its normal and the line of sight is below this.
EDGE_ON = 1e-6


class Stage:
    """The displayed box with ground, walls, grid and tick labels.

    Parameters
    ----------
    ax : matplotlib axes
    camera : Camera
    box : lowest and highest corner (3,), inertial axes, relative to the anchor, m
    grounds : planes fixed in the inertial frame, each a point (3,) and a normal (3,)
    inch : length represented by one inch of the image, m
    moves : whether the anchor moves; `caption` then states the grid spacing, in place of tick labels
    """

    def __init__(
        self,
        ax: Any,
        camera: Camera,
        box: tuple[np.ndarray, np.ndarray],
        grounds: list[tuple[np.ndarray, np.ndarray]],
        inch: float,
        moves: bool,
    ) -> None:
        self._moves = moves
        self._camera, self._box, self._grounds, self._inch = camera, box, grounds, inch
        self._walls = ax.add_collection(PolyCollection([], linewidth=0.6), autolim=False)
        self._grid = ax.add_collection(LineCollection([], color=GRID, linewidth=0.7), autolim=False)
        size = float(ax.get_figure().get_size_inches().min())
        self._size_factor = min(1.0, size / FULL_SIZE)
        self._texts: list[Any] = []
        self._ax = ax
        self._factor, self._unit = prefixed("m", float(np.abs(np.subtract(*box)).max()))
        steps = MaxNLocator(MOST_TICKS, steps=[1, 2, 5, 10]).tick_values(0.0, float(np.subtract(*box[::-1]).max()))
        self.mesh = float(steps[1] - steps[0])
        self.caption = f"grid {_written(self.mesh / self._factor)} {self._unit}" if moves else ""
        self._bounds = [(float(low), float(high)) for low, high in zip(*box, strict=True)]

    def draw(self, anchor: np.ndarray) -> None:
        """Draw the surroundings for an anchor (3,), inertial frame, m."""
        faces, colors, edges = [], [], []
        lines: list[np.ndarray] = []
        ticks = [self._ticks(axis, anchor) for axis in range(3)]
        level = self._level(anchor)
        for axis in range(3):
            along = float(self._camera.towards[axis])
            standing = axis == self._camera.vertical and level is not None
            if abs(along) < EDGE_ON and not standing:
                continue
            low, high = self._extent(level)
            far = low[axis] if along > 0 or (standing and along > -EDGE_ON) else high[axis]
            corners = self._corners(axis, far, low, high)
            ground = standing and along > -EDGE_ON
            faces.append(self._camera.to_view(corners)[:, :2])
            colors.append(GROUND if ground else WALL)
            edges.append(GROUND_EDGE if ground else GRID)
            if abs(along) > EDGE_ON:
                lines += self._grid_on(axis, far, low, high, ticks, anchor)
        for point, normal in self._grounds:
            if level is not None and abs(normal[self._camera.vertical]) > LEVEL:
                continue
            polygon = cut_to(self._box, point - anchor, normal)
            if len(polygon) > 2:
                faces.append(self._camera.to_view(polygon)[:, :2])
                colors.append(GROUND)
                edges.append(GROUND_EDGE)
        self._walls.set_verts(faces)
        self._walls.set_facecolor(colors)
        self._walls.set_edgecolor(edges)
        self._grid.set_segments([self._camera.to_view(line)[:, :2] for line in lines])
        self._number(ticks, anchor, level)

    def _level(self, anchor: np.ndarray) -> float | None:
        """Return the height of level ground in the box relative to the anchor, m, or None if there is none."""
        v = self._camera.vertical
        for point, normal in self._grounds:
            if abs(normal[v]) > LEVEL:
                height = float(point[v] - anchor[v])
                if self._bounds[v][0] <= height <= self._bounds[v][1]:
                    return height
        return None

    def _extent(self, level: float | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the lowest and highest corner (3,) of the part of the box above the ground at height `level`, m."""
        low, high = (corner.copy() for corner in self._box)
        if level is not None:
            low[self._camera.vertical] = level
        return low, high

    def _corners(self, axis: int, level: float, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        a, b = (axis + 1) % 3, (axis + 2) % 3
        corners = np.empty((4, 3))
        corners[:, axis] = level
        corners[:, a] = low[a], high[a], high[a], low[a]
        corners[:, b] = low[b], low[b], high[b], high[b]
        return corners

    def _grid_on(
        self, axis: int, level: float, low: np.ndarray, high: np.ndarray, ticks: list[np.ndarray], anchor: np.ndarray
    ) -> list[np.ndarray]:
        lines = []
        for a, b in (((axis + 1) % 3, (axis + 2) % 3), ((axis + 2) % 3, (axis + 1) % 3)):
            for tick in ticks[a] - anchor[a]:
                if low[a] <= tick <= high[a]:
                    line = np.empty((2, 3))
                    line[:, axis], line[:, a], line[:, b] = level, tick, (low[b], high[b])
                    lines.append(line)
        return lines

    def _ticks(self, axis: int, anchor: np.ndarray) -> np.ndarray:
        """Return round tick values along one inertial axis, m; none if the axis points toward the viewer.

        `anchor` (3,), m, is the point in the center of the image.
        """
        low, high = self._bounds[axis]
        if self._moves:
            first, last = np.ceil((low + anchor[axis]) / self.mesh), np.floor((high + anchor[axis]) / self.mesh)
            return self.mesh * np.arange(first, last + 1)
        length = (high - low) * float(np.hypot(*self._camera.axes[:2, axis])) / self._inch
        if length < LEAST_AXIS * self._size_factor:
            return np.empty(0)
        count = int(np.clip(length / (TICK_SPACE * self._size_factor), 1, MOST_TICKS))
        found = MaxNLocator(count, steps=[1, 2, 2.5, 5, 10]).tick_values(low + anchor[axis], high + anchor[axis])
        inside = (found >= low + anchor[axis] - 1e-9 * (high - low)) & (found <= high + anchor[axis])
        return np.asarray(found[inside])

    def _number(self, ticks: list[np.ndarray], anchor: np.ndarray, level: float | None) -> None:
        """Write tick labels and axis names along edges of the box that are part of its outline in the image.

        `ticks` are the tick values of each axis, m. `anchor` (3,), m, is the point in the center of the image, and
        `level` the height of level ground, m.
        """
        low, high = self._extent(level)
        written: list[tuple[np.ndarray, str, bool]] = []
        for axis in range(3):
            values = ticks[axis]
            if not len(values):
                continue
            edge, out = self._edge(axis, low, high)
            shown = values[(values - anchor[axis] >= low[axis]) & (values - anchor[axis] <= high[axis])]
            for value in () if self._moves else shown:
                place = edge.copy()
                place[axis] = value - anchor[axis]
                at = self._camera.to_view(place)[:2] + TICKS * self._size_factor * self._inch * out
                written.append((at, _written(value / self._factor), False))
            place = edge.copy()
            if abs(out[0]) > abs(out[1]):  # the name of a steep axis is above its end, where space is free
                place[axis] = high[axis] if self._camera.axes[1, axis] > 0 else low[axis]
                out = np.array([0.0, STEEP_NAMES])
            else:
                place[axis] = 0.5 * (low[axis] + high[axis])
                out = NAMES * out
            at = self._camera.to_view(place)[:2] + self._size_factor * self._inch * out
            written.append((at, LETTERS[axis] if self._moves else f"{LETTERS[axis]} ({self._unit})", True))
        self._write(written)

    def _edge(self, axis: int, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a point (3,) of the box edge that carries the tick labels of an axis, and the normal of this edge.

        The edge is the lowest or leftmost one in the image; the outward normal (2,) is in the image plane. `low` and
        `high` (3,) are the corners of the box.
        """
        right, up = self._camera.axes[:2, axis]
        out = np.array([up, -right]) / np.hypot(right, up)
        if out[1] > 1e-9 or (abs(out[1]) <= 1e-9 and out[0] > 0):
            out = -out
        a, b = (axis + 1) % 3, (axis + 2) % 3
        edges = np.zeros((4, 3))
        edges[:, a] = low[a], low[a], high[a], high[a]
        edges[:, b] = low[b], high[b], low[b], high[b]
        return edges[int(np.argmax(self._camera.to_view(edges)[:, :2] @ out))], out

    def _write(self, labels: list[tuple[np.ndarray, str, bool]]) -> None:
        while len(self._texts) < len(labels):
            self._texts.append(self._ax.text(0, 0, "", color=TEXT, ha="center", va="center"))
        for text, (at, string, name) in zip(self._texts, labels, strict=False):
            text.set(position=at, text=string, visible=True, fontsize=(9 if name else 8) * self._size_factor)
        for text in self._texts[len(labels) :]:
            text.set_visible(False)


def _written(value: float) -> str:
    return f"{value:.9g}".replace("-", "\N{MINUS SIGN}") if abs(value) > 1e-9 else "0"
