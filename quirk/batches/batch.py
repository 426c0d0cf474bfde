"""The class Batch: many systems with the same parts, advanced together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..analysis.joint_coordinates import assembled
from ..bodies.state import State
from ..constraints import Constraint
from ..errors import InputError, QuirkError
from ..forces import ForceElement
from ..simulation.arguments import check_located, checked_method, checked_settings
from ..simulation.output_schedule import output_times
from ..system.system import System
from ..util import validate
from ..util.cores import available_cores
from ..util.misuse import explained
from .batch_assembly import targets_of_members
from .batch_inputs import BatchInputs
from .batch_observation import BatchObservation
from .batch_state import BatchState
from .end_times import EndTimes
from .lane_members import LaneMembers
from .members import MemberRun, computed, member_run
from .shared_values import check_shared_values
from .variation import changes_of, checked_variation, varied_system

if TYPE_CHECKING:
    import xarray

OWNER = "Batch"
# Status of members that have not been advanced, and of those that can be advanced further.
NOT_RUN, COMPLETED, FAILED = "not run", "completed", "failed"


@explained
class Batch:
    """Systems with the same topology but different parameters, initial states and inputs; see docs/batches.md.

    ``batch.advance(duration)`` advances each member from its present state to the state that ``quirk.simulate`` would
    reach. A member that fails keeps its last state and does not affect the others.

    Parameters
    ----------
    system : System
        System of all members, with the values of everything that does not differ between members.
    count : int
        Number of members.
    vary : mapping, optional
        Parameters that differ between members: arrays (count, ...) by pair (part, parameter), such as
        {("rod", "mass"): masses}. Parameters are arguments of bodies, constraints and forces, "gravity", parameters of
        motions ("drive", "motion.rate"), frames ("hinge", "frame_i.origin"), and initial states ("rod", "velocity").
    method, rtol, atol, step, max_step, stabilization, baumgarte, projection_interval
        As in `simulate`.
    inputs : list of str, optional
        Names of force elements whose value the caller sets, as in `Run`; default: all that have a settable value.
    initial_state : State, optional
        State of all members at the start; default: `system.initial_state()`.
    start : float
        Initial time, s.
    threads : int, optional
        Number of threads; default: the number of cores available to this process.

    Attributes
    ----------
    system : system common to all members, as passed by the caller
    count : number of members
    state : BatchState
        Present states: arrays (count, n, ...), which may be written to.
    inputs : mapping
        Present value of each input by name, (count,), or (count, n) for vectors; assign values to change them.
    time : (count,) present time of each member, s
    status : (count,) array of str
        "not run", "completed" up to `time`, "stopped" by an event, or "failed".
    error : (count,) array of str, reason of a failure

    Raises
    ------
    InputError
        If an argument cannot be used, or if the action of an event may change Python values that a force, motion, gap
        or watched quantity reads, because all members would share them. Errors in the run of a member are not raised;
        they are reported in `status` and `error`.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1)
    >>> push = quirk.Force("push", ball, [1.0, 0, 0])
    >>> batch = quirk.Batch(quirk.System([ball, push]), 2, vary={("ball", "mass"): [1.0, 2.0]}, method="RK4", step=0.1)
    >>> batch.advance(1.0)
    >>> batch.state.velocity[:, 0, 0].round(9)
    array([1. , 0.5])
    """

    def __init__(
        self,
        system: System,
        count: int,
        *,
        vary: Mapping[Any, ArrayLike] | None = None,
        method: str = "auto",
        rtol: float | None = None,
        atol: float | None = None,
        step: float | None = None,
        max_step: float | None = None,
        inputs: Iterable[str] | None = None,
        initial_state: State | None = None,
        start: float = 0.0,
        stabilization: str | None = "projection",
        baumgarte: tuple[float, float] = (10.0, 10.0),
        projection_interval: int = 1,
        threads: int | None = None,
    ) -> None:
        if not isinstance(system, System):
            raise InputError(f"{OWNER}: system must be a quirk.System; got {system!r}")
        if system.sampled:
            raise InputError(
                f"{OWNER}: {system.sampled[0]}: members have no sampled functions: remove it, "
                f"system.without({system.sampled[0].name!r}), and set the inputs of all members in a loop"
            )
        check_shared_values(OWNER, system)
        self.system, self.count = system, validate.whole(OWNER, "count", count)
        self._options: dict[str, Any] = {
            "method": method, "rtol": rtol, "atol": atol, "step": step, "max_step": max_step,
            "stabilization": stabilization, "baumgarte": baumgarte, "projection_interval": projection_interval,
        }  # fmt: skip
        self._start = validate.number(OWNER, "start", start)
        self._options["method"] = method = checked_method(OWNER, method, step, "sparse")
        checked_settings(
            OWNER, system, method, self._start, np.inf, step=step, rtol=rtol,
            atol=atol, stabilization=stabilization, baumgarte=baumgarte, projection_interval=projection_interval,
            every=False,
        )  # fmt: skip
        check_located(OWNER, system, method)
        if max_step is not None:
            validate.positive(OWNER, "max_step", max_step)
        self._threads = available_cores() if threads is None else validate.whole(OWNER, "threads", threads)
        self._varied = checked_variation(system, self.count, {} if vary is None else vary)
        self.inputs = BatchInputs(system, self.count, inputs)
        for one in self._varied:
            for name, slot in self.inputs.slots.items():
                if (slot.element.name, slot.argument) == (one.part, one.parameter):
                    self.inputs.put(name, one.values)
        self._initial = system.initial_state() if initial_state is None else system.checked(initial_state)
        self._alone = 0
        self._tracked: set[str] = set()
        self._systems: dict[int, tuple[np.ndarray, System]] = {}
        self.time = np.full(self.count, self._start)
        self._end_times = EndTimes(self.time)
        self.status = np.full(self.count, NOT_RUN, dtype="<U11")
        self.error = np.full(self.count, "", dtype=object)
        self.reset()
        self._system(0)  # raises errors of arguments that parts refuse
        settable = self.inputs.settable(system)
        self._timeless = all(_timeless(force) for force in settable.forces)
        self._lanes = LaneMembers.of(settable, self._varied, self.count, self._options, self._initial, self._threads)

    @property
    def state(self) -> BatchState:
        """Present states of all members."""
        return self._state

    def reset(self, members: ArrayLike | None = None) -> None:
        """Reset members to their initial state and time.

        `members` are indices of members or a mask (count,); default: all members.
        """
        chosen = np.arange(self.count) if members is None else _chosen(members, self.count)
        if members is None:
            self._state = BatchState.repeated(self._initial, self.count)
        for k in chosen if members is not None else ():
            self._state.put(int(k), self._initial)
        for one in self._varied:
            if one.of_state:
                getattr(self._state, one.parameter)[chosen, self._body(one.part)] = one.values[chosen]
        self.time[chosen], self.status[chosen], self.error[chosen] = self._start, NOT_RUN, ""
        self._end_times.restart(chosen, self._start)

    def _body(self, name: str) -> int:
        return self.system.bodies.index(self.system[name])

    def member(self, k: int) -> System:
        """Return the system of member k, with its present inputs and its initial state, for runs of this member."""
        k = int(_chosen([k], self.count)[0])
        system, state = self._system(k), self._initial.copy()
        for one in self._varied:
            if one.of_state:
                getattr(state, one.parameter)[self._body(one.part)] = one.values[k]
        if all(np.array_equal(*parts) for parts in zip(state.parts, system.initial_state().parts, strict=True)):
            return system
        system = system.with_parts()
        system._initial = state
        return system

    def _system(self, k: int) -> System:
        """Return the system of member k with its present inputs, but with the initial state of the common system."""
        inputs = self.inputs.members(k)
        if k not in self._systems or not np.array_equal(self._systems[k][0], inputs):
            changes = changes_of(self._varied, k)
            for name, arguments in self.inputs.changes(k).items():
                changes[name] = {**changes.get(name, {}), **arguments}
            gravity = next((one.values[k] for one in self._varied if not one.part), None)
            varies = bool(changes) or gravity is not None
            self._systems[k] = inputs, varied_system(self.system, changes, gravity) if varies else self.system
        return self._systems[k][1]

    def advance(self, duration: float) -> None:
        """Advance each member by a duration from its present time; failed or stopped members keep their state.

        Parameters
        ----------
        duration : float
            Duration, s, positive. Repeated equal durations add up without round-off.
        """
        duration = validate.positive(f"{OWNER}.advance", "duration", duration)
        due = np.flatnonzero(~np.isin(self.status, (FAILED, "stopped")))
        ends = self._end_times.after(self.time, duration)
        alone = due[~self._advanced_in_lanes(due, ends, duration)]
        runs = [partial(self._run, int(k), ends[k] - self.time[k], [ends[k]]) for k in alone]
        computed(runs, self._threads, partial(self._store_outcome, ends))

    def assemble(
        self,
        members: ArrayLike | None = None,
        *,
        coordinates: Mapping[str, Any] | None = None,
        rates: Mapping[str, Any] | None = None,
    ) -> None:
        """Move the bodies of each member to the nearest poses and velocities that satisfy its constraints.

        Each member starts from its present state, and is assembled at its present time, as by `System.assemble`. A
        member that cannot be assembled keeps its state; its status becomes "failed", and `error` holds the reason. A
        member that had failed before can be advanced again after its assembly. `reset` returns to the initial state of
        the batch, which is not changed.

        Parameters
        ----------
        members : indices of members or a mask (count,), optional
            Default: all members.
        coordinates, rates : dict, optional
            Prescribed joint coordinates, rad and m, and their rates, by joint, as in `System.assemble`: a scalar for
            all members, or arrays (count,).

        Raises
        ------
        InputError
            If `members`, `coordinates` or `rates` cannot be used.

        Examples
        --------
        >>> rod = quirk.Body.box("rod", mass=1.0, size=[1, 0.1, 0.1], position=[0.5, 0, 0])
        >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
        >>> batch = quirk.Batch(quirk.System([rod, hinge]), 2)
        >>> batch.assemble(coordinates={"hinge": [0.0, 0.3]})
        >>> batch.observe(["hinge.angle"])()[:, 0].round(9)
        array([0. , 0.3])
        """
        chosen = np.arange(self.count) if members is None else _chosen(members, self.count)
        values = targets_of_members(self.system, self.count, "coordinates", coordinates)
        speeds = targets_of_members(self.system, self.count, "rates", rates)
        for k in chosen.tolist():
            state = self._state.member(k)
            try:
                system = self._system(k).configured_as(state)
                self._state.put(k, assembled(system, state, float(self.time[k]), values[k], speeds[k]))
            except QuirkError as error:
                self.status[k], self.error[k] = FAILED, str(error)
                continue
            if self.status[k] == FAILED:
                self.status[k], self.error[k] = NOT_RUN, ""
                self._end_times.restart(k, self.time[k])

    def observe(self, names: Iterable[str]) -> BatchObservation:
        """Return a function that returns the present values (count, k) of k quantities of all members, in SI units.

        Parameters
        ----------
        names : list of str
            Quantities determined by poses and velocities, such as "hinge.angle", "hinge.angle_rate", "rail.travel",
            "rod.velocity.x" and "time". Angles are continuous from this call on: full turns are counted.

        Examples
        --------
        >>> ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1, velocity=[0.5, 0, 0])
        >>> batch = quirk.Batch(quirk.System([ball]), 2)
        >>> observe = batch.observe(["time", "ball.position.x"])
        >>> batch.advance(2.0)
        >>> observe().round(9)
        array([[2., 1.],
               [2., 1.]])
        """
        moved = any(one.part and isinstance(self.system[one.part], Constraint) for one in self._varied)
        observation = BatchObservation(self, names, alike=not moved)
        self._tracked |= observation.turning
        return observation

    def simulate(
        self, duration: float, *, output: ArrayLike, quantities: str | Iterable[str] = ("motion",)
    ) -> xarray.Dataset:
        """Simulate all members from their present states, and return their motions; the batch itself is not changed.

        Parameters
        ----------
        duration : float
            Duration, s, positive.
        output : float or list of times
            Interval between output states, s, or the output times, s.
        quantities : name or list of names
            Groups of `Result.to_xarray` over time, such as ["motion", "joints", "loads"].

        Returns
        -------
        xarray.Dataset
            As returned by `quirk.sweep`, with dimension "run" for the members; values that are varied are its
            coordinates.

        Raises
        ------
        InputError
            If an argument cannot be used, or members are at different times.
        """
        from ..io.resultfile.dataset import library
        from ..io.resultfile.selection import groups_named
        from .batch_dataset import dataset_of, dataset_of_lanes, outcome_of, outcomes_of_lanes

        owner = f"{OWNER}.simulate"
        library("xarray", owner, "sweep")
        duration = validate.positive(owner, "duration", duration)
        if np.ptp(self.time) > 0:
            raise InputError(
                f"{owner}: members are at different times, {self.time.min():g} to {self.time.max():g} s: reset"
            )
        start = float(self.time[0])
        times = output_times(output, start, start + duration)
        assert times is not None
        named = groups_named(owner, quantities)
        outcomes: dict[int, Any] = {}
        every = np.arange(self.count)
        if not isinstance(self._lanes, str) and tuple(named) == ("motion",) and not self._state.changed:
            found = self._lanes.motions(every, self._state, self.inputs, start, start + duration, times)
            if found is not None:
                first = self._extracted(0, duration, output, partial(outcome_of, named, times))
                states, good, _ = found
                if good.all() and first.status == COMPLETED:
                    return dataset_of_lanes(self._varied, states, first, times, duration)
                outcomes.update(outcomes_of_lanes(states, good, first))
        kept = partial(outcome_of, named, times)
        runs = [partial(self._extracted, k, duration, output, kept) for k in range(self.count) if k not in outcomes]
        computed(runs, self._threads, lambda one: outcomes.update({one.number: one}))
        return dataset_of(self._varied, [outcomes[k] for k in range(self.count)], times, duration)

    def summary(self) -> str:
        """Return a line of text: members are computed in SIMD lanes, or one by one with the reason for that."""
        if isinstance(self._lanes, str):
            return f"{self.count} members, one by one: {self._lanes}"
        text = f"{self.count} members, eight at a time in vector lanes"
        return text + (f"; {self._alone} runs of members were computed one by one" if self._alone else "")

    def __repr__(self) -> str:
        return f"<Batch: {self.count} members of {len(self.system.bodies)} bodies>"

    def _advanced_in_lanes(self, due: np.ndarray, end_times: np.ndarray, duration: float) -> np.ndarray:
        """Advance members in SIMD lanes to their end times, and return a mask (count,) of the advanced members.

        `due` are the indices of the members, and `end_times` (count,), s, the end times of all members. Members at
        different times are advanced together, by `duration` (s), if no load depends on time.
        """
        done = np.zeros(len(due), dtype=bool)
        if isinstance(self._lanes, str) or not len(due):
            return done
        plain = np.ones(len(due), dtype=bool)
        for k, parts in self._state.changed.items():
            plain[due == k] = not any(parts)
        intervals = np.stack([self.time[due], end_times[due]], axis=1)
        if self._timeless and len(np.unique(intervals[:, 0])) > 1:
            intervals[:] = 0.0, duration
        for interval in np.unique(intervals, axis=0):
            group = np.flatnonzero((intervals == interval).all(axis=1) & plain)
            if not len(group):
                continue
            start, end = interval.tolist()
            found = self._lanes.motions(
                due[group], self._state, self.inputs, start, end, np.array([end]), self._tracked
            )
            if found is None:
                continue
            states, good, angles = found
            done[group] = good
            self._alone += int((~good).sum())
            # Use a slice if all members are good, because selection by a mask would copy all states.
            kept = slice(None) if good.all() else good
            counted = {name: of_all[kept] for name, of_all in angles.items()}
            self._state.put_bodies(due[group][kept], states[kept, -1], counted)
        moved = due[done]
        self.time[moved], self.status[moved], self.error[moved] = end_times[moved], COMPLETED, ""
        self._end_times.count(moved)
        return done

    def _run(self, k: int, duration: float, output: Any) -> MemberRun:
        """Simulate member k from its present state.

        `duration` is in s; `output` is the interval between output states, or a list of output times, s.
        """
        state = self._state.member(k)
        return member_run(k, partial(self._system, k), state, float(self.time[k]), duration, output, self._options)

    def _extracted(self, k: int, duration: float, output: Any, extract: Any) -> Any:
        return extract(self._run(k, duration, output))

    def _store_outcome(self, end_times: np.ndarray, run: MemberRun) -> None:
        """Store the final state and the status of a member that has been simulated one by one, as returned in `run`.

        `end_times` (count,), s, are the end times of the runs of all members.
        """
        k, result = run.number, run.result
        if run.status == "interrupted":
            raise KeyboardInterrupt
        self._end_times.count(k)
        self.status[k], self.error[k] = run.status, "" if run.error is None else str(run.error)
        if result is None:
            return
        state = result.state_at(-1)
        self._state.put(k, state)
        self.time[k] = end_times[k] if run.status == COMPLETED else result.time[-1]


def _timeless(force: ForceElement) -> bool:
    """Whether the load of a force element is independent of time at given poses and velocities."""
    return not force.of_user and all(force.motion(name).constant for name in force.motions)


def _chosen(members: Any, count: int) -> np.ndarray:
    """Return the indices of the members that the argument `members` selects: indices or a mask (count,)."""
    given = np.atleast_1d(np.asarray(members))
    if given.dtype == bool and given.shape == (count,):
        return np.flatnonzero(given)
    if given.dtype.kind not in "iu" or given.ndim != 1 or (given < -count).any() or (given >= count).any():
        raise InputError(f"{OWNER}: members must be numbers below {count} or a mask ({count},); got {members!r}")
    return given % count
