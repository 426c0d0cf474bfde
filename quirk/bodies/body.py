"""Rigid bodies and the ground."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..util import validate
from ..util.construction import remembered, with_keywords
from ..util.immutable import Immutable
from . import rotation
from .frame import Frame, axes_with_z
from .inertia import INERTIA_TOLERANCE, LARGEST_TOLERANCE, checked_inertia
from .mesh import Mesh, mesh_as_solid
from .rotation import OrientationLike
from .shape import ColorLike
from .solids import Box, Cylinder, Ellipsoid, Shape, lengths, solid_cylinder


class Placed(Immutable):
    """Base class of the parts with an initial pose: bodies and the ground."""

    name: str
    position: np.ndarray
    orientation: np.ndarray

    def local(self, point: ArrayLike) -> np.ndarray:
        """Return the body coordinates (3,), m, of a point (3,) given in the inertial frame, m, for the initial pose."""
        point = validate.array(f"{self}", "point", point, (3,))
        return rotation.matrix(self.orientation).T @ (point - self.position)

    def direction(self, vector: ArrayLike) -> np.ndarray:
        """Return the components (3,) in body axes of a vector (3,) given in inertial axes, for the initial pose."""
        vector = validate.array(f"{self}", "vector", vector, (3,))
        return rotation.matrix(self.orientation).T @ vector


class InitialMotion(TypedDict, total=False):
    """Keyword arguments accepted by `Body.bar`; the other class methods of `Body` also accept an initial pose."""

    velocity: ArrayLike
    angular_velocity: ArrayLike
    inertia_tolerance: float
    frames: Mapping[str, Frame] | None


class Initial(InitialMotion, total=False):
    """Keyword arguments of `InitialMotion`, with an initial pose."""

    position: ArrayLike
    orientation: OrientationLike


class Body(Placed):
    """A rigid body with its initial pose and velocity.

    Parameters
    ----------
    name : str
        Unique in a system.
    mass : float
        Mass, kg, positive.
    inertia : (3,) or (3, 3)
        Principal moments, or the tensor, about the center of mass in body axes, kg m^2. Off-diagonal
        elements are those of the tensor: Ixy = -integral of x y dm.
    inertia_tolerance : float
        Fraction by which the largest principal moment may exceed the sum of the other two, to admit rounded data-sheet
        values. The moments are not modified.
    position : (3,)
        Center of mass in the inertial frame, m.
    orientation : 4 floats (w, x, y, z), matrix (3, 3), `quaternion.quaternion` or scipy `Rotation`
        Body to inertial, so that the columns of a matrix are the body axes; 4 floats are normalized.
    velocity : (3,)
        Velocity of the center of mass in the inertial frame, m/s.
    angular_velocity : (3,)
        In body axes, rad/s.
    frames : dict of Frame, optional
        Named frames fixed in the body; `add_frame` adds more.
    shape : Shape or list of Shape, optional
        Shapes for graphics, from `quirk.shapes`: `Box`, `Cylinder`, `Ellipsoid` or `Mesh`, each with its frame in the
        body and an optional color. They do not affect the motion; `Body.box` and the other class methods set them.

    Attributes
    ----------
    shapes : tuple of Shape
        All shapes for graphics; `shape` is the first of them, or None.

    Raises
    ------
    InputError
        If a value has the wrong shape, is not finite, or is not a possible mass or inertia.

    Examples
    --------
    >>> rod = quirk.Body("rod", mass=2.0, inertia=[0.01, 0.2, 0.2], position=[0.5, 0, 0], velocity=[0, 0, 1])
    >>> rod.local([1.0, 0, 0])
    array([0.5, 0. , 0. ])
    """

    # Constraints that belong to the body, such as that of a planar body to its plane; a system adds them with the body.
    companions: tuple[Any, ...] = ()

    def __init__(
        self,
        name: str,
        mass: float,
        inertia: ArrayLike,
        *,
        position: ArrayLike = (0, 0, 0),
        orientation: OrientationLike = (1, 0, 0, 0),
        velocity: ArrayLike = (0, 0, 0),
        angular_velocity: ArrayLike = (0, 0, 0),
        inertia_tolerance: float = INERTIA_TOLERANCE,
        shape: Shape | Sequence[Shape] | None = None,
        frames: Mapping[str, Frame] | None = None,
    ) -> None:
        self.name = validate.name("Body", name)
        owner = str(self)
        self.mass = validate.positive(owner, "mass", mass)
        tolerance = validate.non_negative(owner, "inertia_tolerance", inertia_tolerance)
        if tolerance > LARGEST_TOLERANCE:
            raise InputError(
                f"{owner}: inertia_tolerance is a part of the largest moment, at most {LARGEST_TOLERANCE:g}; "
                f"got {tolerance:g}"
            )
        self.inertia = checked_inertia(owner, inertia, tolerance)
        self.position = validate.array(owner, "position", position, (3,))
        self.orientation = rotation.as_orientation(owner, "orientation", orientation)
        self.velocity = validate.array(owner, "velocity", velocity, (3,))
        self.angular_velocity = validate.array(owner, "angular_velocity", angular_velocity, (3,))
        self.shapes = _checked_shapes(owner, shape)
        self.frames: dict[str, Frame] = {}
        for label, frame in (frames or {}).items():
            self.add_frame(label, frame)

    def add_frame(self, name: str, frame: Frame) -> Frame:
        """Add a named frame, for joints (frame_i="tip") and results (result["rod"].frame("tip"))."""
        validate.name(f"{self}: frame", name)
        if not isinstance(frame, Frame):
            raise InputError(f"{self}: frame {name!r} must be a quirk.Frame in body coordinates; got {frame!r}")
        if name in self.frames:
            raise InputError(f"{self}: has a frame of the name {name!r} already")
        self.frames[name] = frame
        return frame

    def frame(self, name: str) -> Frame:
        """Return the frame named `name`."""
        if name not in self.frames:
            raise InputError(f"{self}: has no frame {name!r}; there are: {', '.join(self.frames) or 'none'}")
        return self.frames[name]

    @property
    def shape(self) -> Shape | None:
        """The first of the body's shapes for graphics, or None if it has no shape."""
        return self.shapes[0] if self.shapes else None

    @classmethod
    @remembered
    @with_keywords(__init__, Initial)
    def box(
        cls, name: str, mass: float, size: ArrayLike, *, color: ColorLike | None = None, **initial: Unpack[Initial]
    ) -> Self:
        """Return a solid box of uniform density.

        Parameters
        ----------
        name : str
        mass : float
            Mass, kg, positive.
        size : (3,)
            Edge lengths along the body axes, m.
        color : optional
            Color for graphics: any matplotlib color.
        position, orientation, velocity, angular_velocity, inertia_tolerance, frames : as for `Body`

        Raises
        ------
        InputError
            If an argument is invalid.

        Examples
        --------
        >>> quirk.Body.box("crate", mass=3.0, size=[1, 2, 3]).inertia.diagonal()
        array([3.25, 2.5 , 1.25])
        """
        return cls._solid(name, mass, Box(lengths(f'Body "{name}"', "size", size), color=color), initial)

    @classmethod
    @remembered
    @with_keywords(__init__, Initial)
    def cylinder(
        cls,
        name: str,
        mass: float,
        radius: float,
        length: float,
        axis: ArrayLike = "z",
        *,
        color: ColorLike | None = None,
        **initial: Unpack[Initial],
    ) -> Self:
        """Return a solid cylinder of uniform density.

        Parameters
        ----------
        name : str
        mass : float
            Mass, kg, positive.
        radius, length : float
            Radius and length, m, positive.
        axis : "x", "y", "z" or (3,)
            Direction of the axis in body axes.
        color, position, orientation, velocity, angular_velocity, inertia_tolerance, frames : as for `Body.box`

        Examples
        --------
        >>> quirk.Body.cylinder("wheel", mass=2.0, radius=1.0, length=3.0).inertia.diagonal()
        array([2., 2., 1.])
        """
        return cls._solid(name, mass, solid_cylinder(f'Body "{name}"', radius, length, axis, color), initial)

    @classmethod
    @remembered
    @with_keywords(__init__, InitialMotion)
    def bar(
        cls,
        name: str,
        start: ArrayLike,
        end: ArrayLike,
        mass: float,
        *,
        radius: float | None = None,
        color: ColorLike | None = None,
        **initial: Unpack[InitialMotion],
    ) -> Self:
        """Return a solid cylinder between two points, whose x axis points from `start` to `end`.

        Parameters
        ----------
        name : str
        start, end : (3,)
            Ends of the axis in the inertial frame, m.
        mass : float
            Mass, kg, positive.
        radius : float, optional
            Radius, m; default: a fortieth of the length.
        color, velocity, angular_velocity, inertia_tolerance, frames : as for `Body.box`

        Examples
        --------
        >>> quirk.Body.bar("arm", [0, 0, 0], [0, 0, -2], mass=1.0).position
        array([ 0.,  0., -1.])
        """
        owner = f'Body "{name}"'
        first, last = (validate.array(owner, key, point, (3,)) for key, point in (("start", start), ("end", end)))
        length = float(np.linalg.norm(last - first))
        if length <= validate.ZERO_LENGTH * max(np.abs(first).max(), np.abs(last).max()):
            raise InputError(f"{owner}: start and end must differ; got {first.tolist()} and {last.tolist()}")
        axes = axes_with_z((last - first) / length)[:, [2, 0, 1]]
        radius = length / 40 if radius is None else validate.positive(owner, "radius", radius)
        pose = {"position": (first + last) / 2, "orientation": rotation.from_matrix(axes)}
        return cls._solid(name, mass, Cylinder(radius, length, "x", color=color), {**pose, **initial})

    @classmethod
    @remembered
    @with_keywords(__init__, Initial)
    def sphere(
        cls, name: str, mass: float, radius: float, *, color: ColorLike | None = None, **initial: Unpack[Initial]
    ) -> Self:
        """Return a solid sphere of uniform density.

        Parameters
        ----------
        name : str
        mass : float
            Mass, kg, positive.
        radius : float
            Radius, m, positive.
        color, position, orientation, velocity, angular_velocity, inertia_tolerance, frames : as for `Body.box`

        Examples
        --------
        >>> quirk.Body.sphere("ball", mass=5.0, radius=1.0).inertia.diagonal()
        array([2., 2., 2.])
        """
        radius = validate.positive(f'Body "{name}"', "radius", radius)
        return cls._solid(name, mass, Ellipsoid((radius, radius, radius), color=color), initial)

    @classmethod
    @remembered
    @with_keywords(__init__, Initial)
    def ellipsoid(
        cls,
        name: str,
        mass: float,
        semi_axes: ArrayLike,
        *,
        color: ColorLike | None = None,
        **initial: Unpack[Initial],
    ) -> Self:
        """Return a solid ellipsoid of uniform density.

        Parameters
        ----------
        name : str
        mass : float
            Mass, kg, positive.
        semi_axes : (3,)
            Semi-axes along the body axes, m.
        color, position, orientation, velocity, angular_velocity, inertia_tolerance, frames : as for `Body.box`

        Examples
        --------
        >>> quirk.Body.ellipsoid("egg", mass=5.0, semi_axes=[1, 1, 2]).inertia.diagonal()
        array([5., 5., 2.])
        """
        shape = Ellipsoid(lengths(f'Body "{name}"', "semi_axes", semi_axes), color=color)
        return cls._solid(name, mass, shape, initial)

    @classmethod
    @with_keywords(__init__, Initial)
    def from_mesh(
        cls,
        name: str,
        mesh: str | Path | Mesh,
        *,
        mass: float | None = None,
        density: float | None = None,
        scale: ArrayLike = 1.0,
        color: ColorLike | None = None,
        origin: ArrayLike | None = None,
        **initial: Unpack[Initial],
    ) -> Self:
        """Return a solid of uniform density, bounded by the closed surface of a mesh file or `quirk.shapes.Mesh`.

        The body axes are those of the mesh; the body's origin is the computed center of mass.

        Parameters
        ----------
        mesh : name of a mesh file, or Mesh
        mass, density : float
            Exactly one of them, kg or kg/m^3.
        scale, color : for a file, as for `quirk.shapes.Mesh.load`
        origin : (3,), optional
            Position of the mesh's origin in the inertial frame, m, instead of `position`; [0, 0, 0] keeps the
            coordinates of the drawing.
        position, orientation, velocity, angular_velocity, inertia_tolerance, frames : as for `Body`

        Raises
        ------
        InputError
            If the surface is not closed, or the file cannot be read.
        """
        owner = f'Body "{validate.name("Body", name)}"'
        solid = mesh_as_solid(owner, mesh, mass, density, scale, color)
        if origin is not None:
            if "position" in initial:
                raise InputError(f"{owner}: give position, of the center of mass, or origin, of the mesh, not both")
            orientation = rotation.as_orientation(owner, "orientation", initial.get("orientation", rotation.IDENTITY))
            origin = validate.array(owner, "origin", origin, (3,))
            initial["position"] = origin + rotation.matrix(orientation) @ solid.center
        return cls(name, solid.mass, solid.inertia, shape=solid.shape, **initial)

    @classmethod
    def _solid(cls, name: str, mass: float, shape: Shape, initial: Mapping[str, Any]) -> Self:
        """Return a solid of uniform density with one shape; `initial` are further keyword arguments of `Body`."""
        mass = validate.positive(f'Body "{name}"', "mass", mass)
        return cls(name, mass, shape.inertia(mass), shape=shape, **initial)

    def __str__(self) -> str:
        return f'Body "{self.name}"'

    def __repr__(self) -> str:
        return f"<{self}: {self.mass:g} kg>"


class Ground(Placed):
    """The inertial frame as a body to which joints can be attached; use `quirk.GROUND`."""

    def __init__(self) -> None:
        self.name = "ground"
        self.position = np.zeros(3)
        self.orientation = rotation.IDENTITY.copy()
        self.velocity = np.zeros(3)
        self.angular_velocity = np.zeros(3)

    def __reduce__(self) -> str:
        """Return the name of the only object, to which pickles and copies refer."""
        return "GROUND"

    def __repr__(self) -> str:
        return "quirk.GROUND"


GROUND = Ground()


def checked_body(owner: str, argument: str, value: Any) -> Body | Ground:
    """Return `value` if it is a body or the ground; otherwise raise an InputError.

    `owner` and `argument` name the object under construction and its argument in the message.
    """
    if not isinstance(value, Body | Ground):
        raise InputError(f"{owner}: {argument} must be a quirk.Body or quirk.GROUND; got {value!r}")
    return value


def _checked_shapes(owner: str, value: Any) -> tuple[Shape, ...]:
    """Return the shapes of a body as a tuple.

    `value` is the user's argument: a Shape, a list of shapes, or None. Other values raise an InputError.
    """
    shapes = tuple(value) if isinstance(value, list | tuple) else () if value is None else (value,)
    for shape in shapes:
        if not isinstance(shape, Shape):
            raise InputError(f"{owner}: shape must be one of quirk.shapes, or a list of such; got {shape!r}")
    return shapes
