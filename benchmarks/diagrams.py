"""Work-precision diagrams, and the diagram of the time of a step over the number of bodies."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # pictures go to files

import matplotlib.pyplot as plt

from .accuracy import Curve
from .scaling import Line

# Color-blind safe; QuIRK's is the strongest.
COLORS = ("#0b3c8c", "#d55e00", "#009e73", "#8f5fa8", "#7a7a7a", "#56b4e9", "#c9a400", "#e377a8")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")


def work_precision(
    curves: list[Curve],
    title: str,
    enough: float,
    path: Path,
    error_name: str = "largest error of a position at the end",
    unit: str = " m",
) -> None:
    """Draw run times over errors. `error_name` describes the error, and `unit` is its unit."""
    figure, axes = plt.subplots(figsize=(8.0, 5.2), layout="constrained")
    for curve, color, marker in zip(curves, COLORS, MARKERS, strict=False):
        axes.loglog(
            [p.error for p in curve.points],
            [p.seconds for p in curve.points],
            color=color,
            marker=marker,
            markersize=5,
            linewidth=2.2 if curve is curves[0] else 1.4,
            label=curve.side,
        )
    axes.axvline(enough, color="0.6", linewidth=1, linestyle="--", zorder=0)
    axes.annotate(
        f"{enough:g}{unit}",
        (enough, 0.02),
        xycoords=("data", "axes fraction"),
        xytext=(4, 0),
        textcoords="offset points",
        color="0.4",
    )
    axes.invert_xaxis()  # better to the right
    axes.set(xlabel=f"{error_name},{unit}" if unit else error_name, ylabel="time of the run, s", title=title)
    _finish(figure, axes, path)


def scaling(lines: list[Line], path: Path) -> None:
    """Draw the time of a step over the number of bodies, with one color per mechanism and dashed lines for peers."""
    figure, axes = plt.subplots(figsize=(8.0, 5.2), layout="constrained")
    mechanisms = list(dict.fromkeys(line.mechanism for line in lines))
    for line in lines:
        k = mechanisms.index(line.mechanism)
        ours = line.side == "QuIRK"
        axes.loglog(
            line.bodies,
            line.seconds,
            color=COLORS[k],
            marker=MARKERS[k],
            markersize=5,
            markerfacecolor=None if ours else "white",
            linewidth=2.0 if ours else 1.3,
            linestyle="-" if ours else "--",
            label=f"{line.side}, {line.mechanism}",
        )
    # A line of slope one, through the quickest point, to compare with.
    n, s = min(((n, s) for line in lines for n, s in zip(line.bodies, line.seconds, strict=True)), key=lambda p: p[1])
    most = max(line.bodies[-1] for line in lines)
    ends = [n, max(most, 10 * n)]
    axes.loglog(ends, [0.5 * s * end / n for end in ends], color="0.6", linewidth=1, linestyle=":", label="linear")
    axes.set(xlabel="bodies", ylabel="time of an RK4 step, s", title="Time of a step against the number of bodies")
    _finish(figure, axes, path)


def _finish(figure: plt.Figure, axes: plt.Axes, path: Path) -> None:
    axes.grid(which="major", color="0.9")
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    # Beside the curves, where it cannot cover any.
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)
