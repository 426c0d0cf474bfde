"""A rope of constant length over points and drums of any number of bodies."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground, checked_body
from ..bodies.frame import Frame
from ..errors import InputError
from ..util import validate
from .constraint import Constraint, checked_ends
from .drum import Drum, angle_between, course, wrap
from .laying import RopeStop, laid, whole_turns
from .relation import FORCE, Function, MovingFrame, Relation

LEFT = "its rope has left a sheave, or a point has come within the radius of a drum"


@functools.cache
def slack(path: tuple[int, ...], drums: tuple[bool, ...]) -> Function:
    """Return the function of a rope along points and drums of these frames, in this order.

    It gives the length less weighted straight parts and arcs. Its numbers are the length; what whole turns of drums at
    the ends add to it; a weight for each straight part; and of each stop its place in its frame and, of a drum, its
    axes (3, 3) there, the radii of the stop before, its own and the next, and the angle that is wrapped at first.
    """
    last = len(path) - 1

    def rope(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        given = iter(numbers)
        left, turns, *weights = itertools.islice(given, 2 + last)
        stops = [np.array([*itertools.islice(given, 16 if drum else 3)], dtype=object) for drum in drums]
        centers = [frames[f].point(stop[:3]) for f, stop in zip(path, stops, strict=True)]
        ends = [[center, center] for center in centers]
        for k in np.flatnonzero(drums).tolist():
            axes = frames[path[k]].rotation @ stops[k][3:12].reshape(3, 3)
            before, radius, after, near = stops[k][12:]
            into, out, ends[k] = course(centers, k, axes, before, radius, after)
            left = left - radius * (wrap(into, out, near) if 0 < k < last else angle_between(into, out))
        for weight, (one, two) in zip(weights, itertools.pairwise(ends), strict=True):
            part = two[0] - one[1]
            left = left - weight * (part @ part).sqrt()
        return [left.wrapped(turns) if drums[0] or drums[-1] else left]

    return rope


class Pulley(Constraint):
    """A massless rope of constant length runs without friction over points and drums of bodies, 1 row.

    Phi = length - sum of ``weight_k |p_(k+1) - p_k|`` - sum of radius times wrapped angle. The multiplier is the rope's
    tension, N: positive where the rope is pulled. It pushes as well, so watch the sign. Body j is that of the last
    point, where the rope ends, and its load what the rope exerts on it: if it is met by one fall, a force as large as
    the tension, along the rope; on a drum about its center, with the torque.

    A drum between others is a sheave: the rope slides over it, whether it turns or not. On a drum at an end the rope is
    fast: as it turns it takes up rope, or gives it, over any number of turns, and as if there were always some left.

    Arcs lie in the plane through the center of their drum across its axis, and end where the straight parts, as seen
    along the axis, touch the circle. For ropes in this plane that is exact. Where a straight part of length s leaves it
    by an angle g, the force is off the rope's direction by the part (1 - cos g) radius / s of the tension. An arc on a
    sheave may change by half a turn, and not below zero: a run ends there.

    Parameters
    ----------
    name : str
    points : list of (body, (3,)) or Drum
        What the rope meets in order, at least two: bodies or GROUND, each with a point in its coordinates, m, or
        drums. The ends are fast, and over points between them the rope runs as over small sheaves. Bodies may be met
        again. Axes of drums that follow each other are parallel.
    weights : (n - 1,), optional
        How many falls of the rope run between neighboring points; default: one. Next to drums there is one.
    length : float, optional
        Sum of all falls and arcs of sheaves, m, without what is wound on drums at the initial poses; default: that at
        the initial poses, from which it differs by less than half a turn of such a drum.

    Examples
    --------
    >>> left = quirk.Body.sphere("left", 2.0, 0.1, position=[-0.5, 0, -1])
    >>> right = quirk.Body.sphere("right", 1.0, 0.1, position=[0.5, 0, -1])
    >>> over = [(quirk.GROUND, [-0.5, 0, 0]), (quirk.GROUND, [0.5, 0, 0])]
    >>> rope = quirk.Pulley("rope", [(left, [0, 0, 0]), *over, (right, [0, 0, 0])])
    >>> system = quirk.System([left, right, rope], gravity=[0, 0, -9.81])
    >>> system.acceleration(system.initial_state()).linear[:, 2].round(6)
    array([-3.27,  3.27])
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        points: Iterable[Drum | tuple[Body | Ground, Any]],
        *,
        weights: ArrayLike | None = None,
        length: float | None = None,
        active: bool = True,
    ) -> None:
        owner = f'Pulley "{validate.name("Pulley", name)}"'
        stops = _checked_points(owner, points)
        met = [stop.body for stop in stops]
        members = list({id(body): body for body in met}.values())
        first, last = met[0], met[-1]
        j = last if last is not first else members[1]
        members = [first, j, *(body for body in members if body is not first and body is not j)]
        checked_ends("Pulley", name, first, j)
        # The load acts where the rope meets body j last.
        final = max(k for k, body in enumerate(met) if body is j)
        super().__init__(name, first, j, Frame(stops[0].place), Frame(stops[final].place), active)
        self.met, self.places = tuple(met), tuple(stop.place for stop in stops)
        self.drums = tuple(stop.drum for stop in stops)
        self._further = tuple((body, Frame()) for body in members[2:])
        self.weights = _checked_weights(owner, weights, stops)
        rounds, parts, arcs = laid(owner, stops)
        placed = float(self.weights @ parts) + arcs
        self.length = placed if length is None else validate.positive(owner, "length", length)
        turns = whole_turns(owner, stops)
        if turns and abs(self.length - placed) >= 0.5 * turns:
            raise InputError(
                f"{owner}: length must be within {0.5 * turns:g} m of {placed:g} m, that at the initial poses, since "
                f"whole turns of drums at its ends make no difference; got {self.length:g}"
            )
        path = tuple(next(f for f, other in enumerate(members) if other is body) for body in met)
        numbers = [self.length, turns, *self.weights]
        for f, stop, of_drum in zip(path, stops, rounds, strict=True):
            numbers += [*(stop.place - self.ends[f][1].origin), *of_drum]
        drums = tuple(stop.drum is not None for stop in stops)
        relation = Relation(slack(path, drums), ("slack",), (FORCE,), tuple(map(float, numbers)), undefined=LEFT)
        self.primitives = (relation,)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """All bodies that the rope meets, those at its ends first."""
        return *super().ends, *self._further


def _checked_weights(owner: str, weights: Any, stops: Sequence[RopeStop]) -> np.ndarray:
    """Return how many falls (n - 1,) run between neighboring stops."""
    count = len(stops) - 1
    falls = np.ones(count) if weights is None else validate.array(owner, "weights", weights, (count,))
    if (falls <= 0).any():
        raise InputError(f"{owner}: weights must be positive, one for each fall; got {falls.tolist()}")
    for k, (one, two) in enumerate(itertools.pairwise(stops)):
        if falls[k] != 1 and (one.drum or two.drum):
            raise InputError(f"{owner}: weights[{k}] must be 1, as next to any drum; got {falls[k]:g}")
    return falls


def _checked_points(owner: str, points: Any) -> list[RopeStop]:
    """Return what a rope meets."""
    listed = list(points) if isinstance(points, Iterable) else []
    fit = [isinstance(one, Drum) or (isinstance(one, tuple | list) and len(one) == 2) for one in listed]
    if len(fit) < 2 or not all(fit):
        raise InputError(
            f"{owner}: points must be a list of at least two pairs (body, point in its coordinates) or quirk.Drum; "
            f"got {points!r}"
        )
    stops = []
    for k, one in enumerate(listed):
        if isinstance(one, Drum):
            stops.append(RopeStop(one.body, one.center, one))
            continue
        body = checked_body(owner, f"points[{k}][0]", one[0])
        stops.append(RopeStop(body, validate.array(owner, f"points[{k}][1]", one[1], (3,)), None))
    if len({id(stop.body) for stop in stops}) < 2:
        raise InputError(
            f"{owner}: points must be of at least two bodies, or of a body and GROUND; all are of {stops[0].body}"
        )
    return stops
