"""Targets of computed torque control that a loop sets: a run against closed forms, and other uses of the same inputs."""

import pickle
import re

import numpy as np
import pytest
from scipy.linalg import expm
from studies import study
from test_robot_control import coordinate

import quirk
from quirk import GROUND, Body, Motion

COUNT, INTERVAL = 2, 0.05
KP, KD, G = np.array([4.0, 9.0]), np.array([4.0, 5.0]), np.array([1.0, -2.0, -9.0])


def robot(seed=1):
    """A hinge and a slide with skew axes, and their bodies with random inertia."""
    rng = np.random.default_rng(seed)
    links = [
        Body(f"link {k}", rng.uniform(0.5, 2), np.diag(rng.uniform(0.1, 0.16, 3)), position=rng.normal(size=3))
        for k in range(COUNT)
    ]
    hinge = quirk.Revolute("hinge", GROUND, links[0], point=[0, 0, 0], axis=rng.normal(size=3))
    slide = quirk.Prismatic("slide", links[0], links[1], axis=rng.normal(size=3))
    return [*links, hinge, slide], [hinge, slide]


def held(seed=1, **options):
    """Return the system of a robot with targets that are numbers, its joints, and random targets and rates to set."""
    parts, joints = robot(seed)
    control = quirk.ComputedTorque("control", joints, [0.0] * COUNT, **{"kp": KP, "kd": KD, "gravity": G, **options})
    rng = np.random.default_rng(seed)
    return quirk.System([*parts, control], gravity=G), joints, *rng.uniform(-0.5, 0.5, (2, 10, COUNT))


def exact(targets, rates):
    """Return the coordinates (steps, 2) after each interval: q'' = kp (q_d - q) + kd (v_d - q'), from rest at zero."""
    found = []
    for kp, kd, goals, speeds in zip(KP, KD, targets.T, rates.T, strict=True):
        flow, x = expm(INTERVAL * np.array([[0, 1], [-kp, -kd]])), np.zeros(2)
        for goal, speed in zip(goals, speeds, strict=True):
            rest = np.array([goal + kd / kp * speed, 0.0])
            x = rest + flow @ (x - rest)
            found.append(x[0])
    return np.reshape(found, (COUNT, -1)).T


def advanced(run, joints, targets, rates):
    """Set targets and rates before each interval; return the coordinates after it, and the efforts within it."""
    found, efforts = [], []
    for goal, speed in zip(targets, rates, strict=True):
        run.inputs["control"] = goal
        run.inputs["control.rates"] = speed
        efforts.append([run["control"].along(joint.name) for joint in joints])
        run.advance(INTERVAL)
        found.append([coordinate(run, joint) for joint in joints])
    return np.array(found), np.array(efforts)


METHODS = [
    {"rtol": 1e-9},
    {"method": "RK4", "step": 0.0025},
    {"method": "RadauIIA9", "rtol": 1e-9},
    {"method": "Taylor"},
]


@pytest.mark.parametrize("options", METHODS)
@pytest.mark.parametrize("seed", study([1, 2], {2}))
def test_errors_decay_as_between_held_targets(seed, options):
    system, joints, targets, rates = held(seed)
    run = quirk.Run(system, inputs=["control", "control.rates"], **options)
    np.testing.assert_array_equal(run.inputs["control"], np.zeros(COUNT))
    plant = run.plant
    found, _ = advanced(run, joints, targets, rates)
    np.testing.assert_allclose(found, exact(targets, rates), atol=1e-7, err_msg=f"seed {seed}")
    assert run.plant is plant  # nothing is compiled or rebuilt
    np.testing.assert_array_equal(run.inputs["control.rates"], rates[-1])


def test_targets_alone_have_no_rates():
    system, joints, targets, _ = held()
    run = quirk.Run(system, inputs=["control"], rtol=1e-9)
    for k, goal in enumerate(targets):
        run.inputs["control"] = goal
        run.advance(INTERVAL)
        found = [coordinate(run, joint) for joint in joints]
        np.testing.assert_allclose(found, exact(targets, 0 * targets)[k], atol=1e-8)


def test_a_saved_run_goes_on_to_the_last_bit():
    system, joints, targets, rates = held()
    run = quirk.Run(system, inputs=["control", "control.rates"], rtol=1e-7)
    advanced(run, joints, targets[:4], rates[:4])
    saved = pickle.loads(pickle.dumps(run.save()))
    first, _ = advanced(run, joints, targets[4:], rates[4:])
    run.restore(saved)
    np.testing.assert_array_equal(run.inputs["control"], targets[3])
    again, _ = advanced(run, joints, targets[4:], rates[4:])
    np.testing.assert_array_equal(first, again)
    other = quirk.Run(held()[0], inputs=["control", "control.rates"], rtol=1e-7)
    other.restore(saved)
    np.testing.assert_array_equal(advanced(other, joints, targets[4:], rates[4:])[0], first)


def test_the_result_has_the_targets_that_were_set(tmp_path):
    system, joints, targets, rates = held(limits=50.0)
    run = quirk.Run(system, inputs=["control", "control.rates"], rtol=1e-9, keep=INTERVAL)
    _, efforts = advanced(run, joints, targets, rates)
    result = run.result()
    result.save(tmp_path / "run.nc")
    again = quirk.simulate(result.system, 10 * INTERVAL, output=INTERVAL, rtol=1e-9)
    for one in (result, quirk.Result.load(tmp_path / "run.nc"), again):
        found = np.transpose([one["control"].along(joint.name) for joint in joints])
        np.testing.assert_allclose(found[:10], efforts, atol=1e-6)
        np.testing.assert_allclose(one.state.position, result.state.position, atol=1e-8)


@pytest.mark.parametrize("solver", ["sparse", "dense"])
def test_a_sampled_function_sets_them(solver):
    system, joints, targets, rates = held()
    number = lambda t: min(int(np.floor(t / INTERVAL + 0.5)), 9)  # noqa: E731
    planner = quirk.Sampled(
        "planner",
        INTERVAL,
        lambda t, state: [targets[number(t)], rates[number(t)]],
        inputs=["control", "control.rates"],
    )
    options = {"method": "RK4", "step": 0.005} if solver == "dense" else {"rtol": 1e-9}
    steps = 2 if solver == "dense" else 10
    result = quirk.simulate(system.with_parts(planner), steps * INTERVAL, output=INTERVAL, solver=solver, **options)
    found = np.transpose([coordinate(result, joint) for joint in joints])[1:]
    np.testing.assert_allclose(found, exact(targets, rates)[:steps], atol=1e-7)


@pytest.mark.parametrize("options", [{"method": "RK4", "step": 0.0025}, {"rtol": 1e-9}])
def test_members_of_a_batch_follow_their_own(options):
    system, joints, targets, rates = held()
    masses = np.linspace(0.5, 2.0, 3)
    batch = quirk.Batch(system, 3, vary={("link 1", "mass"): masses}, **options)
    assert list(batch.inputs) == ["control", "control.rates"]
    signs = np.array([1.0, -0.5, 0.2])[:, None]
    for goal, speed in zip(targets, rates, strict=True):
        batch.inputs["control"] = signs * goal
        batch.inputs["control.rates"][:] = signs * speed
        batch.advance(INTERVAL)
    assert batch.status.tolist() == ["completed"] * 3, batch.error
    assert ("eight at a time" in batch.summary()) is ("step" in options)
    for k in range(3):
        member = batch.member(k)
        state = batch.state.member(k)
        found = quirk.simulate(member, 1e-3, initial_state=state, output=1e-3)
        want = exact(signs[k] * targets, signs[k] * rates)[-1]
        np.testing.assert_allclose([coordinate(found, joint)[0] for joint in joints], want, atol=1e-7)
        assert member["control"].motion("target_1")(0.0) == signs[k, 0] * targets[-1, 1]
    with pytest.raises(
        quirk.InputError, match=re.escape("targets must be finite numbers of shape (3, 2), or (2,) for")
    ):
        batch.inputs["control"] = np.zeros(3)


def test_rates_of_their_own():
    """With the derivatives of the targets nothing changes; others lead as if the target were ahead by kd / kp times it."""
    parts, joints = robot()
    gains = {"kp": KP, "kd": KD, "gravity": G}
    targets = [Motion.sinusoid(0.3, 2.0, 0.1 * k, 0.2) for k in range(COUNT)]
    slopes = [Motion.sinusoid(0.6, 2.0, 0.1 * k + np.pi / 2) for k in range(COUNT)]

    def motion(targets, rates=None):
        control = quirk.ComputedTorque("control", joints, targets, rates=rates, **gains)
        return quirk.simulate(quirk.System([*parts, control], gravity=G), 0.5, output=0.1, rtol=1e-10).state.position

    np.testing.assert_allclose(motion(targets, slopes), motion(targets), atol=1e-9)
    ahead = [0.1 + kd / kp * 0.2 for kp, kd in zip(KP, KD, strict=True)]
    np.testing.assert_allclose(motion([0.1] * COUNT, [0.2] * COUNT), motion(ahead), atol=1e-9)


@pytest.mark.parametrize("own", [False, True])
def test_derivatives_with_respect_to_targets(own):
    """The rate that follows from a target changes with it; rates of their own do not."""
    parts, joints = robot()

    def motion(amplitude, **options):
        targets = [Motion.sinusoid(amplitude, 2.0), 0.1]
        rates = [0.1] * COUNT if own else None
        control = quirk.ComputedTorque("control", joints, targets, kp=KP, kd=KD, gravity=G, rates=rates)
        system = quirk.System([*parts, control], gravity=G)
        return quirk.simulate(system, 0.5, output=0.1, rtol=1e-11, atol=1e-13, **options)

    key = ("control", "target_0.amplitude")
    found = motion(0.3, sensitivities=[key]).sensitivity[key]["link 1"].position
    change = (motion(0.3 + 1e-5)["link 1"].position - motion(0.3 - 1e-5)["link 1"].position) / 2e-5
    assert np.abs(change).max() > 1e-3
    np.testing.assert_allclose(found, change, atol=1e-8)


def test_gravity_compensation_with_controllers():
    """The targets of the controllers are inputs; the robot comes to rest at them, as its weight is balanced."""
    parts, joints = robot()
    floating = quirk.GravityCompensation("floating", gravity=G)
    servos = [quirk.Controller(f"servo {k}", joint, 0.0, kp=40.0, kd=20.0) for k, joint in enumerate(joints)]
    run = quirk.Run(quirk.System([*parts, floating, *servos], gravity=G), inputs=[servo.name for servo in servos])
    for goals in ([0.2, -0.3], [-0.1, 0.2]):
        for servo, goal in zip(servos, goals, strict=True):
            run.inputs[servo.name] = goal
        run.advance(20.0)
        np.testing.assert_allclose([coordinate(run, joint) for joint in joints], goals, atol=1e-6)


def test_environments_have_an_action_for_each_joint():
    pytest.importorskip("gymnasium")
    system, _, targets, _ = held()
    env = quirk.gym_environment(
        system, actions={"control": (-1, 1)}, observations=["hinge.angle", "slide.travel"], period=INTERVAL,
        reward=lambda observation, action: 0.0, rtol=1e-9,
    )  # fmt: skip
    env.reset(seed=0)
    assert env.action_space.shape == (COUNT,)
    goals = targets.astype(np.float32)
    for goal in goals:
        observation = env.step(goal)[0]
    np.testing.assert_allclose(observation, exact(goals.astype(float), 0 * goals)[-1], atol=1e-7)
    with pytest.raises(quirk.InputError, match='the bounds of ComputedTorque "control" in actions must be given'):
        quirk.gym_environment(system, actions=["control"], observations=["hinge.angle"], period=1.0, reward=max)


def test_wrong_names_and_values_are_named():
    system, joints, targets, _ = held()
    run = quirk.Run(system, inputs=["control"])
    for value, message in ((0.1, r"targets must have shape \(2,\)"), ([0, np.nan], "targets must be finite")):
        with pytest.raises(quirk.InputError, match=r"Run: inputs\['control'\]: ComputedTorque \"control\": " + message):
            run.inputs["control"] = value
    with pytest.raises(ValueError, match="read-only"):  # it would change a copy alone
        run.inputs["control"][0] = 0.1
    with pytest.raises(quirk.UnknownNameError, match=r"there is no input 'control\.rates'"):
        run.inputs["control.rates"] = targets[0]
    with pytest.raises(quirk.UnknownNameError, match=r'does not have; did you mean "control\.rates"'):
        quirk.Run(system, inputs=["control.rate"])
    parts, _ = robot()
    led = quirk.ComputedTorque("led", joints, [Motion.sinusoid(0.1, 1.0), 0], kp=1.0, kd=1.0, gravity=G)
    with pytest.raises(
        quirk.InputError,
        match=re.escape("whose targets is a function") + ".*" + re.escape("targets=[0.0, 0.0]"),
    ):
        quirk.Run(quirk.System([*parts, led], gravity=G), inputs=["led"])
    hurried = quirk.ComputedTorque("hurried", joints, [0, 0], rates=[0, "0.1*t"], kp=1.0, kd=1.0, gravity=G)
    with pytest.raises(
        quirk.InputError, match=re.escape("whose rates is a function") + ".*" + re.escape("rates=[0.0, 0.0]")
    ):
        quirk.Run(quirk.System([*parts, hurried], gravity=G), inputs=["hurried"])
    with pytest.raises(quirk.InputError, match="rates must be one for each of its 2 joints; got 1"):
        quirk.ComputedTorque("led", joints, [0, 0], rates=[0], kp=1.0, kd=1.0, gravity=G)
    planner = quirk.Sampled("planner", 0.1, lambda t, state: targets[0], inputs=["control"])
    with pytest.raises(quirk.InputError, match='inputs names ComputedTorque "control", which Sampled "planner" sets'):
        quirk.Run(system.with_parts(planner), inputs=["control.rates"])
