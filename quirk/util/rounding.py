"""Suppression of round-off errors in displayed values."""

from __future__ import annotations

from typing import Any

import numpy as np

# Numbers below this fraction of the largest are shown as zero; well above round-off, below displayed precision.
ROUND_OFF = 1e-12


def rounded_off(values: Any, largest: float) -> np.ndarray:
    """Return an array in which values smaller than `ROUND_OFF` times `largest` are replaced by zero."""
    return np.where(np.abs(values) > ROUND_OFF * largest, values, 0.0)


def loads_rounded_off(loads: np.ndarray, length: float) -> np.ndarray:
    """Return an array of loads in which round-off errors are replaced by zero.

    `loads` has shape (..., 2, k): k components of force (N) and k of torque (N m). Errors are relative to the largest
    force or, if larger, to the largest torque divided by `length`, a characteristic length of the system (m).
    """
    sizes = np.abs(loads).max(axis=(*range(loads.ndim - 2), loads.ndim - 1), initial=0.0)
    force = max(float(sizes[0]), float(sizes[1]) / length)
    return np.stack(
        [rounded_off(loads[..., 0, :], force), rounded_off(loads[..., 1, :], force * length)], axis=-2
    )  # fmt: skip
