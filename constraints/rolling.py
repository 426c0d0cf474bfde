"""Rolling disks and knife edges: nonholonomic constraints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..autodiff.jet import Jet
from ..bodies import rotation
from ..bodies.body import Body, Ground
from ..bodies.frame import Frame, axes_with_z
from ..errors import InputError
from ..util import validate
from .constraint import Constraint, Joint, checked_ends, frame_in
from .primitives import X, Y, Z
from .relation import FORCE, MovingFrame, Relation

# Sine of the angle between disk and plane below which the disk lies flat.
FLAT = 1e-9


def _to_rim(plane: MovingFrame, disk: MovingFrame, radius: Any) -> np.ndarray:
    """Return the vector (3,) from the disk's center to the lowest point of its rim, in the inertial frame, m."""
    normal, axis = plane.rotation[:, Z], disk.rotation[:, Z]
    cosine = normal @ axis
    # The component of the normal in the disk's plane has length sqrt(1 - cosine^2).
    return (axis * cosine - normal) * ((1.0 - cosine * cosine).sqrt().reciprocal() * radius)


def contact(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the height of the lowest point of the rim above the plane, m."""
    plane, disk = frames
    rim = disk.position + _to_rim(plane, disk, numbers[0])
    return [plane.rotation[:, Z] @ (rim - plane.position)]


def no_slip(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the slip velocity of the disk relative to the plane at the contact point, m/s.

    Its two components are along x and y of the plane.
    """
    plane, disk = frames
    arm = _to_rim(plane, disk, numbers[0])
    from_plane = disk.position + arm - plane.position
    slip = disk.velocity + np.cross(disk.spin, arm) - plane.velocity - np.cross(plane.spin, from_plane)
    return [plane.rotation[:, X] @ slip, plane.rotation[:, Y] @ slip]


def sideways(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
    """Return the velocity of the contact point relative to body i, across the edge, m/s."""
    i, j = frames
    from_i = j.position - i.position
    return [j.rotation[:, Z] @ (j.velocity - i.velocity - np.cross(i.spin, from_i))]


LIES_FLAT = "its disk lies flat on the plane: no point of its rim is lowest"


class RollingDisk(Constraint):
    """A thin disk that rolls on a plane without slip, 3 rows: one of contact, two of velocities (nonholonomic).

    The disk is body j, and the plane is fixed in body i. The load acts at the disk's center; its force is the contact
    force. A run ends with an error when the disk lies flat, because it then has no lowest point.

    Parameters
    ----------
    radius : float
        Radius of the disk, m.
    disk_axis : (3,)
        Axis of the disk in the coordinates of body j; the center is the center of mass of body j.
    plane_point, plane_normal : (3,)
        A point of the plane and its normal towards the disk, in the inertial frame at the initial poses.

    Examples
    --------
    >>> coin = quirk.Body.cylinder("coin", 0.01, 0.02, 0.002, position=[0, 0, 0.02], orientation=[1, 1, 0, 0])
    >>> roll = quirk.RollingDisk("roll", quirk.GROUND, coin, radius=0.02)
    >>> system = quirk.System([coin, roll])
    >>> system.constraint_rows(system.initial_state()).A.shape
    (3, 7)
    """

    row_count = 3

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        radius: float,
        disk_axis: ArrayLike = (0, 0, 1),
        plane_point: ArrayLike = (0, 0, 0),
        plane_normal: ArrayLike = (0, 0, 1),
        active: bool = True,
    ) -> None:
        owner = checked_ends("RollingDisk", name, body_i, body_j)
        if isinstance(body_j, Ground):
            raise InputError(f"{owner}: body_j is the disk, and must be a body; the plane is fixed in body_i")
        self.radius = validate.positive(owner, "radius", radius)
        point = validate.array(owner, "plane_point", plane_point, (3,))
        normal = validate.direction(owner, "plane_normal", plane_normal)
        plane = frame_in(body_i, point, axes_with_z(normal))
        axes = axes_with_z(validate.direction(owner, "disk_axis", disk_axis))
        if np.linalg.norm(np.cross(normal, rotation.matrix(body_j.orientation) @ axes[:, Z])) < FLAT:
            raise InputError(
                f"{owner}: {body_j} lies flat on the plane at the initial poses: no point of its rim is lowest"
            )
        disk = Frame(rotation=rotation.from_matrix(axes))
        super().__init__(name, body_i, body_j, plane, disk, active)
        self.primitives = (
            Relation(contact, ("contact",), (FORCE,), (self.radius,), undefined=LIES_FLAT),
            Relation(no_slip, ("slip along x", "slip along y"), (FORCE, FORCE), (self.radius,), of_velocities=True),
        )


class KnifeEdge(Joint):
    """A blade, skate or sharp wheel: the velocity of a point of body j along an axis of body j is zero, 1 row.

    Parameters
    ----------
    point : (3,)
        Contact point of the edge. Default: center of mass of body j.
    axis : (3,)
        Direction across the edge, fixed in body j, along which there is no motion relative to body i; in the inertial
        frame at the initial poses. Other parameters as for `Joint`.

    Examples
    --------
    >>> skate = quirk.Body.box("skate", 1.0, [0.3, 0.02, 0.1], velocity=[1.0, 0, 0])
    >>> blade = quirk.KnifeEdge("blade", quirk.GROUND, skate, point=[0, 0, 0], axis="y")
    >>> quirk.System([skate, blade]).mobility().degrees_of_freedom
    5
    """

    required = ("axis",)
    primitives = (Relation(sideways, ("slip across the edge",), (FORCE,), of_velocities=True),)
