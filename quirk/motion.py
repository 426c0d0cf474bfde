"""Motions: functions of time, with their derivatives, that drivers and offsets follow."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import validate
from .compiled import kernel, plain
from .errors import InputError
from .pointers import call
from .sealed import Sealed

PIECES, SINUSOID, FUNCTION = range(3)

# Where derivatives of a function are tried, as parts of a run; with differences over this part of it; and what is
# wrong, as a part of their size.
TRIAL_TIMES = np.array([0.07, 0.31, 0.47, 0.68, 0.93])
DIFFERENCE, WRONG = 1e-5, 0.05
# Pieces that meet differ by enough to matter if it is by more than this part of how far a motion goes.
KINK = 1e-10
# Differences over less than this part of the time itself are round-off.
RESOLUTION = 1e-8


class Motion(Sealed):
    """A prescribed quantity c(t), in m or rad, and its derivatives.

    Made by `constant_rate`, `polynomial`, `sinusoid`, `spline` or `function`.

    Attributes
    ----------
    kind : PIECES, SINUSOID or FUNCTION
    breaks : (p + 1,) s, where the pieces of a piecewise polynomial meet
    coefficients : (p, d) of each piece, by ascending powers of the time since its start; or (4,) of a sinusoid
    functions : f and its derivatives, or empty
    start, end : s, between which it is defined
    """

    def __init__(
        self,
        kind: int,
        breaks: np.ndarray,
        coefficients: np.ndarray,
        functions: tuple[Callable[[float], float] | None, ...] = (),
        bounded: bool = False,
    ) -> None:
        self.kind, self.breaks, self.coefficients, self.functions = kind, breaks, coefficients, functions
        self.start, self.end = (float(breaks[0]), float(breaks[-1])) if bounded else (-math.inf, math.inf)

    @classmethod
    def constant_rate(cls, rate: float, start: float = 0.0) -> Motion:
        """Return start + rate t."""
        owner = "Motion.constant_rate"
        return cls._polynomial([validate.number(owner, "start", start), validate.number(owner, "rate", rate)])

    @classmethod
    def polynomial(cls, coefficients: Any) -> Motion:
        """Return c_0 + c_1 t + c_2 t^2 + ...; coefficients by ascending powers."""
        given = validate.numbers(coefficients)
        if given is None or given.ndim != 1 or not given.size or not np.isfinite(given).all():
            raise InputError(
                "Motion.polynomial: coefficients must be a list of finite numbers c_0, c_1, ... by ascending powers of "
                f"t; got {coefficients!r}"
            )
        return cls._polynomial(given)

    @classmethod
    def _polynomial(cls, coefficients: Any) -> Motion:
        return cls(PIECES, np.zeros(2), np.array([coefficients], dtype=float))

    @classmethod
    def sinusoid(cls, amplitude: float, angular_frequency: float, phase: float = 0.0, offset: float = 0.0) -> Motion:
        """Return offset + amplitude sin(angular_frequency t + phase), with rad/s and rad."""
        given = {"amplitude": amplitude, "angular_frequency": angular_frequency, "phase": phase, "offset": offset}
        numbers = [validate.number("Motion.sinusoid", argument, value) for argument, value in given.items()]
        return cls(SINUSOID, np.zeros(2), np.array([numbers]))

    @classmethod
    def spline(cls, times: Any, values: Any) -> Motion:
        """Return the interpolating spline through values (n,) at increasing times (n,), n at least 2.

        Of degree 5, so that its derivatives up to snap are continuous; of degree n - 1 with fewer than 6 points.
        """
        from scipy.interpolate import PPoly, make_interp_spline  # takes 0.2 s to import

        owner = "Motion.spline"
        knots = validate.numbers(times)
        if knots is None or knots.ndim != 1 or knots.size < 2 or not np.isfinite(knots).all():
            raise InputError(f"{owner}: times must be a list of at least two times in seconds; got {times!r}")
        if (np.diff(knots) <= 0).any():
            raise InputError(f"{owner}: times must increase strictly; got {knots.tolist()}")
        heights = validate.array(owner, "values", values, knots.shape)
        pieces = PPoly.from_spline(make_interp_spline(knots, heights, k=min(5, len(knots) - 1)))
        real = np.diff(pieces.x) > 0
        return cls(PIECES, np.append(pieces.x[:-1][real], pieces.x[-1]), pieces.c.T[real, ::-1].copy(), bounded=True)

    @classmethod
    def function(
        cls,
        f: Callable[[float], float],
        f_t: Callable[[float], float],
        f_tt: Callable[[float], float],
        f_ttt: Callable[[float], float] | None = None,
        f_tttt: Callable[[float], float] | None = None,
    ) -> Motion:
        """Return f(t), given with its derivatives; the third and fourth are needed for jerk and snap alone.

        Functions may be plain Python or compiled with `numba.njit`.
        """
        functions = {"f": f, "f_t": f_t, "f_tt": f_tt, "f_ttt": f_ttt, "f_tttt": f_tttt}
        for argument, function in functions.items():
            if not callable(function) and (function is not None or argument in ("f", "f_t", "f_tt")):
                raise InputError(f"Motion.function: {argument} must be a function of the time t; got {function!r}")
        return cls(FUNCTION, np.zeros(2), np.zeros((1, 0)), tuple(functions.values()))

    @property
    def known(self) -> float:
        """How many derivatives can be asked for; infinity for all but functions."""
        if self.kind != FUNCTION:
            return math.inf
        return next((k for k, f in enumerate(self.functions) if f is None), len(self.functions)) - 1

    @property
    def kinks(self) -> np.ndarray:
        """Times at which pieces meet whose derivatives differ by enough to matter to steps that pass over them.

        Splines of degree 5 keep derivatives up to the fourth; steps of high order still lose digits where the fifth
        jumps. It matters if over one piece it makes more than a part KINK of how far the motion goes.
        """
        order, pieces = self.coefficients.shape[1], len(self.breaks) - 1
        if self.kind != PIECES or pieces < 2:
            return np.zeros(0)
        lengths = np.diff(self.breaks)
        shift = [[math.comb(m, k) if m >= k else 0 for m in range(order)] for k in range(order)]
        # Each term is what a derivative makes over the piece behind; those of both pieces at the time where they meet.
        behind = self.coefficients[:-1] * lengths[:-1, None] ** np.arange(order)
        ahead = self.coefficients[1:] * lengths[:-1, None] ** np.arange(order)
        jumps = np.abs(behind @ np.transpose(shift) - ahead)
        shorter = np.minimum(1.0, lengths[1:] / lengths[:-1])[:, None] ** np.arange(order)
        moved = np.ptp(self.coefficients[:, 0])
        return self.breaks[1:-1][(jumps * shorter).max(axis=1) > KINK * moved]

    def derivatives(self, t: float, order: int = 2) -> np.ndarray:
        """Return c and its first `order` derivatives at time t, (order + 1,)."""
        if not self.start <= t <= self.end:
            raise InputError(f"{self!r}: is defined from {self.start:g} to {self.end:g} s; asked for at {t:g} s")
        if self.kind == FUNCTION:
            return np.array([self._value(k, t) for k in range(order + 1)])
        table, taylor = MotionTable.of([self]), np.zeros(order + 1)
        plain(motion_taylor)(table, 0, float(t), order, taylor, 0)
        return taylor * [math.factorial(k) for k in range(order + 1)]

    def _value(self, k: int, t: float) -> float:
        function = self.functions[k] if k < len(self.functions) else None
        name = "f" + ("_" + "t" * k if k else "")
        if function is None:
            raise InputError(f"{self!r}: {name} is needed here, and was not given")
        try:
            value = function(t)
        except Exception as error:
            raise InputError(f"{self!r}: {name} failed at t = {t:g} s: {type(error).__name__}: {error}") from error
        return validate.number(f"{self!r}, at t = {t:g} s", f"what {name} returns", value)

    def check(self, owner: str, start: float, end: float) -> None:
        """Raise InputError if a run from `start` to `end` leaves the motion, or derivatives are those of others."""
        if not (self.start <= start and end <= self.end):
            raise InputError(
                f"{owner}: its {self!r} is defined from {self.start:g} to {self.end:g} s, and is needed from "
                f"{start:g} to {end:g} s: give it further points, or keep to its times"
            )
        if self.kind != FUNCTION:
            return
        # At kinks differences tell nothing: a derivative is wrong if it is so at all times.
        times = start + (end - start) * TRIAL_TIMES
        step, known = DIFFERENCE * (end - start), int(self.known)
        if step <= RESOLUTION * max(abs(start), abs(end)):
            return  # the times are too close together to tell anything
        here = np.array([self.derivatives(t, known) for t in times])
        ahead, behind = (np.array([self.derivatives(t + s * step, known) for t in times]) for s in (0.5, -0.5))
        for k in range(known):
            name, of = "f_" + "t" * (k + 1), "f_" + "t" * k if k else "f"
            change = (ahead[:, k] - behind[:, k]) / step
            scale = np.abs(here[:, k + 1]).max() + np.abs(change).max() + 1e-9 * np.abs(here[:, k]).max() / step
            if (np.abs(change - here[:, k + 1]) > WRONG * scale).all():
                raise InputError(
                    f"{owner}: {name} of its {self!r} is not the derivative of {of}: at t = {times[0]:g} s it is "
                    f"{here[0, k + 1]:g}, and differences give {change[0]:g}"
                )

    def __call__(self, t: float) -> float:
        """Return c(t)."""
        return float(self.derivatives(t, 0)[0])

    def __repr__(self) -> str:
        if self.kind == SINUSOID:
            a, w, phase, offset = self.coefficients[0]
            return f"Motion({offset:g} + {a:g} sin({w:g} t + {phase:g}))"
        if self.kind == FUNCTION:
            return f"Motion({getattr(self.functions[0], '__name__', 'function')})"
        if math.isfinite(self.end):
            return f"Motion(spline of {len(self.coefficients)} pieces from {self.start:g} to {self.end:g} s)"
        return f"Motion({' + '.join(f'{c:g} t^{k}' for k, c in enumerate(self.coefficients[0]))})"


# Entries of each motion in a table of integers: its kind, where its breaks and coefficients start among the numbers,
# how many pieces it has and of how many coefficients, and the address of its function.
KIND, BREAKS, COEFFICIENTS, COUNT, TERMS, ADDRESS = range(6)
MOTION_SIZE = 6


class MotionTable(NamedTuple):
    """Motions as kernels see them: integers as above, and all breaks and coefficients."""

    entries: np.ndarray
    numbers: np.ndarray

    @classmethod
    def of(cls, motions: list[Motion]) -> MotionTable:
        """Lay out motions; the addresses of functions are left to whoever keeps these alive."""
        entries, numbers = np.zeros(MOTION_SIZE * len(motions), dtype=np.int64), [np.zeros(1)]
        used = 1
        for m, motion in enumerate(motions):
            breaks, coefficients = motion.breaks[:-1], motion.coefficients
            entry = [motion.kind, used, used + breaks.size, len(coefficients), coefficients.shape[1], 0]
            entries[MOTION_SIZE * m : MOTION_SIZE * (m + 1)] = entry
            numbers += [breaks, coefficients.ravel()]
            used += breaks.size + coefficients.size
        return cls(entries, np.concatenate(numbers))


@kernel
def motion_taylor(table: MotionTable, m: int, t: float, order: int, out: np.ndarray, first: int) -> None:
    """Write the Taylor coefficients c, c', c''/2, ... of motion m at time t from element `first` of `out` on."""
    e = MOTION_SIZE * m
    numbers, o = table.numbers, table.entries[e + COEFFICIENTS]
    if table.entries[e + KIND] == FUNCTION:
        out[first] = math.nan
        call(table.entries[e + ADDRESS], t, numbers, 0, out, first)
        return
    if table.entries[e + KIND] == SINUSOID:
        amplitude, frequency, phase = numbers[o], numbers[o + 1], numbers[o + 2]
        power = amplitude
        for k in range(order + 1):
            # The k-th derivative of the sine is the sine a quarter turn further on.
            angle = frequency * t + phase
            wave = math.sin(angle) if k % 2 == 0 else math.cos(angle)
            out[first + k] = power * (wave if k % 4 < 2 else -wave)
            power *= frequency / (k + 1.0)
        out[first] += numbers[o + 3]
        return
    piece, breaks, terms = 0, table.entries[e + BREAKS], table.entries[e + TERMS]
    for p in range(1, table.entries[e + COUNT]):
        piece = p if numbers[breaks + p] <= t else piece
    since = t - numbers[breaks + piece]
    o += terms * piece
    for k in range(order + 1):
        # Horner's rule on the k-th derivative over k!: binomials times coefficients.
        total = 0.0
        for power in range(terms - 1, k - 1, -1):
            binomial = 1.0
            for r in range(k):
                binomial = binomial * (power - r) / (r + 1.0)
            total = total * since + binomial * numbers[o + power]
        out[first + k] = total
