"""A run goes on from where it was saved, to the last bit."""

import pickle
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from mechanisms import random_system
from test_run import METHODS, pendulum, sliding, stop_and_spring

import quirk


def moved(run, values, interval=0.013):
    """Advance a run with these values of its inputs; return all states, times, events and reasons."""
    found = []
    for value in values:
        for name in run.inputs:
            run.inputs[name] = value if np.ndim(run.inputs[name]) == 0 else [value, 0.1, 0.0]
        reason = run.advance(interval)
        state = run.state
        names = [(one.name, one.time, one.direction) for one in run.events]
        angles = {name: angle.tolist() for name, angle in state.angles.items()}
        internal = {name: numbers.tolist() for name, numbers in state.internal.items()}
        found.append((reason, run.time, state.pack().tolist(), angles, internal, names, run.statistics.steps))
    return found


def require_the_same(make, values, cut):
    """Require that a run goes on as before from where it was saved, as do others, and through a pickle."""
    run = make()
    moved(run, values[:cut])
    saved = run.save()
    want = moved(run, values[cut:])
    run.restore(saved)
    assert moved(run, values[cut:]) == want
    other = make()
    moved(other, values[: cut // 2])
    other.restore(pickle.loads(pickle.dumps(saved)))
    assert moved(other, values[cut:]) == want
    fresh = make()
    fresh.restore(saved)
    assert moved(fresh, values[cut:]) == want
    fresh.restore(saved)
    assert fresh.save().time == saved.time and moved(fresh, values[cut:]) == want


@pytest.mark.parametrize("method", METHODS)
def test_of_every_method(method):
    rng = np.random.default_rng(1)
    system = random_system(rng, bodies=3, loops=1)
    system = system.with_parts(quirk.Force("push", system.bodies[0], [0, 0, 0]))
    require_the_same(
        lambda: quirk.Run(system, inputs=["push"], **METHODS[method]), np.repeat(rng.normal(size=8), 5), 17
    )


@pytest.mark.parametrize("method", ["Vern9", "Taylor", "auto"])
def test_with_contacts_springs_and_events(method):
    rng = np.random.default_rng(2)
    system = pendulum(
        *stop_and_spring(0.6),
        lambda *_: quirk.Event("fast", "hinge.angle_rate", level=2.0),
        lambda rod, hinge: quirk.Controller("servo", hinge, 0.3, kp=2.0, ki=3.0),
    )
    make = lambda: quirk.Run(system, inputs=["motor"], **METHODS[method])  # noqa: E731
    require_the_same(make, np.repeat(rng.normal(size=20), 4), 43)


@pytest.mark.slow
def test_with_friction_that_sticks():
    values = [0.0] * 40 + [4.0] * 20 + [9.0] * 30 + [0.0] * 30
    for cut in (20, 50, 75):
        require_the_same(lambda: quirk.Run(sliding(0.3), inputs=["push"], rtol=1e-7), values, cut)


def test_with_a_function_in_python_and_one_that_jumps():
    system = pendulum(lambda rod, hinge: quirk.JointTorque("gust", hinge, lambda t, x, v: 2.0 if t > 0.21 else x * v))
    require_the_same(lambda: quirk.Run(system, inputs=["motor"], rtol=1e-7), np.repeat([0.0, 1.0, 2.0], 8), 9)


def test_values_that_actions_set_in_python_are_not_saved():
    values = {"u": 1.0}
    ball = quirk.Body("ball", 1.0, [1, 1, 1], velocity=[1.0, 0, 0])
    push = quirk.Force("push", ball, lambda t, r, q, v, w: np.array([values["u"], 0, 0]))
    change = quirk.Event("change", "ball.position.x", level=0.5, action=lambda t, state: values.update(u=-1.0))
    run = quirk.Run(quirk.System([ball, push, change]))
    with pytest.warns(quirk.CheckpointWarning, match='Run: save: Event "change" may set values in Python'):
        saved = run.save()
    run.advance(1.0)
    first = run["ball"].position[0]
    run.restore(saved)
    values["u"] = 1.0
    run.advance(1.0)
    assert run["ball"].position[0] == first
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # warned once for each run
        run.save()


def test_to_save_changes_nothing():
    one, other = (quirk.Run(pendulum(), inputs=["motor"], rtol=1e-6) for _ in range(2))
    for k in range(30):
        one.inputs["motor"] = other.inputs["motor"] = 0.1 * (k // 4)
        one.save()
        one.advance(0.01)
        other.advance(0.01)
        np.testing.assert_array_equal(one.state.pack(), other.state.pack())


def test_to_look_changes_nothing():
    system = pendulum(*stop_and_spring(0.6))
    one, other = (quirk.Run(system, inputs=["motor"], rtol=1e-6) for _ in range(2))
    observe = one.observe(["hinge.angle", "hinge.force.x", "energy.total", "rod.speed"])
    for k in range(60):
        one.inputs["motor"] = other.inputs["motor"] = 0.1 * (k // 4)
        one.advance(0.01)
        other.advance(0.01)
        observe(), one["hinge"].force(), one["rod"].acceleration, one["coil"].torque
        np.testing.assert_array_equal(one.state.pack(), other.state.pack())


def test_inputs_set_and_not_yet_in_effect_are_saved():
    run = quirk.Run(pendulum(), inputs=["motor"])
    run.advance(0.1)
    run.inputs["motor"] = 5.0
    saved = run.save()
    run.advance(0.1)
    want = run.state.pack()
    run.inputs["motor"] = -3.0
    run.advance(0.1)
    run.restore(saved)
    assert run.inputs["motor"] == 5.0
    run.advance(0.1)
    np.testing.assert_array_equal(run.state.pack(), want)


def test_what_was_kept_is_cut():
    run = quirk.Run(pendulum(), inputs=["motor"], keep=0.05)
    run.advance(0.2)
    saved = run.save()
    run.inputs["motor"] = 3.0
    run.advance(0.4)
    run.restore(saved)
    np.testing.assert_allclose(run.result().time, 0.05 * np.arange(5), atol=1e-15)
    run.advance(0.1)
    result = run.result()
    np.testing.assert_allclose(result.time, 0.05 * np.arange(7), atol=1e-15)
    want = quirk.simulate(pendulum(), 1.0, output=0.05)
    np.testing.assert_array_equal(result["hinge"].angle, want["hinge"].angle[:7])


def bouncing_ball():
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.6], velocity=[1.0, 0, 0])
    surfaces = {"on_i": quirk.surface.plane(), "on_j": quirk.surface.sphere(0.1)}
    floor = quirk.Contact("floor", quirk.GROUND, ball, **surfaces, restitution=0.5)
    return quirk.System([ball, floor, quirk.Friction("rub", floor, 0.3)], gravity=[0, 0, -9.81])


def require_beginning(run, t, unbroken):
    """Require that the result of a run begins at time t, and that its works are those of the unbroken run from there."""
    with pytest.warns(quirk.CheckpointWarning, match=f"the motion before t = {t:g} s is not known"):
        result = run.result()
    assert result.time[0] == pytest.approx(t) and result.time[-1] == unbroken.time[-1]
    np.testing.assert_allclose(result.power.balance, 0.0, atol=1e-9)
    lost = unbroken.power.work["impacts"][-1] - unbroken.at(t).power.work["impacts"][0]
    assert result.power.work["impacts"][-1] == pytest.approx(lost, abs=1e-9)
    with pytest.raises(quirk.InputError, match="t must"):
        result.at(0.5 * t)
    for part, same in zip(result.at(t + 0.011).state.parts, unbroken.at(t + 0.011).state.parts, strict=True):
        np.testing.assert_allclose(part, same, atol=1e-9)


def test_a_result_begins_where_another_run_was_restored():
    """The ball hits the floor at 0.319 s; its works would otherwise lack this impact, in a result from 0 s on."""
    system = bouncing_ball()
    run = quirk.Run(system, keep=0.1)
    run.advance_to(0.42)
    saved = pickle.dumps(run.save())
    run.advance_to(0.8)
    unbroken = run.result()
    for keep in (0.1, 0.2):  # also with another interval than that of the saved run
        other = quirk.Run(system, keep=keep)
        other.restore(pickle.loads(saved))
        other.advance_to(0.8)
        require_beginning(other, 0.42, unbroken)
    once = other.save()
    other.restore(once)
    with pytest.warns(quirk.CheckpointWarning):
        np.testing.assert_allclose(other.result().time[:2], [0.42, 0.6])


def test_a_result_begins_where_a_run_was_restored_forward():
    run = quirk.Run(bouncing_ball(), keep=0.1)
    run.advance_to(0.1)
    early = run.save()
    run.advance_to(0.5)
    late = run.save()
    run.advance_to(0.8)
    unbroken = run.result()
    run.restore(late)
    run.advance_to(0.8)
    np.testing.assert_array_equal(run.result().time, unbroken.time)  # no warning: the run has been there
    run.restore(early)
    run.advance_to(0.3)
    run.restore(late)
    run.advance_to(0.8)
    require_beginning(run, 0.5, unbroken)


def test_a_result_begins_where_a_run_changes_between_branches():
    """States stored with other inputs do not lead to a snapshot, although they reach its time."""
    ball = quirk.Body("ball", 1.0, [1, 1, 1])
    run = quirk.Run(quirk.System([ball, quirk.Force("push", ball, [0, 0, 0])]), inputs=["push"], keep=0.1)
    run.advance(0.2)
    early = run.save()
    run.inputs["push"] = [1.0, 0, 0]
    run.advance(0.3)
    late = run.save()
    run.restore(early)
    run.inputs["push"] = [-5.0, 0, 0]
    run.advance(0.5)
    run.restore(late)
    run.advance(0.2)
    with pytest.warns(quirk.CheckpointWarning, match="before t = 0.5 s"):
        result = run.result()
    np.testing.assert_allclose(result["ball"].velocity[:, 0], [0.3, 0.4, 0.5], atol=1e-9)
    np.testing.assert_allclose(result["push"].force()[:, 0], 1.0)
    np.testing.assert_allclose(result.power.work["push"], [0.0, 0.035, 0.08], atol=1e-9)


def test_a_result_has_the_inputs_of_the_restored_run():
    run = quirk.Run(pendulum(), inputs=["motor"], keep=0.1)
    begin = run.save()
    run.inputs["motor"] = 3.0
    run.advance(0.5)
    saved = run.save()
    fresh = quirk.Run(pendulum(), inputs=["motor"], keep=0.1)
    fresh.restore(saved)
    run.restore(begin)
    run.inputs["motor"] = 7.0
    run.advance(0.3)
    assert run.result().time[-1] == 0.3 and run.result()["motor"].effort.tolist() == [7.0] * 4
    run.advance(0.5)
    run.restore(saved)
    for restored in (fresh, run):
        restored.advance(0.2)
        with pytest.warns(quirk.CheckpointWarning, match="before t = 0.5 s is not known"):
            result = restored.result()
        np.testing.assert_array_equal(result["motor"].effort, [3.0] * 3)
        np.testing.assert_allclose(result.time, [0.5, 0.6, 0.7])


def test_other_runs_are_refused():
    saved = quirk.Run(pendulum(), inputs=["motor"]).save()
    for other, message in [
        (quirk.Run(pendulum(), inputs=["motor"], rtol=1e-5), "differs in rtol"),
        (quirk.Run(pendulum()), "differs in inputs"),
        (quirk.Run(sliding(0.2)), "differs in inputs, the parts of the system: "),
    ]:
        with pytest.raises(quirk.InputError, match=message):
            other.restore(saved)
    base = pendulum()
    moved_hinge = quirk.Revolute("hinge", quirk.GROUND, base["rod"], point=[0.3, 0, 0], axis="y")
    motor = quirk.JointTorque("motor", moved_hinge, 0.0)
    shorter = quirk.System([base["rod"], moved_hinge, motor], gravity=base.gravity)
    with pytest.raises(quirk.InputError, match='differs in Revolute "hinge": restore it in a run of the same system'):
        quirk.Run(shorter, inputs=["motor"]).restore(pickle.loads(pickle.dumps(saved)))
    falling = quirk.System(list(base), gravity=[0, 0, -1.62])
    with pytest.raises(quirk.InputError, match="differs in gravity and active parts"):
        quirk.Run(falling, inputs=["motor"]).restore(saved)
    with pytest.raises(quirk.InputError, match=r"must be what Run\.save has returned"):
        quirk.Run(pendulum()).restore(3)


PROCESS = """
import pickle
from test_run import pendulum, stop_and_spring
from test_run_saved import moved
import quirk
run = quirk.Run(pendulum(*stop_and_spring(0.6)), inputs=["motor"], rtol=1e-7)
with open({path!r}, "rb") as file:
    run.restore(pickle.load(file))
print(repr(moved(run, [1.0] * 30)))
"""


def test_in_another_process(tmp_path):
    run = quirk.Run(pendulum(*stop_and_spring(0.6)), inputs=["motor"], rtol=1e-7)
    moved(run, [0.5] * 50)
    path = tmp_path / "saved"
    path.write_bytes(pickle.dumps(run.save()))
    want = moved(run, [1.0] * 30)
    command = [sys.executable, "-c", PROCESS.format(path=str(path))]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    assert done.stdout.strip() == repr(want)


def wheel_and_ball():
    """A wheel that a torque turns many times, and a ball that bounces."""
    wheel = quirk.Body.sphere("wheel", 1.0, 0.1, position=[1.0, 0, 0])
    axle = quirk.Revolute("axle", quirk.GROUND, wheel, point=[1.0, 0, 0], axis="y")
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.3])
    floor = quirk.Contact(
        "floor", quirk.GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1), restitution=0.8
    )
    torque = quirk.JointTorque("torque", axle, 0.0)
    return quirk.System([wheel, axle, ball, floor, torque], gravity=[0, 0, -9.81])


def turned(between):
    """Result of a run with a torque that changes between outputs, where the function `between` of the run is called."""
    run = quirk.Run(wheel_and_ball(), inputs=["torque"], keep=0.05)
    for k in range(8):
        run.inputs["torque"] = 2.0 if k % 2 else -0.5
        run.advance_to(0.13 * (k + 1))
        between(run)
    return run.result()


def and_back(run):
    saved, torque = run.save(), run.inputs["torque"]
    run.inputs["torque"] = 7.0
    run.advance(0.21)
    run.restore(saved)
    run.inputs["torque"] = torque


@pytest.mark.parametrize("between", [lambda run: run.result(), and_back, lambda run: (run.result(), and_back(run))])
def test_a_look_or_a_return_between_outputs_leaves_no_gap(between):
    unbroken, other = turned(lambda run: None), turned(between)
    np.testing.assert_allclose(other.time, unbroken.time, atol=1e-12)
    assert len(other.segments) == len(unbroken.segments)
    assert np.ptp(unbroken["axle"].angle) > 4 * np.pi
    np.testing.assert_allclose(other["axle"].angle, unbroken["axle"].angle, atol=1e-9)
    times = np.linspace(0.0, 1.0, 300)
    for name in ("wheel", "ball"):
        one, two = (result.at(times)[name].velocity for result in (unbroken, other))
        np.testing.assert_allclose(two, one, atol=1e-6)
    np.testing.assert_allclose(other.at(times)["axle"].angle, unbroken.at(times)["axle"].angle, atol=1e-6)
    np.testing.assert_allclose(other["floor"].force(), unbroken["floor"].force(), atol=1e-9)
