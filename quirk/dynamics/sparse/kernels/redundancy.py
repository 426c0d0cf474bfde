"""Redundant constraint rows: detection of rows that depend linearly on others, and selection of independent rows.

A row is redundant if its distance from the span of the independent rows before it, in the order of elimination, is at
most `rank_tolerance` times its norm. A is the matrix of constraint rows, and the mass matrix is (W W^T)^-1. Norms and
distances are those of A W in the uniform metric (`quirk.dynamics.model.metric`), which does not depend on masses; the
orthogonal factorization computes them to round-off. The pivot of a row is the square of this distance, in the mass
metric and relative to the squared norm.

Rows are selected at a state that satisfies the constraints, and used until the next selection. Stages of a step violate
the constraints slightly, so that redundant rows are inconsistent and appear independent; no selection is made at
stages.

All sets of full rank give the same motion. A set with nearly dependent rows has small pivots, which reduce accuracy.
The selection therefore tries thresholds from `FIRST_THRESHOLD` down to `rank_tolerance`, and uses the first that gives
rows of full rank. A new selection is made if rows of the current set have become dependent, or their smallest pivot too
small.

A node is a group of up to six rows of one joint, or a body with many joints; a relation is a constraint defined by a
function. The array work.G contains all rows.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_I, G_J, G_SIZE
from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, load, put, splat, store

from .bodies import free_motion
from .closing_selection import select_closings
from .closing_solve import closed
from .constraint_solve import LOSS, MOST_PASSES, SLOW, clear
from .evaluate import compute_rows
from .factorisation import pivots
from .mechanism import Mechanism
from .orthogonal import triangularise
from .relations import relation_lengths
from .rows import HUB, RELATION, Nodes
from .size import MODERATE, MODERATE_IN_LOOPS, mass_ratio
from .workspace import (
    BLOCKS,
    DOUBLED,
    FOREST,
    FREEDOMS,
    HARMLESS,
    KEPT,
    LEAST,
    METHOD,
    PASSES,
    PRUNED,
    RANK,
    RATE,
    RECURSIVE,
    REFLECTIONS,
    REMAINS,
    TOLERANCE,
    TRIGGER,
    Workspace,
)

EPSILON = 2.220446049250313e-16

# First threshold for the selection of rows, and ratio of successive thresholds, which end at `rank_tolerance`.
FIRST_THRESHOLD, NEXT_THRESHOLD = 0.1, 0.1

# Rows are selected again if the smallest pivot is below both POOR and WORSE times its value at the last selection.
POOR, WORSE = 1e-3, 0.1

# Limits of the smallest pivot and of residuals, by which the factorization and the number of solves are chosen. A solve
# with the block factorization is assumed to leave the fraction LOSS / p^2 of the residual, where p is the smallest
# pivot.
#   PLAIN: solutions are not refined if all pivots exceed this
#   ENOUGH: solutions are refined until the expected relative residual is below this
#   TINY: the orthogonal factorization replaces the block factorization if a pivot is below this, or if a solve leaves
#     more than the fraction SLOW of the residual
#   FAIR: the block factorization is used again if all pivots exceed this
PLAIN, ENOUGH = 1e-2, 1e-17
TINY, FAIR = 1e-9, 1e-5

# In a forest, degrees of freedom are eliminated if the smallest pivot is at most this. The block factorization would
# then need refinement, which takes longer.
SQUARED = 2e-3

# Assumed upper bound of the fraction of a residual that a solve with the orthogonal factorization leaves; a larger
# observed fraction replaces it.
REFLECTED = 1e-6


@kernel
def measure(nodes: Nodes, inverse_mass: np.ndarray, side_inverse_mass: np.ndarray, work: Workspace) -> None:
    """Compute the squared norms of the rows A W, in work.lengths.

    A is the matrix of constraint rows, stored in work.G, and W a factor of the inverse mass matrix, M^-1 = W W^T. The
    squared norms are the diagonal of A M^-1 A^T. `inverse_mass` (K,) is the sum of 1/m over both bodies of each of K
    nodes (joints), 1/kg. `side_inverse_mass` is 1/m of each body of each relation, a constraint defined by a function,
    1/kg.
    """
    for n in range(nodes.rows.shape[0]):
        lengths = splat(0.0)
        if nodes.kind[n] == RELATION:
            relation_lengths(nodes.relations, nodes.lanes[n], side_inverse_mass, work.G, work.lengths, 8 * n)
            continue
        if nodes.kind[n] != HUB:
            for c in range(3):
                g = G_SIZE * n + 8 * c
                force, on_i, on_j = load(work.G, g + G_FORCE), load(work.G, g + G_I), load(work.G, g + G_J)
                lengths = lengths + inverse_mass[n] * force * force + on_i * on_i + on_j * on_j
        store(work.lengths, 8 * n, lengths)


@kernel
def uniform_rows(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Compute the rows at time t (s) and state y, in work.G, and their squared norms in the uniform metric.

    The uniform metric does not depend on masses. The squared norms are written to work.lengths.
    """
    nodes, work = mechanism.nodes, mechanism.work
    free_motion(work.uniform.constants, y, work.kin)
    compute_rows(mechanism, t, y, 0.0, 0.0)
    measure(nodes, work.uniform.inverse_mass, work.uniform.side_inverse_mass, work)


@kernel
def count_independent(work: Workspace, tolerance: float) -> int:
    """Return the number of rows in work.G that are independent in the uniform metric; store it as RANK.

    A row is independent if its distance from the span of the rows before it exceeds `tolerance` times its norm. The
    uniform metric does not depend on masses. The rows are factorized by reflections, in work.triangle, which also
    contains the distances.
    """
    clear(work.x)
    alike = work.uniform
    kept = triangularise(work.fronts, work.triangle, work.G, alike.scale, alike.weight, work.lengths, work.x, tolerance)
    put(work.summary, RANK, kept)
    return kept


@kernel
def count_rows(nodes: Nodes) -> int:
    """Return the number of constraint rows of all joints."""
    rows = 0
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] != HUB:
            rows += nodes.rows[n]
    return rows


@kernel
def select_rows(mechanism: Mechanism, t: float, y: np.ndarray, rank: int) -> bool:
    """Select `rank` independent rows with pivots as large as possible, at time t (s) and a state y on the constraints.

    Returns False, and keeps the previous selection, if fewer than `rank` rows are independent.
    """
    nodes, work = mechanism.nodes, mechanism.work
    uniform_rows(mechanism, t, y)
    least = at(work.summary, TOLERANCE)
    threshold = least if rank >= count_rows(nodes) else max(FIRST_THRESHOLD, least)
    while count_independent(work, threshold) < rank and threshold > least:
        threshold = max(NEXT_THRESHOLD * threshold, least)
    if work.summary[RANK] < rank:
        mass_metric_rows(mechanism, t, y)
        return False
    # Store the distance of each selected row, and zero for all other rows.
    fronts, triangle = work.fronts, work.triangle
    for n in range(nodes.rows.shape[0]):
        d = fronts.start[fronts.first[n]]
        store(work.measure, 8 * n, splat(0.0))
        for r in range(nodes.rows[n]):
            kept = nodes.kind[n] != HUB and at(triangle.factor, d + 9 * r) != 0.0
            put(work.measure, 8 * n + r, at(triangle.distance, 8 * n + r) if kept else 0.0)
    factorise_selected(mechanism, t, y)
    put(work.summary, TRIGGER, min(POOR, WORSE * work.summary[LEAST]))
    return True


@kernel
def mass_metric_rows(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Compute the constraint rows at time t (s) and state y, in work.G.

    Their squared norms in the mass metric are written to work.lengths.
    """
    constants, nodes, work = mechanism.constants, mechanism.nodes, mechanism.work
    free_motion(constants, y, work.kin)
    compute_rows(mechanism, t, y, 0.0, 0.0)
    measure(nodes, nodes.inverse_mass, nodes.relations.inverse_mass, work)


@kernel
def factorise_selected(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Factorize the selected rows in the mass metric, and choose the factorization and the lower limits of the pivots.

    A row is selected if its distance in work.measure, from the span of other rows in the uniform metric, is nonzero.
    Its lower limit in work.floor is its squared distance in the mass metric, times the square of `rank_tolerance` over
    its distance in the uniform metric. The lower limits of all other rows are infinite. The smallest pivot, the method
    and other results are stored in work.summary. t is the time (s), and y the state.
    """
    nodes, work = mechanism.nodes, mechanism.work
    mass_metric_rows(mechanism, t, y)
    for n in range(nodes.rows.shape[0]):
        for r in range(nodes.rows[n]):
            out = nodes.kind[n] != HUB and at(work.measure, 8 * n + r) == 0.0
            put(work.floor, 8 * n + r, np.inf if out else 0.0)
    triangularise(work.fronts, work.triangle, work.G, work.scale, work.weight, work.lengths, work.floor, 0.0)
    least, distances = 1.0, work.triangle.distance
    for n in range(nodes.rows.shape[0]):
        for r in range(nodes.rows[n]):
            o = 8 * n + r
            if nodes.kind[n] == HUB or at(work.measure, o) == 0.0:
                continue
            length, distance = at(work.lengths, o), at(distances, o)
            shrunk = distance * work.summary[TOLERANCE] / at(work.measure, o)
            put(work.floor, o, shrunk * shrunk * length)
            least = min(least, distance * distance)
    put(work.summary, LEAST, least)
    put(work.summary, METHOD, REFLECTIONS if work.summary[PRUNED] > 0.0 else BLOCKS)
    put(work.summary, FOREST, 1.0 if mechanism.tree.entries.shape[0] > 0 and all_selected(mechanism) else 0.0)
    put(work.summary, RATE, 0.0)
    put(work.summary, KEPT, 0.0)
    put(work.summary, DOUBLED, 0.0)
    put(work.summary, HARMLESS, 0.0)
    adapt_method(work)
    put(work.summary, RECURSIVE, 1.0 if suits_recursion(mechanism, t, y) else 0.0)


@kernel
def suits_recursion(mechanism: Mechanism, t: float, y: np.ndarray) -> bool:
    """Return whether accelerations can be computed by recursion over the joints, without multipliers.

    The result is False if every evaluation needs the multipliers of all rows: for friction, or to detect a loss of
    accuracy in systems with very different inertias. If the system has loops, an independent set of loop-closing rows
    is selected at time t (s) and state y. Of these, only the multipliers of rows that do work are computed.
    """
    if mechanism.recursion.entries.shape[0] == 0:
        return False
    if mechanism.frictions.element.shape[0] > 0:
        return False
    if closed(mechanism):
        # Recursion remains selected in a run even if the rows are nearly dependent for some time.
        suitable = mass_ratio(mechanism) <= MODERATE_IN_LOOPS and select_closings(mechanism, t, y)
        return suitable or at(mechanism.work.summary, RECURSIVE) > 0.0
    return all_selected(mechanism) and mass_ratio(mechanism) <= MODERATE


@kernel
def all_selected(mechanism: Mechanism) -> bool:
    """Return whether all constraint rows of the system are selected."""
    nodes, work = mechanism.nodes, mechanism.work
    for n in range(nodes.rows.shape[0]):
        for r in range(nodes.rows[n]):
            if nodes.kind[n] != HUB and not at(work.floor, 8 * n + r) < np.inf:
                return False
    return True


@kernel
def adapt_method(work: Workspace) -> None:
    """Choose the factorization and the number of solves from the smallest pivot and the convergence rate.

    The choice is stored as METHOD and PASSES in work.summary. For systems without loops, the degrees of freedom of
    joints are eliminated if the smallest pivot is at most SQUARED. One solve by this method or by reflections is
    assumed to leave the fraction REFLECTED of the residual, or the observed fraction RATE if that is larger.
    """
    least, rate = at(work.summary, LEAST), at(work.summary, RATE)
    if work.summary[METHOD] == BLOCKS and work.summary[FOREST] > 0.0 and not least > SQUARED:
        put(work.summary, METHOD, FREEDOMS)
        rate = 0.0
    elif work.summary[METHOD] == BLOCKS and (least < TINY or rate > SLOW):
        put(work.summary, METHOD, REFLECTIONS)
        rate = 0.0
    elif work.summary[METHOD] == REFLECTIONS and least > FAIR and not work.summary[PRUNED] > 0.0:
        put(work.summary, METHOD, BLOCKS)
        rate = 0.0
    put(work.summary, RATE, rate)
    plain, kept = False, at(work.summary, KEPT) > 0.0
    if work.summary[METHOD] == REFLECTIONS:
        remains = max(rate, REFLECTED)
    elif work.summary[METHOD] == FREEDOMS:
        remains, plain = max(rate, REFLECTED), least > PLAIN and not kept
    else:
        remains, plain = rate if rate > 0.0 else LOSS / (least * least), least > PLAIN and not kept
    put(work.summary, REMAINS, remains)
    put(work.summary, PASSES, 1 if plain else passes_for(remains, least))


@kernel
def passes_for(rate: float, smallest_pivot: float) -> int:
    """Return the number of passes of iterative refinement, at least two, for a relative residual below ENOUGH.

    `rate` is the factor by which each pass reduces the residual in the mass metric. Relative errors of accelerations of
    light bodies may be larger than the residual by the factor 1 / sqrt(smallest_pivot), with the smallest pivot of the
    constraint rows; the number of passes allows for it.
    """
    wanted = math.log(ENOUGH * math.sqrt(smallest_pivot)) / math.log(min(max(rate, EPSILON), 0.5))
    return min(MOST_PASSES, max(2, math.ceil(wanted)))


@kernel
def record_rank(mechanism: Mechanism) -> int:
    """Store the number of independent rows of the last factorization as RANK, and their smallest pivot as LEAST.

    Both are entries of work.summary. Returns the number of dropped rows.
    """
    kept, left_out, least = pivots(mechanism)
    put(mechanism.work.summary, RANK, kept)
    put(mechanism.work.summary, LEAST, least)
    return left_out


@component(effort=2)
def monitor_rows(mechanism: Mechanism, t: float, y: np.ndarray, rank: int) -> bool:
    """Check the selected rows after an evaluation of y' at time t (s) and a state y on the constraints.

    Rows are selected again if necessary, and the factorization and the number of solves are adapted. Returns whether y'
    must be evaluated again, because the selection or the factorization has changed or more solves are needed.
    """
    work = mechanism.work
    method, passes = work.summary[METHOD], work.summary[PASSES]
    if selects_again(mechanism, t, y, rank):
        return True
    adapt_method(work)
    return work.summary[PASSES] > passes or work.summary[METHOD] != method


@kernel
def selects_again(mechanism: Mechanism, t: float, y: np.ndarray, rank: int) -> bool:
    """Select `rank` rows again if the selected ones have become dependent, or nearly so; return whether this was done.

    This is the case if the smallest pivot has become too small, or if fewer than `rank` of the selected rows are
    independent and there are others. The rows at time t (s) and state y must have been factorized.
    """
    left_out, work = record_rank(mechanism), mechanism.work
    dependent = left_out > 0 and work.summary[RANK] < rank and rank < count_rows(mechanism.nodes)
    if dependent or (left_out > 0 and not work.summary[LEAST] > work.summary[TRIGGER]):
        select_rows(mechanism, t, y, rank)
        return True
    return False
