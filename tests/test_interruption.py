"""Ctrl-C, with real signals, in runs that call Python functions."""

import importlib
import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from studies import study

import quirk
from quirk.dynamics.sparse.stepping.active_method import ActiveMethod
from quirk.dynamics.sparse.stepping.compiled_run import CompiledRun
from quirk.forces import ForceElement
from quirk.jit.keyboard_interrupt import AROUND_CALLS
from quirk.simulation.hybrid.run_factory import RunFactory

DEFAULT = signal.default_int_handler


@pytest.fixture(autouse=True)
def handler():
    """The handler that every script starts with, and that must be there again afterwards."""
    signal.signal(signal.SIGINT, DEFAULT)
    yield
    assert signal.getsignal(signal.SIGINT) is DEFAULT


def body():
    return quirk.Body("b", 1.0, [1, 2, 3], position=[1, 0, 0])


def with_force(function):
    b = body()
    return quirk.System([b, quirk.Force("f", b, function)])


class Hook:
    """Called from a user's function; presses Ctrl-C at one of its calls, counted from `press` on."""

    def __init__(self, at=None):
        self.press(at)

    def press(self, at):
        self.at, self.calls = at, 0

    def __call__(self, t):
        self.calls += 1
        if self.calls == self.at:
            signal.raise_signal(signal.SIGINT)


class Element(ForceElement):
    """A force element of a user, whose law does more than arithmetic."""

    def __init__(self, name, body, hook):
        self.hook = hook
        super().__init__(name, (body, quirk.Frame()))

    def load(self, t, place):
        """Return a central force."""
        self.hook(t)
        return -place.position, 0


def systems(hook):
    """Systems that call `hook(t)` from each kind of function of a user."""

    def then(t, value):
        hook(t)
        return value

    b = body()
    hinge = quirk.Revolute("hinge", quirk.GROUND, b, point=[0, 0, 0], axis=[0, 0, 1])
    spring = quirk.Spring("s", b, quirk.GROUND, stiffness=1.0, rest_length=0.3)
    motion = quirk.Motion.function(lambda t: then(t, 1 - np.cos(t)), np.sin, np.cos)

    def phi(t, frame):
        # A comparison: called from Python.
        return then(t, frame.position[2] if t < 1e9 else frame.position[0])

    return {
        "force": quirk.System([b, quirk.Force("f", b, lambda t, p, q, v, w: then(t, -p))]),
        "motor": quirk.System([b, hinge, quirk.JointTorque("f", hinge, lambda t, a, r: then(t, np.sin(t) - a))]),
        "element": quirk.System([b, Element("f", b, hook)]),
        "motion": quirk.System([b, hinge, quirk.Drive("f", hinge, motion)]),
        "rows": quirk.System(
            [b, spring, quirk.CustomRows("f", b, lambda t, *motion: then(t, ([[0, 0, 1.0, 0, 0, 0]], [0.0])))]
        ),
        "implicit": quirk.System([b, spring, quirk.Implicit("f", b, phi)]),
        "offset": quirk.System(
            [b, spring, quirk.Generic("f", quirk.GROUND, b, constrained=[0, 0, 1, 0, 0, 0],
                                      offset=lambda t, p: then(t, [0.0 if t < 1e9 else t] * 6))]
        ),
    }  # fmt: skip


METHODS = [
    {},
    {"output": 0.01},
    {"method": "RK4", "step": 0.01},
    {"solver": "dense"},
    {"method": "Radau"},
    {"method": "LSODA"},
    {"solver": "dense", "method": "BDF"},
]

SCRIPT = """
import json, os, signal, sys, threading
import numpy as np
import quirk
from test_interruption import METHODS, systems

timers = []

def hook(t):
    # From within the run, so that the signal finds it.
    while timers:
        timers.pop().start()

random = np.random.default_rng(int(sys.argv[1]))
made = systems(hook)
for name in made:
    quirk.simulate(made[name], 0.001)
for name in made:
    for options in [METHODS[k] for k in random.choice(len(METHODS), 2, replace=False)]:
        timer = threading.Timer(random.uniform(0.002, 0.15), os.kill, (os.getpid(), signal.SIGINT))
        timers.append(timer)
        try:
            result = quirk.simulate(made[name], 1e4, **options)
            finite = bool(np.isfinite(result.state.position).all() and (np.diff(result.time) > 0).all())
            found = [result.status, finite, signal.getsignal(signal.SIGINT) is signal.default_int_handler]
        except BaseException as error:
            found = [repr(error)]
        print(json.dumps([name, options, found]), flush=True)
        timer.join()
"""


def complaints(errors):
    """What stands on standard error but for what is said as something is compiled for the first time."""
    return [line for line in errors.splitlines() if not line.startswith("quirk: compiling ")]


def test_at_any_time_the_result_so_far_comes_back():
    """Fourteen runs, each with a signal at a time of its own."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "0"], cwd=str(__file__).rpartition("/")[0], capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    runs = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(runs) == 14, done.stderr
    assert [run for run in runs if run[2] != ["interrupted", True, True]] == []
    assert complaints(done.stderr) == []


@pytest.fixture(scope="module")
def hooked():
    """Systems with the hook that all of them call: what is compiled for one run serves all others."""
    hook = Hook()
    return hook, systems(hook)


@pytest.mark.parametrize("options", study(METHODS, 2), ids=str)
@pytest.mark.parametrize("kind", systems(Hook()))
def test_within_a_function(kind, options, hooked, capfd):
    hook, system = hooked[0], hooked[1][kind]
    for at in (1, 2, 3, 5, 40) if kind == "force" else (1, 3, 40):
        hook.press(at)
        result = quirk.simulate(system, 1e4, **options)
        assert result.status == "interrupted"
        assert np.isfinite(result.state.position).all()
        assert result.time[-1] < 1e4
        assert "interrupted" in result.summary()
    assert complaints(capfd.readouterr().err) == []


def test_the_run_ends_soon_and_nobody_is_asked_for_long():
    """Within the evaluation: sixteen of them make a step of the default method."""
    calls = []

    def force(t, p, q, v, w):
        calls.append(t)
        if t > 1.0 and not signaled:
            signaled.append(len(calls))
            signal.raise_signal(signal.SIGINT)
        return -p

    signaled = []
    assert quirk.simulate(with_force(force), 1e4).status == "interrupted"
    assert len(calls) == signaled[0]


@pytest.mark.parametrize("options", [{}, {"solver": "dense"}, {"method": "LSODA"}], ids=str)
def test_a_second_one_ends_a_function_that_does_not_return(options):
    main, timers = threading.main_thread().ident, []

    def force(t, p, q, v, w):
        while t > 1.0:
            if not timers:
                timers.extend(threading.Timer(d, signal.pthread_kill, (main, signal.SIGINT)) for d in (0.2, 0.5))
                began.append(time.perf_counter())
                for timer in timers:
                    timer.start()
            time.sleep(0.01)
        return -p

    began = []
    result = quirk.simulate(with_force(force), 1e4, **options)
    assert time.perf_counter() - began[0] >= 0.5
    assert result.status == "interrupted"
    assert 0 < result.time[-1] <= 1.0
    for timer in timers:
        timer.join()


@pytest.mark.parametrize("options", study(METHODS, 3), ids=str)
def test_a_handler_of_the_user_is_called_and_the_run_goes_on(options, hooked):
    heard = []
    hook, system = hooked[0], hooked[1]["force"]
    hook.press(30)
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    kept = signal.getsignal(signal.SIGINT)
    result = quirk.simulate(system, 0.5, **options)
    assert signal.getsignal(signal.SIGINT) is kept
    signal.signal(signal.SIGINT, DEFAULT)
    assert heard == [signal.SIGINT]
    assert result.status == "completed"
    np.testing.assert_allclose(result["b"].position[-1], [np.cos(0.5), 0, 0], atol=1e-6)


def test_what_a_handler_of_the_user_raises_arrives():
    class EnoughError(Exception):
        """What a user raises."""

    def handle(number, frame):
        raise EnoughError

    hook = Hook()
    system = systems(hook)["rows"]
    hook.press(30)
    signal.signal(signal.SIGINT, handle)
    with pytest.raises(EnoughError):
        quirk.simulate(system, 10.0)
    assert signal.getsignal(signal.SIGINT) is handle
    signal.signal(signal.SIGINT, DEFAULT)


def test_signals_that_are_ignored_stay_so():
    system = systems(Hook(30))["force"]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert quirk.simulate(system, 0.5).status == "completed"
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, DEFAULT)


def test_a_handler_that_a_function_puts_up_stays():
    def handle(number, frame):
        pass

    def force(t, p, q, v, w):
        signal.signal(signal.SIGINT, handle)
        return -p

    quirk.simulate(with_force(force), 0.1)
    assert signal.getsignal(signal.SIGINT) is handle
    signal.signal(signal.SIGINT, DEFAULT)


def test_other_threads_leave_signals_alone():
    handlers = set()

    def force(t, p, q, v, w):
        handlers.add(signal.getsignal(signal.SIGINT))
        return -p

    thread = threading.Thread(target=quirk.simulate, args=(with_force(force), 1.0))
    thread.start()
    thread.join()
    assert handlers == {DEFAULT}


def test_the_handler_is_there_again_after_an_error():
    with pytest.raises(quirk.SimulationError):
        quirk.simulate(with_force(lambda t, p, q, v, w: p if t < 0.5 else None), 1.0)
    with pytest.raises(SystemExit):
        quirk.simulate(with_force(lambda t, p, q, v, w: sys.exit()), 1.0)


def test_raised_by_a_function_once_is_interruption():
    """Also where the function works again after that."""
    for options in METHODS:
        for at in (1, 2, 20):
            calls = []

            def force(t, p, q, v, w, calls=calls, at=at):
                calls.append(t)
                if len(calls) == at:
                    raise KeyboardInterrupt
                return -p

            assert quirk.simulate(with_force(force), 1e4, **options).status == "interrupted"
            assert len(calls) == at


def test_a_run_within_a_function_of_a_run():
    """Both end; the outer one has a result."""
    ended = []

    def force(t, p, q, v, w):
        inner = systems(Hook(50 if t > 0.3 else None))["force"]
        try:
            result = quirk.simulate(inner, 0.5)
        except KeyboardInterrupt:
            ended.append(t)
            raise
        return [result["b"].position[-1, 0], 0, 0]

    result = quirk.simulate(with_force(force), 1e4, method="RK4", step=0.1)
    assert result.status == "interrupted"
    assert len(ended) == 1
    assert 0.15 < result.time[-1] < 0.35


def test_one_state_and_results(hooked):
    """Without a run there is no result to come back: KeyboardInterrupt arrives, and no numbers that are none."""
    hook, systems_by_kind = hooked
    for kind, system in systems_by_kind.items():
        hook.press(None)
        result = quirk.simulate(system, 0.1, output=0.05)
        state = result.state_at()
        asked = [lambda: system.acceleration(state), lambda: system.joint_loads(state), lambda: result.accelerations]  # noqa: B023
        if system.model.rows and kind != "motor":
            asked.append(lambda: result.residual)  # noqa: B023
        for ask in asked:
            hook.press(1)
            with pytest.raises(KeyboardInterrupt):
                ask()
        hook.press(None)
        assert np.isfinite(result["b"].acceleration).all()


def test_kinematics():
    hook = Hook()

    def turned(t):
        if 0.5 < t <= 0.51:
            hook(t)
        return t

    b = body()
    hinge = quirk.Revolute("hinge", quirk.GROUND, b, point=[0, 0, 0], axis=[0, 0, 1])
    motion = quirk.Motion.function(turned, lambda t: 1.0, lambda t: 0.0)
    system = quirk.System([b, hinge, quirk.Drive("drive", hinge, motion)])
    times = np.linspace(0, 1, 101)
    hook.press(1)
    result = quirk.kinematics(system, times)
    assert result.status == "interrupted"
    assert 50 <= len(result.time) <= 52
    np.testing.assert_allclose(result["hinge"].rotation[:, 2], result.time, atol=1e-12)
    hook.press(1)
    heard = []
    signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    result = quirk.kinematics(system, times)
    signal.signal(signal.SIGINT, DEFAULT)
    assert heard == [signal.SIGINT]
    assert result.status == "completed"
    np.testing.assert_allclose(result["hinge"].rotation[:, 2], times, atol=1e-12)


def test_the_modules_that_call_functions_exist():
    for name in AROUND_CALLS:
        assert importlib.import_module(name).__name__ == name


def falling():
    """A body that is caught by a spring at an event, by which other parts are active."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    hook = quirk.Distance("hook", quirk.GROUND, ball, points=[[0, 0, 5.0], [0, 0, 0]], length=6.0, active=False)
    catch = quirk.Event("catch", "ball.position.z", level=-1.0, direction=-1, action=quirk.enable(hook))
    return quirk.System([ball, hook, catch], gravity=[0, 0, -2.0])


@pytest.mark.parametrize(
    ("cls", "method", "call"),
    [(RunFactory, "new_run", 2), (RunFactory, "enter", 2), (CompiledRun, "enter", 2), (ActiveMethod, "stepper_of", 2)],
)
@pytest.mark.parametrize("checkpoint", [False, True])
def test_ctrl_c_while_later_parts_are_compiled(cls, method, call, checkpoint, tmp_path, monkeypatch):
    """The result ends with the states on both sides of the event, and a run goes on from its last one."""
    system, former, calls = falling(), getattr(cls, method), []
    folder = tmp_path / "run" if checkpoint else None
    whole = quirk.simulate(system, 1.8, output=0.3, rtol=1e-12)

    def interrupted(*arguments):
        calls.append(method)
        if len(calls) == call:
            raise KeyboardInterrupt
        return former(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(cls, method, interrupted)
        result = quirk.simulate(system, 1.8, output=0.3, rtol=1e-12, checkpoint=folder)
    assert len(calls) == call
    assert result.status == "interrupted"
    assert [happening.name for happening in result.events] == ["catch"]
    np.testing.assert_allclose(result.time, [0, 0.3, 0.6, 0.9, 1.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(result["ball"].velocity[-2:, 2], [-2.0, 0.0], atol=1e-9)
    assert result.active("hook").tolist() == [False] * 5 + [True]
    rest = quirk.simulate(system, 0.8, output=[1.8], rtol=1e-12, start=1.0, initial_state=result.state_at())
    np.testing.assert_allclose(rest["ball"].position[-1], whole["ball"].position[-1], atol=1e-9)
    if checkpoint:
        again = quirk.simulate(system, 1.8, output=0.3, rtol=1e-12, checkpoint=folder)
        np.testing.assert_array_equal(again["ball"].position, whole["ball"].position)


def test_ctrl_c_while_a_later_leg_is_begun(tmp_path, monkeypatch):
    """No state is there twice where the next leg of a run with a checkpoint cannot begin."""
    monkeypatch.setattr("quirk.simulation.hybrid.checkpointed_run.steps_between_restarts", lambda bodies, compiled: 3)
    body = quirk.Body("b", 1.0, [1, 2, 3], angular_velocity=[1, 2, 3])
    former, calls = CompiledRun.enter, []

    def interrupted(*arguments):
        calls.append(0)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return former(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(CompiledRun, "enter", interrupted)
        result = quirk.simulate(quirk.System([body]), 5.0, output=0.01, checkpoint=tmp_path)
    assert result.status == "interrupted"
    assert len(result.time) > 2
    assert (np.diff(result.time) > 0).all()


def test_ctrl_c_while_a_second_method_is_compiled(monkeypatch):
    """Stiff runs that would go on with another method end where they stand."""
    slider = quirk.Body.sphere("b", 1.0, 0.1, position=[1.0, 0, 0])
    damper = quirk.Damper("d", quirk.GROUND, slider, damping=1e5, point_i=[-1.0, 0, 0])
    spring = quirk.Spring("s", quirk.GROUND, slider, stiffness=10.0, rest_length=2.0, point_i=[-2.0, 0, 0])
    system, former = quirk.System([slider, damper, spring]), ActiveMethod.stepper_of

    def interrupted(active, method):
        if method.name == "RadauIIA9":
            raise KeyboardInterrupt
        return former(active, method)

    with monkeypatch.context() as patch:
        patch.setattr(ActiveMethod, "stepper_of", interrupted)
        result = quirk.simulate(system, 10.0)
    assert result.status == "interrupted"
    assert 0 < result.time[-1] < 10
    assert (np.diff(result.time) > 0).all()
