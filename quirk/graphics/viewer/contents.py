"""Displayed parts of a mechanism and their extent, independent of the display program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgba

from quirk.bodies import rotation
from quirk.bodies.body import Body
from quirk.constraints import Pulley
from quirk.result import pose_interpolation as in_between

from ..scene.beams import beams_of
from .bodies import body_parts, color_of, extent_from_center, rgba_of
from .forces import arrow_parts, checked_arrows, element_parts
from .joint_axes import axis_parts
from .joints import ROPE, joint_parts
from .parts import AxisMarker, BeamSurface, BodyPart, Cord, Part, PathTrail
from .poses import Poses

if TYPE_CHECKING:
    from quirk.bodies.state import State
    from quirk.forces import ForceElement
    from quirk.result.result import Result
    from quirk.system.system import System

# A mechanism travels far if its size is below the fraction LEAST_PART of the extent of the motion. The view then
# follows the mechanism, whose size is the fraction FOLLOWED_PART of the displayed width.
LEAST_PART, FOLLOWED_PART = 1 / 6, 1 / 3
TRAIL_COLOR = (0.8, 0.2, 0.07, 1.0)
# Number of points of a trail between two animation frames.
TRAIL_POINTS = 3


@dataclass(frozen=True)
class Extent:
    """Size and position of all displayed parts.

    Attributes
    ----------
    low, high : (3,) bounds of the coordinates over the whole motion, inertial frame, m
    start : (2, 3) lowest and highest coordinates at the first time, m
    floor : smallest coordinate along `up` of all points, from the inertial origin, m
    up : (3,) unit vector opposite to gravity, or z without gravity, inertial frame
    """

    low: np.ndarray
    high: np.ndarray
    start: np.ndarray
    floor: float
    up: np.ndarray

    @property
    def size(self) -> float:
        """Longest edge of the bounding box at the first time, m."""
        return float(np.ptp(self.start, axis=0).max())

    @property
    def is_wide(self) -> bool:
        """Whether the motion is so long that a view of the whole motion would show the mechanism too small."""
        return self.size < LEAST_PART * float((self.high - self.low).max())

    def view(self, followed: bool) -> tuple[np.ndarray, float]:
        """Return center (3,) and half width (m) of the displayed region, inertial frame.

        The region contains the whole motion or, if `followed` is True, only the mechanism.
        """
        half = 0.5 * float((self.high - self.low).max())
        most = 0.5 * self.size / FOLLOWED_PART
        return (self.start.mean(axis=0), most) if followed and most < half else (0.5 * (self.low + self.high), half)


@dataclass(frozen=True)
class Contents:
    """Displayed parts of a system, and the poses of its bodies.

    Attributes
    ----------
    parts : bodies, joints, springs and arrows
    cords : ropes of pulleys
    trails : paths of points
    poses : poses of the bodies at all times
    extent : size and position of all parts
    axes : axes of joints, shown on request
    beams : surfaces of elastic beams
    grounded : whether a floor is shown, which is the case with gravity
    notes : strings with the scale of arrows, such as "longest force 180 N"
    """

    parts: list[Part]
    cords: list[Cord]
    trails: list[PathTrail]
    poses: Poses
    extent: Extent
    axes: list[AxisMarker]
    beams: list[BeamSurface]
    grounded: bool
    notes: list[str] = field(default_factory=list)


def of_result(
    result: Result, times: np.ndarray, arrows: Any = (), trails: Sequence[tuple[str, np.ndarray]] = ()
) -> Contents:
    """Return the displayed parts of a result, with the poses at the times `times` (nt,), s.

    `arrows` are the names of constraints and forces whose loads are shown; `trails` are body points (name, point (3,),
    m).
    """
    names = checked_arrows(result.system, result._elements, arrows)
    paths = [_trail(result, name, local, times) for name, local in trails]
    made = _contents(result.system, Poses.of_result(result, times), list(result._elements.values()), paths)
    arrows_drawn, notes = arrow_parts(result, names, made.extent.size)
    made.parts.extend(arrows_drawn)
    made.notes.extend(notes)
    return made


def of_state(system: System, state: State) -> Contents:
    """Return the displayed parts of a system, with the poses of one state."""
    return _contents(system, Poses.of_state(system, state), system.forces, [])


def _contents(system: System, poses: Poses, elements: Sequence[ForceElement], trails: list[PathTrail]) -> Contents:
    reach = {body.name: extent_from_center(system, body) for body in system.bodies}
    bodies = body_parts(system, reach)
    numbers = {body.name: number for number, body in enumerate(system.bodies)}
    beams = [
        BeamSurface(beam, rgba_of(beam.color, to_rgba(color_of(numbers[beam.bodies[0].name]))))
        for beam in beams_of(system)
    ]
    extent = _extent(system, poses, bodies, trails, [beam.vertices(poses) for beam in beams])
    ground = 2.5 * float((extent.high - extent.low).max())
    cords = [Cord(constraint, ROPE) for constraint in system.constraints if isinstance(constraint, Pulley)]
    joints = joint_parts(system, reach, extent.size, ground, 0.5 * (extent.low + extent.high))
    parts = [*bodies, *joints, *element_parts(elements, extent.size)]
    axes = axis_parts(system, extent.size)
    return Contents(parts, cords, trails, poses, extent, axes, beams, grounded=bool(np.any(system.gravity)))


def _extent(
    system: System,
    poses: Poses,
    bodies: Sequence[BodyPart],
    trails: Sequence[PathTrail],
    beams: Sequence[np.ndarray],
) -> Extent:
    """Return the extent of bodies, trails, beams, and of the points where constraints and forces act on the ground."""
    strength = float(np.linalg.norm(system.gravity))
    up = -system.gravity / strength if strength > 0 else np.array([0.0, 0.0, 1.0])
    fixed = [
        frame.origin
        for parts in (system.constraints, system.forces)
        for part in parts
        if part not in system.companions
        for body, frame in part.ends
        if not isinstance(body, Body) and getattr(part, "drawing", None) != ""
    ]
    clouds = [*(_carried(part, poses) for part in bodies), *beams]
    starts = np.concatenate([*(cloud[0] for cloud in clouds), np.reshape(fixed, (-1, 3))])
    clouds += [np.reshape(fixed, (1, -1, 3))] if fixed else []
    clouds += [trail.path for trail in trails]
    return Extent(
        np.min([cloud.min(axis=(0, 1)) for cloud in clouds], axis=0),
        np.max([cloud.max(axis=(0, 1)) for cloud in clouds], axis=0),
        np.stack([starts.min(axis=0), starts.max(axis=0)]),
        float(min((cloud @ up).min() for cloud in clouds)),
        up,
    )


def _carried(part: BodyPart, poses: Poses) -> np.ndarray:
    """Return the paths (nt, 8, 3) of the corners of the bounding box of a body, inertial frame, m."""
    vertices = np.concatenate([look.surface.vertices for look in part.looks])
    ends = np.stack([vertices.min(axis=0), vertices.max(axis=0)])
    corners = np.array(np.meshgrid(*ends.T)).reshape(3, -1).T
    r, q = poses.of(part.body)
    return r[:, None] + corners @ np.swapaxes(rotation.matrix(q), 1, 2)


def _trail(result: Result, name: str, local: np.ndarray, times: np.ndarray) -> PathTrail:
    """Return the path of a point (3,) of a body as a trail, with one piece between successive `times` (nt,), s."""
    s = np.linspace(0.0, 1.0, TRAIL_POINTS + 1)
    fine = times[:-1, None] + s * np.diff(times)[:, None]
    r, R = in_between.poses(result, name, fine.reshape(-1))
    path = (r + R @ local).reshape(len(times) - 1, TRAIL_POINTS + 1, 3)
    # The trail is empty in the first animation frame.
    return PathTrail(
        f"trail of {name}", np.concatenate([path[:1, :1].repeat(TRAIL_POINTS + 1, axis=1), path]), TRAIL_COLOR
    )
