"""Calls of the sampled functions of a system during a run.

A sampled function is called at equal time intervals, and sets inputs of the system: parameters of force elements.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..constraints.unilateral import Unilateral
from ..dynamics.plant import CompiledModel
from ..dynamics.sparse.solver.solver import Solver
from ..dynamics.user_functions import functions_of
from ..errors import InputError
from ..functions.changes import Changes
from ..integrators import Breaks, IntegrationError
from ..result.segment import Segment
from ..system.configuration import Configuration
from ..system.system import System
from ..util import validate
from .controller_memory import ControllerMemories
from .hybrid.changed_parts import ChangedParts
from .hybrid.event_processing import CALLS_SWITCH
from .hybrid.hybrid_run import HybridRun
from .input_history import InputHistory, as_driven
from .present_violations import PresentViolations
from .run_inputs import Inputs, checked_input
from .run_present import Present, SampledState
from .run_views import Observers

# Two instants that differ by at most this many ulps are the same: each is the rounded product of a count and a period.
SAME_ULPS = 8


class Sampler:
    """Sampled functions of a run: the times of their calls, and the inputs set by them.

    Parameters
    ----------
    system : System
    start : initial time, s
    breaks : breaks of the run, to which the time of the next call is added
    marks : (n,) increasing times, s, such as output times; times of calls that differ from one of these only by
        round-off are set equal to it
    copies : whether force laws are evaluated in Python, see `Inputs`
    keep : whether earlier values of inputs are recorded

    Attributes
    ----------
    system : the system, with elements whose parameters can be set
    inputs : the inputs
    histories : values so far of all inputs of the run, including those set by the caller of a `Run`
    next : time of the next call, s, or infinity
    """

    def __init__(
        self,
        system: System,
        start: float,
        breaks: Breaks,
        marks: np.ndarray | None = None,
        *,
        copies: bool = False,
        keep: bool = True,
    ) -> None:
        for sampled in system.sampled:
            for name in sampled.inputs:
                checked_input(system, name, f"{sampled}")
        names = [name for sampled in system.sampled for name in sampled.inputs]
        self.inputs = Inputs(system, names, "Sampled", copies=copies)
        self.system, self._start, self._breaks, self._marks = self.inputs.system, start, breaks, marks
        self._history = InputHistory(self.inputs, start, keep=keep)
        self.histories = [self._history]
        parts = {part.name: part for part in self.system}
        self._sampled = self.system.sampled
        self._functions = [sampled.in_system(parts) for sampled in self._sampled]
        self._memory = ControllerMemories(self._sampled)
        self._counts = [0] * len(self._sampled)
        self.next = np.inf
        self._state: SampledState | None = None
        self._plant: CompiledModel | None = None
        self._titles: tuple[str, ...] = ()

    def reset(self) -> None:
        """Let the objects with sampled functions belong to the run that begins, and call their methods `reset`."""
        self._memory.begin()

    def enter(self) -> None:
        """Give the objects with sampled functions the attributes that they have in this run.

        It is called before functions of the run, which may all read these attributes.
        """
        self._memory.enter()

    def begin(
        self, run: HybridRun, serve: Callable[[Solver], None], functions: list[Any], in_python: list[Any]
    ) -> None:
        """Call the functions at the start of a run, after `reset`.

        Parameters
        ----------
        run : the run to which the inputs belong
        serve : function that connects a solver to the inputs
        functions : user functions called by the run in addition to those of the model
        in_python : user functions of the model that must not be compiled, a list that may grow
        """
        self._run = run
        run.following = self.followed
        if not self._sampled:
            return
        observers = Observers(serve, functions, in_python)
        self._state = SampledState(Present(self.system, run, observers))
        self._violations_at = PresentViolations(self.system, run, observers)
        self.next = self._start
        run.restart_at_start(self._changed_by_call())

    def snap_to(self, t: float) -> None:
        """Set the time of the next call to t (s) if both differ only by round-off."""
        if 0.0 < abs(self.next - t) <= SAME_ULPS * np.spacing(abs(t)):
            self.next = t

    def sample(self) -> None:
        """Call the functions that are due, set their inputs, and begin a new integration step of the run.

        Raises
        ------
        InputError
            If a function fails or does not return a finite value for each of its inputs.
        """
        self._run.restart(self._changed_by_call())

    def _changed_by_call(self) -> ChangedParts | None:
        """Call the functions that are due, and return the parts whose functions read values that they may change.

        The result is None if constraints and contacts are not among these parts.
        """
        if self._plant is not self._run.plant:
            self._plant, self._titles = self._run.plant, self.changed()
        before = self._violations_at(self._titles)
        self._call()
        return None if before is None else ChangedParts(self._titles, before)

    def _call(self) -> None:
        """Call the functions that are due, and set their inputs; the errors are those of `sample`."""
        assert self._state is not None
        t = self.next
        self._state.renew()
        due = [k for k, _ in enumerate(self._sampled) if self._instant(k) <= t + SAME_ULPS * np.spacing(abs(t))]
        values = [self._values(k) for k in due]
        for k, of_inputs in zip(due, values, strict=True):
            self._counts[k] += 1
            for name, value in zip(self._sampled[k].inputs, of_inputs, strict=True):
                self.inputs[name] = value
        self._history.record(t, self.inputs.changed)
        self.inputs.take_effect()
        self.next = self._breaks.stop_at(self._marked(min(map(self._instant, range(len(self._sampled))))))

    def sample_in_run(self) -> None:
        """Call the functions that are due and set their inputs, like `sample`, with the error type of the integration.

        Raises
        ------
        IntegrationError
            If a function fails.
        """
        try:
            self.sample()
        except InputError as error:
            raise IntegrationError(str(error), self.next) from error

    def changed(self) -> tuple[str, ...]:
        """Return the titles of parts whose user functions read values that sampled functions may change."""
        changes = Changes([function for sampled in self._sampled for function in sampled.user_functions])
        functions = [pair for _, plant in self.system.plants() for pair in functions_of(plant.model)]
        for constraint in self.system.constraints:
            if isinstance(constraint, Unilateral):
                functions += [(f"{constraint}", gap.source) for gap in constraint.gaps if gap.source is not None]
        return tuple(dict.fromkeys(title for title, function in functions if changes(function)))

    def followed(
        self, segments: Sequence[Segment], configurations: Sequence[Configuration]
    ) -> tuple[System, list[Segment]]:
        """Return the system whose inputs follow their recorded values over time, and segments for it; see `as_driven`.

        `configurations` contains the active constraints and forces of each segment.
        """
        return as_driven(self.system, segments, configurations, self.histories, self.changed())

    def snapshot(self) -> tuple[Any, ...]:
        """Return all data required to continue the calls, including the attributes of functions that are objects."""
        return list(self._counts), self.next, self.inputs.snapshot(), self._memory.snapshot()

    def recall(self, saved: tuple[Any, ...]) -> None:
        """Restore a snapshot, except the history of the inputs."""
        counts, self.next, inputs, memory = saved
        self._counts = list(counts)
        self.inputs.recall(inputs)
        self._memory.recall(memory)

    def end(self) -> None:
        """Leave objects with sampled functions to other runs, at the end of a run that is not continued."""
        self._memory.end()

    def _instant(self, k: int) -> float:
        """Return the time (s) of the next call of the sampled function with index `k`."""
        return self._start + self._counts[k] * self._sampled[k].period

    def _marked(self, t: float) -> float:
        """Return the time (s) among `marks` that equals t up to round-off, or t if there is none."""
        if self._marks is None or not len(self._marks):
            return t
        k = int(np.searchsorted(self._marks, t))
        nearest = min(self._marks[max(k - 1, 0) : k + 1], key=lambda mark: abs(mark - t))
        return float(nearest) if abs(nearest - t) <= SAME_ULPS * np.spacing(abs(t)) else t

    def _values(self, k: int) -> Sequence[Any]:
        """Return the present inputs of the sampled function with index `k`, one value for each input."""
        sampled, t = self._sampled[k], self._instant(k)
        title = f"{sampled}, at t = {t:.9g} s"
        self.enter()
        self._memory.enter_for(k)  # raises an error for attributes that could not be kept
        switches = self.system.switches
        try:
            returned = self._functions[k](t, self._state)
        except Exception as error:  # user functions may raise any exception
            raise InputError(f"{title}: its function failed: {type(error).__name__}: {error}") from error
        if self.system.switches != switches:
            raise InputError(f"{title}: its function {CALLS_SWITCH}")
        shapes = [self.inputs.slots[name].shape for name in sampled.inputs]
        if len(shapes) == 1 and np.shape(returned) == shapes[0]:
            returned = [returned]
        if not isinstance(returned, list | tuple | np.ndarray) or len(returned) != len(shapes):
            raise InputError(
                f"{title}: its function must return a value for each of its inputs, {', '.join(sampled.inputs)}; got "
                f"{returned!r}"
            )
        return [
            value
            if type(value) is float and np.isfinite(value)
            else validate.array(title, f"value for {name!r}", value, shape)
            for name, value, shape in zip(sampled.inputs, returned, shapes, strict=True)
        ]
