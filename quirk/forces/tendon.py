"""Tendons through points of bodies: springs, dampers and muscles along a path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import where
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..constraints.tendon_path import Point, tendon_path
from ..errors import InputError
from ..functions.motion import Motion
from ..util import validate
from .actuator import checked_limits, limited
from .element import ForceElement
from .place import Place
from .value import LoadLike, Value


class Tendon(ForceElement):
    """A massless tendon without friction over points of bodies: a spring, a damper and a muscle along its length.

    The length is L = sum of ``weight_k |p_(k+1) - p_k|`` over consecutive points, and the tension F = k (L - L0) +
    c dL/dt + `tension` shortens the tendon if it is positive. The force in span k is ``weight_k F``. A tendon can also
    push, unless `limits` exclude it, such as (0, 500). A `TendonStop` limits its length.

    Weights describe tackles and branches: over a movable pulley with two parallel falls the weight is 2. A branch that
    carries a part 1 / d of the tension, after a pulley of ratio d, has the weight 1 / d. A weight of zero leaves the
    span between two points out, as between the last point of one branch and the first of the next.

    Parameters
    ----------
    name : str
    points : list of (body, (3,))
        Points along the tendon, at least two: bodies or GROUND, each with a point in body coordinates, m. A body may
        occur repeatedly.
    weights : (n - 1,) for n points, optional
        Weight of the distance between consecutive points, not negative; default: ones.
    stiffness : float
        Stiffness k, N/m, not negative.
    damping : float
        Damping coefficient c, N s/m, not negative.
    rest_length : float or (2,), optional
        Unloaded length L0, m, or the smallest and the largest length at which the spring is slack; default: the
        length at the initial poses. (0, L0) is a spring that only pulls.
    tension : float, Motion or function
        Additional tension, N: a number, a `Motion`, or a function ``f(t, length, rate)``, or a function ``f(t, state)``
        of the whole state, see docs/forces.md.
    limits : float or (2,), optional
        Largest tension in both directions, or the smallest and the largest tension, N; default: unlimited. The spring
        of a tendon with limits stores no energy in results.

    Examples
    --------
    A muscle and a movable pulley with two falls, which lifts 4 kg with a tension of 20 N:

    >>> load = quirk.Body.sphere("load", 4.0, 0.1, position=[0, 0, -1])
    >>> muscle = quirk.Tendon("muscle", [(quirk.GROUND, [0, 0, 0]), (load, [0, 0, 0])], weights=[2], tension=20.0)
    >>> system = quirk.System([load, muscle])
    >>> system.acceleration(system.initial_state()).linear
    array([[ 0.,  0., 10.]])
    """

    argument = "tension"
    coordinates = ("length",)
    drawing = "line"
    aside = ("spans",)
    undefined = "two points between which it runs coincide"

    def __init__(
        self,
        name: str,
        points: Iterable[tuple[Body | Ground, ArrayLike]],
        *,
        weights: ArrayLike | None = None,
        stiffness: float = 0.0,
        damping: float = 0.0,
        rest_length: ArrayLike | None = None,
        tension: LoadLike = 0.0,
        limits: ArrayLike | None = None,
    ) -> None:
        owner = f'Tendon "{validate.name("Tendon", name)}"'
        path = tendon_path(owner, points, weights)
        self.spans, self.path, self.numbers_of_path = path.spans, path.ends, np.array(path.numbers)
        self.stiffness = validate.non_negative(owner, "stiffness", stiffness)
        self.damping = validate.non_negative(owner, "damping", damping)
        self.rest_length = _checked_rest_length(owner, path.initial_length if rest_length is None else rest_length)
        # Without a range of slack the law of the spring has no branches.
        self.goes_slack = bool(self.rest_length[0] < self.rest_length[1])
        self.limits = checked_limits(owner, limits)
        form = "f(t, length, rate)"
        self.tension = tension if isinstance(tension, Motion) else Value(owner, "tension", tension, (), form, (0, 0))
        fixed = ("numbers_of_path", "stiffness", "damping", "rest_length", "limits")
        self.motions = ("tension",) if isinstance(tension, Motion) else ()
        self.parameters = fixed if self.motions else (*fixed, "tension")
        super().__init__(name, *((body, Frame()) for body in path.bodies))

    def coordinate(self, t: Any, *frames: Place) -> Any:
        """Return the weighted length of the tendon, m."""
        return self.path.length(frames, list(self.numbers_of_path))

    def stored(self, t: Any, x: Any) -> Any:
        """Return the elastic energy, J, at the length x, m; zero for a tendon with limits."""
        stretch = self._stretch(x)
        return (0.5 if self.limits is None else 0.0) * self.stiffness * stretch * stretch

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the generalized force (N) along the length: minus the tension at the length `x` (m) and its rate.

        The elastic force is included only for a tendon with limits; otherwise it follows from `stored`.
        """
        tension: Any = self.tension
        pull = self.damping * rate + (tension if self.motions else tension(t, x, rate))
        return -pull if self.limits is None else -limited(pull + self.stiffness * self._stretch(x), self.limits)

    def _stretch(self, x: Any) -> Any:
        """Return the elongation (m) of the spring at the length `x`, m.

        It is zero between the smallest and the largest slack length, and negative below the smallest.
        """
        low, high = self.rest_length[0], self.rest_length[1]
        if not self.goes_slack:
            return x - high
        return where(x > high, x - high, where(x < low, x - low, 0.0 * x))

    @property
    def lines(self) -> Sequence[tuple[Point, Point]]:
        """Pairs of (body, point in body coordinates) between which the tendon is drawn."""
        return self.spans

    @property
    def conservative(self) -> bool:
        """Whether energy is conserved: the tendon has no damper, no muscle and no limits."""
        idle = isinstance(self.tension, Value) and self.tension.function is None and self.tension.constant == 0
        return bool(idle and self.damping <= 0 and self.limits is None)

    @property
    def wakes(self) -> bool:
        """Whether the tension may act in short pulses: it is limited, can be slack, or is a user function."""
        return self.goes_slack or self.limits is not None or self.of_user


def _checked_rest_length(owner: str, value: Any) -> np.ndarray:
    """Return the smallest and the largest length (2,), m, at which the spring is slack."""
    given = validate.numbers(value)
    shape = (2,) if given is not None and given.shape == (2,) else ()
    both = np.broadcast_to(validate.array(owner, "rest_length", value, shape), (2,)).copy()
    if both[0] > both[1]:
        raise InputError(
            f"{owner}: rest_length must be the smallest and the largest length at which the spring is slack; got "
            f"{both.tolist()}"
        )
    return both
