"""The named joints, each defined by a list of primitives between two frames.

The joint axis is z of both frames unless stated otherwise. The rows are those of "Common Kinematic Constraints in 3D"
(spherical eqs. 1-4, distance 5-11, revolute 12-16, universal 17-20, cylindrical 21-28, prismatic 29-35).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..errors import InputError
from ..util import validate
from ..util.validate import PointsLike
from .armature import OneFreedomJoint
from .constraint import Constraint, Joint, TwoAxisJoint, checked_ends, end_points, initial_point
from .primitives import X, Y, Z, coincidence, distance, dot1, dot2

# Largest cosine of the angle between typed axes of a universal joint that counts as perpendicular.
PERPENDICULAR = 1e-6

LETTERS = "xyz"
_parallel_axes = (dot1(Z, X), dot1(Z, Y))


class Spherical(Joint):
    """Ball joint: a common point of both bodies, 3 rows; free to rotate.

    Examples
    --------
    >>> rod = quirk.Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    >>> ball = quirk.Spherical("ball", quirk.GROUND, rod, point=[0, 0, 0])
    >>> quirk.System([rod, ball]).mobility().degrees_of_freedom
    3
    """

    primitives = (coincidence,)
    required = ("point",)


class Revolute(OneFreedomJoint):
    """Hinge: a common point and a common axis, 5 rows; free to rotate about z of both joint frames.

    Parameters
    ----------
    armature : float or (2,), optional
        Inertia of a rotor, effective about the joint axis, kg m^2; or a pair, the inertia of the rotor, kg m^2, and its
        gear ratio, rad of the rotor per rad of the joint. Other parameters as for `Joint`.

    Examples
    --------
    >>> rod = quirk.Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    >>> quirk.System([rod, hinge]).mobility().degrees_of_freedom
    1
    """

    primitives = (coincidence, *_parallel_axes)
    aligned_axes = (Z,)
    rotation_axis = Z


class Cylindrical(Joint):
    """Cylindrical joint: free to rotate about and slide along a common axis, 4 rows.

    Examples
    --------
    >>> sleeve = quirk.Body.cylinder("sleeve", 1.0, 0.1, 0.3)
    >>> shaft = quirk.Cylindrical("shaft", quirk.GROUND, sleeve, point=[0, 0, 0], axis="z")
    >>> quirk.System([sleeve, shaft]).mobility().degrees_of_freedom
    2
    """

    primitives = (*_parallel_axes, dot2(X), dot2(Y))
    aligned_axes = (Z,)
    rotation_axis = Z
    translation_axis = Z


class Prismatic(OneFreedomJoint):
    """Prismatic joint: free to slide along z of both joint frames without rotation, 5 rows.

    The default of `point` is the center of mass of body j.

    Parameters
    ----------
    armature : float or (2,), optional
        Mass effective along the joint axis that represents a rotor, kg; or a pair, the inertia of the rotor, kg m^2,
        and its gear ratio, rad of the rotor per m of the joint. Other parameters as for `Joint`.

    Examples
    --------
    >>> slide = quirk.Body.box("slide", 1.0, [0.1, 0.1, 0.1], velocity=[2.0, 0, 0])
    >>> rail = quirk.Prismatic("rail", quirk.GROUND, slide, axis="x")
    >>> quirk.simulate(quirk.System([slide, rail]), 1.0, output=1.0).joint("rail").travel.round(6)
    array([0., 2.])
    """

    primitives = (*_parallel_axes, dot1(X, Y), dot2(X), dot2(Y))
    aligned_axes = (X, Y, Z)
    required = ("axis",)
    translation_axis = Z


class Fixed(Joint):
    """Weld of two bodies, 6 rows. Default point: center of mass of body j.

    The relative pose is that of the declared initial poses; `System.assemble` does not affect it.
    For other relative poses, give frame_i and frame_j. To weld bodies at their poses during a run, see `keep_offset` of
    `enable`.

    Examples
    --------
    >>> a, b = quirk.Body.sphere("a", 1.0, 0.1), quirk.Body.sphere("b", 1.0, 0.1, position=[1, 0, 0])
    >>> quirk.System([a, b, quirk.Fixed("weld", a, b)]).mobility().degrees_of_freedom
    6
    """

    primitives = (coincidence, *_parallel_axes, dot1(X, Y))
    aligned_axes = (X, Y, Z)
    required = ()


class Planar(Joint):
    """A plane of body j stays in a plane of body i, 3 rows: free to slide along x and y and to rotate about z.

    Parameters
    ----------
    normal : (3,)
        Normal of the plane in the inertial frame at the initial poses; alias of `axis`. Other parameters as for
        `Joint`.

    Examples
    --------
    >>> puck = quirk.Body.cylinder("puck", 0.2, 0.05, 0.02)
    >>> table = quirk.Planar("table", quirk.GROUND, puck, point=[0, 0, 0], normal="z")
    >>> quirk.System([puck, table]).mobility().degrees_of_freedom
    3
    """

    primitives = (*_parallel_axes, dot2(Z))
    aligned_axes = (Z,)
    rotation_axis = Z

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        point: ArrayLike | None = None,
        normal: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        frame_i: Frame | str | None = None,
        frame_j: Frame | str | None = None,
        active: bool = True,
    ) -> None:
        if normal is not None and axis is not None:
            raise InputError(f'Planar "{name}": normal and axis are aliases; give one of them')
        axis = normal if axis is None else axis
        super().__init__(name, body_i, body_j, point=point, axis=axis, frame_i=frame_i, frame_j=frame_j, active=active)


class PointOnLine(Joint):
    """A point of body j stays on a line of body i along z, 2 rows; free to rotate and to slide along it.

    Examples
    --------
    >>> bead = quirk.Body.sphere("bead", 0.1, 0.02)
    >>> wire = quirk.PointOnLine("wire", quirk.GROUND, bead, point=[0, 0, 0], axis="x")
    >>> quirk.System([bead, wire]).mobility().degrees_of_freedom
    4
    """

    primitives = (dot2(X), dot2(Y))
    translation_axis = Z


class PointOnPlane(Joint):
    """A point of body j stays in a plane of body i with normal z, 1 row; free to rotate and to slide in it.

    Examples
    --------
    >>> foot = quirk.Body.sphere("foot", 0.1, 0.02)
    >>> floor = quirk.PointOnPlane("floor", quirk.GROUND, foot, point=[0, 0, 0], axis="z")
    >>> quirk.System([foot, floor]).mobility().degrees_of_freedom
    5
    """

    primitives = (dot2(Z),)


class Free(Joint):
    """A joint without constraints, 0 rows, which defines named relative coordinates of two bodies.

    Parameters
    ----------
    angle : "x", "y" or "z", optional
        The 1-2-3 angle of frame j relative to frame i on which springs, motors, limits and couplings act. Three Free
        joints, one for each angle, represent the hinges of a joint with three axes. Other parameters as for `Joint`.

    Examples
    --------
    >>> probe = quirk.Body.sphere("probe", 1.0, 0.1, position=[1, 2, 3], velocity=[1, 0, 0])
    >>> view = quirk.Free("view", quirk.GROUND, probe, point=[0, 0, 0])
    >>> quirk.simulate(quirk.System([probe, view]), 1.0, output=1.0).joint("view").velocity[-1].round(6) + 0.0
    array([1., 0., 0.])
    """

    row_count = 0
    required = ()

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
        angle: str | None = None,
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, point=point, axis=axis, frame_i=frame_i, frame_j=frame_j, active=active)
        self.angle = validate.choice(str(self), "angle", angle, (None, *LETTERS))
        if angle is not None:
            self.rotation_axis, self.of_three = LETTERS.index(angle), True


class Universal(TwoAxisJoint):
    """Universal joint: perpendicular axes fixed in body i and body j through a common point, 4 rows.

    The axes are x of frame i and y of frame j. The first and second of the joint's 1-2-3 angles are the angles about
    these axes, and the third is zero.

    Parameters
    ----------
    axis_i, axis_j : (3,)
        Perpendicular axes in the inertial frame at the initial poses. Other parameters as for `Joint`.

    Examples
    --------
    >>> shaft = quirk.Body.cylinder("shaft", 1.0, 0.05, 0.5)
    >>> cross = quirk.Universal("cross", quirk.GROUND, shaft, point=[0, 0, -0.25], axis_i="x", axis_j="y")
    >>> quirk.System([shaft, cross]).mobility().degrees_of_freedom
    2
    """

    primitives = (coincidence, dot1(X, Y))
    cross = True

    @staticmethod
    def joint_axes(owner: str, axis_i: np.ndarray, axis_j: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the axes (3, 3) of both joint frames, as columns in the inertial frame.

        The unit vector `axis_i` (3,) is x of frame i, `axis_j` (3,) is y of frame j, and z is common.
        """
        if abs(axis_i @ axis_j) > PERPENDICULAR:
            angle = np.degrees(np.arccos(np.clip(axis_i @ axis_j, -1, 1)))
            raise InputError(
                f"{owner}: axis_i and axis_j must be perpendicular, as in a cross, and must not be parallel; got "
                f"{axis_i.tolist()} and {axis_j.tolist()}, {angle:.4g} degrees apart: turn one of them, or give "
                "frame_i and frame_j and call system.assemble()"
            )
        z = np.cross(axis_i, axis_j)
        z /= np.linalg.norm(z)
        return (
            np.column_stack([axis_i, np.cross(z, axis_i), z]),
            np.column_stack([np.cross(axis_j, z), axis_j, z]),
        )


class Distance(Constraint):
    """A massless rod with ball joints at its ends: two points at a constant distance, 1 row.

    Parameters
    ----------
    points : (2, 3)
        Both ends in the inertial frame at the initial poses, m.
    point_i, point_j : (3,), body axes
        Alternatively, both ends in the coordinates of body i and body j, m; default: the centers of mass.
    length : float, optional
        Positive length (m); default: the distance at the initial poses.

    Examples
    --------
    >>> bob = quirk.Body.sphere("bob", 1.0, 0.05, position=[0, 0, -2])
    >>> string = quirk.Distance("string", quirk.GROUND, bob, points=[[0, 0, 0], [0, 0, -2]])
    >>> string.length
    2.0
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        point_i: ArrayLike | None = None,
        point_j: ArrayLike | None = None,
        points: PointsLike | None = None,
        length: float | None = None,
        active: bool = True,
    ) -> None:
        owner = checked_ends("Distance", name, body_i, body_j)
        frame_i, frame_j = end_points(owner, body_i, body_j, point_i, point_j, points)
        super().__init__(name, body_i, body_j, frame_i, frame_j, active)
        if length is None:
            length = float(
                np.linalg.norm(initial_point(body_j, frame_j.origin) - initial_point(body_i, frame_i.origin))
            )
            if length <= 0:
                raise InputError(
                    f"{owner}: its end points coincide at the initial poses; give length, "
                    "or use Spherical to keep two points together"
                )
        self.length = validate.positive(owner, "length", length)
        self.primitives = (distance(self.length),)
