"""Directional derivatives of accelerations and multipliers, as returned by the dense and the compiled solver.

Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Tangent:
    """Derivatives of accelerations and multipliers in D directions, for n bodies and m rows.

    Attributes
    ----------
    linear : (D, n, 3) derivatives of the accelerations of the centers of mass, inertial frame
    angular : (D, n, 3) derivatives of the angular accelerations, body axes
    multipliers : (D, m) derivatives of the multipliers of minimum norm in the model's row scale
    internal : (D, k) derivatives of the rates of k auxiliary states
    levels : (D, m, 3) derivatives of the constraint residual Phi, of its rate, and of its second time derivative at
        constant accelerations
    friction : (D, C) derivatives of the magnitudes of C sliding friction elements, in the order of the forces
    """

    linear: np.ndarray
    angular: np.ndarray
    multipliers: np.ndarray
    internal: np.ndarray
    levels: np.ndarray
    friction: np.ndarray
