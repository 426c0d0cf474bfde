"""Initial geometry of a rope along points and drums (its stops), with checks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..bodies import rotation
from ..bodies.body import Body, Ground
from ..bodies.frame import axes_with_z
from ..errors import InputError
from .constraint import initial_point
from .drum import Drum, course, first_wrap
from .gear import MOST_TEETH, tooth

# Sine of the largest angle between drum axes that counts as parallel.
PARALLEL = 1e-9


class RopeStop(NamedTuple):
    """A point or drum along a rope.

    Attributes
    ----------
    body : body in which it is fixed
    place : (3,) the point or the center of the drum in body coordinates, m
    drum : the drum, or None for a point
    """

    body: Body | Ground
    place: np.ndarray
    drum: Drum | None

    @property
    def center(self) -> np.ndarray:
        """Position (3,) of the stop in the inertial frame at the initial pose, m."""
        return initial_point(self.body, self.place)

    @property
    def turn(self) -> np.ndarray:
        """Rotation matrix (3, 3) of the body at the initial pose, body to inertial."""
        return rotation.matrix(self.body.orientation)

    def radius_about(self, drum: RopeStop) -> float:
        """Return the radius (m) of this stop: negative if its axis is opposite to that of `drum`, zero for a point."""
        if self.drum is None or drum.drum is None:
            return 0.0
        return float(np.copysign(self.drum.radius, (self.turn @ self.drum.axis) @ (drum.turn @ drum.drum.axis)))


def laid(owner: str, stops: Sequence[RopeStop]) -> tuple[list[tuple[float, ...]], np.ndarray, float]:
    """Return the initial geometry of a rope over n points and drums.

    The results are the constants of each drum, the lengths (n - 1,) of the straight parts (m), and the total length of
    the arcs (m).
    """
    for k in range(len(stops) - 1):
        _check_part(owner, k, stops[k], stops[k + 1])
    centers = [stop.center for stop in stops]
    ends = [[center, center] for center in centers]
    numbers: list[tuple[float, ...]] = []
    arcs = 0.0
    for k, stop in enumerate(stops):
        if stop.drum is None:
            numbers.append(())
            continue
        axes = stop.turn @ axes_with_z(stop.drum.axis)
        before = stops[k - 1].radius_about(stop) if k > 0 else 0.0
        after = stops[k + 1].radius_about(stop) if k < len(stops) - 1 else 0.0
        radii = before, stop.drum.radius, after
        into, out, ends[k] = course(centers, k, axes, *radii)
        wrapped = 0.0
        if 0 < k < len(stops) - 1:
            wrapped = first_wrap(into, out)
            arcs += stop.drum.radius * wrapped
        x = stop.turn.T @ axes[:, :2] @ (out if k == 0 else into)
        numbers.append((*axes_with_z(stop.drum.axis, x).ravel(), *radii, wrapped))
    parts = [float(np.linalg.norm(two[0] - one[1])) for one, two in itertools.pairwise(ends)]
    return numbers, np.array(parts), arcs


def _check_part(owner: str, k: int, one: RopeStop, two: RopeStop) -> None:
    """Raise an InputError if no straight part is possible between stop k and the next one at the initial poses."""
    span = two.center - one.center
    names = f"points[{k}] and points[{k + 1}]"
    for stop, other in ((one, two), (two, one)):
        if stop.drum is None:
            continue
        axis = stop.turn @ stop.drum.axis
        if other.drum is not None and np.linalg.norm(np.cross(axis, other.turn @ other.drum.axis)) > PARALLEL:
            raise InputError(f"{owner}: {names} are drums, whose axes must be parallel: insert a point between them")
        across = np.linalg.norm(np.cross(axis, span))
        room = abs(stop.drum.radius - other.radius_about(stop))
        if across <= room:
            raise InputError(
                f"{owner}: {names} are {across:g} m apart across the axis at the initial poses, and a straight "
                f"part between them requires more than {room:g} m: place them apart, or make the radius smaller"
            )
    if np.linalg.norm(span) <= 0:
        raise InputError(
            f"{owner}: {names} coincide at the initial poses, so that the rope has no direction there: leave one out, "
            "or place the bodies apart"
        )


def whole_turns(owner: str, stops: Sequence[RopeStop]) -> float:
    """Return the change (m) of a rope's length for full turns of its winding drums; 0 without winding drums.

    The length is determined by the poses only up to multiples of this period.
    """
    radii = [stop.drum.radius for stop in (stops[0], stops[-1]) if stop.drum is not None]
    if not radii:
        return 0.0
    # With two drums, the largest length of which both circumferences are multiples.
    part = tooth(radii[0] / radii[-1])
    if part is None:
        raise InputError(
            f"{owner}: radii of drums at both ends must have a ratio of whole numbers up to {MOST_TEETH}, so that "
            f"turns of both can be told apart; got {radii[0]:g} and {radii[-1]:g}: round them"
        )
    return radii[-1] * part
