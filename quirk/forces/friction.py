"""Coulomb friction in proportion to the load that a joint or a contact carries."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any, Self

import numpy as np

from ..autodiff.jet import where
from ..bodies import rotation
from ..constraints import Contact, Joint, OneSided, Planar, PointOnPlane, Spherical, Universal
from ..constraints.constraint import initial_point
from ..constraints.primitives import Z
from ..constraints.relation import FORCE
from ..constraints.slip import AboutPoint, AlongAxis, OfGap, OfSurfaces, OnPlane, Slip
from ..constraints.sticking import Sticking
from ..errors import InputError
from ..util import validate
from .element import ForceElement
from .place import Place

# How the load that counts is found from that of the joint or contact: as what is normal to surfaces; as what is across
# an axis; as the whole force; as what is along an axis.
NORMAL, ACROSS, WHOLE, ALONG = range(4)
KINDS = "Revolute, Prismatic, Cylindrical, Spherical, PointOnLine, PointOnPlane or Planar"


class OfSlip(ForceElement):
    """A law of slip, in which the gap of a `OneSided` may take part, a function of a user."""

    slip: Slip

    @property
    def built_in(self) -> bool:
        """Whether nothing in it was written by a user."""
        return not isinstance(self.slip, OfGap)

    @property
    def sources(self) -> list[Any]:
        """The functions of a user in it."""
        return [self.slip.source] if isinstance(self.slip, OfGap) else []

    @property
    def wakes(self) -> bool:
        """Return False: it does not come and go within a moment, whoever wrote the gap."""
        return False

    def as_law(self, traced: bool) -> Self:
        """Return itself: the functions of the gap run copies of what a user wrote."""
        return self


class Friction(OfSlip):
    """Dry friction in a joint or a contact: sliding against a part of the true load, or sticking.

    While bodies slide, a force of `coefficient` times the load N acts against their slip. The load is that of the same
    instant, which depends on the friction: both are solved for at once. While they stick, rows of velocities hold them,
    as long as the force this takes is not more than `static` times N. Runs find the times at which one goes over into
    the other. What counts as load and as slip:

    * Contact: the normal force; the slip of both surfaces where they touch.
    * OneSided, of two bodies or of one and the ground: the force along the gradient of its gap, which must be a length;
      the slip at its `point`.
    * Prismatic, PointOnLine: the force across the axis; the slip along it.
    * Revolute, Cylindrical: the force across the axis; the slip of a pin of this `radius`, about the axis and, of a
      cylindrical joint, along it as well.
    * Spherical: the whole force; the slip of a ball of this `radius`.
    * Planar, PointOnPlane: the force normal to the plane; the slip of the joint point. Turning on the spot is free.

    With `length` the force across an axis is that of two bearings, at this distance along the axis, half of it on
    either side of the joint point; they carry the torque across the axis, too: N is the sum of both forces.

    Parameters
    ----------
    name : str
    on : Contact, OneSided or Joint
    coefficient : float
        Of sliding friction, not negative; ``numpy.inf`` for a contact that never slips.
    static : float, optional
        Of sticking friction, at least `coefficient`, which is the default.
    radius : float, optional
        m, of pin or ball; needed where the joint turns.
    length : float, optional
        m, between two bearings or over a guide.

    Raises
    ------
    InputError
        If an argument cannot be used, or the joint is of another kind.

    Examples
    --------
    >>> slide = quirk.Body.box("slide", 2.0, [0.1, 0.1, 0.1], velocity=[1.0, 0, 0])
    >>> rail = quirk.Prismatic("rail", quirk.GROUND, slide, axis="x")
    >>> system = quirk.System([slide, rail, quirk.Friction("rub", rail, coefficient=0.1)], gravity=[0, 0, -10.0])
    >>> quirk.simulate(system, 2.0, output=0.5).body("slide").position[-1].round(6) + 0.0
    array([0.5, 0. , 0. ])
    """

    # The last three are not of its law, but of what it is in proportion to, and of where it begins.
    parameters = ("radii", "direction", "floor", "following", "size", "coefficient", "static", "length")
    aside = ("on", "radius", "takes", "axis", "part", "shares")
    drawing = ""
    undefined = (
        "no friction that agrees with the loads that it causes is found; near here there is none, or there are several "
        "(Painleve's paradox)"
    )

    def __init__(
        self,
        name: str,
        on: Contact | OneSided | Joint,
        coefficient: float,
        *,
        static: float | None = None,
        radius: float | None = None,
        length: float | None = None,
    ) -> None:
        owner = f'Friction "{validate.name("Friction", name)}"'
        self.on = on
        self.slip, self.takes, self.axis = _kind(owner, on)
        if self.takes == NORMAL and isinstance(coefficient, float) and coefficient == np.inf:
            self.coefficient = np.inf
        else:
            self.coefficient = validate.non_negative(owner, "coefficient", coefficient)
        self.static = self.coefficient if static is None else validate.non_negative(owner, "static", static)
        if self.static < self.coefficient:
            raise InputError(f"{owner}: static must be at least coefficient, {self.coefficient:g}; got {self.static:g}")
        turns = isinstance(self.slip, AboutPoint) or (isinstance(self.slip, AlongAxis) and self.slip.turns)
        self.radius = _size(owner, "radius", radius, turns, f"{on} does not turn in a bearing")
        self.length = _size(owner, "length", length, None, f"{on} has no axis", self.takes == ACROSS)
        self.radii, self.part = np.array([self.radius, 0.0]), 0
        if isinstance(on, Contact):
            one, two = reversed(on.surfaces) if on.turned else on.surfaces
            self.radii = np.array([one.radius, two.radius] if on.parts is None else on.numbers_of(0))
        # Of contacts that share a load the multipliers from which that of this one follows, by name, with weights.
        self.shares: tuple[tuple[str, int, float], ...] = ((on.name, 0, 1.0),) if self.takes == NORMAL else ()
        self.direction = np.zeros(self.slip.size)
        # What runs set: slip below `floor` has the direction that is given; `following` that which is nearer to it;
        # and the magnitude of the force.
        self.floor, self.following, self.size = 0.0, 0.0, 0.0
        self.coordinates = ("ahead", *(f"slip_{c + 1}" for c in range(self.slip.size)))
        super().__init__(name, (on.body_i, on.frame_i), (on.body_j, on.frame_j))

    coefficient: float
    static: float
    part: int

    @property
    def joint(self) -> Any:
        """The joint or contact, without which it cannot be."""
        return self.on

    def place_of(self, parameter: str) -> int:
        """Where among the inputs of its law the numbers of a parameter begin."""
        before = self.parameters[: self.parameters.index(parameter)]
        return sum(int(np.size(getattr(self, name))) for name in before)

    def load(self, t: Any, i: Place, j: Place) -> Any:
        """Return the force against the slip, on both bodies."""
        components = self.slip(t, i, j, list(self.radii))
        sizes = [-self.size * part for part in self._direction([one.rate for one in components])]
        return [
            (_sum(sizes, [one.force_i for one in components]), _sum(sizes, [one.torque_i for one in components])),
            (_sum(sizes, [one.force for one in components]), _sum(sizes, [one.torque for one in components])),
        ]

    def _direction(self, slip: list[Any]) -> list[Any]:
        """The direction of slip; it goes on without a jump where bodies come to rest and would slide back."""
        square = sum(s * s for s in slip)
        fast = square > self.floor * self.floor
        size = where(fast, square, square.constant(1.0)).sqrt()
        ahead = sum(s * e for s, e in zip(slip, self.direction, strict=True))
        size = where(self.following * ahead < 0.0, -size, size)
        return [where(fast, s / size, e) for s, e in zip(slip, self.direction, strict=True)]

    def shown(self, t: Any, i: Place, j: Place) -> Any:
        """Return the slip in the direction given, and its components, m/s."""
        slip = [one.rate for one in self.slip(t, i, j, list(self.radii))]
        return [sum(s * e for s, e in zip(slip, self.direction, strict=True)), *slip]

    def sliding(
        self,
        direction: tuple[float, ...],
        floor: float,
        side: int = 1,
        part: int = 0,
        shares: tuple[tuple[str, int, float], ...] | None = None,
    ) -> Friction:
        """Return the same as it acts while bodies slide on a part of a bounded surface, from a direction of slip on.

        Slip below `floor`, m/s, is taken to have that direction. With `shares` the load of its contact follows from the
        multipliers of these rows, each by the name of its constraint, its number there, and a weight.
        """
        return _sliding(self, direction, floor, side, part, self.shares if shares is None else shares)

    def sticking(self, which: tuple[int, ...], side: int = 1, part: int = 0) -> Sticking:
        """Return the rows of some components of slip that hold bodies while they stick to a part."""
        return _sticking(self, which, side, part)

    def on_side(self, side: int) -> Slip:
        """Return the slip with components that are smooth on this side of the first surface."""
        return replace(self.slip, side=side) if isinstance(self.slip, OfSurfaces | OfGap) else self.slip

    def on_part(self, part: int) -> Friction:
        """Return the same on a part of a bounded surface; itself on any other surface."""
        if not isinstance(self.on, Contact) or self.on.parts is None:
            return self
        return self.with_values({"radii": np.array(self.on.numbers_of(part)), "part": part})


@lru_cache(1024)
def _sliding(
    friction: Friction,
    direction: tuple[float, ...],
    floor: float,
    side: int,
    part: int,
    shares: tuple[tuple[str, int, float], ...],
) -> Friction:
    known = {"direction": np.array(direction), "floor": floor, "slip": friction.on_side(side), "shares": shares}
    return friction.on_part(part).with_values(known)


@lru_cache(1024)
def _sticking(friction: Friction, which: tuple[int, ...], side: int, part: int) -> Sticking:
    return Sticking(friction.on_part(part), friction.on_side(side), which)


def turned_on(slip: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return the direction (d,) in which bodies slide; that so far where slip has turned back or is below the floor.

    Parameters
    ----------
    slip : (d + 1,) in the direction so far, m/s, and its components
    direction : (d + 1,) so far, and the floor behind it, m/s
    """
    speed = np.linalg.norm(slip[1:])
    found: np.ndarray = slip[1:] / speed if slip[0] > 0 and speed > direction[-1] else direction[:-1]
    return found


class SlipComponent(OfSlip):
    """One component of the slip of a friction, as a quantity whose loads are those of a unit force along it."""

    coordinates = ("slip",)
    parameters = ("radii",)
    aside = ("title",)
    drawing = ""

    def __init__(self, friction: Friction, number: int, side: int = 1) -> None:
        self.radii, self.slip, self.number = friction.radii, friction.on_side(side), number
        self.title = f"{friction}"
        super().__init__(friction.name, *friction.ends)

    radii: np.ndarray

    def load(self, t: Any, i: Place, j: Place) -> Any:
        """Return the loads of a unit force."""
        one = self._component(t, i, j)
        return [(one.force_i, one.torque_i), (one.force, one.torque)]

    def shown(self, t: Any, i: Place, j: Place) -> Any:
        """Return the component of slip, m/s."""
        return self._component(t, i, j).rate

    def _component(self, t: Any, i: Place, j: Place) -> Any:
        return self.slip(t, i, j, list(self.radii))[self.number]

    def __str__(self) -> str:
        return self.title


def _sum(sizes: list[Any], vectors: list[Any]) -> Any:
    return sum(size * vector for size, vector in zip(sizes, vectors, strict=True))


def _kind(owner: str, on: Any) -> tuple[Slip, int, int]:
    """The slip of a joint or contact, how its load counts, and about which axis of frame i."""
    if isinstance(on, Contact):
        first, second = (surface.kind for surface in (reversed(on.surfaces) if on.turned else on.surfaces))
        one, two = reversed(on.ends) if on.turned else on.ends
        apart = initial_point(two[0], two[1].origin) - initial_point(one[0], one[1].origin)
        ahead = float(apart @ rotation.matrix(one[0].orientation) @ one[1].matrix[:, Z])
        slip = OfSurfaces((first, second), on.turned)
        return replace(slip, side=slip.side_of(ahead)), NORMAL, Z
    if isinstance(on, OneSided):
        return _of_gap(owner, on), NORMAL, Z
    if isinstance(on, Spherical):
        return AboutPoint(), WHOLE, Z
    if isinstance(on, Planar | PointOnPlane):
        return OnPlane(), ALONG, Z
    if isinstance(on, Joint) and not isinstance(on, Universal):
        turns, slides = on.rotation_axis, on.translation_axis
        axis = turns if slides is None else slides
        if axis is not None and turns in (None, axis):
            return AlongAxis(axis, slides is not None, turns is not None), ACROSS, axis
    raise InputError(f"{owner}: on must be a Contact, a OneSided, or a {KINDS} joint; got {on!r}")


def _of_gap(owner: str, on: OneSided) -> OfGap:
    """The slip of bodies whose gap a user's function gives."""
    (gap,) = on.gaps
    if len(on.members) != 2 or gap.units != (FORCE,):
        raise InputError(
            f'{owner}: {on} must be of two bodies, or of one and the ground, with unit="force", to have friction'
        )
    if on.point is None:
        raise InputError(
            f"{owner}: {on} does not say where its bodies touch: give it point=, a point (3,) in the coordinates of "
            "the last body, or a function point(t, a, b, ...) that returns the place in the inertial frame"
        )
    return OfGap(gap.function, on.point, on.functions_of_user)


def _size(owner: str, argument: str, given: Any, needed: bool | None, why: str, allowed: bool = True) -> float:
    """A size that is needed, or not allowed, or neither, where it is zero unless given."""
    if given is None:
        if needed:
            raise InputError(f"{owner}: {argument} must be given, in m, as the joint turns")
        return 0.0
    if needed is False or not allowed:
        raise InputError(f"{owner}: {argument} has no meaning here, as {why}: leave it out")
    return validate.positive(owner, argument, given)
