"""Which rows to leave out because they follow from others.

A pivot is the squared distance of a row from those eliminated before it, here over the squared length of the row
in the mass metric. Redundant rows leave round-off. Which rows are left out is decided where the constraints hold
and kept from then on: within a step the state is off the constraints, where redundant rows contradict each other
a little and look independent. Any choice that leaves the full rank gives the same motion; one whose rows are close
to dependent costs digits, and makes way for another when that comes to show.
"""

from __future__ import annotations

import numpy as np

from quirk.compiled import kernel
from quirk.lanes import at, load, put, splat, store

from .evaluate import LEAST, MOST_REFINEMENTS, ONE_REFINEMENT, RANK, REFINEMENTS, TRIGGER, TWO_REFINEMENTS, Work
from .factorise import Pattern, factorise
from .layout import G_FORCE, G_I, G_J, G_SIZE
from .relations import relation_lengths
from .rows import HUB, RELATION, Nodes

# Pivots that are not above this count as zero. Singular values of 1e-6 of the largest correspond to it.
PIVOT_TOLERANCE = 1e-12

# Rows with pivots above this at some state nearby are independent almost everywhere. Round-off stays below even
# where other pivots are small.
GENERIC_TOLERANCE, HIGHEST_GENERIC = 1e-9, 1e-3

# Rows are chosen with the first of these floors that leaves enough: 1e-2, 1e-4 ... PIVOT_TOLERANCE.
FIRST_FLOOR, NEXT_FLOOR = 1e-2, 1e-2

# Other rows are looked for when the least pivot falls below this, and below this part of what it was when the
# present ones were chosen.
POOR, WORSE = 1e-3, 0.1


@kernel
def measure(nodes: Nodes, work: Work) -> None:
    """Fill the squared lengths of all rows."""
    for n in range(nodes.rows.shape[0]):
        lengths = splat(0.0)
        if nodes.kind[n] == RELATION:
            relation_lengths(nodes.relations, nodes.lanes[n], work.G, work.lengths, 8 * n)
            continue
        if nodes.kind[n] != HUB:
            for c in range(3):
                g = G_SIZE * n + 8 * c
                force, on_i, on_j = load(work.G, g + G_FORCE), load(work.G, g + G_I), load(work.G, g + G_J)
                lengths = lengths + nodes.inverse_mass[n] * force * force + on_i * on_i + on_j * on_j
        store(work.lengths, 8 * n, lengths)


@kernel
def count(nodes: Nodes, pattern: Pattern, work: Work) -> int:
    """Note the number of rows kept by the factorisation and their least pivot; returns how many are left out."""
    kept, left_out, least = 0, 0, 1.0
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] == HUB:
            continue
        d = pattern.start[pattern.first[n]]
        for r in range(nodes.rows[n]):
            inverse = at(work.B, d + 9 * r)
            if inverse == 0.0:
                left_out += 1
            else:
                kept += 1
                least = min(least, 1.0 / (inverse * at(work.lengths, 8 * n + r)))
    put(work.summary, RANK, kept)
    put(work.summary, LEAST, least)
    put(work.summary, REFINEMENTS, MOST_REFINEMENTS if least < TWO_REFINEMENTS else 1 if least < ONE_REFINEMENT else 0)
    return left_out


@kernel
def factorise_above(nodes: Nodes, pattern: Pattern, work: Work, tolerance: float) -> int:
    """Factorise the rows at hand anew with one tolerance for all pivots; returns how many rows are left."""
    for o in range(0, work.trial.shape[0], 8):
        store(work.trial, o, tolerance * load(work.lengths, o))
    factorise(pattern, 0, pattern.rows.shape[0], work.G, work.trial, work.B, work.Q)
    count(nodes, pattern, work)
    return int(work.summary[RANK])


@kernel
def count_generic(nodes: Nodes, pattern: Pattern, work: Work) -> None:
    """Note how many rows are independent almost everywhere, if the rows at hand are no special ones.

    Small pivots enlarge the round-off of those after them. A dependent row kept for that is as close to others as
    pivots themselves do not show: then the tolerance was too low.
    """
    tolerance = GENERIC_TOLERANCE
    while factorise_above(nodes, pattern, work, tolerance) > 0 and work.summary[LEAST] < tolerance:
        if tolerance >= HIGHEST_GENERIC:
            return
        tolerance *= 10.0


@kernel
def choose(nodes: Nodes, pattern: Pattern, work: Work, rank: int) -> bool:
    """Choose `rank` rows that are far from dependent; False if there are not so many, and the choice stays."""
    tolerance = FIRST_FLOOR
    while tolerance > 0.1 * PIVOT_TOLERANCE:
        if factorise_above(nodes, pattern, work, tolerance) >= rank:
            for n in range(nodes.rows.shape[0]):
                d = pattern.start[pattern.first[n]]
                for r in range(nodes.rows[n]):
                    out = nodes.kind[n] != HUB and at(work.B, d + 9 * r) == 0.0
                    put(work.floor, 8 * n + r, np.inf if out else PIVOT_TOLERANCE * at(work.lengths, 8 * n + r))
            put(work.summary, TRIGGER, min(POOR, WORSE * work.summary[LEAST]))
            return True
        tolerance *= NEXT_FLOOR
    put(work.summary, REFINEMENTS, MOST_REFINEMENTS)
    return False


@kernel
def watch(nodes: Nodes, pattern: Pattern, work: Work, rank: int) -> bool:
    """Look after the choice where the constraints hold and have just been evaluated.

    Lengths of rows are those of the last choice: they change little, and reading all rows would take time.

    Returns whether the evaluation is to be repeated: with other rows, with more refinements, or since the
    factorisation has been replaced in looking for other rows.
    """
    refinements = work.summary[REFINEMENTS]
    if count(nodes, pattern, work) > 0 and work.summary[LEAST] < work.summary[TRIGGER]:
        choose(nodes, pattern, work, rank)
        return True
    return work.summary[REFINEMENTS] > refinements
