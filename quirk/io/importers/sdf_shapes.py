"""Import of visuals, the geometries for display, from SDF files."""

from __future__ import annotations

from typing import Any

import numpy as np

from quirk.bodies.solids import Box, Cylinder, Ellipsoid

from .geometry import MeshFiles, Placed, ball, capsule, color_of, placed
from .markup import Element
from .pose import Pose
from .sdf_frames import read_pose


def visual_shapes(visual: Element, meshes: MeshFiles) -> list[Placed]:
    """Return the shapes of a visual; unsupported elements stay unread and are later recorded as omissions."""
    pose, geometry, color = read_pose(visual.child("pose")), visual.child("geometry"), _color(visual)
    if geometry is None:
        meshes.left_out.note("visuals without a geometry", visual.owner)
        return []
    mesh = geometry.child("mesh")
    if mesh is not None:
        scale = mesh.child("scale")
        factors = np.ones(3) if scale is None else scale.numbers(3)
        return meshes.shapes(mesh, mesh.required_child("uri").word(), factors, pose, color)
    return _primitive(geometry, pose, color)


def _primitive(geometry: Element, pose: Pose, color: Any) -> list[Placed]:
    box, ellipsoid, sphere = (geometry.child(tag) for tag in ("box", "ellipsoid", "sphere"))
    if box is not None:
        return [placed(box, Box, pose, color, box.required_child("size").numbers(3))]
    if ellipsoid is not None:
        return [placed(ellipsoid, Ellipsoid, pose, color, ellipsoid.required_child("radii").numbers(3))]
    if sphere is not None:
        return [placed(sphere, ball, pose, color, sphere.required_child("radius").numbers(1)[0])]
    for tag in ("cylinder", "capsule"):
        solid = geometry.child(tag)
        if solid is not None:
            radius, length = (float(solid.required_child(key).numbers(1)[0]) for key in ("radius", "length"))
            if tag == "cylinder":
                return [placed(solid, Cylinder, pose, color, radius, length)]
            return capsule(solid, pose, color, radius, length)
    return []


def _color(visual: Element) -> Any:
    """Return the diffuse color of a visual's material, or None."""
    material = visual.child("material")
    diffuse = None if material is None else material.child("diffuse")
    return None if diffuse is None else color_of(diffuse, diffuse.numbers(3, 4))
