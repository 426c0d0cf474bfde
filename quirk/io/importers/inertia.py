"""Repair of physically impossible inertias."""

from __future__ import annotations

import numpy as np

# Smallest second moment of mass of a repaired body along any axis, relative to the largest.
FLATTEST = 1e-3
# Density, kg/m^3, of the sphere that represents a mass without moments of inertia.
DENSITY = 1000.0


def repaired(inertia: np.ndarray, mass: float) -> np.ndarray:
    """Return the physically possible inertia (3, 3) nearest to a symmetric tensor (3, 3), kg m^2.

    The second moments of mass, which are the integrals of x^2, y^2 and z^2 along principal axes, equal half the trace
    minus the moments of inertia. Second moments below `FLATTEST` times the largest are increased to this value. If none
    is positive, the inertia of a sphere of water with the same `mass`, kg, is returned.
    """
    moments, axes = np.linalg.eigh(inertia)
    squares = 0.5 * moments.sum() - moments
    if squares.max() <= 0:
        radius = (0.75 * mass / (np.pi * DENSITY)) ** (1 / 3)
        return 0.4 * mass * radius**2 * np.eye(3)
    squares = np.maximum(squares, FLATTEST * squares.max())
    made: np.ndarray = axes @ np.diag(squares.sum() - squares) @ axes.T
    return 0.5 * (made + made.T)


def moments_text(inertia: np.ndarray) -> str:
    """Return the principal moments of an inertia (3, 3) as a string."""
    moments = np.linalg.eigvalsh(inertia)
    moments[np.abs(moments) < 1e-12 * np.abs(moments).max()] = 0.0  # round-off
    return "(" + ", ".join(f"{moment:.4g}" for moment in moments) + ")"
