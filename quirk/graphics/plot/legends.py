"""Placement of legends: in free space inside axes, in space added above the curves, or beside the axes.

A legend entry is a pair of a matplotlib artist and its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.legend import Legend
from matplotlib.lines import Line2D
from matplotlib.path import Path
from matplotlib.transforms import Bbox
from mpl_toolkits.mplot3d import proj3d

from .event_marks import is_mark

# Maximum number of lines of a legend; they fit beside axes of half the height of a figure.
MOST_NAMES = 12
# WIDEST, LARGEST: maximum width and area of a legend inside the axes, relative to the axes.
# READILY, AT_MOST: maximum height added above the curves for a legend, relative to the axes: preferred limit, and limit
# if there is no space beside the axes.
# BESIDE: maximum width of a legend beside the axes, relative to the width available around them.
WIDEST, LARGEST = 0.97, 0.4
READILY, AT_MOST = 0.25, 0.45
BESIDE = 0.45
# Minimum width of axes with a legend beside them, points.
LEAST = 90.0
CORNERS = ("upper right", "upper left", "lower right", "lower left")
EDGES = ("upper center", "lower center", "center right", "center left")
# Distance between a legend and the border, points.
PAD = 3.0
# Font scales in the order of trial, and minimum number of characters of a shortened name.
SCALES, SHORTEST = (1.0, 0.85, 0.7), 6

# Suffix, in the legend, of the name of a curve that is zero up to round-off.
ZERO = " (zero)"

Pairs = list[tuple[Any, str]]


def entries(ax: Any, zeros: Sequence[Any], curves: bool = True) -> Pairs:
    """Return the legend entries of the events in axes and, if `curves` is True, of the curves.

    The entries of the curves in `zeros` state that they are zero. A single curve has no entry if its name is the title
    of the axes.
    """
    handles, labels = ax.get_legend_handles_labels()
    both = list(zip(handles, labels, strict=True))
    marks = [pair for pair in both if is_mark(pair[0])]
    named = [(line, name + ZERO if line in zeros else name) for line, name in both if curves and not is_mark(line)]
    if len(named) == 1 and named[0][1] == ax.get_title():
        named = []
    return cut([*named, *marks], MOST_NAMES, len(marks))


def cut(pairs: Pairs, count: int, always_kept: int = 0) -> Pairs:
    """Return at most `count` entries of a legend; if some are left out, one entry states their number.

    `pairs` are all entries; the last `always_kept` entries are never left out.
    """
    if len(pairs) <= count or count - always_kept < 1:
        return pairs[:count]
    curves, tail = pairs[: len(pairs) - always_kept], pairs[len(pairs) - always_kept :]
    remaining = count - always_kept
    return [*curves[: remaining - 1], (_nothing(), f"and {len(curves) - remaining + 1} more"), *tail]


def place(ax: Any, pairs: Pairs, width: float, own_figure: bool, repeated: bool = False) -> bool:
    """Place the legend of axes; return True if it was placed beside the axes.

    The layout of the figure must then be repeated.

    Parameters
    ----------
    ax : matplotlib axes
    pairs : entries of the legend
    width : width available around the axes, pixels
    own_figure : whether QuIRK created the figure; in the user's axes the legend is placed inside
    repeated : whether the legend repeats that of other axes; it is then omitted unless it fits at the default size
    """
    if not own_figure:
        _make(ax, pairs, 1, 1.0, loc="best")
        return False
    if repeated:
        _ = _inside(ax, pairs, 1.0, width) or _just_above(ax, pairs, 1.0, width)
        return False
    for scale in SCALES:
        for way in (_inside, _just_above, _beside, _above, _below):
            if way(ax, pairs, scale, width):
                return way is _beside
    for count in range(len(pairs) - 1, 1, -1):
        if _above(ax, cut(pairs, count), SCALES[-1], width):
            return False
    box = ax.get_window_extent()
    shortened = cut(pairs, 2)
    longest = max(len(name) for _, name in shortened)
    while longest > SHORTEST and _extent(_make(ax, shortened, 1, SCALES[-1])).width > WIDEST * box.width:
        longest -= 2
        shortened = [(handle, _short(name, longest)) for handle, name in shortened]
    return False


def _inside(ax: Any, pairs: Pairs, scale: float, width: float) -> bool:
    """Place a legend in free space inside the axes; return False if there is not enough.

    `pairs` are the entries of the legend, `scale` is a factor on the font size, and `width` is the width available
    around the axes, pixels.
    """
    if ax.name == "polar":  # the corners are used by angle labels
        return False
    box, drawn = ax.get_window_extent(), None
    for columns in dict.fromkeys((1, len(pairs), 2)):
        size = _extent(_make(ax, pairs, columns, scale))
        if size.width > WIDEST * box.width or size.width * size.height > LARGEST * box.width * box.height:
            continue
        drawn = list(_drawn(ax)) if drawn is None else drawn
        for loc in CORNERS + EDGES:
            own = _placed(size, box, loc, PAD * ax.get_figure(root=True).dpi / 72)
            if not any(path.intersects_bbox(own, filled) for path, filled in drawn):
                _make(ax, pairs, columns, scale, loc=loc)
                return True
    ax.get_legend().remove()
    return False


def _just_above(ax: Any, pairs: Pairs, scale: float, width: float) -> bool:
    return _above(ax, pairs, scale, width, READILY)


def _above(ax: Any, pairs: Pairs, scale: float, width: float, max_share: float = AT_MOST) -> bool:
    """Place a legend in space added above the curves; return False if too much space is needed.

    The space is at most the fraction `max_share` of the height of the axes. `pairs` are the entries; `scale` and
    `width` are as for `_inside`.
    """
    if ax.name != "rectilinear" or ax.get_aspect() != "auto":
        return False
    box = ax.get_window_extent()
    for columns in range(len(pairs), 0, -1):
        size = _extent(_make(ax, pairs, columns, scale))
        if size.width <= WIDEST * box.width:
            break
    part = (size.height + 2 * PAD * ax.get_figure(root=True).dpi / 72) / box.height
    if size.width > WIDEST * box.width or part > max_share:
        ax.get_legend().remove()
        return False
    axis = ax.yaxis.get_transform()
    low, high = axis.transform(np.array(ax.get_ylim()))
    ax.set_ylim(top=float(axis.inverted().transform(low + (high - low) / (1 - part))), auto=None)
    _make(ax, pairs, columns, scale, loc="upper center")
    return True


def _beside(ax: Any, pairs: Pairs, scale: float, width: float) -> bool:
    """Place a legend beside the axes; return False if the axes would become too narrow, or the legend is too high.

    `pairs` are the entries; `scale` and `width` are as for `_inside`.
    """
    box = ax.get_window_extent()
    for columns in (1, 2):
        legend = _make(ax, pairs, columns, scale, loc="upper left", bbox_to_anchor=(1, 1))
        size = _extent(legend)
        left = min(BESIDE * width, box.width - LEAST * ax.get_figure(root=True).dpi / 72)
        if size.width <= left and size.height <= 1.05 * box.height:
            return True
    legend.remove()
    return False


def _below(ax: Any, pairs: Pairs, scale: float, width: float) -> bool:
    """Place a legend below axes with equal scales; return False if no space is free there.

    `pairs` are the entries of the legend, `scale` is a factor on the font size, and `width` is the width available
    around the axes, pixels.
    """
    if ax.name == "3d" or ax.get_aspect() == "auto":
        return False
    box, low = ax.get_window_extent(), ax.xaxis.get_tightbbox().y0
    for columns in range(len(pairs), 0, -1):
        size = _extent(_make(ax, pairs, columns, scale))
        if size.width <= WIDEST * width:
            break
    ax.get_legend().remove()
    if size.width > WIDEST * width or size.height > low:
        return False
    _make(ax, pairs, columns, scale, loc="upper center", bbox_to_anchor=(0.5, (low - box.y0) / box.height))
    return True


def _drawn(ax: Any) -> Iterator[tuple[Path, bool]]:
    """Yield the path of each drawn artist, in pixels, and whether it is filled."""
    for line in ax.lines:
        if is_mark(line) or not len(line.get_xdata(orig=True)):
            continue
        if ax.name == "3d":
            points = np.array(proj3d.proj_transform(*line.get_data_3d(), ax.get_proj())[:2]).T
            yield ax.transData.transform_path(Path(points)), False
        else:
            yield line.get_transform().transform_path(line.get_path()), False
    if ax.name == "3d":
        return
    for group in ax.collections:
        box = group.get_window_extent()
        if np.isfinite(box.extents).all() and box.width > 0:
            yield Path.unit_rectangle().transformed(_to(box)), True


def _to(box: Bbox) -> Any:
    from matplotlib.transforms import BboxTransformTo

    return BboxTransformTo(box)


def _placed(size: Bbox, box: Bbox, loc: str, pad: float) -> Bbox:
    """Return the box of a legend inside the box `box` of axes, for a location such as "upper left".

    `size` is the box of the legend before it is placed, and `pad` the distance from the border, pixels.
    """
    free = box.width - size.width - 2 * pad, box.height - size.height - 2 * pad
    across = 0.0 if "left" in loc else 0.5 if loc in ("upper center", "lower center") else 1.0
    up = 0.0 if "lower" in loc else 1.0 if "upper" in loc else 0.5
    return Bbox.from_bounds(
        box.x0 + pad + across * free[0], box.y0 + pad + up * free[1], size.width, size.height
    )  # fmt: skip


def _make(ax: Any, pairs: Pairs, columns: int, scale: float, **placement: Any) -> Legend:
    usual = plt.rcParams["legend.fontsize"]
    size = plt.rcParams["font.size"] / 1.2 if isinstance(usual, str) else usual
    placement = {"loc": "upper right", "borderaxespad": PAD / (scale * size), **placement}
    legend: Legend = ax.legend(
        [handle for handle, _ in pairs], [name for _, name in pairs], ncols=columns, fontsize=scale * size, **placement
    )
    return legend


def _extent(legend: Legend) -> Bbox:
    return legend.get_window_extent()


def _nothing() -> Line2D:
    return Line2D([], [], linestyle="none")


def _short(name: str, length: int) -> str:
    return name if len(name) <= length else name[: length - 1] + "…"
