"""The woodpecker toy by its published model and time-stepping method."""

from __future__ import annotations

import numba
import numpy as np

from .section import data
from .time_stepping import stepped

PRINTED = data("woodpecker")
INTERVAL = 0.01  # s, of what is printed


def motion(step: float, tilt: float) -> np.ndarray:
    """Return the published coordinates (nt, 6) at the published times.

    Parameters
    ----------
    step : float
        Step size, s.
    tilt : float
        Initial angle of the sleeve, rad.
    """
    P = PRINTED
    m, whole, g = P["mass_bird"], P["mass_bird"] + P["mass_sleeve"], P["gravity"]
    lM, lG, c = P["to_pivot"], P["to_bird"], P["stiffness"]
    M = np.array(
        [
            [whole, m * lM, m * lG],
            [m * lM, P["inertia_sleeve"] + m * lM**2, m * lM * lG],
            [m * lG, m * lM * lG, P["inertia_bird"] + m * lG**2],
        ]
    )
    weight = -g * np.array([whole, m * lM, m * lG])
    play = P["bore"] - P["pole"]
    open_ = np.array([lM + lG - P["beak_back"] - P["pole"], play, play])
    normals = np.array([[0, 0, -P["beak_up"]], [0, P["half_height"], 0], [0, -P["half_height"], 0]])
    tangents = np.array([[1, lM, lG - P["beak_back"]], [1, P["bore"], 0], [1, P["bore"], 0]])

    @numba.njit
    def terms(q, v):
        moment = c * (q[2] - q[1])
        return M, weight + np.array([0.0, moment, -moment]), open_ + normals @ q, normals, tangents

    rows = np.array(P["motion"])
    every = round(INTERVAL / step)
    restitution = np.array([P["beak_restitution"], 0.0, 0.0])
    start = rows[0, [1, 3, 5, 2, 4, 6]]
    start[1] = tilt
    found = stepped(terms, restitution, P["friction"], start, step, every * (len(rows) - 1), every)
    return found[:, [0, 3, 1, 4, 2, 5]]
