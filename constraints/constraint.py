"""Base classes of constraints: two bodies, a frame on each, and a list of primitives.

A new joint made of existing primitives is a class with one declaration::

 class Cylindrical(Joint):
     primitives = (dot1(Z, X), dot1(Z, Y), dot2(X), dot2(Y))

Rows, loads and relative coordinates are derived from this declaration.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..bodies import rotation
from ..bodies.body import Body, Ground, checked_body
from ..bodies.frame import Frame, axes_with_z
from ..errors import InputError
from ..functions.motion import Motion
from ..util import validate
from ..util.immutable import Immutable
from ..util.validate import PointsLike
from .primitives import Primitive, Y
from .relation import Relation


class Constraint(Immutable):
    """A constraint between body i (lower) and body j (upper).

    Attributes
    ----------
    name : str
    body_i, body_j : Body or GROUND
    frame_i, frame_j : Frame
        The joint frames in the coordinates of their bodies. The joint load acts at the origin of frame j.
    active : bool
        An inactive constraint contributes no rows and carries no load.
    primitives : tuple of Primitive or Relation
        The rows, in order; axes refer to the two frames.
    row_count : int or None
        Number of rows, counted from the primitives if the class lists them; None if it depends on the arguments.

    Examples
    --------
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, quirk.Body.sphere("ball", 1.0, 0.1), point=[0, 0, 0], axis="y")
    >>> isinstance(hinge, quirk.Constraint), hinge.labels[0]
    (True, 'hinge: coincidence along x')
    """

    # Parts that a system adds with the constraint, such as the flywheel of a joint with a rotor.
    companions: tuple[Any, ...] = ()
    primitives: Sequence[Primitive | Relation] = ()
    row_count: ClassVar[int | None] = None
    # Axes (X, Y, Z) of frame j that must be parallel, not antiparallel, to those of frame i. Rows that keep axes
    # perpendicular allow both, so this is checked for the initial poses; no motion leads from one to the other.
    aligned_axes: tuple[int, ...] = ()
    # Axis and motion of a driven relative angle of the frames.
    driven: tuple[int, Motion] | None = None
    # Whether the row of a driver of one coordinate is the difference of the squares of coordinate and motion.
    of_squares: ClassVar[bool] = False

    def __init_subclass__(cls) -> None:
        """Count the rows of a subclass that lists its primitives."""
        super().__init_subclass__()
        if "primitives" in vars(cls):
            cls.row_count = sum(len(primitive.labels) for primitive in cls.primitives)

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        frame_i: Frame,
        frame_j: Frame,
        active: bool,
    ) -> None:
        self.name = name
        self.body_i = body_i
        self.body_j = body_j
        self.frame_i = frame_i
        self.frame_j = frame_j
        self.active = validate.flag(str(self), "active", active)

    @property
    def ends(self) -> tuple[tuple[Body | Ground, Frame], ...]:
        """Bodies of the constraint with their joint frames: body i, body j, then any others."""
        return (self.body_i, self.frame_i), (self.body_j, self.frame_j)

    @property
    def bodies(self) -> tuple[Body | Ground, ...]:
        """Bodies of the constraint: body i, body j, and any others."""
        return tuple(body for body, _ in self.ends)

    @property
    def effort_unit(self) -> str | None:
        """Unit, "N" or "N m", of the driving effort if the constraint is a driver of one coordinate, else None."""
        if len(self.primitives) != 1 or not isinstance(row := self.primitives[0], Relation):
            return None
        single = len(row.labels) == len(row.motions) == 1 and not row.of_user
        return ("N", "N m")[row.units[0]] if single else None

    def __str__(self) -> str:
        return f'{type(self).__name__} "{self.name}"'

    def __repr__(self) -> str:
        return f"<{self}: {self.body_i.name} - {self.body_j.name}>"

    @property
    def labels(self) -> list[str]:
        """Names of the rows, "constraint: constrained quantity"."""
        return [f"{self.name}: {label}" for primitive in self.primitives for label in primitive.labels]


class Joint(Constraint):
    """A constraint placed by a point and an axis, or by a frame on each body.

    Parameters
    ----------
    name : str
    body_i, body_j : Body or GROUND
        The joint load is exerted by body i on body j.
    point : (3,)
        Location of the joint in the inertial frame at the initial poses, m.
    axis : (3,)
        Joint axis in the inertial frame at the initial poses: the z axis of both joint frames.
    frame_i, frame_j : Frame
        Alternative to point and axis: the joint frames in body coordinates, or names of frames of the bodies.
    active : bool
        False disables the joint.

    Raises
    ------
    InputError
        If the placement is missing, given twice, or degenerate.

    Examples
    --------
    >>> rod = quirk.Body.box("rod", 1.0, [1, 0.1, 0.1], frames={"end": quirk.Frame([-0.5, 0, 0])})
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, frame_i=quirk.Frame([-0.5, 0, 0]), frame_j="end")
    >>> hinge.frame_j
    Frame(origin=[-0.5, 0.0, 0.0], rotation=[1.0, 0.0, 0.0, 0.0])
    """

    # Which of the arguments "point" and "axis" are required; all other arguments have defaults.
    required: ClassVar[tuple[str, ...]] = ("point", "axis")
    # The frame axis about or along which the joint moves freely, if there is exactly one.
    rotation_axis: int | None = None
    translation_axis: int | None = None
    # Whether the joint rotates about x of frame i, y of frame j or both, as a universal joint: these angles are
    # unlimited, whereas the second of three 1-2-3 angles stays below a right angle.
    cross: bool = False
    # Whether the angle of its coordinate is one of three free 1-2-3 angles, not that about a common axis.
    of_three: bool = False

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        point: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        frame_i: Frame | str | None = None,
        frame_j: Frame | str | None = None,
        active: bool = True,
    ) -> None:
        owner = checked_ends(type(self).__name__, name, body_i, body_j)

        def frames() -> tuple[Frame, Frame]:
            where = body_j.position if point is None else validate.array(owner, "point", point, (3,))
            axes = np.eye(3) if axis is None else axes_with_z(validate.direction(owner, "axis", axis))
            return frame_in(body_i, where, axes), frame_in(body_j, where, axes)

        given = {"point": point, "axis": axis}
        ends = placement(owner, given, self.required, frames, (body_i, frame_i), (body_j, frame_j))
        super().__init__(name, body_i, body_j, *ends, active)
        self.cross = self.cross or self.rotation_axis == Y


class TwoAxisJoint(Joint):
    """A joint placed by a point and an axis of each body, or by a frame on each body.

    Parameters
    ----------
    point : (3,)
        Location of the joint in the inertial frame at the initial poses, m.
    axis_i, axis_j : (3,)
        Axes fixed in body i and body j, in the inertial frame at the initial poses. Other parameters as for `Joint`.
    """

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        point: ArrayLike | None = None,
        axis_i: ArrayLike | None = None,
        axis_j: ArrayLike | None = None,
        frame_i: Frame | str | None = None,
        frame_j: Frame | str | None = None,
        active: bool = True,
    ) -> None:
        owner = checked_ends(type(self).__name__, name, body_i, body_j)

        def frames() -> tuple[Frame, Frame]:
            where = validate.array(owner, "point", point, (3,))
            axes = (validate.direction(owner, f"axis_{c}", axis) for c, axis in (("i", axis_i), ("j", axis_j)))
            one, two = self.joint_axes(owner, *axes)
            return frame_in(body_i, where, one), frame_in(body_j, where, two)

        given = {"point": point, "axis_i": axis_i, "axis_j": axis_j}
        one, two = placement(owner, given, tuple(given), frames, (body_i, frame_i), (body_j, frame_j))
        super().__init__(name, body_i, body_j, frame_i=one, frame_j=two, active=active)

    @staticmethod
    @abstractmethod
    def joint_axes(owner: str, axis_i: np.ndarray, axis_j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the axes (3, 3) of both frames in the inertial frame, as columns, from two unit vectors (3,)."""


def checked_ends(kind: str, name: str, body_i: Any, body_j: Any) -> str:
    """Check the name and both bodies of a constraint; return its title for error messages."""
    owner = f'{kind} "{validate.name(kind, name)}"'
    checked_body(owner, "body_i", body_i)
    checked_body(owner, "body_j", body_j)
    if body_i is body_j:
        what = "the ground twice" if isinstance(body_i, Ground) else f"{body_i} twice"
        raise InputError(f"{owner}: body_i and body_j must differ; got {what}")
    return owner


def end_points(
    owner: str,
    body_i: Body | Ground,
    body_j: Body | Ground,
    point_i: ArrayLike | None,
    point_j: ArrayLike | None,
    points: PointsLike | None,
) -> tuple[Frame, Frame]:
    """Return frames with origins at both ends of a constraint or force between two points.

    The end points are given by `point_i` and `point_j`, m, in body coordinates (default: the centers of mass), or by
    `points` (2, 3), m, in the inertial frame at the initial poses.
    """
    if points is None:
        i, j = (
            validate.array(owner, argument, (0, 0, 0) if point is None else point, (3,))
            for argument, point in (("point_i", point_i), ("point_j", point_j))
        )
        return Frame(i), Frame(j)
    if point_i is not None or point_j is not None:
        raise InputError(
            f"{owner}: points are both ends in the inertial frame; give these, or point_i and point_j in body "
            "coordinates, not both"
        )
    one, two = validate.array(owner, "points", points, (2, 3))
    return Frame(body_i.local(one)), Frame(body_j.local(two))


def placement(
    owner: str,
    arguments: dict[str, Any],
    required: Sequence[str],
    frames: Callable[[], tuple[Frame, Frame]],
    end_i: tuple[Body | Ground, Any],
    end_j: tuple[Body | Ground, Any],
) -> tuple[Frame, Frame]:
    """Return both joint frames, in body coordinates.

    Parameters
    ----------
    owner : title of the constraint, for error messages
    arguments : arguments by name that define the placement of the joint by points and axes in the inertial frame
    required : names of those arguments that must be present
    frames : function that computes both frames from those arguments
    end_i, end_j : body and its frame argument (a Frame, the name of a frame of the body, or None)
    """
    frame_i, frame_j = (
        body.frame(frame) if isinstance(frame, str) and isinstance(body, Body) else frame
        for body, frame in (end_i, end_j)
    )
    present = [key for key, value in arguments.items() if value is not None]
    if frame_i is None and frame_j is None:
        missing = [key for key in required if key not in present]
        if missing:
            raise InputError(
                f"{owner}: {' and '.join(missing)} must be given, in the inertial frame at the initial poses; "
                "or give frame_i and frame_j in body coordinates"
            )
        return frames()
    if present:
        raise InputError(f"{owner}: give either {' and '.join(present)}, or frame_i and frame_j, not both kinds")
    for argument, frame in (("frame_i", frame_i), ("frame_j", frame_j)):
        if not isinstance(frame, Frame):
            raise InputError(f"{owner}: {argument} must be a quirk.Frame in body coordinates; got {frame!r}")
    return frame_i, frame_j


def initial_point(body: Body | Ground, local: np.ndarray) -> np.ndarray:
    """Return a point of a body in the inertial frame at the initial pose, m; `local` (3,) are its body coordinates."""
    return body.position + rotation.matrix(body.orientation) @ local


def frame_in(body: Body | Ground, point: np.ndarray, axes: np.ndarray) -> Frame:
    """Return a frame in body coordinates from its origin `point` (3,), m, and its axes (3, 3).

    Origin and axes are given in the inertial frame at the initial pose of the body; the axes are the columns.
    """
    R = rotation.matrix(body.orientation)
    turn = rotation.multiply(rotation.conjugate(body.orientation), rotation.from_matrix(axes))
    return Frame(R.T @ (point - body.position), turn)


def with_frame_i(joint: Joint, frame: Frame) -> Joint:
    """Return a copy of a joint with `frame` as frame i."""
    made: Joint = object.__new__(type(joint))
    vars(made).update({**vars(joint), "frame_i": frame, "_made": None})
    return made
