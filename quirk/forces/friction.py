"""Coulomb friction in proportion to the normal load of a joint or contact.

Slip is the velocity of the surface of body j relative to that of body i, in the tangent plane; it has one or two
components. The faces and edges of a bounded surface, such as a box, are called its parts and are numbered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from ..bodies import rotation
from ..bodies.body import Body
from ..constraints import Constraint, Contact, Joint, OneSided, Planar, PointOnPlane, Spherical, Universal
from ..constraints.constraint import initial_point
from ..constraints.primitives import Z
from ..constraints.relation import FORCE
from ..constraints.slip import AboutPoint, AlongAxis, OfGap, OfSurfaces, OnPlane, Slip
from ..constraints.user_gap import UserGap
from ..errors import InputError
from ..util import validate
from .load_shares import LoadShares
from .place import Place
from .plane_of_motion import plane_of_motion
from .slip_direction import friction_direction
from .stick_slip import ACROSS, ALONG, NORMAL, WHOLE, StickSlip

# Number of decimals of the normal of a plane in the axes of a body, so that equal normals share machine code.
DECIMALS = 12
KINDS = "Revolute, Prismatic, Cylindrical, Spherical, PointOnLine, PointOnPlane or Planar"


class Friction(StickSlip):
    """Dry friction in a joint or contact, with sliding and sticking, proportional to the actual normal load.

    While bodies slide, a force of `coefficient` times the normal load N opposes the slip. N is the normal load at the
    same instant. It depends on the friction, and both are solved for simultaneously. While bodies stick, velocity
    constraints hold them as long as the required force is at most `static` times N. Runs locate the transitions in
    time. Normal load and slip are defined as follows:

    * Contact: the normal force; the slip of both surfaces at the contact point.
    * OneSided between two bodies, or one and the ground: the force along the gradient of its gap, which must be a
      length; the slip at its `point`.
    * Prismatic, PointOnLine: the force across the axis; the slip along it.
    * Revolute, Cylindrical: the force across the axis; the slip of a pin of this `radius`, about the axis and, for a
      cylindrical joint, along it as well.
    * Spherical: the total force; the slip of a ball of this `radius`.
    * Planar, PointOnPlane: the force normal to the plane; the slip of the joint point. Spinning about the normal is
      free.

    With `length` the force across an axis is distributed over two bearings at that distance along the axis, symmetric
    to the joint point, which also carry the torque across the axis; N is the sum of both bearing forces.

    Parameters
    ----------
    name : str
    on : Contact, OneSided or Joint
    coefficient : float
        Coefficient of sliding friction, not negative; ``numpy.inf`` for a contact that never slips.
    static : float, optional
        Coefficient of static friction, at least `coefficient`, which is the default.
    radius : float, optional
        Radius of pin or ball, m; required if the joint rotates.
    length : float, optional
        Distance of two bearings, or length of a guide, m.

    Raises
    ------
    InputError
        If an argument is invalid, or the joint is of an unsupported kind.

    Examples
    --------
    >>> slide = quirk.Body.box("slide", 2.0, [0.1, 0.1, 0.1], velocity=[1.0, 0, 0])
    >>> rail = quirk.Prismatic("rail", quirk.GROUND, slide, axis="x")
    >>> system = quirk.System([slide, rail, quirk.Friction("rub", rail, coefficient=0.1)], gravity=[0, 0, -10.0])
    >>> quirk.simulate(system, 2.0, output=0.5).body("slide").position[-1].round(6) + 0.0
    array([0.5, 0. , 0. ])
    """

    # The last three are not used in the law, but for the normal load and the transitions.
    parameters = ("radii", "direction", "floor", "following", "begins", "size", "coefficient", "static", "length")
    aside = ("on", "radius", "takes", "axis", "part", "shares")
    drawing = ""
    sticks = True
    undefined = (
        "no friction force is consistent with the loads that it causes; near this state there is none, or there are "
        "several (Painleve's paradox)"
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
        self.radius = _length(owner, "radius", radius, turns, f"{on} does not turn in a bearing")
        self.length = _length(owner, "length", length, None, f"{on} has no axis", self.takes == ACROSS)
        self.radii, self.part = np.array([self.radius, 0.0]), 0
        if isinstance(on, Contact):
            one, two = reversed(on.surfaces) if on.turned else on.surfaces
            self.radii = np.array([one.radius, two.radius] if on.parts is None else on.numbers_of(0))
        # For contacts that share a load: names of the multipliers that determine the load of this contact, with
        # weights.
        self.shares = LoadShares(((on.name, 0, (1.0,)),) if self.takes == NORMAL else ())
        self.direction = np.zeros(self.slip.size)
        # Set by runs: arguments of `friction_direction`, and the magnitude of the force.
        self.floor, self.following, self.begins, self.size = 0.0, 0.0, 0.0, 0.0
        self.coordinates = ("ahead", *(f"slip_{c + 1}" for c in range(self.slip.size)))
        super().__init__(name, (on.body_i, on.frame_i), (on.body_j, on.frame_j))

    coefficient: float

    @property
    def joint(self) -> Any:
        """The joint or contact on which the friction acts."""
        return self.on

    def sliding_coefficient(self, speed: float) -> float:
        """Return the coefficient of sliding friction, which does not depend on the speed."""
        return self.coefficient

    def load(self, t: Any, i: Place, j: Place) -> Any:
        """Return the friction force (N) and its moment (N m) on both bodies, in the inertial frame.

        `i` and `j` are the moving frames on both bodies.
        """
        components = self.slip(t, i, j, list(self.radii))
        slip = [one.rate for one in components]
        direction = friction_direction(slip, self.direction, self.floor, self.begins, self.following)
        sizes = [-self.size * part for part in direction]
        return [
            (_sum(sizes, [one.force_i for one in components]), _sum(sizes, [one.torque_i for one in components])),
            (_sum(sizes, [one.force for one in components]), _sum(sizes, [one.torque for one in components])),
        ]

    def shown(self, t: Any, i: Place, j: Place) -> Any:
        """Return the component of slip along `self.direction`, followed by all components of slip, m/s.

        `i` and `j` are the moving frames on both bodies.
        """
        slip = [one.rate for one in self.slip(t, i, j, list(self.radii))]
        return [sum(s * e for s, e in zip(slip, self.direction, strict=True)), *slip]

    def sliding(
        self,
        direction: tuple[float, ...],
        floor: float,
        side: int = 1,
        part: int = 0,
        shares: LoadShares | None = None,
        begins: bool = False,
    ) -> Friction:
        """Return a copy of the friction element in the sliding state, with an initial direction of slip.

        Parameters
        ----------
        direction : unit vector of slip
        floor : slip, m/s, below which `direction` is used instead of the direction of the slip
        side : side of the first surface, +1 or -1, on which the components of slip are smooth
        part : index of the face or edge of a bounded surface
        shares : constraint rows whose weighted multipliers add up to the normal load of a contact, or to the difference
            of the load of a joint from that of the run; default: unchanged
        begins : whether slip below `floor` is that at the onset of sliding, whose direction may turn
        """
        return _sliding(self, direction, floor, side, part, self.shares if shares is None else shares, begins)

    def placed(self, bodies: Sequence[Body], constraints: Sequence[Constraint]) -> Friction:
        """Return the element for a system.

        If its constraints keep both bodies in a plane, one tangent of a contact is in this plane and the other across
        it, so that friction across the plane, which has no effect, is not mixed with that along the motion.
        """
        slip = self.slip
        if not isinstance(slip, OfSurfaces | OfGap) or (isinstance(slip, OfSurfaces) and slip.kinds[0] == "plane"):
            return self
        (body, frame), across = self.ends[0], None
        normal = plane_of_motion([self.on.body_i, self.on.body_j], constraints)
        if normal is not None:
            in_frame = (rotation.matrix(body.orientation) @ frame.matrix).T @ normal
            across = tuple((np.round(in_frame, DECIMALS) + 0.0).tolist())
        return self if across == slip.across else self.with_values({"slip": replace(slip, across=across)})

    def on_part(self, part: int) -> Friction:
        """Return the friction element for face or edge `part` of a bounded surface, otherwise the element itself."""
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
    shares: LoadShares,
    begins: bool,
) -> Friction:
    known = {"direction": np.array(direction), "floor": floor, "slip": friction.on_side(side), "shares": shares}
    return friction.on_part(part).with_values({**known, "begins": float(begins)})


def _sum(sizes: list[Any], vectors: list[Any]) -> Any:
    return sum(size * vector for size, vector in zip(sizes, vectors, strict=True))


def _kind(owner: str, on: Any) -> tuple[Slip, int, int]:
    """Return the slip function, the kind of normal load and the axis index for friction in `on`, a joint or contact.

    The kind is NORMAL, ACROSS, WHOLE or ALONG. The index (0, 1 or 2) is that of the joint axis or surface normal in
    frame i.
    """
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
    if isinstance(on, Joint) and not isinstance(on, Universal) and not on.of_three:
        turns, slides = on.rotation_axis, on.translation_axis
        axis = turns if slides is None else slides
        if axis is not None and turns in (None, axis):
            return AlongAxis(axis, slides is not None, turns is not None), ACROSS, axis
    raise InputError(f"{owner}: on must be a Contact, a OneSided, or a {KINDS} joint; got {on!r}")


def _of_gap(owner: str, on: OneSided) -> OfGap:
    """Return the slip function of two bodies for the user-defined gap of a `OneSided` constraint.

    An InputError is raised unless `on` acts between two bodies, measures a length and has a contact point.
    """
    (gap,) = on.gaps
    if len(on.members) != 2 or gap.units != (FORCE,):
        raise InputError(
            f'{owner}: {on} must act between two bodies, or one and the ground, with unit="force", to have friction'
        )
    if on.point is None:
        raise InputError(
            f"{owner}: {on} has no contact point: give it point=, a point (3,) in the coordinates of "
            "the last body, or a function point(t, a, b, ...) that returns the place in the inertial frame"
        )
    assert isinstance(gap.function, UserGap)
    return OfGap(gap.function, on.point)


def _length(owner: str, argument: str, value: Any, required: bool | None, reason: str, allowed: bool = True) -> float:
    """Return a length (m) from the user's argument `value`; zero if it is None.

    `required` says whether the value must be given (True), must not be given (False) or is optional (None); a value is
    also refused if `allowed` is False. Violations raise an InputError that states `reason`.
    """
    if value is None:
        if required:
            raise InputError(f"{owner}: {argument} must be given, in m, because the joint rotates")
        return 0.0
    if required is False or not allowed:
        raise InputError(f"{owner}: {argument} has no effect, because {reason}: leave it out")
    return validate.positive(owner, argument, value)
