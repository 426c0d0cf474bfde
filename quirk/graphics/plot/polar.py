"""Polar diagrams of joint forces: direction and magnitude during a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection

from quirk.errors import InputError
from quirk.result.curves import Curve
from quirk.result.joint_views import LOAD_FRAMES, JointView
from quirk.util import validate
from quirk.util.rounding import ROUND_OFF
from quirk.util.si_prefixes import InUnit, prefixed

from .figures import literal_text
from .loads import axes_of
from .sheet import Sheet

LETTERS = "xyz"
PLANES = ("xy", "yz", "zx", "yx", "zy", "xz")
# Maximum number of circles of constant magnitude, and polar angle at which they are labeled, degrees.
MOST_RINGS, ALONG = 3, 22.5


def checked_forces(
    owner: str, views: Sequence[Any], frame: str, on: str, plane: str | None
) -> tuple[list[np.ndarray], list[int]]:
    """Return the forces (nt, 3) of joints, N, in a frame, and the indices of two axes that span the plotted plane.

    `on` is the body on which the forces act, "i" or "j"; `plane` is the user's choice, such as "xy", or None.
    """
    if not views:
        raise InputError(f"{owner}: joint must be the name of a joint or a force, or several")
    validate.choice(owner, "frame", frame, LOAD_FRAMES)
    sign = 1.0 if validate.choice(owner, "on", on, ("i", "j")) == "j" else -1.0
    forces = [sign * view.force(frame) for view in views]
    if plane is None:
        least = int(np.argmin(np.max([np.abs(force).max(axis=0, initial=0.0) for force in forces], axis=0)))
        return forces, [(least + 1) % 3, (least + 2) % 3]
    return forces, [LETTERS.index(letter) for letter in validate.choice(owner, "plane", plane, PLANES)]


def draw_polar(
    sheet: Sheet,
    views: Sequence[Any],
    forces: Sequence[np.ndarray],
    axes: list[int],
    frame_and_body: tuple[str, str],
    shade: Curve | None,
) -> None:
    """Draw forces (nt, 3), N, projected on the plane of two axes.

    `axes` are the indices of the axes. `frame_and_body` contains the frame of the components, and the body on which the
    forces act, "i" or "j"; `shade` is a quantity that colors the curve, or None.
    """
    if shade is not None and len(views) > 1:
        raise InputError(f"plot.polar: color is for a single joint; got {len(views)}")
    (ax,) = sheet.axes(over_time=False, subplot_kw={"projection": "polar"})
    for view, force in zip(views, forces, strict=True):
        size = np.hypot(*force[:, axes].T)
        angle = np.arctan2(force[:, axes[1]], force[:, axes[0]])
        # Lines between points are straight, even if the direction changes by a large angle.
        (line,) = ax.plot(angle, size, label=literal_text(view.of.name), color="none" if shade else None)
        ax.plot(angle[:1], size[:1], "o", color="black", markerfacecolor="white", zorder=4)
        if shade is not None:
            _draw_colored(sheet, ax, np.stack([angle, size], axis=1), shade)
            line.set_label("_")
    largest = max(float(np.linalg.norm(force, axis=1).max(initial=0.0)) for force in forces)
    _label(ax, axes, largest)
    ax.set_title(_title(views, *frame_and_body))
    out = max(float(np.abs(np.delete(force, axes, axis=1)).max(initial=0.0)) for force in forces)
    if out > ROUND_OFF * largest:
        factor, unit = prefixed("N", out)
        across = LETTERS[3 - sum(axes)]
        ax.set_xlabel(f"along {across} up to {out / factor:.3g} {unit}")
    if len(views) > 1:
        sheet.legend(ax)


def _draw_colored(sheet: Sheet, ax: Any, points: np.ndarray, shade: Curve) -> None:
    pieces = LineCollection(list(np.stack([points[:-1], points[1:]], axis=1)), cmap="turbo", linewidth=2.0, zorder=3)
    pieces.set_array(0.5 * (shade.values[:-1] + shade.values[1:]))
    ax.add_collection(pieces, autolim=False)
    text = f"{literal_text(shade.name)} ({shade.unit})" if shade.unit else literal_text(shade.name)
    sheet.figure.colorbar(pieces, ax=ax, label=text, shrink=0.8, pad=0.12)


def _label(ax: Any, axes: list[int], largest: float) -> None:
    """Label the magnitudes with their unit, and the two axes at 0 and 90 degrees with their names.

    `axes` are the indices of the axes, and `largest` is the largest magnitude, N.
    """
    factor, unit = prefixed("N", largest)
    ax.yaxis.get_major_locator().base.set_params(nbins=MOST_RINGS)
    ax.yaxis.set_major_formatter(InUnit(factor))
    ax.set_ylabel(f"Force ({unit})", labelpad=24)
    ax.set_rlabel_position(ALONG)
    ax.set_ylim(0.0, 1.05 * largest if largest > 0 else 1.0)
    one, two = (LETTERS[axis] for axis in axes)
    names = {0: f"{one}  0°", 90: f"{two}  90°"}
    ax.set_thetagrids(range(0, 360, 45), [names.get(angle, f"{angle}°") for angle in range(0, 360, 45)])


def _title(views: Sequence[Any], frame: str, on: str) -> str:
    axes = axes_of(views, frame)
    if len(views) > 1:
        return f"forces on bodies {on}, {axes}"
    of = views[0].of
    if not isinstance(views[0], JointView):
        return f"{literal_text(of.name)}: force, {axes}"
    acted, by = (of.body_j, of.body_i) if on == "j" else (of.body_i, of.body_j)
    return f"{literal_text(of.name)}: force on {literal_text(acted.name)} by {literal_text(by.name)}, {axes}"
