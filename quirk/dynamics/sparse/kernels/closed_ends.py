"""Accelerations at the ends of steps by recursion over a forest with closing rows, whose independence is watched.

At a singular configuration, or with a poor selection of rows, the distances of closing rows from the span of others
become small. The accelerations are then computed by rows, which adapt method and selection, until the rows are apart
again.
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
    """Return whether loops are closed by rows over a recursion that suits the last state on the constraints."""
    return recursive(mechanism) and at(mechanism.work.summary, APART) > 0.0


@component(effort=1)
def evaluate_closed(mechanism: Mechanism, t: float, y: np.ndarray, rank: int, by_rows: bool, ydot: np.ndarray) -> int:
    """Compute y', in `ydot`, at time t (s) and a state y on the constraints, of a system with closings.

    Recursion is used if rows are apart from each other before and after, and not `by_rows`. `rank` is the number of
    independent rows. Returns the number of evaluations.
    """
    done = not by_rows and closed_recursively(mechanism) and accelerate_closed(mechanism, t, y, ydot)
    count = 1
    if not done or not watch_closings(mechanism):
        count = evaluate_on_constraints(mechanism, t, y, 0.0, 0.0, rank, ydot)
        watch_anew(mechanism, t, y)
    compare_pivots(mechanism.work, recursive(mechanism))
    return count


@kernel
def begin_closed(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Determine the pivots of closings at the start of the first step by recursion, at time t (s) and state y."""
    if at(mechanism.work.summary, OVER_FOREST) > 0.0:
        return
    watch_anew(mechanism, t, y)
    compare_pivots(mechanism.work, recursive(mechanism))


@kernel
def compare_pivots(work: Workspace, over_forest: bool) -> None:
    """Prepare pivots for comparison with those at earlier states, which are unknown if they are of the other kind.

    `over_forest` is true if the present pivots are those of closing rows over the forest.
    """
    if (at(work.summary, OVER_FOREST) > 0.0) != over_forest:
        put(work.summary, OVER_FOREST, 1.0 if over_forest else 0.0)
        copy(work.pivots, work.pivots_before)
        copy(work.pivots, work.pivots_earlier)


@kernel
def watch_anew(mechanism: Mechanism, t: float, y: np.ndarray) -> None:
    """Determine the pivots of closings at time t (s) and a state y on the constraints, after an evaluation by rows.

    Independent rows are selected anew if the present ones are not apart.
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
