"""The driver: methods, output, stabilization, interruption, failure."""

import numpy as np
import pytest
from mechanisms import random_system

import quirk
from quirk.bodies.state import Kinematics
from quirk.dynamics.dense import equations


def pendulum(angle=0.5, rate=0.0, **initial):
    """A compound pendulum about y; theta from the downward vertical."""
    s, c = np.sin(angle), np.cos(angle)
    arm = np.array([0.5 * s, 0, -0.5 * c])
    body = quirk.Body(
        "rod", 1.2, [0.1, 0.1, 0.004], position=arm, orientation=[np.cos(angle / 2), 0, -np.sin(angle / 2), 0],
        velocity=np.cross([0, -rate, 0], arm), angular_velocity=[0, -rate, 0],
    )  # fmt: skip
    hinge = quirk.Revolute("hinge", quirk.GROUND, body, point=[0, 0, 0], axis=[0, -1, 0])
    return quirk.System([body, hinge], gravity=[0, 0, -9.81])


@pytest.fixture(scope="module")
def truth():
    return quirk.simulate(pendulum(), 2.0, method="DOP853", rtol=1e-13, atol=1e-15, output=0.5)


@pytest.mark.parametrize(("method", "options", "tolerance"), [
    ("RK4", {"step": 1e-2}, 1e-6),
    ("RK45", {"step": 1e-2}, 1e-7),
    ("DOP853", {"step": 5e-2}, 1e-8),
    ("RK45", {"rtol": 1e-8, "atol": 1e-10}, 1e-6),
    ("DOP853", {"rtol": 1e-8, "atol": 1e-10}, 1e-6),
    ("DOP853", {}, 1e-7),
    ("Radau", {"rtol": 1e-7, "atol": 1e-9}, 1e-4),
    ("BDF", {"rtol": 1e-7, "atol": 1e-9}, 1e-3),
    ("LSODA", {"rtol": 1e-8, "atol": 1e-10}, 1e-4),
])  # fmt: skip
def test_methods_agree(truth, method, options, tolerance):
    result = quirk.simulate(pendulum(), 2.0, method=method, output=0.5, **options)
    np.testing.assert_array_equal(result.time, truth.time)
    np.testing.assert_allclose(result["rod"].position, truth["rod"].position, atol=tolerance)
    assert result.residual.position.max() < 1e-14
    assert result.residual.velocity.max() < 1e-13
    assert result.status == "completed"


@pytest.mark.parametrize("method", ["RK4", "RK45", "DOP853"])
def test_orders_hold_with_projection(method):
    """Projection leaves the order of a method as it is."""
    system = random_system(np.random.default_rng(5), bodies=2, loops=0)
    counts = {"RK4": [20, 40, 80], "RK45": [40, 60, 90, 135], "DOP853": [10, 13, 16, 20]}[method]
    best = quirk.simulate(system, 0.4, method="DOP853", rtol=1e-14, atol=1e-16, output=[0.4])

    def order(stabilization):
        errors = []
        for n in counts:
            got = quirk.simulate(system, 0.4, method=method, step=0.4 / n, output=[0.4], stabilization=stabilization)
            errors.append(np.linalg.norm(got.state_at().pack() - best.state_at().pack()))
        return np.polyfit(np.log([1 / n for n in counts]), np.log(errors), 1)[0]

    assert order("projection") == pytest.approx(order(None), abs=0.2)


def test_compound_pendulum_period_and_loads():
    """Small swings have the period 2 pi sqrt(I / m g l); the load at the turning points is that of statics."""
    system = pendulum(1e-4)
    I, mgl = 0.1 + 1.2 * 0.25, 1.2 * 9.81 * 0.5
    period = 2 * np.pi * np.sqrt(I / mgl)
    result = quirk.simulate(system, period, rtol=1e-12, atol=1e-15, output=[0, period / 4, period])
    angle = result["hinge"].rotation[:, 2]
    np.testing.assert_allclose(angle - angle[0], [0, -1e-4, 0], atol=1e-11)
    np.testing.assert_allclose(result["hinge"].force()[1], [0, 0, 1.2 * 9.81], atol=1e-5)


@pytest.mark.parametrize("stabilization", ["projection", "baumgarte", None])
def test_stabilization(stabilization):
    result = quirk.simulate(pendulum(rate=4.0), 20.0, method="RK4", step=0.01, output=0.5, stabilization=stabilization)
    drift = result.residual.position.max()
    if stabilization == "projection":
        assert drift < 1e-15 * 10
    elif stabilization == "baumgarte":
        assert 1e-13 < drift < 1e-5
    else:
        assert drift > 1e-6
    np.testing.assert_allclose(np.linalg.norm(result["rod"].orientation, axis=1), 1, atol=1e-14)


def test_baumgarte_pulls_back_at_the_rates_asked_for():
    """Phi'' + 2 alpha Phi' + beta^2 Phi = 0 at a state off the constraints."""
    system, alpha, beta = pendulum(rate=2.0), 3.0, 5.0
    state = system.initial_state()
    state.position += 0.01
    state.velocity -= 0.02
    kin = Kinematics.of(state)
    rows = system.constraint_rows(state)
    xdd = equations.motion(system.model, 0.0, kin, (alpha, beta)).acceleration.ravel()
    np.testing.assert_allclose(rows.A @ xdd - rows.b, -2 * alpha * rows.phi_dot - beta**2 * rows.phi, atol=1e-12)


class TestOutput:
    def test_interval(self):
        result = quirk.simulate(pendulum(), 1.0, output=0.25)
        np.testing.assert_allclose(result.time, [0, 0.25, 0.5, 0.75, 1.0])

    def test_interval_that_does_not_divide_the_duration_ends_with_it(self):
        result = quirk.simulate(pendulum(), 1.0, output=0.4)
        np.testing.assert_allclose(result.time, [0, 0.4, 0.8, 1.0])

    def test_many_short_intervals_lose_none(self):
        assert len(quirk.simulate(pendulum(), 0.3, output=0.001).time) == 301

    def test_times(self):
        result = quirk.simulate(pendulum(), 1.0, output=[0.1, 0.9])
        np.testing.assert_array_equal(result.time, [0.1, 0.9])

    def test_every_step(self):
        result = quirk.simulate(pendulum(), 1.0, method="RK4", step=0.1)
        np.testing.assert_allclose(result.time, np.linspace(0, 1, 11))
        result = quirk.simulate(pendulum(), 1.0)
        assert len(result.time) == result.statistics.steps + 1

    def test_does_not_depend_on_what_is_asked_for(self):
        few, many = (quirk.simulate(pendulum(), 1.0, output=x) for x in (1.0, 0.01))
        np.testing.assert_array_equal(few["rod"].position[-1], many["rod"].position[-1])

    def test_states_between_steps_are_as_good_as_those_at_the_ends(self):
        system = pendulum(rate=3.0)
        dense = quirk.simulate(system, 1.0, rtol=1e-9, atol=1e-11, output=0.01)
        exact = quirk.simulate(system, 1.0, rtol=1e-13, atol=1e-15, output=0.01)
        np.testing.assert_allclose(dense["rod"].position, exact["rod"].position, atol=2e-8)


def test_another_initial_state():
    system = pendulum()
    one = quirk.simulate(system, 1.0, output=0.5)
    middle = one.state_at(1)
    other = quirk.simulate(system, 0.5, output=[0.5], initial_state=middle)
    np.testing.assert_allclose(other["rod"].position[-1], one["rod"].position[-1], atol=1e-8)


def test_a_run_in_two_parts_is_the_run():
    """The second part goes on in time, as forces that depend on it see it."""
    body = quirk.Body("b", 1.0, [1, 1, 1])
    system = quirk.System([body, quirk.Force("shaker", body, lambda t, r, q, v, w: [np.sin(3 * t), 0, 0])])
    whole = quirk.simulate(system, 2.0, output=0.5)
    first = quirk.simulate(system, 1.0, output=0.5)
    second = quirk.simulate(system, 1.0, output=0.5, initial_state=first.state_at(), start=1.0)
    np.testing.assert_allclose(second.time, [1.0, 1.5, 2.0])
    np.testing.assert_allclose(second["b"].position, whole["b"].position[2:], atol=1e-9)
    np.testing.assert_allclose(second["b"].acceleration, whole["b"].acceleration[2:], atol=1e-9)
    listed = quirk.simulate(system, 1.0, output=[1.25, 2.0], initial_state=first.state_at(), start=1.0)
    np.testing.assert_allclose(listed["b"].position[1], whole["b"].position[4], atol=1e-9)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "LSODA"])
def test_dry_friction_by_the_sign_of_a_velocity_ends_with_an_explanation(method):
    """Where friction sticks, the force jumps at every step and steps shrink without end."""
    body = quirk.Body("b", 1.0, [1, 1, 1])
    friction = quirk.Force("friction", body, lambda t, r, q, v, w: [0, 0, -5 * np.sign(v[2]) + 3 * np.sin(5 * t)])
    with pytest.raises(quirk.SimulationError, match=r"steps advanced by only|collapsed|gave up") as error:
        quirk.simulate(quirk.System([body, friction]), 2.0, method=method)
    assert len(error.value.result.time) > 0


def test_interruption_before_the_first_output_keeps_the_state_reached():
    def stop(t, *motion):
        if t > 0.2:
            raise KeyboardInterrupt
        return [0, 0, 1]

    body = quirk.Body("b", 1.0, [1, 1, 1])
    result = quirk.simulate(
        quirk.System([body, quirk.Force("f", body, stop)]), 1.0, method="RK4", step=0.05, output=[0.5]
    )
    assert result.status == "interrupted"
    np.testing.assert_allclose(result.time, [0.2])
    np.testing.assert_allclose(result["b"].velocity, [[0, 0, 0.2]])


def test_a_run_that_fails_in_its_first_step_still_has_its_start():
    def fail(t, *motion):
        return [0, 0, 1] if t <= 0 else [np.nan, 0, 0]

    body = quirk.Body("b", 1.0, [1, 1, 1], position=[1, 2, 3])
    system = quirk.System([body, quirk.Force("f", body, fail)])
    for options in ({}, {"method": "RK4", "step": 0.1}, {"method": "BDF"}):
        with pytest.raises(quirk.SimulationError, match=r'Force "f"') as error:
            quirk.simulate(system, 1.0, output=[0.5], **options)
        partial = error.value.result
        np.testing.assert_array_equal(partial.time, [0])
        np.testing.assert_array_equal(partial["b"].position, [[1, 2, 3]])
        assert "failed 0 s" in partial.summary()


def test_a_function_that_fails_on_the_way_ends_the_run_with_its_name_and_the_result():
    body = quirk.Body("b", 1.0, [1, 1, 1])
    force = quirk.Force("push", body, lambda t, r, q, v, w: [1, 0, 0] if t < 0.5 else [1, 0])
    with pytest.raises(quirk.SimulationError, match=r'Force "push", at t = 0\.5.* must have shape \(3,\)') as error:
        quirk.simulate(quirk.System([body, force]), 1.0)
    assert error.value.result.time[-1] == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("options", [{}, {"method": "RK4", "step": 0.1}, {"method": "Radau"}, {"method": "BDF"}])
@pytest.mark.parametrize("velocity", [1e200, 1e308])
def test_absurd_numbers_end_in_a_clear_error_or_a_result(options, velocity):
    body = quirk.Body("b", 1.0, [1, 1, 2], angular_velocity=[velocity, 1.0, 0])
    try:
        quirk.simulate(quirk.System([body]), 1.0, **options)
    except quirk.QuirkError as error:
        assert "simulate" in str(error)


@pytest.mark.parametrize(("size", "origin"), [(1e-2, 7e6), (1.0, 1e5), (1e-3, 1e3)])
def test_far_from_the_origin(size, origin):
    """Two bodies on a ball joint, as small as the round-off of their positions allows."""
    place = np.array([origin, 0, 0])
    a = quirk.Body("a", 1.0, [0.1 * size**2] * 3, position=place, velocity=[0, 0, 7e3])
    b = quirk.Body("b", 1.0, [0.1 * size**2] * 3, position=place + np.array([2 * size, 0, 0]), velocity=[0, 0, 7e3])
    ball = quirk.Spherical("ball", a, b, point=place + np.array([size, 0, 0]))
    push = quirk.Force("push", a, [0, 1.0, 0])
    result = quirk.simulate(quirk.System([a, b, ball, push]), 0.1, output=[0.1])
    assert result.statistics.steps < 2000
    np.testing.assert_allclose(result.momentum.linear[-1], [0, 0.1, 14e3], atol=1e-6)


def test_long_wires():
    body = quirk.Body("b", 1.0, [0.1] * 3, position=[3.8e8, 0, 0], velocity=[0, 1e3, 0])
    wire = quirk.Distance("wire", quirk.GROUND, body)
    result = quirk.simulate(quirk.System([body, wire]), 1.0, output=[1.0])
    assert result.statistics.steps < 200
    np.testing.assert_allclose(np.linalg.norm(result["b"].position), 3.8e8, rtol=1e-14)


def test_runs_are_repeatable():
    one, two = (quirk.simulate(pendulum(), 1.0) for _ in range(2))
    np.testing.assert_array_equal(one.state.position, two.state.position)


def test_interruption_keeps_what_was_computed():
    def stop(t, angle, rate):
        if t > 0.5:
            raise KeyboardInterrupt
        return 0.0

    system = pendulum()
    motor = quirk.JointTorque("stop", system["hinge"], stop)
    result = quirk.simulate(quirk.System([*system, motor], gravity=[0, 0, -9.81]), 1.0, output=0.1)
    assert result.status == "interrupted"
    assert 0.2 <= result.time[-1] <= 0.5
    assert len(result["rod"].position) == len(result.time)


def test_a_motion_that_ends_in_a_singularity_ends_the_run_with_the_result_so_far():
    """v' = v^2 for a body in free flight: infinite speed at t = 1."""
    body = quirk.Body("rocket", 1.0, [1, 1, 1], velocity=[1, 0, 0])
    thrust = quirk.Force("thrust", body, lambda t, r, q, v, w: v * np.abs(v))
    with pytest.raises(quirk.SimulationError, match=r'at t = (1|0\.99\d*) s at body "rocket": ') as error:
        quirk.simulate(quirk.System([body, thrust]), 2.0, output=0.25)
    assert error.value.time == pytest.approx(1.0, abs=1e-3)
    assert error.value.body == "rocket"
    partial = error.value.result
    np.testing.assert_allclose(partial.time[:4], [0, 0.25, 0.5, 0.75])
    np.testing.assert_allclose(partial["rocket"].velocity[:4, 0], 1 / (1 - partial.time[:4]), rtol=1e-6)


def test_a_discontinuous_force_does_not_stop_the_run():
    body = quirk.Body("b", 1.0, [1, 1, 1])
    push = quirk.Force("push", body, lambda t, r, q, v, w: [1.0 if t > 0.3456 else 0.0, 0, 0])
    result = quirk.simulate(quirk.System([body, push]), 1.0, output=[1.0])
    np.testing.assert_allclose(result["b"].velocity[-1, 0], 1 - 0.3456, atol=1e-7)


def test_progress_line(capsys):
    quirk.simulate(pendulum(), 0.5, progress=True)
    line = capsys.readouterr().err
    assert "100%" in line
    assert "t = 0.500 of 0.5 s" in line


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_stiff_spring(method):
    """A very stiff damper: explicit steps would be of 1e-5 s."""
    body = quirk.Body("b", 1.0, [0.1, 0.1, 0.1], position=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, body, axis=[1, 0, 0])
    spring = quirk.Spring("s", quirk.GROUND, body, stiffness=1e5, damping=1e5, rest_length=0.5)
    result = quirk.simulate(quirk.System([body, rail, spring]), 3.0, method=method, rtol=1e-6, atol=1e-9, output=1.0)
    # The overdamped motion creeps at k / c = 1 per second.
    np.testing.assert_allclose(result["b"].position[:, 0], 0.5 + 0.5 * np.exp(-result.time), atol=2e-4)
    assert result.statistics.evaluations < 3000
