"""Contacts of which some slide and others stick: onset of sliding, loads, and whether the motion determines them."""

import numpy as np
import pytest
from scipy.optimize import linprog

import quirk
from quirk import GROUND, Body, Contact, Force, Friction, Revolute, surface

G = 9.81
WIDTH, HEIGHT = 0.3, 0.4


def leaning(mu, mu_side, thickness, gap, mass, order=None):
    """A box that leans on the side of another one, both on the floor; `order` permutes the contacts."""
    tilt = np.arcsin(gap / HEIGHT)
    cosine, sine = np.cos(tilt), np.sin(tilt)
    center = [thickness - cosine * thickness / 2 + sine * HEIGHT / 2, 0, sine * thickness / 2 + cosine * HEIGHT / 2]
    size = [thickness, WIDTH, HEIGHT]
    one = Body.box("one", 1.0, size, position=center, orientation=[np.cos(tilt / 2), 0, np.sin(tilt / 2), 0])
    two = Body.box("two", mass, size, position=[1.5 * thickness + gap, 0, HEIGHT / 2])
    parts = []
    for body in (one, two):
        for x in (-1, 1):
            for y in (-1, 1):
                foot = surface.point([x * thickness / 2, y * WIDTH / 2, -HEIGHT / 2])
                contact = Contact(f"{body.name} {x} {y}", GROUND, body, on_i=surface.plane([0, 0, 0]), on_j=foot)
                parts.append((contact, Friction(f"{body.name} {x} {y} friction", contact, mu)))
    for y in (-1, 1):
        side, edge = (
            surface.plane([-thickness / 2, 0, 0], normal=[-1, 0, 0]),
            [thickness / 2, y * WIDTH / 2, HEIGHT / 2],
        )
        contact = Contact(f"side {y}", two, one, on_i=side, on_j=surface.point(edge))
        parts.append((contact, Friction(f"side {y} friction", contact, mu_side)))
    parts = parts if order is None else [parts[k] for k in order]
    return quirk.System([one, two, *(item for pair in parts for item in pair)], gravity=[0, 0, -G])


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_loads_of_a_box_that_slides_along_another_are_symmetric(seed):
    """The edges slide along the side of a box that is tipped by them, and both stick to the floor."""
    rng = np.random.default_rng(seed)
    gap, mu_side, thickness = rng.uniform(0.22, 0.28), rng.uniform(0.05, 0.2), rng.uniform(0.06, 0.09)
    order = rng.permutation(10)
    print(gap, mu_side, thickness, order)
    system = leaning(0.6, mu_side, thickness, gap, 0.7, order)
    result = quirk.simulate(system, 0.1, output=0.02)
    assert not result["side 1 friction"].sticking.any()
    assert result["one 1 1 friction"].sticking.all()
    for name in [f"{body} {x}" for body in ("one", "two") for x in (-1, 1)] + ["side"]:
        for kind in ("", " friction"):
            loads = [np.linalg.norm(result[f"{name} {y}{kind}"].force(), axis=1) for y in (-1, 1)]
            np.testing.assert_allclose(loads[0], loads[1], rtol=1e-9, atol=1e-9)
    for body in ("one", "two"):
        mass = system[body].mass
        exerted = np.tile([0, 0, -mass * G], (len(result.time), 1))
        for part in (*system.constraints, *system.forces):
            on = getattr(part, "on", part)
            sign = {on.bodies[0].name: -1.0, on.bodies[1].name: 1.0}.get(body, 0.0)
            exerted += sign * result[part.name].force()
        np.testing.assert_allclose(exerted, mass * result[body].acceleration, atol=1e-9)
    # A state has the loads of the result, of constraints and of friction that sticks.
    loads = system.joint_loads(result.state_at(3))
    assert "side 1 friction" not in loads
    for name, load in loads.items():
        np.testing.assert_allclose(load.force, result[name].force()[3], atol=1e-9)


def arm(mu, restitution):
    """An arm on a hinge that falls on the floor."""
    rod = Body.box("rod", 2.0, [1.0, 0.1, 0.02], position=[0.5, 0, 0.3])
    hinge = Revolute("hinge", GROUND, rod, point=[0, 0, 0.3], axis=[0, 1, 0])
    tip = surface.point([0.5, 0, 0])
    contact = Contact("tip", GROUND, rod, on_i=surface.plane([0, 0, 0]), on_j=tip, restitution=restitution)
    return quirk.System([rod, hinge, contact, Friction("friction", contact, mu)], gravity=[0, 0, -G])


@pytest.mark.parametrize("restitution", [0.0, 0.3, 0.6])
@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_friction_of_an_arm_that_has_bounced_sticks_as_of_one_at_rest(mu, restitution):
    """N cos a - f sin a = m g cos a / 2 about the hinge; of least norm within f <= mu N, with f towards the hinge."""
    result = quirk.simulate(arm(mu, restitution), 3.0, output=0.5)
    slope = 0.3 / np.sqrt(1 - 0.3**2)
    ratio = -min(mu, slope)
    normal = G / (1 - ratio * slope)
    assert result["friction"].sticking[-1]
    assert result["tip"].force()[-1, 2] == pytest.approx(normal, rel=1e-6)
    assert result["friction"].force()[-1, 0] == pytest.approx(-ratio * normal, rel=1e-6)
    loads = result.system.joint_loads(result.state_at(-1))
    np.testing.assert_allclose(loads["hinge"].force, result["hinge"].force()[-1], rtol=1e-6, atol=1e-6)
    assert result["tip"].unique.force == "unique only in sum"
    assert {*result.system.mobility(result.state_at(-1)).shared} == {"tip", "hinge"}


def on_feet(places, mu, push):
    """A box on feet at some places below it, which is pushed at its base."""
    box = Body.box("box", 3.0, [0.3, 0.5, 0.4], position=[0, 0, 0.2])
    items = [box, Force("push", box, [push, 0, 0], point=[0, 0, -0.2])]
    for k, (x, y) in enumerate(places):
        foot = surface.point([x, y, -0.2])
        contact = Contact(f"foot {k}", GROUND, box, on_i=surface.plane([0, 0, 0]), on_j=foot)
        items += [contact, Friction(f"friction {k}", contact, mu)]
    return quirk.System(items, gravity=[0, 0, -G])


FEET = [(-0.15, -0.25), (0.15, -0.25), (-0.15, 0.25), (0.15, 0.25)]


@pytest.mark.parametrize(("mu", "push"), [(0.0, 5.0), (0.3, 5.0), (0.3, 20.0)])
def test_loads_of_four_feet_are_not_unique_whether_they_slide_or_stick(mu, push):
    system = on_feet(FEET, mu, push)
    result = quirk.simulate(system, 0.1, output=0.01)
    assert [result[f"foot {k}"].unique.force for k in range(4)] == ["unique only in sum"] * 4
    assert {*result.mobility.shared} >= {f"foot {k}" for k in range(4)}
    assert {*system.mobility().shared} == {f"foot {k}" for k in range(4)}


def test_loads_of_three_feet_are_unique_once_they_slide():
    """The direction of sticking friction in each foot is not unique, but the normal loads are."""
    for push in (5.0, 10.0):
        result = quirk.simulate(on_feet([*FEET[:2], (0.0, 0.25)], 0.3, push), 0.1, output=0.01)
        assert [result[f"foot {k}"].unique.force for k in range(3)] == ["unique"] * 3


def block_in_a_groove(seed):
    """A block on two points in a rough groove, guided in a plane, under a force that grows; and when it must slide.

    It holds as long as any loads within the friction cones balance weight and force: a linear program for the largest
    force.
    """
    rng = np.random.default_rng(seed)
    mu, mass, rate = rng.uniform(0.3, 0.9), rng.uniform(0.5, 2), rng.uniform(2, 10)
    slopes, heights, turn = rng.uniform(0.2, 0.9, 2), rng.uniform(-0.1, 0.1, 2), rng.uniform(0, 2 * np.pi)
    way, at = np.array([np.cos(turn), 0, np.sin(turn)]), np.array([rng.uniform(-0.1, 0.1), 0, rng.uniform(-0.1, 0.1)])
    block = Body.box("block", mass, [0.3, 0.1, 0.2])
    push = Force("push", block, [quirk.Motion.polynomial([0, rate * x]) for x in way], point=at)
    items = [block, push, quirk.Planar("guide", GROUND, block, point=[0, 0, 0], axis=[0, 1, 0])]
    columns, cones = [], []
    for k, side in enumerate((1, -1)):
        point, slope = np.array([-0.15 * side, 0, heights[k]]), slopes[k]
        normal, along = (
            np.array([side * np.sin(slope), 0, np.cos(slope)]),
            np.array([np.cos(slope), 0, -side * np.sin(slope)]),
        )
        contact = Contact(f"c{k}", GROUND, block, on_i=surface.plane(point, normal=normal), on_j=surface.point(point))
        items += [contact, Friction(f"f{k}", contact, mu)]
        columns += [[f[0], f[2], point[2] * f[0] - point[0] * f[2]] for f in (normal, along)]
        cones += [[0.0] * 2 * k + [-mu, sign] + [0.0] * (3 - 2 * k) for sign in (1, -1)]
    columns.append([way[0], way[2], at[2] * way[0] - at[0] * way[2]])
    found = linprog(
        [0, 0, 0, 0, -1], cones, np.zeros(4), np.transpose(columns), [0, mass * 9.81, 0],
        bounds=[(0, None), (None, None), (0, None), (None, None), (0, 1e3)],
    )  # fmt: skip
    return quirk.System(items, gravity=[0, 0, -9.81]), found.x[-1] / rate if found.status == 0 else np.inf


def test_a_guided_block_in_a_groove_begins_to_slide_once():
    """The guide blocks one component of slip in each contact, the first one or the second."""
    for seed in range(12):
        system, start = block_in_a_groove(seed)
        print(seed, start)
        if not 0.05 < start < 15:
            continue
        result = quirk.simulate(system, 1.001 * start, output=start / 4)
        assert result.events[0].time == pytest.approx(start, rel=1e-7)
        assert len(result.events) == 1
        assert result["f0"].sticking[:3].all()
        assert result["f1"].sticking[:3].all()


@pytest.mark.parametrize("seed", range(10))
def test_a_guided_box_that_jams_between_walls_stays_at_rest(seed):
    """Two walls lean towards each other less than the angle of friction: the box holds under any force.

    The guide has friction, too, so that limits of friction are in proportion to loads of a joint.
    """
    rng = np.random.default_rng(seed)
    box = Body.box("box", 1.0, [0.2, 0.2, 0.2])
    guide = quirk.PointOnPlane("guide", GROUND, box, point=[0.02, 0.1, 0.03], axis=[0, 1, 0])
    items = [box, guide, Friction("rub guide", guide, 0.3)]
    for k, (side, y) in enumerate(((-1, -0.1), (-1, 0.1), (1, -0.1), (1, 0.1))):
        point = [0.1 * side, y, rng.uniform(-0.1, 0.1)]
        wall = surface.plane(point, normal=[-side, 0, 0.2])
        contact = Contact(f"c{k}", GROUND, box, on_i=wall, on_j=surface.point(point))
        items += [contact, Friction(f"f{k}", contact, rng.uniform(0.3, 0.6))]
    way = rng.normal(size=3)
    print(seed, way)
    push = Force("push", box, [quirk.Motion.polynomial([0, 5 * x]) for x in way], point=rng.uniform(-0.1, 0.1, 3))
    result = quirk.simulate(quirk.System([*items, push], gravity=[0, 0, -G]), 2.0, output=0.5)
    assert len(result.events) == 0
    assert np.abs(result["box"].velocity).max() < 1e-12
    assert all(result[f"f{k}"].sticking.all() for k in range(4))


@pytest.mark.parametrize("mass", [1e-3, 2.0])
def test_a_box_that_slides_back_at_once_has_one_event(mass):
    """All four feet turn round at the same instant."""
    mu, pull = 0.2, 5.0
    box = Body.box("box", mass, [0.2, 0.2, 0.1], position=[0, 0, 0.05], velocity=[1.0, 0, 0])
    items = [box, Force("pull", box, [-pull * mass, 0, 0], point=[0, 0, -0.05])]
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        foot = Contact(f"foot {k}", GROUND, box, on_i=surface.plane(), on_j=surface.point([0.1 * x, 0.1 * y, -0.05]))
        items += [foot, Friction(f"rub {k}", foot, mu)]
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 0.5, output=0.1)
    assert [(event.name, event.direction) for event in result.events] == [("rub 0", 1)]
    assert result.events[0].time == pytest.approx(1 / (pull + mu * G), rel=1e-9)
    assert result["box"].velocity[-1, 0] == pytest.approx(-(pull - mu * G) * (0.5 - result.events[0].time), rel=1e-9)
