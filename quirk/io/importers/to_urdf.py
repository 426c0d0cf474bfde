"""Export of systems as URDF files."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.body import GROUND, Body, Ground
from quirk.bodies.solids import Box, Cylinder, Ellipsoid, Mesh, Shape
from quirk.constraints import Constraint, Coupling, Fixed, Free, Joint, Planar, Prismatic, Revolute, Stop
from quirk.errors import InputError, outside
from quirk.forces import JointFriction
from quirk.system.system import System
from quirk.util import validate
from quirk.util.misuse import explained
from quirk.util.output import atomic_output

from .left_out import LeftOut
from .pose import Pose, of_frame, to_rpy
from .tree import Edge, spanning_tree
from .urdf_parts import NO_LIMIT

TYPES: dict[type[Constraint], str] = {
    Revolute: "revolute", Prismatic: "prismatic", Fixed: "fixed", Free: "floating", Planar: "planar",
}  # fmt: skip
# Limits written for unlimited coordinates, because URDF requires limits.
UNLIMITED = 10 * NO_LIMIT
# Characters that XML forbids even if escaped.
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
# Initial coordinates below this are round-off.
ROUND_OFF = 1e-12


@explained
def to_urdf(system: System, path: str | Path) -> None:
    """Write a system whose joints form a tree as a URDF file; a UserWarning lists omissions.

    Links have the names and axes of the bodies, and their origin at the joint to their parent. The ground is a massless
    link "world"; bodies without a joint are connected to it by floating joints. The file can be imported with
    `base="fixed"`.

    Raises
    ------
    InputError
        If joints form a loop, or a joint type is not supported by URDF; the message names them.
    """
    owner = "to_urdf"
    if not isinstance(system, System):
        raise InputError(f"{owner}: system must be a quirk.System; got {system!r}")
    file = validate.output_file(owner, path, (".urdf",))
    for part in system:
        if FORBIDDEN.search(part.name):
            raise InputError(f"{owner}: {part!r}: its name contains characters that XML does not allow; rename it")
    left_out = LeftOut()
    robot = _Writer(system, left_out).written(file.stem)
    ElementTree.indent(robot)
    with atomic_output(owner, file) as aside:
        ElementTree.ElementTree(robot).write(aside, encoding="utf-8", xml_declaration=True)
    if left_out.lines:
        warnings.warn(f"{file.name} is incomplete: {'; '.join(left_out.lines)}", stacklevel=outside())


class _Writer:
    """Converter of one system to URDF elements.

    Parameters
    ----------
    system : the exported system
    left_out : list of omissions, which are properties that a URDF file cannot contain
    """

    def __init__(self, system: System, left_out: LeftOut) -> None:
        self.system, self.left_out = system, left_out
        self.world = "world" if "world" not in system else "ground"
        joints = [joint for c in system.constraints if (joint := self._written_as_joint(c)) is not None]
        self.edges = spanning_tree(system, joints)
        for edge in self.edges:
            if edge.joint is not None and type(edge.joint) not in TYPES:
                raise _in_the_way(edge.joint)
        # Pose of the link of each body in the body.
        self.places: dict[str, Pose] = {GROUND.name: Pose()}
        self.joints: dict[str, ElementTree.Element] = {}

    def _written_as_joint(self, constraint: Constraint) -> Joint | None:
        """Return the constraint as a joint if it is exported as a joint of the tree, otherwise None.

        Raises
        ------
        InputError
            If URDF does not support the constraint.
        """
        if isinstance(constraint, Stop | Coupling):
            return None
        if type(constraint) is Free or self.system.is_active(constraint.name):
            if not isinstance(constraint, Joint):
                raise _in_the_way(constraint)
            return constraint
        self.left_out.note("disabled constraints", str(constraint))
        return None

    def written(self, name: str) -> ElementTree.Element:
        """Return the URDF element <robot> of the system."""
        robot = ElementTree.Element("robot", name=name)
        ElementTree.SubElement(robot, "link", name=self.world)
        for edge in self.edges:
            self._set_place(edge)
            robot.append(self._link(edge.child))
            robot.append(self._joint(edge))
        self._add_couplings()
        self._note_the_rest()
        return robot

    def _set_place(self, edge: Edge) -> None:
        origin = np.zeros(3) if edge.joint is None else edge.frame_of_child.origin
        self.places[edge.child.name] = Pose(np.eye(3), origin)

    def _link(self, body: Body) -> ElementTree.Element:
        link = ElementTree.Element("link", name=body.name)
        inertial = ElementTree.SubElement(link, "inertial")
        inside = self.places[body.name].inverse
        _add_origin(inertial, inside)
        ElementTree.SubElement(inertial, "mass", value=_text(body.mass))
        keys = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}
        moments = {key: _text(body.inertia[place]) for key, place in keys.items()}
        ElementTree.SubElement(inertial, "inertia", moments)
        for shape in body.shapes:
            self._add_visual(link, body, shape, inside)
        return link

    def _add_visual(self, link: ElementTree.Element, body: Body, shape: Shape, pose: Pose) -> None:
        place, geometry = pose @ of_frame(shape.frame), ElementTree.Element("geometry")
        if isinstance(shape, Box):
            ElementTree.SubElement(geometry, "box", size=_text(*shape.size))
        elif isinstance(shape, Cylinder):
            from quirk.bodies.frame import axes_with_z

            place = place @ Pose(axes_with_z(np.array(shape.axis)))
            ElementTree.SubElement(geometry, "cylinder", radius=_text(shape.radius), length=_text(shape.length))
        elif isinstance(shape, Ellipsoid) and len(set(shape.semi_axes)) == 1:
            ElementTree.SubElement(geometry, "sphere", radius=_text(shape.semi_axes[0]))
        elif isinstance(shape, Mesh) and shape.path is not None:
            file = {"filename": str(shape.path), "scale": _text(*shape.scale)}
            ElementTree.SubElement(geometry, "mesh", file)
        else:
            self.left_out.note("shapes that URDF does not have", f"{type(shape).__name__} of {body}")
            return
        visual = ElementTree.SubElement(link, "visual")
        _add_origin(visual, place)
        visual.append(geometry)
        if shape.color is not None:
            from matplotlib.colors import to_rgba

            material = ElementTree.SubElement(visual, "material", name="")
            ElementTree.SubElement(material, "color", rgba=_text(*to_rgba(shape.color)))  # type: ignore[arg-type]

    def _joint(self, edge: Edge) -> ElementTree.Element:
        """Return the URDF element of the joint between a body and its parent, an edge of the tree.

        The element <origin> is the pose of the body relative to its parent at zero coordinates.
        """
        child, parent = edge.child, edge.parent
        inner = self.places[child.name]
        if edge.joint is None:
            name, kind = f"{child.name} floating", "floating"
            state, k = self.system.initial_state(), self.system.bodies.index(child)
            home = Pose(rotation.matrix(state.orientation[k]), state.position[k]) @ inner
        else:
            name, kind = edge.joint.name, TYPES[type(edge.joint)]
            home = of_frame(edge.frame_of_parent) @ of_frame(edge.frame_of_child).inverse @ inner
        if kind == "revolute" and not self._limits(edge.joint):
            kind = "continuous"
        joint = ElementTree.Element("joint", name=name, type=kind)
        _add_origin(joint, self.places[parent.name].inverse @ home)
        ElementTree.SubElement(joint, "parent", link=self.world if isinstance(parent, Ground) else parent.name)
        ElementTree.SubElement(joint, "child", link=child.name)
        if edge.joint is not None and kind in ("revolute", "continuous", "prismatic", "planar"):
            ElementTree.SubElement(joint, "axis", xyz=_text(*(edge.sign * edge.frame_of_child.matrix[:, 2])))
            self.joints[edge.joint.name] = joint
            if kind != "planar":
                self._add_effects(joint, kind, edge.joint)
        return joint

    def _limits(self, joint: Joint | None) -> dict[str, float]:
        """Return the limits of a joint's coordinate, "lower" and "upper", from the stops at the joint."""
        limits: dict[str, float] = {}
        for stop in self.system.constraints:
            if isinstance(stop, Stop) and stop.joint is joint:
                for gap in stop.gaps:
                    sign, limit = gap.numbers
                    limits["lower" if sign > 0 else "upper"] = limit
        return limits

    def _add_effects(self, element: ElementTree.Element, kind: str, joint: Joint) -> None:
        """Add limits, damping and friction of a joint to its URDF element; `kind` is the URDF type of the joint."""
        limits = self._limits(joint)
        if kind != "continuous":
            low, high = limits.get("lower", -UNLIMITED), limits.get("upper", UNLIMITED)
            both = {"lower": _text(low), "upper": _text(high), "effort": _text(UNLIMITED), "velocity": _text(UNLIMITED)}
            ElementTree.SubElement(element, "limit", both)
        dampers = [f for f in self.system.forces if isinstance(f, JointFriction) and f.joint is joint]
        if dampers:
            values = {"damping": sum(f.viscous for f in dampers), "friction": sum(f.coulomb for f in dampers)}
            ElementTree.SubElement(element, "dynamics", {key: _text(value) for key, value in values.items()})

    def _add_couplings(self) -> None:
        for coupling in self.system.constraints:
            if not isinstance(coupling, Coupling):
                continue
            leader, follower = coupling.joint_i.name, coupling.joint_j.name
            if leader not in self.joints or follower not in self.joints or len(coupling.coefficients) > 2:
                raise InputError(
                    f"to_urdf: {coupling} cannot be exported: URDF only supports linear relations between joints "
                    "of the tree"
                )
            if type(coupling) is not Coupling:
                self.left_out.note("free play and elasticity of couplings", str(coupling))
            offset, ratio = coupling.coefficients
            numbers = {"multiplier": _text(ratio), "offset": _text(offset)}
            ElementTree.SubElement(self.joints[follower], "mimic", {"joint": leader, **numbers})

    def _note_the_rest(self) -> None:
        """Record as omissions the properties of the system that a URDF file cannot contain."""
        system = self.system
        for force in system.forces:
            if not isinstance(force, JointFriction) or force.joint.name not in self.joints:
                self.left_out.note("forces other than friction and damping of hinges and sliders", str(force))
            elif force.static > force.coulomb:
                self.left_out.note("higher static friction", str(force))
        written = {edge.joint.name for edge in self.edges if edge.joint is not None}
        for joint in system.constraints:
            if type(joint) is Free and joint.name not in written:
                self.left_out.note("`Free` joints between bodies that other joints connect", str(joint))
        for stop in system.constraints:
            if isinstance(stop, Stop) and (stop.joint is None or stop.joint.name not in self.joints):
                self.left_out.note("stops of joints that are not exported", str(stop))
        if system.events:
            self.left_out.note("events", ", ".join(f'"{event.name}"' for event in system.events))
        if system.sampled:
            self.left_out.note("sampled functions", ", ".join(f'"{sampled.name}"' for sampled in system.sampled))
        if system.gravity.any():
            self.left_out.note("gravity", _text(*system.gravity))
        state = system.initial_state()
        moving = np.abs(state.velocity).max() + np.abs(state.angular_velocity).max() > 0
        if moving or any(self._moved(edge, state) for edge in self.edges if edge.joint is not None):
            self.left_out.note("the initial state", "initial coordinates and velocities are not zero")

    def _moved(self, edge: Edge, state: Any) -> bool:
        """Whether the initial coordinates of a joint are nonzero; `state` is the initial state of the system."""
        poses = []
        for body, frame in ((edge.parent, edge.frame_of_parent), (edge.child, edge.frame_of_child)):
            place = Pose()
            if isinstance(body, Body):
                k = self.system.bodies.index(body)
                place = Pose(rotation.matrix(state.orientation[k]), state.position[k])
            poses.append(place @ of_frame(frame))
        relative = poses[0].inverse @ poses[1]
        size = 1.0 + np.abs(state.position).max()
        return bool(
            np.abs(relative.origin).max() > ROUND_OFF * size or np.abs(relative.axes - np.eye(3)).max() > ROUND_OFF
        )


def _in_the_way(constraint: Constraint) -> InputError:
    kinds = ", ".join(kind.__name__ for kind in TYPES)
    return InputError(f"to_urdf: {constraint} cannot be exported: URDF only supports {kinds}, Coupling and Stop")


def _add_origin(element: ElementTree.Element, pose: Pose) -> None:
    ElementTree.SubElement(element, "origin", xyz=_text(*pose.origin), rpy=_text(*to_rpy(pose.axes)))


def _text(*numbers: Any) -> str:
    """Return numbers as a string, separated by spaces, in full precision."""
    return " ".join(repr(float(x) + 0.0) for x in numbers)
