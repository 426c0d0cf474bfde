"""Functions of drivers, constraints and forces that actions of events change: the motion, and what results show of it."""

import warnings

import numpy as np
import pytest
from studies import study

import quirk

AT, END, DRAG = 0.73, 1.5, 3.0


class Course:
    """A quantity x(t) whose rate and acceleration an event changes at a time; x(t) = t before that."""

    def __init__(self, rate, acceleration):
        self.then, self.since, self.more, self.bend = (rate, acceleration), 0.0, 0.0, 0.0
        self.shift = 0.0

    def change(self, t, state):
        self.since, (self.more, self.bend) = t, self.then

    def value(self, t):
        return t + self.shift + self.more * (t - self.since) + 0.5 * self.bend * (t - self.since) ** 2

    def rate(self, t):
        return 1.0 + self.more + self.bend * (t - self.since)

    def second(self, t):
        return self.bend + 0.0 * t

    def expected(self, times):
        """Position, velocity and acceleration at the times of a result, on both sides of the change."""
        after = np.cumsum(times == AT) > 1
        since = np.where(after | (times > AT), times - AT, 0.0)
        on = (after | (times > AT)).astype(float)
        rate, acceleration = self.then
        return (
            times + rate * since + 0.5 * acceleration * since**2,
            1.0 + on * (rate + acceleration * since),
            on * acceleration,
        )


def of_a_drive(course):
    puck = quirk.Body.sphere("puck", 2.0, 0.1)
    rail = quirk.Prismatic("rail", quirk.GROUND, puck, point=[0, 0, 0], axis=[1, 0, 0])
    motion = quirk.Motion.function(course.value, course.rate, course.second, lambda t: 0.0 * t, lambda t: 0.0 * t)
    return [puck, rail, quirk.Drive("held", rail, motion)]


def of_a_sum_of_motions(course):
    puck, rail, _ = of_a_drive(course)
    motion = quirk.Motion.function(
        lambda t: course.value(t) - t, lambda t: course.rate(t) - 1.0, course.second, lambda t: 0.0 * t, lambda t: 0.0
    )
    return [puck, rail, quirk.Drive("held", rail, motion + quirk.Motion.constant_rate(1.0))]


def of_an_implicit(course):
    puck = quirk.Body.sphere("puck", 2.0, 0.1)
    return [puck, quirk.Implicit("held", puck, lambda t, a: a.position[0] - course.value(t))]


PLACES = [of_a_drive, of_a_sum_of_motions, of_an_implicit]


def system_of(place, course, *more):
    parts = place(course)
    change = quirk.Event("change", "time", level=AT, action=course.change)
    system = quirk.System([*parts, quirk.Damping("drag", translational=DRAG), change, *more])
    system.assemble()
    return system


def check(result, course, tolerance=1e-8):
    """Motion, loads and the balance of work are those of the function as it was at each time."""
    position, velocity, acceleration = course.expected(result.time)
    puck = result["puck"]
    np.testing.assert_allclose(puck.position[:, 0], position, atol=tolerance)
    np.testing.assert_allclose(puck.velocity[:, 0], velocity, atol=tolerance)
    np.testing.assert_allclose(puck.acceleration[:, 0], acceleration, atol=10 * tolerance)
    load = np.linalg.norm(result["held"].force(), axis=1)
    np.testing.assert_allclose(load, np.abs(2.0 * acceleration + DRAG * velocity), atol=100 * tolerance)
    assert max(result.residual.position.max(), result.residual.velocity.max()) < tolerance
    assert np.abs(result.power.balance).max() < 10 * tolerance
    assert np.ptp(result.power.of["held"] - load * velocity) < 100 * tolerance


@pytest.mark.parametrize(
    "options",
    study([{}, {"stabilization": "baumgarte"}, {"method": "RadauIIA9"}, {"method": "RK4", "step": 0.01}], 1),
    ids=lambda options: "-".join(map(str, options.values())) or "default",
)
@pytest.mark.parametrize(("rate", "acceleration"), study([(0.8, -0.9), (0.0, 1.3), (-0.4, 0.0)], 1))
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_what_results_show_of_both_sides(place, rate, acceleration, options):
    course = Course(rate, acceleration)
    system = system_of(place, course)
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.ChangedFunctionWarning)
        result = quirk.simulate(system, END, output=0.1, **options)
        check(result, course)
        assert "held" in result.summary()
        between = result.at([0.25, 1.13])["puck"].position[:, 0]
        assert result.mobility.degrees_of_freedom == (0 if len(system.constraints) > 1 else 5)
    np.testing.assert_allclose(between, course.expected(np.array([0.25, 1.13]))[0], atol=1e-8)
    # An event has an impulse where the rate of the function jumps, and no other.
    (event,) = result.events
    impulse = np.linalg.norm(event.impulse["held"].force) if event.impulse else 0.0
    assert impulse == pytest.approx(2.0 * abs(rate), abs=1e-9)


def test_changes_that_follow_each_other():
    """A function that an event changes every 0.1 s: each interval has the loads of its own."""
    level = [0.0]

    def step(t, state):
        level[0] += 1.0

    puck = quirk.Body.sphere("puck", 1.0, 0.1)
    push = quirk.Force("push", puck, lambda t, p, q, v, w: [level[0], 0.0, 0.0])
    steps = [quirk.Event(f"step {k}", "time", level=0.1 * k, action=step) for k in range(1, 6)]
    result = quirk.simulate(quirk.System([puck, push, *steps]), 0.6, output=[0.05, 0.15, 0.25, 0.35, 0.45, 0.55])
    inside = np.isin(result.time, [0.05, 0.15, 0.25, 0.35, 0.45, 0.55])
    np.testing.assert_allclose(result["push"].force("inertial")[inside, 0], np.arange(6.0), atol=1e-12)
    assert np.abs(result.power.balance).max() < 1e-9
    assert len(result.segments) == 6


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_functions_that_jump_are_an_error(place):
    course = Course(0.0, 0.0)

    def jumps(t, state):
        course.shift = 0.3

    system = system_of(place, course, quirk.Event("jumps", "time", level=0.9, action=jumps))
    with pytest.raises(quirk.SimulationError, match=r'at t = 0\.9 s: Event "jumps": .*"held" jumps.* move by 0\.3 m'):
        quirk.simulate(system, END)


def test_contradictions_before_a_change_are_found():
    """Two drivers of one slider part at 0.3 s, and would agree again with what an event sets."""
    course = Course(0.0, 0.0)
    bent = [1.0]

    def straighten(t, state):
        bent[0] = 0.0

    def other(t):
        return t + bent[0] * np.maximum(t - 0.3, 0.0) ** 4

    puck, rail, held = of_a_drive(course)
    rates = [
        lambda t: 1.0 + 4 * bent[0] * np.maximum(t - 0.3, 0.0) ** 3,
        lambda t: 12 * bent[0] * np.maximum(t - 0.3, 0) ** 2,
    ]
    second = quirk.Drive("second", rail, quirk.Motion.function(other, *rates))
    event = quirk.Event("straighten", "time", level=1.2, action=straighten)
    system = quirk.System([puck, rail, held, second, event])
    system.assemble()
    with pytest.raises(quirk.SimulationError, match=r'"(held|second)" is violated'):
        quirk.simulate(system, END, output=0.05)


@pytest.mark.slow
def test_what_was_not_recorded_warns_and_names_the_function():
    course = Course(0.0, 1.0)
    result = quirk.simulate(system_of(of_an_implicit, course), END, output=0.1)
    before, after = 2, len(result.time) - 2
    for ask in (result.health, lambda: result.mobility_at(before), lambda: result["puck"].jerk):
        with pytest.warns(quirk.ChangedFunctionWarning, match=r't = 0 to 0\.73 s .*Implicit "held"'):
            ask()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result.mobility_at(after)


@pytest.mark.slow
def test_runs_that_are_written_down(tmp_path, monkeypatch):
    """Legs before an event keep their loads; results read from files warn where they cannot know them."""
    monkeypatch.setattr("quirk.simulation.hybrid.checkpointed_run.steps_between_restarts", lambda bodies, compiled: 10)
    course = Course(0.4, 1.3)
    system = system_of(of_an_implicit, course)
    result = quirk.simulate(system, END, output=0.1, max_step=0.02, checkpoint=tmp_path / "run")
    assert len(result.segments) > 4
    check(result, course)
    read = quirk.read_checkpoint(tmp_path / "run", system=system)
    np.testing.assert_array_equal(read["puck"].position, result["puck"].position)
    with pytest.warns(quirk.ChangedFunctionWarning, match='Implicit "held"'):
        _ = read["held"].force()
    with pytest.warns(quirk.SaveWarning):
        result.save(tmp_path / "run.nc")
    loaded = quirk.Result.load(tmp_path / "run.nc", system=system)
    with pytest.warns(quirk.ChangedFunctionWarning, match='Implicit "held"'):
        _ = loaded["puck"].acceleration


def test_actions_that_change_nothing_add_no_times():
    log = []
    event = quirk.Event("note", "time", level=0.25, action=lambda t, state: log.append(t))
    rate = [1.0]
    puck = quirk.Body.sphere("puck", 1.0, 0.1)
    push = quirk.Force("push", puck, lambda t, p, q, v, w: [rate[0], 0.0, 0.0])
    result = quirk.simulate(quirk.System([puck, push, event]), 1.0, output=0.5)
    assert result.time.tolist() == [0.0, 0.5, 1.0]
    assert log == [0.25]


def test_parts_that_a_function_reads_only_later_are_named():
    """The name is not text in the function, and the state is read under a condition only."""
    puck, name = quirk.Body.sphere("puck", 1.0, 0.1), "puck"
    event = quirk.Event("late", lambda t, state: state[name].position[0] - 1.0 if t > 0.5 else -1.0)
    with pytest.raises(quirk.QuirkError, match=r'"puck", or the function did not read it when the run began: read it'):
        quirk.simulate(quirk.System([puck, event]), 1.0)


def test_arrays_without_axes_are_numbers():
    puck = quirk.Body.sphere("puck", 1.0, 0.1, position=[1.0, 0, 0], velocity=[0.5, 0, 0])
    events = [
        quirk.Event("time", lambda t, state: np.array(t - 0.3)),
        quirk.Event("place", lambda t, state: np.asarray(float(state["puck"].position[0]) - 1.2)),
    ]
    result = quirk.simulate(quirk.System([puck, *events]), 1.0)
    assert [event.name for event in result.events] == ["time", "place"]
    np.testing.assert_allclose(result.events.time, [0.3, 0.4], rtol=1e-12)


@pytest.mark.parametrize("returned", [np.array([1.0]), True, np.bool_(True), "1", None, 1j], ids=repr)
def test_other_values_are_refused(returned):
    puck = quirk.Body.sphere("puck", 1.0, 0.1)
    system = quirk.System([puck, quirk.Event("odd", lambda t, state: returned)])
    with pytest.raises(quirk.InputError, match=r'Event "odd": its function must return a number that crosses zero'):
        quirk.simulate(system, 1.0)
