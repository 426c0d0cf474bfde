"""Time derivatives of motions, represented as motions."""

from __future__ import annotations

import numpy as np

from .motion import Motion
from .motion_kernels import FUNCTION, PIECES, SINUSOID


def derivative_of(motion: Motion) -> Motion:
    """Return the time derivative of a motion, as a motion.

    If the motion is a user function with k available time derivatives, the result has k - 1.
    """
    return Motion.sum([_derivative_alone(part) for part in motion.parts])


def _derivative_alone(motion: Motion) -> Motion:
    """Return the time derivative of the first term of a motion, without the other terms of a sum."""
    if motion.kind == FUNCTION:
        return Motion(FUNCTION, motion.breaks, motion.coefficients, (*motion.functions[1:], None))
    if motion.kind == SINUSOID:
        amplitude, frequency, phase, _ = motion.coefficients[0]
        slope = [amplitude * frequency, frequency, phase + 0.5 * np.pi, 0.0]
        return Motion(SINUSOID, motion.breaks, np.array([slope]))
    slopes: np.ndarray = motion.coefficients[:, 1:] * np.arange(1, motion.coefficients.shape[1])
    slopes = slopes if slopes.size else np.zeros((len(motion.coefficients), 1))
    return Motion(PIECES, motion.breaks, slopes, bounded=motion._bounded, period=motion.period)
