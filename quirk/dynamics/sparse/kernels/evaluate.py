"""The right-hand side of the equations of motion: y' = f(t, y)."""

from __future__ import annotations

import numpy as np

from quirk.compiled import inlined, kernel, plain
from quirk.lanes import load, store

from .bodies import free_accelerations, free_motion, poses, rates, take_loads
from .factorise import STRETCH, Pattern, backward, factorise, forward
from .impose import clear, factorise_rows, impose, wrenches
from .loads import Forces, applied_loads
from .rows import Nodes, constraint_rows
from .work import PASSES, Work

# These kernels once more, inlined into the two functions below, which run at every stage of every step. A call would
# pass each array as seven numbers, over two hundred in all, which takes longer than the work on a small system.
_rows, _factorise, _forward, _backward, _wrenches = (
    inlined(plain(function)) for function in (constraint_rows, factorise, forward, backward, wrenches)
)


@kernel
def sweep(nodes: Nodes, pattern: Pattern, work: Work, t: float, y: np.ndarray, alpha: float, beta: float) -> None:
    """Evaluate rows and right-hand sides, factorise, and substitute forward, a stretch of nodes at a time.

    All three are done for one stretch before the next, while its blocks are in the processor's cache; three passes over
    all nodes of a large system would read memory three times.
    """
    count, ready = pattern.rows.shape[0], 0
    for begin in range(0, count, STRETCH):
        end, due = min(begin + STRETCH, count), pattern.due[begin // STRETCH]
        _rows(nodes, pattern.visits, ready, due, t, y, work.kin, alpha, beta, work.G, work.rhs)
        _factorise(pattern, begin, end, work.G, work.floor, work.B, work.Q)
        _forward(pattern, begin, end, work.B, work.rhs, work.x)
        ready = due


@kernel
def evaluate(
    constants: np.ndarray,
    nodes: Nodes,
    pattern: Pattern,
    forces: Forces,
    work: Work,
    t: float,
    y: np.ndarray,
    alpha: float,
    beta: float,
    ydot: np.ndarray,
) -> None:
    """Fill `ydot` with y' at (t, y): of the accelerations that satisfy the constraints those closest to the free ones.

    Closest in the mass metric (Gauss). `alpha` and `beta`, 1/s, are Baumgarte's rates, 0 for none. The multipliers are
    then in work.x.
    """
    passes = int(work.summary[PASSES])
    if forces.entries.shape[0] > 0:
        poses(constants, y, work.kin)
        applied_loads(forces, t, y, work.kin)
    if passes > 1:
        if forces.entries.shape[0] == 0:
            poses(constants, y, work.kin)
        # Applied loads and those of constraints are summed up per body before anything is divided by its mass.
        take_loads(constants, y, work.kin, work.wrench)
        all_rows(nodes, pattern, work, t, y, alpha, beta)
        copy(work.rhs, work.goal)
        factorise_rows(pattern, work)
        impose(constants, nodes, pattern, work, passes)
    else:
        if forces.entries.shape[0] > 0:
            free_accelerations(constants, y, work.kin)
        else:
            free_motion(constants, y, work.kin)
        sweep(nodes, pattern, work, t, y, alpha, beta)
        _backward(pattern, work.Q, work.x)
        clear(work.wrench)
        _wrenches(nodes, work.G, work.x, work.wrench, False)
    rates(constants, y, work.kin, work.wrench, ydot)


@kernel
def all_rows(nodes: Nodes, pattern: Pattern, work: Work, t: float, y: np.ndarray, alpha: float, beta: float) -> None:
    """Fill work.G with the rows of all nodes at (t, y) and work.rhs with b - A a, a the accelerations in work.kin."""
    constraint_rows(nodes, pattern.visits, 0, pattern.visits.shape[0], t, y, work.kin, alpha, beta, work.G, work.rhs)


@kernel
def factorise_at(constants: np.ndarray, nodes: Nodes, pattern: Pattern, work: Work, t: float, y: np.ndarray) -> None:
    """Evaluate the rows at (t, y) and factorise them; applied loads are left out, on which rows do not depend."""
    free_motion(constants, y, work.kin)
    if work.summary[PASSES] > 1:
        all_rows(nodes, pattern, work, t, y, 0.0, 0.0)
        factorise_rows(pattern, work)
    else:
        sweep(nodes, pattern, work, t, y, 0.0, 0.0)


@kernel
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a flat array whose length is a multiple of eight."""
    for o in range(0, source.shape[0], 8):
        store(target, o, load(source, o))
