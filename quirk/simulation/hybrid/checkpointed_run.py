"""A run in legs, of which each is written down before the next begins."""

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
from .restart_points import RestartPoint, steps_of_leg
from .run_factory import RunFactory

if TYPE_CHECKING:
    from quirk.io.checkpoints import Checkpoint


class CheckpointedRun:
    """Runs leg by leg, with the interface of `quirk.simulation.hybrid.hybrid_run.HybridRun`.

    Parameters
    ----------
    system : System
    phases : make and enter the runs with one set of active parts each
    checkpoint : where legs are written down
    """

    def __init__(self, system: System, phases: RunFactory, checkpoint: Checkpoint) -> None:
        self._system, self._phases, self._checkpoint = system, phases, checkpoint
        self._breaks = deepcopy(phases.breaks)
        self._steps = steps_of_leg(len(system.bodies), phases.compiled)
        self._written = self._warned = False

    def start(self, leg: RestartPoint) -> None:
        """Begin a leg, with nothing that earlier legs have found."""
        phases = replace(self._phases, breaks=deepcopy(self._breaks))
        run = HybridRun(self._system, phases, self._checkpoint.rows)
        run.start(leg)
        self._run, self._written = run, False
        if not self._warned and run.altering:
            self._warned = True
            warnings.warn(
                f"simulate: checkpoint: {', '.join(run.altering)} may set values in Python that other functions "
                "read; they are not written down: a run that was killed goes on with those that the script begins with",
                CheckpointWarning,
                stacklevel=outside(),
            )

    def keep_start(self) -> None:
        """Keep the state at the start of the run, if it is asked for."""
        self._run.keep_start()

    def proceed(self) -> bool:
        """Compute for a moment; returns whether there is more to do."""
        run, statistics = self._run, self._phases.statistics
        if not run.proceed(self._steps):
            run.check_reads()
            status = "stopped" if run.stopped else "completed"
            if run.stopped:
                run.close()
            self._checkpoint.append(run.segments, run.happenings, statistics, None, status)
        elif run.ends_leg(self._steps):
            run.check_reads()
            run.end_segment()
            self._checkpoint.append(run.segments, run.happenings, statistics, run.next_leg)
            self._written = True  # also where the start of the next leg is interrupted
            if self._checkpoint.leg is not None:  # else legs up to the end of the run were there already
                self.start(self._checkpoint.leg)
        else:
            return True
        self._written = self._checkpoint.status is not None
        return not self._written

    def check_reads(self) -> None:
        """Nothing is left to check: each leg was checked at its end."""

    def close(self) -> None:
        """Keep also the state that was reached."""
        self._run.close()

    @property
    def segments(self) -> list[Segment]:
        """All that was kept so far."""
        return [*self._checkpoint.segments, *([] if self._written else self._run.segments)]

    @property
    def happenings(self) -> list[EventRecord]:
        """What has happened so far."""
        return [*self._checkpoint.happenings, *([] if self._written else self._run.happenings)]

    @property
    def stopped(self) -> bool:
        """Whether an event has ended the run."""
        return self._checkpoint.status == "stopped"

    @property
    def reached(self) -> float:
        """Time up to which the motion is known, s."""
        return self._run.reached

    @property
    def plant(self) -> CompiledModel:
        """What computes where the run stands."""
        return self._run.plant

    @property
    def trouble(self) -> BaseException | None:
        """Why the last evaluation failed."""
        return self._run.trouble

    def undefined(self, t: float) -> Any:
        """Return the error of a force without finite loads, or None."""
        return self._run.undefined(t)
