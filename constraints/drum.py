"""Drums: contact points of a rope with a circular body, and wrapped angles.

Vectors are in the plane through a drum's center perpendicular to its axis, with the center as origin. u is a unit
vector along the rope, and i rotates a vector by a quarter turn, by the right-hand rule about the axis. A rope that
winds about the drum in this sense touches it at -i r u. A straight part of length s leads from a drum of radius r to
a drum of radius R at the relative position d:

 d = s u + i (R - r) u,   s^2 = |d|^2 - (R - r)^2,   u = d (s - i (R - r)) / |d|^2

A point is a drum of radius zero, and a drum that is wound in the opposite sense has a negative radius. A sheave is a
drum between two other stops (points and drums) of a rope. A jet is a number with time derivatives and a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet, where
from ..bodies.body import Body, Ground, checked_body
from ..errors import InputError
from ..util import validate
from ..util.immutable import Immutable

# Round-off, rad, of the wrapped angle: a rope that runs straight past a sheave has the angle zero, not a full turn less
# round-off.
STRAIGHT_ON = 1e-9

# Components of a vector in the plane of a drum.
Plane = tuple[Any, Any]


class Drum(Immutable):
    """A circular body for the rope of a `Pulley`: a sheave between two points, or a winding drum at an end.

    Parameters
    ----------
    body : Body or GROUND
        Body in which the drum is fixed.
    center : (3,)
        Center in body coordinates, m.
    axis : (3,) or "x", "y", "z"
        Axis in body axes. From its first to its last point, the rope winds about this axis by the right-hand rule.
    radius : float
        Radius of the rope's center line on the drum, m.
    turns : int
        Full turns of the rope about a sheave, in addition to the angle between its straight parts, as on a capstan.

    Examples
    --------
    >>> winch = quirk.Body.cylinder("winch", 1.0, 0.2, 0.1, axis="y")
    >>> load = quirk.Body.sphere("load", 5.0, 0.1, position=[0.2, 0, -1])
    >>> drum = quirk.Drum(winch, center=[0, 0, 0], axis="y", radius=0.2)
    >>> axle = quirk.Revolute("axle", quirk.GROUND, winch, point=[0, 0, 0], axis="y")
    >>> rope = quirk.Pulley("rope", [drum, (load, [0, 0, 0])])
    >>> quirk.System([winch, load, axle, rope]).mobility().degrees_of_freedom
    6
    """

    def __init__(self, body: Body | Ground, center: ArrayLike, axis: ArrayLike, radius: float, turns: int = 0) -> None:
        self.body = checked_body("Drum", "body", body)
        self.center = validate.array(f"{self}", "center", center, (3,))
        self.axis = validate.direction(f"{self}", "axis", axis)
        self.radius = validate.positive(f"{self}", "radius", radius)
        if isinstance(turns, bool) or not isinstance(turns, int | np.integer) or turns < 0:
            raise InputError(f"{self}: turns must be a whole number, zero or more; got {turns!r}")
        self.turns = int(turns)

    def __str__(self) -> str:
        return f"Drum on {self.body.name}"

    def __repr__(self) -> str:
        return f"<{self}>"


def tangent(span: Any, across: Any) -> Plane:
    """Return the unit vector u (2,) along the straight part of a rope between two drums, in their plane.

    `span` is the position d (2,) or (3,), m, of the second drum relative to the first; only its first two components
    are used. `across` is the difference R - r of their radii, m. The result is NaN if the drums are too close for a
    straight part.
    """
    x, y = span[0], span[1]
    square = x * x + y * y
    straight = np.sqrt(square - across * across)
    return (x * straight + y * across) / square, (y * straight - x * across) / square


def rope_at_drum(
    centers: Sequence[Any], k: int, axes: Any, previous_radius: Any, radius: Any, next_radius: Any
) -> tuple[Plane, Plane, list[Any]]:
    """Return the directions of a rope before and after drum k, and its two contact points on the drum.

    All arguments may be jets.

    Parameters
    ----------
    centers : centers (3,) of all drums and points of the rope, m
    k : index of the drum
    axes : (3, 3) axes of the drum, as columns
    previous_radius, radius, next_radius : radii of the previous drum, of drum k and of the next one, m

    Returns
    -------
    into, out : unit vectors u (2,) along the spans of the rope before and after the drum, as components along the x and
        y axes of the drum; where the rope ends on the drum, u is along its x axis
    ends : the two contact points (3,), m
    """
    into: Plane = (1.0, 0.0)
    out: Plane = (1.0, 0.0)
    ends = [centers[k], centers[k]]
    if k > 0:
        into = tangent(axes.T @ (centers[k] - centers[k - 1]), radius - previous_radius)
        ends[0] = _touched(centers[k], axes, radius, into)
    if k < len(centers) - 1:
        out = tangent(axes.T @ (centers[k + 1] - centers[k]), next_radius - radius)
        ends[1] = _touched(centers[k], axes, radius, out)
    return into, out, ends


def _touched(center: Any, axes: Any, radius: Any, direction: Plane) -> Any:
    """Return the point (3,), m, at which a rope with the unit direction u = `direction` touches a drum.

    It is `center` - i r u, where r is `radius` and i rotates a vector in the drum's plane by a quarter turn. The
    columns of `axes` (3, 3) are the axes of the drum.
    """
    x, y = direction
    return center + axes[:, 0] * (radius * y) - axes[:, 1] * (radius * x)


def angle_between(u: Plane, v: Plane) -> Jet:
    """Return the angle (rad), in (-pi, pi], from the plane vector `u` to the plane vector `v`."""
    return (u[0] * v[1] - u[1] * v[0]).arctan2(u[0] * v[0] + u[1] * v[1])


def wrap(into: Plane, out: Plane, near: Jet) -> Jet:
    """Return the wrapped angle (rad) of a rope on a sheave.

    `into` and `out` (2,) are unit vectors along the rope before and after the sheave. They determine the angle up to
    full turns; the result is within half a turn of `near`, rad. It is NaN if the angle is negative, because the rope
    has then left the sheave.
    """
    angle = (angle_between(into, out) - near).wrapped(2 * np.pi) + near
    return where(angle < -STRAIGHT_ON, angle * np.nan, angle)


def first_wrap(into: Plane, out: Plane) -> float:
    """Return the wrapped angle (rad) of a rope on a sheave at the initial poses; less than one turn.

    `into` and `out` (2,) are unit vectors along the rope before and after the sheave.
    """
    angle = np.angle(complex(*out) / complex(*into))
    return float((angle + STRAIGHT_ON) % (2 * np.pi) - STRAIGHT_ON)
