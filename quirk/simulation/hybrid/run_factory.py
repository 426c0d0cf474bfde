"""Factory of the run objects of a simulation: one for each set of active constraints and forces."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quirk.bodies.state import State
from quirk.dynamics.dense.change_monitor import ChangeMonitor as ChangeWatch
from quirk.dynamics.dense.change_monitor import user_function_values
from quirk.dynamics.dense.flow import Flow
from quirk.dynamics.dense.work_error import WorkError
from quirk.dynamics.model.model import Model
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.dynamics.sparse.solver.state_evaluator import SolverMemory
from quirk.dynamics.sparse.solver.taylor_series import NoSeriesError, chosen_by_user, may_wake, require_series
from quirk.dynamics.sparse.stepping.compiled_run import CompiledRun
from quirk.dynamics.sparse.stepping.pausing_run import PausingRun
from quirk.dynamics.sparse.stepping.resume_point import ResumePoint
from quirk.dynamics.sparse.stepping.rhs import SparseFlow
from quirk.dynamics.sparse.stepping.run_state import Settings
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction, varies_fast
from quirk.dynamics.user_functions import owners_of, prescribed_motions
from quirk.errors import InputError, SeriesWarning, StatefulWarning, outside
from quirk.events import Event
from quirk.forces import Friction
from quirk.forces.stick_slip import NORMAL
from quirk.functions.motion_kernels import PIECES
from quirk.integrators import (
    IMPLICIT_METHODS,
    RADAU_IIA9,
    STIFF_METHODS,
    TABLEAUX,
    Breaks,
    IntegrationError,
    InterpolatedStep,
    Statistics,
    Tableau,
    Tolerance,
    adaptive_steps,
    fixed_steps,
    guarded,
    stiff_steps,
)
from quirk.integrators.control import FARTHEST_CORRECTION, LARGEST_CORRECTION
from quirk.integrators.taylor import TAYLOR, Taylor, taylor_for
from quirk.system.configuration import Configuration
from quirk.system.system import System

from .event_functions import guards_of, other_called_functions
from .python_run import PythonRun

# The default method, and the explicit method with which it starts; it switches to an implicit method if the system is
# stiff.
AUTO, EXPLICIT = "auto", "Vern9"


@dataclass(frozen=True)
class FactoryMemory:
    """Snapshot of the data that the run objects of a factory share.

    Attributes
    ----------
    breaks, statistics : times at which steps must end, s, and numbers of integration steps and evaluations
    solvers : active constraints and forces, selection of independent rows, and data of each solver
    """

    breaks: tuple[Any, ...]
    statistics: Statistics
    solvers: list[tuple[Configuration, bool, SolverMemory]]


@dataclass
class RunFactory:
    """Factory of the run objects of a system; each integrates the motion with one set of constraints and forces.

    Attributes
    ----------
    system : System
    solver : "sparse" or "dense"
    method : name of the integration method
    settings : tolerances, step size and stabilization
    breaks : times at which integration steps must end, s
    output_times : requested output times, s, or None to store all steps
    statistics : numbers of integration steps and of evaluations of the equations of motion
    events : events of the run
    options : arguments of `simulate`, which are stored in the result
    trailing : whether runs record all integration steps
    pausing : whether runs pause at output times, which may change during the run
    prepare : function that is called with each compiled solver after its creation, before the first evaluation
    in_python : user functions that must not be compiled, a list that may grow
    """

    system: System
    solver: str
    method: str
    settings: Settings
    breaks: Breaks
    output_times: np.ndarray | None
    statistics: Statistics
    events: Sequence[Event]
    options: Mapping[str, Any]
    trailing: bool = False
    pausing: bool = False
    prepare: Callable[[Solver], None] | None = None
    in_python: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Create the event functions of the user's events."""
        self.guards = guards_of(self.system, self.events, every=self.trailing)
        self._beside = other_called_functions(self.system, self.events)
        self._solvers: dict[CompiledModel, Solver] = {}
        self._settled: set[CompiledModel] = set()
        self._warned: set[str] = set()

    @property
    def compiled(self) -> bool:
        """Whether steps are taken in compiled code instead of Python."""
        return self.solver == "sparse" and self.method not in STIFF_METHODS

    def solver_of(self, plant: CompiledModel) -> Solver:
        """Return the solver of a compiled model, created on first use."""
        if plant not in self._solvers:
            self._solvers[plant] = solver = self.new_solver(plant)
            for owner in owners_of(plant.model, solver.refuse) if self.trailing else ():
                raise InputError(
                    f"simulate: sensitivities: the function of {owner} reads values that another function may change "
                    "during the run, which derivatives do not include: let events replace the part instead "
                    "(quirk.replace)"
                )
            for element, _ in plant.model.forces if self.trailing else ():
                if isinstance(element, Friction) and element.takes != NORMAL and element.shares:
                    raise InputError(
                        f"simulate: sensitivities: {element}: {element.on} takes part of a load that contacts share, "
                        "which is not differentiated"
                    )
                if isinstance(element, Friction) and element.shares.rows is not None:
                    raise InputError(
                        f"simulate: sensitivities: {element}: contacts share its load, and their shares change as the "
                        "bodies move relative to each other, which is not differentiated"
                    )
        return self._solvers[plant]

    def new_solver(self, plant: CompiledModel) -> Solver:
        """Return another solver of a compiled model, with the present inputs."""
        solver = plant.solver(self._beside, self.in_python)
        if self.prepare is not None:
            self.prepare(solver)
        return solver

    def warn_of_state(self, plant: CompiledModel) -> None:
        """Warn if user functions store values between calls.

        These are the functions of loads, constraints and motions of a compiled model, and those that events watch.
        """
        remembers = self.solver_of(plant).refuse.remembers
        watched = [f"{event}" for event in self.events if any(remembers(f) for f in event.watched_functions)]
        for owner in (*owners_of(plant.model, remembers), *watched):
            if owner not in self._warned:
                self._warned.add(owner)
                warnings.warn(
                    f"simulate: {owner}: its function reads values that it sets itself; a run repeats steps and calls "
                    "functions ahead of time, so the value set last does not belong to the time of the next call; for "
                    "hysteresis and the like use events, whose actions set the values",
                    StatefulWarning,
                    stacklevel=outside(),
                )

    @property
    def solvers(self) -> Mapping[CompiledModel, Solver]:
        """Solvers created so far, by compiled model."""
        return self._solvers

    def discard_solvers(self) -> None:
        """Discard all solvers, because further user functions must not be compiled."""
        self._solvers.clear()
        self._settled.clear()

    def snapshot(self) -> FactoryMemory:
        """Return a snapshot of the data shared by the runs, such as breaks and the data of the solvers."""
        configurations = {id(plant): configuration for configuration, plant in self.system.plants()}
        solvers = [
            (configurations[id(plant)], plant in self._settled, solver.snapshot())
            for plant, solver in self._solvers.items()
            if id(plant) in configurations
        ]
        return FactoryMemory(self.breaks.snapshot(), deepcopy(self.statistics), solvers)

    def recall(self, saved: FactoryMemory) -> None:
        """Restore the shared data of the run objects from a snapshot."""
        self.breaks.recall(saved.breaks)
        vars(self.statistics).update(vars(deepcopy(saved.statistics)))
        self._settled.clear()
        for configuration, settled, memory in saved.solvers:
            plant = self.system.plant_for(configuration)
            self.solver_of(plant).recall(memory)
            if settled:
                self._settled.add(plant)

    def altering(self) -> list[str]:
        """Return the titles of events whose user functions may change values that other user functions read."""
        changes = [solver.refuse for solver in self._solvers.values()]
        return [
            f"{event}" for event in self.events if any(c.may_alter(f) for c in changes for f in event.user_functions)
        ]

    def check_reads(self, t: float) -> None:
        """Raise an IntegrationError at time t (s) if a value that user functions read has changed unexpectedly."""
        found = [name for solver in self._solvers.values() for name in solver.refuse.unforeseen()]
        if found:
            raise IntegrationError(
                f"the function {found[0]} reads a value that another function has changed in a way that "
                "could not be foreseen, so that the motion may have the old value, or the loads before the change the "
                "new one; change it by an assignment in the action of an event",
                t,
            )

    def solver_at(self, plant: CompiledModel, y: np.ndarray, t: float) -> Solver:
        """Return the solver of a compiled model, with the independent rows selected at state vector y and time t, s."""
        solver = self.solver_of(plant)
        # Without redundant rows, all rows are independent, and no selection at a state is necessary.
        if plant not in self._settled or solver.redundant:
            solver.settle(solver.slots.state_to_lanes(y), t)
            self._settled.add(plant)
        return solver

    def flow(self, plant: CompiledModel, state: State, t: float) -> Flow | SparseFlow:
        """Return the right-hand side of the equations of motion, which also projects states onto the constraints.

        `plant` is the compiled model, and `state` the initial state at time t, s.
        """
        settings, fixed = self.settings, self.settings.fixed > 0
        on_constraints, rates = settings.interval > 0, (settings.alpha, settings.beta)
        if self.solver == "sparse":
            return SparseFlow(self.solver_of(plant), state, t, on_constraints=on_constraints, baumgarte=rates)
        farthest = np.inf if self.method in STIFF_METHODS else FARTHEST_CORRECTION if fixed else LARGEST_CORRECTION
        options: dict[str, Any] = {"baumgarte": rates, "largest_correction": farthest}
        selector = plant.solver(self._beside)
        return Flow(plant.model, plant.metric, selector, state, t, on_constraints=on_constraints, **options)

    def new_run(self, plant: CompiledModel, guards: Sequence[EventFunction]) -> CompiledRun | PythonRun:
        """Return a run object of a compiled model that monitors the user's events and the event functions `guards`."""
        active = plant.model.joint_rows
        watched = [guard for event, guard in zip(self.events, self.guards, strict=True) if event.watched_beside(active)]
        guards = [*watched, *guards]
        if self.compiled:
            switching = self.method == AUTO
            name = EXPLICIT if switching else self.method
            settings = self.settings._replace(
                end=min([self.settings.end, *(motion.end for _, motion in prescribed_motions(plant.model))])
            )
            varying = loads_vary(plant.model)
            if any(varies_fast(guard.quantity, varying) for guard in guards):
                settings = settings._replace(watch_interval=settings.gap)
            if name == TAYLOR:
                method: Any = self._series(plant)
                if isinstance(method, Taylor) and may_wake(plant.model):
                    settings = settings._replace(comparison_interval=settings.gap)
            else:
                method = TABLEAUX[name] if name in TABLEAUX else IMPLICIT_METHODS[name]
            kind = PausingRun if self.pausing else CompiledRun
            return kind(
                self.solver_of(plant), method, settings, self.breaks, self.output_times, self.statistics, guards,
                RADAU_IIA9 if switching else None, self.trailing,
            )  # fmt: skip
        return PythonRun(self.solver_of(plant), self.steps, self.settings, self.output_times, self.statistics)

    def check_located(self, part: str) -> None:
        """Raise an InputError if steps are taken in Python; `part` is an event, contact or other part that switches."""
        if not self.compiled:
            raise unlocated("simulate", part, self.method)

    def check_motions(self, plant: CompiledModel, t: float) -> None:
        """Raise an IntegrationError if a prescribed motion ends a run at time t (s), before its final time.

        `plant` is the compiled model of the run.
        """
        if t >= self.settings.end:
            return
        owner, motion = min(prescribed_motions(plant.model), key=lambda pair: pair[1].end)
        raise IntegrationError(
            f"{owner}: {motion!r} is defined to {motion.end:g} s, and no event has stopped the run or disabled the "
            "part before: add points, or shorten the run",
            t,
        )

    def _series(self, plant: CompiledModel) -> Taylor | Tableau:
        """Return the Taylor method or, with a warning, another method if a load or motion has no Taylor series.

        `plant` is the compiled model with the loads and motions.
        """
        method = taylor_for(self.settings.rtol)
        try:
            require_series(plant.model, method.order + 1, self.solver_of(plant).refuse)
        except NoSeriesError as error:
            warnings.warn(
                f'simulate: {error}; so method="{method.instead.name}" is used instead of "{method.name}"',
                SeriesWarning,
                stacklevel=outside(),
            )
            return method.instead
        return method

    def enter(
        self,
        run: CompiledRun | PythonRun,
        t: float,
        y: np.ndarray,
        angles: np.ndarray,
        resume_point: ResumePoint,
        plant: CompiledModel,
        flow: Any = None,
    ) -> None:
        """Start or continue a run object at time t (s) from a state vector y that satisfies the constraints.

        `angles` (K, 3) are the 1-2-3 angles of K joints, rad, `resume_point` contains the step size, and `plant` is the
        compiled model. `flow` is the right-hand side whose rows have been selected at this state, or None.
        """
        if not isinstance(flow, SparseFlow) or flow.solver is not self.solver_of(plant):
            flow = self.flow(plant, plant.model.auxiliary.state(y), t)
        run.enter(flow, t, y, angles, resume_point)

    def steps(
        self, flow: Flow | SparseFlow, t: float, y: np.ndarray, resume: ResumePoint
    ) -> Iterator[InterpolatedStep]:
        """Yield integration steps from time t (s) and state vector y to the end of the run.

        `flow` is the right-hand side of the equations of motion, and `resume` contains the size of the first step.
        """
        settings, method, breaks, statistics = self.settings, self.method, self.breaks, self.statistics
        start, end, rtol, atol = settings.start, settings.end, settings.rtol, settings.atol
        values = user_function_values(flow.model, flow.angles, settings.fixed > 0)
        look = None if values is None else ChangeWatch(flow, values, breaks, settings.gap)
        steps: Iterator[InterpolatedStep]
        if method in STIFF_METHODS:
            jacobian = flow.jacobian() if isinstance(flow, SparseFlow) else None
            steps = stiff_steps(
                flow, t, y, end, method, rtol, atol, flow, statistics, breaks, look,
                first=resume.h, jacobian=jacobian, counted=flow.model.auxiliary.counted,
            )  # fmt: skip
            return guarded(steps, start, end)
        assert isinstance(flow, Flow)
        tableau = TABLEAUX[method]
        if settings.fixed > 0:
            return fixed_steps(
                flow, t, y, end, settings.step, tableau, flow, statistics, breaks, look, origin=start, grid=resume.grid
            )
        auxiliary = flow.model.auxiliary
        work = WorkError(flow.model, rtol, atol, y)

        def of_work(error: np.ndarray, y: np.ndarray, y_new: np.ndarray, h: float) -> float:
            return work.ratio(flow.working_loads, error, y, y_new, h)

        tolerance = Tolerance(rtol, atol, auxiliary.starts, auxiliary.counted, of_work)
        steps = adaptive_steps(flow, t, y, end, tableau, tolerance, flow, statistics, breaks, look, first=resume.h)
        return guarded(steps, start, end)


def unlocated(owner: str, part: str, method: str) -> InputError:
    """Return the error for an event, contact or other part whose switching times the chosen method does not locate.

    Only compiled steps locate them. `owner` is the name of the calling function, `part` the title of the part, and
    `method` the name of the method.
    """
    chosen, instead = 'solver="dense"', 'solver="sparse"'
    if method in STIFF_METHODS:
        chosen, instead = f'method="{method}"', 'method="RadauIIA9" or "Rodas5P"'
    return InputError(
        f"{owner}: {part}: {chosen} does not locate events, contacts, dry friction and backlash; take {instead}"
    )


def loads_vary(model: Model) -> bool:
    """Whether loads may vary with time faster than the bodies move.

    This is the case for user functions, and for prescribed motions other than polynomials of degree one.
    """
    motions = [part for _, motion in prescribed_motions(model) for part in motion.parts]
    return chosen_by_user(model) or any(part.kind != PIECES or part.coefficients.shape[1] > 2 for part in motions)
