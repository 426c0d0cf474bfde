"""Order of elimination of multipliers and hub accelerations, computed once per topology.

The unknowns are the multipliers of each joint and the accelerations of hubs, which are bodies with many joints. A body
with d joints that is not a hub couples all of them with each other, which requires d^2 blocks. A hub is coupled with
each of its joints only, and branches attached to it are eliminated before it.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

# Maximum number of unknowns of a subtree of the elimination that is stored contiguously.
TOGETHER = 16

# Minimum number of unknowns for which the test for a clique saves time.
CLIQUE = 8

# Maximum number of joints of a body that is not a hub, if at least two of its joints carry a branch.
MOST_JOINTS = 4


@dataclass(frozen=True)
class Elimination:
    """An elimination order of the unknowns and the resulting couplings.

    Attributes
    ----------
    order : unknowns in the order of elimination: k < m denotes the multipliers of joint k of m joints, m + k the
        acceleration of body hubs[k]
    hubs : bodies with many joints, whose accelerations remain unknowns
    neighbours : for each position in `order`, the positions of the later unknowns coupled with it, ascending
    """

    order: list[int]
    hubs: list[int]
    neighbours: list[list[int]]


def eliminate(joints: Sequence[tuple[int, ...]], bodies: int, most_joints: int = MOST_JOINTS) -> Elimination:
    """Return the elimination order of the unknowns of a system: multipliers of joints, and accelerations of hubs.

    `joints` lists the bodies of each joint, where the index `bodies` denotes the ground. A hub is a body with more than
    `most_joints` joints, at least two of which carry a branch that is not connected with other parts of the system.
    """
    m = len(joints)
    at_body: list[list[int]] = [[] for _ in range(bodies + 1)]
    for joint, ends in enumerate(joints):
        for body in ends:
            at_body[body].append(joint)
    crowded = [body for body in range(bodies) if len(at_body[body]) > most_joints]
    parents = branches(joints, bodies) if crowded else {}
    hubs = [body for body in crowded if sum(parents.get(joint) == body for joint in at_body[body]) > 1]
    place = {body: m + k for k, body in enumerate(hubs)}

    coupled: list[set[int]] = [set() for _ in range(m + len(hubs))]
    waits: list[set[int]] = [set() for _ in range(m + len(hubs))]
    for body in range(bodies):
        if body in place:
            hub = place[body]
            for joint in at_body[body]:
                coupled[hub].add(joint)
                coupled[joint].add(hub)
                # Without the hub the rows of a joint in a loop may be dependent, so only branches are eliminated before
                # it.
                if parents.get(joint) != body:
                    waits[joint].add(hub)
        else:
            for joint in at_body[body]:
                coupled[joint].update(at_body[body])
    for unknown, others in enumerate(coupled):
        others.discard(unknown)
    order, later = gathered(*minimum_degree(coupled, waits))
    position = {unknown: k for k, unknown in enumerate(order)}
    return Elimination(order, hubs, [sorted(position[other] for other in others) for others in later])


def minimum_degree(coupled: list[set[int]], waits: list[set[int]]) -> tuple[list[int], list[set[int]]]:
    """Return a minimum-degree elimination order, and the later neighbors of each unknown in this order.

    `coupled` are the neighbors of each unknown, and `waits` the unknowns that must be eliminated before it. Among
    unknowns of equal degree, the one whose couplings have been unchanged longest comes first. The elimination of a
    chain therefore alternates between its two ends, so that successive steps are independent and a processor can
    overlap them.
    """
    count = len(coupled)
    degree = [len(others) for others in coupled]
    blocking: list[list[int]] = [[] for _ in range(count)]
    waiting = [len(those) for those in waits]
    for unknown, those in enumerate(waits):
        for other in those:
            blocking[other].append(unknown)
    queue = [(degree[u], u, u) for u in range(count) if not waiting[u]]
    heapq.heapify(queue)
    stamp = count
    done = [False] * count
    order: list[int] = []
    later: list[set[int]] = []
    while queue:
        key, _, unknown = heapq.heappop(queue)
        if done[unknown] or key != degree[unknown]:
            continue
        others = coupled[unknown]
        clique = others | {unknown}
        if not any(waiting[u] or blocking[u] for u in clique) and _closed(clique, coupled, degree):
            # All remaining unknowns are coupled with each other, so no order causes further fill-in.
            rest = [unknown, *sorted(others)]
            for place, member in enumerate(rest):
                done[member] = True
                order.append(member)
                later.append(set(rest[place + 1 :]))
            continue
        done[unknown] = True
        order.append(unknown)
        later.append(others)
        for freed in blocking[unknown]:
            waiting[freed] -= 1
        for other in others:
            mine = coupled[other]
            mine.discard(unknown)
            mine |= others
            mine.discard(other)
            degree[other] = len(mine)
        for other in sorted(others | set(blocking[unknown])):
            if not done[other] and not waiting[other]:
                heapq.heappush(queue, (degree[other], stamp, other))
                stamp += 1
    return order, later


def _closed(clique: set[int], coupled: list[set[int]], degree: list[int]) -> bool:
    """Return whether all unknowns of a set are coupled with each other, and with no unknown outside it.

    `coupled` are the neighbors and `degree` the number of neighbors of each unknown. False is returned for small sets,
    for which the test would not save time.
    """
    if len(clique) < CLIQUE or any(degree[member] != len(clique) - 1 for member in clique):
        return False
    return all(coupled[member] <= clique for member in clique)


def gathered(order: list[int], later: list[set[int]]) -> tuple[list[int], list[set[int]]]:
    """Reorder an elimination so that each small subtree is contiguous, with unchanged fill-in.

    `order` lists the unknowns in the order of elimination, and `later` the later neighbors of each. The small subtrees
    come first. Their unknowns are then adjacent in memory, which saves time in systems larger than the processor's
    caches.
    """
    count = len(order)
    position = {unknown: k for k, unknown in enumerate(order)}
    # In the elimination tree the parent of an unknown is its first later neighbor.
    parent = [min((position[other] for other in others), default=count) for others in later]
    size = [1] * (count + 1)
    children: list[list[int]] = [[] for _ in range(count + 1)]
    for k in range(count):
        size[parent[k]] += size[k]
        children[parent[k]].append(k)
    size[count] = TOGETHER + 1
    roots = [k for k in range(count) if size[k] <= TOGETHER < size[parent[k]]]
    places: list[int] = []
    for root in sorted(roots, key=lambda k: order[k]):
        stack, branch = [root], []
        while stack:
            branch.append(stack.pop())
            stack += children[branch[-1]]
        places += sorted(branch)
    places += [k for k in range(count) if size[k] > TOGETHER]
    return [order[k] for k in places], [later[k] for k in places]


def branches(joints: Sequence[tuple[int, ...]], bodies: int) -> dict[int, int]:
    """Return the joints whose removal disconnects a branch, each with the body from which the branch then separates.

    These joints are the bridges of the graph of bodies and joints. The result maps the index of a bridge to the index
    of its body on the side of the root; the ground has the index `bodies`. The root is the ground, or any body of a
    part that is not connected with the ground. The search is depth-first with low points (Tarjan).
    """
    at_body: list[list[tuple[int, int]]] = [[] for _ in range(bodies + 1)]
    owner: list[int] = []
    for joint, ends in enumerate(joints):
        # A constraint on one body connects it to the ground; on three and more bodies it connects them in a ring,
        # without branch.
        ring = [*ends, bodies] if len(ends) == 1 else [*ends, ends[0]] if len(ends) > 2 else ends
        for a, b in itertools.pairwise(ring):
            at_body[a].append((len(owner), b))
            at_body[b].append((len(owner), a))
            owner.append(joint)
    entered = [-1] * (bodies + 1)
    low = [0] * (bodies + 1)
    clock = 0
    carries: dict[int, int] = {}
    for root in (bodies, *range(bodies)):
        if entered[root] >= 0:
            continue
        entered[root] = low[root] = clock
        clock += 1
        stack = [(root, -1, iter(at_body[root]))]
        while stack:
            body, arrived_by, rest = stack[-1]
            for edge, other in rest:
                if edge == arrived_by:
                    continue
                if entered[other] < 0:
                    entered[other] = low[other] = clock
                    clock += 1
                    stack.append((other, edge, iter(at_body[other])))
                    break
                low[body] = min(low[body], entered[other])
            else:
                stack.pop()
                if stack:
                    parent = stack[-1][0]
                    low[parent] = min(low[parent], low[body])
                    if low[body] > entered[parent]:
                        carries[owner[arrived_by]] = parent
    return carries
