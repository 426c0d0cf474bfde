"""Where names are written so that those of one place do not lie on one another: beside it, line by line.

A name has the same size on the screen however large a mechanism is, so lines are counted in dots of a screen, for the
first picture as it is seen at first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quirk.bodies import rotation

from . import camera
from .parts import Part
from .poses import Poses

# Dots of a screen: the height of a small window, and of a letter the width and the height with the gap between lines.
WINDOW, WIDTH, LINE = 600.0, 5.0, 10.0
# So many lines above and below a place are tried.
MOST_LINES = 8


class Label(NamedTuple):
    """A name as it is written: with empty lines that move it up or down, and which point of it is at its place."""

    text: str
    anchor: str


def place_of(part: Part, poses: Poses) -> np.ndarray:
    """Return where (3,) in N, m, the name of a part is in the first picture."""
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
    """Return dots (k, 2), to the right and down, of places (k, 3) as seen by a viewer (3,) who looks at the origin."""
    away = -viewer / np.linalg.norm(viewer)
    right = np.cross(away, [0.0, 0.0, 1.0])
    right /= np.linalg.norm(right)
    seen = places - viewer
    scale = 0.5 * WINDOW / np.tan(0.5 * np.radians(camera.FIELD)) / (seen @ away)
    return np.stack([seen @ right * scale, -(seen @ np.cross(right, away)) * scale], axis=1)


def laid_out(texts: Sequence[str], dots: np.ndarray, letters: np.ndarray) -> list[Label]:
    """Return how names are written beside dots (k, 2), each where none is yet, nor one of the `letters` (j, 2)."""
    taken = [_box(dot, WIDTH, -0.5 * LINE) - [0.5 * WIDTH, 0.0, 0.5 * WIDTH, 0.0] for dot in letters]
    found = []
    for text, dot in zip(texts, dots, strict=True):
        written = [(label, _box(dot, WIDTH * len(text), above)) for label, above in _candidates(text)]
        # Where there is no room at all, the last one will do.
        label, box = next((one for one in written if not any(_overlap(one[1], other) for other in taken)), written[-1])
        taken.append(box)
        found.append(label)
    return found


def _candidates(text: str) -> list[tuple[Label, float]]:
    """Ways to write a name, with the upper border of its line, dots below its place."""
    ways = [(Label(text, "center-left"), -0.5 * LINE)]
    for k in range(MOST_LINES):
        ways.append((Label("\n" * k + text, "top-left"), k * LINE))
        ways.append((Label(text + "\n" * k, "bottom-left"), -(k + 1) * LINE))
    return ways


def _box(dot: np.ndarray, width: float, above: float) -> np.ndarray:
    """Borders (4,) of a name: left, upper, right, lower."""
    return np.array([dot[0], dot[1] + above, dot[0] + width, dot[1] + above + LINE])


def _overlap(one: np.ndarray, two: np.ndarray) -> bool:
    return bool((one[:2] < two[2:]).all() and (two[:2] < one[2:]).all())
