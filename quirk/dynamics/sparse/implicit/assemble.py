"""Assembly of the matrix of an implicit step, real or complex, in compiled code.

The system and its unknowns are described in the module `tables`. `parts` are the arrays of the matrix: one, or two for
the real and imaginary parts. A slot is the position of a body in the arrays. A relation is a constraint given by a
function; each body on which it acts is one of its sides. The mass matrix of a body is (W W^T)^-1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import FACTOR, INVERSE_MASS, OMEGA
from quirk.dynamics.model.vectors import body_vector
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at

from ..kernels.bodies import CON, STATE
from .factorise import factorise_blocks
from .internal import condense
from .numbers import (
    clear_lanes,
    difference,
    load_lanes,
    multiple,
    product,
    solve_rotating_quaternion,
    solve_rotating_vector,
    store_lanes,
    summed,
    write,
    write_real,
)
from .tables import AXES, BLOCK, PAIR, TRANSLATIONS, ImplicitTables


@component(effort=2)
def assemble(implicit: ImplicitTables, constants: np.ndarray, y: np.ndarray, e: Any, parts: Any) -> None:
    """Compute and factorize the matrix of an implicit step at a state y.

    `e` is the step size (s) times a coefficient of the method; `parts` are the arrays of the matrix: one, or two for
    the real and imaginary parts. `constants` are the constants of the bodies.
    """
    coupling, blocks = implicit.coupling, implicit.blocks
    for o in range(0, implicit.turn, 8):
        clear_lanes(parts, o)
    turns(implicit, constants, y, e, parts)
    for slot in range(blocks.body_node.shape[0]):
        node = blocks.body_node[slot]
        if node >= 0:
            for c in range(6):
                write_real(parts, coupling.diagonal[node] + 9 * c, 1.0)
    for pair in range(blocks.pair_row.shape[0]):
        moved, block = implicit.turn + 2 * PAIR * blocks.pair_column[pair], blocks.pair_block[pair]
        for row in range(6):
            o = PAIR * pair + 8 * row
            x = load_lanes(parts, block + 8 * row)
            for c in range(6):
                x = difference(x, multiple(load_lanes(parts, moved + 8 * c), at(implicit.by_pose, o + c)))
                x = difference(x, multiple(load_lanes(parts, moved + PAIR + 8 * c), at(implicit.by_velocity, o + c)))
            store_lanes(parts, block + 8 * row, x)
    for r in range(blocks.relation_node.shape[0]):
        node = blocks.relation_node[r]
        for row in range(coupling.size[node]):
            write_real(parts, coupling.diagonal[node] + 9 * row, 1.0 - at(implicit.independent, 8 * r + row))
    for side in range(blocks.side_slot.shape[0]):
        if blocks.side_slot[side] >= 0:
            assemble_side(implicit, side, parts)
    if implicit.variables > 0:
        condense(implicit, e, parts)
    factorise_blocks(coupling, parts, implicit.scratch)


@kernel
def assemble_side(implicit: ImplicitTables, side: int, parts: Any) -> None:
    """Write the two blocks of the matrix that couple a relation with one of its bodies.

    One block contains the constraint rows over the body, the other the loads of unit multipliers on it. `side` is the
    index of the body among those of all relations, and `parts` are the arrays of the matrix.
    """
    blocks, moved = implicit.blocks, implicit.turn + 2 * PAIR * implicit.blocks.side_slot[side]
    upper, lower = blocks.side_upper[side], blocks.side_lower[side]
    for row in range(implicit.coupling.size[blocks.relation_node[blocks.side_row[side]]]):
        o = BLOCK * side + 8 * row
        for c in range(6):
            write_real(parts, upper + 8 * c + row, -at(implicit.rows, o + c))
            write_real(parts, lower + 8 * row + c, at(implicit.rows, o + c))
        x = load_lanes(parts, lower + 8 * row)
        for c in range(6):
            x = summed(x, multiple(load_lanes(parts, moved + 8 * c), at(implicit.row_by_pose, o + c)))
            x = summed(x, multiple(load_lanes(parts, moved + PAIR + 8 * c), at(implicit.row_by_velocity, o + c)))
        store_lanes(parts, lower + 8 * row, x)


@kernel
def turns(implicit: ImplicitTables, constants: np.ndarray, y: np.ndarray, e: Any, parts: Any) -> None:
    """Compute the matrices e^2 E W and e W of each body, which map its scaled acceleration to changes of its motion.

    e^2 E W gives the change of the pose in the step, e W the change of the velocity. (W W^T)^-1 is the mass matrix of
    the body, e the step size times a coefficient of the method, and E maps an angular velocity to the rate of the
    rotation vector. The state is y, and `parts` are the arrays of the matrix. `constants` are the constants of the
    bodies.
    """
    zero = multiple(e, 0.0)
    for slot in range(implicit.blocks.body_node.shape[0]):
        if implicit.blocks.body_node[slot] < 0:
            continue
        s, k, o = slot // 8 * STATE + slot % 8, slot // 8 * CON + slot % 8, implicit.turn + 2 * PAIR * slot
        scale, omega = at(constants, k + 8 * INVERSE_MASS) ** 0.5, body_vector(y, s + 8 * OMEGA)
        rate = body_vector(implicit.axes, slot // 8 * AXES + slot % 8 + TRANSLATIONS)
        for c in range(3):
            push, w = multiple(e, scale), k + 8 * (FACTOR + c)
            along_axis = push if c == 0 else zero, push if c == 1 else zero, push if c == 2 else zero
            speed = solve_rotating_vector(along_axis, e, rate)
            moved = solve_rotating_vector((product(e, speed[0]), product(e, speed[1]), product(e, speed[2])), e, rate)
            column = at(constants, w), at(constants, w + 24), at(constants, w + 48)
            turning = multiple(e, column[0]), multiple(e, column[1]), multiple(e, column[2])
            turned = solve_rotating_quaternion(zero, (zero, zero, zero), turning, e, omega, implicit.follows)
            for row in range(3):
                write(parts, o + 8 * row + c, moved[row])
                write(parts, o + PAIR + 8 * row + c, speed[row])
                write(parts, o + 8 * (3 + row) + 3 + c, multiple(turned[1 + row], 2.0))
                write(parts, o + PAIR + 8 * (3 + row) + 3 + c, turning[row])
