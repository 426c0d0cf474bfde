"""Graphical symbols of force elements: coils, lines between points, and arrows of forces and torques."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from quirk.forces import ForceElement

if TYPE_CHECKING:
    from quirk.result.result import Result

# Number of turns of a coil, number of points per turn, radius relative to half the size of the scene, and length of the
# straight part at each end relative to the length of the coil.
TURNS, POINTS_OF_A_TURN, COIL_RADIUS, STRAIGHT = 8, 12, 0.03, 0.12
# Length of the longest arrow of each element relative to half the size of the scene; length and width of an arrow's
# head relative to the length of the arrow.
LONGEST_ARROW, HEAD_LENGTH, HEAD_WIDTH = 0.4, 0.25, 0.08
STYLES = {"coil": "-", "line": "--", "force": "-", "torque": "-"}
COLORS = {"coil": "#555555", "line": "#555555", "force": "#cc3311", "torque": "#882255"}
ARROWS = ("force", "torque")


class ForceLines:
    """Lines that represent the force elements of a result.

    Parameters
    ----------
    result : Result
    times : (nt,) times at which they are drawn, s
    path_of : function that returns the path (nt, 3), inertial frame, of a point (3,) of a body or of the ground
    """

    def __init__(self, result: Result, times: np.ndarray, path_of: Callable[[Any, np.ndarray], np.ndarray]) -> None:
        shown = [(element, points) for element in result.system.forces for points in _points(element)]
        self._shown = [element for element, _ in shown]
        self._ends = [[path_of(body, local) for body, local in points] for _, points in shown]
        self._loads = [
            _at(result, times, getattr(result[element.name], element.drawing)()) if element.drawing in ARROWS else None
            for element in self._shown
        ]

    @property
    def points(self) -> list[np.ndarray]:
        """Paths (nt, 3) of the end points of all lines, inertial frame, m."""
        return [path for ends in self._ends for path in ends]

    def tips(self, half: float) -> list[np.ndarray]:
        """Return the paths (nt, 3) of the tips of all arrows, inertial frame, m.

        `half` is half the size of the scene, m.
        """
        shown = zip(self._ends, self._loads, strict=True)
        return [ends[-1] + loads * _scale(loads, half) for ends, loads in shown if loads is not None]

    def curves(self, frame: int, half: float) -> list[tuple[ForceElement, np.ndarray]]:
        """Return each force element with the points (k, 3) of its line at one time, inertial frame, m.

        `frame` is the index of the time, and `half` half the size of the scene, m.
        """
        found = []
        for element, ends, loads in zip(self._shown, self._ends, self._loads, strict=True):
            first, last = ends[0][frame], ends[-1][frame]
            if loads is not None:
                points = arrow(last, loads[frame] * _scale(loads, half))
            elif element.drawing == "coil":
                points = coil(first, last, COIL_RADIUS * half)
            else:
                points = np.array([first, last])
            found.append((element, points))
        return found


def _scale(loads: np.ndarray, half: float) -> float:
    """Return the scale of arrows, m/N or m/(N m), for loads (nt, 3); `half` is half the size of the scene, m."""
    largest = float(np.linalg.norm(loads, axis=1).max())
    return LONGEST_ARROW * half / largest if largest > 0 else 0.0


def _points(element: ForceElement) -> list[list[tuple[Any, np.ndarray]]]:
    """Return the points of each line or arrow of an element, as pairs of a body and a position (3,), m, in it."""
    if element.drawing in ARROWS:
        return [[(body, frame.origin) for body, frame in element.acting_ends]]
    return [list(line) for line in element.lines] if element.drawing in STYLES else []


def _at(result: Result, times: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Return vectors (nt, 3) interpolated from the output times to `times`, s.

    `vectors` are the values at the output times.
    """
    return np.stack([np.interp(times, result.time, component) for component in vectors.T], axis=1)


def coil(start: np.ndarray, end: np.ndarray, radius: float) -> np.ndarray:
    """Return the points (k, 3) of a coil spring between two points (3,), with a radius, m."""
    along, across, up = _axes(end - start)
    s = np.linspace(0.0, 1.0, TURNS * POINTS_OF_A_TURN + 1)
    angle = 2 * np.pi * TURNS * s
    middle = STRAIGHT + (1 - 2 * STRAIGHT) * s
    around = radius * (np.outer(np.cos(angle), across) + np.outer(np.sin(angle), up))
    turns = start + np.outer(middle, along) + around
    ends = start + np.outer([0.0, STRAIGHT, 1 - STRAIGHT, 1.0], along)
    return np.vstack([ends[:2], turns, ends[2:]])


def arrow(start: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return the points (k, 3) of an arrow as one line; `vector` (3,) is from its start to its tip."""
    along, across, _ = _axes(vector)
    tip, neck = start + along, start + (1 - HEAD_LENGTH) * along
    side = HEAD_WIDTH * np.linalg.norm(vector) * across
    return np.array([start, tip, neck + side, neck - side, tip])


def _axes(vector: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `vector` (3,) and two unit vectors perpendicular to it and to each other."""
    across = np.cross(vector, np.eye(3)[int(np.argmin(np.abs(vector)))])
    size = np.linalg.norm(across)
    across = across / size if size > 0 else np.eye(3)[0]
    up = np.cross(vector, across)
    size = np.linalg.norm(up)
    return vector, across, up / size if size > 0 else np.eye(3)[1]
