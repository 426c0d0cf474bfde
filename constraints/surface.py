"""Surfaces for contacts: planes, rectangles, disks, spheres, bowls, points and circular rims."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies import rotation
from ..bodies.frame import Frame, axes_with_z
from ..errors import InputError
from ..util import validate
from ..util.construction import remembered
from ..util.renamed import with_earlier_arguments

# Sine of the angle between a rectangle's normal and its first side below which they count as parallel.
PARALLEL = 1e-6


@dataclass(frozen=True)
class Surface:
    """A surface fixed in a body, in body coordinates.

    Attributes
    ----------
    kind : "plane", "rectangle", "disk", "bowl", "sphere" or "rim"; a point is a sphere of radius zero
    frame : frame at the center of the surface, with z along its normal or axis
    radius : m; zero for a plane, a rectangle and a point
    half_size : (2,) half-lengths of the sides of a rectangle along x and y of its frame, m; empty for other kinds

    Examples
    --------
    >>> isinstance(quirk.surface.plane(), quirk.surface.Surface)
    True
    """

    kind: str
    frame: Frame
    radius: float = 0.0
    half_size: tuple[float, ...] = ()


@remembered
def plane(point: ArrayLike = (0, 0, 0), normal: ArrayLike = (0, 0, 1)) -> Surface:
    """Return an unbounded plane through a point (3,), m, with its outward normal (3,).

    Examples
    --------
    >>> quirk.surface.plane(point=[0, 0, 1.0], normal="z").frame.origin
    array([0., 0., 1.])
    """
    axes = axes_with_z(validate.direction("plane", "normal", normal))
    return Surface("plane", Frame(validate.array("plane", "point", point, (3,)), rotation.from_matrix(axes)))


@remembered
@with_earlier_arguments(centre="center")
def rectangle(
    size: ArrayLike, center: ArrayLike = (0, 0, 0), normal: ArrayLike = (0, 0, 1), along: ArrayLike | None = None
) -> Surface:
    """Return a thin rectangular plate with edges, such as one face of a box.

    Parameters
    ----------
    size : (2,) lengths of the sides, m
    center : (3,) m
    normal : (3,) direction perpendicular to the plate
    along : (3,) direction of the first side, projected onto the plate
        Default: x for the default normal; for other normals an arbitrary perpendicular direction.

    Examples
    --------
    >>> quirk.surface.rectangle(size=[2.0, 1.0]).half_size
    (1.0, 0.5)
    """
    z = validate.direction("rectangle", "normal", normal)
    axes = axes_with_z(z)
    if along is not None:
        first = validate.direction("rectangle", "along", along)
        across = np.cross(z, first)
        if np.linalg.norm(across) < PARALLEL:
            raise InputError(f"rectangle: along must not be parallel to normal; got {along!r} and {normal!r}")
        y = across / np.linalg.norm(across)
        axes = np.stack([np.cross(y, z), y, z], axis=1)
    lengths = validate.array("rectangle", "size", size, (2,))
    if not (lengths > 0).all():
        raise InputError(f"rectangle: size must be two positive lengths, m; got {size!r}")
    place = Frame(validate.array("rectangle", "center", center, (3,)), rotation.from_matrix(axes))
    return Surface("rectangle", place, half_size=(0.5 * float(lengths[0]), 0.5 * float(lengths[1])))


@remembered
@with_earlier_arguments(centre="center")
def disk(radius: float, center: ArrayLike = (0, 0, 0), normal: ArrayLike = (0, 0, 1)) -> Surface:
    """Return a thin circular plate with radius, m, center (3,), m, and normal (3,) in body coordinates.

    Examples
    --------
    >>> quirk.surface.disk(0.5).radius
    0.5
    """
    return _round("disk", radius, center, "normal", normal)


@remembered
@with_earlier_arguments(centre="center")
def bowl(radius: float, center: ArrayLike = (0, 0, 0)) -> Surface:
    """Return the inside of a sphere of radius `radius`, m, and center (3,), m, in body coordinates.

    Examples
    --------
    >>> quirk.surface.bowl(2.0, center=[0, 0, 2.0]).kind
    'bowl'
    """
    place = Frame(validate.array("bowl", "center", center, (3,)))
    return Surface("bowl", place, validate.positive("bowl", "radius", radius))


@remembered
@with_earlier_arguments(centre="center")
def sphere(radius: float, center: ArrayLike = (0, 0, 0)) -> Surface:
    """Return a sphere of given radius, m, and center (3,), m.

    Examples
    --------
    >>> quirk.surface.sphere(0.1).kind
    'sphere'
    """
    place = Frame(validate.array("sphere", "center", center, (3,)))
    return Surface("sphere", place, validate.positive("sphere", "radius", radius))


@remembered
def point(position: ArrayLike = (0, 0, 0)) -> Surface:
    """Return a single point (3,) in body coordinates, m, such as a corner.

    Examples
    --------
    >>> quirk.surface.point([0.5, 0, 0]).radius
    0.0
    """
    return Surface("sphere", Frame(validate.array("point", "position", position, (3,))))


@remembered
@with_earlier_arguments(centre="center")
def rim(radius: float, center: ArrayLike = (0, 0, 0), axis: ArrayLike = (0, 0, 1)) -> Surface:
    """Return a circle of given radius, m, center (3,), m, and axis (3,): the edge of a disk or cylinder.

    Examples
    --------
    >>> quirk.surface.rim(0.3, axis="y").frame.matrix[:, 2].round(9)
    array([0., 1., 0.])
    """
    return _round("rim", radius, center, "axis", axis)


def _round(kind: str, radius: float, center: Any, argument: str, axis: Any) -> Surface:
    """Return a surface of kind `kind` that is bounded by a circle, from its radius, m, center (3,), m, and axis (3,).

    `argument` names the axis in errors.
    """
    axes = axes_with_z(validate.direction(kind, argument, axis))
    place = Frame(validate.array(kind, "center", center, (3,)), rotation.from_matrix(axes))
    return Surface(kind, place, validate.positive(kind, "radius", radius))
