"""Bodies that joints keep in parallel planes, as far as follows from the axes of the joints alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..bodies import rotation
from ..bodies.body import GROUND
from ..constraints import Constraint, Fixed, Planar, Prismatic, Revolute
from ..constraints.primitives import Z

# Largest sine of the angle between directions that count as parallel.
PARALLEL = 1e-9


def plane_of_motion(bodies: Sequence[Any], constraints: Iterable[Constraint]) -> np.ndarray | None:
    """Return the normal (3,) of the planes in which several bodies move, inertial frame, or None if there is none.

    The constraints that are enabled connect the bodies to the ground by hinges and planes with this normal, sliders
    across it and rigid joints. The ground moves in any plane.
    """
    joints = [one for one in constraints if one.active and isinstance(one, Revolute | Prismatic | Planar | Fixed)]
    moving = [body for body in bodies if body is not GROUND]
    for normal in _normals(joints):
        kept = _bodies_in_planes(normal, joints)
        if moving and all(id(body) in kept for body in moving):
            return normal
    return None


def _normals(joints: Iterable[Constraint]) -> list[np.ndarray]:
    """Return the directions of all hinges and normals of all planes, none of them twice."""
    found: list[np.ndarray] = []
    for joint in joints:
        if isinstance(joint, Revolute | Planar):
            axis, _ = _axes(joint)
            if not any(np.linalg.norm(np.cross(axis, other)) < PARALLEL for other in found):
                found.append(axis)
    return found


def _bodies_in_planes(normal: np.ndarray, joints: Sequence[Constraint]) -> set[int]:
    """Return the ids of the ground and of the bodies that the joints keep in planes with this normal."""
    kept, growing = {id(GROUND)}, True
    fitting = [joint for joint in joints if _keeps_plane(joint, normal)]
    while growing:
        size = len(kept)
        for joint in fitting:
            one, two = joint.bodies
            if id(one) in kept or id(two) in kept:
                kept |= {id(one), id(two)}
        growing = len(kept) > size
    return kept


def _keeps_plane(joint: Constraint, normal: np.ndarray) -> bool:
    """Whether a joint keeps both bodies in planes with this normal if one of them moves in such a plane.

    The axes on both bodies count, as the initial pose may violate the joint.
    """
    if isinstance(joint, Fixed):
        return True
    if isinstance(joint, Prismatic):
        return all(abs(axis @ normal) < PARALLEL for axis in _axes(joint))
    return all(np.linalg.norm(np.cross(axis, normal)) < PARALLEL for axis in _axes(joint))


def _axes(joint: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the z axes (3,) of both frames of a joint, inertial frame, at the initial pose."""
    ends = (joint.body_i, joint.frame_i), (joint.body_j, joint.frame_j)
    one, two = (rotation.matrix(body.orientation) @ frame.matrix[:, Z] for body, frame in ends)
    return one, two
