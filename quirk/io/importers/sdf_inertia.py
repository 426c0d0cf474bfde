"""Masses and inertias of SDF links, given in the file or computed from the collision geometries."""

from __future__ import annotations

import numpy as np

from quirk.bodies.solids import Box, Cylinder, Ellipsoid, Mesh
from quirk.errors import InputError

from .description import Link
from .geometry import MeshFiles
from .markup import Element
from .pose import Pose
from .sdf_frames import read_pose

# Default density of collision geometries in SDF, kg/m^3.
WATER = 1000.0


def read_inertial(link: Link, element: Element, meshes: MeshFiles) -> None:
    """Set the mass, center of mass and inertia of a link from its XML element."""
    inertial = element.child("inertial")
    if inertial is None:
        meshes.left_out.note("no inertial, for which SDF sets 1 kg and 1 kg m^2 about each axis", element.owner)
        link.mass, link.inertia = 1.0, np.eye(3)
        return
    if inertial.get("auto") in ("true", "1"):
        _sum_collisions(link, element, inertial, meshes)
        return
    pose = read_pose(inertial.child("pose"))
    mass, tensor = inertial.child_number("mass", 1.0), inertial.child("inertia")
    if mass <= 0:
        raise inertial.error(f"mass must be positive; got {mass:g}")
    keys = {"ixx": 1.0, "ixy": 0.0, "ixz": 0.0, "iyy": 1.0, "iyz": 0.0, "izz": 1.0}
    values = keys if tensor is None else {key: tensor.child_number(key, value) for key, value in keys.items()}
    xx, xy, xz, yy, yz, zz = values.values()
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    link.mass, link.center, link.inertia = mass, pose.origin, pose.axes @ inertia @ pose.axes.T


def _sum_collisions(link: Link, element: Element, inertial: Element, meshes: MeshFiles) -> None:
    """Set the mass and inertia of a link from its collision geometries and their densities.

    If the file specifies the mass, the result is scaled to it. `inertial` is the element <inertial> of the link.
    """
    parts = []
    usual = inertial.child_number("density", WATER)
    for collision in element.all("collision"):
        density = collision.child_number("density", usual)
        if density <= 0:
            raise collision.error(f"density must be positive; got {density:g}")
        mass, pose, inertia = _solid(collision.required_child("geometry"), density, meshes)
        parts.append((mass, read_pose(collision.child("pose")) @ pose, inertia))
    total = sum(mass for mass, _, _ in parts)
    if total <= 0:
        raise inertial.error('auto="true" computes mass and inertia from collisions, but the link has none with volume')
    center = np.asarray(sum(mass / total * pose.origin for mass, pose, _ in parts))
    found = np.zeros((3, 3))
    for mass, pose, inertia in parts:
        d = pose.origin - center
        found += pose.axes @ inertia @ pose.axes.T + mass * (d @ d * np.eye(3) - np.outer(d, d))
    link.mass = inertial.child_number("mass", total)
    if link.mass <= 0:
        raise inertial.error(f"mass must be positive; got {link.mass:g}")
    link.center, link.inertia = center, link.mass / total * found


def _solid(geometry: Element, density: float, meshes: MeshFiles) -> tuple[float, Pose, np.ndarray]:
    """Return the mass, center of mass and inertia of a solid geometry of uniform density.

    Parameters
    ----------
    geometry : element <geometry>
    density : mass per volume, kg/m^3

    Returns
    -------
    mass : kg; 0 for a plane
    pose : center of mass, m, and axes of the inertia tensor, in the frame of the geometry
    inertia : (3, 3) about the center of mass, in the axes of `pose`, kg m^2

    Raises
    ------
    InputError
        If the type of the geometry is not supported, a dimension is invalid, or the file of a mesh is missing.
    """
    box, ellipsoid, sphere, mesh = (geometry.child(tag) for tag in ("box", "ellipsoid", "sphere", "mesh"))
    try:
        if box is not None:
            size = box.required_child("size").numbers(3)
            mass = density * float(np.prod(size))
            return mass, Pose(), Box(tuple(size)).inertia(mass)
        if ellipsoid is not None:
            return _ball(ellipsoid.required_child("radii").numbers(3), density)
        if sphere is not None:
            return _ball(np.full(3, sphere.required_child("radius").numbers(1)[0]), density)
        for tag in ("cylinder", "capsule"):
            solid = geometry.child(tag)
            if solid is not None:
                radius, length = (float(solid.required_child(key).numbers(1)[0]) for key in ("radius", "length"))
                return _round(radius, length, density, tag == "capsule")
        if mesh is not None:
            scale = mesh.child("scale")
            path = meshes.addresses.find(mesh.required_child("uri").word(), mesh.root.folder)
            if path is None:
                raise mesh.error("its file is not there, so that mass and inertia cannot be computed; give them")
            whole = Mesh.load(path, scale=np.ones(3) if scale is None else scale.numbers(3)).solid
            return density * whole.volume, Pose(np.eye(3), whole.center), density * whole.inertia
    except InputError as error:
        raise geometry.error(str(error)) if not str(error).startswith(geometry.file) else error from None
    if geometry.child("plane") is not None:
        return 0.0, Pose(), np.zeros((3, 3))
    raise geometry.error(
        "mass and inertia are computed of boxes, spheres, ellipsoids, cylinders, capsules and meshes alone; give them"
    )


def _ball(semi_axes: np.ndarray, density: float) -> tuple[float, Pose, np.ndarray]:
    mass = density * 4 / 3 * np.pi * float(np.prod(semi_axes))
    return mass, Pose(), Ellipsoid(tuple(semi_axes)).inertia(mass)


def _round(radius: float, length: float, density: float, capsule: bool) -> tuple[float, Pose, np.ndarray]:
    """Return the mass, center of mass and inertia of a cylinder or capsule along z, in the form described in `_solid`.

    A capsule has a hemisphere at each end. `radius` and `length` (of the cylinder) are in m, `density` in kg/m^3.
    """
    mass = density * np.pi * radius**2 * length
    inertia = Cylinder(radius, length).inertia(mass)
    if not capsule:
        return mass, Pose(), inertia
    ball = density * 4 / 3 * np.pi * radius**3
    across = 0.4 * ball * radius**2 + ball * (length**2 / 4 + 3 / 8 * length * radius)
    return mass + ball, Pose(), inertia + np.diag([across, across, 0.4 * ball * radius**2])
