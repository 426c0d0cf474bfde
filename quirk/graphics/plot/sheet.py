"""The figure of a plot, or the user's axes, with titles, labels and legends that fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from quirk.errors import InputError
from quirk.result.event_log import EventLog
from quirk.util.si_prefixes import label as label_axis

from . import legends
from .event_marks import is_mark, mark
from .figure_text import FITTED, Fit, available_length, fit_space
from .line_styles import distinguish
from .magnitudes import Magnitudes

# Curves below this fraction of the largest one in their axes are labeled as zero in the legend.
BESIDE_LARGEST = 1e-9
# Height of axes in which all curves are zero, relative to other axes.
LOW = 0.35
# Range of axes in which all curves are zero, relative to the round-off threshold.
AROUND_ZERO = 100.0
# Range of axes to either side of a constant curve, relative to the constant.
CONSTANT = 0.1
# Height of axes below which a title that repeats the label is omitted, points.
TITLED = 36.0
# Maximum number of repetitions of the layout; it is repeated until texts and axes fit.
MOST_LAYOUTS = 3
TIME = "Time"
SPACE = {"3d": "in space", "polar": "of directions", "rectilinear": "in a plane"}


class Sheet:
    """The axes of one plot, in a new figure or provided by the user.

    Parameters
    ----------
    owner : name of the plot for error messages
    figure : matplotlib figure
    user_axes : axes provided by the user, or None
    happenings : events to be marked, or None
    magnitudes : characteristic magnitudes of the run, which define the round-off thresholds, or None
    """

    def __init__(
        self,
        owner: str,
        figure: Figure,
        user_axes: Sequence[Any] | None,
        happenings: EventLog | None,
        magnitudes: Magnitudes | None,
    ) -> None:
        self.figure, self._owner, self._user_axes, self.events = figure, owner, user_axes, happenings
        self._magnitudes = magnitudes
        self._title = ""
        self._drawn: list[Any] = []
        self._before: set[Line2D] = set()
        self._with_legend: list[Any] = []
        self._zeros: list[Line2D] = []
        self._empty: list[Any] = []

    def axes(self, rows: int = 1, columns: int = 1, *, over_time: bool = True, **layout: Any) -> np.ndarray:
        """Return the axes of the plot as an array (rows * columns,), row by row.

        If `over_time` is True, events are marked on them. `layout` are further arguments of `Figure.subplots`.
        """
        count = rows * columns
        kind = (layout.get("subplot_kw") or {}).get("projection") or "rectilinear"
        if self._user_axes is None:
            found = self.figure.subplots(rows, columns, squeeze=False, **layout).ravel()
        else:
            if len(self._user_axes) != count:
                raise InputError(
                    f"{self._owner}: ax must be {_axes(count)} for this picture; got {len(self._user_axes)}"
                )
            if any(ax.name != kind for ax in self._user_axes):
                wanted = "of a plane, without a projection" if kind == "rectilinear" else f'with projection="{kind}"'
                raise InputError(f"{self._owner}: ax must be axes {wanted}, as this picture is one {SPACE[kind]}")
            found = np.array(self._user_axes, dtype=object)
        self._drawn = list(found)
        self._before = {line for ax in found for line in ax.lines}
        if self.events is not None and over_time:
            for number, ax in enumerate(found):
                mark(ax, self.events, named=number == 0)
        return found

    def title(self, text: str) -> None:
        """Set the title above all axes of a new figure."""
        self._title = text
        if self._user_axes is None:
            self.figure.suptitle(text)

    def finish(self, ax: Axes, title: str, quantity: str, unit: str, label: str = TIME) -> None:
        """Add a title, labels such as "Force (N)", a grid and a legend to axes with curves.

        The legend marks curves that are zero up to round-off. If all curves are zero, the axes are reduced in height
        and state this. The label of the vertical axis consists of `quantity` and `unit`.
        """
        ax.set_title(title)
        if label == TIME:
            label_axis(ax.xaxis, TIME, "s", float(np.abs(ax.dataLim.intervalx).max()))
        else:
            ax.set_xlabel(label)
        ax.grid(alpha=0.3)
        if ax.get_yscale() == "log" and not any(np.isfinite(line.get_ydata()).any() for line in self._lines(ax)):
            ax.set_yscale("linear")
        if ax.get_yscale() == "linear":
            label_axis(ax.yaxis, quantity, unit, self._largest(ax, unit))
        else:
            ax.set_ylabel(f"{quantity} ({unit})" if unit else quantity)
        self.legend(ax)

    def legend(self, ax: Axes) -> None:
        """Request a legend for axes; the legend is placed when the plot is complete."""
        self._with_legend.append(ax)

    def close(self) -> None:
        """Finish the plot: distinguish lines, remove repeated labels, and fit all texts and legends."""
        own = self._user_axes is None
        for ax in self._drawn:
            named = [line for line in self._lines(ax) if not str(line.get_label()).startswith("_")]
            distinguish([line for line in named if np.size(line.get_xdata(orig=True)) > 1])
        for ax in self._drawn if own else ():
            if len(ax.get_shared_x_axes().get_siblings(ax)) > 1 and not ax.get_subplotspec().is_last_row():
                ax.set_xlabel("")
        if own:
            self._lower_empty()
        elif self._title:
            heading = self._drawn[0].get_title()
            self._drawn[0].set_title(f"{self._title}\n{heading}" if heading else self._title)
        self._fit(own)

    def _fit(self, own_figure: bool) -> None:
        """Wrap titles and labels, and place the legends; `own_figure` is true if QuIRK created the figure."""
        self._lay_out()
        if own_figure and self._drop_repeated():
            self._lay_out()
        fit = Fit(self.figure, self._drawn)
        self._settle(fit)
        moved, listed = False, []
        for ax in dict.fromkeys(self._with_legend):
            pairs = legends.entries(ax, self._zeros, curves=ax not in self._empty)
            names = [name.removesuffix(legends.ZERO) for _, name in pairs]
            if pairs:
                moved |= legends.place(
                    ax, pairs, available_length(ax, self._drawn, 0), own_figure, repeated=names in listed
                )
                listed.append(names)
        if moved:
            self._lay_out()
            self._settle(fit)
        for ax in self._drawn if own_figure else ():
            if ax.name == "3d":
                fit_space(ax)

    def _drop_repeated(self) -> bool:
        """Remove titles of low axes that are equal to the vertical label; return whether any was removed."""
        low = [ax for ax in self._drawn if ax.get_window_extent().height < TITLED * self.figure.dpi / 72]
        repeated = [ax for ax in low if ax.get_title() and ax.get_ylabel().lower().startswith(ax.get_title())]
        for ax in repeated:
            ax.set_title("")
        return bool(repeated)

    def _settle(self, fit: Fit) -> None:
        """Repeat the wrapping of texts and the layout of the figure until nothing changes.

        The layouts take most of the drawing time.
        """
        for _ in range(MOST_LAYOUTS):
            if not fit.wrap():
                return
            self._lay_out()

    def _lay_out(self) -> None:
        engine = self.figure.get_layout_engine() if self._user_axes is None else None
        if engine is not None:
            engine.execute(self.figure)
            for ax in self._drawn:
                ax.apply_aspect()

    def _lines(self, ax: Any) -> list[Line2D]:
        """Return the curves in axes that were drawn by this plot."""
        return [line for line in ax.lines if line not in self._before and not is_mark(line)]

    def _largest(self, ax: Axes, unit: str) -> float:
        """Return the largest absolute value drawn in axes, or 1 if all values are zero up to round-off.

        Curves that are negligible relative to this value are recorded as zero, so that the legend marks them.
        """
        reach = {line: float(np.nanmax(np.abs(line.get_ydata()), initial=0.0)) for line in self._lines(ax)}
        bands = [float(np.abs(group.get_datalim(ax.transData).intervaly).max()) for group in ax.collections]
        largest = max([*reach.values(), *bands], default=0.0)
        zero = self.round_off(unit)
        if not reach or not np.isfinite(largest):
            return 1.0
        if largest <= zero:
            self._tell_zero(ax, largest, zero, unit)
            return 1.0
        self._zeros += [line for line, size in reach.items() if size <= BESIDE_LARGEST * largest]
        if ax.dataLim.height <= BESIDE_LARGEST * largest and not bands:
            # Round-off of otherwise constant curves is not shown.
            ax.set_ylim(ax.dataLim.y0 - CONSTANT * largest, ax.dataLim.y1 + CONSTANT * largest)
        return largest

    def round_off(self, unit: str) -> float:
        """Return the threshold below which quantities with the given unit are zero up to round-off; 0 if unknown."""
        return self._magnitudes.round_off(unit) if self._magnitudes is not None else 0.0

    def _tell_zero(self, ax: Axes, largest: float, zero: float, unit: str) -> None:
        """Write on axes that all their curves are zero, and set a scale on which round-off is invisible.

        `largest` is the largest value, `zero` the round-off threshold, and `unit` their unit.
        """
        bound = f"{largest:.0e} {unit}".strip()
        text = f"zero to round-off ({bound})" if largest > 0 else "zero"
        patch = {"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0}
        place: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "va": "center", "bbox": patch}
        ax.text(0.5, 0.8, text, fontsize="small", gid=FITTED, **place)
        ax.set_ylim(-AROUND_ZERO * (zero or 1.0), AROUND_ZERO * (zero or 1.0))
        ax.set_yticks([0.0])
        self._empty.append(ax)

    def _lower_empty(self) -> None:
        """Reduce the height of axes in which all curves are zero, if there are other axes."""
        empty = [ax in self._empty for ax in self._drawn]
        if not any(empty) or all(empty):
            return
        grid = self._drawn[0].get_subplotspec().get_gridspec()
        rows = np.all(np.reshape(empty, (grid.nrows, grid.ncols)), axis=1).tolist()
        heights = grid.get_height_ratios()
        grid.set_height_ratios(
            [LOW * max(heights) if none else height for height, none in zip(heights, rows, strict=True)]
        )


def _axes(count: int) -> str:
    return "one axes" if count == 1 else f"{count} axes, row by row,"
