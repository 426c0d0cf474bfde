"""Two hinges with arbitrary axes on one MJCF body, without mass between them, as constraints.

Handles are joints without constraint rows that measure one coordinate; see mjcf_handles. In the reference position of a
body, MJCF's joint coordinates have their reference values.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quirk.bodies.frame import axes_with_z
from quirk.constraints import Constraint, Distance, Planar, Spherical, Universal

from . import joints
from .bodies import Bodies
from .description import DescriptionNames
from .mjcf_stack import ALIGNED, Stack
from .pose import Pose


@dataclass
class TwoHinges:
    """Constraints that are equivalent to two hinges.

    Attributes
    ----------
    parts : constraints, which remove four degrees of freedom in total
    frames : poses of the frames, in the parent and in the body, between which handles measure the two angles
    """

    parts: list[Constraint]
    frames: tuple[Pose, Pose]


def two_hinges(stack: Stack, bodies: Bodies, names: DescriptionNames) -> TwoHinges:
    """Return the constraints equivalent to two hinges with a rigid massless link between them.

    For intersecting axes this is a universal joint, or a spherical joint with a constant angle between the two axes;
    for parallel axes, a planar joint with a constant distance of two points. For skew axes, the distances of two points
    on one axis from two points on the other are constant, so that all six edges of a tetrahedron have constant length.

    `stack` contains the two hinges; `bodies` and `names` are the bodies and names of the import.
    """
    a, b = (stack.axis(k) for k in stack.hinges)
    start = np.array(stack.model.m.jnt_pos[stack.hinges[0]], dtype=float)
    name = names.part(stack.link, "joints")
    across = np.cross(a, b)
    if np.linalg.norm(across) <= ALIGNED:
        apart = stack.apart - (stack.apart @ a) * a
        plane = axes_with_z(a)
        i, j = stack.home @ Pose(plane, start), Pose(plane, start + apart)
        joint = joints.make(Planar, name, bodies, (stack.parent, i), (stack.link, j))
        rod = _rod(names.part(stack.link, "rod"), stack, bodies, start, start + apart)
        return TwoHinges([joint, rod], (i, j))
    # The points of the axes that are nearest to each other.
    along = np.linalg.lstsq(np.column_stack([a, -b]), stack.apart, rcond=None)[0]
    one, two = start + along[0] * a, start + stack.apart + along[1] * b
    gap = float(np.linalg.norm(two - one))
    i, j = stack.home @ Pose(np.eye(3), one), Pose(np.eye(3), two)
    if gap > ALIGNED * (1.0 + float(np.linalg.norm(stack.apart))):
        points = [(one + p * gap * a, two + q * gap * b) for p in (-1, 1) for q in (-1, 1)]
        rods = [_rod(names.part(stack.link, "rod"), stack, bodies, p, q) for p, q in points]
        return TwoHinges(list(rods), (i, j))
    if abs(a @ b) <= ALIGNED:
        i, j = stack.frames(stack.frame_axes(), one)
        return TwoHinges([joints.make(Universal, name, bodies, (stack.parent, i), (stack.link, j))], (i, j))
    ball = joints.make(Spherical, name, bodies, (stack.parent, i), (stack.link, j))
    return TwoHinges([ball, _rod(names.part(stack.link, "rod"), stack, bodies, one + a, one + b)], (i, j))


def _rod(name: str, stack: Stack, bodies: Bodies, outer: np.ndarray, inner: np.ndarray) -> Distance:
    """Return a constant-distance constraint between a point of the parent and a point of the body.

    Both points, `outer` on the parent and `inner` on the body, (3,) m, are in the coordinates of the body in its
    reference position.
    """
    (body_i, i), (body_j, j) = bodies.place(stack.parent), bodies.place(stack.link)
    ends = i.point(stack.home.point(outer)), j.point(inner)
    return Distance(name, body_i, body_j, point_i=ends[0], point_j=ends[1], length=float(np.linalg.norm(inner - outer)))
