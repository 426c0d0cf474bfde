"""Directional derivatives of friction, dense: the reference for `quirk.dynamics.sparse.tangent.friction`.

A direction is a change of the state, the time or parameters; a tangent holds the derivatives of accelerations and
multipliers in D directions.

The tangent at constant friction magnitudes f is computed for the requested directions and for each magnitude. From f =
mu N follows (I - mu dN/df) df = dmu N + mu dN; the tangent for the magnitudes times df is then added.

Terms: a relation is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from quirk.bodies.state import Kinematics
from quirk.constraints.relation import layout_of
from quirk.forces import Friction
from quirk.forces.friction import NORMAL

from ..model.directions import TURN, Directions
from ..model.friction_normal_load import Changing, load_with_changes
from ..model.model import Model
from ..model.primitives_as_relations import as_relations
from ..model.tangents import Tangent
from .friction import share_of
from .rows import spatial_rows

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

    All vectors are in the inertial frame. `friction` is the friction element of the joint; `directions` and `constant`
    are as for `with_changed_friction`.
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
