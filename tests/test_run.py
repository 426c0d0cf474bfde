"""A run under the control of a loop moves as `simulate` does, to the last bit."""

import numpy as np
import pytest
from mechanisms import random_system

import quirk

# Options of `simulate` and `Run`, by method.
METHODS = {
    "Vern9": {"method": "Vern9", "rtol": 1e-6},
    "RK45": {"method": "RK45", "rtol": 1e-5},
    "RK4": {"method": "RK4", "step": 0.007},
    "Taylor": {"method": "Taylor", "rtol": 1e-8},
    "RadauIIA9": {"method": "RadauIIA9", "rtol": 1e-6},
    "Rodas5P": {"method": "Rodas5P", "rtol": 1e-5},
    "auto": {"rtol": 1e-7},
}


def pendulum(*more, rate=0.0):
    """Return a rod on a hinge with a motor, and further parts."""
    rod = quirk.Body.box("rod", 1.0, [1.0, 0.1, 0.1], position=[0.5, 0, 0], velocity=[0, 0, -0.5 * rate],
                         angular_velocity=[0, rate, 0])  # fmt: skip
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    motor = quirk.JointTorque("motor", hinge, 0.0)
    return quirk.System([rod, hinge, motor, *(part(rod, hinge) for part in more)], gravity=[0, 0, -9.81])


def same(run, result):
    """Require that a run stands where a result is at that time, to the last bit; events have put in more times."""
    row = int(np.searchsorted(result.time, run.time, side="right")) - 1
    state, other = run.state, result.state_at(row)
    assert run.time == result.time[row]
    for part, want in zip(state.parts, other.parts, strict=True):
        np.testing.assert_array_equal(part, want)
    for name, angles in other.angles.items():
        np.testing.assert_array_equal(state.angles[name], angles)
    for name, numbers in other.internal.items():
        np.testing.assert_array_equal(state.internal[name], numbers)


def followed(system, interval, count, further=1.5, **options):
    """Advance a run at equal intervals beside a result, which lasts longer as its last step is cut; return both."""
    result = quirk.simulate(system, further * count * interval, output=interval, **options)
    run = quirk.Run(system, **options)
    same(run, result)
    for _ in range(count):
        assert run.advance(interval) == "time"
        same(run, result)
    return run, result


@pytest.mark.parametrize("method", METHODS)
def test_samples_are_those_of_simulate(method):
    rng = np.random.default_rng(3)
    for case in range(2):
        system = random_system(rng, bodies=4, loops=case)
        followed(system, 0.01, 60, **METHODS[method])


def test_intervals_add_up_without_round_off():
    run = quirk.Run(pendulum(), rtol=1e-6)
    for k in range(1, 1001):
        run.advance(0.001)
        assert run.time == 0.0 + k * 0.001
    run.advance(0.5)
    assert run.time == 1.5
    run.advance_to(1.75)
    run.advance(0.001)
    assert run.time == 1.751


def test_steps_do_not_depend_on_the_samples():
    """The motion is the same at other times, but for round-off, however many there are in between."""
    few, many = (quirk.Run(pendulum(rate=5.0), method="Vern9", rtol=1e-7) for _ in range(2))
    for t in (0.3, 0.9, 2.0):
        few.advance_to(t)
        while many.time + 0.01 < t:
            many.advance(0.0073)
        many.advance_to(t)
        np.testing.assert_allclose(few.state.pack(), many.state.pack(), rtol=0, atol=1e-10)
    assert few.statistics.steps == many.statistics.steps


def test_with_an_end_the_last_step_is_that_of_simulate():
    system = pendulum(rate=3.0)
    for options in METHODS.values():
        result = quirk.simulate(system, 0.5, output=0.05, **options)
        run = quirk.Run(system, end=0.5, **options)
        for row in range(1, 11):
            run.advance_to(result.time[row])
            same(run, result)
        with pytest.raises(quirk.InputError, match=r"the run ends at t = 0\.5 s"):
            run.advance(0.1)


def stop_and_spring(e):
    """Return parts: a stop, on which the rod bounces, and a spring with a turn that is counted."""
    return (
        lambda rod, hinge: quirk.Stop("stop", hinge, upper=1.0, lower=-0.5, restitution=e),
        lambda rod, hinge: quirk.TorsionSpring("coil", hinge, stiffness=2.0, damping=0.01),
    )


@pytest.mark.parametrize("method", METHODS)
def test_contacts_are_those_of_simulate(method):
    system = pendulum(*stop_and_spring(0.5))
    run, result = followed(system, 0.02, 130, **METHODS[method])
    happened = [one for one in result.events if one.time <= run.time]
    assert len(happened) > 2


def test_impacts_are_told_and_do_not_interrupt():
    system = pendulum(*stop_and_spring(0.6))
    result = quirk.simulate(system, 3.0, output=0.1, rtol=1e-8)
    run, told = quirk.Run(system, rtol=1e-8), []
    while run.time < 2.0:
        assert run.advance(0.1) == "time"
        told += run.events
    want = [one for one in result.events if one.time <= run.time]
    assert [one.name for one in told] == [one.name for one in want]
    np.testing.assert_array_equal([one.time for one in told], [one.time for one in want])
    np.testing.assert_array_equal([one.energy_loss for one in told], [one.energy_loss for one in want])


def sliding(mu):
    """Return a box on a slope with friction, that is pushed and comes to rest."""
    box = quirk.Body.box("box", 2.0, [0.4, 0.3, 0.2], position=[0, 0, 0.1], velocity=[1.0, 0.2, 0])
    floor = quirk.Planar("floor", quirk.GROUND, box, point=[0, 0, 0], axis="z")
    friction = quirk.Friction("friction", floor, coefficient=mu)
    push = quirk.Force("push", box, [0, 0, 0])
    return quirk.System([box, floor, friction, push], gravity=[0, 0, -9.81])


@pytest.mark.parametrize("method", ["Vern9", "auto"])
def test_friction_that_sticks_is_that_of_simulate(method):
    run, result = followed(sliding(0.3), 0.02, 30, **METHODS[method])
    assert any(one.name == "friction" for one in result.events if one.time < run.time)


@pytest.mark.parametrize("method", METHODS)
def test_events_stop_the_loop_where_they_happen(method):
    low = quirk.Event("low", "hinge.angle", level=0.7, direction=1)
    turn = quirk.Event("turn", "hinge.angle_rate", action=quirk.set_velocity("rod", angular_velocity=[0, 1.0, 0]))
    system = pendulum(lambda *_: low, lambda *_: turn)
    run = quirk.Run(system, **METHODS[method])
    reached, names = [], []
    while run.time < 1.5:
        before = run.time
        reason = run.advance_to(np.floor(before / 0.05 + 1.001) * 0.05)
        reached.append(run.time)
        assert reason == ("event" if len(run.events) else "time")
        for one in run.events:
            assert one.time == run.time
            names.append(one.name)
            if one.name == "low":
                # The search and the sample project one state of the step, off by up to rtol, with rows of other states.
                assert run["hinge"].angle == pytest.approx(0.7, abs=0.1 * METHODS[method].get("rtol", 1e-6))
            else:
                assert run["rod"].angular_velocity[1] > 0.1
    assert names[:2] == ["low", "turn"] and names.count("turn") >= 1
    result = quirk.simulate(system, 2.0, output=reached, **METHODS[method])
    want = [one for one in result.events if one.time <= run.time]
    assert [one.name for one in want] == names
    rows = np.searchsorted(result.time, run.time, side="right") - 1
    np.testing.assert_allclose(run.state.pack(), result.state_at(int(rows)).pack(), rtol=0, atol=1e-10)


def test_the_first_of_several_events_in_a_step_comes_first():
    """One step holds them all; the loop is stopped at each."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[1.0, 0, 0])
    events = [quirk.Event(f"at {x}", "ball.position.x", level=x) for x in (0.7, 0.2, 0.4)]
    run = quirk.Run(quirk.System([ball]), events=events)
    told = []
    while (reason := run.advance_to(1.0)) == "event":
        told.append((run.events.name[0], run.time, run["ball"].position[0]))
    assert reason == "time" and run.time == 1.0
    assert [name for name, *_ in told] == ["at 0.2", "at 0.4", "at 0.7"]
    np.testing.assert_allclose([t for _, t, _ in told], [0.2, 0.4, 0.7], rtol=1e-12)
    np.testing.assert_allclose([x for *_, x in told], [0.2, 0.4, 0.7], rtol=1e-12)


def test_steps_that_could_be_endless():
    """Series of a free flight end, so that a step could be of any length; the ball then bounces and slides."""
    ball = quirk.Body.sphere("ball", 2.0, 0.1, position=[0, 0, 0.15], velocity=[0.5, 0, 0])
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=quirk.surface.plane([0, 0, 0], [0, 0, 1]),
                          on_j=quirk.surface.sphere(0.1), restitution=0.3)  # fmt: skip
    friction = quirk.Friction("friction", floor, coefficient=0.4)
    system = quirk.System([ball, floor, friction], gravity=[0, 0, -9.81])
    for method in ("Taylor", "Vern9"):
        result = quirk.simulate(system, 10.0, output=0.01, **METHODS[method])
        run = quirk.Run(system, **METHODS[method])
        for _ in range(60):
            run.advance(0.01)
            want = result.state_at(int(np.searchsorted(result.time, run.time + 1e-9)) - 1)
            np.testing.assert_allclose(run.state.pack(), want.pack(), rtol=0, atol=1e-9)
    free = quirk.Run(quirk.System([quirk.Body.sphere("ball", 1.0, 0.1, velocity=[1.0, 0, 0])]), method="Taylor")
    for _ in range(1000):
        free.advance(0.001)
    np.testing.assert_allclose(free["ball"].position, [1.0, 0, 0], atol=1e-12)
    assert free.statistics.steps < 100


def test_functions_are_searched_in_a_few_parts_of_the_first_step():
    """At an equilibrium the first step is long, and the first time at which the run pauses is near."""
    rod = quirk.Body.box("rod", 1.0, [0.1, 0.1, 1.0], position=[0, 0, -0.5])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    calls = [0]

    def effort(t, angle, rate):
        calls[0] += 1
        return 0.0 * angle

    run = quirk.Run(quirk.System([rod, hinge, quirk.JointTorque("motor", hinge, effort)], gravity=[0, 0, -9.81]))
    run.advance(1e-5)
    assert run.statistics.steps == 1 and calls[0] < 5000


def test_an_event_ends_the_run():
    stop = quirk.Event("stop", "hinge.angle", level=0.5, action="stop")
    run = quirk.Run(pendulum(lambda *_: stop))
    assert run.advance(2.0) == "stopped"
    assert run["hinge"].angle == pytest.approx(0.5, abs=1e-10) and run.events.name == ["stop"]
    with pytest.raises(quirk.InputError, match="has stopped the run"):
        run.advance(0.1)


def test_a_latch_closes_in_the_loop():
    a = quirk.Body.sphere("a", 1.0, 0.1)
    b = quirk.Body.sphere("b", 1.0, 0.1, position=[1, 0, 0], velocity=[-1, 0, 0])
    dock = quirk.Fixed("dock", a, b, frame_i=quirk.Frame(), frame_j=quirk.Frame(), active=False)
    latch = quirk.Latch("latch", dock, distance=0.1, keep_offset=True)
    run = quirk.Run(quirk.System([a, b, dock, latch]))
    reasons = [run.advance_to(t) for t in (0.5, 2.0, 2.0)]
    assert reasons == ["time", "event", "time"]
    np.testing.assert_allclose(run["a"].velocity, [-0.5, 0, 0], atol=1e-12)
    assert run.state.switched == {"dock": True}


def test_loads_of_functions_that_jump():
    """A jump is found with the resolution of a run up to now; states are then those of simulate but for round-off."""
    push = quirk.Motion.function(lambda t: 3.0 * (t > 0.3), lambda t: 0.0, lambda t: 0.0)
    system = pendulum(lambda rod, hinge: quirk.JointTorque("gust", hinge, lambda t, x, v: 3.0 if 0.5 < t < 0.55 else 0.0),
                      lambda rod, hinge: quirk.JointTorque("push", hinge, push))  # fmt: skip
    result = quirk.simulate(system, 2.0, output=0.05, method="Vern9", rtol=1e-8)
    run = quirk.Run(system, method="Vern9", rtol=1e-8)
    for row in range(1, 30):
        run.advance(0.05)
        np.testing.assert_allclose(run.state.pack(), result.state_at(row).pack(), rtol=0, atol=2e-7)


def test_motions_that_recur_and_motions_that_end():
    """A periodic spline with kinks has no last one; one that is defined up to a time ends the run there."""
    times = np.linspace(0, 0.8, 9)
    periodic = quirk.Motion.spline(times, np.sin(2 * np.pi * times / 0.8) ** 3, periodic=True)
    system = pendulum(lambda rod, hinge: quirk.JointTorque("push", hinge, periodic))
    followed(system, 0.1, 40, method="Vern9", rtol=1e-6)
    run = quirk.Run(system, method="Vern9", rtol=1e-6)
    run.advance(100.0)  # beyond the kinks that are looked up at once
    result = quirk.simulate(system, 100.0, output=100.0, method="Vern9", rtol=1e-6)
    np.testing.assert_allclose(run["hinge"].angle, result["hinge"].angle[-1], atol=1e-3)
    bounded = quirk.Motion.spline([0.0, 0.5, 1.0, 1.5], [0.0, 1.0, 0.0, 2.0])
    run = quirk.Run(pendulum(lambda rod, hinge: quirk.JointTorque("push", hinge, bounded)))
    assert run.advance(1.5) == "time"
    with pytest.raises(quirk.InputError, match=r"the run ends at t = 1\.5 s"):
        run.advance(0.1)


def test_the_present_is_shown_as_in_a_result():
    rng = np.random.default_rng(5)
    system = random_system(rng, bodies=3, loops=1)
    run, result = followed(system, 0.02, 20, rtol=1e-9)
    for body in system.bodies:
        for what in ("position", "velocity", "orientation", "angular_velocity", "acceleration", "angular_acceleration"):
            got, want = getattr(run[body.name], what), getattr(result[body.name], what)[20]
            np.testing.assert_allclose(got, want, atol=1e-9 * max(1.0, np.abs(want).max()))
    for constraint in system.constraints:
        got, want = run[constraint.name].force(frame="i"), result[constraint.name].force(frame="i")[20]
        assert got.shape == (3,)
        np.testing.assert_allclose(got, want, atol=1e-7 * max(1.0, np.abs(want).max()))


def test_wrong_arguments_are_named():
    system = pendulum()
    cases = [
        ({"inputs": ["engine"]}, "inputs names 'engine', which is no part of it; .*motor"),
        ({"inputs": ["rod"]}, 'inputs names Body "rod", which has no number'),
        ({"inputs": ["motor", "motor"]}, "twice"),
        ({"method": "BDF"}, "is not compiled"),
        ({"keep": 0.0}, "keep must be positive"),
        ({"end": 0.0}, "end must be later than start"),
        ({"events": [3]}, "events must be a list of quirk.Event"),
        ({"rtol": 1e-6, "step": 0.1}, "step fixes the step size"),
    ]
    for options, message in cases:
        with pytest.raises(quirk.QuirkError, match=message):
            quirk.Run(system, **options)
    with pytest.raises(quirk.InputError, match=r"system must be a quirk\.System"):
        quirk.Run(3)
    run = quirk.Run(system, inputs=["motor"])
    run.advance(0.1)
    for wrong in (0.0, -1.0, np.nan, np.inf, "1"):
        with pytest.raises(quirk.InputError, match="duration must be"):
            run.advance(wrong)
    with pytest.raises(quirk.InputError, match=r"is at t = 0\.1 s already"):
        run.advance_to(0.1)
    with pytest.raises(quirk.InputError, match="keeps no states"):
        run.result()
    with pytest.raises(quirk.UnknownNameError, match="there is no input 'engine'"):
        run.inputs["engine"] = 1.0
    with pytest.raises(quirk.InputError, match="torque"):
        run.inputs["motor"] = [1.0, 2.0, 3.0]
    with pytest.raises(quirk.InputError, match="torque"):
        run.inputs["motor"] = np.nan
    with pytest.raises(quirk.InputError, match=r"inputs are set one by one, as in run\.inputs\['motor'\] = 3\.0"):
        run.inputs = {"motor": 1.0}
    assert run.advance(0.1) == "time"


def test_a_run_that_fails_stands_where_it_could_come_to():
    def pole(t, x, rate):
        return 1.0 / (0.5 - t)

    system = pendulum(lambda rod, hinge: quirk.JointTorque("pole", hinge, pole))
    run = quirk.Run(system, rtol=1e-6)
    run.advance(0.2)
    saved, state = run.save(), run.state
    with pytest.raises(quirk.SimulationError, match=r"Run: at t = 0\.[45].*the run stands at") as failure:
        run.advance(2.0)
    assert 0.2 < run.time <= failure.value.time + 1e-9 < 0.51
    assert np.isfinite(run.state.pack()).all()
    run.restore(saved)
    np.testing.assert_array_equal(run.state.pack(), state.pack())
    assert run.advance(0.1) == "time"
