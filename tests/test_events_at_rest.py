"""Round-off of quantities that are held at rest triggers no events, and slow or tiny true crossings do."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Event

NORMAL = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
ACROSS = np.cross(NORMAL, [0.2, 0.9, 0.1]) / np.linalg.norm(np.cross(NORMAL, [0.2, 0.9, 0.1]))
RECORD_OR_ACT = pytest.mark.parametrize("action", ["record", lambda t, state: None], ids=["record", "action"])
SIZES = pytest.mark.parametrize("size", study([1e-3, 1.0, 1e3], 1))


def box(size, **options):
    return Body.box("b", 1.3 * size**3, [0.3 * size, 0.2 * size, 0.1 * size], **options)


def held_slider(size):
    """A box on an inclined guide, which friction holds against a force."""
    body = box(size, position=[0.3 * size, 0.7 * size, -0.2 * size])
    guide = quirk.Prismatic("j", GROUND, body, axis=ACROSS)
    force = quirk.JointForce("m", guide, 0.5 * size**3)
    return [body, guide, quirk.Friction("f", guide, 2.0), force], -9.81 * NORMAL


def held_hinge(size):
    """A rod on a hinge, which friction holds against its weight."""
    body = box(size, position=[0.3 * size, 0.7 * size, -0.2 * size])
    hinge = quirk.Revolute("j", GROUND, body, point=[0.25 * size, 0.7 * size, -0.2 * size], axis=ACROSS)
    return [body, hinge, quirk.Friction("f", hinge, 2.0, radius=0.1 * size)], -9.81 * NORMAL


def resting_box(size):
    """A box at rest on a rough inclined plane, which friction holds against its weight and a force."""
    body = box(size, position=[0, 0, 0.05 * size])
    contacts = [
        quirk.Contact(
            f"c{x}{y}",
            GROUND,
            body,
            on_i=quirk.surface.plane(),
            on_j=quirk.surface.point([0.15 * x * size, 0.1 * y * size, -0.05 * size]),
        )
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    push = quirk.Force("push", body, [0.5 * size**3, 1.0 * size**3, 0])
    rubs = [quirk.Friction(f"rub {contact.name}", contact, 0.6) for contact in contacts]
    return [body, *contacts, *rubs, push], [1.0, 0.5, -9.7]


SCENES = {
    held_slider: ["j.travel_rate", "j.travel", "b.velocity.x", "b.velocity.z", "b.angular_velocity.y", "b.spin.x"],
    held_hinge: ["j.angle_rate", "b.velocity.x", "b.angular_velocity.y"],
    resting_box: ["b.velocity.x", "b.velocity.z", "b.position.y", "b.spin.z", "c11.gap"],
}
CASES = [(scene, quantity) for scene, quantities in SCENES.items() for quantity in quantities]


@SIZES
@RECORD_OR_ACT
@pytest.mark.parametrize(("scene", "quantity"), CASES)
def test_rest_triggers_no_event(scene, quantity, action, size):
    parts, gravity = scene(size)
    result = quirk.simulate(
        quirk.System([*parts, Event("e", quantity, action=action)], gravity=gravity), 5.0, output=0.5
    )
    print(scene.__name__, quantity, size, [(event.time, event.direction) for event in result.events])
    assert [event for event in result.events if event.name == "e"] == []


@pytest.mark.parametrize("amplitude", [1e-9, 1e-6, 1e-3])
@RECORD_OR_ACT
def test_turning_points_of_a_tiny_swing(amplitude, action):
    """The rate of a pendulum that is released at a tiny angle is zero after each half period."""
    rod = Body("rod", 1.0, [0.1, 0.1, 0.1], position=[np.sin(amplitude), 0, -np.cos(amplitude)])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    turn, middle = Event("turn", "hinge.angle_rate", action=action), Event("middle", "rod.position.x", action=action)
    result = quirk.simulate(
        quirk.System([rod, hinge, turn, middle], gravity=[0, 0, -9.81]), 5.0, output=0.5, atol=1e-6 * amplitude
    )
    half = np.pi * np.sqrt(1.1 / 9.81) * (1 + amplitude**2 / 16)
    turns = [event.time for event in result.events if event.name == "turn"]
    middles = [event.time for event in result.events if event.name == "middle"]
    print(amplitude, turns, middles)
    np.testing.assert_allclose(turns, half * np.arange(1, 5), rtol=0, atol=1e-5)
    np.testing.assert_allclose(middles, half * (np.arange(5) + 0.5)[: len(middles)], rtol=0, atol=1e-5)
    assert len(middles) == int(5.0 / half + 0.5)


@SIZES
@pytest.mark.parametrize("speed", [1e-6, 1e-9])
@RECORD_OR_ACT
def test_slow_motion_crosses_once(speed, size, action):
    """A body that is thrown up slowly in weak gravity turns around after one second, and passes its start after two."""
    body = box(size, velocity=[0, 0, speed * size])
    turn = Event("turn", "b.velocity.z", action=action)
    low = Event("low", "b.position.z", level=-1.5 * speed * size, direction=-1, action=action)
    result = quirk.simulate(quirk.System([body, turn, low], gravity=[0, 0, -speed * size]), 5.0, output=0.5)
    times = {event.name: event.time for event in result.events}
    print(speed, size, times)
    assert len(result.events) == 2
    assert times["turn"] == pytest.approx(1.0, abs=1e-6)
    assert times["low"] == pytest.approx(3.0, abs=1e-6)
