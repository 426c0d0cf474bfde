"""Steppers: arrays and compiled step loops of all integration methods.

A slope is the derivative y' at a state; a stage is a state within a step at which the slope is evaluated. `size` is the
number of elements of a state in the layout of compiled code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.integrators import Method, RadauIIA, Rosenbrock, Tableau, Taylor
from quirk.integrators.combinations import weights_of
from quirk.jit.record import real_arrays
from quirk.jit.simd import aligned

from ..implicit.systems import ImplicitSystem
from ..implicit.tables import AXES
from ..solver.solver import Solver
from ..solver.taylor_series import elements_of
from .radau import radau_steps, radau_steps_with_events
from .radau_record import Radau, StepData
from .rosenbrock import NODES, Factorized, rosenbrock_steps, rosenbrock_steps_with_events
from .rosenbrock import RosenbrockMethod as RosenbrockMethod
from .rotating_axes import TURNED
from .runge_kutta import RungeKutta, runge_kutta_steps, runge_kutta_steps_with_events
from .step_series import SeriesData, StepSeries
from .taylor import taylor_steps, taylor_steps_with_events

# Members of the records of implicit methods that steps do not change, or that they fill anew whenever they are needed.
OF_TABLES = ("tangents", "coupling", "blocks", "seeds")

# Limits of the fractions of a step at which a step may cross a singular configuration; see `passages_between`.
CLEARANCE, END_DISTANCE = 0.2, 0.2


def passages_between(nodes: np.ndarray) -> np.ndarray:
    """Return the fractions of a step, ascending, at which it may cross a singular configuration: far from all stages.

    They are the middles of the gaps between successive stages, at the fractions `nodes` of the step. Half the gap must
    be at least CLEARANCE times the distance from the nearer end of the step, and the distance from the end of the step
    must be at least END_DISTANCE.
    """
    ends = np.unique(np.append(nodes, [0.0, 1.0]))
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    clear = half >= CLEARANCE * np.minimum(middle, 1 - middle)
    return middle[clear & (middle <= 1 - END_DISTANCE)]


class RungeKuttaStepper:
    """Arrays and step loops of a Runge-Kutta method.

    Attributes
    ----------
    record : coefficients and arrays of the method
    loop, watched_loop : step loops without events, and with events
    memory : arrays of the last step on which the next step depends
    """

    loop, watched_loop = staticmethod(runge_kutta_steps), staticmethod(runge_kutta_steps_with_events)

    def __init__(self, solver: Solver, tableau: Tableau) -> None:
        weights, self._size = weights_of(tableau), solver.size
        self.record = RungeKutta(
            weights=weights,
            exponent=weights.exponent,
            k=aligned(solver.size * tableau.buffers),
            stage=aligned(solver.size),
            change=aligned(solver.size),
            round_off=np.zeros(tableau.stages + 1),
            passages=passages_between(np.concatenate([tableau.c, tableau.extra_c])),
        )

    @property
    def memory(self) -> list[np.ndarray]:
        """Arrays of the last step on which the next step depends."""
        return [self.record.k, self.record.stage, self.record.change, self.record.round_off]

    def begin(self, slope: np.ndarray) -> None:
        """Store the slope y' at the start of the run."""
        self.record.k[: self._size] = slope

    @property
    def slopes(self) -> np.ndarray:
        """Slopes y' at the stages of the last step, concatenated, for use in error messages."""
        return self.record.k[: self._size * (self.record.weights.stages + 1)]


class RosenbrockStepper:
    """Arrays and step loops of a Rosenbrock method, with the same attributes as `RungeKuttaStepper`."""

    loop, watched_loop = staticmethod(rosenbrock_steps), staticmethod(rosenbrock_steps_with_events)

    def __init__(self, solver: Solver, method: Rosenbrock) -> None:
        self._implicit = ImplicitSystem(solver, turning=False)
        size, works = solver.size, len(solver.model.auxiliary.work)
        self.record = RosenbrockMethod(
            stages=method.stages,
            gamma=method.gamma,
            exponent=1 / (method.error_order + 1),
            a=method.a.ravel().copy(),
            C=method.C.ravel().copy(),
            c=method.c.copy(),
            d=method.d.copy(),
            m=method.m.copy(),
            e=method.e.copy(),
            dense=method.dense.ravel().copy(),
            interpolants=len(method.dense),
            timed=self._implicit.timed,
            implicit=self._implicit.tables,
            matrix=aligned(self._implicit.tables.size),
            u=aligned(method.stages * size),
            slope=aligned(size),
            drift=aligned(size),
            stage=aligned(size),
            residual=aligned(size),
            change=aligned(size),
            step_data=Factorized(),
            power=np.zeros(len(NODES) * works),
        )

    @property
    def memory(self) -> list[np.ndarray]:
        """Arrays of the last step on which the next step depends."""
        return real_arrays(self.record, OF_TABLES)

    def begin(self, slope: np.ndarray) -> None:
        """Store the slope y' at the start of the run; the first step evaluates it again, with its derivatives."""
        self.record.slope[:] = slope
        self.record.step_data.fill(np.nan)

    @property
    def slopes(self) -> np.ndarray:
        """Stage vectors of the last step, concatenated, for use in error messages."""
        return self.record.u


# Arrays of a Radau IIA method with the size of a state.
OF_STATES = (
    "origin", "base", "past_origin", "past_base", "slope", "slope_new", "centre", "rotating_state", "stage", "change",
)  # fmt: skip


class RadauStepper:
    """Arrays and step loops of a Radau IIA method, with the same attributes as `RungeKuttaStepper`."""

    loop, watched_loop = staticmethod(radau_steps), staticmethod(radau_steps_with_events)

    def __init__(self, solver: Solver, method: RadauIIA) -> None:
        self._implicit = ImplicitSystem(solver, turning=True)
        s, size, blocks = method.points, solver.size, solver.slots.lanes // 8
        arrays = {
            name: getattr(method, name).ravel().copy()
            for name in ("a", "back", "forth", "of_slopes", "nodes", "highest")
        }
        self.record = Radau(
            points=s,
            exponent=1 / (s + 1),
            inverse=method.inverse.copy(),
            e=method.e.copy(),
            implicit=self._implicit.tables,
            matrices=aligned(s * self._implicit.tables.size),
            **{name: aligned(s * size) for name in ("z", "f", "w", "u", "past")},
            **{name: aligned(size) for name in OF_STATES},
            turned=aligned((s + 1) * TURNED * blocks),
            relative_axes=aligned(TURNED * blocks),
            past_axes=aligned(AXES * blocks),
            basis=np.zeros(s),
            step_data=StepData(),
            **arrays,
        )

    @property
    def memory(self) -> list[np.ndarray]:
        """Arrays of the last step on which the next step depends."""
        return real_arrays(self.record, OF_TABLES)

    def begin(self, slope: np.ndarray) -> None:
        """Store the slope y' at the start of the run; the first step evaluates it again."""
        self.record.slope[:] = slope
        self.record.step_data.fill(np.nan)

    @property
    def slopes(self) -> np.ndarray:
        """Slopes y' at the collocation points of the last step, concatenated, for use in error messages."""
        return self.record.f


class TaylorStepper:
    """Arrays and step loops of the Taylor series method, with the same attributes as `RungeKuttaStepper`."""

    loop, watched_loop = staticmethod(taylor_steps), staticmethod(taylor_steps_with_events)

    def __init__(self, solver: Solver, method: Taylor) -> None:
        size = solver.size
        self._elements = elements_of(solver, method.order + 1)
        self.record = StepSeries(
            exponent=1 / method.order,
            elements=self._elements.table,
            bodies=self._elements.bodies,
            auxiliary=self._elements.auxiliary,
            slope=aligned(size),
            end_slope=aligned(size),
            change=aligned(size),
            middle_pivots=aligned(len(solver.work.pivots)),
            step_data=SeriesData(),
        )

    @property
    def memory(self) -> list[np.ndarray]:
        """Arrays of the last step on which the next step depends."""
        return real_arrays(self.record, ("motions", "handed"))

    def begin(self, slope: np.ndarray) -> None:
        """Store the slope y' at the start of the run; the first step evaluates it again, with its Taylor series."""
        self.record.slope[:] = slope
        self.record.step_data.since = np.nan

    @property
    def slopes(self) -> np.ndarray:
        """Slope y' at the start of the last step, for use in error messages."""
        return self.record.slope


STEPPERS: dict[type, Any] = {
    Tableau: RungeKuttaStepper, Rosenbrock: RosenbrockStepper, RadauIIA: RadauStepper, Taylor: TaylorStepper,
}  # fmt: skip


def stepper_of(solver: Solver, method: Method) -> Any:
    """Return new arrays and step loops for an integration method."""
    return STEPPERS[type(method)](solver, method)
