"""Planar joints: pin, slider, rod between two pins, parallel vectors, pin in a slot.

Phi denotes the residuals of the constraint rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from quirk.autodiff.jet import Jet
from quirk.bodies.body import Ground
from quirk.errors import InputError
from quirk.util import validate

from ..constraint import checked_ends
from ..primitives import X, Y, Z, distance
from ..relation import FORCE, TORQUE, MovingFrame, Relation
from .body import PlanarBody
from .constraint import PlanarConstraint, common_plane, coordinates, turned
from .coordinates import plane_numbers, resting_frame


def coincidence(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the vector from point i to point j, m, as components along both axes of the plane."""
    plane, d = resting_frame(numbers), frames[1].position - frames[0].position
    return [plane.rotation[:, X] @ d, plane.rotation[:, Y] @ d]


def parallel(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the z component of the cross product of two vectors, one fixed in each body.

    It is the sine of the angle between them times the product of their lengths, which is a constant. Each vector is
    along the x axis of its frame.
    """
    i, j = frames
    return [i.rotation[:, Y] @ j.rotation[:, X] * numbers[0]]


def across_slot(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the signed distance (m) of the pin from the center line of the slot, times the length of the slot vector.

    The line is along x of frame i; the distance is positive on the side of its y axis. `numbers[0]` is the length of
    the slot vector, which is 1 for a slider.
    """
    i, j = frames
    return [i.rotation[:, Y] @ (j.position - i.position) * numbers[0]]


class Revolute(PlanarConstraint):
    """A pin: a common point of bodies i and j, 2 rows; its load is the force on the pin.

    Phi = r_j^P - r_i^P, along the plane's axes ("Two-dimensional constraints" notes, revolute). The joint's angle, for
    torques, drivers and results, is phi_j - phi_i.

    Parameters
    ----------
    point : (2,)
        Location of the pin in the plane at the initial poses, m.
    point_i, point_j : (2,), body axes
        Alternatively, the points in body coordinates, m.

    Examples
    --------
    >>> arm = quirk.planar.PlanarBody.bar("arm", [0, 0], [1, 0], mass=1.0)
    >>> pin = quirk.planar.Revolute("pin", quirk.GROUND, arm, point=[0, 0])
    >>> quirk.System([arm, pin]).mobility().degrees_of_freedom
    1
    """

    row_count = 2
    rotation_axis = Z

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        *,
        point: ArrayLike | None = None,
        point_i: ArrayLike | None = None,
        point_j: ArrayLike | None = None,
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, active, point=point, point_i=point_i, point_j=point_j)
        labels = ("coincidence along x", "coincidence along y")
        self.primitives = (Relation(coincidence, labels, (FORCE, FORCE), plane_numbers(self.plane)),)


class Prismatic(PlanarConstraint):
    """A slider: body j moves along a line of body i without rotation, 2 rows; its load is a lateral force and a torque.

    ``Phi = (a_i^T R^T d / |a_i|, a_i^T R^T a_j / |a_i| |a_j|)`` with d = r_j^P - r_i^P and R a quarter turn
    ("Two-dimensional constraints" notes, planar parallel-2 and parallel-1). The joint's displacement,
    for forces, drivers and results, is ``a_i . d / |a_i|``, along x of frame i.

    Parameters
    ----------
    axis : (2,)
        Direction of the line in the plane at the initial poses, nonzero.
    point : (2,), optional
        A point of the line in the plane at the initial poses, m.
    vector_i, vector_j : (2,), body axes
        Alternatively, the direction of the line in the coordinates of body i, and the direction that stays along it in
        those of body j, nonzero; default of `vector_j`: the direction of `vector_i` at the initial poses.
    point_i, point_j : (2,), body axes
        Alternatively, a point of the line in the coordinates of body i, and the point that stays on it in those of body
        j, m; default: the centers of mass, or the origin of the plane for the ground.

    Examples
    --------
    >>> block = quirk.planar.PlanarBody.box("block", 1.0, [0.1, 0.1, 0.1])
    >>> rail = quirk.planar.Prismatic("rail", quirk.GROUND, block, axis=[1, 0])
    >>> quirk.System([block, rail]).mobility().degrees_of_freedom
    1
    """

    row_count = 2
    aligned_axes = (X,)
    translation_axis = X

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        *,
        axis: ArrayLike | None = None,
        point: ArrayLike | None = None,
        vector_i: ArrayLike | None = None,
        vector_j: ArrayLike | None = None,
        point_i: ArrayLike | None = None,
        point_j: ArrayLike | None = None,
        active: bool = True,
    ) -> None:
        owner = checked_ends("planar.Prismatic", name, body_i, body_j)
        common_plane(owner, {"body_i": body_i, "body_j": body_j})
        if (axis is not None) == (vector_i is not None) or (axis is not None and vector_j is not None):
            raise InputError(
                f"{owner}: give either axis, in the plane at the initial poses, or vector_i, and optionally vector_j, "
                "in body coordinates"
            )
        if axis is None:
            along_i = validate.array(owner, "vector_i", vector_i, (2,))
        else:
            along_i = turned(-coordinates(body_i)[2]) @ validate.array(owner, "axis", axis, (2,))
        if vector_j is None:
            vector_j = turned(coordinates(body_i)[2] - coordinates(body_j)[2]) @ along_i
        if point is None:
            point_i, point_j = ((0, 0) if given is None else given for given in (point_i, point_j))
        points = {"point": point, "point_i": point_i, "point_j": point_j}
        super().__init__(name, body_i, body_j, active, **points, vector_i=along_i, vector_j=vector_j)
        self.primitives = (
            Relation(across_slot, ("across the line",), (FORCE,), (1.0,)),
            Relation(parallel, ("parallel vectors",), (TORQUE,), (1.0,)),
        )


class DoubleRevolute(PlanarConstraint):
    """A massless rod with a pin at each end: two points at a constant distance, 1 row; its load is along the rod.

    Phi = d . d - L^2 with d = r_j^P - r_i^P ("Two-dimensional constraints" notes, double revolute).

    Parameters
    ----------
    point_i, point_j : (2,), body axes
        The pins in body coordinates, m.
    length : float, optional
        Positive length (m); default: the distance at the initial poses.

    Examples
    --------
    >>> arm = quirk.planar.PlanarBody.bar("arm", [0, 1], [1, 1], mass=1.0)
    >>> link = quirk.planar.DoubleRevolute("link", quirk.GROUND, arm, point_j=[-0.5, 0], length=1.0)
    >>> quirk.System([arm, link]).mobility().degrees_of_freedom
    2
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        *,
        point_i: ArrayLike = (0, 0),
        point_j: ArrayLike = (0, 0),
        length: float | None = None,
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, active, point_i=point_i, point_j=point_j)
        if length is None:
            length = float(np.linalg.norm(self.initial_separation()))
            if length <= 0:
                raise InputError(
                    f"{self}: its pins coincide at the initial poses; give length, or use planar.Revolute to keep two "
                    "points together"
                )
        self.length = validate.positive(str(self), "length", length)
        self.primitives = (distance(self.length),)


class ParallelVectors(PlanarConstraint):
    """Vectors of two bodies stay parallel, 1 row: no relative rotation; its load is a torque.

    Phi = a_i^T R^T a_j, with R a quarter turn ("Two-dimensional constraints" notes, planar parallel-1). Phi also
    vanishes for antiparallel vectors, but the bodies cannot move from the parallel to the antiparallel pose.

    Parameters
    ----------
    vector_i, vector_j : (2,)
        Vectors in body coordinates, nonzero; their lengths only scale Phi.

    Examples
    --------
    >>> arm = quirk.planar.PlanarBody.bar("arm", [0, 0], [1, 0], mass=1.0)
    >>> level = quirk.planar.ParallelVectors("level", quirk.GROUND, arm, vector_i=[1, 0], vector_j=[1, 0])
    >>> quirk.System([arm, level]).mobility().degrees_of_freedom
    2
    """

    row_count = 1

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        *,
        vector_i: ArrayLike,
        vector_j: ArrayLike,
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, active, vector_i=vector_i, vector_j=vector_j)
        scale = float(np.hypot(*np.asarray(vector_i, float)) * np.hypot(*np.asarray(vector_j, float)))
        self.primitives = (Relation(parallel, ("parallel vectors",), (TORQUE,), (scale,), scale=scale),)


class PinInSlot(PlanarConstraint):
    """A pin of body j slides in a straight slot of body i, 1 row; its load is the force across the slot.

    Phi = a_i^T R^T d with d = r_j^P - r_i^P and R a quarter turn ("Two-dimensional constraints" notes, planar
    parallel-2). The joint's displacement, for forces, drivers and results, is ``a_i . d / |a_i|``, along x of frame i.

    Parameters
    ----------
    point_i : (2,), body axes
        A point of the slot in the coordinates of body i, m.
    vector_i : (2,)
        Direction of the slot in the coordinates of body i, nonzero; its length only scales Phi.
    point_j : (2,), body axes
        Center of the pin in the coordinates of body j, m.

    Examples
    --------
    >>> arm = quirk.planar.PlanarBody.bar("arm", [0, 0], [1, 0], mass=1.0)
    >>> slot = quirk.planar.PinInSlot("slot", quirk.GROUND, arm, vector_i=[0, 1], point_j=[-0.5, 0])
    >>> quirk.System([arm, slot]).mobility().degrees_of_freedom
    2
    """

    row_count = 1
    rotation_axis = Z
    translation_axis = X

    def __init__(
        self,
        name: str,
        body_i: PlanarBody | Ground,
        body_j: PlanarBody | Ground,
        *,
        point_i: ArrayLike = (0, 0),
        vector_i: ArrayLike,
        point_j: ArrayLike = (0, 0),
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, active, point_i=point_i, vector_i=vector_i, point_j=point_j)
        scale = float(np.hypot(*np.asarray(vector_i, float)))
        self.primitives = (Relation(across_slot, ("across the slot",), (FORCE,), (scale,), scale=scale),)
