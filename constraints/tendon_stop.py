"""Limits of the length of a path over points of bodies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..errors import InputError
from ..util import validate
from .relation import FORCE, MovingFrame, Relation
from .tendon_path import SpanEnds, tendon_path
from .unilateral import Unilateral


@dataclass(frozen=True)
class LengthGap:
    """Gap function of a `TendonStop`: the distance of the length of a path from its lower or upper limit."""

    spans: SpanEnds

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return a list with the distance of the length of the path from its limit, m, positive within the limit.

        `numbers` are 1 for a lower or -1 for an upper limit, the limit, m, and the constants of the path. `frames` are
        the moving frames of the bodies along the path.
        """
        sign, limit, *others = numbers
        return [(self.spans.length(frames, others) - limit) * sign]


class TendonStop(Unilateral):
    """Limits of the length of a tendon over points of bodies, at which it is taut or comes to rest.

    The length is the sum of ``weight_k |p_(k+1) - p_k|`` over consecutive points, as for `Tendon`. With an upper limit
    the tendon is an inextensible rope, which can be slack. The constraint has 1 row while the length is at a limit.

    Body i is that of the first point, body j that of the last; if they are the same, body j is the second that the
    tendon meets. The load is what the tendon exerts on body j, with the torque about its center of mass.

    Parameters
    ----------
    name : str
    points : list of (body, (3,))
        Points along the tendon, at least two: bodies or GROUND, each with a point in body coordinates, m.
    weights : (n - 1,) for n points, optional
        Weight of the distance between consecutive points; default: ones. Zero leaves a span out, see `Tendon`.
    lower, upper : float, optional
        Limits of the length, m; at least one of them.
    restitution : float
        Coefficient of restitution, from 0 (default) to 1.
    rest_speed : float, optional
        Rate of the length below which an impact brings it to rest, m/s.

    Examples
    --------
    >>> left = quirk.Body.sphere("left", 2.0, 0.1, position=[-0.5, 0, -1])
    >>> right = quirk.Body.sphere("right", 1.0, 0.1, position=[0.5, 0, -1])
    >>> over = [(quirk.GROUND, [-0.5, 0, 0]), (quirk.GROUND, [0.5, 0, 0])]
    >>> rope = quirk.TendonStop("rope", [(left, [0, 0, 0]), *over, (right, [0, 0, 0])], upper=3.2)
    >>> result = quirk.simulate(quirk.System([left, right, rope], gravity=[0, 0, -9.81]), 0.3, output=[0.3])
    >>> result.events.time.round(6)  # after a free fall of 0.1 m
    array([0.142784])
    """

    def __init__(
        self,
        name: str,
        points: Iterable[tuple[Body | Ground, ArrayLike]],
        *,
        weights: ArrayLike | None = None,
        lower: float | None = None,
        upper: float | None = None,
        restitution: float = 0.0,
        rest_speed: float | None = None,
    ) -> None:
        owner = f'TendonStop "{validate.name("TendonStop", name)}"'
        limits = [(-1.0, "upper", upper), (1.0, "lower", lower)]
        given = [
            (sign, argument, validate.positive(owner, argument, x)) for sign, argument, x in limits if x is not None
        ]
        if not given:
            raise InputError(f"{owner}: give lower or upper, or both")
        if lower is not None and upper is not None and not lower < upper:
            raise InputError(f"{owner}: lower must be less than upper; got {lower!r} and {upper!r}")
        path = tendon_path(owner, points, weights).between_ends()
        self.spans, self._members = path.spans, tuple(path.bodies)
        super().__init__(name, self._members[0], self._members[1], Frame(), Frame(), active=False)
        gap = LengthGap(path.ends)
        self.gaps = tuple(
            Relation(gap, (f"{argument} limit",), (FORCE,), (sign, limit, *path.numbers))
            for sign, argument, limit in given
        )
        self._bounce(restitution, rest_speed)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """The bodies along the tendon, each with its body frame."""
        return tuple((body, Frame()) for body in self._members)
