"""Region of space that an animation shows: all positions of a mechanism, or a box that follows the mechanism.

The anchor is the point in the center of each image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.bodies.body import GROUND, Body
from quirk.errors import InputError

from ..scene.plates import planes_of
from ..scene.scene import Scene

if TYPE_CHECKING:
    from quirk.result.result import Result

# The view follows the mechanism if its largest extent at all times is below this fraction of the extent of the motion.
SPECK = 0.1
# Margin around a fixed box, margin around a followed body, and smallest thickness of the box, relative to the largest
# extent.
FRAME_MARGIN, FOLLOWED_MARGIN, THINNEST = 0.06, 0.12, 0.25
# Level ground is shown if it is at most this far below the box, relative to the largest extent.
NEAR = 0.5


def anchor_of(scene: Scene, follow: str | None) -> np.ndarray:
    """Return the point in the center of each animation frame (nt, 3), inertial frame, m.

    It is the center of mass of the followed body or of all bodies, or a fixed point.
    """
    if follow == GROUND.name or (follow is None and (scene.trails or not _speck(scene))):
        return np.tile(0.5 * (scene.low + scene.high), (len(scene.times), 1))
    if follow is not None:
        return scene.poses[follow][0]
    mass = np.array([body.mass for body in scene.bodies])
    return np.einsum("b,bti->ti", mass / mass.sum(), np.stack([scene.poses[body.name][0] for body in scene.bodies]))


def checked_follow(result: Result, follow: Any) -> str | None:
    """Return the validated argument `follow`: the name of the followed body, "ground", or None."""
    if follow is None or (isinstance(follow, str) and follow == GROUND.name):
        return follow
    item = result.system[follow] if isinstance(follow, str) else follow
    if not isinstance(item, Body):
        raise InputError(
            f'animate: follow must be the name of a body, or "{GROUND.name}" for a fixed view; got {follow!r}'
        )
    return result.system[item.name].name


def _speck(scene: Scene) -> bool:
    corners = [scene.corners_of(body.name) for body in scene.bodies]
    low, high = (np.min([c.min(axis=1) for c in corners], axis=0), np.max([c.max(axis=1) for c in corners], axis=0))
    return bool((high - low).max() < SPECK * (scene.high - scene.low).max())


def box_of(
    scene: Scene, anchor: np.ndarray, follow: str | None, grounds: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[tuple[np.ndarray, np.ndarray], float]:
    """Return the displayed box, and half the length scale of arrows, m.

    The box consists of two opposite corners (3,), m, relative to the anchor. `anchor` (nt, 3), m, inertial frame, is
    the point in the center of each image, and `follow` the name of the followed body; `grounds` are fixed planes, each
    a point and a normal.
    """
    if np.ptp(anchor, axis=0).any():
        near = scene.bodies if follow in (None, GROUND.name) else _joined_to(scene, follow)
        relative = [scene.corners_of(body.name) - anchor[:, None] for body in near]
        every = np.concatenate([points.reshape(-1, 3) for points in relative])
        low, high, margin = every.min(axis=0), every.max(axis=0), FOLLOWED_MARGIN
    else:
        low, high, margin = scene.low - anchor[0], scene.high - anchor[0], FRAME_MARGIN
    arrows = 0.5 * float((high - low).max()) or 1.0
    for tip in scene.forces.tips(arrows):
        low, high = np.minimum(low, (tip - anchor).min(axis=0)), np.maximum(high, (tip - anchor).max(axis=0))
    for point, normal in grounds:
        axis = int(np.argmax(np.abs(normal)))
        if abs(normal[axis]) < 1 - 1e-9:
            continue
        level, size = point[axis] - anchor[:, axis], (high - low).max()
        if level.min() > low[axis] - NEAR * size and level.max() < high[axis] + NEAR * size:
            low[axis], high[axis] = min(low[axis], level.min()), max(high[axis], level.max())
    largest = float((high - low).max()) or 1.0
    middle, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), 0.5 * THINNEST * largest) + margin * largest
    return (middle - half, middle + half), arrows


def _joined_to(scene: Scene, name: str | None) -> Sequence[Body]:
    """Return the body named `name` and all bodies connected with it by constraints, except through the ground."""
    found, grows = {name}, True
    while grows:
        grows = False
        for constraint in scene.constraints:
            names = {body.name for body, _ in constraint.ends if isinstance(body, Body)}
            if names & found and not names <= found:
                found, grows = found | names, True
    return [body for body in scene.bodies if body.name in found]


def grounds_of(result: Result) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the planes fixed in the inertial frame that bodies contact or on which they roll.

    Each plane is a pair of a point (3,), m, and a normal (3,), inertial frame.
    """
    return [(plane.point, plane.normal) for plane in planes_of(result.system) if plane.body is GROUND]
