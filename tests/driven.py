"""Driven four-bars, planar and spatial, with the closed form of their motion; and how results are compared to it."""

from typing import NamedTuple

import numpy as np
import pytest
from closed_forms import derivatives, four_bar, turned
from quirk.constraints.planar import PlanarBody, Plane
from scipy.optimize import brentq

import quirk
from quirk import GROUND, Body, Motion, planar

# Everything is compared to this part of its largest value along the motion; of a quantity that several bodies have, of
# the largest of all bodies. With rates of 1 to 2 rad/s even snap is far from its round-off.
TOLERANCE = 1e-9
# As far as time, s, goes on to a dead point: there the determinant vanishes with the square root of what is left.
DEAD_POINT = 1e-8
LINEAR = ("position", "velocity", "acceleration", "jerk", "snap")
ANGULAR = ("angle", "angular_velocity", "angular_acceleration", "angular_jerk", "angular_snap")
TEN_TURNS, OUTPUTS = 20 * np.pi, 173
# Where cranks are drawn.
START = 0.5
DOWN = np.array([0.0, -9.81])
XY = Plane()


def agree(actual, expected, note=""):
    """Whether two arrays differ by less than the tolerance."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE * np.abs(expected).max(), err_msg=note)


class Turning(NamedTuple):
    """How a crank turns: the motion of its driver, and the same as a function of complex times."""

    motion: Motion
    angle: object

    @property
    def times(self):
        end = brentq(lambda t: self.angle(t) - TEN_TURNS, 0, 100)
        return np.linspace(0, end, OUTPUTS)


def wave(t):
    return 1.2 * t + 0.4 * np.sin(0.9 * t)


WAVE = Motion.function(
    wave,
    lambda t: 1.2 + 0.36 * np.cos(0.9 * t),
    lambda t: -0.324 * np.sin(0.9 * t),
    lambda t: -0.2916 * np.cos(0.9 * t),
    lambda t: 0.26244 * np.sin(0.9 * t),
)
STEADY = Turning(Motion.constant_rate(1.3), lambda t: 1.3 * t)


def simulated(system, times):
    """The same by integration, which starts on the constraints and is to find nothing but what drivers prescribe."""
    system.assemble(t=float(times[0]))
    duration = float(times[-1] - times[0])
    return quirk.simulate(system, duration, rtol=1e-12, atol=1e-13, output=times, start=float(times[0]))


def all_orders(view, names):
    return [getattr(view, name) for name in names]


def check(views, names, expected, note=""):
    """Compare a quantity of some bodies or points, and its derivatives, to arrays (order, nt, ...)."""
    for order, name in enumerate(names):
        got, want = ([part[order] for part in parts] for parts in ([all_orders(v, names) for v in views], expected))
        agree(np.array(got), np.array(want), f"{note} {name}")


def bar(kind, name, start, end, mass, plane):
    """A bar between two points of a plane, as a planar body or as a spatial one."""
    body = PlanarBody.bar(name, start, end, mass, plane=plane)
    if kind == "planar":
        return body
    return Body(name, mass, body.inertia, position=body.position, orientation=body.orientation)


def pin(kind, name, i, j, point, plane):
    if kind == "planar":
        return planar.Revolute(name, i, j, point=point)
    return quirk.Revolute(name, i, j, point=plane.point(point), axis=plane.axes[:, 2])


def motor(kind, hinge, motion, start):
    """A driver of the body at a hinge on the ground, drawn at an angle where the motion starts from zero."""
    if kind == "planar":
        return planar.AngleDriver("motor", GROUND, hinge.body_j, motion, offset=start)
    return quirk.Drive("motor", hinge, motion)


CRANK_ROCKER = {"ground": 1.0, "crank": 0.3, "coupler": 0.9, "rocker": 0.7}


class FourBar:
    """A crank-rocker in a plane, with planar pins or with spatial hinges, three rows of which are redundant."""

    BODIES = ("crank", "coupler", "rocker")
    # Of the coupler, in its body coordinates.
    POINT = np.array([0.2, 0.35])

    def __init__(self, kind, turning, plane=XY, size=1.0, lengths=CRANK_ROCKER, start=START):
        self.turning, self.plane, self.size, self.start, self.lengths = turning, plane, size, start, lengths
        tip, end = (np.real(point[0, 0]) for point in self.pins(np.zeros((1, 1)), turning_angle=0.0))
        foot = np.array([size * lengths["ground"], 0.0])
        places = {"crank": (0 * foot, tip), "coupler": (tip, end), "rocker": (foot, end)}
        self.bodies = {
            name: bar(kind, name, *place, mass, plane)
            for (name, place), mass in zip(places.items(), (1.0, 2.0, 1.5), strict=True)
        }
        crank, coupler, rocker = self.bodies.values()
        hinge = pin(kind, "O", GROUND, crank, (0, 0), plane)
        self.undriven = [
            crank, coupler, rocker, hinge,
            pin(kind, "A", crank, coupler, tip, plane),
            pin(kind, "B", coupler, rocker, end, plane),
            pin(kind, "C", GROUND, rocker, foot, plane),
        ]  # fmt: skip
        items = [*self.undriven, motor(kind, hinge, turning.motion, start)]
        self.system = quirk.System(items, gravity=plane.vector(size * DOWN))

    def angles(self, t, turning_angle=None):
        """Of crank, coupler and rocker (..., 3)."""
        theta = self.start + (self.turning.angle(t) if turning_angle is None else turning_angle + 0 * t)
        return np.stack([theta, *four_bar(theta, **self.lengths)], axis=-1)

    def pins(self, t, turning_angle=None):
        """Tip of the crank and far end of the coupler, (..., 2)."""
        crank, coupler, _ = np.moveaxis(self.angles(t, turning_angle), -1, 0)
        x, y = turned(crank, self.lengths["crank"], 0.0)
        along_x, along_y = turned(coupler, self.lengths["coupler"], 0.0)
        return self.size * np.stack([x, y], -1), self.size * np.stack([x + along_x, y + along_y], -1)

    def coupler_point(self, t):
        x, y = turned(self.angles(t)[..., 1], *(self.size * self.POINT))
        return sum(self.pins(t)) / 2 + np.stack([x, y], axis=-1)

    def check(self, result, note=""):
        """Compare angles and the coupler point with all their derivatives."""
        self.check_space(result, note)
        if isinstance(self.bodies["crank"], PlanarBody):
            wants = np.moveaxis(derivatives(self.angles, result.time), -1, 0)
            check([result[name].in_plane for name in self.BODIES], ANGULAR, wants, note)
            path = result["coupler"].in_plane.path(self.size * self.POINT)
            check([path], LINEAR, [derivatives(self.coupler_point, result.time)], note)

    def check_space(self, result, note=""):
        angles = derivatives(self.angles, result.time)
        about_normal = np.multiply.outer(np.moveaxis(angles, -1, 0), [0, 0, 1.0])
        check([result[name] for name in self.BODIES], ANGULAR[1:], about_normal[:, 1:], note)
        swing = angles[0, :, 2] - angles[0, 0, 2]
        hinge = result["C"].rotation[:, 2]
        agree(hinge - hinge[0], swing, note)
        path = result["coupler"].path([*(self.size * self.POINT), 0.0])
        in_space = derivatives(self.coupler_point, result.time) @ self.plane.axes[:, :2].T
        in_space[0] += self.plane.origin
        check([path], LINEAR, [in_space], note)


KINDS = pytest.mark.parametrize("kind", ["planar", "spatial"])
