"""Base class of control laws for the joints of a kinematic tree, with the inverse dynamics of the tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from numpy.typing import ArrayLike

from ..bodies.body import Body, Ground
from ..constraints import Constraint, Joint
from ..constraints.angle import twist
from ..errors import InputError
from ..util import validate
from .actuator import checked_limits
from .element import ForceElement
from .joint_tree import BASE, JointTree, is_hinge_or_slide, joint_tree
from .newton_euler import JointPose, LinkMotion
from .place import Place


class TreeControl(ForceElement):
    """Base class of elements with an effort at each of several joints of a kinematic tree rooted at the ground.

    The law is evaluated with the coordinates of all joints of the tree; the first `count` of them have an effort.

    Attributes
    ----------
    joints : the joints with an effort, None for all of the system
    count : number of joints with an effort
    leaders : for each joint, index of the joint that drives it through a `Coupling`, or its own index
    gravity : (3,) m/s^2
    limits : (2,) smallest and largest effort, or None
    """

    drawing = ""

    parameters: tuple[str, ...] = ("masses", "centers", "inertias", "axes", "offsets", "gravity", "ratios", "limits")
    aside: tuple[str, ...] = ("joints", "tree", "armatures", "signs")
    tree: JointTree | None = None
    count: int
    leaders: tuple[int, ...]
    topology: tuple[tuple[int, float, int], ...]
    masses: Any
    centers: Any
    inertias: Any
    axes: Any
    offsets: Any
    armatures: Any
    ratios: Any

    def __init__(self, name: str, joints: Iterable[Joint] | None, gravity: ArrayLike, limits: ArrayLike | None) -> None:
        owner = f'{type(self).__name__} "{validate.name(type(self).__name__, name)}"'
        self.name = name
        self.joints = None if joints is None else _checked_joints(owner, joints)
        self.gravity = validate.array(owner, "gravity", gravity, (3,))
        self.limits = checked_limits(owner, limits)
        self.ends = tuple(end for joint in self.joints or () for end in joint.ends)

    def placed(self, bodies: Sequence[Body], constraints: Sequence[Constraint]) -> Self:
        """Return a copy of the element for a system with the given bodies and constraints, with data of its tree.

        The data are the topology, masses and geometry of the kinematic tree that contains the joints.
        """
        by_name = {body.name: body for body in bodies}
        tree = joint_tree(str(self), self.joints, by_name, constraints)
        moving = {joint.name: k for k, joint in enumerate(tree.joints)}
        actuated = [joint.name for joint in (self.joints or tree.joints)]
        actuated = [name for name in actuated if tree.leaders[moving[name]] == moving[name]]
        order = [moving[name] for name in dict.fromkeys([*actuated, *moving])]
        numbers = [order.index(k) for k in range(len(order))]
        leaders = [numbers[tree.leaders[k]] for k in order]
        ends = [end for k in order for end in tree.joints[k].ends]
        return self.with_values(
            {
                "tree": tree,
                "ends": tuple((by_name.get(body.name, body), frame) for body, frame in ends),
                "coordinates": tuple(tree.joints[k].name for k in order),
                "turning": tuple(c for c, k in enumerate(order) if tree.joints[k].rotation_axis is not None),
                "count": len(actuated),
                "topology": tuple(zip(tree.parents, tree.signs, numbers, strict=True)),
                "masses": tree.masses,
                "centers": tree.centers,
                "inertias": tree.inertias,
                "axes": tree.axes,
                "offsets": tree.offsets,
                "armatures": tree.armatures[order],
                "leaders": tuple(leaders),
                "ratios": tree.ratios[order],
            }
        )

    @property
    def needs(self) -> tuple[Body | Ground, ...]:
        """Bodies of the joints that the user has listed; none if the element acts on all joints."""
        return tuple(body for joint in self.joints or () for body in joint.bodies)

    @property
    def reads(self) -> tuple[Any, ...]:
        """Bodies and constraints from whose masses and geometry the parameters of the control law are computed."""
        return () if self.tree is None else self.tree.reads

    @property
    def counted(self) -> tuple[tuple[str, int], ...]:  # type: ignore[override]
        """Name of each revolute joint of the tree, and index of its rotation axis among the 1-2-3 angles."""
        return tuple((self.coordinates[c], 2) for c in self.turning)

    @property
    def wakes(self) -> bool:
        """Whether runs also sample efforts within steps: they can change abruptly if they are limited."""
        return self.limits is not None

    @property
    def _rotate(self) -> list[bool]:
        """For each joint coordinate of the tree, whether it is an angle."""
        return [c in self.turning for c in range(len(self.coordinates))]

    def coordinate(self, t: Any, *frames: Place) -> Any:
        """Return the angles (rad) and displacements (m) of all joints of the tree."""
        pairs = zip(frames[::2], frames[1::2], strict=True)
        return [
            twist(i, j, 2) if rotates else i.rotation[:, 2] @ (j.position - i.position)
            for rotates, (i, j) in zip(self._rotate, pairs, strict=True)
        ]

    def turns_near(self, angles: Mapping[str, Any]) -> list[float]:
        """Return the angles (rad) of the revolute joints, with all turns counted."""
        known = [(angles.get(name), axis) for name, axis in self.counted]
        return [0.0 if angle is None else float(angle[axis]) for angle, axis in known]

    def inverse_dynamics(
        self, x: Sequence[Any], rates: Sequence[Any] | None, accelerations: Sequence[Any]
    ) -> list[Any]:
        """Return the effort (N m or N) at each joint of the tree that produces the given accelerations.

        The effort of a joint that drives other joints through a `Coupling` includes the efforts at them. `x`, `rates`
        and `accelerations` are the joint coordinates (rad or m) and their time derivatives. `rates` is None for a tree
        at rest.
        """
        links: list[LinkMotion] = []
        ground = LinkMotion(None, None, -self.gravity)
        for k, (parent, sign, c) in enumerate(self.topology):
            inner = ground if parent == BASE else links[parent]
            joint = JointPose(self.axes[k], self.offsets[k], self._rotate[c], sign * x[c])
            moving = () if rates is None else (sign * rates[c], sign * accelerations[c])
            links.append(joint.carried(inner, *moving))
            links[-1].load(self.masses[k], self.centers[k], self.inertias[k])
        efforts: list[Any] = [0.0] * len(links)
        for k, (parent, sign, c) in reversed(list(enumerate(self.topology))):
            link = links[k]
            efforts[c] = sign * (link.moment if self._rotate[c] else link.force)[2]
            if parent != BASE:
                link.joint.transmit(link, links[parent])
        if rates is not None:
            efforts = [e + a * acc for e, a, acc in zip(efforts, self.armatures, accelerations, strict=True)]
        for c, leader in enumerate(self.leaders):
            if leader != c:
                efforts[leader] = efforts[leader] + self.ratios[c] * efforts[c]
        return efforts


def _checked_joints(owner: str, joints: Any) -> tuple[Joint, ...]:
    """Return joints as a tuple; an InputError is raised unless they are distinct Revolute or Prismatic joints."""
    listed: list[Any] = (
        [joints] if isinstance(joints, Joint | str) or not isinstance(joints, Iterable) else list(joints)
    )
    if not listed:
        raise InputError(f"{owner}: joints must be at least one joint; got {joints!r}")
    for joint in listed:
        if not is_hinge_or_slide(joint):
            raise InputError(f"{owner}: joints must be enabled Revolute or Prismatic joints; got {joint!r}")
    if len({id(joint) for joint in listed}) < len(listed):
        raise InputError(f"{owner}: joints must differ; got one of them twice")
    return tuple(listed)
