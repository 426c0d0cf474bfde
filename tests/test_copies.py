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


def bead_on_sphere(t, a):
    return a.position @ a.position - 0.25


def height(t, a):
    return a.position[2] + 0.1


def below_center(t, a):
    return a.position + np.array([0, 0, -0.1])


def softening(length, rate):
    return 3 * (length - 0.4) - rate


def damping(t, state):
    return -0.1 * np.array(state["ball"].velocity)


def slider(force):
    body = quirk.Body.box("puck", 1.0, [0.1, 0.1, 0.1], velocity=[0.3, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, body, axis="x")
    return quirk.System([body, rail, quirk.JointForce("force", rail, force)])


def bouncing_ball():
    body = quirk.Body.sphere("ball", mass=1.0, radius=0.1, position=[0, 0, 0.5])
    surfaces = {"on_i": quirk.surface.plane(), "on_j": quirk.surface.sphere(0.1)}
    floor = quirk.Contact("floor", GROUND, body, **surfaces, restitution=0.5)
    return quirk.System([body, floor], gravity=[0, 0, -9.81])


def ball(*parts_of, gravity=(0, 0, -9.81)):
    """Return a ball at (0.5, 0, 0) m that moves sideways, with parts that functions make of it."""
    body = quirk.Body.sphere("ball", mass=1.0, radius=0.1, position=[0.5, 0, 0], velocity=[0, 0.3, 0])
    return quirk.System([body, *(part for make in parts_of for part in make(body))], gravity=list(gravity))


def hinge_with_stop(body):
    hinge = quirk.Revolute("hinge", GROUND, body, point=[0, 0, 0], axis="y")
    return hinge, quirk.Stop("stop", hinge, upper=0.2, restitution=0.3)


def rail_with_stop(body):
    rail = quirk.Prismatic("rail", GROUND, body, axis="y")
    return rail, quirk.Stop("stop", rail, upper=0.1)


def rough_floor(body):
    floor = quirk.OneSided("floor", body, height, point=below_center)
    return floor, quirk.Friction("friction", floor, coefficient=0.2)


def coupled_hinges(coefficients):
    def make(body):
        other = quirk.Body.sphere("other", mass=2.0, radius=0.1, position=[0, 0.5, 0])
        joints = [quirk.Revolute(f"to {b.name}", GROUND, b, point=[0, 0, 0], axis="z") for b in (body, other)]
        return other, *joints, quirk.Coupling("coupling", *joints, coefficients=coefficients)

    return make


def rope_over_drum(body):
    drum = quirk.Drum(GROUND, [0, 0, 3], "y", 0.2)
    other = quirk.Body.sphere("other", mass=2.0, radius=0.1, position=[-0.5, 0, 0])
    return other, quirk.Pulley("rope", [(body, [0, 0, 0]), drum, (other, [0, 0, 0])])


def sampled_force(body):
    return quirk.Force("push", body, [0, 0, 0]), quirk.Sampled("controller", 0.1, damping, inputs=["push"])


def planar_driver():
    bar = quirk.planar.PlanarBody.bar("ball", [-0.5, 0], [0.5, 0], mass=1.0)
    driver = quirk.planar.CoordinateDriver("driver", GROUND, bar, quirk.Motion.constant_rate(0.2))
    return quirk.System([bar, driver])


SYSTEMS = {
    "implicit": lambda: ball(lambda body: [quirk.Implicit("sphere", body, bead_on_sphere)]),
    "angle": lambda: ball(hinge_with_stop),
    "slide": lambda: ball(rail_with_stop),
    "one-sided": lambda: ball(rough_floor),
    "coupled": lambda: ball(coupled_hinges([0, 1.0, 0.2])),
    "coupled rates": lambda: ball(coupled_hinges([0, np.sqrt(2)])),
    "drum": lambda: ball(rope_over_drum),
    "law": lambda: ball(lambda body: [quirk.Spring("spring", GROUND, body, law=softening)]),
    "driver": planar_driver,
    "sampled": lambda: ball(sampled_force),
    "function": lambda: slider(law),
    "text": lambda: slider("-3*displacement"),
    "pendulum": pendulum,
    "loops": lambda: random_system(np.random.default_rng(1), bodies=3),
    "contact": bouncing_ball,
}

# Systems whose events only the default solver locates.
LOCATED = {"contact", "angle", "slide", "one-sided", "sampled"}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", SYSTEMS)
def test_systems_and_results(kind, way):
    system = SYSTEMS[kind]()
    start = system.assemble()
    options = {"initial_state": start, "output": 0.1}
    fresh = WAYS[way](system)
    for other in ({"method": "RadauIIA9"}, {"method": "Tsit5", "solver": "dense"}):
        if kind not in LOCATED:
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
