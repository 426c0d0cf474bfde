"""Tangent (directional derivatives) of constrained motion, dense: the reference for the compiled solver.

The derivatives da and dlambda of accelerations and multipliers along any direction, of the state or of a parameter,
solve a linear system with the same matrix as for the accelerations,

    M da - A^T dlambda = dQ - dM a + dA^T lambda,      A da = -(d Phi'' at constant a),

where Phi'' is the second derivative of Phi along the motion. Force laws and relations are evaluated on dual numbers,
which carry derivatives. There are n bodies, m rows and D directions.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np

from quirk.autodiff.dual import Dual, DualArray
from quirk.bodies.state import Kinematics, State
from quirk.constraints.relation import LANES, frame_numbers, layout_of
from quirk.forces.calls import DualCall
from quirk.forces.law import run
from quirk.jit.simd import WIDTH

from ..model.applied_loads import law_inputs
from ..model.directions import OMEGA, SHIFT, TURN, VELOCITY, Directions, Inputs
from ..model.metric import Metric
from ..model.model import Model, PlacedRelation
from ..model.primitives_as_relations import as_relations
from ..model.tangents import Tangent
from ..model.time_derivatives import MotionTower
from .derivatives import DenseSharing, derivatives
from .equations import with_magnitudes
from .friction_changes import AtConstantFriction, along_magnitudes, frictions_of, with_changed_friction
from .rows import relation_inputs, spatial_rows, tangent_rows
from .udwadia_kalaba import CORRECTIONS, PseudoInverse


def tangent(
    model: Model, metric: Metric, state: State, t: float, directions: Directions, kept: np.ndarray | None = None
) -> Tangent:
    """Return the tangent at a state that satisfies the constraints.

    `kept` (m,) marks the independent rows, by default all.
    """
    if not frictions_of(model):
        return _at_constant_friction(model, metric, state, t, directions, kept).tangent
    kin = Kinematics.of(state)
    model = with_magnitudes(model, t, kin, kept)
    constant = _at_constant_friction(model, metric, state, t, along_magnitudes(model, directions), kept)
    return with_changed_friction(model, kin, t, directions, constant)


def _at_constant_friction(
    model: Model, metric: Metric, state: State, t: float, directions: Directions, kept: np.ndarray | None
) -> AtConstantFriction:
    """Return the tangent at the friction magnitudes that are stored in the friction elements of the model."""
    kin = Kinematics.of(state)
    accelerations = derivatives(model, metric, state, t, 1, kept)
    motion = MotionTower.of(kin, 2)
    motion.position[:-1, 2] = accelerations.linear[0]
    motion.spin[:-1, 1] = np.einsum("nij,nj->ni", kin.rotation[:-1], accelerations.angular[0])
    parts = [
        _Eight(model, motion, state, t, directions, first, accelerations.multipliers[0])
        for first in range(0, directions.count, WIDTH)
    ]
    loads, levels, rows, rates = (
        np.concatenate([getattr(part, name) for part in parts], axis=-1)[..., : directions.count]
        for name in ("loads", "levels", "rows", "rates")
    )
    free = _free(model, kin, accelerations.linear[0], accelerations.angular[0], loads, directions)
    A = tangent_rows(model, kin, t)
    AW = metric.rows(A)
    pseudo_inverse = PseudoInverse.of(AW, kept)
    sharing = DenseSharing(model, len(pseudo_inverse.s))
    redundant = len(pseudo_inverse.s) < model.rows
    here = spatial_rows(model, kin, t)[:, :-1]
    if redundant:
        sharing.shared(accelerations.multipliers[0], here[:, :, None])
    linear, angular = np.zeros((2, directions.count, len(model.mass), 3))
    multipliers = np.zeros((directions.count, model.rows))
    for d in range(directions.count):
        start = metric.coordinates(free[:, :3, d], free[:, 3:, d])
        z = start.copy()
        for _ in range(1 + CORRECTIONS):
            correction = pseudo_inverse.multipliers(-levels[:, 2, d] - AW @ z)
            z += AW.T @ correction
            multipliers[d] += correction
        linear[d], angular[d] = metric.vector(z)
        if redundant:
            next_order = copy(sharing)
            next_order.y = list(sharing.y)
            tower = np.stack([here, rows[..., :-1, :, d]], axis=2)
            multipliers[d] = next_order.shared(multipliers[d], tower)
    friction = np.zeros((directions.count, 0))
    tangent = Tangent(linear, angular, multipliers, rates.T, np.moveaxis(levels, -1, 0), friction)
    return AtConstantFriction(tangent, accelerations.multipliers[0], rows)


def row_changes(
    model: Model, state: State, t: float, directions: Directions, multipliers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of the rows in D directions at a state without accelerations.

    Returns
    -------
    loads : (n, 6, D) derivatives of the constraint loads at constant multipliers (m,), inertial frame
    levels : (m, 3, D) derivatives of Phi and its first two time derivatives
    """
    bare, motion = replace(model, forces=[]), MotionTower.of(Kinematics.of(state), 2)
    parts = [
        _Eight(bare, motion, state, t, directions, first, multipliers) for first in range(0, directions.count, WIDTH)
    ]
    loads, levels = (np.concatenate([getattr(part, name) for part in parts], axis=-1) for name in ("loads", "levels"))
    return loads[..., : directions.count], levels[..., : directions.count]


def _free(
    model: Model, kin: Kinematics, linear: np.ndarray, angular: np.ndarray, loads: np.ndarray, directions: Directions
) -> np.ndarray:
    """Return the derivatives (n, 6, D) of the accelerations at constant multipliers.

    `linear` and `angular` (n, 3) are the accelerations, and `loads` (n, 6, D) the derivatives of the loads.
    """
    R, omega, J = kin.rotation[:-1], kin.angular_velocity[:-1], model.inertia
    momentum = np.einsum("nij,nj->ni", J, omega)
    torque = np.einsum("nij,nj->ni", J, angular) + np.cross(omega, momentum)
    turn, spin, change = directions.bodies[:, TURN], directions.bodies[:, OMEGA], directions.inertia
    force = loads[:, :3] + model.mass[:, None, None] * directions.gravity
    force = force + directions.mass[:, None] * (model.gravity - linear)[..., None]
    moment = np.einsum("nji,njd->nid", R, loads[:, 3:]) - np.cross(turn, torque[..., None], axis=1)
    moment = moment - np.cross(spin, momentum[..., None], axis=1)
    moment = moment - np.einsum("nijd,nj->nid", change, angular)
    turning = np.einsum("nij,njd->nid", J, spin) + np.einsum("nijd,nj->nid", change, omega)
    moment = moment - np.cross(omega[..., None], turning, axis=1)
    return np.concatenate([force / model.mass[:, None, None], np.linalg.solve(J, moment)], axis=1)


class _Eight:
    """Derivatives in eight directions at constant accelerations and multipliers, for n bodies and m rows.

    Attributes
    ----------
    loads : (n, 6, 8) derivatives of forces and moments about the centers of mass on all bodies, inertial frame
    levels : (m, 3, 8) derivatives of Phi and its first two time derivatives
    rows : (m, n + 1, 6, 8) derivatives of the rows over velocities and angular velocities in the inertial frame
    rates : (k, 8) derivatives of the rates of the k auxiliary states
    """

    def __init__(
        self,
        model: Model,
        motion: MotionTower,
        state: State,
        t: float,
        directions: Directions,
        first: int,
        multipliers: np.ndarray,
    ) -> None:
        n = len(model.mass)
        self.columns = slice(first, first + WIDTH)
        self.model, self.motion, self.state, self.directions = model, motion, state, directions
        self.time = Dual(t, self._eight(directions.time))
        self._move(n)
        self.loads = np.zeros((n + 1, 6, WIDTH))
        self.levels, self.rows = np.zeros((model.rows, 3, WIDTH)), np.zeros((model.rows, n + 1, 6, WIDTH))
        self.rates = np.zeros((model.carried.size, WIDTH))
        for e in range(len(model.forces)):
            self._law(e)
        for r, placed in enumerate(as_relations(model)):
            self._relation(placed, directions.relations.get(r, {}))
        self.loads = self.loads[:-1] + np.einsum("mncd,m->ncd", self.rows[:, :-1], multipliers)

    def _eight(self, x: np.ndarray) -> np.ndarray:
        """Return the columns of an array (..., D) that belong to these eight directions, padded with zeros."""
        taken = x[..., self.columns]
        return np.concatenate([taken, np.zeros((*x.shape[:-1], WIDTH - taken.shape[-1]))], axis=-1)

    def _move(self, n: int) -> None:
        """Compute the derivatives of poses, velocities and accelerations of n bodies.

        Rotations are in the inertial frame.
        """
        motion = self.motion
        bodies = np.concatenate([self._eight(self.directions.bodies), np.zeros((1, 12, WIDTH))])
        turn, omega = (np.einsum("nij,njd->nid", motion.rotation, bodies[:, part]) for part in (TURN, OMEGA))
        w, w1 = motion.spin[:, 0, :, None], motion.spin[:, 1, :, None]
        self.position, self.velocity = bodies[:, SHIFT], bodies[:, VELOCITY]
        self.rotation = np.stack([np.cross(turn, motion.rotation[:, :, c, None], axis=1) for c in range(3)], axis=2)
        self.spin, self.spin_rate = np.cross(turn, w, axis=1) + omega, np.cross(turn, w1, axis=1)
        # q' = (0, turn) q / 2
        q0, q = motion.orientation[:, :1, None], motion.orientation[:, 1:, None]
        scalar = -np.sum(turn * q, axis=1, keepdims=True)
        self.orientation = 0.5 * np.concatenate([scalar, q0 * turn + np.cross(turn, q, axis=1)], axis=1)

    def _law(self, e: int) -> None:
        element, rows = self.model.forces[e]
        layout, state = element.layout(), self.state
        values = law_inputs(element, layout, rows, self.motion.up_to(1), self.time.value, state.angles)
        deltas = np.zeros((layout.inputs, WIDTH))
        variables = slice(layout.first_internal, layout.first_frame, 2)
        mine = self.model.carried.internal.get(element.name, slice(0, 0))
        if element.internal:
            values[variables] = state.internal.get(element.name, [getattr(element, name) for name in element.internal])
            deltas[variables] = self._eight(self.directions.internal)[mine]
        for m, name in enumerate(element.motions):
            rate = element.motion(name).derivatives(self.time.value, 2)[1:]
            place = layout.first_motion + 2 * m
            deltas[place : place + 2] = rate[:, None] * self.time.delta
        for f, body in enumerate(rows):
            o = layout.first_frame + f * layout.frame_size + frame_numbers(element.ends[f][1]).size
            deltas[o : layout.first_frame + (f + 1) * layout.frame_size] = np.concatenate([
                self.position[body], self.velocity[body], self.rotation[body].reshape(9, -1), self.spin[body],
                self.orientation[body],
            ])  # fmt: skip
        self._change(deltas, self.directions.laws.get(e, {}))
        outputs = self._run(values, deltas, layout.outputs, element, layout)
        for f, body in enumerate(rows):
            self.loads[body] += outputs[LANES * f : LANES * f + 6]
        self.rates[mine] = outputs[layout.first_rate : layout.function_output]

    def _run(self, values, deltas, count, element, layout):  # type: ignore[no-untyped-def]
        inputs, outputs = _dual(values, deltas), _dual(np.zeros(count), np.zeros((count, WIDTH)))
        run(element, layout, [DualCall(value) for value in element.functions], self.time, inputs, outputs)
        return outputs.values[count:].reshape(count, WIDTH)

    def _relation(self, placed: PlacedRelation, change: Inputs) -> None:
        relation, t = placed.relation, self.time.value
        layout = layout_of(relation, len(placed.bodies), 2)
        values = relation_inputs(placed, layout, self.motion, t)
        deltas = np.zeros((layout.inputs, WIDTH))
        for m, motion in enumerate(relation.motions):
            rates = motion.derivatives(t, 3)[1:] / np.array([1.0, 1.0, 2.0])
            place = layout.numbers + 3 * m
            deltas[place : place + 3] = rates[:, None] * self.time.delta
        for f, body in enumerate(placed.bodies):
            o = layout.first_frame + f * layout.frame_size + 12
            deltas[o : o + 24] = np.concatenate([
                self.position[body], self.velocity[body], np.zeros((3, WIDTH)), self.rotation[body].reshape(9, -1),
                self.spin[body], self.spin_rate[body],
            ])  # fmt: skip
        self._change(deltas, change)
        count = layout.outputs
        outputs = _dual(np.zeros(count), np.zeros((count, WIDTH)))
        placed.fill_dual(layout, self.time, _dual(values, deltas), outputs)
        slopes = outputs.values[count:].reshape(count, WIDTH)
        self.levels[placed.rows] = slopes[: layout.first_gradient].reshape(layout.rows, 3, WIDTH)
        gradient = slopes[layout.first_gradient :].reshape(layout.rows, layout.frames, LANES, WIDTH)
        for f, body in enumerate(placed.bodies):
            self.rows[placed.rows, body] += gradient[:, f, :6]

    def _change(self, deltas: np.ndarray, inputs: Inputs) -> None:
        """Add the directions in parameters to the derivatives (inputs, 8) of the inputs of a force law or relation."""
        for place, change in inputs.items():
            deltas[place] += self._eight(change)


def _dual(values: np.ndarray, deltas: np.ndarray) -> DualArray:
    """Return an array of N dual numbers with the given values (N,) and derivatives (N, 8)."""
    return DualArray(np.concatenate([values, deltas.ravel()]), len(values))
