"""Accelerations at the ends of steps by recursion over a forest, with constraint rows that close its loops.

At a singular configuration, or with a poor selection of rows, the loop-closing rows become nearly dependent. The
accelerations are then computed by elimination of all constraint rows, which adapts its method and selection, until the
loop-closing rows are far enough from dependence again.
"""

from __future__ import annotations

import numpy as np

from quirk.jit.compilation import kernel
from quirk.jit.components import component
from quirk.jit.simd import at, put

from .closing_selection import has_dependent, select_closings, watch_closings
from .constraint_solve import copy
from .mechanism import Mechanism
from .recursion_solve import accelerate_closed, factorise_closed, recursive
from .round_off_detection import evaluate_on_constraints
from .workspace import APART, FACTORED, OVER_FOREST, Workspace


@kernel
def closed_recursively(mechanism: Mechanism) -> bool:
    """Return whether recursion is selected for a system with loops, and its loop-closing rows are far from dependent.

    The distance of the rows from dependence was measured at the last state on the constraints.
    """
    return recursive(mechanism) and at(mechanism.work.summary, APART) > 0.0


@component(effort=1)
def evaluate_closed(mechanism: Mechanism, t: float, y: np.ndarray, rank: int, by_rows: bool, ydot: np.ndarray) -> int:
    """Compute y', in `ydot`, at time t (s) and a state y that satisfies the constraints, for a system with loops.

    Recursion over the spanning forest is used if the loop-closing rows are far from dependent at the previous state and
    at y, and `by_rows` is false. Otherwise all constraint rows are eliminated, of which `rank` are independent. Returns
    the number of evaluations.
    """
    done = not by_rows and closed_recursively(mechanism) and accelerate_closed(mechanism, t, y, ydot)
    count = 1
    if not done or not watch_closings(mechanism):
        count = evaluate_on_constraints(mechanism, t, y, 0.0, 0.0, rank, ydot)
        recompute_pivots(mechanism, t, y)
    compare_pivots(mechanism.work, recursive(mechanism))
    return count


@kernel
def begin_closed(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Compute the pivots of the loop-closing rows at time t (s) and state y, before the first step by recursion.

    A pivot is the squared distance of a row from the span of the rows before it. Nothing is done if the stored pivots
    are already those of loop-closing rows.
    """
    if at(mechanism.work.summary, OVER_FOREST) > 0.0:
        return
    recompute_pivots(mechanism, t, y)
    compare_pivots(mechanism.work, recursive(mechanism))


@kernel
def compare_pivots(work: Workspace, over_forest: bool) -> None:
    """Replace stored pivots of earlier states by the present pivots, if they belong to a different set of rows.

    `over_forest` is true if the present pivots are those of loop-closing rows in a recursion over a forest, and false
    if they are those of all constraint rows.
    """
    if (at(work.summary, OVER_FOREST) > 0.0) != over_forest:
        put(work.summary, OVER_FOREST, 1.0 if over_forest else 0.0)
        copy(work.pivots, work.pivots_before)
        copy(work.pivots, work.pivots_earlier)


@kernel
def recompute_pivots(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Compute the pivots of the loop-closing rows at time t (s) and state y, after an elimination of all rows.

    The state must satisfy the constraints. If rows are nearly dependent, independent rows are selected again. If the
    new selection is also nearly dependent, the factorization is marked as unusable.
    """
    if not recursive(mechanism):
        return
    factorise_closed(mechanism, t, y)
    if watch_closings(mechanism):
        return
    if has_dependent(mechanism.closings):
        select_closings(mechanism, t, y)
        factorise_closed(mechanism, t, y)
        watch_closings(mechanism)
    if not closed_recursively(mechanism):
        put(mechanism.work.summary, FACTORED, 0.0)
