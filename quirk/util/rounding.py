"""Numbers that are shown: what is round-off beside others is shown as zero."""

from __future__ import annotations

from typing import Any

import numpy as np

# Below this part of the largest.
ROUND_OFF = 1e-12


def rounded_off(values: Any, largest: float) -> np.ndarray:
    """Return the same values, with zeros in place of those below `ROUND_OFF` of the largest."""
    return np.where(np.abs(values) > ROUND_OFF * largest, values, 0.0)


def loads_rounded_off(loads: np.ndarray, length: float) -> np.ndarray:
    """Return the same loads (..., 2, k), N and N m, with zeros for what is round-off beside the largest of all.

    Torques are beside the largest force as well, at a length, m, of the system as its arm; and so are forces.
    """
    sizes = np.abs(loads).max(axis=(*range(loads.ndim - 2), loads.ndim - 1), initial=0.0)
    force = max(float(sizes[0]), float(sizes[1]) / length)
    return np.stack(
        [rounded_off(loads[..., 0, :], force), rounded_off(loads[..., 1, :], force * length)], axis=-2
    )  # fmt: skip
