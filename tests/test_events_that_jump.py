"""Events whose actions let their own quantity jump away from the level: they happen once."""

import numpy as np
import pytest
from studies import study

import quirk


def test_a_speed_that_is_set_by_its_own_event():
    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    slow = quirk.Event("slow", "ball.speed", level=3.0, action=quirk.set_velocity("ball", [0, 0, -1.0]))
    result = quirk.simulate(quirk.System([ball, slow], gravity=[0, 0, -10.0]), 1.0)
    np.testing.assert_allclose(result.events.time, [0.3, 0.5, 0.7, 0.9], rtol=1e-12)
    assert {event.direction for event in result.events} == {1}


def test_a_latch_that_opens_at_its_load():
    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    hold = quirk.Fixed("hold", quirk.GROUND, ball)
    pull = quirk.Force("pull", ball, [quirk.Motion.polynomial([0, 1.0]), 0, 0])
    breaks = quirk.Event("breaks", "hold.force", level=0.5, action=quirk.release(hold))
    result = quirk.simulate(quirk.System([ball, hold, pull, breaks]), 1.0)
    np.testing.assert_allclose(result.events.time, [0.5], rtol=1e-12)


def test_a_distance_that_a_latch_closes():
    """The latch moves the body by what is left of the distance, whose rate is then round-off."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[1.0, 0, 0], velocity=[-1.0, 0, 0])
    catch = quirk.Spherical("catch", quirk.GROUND, ball, frame_i=quirk.Frame(), frame_j=quirk.Frame(), active=False)
    push = quirk.Force("push", ball, [0.03, 0.02, 0.01], point=[0.1, 0, 0])
    latch = quirk.Event(
        "latch",
        quirk.distance_between(quirk.GROUND, ball),
        level=0.05,
        action=quirk.engage(catch, tolerance=0.1),
    )
    result = quirk.simulate(quirk.System([ball, catch, push, latch]), 2.0)
    assert [event.direction for event in result.events] == [-1]


def test_a_bounce_off_a_level_goes_on_from_there():
    """Poses stay, so that the quantity still is at the level, and rises from it: no second event."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 1.0])
    flip = quirk.Event("flip", "ball.position.z", level=0.2, action=quirk.set_velocity("ball", [0, 0, 4.0]))
    result = quirk.simulate(quirk.System([ball, flip], gravity=[0, 0, -10.0]), 1.9)
    np.testing.assert_allclose(result.events.time, [0.4, 1.2], rtol=1e-12)


def _beside(kind, level, log):
    """Parts whose action, sampled function or impact, as `kind` says, happens at the time `level`."""
    if kind == "sampled":
        return [quirk.Sampled("held", 0.1, lambda t, state: 0.0 if t < 2 else 1.0, inputs=["push"])]
    if kind == "impact":
        other = quirk.Body.sphere("other", 1.0, 0.1, position=[0, 2, 0.1 + level], velocity=[0, 0, -1.0])
        on = {"on_i": quirk.surface.plane(), "on_j": quirk.surface.sphere(0.1)}
        return [other, quirk.Contact("floor", quirk.GROUND, other, **on, restitution=0.5)]
    return [quirk.Event("acts", "time", level=level, action=lambda t, state: log.append(t))]


@pytest.mark.parametrize("method", study(["Vern9", "RK4", "RadauIIA9"], 1))
@pytest.mark.parametrize("kind", ["action", "sampled", "impact"])
@pytest.mark.parametrize("quantity", ["time", "puck.position.x", "rail.travel"])
def test_a_crossing_at_the_instant_of_another_event(method, kind, quantity):
    """It is recorded once, though round-off may put it on either side of the instant."""
    for level, speed in ((0.1, 0.3), (0.2, 1.0), (0.3, 0.7), (0.7, 0.3), (0.8, 1.0)):
        puck = quirk.Body.sphere("puck", 1.0, 0.1, velocity=[speed, 0, 0])
        rail = quirk.Prismatic("rail", quirk.GROUND, puck, axis="x", point=[0, 0, 0])
        push = quirk.JointForce("push", rail, 0.0)
        seen = quirk.Event("seen", quantity, level=level if quantity == "time" else speed * level)
        system = quirk.System([puck, rail, push, seen, *_beside(kind, level, [])])
        step = {"step": 0.1} if method == "RK4" else {}
        result = quirk.simulate(system, 1.0, output=0.25, method=method, **step)
        times = result.events.of("seen").time
        assert len(times) == 1 and abs(times[0] - level) < 1e-9, (level, speed, times)


@pytest.mark.parametrize("action", ["record", "stop"])
def test_a_velocity_that_stops_in_an_impact_and_goes_on_the_other_way(action):
    """Its rate is unknown, and it is zero right after the impact."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.6], velocity=[0, 0, -2.0])
    on = {"on_i": quirk.surface.plane(), "on_j": quirk.surface.sphere(0.1)}
    floor = quirk.Contact("floor", quirk.GROUND, ball, **on)
    lift = quirk.Force("lift", ball, [0, 0, 1.0])
    turns = quirk.Event("turns", "ball.velocity.z", direction=1, action=action)
    result = quirk.simulate(quirk.System([ball, floor, lift, turns]), 1.0, output=0.1)
    times = result.events.of("turns").time
    assert len(times) == 1 and abs(times[0] - (2.0 - np.sqrt(3.0))) < 1e-9


@pytest.mark.parametrize(
    ("quantity", "level"), [("ball.speed", 1.0), ("ball.velocity.x", 1.0), ("energy.kinetic", 0.5)]
)
def test_an_action_that_undoes_the_jump_of_another_event(quantity, level):
    """The ball brakes by 1 m/s^2 from 3 m/s, and is at 2 m at 3 - sqrt(5) s: "brake" sets 0.5 m/s, "kick" 2.5 m/s."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[3.0, 0, 0])
    drag = quirk.Force("drag", ball, [-1.0, 0, 0])
    kicks = []

    def kick(t, state):
        kicks.append(t)
        return quirk.set_velocity("ball", [2.5, 0, 0])

    brake = quirk.Event(
        "brake", "ball.position.x", level=2.0, direction=1, action=quirk.set_velocity("ball", [0.5, 0, 0])
    )
    events = [brake, quirk.Event("kick", quantity, level=level, action=kick)]
    result = quirk.simulate(quirk.System([ball, drag, *events]), 2.0)
    instant = 3 - np.sqrt(5)
    assert [(event.name, event.direction) for event in result.events] == [("brake", 1), ("kick", -1)]
    np.testing.assert_allclose(kicks, [instant], rtol=1e-12)
    np.testing.assert_allclose(result["ball"].velocity[-1, 0], 2.5 - (2 - instant), rtol=1e-12)


def test_a_jump_back_by_another_event_at_the_same_instant_counts():
    """ "brake" lets the speed jump below the levels of "watch" and "kick"; "kick", after "watch", lets it jump back."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[3.0, 0, 0])
    brake = quirk.Event("brake", "time", level=0.5, direction=1, action=quirk.set_velocity("ball", [0.5, 0, 0]))
    watch = quirk.Event("watch", "ball.speed", level=1.5, action=lambda t, state: None)
    kick = quirk.Event("kick", "ball.velocity.x", level=1.0, action=quirk.set_velocity("ball", [2.5, 0, 0]))
    result = quirk.simulate(quirk.System([ball, brake, watch, kick]), 1.0)
    seen = [(event.name, event.direction) for event in result.events]
    assert seen == [("brake", 1), ("watch", -1), ("kick", -1), ("watch", 1)]


def test_a_load_that_vanishes_as_its_own_event_switches_the_joint_off():
    """ "push" lets the load of the joint jump over the level of "breaks", which switches the joint off."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    hold = quirk.Fixed("hold", quirk.GROUND, ball)
    pull = quirk.Force("pull", ball, [2.0, 0, 0])
    push = quirk.Event("push", "time", level=0.5, direction=1, action=quirk.enable(pull))
    breaks = quirk.Event("breaks", "hold.force", level=1.0, action=quirk.disable(hold))
    system = quirk.System([ball, hold, pull, push, breaks])
    system.disable("pull")
    result = quirk.simulate(system, 1.0)
    assert [(event.name, event.direction) for event in result.events] == [("push", 1), ("breaks", 1)]
    np.testing.assert_allclose(result["ball"].velocity[-1, 0], 1.0, rtol=1e-12)


def _on_table(x):
    return float(np.interp(x, [-20.0, 20.0], [-20.0, 20.0]))


@pytest.mark.parametrize("method", [{}, {"method": "RK4", "step": 0.05}])
@pytest.mark.parametrize("quantity", ["length", "energy", "force", "potential", "joint", "function"])
def test_a_body_that_turns_back_at_a_level_whose_rate_is_unknown(quantity, method):
    """Values of springs, loads, energies and functions in Python have no rates; the ball turns back at x = 2 m."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[2.0, 0, 0])
    spring = quirk.Spring("spring", quirk.GROUND, ball, points=[[-5, 0, 0], [0, 0, 0]], stiffness=1e-9, rest_length=0)
    rail = quirk.Prismatic("rail", quirk.GROUND, ball, axis="x")
    push = quirk.Force("push", ball, lambda t, position, *motion: [0.0, 1.0 + position[0], 0.0])
    watched = {
        "length": ("spring.length", 7.0),
        "energy": ("spring.energy", 0.5e-9 * 7**2),
        "force": ("spring.force", 7e-9),
        "potential": ("energy.potential", 0.5e-9 * 7**2),
        "joint": ("rail.force", 3.0),
        "function": (lambda t, state: _on_table(state["ball"].position[0]), 2.0),
    }
    read, level = watched[quantity]
    bounce = quirk.Event(
        "bounce", read, level=level, action=lambda t, state: quirk.set_velocity("ball", -state.velocity[0])
    )
    result = quirk.simulate(quirk.System([ball, rail, spring, push, bounce]), 2.0, output=0.5, **method)
    assert [event.direction for event in result.events] == [1]
    np.testing.assert_allclose(result["ball"].position[-1, 0], 0.0, atol=1e-6)


LEVELS = {
    "rail.travel_rate": lambda part, v, k, m: part * v,
    "spring.force": lambda part, v, k, m: part * v * np.sqrt(k * m),
    "spring.energy": lambda part, v, k, m: abs(part) * m * v * v / 2,
    "energy.potential": lambda part, v, k, m: abs(part) * m * v * v / 2,
}


@pytest.mark.parametrize("seed", study(range(80), 8))
@pytest.mark.parametrize("quantity", LEVELS)
def test_events_caused_by_an_event_do_not_repeat_it(quantity, seed):
    """An oscillator passes a level; the action moves another body, whose own event moves it back at the same time."""
    rng = np.random.default_rng(seed)
    v, k, m, part = rng.uniform(1, 2), rng.uniform(2, 6), rng.uniform(0.5, 2), rng.uniform(-0.9, 0.9)
    method = ("Vern9", "Tsit5", "RadauIIA9", "auto")[seed % 4]

    def crossings(action):
        block = quirk.Body.box("block", m, [0.1, 0.1, 0.1], velocity=[v, 0, 0])
        other = quirk.Body.box("other", 1.0, [0.1, 0.1, 0.1], position=[0, 1, 0], velocity=[1.0, 0, 0])
        rail = quirk.Prismatic("rail", quirk.GROUND, block, axis="x")
        ends = [[-3, 0, 0], [0, 0, 0]]
        spring = quirk.Spring("spring", quirk.GROUND, block, points=ends, stiffness=k, rest_length=3.0)
        level = LEVELS[quantity](part, v, k, m)
        passes = quirk.Event("passes", quantity, level=level, action=action)
        turns = quirk.Event(
            "turns", "other.velocity.x", direction=-1, action=quirk.set_velocity("other", [1.0, 0, 0], [0, 0, 0])
        )
        system = quirk.System([block, other, rail, spring, passes, turns])
        events = quirk.simulate(system, 8.0, output=1.0, method=method).events
        return events.of("passes"), events.of("turns")

    passed, turned = crossings(quirk.set_velocity("other", [-1.0, 0, 0], [0, 0, 0]))
    alone, _ = crossings(None)
    assert [event.direction for event in passed] == [event.direction for event in alone]
    np.testing.assert_allclose(passed.time, alone.time, rtol=1e-7)
    np.testing.assert_array_equal(turned.time, passed.time)


@pytest.mark.parametrize("quantity", ["rail.travel_rate", lambda t, state: 1.0 * state["block"].velocity[0]])
def test_an_event_at_its_level_that_a_later_one_lets_jump(quantity):
    """The second event lets the first one's quantity jump back beyond its level at the same instant: both happen."""
    block = quirk.Body.sphere("block", 1.0, 0.1)
    other = quirk.Body.sphere("other", 1.0, 0.1, position=[0, 1, 0], velocity=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, block, axis="x")
    push = quirk.Force("push", block, [1.0, 0, 0])
    turn = quirk.set_velocity("other", [-1.0, 0, 0], [0, 0, 0])
    fast = quirk.Event("fast", quantity, level=0.5, action=lambda t, state: turn if state.velocity[0, 0] > 0.4 else [])
    back = quirk.Event(
        "back", "other.velocity.x", direction=-1, action=quirk.set_velocity("block", [-0.5, 0, 0], [0, 0, 0])
    )
    result = quirk.simulate(quirk.System([block, other, rail, push, fast, back]), 1.2)
    assert [(event.name, event.direction) for event in result.events] == [("fast", 1), ("back", -1), ("fast", -1)]
    np.testing.assert_allclose(result.events.time, 0.5, rtol=1e-12)
    np.testing.assert_allclose(result["block"].velocity[-1, 0], 0.2, rtol=1e-12)


@pytest.mark.parametrize("seed", [242, 388, 573, 605, 859, 1257])
@pytest.mark.parametrize("quantity", ["spring.energy", "energy.potential"])
def test_events_that_a_step_ends_short_of_are_listed_once(quantity, seed):
    """The repeated step of an implicit method may end before the zero by its own inaccuracy."""
    rng = np.random.default_rng(seed)
    v, k, level, start = rng.uniform(0.5, 2), rng.uniform(2, 8), rng.uniform(0.1, 0.4), rng.uniform(0, 50)
    block = quirk.Body.box("block", 1.3, [0.1, 0.1, 0.1], velocity=[v, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, block, axis="x")
    spring = quirk.Spring("spring", quirk.GROUND, block, points=[[-3, 0, 0], [0, 0, 0]], stiffness=k, rest_length=3.0)
    passes = quirk.Event("passes", quantity, level=level, direction=-1, action=lambda t, state: None)
    system = quirk.System([block, rail, spring, passes])
    result = quirk.simulate(system, 12.0, start=start, method="RadauIIA9")
    w, high = np.sqrt(k / 1.3), level < 0.65 * v * v
    phase = np.pi - np.arcsin(np.sqrt(level / (0.65 * v * v))) if high else np.inf
    expected = [t for t in (phase + np.pi * np.arange(50)) / w if t < 12.0]
    np.testing.assert_allclose(result.events.time - start, expected, atol=1e-6)


@pytest.mark.parametrize("seed", study(range(60), 12))
@pytest.mark.parametrize("quantity", ["lower.torque", "lower.force.z"])
def test_events_at_loads_whose_round_off_is_larger_than_that_of_motions(quantity, seed):
    """An event with an action has the times and directions of one that is only recorded."""
    rng = np.random.default_rng(seed)
    turns = rng.normal(size=(2, 4))
    one, two = (
        quirk.Body.box(name, 1.0, rng.uniform(0.1, 0.6, 3), position=place, orientation=turn / np.linalg.norm(turn))
        for name, place, turn in zip(("one", "two"), ([0.3, 0, 0], [0.6, 0.25, 0.1]), turns, strict=True)
    )
    upper = quirk.Revolute("upper", quirk.GROUND, one, point=[0, 0, 0], axis=rng.normal(size=3))
    lower = quirk.Revolute("lower", one, two, point=[0.6, 0, 0], axis=rng.normal(size=3))
    ends = {"point_i": [1, 1, 1], "point_j": [0.2, 0, 0]}
    spring = quirk.Spring("spring", quirk.GROUND, two, stiffness=30.0, rest_length=0.5, damping=0.3, **ends)
    system = quirk.System([one, two, upper, lower, spring], gravity=[0, 0, -9.81])
    system.assemble(rates={"upper": 2.0, "lower": -3.0})
    seen = quirk.simulate(system, 0.5, output=0.005)["lower"]
    load = seen.force()[:, 2] if quantity == "lower.force.z" else np.linalg.norm(seen.torque(), axis=1)
    level, direction = rng.uniform(load.min(), load.max()), int(rng.choice([-1, 0, 1]))

    def crossings(action):
        event = quirk.Event("load", quantity, level=level, direction=direction, action=action)
        result = quirk.simulate(system.with_parts(event), 0.5, output=0.1, rtol=1e-11, atol=1e-13)
        return [(round(event.time, 7), event.direction) for event in result.events]

    assert crossings(lambda t, state: None) == crossings(None)
