"""Bounces that become ever lower come to rest, where round-off of the gap is as large as what is left of them."""

import numpy as np
import pytest
from mechanisms import pendulum
from studies import study

import quirk


@pytest.mark.parametrize("options", [{}, {"method": "RK45"}, {"method": "RK4", "step": 0.01}, {"rtol": 1e-6}])
def test_a_pendulum_comes_to_rest_on_a_stop(options):
    system = pendulum(lambda rod, hinge: quirk.Stop("stop", hinge, upper=1.0, lower=-0.5, restitution=0.5))
    result = quirk.simulate(system, 2.0, output=0.1, **options)
    assert 15 < len(result.events) < 30
    assert result.events.time[-1] < 1.5
    assert result["hinge"].rotation[-1, 2] == pytest.approx(1.0, abs=1e-9)
    assert result["stop"].torque()[-1, 1] == pytest.approx(-0.5 * 9.81 * np.cos(1.0), rel=1e-9)


def test_a_slider_comes_to_rest_on_a_stop():
    """Bounces last ever shorter, by the restitution: a geometric series."""
    slider = quirk.Body.sphere("slider", 1.0, 0.1, position=[0, 0, 7.3])
    rail = quirk.Prismatic("rail", quirk.GROUND, slider, frame_i=quirk.Frame([0, 0, 6.3]), frame_j=quirk.Frame())
    stop = quirk.Stop("stop", rail, lower=0.0, restitution=0.7)
    result = quirk.simulate(quirk.System([slider, rail, stop], gravity=[0, 0, -10.0]), 4.0, output=0.1)
    fall = np.sqrt(0.2)
    np.testing.assert_allclose(
        result.events.time[:6], fall + 2 * fall * np.cumsum(0.7 ** np.arange(6)) - 2 * fall, rtol=1e-9
    )
    assert result.events.time[-1] == pytest.approx(fall * 1.7 / 0.3, rel=1e-5)


@pytest.mark.parametrize(("method", "cases"), study([("Vern9", 3), ("Taylor", 3), ("Vern9", 12), ("Taylor", 12)], 2))
def test_a_double_pendulum_with_a_coil_comes_to_rest(method, cases):
    """What a contact at rest carries is asked for with the turns that the coil has made by then."""
    rng = np.random.default_rng(1)
    for case in range(cases):
        e, k, damping, z = rng.uniform(0, 0.5), rng.uniform(5, 15), rng.choice([0, 0.1]), rng.uniform(-1, -0.6)
        print(case, e, k, damping, z)
        a = quirk.Body("a", 1.8, [0.01, 0.08, 0.08], position=[0.5, 0, 0])
        b = quirk.Body("b", 0.7, [0.02, 0.08, 0.08], position=[1.5, 0, 0])
        joints = [
            quirk.Revolute("h1", quirk.GROUND, a, point=[0, 0, 0], axis=[0, 1, 0]),
            quirk.Revolute("h2", a, b, point=[1, 0, 0], axis=[0, 1, 0]),
        ]
        floor = quirk.Contact("floor", quirk.GROUND, b, on_i=quirk.surface.plane([0, 0, z], [0, 0, 1]),
                              on_j=quirk.surface.sphere(0.05, [0.5, 0, 0]), restitution=e)  # fmt: skip
        coil = quirk.TorsionSpring("coil", joints[1], stiffness=k, damping=damping)
        result = quirk.simulate(quirk.System([a, b, *joints, floor, coil], gravity=[0, 0, -9.81]), 1.5, method=method)
        assert result.status == "completed"
        assert np.diff(result.energy.total).max() < 1e-6 * np.abs(result.energy.total).max()


@pytest.mark.parametrize(("length", "stiffness", "damping"), [(1.0, 1.6745e9, 6.394e4), (950.0, 4.17e4, 1.225e3)])
@pytest.mark.parametrize("rtol", study([1e-6, 1e-9], {1e-9}))
def test_a_bar_on_a_stiff_mount_comes_to_rest(length, stiffness, damping, rtol):
    """What rises slowly out of a gap that is below zero by round-off does not fall into it again and again."""
    mass = 6.78 if length == 1.0 else 1.0
    bar = quirk.Body.box("bar", mass, [length, 0.2 * length, 0.2 * length], position=[0.5 * length, 0, 0])
    k, c = np.array([1.0, 1.0, 1.0]), 0.1 * length**2 * np.array([1.0, 0.0, 1.0])
    mount = quirk.Bushing("mount", quirk.GROUND, bar, point=[0, 0, 0], stiffness=stiffness * np.append(k, c),
                          damping=damping * np.append(k, c))  # fmt: skip
    floor = quirk.Contact("floor", quirk.GROUND, bar, restitution=0.2,
                          on_i=quirk.surface.plane([0, 0, -0.6 * length], [0, 0, 1]),
                          on_j=quirk.surface.sphere(0.01 * length, [0.5 * length, 0, 0]))  # fmt: skip
    system = quirk.System([bar, mount, floor], gravity=[0, 0, -9.81])
    options = {"method": "RadauIIA9", "rtol": rtol, "atol": rtol / 1e3, "output": [0, 1.4 * np.sqrt(length)]}
    result = quirk.simulate(system, 1.4 * np.sqrt(length), **options)
    # The tip of the bar, half as long, lies on the floor.
    height = 0.59 * length
    assert result["bar"].position[-1, 2] == pytest.approx(-0.5 * height, rel=1e-5)
    assert np.abs(result["bar"].velocity[-1]).max() < 1e-6 * np.sqrt(length)


@pytest.mark.parametrize("method", ["RadauIIA9", "Rodas5P"])
def test_each_bounce_is_one_event_with_any_method(method):
    """Round-off may make a gap negative again just after an impact; a tumbling box has 57 impacts in 0.6 s."""
    spin = 2 * np.random.default_rng(0).normal(size=3)
    box = quirk.Body.box("box", 1.0, [0.3, 0.2, 0.4], position=[0, 0, 0.5], angular_velocity=spin)
    corners = [[0.15 * x, 0.1 * y, 0.2 * z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]
    contacts = [
        quirk.Contact(
            f"c{k}",
            quirk.GROUND,
            box,
            on_i=quirk.surface.plane(),
            on_j=quirk.surface.point(corner),
            restitution=0.5,
        )
        for k, corner in enumerate(corners)
    ]
    system = quirk.System([box, *contacts], gravity=[0, 0, -9.81])
    events, expected = (quirk.simulate(system, 0.6, output=0.1, method=one).events for one in (method, "Vern9"))
    assert [event.name for event in events] == [event.name for event in expected]
    assert all(event.impulse for event in events)
    np.testing.assert_allclose(events.time, expected.time, atol=1e-7)


def follower(seed, kind):
    """A slider that bounces behind another one, slowed down by friction without gravity, and times of rest, s.

    Friction acts in the joint of the front slider, with a constant limit or in proportion to a load across the joint,
    or in its contact with a wall against which it is pressed. The bounces last 2 u / a, 2 e u / a and so on, with
    the speed u after the first impact, the acceleration a by friction, and the coefficient of restitution e. Both
    sliders then slow down together.
    """
    rng = np.random.default_rng(seed)
    e, masses, limit = rng.uniform(0.1, 0.6), rng.uniform(0.5, 3.0, 2), rng.uniform(0.2, 0.5)
    speeds, mu = np.array([2.0, 1.5]), rng.uniform(0.1, 0.5)
    rear, front = (
        quirk.Body.box(name, mass, [0.1] * 3, position=[x, 0, 0], velocity=[speed, 0, 0])
        for name, mass, x, speed in zip(("rear", "front"), masses, (0.0, 0.12), speeds, strict=True)
    )
    ball, wall, press = quirk.surface.sphere(0.05), quirk.surface.plane([0, 0, -0.05], [0, 0, 1]), limit / mu
    rails = [quirk.Prismatic(f"rail of {body}", quirk.GROUND, body, axis="x") for body in (rear, front)]
    if kind == "wall":
        carriage = quirk.Body.box("carriage", masses[1], [0.1] * 3, position=[0.12, 0, 0], velocity=[1.5, 0, 0])
        front = quirk.Body.box("front", masses[1], [0.1] * 3, position=[0.12, 0, 0], velocity=[1.5, 0, 0])
        rails[1] = quirk.Prismatic("rail", quirk.GROUND, carriage, axis="x")
        foot = quirk.Contact("foot", quirk.GROUND, front, on_i=wall, on_j=ball)
        lift = quirk.Prismatic("lift", carriage, front, axis="z")
        friction = [carriage, lift, foot, quirk.Friction("friction", foot, mu)]
        masses = masses * [1.0, 2.0]
    elif kind == "load":
        friction = [quirk.Friction("friction", rails[1], mu)]
    else:
        friction = [quirk.JointFriction("friction", rails[1], coulomb=limit, sticking=True)]
    if kind != "limit":
        friction.append(quirk.Force("press", front, [0, 0, -press]))
    between = quirk.Contact("between", rear, front, on_i=ball, on_j=ball, restitution=e)
    slow, closing = limit / masses[1], speeds[0] - speeds[1]
    meet = (np.sqrt(closing**2 + 2 * slow * 0.02) - closing) / slow
    rest = meet + 2 * e * (closing + slow * meet) / slow / (1 - e)
    return quirk.System([rear, front, *rails, *friction, between]), rest, masses @ speeds / limit


@pytest.mark.parametrize("kind", ["limit", "load", "wall"])
@pytest.mark.parametrize("seeds", study([range(4), range(4, 60)], 1))
def test_a_slider_comes_to_rest_behind_one_that_friction_slows_down(kind, seeds):
    for seed in seeds:
        print(seed)
        system, rest, stop = follower(seed, kind)
        assert rest < 0.9 * stop
        result = quirk.simulate(system, 1.1 * stop, output=0.1)
        last = max(event.time for event in result.events.of("between") if event.time < 0.99 * stop)
        assert last == pytest.approx(rest, rel=1e-5)
        assert result.events.of("friction").time == pytest.approx([stop], rel=1e-6)
        assert result.active("between")[result.time > 1.001 * rest][:5].all()
        assert result["front"].position[-1, 0] - result["rear"].position[-1, 0] == pytest.approx(0.1, abs=1e-7)
