"""A system: bodies, constraints and forces under one gravity."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from . import validate
from .body import GROUND, Body, Ground
from .constraints import Constraint
from .dynamics.applied import applied_loads
from .dynamics.constrained_motion import ConstrainedMotion, angular_acceleration
from .dynamics.dense import equations
from .dynamics.dense.constraint_derivatives import ConstraintDerivatives, constraint_derivatives
from .dynamics.dense.derivatives import derivatives
from .dynamics.dense.loads import joint_loads
from .dynamics.dense.rows import ConstraintRows, constraint_rows
from .dynamics.metric import Metric
from .dynamics.model import RANK_TOLERANCE, Model, flatten
from .dynamics.sparse.host.derivatives import Differentiator, require_order
from .dynamics.sparse.host.motion import constrained_motion
from .dynamics.sparse.host.solver import Solver
from .dynamics.sparse.plan.tables import Tables
from .dynamics.sparse.plan.tables import flatten as sparse_tables
from .dynamics.turns import angles_at, angles_by_name
from .errors import InputError, UnknownNameError
from .forces import ForceElement
from .quantities import Acceleration, ConstraintForces, JointLoad, MotionDerivatives
from .rotation import T_matrix
from .state import Kinematics, State, initial_state

if TYPE_CHECKING:
    from .mobility import Mobility

SOLVERS = ("sparse", "dense")

# Below these, distances of rows are round-off; above, rows at right angles are not far.
RANK_TOLERANCES = 1e-12, 0.1


class Solvers:
    """Makes compiled solvers of one model, each with arrays of its own; the tables are made when first asked for."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self._tables: Tables | None = None
        self._for_residuals: Solver | None = None

    def __call__(self) -> Solver:
        """Return a new solver."""
        if self._tables is None:
            self._tables = sparse_tables(self.model)
        return Solver(self.model, self._tables)

    @property
    def for_residuals(self) -> Solver:
        """A solver that is kept, to ask how far a state is from the constraints: that leaves nothing behind in it.

        Functions of a user in constraints may read what changes; with these it is a new one.
        """
        if self._for_residuals is None or any(placed.relation.of_user for placed in self.model.relations):
            self._for_residuals = self()
        return self._for_residuals


class System:
    """Bodies, constraints and forces, checked and ready to compute with.

    Parameters
    ----------
    items : iterable of Body, Constraint and ForceElement
        In any order; the order of the bodies is the order of every array's rows.
    gravity : (3,)
        In N, m/s^2; none unless given.
    load_length : float
        m; where redundant constraints share loads, torques over this length count as much as forces do. Default:
        the largest joint arm or radius of gyration.
    rank_tolerance : float
        How near a constraint row may come to following from others until it counts as redundant: its distance from
        their span, for bodies all alike and a row of unit length; see `mobility`. Between 1e-12 and 0.1.

    Raises
    ------
    InputError
        If names repeat, or a constraint or force acts on a body that is not in the system.
    """

    def __init__(
        self,
        items: Iterable[Body | Constraint | ForceElement],
        *more: Any,
        gravity: Any = (0, 0, 0),
        load_length: float | None = None,
        rank_tolerance: float = RANK_TOLERANCE,
    ) -> None:
        if more:
            raise InputError("System: items must be one list: System([a, b, ...], gravity=[0, 0, -9.81])")
        self.gravity = validate.array("System", "gravity", gravity, (3,))
        self._items: dict[str, Body | Constraint | ForceElement] = {}
        listed = _listed(items)
        given = {id(item) for item in listed}
        listed += [part for item in listed for part in getattr(item, "companions", ()) if id(part) not in given]
        for item in listed:
            if not isinstance(item, Body | Constraint | ForceElement):
                raise InputError(f"System: items must be bodies, constraints and forces; got {item!r}")
            if self._items.get(item.name) is item:
                raise InputError(f"System: {item} is in the list twice: drop one")
            if item.name == GROUND.name or item.name in self._items:
                taken = self._items.get(item.name, GROUND)
                raise InputError(f"System: names must be unique; {item} has the name of {taken}: rename one")
            self._items[item.name] = item
        self.bodies = [item for item in self._items.values() if isinstance(item, Body)]
        for name, item in self._items.items():
            if isinstance(item, ForceElement):
                self._items[name] = item.placed(self.bodies)
        self.constraints = [item for item in self._items.values() if isinstance(item, Constraint)]
        self.forces = [item for item in self._items.values() if isinstance(item, ForceElement)]
        self._check_membership()
        if not self.bodies:
            raise InputError("System: at least one body is needed; got none")
        self._load_length = None if load_length is None else validate.positive("System", "load_length", load_length)
        self._rank_tolerance = validate.positive("System", "rank_tolerance", rank_tolerance)
        low, high = RANK_TOLERANCES
        if not low <= self._rank_tolerance <= high:
            raise InputError(f"System: rank_tolerance must lie between {low:g} and {high:g}; got {rank_tolerance!r}")
        self._initial = initial_state(self.bodies)
        self._build({constraint.name for constraint in self.constraints if constraint.active})

    def _build(self, active: set[str]) -> None:
        """Make the arrays for the active constraints."""
        self.model = flatten(
            self.bodies,
            self.constraints,
            active,
            self.forces,
            self.gravity,
            self._load_length,
            self._rank_tolerance,
        )
        self.metric = Metric.of_masses(self.model)
        self.solver = Solvers(self.model)

    def activate(self, *names: str) -> None:
        """Switch constraints on, from the next run on; a state that violates them is refused there.

        Results that there are keep the constraints with which they were made. `assemble` moves the bodies to where
        all active constraints are satisfied.
        """
        self._build(set(self.model.joint_rows) | self._constraint_names("activate", names))

    def deactivate(self, *names: str) -> None:
        """Switch constraints off, from the next run on: they remove no freedom and carry no load."""
        self._build(set(self.model.joint_rows) - self._constraint_names("deactivate", names))

    def is_active(self, name: str) -> bool:
        """Whether the constraint of that name is switched on."""
        return self._constraint_names("is_active", [name]) <= set(self.model.joint_rows)

    def _constraint_names(self, what: str, names: Iterable[str]) -> set[str]:
        for name in names:
            if not isinstance(self[name], Constraint):
                raise InputError(f"System.{what}: {self[name]} is not a constraint; only these are switched on and off")
        return {getattr(name, "name", name) for name in names}

    def __getitem__(self, name: str) -> Body | Constraint | ForceElement:
        """Return the object of that name."""
        name = getattr(name, "name", name)  # the object itself will do
        if not isinstance(name, str):
            raise UnknownNameError(f"System: objects are found by name, a text; got {name!r}")
        if name not in self._items:
            close = difflib.get_close_matches(str(name), self._items, n=1)
            hint = f'; did you mean "{close[0]}"?' if close else f"; there are: {', '.join(self._items)}"
            raise UnknownNameError(f'System: no object is named "{name}"{hint}')
        return self._items[name]

    def __iter__(self) -> Iterator[Body | Constraint | ForceElement]:
        return iter(self._items.values())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._items

    def __repr__(self) -> str:
        return f"<System: {len(self.bodies)} bodies, {len(self.constraints)} constraints, {len(self.forces)} forces>"

    def initial_state(self) -> State:
        """Return a copy of the state in which runs start: as the bodies were declared, or as assembled."""
        return self._initial.copy()

    def constraint_rows(self, state: State, t: float = 0.0) -> ConstraintRows:
        """Return A (m, 7 n), b, Phi, Phi_dot (m,) and labels of all active constraints at a state.

        A is over (rdd_0, qdd_0, rdd_1, ...) with A xdd = b.
        """
        return constraint_rows(self.model, Kinematics.of(self.checked(state)), self._time(t))

    def acceleration(self, state: State, t: float = 0.0, solver: str = "sparse") -> Acceleration:
        """Return the accelerations of all bodies at a state; "dense" is the reference, for small systems."""
        kin, motion = self._motion(state, t, solver)
        return Acceleration(
            motion.acceleration[:, :3],
            angular_acceleration(motion, kin),
            motion.acceleration[:, 3:],
        )

    def constraint_forces(self, state: State, t: float = 0.0, solver: str = "sparse") -> ConstraintForces:
        """Return what the constraints exert on the bodies at a state."""
        kin, motion = self._motion(state, t, solver)
        Q = motion.constraint_force
        # Q_q = T^T tau plus a part along q, and T T^T = 4 for unit quaternions.
        torque = 0.25 * np.einsum("nij,nj->ni", T_matrix(kin.orientation[:-1]), Q[:, 3:])
        return ConstraintForces(Q[:, :3], torque, Q.ravel())

    def joint_loads(self, state: State, t: float = 0.0, solver: str = "sparse") -> dict[str, JointLoad]:
        """Return the load of every active constraint at a state, by name.

        Where redundant constraints share a load, the sum of |force|^2 + |torque / load_length|^2 over all rows
        is the least possible.
        """
        kin, motion = self._motion(state, t, solver)
        loads = joint_loads(self.model, kin, self._time(t), motion.multipliers)
        return {name: JointLoad(force, torque) for name, (force, torque) in loads.items()}

    def derivatives(self, state: State, t: float = 0.0, order: int = 3, solver: str = "sparse") -> MotionDerivatives:
        """Return `order` derivatives of the velocities at a state: 1 for accelerations, 2 for jerk, 3 for snap.

        With joint loads and one derivative less of these. The state must satisfy the constraints.
        """
        validate.choice("System", "solver", solver, SOLVERS)
        order, state, t = validate.whole("System", "order", order), self.checked(state), self._time(t)
        require_order(self.model, order)
        angles = angles_at(self.model, state, t)
        state.angles = angles_by_name(self.model.joints, angles)
        if solver == "dense":
            kept = self.solver().verdict(state, t).kept
            found = derivatives(self.model, self.metric, state, t, order, kept)
            parts = found.linear, found.angular, found.multipliers, found.force, found.torque
        else:
            along, loads = Differentiator(self.solver(), order).with_loads(
                np.array([t]), self.model.carried.flat(state)[None], angles[None]
            )
            whole = along.linear, along.angular, loads.multipliers, loads.force, loads.torque
            parts = tuple(part[0] for part in whole)
        linear, angular, multipliers, force, torque = parts
        by_name = {name: JointLoad(force[:, c], torque[:, c]) for c, name in enumerate(self.model.joint_rows)}
        return MotionDerivatives(linear, angular, multipliers, by_name)

    def constraint_derivatives(
        self, state: State, t: float = 0.0, linear: Any = None, angular: Any = None, *, order: int = 4
    ) -> ConstraintDerivatives:
        """Return the right-hand sides of all constraint rows up to `order`: nu, gamma, eta, sigma, ..., and kappa.

        Parameters
        ----------
        state : State
        t : s
        linear, angular : (k, n, 3)
            Accelerations, jerk, ... of the centres of mass in N, and derivatives of the components of angular
            velocities in body axes, as `derivatives` returns them; zero unless given. The right-hand side of order p
            depends on the first p - 2.
        """
        order, state, t = validate.whole("System", "order", order), self.checked(state), self._time(t)
        given = []
        for name, value in (("linear", linear), ("angular", angular)):
            shape = (order - 1, len(self.bodies), 3)
            numbers = validate.numbers(value) if value is not None else np.zeros(shape)
            if numbers is None or numbers.ndim != 3 or numbers.shape[1:] != shape[1:]:
                raise InputError(f"System: {name} must have shape (k, {len(self.bodies)}, 3); got {value!r}")
            padded = np.zeros(shape)
            padded[: len(numbers)] = validate.array("System", name, numbers, numbers.shape)[: order - 1]
            given.append(padded)
        return constraint_derivatives(self.model, Kinematics.of(state), t, *given)

    def mobility(self, state: State | None = None, t: float = 0.0) -> Mobility:
        """Return degrees of freedom, redundant rows, null motions and the uniqueness of joint loads at a state.

        Dense, at a cost that grows with the cube of the number of rows. Default: the initial state.
        """
        from .mobility import mobility

        return mobility(self.solver(), self._initial if state is None else self.checked(state), self._time(t))

    def assemble(
        self,
        state: State | None = None,
        t: float = 0.0,
        *,
        coordinates: Mapping[str, Any] | None = None,
        rates: Mapping[str, Any] | None = None,
    ) -> State:
        """Move the bodies to the nearest poses and velocities that satisfy every constraint.

        Runs start there from now on. From poses far away, other assembled ones may be nearer still: what is found
        is a minimum nearby. Nearest is meant in the mass metric: the least sum of m |dr|^2 and
        theta.J theta over displacements and rotation vectors, then the least change of kinetic energy of
        the difference in velocity.

        Parameters
        ----------
        state : State, optional
            Where to start from; default: the present initial state.
        t : float
            s, for constraints that depend on time.
        coordinates : dict, optional
            Joint coordinates that are to be met, by joint: a number for a joint with one free coordinate,
            {"hinge": 0.3}, or as many as are named, {"slider": {"rotation": 0.1, "translation": 0.2}}, in rad and m;
            see `Drive` for their names. Loops are closed with the other coordinates. Angles are at most a whole turn,
            and runs start from them as they are given.
        rates : dict, optional
            The same for their rates, rad/s and m/s.

        Returns
        -------
        State
            A copy of the new initial state.

        Raises
        ------
        AssemblyError
            If no pose is found; the message names the constraint and by how much it is violated.
        """
        from .assembly import assemble
        from .joint_coordinates import assemble_coordinates

        start, t = self._initial if state is None else self.checked(state), self._time(t)
        if coordinates is None and rates is None:
            self._initial = replace(assemble(self, start, t), angles=start.angles)
        else:
            self._initial = assemble_coordinates(self, start, t, coordinates or {}, rates or {})
        return self.initial_state()

    def with_constraints(self, constraints: Iterable[Constraint]) -> System:
        """Return a system with further constraints, and with the same ones switched on."""
        more = list(constraints)
        system = System(
            [*self, *more],
            gravity=self.gravity,
            load_length=self._load_length,
            rank_tolerance=self._rank_tolerance,
        )
        system._initial = self.initial_state()
        system._build(set(self.model.joint_rows) | {constraint.name for constraint in more})
        return system

    def checked(self, state: State) -> State:
        """Return a copy of a state with unit quaternions, or raise InputError if it is no state of this system."""
        if not isinstance(state, State):
            raise InputError(f"System: state must be a quirk.State; got {state!r}")
        checked = state.checked(len(self.bodies))
        for force in self.forces:
            if force.internal and force.name in checked.internal:
                shape = (len(force.internal),)
                validate.array("State", f"internal[{force.name!r}]", checked.internal[force.name], shape)
        return checked

    def _motion(self, state: State, t: float, solver: str) -> tuple[Kinematics, ConstrainedMotion]:
        """Solve the equations of motion at one state given by the user."""
        from .contradiction import check_accelerations

        validate.choice("System", "solver", solver, SOLVERS)
        state, t = self.checked(state), self._time(t)
        angles = angles_at(self.model, state, t)
        state.angles = angles_by_name(self.model.joints, angles)
        kin = Kinematics.of(state)
        if solver == "dense":
            verdict = self.solver().verdict(state, t)
            motion = equations.motion(self.model, t, kin, kept=verdict.kept)
            check_accelerations(self, state, t, motion, verdict)
            return kin, motion
        compiled = self.solver()
        y = compiled.slots.state_to_lanes(self.model.carried.flat(state))
        compiled.settle_near(y, t)
        compiled.applied.refer(t, angles)
        loads = applied_loads(self.model, t, kin)
        motion = constrained_motion(compiled, t, kin, y, *loads)
        check_accelerations(self, state, t, motion, compiled.verdict(state, t))
        return kin, motion

    @staticmethod
    def _time(t: Any) -> float:
        return validate.number("System", "t", t)

    def _check_membership(self) -> None:
        members = {id(body) for body in self.bodies}
        items: list[Constraint | ForceElement] = [*self.constraints, *self.forces]
        for item in items:
            for body in item.bodies:
                if not isinstance(body, Ground) and id(body) not in members:
                    raise InputError(f"System: {item} acts on {body}, which is not in the system: add it to the items")
            joint = getattr(item, "joint", None)
            if joint is not None and self._items.get(joint.name) is not joint:
                raise InputError(f"System: {item} acts on {joint}, which is not in the system: add it to the items")


def _listed(items: Any) -> list[Any]:
    try:
        return list(items)
    except TypeError:
        raise InputError(f"System: items must be a list of bodies, constraints and forces; got {items!r}") from None
