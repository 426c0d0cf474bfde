"""A body that moves in a plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from quirk import rotation, validate
from quirk.body import GROUND, INERTIA_TOLERANCE, Body
from quirk.errors import InputError
from quirk.frame import Frame
from quirk.made import remembered
from quirk.shapes import Box, Shape

from ..joints import Planar
from .plane import XY, Plane

# Width of a bar over its length, unless it is given.
SLENDER = 1 / 20


class PlanarBody(Body):
    """A rigid body kept in a plane fixed in N, with its z axis along the plane's normal.

    A system takes in with it what keeps it there: `Planar` "NAME in plane", of three rows. The loads of that
    constraint are what would pull the body out of its plane; it leaves the motion in the plane alone.

    Parameters
    ----------
    name : str
        Unique in a system.
    mass : float
        kg, positive.
    inertia : float, (3,) or (3, 3)
        Moment about the plane's normal through the centre of mass, kg m^2; the body is then as flat as a plate. Or
        principal moments, or the tensor, in body axes.
    plane : Plane
        Default: the x-y plane of N.
    position : (2,)
        Centre of mass in the plane, m.
    angle : float
        From the plane's x axis to the body's, about the normal, rad.
    velocity : (2,)
        Of the centre of mass, along the plane's axes, m/s.
    angular_velocity : float
        About the normal, rad/s.
    inertia_tolerance, frames, shape : as for `Body`

    Attributes
    ----------
    plane : Plane
    coordinates : (3,) x, y, m, and angle, rad, at the initial pose
    position, orientation, velocity, angular_velocity : as those of any `Body`, (3,) or (4,), in N and body axes

    Raises
    ------
    InputError
        If a value has the wrong shape, is not finite, or is no possible mass or inertia.
    """

    def __init__(
        self,
        name: str,
        mass: float,
        inertia: Any,
        *,
        plane: Plane = XY,
        position: Any = (0, 0),
        angle: float = 0.0,
        velocity: Any = (0, 0),
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
        angle = validate.number(owner, "angle", angle)
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
    def bar(
        cls,
        name: str,
        start: Any,
        end: Any,
        mass: float,
        *,
        width: float | None = None,
        thickness: float | None = None,
        **initial: Any,
    ) -> Self:
        """Return a uniform bar between two points of the plane, its x axis from start to end.

        Parameters
        ----------
        start, end : (2,)
            In the plane, m; the centre of mass is in the middle.
        width, thickness : float, optional
            m, in the plane and along its normal; default: a twentieth of the length, and the width.
        initial
            As for `PlanarBody`, less position and angle.
        """
        owner = f'Body "{name}"'
        one, two = (validate.array(owner, key, xy, (2,)) for key, xy in (("start", start), ("end", end)))
        length = float(np.hypot(*(two - one)))
        if length <= 0:
            raise InputError(f"{owner}: start and end must differ; got {one.tolist()} twice")
        width = SLENDER * length if width is None else validate.positive(owner, "width", width)
        thickness = width if thickness is None else validate.positive(owner, "thickness", thickness)
        pose = {"position": 0.5 * (one + two), "angle": np.arctan2(*(two - one)[::-1])}
        return cls._solid(name, mass, Box((length, width, thickness)), dict(**pose, **initial))


def about_normal(angle: float) -> np.ndarray:
    """Return the turn (4,) by an angle about z."""
    return rotation.exp(np.array([0.0, 0.0, angle]))
