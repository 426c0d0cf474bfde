"""Sticking joints whose friction is in proportion to their load, and that share this load with others."""

import warnings

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Motion


def hinge(scale, order, motion):
    """A bar on a hinge at its middle with a brake of 3 N m and a bearing whose friction holds 2.943 N m."""
    bar = Body.bar("bar", [0, 0, 0], [scale, 0, 0], mass=20.0)
    pin = quirk.Revolute("pin", GROUND, bar, point=[0.5 * scale, 0, 0], axis="y")
    brake = quirk.JointFriction("brake", pin, coulomb=3.0 * scale**2, sticking=True)
    bearing = quirk.Friction("bearing", pin, 0.3, radius=0.05 * scale)
    torque = quirk.JointTorque("torque", pin, motion)
    frictions = [brake, bearing] if order else [bearing, brake]
    return quirk.System([bar, pin, *frictions, torque], gravity=[0, 0, -9.81 * scale])


@pytest.mark.parametrize("order", [False, True])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_brake_and_a_bearing_add_up_and_stay_within_their_limits(scale, order):
    result = quirk.simulate(hinge(scale, order, Motion.polynomial([0, scale**2])), 6.5, output=0.5)
    assert result.events.time == pytest.approx([5.943], rel=1e-9)
    efforts = np.array([result["brake"].along(), result["bearing"].torque()[:, 1]]) / scale**2
    assert (np.abs(efforts) <= np.array([[3.0], [2.943]]) * (1 + 1e-9)).all()
    held = result.time < 5.943 * (1 - 1e-9)
    np.testing.assert_allclose(efforts.sum(axis=0)[held], -result.time[held], atol=1e-9)
    early = result.time < 3.0
    np.testing.assert_allclose(efforts[0, early], -result.time[early] * 3.0 / 5.943, atol=1e-9)


def test_a_brake_and_a_bearing_hold_a_torque_that_reverses():
    result = quirk.simulate(hinge(1.0, True, Motion.sinusoid(5.0, 1.0)), 30.0, output=0.5)
    assert len(result.events) == 0
    assert np.abs(result["pin"].angle).max() < 1e-12
    assert np.abs(result["brake"].along()).max() <= 3.0 * (1 + 1e-9)
    assert np.abs(result["bearing"].torque()[:, 1]).max() <= 2.943 * (1 + 1e-9)


def parallelogram(scale):
    """A parallelogram of three bars under gravity: brakes in four hinges, a bearing in the second, a growing torque."""
    points = scale * np.array([[0, 0, 0], [0.3, 0, 1], [2.3, 0, 1], [2, 0, 0]])
    bars = [Body.bar(f"bar {k}", points[k], points[k + 1], mass=1.0 + k) for k in range(3)]
    bodies = [GROUND, *bars, GROUND]
    hinges = [quirk.Revolute(f"hinge {k}", *bodies[k : k + 2], point=p, axis="y") for k, p in enumerate(points)]
    brakes = [
        quirk.JointFriction(f"brake {k}", hinge, coulomb=limit * scale**2, sticking=True)
        for k, (hinge, limit) in enumerate(zip(hinges, (2.0, 4.0, 3.0, 5.0), strict=True))
    ]
    bearing = quirk.Friction("bearing", hinges[1], 0.5, radius=0.2 * scale)
    torque = quirk.JointTorque("torque", hinges[0], Motion.polynomial([0, 1.0 * scale**2]))
    return quirk.System([*bars, *hinges, *brakes, bearing, torque], gravity=[0, 0, -scale])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_limits_that_depend_on_the_shared_load_are_those_of_the_reported_loads(scale):
    """All hinges turn equally far, so each takes the same part of its limit, 0.5 * 0.2 N for the bearing."""
    result = quirk.simulate(parallelogram(scale), 4.0, output=[0.5, 1.0, 2.0, 3.0, 4.0])
    assert len(result.events) == 0
    load = np.linalg.norm(result["hinge 1"].force()[:, [0, 2]], axis=1)
    assert np.ptp(load) > 1e-2 * load.max()
    part = np.abs(result["bearing"].torque()[:, 1]) / (0.5 * 0.2 * scale * load)
    assert part.min() > 0.01
    for k, limit in enumerate((2.0, 4.0, 3.0, 5.0)):
        np.testing.assert_allclose(np.abs(result[f"brake {k}"].along()) / (limit * scale**2), part, rtol=1e-8)


def test_loads_outside_the_limits_of_friction_are_warned_of():
    result = quirk.simulate(parallelogram(1.0), 4.0, output=1.0)
    for friction in result.system.forces:
        if isinstance(friction, quirk.JointFriction):
            object.__setattr__(friction, "static", 0.1 * friction.static)
    with pytest.warns(quirk.ContactLoadWarning, match='"brake 0".*within the limits of friction.*outside'):
        _ = result["brake 0"].along()


UNITS = [(1.0, 1.0), (1e-3, 1e-3), (1e-3, 1e-9), (1e3, 1e3), (1e3, 1e-3)]


def water_level(load, limits):
    """Shares of a load with e_k in proportion to the limits, which only the first, with the largest limit, exceeds."""
    level = load / (limits.max() + limits.sum())
    return np.minimum(level, 1.0) * limits


@pytest.mark.parametrize("limits", [[2.0], [0.5, 1.5], [0.4, 1.1, 0.7]])
@pytest.mark.parametrize("rotates", [True, False])
@pytest.mark.parametrize(("length", "mass"), UNITS)
def test_a_stop_and_brakes_share_a_load_in_any_units(length, mass, rotates, limits):
    """A motor presses a body to its stop, with brakes in the same joint, and pulls it back until the brakes slip."""
    time = np.sqrt(length)
    unit = mass * length * (length if rotates else 1.0) / time**2
    body = Body.box("body", mass, [length, 0.1 * length, 0.1 * length], position=[0.5 * length, 0, 0])
    joint = (quirk.Revolute if rotates else quirk.Prismatic)("joint", GROUND, body, point=[0, 0, 0], axis="z")
    stop = quirk.Stop("stop", joint, upper=0.05 if rotates else 0.05 * length)
    brakes = [
        quirk.JointFriction(f"brake {k}", joint, coulomb=limit * unit, sticking=True) for k, limit in enumerate(limits)
    ]
    drive = quirk.JointTorque if rotates else quirk.JointForce
    motor = drive("motor", joint, Motion.polynomial([4.0 * unit, -4.0 * unit / time]))
    result = quirk.simulate(quirk.System([body, joint, stop, *brakes, motor]), 1.6 * time, output=0.1 * time)
    assert result.events.name == ["stop", "stop", "brake 0"]  # it closes; opens; and the brakes begin to slide
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.ContactLoadWarning)
        pushes = (result["stop"].torque() if rotates else result["stop"].force())[:, 2] / unit
    efforts = np.array([result[brake.name].along() for brake in brakes]).T / unit
    rest, limits = result.active("stop") & result["brake 0"].sticking, np.array(limits)
    assert rest.sum() > 8
    np.testing.assert_allclose(np.abs(result.multipliers["stop"][rest, 0]) / unit, -pushes[rest], atol=1e-9)
    for effort, push, load in zip(efforts[rest], pushes[rest], 4.0 - 4.0 * result.time[rest] / time, strict=True):
        expected = water_level(load, limits) if load > 0 else load * limits / limits.sum()
        np.testing.assert_allclose(-effort, expected, atol=1e-9)
        assert push == pytest.approx(min(expected.sum() - load, 0.0), abs=1e-9)


@pytest.mark.parametrize(("length", "mass"), UNITS)
def test_two_stops_and_brakes_share_a_load_in_any_units(length, mass):
    """A door on two hinges, each with a stop and a brake: the stops share with each other and with the brakes."""
    time = np.sqrt(length)
    unit, limits = mass * length**2 / time**2, np.array([2.0, 2.0, 2.0, 0.5])
    door = Body.box("door", mass, [length, 0.1 * length, length], position=[0.5 * length, 0, 0])
    hinges = [
        quirk.Revolute(f"hinge {k}", GROUND, door, point=[0, 0, z * length], axis="z")
        for k, z in enumerate((-0.4, 0.4))
    ]
    stops = [quirk.Stop(f"stop {k}", hinge, upper=0.03) for k, hinge in enumerate(hinges)]
    brakes = [
        quirk.JointFriction(f"brake {k}", hinge, coulomb=limit * unit, sticking=True)
        for k, (hinge, limit) in enumerate(zip(hinges, limits[2:], strict=True))
    ]
    motor = quirk.JointTorque("motor", hinges[0], Motion.polynomial([5.0 * unit, -5.0 * unit / time]))
    system = quirk.System([door, *hinges, *stops, *brakes, motor], gravity=[0, 0, -length / time**2])
    result = quirk.simulate(system, 1.55 * time, output=0.1 * time)
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.ContactLoadWarning)
        shares = [result[stop.name].torque()[:, 2] for stop in stops] + [result[brake.name].along() for brake in brakes]
    rest = result["brake 0"].sticking
    assert rest.sum() > 8
    assert result.events.name == ["stop 0", "stop 0", "stop 1", "brake 0"]  # they close; open; and the brakes slide
    for share, load in zip(np.array(shares).T[rest] / unit, 5.0 - 5.0 * result.time[rest] / time, strict=True):
        expected = load / limits.sum() * limits if load > 0 else load / 2.5 * np.array([0.0, 0.0, 2.0, 0.5])
        np.testing.assert_allclose(-share, expected, atol=1e-9)
    multipliers = np.array([result.multipliers[stop.name][rest, 0] for stop in stops]).T
    np.testing.assert_allclose(np.abs(multipliers), -np.array(shares).T[rest, :2], atol=1e-9 * unit)


@pytest.mark.parametrize(("length", "mass"), UNITS)
def test_a_box_on_four_feet_and_a_brake_are_pushed_until_all_slip(length, mass):
    """The feet hold 0.2 * 19.62 N and the brake 4 N: no share is beyond its limit until the whole load is."""
    time = np.sqrt(length)
    unit = mass * length / time**2
    box = Body.box("box", 2.0 * mass, [2 * length, 2 * length, 0.2 * length], position=[0, 0, 0.1 * length])
    line = quirk.Prismatic("line", GROUND, box, point=[0, 0, 0.1 * length], axis="x", active=False)
    brake = quirk.JointFriction("brake", line, coulomb=4.0 * unit, sticking=True)
    push = quirk.Force("push", box, [Motion.polynomial([0, 10.0 * unit / time]), 0, 0])
    plane, corners = quirk.surface.plane(), [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    feet = [
        quirk.Contact(f"foot {k}", GROUND, box, on_i=plane, on_j=quirk.surface.point(length * np.array([x, y, -0.1])))
        for k, (x, y) in enumerate(corners)
    ]
    rubs = [quirk.Friction(f"rub {k}", foot, 0.2) for k, foot in enumerate(feet)]
    system = quirk.System([box, line, brake, push, *feet, *rubs], gravity=[0, 0, -9.81 * length / time**2])
    result = quirk.simulate(system, 0.8 * time, output=0.1 * time)
    assert result.events.time / time == pytest.approx([0.4 + 0.3924], rel=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.ContactLoadWarning)
        loads = np.array([result[foot.name].force() for foot in feet]) / unit
    drags, effort = np.array([result[rub.name].force() for rub in rubs]) / unit, result["brake"].along() / unit
    rest = result["brake"].sticking
    np.testing.assert_allclose(drags[:, rest, 0].sum(axis=0) + effort[rest], -10 * result.time[rest] / time, atol=1e-9)
    assert (np.abs(effort[rest]) <= 4.0 * (1 + 1e-9)).all()
    assert (np.linalg.norm(drags, axis=2) <= 0.2 * loads[:, :, 2] * (1 + 1e-9) + 1e-9).all()


def coupled_sliders(axis, hold, order):
    """Two coupled sliders that friction holds, one of them with two of it; and two linked ones that are pulled.

    One of the latter slides on a coupled one. The friction of each is in proportion to the weight that it carries.
    """
    axis = np.array(axis)
    down = np.cross(axis, [0.3, 1.0, 0.2])
    down /= np.linalg.norm(down)
    places = {"one": 0.0, "two": 1.0, "rider": 1.0, "last": 3.0}
    _, two, rider, last = bodies = [Body.box(name, 1.0, [0.1] * 3, position=x * axis) for name, x in places.items()]
    below = dict(zip(bodies, (GROUND, GROUND, two, GROUND), strict=True))
    rails = [quirk.Prismatic(f"rail {body.name}", below[body], body, point=body.position, axis=axis) for body in bodies]
    rubs = [quirk.Friction(f"rub {rail.name}", rail, mu) for rail, mu in zip(rails, (0.15, 0.4, 0.1, 0.1), strict=True)]
    rubs.append(quirk.Friction("rub again", rails[0], 0.15))
    items = [
        quirk.Coupling("rod", rails[0], rails[1], coefficients=[0, -0.7]),
        quirk.Distance("link", rider, last),
        quirk.JointForce("hold", rails[0], hold),
        quirk.JointForce("pull", rails[2], Motion.polynomial([0, 1.0])),
    ]
    return quirk.System([*bodies, *rails, *rubs[::order], *items], gravity=10.0 * down)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("hold", [4.0, 6.0, 7.5])
@pytest.mark.parametrize("axis", [[1, 0, 0], [0.6, -0.48, 0.64]])
def test_friction_that_does_not_affect_other_loads_slides_alone(axis, hold, order):
    """The limits of rider and last, 1 N each, are reached at 2 s; the coupled sliders hold on."""
    result = quirk.simulate(coupled_sliders(axis, hold, order), 2.5, output=0.5)
    np.testing.assert_allclose(result.events.time, [2.0], rtol=1e-9)
    np.testing.assert_allclose(result["one"].velocity, 0.0, atol=1e-12)
    # The force on both beyond their friction is t - 2.
    travel = np.array(axis) @ (result["rider"].position[-1] - result["rider"].position[0])
    assert travel == pytest.approx(0.5**3 / 12, rel=1e-7)
