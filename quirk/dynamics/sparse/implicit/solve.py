"""Solution of the linear systems of implicit steps, real or complex, in compiled code.

`parts` are the arrays of the factorized matrix: one, or two for the real and imaginary parts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import FACTOR, INVERSE_MASS, OMEGA, ORIENTATION, POSITION, VELOCITY
from quirk.dynamics.model.vectors import body_vector
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, load

from ..kernels.bodies import CON, STATE
from .factorise import solve_blocks
from .internal import carry_variables, load_by_variables
from .numbers import (
    adjacent,
    along,
    clear_lanes,
    conjugate_times,
    difference,
    load_lanes,
    multiple,
    number,
    numbers,
    plus_multiple,
    product,
    quaternion_times,
    solve_rotating_quaternion,
    solve_rotating_vector,
    summed,
    totals,
    write,
)
from .tables import AXES, BLOCK, NODE, PAIR, TRANSLATIONS, ImplicitTables


@component(effort=2)
def solve(implicit: ImplicitTables, constants: np.ndarray, y: np.ndarray, e: Any, parts: Any, r: Any, u: Any) -> None:
    """Solve (I - e J) u = r for u, a variation of the state y, with the factorized matrix of `assemble`.

    J is the Jacobian of y', and e the step size (s) times a coefficient of the method. `constants` are the constants of
    the bodies, and `parts` the arrays of the matrix.
    """
    coupling, blocks, vector = implicit.coupling, implicit.blocks, implicit.vector
    for o in range(vector, implicit.pose, 8):
        clear_lanes(parts, o)
    start(implicit, y, e, parts, r)
    for pair in range(blocks.pair_row.shape[0]):
        node = vector + NODE * blocks.body_node[blocks.pair_row[pair]]
        pose = load_lanes(parts, implicit.pose + NODE * blocks.pair_column[pair])
        speed = load_lanes(parts, implicit.speed + NODE * blocks.pair_column[pair])
        for row in range(6):
            o = PAIR * pair + 8 * row
            by_pose, by_velocity = load(implicit.by_pose, o), load(implicit.by_velocity, o)
            part = totals(summed(multiple(pose, by_pose), multiple(speed, by_velocity)))
            write(parts, node + row, summed(number(parts, node + row), part))
    for side in range(blocks.side_slot.shape[0]):
        slot, node = blocks.side_slot[side], blocks.relation_node[blocks.side_row[side]]
        if slot < 0:
            continue
        pose, speed = load_lanes(parts, implicit.pose + NODE * slot), load_lanes(parts, implicit.speed + NODE * slot)
        for row in range(coupling.size[node]):
            o, place = BLOCK * side + 8 * row, vector + NODE * node + row
            by_pose, by_velocity = load(implicit.row_by_pose, o), load(implicit.row_by_velocity, o)
            part = totals(summed(multiple(pose, by_pose), multiple(speed, by_velocity)))
            write(parts, place, difference(number(parts, place), part))
    first = constants.shape[0] // CON * STATE
    if implicit.variables > 0:
        load_by_variables(implicit, e, parts, r, first)
    solve_blocks(coupling, parts, vector)
    finish(implicit, constants, y, e, parts, r, u)
    if implicit.variables > 0:
        start(implicit, y, multiple(e, 0.0), parts, u)
        carry_variables(implicit, e, parts, r, u, first)


@kernel
def start(implicit: ImplicitTables, y: np.ndarray, e: Any, parts: Any, r: Any) -> None:
    """Compute the variations dq and dv of poses and velocities for unchanged accelerations, from the residual r.

    They are written to `parts`, the arrays of the matrix. y is the state, and e the step size (s) times a coefficient
    of the method.
    """
    for slot in range(implicit.blocks.body_node.shape[0]):
        if implicit.blocks.body_node[slot] < 0:
            continue
        s, pose, speed = slot // 8 * STATE + slot % 8, implicit.pose + NODE * slot, implicit.speed + NODE * slot
        omega, shift = numbers(r, s + 8 * OMEGA), numbers(r, s + 8 * POSITION)
        rate = body_vector(implicit.axes, slot // 8 * AXES + slot % 8 + TRANSLATIONS)
        v = solve_rotating_vector(numbers(r, s + 8 * VELOCITY), e, rate)
        moved = solve_rotating_vector(plus_multiple(shift, e, v), e, rate)
        q = s + 8 * ORIENTATION
        seen = conjugate_times(at(y, q), body_vector(y, q + 8), number(r, q), numbers(r, q + 8))
        # The rotation is twice the vector part of q* dq.
        turned = solve_rotating_quaternion(
            seen[0], (seen[1], seen[2], seen[3]), omega, e, body_vector(y, s + 8 * OMEGA), implicit.follows
        )
        for c in range(3):
            write(parts, pose + c, moved[c])
            write(parts, pose + 3 + c, multiple(turned[1 + c], 2.0))
            write(parts, speed + c, v[c])
            write(parts, speed + 3 + c, omega[c])


@kernel
def finish(implicit: ImplicitTables, constants: np.ndarray, y: np.ndarray, e: Any, parts: Any, r: Any, u: Any) -> None:
    """Compute all components of the solution u of (I - e J) u = r from the variations of the accelerations.

    The variations of the accelerations must have been computed before; they begin at index `implicit.vector` of
    `parts`, the arrays of the matrix. e is the step size (s) times a coefficient of the method; J is the Jacobian of y'
    at the state y. `constants` are the constants of the bodies.
    """
    for o in range(0, y.shape[0], 8):
        clear_lanes(u, o)
    for slot in range(implicit.blocks.body_node.shape[0]):
        node = implicit.blocks.body_node[slot]
        if node < 0:
            continue
        s, k, z = slot // 8 * STATE + slot % 8, slot // 8 * CON + slot % 8, implicit.vector + NODE * node
        scale = at(constants, k + 8 * INVERSE_MASS) ** 0.5
        q, w, omega = s + 8 * ORIENTATION, k + 8 * FACTOR, body_vector(y, s + 8 * OMEGA)
        alpha = adjacent(parts, z + 3)
        rate = body_vector(implicit.axes, slot // 8 * AXES + slot % 8 + TRANSLATIONS)
        pushed = plus_multiple(numbers(r, s + 8 * VELOCITY), multiple(e, scale), adjacent(parts, z))
        v = solve_rotating_vector(pushed, e, rate)
        moved = solve_rotating_vector(plus_multiple(numbers(r, s + 8 * POSITION), e, v), e, rate)
        for c in range(3):
            o = w + 24 * c
            turning = along(alpha, (at(constants, o), at(constants, o + 8), at(constants, o + 16)))
            write(u, s + 8 * (VELOCITY + c), v[c])
            write(u, s + 8 * (POSITION + c), moved[c])
            write(u, s + 8 * (OMEGA + c), summed(number(r, s + 8 * (OMEGA + c)), product(e, turning)))
        seen = conjugate_times(at(y, q), body_vector(y, q + 8), number(r, q), numbers(r, q + 8))
        turned = solve_rotating_quaternion(
            seen[0], (seen[1], seen[2], seen[3]), numbers(u, s + 8 * OMEGA), e, omega, implicit.follows
        )
        orientation = quaternion_times(at(y, q), body_vector(y, q + 8), turned[0], (turned[1], turned[2], turned[3]))
        for c in range(4):
            write(u, q + 8 * c, orientation[c])
