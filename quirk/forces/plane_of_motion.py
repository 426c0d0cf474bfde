"""Bodies that joints keep in parallel planes, as far as follows from the axes of the joints alone."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..bodies import rotation
from ..bodies.body import GROUND
from ..constraints import Constraint, Fixed, Planar, Prismatic, Revolute
from ..constraints.primitives import Z

# Largest sine of the angle between directions that count as parallel.
PARALLEL = 1e-9

Joints = dict[int, list[Any]]
# The last list of constraints and its joints, as all contacts of a system ask for them.
_last: tuple[weakref.ref[Any], Joints] | None = None


def plane_of_motion(bodies: Sequence[Any], constraints: Sequence[Constraint]) -> np.ndarray | None:
    """Return the normal (3,) of the planes in which several bodies move, inertial frame, or None if there is none.

    The constraints that are enabled connect each of the bodies to the ground by hinges and planes with this normal,
    sliders across it and rigid joints. The ground moves in any plane.
    """
    joints_of, moving = _joints_of(constraints), [body for body in bodies if body is not GROUND]
    for normal in _candidates(moving[0], joints_of) if moving else ():
        if all(_is_kept(body, normal, joints_of) for body in moving):
            return normal
    return None


def _joints_of(constraints: Sequence[Constraint]) -> Joints:
    """Return the enabled joints by the ids of their bodies, as far as they may keep bodies in a plane."""
    global _last
    if _last is not None and _last[0]() is constraints:
        return _last[1]
    found: Joints = {}
    for joint in constraints:
        if joint.active and isinstance(joint, Revolute | Prismatic | Planar | Fixed):
            for body in joint.bodies:
                found.setdefault(id(body), []).append(joint)
    with contextlib.suppress(TypeError):  # plain lists have no weak references
        _last = weakref.ref(constraints), found
    return found


def _candidates(body: Any, joints_of: Joints) -> list[np.ndarray]:
    """Return the directions of the hinges and planes of a body, and of the bodies that move along or with it."""
    reached = _reached(body, joints_of, lambda joint: isinstance(joint, Prismatic | Fixed))
    joints = [joint for one in reached for joint in joints_of.get(one, ())]
    return [_axes(joint)[0] for joint in joints if isinstance(joint, Revolute | Planar)]


def _is_kept(body: Any, normal: np.ndarray, joints_of: Joints) -> bool:
    """Whether joints that keep bodies in planes with this normal connect a body to the ground."""
    return id(GROUND) in _reached(body, joints_of, lambda joint: _keeps_plane(joint, normal))


def _reached(body: Any, joints_of: Joints, passes: Callable[[Any], bool]) -> set[int]:
    """Return the ids of the bodies that joints for which `passes` is true connect to `body`, up to the ground."""
    reached, waiting = {id(body)}, [id(body)]
    while waiting:
        one = waiting.pop()
        for joint in joints_of.get(one, ()) if one != id(GROUND) else ():
            ends = [id(end) for end in joint.bodies]
            if not reached.issuperset(ends) and passes(joint):
                waiting += [end for end in ends if end not in reached]
                reached.update(ends)
    return reached


def _keeps_plane(joint: Any, normal: np.ndarray) -> bool:
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
