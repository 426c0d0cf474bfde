"""Plots of the differences between two results over time."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.errors import InputError
from quirk.result.body_views import BodyView
from quirk.result.joint_views import JointView
from quirk.result.pose_interpolation import linear, poses
from quirk.result.result import Result

from .figures import draw_largest
from .sheet import TIME, Sheet

OWNER = "plot.compare"


def draw_differences(sheet: Sheet, result: Result, reference: Result, names: Any) -> None:
    """Draw distances between positions, angles between orientations, and differences of joint forces.

    `result` is compared with `reference`; `names` is the user's selection of bodies and joints, or None.
    """
    if not isinstance(reference, Result):
        raise InputError(f"{OWNER}: other must be a result; got {reference!r}")
    bodies, joints = _common(result, reference, names)
    time = result.time[(result.time >= reference.time[0]) & (result.time <= reference.time[-1])]
    if not len(time):
        raise InputError(
            f"{OWNER}: the results have no time in common: from {result.time[0]:g} to {result.time[-1]:g} s and from "
            f"{reference.time[0]:g} to {reference.time[-1]:g} s"
        )
    apart: dict[str, np.ndarray] = {}
    turned: dict[str, np.ndarray] = {}
    for name in bodies:
        (r, R), (s, S) = (poses(one, name, time) for one in (result, reference))
        apart[name] = np.linalg.norm(r - s, axis=1)
        turned[name] = _angles(np.swapaxes(R, 1, 2) @ S)
    forces = {
        name: np.linalg.norm(_force(result, name, time) - _force(reference, name, time), axis=1) for name in joints
    }
    panels = [
        (apart, "distance between centers of mass", "Distance", "m"),
        (turned, "angle between orientations", "Angle", "rad"),
        (forces, "difference of joint forces", "Force", "N"),
    ]
    axes = sheet.axes(3, 1, sharex=True)
    for ax, (curves, title, what, unit) in zip(axes, panels, strict=True):
        ax.set_yscale("log")
        draw_largest(ax, time, {name: np.where(curve > 0, curve, np.nan) for name, curve in curves.items()})
        sheet.finish(ax, title, what, unit, TIME if ax is axes[-1] else "")


def _common(result: Result, reference: Result, names: Any) -> tuple[list[str], list[str]]:
    """Return the names of the bodies and of the joints contained in both results.

    `names` is the user's selection, or None.
    """
    if names is None:
        theirs = {body.name for body in reference.system.bodies} | {joint.name for joint in reference._loaded}
        ours = [body.name for body in result.system.bodies] + [joint.name for joint in result._loaded]
        chosen = [name for name in ours if name in theirs]
    else:
        chosen = [names] if isinstance(names, str) else list(names)
    views = {}
    for name in chosen:
        views[name] = result[name], reference[name]
        if not any(all(isinstance(view, kind) for view in views[name]) for kind in (BodyView, JointView)):
            raise InputError(
                f'{OWNER}: "{name}" must be a body or a joint in both; got {views[name][0].of} and {views[name][1].of}'
            )
    if not views:
        raise InputError(f"{OWNER}: the results have no body or joint of the same name")
    kinds = [[name for name, (view, _) in views.items() if isinstance(view, kind)] for kind in (BodyView, JointView)]
    return kinds[0], kinds[1]


def _angles(turn: np.ndarray) -> np.ndarray:
    """Return the rotation angles (nt,), rad, of rotation matrices (nt, 3, 3), also accurate for small angles."""
    twice_sine = np.linalg.norm(turn - np.swapaxes(turn, 1, 2), axis=(1, 2)) / np.sqrt(2)
    return np.asarray(np.arctan2(twice_sine, np.trace(turn, axis1=1, axis2=2) - 1))


def _force(result: Result, name: str, time: np.ndarray) -> np.ndarray:
    """Return the force (k, 3) of a joint, N, inertial frame, at k times, s."""
    return linear(result, result[name].force(), time)
