"""Are the constraints satisfied, and if not: the nearest state in which they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from . import rotation
from .dynamics.projection import displaced, factorise, with_projected_velocity
from .dynamics.rows import residuals, wrenches
from .errors import AssemblyError, InconsistentStateError
from .state import Kinematics, State

if TYPE_CHECKING:
    from .system import System

# Violations below this part of the size of the system (or of its speed) come from rounded input and are
# projected away at the start of a run.
CONSISTENCY_TOLERANCE = 1e-8

# Rates below this, 1/s, are those of a system at rest, where there is no speed to compare them with.
REST = 1e-12

# Assembly ends when its steps are below this part of the size of the system.
CONVERGED = 1e-12
MAX_STEPS = 200
# Largest turn of a body, rad, and move, in lengths of the system, in one step from far away.
LONGEST_STEP = 0.5


def violations(system: System, state: State) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """How far each row is from satisfied: amount (m,), rate (m,), and whether they are angles (m,).

    Amounts are the displacement (m) or turn (rad) that would cure the row alone.
    """
    kin = Kinematics.of(state)
    phi = residuals(system.model, kin, 1)
    wrench = wrenches(system.model, kin)
    force, moment = np.linalg.norm(wrench[:, 0], axis=1), np.linalg.norm(wrench[:, 2], axis=1)
    angular = force <= 0
    gradient = np.where(angular, moment, force)
    phi = phi / np.where(gradient > 0, gradient, 1.0)[:, None]
    return np.abs(phi[:, 0]), np.abs(phi[:, 1]), angular


def check_consistent(system: System, state: State) -> None:
    """Raise InconsistentStateError if poses or velocities violate a constraint."""
    if not system.model.rows:
        return
    length = system.model.length
    amount, rate, angular = violations(system, state)
    # Positions far from the origin carry that much more round-off.
    position_size = length + 1e-6 * np.abs(state.position).max()
    speed = np.abs(state.velocity).max() + length * np.abs(state.angular_velocity).max()
    speed = max(speed, length * REST / CONSISTENCY_TOLERANCE)
    for what, miss, size, unit in (
        ("poses", amount, np.where(angular, 1.0, position_size), ("m", "rad")),
        ("velocities", rate, np.where(angular, speed / length, speed), ("m/s", "rad/s")),
    ):
        excess = miss - CONSISTENCY_TOLERANCE * size
        worst = int(np.argmax(excess))
        if excess[worst] > 0:
            raise InconsistentStateError(
                f"{_constraint_of(system, worst)}: the initial {what} violate it by "
                f"{miss[worst]:.3g} {unit[int(angular[worst])]} (row {system.model.labels[worst]}): "
                f"correct the initial {what}, or call system.assemble() to move the bodies to the nearest "
                "state that satisfies all constraints"
            )


def assemble(system: System, start: State) -> State:
    """Return the state nearest to `start` that satisfies all constraints.

    Newton steps onto the constraints together with steps along them back towards `start`.

    Raises
    ------
    AssemblyError
        If that does not converge.
    """
    model, metric = system.model, system.metric
    if not model.rows:
        return start.copy()
    state, damping = start.copy(), 1.0
    previous = np.inf
    for _ in range(MAX_STEPS):
        kin = Kinematics.of(state)
        pseudo_inverse = factorise(model, metric, kin)
        normal = pseudo_inverse.solve(-residuals(model, kin, 0)[:, 0])
        away = metric.coordinates(*_gradient(system, start, state))
        back = pseudo_inverse.Vt.T @ (pseudo_inverse.Vt @ away) - away
        translation, turn = metric.vector(normal + damping * back)
        size = max(np.abs(turn).max(), np.abs(translation).max() / model.length)
        if size < CONVERGED:
            break
        # The way back converges at the rate of the constraints' curvature; slow it where that overshoots.
        if size > 0.9 * previous:
            damping = max(0.5 * damping, 0.05)
        previous = size
        scale = min(1.0, LONGEST_STEP / size)
        state = displaced(state, scale * translation, scale * turn)
    _check_assembled(system, state)
    kin = Kinematics.of(state)
    return with_projected_velocity(model, metric, state, kin, factorise(model, metric, kin))


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


def _check_assembled(system: System, state: State) -> None:
    amount, _, angular = violations(system, state)
    size = np.where(angular, 1.0, system.model.length + 1e-6 * np.abs(state.position).max())
    miss = amount / size
    worst = int(np.nanargmax(miss)) if np.isfinite(miss).any() else 0
    if not miss[worst] <= CONSISTENCY_TOLERANCE:
        raise AssemblyError(
            f"{_constraint_of(system, worst)}: cannot be assembled; the nearest poses found still violate it by "
            f"{amount[worst]:.3g} {'rad' if angular[worst] else 'm'} (row {system.model.labels[worst]}): "
            "check lengths, axes and joint points, or start from poses closer to an assembled one"
        )


def _constraint_of(system: System, row: int) -> object:
    name = next(n for n, rows in system.model.joint_rows.items() if rows.start <= row < rows.stop)
    return system[name]
