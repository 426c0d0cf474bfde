"""Event markers in plots: vertical lines for few events, short strokes at the top for many."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.result.event_log import EventLog

# Maximum number of events drawn as full-height lines, and maximum number of event names with a color of their own.
MOST_LINES, MOST_NAMES = 40, 4
# Height of a stroke relative to the axes.
STROKE = 0.04
COLORS = ("#7f7f7f", "#b8860b", "#8060a8", "#4f8f8f", "#a05050")
DASHES = ((0, (4, 2)), (0, (1, 1.5)), (0, (8, 2, 1, 2)), (0, (2, 2)), (0, (10, 3)))
MARKERS = ("o", "s", "^", "D", "v")
GROUP = "quirk.event"


def mark(ax: Any, happenings: EventLog, named: bool) -> None:
    """Mark the times of events on axes over time; if `named` is True, the legend lists the events."""
    few = len(happenings) <= MOST_LINES
    for (name, times), color, dashes in zip(_by_name(happenings).items(), COLORS, DASHES, strict=False):
        # One line with gaps: a stroke for each event.
        x = np.repeat(times, 3)
        y = np.tile([0.0 if few else 1 - STROKE, 1.0, np.nan], len(times))
        text = _label(name, len(times)) if named else "_"
        style = {"linewidth": 0.9, "linestyle": dashes if few else "-", "zorder": 1.0}
        transform = ax.get_xaxis_transform()
        ax.plot(x, y, color=color, label=text, transform=transform, gid=GROUP, **style)


def mark_on(ax: Any, happenings: EventLog, time: np.ndarray, points: np.ndarray, named: bool = True) -> None:
    """Mark events on a curve; if `named` is True, the legend lists the events.

    The curve passes through `points` (nt, 2) or (nt, 3) at the times `time` (nt,), s.
    """
    for (name, times), color, marker in zip(_by_name(happenings).items(), COLORS, MARKERS, strict=False):
        places = [np.interp(times, time, component) for component in points.T]
        style = {"linestyle": "none", "marker": marker, "markersize": 5 if len(times) <= MOST_LINES else 2}
        text = _label(name, len(times)) if named else "_"
        ax.plot(*places, color=color, label=text, gid=GROUP, zorder=3.5, **style)


def is_mark(artist: Any) -> bool:
    """Whether a matplotlib artist was drawn as an event marker."""
    return artist.get_gid() == GROUP if hasattr(artist, "get_gid") else False


def _by_name(happenings: EventLog) -> dict[str, np.ndarray]:
    """Return the times of events, s, by name; events other than those with the most frequent names are combined.

    `happenings` are the records of the events.
    """
    names = list(dict.fromkeys(happenings.name))
    times = {name: happenings.of(name).time for name in names}
    kept = sorted(names, key=lambda name: -len(times[name]))[:MOST_NAMES]
    found = {name: times[name] for name in names if name in kept}
    others = [times[name] for name in names if name not in kept]
    if others:
        found[f"{len(others)} other names"] = np.sort(np.concatenate(others))
    return found


def _label(name: str, count: int) -> str:
    from .figures import literal_text

    return literal_text(name) if count == 1 else f"{literal_text(name)} ({count} events)"
