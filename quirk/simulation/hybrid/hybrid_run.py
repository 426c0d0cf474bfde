"""Run across events and contacts, at which the active constraints and forces change."""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.analysis.contact.flank_states import MEETS, RETURNS
from quirk.analysis.contact.rope_states import HOLDS, TAUTENS
from quirk.dynamics.model.joint_angles import Turns, angles_by_name
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.stepping import run_snapshot
from quirk.dynamics.sparse.stepping.resume_point import ResumePoint
from quirk.errors import InputError, SimulationError, SwitchingError
from quirk.events import Event
from quirk.events.actions import After, Enable, Engage, functions_in
from quirk.functions.effects import Effects
from quirk.integrators import IntegrationError
from quirk.jit.keyboard_interrupt import DeferredInterrupt
from quirk.result.event_log import EventRecord
from quirk.result.segment import Segment, mark_events
from quirk.system.configuration import Configuration
from quirk.system.system import System

from .changeable import Changeable
from .contact_changes import OPENS
from .contact_events import Contacts
from .contact_states import ContactState
from .event_action_checks import actions_of, check_action
from .event_actions import ActionExecutor, EventState
from .event_counter import EventCounter
from .restart_points import RestartPoint
from .run_factory import FactoryMemory, RunFactory
from .segment_store import SegmentStore
from .step_history import StepHistory
from .total_energy import total_energy

if TYPE_CHECKING:
    from quirk.io.checkpoints.rows import RowFile

# Maximum number of compiled runs, one per set of active parts, that are kept for reuse.
MOST_RUNS = 16


@dataclass(frozen=True)
class HybridMemory:
    """Snapshot of a run, from which the run can be continued; stored output states are not included.

    Attributes
    ----------
    base, contact_state, configuration : active constraints and forces without contacts; contact state; and active
        constraints and forces with contacts and friction
    often, recent, stopped : number of occurrences of each event, the last events, and whether the run was stopped
    factory, current : data of the run factory, and of the run object for the present configuration
    kept_runs : configuration, contact state, and data such as the step size of each other run object
    """

    base: Configuration
    contact_state: ContactState
    configuration: Configuration
    often: Counter[str]
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
    """

    def __init__(self, system: System, factory: RunFactory, rows: RowFile | None = None) -> None:
        self._system, self._factory, self._events, self._rows = system, factory, factory.events, rows
        self._before = 0
        self._board = ActionExecutor(system, factory.solver_at)
        for event in self._events:
            for action in event.actions:
                check_action(system, f"{event}", action)
        # Names of events whose actions may change values that Python functions read.
        self._altering = {
            event.name for event in self._events if any(Effects(f).writes for f in functions_in(event.actions))
        }
        self._changeable = Changeable(system, self._events)
        self._contacts = Contacts(system, factory)
        for part in (*self._events, *self._contacts.parts):
            factory.check_located(f"{part}")
        self._runs: OrderedDict[Any, tuple[Any, ContactState]] = OrderedDict()
        self._learned: dict[Any, Any] = {}
        self._completed = SegmentStore()
        self.happenings: list[EventRecord] = []
        self.stopped = False
        self.trail = StepHistory() if factory.trailing else None
        self._counter = EventCounter(len(self._events) + len(self._contacts))

    def start(self, point: RestartPoint) -> None:
        """Start from a restart point, and compute the impacts at closed contacts whose surfaces approach each other."""
        t, y, angles = point.t, point.y, point.angles
        self._base, self._contact_state = point.base, ContactState()
        self._counter.occurrences = Counter(point.often)
        self._before = self._steps_tried
        if not self._contacts:
            self._begin(t, y, angles, point.pace)
            return
        try:
            self._contacts.check(t, y, angles, point.base)
            outcome = self._contacts.resolve_impacts(t, y, angles, self._base, self._contact_state)
        except SwitchingError as error:
            raise SimulationError(f"simulate: at the start: {error}", time=t) from error
        self._contact_state = outcome.contact_state
        if outcome.impulse:
            now = EventState(t, y, self._base)
            after = replace(now, y=outcome.y)
            name = self._contacts.first_name(outcome.impulse)
            energies = total_energy(self._system, now), total_energy(self._system, after)
            self.happenings.append(EventRecord(t, name, -1, *energies, outcome.impulse, outcome.restitution_kept))
        self._begin(t, outcome.y, angles, point.pace)

    def _begin(self, t: float, y: np.ndarray, angles: np.ndarray, pace: ResumePoint) -> None:
        """Continue from a state vector y on the constraints, after constraints or forces may have been switched.

        `angles` (K, 3) are the 1-2-3 angles of K joints, rad; `pace` contains the step size and the cost statistics for
        method switching.
        """
        configuration = self._contacts.configured(self._base, self._contact_state)
        plant = self._system.plant_for(configuration)
        try:
            self._current = self._entered(plant, configuration, t, y, angles, pace)
        except KeyboardInterrupt:  # for example during compilation
            self._keep_start_of(plant, t, y, angles)
            raise
        self._plant, self._configuration = plant, configuration
        if self.trail is not None:
            self.trail.begin(len(self._completed.segments), self._plant, self._base, self._contact_state, t, y, angles)

    def _entered(
        self,
        plant: CompiledModel,
        configuration: Configuration,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        pace: ResumePoint,
    ) -> Any:
        """Return the run object of a configuration, prepared to continue from a state vector y.

        The run object is created on first use. `plant` is the compiled model of the configuration, `angles` (K, 3) are
        the 1-2-3 angles of K joints, rad, and `pace` contains the step size and the cost statistics for method
        switching.
        """
        # Disabled unilateral constraints are not monitored, although the compiled model is the same.
        key = configuration, self._contact_state.key
        if key not in self._runs:
            self._make_run(key, plant)
        self._runs.move_to_end(key)
        current, _ = self._runs[key]
        self._contacts.align_slip_directions(plant, self._contact_state)
        self._factory.enter(current, t, y, angles, pace, plant)
        return current

    def _make_run(self, key: Any, plant: CompiledModel) -> None:
        """Create and store the run object of a configuration; the least recently used run object is discarded.

        `key` identifies the configuration and the contact state, and `plant` is the compiled model of both.
        """
        self._contacts.check_watched(self._factory.guards, self._contact_state)
        self._factory.warn_of_state(plant)
        current: Any = self._factory.new_run(plant, self._contacts.guards(self._base, self._contact_state))
        self._runs[key] = current, self._contact_state
        if key in self._learned:
            run_snapshot.apply_learned(current, self._learned.pop(key))
        if len(self._runs) > MOST_RUNS:
            self._runs.popitem(last=False)

    def _keep_start_of(self, plant: CompiledModel, t: float, y: np.ndarray, angles: np.ndarray) -> None:
        """Store one state as a segment, for errors that occur before the run object of its configuration is started.

        `plant` is the compiled model of the configuration, `y` the state vector at time t (s), and `angles` (K, 3) are
        the 1-2-3 angles of K joints, rad.
        """
        joints, orientation = plant.model.joints, plant.model.carried.state(y).orientation
        turns = Turns.since(joints, orientation, angles, joints.first_quadrants(orientation).reshape(1, -1))
        changes = self._base.since(self._system.configuration)
        segment = Segment(plant, np.array([t]), y[None].copy(), turns, 0, changes)
        self._completed.append(segment, self._contacts.configured(self._base, self._contact_state))

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
        """All segments of the result so far; reading this property ends the present segment."""
        self._close_segment()
        return list(self._completed.segments)

    def end_segment(self, *, by_event: bool = True) -> None:
        """End the present segment, and evaluate those of its quantities that later events may change.

        `by_event` states whether an event ends the segment.
        """
        before = len(self._completed.segments)
        self._close_segment()
        for segment in self._completed.segments[before:]:
            mark_events([segment], self._factory.settings.start, ended=by_event)
            self._changeable.record(segment)

    def _close_segment(self) -> None:
        """End the present segment; states stored later belong to the next segment."""
        current, kept = self._current, self._current.buffer
        rows = self._rows.take(kept) if self._rows is not None else kept.take() if kept.numbers else None
        if rows is not None:
            turns = Turns(self._plant.model.joints, rows.quadrants.reshape(len(rows.time), -1, 2), current.whole)
            changes = self._base.since(self._system.configuration)
            segment = Segment(self._plant, rows.time, rows.flat, turns, current.rank, changes)
            self._completed.append(segment, self._configuration)

    @property
    def _steps_tried(self) -> int:
        statistics = self._factory.statistics
        return statistics.steps + statistics.rejected

    @property
    def restart_point(self) -> RestartPoint:
        """Restart point at the present state."""
        current = self._current
        return RestartPoint(
            current.reached, current.state, current.angles, self._base, current.pace, self._counter.occurrences
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
        return self._contact_state

    def restart(self) -> None:
        """Begin a new integration step after the caller has changed loads; the rest of the present one is discarded.

        Contacts may open, and sticking friction may slip, immediately; these changes are recorded as events.
        """
        current = self._current
        current.restart()
        if not self._contacts:
            return
        current.begin_anew()
        y, angles, contact_state = current.state, current.angles, self._contact_state
        before = EventState(current.reached, y, self._base)
        now = self._update_contacts((), before, angles)
        self._record_changes(before, now, contact_state)
        changed = self._contact_state != contact_state
        if changed and now.t == self._factory.settings.start:
            self._replace_start(now, angles)
            return
        self._continue(now, y, angles, changed=changed, altered=False, ended=False)
        if not changed:
            self._contacts.align_slip_directions(self._plant, self._contact_state)

    def restart_at_start(self) -> None:
        """Begin again from the initial state after the caller has changed loads, before the first integration step.

        The contacts and the state of friction are those of the changed loads, as if these had been the initial ones.
        """
        current = self._current
        current.restart()
        if not self._contacts:
            return
        current.begin_anew()
        self._contact_state = ContactState()
        now = self._settle_contacts(EventState(current.reached, current.state, self._base), current.angles, ())
        self._replace_start(now, current.angles)

    def _replace_start(self, event_state: EventState, angles: np.ndarray) -> None:
        """Begin at the initial time with the state `event_state` and the present contacts; discard the stored states.

        `angles` (K, 3) are the 1-2-3 angles of K joints, rad. The stored states are discarded because their loads would
        be those after the change.
        """
        current = self._current
        stored, pace = bool(self._completed.segments or current.buffer.numbers), current.pace
        self._completed.clear()
        self._discard_buffer()
        self._begin(event_state.t, event_state.y, angles, pace)
        if stored:
            self._current.store_state()

    def snapshot(self) -> HybridMemory:
        """Return a snapshot from which the run can be continued; stored output states are not included."""
        idle = [
            (configuration, contact_state, run_snapshot.learned(current))
            for (configuration, _), (current, contact_state) in self._runs.items()
            if current is not self._current
        ]
        return HybridMemory(
            self._base, self._contact_state, self._configuration, Counter(self._counter.occurrences),
            self._counter.recent, self.stopped, self._factory.snapshot(), run_snapshot.snapshot(self._current), idle,
        )  # fmt: skip

    def recall(self, saved: HybridMemory) -> None:
        """Restore a snapshot of this run, or of another run of the same system with the same settings."""
        self._base, self._contact_state, self._configuration = saved.base, saved.contact_state, saved.configuration
        self.stopped = saved.stopped
        self._counter.recall(saved.often, saved.recent)
        self._plant = self._system.plant_for(saved.configuration)
        key = saved.configuration, saved.contact_state.key
        if key not in self._runs:
            self._make_run(key, self._plant)
            t, y, angles = self._current.reached, self._current.state, self._current.angles
            self._factory.enter(self._runs[key][0], t, y, angles, self._current.pace, self._plant)
        self._current = self._runs[key][0]
        self._runs = OrderedDict({key: self._runs[key]})
        self._learned = {
            (configuration, contact_state.key): learned for configuration, contact_state, learned in saved.kept_runs
        }
        self._factory.recall(saved.factory)
        run_snapshot.recall(self._current, saved.current)
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
        current, base, contact_state = self._current, self._base, self._contact_state
        t, y, angles = current.reached, current.state, current.angles
        now = EventState(t, y, base)
        if self.trail is not None:
            self.trail.record_events(current)
        contact_keys = [key for key, _ in hit if isinstance(key, tuple)]
        directions = {key: direction for key, direction in hit if not isinstance(key, tuple)}
        if contact_keys:
            now = self._update_contacts(contact_keys, now, angles)
        missed = 0.0, 0.0
        ended = any(self._changeable.changed_titles(self._plant, name) for name in directions)
        if ended:
            current.close()
            self.end_segment()
            missed = self._board.largest_violations(now)
        for event in self._events:
            if event.name not in directions:
                continue
            self._count_event(t, event.name)
            before, former = total_energy(self._system, now), now
            changeable = self._changeable.changed_titles(self._plant, event.name)
            gaps = self._contacts.values(t, now.y, angles) if changeable and self._contacts else None
            now = replace(now, impulse={})
            try:
                for action in event.actions:
                    now = self._execute(event, action, now, angles)
                if changeable:
                    now = self._board.follow_functions(now, changeable, missed)
                if gaps is not None:
                    self._contact_state = self._contacts.after_gap_jump(
                        t, now.y, angles, now.configuration, self._contact_state, gaps
                    )
            except (SwitchingError, InputError) as error:
                raise IntegrationError(
                    str(error) if isinstance(error, InputError) else f"{event}: {error}", t
                ) from error
            energies = before, total_energy(self._system, now)
            self.happenings.append(EventRecord(t, event.name, directions[event.name], *energies, now.impulse))
            moved = now.configuration != former.configuration or not np.array_equal(now.y, former.y)
            if self._contacts and (moved or changeable):
                acted, rested = now, self._contact_state
                now = self._update_contacts((), acted, angles)
                if np.array_equal(acted.y, former.y):
                    self._record_changes(former, now, rested)
        if any(functions_in(event.actions) for event in self._events if event.name in directions):
            self._factory.check_reads(t)
        self.stopped = now.stopped
        changed = now.configuration != base or self._contact_state != contact_state
        altered = not self._altering.isdisjoint(directions)
        self._continue(now, y, angles, changed=changed, altered=altered, ended=ended)

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
                    self._contact_state,
                    event_state.t,
                    event_state.y,
                    angles,
                )
            if jumped:
                self._contacts.align_slip_directions(self._plant, self._contact_state)
            if jumped or ended:
                current.store_state()
            return
        self.end_segment()
        self._base = event_state.configuration
        self._begin(event_state.t, event_state.y, angles, current.pace)
        self._current.store_state()

    def _update_contacts(
        self, keys: Sequence[tuple[str, int, str]], event_state: EventState, angles: np.ndarray
    ) -> EventState:
        """Return the state after contacts have closed or opened, or after an event action has changed the state.

        `keys` are the keys (name, index, kind) of the event functions of contacts that are zero, `event_state` is the
        state before, and `angles` (K, 3) are the 1-2-3 angles of K joints, rad.
        """
        before, contact_state = event_state, self._contact_state
        event_state = self._settle_contacts(event_state, angles, keys)
        # Ignore internal events: slip speed increased, load redistributed among contacts, contact moved to an edge, or
        # contact without load far from the surface.
        keys = [key for key in keys if not self._internal(key)]
        opened = self._contacts.opened(keys[0][0], contact_state, self._contact_state) if keys else frozenset()
        if opened and not event_state.impulse:
            self._record_changes(before, event_state, contact_state, opened)
        elif keys or event_state.impulse:
            name = keys[0][0] if keys else self._contacts.first_name(event_state.impulse)
            self._count_event(event_state.t, name)
            closes = not keys or any(key[2] in ("gap", MEETS, RETURNS, HOLDS, TAUTENS) for key in keys)
            direction = -1 if closes or self._contacts.sticks(name, self._contact_state) else 1
            energies = total_energy(self._system, before), total_energy(self._system, event_state)
            self.happenings.append(
                EventRecord(
                    event_state.t, name, direction, *energies, event_state.impulse, event_state.restitution_kept
                )
            )
            self._record_changes(before, event_state, contact_state, {key[0] for key in keys}, name)
        return event_state

    def _record_changes(
        self,
        before: EventState,
        after: EventState,
        contact_state: ContactState,
        among: Container[str] | None = None,
        recorded: str | None = None,
    ) -> None:
        """Record contacts that open or close, and friction that sticks or slips, as events caused by changed loads.

        Nothing is recorded for an impact, which is one event including the changes that it causes.

        Parameters
        ----------
        before, after : states before and after the change
        contact_state : contact state before the change
        among : names of the contacts that are recorded if they open, and of the friction elements that are recorded if
            they slip; None to record all changes
        recorded : name of a contact or friction element whose change is already recorded, or None
        """
        if after.impulse or self._contact_state == contact_state:
            return
        disabled = before.configuration.idle | after.configuration.idle
        changes = [
            (name, direction)
            for name, direction in self._contacts.changes(contact_state, self._contact_state, recorded)
            if name not in disabled and (among is None or (name in among and direction == OPENS))
        ]
        if not changes:
            return
        energies = total_energy(self._system, before), total_energy(self._system, after)
        for name, direction in changes:
            self._count_event(after.t, name)
            self.happenings.append(EventRecord(after.t, name, direction, *energies))

    def _internal(self, key: tuple[str, int, str]) -> bool:
        """Whether the zero of an event function only changes which functions are monitored, so that it is not reported.

        `key` is the key (name, index, kind) of the event function.
        """
        if key[2] == "border":
            return self._contact_state.closed(key[0])
        if key[2] == RETURNS:
            return self._contact_state.flank_sides.get(key[0]) == 0
        if key[2] in ("faster", "turned", "slow", "return", "apart"):
            return True
        return key[2] == "push" and key[:2] in self._contact_state.reloading

    def _settle_contacts(
        self, event_state: EventState, angles: np.ndarray, hit: Sequence[tuple[str, int, str]]
    ) -> EventState:
        """Return the state after the impacts of all closed contacts; the new contact state is stored in the run.

        `event_state` is the state before the impacts, `angles` (K, 3) are the 1-2-3 angles of K joints, rad, and `hit`
        are the keys of the event functions that are zero.
        """
        try:
            outcome = self._contacts.resolve_impacts(
                event_state.t, event_state.y, angles, event_state.configuration, self._contact_state, hit
            )
        except SwitchingError as error:
            raise IntegrationError(str(error), event_state.t) from error
        self._contact_state = outcome.contact_state
        return replace(event_state, y=outcome.y, impulse=outcome.impulse, restitution_kept=outcome.restitution_kept)

    def _execute(self, event: Event, action: Any, event_state: EventState, angles: np.ndarray) -> EventState:
        """Execute an action of `event`, or the actions that its user function returns; return the state after them.

        `event_state` is the state before the action, and `angles` (K, 3) are the 1-2-3 angles of K joints, rad.
        """
        if isinstance(action, After):
            for inner in action.actions if self._counter.occurrences[event.name] >= action.count else ():
                event_state = self._execute(event, inner, event_state, angles)
            return event_state
        if not callable(action):
            before, event_state = event_state.configuration, self._board.execute(action, event_state)
            pushing = (before.idle - event_state.configuration.idle) & self._contacts.names
            if pushing and isinstance(action, Enable | Engage):
                y = self._contacts.state_after_enabling(
                    event_state.t, event_state.y, angles, event_state.configuration, pushing, action.tolerance
                )
                event_state = replace(event_state, y=y)
            return event_state
        model = self._plant.model
        state = model.carried.state(event_state.y).copy()
        state.angles = angles_by_name(model.joints, angles)
        try:
            returned = action(event_state.t, state)
        except Exception as error:  # user functions may raise any exception
            raise SwitchingError(f"its action failed: {type(error).__name__}: {error}") from error
        for further in actions_of(self._system, returned, f"{event}, at t = {event_state.t:g} s"):
            event_state = self._execute(event, further, event_state, angles)
        return event_state

    def _count_event(self, t: float, name: str) -> None:
        """Count an event at time t, s; raise an IntegrationError if events follow each other without end."""
        settings, output_times = self._factory.settings, self._factory.output_times
        # In a run without an end the requested time replaces the end, and the present time if none is requested.
        end = output_times[-1] if settings.end == np.inf and output_times is not None else settings.end
        self._counter.count(t, name, (end if end < np.inf else t) - settings.start)
