"""Constraint loads in double-double arithmetic, for light bodies between heavy ones.

If large loads are transmitted through a light body, their sum is small. Its round-off, which is proportional to the
loads, may accelerate the body noticeably. The rows of a light rod between two ball joints, for example, exert no moment
about the line through both joints, for any multipliers. Rounded to doubles they exert a moment of 1e-16 times the
loads, which rotates the rod if its moment of inertia is small enough. The exact accelerations are well conditioned,
because they do not depend on the loads.

Therefore constraint rows, multipliers, loads on bodies and accelerations are computed to 32 digits, from the state and
model in double precision. The factorization is in double precision, and is used for iterative refinement (see
`constraint_solve`). Rows of relations, which are constraints defined by functions, and right-hand sides remain doubles.
The effect of the round-off of right-hand sides on accelerations is bounded by the geometry of the rows, independently
of the masses (G. W. Stewart, Linear Algebra Appl. 112 (1989) 189-193).

A is the matrix of constraint rows, M the mass matrix, and G = A W with W W^T = M^-1 the array of rows. A double-double
number is the sum of a double and a much smaller double, its lower part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_I, G_J, G_SIZE, INVERSE_MASS, MOMENT
from quirk.jit.compilation import kernel
from quirk.jit.double_double import DoubleDouble
from quirk.jit.simd import at, load, put, splat, store
from quirk.jit.tracing import traced

from .bodies import CON, WRENCH
from .constraint_solve import clear, copy, wrenches
from .extended_rows import rotations_below, rows_below
from .factorisation import solve_rows
from .friction import unit_force
from .mechanism import Mechanism
from .relations import G_AT, RELATION_SIZE, SIDE, SIDE_END, SIDE_ENTRIES, SIDE_FORCE, SIDE_MOMENT, WRENCH_AT
from .rows import HUB, RELATION
from .size import largest_acceleration, size_of

# Limits of iterative refinement in double-double arithmetic. Corrections are relative to the largest acceleration.
#   SETTLED: refinement ends when a correction of the accelerations is at most this
#   ALLOWED: the accelerations are rejected if the last correction exceeds this
#   CONVERGES: a correction larger than this fraction of the smallest one so far counts as stalled
#   MOST_PASSES: maximum number of solves
#   MOST_STALLED: maximum number of successive stalled corrections
SETTLED, ALLOWED, CONVERGES, MOST_PASSES, MOST_STALLED = 1e-14, 1e-10, 0.5, 30, 2


@kernel
def keep_applied(mechanism: Mechanism) -> None:
    """Store the applied loads and the right-hand sides of an evaluation for double-double arithmetic.

    They are copied from work.wrench and work.goal to work.extended, before constraint loads are added to work.wrench.
    """
    work = mechanism.work
    copy(work.wrench, work.extended.applied)
    copy(work.goal, work.extended.goal)


@kernel
def impose_doubled(mechanism: Mechanism, y: np.ndarray) -> None:
    """Recompute the multipliers in work.x and the loads in work.wrench in double-double arithmetic.

    The rows at state y must be in work.G and factorized, and `keep_applied` must have stored the applied loads.
    Friction forces keep their present magnitudes. If the rows cannot be satisfied, the loads are set to NaN.
    """
    nodes, work, extended = mechanism.nodes, mechanism.work, mechanism.work.extended
    rotations_below(y, work.kin, extended.rotation)
    rows_below(mechanism, y)
    copy(extended.applied, work.wrench)
    for k in range(mechanism.frictions.element.shape[0]):
        unit_force(mechanism, k)
    copy(work.wrench, work.applied_wrench)
    copy(extended.goal, work.goal)
    copy(work.x, work.sum)
    clear(extended.x)
    change, least, stalled = np.inf, np.inf, 0
    for _ in range(MOST_PASSES):
        add_loads(mechanism)
        accelerate(mechanism.constants, work.wrench, extended.wrench, work.motion, extended.motion)
        compute_residual(mechanism)
        solve_rows(mechanism)
        clear(work.change)
        wrenches(nodes, work.G, work.x, work.change, False)
        change = size_of(mechanism, work.change) / largest_acceleration(mechanism)
        if not change > SETTLED:
            break
        stalled = 0 if change < CONVERGES * least else stalled + 1
        if stalled > MOST_STALLED:
            break
        least = min(least, change)
        for o in range(0, work.x.shape[0], 8):
            add_lanes(work.sum, extended.x, o, work.x)
    copy(work.sum, work.x)
    if not change <= ALLOWED:
        for o in range(0, work.wrench.shape[0], 8):
            store(work.wrench, o, splat(np.nan))


@kernel
def add_loads(mechanism: Mechanism) -> None:
    """Set work.wrench to applied loads plus constraint loads, in double-double arithmetic.

    The multipliers are work.sum with the lower parts work.extended.x. The lower parts of the loads are written to
    work.extended.wrench.
    """
    nodes, work, extended = mechanism.nodes, mechanism.work, mechanism.work.extended
    relations = nodes.relations
    copy(work.applied_wrench, work.wrench)
    clear(extended.wrench)
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] == HUB:
            continue
        for r in range(nodes.rows[n]):
            x, x_low = at(work.sum, 8 * n + r), at(extended.x, 8 * n + r)
            if nodes.kind[n] == RELATION:
                e = RELATION_SIZE * nodes.lanes[n]
                for s in range(relations.entries[e + SIDE], relations.entries[e + SIDE_END]):
                    b, g = relations.sides[SIDE_ENTRIES * s + WRENCH_AT], relations.sides[SIDE_ENTRIES * s + G_AT] + r
                    add_load(work.wrench, extended.wrench, b, x, x_low, work.G, extended.G, g + SIDE_FORCE)
                    add_load(work.wrench, extended.wrench, b + MOMENT, x, x_low, work.G, extended.G, g + SIDE_MOMENT)
                continue
            g, i, j = G_SIZE * n + r, nodes.wrench[2 * n], nodes.wrench[2 * n + 1]
            add_load(work.wrench, extended.wrench, i, -x, -x_low, work.G, extended.G, g + G_FORCE)
            add_load(work.wrench, extended.wrench, j, x, x_low, work.G, extended.G, g + G_FORCE)
            add_load(work.wrench, extended.wrench, i + MOMENT, x, x_low, work.G, extended.G, g + G_I)
            add_load(work.wrench, extended.wrench, j + MOMENT, x, x_low, work.G, extended.G, g + G_J)


@kernel
def add_load(
    wrench: np.ndarray, low: np.ndarray, o: int, x: float, x_low: float, G: np.ndarray, G_low: np.ndarray, g: int
) -> None:
    """Add a multiplier x times the force or moment of a constraint row to a load, in double-double arithmetic.

    The force or moment begins at index g of G, the load at index o of `wrench`. `low`, `x_low` and `G_low` are the
    lower parts of `wrench`, x and G.
    """
    for c in range(3):
        add_product(wrench, low, o + 8 * c, x, x_low, at(G, g + 8 * c), at(G_low, g + 8 * c))


@traced
def add_product(high: Any, low: Any, o: Any, a: Any, a_low: Any, b: Any, b_low: Any) -> None:
    """Add the product of two double-double numbers a and b to one element of an array, at index o.

    The array consists of `high` and its lower parts `low`; `a_low` and `b_low` are the lower parts of a and b.
    """
    result = DoubleDouble(at(high, o), at(low, o)) + DoubleDouble(a, a_low) * DoubleDouble(b, b_low)
    put(high, o, result.high)
    put(low, o, result.low)


@traced
def add_lanes(high: Any, low: Any, o: Any, added: Any) -> None:
    """Add eight doubles to eight double-double numbers.

    The doubles begin at index o of `added`, the double-double numbers at index o of `high` and of their lower parts
    `low`.
    """
    result = DoubleDouble(load(high, o), load(low, o)) + load(added, o)
    store(high, o, result.high)
    store(low, o, result.low)


@kernel
def accelerate(
    constants: np.ndarray, wrench: np.ndarray, low: np.ndarray, motion: np.ndarray, below: np.ndarray
) -> None:
    """Compute the accelerations M^-1 w due to loads w, in double-double arithmetic.

    M is the mass matrix; w is the sum of `wrench` and the lower parts `low`. The accelerations are written to `motion`,
    their lower parts to `below`. Angular accelerations are multiplied by W^-1: W W^T = J^-1, with the inertia matrix J
    of a body. `constants` are the constants of the bodies.
    """
    for block in range(wrench.shape[0] // WRENCH):
        f = block * WRENCH
        for c in range(3):
            divide_by_mass(constants, block * CON + 8 * INVERSE_MASS, wrench, low, motion, below, f + 8 * c)
            store(motion, f + MOMENT + 8 * c, load(wrench, f + MOMENT + 8 * c))
            store(below, f + MOMENT + 8 * c, load(low, f + MOMENT + 8 * c))


@traced
def divide_by_mass(constants: Any, c: Any, wrench: Any, low: Any, motion: Any, below: Any, o: Any) -> None:
    """Divide one component of the forces on eight bodies by their masses, in double-double arithmetic.

    The component is the sum of `wrench` and the lower parts `low`, at index o; the inverse masses begin at index c of
    `constants`. The quotients are written to `motion` and their lower parts to `below`, at index o.
    """
    result = DoubleDouble(load(wrench, o), load(low, o)) * load(constants, c)
    store(motion, o, result.high)
    store(below, o, result.low)


@kernel
def compute_residual(mechanism: Mechanism) -> None:
    """Set work.rhs to the residual of the rows: work.goal minus each row times the accelerations in work.motion."""
    nodes, work, extended = mechanism.nodes, mechanism.work, mechanism.work.extended
    relations = nodes.relations
    motion, below, G, low = work.motion, extended.motion, work.G, extended.G
    for n in range(nodes.rows.shape[0]):
        store(work.rhs, 8 * n, splat(0.0))
        if nodes.kind[n] == HUB:
            continue
        for r in range(nodes.rows[n]):
            rest, rest_low = at(work.goal, 8 * n + r), 0.0
            if nodes.kind[n] == RELATION:
                e = RELATION_SIZE * nodes.lanes[n]
                for s in range(relations.entries[e + SIDE], relations.entries[e + SIDE_END]):
                    b, g = relations.sides[SIDE_ENTRIES * s + WRENCH_AT], relations.sides[SIDE_ENTRIES * s + G_AT] + r
                    rest, rest_low = add_row_product(rest, rest_low, -1.0, motion, below, b, G, low, g + SIDE_FORCE)
                    rest, rest_low = add_row_product(
                        rest, rest_low, -1.0, motion, below, b + MOMENT, G, low, g + SIDE_MOMENT
                    )
            else:
                g, i, j = G_SIZE * n + r, nodes.wrench[2 * n], nodes.wrench[2 * n + 1]
                rest, rest_low = add_row_product(rest, rest_low, 1.0, motion, below, i, G, low, g + G_FORCE)
                rest, rest_low = add_row_product(rest, rest_low, -1.0, motion, below, j, G, low, g + G_FORCE)
                rest, rest_low = add_row_product(rest, rest_low, -1.0, motion, below, i + MOMENT, G, low, g + G_I)
                rest, rest_low = add_row_product(rest, rest_low, -1.0, motion, below, j + MOMENT, G, low, g + G_J)
            put(work.rhs, 8 * n + r, rest + rest_low)


@kernel
def add_row_product(
    value: float, value_low: float, sign: float, motion: np.ndarray, below: np.ndarray, b: int, G: np.ndarray,
    low: np.ndarray, g: int,
) -> tuple[float, float]:  # fmt: skip
    """Return `value` plus `sign` times the product of a constraint row and a motion, in double-double arithmetic.

    The three elements of the motion begin at index b of `motion`, and the three elements of the row at index g of G.
    `value_low`, `below` and `low` are the lower parts of `value`, `motion` and G. The result is a pair: the sum and its
    lower part.
    """
    for c in range(3):
        m, k = b + 8 * c, g + 8 * c
        value, value_low = plus_product(
            value, value_low, sign * at(motion, m), sign * at(below, m), at(G, k), at(low, k)
        )
    return value, value_low


@traced
def plus_product(high: Any, low: Any, a: Any, a_low: Any, b: Any, b_low: Any) -> Any:
    """Return the sum of a double-double number and the product of two others, a and b, as a pair with its lower part.

    `high` and `low` are the parts of the first number, `a_low` and `b_low` the lower parts of a and b.
    """
    result = DoubleDouble(high, low) + DoubleDouble(a, a_low) * DoubleDouble(b, b_low)
    return result.high, result.low
