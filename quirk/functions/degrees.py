"""Detection of angles that were probably given in degrees instead of radians."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..errors import DegreesWarning, InputError, outside
from ..util import validate
from .motion import Motion
from .motion_kernels import PIECES, SINUSOID

# Largest angle accepted as radians without a warning, rad: a full turn with a margin for round-off.
WHOLE_TURN = 2 * math.pi * (1 + 1e-12)
# Divisor of most angles given in degrees. No multiple of it is a fraction of pi, as angles in radians usually are.
ROUND = 2.5


def within_turn(owner: str, argument: str, value: Any, otherwise: str = "") -> float:
    """Return the angle `value` (rad), or raise an InputError if its magnitude exceeds a full turn.

    `owner` and `argument` name the angle in the error message, and `otherwise` is appended to the message.
    """
    angle = validate.number(owner, argument, value)
    if abs(angle) > WHOLE_TURN:
        raise InputError(f"{owner}: {argument}: {_advice(angle)}{otherwise}")
    return angle


def counting_turns(owner: str, argument: str, value: Any) -> float:
    """Return the angle `value` (rad), of any number of turns; warn if it was probably given in degrees.

    The warning is issued if the value exceeds 2 pi and is a multiple of ROUND (2.5), which is typical of degrees and
    impossible for multiples of pi.
    """
    angle = validate.number(owner, argument, value)
    _warn_of(owner, argument, angle)
    return angle


def check_motion(owner: str, argument: str, motion: Motion) -> None:
    """Warn if a constant or sinusoidal motion of an angle (rad) was probably given in degrees."""
    for part in motion.parts:
        first = part.coefficients[0]
        if part.kind == SINUSOID:
            amplitude, _, _, offset = first
            _warn_of(owner, argument, float(amplitude))
            _warn_of(owner, argument, float(offset))
        elif part.kind == PIECES and len(part.coefficients) == 1 and not first[1:].any():
            _warn_of(owner, argument, float(first[0]))


def _warn_of(owner: str, argument: str, angle: float) -> None:
    if abs(angle) > WHOLE_TURN and (angle / ROUND).is_integer():
        turns = f"; if {angle / (2 * math.pi):.4g} turns are meant, this warning does no harm"
        warnings.warn(f"{owner}: {argument}: {_advice(angle)}{turns}", DegreesWarning, stacklevel=outside())


def _advice(angle: float) -> str:
    return (
        f"{angle:g} rad is more than a whole turn; angles are in radians: if degrees are meant, give "
        f"np.radians({angle:g}) = {math.radians(angle):.6g}"
    )
