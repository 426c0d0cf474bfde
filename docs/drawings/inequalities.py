"""Drawings of contacts, stops, ropes and other inequalities."""

from __future__ import annotations

import numpy as np

from .parts import bowl, two_ends
from .scenes import scene
from .sketch import DARK, FREE, I, J, Sketch, X, Z, turn_about


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
def tendon_stop():
    """Two weights on a slack rope over two points, which limits how far they fall."""
    s = Sketch(flat=True, size=(4, 3.6))
    s.fill([[-1.6, 1.4, 0], [1.6, 1.4, 0], [1.6, 1.6, 0], [-1.6, 1.6, 0]], I)
    x = np.linspace(0, 1, 60)[:, None]
    over = np.array([-0.8, 1.1, 0]), np.array([0.8, 1.1, 0])
    s.line(over[0] + x * (over[1] - over[0]) - 0.45 * np.hstack([0 * x, np.sin(np.pi * x), 0 * x]), "#7a4a1e", 2.4)
    for place, low, color, name in ((over[0], -0.2, I, "i"), (over[1], -0.6, J, "j")):
        left = place[0]
        s.line([[left, 1.4, 0], place], DARK, 2.5)
        s.line([place, [left, low, 0]], "#7a4a1e", 2.4)
        s.fill([[left + a, low - b, 0] for a, b in ((-0.25, 0.5), (0.25, 0.5), (0.25, 0), (-0.25, 0))], color)
        s.fill(s.circle(place, Z, 0.08), "w")
        s.text([left, low - 0.25, 0], name)
        s.arrow([left, low - 0.6, 0], [left, low - 1.05, 0])
    s.text([0, 0.65, 0], "at most: upper", (0, -0.28), size=12)
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
