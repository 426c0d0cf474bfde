"""Vehicles that turn on two driven wheels and two smooth casters, which share forces across and along the axle."""

import numpy as np
import pytest
from scipy.optimize import linprog

import quirk
from quirk import GROUND, Body, Contact, Friction, Motion, surface

G, RADIUS, CASTER = 9.81, 0.1, 0.3
# Number of tangents of a friction cone, which the linear program replaces by a pyramid around it.
SIDES = 2048


def vehicle(mu, ratio, rate, half, meter=1.0):
    """A chassis with wheels whose speeds increase at the rate `rate`, and `ratio` times it."""
    chassis = Body.box("chassis", 5.0, np.array([0.4, 0.3, 0.1]) * meter, position=[0, 0, RADIUS * meter])
    items = [chassis]
    for name, y, speed in (("left", half, 1.0), ("right", -half, ratio)):
        place = [0, y * meter, RADIUS * meter]
        wheel = Body.cylinder(name, 0.3, RADIUS * meter, 0.03 * meter, axis="y", position=place)
        axle = quirk.Revolute(f"{name} axle", chassis, wheel, point=place, axis="y")
        drive = quirk.Drive(f"{name} drive", axle, Motion.polynomial([0, 0, 0.5 * rate * speed]))
        on = {"on_i": surface.plane(), "on_j": surface.rim(RADIUS * meter, axis="y")}
        tire = Contact(f"{name} tire", GROUND, wheel, **on)
        items += [wheel, axle, drive, tire, Friction(f"{name} grip", tire, mu)]
    for name, x in (("front", CASTER), ("rear", -CASTER)):
        ball = surface.sphere(0.05 * meter, center=[x * meter, 0, -0.05 * meter])
        items.append(Contact(name, GROUND, chassis, on_i=surface.plane(), on_j=ball))
    return quirk.System(items, gravity=[0, 0, -G * meter])


def margin(result, k, mu, meter):
    """The largest margin to the friction cones, N, over all distributions of the loads at output k."""
    center = result["chassis"].position[k]
    places = [result[name].position[k] - [0, 0, RADIUS * meter] for name in ("left", "right")]
    across = places[0] - places[1]
    ahead = np.array([across[1], -across[0], 0]) / np.linalg.norm(across)
    places += [center + side * CASTER * meter * ahead - [0, 0, RADIUS * meter] for side in (1, -1)]
    forces = [result[f"{name} tire"].force()[k] + result[f"{name} grip"].force()[k] for name in ("left", "right")]
    forces += [result[name].force()[k] for name in ("front", "rear")]
    arms = [(place - center) / meter for place in places]
    total = sum(np.concatenate([f, np.cross(arm, f)]) for f, arm in zip(forces, arms, strict=True))
    ways = [(arm, axis) for arm in arms[:2] for axis in np.eye(3)] + [(arm, np.eye(3)[2]) for arm in arms[2:]]
    A = np.column_stack([*(np.concatenate([axis, np.cross(arm, axis)]) for arm, axis in ways), np.zeros(6)])
    turns = np.linspace(0, 2 * np.pi, SIDES, endpoint=False)
    cones = np.zeros((2 * SIDES + 2, 9))
    for n in range(2):
        rows = slice(n * SIDES, (n + 1) * SIDES)
        cones[rows, 3 * n : 3 * n + 3] = np.column_stack([np.cos(turns), np.sin(turns), np.full(SIDES, -mu)])
        cones[rows, 8] = mu
    cones[-2, 6] = cones[-1, 7] = -1
    found = linprog(np.append(np.zeros(8), -1.0), cones, np.zeros(len(cones)), A, total, [(None, None)] * 9)
    return -found.fun


@pytest.mark.parametrize("meter", [1.0, 1e-3])
@pytest.mark.parametrize(
    ("mu", "ratio", "rate", "half"),
    [
        (0.6, 2.0, 4.0, 0.25),
        (0.3, 1.9, 4.7, 0.2),
        (0.6, 0.3, 5.2, 0.3),
        (0.22, -0.5, 5.69, 0.29),
        (0.68, 1.6, 5.82, 0.22),
    ],
)
def test_wheels_hold_in_a_curve_as_long_as_any_loads_do(mu, ratio, rate, half, meter):
    """The axle turns, and with it the direction in which the wheels share forces."""
    result = quirk.simulate(vehicle(mu, ratio, rate, half, meter), 6.0, output=0.1)
    slips = result.events[0]
    assert slips.name == "left grip"
    at = int(np.searchsorted(result.time, slips.time))
    weight = 5.6 * G * meter
    assert abs(margin(result, at, mu, meter)) < 1e-4 * weight
    assert margin(result, at - 2, mu, meter) > 1e-3 * weight


def test_wheels_that_turn_full_circle_do_not_slip():
    """Any of the rows that hold the wheels becomes the dependent one as the axle turns."""
    ratio, rate, half = -0.5, 0.7, 0.2
    result = quirk.simulate(vehicle(5.0, ratio, rate, half), 8.0, output=0.1, rtol=1e-10)
    assert len(result.events) == 0
    q = result["chassis"].orientation
    heading = np.unwrap(2 * np.arctan2(q[:, 3], q[:, 0]))
    assert np.ptp(heading) > 2 * np.pi
    driven = RADIUS * 0.5 * rate * result.time**2 * (ratio - 1) / (2 * half)
    np.testing.assert_allclose(heading, driven, atol=1e-8)
