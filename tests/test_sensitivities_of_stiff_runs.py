"""Sensitivities along the steps of implicit methods, against extrapolated differences of runs."""

import numpy as np
import pytest
from differences import extrapolated
from test_internal import Motor
from test_sensitivities import TIGHT, driven, shown
from test_sensitivities import compare as compare_one
from test_sensitivities_of_kinds import disk, parallel

import quirk
from benchmarks import references

GRAVITY = [0, 0, -9.81]
LINK = {"stiffness": 8e5, "damping": 4e4}


def pendulum(given):
    """A bob on a stiff and strongly damped spring that swings and spins: rates from 30 to 30 000 1/s."""
    bob = quirk.Body("bob", 1.0 + given["mass"], [0.01, 0.012, 0.011], position=[0.5, 0, 0],
                     angular_velocity=[1.0, 2.0 + given["spin"], 0.5])  # fmt: skip
    spring = quirk.Spring("spring", quirk.GROUND, bob, point_j=[0.05, 0.02, 0], stiffness=1e6 * (1 + given["k"]),
                          damping=3e4 * (1 + given["c"]), rest_length=0.55 + given["rest"])  # fmt: skip
    return quirk.System([bob, spring], gravity=GRAVITY)


def governor(given):
    """Two balls on arms that turn with a shaft, and hold a sleeve by stiff springs with dampers."""
    shaft = quirk.Body("shaft", 2.0, [0.1, 0.1, 0.02], position=[0, 0, 0.5], angular_velocity=[0, 0, 8.0])
    sleeve = quirk.Body("sleeve", 1.0 + given["sleeve"], [0.01, 0.01, 0.01], position=[0, 0, 0.4],
                        angular_velocity=[0, 0, 8.0])  # fmt: skip
    parts = [shaft, sleeve, quirk.Revolute("bearing", quirk.GROUND, shaft, point=[0, 0, 0], axis=[0, 0, 1]),
             quirk.Prismatic("guide", shaft, sleeve, axis=[0, 0, 1])]  # fmt: skip
    for name, side in (("left", -1.0), ("right", 1.0)):
        arm = quirk.Body(name, 1.5 + given[name], [0.02, 0.03, 0.02], position=[0.3 * side, 0, 0.7],
                         velocity=[0, 2.4 * side, 0], angular_velocity=[0, 0, 8.0])  # fmt: skip
        parts += [
            arm,
            quirk.Revolute(f"{name} hinge", shaft, arm, point=[0, 0, 1.0], axis=[0, 1, 0]),
            quirk.Spring(
                f"{name} link",
                sleeve,
                arm,
                point_j=[-0.15 * side, 0, 0.15],
                **LINK,
                rest_length=0.4743 + (given["rest"] if name == "left" else 0.0),
            ),
        ]
    return quirk.System(parts, gravity=GRAVITY)


def motor(given):
    """A motor whose current follows its voltage within a tenth of a millisecond."""
    rod = quirk.Body("rod", 1.0, [0.1, 0.4, 0.4], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    voltage = quirk.Motion.sinusoid(3.0 + given["amplitude"], 5.0)
    law = Motor("motor", hinge, voltage, R=1.5 + given["R"], L=1e-4 * (1 + given["L"]), current=0.2 + given["current"])
    return quirk.System([rod, hinge, law], gravity=GRAVITY)


# Of each number that is varied its name and by how much the parameter changes with it.
PENDULUM = {"mass": ("bob", "mass", 1.0), "k": ("spring", "stiffness", 1e6), "c": ("spring", "damping", 3e4),
            "rest": ("spring", "rest_length", 1.0), "spin": ("bob", "angular_velocity", [0, 1.0, 0])}  # fmt: skip
GOVERNOR = {"sleeve": ("sleeve", "mass", 1.0), "left": ("left", "mass", 1.0), "right": ("right", "mass", 1.0),
            "rest": ("left link", "rest_length", 1.0)}  # fmt: skip
MOTOR = {"R": ("motor", "R", 1.0), "L": ("motor", "L", 1e-4), "current": ("motor", "current", 1.0),
         "amplitude": ("motor", "voltage.amplitude", 1.0)}  # fmt: skip


def compare(build, numbers, *, h, span, joints, method="RadauIIA9"):
    """Check the derivative in a direction that changes all numbers, of states and loads."""
    options = {"method": method, "output": span / 3, **TIGHT}
    along = dict(zip(numbers, np.random.default_rng(len(numbers)).uniform(0.3, 1.0, len(numbers)), strict=True))
    system = build(dict.fromkeys(numbers, 0.0))
    names = [body.name for body in system.bodies]

    def run(x):
        result = quirk.simulate(build({name: x * by for name, by in along.items()}), span, **options)
        return np.concatenate([shown(result, names), *(result[one].force() for one in joints)], axis=1)

    result = quirk.simulate(system, span, sensitivities=[key[:2] for key in numbers.values()], **options)
    got = 0.0
    for name, (*key, by) in numbers.items():
        one = result.sensitivity[key]
        found = np.concatenate([shown(one, names), *(one[joint].force() for joint in joints)], axis=1)
        got = got + along[name] * (found @ by if np.ndim(by) else by * found)
    want, states = extrapolated(run, h), 13 * len(names)
    for part in (slice(0, states), slice(states, None)):
        np.testing.assert_allclose(got[:, part], want[:, part], atol=1e-8 * np.abs(want[:, part]).max(initial=0.0))
    assert np.abs(want).max() > 0
    return result


def test_of_a_stiff_spring_pendulum():
    compare(pendulum, PENDULUM, h=2e-2, span=0.1, joints=[])


def test_of_a_governor_with_stiff_springs():
    compare(governor, GOVERNOR, h=2e-2, span=0.1, joints=["bearing", "left hinge"])


@pytest.mark.slow
def test_with_a_fast_internal_variable():
    """By collocation against differences of runs, and by the Rosenbrock method against that."""
    known = compare(motor, MOTOR, h=1e-2, span=0.05, joints=["hinge"])
    keys = [key[:2] for key in MOTOR.values()]
    other = quirk.simulate(
        known.system, 0.05, method="Rodas5P", output=0.05 / 3, sensitivities=keys, rtol=1e-10, atol=1e-13
    )
    for got, want in zip(*(np.moveaxis(run.sensitivity.states, 1, 0) for run in (other, known)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-7 * np.abs(want).max())


@pytest.mark.parametrize(
    ("build", "what", "key"),
    [
        (driven, "length", ("link", "length")),
        (parallel, "mass", ("left", "mass")),
        (disk, "radius", ("roll", "radius")),
    ],
)
def test_with_constraints(build, what, key):
    """A loop in space under a load that swings, redundant rows, and rolling."""
    compare_one(lambda x: build(x, what), key, span=0.4, h=1e-2, method="RadauIIA9")


def test_where_a_run_changes_to_an_implicit_method():
    """After some 400 of the 20 000 steps that the explicit one would take: as by finer steps of one method."""
    system, keys = pendulum({**dict.fromkeys(PENDULUM, 0.0), "c": 9.0}), [key[:2] for key in PENDULUM.values()]
    coarse = quirk.simulate(system, 0.2, output=0.05, method="auto", rtol=1e-8, atol=1e-11, sensitivities=keys)
    fine = quirk.simulate(system, 0.2, output=0.05, method="RadauIIA9", sensitivities=keys, **TIGHT)
    assert 400 <= coarse.statistics.steps < 700
    for got, want in zip(*(np.moveaxis(run.sensitivity.states, 1, 0) for run in (coarse, fine)), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-7 * np.abs(want).max())


def test_over_a_bounce():
    """A stiff rod off a stop: what jumps, by implicit steps as by explicit ones."""
    found = []
    for method in ("RadauIIA9", "Vern9"):
        rod = quirk.Body("rod", 1.0, [0.1, 0.4, 0.4], position=[0.5, 0, 0])
        hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
        spring = quirk.TorsionSpring("spring", hinge, stiffness=2.0, damping=0.1)
        stop = quirk.Stop("stop", hinge, upper=0.3, restitution=0.5)
        system = quirk.System([rod, hinge, spring, stop], gravity=GRAVITY)
        run = quirk.simulate(system, 0.5, output=[0.2, 0.5], method=method, sensitivities=[("stop", "upper")], **TIGHT)
        kept = np.isin(run.time, [0.2, 0.5])
        one = run.sensitivity["stop", "upper"]
        found.append([*one["rod"].angular_velocity[kept].ravel(), *one.event_times])
    np.testing.assert_allclose(*found, atol=1e-8 * np.abs(found[0]).max())


def test_gradients_are_of_explicit_methods():
    objective = quirk.Objective(["bob.position.z"], lambda x: (np.sum(x), np.ones_like(x)))
    with pytest.raises(quirk.InputError, match="gradients are computed along the steps"):
        quirk.simulate(pendulum(dict.fromkeys(PENDULUM, 0.0)), 0.1, method="RadauIIA9", output=0.1, objective=objective,
                       sensitivities=["gravity"])  # fmt: skip


@pytest.mark.parametrize("method", ["RadauIIA9", "Rodas5P"])
def test_numbers_without_effect(method):
    """Moments of inertia about axes about which nothing turns, and gravity across: round-off, which does not converge."""
    rod = quirk.Body("rod", 1.2, [0.005, 0.1, 0.1], position=[0.5 * np.cos(0.3), 0, -0.5 * np.sin(0.3)],
                     orientation=[np.cos(0.15), 0, np.sin(0.15), 0])  # fmt: skip
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    coil = quirk.TorsionSpring("coil", hinge, stiffness=4.0, damping=0.1)
    system = quirk.System([rod, hinge, coil], gravity=GRAVITY)
    keys = [("rod", "inertia"), "gravity"]
    found, known = (
        quirk.simulate(system, 1.0, method=m, output=0.5, rtol=1e-9, atol=1e-12, sensitivities=keys).sensitivity
        for m in (method, "Vern9")
    )
    for key in keys:
        np.testing.assert_allclose(found[key].of("hinge.angle"), known[key].of("hinge.angle"), atol=1e-7)


def test_runs_that_change_their_method_without_an_output_in_between():
    """Near a singular configuration an explicit method takes over for a while: here no output falls into that."""
    system = references.build(references.load("fourbar2"))
    key, options = (system.bodies[0].name, "mass"), {"rtol": 1e-8, "atol": 1e-11}

    def last(output, method):
        result = quirk.simulate(system, 1.0, method=method, output=output, sensitivities=[key], **options)
        return shown(result.sensitivity[key], [body.name for body in system.bodies])[-1]

    rare, often = last([1.0], "RadauIIA9"), last(0.05, "RadauIIA9")
    np.testing.assert_allclose(rare, often, atol=1e-9 * np.abs(often).max())
    explicit = last([1.0], "Vern9")
    np.testing.assert_allclose(rare, explicit, atol=1e-4 * np.abs(explicit).max())
