"""Displayed parts: colored surfaces, and their poses in nt animation frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from quirk.beams import Beam
from quirk.bodies.body import Body, Ground
from quirk.bodies.frame import Frame
from quirk.constraints import Pulley

from ..scene.beams import SweptBeam
from ..scene.ropes import rods
from .poses import Poses
from .surfaces import SurfaceMesh, lathe

# Smallest length of a drawn vector, relative to the longest one; the direction of shorter vectors is round-off.
NO_LENGTH = 1e-9
# Maximum number of corners of a beam's outline that is shaded with sharp edges; others are shaded as round.
MOST_CORNERS = 8

Color = tuple[float, float, float, float]


@dataclass(frozen=True)
class Look:
    """A surface with its color (r, g, b, opacity), each component from 0 to 1."""

    surface: SurfaceMesh
    color: Color


@dataclass(frozen=True)
class Track:
    """Poses of a displayed part in nt animation frames; arrays with one row are constant.

    Attributes
    ----------
    position : (nt, 3) m
    orientation : (nt, 4) unit quaternions
    shown : (nt,) bool, whether the part is visible
    scale : (nt, 3) scale factors along the axes of the part, or None
    """

    position: np.ndarray
    orientation: np.ndarray
    shown: np.ndarray
    scale: np.ndarray | None = None


@dataclass(frozen=True)
class Part(ABC):
    """Base class of displayed parts, with a name and surfaces."""

    name: str
    looks: Sequence[Look]

    @property
    def parent(self) -> Body | None:
        """Body in whose coordinates the poses of the part are given; None for the inertial frame."""
        return None

    @abstractmethod
    def track(self, poses: Poses) -> Track:
        """Return the poses of the part in all animation frames; `poses` are the poses of the bodies."""


@dataclass(frozen=True)
class BodyPart(Part):
    """A body or the ground, with its permanently visible surfaces."""

    body: Body | Ground
    labeled: bool = True

    def track(self, poses: Poses) -> Track:
        """Return the poses of the body in all animation frames; `poses` are the poses of all bodies."""
        position, orientation = poses.of(self.body)
        return Track(position, orientation, np.ones(len(position), dtype=bool))


@dataclass(frozen=True)
class Marker(Part):
    """Surfaces fixed to a body or the ground as the symbol of a constraint; visible while the constraint is active.

    Attributes
    ----------
    body : Body or ground
    frame : pose of the surfaces in the body
    of : name of the constraint
    labeled : whether the name of the constraint is shown at this symbol
    """

    body: Body | Ground
    frame: Frame
    of: str
    labeled: bool = False

    @property
    def parent(self) -> Body | None:
        """Body to which the marker is fixed, or None for the ground."""
        return self.body if isinstance(self.body, Body) else None

    def track(self, poses: Poses) -> Track:
        """Return the constant pose of the marker in its body, and the mask of the frames in which it is visible."""
        return Track(self.frame.origin[None], self.frame.rotation[None], poses.acts[self.of])


@dataclass(frozen=True)
class AxisMarker(Marker):
    """The free axis of a joint, shown on request."""


@dataclass(frozen=True)
class Span(Part):
    """Surface of length 1 along z, such as a coil, that is stretched to reach from one point to another.

    Attributes
    ----------
    ends : two pairs of a body and a point (3,) in its coordinates, m
    of : name of the constraint or force
    """

    ends: tuple[tuple[Body | Ground, np.ndarray], tuple[Body | Ground, np.ndarray]]
    of: str

    def track(self, poses: Poses) -> Track:
        """Return the poses of the surface: at the first point, with z toward the second, scaled to their distance."""
        (one, p), (two, q) = self.ends
        start, end = poses.path_of(one, p), poses.path_of(two, q)
        lengths, orientation = along(end - start)
        scale = np.stack([np.ones_like(lengths), np.ones_like(lengths), lengths], axis=1)
        return Track(start, orientation, poses.acts[self.of] & (lengths > 0), scale)


@dataclass(frozen=True)
class Arrow(Part):
    """An arrow of length 1 along z that is scaled to the length of a vector, such as a force.

    Attributes
    ----------
    body, point : body, and start of the arrow (3,) in its coordinates, m
    of : name of the constraint or force
    longest : length of the longest vector, m
    """

    body: Body | Ground
    point: np.ndarray
    of: str
    # Function of the times (nt,), s, of the animation frames that returns the vectors (nt, 3), inertial frame, with the
    # length in m at which they are drawn.
    vectors: Callable[[np.ndarray], np.ndarray] = field(repr=False)
    longest: float = 1.0

    def track(self, poses: Poses) -> Track:
        """Return the poses of the arrow: at its start, with z along the vector, scaled to its length."""
        lengths, orientation = along(self.vectors(poses.time))
        shown = poses.acts[self.of] & (lengths > NO_LENGTH * self.longest)
        return Track(poses.path_of(self.body, self.point), orientation, shown, np.tile(lengths[:, None], (1, 3)))


@dataclass(frozen=True)
class Cord:
    """The rope of a pulley, drawn as a line."""

    pulley: Pulley
    color: Color

    @property
    def name(self) -> str:
        """Name of the pulley to which the rope belongs."""
        return self.pulley.name

    def path(self, poses: Poses) -> np.ndarray:
        """Return the points (nt, k, 3) of the rope in all animation frames, inertial frame, m."""
        ((_, path),) = rods(poses, [self.pulley])
        return path

    def shown(self, poses: Poses) -> np.ndarray:
        """Return a mask (nt,) of the animation frames in which the rope is visible."""
        return poses.acts[self.name]


@dataclass(frozen=True)
class BeamSurface:
    """The deformable surface of an elastic beam."""

    beam: Beam
    color: Color

    @property
    def name(self) -> str:
        """Name of the beam."""
        return self.beam.name

    @property
    def smooth(self) -> bool:
        """Whether the outline of the section is round."""
        return len(self.beam.section.outline) > MOST_CORNERS

    def vertices(self, poses: Poses) -> np.ndarray:
        """Return the vertices (nt, n, 3), m, inertial frame: points of the rings, then the centers of both ends."""
        pairs = [poses.of(body) for body in self.beam.bodies]
        rings = SweptBeam(self.beam, *(np.stack([pair[k] for pair in pairs], axis=1) for k in (0, 1))).rings
        ends = rings[:, [0, -1]].mean(axis=2)
        return np.concatenate([rings.reshape(len(rings), -1, 3), ends], axis=1)

    def triangles(self, poses: Poses) -> np.ndarray:
        """Return the indices (k, 3) of the vertices of each triangle."""
        positions = np.stack([poses.of(body)[0][:1] for body in self.beam.bodies], axis=1)
        orientations = np.stack([poses.of(body)[1][:1] for body in self.beam.bodies], axis=1)
        rings = SweptBeam(self.beam, positions, orientations).rings[0]
        return lathe(rings, rings[0].mean(axis=0), rings[-1].mean(axis=0)).triangles


@dataclass(frozen=True)
class PathTrail:
    """The path of a point.

    Attributes
    ----------
    name : name of the point
    path : (nt, k, 3) k points between each animation frame and the previous one, inertial frame, m
    color : (r, g, b, opacity)
    """

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
