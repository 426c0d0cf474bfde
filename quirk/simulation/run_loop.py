"""The loop that advances a run of `simulate`, from its start or a checkpoint to its end, with error messages."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.assembly import check_consistent
from ..bodies.state import STATE_SIZE, Kinematics, State
from ..dynamics.dense.undefined import undefined_soon
from ..dynamics.inconsistency import row_violations
from ..dynamics.model.applied_loads import exerted
from ..dynamics.model.joint_angles import Turns, angles_at, angles_by_name
from ..dynamics.model.time_derivatives import PoseDerivatives
from ..errors import InputError, SimulationError, WriteError
from ..functions.motion import Motion
from ..integrators import IntegrationError
from ..jit.keyboard_interrupt import DeferredInterrupt, within_a_call
from ..result.constraint_health import check_kept
from ..result.result import Result
from ..result.segment import Segment
from ..system.system import System
from ..util.garbage import collector_paused
from ..util.progress import ProgressLine
from .constraint_jumps import jump_near, warn_of_rate_jumps
from .hybrid.checkpointed_run import CheckpointedRun
from .hybrid.event_functions import other_called_functions
from .hybrid.hybrid_run import HybridRun
from .hybrid.restart_points import RestartPoint
from .hybrid.run_factory import RunFactory
from .sampler import Sampler
from .sensitivity.adjoint import gradient_of
from .sensitivity.forward import sensitivities_of
from .sensitivity.objective import Objective
from .sensitivity.parameters import Parameter
from .watched_loads import warn_of_watched_loads

if TYPE_CHECKING:
    from ..dynamics.dense.flow import Flow
    from ..dynamics.sparse.stepping.rhs import SparseFlow
    from ..io.checkpoints import Checkpoint

# Duration, s, after the start of a run without end over which derivatives of functions of time are checked.
TRIAL = 1e-3
# Largest displacement by the initial projection, in rad or relative to the characteristic length of the system, with
# which the rows selected before the projection are used after it.
ROUND_OFF = 1e-14
# Hint in errors of runs with a sampled function. Constant inputs between samples at intervals T change the rate v of an
# inertia J by -k v T / J in each interval, for the feedback -k v, so that v alternates and grows if k T > 2 J.
HINT_OF_SAMPLED = (
    "; if the feedback of {} makes the motion diverge, as happens if the gain of a rate times the period exceeds twice "
    "the inertia that it drives, take a shorter period or a lower gain, or add armature= or damping at the joint"
)


def computed(
    system: System,
    state: State,
    factory: RunFactory,
    sampler: Sampler,
    checkpoint: Checkpoint | None,
    progress: bool | None,
    varied: Sequence[Parameter] = (),
    objective: Objective | None = None,
) -> Result:
    """Compute a run and return its result; a failure raises a SimulationError that contains the result so far.

    Parameters
    ----------
    system : System
    state : initial state
    factory : factory of run objects, one for each set of active constraints and forces
    sampler : calls of the system's sampled functions
    checkpoint : checkpoint from which the run is continued, or None
    progress : whether a progress line is shown; None for the default
    varied : parameters of sensitivities or, with an objective, of its gradient
    objective : scalar function of the run whose gradient is computed, or None for no gradient
    """
    simulated = _SimulatedRun(system, state, factory, sampler, checkpoint)
    try:
        completed = simulated.completed(progress)
        if varied:
            run = simulated.run
            assert isinstance(run, HybridRun) and run.trail is not None
            if objective is None:
                completed._sensitivities = sensitivities_of(completed, run.trail.intervals, factory, varied)
            else:
                completed._judged = gradient_of(completed, run.trail.intervals, factory, varied, objective)
        return completed
    except KeyboardInterrupt:
        if within_a_call():
            raise  # this run is within a user function of another run, which is the one to interrupt
        return simulated.result("interrupted")
    except WriteError as error:
        if checkpoint is None:
            raise
        raise simulated.unwritten(checkpoint, error) from error
    except IntegrationError as error:
        raise simulated.failed(error) from error
    finally:
        simulated.close()


class _SimulatedRun:
    """Run of `simulate`, which can return a partial result at any time."""

    def __init__(
        self, system: System, state: State, factory: RunFactory, sampler: Sampler, checkpoint: Checkpoint | None
    ) -> None:
        self._system, self._state, self._factory = system, state, factory
        self._sampler, self._checkpoint = sampler, checkpoint
        self._started, self._before = time.perf_counter(), factory.statistics.wall_time
        self.run: HybridRun | CheckpointedRun | None = None
        self._line: ProgressLine | None = None

    def completed(self, progress: bool | None) -> Result:
        """Advance the run to its end, and return its result; `progress` is as for `computed`."""
        system, factory, sampler, settings = self._system, self._factory, self._sampler, self._factory.settings
        with DeferredInterrupt():
            self.run = run = started_run(system, self._state, factory, self._checkpoint)
            if isinstance(run, HybridRun):
                functions = other_called_functions(system, factory.events)
                sampler.reset()
                sampler.begin(run, sampler.inputs.serve, functions, factory.in_python)
            self._started = time.perf_counter()
            self._line = ProgressLine.shown(progress, settings.start, settings.end)
            while run.proceed():
                if run.reached >= sampler.next:
                    sampler.sample_in_run()
                if self._line is not None:
                    self._line.update(run.reached)
            run.check_reads()
            completed = self.result("stopped" if run.stopped else "completed")
            if settings.interval > 0:
                check_kept(completed, "simulate")
            warn_of_rate_jumps(completed, settings.start, settings.end)
            warn_of_watched_loads(completed, factory.guards)
        return completed

    def result(self, status: str) -> Result:
        """Return the result so far; `status` is its status, such as "completed"."""
        system, factory, run, statistics = self._system, self._factory, self.run, self._factory.statistics
        statistics.wall_time = self._before + time.perf_counter() - self._started
        if run is None:
            turns = Turns.of_state(system.model.joints, self._state)
            flat = system.model.auxiliary.flat(self._state)[None]
            only = Segment(system.plant, np.array([factory.settings.start]), flat, turns, 0)
            return Result(system, [only], statistics, status, options=[factory.options])
        if status != "completed":
            run.close()
        whole, segments = system, run.segments
        if isinstance(run, HybridRun):
            whole, segments = self._sampler.followed(segments, run.configurations)
        return Result(whole, segments, statistics, status, run.happenings, [factory.options])

    def unwritten(self, checkpoint: Checkpoint, error: WriteError) -> SimulationError:
        """Return the error for a run whose checkpoint could not be written."""
        factory, kept = self._factory, checkpoint.segments
        t = factory.settings.start if checkpoint.restart_point is None else checkpoint.restart_point.t
        events, options = checkpoint.happenings, [factory.options]
        return SimulationError(
            f"simulate: {error}, up to t = {t:.9g} s; the same call goes on from there once there is room",
            time=t,
            result=Result(self._system, kept, factory.statistics, "failed", events, options) if kept else None,
        )

    def failed(self, error: IntegrationError) -> SimulationError:
        """Return the error for a run that cannot continue, with the result so far."""
        assert self.run is not None
        partial = self.result("failed")
        last = partial.state_at(-1)
        message, body = described_failure("simulate", self._system, self.run, self._factory, last, error)
        return SimulationError(
            f"{message}; the result up to here is in this error's .result", time=error.time, body=body, result=partial
        )

    def close(self) -> None:
        """End the progress line on standard error."""
        if self.run is not None and self._line is not None:
            self._line.close(self.run.reached)


def described_failure(
    owner: str,
    system: System,
    run: HybridRun | CheckpointedRun,
    factory: RunFactory,
    last_state: State,
    error: IntegrationError,
) -> tuple[str, str | None]:
    """Return the error message for a run that cannot continue, and the name of the affected body, or None.

    `owner` is the name of the calling function, for the message, `factory` is the factory of the run objects,
    `last_state` is the last accepted state, and `error` the failure of the integration.
    """
    settings, trouble = factory.settings, run.trouble or run.undefined(error.time)
    cause: Any = trouble
    if not isinstance(trouble, InputError):
        step, active = settings.step if settings.fixed else 0.0, run.plant.model.joint_rows.keys()
        cause = undefined_soon(run.plant.model, last_state, error.time, step)
        cause = cause or jump_near(system, frozenset(active), last_state, error.time, step)
    because = "" if cause is None else f" ({cause})"
    if cause is None and system.sampled:
        because = HINT_OF_SAMPLED.format(system.sampled[0])
    # A non-finite load makes the states of all coupled bodies non-finite; no body is named in this case.
    size, names = STATE_SIZE * len(system.bodies), system.model.body_names
    bodies = {names[c // STATE_SIZE] for c in error.components if c < size}
    owners = [f'body "{name}"' for name in bodies] or {system.model.auxiliary.owner(c, names) for c in error.components}
    where = f" at {next(iter(owners))}" if len(owners) == 1 else ""
    return f"{owner}: at t = {error.time:.9g} s{where}: {error}{because}", bodies.pop() if len(bodies) == 1 else None


def started_run(
    system: System, state: State, factory: RunFactory, checkpoint: Checkpoint | None = None, owner: str = "simulate"
) -> HybridRun | CheckpointedRun:
    """Return a run at its initial state, projected onto the constraints, or at the restart point of a checkpoint.

    `factory` creates the run objects, `checkpoint` is the checkpoint or None, and `owner` the name of the calling
    function, for error messages.
    """
    run = HybridRun(system, factory) if checkpoint is None else CheckpointedRun(system, factory, checkpoint)
    if checkpoint is not None and checkpoint.restart_point is not None:
        run.start(checkpoint.restart_point)
        return run
    settings, configuration = factory.settings, system.configuration_of(state)
    plant, start = system.plant_for(configuration), settings.start
    end = settings.end if settings.end < np.inf else start + TRIAL
    model = plant.model
    may_end = any(event.actions for event in factory.events)
    for placed in model.relations:
        for motion in placed.relation.motions:
            motion.check(f"{placed.owner}, motion", start, _needed_end(motion, start, end, may_end))
    for element in system.forces:
        for name in element.motions:
            motion = element.motion(name)
            motion.check(f"{element}, {name}", start, _needed_end(motion, start, end, may_end))
    with collector_paused():
        check_consistent(system.as_computed_by(plant), state, start)
        flow = factory.flow(plant, state, start)
    y = flow.project(start, model.auxiliary.flat(state))
    if y is None:
        cause = "" if flow.trouble is None else f" ({flow.trouble})"
        raise SimulationError(f"{owner}: the initial state cannot be projected onto the constraints{cause}", time=start)
    begin = replace(model.auxiliary.state(y), angles=state.angles)
    angles = angles_at(model, begin, start)
    begin.angles = angles_by_name(model.joints, angles)
    # Errors of user functions at the initial state are raised here; other errors are reported during the run.
    with np.errstate(all="ignore"):
        kin = Kinematics.of(begin)
        for element, rows in model.forces:
            if element.of_user:
                exerted(element, rows, PoseDerivatives.of(kin, 1), start, 0, kin.angles, kin.internal)
    if flow.rank < model.rows and not _satisfies_all_rows(flow, begin, start, angles):
        system.as_computed_by(plant).acceleration(begin, start)  # raises an error that names contradictory constraints
    with collector_paused():
        point = RestartPoint(start, y, angles, configuration)
        if isinstance(run, HybridRun):
            run.start(point, flow if _moved(state, begin, model.length) <= ROUND_OFF else None)
        else:
            run.start(point)
    run.keep_start()
    return run


def _moved(before: State, after: State, length: float) -> float:
    """Return the largest difference of the poses of two states, where `length` (m) is the unit of positions."""
    positions, orientations = after.position - before.position, after.orientation - before.orientation
    return float(max(np.abs(positions).max() / length, np.abs(orientations).max()))


def _satisfies_all_rows(flow: Flow | SparseFlow, state: State, t: float, angles: np.ndarray) -> bool:
    """Return whether the accelerations of a run at a state and time t (s) satisfy all rows, also dependent ones.

    `flow` is the right-hand side of the equations of motion, and `angles` (K, 3) are the angles of K joints, rad.
    """
    flow.refer(t, angles, np.zeros_like(angles))
    rates = flow.model.auxiliary.state(flow(t, flow.model.auxiliary.flat(state)))
    kin = Kinematics.of(state)
    excess = row_violations(flow.model, kin, t, rates.velocity, rates.angular_velocity)[1]
    return bool((excess <= 1.0).all())


def _needed_end(motion: Motion, start: float, end: float, may_end: bool) -> float:
    """Return the time (s) up to which a prescribed motion must be defined, for a run from `start` to `end`, s.

    If `may_end` is True, events may stop the run, or disable the constraint or force, before the motion ends; the
    motion need not be defined beyond its own end then.
    """
    return min(end, motion.end) if may_end and motion.end > start else end
