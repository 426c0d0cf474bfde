"""Surfaces of elastic beams, swept by the outline of the section along the center line."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.beams import Beam
from quirk.beams.helix import between_nodes
from quirk.bodies import rotation

# Minimum number of rings along a beam, and maximum number of corners of a ring.
RINGS, CORNERS = 48, 12


class SweptBeam:
    """Surface of a beam at nt times.

    Parameters
    ----------
    beam : Beam
    positions, orientations : (nt, N + 1, 3) m, inertial frame, and quaternions (nt, N + 1, 4) of the beam's bodies

    Attributes
    ----------
    rings : (nt, rings, corners, 3) points of the surface, m, inertial frame
    """

    def __init__(self, beam: Beam, positions: np.ndarray, orientations: np.ndarray) -> None:
        self.beam = beam
        arms = np.array([body.frame("node").origin for body in beam.bodies])
        nodes = positions + np.einsum("tnij,nj->tni", rotation.matrix(orientations), arms)
        fineness = max(1, -(-RINGS // beam.elements))
        points, turns = between_nodes(nodes, orientations, fineness)
        outline = beam.section.outline
        outline = outline[:: max(1, -(-len(outline) // CORNERS))]
        across = np.column_stack([np.zeros(len(outline)), outline])
        self.rings = points[:, :, None] + np.einsum("trij,cj->trci", rotation.matrix(turns), across)

    def faces(self, frame: int) -> list[np.ndarray]:
        """Return the polygons (k, 3) of the surface at the time with index `frame`."""
        rings = self.rings[frame]
        following = np.roll(rings, -1, axis=1)
        sides = np.stack([rings[:-1], following[:-1], following[1:], rings[1:]], axis=2)
        return [*sides.reshape(-1, 4, 3), rings[0], rings[-1]]


def beam_of_bodies(system: Any) -> dict[str, Beam]:
    """Return the beam to which each body of a beam belongs, by name of the body."""
    return {body.name: beam for beam in beams_of(system) for body in beam.bodies}


def beams_of(system: Any) -> list[Beam]:
    """Return the beams of a system."""
    return [part for part in system if isinstance(part, Beam)]
