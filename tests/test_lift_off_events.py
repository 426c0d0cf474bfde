"""Contacts that lift off at one instant: one event "rising" each, and none of friction that does not begin to slide."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Motion

G = 9.81
# Events are located to round-off of the loads, and times of events at one instant agree to this accuracy, s.
SAME = 1e-7
pytestmark = pytest.mark.filterwarnings("error::quirk.ContactLoadWarning")


def feet_of(body, points):
    """Return contacts c0, c1, ... of points of a body, in its coordinates (m), with the plane z = 0."""
    plane = quirk.surface.plane()
    return [
        quirk.Contact(f"c{k}", GROUND, body, on_i=plane, on_j=quirk.surface.point(point))
        for k, point in enumerate(points)
    ]


def corners(length, width, height):
    """Return the lower corners (4, 3) of a box; the first two have the smallest x."""
    return np.array([[x, y, -1] for x in (-1, 1) for y in (-1, 1)]) * [length / 2, width / 2, height / 2]


def simulated(items, end, output=0.1):
    return quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), end, output=output)


def listed(events):
    return [(event.name, event.direction) for event in events]


def lid(order):
    """Return the items of a lid on a hinge, lifted by a growing force, with two smooth feet in the given order.

    The moments m g and 10 t about the hinge have the same lever arm, so that both feet lift off at t = m g / 10.
    """
    plate = Body.box("plate", 1.0, [0.6, 0.6, 0.1], position=[0, 0, 0.05])
    hinge = quirk.Revolute("hinge", GROUND, plate, point=[0.3, 0, 0.05], axis="y")
    feet = feet_of(plate, [[-0.3, -0.3, -0.05], [-0.3, 0.3, -0.05]])
    return [plate, hinge, *(feet[k] for k in order), quirk.Force("lift", plate, [0, 0, Motion.polynomial([0, 10.0])])]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_both_feet_of_a_lid_lift_off(order):
    result = simulated(lid(order), 1.2, 0.2)
    assert listed(result.events) == [(f"c{k}", 1) for k in order]
    np.testing.assert_allclose(result.events.time, G / 10, atol=SAME)
    forces = [result[f"c{k}"].force()[:, 2] for k in range(2)]
    expected = np.maximum(0.0, (G - 10 * result.time) / 4)
    np.testing.assert_allclose(forces, [expected, expected], atol=1e-8)


def test_a_run_under_control_lists_both_feet():
    run = quirk.Run(quirk.System(lid((0, 1)), gravity=[0, 0, -G]))
    assert run.advance(0.97) == "time"
    assert not run.events
    run.advance(0.03)
    assert listed(run.events) == [("c0", 1), ("c1", 1)]


@pytest.mark.parametrize("order", ["as made", "reversed", "friction first"])
@pytest.mark.parametrize("rate", study([3.0, 5.0, 7.0, 12.0], 2))
def test_a_box_that_a_force_tips(rate, order):
    length, height, mass = 0.3, 0.8, 2.0
    box = Body.box("box", mass, [length, 0.5, height], position=[0, 0, height / 2])
    feet = feet_of(box, corners(length, 0.5, height))
    rubs = [quirk.Friction(f"f{k}", foot, 1.0) for k, foot in enumerate(feet)]
    items = {"as made": [*feet, *rubs], "reversed": [*rubs, *feet][::-1], "friction first": [*rubs, *feet]}[order]
    tips = mass * G * length / height / rate  # where the force at half the height balances the weight about the edge
    push = quirk.Force("push", box, [Motion.polynomial([0, rate]), 0, 0])
    result = simulated([box, *items, push], tips + 0.05)
    assert sorted(listed(result.events)) == [("c0", 1), ("c1", 1)]
    np.testing.assert_allclose(result.events.time, tips, atol=SAME)
    assert len(result.events.of("c1")) == 1


def test_a_box_that_slides_and_then_tips():
    """With mu = 0.2 it slides from 0.2 m g on; the moment of a force in 0.6 m tips it later."""
    box = Body.box("box", 2.0, [0.3, 0.5, 0.8], position=[0, 0, 0.4])
    feet = feet_of(box, corners(0.3, 0.5, 0.8))
    rubs = [quirk.Friction(f"f{k}", foot, 0.2) for k, foot in enumerate(feet)]
    push = quirk.Force("push", box, [Motion.polynomial([0, 10.0]), 0, 0], point=[0, 0, 0.2])
    result = simulated([box, *feet, *rubs, push], 0.75)
    assert listed(result.events) == [("f0", 1), ("c0", 1), ("c1", 1)]
    # About the center of mass: the force times 0.2 m, and friction mu m g times 0.4 m, against m g times 0.15 m.
    tips = 2.0 * G * (0.15 - 0.2 * 0.4) / (10.0 * 0.2)
    np.testing.assert_allclose(result.events.time, [0.2 * 2.0 * G / 10, tips, tips], atol=SAME)


def beam(moment, friction):
    """Return the items of a beam, 1 kg, on feet at x = -1, 0 and 1 m, with a moment about y that moves its load."""
    body = Body.box("beam", 1.0, [2.0, 0.1, 0.1], position=[0, 0, 0.05])
    guide = quirk.Generic("guide", GROUND, body, point=[0, 0, 0], axis=[0, 0, 1], constrained=[0, 1, 0, 1, 0, 1])
    feet = feet_of(body, [[x, 0, -0.05] for x in (-1.0, 0.0, 1.0)])
    rubs = [quirk.Friction(f"f{k}", foot, 1.0) for k, foot in enumerate(feet)] if friction else []
    return [body, guide, *feet, *rubs, quirk.Torque("load", body, [0, moment, 0])]


@pytest.mark.parametrize("friction", [False, True])
def test_load_that_moves_between_three_feet_opens_none(friction):
    assert not listed(simulated(beam(Motion.sinusoid(8.0, 3.0), friction), 2.5).events)


@pytest.mark.parametrize("friction", [False, True])
@pytest.mark.parametrize(("sign", "opens"), [(1, ["c0", "c1"]), (-1, ["c1", "c2"])])
def test_two_of_three_feet_in_a_row_lift_off(sign, opens, friction):
    """The beam turns about its last foot where the moment is m g times 1 m."""
    events = simulated(beam(Motion.polynomial([0, sign * 5.0]), friction), 2.0).events
    assert listed(events) == [(name, 1) for name in opens]
    np.testing.assert_allclose(events.time, G / 5, atol=SAME)


def stool(seed):
    """Return a body on 3 to 6 feet that a growing load lifts or tips, its feet (n, 3), its size, m, and a time scale, s.

    Sizes and masses differ by powers of ten, feet are mirrored and declared in random order. A lid on a hinge is
    lifted; a smooth body is lifted in a vertical guide, beside its center; a rough one is tipped by a push.
    """
    rng = np.random.default_rng(seed)
    size, mass, kind = 10.0 ** rng.integers(-2, 3), 10.0 ** rng.integers(-2, 3), seed % 3
    angles = 2 * np.pi * np.arange(count := rng.integers(3, 7)) / count + rng.choice([0.0, rng.uniform(0, 6)])
    half, mirror, centre = rng.uniform(0.2, 0.4) * size, rng.choice([-1, 1]), rng.random() < 0.3
    points = [[0.5 * mirror * np.cos(a) * size, 0.5 * np.sin(a) * size, -half] for a in angles]
    points += [[0.0, 0.0, -half]] if centre else []
    body = Body.box("stool", mass, [0.8 * size, 0.8 * size, 2 * half], position=[0, 0, half])
    feet, duration = feet_of(body, points), np.sqrt(size / G) * rng.uniform(0.5, 5.0)
    ramp, parts, rubs = Motion.polynomial([0, mass * G / duration]), [body], []
    if kind == 0:
        parts.append(quirk.Revolute("hinge", GROUND, body, point=[0.8 * size, 0, half], axis="y"))
        parts.append(quirk.Force("lift", body, [0, 0, ramp], point=[-0.2 * size, 0, 0]))
    elif kind == 1:
        constrained = [1, 1, 0, 0, 0, 1]
        parts.append(quirk.Generic("guide", GROUND, body, point=[0, 0, 0], axis=[0, 0, 1], constrained=constrained))
        parts.append(quirk.Force("lift", body, [0, 0, ramp], point=[*rng.choice([0.0, 0.15], 2) * size, 0]))
    else:
        rubs = [quirk.Friction(f"f{k}", foot, 3.0) for k, foot in enumerate(feet)]
        push = [ramp, 0, 0] if rng.random() < 0.5 else [0, ramp, 0]
        parts.append(quirk.Force("push", body, push, point=[0, 0, half]))
    order = rng.permutation(len(feet))
    return [*parts, *(feet[k] for k in order), *(rubs[k] for k in order if rubs)], np.array(points), size, duration


@pytest.mark.parametrize("seed", study(range(30), 6))
def test_the_contacts_with_events_are_those_whose_gaps_open(seed):
    items, points, size, duration = stool(seed)
    result = simulated(items, 1.3 * duration, duration / 20)
    start = result.events[0].time
    first = [event for event in result.events if event.time < start + 1e-6 * duration]
    later = [event.time for event in result.events[len(first) :]]
    end = min([*later, result.time[-1], start + 0.02 * duration])
    after = result.at(np.linspace(start, end, 20))["stool"]
    opens = {f"c{k}" for k, point in enumerate(points) if after.point(point)[-2, 2] > 1e-9 * size}
    assert opens
    assert listed(first) == [(name, 1) for name, _ in listed(first)]
    assert sorted(name for name, _ in listed(first)) == sorted(opens)


@pytest.mark.parametrize(("turn", "rate"), study([(0.1, 1.0), (0.1, 10.0), (0.3, 10.0)], {(0.1, 10.0)}))
def test_a_body_lifted_beside_its_center_tips_about_an_edge_and_slips_on_it(turn, rate):
    """One of the two feet of the edge slips across it, while it carries less and less, and then lifts off."""
    angles, height, at = np.arange(6) * np.pi / 3 + turn, 0.44, np.array([0.05, 0.15])
    results = []
    for sign in (1, -1):
        feet = np.vstack([np.stack([sign * np.cos(angles), np.sin(angles)], axis=1) / 2, [[0, 0]]])
        body = Body.box("body", 1.0, [0.8, 0.8, 2 * height], position=[0, 0, height])
        contacts = feet_of(body, np.insert(feet, 2, -height, axis=1))
        lift = quirk.Force("lift", body, [0, 0, Motion.polynomial([0, rate])], point=[sign * at[0], at[1], 0])
        frictions = [quirk.Friction(f"f{k}", contact, 2.0) for k, contact in enumerate(contacts)]
        results.append(simulated([body, lift, *contacts, *frictions], 1.02 * G / rate, 0.1 / rate))
    first, mirrored = results
    # Moments about an edge, whose normal points to the center.
    across = -np.stack([np.cos(angles + np.pi / 6), np.sin(angles + np.pi / 6)], axis=1) @ at
    distance = np.sqrt(3) / 4
    edge = int(np.argmax(across))
    tips = G * distance / (distance + across[edge]) / rate
    opened = {f"c{k}" for k in range(7)} - {f"c{edge}", f"c{(edge + 1) % 6}"}
    assert {event.name for event in first.events if event.time < (1 + 1e-6) * tips} == opened
    np.testing.assert_allclose(first.events.time[: len(opened)], tips, rtol=1e-8)
    assert len(first.events) < 12, first.events
    assert first.events.name == mirrored.events.name
    assert np.abs(first.power.balance).max() < 1e-8 * first.energy.kinetic.max()
    positions = [result["body"].position[-1] for result in results]
    np.testing.assert_allclose(positions[0], positions[1] * np.array([-1, 1, 1]), atol=1e-8)
