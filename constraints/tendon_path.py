"""Path of a tendon: straight spans between points of bodies, with a weight for each span.

A jet is a number with time derivatives and a gradient.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body, Ground, checked_body
from ..errors import InputError
from ..util import validate
from .constraint import initial_point

# Numbers of a span: its weight, and its ends in the coordinates of their bodies.
OF_SPAN = 7

Point = tuple[Body | Ground, np.ndarray]


@dataclass(frozen=True)
class SpanEnds:
    """Indices of the two bodies at the ends of each span of a tendon path, in a list of moving frames."""

    pairs: tuple[tuple[int, int], ...]

    def length(self, frames: Sequence[Any], numbers: Sequence[Any]) -> Any:
        """Return the weighted length of the path, m, for moving body frames; a jet if the frames consist of jets.

        `numbers` are the constants of the path, the attribute `TendonPath.numbers`.
        """
        total = numbers[0]
        for k, (one, two) in enumerate(self.pairs):
            weight, *local = numbers[1 + OF_SPAN * k : 1 + OF_SPAN * (k + 1)]
            span = frames[two].point(local[3:]) - frames[one].point(local[:3])
            total = total + weight * np.sqrt(span @ span)
        return total


class TendonPath(NamedTuple):
    """Path of a tendon over points of bodies.

    Attributes
    ----------
    bodies : bodies at the ends of spans of variable length, each once, in the order of the path
    spans : pairs of points between which the tendon runs, each a body and a point (3,) in body coordinates, m
    ends : for each span of variable length, the indices of the bodies at its ends
    numbers : weighted length of the spans within one body, m, which is constant; then the `OF_SPAN` numbers of each
        span of variable length
    initial_length : weighted length at the initial poses, m
    """

    bodies: list[Body | Ground]
    spans: tuple[tuple[Point, Point], ...]
    ends: SpanEnds
    numbers: tuple[float, ...]
    initial_length: float

    def between_ends(self) -> TendonPath:
        """Return the same path with the first body of the path as the first, and the last as the second in `bodies`.

        If the path ends at its first body, the second body remains in its place.
        """
        last = self.ends.pairs[-1][1] or 1
        order = [0, last, *(k for k in range(1, len(self.bodies)) if k != last)]
        row = {before: after for after, before in enumerate(order)}
        pairs = tuple((row[one], row[two]) for one, two in self.ends.pairs)
        return self._replace(bodies=[self.bodies[k] for k in order], ends=SpanEnds(pairs))


def tendon_path(owner: str, points: Iterable[tuple[Body | Ground, ArrayLike]], weights: Any) -> TendonPath:
    """Return the path over `points` with the `weights` (n - 1,) of the spans between n points; None for ones.

    `owner` names the element in errors.
    """
    stops = _checked_points(owner, points)
    given = np.ones(len(stops) - 1) if weights is None else validate.array(owner, "weights", weights, (len(stops) - 1,))
    if (given < 0).any():
        raise InputError(
            f"{owner}: weights must not be negative, one for each pair of consecutive points; got {given.tolist()}"
        )
    spans, lengths, counted = [], [], []
    for k, (one, two) in enumerate(itertools.pairwise(stops)):
        if given[k] == 0:
            continue
        length = float(np.linalg.norm(initial_point(*two) - initial_point(*one)))
        if length <= 0 and one[0] is not two[0]:
            raise InputError(
                f"{owner}: points[{k}] and points[{k + 1}] coincide at the initial poses, so that the tendon has no "
                "direction there: place the bodies apart, or set the weight between the points to 0"
            )
        spans.append((one, two))
        lengths.append(float(given[k]) * length)
        counted.append(float(given[k]))
    moving = [one[0] is not two[0] for one, two in spans]
    if not any(moving):
        raise InputError(
            f"{owner}: its length is constant: points must lead from one body to another; all spans are within bodies"
        )
    numbers = [sum(length for length, moves in zip(lengths, moving, strict=True) if not moves)]
    bodies: dict[int, Body | Ground] = {}
    for (one, two), weight, moves in zip(spans, counted, moving, strict=True):
        if moves:
            numbers += [weight, *one[1].tolist(), *two[1].tolist()]
            bodies.update({id(body): body for body, _ in (one, two)})
    row = {key: k for k, key in enumerate(bodies)}
    pairs = [(row[id(one[0])], row[id(two[0])]) for (one, two), moves in zip(spans, moving, strict=True) if moves]
    return TendonPath(list(bodies.values()), tuple(spans), SpanEnds(tuple(pairs)), tuple(numbers), sum(lengths))


def _checked_points(owner: str, points: Any) -> list[Point]:
    listed = list(points) if isinstance(points, Iterable) else []
    if len(listed) < 2 or not all(isinstance(one, tuple | list) and len(one) == 2 for one in listed):
        raise InputError(
            f"{owner}: points must be a list of at least two pairs (body, point in its coordinates); got {points!r}"
        )
    return [
        (checked_body(owner, f"points[{k}][0]", body), validate.array(owner, f"points[{k}][1]", point, (3,)))
        for k, (body, point) in enumerate(listed)
    ]
