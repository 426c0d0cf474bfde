"""Interface to the three factorizations of the constraint rows A, with the mass matrix M = (W W^T)^-1 and G = A W.

The method BLOCKS factorizes S = A M^-1 A^T by blocks, REFLECTIONS makes G^T triangular by Householder reflections, and
FREEDOMS eliminates the degrees of freedom of joints, for systems without loops. The functions of this module factorize
the rows, solve for multipliers, and compute pivots, by the method stored as METHOD in work.summary. The pivot of a row
is its squared distance from the span of the rows before it.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, put, splat, store

from .articulated import articulate
from .articulated_solve import solve_forest
from .factorise import factorise, solve
from .joint_geometry import place_joints
from .mechanism import Mechanism
from .orthogonal import substitute, triangularise
from .rows import HUB
from .workspace import BLOCKS, FACTORED, FOREST, FREEDOMS, LEAST, METHOD, PASSES, REFLECTIONS

# Number of solves while the pivots, from which it is computed later, are unknown: a first solve and one refinement.
UNTOLD_PASSES = 2


@kernel
def prepare_rows(mechanism: Mechanism, y: np.ndarray, kin: np.ndarray) -> None:
    """Compute the geometry of joints that the method FREEDOMS requires; do nothing for other methods.

    FREEDOMS eliminates the degrees of freedom of the joints. The geometry is computed from the rows in work.G, the
    state y and the rotations in `kin`. If the rows of a joint are nearly dependent, the method is changed to BLOCKS.
    """
    work = mechanism.work
    if work.summary[METHOD] == FREEDOMS and not place_joints(mechanism, y, kin):
        put(work.summary, METHOD, BLOCKS)
        put(work.summary, FOREST, 0.0)
        put(work.summary, PASSES, UNTOLD_PASSES)


@component(effort=6)
def factorise_rows(mechanism: Mechanism) -> None:
    """Factorize the rows in work.G by the method stored as METHOD in work.summary.

    Only Householder reflections decide reliably which rows are dependent: if the block factorization drops any row, the
    method is changed to REFLECTIONS. The method FREEDOMS requires the joint geometry computed by `prepare_rows`.
    """
    pattern, work = mechanism.pattern, mechanism.work
    put(work.summary, FACTORED, 0.0)
    if work.summary[METHOD] == FREEDOMS:
        articulate(mechanism.tree)
        return
    if work.summary[METHOD] != REFLECTIONS:
        factorise(pattern, 0, pattern.rows.shape[0], work.G, work.floor, work.B, work.Q)
        if not has_positive_pivots(mechanism):
            put(work.summary, METHOD, REFLECTIONS)
    if work.summary[METHOD] == REFLECTIONS:
        triangularise(work.fronts, work.triangle, work.G, work.scale, work.weight, work.lengths, work.floor, 0.0)


@kernel
def has_positive_pivots(mechanism: Mechanism) -> bool:
    """Return whether the block factorization found all selected rows independent, with positive pivots."""
    nodes, pattern, work = mechanism.nodes, mechanism.pattern, mechanism.work
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] == HUB:
            continue
        d = pattern.start[pattern.first[n]]
        for r in range(nodes.rows[n]):
            if at(work.floor, 8 * n + r) < math.inf and not at(work.B, d + 9 * r) > 0.0:
                return False
    return True


@kernel
def solve_rows(mechanism: Mechanism) -> None:
    """Solve S x = rhs with the last factorization: work.x is computed from work.rhs, which is overwritten.

    S = A M^-1 A^T, with the constraint rows A and the mass matrix M.
    """
    pattern, tree, work = mechanism.pattern, mechanism.tree, mechanism.work
    if work.summary[METHOD] == FREEDOMS:
        for o in range(0, tree.bias.shape[0], 8):
            store(tree.bias, o, splat(0.0))
        solve_forest(tree, work.rhs, work.x)
    elif work.summary[METHOD] == REFLECTIONS:
        substitute(work.fronts, work.triangle, work.rhs, work.x)
    else:
        solve(pattern, work.B, work.Q, work.rhs, work.x)


@kernel
def pivots(mechanism: Mechanism) -> tuple[int, int, float]:
    """Return the numbers of independent and of dropped rows of the last factorization, and the smallest pivot.

    All pivots are written to work.pivots, divided by the squared norms of the rows at their last selection. The rows of
    a forest, a system without loops, cannot become dependent: with the method FREEDOMS their pivots are set to 1, and
    the smallest pivot is the one found at the selection.
    """
    nodes, pattern, work = mechanism.nodes, mechanism.pattern, mechanism.work
    kept, left_out, least = 0, 0, 1.0
    by_reflections, by_freedoms = work.summary[METHOD] == REFLECTIONS, work.summary[METHOD] == FREEDOMS
    if by_freedoms:
        least = at(work.summary, LEAST)
    fronts = work.fronts
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] == HUB:
            continue
        if by_reflections:
            d, factor = fronts.start[fronts.first[n]], work.triangle.factor
        else:
            d, factor = pattern.start[pattern.first[n]], work.B
        there = by_reflections or pattern.rows[n] > 0  # otherwise no row of the node is selected, and it has no block
        for r in range(nodes.rows[n]):
            if by_freedoms:
                kept += 1
                put(work.pivots, 8 * n + r, 1.0)
                continue
            # Square root of a pivot, or its inverse; zero for a row dropped as dependent.
            entry, pivot = at(factor, d + 9 * r) if there else 0.0, 0.0
            if entry == 0.0:
                left_out += 1
            else:
                kept += 1
                pivot = (entry * entry if by_reflections else 1.0 / entry) / at(work.lengths, 8 * n + r)
                least = min(least, pivot)
            put(work.pivots, 8 * n + r, pivot)
    return kept, left_out, least
