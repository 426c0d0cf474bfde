"""A rope of constant length over points and drums of any number of bodies.

The stops of a rope are its points and drums. Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground, checked_body
from ..bodies.frame import Frame
from ..errors import InputError
from ..util import validate
from .constraint import Constraint, checked_ends
from .drum import Drum, angle_between, wrap
from .relation import FORCE, MovingFrame, Relation
from .rope_layout import RopeLayout, RopeStop, rope_layout, winding_length
from .rope_path import RopePath

LEFT = "its rope has left a sheave, or a point has come within the radius of a drum"


@dataclass(frozen=True)
class RopeOfConstantLength:
    """Constraint function of a rope of constant length over the stops of `path`."""

    path: RopePath

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return a list with the residual: the length minus the straight parts and the arcs on drums, m.

        `numbers` are, in this order: the length, m; the amount (m) by which the residual changes when drums at the ends
        rotate by full turns, modulo which it is taken; a weight for each straight part; and the constants of the stops,
        see `RopePath.measured`.
        """
        drums, last = self.path.drums, len(self.path.path) - 1
        left, turns, *weights = numbers[: 2 + last]
        found = self.path.measured(frames, numbers[2 + last :])
        for k in np.flatnonzero(drums).tolist():
            into, out = found.into[k], found.out[k]
            assert into is not None and out is not None
            angle = wrap(into, out, found.near[k]) if 0 < k < last else angle_between(into, out)
            left = left - found.radius[k] * angle
        for weight, straight in zip(weights, found.straight, strict=True):
            left = left - weight * straight
        return [left.wrapped(turns) if drums[0] or drums[-1] else left]


class Pulley(Constraint):
    """A massless rope over points and drums of bodies: of constant length, 1 row, or elastic, with friction.

    A rope of constant length has no friction. Its row is
    Phi = length - sum of ``weight_k |p_(k+1) - p_k|`` - sum of radius times wrapped angle. The multiplier is the rope
    tension, N. It is negative if the rope would have to push, so check the sign. Body j is the body of the last point,
    where the rope ends, and the load is the force and torque of the rope on it: for a single fall a force along the
    rope equal to the tension; on a drum the force acts at its center, together with a torque.

    A drum between other stops is a sheave. A rope without friction slides over it whether or not it rotates. At a drum
    at an end, the rope is fixed: rotation winds or unwinds it over any number of turns.

    With `stiffness` the rope is a force element "<name> spans" in place of the row. Its tension is stiffness (l / L -
    1) for a length l and an unstretched length L, and zero for a slack rope. With `damping` the tension of a stretched
    rope is stiffness e + damping de/dt, e = l / L - 1, but never negative. With `friction` the tensions before and
    after a point or drum may differ, by a factor of at most exp(friction * angle). Up to this limit a rotating drum
    drives the rope, with elastic creep; beyond it the rope slips. Transitions are events of the run.

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
        Sum of all falls and arcs on sheaves, m, without the rope wound on drums at the initial poses; for an elastic
        rope the length without load. Default: the length at the initial poses. With winding drums, the length must
        differ from the default by less than half a turn of such a drum.
    closed : bool
        Whether the rope returns from the last stop to the first, as a belt does; it requires `stiffness`.
    stiffness : float, optional
        Axial stiffness EA, N: tension over strain. Default: a constant length.
    damping : float, optional
        Tension over rate of strain, N s; for a rope without friction and winding drums. Divided by the
        unstretched length it is a damping coefficient in N s/m.
    friction : float or list of float, optional
        Coulomb coefficient of friction at points and drums: a common one, or one for each stop between the ends, or for
        each stop of a closed rope; default: zero. It requires `stiffness`.
    pretension : float, or one for each span, optional
        Tension at the initial poses, N, in place of `length`; spans are the straight parts between consecutive stops.

    Examples
    --------
    >>> left = quirk.Body.sphere("left", 2.0, 0.1, position=[-0.5, 0, -1])
    >>> right = quirk.Body.sphere("right", 1.0, 0.1, position=[0.5, 0, -1])
    >>> over = [(quirk.GROUND, [-0.5, 0, 0]), (quirk.GROUND, [0.5, 0, 0])]
    >>> rope = quirk.Pulley("rope", [(left, [0, 0, 0]), *over, (right, [0, 0, 0])])
    >>> system = quirk.System([left, right, rope], gravity=[0, 0, -9.81])
    >>> system.acceleration(system.initial_state()).linear[:, 2].round(6)
    array([-3.27,  3.27])

    Two weights on an elastic rope that slips over a fixed round bar:

    >>> bar = quirk.Drum(quirk.GROUND, [0, 0, 0], "y", 0.5)
    >>> rope = quirk.Pulley("rope", [(left, [0, 0, 0]), bar, (right, [0, 0, 0])], stiffness=1e4, friction=0.1)
    >>> system = quirk.System([left, right, rope], gravity=[0, 0, -9.81])
    >>> spans = quirk.simulate(system, 0.2, output=[0.2])["rope spans"]
    >>> ratio = spans.coordinate("tension 0")[-1] / spans.coordinate("tension 1")[-1]
    >>> round(float(ratio), 6), round(float(np.exp(0.1 * np.pi)), 6)
    (1.369108, 1.369108)
    """

    row_count: ClassVar[int | None] = 1

    if not TYPE_CHECKING:

        def __new__(cls, *args: Any, stiffness: Any = None, **options: Any) -> Pulley:
            """Create a rope of constant length with a constraint row or, if `stiffness` is given, an elastic rope."""
            if cls is Pulley and stiffness is not None:
                from .elastic_pulley import ElasticPulley

                cls = ElasticPulley
            return object.__new__(cls)

    def __init__(
        self,
        name: str,
        points: Iterable[Drum | tuple[Body | Ground, Any]],
        *,
        weights: ArrayLike | None = None,
        length: float | None = None,
        closed: bool = False,
        stiffness: float | None = None,
        damping: float | None = None,
        friction: ArrayLike | None = None,
        pretension: ArrayLike | None = None,
        active: bool = True,
    ) -> None:
        owner = f'Pulley "{validate.name("Pulley", name)}"'
        stops = _checked_points(owner, points)
        self.closed = validate.flag(owner, "closed", closed)
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
        self.weights = _checked_weights(owner, weights, stops, self.closed)
        rounds, spans, arcs = rope_layout(owner, stops, self.closed)
        placed = float(self.weights @ np.linalg.norm(spans, axis=1) + arcs.sum())
        self.length = placed if length is None else validate.positive(owner, "length", length)
        path = tuple(next(f for f, other in enumerate(members) if other is body) for body in met)
        self.path = RopePath(path, tuple(stop.drum is not None for stop in stops), self.closed)
        numbers = []
        for f, stop, of_drum in zip(path, stops, rounds, strict=True):
            numbers += [*(stop.place - self.ends[f][1].origin), *of_drum]
        elasticity = {
            "length": length, "stiffness": stiffness, "damping": damping, "friction": friction,
            "pretension": pretension,
        }  # fmt: skip
        self._set_path(owner, RopeLayout(stops, spans, arcs, tuple(map(float, numbers)), placed), elasticity)

    def _set_path(self, owner: str, layout: RopeLayout, elasticity: Mapping[str, Any]) -> None:
        """Define the constraint row for a rope of constant length.

        `layout` is the initial geometry, and `elasticity` holds the arguments length, stiffness, damping, friction and
        pretension. The subclass for elastic ropes defines a force element instead.
        """
        for argument, value in elasticity.items():
            if value is not None and argument != "length":
                raise InputError(
                    f"{owner}: {argument} requires stiffness=, the axial stiffness EA of the rope in N: give it, or "
                    f"leave out {argument}"
                )
        if self.closed:
            raise InputError(
                f"{owner}: a closed rope requires stiffness=, its axial stiffness EA in N, and pretension=, because "
                "belts transmit loads by differences of tension"
            )
        turns = winding_length(owner, layout.stops)
        if turns and abs(self.length - layout.placed) >= 0.5 * turns:
            raise InputError(
                f"{owner}: length must be within {0.5 * turns:g} m of {layout.placed:g} m, the length at the initial "
                f"poses, because full turns of drums at its ends have no effect; got {self.length:g}"
            )
        constants = tuple(map(float, (self.length, turns, *self.weights, *layout.numbers)))
        self.primitives = (Relation(RopeOfConstantLength(self.path), ("slack",), (FORCE,), constants, undefined=LEFT),)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """All bodies along the rope with their frames; the bodies at both ends of the rope come first."""
        return *super().ends, *self._further


def _checked_weights(owner: str, weights: Any, stops: Sequence[RopeStop], closed: bool) -> np.ndarray:
    """Return the checked numbers of falls of a rope over n stops: one for each pair of adjacent stops.

    The array is (n,) for a closed rope and (n - 1,) for an open one.
    """
    count = len(stops) - (0 if closed else 1)
    falls = np.ones(count) if weights is None else validate.array(owner, "weights", weights, (count,))
    if (falls <= 0).any():
        raise InputError(f"{owner}: weights must be positive, one for each fall; got {falls.tolist()}")
    for k, (one, two) in enumerate(itertools.pairwise([*stops, *stops[:1]] if closed else stops)):
        if falls[k] != 1 and (one.drum or two.drum):
            raise InputError(f"{owner}: weights[{k}] must be 1, as next to any drum; got {falls[k]:g}")
    return falls


def _checked_points(owner: str, points: Any) -> list[RopeStop]:
    """Return the checked points and drums of a rope as stops."""
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
