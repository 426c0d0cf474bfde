"""Validation of output times, step sizes and breaks (times at which steps must end)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..errors import BreaksWarning, InputError, RateJumpWarning, outside
from ..functions.rate_jumps import described, rate_jumps
from ..integrators import STIFF_METHODS, TABLEAUX, Breaks
from ..system.system import System
from ..util import validate

MAX_OUTPUTS = 10**8  # maximum number of output states; more would not fit into memory
# Breaks outside of the run by less than this fraction of its duration count as its start or end: round-off.
SAME_TIME = 1e-12
# Minimum duration of a run, in smallest steps that round-off of the time allows; and the maximum number of steps that
# `max_step` may require: more would take days.
FEWEST_STEPS, MOST_STEPS = 100, 1e10


def output_times(output: Any, start: float, end: float) -> np.ndarray | None:
    """Return the output times (s), or None if the states of all steps are stored.

    `output` is the user's argument: an interval, s, a list of times, or None. The run is from `start` to `end`, s.
    """
    if output is None:
        return None
    given = validate.numbers(output)
    if given is None or given.ndim > 0:
        return validate.times("simulate", "output", output, start, end)
    interval, duration = validate.positive("simulate", "output", output), end - start
    count = duration / interval * (1 + 1e-12)
    if count < 1:
        raise InputError(f"simulate: output every {interval:g} s is longer than the duration, {duration:g} s")
    if count > MAX_OUTPUTS:
        raise InputError(f"simulate: output every {interval:g} s would be {count:.1e} states; use a longer interval")
    times = np.minimum(start + interval * np.arange(int(count) + 1), end)
    # The end of the run is an output time even if the interval does not divide the duration.
    return times if end - times[-1] < 1e-12 * duration else np.append(times, end)


def checked_step(owner: str, method: str, step: Any, rtol: Any, atol: Any, duration: float) -> float | None:
    """Return the validated fixed step size (s), or None if steps are adaptive.

    `step`, `method`, `rtol` and `atol` are the user's arguments, `duration` (s) is the duration of the run, and `owner`
    the name of the calling function, for error messages.

    Raises
    ------
    InputError
        If the arguments contradict each other.
    """
    if step is None:
        if method in TABLEAUX and not TABLEAUX[method].adaptive:
            raise InputError(f"{owner}: method {method!r} has a fixed step size; give step= in seconds")
        return None
    if method in STIFF_METHODS:
        raise InputError(f"{owner}: method {method!r} chooses its own steps; give rtol and atol, not step")
    if rtol is not None or atol is not None:
        raise InputError(f"{owner}: step fixes the step size, so rtol and atol have no meaning; give one or the other")
    step = validate.positive(owner, "step", step)
    if step > duration * (1 + 1e-12):
        raise InputError(f"{owner}: step of {step:g} s is longer than the duration, {duration:g} s")
    return step


def checked_breaks(
    system: System,
    start: float,
    duration: float,
    breaks: Any,
    max_step: Any,
    step: float | None,
    owner: str = "simulate",
) -> Breaks:
    """Return the times at which steps must end, and the largest step size.

    `breaks` and `max_step` are the user's arguments, `start` is the initial time, s, `duration` (s) may be infinite,
    `step` is the fixed step size, s, or None, and `owner` the name of the calling function, for error messages.
    """
    longest = np.inf
    if max_step is not None:
        longest = validate.positive(owner, "max_step", max_step)
        if step is not None:
            raise InputError(f"{owner}: step fixes the step size, so max_step has no meaning; give one or the other")
    given = np.zeros(0) if breaks is None else validate.numbers(breaks)
    if given is None or given.ndim != 1:
        raise InputError(f"{owner}: breaks must be a list of times in seconds; got {breaks!r}")
    if not np.isfinite(given).all():
        raise InputError(f"{owner}: breaks must be finite; got {given.tolist()}")
    _warn_of_breaks(given, start, duration)
    motions = [motion for placed in system.model.relations for motion in placed.relation.motions]
    motions += [element.motion(name) for element in system.forces for name in element.motions]
    parts = [part for motion in motions for part in motion.parts if part.kinks.size]
    recurring = [part for part in parts if part.period and duration == np.inf]

    def further(begin: float, end: float) -> list[float]:
        return [t for part in recurring for t in part.kinks_between(begin, end)]

    # Breaks at jumps of a rate come first: they are on the side after the jump, and given ones at the jump join them.
    ends = [*_times_of_rate_jumps(system, start, start + duration, owner), *given]
    checked = Breaks(
        start, start + duration, ends, longest,
        further if recurring else None, min((part.period for part in recurring), default=np.inf),
    )  # fmt: skip
    if duration < np.inf:
        _check_resolution(checked, duration, step)
    for part in parts:
        for t in part.kinks_between(checked.start, checked.end) if part not in recurring else ():
            checked.add(t)
    for motion in motions:
        if motion.end < checked.end:
            checked.add(motion.end)
    return checked


def _times_of_rate_jumps(system: System, start: float, end: float, owner: str) -> list[float]:
    """Return the times (s) at which the rate of a driver's motion jumps, and warn, because results lack the impulse.

    The run is from `start` to `end`, s, and `owner` is the name of the calling function, for the message.
    """
    times: list[float] = []
    for placed in system.model.relations if end < np.inf else ():
        for motion in placed.relation.motions:
            jumps = rate_jumps(motion, start, min(end, motion.end))
            times += [jump.t for jump in jumps]
            if not jumps:
                continue
            warnings.warn(
                f"{owner}: {placed.owner}: the rate of {motion!r} {described(jumps)}: give the motion in pieces, with "
                "quirk.follow as the action of an event at this time, or a smooth motion",
                RateJumpWarning,
                stacklevel=outside(),
            )
    return times


def _warn_of_breaks(times: np.ndarray, start: float, duration: float) -> None:
    """Warn about breaks (times at which steps must end) that lie outside of a run by more than round-off.

    All times are in s.
    """
    end, near = start + duration, SAME_TIME * duration
    idle = times[(times < start - near) | (times > end + near)]
    if idle.size:
        named = ", ".join(f"{t:.9g}" for t in idle[:3]) + (f" and {len(idle) - 3} more" if len(idle) > 3 else "")
        warnings.warn(
            f"simulate: breaks: {named} s: outside of the run, from {start:g} to {end:g} s, and without effect",
            BreaksWarning,
            stacklevel=outside(),
        )


def _check_resolution(breaks: Breaks, duration: float, step: float | None) -> None:
    """Raise an InputError if steps would be shorter than the resolution of floating-point times.

    This occurs if a short run starts at a very late time. `breaks` are the times at which steps must end, `duration`
    (s) is the duration of the run, and `step` the fixed step size (s), or None.
    """
    start, shortest = breaks.start, breaks.shortest(breaks.start)
    apart = f"times around {start:g} s are {np.spacing(max(abs(start), abs(breaks.end))):.1e} s apart"
    cure = "start the run nearer to t = 0, for example with start=0, and let forces depend on the time since then"
    if duration < FEWEST_STEPS * shortest:
        raise InputError(
            f"simulate: start = {start:g} s is too late for a duration of {duration:g} s: {apart}, and steps of less "
            f"than {shortest:.1e} s would be needed: {cure}"
        )
    for name, size in (("step", step), ("max_step", breaks.max_step)):
        if size is not None and size < shortest:
            raise InputError(
                f"simulate: {name} of {size:g} s is too short at a start of {start:g} s: {apart}: take steps of "
                f"{shortest:.1e} s or more, or {cure}"
            )
    if duration / breaks.max_step > MOST_STEPS:
        raise InputError(
            f"simulate: max_step of {breaks.max_step:g} s would be {duration / breaks.max_step:.1e} steps; "
            "use a longer one"
        )
