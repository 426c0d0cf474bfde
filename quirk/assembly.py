"""Are the constraints satisfied, and if not: the nearest state in which they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import rotation
from .constraints import Constraint
from .constraints.primitives import DISTANCE, DOT1
from .contradiction import others
from .dynamics.dense.projection import ROUND_OFF_ULPS, displaced, factorise, project, with_projected_velocity
from .dynamics.dense.rows import residuals
from .dynamics.dense.undefined import without_value
from .dynamics.metric import Metric
from .dynamics.model import Model
from .errors import AssemblyError, InconsistentStateError
from .state import Kinematics, State

if TYPE_CHECKING:
    from .system import System

# Violations below this part of the size of the system (or of its speed) come from rounded input and are
# projected away at the start of a run.
CONSISTENCY_TOLERANCE = 1e-8

# Rates below this, 1/s, are those of a system at rest, where there is no speed to compare them with.
REST = 1e-12

# Round-off of positions is allowed for by this part of the distance from the origin.
FAR = 1e-6

CURE = "or call system.assemble() to move the bodies to the nearest state that satisfies all constraints"

# Velocities that are missed by more than this part of the largest contradict each other.
CONTRADICTED = 1e-6

# Frames further than about 78 degrees apart are first turned towards each other.
STEEP = 0.2

# Assembly ends when its steps are below this part of the size of the system.
CONVERGED = 1e-12
MAX_STEPS = 1000
# Where the way onto the constraints is not shorter than this part of the shortest so far, for so many steps, it leads
# nowhere.
STALLED, MOST_STALLED = 0.99, 60
# Largest turn of a body, rad, and move, in lengths of the system, in one step from far away.
LONGEST_STEP = 0.5


def violations(system: System, state: State, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far each row is from satisfied: amount (m,), rate (m,), and whether they are angles (m,).

    Amounts are lengths in m or angles in rad, rates are those per second.
    """
    solver = system.plant.for_residuals
    found = solver.residuals(solver.slots.state_to_lanes(state.pack()), t)
    return (*missing(system.model, found), system.model.row_torque)


def missing(model: Model, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far rows are from satisfied, amounts and rates (..., m), from Phi and its rate (..., m, 2)."""
    phi, phi_dot = np.moveaxis(found, -1, 0)
    # A number behind the last one for rows without a primitive.
    kind = np.append(model.table.kind, -1)[model.row_primitive]
    offset = np.append(model.table.offset, 0.0)[model.row_primitive]
    sine, squared = kind == DOT1, kind == DISTANCE
    # a.b is the sine of the angle that is missing to the right one; d.d - l^2 belongs to the length |d| - l.
    length = np.sqrt(np.where(squared, phi + offset, 1.0).clip(0.0))
    amount = np.where(sine, np.arcsin(np.clip(phi, -1, 1)), np.where(squared, length - np.sqrt(offset), phi))
    rate = np.where(squared, phi_dot / (length + np.sqrt(offset)), phi_dot)
    for placed in model.relations:
        amount[..., placed.rows] /= placed.relation.scale
        rate[..., placed.rows] /= placed.relation.scale
    return np.abs(amount), np.abs(rate)


def turned_over(system: System, state: State) -> tuple[Constraint, float] | None:
    """Return the joint whose frames point most against each other, and by what angle, if there is one."""
    aligned = [(joint, ij, c) for joint, ij in system.model.joint_bodies for c in joint.aligned_axes]
    if not aligned:
        return None
    rotation = Kinematics.of(state).rotation
    axes = np.array([[joint.frame_i.matrix[:, c], joint.frame_j.matrix[:, c]] for joint, _, c in aligned])
    x, y = np.moveaxis(np.einsum("kfab,kfb->kfa", rotation[np.array([ij for _, ij, _ in aligned])], axes), 1, 0)
    angle = np.arctan2(np.linalg.norm(np.cross(x, y), axis=1), np.einsum("ka,ka->k", x, y))
    worst = int(np.argmax(angle))
    return (aligned[worst][0], float(angle[worst])) if angle[worst] > np.pi / 2 else None


def check_consistent(system: System, state: State, t: float) -> None:
    """Raise InconsistentStateError if poses or velocities violate a constraint."""
    if not system.model.rows:
        return
    _, rate, angular = check_poses(system, state, t, "initial poses")
    length, reach, spin = system.model.length, np.abs(state.position).max(), np.abs(state.angular_velocity).max()
    # Positions far from the origin carry that much more round-off.
    speed = np.abs(state.velocity).max() + length * spin
    speed = max(speed + FAR * reach * spin, length * REST / CONSISTENCY_TOLERANCE)
    _check(system, "initial velocities", rate, np.where(angular, speed / length, speed), ("m/s", "rad/s"))


def check_poses(system: System, state: State, t: float, poses: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Raise InconsistentStateError if poses violate a constraint; `poses` is what messages call them.

    Returns what `violations` does.
    """
    amount, rate, angular = violations(system, state, t)
    # What is compiled finds this at once, and the reference why.
    undefined = None if np.isfinite(amount + rate).all() else without_value(system.model, state, t)
    if undefined is not None:
        raise InconsistentStateError(f"{undefined}, where the bodies are placed: correct the {poses}")
    over = turned_over(system, state)
    if over is not None:
        raise InconsistentStateError(
            f"{over[0]}: the {poses} violate it by {over[1]:.3g} rad, its frames point against each other: "
            f"correct the {poses} or the frames, {CURE}"
        )
    size = system.model.length + FAR * np.abs(state.position).max()
    _check(system, poses, amount, np.where(angular, 1.0, size), ("m", "rad"))
    return amount, rate, angular


def _check(system: System, what: str, miss: np.ndarray, size: np.ndarray, units: tuple[str, str]) -> None:
    """Raise InconsistentStateError if rows miss (m,) more than the tolerance of their sizes (m,)."""
    excess = miss - CONSISTENCY_TOLERANCE * size
    worst = int(np.argmax(excess))
    if excess[worst] > 0:
        unit = units[int(system.model.row_torque[worst])]
        raise InconsistentStateError(
            f"{constraint_of(system, worst)}: the {what} violate it by {miss[worst]:.3g} {unit} "
            f"(row {system.model.labels[worst]}): correct the {what}, {CURE}"
        )


def assemble(system: System, start: State, t: float) -> State:
    """Return the state nearest to `start` that satisfies all constraints.

    Newton steps onto the constraints together with steps along them back towards `start`.

    Raises
    ------
    AssemblyError
        If that does not converge.
    """
    model, metric, uniform = system.model, system.plant.metric, Metric.uniform(system.model)
    if not model.rows:
        return start.copy()
    state, damping = righted(system, start), 1.0
    previous = least = np.inf
    round_off = ROUND_OFF_ULPS * np.spacing(np.abs(state.position).max()) / model.length
    stalled = 0
    for _ in range(MAX_STEPS):
        kin = Kinematics.of(state)
        if not np.isfinite(residuals(model, kin, t, 1)).all():
            raise AssemblyError(
                "System.assemble: there are poses on the way where a constraint has no value: "
                f"{without_value(model, state, t)}"
            )
        pseudo_inverse = factorise(model, metric, kin, t, limit=_rank(model, uniform, kin, t))
        normal = pseudo_inverse.solve(-residuals(model, kin, t, 0)[:, 0])
        away = metric.coordinates(*_gradient(system, start, state))
        back = pseudo_inverse.Vt.T @ (pseudo_inverse.Vt @ away) - away
        missing = _size(system, *metric.vector(normal))
        stalled = stalled + 1 if missing > max(STALLED * least, CONSISTENCY_TOLERANCE) else 0
        least = min(least, missing)
        translation, turn = metric.vector(normal + damping * back)
        size = _size(system, translation, turn)
        if size < CONVERGED + round_off or stalled > MOST_STALLED:
            break
        # The way back converges at the rate of the constraints' curvature; slow it where that overshoots.
        if size > 0.9 * previous:
            damping = max(0.5 * damping, 0.05)
        previous = size
        scale = min(1.0, LONGEST_STEP / size)
        state = displaced(state, scale * translation, scale * turn)
    # However slowly the way back converged, the constraints themselves are met.
    projected = project(model, metric, state, t, system.plant.solver().verdict(state, t).kept)
    state = state if projected is None else projected.state
    _check_assembled(system, state, t)
    return with_velocity(system, state, t)


def with_velocity(system: System, state: State, t: float) -> State:
    """Return the state with the nearest velocities that satisfy all constraints, its poses being on them.

    Raises
    ------
    AssemblyError
        If constraints ask for velocities that contradict each other.
    """
    model, kin = system.model, Kinematics.of(state)
    if not model.rows:
        return state
    kept = system.plant.solver().verdict(state, t).kept
    pseudo_inverse = factorise(model, system.plant.metric, kin, t, kept)
    moving = with_projected_velocity(model, system.plant.metric, state, kin, t, pseudo_inverse)
    _, rate, angular = violations(system, moving, t)
    speed = model.length * (1.0 + np.abs(moving.angular_velocity).max()) + np.abs(moving.velocity).max()
    miss = rate / np.where(angular, speed / model.length, speed)
    worst = int(np.argmax(miss))
    if not miss[worst] <= CONTRADICTED:
        raise AssemblyError(
            f"{constraint_of(system, worst)}: cannot be assembled; its velocity is missed by {rate[worst]:.3g} "
            f"{'rad/s' if angular[worst] else 'm/s'} (row {model.labels[worst]}): {others(system, moving, t, worst)}: "
            "drop one of them, or make them agree"
        )
    return moving


def _rank(model: Model, uniform: Metric, kin: Kinematics, t: float) -> int:
    """How many rows are independent at a state that may be far from the constraints."""
    return len(factorise(model, uniform, kin, t, least=model.rank_tolerance).s)


def _size(system: System, translation: np.ndarray, turn: np.ndarray) -> float:
    """The largest displacement, in rad or lengths of the system."""
    return max(float(np.abs(turn).max()), float(np.abs(translation).max()) / system.model.length)


def righted(system: System, start: State) -> State:
    """Return the state with bodies turned where joint frames point against each other.

    Rows hold for axes along and against each other; from more than 90 degrees away they lead to the wrong one.
    """
    from scipy.spatial.transform import Rotation  # a fifth of a second, and few runs need it

    state = start.copy()
    for constraint, (i, j) in system.model.joint_bodies:
        if not constraint.aligned_axes:
            continue
        kin = Kinematics.of(state)
        axes_i = kin.rotation[i] @ constraint.frame_i.matrix
        axes_j = kin.rotation[j] @ constraint.frame_j.matrix
        aligned = list(constraint.aligned_axes)
        if min(axes_i[:, c] @ axes_j[:, c] for c in aligned) > STEEP:
            continue
        # The shortest turn of frame j, in N, that lays the aligned axes upon each other.
        turn = Rotation.align_vectors(axes_i[:, aligned].T, axes_j[:, aligned].T)[0].as_rotvec()
        b, turn = (j, turn) if j < len(system.bodies) else (i, -turn)
        turns = np.zeros_like(state.position)
        turns[b] = kin.rotation[b].T @ turn
        state = displaced(state, np.zeros_like(state.position), turns)
    return state


def _gradient(system: System, start: State, state: State) -> tuple[np.ndarray, np.ndarray]:
    """M^-1 times the gradient of the squared distance (m |dr|^2 + theta.J theta) / 2 from `start`.

    Its translations (n, 3) are dr; its turns (n, 3), body axes, are J^-1 D^T J theta, where D(theta) maps
    a small turn of the body to the change of the rotation vector theta.
    """
    theta = rotation.log(rotation.multiply(rotation.conjugate(start.orientation), state.orientation))
    half = 0.5 * np.linalg.norm(theta, axis=1)
    # (1 - x cot x) / (2 x)^2, with its limit 1/12; theta has at most pi, so sin x does not vanish again.
    small = half < 1e-4
    x = np.where(small, 1.0, half)
    c = np.where(small, 1 / 12, (1 - x / np.tan(x)) / (4 * x**2))
    cross = rotation.skew(theta)
    D = np.eye(3) + 0.5 * cross + c[:, None, None] * cross @ cross
    J = system.model.inertia
    turn = np.linalg.solve(J, np.swapaxes(D, 1, 2) @ J @ theta[..., None])[..., 0]
    return state.position - start.position, turn


def _check_assembled(system: System, state: State, t: float) -> None:
    amount, _, angular = violations(system, state, t)
    size = np.where(angular, 1.0, system.model.length + FAR * np.abs(state.position).max())
    miss = amount / size
    worst = int(np.nanargmax(miss)) if np.isfinite(miss).any() else 0
    over = turned_over(system, state)
    if over is not None and miss[worst] <= CONSISTENCY_TOLERANCE:
        raise AssemblyError(
            f"{over[0]}: cannot be assembled; the nearest poses found have its frames point against each other: "
            "start from poses closer to an assembled one"
        )
    if not miss[worst] <= CONSISTENCY_TOLERANCE:
        raise AssemblyError(
            f"{constraint_of(system, worst)}: cannot be assembled; the nearest poses found still violate it by "
            f"{amount[worst]:.3g} {'rad' if angular[worst] else 'm'} (row {system.model.labels[worst]}); there "
            f"{others(system, state, t, worst)}: check lengths, axes, joint points and drivers, or start from poses "
            "closer to an assembled one"
        )


def constraint_of(system: System, row: int) -> object:
    """Return the constraint that a row belongs to."""
    return system[system.model.owner(row)]
