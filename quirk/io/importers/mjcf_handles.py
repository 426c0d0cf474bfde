"""Handles: joints without constraint rows that measure one coordinate each, where an MJCF body has several joints.

One equivalent joint replaces the MJCF joints of the body. Limits, springs and other loads of each MJCF joint act on its
handle instead.
"""

from __future__ import annotations

import numpy as np

from quirk.bodies.frame import axes_with_z
from quirk.constraints import Free, Joint, Prismatic, Revolute

from . import joints
from .bodies import Bodies
from .description import DescriptionNames
from .mjcf_stack import ALIGNED, Stack
from .pose import Pose, turned


def handles(stack: Stack, frames: tuple[Pose, Pose], bodies: Bodies, names: DescriptionNames) -> dict[int, Joint]:
    """Return the handle of each slide and hinge of a body, by number of the MJCF joint.

    A handle has the name of its MJCF joint. Its coordinate equals the coordinate of the slide or hinge, and a load
    along it does no work on the other coordinates of the body. Hinges with parallel axes have no handles, and neither
    does the middle one of three hinges if its reference is not zero.

    Parameters
    ----------
    stack : the MJCF joints of the body
    frames : poses of the origins of these joints in the parent and in the body
    bodies, names : bodies and names of the import
    """
    made = {k: _slide(stack, k, frames, bodies, names) for k in stack.slides}
    hinges = stack.hinges
    perpendicular = len(hinges) == 2 and abs(stack.axis(hinges[0]) @ stack.axis(hinges[1])) <= ALIGNED
    if len(hinges) == 1 or perpendicular:
        return {**made, **{k: _hinge(stack, k, frames, bodies, names) for k in hinges}}
    if len(hinges) == 2 and np.linalg.norm(np.cross(stack.axis(hinges[0]), stack.axis(hinges[1]))) <= ALIGNED:
        return made
    for place, k in enumerate(hinges):
        letter = ("xz" if len(hinges) == 2 else "xyz")[place]
        if letter == "y" and stack.reference(k):
            continue
        one, two = _axes_of_two(stack) if len(hinges) == 2 else _axes_of_three(stack, place)
        first, last = one.T @ stack.axis(hinges[0]), two.T @ stack.axis(hinges[-1])
        one = one @ turned(0, -first[0] * stack.reference(hinges[0]))
        two = two @ turned(2, last[2] * stack.reference(hinges[-1]))
        ends = (stack.parent, Pose(stack.home.axes @ one, frames[0].origin)), (stack.link, Pose(two, frames[1].origin))
        name = names.take(stack.model.name("JOINT", k), "joint")
        made[k] = joints.make(Free, name, bodies, *ends, angle=letter)
    return made


def _slide(stack: Stack, k: int, frames: tuple[Pose, Pose], bodies: Bodies, names: DescriptionNames) -> Joint:
    name, axis = names.take(stack.model.name("JOINT", k), "joint"), stack.axis(k)
    one: tuple[str | None, Pose]
    two: tuple[str | None, Pose]
    if stack.hinge_first:
        # Opposite direction along an axis of the body, for the motion of the parent relative to the body.
        along = axes_with_z(-axis)
        one = stack.link, Pose(along, frames[1].origin + stack.reference(k) * axis)
        two = stack.parent, Pose(stack.home.axes @ along, frames[0].origin)
    else:
        along = axes_with_z(axis)
        one = stack.parent, Pose(stack.home.axes @ along, frames[0].origin)
        two = stack.link, Pose(along, frames[1].origin)
    return joints.make(Prismatic, name, bodies, one, two, active=False)


def _hinge(stack: Stack, k: int, frames: tuple[Pose, Pose], bodies: Bodies, names: DescriptionNames) -> Joint:
    """Return the handle of a single hinge, or of one of two perpendicular hinges; `k` is the number of its joint.

    A handle measures the last of its 1-2-3 angles. For the first of two hinges, this is the rotation of the parent
    relative to the body about the reversed axis. `stack` and `frames` are as for `handles`.
    """
    across = next((stack.axis(other) for other in stack.hinges if other != k), None)
    first = k == stack.hinges[0] and across is not None
    about = axes_with_z(-stack.axis(k) if first else stack.axis(k), across)
    outer = stack.parent, Pose(stack.home.axes @ about, frames[0].origin)
    inner = stack.link, Pose(about, frames[1].origin)
    one, two = (inner, outer) if first else (outer, inner)
    two = two[0], two[1] @ Pose(turned(2, stack.reference(k)))
    name = names.take(stack.model.name("JOINT", k), "joint")
    return joints.make(Revolute, name, bodies, one, two, active=False)


def _axes_of_two(stack: Stack) -> tuple[np.ndarray, np.ndarray]:
    """Return axes in the parent and in the body for which the first and third 1-2-3 angles are the two hinge angles.

    Both sets of axes are (3, 3), in body coordinates in the reference position. The second 1-2-3 angle is constant: the
    angle between the hinge axes minus a right angle. `stack` contains the two hinges.
    """
    a, b = (stack.axis(k) for k in stack.hinges)
    y = np.cross(b, a) / np.linalg.norm(np.cross(b, a))
    return np.column_stack([a, y, np.cross(a, y)]), np.column_stack([np.cross(y, b), y, b])


def _axes_of_three(stack: Stack, place: int) -> tuple[np.ndarray, np.ndarray]:
    """Return axes in the parent and in the body for which a 1-2-3 angle is the angle of one of three hinges.

    Both sets of axes are (3, 3), in body coordinates in the reference position; `place` is 0, 1 or 2 for the first,
    second or third hinge. If the hinge axes are left-handed, another axis is reversed, which changes the sign of its
    angle. `stack` contains the three hinges.
    """
    axes = np.column_stack([stack.axis(k) for k in stack.hinges])
    if np.linalg.det(axes) < 0:
        axes[:, (place + 1) % 3] *= -1
    return axes, axes
