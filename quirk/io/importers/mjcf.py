"""Import of MJCF files through MuJoCo.

"Geom" is MJCF's term for a geometry of a body. Each MJCF body becomes a link; bodies without joints are welded to their
parents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from quirk.bodies.body import Body
from quirk.bodies.solids import Box, Cylinder, Ellipsoid, Mesh
from quirk.forces import Force
from quirk.util import validate
from quirk.util.misuse import explained

from . import touching
from .bodies import Bodies
from .description import DescriptionNames, Link, Weld
from .geometry import Placed, ball, capsule, fewer, placed
from .imported import Imported, checked_limits, checked_path, checked_shapes, finished
from .left_out import LeftOut
from .mjcf_joints import ImportedJoints, connect
from .mjcf_model import MjcfModel, pose
from .mjcf_relations import relations
from .mjcf_stack import Stack
from .mjcf_touching import candidates
from .pose import Pose
from .touching import checked_contacts

# Last geom group that MuJoCo's viewer shows by default; higher groups are for collisions.
LAST_SHOWN_GROUP = 2


@explained
def load_mjcf(
    path: str | Path,
    *,
    keyframe: int | str | None = None,
    limits: bool = True,
    inertia_tolerance: float | None = None,
    repair_inertia: bool = False,
    shapes: str | None = "visual",
    contacts: bool | str = False,
) -> Imported:
    """Read an MJCF file by means of MuJoCo, which requires `pip install "quirk-dynamics[mjcf]"`.

    Parameters
    ----------
    path : str or Path
    keyframe : int or str, optional
        Number or name of the keyframe of the initial state; default: the reference positions, at rest.
    limits : bool
        Whether limits of joints are imported as `Stop`.
    inertia_tolerance : float, optional
        Relative tolerance, as for `Body`.
    repair_inertia : bool
        Whether a physically impossible inertia is replaced by the nearest possible one and listed as an omission; see
        `quirk.io.importers.inertia.repaired`.
    shapes : "visual", "collision" or None
        Geometry of the file from which the shapes of bodies, for display, are created.
    contacts : bool or "ground"
        Whether possible contacts of geoms are imported as `Contact` and `Friction`; "ground" adds a plane z = 0.

    Raises
    ------
    InputError
        If MuJoCo cannot read the file or is not installed, or the joints of a body have no equivalent in QuIRK.
    """
    owner = "load_mjcf"
    file, with_limits = checked_path(owner, path), checked_limits(owner, limits)
    model = MjcfModel(file, keyframe)
    repair, shown = validate.flag(owner, "repair_inertia", repair_inertia), checked_shapes(owner, shapes)
    wanted = checked_contacts(owner, contacts)
    left_out, names = LeftOut(), DescriptionNames()
    links, welds, stacks = _tree(model)
    if shown is not None:
        _add_shapes(model, links, shown, left_out)
    bodies = Bodies(links, welds, names, left_out, inertia_tolerance, repair)
    gravity = np.array(model.m.opt.gravity)
    if model.m.opt.disableflags & model.code("DisableBit", "GRAVITY"):
        gravity = np.zeros(3)
    made = ImportedJoints()
    for stack in stacks:
        connect(stack, bodies, names, with_limits, left_out, made)
    others = [*made.parts, *relations(model, bodies, made, names, left_out)]
    others += _gravity_compensation(model, bodies, names, gravity)
    for cable in model.cables:
        others += cable.couplings(bodies, names)
    if wanted:
        others += touching.contacts(candidates(model, wanted == "ground", left_out), bodies, names, left_out)
    _note_omissions(model, left_out, bool(wanted))
    for text in model.warnings:
        left_out.note("warnings of MuJoCo", " ".join(text.split()))
    imported = finished(file.name, bodies, others, gravity, names, left_out)
    _set_turns(model, made, imported)
    return imported


def link_name(model: MjcfModel, body: int) -> str | None:
    """Return the name of the link created from MJCF body number `body`; None for the world."""
    return model.name("BODY", body) if body else None


def _tree(model: MjcfModel) -> tuple[list[Link], list[Weld], list[Stack]]:
    """Return the links and the welds of a MuJoCo model, and the stack of joints of each body that has joints."""
    m, links, welds, stacks = model.m, [], [], []
    for number in range(1, m.nbody):
        name, parent = model.name("BODY", number), link_name(model, m.body_parentid[number])
        inertial = pose(m.body_ipos[number], m.body_iquat[number])
        where = model.where("BODY", number)
        link = Link(name, where, model.body_pose(number), float(m.body_mass[number]), inertial.origin)
        link.inertia = inertial.axes @ np.diag(m.body_inertia[number]) @ inertial.axes.T
        jacobians = np.zeros((2, 3, m.nv))
        model.mujoco.mj_jacBodyCom(m, model.d, jacobians[0], jacobians[1], number)
        link.velocity, link.angular_velocity = jacobians @ model.d.qvel
        links.append(link)
        if m.body_jntnum[number]:
            stacks.append(Stack(model, number, name, parent))
        else:
            welds.append(Weld(parent, name))
    for site in range(m.nsite):
        if m.site_bodyid[site]:
            place = pose(m.site_pos[site], m.site_quat[site])
            links[m.site_bodyid[site] - 1].frames[model.name("SITE", site)] = place
    return links, welds, stacks


def _add_shapes(model: MjcfModel, links: list[Link], shape_source: str, left_out: LeftOut) -> None:
    """Add shapes to the links, from the geoms shown by MuJoCo's viewer or from the collision geoms.

    `shape_source` is "visual" or "collision".
    """
    m = model.m
    for geom in range(m.ngeom):
        body = int(m.geom_bodyid[geom])
        where = f'geom "{model.name("GEOM", geom)}"'
        touches = bool(m.geom_contype[geom] or m.geom_conaffinity[geom])
        if (m.geom_group[geom] > LAST_SHOWN_GROUP) if shape_source == "visual" else not touches:
            continue
        shapes = _shapes(model, geom, left_out)
        if shapes is None:
            left_out.note("shapes of planes, height fields and signed distance fields", where)
        elif body == 0:
            left_out.note("shapes of massless links fixed to the ground", where)
        else:
            links[body - 1].shapes += shapes


def _shapes(model: MjcfModel, geom: int, left_out: LeftOut) -> list[Placed] | None:
    """Return the shapes of geom number `geom`, or None for an unsupported kind."""
    m = model.m
    kind, size, where = int(m.geom_type[geom]), m.geom_size[geom].tolist(), model.where("GEOM", geom)
    place, color = pose(m.geom_pos[geom], m.geom_quat[geom]), tuple(np.clip(m.geom_rgba[geom], 0, 1).tolist())
    if m.geom_matid[geom] >= 0:
        color = tuple(np.clip(m.mat_rgba[m.geom_matid[geom]], 0, 1).tolist())
    makers: dict[int, Callable[[], list[Placed]]] = {
        model.code("Geom", "SPHERE"): lambda: [placed(where, ball, place, color, size[0])],
        model.code("Geom", "CAPSULE"): lambda: capsule(where, place, color, size[0], 2 * size[1]),
        model.code("Geom", "ELLIPSOID"): lambda: [placed(where, Ellipsoid, place, color, size)],
        model.code("Geom", "CYLINDER"): lambda: [placed(where, Cylinder, place, color, size[0], 2 * size[1])],
        model.code("Geom", "BOX"): lambda: [placed(where, Box, place, color, [2 * x for x in size])],
        model.code("Geom", "MESH"): lambda: [_mesh(model, geom, where, place, color, left_out)],
    }
    return makers[kind]() if kind in makers else None


def _mesh(model: MjcfModel, geom: int, location: str, place: Pose, color: Any, left_out: LeftOut) -> Placed:
    m, mesh = model.m, model.m.geom_dataid[geom]
    vertices = m.mesh_vert[m.mesh_vertadr[mesh] :][: m.mesh_vertnum[mesh]].astype(float)
    faces = m.mesh_face[m.mesh_faceadr[mesh] :][: m.mesh_facenum[mesh]].astype(np.int64)
    return placed(location, Mesh, place, color, *fewer(vertices, faces, model.name("MESH", mesh), left_out))


def _gravity_compensation(
    model: MjcfModel, bodies: Bodies, names: DescriptionNames, gravity: np.ndarray
) -> Iterator[Force]:
    """Yield the forces that compensate the weight of bodies, as specified by the MJCF attribute gravcomp.

    `gravity` (3,) is in m/s^2, inertial frame.
    """
    m = model.m
    for number in np.flatnonzero(m.body_gravcomp).tolist() if gravity.any() else ():
        body, place = bodies.place(model.name("BODY", number))
        if isinstance(body, Body) and m.body_mass[number] > 0:
            force = -float(m.body_gravcomp[number] * m.body_mass[number]) * gravity
            point = place.point(np.array(m.body_ipos[number], dtype=float))
            yield Force(names.part(model.name("BODY", number), "lift"), body, force, point=point)


def _note_omissions(model: MjcfModel, left_out: LeftOut, with_contacts: bool) -> None:
    """Record the contents of a MuJoCo model that are not imported, such as nonlinear springs, sensors and fluid forces.

    Contacts of geoms are recorded unless they are imported, which `with_contacts` states.
    """
    m, name = model.m, model.name
    for what, array, kind in (
        ("damping that is not linear", "dof_dampingpoly", "JOINT"),
        ("springs that are not linear", "jnt_stiffnesspoly", "JOINT"),
    ):
        values = model.get(array)
        if values is None:
            continue
        for k in np.flatnonzero([np.any(row) for row in values]):
            number = int(m.dof_jntid[k] if array.startswith("dof") else k)
            left_out.note(what, f'{kind.lower()} "{name(kind, number)}"')
    geoms = [k for k in range(m.ngeom) if m.geom_contype[k] or m.geom_conaffinity[k]]
    if (geoms or m.npair) and not with_contacts:
        left_out.note("contacts of geoms", f"{len(geoms)} geoms and {m.npair} pairs that may touch")
    for count, what in (
        ("nsensor", "sensors"), ("ncam", "cameras"), ("nlight", "lights"), ("nflex", "flexible bodies"),
        ("nskin", "skins"), ("nplugin", "plugins"), ("nmocap", "bodies moved by motion capture, which are fixed"),
        ("nuserdata", "user data"),
    ):  # fmt: skip
        if getattr(m, count, 0):
            left_out.note(what, str(getattr(m, count)))
    if m.opt.density or m.opt.viscosity or np.any(m.opt.wind):
        left_out.note("forces of a medium", "density, viscosity and wind")


def _set_turns(model: MjcfModel, imported_joints: ImportedJoints, imported: Imported) -> None:
    """Set the full turns of initial joint angles, which the initial poses do not determine.

    `imported_joints` are the joints of the file, and `imported` is the imported system.
    """
    far = {
        joint.name: float(model.d.qpos[model.m.jnt_qposadr[k]])
        for k, joint in imported_joints.handle.items()
        if joint.rotation_axis is not None and abs(model.d.qpos[model.m.jnt_qposadr[k]]) > np.pi
    }
    if far:
        state = imported.system.initial_state()
        state.angles = {name: [0.0, 0.0, angle] for name, angle in far.items()}
        imported.system.assemble(state)
