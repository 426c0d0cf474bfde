"""Planar gears and rolling: an angle proportional to another angle or to a distance.

Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from quirk.autodiff.jet import Jet
from quirk.bodies.body import Body, Ground
from quirk.bodies.frame import Frame
from quirk.errors import InputError
from quirk.util import validate

from ..angle import twist
from ..gear import checked_ratio, mesh, meshing, rolling_angles
from ..primitives import X, Z
from ..relation import FORCE, MovingFrame, Relation
from .body import PlanarBody
from .constraint import PlanarConstraint, common_plane, coordinates, frame_at
from .coordinates import PLANE, plane_numbers, resting_frame


def mesh_in_plane(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the residual of the angles of two gears, rad; their carrier is the plane."""
    return mesh(t, [*frames, resting_frame(numbers)], numbers[PLANE:], motions)


def rolling_in_plane(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the residual of the rates of two gears, rad/s; their carrier is the plane."""
    return rolling_angles(t, [*frames, resting_frame(numbers)], numbers[PLANE:], motions)


def rolling_along(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the displacement along x of frame i minus radius times angle (m), modulo full turns."""
    i, j = frames
    radius, offset = numbers
    displacement = i.rotation[:, X] @ (j.position - i.position)
    return [(displacement - twist(i, j, Z) * radius - offset).wrapped(radius * (2 * np.pi))]


class GearPair(PlanarConstraint):
    """Two gears, sprockets or pulleys on bearings in the plane, 1 row: phi_j = K phi_i + C; its load is a torque.

    Phi = phi_j - K phi_i - C ("Two-dimensional constraints" notes, gear pair). Only the angles are coupled: bearings
    are separate joints. A ratio of integers (up to 200 teeth per wheel) is imposed on the angles, over any number of
    turns, modulo the angle of one tooth; any other ratio is imposed on the rates, and the angles drift by the
    integration error.

    Parameters
    ----------
    ratio : float
        Ratio K of the gears, nonzero: -r_i / r_j for external gears, r_i / r_j for internal gears, chains and belts.
    offset : float, optional
        Offset C of the angles, rad; default: the value for which Phi is zero at the initial poses.

    Examples
    --------
    >>> a = quirk.planar.PlanarBody.cylinder("a", 1.0, 0.1, 0.02)
    >>> b = quirk.planar.PlanarBody.cylinder("b", 1.0, 0.1, 0.02, position=[0.2, 0])
    >>> pins = [quirk.planar.Revolute(f"pin {w.name}", quirk.GROUND, w, point=w.coordinates[:2]) for w in (a, b)]
    >>> mesh = quirk.planar.GearPair("mesh", a, b, ratio=-1.0)
    >>> quirk.System([a, b, *pins, mesh]).mobility().degrees_of_freedom
    1
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        *,
        ratio: float,
        offset: float | None = None,
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, active)
        self.ratio = checked_ratio(str(self), ratio)
        placed = coordinates(body_j)[2] - self.ratio * coordinates(body_i)[2]
        self.offset = placed if offset is None else validate.number(str(self), "offset", offset)
        functions = mesh_in_plane, rolling_in_plane
        self.primitives = (meshing(self.ratio, self.offset, functions, plane_numbers(self.plane)),)


class GearOnLink(PlanarConstraint):
    """Two gears on a rotating link k, 1 row: phi_j - phi_k = K (phi_i - phi_k) + C.

    Phi = (phi_j - phi_k) - K (phi_i - phi_k) - C ("Two-dimensional constraints" notes, gear pair on rotating link k).
    The load is the torque on gear j; gear i receives -K times that torque, and the link the reaction of both. Ratios of
    integers and other ratios are treated as in `GearPair`.

    Parameters
    ----------
    link : PlanarBody or GROUND
        Body k, which carries both bearings, such as the arm of a planetary gear.
    ratio : float
        Ratio K of the gears, nonzero: -r_i / r_j for external gears, r_i / r_j for internal gears, chains and belts.
    offset : float, optional
        Offset C of the angles, rad; default: the value for which Phi is zero at the initial poses.

    Examples
    --------
    >>> sun = quirk.planar.PlanarBody.cylinder("sun", 1.0, 0.1, 0.02)
    >>> planet = quirk.planar.PlanarBody.cylinder("planet", 1.0, 0.1, 0.02, position=[0.2, 0])
    >>> arm = quirk.planar.PlanarBody.bar("arm", [0, 0], [0.2, 0], mass=0.1)
    >>> pins = [quirk.planar.Revolute(f"pin {b.name}", quirk.GROUND, b, point=[0, 0]) for b in (sun, arm)]
    >>> axle = quirk.planar.Revolute("axle", arm, planet, point=[0.2, 0])
    >>> mesh = quirk.planar.GearOnLink("mesh", sun, planet, arm, ratio=-1.0)
    >>> quirk.System([sun, planet, arm, *pins, axle, mesh]).mobility().degrees_of_freedom
    2
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        link: PlanarBody | Ground,
        *,
        ratio: float,
        offset: float | None = None,
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, active)
        owner = str(self)
        common_plane(owner, {"body_i": body_i, "body_j": body_j, "link": link})
        if link is body_i or link is body_j:
            raise InputError(f"{owner}: link must be neither of the gears; got {link}")
        self.link, self.frame_link = link, frame_at(self.plane, link, np.zeros(2))
        self.ratio = checked_ratio(owner, ratio)
        angle_i, angle_j, angle_k = (coordinates(body)[2] for body in (body_i, body_j, link))
        placed = (angle_j - angle_k) - self.ratio * (angle_i - angle_k)
        self.offset = placed if offset is None else validate.number(owner, "offset", offset)
        self.primitives = (meshing(self.ratio, self.offset),)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """Gear i, gear j and the link, each with its frame."""
        return *super().ends, (self.link, self.frame_link)


class Rolling(PlanarConstraint):
    """A wheel, body j, rolls without slip along a line of body i, 1 row; its load is the force on the wheel.

    ``Phi = a_i . d / |a_i| - rho (phi_j - phi_i) - C`` with d = r_j^P - r_i^P ("Two-dimensional constraints" notes,
    pure rolling along planar parallel-2 distance); a `PinInSlot` keeps the height of the wheel's center. The force is
    along the line; with its moment rho F about the wheel's center it is the friction force at the rim.

    Parameters
    ----------
    radius : float
        Signed radius rho of the wheel, m, nonzero: positive if the line is to the left of the wheel's center as seen
        along vector_i, so that motion along vector_i rotates the wheel by a positive angle; negative if the line is to
        the right, as for a floor along x.
    point_i : (2,), body axes
        Origin of the distance, in the coordinates of body i, m.
    vector_i : (2,)
        Direction of the line in the coordinates of body i, nonzero.
    point_j : (2,), body axes
        Center of the wheel in the coordinates of body j, m.
    offset : float, optional
        Offset C of the distance, m; default: the value for which Phi is zero at the initial poses.

    Examples
    --------
    >>> wheel = quirk.planar.PlanarBody.cylinder("wheel", 1.0, 0.5, 0.1, position=[0, 0.5])
    >>> road = quirk.planar.Rolling("road", quirk.GROUND, wheel, radius=0.5, vector_i=[1, 0])
    >>> quirk.System([wheel, road]).mobility().degrees_of_freedom
    2
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        *,
        radius: float,
        point_i: ArrayLike = (0, 0),
        vector_i: ArrayLike,
        point_j: ArrayLike = (0, 0),
        offset: float | None = None,
        active: bool = True,
    ) -> None:
        # Both frames are rotated alike, so that the angle between them is that between the bodies.
        vectors = {"vector_i": vector_i, "vector_j": vector_i}
        super().__init__(name, body_i, body_j, active, point_i=point_i, point_j=point_j, **vectors)
        owner = str(self)
        self.radius = validate.number(owner, "radius", radius)
        if abs(self.radius) <= 0:
            raise InputError(f"{owner}: radius must not be zero; without one, planar.SlotDriver holds the distance")
        turned = coordinates(body_j)[2] - coordinates(body_i)[2]
        placed = self.initial_separation()[X] - self.radius * turned
        self.offset = placed if offset is None else validate.number(owner, "offset", offset)
        relation = Relation(rolling_along, ("distance rolled",), (FORCE,), (self.radius, self.offset))
        self.primitives = (relation,)
