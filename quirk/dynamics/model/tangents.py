"""Directional derivatives of accelerations and multipliers, as returned by the dense and the compiled solver."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tangent:
    """Derivatives of accelerations and multipliers along D directions.

    Attributes
    ----------
    linear : (D, n, 3) of the accelerations of the centers of mass, inertial frame
    angular : (D, n, 3) of the derivatives of the angular velocities, body axes
    multipliers : (D, m) of the multipliers; of minimum norm in the model's row scale where rows are redundant
    internal : (D, k) of the rates of the internal variables
    levels : (D, m, 3) of Phi, its rate, and its second derivative at constant accelerations
    friction : (D, C) of the magnitudes of all sliding friction proportional to a load, in the order of the forces
    """

    linear: np.ndarray
    angular: np.ndarray
    multipliers: np.ndarray
    internal: np.ndarray
    levels: np.ndarray
    friction: np.ndarray
