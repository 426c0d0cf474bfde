"""Prescribed motions as arrays, and compiled functions that evaluate them.

A motion is a piecewise polynomial, a sinusoid or a user function of time. A piece is the interval between two breaks,
in which one polynomial applies; steps of a run must end at breaks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..jit.compilation import kernel, shared
from ..jit.function_pointers import call
from ..jit.record import record

if TYPE_CHECKING:
    from .motion import Motion

PIECES, SINUSOID, FUNCTION = range(3)

# Offsets of the integers that describe each motion: its kind, the indices of its first break and first coefficient in
# `MotionTable.numbers` (the period precedes the breaks), the number of pieces, the number of coefficients per piece,
# the address of its function, and the index of the motion that is added to it, or 0 for none (motion 0 is never added).
KIND, BREAKS, COEFFICIENTS, COUNT, TERMS, ADDRESS, NEXT = range(7)
MOTION_SIZE = 7


@record
class MotionTable(NamedTuple):
    """Motions as arrays for compiled code.

    Attributes
    ----------
    entries : MOTION_SIZE integers for each motion, at the offsets KIND to NEXT
    numbers : periods (s), breaks (s) and coefficients of all motions
    """

    entries: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, motions: Sequence[Motion]) -> MotionTable:
        """Return the table of a list of motions.

        Motion m of the list has index m in the table. The other terms of sums (`Motion.added`) follow after all motions
        of the list. The addresses of user functions are 0: the caller must set them, and keep the compiled functions
        alive as long as the table is used.
        """
        laid, following = list(motions), [0] * len(motions)
        for m, motion in enumerate(motions):
            if motion.added:
                following[m] = len(laid)
                following += [*range(len(laid) + 1, len(laid) + len(motion.added)), 0]
                laid += motion.added
        entries, numbers, used = [], [np.zeros(1)], 1
        for motion, after in zip(laid, following, strict=True):
            breaks, coefficients = motion.breaks[:-1], motion.coefficients
            first = used + 1
            entries.append((motion.kind, first, first + breaks.size, *coefficients.shape, 0, after))
            numbers += [np.array([motion.period]), breaks, coefficients.ravel()]
            used = first + breaks.size + coefficients.size
        return cls(np.array(entries, dtype=np.int64).ravel(), np.concatenate(numbers))


@kernel
def motion_taylor(table: MotionTable, m: int, t: float, order: int, out: np.ndarray, first: int) -> None:
    """Write the Taylor coefficients c, c', c''/2, ... up to `order` of motion m at time t (s) to `out`.

    Coefficient k is written to out[first + k].
    """
    for k in range(order + 1):
        out[first + k] = 0.0
    e = MOTION_SIZE * m
    if table.entries[e + KIND] == FUNCTION:
        out[first] = math.nan
        call(table.entries[e + ADDRESS], t, table.numbers, table.entries[e + BREAKS], out, first)
    else:
        add_taylor(table, e, t, order, out, first)
    e = MOTION_SIZE * table.entries[e + NEXT]
    while e > 0:
        add_taylor(table, e, t, order, out, first)
        e = MOTION_SIZE * table.entries[e + NEXT]


@shared
def add_taylor(table: MotionTable, e: int, t: float, order: int, out: np.ndarray, first: int) -> None:
    """Add the Taylor coefficients at time t (s) of a piecewise polynomial or sinusoid to `out`.

    Coefficient k is added to out[first + k], for k up to `order`. The integers that describe the motion begin at index
    e of table.entries.
    """
    if table.entries[e + KIND] == SINUSOID:
        add_sinusoid(table.numbers, table.entries[e + COEFFICIENTS], t, order, out, first)
        return
    numbers, breaks, terms = table.numbers, table.entries[e + BREAKS], table.entries[e + TERMS]
    period = numbers[breaks - 1]
    if period > 0.0:
        t -= period * math.floor((t - numbers[breaks]) / period)
    piece = 0
    for p in range(1, table.entries[e + COUNT]):
        piece = p if numbers[breaks + p] <= t else piece
    since = t - numbers[breaks + piece]
    o = table.entries[e + COEFFICIENTS] + terms * piece
    for k in range(order + 1):
        # Horner's rule for the k-th derivative over k!: the coefficients times binomials.
        total = 0.0
        for power in range(terms - 1, k - 1, -1):
            binomial = 1.0
            for r in range(k):
                binomial = binomial * (power - r) / (r + 1.0)
            total = total * since + binomial * numbers[o + power]
        out[first + k] += total


@shared
def add_sinusoid(numbers: np.ndarray, o: int, t: float, order: int, out: np.ndarray, first: int) -> None:
    """Add the Taylor coefficients at time t (s) of a sinusoid to `out`.

    Coefficient k is added to out[first + k], for k up to `order`. Amplitude, angular frequency (rad/s), phase (rad) and
    mean are numbers[o : o + 4].
    """
    amplitude, frequency, phase = numbers[o], numbers[o + 1], numbers[o + 2]
    power = amplitude
    for k in range(order + 1):
        # The k-th derivative of the sine is the sine advanced by k quarter turns.
        angle = frequency * t + phase
        wave = math.sin(angle) if k % 2 == 0 else math.cos(angle)
        out[first + k] += power * (wave if k % 4 < 2 else -wave)
        power *= frequency / (k + 1.0)
    out[first] += numbers[o + 3]
