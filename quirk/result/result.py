"""Result of a run: motion, joint loads, energies, momenta and residuals, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..analysis.contact.contact_kinematics import Gaps
from ..beams import Beam
from ..bodies.body import Body
from ..bodies.state import State
from ..constraints import Constraint
from ..constraints.planar import PlanarBody
from ..constraints.unilateral import Unilateral
from ..dynamics.model import energy
from ..dynamics.model.applied_loads import Exerted
from ..dynamics.model.model import Model
from ..dynamics.sparse.solver.derivatives import require_order
from ..dynamics.sparse.solver.solver import RowIndependence
from ..errors import InputError
from ..events import Event, Sampled
from ..forces import ForceElement, Friction
from ..forces.stick_slip import StickSlip
from ..integrators import Statistics
from ..util.misuse import explained
from ..util.renamed import Renamed
from .beam_view import BeamView
from .body_views import BodyView, PlanarBodyView
from .contact_loads import ContactLoads
from .event_log import EventLog, EventRecord
from .force_views import ForceView, view_of_force
from .joint_views import JointView
from .output import ResultOutput
from .power import Power, power_of
from .segment import Segment, joined, joined_by_name, mark_events
from .shared_work import with_shared_work
from .sticking_loads import SharedLoads, StickingLoads, sticking_joints
from .totals import Energy, Momentum, Residual
from .work import is_conservative, work_of

if TYPE_CHECKING:
    from ..analysis.mobility import Mobility
    from ..simulation.sensitivity.adjoint import Gradient
    from ..simulation.sensitivity.sensitivities import Sensitivities
    from ..system.parts import Part
    from ..system.system import System
    from .body_groups import CenterOfMass
    from .constraint_health import Health


# Internal attributes whose former names had no underscore.
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
)


@explained
class Result(Renamed, ResultOutput):
    """Result of a run: the motion of a system over time.

    Attributes
    ----------
    system : the simulated system
    segments : consecutive time intervals, each with a constant set of active parts
    statistics : numbers of integration steps, rejected steps and evaluations of the equations of motion; wall time, s
    status : "completed", "stopped" by an event, "interrupted" or "failed"
    events : events in chronological order: see `EventRecord`
    options : arguments of `simulate` for each run in the result

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1, velocity=[0, 0, 1.0])
    >>> result = quirk.simulate(quirk.System([ball]), 2.0, output=1.0)
    >>> result.body("ball").position[:, 2].round(6)
    array([0., 1., 2.])
    """

    # Whether drivers prescribe the motion, so that constraints alone determine accelerations.
    _prescribed: ClassVar = False
    _earlier_names: ClassVar = {
        **{name: f"_{name}" for name in INTERNAL},
        "centre_of_mass": "center_of_mass",
        "verdict": "_row_independence",
    }

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
        mark_events(self.segments, float(self.segments[0].time[0]))
        self.events, self.options = EventLog(events), tuple(options)
        self.statistics = statistics
        self.status = status
        self._mobilities: dict[int, Mobility] = {}
        self._sensitivities: Sensitivities | None = None
        self._judged: Gradient | None = None

    @cached_property
    def time(self) -> np.ndarray:
        """Output times (nt,), s; events have two outputs at the same time."""
        return joined([segment.time for segment in self.segments])

    @cached_property
    def state(self) -> State:
        """Poses and velocities of n bodies, arrays (nt, n, 3) and (nt, n, 4), and internal variables by name."""
        states = [segment.state for segment in self.segments]
        internal = self._by_name([state.internal for state in states])
        parts = [joined(of_segments) for of_segments in zip(*(state.parts for state in states), strict=True)]
        return State(*parts, internal=internal, bodies=states[0].bodies)

    @property
    def sensitivity(self) -> Sensitivities:
        """Derivatives of the motion with respect to the parameters passed to `simulate`."""
        if self._sensitivities is None and self._judged is not None:
            raise InputError(
                "Result: sensitivity: a run with objective= has only the gradient of the objective, .gradient: omit "
                "objective= for sensitivities"
            )
        if self._sensitivities is None:
            raise InputError(
                'Result: sensitivity: the run has none: give parameters, simulate(..., sensitivities=[("rod", "mass")])'
            )
        return self._sensitivities

    @property
    def gradient(self) -> Gradient:
        """Value of the objective passed to `simulate`, and its derivatives with respect to the parameters."""
        if self._judged is None:
            raise InputError(
                "Result: gradient: the run has none: simulate(..., objective=quirk.Objective(...), sensitivities=[...])"
            )
        return self._judged

    @property
    def _names_of_events(self) -> set[str]:
        """Names of the events passed to the runs of this result."""
        passed = (event for given in self.options for event in given.get("events", ()))
        return {getattr(event, "name", event) for event in passed}

    @property
    def _model(self) -> Model:
        """Compiled description of the system, as arrays, at the end of the run."""
        return self.segments[-1].model

    @property
    def rank(self) -> int:
        """Number of independent constraint rows at the end of the motion."""
        return self.segments[-1].rank

    def _segment_at(self, row: int) -> tuple[Segment, int]:
        """Return the segment that contains output index `row` of the result, and the index within this segment."""
        row += len(self.time) if row < 0 else 0
        for segment in self.segments:
            if row < len(segment.time):
                return segment, row
            row -= len(segment.time)
        raise IndexError("no such time")

    def _joined(self, name: str) -> Any:
        """Return the attribute `name` of all segments, concatenated over time as one array."""
        return joined([getattr(segment, name) for segment in self.segments])

    def _by_name(self, parts: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return the arrays of all segments concatenated over time, by name.

        `parts` contains one dict for each segment.
        """
        return joined_by_name(parts, [len(segment.time) for segment in self.segments])

    def __getitem__(self, name: str) -> Any:
        """Return the view of the body, beam, constraint or force named `name`, or the occurrences of an event.

        Events belong to the system, or were passed to the run by ``simulate(events=[...])``.
        """
        own_name = getattr(name, "name", name)
        if own_name not in self.system and own_name in self._names_of_events:
            return self.events.of(own_name)
        item = self.system[name]
        if isinstance(item, PlanarBody):
            return PlanarBodyView(self, self.system.bodies.index(item))
        if isinstance(item, Body):
            return BodyView(self, self.system.bodies.index(item))
        if isinstance(item, Constraint):
            return JointView(self, item)
        if isinstance(item, Beam):
            return BeamView(self, item)
        if isinstance(item, Event):
            return self.events.of(item.name)
        if isinstance(item, Sampled):
            raise InputError(f"Result: {item} has no history of its own; look at its inputs, {', '.join(item.inputs)}")
        return view_of_force(self, item)

    def body(self, name: str | Body) -> BodyView:
        """Return the motion of a body; equivalent to ``result[name]``, with a static type.

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
            If the part with this name is not a body.
        UnknownNameError
            If the system has no part with this name.
        """
        return self._view_of(name, Body, "body")

    def beam(self, name: str | Beam) -> BeamView:
        """Return the motion and the section loads of a beam; equivalent to ``result[name]``.

        Parameters
        ----------
        name : str or Beam

        Returns
        -------
        BeamView
            Center line, m, strains, section forces, N, and moments, N m, over time (nt, ...).

        Raises
        ------
        InputError
            If the part with this name is not a beam.
        UnknownNameError
            If the system has no part with this name.
        """
        return self._view_of(name, Beam, "beam")

    def joint(self, name: str | Constraint) -> JointView:
        """Return relative motion and loads of a joint or other constraint; equivalent to ``result[name]``.

        Parameters
        ----------
        name : str or Constraint

        Returns
        -------
        JointView
            Relative coordinates in joint frame i, and load of body i on body j, over time (nt, ...).

        Raises
        ------
        InputError
            If the part with this name is not a constraint.
        UnknownNameError
            If the system has no part with this name.
        """
        return self._view_of(name, Constraint, "joint")

    def force(self, name: str | ForceElement) -> ForceView:
        """Return loads, energy and coordinates of a force element; equivalent to ``result[name]``.

        Parameters
        ----------
        name : str or ForceElement

        Returns
        -------
        ForceView
            Loads on the bodies, N and N m, stored energy, J, and coordinates of the element, over time (nt, ...).

        Raises
        ------
        InputError
            If the part with this name is not a force element.
        UnknownNameError
            If the system has no part with this name.
        """
        return self._view_of(name, ForceElement, "force")

    def _view_of(self, name: Any, kind: type, method: str) -> Any:
        item: Part = self.system[name]
        if not isinstance(item, kind):
            raise InputError(f'Result.{method}: "{item.name}" is not a {method} but {item}; use result["{item.name}"]')
        return self[item.name]

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.time)} times to {self.time[-1]:g} s, {self.status}>"

    def _repr_html_(self) -> str:
        from ..graphics.notebook.results import of_result

        return of_result(self)

    def state_at(self, row: int = -1) -> State:
        """Return the state at output index `row`, by default the last; it can be the initial state of another run."""
        if not isinstance(row, int | np.integer) or not -len(self.time) <= row < len(self.time):
            raise InputError(f"Result: row must be the index of one of its {len(self.time)} times; got {row!r}")
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
            If the part with this name is neither a constraint nor a force element.
        UnknownNameError
            If the system has no part with this name.
        """
        if not isinstance(self.system[name], Constraint | ForceElement):
            raise InputError(f"Result: only constraints and forces are active or not; got {self.system[name]}")
        pairs = zip(self.segments, self._contact_loads, strict=True)
        return joined(
            [np.full(len(segment.time), self._acts_in(name, segment, contacts)) for segment, contacts in pairs]
        )

    def _acts_in(self, name: str, segment: Segment, contacts: ContactLoads | None) -> bool:
        """Whether a constraint or force is enabled in a segment, and a contact closed.

        Redundant rows of closed contacts and of sticking friction are not in the model of the segment.
        """
        part, closed = self.system[name], contacts.touching if contacts is not None else frozenset[str]()
        if isinstance(part, StickSlip) and part.sticks:
            enabled = segment.switched.get(name, self.system.is_active(name))
            return enabled and part.acts_beside(segment.active | closed)
        return name in segment.active or name in closed or any(one.name == name for one, _ in segment.model.forces)

    @property
    def _loaded(self) -> list[Constraint]:
        """Constraints that had rows and were enabled at some time of the run."""
        loaded = {name for s in self.segments for name, rows in s.model.joint_rows.items() if rows.stop > rows.start}
        return [constraint for constraint in self.system.constraints if constraint.name in loaded]

    @property
    def _elements(self) -> dict[str, ForceElement]:
        """All force elements that acted during the run, by name."""
        return {element.name: element for segment in self.segments for element, _ in segment.model.forces}

    @cached_property
    def _angles(self) -> np.ndarray:
        """1-2-3 angles (nt, K, 3) of K joints, rad, with all turns counted."""
        return self._joined("angles")

    @cached_property
    def energy(self) -> Energy:
        """Kinetic, potential and total energy over time, J."""
        potential_of = {"gravity": self._joined("weight")}
        for name, element in self._elements.items():
            if element.stores:
                potential_of[name] = self._exerted[name].energy
        return Energy(self._joined("kinetic"), np.sum(list(potential_of.values()), axis=0), potential_of)

    @cached_property
    def power(self) -> Power:
        """Power over time, W, of gravity and of every force and constraint by name, with energy balance."""
        return power_of(self)

    @property
    def work(self) -> dict[str, np.ndarray]:
        """Work (nt,) since the start, J, by name of the forces and constraints whose work is integrated by the run."""
        return with_shared_work(self.segments, self._integrated_work, self.time, np.arange(len(self.time)))

    @cached_property
    def _integrated_work(self) -> dict[str, np.ndarray]:
        """Work (nt,) as `work`, J, where constraints that share a load have the work of their independent rows."""
        return work_of(self.segments)

    @cached_property
    def _constraint_power(self) -> dict[str, np.ndarray]:
        """Power (nt,) of each constraint, W, by name."""
        return self._by_name([segment.constraint_power for segment in self.segments])

    @property
    def conservative(self) -> bool:
        """Whether only gravity and undamped springs do work, so that the total energy is constant."""
        elements = self._elements.values()
        return is_conservative(
            self.segments, self.events, elements, self._integrated_work, lambda name: self._exerted[name].energy
        )

    @cached_property
    def momentum(self) -> Momentum:
        """Linear momentum of all bodies over time, and their angular momentum about the inertial origin."""
        return Momentum(
            energy.linear_momentum(self._model, self.state), energy.angular_momentum(self._model, self.state)
        )

    def momentum_of(
        self, bodies: str | Body | Iterable[str | Body] | None = None, about: ArrayLike | None = None
    ) -> Momentum:
        """Return linear and angular momentum of a group of bodies over time.

        Parameters
        ----------
        bodies : name or names of bodies, optional
            Default: all bodies.
        about : (3,), optional
            Reference point of the angular momentum, fixed in the inertial frame, m; default: the moving center of mass
            of these bodies.

        Raises
        ------
        InputError
            If a part is not a body, or is given twice.
        UnknownNameError
            If the system has no part with a given name.
        """
        from .body_groups import momentum_of

        return momentum_of(self, bodies, about)

    def center_of_mass(self, bodies: str | Body | Iterable[str | Body] | None = None) -> CenterOfMass:
        """Return the total mass of a group of bodies, and the motion of its center of mass.

        Position, velocity and acceleration are (nt, 3) in the inertial frame; m, m/s, m/s^2.

        Parameters
        ----------
        bodies : name or names of bodies, optional
            Default: all bodies.

        Raises
        ------
        InputError
            If a part is not a body, or is given twice.
        UnknownNameError
            If the system has no part with a given name.
        """
        from .body_groups import center_of_mass

        return center_of_mass(self, bodies)

    @cached_property
    def residual(self) -> Residual:
        """Largest residuals of the constraints over time."""
        worst = joined([np.abs(s.residuals).max(axis=1, initial=0.0) for s in self.segments])
        return Residual(worst[:, 0], worst[:, 1])

    @property
    def _accelerations(self) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations of n bodies (nt, n, 3): linear, inertial frame, m/s^2, and angular, body axes, rad/s^2."""
        motions = [segment.dynamics for segment in self.segments]
        return joined([motion.linear for motion in motions]), joined([motion.angular for motion in motions])

    @property
    def _course(self) -> str:
        """Line of the summary with status, duration and number of steps of the run."""
        cost = self.statistics
        return (
            f"{self.status} {self.time[-1]:g} s in {cost.wall_time:.2g} s: {cost.steps} steps, "
            f"{cost.rejected} rejected, {cost.evaluations} evaluations"
        )

    @cached_property
    def _joint_loads(self) -> dict[str, np.ndarray]:
        """Force (N) and torque (N m) of each constraint by name, (nt, 2, 3), inertial frame; zero while inactive."""
        pairs = zip(self.segments, self._shared_contact_loads, strict=True)
        loads = self._by_name([segment.joint_loads | shared for segment, (shared, _) in pairs])
        for name, change in self._by_name([shares.loads for shares in self._shares]).items():
            loads[name] = loads.get(name, 0.0) + change
        return loads

    @cached_property
    def _contact_loads(self) -> list[ContactLoads | None]:
        """Loads of contacts that share a load, for each segment; None for systems without contacts."""
        if not any(isinstance(constraint, Unilateral) for constraint in self.system.constraints):
            return [None for _ in self.segments]
        gaps = Gaps(self.system, [force for force in self.system.forces if isinstance(force, Friction)])
        return [segment.contact_loads or ContactLoads(self.system, gaps, segment) for segment in self.segments]

    @cached_property
    def _shared_contact_loads(self) -> list[tuple[dict[str, np.ndarray], dict[str, np.ndarray]]]:
        """Loads and multipliers of contacts that share a load with other contacts only, by name, for each segment."""
        pairs = zip(self._contact_loads, self._sticking_loads, strict=True)
        return [
            ({}, {}) if contacts is None else contacts.loads_and_multipliers(sticking.takes)
            for contacts, sticking in pairs
        ]

    @cached_property
    def _sticking_loads(self) -> list[StickingLoads]:
        """Loads that sticking joints and closed contacts share with each other or with joints, for each segment."""
        # Contact friction comes first, so that indices of gaps and slip components agree with `_contact_loads`.
        contact_frictions = [force for force in self.system.forces if isinstance(force, Friction)]
        gaps = Gaps(self.system, [*contact_frictions, *sticking_joints(self.system.forces)])
        pairs = zip(self.segments, self._contact_loads, strict=True)
        return [StickingLoads(self.system, gaps, segment, contacts) for segment, contacts in pairs]

    @cached_property
    def _shares(self) -> list[SharedLoads]:
        """Redistributions of load, for each segment, that bring the friction of sticking joints within its limits."""
        return [loads.shares for loads in self._sticking_loads]

    def _redistributions_at(self, row: int) -> list[dict[str, np.ndarray]]:
        """Return the changes of loads that contacts and friction leave undetermined at output index `row`.

        See `StickingLoads.redistributions` and `ContactLoads.redistributions`.
        """
        segment, own = self._segment_at(row)
        k = next(k for k, one in enumerate(self.segments) if one is segment)
        sticking, contacts = self._sticking_loads[k], self._contact_loads[k]
        among_contacts = [] if contacts is None else contacts.redistributions(own, sticking.takes)
        return [*sticking.redistributions(own), *among_contacts]

    @cached_property
    def multipliers(self) -> dict[str, np.ndarray]:
        """Multipliers (nt, m) of the m rows of each constraint, by name; zero while the constraint is inactive.

        The multipliers of sticking friction are the friction forces along its slip, N. Where contacts share a load,
        they are those of the reported loads.
        """
        return self._by_name([
            {name: (segment.dynamics.multipliers + shares.multipliers)[:, rows]
             for name, rows in segment.model.joint_rows.items()}
            | shares.forces | multipliers
            for segment, shares, (_, multipliers) in zip(
                self.segments, self._shares, self._shared_contact_loads, strict=True
            )
        ])  # fmt: skip

    @cached_property
    def _load_derivatives(self) -> dict[str, np.ndarray]:
        """Force and torque of each constraint by name, with time derivatives: (nt, 2, K, 3), inertial frame.

        The second index selects force or torque, the third the order of the derivative, at most 2, and the last the
        component.
        """
        return self._by_name([segment.load_derivatives for segment in self.segments])

    @cached_property
    def _exerted(self) -> dict[str, Exerted]:
        """Loads, energy and coordinates of each force element over time, by name."""
        forces = [segment.dynamics.forces for segment in self.segments]
        arrays = {
            field.name: self._by_name(
                [{name: getattr(exerted, field.name) for name, exerted in of_segment.items()} for of_segment in forces]
            )
            for field in fields(Exerted)
        }
        return {name: Exerted(**{key: by_name[name] for key, by_name in arrays.items()}) for name in arrays["loads"]}

    def _acceleration_derivative(self, order: int) -> tuple[np.ndarray, np.ndarray]:
        """Return linear and angular accelerations of n bodies, or their time derivatives, (nt, n, 3) each.

        `order` is the order of the derivative of the velocity: 1 for acceleration, 2 for jerk and 3 for snap. Linear
        quantities are in the inertial frame, angular ones in body axes.
        """
        for segment in self.segments:
            require_order(segment.model, order)
        parts = [segment.derivatives for segment in self.segments]
        return joined([d.linear[:, order - 1] for d in parts]), joined([d.angular[:, order - 1] for d in parts])

    @property
    def mobility(self) -> Mobility:
        """Degrees of freedom, redundant rows and uniqueness of loads in the middle of the run; see `mobility_at`.

        If events may have changed user functions, the middle of the last segment is used.
        """
        return self.mobility_at(self._middle)

    @property
    def _middle(self) -> int:
        """Output index in the middle of the run or, if events may have changed user functions, of the last segment."""
        row, last = len(self.time) // 2, len(self.segments[-1].time)
        return row if not self._segment_at(row)[0].changed else len(self.time) - (last + 1) // 2

    def mobility_at(self, row: int) -> Mobility:
        """Return degrees of freedom, redundant rows and uniqueness of loads at output index `row`.

        The rows are those of the run: sticking friction is a constraint, other than in `System.mobility`, and of the
        rows of contacts and sticking friction only independent ones count. `loads` includes all closed contacts.
        """
        from ..analysis.mobility import mobility
        from .load_uniqueness import with_contacts

        if row not in self._mobilities:
            segment, _ = self._segment_at(row)
            found = mobility(segment.solver(), self.state_at(row), float(self.time[row]))
            active = [one.name for one in self.system.constraints if self.active(one.name)[row]]
            loads = with_contacts(found.loads, self.system, active, self._redistributions_at(row))
            self._mobilities[row] = replace(found, loads=loads)
        return self._mobilities[row]

    @cached_property
    def _row_independence(self) -> RowIndependence:
        """Which constraint rows are independent in the middle of the run, and the distance of each row from the others.

        The distance of a row is that from the span of the independent rows before it, relative to the length of the
        row.
        """
        row = self._middle
        segment, _ = self._segment_at(row)
        return segment.solver().row_independence(self.state_at(row), float(self.time[row]))

    def health(self) -> Health:
        """Return accuracy and conditioning of the constraints over time.

        Dense matrices are used, suitable for small and medium-sized systems.
        """
        from .constraint_health import health

        return health(self)
