"""Spatial tendons of MJCF, as springs, ropes and tendons over sites.

In MuJoCo a pulley ends a branch of a tendon and begins the next one. The length of a tendon is the sum, over its
branches, of the length of the branch divided by its divisor; the first branch has the divisor 1.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quirk.bodies.body import Body, Ground
from quirk.bodies.frame import Frame
from quirk.constraints import Constraint, Pulley, Rope, TendonStop
from quirk.constraints.constraint import initial_point
from quirk.forces import ForceElement, Spring, Tendon

from .bodies import Bodies
from .description import DescriptionNames
from .mjcf_model import MjcfModel, pose
from .pose import Pose

End = tuple[Body | Ground, Frame]


class SitePath(NamedTuple):
    """Points along a tendon, each a body and a position (3,) in it, m, and the weights of the spans between points."""

    points: list[tuple[Body | Ground, np.ndarray]]
    weights: list[float]

    @property
    def plain(self) -> bool:
        """Whether the tendon has a single branch, and no two consecutive points coincide."""
        return all(weight == 1.0 for weight in self.weights) and min(self.lengths) > 0

    @property
    def lengths(self) -> list[float]:
        """Initial distances between consecutive points, m."""
        places = [initial_point(body, point) for body, point in self.points]
        return [float(np.linalg.norm(two - one)) for one, two in itertools.pairwise(places)]


def ends(model: MjcfModel, kind: int, numbers: Sequence[int], local: list[Pose], bodies: Bodies) -> list[End]:
    """Return a pair for each of several MJCF bodies or sites: the body of QuIRK that contains it, and its frame there.

    Parameters
    ----------
    model : compiled model
    kind : MuJoCo's number of the object type, body or site
    numbers : indices of the objects in the MuJoCo model
    local : poses of the frames in these bodies or sites
    bodies : bodies of the import
    """
    m, found = model.m, []
    for number, place in zip(numbers, local, strict=True):
        body, inside = number, place
        if kind == model.code("Obj", "SITE"):
            body = m.site_bodyid[number]
            inside = pose(m.site_pos[number], m.site_quat[number]) @ place
        owner, where = bodies.place(model.name("BODY", body) if body else None)
        found.append((owner, (where @ inside).frame))
    return found


def path_of(model: MjcfModel, number: int, bodies: Bodies) -> SitePath | str:
    """Return the path of tendon `number`, or a string that describes why its path is not supported."""
    m = model.m
    first, count = m.tendon_adr[number], m.tendon_num[number]
    sites: list[int] = []
    weights: list[float] = []
    divisor, begins = 1.0, True
    for k in range(first, first + count):
        if m.wrap_type[k] == model.code("Wrap", "PULLEY"):
            divisor, begins = float(m.wrap_prm[k]), True
        elif m.wrap_type[k] == model.code("Wrap", "SITE"):
            weights.append(0.0 if begins else 1.0 / divisor)
            sites.append(int(m.wrap_objid[k]))
            begins = False
        else:
            return "tendons of joints or around geoms"
    at_sites = ends(model, model.code("Obj", "SITE"), sites, [Pose()] * len(sites), bodies)
    path = SitePath([(body, frame.origin) for body, frame in at_sites], weights[1:])
    spans = zip(path.weights, itertools.pairwise(path.points), path.lengths, strict=True)
    moving = [length for weight, (one, two), length in spans if weight and one[0] is not two[0]]
    if not moving:
        return "tendons within one body, which have no effect"
    if min(moving) <= 0:
        return "tendons between points that coincide at the start, where they have no direction"
    return path


def tendon(
    model: MjcfModel, number: int, bodies: Bodies, names: DescriptionNames
) -> list[Constraint | ForceElement] | str:
    """Return the spring and the length limit of a spatial tendon over sites, or a string that describes other tendons.

    `number` is the number of the tendon.
    """
    m, path = model.m, path_of(model, number, bodies)
    if isinstance(path, str):
        return path
    others = ("tendon_armature", "tendon_dampingpoly", "tendon_stiffnesspoly", "tendon_springyield")
    if m.tendon_frictionloss[number] or any(nonzero(model, array, number) for array in others):
        return "tendons with friction, armature, or springs and damping that are not linear"
    name, parts = model.name("TENDON", number), []
    if m.tendon_stiffness[number] or m.tendon_damping[number]:
        parts.append(_spring(model, number, names.take(name, "tendon"), path))
    if m.tendon_limited[number]:
        parts.append(_limit(model, number, names.part(name, "limit"), path))
    return parts


def _spring(model: MjcfModel, number: int, name: str, path: SitePath) -> Constraint | ForceElement:
    """Return the spring and damper of a tendon: a Spring, an elastic rope that can be slack, or a Tendon.

    The rope of a spring of stiffness k and length L has the axial stiffness EA = k L.
    """
    m = model.m
    low, high = (float(x) for x in m.tendon_lengthspring[number])
    stiffness, damping = float(m.tendon_stiffness[number]), float(m.tendon_damping[number])
    pulls_alone = bool(stiffness) and low <= 0 < high and not damping
    if len(path.points) == 2 and (pulls_alone or not stiffness or low >= high):
        (one, p), (two, q) = path.points
        side = "tension" if pulls_alone else None
        return Spring(name, one, two, p, q, stiffness=stiffness, damping=damping, rest_length=high, one_sided=side)
    if path.plain and pulls_alone:
        return Pulley(name, path.points, stiffness=stiffness * high, length=high)
    return Tendon(
        name, path.points, weights=path.weights, stiffness=stiffness, damping=damping, rest_length=[low, high]
    )


def _limit(model: MjcfModel, number: int, name: str, path: SitePath) -> Constraint:
    """Return the constraint that limits the length of tendon `number`."""
    shortest, longest = (float(x) for x in model.m.tendon_range[number])
    if len(path.points) == 2 and shortest <= 0:
        (one, p), (two, q) = path.points
        return Rope(name, one, two, length=longest, point_i=p, point_j=q)
    lower = shortest if shortest > 0 else None
    return TendonStop(name, path.points, weights=path.weights, lower=lower, upper=longest)


def nonzero(model: MjcfModel, array: str, number: int) -> bool:
    """Whether object `number` has nonzero values in a model array, which some versions of MuJoCo lack."""
    values = model.get(array)
    return values is not None and bool(np.any(values[number]))
