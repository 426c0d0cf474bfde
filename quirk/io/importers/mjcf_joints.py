"""The joints of an MJCF body, in series without mass between them, as one equivalent joint.

Handles are joints without constraint rows that measure the coordinate of a single MJCF joint; see mjcf_handles.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from quirk.bodies.body import Body
from quirk.bodies.frame import axes_with_z
from quirk.constraints import Constraint, Free, Joint, PointOnLine
from quirk.errors import InputError
from quirk.forces import Bushing, Damping, ForceElement, Interaction

from . import joints
from .bodies import Bodies
from .description import DescriptionNames, at
from .joints import JointCoordinate
from .left_out import LeftOut
from .mjcf_handles import handles
from .mjcf_hinges import two_hinges
from .mjcf_model import pose
from .mjcf_stack import Stack
from .pose import Pose
from .rotors import Rotor, ball_rotor, rotor


@dataclass
class ImportedJoints:
    """Constraints and forces of the system that represent the joints of an MJCF file.

    Attributes
    ----------
    parts : constraints, force elements, and flywheels for rotors
    handle : joints whose coordinates equal those of the hinges and slides, by joint number
    """

    parts: list[Constraint | ForceElement | Rotor] = field(default_factory=list)
    handle: dict[int, Joint] = field(default_factory=dict)


def connect(
    stack: Stack,
    bodies: Bodies,
    names: DescriptionNames,
    limits: bool,
    left_out: LeftOut,
    imported_joints: ImportedJoints,
) -> None:
    """Create the equivalent joint of a body, with its limits, springs and other elements.

    The new joints and elements are appended to `imported_joints`.

    Parameters
    ----------
    stack : the MJCF joints of the body
    bodies, names : bodies and names of the import
    limits : whether limits are imported
    left_out : list of contents of the file that are not imported exactly, called omissions
    imported_joints : joints and elements created so far
    """
    model = stack.model
    if stack.frees:
        _connect_free(stack, bodies, names, left_out, imported_joints)
        return
    fault = stack.fault()
    if fault is not None:
        listed = ", ".join(model.name("JOINT", k) for k in stack.numbers)
        raise InputError(
            f"{stack.where}: its joints ({listed}) have no mass between them, and no single joint is equivalent: "
            f"{fault}; move one of them to a separate body with mass"
        )
    with at(stack.where):
        if stack.two_hinges_alone:
            hinged = two_hinges(stack, bodies, names)
            imported_joints.parts += hinged.parts
            _add_handles(stack, hinged.frames, bodies, names, imported_joints)
        else:
            _connect_as_one(stack, bodies, names, imported_joints)
        for k in stack.numbers:
            _add_forces(stack, k, bodies, names, limits, left_out, imported_joints)


def _connect_as_one(stack: Stack, bodies: Bodies, names: DescriptionNames, imported_joints: ImportedJoints) -> None:
    """Create one joint that is equivalent to all MJCF joints of a body, and a handle for each if there are several."""
    axes = stack.frame_axes()
    kind, arguments = stack.kind(axes)
    i, j = stack.frames(axes)
    first, single = stack.model.name("JOINT", stack.numbers[0]), len(stack.numbers) == 1
    name = names.take(first, "joint") if single else names.part(stack.link, "joints")
    ends = (stack.parent, i), (stack.link, j)
    one, two = ends[::-1] if stack.hinge_first else ends
    joint = joints.make(kind, name, bodies, one, two, **arguments)
    imported_joints.parts.append(joint)
    if stack.skew_slide:
        along = axes_with_z(stack.axis(stack.slides[0]))
        rail = (stack.parent, Pose(stack.home.axes @ along, i.origin)), (stack.link, Pose(along, j.origin))
        one, two = rail[::-1] if stack.hinge_first else rail
        imported_joints.parts.append(joints.make(PointOnLine, names.part(stack.link, "rail"), bodies, one, two))
    if not single:
        _add_handles(stack, (i, j), bodies, names, imported_joints)
    elif not stack.balls:
        imported_joints.handle[stack.numbers[0]] = joint


def _add_handles(
    stack: Stack, frames: tuple[Pose, Pose], bodies: Bodies, names: DescriptionNames, imported_joints: ImportedJoints
) -> None:
    found = handles(stack, frames, bodies, names)
    imported_joints.handle.update(found)
    imported_joints.parts += [found[k] for k in stack.numbers if k in found]


def _coordinate(stack: Stack, k: int, limits: bool) -> JointCoordinate:
    m = stack.model.m
    dof, q = m.jnt_dofadr[k], m.jnt_qposadr[k]
    coordinate = JointCoordinate(
        damping=float(m.dof_damping[dof]),
        friction=float(m.dof_frictionloss[dof]),
        stiffness=float(m.jnt_stiffness[k]),
        rest=float(m.qpos_spring[q]),
    )
    if limits and m.jnt_limited[k]:
        coordinate.lower, coordinate.upper = (float(x) for x in m.jnt_range[k])
    return coordinate


def _add_forces(
    stack: Stack,
    k: int,
    bodies: Bodies,
    names: DescriptionNames,
    limits: bool,
    left_out: LeftOut,
    imported_joints: ImportedJoints,
) -> None:
    """Add the limits, damping, friction and springs of the MJCF joint with number `k` to `imported_joints`."""
    model, coordinate = stack.model, _coordinate(stack, k, limits)
    name = model.name("JOINT", k)
    kind = "translation" if k in stack.slides else "rotation"
    if k in imported_joints.handle:
        handle = imported_joints.handle[k]
        imported_joints.parts += joints.elements(handle, coordinate, kind, names, model.where("JOINT", k), name)
        _add_rotor(stack, k, kind, names, imported_joints)
        return
    if k in stack.balls:
        _add_ball_forces(stack, k, coordinate, bodies, names, imported_joints)
        coordinate.stiffness = coordinate.damping = 0.0
    armature = 0.0 if k in stack.balls else model.m.dof_armature[model.m.jnt_dofadr[k]]
    for what, there in (
        ("limits", coordinate.lower is not None),
        ("friction", coordinate.friction),
        ("springs", coordinate.stiffness),
        ("damping", coordinate.damping),
        ("armature (inertia of rotors)", armature),
    ):
        if there:
            left_out.note(
                f"{what} of balls, of parallel hinges on one body, and of a middle hinge of three with a ref",
                f'joint "{name}"',
            )


def _add_rotor(stack: Stack, k: int, kind: str, names: DescriptionNames, imported_joints: ImportedJoints) -> None:
    """Add a flywheel for the rotor inertia of the hinge or slide with number `k` to `imported_joints`.

    `kind` is "rotation" or "translation".
    """
    m, d = stack.model.m, stack.model.d
    dof = m.jnt_dofadr[k]
    inertia, value, rate = float(m.dof_armature[dof]), float(d.qpos[m.jnt_qposadr[k]]), float(d.qvel[dof])
    if inertia > 0:
        imported_joints.parts += rotor(
            imported_joints.handle[k], kind, inertia, value, rate, stack.model.name("JOINT", k), names
        )


def _add_ball_forces(
    stack: Stack,
    k: int,
    coordinate: JointCoordinate,
    bodies: Bodies,
    names: DescriptionNames,
    imported_joints: ImportedJoints,
) -> None:
    """Add the spring and the damper of the ball joint with number `k` to `imported_joints`.

    `coordinate` has their coefficients.
    """
    m, name = stack.model.m, stack.model.name("JOINT", k)
    ends = bodies.place(stack.parent)[0], bodies.place(stack.link)[0]
    if coordinate.stiffness:
        q = m.jnt_qposadr[k]
        relaxed = stack.home @ pose(m.jnt_pos[k], m.qpos_spring[q : q + 4])
        i = bodies.place(stack.parent)[1] @ Pose(relaxed.axes, stack.home.point(np.array(m.jnt_pos[k])))
        j = bodies.place(stack.link)[1] @ Pose(np.eye(3), np.array(m.jnt_pos[k]))
        stiffness = [0.0] * 3 + [coordinate.stiffness] * 3
        spring = names.part(name, "spring")
        imported_joints.parts.append(Bushing(spring, *ends, frame_i=i.frame, frame_j=j.frame, stiffness=stiffness))
    dof = m.jnt_dofadr[k]
    if m.dof_armature[dof]:
        spin = stack.model.body_pose(stack.number).axes @ np.array(stack.model.d.qvel[dof : dof + 3])
        imported_joints.parts += ball_rotor(*ends, float(m.dof_armature[dof]), spin, name, names)
    if coordinate.damping:
        damper = names.part(name, "friction")
        torque = f"-{coordinate.damping!r} * angular_velocity"  # as text, so that model files can store it
        imported_joints.parts.append(Interaction(damper, *ends, torque=torque))


def _connect_free(
    stack: Stack, bodies: Bodies, names: DescriptionNames, left_out: LeftOut, imported_joints: ImportedJoints
) -> None:
    """Create the joint and the damping of a body that moves freely in space."""
    k = stack.frees[0]
    m = stack.model.m
    with at(stack.where):
        name = names.take(stack.model.name("JOINT", k), "joint")
        imported_joints.parts.append(joints.make(Free, name, bodies, (None, Pose()), (stack.link, Pose())))
        dofs = slice(m.jnt_dofadr[k], m.jnt_dofadr[k] + 6)
        damping = np.array(m.dof_damping[dofs])
        centered = not np.abs(m.body_ipos[stack.number]).any()
        if damping.any() and centered:
            body, _ = bodies.place(stack.link)
            assert isinstance(body, Body)
            values = {"translational": float(damping[0]), "rotational": float(damping[3])}
            imported_joints.parts.append(Damping(names.part(name, "friction"), [body], **values))
        elif damping.any():
            left_out.note("damping of free joints whose center of mass is not at their origin", f'joint "{name}"')
        if np.any(m.dof_frictionloss[dofs]) or m.jnt_stiffness[k]:
            left_out.note("friction and springs of free joints", f'joint "{name}"')
        if np.any(m.dof_armature[dofs]):
            left_out.note("armature (inertia of rotors) of free joints", f'joint "{name}"')
