"""Equilibria: states at rest without accelerations, found by Newton's method with exact derivatives.

Free coordinates u are coordinates of the displacements that the constraints allow. The accelerations along them, at
rest, are g(u), with derivatives K = dg/du and G with respect to the contact forces x.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from quirk.bodies.state import State
from quirk.constraints.unilateral import Unilateral
from quirk.errors import ConvergenceError, InputError
from quirk.forces.elastic_rope import ElasticRope
from quirk.forces.stick_slip import sticking_elements
from quirk.system.quantities import JointLoad
from quirk.util.misuse import explained

from ..assembly import assemble
from .contact_statics import INDIFFERENT, StaticContacts, far_step, near_step
from .free_accelerations import NEARBY, accelerations, change_along, moved_along, size_of_change, size_of_loads
from .linearization import linearize
from .mixed_newton import mixed_newton
from .null_space import NullSpaceBasis
from .operating_point import Point
from .outputs import value_of
from .pseudo_transient import descend
from .sparse_descent import sparse_descent
from .sparse_stability import stability
from .sparse_statics import sparse_newton

if TYPE_CHECKING:
    from quirk.system.system import System

OWNER = "System.equilibrium"
# Convergence: residual, that is, accelerations as a fraction of those that the loads would cause without mutual
# cancellation.
FOUND = 1e-13
# Largest residual of an accepted result.
MISSED = 1e-8
# A result with a larger residual is also accepted if a Newton step would displace no body by more than this fraction of
# the system's length, or this angle (rad). This applies to systems without loads.
STANDS = 1e-10
# For this, the step must cancel all accelerations except this fraction; otherwise they do not depend on the poses.
ANSWERED = 0.5
# If accelerations fall below this fraction of those due to the largest loads during the search, the loads vanish only
# at infinity, and no equilibrium exists.
FADED = 1e-100
MOST_STEPS, MOST_IN_VAIN = 1000, 100
# UNOPPOSED: the system falls freely if more than this fraction of its acceleration is along directions without
# stiffness. MOST_FALLING: maximum number of steps without improvement in this case, if gravity is the only load.
UNOPPOSED, MOST_FALLING = 0.5, 10
# Factor by which the maximum length of a step increases after each step that reduces the residual, and after each step
# since the best state, because the equilibrium may be far away.
FASTER = 1.1
# Minimum damping after a step that increases the residual, as a fraction of the largest derivative.
SLOWER = 0.1
# Eigenvalues are unstable if their real part exceeds this fraction of the largest absolute value.
GROWS = 1e-9
# Gaps below this fraction of the system's length (or of 1 rad) are closed.
CLOSED = 1e-9


@explained
@dataclass
class Equilibrium(State):
    """State of equilibrium, with its loads and stability.

    Attributes
    ----------
    time : time at which loads and drivers are evaluated, s
    touching : names of the closed unilateral constraints that carry a load
    residual : largest acceleration relative to the accelerations that the loads would cause without mutual
        cancellation; 0 without loads
    system : System with the constraints in `touching` closed
    """

    time: float = field(default=0.0, kw_only=True)
    touching: frozenset[str] = field(default=frozenset(), kw_only=True)
    residual: float = field(default=0.0, kw_only=True)
    system: System = field(default=None, kw_only=True, repr=False)  # type: ignore[assignment]

    def __str__(self) -> str:
        from .report import report

        return report(self)

    @cached_property
    def loads(self) -> dict[str, JointLoad]:
        """Force and torque of every active constraint by name, as returned by `System.joint_loads`.

        The loads of open gaps are zero.
        """
        found = self.system.joint_loads(self, self.time)
        none = (
            constraint.name
            for constraint in self.system.constraints
            if isinstance(constraint, Unilateral) and constraint.name not in found
        )
        return {**found, **{name: JointLoad(np.zeros(3), np.zeros(3)) for name in none}}

    def of(self, name: str) -> float:
        """Return the value of a quantity at the equilibrium, such as "hinge.angle" or "hinge.force.x", in SI units."""
        return value_of("Equilibrium.of", self.system, self.copy(), self.time, name)

    @cached_property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of small motions about the equilibrium, complex, 1/s, by increasing absolute value."""
        return linearize(self.system, self.copy(), self.time).eigenvalues

    @cached_property
    def _stability(self) -> bool | None:
        return stability(self.system, self.copy(), self.time)

    @property
    def stable(self) -> bool:
        """Whether no eigenvalue has a positive real part; undamped oscillations count as stable.

        For large systems of beams with conservative or damping loads the eigenvalues are not computed.
        """
        if "eigenvalues" not in vars(self) and self._stability is not None:
            return self._stability
        values = self.eigenvalues
        return bool((values.real <= GROWS * np.abs(values).max(initial=0.0)).all())


def equilibrium(system: System, start: State, t: float) -> Equilibrium:
    """Return an equilibrium near the state `start` at time t (s); see `System.equilibrium`."""
    rope = next((force for force in system.forces if isinstance(force, ElasticRope) and force.internal), None)
    if rope is not None:
        raise InputError(
            f"{OWNER}: {rope}: with friction, or on winding drums, where a rope rests depends on how it came there: "
            "simulate the motion with damping until it rests, or leave out friction and winding drums"
        )
    friction_names = [force.name for force in sticking_elements(system.forces)]
    system = system.without(*friction_names) if friction_names else system
    contacts = StaticContacts.of(system)
    state = _at_rest(system, start, t)
    found, best = (None if contacts.elements else _sparse_search(system, state, t)) or _dense_search(
        contacts, system, state, t
    )
    if best > MISSED:
        raise _convergence_error(contacts, found, best, t)
    own, x = contacts.without(found), _contact_forces(contacts, found, t)
    held = contacts.with_closed_gaps(system, x)
    touching = frozenset(held.plant.model.joint_rows) - frozenset(system.model.joint_rows)
    left = float(best) if np.isfinite(best) else 0.0
    return Equilibrium(
        *own.parts, angles=own.angles, internal=own.internal, bodies=own.bodies,
        time=t, touching=touching, residual=left, system=held,
    )  # fmt: skip


def _sparse_search(system: System, state: State, t: float) -> tuple[State, float] | None:
    """Return an equilibrium of a large system with beams and its residual, found with sparse matrices, or None.

    If Newton's method fails from `state`, it starts again from the end of a damped descent. The result is None if the
    system is unsuited to sparse matrices or no equilibrium is found.
    """
    found = sparse_newton(system, state, t)
    if found is not None:
        return found
    floor = sparse_descent(system, state, t)
    return None if floor is None else sparse_newton(system, floor, t)


def _dense_search(contacts: StaticContacts, system: System, state: State, t: float) -> tuple[State, float]:
    """Return the best state found from `state` by searches with dense matrices, and its residual.

    `contacts` are the gaps of `system` with their contact forces.
    """
    floor = None if contacts.elements else mixed_newton(contacts.system, state, t)
    found, best = _search(contacts, state if floor is None else floor, t)
    hopeless = (
        best > MISSED and not system.forces and _falls_freely(NullSpaceBasis.at(Point(contacts.system, found, t)))
    )
    if best > MISSED and not hopeless and not contacts.elements:
        floor = descend(contacts.system, state, t)
        found, best = (found, best) if floor is None else _search(contacts, floor, t)
    return found, best


def _convergence_error(contacts: StaticContacts, state: State, final_residual: float, t: float) -> ConvergenceError:
    """Return the ConvergenceError of a failed search.

    The error contains the best state found, `state`, and names the body with the largest acceleration there.
    `final_residual` is the residual, and `contacts` are the gaps of the system.
    """
    free = NullSpaceBasis.at(Point(contacts.system, state, t))
    model, (g, K, _) = free.point.model, accelerations(free, len(contacts.at(state)))
    falls = _falls_freely(free)
    linear, angular = (np.linalg.norm(part, axis=1) for part in change_along(free, _unbalanced(g, K) if falls else g))
    worst = int(np.argmax(np.maximum(linear, model.length * angular)))
    turns = model.length * angular[worst] > linear[worst]
    residual, unit = (float(angular[worst]), "rad/s^2") if turns else (float(linear[worst]), "m/s^2")
    if falls:
        why = "nothing resists its motion there; if it falls freely, hold it"
    elif len(contacts.at(state)):
        why = "if it falls freely or slides off its contact, hold it, or start nearer to an equilibrium"
    else:
        why = "it may keep moving without coming to rest; otherwise start nearer to an equilibrium"
    return ConvergenceError(
        f"{OWNER}: no equilibrium was found; the accelerations are {final_residual:.2g} of those due to the loads "
        f'alone, the largest at body "{model.body_names[worst]}" with {residual:.3g} {unit}: {why}; the best '
        "state is in this error's .state",
        state=contacts.without(state),
        body=model.body_names[worst],
        residual=residual,
    )


def _falls_freely(free: NullSpaceBasis) -> bool:
    """Whether the system falls freely: most of its acceleration is along directions without stiffness.

    `free` is the basis of free coordinates at the state.
    """
    g, K, _ = accelerations(free, 0)
    return bool(np.abs(_unbalanced(g, K)).max(initial=0.0) > UNOPPOSED * np.abs(g).max(initial=0.0))


def _unbalanced(g: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Return the part of accelerations g (f,) that cannot be balanced by displacements.

    This part is the component outside the range of K (f, f), the derivative of g with respect to displacements.
    """
    return np.asarray(g - K @ np.linalg.lstsq(K, g, rcond=INDIFFERENT)[0])


def _contact_forces(contacts: StaticContacts, state: State, t: float) -> np.ndarray:
    """Return the contact forces (c,) at the c gaps of a system in equilibrium, N or N m; zero at open gaps.

    The forces of redundant contacts, which are not unique, are those of least norm.

    Parameters
    ----------
    contacts : gaps and contact forces of the system
    state : state of equilibrium
    t : time, s
    """
    x = contacts.at(state)
    if not len(x):
        return x
    point = Point(contacts.system, state, t)
    gaps, (g, K, G) = contacts.gaps(point), accelerations(NullSpaceBasis.at(point), len(x))
    closed = np.abs(gaps) <= CLOSED * contacts.units
    return near_step(-K, g - G @ x, G, gaps, closed)[1]


def _search(contacts: StaticContacts, state: State, t: float) -> tuple[State, float]:
    """Search for an equilibrium from a state; return the best state found, and its residual.

    The residual is the largest acceleration, relative to the accelerations that the largest loads so far would cause.
    `contacts` are the gaps of the system.

    A step du, x solves (k - K) du = g + G x, where g are the accelerations, K their derivative, and G x the
    accelerations due to contact forces x. With k = 0 it is a Newton step. If K has positive eigenvalues, k exceeds
    them, unless the state is so close to an equilibrium that Newton's method converges. With k > 0 the step is an
    implicit Euler step of a strongly damped descent (Kelley and Keyes, SIAM J. Numer. Anal. 35 (1998)). After a step
    that increases the residual, k is increased; otherwise the next step may be longer, because the distance to the
    equilibrium may be many times the characteristic length. Contact forces satisfy complementarity in each step
    (Josephy 1979).
    """
    best, best_step, slower, previous, stride, found = np.inf, 0, 0.0, np.inf, 1.0, (state, np.inf)
    loaded = 0.0
    for number in range(MOST_STEPS):
        point = Point(contacts.system, state, t)
        free, x, gaps = NullSpaceBasis.at(point), contacts.at(state), contacts.gaps(point)
        g, K, G = accelerations(free, len(x))
        size, open_by = size_of_loads(point), contacts.complementarity_violation(x, gaps)
        loaded = max(loaded, size)
        missing, left = (max(_relative_size(g, of), open_by) for of in (size, loaded))
        if not len(g) or missing <= FOUND:
            return state, missing
        largest = float(np.abs(K).max())
        slower = max(4.0 * slower, SLOWER * largest) if left > previous else 0.25 * slower
        slower = slower if slower > INDIFFERENT * largest else 0.0
        stride = FASTER * stride if left < previous else 1.0
        previous = left
        alone, near = g - G @ x, missing <= NEARBY
        longer = FASTER ** (number - best_step)
        k = 0.0 if near else slower + _descent_damping(point, K, alone, longer, len(x) > 0)
        B = k * np.eye(len(g)) - K
        step, x = near_step(B, alone, G, gaps, x > 0) if near or not len(x) else far_step(B, alone, G, gaps)
        rest = alone + G @ x
        answered = np.abs(rest - B @ step).max() <= ANSWERED * np.abs(rest).max()
        if k <= INDIFFERENT * largest and answered and open_by <= MISSED and _is_negligible(free, step):
            missing = 0.0
        stays = left >= best
        if not stays:
            best, best_step, found = left, number, (state, missing)
        falls = not point.model.forces and bool(np.abs(_unbalanced(g, K)).max() > UNOPPOSED * np.abs(g).max())
        most = MOST_FALLING if falls and not len(x) else MOST_IN_VAIN
        if (stays and found[1] < MISSED) or left < FADED or number > best_step + most:
            break
        state = contacts.with_forces(moved_along(free, state, step, t, max(longer, stride)), x)
    return found


def _relative_size(g: np.ndarray, size: float) -> float:
    return float(np.abs(g).max(initial=0.0)) / size if size > 0 else 0.0


def _descent_damping(point: Point, K: np.ndarray, g: np.ndarray, length_factor: float, definite: bool) -> float:
    """Return the damping k, 1/s^2, for which a step (k - K) du = g decreases the potential energy.

    g (f,) are the accelerations at the operating point `point`, and K (f, f) is their derivative. `length_factor`
    scales the largest step along directions without stiffness. If `definite`, the symmetric part of k - K is positive
    definite, as required for contacts.
    """
    largest = float(np.abs(K).max())
    growing = float(np.linalg.eigvalsh(0.5 * (K + K.T))[-1] if definite else np.linalg.eigvals(K).real.max())
    found = 1.5 * growing if growing > GROWS * largest else 0.0
    # Directions without stiffness, such as a free fall, are moved by steps of the size of the system.
    falling = float(np.abs(_unbalanced(g, K)).max(initial=0.0)) / (
        length_factor * point.model.length * np.sqrt(point.model.mass.max())
    )
    return max(found, falling, INDIFFERENT * largest if definite else 0.0)


def _at_rest(system: System, start: State, t: float) -> State:
    """Return the nearest state that satisfies the constraints, with zero velocities.

    Raises
    ------
    InputError
        If drivers are in motion.
    """
    still = replace(
        start, velocity=np.zeros_like(start.velocity), angular_velocity=np.zeros_like(start.angular_velocity)
    )
    state = replace(assemble(system, still, t), angles=start.angles, internal=start.internal)
    if np.abs(state.velocity).max() > 0 or np.abs(state.angular_velocity).max() > 0:
        size = max(np.abs(state.velocity).max() / system.model.length, np.abs(state.angular_velocity).max())
        if size > 1e-12:
            raise InputError(
                f"{OWNER}: drivers move at t = {t:g} s, so nothing is at rest; hold their motions constant"
            )
    return replace(state, velocity=still.velocity, angular_velocity=still.angular_velocity)


def _is_negligible(free: NullSpaceBasis, step: np.ndarray) -> bool:
    """Whether a step changes the state by no more than round-off.

    `step` consists of changes of the free coordinates, then of the internal variables.
    """
    point, v = free.point, free.velocities.shape[1]
    internal = point.model.auxiliary.numbers(point.model.auxiliary.flat(point.state))[: len(step) - v]
    rest = np.abs(step[v:]).max(initial=0.0) <= STANDS * np.abs(internal).max(initial=0.0)
    return bool(rest and size_of_change(point, *change_along(free, step)) <= STANDS)
