"""One evaluation of the equations of motion: y' = f(t, y)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from quirk.compiled import inlined, kernel, plain
from quirk.lanes import add, at, load, splat, store, total

from .bodies import free_accelerations, free_motion, poses, rates
from .factorise import STRETCH, Pattern, backward, factorise, forward, solve
from .layout import CONSTANTS_SIZE, G_FORCE, G_I, G_J, G_SIZE, INVERSE_MASS, WRENCH_SIZE
from .loads import Forces, applied_loads
from .relations import relation_wrenches
from .rows import BILINEAR, HUB, RELATION, Nodes, along, constraint_rows

# One more solve, for what the first one left, gains as many digits as the smallest pivot has left: needed where
# pivots are below the first; two where they are below the second.
ONE_REFINEMENT, TWO_REFINEMENTS = 1e-2, 1e-8
MOST_REFINEMENTS = 2


class Work(NamedTuple):
    """Arrays that evaluations write: no kernel allocates.

    kin: kinematics of bodies · G, rhs, x: rows, right-hand sides and unknowns of nodes · goal, first: rhs and x
    kept for refinement · B, Q: the factorisation · wrench, motion: per body, see `layout` · lengths (8 K,): squares
    of the rows in the mass metric · floor (8 K,): pivots that are not above it count as zero; infinite for rows
    that are left out · trial (8 K,): other floors · summary: see below.
    """

    kin: np.ndarray
    G: np.ndarray
    rhs: np.ndarray
    x: np.ndarray
    goal: np.ndarray
    first: np.ndarray
    B: np.ndarray
    Q: np.ndarray
    wrench: np.ndarray
    motion: np.ndarray
    lengths: np.ndarray
    floor: np.ndarray
    trial: np.ndarray
    summary: np.ndarray


# Entries of Work.summary: number of rows kept, least pivot kept, refinements asked for, the least pivot at which other
# rows are to be left out, and how far, in rad or lengths of the system, the last projection found the poses off.
RANK, LEAST, REFINEMENTS, TRIGGER, CORRECTION = range(5)


@kernel
def wrenches(nodes: Nodes, G: np.ndarray, x: np.ndarray, wrench: np.ndarray, derived: bool) -> None:
    """Fill `wrench` with what multipliers x exert on each body.

    With `derived` rows, derivatives of others, the forces of coincidences are zero, not the axes of N.
    """
    for o in range(0, wrench.shape[0], 8):
        store(wrench, o, splat(0.0))
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
            add(wrench, i + 24 + 8 * c, total(multipliers * load(G, g + G_I + 8 * c)))
            add(wrench, j + 24 + 8 * c, total(multipliers * load(G, g + G_J + 8 * c)))


# Copies for the innermost loop: a call of its own would hand over two hundred numbers, addresses and lengths.
_rows, _factorise, _forward, _backward, _wrenches = (
    inlined(plain(function)) for function in (constraint_rows, factorise, forward, backward, wrenches)
)


@kernel
def sweep(nodes: Nodes, pattern: Pattern, work: Work, t: float, y: np.ndarray, alpha: float, beta: float) -> None:
    """Find rows and their right-hand sides, factorise, and solve forward: all while it is at hand.

    Of large systems each pass over all nodes would wait for memory.
    """
    count, ready = pattern.rows.shape[0], 0
    for begin in range(0, count, STRETCH):
        end, due = min(begin + STRETCH, count), pattern.due[begin // STRETCH]
        _rows(nodes, pattern.visits, ready, due, t, y, work.kin, alpha, beta, work.G, work.rhs)
        if work.summary[REFINEMENTS] > 0:
            for visit in range(ready, due):
                o = 8 * pattern.visits[visit]
                store(work.goal, o, load(work.rhs, o))
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
    """Fill y' with the motion closest to the free one that satisfies the constraints.

    `alpha` and `beta` are Baumgarte's rates.
    """
    if forces.kind.shape[0] > 0:
        poses(constants, y, work.kin)
        applied_loads(forces, t, y, work.kin)
        free_accelerations(constants, y, work.kin)
    else:
        free_motion(constants, y, work.kin)
    sweep(nodes, pattern, work, t, y, alpha, beta)
    _backward(pattern, work.Q, work.x)
    _wrenches(nodes, work.G, work.x, work.wrench, False)
    for _ in range(int(work.summary[REFINEMENTS])):
        refine(constants, nodes, pattern, work)
    rates(constants, y, work.kin, work.wrench, ydot)


@kernel
def refine(constants: np.ndarray, nodes: Nodes, pattern: Pattern, work: Work) -> None:
    """Solve once more for what is left of `goal`; the wrenches become those of the sum."""
    released(constants, work.wrench, work.motion)
    along(nodes, work.G, work.motion, work.rhs)
    for o in range(0, work.x.shape[0], 8):
        store(work.rhs, o, load(work.goal, o) - load(work.rhs, o))
        store(work.first, o, load(work.x, o))
    solve(pattern, work.B, work.Q, work.rhs, work.x)
    for o in range(0, work.x.shape[0], 8):
        store(work.x, o, load(work.x, o) + load(work.first, o))
    wrenches(nodes, work.G, work.x, work.wrench, False)


@kernel
def released(constants: np.ndarray, wrench: np.ndarray, motion: np.ndarray) -> None:
    """Fill `motion` with M^-1 times `wrench`, turns scaled by W^-1."""
    for block in range(wrench.shape[0] // (8 * WRENCH_SIZE)):
        inverse_mass = load(constants, 8 * (block * CONSTANTS_SIZE + INVERSE_MASS))
        f = 8 * WRENCH_SIZE * block
        for c in range(3):
            store(motion, f + 8 * c, inverse_mass * load(wrench, f + 8 * c))
            store(motion, f + 24 + 8 * c, load(wrench, f + 24 + 8 * c))


@kernel
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy a flat array whose length is a multiple of eight."""
    for o in range(0, source.shape[0], 8):
        store(target, o, load(source, o))
