"""Phase portraits."""

from __future__ import annotations

import numpy as np

from .curves import Curve
from .event_marks import mark_on
from .figures import shown
from .prefixes import label
from .result import Result
from .sheet import Sheet


def draw_phase(sheet: Sheet, result: Result, along: Curve, across: Curve) -> None:
    """Draw one quantity over another, with a ring at the start."""
    (ax,) = sheet.axes(over_time=False)
    points = np.stack([along.values, across.values], axis=1)
    ax.plot(*points.T, linewidth=1.0)
    ax.plot(*points[:1].T, "o", markerfacecolor="white", color="black", label="start")
    if sheet.happenings is not None:
        mark_on(ax, sheet.happenings, result.time, points)
    for axis, one in ((ax.xaxis, along), (ax.yaxis, across)):
        label(axis, shown(one.name), one.unit, float(np.abs(one.values).max()))
    ax.grid(alpha=0.3)
    sheet.legend(ax)
