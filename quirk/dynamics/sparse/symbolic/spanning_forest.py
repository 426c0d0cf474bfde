"""Selection of the joints of a forest that connects all bodies; all other constraints close its loops."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from quirk.dynamics.model.model import Model

from ..kernels.recursion import FREE
from .driven_joints import with_drivers
from .effort import suitable_paths
from .paths import ClosingPaths
from .placed_joint import PlacedJoint
from .tables_of_recursion import Axes, Links, axes_of, links_along


def spanning_forest(joints: Sequence[PlacedJoint], axes: Axes, n: int) -> tuple[list[int], list[int]]:
    """Divide the joints of n bodies into those of a spanning forest and those that close loops; return their indices.

    Joints whose kind is FREE, such as relations (constraint functions), cannot be part of the forest. The others are
    added by Prim's algorithm. Joints with many rows, including the rows of their drivers, are added first, so that few
    rows remain for the loops. Among joints with equal numbers of rows, those near the ground are added first, so that
    loops are closed far from the ground, where their two paths are short. A part of the system that is not connected
    with the ground starts at its first body.
    """
    rows = [len(joint.rows) + (driver >= 0) for joint, driver in zip(joints, axes.driver.tolist(), strict=True)]
    at_body: list[list[int]] = [[] for _ in range(n + 1)]
    for k, joint in enumerate(joints):
        if axes.kind[k] != FREE:
            for body in joint.bodies:
                at_body[body].append(k)
    reached = [False] * (n + 1)
    forest: list[int] = []
    for root in (n, *range(n)):
        if reached[root]:
            continue
        reached[root] = True
        queue = [(-rows[k], 1, k, root) for k in at_body[root]]
        heapq.heapify(queue)
        while queue:
            _, depth, k, parent = heapq.heappop(queue)
            one, two = joints[k].bodies
            child = two if one == parent else one
            if reached[child]:
                continue
            reached[child] = True
            forest.append(k)
            for further in at_body[child]:
                if further != k:
                    heapq.heappush(queue, (-rows[further], depth + 1, further, child))
    chosen = set(forest)
    return sorted(forest), [k for k in range(len(joints)) if k not in chosen]


def forest_with_closings(
    model: Model, joints: Sequence[PlacedJoint], place: dict[int, int], effort: tuple[float, float]
) -> tuple[Links | None, list[int], ClosingPaths | None]:
    """Return the joints of a spanning forest, and the nodes and paths of the joints that close loops.

    The first result is None if all constraints are to be eliminated by rows. The paths are None if there are no loops.
    A node is the position of a joint in the order of elimination. Constraints that do work are part of the forest only
    if they are drivers of its joints, because their loads are needed.

    Parameters
    ----------
    place : node of each joint
    effort : estimated times of elimination of all rows, microseconds: factorization, and one solve
    """
    n, axes = len(model.mass), axes_of(model, joints)
    axes.kind[model.work_of_row[[joint.rows.start for joint in joints]] >= 0] = FREE
    axes = with_drivers(model, joints, axes)
    if joints and (axes.kind != FREE).all():
        whole = links_along(axes, joints, n)
        if whole is not None:
            return whole, [], None
    tree, rest = spanning_forest(joints, axes, n)
    drivers = set(axes.driver[tree].tolist())
    rest = [k for k in rest if k not in drivers]
    chain = links_along(axes.of(tree), [joints[k] for k in tree], n) if tree else None
    if chain is None:
        return None, [], None
    rest.sort(key=place.__getitem__)
    paths = suitable_paths(chain, [joints[k].bodies for k in rest], [len(joints[k].rows) for k in rest], effort)
    return (None, [], None) if paths is None else (chain, [place[k] for k in rest], paths)
