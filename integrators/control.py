"""How long the next step is: PI control.

Sources: Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I (1993), II.4; Gustafsson, Lundh
and Soderlind, BIT 28 (1988).
"""

from __future__ import annotations

from ..jit.compilation import shared

MIN_FACTOR, MAX_FACTOR = 0.2, 5.0
# Exponents of the present and the previous error, over the order of the estimate.
PROPORTIONAL, INTEGRAL = 0.7, 0.4
# Steps settle where the error is SAFETY^(order of the estimate / 0.3) of the tolerance, 0.013 for order 8: so
# few are rejected, and the errors of many steps stay below what the tolerance says of one.
SAFETY = 0.85
# Errors below this count as this, for the step to grow from; it must lie below the settled error.
SMALLEST_ERROR = 1e-4
# A step that the projection has to move by more than this, in rad or lengths of the system, is too long: where all
# is driven no error along the constraints tells, and the nearest of many solutions need not be the right one.
LARGEST_CORRECTION = 5e-3
# Nor can a step of a fixed size be one whose projection is larger than this.
FARTHEST_CORRECTION = 0.1
# A run that advances by less than this part of its duration in so many steps would never end.
STALL_STEPS, STALL_PROGRESS = 1000, 1e-7


@shared
def factor_after_rejection(error: float, exponent: float) -> float:
    """By what to multiply a step whose error, over the tolerance, is more than 1 or not a number."""
    if not error < 1e300:
        return MIN_FACTOR
    return max(MIN_FACTOR, SAFETY * error**-exponent)


@shared
def factor_after_acceptance(error: float, previous: float, was_rejected: bool, exponent: float) -> float:
    """By what to multiply an accepted step; `previous` is the error of the one before."""
    error = max(error, SMALLEST_ERROR)
    factor = SAFETY * error ** (-PROPORTIONAL * exponent) * previous ** (INTEGRAL * exponent)
    return min(1.0 if was_rejected else MAX_FACTOR, max(MIN_FACTOR, factor))
