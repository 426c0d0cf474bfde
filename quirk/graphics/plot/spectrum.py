"""Amplitude spectra over frequency."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from quirk.errors import InputError
from quirk.result.curves import Curve
from quirk.result.result import Result
from quirk.util.si_prefixes import label

from .figures import literal_text
from .sheet import Sheet

OWNER = "plot.spectrum"
# Minimum number of times for a spectrum, and smallest displayed amplitude relative to the largest.
FEWEST, LEAST = 8, 1e-7
# Relative differences of time steps below this are round-off.
EVEN = 1e-6


def draw_spectrum(sheet: Sheet, result: Result, curves: Sequence[Curve], window: str) -> None:
    """Draw the amplitude spectra of quantities; the legend states the frequency of the largest amplitude.

    `window` is the name of a window of scipy.signal.
    """
    if not curves:
        raise InputError(f'{OWNER}: name at least one quantity, such as "hinge.angle"')
    (ax,) = sheet.axes(over_time=False)
    top = 0.0
    for one in curves:
        frequency, amplitude = spectrum(result.time, one.values, window)
        unit = f" ({one.unit})" if one.unit and len({c.unit for c in curves}) > 1 else ""
        peak = f"largest at {frequency[int(np.argmax(amplitude))]:.4g} Hz"
        if np.abs(one.values).max() <= sheet.round_off(one.unit):
            peak = "zero to round-off"
        ax.semilogy(frequency, np.where(amplitude > 0, amplitude, np.nan),
                    label=f"{literal_text(one.name)}{unit}: {peak}")  # fmt: skip
        top = max(top, float(amplitude.max()))
    if top > 0:
        ax.set_ylim(LEAST * top, 2 * top)
    units = list(dict.fromkeys(curve.unit for curve in curves))
    ax.set_ylabel("Amplitude" + (f" ({units[0]})" if len(units) == 1 and units[0] else ""))
    ax.set_xlim(0, frequency[-1])
    label(ax.xaxis, "Frequency", "Hz", float(frequency[-1]))
    ax.set_title(f"spectrum, window {window!r}")
    ax.grid(alpha=0.3)
    sheet.legend(ax)


def spectrum(time: np.ndarray, values: np.ndarray, window: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the amplitude spectrum of a quantity: k positive frequencies, Hz, and amplitudes (k,).

    `values` (nt,) are the quantity at the times `time` (nt,), s; amplitudes have the unit of the quantity.

    Raises
    ------
    InputError
        If there are too few times, or the window is unknown.
    """
    from scipy.signal import periodogram

    if len(np.unique(time)) < FEWEST:
        raise InputError(f"{OWNER}: at least {FEWEST} times are required; simulate with more output")
    step, even = evenly(time, values)
    try:
        frequency, square = periodogram(even, 1 / step, window, detrend="constant", scaling="spectrum")
    except (ValueError, TypeError) as error:
        raise InputError(f"{OWNER}: window must be one of scipy.signal; got {window!r} ({error})") from None
    # The mean square of a sinusoid is half its squared amplitude; the last frequency of an even count has no
    # counterpart.
    double = np.full(len(square), 2.0)
    if len(even) % 2 == 0:
        double[-1] = 1.0
    return frequency[1:], np.sqrt(double * square)[1:]


def evenly(time: np.ndarray, values: np.ndarray) -> tuple[float, np.ndarray]:
    """Return a time step, s, and the values of a quantity interpolated at times with this step.

    The interpolation is by cubic splines between events.
    """
    steps = np.diff(time)
    step = float(time[-1] - time[0]) / (len(time) - 1)
    if np.abs(steps - step).max() <= EVEN * step:
        return step, values
    count = len(np.unique(time))
    even = np.linspace(time[0], time[-1], count)
    found = np.empty(count)
    # Both sides of an event have the same time.
    bounds = [0, *(np.flatnonzero(steps <= 0) + 1).tolist(), len(time)]
    for first, last in itertools.pairwise(bounds):
        own, its = time[first:last], values[first:last]
        inside = (even >= own[0]) & (even <= own[-1])
        found[inside] = _interpolated(own, its, even[inside])
    return float(even[1] - even[0]), found


def _interpolated(time: np.ndarray, values: np.ndarray, times: np.ndarray) -> np.ndarray:
    from scipy.interpolate import make_interp_spline

    degree = min(3, len(time) - 1)
    return (
        np.asarray(make_interp_spline(time, values, k=degree)(times)) if degree > 0 else np.full(len(times), values[0])
    )
