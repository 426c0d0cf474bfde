"""Equation of motion in joint coordinates at one state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bodies.state import Kinematics, State
from ..constraints import Drive, Joint
from ..constraints.drive import LETTERS, driven_coordinate
from ..dynamics.dense.projection import factorise
from ..dynamics.dense.rows import residuals, tangent_rows
from ..dynamics.dense.udwadia_kalaba import CORRECTIONS, PseudoInverse
from ..dynamics.model.applied_loads import applied_loads
from ..dynamics.model.constrained_motion import gyroscopic
from ..dynamics.model.metric import Metric
from ..errors import InputError
from ..functions.motion import Motion
from ..util.misuse import explained

if TYPE_CHECKING:
    from ..system.system import System

OWNER = "System.joint_space"


@explained
@dataclass(frozen=True)
class JointSpace:
    """Equation of motion of n bodies in f joint coordinates q at one state; closed loops are allowed.

    ``mass_matrix @ qdd + bias + gravity == applied + effort``, where qdd are the second time derivatives of q. The
    efforts are the generalized forces along the coordinates: torques about joint axes, N m, and forces along them, N.

    Attributes
    ----------
    coordinates : f names such as "hinge rotation z", in the requested order
    mass_matrix : (f, f) symmetric and positive definite
    bias : (f,) efforts at qdd = 0 without gravity: Coriolis and centrifugal terms, and terms of enabled drivers
    gravity : (f,) efforts that balance the weight of all bodies
    applied : (f,) generalized forces of all force elements at this state
    velocities : (f, n, 6) velocities of all bodies for a unit rate of each coordinate: linear in the inertial frame,
        angular in body axes
    """

    coordinates: list[str]
    mass_matrix: np.ndarray
    bias: np.ndarray
    gravity: np.ndarray
    applied: np.ndarray
    velocities: np.ndarray


def joint_space(system: System, state: State, t: float, coordinates: Any) -> JointSpace:
    """Return the equation of motion in joint coordinates; see `System.joint_space`."""
    drives = _drives(coordinates, system)
    held = system.with_constraints(drives)
    model, kin, n = held.model, Kinematics.of(state), len(system.bodies)
    rank = _check_independent(system, held, drives, state, t)
    metric, f = Metric.uniform(model), len(drives)
    rows = metric.rows(tangent_rows(model, kin, t))
    inverse = factorise(model, metric, kin, t, limit=rank)
    rates = np.zeros((model.rows, f + 1))
    for k, drive in enumerate(drives):
        rates[model.joint_rows[drive.name], k] = 1.0
    rates[:, f] = -residuals(model, kin, t, 2)[:, 2]
    moved = np.array(
        [np.concatenate(metric.vector(_least_norm_motion(inverse, rows, rate)), axis=1) for rate in rates.T]
    )
    velocities, acceleration = moved[:f], moved[f]
    force, torque = applied_loads(model, t, kin)
    weight = model.mass[:, None] * model.gravity
    turning = np.einsum("nij,nj->ni", model.inertia, acceleration[:, 3:]) + gyroscopic(model, state.angular_velocity)
    momentum = _momentum(model, velocities).reshape(f, 6 * n)
    along = velocities.reshape(f, 6 * n)

    def exerted(on: np.ndarray, about: np.ndarray) -> np.ndarray:
        return along @ np.concatenate([on, about], axis=1).ravel()

    return JointSpace(
        coordinates=[f"{drive.joint.name} {drive.coordinate}" for drive in drives],
        mass_matrix=0.5 * (momentum @ along.T + along @ momentum.T),
        bias=exerted(model.mass[:, None] * acceleration[:, :3], turning),
        gravity=-exerted(weight, np.zeros((n, 3))),
        applied=exerted(force - weight, torque),
        velocities=velocities,
    )


def _momentum(model: Any, velocities: np.ndarray) -> np.ndarray:
    """Return the momenta (f, n, 6) of n bodies for f sets of velocities (f, n, 6) of all bodies.

    Linear parts are in the inertial frame, angular parts in body axes.
    """
    turning = np.einsum("nij,fnj->fni", model.inertia, velocities[..., 3:])
    return np.concatenate([model.mass[:, None] * velocities[..., :3], turning], axis=2)


def _least_norm_motion(inverse: PseudoInverse, rows: np.ndarray, rates: np.ndarray) -> np.ndarray:
    """Return the least-norm solution z of rows @ z = rates, computed with iterative refinement.

    `inverse` is the pseudo-inverse of `rows`.
    """
    z = inverse.solve(rates)
    for _ in range(CORRECTIONS):
        z = z + inverse.solve(rates - rows @ z)
    return z


def _drives(coordinates: Any, system: System) -> list[Drive]:
    """Return the drivers that hold joint coordinates constant, one for each coordinate.

    `coordinates` is the user's list of joint names or pairs (name, coordinate).
    """
    listed = [coordinates] if isinstance(coordinates, str | Joint) else coordinates
    if not isinstance(listed, Sequence) or not listed:
        raise InputError(
            f'{OWNER}: coordinates must be a list of joints, by name, or of pairs such as ("slide", "translation"); '
            f"got {coordinates!r}"
        )
    found: list[Drive] = []
    for given in listed:
        name, part = given if isinstance(given, tuple | list) and len(given) == 2 else (given, None)
        joint = system[str(getattr(name, "name", name))]
        if not isinstance(joint, Joint):
            raise InputError(f"{OWNER}: coordinates must name joints; got {joint}")
        kind, axis = driven_coordinate(f"{OWNER}: coordinates", joint, part)
        title = f"{joint.name} {kind} {LETTERS[axis]}"
        if any(title == drive.name for drive in found):
            raise InputError(f"{OWNER}: coordinates lists {title} twice: remove one")
        found.append(Drive(title, joint, Motion.constant_rate(0.0), f"{kind} {LETTERS[axis]}"))
    return found


def _check_independent(system: System, driven_system: System, drives: Sequence[Drive], state: State, t: float) -> int:
    """Return the rank of the constraint rows of `driven_system`; raise an InputError if the coordinates are invalid.

    `driven_system` is the system with the drivers `drives`, one for each joint coordinate. The coordinates are invalid
    if they are dependent or do not determine the motion.
    """
    size, f = 6 * len(system.bodies), len(drives)
    before, after = (one.plant.solver().row_independence(state, t) for one in (system, driven_system))
    freedoms = size - before.rank
    if after.rank < before.rank + f:
        first = driven_system.model.rows - f
        extra = [drive.name for k, drive in enumerate(drives) if not after.independent[first + k]]
        said = f"{', '.join(extra)} follows from the others" if extra else "some follow from the others"
        raise InputError(
            f"{OWNER}: coordinates must be independent, but at this state {said} and the constraints: the system has "
            f"{freedoms} degrees of freedom; remove it, or use another joint"
        )
    if f < freedoms:
        raise InputError(
            f"{OWNER}: the number of coordinates must equal the degrees of freedom, {freedoms} at this state; got {f}: "
            "add further joints (enabled drivers remove degrees of freedom)"
        )
    return after.rank
