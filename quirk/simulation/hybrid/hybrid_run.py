"""Run across events and contacts, at which the active constraints and forces change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.dynamics.model.joint_angles import Turns
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.solver.ending_slip import last_slip_directions
from quirk.dynamics.sparse.stepping import run_snapshot
from quirk.dynamics.sparse.stepping.resume_point import ResumePoint
from quirk.errors import SimulationError, SwitchingError
from quirk.events.actions import functions_in
from quirk.functions.effects import Effects
from quirk.integrators import Statistics
from quirk.jit.keyboard_interrupt import DeferredInterrupt
from quirk.result.event_log import EventRecord
from quirk.result.result import Result
from quirk.result.segment import Segment, mark_events
from quirk.system.configuration import Configuration
from quirk.system.system import System

from ..watched_loads import check_watched_loads, is_load_of_joint, warn_of_watched_loads
from .changeable import Following
from .changed_parts import ChangedParts
from .contact_states import ContactState
from .event_actions import EventState
from .event_processing import EventProcessor
from .restart_points import RestartPoint
from .run_factory import FactoryMemory, RunFactory
from .run_pool import RunPool
from .segment_store import SegmentStore
from .step_history import StepHistory
from .total_energy import total_energy

if TYPE_CHECKING:
    from quirk.dynamics.dense.flow import Flow
    from quirk.dynamics.sparse.stepping.rhs import SparseFlow
    from quirk.io.checkpoints.rows import RowFile


@dataclass(frozen=True)
class HybridMemory:
    """Snapshot of a run, from which the run can be continued; stored output states are not included.

    Attributes
    ----------
    base, contact_state, configuration : active constraints and forces without contacts; contact state; and active
        constraints and forces with contacts and friction
    occurrences, recent, stopped : number of occurrences of each event, the last events, and whether the run was stopped
    factory, current : data of the run factory, and of the run object for the present configuration
    kept_runs : configuration, contact state, and data such as the step size of each other run object
    """

    base: Configuration
    contact_state: ContactState
    configuration: Configuration
    occurrences: Counter[str]
    recent: list[tuple[float, str]]
    stopped: bool
    factory: FactoryMemory
    current: run_snapshot.RunMemory
    kept_runs: list[tuple[Configuration, ContactState, Any]]


class HybridRun:
    """Run of a system through all its events; each segment of the result has one set of active constraints and forces.

    Parameters
    ----------
    system : System
    factory : factory of run objects, one for each set of active constraints and forces
    rows : file in which states are stored, instead of memory; see `quirk.io.checkpoints.rows`

    Attributes
    ----------
    happenings : records of events and impacts so far
    stopped : whether an event has ended the run
    trail : record of all integration steps and events, for sensitivities, or None
    following : function that returns segments whose inputs follow their recorded values, see `Following`; None without
        inputs
    """

    def __init__(self, system: System, factory: RunFactory, rows: RowFile | None = None) -> None:
        self._system, self._factory, self._events, self._rows = system, factory, factory.events, rows
        self._before = 0
        self._processor = EventProcessor(system, factory)
        self._contacts, self._changeable = self._processor.contacts, self._processor.changeable
        self._counter, self.happenings = self._processor.counter, self._processor.happenings
        # Names of events whose actions may change values that Python functions read.
        self._altering = {
            event.name for event in self._events if any(Effects(f).writes for f in functions_in(event.actions))
        }
        self._pool = RunPool(factory, self._contacts)
        self._completed = SegmentStore()
        # Titles of parts whose functions read values that have changed since the first state of the present segment.
        self._stale: dict[str, None] = {}
        self.stopped = False
        self.trail = StepHistory() if factory.trailing else None
        self.following: Following | None = None

    def start(self, point: RestartPoint, flow: Flow | SparseFlow | None = None) -> None:
        """Start from a restart point, and compute the impacts at closed contacts whose surfaces approach each other.

        `flow` is the right-hand side of the equations of motion whose rows have been selected at this state, or None.
        """
        t, y, angles = point.t, point.y, point.angles
        self._base, self._processor.contact_state = point.base, ContactState()
        self._counter.occurrences = Counter(point.occurrences)
        self._before = self._steps_tried
        if not self._contacts:
            self._begin(t, y, angles, point.resume_point, flow)
            return
        try:
            self._contacts.check(t, y, angles, point.base)
            outcome = self._contacts.resolve_impacts(t, y, angles, self._base, self.contact_state)
        except SwitchingError as error:
            raise SimulationError(f"simulate: at the start: {error}", time=t) from error
        self._processor.contact_state = outcome.contact_state
        if outcome.impulse:
            now = EventState(t, y, self._base)
            after = replace(now, y=outcome.y)
            name = self._contacts.first_name(outcome.impulse)
            energies = total_energy(self._system, now), total_energy(self._system, after)
            self.happenings.append(EventRecord(t, name, -1, *energies, outcome.impulse, outcome.restitution_kept))
        self._begin(t, outcome.y, angles, point.resume_point)

    def _begin(
        self,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        resume_point: ResumePoint,
        flow: Flow | SparseFlow | None = None,
    ) -> None:
        """Continue from a state vector y on the constraints, after constraints or forces may have been switched.

        `angles` (K, 3) are the 1-2-3 angles of K joints, rad; `resume_point` contains the step size and the cost
        statistics for method switching. `flow` is as for `start`.
        """
        configuration = self._contacts.configured(self._base, self.contact_state)
        plant = self._system.plant_for(configuration)
        try:
            self._current = self._entered(plant, configuration, t, y, angles, resume_point, flow)
        except KeyboardInterrupt:  # for example during compilation
            self._keep_start_of(plant, t, y, angles)
            raise
        self._plant, self._configuration = plant, configuration
        if self.trail is not None:
            self.trail.begin(len(self._completed.segments), self._plant, self._base, self.contact_state, t, y, angles)

    def _entered(
        self,
        plant: CompiledModel,
        configuration: Configuration,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        resume_point: ResumePoint,
        flow: Flow | SparseFlow | None = None,
    ) -> Any:
        """Return the run object of a configuration, prepared to continue from a state vector y.

        The run object is created on first use. `plant` is the compiled model of the configuration, `angles` (K, 3) are
        the 1-2-3 angles of K joints, rad, and `resume_point` contains the step size and the cost statistics for method
        switching. `flow` is as for `start`.
        """
        current = self._pool.run_of(plant, configuration, self._base, self.contact_state)
        self._contacts.align_slip_directions(plant, self.contact_state)
        if not self._completed.segments and any(map(is_load_of_joint, self._factory.guards)):
            check_watched_loads(self._result_at(plant, t, y, angles), self._factory.guards)
        self._factory.enter(current, t, y, angles, resume_point, plant, flow)
        try:
            self._contacts.check_normal_loads(plant, self.contact_state, t, y)
        except SwitchingError as error:
            raise SimulationError(f"simulate: at t = {t:.9g} s: {error}", time=t) from error
        return current

    def _keep_start_of(self, plant: CompiledModel, t: float, y: np.ndarray, angles: np.ndarray) -> None:
        """Store one state as a segment, for errors that occur before the run object of its configuration is started.

        `plant` is the compiled model of the configuration, `y` the state vector at time t (s), and `angles` (K, 3) are
        the 1-2-3 angles of K joints, rad.
        """
        segment = self._segment_at(plant, t, y, angles)
        self._completed.append(segment, self._contacts.configured(self._base, self.contact_state))

    def _result_at(self, plant: CompiledModel, t: float, y: np.ndarray, angles: np.ndarray) -> Result:
        """Return a result with one output, with the present inputs; the arguments are those of `_keep_start_of`."""
        segment = self._segment_at(plant, t, y, angles)
        segment.record(self._factory.new_solver(plant), ())
        return Result(self._system, [segment], Statistics(), "completed")

    def _segment_at(self, plant: CompiledModel, t: float, y: np.ndarray, angles: np.ndarray) -> Segment:
        """Return a segment of one output, with the arguments of `_keep_start_of`."""
        joints, orientation = plant.model.joints, plant.model.auxiliary.state(y).orientation
        turns = Turns.since(joints, orientation, angles, joints.first_quadrants(orientation).reshape(1, -1))
        changes = self._base.since(self._system.configuration)
        return Segment(plant, np.array([t]), y[None].copy(), turns, 0, changes)

    def keep_start(self) -> None:
        """Store the initial state of the run if its time is an output time."""
        output_times = self._factory.output_times
        if output_times is None or (len(output_times) and output_times[0] <= self.reached):
            self._current.store_state()

    def check_reads(self) -> None:
        """Raise an IntegrationError if a value compiled into a user function has changed since the compilation."""
        self._factory.check_reads(self.reached)

    @property
    def altering(self) -> list[str]:
        """Titles of events whose user functions may change values that other user functions read."""
        return self._factory.altering()

    @property
    def reached(self) -> float:
        """Time up to which the motion has been computed, s."""
        return self._current.reached

    @property
    def plant(self) -> CompiledModel:
        """Compiled model of the presently active constraints and forces."""
        return self._plant

    @property
    def trouble(self) -> BaseException | None:
        """Exception that made the last evaluation of the equations of motion fail, or None."""
        return self._current.trouble

    def undefined(self, t: float) -> Exception | None:
        """Return an exception that names a force element with non-finite loads at time t (s), or None."""
        return self._current.undefined(t)

    def close(self) -> None:
        """Store the last accepted state."""
        self._current.close()

    @property
    def segments(self) -> list[Segment]:
        """All segments of the result so far; states stored later continue the last one until an event ends it."""
        self._close_segment()
        self._completed.is_open = True
        return list(self._completed.segments)

    def end_segment(self, *, by_event: bool = True) -> None:
        """End the present segment, and evaluate its quantities that later events may change.

        `by_event` states whether an event ends the segment.
        """
        segments = self._completed.segments
        last = segments[-1] if segments else None
        self._close_segment()
        self._completed.is_open = False
        if segments and segments[-1] is not last:
            mark_events(segments[-1:], self._factory.settings.start, ended=by_event)
            self._changeable.record(segments[-1], self._completed.configurations[-1], self.following)

    def _close_segment(self) -> None:
        """End the present segment; states stored later belong to the next segment."""
        current, kept = self._current, self._current.buffer
        rows = self._rows.take(kept) if self._rows is not None else kept.take() if kept.numbers else None
        if rows is not None:
            turns = Turns(self._plant.model.joints, rows.quadrants.reshape(len(rows.time), -1, 2), current.whole)
            changes, stale = self._base.since(self._system.configuration), tuple(self._stale)
            segment = Segment(self._plant, rows.time, rows.flat, turns, current.rank, changes, stale)
            segment.last_slip = last_slip_directions(self._factory.solver_of(self._plant))
            self._completed.append(segment, self._configuration)
        self._stale.clear()

    @property
    def _steps_tried(self) -> int:
        statistics = self._factory.statistics
        return statistics.steps + statistics.rejected

    @property
    def restart_point(self) -> RestartPoint:
        """Restart point at the present state."""
        current = self._current
        return RestartPoint(
            current.reached, current.state, current.angles, self._base, current.resume_point, self._counter.occurrences
        )

    @property
    def configurations(self) -> list[Configuration]:
        """Active constraints and forces of each completed segment, with contacts and friction."""
        return self._completed.configurations

    def restart_is_due(self, steps: int) -> bool:
        """Whether `steps` or more integration steps have been taken since the last restart point.

        The result is False while a step is in progress.
        """
        return self._current.between and self._steps_tried - self._before >= steps

    @property
    def current(self) -> Any:
        """The run object that integrates the motion with the presently active constraints and forces."""
        return self._current

    @property
    def configuration(self) -> Configuration:
        """The active constraints and forces, without contacts and without the state of friction."""
        return self._base

    @property
    def contact_state(self) -> ContactState:
        """Present contact state: closed contacts, and sliding and sticking friction."""
        return self._processor.contact_state

    def restart(self, changed: ChangedParts | None = None, *, recompiles: bool = False) -> None:
        """Begin a new integration step after the caller has changed loads; the rest of the present one is discarded.

        Contacts may open, and sticking friction may slip, immediately; these changes are recorded as events. Velocities
        follow constraints whose functions have changed, and the impulse is recorded as an event.

        Parameters
        ----------
        changed : parts with functions that read values which the caller has changed, or None
        recompiles : whether further user functions have been excluded from the solvers, so that these are new
        """
        current = self._current
        current.restart()
        if not (self._contacts or changed is not None or recompiles):
            return
        current.begin_anew()
        if recompiles:
            self._factory.discard_solvers()
        y, angles, contact_state = current.state, current.angles, self.contact_state
        before = now = EventState(current.reached, y, self._base)
        if changed is not None:
            now = self._processor.follow_changes(changed, before, angles)
        jumped = not np.array_equal(now.y, y)
        if self._contacts:
            now = self._processor.update_contacts((), now, angles)
            if not jumped:
                self._processor.record_changes(before, now, contact_state)
        switched, jumped = self.contact_state != contact_state, not np.array_equal(now.y, y)
        if recompiles:
            self._pool = RunPool(self._factory, self._contacts)
        if now.t == self._factory.settings.start and (switched or jumped or recompiles):
            self._replace_start(now, angles)
            return
        if changed is not None:
            self._mark_changed(changed.certain)
        if recompiles and not (switched or jumped):
            self.end_segment(by_event=False)
            self._begin(now.t, now.y, angles, current.resume_point)
            self._current.store_state()
            return
        self._continue(now, y, angles, changed=switched or recompiles, altered=False, ended=False)
        if not switched:
            self._contacts.align_slip_directions(self._plant, self.contact_state)

    def _mark_changed(self, titles: Sequence[str]) -> None:
        """Record that functions of the parts with the given titles read other values than those stored so far."""
        self._stale.update(dict.fromkeys(titles))
        for segment in self._completed.segments:
            segment.changed = tuple(dict.fromkeys((*segment.changed, *titles)))

    def restart_at_start(self, changed: ChangedParts | None = None) -> None:
        """Begin again from the initial state after the caller has changed loads, before the first integration step.

        The contacts and the state of friction are computed as if the changed loads had been the initial ones; `changed`
        is as for `restart`.
        """
        current = self._current
        current.restart()
        if not self._contacts and changed is None:
            return
        current.begin_anew()
        self._processor.contact_state = ContactState()
        now = EventState(current.reached, current.state, self._base)
        if changed is not None:
            now = self._processor.follow_changes(changed, now, current.angles)
        if self._contacts:
            now = self._processor.settle_contacts(now, current.angles, ())
        self._replace_start(now, current.angles)

    def _replace_start(self, event_state: EventState, angles: np.ndarray) -> None:
        """Begin at the initial time with the state `event_state` and the present contacts; discard the stored states.

        `angles` (K, 3) are the 1-2-3 angles of K joints, rad. The stored states are discarded because their loads would
        be evaluated with the changed values.
        """
        current = self._current
        stored, resume_point = bool(self._completed.segments or current.buffer.numbers), current.resume_point
        self._completed.clear()
        self._discard_buffer()
        self._begin(event_state.t, event_state.y, angles, resume_point)
        if stored:
            self._current.store_state()

    def snapshot(self) -> HybridMemory:
        """Return a snapshot from which the run can be continued; stored output states are not included."""
        return HybridMemory(
            self._base, self.contact_state, self._configuration, Counter(self._counter.occurrences),
            self._counter.recent, self.stopped, self._factory.snapshot(), run_snapshot.snapshot(self._current),
            self._pool.others(self._current),
        )  # fmt: skip

    def recall(self, saved: HybridMemory) -> None:
        """Restore a snapshot of this run, or of another run of the same system with the same settings."""
        self._base, self._configuration = saved.base, saved.configuration
        self._processor.contact_state = saved.contact_state
        self.stopped = saved.stopped
        self._counter.recall(saved.occurrences, saved.recent)
        self._plant = self._system.plant_for(saved.configuration)
        known = self._pool.has(saved.configuration, saved.contact_state)
        run = self._pool.run_of(self._plant, saved.configuration, saved.base, saved.contact_state)
        if not known:
            t, y, angles = self._current.reached, self._current.state, self._current.angles
            self._factory.enter(run, t, y, angles, self._current.resume_point, self._plant)
        self._current, fits = run, run_snapshot.fits(run, saved.current)
        self._pool.recall(run, saved.kept_runs if fits else ())
        self._factory.recall(saved.factory)
        if fits:
            run_snapshot.recall(run, saved.current)
        else:
            run_snapshot.recall_state(run, saved.current)
            y = run.output.rows(run.present_lanes)[0]
            self._factory.enter(run, run.present_time, y, run.present_angles, ResumePoint(), self._plant)
        if self._current.present_time == self._factory.settings.start:
            # A change of loads at the start has replaced the state stored there.
            self._completed.clear()
            self._discard_buffer()
            self._current.store_present_state()

    def stored_at(self, t: float) -> tuple[int, int]:
        """Return the number of states and the number of events stored for time t, s."""
        states = self._completed.count_at(t) + self._current.buffer.count_at(t)
        return states, sum(event.time == t for event in self.happenings)

    def drop_after(self, t: float, counts: tuple[int | None, int | None]) -> None:
        """Discard the states and events stored after time t (s), and at this time all but the first `counts`.

        `counts` are the numbers of states and of events returned by `stored_at`; None keeps all of them at this time.
        """
        states, events = counts
        self.end_segment(by_event=False)
        self._completed.drop_after(t, states)
        self._completed.is_open = True
        present = [event for event in self.happenings if event.time == t]
        self.happenings[:] = [*(event for event in self.happenings if event.time < t), *present[:events]]

    def forget(self) -> None:
        """Discard all stored states and events."""
        self._completed.clear()
        self.happenings.clear()
        self._discard_buffer()

    def _discard_buffer(self) -> None:
        """Discard the states of the present segment stored so far."""
        if self._current.buffer.numbers:
            self._current.buffer.take()

    def proceed(self, steps: int | None = None) -> bool:
        """Advance the run for a fraction of a second of computing time; return False at the end of the run.

        If `steps` is given, the run advances by at most this number of integration steps beyond the last restart point.
        """
        more = self._current.proceed(None if steps is None else steps - self._steps_tried + self._before)
        for key, time, direction, energy in self._current.events():
            self.happenings.append(EventRecord(time, str(key), direction, energy, energy))
        if self._current.hit:
            with DeferredInterrupt():  # all of it, or nothing
                self._process_events(self._current.hit)
        if self._rows is not None:
            self._rows.put(self._current.buffer)
        if self.trail is not None:
            self.trail.move_steps_from(self._current)
        if not more and not self.stopped:
            self._factory.check_motions(self._plant, self.reached)
        return more and not self.stopped

    def _process_events(self, hit: Sequence[tuple[Any, int]]) -> None:
        """Process the event functions that are zero: contacts first, then the user's events in order of declaration.

        `hit` are pairs of the key of such a function and the direction of its crossing.
        """
        current, base, contact_state = self._current, self._base, self.contact_state
        t, y, angles = current.reached, current.state, current.angles
        now = EventState(t, y, base)
        if self.trail is not None:
            self.trail.record_events(current)
        self._warn_of_shared_loads(hit)
        contact_keys = [key for key, _ in hit if isinstance(key, tuple)]
        directions = {key: direction for key, direction in hit if not isinstance(key, tuple)}
        if contact_keys:
            now = self._processor.update_contacts(contact_keys, now, angles)
        violations = 0.0, 0.0
        ended = any(self._changeable.changed_titles(self._plant, name) for name in directions)
        if ended:
            current.close()
            self.end_segment()
            violations = self._processor.board.largest_violations(now)
        for event in self._events:
            if event.name in directions:
                now = self._processor.process(event, directions[event.name], now, angles, self._plant, violations)
                switched = now.configuration != base or self.contact_state != contact_state
                current.note_own_jump(event.name, now.y, switched=switched)
        if any(functions_in(event.actions) for event in self._events if event.name in directions):
            self._factory.check_reads(t)
        self.stopped = now.stopped
        changed = now.configuration != base or self.contact_state != contact_state
        altered = not self._altering.isdisjoint(directions)
        self._continue(now, y, angles, changed=changed, altered=altered, ended=ended)

    def _warn_of_shared_loads(self, hit: Sequence[tuple[Any, int]]) -> None:
        """Warn if an event that occurs watches a load which the motion does not determine.

        `hit` is as for `_process_events`.
        """
        keys, current = {key for key, _ in hit}, self._current
        watched = [guard for guard in self._factory.guards if guard.key in keys and is_load_of_joint(guard)]
        if watched:
            now = self._result_at(self._plant, current.reached, current.state, current.angles)
            warn_of_watched_loads(now, watched)

    def _continue(
        self, event_state: EventState, y: np.ndarray, angles: np.ndarray, *, changed: bool, altered: bool, ended: bool
    ) -> None:
        """Store the states before and after events, and continue the run from the state after them.

        Parameters
        ----------
        event_state : state after the events
        y : (13 n + k,) state vector of n bodies and k auxiliary states before the events
        angles : (K, 3) 1-2-3 angles of K joints, rad
        changed : whether the set of active constraints and forces has changed
        altered : whether values read by user functions may have changed
        ended : whether the segment has already been ended because user functions of active constraints or forces are
            affected
        """
        current = self._current
        jumped = not np.array_equal(event_state.y, y)
        if changed or jumped or self.stopped:
            current.close()
        if not changed:
            if jumped or self._contacts or altered:
                current.jump(event_state.y)  # so that gaps that have closed without effect are monitored again
            if self.trail is not None:
                self.trail.begin(
                    len(self._completed.segments),
                    self._plant,
                    self._base,
                    self.contact_state,
                    event_state.t,
                    event_state.y,
                    angles,
                )
            if jumped:
                self._contacts.align_slip_directions(self._plant, self.contact_state)
            if jumped or ended:
                current.store_state()
            return
        self.end_segment()
        self._base = event_state.configuration
        self._begin(event_state.t, event_state.y, angles, current.resume_point)
        self._current.store_state()
