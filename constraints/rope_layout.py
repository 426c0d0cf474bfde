"""Initial geometry of a rope along points and drums (its stops), including checks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..bodies import rotation
from ..bodies.body import Body, Ground
from ..bodies.frame import axes_with_z
from ..errors import InputError
from .constraint import initial_point
from .drum import Drum, first_wrap, rope_at_drum
from .gear import MOST_TEETH, tooth
from .rope_path import RopePath

# Sine of the largest angle between drum axes that counts as parallel.
PARALLEL = 1e-9


class RopeStop(NamedTuple):
    """A point or drum along a rope.

    Attributes
    ----------
    body : body in which the stop is fixed
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
        """Rotation matrix (3, 3) of the stop's body at the initial pose, body to inertial."""
        return rotation.matrix(self.body.orientation)

    def radius_about(self, drum: RopeStop) -> float:
        """Return the signed radius (m) of the stop about the axis of another drum.

        The radius is negative if the axis of the stop is opposite to that of `drum`, and zero for a point.
        """
        if self.drum is None or drum.drum is None:
            return 0.0
        return float(np.copysign(self.drum.radius, (self.turn @ self.drum.axis) @ (drum.turn @ drum.drum.axis)))


class RopeLayout(NamedTuple):
    """Initial geometry of a rope with n stops (points and drums) and m straight parts between them.

    Attributes
    ----------
    stops : points and drums in order along the rope
    spans : (m, 3) straight parts as vectors along the rope, inertial frame, m
    arcs : (n,) lengths of the arcs on the stops, m, zero for points and at the ends
    numbers : constants of the stops, as arguments of `RopePath.measured`
    placed : total length of all falls and arcs at the initial poses, m
    """

    stops: Sequence[RopeStop]
    spans: np.ndarray
    arcs: np.ndarray
    numbers: tuple[float, ...]
    placed: float

    def angle(self, k: int) -> float:
        """Return the wrap angle (rad) of the rope at the intermediate stop k."""
        drum = self.stops[k].drum
        if drum is not None:
            return float(self.arcs[k] / drum.radius)
        one, two = self.spans[k - 1], self.spans[k]
        return float(np.arctan2(np.linalg.norm(np.cross(one, two)), one @ two))

    def section_lengths(self, sections: Any, path: RopePath, weights: np.ndarray) -> np.ndarray:
        """Return the initial length (sections,), m, of each section of an elastic rope.

        A section is the part of the rope between two stops with friction. `weights` are the numbers of falls of the
        straight parts.
        """
        found = np.zeros(sections.count)
        np.add.at(found, list(sections.of_span), weights * np.linalg.norm(self.spans, axis=1))
        for k in path.inner:
            for side in (sections.of_span[k - 1], sections.of_span[k]):
                found[side] += 0.5 * self.arcs[k]
        return found


def rope_layout(
    owner: str, stops: Sequence[RopeStop], closed: bool = False
) -> tuple[list[tuple[float, ...]], np.ndarray, np.ndarray]:
    """Return the initial geometry of an open or closed rope over n stops, which are points and drums.

    The results are the constants of each drum; the m straight parts (m, 3) as vectors along the rope, inertial frame,
    m; and the lengths of the arcs on the stops (n,), m, which are zero for points and at the ends.
    """
    path = RopePath((0,) * len(stops), tuple(stop.drum is not None for stop in stops), closed)
    for k in range(len(stops) - (0 if closed else 1)):
        _check_part(owner, k, stops, (k + 1) % len(stops))
    centers = [stop.center for stop in stops]
    ends = [[center, center] for center in centers]
    numbers: list[tuple[float, ...]] = []
    arcs = np.zeros(len(stops))
    for k, stop in enumerate(stops):
        if stop.drum is None:
            numbers.append(())
            continue
        axes = stop.turn @ axes_with_z(stop.drum.axis)
        near, place = path.around(stops, k)
        before = near[place - 1].radius_about(stop) if place > 0 else 0.0
        after = near[place + 1].radius_about(stop) if place < len(near) - 1 else 0.0
        radii = before, stop.drum.radius, after
        into, out, ends[k] = rope_at_drum(*path.around(centers, k), axes, *radii)
        wrapped = 0.0
        if k in path.inner:
            wrapped = first_wrap(into, out) + 2 * np.pi * stop.drum.turns
            arcs[k] = stop.drum.radius * wrapped
        elif stop.drum.turns:
            raise InputError(f"{owner}: {stop.drum} at an end of the rope takes any number of turns; leave out turns")
        x = stop.turn.T @ axes[:, :2] @ (out if k == 0 and not closed else into)
        numbers.append((*axes_with_z(stop.drum.axis, x).ravel(), *radii, wrapped))
    following = [*ends, *(ends[:1] if closed else [])]
    return numbers, np.array([two[0] - one[1] for one, two in itertools.pairwise(following)]), arcs


def _check_part(owner: str, k: int, stops: Sequence[RopeStop], next_stop: int) -> None:
    """Raise an InputError if no straight part is possible from stop k to the stop `next_stop` at the initial poses."""
    one, two = stops[k], stops[next_stop]
    span = two.center - one.center
    names = f"points[{k}] and points[{next_stop}]"
    for stop, other in ((one, two), (two, one)):
        if stop.drum is None:
            continue
        axis = stop.turn @ stop.drum.axis
        if other.drum is not None and np.linalg.norm(np.cross(axis, other.turn @ other.drum.axis)) > PARALLEL:
            raise InputError(f"{owner}: {names} are drums, whose axes must be parallel: insert a point between them")
        across = np.linalg.norm(np.cross(axis, span))
        needed = abs(stop.drum.radius - other.radius_about(stop))
        if across <= needed:
            raise InputError(
                f"{owner}: {names} are {across:g} m apart across the axis at the initial poses, and a straight "
                f"part between them requires more than {needed:g} m: place them apart, or make the radius smaller"
            )
    if np.linalg.norm(span) <= 0:
        raise InputError(
            f"{owner}: {names} coincide at the initial poses, so that the rope has no direction there: leave one out, "
            "or place the bodies apart"
        )


def winding_length(owner: str, stops: Sequence[RopeStop]) -> float:
    """Return the change (m) of a rope's length by full turns of its winding drums; 0 without winding drums.

    Poses determine rotations only up to full turns, and therefore the length only up to multiples of the result.
    `stops` are all points and drums of the rope; drums at its ends wind the rope.
    """
    radii = [stop.drum.radius for stop in (stops[0], stops[-1]) if stop.drum is not None]
    if not radii:
        return 0.0
    # With two drums, the result is the greatest common divisor of both circumferences.
    part = tooth(radii[0] / radii[-1])
    if part is None:
        raise InputError(
            f"{owner}: radii of drums at both ends must have a ratio of whole numbers up to {MOST_TEETH}, so that "
            f"turns of both can be told apart; got {radii[0]:g} and {radii[-1]:g}: round them"
        )
    return radii[-1] * part
