"""Contacts and friction where an input, a sampled value or an action changes the loads at once."""

import pickle

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Sampled

G = [0, 0, -9.81]
HOLDS, BREAKS = -1, 1


def rail_block(u):
    """A block on a rail with a constant limit of friction, 3 N for u = 1."""
    block = Body.box("block", 1.0, np.array([0.2, 0.2, 0.2]) * u)
    rail = quirk.Prismatic("rail", GROUND, block, axis="x")
    return [block, rail, quirk.JointFriction("rub", rail, coulomb=3.0 * u, static=4.0 * u, sticking=True)]


def guided_block(u):
    """A block on a rail with friction by its weight, 3 N for u = 1."""
    block = Body.box("block", 1.0, np.array([0.2, 0.2, 0.2]) * u)
    rail = quirk.Prismatic("rail", GROUND, block, axis="x")
    return [block, rail, quirk.Friction("rub", rail, 3.0 / 9.81, static=4.0 / 9.81)]


def ball_on_plane(u):
    """A ball that cannot turn, on a plane, with friction by its weight, 3 N for u = 1."""
    ball = Body.sphere("block", 1.0, 0.1 * u, position=[0, 0, 0.1 * u])
    plane = {"on_i": quirk.surface.plane(), "on_j": quirk.surface.sphere(0.1 * u)}
    floor = quirk.Contact("floor", GROUND, ball, **plane)
    upright = quirk.Generic("upright", GROUND, ball, constrained=[0, 0, 0, 1, 1, 1])
    return [ball, floor, upright, quirk.Friction("rub", floor, 3.0 / 9.81, static=4.0 / 9.81)]


KINDS = [rail_block, guided_block, ball_on_plane]


def system_of(kind, u, push, *more):
    parts = kind(u)
    return quirk.System([*parts, quirk.Force("push", parts[0], push), *more], gravity=np.array(G) * u)


def seen(events):
    return [(event.name, event.direction, event.time) for event in events]


@pytest.mark.parametrize("u", study([1.0, 1e-3, 1e3], {1e-3}))
@pytest.mark.parametrize("kind", KINDS)
def test_the_first_sampled_value_belongs_to_the_initial_state(kind, u):
    """A run begins as with a constant force: it slides at once, where the force without the value would stick."""
    controller = Sampled("controller", 0.1, lambda t, state: [10.0 * u, 0, 0], inputs=["push"])
    sampled = system_of(kind, u, [0, 0, 0], controller)
    options = {"method": "RK4", "step": 0.01, "output": 0.05}
    result = quirk.simulate(sampled, 0.2, **options)
    constant = quirk.simulate(system_of(kind, u, [10.0 * u, 0, 0]), 0.2, **options)
    np.testing.assert_array_equal(result.time, constant.time)
    np.testing.assert_array_equal(result["block"].position, constant["block"].position)
    np.testing.assert_allclose(result["rub"].force()[:, 0], -3.0 * u, rtol=1e-12)
    np.testing.assert_allclose(result["block"].acceleration[:, 0], 7.0 * u, rtol=1e-12)
    assert not result["rub"].sticking.any() and len(result.events) == 0
    run = quirk.Run(sampled)
    assert not run["rub"].sticking and len(run.events) == 0
    assert run["rub"].force()[0] == pytest.approx(-3.0 * u, rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_a_first_value_that_holds_what_would_slide(kind):
    """Without the value the block slides down a slope from the start."""
    slope = np.array([9.0, 0, 0])
    controller = Sampled("controller", 0.1, lambda t, state: [-8.0 if t < 0.25 else 0.0, 0, 0], inputs=["push"])
    system = system_of(kind, 1.0, [0, 0, 0], controller)
    system = system.with_parts(quirk.Force("weight", system["block"], slope))
    result = quirk.simulate(system, 0.4, output=0.1)
    moves = result.events.time[0]
    assert moves == 3 * 0.1 and seen(result.events) == [("rub", BREAKS, moves)]
    assert result["rub"].sticking[result.time < moves].all()
    at = np.flatnonzero(result.time == moves)
    np.testing.assert_array_equal(result["rub"].sticking[at], [True] * (len(at) - 1) + [False])
    np.testing.assert_allclose(result["block"].acceleration[at[-1], 0], 6.0, rtol=1e-12)


@pytest.mark.parametrize("u", study([1.0, 1e-3, 1e3], {1e3}))
@pytest.mark.parametrize("kind", KINDS)
def test_inputs_that_break_friction_loose_are_events(kind, u):
    run = quirk.Run(system_of(kind, u, [0, 0, 0]), inputs=["push"], keep=0.5)
    listed, times = [], [0.5, 1.0]
    for t, force in zip(times, (3.5, 10.0), strict=True):
        run.advance_to(t)
        listed += run.events
        run.inputs["push"] = [force * u, 0, 0]
        assert run["rub"].sticking == (force < 4.0)
    run.advance(0.01)
    listed += run.events
    assert seen(listed) == [("rub", BREAKS, 1.0)]
    assert listed[0].energy_before == listed[0].energy_after and not listed[0].impulse
    run.advance(0.01)
    assert len(run.events) == 0
    result = run.result()
    assert seen(result.events) == seen(listed)
    before, after = np.flatnonzero(result.time == 1.0)[[0, -1]]
    np.testing.assert_array_equal(result["rub"].sticking[[before, after]], [True, False])
    np.testing.assert_allclose(result["rub"].force()[[before, after], 0], [-3.5 * u, -3.0 * u], rtol=1e-9)


@pytest.mark.parametrize("kind", study(KINDS, 1))
def test_simulations_and_runs_list_the_events_of_sampled_values(kind):
    """Each value breaks the friction loose, holds it once the block has stopped, and so on."""

    def push(t, state):
        return [(0.0, 12.0, -9.0)[round(t / 0.25) % 3], 0, 0]

    system = system_of(kind, 1.0, [0, 0, 0], Sampled("controller", 0.25, push, inputs=["push"]))
    result = quirk.simulate(system, 3.0, output=0.1)
    run, listed = quirk.Run(system, keep=0.1, end=3.0), []
    for k in range(30):
        run.advance_to((k + 1) * 0.1)
        listed += run.events
    assert len(listed) >= 8 and [event.name for event in listed] == ["rub"] * len(listed)
    assert seen(listed) == seen(run.result().events)
    assert [event[:2] for event in seen(listed)] == [event[:2] for event in seen(result.events)]
    np.testing.assert_allclose([event.time for event in listed], result.events.time, rtol=1e-9)
    # Where friction holds and slips in turn, the mask follows the events.
    for event in listed:
        after = np.flatnonzero(result.time <= event.time + 1e-9)[-1]
        assert result["rub"].sticking[after] == (event.direction == HOLDS)


def test_friction_that_is_stopped_at_once_sticks_again():
    run = quirk.Run(system_of(rail_block, 1.0, [0, 0, 0]), inputs=["push"])
    listed = []
    for t, force in ((1.0, 10.0), (1.0 + 1e-12, 0.0), (2.0, 10.0), (2.0 + 1e-12, -10.0)):
        run.advance_to(t)
        listed += run.events
        run.inputs["push"] = [force, 0, 0]
    run.advance(0.1)
    listed += run.events
    names, directions, times = zip(*seen(listed), strict=True)
    assert names == ("rub",) * 4 and directions == (BREAKS, HOLDS, BREAKS, BREAKS)
    np.testing.assert_allclose(times, [1.0, 1.0, 2.0, 2.0], rtol=1e-11)
    assert run["block"].velocity[0] == pytest.approx(-0.7, rel=1e-9)


def box_on_floor(mu):
    box = Body.box("box", 2.0, [0.4, 0.2, 0.2], position=[0, 0, 0.1])
    parts = [box]
    for k, (x, y) in enumerate((x, y) for x in (-0.2, 0.2) for y in (-0.1, 0.1)):
        corner = quirk.surface.point([x, y, -0.1])
        parts.append(quirk.Contact(f"c{k}", GROUND, box, on_i=quirk.surface.plane(), on_j=corner))
        if mu:
            parts.append(quirk.Friction(f"f{k}", parts[-1], mu))
    return quirk.System([*parts, quirk.Force("push", box, [0, 0, 0], point=[0, 0, -0.05])], gravity=G)


@pytest.mark.parametrize(
    ("mu", "push", "events"),
    [
        (0.4, [20.0, 0, 0], [("f0", BREAKS)]),
        (0.4, [0, 0, 30.0], [(f"c{k}", BREAKS) for k in range(4)]),
        (0.0, [0, 0, 30.0], [(f"c{k}", BREAKS) for k in range(4)]),
        (0.4, [0, 3.0, 19.0], [("c1", BREAKS), ("c3", BREAKS), ("f0", BREAKS)]),
        (0.4, [0, 0, 19.0], []),
    ],
)
def test_contacts_that_share_a_load(mu, push, events):
    """Friction that shares its limit slips in one event, and each contact that opens is one."""
    run = quirk.Run(box_on_floor(mu), inputs=["push"], keep=0.1)
    run.advance(1.0)
    run.inputs["push"] = push
    opened, loose = ({name for name, _ in events if name[0] == kind} for kind in "cf")
    slides = bool(opened or loose)
    for k in range(4 if mu else 0):
        assert run[f"f{k}"].sticking == (not slides)
    now = [run[f"c{k}"].force()[2] > 0 for k in range(4)]
    assert now == [f"c{k}" not in opened for k in range(4)]
    run.advance(0.01)
    assert seen(run.events) == [(*event, 1.0) for event in events]
    result = run.result()
    at = np.flatnonzero(result.time == 1.0)
    for k in range(4 if mu else 0):
        assert result[f"f{k}"].sticking[at[0]] and result[f"f{k}"].sticking[at[-1]] == (not slides)


@pytest.mark.parametrize("u", [1.0, 1e-3])
def test_a_stop_that_an_input_opens(u):
    block = Body.box("block", 1.0, np.array([0.2, 0.2, 0.2]) * u)
    rail = quirk.Prismatic("rail", GROUND, block, axis="x")
    motor = quirk.JointForce("motor", rail, -5.0 * u)
    system = quirk.System([block, rail, motor, quirk.Stop("stop", rail, lower=0.0)])
    run = quirk.Run(system, inputs=["motor"], keep=0.1)
    run.advance(0.3)
    run.inputs["motor"] = 2.0 * u
    assert run["stop"].force()[0] == 0.0
    run.advance(0.2)
    assert seen(run.events) == [("stop", BREAKS, 0.3)]
    assert run["block"].position[0] == pytest.approx(0.04 * u, rel=1e-12)


def test_an_input_at_the_start_of_a_run():
    """The stored state at the start is that with the input, before and after the run is restored."""
    run = quirk.Run(system_of(rail_block, 1.0, [0, 0, 0]), inputs=["push"], keep=0.1)
    first = run.save()
    run.inputs["push"] = [10.0, 0, 0]
    pending = pickle.loads(pickle.dumps(run.save()))
    assert not run["rub"].sticking and run["block"].acceleration[0] == pytest.approx(7.0, rel=1e-12)
    listed = []
    for saved in (None, pending, first, pending):
        if saved is not None:
            run.restore(saved)
            assert run["rub"].sticking == (saved is first)
        run.advance(0.2)
        listed.append(seen(run.events))
        result = run.result()
        assert seen(result.events) == listed[-1]
        starts = result.time == 0.0
        assert starts.sum() == 1
        np.testing.assert_allclose(result["rub"].along()[starts], 0.0 if saved is first else -3.0, atol=1e-12)
        assert result["rub"].sticking[0] == (saved is first)
    loose = [("rub", BREAKS, 0.0)]
    assert listed == [loose, loose, [], loose]


def test_a_restored_run_lists_the_events_of_its_own_inputs():
    run = quirk.Run(system_of(rail_block, 1.0, [0, 0, 0]), inputs=["push"], keep=0.25)
    run.advance(1.0)
    saved, results = run.save(), []
    for force in (10.0, 0.0, 10.0):
        run.restore(saved)
        run.inputs["push"] = [force, 0, 0]
        run.advance(0.5)
        results.append(run.result())
        assert seen(run.events) == seen(results[-1].events) == ([("rub", BREAKS, 1.0)] if force else [])
    assert results[1]["rub"].sticking.all() and len(results[1].time) == 7
    np.testing.assert_array_equal(results[0].time, results[2].time)
    np.testing.assert_array_equal(results[0]["block"].position, results[2]["block"].position)


def test_actions_that_change_loads():
    """The event with the action is listed before the events that its action causes."""
    block, rail, rub = rail_block(1.0)
    motor = quirk.JointForce("motor", rail, 0.0)
    strong = quirk.JointForce("motor", rail, 10.0)
    event = quirk.Event("switch", "time", level=0.5, action=quirk.replace("motor", strong))
    result = quirk.simulate(quirk.System([block, rail, rub, motor, event]), 1.0, output=0.25)
    assert seen(result.events) == [("switch", 1, 0.5), ("rub", BREAKS, 0.5)]
    before, after = np.flatnonzero(result.time == 0.5)[[0, -1]]
    np.testing.assert_array_equal(result["rub"].sticking[[before, after]], [True, False])
    assert result["block"].position[-1, 0] == pytest.approx(0.5 * 7.0 * 0.25, rel=1e-9)
    # A velocity that an action sets is one event.
    moved = quirk.Event("kick", "time", level=0.5, action=quirk.set_velocity("block", velocity=[1.0, 0, 0]))
    result = quirk.simulate(quirk.System([block, rail, rub, motor, moved]), 0.6, output=0.1)
    assert seen(result.events) == [("kick", 1, 0.5)]


def test_many_changes_of_a_run_without_end():
    run = quirk.Run(system_of(rail_block, 1.0, [0, 0, 0]), inputs=["push"])
    for k in range(60):
        run.inputs["push"] = [10.0 * (-1) ** k, 0, 0]
        run.advance(0.1)
        assert [event.direction for event in run.events] == [BREAKS]
        run.inputs["push"] = [0.0, 0, 0]
        run.advance(0.5)
        assert [event.direction for event in run.events] == [HOLDS]


def test_a_joint_that_a_driver_holds_counts_as_sticking():
    """Friction slides while the driver moves the joint; at rest nothing slips, although its law acts."""
    block, rail, rub = rail_block(1.0)
    drive = quirk.Drive("drive", rail, quirk.Motion.rest_to_rest([0.5, 1.0], [0.0, 1.0]))
    result = quirk.simulate(quirk.System([block, rail, rub, drive]), 2.0, output=[0.75, 1.5, 2.0])
    np.testing.assert_array_equal(result["rub"].sticking[np.isin(result.time, [0.75, 1.5, 2.0])], [False, True, True])


def sliders(limits, load):
    parts = []
    for k, limit in enumerate(limits):
        block = Body.box(f"block {k}", 1.0, [0.2, 0.2, 0.2], position=[0, k, 0])
        rail = quirk.Prismatic(f"rail {k}", GROUND, block, axis="x")
        parts += [block, rail, quirk.JointFriction(f"rub {k}", rail, coulomb=limit, sticking=True)]
        parts.append(quirk.JointForce(f"motor {k}", rail, load))
    return quirk.System(parts)


@pytest.mark.parametrize("breaks", study([None, [1.0]], 1))
@pytest.mark.parametrize("limits", [(3.0, 3.0, 12.0), (3.0, 5.0, 4.0)])
def test_all_that_a_jump_of_a_load_breaks_loose_is_listed(limits, breaks):
    def load(t, x, rate):
        return 0.0 if t < 1.0 else 10.0

    result = quirk.simulate(sliders(limits, load), 1.5, output=0.25, breaks=breaks)
    loose = [(f"rub {k}", BREAKS, 1.0) for k, limit in enumerate(limits) if limit < 10.0]
    assert seen(result.events) == loose
    for k, limit in enumerate(limits):
        sliding = (result.time > 1.0) & (limit < 10.0)
        sliding[np.flatnonzero(result.time == 1.0)[-1]] = limit < 10.0
        np.testing.assert_array_equal(result[f"rub {k}"].sticking, ~sliding)


@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_a_box_that_a_growing_force_lifts(mu):
    box = box_on_floor(mu)
    lift = quirk.Force("lift", box["box"], lambda t, *state: [0, 0, 15.0 * t])
    result = quirk.simulate(box.with_parts(lift), 1.5, output=0.5)
    assert {event.name[0] for event in result.events} == {"c"} and {event.direction for event in result.events} == {1}
    np.testing.assert_allclose(result.events.time, 2.0 * 9.81 / 15.0, rtol=1e-7)


def test_first_values_and_an_input_at_the_start():
    """The sampled value alone holds; the input breaks the friction loose, from the first stored state on."""
    block, rail, rub = rail_block(1.0)
    motor, push = quirk.JointForce("motor", rail, 9.0), quirk.Force("push", block, [0, 0, 0])
    controller = Sampled("controller", 0.1, lambda t, state: 1.0, inputs=["motor"])
    run = quirk.Run(quirk.System([block, rail, rub, motor, push, controller]), inputs=["push"], keep=0.1)
    assert run["rub"].sticking and run["rub"].along() == pytest.approx(-1.0, rel=1e-12) and len(run.events) == 0
    run.inputs["push"] = [5.0, 0, 0]
    assert not run["rub"].sticking
    run.advance(0.25)
    assert seen(run.events) == [("rub", BREAKS, 0.0)]
    result = run.result()
    assert (result.time == 0.0).sum() == 1 and not result["rub"].sticking.any()
    np.testing.assert_allclose(result["block"].acceleration[:, 0], 3.0, rtol=1e-12)
