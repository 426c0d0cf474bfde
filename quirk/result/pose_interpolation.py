"""Interpolation of poses between the output times of a result, for graphics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..bodies import rotation

if TYPE_CHECKING:
    from .result import Result


def orientations(result: Result, name: str, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (nt, 3), m, and unit quaternions (nt, 4) of a body at `times` (nt,), s.

    Both are interpolated between outputs by cubic polynomials.
    """
    view = result[name]
    rates = rotation.rate(view.orientation, view.angular_velocity)
    position = _interpolated(result, view.position, view.velocity, times)
    q = _interpolated(result, view.orientation, rates, times)
    return position, q / np.linalg.norm(q, axis=1, keepdims=True)


def poses(result: Result, name: str, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (nt, 3), m, and rotation matrices (nt, 3, 3) of a body at `times` (nt,), s."""
    position, q = orientations(result, name, times)
    return position, rotation.matrix(q)


def stretches(result: Result, times: np.ndarray) -> np.ndarray:
    """Return, for each of `times` (nt,), s, the index (nt,) of the last output at or before this time.

    Of the two outputs at an event, the later one is used.
    """
    return np.maximum(np.searchsorted(result.time, times, side="right") - 1, 0)


def linear(result: Result, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return quantities (nt, k) at `times` (nt,), s, by linear interpolation of their values at the output times.

    `values` (outputs, k) may jump between the two outputs at an event.
    """
    start, end, s = _neighbors(result, times)
    return values[start] + s[:, None] * (values[end] - values[start])


def _interpolated(result: Result, values: np.ndarray, rates: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return quantities (nt, k) at `times` (nt,), s, by cubic interpolation between output times.

    `values` and `rates` (outputs, k) are the quantities and their rates at the output times.
    """
    start, end, fraction = _neighbors(result, times)
    h, s = (result.time[end] - result.time[start])[:, None], fraction[:, None]
    ahead = s**2 * (3 - 2 * s)
    bent = h * s * (1 - s) * ((1 - s) * rates[start] - s * rates[end])
    return values[start] + ahead * (values[end] - values[start]) + bent


def _neighbors(result: Result, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return, for each of `times` (nt,), s, the indices (nt,) of the outputs before and after it.

    The third result (nt,) is the fraction of the interval between them at this time, 0 to 1.
    """
    start = stretches(result, times)
    end = np.minimum(start + 1, len(result.time) - 1)
    h = result.time[end] - result.time[start]
    return start, end, np.divide(times - result.time[start], h, out=np.zeros(len(times)), where=h > 0)
