"""Collision geometries of SDF files."""

from __future__ import annotations

from quirk.bodies.frame import axes_with_z

from .description import Collider, Link
from .markup import Element
from .pose import Pose
from .sdf_frames import read_pose

# Default coefficient of friction in SDF.
USUAL_FRICTION = 1.0


def colliders(element: Element, name: str, link: Link) -> list[Collider]:
    """Return the collision geometries of a link; `element` and `name` are its XML element and full name."""
    group = None if _collides_with_itself(element) else name.partition("::")[0]
    found = [(collision, collision.child("geometry")) for collision in element.all("collision")]
    return [_collider(one, geometry, link.name, group) for one, geometry in found if geometry is not None]


def _collides_with_itself(link: Element) -> bool:
    """Whether contacts between links of the model that contains `link` are enabled."""
    model = link.parent
    setting = None if model is None else model.child("self_collide")
    return setting is not None and setting.text.strip().lower() in ("true", "1")


def _collider(collision: Element, geometry: Element, link: str, group: str | None) -> Collider:
    place = read_pose(collision.child("pose"))
    kind = "mesh"
    sizes: tuple[float, ...] = ()
    box, sphere, plane = (geometry.child(tag) for tag in ("box", "sphere", "plane"))
    if box is not None:
        kind, sizes = "box", tuple(box.required_child("size").numbers(3).tolist())
    elif sphere is not None:
        kind, sizes = "sphere", (float(sphere.required_child("radius").numbers(1)[0]),)
    elif plane is not None:
        normal = plane.child("normal")
        kind, place = "plane", place if normal is None else place @ Pose(axes_with_z(normal.numbers(3)))
        plane.ignore("size")  # planes are unbounded
    for tag in ("cylinder", "capsule"):
        solid = geometry.child(tag)
        if solid is not None:
            kind, sizes = tag, tuple(float(solid.required_child(key).numbers(1)[0]) for key in ("radius", "length"))
    if kind == "mesh":
        geometry.ignore_all()
    name = f"{link} {collision.attribute('name')}"
    return Collider(name, link, kind, place, sizes, _friction(collision), group, collision)


def _friction(collision: Element) -> float:
    """Return the coefficient of friction of a collision, from surface/friction/ode/mu."""
    at: Element | None = collision
    for tag in ("surface", "friction", "ode", "mu"):
        at = None if at is None else at.child(tag)
    return USUAL_FRICTION if at is None else float(at.numbers(1)[0])
