"""Constraint loads from right-hand sides, by solves with the factorised rows and iterative refinement.

Evaluations, projections and derivatives all come here. The residual of refinement is goal - A M^-1 (loads), formed
from rows and accelerations and not from S = A M^-1 A^T. So the condition of S, which is squared, makes refinement
slower and costs no digits (Bjorck, Numerical Methods for Least Squares Problems (1996), 6.6.5). Loads of all rows are
summed per body: where light bodies are held between heavy ones the sums are small, and their round-off with them.
"""

from __future__ import annotations

import numpy as np

from quirk.compiled import kernel
from quirk.lanes import add, at, load, put, splat, store, total

from ...layout import G_FORCE, G_I, G_J, G_SIZE, MOMENT
from .bodies import released
from .factorisation import solve_rows
from .mechanism import Mechanism
from .relations import relation_wrenches
from .rows import BILINEAR, HUB, RELATION, Nodes, along
from .work import LEAST, PASSES, RATE, REMAINS


@kernel
def impose(mechanism: Mechanism, passes: int) -> None:
    """Add constraint loads to work.wrench so that A M^-1 (work.wrench) = work.goal, by at most `passes` solves.

    work.x are then the multipliers, summed over all solves. Refinement ends before that if the residual grows. The
    factor from the first residual to the second is noted as RATE, if it is the largest so far.
    """
    find_rest(mechanism)
    solve_for_rest(mechanism, passes)


@kernel
def impose_alone(mechanism: Mechanism, passes: int) -> None:
    """Fill work.wrench with the constraint loads that by themselves make A M^-1 (work.wrench) = work.rhs.

    By at most `passes` solves, as `impose` does beside other loads; work.goal is then what work.rhs was.
    """
    work = mechanism.work
    for o in range(0, work.x.shape[0], 8):
        goal = load(work.rhs, o)
        store(work.goal, o, goal)
        store(work.rest, o, goal)
    clear(work.wrench)
    solve_for_rest(mechanism, passes)


@kernel
def find_rest(mechanism: Mechanism) -> None:
    """Fill work.rhs and work.rest with what is left of work.goal under the loads in work.wrench."""
    nodes, work = mechanism.nodes, mechanism.work
    released(mechanism.constants, work.wrench, work.motion)
    along(nodes, work.G, work.motion, work.rhs)
    for o in range(0, work.x.shape[0], 8):
        rest = load(work.goal, o) - load(work.rhs, o)
        store(work.rhs, o, rest)
        store(work.rest, o, rest)


@kernel
def solve_for_rest(mechanism: Mechanism, passes: int) -> None:
    """Add the loads to work.wrench that work.rest asks for, which is in work.rhs too, by at most `passes` solves."""
    nodes, work = mechanism.nodes, mechanism.work
    for o in range(0, work.x.shape[0], 8):
        store(work.sum, o, splat(0.0))
    before = 0.0
    for turn in range(passes):
        if turn > 0:
            find_rest(mechanism)
        solve_rows(mechanism)
        # The square of what is added to the accelerations, in the mass metric.
        square = splat(0.0)
        for o in range(0, work.x.shape[0], 8):
            square = square + load(work.rest, o) * load(work.x, o)
        now = abs(total(square)) ** 0.5
        if turn == 1 and before > 0.0:
            put(work.summary, RATE, max(at(work.summary, RATE), now / before))
        if turn > 0 and now > before:
            break  # nothing is left but round-off, or the method will not do: the rate tells
        before = now
        for o in range(0, work.x.shape[0], 8):
            store(work.sum, o, load(work.sum, o) + load(work.x, o))
        wrenches(nodes, work.G, work.x, work.wrench, False)
    for o in range(0, work.x.shape[0], 8):
        store(work.x, o, load(work.sum, o))


@kernel
def solves_for(mechanism: Mechanism, left: float) -> int:
    """How many solves leave less than a part `left` of a right-hand side; no more than are made for all digits.

    The residual is in the mass metric; accelerations of light bodies may be off by more, as `passes_for` says.
    """
    summary = mechanism.work.summary
    passes, most, remains = 1, int(at(summary, PASSES)), at(summary, REMAINS)
    rest, enough = remains, left * at(summary, LEAST) ** 0.5
    while passes < most and not rest < enough:
        passes, rest = passes + 1, rest * remains
    return passes


@kernel
def push(mechanism: Mechanism) -> None:
    """Fill work.wrench with A^T S^-1 rhs, the constraint loads of one solve; work.rhs is overwritten."""
    nodes, work = mechanism.nodes, mechanism.work
    solve_rows(mechanism)
    clear(work.wrench)
    wrenches(nodes, work.G, work.x, work.wrench, False)


@kernel
def clear(array: np.ndarray) -> None:
    """Fill a flat array, whose length is a multiple of eight, with zeros."""
    for o in range(0, array.shape[0], 8):
        store(array, o, splat(0.0))


@kernel
def wrenches(nodes: Nodes, G: np.ndarray, x: np.ndarray, wrench: np.ndarray, derived: bool) -> None:
    """Add the constraint loads A^T x of multipliers x (8 K,) to `wrench`, for rows in G.

    With `derived`, G holds a derivative of the rows, in which the constant forces of coincidences are zero.
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
