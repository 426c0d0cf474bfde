"""Recursive Newton-Euler equations of a kinematic tree: outward recursion of motion, inward recursion of loads.

The recursion is that of Luh, Walker and Paul, J. Dyn. Syst. Meas. Control 102 (1980) 69, in the axes of each link.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class LinkMotion:
    """Motion and load of one link in its own axes.

    Attributes
    ----------
    spin, turning : angular velocity (rad/s) and angular acceleration (rad/s^2); both None for a link that does not
    rotate
    acceleration : acceleration of the link's origin minus gravity, m/s^2
    force, moment : load (N and N m) exerted on the link by the inner link, about the link's origin
    """

    joint: JointPose

    def __init__(self, spin: Any, turning: Any, acceleration: Any) -> None:
        self.spin, self.turning, self.acceleration = spin, turning, acceleration

    def at(self, point: Any) -> Any:
        """Return the acceleration minus gravity, m/s^2, of a point (3,), m, of the link."""
        if self.spin is None:
            return self.acceleration
        return self.acceleration + np.cross(self.turning, point) + np.cross(self.spin, np.cross(self.spin, point))

    def load(self, mass: Any, center: Any, inertia: Any) -> None:
        """Set force and moment to the load that accelerates this link alone, by the Newton-Euler equations.

        `mass` is in kg, `center` (3,) is the center of mass, m, and `inertia` (3, 3) is about the center of mass, kg
        m^2.
        """
        self.force = mass * self.at(center)
        self.moment = np.cross(center, self.force)
        if self.spin is not None:
            self.moment = self.moment + inertia @ self.turning + np.cross(self.spin, inertia @ self.spin)


class JointPose:
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

    def carried(self, inner: LinkMotion, rate: Any = None, acceleration: Any = None) -> LinkMotion:
        """Return the motion of the outer link.

        `inner` is the motion of the inner link; `rate` and `acceleration` are the time derivatives of the joint
        coordinate.
        """
        inward = self._axes.T
        link = LinkMotion(None, None, inward @ inner.at(self._offset))
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

    def transmit(self, outer: LinkMotion, inner: LinkMotion) -> None:
        """Add the load on the outer link to the load on the inner link.

        The load is transferred to the origin and the axes of the inner link.
        """
        force = self._axes @ outer.force
        inner.force = inner.force + force
        inner.moment = inner.moment + self._axes @ outer.moment + np.cross(self._offset, force)
