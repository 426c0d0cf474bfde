"""Draws the pictures of docs/constraints.md: `python docs/draw_constraints.py [NAME ...]`.

Body i is gray, body j blue, the joint axis a dash-dot line; free motions are orange, driven ones green. Parts are drawn
one over the other, in the order in which they are named.
"""

# ruff: noqa: RUF005 (here lists are added to vectors)

from __future__ import annotations

import io
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import to_rgb
from PIL import Image
from scipy.spatial import ConvexHull

FOLDER = Path(__file__).parent / "images" / "constraints"
I, J, DARK, FREE, DRIVEN = "#b4b4b4", "#5b93cf", "#4a4a4a", "#f07800", "#1c9440"
X, Y, Z = np.eye(3)
SCENES = {}


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


def scene(draw):
    """Note a picture under its name."""
    SCENES[draw.__name__.replace("_", "-")] = draw
    return draw


@scene
def spherical():
    """Ball and socket."""
    s = Sketch()
    s.box([0, 0, -1.1], [1.5, 1.0, 0.16], I)
    s.rod([0, 0, -1.02], [0, 0, -0.2], 0.13, I)
    s.ball([0, 0, 0], 0.34, I)
    s.ball([0, 0, 0.12], 0.27, J)
    s.rod(np.array([0.12, 0, 0.24]), [0.8, 0, 1.0], 0.1, J)
    s.turn([0, 0, 0.1], Z, 0.85, -70, 70)
    s.turn([0, 0, 0.1], s.view[2], 0.85, 95, 165)
    s.turn([0, 0, 0.1], s.view[2], 0.85, 0, -48)
    s.text([0, 0, -1.1], "i", (-0.95, 0))
    s.text([0.8, 0, 1.0], "j", (0.22, 0.08))
    return s


@scene
def revolute():
    """Hinge with an upright pin."""
    s = Sketch()
    s.axis([0, 0, -1.1], [0, 0, -0.6])
    s.box([-1.15, 0, 0], [0.16, 0.9, 1.5], I)
    s.box([-0.62, 0, -0.42], [0.9, 0.36, 0.24], I)
    s.rod([0, 0, -0.54], [0, 0, -0.3], 0.3, I)
    s.box([0.95, 0, 0], [1.5, 0.26, 0.3], J)
    s.rod([0, 0, -0.24], [0, 0, 0.24], 0.3, J)
    s.box([-0.62, 0, 0.42], [0.9, 0.36, 0.24], I)
    s.rod([0, 0, 0.3], [0, 0, 0.54], 0.3, I)
    s.axis([0, 0, 0.54], [0, 0, 1.3], "z", (0.12, 0))
    s.turn([0, 0, 0.85], Z, 0.42, -130, 130)
    s.text([-1.15, 0, 0.75], "i", (0, 0.28))
    s.text([1.7, 0, 0], "j", (0.22, 0))
    return s


@scene
def cylindrical():
    """Shaft in a sleeve."""
    s = Sketch()
    s.axis([-1.9, 0, 0], [-1.4, 0, 0])
    s.rod([-1.4, 0, 0], [-0.5, 0, 0], 0.16, J)
    s.box([0, 0, -0.55], [0.5, 0.4, 0.5], I)
    s.box([0, 0, -0.85], [1.4, 0.9, 0.14], I)
    s.rod([-0.5, 0, 0], [0.5, 0, 0], 0.36, I)
    s.rod([0.5, 0, 0], [1.4, 0, 0], 0.16, J)
    s.axis([1.4, 0, 0], [2.2, 0, 0], "z")
    s.arrow([-0.8, 0, 0.62], [0.8, 0, 0.62])
    s.turn([1.75, 0, 0], X, 0.38, -130, 130)
    s.text([-0.7, 0, -0.85], "i", (-0.3, 0))
    s.text([-1.4, 0, 0], "j", (0.1, 0.34))
    return s


@scene
def prismatic():
    """Slider on a rail."""
    s = Sketch()
    s.axis([-2.0, 0, 0], [-1.5, 0, 0])
    s.box([-1.3, 0, -0.4], [0.2, 0.5, 0.5], I)
    s.box([1.3, 0, -0.4], [0.2, 0.5, 0.5], I)
    s.box([-0.9, 0, 0], [1.2, 0.26, 0.26], I)
    s.box([0, 0, 0], [0.8, 0.62, 0.62], J)
    s.box([0.95, 0, 0], [1.1, 0.26, 0.26], I)
    s.axis([1.5, 0, 0], [2.1, 0, 0], "z")
    s.arrow([-0.8, 0, 0.75], [0.8, 0, 0.75])
    s.text([-1.3, 0, 0.13], "i", (0, 0.28))
    s.text([0, -0.31, 0], "j")
    return s


@scene
def universal():
    """Two forks and a cross."""
    s = Sketch(elevation=26)
    R = turn_about(Z, -28)
    arm = R @ [0.28, 0, 0]
    s.rod([-1.7, 0, 0], [-0.62, 0, 0], 0.14, I)
    s.box([-0.58, 0, 0], [0.14, 0.3, 1.2], I)
    s.box([-0.25, 0, -0.53], [0.7, 0.26, 0.13], I)
    s.axis([0, 0, -1.05], [0, 0, -0.4])
    s.box(R @ [0.25, 0.53, 0], [0.7, 0.13, 0.26], J, R)
    s.rod([0, 0, -0.46], [0, 0, 0], 0.07, DARK)
    s.rod(R @ [0, 0.46, 0], R @ [0, -0.46, 0], 0.07, DARK)
    s.rod([0, 0, 0], [0, 0, 0.46], 0.07, DARK)
    s.box([-0.25, 0, 0.53], [0.7, 0.26, 0.13], I)
    s.box(R @ [0.58, 0, 0], [0.14, 1.2, 0.3], J, R)
    s.rod(R @ [0.65, 0, 0], R @ [1.75, 0, 0], 0.14, J)
    s.box(R @ [0.25, -0.53, 0], [0.7, 0.13, 0.26], J, R)
    s.axis([0, 0, 0.6], [0, 0, 1.25], "x of i", (0.32, 0))
    s.axis(R @ [0, -0.6, 0], R @ [0, -1.5, 0], "y of j", (-0.38, 0.02))
    s.turn([0, 0, 0.9], Z, 0.3, -130, 130)
    s.turn(R @ [0, -1.1, 0], R @ Y, 0.26, -130, 130)
    s.text([-1.7, 0, 0], "i", (-0.2, 0), size=15)
    s.text(R @ [1.75, 0, 0] + arm, "j", (0, 0), size=15)
    return s


@scene
def constant_velocity():
    """Two shafts, the plane that halves their angle, and equal turns."""
    s = Sketch(elevation=16)
    out = turn_about(Y, -35) @ X
    half = unit(out - X)
    s.axis([-2.2, 0, 0], [-1.6, 0, 0])
    s.rod([-1.6, 0, 0], [-0.25, 0, 0], 0.15, I)
    s.ball([0, 0, 0], 0.42, I)
    s.fill(
        [k * half + m * Y for k, m in ((0.95, 0.7), (0.95, -0.7), (-0.95, -0.7), (-0.95, 0.7))], "#f5e6b8", alpha=0.6
    )
    s.ball([0.06, 0, 0.02], 0.3, J)
    s.rod(0.28 * out, 1.6 * out, 0.15, J)
    s.axis(1.6 * out, 2.1 * out, "z of j", (0.12, 0.18))
    s.turn([-1.95, 0, 0], X, 0.34, -120, 120, both=False)
    s.turn(1.85 * out, out, 0.34, -120, 120, both=False)
    s.text([-2.2, 0, 0], "z of i", (-0.32, 0.05), style="italic")
    s.text([-1.0, 0, 0], "i", (0, 0.34))
    s.text(1.0 * out, "j", (-0.05, 0.36))
    return s


@scene
def screw():
    """Nut on a thread."""
    s = Sketch()
    lead, radius = 0.26, 0.2

    def thread(begin, end):
        s.rod([0, 0, begin], [0, 0, end], radius, I)
        toward = np.arctan2(s.view[2, 1], s.view[2, 0])
        for k in range(-20, 20):
            t = np.linspace(-np.pi / 2, np.pi / 2, 30)
            z = lead * (k + t / (2 * np.pi))
            if z[0] > begin and z[-1] < end - 0.02:
                s.line(np.column_stack([radius * np.cos(t + toward), radius * np.sin(t + toward), z]), DARK, 1.2)

    s.box([0, 0, -1.25], [1.3, 0.9, 0.14], I)
    thread(-1.18, -0.1)
    s.rod([0, 0, -0.17], [0, 0, 0.17], 0.55, J)
    s.fill(s.circle([0, 0, 0.17], Z, radius), "#3c6a9c")
    thread(0.17, 1.1)
    s.axis([0, 0, 1.1], [0, 0, 1.55], "z", (0.12, 0))
    s.turn([0, 0, 0.42], Z, 0.5, -110, 110)
    s.arrow([0.9, 0, -0.5], [0.9, 0, 0.5])
    for k in (-2, -3):
        s.line([[-0.2, 0, lead * (k - 0.1)], [-0.75, 0, lead * (k - 0.1)]], DARK, 0.8)
    s.arrow([-0.68, 0, lead * -3.1], [-0.68, 0, lead * -2.1], "k", width=0.8)
    s.text([-0.75, 0, lead * -2.6], "lead", (-0.3, 0), size=12)
    s.text([0.65, 0, -1.25], "i", (0.3, 0))
    s.text([-0.55, 0, 0], "j", (-0.18, 0.1))
    return s


@scene
def planar():
    """Puck on a table."""
    s = Sketch(elevation=30)
    s.box([0, 0, -0.1], [3.2, 2.2, 0.2], I)
    s.rod([0, 0, 0], [0, 0, 0.2], 0.5, J)
    s.axis([0, 0, 0.2], [0, 0, 1.15], "z", (0.12, 0))
    s.turn([0, 0, 0.7], Z, 0.38, -130, 130)
    s.arrow([-1.45, 0, 0.02], [-0.6, 0, 0.02])
    s.arrow([0, -1.08, 0.02], [0, -0.55, 0.02])
    s.text([-1.45, 0, 0.02], "x", (-0.1, 0.1), style="italic")
    s.text([0, -0.9, 0], "y", (0.18, 0), style="italic")
    s.text([1.3, 0.8, 0], "i")
    s.text([0.5, 0, 0.2], "j", (0.1, 0.12))
    return s


@scene
def point_on_line():
    """Bead on a wire, part of a body."""
    s = Sketch()
    R = turn_about(Y, 30)
    s.box([-1.6, 0, -0.45], [0.14, 0.4, 1.1], I)
    s.box([1.6, 0, -0.45], [0.14, 0.4, 1.1], I)
    s.rod([-1.55, 0, 0], [1.55, 0, 0], 0.05, I)
    s.axis([1.67, 0, 0], [2.2, 0, 0], "z")
    s.box(R @ [0, 0, -0.6], [0.3, 0.3, 1.0], J, R)
    s.ball([0, 0, 0], 0.15, J)
    s.arrow([-1.2, 0, 0.33], [-0.4, 0, 0.33])
    s.turn([0, 0, 0], Z, 0.42, -60, 60)
    s.turn([0, 0, 0], s.view[2], 1.25, -140, -98)
    s.text([-1.6, 0, 0.1], "i", (0, 0.2))
    s.text(R @ [0, -0.15, -0.75], "j")
    return s


@scene
def point_on_plane():
    """Tip of a leaning bar on a slab."""
    s = Sketch(elevation=30)
    out = unit([0.45, 0, 1])
    R = turn_about(Y, np.degrees(np.arctan(0.45)))
    s.box([0, 0, -0.1], [3.2, 2.2, 0.2], I)
    s.axis([0, 0, 0], [0, 0, 1.3], "z", (-0.12, 0.05))
    s.arrow([-1.2, 0, 0.01], [-0.25, 0, 0.01])
    s.arrow([0, -1.0, 0.01], [0, -0.3, 0.01])
    s.text([-1.2, 0, 0], "x", (-0.12, 0.05), style="italic")
    s.text([0, -0.9, 0], "y", (0.18, 0), style="italic")
    s.box(0.85 * out, [0.24, 0.24, 1.2], J, R)
    s.ball([0, 0, 0.08], 0.13, J)
    s.turn([0, 0, 0.62], Z, 0.58, -52, 52)
    s.turn([0, 0, 0], s.view[2], 1.6, 50, 78)
    s.text([1.3, 0.8, 0], "i")
    s.text(1.45 * out, "j", (0.22, 0))
    return s


@scene
def fixed():
    """Two boxes with a weld."""
    s = Sketch()
    s.box([-0.8, 0, 0], [1.6, 0.8, 0.8], I)
    s.box([0.75, 0, -0.1], [1.5, 0.5, 0.5], J)
    for k in np.linspace(-0.25, 0.25, 6):
        s.ball([0.02, k, 0.15], 0.05, DARK)
    for k in np.linspace(-0.35, 0.1, 5):
        s.ball([0.02, -0.26, k], 0.05, DARK)
    s.text([-0.8, -0.4, 0], "i")
    s.text([0.8, -0.25, -0.1], "j")
    return s


@scene
def free():
    """Two bodies apart."""
    s = Sketch()
    R = turn_about(Y, -22) @ turn_about(X, 12)
    i, j = np.array([-1.2, 0, -0.3]), np.array([1.1, 0, 0.35])
    s.box(i, [0.9, 0.7, 0.5], I)
    s.box(j, [0.8, 0.6, 0.5], J, R)
    s.line([i, j], DARK, 1.1, "--")
    s.frame(i, 0.75)
    s.frame(j, 0.75, turn=R)
    s.text((i + j) / 2, "d", (0, 0.16))
    s.text(i, "i", (-0.2, -0.2))
    s.text(j, "j", (-0.1, -0.25))
    return s


def two_ends(s, i, j):
    """Bodies of a strut, and their points."""
    R = turn_about(Y, -20)
    s.box(i + [-0.45, 0, -0.15], [0.9, 0.7, 0.7], I)
    s.box(j + R @ [0.45, 0, 0.1], [0.9, 0.6, 0.6], J, R)
    s.text(i + [-0.5, -0.35, -0.2], "i")
    s.text(j + R @ [0.55, -0.3, 0.1], "j")


@scene
def distance():
    """Massless rod."""
    s = Sketch()
    i, j = np.array([-1.0, 0, -0.3]), np.array([1.0, 0, 0.4])
    two_ends(s, i, j)
    s.rod(i, j, 0.04, "#e8e8e8")
    s.ball(i, 0.1, I)
    s.ball(j, 0.1, J)
    s.text((i + j) / 2, "length", (-0.1, 0.25), size=13)
    return s


@scene
def distance_drive():
    """Telescopic strut."""
    s = Sketch()
    i, j = np.array([-1.0, 0, -0.3]), np.array([1.0, 0, 0.4])
    two_ends(s, i, j)
    s.rod(i + 0.5 * (j - i), j, 0.05, "#e8e8e8")
    s.rod(i, i + 0.62 * (j - i), 0.1, "#cfcfcf")
    s.ball(i, 0.12, I)
    s.ball(j, 0.1, J)
    up = np.array([0, 0, 0.38])
    s.arrow(i + 0.05 * (j - i) + up, j - 0.18 * (j - i) + up, DRIVEN)
    s.text((i + j) / 2 + up, "motion(t)", (-0.25, 0.25), DRIVEN, 13)
    return s


def wheel(center, radius, teeth, phase=0.0, inside=None):
    """Points of a toothed wheel, or of a ring with teeth inside."""
    t = np.linspace(0, 2 * np.pi, 24 * teeth)
    depth = 0.045 * np.clip(2.5 * np.sin(teeth * (t - phase)), -1, 1)
    rim = np.column_stack([(radius + depth) * np.cos(t), (radius + depth) * np.sin(t), 0 * t])
    if inside is None:
        return np.array(center) + rim
    outer = np.column_stack([inside * np.cos(t), inside * np.sin(t), 0 * t])[::-1]
    return np.array(center) + np.concatenate([rim, outer])


@scene
def gear():
    """External pair, internal pair, planet."""
    s = Sketch(flat=True, size=(7, 3))

    def hub(center, color="w"):
        s.fill(s.circle(center, Z, 0.06), color)

    def round_arrow(center, radius, begin, end):
        s.turn(center, Z, radius, begin, end, both=False)

    a, b = np.array([-2.5, 0.35, 0]), np.array([-1.55, 0.35, 0])
    s.fill(wheel(a, 0.38, 12, np.pi / 12), I)
    s.fill(wheel(b, 0.57, 18), J)
    round_arrow(a, 0.22, -120, 120)
    round_arrow(b, 0.34, 120, -120)
    c = np.array([0.35, 0.35, 0])
    p = c + [0.46, 0, 0]
    s.fill(wheel(c, 0.84, 27, np.pi / 27, inside=1.02), I, edge="none")
    s.line(wheel(c, 0.84, 27, np.pi / 27), width=0.9)
    s.line(s.circle(c, Z, 1.02), width=0.9)
    s.fill(wheel(p, 0.38, 12, np.pi / 12), J)
    round_arrow(p, 0.22, -120, 120)
    round_arrow(c, 0.64, 130, 230)
    e = np.array([2.35, 0.35, 0])
    q = e + np.array([0.9 * np.cos(0.5), 0.9 * np.sin(0.5), 0])
    s.fill(wheel(e, 0.57, 18), I)
    s.fill(wheel(q, 0.33, 10, 0.5 + np.pi / 10 + np.pi), J)
    along, side = (q - e) / 0.9, 0.1 * np.cross(Z, (q - e) / 0.9)
    s.fill([e + side - 0.1 * along, q + side + 0.1 * along, q - side + 0.1 * along, e - side - 0.1 * along], "#e3d9b5")
    round_arrow(e, 1.25, 55, 90)
    round_arrow(q, 0.44, -60, 70)
    for center in (a, b, c, p, e, q):
        hub(center)
    s.text(a, "i", (-0.2, -0.6))
    s.text(b, "j", (0.1, -0.78))
    s.text(c, "i", (-0.85, -0.85))
    s.text(p, "j", (0, -0.56))
    s.text(e, "i", (-0.2, -0.78))
    s.text(q, "j", (0.05, -0.52))
    s.text((e + q) / 2, "carrier", (-0.35, 0.45), size=12)
    for x, words in ((-2.0, "external"), (0.35, "internal"), (2.55, "planet, i fixed")):
        s.text([x, -0.95, 0], words, size=12)
    return s


@scene
def rolling_disk():
    """Leaning disk on a plane."""
    s = Sketch(elevation=24)
    s.box([0, 0, -0.08], [3.8, 2.6, 0.16], I)
    heading = turn_about(Z, -30) @ X
    axis = turn_about(heading, 14) @ np.cross(heading, Z)
    down = unit(-Z + (Z @ axis) * axis)
    center = -0.9 * down
    ahead = np.linspace(0, 1.35, 20)[:, None]
    s.line(ahead * heading + 0.15 * ahead**2 * np.cross(Z, heading), DARK, 1.1, "--")
    s.rod(center - 0.03 * axis, center + 0.03 * axis, 0.9, J)
    s.axis(center, center + 1.3 * axis, "z of j", (-0.28, -0.1))
    s.axis([0, 0, 0], [0, 0, 2.35], "z of i", (0.4, 0))
    s.fill(s.circle([0, 0, 0], s.view[2], 0.045), "k")
    s.text([0, 0, 0], "c", (0.17, -0.1), style="italic")
    s.turn(center, axis, 0.62, 30, 150, both=False)
    s.turn([0, 0, 2.1], Z, 0.3, -130, 130)
    s.turn([0, 0, 0], heading, 1.95, -104, -70)
    s.text([1.5, 1.0, 0], "i")
    s.text(center - 0.55 * down - 0.45 * heading, "j", (-0.22, 0.15))
    return s


@scene
def knife_edge():
    """Skate from above."""
    s = Sketch(flat=True)
    R = turn_about(Z, 25)
    t = np.linspace(-1, 1, 40)
    side = np.column_stack([t, 0.16 * (1 - t**2), 0 * t])
    s.fill([[-2.1, -1.35, 0], [2.1, -1.35, 0], [2.1, 1.45, 0], [-2.1, 1.45, 0]], "#e4e4e4", "none")
    track = np.linspace(-2.0, 0, 30)
    s.line(np.column_stack([track, np.tan(np.radians(25)) * track + 0.1 * track**2, 0 * track]), DARK, 1.1, "--")
    s.fill(np.concatenate([side, (side * [1, -1, 1])[::-1]]) @ R.T, J)
    s.axis(R @ [0, -0.85, 0], R @ [0, 0.9, 0], "z", (0.14, 0.06))
    s.fill(s.circle([0, 0, 0], Z, 0.045), "k")
    s.arrow(R @ [1.1, 0, 0], R @ [1.8, 0, 0])
    s.turn([0, 0, 0], Z, 0.95, 38, 78)
    s.turn([0, 0, 0], Z, 0.95, 218, 258)
    for k in (-1, 1):
        s.arrow(R @ [0, 0.25 * k, 0], R @ [0, 0.72 * k, 0], "#888888", both=False)
        for m in (-0.1, 0.1):
            s.line([R @ [-m, 0.48 * k - 0.1, 0], R @ [m, 0.48 * k + 0.1, 0]], "#c00000", 2.2)
    s.text([-1.9, 1.2, 0], "i")
    s.text(R @ [-0.6, 0, 0], "j", (0.02, 0.0))
    return s


@scene
def generic():
    """Six coordinates, numbered as the flags."""
    s = Sketch(azimuth=32, elevation=24)
    s.box([0, 0, -1.5], [1.9, 1.9, 0.14], I)
    s.box([0, 0, 0], [0.7, 0.7, 0.7], J)
    for k, axis in enumerate((X, Y, Z)):
        s.axis(0.35 * axis, 2.05 * axis)
        s.turn(0.75 * axis, axis, 0.27, -130, 130)
        s.arrow(1.25 * axis, 1.8 * axis)
        s.text(2.2 * axis, "xyz"[k], style="italic")
        s.text(1.5 * axis, str(k), ((0.2, -0.12), (0, 0.22), (0.2, 0))[k], FREE, 12)
        s.text(0.75 * axis, str(3 + k), ((-0.15, 0.38), (0.12, 0.42), (0.42, 0))[k], FREE, 12)
    s.text([-0.75, 0.75, -1.43], "i")
    s.text([-0.35, 0.35, 0.35], "j", (0.15, 0.1))
    return s


@scene
def drive():
    """Motor on a hinge; actuator on a slider."""
    s = Sketch()
    a, b = np.array([-1.15, 0, 0]), np.array([1.15, 0, 0])
    s.rod(a + [0, 0, -0.9], a + [0, 0, -0.1], 0.38, I)
    s.rod(a + [0, 0, -0.1], a + [0, 0, 0.08], 0.1, DARK)
    s.box(a + [0.5, 0, 0.23], [1.3, 0.3, 0.3], J)
    s.axis(a + [0, 0, 0.3], a + [0, 0, 1.0], "z", (0.12, 0))
    s.turn(a + [0, 0, 0.62], Z, 0.36, -130, 130, DRIVEN, both=False)
    s.text(a + [0, 0, 0.62], "motion(t)", (-0.85, 0.25), DRIVEN, 13)
    s.box(b + [0, 0, -0.75], [2.0, 0.6, 0.2], I)
    s.box(b + [-0.9, 0, -0.4], [0.2, 0.5, 0.5], I)
    s.rod(b + [-0.8, 0, -0.4], b + [0.0, 0, -0.4], 0.1, DARK)
    s.box(b + [0.25, 0, -0.4], [0.6, 0.5, 0.5], J)
    s.axis(b + [0.55, 0, -0.4], b + [1.35, 0, -0.4], "z")
    s.arrow(b + [-0.3, 0, 0.15], b + [0.8, 0, 0.15], DRIVEN, both=False)
    s.text(b + [0.25, 0, 0.15], "motion(t)", (0.1, 0.28), DRIVEN, 13)
    for where, name in ((a + [0, -0.35, -0.55], "i"), (a + [0.85, -0.15, 0.23], "j"), (b + [-0.5, -0.2, -0.65], "i")):
        s.text(where, name)
    s.text(b + [0.25, -0.25, -0.4], "j")
    return s


@scene
def trajectory_drive():
    """Body on a path."""
    s = Sketch()
    t = np.linspace(0, 1, 80)[:, None]
    path = np.hstack([3.2 * t - 1.7, 0 * t, 0.5 + 0.45 * np.sin(2 * np.pi * t)])
    s.box([-1.9, 0, -0.75], [0.7, 0.6, 0.4], I)
    s.frame([-1.9, 0, -0.55], 0.6)
    s.line(path[:-2], DRIVEN, 1.8, "--")
    s.arrow(path[-5], path[-1], DRIVEN, both=False)
    at, R = path[30], turn_about(Y, 15)
    s.box(at + R @ [0, 0, -0.6], [0.7, 0.5, 0.9], J, R)
    s.ball(at, 0.09, DRIVEN)
    s.turn(at, Z, 0.45, -60, 60)
    s.turn(at, s.view[2], 1.35, -92, -62)
    s.text(path[66], "x(t), y(t), z(t)", (0.1, -0.3), DRIVEN, 13)
    s.text([-1.9, -0.3, -0.75], "i")
    s.text(at + R @ [0, -0.25, -0.65], "j")
    return s


def bowl(s):
    """Body i, z = x^2 + y^2, with lines of the same height."""
    rims = np.concatenate([s.circle([0, 0, r * r], Z, r) for r in np.linspace(0.05, 1.1, 40)])
    s.fill(rims[ConvexHull(s.on_page(rims)).vertices], "#e6e6e6")
    s.fill(s.circle([0, 0, 1.21], Z, 1.1), "#f3f3f3")
    for r in (0.45, 0.7, 0.9):
        s.line(s.circle([0, 0, r * r], Z, r), "#9c9c9c", 0.8)


@scene
def implicit():
    """Bead in a bowl."""
    s = Sketch(elevation=28)
    bowl(s)
    r = np.linspace(-1.1, 1.1, 50)
    for angle in np.radians([0, 45, 90, 135]):
        s.line(np.column_stack([r * np.cos(angle), r * np.sin(angle), r * r]), "#9c9c9c", 0.8)
    at = np.array([0.45, 0.3, 0.45**2 + 0.3**2])
    s.ball(at, 0.12, J)
    for way in (unit([-0.3, 0.45, 0]), unit([0.45, 0.3, 2 * at[2]])):
        s.arrow(at + 0.16 * way, at + 0.5 * way, both=False)
        s.arrow(at - 0.16 * way, at - 0.5 * way, both=False)
    s.text(at, "j", (-0.3, 0.05))
    s.text([0, 0, 0], "Φ = z − x² − y²", (-1.5, 0.1), size=13)
    s.text([-1.1, 0, 1.1], "i", (-0.2, -0.3))
    return s


@scene
def contact():
    """Ball over a floor, and the gap between."""
    s = Sketch(elevation=16)
    s.box([0, 0, -0.1], [3.4, 2.2, 0.2], I)
    center = np.array([0.2, 0, 1.0])
    s.fill(s.circle([0.2, 0, 0], Z, 0.45), "#9d9d9d", "none")
    s.ball(center, 0.6, J)
    s.arrow(center - [0, 0, 0.6], center - [0, 0, 1.0], DARK, width=1.0)
    s.text(center - [0, 0, 0.8], "gap", (0.3, 0), size=12)
    s.arrow([-1.2, 0, 0.05], [-1.2, 0, 1.0], both=False)
    s.text([-1.2, 0, 1.0], "push", (0, 0.18), FREE, 13)
    s.text([1.4, -0.9, 0], "i", (0, -0.02))
    s.text(center, "j", (-0.25, 0.05))
    return s


@scene
def stop():
    """Lever between two limits."""
    s = Sketch(flat=True)
    for degrees in (-35, 50):
        way = turn_about(Z, degrees) @ X
        side = np.cross(Z, way) * np.sign(degrees)
        s.line([0.35 * way, 2.0 * way], DARK, 1.0, "--")
        s.box(1.85 * way + 0.22 * side, [0.5, 0.26, 0.2], I, turn_about(Z, degrees))
    lever = turn_about(Z, 8)
    s.box(lever @ [0.95, 0, 0.1], [2.1, 0.22, 0.2], J, lever)
    s.rod([0, 0, 0], [0, 0, 0.4], 0.22, I)
    s.turn([0, 0, 0.5], Z, 1.3, -32, 47)
    s.text([1.75, 1.95, 0], "upper", size=13)
    s.text([1.95, -1.45, 0], "lower", size=13)
    s.text([0, 0, 0.6], "i")
    s.text(lever @ [0.7, 0, 0.6], "j", (0, 0.28))
    return s


@scene
def rope():
    """Slack rope, and how far it reaches."""
    s = Sketch()
    i, j = np.array([-0.9, 0, 0.5]), np.array([0.75, 0, 0.3])
    two_ends(s, i, j)
    x = np.linspace(0, 1, 50)[:, None]
    s.line(i + x * (j - i) - 0.9 * np.hstack([0 * x, 0 * x, np.sin(np.pi * x)]), "#7a4a1e", 2.4)
    s.ball(i, 0.08, I)
    s.ball(j, 0.08, J)
    s.text((i + j) / 2, "at most: length", (0, -1.1), size=13)
    return s


@scene
def one_sided():
    """Bead over a bowl that it may leave."""
    s = Sketch(elevation=28)
    bowl(s)
    at = np.array([0.4, 0.2, 0.85])
    s.line([at, [0.4, 0.2, 0.2]], DARK, 1.0, "--")
    s.ball(at, 0.12, J)
    s.text([0.4, 0.2, 0.5], "gap", (0.28, 0), size=12)
    s.text(at, "j", (-0.3, 0.05))
    s.text([0, 0, 0], "gap = z − x² − y² ≥ 0", (-1.6, 0.1), size=13)
    s.text([-1.1, 0, 1.1], "i", (-0.2, -0.3))
    return s


@scene
def custom_rows():
    """Path of a particle with velocities of one length."""
    s = Sketch(flat=True)
    t = np.linspace(0, 1.9, 100)
    angle = 1.25 - t**1.15
    path = np.cumsum(np.column_stack([np.cos(angle), np.sin(angle), 0 * t]), axis=0) * 0.035
    s.line(path, DARK, 1.1, "--")
    for k in (5, 50, 92):
        s.arrow(path[k], path[k] + 0.75 * unit(path[k + 1] - path[k]), both=False)
        s.ball(path[k], 0.09, J)
        s.text(path[k] + 0.75 * unit(path[k + 1] - path[k]), "v", (0.12, 0.08), FREE, style="italic")
    s.text(path[5], "j", (-0.2, 0))
    s.text(path[50], "A ẍ = b:  v · v̇ = 0", (0.1, -0.75), size=14)
    return s


@scene
def coupling():
    """Two bars on one plate; the right one turns as the left one does, half as far and the other way."""
    s = Sketch(flat=True, size=(5, 3))
    s.fill([[-2.2, -0.12, 0], [2.2, -0.12, 0], [2.2, 0.12, 0], [-2.2, 0.12, 0]], I)
    for x, angle, color, word in ((-1.2, 70, "#d9d9d9", "x_i"), (1.1, 125, J, "x_j = c0 + c1 x_i")):
        pin = np.array([x, 0, 0])
        along = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle)), 0])
        side = 0.1 * np.cross(Z, along)
        s.fill(
            [pin + side - 0.1 * along, pin + side + 1.1 * along, pin - side + 1.1 * along, pin - side - 0.1 * along],
            color,
        )
        s.fill(s.circle(pin, Z, 0.06), "w")
        s.turn(pin, Z, 0.8, *((95, 150) if x < 0 else (98, 68)), both=False)
        s.text(pin, word, (0, -0.4), size=14)
    return s


@scene
def rack_pinion():
    """Pinion on a rack."""
    s = Sketch(flat=True, size=(5, 2.8))
    c, r = np.array([0.0, 0.62, 0]), 0.57
    pitch = 2 * np.pi * r / 18
    x = np.linspace(-2.2, 2.2, 900)
    top = 0.045 * np.clip(2.5 * np.sin(2 * np.pi * x / pitch + np.pi / 2), -1, 1)
    s.fill(np.column_stack([[*x, 2.2, -2.2], [*top, -0.3, -0.3], np.zeros(902)]), I)
    s.fill(wheel(c, r, 18, np.pi), J)
    s.fill(s.circle(c, Z, 0.06), "w")
    s.line([c, c + r * np.array([np.cos(0.5), np.sin(0.5), 0])], width=1.0)
    s.turn(c, Z, 0.8, -20, 60)
    s.arrow([0.9, -0.16, 0], [1.8, -0.16, 0])
    s.text(c, "radius", (0.12, 0.24), size=11)
    s.text([1.35, -0.16, 0], "direction", (0, -0.35), size=12)
    s.text([-1.6, -0.15, 0], "i")
    s.text(c, "j", (-0.25, -0.2))
    return s


@scene
def pulley():
    """Rope over two sheaves and a loose block."""
    s = Sketch(flat=True, size=(4, 3.6))
    s.fill([[-1.6, 1.4, 0], [1.6, 1.4, 0], [1.6, 1.6, 0], [-1.6, 1.6, 0]], I)
    s.line([[-0.9, 1.4, 0], [-0.25, -0.1, 0], [0.4, 1.1, 0], [1.1, 1.1, 0], [1.1, -0.3, 0]], DARK, 1.8)
    for x in (0.4, 1.1):
        s.line([[x, 1.4, 0], [x, 1.1, 0]], DARK, 2.5)
        s.fill(s.circle([x, 1.1, 0], Z, 0.1), "w")
    s.fill([[-0.6, -0.85, 0], [0.1, -0.85, 0], [0.1, -0.25, 0], [-0.6, -0.25, 0]], "#8fb4dd")
    s.fill(s.circle([-0.25, -0.1, 0], Z, 0.1), "w")
    s.fill([[0.85, -0.8, 0], [1.35, -0.8, 0], [1.35, -0.3, 0], [0.85, -0.3, 0]], J)
    s.arrow([-0.25, -0.95, 0], [-0.25, -1.45, 0])
    s.arrow([1.1, -0.9, 0], [1.1, -1.4, 0])
    s.text([-0.9, 1.4, 0], "i", (-0.1, -0.22))
    s.text([1.1, -0.55, 0], "j")
    return s


@scene
def pulley_with_drums():
    """Rope from a load over a sheave onto a winding drum."""
    s = Sketch(flat=True, size=(4, 3.6))
    sheave, drum, r, R = np.array([0.8, 1.0, 0]), np.array([-1.0, -0.6, 0]), 0.25, 0.5
    # Both are run around by the left: a straight part along u touches them on its left, at n times the radius.
    span = sheave - drum
    tilt = np.arctan2(span[1], span[0]) - np.arcsin((R - r) / np.hypot(*span[:2]))
    n = np.array([-np.sin(tilt), np.cos(tilt), 0])
    arc = np.linspace(0, np.arctan2(n[1], n[0]), 40)
    over = sheave + r * np.column_stack([np.cos(arc), np.sin(arc), 0 * arc])
    s.fill([[-1.6, 1.5, 0], [1.6, 1.5, 0], [1.6, 1.7, 0], [-1.6, 1.7, 0]], I)
    s.line([[0.8, 1.5, 0], sheave], DARK, 2.5)
    s.fill(s.circle(sheave, Z, r), "w")
    s.fill(s.circle(drum, Z, R), J)
    for center in (sheave, drum):
        s.fill(s.circle(center, Z, 0.05), DARK)
    s.line([sheave + [r, -1.6, 0], *over, drum + R * n], DARK, 1.8)
    s.fill([sheave + [x, y, 0] for x, y in ((0, -2.1), (0.5, -2.1), (0.5, -1.6), (0, -1.6))], I)
    s.turn(drum, Z, 0.7, 190, 290, both=False)
    s.text(drum + [0, -0.25, 0], "j")
    s.text(sheave + [0.25, -1.85, 0], "i")
    s.text(sheave, "radius", (0.5, 0.1), size=11)
    return s


@scene
def belt():
    """Belt around two wheels, tight below and slack above."""
    s = Sketch(flat=True, size=(5, 2.6))
    a, b, r, R = np.array([-1.5, 0, 0]), np.array([1.2, 0, 0]), 0.45, 0.9
    tilt = np.arcsin((R - r) / (b - a)[0])
    upper = np.array([-np.sin(tilt), np.cos(tilt), 0])
    s.fill(s.circle(a, Z, r), I)
    s.fill(s.circle(b, Z, R), J)
    for center in (a, b):
        s.fill(s.circle(center, Z, 0.05), DARK)
    turned = np.linspace(np.arctan2(upper[1], upper[0]), -np.arctan2(upper[1], upper[0]), 60)
    far = b + R * np.column_stack([np.cos(turned), np.sin(turned), 0 * turned])
    back = np.linspace(2 * np.pi - np.arctan2(upper[1], upper[0]), np.arctan2(upper[1], upper[0]), 60)
    near = a + r * np.column_stack([np.cos(back), np.sin(back), 0 * back])
    s.line([a + r * upper, *far], DARK, 1.4)
    s.line([*far[-1:], *near], DARK, 3.2)
    s.turn(a, Z, 0.62, 200, 150, both=False)
    s.turn(b, Z, 1.1, 30, -20, both=False)
    s.text(0.5 * (a + b) + [0, 0.68, 0], "slack", (0, 0.2), size=11)
    s.text(0.5 * (a + b) + [0, -0.68, 0], "tight", (0, -0.2), size=11)
    s.text(a, "0", (0.15, 0.1))
    s.text(b, "1", (0.15, 0.1))
    return s


@scene
def point_on_curve():
    """Bead on a bent wire."""
    s = Sketch(elevation=24)
    t = np.linspace(0, 2 * np.pi, 200)
    wire = np.column_stack([1.7 * np.cos(t), np.sin(t), 0.3 * np.cos(2 * t) + 0.15 * np.sin(t)])
    s.box([0, 0, -1.2], [1.6, 1.0, 0.14], I)
    for k in (40, 100, 180):
        s.line([[0.4 * wire[k, 0], 0.3 * wire[k, 1], -1.13], wire[k]], "#8a8a8a", 2.5)
    s.line(wire, "#8a8a8a", 3.5)
    k = 145
    R = turn_about(Y, -15)
    s.box(wire[k] + R @ [0, 0, -0.36], [0.26, 0.26, 0.5], J, R)
    s.ball(wire[k], 0.12, J)
    up = np.array([0, 0, 0.24])
    s.arrow(wire[k - 26] + up, wire[k - 8] + up)
    s.arrow(wire[k + 8] + up, wire[k + 24] + up)
    s.text([0.8, -0.2, -1.2], "i", (0.25, 0))
    s.text(wire[k] + R @ [0, -0.13, -0.38], "j")
    return s


@scene
def curve_on_curve():
    """Cam and roller."""
    s = Sketch(flat=True, size=(4, 3.4))
    t = np.linspace(0, 2 * np.pi, 200)
    r = 0.75 + 0.22 * np.cos(2 * (t - 0.9)) + 0.1 * np.cos(t - 0.9)
    cam = np.column_stack([r * np.cos(t), r * np.sin(t), 0 * t])
    s.fill(cam, I)
    gap = np.sqrt(np.clip(0.28**2 - cam[:, 0] ** 2, 0, None))
    top = np.where(np.abs(cam[:, 0]) < 0.28, cam[:, 1] + gap, -1).max()
    c = np.array([0, top, 0])
    s.fill([c + [-0.1, 0, 0], c + [0.1, 0, 0], c + [0.1, 0.95, 0], c + [-0.1, 0.95, 0]], J)
    s.fill(s.circle(c, Z, 0.28), J)
    s.fill(s.circle([0, 0, 0], Z, 0.06), "w")
    s.turn([0, 0, 0], Z, 0.45, -120, 120, both=False)
    s.arrow(c + [0.45, 0.2, 0], c + [0.45, 0.85, 0])
    s.text([0, 0, 0], "i", (-0.2, -0.22))
    s.text(c, "j", (0, 0.0))
    return s


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[1:] or SCENES:
        SCENES[name]().save(FOLDER / f"{name}.png")
