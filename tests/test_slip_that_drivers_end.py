"""Slip that a driver ends: smoothly, so that it does not pass zero, with a jump of the acceleration, or by reversal."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Motion

DOWN = [0, 0, -9.81]
FELL, ROSE = -1, 1


def rest(T, L):
    return Motion.rest_to_rest([0.0, T], [0.0, L])


def cycloid(T, L):
    """A user function from rest to rest; a run does not know when it ends."""
    w = 2 * np.pi / T
    return Motion.function(
        lambda t: L * (min(t, T) / T - np.sin(w * min(t, T)) / (w * T)),
        lambda t: L / T * (1 - np.cos(w * min(t, T))),
        lambda t: L / T * w * np.sin(w * min(t, T)),
    )


def slider(motion, mu, speed=0.0):
    body = Body.box("body", 2.0, [1, 0.1, 0.1], velocity=[speed, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, body, axis="x")
    return [body, rail, quirk.Friction("rub", rail, mu), quirk.Drive("drive", rail, motion)]


def hinge(motion, mu):
    body = Body.box("body", 2.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    pivot = quirk.Revolute("pivot", GROUND, body, point=[0, 0, 0], axis="y")
    brake = quirk.JointFriction("rub", pivot, coulomb=mu, static=1.3 * mu, sticking=True)
    return [body, pivot, brake, quirk.Drive("drive", pivot, motion)]


def on_moving_plane(joint, plate, x, motion, mu):
    """A ball that is held on a plate, which the motion of a joint drives."""
    ball = Body.sphere("body", 1.0, 0.1, position=[x, 0, 0.1])
    plane, sphere = quirk.surface.plane([0, 0, 0.05]), quirk.surface.sphere(0.1)
    floor = quirk.Contact("floor", plate, ball, on_i=plane, on_j=sphere)
    hold = quirk.Generic("hold", GROUND, ball, constrained=[1, 1, 0, 1, 1, 1])
    drive = quirk.Drive("drive", joint, motion)
    return [plate, joint, ball, floor, hold, quirk.Friction("rub", floor, mu), drive]


def belt(motion, mu):
    plate = Body.box("plate", 5.0, [3, 1, 0.1], position=[0, 0, -0.05])
    return on_moving_plane(quirk.Prismatic("joint", GROUND, plate, axis="x"), plate, 0.0, motion, mu)


def turntable(motion, mu):
    plate = Body.cylinder("plate", 5.0, 1.0, 0.1, position=[0, 0, -0.05])
    joint = quirk.Revolute("joint", GROUND, plate, axis="z", point=[0, 0, 0])
    return on_moving_plane(joint, plate, 0.6, motion, mu)


@pytest.mark.parametrize("motion", [rest, cycloid])
@pytest.mark.parametrize("machine", [slider, hinge, belt, turntable])
@pytest.mark.parametrize("seed", study(range(8), 2))
def test_slip_that_ends_smoothly_ends_once(machine, motion, seed):
    rng = np.random.default_rng(seed)
    T, L, mu = rng.uniform(0.3, 2.0), rng.uniform(0.2, 2.0), rng.uniform(0.1, 0.6)
    result = quirk.simulate(quirk.System(machine(motion(T, L), mu), gravity=DOWN), T + 0.4)
    assert [(event.name, event.direction) for event in result.events] == [("rub", ROSE), ("rub", FELL)]
    assert result.events[1].time == pytest.approx(T, abs=1e-5)
    assert result["rub"].sticking[-1]
    assert np.abs(result["body"].acceleration[-1]).max() < 1e-9


@pytest.mark.parametrize("seed", study(range(12), 4))
def test_feet_of_a_body_that_a_driver_pushes_and_stops(seed):
    """Friction holds along the drive or across it, and the body is free across the drive until then."""
    rng = np.random.default_rng(seed)
    T, L, mu, angle = rng.uniform(0.3, 2.0), rng.uniform(0.2, 2.0), rng.uniform(0.1, 0.6), rng.uniform(0, 2 * np.pi)
    along, place = np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([*rng.uniform(-3, 3, 2), 0.1])
    body = Body.box("body", 10 ** rng.uniform(-1, 2), [0.4, 0.3, 0.2], position=place)
    parts = [body, quirk.Generic("guide", GROUND, body, constrained=[0, 0, 0, 0, 0, 1])]
    for k, foot in enumerate(
        [[0.2, 0.15, -0.1], [-0.2, 0.15, -0.1], [0, -0.15, -0.1], [0.2, -0.15, -0.1]][: 3 + seed % 2]
    ):
        floor = quirk.Contact(f"foot {k}", GROUND, body, on_i=quirk.surface.plane(), on_j=quirk.surface.point(foot))
        parts += [floor, quirk.Friction(f"rub {k}", floor, mu)]
    motion = Motion.rest_to_rest([0.0, T], [5.0, 5.0 + L])
    parts.append(
        quirk.DistanceDrive("drive", GROUND, body, point_i=place - 5.0 * along, point_j=[0, 0, 0], motion=motion)
    )
    result = quirk.simulate(quirk.System(parts, gravity=DOWN), T + 0.4)
    assert [event.direction for event in result.events] == [ROSE, FELL]
    assert result.events[1].time == pytest.approx(T, abs=1e-5)
    names = [f"rub {k}" for k in range(3 + seed % 2)]
    assert all(result[name].sticking[-1] for name in names)
    held = result["drive"].force()[-1] + sum(result[name].force()[-1] for name in names)
    assert np.abs(held[:2]).max() < 1e-9 * 9.81 * body.mass


@pytest.mark.parametrize("seed", study(range(8), 2))
def test_slip_that_stops_with_a_jump_of_acceleration(seed):
    rng = np.random.default_rng(seed)
    T, v, mu = rng.uniform(0.3, 2.0), rng.uniform(0.2, 2.0), rng.uniform(0.1, 0.6)
    stops = Motion.function(
        lambda t: v * (min(t, T) - 0.5 * min(t, T) ** 2 / T),
        lambda t: v * (1 - min(t, T) / T),
        lambda t: -v / T if t < T else 0.0,
    )
    (event,) = quirk.simulate(quirk.System(slider(stops, mu, v), gravity=DOWN), T + 0.4).events
    assert (event.direction, event.time) == (FELL, pytest.approx(T, abs=1e-8))


@pytest.mark.parametrize("seed", study(range(12), 4))
def test_slip_that_a_driver_reverses_slides_back_at_once(seed):
    rng = np.random.default_rng(seed)
    amplitude, w, mu = 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-1, 1.5), rng.uniform(0.1, 0.6)
    system = quirk.System(slider(Motion.sinusoid(amplitude, w), mu, amplitude * w), gravity=DOWN)
    events = quirk.simulate(system, 4.4 * np.pi / w).events
    assert [event.direction for event in events] == [ROSE] * 4
    assert events.time * w / np.pi == pytest.approx(np.arange(4) + 0.5, abs=1e-8)


@pytest.mark.parametrize("seed", study(range(6), 2))
def test_an_instant_of_rest_is_listed(seed):
    """The driver comes to rest for an instant, and goes on in the same direction or back."""
    rng = np.random.default_rng(seed)
    T, L, mu = rng.uniform(0.3, 2.0), rng.uniform(0.2, 2.0), rng.uniform(0.1, 0.6)
    motion = Motion.rest_to_rest([0.0, T, 2.5 * T], [0.0, L, (2.0, -0.5)[seed % 2] * L])
    events = quirk.simulate(quirk.System(slider(motion, mu), gravity=DOWN), 2.5 * T + 0.2).events
    assert [event.direction for event in events] == [ROSE, FELL, ROSE, FELL]
    assert events.time[1:] == pytest.approx([T, T, 2.5 * T], abs=1e-3)


@pytest.mark.parametrize("kind", ["joint friction", "friction"])
def test_friction_notices_moves_from_rest_to_rest_that_one_step_covers(kind):
    times, places = [0.2, 0.6, 0.7, 1.0, 1.1, 1.4], [0, 0.2, 0.2, 0.5, 0.5, 0.7]
    car = quirk.Body.box("car", 5.0, [1, 1, 0.2])
    rail = quirk.Prismatic("rail", quirk.GROUND, car, axis="x")
    drive = quirk.Drive("drive", rail, quirk.Motion.rest_to_rest(times, places))
    weight = 5.0 * 9.81
    limit = 5.0 if kind == "joint friction" else 0.1 * weight
    rub = (
        quirk.JointFriction("rub", rail, coulomb=limit, sticking=True)
        if kind == "joint friction"
        else quirk.Friction("rub", rail, 0.1)
    )
    system = quirk.System([car, rail, drive, rub], gravity=[0, 0, -9.81])
    system.assemble()
    result = quirk.simulate(system, 2.3, output=0.05)
    assert [event.direction for event in result.events] == [1, -1] * 3
    assert not (result["rub"].sticking & (np.abs(result["rail"].travel_rate) > 1e-2)).any()
    assert result.power.work["rub"][-1] == pytest.approx(-0.7 * limit, rel=1e-9)


@pytest.mark.parametrize("slack", [0.0, 0.03])
def test_friction_slides_again_after_a_rope_has_pulled_a_body_off_its_stop(slack):
    car = quirk.Body.box("car", 5.0, [1, 1, 0.2])
    hook = quirk.Body.sphere("hook", 1.0, 0.05, position=[0, 0, 3.0])
    items = [
        car,
        hook,
        quirk.Prismatic("guide of the hook", quirk.GROUND, hook, point=[0, 0, 3.0], axis="z"),
        guide := quirk.Prismatic("guide", quirk.GROUND, car, axis="z"),
    ]
    lifts = quirk.Motion.rest_to_rest([0.2, 0.9, 1.2, 2.0], [0, 0.8, 0.9, 0])
    items += [
        quirk.Drive("drive", items[2], lifts),
        quirk.Rope("rope", hook, car, length=3.0 + slack),
        quirk.Stop("stop", guide, lower=0.0),
        quirk.JointFriction("rub", guide, coulomb=12.8, sticking=True),
    ]
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -9.81]), 2.5, output=0.05)
    assert not (result["rub"].sticking & (np.abs(result["guide"].travel_rate) > 1e-2)).any()
    # The car goes up and down.
    assert result.power.work["rub"][-1] == pytest.approx(-12.8 * 2 * (0.9 - slack), rel=1e-6)
