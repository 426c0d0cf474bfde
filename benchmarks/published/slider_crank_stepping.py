"""The slider-crank mechanism with clearance in minimal coordinates, by time stepping."""

from __future__ import annotations

import numba
import numpy as np

from .section import data
from .time_stepping import stepped

PRINTED = data("slider_crank")
INTERVAL = 0.02  # s, of what is printed


def motion(step: float) -> np.ndarray:
    """Return the published coordinates (nt, 6) at the published times, computed with a step size, s."""
    P = PRINTED
    (l1, l2), (m1, m2, m3), (J1, J2, J3) = P["lengths"], P["masses"], P["inertias"]
    a, b, wall, g = P["half_length"], P["half_height"], P["half_height"] + P["clearance"], P["gravity"]

    @numba.njit
    def terms(q, v):
        k = (m2 / 2 + m3) * l1 * l2
        couple, twist = k * np.cos(q[1] - q[0]), k * np.sin(q[0] - q[1])
        M = np.array(
            [
                [J1 + (m1 / 4 + m2 + m3) * l1**2, couple, 0.0],
                [couple, J2 + (m2 / 4 + m3) * l2**2, 0.0],
                [0.0, 0.0, J3],
            ]
        )
        forces = np.array(
            [
                -twist * v[1] ** 2 - (m1 / 2 + m2 + m3) * g * l1 * np.cos(q[0]),
                twist * v[0] ** 2 - (m2 / 2 + m3) * g * l2 * np.cos(q[1]),
                0.0,
            ]
        )
        gaps, normals, tangents = np.empty(4), np.empty((4, 3)), np.empty((4, 3))
        for corner in range(4):
            side, end = 1.0 - 2.0 * (corner // 2), 2.0 * (corner % 2) - 1.0
            x = end * a * np.cos(q[2]) - side * b * np.sin(q[2])
            y = end * a * np.sin(q[2]) + side * b * np.cos(q[2])
            gaps[corner] = wall - side * (l1 * np.sin(q[0]) + l2 * np.sin(q[1]) + y)
            normals[corner] = -side * np.array([l1 * np.cos(q[0]), l2 * np.cos(q[1]), x])
            tangents[corner] = -np.array([l1 * np.sin(q[0]), l2 * np.sin(q[1]), y])
        return M, forces, gaps, normals, tangents

    count = len(P["motion"]) - 1
    every = round(INTERVAL / step)
    start = np.array([0.0, 0.0, 0.0, *P["rates"]])
    found = stepped(terms, np.full(4, P["restitution"]), P["friction"], start, step, every * count, every)
    found[:, 0] /= 2 * np.pi
    return found
