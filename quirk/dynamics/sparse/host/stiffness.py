"""Whether the steps of an explicit run are limited by stability: by motion that decays faster than anything changes."""

from __future__ import annotations

from functools import cache

import numpy as np

from quirk.integrators import TABLEAUX

from .solver import Solver

# The interval is searched up to here, in steps this fine.
FARTHEST, FINE = 20.0, 0.01
# Iterations of the power method at most, and by what part its last two values may differ.
ITERATIONS, CONVERGED = 60, 0.02
# States are moved by this part of the largest change that counts, the root of round-off.
NEARBY = 1e-7


@cache
def stability_interval(name: str) -> float:
    """Return how far the real stability interval of a method reaches: steps times rates of decay that do not grow."""
    tableau = TABLEAUX[name]
    s = tableau.stages
    for x in np.arange(FINE, FARTHEST, FINE):
        grown = 1 - x * (tableau.b @ np.linalg.solve(np.eye(s) + x * tableau.a, np.ones(s)))
        if abs(grown) > 1 + 1e-9:
            return float(x - FINE)
    return FARTHEST


def fastest_decay(solver: Solver, y: np.ndarray, t: float) -> float:
    """Return the rate, 1/s, of the fastest mode at a state (size,), or 0 if that swings or grows.

    By the power method with differences of y', of which a few digits are enough. Where the fastest mode swings the
    method does not settle.
    """
    slots, n = solver.slots, solver.slots.bodies
    length = solver.model.length
    scale = slots.to_lanes(np.tile(np.repeat([length, 1.0, length, 1.0], [3, 4, 3, 3]), (n, 1)))
    bodies = slice(0, slots.first_carried)
    start = solver.rates(t, y)[bodies]
    moved, direction = y.copy(), slots.to_lanes(np.random.default_rng(0).normal(size=(n, 13)))
    rate, before = 0.0, np.inf
    for _ in range(ITERATIONS):
        direction /= np.linalg.norm(direction)
        moved[bodies] = y[bodies] + NEARBY * scale * direction
        image = (solver.rates(t, moved)[bodies] - start) / (NEARBY * np.where(scale > 0, scale, 1.0))
        rate = float(direction @ image)
        if not np.isfinite(rate):
            return 0.0
        if abs(rate - before) <= CONVERGED * abs(rate):
            return max(0.0, -rate)
        direction, before = image, rate
    return 0.0
