"""How one frame is turned relative to another, for laws that need it at any angle."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.constraints.jets import where

# An angle is halved so often until a series gives it from its tangent, with so many terms: to round-off up to pi.
HALVINGS, TERMS = 4, 9


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """Return axis times angle (3,), rad, of a rotation (3, 3); smooth at zero, and up to an angle of pi.

    At pi itself it is not a number: there the axis may point either way.
    """
    # With a the axis: sin(angle) a, then tan(angle/4) a, whose length is halved in angle by m / (1 + sqrt(1 + m^2)).
    sine = np.array([0.5 * (R[(k + 2) % 3, (k + 1) % 3] - R[(k + 1) % 3, (k + 2) % 3]) for k in range(3)])
    trace = R[0, 0] + R[1, 1] + R[2, 2]
    # cos(angle/2), at large angles from the sine, which keeps its digits there.
    w = where(trace > 0.0, 0.5 * np.sqrt(1.0 + trace), np.sqrt((sine @ sine) / (3.0 - trace)))
    scale = 0.5 / (w * (1.0 + w))
    square = (sine @ sine) * scale * scale
    for _ in range(HALVINGS - 2):
        half = 1.0 / (1.0 + np.sqrt(1.0 + square))
        scale, square = scale * half, square * half * half
    series: Any = 0.0
    for k in reversed(range(TERMS)):
        series = 1.0 / (2 * k + 1) - square * series
    return sine * (scale * series * 2.0**HALVINGS)
