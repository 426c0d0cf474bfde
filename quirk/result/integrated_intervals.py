"""Integration of the motion between two outputs, where loads or prescribed motions jump between them.

Polynomials through the outputs do not follow such a jump. Its times are known: those of inputs of a run, of other
functions of time that are given in pieces, and the user's `breaks`. Where friction slides, polynomials are of low
degree, and slip may turn fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..bodies.state import STATE_SIZE
from ..dynamics.sparse.solver.solver import Solver
from ..dynamics.sparse.stepping.compiled_run import CompiledRun
from ..dynamics.sparse.stepping.resume_point import ResumePoint
from ..dynamics.sparse.stepping.rhs import SparseFlow
from ..dynamics.sparse.stepping.run_state import Settings
from ..dynamics.user_functions import prescribed_motions
from ..errors import InputError
from ..integrators import RADAU_IIA9, TABLEAUX, Breaks, IntegrationError, Statistics
from ..integrators.breaks import APART_ULPS
from .segment import BEFORE_ULPS, Segment

# Tolerances of the integration, relative and absolute (m, m/s, ...), below those with which runs are usually computed.
RTOL, ATOL = 1e-11, 1e-13
# Method of the integration, which changes to the implicit one in stiff systems.
EXPLICIT = TABLEAUX["Vern9"]


class Jumps:
    """Known times at which loads or prescribed motions jump, or a derivative of theirs, in a segment of a result.

    Parameters
    ----------
    segment : segment of the result
    breaks : times given by the user, s

    Attributes
    ----------
    times : (k,) increasing times, s
    """

    def __init__(self, segment: Segment, breaks: np.ndarray) -> None:
        start, end = float(segment.time[0]), float(segment.time[-1])
        motions = [motion for _, motion in prescribed_motions(segment.model)]
        found = [motion.kinks_between(start, end) for motion in motions]
        given = breaks[(breaks >= start) & (breaks <= end)]
        self.times = np.unique(np.concatenate([*found, given]))

    def within(self, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        """Return whether there is a time in each of the intervals between `starts` and `ends`, (p,) each, s.

        Times that equal an end up to round-off do not count.
        """
        first = np.searchsorted(self.times, starts + APART_ULPS * np.spacing(np.abs(starts)), side="right")
        return np.asarray(np.searchsorted(self.times, ends - APART_ULPS * np.spacing(np.abs(ends))) > first)

    def at(self, times: np.ndarray) -> np.ndarray:
        """Return whether each of `times` (p,), s, is one of them, so that loads differ `BEFORE_ULPS` before it."""
        first = np.searchsorted(self.times, times - BEFORE_ULPS * np.spacing(np.abs(times)), side="right")
        return np.asarray(np.searchsorted(self.times, times, side="right") > first)


def given_breaks(options: Iterable[Mapping[str, Any]]) -> np.ndarray:
    """Return the times (k,), s, of the argument `breaks` of all runs whose arguments are `options`."""
    given = [of_run["breaks"] for of_run in options if of_run.get("breaks") is not None]
    return np.concatenate([np.zeros(0), *map(np.ravel, given)])


def integrated(
    segment: Segment, solver: Solver, row: int, times: np.ndarray, jumps: Jumps, gap: float, *, on_constraints: bool
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return states (p, 13 n + k) and quadrants (p, K, 2) at p times in an interval, integrated from its first output.

    The third value is the difference from the state of the next output, m: the error of the integrations of this
    interval. Rotations, rad, are multiplied by the characteristic length.

    Parameters
    ----------
    segment, solver : segment of a result, and its solver
    row : index of the output before the times
    times : (p,) increasing times between this output and the next one, s
    jumps : times at which steps must end
    gap : maximum interval between calls of user functions, s
    on_constraints : whether states are projected onto the constraints
    """
    t, end = float(segment.time[row]), float(segment.time[row + 1])
    model, y = segment.model, segment.flat[row]
    settings = Settings(
        start=t, end=end, step=0.0, fixed=0, rtol=RTOL, atol=ATOL, interval=int(on_constraints), alpha=0.0, beta=0.0,
        length=model.length, all_steps=False, max_step=np.inf, gap=gap,
    )  # fmt: skip
    breaks = Breaks(t, end, jumps.times)
    run = CompiledRun(
        solver, EXPLICIT, settings, breaks, np.append(times, end), Statistics(), guards=(), switch=RADAU_IIA9
    )
    try:
        flow = SparseFlow(solver, model.auxiliary.state(y), t, on_constraints=on_constraints)
        run.enter(flow, t, y, segment.angles[row], ResumePoint())
        run.store_state()
        while run.proceed():
            pass
    except IntegrationError as error:
        raise InputError(
            f"Result.at: the motion between the outputs at t = {t:g} and {end:g} s, where loads jump or friction "
            f"slides, cannot be integrated: {error}: use more outputs"
        ) from error
    found = run.buffer.take()
    counted = found.quadrants.reshape(len(found.time), -1, 2)
    quadrants = segment.turns.quadrants[row] + (counted[1:-1] - counted[0])
    return found.flat[1:-1], quadrants, _difference(segment, found.flat[-1], segment.flat[row + 1])


def _difference(segment: Segment, one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference of positions, m, or quaternions, times twice the length, of two state vectors."""
    n = segment.model.auxiliary.bodies
    (r, q), (r_other, q_other) = (
        (bodies[:, :3], bodies[:, 3:7]) for bodies in (y[: STATE_SIZE * n].reshape(n, -1) for y in (one, other))
    )
    turned = np.abs(q - q_other).max(initial=0.0)
    return float(max(np.abs(r - r_other).max(initial=0.0), 2 * segment.model.length * turned))
