"""Tables of the nodes of the compiled solver: positions of their bodies in arrays, and types of their rows.

A node is a group of up to six constraint rows of one joint that are eliminated together, or a hub: a body with many
joints whose acceleration remains an unknown. A relation is a constraint defined by a function. A primitive is any of
the four elementary constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from quirk.bodies.state import STATE_SIZE
from quirk.constraints.primitives import AXIS, COINCIDENCE, DOT1, FACTORS, INERTIAL, SEPARATION
from quirk.dynamics.model.layout import KINEMATICS_SIZE, WRENCH_SIZE, Slots, compact
from quirk.dynamics.model.model import Model
from quirk.jit.simd import WIDTH

from ..kernels.relations import Relations
from ..kernels.rows import BILINEAR, HINGE, HUB, POINT, RELATION, Nodes
from .placed_joint import PlacedJoint

# Kind and first row of each primitive of a node; rows are counted from the first row of the node.
Composition = tuple[tuple[int, int], ...]


def node_table(model: Model, placed: Sequence[PlacedJoint | None], slots: Slots, relations: Relations) -> Nodes:
    """Return the table of the nodes for compiled code.

    `placed` are the constraint rows of each node, or None for a hub, a body with many joints. `slots` is the order of
    the bodies in flat arrays.
    """
    K, t = len(placed), model.table
    nodes = Nodes(
        rows=np.array([6 if joint is None else len(joint.rows) for joint in placed], dtype=np.int64),
        kind=np.full(K, HUB),
        lanes=np.zeros(K, dtype=np.int64),
        state=np.zeros(2 * K, dtype=np.int64),
        kinematics=np.zeros(2 * K, dtype=np.int64),
        wrench=np.zeros(2 * K, dtype=np.int64),
        arm=np.zeros(6 * K),
        direction=np.zeros(48 * K),
        offset=np.zeros(WIDTH * K),
        inverse_mass=np.zeros(K),
        patterns=np.zeros(0),
        relations=relations,
    )
    kind, row = t.kind.tolist(), t.row.tolist()
    patterns: dict[bytes, int] = {}
    of: list[int] = []
    joints: list[PlacedJoint] = []
    for k, joint in enumerate(placed):
        if joint is None:
            continue
        if joint.relation is not None:
            nodes.kind[k], nodes.lanes[k] = RELATION, joint.relation
            continue
        composition = tuple((kind[p], row[p] - joint.rows.start) for p in joint.primitives)
        nodes.kind[k] = _kind(composition)
        nodes.lanes[k] = patterns.setdefault(_lanes(composition), 5 * WIDTH * len(patterns))
        of.append(k)
        joints.append(joint)
    if joints:
        _place_bodies(nodes, np.array(of), np.array([joint.bodies for joint in joints]), model, slots)
        nodes.arm.reshape(K, 6)[of] = t.arm[[joint.primitives[0] for joint in joints]].reshape(-1, 6)
        _place_primitives(nodes, np.array(of), joints, model)
    return compact(nodes._replace(patterns=np.frombuffer(b"".join(patterns)).copy()))


def _place_bodies(nodes: Nodes, of: np.ndarray, bodies: np.ndarray, model: Model, slots: Slots) -> None:
    """Store the offsets of the bodies of given nodes in flat arrays, and the sums of their inverse masses, 1/kg.

    `of` (k,) are the indices of k nodes, and `bodies` (k, 2) the indices of their bodies.
    """
    for table, size in ((nodes.state, STATE_SIZE), (nodes.kinematics, KINEMATICS_SIZE), (nodes.wrench, WRENCH_SIZE)):
        table.reshape(-1, 2)[of] = slots.offsets(bodies, size)
    nodes.inverse_mass[of] = np.append(1 / model.mass, 0.0)[bodies].sum(axis=1)


def _place_primitives(nodes: Nodes, of: np.ndarray, joints: Sequence[PlacedJoint], model: Model) -> None:
    """Store the directions and offsets of the primitives (elementary constraints) of k joints.

    `of` (k,) are the indices of the nodes of `joints`.
    """
    t, K = model.table, len(nodes.rows)
    count = [len(joint.primitives) for joint in joints]
    p = np.array([p for joint in joints for p in joint.primitives])
    node, row = np.repeat(of, count), t.row[p] - np.repeat([joint.rows.start for joint in joints], count)
    offset, direction = nodes.offset.reshape(K, WIDTH), nodes.direction.reshape(K, 2, 3, WIDTH)
    factors = FACTORS[t.kind[p]]
    # Only factors that are axes of a body (x of body i, y of body j) have a direction to be stored.
    for side in range(2):
        turns = factors[:, side] == AXIS
        direction[node[turns], side, :, row[turns]] = t.direction[p[turns], side]
    single = factors[:, 0] != INERTIAL
    offset[node[single], row[single]] = t.offset[p[single]]


@cache
def _lanes(composition: Composition) -> bytes:
    """Return the types of the rows of a node as five vectors of ones and zeros (5, WIDTH), in bytes.

    The vectors are described as `patterns` of `kernels.rows.Nodes`. `composition` lists the primitives of the node,
    each as its kind and the index of its first row in the node.
    """
    lanes = np.zeros((5, WIDTH))
    for kind, row in composition:
        of_x, of_y = FACTORS[kind]
        if of_x == INERTIAL:
            lanes[[0, 1, 2], [row, row + 1, row + 2]] = 1.0
            lanes[4, row : row + 3] = 1.0
        else:
            lanes[3, row] = of_x == SEPARATION
            lanes[4, row] = of_y == SEPARATION
    return lanes.tobytes()


@cache
def _kind(composition: Composition) -> int:
    """Return the kind of a node of primitives: POINT, HINGE or BILINEAR.

    The forces of the first two kinds have constant directions. `composition` lists the primitives of the node, each as
    its kind and the index of its first row in the node.
    """
    if composition[0][0] != COINCIDENCE or any(kind != DOT1 for kind, _ in composition[1:]):
        return BILINEAR
    return POINT if len(composition) == 1 else HINGE
