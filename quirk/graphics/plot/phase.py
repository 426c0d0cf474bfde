"""Phase portraits: plots of one quantity over another."""

from __future__ import annotations

import numpy as np

from quirk.result.curves import Curve
from quirk.result.result import Result
from quirk.util.si_prefixes import label

from .event_marks import mark_on
from .figures import literal_text
from .sheet import AROUND_ZERO, Sheet


def draw_phase(sheet: Sheet, result: Result, abscissa: Curve, ordinate: Curve) -> None:
    """Draw one quantity over another as a phase portrait; a ring marks the first time.

    `abscissa` and `ordinate` are the quantities on the horizontal and vertical axis.
    """
    (ax,) = sheet.axes(over_time=False)
    points = np.stack([abscissa.values, ordinate.values], axis=1)
    ax.plot(*points.T, linewidth=1.0)
    ax.plot(*points[:1].T, "o", markerfacecolor="white", color="black", label="start")
    if sheet.events is not None:
        mark_on(ax, sheet.events, result.time, points)
    for axis, one, limit in ((ax.xaxis, abscissa, ax.set_xlim), (ax.yaxis, ordinate, ax.set_ylim)):
        largest, zero = float(np.abs(one.values).max()), sheet.round_off(one.unit)
        label(axis, literal_text(one.name), one.unit, largest if largest > zero else 1.0)
        if 0 < largest <= zero:
            limit(-AROUND_ZERO * zero, AROUND_ZERO * zero)
    ax.grid(alpha=0.3)
    sheet.legend(ax)
