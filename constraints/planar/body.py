"""A rigid body that moves in a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from quirk.bodies import rotation
from quirk.bodies.body import GROUND, Body
from quirk.bodies.frame import Frame
from quirk.bodies.inertia import INERTIA_TOLERANCE
from quirk.bodies.shape import ColorLike
from quirk.bodies.solids import Box, Ellipsoid, Shape, lengths, solid_cylinder
from quirk.errors import InputError
from quirk.functions import degrees
from quirk.util import validate
from quirk.util.construction import remembered, with_keywords

from ..joints import Planar
from .plane import XY, Plane

# Default ratio of a bar's width to its length.
SLENDER = 1 / 20


class PlanarMotion(TypedDict, total=False):
    """Keyword arguments accepted by all class methods of `PlanarBody`."""

    plane: Plane
    velocity: ArrayLike
    angular_velocity: float
    inertia_tolerance: float
    frames: Mapping[str, Frame] | None


class PlanarInitial(PlanarMotion, total=False):
    """Keyword arguments of `PlanarMotion`, with an initial pose."""

    position: ArrayLike
    angle: float


class PlanarBody(Body):
    """A rigid body in a plane fixed in the inertial frame, with its z axis along the plane's normal.

    A system adds the constraint `Planar` "NAME in plane", with three rows, which keeps the body in the plane. Its loads
    are the force along the normal and the torque perpendicular to it; the motion in the plane is not constrained.

    Parameters
    ----------
    name : str
        Unique in a system.
    mass : float
        Mass, kg, positive.
    inertia : float, (3,) or (3, 3)
        Moment of inertia about the plane's normal through the center of mass, kg m^2, of a thin plate; or the principal
        moments (3,) or the inertia tensor (3, 3) in body axes.
    plane : Plane
        Default: the x-y plane of the inertial frame.
    position : (2,)
        Center of mass in the plane, m.
    angle : float
        Angle from the plane's x axis to the body's x axis, about the normal, rad.
    velocity : (2,)
        Velocity of the center of mass along the plane's axes, m/s.
    angular_velocity : float
        Angular velocity about the normal, rad/s.
    inertia_tolerance, frames, shape : as for `Body`

    Attributes
    ----------
    plane : Plane
    coordinates : (3,) x, y, m, and angle, rad, at the initial pose
    position, orientation, velocity, angular_velocity : as for any `Body`, (3,) or (4,), inertial frame and body axes

    Raises
    ------
    InputError
        If a value has the wrong shape, is not finite, or is not a possible mass or inertia.

    Examples
    --------
    >>> slider = quirk.planar.PlanarBody("slider", 1.0, 0.1, position=[1.0, 2.0], angle=0.5)
    >>> slider.coordinates
    array([1. , 2. , 0.5])
    """

    def __init__(
        self,
        name: str,
        mass: float,
        inertia: ArrayLike,
        *,
        plane: Plane = XY,
        position: ArrayLike = (0, 0),
        angle: float = 0.0,
        velocity: ArrayLike = (0, 0),
        angular_velocity: float = 0.0,
        inertia_tolerance: float = INERTIA_TOLERANCE,
        shape: Shape | Sequence[Shape] | None = None,
        frames: Mapping[str, Frame] | None = None,
    ) -> None:
        owner = f'Body "{validate.name("Body", name)}"'
        if not isinstance(plane, Plane):
            raise InputError(f"{owner}: plane must be a quirk.planar.Plane; got {plane!r}")
        given = validate.numbers(inertia)
        if given is not None and given.shape == ():
            inertia = validate.positive(owner, "inertia", inertia) * np.array([0.5, 0.5, 1.0])
        x, y = validate.array(owner, "position", position, (2,))
        angle = degrees.counting_turns(owner, "angle", angle)
        super().__init__(
            name,
            mass,
            inertia,
            position=plane.point([x, y]),
            orientation=rotation.multiply(plane.orientation, about_normal(angle)),
            velocity=plane.vector(validate.array(owner, "velocity", velocity, (2,))),
            angular_velocity=[0.0, 0.0, validate.number(owner, "angular_velocity", angular_velocity)],
            inertia_tolerance=inertia_tolerance,
            shape=shape,
            frames=frames,
        )
        self.plane = plane
        self.coordinates = np.array([x, y, angle])
        self.companions = (Planar(f"{name} in plane", GROUND, self, frame_i=plane.frame, frame_j=Frame()),)

    @classmethod
    @remembered
    @with_keywords(__init__, PlanarMotion)
    def bar(  # type: ignore[override]
        cls,
        name: str,
        start: ArrayLike,
        end: ArrayLike,
        mass: float,
        *,
        width: float | None = None,
        thickness: float | None = None,
        color: ColorLike | None = None,
        **initial: Unpack[PlanarMotion],
    ) -> Self:
        """Return a uniform bar between two points of the plane, with its x axis from start to end.

        Parameters
        ----------
        start, end : (2,)
            End points in the plane, m; the center of mass is midway.
        width, thickness : float, optional
            Size in the plane and along its normal, m; default: a twentieth of the length, and the width.
        color, plane, velocity, angular_velocity, inertia_tolerance, frames : as for `PlanarBody` and `Body.box`
        """
        owner = f'Body "{name}"'
        one, two = (validate.array(owner, key, xy, (2,)) for key, xy in (("start", start), ("end", end)))
        length = float(np.hypot(*(two - one)))
        if length <= 0:
            raise InputError(f"{owner}: start and end must differ; got {one.tolist()} twice")
        width = SLENDER * length if width is None else validate.positive(owner, "width", width)
        thickness = width if thickness is None else validate.positive(owner, "thickness", thickness)
        pose = {"position": 0.5 * (one + two), "angle": np.arctan2(*(two - one)[::-1])}
        return cls._solid(name, mass, Box((length, width, thickness), color=color), {**pose, **initial})

    @classmethod
    @remembered
    @with_keywords(__init__, PlanarInitial)
    def box(  # type: ignore[override]
        cls,
        name: str,
        mass: float,
        size: ArrayLike,
        *,
        color: ColorLike | None = None,
        **initial: Unpack[PlanarInitial],
    ) -> Self:
        """Return a solid box like `Body.box`, with the pose and velocity of a `PlanarBody`."""
        return cls._solid(name, mass, Box(lengths(f'Body "{name}"', "size", size), color=color), initial)

    @classmethod
    @remembered
    @with_keywords(__init__, PlanarInitial)
    def cylinder(  # type: ignore[override]
        cls,
        name: str,
        mass: float,
        radius: float,
        length: float,
        axis: ArrayLike = "z",
        *,
        color: ColorLike | None = None,
        **initial: Unpack[PlanarInitial],
    ) -> Self:
        """Return a solid cylinder like `Body.cylinder`, with the pose and velocity of a `PlanarBody`."""
        return cls._solid(name, mass, solid_cylinder(f'Body "{name}"', radius, length, axis, color), initial)

    @classmethod
    @remembered
    @with_keywords(__init__, PlanarInitial)
    def sphere(  # type: ignore[override]
        cls, name: str, mass: float, radius: float, *, color: ColorLike | None = None, **initial: Unpack[PlanarInitial]
    ) -> Self:
        """Return a solid sphere like `Body.sphere`, with the pose and velocity of a `PlanarBody`."""
        radius = validate.positive(f'Body "{name}"', "radius", radius)
        return cls._solid(name, mass, Ellipsoid((radius, radius, radius), color=color), initial)

    @classmethod
    @remembered
    @with_keywords(__init__, PlanarInitial)
    def ellipsoid(  # type: ignore[override]
        cls,
        name: str,
        mass: float,
        semi_axes: ArrayLike,
        *,
        color: ColorLike | None = None,
        **initial: Unpack[PlanarInitial],
    ) -> Self:
        """Return a solid ellipsoid like `Body.ellipsoid`, with the pose and velocity of a `PlanarBody`."""
        shape = Ellipsoid(lengths(f'Body "{name}"', "semi_axes", semi_axes), color=color)
        return cls._solid(name, mass, shape, initial)


def about_normal(angle: float) -> np.ndarray:
    """Return the quaternion (4,) of a rotation by an angle (rad) about z."""
    return rotation.exp(np.array([0.0, 0.0, angle]))
