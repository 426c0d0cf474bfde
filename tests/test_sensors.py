"""Latches, sensors, and what ends runs."""

import numpy as np
import pytest

import quirk
from quirk.errors import InputError

G = 9.81


def modules(*more, tilt=0.02, **options):
    """Two boxes in space, one of which drifts towards the port of the other."""
    a = quirk.Body.box("a", mass=1.0, size=[1, 1, 1], velocity=[0.25, 0, 0], orientation=[1, 0, tilt / 2, 0])
    b = quirk.Body.box("b", mass=3.0, size=[1, 1, 1], position=[2.0, 0.01, 0])
    port = quirk.Fixed("port", a, b, frame_i=quirk.Frame([0.5, 0, 0]), frame_j=quirk.Frame([-0.5, 0, 0]), active=False)
    latch = quirk.Latch("latch", port, **({"distance": 0.05} | options))
    return quirk.System([a, b, port, latch, *more])


def test_a_latch_closes_when_its_frames_meet():
    result = quirk.simulate(modules(), 6.0, output=0.25, rtol=1e-11)
    (event,) = result.events
    rows = np.flatnonzero(result.time == event.time)
    port = result["port"]
    np.testing.assert_allclose(np.linalg.norm(port.displacement[rows[0]]), 0.05, rtol=1e-9)
    np.testing.assert_allclose(port.displacement[rows[-1] :], 0, atol=1e-12)
    for momentum in (result.momentum.linear, result.momentum.angular):
        np.testing.assert_allclose(momentum - momentum[0], 0, atol=1e-12)
    assert result.active("port")[-1]


@pytest.mark.parametrize(("limit", "closes"), [({"angle": 0.01}, False), ({"angle": 0.03}, True),
                                                ({"speed": 0.2}, False), ({"speed": 0.3}, True)])  # fmt: skip
def test_a_latch_does_not_close_when_turned_or_too_fast(limit, closes):
    result = quirk.simulate(modules(**limit), 6.0, output=1.0)
    assert bool(len(result.events)) == closes


def test_a_latch_breaks():
    system = modules(strength=0.4)
    tug = quirk.Force("tug", system["b"], lambda t, r, q, v, w: np.array([max(t - 6.0, 0.0), 0.0, 0.0]))
    result = quirk.simulate(system.with_parts(tug), 12.0, output=0.25, rtol=1e-11)
    assert result.events.name == ["latch", "latch breaks"]
    at = result["latch breaks"].time[0]
    row = np.flatnonzero(result.time == at)[0]
    np.testing.assert_allclose(np.linalg.norm(result["port"].force()[row]), 0.4, rtol=1e-9)
    assert not result.active("port")[-1]


def balls(count):
    """Balls that fly past each other."""
    places = np.random.default_rng(4).normal(size=(count, 3))
    return [
        quirk.Body.sphere(f"{k}", mass=1.0, radius=0.1, position=r, velocity=-0.5 * np.roll(r, 1) - 0.4 * r)
        for k, r in enumerate(places)
    ]


def test_sensors_of_families():
    one = balls(4)
    pairs = quirk.sensors("near", one, radius=0.8)
    assert len(pairs) == 6
    across = quirk.sensors("seen", one[:1], [(ball, [0.1, 0, 0]) for ball in one[1:]], radius=0.8)
    assert [event.name for event in across] == ["seen: 0 - 1", "seen: 0 - 2", "seen: 0 - 3"]
    result = quirk.simulate(quirk.System([*one, *pairs, *across]), 5.0, output=0.01)
    state, seen = result.state, 0
    for a in range(4):
        for b in range(a + 1, 4):
            apart = np.linalg.norm(state.position[:, a] - state.position[:, b], axis=1)
            falls = np.flatnonzero((apart[:-1] >= 0.8) & (apart[1:] < 0.8))
            times = result.events.of(f"near: {a} - {b}").time
            assert len(times) == len(falls)
            assert all(result.time[k] <= t <= result.time[k + 1] for k, t in zip(falls, times, strict=True))
            seen += len(times)
    assert seen > 0


def test_a_run_ends_after_so_many_hits():
    ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1, position=[0, 0, 1.1])
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1),
                          restitution=0.9)  # fmt: skip
    low = quirk.Event("low", "ball.position.z", level=0.5, direction=-1, action=quirk.after(3, "stop"))
    system = quirk.System([ball, floor, low], gravity=[0, 0, -G])
    for _ in range(2):
        result = quirk.simulate(system, 10.0, output=0.1)
        assert (result.status, len(result["low"])) == ("stopped", 3)


@pytest.mark.parametrize(
    ("quantity", "level", "direction", "time"),
    [
        ("ball.speed", 2.0, 1, 2.0 / G),
        ("time", 0.3, 0, 0.3),
        ("floor.gap", 0.0, -1, np.sqrt(2 / G)),
        ("energy.kinetic", 3.0, 1, np.sqrt(6.0) / G),
        ("weight.force", 5.0, 1, 0.25),
    ],
)
def test_a_run_ends_on_a_speed_a_force_a_collision_or_a_time(quantity, level, direction, time):
    ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1, position=[0, 0, 1.1])
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    weight = quirk.Force("weight", ball, lambda t, r, q, v, w: np.array([20.0 * t, 0.0, 0.0]))
    end = quirk.Event("end", quantity, level=level, direction=direction, action="stop")
    free = [weight] if "weight" in quantity else []
    result = quirk.simulate(quirk.System([ball, floor, end, *free], gravity=[0, 0, -G]), 2.0, output=0.1, rtol=1e-12)
    assert result.status == "stopped"
    np.testing.assert_allclose(result.time[-1], time, rtol=1e-10)


def test_errors():
    with pytest.raises(InputError, match='Latch "l": joint must be a joint'):
        quirk.Latch("l", "port", distance=0.1)
    with pytest.raises(InputError, match='Latch "latch": distance must be'):
        modules(distance=-1.0)
    with pytest.raises(InputError, match='sensors "s": family must be bodies'):
        quirk.sensors("s", ["a", "b"], radius=1.0)
    with pytest.raises(InputError, match="after: count"):
        quirk.after(0, "stop")
