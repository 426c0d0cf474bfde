"""Force laws with functions of time and motion in vector lanes, against runs of the members by themselves."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Motion

STEP = {"method": "RK4", "step": 5e-3}
G = [0, 0, -9.81]
COUNT = 11


@pytest.fixture(autouse=True)
def single_runs_by_rows(monkeypatch):
    """Off the constraints, lanes use the equations of the row form, which single runs of forests do not."""
    monkeypatch.setattr("quirk.dynamics.sparse.symbolic.tables.forest_with_closings", lambda *_: (None, [], None))


def arm(*forces):
    """Two links on hinges, with the force elements that functions of the links and hinges return."""
    upper = Body.box("upper", 1.0, [0.5, 0.05, 0.05], position=[0.25, 0, 0])
    lower = Body.box("lower", 0.7, [0.4, 0.05, 0.05], position=[0.7, 0, 0], orientation=[1, 0.2, 0, 0])
    first = quirk.Revolute("first", GROUND, upper, point=[0, 0, 0], axis="y")
    second = quirk.Revolute("second", upper, lower, point=[0.5, 0, 0], axis=[0, 1, 0.3])
    parts = [upper, lower, first, second]
    return quirk.System([*parts, *(make(*parts) for make in forces)], gravity=G)


def pull(t, angle, rate):
    return 0.4 * np.sin(3 * t) - 0.2 * rate - 0.1 * angle**2


def whole(t, state):
    return -0.5 * state["first"].angle_rate - 0.1 * state["lower"].velocity[2]


LAWS = {
    "expression": lambda a, b, i, j: quirk.JointTorque("f", i, "0.3*sin(2*t) - 0.1*rate"),
    "function": lambda a, b, i, j: quirk.JointTorque("f", i, pull),
    "limited": lambda a, b, i, j: quirk.Actuator("f", j, pull, limits=0.1),
    "of the state": lambda a, b, i, j: quirk.JointTorque("f", j, whole),
    "of a body": lambda a, b, i, j: quirk.Force("f", b, lambda t, r, q, v, w: -0.3 * v * np.sqrt(v @ v + 0.01)),
    "motion": lambda a, b, i, j: quirk.JointTorque("f", i, Motion.sinusoid(0.4, 5.0)),
    "motion of expressions": lambda a, b, i, j: quirk.JointTorque("f", i, Motion.function("0.4*cos(3*t)")),
    "spline": lambda a, b, i, j: quirk.Force("f", b, [Motion.spline([0, 0.2, 0.5, 1.0], [0, 1, -1, 0.5]), 0, 0.1]),
    "controller": lambda a, b, i, j: quirk.Controller("f", i, 0.4, kp=5.0, kd=1.0),
    "follower": lambda a, b, i, j: quirk.Controller("f", j, Motion.sinusoid(0.3, 4.0), kp=5.0, kd=1.0, limits=2.0),
    "field": lambda a, b, i, j: quirk.ForceField("f", force=lambda t, r, q, v, w: -0.2 * v + 0.1 * np.cos(t) * r),
    "potential": lambda a, b, i, j: quirk.Potential("f", b, lambda t, r, R: 0.5 * (r @ r) + 0.1 * R[0, 0]),
    "spring": lambda a, b, i, j: quirk.Spring("f", GROUND, b, point_i=[1, 0, 1], law=lambda x, rate: 3 * x**2 + 0.2 * rate),
    "interaction": lambda a, b, i, j: quirk.Interaction("f", a, b, force=lambda t, r, R, v, w: -2.0 * r - 0.1 * v),
    "gravity compensation": lambda a, b, i, j: quirk.GravityCompensation("f", gravity=G),
    "computed torque": lambda a, b, i, j: quirk.ComputedTorque("f", [i, j], ["0.2*sin(t)", 0.3], kp=9.0, kd=6.0, gravity=G),
}  # fmt: skip


# Laws that look like jumps to the test of single runs, where a limit is reached or a function has an extremum.
SUSPECT = {"limited", "expression", "function", "of the state"}


def members(system, vary, duration=0.5, alone=False, **inputs):
    """A batch that is computed in lanes, after a duration, and the same of each member by itself."""
    batch = quirk.Batch(system, COUNT, vary=vary, threads=1, **STEP)
    for name, values in inputs.items():
        batch.inputs[name] = values
    batch.advance(duration)
    assert batch.summary().startswith(f"{COUNT} members, eight at a time in vector lanes")
    assert alone or "one by one" not in batch.summary()
    ends = []
    for k in range(COUNT):
        start = system.initial_state()
        for (part, what), values in vary.items():
            if what in ("velocity", "angular_velocity"):
                getattr(start, what)[[body.name for body in system.bodies].index(part)] = values[k]
        ends.append(quirk.simulate(batch.member(k), duration, initial_state=start, **STEP).state_at(-1))
    return batch, ends


def compare(batch, ends, tolerance=1e-13):
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        alone = np.array([getattr(state, name) for state in ends])
        np.testing.assert_allclose(
            getattr(batch.state, name), alone, rtol=0, atol=tolerance * (1 + np.abs(alone).max())
        )


@pytest.mark.parametrize("law", LAWS)
def test_members_are_what_they_are_by_themselves(law):
    rng = np.random.default_rng(2)
    vary = {("upper", "mass"): rng.uniform(0.5, 2, COUNT), ("lower", "mass"): rng.uniform(0.5, 2, COUNT)}
    compare(*members(arm(LAWS[law]), vary, alone=law in SUSPECT))


def test_turns_are_counted_from_each_member_on():
    """A function of the angle with all turns, at a hinge that turns several times."""
    law = lambda a, b, i, j: quirk.JointTorque("f", i, lambda t, angle, rate: -0.05 * angle)  # noqa: E731
    spins = np.linspace(5, 60, COUNT)
    vary = {
        ("upper", "angular_velocity"): np.outer(spins, [0, 1, 0]),
        ("upper", "velocity"): np.outer(spins, [0, 0, -0.25]),
    }
    upper = Body.box("upper", 1.0, [0.5, 0.05, 0.05], position=[0.25, 0, 0])
    first = quirk.Revolute("first", GROUND, upper, point=[0, 0, 0], axis="y")
    batch, ends = members(quirk.System([upper, first, law(upper, None, first, None)]), vary, 1.0)
    compare(batch, ends, 1e-11)
    np.testing.assert_allclose(batch.state.angles["first"], [state.angles["first"] for state in ends], atol=1e-10)
    assert np.abs(batch.state.angles["first"]).max() > 20


def test_targets_of_controllers_are_inputs_of_members():
    system = arm(LAWS["controller"])
    targets = np.linspace(-0.5, 0.5, COUNT)
    batch, ends = members(system, {("upper", "mass"): np.linspace(0.5, 2, COUNT)}, f=targets)
    compare(batch, ends)
    assert np.ptp(batch.state.position[:, 1, 2]) > 0.01


def test_numbers_of_laws_with_functions_may_vary():
    law = lambda a, b, i, j: quirk.Actuator("f", i, "0.5*sin(5*t) - rate", limits=10.0)  # noqa: E731
    compare(*members(arm(law), {("f", "limits"): np.linspace(5.0, 10.0, COUNT)}))


@pytest.mark.parametrize("law", study([
    lambda t, angle, rate: quirk.where(t < 0.2, 0.5, -0.3),
    lambda t, angle, rate: np.exp(-(((t - 0.3017) / 2e-4) ** 2)),
    lambda t, angle, rate: quirk.where(angle > 0.3, 2.0, 0.0),
    lambda t, angle, rate: 0.2 * np.sin(900.0 * t),
], 1))  # fmt: skip
def test_members_whose_functions_jump_are_computed_by_themselves(law):
    """Single runs divide steps at jumps and pulses of functions, so that lanes would give another motion."""
    system = arm(lambda a, b, i, j: quirk.JointTorque("f", i, law))
    batch = quirk.Batch(system, COUNT, vary={("upper", "mass"): np.linspace(0.5, 2, COUNT)}, threads=1, **STEP)
    for _ in range(2):
        begin = [batch.state.member(k, {}, {}) for k in range(COUNT)]
        batch.advance(0.25)
        starts = batch.time - 0.25
        ends = [quirk.simulate(batch.member(k), 0.25, initial_state=begin[k], start=starts[k], **STEP).state_at(-1)
                for k in range(COUNT)]  # fmt: skip
        compare(batch, ends)


def test_motions_with_kinks_are_computed_one_by_one():
    law = lambda a, b, i, j: quirk.JointTorque("f", i, Motion.steps([0, 0.1, 0.25], [0.3, -0.2, 0.5]))  # noqa: E731
    assert "whose motion has kinks" in quirk.Batch(arm(law), COUNT, **STEP).summary()


def test_motions_that_vary_are_computed_one_by_one():
    batch = quirk.Batch(
        arm(LAWS["follower"]), COUNT, vary={("f", "target.amplitude"): np.linspace(0.1, 1, COUNT)}, **STEP
    )
    assert "one by one" in batch.summary()


class Memory:
    def __init__(self):
        self.calls = 0

    def __call__(self, t, angle, rate):
        self.calls += 1
        return 0.1 * self.calls


@pytest.mark.parametrize("function", [Memory(), lambda t, angle, rate: 0.1 if angle > 0 else -0.1])
def test_functions_that_run_in_python_are_called_for_one_member_after_the_other(function):
    batch = quirk.Batch(arm(lambda a, b, i, j: quirk.JointTorque("f", i, function)), COUNT, **STEP)
    assert "one by one" in batch.summary()


def test_a_function_that_changes_is_noticed():
    gain = [0.1]

    def torque(t, angle, rate):
        return GAIN * angle

    global GAIN
    GAIN = 0.1
    system = arm(lambda a, b, i, j: quirk.JointTorque("f", i, torque))
    batch = quirk.Batch(system, COUNT, **STEP)
    batch.advance(0.1)
    GAIN = 5.0
    state = batch.state.member(0, {}, {})
    batch.advance(0.1)
    alone = quirk.simulate(system, 0.1, initial_state=state, start=0.1, **STEP).state_at(-1)
    np.testing.assert_allclose(batch.state.position[0], alone.position, atol=1e-13)
    assert gain


def test_a_law_that_fails_fails_in_its_member_alone():
    """The square root of a negative number: that member gets the error of its run by itself."""
    law = lambda a, b, i, j: quirk.JointTorque("f", i, lambda t, angle, rate: np.sqrt(0.5 - angle))  # noqa: E731
    upper = Body.box("upper", 1.0, [0.5, 0.05, 0.05], position=[0.25, 0, 0])
    first = quirk.Revolute("first", GROUND, upper, point=[0, 0, 0], axis="y")
    system = quirk.System([upper, first, law(upper, None, first, None)])
    spins = np.where(np.arange(COUNT) == 4, 20.0, 0.0)
    vary = {
        ("upper", "angular_velocity"): np.outer(spins, [0, 1, 0]),
        ("upper", "velocity"): np.outer(spins, [0, 0, -0.25]),
    }
    batch = quirk.Batch(system, COUNT, vary=vary, **STEP)
    batch.advance(0.1)
    assert batch.status.tolist() == ["failed" if k == 4 else "completed" for k in range(COUNT)]
    assert 'JointTorque "f"' in batch.error[4]
