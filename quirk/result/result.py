"""What a run returns: motion, joint loads, energies, momenta and residuals, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..analysis.contact.gap_functions import Gaps
from ..bodies.body import Body
from ..bodies.state import Kinematics, State
from ..constraints import Constraint
from ..constraints.planar import PlanarBody
from ..constraints.unilateral import Unilateral
from ..dynamics.model import energy
from ..dynamics.model.applied_loads import Exerted
from ..dynamics.model.model import Model
from ..dynamics.sparse.solver.derivatives import require_order
from ..dynamics.sparse.solver.solver import Verdict
from ..errors import InputError
from ..events import Event
from ..forces import ForceElement, Friction
from ..integrators import Statistics
from ..util.misuse import explained
from ..util.renamed import Renamed
from .contact_loads import ContactLoads
from .event_log import EventLog, EventRecord
from .force_views import ForceView, FrictionView
from .output import ResultOutput
from .part_views import BodyView, JointView, PlanarBodyView
from .power import Power, power_of
from .segment import Segment, joined, joined_by_name

if TYPE_CHECKING:
    from ..analysis.mobility import Mobility
    from ..simulation.sensitivity.adjoint import Gradient
    from ..simulation.sensitivity.sensitivities import Sensitivities
    from ..system.parts import Part
    from ..system.system import System
    from .body_groups import CenterOfMass
    from .constraint_health import Health


# Internals that had names without an underscore.
INTERNAL = (
    "acceleration_derivative",
    "accelerations",
    "angles",
    "constraint_power",
    "contact_loads",
    "course",
    "elements",
    "exerted",
    "joint_loads",
    "judged",
    "kinematics",
    "load_derivatives",
    "loaded",
    "model",
    "segment_at",
    "sensitivities",
    "verdict",
)
# What a force has stored and given back, over the work that it has done, adds up to no more than this if its energy
# depends on where the bodies are alone.
UNCHANGED = 1e-4


@explained
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

    def __repr__(self) -> str:
        return f"<Energy: {self.total[0]:.6g} J at the start, {self.total[-1]:.6g} J at the end>"


@explained
@dataclass(frozen=True)
class Momentum:
    """Momenta of bodies over time (nt, 3) in N: linear kg m/s, angular kg m^2/s, about the origin unless asked for."""

    linear: np.ndarray
    angular: np.ndarray

    def __repr__(self) -> str:
        return f"<Momentum: linear and angular, at {len(self.linear)} times>"


@explained
@dataclass(frozen=True)
class Residual:
    """Largest ``|Phi|`` and ``|Phi_dot|`` over all rows, over time (nt,)."""

    position: np.ndarray
    velocity: np.ndarray

    def __repr__(self) -> str:
        return f"<Residual: up to {self.position.max():.1e} in position, {self.velocity.max():.1e} in velocity>"


@explained
class Result(Renamed, ResultOutput):
    """A motion of a system.

    Attributes
    ----------
    system : System
    segments : along each of which the same of its parts are active, one after the other
    statistics : steps, rejected steps, evaluations of the equations of motion and wall time, s
    status : "completed", "stopped" by an event, "interrupted" or "failed"
    events : what happened along it, in the order of time: see `EventRecord`
    options : the arguments of each of the runs that it is made of

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1, velocity=[0, 0, 1.0])
    >>> result = quirk.simulate(quirk.System([ball]), 2.0, output=1.0)
    >>> result.body("ball").position[:, 2].round(6)
    array([0., 1., 2.])
    """

    # Whether drivers prescribe the motion, so that accelerations follow from constraints alone.
    _prescribed: ClassVar = False
    _earlier_names: ClassVar = {name: f"_{name}" for name in INTERNAL} | {"centre_of_mass": "center_of_mass"}

    def __init__(
        self,
        system: System,
        segments: Sequence[Segment],
        statistics: Statistics,
        status: str,
        events: Sequence[EventRecord] = (),
        options: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        self.system, self.segments = system, tuple(segments)
        self.events, self.options = EventLog(events), tuple(options)
        self.statistics = statistics
        self.status = status
        self._mobilities: dict[int, Mobility] = {}
        self._sensitivities: Sensitivities | None = None
        self._judged: Gradient | None = None

    @cached_property
    def time(self) -> np.ndarray:
        """Times (nt,), s."""
        return joined([segment.time for segment in self.segments])

    @cached_property
    def state(self) -> State:
        """Poses and velocities, arrays (nt, n, 3) and (nt, n, 4), and internal variables of forces by name."""
        states = [segment.state for segment in self.segments]
        internal = self._by_name([state.internal for state in states])
        parts = [joined(of_segments) for of_segments in zip(*(state.parts for state in states), strict=True)]
        return State(*parts, internal=internal, bodies=states[0].bodies)

    @property
    def sensitivity(self) -> Sensitivities:
        """Derivatives of the run by parameters, by those that `simulate` was given."""
        if self._sensitivities is None and self._judged is not None:
            raise InputError(
                "Result: sensitivity: a run with objective= has the gradient of the objective alone, .gradient: leave "
                "objective= out for sensitivities"
            )
        if self._sensitivities is None:
            raise InputError(
                'Result: sensitivity: the run has none: name parameters, simulate(..., sensitivities=[("rod", "mass")])'
            )
        return self._sensitivities

    @property
    def gradient(self) -> Gradient:
        """The objective that `simulate` was given, with its derivatives by parameters."""
        if self._judged is None:
            raise InputError(
                "Result: gradient: the run has none: simulate(..., objective=quirk.Objective(...), sensitivities=[...])"
            )
        return self._judged

    @property
    def _model(self) -> Model:
        """The arrays of the system as it was simulated, at the end of the run."""
        return self.segments[-1].model

    @property
    def rank(self) -> int:
        """Number of independent constraint rows met along the motion, at its end."""
        return self.segments[-1].rank

    def _segment_at(self, row: int) -> tuple[Segment, int]:
        """Return the segment that one of the times belongs to, and which of its times it is."""
        row += len(self.time) if row < 0 else 0
        for segment in self.segments:
            if row < len(segment.time):
                return segment, row
            row -= len(segment.time)
        raise IndexError("no such time")

    def _joined(self, name: str) -> Any:
        """One array from that of each segment, by the name of the attribute."""
        return joined([getattr(segment, name) for segment in self.segments])

    def _by_name(self, parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Arrays by name from those of each segment."""
        return joined_by_name(parts, [len(segment.time) for segment in self.segments])

    def __getitem__(self, name: str) -> Any:
        """Return the view of the body, constraint or force of that name, or what happened of an event."""
        item = self.system[name]
        if isinstance(item, PlanarBody):
            return PlanarBodyView(self, self.system.bodies.index(item))
        if isinstance(item, Body):
            return BodyView(self, self.system.bodies.index(item))
        if isinstance(item, Constraint):
            return JointView(self, item)
        if isinstance(item, Event):
            return self.events.of(item.name)
        return FrictionView(self, item) if isinstance(item, Friction) else ForceView(self, item)

    def body(self, name: str | Body) -> BodyView:
        """Return the motion of a body; the same as ``result[name]``, with a type that editors know.

        Parameters
        ----------
        name : str or Body

        Returns
        -------
        BodyView
            Positions in the inertial frame, m, orientation, velocities and accelerations, over time (nt, ...).

        Raises
        ------
        InputError
            If the name is that of another part; UnknownNameError if there is none.
        """
        return self._view_of(name, Body, "body")

    def joint(self, name: str | Constraint) -> JointView:
        """Return relative motion and loads of a joint or another constraint; the same as ``result[name]``.

        Parameters
        ----------
        name : str or Constraint

        Returns
        -------
        JointView
            Coordinates in joint frame i, and the load on body j by body i, over time (nt, ...).

        Raises
        ------
        InputError
            If the name is that of another part; UnknownNameError if there is none.
        """
        return self._view_of(name, Constraint, "joint")

    def force(self, name: str | ForceElement) -> ForceView:
        """Return loads, energy and coordinates of a force element; the same as ``result[name]``.

        Parameters
        ----------
        name : str or ForceElement

        Returns
        -------
        ForceView
            Loads on its bodies, N and N m, stored energy, J, and its coordinates, over time (nt, ...).

        Raises
        ------
        InputError
            If the name is that of another part; UnknownNameError if there is none.
        """
        return self._view_of(name, ForceElement, "force")

    def _view_of(self, name: Any, kind: type, method: str) -> Any:
        item: Part = self.system[name]
        if not isinstance(item, kind):
            raise InputError(f'Result.{method}: "{item.name}" is no {method}, it is {item}; take result["{item.name}"]')
        return self[item.name]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.time)} times to {self.time[-1]:g} s, {self.status}>"

    def _repr_html_(self) -> str:
        from ..graphics.notebook.results import of_result

        return of_result(self)

    def state_at(self, row: int = -1) -> State:
        """Return the state (n, 3) and (n, 4) at one of the times, by default the last: a start for another run."""
        if not isinstance(row, int | np.integer) or not -len(self.time) <= row < len(self.time):
            raise InputError(f"Result: row must be the number of one of its {len(self.time)} times; got {row!r}")
        segment, own = self._segment_at(int(row))
        return segment.state_at(own)

    def active(self, name: str) -> np.ndarray:
        """Return whether a constraint or a force is enabled, (nt,) bool.

        A unilateral constraint is active while it is closed.

        Parameters
        ----------
        name : str

        Raises
        ------
        InputError
            If the name is that of another part; UnknownNameError if there is none.
        """
        if not isinstance(self.system[name], Constraint | ForceElement):
            raise InputError(f"Result: only constraints and forces are active or not; got {self.system[name]}")
        # Friction that holds bodies has rows in place of a force.
        acting = [{element.name for element, _ in s.model.forces} | set(s.model.joint_rows) for s in self.segments]
        pairs = zip(self.segments, acting, strict=True)
        return joined([np.full(len(segment.time), name in names) for segment, names in pairs])

    @property
    def _loaded(self) -> list[Constraint]:
        """Constraints that were switched on at some time, and have rows to exert a load with."""
        found = {name for s in self.segments for name, rows in s.model.joint_rows.items() if rows.stop > rows.start}
        return [constraint for constraint in self.system.constraints if constraint.name in found]

    @property
    def _elements(self) -> dict[str, ForceElement]:
        """All force elements that acted along the run, by name."""
        return {element.name: element for segment in self.segments for element, _ in segment.model.forces}

    @cached_property
    def _angles(self) -> np.ndarray:
        """Angles (nt, K, 3), rad, of all joints, with all turns made; views show them by name."""
        return self._joined("angles")

    @cached_property
    def energy(self) -> Energy:
        """Kinetic, potential and total energy over time."""
        potential_of = {"gravity": self._joined("weight")}
        for name, element in self._elements.items():
            if element.stores:
                potential_of[name] = self._exerted[name].energy
        return Energy(self._joined("kinetic"), np.sum(list(potential_of.values()), axis=0), potential_of)

    @cached_property
    def power(self) -> Power:
        """Power over time of every force, constraint and driver by name, of gravity, and the balance of all."""
        return power_of(self)

    @property
    def work(self) -> dict[str, np.ndarray]:
        """Work (nt,), J, since the start that the run itself integrated, by name."""
        found: dict[str, np.ndarray] = {}
        for name in dict.fromkeys(name for segment in self.segments for name in segment.work):
            before, last, end = 0.0, 0.0, -np.inf
            parts: list[np.ndarray] = []
            for segment in self.segments:
                done = segment.work.get(name, np.zeros_like(segment.time))
                # A segment begins at the time at which the one before ended, or else continues its numbers.
                parts.append(before + (done - (done[0] if segment.time[0] == end or not parts else last)))
                before, last, end = float(parts[-1][-1]), float(done[-1]), float(segment.time[-1])
            found[name] = joined(parts)
        return found

    @cached_property
    def _constraint_power(self) -> dict[str, np.ndarray]:
        """Power (nt,), W, of each constraint by name."""
        return self._by_name([segment.constraint_power for segment in self.segments])

    @property
    def conservative(self) -> bool:
        """Whether nothing but gravity and undamped springs does work, so that the total energy is constant."""
        driven = any(placed.relation.motions for segment in self.segments for placed in segment.model.relations)
        elements = self._elements.values()
        if (
            driven
            or any(event.impulse or event.energy_loss for event in self.events)
            or not all(e.conservative for e in elements)
        ):
            return False
        # Energies that a user wrote, or of motions and internal variables, may change though no body moves.
        work = self.work
        for element in elements:
            if element.name in self._model.carried.work:
                stored, done = self._exerted[element.name].energy, work.get(element.name)
                if done is None:
                    return False
                gained = np.abs(stored - stored[0] + (done - done[0])).max()
                if not gained <= UNCHANGED * max(np.abs(done - done[0]).max(), np.ptp(stored)):
                    return False
        return True

    @cached_property
    def momentum(self) -> Momentum:
        """Linear and angular momentum of all bodies over time, about the origin of N."""
        return Momentum(
            energy.linear_momentum(self._model, self.state), energy.angular_momentum(self._model, self.state)
        )

    def momentum_of(
        self, bodies: str | Body | Iterable[str | Body] | None = None, about: ArrayLike | None = None
    ) -> Momentum:
        """Return linear and angular momentum over time of some of the bodies.

        Parameters
        ----------
        bodies : names of bodies, or one alone, optional
            Default: all.
        about : (3,), optional
            A point that rests in N, m, about which the angular momentum is taken; default: the center of mass of these
            bodies, as it moves.

        Raises
        ------
        InputError
            If what is named is not a body, or one of them twice.
        """
        from .body_groups import momentum_of

        return momentum_of(self, bodies, about)

    def center_of_mass(self, bodies: str | Body | Iterable[str | Body] | None = None) -> CenterOfMass:
        """Return the center of mass of some of the bodies, by default of all: mass, position, velocity, acceleration.

        Arrays are (nt, 3) in N. `bodies` are names, or one alone; InputError if what is named is not a body.
        """
        from .body_groups import center_of_mass

        return center_of_mass(self, bodies)

    @cached_property
    def residual(self) -> Residual:
        """How well the constraints are satisfied over time."""
        worst = joined([np.abs(s.residuals).max(axis=1, initial=0.0) for s in self.segments])
        return Residual(worst[:, 0], worst[:, 1])

    @cached_property
    def _kinematics(self) -> list[Kinematics]:
        """What follows from the state at each time."""
        return [kin for segment in self.segments for kin in segment.kinematics]

    @property
    def _accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """Linear accelerations in N and angular ones in body axes (nt, n, 3)."""
        motions = [segment.dynamics for segment in self.segments]
        return joined([motion.linear for motion in motions]), joined([motion.angular for motion in motions])

    @property
    def _course(self) -> str:
        """How the run went, in a line."""
        cost = self.statistics
        return (
            f"{self.status} {self.time[-1]:g} s in {cost.wall_time:.2g} s: {cost.steps} steps, "
            f"{cost.rejected} rejected, {cost.evaluations} evaluations"
        )

    @cached_property
    def _joint_loads(self) -> dict[str, np.ndarray]:
        """Force and torque (nt, 2, 3) in N of each constraint by name; zero while it is not active."""
        shared = self._contact_loads
        return self._by_name([
            segment.joint_loads | (contacts.loads if contacts is not None else {})
            for segment, contacts in zip(self.segments, shared, strict=True)
        ])  # fmt: skip

    @cached_property
    def _contact_loads(self) -> list[ContactLoads | None]:
        """How contacts share loads along each segment; None in a system without any."""
        if not any(isinstance(one, Unilateral) for one in self.system.constraints):
            return [None for _ in self.segments]
        gaps = Gaps(self.system, [force for force in self.system.forces if isinstance(force, Friction)])
        return [segment.contact_loads or ContactLoads(self.system, gaps, segment) for segment in self.segments]

    @cached_property
    def multipliers(self) -> dict[str, np.ndarray]:
        """Multipliers (nt, m) of the rows of each constraint by name; zero while it is not active."""
        return self._by_name([
            {name: segment.dynamics.multipliers[:, rows] for name, rows in segment.model.joint_rows.items()}
            for segment in self.segments
        ])  # fmt: skip

    @cached_property
    def _load_derivatives(self) -> dict[str, np.ndarray]:
        """Force and torque (nt, 2, K, 3) in N of each constraint by name, with derivatives up to the second."""
        return self._by_name([segment.load_derivatives for segment in self.segments])

    @cached_property
    def _exerted(self) -> dict[str, Exerted]:
        """Loads, energies and coordinates of each force element by name, at all times."""
        found = [segment.dynamics.forces for segment in self.segments]
        parts = {
            field.name: self._by_name([{name: getattr(act, field.name) for name, act in of.items()} for of in found])
            for field in fields(Exerted)
        }
        return {name: Exerted(**{part: of[name] for part, of in parts.items()}) for name in parts["loads"]}

    def _acceleration_derivative(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Derivative `order` - 1 of the accelerations, linear in N and angular in body axes, (nt, n, 3) each."""
        for segment in self.segments:
            require_order(segment.model, order)
        found = [segment.derivatives for segment in self.segments]
        return joined([d.linear[:, order - 1] for d in found]), joined([d.angular[:, order - 1] for d in found])

    @property
    def mobility(self) -> Mobility:
        """Freedoms, redundant rows and uniqueness of loads in the middle of the run; see `System.mobility`.

        Where events may have changed functions of the user, in the middle of the last segment.
        """
        return self.mobility_at(self._middle)

    @property
    def _middle(self) -> int:
        """The row in the middle of the run or, if events may have changed functions there, of the last segment."""
        row, last = len(self.time) // 2, len(self.segments[-1].time)
        return row if not self._segment_at(row)[0].changed else len(self.time) - (last + 1) // 2

    def mobility_at(self, row: int) -> Mobility:
        """Return the same at one of the times."""
        from ..analysis.mobility import mobility

        if row not in self._mobilities:
            segment, _ = self._segment_at(row)
            self._mobilities[row] = mobility(segment.solver(), self.state_at(row), float(self.time[row]))
        return self._mobilities[row]

    @cached_property
    def _verdict(self) -> Verdict:
        """Which rows are independent in the middle of the run, and how far each is from following from others."""
        row = self._middle
        segment, _ = self._segment_at(row)
        return segment.solver().verdict(self.state_at(row), float(self.time[row]))

    def health(self) -> Health:
        """Return how well the constraints are, over time. Dense, for small and middling systems."""
        from .constraint_health import health

        return health(self)
