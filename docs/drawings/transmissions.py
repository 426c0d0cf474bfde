"""Drawings of transmissions: couplings, gears, racks, pulleys and belts."""

# ruff: noqa: RUF005 (here lists are added to vectors)

from __future__ import annotations

import numpy as np

from .parts import wheel
from .scenes import scene
from .sketch import DARK, I, J, Sketch, Z


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
