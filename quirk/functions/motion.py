"""Motions: prescribed functions of time with their derivatives, for drivers and offsets.

A motion is a piecewise polynomial, a sinusoid, a user function, or a sum of these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..jit.compilation import plain
from ..util import validate
from ..util.construction import remembered
from ..util.immutable import Immutable
from .derivative_check import check_derivatives
from .expression import Derivative, Expression, function_of
from .motion_kernels import FUNCTION, PIECES, SINUSOID, MotionTable, motion_taylor
from .spline import interpolated, kinks
from .user_function import check_arguments, takes_state

# Minimum number of points of a periodic spline, and tolerance of its closure relative to its range.
FEWEST_PERIODIC, SAME = 4, 1e-12


class Motion(Immutable):
    """A prescribed quantity c(t), in m or rad, with its time derivatives.

    Create motions with `constant_rate`, `polynomial`, `sinusoid`, `rest_to_rest`, `spline`, `steps` or `function`;
    ``a + b`` is the sum of two motions.

    Attributes
    ----------
    kind : PIECES, SINUSOID or FUNCTION
    breaks : (p + 1,) boundaries of p polynomial pieces, s
    coefficients : (p, d) coefficients of p polynomial pieces, in ascending powers of the time since the start of the
        piece; or (1, 4) amplitude, angular frequency, phase and offset of a sinusoid
    functions : a user function and its derivatives; empty for other motions
    start, end : interval on which the motion is defined, s
    period : period of a piecewise polynomial, s; zero if not periodic
    added : the other terms if the motion is a sum

    Examples
    --------
    >>> motion = quirk.Motion.sinusoid(amplitude=2.0, angular_frequency=np.pi)
    >>> motion.derivatives(0.5, 2).round(6)
    array([  2.      ,   0.      , -19.739209])
    """

    def __init__(
        self,
        kind: int,
        breaks: np.ndarray,
        coefficients: np.ndarray,
        functions: tuple[Callable[[float], float] | None, ...] = (),
        bounded: bool = False,
        period: float = 0.0,
        added: tuple[Motion, ...] = (),
    ) -> None:
        self.kind, self.breaks, self.coefficients, self.functions = kind, breaks, coefficients, functions
        self.period, self.added, self._bounded = period, added, bounded
        start, end = (float(breaks[0]), float(breaks[-1])) if bounded else (-math.inf, math.inf)
        self.start: float = max([start, *(m.start for m in added)])
        self.end: float = min([end, *(m.end for m in added)])

    @classmethod
    @remembered
    def constant_rate(cls, rate: float, start: float = 0.0) -> Motion:
        """Return the motion start + rate t, in m or rad; `rate` is in m/s or rad/s."""
        owner = "Motion.constant_rate"
        return cls._polynomial([validate.number(owner, "start", start), validate.number(owner, "rate", rate)])

    @classmethod
    @remembered
    def polynomial(cls, coefficients: ArrayLike) -> Motion:
        """Return the motion c_0 + c_1 t + c_2 t^2 + ...; `coefficients` are c_0, c_1, ..., in m or rad and s."""
        numbers = validate.numbers(coefficients)
        if numbers is None or numbers.ndim != 1 or not numbers.size or not np.isfinite(numbers).all():
            raise InputError(
                "Motion.polynomial: coefficients must be a list of finite numbers c_0, c_1, ... by ascending powers of "
                f"t; got {coefficients!r}"
            )
        return cls._polynomial(numbers)

    @classmethod
    def _polynomial(cls, coefficients: Any) -> Motion:
        return cls(PIECES, np.zeros(2), np.array([coefficients], dtype=float))

    @classmethod
    @remembered
    def sinusoid(cls, amplitude: float, angular_frequency: float, phase: float = 0.0, offset: float = 0.0) -> Motion:
        """Return offset + amplitude sin(angular_frequency t + phase); angular_frequency in rad/s, phase in rad."""
        arguments = {"amplitude": amplitude, "angular_frequency": angular_frequency, "phase": phase, "offset": offset}
        numbers = [validate.number("Motion.sinusoid", argument, value) for argument, value in arguments.items()]
        return cls(SINUSOID, np.zeros(2), np.array([numbers]))

    @classmethod
    @remembered
    def spline(cls, times: ArrayLike, values: ArrayLike, periodic: bool = False) -> Motion:
        """Return the spline that interpolates values (n,) at increasing times (n,), s, with n at least 2.

        The degree is 5, with continuous derivatives up to snap; with fewer than 6 points it is n - 1 unless periodic. A
        periodic spline needs at least 4 points, with the same value at the first and last time; it continues
        indefinitely in both directions, with continuous derivatives at the ends of each period.
        """
        owner = "Motion.spline"
        knots = _increasing(owner, times, 2)
        heights = validate.array(owner, "values", values, knots.shape)
        periodic = validate.flag(owner, "periodic", periodic)
        if periodic and knots.size < FEWEST_PERIODIC:
            raise InputError(f"{owner}: times of a periodic spline must be {FEWEST_PERIODIC} or more; got {knots.size}")
        if periodic and abs(heights[-1] - heights[0]) > SAME * np.ptp(heights):
            raise InputError(
                f"{owner}: values of a periodic spline must be the same at the last time as at "
                f"the first; got {heights[0]:g} and {heights[-1]:g}"
            )
        heights[-1] = heights[0] if periodic else heights[-1]
        degree = 5 if periodic else min(5, len(knots) - 1)
        breaks, powers = interpolated(knots, heights, degree, periodic)
        period = float(breaks[-1] - breaks[0]) if periodic else 0.0
        return cls(PIECES, breaks, powers, bounded=not periodic, period=period)

    @classmethod
    @remembered
    def rest_to_rest(cls, times: ArrayLike, values: ArrayLike) -> Motion:
        """Return the motion through values (n,) at increasing times (n,), s, n at least 2, with rest at each time.

        Between two times the motion is the polynomial of degree 5 whose rate and acceleration are zero at both ends:
        x_0 + (x_1 - x_0) (10 s^3 - 15 s^4 + 6 s^5) with s = (t - t_0) / (t_1 - t_0), which has the least integral of
        the squared jerk (Flash and Hogan, J. Neurosci. 5 (1985) 1688). Its largest rate and acceleration are 15/8 (x_1
        - x_0) / (t_1 - t_0) and 10/sqrt(3) (x_1 - x_0) / (t_1 - t_0)^2. Between two equal values, before the first time
        and after the last time the motion is at rest. Value, rate and acceleration are continuous; integration steps
        end where the jerk jumps.

        Examples
        --------
        >>> motion = quirk.Motion.rest_to_rest([0.0, 2.0], [0.0, 0.8])
        >>> motion.derivatives(1.0).round(6)
        array([0.4 , 0.75, 0.  ])
        >>> motion(-1.0), motion(3.0)
        (0.0, 0.8)
        """
        owner = "Motion.rest_to_rest"
        ends = _increasing(owner, times, 2)
        points = validate.array(owner, "values", values, ends.shape)
        powers = np.zeros((len(ends) + 1, 6))
        powers[1:, 0], powers[0, 0] = points, points[0]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
            lengths = np.diff(ends)
            shares = np.array([10.0, -15.0, 6.0]) * np.diff(points)[:, None]
            powers[1:-1, 3:] = shares / lengths[:, None] ** [3, 4, 5]
            breaks = np.array([ends[0] - lengths[0], *ends, ends[-1] + lengths[-1]])
        # An overflow or underflow of a coefficient changes the whole motion.
        lost = ~np.isfinite(powers[1:-1]).all(axis=1) | ((powers[1:-1, 3:] == 0.0) != (shares == 0.0)).any(axis=1)
        if lost.any() or not np.isfinite(breaks).all():
            k = int(np.argmax(lost))
            raise InputError(
                f"{owner}: times: the interval from {ends[k]:g} to {ends[k + 1]:g} s is too short or too long for "
                f"values {points[k]:g} and {points[k + 1]:g}: the coefficients of its polynomial exceed the range of "
                "numbers: use other units"
            )
        return cls(PIECES, breaks, powers)

    @classmethod
    @remembered
    def steps(cls, times: ArrayLike, values: ArrayLike) -> Motion:
        """Return a piecewise constant motion, which takes the values (n,) at the increasing times (n,), s.

        Each value applies until the next time; the first value also applies before the first time. Integration steps
        end at each jump. Use such motions for loads only: prescribed motions of drivers must not jump.

        Examples
        --------
        >>> motion = quirk.Motion.steps([0.0, 1.0, 2.0], [3.0, -3.0, 0.0])
        >>> motion(0.5), motion(1.0), motion(7.0)
        (3.0, -3.0, 0.0)
        """
        owner = "Motion.steps"
        begins = _increasing(owner, times, 1)
        levels = validate.array(owner, "values", values, begins.shape)
        return cls(PIECES, np.append(begins, begins[-1] + 1.0), levels[:, None])

    @classmethod
    @remembered
    def function(
        cls,
        f: Callable[[float], float] | Expression | str,
        f_t: Callable[[float], float] | None = None,
        f_tt: Callable[[float], float] | None = None,
        f_ttt: Callable[[float], float] | None = None,
        f_tttt: Callable[[float], float] | None = None,
    ) -> Motion:
        """Return the motion f(t) with the given time derivatives; the third and fourth are optional.

        Jerk and snap in `kinematics` need both; drivers in runs with ``method="Rodas5P"`` need the third.
        Functions may be plain Python or compiled with `numba.njit`. For a string such as "0.2*sin(3*t)", or an
        `Expression`, the derivatives are computed and only f is needed.
        """
        functions: dict[str, Any] = {"f": f, "f_t": f_t, "f_tt": f_tt, "f_ttt": f_ttt, "f_tttt": f_tttt}
        functions = {key: function_of("Motion.function", key, x, ("t",)) for key, x in functions.items()}
        if isinstance(functions["f"], Expression) and all(x is None for x in list(functions.values())[1:]):
            derived = [functions["f"], *(Derivative(functions["f"], k) for k in range(1, len(functions)))]
            functions = dict(zip(functions, derived, strict=True))
        for argument, function in functions.items():
            if not callable(function) and (function is not None or argument in ("f", "f_t", "f_tt")):
                raise InputError(
                    f'Motion.function: {argument} must be a function of the time t or a text such as "sin(3*t)"; got '
                    f"{function!r}: give f, f_t and f_tt, or only f as a text, whose derivatives are computed"
                )
            if takes_state(function, ("t",)):
                raise InputError(
                    f"Motion.function: {argument} must be a function of the time t alone; got one of two arguments: "
                    "what depends on the state cannot be prescribed: use a force such as Controller, or quirk.Sampled"
                )
            check_arguments("Motion.function", argument, function, {"f(t)": 1})
        return cls(FUNCTION, np.zeros(2), np.zeros((1, 0)), tuple(functions.values()))

    @classmethod
    @remembered
    def sum(cls, motions: Iterable[Motion]) -> Motion:
        """Return the sum of motions, on the interval on which all are defined; ``a + b`` is the sum of two motions."""
        listed = list(motions) if isinstance(motions, Iterable) else [motions]
        if not listed or not all(isinstance(motion, Motion) for motion in listed):
            raise InputError(f"Motion.sum: motions must be a list of at least one quirk.Motion; got {motions!r}")
        parts = [part for motion in listed for part in motion.parts]
        functions = [part for part in parts if part.kind == FUNCTION]
        compiled = [part for part in parts if part.kind != FUNCTION]
        # User functions come first because their values overwrite the result; other motions are added to it by kernels.
        first, *added = [_sum_of_functions(functions), *compiled] if functions else compiled
        return first._with(tuple(added))

    def __add__(self, other: Motion) -> Motion:
        """Return the sum of two motions, on the interval on which both are defined."""
        return Motion.sum([self, other]) if isinstance(other, Motion) else NotImplemented

    def _with(self, added: tuple[Motion, ...]) -> Motion:
        """Return a copy of this motion with the motions `added` as the other terms of its sum."""
        return Motion(
            self.kind, self.breaks, self.coefficients, self.functions, self._bounded, period=self.period, added=added
        )

    @property
    def alone(self) -> Motion:
        """First term of the sum, without the motions in `added`."""
        return self._with(()) if self.added else self

    @property
    def parts(self) -> tuple[Motion, ...]:
        """All terms of the sum, as single motions."""
        return self.alone, *self.added

    @property
    def constant(self) -> bool:
        """Whether the motion is constant, that is, a polynomial of degree zero."""
        return self.kind == PIECES and self.coefficients.shape == (1, 1) and not self.added

    @property
    def known(self) -> float:
        """Number of available time derivatives; infinite for motions other than user functions."""
        if self.kind != FUNCTION:
            return math.inf
        return next((k for k, f in enumerate(self.functions) if f is None), len(self.functions)) - 1

    @property
    def kinks(self) -> np.ndarray:
        """Times, s, of jumps of a derivative that are large enough to affect integration steps across them.

        Splines of degree 5 have continuous derivatives up to the fourth; methods of high order still lose accuracy
        where the fifth jumps. For periodic motions the times in the first period are listed.
        """
        return np.unique(np.concatenate([part._own_kinks() for part in self.parts]))

    def kinks_between(self, start: float, end: float) -> np.ndarray:
        """Return the times, s, from `start` to `end` at which a derivative of the motion jumps, in all periods.

        Only jumps that affect integration steps are included, see `kinks`.
        """
        kinks_of_parts = []
        for part in self.parts:
            times = part._own_kinks()
            if part.period and times.size:
                first, last = ((t - part.breaks[-1]) // part.period for t in (start, end))
                times = (times + part.period * np.arange(first, last + 2)[:, None]).ravel()
            kinks_of_parts.append(times)
        times = np.unique(np.concatenate(kinks_of_parts))
        return times[(times >= start) & (times <= end)]

    def _own_kinks(self) -> np.ndarray:
        return kinks(self.breaks, self.coefficients, self.period > 0) if self.kind == PIECES else np.zeros(0)

    def derivatives(self, t: float, order: int = 2) -> np.ndarray:
        """Return the value and its first `order` time derivatives at time t (s) as an array (order + 1,)."""
        if isinstance(t, np.ndarray | list | tuple) and np.ndim(t):
            raise InputError(f"{self!r}: t must be a single time, s; got {t!r}: use [motion(t) for t in times]")
        if not self.start <= t <= self.end:
            raise InputError(f"{self!r}: is defined from {self.start:g} to {self.end:g} s; asked for at {t:g} s")
        return np.sum([part._own_derivatives(t, order) for part in self.parts], axis=0)

    def derivatives_for(self, owner: str, t: float, order: int) -> np.ndarray:
        """Return the value and its first `order` time derivatives at time t (s), as `derivatives` does.

        Errors name the owner of the motion, such as 'Drive "motor", motion'.
        """
        try:
            return self.derivatives(t, order)
        except InputError as error:
            raise InputError(f"{owner}: {error}") from error

    def _own_derivatives(self, t: float, order: int) -> np.ndarray:
        if self.kind == FUNCTION:
            return np.array([self._value(k, t) for k in range(order + 1)])
        table, taylor = MotionTable.of([self]), np.zeros(order + 1)
        plain(motion_taylor)(table, 0, float(t), order, taylor, 0)
        return taylor * [math.factorial(k) for k in range(order + 1)]

    def _value(self, k: int, t: float) -> float:
        function = self.functions[k] if k < len(self.functions) else None
        name = "f" + ("_" + "t" * k if k else "")
        if function is None:
            raise InputError(f"{self!r}: {name} is needed here, but was not given")
        try:
            value = function(t)
        except Exception as error:
            raise InputError(f"{self!r}: {name} failed at t = {t:g} s: {type(error).__name__}: {error}") from error
        return validate.number(f"{self!r}, at t = {t:g} s", f"what {name} returns", value)

    def check(self, owner: str, start: float, end: float) -> None:
        """Check the motion for a run from `start` to `end`, s.

        An InputError is raised if the run leaves the interval on which the motion is defined, or if user-supplied
        derivatives are wrong. Times at which a function fails are skipped, because the run may end before them.
        """
        if not (self.start <= start and end <= self.end):
            raise InputError(
                f"{owner}: {self!r} is defined from {self.start:g} to {self.end:g} s, and is needed from "
                f"{start:g} to {end:g} s: add points, or shorten the run"
            )
        if self.kind != FUNCTION:
            return
        check_derivatives(self, owner, start, end)

    def __call__(self, t: float) -> float:
        """Return the value c(t) of the motion at time t, s."""
        return float(self.derivatives(t, 0)[0])

    def __repr__(self) -> str:
        return f"Motion({' + '.join(part._own_name() for part in self.parts)})"

    def _own_name(self) -> str:
        if self.kind == SINUSOID:
            a, w, phase, offset = self.coefficients[0]
            return f"{offset:g} + {a:g} sin({w:g} t + {phase:g})"
        if self.kind == FUNCTION:
            f = self.functions[0]
            return f.text if isinstance(f, Expression) else str(getattr(f, "__name__", "function"))
        if self.period:
            return f"periodic spline of {len(self.coefficients)} pieces over {self.period:g} s"
        if len(self.coefficients) > 1 and not self._bounded and self.coefficients.shape[1] > 1:
            first, last = (f"{self.coefficients[k, 0]:g} at {self.breaks[:-1][k]:g} s" for k in (1, -1))
            return f"from {first} to {last}"
        if len(self.coefficients) > 1 and not self._bounded:
            return f"{len(self.coefficients)} steps from {self.breaks[0]:g} s on"
        if math.isfinite(self.end):
            return f"spline of {len(self.coefficients)} pieces from {self.start:g} to {self.end:g} s"
        return " + ".join(f"{c:g} t^{k}" for k, c in enumerate(self.coefficients[0]))


def _increasing(owner: str, times: Any, fewest: int) -> np.ndarray:
    """Return the times (n,), s, of a motion; an InputError is raised unless they increase and n >= `fewest`."""
    numbers = validate.numbers(times)
    if numbers is None or numbers.ndim != 1 or numbers.size < fewest or not np.isfinite(numbers).all():
        count = "at least two times" if fewest > 1 else "times"
        raise InputError(f"{owner}: times must be a list of {count} in seconds; got {times!r}")
    if (numbers[1:] <= numbers[:-1]).any():
        raise InputError(f"{owner}: times must increase strictly; got {numbers.tolist()}")
    return numbers


# Types that `as_motion` accepts: a motion, a function of t as text, or a constant.
MotionLike = Motion | Expression | str | float


def as_motion(owner: str, argument: str, value: Any) -> Motion:
    """Return `value` as a Motion; it may be a Motion, an expression in t, or a constant.

    `owner` and `argument` name the value in errors.
    """
    if isinstance(value, str | Expression):
        return Motion.function(function_of(owner, argument, value, ("t",)))
    return value if isinstance(value, Motion) else Motion.polynomial([validate.number(owner, argument, value)])


def _sum_of_functions(motions: list[Motion]) -> Motion:
    """Return the sum of motions given by user functions, up to the highest time derivative that all of them provide."""
    if len(motions) == 1:
        return motions[0]

    def total(terms: tuple[Callable[[float], float], ...]) -> Callable[[float], float]:
        def functions(t: float) -> float:
            return sum(f(t) for f in terms)

        return functions

    derivatives = zip(*(motion.functions for motion in motions), strict=True)
    summed = tuple(None if None in of else total(of) for of in derivatives)
    return Motion(FUNCTION, np.zeros(2), np.zeros((1, 0)), summed)
