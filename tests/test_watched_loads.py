"""Loads by name, in events and observations: of sticking friction, of feet that share a load, and of redundant joints."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Motion

DOWN = [0, 0, -9.81]


def block_on_rail():
    """A block of 1 kg that friction in its rail holds up to 2.943 N, pushed by 2 N/s."""
    block = Body.box("block", 1.0, [0.1, 0.1, 0.1])
    rail = quirk.Prismatic("rail", GROUND, block, axis="x")
    push = quirk.Force("push", block, [Motion.polynomial([0, 2.0]), 0, 0])
    return [block, rail, push, quirk.Friction("rub", rail, 0.3)], "rub.force", 2.0


def arm_with_brake():
    """An arm that a brake holds up to 3 N m, driven by 1 N m/s."""
    arm = Body.box("arm", 1.0, [0.3, 0.1, 0.1], position=[0.2, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, arm, point=[0, 0, 0], axis="z")
    brake = quirk.JointFriction("brake", hinge, coulomb=3.0, sticking=True)
    return [arm, hinge, brake, quirk.JointTorque("motor", hinge, Motion.polynomial([0, 1.0]))], "brake.torque", 1.0


def ball_on_floor():
    """A ball of 5 kg that rolls as friction with 2/7 of the force that pushes at its center, 10 N/s."""
    ball = Body.sphere("ball", 5.0, 0.1, position=[0, 0, 0.1])
    floor = quirk.Contact("floor", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    push = quirk.Force("push", ball, [Motion.polynomial([0, 10.0]), 0, 0])
    return [ball, floor, push, quirk.Friction("grip", floor, 0.3)], "grip.force", 20 / 7


@pytest.mark.parametrize("scene", [block_on_rail, arm_with_brake, ball_on_floor])
def test_friction_has_its_load_while_it_sticks(scene):
    items, quantity, rate = scene()
    event = quirk.Event("half", quantity, level=0.5, direction=1)
    system = quirk.System([*items, event], gravity=DOWN)
    result = quirk.simulate(system, 0.9, output=0.1)
    np.testing.assert_allclose(result.events.of("half").time, [0.5 / rate], rtol=1e-9)
    part, kind = quantity.split(".")
    run = quirk.Run(system)
    observe = run.observe([quantity, f"{quantity}.x", f"{quantity}.z"])
    for t in (0.1, 0.75):
        while run.time < t:  # the event stops it once
            run.advance_to(t)
        load = getattr(run[part], kind)()
        np.testing.assert_allclose(observe(), [rate * t, load[0], load[2]], atol=1e-9)


def test_torques_of_friction_are_about_the_center_of_mass_while_it_sticks_and_slides():
    """A lever on a foot 0.4 m beside its center of mass, which a hinge carries, and a force that pushes along the floor."""
    lever = Body.box("lever", 2.0, [1.0, 0.1, 0.1], position=[0, 0, 0.05])
    hinge = quirk.Planar("hinge", GROUND, lever, point=[-0.5, 0, 0.05], normal="y")
    foot = quirk.Contact("foot", GROUND, lever, on_i=quirk.surface.plane(), on_j=quirk.surface.point([0.4, 0, -0.05]))
    post = quirk.PointOnPlane("post", GROUND, lever, point=[-0.4, 0, 0.05], axis="z")
    push = quirk.Force("push", lever, [Motion.polynomial([0, 2.0]), 0, 0])
    run = quirk.Run(quirk.System([lever, hinge, foot, post, push, quirk.Friction("sole", foot, 0.3)], gravity=DOWN))
    observe = run.observe(["sole.force.x", "sole.torque.y", "sole.torque"])
    seen = []
    for t in (0.5, 2.0):
        run.advance_to(t)
        force, torque, size = observe()
        assert torque == pytest.approx(-0.05 * force, rel=1e-9) and size == pytest.approx(abs(torque), rel=1e-9)
        seen.append(bool(run["sole"].sticking))
    assert seen == [True, False]


def box_on_feet(order=1):
    box = Body.box("box", 1.0, [1, 1, 0.2], position=[0, 0, 0.1])
    items = [quirk.Force("push", box, [Motion.polynomial([0, 2.0]), 0, 0])]
    for k, (x, y) in enumerate([(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)]):
        under = quirk.surface.point([x, y, -0.1])
        items.append(foot := quirk.Contact(f"foot {k}", GROUND, box, on_i=quirk.surface.plane(), on_j=under))
        items.append(quirk.Friction(f"sole {k}", foot, 0.3))
    return [box, *items[::order]]


@pytest.mark.parametrize("order", [1, -1])
def test_observed_loads_of_feet_are_those_of_results(order):
    run = quirk.Run(quirk.System(box_on_feet(order), gravity=DOWN))
    names = [f"{part} {k}.force" for part in ("foot", "sole") for k in range(4)]
    observe = run.observe(names)
    run.advance_to(0.5)
    # The push of 1 N acts 0.1 m above the floor: 0.05 N from the rear feet to the front feet.
    weight = 9.81 / 4 + np.array([-0.05, -0.05, 0.05, 0.05])
    np.testing.assert_allclose(observe()[:4], weight, atol=1e-9)
    np.testing.assert_allclose(observe()[4:], 0.25, atol=1e-9)
    run.advance_to(2.0)  # it slides
    np.testing.assert_allclose(observe()[4:], 0.3 * observe()[:4], rtol=1e-9)
    with pytest.raises(quirk.InputError, match=r'"light": Friction "sole 1" shares its load'):
        quirk.simulate(
            quirk.System([*box_on_feet(order), quirk.Event("light", "sole 1.force", level=0.2)], gravity=DOWN), 1.0
        )


@pytest.mark.parametrize("load", [0.0, 0.5])
def test_a_single_stop_at_its_limit_shares_its_load_with_nothing(load):
    """The stop carries `load` at the start, and 2 N/s more: an event is the instant at which it carries 1 N."""
    block = Body.box("block", 1.0, [0.1, 0.1, 0.1])
    rail = quirk.Prismatic("rail", GROUND, block, axis="x")
    stop = quirk.Stop("stop", rail, upper=0.0)
    push = quirk.JointForce("push", rail, Motion.polynomial([load, 2.0]))
    event = quirk.Event("event", "stop.force", level=1.0, direction=1)
    result = quirk.simulate(quirk.System([block, rail, stop, push, event]), 1.0)
    np.testing.assert_allclose(result.events.of("event").time, [0.5 * (1.0 - load)], atol=1e-9)


def beam_on_two_balls(order=1):
    beam = Body.bar("beam", [0, 0, 0], [2, 0, 0], mass=3.0)
    balls = [quirk.Spherical(f"ball {k}", GROUND, beam, point=[2 * k, 0, 0]) for k in range(2)]
    push = quirk.Force("push", beam, [Motion.polynomial([0, 100.0]), 0, 0])
    return [beam, *balls[::order], push]


@pytest.mark.parametrize("order", [1, -1])
def test_a_watched_load_that_redundant_rows_share_is_told(order):
    """Two ball joints share a force along the line between them; across it, their loads are unique."""
    across = quirk.Event("across", "ball 1.force.z", level=-1.0)
    along = quirk.Event("along", "ball 0.force.x", level=-70.0)
    with pytest.warns(
        quirk.ContactLoadWarning, match=r'"along": redundant rows share the force.x of Spherical "ball 0"'
    ):
        quirk.simulate(quirk.System([*beam_on_two_balls(order), across, along], gravity=DOWN), 1.0, output=0.25)
    system = quirk.System(beam_on_two_balls(order), gravity=DOWN)
    with pytest.raises(quirk.InputError, match=r"along.* redundant rows share"):
        quirk.simulate(system, 1.0, start=0.5, events=[along])
    run = quirk.Run(system)
    observe = run.observe(["ball 0.force.x", "ball 1.force.x", "ball 1.force.z"])
    run.advance_to(0.5)
    np.testing.assert_allclose(observe(), [-25, -25, 3 * 9.81 / 2], atol=1e-9)


def test_loads_of_a_planar_linkage_of_hinges_can_be_watched():
    """Out of the plane the loads of its hinges are not unique, but zero."""
    places = np.array([[0, 0, 0], [0.3, 0, 1.0], [1.5, 0, 1.2], [1.5, 0, 0]])
    bars = [Body.bar(f"bar {k}", *places[k : k + 2], mass=1.0) for k in range(3)]
    bodies = [GROUND, *bars, GROUND]
    hinges = [quirk.Revolute(f"hinge {k}", *bodies[k : k + 2], point=places[k], axis="y") for k in range(4)]
    event = quirk.Event("strong", "hinge 1.force", level=12.0)
    result = quirk.simulate(quirk.System([*bars, *hinges, event], gravity=DOWN), 1.0, output=0.02)
    found = result.at(result.events.time)["hinge 1"].force()
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 12.0, rtol=1e-6)
    assert len(found) == 2


@pytest.mark.parametrize("hinges", [True, False])
def test_a_door_breaks_off_where_a_unique_load_reaches_its_level(hinges):
    """Two hinges share the weight of a door; a ball joint carries all of it, and a joint on the axis none."""
    door = Body.box("door", 10.0, [1.0, 0.05, 2.0], position=[0.5, 0, 1.0])
    low, high = {"point": [0, 0, 0.3]}, {"point": [0, 0, 1.7], "axis": "z"}
    below = (
        quirk.Revolute("below", GROUND, door, **low, axis="z")
        if hinges
        else quirk.Spherical("below", GROUND, door, **low)
    )
    above = (
        quirk.Revolute("above", GROUND, door, **high) if hinges else quirk.PointOnLine("above", GROUND, door, **high)
    )
    push = quirk.Force("push", door, [0, 0, Motion.polynomial([0, -50.0])])
    latch = quirk.Latch("latch", below, distance=1e-3, strength=140.0)
    system = quirk.System([door, below, above, push, latch], gravity=DOWN)
    if hinges:
        with pytest.raises(quirk.InputError, match="two hinges of a door by a Spherical and a PointOnLine"):
            quirk.simulate(system, 1.5)
    else:
        result = quirk.simulate(system, 1.5, output=0.5)
        weight = 140.0 / np.hypot(1.0, 0.5 / 1.4)  # the moment arm is 0.5 m, the joints are 1.4 m apart
        np.testing.assert_allclose(result.events.time[0], (weight - 98.1) / 50.0, rtol=1e-9)
