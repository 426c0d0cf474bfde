"""Work of drivers that share a load which the constraints do not determine.

Two drivers of one degree of freedom, for instance, share their load. A run integrates the power of independent rows:
the sum of the works is accurate to the tolerance, but one driver has all of it. Loads and powers in outputs are those
of minimum norm. The work of each driver is the integral of a spline through its power at the outputs; each is corrected
by the same amount, so that their sum is the integrated one.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from ..errors import OutputWarning, outside
from .segment import Segment, joined, joined_by_name
from .work import DEGREE, integrals, work_of

# Differences of powers below this fraction of the largest power are round-off.
SAME = 1e-9
# Largest correction without a warning, relative to the largest work between two events.
ACCURATE = 1e-4
# Minimum number of outputs with power, between two events, at which equal powers are taken for equal shares at all
# times. At fewer outputs they may be a coincidence, for instance in a symmetric position of a mechanism.
COMPARED = 5


def with_shared_work(
    segments: Sequence[Segment], integrated: Mapping[str, np.ndarray], times: np.ndarray, rows: np.ndarray
) -> dict[str, np.ndarray]:
    """Return works, J, by name, distributed over constraints that share a load in the way of their powers.

    A warning is issued if outputs are too far apart for splines.

    Parameters
    ----------
    segments : all segments of the run
    integrated : (nt,) works at given times, J, by name, as integrated by the run
    times : (nt,) the times, s
    rows : (nt,) index of the last output at or before each time
    """
    if not integrated or not any(segment.rank < segment.model.rows and segment.constraint_work for segment in segments):
        return dict(integrated)
    names = list(dict.fromkeys(name for segment in segments for name in segment.constraint_work))
    counts, time = [len(segment.time) for segment in segments], joined([segment.time for segment in segments])
    by_rows = joined_by_name([segment.integrated_power for segment in segments], counts)
    by_loads = joined_by_name([segment.constraint_power for segment in segments], counts)
    at_outputs, done, row_power, load_power = (
        np.stack([by_name[name] for name in names], axis=1)
        for by_name in (work_of(segments), integrated, by_rows, by_loads)
    )
    usable = joined([segment.accurate for segment in segments])
    moved = np.zeros(len(names))  # work moved from one name to another up to the present piece
    for piece in np.split(np.arange(len(time)), np.flatnonzero(np.diff(time) == 0) + 1):
        here, knots, last = (rows >= piece[0]) & (rows <= piece[-1]), piece[usable[piece]], piece[-1:]
        shared = _shared(row_power[knots], load_power[knots])
        ends = np.concatenate([time[piece[:1]], times[here], time[last]])
        work = np.concatenate([at_outputs[piece[:1]], done[here], at_outputs[last]])[:, shared]
        powers = load_power[np.ix_(knots, shared)]
        shares = integrals(time[knots], powers, DEGREE, ends)
        differences = _work_of_differences(time[knots], powers)
        change = np.zeros((len(ends), len(names)))
        change[:, shared] = _redistribution(work - work[0], shares - shares[0], differences, np.array(names)[shared])
        done[here] += moved + change[1:-1]
        moved = moved + change[-1]
    return {**integrated, **dict(zip(names, done.T, strict=True))}


def _shared(row_power: np.ndarray, load_power: np.ndarray) -> np.ndarray:
    """Return the mask (k,) of the constraints with different powers (nt, k) of their rows and of their shared loads."""
    apart = np.abs(load_power - row_power).max(axis=0, initial=0.0)
    return np.asarray(~(apart <= SAME * np.abs(load_power).max(initial=0.0)))


def _work_of_differences(time: np.ndarray, powers: np.ndarray) -> float:
    """Return the largest time integral, J, of the absolute difference between a power and the mean of the k powers.

    `powers` (nt, k) are those of the shared loads at the times. Return infinity at too few times with power.
    """
    largest = np.abs(powers).max(axis=1, initial=0.0)
    if np.count_nonzero(largest > SAME * largest.max(initial=0.0)) < COMPARED:
        return np.inf
    return float(integrals(time, np.abs(powers - powers.mean(axis=1, keepdims=True)), 1)[-1].max(initial=0.0))


def _redistribution(work: np.ndarray, shares: np.ndarray, differences: float, names: Sequence[str]) -> np.ndarray:
    """Return changes (nt, k), J, by which work becomes the work of shared loads, with the same sum over k names.

    A warning is issued if outputs are too far apart for splines. `work` (nt, k) is the integrated work, `shares`
    (nt, k) are the integrals of splines through the powers of the shared loads, and `differences` is the result of
    `_work_of_differences`, all J. After the correction only the differences of the powers from their mean are
    integrated by splines: equal powers cause no error, and the error is at most about `differences`.
    """
    missing = (work - shares).sum(axis=1, keepdims=True) / max(len(names), 1)
    error, largest = min(np.abs(missing).max(initial=0.0), differences), np.abs(shares).max(initial=0.0)
    if not error <= ACCURATE * largest:
        warnings.warn(
            f"the work of {' and '.join(names)}, which share a load that the constraints do not determine, is computed "
            f"by splines through the outputs, with an error of about {error:.2g} J of {largest:.3g} J; only their sum "
            "is integrated with the motion: use more output times",
            OutputWarning,
            stacklevel=outside(),
        )
    return np.asarray(shares + missing - work)
