"""A rope of constant length over points and drums of any number of bodies.

Notation: Phi are the residuals of the constraint rows.
"""

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
    """Return the constraint function of a rope: its length minus the weighted straight parts and the arcs.

    `path` are the frames of its stops (points and drums), in order, and `drums` is true for the drums. The constants
    are, in this order: the length; the change of length by full turns of the drums at the ends; a weight for each
    straight part; and then for each stop its position in its frame. The position of a drum is followed by its axes (3,
    3), the radii of the previous stop, of the drum and of the next stop, and the initial wrapped angle.
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
    """A massless rope of constant length, without friction, over points and drums of bodies, 1 row.

    Phi = length - sum of ``weight_k |p_(k+1) - p_k|`` - sum of radius times wrapped angle. The multiplier is the rope
    tension, N, positive in tension. The row can also push, so check the sign. Body j is the body of the last point,
    where the rope ends, and the load is the force and torque of the rope on it: for a single fall a force along the
    rope equal to the tension; on a drum the force acts at its center, together with a torque.

    A drum between other stops is a sheave, over which the rope slides whether or not it rotates. The rope is fixed to a
    drum at an end: rotation winds or unwinds it, over any number of turns and without limit.

    Arcs lie in the plane through the drum's center perpendicular to its axis, and end where the straight parts,
    projected along the axis, are tangential to the circle. This is exact for ropes in that plane. If a straight part of
    length s leaves the plane at an angle g, the force deviates from the rope's direction by the fraction (1 - cos g)
    radius / s of the tension. An arc on a sheave may change by half a turn, but not become negative: the run ends
    there.

    Parameters
    ----------
    name : str
    points : list of (body, (3,)) or Drum
        Stops of the rope in order, at least two: bodies or GROUND, each with a point in body coordinates, m, or drums.
        The ends are fixed; intermediate points act as small sheaves. A body may occur repeatedly. The axes of
        consecutive drums are parallel.
    weights : (n - 1,) for n stops, optional
        Number of falls of the rope between adjacent points; default: one. Next to drums it must be one.
    length : float, optional
        Sum of all falls and arcs on sheaves, m, without the rope wound on drums at the initial poses; default: that at
        the initial poses, from which it may differ by less than half a turn of such a drum.

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
        # The load acts at the last stop on body j.
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
                f"{owner}: length must be within {0.5 * turns:g} m of {placed:g} m, the length at the initial poses, "
                f"because full turns of drums at its ends have no effect; got {self.length:g}"
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
        """All bodies along the rope with their frames; the bodies at both ends of the rope come first."""
        return *super().ends, *self._further


def _checked_weights(owner: str, weights: Any, stops: Sequence[RopeStop]) -> np.ndarray:
    """Check and return the number of falls (n - 1,) between adjacent stops of a rope with n stops."""
    count = len(stops) - 1
    falls = np.ones(count) if weights is None else validate.array(owner, "weights", weights, (count,))
    if (falls <= 0).any():
        raise InputError(f"{owner}: weights must be positive, one for each fall; got {falls.tolist()}")
    for k, (one, two) in enumerate(itertools.pairwise(stops)):
        if falls[k] != 1 and (one.drum or two.drum):
            raise InputError(f"{owner}: weights[{k}] must be 1, as next to any drum; got {falls[k]:g}")
    return falls


def _checked_points(owner: str, points: Any) -> list[RopeStop]:
    """Check the points and drums of a rope, and return them as stops."""
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
            f"{owner}: points must belong to at least two bodies, or to a body and GROUND; all belong to "
            f"{stops[0].body}"
        )
    return stops
