"""State feedback for robots: gravity compensation and computed torque for a kinematic tree.

Efforts follow from the recursion of Luh, Walker and Paul, J. Dyn. Syst. Meas. Control 102 (1980) 69: velocities and
accelerations of the links outward, forces and moments inward, in the axes of each link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..bodies.body import Body, Ground
from ..constraints import Constraint, Joint
from ..constraints.angle import twist
from ..errors import InputError
from ..functions import degrees
from ..functions.motion import Motion, MotionLike, as_motion, derivative_of
from ..util import validate
from .actuator import checked_limits, limited
from .element import ForceElement
from .joint_tree import BASE, JointTree, is_hinge_or_slide, joint_tree
from .place import Place


class OfTree(ForceElement):
    """Base class of elements with an effort at each of several joints of a kinematic tree rooted at the ground.

    The law is evaluated with the coordinates of all joints of the tree; the first `count` of them have an effort.

    Attributes
    ----------
    joints : the joints with an effort, None for all of the system
    count, leaders : number of joints with an effort; index of the coordinate that leads each one, by a `Coupling`
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
        """Return the element for a system of these bodies and constraints, with the masses and geometry of its tree."""
        by_name = {body.name: body for body in bodies}
        tree = joint_tree(str(self), self.joints, by_name, constraints)
        moving = {joint.name: k for k, joint in enumerate(tree.joints)}
        given = [joint.name for joint in (self.joints or tree.joints)]
        given = [name for name in given if tree.leaders[moving[name]] == moving[name]]
        order = [moving[name] for name in dict.fromkeys([*given, *moving])]
        numbers = [order.index(k) for k in range(len(order))]
        leaders = [numbers[tree.leaders[k]] for k in order]
        ends = [end for k in order for end in tree.joints[k].ends]
        return self.with_values(
            {
                "tree": tree,
                "ends": tuple((by_name.get(body.name, body), frame) for body, frame in ends),
                "coordinates": tuple(tree.joints[k].name for k in order),
                "turning": tuple(c for c, k in enumerate(order) if tree.joints[k].rotation_axis is not None),
                "count": len(given),
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
        """Name and index of the rotation axis of each revolute joint of the tree."""
        return tuple((self.coordinates[c], 2) for c in self.turning)

    @property
    def wakes(self) -> bool:
        """Whether efforts can change abruptly, because they are limited."""
        return self.limits is not None

    @property
    def _rotate(self) -> list[bool]:
        """For each coordinate, whether it is an angle."""
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
        """Return the effort (N m or N) at each joint of the tree.

        The effort of a joint that leads others by a `Coupling` includes their efforts. `x`, `rates` and `accelerations`
        are the joint coordinates and their time derivatives, in rad or m, and s. `rates` is None for a tree at rest.
        """
        links: list[_Link] = []
        ground = _Link(None, None, -self.gravity)
        for k, (parent, sign, c) in enumerate(self.topology):
            inner = ground if parent == BASE else links[parent]
            joint = _JointMotion(self.axes[k], self.offsets[k], self._rotate[c], sign * x[c])
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


class _Link:
    """Motion and load of one link in its own axes.

    Attributes
    ----------
    spin, turning : angular velocity (rad/s) and angular acceleration (rad/s^2), None at rest
    acceleration : acceleration of the origin minus gravity, m/s^2
    force, moment : load that the inner link exerts, at the origin, N and N m
    """

    joint: _JointMotion

    def __init__(self, spin: Any, turning: Any, acceleration: Any) -> None:
        self.spin, self.turning, self.acceleration = spin, turning, acceleration

    def at(self, point: Any) -> Any:
        """Return the acceleration minus gravity, m/s^2, of a point (3,), m, of the link."""
        if self.spin is None:
            return self.acceleration
        return self.acceleration + np.cross(self.turning, point) + np.cross(self.spin, np.cross(self.spin, point))

    def load(self, mass: Any, center: Any, inertia: Any) -> None:
        """Set force and moment to those of the link without outer links, by the Newton-Euler equations."""
        self.force = mass * self.at(center)
        self.moment = np.cross(center, self.force)
        if self.spin is not None:
            self.moment = self.moment + inertia @ self.turning + np.cross(self.spin, inertia @ self.spin)


class _JointMotion:
    """Relative pose of two links at a joint with axis z, about which the outer link rotates or along which it slides.

    Parameters
    ----------
    axes, offset : joint frame in the inner link at coordinate zero
    rotates : whether the coordinate is an angle
    x : coordinate of the outer link relative to the inner one, rad or m
    """

    def __init__(self, axes: Any, offset: Any, rotates: bool, x: Any) -> None:
        self._rotates, self._offset = rotates, offset if rotates else offset + axes[:, 2] * x
        self._axes = axes
        if rotates:
            c, s = np.cos(x), np.sin(x)
            self._axes = np.array([axes[:, 0] * c + axes[:, 1] * s, axes[:, 1] * c - axes[:, 0] * s, axes[:, 2]]).T

    def carried(self, inner: _Link, rate: Any = None, acceleration: Any = None) -> _Link:
        """Return the outer link, from the motion of the inner link and the rate and acceleration of the coordinate."""
        inward = self._axes.T
        link = _Link(None, None, inward @ inner.at(self._offset))
        link.joint = self
        if rate is None:
            return link
        z = np.array([0, 0, 1], dtype=object)
        spin = np.zeros(3, dtype=object) if inner.spin is None else inward @ inner.spin
        turning = np.zeros(3, dtype=object) if inner.spin is None else inward @ inner.turning
        if self._rotates:
            link.spin, link.turning = spin + z * rate, turning + z * acceleration + np.cross(spin, z * rate)
        else:
            link.spin, link.turning = spin, turning
            link.acceleration = link.acceleration + z * acceleration + 2.0 * np.cross(spin, z * rate)
        return link

    def transmit(self, outer: _Link, inner: _Link) -> None:
        """Add the load of the outer link to that of the inner link."""
        force = self._axes @ outer.force
        inner.force = inner.force + force
        inner.moment = inner.moment + self._axes @ outer.moment + np.cross(self._offset, force)


class GravityCompensation(OfTree):
    """Efforts at the joints of a robot that balance the weight of its links: g(q).

    The joints are Revolute or Prismatic, and form a tree rooted at the ground, in which bodies may also be joined by
    Fixed joints. The effort at each joint balances the weight of all bodies that it carries: the derivative of their
    potential energy with respect to its coordinate, with all other coordinates constant. Joints of the tree that are
    not in `joints` have no effort and move freely; the other joints also carry the weight of the links beyond them.
    Bodies that are connected by disabled constraints, contacts or springs are not included in the balance.

    The law has no feedback of errors; add a `Controller` for each joint to hold a pose. In results,
    ``result[name].along("hinge")`` is the effort at a joint "hinge".

    Parameters
    ----------
    joints : list of Joint, optional
        Joints with an effort; default: all enabled Revolute and Prismatic joints of the system.
    gravity : (3,)
        Gravity that is compensated, inertial frame, m/s^2; usually that of the system.
    limits : float or (2,), optional
        Largest effort in both directions, or the smallest and the largest effort (N m or N), of every joint; default:
        unlimited.

    Examples
    --------
    >>> rod = quirk.Body.box("rod", 2.0, [1.0, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    >>> floating = quirk.GravityCompensation("floating", gravity=[0, 0, -10.0])
    >>> system = quirk.System([rod, hinge, floating], gravity=[0, 0, -10.0])
    >>> quirk.simulate(system, 1.0, output=1.0)["floating"].along("hinge").round(6)
    array([-10., -10.])
    """

    def __init__(
        self,
        name: str,
        joints: Iterable[Joint] | None = None,
        *,
        gravity: ArrayLike,
        limits: ArrayLike | None = None,
    ) -> None:
        super().__init__(name, joints, gravity, limits)

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort (N m or N) at each joint; zero at joints without effort."""
        efforts = self.inverse_dynamics(list(np.atleast_1d(x)), None, ())
        return [limited(e, self.limits) if c < self.count else 0.0 for c, e in enumerate(efforts)]


class ComputedTorque(OfTree):
    """Computed-torque control: joint efforts that track targets with the error dynamics e'' + kd e' + kp e = 0.

    The efforts are M(q) (q_d'' + kd e' + kp e) + c(q, q') + g(q) with e = q_d - q, the inverse dynamics of the tree
    (Siciliano et al., Robotics, 2009, sec. 8.5.2). The joints are Revolute or Prismatic, and form a tree rooted at the
    ground, in which bodies may also be joined by Fixed joints; every joint that can move must be in `joints`. The
    control law includes the masses and inertias of the bodies of the tree, with rotors (`armature`). It does not
    include contacts and other force elements, such as springs, friction and payloads that are joined by forces: these
    disturb the error.

    In results, ``result[name].along("hinge")`` is the effort at a joint "hinge".

    Parameters
    ----------
    joints : list of Joint
        All joints of the tree that can move.
    targets : list of Motion or float
        Target of the angle (rad), all turns counted, or displacement (m) of each joint, with its derivatives.
    rates : list of Motion or float, optional
        Target of the rate of each joint, rad/s or m/s, with its derivative; default: the time derivatives of `targets`.
        Piecewise constant targets, such as inputs of a `Run`, require `rates`.
    kp : float or list
        Stiffness of the error of each joint, 1/s^2, not negative; omega^2 for a natural angular frequency omega.
    kd : float or list
        Damping of the error of each joint, 1/s, not negative; 2 omega for critical damping.
    gravity : (3,)
        Gravity that the law compensates, inertial frame, m/s^2; usually that of the system.
    limits : float or (2,), optional
        Largest effort in both directions, or the smallest and the largest effort (N m or N), of every joint; default:
        unlimited.

    Examples
    --------
    >>> rod = quirk.Body.box("rod", 2.0, [1.0, 0.1, 0.1], position=[0.5, 0, 0])
    >>> hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    >>> control = quirk.ComputedTorque("control", [hinge], [0.3], kp=4.0, kd=4.0, gravity=[0, 0, -9.81])
    >>> system = quirk.System([rod, hinge, control], gravity=[0, 0, -9.81])
    >>> result = quirk.simulate(system, 1.0, output=1.0)
    >>> (0.3 - result["hinge"].angle).round(6)  # the second is 0.3 (1 + 2) exp(-2)
    array([0.3     , 0.121802])
    """

    def __init__(
        self,
        name: str,
        joints: Iterable[Joint],
        targets: Iterable[MotionLike],
        *,
        kp: ArrayLike,
        kd: ArrayLike,
        gravity: ArrayLike,
        rates: Iterable[MotionLike] | None = None,
        limits: ArrayLike | None = None,
    ) -> None:
        super().__init__(name, joints, gravity, limits)
        assert self.joints is not None
        owner, count = str(self), len(self.joints)
        motions = _motions(owner, "targets", targets, count)
        speeds = [derivative_of(motion) for motion in motions]
        self.own_rates = rates is not None
        if rates is not None:
            speeds = _motions(owner, "rates", rates, count)
        self.kp = _gains(owner, "kp", kp, count)
        self.kd = _gains(owner, "kd", kd, count)
        for k, (joint, motion, speed) in enumerate(zip(self.joints, motions, speeds, strict=True)):
            if joint.rotation_axis is not None:
                degrees.check_motion(owner, f"targets[{k}]", motion)
            # Laws receive values and rates of motions: the acceleration is the rate of the speed.
            vars(self).update({f"target_{k}": motion, f"speed_{k}": speed})
        self.motions = tuple(f"{what}_{k}" for k in range(count) for what in ("target", "speed"))
        self.parameters = (*self.parameters, "kp", "kd", "armatures")

    # Targets (joints,) and their rates, if they are parameters of the law.
    targets: Any
    rates: Any

    def placed(self, bodies: Sequence[Body], constraints: Sequence[Constraint]) -> Self:
        """Return the element for a system; an InputError is raised if a joint of the tree has no target."""
        made = super().placed(bodies, constraints)
        missing = [name for c, name in enumerate(made.coordinates) if made.leaders[c] == c >= made.count]
        if missing:
            free = ", ".join(missing)
            raise InputError(
                f"{self}: joints must contain all that can move in its tree, but {free} has no target: add it, disable "
                "it, or weld it; use GravityCompensation and Controllers for robots with joints that are not actuated"
            )
        return made

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the effort (N m or N) at each joint."""
        x, rate = np.atleast_1d(x), np.atleast_1d(rate)
        targets, speeds = self._targets()
        commanded = [
            speed.rate + self.kd[k] * (speed - rate[k]) + self.kp[k] * (target - x[k])
            for k, (target, speed) in enumerate(zip(targets, speeds, strict=True))
        ]
        followers = range(self.count, len(self.leaders))
        commanded += [self.ratios[c] * commanded[self.leaders[c]] for c in followers]
        efforts = self.inverse_dynamics(list(x), list(rate), commanded)[: self.count]
        return [*(limited(effort, self.limits) for effort in efforts), *(0.0 for _ in followers)]

    def _targets(self) -> tuple[Any, Any]:
        """Return the targets of the coordinates of all joints with an effort, and the targets of their rates."""
        if "targets" in self.parameters:
            return self.targets, self.rates
        targets, speeds = ([getattr(self, f"{what}_{k}") for k in range(self.count)] for what in ("target", "speed"))
        return targets, speeds

    def with_held_targets(self) -> Self | None:
        """Return a copy whose targets and rates are constant parameters (joints,) of the law instead of motions.

        The result is None unless all targets and rates are constants.
        """
        motions = {name: self.motion(name) for name in self.motions}
        if not all(motion.constant for motion in motions.values()):
            return None
        targets, rates = (
            np.array([motion(0.0) for name, motion in motions.items() if name.startswith(what)])
            for what in ("target", "speed")
        )
        held = {"targets": targets, "rates": rates, "motions": (), "own_rates": True}
        names = (*self.parameters, "targets", "rates")
        return self.with_values({**dict.fromkeys(motions), **held, "parameters": names})

    def motion_changes(self, name: str, change: Motion) -> dict[str, Motion]:
        """Return the derivatives of motions with respect to a parameter of one motion; see `ForceElement`."""
        kind, _, k = name.partition("_")
        follows = kind == "target" and not self.own_rates
        return {name: change, **({f"speed_{k}": derivative_of(change)} if follows else {})}


def _motions(owner: str, argument: str, given: Any, count: int) -> list[Motion]:
    """Return the user's list `given` of `count` motions or numbers as Motions, one for each joint."""
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if len(listed) != count:
        raise InputError(f"{owner}: {argument} must be one for each of its {count} joints; got {len(listed)}")
    return [as_motion(owner, f"{argument}[{k}]", motion) for k, motion in enumerate(listed)]


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


def _gains(owner: str, argument: str, value: Any, count: int) -> np.ndarray:
    """Return `count` gains, which must not be negative; a single number applies to all joints."""
    if np.ndim(value) == 0:
        return np.full(count, validate.non_negative(owner, argument, value))
    gains = validate.array(owner, argument, value, (count,))
    if (gains < 0).any():
        raise InputError(f"{owner}: {argument} must not be negative; got {gains.tolist()}")
    return gains
