"""How accelerations and multipliers change along directions, as both the dense and the compiled side return it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tangent:
    """How accelerations and multipliers change along D directions.

    Attributes
    ----------
    linear : (D, n, 3) accelerations of the centers of mass in N
    angular : (D, n, 3) derivatives of the angular velocities, in body axes
    multipliers : (D, m); where rows are redundant those of least norm in the model's row scale
    internal : (D, k) rates of the internal variables
    levels : (D, m, 3) Phi, its rate, and its second derivative at constant accelerations
    friction : (D, C) magnitudes of all friction that slides and is in proportion to loads, in the order of the forces
    """

    linear: np.ndarray
    angular: np.ndarray
    multipliers: np.ndarray
    internal: np.ndarray
    levels: np.ndarray
    friction: np.ndarray
