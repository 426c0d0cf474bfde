"""Tangent (directional derivatives) of constrained motion, dense: the reference for the compiled solver.

The derivatives da and dlambda of accelerations and multipliers along any direction, of the state or of a parameter,
solve a linear system with the same matrix as for the accelerations,

    M da - A^T dlambda = dQ - dM a + dA^T lambda,      A da = -(d Phi'' at constant a),

where Phi'' is the second derivative of Phi along the motion. Force laws and relations are evaluated on dual numbers,
which carry derivatives. There are n bodies, m rows and D directions.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from quirk.constraints.relation import LANES, frame_numbers, layout_of

from quirk.bodies.state import Kinematics, State
from quirk.dynamics.dense.derivatives import DenseSharing, derivatives
from quirk.dynamics.dense.equations import equations
from quirk.dynamics.dense.friction import magnitudes, share_of
from quirk.dynamics.dense.row_changes import EightDirections, dual_array
from quirk.dynamics.dense.rows import spatial_rows, tangent_rows
from quirk.dynamics.dense.udwadia_kalaba import CORRECTIONS, ROUND_OFF, PseudoInverse
from quirk.dynamics.model.applied_loads import law_inputs
from quirk.dynamics.model.directions import OMEGA, TURN, Directions
from quirk.dynamics.model.friction_normal_load import Changing, load_with_changes
from quirk.dynamics.model.metric import Metric
from quirk.dynamics.model.model import Model
from quirk.dynamics.model.primitives_as_relations import as_relations
from quirk.dynamics.model.tangents import Tangent
from quirk.dynamics.model.time_derivatives import PoseDerivatives
from quirk.forces import Friction
from quirk.forces.calls import DualCall
from quirk.forces.friction import NORMAL
from quirk.forces.law import run
from quirk.jit.simd import WIDTH

# Number of inputs of a frame (its origin) before the axes.
ORIGIN = 3


@dataclass(frozen=True)
class AtConstantFriction:
    """Tangent at constant friction magnitudes, in D directions and then in the magnitudes of C friction elements.

    Attributes
    ----------
    tangent : tangent in all D + C directions
    multipliers : (m,) multipliers of the motion
    rows : (m, n + 1, 6, D + C) derivatives of the m rows over the velocities of n bodies and the ground, inertial frame
    """

    tangent: Tangent
    multipliers: np.ndarray
    rows: np.ndarray


def along_magnitudes(model: Model, directions: Directions) -> Directions:
    """Return the given directions, and one more direction for the magnitude of each friction element."""
    frictions = frictions_of(model)
    D, C = directions.count, len(frictions)

    def wider(x: np.ndarray) -> np.ndarray:
        return np.concatenate([x, np.zeros((*x.shape[:-1], C))], axis=-1)

    laws, relations = (
        {e: {place: wider(change) for place, change in inputs.items()} for e, inputs in by_element.items()}
        for by_element in (directions.laws, directions.relations)
    )
    for c, (e, friction) in enumerate(frictions.items()):
        laws.setdefault(e, {})[friction.place_of("size")] = np.eye(D + C)[D + c]
    numbers = {
        name: wider(getattr(directions, name)) for name in ("bodies", "time", "internal", "mass", "inertia", "gravity")
    }
    return Directions(**numbers, laws=laws, relations=relations)


def with_changed_friction(
    model: Model, kin: Kinematics, t: float, directions: Directions, constant: AtConstantFriction
) -> Tangent:
    """Return the tangent in D directions for friction magnitudes that vary with the normal loads."""
    frictions, D = frictions_of(model), directions.count
    loads = [_normal(model, kin, t, friction, directions, constant) for friction in frictions.values()]
    N, dN = np.array([one for one, _ in loads]), np.array([change for _, change in loads])
    mu = np.array([friction.coefficient for friction in frictions.values()])
    rougher = [_input(directions.laws, e, one.place_of("coefficient"), D) for e, one in frictions.items()]
    wanted = np.array(rougher) * N[:, None] + mu[:, None] * dN[:, :D]
    df = np.linalg.solve(np.eye(len(mu)) - mu[:, None] * dN[:, D:], wanted)
    tangent = constant.tangent

    def added(x: np.ndarray) -> np.ndarray:
        return np.asarray(x[:D] + np.tensordot(df.T, x[D:], 1))

    changed = ("linear", "angular", "multipliers", "internal", "levels")
    return replace(tangent, friction=df.T, **{name: added(getattr(tangent, name)) for name in changed})


def frictions_of(model: Model) -> dict[int, Friction]:
    """Return all sliding friction elements of a model, by index of the force element."""
    return {e: element for e, (element, _) in enumerate(model.forces) if isinstance(element, Friction)}


def _input(inputs: Mapping[int, Mapping[int, np.ndarray]], number: int, place: int, count: int) -> np.ndarray:
    """Return the derivatives (count,) of input `place` of force element or relation `number`."""
    change = inputs.get(number, {}).get(place, np.zeros(count))
    return np.concatenate([change, np.zeros(count - len(change))])


def _normal(
    model: Model, kin: Kinematics, t: float, friction: Friction, directions: Directions, constant: AtConstantFriction
) -> tuple[float, np.ndarray]:
    """Return the normal load N of a friction element, and its derivatives (D + C,)."""
    own, changes = model.joint_rows.get(friction.on.name, slice(0, 0)), constant.tangent.multipliers
    if friction.takes == NORMAL:
        rows, weights = share_of(friction, model)
        return float(weights @ constant.multipliers[rows]), changes[:, rows] @ weights
    if own.stop == own.start:
        return 0.0, np.zeros(len(changes))
    e = next(e for e, friction_element in frictions_of(model).items() if friction_element is friction)
    longer = _input(directions.laws, e, friction.place_of("length"), len(changes))
    return load_with_changes(friction, *_bearing(model, kin, t, friction, directions, constant), longer)


def _bearing(
    model: Model, kin: Kinematics, t: float, friction: Friction, directions: Directions, constant: AtConstantFriction
) -> tuple[Changing, Changing, Changing]:
    """Return the axis of a joint, and its force and torque on body j about the joint point of j, each with derivatives.

    All are in the inertial frame. `friction` is the friction element of the joint; `directions` and `constant` are as
    for `with_changed_friction`.
    """
    count = len(constant.tangent.multipliers)
    own_rows = model.joint_rows[friction.on.name]
    i, j = next(pair for one, pair in model.joint_bodies if one.name == friction.on.name)
    turns = np.concatenate([directions.bodies[:, TURN], np.zeros((1, 3, directions.count))])
    turns = np.concatenate([turns, np.zeros((len(turns), 3, count - directions.count))], axis=-1)
    number, placed = next((r, one) for r, one in enumerate(as_relations(model)) if own_rows.start == one.rows.start)
    layout = layout_of(placed.relation, 2, 2)

    def fixed(body: int, side: int, vector: np.ndarray, places: tuple[int, ...]) -> Changing:
        """Return a vector (3,) fixed in a body, in the inertial frame, with derivatives.

        `places` are the indices of its coordinates among the inputs.
        """
        first = layout.first_frame + side * layout.frame_size
        moved = np.array([_input(directions.relations, number, first + place, count) for place in places])
        R = kin.rotation[body]
        return R @ vector, (R @ (np.cross(turns[body].T, vector).T + moved)).T

    column = tuple(ORIGIN + friction.axis + 3 * c for c in range(3))
    axis = fixed(i, 0, friction.on.frame_i.matrix[:, friction.axis], column)
    arm = fixed(j, 1, friction.on.frame_j.origin, (0, 1, 2))
    rows = spatial_rows(model, kin, t)[own_rows, j]
    wrench = constant.multipliers[own_rows] @ rows
    change = np.einsum("m,mcd->dc", constant.multipliers[own_rows], constant.rows[own_rows, j])
    change = change + constant.tangent.multipliers[:, own_rows] @ rows
    force = wrench[:3], change[:, :3]
    torque = wrench[3:] - np.cross(arm[0], force[0])
    return axis, force, (torque, change[:, 3:] - np.cross(arm[1], force[0]) - np.cross(arm[0], force[1]))


def tangent(
    model: Model, metric: Metric, state: State, t: float, directions: Directions, independent: np.ndarray | None = None
) -> Tangent:
    """Return the tangent at a state that satisfies the constraints.

    `independent` (m,) marks the independent rows, by default all.
    """
    if not frictions_of(model):
        return _at_constant_friction(model, metric, state, t, directions, independent).tangent
    kin = Kinematics.of(state)
    model = _with_magnitudes(model, t, kin, independent)
    constant = _at_constant_friction(model, metric, state, t, along_magnitudes(model, directions), independent)
    return with_changed_friction(model, kin, t, directions, constant)


def _with_magnitudes(model: Model, t: float, kin: Kinematics, independent: np.ndarray | None) -> Model:
    """Return a copy of the model whose friction elements store the friction magnitudes at a state."""
    acts, solve = equations(model, t, kin, (0.0, 0.0), independent, ROUND_OFF)
    forces = list(model.forces)
    for k, (_, size) in magnitudes(model, t, kin, acts, solve).items():
        element, rows = forces[k]
        forces[k] = element.with_values({"size": size}), rows
    return replace(model, forces=forces)


def _at_constant_friction(
    model: Model, metric: Metric, state: State, t: float, directions: Directions, independent: np.ndarray | None
) -> AtConstantFriction:
    """Return the tangent at the friction magnitudes that are stored in the friction elements of the model."""
    kin = Kinematics.of(state)
    accelerations = derivatives(model, metric, state, t, 1, independent)
    motion = PoseDerivatives.of(kin, 2)
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
    pseudo_inverse = PseudoInverse.of(AW, independent)
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


class _Eight(EightDirections):
    """Derivatives in eight directions of rows and force laws; `rates` (k, 8) are those of the auxiliary states."""

    def __init__(self, model, motion, state, t, directions, first, multipliers):
        super().__init__(model, motion, t, directions, first, multipliers)
        self.state = state
        self.rates, self.applied = np.zeros((model.auxiliary.size, WIDTH)), np.zeros((len(model.mass) + 1, 6, WIDTH))
        for e in range(len(model.forces)):
            self._law(e)
        self.loads = self.loads + self.applied[:-1]

    def _law(self, e: int) -> None:
        element, rows = self.model.forces[e]
        layout, state = element.layout(), self.state
        values = law_inputs(element, layout, rows, self.motion.truncated(1), self.time.value, state.angles)
        deltas = np.zeros((layout.inputs, WIDTH))
        variables = slice(layout.first_internal, layout.first_frame, 2)
        mine = self.model.auxiliary.internal.get(element.name, slice(0, 0))
        if element.internal:
            values[variables] = state.internal.get(element.name, [getattr(element, name) for name in element.internal])
            deltas[variables] = self.padded(self.directions.internal)[mine]
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
        self.add_directions(deltas, self.directions.laws.get(e, {}))
        outputs = self._run(values, deltas, layout.outputs, element, layout)
        for f, body in enumerate(rows):
            self.applied[body] += outputs[LANES * f : LANES * f + 6]
        self.rates[mine] = outputs[layout.first_rate : layout.function_output]

    def _run(self, values, deltas, count, element, layout):  # type: ignore[no-untyped-def]
        inputs, outputs = dual_array(values, deltas), dual_array(np.zeros(count), np.zeros((count, WIDTH)))
        run(element, layout, [DualCall(value) for value in element.functions], self.time, inputs, outputs)
        return outputs.values[count:].reshape(count, WIDTH)
