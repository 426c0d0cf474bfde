"""Friction of bodies that do not touch: events of one part of a system do not change the modes of another."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Contact, Friction, Motion, surface

G = 10.0


def box_on_feet(name, rng, place):
    """Return a box on two to five rough feet under a force that varies, at the place (3,), m."""
    box = Body.box(name, float(rng.uniform(0.5, 4.0)), [0.4, 0.3, 0.1], position=place)
    count, items = int(rng.integers(2, 6)), [box]
    coefficient = rng.uniform(0.1, 0.5)
    static = coefficient * rng.uniform(1.0, 2.0)
    angle = 2 * np.pi * np.arange(count) / count
    for k, (x, y) in enumerate(zip(0.2 * np.cos(angle), 0.15 * np.sin(angle), strict=True)):
        floor, point = surface.plane([*place[:2], place[2] - 0.05]), surface.point([x, y, -0.05])
        foot = Contact(f"{name} foot {k}", GROUND, box, on_i=floor, on_j=point)
        items += [foot, Friction(f"{name} friction {k}", foot, coefficient, static=static)]
    limit, amplitude, omega = static * box.mass * G, rng.uniform(0.0, 0.15), rng.uniform(2.0, 9.0)
    push = Motion.sinusoid(amplitude * limit, omega, offset=rng.uniform(0.5, 0.95) * limit)
    items.append(quirk.Force(f"{name} push", box, [push, 0, 0]))
    if count == 2:
        items.append(quirk.Planar(f"{name} guide", GROUND, box, normal="y", point=place))
    return items


def slider(name, rng, place):
    """Return a slider on a rough rail that is braked and turns round, at the place (3,), m."""
    body = Body.box(name, 1.0, [0.1, 0.1, 0.1], position=place, velocity=[rng.uniform(0.2, 3.0), 0, 0])
    rail = quirk.Prismatic(f"{name} rail", GROUND, body, axis="x", point=place)
    pull = quirk.Force(f"{name} pull", body, [-rng.uniform(0.0, 8.0), 0, 0])
    return [body, rail, pull, Friction(f"{name} rubs", rail, rng.uniform(0.1, 0.4))]


def motion_of(items):
    """Return the events of a run of one second, and a function with position and velocity of a body at four times."""
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 1.0, output=0.25, rtol=1e-10)
    rows = [int(np.flatnonzero(np.isclose(result.time, 0.25 * k))[-1]) for k in range(1, 5)]
    return list(result.events), lambda name: np.hstack([result[name].position[rows], result[name].velocity[rows]])


@pytest.mark.parametrize("seed", study(range(60), 6))
def test_parts_that_do_not_touch_move_as_each_does_alone(seed):
    rng = np.random.default_rng(seed)
    makers = [box_on_feet if rng.random() < 0.6 else slider for _ in range(int(rng.integers(2, 5)))]
    parts = [make(f"part {k}", rng, [0, 3.0 * k, 0]) for k, make in enumerate(makers)]
    events, together = motion_of([item for items in parts for item in items])
    for k, items in enumerate(parts):
        events_alone, alone = motion_of(items)
        assert together(f"part {k}") == pytest.approx(alone(f"part {k}"), abs=1e-7), (seed, k)
        own = [event.time for event in events if event.name.startswith(f"part {k}")]
        assert own == pytest.approx([event.time for event in events_alone], abs=1e-7), (seed, k)


@pytest.mark.parametrize("spare", [False, True])
def test_a_sled_sticks_while_a_slider_on_it_turns_round(spare):
    """The push is 0.9 of the limit of static friction; a second slider, on a rail of its own, slides all the time."""
    sled = Body.box("sled", 2.0, [0.4, 0.4, 0.1])
    items = [sled, quirk.Force("push", sled, [9.0, 0, 0])]
    for k, (x, y) in enumerate([(-0.2, -0.2), (0.2, -0.2), (0, 0.2)]):
        foot = Contact(f"foot {k}", GROUND, sled, on_i=surface.plane([0, 0, -0.05]), on_j=surface.point([x, y, -0.05]))
        items += [foot, Friction(f"friction {k}", foot, 0.3, static=0.5)]
    for name, y, speed, pull in (("turns", 0.05, 1.0, -6.0), ("slides", -0.05, 3.0, 0.0))[: 1 + spare]:
        place = [0, y, 0.1]
        body = Body.box(name, 0.01, [0.01, 0.01, 0.01], position=place, velocity=[speed, 0, 0])
        rail = quirk.Prismatic(f"{name} rail", sled, body, axis="x", point=place)
        pull = quirk.Force(f"{name} pull", body, [pull * body.mass, 0, 0])
        items += [body, rail, pull, Friction(f"{name} rubs", rail, 0.2)]
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -G]), 0.4, output=0.1)
    assert [event.time for event in result.events] == pytest.approx([1.0 / 8.0])
    assert np.abs(result["sled"].position[-1]).max() < 1e-12


def groove(name, rng, x, height):
    """Return a ball at rest, at a height above a groove with faces at x in which friction may wedge it."""
    b, e, mu = rng.uniform(0.3, 0.9), rng.uniform(0.2, 1.0), rng.uniform(0.3, 1.2)
    ball = Body.sphere(name, 1.0, 0.1, position=[x, 0, 0.1 / np.sin(b) + height])
    items = [ball]
    for side in (1.0, -1.0):
        face = surface.plane([x, 0, 0], [side * np.cos(b), 0, np.sin(b)])
        contact = Contact(f"{name} {side:+g}", GROUND, ball, on_i=face, on_j=surface.sphere(0.1), restitution=e)
        items += [contact, Friction(f"{name} friction {side:+g}", contact, mu)]
    return items


def ball_above_floor(name, rng, x, height):
    """Return a ball at rest, at a height above a floor, with or without friction."""
    ball = Body.sphere(name, 1.0, 0.1, position=[x, 0, 0.1 + height])
    floor, e = surface.plane(), rng.uniform(0.2, 1.0)
    contact = Contact(f"{name} floor", GROUND, ball, on_i=floor, on_j=surface.sphere(0.1), restitution=e)
    return [ball, contact, *[Friction(f"{name} friction", contact, 0.4)] * int(rng.integers(2))]


@pytest.mark.parametrize("seed", study(range(60), 8))
def test_impacts_at_the_same_time_keep_the_restitution_of_each(seed):
    """Friction that wedges one body leaves the rebound of another one unchanged."""
    makers = (groove, ball_above_floor) if seed % 2 else (groove, groove)

    def moved(*which):
        made = [makers[k](f"part {k}", np.random.default_rng([seed, k]), 5.0 * k, 0.3) for k in which]
        system = quirk.System([item for items in made for item in items], gravity=[0, 0, -G])
        result = quirk.simulate(system, 0.45)
        return {k: result[f"part {k}"].position[-1] for k in which}

    both = moved(0, 1)
    for k in (0, 1):
        np.testing.assert_allclose(both[k], moved(k)[k], atol=1e-8)
