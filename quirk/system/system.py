"""A system: bodies, constraints and forces under one gravity."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Never

from numpy.typing import ArrayLike

from ..bodies.state import Kinematics, State, initial_state
from ..constraints import Constraint
from ..constraints.sticking import Sticking
from ..constraints.unilateral import Unilateral
from ..dynamics.dense.constraint_derivatives import ConstraintDerivatives
from ..dynamics.dense.rows import ConstraintRows, constraint_rows
from ..dynamics.model.model import LARGEST_RANK_TOLERANCE, RANK_TOLERANCE, Arrangement, Model, flatten
from ..dynamics.plant import CompiledModel
from ..errors import InputError
from ..forces import ForceElement
from ..util import validate
from ..util.misuse import explained
from ..util.renamed import Renamed
from . import queries as at_state
from .configuration import Configuration
from .parts import Part, Parts
from .quantities import Acceleration, ConstraintForces, JointLoad, MotionDerivatives, VirtualWork

if TYPE_CHECKING:
    import numpy as np

    from ..analysis.closure import Closure
    from ..analysis.joint_space import JointSpace
    from ..analysis.linear.equilibrium import Equilibrium
    from ..analysis.linear.linearization import Linearization
    from ..analysis.linear.modes import Modes
    from ..analysis.mobility import Mobility
    from ..graphics.viewer.sliders import SliderMechanism

# So many plants are kept; a mechanism that engages its parts as they happen to stand makes a new one each time.
MOST_PLANTS = 64
# Below these, distances of rows are round-off; above, rows at right angles are not far.
RANK_TOLERANCES = 1e-12, LARGEST_RANK_TOLERANCE


@explained
class System(Renamed):
    """Bodies, constraints and forces, checked and ready to compute with.

    Parameters
    ----------
    items : iterable of Body, Constraint, ForceElement and Event
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

    Examples
    --------
    >>> ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1)
    >>> system = quirk.System([ball], gravity=[0, 0, -9.81])
    >>> system.acceleration(system.initial_state()).linear
    array([[ 0.  ,  0.  , -9.81]])
    """

    _earlier_names: ClassVar = {"linearise": "linearize"}

    def __init__(
        self,
        items: Iterable[Part],
        *more: Never,
        gravity: ArrayLike = (0, 0, 0),
        load_length: float | None = None,
        rank_tolerance: float = RANK_TOLERANCE,
    ) -> None:
        if more:
            raise InputError("System: items must be one list: System([a, b, ...], gravity=[0, 0, -9.81])")
        self.gravity = validate.array("System", "gravity", gravity, (3,))
        self._parts = Parts(items)
        self.bodies, self.constraints, self.forces = self._parts.bodies, self._parts.constraints, self._parts.forces
        self.events = self._parts.events
        self._load_length = None if load_length is None else validate.positive("System", "load_length", load_length)
        self._rank_tolerance = validate.positive("System", "rank_tolerance", rank_tolerance)
        low, high = RANK_TOLERANCES
        if not low <= self._rank_tolerance <= high:
            raise InputError(f"System: rank_tolerance must lie between {low:g} and {high:g}; got {rank_tolerance!r}")
        self._initial = initial_state(self.bodies)
        self._closure: Closure | None = None
        self._plants: OrderedDict[Configuration, CompiledModel] = OrderedDict()
        self._arrangement = Arrangement.of(self.bodies, self.constraints, self.forces)
        self._configure(Configuration(frozenset(c.name for c in self.constraints if c.active)))

    def _configure(self, configuration: Configuration) -> None:
        """Let these parts be active."""
        self.configuration, self.plant = configuration, self.plant_for(configuration)

    def _switch(self, asked_by: str, names: Iterable[Any], on: bool) -> None:
        configuration = self.configuration
        for name in sorted(self._parts.names_to_switch(asked_by, names)):
            configuration = configuration.switched(self[name], on)
        self._configure(configuration)

    def plant_for(self, configuration: Configuration) -> CompiledModel:
        """Return what computes with the parts that are active in a configuration; it is made once for each of these."""
        if configuration not in self._plants:
            others = dict(configuration.others)
            # What friction holds has rows in place of a force.
            held = [other for other in others.values() if isinstance(other, Sticking)]
            model = flatten(
                self._arrangement,
                [*(self._closed(others.get(constraint.name, constraint)) for constraint in self.constraints), *held],
                set(configuration.active),
                [others.get(force.name, force) for force in self.forces if force.name not in configuration.idle],
                self.gravity,
                self._load_length,
                self._rank_tolerance,
                0.0 if self._closure is None else self._closure.tolerance,
            )
            self._plants[configuration] = CompiledModel(model)
            if len(self._plants) > MOST_PLANTS:
                self._plants.popitem(last=False)
        self._plants.move_to_end(configuration)
        return self._plants[configuration]

    def _closed(self, constraint: Constraint) -> Constraint:
        return constraint if self._closure is None else self._closure.applied(constraint)

    @property
    def closure(self) -> Closure | None:
        """Closure errors that `assemble` has absorbed, by constraint and row; None unless it was asked to."""
        return self._closure

    def with_closure(self, closure: Closure | None) -> System:
        """Return the same system, parts and state shared, with other offsets of its rows."""
        other = copy(self)
        other._closure, other._plants = closure, OrderedDict()
        other._configure(self.configuration)
        return other

    def configuration_of(self, state: State) -> Configuration:
        """Return which parts are active where runs start from a state: as now, but for what events have changed."""
        found = self.configuration
        for name, on in state.switched.items():
            found = found.switched(self[name], on)
        return found.with_others(state.replaced) if state.replaced else found

    def as_computed_by(self, plant: CompiledModel) -> System:
        """Return the same system with the parts active that a plant was made for, to ask it about these."""
        other = copy(self)
        other.plant = plant
        return other

    @property
    def model(self) -> Model:
        """The arrays of the system with its active constraints."""
        return self.plant.model

    def enable(self, *names: str | Constraint | ForceElement) -> None:
        """Enable constraints and forces, from the next run on.

        A state that violates an enabled constraint is refused there; `assemble` moves the bodies to where all active
        constraints are satisfied. Existing results are not affected. In a run, events do it: `quirk.enable`.

        Parameters
        ----------
        names : str, Constraint or ForceElement

        Raises
        ------
        InputError
            If one is another part; UnknownNameError if there is none of that name.
        """
        self._switch("enable", names, True)

    def disable(self, *names: str | Constraint | ForceElement) -> None:
        """Disable constraints and forces, from the next run on: they remove no freedom and exert nothing.

        Parameters
        ----------
        names : str, Constraint or ForceElement

        Raises
        ------
        InputError
            If one is another part; UnknownNameError if there is none of that name.
        """
        self._switch("disable", names, False)

    def activate(self, *names: str | Constraint | ForceElement) -> None:
        """Enable parts: an earlier name of `enable`."""
        self._switch("activate", names, True)

    def deactivate(self, *names: str | Constraint | ForceElement) -> None:
        """Disable parts: an earlier name of `disable`."""
        self._switch("deactivate", names, False)

    def is_active(self, name: str | Constraint | ForceElement) -> bool:
        """Whether a constraint or a force is enabled; unilateral constraints are, be they open or closed."""
        (own,) = self._parts.names_to_switch("is_active", [name])
        bilateral = isinstance(self[own], Constraint) and not isinstance(self[own], Unilateral)
        return own in self.configuration.active if bilateral else own not in self.configuration.idle

    def __getitem__(self, name: str) -> Any:
        """Return the body, constraint, force or event of that name."""
        return self._parts[name]

    def __iter__(self) -> Iterator[Part]:
        return iter(self._parts)

    def __contains__(self, name: object) -> bool:
        return name in self._parts

    def __repr__(self) -> str:
        return f"<System: {len(self.bodies)} bodies, {len(self.constraints)} constraints, {len(self.forces)} forces>"

    def _repr_html_(self) -> str:
        from ..graphics.notebook.systems import of_system

        return of_system(self)

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
        return at_state.acceleration(self, self.checked(state), self._time(t), solver)

    def constraint_forces(self, state: State, t: float = 0.0, solver: str = "sparse") -> ConstraintForces:
        """Return the sum of all constraint loads on each body at a state."""
        return at_state.constraint_forces(self, self.checked(state), self._time(t), solver)

    def joint_loads(self, state: State, t: float = 0.0, solver: str = "sparse") -> dict[str, JointLoad]:
        """Return the load of every active constraint at a state, by name.

        Where redundant constraints share a load, the sum of ``|force|^2 + |torque / load_length|^2`` over all rows
        is the least possible.
        """
        return at_state.joint_loads(self, self.checked(state), self._time(t), solver)

    def derivatives(self, state: State, t: float = 0.0, order: int = 3, solver: str = "sparse") -> MotionDerivatives:
        """Return `order` derivatives of the velocities at a state: 1 for accelerations, 2 for jerk, 3 for snap.

        With joint loads and one derivative less of these. The state must satisfy the constraints.
        """
        order = validate.whole("System", "order", order)
        return at_state.derivatives(self, self.checked(state), self._time(t), order, solver)

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

        Parameters
        ----------
        state : State
        t : s
        linear, angular : (k, n, 3)
            Accelerations, jerk, ... of the centers of mass in N, and derivatives of the components of angular
            velocities in body axes, as `derivatives` returns them; zero unless given. The right-hand side of order p
            depends on the first p - 2.
        """
        order = validate.whole("System", "order", order)
        return at_state.constraint_derivatives(self, self.checked(state), self._time(t), linear, angular, order)

    def mobility(self, state: State | None = None, t: float = 0.0) -> Mobility:
        """Return degrees of freedom, redundant rows, null motions and the uniqueness of joint loads at a state.

        Dense, at a cost that grows with the cube of the number of rows. Default: the initial state.
        """
        from ..analysis.mobility import mobility

        return mobility(self.plant.solver(), self._initial if state is None else self.checked(state), self._time(t))

    def linearize(
        self,
        state: State | None = None,
        t: float = 0.0,
        inputs: Iterable[Any] = (),
        outputs: Iterable[Any] = (),
        coordinates: Sequence[str] | None = None,
    ) -> Linearization:
        """Return x' = A x + B u, y = C x + D u for small motions about a state; see docs/linearization.md.

        Parameters
        ----------
        state : State, optional
            An equilibrium, a steady motion, or any other; it must satisfy the constraints. Default: the initial state.
        t : s
        inputs : list
            Names of force elements, whose value varies, "motor" or "push.x"; pairs ("spring", "stiffness") of an
            element and a parameter; or ("drive", "motion"), which gives the motion, its rate and its acceleration.
        outputs : list of str
            Quantities such as "hinge.angle", "rod.position.x", "hinge.force.y", "spring.length", "energy.kinetic".
        coordinates : list of str, optional
            Quantities of poses, such as "hinge.angle", as many as the constraints leave free: they and their rates are
            the states. Default: an orthonormal basis, in the mass metric, of what the constraints leave free.

        Raises
        ------
        InconsistentStateError
            If the state violates a constraint.
        InputError
            If the coordinates do not say where all is, or depend on each other, or the state is singular.
        """
        from ..analysis.linear.linearization import linearize

        return linearize(self, self._given(state), self._time(t), inputs, outputs, coordinates)

    def modes(self, state: State | None = None, t: float = 0.0, count: int | None = None) -> Modes:
        """Return the modes of small motions about a state: eigenvalues, frequencies, damping and shapes.

        Parameters
        ----------
        state : State, optional
            As of `linearize`. Default: the initial state.
        t : s
        count : int, optional
            So many modes of least absolute value alone, found by sparse matrices, for large systems at rest or in a
            steady motion. Default: all.
        """
        from ..analysis.linear.modes import modes

        return modes(self, self._given(state), self._time(t), count)

    def equilibrium(self, state: State | None = None, t: float = 0.0) -> Equilibrium:
        """Return a state at rest in which nothing accelerates, with its loads and stability; the system stays as it is.

        From far away the way leads downhill, to a stable equilibrium; from near by to the one there, be it stable or
        not. What is free to be anywhere stays where it is. Unilateral constraints push or are open; what closes on the
        way is found, and small motions are those of what pushes staying closed. Dry friction is left out.

        Parameters
        ----------
        state : State, optional
            Where to start from; its velocities do not matter. Default: the initial state.
        t : s, for loads and drivers that depend on it

        Returns
        -------
        Equilibrium
            A `State`, with `loads` of all active constraints by name, `touching`, the names of the unilateral
            constraints that push, `stable`, and `eigenvalues`.

        Raises
        ------
        ConvergenceError
            If none is found; it names the body that accelerates most, and has the best state.
        InputError
            If drivers move.
        """
        from ..analysis.linear.equilibrium import equilibrium

        return equilibrium(self, self._given(state), self._time(t))

    def virtual_displacements(self, state: State | None = None, t: float = 0.0) -> np.ndarray:
        """Return a basis (f, n, 6) of the displacements that all active constraints allow with the time held.

        Of each body a translation of the center of mass in N, m, and a rotation vector in body axes, rad: the
        `null_motions` of `mobility`, orthonormal in the mass metric. Default: the initial state.

        Raises
        ------
        InconsistentStateError
            If the poses violate a constraint.
        """
        from ..analysis.tangent_space import virtual_displacements

        return virtual_displacements(self, self._initial if state is None else self.checked(state), self._time(t))

    def virtual_work(self, state: State, t: float, displacement: ArrayLike) -> VirtualWork:
        """Return the work of all loads, applied and of constraints, along a virtual displacement.

        Parameters
        ----------
        state : State
        t : s
        displacement : (n, 6) or (k, n, 6)
            Of each body a translation of the center of mass in N, m, and a small rotation vector in body axes, rad;
            one of `virtual_displacements` or any other; or several. The loads are those at the state, so the work is
            of first order.
        """
        from ..analysis.virtual_work import virtual_work

        return virtual_work(self, self.checked(state), self._time(t), displacement)

    def joint_space(
        self, state: State, t: float = 0.0, *, coordinates: Iterable[str | Constraint | tuple[str | Constraint, str]]
    ) -> JointSpace:
        """Return the equation of motion in joint coordinates: mass matrix, bias, gravity and applied loads.

        Parameters
        ----------
        state : State
            Satisfies the constraints.
        t : s
        coordinates : names of joints, or pairs of a name and a coordinate as `Drive` has it, such as "translation z"
            As many as the active constraints leave freedoms, and independent of each other.

        Raises
        ------
        InputError
            If they are not, or the state violates a constraint.
        """
        from ..analysis.assembly import check_poses
        from ..analysis.joint_space import joint_space

        checked, t = self.checked(state), self._time(t)
        if self.model.rows:
            check_poses(self, checked, t, "poses")
        return joint_space(self, checked, t, coordinates)

    def remove_disallowed_velocity(self, state: State | None = None, t: float = 0.0) -> State:
        """Return the state with the nearest velocities that all active constraints allow, and the same poses.

        Nearest in the mass metric: what is taken off has the least kinetic energy, and leaves the momentum of all
        motions that are allowed as it is. That is what a plastic impact of all constraints at once does. Default: the
        initial state, which stays as it is.

        Raises
        ------
        InconsistentStateError
            If the poses violate a constraint.
        AssemblyError
            If constraints, such as drivers, ask for velocities that contradict each other.
        """
        from ..analysis.tangent_space import allowed_velocity

        return allowed_velocity(self, self.initial_state() if state is None else self.checked(state), self._time(t))

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

        Runs start there from now on. From poses far away, other assembled ones may be nearer still: what is found
        is a minimum nearby. Nearest is meant in the mass metric: the least sum of ``m |dr|^2`` and
        ``theta.J theta`` over displacements and rotation vectors, then the least change of kinetic energy of
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
        closure_tolerance : float, optional
            m; how well loops of redundant constraints close in the drawing, such as coordinates rounded to so many
            digits. Rows that depend on others within it count as redundant from then on, and by how much they miss is
            taken from them as offsets that the system keeps; `closure` names them. Default: as before, at first none.

        Returns
        -------
        State
            A copy of the new initial state.

        Raises
        ------
        AssemblyError
            If no pose is found; the message names the constraint and by how much it is violated.
        """
        from ..analysis.closure import Closure, absorbed
        from ..analysis.joint_coordinates import assembled

        if isinstance(state, Mapping):
            raise InputError(f"System.assemble: give joint coordinates by name, coordinates={state!r}")
        start, t, asked = self._given(state), self._time(t), {"coordinates": coordinates, "rates": rates}
        if closure_tolerance is None:
            self._initial = assembled(self, start, t, **asked)
            return self.initial_state()
        tolerance = validate.positive("System.assemble", "closure_tolerance", closure_tolerance)
        rounded = self.with_closure(Closure(tolerance))
        found = assembled(rounded, start, t, **asked)
        closed = rounded.with_closure(absorbed(rounded, found, t))
        self._closure, self._plants = closed._closure, closed._plants
        self._configure(self.configuration)
        self._initial = found
        return self.initial_state()

    def view(
        self, *, labels: bool = False, host: str = "127.0.0.1", port: int = 0, block: bool = False
    ) -> SliderMechanism:
        """Show the initial poses in the browser, with a slider for each coordinate of a joint with an axis.

        A slider drags the mechanism with all loops closed; where it cannot follow, the slider stops. Drivers are off.
        The system itself stays as it is.

        Parameters
        ----------
        labels : bool
            Whether names of bodies, joints and springs are written beside them.
        host, port, block : as for `Result.view`

        Returns
        -------
        SliderMechanism
            `.state` is where it was dragged to, for ``simulate(initial_state=...)`` or `assemble`.

        Raises
        ------
        InputError
            If viser is not installed, or nothing can be served there.
        """
        from ..graphics.viewer.sliders import view

        return view(self, labels=labels, host=host, port=port, block=block)

    def groups(self, forces: bool = False) -> list[list[str]]:
        """Return lists of the names of bodies that active constraints join to each other, directly or through others.

        What is fixed to the ground at two places is not joined by it. With `forces`, elements that act between bodies
        join them, too. Each body is in one list, alone if need be; both are in the order of `bodies`.
        """
        from .topology import groups

        return groups(self, validate.flag("System.groups", "forces", forces))

    def orphans(self) -> list[str]:
        """Return the names of bodies that no active constraint and no force joins to another body or to the ground.

        Forces on a body alone, and fields, join nothing; nor does the plane of a planar body.
        """
        from .topology import orphans

        return orphans(self)

    def with_parts(self, *items: Part) -> System:
        """Return a system with further parts, in which those of this one are as they are.

        Bodies keep their present initial state, constraints and forces stay enabled or disabled; new ones start as
        declared.
        """
        return self._with([*self, *items])

    def without(self, *names: str, dependents: bool = False) -> System:
        """Return a system without some of the parts, in which all others are as they are.

        Parameters
        ----------
        names : of bodies, constraints and forces
        dependents : bool
            Whether what cannot be without these goes, too: constraints and forces on a body, and drivers and forces of
            a joint.

        Raises
        ------
        InputError
            If parts that stay cannot be without those that go; it names them. If no body is left.
        """
        from .editing import remaining

        dependents = validate.flag("System.without", "dependents", dependents)
        return self._with(remaining(self, names, dependents))

    def with_constraints(self, constraints: Iterable[Constraint]) -> System:
        """Return a system with further constraints, all of which are enabled."""
        more = list(constraints)
        system = self._with([*self, *more])
        system._switch("with_constraints", more, True)
        return system

    def _with(self, items: Iterable[Part]) -> System:
        """Return a system of these parts with the same settings; what it shares with this one is in the same state."""
        from .editing import carried_over

        system = System(
            items,
            gravity=self.gravity,
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
        """Write the system to a model file, ".toml", which `quirk.load` reads; see docs/model-files.md."""
        from ..io.modelfile import write

        write(self, path)

    def checked(self, state: State) -> State:
        """Return a copy of a state with unit quaternions, or raise InputError if it is no state of this system."""
        if not isinstance(state, State):
            raise InputError(f"System: state must be a quirk.State; got {state!r}")
        checked = state.checked([body.name for body in self.bodies])
        sizes = {force.name: len(force.internal) for force in self.forces if force.internal}
        for name, numbers in checked.internal.items():
            if name not in sizes:
                known = ", ".join(f'"{own}"' for own in sizes) or "none"
                raise InputError(
                    f'State: internal names "{name}", which is no force with internal variables of this system '
                    f"(they are: {known}); leave out what the system does not have"
                )
            validate.array("State", f"internal[{name!r}]", numbers, (sizes[name],))
        return checked

    def _given(self, state: State | None) -> State:
        return self.initial_state() if state is None else self.checked(state)

    @staticmethod
    def _time(t: Any) -> float:
        return validate.number("System", "t", t)
