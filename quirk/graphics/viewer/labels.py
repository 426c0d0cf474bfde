"""Placement of names in the viewer without overlap: beside their points, shifted by whole lines where necessary.

Names have the same size on the screen for every mechanism. Their positions are therefore computed in pixels, for the
first animation frame in the initial view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quirk.bodies import rotation

from . import camera
from .parts import Part
from .poses import Poses

# Height of a small window, width of a letter, and height of a line, pixels.
WINDOW, WIDTH, LINE = 600.0, 5.0, 10.0
# Maximum distance of a name above or below its point, in lines of text.
MOST_LINES = 8


class Label(NamedTuple):
    """A displayed name and its placement.

    Attributes
    ----------
    text : the name, with blank lines that shift it up or down
    anchor : corner or edge of the text that is placed at the point, such as "top-left"
    """

    text: str
    anchor: str


def place_of(part: Part, poses: Poses) -> np.ndarray:
    """Return the position (3,) of the name of a part in the first animation frame, inertial frame, m."""
    track = part.track(poses)
    point = track.position[0]
    if track.scale is not None:
        along = rotation.matrix(track.orientation[0])[:, 2]
        point = point + 0.5 * track.scale[0][2] * along
    if part.parent is None:
        return point
    position, orientation = poses.of(part.parent)
    return np.asarray(position[0] + rotation.matrix(orientation[0]) @ point)


def on_screen(places: np.ndarray, viewer: np.ndarray) -> np.ndarray:
    """Return the pixel coordinates (k, 2), to the right and down, of k points `places` (k, 3).

    `viewer` (3,) is the position of the viewer, who looks toward the origin.
    """
    away = -viewer / np.linalg.norm(viewer)
    right = np.cross(away, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    seen = places - viewer
    scale = 0.5 * WINDOW / np.tan(0.5 * np.radians(camera.FIELD)) / (seen @ away)
    return np.stack([seen @ right * scale, -(seen @ np.cross(right, away)) * scale], axis=1)


def laid_out(texts: Sequence[str], dots: np.ndarray, letters: np.ndarray) -> list[Label]:
    """Return the placements of the names `texts` beside k points on the screen, without overlap.

    `dots` (k, 2) are the pixel coordinates of the points. The names do not overlap the letters of the coordinate axes
    either, which are at the pixels `letters` (j, 2).
    """
    taken = [_box(dot, WIDTH, -0.5 * LINE) - [0.5 * WIDTH, 0.0, 0.5 * WIDTH, 0.0] for dot in letters]
    found = []
    for text, dot in zip(texts, dots, strict=True):
        written = [(label, _box(dot, WIDTH * len(text), above)) for label, above in _candidates(text)]
        # If no place is free, the last one is used.
        label, box = next((one for one in written if not any(_overlap(one[1], other) for other in taken)), written[-1])
        taken.append(box)
        found.append(label)
    return found


def _candidates(text: str) -> list[tuple[Label, float]]:
    """Return the possible placements of a name, each with the distance of its upper border below its point, pixels."""
    ways = [(Label(text, "center-left"), -0.5 * LINE)]
    for k in range(MOST_LINES):
        ways.append((Label("\n" * k + text, "top-left"), k * LINE))
        ways.append((Label(text + "\n" * k, "bottom-left"), -(k + 1) * LINE))
    return ways


def _box(dot: np.ndarray, width: float, above: float) -> np.ndarray:
    """Return the borders (4,) of a name on the screen, pixels: left, upper, right, lower.

    The name begins at the pixel `dot`; its upper border is the distance `above` below this pixel.
    """
    return np.array([dot[0], dot[1] + above, dot[0] + width, dot[1] + above + LINE])


def _overlap(a: np.ndarray, b: np.ndarray) -> bool:
    return bool((a[:2] < b[2:]).all() and (b[:2] < a[2:]).all())
