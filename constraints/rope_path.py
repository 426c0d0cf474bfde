"""Geometry of a rope over points and drums of moving bodies: straight parts, and directions at drums.

A stop is a point or drum over which the rope runs or at which it ends. Vectors in the plane of a drum are in the axes
of the drum, see `constraints.drum`. A jet is a number with time derivatives and a gradient.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .drum import Plane, rope_at_drum

# Number of constants of a point: position (3). Number of constants of a drum: center (3), axes (9), three radii, and
# the initial wrapped angle.
OF_POINT, OF_DRUM = 3, 16


@dataclass(frozen=True)
class RopeGeometry:
    """Present geometry of a rope with n stops and m straight parts.

    Attributes
    ----------
    straight : (m,) lengths of the straight parts, m
    spans : (m,) vectors (3,) from the beginning to the end of each straight part, inertial frame, m
    into, out : for each stop the unit vectors (2,) along the rope before and after it, in the plane of the drum; None
        for points
    radius, near : for each stop the radius of the drum, m, and its initial wrapped angle, rad; zero for points
    """

    straight: list[Any]
    spans: list[Any]
    into: list[Plane | None]
    out: list[Plane | None]
    radius: list[Any]
    near: list[Any]


@dataclass(frozen=True)
class RopePath:
    """Sequence of the stops (points and drums) of a rope.

    Attributes
    ----------
    path : index of the frame of each stop
    drums : for each stop, whether it is a drum
    closed : whether the rope returns from the last stop to the first
    """

    path: tuple[int, ...]
    drums: tuple[bool, ...]
    closed: bool = False

    @property
    def inner(self) -> range:
        """Indices of the stops with a straight part on both sides."""
        count = len(self.path)
        return range(count) if self.closed else range(1, count - 1)

    def measured(self, frames: Sequence[Any], numbers: Iterable[Any]) -> RopeGeometry:
        """Return the geometry of the rope for moving frames; the results are jets if the frames consist of jets.

        `numbers` hold, for each stop, its position (3), m, in its frame; for a drum also its axes (3, 3), the radii of
        the previous stop, the drum and the next stop, m, and the initial wrapped angle, rad.
        """
        given = iter(numbers)
        stops = [np.array([*itertools.islice(given, OF_DRUM if d else OF_POINT)], dtype=object) for d in self.drums]
        centers = [frames[f].point(stop[:3]) for f, stop in zip(self.path, stops, strict=True)]
        ends = [[center, center] for center in centers]
        into: list[Plane | None] = [None] * len(stops)
        out: list[Plane | None] = [None] * len(stops)
        radius: list[Any] = [0.0] * len(stops)
        near: list[Any] = [0.0] * len(stops)
        for k in np.flatnonzero(self.drums).tolist():
            axes = frames[self.path[k]].rotation @ stops[k][3:12].reshape(3, 3)
            before, radius[k], after, near[k] = stops[k][12:]
            into[k], out[k], ends[k] = rope_at_drum(*self.around(centers, k), axes, before, radius[k], after)
        spans = [two[0] - one[1] for one, two in itertools.pairwise([*ends, *(ends[:1] if self.closed else [])])]
        return RopeGeometry([np.sqrt(span @ span) for span in spans], spans, into, out, radius, near)

    def around(self, listed: Sequence[Any], k: int) -> tuple[Sequence[Any], int]:
        """Return a list in which element k is next to its neighbors along the rope, and its index in this list.

        For an open rope the list is `listed`, which has one element per stop. For a closed rope the elements k - 1, k
        and k + 1 are selected, with indices that wrap around.
        """
        if not self.closed:
            return listed, k
        return [listed[k - 1], listed[k], listed[(k + 1) % len(listed)]], 1
