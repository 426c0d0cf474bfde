"""Plot style "paper": figures for one column of a printed paper."""

from __future__ import annotations

from typing import Any

from cycler import cycler

PAPER = "paper"
# Width of a column, and minimum height of a figure, inches.
COLUMN, LOWEST = 3.4, 2.6
# Resolution of pixel graphics, dots per inch.
DPI = 300
# Colors suitable for color-blind readers: Okabe and Ito, Color Universal Design (2008), without yellow.
COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#000000")
STYLE = {
    "font.family": ["STIXGeneral"],
    "mathtext.fontset": "stix",
    "font.size": 8.0,
    "figure.titlesize": 8.5,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "axes.linewidth": 0.6,
    "axes.prop_cycle": cycler(color=COLORS),
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "xtick.direction": "in",
    "ytick.direction": "in",
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "xtick.minor.size": 1.5,
    "ytick.minor.size": 1.5,
    "grid.linewidth": 0.4,
    "lines.linewidth": 1.0,
    "lines.markersize": 3.5,
    "legend.fontsize": 7.0,
    "legend.handlelength": 2.2,
    "legend.borderpad": 0.3,
    "legend.labelspacing": 0.25,
    "legend.columnspacing": 1.0,
    "legend.handletextpad": 0.5,
    # Text remains text in files, as publishers require.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
}


def is_paper(style: Any) -> bool:
    """Whether the user's style is "paper", or a list that contains it."""
    return any(isinstance(part, str) and part == PAPER for part in _parts(style))


def expanded(style: Any) -> Any:
    """Return the user's style with "paper" replaced by matplotlib settings."""
    if not is_paper(style):
        return [] if style is None else style
    return [STYLE if isinstance(part, str) and part == PAPER else part for part in _parts(style)]


def size_of(usual: tuple[float, float]) -> tuple[float, float]:
    """Return the width and height, inches, of a plot scaled to one column of a paper; `usual` is its default size."""
    return COLUMN, max(LOWEST, COLUMN * usual[1] / usual[0])


def _parts(style: Any) -> list[Any]:
    return list(style) if isinstance(style, list | tuple) else [style]
