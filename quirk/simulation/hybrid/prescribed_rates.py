"""Rates of gaps and slip that drivers prescribe, so that contacts and friction cannot change them.

A contact problem has r rows, one for each gap and for each slip component; W (r, r) are the accelerations of the rows,
m/s^2, per unit force along each row, N, or the jumps of their rates, m/s, per unit impulse, N s.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import null_space

from quirk.dynamics.contact.contact_modes import ContactModes

from .contact_rows import ContactRows
from .contact_states import ROUND_OFF

# A response to forces below this fraction of the largest one is round-off.
UNRESPONSIVE = 1e-10
# A deceleration that falls below this fraction of itself before it reverses slip ends it smoothly.
FADED = 0.5


def is_prescribed(rows: ContactRows, solution: ContactModes, k: int) -> bool:
    """Whether drivers, other constraints and contacts prescribe a component of the slip of friction element k.

    `rows` are the rows of the contact problem, and `solution` its solution, in which the element slides.
    """
    own, active = np.array(rows.elements[k].rows), np.flatnonzero(solution.independent)
    response = rows.W[np.ix_(own, own)]
    if active.size:
        reaction = np.linalg.solve(rows.W[np.ix_(active, active)], rows.W[np.ix_(active, own)])
        response = response - rows.W[np.ix_(own, active)] @ reaction
    free = float(rows.unconstrained_response[own].max())
    return bool(np.linalg.eigvalsh(response)[0] <= UNRESPONSIVE * free)


def without_smooth_end(
    W: np.ndarray,
    rates: np.ndarray,
    accelerations: np.ndarray,
    at_rest: np.ndarray,
    accelerations_after: Callable[[float], np.ndarray],
    noise: float,
) -> np.ndarray:
    """Return the accelerations (r,) of rows, m/s^2, without the deceleration with which drivers end slip smoothly.

    No force along the rows changes rates in the null space of W. At constant deceleration they would be reversed after
    twice the time in which they vanish. If the deceleration has faded by then, slip ends without reversal.

    Parameters
    ----------
    W : (r, r) accelerations per unit force
    rates, accelerations : (r,) rates of the rows, m/s, and their accelerations without forces along them, m/s^2
    at_rest : (r,) mask of the rows that count as at rest
    accelerations_after : function that returns the accelerations (r,) a given time, s, later
    noise : acceleration, m/s^2, below which accelerations are round-off
    """
    held = np.flatnonzero(at_rest)
    if not held.size:
        return accelerations
    prescribed = null_space(W[np.ix_(held, held)], rcond=UNRESPONSIVE)
    rate, change = rates[held] @ prescribed, accelerations[held] @ prescribed
    fall = float(np.linalg.norm(change))
    if fall <= noise:
        return accelerations
    later = accelerations_after(2.0 * float(np.linalg.norm(rate)) / fall)
    if np.linalg.norm(later[held] @ prescribed) > FADED * fall:
        return accelerations
    without = accelerations.copy()
    without[held] -= prescribed @ change
    return without


def slow_prescribed_rates(W: np.ndarray, rates: np.ndarray, limits: np.ndarray) -> np.ndarray:
    """Return the part of the rates (c,) of closed gaps that drivers prescribe, if it is slow; otherwise zeros.

    It is the part that no impulse changes, and for gaps with such a part that approach slowly their whole rate. A
    driver that sets a body down smoothly may close a gap a little before it comes to rest, because of round-off. This
    is no impact.

    Parameters
    ----------
    W : (c, c) jumps of the rates per unit impulse at each gap
    rates : (c,) rates of the gaps
    limits : (c,) rates that count as slow
    """
    response = np.diag(W)
    scale = np.sqrt(np.where(response > 0.0, response, 1.0))
    values, vectors = np.linalg.eigh(W / scale / scale[:, None])
    unresponsive = vectors[:, values <= UNRESPONSIVE * values[-1]]
    prescribed = scale * (unresponsive @ (unresponsive.T @ (rates / scale)))
    affected = np.abs(prescribed) > ROUND_OFF * np.abs(rates).max()
    if not affected.any() or not (np.abs(prescribed) <= limits).all():
        return np.zeros_like(rates)
    return np.where(affected & (np.abs(rates) <= limits), np.minimum(rates, 0.0), prescribed)
