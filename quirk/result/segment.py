"""Segments of a result: time intervals with constant sets of active constraints and forces."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies.state import Kinematics, State
from ..constraints.sticking import Sticking
from ..dynamics.model.energy import gravity_energy, kinetic_energy
from ..dynamics.model.joint_angles import Turns, angles_by_name
from ..dynamics.plant import CompiledModel
from ..dynamics.sparse.solver.along_states import Dynamics, constraint_power_along, dynamics_along, residuals_along
from ..dynamics.sparse.solver.derivatives import Differentiator, VelocityDerivatives, highest_order
from ..dynamics.sparse.solver.solver import Solver
from ..errors import ChangedFunctionWarning, outside
from ..integrators.breaks import SIDE_ULPS
from .near_singular import distances_from_singular, warn_near_singular

if TYPE_CHECKING:
    from .contact_loads import ContactLoads

# Time before an event, in ulps, at which the loads of the state before it are evaluated. It equals the distance from
# breaks at which runs evaluate functions of time, so that both see the same side of a jump.
BEFORE_ULPS = SIDE_ULPS


class Segment:
    """Times and states of one segment of a result, and quantities computed from them.

    There are n bodies, k auxiliary states (internal variables and work) and nt output times.

    Attributes
    ----------
    plant : compiled model of the segment
    time : (nt,) output times, s
    flat : (nt, 13 n + k) state vectors, including auxiliary states
    turns : counted turns of the joint angles at the outputs of the segment
    rank : number of independent constraint rows
    active : names of the enabled constraints
    switched, replaced : changes by events, as in `State`
    changed : titles of constraints and forces whose user functions read values that may have changed since
    contact_loads : distribution of contact loads, if recorded during the run
    distances : (nt,) distances of outputs from singular configurations; see `distances_from_singular`
    before_events : (nt,) mask of the states that are followed by another state at the same time; see `mark_events`
    last_slip : directions of the slip at the last step of the segment with slip, by name of the friction element
    """

    def __init__(
        self,
        plant: CompiledModel,
        time: np.ndarray,
        flat: np.ndarray,
        turns: Turns,
        rank: int,
        changes: tuple[dict[str, bool], dict[str, Any]] = ({}, {}),
        changed: tuple[str, ...] = (),
    ) -> None:
        self.switched, self.replaced = changes
        self.active = frozenset(plant.model.joint_rows)
        self.plant, self.model = plant, plant.model
        self.time, self.flat, self.turns, self.rank = time, flat, turns, rank
        self.changed = changed
        self.contact_loads: ContactLoads | None = None
        self.distances = np.full(len(time), np.inf)
        self.before_events: np.ndarray | None = None
        self.last_slip: dict[str, tuple[float, ...]] = {}
        self._recording: Solver | None = None

    @cached_property
    def state(self) -> State:
        """Poses and velocities, arrays (nt, n, 3) and (nt, n, 4), and internal variables by name."""
        return self.model.auxiliary.state(self.flat)

    @cached_property
    def instants(self) -> np.ndarray:
        """Times (nt,), s, at which loads are evaluated; for the state before an event, a time just before the event.

        Inputs and functions that jump at the event then have the values with which the run computed this state.
        """
        if self.before_events is None:
            return self.time
        return self.time - np.where(self.before_events, BEFORE_ULPS * np.spacing(np.abs(self.time)), 0.0)

    @cached_property
    def angles(self) -> np.ndarray:
        """1-2-3 angles (nt, K, 3) of K joints, rad, with all turns counted."""
        return self.turns.angles(self.state.orientation)

    @property
    def ends_of_slip(self) -> dict[int, dict[str, tuple[float, ...]]]:
        """Output indices of the states before events, at which slip may end, with the last directions of slip."""
        if self.before_events is None or not self.last_slip:
            return {}
        return {int(row): self.last_slip for row in np.flatnonzero(self.before_events)}

    @property
    def angles_read(self) -> np.ndarray | None:
        """1-2-3 angles (nt, K, 3) of K joints, rad, if loads depend on them; otherwise None."""
        return self.angles if self.model.reads_angles else None

    def state_at(self, row: int) -> State:
        """Return the state at output index `row` of the segment, with joint angles and internal variables."""
        angles = self.turns.angles(self.state.orientation[row], row)
        internal = {name: numbers[row].copy() for name, numbers in self.state.internal.items()}
        named = angles_by_name(self.turns.joints, angles)
        parts = (part[row].copy() for part in self.state.parts)
        return State(
            *parts, angles=named, internal=internal, bodies=self.state.bodies,
            switched=self.switched, replaced=self.replaced,
        )  # fmt: skip

    @cached_property
    def kinematics(self) -> list[Kinematics]:
        """Quantities computed from poses and velocities at each output time, such as rotation matrices."""
        return [Kinematics.of(self.state_at(row)) for row in range(len(self.time))]

    def record(self, solver: Solver, changed: tuple[str, ...]) -> None:
        """Evaluate and store accelerations, loads, residuals and power, before an event changes user functions.

        `solver` evaluates them, and `changed` are the titles of the constraints and forces whose functions may change.
        """
        self._recording = solver
        try:
            _ = self.dynamics, self.residuals, self.constraint_power
        finally:
            self._recording = None
        self.changed = changed

    def take_record(self, other: Segment) -> None:
        """Take over what `record` has stored in `other`, a segment with the same motion."""
        self.dynamics, self.residuals, self.constraint_power = other.dynamics, other.residuals, other.constraint_power
        self.distances, self.contact_loads = other.distances, other.contact_loads

    @property
    def recorded(self) -> bool:
        """Whether accelerations, loads, residuals and power were stored by `record` during the run."""
        return bool(self.changed) and "constraint_power" in vars(self)

    def solver(self) -> Solver:
        """Return a new solver for quantities that were not recorded during the run.

        A warning is issued if events may have changed user functions after the segment.
        """
        if self._recording is not None:
            return self._recording
        if self.changed:
            warnings.warn(
                f"quantities at t = {self.time[0]:g} to {self.time[-1]:g} s are computed with the function of "
                f"{', '.join(self.changed)} in its present form; values that it reads may have changed since",
                ChangedFunctionWarning,
                stacklevel=outside(),
            )
        return self.plant.solver()

    @property
    def _residual_solver(self) -> Solver:
        """Solver for residuals, shared by all segments of a model; residuals do not depend on earlier evaluations."""
        return self.solver() if self.changed or self._recording is not None else self.plant.for_residuals

    @cached_property
    def dynamics(self) -> Dynamics:
        """Accelerations, joint loads, and loads of force elements at all output times.

        A warning is issued if they are inaccurate because a singular configuration is near.
        """
        found = dynamics_along(self.solver(), self.instants, self.flat, self.angles_read, self.ends_of_slip)
        self.distances = distances_from_singular(
            self._residual_solver, self.instants, self.flat, found.distance, self.rank
        )
        warn_near_singular(self.time, self.distances)
        return found

    @property
    def accurate(self) -> np.ndarray:
        """Mask (nt,) of the outputs with accurate accelerations and loads: no singular configuration is near."""
        _ = self.dynamics
        return np.isinf(self.distances)

    @property
    def joint_loads(self) -> dict[str, np.ndarray]:
        """Force (N) and torque (N m) of each active constraint by name, (nt, 2, 3), inertial frame."""
        return {name: np.stack(load, axis=1) for name, load in self.dynamics.joints.items()}

    @cached_property
    def residuals(self) -> np.ndarray:
        """Residuals Phi of m constraint rows and their rates, (nt, m, 2)."""
        return residuals_along(self._residual_solver, self.instants, self.state)

    @cached_property
    def constraint_power(self) -> dict[str, np.ndarray]:
        """Power (nt,) of each constraint, W, by name."""
        by_row = constraint_power_along(self._residual_solver, self.instants, self.state, self.dynamics.multipliers)
        sticking = self._sticking
        power = {
            name: by_row[:, rows].sum(axis=1) for name, rows in self.model.joint_rows.items() if name not in sticking
        }
        # User-defined rows without a residual Phi have no rate of Phi.
        for placed in self.model.relations:
            if placed.relation.of_user and placed.relation.of_velocities:
                name = self.model.owner(placed.rows.start)
                power[name] = self.dynamics.auxiliary[:, self.model.auxiliary.work[name]]
        return power

    @property
    def work(self) -> dict[str, np.ndarray]:
        """Work (nt,), J, by name of the forces and constraints whose work is integrated by the run.

        See `quirk.dynamics.model.auxiliary_states`.
        """
        numbers = self.model.auxiliary.numbers(self.flat)
        return {name: numbers[:, place] for name, place in self.model.auxiliary.work.items()}

    @property
    def constraint_work(self) -> list[str]:
        """Names of the constraints whose work is integrated by the run: drivers and user-defined constraints."""
        driven = self.model.joint_rows.keys() - self._sticking
        return [name for name in self.model.auxiliary.work if name in driven]

    @property
    def _sticking(self) -> set[str]:
        """Names of sticking friction, whose rows do no work; its work is that of sliding friction, a force."""
        return {constraint.name for constraint, _ in self.model.joint_bodies if isinstance(constraint, Sticking)}

    @property
    def integrated_power(self) -> dict[str, np.ndarray]:
        """Power (nt,), W, of constraints by name, as integrated by the run: that of their independent rows alone."""
        return {name: self.dynamics.auxiliary[:, self.model.auxiliary.work[name]] for name in self.constraint_work}

    @property
    def kinetic(self) -> np.ndarray:
        """Kinetic energy (nt,), J."""
        return kinetic_energy(self.model, self.state)

    @property
    def weight(self) -> np.ndarray:
        """Potential energy (nt,), J, of uniform gravity; zero at the inertial origin."""
        return gravity_energy(self.model, self.state)

    @cached_property
    def derivatives(self) -> VelocityDerivatives:
        """Accelerations and their time derivatives, up to snap if these are available for all constraints."""
        return self._differentiator().along(self.instants, self.flat, self.angles_read)

    @cached_property
    def load_derivatives(self) -> dict[str, np.ndarray]:
        """Force and torque of each active constraint by name, with time derivatives: (nt, 2, K, 3), inertial frame.

        The second index selects force or torque, the third the order of the derivative, at most 2, and the last the
        component.
        """
        _, loads = self._differentiator().with_loads(self.instants, self.flat, self.angles_read)
        both = np.stack([loads.force, loads.torque], axis=1)
        return {name: both[:, :, :, c] for c, name in enumerate(self.model.joint_rows)}

    def _differentiator(self) -> Differentiator:
        return Differentiator(self.solver(), highest_order(self.model))


def mark_events(segments: Sequence[Segment], start: float, *, ended: bool = False) -> None:
    """Mark the states before events in the masks `before_events` of segments, unless they are marked already.

    `segments` are consecutive. At an event the states before and after it have the same time. At the start of a run,
    `start` (s), no state precedes an event. `ended` states whether an event has ended the last segment.
    """
    ends = [segment.time[0] for segment in segments[1:]]
    for segment, end in zip(segments, [*ends, segments[-1].time[-1] if ended else np.inf], strict=True):
        if segment.before_events is None:
            segment.before_events = (np.append(segment.time[1:], end) == segment.time) & (segment.time > start)


def joined(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the arrays of successive segments as one array, concatenated over time, that cannot be written to.

    A result shares its arrays with its views, so that writing to one would change other results.
    """
    whole = parts[0].view() if len(parts) == 1 else np.concatenate(parts)
    whole.setflags(write=False)
    return whole


def joined_by_name(parts: Sequence[Mapping[str, np.ndarray]], counts: Sequence[int]) -> dict[str, np.ndarray]:
    """Return the arrays of successive segments concatenated over time, by name.

    Zeros are inserted for segments without an array of this name; `counts` are the numbers of times of the segments.
    """
    shapes = {name: array.shape[1:] for part in parts for name, array in part.items()}
    return {
        name: joined([part.get(name, np.zeros((count, *shape))) for part, count in zip(parts, counts, strict=True)])
        for name, shape in shapes.items()
    }
