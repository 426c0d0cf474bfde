"""Travel and speed of drum surfaces along a rope, and the angle of a rope at a point."""

from __future__ import annotations

import numpy as np

from ..autodiff.jet import Jet
from ..constraints.drum import Plane
from ..constraints.rope_path import RopeCourse


def in_plane(vector: Plane | None) -> Plane:
    """Return a vector in the plane of a drum; the stop must be a drum."""
    assert vector is not None
    return vector


def surface_travel(course: RopeCourse, k: int) -> Jet:
    """Return a jet of value zero whose gradient is that of the travel of a drum's surface along the rope, m.

    The travel is relative to the middle of the arc or, at the ends of a rope, to the point where it touches the drum.
    """
    vectors = [vector for vector in (course.into[k], course.out[k]) if isinstance(in_plane(vector)[0], Jet)]
    turned = sum(x.bare * y - y.bare * x for x, y in map(in_plane, vectors))
    return turned * course.radius[k] * (-1.0 / len(vectors))


def surface_speed(course: RopeCourse, k: int) -> Jet:
    """Return the rate of `surface_travel`, m/s: the speed of a drum's surface along the rope."""
    vectors = [vector for vector in (course.into[k], course.out[k]) if isinstance(in_plane(vector)[0], Jet)]
    turns = sum(x.bare * y.bare.rate - y.bare * x.bare.rate for x, y in map(in_plane, vectors))
    return turns * course.radius[k].bare * (-1.0 / len(vectors))


def bend(course: RopeCourse, k: int) -> Jet:
    """Return the angle (rad) between the spans before and behind a point."""
    one, two = course.spans[k - 1], course.spans[k]
    across = np.cross(one, two)
    return np.sqrt(across @ across).arctan2(one @ two)
