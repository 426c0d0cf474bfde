"""Plot of position, velocity, acceleration, jerk and snap of a point of a body, one below the other."""

from __future__ import annotations

import numpy as np
from matplotlib.ticker import MaxNLocator

from quirk.dynamics.sparse.solver.derivatives import highest_order
from quirk.result.body_views import BodyView, PlanarBodyView
from quirk.result.named_quantities import LETTERS, OF_BODIES
from quirk.result.result import Result

from .body_points import labels_of
from .line_styles import OF_SUMS
from .sheet import TIME, Sheet

# Components slower than this fraction of the fastest one are round-off.
UNMOVED = 1e-9
ORDERS = ("position", "velocity", "acceleration", "jerk", "snap")


def draw_derivatives(
    sheet: Sheet, result: Result, body: str, view: BodyView, local: np.ndarray, abscissa: tuple[str, np.ndarray] | None
) -> None:
    """Draw position, velocity, acceleration, jerk and snap of a point of a body, as far as available.

    `local` (3,) is the point in body coordinates, m; `abscissa` is the label and the values (nt,) of the horizontal
    axis, or None for time.
    """
    label, values = abscissa or (TIME, result.time)
    along = view.in_plane.path(local[:2]) if isinstance(view, PlanarBodyView) else view.path(local)
    fastest = np.abs(along.velocity).max(axis=0)
    moving = np.flatnonzero(fastest > UNMOVED * fastest.max()) if fastest.any() else range(len(fastest))
    # If a prescribed motion lacks third or fourth derivatives, those of the point are unknown.
    known = ORDERS[: highest_order(result._model) + 2]
    axes = sheet.axes(len(known), 1, sharex=True)
    sheet.title(labels_of(result.system, [(body, local)])[0])
    sheet.figure.align_ylabels(list(axes))
    for order, (ax, title) in enumerate(zip(axes, known, strict=True)):
        derivative = along.derivative(order)
        for c in moving:
            ax.plot(values, derivative[:, c], label=LETTERS[c] if len(moving) > 1 else None)
        heading = f"{title} along {LETTERS[moving[0]]}" if len(moving) == 1 else title
        if len(moving) > 1 and order > 0:
            ax.plot(values, np.linalg.norm(derivative, axis=1), label="magnitude", **OF_SUMS)
        if "deg" in label:
            ax.xaxis.set_major_locator(MaxNLocator(steps=[1, 1.5, 3, 4.5, 9, 10]))  # convenient fractions of a turn
        sheet.finish(ax, heading, title.capitalize(), OF_BODIES[title], label if ax is axes[-1] else "")
