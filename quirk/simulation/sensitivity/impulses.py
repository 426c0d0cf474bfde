"""Variations of velocities across impulses of contacts, and of constraints that an event enables.

The velocities v before and w after impulses L satisfy M (w - v) = A^T L, where M is the mass matrix and the rates A w
of the constraint rows A are zero or, for contacts with rebound, -e times the rates A v, with the coefficient of
restitution e. Differentiation of these equations gives a linear system with the same matrix. There are n bodies, m rows
and D parameters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from quirk.analysis.contact.parts_touched import nearest_part
from quirk.bodies.state import Kinematics, State
from quirk.constraints import Contact
from quirk.constraints.unilateral import Unilateral
from quirk.dynamics.dense.row_changes import row_changes
from quirk.dynamics.dense.rows import residuals, tangent_rows
from quirk.dynamics.dense.udwadia_kalaba import PseudoInverse
from quirk.dynamics.model.directions import OMEGA, TURN, VELOCITY, Directions
from quirk.dynamics.model.model import Model
from quirk.dynamics.plant import CompiledModel
from quirk.errors import InputError
from quirk.forces import Friction
from quirk.system.system import System

from ..hybrid.step_history import StepInterval
from .change import ParameterChange, directions_of, motions_of, with_motions
from .part_parameters import RESTITUTION

# Largest jump of momentum not explained by impulses, over the largest jump; impulses that are round-off, over the
# largest; and largest violation of an enabled constraint by a pose variation, over the variation.
UNEXPLAINED, NOTHING, MISSED = 1e-6, 1e-10, 1e-6


def after_impulse(
    system: System,
    before: StepInterval,
    after: StepInterval,
    bodies: np.ndarray,
    changes: Sequence[ParameterChange],
    later: np.ndarray,
) -> np.ndarray:
    """Return the variations (n, 12, D) of the states of n bodies after an impulse, with respect to D parameters.

    `bodies` (n, 12, D) are the variations before the impulse, and `later` (D,) the variations of its time, s. `before`
    and `after` are the intervals of steps at the event, and `changes` the derivatives of the system.
    """
    _refuse_friction(system, before, after)
    plant, t = _plant(system, before, after), before.reached
    model = plant.model
    start, end = (model.auxiliary.state(y).copy() for y in (before.end, after.start))
    kin = Kinematics.of(end)
    A = tangent_rows(model, kin, t)
    jumped = np.concatenate([end.velocity - start.velocity, end.angular_velocity - start.angular_velocity], axis=1)
    momentum = jumped.copy()
    momentum[:, :3] *= model.mass[:, None]
    momentum[:, 3:] = np.einsum("nij,nj->ni", model.inertia, jumped[:, 3:])
    multipliers = np.linalg.lstsq(A.T, momentum.ravel(), rcond=1e-12)[0]
    if np.abs(A.T @ multipliers - momentum.ravel()).max() > UNEXPLAINED * np.abs(momentum).max():
        named = ", ".join(guard.title for guard in before.events)
        raise InputError(
            f"simulate: sensitivities: {named}: velocity jumps other than those by impulses of "
            "constraints are not differentiated"
        )
    bounce, of_restitution = _bounces(system, model, (start, end), t, multipliers, changes, before.contact_state.loaded)
    used = ~((bounce >= 0) & (np.abs(multipliers) <= NOTHING * np.abs(multipliers).max()))
    multipliers = np.where(used, multipliers, 0.0)
    directions = with_motions(directions_of(model, changes), motions_of(model, changes), t)
    if any(placed.relation.motions or placed.relation.of_user for placed in model.relations):
        directions.time[:] = later
    directions.bodies[:] = bodies
    _, levels = row_changes(model, start, t, directions, multipliers)
    _check_poses(before, levels[used & (bounce < 0), 0], bodies)
    directions.bodies[:, 6:] = 0.0
    loads, after_it = row_changes(model, end, t, directions, multipliers)
    wanted = -after_it[:, 1] - np.maximum(bounce, 0.0)[:, None] * levels[:, 1] - of_restitution
    free = _free_velocities(model, kin, (jumped, momentum), loads, bodies, directions)
    metric = plant.metric
    scaled = metric.rows(A[used])
    solve = PseudoInverse.of(scaled, np.ones(int(used.sum()), dtype=bool), least=model.rank_tolerance)
    changed = bodies.copy()
    for d in range(bodies.shape[-1]):
        z = metric.coordinates(free[:, :3, d], free[:, 3:, d])
        for _ in range(2):
            z = z + solve.solve(wanted[used, d] - scaled @ z)
        changed[:, VELOCITY, d], changed[:, OMEGA, d] = metric.vector(z)
    return changed


def _refuse_friction(system: System, before: StepInterval, after: StepInterval) -> None:
    """Raise an InputError if a contact that closes has friction.

    The derivatives of its friction impulses depend on the slip during the impact, even if the impulses are zero; they
    are not computed. `before` and `after` are the intervals of steps at the event.
    """
    names = {guard.key[0] for guard in before.events if isinstance(guard.key, tuple)} | {*after.contact_state.loaded}
    for force in system.forces:
        if isinstance(force, Friction) and force.name not in after.base.idle and force.on.name in names:
            raise InputError(
                f"simulate: sensitivities: {force}: its impulses when {force.on} closes are not differentiated"
            )


def _plant(system: System, before: StepInterval, after: StepInterval) -> CompiledModel:
    """Return the compiled model with rows for all contacts that may have exerted an impulse.

    `before` and `after` are the intervals of integration steps on the two sides of the event.
    """
    closed = {guard.key[0]: guard.key[1] for guard in before.events if isinstance(guard.key, tuple)}
    for interval in (before, after):
        closed.update({name: number for name, (number, _) in interval.contact_state.loaded.items()})
        closed.update(dict(interval.contact_state.unloaded))
    state = before.plant.model.auxiliary.state(before.end)
    for name in closed:
        part = system[name]
        if isinstance(part, Contact) and part.parts is not None:
            closed[name] = nearest_part(
                system, part, state, {**before.contact_state.parts, **after.contact_state.parts}.get(name)
            )
    parts = {name: system[name] for name in closed}
    rows = {name: part.closed[closed[name]] for name, part in parts.items() if isinstance(part, Unilateral)}
    return system.plant_for(after.base.with_constraints(on=frozenset(rows)).with_others(rows))


def _bounces(
    system: System,
    model: Model,
    states: tuple[State, State],
    t: float,
    multipliers: np.ndarray,
    changes: Sequence[ParameterChange],
    resting: Collection[str],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the coefficient of restitution (m,) of each of m rows, and the effect (m, D) of its derivatives.

    The coefficient is -1 for bilateral constraints. The effect is the derivative of the rates after the impulse with
    respect to D parameters. Contacts in `resting` have no rebound, because their rate before is round-off. `states` are
    the states before and after the impulse at time t (s), `multipliers` the impulses of the rows, and `changes` the
    derivatives of the system.
    """
    before, after = (residuals(model, Kinematics.of(state), t, 1)[:, 1] for state in states)
    bounce, by_restitution = -np.ones(model.rows), np.zeros((model.rows, len(changes)))
    for name, rows in model.joint_rows.items():
        part = system[name]
        if not isinstance(part, Unilateral):
            continue
        for row in range(rows.start, rows.stop):
            hit = abs(multipliers[row]) > NOTHING * np.abs(multipliers).max() and before[row] != 0.0
            hit = hit and name not in resting
            bounce[row] = max(-after[row] / before[row], 0.0) if hit else 0.0
            if hit and abs(bounce[row] - part.restitution) <= UNEXPLAINED:
                for d, change in enumerate(changes):
                    by_parameter = change.numbers.get((RESTITUTION, name, 0))
                    by_restitution[row, d] = 0.0 if by_parameter is None else by_parameter[0] * before[row]
    return bounce, by_restitution


def _check_poses(before: StepInterval, missed: np.ndarray, bodies: np.ndarray) -> None:
    """Raise an InputError if a variation of the poses violates constraints that the event enables.

    `before` is the interval of steps before the event, `missed` are the variations of the rows' residuals, and `bodies`
    (n, 12, D) the variations of the states of n bodies with respect to D parameters.
    """
    if missed.size and np.abs(missed).max() > MISSED * (1e-6 + np.abs(bodies[:, :6]).max()):
        named = ", ".join(guard.title for guard in before.events)
        raise InputError(
            f"simulate: sensitivities: {named}: if a parameter changes, the enabled constraint does not fit the poses "
            "at the event or, with keep_offset=True, holds other poses, which is not differentiated; enable it where "
            "the constraint itself is satisfied"
        )


def _free_velocities(
    model: Model,
    kin: Kinematics,
    jump: tuple[np.ndarray, np.ndarray],
    loads: np.ndarray,
    bodies: np.ndarray,
    directions: Directions,
) -> np.ndarray:
    """Return the variations (n, 6, D) of the velocities after the impulse that result if the impulses do not vary.

    Parameters
    ----------
    model, kin : model, and kinematics at the event
    jump : jump of the velocities and of the momenta, (n, 6) each
    loads : (n, 6, D) variations of the loads of the constant impulses
    bodies : (n, 12, D) variations of the states of n bodies before the impulse, with respect to D parameters
    directions : variations of masses and inertias
    """
    jumped, momentum = jump
    force = loads[:, :3] - directions.mass[:, None] * jumped[:, :3, None]
    moment = np.einsum("nji,njd->nid", kin.rotation[:-1], loads[:, 3:])
    moment = moment - np.cross(bodies[:, TURN], momentum[:, 3:, None], axis=1)
    moment = moment - np.einsum("nijd,nj->nid", directions.inertia, jumped[:, 3:])
    by_loads = np.concatenate([force / model.mass[:, None, None], np.linalg.solve(model.inertia, moment)], axis=1)
    return by_loads + bodies[:, 6:]
