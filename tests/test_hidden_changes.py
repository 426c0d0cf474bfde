"""Changes of values that the code of a function does not show at first sight are seen, or end a run with an error."""

import ctypes
import dataclasses
import functools
import inspect
import operator
import types
import warnings

import numpy as np
import pytest
import scipy.special

import quirk
from quirk.functions.code_use import ATTRIBUTES
from quirk.functions.outputs_of_calls import CallSite

ENDS = 2.0  # m/s, after one second of 2 N on 1 kg; the event is at 1 s, the run ends at 2 s


class Settings:
    """An object with a level, which events set."""

    level = 0.0


def by_position():
    levels = np.zeros(3)
    return lambda: levels[2], lambda: np.add(levels, ENDS, levels)


def by_position_of_an_alias():
    levels, add = np.zeros(3), np.add
    return lambda: levels[2], lambda: add(levels, ENDS, levels)


def by_position_of_a_local_variable():
    levels = np.zeros(3)

    def on():
        function = np.add
        function(levels, ENDS, levels)

    return lambda: levels[2], on


def by_position_over_several_lines():
    levels = np.zeros(3)
    # fmt: off
    on = lambda: (np  # noqa: E731
        .add(levels,
             ENDS, levels))
    # fmt: on
    return lambda: levels[2], on


def by_position_in_an_unpacked_list():
    levels = np.zeros(3)
    return lambda: levels[2], lambda: np.add(*[levels, ENDS, levels])


def by_position_of_a_method():
    levels, two = np.zeros(1), np.array([[ENDS]])
    return lambda: levels[0], lambda: two.dot([1.0], levels)


def by_position_of_a_sum():
    level, two = np.zeros(()), np.array([ENDS])
    return lambda: float(level), lambda: np.sum(two, None, None, level)


def by_a_method_of_a_function():
    levels = np.zeros(3)
    return lambda: levels[2], lambda: np.add.reduce(np.full((1, 3), ENDS), 0, None, levels)


def by_position_of_another_library():
    levels, gamma = np.zeros(3), scipy.special.gamma
    return lambda: levels[2], lambda: gamma(3.0, levels)


def by_memory():
    levels = np.zeros(3)
    memory = memoryview(levels)

    def on():
        memory[2] = ENDS

    return lambda: levels[2], on


def by_a_pointer():
    levels = np.zeros(3)
    pointer = levels.ctypes.data_as(ctypes.POINTER(ctypes.c_double))

    def on():
        pointer[2] = ENDS

    return lambda: levels[2], on


def by_a_property():
    kept = {"level": 0.0}

    class Handle:
        @property
        def level(self):
            return 0.0

        @level.setter
        def level(self, value):
            kept["level"] = value

    handle = Handle()

    def on():
        handle.level = ENDS

    return lambda: kept["level"], on


def by_a_descriptor():
    kept = {"level": 0.0}

    class Kept:
        def __set__(self, owner, value):
            kept["level"] = value

    class Handle:
        level = Kept()

    handle = Handle()

    def on():
        handle.level = ENDS

    return lambda: kept["level"], on


def by_setting_any_attribute():
    kept = {"level": 0.0}

    class Handle:
        def __setattr__(self, name, value):
            kept["level"] = value

    handle = Handle()

    def on():
        handle.anything = ENDS

    return lambda: kept["level"], on


def by_making_an_object():
    kept = {"level": 0.0}

    class Handle:
        def __new__(cls):
            kept["level"] = ENDS
            return super().__new__(cls)

    return lambda: kept["level"], lambda: Handle()


def by_a_static_method():
    kept = {"level": 0.0}

    class Handle:
        @staticmethod
        def on():
            kept.update(level=ENDS)

    return lambda: kept["level"], lambda: Handle.on()


def by_the_method_that_sets_attributes():
    settings, put = Settings(), object.__setattr__
    return lambda: settings.level, lambda: put(settings, "level", ENDS)


def by_a_method_called_by_name():
    kept, update = {"level": 0.0}, operator.methodcaller("update", level=ENDS)
    return lambda: kept["level"], lambda: update(kept)


SEEN = [
    by_position, by_position_of_an_alias, by_position_of_a_local_variable, by_position_in_an_unpacked_list,
    by_position_over_several_lines,    by_position_of_another_library,    by_position_of_a_method, by_position_of_a_sum, by_a_method_of_a_function, by_memory, by_a_pointer, by_a_property,
    by_a_descriptor, by_setting_any_attribute, by_making_an_object, by_a_static_method,
    by_the_method_that_sets_attributes, by_a_method_called_by_name,
]  # fmt: skip


def by_mapping_onto_rows():
    levels = np.zeros((1, 3))
    return lambda: levels[0, 2], lambda: list(map(np.multiply, [ENDS], [1.0], levels))


def by_a_partial_function():
    levels, fill = np.zeros(3), functools.partial(np.multiply, ENDS, 1.0)
    return lambda: levels[2], lambda: fill(levels)


def by_other_code():
    def read():
        return 0.0

    def on():
        read.__code__ = (lambda: 2.0).__code__

    return read, on


def by_another_default():
    def read(level=0.0):
        return level

    return read, lambda: setattr(read, "__defaults__", (ENDS,))


UNFORESEEN = [
    by_mapping_onto_rows, by_a_partial_function, by_other_code, by_another_default,
]  # fmt: skip


def cart(read, *parts):
    body = quirk.Body("cart", 1.0, [1, 1, 1])
    return quirk.System([body, quirk.Force("push", body, lambda t, p, q, v, w: [read(), 0.0, 0.0]), *parts])


def acting(on):
    def action(t, state):
        on()

    return quirk.Event("on", "time", level=1.0, action=action)


@pytest.mark.parametrize("way", SEEN, ids=lambda f: f.__name__)
def test_what_is_seen(way):
    read, on = way()
    result = quirk.simulate(cart(read, acting(on)), 2.0, output=[2.0])
    assert result["cart"].velocity[-1, 0] == pytest.approx(ENDS, rel=1e-9)


@pytest.mark.parametrize("way", UNFORESEEN, ids=lambda f: f.__name__)
def test_what_is_not_seen_ends_the_run(way):
    read, on = way()
    with pytest.raises(quirk.SimulationError, match=r"at t = 1 s: the function cart.*could not be foreseen") as caught:
        quirk.simulate(cart(read, acting(on)), 2.0, output=[0.5, 2.0])
    assert caught.value.result["cart"].velocity[-1, 0] == 0.0


class Push(quirk.ForceElement):
    """A force along x that a function returns."""

    def __init__(self, read, body):
        self.read = read
        super().__init__("push", (body, quirk.Frame()))

    def load(self, t, place):
        return [self.read() if place.position[0] > -5.0 else 0.0, 0.0, 0.0], 0


class Pull(quirk.ForceElement):
    """The same force, along a coordinate."""

    coordinates = ("x",)

    def __init__(self, read, body):
        self.read = read
        super().__init__("push", (quirk.GROUND, quirk.Frame()), (body, quirk.Frame()))

    def coordinate(self, t, i, j):
        return j.position[0] - i.position[0]

    def along(self, t, x, rate):
        return self.read() if x > -5.0 else 0.0


def sprung(read, body):
    return quirk.Spring(
        "push", quirk.GROUND, body, point_i=[-10.0, 0, 0], law=lambda length, rate: -read() if length > 5.0 else 0.0
    )


@pytest.mark.parametrize("load", [Push, Pull, sprung])
@pytest.mark.parametrize("way", [by_mapping_onto_rows, by_a_partial_function], ids=lambda f: f.__name__)
def test_what_loads_called_in_python_read_unseen_ends_the_run(way, load):
    """The motion would be right, but not the loads before the event, which are evaluated after it."""
    read, on = way()
    body = quirk.Body("cart", 1.0, [1, 1, 1])
    system = quirk.System([body, load(read, body), acting(on)])
    with pytest.raises(quirk.SimulationError, match=rf"at t = 1 s: the function .*({__name__}.py).*not be foreseen"):
        quirk.simulate(system, 2.0, output=[0.5, 2.0])


@pytest.mark.parametrize("folder", [False, True])
def test_what_quantities_change_unseen_is_noticed_at_the_end(folder, tmp_path):
    read, on = by_a_partial_function()

    def quantity(t, state):
        if t > 1.0:
            on()
        return t + 1.0

    system = cart(read, quirk.Event("never", quantity))
    checkpoint = {"checkpoint": tmp_path / "run"} if folder else {}
    with pytest.raises(quirk.SimulationError, match="could not be foreseen"):
        quirk.simulate(system, 2.0, output=0.5, max_step=0.1, **checkpoint)


class Late:
    """An object with a number that is found when it is first asked for."""

    @functools.cached_property
    def gain(self):
        return 2.0


def test_what_is_found_when_it_is_first_asked_for_is_no_change():
    late = Late()
    event = quirk.Event("note", "time", level=0.5, action=lambda t, state: late.gain and None)
    result = quirk.simulate(cart(lambda: late.gain, event), 1.0, output=[1.0])
    assert result["cart"].velocity[-1, 0] == pytest.approx(2.0, rel=1e-12)


def test_what_a_function_reads_is_compared_by_value():
    """Lists, dicts and arrays that are replaced by equal ones, zeros of the other sign, and what is not a number."""
    kept = {"list": [1.0], "zero": 0.0, "nan": float("nan"), "none": None, "array": np.ones(100)}
    read = lambda: kept["list"][0] + kept["zero"] + 0.0 * kept["array"][3]  # noqa: E731

    def note(t, state):
        log.append(t)

    log = []
    event = quirk.Event("note", "time", level=1.0, action=note)
    result = quirk.simulate(cart(read, event), 2.0, output=[2.0])
    assert result["cart"].velocity[-1, 0] == pytest.approx(2.0, rel=1e-12) and log == [1.0]
    assert not result.statistics.in_python


def test_places_of_results_are_those_of_numpy():
    """For every function and method of numpy that counts as harmless, as its signature has it."""
    checked = 0
    for name in sorted(ATTRIBUTES):
        function, method = getattr(np, name, None), getattr(np.ndarray, name, None)
        for called, of_module in ((function, True), (getattr(np.fft, name, None), True), (method, False)):
            if isinstance(called, np.ufunc):
                place = called.nin
            elif callable(called) and not isinstance(called, type):
                try:
                    signature = inspect.signature(called)
                except ValueError:  # methods of arrays have none before numpy 2.4
                    continue
                names = [p.name for p in signature.parameters.values() if p.kind is not p.KEYWORD_ONLY]
                if "out" not in names:
                    continue
                place = names.index("out") - (names[0] == "self")
            else:
                continue
            for given in range(7):
                said = CallSite("np", frozenset({name}), given).may_give_output(of_module=of_module)
                assert said == (given > place), (name, of_module, given)
                checked += 1
    assert checked > 500


def relay_with_a_variable():
    on = False

    def push(t, x, v):
        nonlocal on
        on = v < -0.1 or (on and v < 0.1)
        return 1.0 if on else -1.0

    return push


def relay_with_an_attribute():
    class Relay:
        on = False

        def push(self, t, x, v):
            self.on = v < -0.1 or (self.on and v < 0.1)
            return 1.0 if self.on else -1.0

    return Relay().push


def relay_with_a_function_attribute():
    def push(t, x, v):
        push.on = v < -0.1 or (push.on and v < 0.1)
        return 1.0 if push.on else -1.0

    push.on = False
    return push


def relay_with_an_attribute_named_by_a_text():
    def push(t, x, v):
        setattr(push, "on", v < -0.1 or (getattr(push, "on", False) and v < 0.1))  # noqa: B010
        return 1.0 if push.on else -1.0

    return push


def relay_with_all_attributes():
    class Relay:
        on = False

        def push(self, t, x, v):
            self.__dict__["on"] = v < -0.1 or (self.on and v < 0.1)
            return 1.0 if self.on else -1.0

    return Relay().push


def relay_with_a_count_of_its_objects():
    class Push:
        made = 0

        def __init__(self, v):
            Push.made += 1
            self.value = -v + 1e-3 * self.made

    return lambda t, x, v: Push(v).value


@pytest.mark.parametrize("relay", [
    relay_with_a_variable, relay_with_an_attribute, relay_with_a_function_attribute,
    relay_with_an_attribute_named_by_a_text, relay_with_all_attributes, relay_with_a_count_of_its_objects,
], ids=lambda f: f.__name__)  # fmt: skip
def test_functions_that_remember_are_warned_of(relay):
    body = quirk.Body("cart", 1.0, [1, 1, 1])
    rail = quirk.Prismatic("rail", quirk.GROUND, body, point=[0, 0, 0], axis=[1, 0, 0])
    with pytest.warns(quirk.StatefulWarning, match='JointForce "relay": its function reads values that it sets itself'):
        quirk.simulate(
            quirk.System([body, rail, quirk.JointForce("relay", rail, relay())]), 0.3, method="RK4", step=0.1
        )


def reads_by_text():
    """A function that reads attributes by texts, and fills an array of its own."""
    settings = types.SimpleNamespace(gain=2.0)

    def push(t, x, v):
        load = np.zeros(1)
        load[0] = -vars(settings)["gain"] * x - getattr(settings, "gain") * v  # noqa: B009
        return load[0]

    return push


def makes_objects():
    """A function that makes objects, whose constructors set their attributes."""

    class Vector:
        def __init__(self, x, y):
            self.x, self.y = x, y
            self.square = self.x**2 + self.y**2

    @dataclasses.dataclass
    class Gains:
        spring: float
        damper: float = 0.1

        def __post_init__(self):
            self.both = Vector(self.spring, self.damper)

    return lambda t, x, v: -Gains(2.0).both.x * x - Gains(2.0).both.square * v


@pytest.mark.parametrize("push", [reads_by_text, makes_objects], ids=lambda f: f.__name__)
def test_functions_that_only_read_are_not_warned_of(push):
    body = quirk.Body("cart", 1.0, [1, 1, 1])
    rail = quirk.Prismatic("rail", quirk.GROUND, body, point=[0, 0, 0], axis=[1, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quirk.simulate(quirk.System([body, rail, quirk.JointForce("push", rail, push())]), 0.3)


def test_an_event_that_counts_its_calls_is_warned_of():
    count = 0

    def height(t, state):
        nonlocal count
        count += 1
        return state["cart"].position[0] - 0.2

    body = quirk.Body("cart", 1.0, [1, 1, 1], velocity=[1.0, 0, 0])
    with pytest.warns(quirk.StatefulWarning, match='Event "there": its function reads values that it sets itself'):
        quirk.simulate(quirk.System([body]), 0.3, events=[quirk.Event("there", height)])


def test_an_action_may_count():
    count = 0

    def add(t, state):
        nonlocal count
        count += 1

    body = quirk.Body("cart", 1.0, [1, 1, 1], velocity=[1.0, 0, 0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quirk.simulate(quirk.System([body]), 0.3, events=[quirk.Event("late", "time", level=0.2, action=add)])
    assert count == 1


def test_checkpoints_warn_of_values_that_they_do_not_hold(tmp_path):
    level = 0.0

    def on(t, state):
        nonlocal level
        level = ENDS

    event = quirk.Event("on", "time", level=1.0, action=on)
    with pytest.warns(quirk.CheckpointWarning, match='Event "on" may set values in Python that other functions read'):
        quirk.simulate(cart(lambda: level, event), 2.0, output=0.5, checkpoint=tmp_path / "run")
