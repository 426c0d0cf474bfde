"""Grippers that lift a box from a floor by friction: the floor and the fingers hold it at the same time at first."""

import warnings

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Contact, Friction, Prismatic, Revolute, surface

FINGER_POINTS = {1: [(0, 0)], 2: [(0, 0.04), (0, -0.04)], 3: [(0.04, 0.04), (-0.04, 0.04), (0, -0.04)]}
FLOOR_POINTS = {
    1: [(0, 0)],
    2: [(0.05, 0), (-0.05, 0)],
    3: [(0.05, 0.05), (0.05, -0.05), (-0.05, 0)],
    4: [(0.05, 0.05), (0.05, -0.05), (-0.05, 0.05), (-0.05, -0.05)],
}
MASS, G, RISE = 0.4, 9.81, 0.3
# The largest acceleration of the rise, a polynomial of degree 5 in one second, m/s^2.
FASTEST = 10.0 / np.sqrt(3.0) * RISE
LIFT = quirk.Motion.rest_to_rest([0.5, 1.5], [0, RISE])


def gripper(finger_points, floor_points, grip=12.0, coefficient=0.6, gap=0.0, rough_floor=True):
    """A hand that is driven up, with two fingers that forces press on a box; `gap` is the initial distance of each."""
    box = Body.box("box", MASS, [0.1, 0.1, 0.1], position=[0, 0, 0.05])
    hand = Body.box("hand", 1.0, [0.3, 0.1, 0.05], position=[0, 0, 0.3])
    rail = quirk.Prismatic("rail", GROUND, hand, point=hand.position, axis="z")
    items = [box, hand, rail, quirk.Drive("lift", rail, LIFT)]
    for name, side in (("left", -1), ("right", 1)):
        finger = Body.box(f"{name} finger", 0.3, [0.02, 0.1, 0.2], position=[side * (0.06 + gap), 0, 0.1])
        slide = quirk.Prismatic(f"{name} slide", hand, finger, point=finger.position, axis=[-side, 0, 0])
        items += [finger, slide, quirk.JointForce(f"{name} force", slide, grip)]
        pad = surface.plane([-side * 0.01, 0, 0], [-side, 0, 0])
        for k, (y, z) in enumerate(FINGER_POINTS[finger_points]):
            touch = Contact(f"{name} {k}", finger, box, on_i=pad, on_j=surface.point([side * 0.05, y, z]))
            items += [touch, Friction(f"{name} friction {k}", touch, coefficient)]
    for k, (x, y) in enumerate(FLOOR_POINTS[floor_points]):
        foot = Contact(f"floor {k}", GROUND, box, on_i=surface.plane(), on_j=surface.point([x, y, -0.05]))
        items += [foot, *([Friction(f"floor friction {k}", foot, 0.5)] if rough_floor else [])]
    return quirk.System(items, gravity=[0, 0, -G])


@pytest.mark.parametrize("gap", [0.0, 0.02])
@pytest.mark.parametrize("floor_points", FLOOR_POINTS)
@pytest.mark.parametrize("finger_points", FINGER_POINTS)
def test_a_box_rises_with_the_gripper(finger_points, floor_points, gap):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quirk.simulate(gripper(finger_points, floor_points, gap=gap), 1.6, output=0.05)
    rise = result["box"].position[:, 2] - 0.05
    np.testing.assert_allclose(rise, result["hand"].position[:, 2] - 0.3, atol=1e-8)
    np.testing.assert_allclose(rise[-1], RISE, atol=1e-8)
    assert not any(result.active(f"floor {k}")[-1] for k in range(floor_points))
    carried = sum(
        result[f"{name} friction {k}"].force()[-1] for name in ("left", "right") for k in range(finger_points)
    )
    np.testing.assert_allclose(carried, [0, 0, MASS * G], atol=1e-8)
    assert np.abs(result.power.balance).max() < 1e-8


@pytest.mark.parametrize("seed", study(range(40), 6))
def test_a_weak_gripper_slides_along_the_box(seed):
    """The box rises with the hand as long as this needs less than the limit of friction, and then lags behind."""
    rng = np.random.default_rng(seed)
    points, floor, coefficient = int(rng.integers(1, 4)), int(rng.integers(1, 5)), rng.uniform(0.3, 0.9)
    limit = MASS * (G + rng.uniform(0.2, 0.8) * FASTEST)
    system = gripper(points, floor, 0.5 * limit / coefficient, coefficient, rough_floor=bool(rng.integers(2)))
    result = quirk.simulate(system, 1.6, output=0.01)
    rise, hand = result["box"].position[:, 2] - 0.05, result["hand"].position[:, 2] - 0.3
    needed = MASS * (G + result["hand"].acceleration[:, 2])
    np.testing.assert_allclose(result["hand"].acceleration[:, 2].max(), FASTEST, rtol=1e-3)
    first = int(np.argmax(needed > limit))
    np.testing.assert_allclose(rise[: first - 1], hand[: first - 1], atol=1e-8)
    slides = [event.time for event in result.events if "friction" in event.name and event.direction == 1]
    assert any(result.time[first - 1] <= time <= result.time[first] for time in slides)
    assert rise[-1] < hand[-1] - 1e-5
    assert np.abs(result.power.balance).max() < 1e-6


SMOOTH = {
    "rest to rest": quirk.Motion.rest_to_rest([0, 1.5], [0, 0.3]),
    "cubic": quirk.Motion.polynomial([0, 0, 0, 0.3]),
}


def box_on_feet(count, floor):
    """A box with two to four rough feet on a body or the ground, with the top of `floor` at z = 0."""
    box = Body.box("box", MASS, [0.1, 0.1, 0.1], position=[0, 0, 0.05])
    items = [box]
    for k, (x, y) in enumerate(FLOOR_POINTS[count]):
        foot = Contact(f"foot {k}", floor, box, on_i=surface.plane(), on_j=surface.point([x, y, -0.05]))
        items += [foot, Friction(f"friction {k}", foot, 0.5)]
    return box, items


def total(result, names):
    return sum(result[name].force()[-1] for name in names)


@pytest.mark.parametrize("motion", SMOOTH)
@pytest.mark.parametrize("points", [1, 2])
@pytest.mark.parametrize("feet", [2, 3, 4])
def test_a_plate_that_starts_smoothly_pushes_a_box(feet, points, motion):
    """At the start neither speed nor acceleration of the plate says that the feet must slide."""
    box, items = box_on_feet(feet, GROUND)
    plate = Body.box("plate", 1.0, [0.02, 0.1, 0.1], position=[-0.06, 0, 0.05])
    rail = quirk.Prismatic("rail", GROUND, plate, point=plate.position, axis="x")
    items += [plate, rail, quirk.Drive("drive", rail, SMOOTH[motion])]
    for k, y in enumerate([0.0] if points == 1 else [-0.05, 0.05]):
        face = surface.plane([0.01, 0, 0], [1, 0, 0])
        items.append(Contact(f"push {k}", plate, box, on_i=face, on_j=surface.point([-0.05, y, -0.05])))
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 0.6, output=0.1)
    np.testing.assert_allclose(result["box"].velocity[-1], result["plate"].velocity[-1], atol=1e-9)
    assert not result["friction 0"].sticking[-1]
    drag = [-0.5 * MASS * G, 0, 0]
    np.testing.assert_allclose(total(result, [f"friction {k}" for k in range(feet)]), drag, atol=1e-6)
    pushed = total(result, [f"push {k}" for k in range(points)]) + drag
    np.testing.assert_allclose(pushed, MASS * result["plate"].acceleration[-1], atol=1e-6)
    np.testing.assert_allclose(
        sum(result.power.work[f"friction {k}"][-1] for k in range(feet)),
        drag[0] * result["box"].position[-1, 0],
        rtol=1e-5,
    )


@pytest.mark.parametrize("points", [1, 2])
@pytest.mark.parametrize("feet", [2, 3, 4])
@pytest.mark.parametrize("side", [-1, 1], ids=["behind", "ahead"])
def test_a_belt_that_starts_smoothly_beside_a_wall(side, feet, points):
    """The belt takes the box away from a wall behind it, and slides under it where the wall is ahead."""
    belt = Body.box("belt", 1.0, [1, 1, 0.02], position=[0, 0, 0])
    box, items = box_on_feet(feet, belt)
    rail = quirk.Prismatic("rail", GROUND, belt, axis="x")
    items += [belt, rail, quirk.Drive("drive", rail, SMOOTH["rest to rest"])]
    walls = [f"wall {k}" for k in range(points)]
    for name, y in zip(walls, [0.0] if points == 1 else [-0.05, 0.05], strict=True):
        wall, corner = surface.plane([side * 0.05, 0, 0], [-side, 0, 0]), surface.point([side * 0.05, y, -0.05])
        items.append(Contact(name, GROUND, box, on_i=wall, on_j=corner))
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 1.2, output=0.1)
    x, moved = result["box"].position[-1, 0], result["belt"].position[-1, 0]
    np.testing.assert_allclose(x, moved if side < 0 else 0.0, atol=1e-8)
    np.testing.assert_allclose(total(result, walls)[0], 0.0 if side < 0 else -0.5 * MASS * G, atol=1e-6)
    assert result["friction 0"].sticking[-1] == (side < 0)


@pytest.mark.filterwarnings("ignore:.*may slip without friction:quirk.ContactLoadWarning")
@pytest.mark.parametrize("size", [(0.3, 0.5, 0.2), (0.4, 0.3, 0.2)])
@pytest.mark.parametrize("ropes", [1, 2, 4])
def test_ropes_that_are_taut_lift_a_box_smoothly(ropes, size):
    """Inclined ropes from a hook, and feet on a rough floor, hold the box together before it rises."""
    width, depth, height = size
    box = Body.box("box", 2.0, size, position=[0, 0, height / 2])
    hook = Body.box("hook", 1.0, [0.05] * 3, position=[0, 0, height + 0.5])
    rail = quirk.Prismatic("rail", GROUND, hook, axis="z")
    items = [box, hook, rail, quirk.Drive("lift", rail, quirk.Motion.rest_to_rest([0.05, 0.6], [0, 0.15]))]
    for k, (x, y) in enumerate([(-1, -1), (-1, 1), (1, -1), (1, 1)]):
        corner = surface.point([x * width / 2, y * depth / 2, -height / 2])
        foot = Contact(f"foot {k}", GROUND, box, on_i=surface.plane(), on_j=corner)
        items += [foot, Friction(f"friction {k}", foot, 0.5)]
    corners = {1: [(0, 0)], 2: [(-1, 0), (1, 0)], 4: [(-1, -1), (-1, 1), (1, -1), (1, 1)]}
    for k, (x, y) in enumerate(corners[ropes]):
        end = np.array([x * width / 2, y * depth / 2, height / 2])
        length = np.linalg.norm([end[0], end[1], 0.5])
        items.append(quirk.Rope(f"rope {k}", hook, box, point_i=[0, 0, 0], point_j=end, length=length))
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 0.8, output=0.05)
    risen = result["hook"].position[:, 2] - height - 0.5
    np.testing.assert_allclose(result["box"].position[:, 2] - height / 2, risen, atol=1e-8)
    np.testing.assert_allclose(result["box"].orientation[-1, 0], 1.0, rtol=1e-9)
    assert not any(result.active(f"foot {k}")[-1] for k in range(4))


@pytest.mark.parametrize("gap", [0.0, 1e-6, 1e-3])
@pytest.mark.parametrize("mu", [0.0, 0.6])
@pytest.mark.parametrize("pads", [2, 4])
@pytest.mark.parametrize("gravity", [0.0, G])
def test_pads_that_touch_share_a_load_that_comes_later_alike(gap, mu, pads, gravity):
    """Two mirror images of a finger press a box that is held, with a force that grows from zero."""
    box = Body.box("box", 1.0, [0.1, 0.1, 0.3])
    parts = [box, quirk.Fixed("hold", GROUND, box)]
    corners = [(-0.03, 0), (0.03, 0)] if pads == 2 else [(-0.03, -0.03), (0.03, -0.03), (0.03, 0.03), (-0.03, 0.03)]
    for side in (-1, 1):
        finger = Body.box(f"finger {side}", 0.2, [0.02, 0.02, 0.02], position=[0, side * (0.06 + gap), 0])
        slide = Prismatic(f"slide {side}", GROUND, finger, axis=[0, -side, 0])
        parts += [
            finger,
            slide,
            quirk.JointForce(f"press {side}", slide, lambda t, x, v: 20.0 * np.clip(t / 0.1, 0, 1)),
        ]
        for k, (x, z) in enumerate(corners):
            face, point = surface.plane([0, -side * 0.01, 0], [0, -side, 0]), surface.point([x, side * 0.05, z])
            pad = Contact(f"pad {side} {k}", finger, box, on_i=face, on_j=point)
            parts += [pad, *([Friction(f"grip {side} {k}", pad, mu)] if mu else [])]
    result = quirk.simulate(quirk.System(parts, gravity=[0, 0, -gravity]), 0.3, output=0.05)
    names = [f"pad {side} {k}" for side in (-1, 1) for k in range(pads)]
    assert all(result.active(name)[-1] for name in names)
    loads = np.array([result[name].force()[-1, 1] for name in names])
    assert np.abs(loads) == pytest.approx(20.0 / pads, rel=1e-9)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_pads_at_rest_without_gravity_share_a_load_alike(order):
    """The friction of a box on a hinge, between two fingers, sticks until a torque reaches its limit."""
    box = Body.box("box", 1.0, [0.2, 0.1, 0.2])
    hinge, arms, mu, force = Revolute("hinge", GROUND, box, point=[0, 0, 0], axis="y"), (0.01, 0.05), 0.5, 20.0
    torque = quirk.JointTorque("torque", hinge, lambda t, a, w: 1.5 * np.clip(t - 0.5, 0, 1))
    parts = [box, hinge, torque]
    for side in (-1, 1):
        finger = Body.box(f"finger {side}", 0.2, [0.02, 0.02, 0.02], position=[0, side * 0.061, 0])
        slide = Prismatic(f"slide {side}", GROUND, finger, axis=[0, -side, 0])
        parts += [finger, slide, quirk.JointForce(f"press {side}", slide, force)]
        for k in order:
            face, point = surface.plane([0, -side * 0.01, 0], [0, -side, 0]), surface.point([arms[k], side * 0.05, 0])
            pad = Contact(f"pad {side} {k}", finger, box, on_i=face, on_j=point)
            parts += [pad, Friction(f"grip {side} {k}", pad, mu)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quirk.simulate(quirk.System(parts), 1.4, output=0.1)
        loads = {(side, k): np.abs(result[f"pad {side} {k}"].force()[:, 1]) for side in (-1, 1) for k in (0, 1)}
    early = (result.time > 0.3) & (result.time < 0.8)
    assert np.array([*loads.values()])[:, early] == pytest.approx(force / 2, rel=1e-9)
    # At the limit the outer pads carry all of the load.
    slip = next(event.time for event in result.events if event.direction == 1)
    assert slip == pytest.approx(0.5 + 2 * force * mu * arms[1] / 1.5, rel=1e-6)
