"""Relative angles of two frames, as relations see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .jets import Jet
from .relation import MovingFrame


def twist(i: Any, j: Any, axis: int) -> Jet:
    """Return the angle, rad, in (-pi, pi], by which frame j is turned relative to i about an axis (X, Y or Z).

    Frames are those of relations or of laws: jets.

    Where the axes of both are not quite aligned, the part of the relative rotation about that axis.
    """
    a, b = (axis + 1) % 3, (axis + 2) % 3
    x_i, y_i, x_j, y_j = i.rotation[:, a], i.rotation[:, b], j.rotation[:, a], j.rotation[:, b]
    return (y_i @ x_j - x_i @ y_j).arctan2(x_i @ x_j + y_i @ y_j)


def angles_123(i: MovingFrame, j: MovingFrame) -> tuple[Jet, Jet, Jet]:
    """Return the 1-2-3 angles, rad, of frame j relative to frame i ("inter-body joints", eqs. 19-22)."""
    R = i.rotation.T @ j.rotation
    return (-R[1, 2]).arctan2(R[2, 2]), R[0, 2].arcsin(), (-R[0, 1]).arctan2(R[0, 0])


def rotation_123(angles: Any) -> np.ndarray:
    """Return the rotation (3, 3) by three 1-2-3 angles, jets or numbers."""
    R: Any = np.eye(3, dtype=object)
    for axis, angle in enumerate(angles):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        turn = np.zeros((3, 3), dtype=object)
        cosine, sine = np.cos(angle), np.sin(angle)
        turn[axis, axis], turn[a, a], turn[b, b], turn[b, a], turn[a, b] = 1.0, cosine, cosine, sine, -sine
        R = R @ turn
    return R
