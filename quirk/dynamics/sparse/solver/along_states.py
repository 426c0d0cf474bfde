"""Accelerations and loads at given states, by the compiled solver.

Flat states (nt, 13 n + k) consist of 13 components for each of n bodies and of k auxiliary states, at nt times. There
are m rows and K joints. Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import Kinematics, State
from quirk.dynamics.model.applied_loads import Exerted, summed
from quirk.dynamics.model.constrained_motion import ConstrainedMotion, quaternion_mass
from quirk.dynamics.model.metric import body_lengths
from quirk.dynamics.model.model import Model
from quirk.errors import InputError

from .ending_slip import directions_before_rest
from .joint_loads import JointLoads
from .solver import Solver


def constrained_motion(solver: Solver, t: float, kin: Kinematics, y: np.ndarray) -> ConstrainedMotion:
    """Return the accelerations and multipliers at one state, at time t (s).

    Parameters
    ----------
    solver : Solver
        The independent rows must have been selected at this state; see `Solver.settle_near`.
    kin, y : the state, as kinematics and as a flat array in blocks of eight bodies

    Raises
    ------
    InputError
        If the accelerations are not determined to nine digits.
    """
    rates = solver.slots.body_states(solver.rates(t, y))
    solver.applied.check(float(t))
    # An undefined relation also gives NaN, but then the right-hand sides in `goal` are not finite.
    if not np.isfinite(rates).all() and np.isfinite(solver.work.goal[solver.tables.row_lane]).all():
        raise undetermined(solver.model, t)
    # Constraint forces are inertial forces minus applied loads.
    acts = solver.applied.exerted(solver.applied.table.outputs[None])
    force, torque = summed(solver.model, (acts[element.name].loads[0, :, 0] for element, _ in solver.model.forces))
    torque = np.einsum("nji,nj->ni", kin.rotation[:-1], torque)
    q, omega = kin.orientation[:-1], kin.angular_velocity[:-1]
    # qdd = T^T omega_dot / 4 - |qdot|^2 q
    qdd = rotation.rate(q, rates[:, 10:]) - 0.25 * (omega**2).sum(axis=1)[:, None] * q
    M_q, Q_q = quaternion_mass(solver.model, q, omega, torque)
    on_q = np.einsum("nij,nj->ni", M_q, qdd) - Q_q
    on_r = solver.model.mass[:, None] * rates[:, 7:10] - force
    return ConstrainedMotion(
        acceleration=np.concatenate([rates[:, 7:10], qdd], axis=1),
        constraint_force=np.concatenate([on_r, on_q], axis=1),
        multipliers=solver.multipliers(),
        rank=solver.rank,
    )


def undetermined(model: Model, t: float) -> InputError:
    """Return the exception for accelerations that cannot be computed at time t (s)."""
    least = np.linalg.eigvalsh(model.inertia)[:, 0]
    light = int(np.argmin(np.minimum(model.mass, least / body_lengths(model) ** 2)))
    heavy = int(np.argmax(model.mass))
    return InputError(
        f"System: accelerations at t = {t:g} s cannot be computed to nine digits: constraint rows depend on each other "
        f"up to round-off, or inertias differ too much, from {model.mass[light]:.3g} kg with a moment of "
        f'{least[light]:.3g} kg m^2, "{model.body_names[light]}", to {model.mass[heavy]:.3g} kg, '
        f'"{model.body_names[heavy]}"; replace a light body by a joint, or a heavy one by the ground'
    )


@dataclass(frozen=True)
class Dynamics:
    """Accelerations and loads of n bodies at nt times of a run.

    Attributes
    ----------
    linear, angular : (nt, n, 3) accelerations, in the inertial frame and in body axes
    joints : force and torque (nt, 3) of each joint by name, inertial frame
    forces : loads, energy and coordinates of each force element, by name
    multipliers : (nt, m) multipliers of all m constraint rows
    auxiliary : (nt, k) rates of k auxiliary states; for work, power in W
    distance : (nt,) smallest distance of an independent row from the span of the rows before it, relative to its norm,
        in the mass metric; it tends to zero at a singular configuration
    shares : (nt, l) for sliding friction, by name: the normal load, N, of a contact (l = 1), or the change of force and
        torque of a joint (l = 6), axes of body i, by the distribution of shared loads
    last_slip : directions (d,) of the slip just before it ends, by output index and name of the friction element
    """

    linear: np.ndarray
    angular: np.ndarray
    joints: dict[str, tuple[np.ndarray, np.ndarray]]
    forces: dict[str, Exerted]
    multipliers: np.ndarray
    auxiliary: np.ndarray
    distance: np.ndarray
    shares: dict[str, np.ndarray]
    last_slip: dict[int, dict[str, np.ndarray]] = field(default_factory=dict)


def dynamics_along(
    solver: Solver,
    times: np.ndarray,
    states: np.ndarray,
    angles: np.ndarray | None,
    ends: Mapping[int, Mapping[str, Sequence[float]]] | None = None,
) -> Dynamics:
    """Return accelerations, joint loads and loads of force elements at nt times and states (nt, 13 n + k).

    There are n bodies and k auxiliary states. `angles` (nt, K, 3) are the angles of K joints with full turns, rad, or
    None. Angles in force laws are shifted by full turns to the values nearest to `angles`. `ends` are the last
    directions of slip in the run, by name of the friction element, at the indices of states at which slip may end.
    """
    accelerations = np.empty((len(times), solver.slots.bodies, 6))
    loads = JointLoads(solver, solver.related)
    forces = np.empty((len(times), loads.count, 3))
    torques = np.empty_like(forces)
    exerted = np.empty((len(times), len(solver.applied.table.outputs)))
    all_multipliers = np.empty((len(times), solver.model.rows))
    auxiliary = np.empty((len(times), solver.slots.auxiliary))
    distance, last_slip = np.ones(len(times)), dict[int, dict[str, np.ndarray]]()
    shares = {name: np.empty((len(times), size)) for name, size in solver.sizes_of_shares.items()}
    with solver.applied.calling():
        for row, (state, rates, slip) in enumerate(_evaluated(solver, times, states, angles, ends or {})):
            accelerations[row] = solver.slots.body_states(rates)[:, 7:]
            position = np.append(state[:, :3], np.zeros((1, 3)), axis=0)
            R = rotation.matrix(np.append(state[:, 3:7], [rotation.IDENTITY], axis=0))
            multipliers = [solver.multipliers()]
            (forces[row],), (torques[row],) = loads.read([solver.work.G], multipliers, position[None], R[None])
            exerted[row] = solver.applied.table.outputs
            all_multipliers[row] = multipliers[0]
            auxiliary[row] = solver.model.auxiliary.numbers(solver.slots.state_from_lanes(rates))
            distance[row] = solver.smallest_distance
            for name, share in solver.shares().items():
                shares[name][row] = share
            if slip:
                last_slip[row] = slip
    by_joint = {name: (forces[:, k], torques[:, k]) for k, name in enumerate(solver.model.joint_rows)}
    forces_by_name = solver.applied.exerted(exerted)
    linear, angular = accelerations[..., :3], accelerations[..., 3:]
    return Dynamics(linear, angular, by_joint, forces_by_name, all_multipliers, auxiliary, distance, shares, last_slip)


def _evaluated(
    solver: Solver,
    times: np.ndarray,
    states: np.ndarray,
    angles: np.ndarray | None,
    ends: Mapping[int, Mapping[str, Sequence[float]]],
) -> Iterator[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]]:
    """Evaluate y' at successive times.

    Yields the state (n, 13) of n bodies, y' in blocks of eight bodies, and the directions of slip that ends, by name of
    the friction element. `states` (nt, 13 n + k) are the states of n bodies and k auxiliary states at nt times.
    `angles` (nt, K, 3), rad, are angles of K joints with full turns, or None. `ends` is as for `dynamics_along`.
    """
    for row, t in enumerate(times):
        y = solver.slots.state_to_lanes(states[row])
        if row == 0:
            solver.settle(y, t)
        if angles is not None:
            solver.applied.refer(t, angles[row])
        ending: AbstractContextManager[dict[str, np.ndarray]] = nullcontext({})
        if ends.get(row):
            ending = directions_before_rest(solver, t, y, ends[row])
        with ending as slip:
            rates = solver.rates(t, y)
            solver.applied.check(float(t))
            yield solver.slots.body_states(y), rates, slip


def residuals_along(solver: Solver, times: np.ndarray, states: State) -> np.ndarray:
    """Return the residuals Phi of m rows and their rates at nt times and states, as an array (nt, m, 2)."""
    return _along(solver, solver.residuals, (2,), times, states)


def _along(
    solver: Solver,
    of: Callable[[np.ndarray, float], np.ndarray],
    shape: tuple[int, ...],
    times: np.ndarray,
    states: State,
) -> np.ndarray:
    """Return the values of a quantity of each of m constraint rows at nt times and states, as an array (nt, m, ...).

    `of` computes the quantity at one state and time (s), with shape `shape` for each row.
    """
    parts = np.concatenate(states.parts, axis=2)
    result = np.zeros((len(parts), solver.model.rows, *shape))
    if not solver.model.rows:
        return result
    with solver.applied.calling():
        for row, t in enumerate(times):
            result[row] = of(solver.slots.state_to_lanes(parts[row].ravel()), t)
            solver.applied.check(float(t))
    return result


def constraint_power_along(solver: Solver, times: np.ndarray, states: State, multipliers: np.ndarray) -> np.ndarray:
    """Return the power (nt, m), W, of the constraint loads of each of m rows at nt times: lambda A v.

    `multipliers` (nt, m) are the multipliers lambda. The product A v of a row and the velocities is the rate of the
    residual of the row, minus its rate at zero velocities, which is due to a driver.
    """
    rates = _along(solver, solver.residual_rates, (), times, states)
    if any(placed.relation.motions or placed.relation.of_user for placed in solver.model.relations):
        none = np.zeros_like(states.velocity)
        rates -= _along(solver, solver.residual_rates, (), times, replace(states, velocity=none, angular_velocity=none))
    return multipliers * rates
