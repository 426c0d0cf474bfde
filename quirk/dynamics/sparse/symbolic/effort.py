"""Estimated times of evaluations by rows, and by recursion over a forest whose loops are closed by rows.

They are compared in detail at the selection of rows (`kernels.closing_effort`). Here systems are excluded for which the
tables would be too large.
"""

from __future__ import annotations

from collections.abc import Sequence

from quirk.jit.simd import WIDTH

from ..kernels.closing_effort import PER_BODY, PER_VISIT
from .paths import ClosingPaths, depths
from .tables_of_recursion import Links

# Times per row, per product of blocks in the factorization, and per row for each solve, microseconds.
PER_ROW, PER_PRODUCT, PER_ROW_OF_SOLVE = 0.024, 0.0195, 0.011

# Number of solves of an evaluation by rows, for the longest time that it may take.
MOST_SOLVES = 6

# Largest number of elements of all matrices per body.
MOST_ELEMENTS = 200


def effort_of_rows(rows: int, neighbours: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Return the estimated time of an evaluation by rows without solution, and of each solve, microseconds.

    `neighbours` are those of each node in the elimination.
    """
    products = sum(len(later) * (len(later) + 1) // 2 for later in neighbours)
    return PER_ROW * rows + PER_PRODUCT * products, PER_ROW_OF_SOLVE * rows


def suitable_paths(
    chain: Links, ends: Sequence[tuple[int, ...]], rows: Sequence[int], effort: tuple[float, float]
) -> ClosingPaths | None:
    """Return the paths of closings to the roots of a forest, or None if rows are faster or the matrices too large.

    `ends` are the bodies of each closing, `rows` their numbers of rows, and `effort` is that of all rows.
    """
    depth, n = depths(chain), len(chain.body)
    longest = [max((depth[body] for body in bodies if body < n), default=0) for bodies in ends]
    if PER_BODY * n + PER_VISIT * sum(longest) / WIDTH > effort[0] + MOST_SOLVES * effort[1]:
        return None
    paths = ClosingPaths(chain, ends)
    elements = sum(paths.freedoms_of(group) * sum(rows[k] for k in group) for group in paths.groups)
    return paths if elements <= MOST_ELEMENTS * n else None
