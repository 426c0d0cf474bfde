"""Contacts that touch without pressing, beside joints and contacts that share loads at rest: their loads are zero."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Contact, Force, JointFriction, Prismatic

pytestmark = pytest.mark.filterwarnings("error::quirk.ContactLoadWarning")
SIDE = 0.1


def row_of_sliders(seed, *, pushed):
    """Sliders in a row that touch, and come to rest by brakes.

    If they are `pushed`, another one slides on beyond them; otherwise brakes exert the only loads of the system.
    Returns the system, and the limit of the brake (0 without brake), N, and the push, N, of each slider in the row.
    """
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 6))
    limits = rng.uniform(1.0, 4.0, count) * (rng.random(count) < 0.7)
    pushes = rng.uniform(-1.0, 1.0, count) * limits * pushed
    speed, items = rng.choice([-1.0, 1.0]) * rng.uniform(0.1, 0.4), []
    boxes = [
        Body.box(f"b{k}", rng.uniform(0.3, 3.0), [SIDE] * 3, position=[SIDE * k, 0, 0], velocity=[speed, 0, 0])
        for k in range(count)
    ]
    if pushed:
        boxes.append(Body.box("beyond", 1.0, [SIDE] * 3, position=[5, 0, 0], velocity=[5, 0, 0]))
    rails = [Prismatic(f"rail {k}", GROUND, box, axis="x") for k, box in enumerate(boxes)]
    for k in range(count):
        items += [JointFriction(f"brake {k}", rails[k], coulomb=limits[k], sticking=True)] if limits[k] else []
        items += [Force(f"push {k}", boxes[k], [pushes[k], 0, 0])]
    if pushed:
        items.append(JointFriction("drag", rails[-1], coulomb=0.5, sticking=True))
    ball = quirk.surface.sphere(SIDE / 2)
    items += [Contact(f"c{k}", boxes[k - 1], boxes[k], on_i=ball, on_j=ball) for k in range(1, count)]
    return quirk.System([*boxes, *rails, *items], gravity=[0, 0, -9.81 * rng.integers(2) * pushed]), limits, pushes


@pytest.mark.parametrize("pushed", [True, False])
@pytest.mark.parametrize("seeds", study([range(20), range(20, 300)], 1))
def test_loads_of_a_row_of_sliders_move_each_of_them(seeds, pushed):
    for seed in seeds:
        print(seed)
        system, limits, pushes = row_of_sliders(seed, pushed=pushed)
        result = quirk.simulate(system, 2.0, output=0.05)
        contacts = np.array([result[f"c{k}"].force()[:, 0] for k in range(1, len(limits))])
        brakes = np.array(
            [result[f"brake {k}"].along() if limit else 0.0 * result.time for k, limit in enumerate(limits)]
        )
        none = np.zeros((1, len(result.time)))
        force = np.vstack([none, contacts]) - np.vstack([contacts, none]) + brakes + pushes[:, None]
        for k, total in enumerate(force):
            np.testing.assert_allclose(total, system[f"b{k}"].mass * result[f"b{k}"].acceleration[:, 0], atol=1e-9)
        assert (contacts >= -1e-9).all()
        assert (np.abs(brakes) <= limits[:, None] * (1 + 1e-9)).all()
        for k in range(1, len(limits)):
            assert result.active(f"c{k}")[contacts[k - 1] > 1e-9].all()


@pytest.mark.parametrize("rough", [True, False])
@pytest.mark.parametrize("seeds", study([range(5), range(5, 100)], 1))
def test_a_cart_that_touches_a_box_at_rest_has_only_its_weight(rough, seeds):
    """The feet of the box share loads, as friction at both opposes the same motion; the cart is free along its rail."""
    for seed in seeds:
        print(seed)
        rng, plane = np.random.default_rng(seed), quirk.surface.plane
        box = Body.box("box", rng.uniform(0.3, 2.0), [0.6, 0.2, 0.1], position=[0, 0, 0.05])
        cart = Body.box("cart", rng.uniform(0.3, 2.0), [SIDE] * 3, position=[0.35, 0, 0.05])
        guide = quirk.Planar("guide", GROUND, box, point=[0, 0, 0], axis="y")
        rail = Prismatic("rail", GROUND, cart, axis="x")
        items = [box, cart, guide, rail]
        for k, x in enumerate(rng.uniform(0.1, 0.3, 2) * [-1, 1]):
            foot = Contact(f"foot {k}", GROUND, box, on_i=plane(), on_j=quirk.surface.point([x, 0, -0.05]))
            items += [foot, quirk.Friction(f"friction {k}", foot, rng.uniform(0.05, 0.6))]
        side = Contact("side", box, cart, on_i=plane([0.3, 0, 0], [1, 0, 0]), on_j=quirk.surface.sphere(SIDE / 2))
        items += [side, quirk.Friction("rub", side, 0.3)] if rough else [side]
        system, weight = quirk.System(items, gravity=[0, 0, -9.81]), cart.mass * 9.81
        event = quirk.Event("heavy", "rail.force", level=1.01 * weight)
        result = quirk.simulate(system, 0.1, output=0.05, events=[event])
        np.testing.assert_allclose(result["side"].force(), 0.0, atol=1e-9)
        np.testing.assert_allclose(result["rail"].force(), [[0.0, 0.0, weight]] * 3, atol=1e-9)
        at_start = system.joint_loads(system.initial_state())["rail"].force
        np.testing.assert_allclose(at_start, [0.0, 0.0, weight], atol=1e-9)
        assert len(result.events) == 0
        assert result["side"].unique.force == "unique"
