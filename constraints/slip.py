"""Slip velocities of joints and contacts with friction, and the loads conjugate to them.

Each component of slip is a relative velocity, m/s, linear in the velocities of the bodies. The functions return it
together with the loads on both bodies due to a unit force along it. They are used by the friction force during sliding,
and by the constraint rows of sticking. Their arguments are the time, the moving frames i and j, and constants.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autodiff.jet import Jet, where
from ..jit.scalar import is_zero
from ..jit.simd import lane_of, replaced, splat
from .angle import gradients_123
from .bounded import PARTS
from .gap_functions import in_frame
from .primitives import X, Y, Z
from .relation import TRANSLATION, MovingFrame
from .user_gap import PointOfBody, UserGap, UserPoint, functions_in

Vector = Any

# Lower bound of 1 + cosine of the angle between the normal and `side` times z of the frame. It avoids a division by
# zero at the normal opposite to this axis, where the tangents are not smooth.
LEAST_DENOMINATOR = 1e-12


@dataclass(frozen=True)
class Component:
    """One component of slip, with the load of a unit friction force along it.

    Attributes
    ----------
    rate : slip velocity of body j relative to body i, m/s
    force, torque : (3,) load on body j at the origin of its frame, in the inertial frame, 1 and m
    force_i, torque_i : (3,) load on body i at the origin of its frame, in the inertial frame, 1 and m
    """

    rate: Any
    force: Vector
    torque: Vector
    force_i: Vector
    torque_i: Vector


def _cross(a: Vector, b: Vector) -> Vector:
    """Return the cross product of two vectors (3,), which `numpy.cross` computes more slowly for arrays of jets."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _translational_slip(i: Any, j: Any, directions: Iterable[Vector], point: Vector) -> list[Component]:
    """Return the slip components (m/s) along unit vectors, at a contact point of two bodies.

    `directions` are the unit vectors (3,), and `point` (3,), m, is the position of the contact point, both in the
    inertial frame.
    """
    from_i, from_j = point - i.position, point - j.position
    slip = j.velocity + _cross(j.spin, from_j) - i.velocity - _cross(i.spin, from_i)
    return [Component(e @ slip, e, _cross(from_j, e), -e, -_cross(from_i, e)) for e in directions]


def _rotational_slip(i: Any, j: Any, direction: Vector, radius: Any) -> Component:
    """Return the slip component (m/s) due to relative rotation about a unit vector `direction` (3,), inertial frame.

    The surfaces slip at a distance `radius`, m, from the axis.
    """
    torque, nothing = direction * radius, direction * 0.0
    return Component(torque @ (j.spin - i.spin), nothing, torque, nothing, -torque)


@dataclass(frozen=True)
class AlongAxis:
    """Slip of a joint that slides along an axis of frame i, rotates about it, or both.

    Attributes
    ----------
    axis : index of the axis of frame i: X, Y or Z
    slides, turns : whether the joint slides along the axis, and whether it rotates about it
    """

    axis: int
    slides: bool
    turns: bool

    @property
    def size(self) -> int:
        """Number of slip components."""
        return int(self.slides) + int(self.turns)

    def __call__(self, t: Any, i: Any, j: Any, numbers: Sequence[Any]) -> list[Component]:
        """Return the components of slip, m/s; `numbers` contains the radius at which rotation slips, m."""
        axis = i.rotation[:, self.axis]
        found = _translational_slip(i, j, [axis], j.position) if self.slides else []
        return [*found, _rotational_slip(i, j, axis, numbers[0])] if self.turns else found


@dataclass(frozen=True)
class AboutPoint:
    """Slip of a ball joint, which rotates about its center."""

    size = 3

    def __call__(self, t: Any, i: Any, j: Any, numbers: Sequence[Any]) -> list[Component]:
        """Return the three components of slip, m/s, of rotation about the axes of frame i.

        `numbers` contains the radius of the ball, m.
        """
        return [_rotational_slip(i, j, i.rotation[:, axis], numbers[0]) for axis in (X, Y, Z)]


@dataclass(frozen=True)
class AboutAngle:
    """Slip of a joint with three rotations due to one of the 1-2-3 angles of frame j relative to frame i."""

    axis: int

    size = 1

    def __call__(self, t: Any, i: Any, j: Any, numbers: Sequence[Any]) -> list[Component]:
        """Return the component of slip: the rate of the angle times a radius, m/s.

        `numbers` contains the radius, m.
        """
        return [_rotational_slip(i, j, gradients_123(i.rotation[:, X], j.rotation[:, Z])[self.axis], numbers[0])]


@dataclass(frozen=True)
class AboutCrossAxis:
    """Slip of a universal joint about x of frame i, for `axis` X, or about y of frame j, for `axis` Y."""

    axis: int

    size = 1

    def __call__(self, t: Any, i: Any, j: Any, numbers: Sequence[Any]) -> list[Component]:
        """Return the component of slip: the rate of the angle about the axis times a radius, m/s.

        `numbers` contains the radius, m.
        """
        frame = i if self.axis == X else j
        return [_rotational_slip(i, j, frame.rotation[:, self.axis], numbers[0])]


@dataclass(frozen=True)
class OnPlane:
    """Slip of the origin of frame j on the x-y plane of frame i."""

    size = 2

    def __call__(self, t: Any, i: Any, j: Any, numbers: Sequence[Any]) -> list[Component]:
        """Return the components of slip (m/s) along x and y of frame i."""
        return _translational_slip(i, j, (i.rotation[:, axis] for axis in (X, Y)), j.position)


@dataclass(frozen=True)
class OfSurfaces:
    """Slip velocity at the contact of two surfaces, along two tangents.

    Attributes
    ----------
    kinds : kinds of the first and second surface, as in `quirk.constraints.gap_functions.PAIRS`
    turned : whether the first surface is fixed in body j instead of body i
    side : 1 or -1, the choice between two sets of tangents; they are smooth functions of the normal except where it is
        along -z (for side 1) or z (for side -1) of the frame of the first surface
    across : (3,) for bodies that move in a plane, its normal in the axes of frame i: tangents are then in the plane and
        along its normal; None for other bodies
    """

    kinds: tuple[str, str]
    turned: bool
    side: int = 1
    across: tuple[float, ...] | None = None

    size = 2

    @property
    def has_sides(self) -> bool:
        """Whether the normal may have any direction relative to the first surface, so that `side` must be chosen."""
        return self.kinds[0] != "plane" and self.across is None

    def side_of(self, height: float) -> int:
        """Return the value of `side`, 1 or -1, for which the tangents are smooth near a pose.

        `height`, m, is the z coordinate of the origin of the second surface's frame in the frame of the first surface.
        """
        return 1 if (height <= 0 if self.kinds[0] == "bowl" else height >= 0) else -1

    def __call__(self, t: Any, i: Any, j: Any, numbers: Sequence[Any]) -> list[Component]:
        """Return the two components of slip, m/s, along the tangents of the contact.

        `numbers` are the radii of both surfaces, m, or the constants of the gap if the first surface is bounded.
        """
        one, two = (j, i) if self.turned else (i, j)
        normal, point = self._normal_and_point(one, two, numbers)
        if self.kinds[0] == "plane":  # its normal is fixed in its frame
            directions = one.rotation[:, X], one.rotation[:, Y]
        elif self.across is None:
            directions = tangents(one, normal, self.side)
        else:
            directions = tangents_of_plane(i.rotation @ np.array(self.across), normal)
        return _translational_slip(i, j, directions, point)

    def _normal_and_point(self, i: Any, j: Any, radii: Sequence[Any]) -> tuple[Vector, Vector]:
        """Return the unit normal (3,) from the first to the second surface, and the contact point (3,), m.

        Both are in the inertial frame. `i` and `j` are the moving frames of the first and second surface; `radii` are
        the constants of the contact.
        """
        normal = i.rotation[:, Z]
        if self.kinds[0] in PARTS:
            x, y, z = in_frame(i, j)
            apart = i.rotation @ np.array([*PARTS[self.kinds[0]].offset(x, y, radii), z], dtype=object)
            normal = apart / np.sqrt(apart @ apart)
            return normal, j.position - normal * radii[0]
        if self.kinds in (("sphere", "sphere"), ("bowl", "sphere")):
            apart = j.position - i.position
            outward = apart / np.sqrt(apart @ apart)
            return (-outward if self.kinds[0] == "bowl" else outward), i.position + outward * radii[0]
        if self.kinds == ("plane", "sphere"):
            return normal, j.position - normal * radii[1]
        axis = j.rotation[:, Z]
        cosine = normal @ axis
        return normal, j.position + (axis * cosine - normal) * (radii[1] / np.sqrt(1.0 - cosine * cosine))


@dataclass(frozen=True)
class OfGap:
    """Slip at the contact of two bodies with a user-defined gap.

    The normal, along which the contact force acts on body j, is the gradient of the gap with respect to its position.

    Attributes
    ----------
    gap : gap function
    point : function of (t, frames) that returns the contact point (3,) in the inertial frame, m
    side : as in `OfSurfaces`, with respect to z of frame i
    across : as in `OfSurfaces`
    """

    gap: UserGap
    point: UserPoint | PointOfBody
    side: int = 1
    across: tuple[float, ...] | None = None

    size = 2

    @property
    def source(self) -> Callable[..., Any]:
        """A function whose closure contains all user functions involved."""
        return functions_in(self.gap, self.point)

    @property
    def has_sides(self) -> bool:
        """Whether the normal may have any direction relative to body i, so that `side` must be chosen."""
        return self.across is None

    def __call__(self, t: Any, i: Any, j: Any, numbers: Sequence[Any]) -> list[Component]:
        """Return the two components of slip, m/s, along the tangents of the contact; `numbers` are not used."""
        normal = self._normal(t, i, j)
        point = self.point(t, [_constant_frame(one) for one in (i, j)])
        if self.across is None:
            directions = tangents(i, normal, self.side)
        else:
            directions = tangents_of_plane(i.rotation @ np.array(self.across), normal)
        return _translational_slip(i, j, directions, point)

    def _normal(self, t: Any, i: Any, j: Any) -> Vector:
        count = len(j.position[0].gradient)
        frames = [_constant_frame(one) for one in (i, j)]
        # Derivatives with respect to the position of body j, in separate lanes.
        shifted = []
        for c, x in enumerate(j.position):
            unit = [replaced(splat(x.taylor[0] * 0.0), TRANSLATION + c, 1.0), *[0] * (len(x.taylor) - 1)]
            shifted.append(Jet(x.taylor, [*[None] * (count - 1), unit]))
        frames[1] = MovingFrame(np.array(shifted, dtype=object), j.rotation, None, None)
        (gap,) = self.gap(t, frames, [], [])
        slope = gap.gradient[-1] or [0] * len(gap.taylor)
        components = [[x if is_zero(x) else lane_of(x, TRANSLATION + c) for x in slope] for c in range(3)]
        return np.array([Jet(one, [None] * count) for one in components], dtype=object)


def _constant_frame(frame: Any) -> MovingFrame:
    """Return a frame with copies of the position and rotation of `frame`, which user functions may modify."""
    return MovingFrame(frame.position.copy(), frame.rotation.copy(), None, None)


def tangents(frame: Any, normal: Vector, side: int) -> tuple[Vector, Vector]:
    """Return two unit tangents perpendicular to a unit normal (3,), all in the inertial frame.

    The tangents depend only on the normal and on the frame. They are computed by the method of Frisvad, J. Graphics
    Tools 16 (2012), and are smooth unless the normal is opposite to `side` times z of the frame.
    """
    x, y, z = frame.rotation.T @ normal
    denominator = 1.0 + z * side
    # Where the tangents are undefined the other side is used, but the computation must not give NaN.
    denominator = where(denominator > LEAST_DENOMINATOR, denominator, denominator.constant(LEAST_DENOMINATOR))
    part = -x * y / denominator
    first = frame.rotation @ np.array([1.0 - x * x / denominator, part, -x * side], dtype=object)
    second = frame.rotation @ np.array([part, 1.0 - y * y / denominator, -y * side], dtype=object)
    return first, second


def tangents_of_plane(across: Vector, normal: Vector) -> tuple[Vector, Vector]:
    """Return the unit tangents of a contact with a unit normal (3,): in a plane of motion, and along its normal.

    `across` (3,) is the normal of the plane. All vectors are in the inertial frame.
    """
    first = _cross(across, normal)
    first = first / np.sqrt(first @ first)
    return first, _cross(normal, first)


Slip = AlongAxis | AboutAngle | AboutCrossAxis | AboutPoint | OnPlane | OfSurfaces | OfGap
