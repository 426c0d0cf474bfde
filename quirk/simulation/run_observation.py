"""Repeated evaluation of named quantities at the present time of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from ..dynamics.model.joint_angles import polar_sign
from ..dynamics.plant import CompiledModel
from ..dynamics.sparse.kernels.applied import ELEMENT_SIZE, INPUT
from ..dynamics.sparse.solver.solver import Solver
from ..dynamics.sparse.stepping.event_functions import laws_at, quantities_at
from ..dynamics.sparse.stepping.pausing_run import PausingRun
from ..dynamics.sparse.stepping.watched_quantities import EventFunction, EventMonitor, shares_with_contacts
from ..errors import InputError
from ..events.names import LOADS, Reading, named
from ..forces import ForceElement
from ..jit.compilation import machine_code
from ..result.result import Result
from ..system.system import System
from .hybrid.hybrid_run import HybridRun
from .run_views import Observers

OWNER = "Run.observe"
QUARTER = 0.5 * np.pi


class Observation:
    """Function without arguments that returns the present values (k,) of k quantities of a run, in SI units.

    The names of quantities are the same as for events, such as "time", "hinge.angle", "hinge.angle_rate",
    "rod.position.x", "rod.velocity.z", "rod.angular_velocity.y", "hinge.force.x", "spring.length" and "energy.total".

    Attributes
    ----------
    names : tuple of str, names of the quantities
    """

    def __init__(
        self,
        system: System,
        run: HybridRun,
        observers: Observers,
        names: Iterable[str],
        plant: Callable[[], CompiledModel] | None = None,
        result: Callable[[], Result] | None = None,
    ) -> None:
        listed = [names] if isinstance(names, str) else list(names) if isinstance(names, Iterable) else []
        if not listed or not all(isinstance(name, str) for name in listed):
            raise InputError(f'{OWNER}: names must be a list of quantities such as "hinge.angle"; got {names!r}')
        parts = {part.name: part for part in system}
        self.names = tuple(listed)
        self._quantities = [named(OWNER, f"observed {k}", name, 0.0, parts) for k, name in enumerate(listed)]
        self._run, self._observers = run, observers
        self._solver: Solver | None = None
        # Only loads depend on contacts that respond to changed inputs.
        reads = any(isinstance(quantity, Reading) for quantity in self._quantities)
        self._plant_now, self._result = plant if reads else None, result

    def __call__(self) -> np.ndarray:
        """Return the present values (k,) of the quantities."""
        run = self._run
        current: PausingRun = run.current
        plant = run.plant if self._plant_now is None else self._plant_now()
        solver = self._observers.of(plant)
        if solver is not self._solver:
            self._prepare(solver, current)
        t, y = current.present_time, current.present_lanes
        if self._turning:
            quadrant, whole, inputs = current.present_quadrants.item, current.whole.item, self._laws.inputs
            for place, k, axis, sign, factor, offset in self._turning:
                # An error of less than half a turn suffices for the law to count the full turns.
                angle = (quadrant(2 * k) + 0.5 + sign * (quadrant(2 * k + 1) + 0.5)) * QUARTER + whole(k, axis)
                inputs[place], inputs[place + 1], inputs[place + 2] = factor * angle + offset, 0.0, t
        if self._evaluates:
            if solver.model.reads_angles:
                solver.applied.refer(t, current.present_angles)
            with self._monitor.calling(), solver.applied.calling():
                quantities_at(solver.mechanism, self._monitor.table, t, y, self._out)
        else:
            self._laws_at(self._constants, self._kin, self._laws, t, y, self._out)
        found = self._out[self._order]
        for k, reading in self._shared.items():
            assert self._result is not None
            found[k] = _shown(self._result(), reading)
        return found

    def __repr__(self) -> str:
        return f"<Observation: {', '.join(self.names)}>"

    def _prepare(self, solver: Solver, current: PausingRun) -> None:
        """Prepare the evaluation of the quantities for the presently active constraints and forces.

        `solver` is their solver, and `current` the run object that integrates the motion.
        """
        self._solver, model, self._shared = solver, solver.model, dict[int, Reading]()
        acting, undetermined = {element.name for element, _ in model.forces}, shares_with_contacts(model)
        for k, quantity in enumerate(self._quantities):
            if not isinstance(quantity, Reading) or quantity.of is None or quantity.of.name in acting:
                continue
            shares = quantity.quantity in LOADS and (undetermined or quantity.of.name not in model.joint_rows)
            # Loads of disabled parts and open contacts are zero.
            if shares and self._result is not None and self._result().active(quantity.of.name)[0]:
                self._shared[k] = quantity
        guards = [EventFunction(k, OWNER, quantity, 0, False) for k, quantity in enumerate(self._quantities)]
        self._monitor = EventMonitor(guards, solver)
        reads = any(isinstance(quantity, Reading) for quantity in self._quantities)
        self._evaluates = reads or self._monitor.laws.calls_python
        if reads:
            solver.settle(current.present_lanes.copy(), current.present_time)
        self._laws, self._constants = self._monitor.laws.table, solver.tables.constants
        self._kin, self._out = solver.work.kin, np.zeros(2 * len(guards))
        if not self._evaluates:
            given = self._constants, self._kin, self._laws, current.present_time, current.present_lanes, self._out
            laws_at(*given)
            self._laws_at = machine_code(laws_at, *given)
        place_of = {guard.key: e for e, guard in enumerate(self._monitor.guards)}
        self._order = np.array([2 * place_of[k] for k in range(len(guards))])
        self._turning = []
        laws = [quantity for quantity in self._quantities if not isinstance(quantity, Reading)]
        for e, quantity in enumerate(laws):
            if quantity.turning:
                place = int(self._laws.entries[ELEMENT_SIZE * e + INPUT]) + quantity.layout().parameters
                angle = quantity.watched_angle
                joint, sign = model.joints.number[angle.joint], polar_sign(angle.axis)
                self._turning.append((place, joint, angle.axis, sign, angle.factor, angle.offset))


def _shown(result: Result, reading: Reading) -> float:
    """Return a component or the magnitude of a load at the present time, as the views of a result show it.

    Torques of force elements are about the center of mass, as for events.
    """
    assert reading.of is not None
    view = result[reading.of.name]
    load = getattr(view, reading.quantity)()[0]
    if reading.quantity == "torque" and isinstance(reading.of, ForceElement):
        load = load + np.cross(view._arm(view._end(-1))[0], view.force()[0])
    return float(np.linalg.norm(load) if reading.axis is None else load[reading.axis])
