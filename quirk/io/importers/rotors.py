"""Inertia of the geared rotors of motors, as flywheels coupled to joint coordinates."""

from __future__ import annotations

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.body import GROUND, Body, Ground
from quirk.bodies.frame import Frame
from quirk.constraints import Coupling, Implicit, Joint, Spherical
from quirk.constraints.armature import flywheel

from .description import DescriptionNames

Rotor = Body | Joint | Coupling | Implicit
# Velocity relation of the flywheel c, which has the angular velocity of body b relative to body a, in the axes of a.
FOLLOWS = "a.direction(c.spin) - b.spin + a.spin"


def rotor(
    joint: Joint, kind: str, inertia: float, value: float, rate: float, name: str, names: DescriptionNames
) -> list[Rotor]:
    """Return a flywheel that rotates in proportion to a joint coordinate; see `quirk.constraints.armature.flywheel`.

    Parameters
    ----------
    joint : Joint
    kind : "rotation" or "translation"
        Coordinate of the joint.
    inertia : float
        Inertia along the coordinate, kg m^2 for a rotation, kg for a translation; positive.
    value, rate : float
        Initial coordinate and its rate, rad and rad/s or m and m/s.
    name : str
        Name of the joint in the file.
    names : names already used in the system
    """
    wheel = names.part(name, "rotor")
    called = wheel, names.part(wheel, "bearing"), names.part(wheel, "gear")
    return [*flywheel(called, joint, kind == "rotation", inertia, value, rate)]


def ball_rotor(
    body_i: Body | Ground, body_j: Body | Ground, inertia: float, spin: np.ndarray, name: str, names: DescriptionNames
) -> list[Rotor]:
    """Return a flywheel that rotates with the relative angular velocity omega of two bodies.

    The flywheel adds inertia * |omega|^2 / 2 to the kinetic energy.

    Parameters
    ----------
    body_i, body_j : bodies connected by a ball joint
    inertia : float
        Moment of inertia about all axes, kg m^2; positive.
    spin : (3,)
        Initial angular velocity of body j relative to body i, inertial frame, rad/s.
    name : str
        Name of the joint in the file.
    names : names already used in the system
    """
    called = names.part(name, "rotor")
    in_axes_of_i = rotation.matrix(body_i.orientation).T @ spin
    wheel = Body(called, inertia, inertia * np.eye(3), angular_velocity=in_axes_of_i)
    bearing = Spherical(names.part(called, "bearing"), GROUND, wheel, frame_i=Frame(), frame_j=Frame())
    gear = names.part(called, "gear")
    return [wheel, bearing, Implicit(gear, [body_i, body_j, wheel], FOLLOWS, level="velocity", units="torque")]
