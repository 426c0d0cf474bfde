"""Equalities, tendons and actuators of MJCF as constraints and force elements.

In MJCF an equality is a constraint, a tendon a rope or spring between sites, and a site a frame of a body. Handles are
joints that measure the coordinates of single MJCF joints; see mjcf_handles.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from quirk.constraints import Constraint, Coupling, Drive, Fixed, Joint, Spherical
from quirk.forces import Actuator, Controller, ForceElement, Tendon
from quirk.functions.motion import Motion

from .bodies import Bodies
from .description import DescriptionNames, at
from .left_out import LeftOut
from .mjcf_joints import ImportedJoints
from .mjcf_model import SLIDE, MjcfModel, pose
from .mjcf_tendons import ends, nonzero, path_of, tendon
from .pose import Pose


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
    (one, i), (two, j) = ends(model, m.eq_objtype[number], pair, local, bodies)
    if one is two:
        return "equalities within one body, which always hold"
    made_as = Spherical if kind == model.code("Eq", "CONNECT") else Fixed
    return [made_as(names.take(name, "equality"), one, two, frame_i=i, frame_j=j, active=active)]


def _coupled(
    model: MjcfModel, name: str, pair: tuple[int, int], data: np.ndarray, imported_joints: ImportedJoints, active: bool
) -> list[Any] | str:
    """Return the constraint for an MJCF equality of joints, or a string that describes an unsupported equality.

    The constraint keeps a joint coordinate constant, or equal to a polynomial of another joint coordinate.

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
    return tendon(model, number, bodies, names)


def _actuator(
    model: MjcfModel, number: int, bodies: Bodies, imported_joints: ImportedJoints, names: DescriptionNames
) -> list[Any] | str:
    """Return the motor or servo of one joint coordinate or tendon, or a string that describes an unsupported actuator.

    Its input is constant: the initial control. `number` is the number of the actuator.
    """
    m = model.m
    at_joint = m.actuator_trntype[number] in (model.code("Trn", "JOINT"), model.code("Trn", "JOINTINPARENT"))
    k = int(m.actuator_trnid[number][0])
    path = path_of(model, k, bodies) if m.actuator_trntype[number] == model.code("Trn", "TENDON") else ""
    affine = m.actuator_biastype[number] in (model.code("Bias", "NONE"), model.code("Bias", "AFFINE"))
    plain = m.actuator_gaintype[number] == model.code("Gain", "FIXED") and affine
    plain = plain and m.actuator_dyntype[number] == model.code("Dyn", "NONE")
    known = k in imported_joints.handle if at_joint else not isinstance(path, str)
    if not (plain and known):
        return "actuators other than motors and servos without dynamics at hinges, slides and tendons over sites"
    if any(
        nonzero(model, array, number)
        for array in ("actuator_armature", "actuator_damping", "actuator_dampingpoly", "actuator_delay")
    ):
        return "actuators with armature, damping or delay of their own"
    if _shares_limit(model, number):
        return "actuators with a limit of the sum of their forces at a joint or tendon"
    gear = float(m.actuator_gear[number][0])
    bias = np.array(m.actuator_biasprm[number][:3]) * (m.actuator_biastype[number] == model.code("Bias", "AFFINE"))
    constant = gear * (float(m.actuator_gainprm[number][0]) * _control(model, number) + bias[0])
    kp, kd = -bias[1] * gear**2, -bias[2] * gear**2
    if at_joint and not (constant or kp or kd):
        return "motors whose control is zero; act on the joint by quirk.Actuator"
    if kp < 0 or kd < 0:
        return "servos with destabilizing gain"
    limits = _range(model, number, gear)
    name = names.take(model.name("ACTUATOR", number), "actuator")
    if isinstance(path, str):
        return [_servo(name, imported_joints.handle[k], constant, kp, kd, limits, m.jnt_type[k] == SLIDE)]
    # A tension is positive if it shortens the tendon, a force of MuJoCo if it lengthens it.
    how = {"limits": None if limits is None else [-limits[1], -limits[0]], "weights": path.weights}
    return [Tendon(name, path.points, tension=-constant, stiffness=kp, damping=kd, rest_length=0.0, **how)]


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


def _shares_limit(model: MjcfModel, number: int) -> bool:
    """Whether actuator `number` may be affected by a limit on the sum of several actuators at one joint or tendon."""
    m, tendon = model.m, model.code("Trn", "TENDON")
    at_tendon, k = np.array(m.actuator_trntype) == tendon, int(m.actuator_trnid[number][0])
    same = (at_tendon == at_tendon[number]) & (np.array(m.actuator_trnid)[:, 0] == k)
    if at_tendon[number]:
        limited = model.get("tendon_actfrclimited")
        return bool(np.any(m.jnt_actfrclimited) or (limited is not None and limited[k] and same.sum() > 1))
    return bool(m.jnt_actfrclimited[k] and (same.sum() > 1 or at_tendon.any()))


def _range(model: MjcfModel, number: int, gear: float) -> list[float] | None:
    """Return the smallest and the largest load (N or N m) of an actuator at its joint or tendon; None without limits.

    `number` is the number of the actuator; `gear` multiplies its force.
    """
    m, k = model.m, int(model.m.actuator_trnid[number][0])
    ranges = []
    if m.actuator_forcelimited[number]:
        ranges.append(np.sort(gear * np.array(m.actuator_forcerange[number])))
    if m.actuator_trntype[number] == model.code("Trn", "TENDON"):
        limited = model.get("tendon_actfrclimited")
        if limited is not None and limited[k]:
            # Limits at a tendon apply before the gear, those at a joint after it.
            ranges.append(np.sort(gear * np.array(m.tendon_actfrcrange[k])))
    elif m.jnt_actfrclimited[k]:
        ranges.append(np.array(m.jnt_actfrcrange[k]))
    if not ranges:
        return None
    low, high = max(r[0] for r in ranges), min(r[1] for r in ranges)
    return [float(low), float(high)]
