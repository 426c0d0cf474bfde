"""The linear system of an implicit step, and its solutions, in kernels."""

from __future__ import annotations

import numpy as np

from quirk.compiled import kernel
from quirk.lanes import at, load, put, splat, store, total

from ...layout import FACTOR, INVERSE_MASS, OMEGA, ORIENTATION, POSITION, VELOCITY
from ...vectors import cross, dot, minus, plus, three, times
from ..kernels.bodies import CON, STATE
from .factorise import factorise_blocks, solve_blocks
from .tables import BLOCK, NODE, PAIR, Implicit


@kernel
def assemble(implicit: Implicit, constants: np.ndarray, y: np.ndarray, e: float) -> None:
    """Fill the matrix for e = gamma h from the derivatives at hand, and factorise it."""
    coupling, blocks, factor = implicit.coupling, implicit.blocks, implicit.factor
    for o in range(0, factor.shape[0], 8):
        store(factor, o, splat(0.0))
    turns(implicit, constants, y, e)
    for slot in range(blocks.body_node.shape[0]):
        node = blocks.body_node[slot]
        if node >= 0:
            for c in range(6):
                put(factor, coupling.diagonal[node] + 9 * c, 1.0)
    for pair in range(blocks.pair_row.shape[0]):
        moved, block = 2 * PAIR * blocks.pair_column[pair], blocks.pair_block[pair]
        for row in range(6):
            o = PAIR * pair + 8 * row
            lanes = load(factor, block + 8 * row)
            for c in range(6):
                lanes = lanes - at(implicit.by_pose, o + c) * load(implicit.turn, moved + 8 * c)
                lanes = lanes - at(implicit.by_velocity, o + c) * load(implicit.turn, moved + PAIR + 8 * c)
            store(factor, block + 8 * row, lanes)
    for r in range(blocks.relation_node.shape[0]):
        node = blocks.relation_node[r]
        for row in range(coupling.size[node]):
            put(factor, coupling.diagonal[node] + 9 * row, 1.0 - at(implicit.kept, 8 * r + row))
    for side in range(blocks.side_slot.shape[0]):
        if blocks.side_slot[side] >= 0:
            assemble_side(implicit, side)
    factorise_blocks(coupling, factor, implicit.scratch)


@kernel
def assemble_side(implicit: Implicit, side: int) -> None:
    """Write the rows of one side of a relation, and what its multipliers exert."""
    blocks, factor, moved = implicit.blocks, implicit.factor, 2 * PAIR * implicit.blocks.side_slot[side]
    upper, lower = blocks.side_upper[side], blocks.side_lower[side]
    for row in range(implicit.coupling.size[blocks.relation_node[blocks.side_row[side]]]):
        o = BLOCK * side + 8 * row
        lanes = load(implicit.rows, o)
        for c in range(6):
            put(factor, upper + 8 * c + row, -at(implicit.rows, o + c))
            lanes = lanes + at(implicit.row_by_pose, o + c) * load(implicit.turn, moved + 8 * c)
            lanes = lanes + at(implicit.row_by_velocity, o + c) * load(implicit.turn, moved + PAIR + 8 * c)
        store(factor, lower + 8 * row, lanes)


@kernel
def turns(implicit: Implicit, constants: np.ndarray, y: np.ndarray, e: float) -> None:
    """Fill how poses and velocities follow from scaled accelerations: by e^2 E W and by e W."""
    for o in range(0, implicit.turn.shape[0], 8):
        store(implicit.turn, o, splat(0.0))
    for slot in range(implicit.blocks.body_node.shape[0]):
        if implicit.blocks.body_node[slot] < 0:
            continue
        s, k, o = slot // 8 * STATE + slot % 8, slot // 8 * CON + slot % 8, 2 * PAIR * slot
        scale = at(constants, k + 8 * INVERSE_MASS) ** 0.5
        u = times(three(y, s + 8 * OMEGA), 0.5 * e)
        length = 1.0 + dot(u, u)
        for c in range(3):
            put(implicit.turn, o + 9 * c, e * e * scale)
            put(implicit.turn, o + PAIR + 9 * c, e * scale)
            w = k + 8 * (FACTOR + c)
            column = at(constants, w), at(constants, w + 24), at(constants, w + 48)
            turned = plus(column, cross(column, u))
            for row in range(3):
                put(implicit.turn, o + 8 * (3 + row) + 3 + c, e * e / length * turned[row])
                put(implicit.turn, o + PAIR + 8 * (3 + row) + 3 + c, e * column[row])


@kernel
def solve(implicit: Implicit, constants: np.ndarray, y: np.ndarray, e: float, r: np.ndarray, u: np.ndarray) -> None:
    """Fill u, a change of y, with the solution of (I - e J) u = r."""
    coupling, blocks, vector = implicit.coupling, implicit.blocks, implicit.vector
    for o in range(0, vector.shape[0], 8):
        store(vector, o, splat(0.0))
    start(implicit, y, e, r)
    for pair in range(blocks.pair_row.shape[0]):
        node = NODE * blocks.body_node[blocks.pair_row[pair]]
        pose = load(implicit.pose, NODE * blocks.pair_column[pair])
        speed = load(implicit.speed, NODE * blocks.pair_column[pair])
        for row in range(6):
            o = PAIR * pair + 8 * row
            part = total(load(implicit.by_pose, o) * pose + load(implicit.by_velocity, o) * speed)
            put(vector, node + row, at(vector, node + row) + part)
    for side in range(blocks.side_slot.shape[0]):
        slot, node = blocks.side_slot[side], blocks.relation_node[blocks.side_row[side]]
        if slot < 0:
            continue
        pose, speed = load(implicit.pose, NODE * slot), load(implicit.speed, NODE * slot)
        for row in range(coupling.size[node]):
            o, place = BLOCK * side + 8 * row, NODE * node + row
            part = total(load(implicit.row_by_pose, o) * pose + load(implicit.row_by_velocity, o) * speed)
            put(vector, place, at(vector, place) - part)
    solve_blocks(coupling, implicit.factor, vector)
    finish(implicit, constants, y, e, r, u)


@kernel
def start(implicit: Implicit, y: np.ndarray, e: float, r: np.ndarray) -> None:
    """Fill how poses and velocities change while accelerations do not."""
    for slot in range(implicit.blocks.body_node.shape[0]):
        if implicit.blocks.body_node[slot] < 0:
            continue
        s, o = slot // 8 * STATE + slot % 8, NODE * slot
        v, omega = three(r, s + 8 * VELOCITY), three(r, s + 8 * OMEGA)
        shift = plus(three(r, s + 8 * POSITION), times(v, e))
        q = s + 8 * ORIENTATION
        w, x = at(y, q), three(y, q + 8)
        half = times(omega, 0.5 * e)
        # r_q + (e / 2) q omega, times the inverse of 1 - (e / 2) omega.
        a, b = at(r, q) - dot(x, half), plus(three(r, q + 8), plus(times(half, w), cross(x, half)))
        turned = without_spin(a, b, times(three(y, s + 8 * OMEGA), 0.5 * e))
        # The turn is twice the vector part of q* dq.
        dq = turned[1], turned[2], turned[3]
        turn = plus(minus(times(dq, w), times(x, turned[0])), cross(dq, x))
        for c in range(3):
            put(implicit.pose, o + c, shift[c])
            put(implicit.pose, o + 3 + c, 2.0 * turn[c])
            put(implicit.speed, o + c, v[c])
            put(implicit.speed, o + 3 + c, omega[c])


@kernel
def without_spin(
    a: float, b: tuple[float, float, float], u: tuple[float, float, float]
) -> tuple[float, float, float, float]:
    """The quaternion (a, b) times the inverse of (1, -u)."""
    scale = 1.0 / (1.0 + dot(u, u))
    v = plus(plus(b, times(u, a)), cross(b, u))
    return scale * (a - dot(b, u)), scale * v[0], scale * v[1], scale * v[2]


@kernel
def finish(implicit: Implicit, constants: np.ndarray, y: np.ndarray, e: float, r: np.ndarray, u: np.ndarray) -> None:
    """Fill u from the accelerations in the solution."""
    for o in range(0, u.shape[0], 8):
        store(u, o, splat(0.0))
    for slot in range(implicit.blocks.body_node.shape[0]):
        node = implicit.blocks.body_node[slot]
        if node < 0:
            continue
        s, k, z = slot // 8 * STATE + slot % 8, slot // 8 * CON + slot % 8, NODE * node
        scale = at(constants, k + 8 * INVERSE_MASS) ** 0.5
        q, w = s + 8 * ORIENTATION, k + 8 * FACTOR
        one, two, three_ = at(implicit.vector, z + 3), at(implicit.vector, z + 4), at(implicit.vector, z + 5)
        for c in range(3):
            o = w + 24 * c
            alpha = at(constants, o) * one + at(constants, o + 8) * two + at(constants, o + 16) * three_
            v = at(r, s + 8 * (VELOCITY + c)) + e * scale * at(implicit.vector, z + c)
            put(u, s + 8 * (VELOCITY + c), v)
            put(u, s + 8 * (OMEGA + c), at(r, s + 8 * (OMEGA + c)) + e * alpha)
            put(u, s + 8 * (POSITION + c), at(r, s + 8 * (POSITION + c)) + e * v)
        half = times(three(u, s + 8 * OMEGA), 0.5 * e)
        a = at(r, q) - dot(three(y, q + 8), half)
        b = plus(three(r, q + 8), plus(times(half, at(y, q)), cross(three(y, q + 8), half)))
        turned = without_spin(a, b, times(three(y, s + 8 * OMEGA), 0.5 * e))
        for c in range(4):
            put(u, q + 8 * c, turned[c])
