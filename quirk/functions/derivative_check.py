"""Check of the derivatives that a user supplies with a function of time, by finite differences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from .motion import Motion

# Times of the check and interval of the finite differences, as fractions of the duration of the run; relative deviation
# above which a derivative is wrong.
TRIAL_TIMES = np.array([0.07, 0.31, 0.47, 0.68, 0.93])
DIFFERENCE, WRONG = 1e-5, 0.05
# Smallest interval of the finite differences, as a fraction of the largest time. For shorter intervals round-off
# dominates the differences, and the check is skipped.
RESOLUTION = 1e-8


def check_derivatives(motion: Motion, owner: str, start: float, end: float) -> None:
    """Raise an InputError if the derivatives of a user function are wrong between the times `start` and `end`, s.

    The derivatives are compared with finite differences at several times. Times at which a function fails are skipped.
    A derivative is rejected only if it is wrong at all times, because finite differences are meaningless at kinks.
    """
    times = start + (end - start) * TRIAL_TIMES
    step, known = DIFFERENCE * (end - start), int(motion.known)
    if step <= RESOLUTION * max(abs(start), abs(end)):
        return  # the interval is too short for finite differences
    table = np.array([[_or_nan(motion, t + s * step, known) for t in times] for s in (0.0, 0.5, -0.5)])
    defined = np.isfinite(table).all(axis=(0, 2))
    times, (here, ahead, behind) = times[defined], table[:, defined]
    for k in range(known if defined.any() else 0):
        name, of = "f_" + "t" * (k + 1), "f_" + "t" * k if k else "f"
        change = (ahead[:, k] - behind[:, k]) / step
        scale = np.abs(here[:, k + 1]).max() + np.abs(change).max() + 1e-9 * np.abs(here[:, k]).max() / step
        if (np.abs(change - here[:, k + 1]) > WRONG * scale).all():
            raise InputError(
                f"{owner}: {name} of {motion!r} is not the derivative of {of}: at t = {times[0]:g} s it is "
                f"{here[0, k + 1]:g}, and differences give {change[0]:g}"
            )


def _or_nan(motion: Motion, t: float, order: int) -> np.ndarray:
    """Return the value and the first `order` time derivatives of a motion at time t (s), or NaN if a function fails."""
    try:
        with np.errstate(all="ignore"):
            return motion.derivatives(t, order)
    except InputError:
        return np.full(order + 1, np.nan)
