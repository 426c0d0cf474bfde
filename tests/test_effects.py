"""What user functions change in mid-run is seen by those that read it, and by no others do runs take longer."""

import collections
import copy
import math

import numpy as np
import pytest
from studies import study

import quirk
from quirk.functions.changes import Changes
from quirk.functions.effects import Effects

LEVEL = 0.0
ENDS = 2.0  # m/s, after one second of 2 N on 1 kg; the event is at 1 s, the run ends at 2 s


class Switch:
    """An object with a setting, which events turn on."""

    def __init__(self):
        self.level, self.calls, self.nested = 0.0, 0, {"levels": [0.0]}

    def turn_on(self):
        self.level = ENDS

    def push(self, t, position, orientation, velocity, angular_velocity):
        return [self.level, 0.0, 0.0]


def through_a_global():
    global LEVEL
    LEVEL = 0.0

    def on():
        global LEVEL
        LEVEL = ENDS

    return lambda: LEVEL, on


def through_a_cell():
    level = 0.0

    def on():
        nonlocal level
        level = ENDS

    return lambda: level, on


def through_a_list():
    level = [0.0]
    return lambda: level[0], lambda: level.__setitem__(0, ENDS)


def through_an_array():
    level = np.zeros(3)

    def on():
        level[1:] += ENDS

    return lambda: level[2], on


def through_an_attribute():
    switch = Switch()
    return lambda: switch.level, switch.turn_on


def through_nested_objects():
    switch = Switch()

    def on():
        switch.nested["levels"].append(ENDS)

    return lambda: switch.nested["levels"][-1], on


def through_a_default():
    def read(levels={"now": 0.0}):  # noqa: B006
        return levels["now"]

    def on(levels=read.__defaults__[0]):
        levels.update(now=ENDS)

    return read, on


def through_a_class():
    class Setting:
        level = 0.0

    def on():
        Setting.level = ENDS

    setting = Setting()
    return lambda: setting.level, on


def through_vars_of_an_object():
    switch = Switch()
    return lambda: switch.level, lambda: vars(switch).update(level=ENDS)


def through_globals():
    globals()["LEVEL"] = 0.0
    return lambda: LEVEL, lambda: globals().update(LEVEL=ENDS)


WAYS = [
    through_a_global, through_a_cell, through_a_list, through_an_array, through_an_attribute, through_nested_objects,
    through_a_default, through_a_class, through_vars_of_an_object, through_globals,
]  # fmt: skip


def rail(*parts):
    body = quirk.Body("cart", 1.0, [1, 1, 1])
    joint = quirk.Prismatic("rail", quirk.GROUND, body, point=[0, 0, 0], axis=[1, 0, 0])
    return body, joint, [body, joint, *parts]


def of_a_force(read, event):
    body, _, parts = rail()
    push = quirk.Force("push", body, lambda t, p, q, v, w: [read(), 0.0, 0.0])
    return quirk.System([*parts, push, event])


def of_a_joint_force(read, event):
    _, joint, parts = rail()
    return quirk.System([*parts, quirk.JointForce("push", joint, lambda t, x, v: read()), event])


def of_a_motion(read, event):
    body, _, parts = rail()
    push = quirk.Force("push", body, [quirk.Motion.function(lambda t: read(), lambda t: 0.0, lambda t: 0.0), 0, 0])
    return quirk.System([*parts, push, event])


def of_a_law(read, event):
    class Push(quirk.forces.ForceElement):
        def __init__(self, name, body):
            self.read = read
            super().__init__(name, (body, quirk.Frame()))

        def load(self, t, place):
            return [self.read(), 0.0, 0.0], 0

    body, _, parts = rail()
    return quirk.System([*parts, Push("push", body), event])


@pytest.mark.parametrize(
    "place",
    study([of_a_force, of_a_joint_force, of_a_motion, of_a_law], {of_a_force}),
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
def test_actions_of_events(way, place):
    read, on = way()
    event = quirk.Event("on", "time", level=1.0, action=lambda t, state: on())
    result = quirk.simulate(place(read, event), 2.0, output=[2.0])
    assert result["cart"].velocity[-1, 0] == pytest.approx(ENDS, rel=1e-9)


@pytest.mark.parametrize("method", ["Taylor", "RadauIIA9"])
def test_actions_of_events_with_other_methods(method):
    read, on = through_a_cell()
    event = quirk.Event("on", "time", level=1.0, action=lambda t, state: on())
    with pytest.warns(quirk.SeriesWarning) if method == "Taylor" else pytest.MonkeyPatch.context():
        result = quirk.simulate(of_a_force(read, event), 2.0, output=[2.0], method=method)
    assert result["cart"].velocity[-1, 0] == pytest.approx(ENDS, rel=1e-7)


def test_quantities_that_change_values_and_read_them():
    """An event's quantity sets a level; a force and another event's quantity read it."""
    read, on = through_a_cell()

    def quantity(t, state):
        if t >= 1.0:
            on()
        return t - 1.0

    setting = quirk.Event("setting", quantity)
    reading = quirk.Event("reading", lambda t, state: read() - 1.0 + 0.0 * t, direction=1)
    body, _, parts = rail()
    push = quirk.Force("push", body, lambda t, p, q, v, w: [read(), 0.0, 0.0])
    result = quirk.simulate(quirk.System([*parts, push, setting, reading]), 2.0, output=[2.0], max_step=0.01)
    assert result["cart"].velocity[-1, 0] == pytest.approx(ENDS, rel=0.02)
    assert {event.name for event in result.events} == {"setting", "reading"}


def test_gaps_and_constraints_that_read_what_actions_change():
    """A ball falls on a floor that an action moves, and a bead follows a wire that another one moves."""
    height = [0.0]

    def lower(t, state):
        height[0] = -1.0

    ball = quirk.Body("ball", 1.0, [1, 1, 1], position=[0, 0, 0.5])
    floor = quirk.OneSided("floor", ball, lambda t, b: b.position[2] - height[0])
    event = quirk.Event("lower", "time", level=0.1, action=lower)
    system = quirk.System([ball, floor, event], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 1.0, output=[1.0])
    assert result["ball"].position[-1, 2] == pytest.approx(-1.0, abs=1e-6)


def test_functions_that_share_nothing_stay_machine_code():
    """One function branches, writes its own counter and reads its own table; another one's action has a list."""
    table, own, counter = np.array([1.0, 2.0]), np.array([3.0, 4.0]), Switch()
    log = []

    def branching(t, p, q, v, w, table=table):
        counter.calls += 1
        force = np.zeros(3)
        force[0] = table[0] if t < 0.5 else table[1]
        return force

    bodies = [quirk.Body(name, 1.0, [1, 1, 1], position=[k, 0, 0]) for k, name in enumerate("abcd")]
    a, b, c, d = bodies
    forces = [
        quirk.Force("branching", a, branching),
        quirk.Force("own table", b, lambda t, p, q, v, w, own=own: own[0] * v - [own[1], 0.0, 0.0]),
        quirk.Force("other attribute", c, counter.push),
        quirk.Force("same table", d, lambda t, p, q, v, w: table[0] * v),
    ]
    event = quirk.Event("note", "time", level=0.25, action=lambda t, state: log.append(t))
    result = quirk.simulate(quirk.System([*bodies, *forces, event]), 1.0, method="RK4", step=0.25)
    # What an array shares with a function that sets elements of arrays might change.
    assert sorted(result.statistics.in_python) == ['Force "branching", force', 'Force "same table", force']
    assert log == [0.25]


def test_a_constraint_in_python_leaves_others_alone():
    offset = np.array([0.0, 0.0, 1.0])

    def branching(t, b, offset=offset):
        return (b.position - offset)[2] if t < 10.0 else b.position[2]

    a, b = quirk.Body("a", 1.0, [1, 1, 1], position=[0, 0, 1]), quirk.Body("b", 1.0, [1, 1, 1], position=[1, 0, 0])
    gains = np.array([1.0, 2.0, 3.0])
    force = quirk.Force("force", b, lambda t, p, q, v, w, gains=gains: -gains * p)
    system = quirk.System([a, b, quirk.Implicit("plane", a, branching), force])
    result = quirk.simulate(system, 0.1, method="RK4", step=0.05)
    assert list(result.statistics.in_python) == ['Implicit "plane"']


def test_sensitivities_refuse_what_changes_during_the_run():
    read, on = through_a_cell()
    event = quirk.Event("on", "time", level=1.0, action=lambda t, state: on())
    with pytest.raises(quirk.InputError, match='JointForce "push" reads values that another function may change'):
        quirk.simulate(of_a_joint_force(read, event), 2.0, sensitivities=[("cart", "mass")])


@pytest.mark.parametrize(
    ("function", "writes"),
    [
        (lambda t: math.sin(t) if t > 0 else 0.0, False),
        (lambda t: max(sorted([t, 1.0])), False),
        (lambda t: print(t), False),
        (lambda t: LEVEL * np.interp(t, [0, 1], [0, 1]), False),
        (lambda t: [].append(t), True),
        (lambda t: np.copyto(np.zeros(1), t), True),
        (lambda t: np.add(t, 1, out=np.zeros(1)), True),
        (lambda t: exec("LEVEL = 1"), True),
        (lambda t: setattr(math, "sin", t), True),
        (lambda t: through_a_cell.__globals__.update(LEVEL=t), True),
        (lambda t: (lambda: __import__("sys").modules)(), True),
    ],
)
def test_what_is_known_to_change_nothing(function, writes):
    assert Effects(function).writes is writes
    # Nobody else is affected by what nothing is read from.
    assert not Changes([function])(lambda t, gain=2.0: gain * math.sin(t))


def test_round_off_of_friction_is_no_change_of_a_function():
    """The magnitude of friction has the round-off of the loads that it depends on."""
    box = quirk.Body.box("box", 2.0, [0.1, 0.1, 0.1], velocity=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, box, axis="x")
    system = quirk.System([box, rail, quirk.Friction("rub", rail, 0.1)], gravity=[0, 0, -10.0])
    result = quirk.simulate(system, 0.1, output=0.1)
    solver = result.segments[0].plant.solver()
    y = solver.slots.state_to_lanes(result.segments[0].flat[0])
    solver.settle(y, 0.0)
    solver.rates(0.0, y)
    before = solver.applied.table.outputs.copy()
    solver.applied.table.outputs[:] *= 1.0 + 1e-15
    assert not np.array_equal(solver.applied.table.outputs, before)
    assert solver.applied.changed_since(before) is None


@pytest.mark.parametrize("reader", ["spring", "force"])
@pytest.mark.parametrize(
    ("held", "read", "change"),
    [
        (collections.Counter(a=1), lambda held: held["a"], lambda held: held.subtract(a=2)),
        ({1}, lambda held: -1 if 2 in held else 1, lambda held: held.add(2)),
        (collections.deque([1, -1]), lambda held: held[0], lambda held: held.rotate(1)),
    ],
    ids=["subtract", "add", "rotate"],
)
def test_actions_change_containers_by_methods_of_any_name(held, read, change, reader):
    """Its loads before the event are those of the values then, and the event divides the run."""
    held = copy.copy(held)
    body = quirk.Body.box("body", 2.0, [0.1, 0.1, 0.1])
    rail = quirk.Prismatic("rail", quirk.GROUND, body, point=[0, 0, 0], axis="x")
    if reader == "spring":
        load = quirk.Spring("load", quirk.GROUND, body, point_i=[-10, 0, 0], law=lambda length, rate: -3.0 * read(held))
    else:
        load = quirk.JointForce("load", rail, lambda t, x, v: 3.0 * read(held))
    event = quirk.Event("event", "time", level=0.7, action=lambda t, state: change(held))
    result = quirk.simulate(quirk.System([body, rail, load, event]), 1.4, output=0.2)
    assert np.sum(np.abs(result.time - 0.7) < 1e-9) == 2
    force = np.where((result.time < 0.7) | (np.arange(len(result.time)) == 4), 3.0, -3.0)
    np.testing.assert_allclose(2.0 * result["body"].acceleration[:, 0], force, atol=1e-12)
    np.testing.assert_allclose(result["body"].velocity[-1, 0], 0.0, atol=1e-12)


def shared_from_the_start():
    held, pool = {"now": [1.0]}, [2.0]
    return lambda: held["now"][0], lambda: held.__setitem__("now", pool), lambda: pool.__setitem__(0, -5.0)


def made_by_the_action():
    held, made = {"now": [1.0]}, []

    def put():
        held["now"] = [2.0]
        made.append(held["now"])

    return lambda: held["now"][0], put, lambda: made[0].__setitem__(0, -5.0)


@pytest.mark.parametrize("way", [shared_from_the_start, made_by_the_action])
def test_an_action_changes_what_another_has_put_in_place(way):
    """Loads between the events are those of the values then."""
    read, put, change = way()
    _, joint, parts = rail()
    force = quirk.JointForce("push", joint, lambda t, x, v: read())
    events = [
        quirk.Event("put", "time", level=0.5, action=lambda t, state: put()),
        quirk.Event("change", "time", level=1.0, action=lambda t, state: change()),
    ]
    result = quirk.simulate(quirk.System([*parts, force, *events]), 1.5, output=[0.25, 0.75, 1.25])
    np.testing.assert_allclose(result["cart"].acceleration[:, 0], [1.0, 1.0, 2.0, 2.0, 2.0, -5.0, -5.0], atol=1e-12)
