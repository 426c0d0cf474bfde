"""Integration of the motion between two outputs, where loads or prescribed motions jump between them.

Polynomials through the outputs do not follow such a jump. Its times are known: those of inputs of a run, of other
functions of time that are given in pieces, and the user's `breaks`. Where friction slides, polynomials are of low
degree, and slip may turn fast. The integration may reach the end of slip before the run did, by the errors of both.
From there to the next output states are linear in time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

import numpy as np

from ..analysis.contact.friction_modes import FASTER, KEEPS
from ..bodies.state import STATE_SIZE
from ..dynamics.model.model import Model
from ..dynamics.sparse.solver.slip_directions import set_slip_directions, slip_directions_at
from ..dynamics.sparse.solver.solver import Solver
from ..dynamics.sparse.stepping.compiled_run import CompiledRun
from ..dynamics.sparse.stepping.resume_point import ResumePoint
from ..dynamics.sparse.stepping.rhs import SparseFlow
from ..dynamics.sparse.stepping.run_state import Settings
from ..dynamics.sparse.stepping.watched_quantities import EventFunction
from ..dynamics.user_functions import prescribed_motions
from ..errors import InputError
from ..events.names import Reading
from ..forces import ForceElement, Friction
from ..forces.ball_friction import BallFriction
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
    t, end, y = float(segment.time[row]), float(segment.time[row + 1]), segment.flat[row]
    settings = Settings(
        start=t, end=end, step=0.0, fixed=0, rtol=RTOL, atol=ATOL, interval=int(on_constraints), alpha=0.0, beta=0.0,
        length=segment.model.length, all_steps=False, max_step=np.inf, gap=gap,
    )  # fmt: skip
    breaks, guards = Breaks(t, end, jumps.times), _ends_of_slip(segment.model)
    run = CompiledRun(
        solver, EXPLICIT, settings, breaks, np.append(times, end), Statistics(), guards, switch=RADAU_IIA9
    )
    try:
        flow = SparseFlow(solver, segment.model.auxiliary.state(y), t, on_constraints=on_constraints)
        solver.applied.refer(t, segment.angles[row])
        set_slip_directions(solver, slip_directions_at(solver, t, y))
        run.enter(flow, t, y, segment.angles[row], ResumePoint())
        run.store_state()
        while run.proceed() and not run.hit:
            pass
    except IntegrationError as error:
        raise InputError(
            f"Result.at: the motion between the outputs at t = {t:g} and {end:g} s, where loads jump or friction "
            f"slides, cannot be integrated: {error}: use more outputs"
        ) from error
    run.close()
    return _found(segment, run, row, times)


def _found(segment: Segment, run: CompiledRun, row: int, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return states, quadrants and the error as `integrated` does, from the output of its run.

    The run has ended at the next output, or at an end of slip before it.
    """
    found, reached, end = run.buffer.take(), run.reached, float(segment.time[row + 1])
    counted = found.quadrants.reshape(len(found.time), -1, 2)
    quadrants = segment.turns.quadrants[row] + (counted - counted[0])
    last, count = found.flat[-1], int(np.searchsorted(times, reached, side="right"))
    states, turned = found.flat[1 : count + 1], quadrants[1 : count + 1]
    if reached == end:
        return states, turned, _difference(segment, last, segment.flat[row + 1])
    ahead = last + (end - reached) * run.flow(reached, last)
    if count < len(times):
        rest, turned_on = _to_next_output(segment, run.flow, row, reached, last, quadrants[-1], times[count:])
        states, turned = np.concatenate([states, rest]), np.concatenate([turned, turned_on])
    return states, turned, _difference(segment, ahead, segment.flat[row + 1])


def slides_in_directions(element: ForceElement) -> TypeGuard[Friction | BallFriction]:
    """Whether a force element is sliding friction whose force may turn fast: it depends on loads, or on directions."""
    return isinstance(element, Friction) or (isinstance(element, BallFriction) and bool(element.heading.any()))


def _ends_of_slip(model: Model) -> list[EventFunction]:
    """Return the event functions of the ends of slip, beyond which the friction force of a segment does not hold.

    By the errors of both, slip may end earlier in an integration than in the run. Slip that has just begun is slower
    than its floor, and may turn back a little, as in the run.
    """
    sliding = [element for element, _ in model.forces if slides_in_directions(element)]
    levels = [-element.floor / (KEEPS * FASTER) if element.begins else 0.0 for element in sliding]
    return [
        EventFunction((element.name, 0, "slip"), f"{element}", Reading(element, "ahead", None, level), -1, True, True)
        for element, level in zip(sliding, levels, strict=True)
    ]


def _to_next_output(
    segment: Segment, flow: SparseFlow, row: int, start: float, y: np.ndarray, quadrants: np.ndarray, times: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return states (p, 13 n + k) and quadrants (p, K, 2) at p times between the end of slip and the next output.

    The state y (13 n + k,), with the quadrants (K, 2), is that at the end of slip of an integration, at the time
    `start`, s. The slip of the run ends near the output that follows `row`. The times differ by the errors of both, and
    states are linear in time between them, projected onto the constraints by `flow`.
    """
    end, joints = float(segment.time[row + 1]), segment.turns.joints
    linear = y + ((times - start) / (end - start))[:, None] * (segment.flat[row + 1] - y)
    found = [flow.project(float(t), state) for t, state in zip(times, linear, strict=True)]
    states = np.array([state for state in found if state is not None])
    if len(states) < len(times):
        raise InputError(
            f"Result.at: no state that satisfies the constraints is found between t = {start:g} s, where slip ends, "
            f"and the next output at {end:g} s: use smaller tolerances, or more outputs"
        )
    first = np.array([joints.first_quadrants(segment.model.auxiliary.state(state).orientation) for state in states])
    return states, first + 4 * np.round((quadrants - first) / 4).astype(first.dtype)


def _difference(segment: Segment, one: np.ndarray, other: np.ndarray) -> float:
    """Return the largest difference of positions, m, or quaternions, times twice the length, of two state vectors."""
    n = segment.model.auxiliary.bodies
    (r, q), (r_other, q_other) = (
        (bodies[:, :3], bodies[:, 3:7]) for bodies in (y[: STATE_SIZE * n].reshape(n, -1) for y in (one, other))
    )
    turned = np.abs(q - q_other).max(initial=0.0)
    return float(max(np.abs(r - r_other).max(initial=0.0), 2 * segment.model.length * turned))
