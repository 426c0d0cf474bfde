"""Mobility of a system at a state: degrees of freedom, redundant rows, and uniqueness of joint loads."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..bodies.state import Kinematics, State
from ..dynamics.dense.rows import in_body_axes, residuals, spatial_rows
from ..dynamics.model.applied_loads import exerted
from ..dynamics.model.metric import Metric
from ..dynamics.model.model import Model
from ..dynamics.model.time_derivatives import PoseDerivatives
from ..dynamics.sparse.solver.solver import RowIndependence, Solver
from ..forces import Controller, ForceElement
from ..forces.joint_actuation import Actuated
from ..util.misuse import explained

UNIQUE, IN_SUM, INDETERMINATE = "unique", "unique only in sum", "indeterminate"

# Loads of null multipliers of unit norm below this are round-off, with torques divided by the system's length. Also the
# limit for the rate of a motor's coordinate, relative to the largest velocity of the motion.
NO_SHARE = 1e-6

# Second-order test: eigenvalues of a quadratic form below this fraction of its largest one are zero; maximum number of
# degrees of freedom for which the test is made.
NO_FORM, MOST_BLOCKED = 1e-9, 30
# Second-order test: quadratic forms below this multiple of the rank tolerance times the largest norm of b(z) are zero.
ALMOST_NO_FORM = 100.0

# Coefficients below this are round-off, in linear dependencies of constraint rows.
NO_PART = 1e-7

# Number of the smallest singular values in a mobility report.
SMALLEST = 5

# Independent rows are reported as nearly dependent if their relative distance from the span of other rows is below
# this: they may be intended as dependent.
NEARLY = 1e-4
# Maximum number of nearly dependent rows that a mobility report lists by name.
MOST_NAMED = 6


@explained
@dataclass(frozen=True)
class Uniqueness:
    """Whether force and torque of a joint are uniquely determined by the motion.

    The force and the torque are each "unique", "unique only in sum" or "indeterminate". "unique only in sum" means that
    only the sum over all constraints between the same two bodies is determined, with torques about a common point.
    """

    force: str
    torque: str


@explained
@dataclass(frozen=True)
class Mobility:
    """Motions that the constraints of n bodies allow at one state.

    Attributes
    ----------
    degrees_of_freedom : 6 n - rank
    bodies, rows, rank : numbers of bodies, of constraint rows, and of independent rows
    gruebler : 6 n - rows, Gruebler's count, which ignores redundancy
    blocked : number of degrees of freedom that are blocked at second order: infinitesimal motions that do not extend to
        finite motions, such as those of a straight taut chain of rods between pins
    redundant : labels of rows that depend on the rows before them
    redundant_constraints : names of all constraints that share loads with other constraints
    null_motions : (f, n, 6) basis of the f allowed motions: velocities, inertial frame, and angular velocities, body
        axes; orthonormal in the mass metric
    nearly_dependent : by label of each nearly dependent row, its distance from the span of the other rows divided by
        its norm; computed as if all bodies had equal mass and inertia
    singular_values : smallest nonzero singular values of the matrix of all rows, each row scaled to unit norm; computed
        as if all bodies had equal mass and inertia. A value close to zero indicates a nearly singular configuration
    loads : uniqueness of the force and torque of each active constraint
    held_motors : names of `JointTorque`, `JointForce`, `Actuator` and `Controller` elements whose coordinate is fixed
        by the constraints, which balance their efforts
    """

    degrees_of_freedom: int
    bodies: int
    rows: int
    rank: int
    gruebler: int
    blocked: int
    redundant: list[str]
    redundant_constraints: list[str]
    nearly_dependent: dict[str, float]
    null_motions: np.ndarray
    singular_values: np.ndarray
    loads: dict[str, Uniqueness]
    held_motors: list[str]

    @property
    def shared(self) -> list[str]:
        """Names of the constraints whose loads are not unique."""
        return [name for name, load in self.loads.items() if load != Uniqueness(UNIQUE, UNIQUE)]

    def __repr__(self) -> str:
        return f"<Mobility: {self.degrees_of_freedom} degrees of freedom, rank {self.rank} of {self.rows} rows>"

    def _repr_html_(self) -> str:
        from ..graphics.notebook.systems import of_mobility

        return of_mobility(self)

    def __str__(self) -> str:
        smallest = ", ".join(f"{value:.3g}" for value in self.singular_values)
        lines = [
            f"degrees of freedom: {self.degrees_of_freedom} = 6 x {self.bodies} - rank {self.rank} of {self.rows} rows"
            f" (counting rows alone: {self.gruebler})",
            f"smallest singular values: {smallest or 'none'}",
            f"redundant rows: {', '.join(self.redundant) or 'none'}",
        ]
        if self.blocked:
            lines.append(f"rigid to second order: {self.blocked} of the freedoms are infinitesimal motions")
        if self.nearly_dependent:
            lines.append(nearly_dependent_text(self.nearly_dependent))
        if self.held_motors:
            lines.append(f"motors on coordinates that constraints hold: {', '.join(self.held_motors)}")
        if not self.shared:
            return "\n".join([*lines, "all joint loads are unique"])
        width = max(len("load"), *(len(name) for name in self.shared))
        lines.append(
            f"{'load':<{width}}   force                torque               (whole vectors: part may be unique)"
        )
        shared = {name: self.loads[name] for name in self.shared}
        return "\n".join([*lines, *(f"{name:<{width}}   {x.force:<20} {x.torque}" for name, x in shared.items())])


def nearly_dependent_text(rows: dict[str, float]) -> str:
    """Return a line of text that lists nearly dependent rows; `rows` is `Mobility.nearly_dependent`."""
    listed = ", ".join(f"{label} ({distance:.1e})" for label, distance in list(rows.items())[:MOST_NAMED])
    more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
    return f"nearly redundant rows (distance from others): {listed}{more}"


def nearly_dependent(model: Model, independence: RowIndependence) -> dict[str, float]:
    """Return `Mobility.nearly_dependent`: relative distances of nearly dependent rows by label, smallest first."""
    near = np.flatnonzero(independence.independent & (independence.distance < NEARLY))
    return {
        model.labels[row]: float(independence.distance[row]) for row in near[np.argsort(independence.distance[near])]
    }


def mobility(solver: Solver, state: State, t: float) -> Mobility:
    """Return degrees of freedom, redundancy and uniqueness of loads at a state; see `System.mobility`."""
    model, independence = solver.model, solver.row_independence(state, t)
    n, rank, kin, alike = len(model.mass), independence.rank, Kinematics.of(state), Metric.uniform(model)
    spatial = spatial_rows(model, kin, t, solver.relations_at(state, t))
    A = alike.rows(in_body_axes(model, kin, spatial))
    # Null multipliers exert no load: rows were scaled by D, and A^T lambda = 0 for lambda = D u.
    U, singular, Vt, D = _decomposed(A)
    idle = U.T[rank:] * D * model.row_scale
    idle /= np.linalg.norm(idle, axis=1, keepdims=True)
    free = Vt[rank:] if independence.independent.all() else _decomposed(A[independence.independent])[2][rank:]
    motions_alike = _motions(alike, free)
    motions = _orthonormal(Metric.of_masses(model), motions_alike)
    loads, sharing = _uniqueness(model, kin, spatial, idle / model.row_scale)
    return Mobility(
        degrees_of_freedom=6 * n - rank,
        bodies=n,
        rows=model.rows,
        rank=rank,
        gruebler=6 * n - model.rows,
        blocked=_blocked(solver, state, t, motions_alike, idle / model.row_scale),
        redundant=[model.labels[row] for row in _dependent(idle)],
        redundant_constraints=sharing,
        nearly_dependent=nearly_dependent(model, independence),
        null_motions=motions,
        singular_values=np.sort(singular[:rank])[:SMALLEST],
        loads=loads,
        held_motors=_held_motors(model, state, motions),
    )


def null_motions(solver: Solver, state: State, t: float) -> np.ndarray:
    """Return a basis (f, n, 6) of the velocities allowed by all constraints with drivers at rest.

    The basis is that of `Mobility.null_motions`.
    """
    model, metric, kin = solver.model, Metric.of_masses(solver.model), Kinematics.of(state)
    independence = solver.row_independence(state, t)
    A = metric.rows(in_body_axes(model, kin, spatial_rows(model, kin, t, solver.relations_at(state, t))))
    return _motions(metric, _decomposed(A[independence.independent])[2][independence.rank :])


def _decomposed(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the full singular value decomposition U, s, V^T of the matrix D A, and the scale factors D (m,).

    The diagonal matrix D scales each row of A (m, k) to unit norm.
    """
    length = np.linalg.norm(A, axis=1)
    D = 1.0 / np.where(length > 0, length, 1.0)
    if not len(A):
        return np.zeros((0, 0)), np.zeros(0), np.eye(A.shape[1]), D
    return (*np.linalg.svd(D[:, None] * A), D)


def _orthonormal(metric: Metric, motions: np.ndarray) -> np.ndarray:
    """Return an orthonormal basis (f, n, 6), in a metric, of the space spanned by `motions`, f motions of n bodies."""
    if not len(motions):
        return motions
    coordinates = np.array([metric.coordinates(motion[:, :3], motion[:, 3:]) for motion in motions])
    return _motions(metric, np.linalg.qr(coordinates.T)[0].T)


def _motions(metric: Metric, vectors: np.ndarray) -> np.ndarray:
    """Return the velocities (f, n, 6) of n bodies for f vectors (f, 6 n) in the orthonormal coordinates of a metric.

    Linear velocities are in the inertial frame, angular velocities in body axes.
    """
    n = len(metric.translation)
    return np.array([np.concatenate(metric.vector(z), axis=1) for z in vectors]).reshape(-1, n, 6)


def _blocked(solver: Solver, state: State, t: float, motions: np.ndarray, null_multipliers: np.ndarray) -> int:
    """Return the number of null motions (f, n, 6) that are blocked by the constraints at second order.

    `solver` evaluates the constraints at a state and time t, s. `null_multipliers` (k, m) are multipliers that exert no
    load. A velocity z extends to a finite motion only if the constraint rows A a = b(z) have a solution a, that is, if
    lambda . b(z) = 0 for all null multipliers lambda (Connelly and Whiteley, SIAM J. Discrete Math. 9 (1996)). Each
    condition is a quadratic form in z. If a form has no negative eigenvalue, z must be orthogonal to the eigenvectors
    with positive eigenvalues.
    """
    f, model = len(motions), solver.model
    moving = any(placed.relation.motions or placed.relation.of_velocities for placed in model.relations)
    if not len(null_multipliers) or not 0 < f <= MOST_BLOCKED or moving:
        return 0

    def moved(z: np.ndarray) -> State:
        return State(state.position, state.orientation, z[:, :3], z[:, 3:])

    def bend(z: np.ndarray) -> np.ndarray:
        return residuals(model, Kinematics.of(moved(z)), t, 2, solver.relations_at(moved(z), t))[:, 2]

    def bends(z: np.ndarray) -> np.ndarray:
        return np.asarray(null_multipliers @ bend(z))

    forms = np.zeros((len(null_multipliers), f, f))
    for a in range(f):
        forms[:, a, a] = bends(motions[a])
        for b in range(a):
            forms[:, a, b] = forms[:, b, a] = (bends(motions[a] + motions[b]) - bends(motions[a] - motions[b])) / 4
    found = 0
    # Null multipliers of nearly dependent rows exert small loads, which accelerations may balance.
    bent = max(np.linalg.norm(bend(z) / model.row_scale) for z in motions)
    least = ALMOST_NO_FORM * model.rank_tolerance * bent
    # Of proportional forms one is sufficient.
    _, sizes, independent = np.linalg.svd(forms.reshape(len(forms), -1), full_matrices=False)
    for size, form in zip(sizes, independent.reshape(-1, f, f), strict=True):
        values = np.linalg.eigvalsh(form)
        scale = np.abs(values).max()
        one_sided = values.min() > -NO_FORM * scale or values.max() < NO_FORM * scale
        if size > least and one_sided:
            found = max(found, int((np.abs(values) > NO_FORM * scale).sum()))
    return found


def _held_motors(model: Model, state: State, motions: np.ndarray) -> list[str]:
    """Return the names of the motors whose joint coordinate is constant in all allowed motions.

    `motions` (f, n, 6) are f allowed motions of n bodies.
    """
    moving = [Kinematics.of(replace(state, velocity=m[:, :3], angular_velocity=m[:, 3:])) for m in motions]
    motors = [(force, rows) for force, rows in model.forces if isinstance(force, Actuated | Controller)]

    def rate(motor: ForceElement, rows: tuple[int, ...], kin: Kinematics) -> float:
        # The rate does not depend on the time, which is chosen inside the range of the motor's motion.
        t = 0.0
        for motion in map(motor.motion, motor.motions):
            t = min(max(t, motion.start), motion.end)
        return abs(float(exerted(motor, rows, PoseDerivatives.of(kin, 1), t, 0, {}, {}).coordinates[0, 1]))

    return [
        motor.name
        for motor, rows in motors
        if all(rate(motor, rows, kin) <= NO_SHARE * np.abs(m).max() for kin, m in zip(moving, motions, strict=True))
    ]


def _dependent(dependencies: np.ndarray) -> list[int]:
    """Return the indices of redundant rows, one for each dependency between rows.

    `dependencies` (k, m) contains the coefficients of k linear dependencies between m rows. Gaussian elimination starts
    at the last row, so that the redundant row is the last row with a nonzero coefficient in its dependency.
    """
    left, found = dependencies.copy(), []
    for row in range(dependencies.shape[1] - 1, -1, -1):
        if not len(left):
            break
        k = int(np.argmax(np.abs(left[:, row])))
        if np.abs(left[k, row]) > NO_PART:
            found.append(row)
            left -= np.outer(left[:, row] / left[k, row], left[k])
            left = np.delete(left, k, axis=0)
    return found[::-1]


def _uniqueness(
    model: Model, kin: Kinematics, rows: np.ndarray, null_multipliers: np.ndarray
) -> tuple[dict[str, Uniqueness], list[str]]:
    """Return the uniqueness of the load of each constraint, and the names of constraints that share loads.

    `kin` contains the poses of the n bodies, and `rows` (m, n + 1, 6) is the result of `spatial_rows`. Each of the k
    null multipliers `null_multipliers` (k, m) redistributes loads without effect on the motion. A load is unique if no
    null multiplier changes it, and unique only in sum if none changes the sum over all constraints between its two
    bodies.
    """
    length = model.length
    changes: dict[str, np.ndarray] = {}
    sums: dict[frozenset[int], np.ndarray] = {}
    for constraint, (i, j) in model.joint_bodies:
        mine = model.joint_rows[constraint.name]
        wrench = null_multipliers[:, mine] @ rows[mine, j]
        about_origin = wrench.copy()
        about_origin[:, 3:] += np.cross(kin.position[j], wrench[:, :3])
        arm = kin.rotation[j] @ constraint.frame_j.origin
        wrench[:, 3:] -= np.cross(arm, wrench[:, :3])
        changes[constraint.name] = wrench
        pair = frozenset((i, j))
        sums[pair] = sums.get(pair, 0.0) + (about_origin if i == min(pair) else -about_origin)
    # Null multipliers of nearly dependent rows exert loads of the order of the rows' distance.
    loads, sharing, share = {}, [], max(NO_SHARE, 10 * model.rank_tolerance)
    for constraint, pair_of in model.joint_bodies:
        own, together = changes[constraint.name], sums[frozenset(pair_of)]
        loads[constraint.name] = Uniqueness(
            _uniqueness_of_load(own[:, :3], together[:, :3], share),
            _uniqueness_of_load(own[:, 3:] / length, together[:, 3:] / length, share),
        )
        if np.abs(null_multipliers[:, model.joint_rows[constraint.name]]).max(initial=0.0) > NO_SHARE:
            sharing.append(constraint.name)
    return loads, sharing


def _uniqueness_of_load(motions: np.ndarray, sums: np.ndarray, share: float) -> str:
    if np.abs(motions).max(initial=0.0) <= share:
        return UNIQUE
    return IN_SUM if np.abs(sums).max(initial=0.0) <= share else INDETERMINATE
