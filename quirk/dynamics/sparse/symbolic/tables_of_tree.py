"""Tables of a forest of joints for the elimination of their degrees of freedom: parent and child of each joint.

In a forest no joint closes a loop, where the ground counts as a body. The child of a joint is the body farther from the
root. A primitive is any of the four elementary constraints of which joints consist.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np

from quirk.constraints.primitives import COINCIDENCE, FACTORS, SEPARATION
from quirk.dynamics.model.layout import KINEMATICS_SIZE, WRENCH_SIZE, Slots
from quirk.dynamics.model.model import Model
from quirk.jit.simd import aligned

from ..kernels.tree import (
    INERTIA,
    JOINT_ENTRIES,
    JOINT_NUMBERS,
    ROOT_NUMBERS,
    ROTATION_LANES,
    TRANSLATION_LANES,
    TURNS,
    Tree,
)
from .placed_joint import PlacedJoint


def forest(model: Model, placed: Sequence[PlacedJoint | None], slots: Slots) -> Tree:
    """Return the tables of a forest of joints; they are empty for systems with loops or relations.

    A relation is a constraint defined by a function. `placed` are the constraint rows of each node, None for hubs
    (bodies with many joints).
    """
    n = len(model.mass)
    nodes = [k for k, joint in enumerate(placed) if joint is not None]
    joints = [joint for joint in placed if joint is not None]
    bodies = range(n)
    if not joints or any(joint.relation is not None for joint in joints) or not _is_forest(joints, n):
        nodes, joints, bodies = [], [], range(0)
    hanging: dict[int, list[int]] = {}
    for k, joint in enumerate(joints):
        for body in joint.bodies:
            hanging.setdefault(body, []).append(k)
    order: list[tuple[int, int, int]] = []
    roots = []
    reached: set[int] = set()
    for root in (n, *sorted(bodies, key=lambda body: -model.mass[body])):
        if root in reached or not bodies:
            continue
        if root != n:
            roots.append([root, slots.offset(root, WRENCH_SIZE)])
        reached.add(root)
        order += _from_root(root, joints, hanging, reached)
    own = np.zeros((len(bodies), INERTIA))
    own[:, [0, 3, 5]] = model.mass[: len(bodies), None]
    own[:, TURNS : TURNS + 6] = model.inertia[: len(bodies), *np.triu_indices(3)]
    size = slots.lanes * WRENCH_SIZE if bodies else 0
    tree = Tree(
        entries=_entries(model, nodes, joints, order[::-1], slots),
        roots=np.array(roots, dtype=np.int64).reshape(-1),
        body_inertia=aligned(own.size),
        inertia=aligned(own.size),
        joints=aligned(JOINT_NUMBERS * len(order)),
        factors=aligned(ROOT_NUMBERS * len(roots)),
        bias=aligned(size),
        acceleration=aligned(size),
    )
    tree.body_inertia[:] = own.ravel()
    return tree


def new_tree_arrays(tree: Tree) -> Tree:
    """Return a copy of the tables with new arrays for the results of compiled code."""
    written = ("inertia", "joints", "factors", "bias", "acceleration")
    return tree._replace(**{name: aligned(len(getattr(tree, name))) for name in written})


def _is_forest(joints: Sequence[PlacedJoint], n: int) -> bool:
    """Return whether no joint closes a loop among n bodies and the ground, which has the index n."""
    part = list(range(n + 1))

    def part_of(body: int) -> int:
        while part[body] != body:
            part[body] = part[part[body]]
            body = part[body]
        return body

    for joint in joints:
        one, two = map(part_of, joint.bodies)
        if one == two:
            return False
        part[one] = two
    return True


def _from_root(
    root: int, joints: Sequence[PlacedJoint], hanging: dict[int, list[int]], reached: set[int]
) -> Iterator[tuple[int, int, int]]:
    """Yield (joint, child, parent) for each joint of a tree, from the root to the tips.

    The child is the body farther from the root. `hanging` lists the joints at each body. The bodies of the tree are
    added to `reached`.
    """
    pending = [(k, root) for k in hanging.get(root, ())]
    while pending:
        k, parent = pending.pop()
        i, j = joints[k].bodies
        child = j if i == parent else i
        if child in reached:
            continue
        reached.add(child)
        yield k, child, parent
        pending += [(further, child) for further in hanging[child] if further != k]


def _entries(
    model: Model,
    nodes: Sequence[int],
    joints: Sequence[PlacedJoint],
    order: Sequence[tuple[int, int, int]],
    slots: Slots,
) -> np.ndarray:
    """Return the table entries of all joints, concatenated, as described in `kernels.tree`.

    `nodes` are the nodes of `joints`; `order` lists the index of each joint with its child and parent bodies.
    """
    kind, row, n = model.table.kind.tolist(), model.table.row.tolist(), len(model.mass)
    k, child, parent = np.array(order, dtype=np.int64).reshape(-1, 3).T
    placed = [joints[x] for x, _, _ in order]
    second = np.array([joint.bodies[1] for joint in placed], dtype=np.int64)
    composition = [
        _composition(tuple((kind[p], row[p] - joint.rows.start) for p in joint.primitives)) for joint in placed
    ]
    entries = [
        np.array(nodes, dtype=np.int64)[k], child, np.where(parent == n, -1, parent),
        *(slots.offsets(body, KINEMATICS_SIZE) for body in (child, parent)),
        *(slots.offsets(body, WRENCH_SIZE) for body in (child, parent)),
        second == child,
    ]  # fmt: skip
    rest = np.array(composition, dtype=np.int64).reshape(-1, JOINT_ENTRIES - len(entries))
    return np.column_stack([*entries, rest]).reshape(-1)


@cache
def _composition(primitives: tuple[tuple[int, int], ...]) -> list[int]:
    """Return the table entries of a joint from COINCIDES on, which describe its rows; see `kernels.tree`.

    They are: whether two points of the joint coincide, the numbers of rows that constrain translations and rotations,
    and the indices of these rows. `primitives` are the elementary constraints of the joint, each as its kind and the
    index of its first row in the joint.
    """
    shifts: list[int] = []
    turns: list[int] = []
    for kind, row in primitives:
        if kind == COINCIDENCE:
            shifts += range(row, row + 3)
        else:
            (shifts if SEPARATION in FACTORS[kind] else turns).append(row)
    lanes = np.zeros(JOINT_ENTRIES, dtype=np.int64)
    lanes[TRANSLATION_LANES:][: len(shifts)] = shifts
    lanes[ROTATION_LANES:][: len(turns)] = turns
    first = min(TRANSLATION_LANES, ROTATION_LANES)
    return [any(kind == COINCIDENCE for kind, _ in primitives), len(shifts), len(turns), *lanes[first:].tolist()]
