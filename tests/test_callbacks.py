"""Functions of a user that compiled code calls: what they return, raise, alter and call themselves."""

import re
import sys
import threading

import numba
import numpy as np
import pytest
from studies import study

import quirk
from quirk.dynamics.sparse.codegen.callbacks import OF_BODY, OF_JOINT, compiled_pointer
from quirk.forces.value import Value

LATE = 0.1


def body(**options):
    return quirk.Body("b", 1.0, [1, 2, 3], position=[1, 0, 0], **options)


def with_force(function):
    b = body()
    return quirk.System([b, quirk.Force("push", b, function)])


def with_motor(function):
    b = body()
    hinge = quirk.Revolute("hinge", quirk.GROUND, b, point=[0, 0, 0], axis=[0, 0, 1])
    return quirk.System([b, hinge, quirk.JointTorque("motor", hinge, function)])


def message(system, **options):
    """What a run says that fails at its start or in its middle."""
    with pytest.raises(quirk.QuirkError) as error:
        quirk.simulate(system, 2 * LATE, method="RK4", step=0.02, **options)
    if isinstance(error.value, quirk.SimulationError):
        assert error.value.result.time[-1] == pytest.approx(LATE, abs=0.03)
    return str(error.value)


def raises(t, p, q, v, w):
    if t > LATE:
        raise ValueError("this is where the track ends")
    return 0.0, 1.0, 0.0


def divides(t, p, q, v, w):
    return 1.0 / (0.0 if t > LATE else 1.0), 0.0, 0.0


def shorter_array(t, p, q, v, w):
    return np.zeros(2 if t > LATE else 3)


def longer_list(t, p, q, v, w):
    return [0.0] * (4 if t > LATE else 3)


def not_a_number(t, p, q, v, w):
    return 0.0, np.nan if t > LATE else 1.0, 0.0


def infinite(t, p, q, v, w):
    return np.array([0.0, np.inf if t > LATE else 1.0, 0.0])


def nothing_late(t, p, q, v, w):
    if t < LATE:
        return p
    return None


def scalar(t, p, q, v, w):
    return 1.0


def two(t, p, q, v, w):
    return 1.0, 2.0


def matrix(t, p, q, v, w):
    return np.zeros((3, 1))


def complex_numbers(t, p, q, v, w):
    return p * 1j


def truths(t, p, q, v, w):
    return p > 0


def text(t, p, q, v, w):
    return "abc"


def nothing(t, p, q, v, w):
    pass


OF_BODIES = {
    raises: "failed at t = .* s: ValueError: this is where the track ends",
    divides: "ZeroDivisionError: .*division",
    shorter_array: r"must have shape \(3,\); got shape \(2,\)",
    longer_list: r"must have shape \(3,\); got shape \(4,\)",
    not_a_number: r"must be finite; got \[0.0, nan, 0.0\]",
    infinite: r"must be finite; got \[0.0, inf, 0.0\]",
    nothing_late: "must be 3 numbers; got None",
    scalar: r"must have shape \(3,\); got shape \(\)",
    two: r"must have shape \(3,\); got shape \(2,\)",
    matrix: r"must have shape \(3,\); got shape \(3, 1\)",
    complex_numbers: "must be 3 numbers; got array",
    truths: "must be 3 numbers; got array",
    text: "must be 3 numbers; got 'abc'",
    nothing: "must be 3 numbers; got None",
}


def said(pattern, text):
    return re.search(pattern, text.replace("\n", " "))


# Compiled by numba, these may return numbers for all that their types tell, and are called by address.
SURE = {raises, divides, shorter_array, longer_list, not_a_number, infinite, nothing_late}


@pytest.mark.parametrize(
    "function", study(OF_BODIES, {raises, infinite, nothing_late, *(set(OF_BODIES) - SURE)}), ids=lambda f: f.__name__
)
def test_functions_of_bodies_are_checked(function, capfd):
    compiled = numba.njit(function)
    for made in (function, compiled):
        for solver in ("sparse", "dense"):
            assert said('Force "push".*' + OF_BODIES[function], message(with_force(made), solver=solver))
    assert (compiled_pointer(compiled, OF_BODY) is not None) == (function in SURE)
    assert re.sub("quirk: compiling .*\n", "", capfd.readouterr().err) == ""


def motor_raises(t, angle, rate):
    if t > LATE:
        raise RuntimeError("no current")
    return 1


def motor_not_a_number(t, angle, rate):
    return np.nan if t > LATE else 0.0


def motor_nothing_late(t, angle, rate):
    if t < LATE:
        return 0.1
    return None


def motor_vector(t, angle, rate):
    return 1.0, 2.0


def motor_array(t, angle, rate):
    return np.zeros(1)


def motor_complex(t, angle, rate):
    return 1j


def motor_truth(t, angle, rate):
    return angle > 0


OF_JOINTS = {
    motor_raises: "called as f.t, angle, rate., failed at t = .* s: RuntimeError: no current",
    motor_not_a_number: "must be finite; got nan",
    motor_nothing_late: "must be a number; got None",
    motor_vector: r"must be a number; got \(1.0, 2.0\)",
    motor_array: r"must be a number; got array\(\[0.\]\)",
    motor_complex: "must be a number; got 1j",
    motor_truth: "must be a number; got .*False",
}


MOTORS_SURE = {motor_raises, motor_not_a_number, motor_nothing_late}


@pytest.mark.parametrize(
    "function", study(OF_JOINTS, {motor_raises, *(set(OF_JOINTS) - MOTORS_SURE)}), ids=lambda f: f.__name__
)
def test_functions_of_joints_are_checked(function, capfd):
    compiled = numba.njit(function)
    for made in (function, compiled):
        for solver in ("sparse", "dense"):
            assert said('JointTorque "motor".*' + OF_JOINTS[function], message(with_motor(made), solver=solver))
    assert (compiled_pointer(compiled, OF_JOINT) is not None) == (function in MOTORS_SURE)
    assert "Traceback" not in capfd.readouterr().err


def test_machine_code_is_used_for_numbers_of_any_type():
    """For what else returns as many numbers as it must, tests above say."""
    assert compiled_pointer(numba.njit(lambda t, p, q, v, w: (1, np.float32(t), 0)), OF_BODY) is not None


def test_compiled_functions_that_work_are_not_called_from_python(monkeypatch):
    called, original = [], Value.__call__
    monkeypatch.setattr(Value, "__call__", lambda self, t, *more: called.append(t) or original(self, t, *more))
    result = quirk.simulate(with_force(numba.njit(lambda t, p, q, v, w: -p)), 1.0)
    np.testing.assert_allclose(result["b"].position[-1, 0], np.cos(1.0), rtol=1e-8)
    assert called == [0.0]  # once before the run, to see whether it works at all


def test_a_compiled_function_that_fails_at_trial_steps_alone_does_not_end_the_run():
    """A spring that breaks if it is stretched further than it ever is."""

    @numba.njit
    def spring(t, p, q, v, w):
        if p[0] > 1.0 + 1e-6:
            raise ValueError("torn")
        return -p

    system = with_force(spring)
    tried = quirk.simulate(system, 6.0, rtol=1e-3, atol=1e-3, method="RK45", output=[1.0])
    np.testing.assert_allclose(tried["b"].position[0, 0], np.cos(1.0), rtol=1e-2)


def test_what_fails_in_one_stage_is_named_though_it_works_in_the_next():
    calls = []

    def once(t, p, q, v, w):
        if 0.52 < t < 0.53:  # the second stage of a step from 0.5 to 0.55
            calls.append(t)
            if len(calls) == 1:
                raise ValueError("hiccup")
        return 0.0, 0.0, 1.0

    assert "ValueError: hiccup" in message_of_failure(with_force(once), method="RK4", step=0.05)
    calls.clear()
    assert quirk.simulate(with_force(once), 1.0).status == "completed"  # adaptive steps are taken again


def message_of_failure(system, **options):
    with pytest.raises(quirk.SimulationError) as error:
        quirk.simulate(system, 1.0, **options)
    return str(error.value)


@pytest.mark.parametrize("solver", study(["sparse", "dense"], 1))
def test_what_fails_between_two_steps_alone_is_named(solver):
    times = []

    def force(t, p, q, v, w):
        times.append(t)
        return 0.0, np.sin(t), 0.0

    quirk.simulate(with_force(force), 1.0, solver=solver)
    known = set(times)

    def picky(t, p, q, v, w):
        if t not in known:
            raise ValueError("asked at another time")
        return 0.0, np.sin(t), 0.0

    found = message_of_failure(with_force(picky), solver=solver, output=[0.123])
    assert "not finite between two steps" in found
    assert "asked at another time" in found


class Ended(BaseException):
    """What is no Exception."""


@pytest.mark.parametrize("kind", study([SystemExit, GeneratorExit, Ended], 1))
@pytest.mark.parametrize("options", [{}, {"solver": "dense"}, {"method": "Radau"}, {"method": "LSODA"}], ids=str)
def test_what_is_no_exception_arrives_unchanged(kind, options):
    calls = []

    def once(t, p, q, v, w):
        calls.append(t)
        if len(calls) == 20:
            raise kind("enough")
        return 0.0, 0.0, 1.0

    with pytest.raises(kind, match="enough"):
        quirk.simulate(with_force(once), 10.0, **options)
    assert len(calls) == 20  # nobody is asked after that


def spoil(*arrays):
    for array in arrays:
        array[...] = np.nan


def systems(kept, after):
    """A system for each place where a function gets arrays; it keeps them, and calls `after` on them in the end."""

    def force(t, p, q, v, w):
        load = -p - 0.1 * v + 0.01 * q[1:] + 0.01 * w
        kept.append((p, q, v, w))
        after(p, q, v, w)
        return load

    def rows(t, p, q, v, w):
        A, b = np.array([[1.0, 0, 0, 0, 0, 0]]), np.array([-p[0, 0] - v[0, 0] + 0.01 * q[0, 1] + 0.01 * w[0, 0]])
        kept.append((p, q, v, w))
        after(p, q, v, w)
        return A, b

    def phi(t, frame):
        if t > 1e9:  # a comparison: called from Python
            return frame.position[1]
        found = frame.position[0] - 1 - 0.1 * t**2
        after(frame.position, frame.rotation)
        return found

    def offset(t, parameters):
        if t > 1e9:
            return parameters
        found = [parameters[0] * t**2, 0, 0, 0, 0, 0]
        parameters[0] = np.nan if after is spoil else parameters[0]
        return found

    moving = {"velocity": [0.1, 0.2, 0.3], "angular_velocity": [0.3, 0.2, 0.1]}
    b = body(**moving)
    yield "Force", quirk.System([b, quirk.Force("f", b, force)])
    yield "Torque", quirk.System([b, quirk.Torque("f", b, force)])
    yield "compiled Force", quirk.System([b, quirk.Force("f", b, spoiling if after is spoil else sparing)])
    yield "CustomRows", quirk.System([b, quirk.CustomRows("f", b, rows), quirk.Torque("t", b, [0, 1, 2])])
    b = body()
    yield "Implicit", quirk.System([b, quirk.Implicit("f", b, phi), quirk.Torque("t", b, [0, 1, 2])])
    flags = [1, 0, 0, 0, 0, 0]
    joint = quirk.Generic("f", quirk.GROUND, b, constrained=flags, offset=offset, parameters=[0.1])
    yield "Generic", quirk.System([b, joint, quirk.Torque("t", b, [0, 1, 2])])


@numba.njit
def sparing(t, p, q, v, w):
    return -p[0] + w[0], -p[1] + q[1], -p[2] + v[2]


@numba.njit
def spoiling(t, p, q, v, w):
    load = -p[0] + w[0], -p[1] + q[1], -p[2] + v[2]
    p[:], q[:], v[:], w[:] = np.nan, np.nan, np.nan, np.nan
    return load


@pytest.fixture
def few_calls(monkeypatch):
    """Functions are called twenty times between the stages of a run, not a thousand times."""
    monkeypatch.setattr(sys.modules["quirk.simulation.arguments"], "PARTS", 20)


@pytest.mark.usefixtures("few_calls")
@pytest.mark.parametrize("solver", study(["sparse", "dense"], 1))
def test_functions_can_alter_and_keep_what_they_get(solver):
    """Nothing of the run changes, nor what was kept by a call before."""
    kept, spoilt, nothing = [], [], lambda *arrays: None
    for (name, good), (_, bad) in zip(systems(kept, nothing), systems(spoilt, spoil), strict=True):
        expected, found = (
            quirk.simulate(system, 0.2, method="RK4", step=0.05, solver=solver) for system in (good, bad)
        )
        np.testing.assert_array_equal(found.state.position, expected.state.position, err_msg=name)
        np.testing.assert_array_equal(found.state.angular_velocity, expected.state.angular_velocity, err_msg=name)
    # Each with each takes the square of how many there are.
    arrays = [array for call in kept for array in call]
    arrays = [*arrays[:100], *arrays[100 :: 1 + len(arrays) // 200]]
    for k, array in enumerate(arrays):
        before = [other.copy() for other in arrays]
        array += 1.0
        assert all((other == old).all() for j, (other, old) in enumerate(zip(arrays, before, strict=True)) if j != k)


def test_functions_may_return_what_they_got():
    for function in (lambda t, p, q, v, w: v, numba.njit(lambda t, p, q, v, w: v)):
        b = body(velocity=[1, 2, 3])
        result = quirk.simulate(quirk.System([b, quirk.Force("f", b, function)]), 1.0)
        np.testing.assert_allclose(result["b"].velocity[-1], np.e * np.array([1, 2, 3]), rtol=1e-8)


def test_a_compiled_function_that_alters_its_arguments_and_fails_gets_the_same_once_more():
    @numba.njit
    def force(t, p, q, v, w):
        p[0] += 1.0
        if p[0] != 2.0:
            raise ValueError("not where it was")
        return 0.0, 0.0, np.nan if t > LATE else 1.0

    assert "must be finite; got [0.0, 0.0, nan]" in message(with_force(force))


@pytest.mark.usefixtures("few_calls")
def test_a_function_can_run_a_simulation_of_its_own():
    """The force is what a pendulum of its own has come to, which is itself driven by a Python function."""

    def inner(t):
        b = body()
        system = quirk.System([b, quirk.Force("f", b, lambda t, p, q, v, w: -p)])
        return quirk.simulate(system, 0.1 + t, method="RK4", step=0.01)["b"].position[-1, 0]

    for solver in ("sparse", "dense"):
        function = with_force(lambda t, p, q, v, w: [inner(t), 0, 0])
        result = quirk.simulate(function, 0.2, method="RK4", step=0.1, solver=solver)
        # x'' = cos(t + 0.1)
        x = 1 + np.cos(0.1) - np.cos(0.3) - 0.2 * np.sin(0.1)
        np.testing.assert_allclose(result["b"].position[-1, 0], x, atol=1e-6)


def test_what_a_run_within_a_function_says_is_told_with_the_function():
    def force(t, p, q, v, w):
        if t > LATE:
            quirk.simulate(with_force(raises), 1.0)
        return 0.0, 0.0, 0.0

    found = message(with_force(force))
    assert 'Force "push": its force function' in found
    assert f"SimulationError: simulate: at t = {LATE} s" in found
    assert "this is where the track ends" in found


def test_runs_in_threads_do_not_disturb_each_other():
    def run(k):
        function = (lambda t, p, q, v, w: -k * p) if k % 2 else numba.njit(lambda t, p, q, v, w: -k * p)
        found[k] = quirk.simulate(with_force(function), 2.0, output=[1.0, 2.0])["b"].position[:, 0]

    found = {}
    threads = [threading.Thread(target=run, args=(k,)) for k in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k in (1, 2, 3, 4):
        np.testing.assert_allclose(found[k], np.cos(np.sqrt(k) * np.array([1.0, 2.0])), rtol=1e-7)


def late(function):
    def failing(t, *arguments):
        if t > LATE:
            raise ValueError("too late")
        return function(t, *arguments)

    return failing


def failing_late():
    """Constraints with functions that fail late."""
    b = body()
    hinge = quirk.Revolute("hinge", quirk.GROUND, b, point=[0, 0, 0], axis=[0, 0, 1])
    motion = quirk.Motion.function(late(lambda t: 0.0), lambda t: 0.0, lambda t: 0.0)
    yield quirk.System([b, quirk.CustomRows("f", b, late(lambda *motion: ([[1.0, 0, 0, 0, 0, 0]], [0.0])))])
    yield quirk.System([b, quirk.Implicit("f", b, late(lambda t, frame: frame.position[0] - 1))])
    yield quirk.System([b, quirk.Generic("f", quirk.GROUND, b, offset=late(lambda t, p: [0] * 6))])
    yield quirk.System([b, hinge, quirk.Drive("f", hinge, motion)])


@pytest.mark.parametrize("solver", study(["sparse", "dense"], 1))
def test_functions_of_constraints_that_fail_are_named(solver):
    for system in failing_late():
        assert said("f.* failed at t = .* s: ValueError: too late", message(system, solver=solver))
        with pytest.raises(quirk.InputError, match=r"failed at t = 0\.7 s: ValueError: too late"):
            system.acceleration(system.initial_state(), 0.7, solver=solver)


@pytest.mark.slow
def test_results_do_not_show_what_could_not_be_computed():
    for system in failing_late():
        result = quirk.simulate(system, 0.8 * LATE, output=0.4 * LATE)
        result.segments[0].time = result.time + 0.8 * LATE
        with pytest.raises(quirk.InputError, match="too late"):
            result["b"].acceleration  # noqa: B018
        with pytest.raises(quirk.InputError, match="too late"):
            result.residual  # noqa: B018


@pytest.mark.parametrize("solver", study(["sparse", "dense"], 1))
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (([[1.0, 0, 0, 0, 0, 0]], "abc"), "b must be a number for each row; got 'abc'"),
        (([[1.0, 0, 0, 0, 0, 0]], None), "b must be a number for each row; got None"),
        (([[1.0, 0, 0, 0, 0, 0]], [1j]), "b must be a number for each row"),
        (([[1.0, 0, 0, 0, 0, 0]], [True]), "b must be a number for each row"),
        (([[1.0, 0, 0, 0, 0, 0]], [np.nan]), "b must be finite"),
        (("abc", [0.0]), "A must be 1 x 6 numbers; got 'abc'"),
        (([[1.0, 0], [0.0]], [0.0]), "A must be 1 x 6 numbers"),
        (([1.0, 0], [0.0]), "A must have shape (1, 6)"),
    ],
)
def test_rows_of_wrong_types_are_named(solver, wrong, words):
    b = body()
    rows = quirk.CustomRows("f", b, lambda t, *motion: wrong if t > LATE else ([[1.0, 0, 0, 0, 0, 0]], [0.0]))
    found = message(quirk.System([b, rows]), solver=solver)
    assert 'CustomRows "f", at t = ' in found
    assert words in found


def test_relations_that_change_the_number_of_their_rows_are_named():
    b = body()

    def phi(t, frame):
        return frame.position[0] - 1 if t < LATE else [frame.position[0] - 1, frame.position[1]]

    assert "returned 2 quantities, and 1 where" in message(quirk.System([b, quirk.Implicit("f", b, phi)]))
    joint = quirk.Generic("f", quirk.GROUND, b, offset=lambda t, p: [0] * (6 if t < LATE else 3))
    assert "returned 3 entries instead of six" in message(quirk.System([b, joint]))


def test_random_values_are_an_error_in_adaptive_steps():
    """A step repeats evaluations, so that a load must be a function of its arguments; fixed steps take any values."""
    rng = np.random.default_rng(1)
    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    system = quirk.System([ball, quirk.Force("noise", ball, lambda t, r, q, v, w: [rng.normal(), 0.0, 0.0])])
    with pytest.raises(quirk.InputError, match='Force "noise": its function returns different values'):
        quirk.simulate(system, 1.0)
    result = quirk.simulate(system, 1.0, method="RK4", step=0.1)
    assert result.status == "completed"
    assert np.isfinite(result["ball"].position).all()
