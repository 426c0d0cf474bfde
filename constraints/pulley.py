"""A rope of constant length over points of any number of bodies."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from quirk import validate
from quirk.body import Body, Ground, checked_body
from quirk.errors import InputError
from quirk.frame import Frame
from quirk.jets import Jet

from .constraint import Constraint, checked_ends, initial_point
from .relation import FORCE, Function, MovingFrame, Relation


@functools.cache
def slack(path: tuple[int, ...]) -> Function:
    """Return the function of a rope along points of these frames, in this order.

    It gives the length less the weighted distances of neighbouring points. Its numbers are the length, a weight for
    each distance, and the coordinates of each point in its frame.
    """
    count = len(path) - 1

    def rope(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        length, weights = numbers[0], numbers[1 : 1 + count]
        local = np.array(numbers[1 + count :], dtype=object).reshape(-1, 3)
        points = [frames[f].point(x) for f, x in zip(path, local, strict=True)]
        falls = [end - begin for begin, end in itertools.pairwise(points)]
        return [length - sum(w * (d @ d).sqrt() for w, d in zip(weights, falls, strict=True))]

    return rope


class Pulley(Constraint):
    """A massless rope of constant length runs without friction over points of bodies, 1 row.

    Phi = length - sum of weight_k |p_(k+1) - p_k|. The multiplier is the rope's tension, N: positive where the rope is
    pulled. It pushes as well, so watch the sign. Body j is that of the last point, where the rope ends, and its load
    what the rope exerts on it: if it is met by one fall, a force as large as the tension, along the rope.

    Parameters
    ----------
    name : str
    points : list of (body, (3,))
        What the rope meets in order, at least two: bodies or GROUND, each with a point in its coordinates, m. The
        ends are fast, and over points between them the rope runs as over small sheaves. Bodies may be met again.
    weights : (n - 1,), optional
        How many falls of the rope run between neighbouring points; default: one.
    length : float, optional
        Sum of all falls, m; default: that at the initial poses.
    """

    row_count = 1

    def __init__(
        self, name: str, points: Any, *, weights: Any = None, length: float | None = None, active: bool = True
    ) -> None:
        owner = f'Pulley "{validate.name("Pulley", name)}"'
        met, places = _checked_points(owner, points)
        members = list({id(body): body for body in met}.values())
        first, last = met[0], met[-1]
        j = last if last is not first else members[1]
        members = [first, j, *(body for body in members if body is not first and body is not j)]
        checked_ends("Pulley", name, first, j)
        # The load acts where the rope meets body j last.
        final = max(k for k, body in enumerate(met) if body is j)
        super().__init__(name, first, j, Frame(places[0]), Frame(places[final]), active)
        self.met, self.places = met, places
        self._further = tuple((body, Frame()) for body in members[2:])
        falls = np.diff([initial_point(body, place) for body, place in zip(met, places, strict=True)], axis=0)
        distances = np.linalg.norm(falls, axis=1)
        if distances.min() <= 0:
            k = int(distances.argmin())
            raise InputError(
                f"{owner}: points[{k}] and points[{k + 1}] coincide at the initial poses, so that the rope has no "
                "direction there: leave one out, or place the bodies apart"
            )
        self.weights = np.ones(len(falls)) if weights is None else validate.array(
            owner, "weights", weights, (len(falls),)
        )  # fmt: skip
        if (self.weights <= 0).any():
            raise InputError(f"{owner}: weights must be positive, one for each fall; got {self.weights.tolist()}")
        placed = float(self.weights @ distances)
        self.length = placed if length is None else validate.positive(owner, "length", length)
        path = tuple(next(f for f, other in enumerate(members) if other is body) for body in met)
        local = [place - self.ends[f][1].origin for f, place in zip(path, places, strict=True)]
        numbers = (self.length, *self.weights.tolist(), *np.ravel(local).tolist())
        self.primitives = (Relation(slack(path), ("slack",), (FORCE,), numbers),)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """All bodies that the rope meets, those at its ends first."""
        return *super().ends, *self._further


def _checked_points(owner: str, points: Any) -> tuple[tuple[Body | Ground, ...], tuple[np.ndarray, ...]]:
    """Return bodies and points (3,) that a rope meets."""
    form = f"{owner}: points must be a list of at least two pairs (body, point in its coordinates); got {points!r}"
    listed = list(points) if isinstance(points, Iterable) else []
    if len(listed) < 2 or any(not isinstance(pair, tuple | list) or len(pair) != 2 for pair in listed):
        raise InputError(form)
    for k, (body, _) in enumerate(listed):
        checked_body(owner, f"points[{k}][0]", body)
    met = tuple(body for body, _ in listed)
    if len({id(body) for body in met}) < 2:
        raise InputError(
            f"{owner}: points must be of at least two bodies, or of a body and GROUND; all are of {met[0]}"
        )
    return met, tuple(validate.array(owner, f"points[{k}][1]", x, (3,)) for k, (_, x) in enumerate(listed))
