"""Users' functions in machine code: they give what Python gives, and those that do more than arithmetic stay in Python."""

import array
import collections
import functools
import math
import random
import types

import numpy as np
import pytest
from numpy import cos, where

import quirk
from quirk.functions.array_api import NotTraceableError, maximum
from quirk.functions.fingerprint import fingerprint
from quirk.functions.user_function import traceable

GAIN = 2.0
TABLE = np.array([0.3, -0.2, 0.1])
SETTINGS = {"gain": 1.5, "limits": (-0.4, 0.4)}


def body():
    return quirk.Body("b", 1.3, [0.1, 0.2, 0.25], position=[1, 0.2, -0.3], velocity=[0.1, 0.5, -0.2],
                      angular_velocity=[0.3, -0.4, 0.5])  # fmt: skip


def simulated(function, solver="sparse", duration=1.0, **options):
    b = body()
    system = quirk.System([b, quirk.Force("push", b, function, point=[0.1, 0, 0.2])])
    return quirk.simulate(system, duration, output=duration / 4, solver=solver, **options)


def helper(x, scale=0.5):
    return scale * math.tanh(x) + GAIN * x


class Controller:
    def __init__(self):
        self.gain, self.target = 3.0, np.array([0.5, 0.1, 0.2])

    def error(self, p):
        return self.target - p

    def __call__(self, t, p, q, v, w):
        return self.gain * self.error(p)

    def push(self, t, p, q, v, w):
        return self.gain * self.error(p) - 0.2 * v


def of_numpy(t, p, q, v, w):
    return np.array([np.sin(t) - v[0], np.where(p[1] > 0, -p[1], 0.1), np.exp(-(p[2] ** 2)) - np.sqrt(1 + t)])


def of_math(t, p, q, v, w):
    return math.sin(t) + math.hypot(p[0], p[1]), math.atan2(p[1], p[0]) - math.pi, math.exp(-t) * math.sqrt(2 + p[2])


def of_builtins(t, p, q, v, w):
    return max(p[0], 0.0) - min(v[0], 0.1, t), abs(p[1]) * -p[1], float(sum(v)) - pow(p[2], 3)


def of_names(t, p, q, v, w):
    return where(t < 0.5, 1.0, cos(t)), helper(p[1]), helper(v[2], scale=-0.1)


def of_arrays(t, p, q, v, w):
    return -np.linalg.norm(v) * v + np.cross(w, TABLE) + np.clip(p, -0.3, 0.3) + np.maximum(-p, 0.0)


def of_loops(t, p, q, v, w):
    force = np.zeros(3)
    for k in range(3):
        for gain in (0.1, 0.2):
            force[k] = force[k] - gain * p[k] * TABLE[k]
    return force


def of_settings(t, p, q, v, w):
    low, high = SETTINGS["limits"]
    return [SETTINGS["gain"] * np.clip(-p[k], low, high) for k in range(3)]


def of_quaternions(t, p, q, v, w):
    w0, x, y, z = q
    return 2 * (x * z + w0 * y), 2 * (y * z - w0 * x), 1 - 2 * (x * x + y * y)


def of_logic(t, p, q, v, w):
    inside = (p[0] > 0.2) & (p[1] < 0.3) | np.logical_not(t > 0.6)
    return np.where(inside, 1.0, -1.0), np.sign(v[1]) * 0.1, np.heaviside(p[2], 0.5)


class Gains:
    spring, table = 2.0, np.array([0.3, 0.2, 0.1])

    @staticmethod
    def damped(v):
        return -0.2 * v

    def stored(x):  # noqa: N805
        return 0.5 * Gains.spring * x**2

    @classmethod
    def scaled(cls, x):
        return cls.spring * x


class LowGains(Gains):
    spring = 1.0


def of_classes(t, p, q, v, w):
    return LowGains.table - Gains.spring * p + LowGains.damped(v) + LowGains.stored(p[0]) * LowGains.spring


NAMES = types.SimpleNamespace(gain=2.0, limits=[-0.1, 0.4])


def of_a_namespace(t, p, q, v, w):
    return [NAMES.gain * np.clip(-p[k], *NAMES.limits) for k in range(3)]


def of_gains(gains, t, p, q, v, w, damping=1.0):
    return -gains["spring"] * p - damping * v


TRACED = [of_numpy, of_math, of_builtins, of_names, of_arrays, of_loops, of_settings, of_quaternions, of_logic,
          Controller().push, of_classes, of_a_namespace, functools.partial(of_gains, {"spring": 2.0}, damping=0.1),
          functools.partial(functools.partial(of_gains, damping=0.1), {"spring": 2.0})]  # fmt: skip


@pytest.mark.parametrize("function", TRACED, ids=lambda f: getattr(f, "__name__", "partial"))
def test_machine_code_gives_what_python_gives(function):
    sparse, dense = (simulated(function, solver, 0.5, step=0.025) for solver in ("sparse", "dense"))
    assert sparse.statistics.in_python == {}
    np.testing.assert_allclose(sparse.state.position, dense.state.position, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(sparse.state.angular_velocity, dense.state.angular_velocity, rtol=1e-12, atol=1e-12)


def counting():
    calls = []

    def function(t, p, q, v, w):
        calls.append(t)
        return -p

    return function


def remembering():
    last = 0.0

    def function(t, p, q, v, w):
        nonlocal last
        last = float(t)
        return -p + 0.0 * last

    return function


def writing():
    store = np.zeros(3)

    def function(t, p, q, v, w):
        store[:] = p
        return -store

    return function


def of_a_global(t, p, q, v, w):
    global GAIN
    GAIN = 2.0
    return -p


def branching(t, p, q, v, w):
    return -p if t < 0.5 else p


def drawing_lots(t, p, q, v, w):
    random.seed(1)
    return -p * random.random()


def importing(t, p, q, v, w):
    import math as m

    return -p * m.sqrt(2.0)


def printing(t, p, q, v, w):
    print("", end="")
    return -p


def looping_for_long(t, p, q, v, w):
    total = 0.0
    for k in range(1000):
        total += k * p[0]
    return [-total / 5e5, 0, 0]


class Meter:
    def __init__(self):
        self.calls = 0

    def push(self, t, p, q, v, w):
        self.calls += 1
        return -p


def of_a_class_method(t, p, q, v, w):
    return -LowGains.scaled(p)


def of_a_new_object(t, p, q, v, w):
    return -LowGains().spring * p


def of_the_kind(t, p, q, v, w):
    return -p if LowGains is not Gains else p


def of_the_name(t, p, q, v, w):
    return -p if LowGains.__name__ == "LowGains" else p


def of_a_comparison(t, p, q, v, w):
    return -p if types.SimpleNamespace() != NAMES else p


KEPT_IN_PYTHON = [counting(), remembering(), writing(), of_a_global, branching, drawing_lots, importing, printing,
                  looping_for_long, Controller(), Meter().push, of_a_class_method, of_a_new_object, of_the_kind, of_the_name,
                  of_a_comparison]  # fmt: skip


@pytest.mark.parametrize("function", KEPT_IN_PYTHON, ids=lambda f: getattr(f, "__qualname__", type(f).__name__))
def test_what_does_more_than_arithmetic_runs_in_python(function):
    result = simulated(function)
    ((who, (calls, spent)),) = result.statistics.in_python.items()
    assert who == 'Force "push", force'
    assert calls >= result.statistics.evaluations
    assert spent > 0
    assert f'functions that ran in Python, not as machine code: Force "push", force: {calls} calls' in result.summary()


def test_every_call_is_made_of_a_function_that_counts():
    meter = Meter()
    b = body()
    result = quirk.simulate(quirk.System([b, quirk.Force("push", b, meter.push)]), 1.0, method="RK4", step=0.1)
    assert meter.calls >= result.statistics.evaluations


def test_values_that_change_between_runs_are_seen():
    gain, table, settings = 1.0, np.array([1.0, 0.0, 0.0]), {"push": 1.0}
    names = types.SimpleNamespace(scale=1.0)

    class Scale:
        value = 1.0

    def scaled(scales, t, p, q, v, w):
        return gain * table * settings["push"] * names.scale * Scale.value * scales[0]

    scales = [1.0]
    function = functools.partial(scaled, scales)

    b = quirk.Body("b", 1.0, [1, 1, 1])
    system = quirk.System([b, quirk.Force("push", b, function)])

    def speed():
        return quirk.simulate(system, 1.0)["b"].velocity[-1, 0]

    assert speed() == pytest.approx(1.0, rel=1e-12)
    gain = 2.0
    assert speed() == pytest.approx(2.0, rel=1e-12)
    table[0] = 3.0
    assert speed() == pytest.approx(6.0, rel=1e-12)
    settings["push"] = -1.0
    assert speed() == pytest.approx(-6.0, rel=1e-12)
    names.scale = 0.5
    assert speed() == pytest.approx(-3.0, rel=1e-12)
    Scale.value = 2.0
    assert speed() == pytest.approx(-6.0, rel=1e-12)
    scales[0] = -1.0
    assert speed() == pytest.approx(6.0, rel=1e-12)
    controller = Controller()
    system = quirk.System([b, quirk.Force("push", b, controller.push)])
    first = speed()
    controller.gain = 0.0
    controller.target = np.zeros(3)
    assert abs(speed()) < abs(first)


def test_functions_that_are_alike_are_told_by_what_they_read():
    def made(gain):
        return lambda t: gain * t

    assert fingerprint(made(1.0)) == fingerprint(made(1.0))
    assert fingerprint(made(1.0)) != fingerprint(made(2.0))
    assert fingerprint(made(1)) != fingerprint(made(1.0))
    assert fingerprint(Controller().push) is None
    assert fingerprint(helper) == fingerprint(helper)


def test_a_copy_leaves_what_it_reads_alone():
    values = [1.0, 2.0]

    def function(x):
        values.append(x)

    with pytest.raises(NotTraceableError, match="a list is changed"):
        traceable(function)(3.0)
    assert values == [1.0, 2.0]
    assert traceable(lambda x: maximum(*values) * x)(2.0) == 4.0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda t, p, q, v, w: [1 / (0.5 - t), 0, 0], "ZeroDivisionError"),
        (lambda t, p, q, v, w: [np.sqrt(0.5 - t), 0, 0], "must be finite; got"),
        (lambda t, p, q, v, w: [math.log(0.5 - t), 0, 0], "math domain error"),
        (lambda t, p, q, v, w: [1e-300 * math.exp(2000 * t), 0, 0], "OverflowError"),
    ],
)
def test_what_is_not_finite_is_named(function, words):
    with pytest.raises(quirk.SimulationError, match='Force "push".*' + words), np.errstate(all="ignore"):
        simulated(function, method="RK4", step=0.125)


def test_jerk_of_traced_functions():
    b = quirk.Body("b", 2.0, [1, 1, 1])
    system = quirk.System([b, quirk.Force("push", b, lambda t, p, q, v, w: [math.sin(3 * t), max(t, 0.2), 0])])
    result = quirk.simulate(system, 1.0, output=[0.5, 1.0])
    np.testing.assert_allclose(result["b"].jerk[:, 0], 1.5 * np.cos(3 * result.time), rtol=1e-12)
    np.testing.assert_allclose(result["b"].jerk[:, 1], 0.5, rtol=1e-12)


def test_functions_of_constraints_may_use_math_and_change_between_runs():
    radius = 1.0

    def phi(t, b):
        return math.sqrt(b.position[0] ** 2 + b.position[1] ** 2) - radius * (1 + 0.1 * math.sin(t))

    def made():
        return quirk.Body("b", 1.0, [1, 1, 1], position=[radius, 0, 0], velocity=[0.1 * radius, 1, 0])

    for radius in (1.0, 2.0):
        b = made()
        system = quirk.System([b, quirk.Implicit("rail", b, phi)])
        result = quirk.simulate(system, 1.0, output=0.5)
        found = np.hypot(*result["b"].position[:, :2].T)
        np.testing.assert_allclose(found, radius * (1 + 0.1 * np.sin(result.time)), rtol=1e-12)
        assert result.statistics.in_python == {}
    stretch = 1.0
    b = quirk.Body("b", 1.0, [1, 1, 1], position=[1, 0, 0])
    system = quirk.System([b, quirk.Implicit("rail", b, lambda t, b: b.position[0] - stretch)])
    quirk.simulate(system, 1.0)
    stretch = 1.5
    with pytest.raises(quirk.InconsistentStateError, match=r"violate it by 0\.5 m"):
        quirk.simulate(system, 1.0)


class Levels:
    """Values behind the operators of a class."""

    def __getitem__(self, k):
        return 0.25

    def __radd__(self, other):
        return other + 0.25


def level():
    return level.value


level.value = 0.25
DEQUE, ARRAY, LEVELS = collections.deque([0.25]), array.array("d", [0.25]), Levels()


@pytest.mark.parametrize(
    "height",
    [lambda: DEQUE[0], lambda: ARRAY[0], lambda: LEVELS[0], lambda: 0.0 + LEVELS, level],
    ids=["deque", "array", "getitem", "radd", "attribute"],
)
def test_gaps_and_constraints_read_values_of_any_kind(height):
    ball, bead = (quirk.Body.sphere(name, 1.0, 0.1, position=[k, 0, 0.25]) for k, name in enumerate(("ball", "bead")))
    floor = quirk.OneSided("floor", ball, lambda t, c: c.position[2] - height())
    wire = quirk.Implicit("wire", bead, lambda t, c: c.position[2] - height())
    result = quirk.simulate(quirk.System([ball, bead, floor, wire], gravity=[0, 0, -2.0]), 0.5, output=[0.5])
    for name in ("ball", "bead"):
        np.testing.assert_allclose(result[name].position[-1, 2], 0.25, atol=1e-12)
    for name in ("floor", "wire"):
        np.testing.assert_allclose(result[name].force()[-1], [0, 0, 2.0], atol=1e-9)


def test_motions_of_functions_become_machine_code():
    b = quirk.Body("b", 1.0, [1, 1, 1])
    hinge = quirk.Revolute("hinge", quirk.GROUND, b, point=[0, 0, 0], axis=[0, 0, 1])
    turning = quirk.Motion.function(lambda t: 1 - math.cos(t), lambda t: math.sin(t), lambda t: max(math.cos(t), -2.0))
    result = quirk.simulate(quirk.System([b, hinge, quirk.Drive("d", hinge, turning)]), 1.0, output=0.25)
    np.testing.assert_allclose(result["hinge"].rotation[:, 2], 1 - np.cos(result.time), atol=1e-13)
    assert result.statistics.in_python == {}
    stepping = quirk.Motion.function(lambda t: 0.0 if t < 2 else 1.0, lambda t: 0.0, lambda t: 0.0)
    result = quirk.simulate(quirk.System([b, hinge, quirk.Drive("d", hinge, stepping)]), 1.0)
    assert list(result.statistics.in_python) == ['Drive "d", motion']


def test_what_a_function_in_python_changes_is_seen_by_others():
    """A switch that one function throws in mid-run, and others read; two of them could be machine code by themselves."""
    switch, level = {"on": 0.0}, 0.0

    def throwing(t, p, q, v, w):
        nonlocal level
        if t > 0.5:
            switch["on"], level = 1.0, 2.0
        return 0.0, 0.0, 0.0

    a, b, c = (quirk.Body(name, 1.0, [1, 1, 1], position=[k, 0, 0]) for k, name in enumerate("abc"))
    first = quirk.Force("first", a, throwing)
    reading = quirk.Force("reading", b, lambda t, p, q, v, w: [switch["on"], level, 0.0])
    steady = quirk.Force("steady", c, lambda t, p, q, v, w, gain=GAIN: [gain * math.sin(1.0), 0.0, 0.0])
    result = quirk.simulate(quirk.System([a, b, c, first, reading, steady]), 1.0, method="RK4", step=0.1)
    assert sorted(result.statistics.in_python) == ['Force "first", force', 'Force "reading", force']
    assert result["b"].velocity[-1, 0] > 0.4
    assert result["b"].velocity[-1, 1] == pytest.approx(2 * result["b"].velocity[-1, 0])
    assert result["c"].velocity[-1, 0] == pytest.approx(GAIN * math.sin(1.0))
