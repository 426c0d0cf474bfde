"""Detection of accelerations that are inaccurate because large loads act on light bodies; see `extended`.

The load on a body is a sum of constraint loads. Its round-off is bounded by the round-off of the magnitudes of these
loads. The bound is pessimistic, because refinement removes all errors of accelerations except those along motions that
the constraints permit. Therefore, if the bound is too large, the accelerations are computed once in double-double
arithmetic, for comparison.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.dynamics.model.layout import G_FORCE, G_I, G_J, G_SIZE, MOMENT
from quirk.jit.compilation import kernel
from quirk.jit.simd import add, at, greater, load, put, splat, store, total
from quirk.jit.tracing import traced

from .constraint_solve import clear, copy, wrenches
from .evaluate import evaluate
from .extended import impose_doubled
from .factorisation import factorise_rows
from .mechanism import Mechanism
from .redundancy import EPSILON, adapt_method, monitor_rows
from .relations import G_AT, RELATION_SIZE, SIDE, SIDE_END, SIDE_ENTRIES, SIDE_SIZE, WRENCH_AT
from .rows import HUB, RELATION
from .size import MODERATE, bound_of, largest_acceleration, mass_ratio, size_of
from .workspace import DOUBLED, FOREST, FREEDOMS, HARMLESS, KEPT, METHOD, RATE, REFLECTIONS

# Errors are relative to the largest acceleration.
#   ACCEPTED: largest error that is accepted without double-double arithmetic
#   GROWN: the error is measured again when its bound has grown by this factor since the last measurement
ACCEPTED, GROWN = 1e-11, 10.0

# Bound of the error beyond which y' is set to NaN, relative to the largest acceleration; and ratio of the round-off of
# double-double arithmetic to that of doubles.
TOLERABLE, REFINED = 1e-9, 2.0**-52


@kernel
def evaluate_on_constraints(
    mechanism: Mechanism, t: float, y: np.ndarray, alpha: float, beta: float, rank: int, ydot: np.ndarray
) -> int:
    """Compute y', in `ydot`, at time t (s) and a state y on the constraints, and adapt the solution method.

    If the method changes, y' is evaluated again. It is set to NaN if inertias differ too much even for double-double
    arithmetic. `alpha` and `beta` are Baumgarte's rates, 1/s; `rank` is the number of independent rows. Returns the
    number of evaluations.
    """
    work, count = mechanism.work, 1
    evaluate(mechanism, t, y, alpha, beta, ydot)
    if mechanism.nodes.rows.shape[0] == 0:
        return count
    if monitor_rows(mechanism, t, y, rank):
        evaluate(mechanism, t, y, alpha, beta, ydot)
        count += 1
    if mass_ratio(mechanism) > MODERATE and needs_check(mechanism):
        if not work.summary[KEPT] > 0.0:
            put(work.summary, KEPT, 1.0)
            adapt_method(work)
            evaluate(mechanism, t, y, alpha, beta, ydot)
            count += 1
        put(work.summary, DOUBLED, 1.0 if loses_digits(mechanism, y) else 0.0)
        evaluate(mechanism, t, y, alpha, beta, ydot)
        count += 1
    if work.summary[DOUBLED] > 0.0 and not REFINED * error_bound(mechanism) <= TOLERABLE:
        for o in range(0, ydot.shape[0], 8):
            store(ydot, o, splat(np.nan))
    return count


@kernel
def needs_check(mechanism: Mechanism) -> bool:
    """Return whether accelerations must be compared with double-double arithmetic, as round-off may exceed ACCEPTED.

    No comparison is needed if the accelerations were computed in double-double arithmetic, or if their error was
    measured before at a similar error bound. The method FREEDOMS, the elimination of degrees of freedom, does not
    compute accelerations from sums of loads. In this case the error is estimated as the difference from the
    accelerations due to the sums of loads, which are written to work.extended.wrench_in_doubles.
    """
    work, summary = mechanism.work, mechanism.work.summary
    if at(summary, DOUBLED) > 0.0:
        return False
    bound = error_bound(mechanism)
    if bound > ACCEPTED and bound > GROWN * at(summary, HARMLESS):
        return True
    if summary[METHOD] != FREEDOMS or mechanism.frictions.element.shape[0] > 0:
        return False
    if not at(summary, KEPT) > 0.0:
        return True
    copy(work.extended.applied, work.extended.wrench_in_doubles)
    wrenches(mechanism.nodes, work.G, work.x, work.extended.wrench_in_doubles, False)
    return difference(mechanism) > max(ACCEPTED, bound) * largest_acceleration(mechanism)


@kernel
def difference(mechanism: Mechanism) -> float:
    """Return the largest difference (m/s^2) between the accelerations due to two sets of loads on bodies.

    One set of loads is in work.wrench, the other in work.extended.wrench_in_doubles, which is overwritten by the
    difference of both. Angular accelerations are multiplied by the characteristic length of the body.
    """
    work = mechanism.work
    for o in range(0, work.wrench.shape[0], 8):
        store(work.extended.wrench_in_doubles, o, load(work.wrench, o) - load(work.extended.wrench_in_doubles, o))
    return size_of(mechanism, work.extended.wrench_in_doubles)


@kernel
def loses_digits(mechanism: Mechanism, y: np.ndarray) -> bool:
    """Recompute the loads in double-double arithmetic; return whether round-off without it exceeds ACCEPTED.

    The round-off is that of the accelerations of the last evaluation, at state y. The recomputed loads are written to
    work.wrench. If double-double arithmetic is required, the method FREEDOMS is replaced by REFLECTIONS, because
    FREEDOMS is no more accurate than sums of loads in doubles. False is returned if double-double arithmetic fails, as
    near singular configurations, unless inertias differ too much.
    """
    work = mechanism.work
    method, size, bound = work.summary[METHOD], largest_acceleration(mechanism), error_bound(mechanism)
    put(work.summary, HARMLESS, bound)
    copy(work.wrench, work.extended.wrench_in_doubles)
    if method == FREEDOMS:
        put(work.summary, METHOD, REFLECTIONS)
        factorise_rows(mechanism)
        clear(work.x)
    impose_doubled(mechanism, y)
    apart = difference(mechanism)
    failed = apart != apart and method != FREEDOMS and REFINED * bound <= TOLERABLE
    if failed or apart <= ACCEPTED * size:
        put(work.summary, METHOD, method)
        return False
    if method == FREEDOMS:
        put(work.summary, FOREST, 0.0)
        put(work.summary, RATE, 0.0)
        adapt_method(work)
    return True


@kernel
def error_bound(mechanism: Mechanism) -> float:
    """Return an upper bound of the errors of accelerations due to round-off of constraint loads.

    The bound is relative to the largest acceleration. It is computed from the sum of the magnitudes of the loads on
    each body.
    """
    sum_magnitudes(mechanism)
    return EPSILON * bound_of(mechanism, mechanism.work.extended.wrench) / largest_acceleration(mechanism)


@kernel
def sum_magnitudes(mechanism: Mechanism) -> None:
    """Sum the magnitudes of the loads of all constraint rows on each body, in work.extended.wrench."""
    nodes, work, sizes = mechanism.nodes, mechanism.work, mechanism.work.extended.wrench
    relations = nodes.relations
    clear(sizes)
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] == HUB:
            continue
        x = magnitude(load(work.x, 8 * n))
        if nodes.kind[n] == RELATION:
            e = RELATION_SIZE * nodes.lanes[n]
            for s in range(relations.entries[e + SIDE], relations.entries[e + SIDE_END]):
                b, g = relations.sides[SIDE_ENTRIES * s + WRENCH_AT], relations.sides[SIDE_ENTRIES * s + G_AT]
                for c in range(0, SIDE_SIZE, 8):
                    add(sizes, b + c, total(x * magnitude(load(work.G, g + c))))
            continue
        g, i, j = G_SIZE * n, nodes.wrench[2 * n], nodes.wrench[2 * n + 1]
        for c in range(0, MOMENT, 8):
            force = total(x * magnitude(load(work.G, g + G_FORCE + c)))
            add(sizes, i + c, force)
            add(sizes, j + c, force)
            add(sizes, i + MOMENT + c, total(x * magnitude(load(work.G, g + G_I + c))))
            add(sizes, j + MOMENT + c, total(x * magnitude(load(work.G, g + G_J + c))))


@traced
def magnitude(lanes: Any) -> Any:
    """Return the absolute values of eight numbers."""
    return greater(lanes, -1.0 * lanes)
