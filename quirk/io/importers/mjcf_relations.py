"""Equalities, tendons and actuators of MJCF as constraints and force elements.

In MJCF an equality is a constraint, a tendon a rope or spring between sites, and a site a frame of a body. Handles are
joints that measure the coordinates of single MJCF joints; see mjcf_handles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from quirk.bodies.body import Body, Ground
from quirk.bodies.frame import Frame
from quirk.constraints import Constraint, Coupling, Drive, Fixed, Joint, Pulley, Rope, Spherical
from quirk.forces import Actuator, Controller, ForceElement, Spring
from quirk.functions.motion import Motion

from .bodies import Bodies
from .description import DescriptionNames, at
from .left_out import LeftOut
from .mjcf_joints import ImportedJoints
from .mjcf_model import SLIDE, MjcfModel, pose
from .pose import Pose

End = tuple[Body | Ground, Frame]


def relations(
    model: MjcfModel, bodies: Bodies, imported_joints: ImportedJoints, names: DescriptionNames, left_out: LeftOut
) -> Iterator[Constraint | ForceElement]:
    """Yield the constraints and forces equivalent to equalities, tendons and actuators.

    Unsupported elements are recorded as omissions. `imported_joints` are the joints of the file.
    """
    m = model.m
    makers = (
        ("EQUALITY", m.neq, _equality),
        ("TENDON", m.ntendon, _tendon),
        ("ACTUATOR", len(m.actuator_trntype), _actuator),
    )
    for kind, count, make in makers:
        for number in range(count):
            with at(model.where(kind, number)):
                parts = make(model, number, bodies, imported_joints, names)
            if isinstance(parts, str):
                left_out.note(parts, f'{kind.lower()} "{model.name(kind, number)}"')
            else:
                yield from parts


def _ends(model: MjcfModel, kind: int, numbers: Sequence[int], local: list[Pose], bodies: Bodies) -> list[End]:
    """Return, for each of several MJCF bodies or sites, a pair of the body of QuIRK and the frame in it.

    Parameters
    ----------
    model : compiled model
    kind : MuJoCo's number of the object type, body or site
    numbers : indices of the objects in the MuJoCo model
    local : poses of the frames in these bodies or sites
    bodies : bodies of the import
    """
    m, found = model.m, []
    for number, place in zip(numbers, local, strict=True):
        body, inside = number, place
        if kind == model.code("Obj", "SITE"):
            body = m.site_bodyid[number]
            inside = pose(m.site_pos[number], m.site_quat[number]) @ place
        owner, where = bodies.place(model.name("BODY", body) if body else None)
        found.append((owner, (where @ inside).frame))
    return found


def _equality(
    model: MjcfModel, number: int, bodies: Bodies, imported_joints: ImportedJoints, names: DescriptionNames
) -> list[Any] | str:
    m = model.m
    kind, data = int(m.eq_type[number]), np.array(m.eq_data[number])
    pair = int(m.eq_obj1id[number]), int(m.eq_obj2id[number])
    active = bool(m.eq_active0[number])
    name = model.name("EQUALITY", number)
    if kind == model.code("Eq", "JOINT"):
        return _coupled(model, names.take(name, "equality"), pair, data[:5], imported_joints, active)
    if kind not in (model.code("Eq", "CONNECT"), model.code("Eq", "WELD")):
        return "equalities of tendons and flexible bodies"
    at_site = m.eq_objtype[number] == model.code("Obj", "SITE")
    local = [Pose(), Pose()]
    if kind == model.code("Eq", "CONNECT") and not at_site:
        local = [Pose(np.eye(3), data[:3]), Pose(np.eye(3), data[3:6])]
    if kind == model.code("Eq", "WELD") and not at_site:
        local = [pose(data[3:6], data[6:10]), Pose(np.eye(3), data[:3])]
    (one, i), (two, j) = _ends(model, m.eq_objtype[number], pair, local, bodies)
    if one is two:
        return "equalities within one body, which always hold"
    made_as = Spherical if kind == model.code("Eq", "CONNECT") else Fixed
    return [made_as(names.take(name, "equality"), one, two, frame_i=i, frame_j=j, active=active)]


def _coupled(
    model: MjcfModel, name: str, pair: tuple[int, int], data: np.ndarray, imported_joints: ImportedJoints, active: bool
) -> list[Any] | str:
    """Return a constraint that makes a joint coordinate constant, or a polynomial of another joint coordinate.

    For an unsupported equality, a string that describes it is returned.

    Parameters
    ----------
    model : compiled model
    name : name of the constraint
    pair : numbers of the dependent and the independent joint, -1 for no independent joint
    data : (5,) coefficients, for coordinates relative to the reference position
    imported_joints : joints of the file
    active : whether the constraint is enabled
    """
    m = model.m
    if any(k >= 0 and k not in imported_joints.handle for k in pair):
        return "equalities of parallel hinges on one body, and of a middle hinge of three with a ref"
    home = [float(m.qpos0[m.jnt_qposadr[k]]) if k >= 0 else 0.0 for k in pair]
    follower = imported_joints.handle[pair[0]]
    if pair[1] < 0:
        return [Drive(name, follower, Motion.polynomial([home[0] + data[0]]), active=active)]
    powers = np.polynomial.Polynomial(data)(np.polynomial.Polynomial([-home[1], 1.0])).coef
    powers = np.pad(powers, (0, max(0, 2 - len(powers))))
    powers[0] += home[0]
    if not powers[1:].any():
        return [Drive(name, follower, Motion.polynomial([float(powers[0])]), active=active)]
    return [Coupling(name, imported_joints.handle[pair[1]], follower, coefficients=powers, active=active)]


def _tendon(
    model: MjcfModel, number: int, bodies: Bodies, imported_joints: ImportedJoints, names: DescriptionNames
) -> list[Any] | str:
    """Return the spring and the rope equivalent to a straight tendon between two sites, or over several sites.

    For other tendons, a string that describes them is returned. `number` is the number of the tendon.
    """
    m = model.m
    first, count = m.tendon_adr[number], m.tendon_num[number]
    site = model.code("Wrap", "SITE")
    if any(m.wrap_type[first + k] != site for k in range(count)):
        return "tendons of joints, over pulleys or around geoms"
    if count != 2:
        return _over_sites(model, number, bodies, names)
    pair = int(m.wrap_objid[first]), int(m.wrap_objid[first + 1])
    (one, i), (two, j) = _ends(model, model.code("Obj", "SITE"), pair, [Pose(), Pose()], bodies)
    if one is two:
        return "tendons within one body, which have no effect"
    name, ends = model.name("TENDON", number), (one, two, i.origin, j.origin)
    low, high = (float(x) for x in m.tendon_lengthspring[number])
    stiffness, damping = float(m.tendon_stiffness[number]), float(m.tendon_damping[number])
    if m.tendon_frictionloss[number] or any(
        _rows(model, a, number) for a in ("tendon_armature", "tendon_dampingpoly", "tendon_stiffnesspoly")
    ):
        return "tendons with friction, armature, or springs and damping that are not linear"
    if stiffness and low < high and (low > 0 or damping):
        return "tendons with a range in which their spring is slack, from above zero or beside a damper"
    parts: list[Any] = []
    if stiffness or damping:
        rope = "tension" if stiffness and low < high else None
        how: dict[str, Any] = {"stiffness": stiffness, "damping": damping, "rest_length": high, "one_sided": rope}
        parts.append(Spring(names.take(name, "tendon"), *ends, **how))
    if m.tendon_limited[number]:
        shortest, longest = (float(x) for x in m.tendon_range[number])
        if shortest > 0:
            return "tendons with a least length"
        parts.append(Rope(names.part(name, "limit"), one, two, length=longest, point_i=i.origin, point_j=j.origin))
    return parts


def _over_sites(model: MjcfModel, number: int, bodies: Bodies, names: DescriptionNames) -> list[Any] | str:
    """Return the elastic rope equivalent to a tendon over several sites with a spring that acts in tension only.

    For other tendons, a string that describes them is returned. The rope of a spring of stiffness k and length L has
    the axial stiffness EA = k L.
    """
    m, name = model.m, model.name("TENDON", number)
    first, count = m.tendon_adr[number], m.tendon_num[number]
    low, high = (float(x) for x in m.tendon_lengthspring[number])
    stiffness = float(m.tendon_stiffness[number])
    if not stiffness or low > 0 or not high > 0:
        return "tendons over several sites without a spring that only pulls: springlength from 0 to a length"
    others = ("tendon_armature", "tendon_dampingpoly", "tendon_stiffnesspoly")
    if m.tendon_damping[number] or m.tendon_frictionloss[number] or any(_rows(model, a, number) for a in others):
        return "tendons over several sites with damping, friction, armature or springs that are not linear"
    if m.tendon_limited[number]:
        return "tendons over several sites with a limited length"
    sites = [int(m.wrap_objid[first + k]) for k in range(count)]
    kind = model.code("Obj", "SITE")
    points = [(body, frame.origin) for body, frame in _ends(model, kind, sites, [Pose()] * count, bodies)]
    if len({id(body) for body, _ in points}) < 2:
        return "tendons within one body, which have no effect"
    return [Pulley(names.take(name, "tendon"), points, stiffness=stiffness * high, length=high)]


def _rows(model: MjcfModel, array: str, number: int) -> bool:
    """Whether object `number` has nonzero values in a model array, which some versions of MuJoCo lack."""
    values = model.get(array)
    return values is not None and bool(np.any(values[number]))


def _actuator(
    model: MjcfModel, number: int, bodies: Bodies, imported_joints: ImportedJoints, names: DescriptionNames
) -> list[Any] | str:
    """Return the motor or servo of one joint coordinate, with its initial control as a constant input.

    For other actuators, a string that describes them is returned. `number` is the number of the actuator.
    """
    m = model.m
    joint_transmission = m.actuator_trntype[number] in (model.code("Trn", "JOINT"), model.code("Trn", "JOINTINPARENT"))
    k = int(m.actuator_trnid[number][0])
    affine = m.actuator_biastype[number] in (model.code("Bias", "NONE"), model.code("Bias", "AFFINE"))
    plain = m.actuator_gaintype[number] == model.code("Gain", "FIXED") and affine
    plain = plain and m.actuator_dyntype[number] == model.code("Dyn", "NONE")
    if not (joint_transmission and plain and k in imported_joints.handle):
        return "actuators other than motors and servos without dynamics at hinges and slides"
    if any(
        _rows(model, array, number)
        for array in ("actuator_armature", "actuator_damping", "actuator_dampingpoly", "actuator_delay")
    ):
        return "actuators with armature, damping or delay of their own"
    gear = float(m.actuator_gear[number][0])
    bias = np.array(m.actuator_biasprm[number][:3]) * (m.actuator_biastype[number] == model.code("Bias", "AFFINE"))
    constant = gear * (float(m.actuator_gainprm[number][0]) * _control(model, number) + bias[0])
    kp, kd = -bias[1] * gear**2, -bias[2] * gear**2
    if not (constant or kp or kd):
        return "motors whose control is zero; act on the joint by quirk.Actuator"
    if kp < 0 or kd < 0:
        return "servos with destabilizing gain"
    return [
        _servo(
            names.take(model.name("ACTUATOR", number), "actuator"),
            imported_joints.handle[k],
            constant,
            kp,
            kd,
            _range(model, number, k, gear),
            m.jnt_type[k] == SLIDE,
        )
    ]


def _servo(
    name: str, joint: Joint, constant: float, kp: float, kd: float, limits: Any, slides: bool
) -> Actuator | Controller:
    """Return an element that exerts the load constant - kp x - kd x' on a joint coordinate x.

    `limits` are the smallest and the largest load, or None; `slides` is true if the coordinate is a translation.
    """
    of = {"limits": limits, "coordinate": "translation" if slides else "rotation"}
    if kp > 0:
        return Controller(name, joint, constant / kp, kp=kp, kd=kd, **of)
    if kd > 0:
        return Controller(name, joint, Motion.constant_rate(constant / kd), kp=0.0, kd=kd, **of)
    return Actuator(name, joint, constant, **of)


def _control(model: MjcfModel, number: int) -> float:
    """Return the initial control of actuator `number`, limited to its range."""
    m, addresses = model.m, model.get("actuator_ctrladr")
    if not m.nu:
        return 0.0
    value = float(model.d.ctrl[number if addresses is None else addresses[number]])
    limited, ranges = m.actuator_ctrllimited[number], m.actuator_ctrlrange[number]
    return float(np.clip(value, *ranges)) if limited else value


def _range(model: MjcfModel, number: int, k: int, gear: float) -> list[float] | None:
    """Return the smallest and the largest load (N or N m) of an actuator at its joint, or None if it is not limited.

    `number` and `k` are the numbers of the actuator and of the joint; `gear` multiplies the force of the actuator.
    """
    m = model.m
    ranges = []
    if m.actuator_forcelimited[number]:
        ranges.append(np.sort(gear * np.array(m.actuator_forcerange[number])))
    if m.jnt_actfrclimited[k]:
        ranges.append(np.array(m.jnt_actfrcrange[k]))
    if not ranges:
        return None
    low, high = max(r[0] for r in ranges), min(r[1] for r in ranges)
    return [float(low), float(high)]
