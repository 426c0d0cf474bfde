"""Integration with an adaptive step size.

Source: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I (1993), II.4. A break is a time at which a
step must end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ..jit.compilation import shared
from .breaks import Breaks, in_piece
from .control import SMALLEST_ERROR, factor_after_acceptance, factor_after_rejection
from .step import OF_STIFFNESS, Function, IntegrationError, Look, Manifold, Statistics, Step, end_state, rk_step
from .tableau import Tableau


@dataclass(frozen=True)
class Tolerance:
    """Tolerances for the local error of a step.

    Components of y that belong together, such as those of a vector, form a group. The norm of the error of each group
    must not exceed ``atol + rtol |y|``, with ``|.|`` the Euclidean norm over the group. Step sizes are thus independent
    of the axes.

    Attributes
    ----------
    rtol, atol : float
    starts : (g,) for g groups, index of the first component of each; a group ends where the next begins
    count : number of leading components whose error is controlled, or None for all
    extra_measure : additional error norm, or None
        Function of the error (N,), y, y_new and the step size that returns a ratio of error to tolerance.
    """

    rtol: float
    atol: float
    starts: np.ndarray
    count: int | None = None
    extra_measure: Callable[[np.ndarray, np.ndarray, np.ndarray, float], float] | None = None

    def ratios(self, error: np.ndarray, y: np.ndarray, y_new: np.ndarray) -> np.ndarray:
        """Return the ratio of error to tolerance for each group (g,); a step is accepted if none exceeds 1.

        `error`, `y` and `y_new` (N,) are the estimated error of a step and the states at its start and end.
        """
        size = np.maximum(self._lengths(y), self._lengths(y_new))
        return self._lengths(error) / (self.atol + self.rtol * size)

    def norm(self, error: np.ndarray, y: np.ndarray, y_new: np.ndarray) -> float:
        """Return the largest ratio of error to tolerance over all groups of components.

        `error`, `y` and `y_new` (N,) are the estimated error of a step and the states at its start and end.
        """
        return float(self.ratios(error, y, y_new).max())

    def _lengths(self, y: np.ndarray) -> np.ndarray:
        return np.hypot.reduceat(np.abs(y[: self.count]), self.starts)


def adaptive_steps(
    f: Function,
    t: float,
    y: np.ndarray,
    end: float,
    tableau: Tableau,
    tolerance: Tolerance,
    manifold: Manifold | None,
    statistics: Statistics,
    breaks: Breaks | None = None,
    look: Look | None = None,
    *,
    first: float = 0.0,
) -> Iterator[Step]:
    """Yield the accepted steps of y' = f(t, y) from (t, y) to `end`; each break is the end of a step.

    `tableau` contains the coefficients of the method, and `tolerance` the tolerances for the error of a step.
    `manifold` projects the state after each step, or is None. `look` inspects each step and may require that it be
    repeated. `first` is the initial step size, or 0 for an automatic choice. The stages of a step are valid until the
    next step is requested.

    Raises
    ------
    IntegrationError
        If the step size collapses.
    """
    exponent = 1 / (tableau.error_order + 1)
    k = np.zeros((tableau.buffers, y.size))
    breaks = Breaks(t, end) if breaks is None else breaks
    h, fresh = first, True
    previous, rejected = SMALLEST_ERROR, False
    while t < end:
        piece = breaks.piece(t)
        within = in_piece(f, piece)
        if fresh:
            # Beyond a break the slope changes, and the error history is meaningless.
            k[0], previous, rejected, fresh = within(t, y), SMALLEST_ERROR, False, False
            if not np.isfinite(k[0]).all():
                raise collapsed(t, y[: tolerance.count], k[: tableau.stages + 1, : tolerance.count])
            h = h or max(starting_step(within, t, y, k[0], end, tableau.order, tolerance), 2 * breaks.shortest(t))
            h = min(h, piece.first)
        t_new, uncut = next_end(t, h, piece.end, breaks.max_step), 0.0
        if t_new >= piece.end:
            uncut = h
        h = t_new - t
        if h < breaks.shortest(t):
            raise collapsed(t, y[: tolerance.count], k[: tableau.stages + 1, : tolerance.count], breaks)
        unprojected = rk_step(within, t, y, h, tableau, k)
        y_new = end_state(within, t_new, unprojected, tableau, k, manifold)
        error = np.inf if y_new is None else step_error(tableau, k, h, tolerance, manifold, y, y_new)
        if y_new is None or not error <= 1:
            statistics.rejected += 1
            rejected = True
            h *= factor_after_rejection(error, exponent)
            continue
        step = Step(within, t, y, t_new, y_new, tableau, k)
        if look is not None and look(step):
            fresh = breaks.piece(t).low > t
            continue
        statistics.steps += 1
        yield step
        h = max(uncut, h * factor_after_acceptance(error, previous, rejected, exponent))
        previous, rejected = max(error, SMALLEST_ERROR), False
        t, y, fresh = t_new, y_new, t_new >= piece.end
        k[0] = k[tableau.stages]


@shared
def next_end(t: float, h: float, end: float, max_step: float) -> float:
    """Return the end time of the next step, from t with step size h.

    The step ends at `end` if the remaining interval would be too short for another step. `max_step` is the maximum step
    size.
    """
    h, left = min(h, max_step), end - t
    return end if left <= 1.01 * h and left <= max_step * (1.0 + 1e-9) else t + h


def step_error(
    tableau: Tableau,
    k: np.ndarray,
    h: float,
    tolerance: Tolerance,
    manifold: Manifold | None,
    y: np.ndarray,
    y_new: np.ndarray,
) -> float:
    """Return the ratio of the estimated error of a step to the tolerance.

    `k` (s, N) are the slopes y' of the step of size h from y (N,) to y_new (N,): at the stages, at the end of the step,
    and at additional stages for dense output. The tableau defines one or two error estimates. If y is constrained
    to a `manifold`, only the tangential component of the error is used: near a singular configuration the normal
    component is round-off.
    """
    norms = []
    for weights in tableau.errors:
        error = h * (weights @ k[: len(weights)])
        norm = tolerance.norm(error if manifold is None else manifold.tangential(error), y, y_new)
        norms.append(
            norm if tolerance.extra_measure is None else max(norm, tolerance.extra_measure(error, y, y_new, h))
        )
    if len(norms) == 1 or norms[0] <= 0:
        return norms[0]
    return norms[0] ** 2 / float(np.hypot(norms[0], 0.1 * norms[1]))


def starting_step(
    f: Function, t: float, y: np.ndarray, slope: np.ndarray, end: float, order: int, tolerance: Tolerance
) -> float:
    """Return an initial step size for a method of order `order`, from the norms of y, y', y'' (Hairer et al., II.4).

    `slope` is y' at time t, and `end` the end time of the run.
    """
    size, speed = tolerance.norm(y, y, y), tolerance.norm(slope, y, y)
    h = min(1e-6 if size < 1e-5 or speed < 1e-5 else 0.01 * size / speed, end - t)
    bend = tolerance.norm(f(t + h, y + h * slope) - slope, y, y) / h if h > 0 else np.inf
    largest = max(speed, bend) if np.isfinite(bend) else speed
    by_error = max(1e-6, 1e-3 * h) if largest <= 1e-15 else (0.01 / largest) ** (1 / (order + 1))
    return min(100 * h, by_error, end - t)


def collapsed(
    t: float, y: np.ndarray, stages: np.ndarray, breaks: Breaks | None = None, *, explicit: bool = False
) -> IntegrationError:
    """Return the IntegrationError for a step size that has become too small at time t and state y.

    `stages` (s, N) are the slopes y' of the last attempt; they determine the component of y that the error reports. For
    an `explicit` method the message mentions stiffness. With `breaks`, the error may instead report that floating-point
    numbers near time t are too coarse for such steps.
    """
    bad = np.flatnonzero(~np.isfinite(stages).all(axis=0))
    if bad.size:
        return IntegrationError("the state is no longer finite, however short the step", t, bad)
    worst = int(np.argmax(np.abs(stages).max(axis=0) / (1 + np.abs(y))))
    late = None if breaks is None else breaks.late(t)
    if late is not None:
        return late
    return IntegrationError(
        "the step size collapsed: the motion has a singularity here, or the tolerances require more digits "
        "than the numbers have" + (f"; {OF_STIFFNESS}" if explicit else ""),
        t,
        [worst],
    )
