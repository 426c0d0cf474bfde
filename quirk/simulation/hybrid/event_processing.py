"""Processing of the events at one instant of a run: contacts that close or open, and actions of the user's events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from quirk.analysis.contact.flank_states import MEETS, RETURNS
from quirk.analysis.contact.rope_states import HOLDS, TAUTENS
from quirk.bodies.state import State
from quirk.dynamics.model.joint_angles import angles_by_name
from quirk.dynamics.plant import CompiledModel
from quirk.errors import InputError, SwitchingError
from quirk.events import Event
from quirk.events.actions import After, Enable, Engage
from quirk.integrators import IntegrationError
from quirk.result.event_log import EventRecord
from quirk.system.system import System

from .changeable import Changeable
from .changed_parts import CAUSE, CONTINUE, JUMPS, ChangedParts
from .contact_events import KEPT, Contacts
from .contact_states import ContactState
from .event_action_checks import actions_of, check_action
from .event_actions import ActionExecutor, EventState
from .event_counter import EventCounter
from .run_factory import RunFactory
from .total_energy import total_energy

# Advice to functions that write to the state, for errors.
HOW_TO_CHANGE = "a run continues from its own state; return quirk.set_velocity(...) or another action to change it"
# Error of functions that switch parts of the system of their own run.
CALLS_SWITCH = (
    "calls enable() or disable() of a system, which act on later runs only: let the action of an event return "
    "quirk.enable(...) or quirk.disable(...)"
)


class EventProcessor:
    """Processor of events: computes the state and the contact state after them, and records them.

    Parameters
    ----------
    system : System
    factory : factory of run objects, with the user's events

    Attributes
    ----------
    contacts : unilateral constraints and friction of the system
    contact_state : present contact state
    board : executor of event actions
    changeable : user functions that read data modified by actions
    counter : number of occurrences of each event
    happenings : records of events and impacts so far
    """

    def __init__(self, system: System, factory: RunFactory) -> None:
        self._system, self._factory = system, factory
        self.board = ActionExecutor(system, factory.solver_at)
        for event in factory.events:
            for action in event.actions:
                check_action(system, f"{event}", action)
        self.changeable = Changeable(system, factory.events)
        self.contacts = Contacts(system, factory)
        for part in (*factory.events, *self.contacts.parts):
            factory.check_located(f"{part}")
        self.contact_state = ContactState()
        fixed = factory.settings.step > 0
        self.counter = EventCounter([event.name for event in factory.events], len(self.contacts), fixed=fixed)
        self.happenings: list[EventRecord] = []

    def process(
        self,
        event: Event,
        direction: int,
        now: EventState,
        angles: np.ndarray,
        plant: CompiledModel,
        violations: tuple[float, float],
    ) -> EventState:
        """Execute and record one of the user's events, and return the state after it.

        Parameters
        ----------
        event, direction : the event, and the direction of the zero crossing of its quantity
        now : state before the event
        angles : (K, 3) 1-2-3 angles of K joints, rad
        plant : compiled model before all events at this instant
        violations : largest violations, of poses and of velocities, of the active constraints before all events
        """
        t = now.t
        self._count(t, event.name)
        before, former = total_energy(self._system, now), now
        changeable = self.changeable.changed_titles(plant, event.name)
        gaps = self.contacts.values(t, now.y, angles) if self.contacts else None
        now = replace(now, impulse={})
        try:
            for action in event.actions:
                now = self._execute(event, action, now, angles, plant)
            now = self.board.after_new_motions(now)
            if changeable:
                now = self.board.follow_functions(now, changeable, violations)
            rested = self.contact_state
            if gaps is not None and (changeable or not np.array_equal(now.y, former.y)):
                self.contact_state = self.contacts.after_gap_jump(
                    t, now.y, angles, now.configuration, self.contact_state, gaps
                )
        except (SwitchingError, InputError) as error:
            raise IntegrationError(str(error) if isinstance(error, InputError) else f"{event}: {error}", t) from error
        energies = before, total_energy(self._system, now)
        self.happenings.append(EventRecord(t, event.name, direction, *energies, now.impulse))
        moved = now.configuration != former.configuration or not np.array_equal(now.y, former.y)
        if self.contacts and (moved or changeable):
            acted = now
            now = self.update_contacts((), acted, angles)
            if np.array_equal(acted.y, former.y):
                self.record_changes(former, now, rested)
        return now

    def follow_changes(self, changed: ChangedParts, before: EventState, angles: np.ndarray) -> EventState:
        """Return the state after the caller of the run has changed values that functions of constraints read.

        Velocities jump to the nearest ones that the constraints allow; the impulse is recorded as an event with the
        name of the first of these constraints.

        Parameters
        ----------
        changed : parts with functions that read these values
        before : state before the change
        angles : (K, 3) 1-2-3 angles of K joints, rad

        Raises
        ------
        IntegrationError
            If a constraint jumps away from the bodies, or a gap becomes negative.
        """
        t, violations = before.t, changed.before
        self.changeable.analyze()
        try:
            now = self.board.follow_functions(
                before, changed.titles, (violations.amount, violations.rate), (JUMPS, CONTINUE)
            )
            if violations.gaps is not None:
                self.contact_state = self.contacts.after_gap_jump(
                    t, now.y, angles, now.configuration, self.contact_state, violations.gaps, CAUSE
                )
        except SwitchingError as error:
            raise IntegrationError(str(error), t) from error
        if now.impulse:
            name = self.board.changed_constraints(now.configuration, changed.titles)[0]
            energies = total_energy(self._system, before), total_energy(self._system, now)
            self.happenings.append(EventRecord(t, name, 1, *energies, now.impulse))
        return replace(now, impulse={})

    def update_contacts(
        self, keys: Sequence[tuple[str, int, str]], event_state: EventState, angles: np.ndarray
    ) -> EventState:
        """Return the state after contacts have closed or opened, or after an event action has changed the state.

        `keys` are the keys (name, index, kind) of the event functions of contacts that are zero, `event_state` is the
        state before, and `angles` (K, 3) are the 1-2-3 angles of K joints, rad.
        """
        before, contact_state = event_state, self.contact_state
        event_state = self.settle_contacts(event_state, angles, keys)
        # Ignore internal events: slip speed increased, load redistributed among contacts, contact moved to an edge,
        # contact without load far from the surface, or contact that creeps. Friction may stick at such an event, too.
        jumps = [key for key in keys if key[2] in ("border", "apart") or self.contacts.creeps(key)]
        keys = [key for key in keys if self._has_stuck(key[0], contact_state) or not self._internal(key)]
        if event_state.impulse:
            name = keys[0][0] if keys else self.contacts.first_name(event_state.impulse)
            self._count(event_state.t, name)
            closes = not keys or any(key[2] in ("gap", MEETS, RETURNS, HOLDS, TAUTENS) for key in keys)
            direction = -1 if closes or self.contacts.sticks(name, self.contact_state) else 1
            energies = total_energy(self._system, before), total_energy(self._system, event_state)
            self.happenings.append(
                EventRecord(
                    event_state.t, name, direction, *energies, event_state.impulse, event_state.restitution_kept
                )
            )
        elif keys or jumps:
            changes = self.contacts.changes_at(keys, contact_state, self.contact_state)
            if jumps:  # of loads, so that other contacts and friction may change as well
                changes = list((dict(changes) | dict(self.contacts.changes(contact_state, self.contact_state))).items())
            if not changes:  # count it nevertheless, because a run may reach the same zero without end
                self._count(event_state.t, (keys or jumps)[0][0])
            self._record(before, event_state, changes)
        return event_state

    def record_changes(self, before: EventState, after: EventState, contact_state: ContactState) -> None:
        """Record contacts that open or close, and friction that sticks or slips, as events caused by changed loads.

        Nothing is recorded for an impact, which is one event including the changes that it causes. `before` and `after`
        are the states before and after the change, and `contact_state` is the contact state before.
        """
        if after.impulse or self.contact_state == contact_state:
            return
        disabled = before.configuration.idle | after.configuration.idle
        changes = self.contacts.changes(contact_state, self.contact_state)
        self._record(before, after, [(name, direction) for name, direction in changes if name not in disabled])

    def _record(self, before: EventState, after: EventState, changes: Sequence[tuple[str, int]]) -> None:
        """Record changes of contacts and friction, as pairs of a name and a direction, between two states."""
        if not changes:
            return
        energies = total_energy(self._system, before), total_energy(self._system, after)
        for name, direction in changes:
            self._count(after.t, name)
            self.happenings.append(EventRecord(after.t, name, direction, *energies))

    def _has_stuck(self, name: str, before: ContactState) -> bool:
        """Whether the friction `name`, which slid in the contact state `before`, sticks now."""
        former, now = before.friction.get(name), self.contact_state.friction.get(name)
        return (
            former is not None
            and now is not None
            and former.sticking_components is None
            and now.sticking_components is not None
        )

    def _internal(self, key: tuple[str, int, str]) -> bool:
        """Whether the zero of an event function only changes which functions are monitored, so that it is not reported.

        `key` is the key (name, index, kind) of the event function.
        """
        if key[2] == "border":
            return self.contact_state.closed(key[0])
        if key[2] == RETURNS:
            return self.contact_state.flank_sides.get(key[0]) == 0
        if key[2] in ("faster", "turned", "slow", "return", "apart", KEPT) or self.contacts.creeps(key):
            return True
        return key[2] == "push" and key[:2] in self.contact_state.reloading

    def settle_contacts(
        self, event_state: EventState, angles: np.ndarray, hit: Sequence[tuple[str, int, str]]
    ) -> EventState:
        """Return the state after the impacts of all closed contacts; the new contact state is stored in the run.

        `event_state` is the state before the impacts, `angles` (K, 3) are the 1-2-3 angles of K joints, rad, and `hit`
        are the keys of the event functions that are zero.
        """
        try:
            outcome = self.contacts.resolve_impacts(
                event_state.t, event_state.y, angles, event_state.configuration, self.contact_state, hit
            )
        except SwitchingError as error:
            raise IntegrationError(str(error), event_state.t) from error
        self.contact_state = outcome.contact_state
        return replace(event_state, y=outcome.y, impulse=outcome.impulse, restitution_kept=outcome.restitution_kept)

    def _execute(
        self, event: Event, action: Any, event_state: EventState, angles: np.ndarray, plant: CompiledModel
    ) -> EventState:
        """Execute an action of `event`, or the actions that its user function returns; return the state after them.

        `event_state` is the state before the action, `angles` (K, 3) are the 1-2-3 angles of K joints, rad, and
        `plant` is the compiled model before the events.
        """
        if isinstance(action, After):
            for inner in action.actions if self.counter.occurrences[event.name] >= action.count else ():
                event_state = self._execute(event, inner, event_state, angles, plant)
            return event_state
        if not callable(action):
            before, event_state = event_state.configuration, self.board.execute(action, event_state)
            enabled_contacts = (before.idle - event_state.configuration.idle) & self.contacts.names
            if enabled_contacts and isinstance(action, Enable | Engage):
                y = self.contacts.state_after_enabling(
                    event_state.t, event_state.y, angles, event_state.configuration, enabled_contacts, action.tolerance
                )
                event_state = replace(event_state, y=y)
            return event_state
        model, event_state = plant.model, self.board.after_new_motions(event_state)
        state = model.auxiliary.state(event_state.y).copy()
        state.angles = angles_by_name(model.joints, angles)
        switches = self._system.switches
        returned = _returned(action, event_state.t, state)
        if self._system.switches != switches:
            raise SwitchingError(f"its action {CALLS_SWITCH}")
        for further in actions_of(self._system, returned, f"{event}, at t = {event_state.t:g} s"):
            event_state = self._execute(event, further, event_state, angles, plant)
        return event_state

    def _count(self, t: float, name: str) -> None:
        """Count an event at time t, s; raise an IntegrationError if events follow each other without end."""
        settings, output_times = self._factory.settings, self._factory.output_times
        # In a run without an end the requested time replaces the end, and the present time if none is requested.
        end = output_times[-1] if settings.end == np.inf and output_times is not None else settings.end
        self.counter.count(t, name, (end if end < np.inf else t) - settings.start)


def _returned(action: Callable[[float, State], Any], t: float, state: State) -> Any:
    """Call the function of an action at time t, s, and return its result.

    The arrays of the state are read-only during the call, because the run does not continue from this copy.

    Raises
    ------
    SwitchingError
        If the function fails, or sets a part of the state.
    """
    parts = *state.parts, *state.angles.values(), *state.internal.values()
    for part in parts:
        part.setflags(write=False)
    try:
        returned = action(t, state)
    except Exception as error:  # user functions may raise any exception
        hint = f": {HOW_TO_CHANGE}" if isinstance(error, ValueError) and "read-only" in f"{error}" else ""
        raise SwitchingError(f"its action failed: {type(error).__name__}: {error}{hint}") from error
    finally:
        for part in parts:  # the function may have kept the state
            part.setflags(write=True)
    present = *state.parts, *state.angles.values(), *state.internal.values()
    if len(present) != len(parts) or any(x is not y for x, y in zip(present, parts, strict=True)):
        raise SwitchingError(f"its action sets a part of the state: {HOW_TO_CHANGE}")
    return returned
