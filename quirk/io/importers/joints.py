"""Creation of joints between the bodies of links, with their limits, damping, friction and springs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quirk.constraints import Constraint, Joint, Stop
from quirk.forces import Bushing, ForceElement, JointFriction, TorsionSpring

from .bodies import Bodies
from .description import DescriptionNames, at
from .pose import Pose


@dataclass
class JointCoordinate:
    """Limits and forces of one coordinate of a joint, in rad and N m for rotations, in m and N for translations.

    Attributes
    ----------
    lower, upper : limits, or None
    damping : load per unit rate
    friction : load of dry friction
    stiffness : load per unit displacement
    rest : coordinate at which the spring is unloaded
    """

    lower: float | None = None
    upper: float | None = None
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0


def make(
    kind: type[Joint],
    name: str,
    bodies: Bodies,
    parent: tuple[str | None, Pose],
    child: tuple[str | None, Pose],
    **arguments: Any,
) -> Joint:
    """Return a joint between frames of two links.

    Parameters
    ----------
    kind : class of the joint
    name : name of the joint
    bodies : bodies of the links
    parent, child : name of a link, None for the ground, and pose of the joint frame in this link
    arguments : further arguments of the joint
    """
    (body_i, i), (body_j, j) = bodies.place(parent[0]), bodies.place(child[0])
    one, two = (i @ parent[1]).frame, (j @ child[1]).frame
    return kind(name, body_i, body_j, frame_i=one, frame_j=two, **arguments)


def elements(
    joint: Joint,
    coordinate: JointCoordinate,
    kind: str,
    names: DescriptionNames,
    location: Any,
    name: str,
) -> list[Constraint | ForceElement]:
    """Return the stop, damper, friction and spring of a joint coordinate.

    Parameters
    ----------
    joint : the joint
    coordinate : properties of its coordinate
    kind : "rotation" or "translation"
    names : names already used in the system
    location : location in the file, for messages
    name : name of the joint in the file, which is the beginning of the names of the elements
    """
    made: list[Constraint | ForceElement] = []
    both = {"coordinate": kind}
    with at(location):
        if coordinate.lower is not None or coordinate.upper is not None:
            limits = {"lower": coordinate.lower, "upper": coordinate.upper}
            made.append(Stop(names.part(name, "limits"), joint, **limits, **both))  # type: ignore[arg-type]
        if coordinate.stiffness:
            made.append(_spring(names.part(name, "spring"), joint, coordinate, kind))
        if coordinate.damping or coordinate.friction:
            dry = {"coulomb": coordinate.friction, "sticking": True} if coordinate.friction else {}
            resistance = {"viscous": coordinate.damping, **dry}
            made.append(JointFriction(names.part(name, "friction"), joint, **resistance, **both))  # type: ignore[arg-type]
    return made


def _spring(name: str, joint: Joint, coordinate: JointCoordinate, kind: str) -> ForceElement:
    if kind == "rotation":
        return TorsionSpring(name, joint, stiffness=coordinate.stiffness, rest_angle=coordinate.rest)
    assert joint.translation_axis is not None
    along = [0.0] * 6
    along[joint.translation_axis] = coordinate.stiffness
    preload = [coordinate.rest * k for k in along]
    return Bushing(
        name, joint.body_i, joint.body_j, frame_i=joint.frame_i, frame_j=joint.frame_j, stiffness=along, preload=preload
    )
