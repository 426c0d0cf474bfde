"""SI prefixes of units for the axes of plots."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axis import Axis
from matplotlib.ticker import Formatter, ScalarFormatter

PREFIXES = {-12: "p", -9: "n", -6: "µ", -3: "m", 3: "k", 6: "M", 9: "G", 12: "T"}
# Range of values, from LEAST to MOST, that are shown without a prefix.
LEAST, MOST = 1e-2, 1e4
# Units to which a prefix can be added, at the start of a compound unit without powers of seconds. Seconds and radians
# have no prefixes for large values.
TAKES_PREFIX = re.compile(r"(m|N|J|W|Hz|s|rad|V|A|Pa|C)(?![A-Za-z])(?!.*\^)")
ONLY_SMALL = ("s", "rad")


def prefixed(unit: str, largest: float) -> tuple[float, str]:
    """Return the size, such as 1e-3, and the name, such as "mm", of the prefixed unit for values up to `largest`.

    `largest` and the size are in the SI unit `unit`, such as "m".
    """
    found = TAKES_PREFIX.match(unit)
    if found is None or not np.isfinite(largest) or LEAST <= largest < MOST or largest <= 0:
        return 1.0, unit
    exponent = 3 * int(np.floor(np.log10(largest) / 3))
    if exponent not in PREFIXES or (exponent > 0 and found[1] in ONLY_SMALL):
        return 1.0, unit
    return 10.0**exponent, PREFIXES[exponent] + unit


class InUnit(Formatter):
    """Tick formatter that shows SI values in a prefixed unit, such as mm; `factor` is this unit in SI units."""

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self._inner = ScalarFormatter()
        self._inner.create_dummy_axis()

    def set_locs(self, locs: list[float]) -> None:
        """Set the tick locations, in SI units."""
        low, high = np.array(self.axis.get_view_interval()) / self.factor  # type: ignore[union-attr]
        self._inner.axis.set_view_interval(low, high)  # type: ignore[union-attr]
        self._inner.set_locs([loc / self.factor for loc in locs])

    def __call__(self, x: float, pos: int | None = None) -> str:
        """Return the label of the tick at the value `x`, in SI units; `pos` is the index of the tick."""
        return self._inner(x / self.factor, pos)

    def get_offset(self) -> str:
        """Return the label common to all ticks, such as a power of ten."""
        return self._inner.get_offset()


def label(axis: Axis, text: str, unit: str, largest: float) -> None:
    """Label an axis of a plot with `text` and a prefixed unit suitable for values up to `largest`.

    The plotted data stay in SI units.
    """
    factor, unit = prefixed(unit, largest)
    if factor != 1.0:
        axis.set_major_formatter(InUnit(factor))
    axis.set_label_text(f"{text} ({unit})" if text and unit else text or unit)


def label_lengths(ax: Any, texts: Sequence[str], largest: float) -> None:
    """Label the x, y and z axes of a plot of positions, all in the same unit of length.

    `texts` are the labels without units; `largest` is the largest coordinate, m.
    """
    for axis, text in zip("xyz", texts, strict=False):
        label(getattr(ax, f"{axis}axis"), text, "m", largest)
