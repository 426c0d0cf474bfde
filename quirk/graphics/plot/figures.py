"""Creation of figures: new figures or the user's axes, common options, and atomic writing of output files."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypedDict, TypeVar, get_type_hints

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from quirk.errors import InputError
from quirk.result.event_log import EventLog
from quirk.util import validate
from quirk.util.output import atomic_output

from . import paper
from .magnitudes import Magnitudes
from .sheet import Sheet

DPI = 120
# Smallest font scale of small figures.
SMALLEST = 0.7
# Maximum number of characters of a displayed name.
LONGEST_NAME = 32
# Maximum number of curves with a color of their own; further curves are drawn as the band that they fill.
MOST_CURVES = 8
BAND = "#d0d0d0"
# Prefix of names that begin with an underscore, which matplotlib would omit from legends.
INVISIBLE = "\N{ZERO WIDTH SPACE}"


C = TypeVar("C")


class Options(TypedDict, total=False):
    """Keyword arguments accepted by all plots; see `Plotter`."""

    path: str | Path | None
    ax: Any
    size: Any
    style: Any


class TimeOptions(Options, total=False):
    """Keyword arguments of plots over time in which events can be marked."""

    events: bool | None


def with_options_written_out(cls: type[C]) -> type[C]:
    """Class decorator that lists the keyword arguments of ``**options`` in the signatures of the methods."""
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


@contextmanager
def drawing(
    owner: str,
    size: tuple[float, float],
    options: Mapping[str, Any],
    happenings: EventLog | None = None,
    magnitudes: Magnitudes | None = None,
) -> Iterator[Sheet]:
    """Context manager that provides axes to draw on, by default in a new figure.

    If a path is given, a new figure is saved and closed.

    Parameters
    ----------
    owner : name of the plot for error messages
    size : default width and height, inches
    options : keyword arguments of the user, see `Options`
    happenings : events to be marked on axes over time, or None
    magnitudes : characteristic magnitudes of the run, which define the round-off thresholds

    Raises
    ------
    InputError
        If the path cannot be written, or an option is invalid; checked before drawing.
    """
    known = [*Options.__annotations__, *(["events"] if happenings is not None else [])]
    for name in options:
        if name not in known:
            raise TypeError(f"{owner}() has no argument {name!r}; the arguments of all pictures: {', '.join(known)}")
    path, style = options.get("path"), options.get("style")
    target = None if path is None else validate.output_file(owner, path, formats())
    given = _checked_axes(owner, options.get("ax"))
    printed = paper.is_paper(style)
    usual = paper.size_of(size) if printed else size
    size = _checked_size(owner, options.get("size"), usual)
    wanted = options.get("events")
    marked = happenings if wanted is None or validate.flag(owner, "events", wanted) else None
    # Escaped names require matplotlib's own text parser.
    with _styled(owner, _smaller(usual, size), style), plt.rc_context({"text.usetex": False, "text.parse_math": True}):
        figure = plt.figure(figsize=size, layout="constrained") if given is None else given[0].get_figure(root=True)
        try:
            sheet = Sheet(owner, figure, given, marked, magnitudes)
            yield sheet
            sheet.close()
            if target is not None:
                with atomic_output(owner, target) as aside:
                    figure.savefig(aside, dpi=paper.DPI if printed else DPI)
        except BaseException:
            if given is None:
                plt.close(figure)
            raise
    if target is not None and given is None:
        plt.close(figure)


@contextmanager
def _styled(owner: str, defaults: Any, style: Any) -> Iterator[None]:
    """Context manager that applies the matplotlib settings `defaults` and then the user's `style`.

    A style is a name, a dictionary of settings, or a list of names and dictionaries.
    """
    with ExitStack() as entered:
        entered.enter_context(plt.rc_context(defaults))
        try:
            entered.enter_context(plt.style.context(paper.expanded(style)))
        except (OSError, TypeError, KeyError, ValueError, AttributeError) as error:
            raise InputError(
                f'{owner}: style must be one of matplotlib.style.available, "paper", settings as {{"font.size": 8}}, '
                f"or a list of these; got {style!r} ({error})"
            ) from None
        yield


def _smaller(usual: tuple[float, float], size: tuple[float, float]) -> dict[str, float]:
    """Return matplotlib settings with a smaller font for a figure smaller than its default size `usual`, inches."""
    return {"font.size": plt.rcParams["font.size"] * max(SMALLEST, min(1.0, size[0] / usual[0], size[1] / usual[1]))}


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


def formats() -> list[str]:
    """Return the suffixes of the file formats that matplotlib can write."""
    return sorted(f".{kind}" for kind in Figure().canvas.get_supported_filetypes())


def literal_text(name: str) -> str:
    """Return a name as a string that matplotlib shows literally and in one line; long names are shortened."""
    line = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)
    if len(line) > LONGEST_NAME:  # names often differ only at the end, such as numbered ones
        line = f"{line[: LONGEST_NAME - 11]}…{line[-10:]}"
    line = line.replace("$", r"\$")
    return INVISIBLE + line if line.startswith("_") else line


def draw_largest(ax: Axes, x: np.ndarray, curves: Mapping[str, np.ndarray], max_curves: int = MOST_CURVES) -> None:
    """Draw curves (nt,) over x (nt,): the largest ones with their names, all others as one band.

    `curves` are the values by name; at most `max_curves` curves are named.
    """
    reach = {name: float(np.nanmax(np.abs(curve), initial=0.0)) for name, curve in curves.items()}
    kept = set(sorted(curves, key=reach.__getitem__, reverse=True)[:max_curves])
    others = [curve for name, curve in curves.items() if name not in kept]
    if others:
        band = f"{len(others)} others, all smaller" if len(others) > 1 else "another, smaller"
        ax.fill_between(x, np.min(others, axis=0), np.max(others, axis=0), color=BAND, label=band, zorder=0.5)
    for name, curve in curves.items():
        if name in kept:
            ax.plot(x, curve, label=literal_text(name))
