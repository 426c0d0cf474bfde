"""Parts of a picture: colored surfaces and their poses at the times of the pictures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from quirk.bodies.body import Body, Ground
from quirk.bodies.frame import Frame
from quirk.constraints import Pulley

from ..scene.ropes import rods
from .poses import Poses
from .surfaces import SurfaceMesh

# A vector below this fraction of the longest one is not drawn, because its direction is undefined.
NO_LENGTH = 1e-9

Color = tuple[float, float, float, float]


@dataclass(frozen=True)
class Look:
    """A surface with a color (r, g, b, opacity), each from 0 to 1."""

    surface: SurfaceMesh
    color: Color


@dataclass(frozen=True)
class Track:
    """Poses of a part at all times of the pictures (nt, ...), or one constant pose (1, ...).

    Attributes
    ----------
    position : (nt, 3) m
    orientation : (nt, 4) unit quaternions
    shown : (nt,) bool, whether the part is visible
    scale : (nt, 3) scale factors along the part's own axes, or None
    """

    position: np.ndarray
    orientation: np.ndarray
    shown: np.ndarray
    scale: np.ndarray | None = None


@dataclass(frozen=True)
class Part(ABC):
    """A part of a picture: its name and surfaces."""

    name: str
    looks: Sequence[Look]

    @property
    def parent(self) -> Body | None:
        """The body in whose coordinates the track is given; None for the inertial frame."""
        return None

    @abstractmethod
    def track(self, poses: Poses) -> Track:
        """Return the poses of the part."""


@dataclass(frozen=True)
class BodyPart(Part):
    """A body, or the ground, with all surfaces that are fixed to it and always visible."""

    body: Body | Ground

    def track(self, poses: Poses) -> Track:
        """Return the poses of the body."""
        position, orientation = poses.of(self.body)
        return Track(position, orientation, np.ones(len(position), dtype=bool))


@dataclass(frozen=True)
class Marker(Part):
    """Surfaces fixed in a body or in the ground, visible while a constraint is active."""

    body: Body | Ground
    frame: Frame
    of: str
    labeled: bool = False

    @property
    def parent(self) -> Body | None:
        """The body, or None for the ground."""
        return self.body if isinstance(self.body, Body) else None

    def track(self, poses: Poses) -> Track:
        """Return the constant pose in the body, and when the marker is visible."""
        return Track(self.frame.origin[None], self.frame.rotation[None], poses.acts[self.of])


@dataclass(frozen=True)
class AxisMarker(Marker):
    """A free axis of a joint, shown on request."""


@dataclass(frozen=True)
class Span(Part):
    """A surface of length 1 along z that is stretched between two points."""

    ends: tuple[tuple[Body | Ground, np.ndarray], tuple[Body | Ground, np.ndarray]]
    of: str

    def track(self, poses: Poses) -> Track:
        """Return the position of the first point, the direction and the length."""
        (one, p), (two, q) = self.ends
        start, end = poses.path_of(one, p), poses.path_of(two, q)
        lengths, orientation = along(end - start)
        scale = np.stack([np.ones_like(lengths), np.ones_like(lengths), lengths], axis=1)
        return Track(start, orientation, poses.acts[self.of] & (lengths > 0), scale)


@dataclass(frozen=True)
class Arrow(Part):
    """A vector at a point, as an arrow of length 1 along z that is scaled by the vector's length."""

    body: Body | Ground
    point: np.ndarray
    of: str
    # Function of the times of the pictures; returns the vectors (nt, 3), inertial frame, in meters of the picture.
    vectors: Callable[[np.ndarray], np.ndarray] = field(repr=False)
    longest: float = 1.0

    def track(self, poses: Poses) -> Track:
        """Return the position of the point, the direction and the length."""
        lengths, orientation = along(self.vectors(poses.time))
        shown = poses.acts[self.of] & (lengths > NO_LENGTH * self.longest)
        return Track(poses.path_of(self.body, self.point), orientation, shown, np.tile(lengths[:, None], (1, 3)))


@dataclass(frozen=True)
class Cord:
    """The rope of a pulley, a line of variable course."""

    pulley: Pulley
    color: Color

    @property
    def name(self) -> str:
        """Name of the pulley."""
        return self.pulley.name

    def path(self, poses: Poses) -> np.ndarray:
        """Return the course (nt, k, 3) of the rope, m, inertial frame."""
        ((_, course),) = rods(poses, [self.pulley])
        return course

    def shown(self, poses: Poses) -> np.ndarray:
        """Return when the rope is visible, (nt,) bool."""
        return poses.acts[self.name]


@dataclass(frozen=True)
class PathTrail:
    """The path (nt, k, 3), m, inertial frame, of a point: k points between each picture and the previous one."""

    name: str
    path: np.ndarray
    color: Color


def along(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths (nt,) of vectors (nt, 3), and quaternions (nt, 4) that rotate z to their directions."""
    lengths = np.linalg.norm(vectors, axis=1)
    unit = np.divide(
        vectors, lengths[:, None], out=np.tile([0.0, 0.0, 1.0], (len(vectors), 1)), where=lengths[:, None] > 0
    )
    # The shortest rotation: (1 + cos, z x unit), which vanishes for opposite vectors.
    q = np.stack([1 + unit[:, 2], -unit[:, 1], unit[:, 0], np.zeros(len(unit))], axis=1)
    opposite = q[:, 0] < 1e-12
    q[opposite] = [0.0, 1.0, 0.0, 0.0]
    return lengths, q / np.linalg.norm(q, axis=1, keepdims=True)
