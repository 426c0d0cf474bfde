"""Simulation advanced by a loop of the caller."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..bodies.state import State
from ..dynamics.plant import CompiledModel
from ..dynamics.sparse.solver.solver import Solver
from ..dynamics.sparse.stepping.watched_quantities import shares_with_contacts
from ..errors import CheckpointWarning, InputError, SimulationError, outside
from ..events import Event
from ..integrators import IntegrationError, Statistics
from ..result.event_log import EventLog
from ..result.result import Result
from ..system.system import System
from ..util import validate
from ..util.misuse import explained
from .arguments import checked_events, checked_settings
from .event_queue import EventQueue
from .hybrid.changed_parts import ChangedParts, Violations
from .hybrid.event_functions import other_called_functions
from .hybrid.hybrid_run import HybridRun
from .hybrid.impact_sequence import IMPACTS
from .hybrid.run_factory import RunFactory
from .input_history import InputHistory
from .output_schedule import checked_breaks
from .outside_changes import OutsideChanges
from .pending_contacts import PendingContacts
from .present_violations import PresentViolations
from .run_arguments import OWNER, compiled_method, duration_until, inputs_of
from .run_branches import Branches
from .run_inputs import Inputs
from .run_loop import described_failure, started_run
from .run_observation import Observation
from .run_pace import Pace
from .run_present import Present
from .run_saved import PartNames, RunIdentity, SavedRun
from .run_views import CurrentView, Observers
from .sampler import Sampler
from .watched_loads import is_load_of_joint, warn_of_watched_loads

if TYPE_CHECKING:
    from ..graphics.viewer.live import LiveView

# Arguments that must be equal in two runs if one run is to restore the saved state of the other.
DISTINCT = (
    "method", "rtol", "atol", "step", "max_step", "end", "stabilization", "baumgarte", "projection_interval",
    "impacts",
)  # fmt: skip
# Return values of `advance`.
TIME, EVENT, STOPPED = "time", "event", "stopped"
# Tolerance, in intervals `keep`, within which the time of a state to be stored counts as equal to a time at which the
# loop pauses; it is well above the round-off of sums of durations.
SAME_TIME = 1e-9


@explained
class Run:
    """Simulation advanced by a loop of the caller, with inputs that the loop can change; see docs/stepping.md.

    While the inputs are constant, the motion equals that of `simulate`: the method controls the step size, steps extend
    beyond the times at which `advance` pauses, and the states at these times are computed by dense output. When an
    input changes, the rest of the step is discarded and a new step begins, with the same step size and without
    recompilation.

    Parameters
    ----------
    system : System
    method, rtol, atol, step, max_step, stabilization, baumgarte, projection_interval, impacts
        As in `simulate`; compiled methods only.
    inputs : list of str
        Names of force elements whose value is set by the loop: the effort of an `Actuator`, `JointTorque` or
        `JointForce`, the tension of a `Tendon`, the vector (3,) of a `Force` or `Torque`, the target of a
        `Controller`, or the targets (joints,) of a `ComputedTorque`; the target rates of a ComputedTorque "control" are
        the input "control.rates". The elements must be constructed with a constant, which is the initial value.
    initial_state : State, optional
        Default: `system.initial_state()`.
    start : float
        Initial time, s.
    end : float, optional
        Final time (s) of the run, at which the last step ends, as in ``simulate(system, end - start)``. By default the
        run has no end, unless motions are defined for a limited time.
    events : list of Event
        Events of this run, in addition to those of the system.
    keep : float, optional
        Interval, s, at which states are stored for `result`; by default none are stored.

    Attributes
    ----------
    system : the simulated system, with force elements whose inputs can be set

    Raises
    ------
    InputError
        If an argument cannot be used.
    InconsistentStateError
        If the initial state violates a constraint.

    Examples
    --------
    >>> rod = quirk.Body.box("rod", mass=1.0, size=[1.0, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    >>> system = quirk.System([rod, hinge, quirk.JointTorque("motor", hinge, 0.0)], gravity=[0, 0, -9.81])
    >>> run = quirk.Run(system, inputs=["motor"])
    >>> while run.time < 1.0:
    ...     run.inputs["motor"] = -20.0 * run["hinge"].angle - 5.0 * run["hinge"].angle_rate
    ...     reason = run.advance(0.01)
    >>> reason, round(run["hinge"].angle, 4)
    ('time', 0.2382)
    """

    def __init__(
        self,
        system: System,
        *,
        method: str = "auto",
        rtol: float | None = None,
        atol: float | None = None,
        step: float | None = None,
        max_step: float | None = None,
        inputs: Iterable[str] = (),
        initial_state: State | None = None,
        start: float = 0.0,
        end: float | None = None,
        events: Iterable[Event] = (),
        impacts: str = "simultaneous",
        keep: float | None = None,
        stabilization: str | None = "projection",
        baumgarte: tuple[float, float] = (10.0, 10.0),
        projection_interval: int = 1,
    ) -> None:
        options = {name: value for name, value in locals().items() if name not in ("self", "system", "initial_state")}
        if not isinstance(system, System):
            raise InputError(f"{OWNER}: system must be a quirk.System; got {system!r}")
        method = compiled_method(method, step)
        validate.choice(OWNER, "impacts", impacts, IMPACTS)
        self._inputs = inputs_of(system, inputs)
        state = system.initial_state() if initial_state is None else system.checked(initial_state)
        system = self.inputs.system
        start = validate.number(OWNER, "start", start)
        duration = duration_until(system, start, end)
        settings = checked_settings(
            OWNER, system, method, start, duration, step=step, rtol=rtol, atol=atol, stabilization=stabilization,
            baumgarte=baumgarte, projection_interval=projection_interval, every=False,
        )  # fmt: skip
        ends = checked_breaks(system, start, duration, None, max_step, step, OWNER)
        self._sampler = Sampler(system, start, ends, keep=keep is not None)
        self.system = system = self._sampler.system
        self._watched = checked_events(OWNER, system, events)
        self._keep = None if keep is None else validate.positive(OWNER, "keep", keep)
        options.update(events=self._watched[len(system.events) :], inputs=list(self.inputs))
        self._factory = RunFactory(
            system, "sparse", method, settings._replace(max_step=ends.max_step), ends, np.array([start]), Statistics(),
            self._watched, options, pausing=True, prepare=self._serve,
        )  # fmt: skip
        self._start, self._end = start, settings.end
        self._sampler.reset()
        self._identity = RunIdentity(
            system, self._watched, {name: options[name] for name in DISTINCT} | {"inputs": list(self.inputs)}
        )
        self._begin(state)

    def _begin(self, state: State) -> None:
        """Begin the run at a state."""
        system, start = self.system, self._start
        beside = other_called_functions(system, self._watched)
        in_python = self._factory.in_python
        self._observers = Observers(self._serve, beside, in_python)
        run = started_run(system, state, self._factory, owner=OWNER)
        assert isinstance(run, HybridRun)
        self._run, self._time, self._kept = run, start, 0
        self._branches = Branches(start)
        self._now = Present(system, run, self._observers)
        self._pending: PendingContacts | None = None
        self._names = PartNames(system, self._watched)
        self._queue = EventQueue(run, {event.name for event in self._watched}, keeps=self._keep is not None)
        self._version, self._warned, self._switches = 0, False, system.switches
        self._outside, self._noticed, self._must_recompile = OutsideChanges(system, self._watched), 0, False
        self._history = InputHistory(self.inputs, start, keep=self._keep is not None)
        self._sampler.histories.append(self._history)
        # Whether events watch loads of joints, and no warning has said yet that the motion does not determine one.
        self._watches_loads = any(map(is_load_of_joint, self._factory.guards))
        self._interval = start, 0.0, 0
        self._pace: Pace | None = None
        self._view: LiveView | None = None
        try:
            self._sampler.begin(run, self._serve, beside, in_python)
        except IntegrationError as error:
            raise SimulationError(f"{OWNER}: at t = {error.time:.9g} s: {error}", time=error.time) from error
        self._queue.collect()
        self._queue.reach_all()
        if self._keep is None:
            run.forget()
        self._outside.record(self._factory.solvers)
        self._violations_at, self._before = PresentViolations(system, run, self._observers), Violations()
        self._note_violations()

    @property
    def time(self) -> float:
        """Present time of the run, s."""
        return self._time

    @property
    def inputs(self) -> Inputs:
        """Present value of each input by name, N m, N, or the unit of a target; assignment changes it."""
        return self._inputs

    @inputs.setter
    def inputs(self, values: Any) -> None:
        raise InputError(
            f"Run: inputs are set one by one, as in run.inputs[{next(iter(self._inputs), 'motor')!r}] = 3.0, or "
            f"together with run.inputs.update(...); got {values!r}"
        )

    @property
    def events(self) -> EventLog:
        """Events during the last call of `advance` or `advance_to`; before the first call, the events at the start."""
        return EventLog(self._queue.reached)

    @property
    def plant(self) -> CompiledModel:
        """Compiled model of the presently active constraints and forces."""
        return self._run.plant

    @property
    def statistics(self) -> Statistics:
        """Numbers of integration steps, rejected steps and evaluations of the equations of motion so far."""
        self._run.current.count()
        return self._factory.statistics

    @property
    def state(self) -> State:
        """Copy of the present state, which can be the initial state of another run."""
        return self._now.result(self._input_version).segments[0].state_at(0)

    def __getitem__(self, name: str) -> Any:
        """Return the view of a body, constraint or force element at the present time, like ``result[name]``.

        For the name of an event, return its occurrences during the last call of `advance` or `advance_to`.
        """
        own_name = getattr(name, "name", name)
        if own_name in {event.name for event in self._watched}:
            return self.events.of(own_name)
        return CurrentView(self._present[name])

    def advance(self, duration: float) -> str:
        """Advance by a duration; repeated equal durations add up without round-off.

        Parameters
        ----------
        duration : float
            Duration, s, positive.

        Returns
        -------
        str
            "time" if the run has reached the requested time. "event" if an event has occurred before or at this time:
            `time` is then the time of the event, `state` the state after its actions, and `events` contains the event.
            "stopped" if an event has stopped the run. Contacts do not interrupt the run, but are listed in `events`.

        Raises
        ------
        InputError
            If the duration is not positive, or the run has been stopped or is at its end.
        SimulationError
            If the step size becomes too small or the state is no longer finite; the run stays at the last known state.
        """
        if not (type(duration) is float and 0.0 < duration < np.inf):
            duration = validate.positive("Run.advance", "duration", duration)
        origin, interval, count = self._interval
        if interval != duration or origin + count * interval != self._time:
            origin, count = self._time, 0
        reason = self._advance("Run.advance", origin + (count + 1) * duration)
        self._interval = origin, duration, count + 1
        return reason

    def advance_to(self, time: float) -> str:
        """Advance to a time (s) later than the present time; return value and errors are as for `advance`."""
        return self._advance("Run.advance_to", validate.number("Run.advance_to", "time", time))

    def observe(self, names: Iterable[str]) -> Observation:
        """Return a function that returns the present values (k,) of k quantities, in SI units.

        Parameters
        ----------
        names : list of str
            Quantities, as for events, such as "hinge.angle", "hinge.angle_rate", "rod.velocity.x", "hinge.force.z" and
            "energy.total".
        """
        return Observation(self.system, self._run, self._observers, names, self._plant_now, lambda: self._present)

    def pace(self, speed: float | None = 1.0) -> None:
        """Limit the speed of the run to `speed` times real time, by delays in `advance`; None removes the limit.

        If the loop is slower than this speed, later steps are not accelerated to compensate for the delay.
        """
        self._pace = None if speed is None else Pace(validate.positive("Run.pace", "speed", speed), self._time)

    def view(
        self,
        *,
        ranges: Mapping[str, Any] | None = None,
        fps: float = 30.0,
        labels: bool = False,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> LiveView:
        """Show the run in the browser during the loop, with a slider for each input.

        The view is updated by `advance`. A slider sets its input at the next call of `advance`, and shows values set by
        the loop. Use `pace` to run in real time.

        Parameters
        ----------
        ranges : dict, optional
            Minimum and maximum value of the slider of each input by name; by default the limits of an actuator.
        fps : float
            Maximum number of frames per second.
        labels : bool
            Whether names of bodies, joints and springs are shown.
        host, port : as for `Result.view`

        Returns
        -------
        LiveView
            View with the address for browsers, `.url`, and the method `close()`.

        Raises
        ------
        InputError
            If viser is not installed, or the server cannot be started.
        """
        from ..graphics.viewer.live import view

        if self._view is not None:
            self._view.close()
        self._view = view(self, ranges=ranges, fps=fps, labels=labels, host=host, port=port)
        return self._view

    def __reduce__(self) -> NoReturn:
        """Refuse copies and pickles, which would have to share compiled data with this run."""
        raise TypeError(f"{OWNER}: a run cannot be copied or pickled; Run.save returns its state, which can")

    def save(self) -> SavedRun:
        """Return a snapshot from which the run can be continued with bitwise equal results.

        The snapshot can be pickled. It does not include the states stored for `result`, nor values in Python that the
        actions of events set; a CheckpointWarning is issued if user functions may read such values.

        Examples
        --------
        >>> ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[1.0, 0, 0])
        >>> run = quirk.Run(quirk.System([ball]))
        >>> saved = run.save()
        >>> run.advance(1.0), run["ball"].position.round(9).tolist()
        ('time', [1.0, 0.0, 0.0])
        >>> run.restore(saved)
        >>> run.time, run["ball"].position.tolist()
        (0.0, [0.0, 0.0, 0.0])
        """
        if not self._warned and self._run.altering:
            self._warned = True
            warnings.warn(
                f"{OWNER}: save: {', '.join(self._run.altering)} may set values in Python that user functions read; "
                "they are not saved: set them back yourself before you continue from this state",
                CheckpointWarning,
                stacklevel=outside(),
            )
        content = {
            "run": self._run.snapshot(),
            "inputs": self.inputs.snapshot(),
            "sampled": self._sampler.snapshot(),
            "outside": self._outside.snapshot(),
            "altered": self._altered,
            "violations": self._before,
            "happenings": self._queue.snapshot(),
            "clock": (self._time, self._interval),
            "branch": self._branches.present,
            "stored": self._run.stored_at(self._time),
        }
        return SavedRun(self._time, self._identity, content, self._names)

    def restore(self, saved: SavedRun) -> None:
        """Continue from a snapshot of this run, or of another run of the same system with the same arguments.

        States stored for `result` at later times are discarded. If the stored states do not lead to the snapshot, as in
        another run, all of them are discarded, and the result begins at the snapshot, with a CheckpointWarning.

        Raises
        ------
        InputError
            If the snapshot is from another system, or from a run with other arguments.
        """
        if not isinstance(saved, SavedRun):
            raise InputError(f"Run.restore: saved must be what Run.save has returned; got {saved!r}")
        content = saved.content_for(self._identity, self._names)
        leads = self._keep is not None and self._branches.lead_to(content["branch"], saved.time, self._time)
        if leads:
            self._run.drop_after(saved.time, content["stored"])
        else:
            self._run.forget()
        self._run.recall(content["run"])
        self.inputs.recall(content["inputs"])
        self._sampler.recall(content["sampled"])
        self._outside.recall(content["outside"])
        self._before = content["violations"]
        self._queue.restore(content["happenings"])
        self._time, self._interval = content["clock"]
        self._version, self._pending = -1, None  # whether inputs have changed since the last step must be determined
        # Changes that had been noticed, but not yet followed by a new step, still are.
        self._noticed = self._outside.version - content["altered"]
        self._restore_stored(content["branch"] if leads else None)
        self._now.forget()
        if self._pace is not None:
            self._pace.set(self._time)

    def _restore_stored(self, branch: str | None) -> None:
        """Let the states stored for `result` go on at the present time, that of a snapshot.

        `branch` is the branch of the snapshot, or None if the states stored so far do not lead there and are discarded.
        """
        histories = self._sampler.histories
        if branch is not None:
            self._branches.return_to(branch, self._time)
            for history in histories:
                history.restore(self._time)
        else:
            self._branches.begin_at(self._time)
            for history in histories:
                history.begin(self._time)
            if self._keep is not None and self._time != self._start:
                self._run.current.store_present_state()
        if self._keep is not None:
            self._kept = int(np.floor((self._time - self._start) / self._keep + SAME_TIME))

    def result(self) -> Result:
        """Return the motion up to the present time, with the stored states.

        It begins at the start of the run, or at a restored snapshot to which the stored states did not lead; works are
        counted from there, and a CheckpointWarning says so.

        In `result.system`, elements with changed inputs have the recorded values as functions of time (`Motion.steps`).

        Raises
        ------
        InputError
            If the run stores no states.
        """
        if self._keep is None:
            raise InputError(
                "Run.result: the run keeps no states: give the interval at which it shall, Run(..., keep=0.01)"
            )
        if self._branches.begin > self._start:
            warnings.warn(
                f"{OWNER}: result: the motion before t = {self._branches.begin:.9g} s is not known: the stored states "
                "did not lead to the snapshot that was restored there. The result begins there, and works count from "
                "there",
                CheckpointWarning,
                stacklevel=outside(),
            )
        segments, status = self._run.segments, "stopped" if self._run.stopped else "completed"
        system, segments = self._sampler.followed(segments, self._run.configurations)
        events = [event for event in self._run.happenings if event.time <= self._time]
        result = Result(system, segments, self.statistics, status, events, [self._factory.options])
        warn_of_watched_loads(result, self._factory.guards)
        return result

    def __repr__(self) -> str:
        stopped = ", stopped" if self._run.stopped else ""
        return f"<Run: {len(self.system.bodies)} bodies at t = {self._time:.9g} s{stopped}>"

    def _advance(self, owner: str, t: float) -> str:
        """Advance to time t (s); return "time", "event" or "stopped", as for `advance`.

        `owner` is the name of the calling function, for error messages.
        """
        if self._run.stopped or not self._time < t <= self._end:
            raise InputError(f"{owner}: {self._refusal(t)}")
        self._queue.begin()
        if self._view is not None:
            self._view.set_inputs(self)
        try:
            self._notice_changes()
            if self.inputs.version != self._version or self._altered:
                self._restart()
            reason = self._advance_to(t)
        except IntegrationError as error:
            self._return_to_accepted()
            description, body = described_failure(OWNER, self.system, self._run, self._factory, self.state, error)
            raise SimulationError(
                f"{description}; the run stands at t = {self._time:.9g} s", time=error.time, body=body
            ) from error
        except BaseException:
            self._return_to_accepted()
            raise
        finally:
            self._outside.record(self._factory.solvers)
            self._note_violations()
        if self._watches_loads and shares_with_contacts(self._run.plant.model):
            self._watches_loads = not warn_of_watched_loads(self._present, self._factory.guards)
        if self._view is not None:
            self._view.show(self)
        if self._pace is not None:
            self._pace.wait(self._time)
        return reason

    def _refusal(self, t: float) -> str:
        """Return the error message that states why the run cannot advance to time t, s."""
        if self._run.stopped:
            return (
                f"an event has stopped the run at t = {self._time:.9g} s: restore an earlier state or begin another run"
            )
        if t > self._end:
            return f"the run ends at t = {self._end:.9g} s; got t = {t:.9g} s"
        return f"the run is at t = {self._time:.9g} s already; give a later time than {t:.9g} s"

    def _restart(self) -> None:
        """Begin a new integration step if inputs or values read by functions have changed since the last step."""
        inputs, altered = self.inputs.changed, self._altered
        if inputs or altered:
            self._history.record(self._time, inputs)
            self._queue.discard_ahead(self._time)
            titles = self._outside.changed
            certain = tuple(title for title, noticed in titles.items() if noticed)
            changed = ChangedParts(tuple(titles), self._before, certain) if titles else None
            self._run.restart(changed, recompiles=self._must_recompile)
            self._must_recompile = False
            self._outside.changed.clear()
        self._version, self._noticed = self.inputs.version, self._outside.version
        if not inputs and not altered:
            return
        self.inputs.take_effect()
        self._queue.collect()
        self._queue.reach(self._time)

    def _sample(self) -> None:
        """Call the sampled functions that are due at the present time."""
        self._queue.discard_ahead(self._time)
        self._sampler.sample_in_run()
        self._queue.collect()
        self._update_time()

    def _advance_to(self, t: float) -> str:
        """Advance to time t (s) or to an event before it; return "time", "event" or "stopped", as for `advance`."""
        run, sampler = self._run, self._sampler
        if self._time >= sampler.next:  # the last call has failed
            self._sample()
        while True:
            kept = np.inf if self._keep is None else self._next_kept(t)
            sampler.snap_to(min(t, kept))
            until = min(t, kept, sampler.next)
            run.current.request(min(until, self._queue.next_time))
            if not run.current.resume():
                run.proceed()
                self._queue.collect()
            self._update_time()
            if self._time >= kept:
                self._kept += 1
                if run.current.buffer.last < self._time:
                    run.current.store_present_state()
            if run.stopped:
                return STOPPED
            if self._time >= sampler.next:
                self._sample()
            if self._queue.interrupts:
                return EVENT
            if self._time >= t:
                return TIME

    def _next_kept(self, t: float) -> float:
        """Return the time (s) of the next state to be stored, or t (s) if the two differ only by round-off."""
        assert self._keep is not None
        kept = self._start + (self._kept + 1) * self._keep
        return t if abs(t - kept) < SAME_TIME * self._keep else kept

    def _update_time(self) -> None:
        """Set the present time of the run, and release the events up to this time."""
        self._time = self._run.current.present_time
        self._queue.reach(self._time)

    def _return_to_accepted(self) -> None:
        """Return to the last accepted state after a failure or an interruption."""
        current = self._run.current
        with suppress(IntegrationError):
            current.begin_anew()
            if not current.between and not current.paused and self._time > current.reached:
                current.request(self._time)
                current.resume()
        self._update_time()

    def _notice_changes(self) -> None:
        """Compare the values in Python that user functions read with those at the last call.

        A function whose values have changed runs in Python from now on.
        """
        self._sampler.enter()
        functions = self._outside.changed_functions()
        if functions:
            self._factory.in_python += functions
            self._must_recompile, self._pending = True, None
        if self.system.switches != self._switches:
            self._switches = self.system.switches
            warnings.warn(
                f"{OWNER}: enable() and disable() of a system act on later runs; this run goes on with the parts that "
                "were enabled when it began: let the action of an event return quirk.enable(...) or quirk.disable(...)",
                UserWarning,
                stacklevel=outside(),
            )

    def _note_violations(self) -> None:
        """Store the violations of constraints at the present state, before the caller's loop changes values."""
        if not self._outside.may_change or self._altered:
            return  # after a change, bodies could not follow it
        with suppress(Exception):  # functions that fail here also fail in the next step, which raises their errors
            self._before = self._violations_at(self._outside.titles) or Violations()

    @property
    def _altered(self) -> bool:
        """Whether values in Python that user functions read have changed since the last step, as far as noticed."""
        return self._must_recompile or self._outside.version != self._noticed

    @property
    def _input_version(self) -> tuple[int, int, int]:
        """Counters that change whenever an input, or a value in Python that user functions read, changes."""
        return self.inputs.version, self._sampler.inputs.version, self._outside.version

    @property
    def _present(self) -> Result:
        """Result with a single time, the present time of the run."""
        plant = self._plant_now()  # notices changes, which the version counts
        return self._now.result(self._input_version, plant)

    def _plant_now(self) -> CompiledModel:
        """Return the compiled model of the constraints and forces that are active with the present inputs."""
        self._notice_changes()
        if not self._altered and (self.inputs.version == self._version or not self.inputs.changed):
            return self._run.plant
        if self._pending is None:
            self._pending = PendingContacts(self.system, self._factory, self._run)
        return self._pending.plant(self._input_version, self._before.gaps if self._outside.changed else None)

    def _serve(self, solver: Solver) -> None:
        """Connect a solver to all inputs of the run, including those that sampled functions set."""
        self.inputs.serve(solver)
        self._sampler.inputs.serve(solver)
