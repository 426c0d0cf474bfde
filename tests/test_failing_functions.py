"""Functions that fail or have no value during a run: errors name the part and the argument, and never another body."""

import itertools

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Motion

LATE = 0.3


def zero(t):
    return 0.0


def raises(t):
    if t > LATE:
        raise KeyError("late")
    return 0.0


def no_number(t):
    return float("nan") if t > LATE else 0.0


def no_number_in_machine_code(t):
    return np.where(t > LATE, np.nan, 0.0 * t)


def nothing(t):
    return None if t > LATE else 0.0


def for_a_moment(t):
    if LATE < t < LATE + 0.1:
        raise KeyError("late")
    return 0.0


FAILURES = (raises, no_number, no_number_in_machine_code, nothing, for_a_moment)


def motion(f):
    return Motion.function(f, zero, zero)


PARTS = {
    "Drive, motion": lambda b, j, f: quirk.Drive("motor", j, motion(f)),
    "Drive, motion: f_t": lambda b, j, f: quirk.Drive("motor", j, Motion.function(zero, f, zero)),
    "Drive, motion: sum": lambda b, j, f: quirk.Drive("motor", j, motion(f) + Motion.sinusoid(0.0, 1.0)),
    "DistanceDrive, motion": lambda b, j, f: quirk.DistanceDrive(
        "motor", GROUND, b, motion(lambda t: 2.5 + f(t)), point_i=[0, 0, 2]
    ),
    "JointTorque, torque": lambda b, j, f: quirk.JointTorque("motor", j, motion(f)),
    "JointTorque": lambda b, j, f: quirk.JointTorque("motor", j, lambda t, angle, rate: f(t)),
    "Force, force_x": lambda b, j, f: quirk.Force("motor", b, [motion(f), 0, 0]),
    "Force": lambda b, j, f: quirk.Force("motor", b, lambda t, r, q, v, w: [f(t), 0, 0]),
    "Controller, target": lambda b, j, f: quirk.Controller("motor", j, motion(f), kp=1.0, kd=1.0),
    "Thruster, throttle": lambda b, j, f: quirk.Thruster("motor", b, 1.0, "x", throttle=motion(f)),
    "ReactionWheel, speed": lambda b, j, f: quirk.ReactionWheel("motor", b, "z", inertia=0.1, speed=motion(f)),
    "Implicit": lambda b, j, f: quirk.Implicit("motor", b, lambda t, a: a.position[1] + f(t)),
    "OneSided": lambda b, j, f: quirk.OneSided("motor", b, lambda t, a: a.position[2] + 9 + f(t)),
    "Event": lambda b, j, f: quirk.Event("motor", lambda t, state: f(t) - 9.0),
}


def system_with(part, f):
    """A double pendulum, declared last body first, with another body that nothing acts on."""
    far = Body.box("far", 1.0, [1, 1, 1], position=[9, 0, 0])
    upper, lower = (
        Body.box(name, 1.0, [1, 0.1, 0.1], position=[x, 0, 0]) for name, x in (("upper", 0.5), ("lower", 1.5))
    )
    shoulder = quirk.Revolute("shoulder", GROUND, upper, point=[0, 0, 0], axis="y")
    elbow = quirk.Revolute("elbow", upper, lower, point=[1, 0, 0], axis="y")
    return quirk.System([far, lower, upper, shoulder, elbow, PARTS[part](lower, elbow, f)], gravity=[0, 0, -9.81])


def two_of_each(parts):
    """Of the failures two for each part, and each failure for as many parts."""
    return {(part, FAILURES[(k + j) % len(FAILURES)]) for k, part in enumerate(parts) for j in (0, 1)}


@pytest.mark.parametrize(("part", "f"), study(itertools.product(PARTS, FAILURES), two_of_each(PARTS)))
def test_errors_name_the_part_and_keep_the_result_so_far(part, f):
    kind, _, argument = part.partition(":")[0].partition(", ")
    for options in ({}, {"method": "RK4", "step": 0.01}):
        with pytest.raises(quirk.SimulationError) as error:
            quirk.simulate(system_with(part, f), 1.0, output=0.1, **options)
        said = str(error.value)
        print(said)
        assert f'{kind} "motor"' in said
        assert not argument or f'{kind} "motor", {argument}: ' in said
        assert "body" not in said.split("(")[0]
        assert error.value.body is None
        assert f is not raises or "KeyError: 'late'" in said
        assert 0.2 <= error.value.result.time[-1] <= LATE + 0.011


@pytest.mark.parametrize("part", [part for part in PARTS if part.partition(":")[0].partition(", ")[2]])
def test_states_at_which_a_motion_fails_name_its_part(part):
    def always(t):
        raise KeyError("always")

    kind, _, argument = part.partition(":")[0].partition(", ")
    system = system_with(part, always)
    for solver in ("sparse", "dense"):
        with pytest.raises(quirk.InputError, match=f'^{kind} "motor", {argument}: ') as error:
            system.acceleration(system.initial_state(), solver=solver)
        assert "KeyError: 'always'" in str(error.value)
    with pytest.raises((quirk.InputError, quirk.SimulationError), match=f'{kind} "motor", {argument}: '):
        quirk.simulate(system, 1.0)


NEEDED_AT_FIRST = [part for part in PARTS if part not in ("OneSided", "Event")]


@pytest.mark.parametrize("action", study(["stop", "disable"], 1))
@pytest.mark.parametrize(
    ("part", "f"), study(itertools.product(NEEDED_AT_FIRST, FAILURES), two_of_each(NEEDED_AT_FIRST))
)
def test_functions_may_fail_after_they_are_needed(part, f, action):
    """The motion is that with zero up to the event, and afterwards that without the part."""
    last = quirk.Event("last", "time", level=0.2, action="stop" if action == "stop" else quirk.disable("motor"))
    result, zeroed = (
        quirk.simulate(system_with(part, g), 0.5, events=[last], rtol=1e-10, atol=1e-12) for g in (f, zero)
    )
    assert result.status == zeroed.status == ("stopped" if action == "stop" else "completed")
    np.testing.assert_allclose(result.state.position[-1], zeroed.state.position[-1], atol=1e-9)


MASKED = np.ma.masked
PARTLY_MASKED = np.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])


@pytest.mark.parametrize("force", [
    lambda b, r: quirk.JointForce("f", r, lambda t, x, v: MASKED),
    lambda b, r: quirk.JointForce("f", r, lambda t, state: MASKED),
    lambda b, r: quirk.JointForce("f", r, MASKED),
    lambda b, r: quirk.Force("f", b, lambda t, *motion: PARTLY_MASKED),
])  # fmt: skip
def test_masked_values_are_no_numbers(force):
    """They have no value; the data below the mask, here 0 and 2, must not be taken."""
    b = quirk.Body.box("b", 1.0, [0.1, 0.1, 0.1])
    r = quirk.Prismatic("r", quirk.GROUND, b, axis="x")
    with pytest.raises(quirk.InputError, match=r'"f".* must be (a number|3 numbers); got masked'):
        quirk.simulate(quirk.System([b, r, force(b, r)]), 1.0)
