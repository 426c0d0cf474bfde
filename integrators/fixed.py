"""Integration with a fixed step size.

A break is a time at which a step must end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .breaks import Breaks, in_piece
from .step import Function, IntegrationError, Look, Manifold, Statistics, Step, end_state, rk_step
from .tableau import Tableau

# A remainder below this fraction of a step is round-off and not an additional last step.
ROUND_OFF = 1e-9


def fixed_steps(
    f: Function,
    t: float,
    y: np.ndarray,
    end: float,
    h: float,
    tableau: Tableau,
    manifold: Manifold | None,
    statistics: Statistics,
    breaks: Breaks | None = None,
    look: Look | None = None,
    *,
    origin: float | None = None,
    grid: int = 0,
) -> Iterator[Step]:
    """Yield the steps of size `h` of y' = f(t, y) from (t, y) to `end`.

    `tableau` contains the coefficients of the method; `manifold` projects the state after each step, or is None. Steps
    end at multiples of h from `origin`, by default t; `grid` is the number of these steps that have already been
    taken. The last step is shorter if h does not divide the interval. A step across a break is divided at the break,
    which preserves the order of the method. `look` inspects each step and may require that it be repeated. The stages
    of a step are valid until the next step is requested.

    Raises
    ------
    IntegrationError
        If y is no longer finite or cannot be projected.
    """
    breaks = Breaks(t, end) if breaks is None else breaks
    start = t if origin is None else origin
    count, n, fresh = step_count(start, end, h), grid + 1, True
    k = np.zeros((tableau.buffers, y.size))
    while t < end:
        whole = end if n == count else start + n * h
        piece = breaks.piece(t)
        within = in_piece(f, piece)
        if fresh:
            k[0], fresh = within(t, y), False
        t_new = piece.end if piece.end <= whole + breaks.shortest(t) else whole
        unprojected = rk_step(within, t, y, t_new - t, tableau, k)
        y_new = end_state(within, t_new, unprojected, tableau, k, manifold)
        if y_new is None:
            raise invalid_step(t, t_new, unprojected)
        step = Step(within, t, y, t_new, y_new, tableau, k)
        if look is not None and look(step, fixed=True):
            fresh = breaks.piece(t).low > t
            continue
        statistics.steps += 1
        yield step
        n += t_new >= whole - breaks.shortest(t)
        t, y, fresh = t_new, y_new, t_new >= piece.end
        k[0] = k[tableau.stages]


def step_count(start: float, end: float, h: float) -> int:
    """Return the number of steps of size `h` from start to end; the last may be shorter."""
    return max(1, math.ceil((end - start) / h - ROUND_OFF))


def invalid_step(t: float, t_new: float, y_new: np.ndarray, *, iterates: bool = False) -> IntegrationError:
    """Return the IntegrationError for a step of fixed size, from t to t_new, whose end state `y_new` is invalid.

    `iterates` is true for implicit methods, whose iterations may have failed; it changes the message.
    """
    bad = np.flatnonzero(~np.isfinite(y_new))
    off = "iterations for the end of the step do not converge, or it is off the constraints,"
    what = "the state is no longer finite" if bad.size else off if iterates else "the state left the constraints"
    return IntegrationError(f"{what} in the step of {t_new - t:g} s; use a smaller step", t, bad)
