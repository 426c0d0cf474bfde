"""What a run returns: motion, joint loads, energies, momenta and residuals, by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .body import Body
from .constraints import Constraint
from .constraints.planar import PlanarBody
from .dynamics import energy
from .dynamics.sparse.host.derivatives import Differentiator, Found, highest_order, require_order
from .dynamics.sparse.host.motion import Motion, constraint_power_along, motion_along, residuals_along
from .dynamics.sparse.host.solver import Verdict
from .dynamics.turns import Turns, angles_by_name
from .errors import InputError
from .integrators import Statistics
from .power import Power, power_of
from .state import Kinematics, State
from .view_of_forces import ForceView
from .views import BodyView, JointView, PlanarBodyView

if TYPE_CHECKING:
    from .health import Health
    from .mobility import Mobility
    from .plot import Plotter
    from .system import System


@dataclass(frozen=True)
class Energy:
    """Energies over time (nt,), J: total = kinetic + potential; gravity's is zero at the inertial origin."""

    kinetic: np.ndarray
    potential: np.ndarray
    potential_of: dict[str, np.ndarray]

    @property
    def total(self) -> np.ndarray:
        """Kinetic plus potential (gravity and springs), J."""
        return self.kinetic + self.potential

    @property
    def drift(self) -> float:
        """Largest departure of the total from its start, over the largest kinetic energy."""
        # A system that stands still has round-off for kinetic energy.
        largest = max(float(self.kinetic.max()), 1e-15 * float(np.abs(self.potential).max()))
        return float(np.abs(self.total - self.total[0]).max()) / largest if largest > 0 else 0.0


@dataclass(frozen=True)
class Momentum:
    """Momenta of all bodies over time (nt, 3) in N: linear kg m/s, angular kg m^2/s about the origin."""

    linear: np.ndarray
    angular: np.ndarray


@dataclass(frozen=True)
class Residual:
    """Largest |Phi| and |Phi_dot| over all rows, over time (nt,)."""

    position: np.ndarray
    velocity: np.ndarray


class Result:
    """A motion of a system.

    Attributes
    ----------
    system : System
    time : (nt,) s
    state : State with arrays (nt, n, 3) and (nt, n, 4)
    turns : what joints have turned since the start
    statistics : steps, rejected steps, evaluations of the equations of motion and wall time, s
    status : "completed", "interrupted" or "failed"
    rank : number of independent constraint rows met along the motion
    model : the arrays of the system as it was simulated
    """

    def __init__(
        self,
        system: System,
        time: np.ndarray,
        states: np.ndarray,
        turns: Turns,
        statistics: Statistics,
        status: str,
        rank: int,
    ) -> None:
        self.system = system
        # As they are now: constraints may be switched on and off later.
        self.model, self._solver = system.model, system.solver
        self.time = time
        self._flat = states
        self.state = self.model.carried.state(states)
        self.turns = turns
        self.statistics = statistics
        self.status = status
        self.rank = rank

    def __getitem__(self, name: str) -> Any:
        """Return the view of the body or constraint of that name."""
        item = self.system[name]
        if isinstance(item, PlanarBody):
            return PlanarBodyView(self, self.system.bodies.index(item))
        if isinstance(item, Body):
            return BodyView(self, self.system.bodies.index(item))
        if isinstance(item, Constraint):
            return JointView(self, item)
        return ForceView(self, item)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.time)} times to {self.time[-1]:g} s, {self.status}>"

    def state_at(self, row: int = -1) -> State:
        """Return the state (n, 3) and (n, 4) at one of the times, by default the last: a start for another run."""
        if not isinstance(row, int | np.integer) or not -len(self.time) <= row < len(self.time):
            raise InputError(f"Result: row must be the number of one of its {len(self.time)} times; got {row!r}")
        return self._state(row, self.turns.angles(self.state.orientation[row], row))

    def _state(self, row: int, angles: np.ndarray) -> State:
        named = angles_by_name(self.turns.joints, angles)
        internal = {name: numbers[row].copy() for name, numbers in self.state.internal.items()}
        return State(*(part[row].copy() for part in self.state.parts), angles=named, internal=internal)

    @cached_property
    def angles(self) -> np.ndarray:
        """Angles (nt, K, 3), rad, of all joints, with all turns made; views show them by name."""
        return self.turns.angles(self.state.orientation)

    @property
    def angles_read(self) -> np.ndarray | None:
        """The same where functions of loads get angles, else None."""
        return self.angles if self.model.reads_angles else None

    @cached_property
    def energy(self) -> Energy:
        """Kinetic, potential and total energy over time."""
        model, potential_of = self.model, {"gravity": energy.gravity_energy(self.model, self.state)}
        for element, _ in model.forces:
            if element.stores:
                potential_of[element.name] = self.dynamics.forces[element.name].energy
        return Energy(
            energy.kinetic_energy(model, self.state), np.sum(list(potential_of.values()), axis=0), potential_of
        )

    @cached_property
    def power(self) -> Power:
        """Power over time of every force, constraint and driver by name, of gravity, and the balance of all."""
        return power_of(self)

    @property
    def work(self) -> dict[str, np.ndarray]:
        """Work (nt,), J, that the run itself integrated, by name: see `quirk.dynamics.carried`."""
        numbers = self.model.carried.numbers(self._flat)
        return {name: numbers[:, place] for name, place in self.model.carried.work.items()}

    @cached_property
    def row_power(self) -> np.ndarray:
        """Power (nt, m), W, of each constraint row."""
        return constraint_power_along(self._solver(), self.time, self.state, self.dynamics.multipliers)

    @property
    def conservative(self) -> bool:
        """Whether nothing but gravity and undamped springs does work, so that the total energy is constant."""
        driven = any(placed.relation.motions for placed in self.model.relations)
        return not driven and all(element.conservative for element, _ in self.model.forces)

    @cached_property
    def momentum(self) -> Momentum:
        """Linear and angular momentum over time."""
        return Momentum(energy.linear_momentum(self.model, self.state), energy.angular_momentum(self.model, self.state))

    @cached_property
    def residual(self) -> Residual:
        """How well the constraints are satisfied over time."""
        worst = np.abs(residuals_along(self._solver(), self.time, self.state)).max(axis=1, initial=0.0)
        return Residual(worst[:, 0], worst[:, 1])

    @cached_property
    def kinematics(self) -> list[Kinematics]:
        """What follows from the state at each time."""
        return [Kinematics.of(self._state(row, angles)) for row, angles in enumerate(self.angles)]

    @property
    def accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """Linear accelerations in N and angular ones in body axes (nt, n, 3)."""
        return self.dynamics.linear, self.dynamics.angular

    @property
    def course(self) -> str:
        """How the run went, in a line."""
        cost = self.statistics
        return (
            f"{self.status} {self.time[-1]:g} s in {cost.wall_time:.2g} s: {cost.steps} steps, "
            f"{cost.rejected} rejected, {cost.evaluations} evaluations"
        )

    @cached_property
    def dynamics(self) -> Motion:
        """Accelerations, joint loads, and what forces exert, at all times."""
        return motion_along(self._solver(), self.time, self._flat, self.angles_read)

    @cached_property
    def derivatives(self) -> Found:
        """Accelerations and as many derivatives of them as constraints have, up to snap; see `Differentiator`."""
        differentiator = Differentiator(self._solver(), highest_order(self.model))
        return differentiator.along(self.time, self._flat, self.angles_read)

    @cached_property
    def load_derivatives(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Force and torque (nt, K, 3) in N of each joint, with derivatives up to the second."""
        differentiator = Differentiator(self._solver(), highest_order(self.model))
        _, loads = differentiator.with_loads(self.time, self._flat, self.angles_read)
        return {name: (loads.force[:, :, c], loads.torque[:, :, c]) for c, name in enumerate(self.model.joint_rows)}

    def acceleration_derivative(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Derivative `order` - 1 of the accelerations, linear in N and angular in body axes, (nt, n, 3) each."""
        require_order(self.model, order)
        return self.derivatives.linear[:, order - 1], self.derivatives.angular[:, order - 1]

    @cached_property
    def mobility(self) -> Mobility:
        """Freedoms, redundant rows and uniqueness of loads in the middle of the run; see `System.mobility`."""
        from .mobility import mobility

        row = len(self.time) // 2
        return mobility(self._solver(), self.state_at(row), float(self.time[row]))

    @cached_property
    def verdict(self) -> Verdict:
        """Which rows are independent in the middle of the run, and how far each is from following from others."""
        row = len(self.time) // 2
        return self._solver().verdict(self.state_at(row), float(self.time[row]))

    def health(self) -> Health:
        """Return how well the constraints are, over time; see `quirk.health`. Dense, for small and middling systems."""
        from .health import health

        return health(self, self._solver())

    @property
    def plot(self) -> Plotter:
        """Pictures of this result: `result.plot()` for an overview, `result.plot.energy()` and so on."""
        from .plot import Plotter

        return Plotter(self)

    def animate(self, path: str | Path, **options: Any) -> Path:
        """Write a GIF or MP4 of the motion; see `quirk.animate.animate`."""
        from .animate import animate

        return animate(self, path, **options)

    def summary(self) -> str:
        """Return a few lines that say what happened and how well."""
        from .summary import summary

        return summary(self)
