"""Constraint loads from right-hand sides, by solution with the factorized rows and iterative refinement.

These functions are used by evaluations, projections and derivatives. A is the matrix of constraint rows, M the mass
matrix and S = A M^-1 A^T. The arrays of a solver are in `work`: work.wrench holds the sum of loads on each body, work.x
the multipliers, work.goal the required value of A M^-1 w for these loads w, and work.rest the residual, goal minus the
present value. A pass is one solve with the factorized rows; further passes refine its result. The residual is computed
from rows and accelerations and not from S. Therefore the condition number of S, the square of that of A, slows
refinement but does not reduce accuracy (Bjorck, Numerical Methods for Least Squares Problems (1996), 6.6.5). Loads of
all rows are summed per body: where light bodies are constrained between heavy ones the sums are small, and so is their
round-off.

The residual also verifies the solution: with any factorization the loads are combinations of rows, so loads that
satisfy all rows are correct. If the block factorization does not achieve this, reflections are used.

Terms: a node is a group of up to six rows, or a body with many joints. The array work.G holds all rows.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_I, G_J, G_SIZE, MOMENT
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import add, at, greater, highest, load, put, splat, store, total

from .bodies import released
from .factorisation import factorise_rows, solve_rows
from .mechanism import Mechanism
from .relations import relation_wrenches
from .rows import BILINEAR, HUB, RELATION, Nodes, along, along_with_terms
from .work import LEAST, METHOD, PASSES, RATE, REFLECTIONS, REMAINS, Workspace

# A row is satisfied if its residual is at most MET times the sum of the magnitudes of its terms. Corrections that no
# longer decrease are round-off if they change accelerations by less than the fraction NOISE. A residual of reflections
# beyond ASTRAY is an error. Reflections replace blocks if a solve leaves more than SLOW of the residual.
MET, NOISE, ASTRAY, SLOW = 1e-13, 1e-11, 1e-8, 1e-3

# Maximum number of solves; and the fraction of the residual left by a solve with blocks, LOSS / p^2 for smallest pivot
# p.
MOST_PASSES, LOSS = 12, 2e-15


@kernel
def impose(mechanism: Mechanism, passes: int) -> None:
    """Add constraint loads to work.wrench so that the total loads w satisfy A M^-1 w = work.goal.

    A is the matrix of constraint rows, M the mass matrix. At least `passes` solves are made. On return work.x holds the
    multipliers, summed over all solves. The ratio of the second to the first residual is stored as RATE, if it is the
    largest so far.
    """
    find_rest(mechanism)
    solve_for_rest(mechanism, passes, MET)


@kernel
def impose_alone(mechanism: Mechanism, passes: int, left: float) -> None:
    """Set work.wrench to constraint loads w, without applied loads, that satisfy A M^-1 w = work.rhs.

    A is the matrix of constraint rows, M the mass matrix. At least `passes` solves are made, until the relative
    residual is below `left`. On return work.goal holds the initial right-hand side.
    """
    work = mechanism.work
    copy(work.rhs, work.goal)
    copy(work.rhs, work.rest)
    clear(work.wrench)
    solve_for_rest(mechanism, passes, max(left, MET))


@kernel
def find_rest(mechanism: Mechanism) -> None:
    """Set work.rhs and work.rest to the residual of the rows: work.goal minus A M^-1 w, for the loads w in work.wrench.

    A is the matrix of constraint rows, M the mass matrix.
    """
    nodes, work = mechanism.nodes, mechanism.work
    released(mechanism.constants, work.wrench, work.motion)
    along(nodes, work.G, work.motion, work.rhs)
    for o in range(0, work.x.shape[0], 8):
        rest = load(work.goal, o) - load(work.rhs, o)
        store(work.rhs, o, rest)
        store(work.rest, o, rest)


@component(effort=3)
def solve_for_rest(mechanism: Mechanism, passes: int, left: float) -> None:
    """Add to work.wrench the constraint loads that reduce the residual of the rows, work.rest, to zero.

    At least `passes` solves are made. On entry the residual must be in work.rest and in work.rhs. If the block
    factorization does not reduce the residual of each row to a fraction `left` of the magnitudes of its terms, the
    solution is repeated with reflections. If these fail as well, loads and multipliers become NaN.
    """
    work = mechanism.work
    copy(work.wrench, work.given)
    if refine(mechanism, passes, left, NOISE):
        return
    copy(work.given, work.wrench)
    if work.summary[METHOD] != REFLECTIONS:
        put(work.summary, METHOD, REFLECTIONS)
        put(work.summary, RATE, 0.0)
        factorise_rows(mechanism)
    find_rest(mechanism)
    if not refine(mechanism, passes, left, ASTRAY) and not met(mechanism, max(left, ASTRAY)):
        for o in range(0, work.wrench.shape[0], 8):
            store(work.wrench, o, splat(np.nan))
        for o in range(0, work.x.shape[0], 8):
            store(work.x, o, splat(np.nan))


@kernel
def refine(mechanism: Mechanism, passes: int, left: float, noise: float) -> bool:
    """Add to work.wrench the constraint loads that reduce the residual work.rest to zero, by iterative refinement.

    At least `passes` solves are made, and further ones as long as the iteration converges. Returns whether the rows are
    then satisfied: either the residual is at most a fraction `left` of the terms of each row, or it is round-off, and
    changes the accelerations by less than a fraction `noise`. If the smallest pivot guarantees the accuracy, the
    residual is not checked.
    """
    nodes, work = mechanism.nodes, mechanism.work
    for o in range(0, work.x.shape[0], 8):
        store(work.sum, o, splat(0.0))
    done, before, first = passes == 1, 0.0, 0.0
    by_blocks, least = work.summary[METHOD] != REFLECTIONS, at(work.summary, LEAST)
    for turn in range(1 if passes == 1 else MOST_PASSES):
        if turn > 0:
            find_rest(mechanism)
        solve_rows(mechanism)
        # Square of the correction of the accelerations, in the mass metric.
        square = splat(0.0)
        for o in range(0, work.x.shape[0], 8):
            square = square + load(work.rest, o) * load(work.x, o)
        now = abs(total(square)) ** 0.5
        if turn == 0:
            first = now
        elif now > SLOW * before:
            round_off = before <= noise * max(first, accelerated(work))
            if turn == 1 and not round_off:
                put(work.summary, RATE, max(at(work.summary, RATE), now / before))
                if by_blocks:
                    return False
            if now > before:
                add_terms(mechanism, turn == 1)
                done = round_off or (turn >= passes - 1 and met(mechanism, left))
                break  # the rest is round-off, or the method does not converge
        elif turn == 1:
            put(work.summary, RATE, max(at(work.summary, RATE), now / before))
        before = now
        if turn > 0:
            # Fraction of the last correction left by a block solve, from the smallest pivot.
            done = by_blocks and turn == passes - 1 and LOSS * now <= left * least * least * first
            if not done:
                add_terms(mechanism, turn == 1)
                done = turn >= passes - 1 and met(mechanism, left)
        for o in range(0, work.x.shape[0], 8):
            store(work.sum, o, load(work.sum, o) + load(work.x, o))
        wrenches(nodes, work.G, work.x, work.wrench, False)
        if done:
            break
    for o in range(0, work.x.shape[0], 8):
        store(work.x, o, load(work.sum, o))
    return done


@kernel
def accelerated(work: Workspace) -> float:
    """Return the norm, in the mass metric, of the accelerations in work.motion due to the loads in work.wrench."""
    square = splat(0.0)
    for o in range(0, work.wrench.shape[0], 8):
        square = square + load(work.wrench, o) * load(work.motion, o)
    return total(square) ** 0.5


@kernel
def add_terms(mechanism: Mechanism, first: bool) -> None:
    """Add the magnitudes of the terms that cancel in the residual of each row to work.terms.

    These are the terms of A M^-1 w for the loads w in work.wrench; the first time also those of work.goal and of the
    loads before constraint loads were added.
    """
    constants, nodes, work = mechanism.constants, mechanism.nodes, mechanism.work
    if first:
        for o in range(0, work.x.shape[0], 8):
            goal = load(work.goal, o)
            store(work.terms, o, greater(goal, -1.0 * goal))
        released(constants, work.given, work.motion)
        along_with_terms(nodes, work.G, work.motion, work.rhs, work.terms)
        released(constants, work.wrench, work.motion)
    along_with_terms(nodes, work.G, work.motion, work.rhs, work.terms)


@kernel
def met(mechanism: Mechanism, left: float) -> bool:
    """Return whether the residual work.rest is at most a fraction `left` of the terms of each independent row.

    Rows that the factorization by reflections detected as dependent are ignored.
    """
    nodes, work = mechanism.nodes, mechanism.work
    largest = splat(0.0)
    for o in range(0, work.x.shape[0], 8):
        rest = load(work.rest, o)
        largest = greater(largest, greater(rest, -1.0 * rest) - left * load(work.terms, o))
    if highest(largest) <= 0.0:
        return True
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] == HUB:
            continue
        for r in range(nodes.rows[n]):
            o = 8 * n + r
            if abs(at(work.rest, o)) > left * at(work.terms, o) and independent(mechanism, n, r):
                return False
    return True


@kernel
def independent(mechanism: Mechanism, n: int, r: int) -> bool:
    """Return whether row r of node n (a joint) is selected and was not detected as dependent by the reflections."""
    work, fronts = mechanism.work, mechanism.work.fronts
    if not at(work.floor, 8 * n + r) < np.inf:
        return False
    return work.summary[METHOD] != REFLECTIONS or at(work.triangle.factor, fronts.start[fronts.first[n]] + 9 * r) != 0.0


@kernel
def solves_for(mechanism: Mechanism, left: float) -> int:
    """Return the number of solves, at most PASSES, that reduce the residual to less than a fraction `left`.

    The residual is measured in the mass metric; accelerations of light bodies may have larger errors, see `passes_for`.
    """
    summary = mechanism.work.summary
    passes, most, remains = 1, int(at(summary, PASSES)), at(summary, REMAINS)
    rest, enough = remains, left * at(summary, LEAST) ** 0.5
    while passes < most and not rest < enough:
        passes, rest = passes + 1, rest * remains
    return passes


@kernel
def push(mechanism: Mechanism) -> None:
    """Set work.wrench to the constraint loads A^T S^-1 rhs for work.rhs, by a single solve; work.rhs is overwritten.

    S = A M^-1 A^T, with the constraint rows A and the mass matrix M.
    """
    nodes, work = mechanism.nodes, mechanism.work
    solve_rows(mechanism)
    clear(work.wrench)
    wrenches(nodes, work.G, work.x, work.wrench, False)


@kernel
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy the flat array `source`, whose length is a multiple of eight, to `target`."""
    for o in range(0, source.shape[0], 8):
        store(target, o, load(source, o))


@kernel
def clear(array: np.ndarray) -> None:
    """Set all elements of a flat array, whose length is a multiple of eight, to zero."""
    for o in range(0, array.shape[0], 8):
        store(array, o, splat(0.0))


@kernel
def wrenches(nodes: Nodes, G: np.ndarray, x: np.ndarray, wrench: np.ndarray, derived: bool) -> None:
    """Add the constraint loads A^T x to `wrench`; the rows A are in G, the multipliers in x, eight per node (joint).

    If `derived`, G holds a derivative of the rows. Rows of coincident points then exert no force, because their force
    directions are constant.
    """
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] == HUB:
            continue
        if nodes.kind[n] == RELATION:
            relation_wrenches(nodes.relations, nodes.lanes[n], G, x, 8 * n, wrench)
            continue
        g, i, j = G_SIZE * n, nodes.wrench[2 * n], nodes.wrench[2 * n + 1]
        multipliers = load(x, 8 * n)
        for c in range(3):
            constant = not derived and nodes.kind[n] < BILINEAR
            force = at(x, 8 * n + c) if constant else total(multipliers * load(G, g + G_FORCE + 8 * c))
            add(wrench, i + 8 * c, -force)
            add(wrench, j + 8 * c, force)
            add(wrench, i + MOMENT + 8 * c, total(multipliers * load(G, g + G_I + 8 * c)))
            add(wrench, j + MOMENT + 8 * c, total(multipliers * load(G, g + G_J + 8 * c)))
