"""Jumps in time of user functions of constraints and gaps, and of their rates.

A function is examined with all bodies at rest at one state, so that only its explicit dependence on time remains.
"""

from __future__ import annotations

import dis
import math
import warnings
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..bodies import rotation
from ..bodies.body import Ground
from ..bodies.state import State
from ..constraints import Constraint
from ..constraints.relation import FORCE, MovingFrame, Relation
from ..constraints.unilateral import Unilateral
from ..errors import RateJumpWarning, outside
from ..functions.array_api import python_of
from ..functions.expression import Expression
from ..functions.rate_jumps import RateJump, described, jumps_of_rate
from ..result.result import Result
from ..system.system import System

# Times of a jump and an event that differ by less than this fraction of the duration of the run are the same.
SAME_TIME = 1e-12
# Intervals before and after a failed step, relative to max(|t|, 1 s), in which a jump is searched.
NEAR = 1e-9
# Smallest jump of a residual, relative to the length of the system or to 1 rad, that explains the failure of a step.
SMALLEST_JUMP = 1e-9
# A jump remains at least this fraction of the largest difference in the searched interval.
REMAINS = 0.5

# Residuals of a constraint as functions of time: value, rate and second derivative of each row.
OfTime = Callable[[float], list[tuple[float, float, float]]]


def warn_of_rate_jumps(result: Result, start: float, end: float) -> None:
    """Warn of user constraints and closed gaps whose rate jumps during a run, because the result lacks the impulse.

    Jumps at an event after which the function has the new rate are excluded: its action may have caused them. The run
    is from `start` to `end`, s.
    """
    segments = [segment for segment in result.segments if len(segment.time)]
    ends, active_parts = [float(segment.time[-1]) for segment in segments], [segment.active for segment in segments]
    intervals = list(zip([start, *ends[:-1]], ends, active_parts, strict=True))
    at_events, same = result.events.time, SAME_TIME * (end - start)
    for constraint in result.system.constraints:
        name = constraint.name
        if not any(name in active for *_, active in intervals):
            continue
        jumps = sorted(
            jump
            for jump, rate in _rate_jumps_of(constraint, result.system, start, end)
            if any(begin < jump.t <= until and name in active for begin, until, active in intervals)
            and not any(abs(t - jump.t) < same and _is_after(rate(float(t)), jump) for t in at_events)
        )
        if jumps:
            what = "gap" if isinstance(constraint, Unilateral) else "function"
            warnings.warn(
                f"simulate: {constraint}: the rate of its {what} {described(jumps)}: set a value that the function "
                "reads by the action of an event at this time, or use a smooth function",
                RateJumpWarning,
                stacklevel=outside(),
            )


def _is_after(rate: float, jump: RateJump) -> bool:
    return abs(rate - jump.after) < abs(rate - jump.before)


def _rate_jumps_of(
    constraint: Constraint, system: System, start: float, end: float
) -> Iterator[tuple[RateJump, Callable[[float], float]]]:
    """Yield the jumps in time of the rates of the residuals or gaps of a constraint, each with the rate.

    Bodies are at the initial state of the system. Only user functions are examined; the times `start` and `end` are in
    s, rates in m/s or rad/s.
    """
    for relation in _relations_of_time(constraint):
        of_time = _residuals(constraint, relation, system, system.initial_state())
        for row in range(len(relation.labels)):
            rate = _entry(of_time, row, 1)
            for jump in jumps_of_rate(rate, _entry(of_time, row, 2), start, end):
                yield jump, rate


def jump_near(system: System, active: frozenset[str], state: State, t: float, step: float) -> str | None:
    """Return a clause for messages about a constraint or gap whose value jumps where a step has failed, or None.

    Parameters
    ----------
    system : System
    active : names of the active bilateral constraints
    state : last accepted state, at which bodies are held
    t : time at which the step has failed, s
    step : size of fixed steps, s, or 0
    """
    near = NEAR * max(abs(t), 1.0)
    for constraint in system.constraints:
        if not isinstance(constraint, Unilateral) and constraint.name not in active:
            continue
        for relation in _relations_of_time(constraint):
            of_time = _residuals(constraint, relation, system, state)
            for row, label in enumerate(relation.labels):
                found = _jump(_entry(of_time, row, 0), t - near, t + near + step)
                scale, unit = (system.model.length, "m") if relation.units[row] == FORCE else (1.0, "rad")
                if found is not None and abs(found[1]) > SMALLEST_JUMP * scale:
                    return (
                        f"{constraint}: the value of {label} that its function returns jumps by {found[1]:.6g} {unit} "
                        f"at t = {found[0]:.9g} s, where bodies cannot follow: use a continuous function, or set a "
                        "value that it reads by the action of an event"
                    )
    return None


def _relations_of_time(constraint: Constraint) -> Iterator[Relation]:
    """Yield the relations of a constraint, or its gaps, with a user function that may jump in time."""
    relations = constraint.gaps if isinstance(constraint, Unilateral) else constraint.primitives
    for relation in relations:
        if isinstance(relation, Relation) and relation.compilable and _may_jump(relation.source):
            yield relation


def _may_jump(function: Any) -> bool:
    """Whether a user function may jump as a function of its first argument, the time."""
    if function is None or isinstance(function, Expression):
        return function is not None and not function.smooth
    bound = isinstance(function, MethodType)
    code = getattr(python_of(function.__func__ if bound else function), "__code__", None)
    if code is None or code.co_argcount <= bound:
        return True
    name = code.co_varnames[bound]
    return name in code.co_cellvars or any(
        i.opname.startswith("LOAD_FAST") and name in (i.argval if isinstance(i.argval, tuple) else (i.argval,))
        for i in dis.get_instructions(code)
    )


def _residuals(constraint: Constraint, relation: Relation, system: System, state: State) -> OfTime:
    """Return the residuals of a relation, or its gaps, as functions of time with the bodies at rest at a state."""
    none: list[Any] = [None] * len(constraint.ends)

    def constant(x: Any) -> np.ndarray:
        return np.array([Jet([float(part), 0, 0], none) for part in np.ravel(x)], dtype=object).reshape(np.shape(x))

    frames = []
    for body, frame in constraint.ends:
        R, r = np.eye(3), np.zeros(3)
        if not isinstance(body, Ground):
            k = system.bodies.index(body)
            R, r = rotation.matrix(state.orientation[k]), state.position[k]
        at_rest = np.zeros(3), np.zeros(3)
        frames.append(MovingFrame(*map(constant, (r + R @ frame.origin, R @ frame.matrix, *at_rest))))
    numbers = list(constant(np.array(relation.numbers)))

    def of_time(t: float) -> list[tuple[float, float, float]]:
        rows = [row.taylor for row in relation.function(Jet([t, 1.0, 0], none), frames, numbers, [])]
        if relation.of_velocities:
            return [(math.nan, float(row[0]), float(row[1])) for row in rows]
        return [(float(row[0]), float(row[1]), 2.0 * float(row[2])) for row in rows]

    return of_time


def _entry(of_time: OfTime, row: int, order: int) -> Callable[[float], float]:
    """Return one time derivative of one row as a function of time."""
    return lambda t: of_time(t)[row][order]


def _jump(value: Callable[[float], float], a: float, b: float) -> tuple[float, float] | None:
    """Return the time (s) and the height of the largest jump of a function between the times a and b, or None."""
    try:
        before, after = value(a), value(b)
        whole = abs(after - before)
        while a < (middle := 0.5 * (a + b)) < b:
            between = value(middle)
            if abs(between - before) >= abs(after - between):
                b, after = middle, between
            else:
                a, before = middle, between
    except Exception:  # user functions may raise any exception
        return None
    return (b, after - before) if abs(after - before) > REMAINS * whole > 0.0 else None
