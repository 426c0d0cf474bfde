"""Checks of the constraints at a state, and assembly: search for the nearest state that satisfies them.

Rows are the m scalar equations of all active constraints. The violation of a row is a length (m) or an angle (rad).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies.state import State
from ..constraints import Constraint
from ..constraints.primitives import FACTORS, SEPARATION
from ..dynamics.dense.undefined import undefined_constraint
from ..dynamics.inconsistency import contradiction
from ..dynamics.model.model import Model
from ..errors import AssemblyError, InconsistentStateError
from ..util.construction import made_with
from .nearest import nearest, reversed_joint

if TYPE_CHECKING:
    from ..system.system import System

# Tolerance for violations of constraints, as a fraction of the system's length, of its speed, or of 1 rad. Smaller
# violations come from rounded input; the projection at the start of a run removes them.
CONSISTENCY_TOLERANCE = 1e-8

# Accepted velocity error of a system at rest, in lengths of the system per second.
REST = 1e-12

# Fraction of the distance from the origin that is added to the system's length in tolerances: round-off of positions
# increases with this distance.
FAR = 1e-6

# Tolerance for violations in a system with a closure tolerance, as a multiple of the latter: rows omitted as redundant
# are not satisfied exactly after poses or velocities have changed.
LEFT_OUT = 10.0

# Smallest displacement of a body since its declaration that is mentioned in messages: translation as a fraction of the
# system's length, rotation as one minus the cosine of half the angle.
MOVED = 1e-6

# Units of lengths and angles, and of their rates, in messages about constraint rows.
UNITS = (("m", "rad"), ("m/s", "rad/s"))

CURE = (
    "or call system.assemble() to move the bodies to the nearest state that satisfies all constraints; if rounded "
    "coordinates keep a redundant loop from closing, system.assemble(closure_tolerance=...) absorbs the error"
)

# Remedy in messages about member {0} of a batch; `CURE` would assemble the system common to all members.
CURE_OF_MEMBER = "or assemble it: batch.assemble([{0}])"

# Violations below this fraction of the system's length may come from rounded coordinates.
ROUNDED = 1e-2

# Number of Newton steps for velocities: the equations are linear, and the second step removes round-off of the first.
VELOCITY_STEPS = 2

# Velocity errors above this fraction of the system's speed mean that the constraints are contradictory.
CONTRADICTED = 1e-6


def violations(system: System, state: State, t: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the violation of each of the m constraint rows at a state and time t, s.

    Returns
    -------
    amount : (m,) absolute violations, m or rad
    rate : (m,) absolute rates of the violations, m/s or rad/s
    angular : (m,) bool, whether the violation of each row is an angle
    """
    solver = system.plant.for_residuals
    found = solver.residuals(solver.slots.state_to_lanes(state.pack()), t)
    return (*missing(system.model, found), system.model.row_torque)


def missing(model: Model, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the absolute violations (..., m) of m constraint rows, m or rad, and their absolute rates (..., m).

    `residuals` (..., m, 2) contains the residuals Phi and their rates. Residuals that are sines of angles or
    differences of squared lengths are converted to angles and lengths.
    """
    phi, phi_dot = np.moveaxis(residuals, -1, 0)
    scale = model.residual_scale
    # An extra entry at the end represents rows without a primitive.
    squared = np.append((FACTORS == SEPARATION).all(axis=1)[model.table.kind], False)[model.row_primitive]
    offset = np.append(model.table.offset, 0.0)[model.row_primitive]
    sine = model.row_torque & (model.row_primitive >= 0)
    # a.b is the sine of the deviation from a right angle; d.d - l^2 corresponds to the length error |d| - l.
    length = np.sqrt(np.where(squared, phi + offset, 1.0).clip(0.0))
    wanted = np.sqrt(np.where(squared, offset, 1.0))
    amount = np.where(sine, np.arcsin(np.clip(phi, -1, 1)), np.where(squared, length - wanted, phi / scale))
    rate = np.where(squared, phi_dot / (length + wanted), phi_dot / scale)
    return np.abs(amount), np.abs(rate)


def check_consistent(system: System, state: State, t: float) -> None:
    """Raise an InconsistentStateError if poses or velocities violate a constraint."""
    if not system.model.rows:
        return
    _, rate, angular = check_poses(system, state, t, "initial poses")
    length, reach, spin = system.model.length, np.abs(state.position).max(), np.abs(state.angular_velocity).max()
    # Positions far from the origin have larger round-off.
    speed = np.abs(state.velocity).max() + length * spin
    speed = max(speed + FAR * reach * spin, length * REST / CONSISTENCY_TOLERANCE)
    _check_violation(system, state, t, "initial velocities", rate, np.where(angular, speed / length, speed), 1)


def check_poses(system: System, state: State, t: float, poses: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Raise an InconsistentStateError if the poses violate a constraint; otherwise return `violations`.

    `poses` describes the poses in the message, such as "initial poses".
    """
    amount, rate, angular = violations(system, state, t)
    # The compiled solver detects an undefined row quickly, the reference solver determines the cause.
    undefined = None if np.isfinite(amount + rate).all() else undefined_constraint(system.model, state, t)
    if undefined is not None:
        raise InconsistentStateError(f"{undefined}, where the bodies are placed: correct the {poses}")
    over = reversed_joint(system, state)
    if over is not None:
        violation = f"{over[0]}: the {poses} violate it by {over[1]:.3g} rad, its frames point in opposite directions: "
        raise _inconsistent(
            violation, _construction_poses(over[0], system, state), f"correct the {poses} or the frames"
        )
    size = system.model.length + FAR * np.abs(state.position).max()
    _check_violation(system, state, t, poses, amount, np.where(angular, 1.0, size), 0)
    return amount, rate, angular


def _check_violation(
    system: System, state: State, t: float, quantity: str, miss: np.ndarray, size: np.ndarray, derivative: int
) -> None:
    """Raise an InconsistentStateError if the violations `miss` (m,) of constraint rows exceed their tolerances.

    The tolerances are a fixed fraction of the reference values `size` (m,), in the units of `miss`. `derivative` is 0
    for violations of poses and 1 for violations of velocities; `quantity` describes the poses or velocities in the
    message. t is the time, s.
    """
    excess = miss - max(CONSISTENCY_TOLERANCE, LEFT_OUT * system.model.slack) * size
    worst = int(np.argmax(excess))
    if excess[worst] > 0:
        unit = UNITS[derivative][int(system.model.row_torque[worst])]
        constraint = constraint_of(system, worst)
        violation = (
            f"{constraint}: the {quantity} violate it by {miss[worst]:.3g} {unit} (row {system.model.labels[worst]}): "
            f"{_driver_values(system, state, t, worst, quantity, derivative)}"
        )
        raise _inconsistent(violation, _construction_poses(constraint, system, state), f"correct the {quantity}")


def _inconsistent(violation: str, placed: str, remedy: str) -> InconsistentStateError:
    """Return an InconsistentStateError from the parts of its message.

    `violation` is the clause about the violated constraint, `placed` a possible cause, and `remedy` the correction.
    """
    error = InconsistentStateError(f"{violation}{placed}{remedy}, {CURE}")
    error.violation = violation + remedy
    return error


def _driver_values(system: System, state: State, t: float, row: int, quantity: str, derivative: int) -> str:
    """Return text for an error message: the prescribed and the actual coordinate of a driver at time t, s.

    With `derivative` 1 the rates of the coordinate are given instead. `quantity` describes the poses or velocities in
    the message. The string is empty if the constraint row with index `row` does not belong to a driver.
    """
    for placed in system.model.relations:
        motions = placed.relation.motions
        if not placed.rows.start <= row < placed.rows.stop or not motions or placed.relation.scale != 1.0:
            continue  # a scaled row is no difference of a coordinate and a motion
        solver = system.plant.for_residuals
        found = solver.residuals(solver.slots.state_to_lanes(state.pack()), t)[row, derivative]
        wanted = motions[row - placed.rows.start].derivatives(t, derivative)[derivative]
        unit = UNITS[derivative][int(system.model.row_torque[row])]
        return (
            f"it prescribes {wanted:.6g} {unit} at t = {t:g} s, and the {quantity} have {wanted + found:.6g} {unit}: "
        )
    return ""


def _construction_poses(constraint: Any, system: System, state: State) -> str:
    """Return a hint for an error message if bodies have moved since a constraint was constructed at their poses.

    The string is empty if no body has moved, or if the frames of the constraint were given in body coordinates.
    """
    made = made_with(constraint)
    if made is None or "frame_i" in made.arguments:
        return ""
    indices = {body.name: k for k, body in enumerate(system.bodies)}
    moved = [
        str(body)
        for body in constraint.bodies
        if body.name in indices
        and not (
            np.allclose(body.position, state.position[indices[body.name]], rtol=0.0, atol=MOVED * system.model.length)
            and abs(body.orientation @ state.orientation[indices[body.name]]) > 1.0 - MOVED
        )
    ]
    if not moved:
        return ""
    return (
        f"it was placed at the poses with which {' and '.join(moved)} {'was' if len(moved) == 1 else 'were'} declared, "
        "from which the initial state differs, as after system.assemble(): give frame_i and frame_j in body "
        "coordinates, "
    )


def of_member(error: InconsistentStateError, number: int) -> InconsistentStateError:
    """Return a copy of an error with a message that suggests assembling member `number` of a batch of systems."""
    if not error.violation:
        return error
    return InconsistentStateError(f"{error.violation}, {CURE_OF_MEMBER.format(number)}")


def assemble(system: System, start: State, t: float) -> State:
    """Return the state nearest to `start`, in the mass metric, that satisfies all constraints at time t, s.

    Raises
    ------
    AssemblyError
        If no such state is found.
    """
    return with_velocity(system, with_poses(system, start, t), t)


def with_poses(system: System, start: State, t: float) -> State:
    """Return a state with the nearest poses that satisfy all constraints at time t, s; its velocities may violate them.

    Raises
    ------
    AssemblyError
        If no such poses are found.
    """
    if not system.model.rows:
        return start.copy()
    state = nearest(system, start, t)
    _check_assembled(system, state, t)
    return state


def with_velocity(system: System, state: State, t: float) -> State:
    """Return a state with the same poses and the nearest velocities that satisfy all constraints at time t, s.

    Raises
    ------
    AssemblyError
        If constraints require contradictory velocities.
    """
    model = system.model
    if not model.rows:
        return state
    solver = system.plant.solver()
    moving, rest = (
        State(*(part.copy() for part in state.parts), bodies=state.bodies),
        np.zeros((len(state.position), 6)),
    )
    solver.settle_near(solver.slots.state_to_lanes(state.pack()), t)
    for _ in range(VELOCITY_STEPS):
        y = solver.slots.state_to_lanes(moving.pack())
        change, _ = solver.respond(y, t, -solver.residual_rates(y, t), rest)
        moving.velocity += change[:, :3]
        moving.angular_velocity += change[:, 3:]
    _, rate, angular = violations(system, moving, t)
    speed = model.length * (1.0 + np.abs(moving.angular_velocity).max()) + np.abs(moving.velocity).max()
    miss = rate / np.where(angular, speed / model.length, speed)
    worst = int(np.argmax(miss))
    if not miss[worst] <= max(CONTRADICTED, LEFT_OUT * model.slack):
        raise AssemblyError(
            f"{constraint_of(system, worst)}: cannot be assembled; its velocity is missed by {rate[worst]:.3g} "
            f"{'rad/s' if angular[worst] else 'm/s'} (row {model.labels[worst]}): "
            f"{contradiction(system, moving, t, worst)}: "
            "drop one of them, or make them agree"
        )
    return moving


def _check_assembled(system: System, state: State, t: float) -> None:
    amount, _, angular = violations(system, state, t)
    size = np.where(angular, 1.0, system.model.length + FAR * np.abs(state.position).max())
    miss = amount / size
    worst = int(np.nanargmax(miss)) if np.isfinite(miss).any() else 0
    over, limit = reversed_joint(system, state), max(CONSISTENCY_TOLERANCE, LEFT_OUT * system.model.slack)
    if over is not None and miss[worst] <= limit:
        raise AssemblyError(
            f"{over[0]}: cannot be assembled; in the nearest poses found its frames point in opposite directions: "
            "start from poses closer to an assembled one"
        )
    if not miss[worst] <= limit:
        raise AssemblyError(
            f"{constraint_of(system, worst)}: cannot be assembled; the nearest poses found still violate it by "
            f"{amount[worst]:.3g} {'rad' if angular[worst] else 'm'} (row {system.model.labels[worst]}); there "
            f"{contradiction(system, state, t, worst)}: check lengths, axes, joint points and drivers, or start from "
            f"poses closer to an assembled one{_tolerance_hint(system, float(miss[worst]))}"
        )


def _tolerance_hint(system: System, miss: float) -> str:
    """Return a hint for an error message that suggests a closure tolerance, or an empty string.

    The hint is given if the violation `miss`, relative to the system's length, may come from rounded coordinates.
    """
    if not miss <= ROUNDED:
        return ""
    tolerance = 10.0 ** np.ceil(np.log10(2.0 * miss * system.model.length))
    return (
        f"; if it comes from rounded coordinates of a redundant loop, system.assemble(closure_tolerance={tolerance:g}) "
        "absorbs it"
    )


def constraint_of(system: System, row: int) -> Constraint:
    """Return the constraint that contains the row with index `row`."""
    constraint: Constraint = system[system.model.owner(row)]
    return constraint
