"""Impulsive form of the equation of motion: velocities jump to the nearest ones that satisfy the constraints.

The velocities v- before and v+ after the jump satisfy A v+ = c(t) and M (v+ - v-) = A^T Lambda, for the constraint rows
A, the mass matrix M and the impulses Lambda. v+ is the solution nearest to v- in the mass metric (the Udwadia-Kalaba
equation, integrated over an instant):

    v+ = v- + M^(-1/2) (A M^(-1/2))^+ (c - A v-)

For c = 0 the energy loss is (v- - v+).M (v- - v+) / 2 = -Lambda.A v- / 2, half the sum of impulses times the row rates
before the jump.

A flat state y (13 n + k,) consists of 13 components for each of n bodies and of k auxiliary states.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.state import STATE_SIZE

from ..model.energy import angular_momentum, linear_momentum
from ..model.model import Model
from ..plant import CompiledModel
from ..sparse.solver.joint_loads import JointLoads
from ..sparse.solver.solver import Solver

# Number of corrections of the velocities; the second one removes round-off of the first.
CORRECTIONS = 2


@dataclass(frozen=True)
class Impulse:
    """Impulse of one constraint, exerted by body i on body j.

    Attributes
    ----------
    force : (3,) impulse of the force, N s, inertial frame
    torque : (3,) impulse of the torque about the joint point of body j, N m s, inertial frame
    """

    force: np.ndarray
    torque: np.ndarray


def velocity_jump(solver: Solver, y: np.ndarray, t: float) -> tuple[np.ndarray, dict[str, Impulse]]:
    """Return the state with the nearest velocities that satisfy all rows, and the impulses of constraints by name.

    State and result are flat states (13 n + k,). The independent rows of `solver` must have been selected at this
    state.
    """
    model, y = solver.model, y.copy()
    if not model.rows:
        return y, {}
    total = np.zeros(model.rows)
    lanes = solver.slots.state_to_lanes(y)
    for _ in range(CORRECTIONS):
        residual = -solver.residuals(lanes, t)[:, 1]
        change, multipliers = solver.respond(lanes, t, residual, np.zeros((len(model.mass), 6)))
        total += multipliers
        y = add_velocity_jump(y, change)
        lanes = solver.slots.state_to_lanes(y)
    return y, impulses(solver, y, total)


def add_velocity_jump(y: np.ndarray, change: np.ndarray) -> np.ndarray:
    """Return the state y (13 n + k,) with velocity jumps `change` (n, 6) of n bodies added.

    The first three columns are jumps of linear velocities in the inertial frame, the last three jumps of angular
    velocities in body axes.
    """
    y, n = y.copy(), len(change)
    y[: STATE_SIZE * n].reshape(n, STATE_SIZE)[:, 7:] += change
    return y


def impulses(solver: Solver, y: np.ndarray, multipliers: np.ndarray) -> dict[str, Impulse]:
    """Return the impulse of each enabled constraint by name, at state y.

    `multipliers` (m,) are the impulses along all m rows.
    """
    state = solver.model.auxiliary.state(y)
    position = np.append(state.position, np.zeros((1, 3)), axis=0)
    R = rotation.matrix(np.append(state.orientation, [rotation.IDENTITY], axis=0))
    loads = JointLoads(solver, solver.related)
    (force,), (torque,) = loads.read([solver.work.G], [multipliers], position[None], R[None])
    return {name: Impulse(force[k], torque[k]) for k, name in enumerate(solver.model.joint_rows)}


def project_poses(solver: Solver, y: np.ndarray, t: float) -> np.ndarray | None:
    """Return the state with the nearest poses that satisfy all rows at time t (s), and with unchanged velocities.

    States are flat (13 n + k,). The result is None if the projection fails.
    """
    lanes = solver.slots.state_to_lanes(y)
    if not solver.project(lanes, t):
        return None
    moved, n = solver.slots.state_from_lanes(lanes), solver.slots.bodies
    moved[: STATE_SIZE * n].reshape(n, STATE_SIZE)[:, 7:] = y[: STATE_SIZE * n].reshape(n, STATE_SIZE)[:, 7:]
    return moved


def largest_displacement(model: Model, y: np.ndarray, other: np.ndarray) -> float:
    """Return the largest displacement of a body between two states, m.

    A rotation counts as its angle times the characteristic length of the system.
    """
    first, second = model.auxiliary.state(y), model.auxiliary.state(other)
    turn = 2 * rotation.multiply(rotation.conjugate(first.orientation), second.orientation)[:, 1:]
    return float(max(np.abs(first.position - second.position).max(), model.length * np.abs(turn).max()))


def restore_angular_momentum(plant: CompiledModel, y: np.ndarray, before: np.ndarray, bodies: np.ndarray) -> np.ndarray:
    """Return the state y, with the total angular momentum of some bodies restored to its value in the state `before`.

    `bodies` is a mask (n,) of the bodies, which must be free to rotate together as one rigid body. Moving bodies onto a
    constraint changes their angular momentum; it is restored by adding a common angular velocity about their common
    center of mass.
    """
    model = plant.model
    wanted, present = model.auxiliary.state(before).copy(), model.auxiliary.state(y).copy()
    for state in (wanted, present):
        state.velocity[~bodies] = 0.0
        state.angular_velocity[~bodies] = 0.0
    residual = angular_momentum(model, wanted) - angular_momentum(model, present)
    mass = model.mass[bodies]
    center = mass @ present.position[bodies] / mass.sum()
    residual -= np.cross(center, linear_momentum(model, wanted) - linear_momentum(model, present))
    R, arm = rotation.matrix(present.orientation[bodies]), present.position[bodies] - center
    inertia = np.einsum("nij,njk,nlk->il", R, model.inertia[bodies], R)
    inertia += np.einsum("n,n,ij->ij", mass, (arm**2).sum(axis=1), np.eye(3)) - np.einsum("n,ni,nj->ij", mass, arm, arm)
    spin = np.linalg.lstsq(inertia, residual, rcond=1e-12)[0]
    change = np.zeros((len(model.mass), 6))
    change[bodies, :3] = np.cross(spin, arm)
    change[bodies, 3:] = np.einsum("nij,i->nj", R, spin)
    return add_velocity_jump(y, change)
