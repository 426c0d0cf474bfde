"""Gaps that jump by what an event's action sets, and contacts that an action enables while bodies interpenetrate."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body

G = 9.81
RUNS = [{}, {"stabilization": "baumgarte"}]


def standing(feet, rough, height=0.0):
    """A table of 2 kg over a floor that `floor[0]` places, on one gap at its middle or on three at its feet."""
    floor = [0.0]
    places = [(0.0, 0.0)] if feet == 1 else [(-0.5, -0.4), (0.5, -0.4), (0.0, 0.6)]
    table = Body("table", 2.0, [0.4, 0.4, 0.6], position=[0, 0, height])
    parts = [table]
    if feet == 1:
        parts.append(quirk.Prismatic("guide", GROUND, table, point=[0, 0, 0], axis="z"))
    for k, (x, y) in enumerate(places):
        foot = np.array([x, y, 0.0])
        gap = quirk.OneSided(
            f"foot {k}",
            [GROUND, table],
            lambda t, ground, body, foot=foot: (body.position + body.rotation @ foot)[2] - floor[0],
            point=lambda t, ground, body, foot=foot: body.position + body.rotation @ foot,
        )
        parts.append(gap)
        if rough:
            parts.append(quirk.Friction(f"friction {k}", gap, 0.3))
    return floor, parts


@pytest.mark.parametrize("options", study(RUNS, 1), ids=lambda options: "-".join(options.values()) or "default")
@pytest.mark.parametrize("rough", study([False, True], 1), ids=["smooth", "rough"])
@pytest.mark.parametrize("feet", [1])
def test_a_floor_that_drops(feet, rough, options):
    floor, parts = standing(feet, rough)

    def drop(t, state):
        floor[0] = -0.05

    event = quirk.Event("drop", "time", level=0.3, action=drop)
    result = quirk.simulate(quirk.System([*parts, event], gravity=[0, 0, -G]), 0.45, output=0.05, **options)
    landing = 0.3 + np.sqrt(2 * 0.05 / G)
    height, time = result["table"].position[:, 2], result.time
    after = (time > 0.3) & (time < landing - 1e-6)
    np.testing.assert_allclose(height[time <= 0.3], 0.0, atol=1e-8)
    np.testing.assert_allclose(height[after], -0.5 * G * (time[after] - 0.3) ** 2, atol=1e-7)
    np.testing.assert_allclose(height[-1], -0.05, atol=1e-6)
    load = sum(result[f"foot {k}"].force()[:, 2] for k in range(feet))
    np.testing.assert_allclose(load[time < 0.3], 2 * G, rtol=1e-6)
    np.testing.assert_allclose(load[after], 0.0, atol=1e-9)
    np.testing.assert_allclose(load[-1], 2 * G, rtol=1e-6)
    fallen = next(one for one in result.events if one.impulse)
    assert fallen.time == pytest.approx(landing, abs=1e-7)
    assert result.events[0].name == "drop"
    opened = [one.time for one in result.events if one.direction == 1 and one.name.startswith("foot")]
    assert opened == pytest.approx([0.3] * feet, abs=1e-12)
    assert result.events[0].energy_loss == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("options", study(RUNS, 1), ids=lambda options: "-".join(options.values()) or "default")
@pytest.mark.parametrize(("height", "rise"), study([(3.0, 2.9), (0.0, 1e-6), (0.0, 0.25)], 2))
@pytest.mark.parametrize("feet", [1])
def test_a_floor_that_rises_through_a_body(feet, height, rise, options):
    floor, parts = standing(feet, False, height)

    def lift(t, state):
        floor[0] = rise

    event = quirk.Event("lift", "time", level=0.3, action=lift)
    system = quirk.System([*parts, event], gravity=[0, 0, -G])
    fallen = height - 0.5 * G * 0.3**2 if height else 0.0
    with pytest.raises(quirk.SimulationError) as caught:
        quirk.simulate(system, 1.0, output=0.1, **options)
    text = str(caught.value)
    assert 'at t = 0.3 s: Event "lift": OneSided "foot 0": its gap' in text
    assert f"to {fallen - rise:.3g} m" in text
    assert caught.value.time == pytest.approx(0.3)
    np.testing.assert_allclose(caught.value.result["table"].position[-1, 2], fallen, atol=1e-8)


def test_one_of_several_gaps_that_drops():
    """A table tips over the line of the two feet that still stand."""
    low = [0.0]
    table = Body("table", 2.0, [0.4, 0.4, 0.6])
    floors = [lambda: 0.0, lambda: 0.0, lambda: low[0]]
    feet = [np.array([x, y, 0.0]) for x, y in [(-0.5, -0.4), (0.5, -0.4), (0.0, 0.6)]]
    gaps = [
        quirk.OneSided(f"foot {k}", table, lambda t, b, foot=foot, at=at: (b.position + b.rotation @ foot)[2] - at())
        for k, (foot, at) in enumerate(zip(feet, floors, strict=True))
    ]
    event = quirk.Event("drop", "time", level=0.04, action=lambda t, state: low.__setitem__(0, -0.1))
    result = quirk.simulate(quirk.System([table, *gaps, event], gravity=[0, 0, -G]), 0.06, output=0.02)
    closed = [result.active(f"foot {k}") for k in range(3)]
    assert closed[2].tolist() == (np.arange(len(result.time)) < np.flatnonzero(result.time == 0.04)[1]).tolist()
    # About the line of the other feet, at 0.4 m from the center of mass.
    tipped = np.flatnonzero(result.time == 0.04)[1]
    expected = -2.0 * G * 0.4 / (0.4 + 2.0 * 0.4**2)
    assert result["table"].angular_acceleration[tipped, 0] == pytest.approx(expected, rel=1e-9)


def falling(kind, depth, enable):
    """A ball that falls through a contact, which is disabled, and is `depth` below it where an event enables it."""
    ball = Body.sphere("ball", 1.0, 0.1, position=[0, 0, 1.1])
    parts, bottom = [ball], quirk.surface.sphere(0.1)
    if kind == "plane":
        parts.append(quirk.Contact("rest", GROUND, ball, on_i=quirk.surface.plane(), on_j=bottom))
    elif kind == "plate":
        plate = quirk.surface.rectangle([1.0, 1.0])
        parts.append(quirk.Contact("rest", GROUND, ball, on_i=plate, on_j=bottom))
    elif kind == "gap":
        parts.append(quirk.OneSided("rest", ball, lambda t, b: b.position[2] - 0.1))
    elif kind == "rope":
        parts.append(quirk.Rope("rest", GROUND, ball, points=[[0, 0, 2.0], [0, 0, 1.1]], length=1.9))
    else:
        slide = quirk.Prismatic("slide", GROUND, ball, point=[0, 0, 0], axis="z")
        parts += [slide, quirk.Stop("rest", slide, lower=-1.0)]
    system = quirk.System(parts, gravity=[0, 0, -G])
    system = system.with_parts(quirk.Event("on", "time", level=np.sqrt(2 * (1 + depth) / G), action=enable))
    system.disable("rest")
    return system


KINDS = ["plane", "gap", "rope", "stop"]


@pytest.mark.parametrize("options", RUNS, ids=lambda options: "-".join(options.values()) or "default")
@pytest.mark.parametrize("depth", study([0.02, 1e-4], 1))
@pytest.mark.parametrize("kind", KINDS)
def test_contacts_that_are_enabled_inside_of_each_other(kind, depth, options):
    system = falling(kind, depth, quirk.enable("rest"))
    with pytest.raises(quirk.SimulationError) as caught:
        quirk.simulate(system, 1.0, output=0.1, **options)
    text = str(caught.value)
    assert f'Event "on": {system["rest"]} cannot engage: its gap (' in text
    assert f"is {-depth:.3g} m" in text
    assert caught.value.time == pytest.approx(np.sqrt(2 * (1 + depth) / G))


@pytest.mark.parametrize("enable", [quirk.enable, quirk.engage])
@pytest.mark.parametrize("depth", [0.02, 1e-9])
@pytest.mark.parametrize("kind", KINDS)
def test_bodies_within_the_tolerance_are_moved_apart(kind, depth, enable):
    action = enable("rest", tolerance=0.021) if depth > 1e-6 else enable("rest")
    result = quirk.simulate(falling(kind, depth, action), 1.0, output=0.1)
    np.testing.assert_allclose(result["ball"].position[-1, 2], 0.1, atol=1e-9)
    (event,) = [one for one in result.events if one.name == "on"]
    before, after = np.flatnonzero(result.time == event.time)
    assert result["ball"].velocity[before, 2] == pytest.approx(-G * event.time)
    np.testing.assert_allclose(result["ball"].velocity[after], 0.0, atol=1e-9)
    assert result["rest"].force()[-1, 2] == pytest.approx(G)


@pytest.mark.parametrize("kind", [*KINDS, "plate"])
def test_contacts_that_are_enabled_apart(kind):
    result = quirk.simulate(falling(kind, -0.3, quirk.enable("rest")), 1.0, output=0.1)
    np.testing.assert_allclose(result["ball"].position[-1, 2], 0.1, atol=1e-8)
