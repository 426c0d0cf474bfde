"""Contacts that open with no acceleration, and impacts so slow that they have no rebound."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body

G = 9.81


def smooth_floor(seed):
    """A bead on a wavy floor that moves up and down and falls faster than the bead from half way up on.

    The bead may be far from the origin, and the gap is a distance times some number.
    """
    rng = np.random.default_rng(seed)
    amplitude, excess, away = rng.uniform(0.02, 0.1), rng.uniform(1.2, 4.0), 10 ** rng.uniform(-1, 2)
    scale, wave, length = 10 ** rng.uniform(-1, 1), rng.uniform(0.0, 0.3), rng.uniform(1.0, 4.0)
    push, w = rng.uniform(-1.0, 1.0), np.sqrt(G / amplitude * excess)
    bead = Body.sphere("bead", 1.0, 0.05, position=[away, 0, away + wave], velocity=[0, 0, amplitude * w])
    floor = quirk.OneSided(
        "floor",
        bead,
        lambda t, bead: scale * (
            bead.position[2] - away - amplitude * np.sin(w * t) - wave * np.cos(length * (bead.position[0] - away))
        ),
    )  # fmt: skip
    pushed = quirk.Force("push", bead, lambda t, r, q, v, rate: [push - 0.1 * v[0], 0, 0])
    return quirk.System([bead, floor, pushed], gravity=[0, 0, -G]), 1.8 * np.pi / w


# For some of the first ten the gap is negative by round-off after it has opened.
@pytest.mark.parametrize("seed", study([14, 70, 78, 103, 121, 132, 193, 196, 212, 243, *range(10)], 10))
def test_a_contact_that_opens_smoothly_does_not_strike_at_once(seed):
    system, end = smooth_floor(seed)
    events = quirk.simulate(system, end, rtol=1e-10, atol=1e-12).events
    assert events[0].direction == 1
    assert all(event.energy_loss > 0 and event.time > events[0].time + 1e-3 for event in events[1:2])


@pytest.mark.parametrize("seed", study(range(20), 4))
def test_impulses_of_friction_obey_the_law_down_to_the_last_rebound(seed):
    rng = np.random.default_rng(seed)
    restitution, mu = rng.uniform(0.2, 0.9), rng.uniform(0.1, 0.5)
    height, speed = 0.1 + rng.uniform(0.001, 0.05), rng.uniform(5.0, 8.0)
    ball = Body.sphere("ball", 1.0, 0.1, position=[0, 0, height], velocity=[speed, 0, 0])
    upright = quirk.Generic("upright", GROUND, ball, constrained=[0, 1, 0, 1, 1, 1])
    plane, sphere = quirk.surface.plane(), quirk.surface.sphere(0.1)
    floor = quirk.Contact("floor", GROUND, ball, on_i=plane, on_j=sphere, restitution=restitution)
    system = quirk.System([ball, upright, floor, quirk.Friction("rub", floor, mu)], gravity=[0, 0, -G])
    result = quirk.simulate(system, 1.0)
    impacts = [event.impulse for event in result.events if event.impulse and "rub" in event.impulse]
    assert len(impacts) > 3
    for impulse in impacts:
        friction, normal = -impulse["rub"].force[0], impulse["floor"].force[2]
        assert friction == pytest.approx(mu * normal, rel=1e-12)


# In the first five round-off of the impact is left when the action changes the load at the same instant.
@pytest.mark.parametrize("seed", study([46, 55, 64, 99, 103, *range(10)], 5))
def test_an_action_at_an_impact_causes_no_second_one(seed):
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    part = {"load": 1.0}
    body = Body.box("body", rng.uniform(0.3, 5.0), [0.1, 0.1, 0.1], position=rng.normal(size=3))
    rail = quirk.Prismatic("rail", GROUND, body, axis=axis, point=body.position)
    stop = quirk.Stop("stop", rail, upper=rng.uniform(0.1, 1.0))
    size = rng.uniform(3.0, 20.0)
    push = quirk.JointForce("push", rail, lambda t, x, v: size * part["load"] + np.sin(3 * t))
    pressed = quirk.Event(
        "pressed", "stop.force", level=0.1 * size, direction=1, action=lambda t, state: part.update(load=0.7)
    )
    events = quirk.simulate(quirk.System([body, rail, stop, push, pressed]), 2.0).events
    assert list(events.name) == ["stop", "pressed"] or list(events.name) == ["pressed", "stop"]
