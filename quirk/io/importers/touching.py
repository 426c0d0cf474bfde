"""Contacts between the collision geometries of links.

Contacts are created only for geometries that have an exact equivalent among the surfaces of QuIRK.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from quirk.bodies import rotation
from quirk.constraints import Contact, surface
from quirk.constraints.surface import Surface
from quirk.errors import InputError
from quirk.forces import Friction

from .bodies import Bodies
from .description import Collider, DescriptionNames, Link, at
from .left_out import LeftOut
from .pose import Pose

# Maximum number of imported contacts; each contact is monitored in every step, so that more of them make runs slow.
MOST_CONTACTS = 1000
# Number of contact points around the end of an upright cylinder on a plane.
POINTS = 12
# Largest sine of the angle between the axis of a cylinder and the normal of a plane for a cylinder that counts as
# upright.
UPRIGHT = 1e-3


Candidate = tuple[Collider, Collider, float | None]
GROUND_PLANE = Collider("floor", None, "plane", Pose(), where="the ground")


def checked_contacts(owner: str, value: Any) -> bool | str:
    """Return the option `contacts`: True, False, or "ground" for additional contacts with a plane z = 0."""
    if value is True or value is False or value == "ground":
        found: bool | str = value
        return found
    raise InputError(f'{owner}: contacts must be True, False or "ground"; got {value!r}')


def between_links(
    links: Iterable[Link], joined: Iterable[tuple[str | None, str | None]], bodies: Bodies, ground: bool
) -> Iterator[Candidate]:
    """Yield pairs of geometries that can be in contact, each with its coefficient of friction or None.

    The geometries of a pair are on different bodies, which are not connected by a joint, and not in the same group.

    Parameters
    ----------
    links : links of the file
    joined : pairs of names of connected links; None for the ground
    bodies : bodies of the links
    ground : whether a plane z = 0 of the ground is added
    """
    colliders = [collider for link in links for collider in link.colliders]
    near = {frozenset(id(bodies.place(link)[0]) for link in pair) for pair in joined}
    for one, two in itertools.combinations([*([GROUND_PLANE] if ground else []), *colliders], 2):
        grouped = one.group is not None and one.group == two.group
        touching = frozenset(id(bodies.place(collider.link)[0]) for collider in (one, two))
        if len(touching) == 2 and not grouped and (touching not in near or "plane" in (one.kind, two.kind)):
            known = [one.friction, two.friction]
            yield one, two, min((mu for mu in known if mu is not None), default=None)


def contacts(
    pairs: Iterable[Candidate], bodies: Bodies, names: DescriptionNames, left_out: LeftOut
) -> list[Contact | Friction]:
    """Return a contact for each pair of geometries, and friction if its coefficient is not zero.

    Pairs that are both on the ground, or on bodies fixed to it, have none. Pairs without exactly equivalent surfaces,
    and pairs that overlap initially, are recorded as omissions. Overlap with planes is allowed.
    """
    made: list[Contact | Friction] = []
    missing: Counter[str] = Counter()
    count = 0
    for one, two, friction in pairs:
        (body_i, i), (body_j, j) = bodies.place(one.link), bodies.place(two.link)
        if body_i is body_j or one.kind == two.kind == "plane":
            continue
        if bodies.is_on_ground(body_i) and bodies.is_on_ground(body_j):
            continue
        placed = i @ one.pose, j @ two.pose
        in_space = tuple(
            Pose(_axes(body), body.position) @ pose for body, pose in zip((body_i, body_j), placed, strict=True)
        )
        touching = _surfaces(one, two, placed, in_space)
        if touching is None:
            missing[" and ".join(sorted((one.kind, two.kind)))] += 1
            continue
        if "plane" not in (one.kind, two.kind) and _overlap(one, two, in_space):
            left_out.note("contacts of geometries that overlap initially", f'"{one.name}" and "{two.name}"')
            continue
        for on_i, on_j in touching:
            count += 1
            if count > MOST_CONTACTS:
                raise InputError(
                    f"its collisions produce more than {MOST_CONTACTS} contacts: remove some from the file, or omit "
                    "contacts="
                )
            with at(one.where):
                contact = Contact(names.part(one.name, two.name), body_i, body_j, on_i=on_i, on_j=on_j)
                made.append(contact)
                if friction:
                    made.append(Friction(names.part(contact.name, "friction"), contact, friction))
    for kinds, number in missing.items():
        left_out.note("contacts without equivalent surfaces in QuIRK", f"{kinds} ({number} pairs)")
    return made


def _axes(body: Any) -> np.ndarray:
    return rotation.matrix(body.orientation)


def _surfaces(
    first: Collider, second: Collider, placed: tuple[Pose, Pose], in_space: tuple[Pose, ...]
) -> list[tuple[Surface, Surface]] | None:
    """Return pairs of surfaces whose contacts are equivalent to the contact of two geometries, or None.

    None means that there are no such surfaces. `placed` are the poses of the geometries in their bodies, `in_space` are
    their poses in the inertial frame.
    """
    kinds = first.kind, second.kind
    if kinds == ("sphere", "sphere"):
        return [(_ball(first, placed[0]), _ball(second, placed[1]))]
    if second.kind == "plane" or kinds == ("sphere", "box"):
        turned = _surfaces(second, first, (placed[1], placed[0]), (in_space[1], in_space[0]))
        return None if turned is None else [(b, a) for a, b in turned]
    if kinds == ("box", "sphere"):
        ball = _ball(second, placed[1])
        return [(face, ball) for face in _faces(first, placed[0])]
    if first.kind != "plane":
        return None
    plane = surface.plane(placed[0].origin, placed[0].axes[:, 2])
    lean = float(np.linalg.norm(np.cross(in_space[0].axes[:, 2], in_space[1].axes[:, 2])))
    solids = _solids(second, placed[1], upright=lean < UPRIGHT)
    return None if solids is None else [(plane, solid) for solid in solids]


def _ball(collider: Collider, place: Pose) -> Surface:
    return surface.sphere(collider.sizes[0], place.origin)


def _solids(collider: Collider, place: Pose, upright: bool) -> list[Surface] | None:
    """Return the surfaces of a geometry for contacts with a plane, or None if it is not supported.

    A cylinder is represented by its rims, or by points around both ends if its axis is normal to the plane (`upright`).
    `place` is the pose of the geometry in its body.
    """
    if collider.kind == "sphere":
        return [_ball(collider, place)]
    if collider.kind == "box":
        half = 0.5 * np.array(collider.sizes)
        return [surface.point(place.point(half * signs)) for signs in itertools.product((-1, 1), repeat=3)]
    if collider.kind not in ("cylinder", "capsule"):
        return None
    radius, length = collider.sizes
    ends = [place.point(np.array([0.0, 0.0, z])) for z in (-length / 2, length / 2)]
    if collider.kind == "capsule":
        return [surface.sphere(radius, end) for end in ends]
    if not upright:
        return [surface.rim(radius, end, place.axes[:, 2]) for end in ends]
    turns = 2 * np.pi * np.arange(POINTS) / POINTS
    around = [place.axes @ np.array([radius * np.cos(a), radius * np.sin(a), 0.0]) for a in turns]
    return [surface.point(end + way) for end in ends for way in around]


def _faces(box: Collider, place: Pose) -> list[Surface]:
    """Return the six faces of a box as rectangles; `place` is its pose in the body."""
    found = []
    for axis, side in itertools.product(range(3), (-1, 1)):
        a, b = (axis + 1) % 3, (axis + 2) % 3
        normal = side * place.axes[:, axis]
        center = place.origin + 0.5 * box.sizes[axis] * normal
        found.append(surface.rectangle([box.sizes[a], box.sizes[b]], center, normal, along=place.axes[:, a]))
    return found


def _overlap(first: Collider, second: Collider, in_space: tuple[Pose, ...]) -> bool:
    """Whether a sphere overlaps a sphere or box; `in_space` are the poses of both in the inertial frame."""
    if first.kind == "box":
        first, second, in_space = second, first, (in_space[1], in_space[0])
    apart = in_space[1].inverse.point(in_space[0].origin)
    if second.kind == "box":
        half = 0.5 * np.array(second.sizes)
        return float(np.linalg.norm(apart - np.clip(apart, -half, half))) < first.sizes[0]
    return float(np.linalg.norm(apart)) < first.sizes[0] + second.sizes[0]
