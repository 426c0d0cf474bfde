"""Bodies that several drawings share: toothed wheels, the ends of a strut, a bowl."""

# ruff: noqa: RUF005 (here lists are added to vectors)

from __future__ import annotations

import numpy as np
from scipy.spatial import ConvexHull

from .sketch import I, J, Y, Z, turn_about


def wheel(center, radius, teeth, phase=0.0, inside=None):
    """Points of a toothed wheel, or of a ring with teeth inside."""
    t = np.linspace(0, 2 * np.pi, 24 * teeth)
    depth = 0.045 * np.clip(2.5 * np.sin(teeth * (t - phase)), -1, 1)
    rim = np.column_stack([(radius + depth) * np.cos(t), (radius + depth) * np.sin(t), 0 * t])
    if inside is None:
        return np.array(center) + rim
    outer = np.column_stack([inside * np.cos(t), inside * np.sin(t), 0 * t])[::-1]
    return np.array(center) + np.concatenate([rim, outer])


def two_ends(s, i, j):
    """Bodies of a strut, and their points."""
    R = turn_about(Y, -20)
    s.box(i + [-0.45, 0, -0.15], [0.9, 0.7, 0.7], I)
    s.box(j + R @ [0.45, 0, 0.1], [0.9, 0.6, 0.6], J, R)
    s.text(i + [-0.5, -0.35, -0.2], "i")
    s.text(j + R @ [0.55, -0.3, 0.1], "j")


def bowl(s):
    """Body i, z = x^2 + y^2, with lines of the same height."""
    rims = np.concatenate([s.circle([0, 0, r * r], Z, r) for r in np.linspace(0.05, 1.1, 40)])
    s.fill(rims[ConvexHull(s.on_page(rims)).vertices], "#e6e6e6")
    s.fill(s.circle([0, 0, 1.21], Z, 1.1), "#f3f3f3")
    for r in (0.45, 0.7, 0.9):
        s.line(s.circle([0, 0, r * r], Z, r), "#9c9c9c", 0.8)
