"""Evaluation of a result at arbitrary times within the run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..dynamics.model.joint_angles import Turns
from ..errors import InputError, OutputWarning, outside
from ..integrators.breaks import PARTS
from ..util import validate
from ..util.misuse import explained
from .auxiliary_interpolation import with_auxiliary_states
from .integrated_intervals import Jumps, given_breaks, integrated, slides_in_directions
from .interpolated_accelerations import warn_of_inaccurate_loads
from .power import GRAVITY, IMPACTS, Power, power_of
from .result import Result
from .segment import Segment, joined
from .shared_work import with_shared_work
from .state_interpolation import Abscissa, Interpolant, satisfies_constraints, solver_for
from .work import DEGREE, integrals

SIDES = ("before", "after")
# Largest accepted interpolation uncertainty, relative to the system's size or to the displacement between two outputs,
# whichever is larger.
MOST_UNCERTAIN = 1e-2
# Uncertainty relative to the system's size below which jerk and snap are not used.
WELL_KNOWN = 1e-10


@explained
class ResampledResult(Result):
    """Result of a run at selected times; see `Result.at`.

    Attributes
    ----------
    run : Result
        The result of the run from which this result is interpolated.
    uncertainty : (nt,)
        Estimated interpolation error of positions, m, or of rotations, rad, times the characteristic length of the
        system; zero at recorded times. It is the difference from an interpolation with one derivative less.
    """

    def __init__(self, run: Result, segments: Sequence[Segment], rows: np.ndarray, uncertainty: np.ndarray) -> None:
        super().__init__(run.system, segments, run.statistics, run.status, run.events, run.options)
        self.run, self.uncertainty, self._rows = run, uncertainty, rows

    def at(self, t: ArrayLike, side: str = "after") -> ResampledResult:
        """Return the original run interpolated at other times; see `Result.at`."""
        return at(self.run, t, side)

    @property
    def _accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations of n bodies (nt, n, 3): linear, inertial frame, m/s^2, and angular, body axes, rad/s^2."""
        return self._acceleration_derivative(1) if self.run._prescribed else super()._accelerations

    @property
    def work(self) -> dict[str, np.ndarray]:
        """Work (nt,) since the start of the run, J, by name of the forces and constraints.

        It is available for forces and constraints whose work is integrated by the run.
        """
        found = {}
        for name, done in self.run._integrated_work.items():
            here, kept = (_integrated_work(segments, name) for segments in (self.segments, self.run.segments))
            found[name] = done[self._rows] + here - kept[self._rows]
        return with_shared_work(self.run.segments, found, self.time, self._rows)

    @cached_property
    def power(self) -> Power:
        """Power of forces and constraints at the selected times, and their work since the start of the run."""
        return power_of(self, lambda: work_at(self, self._rows), self.run.power)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.time)} times of {self.run!r}>"


def at(run: Result, t: Any, side: str = "after") -> ResampledResult:
    """Return a result interpolated at the times `t` within the run, s; see `Result.at`."""
    owner = "Result.at"
    validate.choice(owner, "side", side, SIDES)
    numbers = validate.numbers(t)
    given = np.atleast_1d(t) if numbers is not None and numbers.ndim == 0 else t
    times = validate.times(owner, "t", given, float(run.time[0]), float(run.time[-1]))
    rows = _rows(run.time, times, side)
    starts = np.cumsum([0, *(len(segment.time) for segment in run.segments)])
    which = np.searchsorted(starts, rows, side="right") - 1
    breaks = given_breaks(run.options)
    gap = float(run.time[-1] - run.time[0]) / PARTS
    segments, apart = [], []
    for number in np.unique(which):
        here = which == number
        jumps = Jumps(run.segments[number], breaks)
        before = jumps.at(times[here]) & (times[here] > run.time[0]) & (side == "before")
        segment, uncertain = _within(
            run.segments[number],
            rows[here] - starts[number],
            times[here],
            None if run._prescribed else jumps,
            before,
            gap,
        )
        segments.append(segment)
        apart.append(uncertain)
    return ResampledResult(run, segments, rows, np.concatenate(apart))


def _rows(output_times: np.ndarray, times: np.ndarray, side: str) -> np.ndarray:
    """Return the index (nt,) of the last output at or before each of `times`.

    At an event there are two outputs; `side` selects the one "before" or "after" it. `output_times` are the times
    of all outputs, s.
    """
    last = np.searchsorted(output_times, times, side="right") - 1
    first = np.searchsorted(output_times, times, side="left")
    exact = output_times[last] == times
    return np.where(exact & (side == "before"), first, last)


def _within(
    segment: Segment, rows: np.ndarray, times: np.ndarray, jumps: Jumps | None, before: np.ndarray, gap: float
) -> tuple[Segment, np.ndarray]:
    """Return the interpolated segment at nt times, and the estimated interpolation errors (nt,), m.

    Parameters
    ----------
    segment : segment of the run
    rows : (nt,) indices of the last outputs at or before the times
    times : (nt,) increasing times, s
    jumps : times at which loads jump; in intervals that contain such a time, or in which friction slides, states are
        integrated. None in a kinematic analysis, where nothing is integrated.
    before : (nt,) mask of the times at which loads jump, and are to be evaluated before the jump
    gap : maximum interval between calls of user functions in an integration, s
    """
    flat, quadrants = segment.flat[rows], segment.turns.quadrants[rows]
    uncertainty = np.zeros(len(times))
    inner = np.flatnonzero(segment.time[rows] != times)
    if len(inner) and rows[inner[-1]] + 1 >= len(segment.time):
        raise InputError(f"Result.at: the run is not known between t = {segment.time[-1]:g} s and its next segment")
    across = np.zeros(len(inner), dtype=bool)
    if jumps is not None:
        across = jumps.within(segment.time[rows[inner]], segment.time[rows[inner] + 1])
    if across.any() and segment.recorded:
        _warn_of_jump(segment, rows[inner[across]])
        across[:] = False
    if len(inner) and jumps is not None and not segment.recorded and _slides(segment):
        across |= _needs_integration(segment, rows[inner])
    for path, here in _interpolants(segment, rows, inner[~across]):
        left = rows[here]
        start, end = segment.time[left], segment.time[left + 1]
        place = Abscissa(left, (times[here] - start) / (end - start))
        uncertainty[here] = path.uncertainty(place)
        _check(segment, left, times[here], uncertainty[here])
        flat[here] = with_auxiliary_states(path, place, path.states(place))
        quadrants[here] = path.quadrants(place, flat[here])
        if not segment.recorded:
            angles = path.angles(place, flat[here]) if segment.model.reads_angles else None
            warn_of_inaccurate_loads(path, place, flat[here], angles)
    if across.any():
        assert jumps is not None
        here = inner[across]
        solver, ends = solver_for(segment), np.unique([rows[here], rows[here] + 1])
        projects = satisfies_constraints(segment, solver, ends)
        for row in np.unique(rows[here]):
            within = here[rows[here] == row]
            flat[within], quadrants[within], uncertainty[within] = integrated(
                segment, solver, int(row), times[within], jumps, gap, on_constraints=projects
            )
        _check(segment, rows[here], times[here], uncertainty[here])
    turns = Turns(segment.turns.joints, quadrants, segment.turns.whole)
    changes = segment.switched, segment.replaced
    resampled = Segment(segment.plant, times, flat, turns, segment.rank, changes, segment.changed)
    if segment.before_events is not None:
        resampled.last_slip = segment.last_slip
        resampled.before_events = before | (segment.before_events[rows] & (segment.time[rows] == times))
    return resampled, uncertainty


def _warn_of_jump(segment: Segment, rows: np.ndarray) -> None:
    """Issue an OutputWarning because loads jump in intervals that cannot be integrated; `rows` are their first outputs.

    The motion of a segment cannot be integrated again if its user functions may have changed since the run.
    """
    start, end = segment.time[rows[0]], segment.time[rows[0] + 1]
    warnings.warn(
        f"Result.at: loads jump between the outputs at t = {start:g} and {end:g} s, and the functions of "
        f"{', '.join(segment.changed)} may have changed since, so that the motion between these outputs is not "
        "accurate; simulate with the times of jumps in output=",
        OutputWarning,
        stacklevel=outside(),
    )


def _interpolants(segment: Segment, rows: np.ndarray, inner: np.ndarray) -> Iterator[tuple[Interpolant, np.ndarray]]:
    """Yield interpolants of a segment, each with the indices of the times for which it is to be used.

    `rows` (nt,) are the indices of the last outputs at or before nt times, and `inner` the indices of the times that
    lie between outputs. Where outputs are closely spaced, the interpolants use derivatives up to accelerations only,
    because jerk and snap are expensive with force elements.
    """
    if not len(inner):
        return
    left = rows[inner]
    rough = Interpolant(segment, left, order=1)
    near = _is_well_known(rough, left)
    if near.any():
        yield rough, inner[near]
    if not near.all():
        yield Interpolant(segment, left[~near]), inner[~near]


def _is_well_known(path: Interpolant, rows: np.ndarray) -> np.ndarray:
    """Return whether an interpolant is accurate in the intervals that start at the outputs `rows` (p,)."""
    # The difference of the polynomials is largest in the middle of intervals.
    return np.asarray(
        path.uncertainty(Abscissa(rows, np.full(len(rows), 0.5))) <= WELL_KNOWN * path.segment.model.length
    )


def _needs_integration(segment: Segment, rows: np.ndarray) -> np.ndarray:
    """Return whether polynomials are too inaccurate in the intervals that start at the outputs `rows` (p,).

    `segment` is a segment in which friction slides. Just before slip ends, the friction force depends on small errors
    of it.
    """
    ends = np.isin(rows + 1, list(segment.ends_of_slip))
    return np.asarray(ends | ~_is_well_known(Interpolant(segment, rows, order=1), rows))


def _slides(segment: Segment) -> bool:
    """Whether friction slides whose force depends on loads, or turns fast, so that jerk and snap are not known."""
    return any(slides_in_directions(element) for element, _ in segment.model.forces)


def _check(segment: Segment, rows: np.ndarray, times: np.ndarray, uncertainty: np.ndarray) -> None:
    """Raise an InputError if the estimated interpolation error at one of p times is too large.

    `segment` is the interpolated segment, `rows` (p,) are the indices of the last outputs before the times `times`
    (p,), s, and `uncertainty` (p,), m, the estimated errors.
    """
    position = segment.state.position
    moved = np.linalg.norm(position[rows + 1] - position[rows], axis=2).max(axis=1)
    size = np.maximum(segment.model.length, moved)
    excess = uncertainty / size
    worst = int(np.argmax(excess))
    if not excess[worst] <= MOST_UNCERTAIN:
        apart = segment.time[rows[worst] + 1] - segment.time[rows[worst]]
        raise InputError(
            f"Result.at: at t = {times[worst]:g} s positions would be uncertain by {uncertainty[worst]:.2g} m, because "
            f"outputs are {apart:.3g} s apart: use more outputs, such as output={apart / 4:.1g}"
        )


def _integrated_work(segments: Sequence[Segment], name: str) -> np.ndarray:
    """Return the work (nt,), J, of a force or constraint, integrated by the run with the motion.

    `segments` are all segments of the run.
    """
    return joined([segment.work.get(name, np.zeros_like(segment.time)) for segment in segments])


def work_at(instants: ResampledResult, rows: np.ndarray) -> tuple[dict[str, np.ndarray], float]:
    """Return the work (nt,), J, by name since the start of a run, and its estimated error.

    `instants` is the result at the nt selected times, and `rows` are the indices of the last outputs at or before them.
    """
    run, integrated, work = instants.run, instants.work, {}
    weight, weight_now = run.energy.potential_of["gravity"], instants.energy.potential_of["gravity"]
    for name, done in run.power.work_since_first_output.items():
        if name in integrated:
            work[name] = integrated[name]
        elif name in run._model.auxiliary.work:
            # Without integration, work is computed by splines.
            work[name] = integrals(run.time, run.power.of[name][:, None], DEGREE, instants.time)[:, 0]
        elif name == IMPACTS:
            work[name] = done[rows]
        else:
            stored, now = (weight, weight_now) if name == GRAVITY else _energies(run, instants, name)
            work[name] = done[rows] + stored[rows] - now
    return work, run.power.uncertainty


def _energies(run: Result, instants: ResampledResult, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the energy (J) stored in a force element at all output times, and at the selected times (nt,).

    The energy is zero for constraints. `run` is the original result, and `instants` the result at the selected times.
    """
    none = np.zeros_like(run.time), np.zeros_like(instants.time)
    kept, now = (result._exerted.get(name) for result in (run, instants))
    return (none[0] if kept is None else kept.energy), (none[1] if now is None else now.energy)
