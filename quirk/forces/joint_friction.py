"""Regularized friction in a joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..constraints import Joint
from ..errors import InputError
from ..util import validate
from .joint_actuation import OfJoint, free_axis


class JointFriction(OfJoint):
    """Viscous and regularized dry friction against the rate v of a joint.

    The effort on body j is ``-viscous v - (coulomb + (static - coulomb) exp(-(v / stribeck)^2)) tanh(v / creep)``, N m
    for rotation, N for translation. Dry friction is smooth, so there is no true sticking: under a constant effort F
    below `static`, with `stribeck` well above `creep`, the joint creeps at ``creep artanh(F / static)``, 0.55 creep for
    F = static / 2. At the speed `creep` dry friction has 76 % of its full value, at three times that speed 99.5 %.
    Small values of `creep` make runs slow.

    Parameters
    ----------
    joint : Joint
        Joint with a free rotation or a free translation.
    viscous : float
        N m s/rad or N s/m, not negative.
    coulomb : float
        Dry friction during motion, N m or N, not negative.
    static : float, optional
        Dry friction near standstill, N m or N, at least `coulomb`, which is the default.
    stribeck : float, optional
        Speed over which friction decreases from `static` to `coulomb`, rad/s or m/s; required if these differ.
    creep : float
        Speed over which dry friction reverses, rad/s or m/s, positive; required with dry friction.
    coordinate : "rotation" or "translation", optional
        Coordinate of a joint that has both.

    Examples
    --------
    >>> rotor = quirk.Body("rotor", 1.0, [1, 1, 2], angular_velocity=[0, 0, 5.0])
    >>> axle = quirk.Revolute("axle", quirk.GROUND, rotor, point=[0, 0, 0], axis="z")
    >>> system = quirk.System([rotor, axle, quirk.JointFriction("rub", axle, viscous=0.2)])
    >>> system.acceleration(system.initial_state()).angular.round(6) + 0.0
    array([[ 0. ,  0. , -0.5]])
    """

    parameters = ("viscous", "coulomb", "static", "stribeck", "creep")

    def __init__(
        self,
        name: str,
        joint: Joint,
        *,
        viscous: float = 0.0,
        coulomb: float = 0.0,
        static: float | None = None,
        stribeck: float | None = None,
        creep: float | None = None,
        coordinate: str | None = None,
    ) -> None:
        owner, axis, rotates = free_axis("JointFriction", name, joint, coordinate)
        self.viscous = validate.non_negative(owner, "viscous", viscous)
        self.coulomb = validate.non_negative(owner, "coulomb", coulomb)
        self.static = self.coulomb if static is None else validate.non_negative(owner, "static", static)
        if self.static < self.coulomb:
            raise InputError(f"{owner}: static must be at least coulomb, {self.coulomb:g}; got {self.static:g}")
        unit = "rad/s" if rotates else "m/s"
        for argument, speed, needed in (
            ("stribeck", stribeck, self.static > self.coulomb),
            ("creep", creep, self.static > 0),
        ):
            if needed and speed is None:
                raise InputError(f"{owner}: {argument} must be given, a speed in {unit}: see JointFriction")
            setattr(self, argument, validate.positive(owner, argument, 1.0 if speed is None else speed))
        super().__init__(name, joint, axis, rotates)

    stribeck: float
    creep: float

    @property
    def reads_angle(self) -> bool:
        """Always False: the effort depends on the rate of the angle only."""
        return False

    def along(self, t: Any, x: Any, rate: Any) -> Any:
        """Return the friction torque, N m, or force, N, for the rate of the joint; time and coordinate are not used."""
        part = rate / self.stribeck
        dry = self.coulomb + (self.static - self.coulomb) * np.exp(-part * part)
        return -self.viscous * rate - dry * np.tanh(rate / self.creep)
