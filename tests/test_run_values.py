"""Values in Python that a loop changes between calls of `advance`: functions of forces, motions and gaps see them."""

import functools
import itertools
import pickle

import numpy as np
import pytest

import quirk
from quirk import GROUND

DURATION = 0.1  # s


class Settings:
    """An object with a level that the loop sets."""

    level = 1.0


def puck(force):
    body = quirk.Body("puck", 1.0, [1, 1, 1])
    rail = quirk.Prismatic("rail", GROUND, body, axis=[1, 0, 0])
    return quirk.System([body, rail, quirk.JointForce("push", rail, force)])


def attribute():
    settings = Settings()
    return lambda t, x, v: settings.level, lambda value: setattr(settings, "level", value)


def element_of_a_list():
    values = [1.0]
    return lambda t, x, v: values[0], lambda value: values.__setitem__(0, value)


def element_of_an_array():
    values = np.ones(3)
    return lambda t, x, v: values[1], lambda value: values.__setitem__(1, value)


def closure():
    level = 1.0

    def change(value):
        nonlocal level
        level = value

    return lambda t, x, v: level + 0.0 * x, change


def in_python():
    settings = Settings()

    def force(t, x, v):
        try:
            return settings.level
        except ZeroDivisionError:
            return 0.0

    return force, lambda value: setattr(settings, "level", value)


def pattern():
    settings = Settings()

    def force(t, x, v):
        match settings:
            case Settings(level=found):
                return found

    return force, lambda value: setattr(settings, "level", value)


def pattern_by_position():
    class Positions(Settings):
        __match_args__ = ("level",)

    settings = Positions()

    def force(t, x, v):
        match settings:
            case Positions(found):
                return found

    return force, lambda value: setattr(settings, "level", value)


class Tagged(np.ndarray):
    """An array with an attribute."""


def attribute_of_an_array():
    array = np.zeros(2).view(Tagged)
    array.level = 1.0
    return lambda t, x, v: array.level, lambda value: setattr(array, "level", value)


def class_of_an_object():
    class Other:
        level = 1.0

    settings = Settings()

    def change(value):
        Other.level = value
        settings.__class__ = Other

    return lambda t, x, v: settings.level, change


def base_of_a_class():
    class First:
        level = 1.0

    class Kind(First):
        pass

    def change(value):
        Kind.__bases__ = (type("Second", (), {"level": value}),)

    return lambda t, x, v: Kind.level, change


def special_method():
    class Kind:
        def __getitem__(self, k):
            return 1.0

    settings = Kind()
    return lambda t, x, v: settings[0], lambda value: setattr(Kind, "__getitem__", lambda self, k: value)


def built_in_name():
    space = {}
    exec("def force(t, x, v): return abs(1.0)", space)
    return space["force"], lambda value: space.__setitem__("abs", lambda x: value)


def attribute_of_a_partial():
    def read():
        return function.level

    function = functools.partial(read)
    function.level = 1.0
    return lambda t, x, v: function(), lambda value: setattr(function, "level", value)


def cached_property():
    class Kind:
        @functools.cached_property
        def level(self):
            return 1.0

    settings = Kind()
    return lambda t, x, v: settings.level, lambda value: setattr(settings, "level", value)


def list_that_contains_itself():
    values = [1.0]
    values.append(values)
    return lambda t, x, v: values[1][0], lambda value: values.__setitem__(0, value)


UNUSUAL = [
    class_of_an_object, base_of_a_class, special_method, built_in_name, attribute_of_a_partial, cached_property,
    list_that_contains_itself,
]  # fmt: skip
WAYS = [
    attribute, element_of_a_list, element_of_an_array, closure, in_python, pattern, pattern_by_position,
    attribute_of_an_array,
]  # fmt: skip
METHODS = [{}, {"method": "Tsit5"}, {"method": "RK4", "step": 0.013}, {"method": "RadauIIA9"}, {"method": "Taylor"}]


def levels(k):
    return 1.0 if k < 3 else -2.0 + 0.3 * k


def exact(count):
    """Position (m) and speed (m/s) of a mass of 1 kg after `count` intervals."""
    x = v = 0.0
    for k in range(count):
        x += v * DURATION + 0.5 * levels(k) * DURATION**2
        v += levels(k) * DURATION
    return x, v


@pytest.mark.parametrize(
    ("way", "options"), [*itertools.product(WAYS, METHODS), *((way, {}) for way in UNUSUAL)],
    ids=lambda x: x.get("method", "default") if isinstance(x, dict) else x.__name__,
)  # fmt: skip
def test_forces_follow_the_values_that_the_loop_sets(way, options):
    force, change = way()
    run = quirk.Run(puck(force), keep=DURATION, **options)
    accelerations = []
    for k in range(10):
        change(levels(k))
        accelerations.append(run["puck"].acceleration[0])
        run.advance(DURATION)
    x, v = exact(10)
    assert abs(run["puck"].position[0] - x) < 1e-12
    assert abs(run["puck"].velocity[0] - v) < 1e-12
    assert np.abs(np.array(accelerations) - [levels(k) for k in range(10)]).max() < 1e-12
    motion = run.result()["puck"].position[:, 0]
    assert abs(motion[-1] - x) < 1e-12
    assert np.isfinite(motion).all()


class Held:
    """An object that holds others."""


def in_an_attribute():
    held = Held()
    return (lambda: held.values[0]), lambda values: setattr(held, "values", values), lambda: held.values


def in_a_dict():
    held = {}
    return (lambda: held["values"][0]), lambda values: held.__setitem__("values", values), lambda: held["values"]


def in_a_list():
    held = []
    return (lambda: held[-1][0]), held.append, lambda: held[-1]


def in_a_closure():
    held = None

    def put(values):
        nonlocal held
        held = values

    return (lambda: held[0]), put, lambda: held


@pytest.mark.parametrize("pause", [False, True])
@pytest.mark.parametrize(
    "make", [np.array, list, lambda values: dict(enumerate(values))], ids=["array", "list", "dict"]
)
@pytest.mark.parametrize("way", [in_an_attribute, in_a_dict, in_a_list, in_a_closure])
def test_contents_of_objects_that_the_loop_puts_in_the_place_of_others(way, make, pause):
    read, put, held = way()
    put(make([1.0, 1.0]))
    run = quirk.Run(puck(lambda t, x, v: read()))
    run.advance(DURATION)
    put(make([2.0, 1.0]))
    run.advance(DURATION)
    if pause:
        run.advance(DURATION)
    held()[0] = -5.0
    run.advance(DURATION)
    assert run["puck"].velocity[0] == pytest.approx((1.0 + 2.0 * (1 + pause) - 5.0) * DURATION, abs=1e-12)


@pytest.mark.parametrize("way", [in_an_attribute, in_a_dict, in_a_list, in_a_closure])
def test_contents_of_objects_that_an_action_puts_in_the_place_of_others(way):
    read, put, held = way()
    put([1.0])
    system = puck(lambda t, x, v: read())
    system = system.with_parts(quirk.Event("put", "time", level=DURATION, action=lambda t, state: put([2.0])))
    run = quirk.Run(system)
    run.advance(DURATION)
    run.advance_to(2 * DURATION)
    held()[0] = -5.0
    run.advance_to(3 * DURATION)
    assert run["puck"].velocity[0] == pytest.approx(-2.0 * DURATION, abs=1e-12)


def test_values_that_stay_change_nothing():
    force, change = attribute()
    run, other = quirk.Run(puck(force), rtol=1e-6), quirk.Run(puck("1"), rtol=1e-6)
    for _ in range(5):
        change(1.0)
        run.advance(0.03), other.advance(0.03)
    assert run["puck"].position[0] == other["puck"].position[0]
    assert run.statistics.steps == other.statistics.steps


def test_what_events_set_does_not_begin_new_steps():
    settings = Settings()

    def lift(t, state):
        settings.level = 3.0

    system = puck(lambda t, x, v: settings.level)
    settings.level = 1.0
    event = quirk.Event("half", lambda t, state: t - 0.5, action=lift)
    run = quirk.Run(system, events=[event], rtol=1e-8)
    while run.time < 1.0:
        run.advance_to(min(run.time + 0.01, 1.0))
    stepped = run["puck"].position[0]
    settings.level = 1.0
    result = quirk.simulate(system, 1.0, output=0.01, events=[event], rtol=1e-8)
    assert abs(stepped - (0.5 + 0.25)) < 1e-12
    assert run.statistics.steps == result.statistics.steps


def test_a_block_leaves_its_stop_when_the_loop_sets_a_larger_force():
    settings = Settings()
    settings.level = 0.0
    block = quirk.Body("block", 1.0, [1, 1, 1])
    rail = quirk.Prismatic("rail", GROUND, block, axis=[1, 0, 0])
    stop = quirk.Stop("stop", rail, lower=0.0)
    system = quirk.System([block, rail, stop, quirk.JointForce("push", rail, lambda t, x, v: settings.level - 1.0)])
    run = quirk.Run(system)
    run.advance(0.5)
    assert abs(run["block"].position[0]) < 1e-12
    settings.level = 2.0
    assert abs(run["block"].acceleration[0] - 1.0) < 1e-12
    run.advance(1.0)
    assert abs(run["block"].position[0] - 0.5) < 1e-12


def test_saved_runs_go_on_with_values_that_are_set_back():
    force, change = attribute()
    run = quirk.Run(puck(force), rtol=1e-6)
    change(2.0)
    run.advance(0.1)
    saved = run.save()
    run.advance(0.1)
    first = run["puck"].position[0]
    change(5.0)
    run.advance(0.1)
    run.restore(saved)
    change(2.0)
    run.advance(0.1)
    assert run["puck"].position[0] == first
    run.restore(saved)
    change(3.0)
    run.advance(0.1)
    assert abs(run["puck"].position[0] - (0.5 * 2 * 0.1**2 + 0.2 * 0.1 + 0.5 * 3 * 0.1**2)) < 1e-12
    other = quirk.Run(run.system, rtol=1e-6)
    with pytest.raises(quirk.InputError, match='differs in JointForce "push"'):  # made with another value
        other.restore(pickle.loads(pickle.dumps(saved)))
    change(1.0)
    other = quirk.Run(run.system, rtol=1e-6)
    other.restore(pickle.loads(pickle.dumps(saved)))
    change(2.0)
    other.advance(0.1)
    assert abs(other["puck"].position[0] - first) < 1e-12


class Push(quirk.ForceElement):
    """A force along x that a function returns, as a load."""

    def __init__(self, read, body):
        self.read = read
        super().__init__("push", (body, quirk.Frame()))

    def load(self, t, place):
        return [self.read(), 0, 0], 0


class Pull(quirk.ForceElement):
    """The same force, along a coordinate."""

    coordinates = ("x",)

    def __init__(self, read, body):
        self.read = read
        super().__init__("push", (body, quirk.Frame()))

    def coordinate(self, t, place):
        return place.position[0]

    def along(self, t, x, rate):
        return self.read()


@pytest.mark.parametrize("element", [Push, Pull])
@pytest.mark.parametrize("method", ["auto", "RadauIIA9"])
def test_own_elements_follow_every_value_that_the_loop_sets(element, method):
    settings = Settings()
    body = quirk.Body("puck", 1.0, [1, 1, 1])
    run = quirk.Run(quirk.System([body, element(lambda: settings.level, body)]), method=method)
    for k in range(6):
        settings.level = levels(k)
        assert run["puck"].acceleration[0] == pytest.approx(levels(k), abs=1e-12)
        run.advance(DURATION)
    x, v = exact(6)
    assert abs(run["puck"].position[0] - x) < 1e-12
    assert abs(run["puck"].velocity[0] - v) < 1e-12


@pytest.mark.parametrize("through_a_file", [False, True])
@pytest.mark.parametrize("advances", [0, 1])
@pytest.mark.parametrize("method", ["Vern9", "Taylor", "RadauIIA9"])
def test_changes_noticed_before_a_save_are_followed_after_it(method, advances, through_a_file):
    force, change = attribute()
    run = quirk.Run(puck(lambda t, x, v: force(t, x, v) - x), method=method, rtol=1e-10, atol=1e-12)
    run.advance(0.05)
    change(-2.0)
    x, v = run["puck"].position[0], run["puck"].velocity[0]  # which notices the change
    saved = run.save()
    for _ in range(advances):
        run.advance(DURATION)
    run.restore(pickle.loads(pickle.dumps(saved)) if through_a_file else saved)
    run.advance(DURATION)
    expected = -2.0 + (x + 2.0) * np.cos(DURATION) + v * np.sin(DURATION)
    assert run["puck"].position[0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("other_run", [False, True])
@pytest.mark.parametrize("saves_first", [False, True])
def test_taylor_series_are_restored_where_a_changed_function_has_ended_them(saves_first, other_run):
    """A run without series continues the snapshot of a run with series, and the other way round."""
    force, change = attribute()
    system = puck(lambda t, x, v: force(t, x, v) - x)
    run, other = (quirk.Run(system, method="Taylor", rtol=1e-10, atol=1e-12) for _ in range(2))
    run.advance(DURATION)
    if saves_first:
        saved, (x, v) = run.save(), (run["puck"].position[0], run["puck"].velocity[0])
    change(-2.0)
    run.advance(DURATION)
    if not saves_first:
        saved, (x, v) = run.save(), (run["puck"].position[0], run["puck"].velocity[0])
    if other_run:
        run = other
        if saves_first:
            run.advance(DURATION)
    run.restore(saved)
    run.advance(DURATION)
    expected = -2.0 + (x + 2.0) * np.cos(DURATION) + v * np.sin(DURATION)
    assert run["puck"].position[0] == pytest.approx(expected, abs=1e-8)
    assert run.time == pytest.approx((2 if saves_first else 3) * DURATION)
