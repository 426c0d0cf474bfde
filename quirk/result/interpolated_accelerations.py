"""Estimated errors of accelerations, and thus of loads and energies, at interpolated states.

A small position error causes a large load error in a stiff spring or an elastic beam.
"""

from __future__ import annotations

import warnings

import numpy as np

from ..dynamics.sparse.solver.along_states import dynamics_along
from ..errors import OutputWarning, outside
from .state_interpolation import Abscissa, Interpolant

# Largest estimated error of accelerations without a warning, relative to the largest acceleration, and the same over
# one interval as a displacement, relative to the characteristic length: smaller ones are round-off of bodies at rest.
ACCURATE, NOTHING = 1e-2, 1e-9


def warn_of_inaccurate_loads(path: Interpolant, place: Abscissa, flat: np.ndarray, angles: np.ndarray | None) -> None:
    """Issue an OutputWarning if accelerations, and thus loads and energies, are inaccurate at interpolated states.

    The estimate is the difference from the accelerations at states that are interpolated with one derivative less. It
    is computed for one point of each interval, that nearest to its middle, where errors are largest.

    Parameters
    ----------
    path, place : interpolant, and the p points between outputs
    flat : (p, 13 n + k) interpolated state vectors
    angles : (p, K, 3) joint angles, rad, or None if no force law reads them
    """
    order = np.lexsort((np.abs(place.x - 0.5), place.interval))
    middle = order[np.unique(place.interval[order], return_index=True)[1]]
    place, flat = Abscissa(place.interval[middle], place.x[middle]), flat[middle]
    angles = None if angles is None else angles[middle]
    length, time, h = path.segment.model.length, path.time(place), path.lengths(place)
    coarser = path.states(place, coarser=True)
    fine, coarse = (dynamics_along(path.solver, time, states, angles) for states in (flat, coarser))
    error, largest = (
        np.maximum(np.abs(a).max(axis=(1, 2), initial=0.0), length * np.abs(b).max(axis=(1, 2), initial=0.0))
        for a, b in (
            (fine.linear - coarse.linear, fine.angular - coarse.angular),
            (coarse.linear, coarse.angular),
        )
    )
    relative = np.where(error * h**2 > NOTHING * length, error / np.maximum(largest, np.finfo(float).tiny), 0.0)
    worst = int(np.argmax(relative))
    if not relative[worst] <= ACCURATE:
        warnings.warn(
            f"Result.at: at t = {time[worst]:g} s accelerations are uncertain by {error[worst]:.2g} of "
            f"{largest[worst]:.2g} m/s^2, and loads and energies accordingly, because outputs are {h[worst]:.3g} s "
            f"apart; simulate with these times in output=, or with more outputs, such as output={h[worst] / 4:.1g}",
            OutputWarning,
            stacklevel=outside(),
        )
