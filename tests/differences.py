"""Derivatives by extrapolated central differences, of what states are moved to along directions."""

import numpy as np

import quirk
from quirk import rotation


def moved_along(state, change):
    """The state displaced by (n, 12): shift in N, turn in body axes, change of velocity in N and of spin in body axes."""
    return quirk.State(
        state.position + change[:, :3],
        rotation.multiply(state.orientation, rotation.exp(change[:, 3:6])),
        state.velocity + change[:, 6:9],
        state.angular_velocity + change[:, 9:],
        internal=state.internal,
    )


def extrapolated(function, h=2e-2, rows=6):
    """The derivative at 0 of a function of a number that returns an array, by Richardson's extrapolation."""
    table = [(function(h * 0.5**k) - function(-h * 0.5**k)) / (2 * h * 0.5**k) for k in range(rows)]
    best, error = table[0], np.inf
    for k in range(1, rows):
        finer = [(4**k * table[i + 1] - table[i]) / (4**k - 1) for i in range(len(table) - 1)]
        # Further columns and finer steps until round-off shows.
        for i, one in enumerate(finer):
            change = np.abs(one - table[i + 1]).max()
            if change < error:
                best, error = one, change
        table = finer
    return best
