"""Contacts that other bodies hold closed only at an instant, so that they give way without a change of loads."""

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq
from studies import study

import quirk
from quirk import GROUND, Body, Contact, Drive, Force, Friction, JointForce, Motion, Prismatic, Rope, surface

G = 9.81
# Motions that begin at rest: all without a jump of the velocity, the first two also without one of the acceleration.
SMOOTH = [Motion.rest_to_rest([0.05, 0.5], [0, 0.1]), Motion.polynomial([0, 0, 0, 0.4]), Motion.polynomial([0, 0, 0.4])]
CORNERS = [(-1, -1), (1, -1), (1, 1), (-1, 1)]


def box_on_floor(size, mass, mu, order=CORNERS):
    """A box on four feet, with friction if mu > 0."""
    half = np.array(size) / 2
    box = Body.box("box", mass, size, position=[0, 0, half[2]])
    items = [box]
    for k, (x, y) in enumerate(order):
        foot = Contact(
            f"foot {k}", GROUND, box, on_i=surface.plane(), on_j=surface.point([x * half[0], y * half[1], -half[2]])
        )
        items += [foot, *([Friction(f"rub {k}", foot, mu)] if mu else [])]
    return box, items


def driven(name, mass, position, axis, motion):
    """A body that a drive moves along an axis."""
    body = Body.box(name, mass, [0.3, 0.3, 0.02], position=position)
    rail = Prismatic(f"rail of {name}", GROUND, body, axis=axis)
    return body, [body, rail, Drive(f"drive of {name}", rail, motion)]


@pytest.mark.parametrize(
    ("motion", "scale"),
    [*((motion, 1.0) for motion in SMOOTH), (Motion.rest_to_rest([0.05, 0.5], [0, 1e-4]), 1e-3)],
)
@pytest.mark.parametrize(("floor", "pads"), [(0, 0), (0.5, 0.5), (0, 0.4), (0.4, 0)])
def test_a_fork_that_lifts_a_box_with_a_smooth_start_carries_it_with_all_its_pads(motion, floor, pads, scale):
    """The floor opens at the start of the motion, and its four pads carry equal loads."""
    box, items = box_on_floor(np.array([0.3, 0.4, 0.2]) * scale, 2.0, floor)
    fork, lift = driven("fork", 3.0, [0, 0, -0.01 * scale], "z", motion)
    items += lift
    for k, (x, y) in enumerate(CORNERS):
        pad = Contact(
            f"pad {k}", fork, box, on_i=surface.plane([0, 0, 0.01 * scale], [0, 0, 1]),
            on_j=surface.point(np.array([0.1 * x, 0.14 * y, -0.1]) * scale),
        )  # fmt: skip
        items += [pad, *([Friction(f"grip {k}", pad, pads)] if pads else [])]
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G * scale]), 0.7, output=0.05)
    loads = np.array([result[f"pad {k}"].force()[-1, 2] for k in range(4)])
    total = 2.0 * (G * scale + result["box"].acceleration[-1, 2])
    assert loads == pytest.approx(total / 4, rel=1e-9)
    assert all(result.active(f"pad {k}")[-1] for k in range(4))
    height = np.array([motion(t) for t in result.time])
    assert np.abs(result["box"].position[:, 2] - 0.1 * scale - height).max() < 1e-11 * scale
    assert np.abs(result["box"].orientation[:, 1:]).max() < 1e-12
    opened = {event.name: event.time for event in result.events if event.direction == 1}
    if motion is not SMOOTH[2]:  # where the acceleration jumps at the start the feet are open from then on
        assert opened.keys() == {f"foot {k}" for k in range(4)}
        assert max(opened.values()) < 0.0502


@pytest.mark.parametrize("motion", SMOOTH[:2])
@pytest.mark.parametrize("mu", [0, 0.5])
@pytest.mark.parametrize("spread", study([0.5, 0.0, 1.0], 1))
@pytest.mark.parametrize("corners", [CORNERS, [(-1, -1), (1, -1), (0, 1)]])
def test_taut_ropes_that_lift_a_box_with_a_smooth_start_all_carry_it(motion, mu, spread, corners):
    """The loads are those of statics, of least norm; the box does not swing, and the feet open."""
    box, items = box_on_floor([0.3, 0.5, 0.2], 2.0, mu)
    hook, lift = driven("hook", 1.0, [0, 0, 0.7], "z", motion)
    items += lift
    ends = [(np.array([0.15 * x, 0.25 * y, 0.1]), spread * np.array([0.15 * x, 0.25 * y, 0])) for x, y in corners]
    for k, (low, high) in enumerate(ends):
        length = np.linalg.norm(np.add(high, [0, 0, 0.6]) - low)
        items.append(Rope(f"rope {k}", hook, box, point_i=high, point_j=low, length=length))
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 0.7, output=0.1)
    pulls = np.array([np.add(high, [0, 0, 0.6]) - low for low, high in ends])
    pulls /= np.linalg.norm(pulls, axis=1)[:, None]
    wrenches = np.hstack([pulls, np.cross([low for low, _ in ends], pulls)]).T
    weight = np.array([0, 0, 2.0 * (G + result["box"].acceleration[-1, 2]), 0, 0, 0])
    expected = np.linalg.lstsq(wrenches, weight, rcond=1e-12)[0]
    loads = [np.linalg.norm(result[f"rope {k}"].force()[-1]) for k in range(len(ends))]
    assert loads == pytest.approx(expected, rel=1e-6)
    # Before the feet open they hold the box for an instant, which leaves it with a speed of 1e-9 m/s.
    assert np.abs(result["box"].orientation[:, 1:]).max() < 1e-8
    assert np.abs(result["box"].position[:, :2]).max() < 2e-9
    opened = {event.name for event in result.events if event.direction == 1}
    assert opened == {f"foot {k}" for k in range(4)}


@pytest.mark.parametrize("mu", [0, 0.3])
@pytest.mark.parametrize("motion", SMOOTH[:2])
def test_feet_of_a_plate_that_a_drive_lifts_open_at_once(motion, mu):
    """The drive holds the plate, so that the floor carries nothing."""
    plate, items = driven("plate", 2.0, [0, 0, 0.01], "z", motion)
    for k, (x, y) in enumerate([(-0.2, -0.2), (0.2, -0.2), (0, 0.2)]):
        foot = Contact(f"foot {k}", GROUND, plate, on_i=surface.plane(), on_j=surface.point([x, y, -0.01]))
        items += [foot, *([Friction(f"rub {k}", foot, mu)] if mu else [])]
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 0.4, output=0.1)
    assert [(event.name, event.direction) for event in result.events] == [(f"foot {k}", 1) for k in range(3)]
    assert not any(result.active(f"foot {k}")[-1] for k in range(3))


def test_a_drive_that_pushes_a_box_into_the_floor_is_an_error():
    fork, items = driven("press", 1.0, [0, 0, 0.21], "z", Motion.polynomial([0, 0, 0, -0.3]))
    box, feet = box_on_floor([0.3, 0.4, 0.2], 2.0, 0)
    items += feet
    for k, (x, y) in enumerate(CORNERS):
        top = surface.point([0.1 * x, 0.14 * y, 0.1])
        items.append(Contact(f"pad {k}", fork, box, on_i=surface.plane([0, 0, -0.01], [0, 0, -1]), on_j=top))
    with pytest.raises(quirk.SimulationError, match="interpenetration") as failed:
        quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 0.3, output=0.1)
    assert failed.value.result.time[-1] < 1e-4


def pusher(order, mu_floor, mu_pads, pads, motion):
    """A driven plate that pushes a box along a floor, with friction at both."""
    box, items = box_on_floor([0.4, 0.4, 0.25], 2.0, mu_floor)
    plate, push = driven("plate", 3.0, [-0.21, 0, 0.125], "x", motion)
    items += push
    for k, (y, z) in enumerate(pads):
        pad = Contact(
            f"pad {k}", plate, box, on_i=surface.plane([0.01, 0, 0], [1, 0, 0]), on_j=surface.point([-0.2, y, z])
        )
        items += [pad, Friction(f"grip {k}", pad, mu_pads)]
    if order is not None:
        items = [items[k] for k in np.random.default_rng(order).permutation(len(items))]
    return quirk.System(items, gravity=[0, 0, -G])


@pytest.mark.parametrize("motion", [Motion.polynomial([0, 0, 0.4]), Motion.polynomial([0, 0, 0, 0.5])])
@pytest.mark.parametrize("mu_pads", study([0.3, 0.7], 1))
@pytest.mark.parametrize("pads", [[(-0.14, -0.04), (0.14, -0.04)], [(-0.1, -0.05), (0.1, -0.05), (0, 0.05)]])
@pytest.mark.parametrize("order", study([None, 1], 1))
def test_friction_of_a_plate_that_pushes_a_box_takes_no_load_off_the_floor(motion, mu_pads, pads, order):
    """Nothing moves the box along the plate: its pads only push, so that the floor carries the whole weight."""
    mu, mass, plate = 0.3, 2.0, 3.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quirk.simulate(pusher(order, mu, mu_pads, pads, motion), 0.6, output=0.1)
        feet = np.array([result[f"foot {k}"].force()[:, 2] for k in range(4)])
        across = [np.linalg.norm(result[f"grip {k}"].force(), axis=1) for k in range(len(pads))]
        push = np.array([result[f"pad {k}"].force()[:, 0] for k in range(len(pads))])
    moving = result["box"].velocity[:, 0] > 1e-6
    acceleration = result["box"].acceleration[moving, 0]
    # Of the friction of the pads, one part in YIELDING remains.
    assert feet[:, moving].sum(axis=0) == pytest.approx(mass * G, rel=1e-3)
    assert push[:, moving].sum(axis=0) == pytest.approx(mass * (mu * G + acceleration), rel=1e-3)
    assert np.array(across)[:, moving].max() < 1e-3 * mass * G
    assert feet.min() > 0
    travel = result["box"].position[-1, 0]
    work = mu * mass * G * travel + 0.5 * (mass + plate) * result["box"].velocity[-1, 0] ** 2
    assert result.power.work["drive of plate"][-1] == pytest.approx(work, rel=1e-3)


def clamped(order):
    """A box on a floor between a pair of plates pressed against it along x, and a wall and a plate along y."""
    size, mass = np.array([0.25, 0.2, 0.16]), 0.75
    box, items = box_on_floor(size, mass, 0.26)
    plates = [
        ("left", 0, -1, 2.45, 0.65),
        ("right", 0, 1, 2.45, 0.65),
        ("back", 1, 1, 8.8, 0.35),
        ("wall", 1, -1, 0, 0.35),
    ]
    points = {
        "left": [(-0.8, -0.7), (0.8, -0.7), (0.8, 0.7), (-0.8, 0.7)], "right": [(-0.7, -0.6), (0.7, -0.6), (0, 0.7)],
        "back": [(-0.7, 0), (0.7, 0)], "wall": [(-0.7, 0), (0.7, 0)],
    }  # fmt: skip
    for name, axis, side, force, mu in plates:
        normal, at = np.zeros(3), np.zeros(3)
        normal[axis] = -side
        body, place = GROUND, at.copy()
        place[axis] = side * size[axis] / 2
        if force:
            at[axis], at[2] = side * (size[axis] / 2 + 0.02), size[2] / 2
            body = Body.box(name, 0.5, [0.04, 0.04, 0.04], position=at)
            rail = Prismatic(f"rail {name}", GROUND, body, axis=normal)
            items += [body, rail, JointForce(f"force {name}", rail, force)]
            place = 0.02 * normal
        for k, (across, up) in enumerate(points[name]):
            q = np.zeros(3)
            q[axis], q[1 - axis], q[2] = side * size[axis] / 2, across * size[1 - axis] / 2, up * size[2] / 2
            contact = Contact(f"{name} {k}", body, box, on_i=surface.plane(place, normal), on_j=surface.point(q))
            items += [contact, Friction(f"friction {name} {k}", contact, mu)]
    pull = [Motion.polynomial([0, part]) for part in (-16.8, -16.5, -7.1)]
    items.append(Force("pull", box, pull, point=[-0.008, -0.06, 0.073]))
    if order is not None:
        bodies = [item for item in items if isinstance(item, Body)]
        others = [item for item in items if not isinstance(item, Body)]
        rng = np.random.default_rng(order)
        items = [*(bodies[k] for k in rng.permutation(len(bodies))), *(others[k] for k in rng.permutation(len(others)))]
    return quirk.System(items, gravity=[0, 0, -G])


def test_a_box_that_slides_and_tips_between_plates_moves_alike_in_each_order_of_the_parts():
    """As the box turns, other contacts come to share the loads; friction follows these in each order."""
    results = [quirk.simulate(clamped(order), 1.35, output=0.03) for order in (None, 1, 2)]
    last = [np.append(result["box"].velocity[-1], result["box"].angular_velocity[-1]) for result in results]
    assert np.linalg.norm(last[0]) > 0.3
    assert max(np.abs(one - last[0]).max() for one in last[1:]) < 1e-6
    result = results[0]
    for name in (f.name for f in result.system.forces if isinstance(f, Friction)):
        slip = np.linalg.norm(result[name].slip, axis=1)
        rub = np.linalg.norm(result[name].force(), axis=1)
        contact = result.system[name].on.name
        push = np.linalg.norm(result[contact].force(), axis=1)
        slides = slip > 1e-4
        mu = result.system[name].sliding_coefficient(0.0)
        assert np.abs(rub - mu * push)[slides].max(initial=0.0) < 1e-6, name


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(
    ("left", "right"),
    study([((-0.06, 0.06), (0.03, 0.03)), ((-0.05, 0.05), (-0.05, 0.05)), ((0.0, 0.0), (0.02, 0.02))], 1),
)
@pytest.mark.parametrize("lift", [Motion.polynomial([0, 0, 0.5]), Motion.rest_to_rest([0.1, 0.5], [0, 0.02])])
def test_fingers_that_slide_up_a_standing_box_have_loads_inside_the_cones(held, left, right, lift):
    """Sliding friction is redistributed, too, as long as the motion remains the same."""
    mu, mass, force = 0.9, 2.0, 9.81
    box, items = box_on_floor([0.2, 0.2, 0.2], mass, 0.5)
    car = Body.box("car", 1.0, [0.1, 0.1, 0.1], position=[0, 0, 0.5])
    rail = Prismatic("rail", GROUND, car, axis="z")
    items += [car, rail, Drive("lift", rail, lift)]
    for side, (low, high) in zip((-1, 1), (left, right), strict=True):
        finger = Body.box(f"finger {side}", 0.2, [0.04, 0.04, 0.04], position=[side * 0.12, 0, 0.1])
        slide = Prismatic(f"slide {side}", car, finger, axis=[-side, 0, 0])
        hold = (
            Drive(f"hold {side}", slide, Motion.polynomial([0.0]))
            if held and side < 0
            else JointForce(f"press {side}", slide, force)
        )
        items += [finger, slide, hold]
        for k, (y, z) in enumerate([(-0.06, low), (0.06, high)] if low == high else [(0, low), (0, high)]):
            plane, point = surface.plane([-side * 0.02, 0, 0], [-side, 0, 0]), surface.point([side * 0.1, y, z])
            pad = Contact(f"pad {side} {k}", finger, box, on_i=plane, on_j=point)
            items += [pad, Friction(f"grip {side} {k}", pad, mu)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 0.48, output=0.05)
        names = [(item.name, item.on.name, item.coefficient) for item in items if isinstance(item, Friction)]
        loads = {on: (result[on].force(), result[name].force()) for name, on, _ in names}
    assert np.abs(result["box"].position - result["box"].position[0]).max() < 1e-12
    for name, on, limit in names:
        push, rub = (np.linalg.norm(load, axis=1) for load in loads[on])
        assert (rub <= limit * push + 1e-6).all(), on
        slides = np.linalg.norm(result[name].slip, axis=1) > 1e-5
        assert rub[slides] == pytest.approx(limit * push[slides], abs=1e-9), on
    assert min(result[on].force()[:, 2].min() for _, on, _ in names if on.startswith("foot")) > -1e-6
    total = sum(push + rub for push, rub in loads.values())
    assert total == pytest.approx(np.broadcast_to([0, 0, mass * G], total.shape), abs=1e-8)
    pressed = sum(np.linalg.norm(loads[f"pad 1 {k}"][0], axis=1) for k in range(2))
    assert pressed == pytest.approx(force, abs=1e-8)


def touching(turn, reach, radius, height):
    """Distance between a sphere and the base of a box that has turned about its edge, at a distance `reach` from it."""
    return reach * np.sin(turn) + (radius - height) * np.cos(turn) - radius


@pytest.mark.parametrize(
    "motion",
    study(
        [
            Motion.polynomial([0, 0, 0.05]),
            Motion.polynomial([0, 0, 0, 0.05]),
            Motion.rest_to_rest([0.05, 0.6], [0, 0.02]),
        ],
        1,
    ),
)
@pytest.mark.parametrize(("floor", "pads"), [(0.9, 0.1), (0.6, 0.3), (0.3, 0.6)])
@pytest.mark.parametrize("reverse", [False, True])
def test_where_an_edge_of_a_box_is_lifted_the_weaker_friction_slides(motion, floor, pads, reverse):
    """Two spheres lift one edge: the box pivots on its other feet, and slides on the spheres or on the floor."""
    size, radius, reach = np.array([0.4, 0.3, 0.2]), 0.02, 0.36
    box, items = box_on_floor(size, 2.0, floor)
    lifter, lift = driven("lifter", 3.0, [reach - size[0] / 2, 0, -radius], "z", motion)
    items += lift
    for k, y in enumerate((-0.1, 0.1)):
        on_box, ball = surface.plane([0, 0, -0.1], [0, 0, -1]), surface.sphere(radius, [0, y, 0])
        pad = Contact(f"pad {k}", box, lifter, on_i=on_box, on_j=ball)
        items += [pad, Friction(f"grip {k}", pad, pads)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quirk.simulate(quirk.System(items[::-1] if reverse else items, gravity=[0, 0, -G]), 0.6, output=0.05)
    begun = (result.time > 0.2) & (result.time < 0.5)
    slides = {name: np.linalg.norm(result[name].slip, axis=1)[begun].min() > 1e-5 for name in ("rub 0", "grip 0")}
    assert slides == {"rub 0": floor < pads, "grip 0": pads < floor}
    name, contact, mu = ("rub 0", "foot 0", floor) if floor < pads else ("grip 0", "pad 0", pads)
    rub, push = (np.linalg.norm(result[of].force(), axis=1)[begun] for of in (name, contact))
    assert rub == pytest.approx(mu * push, rel=1e-9)
    if (
        floor > pads
    ):  # the box turns by a about the edge of its feet that stick: reach sin a + (radius - s) cos a = radius
        heights = [motion(t) for t in result.time]
        turn = [brentq(touching, -0.01, 0.5, (reach, radius, s), xtol=1e-15) for s in heights]
        x = size[0] / 2 * (np.cos(turn) - 1) - size[2] / 2 * np.sin(turn)
        assert np.abs(result["box"].position[:, 0] - x).max() < 1e-8
