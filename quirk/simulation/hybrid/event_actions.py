"""Execution of event actions, which change the state of a run and the set of active constraints and forces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from quirk.analysis.assembly import LEFT_OUT, violations
from quirk.bodies.body import Body
from quirk.bodies.frame import Frame
from quirk.bodies.rotation import conjugate, matrix, multiply
from quirk.constraints import Constraint, Distance, Joint
from quirk.constraints.constraint import with_frame_i
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.contact.impulse import (
    Impulse,
    add_velocity_jump,
    largest_displacement,
    project_poses,
    restore_angular_momentum,
    velocity_jump,
)
from quirk.dynamics.plant import CompiledModel
from quirk.dynamics.sparse.solver.solver import Solver
from quirk.errors import SwitchingError
from quirk.events.actions import (
    Action,
    Disable,
    Enable,
    Engage,
    Follow,
    Release,
    Replace,
    SetVelocity,
    StopRun,
    Switch,
)
from quirk.forces import ForceElement
from quirk.system.configuration import Configuration
from quirk.system.system import System

# Default tolerance for the displacement of bodies onto a constraint that is enabled, over the length of the system.
ENABLE_TOLERANCE = 1e-6
# Displacements below this fraction of the length of the system are round-off.
ROUND_OFF = 1e-13
# Advice in messages if bodies are too far from a constraint that is enabled, or whose function an action has changed.
NOT_NEAR = (
    "enable it where the poses satisfy it, give enable(..., tolerance=), or keep_offset=True to hold the present offset"
)
JUMPED = "let the function continue from its present value, or disable the constraint first"
# Violation of poses over the length of the system, or of velocities over the largest speed, beyond which dependent rows
# are contradictory.
CONTRADICTED = 1e-8


@dataclass
class EventState:
    """State of a run during the execution of the actions of an event.

    Attributes
    ----------
    t : time, s
    y : (13 n + k,) state vector of n bodies and k auxiliary states
    configuration : active constraints and forces, without contacts
    impulse : impulses so far by name of constraint
    restitution_kept : factor, at most 1, on coefficients of restitution, which ensures that no energy is gained
    stopped : whether an action has ended the run
    followed : names of active drivers with new motions, to which poses and velocities are not adapted yet
    """

    t: float
    y: np.ndarray
    configuration: Configuration
    impulse: dict[str, Impulse] = field(default_factory=dict)
    restitution_kept: float = 1.0
    stopped: bool = False
    followed: tuple[str, ...] = ()


class ActionExecutor:
    """Executor of the actions of events in a run of a system.

    Parameters
    ----------
    system : System
    solver_of : function (compiled model, state vector, time in s) that returns a solver with the independent rows
        selected at this state
    """

    def __init__(self, system: System, solver_of: Callable[[CompiledModel, np.ndarray, float], Solver]) -> None:
        self.system, self._solver_of = system, solver_of

    def execute(self, action: Action, event_state: EventState) -> EventState:
        """Execute an action in the state `event_state`, and return the state after it.

        Successive new motions of drivers take effect together, because drivers may prescribe the same freedom: call
        `after_new_motions` after the last action.

        Raises
        ------
        SwitchingError
            If no poses or velocities satisfy the constraints that are active afterward.
        """
        if isinstance(action, StopRun):
            return replace(event_state, stopped=True)
        if not isinstance(action, Follow | Switch | Replace):
            event_state = self.after_new_motions(event_state)
        if isinstance(action, Enable):
            forces = frozenset(name for name in action.names if isinstance(self.system[name], ForceElement))
            event_state = replace(event_state, configuration=event_state.configuration.with_forces(on=forces))
            constraints = tuple(name for name in action.names if name not in forces)
            return self._enable(Engage(constraints, action.tolerance, action.keep_offset), event_state)
        if isinstance(action, Engage):
            return self._enable(action, event_state)
        if isinstance(action, Release | Disable):
            configuration = event_state.configuration
            for name in action.names:
                configuration = configuration.switched(self.system[name], False)
            return replace(event_state, configuration=configuration)
        if isinstance(action, Switch):
            on, off = (frozenset(action.names) if action.on is flag else frozenset[str]() for flag in (True, False))
            return replace(event_state, configuration=event_state.configuration.with_forces(on, off))
        if isinstance(action, Replace):
            return replace(
                event_state, configuration=event_state.configuration.with_others({action.name: action.force})
            )
        if isinstance(action, Follow):
            configuration = event_state.configuration
            driver: Any = dict(configuration.others).get(action.name, self.system[action.name])
            followed = (action.name,) if action.name in configuration.active else ()
            return replace(
                event_state,
                configuration=configuration.with_others({action.name: driver.following(action.motion)}),
                followed=event_state.followed + followed,
            )
        return self._with_velocity_jump(self._with_velocity(action, event_state))

    def after_new_motions(self, event_state: EventState) -> EventState:
        """Return the state with poses and velocities that satisfy the new motions of drivers, `event_state.followed`.

        Raises
        ------
        SwitchingError
            If no poses or velocities nearby satisfy all active constraints.
        """
        names = list(dict.fromkeys(event_state.followed))
        if not names:
            return event_state
        refused = ("jumps away from the bodies", JUMPED)
        try:
            return self._projected(replace(event_state, followed=()), names, refused=refused)
        except SwitchingError as error:
            listed = ", ".join(f"{self.system[name]}" for name in names)
            raise SwitchingError(f"new motion of {listed}: {error}") from error

    def _enable(self, action: Engage, event_state: EventState) -> EventState:
        contacts = [part for part in map(self.system.__getitem__, action.names) if isinstance(part, Unilateral)]
        for part in contacts:
            event_state = replace(event_state, configuration=event_state.configuration.switched(part, True))
        fresh = frozenset(action.names) - {part.name for part in contacts} - event_state.configuration.active
        if not fresh:
            return event_state
        configuration = event_state.configuration.with_constraints(on=fresh)
        if action.keep_offset:
            state = self.system.plant_for(event_state.configuration).model.auxiliary.state(event_state.y)
            configuration = configuration.with_others(
                {name: at_present_pose(self.system, self.system[name], state) for name in sorted(fresh)}
            )
        return self._projected(replace(event_state, configuration=configuration), sorted(fresh), action.tolerance)

    def largest_violations(self, event_state: EventState) -> tuple[float, float]:
        """Return the largest residuals of active constraints: of poses (m or rad) and of velocities (m/s or rad/s)."""
        system = self.system.as_computed_by(self.system.plant_for(event_state.configuration))
        amount, rate, _ = violations(system, system.model.auxiliary.state(event_state.y), event_state.t)
        return float(amount.max(initial=0.0)), float(rate.max(initial=0.0))

    def changed_constraints(self, configuration: Configuration, parts: Sequence[str]) -> list[str]:
        """Return the names of the active constraints, without contacts, among the parts with the titles `parts`."""
        return [
            constraint.name
            for constraint in self.system.constraints
            if f"{constraint}" in parts
            and not isinstance(constraint, Unilateral)
            and constraint.name in configuration.active
        ]

    def follow_functions(
        self,
        event_state: EventState,
        parts: Sequence[str],
        violations_before: tuple[float, float],
        refused: tuple[str, str] = ("jumps away from the bodies by the changes of the action", JUMPED),
    ) -> EventState:
        """Return the state with velocities that satisfy constraints whose functions read values that have changed.

        Parameters
        ----------
        event_state : state after the change, such as the action of an event
        parts : titles of the constraints and forces with changed functions
            Loaded contacts are treated in `quirk.simulation.hybrid.contact_events`.
        violations_before : result of `largest_violations` before the change
            Velocities are unchanged if the violations have not grown.
        refused : two phrases for the error message if bodies cannot follow: the kind of failure, and advice
        """
        names = self.changed_constraints(event_state.configuration, parts)
        amount, rate = self.largest_violations(event_state) if names else violations_before
        state = self.system.model.auxiliary.state(event_state.y)
        reach = self.system.model.length + np.abs(state.position).max()
        speed = np.abs(state.velocity).max() + reach * np.abs(state.angular_velocity).max()
        if amount <= violations_before[0] + ROUND_OFF * reach and rate <= violations_before[1] + ROUND_OFF * speed:
            return event_state
        tolerance = ENABLE_TOLERANCE * self.system.model.length + 2 * violations_before[0]
        return self._projected(event_state, names, tolerance, refused)

    def _projected(
        self,
        event_state: EventState,
        names: Sequence[str],
        tolerance: float | None = None,
        refused: tuple[str, str] = ("cannot engage", NOT_NEAR),
    ) -> EventState:
        """Return `event_state` with its poses and velocities projected onto the active constraints.

        No body may move by more than `tolerance` (m). `names` are the constraints that have changed. `refused` are two
        phrases for the error message if the projection fails: the kind of failure, and advice.
        """
        plant = self.system.plant_for(event_state.configuration)
        solver, length, before = self._solver_of(plant, event_state.y, event_state.t), plant.model.length, event_state.y
        moved = project_poses(solver, before, event_state.t)
        tolerance = ENABLE_TOLERANCE * length if tolerance is None else tolerance
        off = np.inf if moved is None else largest_displacement(plant.model, before, moved)
        if moved is None or off > tolerance:
            far = "no poses nearby satisfy all constraints"
            if moved is not None:
                far = f"bodies would have to move by {off:.3g} m to satisfy all constraints"
            listed, (what, cure) = ", ".join(f"{self.system[name]}" for name in names), refused
            raise SwitchingError(f"{listed} {what}: {far}, and the tolerance is {tolerance:.3g} m: {cure}")
        self._check(plant, moved, event_state.t)
        event_state = self._with_velocity_jump(replace(event_state, y=moved), solver)
        free = self._free_bodies(plant, names)
        if off > ROUND_OFF * length and free.any():
            event_state = replace(event_state, y=restore_angular_momentum(plant, event_state.y, before, free))
        return event_state

    def _check(self, plant: CompiledModel, y: np.ndarray, t: float, y_before: np.ndarray | None = None) -> None:
        """Raise a SwitchingError if a redundant row, which the solver omits, is violated at the state vector y.

        `plant` is the compiled model of the active constraints. Rows on poses are checked or, if the state vector
        `y_before` before a velocity jump is passed, rows on velocities.
        """
        model, length = plant.model, plant.model.length
        amount, rate, angular = violations(self.system.as_computed_by(plant), model.auxiliary.state(y), t)
        missed, scale, what, second = amount, length, "poses", ""
        if y_before is not None:
            missed, what, second = rate, "velocities", "/s"
            states = [model.auxiliary.state(flat) for flat in (y_before, y)]
            scale = max(np.abs(s.velocity).max() + length * np.abs(s.angular_velocity).max() for s in states)
        limit = max(CONTRADICTED, LEFT_OUT * model.slack) * np.where(angular, scale / length, scale)
        if not (missed <= limit).all():
            worst = int(np.argmax(missed / np.maximum(limit, np.finfo(float).tiny)))
            unit = "rad" if angular[worst] else "m"
            raise SwitchingError(
                f"{what} required by the constraints contradict each other: {self.system[model.owner(worst)]} is "
                f"violated by {missed[worst]:.3g} {unit}{second}"
            )

    def _free_bodies(self, plant: CompiledModel, names: Iterable[str]) -> np.ndarray:
        """Return a mask (n,) of the n bodies that constraints connect, directly or indirectly, with those of `names`.

        `plant` is the compiled model of the active constraints, and `names` are names of constraints. If one of the
        connected bodies is also connected to the ground, the mask is False everywhere, because angular momentum is not
        conserved.
        """
        n = len(plant.model.mass)
        group = np.arange(n + 1)
        for constraint, _ in plant.model.joint_bodies:
            rows = [
                n if body not in self.system.bodies else self.system.bodies.index(body) for body in constraint.bodies
            ]
            group[np.isin(group, group[rows])] = group[rows].min()
        ends = [pair for one, pair in plant.model.joint_bodies if one.name in set(names)]
        if any(group[i] == group[n] for i, _ in ends):
            return np.zeros(n, dtype=bool)
        return np.isin(group[:n], [group[i] for i, _ in ends])

    def _with_velocity_jump(self, event_state: EventState, solver: Solver | None = None) -> EventState:
        """Return `event_state` with the nearest velocities, in the mass metric, that satisfy the active constraints.

        The impulses of the constraints are added to those in `event_state`. `solver` is the solver of the active
        constraints; by default it is looked up.
        """
        plant = self.system.plant_for(event_state.configuration)
        solver = self._solver_of(plant, event_state.y, event_state.t) if solver is None else solver
        y, impulse = velocity_jump(solver, event_state.y, event_state.t)
        self._check(plant, y, event_state.t, event_state.y)
        added = {name: _sum(event_state.impulse.get(name), exerted) for name, exerted in impulse.items()}
        return replace(event_state, y=y, impulse={**event_state.impulse, **added})

    def _with_velocity(self, action: SetVelocity, event_state: EventState) -> EventState:
        body: Any = self.system[action.name]
        state = self.system.model.auxiliary.state(event_state.y)
        row, change = self.system.bodies.index(body), np.zeros((len(self.system.bodies), 6))
        if action.velocity is not None:
            change[row, :3] = action.velocity - state.velocity[row]
        if action.angular_velocity is not None:
            change[row, 3:] = action.angular_velocity - state.angular_velocity[row]
        return replace(event_state, y=add_velocity_jump(event_state.y, change))


def at_present_pose(system: System, constraint: Any, state: Any) -> Constraint:
    """Return a copy of a joint whose frame i is placed at the pose of its frame j in `state`.

    Raises
    ------
    SwitchingError
        If the constraint is not a joint with two frames.
    """
    if not isinstance(constraint, Joint | Distance):
        raise SwitchingError(f"{constraint} does not connect two frames, so that keep_offset=True is not possible")

    def pose(body: Any) -> tuple[np.ndarray, np.ndarray]:
        if not isinstance(body, Body):
            return body.position, body.orientation
        row = system.bodies.index(body)
        return state.position[row], state.orientation[row]

    (r_i, q_i), (r_j, q_j) = pose(constraint.body_i), pose(constraint.body_j)
    point = r_j + matrix(q_j) @ constraint.frame_j.origin
    if isinstance(constraint, Distance):
        length = float(np.linalg.norm(point - r_i - matrix(q_i) @ constraint.frame_i.origin))
        point_i, point_j = constraint.frame_i.origin, constraint.frame_j.origin
        bodies = constraint.body_i, constraint.body_j
        return Distance(constraint.name, *bodies, point_i=point_i, point_j=point_j, length=length)
    turn = multiply(conjugate(q_i), multiply(q_j, constraint.frame_j.rotation))
    return with_frame_i(constraint, Frame(matrix(q_i).T @ (point - r_i), turn / np.linalg.norm(turn)))


def _sum(first: Impulse | None, second: Impulse) -> Impulse:
    return second if first is None else Impulse(first.force + second.force, first.torque + second.torque)
