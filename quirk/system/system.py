"""System of bodies, constraints and forces with uniform gravity."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body
from ..bodies.state import Kinematics, State
from ..constraints import Constraint
from ..dynamics.dense.constraint_derivatives import ConstraintDerivatives
from ..dynamics.dense.rows import ConstraintRows, constraint_rows
from ..errors import InputError
from ..forces import ForceElement
from ..util import validate
from ..util.misuse import explained
from . import queries as at_state
from .configured_system import ConfiguredSystem
from .parts import Part
from .quantities import Acceleration, ConstraintForces, JointLoad, MotionDerivatives, VirtualWork

if TYPE_CHECKING:
    from ..analysis.joint_space import JointSpace
    from ..analysis.linear.equilibrium import Equilibrium
    from ..analysis.linear.linearization import Linearization
    from ..analysis.linear.modes import Modes
    from ..analysis.mobility import Mobility
    from ..graphics.viewer.sliders import SliderMechanism
    from ..simulation.contacts_at_state import Touching


@explained
class System(ConfiguredSystem):
    """System of bodies, constraints and forces in a uniform gravitational field.

    Parameters
    ----------
    items : iterable of Body, Constraint, ForceElement, Event and Sampled
        In any order; rows of all arrays are in the order of the bodies.
    gravity : (3,)
        Gravitational acceleration in the inertial frame, m/s^2; default: zero.
    load_length : float
        Length, m, by which torques are divided when the loads of redundant constraints are minimized.
        Default: the largest joint arm or radius of gyration.
    rank_tolerance : float
        A constraint row counts as redundant if its distance from the span of the other rows, relative to its length, is
        at most this value, from 1e-12 to 0.1; see docs/method.md.

    Raises
    ------
    InputError
        If names repeat, or a constraint or force acts on a body that is not in the system.

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1)
    >>> system = quirk.System([ball], gravity=[0, 0, -9.81])
    >>> system.acceleration(system.initial_state()).linear
    array([[ 0.  ,  0.  , -9.81]])
    """

    _earlier_names: ClassVar = {"linearise": "linearize"}

    def __repr__(self) -> str:
        return f"<System: {len(self.bodies)} bodies, {len(self.constraints)} constraints, {len(self.forces)} forces>"

    def _repr_html_(self) -> str:
        from ..graphics.notebook.systems import of_system

        return of_system(self)

    def constraint_rows(self, state: State, t: float = 0.0) -> ConstraintRows:
        """Return the constraint rows A xdd = b of all active constraints at a state and time t, s.

        Contacts that carry a load and friction that sticks have rows, too; see `acceleration`.

        For n bodies and m rows: A (m, 7 n) over (rdd_0, qdd_0, rdd_1, ...), b (m,), the residuals Phi and their rates
        Phi_dot (m,), and the labels of the rows.
        """
        system, checked, t = self._in(state), self.checked(state), self._time(t)
        touching = system._touching(checked, t)
        return constraint_rows((touching.listed if touching else system).model, Kinematics.of(checked), t)

    def acceleration(self, state: State, t: float = 0.0, solver: str = "sparse") -> Acceleration:
        """Return the accelerations of all bodies at a state and time t, s.

        This and the other analyses of a state use the parts that it names as enabled, disabled or replaced, and the
        contacts and friction with which a run from this state begins: contacts, stops and ropes that touch push or
        open, and dry friction sticks or slides. Small motions (`mobility`, `modes`, `linearize`,
        `virtual_displacements`) leave out friction that sticks.

        `solver` is "sparse" for the compiled code, or "dense" for the reference implementation for small systems.

        Warns
        -----
        ImpactWarning
            If surfaces touch and approach each other: they are open in the analysis, which is of the instant before the
            impact.

        Raises
        ------
        InputError
            If the gap of a contact is negative, or contacts and friction have no solution.
        """
        return at_state.acceleration(*self._moving(state, t), solver)

    def constraint_forces(self, state: State, t: float = 0.0, solver: str = "sparse") -> ConstraintForces:
        """Return the sum of all constraint loads on each body at a state and time t, s.

        `solver` is as for `acceleration`.
        """
        return at_state.constraint_forces(*self._moving(state, t), solver)

    def joint_loads(self, state: State, t: float = 0.0, solver: str = "sparse") -> dict[str, JointLoad]:
        """Return the load of every active constraint at a state and time t (s) by name.

        Contacts that touch and friction that sticks are among them; see `acceleration`. Loads of redundant constraints
        are not unique; of all solutions, the one with the least sum of ``|force|^2 + |torque / load_length|^2`` over
        all rows is returned. Contacts share loads as in results, within the limits of friction. `solver` is as for
        `acceleration`.
        """
        system, checked, t = self._in(state), self.checked(state), self._time(t)
        touching = system._touching(checked, t)
        return touching.joint_loads(solver) if touching else at_state.joint_loads(system, checked, t, solver)

    def derivatives(self, state: State, t: float = 0.0, order: int = 3, solver: str = "sparse") -> MotionDerivatives:
        """Return the first `order` time derivatives of the velocities at a state and time t, s.

        Order 1 gives accelerations, 2 also jerk, 3 also snap. Joint loads are included, with `order` - 1 time
        derivatives. The state must satisfy the constraints. Of contacts that share a load, independent ones carry it.
        `solver` is as for `acceleration`.
        """
        order = validate.whole("System", "order", order)
        return at_state.derivatives(*self._moving(state, t), order, solver)

    def constraint_derivatives(
        self,
        state: State,
        t: float = 0.0,
        linear: ArrayLike | None = None,
        angular: ArrayLike | None = None,
        *,
        order: int = 4,
    ) -> ConstraintDerivatives:
        """Return the right-hand sides of all constraint rows up to `order`: nu, gamma, eta, sigma, ..., and kappa.

        For each row, A times the p-th time derivative of the positions equals the right-hand side of order p: nu for
        velocities, gamma for accelerations, eta for jerk, sigma for snap. kappa is d(A^T)/dt times the multipliers.

        Parameters
        ----------
        state : State
        t : time, s
        linear, angular : (k, n, 3)
            Accelerations, jerk, ... of the centers of mass in the inertial frame, and derivatives of the components of
            angular velocities in body axes, as returned by `derivatives`; default: zero. The right-hand side of order
            p depends on the first p - 2 of these derivatives.
        """
        order = validate.whole("System", "order", order)
        system, checked, t = self._in(state), self.checked(state), self._time(t)
        touching = system._touching(checked, t)
        return at_state.constraint_derivatives(
            touching.listed if touching else system, checked, t, linear, angular, order
        )

    def mobility(self, state: State | None = None, t: float = 0.0) -> Mobility:
        """Return degrees of freedom, redundant rows, null motions and the uniqueness of joint loads at a state.

        Contacts, stops and ropes that carry a load at the state are constraints; friction that sticks is not, but
        loads that it shares count as not unique. Dense matrices are used; the cost is cubic in the number of rows. The
        default state is the initial state. Time t is in s.
        """
        from ..analysis.mobility import mobility

        system, checked, t = self._in(state), self._state_or_initial(state), self._time(t)
        touching = system._touching(checked, t)
        found = mobility((touching.held if touching else system).plant.solver(), checked, t)
        return replace(found, loads=touching.uniqueness(found.loads)) if touching else found

    def linearize(
        self,
        state: State | None = None,
        t: float = 0.0,
        inputs: Iterable[Any] = (),
        outputs: Iterable[Any] = (),
        coordinates: Sequence[str] | None = None,
    ) -> Linearization:
        """Return x' = A x + B u, y = C x + D u for small motions about a state; see docs/linearization.md.

        Contacts, stops and ropes that carry a load at the state stay closed.

        Parameters
        ----------
        state : State, optional
            An equilibrium, a steady motion, or any state that satisfies the constraints. Default: the initial state.
        t : time, s
        inputs : list
            Inputs u: names of force elements, such as "motor" or "push.x", for their values; pairs (element,
            parameter), such as ("spring", "stiffness"); or ("drive", "motion") for a motion, its rate and its
            acceleration.
        outputs : list of str
            Quantities such as "hinge.angle", "rod.position.x", "hinge.force.y", "spring.length", "energy.kinetic".
        coordinates : list of str, optional
            Functions of the poses, such as "hinge.angle", one for each degree of freedom; x consists of these
            coordinates and their rates. Default: a basis of the motions allowed by the constraints, orthonormal in the
            mass metric.

        Raises
        ------
        InconsistentStateError
            If the state violates a constraint.
        InputError
            If the coordinates do not determine all poses, or depend on each other, or the state is singular.
        """
        from ..analysis.linear.linearization import linearize

        return linearize(*self._held(state, t), inputs, outputs, coordinates)

    def modes(self, state: State | None = None, t: float = 0.0, count: int | None = None) -> Modes:
        """Return the modes of small motions about a state: eigenvalues, frequencies, damping and shapes.

        Parameters
        ----------
        state : State, optional
            As for `linearize`. Default: the initial state.
        t : time, s
        count : int, optional
            Number of modes to compute, with the eigenvalues of smallest absolute value. Sparse matrices are then used,
            for large systems at rest or in steady motion. Default: all modes.
        """
        from ..analysis.linear.modes import modes

        return modes(*self._held(state, t), count)

    def equilibrium(self, state: State | None = None, t: float = 0.0) -> Equilibrium:
        """Return an equilibrium near a state, with its loads and stability; the system is not changed.

        Far from equilibrium a damped descent finds a stable equilibrium; near one, Newton's method converges to it,
        stable or not. Bodies without stiffness do not move. Unilateral constraints are closed with a nonnegative load,
        or open; constraints that close during the search are detected. For the stability, constraints with a load are
        assumed to stay closed. Dry friction is ignored.

        Parameters
        ----------
        state : State, optional
            Starting point; its velocities are ignored. Default: the initial state.
        t : time, s, for loads and drivers that depend on it

        Returns
        -------
        Equilibrium
            A `State`, with `loads` of all active constraints by name, `touching`, the names of the unilateral
            constraints that carry a load, `stable`, and `eigenvalues`.

        Raises
        ------
        ConvergenceError
            If no equilibrium is found; the error names the body with the largest acceleration and contains the best
            state.
        InputError
            If drivers are in motion.
        """
        from ..analysis.linear.equilibrium import equilibrium

        return equilibrium(self, self._state_or_initial(state), self._time(t))

    def virtual_displacements(self, state: State | None = None, t: float = 0.0) -> np.ndarray:
        """Return a basis (f, n, 6) of the displacements allowed by all active constraints at fixed time.

        The entries of each body are a translation of the center of mass in the inertial frame, m, and a rotation vector
        in body axes, rad. The basis is orthonormal in the mass metric and equals `null_motions` of `mobility`. The
        default state is the initial state; t is in s.

        Raises
        ------
        InconsistentStateError
            If the poses violate a constraint.
        """
        from ..analysis.tangent_space import virtual_displacements

        return virtual_displacements(*self._held(state, t))

    def virtual_work(self, state: State, t: float, displacement: ArrayLike) -> VirtualWork:
        """Return the work of all applied and constraint loads along a virtual displacement.

        Parameters
        ----------
        state : State
        t : time, s
        displacement : (n, 6) or (k, n, 6)
            For each body the translation of the center of mass in the inertial frame, m, and a small rotation vector in
            body axes, rad. Displacements need not satisfy the constraints. The work is of first order: the loads at the
            state times the displacement.
        """
        from ..analysis.virtual_work import virtual_work

        return virtual_work(*self._moving(state, t), displacement)

    def joint_space(
        self, state: State, t: float = 0.0, *, coordinates: Iterable[str | Constraint | tuple[str | Constraint, str]]
    ) -> JointSpace:
        """Return the equation of motion in joint coordinates: mass matrix, bias, gravity and applied loads.

        Contacts, stops and ropes are open.

        Parameters
        ----------
        state : State
            A state that satisfies the constraints.
        t : time, s
        coordinates : names of joints, or pairs of a name and a coordinate as for `Drive`, such as "translation z"
            One coordinate for each degree of freedom, independent of each other.

        Raises
        ------
        InputError
            If the coordinates are dependent or incomplete, or the state violates a constraint or has parts that events
            have replaced.
        """
        from ..analysis.assembly import check_poses
        from ..analysis.joint_space import joint_space

        checked, t = self.checked(state), self._time(t)
        if checked.replaced:
            raise InputError(
                f"System.joint_space: events have replaced {', '.join(str(self[name]) for name in checked.replaced)}; "
                "make a system with the new parts, and a state with quirk.State(*state.parts)"
            )
        system = self.configured_as(checked)
        if system.model.rows:
            check_poses(system, checked, t, "poses")
        return joint_space(system, checked, t, coordinates)

    def remove_disallowed_velocity(self, state: State | None = None, t: float = 0.0) -> State:
        """Return the state with the same poses and the nearest velocities allowed by all active constraints.

        The velocities are nearest in the mass metric: the removed velocity has the least kinetic energy, and the
        momentum of all allowed motions is conserved, as in a plastic impact of all constraints at once. The default
        is the initial state, which is not changed; t is in s.

        Raises
        ------
        InconsistentStateError
            If the poses violate a constraint.
        AssemblyError
            If constraints, such as drivers, require contradictory velocities.
        """
        from ..analysis.tangent_space import allowed_velocity

        given = self._state_or_initial(state)
        return allowed_velocity(self.configured_as(given), given, self._time(t))

    def assemble(
        self,
        state: State | None = None,
        t: float = 0.0,
        *,
        coordinates: Mapping[str, Any] | None = None,
        rates: Mapping[str, Any] | None = None,
        closure_tolerance: float | None = None,
    ) -> State:
        """Move the bodies to the nearest poses and velocities that satisfy every constraint.

        Later runs start from these poses and velocities. The result is a local minimum: from distant poses, other
        assembled poses may be nearer. Distance is measured in the mass metric: the sum of ``m |dr|^2 + theta.J theta``
        is least for displacements dr and rotation vectors theta, and the kinetic energy of the velocity change is
        least.

        Parameters
        ----------
        state : State, optional
            Starting point; default: the present initial state.
        t : float
            Time, s, for constraints that depend on it.
        coordinates : dict, optional
            Prescribed joint coordinates, by joint: a number for a joint with one free coordinate, {"hinge": 0.3}, or
            several by name, {"slider": {"rotation": 0.1, "translation": 0.2}}, in rad and m; see `Drive` for their
            names. The other coordinates are adjusted to close the loops. Angles may be at most a full turn; runs start
            with the number of turns of the prescribed angle.
        rates : dict, optional
            Prescribed rates of joint coordinates, rad/s and m/s.
        closure_tolerance : float, optional
            Accepted closure error (m) of loops with redundant constraints, for instance of a drawing with rounded
            coordinates. Rows that depend on others within this tolerance count as redundant, and their violations are
            subtracted as offsets, which the system stores and `closure` lists. Default: the tolerance of the
            previous call, initially none.

        Returns
        -------
        State
            A copy of the new initial state.

        Raises
        ------
        AssemblyError
            If no pose is found; the message names the constraint and its violation.
        """
        from ..analysis.closure import Closure, absorbed
        from ..analysis.joint_coordinates import assembled

        if isinstance(state, Mapping):
            raise InputError(f"System.assemble: give joint coordinates by name, coordinates={state!r}")
        start, t = self._state_or_initial(state), self._time(t)
        prescribed = {"coordinates": coordinates, "rates": rates}
        if closure_tolerance is None:
            self._initial = assembled(self.configured_as(start), start, t, **prescribed)
            return self.initial_state()
        tolerance = validate.positive("System.assemble", "closure_tolerance", closure_tolerance)
        rounded = self.configured_as(start).with_closure(Closure(tolerance))
        nearest = assembled(rounded, start, t, **prescribed)
        closed = rounded.with_closure(absorbed(rounded, nearest, t))
        self._closure, self._plants = closed._closure, closed._plants
        self._configure(self.configuration)
        self._initial = nearest
        return self.initial_state()

    def view(
        self, *, labels: bool = False, host: str = "127.0.0.1", port: int = 0, block: bool = False
    ) -> SliderMechanism:
        """Show the initial poses in a browser, with sliders for rotations about and translations along joint axes.

        A slider moves the mechanism with all loops closed, within the range in which it can be assembled. Drivers are
        disabled. The system itself is not changed.

        Parameters
        ----------
        labels : bool
            Whether names of bodies, joints and springs are shown.
        host, port, block : as for `Result.view`

        Returns
        -------
        SliderMechanism
            View with the present state, `.state`, which can be passed to ``simulate(initial_state=...)`` or `assemble`.

        Raises
        ------
        InputError
            If viser is not installed, or the server cannot be started.
        """
        from ..graphics.viewer.sliders import view

        return view(self, labels=labels, host=host, port=port, block=block)

    def groups(self, forces: bool = False) -> list[list[str]]:
        """Return the groups of connected bodies, as lists of names.

        Bodies are connected directly or indirectly by active constraints and, with `forces`, also by force elements
        between bodies; the ground does not connect bodies. Each body is in exactly one list; lists and names are in the
        order of `bodies`.
        """
        from .topology import groups

        return groups(self, validate.flag("System.groups", "forces", forces))

    @property
    def companions(self) -> list[Part]:
        """Implicit parts: planes of planar bodies, and flywheels of joints and actuators with rotors."""
        owners: list[Body | Constraint | ForceElement] = [*self.bodies, *self.constraints, *self.forces]
        return [companion for owner in owners for companion in owner.companions]

    def orphans(self) -> list[str]:
        """Return the names of bodies without an active constraint or force to another body or the ground.

        Forces on a single body, fields, and the plane of a planar body do not count as connections.
        """
        from .topology import orphans

        return orphans(self)

    def with_parts(self, *items: Part) -> System:
        """Return a system with additional parts; the present parts keep their state.

        Bodies keep their present initial state, and constraints and forces stay enabled or disabled. New parts have
        their declared state.
        """
        return self._with([*self, *items])

    def without(self, *names: str, dependents: bool = False) -> System:
        """Return a system without the parts of the given names; the other parts keep their state.

        Parameters
        ----------
        names : names of bodies, constraints and force elements
        dependents : bool
            Whether dependent parts are also removed: constraints and forces on a removed body, and drivers and forces
            of a removed joint.

        Raises
        ------
        InputError
            If remaining parts depend on removed ones, which the message names, or if no body is left.
        """
        from .editing import remaining

        dependents = validate.flag("System.without", "dependents", dependents)
        return self._with(remaining(self, names, dependents))

    def with_constraints(self, constraints: Iterable[Constraint]) -> System:
        """Return a system with additional constraints, all of them enabled."""
        additional = list(constraints)
        system = self._with([*self, *additional])
        system._switch("with_constraints", additional, True)
        return system

    def _with(self, items: Iterable[Part], gravity: np.ndarray | None = None) -> System:
        """Return a system with the parts `items` and the settings of this system.

        Parts that are in this system keep their state. `gravity` (3,), m/s^2, is by default that of this system.
        """
        from .editing import carried_over

        system = System(
            items,
            gravity=self.gravity if gravity is None else gravity,
            load_length=self._load_length,
            rank_tolerance=self._rank_tolerance,
        )
        system._initial = carried_over(self, system)
        if self._closure is not None:
            system._closure, system._plants = self._closure.among(system.constraints), OrderedDict()
        for name in (part.name for part in self if isinstance(part, Constraint | ForceElement)):
            if name in system:
                system._switch("System", [name], self.is_active(name))
        return system

    def save(self, path: str | Path) -> None:
        """Write the system to a model file with the suffix ".toml"; `quirk.load` reads it.

        The format is described in docs/model-files.md.
        """
        from ..io.modelfile import write

        write(self, path)

    def _in(self, state: State | None) -> System:
        """Return the system with the parts that a state enables, disables or replaces, and closed contacts pushing.

        Only an equilibrium names closed contacts. For None, the state is the initial state.
        """
        state = self._initial if state is None else state
        held = getattr(state, "system", None)
        if isinstance(held, System) and held._parts is self._parts and held.configuration == self.configuration:
            return held
        return self.configured_as(state) if isinstance(state, State) else self

    def _moving(self, state: State, t: Any) -> tuple[System, State, float]:
        """Return the system with the contacts and friction with which a run from a state begins.

        The checked state and time (s) follow, as the arguments of an analysis of the motion.
        """
        system, checked, t = self._in(state), self.checked(state), self._time(t)
        touching = system._touching(checked, t)
        return touching.moving if touching else system, checked, t

    def _held(self, state: State | None, t: Any) -> tuple[System, State, float]:
        """Return the system in which contacts that carry a load at a state are constraints, without sticking friction.

        The checked state and time (s) follow, as the arguments of an analysis of small motions. For None, the state is
        the initial state.
        """
        system, checked, t = self._in(state), self._state_or_initial(state), self._time(t)
        touching = system._touching(checked, t)
        return touching.held if touching else system, checked, t

    def _touching(self, state: State, t: float) -> Touching | None:
        """Return closed contacts and acting friction at a checked state and time t (s), or None if there are none.

        The system has the parts that the state enables, disables or replaces. The system of an equilibrium, in which
        contacts are closed already, has none.
        """
        if not (self._parts.switch and self._has_own_plant):
            return None
        from ..simulation.contacts_at_state import touching

        return touching(self, state, t)

    @staticmethod
    def _time(t: Any) -> float:
        """Return the argument `t`, s, as a finite float, or raise an InputError."""
        return validate.number("System", "t", t)
