"""Drawings of constraints along curves and surfaces: rolling, skates, equations and rows of one's own."""

# ruff: noqa: RUF005 (here lists are added to vectors)

from __future__ import annotations

import numpy as np

from .parts import bowl
from .scenes import scene
from .sketch import DARK, FREE, I, J, Sketch, X, Y, Z, turn_about, unit


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
