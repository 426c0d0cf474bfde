"""Inertia of a rotor that drives the free coordinate of a joint, modeled as a flywheel coupled to this coordinate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..bodies import rotation
from ..bodies.body import GROUND, Body, Ground
from ..bodies.frame import Frame
from ..errors import InputError
from ..util import validate
from .angle import rates_123
from .constraint import Constraint, Joint, initial_point
from .coupling import Coupling
from .primitives import X, Z

# Type of `armature`: inertia at the joint, or a pair of the inertia of a rotor and its gear ratio.
ArmatureLike = float | tuple[float, float]


def reflected(owner: str, armature: Any) -> float:
    """Return the inertia, kg m^2 or kg, of a rotor reflected to a joint: inertia times the gear ratio squared.

    Parameters
    ----------
    owner : title for error messages
    armature : inertia at the joint, or a pair (inertia of the rotor, gear ratio)
    """
    if np.ndim(armature) == 0:
        return validate.positive(owner, "armature", armature)
    if np.shape(armature) != (2,):
        raise InputError(
            f"{owner}: armature must be an inertia at the joint, or a pair (inertia of the rotor, gear ratio); "
            f"got {armature!r}"
        )
    inertia, ratio = (validate.number(owner, f"armature[{k}]", armature[k]) for k in range(2))
    return validate.positive(owner, "the inertia in armature at the joint", inertia * ratio**2)


def armature_parts(owner: str, name: str, joint: Joint, rotates: bool, armature: Any) -> tuple[Body | Constraint, ...]:
    """Return the flywheel at a joint's coordinate, with its bearing and its coupling; () if `armature` is None.

    Parameters
    ----------
    owner, name : title and name of the joint or actuator
    rotates : True for the joint's rotation, False for its translation
    armature : inertia at the joint, or a pair (inertia of the rotor, gear ratio)
    """
    if armature is None:
        return ()
    inertia = reflected(owner, armature)
    value, rate = initial_coordinate(joint, rotates)
    names = f"{name} rotor", f"{name} rotor bearing", f"{name} rotor gear"
    return flywheel(names, joint, rotates, inertia, value, rate)


def flywheel(
    names: tuple[str, str, str], joint: Joint, rotates: bool, inertia: float, value: float, rate: float
) -> tuple[Body, Joint, Coupling]:
    """Return a flywheel coupled to a joint coordinate, its bearing and its coupling.

    The flywheel adds inertia * rate^2 / 2 to the kinetic energy. It rotates about a fixed axis through the inertial
    origin, so that gravity has no effect on it, and its inertia resists only the rate of the coordinate, independent of
    the motion of the joint's bodies.

    Parameters
    ----------
    names : names of the flywheel, its bearing and its coupling
    joint : Joint
    rotates : bool
        Whether the coordinate is a rotation; for a translation the flywheel rotates by 1 rad per meter.
    inertia : float
        kg m^2 for a rotation, kg for a translation; positive.
    value, rate : float
        Initial coordinate and its rate, rad and rad/s or m and m/s.
    """
    from .joints import Revolute

    half = 0.5 * value
    # With mass and inertia of equal numerical value, rows of forces and of torques are similar in magnitude.
    wheel = Body(
        names[0],
        inertia,
        inertia * np.eye(3),
        orientation=[np.cos(half), 0.0, 0.0, np.sin(half)],
        angular_velocity=[0.0, 0.0, rate],
    )
    bearing = Revolute(names[1], GROUND, wheel, frame_i=Frame(), frame_j=Frame())
    kind = "rotation" if rotates else "translation"
    return wheel, bearing, Coupling(names[2], joint, bearing, coordinate_i=kind)


def initial_coordinate(joint: Joint, rotates: bool) -> tuple[float, float]:
    """Return the initial value of a joint's rotation or translation, and its initial rate.

    If `rotates` is true, the result is the angle, rad, and its rate, rad/s; otherwise the displacement, m, and its
    rate, m/s.
    """
    (p_i, R_i, v_i, w_i), (p_j, R_j, v_j, w_j) = (_frame(joint, end) for end in (0, 1))
    if not rotates:
        axis = R_i[:, joint.translation_axis if joint.translation_axis is not None else Z]
        apart = p_j - p_i
        return float(axis @ apart), float(axis @ (v_j - v_i - np.cross(w_i, apart)))
    number = joint.rotation_axis if joint.rotation_axis is not None else Z
    if joint.of_three:
        R = R_i.T @ R_j
        angles = np.arctan2(-R[1, 2], R[2, 2]), np.arcsin(np.clip(R[0, 2], -1, 1)), np.arctan2(-R[0, 1], R[0, 0])
        return float(angles[number]), float(rates_123(R_i[:, X], R_j[:, Z], w_j - w_i)[number])
    a, b = (number + 1) % 3, (number + 2) % 3
    sine, cosine = R_i[:, b] @ R_j[:, a] - R_i[:, a] @ R_j[:, b], R_i[:, a] @ R_j[:, a] + R_i[:, b] @ R_j[:, b]
    return float(np.arctan2(sine, cosine)), float(R_i[:, number] @ (w_j - w_i))


def _frame(joint: Joint, end: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the motion of frame i or j (`end` 0 or 1) of a joint at the initial state, in the inertial frame.

    The results are the origin (3,), m, the axes (3, 3) as columns, the velocity (3,) of the origin, m/s, and the
    angular velocity (3,), rad/s.
    """
    body, frame = joint.ends[end]
    R = rotation.matrix(body.orientation)
    origin = initial_point(body, frame.origin)
    if not isinstance(body, Body):
        return origin, R @ frame.matrix, np.zeros(3), np.zeros(3)
    w = R @ body.angular_velocity
    return origin, R @ frame.matrix, body.velocity + np.cross(w, origin - body.position), w


class OneFreedomJoint(Joint):
    """A joint with one degree of freedom, optionally with a rotor (armature) that is driven by the joint coordinate.

    Parameters
    ----------
    armature : float or (2,), optional
        Inertia of a rotor, effective at the joint: kg m^2 for a rotation or kg for a translation; or a pair, the
        inertia of the rotor, kg m^2, and its gear ratio, rad of the rotor per rad or m of the joint. The rotor only
        resists changes of the joint's rate: its gyroscopic effect is neglected. The system receives a flywheel, "<name>
        rotor", with a bearing and a coupling. Other parameters as for `Joint`.
    """

    def __init__(
        self,
        name: str,
        body_i: Body | Ground,
        body_j: Body | Ground,
        *,
        point: ArrayLike | None = None,
        axis: ArrayLike | None = None,
        frame_i: Frame | str | None = None,
        frame_j: Frame | str | None = None,
        armature: ArmatureLike | None = None,
        active: bool = True,
    ) -> None:
        super().__init__(name, body_i, body_j, point=point, axis=axis, frame_i=frame_i, frame_j=frame_j, active=active)
        self.companions = armature_parts(str(self), name, self, self.rotation_axis is not None, armature)
