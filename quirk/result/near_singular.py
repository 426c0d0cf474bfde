"""Outputs near a singular configuration, whose accelerations and joint loads are inaccurate.

If the smallest relative distance of an independent row from the span of the other rows is d, errors of the state are
multiplied by up to 1 / d^2 in multipliers. States with errors of 1e-13 give loads with seven digits at d = NEAR.
"""

from __future__ import annotations

import warnings

import numpy as np

from ..dynamics.sparse.solver.solver import Solver
from ..errors import RoundOffWarning, outside

# Relative distance of a row from the span of the other rows below which accelerations and loads are inaccurate.
NEAR = 1e-3
# Outputs are examined if their distance in the mass metric is below EXAMINED, and below 1 / VARIES of the largest one,
# because rows that are nearly dependent at all outputs do not indicate a singular configuration. The distance itself is
# computed in a metric independent of the masses: in the mass metric light bodies make rows nearly parallel.
EXAMINED, VARIES = 3e-2, 10.0


def distances_from_singular(
    solver: Solver, times: np.ndarray, states: np.ndarray, in_mass_metric: np.ndarray, rank: int
) -> np.ndarray:
    """Return upper bounds of the distances d of nt outputs from singular configurations, (nt,).

    The bounds are powers of ten times NEAR; they are infinite for outputs that are farther away than NEAR, and zero in
    a singular configuration.

    Parameters
    ----------
    solver : solver of the model
    times, states : (nt,) times of the outputs, s, and their states (nt, 13 n + k)
    in_mass_metric : (nt,) distances in the mass metric
    rank : number of independent rows at other states
    """
    bounds = np.full(len(times), np.inf)
    close = (in_mass_metric < EXAMINED) & (VARIES * in_mass_metric < in_mass_metric.max(initial=0.0))
    for row in np.flatnonzero(close):
        y = solver.slots.state_to_lanes(states[row])
        bounds[row] = solver.distance_from_singular(y, float(times[row]), rank, NEAR)
    return bounds


def warn_near_singular(time: np.ndarray, bounds: np.ndarray) -> None:
    """Warn if accelerations and loads of outputs are inaccurate because a singular configuration is near.

    `time` (nt,) are the output times, s, and `bounds` (nt,) the bounds returned by `distances_from_singular`.
    """
    near = np.isfinite(bounds)
    if not near.any():
        return
    row = int(np.argmin(bounds))
    others = f" (and at {near.sum() - 1} other output times)" if near.sum() > 1 else ""
    if bounds[row] > 0.0:
        cause = f"is so near that errors of the state are multiplied by {bounds[row] ** -2:.0e} or more"
    else:
        cause = "is reached, in which the constraints do not determine them"
    warnings.warn(
        f"accelerations and joint loads at t = {time[row]:.9g} s{others} are inaccurate: a singular configuration "
        f"{cause}; positions and velocities keep the tolerance. Use output times farther away; result.summary() names "
        "the constraints that depend on each other there",
        RoundOffWarning,
        stacklevel=outside(),
    )
