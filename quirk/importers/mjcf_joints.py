"""The joints of an MJCF body: one after the other without a mass between them, as one joint that does the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quirk.body import Body
from quirk.constraints import (
    Constraint,
    Cylindrical,
    Free,
    Generic,
    Joint,
    Planar,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from quirk.errors import InputError
from quirk.forces import Bushing, Damping, ForceElement, Interaction
from quirk.frame import axes_with_z

from . import joints
from .bodies import Bodies
from .description import Names, at
from .joints import Coordinate
from .left_out import LeftOut
from .mjcf_model import BALL, FREE, HINGE, SLIDE, Model, pose
from .pose import Pose, turned

# Joints by how many directions they are free to slide in, and to turn about.
NAMED: dict[tuple[int, int], type[Joint]] = {
    (0, 1): Revolute, (1, 0): Prismatic, (0, 2): Universal, (0, 3): Spherical, (3, 3): Free,
}  # fmt: skip
# Sine of the angle by which axes may miss being parallel or perpendicular.
ALIGNED = 1e-9


@dataclass
class MadeJoints:
    """What was made of all joints.

    Attributes
    ----------
    parts : constraints and force elements
    handle : by number of joint, the joint whose one coordinate is that of a hinge or slide
    """

    parts: list[Constraint | ForceElement] = field(default_factory=list)
    handle: dict[int, Joint] = field(default_factory=dict)


class Stack:
    """The joints of one body, from its parent outwards.

    Attributes
    ----------
    body, parent : names of links, None for the ground
    slides, hinges, balls, frees : numbers of joints
    """

    def __init__(self, model: Model, number: int, link: str, parent: str | None) -> None:
        self.model, self.number, self.link, self.parent = model, number, link, parent
        m = model.m
        self.numbers = [m.body_jntadr[number] + k for k in range(m.body_jntnum[number])]
        self.slides, self.hinges, self.balls, self.frees = (
            [k for k in self.numbers if m.jnt_type[k] == kind] for kind in (SLIDE, HINGE, BALL, FREE)
        )
        self.where = model.where("BODY", number)
        # The body in its parent with all coordinates at their reference.
        self.home = pose(m.body_pos[number], m.body_quat[number])

    def axis(self, k: int) -> np.ndarray:
        """Unit axis (3,) of a joint in the body."""
        return np.array(self.model.m.jnt_axis[k], dtype=float)

    def reference(self, k: int) -> float:
        """Coordinate of a hinge or slide at which the body is at home."""
        return float(self.model.m.qpos0[self.model.m.jnt_qposadr[k]])

    def fault(self) -> str | None:
        """Return why no single joint does the same, or None."""
        first_turn = min((self.numbers.index(k) for k in [*self.hinges, *self.balls]), default=None)
        late = [k for k in self.slides if first_turn is not None and self.numbers.index(k) > first_turn]
        along = [k for k in late if len(self.hinges) == 1 and not self.balls and self._parallel(k, self.hinges[0])]
        if len(along) < len(late):
            return "a slide after a hinge or ball, along another axis"
        turns = self.hinges
        if len(self.balls) > 1 or (self.balls and turns) or len(turns) > 3:
            return "more than three freedoms to turn"
        anchors = np.array([self.model.m.jnt_pos[k] for k in turns])
        if len(turns) > 1 and np.abs(anchors - anchors[0]).max() > 0:
            return "hinges at different points"
        for axes in (self.slides, turns):
            lines = np.array([self.axis(k) for k in axes])
            if len(axes) > 1 and np.abs(lines @ lines.T - np.eye(len(axes))).max() > ALIGNED:
                return "axes that are not perpendicular to each other"
        if not self._fits(self.frame_axes()):
            return "slides that are neither along nor perpendicular to the axes of hinges"
        return None

    def _parallel(self, one: int, two: int) -> bool:
        return float(np.linalg.norm(np.cross(self.axis(one), self.axis(two)))) <= ALIGNED

    def _fits(self, axes: np.ndarray) -> bool:
        """Whether all slides go along axes of the joint, or are free to go everywhere."""
        if len(self.slides) == 3:
            return True
        parts = np.abs(np.array([self.axis(k) for k in self.slides]).reshape(-1, 3) @ axes)
        return bool(np.abs(parts.max(axis=1, initial=1.0) - 1).max(initial=0.0) <= ALIGNED)

    def frame_axes(self) -> np.ndarray:
        """Axes (3, 3), as columns, of the joint in the body at home: z along a lone hinge, x and y along two."""
        if len(self.hinges) >= 2:
            x, y = self.axis(self.hinges[0]), self.axis(self.hinges[1])
            return np.column_stack([x, y, np.cross(x, y)])
        lines = [self.axis(k) for k in [*self.hinges, *self.slides]]
        if not lines:
            return np.eye(3)
        across = next((line for line in lines[1:] if abs(line @ lines[0]) <= ALIGNED), None)
        return axes_with_z(lines[0], across)

    def kind(self, axes: np.ndarray) -> tuple[type[Joint], dict[str, Any]]:
        """Return the class of joint that leaves the same free, and further arguments."""
        slides, turns = len(self.slides), len(self.hinges) + 3 * len(self.balls)
        along = bool(slides == 1 and turns == 1 and self._parallel(self.slides[0], self.hinges[0]))
        across = bool(slides == 2 and turns == 1 and not any(self._parallel(k, self.hinges[0]) for k in self.slides))
        if (slides, turns) in NAMED:
            return NAMED[slides, turns], {}
        if along or across:
            return (Cylindrical if along else Planar), {}
        free = [False] * 6
        for k in self.slides:
            free[int(np.argmax(np.abs(self.axis(k) @ axes)))] = True
        for axis in {0: (), 1: (2,), 2: (0, 1), 3: (0, 1, 2)}[turns]:
            free[3 + axis] = True
        if slides == 3:
            free[:3] = [True] * 3
        return Generic, {"constrained": [not flag for flag in free]}

    def frames(self, axes: np.ndarray) -> tuple[Pose, Pose]:
        """Return the frames of the joint, in the parent and in the body, whose coordinates are those of MuJoCo."""
        m = self.model.m
        turns = [*self.hinges, *self.balls]
        anchor = np.array(m.jnt_pos[turns[0]]) if turns else np.zeros(3)
        back = sum((self.reference(k) * self.axis(k) for k in self.slides), np.zeros(3))
        i, j = axes, axes
        if len(self.hinges) == 1:
            j = axes @ turned(2, self.reference(self.hinges[0]))
        if len(self.hinges) >= 2:
            i = axes @ turned(0, -self.reference(self.hinges[0]))
        if len(self.hinges) == 2:
            j = axes @ turned(1, self.reference(self.hinges[1]))
        return self.home @ Pose(i, anchor - back), Pose(j, anchor)


def connect(stack: Stack, bodies: Bodies, names: Names, limits: bool, left_out: LeftOut, made: MadeJoints) -> None:
    """Make the joint of a body, and what acts at it."""
    model = stack.model
    if stack.frees:
        _float(stack, bodies, names, left_out, made)
        return
    fault = stack.fault()
    if fault is not None:
        listed = ", ".join(model.name("JOINT", k) for k in stack.numbers)
        raise InputError(
            f"{stack.where}: its joints ({listed}) have no mass between them, and no single joint does the same: "
            f"{fault}; put one of them on a body of its own with a mass"
        )
    axes = stack.frame_axes()
    kind, arguments = stack.kind(axes)
    i, j = stack.frames(axes)
    single = len(stack.numbers) == 1
    with at(stack.where):
        first = model.name("JOINT", stack.numbers[0])
        name = names.take(first, "joint") if single else names.part(stack.link, "joints")
        joint = joints.make(kind, name, bodies, (stack.parent, i), (stack.link, j), **arguments)
        made.parts.append(joint)
        if single and not stack.balls:
            made.handle[stack.numbers[0]] = joint
        elif not single:
            _handles(stack, axes, (i, j), bodies, names, made)
        for k in stack.numbers:
            _act(stack, k, joint, bodies, names, limits, left_out, made)


def _handles(
    stack: Stack, axes: np.ndarray, frames: tuple[Pose, Pose], bodies: Bodies, names: Names, made: MadeJoints
) -> None:
    """Make joints without rows that show single coordinates of a joint that has several.

    Of two hinges, the first angle is that of the parent as seen from the body, about the axis turned round.
    """
    i, j = frames
    for k in stack.slides:
        along = stack.home.axes @ axes_with_z(stack.axis(k))
        name = names.take(stack.model.name("JOINT", k), "joint")
        ends = (stack.parent, Pose(along, i.origin)), (stack.link, Pose(axes_with_z(stack.axis(k)), j.origin))
        made.handle[k] = joints.make(Prismatic, name, bodies, *ends, active=False)
    if len(stack.hinges) > 2:
        return
    for k in stack.hinges:
        # Turned so that the angle is the last of the 1-2-3 angles, which results show.
        across = next((stack.axis(other) for other in stack.hinges if other != k), None)
        first = k == stack.hinges[0] and across is not None
        about = axes_with_z(-stack.axis(k) if first else stack.axis(k), across)
        outer = stack.parent, Pose(stack.home.axes @ about, i.origin)
        inner = stack.link, Pose(about, j.origin)
        one, two = (inner, outer) if first else (outer, inner)
        two = two[0], two[1] @ Pose(turned(2, stack.reference(k)))
        name = names.take(stack.model.name("JOINT", k), "joint")
        made.handle[k] = joints.make(Revolute, name, bodies, one, two, active=False)
    made.parts += [made.handle[k] for k in stack.numbers if k in made.handle]


def _coordinate(stack: Stack, k: int, limits: bool) -> Coordinate:
    m = stack.model.m
    dof, q = m.jnt_dofadr[k], m.jnt_qposadr[k]
    coordinate = Coordinate(
        damping=float(m.dof_damping[dof]),
        friction=float(m.dof_frictionloss[dof]),
        stiffness=float(m.jnt_stiffness[k]),
        rest=float(m.qpos_spring[q]),
    )
    if limits and m.jnt_limited[k]:
        coordinate.lower, coordinate.upper = (float(x) for x in m.jnt_range[k])
    return coordinate


def _act(
    stack: Stack,
    k: int,
    joint: Joint,
    bodies: Bodies,
    names: Names,
    limits: bool,
    left_out: LeftOut,
    made: MadeJoints,
) -> None:
    """Add limits, damping, friction and springs of one joint."""
    model, coordinate = stack.model, _coordinate(stack, k, limits)
    name = model.name("JOINT", k)
    kind = "translation" if k in stack.slides else "rotation"
    if k in made.handle:
        handle = made.handle[k]
        made.parts += joints.elements(handle, coordinate, kind, names, left_out, model.where("JOINT", k), name)
        return
    if k in stack.balls:
        _act_at_ball(stack, k, joint, coordinate, bodies, names, made)
        coordinate.stiffness = coordinate.damping = 0.0
    for what, there in (
        ("limits", coordinate.lower is not None),
        ("friction", coordinate.friction),
        ("springs", coordinate.stiffness),
        ("damping", coordinate.damping),
    ):
        if there:
            left_out.note(f"{what} of balls and of three hinges on one body", f'joint "{name}"')


def _act_at_ball(
    stack: Stack, k: int, joint: Joint, coordinate: Coordinate, bodies: Bodies, names: Names, made: MadeJoints
) -> None:
    """Add the spring and the damper of a ball joint."""
    m, name = stack.model.m, stack.model.name("JOINT", k)
    if coordinate.stiffness:
        q = m.jnt_qposadr[k]
        relaxed = stack.home @ pose(m.jnt_pos[k], m.qpos_spring[q : q + 4])
        i = bodies.place(stack.parent)[1] @ Pose(relaxed.axes, stack.home.point(np.array(m.jnt_pos[k])))
        j = bodies.place(stack.link)[1] @ Pose(np.eye(3), np.array(m.jnt_pos[k]))
        stiffness = [0.0] * 3 + [coordinate.stiffness] * 3
        ends = joint.body_i, joint.body_j
        spring = names.part(name, "spring")
        made.parts.append(Bushing(spring, *ends, frame_i=i.frame, frame_j=j.frame, stiffness=stiffness))
    if coordinate.damping:
        damper = names.part(name, "friction")
        torque = _against_spin(coordinate.damping)
        made.parts.append(Interaction(damper, joint.body_i, joint.body_j, torque=torque))


def _against_spin(damping: float) -> Any:
    """Return the torque that linear damping exerts, as a function for `Interaction`."""

    def torque(t: Any, displacement: Any, velocity: Any, turn: Any, spin: Any) -> Any:
        return [-damping * spin[0], -damping * spin[1], -damping * spin[2]]

    return torque


def _float(stack: Stack, bodies: Bodies, names: Names, left_out: LeftOut, made: MadeJoints) -> None:
    """Name the freedom of a body that floats, and damp it."""
    k = stack.frees[0]
    m = stack.model.m
    with at(stack.where):
        name = names.take(stack.model.name("JOINT", k), "joint")
        made.parts.append(joints.make(Free, name, bodies, (None, Pose()), (stack.link, Pose())))
        dofs = slice(m.jnt_dofadr[k], m.jnt_dofadr[k] + 6)
        damping = np.array(m.dof_damping[dofs])
        centred = not np.abs(m.body_ipos[stack.number]).any()
        if damping.any() and centred:
            body, _ = bodies.place(stack.link)
            assert isinstance(body, Body)
            values = {"translational": float(damping[0]), "rotational": float(damping[3])}
            made.parts.append(Damping(names.part(name, "friction"), [body], **values))
        elif damping.any():
            left_out.note("damping of free joints whose centre of mass is not at their origin", f'joint "{name}"')
        if np.any(m.dof_frictionloss[dofs]) or m.jnt_stiffness[k]:
            left_out.note("friction and springs of free joints", f'joint "{name}"')
