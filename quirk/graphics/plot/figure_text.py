"""Fitting of titles and labels into a figure by wrapping and, if necessary, smaller fonts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.text import Text

# Font scales in the order of trial, and maximum number of lines of a text; for more lines the next scale is used.
SCALES = (1.0, 0.9, 0.8, 0.7, 0.6)
MOST_LINES = 2
# Fraction of the available length that a text may occupy; height of a vertical text relative to that of the axes.
FILL, HIGHEST = 0.97, 1.4
# Zoom factors of three-dimensional axes in the order of trial, relative to the default of matplotlib.
ZOOMS = (1.0, 0.93, 0.86, 0.8, 0.74, 0.68, 0.6, 0.5)
# Pattern of a unit at the end of a label, whose spaces are replaced so that it stays on one line.
UNIT, NO_BREAK = re.compile(r"\([^()]{1,16}\)$"), "\N{NO-BREAK SPACE}"
# Maximum number of tick intervals on the longest edge of axes with equal scales; shorter edges have fewer.
MOST_TICKS = 4
# Group identifier of the texts inside axes that are also wrapped.
FITTED = "quirk.fitted"


class Fit:
    """Titles and labels of a figure, with their original wording and font sizes."""

    def __init__(self, figure: Figure, axes: Sequence[Any]) -> None:
        self._figure, self._axes = figure, list(axes)
        places = [(ax.title, ax, 0) for ax in axes]
        places += [(axis.label, ax, k) for ax in axes if ax.name != "3d" for k, axis in enumerate((ax.xaxis, ax.yaxis))]
        places += [(text, ax, 0) for ax in axes for text in ax.texts if text.get_gid() == FITTED]
        places += [(ax.yaxis.label, ax, 1) for ax in figure.axes if ax.get_label() == "<colorbar>"]
        whole = figure._suptitle  # type: ignore[attr-defined]
        places += [] if whole is None else [(whole, None, 0)]
        written = [place for place in places if place[0].get_text()]
        self._usual = [(*place, place[0].get_text(), place[0].get_fontsize()) for place in written]

    def wrap(self) -> bool:
        """Wrap all titles and labels to the available width; return whether any of them has changed."""
        before = [text.get_text() for text, *_ in self._usual]
        for text, ax, direction, words, size in self._usual:
            length = self._figure.bbox.width if ax is None else available_length(ax, self._axes, direction)
            _wrap(text, words, size, FILL * length)
        return before != [text.get_text() for text, *_ in self._usual]


def available_length(ax: Any, axes: Sequence[Any], direction: int) -> float:
    """Return the length available for a text centered on the axes `ax`, pixels.

    `direction` is 0 for the width and 1 for the height; `axes` are all axes of the figure.
    """
    middle = _middle(ax, direction)
    border = ax.get_figure(root=True).bbox.max[direction]
    sides = [middle, border - middle]
    near = [other for other in axes if other is not ax and _beside(ax, other, direction)]
    sides += [0.5 * abs(_middle(other, direction) - middle) for other in near]
    length = float(2 * min(sides))
    return min(length, HIGHEST * ax.get_window_extent().height) if near and direction == 1 else length


def _middle(ax: Any, direction: int) -> float:
    box = ax.get_window_extent()
    return float(0.5 * (box.min[direction] + box.max[direction]))


def _beside(a: Any, b: Any, direction: int) -> bool:
    """Whether two axes are in the same row (direction 0) or column (1) of a figure."""
    across = 1 - direction
    first, second = a.get_window_extent(), b.get_window_extent()
    return bool(first.min[across] < second.max[across] and second.min[across] < first.max[across])


def _wrap(text: Text, words: str, size: float, width: float) -> None:
    text.set_fontsize(size)
    text.set_text(words)
    if _length(text) <= width:
        return
    whole = UNIT.sub(lambda unit: unit[0].replace(" ", NO_BREAK), words)
    for scale in SCALES:
        text.set_fontsize(scale * size)
        lines = [line for part in whole.split("\n") for line in _lines(text, part, width)]
        text.set_text("\n".join(lines).replace(NO_BREAK, " "))
        if len(lines) <= MOST_LINES + words.count("\n") and " ".join(lines) == whole.replace("\n", " "):
            return


def _lines(text: Text, words: str, width: float) -> list[str]:
    """Return the lines of `words` wrapped at the length `width`, pixels, in the font of `text`.

    Words that do not fit on one line are divided.
    """
    lines: list[str] = []
    for word in words.split(" "):
        joined = f"{lines[-1]} {word}" if lines else word
        text.set_text(joined)
        if lines and _length(text) <= width:
            lines[-1] = joined
        else:
            lines += _broken(text, word, width)
    return lines


def _broken(text: Text, word: str, width: float) -> list[str]:
    """Return a word divided into pieces no longer than `width`, pixels; words with formulas are not divided."""
    pieces = [""]
    for letter in word if "$" not in word else [word]:
        text.set_text(pieces[-1] + letter)
        if pieces[-1] and _length(text) > width:
            pieces.append(letter)
        else:
            pieces[-1] += letter
    return pieces


def _length(text: Text) -> float:
    """Return the length of a text along its direction of writing, pixels."""
    box = text.get_window_extent()
    return float(box.height if text.get_rotation() == 90 else box.width)


def fit_space(ax: Any) -> None:
    """Shrink three-dimensional axes until their labels are inside the figure and do not overlap color bars."""
    figure = ax.get_figure(root=True)
    edges = [float(abs(np.subtract(*getattr(ax, f"get_{letter}lim")()))) for letter in "xyz"]
    bars = [other.get_tightbbox().x0 for other in figure.axes if other.get_label() == "<colorbar>"]
    right = min(bars, default=figure.bbox.width)
    for zoom in ZOOMS:
        ax.set_box_aspect(edges, zoom=zoom)
        for _ in range(2):  # the second layout uses the text positions of the first
            figure.draw_without_rendering()
        texts = [axis.label for axis in (ax.xaxis, ax.yaxis, ax.zaxis)]
        texts += [text for axis in (ax.xaxis, ax.yaxis, ax.zaxis) for text in axis.get_ticklabels()]
        boxes = [text.get_window_extent() for text in texts if text.get_text()]
        if all((box.min >= 0).all() and (box.max <= (right, figure.bbox.height)).all() for box in boxes):
            return


def thin_out(ax: Any) -> None:
    """Reduce the number of ticks on the shorter edges of axes with equal scales."""
    letters = "xyz" if ax.name == "3d" else "xy"
    lengths = {letter: float(abs(np.subtract(*getattr(ax, f"get_{letter}lim")()))) for letter in letters}
    for letter, length in lengths.items():
        bins = round(MOST_TICKS * length / max(lengths.values()))
        axis = getattr(ax, f"{letter}axis")
        if bins <= (0 if ax.name == "3d" else 1):
            low, high = getattr(ax, f"get_{letter}lim")()
            axis.set_ticks([tick for tick in axis.get_major_locator()() if low <= tick <= high][:1])
        elif bins < MOST_TICKS or ax.name == "3d":
            axis.get_major_locator().set_params(nbins=bins)
