"""Constraint loads for given right-hand sides, by solution with the factorized rows and iterative refinement.

A is the matrix of constraint rows, M the mass matrix and S = A M^-1 A^T. The arrays of a solver are in `work`: work.G
contains all rows, work.wrench the sum w of the loads on each body, work.x the multipliers, work.goal the required value
of A M^-1 w, and work.residual the residual, which is work.goal minus the present value. A node is a group of up to six
rows of one joint, or a body with many joints.

The first solve with the factorized rows gives a solution, and further solves refine it. The residual is computed from
rows and accelerations instead of S. Therefore the condition number of S, the square of that of A, slows refinement but
does not reduce accuracy (Bjorck, Numerical Methods for Least Squares Problems (1996), 6.6.5). Loads of all rows are
summed for each body: for light bodies between heavy ones the sums are small, and so is their round-off.

The residual also verifies the solution: with any factorization the loads are combinations of rows, so loads that
satisfy all rows are correct. If the block factorization does not achieve this, an orthogonal factorization by
Householder reflections is used.
"""

from __future__ import annotations

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_I, G_J, G_SIZE, MOMENT
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import add, at, greater, highest, load, put, splat, store, total

from .bodies import unconstrained_accelerations
from .factorisation import factorise_rows, solve_rows
from .mechanism import Mechanism
from .relations import relation_wrenches
from .rows import BILINEAR, HUB, RELATION, Nodes, along, along_with_terms
from .workspace import LEAST, METHOD, PASSES, RATE, REFLECTIONS, REMAINS, Workspace

# Limits of the residuals of constraint rows in iterative refinement:
#   MET: a row is satisfied if its residual is at most this fraction of the sum of the magnitudes of its terms
#   NOISE: corrections that no longer decrease are round-off if they change the accelerations by less than this fraction
#   ASTRAY: limit in place of both for the orthogonal factorization; beyond it, the loads are set to NaN
#   SLOW: if a solve with the block factorization leaves more than this fraction of the residual, the orthogonal
#     factorization is used
MET, NOISE, ASTRAY, SLOW = 1e-13, 1e-11, 1e-8, 1e-3

# MOST_PASSES is the maximum number of solves. A solve with the block factorization is assumed to leave the fraction
# LOSS / p^2 of the residual, where p is the smallest pivot.
MOST_PASSES, LOSS = 12, 2e-15


@kernel
def add_constraint_loads(mechanism: Mechanism, passes: int) -> None:
    """Add constraint loads to work.wrench so that the total loads w satisfy A M^-1 w = work.goal.

    A is the matrix of constraint rows, M the mass matrix. `passes` is the minimum number of solves. On return work.x
    contains the multipliers, summed over all solves. The ratio of the second to the first residual is stored as RATE in
    work.summary if it exceeds the stored value.
    """
    compute_residual(mechanism)
    reduce_residual(mechanism, passes, MET)


@kernel
def set_constraint_loads(mechanism: Mechanism, passes: int, tolerance: float) -> None:
    """Set work.wrench to constraint loads w, without applied loads, that satisfy A M^-1 w = work.rhs.

    A is the matrix of constraint rows, M the mass matrix. At least `passes` solves are made, and further ones until the
    relative residual is below `tolerance`. On return work.goal contains the right-hand side, and work.rhs is
    overwritten.
    """
    work = mechanism.work
    copy(work.rhs, work.goal)
    copy(work.rhs, work.residual)
    clear(work.wrench)
    reduce_residual(mechanism, passes, max(tolerance, MET))


@kernel
def compute_residual(mechanism: Mechanism) -> None:
    """Set work.rhs and work.residual to work.goal minus A M^-1 w, with the loads w in work.wrench.

    A is the matrix of constraint rows, M the mass matrix, and work.goal the required value of A M^-1 w.
    """
    nodes, work = mechanism.nodes, mechanism.work
    unconstrained_accelerations(mechanism.constants, work.wrench, work.motion)
    along(nodes, work.G, work.motion, work.rhs)
    for o in range(0, work.x.shape[0], 8):
        residual = load(work.goal, o) - load(work.rhs, o)
        store(work.rhs, o, residual)
        store(work.residual, o, residual)


@component(effort=3)
def reduce_residual(mechanism: Mechanism, passes: int, tolerance: float) -> None:
    """Add to work.wrench the constraint loads that reduce the residual of the rows to zero.

    On entry the residual must be in work.residual and in work.rhs. At least `passes` solves are made. If the block
    factorization does not reduce the residual of each row to a fraction `tolerance` of the magnitudes of the terms that
    cancel in it, the solution is repeated with an orthogonal factorization. If that also fails, loads and multipliers
    are set to NaN.
    """
    work = mechanism.work
    copy(work.wrench, work.applied_wrench)
    if refine(mechanism, passes, tolerance, NOISE):
        return
    copy(work.applied_wrench, work.wrench)
    if work.summary[METHOD] != REFLECTIONS:
        put(work.summary, METHOD, REFLECTIONS)
        put(work.summary, RATE, 0.0)
        factorise_rows(mechanism)
    compute_residual(mechanism)
    if not refine(mechanism, passes, tolerance, ASTRAY) and not residual_within(mechanism, max(tolerance, ASTRAY)):
        for o in range(0, work.wrench.shape[0], 8):
            store(work.wrench, o, splat(np.nan))
        for o in range(0, work.x.shape[0], 8):
            store(work.x, o, splat(np.nan))


@kernel
def refine(mechanism: Mechanism, passes: int, tolerance: float, noise: float) -> bool:
    """Add to work.wrench the constraint loads that reduce work.residual to zero, by iterative refinement.

    At least `passes` solves are made, and further ones while the iteration converges. Returns whether the rows are then
    satisfied: the residual is at most a fraction `tolerance` of the magnitudes of the terms that cancel in each row, or
    it is round-off that changes the accelerations by less than a fraction `noise`. Where all terms of a row are
    round-off, as for a body that does not turn, only the second holds. If the smallest pivot guarantees the accuracy,
    the residual is not checked.
    """
    nodes, work = mechanism.nodes, mechanism.work
    for o in range(0, work.x.shape[0], 8):
        store(work.sum, o, splat(0.0))
    done, round_off, previous, first = passes == 1, False, 0.0, 0.0
    by_blocks, least = work.summary[METHOD] != REFLECTIONS, at(work.summary, LEAST)
    for solve in range(1 if passes == 1 else MOST_PASSES):
        if solve > 0:
            compute_residual(mechanism)
        solve_rows(mechanism)
        # Square of the correction of the accelerations, in the mass metric.
        square = splat(0.0)
        for o in range(0, work.x.shape[0], 8):
            square = square + load(work.residual, o) * load(work.x, o)
        norm = abs(total(square)) ** 0.5
        round_off = False
        if solve == 0:
            first = norm
        elif norm > SLOW * previous:
            round_off = previous <= noise * max(first, accelerated(work))
            if solve == 1 and not round_off:
                put(work.summary, RATE, max(at(work.summary, RATE), norm / previous))
                if by_blocks:
                    return False
            if norm >= previous:
                add_terms(mechanism, solve == 1)
                done = round_off or (solve >= passes - 1 and residual_within(mechanism, tolerance))
                break  # the rest is round-off, or the method does not converge
        elif solve == 1:
            put(work.summary, RATE, max(at(work.summary, RATE), norm / previous))
        previous = norm
        if solve > 0:
            # Fraction of the last correction left by a block solve, from the smallest pivot.
            done = by_blocks and solve == passes - 1 and LOSS * norm <= tolerance * least * least * first
            if not done:
                add_terms(mechanism, solve == 1)
                done = solve >= passes - 1 and residual_within(mechanism, tolerance)
        for o in range(0, work.x.shape[0], 8):
            store(work.sum, o, load(work.sum, o) + load(work.x, o))
        wrenches(nodes, work.G, work.x, work.wrench, False)
        if done:
            break
    for o in range(0, work.x.shape[0], 8):
        store(work.x, o, load(work.sum, o))
    return done or round_off


@kernel
def accelerated(work: Workspace) -> float:
    """Return the norm, in the mass metric, of the accelerations due to the loads in work.wrench.

    The accelerations must be in work.motion: linear accelerations in the inertial frame, and angular accelerations in
    body axes multiplied by W^-1, where W W^T = J^-1 with the inertia matrix J of a body.
    """
    square = splat(0.0)
    for o in range(0, work.wrench.shape[0], 8):
        square = square + load(work.wrench, o) * load(work.motion, o)
    return total(square) ** 0.5


@kernel
def add_terms(mechanism: Mechanism, first: bool) -> None:
    """Add to work.terms, for each row, the magnitudes of the terms that cancel in its residual.

    These are the terms of A M^-1 w for the loads w in work.wrench, with the constraint rows A and the mass matrix M. If
    `first`, work.terms is first set to the magnitudes of work.goal and of the terms of A M^-1 w for the loads before
    constraint loads were added.
    """
    constants, nodes, work = mechanism.constants, mechanism.nodes, mechanism.work
    if first:
        for o in range(0, work.x.shape[0], 8):
            goal = load(work.goal, o)
            store(work.terms, o, greater(goal, -1.0 * goal))
        unconstrained_accelerations(constants, work.applied_wrench, work.motion)
        along_with_terms(nodes, work.G, work.motion, work.rhs, work.terms)
        unconstrained_accelerations(constants, work.wrench, work.motion)
    along_with_terms(nodes, work.G, work.motion, work.rhs, work.terms)


@kernel
def residual_within(mechanism: Mechanism, tolerance: float) -> bool:
    """Return whether the residual of each independent row is within `tolerance` times the terms that cancel in it.

    The sums of the magnitudes of these terms are in work.terms. Rows that are dependent according to the orthogonal
    factorization are ignored.
    """
    nodes, work = mechanism.nodes, mechanism.work
    largest = splat(0.0)
    for o in range(0, work.x.shape[0], 8):
        rest = load(work.residual, o)
        largest = greater(largest, greater(rest, -1.0 * rest) - tolerance * load(work.terms, o))
    if highest(largest) <= 0.0:
        return True
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] == HUB:
            continue
        for r in range(nodes.rows[n]):
            o = 8 * n + r
            if abs(at(work.residual, o)) > tolerance * at(work.terms, o) and independent(mechanism, n, r):
                return False
    return True


@kernel
def independent(mechanism: Mechanism, n: int, r: int) -> bool:
    """Return whether row r of node n (a joint) is selected and, in the orthogonal factorization, independent.

    With other factorizations all selected rows count as independent.
    """
    work, fronts = mechanism.work, mechanism.work.fronts
    if not at(work.floor, 8 * n + r) < np.inf:
        return False
    return work.summary[METHOD] != REFLECTIONS or at(work.triangle.factor, fronts.start[fronts.first[n]] + 9 * r) != 0.0


@kernel
def solve_count(mechanism: Mechanism, tolerance: float) -> int:
    """Return the number of solves, at most PASSES, that reduce the residual to less than a fraction `tolerance`.

    The number follows from the fraction of the residual, in the mass metric, that one solve leaves (REMAINS in
    work.summary). It allows for larger relative errors of the accelerations of light bodies.
    """
    summary = mechanism.work.summary
    passes, most, rate = 1, int(at(summary, PASSES)), at(summary, REMAINS)
    remaining, enough = rate, tolerance * at(summary, LEAST) ** 0.5
    while passes < most and not remaining < enough:
        passes, remaining = passes + 1, remaining * rate
    return passes


@kernel
def solve_once(mechanism: Mechanism) -> None:
    """Set work.wrench to the constraint loads A^T S^-1 work.rhs, by a single solve without refinement.

    S = A M^-1 A^T, with the constraint rows A and the mass matrix M. work.rhs is overwritten.
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
    """Add the constraint loads A^T x to the loads on bodies in `wrench`.

    The rows A are in G; x contains eight multipliers for each node (joint). If `derived`, G contains the time
    derivatives of the rows. Rows of coincident points then exert no force, because their force directions are constant.
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
