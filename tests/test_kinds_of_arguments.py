"""Compiled code finds its machine code by the classes of its arguments: these must tell the types of all members.

Machine code made for a record that has, say, an array of integers in one system would misread one that has an empty
array of floats there in another.
"""

import pkgutil
from importlib import import_module

import numpy as np
import pytest
from test_sensitivities_of_loads import sledge

import quirk
from quirk import GROUND, Body, Contact, Friction, Motion, surface
from quirk.jit.compilation import Entry, argument_key

DOWN = [0, 0, -9.81]
EXPLICIT = [{"method": "Vern9"}, {"method": "RK4", "step": 0.01}]
OTHERS = [{"method": "RadauIIA9"}, {"method": "Rodas5P"}, {"method": "Taylor"}]


@pytest.fixture
def seen(monkeypatch):
    """Types of the arguments of all calls of entries, by their classes; a call with others fails."""
    types, records, call = {}, {}, Entry.__call__

    def type_of(entry, argument):
        """Return the type of an argument; that of a record, whose members never change, is found once."""
        if not isinstance(argument, tuple):
            return entry.compiled.typeof_pyval(argument)
        if id(argument) not in records:
            records[id(argument)] = argument, entry.compiled.typeof_pyval(argument)
        return records[id(argument)][1]

    def checked(entry, *arguments):
        found = tuple(type_of(entry, argument) for argument in arguments)
        expected = types.setdefault((entry, *map(argument_key, arguments)), found)
        assert found == expected, f"{entry.__name__}: records of a class differ in types"
        return call(entry, *arguments)

    monkeypatch.setattr(Entry, "__call__", checked)
    return types


def bare():
    """A body on which nothing acts: tables of constraints and loads are empty."""
    return quirk.System([Body("body", 1.0, [1, 2, 3], angular_velocity=[0.1, 0.2, 0.3])])


def loaded():
    """An arm on two hinges, of which one is redundant, with a driver, relations, laws, and a function in Python."""
    arm = Body.box("arm", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    nut = Body.box("nut", 1.0, [0.1, 0.1, 0.1], position=[1.0, 0, 0])
    wheel = Body.cylinder("wheel", 1.0, 0.2, 0.1, axis="y", position=[0, 2, 0.2])
    hinges = [quirk.Revolute(f"hinge {y}", GROUND, arm, point=[0, y, 0], axis="y") for y in (0, 1)]
    ground = {"plane_point": [0, 0, 0], "plane_normal": [0, 0, 1]}
    return quirk.System([
        arm, nut, wheel, *hinges,
        quirk.Screw("screw", arm, nut, point=[1, 0, 0], axis="x", lead=0.1),
        quirk.Drive("drive", hinges[0], Motion.polynomial([0.0, 0.0, 0.5])),
        quirk.RollingDisk("roll", GROUND, wheel, radius=0.2, disk_axis=[0, 1, 0], **ground),
        quirk.TorsionSpring("coil", hinges[0], stiffness=3.0, damping=0.1),
        quirk.Controller("control", hinges[0], Motion.sinusoid(0.1, 3.0), kp=20.0, ki=30.0, kd=2.0),
        quirk.Force("push", nut, lambda t, r, q, v, w: [float(np.sin(float(t))), 0.0, -v[2]]),
    ], gravity=DOWN)  # fmt: skip


def swinging():
    """A four-bar with redundant rows and a spring, computed in vector lanes."""
    posts = [Body.box(f"post {k}", 1.0, [0.1, 0.1, 1], position=[k, 0, 0.5]) for k in range(2)]
    rail = Body.box("rail", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 1])
    hinges = [quirk.Revolute(f"foot {k}", GROUND, post, point=[k, 0, 0], axis="y") for k, post in enumerate(posts)]
    hinges += [quirk.Revolute(f"head {k}", post, rail, point=[k, 0, 1], axis="y") for k, post in enumerate(posts)]
    spring = quirk.TorsionSpring("coil", hinges[0], stiffness=3.0)
    return quirk.System([*posts, rail, *hinges, spring], gravity=DOWN)


def touching():
    """A box that slides on four feet, whose loads are not unique, and a ball that falls on it."""
    box = Body("box", 2.0, [0.6, 0.7, 0.9], position=[0, 0, 0.1], velocity=[0.1, 0, 0])
    ball = Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.301])
    parts = [box, ball]
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        foot = Contact(f"foot {k}", GROUND, box, on_i=surface.plane(), on_j=surface.point([x, y, -0.1]))
        parts += [foot, Friction(f"friction {k}", foot, 0.3)]
    on_box = {"on_i": surface.plane([0, 0, 0.1]), "on_j": surface.sphere(0.1)}
    parts.append(Contact("lid", box, ball, restitution=0.3, **on_box))
    parts.append(quirk.OneSided("ceiling", ball, lambda t, b: 9.0 - b.position[2]))
    return quirk.System(parts, gravity=DOWN)


def squares(values):
    return float((values**2).sum()), 2.0 * values


def moved(system, methods):
    """Compute accelerations and runs, with and without events."""
    for solver in ("sparse", "dense"):
        system.acceleration(system.initial_state(), solver=solver)
    event = quirk.Event("event", f"{system.bodies[0].name}.position.x", level=99.0, action="record")
    for options in methods:
        for events in ([], [event]):
            quirk.simulate(system, 0.05, output=0.05, events=events, **options)


def varied(system, key, method):
    """Compute derivatives of a run by a number that the system depends on."""
    result = quirk.simulate(system, 0.05, output=0.05, sensitivities=[key], method=method)
    result.sensitivity.accelerations  # noqa: B018


def entries():
    """All functions of the package that Python calls in compiled form."""
    modules = [import_module(module.name) for module in pkgutil.walk_packages(quirk.__path__, "quirk.")]
    return {value for module in modules for value in vars(module).values() if isinstance(value, Entry)}


def test_classes_of_arguments_tell_their_types(seen):
    for system, key in ((bare(), ("body", "mass")), (loaded(), ("nut", "mass"))):
        moved(system, EXPLICIT + OTHERS)
        varied(system, key, "Vern9")
        varied(system, key, "RadauIIA9")
        first = system.bodies[0].name
        goal = quirk.Objective([f"{first}.position.x"], squares)
        result = quirk.simulate(system, 0.05, output=0.05, objective=goal, sensitivities=[key])
        result[first].jerk  # noqa: B018
        run = quirk.Run(system, method="Vern9")
        run.observe([f"{first}.position.x", f"{first}.speed"])()
        run.advance(0.01)
    for system in (bare(), swinging()):
        quirk.Batch(system, 2, method="RK4", step=0.01, threads=1).advance(0.02)
    moved(touching(), EXPLICIT)
    varied(sledge()[0], ("rub", "coefficient"), "Vern9")
    assert {entry.__name__ for entry in entries()} == {entry.__name__ for entry, *_ in seen}
