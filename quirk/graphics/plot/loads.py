"""Plots of the loads of joints and forces over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from quirk.errors import InputError
from quirk.result.joint_views import LOAD_FRAMES, JointView
from quirk.result.result import Result

from .figures import draw_largest, literal_text
from .sheet import TIME, Sheet

PARTS = ("x", "y", "z", "magnitude")


def checked_loads(owner: str, views: Sequence[Any], frame: str, components: Any) -> list[str]:
    """Return the load components to be drawn, some of "x", "y", "z" and "magnitude".

    `views` are the joints or forces, and `components` is the user's selection, or None.
    """
    if not views:
        raise InputError(f"{owner}: there is no joint that exerts a load; name a force")
    if frame not in LOAD_FRAMES:
        raise InputError(f"{owner}: frame must be one of {', '.join(map(repr, LOAD_FRAMES))}; got {frame!r}")
    if components is None:
        return list(PARTS[:3] if len(views) == 1 else PARTS[3:])
    parts = [components] if components in PARTS else list(components) if components else []
    if not parts or not all(part in PARTS for part in parts):
        raise InputError(f"{owner}: components must be some of {', '.join(map(repr, PARTS))}; got {components!r}")
    return list(dict.fromkeys(parts))


def draw_loads(sheet: Sheet, result: Result, views: Sequence[Any], frame: str, parts: list[str]) -> None:
    """Draw forces above torques, with one curve for each joint or force and each component.

    `frame` is the frame in which components are given, `parts` are the components.
    """
    both = sheet.axes(2, 1, sharex=True)
    vectors = any(part != "magnitude" for part in parts)
    for ax, what, unit in zip(both, ("force", "torque"), ("N", "N m"), strict=True):
        curves: dict[str, np.ndarray] = {}
        for view in views:
            values = getattr(view, what)(frame)
            for part in parts:
                of_part = np.linalg.norm(values, axis=1) if part == "magnitude" else values[:, PARTS.index(part)]
                curves[part if len(views) == 1 else f"{view.of.name} {part}" if vectors else view.of.name] = of_part
        draw_largest(ax, result.time, curves)
        axes = f", {axes_of(views, frame)}" if vectors else ", magnitude"
        sheet.finish(ax, _title(views, what) + axes, what.capitalize(), unit, "" if ax is both[0] else TIME)


def _title(views: Sequence[Any], quantity: str) -> str:
    if len(views) > 1:
        return f"{quantity}s on bodies j"
    (view,) = views
    if not isinstance(view, JointView):
        return f"{literal_text(view.of.name)}: {quantity} on {literal_text(view.of.acting_ends[-1][0].name)}"
    of = view.of
    return f"{literal_text(of.name)}: {quantity} on {literal_text(of.body_j.name)} by {literal_text(of.body_i.name)}"


def axes_of(views: Sequence[Any], frame: str) -> str:
    """Return a phrase for titles that names the axes of the load components."""
    if frame == "inertial":
        return "inertial axes"
    if frame.startswith("joint"):
        return f"axes of joint frame {frame[-1]}"
    if len(views) > 1 or not isinstance(views[0], JointView):
        return f"axes of body {frame}"
    of = views[0].of
    return f"axes of {literal_text((of.body_i if frame == 'i' else of.body_j).name)}"
