"""Dashes and markers that distinguish the lines of a plot without color."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.lines import Line2D

# Dashes of curves in this order; dotted lines are for sums and bounds.
DASHES = ("-", "--", "-.")
# Markers in this order, starting with none; the next one is used after all dashes have been used.
MARKERS = ("None", "o", "s", "^")
OF_SUMS = {"color": "black", "linestyle": ":", "linewidth": 1.2}
# Number of markers along a curve, and their size, points.
COUNT, SIZE = 8, 3.5


def distinguish(lines: Sequence[Line2D]) -> None:
    """Give each solid line a distinct combination of dashes and markers."""
    used = {(line.get_linestyle(), line.get_marker()) for line in lines if not _plain(line)}
    free = ((dash, marker) for marker in MARKERS for dash in DASHES if (dash, marker) not in used)
    plain = [line for line in lines if _plain(line)]
    for number, (line, (dash, marker)) in enumerate(zip(plain, free, strict=False)):
        line.set(linestyle=dash)
        if marker != "None":
            every = max(1, np.size(line.get_xdata(orig=True)) // COUNT)
            line.set(marker=marker, markersize=SIZE, markevery=((number * every) // len(plain), every))


def _plain(line: Line2D) -> bool:
    return (line.get_linestyle(), line.get_marker()) == ("-", "None")
