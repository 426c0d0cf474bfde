"""Inertia of rotors behind gears, as flywheels that turn with joint coordinates."""

from __future__ import annotations

import numpy as np

from quirk.bodies import rotation
from quirk.bodies.body import GROUND, Body, Ground
from quirk.bodies.frame import Frame
from quirk.constraints import Coupling, Implicit, Joint, Revolute, Spherical

from .description import DescriptionNames
from .pose import Pose, turned

Rotor = Body | Revolute | Spherical | Coupling | Implicit
# The flywheel c turns as body b does relative to body a, in the axes of a.
FOLLOWS = "a.direction(c.spin) - b.spin + a.spin"


def rotor(
    joint: Joint, kind: str, inertia: float, value: float, rate: float, name: str, names: DescriptionNames
) -> list[Rotor]:
    """Return a flywheel whose angle is a coordinate of a joint: it adds inertia * rate^2 / 2 to the kinetic energy.

    The flywheel turns about a fixed axis through the origin of the inertial frame, so that it has no weight, and its
    inertia resists the rate of the coordinate alone, however the bodies of the joint move.

    Parameters
    ----------
    joint : Joint
    kind : "rotation" or "translation"
        Coordinate of the joint; of a translation the flywheel turns by 1 rad for each meter.
    inertia : float
        kg m^2 of a rotation, kg of a translation; positive.
    value, rate : float
        Of the coordinate at the start, rad and rad/s or m and m/s.
    name : str
        Name of the joint in the file.
    names : DescriptionNames
    """
    called = names.part(name, "rotor")
    # Mass and inertia are alike, so that rows of forces and of torques are of one size.
    wheel = Body(
        called,
        inertia,
        inertia * np.eye(3),
        orientation=Pose(turned(2, value)).quaternion,
        angular_velocity=[0.0, 0.0, rate],
    )
    bearing = Revolute(names.part(called, "bearing"), GROUND, wheel, frame_i=Frame(), frame_j=Frame())
    return [wheel, bearing, Coupling(names.part(called, "gear"), joint, bearing, coordinate_i=kind)]


def ball_rotor(
    body_i: Body | Ground, body_j: Body | Ground, inertia: float, spin: np.ndarray, name: str, names: DescriptionNames
) -> list[Rotor]:
    """Return a flywheel with the relative angular velocity of two bodies: it adds inertia * spin^2 / 2 to the energy.

    Parameters
    ----------
    body_i, body_j : bodies that a ball joint joins
    inertia : float
        kg m^2, about all axes; positive.
    spin : (3,)
        Angular velocity of body j relative to body i at the start, in the inertial frame, rad/s.
    name : str
        Name of the joint in the file.
    names : DescriptionNames
    """
    called = names.part(name, "rotor")
    in_axes_of_i = rotation.matrix(body_i.orientation).T @ spin
    wheel = Body(called, inertia, inertia * np.eye(3), angular_velocity=in_axes_of_i)
    bearing = Spherical(names.part(called, "bearing"), GROUND, wheel, frame_i=Frame(), frame_j=Frame())
    gear = names.part(called, "gear")
    return [wheel, bearing, Implicit(gear, [body_i, body_j, wheel], FOLLOWS, level="velocity", units="torque")]
