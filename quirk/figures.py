"""How pictures come to be: in figures of ours or axes of the user, closed whatever happens, and their files whole."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from textwrap import fill
from typing import Any, TypedDict, TypeVar, get_type_hints

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from . import validate
from .errors import InputError
from .event_marks import is_mark, mark
from .happenings import Happenings
from .output import whole
from .prefixes import label as label_axis

DPI = 120
# Characters.
LONGEST_NAME = 32
# Characters of a line above axes.
TITLE_WIDTH = 70
# Lines of a legend, for which there is room beside axes of half the height of a figure.
MOST_NAMES = 12
# Curves of one picture that are told apart; of more, the rest are drawn as the band that they fill.
MOST_CURVES = 8
BAND = "#d0d0d0"
# Curves that stay below this are round-off, and are drawn as the zero they stand for.
ROUND_OFF = 1e-10
# matplotlib leaves out of legends what begins with an underscore.
INVISIBLE = "\N{ZERO WIDTH SPACE}"
TIME = "time"


C = TypeVar("C")


class Options(TypedDict, total=False):
    """What every picture takes; see `Plotter`."""

    path: str | Path | None
    ax: Any
    size: Any
    style: Any


class TimeOptions(Options, total=False):
    """The same of pictures over time, in which events are marked."""

    events: bool | None


def with_options_written_out(cls: type[C]) -> type[C]:
    """Write out, in the signatures of a class's methods, the options that they take as ``**options``."""
    kinds = {f"Unpack[{kind.__name__}]": get_type_hints(kind) for kind in (Options, TimeOptions)}
    for method in vars(cls).values():
        if not inspect.isfunction(method):
            continue
        signature = inspect.signature(method)
        own = list(signature.parameters.values())
        if own[-1].annotation in kinds:
            keywords = [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
                for name, kind in kinds[own[-1].annotation].items()
                if name not in signature.parameters
            ]
            method.__signature__ = signature.replace(parameters=[*own[:-1], *keywords])  # type: ignore[attr-defined]
    return cls


class Sheet:
    """What a picture is drawn on: a new figure, or axes that a user gave; `happenings` are to be marked, or None."""

    def __init__(self, owner: str, figure: Figure, given: Sequence[Any] | None, happenings: Happenings | None) -> None:
        self.figure, self._owner, self._given, self.happenings = figure, owner, given, happenings
        self._title = ""
        self._drawn: list[Any] = []

    def axes(self, rows: int = 1, columns: int = 1, *, over_time: bool = True, **layout: Any) -> np.ndarray:
        """Return so many axes, as an array of one dimension, row by row; `layout` is that of `Figure.subplots`.

        Events are marked in those over time.
        """
        count = rows * columns
        solid = (layout.get("subplot_kw") or {}).get("projection") == "3d"
        if self._given is None:
            found = self.figure.subplots(rows, columns, squeeze=False, **layout).ravel()
        else:
            if len(self._given) != count:
                raise InputError(f"{self._owner}: ax must be {_axes(count)} for this picture; got {len(self._given)}")
            if any((ax.name == "3d") != solid for ax in self._given):
                wanted = 'with projection="3d"' if solid else "of a plane, without a projection"
                raise InputError(f"{self._owner}: ax must be axes {wanted}, as this picture is one in {_space(solid)}")
            found = np.array(self._given, dtype=object)
        self._drawn = list(found)
        if self.happenings is not None and over_time:
            for number, ax in enumerate(found):
                mark(ax, self.happenings, named=number == 0)
        return found

    def title(self, text: str) -> None:
        """Set the title of all axes together."""
        self._title = text
        if self._given is None:
            self.figure.suptitle(text)

    def close(self) -> None:
        """Label the lowest of axes that share theirs; write the title above a user's own axes."""
        for ax in self._drawn if self._given is None else ():
            if len(ax.get_shared_x_axes().get_siblings(ax)) > 1 and not ax.get_subplotspec().is_last_row():
                ax.set_xlabel("")
        if self._given is not None and self._title:
            own = self._drawn[0].get_title()
            self._drawn[0].set_title(f"{wrapped(self._title)}\n{own}" if own else wrapped(self._title))


@contextmanager
def drawing(
    owner: str, size: tuple[float, float], options: Mapping[str, Any], happenings: Happenings | None = None
) -> Iterator[Sheet]:
    """Give something to draw on: of `size`, inches, unless the options of a picture say otherwise.

    `happenings` are marked in pictures over time. A new figure is saved and closed if there is a path.

    Raises
    ------
    InputError
        If nothing can be written at the path, or an option makes no sense; before anything is drawn.
    """
    known = [*Options.__annotations__, *(["events"] if happenings is not None else [])]
    for name in options:
        if name not in known:
            raise TypeError(f"{owner}() has no argument {name!r}; the arguments of all pictures: {', '.join(known)}")
    path, style = options.get("path"), options.get("style")
    target = None if path is None else validate.output_file(owner, path, formats())
    given = _checked_axes(owner, options.get("ax"))
    size = _checked_size(owner, options.get("size"), size)
    wanted = options.get("events")
    marked = happenings if wanted is None or validate.flag(owner, "events", wanted) else None
    # Escaped names rely on matplotlib's own reading of text.
    with _styled(owner, style), plt.rc_context({"text.usetex": False, "text.parse_math": True}):
        figure = plt.figure(figsize=size, layout="constrained") if given is None else given[0].get_figure(root=True)
        try:
            sheet = Sheet(owner, figure, given, marked)
            yield sheet
            sheet.close()
            if target is not None:
                with whole(owner, target) as aside:
                    figure.savefig(aside, dpi=DPI)
        except BaseException:
            if given is None:
                plt.close(figure)
            raise
    if target is not None and given is None:
        plt.close(figure)


@contextmanager
def _styled(owner: str, style: Any) -> Iterator[None]:
    """The context of a style of matplotlib: a name, a mapping of its settings, or a list of these."""
    with ExitStack() as entered:
        try:
            entered.enter_context(plt.style.context([] if style is None else style))
        except (OSError, TypeError, KeyError, ValueError, AttributeError) as error:
            raise InputError(
                f'{owner}: style must be one of matplotlib.style.available, its settings such as {{"font.size": 8}}, '
                f"or a list of these; got {style!r} ({error})"
            ) from None
        yield


def _checked_axes(owner: str, ax: Any) -> list[Any] | None:
    if ax is None:
        return None
    given = list(np.ravel(np.array(ax, dtype=object)))
    if not given or not all(isinstance(one, Axes) for one in given):
        raise InputError(f"{owner}: ax must be axes of matplotlib, or an array of them row by row; got {ax!r}")
    return given


def _checked_size(owner: str, size: Any, usual: tuple[float, float]) -> tuple[float, float]:
    if size is None:
        return usual
    width, height = (
        validate.positive(owner, "size", length) for length in validate.array(owner, "size", size, (2,)).tolist()
    )
    return width, height


def _axes(count: int) -> str:
    return "one axes" if count == 1 else f"{count} axes, row by row,"


def _space(solid: bool) -> str:
    return "space" if solid else "a plane"


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
    return "\n".join(fill(line, TITLE_WIDTH) for line in title.splitlines())


def draw_largest(ax: Axes, x: np.ndarray, curves: Mapping[str, np.ndarray], most: int = MOST_CURVES) -> None:
    """Draw those curves (nt,) by name that reach the largest values, and the band that all others fill."""
    reach = {name: float(np.nanmax(np.abs(curve), initial=0.0)) for name, curve in curves.items()}
    kept = set(sorted(curves, key=reach.__getitem__, reverse=True)[:most])
    others = [curve for name, curve in curves.items() if name not in kept]
    if others:
        band = f"{len(others)} others, all smaller" if len(others) > 1 else "another, smaller"
        ax.fill_between(x, np.min(others, axis=0), np.max(others, axis=0), color=BAND, label=band, zorder=0.5)
    for name, curve in curves.items():
        if name in kept:
            ax.plot(x, curve, label=shown(name))


def finish(ax: Axes, title: str, unit: str, label: str = TIME) -> None:
    """Give axes with curves a title, labels, a grid, and a legend beside them of as many names as there is room for."""
    ax.set_title(wrapped(title))
    if label == TIME:
        label_axis(ax.xaxis, TIME, "s", float(np.abs(ax.dataLim.intervalx).max()))
    else:
        ax.set_xlabel(label)
    ax.grid(alpha=0.3)
    if ax.get_yscale() == "linear":
        largest = float(np.abs(ax.dataLim.intervaly).max())
        if largest < ROUND_OFF:
            ax.set_ylim(-10 * ROUND_OFF, 10 * ROUND_OFF)
        label_axis(ax.yaxis, "", unit, largest if largest >= ROUND_OFF else 1.0)
    else:
        ax.set_ylabel(unit)
    add_legend(ax)


def add_legend(ax: Axes, *, inside: bool = False) -> None:
    """Write the names of curves beside axes or inside, as many as there is room for, and those of events below.

    Of one curve alone, whose name the axes have as their title, it is not written again.
    """
    handles, labels = ax.get_legend_handles_labels()
    both = list(zip(handles, labels, strict=True))
    curves, marks = ([pair for pair in both if is_mark(pair[0]) is wanted] for wanted in (False, True))
    if len(curves) == 1 and curves[0][1] == ax.get_title():
        curves = []
    room = MOST_NAMES - len(marks)
    if len(curves) > room:
        rest = len(curves) - room + 1
        curves[room - 1 :] = [(Line2D([], [], linestyle="none"), f"and {rest} more")]
    listed = curves + marks
    if listed:
        beside: Any = {} if inside else {"loc": "upper left", "bbox_to_anchor": (1, 1), "borderaxespad": 0.2}
        ax.legend([handle for handle, _ in listed], [text for _, text in listed], fontsize="small", **beside)
