"""Events located by compiled code in a run."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np

from quirk.events.names import Reading

from ..solver.solver import Solver
from .event_functions import AT_ZERO, NOTED, UNWATCHED, speeds
from .event_sides import AT_ZERO_STILL
from .run_state import RunState
from .watched_quantities import EventMonitor, distinct_crossings


class RunEvents:
    """Events of a run.

    Parameters
    ----------
    watch : event functions

    Attributes
    ----------
    hit : keys of event functions with actions that cross zero at the current time, and their directions, 1 or -1
    latest : zero crossings found by the last call of `take` that found any, each as index of the event function, or
        UNWATCHED minus the index if its direction is not watched, time, s, direction and energy, J
    """

    def __init__(self, watch: EventMonitor) -> None:
        self._watch = watch
        self.clear()

    def clear(self) -> None:
        """Delete all events."""
        self.hit: list[tuple[Hashable, int]] = []
        self.latest: list[tuple[int, float, int, float]] = []

    def note_hits(self) -> None:
        """Store in `hit` the event functions with actions that cross zero at the current time.

        The magnitudes of their rates are stored as well, so that the jump caused by an action does not trigger the same
        event. Those of earlier events at this instant are kept.
        """
        table, guards = self._watch.table, self._watch.guards
        self.hit = [(guards[e].key, int(table.side[e])) for e in np.flatnonzero(table.hit)]
        zeros = table.hit == AT_ZERO
        # Zeros end a step: events before it are over.
        earlier = np.zeros_like(table.at_speed) if zeros.any() else np.minimum(table.at_speed, 0.0)
        table.at_speed[:] = np.where(zeros, speeds(table.end[1::2]), earlier)
        table.hit[:] = 0

    def note_own_jump(self, solver: Solver, t: float, key: Hashable, y: np.ndarray, *, switched: bool) -> None:
        """Store the sign of an event function after the action of its own event, if a jump has triggered the event.

        If its own action brings the function back, the event is not triggered again; if the action of a later event at
        this instant does so, it is. Events triggered by zero crossings are left to `determine_signs`.

        Parameters
        ----------
        solver : evaluator of the model before the actions
        t : time of the event, s
        key : key of the event function
        y : (13 n + k,) state after the action
        switched : whether constraints or forces have been switched since the event was triggered
        """
        watch, table = self._watch, self._watch.table
        e = next(k for k, guard in enumerate(watch.guards) if guard.key == key)
        if table.at_speed[e] > 0.0:
            return
        if switched and isinstance(watch.guards[e].quantity, Reading):
            # Only the next run, with the constraints and forces then active, can evaluate it.
            table.at_speed[e] = speeds(np.array([np.nan]))[0]
            return
        value, negligible = watch.values(solver, t, y)[e], AT_ZERO_STILL * table.scale[e]
        table.side[e] = np.sign(value) if abs(value) > negligible else 0.0

    def note_none(self) -> None:
        """Store that no event function with an action crosses zero at the current time."""
        self.hit = []
        if self._watch.guards:
            self._watch.table.at_speed[:] = 0.0

    def take(self, run: RunState, start: float) -> list[tuple[Hashable, float, int, float]]:
        """Return the events since the last call, in the order of time, and delete them.

        Each event consists of the key of its event function, its time, s, its direction and the total energy, J.
        `start` is the initial time of the whole run, s.
        """
        if not run.counts.happened:
            return []
        noted = self._watch.table.crossings[: NOTED * run.counts.happened].reshape(-1, NOTED)
        run.counts.happened = 0
        # The next step size is infinite where a series is a polynomial.
        step = min(run.clock.h, run.clock.t_new - start)
        distinct = distinct_crossings(noted, float(step))
        self.latest = [(int(e), float(t), int(way), float(energy)) for t, e, way, energy in distinct]
        return [(self._watch.guards[e].key, t, way, energy) for e, t, way, energy in self.latest if e >= 0]

    def reset_signs(self, run: RunState, time: float) -> None:
        """Reset the signs of event functions to those at `time` (s) within the current step, whose rest is discarded.

        They follow from the signs at the start of the step and the crossings up to that time, which are in order.
        """
        table = self._watch.table
        if not self._watch.guards:
            return
        table.side[:] = table.side_at_start
        self.latest = [crossing for crossing in self.latest if crossing[1] <= time]
        for e, t, direction, _ in self.latest:
            if t > run.clock.t:
                table.side[e if e >= 0 else UNWATCHED - e] = direction
        table.hit[:] = 0
