"""Drivers: joint coordinates, distances and points that follow a prescribed motion."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..errors import InputError
from ..functions import degrees
from ..functions.expression import Expression
from ..functions.motion import Motion, as_motion
from ..util import validate
from ..util.validate import PointsLike
from .angle import angles_123, cross_angle, twist
from .constraint import Constraint, Joint, checked_ends, end_points
from .freedom import is_constant
from .primitives import X, Y, Z
from .relation import FORCE, TORQUE, MovingFrame, Relation

LETTERS = "xyz"


def tilt(i: MovingFrame, j: MovingFrame, axis: int) -> Jet:
    """Return one of the 1-2-3 angles of frame j relative to frame i, rad."""
    return angles_123(i, j)[axis]


def displacement(i: MovingFrame, j: MovingFrame, axis: int) -> Jet:
    """Return the displacement of frame j along an axis of frame i, m."""
    along: Jet = i.rotation[:, axis] @ (j.position - i.position)
    return along


@dataclass(frozen=True)
class Deviation:
    """Constraint function of a driver: a coordinate of frame j relative to frame i minus the prescribed motion.

    Objects with equal attributes are equal, so that all joints share compiled code, and can be pickled.

    Attributes
    ----------
    coordinate : function of both frames and an axis that returns the coordinate, rad or m
    axis : X, Y or Z; for an angle of a universal joint, X is about x of frame i and Y about y of frame j
    """

    coordinate: Callable[[Any, Any, int], Jet]
    axis: int

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return the deviation from the motion, m, or rad modulo full turns."""
        i, j = frames
        deviation = self.coordinate(i, j, self.axis) - motions[0]
        return [deviation if self.coordinate is displacement else deviation.wrapped(2 * np.pi)]


TURN, TILT, SWING, SLIDE = (
    [Deviation(coordinate, axis) for axis in (X, Y, Z)] for coordinate in (twist, tilt, cross_angle, displacement)
)


def separation(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the distance of two points minus the prescribed motion, m."""
    d = frames[1].position - frames[0].position
    return [(d @ d).sqrt() - motions[0]]


def trajectory(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the coordinates of a point in frame i minus the prescribed motions, m."""
    i, j = frames
    return list(i.rotation.T @ (j.position - i.position) - np.array(motions, dtype=object))


class Drive(Constraint):
    """A motor or actuator with a prescribed joint coordinate, 1 row; its load is the driving torque or force.

    Parameters
    ----------
    name : str
    joint : Joint
    motion : Motion
        Prescribed coordinate, rad or m, zero where both frames coincide; angles are prescribed modulo full turns.
        Angles are unlimited, except that the second of three 1-2-3 angles must stay below a right angle.
    coordinate : str, optional
        "rotation" or "translation" for a joint with one of each. For other
        joints, also the axis, as in "rotation x" (1-2-3 angle) or "translation z" (in frame i).

    Examples
    --------
    >>> wheel = quirk.Body.cylinder("wheel", 1.0, 0.2, 0.05)
    >>> axle = quirk.Revolute("axle", quirk.GROUND, wheel, point=[0, 0, 0], axis="z")
    >>> motor = quirk.Drive("motor", axle, quirk.Motion.constant_rate(3.0))
    >>> system = quirk.System([wheel, axle, motor])
    >>> system.assemble().angular_velocity.round(6) + 0.0
    array([[0., 0., 3.]])
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        joint: Joint,
        motion: Motion | str | Expression,
        coordinate: str | None = None,
        *,
        active: bool = True,
    ) -> None:
        owner = f'Drive "{validate.name("Drive", name)}"'
        if not isinstance(joint, Joint):
            raise InputError(f"{owner}: joint must be a joint; got {joint!r}")
        self.motion = checked_motion(owner, "motion", motion)
        kind, axis = driven_coordinate(owner, joint, coordinate)
        super().__init__(name, joint.body_i, joint.body_j, joint.frame_i, joint.frame_j, active)
        self.joint, self.coordinate = joint, f"{kind} {LETTERS[axis]}"
        if kind == "rotation":
            degrees.check_motion(owner, "motion", self.motion)
            self.driven = axis, self.motion
        self.primitives = (coordinate_relation(joint, kind, axis, self.motion),)

    def following(self, motion: Motion) -> Drive:
        """Return a copy of the driver that follows another motion."""
        return Drive(self.name, self.joint, motion, self.coordinate, active=self.active)


def coordinate_relation(joint: Joint, kind: str, axis: int, motion: Motion) -> Relation:
    """Return the constraint that a coordinate of a joint equals a prescribed motion.

    `kind` is "rotation" or "translation"; `axis` is X, Y or Z.
    """
    if kind == "translation":
        return Relation(SLIDE[axis], (f"displacement {LETTERS[axis]}",), (FORCE,), motions=(motion,))
    swings = joint.cross and axis in (X, Y)
    turns = axis == joint.rotation_axis and not joint.of_three
    function = (TURN if turns else SWING if swings else TILT)[axis]
    return Relation(function, (f"angle {LETTERS[axis]}",), (TORQUE,), motions=(motion,))


def driven_coordinate(owner: str, joint: Joint, coordinate: str | None) -> tuple[str, int]:
    """Return the kind, "rotation" or "translation", and the axis of the joint coordinate that `coordinate` selects.

    An InputError is raised if the joint constrains this coordinate, so that it cannot be driven.
    """
    kind, axis = _named_coordinate(owner, joint, coordinate)
    if _is_constrained(joint, kind, axis):
        every = [(one, k) for one in ("translation", "rotation") for k in range(3)]
        free = ", ".join(f"{one} {LETTERS[k]}" for one, k in every if not _is_constrained(joint, one, k))
        raise InputError(
            f"{owner}: {joint} holds its {kind} {LETTERS[axis]}, so nothing can drive it; "
            f"it leaves free: {free or 'nothing'}"
        )
    return kind, axis


@functools.lru_cache(1024)
def _is_constrained(joint: Joint, kind: str, axis: int) -> bool:
    if axis == getattr(joint, f"{kind}_axis"):
        return False
    return is_constant(joint, coordinate_relation(joint, kind, axis, Motion.constant_rate(0.0)))


def _named_coordinate(owner: str, joint: Joint, coordinate: str | None) -> tuple[str, int]:
    own = {"rotation": joint.rotation_axis, "translation": joint.translation_axis}
    if coordinate is None:
        free = [(kind, axis) for kind, axis in own.items() if axis is not None]
        if len(free) != 1:
            raise InputError(
                f"{owner}: {joint} has {'both a rotation and a translation' if free else 'no single axis'}: specify "
                'which coordinate is driven, "rotation" or "translation", optionally with an axis, as in "rotation x"'
            )
        return free[0]
    words = coordinate.split() if isinstance(coordinate, str) else []
    if len(words) in (1, 2) and words[0] in own and all(word in tuple(LETTERS) for word in words[1:]):
        axis = LETTERS.index(words[1]) if len(words) == 2 else own[words[0]]
        if axis is not None:
            return words[0], axis
        raise InputError(f"{owner}: {joint} has no single axis of {words[0]}: specify one, as in {words[0] + ' x'!r}")
    raise InputError(
        f'{owner}: coordinate must be "rotation" or "translation", optionally with an axis, as in "rotation x"; '
        f"got {coordinate!r}"
    )


def checked_motion(owner: str, argument: str, motion: Any) -> Motion:
    """Return `motion` as a Motion; a string is interpreted as an expression in t.

    `owner` and `argument` name the motion in errors.
    """
    if isinstance(motion, str | Expression):
        return as_motion(owner, argument, motion)
    if not isinstance(motion, Motion):
        number = validate.numbers(motion)
        held = f": to hold the coordinate at this value, use Motion.polynomial([{motion!r}])"
        raise InputError(
            f"{owner}: {argument} must be a quirk.Motion, such as Motion.constant_rate(2.0) or "
            f"Motion.function(f, f_t, f_tt); got {motion!r}{held if number is not None and not number.ndim else ''}"
        )
    return motion


class DistanceDrive(Constraint):
    """A telescopic strut with a prescribed distance of two points, 1 row; its load is along the strut.

    Parameters
    ----------
    motion : Motion
        Distance, m, positive.
    points : (2, 3)
        Both ends in the inertial frame at the initial poses, m.
    point_i, point_j : (3,), body axes
        Alternatively, both ends in the coordinates of body i and body j, m; default: the centers of mass.

    Examples
    --------
    >>> load = quirk.Body.sphere("load", 1.0, 0.1, position=[0, 0, -2])
    >>> winch = quirk.DistanceDrive("winch", quirk.GROUND, load, quirk.Motion.polynomial([2.0, -0.5]))
    >>> system = quirk.System([load, winch])
    >>> system.assemble().velocity.round(6) + 0.0
    array([[0. , 0. , 0.5]])
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        motion: Motion | str | Expression,
        *,
        point_i: ArrayLike | None = None,
        point_j: ArrayLike | None = None,
        points: PointsLike | None = None,
        active: bool = True,
    ) -> None:
        owner = checked_ends("DistanceDrive", name, body_i, body_j)
        frame_i, frame_j = end_points(owner, body_i, body_j, point_i, point_j, points)
        super().__init__(name, body_i, body_j, frame_i, frame_j, active)
        self.motion = checked_motion(owner, "motion", motion)
        self.primitives = (Relation(separation, ("distance",), (FORCE,), motions=(self.motion,)),)

    def following(self, motion: Motion) -> DistanceDrive:
        """Return a copy of the driver that follows another motion."""
        ends = {"point_i": self.frame_i.origin, "point_j": self.frame_j.origin}
        return DistanceDrive(self.name, self.body_i, self.body_j, motion, **ends, active=self.active)


class TrajectoryDrive(Constraint):
    """A point of body j with a prescribed path in a frame of body i, 3 rows; its load is the driving force.

    Parameters
    ----------
    x, y, z : Motion
        Coordinates of the point in frame i, m.
    point : (3,), body axes
        The driven point in the coordinates of body j, m.
    frame_i : Frame
        Frame in body i; default: the body frame.

    Examples
    --------
    >>> probe = quirk.Body.sphere("probe", 1.0, 0.1)
    >>> x, y, z = (quirk.Motion.polynomial([0, rate]) for rate in (1.0, 0.0, 2.0))
    >>> path = quirk.TrajectoryDrive("path", quirk.GROUND, probe, x, y, z)
    >>> system = quirk.System([probe, path])
    >>> system.assemble().velocity.round(6) + 0.0
    array([[1., 0., 2.]])
    """

    row_count = 3

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        x: Motion,
        y: Motion,
        z: Motion,
        *,
        point: ArrayLike = (0, 0, 0),
        frame_i: Frame | None = None,
        active: bool = True,
    ) -> None:
        owner = checked_ends("TrajectoryDrive", name, body_i, body_j)
        frame_i = Frame() if frame_i is None else frame_i
        if not isinstance(frame_i, Frame):
            raise InputError(f"{owner}: frame_i must be a quirk.Frame in body coordinates; got {frame_i!r}")
        frame_j = Frame(validate.array(owner, "point", point, (3,)))
        super().__init__(name, body_i, body_j, frame_i, frame_j, active)
        self.motions = tuple(checked_motion(owner, LETTERS[k], motion) for k, motion in enumerate((x, y, z)))
        labels = tuple(f"coordinate {LETTERS[k]}" for k in (X, Y, Z))
        self.primitives = (Relation(trajectory, labels, (FORCE,) * 3, motions=self.motions),)
