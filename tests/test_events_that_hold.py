"""An event whose action holds its own quantity where it is happens once."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Event

METHODS = {
    "default": {},
    "RadauIIA9": {"method": "RadauIIA9"},
    "fixed steps": {"method": "RK4", "step": 1e-3},
    "baumgarte": {"stabilization": "baumgarte"},
}


def held(what, level, direction):
    """A double pendulum that a latch stops at a level of an angle or of a distance."""
    rod = Body.box("rod", 1.0, [1.0, 0.05, 0.05], position=[0.5, 0, 0])
    ball = Body.sphere("ball", 0.5, 0.1, position=[1.4, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    joint = quirk.Spherical("joint", rod, ball, point=[1.0, 0, 0])
    if what == "angle":
        latch, quantity = quirk.Fixed("latch", GROUND, rod, active=False), "hinge.angle"
    else:
        latch = quirk.Distance("latch", GROUND, ball, point_i=[1, 0, -1], length=1.0, active=False)
        quantity, level = "latch.distance", 0.8 + 0.1 * level
    event = Event("event", quantity, level=level, direction=direction, action=quirk.enable(latch, keep_offset=True))
    return quirk.System([rod, ball, hinge, joint, latch, event], gravity=[0, 0, -9.81])


CASES = [(how, what, 4 if how == "default" else 1) for how in METHODS for what in ("angle", "distance")]
MANY = [(how, what, 10 * count if how == "default" else 6) for how, what, count in CASES]


@pytest.mark.parametrize(("how", "what", "count"), study(CASES + MANY, len(CASES)))
def test_it_happens_once(how, what, count):
    rng = np.random.default_rng(1)
    for k in range(count):
        level, direction = rng.uniform(0.2, 1.2), int(rng.choice([0, 0, 1 if what == "angle" else -1]))
        result = quirk.simulate(held(what, level, direction), 1.0, output=0.5, **METHODS[how])
        print(how, what, k, level, direction, [(event.time, event.direction) for event in result.events])
        assert len(result.events) == 1
        assert result.status == "completed"


def welded(seed):
    """Two tumbling bodies on springs, which an event welds together at a distance of two of their points."""
    rng = np.random.default_rng(seed)
    bodies, parts = [], []
    for k in range(2):
        inertia = np.array([0.01, 0.012, 0.015]) * rng.uniform(0.5, 2)
        velocity, spin = [1.0 - 2 * k + 0.1 * rng.normal(), *0.1 * rng.normal(size=2)], 3 * rng.normal(size=3)
        bodies.append(
            Body(
                f"body {k}",
                rng.uniform(0.5, 3),
                inertia,
                position=[0.5 * k, 0, 0],
                velocity=velocity,
                angular_velocity=spin,
            )
        )
        point, stiffness = rng.uniform(-0.05, 0.05, 3), rng.uniform(20, 300)
        parts.append(
            quirk.Spring(
                f"spring {k}", GROUND, bodies[k], [0.5 * k, 0.3, 1.0], point, stiffness=stiffness, rest_length=0.8
            )
        )
    weld = quirk.Fixed("weld", *bodies, active=False)
    distance = quirk.distance_between(*bodies, *rng.uniform(-0.05, 0.05, (2, 3)))
    action = quirk.enable(weld, keep_offset=True)
    event = Event("event", distance, level=rng.uniform(0.3, 0.4), direction=-1, action=action)
    return quirk.System([*bodies, weld, *parts, event], gravity=[0, 0, -9.81])


@pytest.mark.parametrize("method", ["Rodas5P", "RadauIIA9", "auto"])
def test_two_bodies_are_welded_once(method):
    """Also where steps of the method leave the constraints by far more than round-off between their ends."""
    for seed in range(8):
        result = quirk.simulate(welded(seed), 3.0, output=3.0, method=method, rtol=1e-7)
        assert len(result.events) == 1, seed


def test_at_a_level_that_the_search_misses_by_its_noise():
    """The angle is held 2.7e-15 rad from its level, and what counts as noise is 2.6e-15 rad."""
    result = quirk.simulate(held("angle", 0.26271792257076826, 0), 1.0, output=0.5)
    assert len(result.events) == 1


def test_what_moves_on_slowly_happens_again():
    """A cart that an event has nearly stopped at a level passes it again when it is pushed back, and is stopped again."""
    cart = Body("cart", 1.0, [1, 1, 1], velocity=[1.0, 0, 0])
    push = quirk.Force("push", cart, [-2e-3, 0, 0])
    event = Event(
        "event",
        "cart.position.x",
        level=0.5,
        action=quirk.after(1, [quirk.set_velocity(cart, [1e-3, 0, 0]), quirk.enable(push)]),
    )
    system = quirk.System([cart, push, event])
    system.disable("push")
    result = quirk.simulate(system, 3.0, output=1.0)
    assert [round(one.time, 6) for one in result.events] == [0.5, 1.5, 2.5]
