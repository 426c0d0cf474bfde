"""Inertia of rotors behind gears, as flywheels that turn with joint coordinates."""

from __future__ import annotations

import numpy as np

from quirk.body import GROUND, Body
from quirk.constraints import Coupling, Joint, Revolute
from quirk.frame import Frame

from .description import Names
from .pose import Pose, turned

Rotor = Body | Revolute | Coupling


def rotor(joint: Joint, kind: str, inertia: float, value: float, rate: float, name: str, names: Names) -> list[Rotor]:
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
    names : Names
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
