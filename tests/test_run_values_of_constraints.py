"""Values in Python that a loop or a sampled function sets, and that functions of drivers and gaps read.

Where they make a rate jump, velocities jump with an impulse, as at an event; a value that jumps is an error.
"""

import pickle
import warnings

import numpy as np
import pytest

import quirk
from quirk import GROUND

MASS, RATE, T = 0.5, 0.3, 0.37  # kg, m/s, s
METHODS = {"auto": {}, "RK4": {"method": "RK4", "step": 0.02}, "RadauIIA9": {"method": "RadauIIA9"}}


class Settings:
    """Numbers that functions read and the loop sets."""

    rate, start, slope, since = 0.0, 0.0, 0.0, T


def slider(settings, kind, *parts):
    """Return a ball on a rail, whose travel is prescribed in one of several ways."""

    def travel(t):
        return settings.start + settings.rate * (t - settings.since) + 0.5 * settings.slope * (t - settings.since) ** 2

    ball = quirk.Body.sphere("ball", MASS, 0.1)
    rail = quirk.Prismatic("rail", GROUND, ball, axis="x")
    if kind == "Drive":
        zero = lambda t: 0.0  # noqa: E731
        rate = lambda t: settings.rate + settings.slope * (t - settings.since)  # noqa: E731
        part = quirk.Drive("driver", rail, quirk.Motion.function(travel, rate, lambda t: settings.slope, zero, zero))
    elif kind == "branching":
        part = quirk.Implicit("driver", ball, lambda t, a: a.position[0] - (travel(t) if t >= 0.0 else 1.0))
    elif kind == "velocity":
        part = quirk.Implicit("driver", ball, lambda t, a: a.velocity[0] - settings.rate, level="velocity")
    else:
        part = quirk.Implicit("driver", ball, lambda t, a: a.position[0] - travel(t))
    return quirk.System([ball, rail, part, *parts], gravity=[0, 0, -9.81])


def check_impulse(event, before, after):
    """Check the impulse of the driver, and the energy, for a jump of the rate (m/s)."""
    assert event.name == "driver"
    np.testing.assert_allclose(event.impulse["driver"].force, [MASS * (after - before), 0, 0], atol=1e-12)
    gained = 0.5 * MASS * (after**2 - before**2)
    assert event.energy_after - event.energy_before == pytest.approx(gained, abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["Drive", "Implicit", "branching", "velocity"])
def test_rates_that_the_loop_changes_have_impulses(kind, method):
    settings = Settings()
    run = quirk.Run(slider(settings, kind), keep=0.1, **METHODS[method])
    run.advance_to(T)
    assert not run.events
    settings.rate = RATE
    run.advance(0.2)
    check_impulse(*run.events, 0.0, RATE)
    run.advance(0.01)
    assert not run.events
    settings.start, settings.since, settings.rate = RATE * (run.time - T), run.time, -RATE
    run.advance(0.2)
    check_impulse(*run.events, RATE, -RATE)
    assert run["ball"].position[0] == pytest.approx(0.01 * RATE, abs=1e-12)
    result = run.result()
    assert result["ball"].velocity[:, 0][result.time == T].tolist() == pytest.approx([0.0, RATE], abs=1e-12)
    with pytest.warns(quirk.ChangedFunctionWarning, match=r't = 0 to 0\.37 s .* "driver" in its present form'):
        result.segments[0].dynamics  # noqa: B018


@pytest.mark.parametrize("kind", ["Drive", "Implicit", "branching"])
def test_changes_of_the_acceleration_alone_are_no_events(kind):
    settings = Settings()
    run = quirk.Run(slider(settings, kind), rtol=1e-6)
    run.advance_to(T)
    settings.slope = 2.0
    for _ in range(3):
        run.advance(0.1)
        assert not run.events
    assert run["ball"].velocity[0] == pytest.approx(0.6, abs=1e-9)


def test_changes_before_the_first_step():
    settings = Settings()
    run = quirk.Run(slider(settings, "Drive"), keep=0.1)
    settings.rate, settings.since = RATE, 0.0
    run.advance(0.1)
    check_impulse(*run.events, 0.0, RATE)
    np.testing.assert_allclose(run.result()["ball"].velocity[:, 0], RATE, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["Drive", "Implicit", "branching"])
def test_values_that_the_loop_makes_jump_are_errors(kind, method):
    settings = Settings()
    run = quirk.Run(slider(settings, kind), **METHODS[method])
    run.advance_to(T)
    for _ in range(2):  # the same message at the next attempt
        settings.start = 0.2
        with pytest.raises(
            quirk.SimulationError,
            match=r't = 0\.37 s: .* "driver" jumps away .* values that its function reads: bodies .* move by 0\.2 m',
        ) as failure:
            run.advance(0.1)
        assert failure.value.time == T and "present value; the run stands at t = 0.37 s" in str(failure.value)
    settings.start, settings.rate = 0.0, RATE
    run.advance(0.1)
    check_impulse(*run.events, 0.0, RATE)
    assert run["ball"].position[0] == pytest.approx(0.1 * RATE, abs=1e-12)


def test_saved_runs_go_on_with_the_impulse():
    settings = Settings()
    system = slider(settings, "Drive")
    run = quirk.Run(system)
    run.advance_to(T)
    saved = pickle.loads(pickle.dumps(run.save()))
    for start in (run, quirk.Run(system)):
        settings.rate = 0.0
        start.restore(saved)
        settings.rate = RATE
        start.advance(0.1)
        check_impulse(*start.events, 0.0, RATE)


@pytest.mark.parametrize("options", [{}, {"method": "RK4", "step": 0.01}, {"solver": "dense", "method": "RK45"}])
def test_sampled_functions_that_change_a_rate(options):
    settings = Settings()

    def switch(t, state):
        settings.rate = RATE if t > 0.45 else 0.0
        settings.since = 0.5
        return 0.0

    cart = quirk.Body("cart", 1.0, [1, 1, 1])
    track = quirk.Prismatic("track", GROUND, cart, axis="x")
    motor = quirk.JointForce("motor", track, 0.0)
    system = slider(settings, "Drive", cart, track, motor, quirk.Sampled("switch", 0.1, switch, inputs=["motor"]))
    result = quirk.simulate(system, 1.0, output=0.1, **options)
    check_impulse(*result.events, 0.0, RATE)
    assert result["ball"].position[-1, 0] == pytest.approx(0.5 * RATE, abs=1e-9)


def test_sampled_functions_that_change_a_rate_at_the_start():
    settings = Settings()

    def switch(t, state):
        settings.rate, settings.since = RATE, 0.0
        return 0.0

    cart = quirk.Body("cart", 1.0, [1, 1, 1])
    track = quirk.Prismatic("track", GROUND, cart, axis="x")
    motor = quirk.JointForce("motor", track, 0.0)
    system = slider(settings, "Drive", cart, track, motor, quirk.Sampled("switch", 0.1, switch, inputs=["motor"]))
    result = quirk.simulate(system, 0.5, output=0.1)
    check_impulse(*result.events, 0.0, RATE)
    np.testing.assert_allclose(result["ball"].velocity[:, 0], RATE, atol=1e-12)


def resting(settings):
    ball = quirk.Body.sphere("ball", MASS, 0.1)
    floor = quirk.OneSided("floor", ball, lambda t, a: a.position[2] - settings.start)
    return quirk.System([ball, floor], gravity=[0, 0, -10.0])


@pytest.mark.parametrize("method", METHODS)
def test_gaps_that_the_loop_changes(method):
    settings = Settings()
    run = quirk.Run(resting(settings), **METHODS[method])
    run.advance_to(T)
    settings.start = -0.2  # m: the ball falls for 0.2 s
    run.advance(0.1)
    assert run["ball"].position[2] == pytest.approx(-0.05, abs=1e-10)
    run.advance(0.3)
    assert run["ball"].position[2] == pytest.approx(-0.2, abs=1e-10)
    settings.start = -0.1
    with pytest.raises(
        quirk.SimulationError, match=r'OneSided "floor": its gap .* jumps from .* to -0\.1 m by changes'
    ):
        run.advance(0.1)


@pytest.mark.parametrize("start", [-0.2, -1e-6])
def test_loads_read_before_the_step_after_a_gap_opens(start):
    settings = Settings()
    run = quirk.Run(resting(settings))
    run.advance_to(T)
    observed = run.observe(["floor.force"])
    assert observed()[0] == pytest.approx(10.0 * MASS)
    settings.start = start
    assert observed()[0] == 0.0 and run["ball"].acceleration[2] == pytest.approx(-10.0)
    settings.start = 0.1  # m: no run can go on from here, but the state can be read
    assert run["ball"].position[2] == pytest.approx(0.0, abs=1e-12)
    settings.start = 0.0
    assert observed()[0] == pytest.approx(10.0 * MASS)
    run.advance(0.1)
    assert observed()[0] == pytest.approx(10.0 * MASS)


def test_batches_name_the_driver():
    settings = Settings()
    batch = quirk.Batch(slider(settings, "Drive"), 2, method="RK4", step=0.01)
    batch.advance(0.1)
    settings.rate, settings.since = RATE, 0.1
    batch.advance(0.1)
    assert set(batch.status) == {"failed"} and 'Drive "driver": the initial velocities violate it' in batch.error[0]
    batch.assemble()
    batch.advance(0.1)
    np.testing.assert_allclose(batch.state.velocity[:, 0, 0], RATE, atol=1e-12)


def test_forces_that_the_loop_changes_are_no_events():
    settings = Settings()
    ball = quirk.Body.sphere("ball", MASS, 0.1)
    push = quirk.Force("push", ball, lambda t, *motion: [settings.rate, 0.0, 0.0])
    run = quirk.Run(quirk.System([ball, push]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(3):
            settings.rate = float(k)
            run.advance(0.1)
            assert not run.events
