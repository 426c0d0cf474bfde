"""Sliders with stops and with joint friction that sticks, which hold the same freedoms."""

import warnings

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Force, JointFriction, Motion, Prismatic, Stop


def two_blocks(speed=-1.0, *, stop=0.0, push=(-2.0, 2.0)):
    """Two blocks on a rail: a stop of the first, and a stop and friction between them."""
    one = Body("one", 1.0, [0.1] * 3, velocity=[speed, 0, 0])
    two = Body("two", 1.0, [0.1] * 3, position=[0.4, 0, 0], velocity=[speed, 0, 0])
    rail, between = Prismatic("rail", GROUND, one, axis="x"), Prismatic("between", one, two, axis="x")
    items = [one, two, rail, between, Stop("end", rail, lower=-0.1)]
    items += [] if stop is None else [Stop("stop", between, lower=0.0, restitution=stop)]
    items.append(JointFriction("brake", between, coulomb=1.0, sticking=True))
    items += [Force("push one", one, [Motion.polynomial(push), 0, 0]), Force("push two", two, [0.5, 0, 0])]
    return quirk.System(items)


@pytest.mark.parametrize("method", ["auto", "RadauIIA9", "Rodas5P"])
def test_a_stop_opens_while_another_one_and_friction_hold(method):
    """The force on both blocks, -2 + 2t + 0.5 N, passes through zero at 0.75 s."""
    result = quirk.simulate(two_blocks(), 2.0, output=0.1, method=method)
    opened = [event.time for event in result.events if event.name == "end" and event.direction == 1]
    np.testing.assert_allclose(opened, [0.75], rtol=1e-9)
    # From then on both move with the acceleration of half the force.
    assert result["one"].position[-1, 0] == pytest.approx(-0.1 + 1.25**3 / 6, rel=1e-7)


@pytest.mark.parametrize("speed", [-1.0, 1.0, 1e-3])
@pytest.mark.parametrize("method", ["auto", "RadauIIA9", "Rodas5P"])
def test_friction_begins_to_slide_on_a_moving_block(method, speed):
    """Slip is the difference of large velocities, whose round-off exceeds that of the slip."""
    system = two_blocks(speed, stop=None, push=(-2.0,)).without("end")
    result = quirk.simulate(system, 1.0, output=0.1, method=method)
    # The friction, 1 N, is exceeded by the 1.25 N with which both would have the same acceleration.
    assert result["one"].position[-1, 0] == pytest.approx(speed - 0.5, rel=1e-9)
    assert result["two"].position[-1, 0] == pytest.approx(0.4 + speed - 0.25, rel=1e-9)
    assert result.statistics.steps < 100


def sliders(seed):
    """A chain or tree of sliders under periodic forces, without gravity, with stops and friction in the joints."""
    rng = np.random.default_rng(seed)
    items, bodies = [], [GROUND]
    for k in range(rng.integers(2, 5)):
        body = Body(f"b{k}", rng.uniform(0.3, 2), [0.1] * 3, position=[0.4 * k, 0, 0])
        joint = Prismatic(f"j{k}", bodies[-1 if rng.random() < 0.6 else rng.integers(len(bodies))], body, axis="x")
        lower, upper = -rng.uniform(0, 0.3) if rng.random() < 0.7 else 0.0, rng.uniform(0.01, 0.3)
        limit, restitution = rng.uniform(0.2, 2), rng.choice([0, 0, 0.5])
        wave = Motion.sinusoid(rng.uniform(1, 6), rng.uniform(2, 8), rng.uniform(0, 6))
        items += [body, joint, Force(f"force {k}", body, [wave, 0, 0])]
        items += (
            [Stop(f"stop {k}", joint, lower=lower, upper=upper, restitution=restitution)] if rng.random() < 0.75 else []
        )
        items += [JointFriction(f"brake {k}", joint, coulomb=limit, sticking=True)] if rng.random() < 0.7 else []
        bodies.append(body)
    return quirk.System(items)


@pytest.mark.parametrize("seeds", study([range(12), range(12, 150)], 1))
def test_sliders_with_stops_and_brakes_do_not_stall(seeds):
    for seed in seeds:
        print(seed)
        result = quirk.simulate(sliders(seed), 1.5, output=0.05)
        assert len(result.events) < 300
        assert np.abs(result.power.balance).max() < 1e-5


def pulled_from_a_stop(seed, start, *, rotates, meter=1.0):
    """A body at its stop, held by friction of its joint, and a load along the joint that decreases; and when it leaves.

    The load decreases from `start` times the limit of friction. The stop cannot pull, so that the body leaves where
    the load exceeds the limit in the other direction.
    """
    rng = np.random.default_rng(seed)
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    weight = np.cross(axis, rng.normal(size=3)) * meter
    mass, mu, radius = rng.uniform(0.5, 3.0), rng.uniform(0.1, 0.9), rng.uniform(0.02, 0.1) * meter
    body = Body.box("body", mass, np.array([0.3, 0.2, 0.1]) * meter, position=rng.normal(size=3) * meter)
    limit = mass * mu * np.linalg.norm(weight) * (radius if rotates else 1.0)
    load = Motion.polynomial([start * limit, -limit])
    kind, drive = (quirk.Revolute, quirk.JointTorque) if rotates else (Prismatic, quirk.JointForce)
    joint = kind("joint", GROUND, body, point=body.position, axis=axis)
    friction = quirk.Friction("friction", joint, 0.5 * mu, static=mu, **({"radius": radius} if rotates else {}))
    items = [body, joint, friction, drive("drive", joint, load), Stop("stop", joint, upper=0.0)]
    return quirk.System(items, gravity=weight), start + 1.0


@pytest.mark.parametrize("meter", [1.0, 1e-3, 1e3])
@pytest.mark.parametrize("rotates", [False, True])
@pytest.mark.parametrize("start", [1.5, 0.5, 0.0, -0.5])
def test_a_stop_lets_go_where_the_load_exceeds_friction(start, rotates, meter):
    for seed in range(6):
        print(seed)
        system, leaves = pulled_from_a_stop(seed, start, rotates=rotates, meter=meter)
        result = quirk.simulate(system, 3.0, output=0.5)
        np.testing.assert_allclose(result.events.time, [leaves] * len(result.events), rtol=1e-8)
        assert "friction" in result.events.name
        later, joint = 3.0 - leaves, result["joint"]
        if rotates:
            assert joint.angle[-1] < 0.0
        else:
            acceleration = np.linalg.norm(system["friction"].static * system.gravity)
            expected = -acceleration * (later**2 / 4 + later**3 / 6)
            np.testing.assert_allclose(joint.travel[-1], expected, rtol=1e-6)


def seesaw(seed):
    """A board on a pin with friction, with a stop on both sides and two balls that roll on it."""
    rng = np.random.default_rng(seed)
    board = quirk.Body.box("board", rng.uniform(2, 6), [2.0, 0.3, 0.06], position=[0, 0, 0.5])
    pin = quirk.Revolute("pin", quirk.GROUND, board, point=[0, 0, 0.5], axis="y")
    rubs = quirk.Friction("rubs", pin, rng.uniform(0.05, 0.5), radius=rng.uniform(0.02, 0.1))
    stop = quirk.Stop(
        "stop", pin, lower=-rng.uniform(0.1, 0.5), upper=rng.uniform(0.1, 0.5), restitution=rng.uniform(0, 0.3)
    )
    parts = [board, pin, rubs, stop]
    for name, x in (("left", -0.5), ("right", 0.4)):
        radius, height = rng.uniform(0.06, 0.12), rng.uniform(0.0, 0.4)
        ball = quirk.Body.sphere(name, rng.uniform(0.3, 2), radius, position=[x, 0, 0.53 + radius + height])
        plate = quirk.surface.rectangle([2.0, 0.3], center=[0, 0, 0.03])
        contact = quirk.Contact(f"{name} contact", board, ball, on_i=plate, on_j=quirk.surface.sphere(radius))
        parts += [ball, contact, quirk.Friction(f"{name} friction", contact, rng.uniform(0.1, 0.6))]
    return quirk.System(parts, gravity=[0, 0, -9.81])


@pytest.mark.parametrize("seed", [3, 4, 5, 12, 15, 17])
def test_friction_of_a_pin_that_a_stop_holds_does_not_slip(seed):
    """Warnings are errors: the friction has nothing to hold, and the bounces at the stop do not make it creep."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.ContactLoadWarning)
        result = quirk.simulate(seesaw(seed), 1.5, output=0.1)
    held = result.active("stop")
    assert held.any()
    assert np.abs(result.joint("pin").angle_rate[held & np.append(np.diff(result.time) > 0, True)]).max() < 1e-12
