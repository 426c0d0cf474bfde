"""Travel and speed of drum surfaces along a rope, and the angle of a rope at a point.

The stops of a rope are points and drums; its spans are the straight parts between consecutive stops. A jet is a number
with time derivatives and a gradient.
"""

from __future__ import annotations

import numpy as np

from ..autodiff.jet import Jet
from ..constraints.drum import Plane
from ..constraints.rope_path import RopeGeometry


def in_plane(vector: Plane | None) -> Plane:
    """Return `vector`, a vector in the plane of a drum; it must not be None, the value for points."""
    assert vector is not None
    return vector


def surface_travel(geometry: RopeGeometry, k: int) -> Jet:
    """Return the travel of a drum's surface along the rope, m, as a jet whose value is zero; only derivatives are used.

    `k` is the index of the drum among the stops. The travel is relative to the middle of the arc or, at an end of the
    rope, to the point of tangency.
    """
    vectors = [vector for vector in (geometry.into[k], geometry.out[k]) if isinstance(in_plane(vector)[0], Jet)]
    turned = sum(x.bare * y - y.bare * x for x, y in map(in_plane, vectors))
    return turned * geometry.radius[k] * (-1.0 / len(vectors))


def surface_speed(geometry: RopeGeometry, k: int) -> Jet:
    """Return the speed of the surface of drum `k` along the rope, m/s: the time derivative of `surface_travel`."""
    vectors = [vector for vector in (geometry.into[k], geometry.out[k]) if isinstance(in_plane(vector)[0], Jet)]
    turns = sum(x.bare * y.bare.rate - y.bare * x.bare.rate for x, y in map(in_plane, vectors))
    return turns * geometry.radius[k].bare * (-1.0 / len(vectors))


def bend(geometry: RopeGeometry, k: int) -> Jet:
    """Return the angle (rad) between the spans before and after point `k` of a rope with the geometry `geometry`."""
    one, two = geometry.spans[k - 1], geometry.spans[k]
    across = np.cross(one, two)
    return np.sqrt(across @ across).arctan2(one @ two)
