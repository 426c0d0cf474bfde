"""Base classes of stick-slip friction, and the components of its slip velocity."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

from ..autodiff.jet import where
from ..constraints.slip import OfGap, OfSurfaces, Slip
from ..constraints.sticking import Sticking
from .element import ForceElement
from .load_shares import LoadShares
from .place import Place

# Kinds of normal load of friction: the force of a contact or joint normal to the surfaces; the force of a joint
# perpendicular to an axis; the total force of a joint; the force of a joint along an axis; or a constant.
NORMAL, ACROSS, WHOLE, ALONG, CONSTANT = range(5)

# Smallest cosine of the angle between the slip and its reference direction: at 60 degrees an event renews the reference
# direction.
COSINE = 0.5

# A load that does not depend on other rows.
NO_SHARES = LoadShares()


class OfSlip(ForceElement):
    """Base class of force elements that depend on the slip velocity of two surfaces.

    The slip may contain the gap function of a `OneSided` constraint, which is a user function.
    """

    slip: Slip

    @property
    def built_in(self) -> bool:
        """Whether the slip contains no user function."""
        return not isinstance(self.slip, OfGap)

    @property
    def sources(self) -> list[Any]:
        """User functions that the slip contains."""
        return [self.slip.source] if isinstance(self.slip, OfGap) else []

    @property
    def wakes(self) -> bool:
        """Always False: the load never acts in short pulses, even if the gap is a user function."""
        return False

    def as_law(self, traced: bool) -> Self:
        """Return the element itself; it needs no read-only proxy, because its gap functions are copies."""
        return self


class StickSlip(OfSlip):
    """Base class of friction in a joint or contact, which events switch between sliding and sticking during runs.

    Attributes
    ----------
    on : the joint or contact on which the friction acts
    slip : function that computes the components of the slip velocity, m/s
    radii : (2,) parameters of the function `slip`, m: radii of the two surfaces, or the radius of a pin
    takes : kind of the normal load: NORMAL, ACROSS, WHOLE, ALONG or CONSTANT
    axis : index of the joint axis or surface normal in frame i: 0, 1 or 2 for x, y or z
    static : coefficient of static friction: maximum sticking force divided by the normal load
    sticks : whether events switch the element between sliding and sticking; otherwise it is an ordinary force element
    part : index of the touched part of a bounded surface
    """

    on: Any
    radii: np.ndarray
    takes: int
    axis: int
    static: float
    sticks: bool
    part: int

    def place_of(self, parameter: str) -> int:
        """Return the index of the first entry of a parameter in the input array of the force law."""
        before = self.parameters[: self.parameters.index(parameter)]
        return sum(int(np.size(getattr(self, name))) for name in before)

    @abstractmethod
    def sliding_coefficient(self, speed: float) -> float:
        """Return the sliding friction force at a slip speed (m/s), divided by the normal load."""

    @abstractmethod
    def sliding(
        self,
        direction: tuple[float, ...],
        floor: float,
        side: int = 1,
        part: int = 0,
        shares: LoadShares | None = None,
        begins: bool = False,
    ) -> Any:
        """Return the friction element in the sliding state.

        At slip speeds above `floor` (m/s) the force is opposite to the slip. Below `floor` it is opposite to the
        initial `direction` or, if the sliding `begins`, to a direction that also depends on the slip, as in
        `friction_direction`. `side`, `part` and `shares` are as for `Friction.sliding`.
        """

    def sticking(
        self,
        which: tuple[int, ...],
        side: int = 1,
        part: int = 0,
        value: Any = None,
        shares: LoadShares = NO_SHARES,
    ) -> Sticking:
        """Return the constraint that holds the bodies while friction sticks, by zero rates of slip components.

        `which` are the indices of these components. `side` is the side of the first surface, +1 or -1, on which they
        are smooth, and `part` the index of a face or edge. `value` is the coordinate (rad or m) at which a joint with
        constant friction is held, as a tuple of one number, or the relative orientation of a ball joint; with None only
        rates are held. `shares` are the rows on which the limit depends, as for `Friction.sliding`.
        """
        return _sticking_constraint(self, which, side, part, shares)

    def acts_beside(self, active: Container[str]) -> bool:
        """Whether the friction may act, given the names `active` of all enabled constraints and closed contacts."""
        return self.on.name in active

    def on_side(self, side: int) -> Slip:
        """Return the slip function whose components are smooth on side `side`, 1 or -1, of the first surface."""
        return replace(self.slip, side=side) if isinstance(self.slip, OfSurfaces | OfGap) else self.slip

    def on_part(self, part: int) -> Self:
        """Return the friction element for part `part` (a face or edge) of a bounded surface.

        The result is the element itself if its surfaces are not bounded.
        """
        return self


def sticking_elements(forces: Iterable[Any]) -> list[StickSlip]:
    """Return the friction elements that events switch between sliding and sticking during a run."""
    return [force for force in forces if isinstance(force, StickSlip) and force.sticks]


@lru_cache(1024)
def _sticking_constraint(
    friction: StickSlip, which: tuple[int, ...], side: int, part: int, shares: LoadShares
) -> Sticking:
    held = friction.on_part(part)
    return Sticking(held.with_values({"shares": shares}) if shares else held, friction.on_side(side), which)


class SlipComponent(OfSlip):
    """One component of the slip velocity of a friction element, m/s, with the loads of a unit force along it."""

    coordinates = ("slip",)
    parameters: tuple[str, ...] = ("radii",)
    aside = ("title",)
    drawing = ""

    def __init__(self, friction: StickSlip, number: int, side: int = 1) -> None:
        self.radii, self.slip, self.number = friction.radii, friction.on_side(side), number
        self.title = f"{friction}"
        super().__init__(friction.name, *friction.ends)

    radii: np.ndarray

    def load(self, t: Any, i: Place, j: Place) -> Any:
        """Return the loads on bodies i and j due to a unit friction force along the component.

        The loads are pairs of a force (N) and a torque (N m) at the origin of the frame, in the inertial frame.
        """
        one = self._component(t, i, j)
        return [(one.force_i, one.torque_i), (one.force, one.torque)]

    def shown(self, t: Any, i: Place, j: Place) -> Any:
        """Return the component of slip, m/s."""
        return self._component(t, i, j).rate

    def rates(self, t: Any, i: Place, j: Place) -> list[Any]:
        """Return all components of the slip velocity of the friction element, m/s."""
        return [one.rate for one in self.slip(t, i, j, list(self.radii))]

    def _component(self, t: Any, i: Place, j: Place) -> Any:
        return self.slip(t, i, j, list(self.radii))[self.number]

    def __str__(self) -> str:
        return self.title


class SlipAhead(SlipComponent):
    """Event function of friction with a constant limit: slip along a reference direction, plus an offset, m/s.

    The reference direction is that of the slip when it began or when an event last renewed it.
    """

    parameters = ("radii", "direction", "offset")

    def __init__(self, friction: StickSlip, direction: tuple[float, ...], offset: float) -> None:
        self.direction, self.offset = np.array(direction), offset
        super().__init__(friction, 0)

    direction: np.ndarray
    offset: float

    def shown(self, t: Any, i: Place, j: Place) -> Any:
        """Return the component of slip along the reference direction, plus the offset, m/s."""
        return _along(self.rates(t, i, j), self.direction) + self.offset


class SlipTurned(SlipComponent):
    """Event function of friction with a constant limit: positive while the slip is near its reference direction.

    The value is (s . e)^2 - COSINE^2 |s|^2, m^2/s^2, for the slip s and the reference direction e, the direction of the
    slip when it began or when an event last renewed it. When the slip vanishes, the value touches zero from above.
    """

    parameters = ("radii", "direction")

    def __init__(self, friction: StickSlip, direction: tuple[float, ...]) -> None:
        self.direction = np.array(direction)
        super().__init__(friction, 0)

    direction: np.ndarray

    def shown(self, t: Any, i: Place, j: Place) -> Any:
        """Return the value of the event function, m^2/s^2."""
        slip = self.rates(t, i, j)
        ahead = _along(slip, self.direction)
        return ahead * ahead - COSINE * COSINE * sum(x * x for x in slip)


def _along(slip: Sequence[Any], direction: np.ndarray) -> Any:
    """Return the component of `slip` along the unit vector `direction`; both have the same number of components."""
    return sum(x * e for x, e in zip(slip, direction, strict=True))


class SlipBelow(SlipComponent):
    """Event function of friction that sticks without constraint rows of its own: positive while the slip is small.

    The value is limit - |slip|^2 / limit, m/s; it is zero where the magnitude of the slip equals the limit.
    """

    parameters = ("radii", "limit")

    def __init__(self, friction: StickSlip, side: int, limit: float) -> None:
        self.limit = limit
        super().__init__(friction, 0, side)

    limit: float

    def shown(self, t: Any, i: Place, j: Place) -> Any:
        """Return v - s^2 / v, m/s, with the slip speed s and its limit v: positive below the limit."""
        slips = [one.rate for one in self.slip(t, i, j, list(self.radii))]
        return self.limit - sum(slip * slip for slip in slips) / self.limit


class SlipAbove(SlipBelow):
    """Event function of friction with several slip components: magnitude of the slip minus a limit, m/s."""

    def shown(self, t: Any, i: Place, j: Place) -> Any:
        """Return the magnitude of the slip minus the limit, m/s."""
        square = sum(x * x for x in self.rates(t, i, j))
        return where(square > 0.0, square, square.constant(1.0)).sqrt() * where(square > 0.0, 1.0, 0.0) - self.limit
