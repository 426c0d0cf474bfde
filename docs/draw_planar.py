"""Draws the pictures of docs/planar.md: `python docs/draw_planar.py [NAME ...]`.

As in docs/draw_constraints.py, body i is gray and body j blue, free motions are orange and driven ones green.
"""

# ruff: noqa: RUF005 (here lists are added to vectors)

from __future__ import annotations

from pathlib import Path

import numpy as np
from drawings.parts import wheel
from drawings.scenes import save_scenes, scene
from drawings.sketch import DARK, DRIVEN, I, J, Sketch, Z, turn_about, unit

LINK, RIM = "#e3d9b5", "#e8e8e8"


class Page(Sketch):
    """A picture in the plane, with points (x, y)."""

    def __init__(self):
        super().__init__(flat=True, size=(5, 2.6))

    def on_page(self, points):
        """Points of two or three coordinates."""
        return np.asarray(points, dtype=float)[..., :2]

    def stadium(self, a, b, width, color, edge=DARK):
        """A bar with round ends."""
        a, b = np.array([*a, 0.0]), np.array([*b, 0.0])
        along = unit(b - a)
        t = np.linspace(-np.pi / 2, np.pi / 2, 24)[:, None]
        end = 0.5 * width * (np.cos(t) * along + np.sin(t) * np.cross(Z, along))
        self.fill(np.concatenate([b + end, a - end]), color, edge)

    def disk(self, center, radius, color="w", edge=DARK):
        """A wheel or the end of a pin."""
        self.fill(self.circle([*center, 0.0], Z, radius), color, edge)

    def plate(self, center, size, color, degrees=0.0):
        """A rectangle."""
        corners = 0.5 * np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * [*size, 0]
        self.fill([*center, 0] + corners @ turn_about(Z, degrees).T, color)

    def vector(self, start, end, text="", away=(0, 0), color="k", width=1.5):
        """An arrow with a name at its middle."""
        self.arrow(start, end, color, both=False, width=width)
        self.text(0.5 * (np.array(start) + end), text, away, "k" if color == "k" else color, 13, "italic")

    def turning(self, center, radius, begin, end, **options):
        """An arc with arrow heads, degrees from the right."""
        self.turn([*center, 0.0], Z, radius, begin, end, **options)

    def dashed(self, *points):
        """A thin line."""
        self.line(points, DARK, 0.9, "--")

    def axes_of_plane(self, length=(4.2, 2.2)):
        """Coordinate axes of the plane."""
        for tip, name, away in (([length[0], 0], "x", (0.12, 0)), ([0, length[1]], "y", (0, 0.14))):
            self.arrow([0, 0], tip, "k", both=False, width=1.0)
            self.text(tip, name, away, size=13, style="italic")


def at(origin, degrees, distance, aside=0.0):
    """A point so far from another in a direction, and so far to the left of it."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    return np.array(origin) + distance * np.array([c, s]) + aside * np.array([-s, c])


@scene
def body():
    """Coordinates of a body in its plane."""
    s, g = Page(), np.array([2.3, 1.15])
    s.axes_of_plane()
    s.dashed([0, g[1]], [3.75, g[1]])
    s.dashed([g[0], 0], g)
    s.stadium(at(g, 28, -1.1), at(g, 28, 1.1), 0.36, J)
    s.vector(g, at(g, 28, 0.8), width=1.2)
    s.vector(g, at(g, 28, 0, 0.62), width=1.2)
    s.turning(g, 1.42, 0, 27, color=DARK, both=False)
    s.disk(g, 0.06)
    s.text([g[0] / 2, g[1]], "x", (-0.3, 0.14), style="italic")
    s.text([g[0], 0.45], "y", (0.14, 0), style="italic")
    s.text(at(g, 13, 1.42), "φ", (0.18, 0), style="italic")
    return s


def two_bars(s, p, tip):
    """Bars i and j with a pin between them."""
    s.stadium(at(p, 180, 1.9), p, 0.36, I)
    s.stadium(p, tip, 0.36, J)
    s.disk(p, 0.1)
    s.text(at(p, 180, 1.6), "i")


@scene
def revolute():
    """A pin."""
    s, p = Page(), np.zeros(2)
    two_bars(s, p, at(p, 35, 1.8))
    s.turning(p, 0.75, -25, 95)
    s.text(at(p, 35, 1.6), "j")
    s.text(p, "P", (0, -0.36), style="italic")
    return s


@scene
def angle_driver():
    """A motor between two bars."""
    s, p = Page(), np.zeros(2)
    s.dashed(p, [1.7, 0])
    s.disk(p, 0.3, I)
    two_bars(s, p, at(p, 50, 1.7))
    s.turning(p, 1.05, 0, 46, color=DRIVEN, both=False)
    s.text(at(p, 50, 1.5), "j")
    s.text(at(p, 22, 1.05), "C + f(t)", (0.55, 0.0), DRIVEN, 13)
    return s


def two_plates(s):
    """Bodies of a rod or strut, and their points."""
    i, j = np.array([-1.2, -0.35]), np.array([1.2, 0.35])
    s.plate(i + [-0.4, -0.1], [1.2, 0.9], I, 12)
    s.plate(j + [0.4, 0.1], [1.2, 0.9], J, -14)
    s.text(i, "i", (-0.7, -0.2))
    s.text(j, "j", (0.75, 0.05))
    return i, j


@scene
def prismatic():
    """A slider on a rail."""
    s, origin = Page(), np.array([-1.0, -0.5])
    s.stadium(at(origin, 18, -0.6), at(origin, 18, 2.7), 0.16, I)
    p = at(origin, 18, 1.2)
    s.plate(p, [0.9, 0.55], J, 18)
    s.disk(p, 0.05, "k")
    s.disk(origin, 0.04, "k")
    s.arrow(at(p, 18, -0.9, 0.45), at(p, 18, 0.9, 0.45))
    s.vector(at(origin, 18, -0.1, -0.3), at(origin, 18, 0.6, -0.3), "$a_i$", (0.06, -0.2), width=2.0)
    s.text(origin, "$P_i$", (-0.2, 0.16), size=13, style="italic")
    s.text(p, "$P_j$", (0.26, -0.02), size=13, style="italic")
    s.text(at(origin, 18, 2.7), "i", (0.2, 0.05))
    s.text(at(p, 18, -0.3), "j", (0, 0.02))
    return s


@scene
def double_revolute():
    """A massless rod."""
    s = Page()
    i, j = two_plates(s)
    s.stadium(i, j, 0.13, RIM)
    s.disk(i, 0.1)
    s.disk(j, 0.1)
    s.text((i + j) / 2, "L", (-0.08, 0.24), style="italic")
    s.text(i, "P", (-0.16, 0.24), style="italic")
    s.text(j, "P", (0.16, -0.26), style="italic")
    return s


@scene
def distance_driver():
    """A telescopic strut."""
    s = Page()
    i, j = two_plates(s)
    s.stadium(i, i + 0.62 * (j - i), 0.28, "#cfcfcf")
    s.stadium(i + 0.62 * (j - i), j, 0.13, RIM)
    s.disk(i, 0.1)
    s.disk(j, 0.1)
    up = 0.34 * np.array([-(j - i)[1], (j - i)[0]]) / np.hypot(*(j - i))
    s.arrow(i + up + 0.18 * (j - i), j + up - 0.2 * (j - i), DRIVEN, both=False)
    s.text((i + j) / 2 + up, "f(t)", (-0.15, 0.22), DRIVEN, 13)
    return s


@scene
def parallel_vectors():
    """Two bodies that do not turn relative to each other."""
    s, i, j = Page(), np.array([-1.3, -0.2]), np.array([1.1, 0.2])
    s.plate(i, [1.6, 1.2], I, 20)
    s.plate(j, [1.2, 1.0], J, -10)
    s.vector(at(i, 20, -0.55), at(i, 20, 0.55), "$a_i$", (-0.1, 0.24), width=2.0)
    s.vector(at(j, 20, -0.35), at(j, 20, 0.35), "$a_j$", (-0.1, 0.24), width=2.0)
    s.arrow(j + [0.85, 0], j + [1.6, 0])
    s.arrow(j + [1.2, -0.4], j + [1.2, 0.4])
    s.text(i, "i", (-0.5, -0.5))
    s.text(j, "j", (0.4, -0.32))
    return s


def slotted(s, pin=1.1):
    """Body i with a slot, and body j with a pin in it; returns P of i, and of j."""
    origin = np.array([-1.0, -0.5])
    p = at(origin, 18, pin)
    s.stadium(at(origin, 18, -0.5), at(origin, 18, 2.6), 0.5, I)
    s.stadium(at(origin, 18, 0.25), at(origin, 18, 2.3), 0.22, "w")
    s.stadium(p, at(p, 72, 1.2), 0.26, J)
    s.disk(p, 0.1)
    s.disk(origin, 0.04, "k")
    s.text(origin, "$P_i$", (-0.25, 0.02), size=13, style="italic")
    s.text(at(origin, 18, 2.6), "i", (0.03, 0))
    s.text(at(p, 72, 1.05), "j")
    s.vector(at(origin, 18, -0.1, -0.42), at(origin, 18, 0.7, -0.42), "$a_i$", (0.06, -0.2), width=2.0)
    return origin, p


@scene
def pin_in_slot():
    """A pin that slides and turns."""
    s = Page()
    _, p = slotted(s)
    s.arrow(at(p, 18, -0.75, 0.4), at(p, 18, -0.15, 0.4))
    s.arrow(at(p, 18, 0.45, 0.4), at(p, 18, 1.05, 0.4))
    s.turning(p, 0.95, 92, 140)
    s.text(p, "$P_j$", (0.25, -0.45), size=13, style="italic")
    return s


@scene
def slot_driver():
    """An actuator along a slot."""
    s = Page()
    origin, p = slotted(s, 1.5)
    s.arrow(at(origin, 18, 0, 0.42), at(p, 18, -0.02, 0.42), DRIVEN, both=False)
    s.dashed(origin, at(origin, 18, 0, 0.5))
    s.text(at(origin, 18, 0.7, 0.42), "f(t)", (-0.08, 0.2), DRIVEN, 13)
    s.text(p, "$P_j$", (0.25, -0.45), size=13, style="italic")
    return s


@scene
def coordinate_driver():
    """One x follows another and a motion."""
    s, i, j = Page(), np.array([1.2, 1.55]), np.array([3.2, 0.85])
    s.axes_of_plane((4.4, 2.1))
    for p in (i, j):
        s.dashed(p, [p[0], -0.45 if p is j else 0.25])
    s.plate(i, [0.9, 0.55], I, 15)
    s.plate(j, [0.9, 0.55], J, -20)
    for p, name in ((i, "i"), (j, "j")):
        s.disk(p, 0.045, "k")
        s.text(p, name, (0.24, 0.02))
    s.arrow([0, 0.28], [i[0], 0.28], DARK, both=False, width=1.5)
    s.arrow([0, -0.32], [j[0], -0.32], DRIVEN, both=False)
    s.text([0.6, 0.28], "$x_i$", (0, 0.2), size=13, style="italic")
    s.text([1.6, -0.32], "$x_j = K x_i + C + f(t)$", (0, -0.24), DRIVEN, 13)
    return s


@scene
def gear_pair():
    """Gears, and two pulleys with a belt."""
    s = Page()
    a, b = np.array([-2.1, 0.0]), np.array([-1.15, 0.0])
    s.fill(wheel([*a, 0], 0.38, 12, np.pi / 12), I)
    s.fill(wheel([*b, 0], 0.57, 18), J)
    s.turning(a, 0.22, -120, 120, both=False)
    s.turning(b, 0.34, 120, -120, both=False)
    c, d, r, q = np.array([0.75, 0.0]), np.array([2.3, 0.0]), 0.34, 0.55
    tilt = np.arcsin((q - r) / 1.55)
    for side in (1, -1):
        normal = np.array([-np.sin(tilt), side * np.cos(tilt)])
        s.line([c + r * normal, d + q * normal], DARK, 3.0)
    s.disk(c, r, I)
    s.disk(d, q, J)
    s.turning(c, 0.2, -120, 120, both=False)
    s.turning(d, 0.36, -120, 120, both=False)
    for center in (a, b, c, d):
        s.disk(center, 0.06)
    for center, name, down in ((a, "i", 0.6), (b, "j", 0.78), (c, "i", 0.56), (d, "j", 0.76)):
        s.text(center, name, (0, -down))
    s.text([-1.5, 0.9], "K < 0", size=12)
    s.text([1.5, 0.9], "K > 0", size=12)
    return s


@scene
def gear_on_link():
    """A planet on its arm."""
    s, e = Page(), np.array([-0.6, -0.2])
    q = at(e, 24, 0.95)
    s.fill(wheel([*e, 0], 0.6, 18), I)
    s.fill(wheel([*q, 0], 0.35, 10, np.radians(24) + np.pi / 10 + np.pi), J)
    s.stadium(e, q, 0.26, LINK)
    s.turning(e, 1.45, 42, 80, both=False)
    s.turning(q, 0.5, -60, 60, both=False)
    s.disk(e, 0.06)
    s.disk(q, 0.06)
    s.text(e, "i", (-0.3, -0.25))
    s.text(q, "j", (0.12, -0.52))
    s.text((e + q) / 2, "k", (0.05, 0.02))
    return s


@scene
def rolling():
    """A wheel on a line of body i."""
    s, c, r = Page(), np.array([0.4, 0.0]), 0.62
    s.plate([0, -r - 0.2], [4.0, 0.4], I)
    s.disk(c, r, J)
    s.dashed([-1.5, 0], [1.7, 0])
    s.line([c, at(c, 50, r)], DARK, 1.1)
    s.text(at(c, 50, 0.5 * r), "|ρ|", (-0.17, 0.1), style="italic")
    s.vector([-1.5, 0], [-0.85, 0], "$a_i$", (0, 0.2), width=2.0)
    s.disk([-1.5, 0], 0.04, "k")
    s.text([-1.5, 0], "$P_i$", (-0.1, -0.22), size=13, style="italic")
    s.disk(c, 0.05)
    s.turning(c, 0.82, 125, 55, both=False)
    s.arrow(c + [0.8, 0], c + [1.5, 0])
    s.text([-1.7, -r - 0.2], "i")
    s.text(c, "j", (-0.25, -0.3))
    return s


if __name__ == "__main__":
    save_scenes(Path(__file__).parent / "images" / "planar")
