"""Run that saves its results to a checkpoint at each restart point."""

from __future__ import annotations

import warnings
from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from quirk.dynamics.plant import CompiledModel
from quirk.errors import CheckpointWarning, outside
from quirk.result.event_log import EventRecord
from quirk.result.segment import Segment
from quirk.system.system import System

from .hybrid_run import HybridRun
from .restart_points import RestartPoint, steps_between_restarts
from .run_factory import RunFactory

if TYPE_CHECKING:
    from quirk.io.checkpoints import Checkpoint


class CheckpointedRun:
    """Run that saves its results to a folder at each restart point; it has the interface of `HybridRun`.

    Parameters
    ----------
    system : System
    factory : factory of run objects, one for each set of active constraints and forces
    checkpoint : folder in which results are saved
    """

    def __init__(self, system: System, factory: RunFactory, checkpoint: Checkpoint) -> None:
        self._system, self._factory, self._checkpoint = system, factory, checkpoint
        self._breaks = deepcopy(factory.breaks)
        self._steps = steps_between_restarts(len(system.bodies), factory.compiled)
        self._written = self._warned = False

    def start(self, point: RestartPoint) -> None:
        """Start from a restart point.

        Only the data of the restart point are used, so that a resumed run is identical to an uninterrupted one.
        """
        factory = replace(self._factory, breaks=deepcopy(self._breaks))
        run = HybridRun(self._system, factory, self._checkpoint.rows)
        run.start(point)
        self._run, self._written = run, False
        if not self._warned and run.altering:
            self._warned = True
            warnings.warn(
                f"simulate: checkpoint: {', '.join(run.altering)} may set values in Python that other functions "
                "read; they are not saved: a run that was killed resumes with the initial values of the script",
                CheckpointWarning,
                stacklevel=outside(),
            )

    def keep_start(self) -> None:
        """Store the initial state of the run if its time is an output time."""
        self._run.keep_start()

    def proceed(self) -> bool:
        """Advance the run for a fraction of a second of computing time; return False at the end of the run."""
        run, statistics = self._run, self._factory.statistics
        if not run.proceed(self._steps):
            run.check_reads()
            status = "stopped" if run.stopped else "completed"
            if run.stopped:
                run.close()
            self._checkpoint.append(run.segments, run.happenings, statistics, None, status)
        elif run.restart_is_due(self._steps):
            run.check_reads()
            run.end_segment(by_event=False)
            self._checkpoint.append(run.segments, run.happenings, statistics, run.restart_point)
            self._written = True  # also if the start from the next restart point is interrupted
            point = self._checkpoint.restart_point
            if point is not None:  # otherwise the checkpoint already has all intervals up to the end
                self.start(point)
        else:
            return True
        self._written = self._checkpoint.status is not None
        return not self._written

    def check_reads(self) -> None:
        """Do nothing: the values read by user functions are checked at each restart point."""

    def close(self) -> None:
        """Store the final state of the run."""
        self._run.close()

    @property
    def segments(self) -> list[Segment]:
        """All segments of the result so far."""
        return [*self._checkpoint.segments, *([] if self._written else self._run.segments)]

    @property
    def happenings(self) -> list[EventRecord]:
        """Records of all events and impacts so far, in chronological order."""
        return [*self._checkpoint.happenings, *([] if self._written else self._run.happenings)]

    @property
    def stopped(self) -> bool:
        """Whether an event has ended the run."""
        return self._checkpoint.status == "stopped"

    @property
    def reached(self) -> float:
        """Time up to which the motion has been computed, s."""
        return self._run.reached

    @property
    def plant(self) -> CompiledModel:
        """Compiled model of the presently active constraints and forces."""
        return self._run.plant

    @property
    def trouble(self) -> BaseException | None:
        """Exception that made the last evaluation of the equations of motion fail, or None."""
        return self._run.trouble

    def undefined(self, t: float) -> Any:
        """Return an exception that names a force element with non-finite loads at time t (s), or None."""
        return self._run.undefined(t)
