"""Springs and dampers along the line between two points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import where
from ..bodies.body import Body, Ground
from ..constraints.constraint import checked_ends, end_points, initial_point
from ..errors import InputError
from ..functions.array_api import maximum, minimum
from ..functions.expression import function_of
from ..functions.user_function import check_arguments
from ..util import validate
from ..util.validate import PointsLike
from .curve import curve, integral, on_curve
from .element import ForceElement
from .place import Place
from .value import LoadLike, Value

SIDES = (None, "tension", "compression")


class BetweenPoints(ForceElement):
    """Base class of elements that act along the line between a point of body i and a point of body j."""

    coordinates = ("length",)
    undefined = "its ends coincide"

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        point_i: ArrayLike | None,
        point_j: ArrayLike | None,
        points: PointsLike | None,
    ) -> None:
        owner = checked_ends(type(self).__name__, name, body_i, body_j)
        frame_i, frame_j = end_points(owner, body_i, body_j, point_i, point_j, points)
        super().__init__(name, (body_i, frame_i), (body_j, frame_j))

    @property
    def initial_length(self) -> float:
        """Distance between the two points at the initial poses, m."""
        p_i, p_j = (initial_point(body, frame.origin) for body, frame in self.ends)
        return float(np.linalg.norm(p_j - p_i))

    def coordinate(self, t: Any, i: Place, j: Place) -> Any:
        """Return the distance between the two points, m."""
        d = j.position - i.position
        return np.sqrt(d @ d)


class Damper(BetweenPoints):
    """A massless damper between two points: tension c dL/dt along its line.

    If the points coincide, the direction of the relative velocity is used.

    Parameters
    ----------
    body_i, body_j : Body or GROUND
    points : (2, 3)
        Both ends in the inertial frame at the initial poses, m.
    point_i, point_j : (3,), body axes
        Alternatively, both ends in the coordinates of body i and body j, m; default: the centers of mass.
    damping : float
        Damping coefficient c, N s/m, not negative.

    Examples
    --------
    >>> bob = quirk.Body.sphere("bob", mass=2.0, radius=0.1, position=[0, 0, -1.5], velocity=[0, 0, -3.0])
    >>> damper = quirk.Damper("damper", quirk.GROUND, bob, points=[[0, 0, 0], [0, 0, -1.5]], damping=4.0)
    >>> system = quirk.System([bob, damper])
    >>> system.acceleration(system.initial_state()).linear
    array([[0., 0., 6.]])
    """

    parameters = ("damping",)

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        point_i: ArrayLike | None = None,
        point_j: ArrayLike | None = None,
        *,
        points: PointsLike | None = None,
        damping: float,
    ) -> None:
        super().__init__(name, body_i, body_j, point_i, point_j, points)
        self.damping = validate.non_negative(f"{self}", "damping", damping)

    def load(self, t: Any, i: Place, j: Place) -> Any:
        """Return the damping force (N) on both bodies, in the inertial frame, and zero torques."""
        return _damped(i, j, self.damping)


class Spring(BetweenPoints):
    """A massless spring with a parallel damper: tension k (L - L0) + c dL/dt along its line.

    Parameters
    ----------
    body_i, body_j : Body or GROUND
    points : (2, 3)
        Both ends in the inertial frame at the initial poses, m.
    point_i, point_j : (3,), body axes
        Alternatively, both ends in the coordinates of body i and body j, m; default: the centers of mass.
    stiffness : float
        Stiffness k, N/m, not negative; alternatively `law`.
    damping : float
        Damping coefficient c, N s/m, not negative.
    rest_length : float, optional
        Unloaded length L0, m, not negative; default: the length at the initial poses.
    law : table or function
        Tension as a function of length, instead of a stiffness. A table ``(lengths, tensions)`` in m and N defines a
        spline of degree 5, extended linearly, whose energy is stored and vanishes at L0. A function ``f(length, rate)``
        that returns the tension, N, stores no energy.
    one_sided : "tension", "compression" or None
        "tension" is a cable: slack if shorter than L0, and never in compression, including the damper. "compression" is
        a bumper: open if longer than L0, and never in tension. Requires `stiffness`.

    Examples
    --------
    >>> bob = quirk.Body.sphere("bob", mass=2.0, radius=0.1, position=[0, 0, -1.5])
    >>> ends = [[0, 0, 0], [0, 0, -1.5]]
    >>> spring = quirk.Spring("spring", quirk.GROUND, bob, points=ends, stiffness=8.0, rest_length=1.0)
    >>> system = quirk.System([bob, spring])
    >>> system.acceleration(system.initial_state()).linear
    array([[0., 0., 2.]])
    """

    drawing = "coil"

    parameters = ("stiffness", "damping", "rest_length", "law", "starts", "pieces")

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        point_i: ArrayLike | None = None,
        point_j: ArrayLike | None = None,
        *,
        points: PointsLike | None = None,
        stiffness: float | None = None,
        damping: float = 0.0,
        rest_length: float | None = None,
        law: LoadLike | None = None,
        one_sided: str | None = None,
    ) -> None:
        super().__init__(name, body_i, body_j, point_i, point_j, points)
        owner = f"{self}"
        if (stiffness is None) == (law is None):
            raise InputError(f"{owner}: give either stiffness or law; got {'neither' if law is None else 'both'}")
        validate.choice(owner, "one_sided", one_sided, SIDES)
        if law is not None and one_sided is not None:
            raise InputError(f"{owner}: one_sided requires a stiffness; let law return zero where it is slack")
        self.stiffness: Any = None if stiffness is None else validate.non_negative(owner, "stiffness", stiffness)
        self.damping = validate.non_negative(owner, "damping", damping)
        length = self.initial_length if rest_length is None else rest_length
        self.rest_length = validate.non_negative(owner, "rest_length", length)
        # With zero rest length the force is smooth through zero length, where the length itself is not differentiable.
        self.through_zero = law is None and self.rest_length <= 0
        if self.through_zero and one_sided == "compression":
            raise InputError(f"{owner}: a spring with rest_length 0 is never compressed; give a positive rest_length")
        self.one_sided = None if self.through_zero else one_sided
        given = function_of(owner, "law", law, ("length", "rate"))
        check_arguments(owner, "law", given, {"f(length, rate)": 2})
        self.law = TensionLaw(owner, given) if callable(given) else None
        self.starts = self.pieces = None
        if given is not None and self.law is None:
            self.starts, tension = curve(owner, "law", given)
            self.pieces = integral(self.starts, tension, self.rest_length)

    def potential(self, t: Any, i: Place, j: Place) -> Any:
        """Return the elastic energy (J): k (L - L0)^2 / 2, or the integral of a table."""
        if self.law is not None:
            return 0.0
        d = j.position - i.position
        if self.through_zero:
            return 0.5 * self.stiffness * (d @ d)
        length = np.sqrt(d @ d)
        if self.pieces is not None:
            return on_curve(length, self.starts, self.pieces)
        stretch = length - self.rest_length
        return self._on_its_side(0.5 * self.stiffness * stretch * stretch, stretch)

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the nonconservative force along the length, N; positive if it drives the ends apart.

        The force is minus the tension of a user function, or the damping force of a one-sided spring.
        """
        if self.law is not None:
            return -self.law(t, x, rate)
        if self.one_sided is None:
            return 0
        stretch, damped = x - self.rest_length, self.damping * rate
        elastic = self.stiffness * stretch
        if self.one_sided == "tension":
            return -where(stretch > 0.0, maximum(damped, -elastic), 0.0)
        return -where(stretch < 0.0, minimum(damped, -elastic), 0.0)

    def load(self, t: Any, i: Place, j: Place) -> Any:
        """Return the damping force (N) on both bodies, in the inertial frame.

        For a one-sided spring the result is zero, because its damping force is part of `along`.
        """
        if self.one_sided is not None:
            return (0, 0), (0, 0)
        return _damped(i, j, self.damping)

    def _on_its_side(self, energy: Any, stretch: Any) -> Any:
        """Return `energy`, J, or zero where a one-sided spring is slack; `stretch` is the elongation L - L0, m."""
        if self.one_sided is None:
            return energy
        return where(stretch > 0.0 if self.one_sided == "tension" else stretch < 0.0, energy, 0.0 * energy)

    @property
    def conservative(self) -> bool:
        """Whether energy is conserved: the spring has no damper and no user function."""
        return self.damping <= 0 and self.law is None

    @property
    def wakes(self) -> bool:
        """Whether the force may vanish over a range of lengths, and therefore act in short pulses.

        This holds for a one-sided spring, a table and a user function.
        """
        return self.one_sided is not None or self.pieces is not None or self.of_user


class TensionLaw(Value):
    """Tension of a spring, N, as a user function ``law(length, rate)``, which is called with the time as well.

    `owner` is the title of the spring, for error messages.
    """

    def __init__(self, owner: str, law: Callable[[Any, Any], Any]) -> None:
        super().__init__(owner, "law", lambda t, length, rate: law(length, rate), (), "f(length, rate)", (0, 0))
        self.law = law

    def __reduce__(self) -> tuple[Any, ...]:
        """Return what `pickle` stores; the function of the time cannot be stored."""
        return TensionLaw, (self.owner, self.law)


def _damped(i: Place, j: Place, damping: Any) -> Any:
    """Return the force (N) of a damper on each body, in the inertial frame, and zero torques.

    The force acts along the line of the ends, or along their relative velocity if the ends coincide.
    """
    d, u = j.position - i.position, j.velocity - i.velocity
    square, along = d @ d, d @ u
    safe = where(square > 0.0, square, 1.0)
    force = np.array([-damping * where(square > 0.0, d[c] * along / safe, u[c]) for c in range(3)])
    return (-force, 0), (force, 0)
