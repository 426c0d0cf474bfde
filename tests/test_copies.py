"""Systems and results can be pickled and deep-copied, also after a run; copies move as the originals."""

import copy
import pickle

import numpy as np
import pytest
from mechanisms import pendulum, random_system

import quirk
from quirk import GROUND

WAYS = {"pickle": lambda it: pickle.loads(pickle.dumps(it)), "deepcopy": copy.deepcopy}


def law(t, displacement, rate):
    return -3 * displacement - np.sin(t)


def slider(force):
    body = quirk.Body.box("puck", 1.0, [0.1, 0.1, 0.1], velocity=[0.3, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, body, axis="x")
    return quirk.System([body, rail, quirk.JointForce("force", rail, force)])


def bouncing_ball():
    body = quirk.Body.sphere("ball", mass=1.0, radius=0.1, position=[0, 0, 0.5])
    surfaces = {"on_i": quirk.surface.plane(), "on_j": quirk.surface.sphere(0.1)}
    floor = quirk.Contact("floor", GROUND, body, **surfaces, restitution=0.5)
    return quirk.System([body, floor], gravity=[0, 0, -9.81])


SYSTEMS = {
    "function": lambda: slider(law),
    "text": lambda: slider("-3*displacement"),
    "pendulum": pendulum,
    "loops": lambda: random_system(np.random.default_rng(1), bodies=3),
    "contact": bouncing_ball,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", SYSTEMS)
def test_systems_and_results(kind, way):
    system = SYSTEMS[kind]()
    start = system.assemble()
    options = {"initial_state": start, "output": 0.1}
    fresh = WAYS[way](system)
    for other in ({"method": "RadauIIA9"}, {"method": "Tsit5", "solver": "dense"}):
        if kind != "contact":
            quirk.simulate(system, 0.2, **options, **other)
    result = quirk.simulate(system, 1.0, **options)
    used, results = WAYS[way](system), [WAYS[way](result)]
    results += [quirk.simulate(one, 1.0, **options) for one in (fresh, used)]
    for again in results:
        assert [event.time for event in again.events] == [event.time for event in result.events]
        for body in system.bodies:
            np.testing.assert_array_equal(again[body.name].position, result[body.name].position)
            np.testing.assert_array_equal(again[body.name].acceleration, result[body.name].acceleration)
            np.testing.assert_array_equal(again.at(0.33)[body.name].velocity, result.at(0.33)[body.name].velocity)


def test_functions_that_cannot_be_pickled_are_named():
    system = slider(lambda t, displacement, rate: -displacement)
    result = quirk.simulate(system, 0.1)
    for it in (system, result):
        with pytest.raises((AttributeError, pickle.PicklingError), match="lambda"):
            pickle.dumps(it)
    assert copy.deepcopy(result)["puck"].position[-1, 0] == result["puck"].position[-1, 0]
