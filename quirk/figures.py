"""How pictures come to be: their figures are closed whatever happens, their files whole, names shown as they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from . import validate
from .files import whole

DPI = 120
# Characters.
LONGEST_NAME = 32
# Characters of a line above axes.
TITLE_WIDTH = 70
# Lines of a legend, for which there is room beside axes of half the height of a figure.
MOST_NAMES = 12
# Curves that stay below this are round-off, and are drawn as the zero they stand for.
ROUND_OFF = 1e-10
# matplotlib leaves out of legends what begins with an underscore.
INVISIBLE = "\N{ZERO WIDTH SPACE}"


@contextmanager
def drawing(owner: str, path: str | Path | None, size: tuple[float, float]) -> Iterator[Figure]:
    """Give a new figure of `size`, inches, to draw in; save and close it if `path` is given.

    Raises
    ------
    InputError
        If nothing can be written at `path`; before anything is drawn.
    """
    target = None if path is None else validate.output_file(owner, path, formats())
    # Escaped names rely on matplotlib's own reading of text.
    with plt.rc_context({"text.usetex": False, "text.parse_math": True}):
        figure = plt.figure(figsize=size, layout="constrained")
        try:
            yield figure
            if target is not None:
                with whole(target) as aside:
                    figure.savefig(aside, dpi=DPI)
        except BaseException:
            plt.close(figure)
            raise
    if target is not None:
        plt.close(figure)


def formats() -> list[str]:
    """Return the suffixes of files that matplotlib writes."""
    return sorted(f".{kind}" for kind in Figure().canvas.get_supported_filetypes())


def shown(name: str) -> str:
    """Return a name so that matplotlib shows it as it is written, in one line, and shortened if it is very long."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    if len(line) > LONGEST_NAME:  # ends tell names apart, such as those that are numbered
        line = f"{line[: LONGEST_NAME - 11]}…{line[-10:]}"
    line = line.replace("$", r"\$")
    return INVISIBLE + line if line.startswith("_") else line


def wrapped(title: str) -> str:
    """Return a title in lines that are no longer than axes are wide."""
    return fill(title, TITLE_WIDTH)


def finish(ax: Axes, title: str, unit: str, label: str = "time (s)") -> None:
    """Give axes with curves a title, labels, a grid, and a legend beside them of as many names as there is room for."""
    ax.set_title(wrapped(title))
    ax.set_xlabel(label)
    ax.set_ylabel(unit)
    ax.grid(alpha=0.3)
    if ax.get_yscale() == "linear" and np.abs(ax.dataLim.intervaly).max() < ROUND_OFF:
        ax.set_ylim(-10 * ROUND_OFF, 10 * ROUND_OFF)
    handles, labels = ax.get_legend_handles_labels()
    if len(handles) > MOST_NAMES:
        labels[MOST_NAMES:] = [f"and {len(handles) - MOST_NAMES} more"]
        handles[MOST_NAMES:] = [Line2D([], [], linestyle="none")]
    if handles:
        ax.legend(handles, labels, fontsize="small", loc="upper left", bbox_to_anchor=(1, 1), borderaxespad=0.2)
