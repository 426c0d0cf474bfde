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


METHODS = ["auto", "RK45", "Vern9", "RadauIIA9", "Taylor", "RK4"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("order", [1, -1])
def test_redundant_joints_share_a_watched_load_as_results_show(order, method):
    """Two ball joints share a force along the line between them in halves; across it, their loads are unique."""
    events = {
        "first": quirk.Event("first", "ball 0.force.x", level=-25.0),
        "other": quirk.Event("other", "ball 1.force.x", level=-25.0),
        "magnitude": quirk.Event("magnitude", "ball 1.force", level=30.0),
    }
    system = quirk.System(beam_on_two_balls(order), gravity=DOWN)
    options = {"step": 0.01} if method == "RK4" else {}
    result = quirk.simulate(system, 1.0, events=list(events.values()), method=method, **options)
    along = np.sqrt(30.0**2 - (3 * 9.81 / 2) ** 2)
    for name, time in (("first", 0.5), ("other", 0.5), ("magnitude", along / 50.0)):
        np.testing.assert_allclose(result.events.of(name).time, [time], atol=1e-9)
    run = quirk.Run(system)
    observe = run.observe(["ball 0.force.x", "ball 1.force.x", "ball 1.force.z"])
    run.advance_to(0.5)
    np.testing.assert_allclose(observe(), [-25, -25, 3 * 9.81 / 2], atol=1e-9)


@pytest.mark.parametrize("order", [1, -1])
def test_both_hinges_of_a_door_break_where_their_shares_reach_the_strength(order):
    """Both hinges carry the same load, as results show it."""
    door = Body.box("door", 10.0, [1.0, 0.05, 2.0], position=[0.5, 0, 1.0])
    hinges = [quirk.Revolute(f"hinge {k}", GROUND, door, point=[0, 0, z], axis="z") for k, z in enumerate((0.3, 1.7))]
    latches = [quirk.Latch(f"latch {k}", hinge, distance=1e-3, strength=140.0) for k, hinge in enumerate(hinges)]
    push = quirk.Force("push", door, [0, 0, Motion.polynomial([0, -50.0])])
    system = quirk.System([door, *hinges[::order], push, *latches[::order]], gravity=DOWN)
    result = quirk.simulate(system, 4.0, output=0.5)
    assert len(result.events) == 2
    assert result.events.time[0] == result.events.time[1]
    before = np.argmax(result.time >= result.events.time[0])
    for k in range(2):
        force = result[f"hinge {k}"].force()
        np.testing.assert_allclose(np.linalg.norm(force[before]), 140.0, rtol=1e-9)
        np.testing.assert_allclose(force[before, 2], 0.5 * (98.1 + 50.0 * result.events.time[0]), rtol=1e-9)


KINDS = (quirk.Revolute, quirk.Spherical, quirk.Fixed, quirk.Cylindrical, quirk.Prismatic)


@pytest.mark.parametrize("seed", range(12))
def test_observed_loads_of_random_redundant_joints_are_those_of_results(seed):
    rng = np.random.default_rng(seed)
    scale, axis = float(10.0 ** rng.uniform(-3, 3)), rng.normal(size=3)
    bodies = [
        Body.box(f"body {k}", float(10.0 ** rng.uniform(-1, 1)), rng.uniform(0.1, 0.4, 3) * scale)
        for k in range(rng.integers(1, 7))
    ]
    joints = []
    for k in range(len(bodies) + 2):
        one, other = rng.permutation([GROUND, *bodies])[:2]
        kind, point = KINDS[rng.integers(len(KINDS))], rng.uniform(-1, 1, 3) * scale
        for twin in range(1 + rng.integers(2)):
            where = {"point": point + 0.3 * twin * scale * axis}
            along = {} if kind in (quirk.Spherical, quirk.Fixed) else {"axis": axis}
            joints.append(kind(f"joint {k}.{twin}".replace(".", " "), one, other, **where, **along))
    loads = [quirk.Force(f"force {k}", body, rng.uniform(-3, 3, 3)) for k, body in enumerate(bodies)]
    run = quirk.Run(quirk.System([*bodies, *joints, *loads], gravity=np.array(DOWN) * scale))
    observe = run.observe([f"{joint.name}.{what}" for joint in joints for what in ("force.x", "torque.y", "force")])
    for _ in range(3):
        views = [run[joint.name] for joint in joints]
        shown = [x for view in views for x in (view.force()[0], view.torque()[1], np.linalg.norm(view.force()))]
        size = np.abs(shown).reshape(-1, 3) / [1.0, scale, 1.0]
        np.testing.assert_allclose(
            np.reshape(observe(), (-1, 3)) / [1.0, scale, 1.0],
            np.reshape(shown, (-1, 3)) / [1.0, scale, 1.0],
            rtol=1e-9,
            atol=1e-10 * size.max(),
        )
        run.advance(0.05)


def braked_gears(torque):
    """Two wheels in mesh, with brakes of 1 and 5 N m, that hold a torque of `torque` on the first wheel."""
    wheels = [Body.cylinder(f"wheel {k}", 1.0, 0.1, 0.02, position=[0.2 * k, 0, 0]) for k in range(2)]
    hinges = [
        quirk.Revolute(f"hinge {k}", GROUND, one, point=[0.2 * k, 0, 0], axis="z") for k, one in enumerate(wheels)
    ]
    brakes = [
        quirk.JointFriction(f"brake {k}", hinge, coulomb=limit, sticking=True)
        for k, (hinge, limit) in enumerate(zip(hinges, (1.0, 5.0), strict=True))
    ]
    gear = quirk.Gear("gear", *wheels, ratio=1.0, axis=[0, 0, 1])
    return quirk.System([*wheels, *hinges, gear, *brakes, quirk.JointTorque("motor", hinges[0], torque)])


def test_a_watched_load_that_a_joint_shares_with_brakes_is_told():
    """Results show brakes in proportion to their limits, so that the gear carries 5/6 of the torque; a run does not."""
    event = quirk.Event("strong", "gear.torque", level=1.0)
    told = r'"strong": Gear "gear" shares its torque with contacts or sticking friction'
    rising = braked_gears(Motion.polynomial([0, 4.0]))
    with pytest.warns(quirk.ContactLoadWarning, match=told):
        result = quirk.simulate(rising, 1.0, output=0.25, events=[event])
    np.testing.assert_allclose(result["gear"].torque()[-1, 2], 4.0 * 5 / 6, rtol=1e-9)
    with pytest.raises(quirk.InputError, match=told):
        quirk.simulate(braked_gears(3.0), 1.0, events=[event])


def test_an_event_on_a_shared_load_is_told_while_a_run_advances():
    """The run keeps no states, and no load is shared at its start; the torque that the run watches stays zero."""
    event = quirk.Event("strong", "gear.torque", level=1.0)
    run = quirk.Run(braked_gears(0.0), inputs=["motor"], events=[event])
    with pytest.warns(quirk.ContactLoadWarning, match=r'"strong": Gear "gear" shares its torque'):
        while run.time < 1.0:
            run.inputs["motor"] = 4.0 * run.time
            run.advance(0.05)


def test_contacts_elsewhere_do_not_concern_watched_loads():
    ball = Body.sphere("ball", 1.0, 0.1, position=[5, 0, 0.1])
    floor = quirk.Contact("floor", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    system = quirk.System([*beam_on_two_balls(), ball, floor], gravity=DOWN)
    result = quirk.simulate(system, 1.0, events=[quirk.Event("first", "ball 0.force.x", level=-25.0)])
    np.testing.assert_allclose(result.events.time, [0.5], atol=1e-9)


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


def test_a_door_breaks_off_where_a_unique_load_reaches_its_level():
    """A ball joint carries all of the weight of a door, and a joint on the axis of its hinge none."""
    door = Body.box("door", 10.0, [1.0, 0.05, 2.0], position=[0.5, 0, 1.0])
    below = quirk.Spherical("below", GROUND, door, point=[0, 0, 0.3])
    above = quirk.PointOnLine("above", GROUND, door, point=[0, 0, 1.7], axis="z")
    push = quirk.Force("push", door, [0, 0, Motion.polynomial([0, -50.0])])
    latch = quirk.Latch("latch", below, distance=1e-3, strength=140.0)
    result = quirk.simulate(quirk.System([door, below, above, push, latch], gravity=DOWN), 1.5, output=0.5)
    weight = 140.0 / np.hypot(1.0, 0.5 / 1.4)  # the moment arm is 0.5 m, the joints are 1.4 m apart
    np.testing.assert_allclose(result.events.time[0], (weight - 98.1) / 50.0, rtol=1e-9)
