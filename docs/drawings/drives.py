"""Drawings of prescribed motions."""

# ruff: noqa: RUF005 (here lists are added to vectors)

from __future__ import annotations

import numpy as np

from .parts import two_ends
from .scenes import scene
from .sketch import DARK, DRIVEN, I, J, Sketch, Y, Z, turn_about


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
