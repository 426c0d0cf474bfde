"""Gradients of an objective by the adjoint, against sensitivities along the same steps and against differences."""

import warnings

import numpy as np
import pytest
from differences import extrapolated
from studies import study
from test_sensitivities import ball, clutch, driven
from test_sensitivities_of_kinds import controlled, crank, disk, parallel
from test_sensitivities_where_loads_jump import swinging

import quirk


def chain(bodies=8, stiffness=20.0, mass=1.0):
    """Links on hinges with springs, level at the start."""
    parts, before = [], quirk.GROUND
    for k in range(bodies):
        link = quirk.Body(f"b{k}", mass, [0.01, 0.1, 0.1], position=[k + 0.5, 0, 0])
        hinge = quirk.Revolute(f"j{k}", before, link, point=[k, 0, 0], axis=[0, 1, 0])
        parts += [link, hinge, quirk.TorsionSpring(f"s{k}", hinge, stiffness=stiffness, damping=0.1)]
        before = link
    return quirk.System(parts, gravity=[0, 0, -9.81])


def squares(values):
    """Half the sum of squares, and a term that mixes times."""
    mixed = values.sum(axis=0)
    return 0.5 * np.sum(values**2) + 0.1 * mixed @ mixed, values + 0.2 * mixed


def compare(system, names, keys, *, span=0.4, output=0.1, **options):
    """Check the gradient against the sum of sensitivities along the steps of the same run."""
    objective = quirk.Objective(names, squares)
    result = quirk.simulate(system, span, output=output, objective=objective, sensitivities=keys, **options)
    # Of times at which something happens both states are kept; of those that count the last.
    happened = {event.time for event in result.events}
    times = [t for t in dict.fromkeys(result.time) if t not in happened]
    rows = [int(np.flatnonzero(result.time == t)[-1]) for t in times]
    along = quirk.simulate(system, span, output=output, breaks=times, sensitivities=keys, **options)
    np.testing.assert_array_equal(along.state.position, result.state.position)
    seen = []
    objective = quirk.Objective(names, lambda values: (seen.append(values), squares(values))[1])
    quirk.simulate(system, span, output=output, objective=objective, sensitivities=keys[:1], **options)
    value, slopes = squares(seen[0])
    assert result.gradient.value == value
    for key in keys:
        by_time = np.stack([along.sensitivity[key].of(name)[rows] for name in names], axis=1)
        want, terms = np.einsum("tq,tq...->...", slopes, by_time), np.einsum("tq,tq...->...", abs(slopes), abs(by_time))
        assert result.gradient[key].shape == want.shape
        np.testing.assert_allclose(result.gradient[key], want, atol=1e-9 * terms.max(), rtol=0)
        assert np.abs(want).max() > 0


def test_of_a_chain_by_all_its_numbers():
    """Many parameters; among them what its start is, and where a hinge is, on which the angle depends by itself."""
    keys = [(f"b{k}", "mass") for k in range(8)] + [(f"s{k}", "stiffness") for k in range(8)]
    keys += [("b0", "angular_velocity"), ("b3", "inertia"), ("b2", "center_of_mass"), "gravity"]
    keys += [("j1", "frame_i.origin"), ("j2", "frame_j.rotation")]
    compare(chain(), ["b7.position.z", "j2.angle", "b5.velocity.x", "b1.angular_velocity.y"], keys)


@pytest.mark.parametrize(
    ("build", "names", "keys"),
    [
        (parallel, ["plate.position.z", "b.angle"], [("left", "mass"), ("spring", "stiffness"), "gravity"]),
        (disk, ["wheel.position.x", "wheel.speed"], [("wheel", "mass"), ("roll", "radius"), ("spring", "stiffness")]),
        (controlled, ["hinge.angle", "arm.velocity.z"],
         [("arm", "mass"), ("control", "ki"), ("control", "integral"), ("control", "target.amplitude")]),
        (crank, ["bob.position.z", "pivot.angle_rate"],
         [("bob", "mass"), ("rod", "length"), ("motor", "motion.angular_frequency"), ("motor", "motion.amplitude")]),
        (driven, ["hinge.angle", "block.position.x"], [("load", "torque.phase"), ("spring", "point_j"), ("link", "length")]),
    ],
)  # fmt: skip
def test_of_systems_of_all_kinds(build, names, keys):
    """Redundant rows, rolling, internal variables, drivers and motions."""
    compare(build(), names, keys)


@pytest.mark.parametrize("stabilization", ["baumgarte", None])
def test_with_other_ways_to_keep_to_the_constraints(stabilization):
    keys = [("b0", "mass"), ("s1", "stiffness"), ("j0", "frame_j.origin"), "gravity"]
    compare(chain(2), ["b1.position.x"], keys, stabilization=stabilization, method="Tsit5", step=0.01)


def test_along_taylor_series():
    compare(chain(2), ["b1.position.x"], [("b0", "mass"), ("s1", "stiffness"), "gravity"], method="Taylor")


def test_with_fixed_steps_and_all_of_them_kept():
    compare(
        chain(2),
        ["b1.position.x", "j1.angle_rate"],
        [("s0", "damping"), "gravity"],
        output=None,
        method="RK4",
        step=0.05,
    )


@pytest.mark.parametrize("method", study(["Vern9", "Tsit5", "Taylor"], 1))
def test_over_impacts(method):
    """By what acts between bounces and at them, and on when these are."""
    compare(ball(), ["ball.position.z", "ball.velocity.z"], [("floor", "restitution"), "gravity", ("ball", "position")],
            span=1.9, output=0.19, method=method)  # fmt: skip


def test_over_impacts_and_latches():
    """Parts that engage and are released, with rows of their own, and an impact while they hold."""
    keys = [("one", "mass"), ("two", "inertia"), ("end", "upper"), ("end", "restitution"), ("one", "angular_velocity"),
            "gravity"]  # fmt: skip
    compare(clutch(), ["one.position.x", "pivot.angle", "two.velocity.z"], keys, span=0.78, output=0.06)


def test_over_loads_that_jump_at_an_event():
    compare(swinging(), ["second.position.x", "knee.angle"], [("first", "mass"), ("second", "mass"), "gravity"],
            span=1.2, output=0.3)  # fmt: skip


def test_over_bounces_against_a_closed_form():
    """The height behind three bounces, by restitution and by gravity."""
    last = quirk.Objective(["ball.position.z"], lambda z: (float(z[-1, 0]), np.eye(len(z))[:, -1:]))
    keys = [("floor", "restitution"), "gravity"]
    result = quirk.simulate(ball(), 1.9, output=[0.2, 1.9], objective=last, sensitivities=keys, rtol=1e-11, atol=1e-14)

    def height(e, g):
        fall = np.sqrt(2 / g)
        t, up = 1.9 - fall * (1 + 2 * e + 2 * e**2), e**3 * np.sqrt(2 * g)
        return 0.1 + up * t - 0.5 * g * t**2

    assert result.gradient.value == pytest.approx(height(0.8, 9.81), rel=1e-9)
    assert result.gradient["floor", "restitution"] == pytest.approx(
        extrapolated(lambda x: height(0.8 + x, 9.81), 1e-2), rel=1e-8
    )
    assert -result.gradient["gravity"][2] == pytest.approx(
        extrapolated(lambda x: height(0.8, 9.81 + x), 1e-1), rel=1e-8
    )


def resting(x=0.0):
    """Two links, the first of which comes to rest on a stop, on which it stays as the second bounces off another."""
    upper = quirk.Body("upper", 1.0, [0.02, 0.03, 0.04], position=[0.5, 0, 0])
    lower = quirk.Body("lower", 1.3, [0.02, 0.03, 0.04], position=[1.5, 0, 0])
    pin = quirk.Revolute("pin", quirk.GROUND, upper, point=[0, 0, 0], axis=[0, 1, 0])
    knee = quirk.Revolute("knee", upper, lower, point=[1, 0, 0], axis=[0.1, 1, -0.05])
    ends = [
        quirk.Stop("end", pin, upper=1.0 + x, restitution=0.0),
        quirk.Stop("other", knee, upper=0.3, restitution=0.3),
    ]
    return quirk.System([upper, lower, pin, knee, *ends], gravity=[0, 0, -9.81])


def test_over_impacts_while_something_rests():
    """A contact that holds takes part in impacts of others, and does not bounce."""
    options = {"output": [0.9], "rtol": 1e-11, "atol": 1e-13}
    last = quirk.Objective(["lower.position.z"], lambda z: (float(z[-1, 0]), np.eye(len(z))[:, -1:]))
    key = ("end", "upper")
    by_weights = quirk.simulate(resting(), 0.9, objective=last, sensitivities=[key], **options)
    along = quirk.simulate(resting(), 0.9, sensitivities=[key], **options)
    names = [event.name for event in along.events]
    assert "other" in names[names.index("end") :]

    def run(x):
        return quirk.simulate(resting(x), 0.9, **options)["lower"].position[-1, 2]

    want = extrapolated(run, 1e-3)
    assert along.sensitivity[key].of("lower.position.z")[-1] == pytest.approx(want, rel=1e-6)
    assert by_weights.gradient[key] == pytest.approx(want, rel=1e-6)


def test_when_nothing_but_the_start_counts():
    """Output at the start alone, and of a run that ends long behind the last output."""
    first = quirk.Objective(["b1.position.x"], lambda x: (float(x[0, 0]), np.eye(len(x))[:, :1]))
    key = [("b1", "center_of_mass"), ("b0", "mass")]
    result = quirk.simulate(chain(2), 0.1, output=[0.0], objective=first, sensitivities=key)
    assert result.gradient["b0", "mass"] == 0.0
    # Three times 0.3 is next to 0.9.
    for system, names in ((chain(2), ["b1.position.x"]), (ball(), ["ball.position.z"])):
        compare(system, names, ["gravity"], span=0.9, output=0.3)
    compare(chain(2), ["b1.position.x"], key, output=[0.05, 0.1])


def test_against_differences_of_runs():
    options = {"output": [0.3, 0.8], "rtol": 1e-12, "atol": 1e-14}
    objective = quirk.Objective(["b1.position.x"], lambda x: (np.sum(np.sin(x)), np.cos(x)))
    result = quirk.simulate(
        chain(2), 0.8, objective=objective, sensitivities=[("s0", "stiffness"), ("s1", "stiffness")], **options
    )

    def run(x):
        return np.sum(np.sin(quirk.simulate(chain(2, 20.0 + x), 0.8, **options)["b1"].position[:, 0]))

    got = sum(result.gradient[key] for key in result.gradient)
    assert got == pytest.approx(extrapolated(run, 0.2), rel=1e-8)
    assert result.gradient.value == pytest.approx(run(0.0), rel=1e-12)


def test_what_has_no_gradient_is_said():
    objective = quirk.Objective(["b1.position.x"], squares)
    key = [("b0", "mass")]
    with pytest.raises(quirk.InputError, match="name the parameters that its gradient is by"):
        quirk.simulate(chain(2), 0.1, objective=objective)
    with pytest.raises(quirk.InputError, match="objective must be a quirk"):
        quirk.simulate(chain(2), 0.1, objective=squares, sensitivities=key)
    with pytest.raises(quirk.InputError, match="not on loads or energies"):
        quirk.simulate(chain(2), 0.1, objective=quirk.Objective(["j0.force.x"], squares), sensitivities=key)
    with pytest.raises(quirk.InputError, match=r"must return a number and its derivatives \(2, 1\)"):
        wrong = quirk.Objective(["b1.position.x"], lambda x: (1.0, [1.0]))
        quirk.simulate(chain(2), 0.1, output=0.1, objective=wrong, sensitivities=key)
    with pytest.raises(quirk.InputError, match=r"its function failed .*\(2, 1\): ZeroDivisionError"):
        failing = quirk.Objective(["b1.position.x"], lambda x: (1 / 0, x))
        quirk.simulate(chain(2), 0.1, output=0.1, objective=failing, sensitivities=key)
    result = quirk.simulate(chain(2), 0.1, objective=objective, sensitivities=key)
    with pytest.raises(quirk.InputError, match="no derivative with respect to parameter"):
        result.gradient["gravity"]
    with pytest.raises(quirk.InputError, match="the run has none"):
        quirk.simulate(chain(2), 0.1).gradient  # noqa: B018


def test_steps_too_long_for_what_does_not_move_are_told():
    """A mass at rest on a spring: steps grow, and derivatives would vibrate; short steps are silent."""
    body = quirk.Body("body", 1.0, [1.0] * 3)
    rail = quirk.Prismatic("rail", quirk.GROUND, body, axis=[1, 0, 0])
    spring = quirk.Spring("spring", quirk.GROUND, body, point_i=[-1, 0, 0], point_j=[0] * 3, stiffness=100.0)
    system = quirk.System([body, rail, spring])
    last = quirk.Objective(["body.position.x"], lambda x: (float(x[-1, 0]), np.eye(len(x))[:, -1:]))
    given = {"output": [10.0], "objective": last, "sensitivities": [("body", "velocity")]}
    with pytest.warns(quirk.SensitivityWarning, match="steps are too long for derivatives"):
        quirk.simulate(system, 10.0, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        short = quirk.simulate(system, 10.0, max_step=0.05, **given)
    assert short.gradient["body", "velocity"][0] == pytest.approx(np.sin(100.0) / 10, rel=1e-7)


@pytest.mark.parametrize(("damping", "tolerance"), study([(0.2, 1e-11), (1.0, 1e-12)], 1))
def test_steps_of_series_too_long_for_what_has_decayed_are_told(damping, tolerance):
    """A tip on a damper that decays at 1000 1/s: series of its motion reach farther than "Vern9" is stable."""
    arm = quirk.Body("arm", 0.5, [0.01] * 3, position=[0, 0, -0.3])
    tip = quirk.Body("tip", 0.02, [1e-4] * 3, position=[0, 0, -0.6])
    hinge = quirk.Revolute("hinge", quirk.GROUND, arm, point=[0, 0, 0], axis="y")
    elbow = quirk.Revolute("elbow", arm, tip, point=[0, 0, -0.5], axis="y")
    coil = quirk.TorsionSpring("coil", elbow, stiffness=40.0, damping=damping, rest_angle=0.0)
    push = quirk.JointTorque("push", hinge, quirk.Motion.sinusoid(1.0, 3.0))
    system = quirk.System([arm, tip, hinge, elbow, coil, push], gravity=[0, 0, -9.81])
    last = quirk.Objective(["arm.position.x"], lambda x: (float(x[-1, 0]), np.eye(len(x))[:, -1:]))
    given = {"method": "Taylor", "output": [2.0], "objective": last, "sensitivities": [("arm", "mass")]}
    given |= {"rtol": tolerance, "atol": 1e-2 * tolerance}
    with pytest.warns(quirk.SensitivityWarning, match="steps are too long for derivatives"):
        quirk.simulate(system, 2.0, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        short = quirk.simulate(system, 2.0, max_step=2e-3 / damping / 5, **given)
    assert short.gradient["arm", "mass"] == pytest.approx(5.40143, rel=1e-4)


@pytest.mark.parametrize("method", study(["Vern9", "Taylor"], 1))
@pytest.mark.parametrize("part", ["none", "cable", "bumper", "motor", "coil"])
def test_steps_that_serve_derivatives_are_silent(part, method):
    """The first step is so short that its error is round-off; parts that may act on one side do not."""
    rod = quirk.Body("rod", 1.2, [0.1, 0.1, 0.005], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    ends = {"point_i": [0, 0, 1.0], "point_j": [0, 0, 0]}
    parts = {
        "none": [],
        "cable": [quirk.Spring("c", quirk.GROUND, rod, **ends, stiffness=100.0, rest_length=10.0, one_sided="tension")],
        "bumper": [
            quirk.Spring("b", quirk.GROUND, rod, **ends, stiffness=100.0, rest_length=0.1, one_sided="compression")
        ],
        "motor": [quirk.Actuator("motor", hinge, quirk.Motion.sinusoid(3.0, 5.0), limits=50.0)],
        "coil": [quirk.TorsionSpring("coil", hinge, stiffness=4.0, damping=0.1)],
    }[part]
    system = quirk.System([rod, hinge, *parts], gravity=[0, 0, -9.81])
    objective = quirk.Objective(["hinge.angle"], squares)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quirk.simulate(
            system, 3.0, output=0.1, objective=objective, sensitivities=[("rod", "mass")], method=method
        )
    assert result.status == "completed" and np.isfinite(result.gradient["rod", "mass"])
