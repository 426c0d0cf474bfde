"""Pictures of bodies in parallel projection, with arrows for their motions."""

from __future__ import annotations

import io

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image
from scipy.spatial import ConvexHull

# Colors of body i, body j, edges, free motions and driven motions.
I, J, DARK, FREE, DRIVEN = "#b4b4b4", "#5b93cf", "#4a4a4a", "#f07800", "#1c9440"
X, Y, Z = np.eye(3)


def unit(v):
    """Return a vector at length 1."""
    return np.asarray(v, dtype=float) / np.linalg.norm(v)


def across(axis):
    """Two unit vectors perpendicular to an axis and to each other."""
    a = unit(np.cross(axis, X if abs(unit(axis)[0]) < 0.9 else Y))
    return a, np.cross(unit(axis), a)


def turn_about(axis, degrees):
    """Matrix of a rotation."""
    a, angle = unit(axis), np.radians(degrees)
    K = np.cross(np.eye(3), a)
    return np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K


class Sketch:
    """One picture, seen in parallel projection; `flat` looks along -z, with x to the right and y up."""

    def __init__(self, flat=False, azimuth=-62, elevation=22, size=(5, 3.5)):
        self.figure, self.axes = plt.subplots(figsize=size, dpi=100)
        self.axes.set_aspect("equal")
        self.axes.axis("off")
        self.figure.subplots_adjust(0.02, 0.02, 0.98, 0.98)
        a, e = np.radians([azimuth, elevation])
        right = [-np.sin(a), np.cos(a), 0]
        up = [-np.cos(a) * np.sin(e), -np.sin(a) * np.sin(e), np.cos(e)]
        self.view = np.array([X, Y, Z]) if flat else np.array([right, up, np.cross(right, up)])
        self.order = 0

    def on_page(self, points):
        """Where points are on the page (..., 2)."""
        return np.asarray(points, dtype=float) @ self.view[:2].T

    def next(self):
        """Each part lies over those before it."""
        self.order += 1
        return self.order

    def shade(self, color, normal):
        """A face's color, lighter where it looks up and to the viewer."""
        light = 0.72 + 0.33 * max(0.0, unit(normal) @ unit(0.5 * self.view[2] + self.view[1]))
        return np.clip(np.array(to_rgb(color)) * light, 0, 1)

    def fill(self, points, color, edge=DARK, alpha=1.0):
        """A polygon."""
        self.axes.fill(*self.on_page(points).T, fc=color, ec=edge, lw=0.9, alpha=alpha, zorder=self.next())

    def line(self, points, color=DARK, width=1.4, style="-"):
        """A line through points."""
        self.axes.plot(*self.on_page(points).T, ls=style, color=color, lw=width, zorder=self.next())

    def box(self, center, size, color, turn=None):
        """A box, its faces that look to the viewer."""
        turn, half = np.eye(3) if turn is None else turn, np.array(size) / 2
        for axis in range(3):
            normal = turn[:, axis] * (1 if turn[:, axis] @ self.view[2] > 0 else -1)
            a, b = (turn[:, k] * half[k] for k in range(3) if k != axis)
            middle = np.array(center) + normal * half[axis]
            self.fill([middle + a + b, middle + a - b, middle - a - b, middle - a + b], self.shade(color, normal))

    def circle(self, center, axis, radius):
        """Points of a circle about an axis."""
        a, b = across(axis)
        t = np.linspace(0, 2 * np.pi, 73)[:, None]
        return np.array(center) + radius * (np.cos(t) * a + np.sin(t) * b)

    def rod(self, start, end, radius, color):
        """A cylinder."""
        start, end = np.array(start, dtype=float), np.array(end, dtype=float)
        axis = unit(end - start)
        rims = np.concatenate([self.circle(start, axis, radius), self.circle(end, axis, radius)])
        hull = rims[ConvexHull(self.on_page(rims)).vertices]
        self.fill(hull, self.shade(color, self.view[1] + 0.3 * self.view[2]) * 0.93)
        facing, normal = (end, axis) if axis @ self.view[2] > 0 else (start, -axis)
        self.fill(self.circle(facing, axis, radius), self.shade(color, normal))

    def ball(self, center, radius, color):
        """A ball with a lit spot."""
        self.fill(self.circle(center, self.view[2], radius), self.shade(color, self.view[1]) * 0.9)
        spot = np.array(center) + radius * (0.3 * self.view[1] - 0.25 * self.view[0])
        self.fill(self.circle(spot, self.view[2], 0.3 * radius), np.clip(np.array(to_rgb(color)) * 1.2, 0, 1), "none")

    def axis(self, start, end, text="", away=(0.1, 0.1)):
        """A joint axis."""
        self.line([start, end], "k", 1.1, (0, (9, 3, 2, 3)))
        self.text(end, text, away, style="italic")

    def arrow(self, start, end, color=FREE, both=True, width=2.2):
        """A straight arrow with one head or two."""
        a, b = self.on_page([start, end])
        style = {"arrowstyle": "<|-|>" if both else "-|>", "color": color, "lw": width, "shrinkA": 0, "shrinkB": 0}
        style["mutation_scale"] = 6 + 4 * width
        self.axes.annotate("", b, a, arrowprops=style, zorder=self.next())
        self.axes.plot(*np.array([a, b]).T, alpha=0)

    def turn(self, center, axis, radius, begin=-150, end=120, color=FREE, both=True):
        """An arc about an axis, with arrow heads.

        Degrees count from the side that looks to the viewer, or from the right where the axis itself does.
        """
        axis = unit(axis)
        toward = self.view[2] - (self.view[2] @ axis) * axis
        a = unit(toward) if np.linalg.norm(toward) > 0.05 else self.view[0]
        t = np.radians(np.linspace(begin, end, 60))[:, None]
        arc = np.array(center) + radius * (np.cos(t) * a + np.sin(t) * np.cross(axis, a))
        self.line(arc[3 if both else 0 : -3], color, 2.2)
        self.arrow(arc[-8], arc[-1], color, both=False)
        if both:
            self.arrow(arc[7], arc[0], color, both=False)

    def text(self, point, text, away=(0, 0), color="k", size=14, style="normal"):
        """Words at a point, moved on the page."""
        x, y = self.on_page(point) + np.array(away)
        self.axes.text(x, y, text, color=color, size=size, style=style, ha="center", va="center", zorder=1000)

    def frame(self, origin, length=0.45, names="xyz", turn=None, away=0.1):
        """Three thin arrows."""
        for k, name in enumerate(names):
            tip = np.array(origin) + length * (np.eye(3) if turn is None else turn)[:, k]
            self.arrow(origin, tip, "k", both=False, width=1.0)
            step = self.on_page(tip) - self.on_page(origin)
            self.text(tip, name, away * step / max(np.linalg.norm(step), 1e-9), size=12, style="italic")

    def save(self, path):
        """Fit the page around everything, words too, and write it with few colors."""
        for _ in range(3):
            self.figure.canvas.draw()
            parts = [*self.axes.lines, *self.axes.patches, *self.axes.texts]
            corners = np.concatenate([part.get_window_extent().get_points() for part in parts])
            (x0, y0), (x1, y1) = self.axes.transData.inverted().transform([corners.min(axis=0), corners.max(axis=0)])
            margin = 0.03 * max(x1 - x0, y1 - y0)
            self.axes.set(xlim=(x0 - margin, x1 + margin), ylim=(y0 - margin, y1 + margin))
        picture = io.BytesIO()
        self.figure.savefig(picture)
        Image.open(picture).convert("RGB").quantize(128).save(path, optimize=True)
        plt.close(self.figure)
