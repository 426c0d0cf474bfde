"""The style of figures for one column of a paper, `style="paper"`."""

from __future__ import annotations

from typing import Any

from cycler import cycler

PAPER = "paper"
# Inches: the width of a column, and the least height.
COLUMN, LOWEST = 3.4, 2.6
# Dots per inch of pictures that are no vector graphics.
DPI = 300
# Okabe and Ito, Color Universal Design (2008), without yellow: colors that everybody can tell apart.
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
    # Text stays text in files, which publishers ask for.
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "none",
}


def is_paper(style: Any) -> bool:
    """Whether a style is that of papers, or a list that contains it."""
    return any(isinstance(part, str) and part == PAPER for part in _parts(style))


def expanded(style: Any) -> Any:
    """Return a style as matplotlib takes it, with the settings of "paper" in place of its name."""
    if not is_paper(style):
        return [] if style is None else style
    return [STYLE if isinstance(part, str) and part == PAPER else part for part in _parts(style)]


def size_of(usual: tuple[float, float]) -> tuple[float, float]:
    """Return the size, inches, for one column of a picture that is usually of another size."""
    return COLUMN, max(LOWEST, COLUMN * usual[1] / usual[0])


def _parts(style: Any) -> list[Any]:
    return list(style) if isinstance(style, list | tuple) else [style]
