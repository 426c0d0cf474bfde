"""Estimated times of an evaluation of the accelerations by its two methods, from the topology of a system.

One method eliminates all constraint rows. The other uses recursion over a forest of joints, and adds rows only for the
constraints that close loops. This module excludes systems for which recursion is clearly slower or needs too large
matrices. For all others, the method is chosen when independent rows are selected, see `kernels.closing_effort`.
"""

from __future__ import annotations

from collections.abc import Sequence

from quirk.jit.simd import WIDTH

from ..kernels.closing_effort import PER_BODY, PER_VISIT
from .paths import ClosingPaths, depths
from .tables_of_recursion import Links

# Measured times, microseconds: per row and per product of blocks in the factorization; and per row in each solve.
PER_ROW, PER_PRODUCT, PER_ROW_OF_SOLVE = 0.024, 0.0195, 0.011

# Assumed maximum number of solves per elimination of all rows, for an upper bound of its time.
MOST_SOLVES = 6

# Maximum number of matrix elements of all groups of loop-closing constraints, per body of the system.
MOST_ELEMENTS = 200


def effort_of_rows(rows: int, neighbours: Sequence[Sequence[int]]) -> tuple[float, float]:
    """Return the estimated times of the factorization of all constraint rows, and of one solve with it, microseconds.

    The time of the factorization includes the computation of the rows. `rows` is the number of rows; `neighbours` are
    the later nodes (joints) coupled with each node when it is eliminated.
    """
    products = sum(len(later) * (len(later) + 1) // 2 for later in neighbours)
    return PER_ROW * rows + PER_PRODUCT * products, PER_ROW_OF_SOLVE * rows


def suitable_paths(
    chain: Links, ends: Sequence[tuple[int, ...]], rows: Sequence[int], effort: tuple[float, float]
) -> ClosingPaths | None:
    """Return the paths from loop-closing constraints to the roots of a forest; None if recursion is not suitable.

    Recursion over the forest is not suitable if elimination of all rows is faster, or if its matrices are too large.

    Parameters
    ----------
    chain : joints of the forest
    ends : indices of the bodies of each loop-closing constraint
    rows : number of rows of each loop-closing constraint
    effort : estimated times of elimination of all rows, microseconds: factorization, and one solve
    """
    depth, n = depths(chain), len(chain.body)
    longest = [max((depth[body] for body in bodies if body < n), default=0) for bodies in ends]
    if PER_BODY * n + PER_VISIT * sum(longest) / WIDTH > effort[0] + MOST_SOLVES * effort[1]:
        return None
    paths = ClosingPaths(chain, ends)
    elements = sum(paths.freedoms_of(group) * sum(rows[k] for k in group) for group in paths.groups)
    return paths if elements <= MOST_ELEMENTS * n else None
