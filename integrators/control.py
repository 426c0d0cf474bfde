"""Step-size control by a PI controller.

Sources: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I (1993), II.4; Gustafsson, Lundh
and Soderlind, BIT 28 (1988).
"""

from __future__ import annotations

from ..jit.compilation import shared

MIN_FACTOR, MAX_FACTOR = 0.2, 5.0
# Exponents of the present and the previous error, divided by the order of the estimate.
PROPORTIONAL, INTEGRAL = 0.7, 0.4
# Safety factor of the step size: the error of a step settles at SAFETY^(order of the estimate / 0.3) times the
# tolerance, 0.013 for order 8. Few steps are then rejected, and the error accumulated in a run stays below the
# tolerance of one step.
SAFETY = 0.85
# Lower bound of errors in the controller, relative to the tolerance; it must lie below the settled error.
SMALLEST_ERROR = 1e-4
# Largest accepted correction by the projection, rad or lengths of the system. If all coordinates are driven, no error
# estimate limits the step, and the nearest of several solutions may be the wrong one.
LARGEST_CORRECTION = 5e-3
# Largest accepted correction by the projection for steps of fixed size, rad or lengths of the system.
FARTHEST_CORRECTION = 0.1
# A run whose last STALL_STEPS steps cover less than this fraction of its duration is aborted.
STALL_STEPS, STALL_PROGRESS = 1000, 1e-7


@shared
def factor_after_rejection(error: float, exponent: float) -> float:
    """Return the factor by which the step size changes after a rejected step.

    `error` is the ratio of error to tolerance, above 1 or NaN; `exponent` is the reciprocal order of the error
    estimate.
    """
    if not error < 1e300:
        return MIN_FACTOR
    return max(MIN_FACTOR, SAFETY * error**-exponent)


@shared
def factor_after_acceptance(error: float, previous: float, was_rejected: bool, exponent: float) -> float:
    """Return the factor by which the step size changes after an accepted step.

    `error` and `previous` are the ratios of error to tolerance of this step and the one before; `exponent` is the
    reciprocal order of the error estimate. If `was_rejected`, the step was rejected at first, and the step size does
    not grow.
    """
    error = max(error, SMALLEST_ERROR)
    factor = SAFETY * error ** (-PROPORTIONAL * exponent) * previous ** (INTEGRAL * exponent)
    return min(1.0 if was_rejected else MAX_FACTOR, max(MIN_FACTOR, factor))
