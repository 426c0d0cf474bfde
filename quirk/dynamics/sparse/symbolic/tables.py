"""Constant tables of the compiled solver, computed once per system.

A node is a group of up to six constraint rows of one joint that are eliminated together, or a hub: a body with many
joints whose acceleration remains an unknown. A side is one of the bodies connected by a node. The array G contains, for
each row, the forces and moments of a unit multiplier. A relation is a constraint defined by a function. A primitive is
any of the four elementary constraints. The factorized matrix is S = A M^-1 A^T, with the constraint rows A and the mass
matrix M.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quirk.dynamics.model.layout import (
    CONSTANTS_SIZE,
    FACTOR,
    G_FORCE,
    G_I,
    G_J,
    G_SIZE,
    GRAVITY,
    INVERSE_FACTOR,
    INVERSE_MASS,
    MASS,
    UNLIKE,
    Slots,
)
from quirk.dynamics.model.metric import body_lengths
from quirk.dynamics.model.model import Model
from quirk.jit.simd import WIDTH

from ..kernels.closings import Closings
from ..kernels.factorise import CONSTANT, TURNING
from ..kernels.recursion import Recursion
from ..kernels.relations import SIDE_FORCE, SIDE_MOMENT, SIDE_SIZE, Relations
from ..kernels.rows import HINGE, HUB, POINT, Nodes
from ..kernels.tree import Tree
from .blocks import Blocks, Products
from .effort import effort_of_rows
from .fronts import BodySides, Orthogonal, orthogonal
from .ordering import MOST_JOINTS, eliminate
from .placed_joint import PlacedJoint
from .spanning_forest import forest_with_closings
from .tables_of_closings import closings
from .tables_of_nodes import node_table
from .tables_of_recursion import recursion
from .tables_of_relations import flat_relations
from .tables_of_tree import forest
from .uniform import Uniform, uniform

# Maximum number of rows per node, so that they fit into a block. A constraint with more rows becomes several nodes.
MOST_ROWS = 6

# MODERATE is the largest ratio of inertias (masses, and moments of inertia over squared lengths) at which bodies with
# more than MOST_JOINTS joints become hubs. At larger ratios only bodies with more than MOST_JOINTS_UNEQUAL joints do.
MODERATE, MOST_JOINTS_UNEQUAL = 1e4, 200

# Rows of the unit matrix that are stored in G after the rows of all nodes, e_0 ... e_5 and -e_3 ... -e_5, and the
# offsets of each three rows.
UNIT_ROWS = np.concatenate([np.eye(6, WIDTH), -np.eye(6, WIDTH)[3:]])
FIRST_HALF, SECOND_HALF, MINUS_SECOND_HALF = 0, 24, 48

SIGNS = (-1.0, 1.0)  # a unit multiplier exerts opposite forces on bodies i and j
SIDES = (G_I, G_J)


@dataclass(frozen=True)
class Tables:
    """Constant tables of a model with m constraint rows in K nodes, for the compiled solver.

    A node is a group of rows of one joint, or a hub: a body with many joints whose acceleration remains an unknown. G
    is the array of all constraint rows, and S = A M^-1 A^T, with the constraint rows A and the mass matrix M. Compiled
    code can solve the equations of motion by factorization of S, by an orthogonal factorization of the rows, by
    elimination of the degrees of freedom of joints (`tree`), or by recursion over the joints (`recursion`).

    Attributes
    ----------
    slots : order of the bodies in flat arrays
    constants : constants of the bodies, in blocks of eight bodies
    nodes : table of the nodes for compiled code
    blocks : sparsity patterns of the block factorization of S
    joints : for each node its constraint rows as a `PlacedJoint`, None for hubs
    row_lane : (m,) position of each row in arrays with eight elements per node
    row_pivot : (m,) index of the diagonal element of each row in the orthogonal factor
    units : index in G of the first row of the unit matrix; these rows couple joints with hubs
    rows_size : number of elements of G
    orthogonal : sparsity pattern of the orthogonal factorization
    uniform : constants of the bodies in the uniform metric, which does not depend on masses
    tree : forest of joints whose degrees of freedom are eliminated in place of S; empty for systems with loops
    recursion : forest of joints for the recursion; it can be a spanning forest of a system with loops
    closings : constraints that close loops of the forest `recursion`
    """

    slots: Slots
    constants: np.ndarray
    nodes: Nodes
    blocks: Blocks
    joints: list[PlacedJoint | None]
    row_lane: np.ndarray
    row_pivot: np.ndarray
    units: int
    rows_size: int
    orthogonal: Orthogonal
    uniform: Uniform
    tree: Tree
    recursion: Recursion
    closings: Closings


def flatten(model: Model) -> Tables:
    """Return the constant tables of a model for the compiled solver."""
    n = len(model.mass)
    joints = list(_joints(model))
    elimination = eliminate([joint.bodies for joint in joints], n, _most_joints(model))
    placed = [joints[u] if u < len(joints) else None for u in elimination.order]
    hubs = {elimination.hubs[u - len(joints)]: k for k, u in enumerate(elimination.order) if u >= len(joints)}
    place, effort = {u: k for k, u in enumerate(elimination.order)}, effort_of_rows(model.rows, elimination.neighbours)
    chain, closing, paths = forest_with_closings(model, joints, place, effort)
    if chain is None:
        slots = Slots.along([joint.bodies for joint in placed if joint is not None], n, model.auxiliary.size)
    else:
        slots = Slots.along([tuple(chain.body)], n, model.auxiliary.size)
    units = G_SIZE * len(placed)
    relations = flat_relations(model, slots, units + UNIT_ROWS.size)
    nodes = node_table(model, placed, slots, relations)
    sides = _sides_at_bodies(placed, nodes)
    products = _products(model, sides, hubs, units)
    sign = np.where(nodes.kind == HUB, -1.0, 1.0)
    blocks = Blocks(elimination.neighbours, nodes.rows, sign, products)
    fronts = _orthogonal(model, elimination.neighbours, nodes.rows, sign, sides, hubs, products)
    row_lane, row_pivot = _places_of_rows(model.rows, placed, fronts.pivots)
    constants = _constants(model)
    ends = [() if joint is None else joint.bodies for joint in placed]
    alike = uniform(model, slots, constants, ends, relations, fronts)
    rows_size = units + UNIT_ROWS.size + SIDE_SIZE * len(relations.inverse_mass)
    return Tables(
        slots, slots.to_lanes(constants), nodes, blocks, placed, row_lane, row_pivot, units, rows_size, fronts, alike,
        forest(model, placed, slots), recursion(model, chain, slots, joints, place, relations),
        closings(model, paths, slots, placed, closing, relations, effort),
    )  # fmt: skip


def _places_of_rows(
    rows: int, placed: Sequence[PlacedJoint | None], pivots: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the index of each row in arrays with eight elements per node, and the index of its pivot.

    The pivots are elements of the triangular factor. `placed` are the constraint rows of each node, None for hubs;
    `pivots` are the positions of the diagonal blocks.
    """
    extents = [(k, joint.rows.start, len(joint.rows)) for k, joint in enumerate(placed) if joint is not None]
    node, start, count = np.array(extents, dtype=np.int64).reshape(-1, 3).T
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    row, node = np.repeat(start, count) + within, np.repeat(node, count)
    row_lane, row_pivot = np.zeros((2, rows), dtype=np.int64)
    row_lane[row] = WIDTH * node + within
    row_pivot[row] = pivots[node] + (WIDTH + 1) * within
    return row_lane, row_pivot


def _most_joints(model: Model) -> int:
    """Return the maximum number of joints of a body that is not a hub.

    The acceleration of a hub remains an unknown; other bodies are eliminated. If masses differ much, hubs are avoided.
    The motion of a light body between heavy branches is almost determined by the branches, and its acceleration as an
    unknown would square the mass ratio in the matrix.
    """
    slowness = np.concatenate(
        [model.mass, (np.linalg.eigvalsh(model.inertia) / body_lengths(model)[:, None] ** 2).ravel()]
    )
    return MOST_JOINTS if slowness.max() <= MODERATE * slowness.min() else MOST_JOINTS_UNEQUAL


def _joints(model: Model) -> Iterable[PlacedJoint]:
    """Yield the nodes of all constraints: groups of rows that are eliminated together.

    A relation, a constraint defined by a function, is one node. The rows of other constraints are divided into nodes of
    at most MOST_ROWS rows.
    """
    relations = {placed.rows.start: k for k, placed in enumerate(model.relations)}
    primitives = model.row_primitive.tolist()
    for (_, bodies), rows in zip(model.joint_bodies, model.joint_rows.values(), strict=True):
        row = rows.start
        while row < rows.stop:
            if row in relations:
                placed = model.relations[relations[row]]
                yield PlacedJoint(placed.bodies, range(row, placed.rows.stop), range(0), relations[row])
                row = placed.rows.stop
                continue
            begin = p = primitives[row]
            start = row
            while row < rows.stop and primitives[row] >= 0:
                end = row + primitives[rows.start : rows.stop].count(p)
                if end - start > MOST_ROWS:
                    break
                row, p = end, p + 1
            yield PlacedJoint(bodies, range(start, row), range(begin, p))


def _constants(model: Model) -> np.ndarray:
    """Return the constants (n, CONSTANTS_SIZE) of the n bodies of a model; the ground is not included."""
    n = len(model.mass)
    W = model.inverse_root
    constants = np.zeros((n, CONSTANTS_SIZE))
    constants[:, INVERSE_MASS] = 1 / model.mass
    constants[:, GRAVITY : GRAVITY + 3] = model.gravity
    constants[:, UNLIKE : UNLIKE + 9] = model.gyroscopic_inertia.reshape(n, 9)
    constants[:, MASS] = model.mass
    constants[:, FACTOR : FACTOR + 9] = W.reshape(n, 9)
    constants[:, INVERSE_FACTOR : INVERSE_FACTOR + 9] = np.linalg.inv(W).reshape(n, 9)
    return constants


def _sides_at_bodies(placed: Sequence[PlacedJoint | None], nodes: Nodes) -> dict[int, list[Side]]:
    """Return the loads that joints exert on each body, by the index of the body.

    `placed` are the constraint rows of each node, None for hubs, which are bodies with many joints.
    """
    at_body: dict[int, list[Side]] = {}
    constant = ((nodes.kind == POINT) | (nodes.kind == HINGE)).tolist()
    for k, joint in enumerate(placed):
        if joint is not None:
            for body, side in zip(joint.bodies, _sides(k, joint, nodes.relations, constant[k]), strict=True):
                at_body.setdefault(body, []).append(side)
    return at_body


def _orthogonal(
    model: Model,
    neighbours: Sequence[Sequence[int]],
    rows: np.ndarray,
    sign: np.ndarray,
    at_body: dict[int, list[Side]],
    hubs: dict[int, int],
    products: Products,
) -> Orthogonal:
    """Return the sparsity pattern of the orthogonal factorization.

    A node is a joint, or a hub: a body with many joints.

    Parameters
    ----------
    neighbours : for each node, the later nodes coupled with it when it is eliminated
    rows, sign : number of rows of each node, and sign of its pivots: 1 for joints, -1 for hubs
    at_body : for each body, the loads that joints exert on it
    hubs : for each hub, its node
    products : for each pair of coupled nodes, the products of rows that form their block; only pairs of a joint and a
        hub are used
    """
    root = np.sqrt(model.mass).tolist()
    bodies = [
        BodySides(
            nodes=[side.node for side in sides],
            force=[side.force for side in sides],
            moment=[side.moment for side in sides],
            scale=[side.sign / root[body] for side in sides],
        )
        for body, sides in at_body.items()
        if body not in hubs and body < len(model.mass)
    ]
    mixed = [pair for pair in products if sign[pair[0]] != sign[pair[1]]]
    couplings = {pair: [term[1:] for term in products[pair]] for pair in mixed}
    return orthogonal(neighbours, rows, sign, bodies, couplings)


def _products(model: Model, at_body: dict[int, list[Side]], hubs: dict[int, int], units: int) -> Products:
    """Return, for each pair of coupled nodes, the products of rows that form their block of the matrix.

    A node is a joint, or a hub: a body with many joints whose acceleration is an unknown. The matrix is S = A M^-1 A^T
    for joints, with the constraint rows A and the mass matrix M, and minus the unit matrix for hubs. A block is the sum
    of its products. Two joints have one product for each body that they share.

    Parameters
    ----------
    at_body : for each body, the loads that joints exert on it
    hubs : for each hub, its node
    units : index in the array G of the first row of the unit matrix
    """
    products: Products = {}
    mass = model.mass.tolist()
    for body, hub in hubs.items():
        # Minus the unit matrix: the product of moments gives rows 3 to 5, the weighted product of forces rows 0 to 2.
        products[hub, hub] = [(TURNING, units + SECOND_HALF, units + MINUS_SECOND_HALF, units, units, -1.0)]
        scale = 1 / math.sqrt(mass[body])
        for side in at_body[body]:
            # The unit rows select the components of the hub, on the left if the hub is eliminated first.
            moments, forces = (side.moment, units + SECOND_HALF), (side.force, units + FIRST_HALF)
            k = side.node
            if hub < k:
                moments, forces = moments[::-1], forces[::-1]
            product = (TURNING, *moments, *forces, side.sign * scale)
            products.setdefault((min(k, hub), max(k, hub)), []).append(product)
    for body, sides in at_body.items():
        if body in hubs or body == len(mass):
            continue
        for one in sides:
            for two in sides:
                if two.node < one.node:
                    continue
                kind = CONSTANT if one.constant and two.constant else TURNING
                weight = one.sign * two.sign / mass[body]
                product = (kind, one.moment, two.moment, one.force, two.force, weight)
                products.setdefault((one.node, two.node), []).append(product)
    return products


class Side(NamedTuple):
    """Load on one body due to unit multipliers of a joint, as positions in the array G of all constraint rows.

    Attributes
    ----------
    node : index of the joint among the nodes
    moment, force : index in G of the first moment component, and of the first force component
    sign : factor of the forces: 1, or -1 if G contains the forces on the other body
    constant : whether the forces act along the inertial axes, as for coincident points
    """

    node: int
    moment: int
    force: int
    sign: float
    constant: bool


def _sides(k: int, joint: PlacedJoint, relations: Relations, constant: bool) -> list[Side]:
    if joint.relation is not None:
        starts = relations.starts(joint.relation)
        return [Side(k, start + SIDE_MOMENT, start + SIDE_FORCE, 1.0, False) for start in starts]
    force = G_SIZE * k + G_FORCE
    return [Side(k, G_SIZE * k + at, force, sign, constant) for at, sign in zip(SIDES, SIGNS, strict=True)]
