"""Which rows follow from others, and are left out.

The rule: bodies taken all alike (`uniform`) and rows scaled to unit length, a row is dependent if its distance from
the span of the rows kept before it, in the order of elimination, is at most `rank_tolerance`. Distances come from the
orthogonal factorisation, so that they are right down to round-off. Which rows are left out is decided where the
constraints hold and kept from then on: within a step the state is off the constraints, where redundant rows
contradict each other a little and look independent. Any choice that leaves the full rank gives the same motion; rows
kept that are close to dependent cost digits, so the choice is made with the highest threshold that leaves the full
rank, and anew where the least pivot has become poor.
"""

from __future__ import annotations

import math

import numpy as np

from quirk.compiled import kernel
from quirk.lanes import at, load, put, splat, store

from ...layout import G_FORCE, G_I, G_J, G_SIZE
from .bodies import free_motion
from .evaluate import all_rows
from .factorise import Pattern
from .impose import clear
from .orthogonal import triangularise
from .relations import relation_lengths
from .rows import HUB, RELATION, Nodes
from .work import BLOCKS, LEAST, METHOD, PASSES, PRUNED, RANK, RATE, REFLECTIONS, TOLERANCE, TRIGGER, Work

EPSILON = 2.220446049250313e-16

# Rows are chosen with the first of these thresholds that leaves enough: 1e-1, 1e-2 ... and the tolerance.
FIRST_THRESHOLD, NEXT_THRESHOLD = 0.1, 0.1

# Other rows are looked for when the least pivot falls below this, and below this part of what it was when the
# present ones were chosen.
POOR, WORSE = 1e-3, 0.1

# Where all pivots are above PLAIN, solutions are not refined. Blocks are inverted, which with a least pivot p costs up
# to LOSS / p^2 of a solution; it is refined until less than ENOUGH is left. Reflections take over from blocks below
# TINY pivots, and where a solve leaves more than SLOW of what it is for; above FAIR pivots blocks are tried again.
PLAIN, LOSS, ENOUGH, MOST_PASSES = 1e-2, 10.0 * EPSILON, 1e-17, 12
TINY, SLOW, FAIR = 1e-9, 1e-3, 1e-5

# A solve by reflections leaves less than this, unless it is seen to leave more.
REFLECTED = 1e-6


@kernel
def measure(nodes: Nodes, inverse_mass: np.ndarray, side_inverse_mass: np.ndarray, work: Work) -> None:
    """Fill the squared lengths of all rows at hand; masses are those of the nodes and of the sides of relations."""
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
def uniform_rows(nodes: Nodes, pattern: Pattern, work: Work, t: float, y: np.ndarray) -> None:
    """Fill rows and lengths for bodies all alike at a state."""
    free_motion(work.uniform.constants, y, work.kin)
    all_rows(nodes, pattern, work, t, y, 0.0, 0.0)
    measure(nodes, work.uniform.inverse_mass, work.uniform.side_inverse_mass, work)


@kernel
def judge(work: Work, tolerance: float) -> int:
    """Find the distances of the rows at hand for bodies all alike; returns how many are above the tolerance."""
    clear(work.x)
    alike = work.uniform
    kept = triangularise(work.fronts, work.triangle, work.G, alike.scale, alike.weight, work.lengths, work.x, tolerance)
    put(work.summary, RANK, kept)
    return kept


@kernel
def count_rows(nodes: Nodes) -> int:
    """How many rows there are."""
    rows = 0
    for n in range(nodes.rows.shape[0]):
        if nodes.kind[n] != HUB:
            rows += nodes.rows[n]
    return rows


@kernel
def choose(
    constants: np.ndarray, nodes: Nodes, pattern: Pattern, work: Work, t: float, y: np.ndarray, rank: int
) -> bool:
    """Choose `rank` rows that are far from dependent at a state; False if there are not so many: the choice stays."""
    uniform_rows(nodes, pattern, work, t, y)
    least = at(work.summary, TOLERANCE)
    threshold = least if rank >= count_rows(nodes) else max(FIRST_THRESHOLD, least)
    while judge(work, threshold) < rank and threshold > least:
        threshold = max(NEXT_THRESHOLD * threshold, least)
    if work.summary[RANK] < rank:
        weighed_rows(constants, nodes, pattern, work, t, y)
        return False
    # Note the distance of each row that is kept, and nothing for the others.
    fronts, triangle = work.fronts, work.triangle
    for n in range(nodes.rows.shape[0]):
        d = fronts.start[fronts.first[n]]
        store(work.measure, 8 * n, splat(0.0))
        for r in range(nodes.rows[n]):
            kept = nodes.kind[n] != HUB and at(triangle.factor, d + 9 * r) != 0.0
            put(work.measure, 8 * n + r, at(triangle.distance, 8 * n + r) if kept else 0.0)
    weigh(constants, nodes, pattern, work, t, y)
    put(work.summary, TRIGGER, min(POOR, WORSE * work.summary[LEAST]))
    return True


@kernel
def weighed_rows(constants: np.ndarray, nodes: Nodes, pattern: Pattern, work: Work, t: float, y: np.ndarray) -> None:
    """Fill rows and lengths in the mass metric at a state."""
    free_motion(constants, y, work.kin)
    all_rows(nodes, pattern, work, t, y, 0.0, 0.0)
    measure(nodes, nodes.inverse_mass, nodes.relations.inverse_mass, work)


@kernel
def weigh(constants: np.ndarray, nodes: Nodes, pattern: Pattern, work: Work, t: float, y: np.ndarray) -> None:
    """Find pivots in the mass metric of the rows whose distances stand in `measure`, their floors, and the method.

    In the mass metric a row is taken for dependent where its distance has shrunk as much as it may for bodies alike.
    """
    weighed_rows(constants, nodes, pattern, work, t, y)
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
    put(work.summary, RATE, 0.0)
    adapt(work)


@kernel
def adapt(work: Work) -> None:
    """Set by which method rows are factorised, and how many solves an answer takes."""
    least, rate = at(work.summary, LEAST), at(work.summary, RATE)
    if work.summary[METHOD] == BLOCKS and (least < TINY or rate > SLOW):
        put(work.summary, METHOD, REFLECTIONS)
        rate = 0.0
    elif work.summary[METHOD] == REFLECTIONS and least > FAIR and not work.summary[PRUNED] > 0.0:
        put(work.summary, METHOD, BLOCKS)
        rate = 0.0
    put(work.summary, RATE, rate)
    if work.summary[METHOD] == REFLECTIONS:
        passes = passes_for(max(rate, REFLECTED), least)
    elif least > PLAIN:
        passes = 1
    else:
        passes = passes_for(rate if rate > 0.0 else LOSS / (least * least), least)
    put(work.summary, PASSES, passes)


@kernel
def passes_for(rate: float, least: float) -> int:
    """How many solves leave less than ENOUGH, if each leaves a part `rate`; at least two.

    What is left counts in the mass metric; of light bodies' accelerations it can be more, by the root of the pivots.
    """
    wanted = math.log(ENOUGH * math.sqrt(least)) / math.log(min(max(rate, EPSILON), 0.5))
    return min(MOST_PASSES, max(2, math.ceil(wanted)))


@kernel
def of_node(
    d: int, rows: int, factor: np.ndarray, lengths: np.ndarray, o: int, kept: int, left_out: int, least: float,
    root: bool,
) -> tuple[int, int, float]:  # fmt: skip
    """Add the rows of one node to what `count` notes: pivots stand as roots, or inverted, on a diagonal from d on."""
    for r in range(rows):
        entry = at(factor, d + 9 * r)
        if entry == 0.0:
            left_out += 1
        else:
            kept += 1
            least = min(least, (entry * entry if root else 1.0 / entry) / at(lengths, o + r))
    return kept, left_out, least


@kernel
def count(nodes: Nodes, pattern: Pattern, work: Work) -> int:
    """Note the number of rows kept by the factorisation and their least pivot; returns how many are left out.

    Lengths of rows are those of the last choice: they change little, and reading all rows would take time.
    """
    kept, left_out, least = 0, 0, 1.0
    if work.summary[METHOD] == REFLECTIONS:
        fronts, factor = work.fronts, work.triangle.factor
        for n in range(nodes.rows.shape[0]):
            if nodes.kind[n] != HUB:
                kept, left_out, least = of_node(
                    fronts.start[fronts.first[n]], nodes.rows[n], factor, work.lengths, 8 * n, kept, left_out, least,
                    True,
                )  # fmt: skip
    else:
        for n in range(nodes.rows.shape[0]):
            if nodes.kind[n] != HUB:
                kept, left_out, least = of_node(
                    pattern.start[pattern.first[n]], nodes.rows[n], work.B, work.lengths, 8 * n, kept, left_out, least,
                    False,
                )  # fmt: skip
    put(work.summary, RANK, kept)
    put(work.summary, LEAST, least)
    return left_out


@kernel
def watch(
    constants: np.ndarray, nodes: Nodes, pattern: Pattern, work: Work, t: float, y: np.ndarray, rank: int
) -> bool:
    """Look after the choice where the constraints hold and have just been evaluated.

    Returns whether the evaluation is to be repeated: with other rows, or refined more often.
    """
    method, passes = work.summary[METHOD], work.summary[PASSES]
    left_out = count(nodes, pattern, work)
    if left_out > 0 and not work.summary[LEAST] > work.summary[TRIGGER]:
        choose(constants, nodes, pattern, work, t, y, rank)
        return True
    adapt(work)
    return work.summary[PASSES] > passes or work.summary[METHOD] > method
