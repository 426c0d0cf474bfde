"""Results between their outputs: against finer runs, at both sides of events, and joined runs."""

import math
import warnings

import numpy as np
import pytest
from mechanisms import level_rod, random_system

import quirk
from quirk import GROUND, Body, InputError, Motion


def chain(**more):
    """Two rods on hinges that are not parallel, with a damped spring."""
    rod = Body.box("rod", 1.0, [1.0, 0.05, 0.05], position=[0.5, 0, 0])
    tip = Body.box("tip", 0.5, [0.6, 0.05, 0.05], position=[1.3, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    elbow = quirk.Revolute("elbow", rod, tip, point=[1, 0, 0], axis=[0, 1, 1])
    spring = quirk.Spring("spring", GROUND, tip, point_i=[0, 0, 1], stiffness=5.0, damping=0.3)
    return quirk.System([rod, tip, hinge, elbow, spring, *more.get("parts", ())], gravity=[0, 0, -9.81])


@pytest.fixture(scope="module")
def fine():
    return quirk.simulate(chain(), 1.0, output=0.01, rtol=1e-12, atol=1e-14)


def read(result):
    """A few quantities of different orders in time."""
    return {
        "position": result["tip"].position,
        "orientation": result["tip"].orientation,
        "velocity": result["tip"].velocity,
        "acceleration": result["tip"].acceleration,
        "force": result["elbow"].force(),
        "angle": result["hinge"].rotation,
        "snap": result["tip"].snap,
        "energy": result.energy.total,
        "work": result.power.work["spring"] - result.power.work["spring"][0],
    }


def test_errors_fall_with_a_high_power_of_the_output_interval(fine):
    times, want, errors = fine.time[7::10], read(fine), []
    for interval in (0.2, 0.1):
        at = quirk.simulate(fine.system, 1.0, output=interval, rtol=1e-12, atol=1e-14).at(times)
        wanted = {name: values[7::10] for name, values in want.items()}
        wanted["work"] = wanted["work"] - wanted["work"][0]
        errors.append({name: np.abs(values - wanted[name]).max() for name, values in read(at).items()})
        assert errors[-1]["position"] < at.uncertainty.max()
    for name, least in (("position", 9), ("orientation", 9), ("angle", 9), ("velocity", 8), ("work", 8)):
        slope = np.log(errors[0][name] / errors[1][name]) / np.log(2)
        assert slope > least, (name, slope, errors)
    assert errors[1]["position"] < 1e-8 and errors[1]["force"] < 1e-5, errors


def test_times_that_were_kept_are_shown_as_they_are(fine):
    at = fine.at(fine.time[3:9:2])
    np.testing.assert_array_equal(at["tip"].position, fine["tip"].position[3:9:2])
    np.testing.assert_allclose(at["elbow"].force(), fine["elbow"].force()[3:9:2], rtol=1e-12)
    assert not at.uncertainty.any()
    assert at.at(0.5)["tip"].position.shape == (1, 3)


def test_states_between_are_on_the_constraints(fine):
    at = fine.at([0.123, 0.456])
    assert at.residual.position.max() < 1e-12 and at.residual.velocity.max() < 1e-12
    np.testing.assert_allclose(np.linalg.norm(at["rod"].orientation, axis=1), 1.0, atol=1e-15)


def test_sides_of_an_event():
    ball = Body.sphere("ball", 1.0, 0.1, velocity=[1.0, 0, 0])
    push = quirk.Force("push", ball, [0, 0, 2.0])
    kick = quirk.Event("kick", "time", level=0.5, action=quirk.set_velocity("ball", [0, 3.0, 0]))
    off = quirk.Event("off", "time", level=0.75, action=quirk.switch_off("push"))
    result = quirk.simulate(quirk.System([ball, push, kick, off]), 1.0, output=[0.0, 0.2, 1.0])
    after, before = result.at([0.4, 0.5, 0.6]), result.at([0.4, 0.5, 0.6], side="before")
    np.testing.assert_allclose(after["ball"].velocity[:, 1], [0, 3, 3], atol=1e-14)
    np.testing.assert_allclose(before["ball"].velocity[:, 1], [0, 0, 3], atol=1e-14)
    np.testing.assert_allclose(after["ball"].position[:, 0], [0.4, 0.5, 0.5], atol=1e-14)
    sides = [result.at(0.75, side=side)["push"].force()[0, 2] for side in ("before", "after")]
    assert sides == [2.0, 0.0]
    power = result.at([0.1, 0.6, 0.9]).power
    # It falls by t^2 under 2 N until the kick, and from there by (t - 0.5)^2.
    fallen = np.array([0.1**2, 0.5**2 + 0.1**2, 0.5**2 + 0.25**2])
    np.testing.assert_allclose(power.work["push"], 2.0 * fallen, atol=1e-12)
    np.testing.assert_allclose(power.work["impacts"], [0, 3.5, 3.5], atol=1e-12)
    np.testing.assert_allclose(power.balance, 0.0, atol=1e-12)


def test_works_at_one_time_count_from_the_start_of_the_run():
    """A damped body that bounces once: works, losses and balance at times between the outputs."""
    body = Body.box("body", 1.0, [0.1, 0.1, 0.1], position=[0, 0, 1.0])
    rail = quirk.Prismatic("rail", GROUND, body, point=body.position, axis="z")
    damper = quirk.Spring("damper", GROUND, body, point_i=[0, 0, -1], stiffness=3.0, damping=0.5, rest_length=2.0)
    stop = quirk.Stop("stop", rail, lower=-0.8, restitution=0.5)
    system = quirk.System([body, rail, damper, stop], gravity=[0, 0, -9.81])
    result, fine = (quirk.simulate(system, 1.0, output=output, rtol=1e-10, atol=1e-12) for output in (0.1, 0.025))
    for t in (0.025, 0.725, 1.0):
        power, row = result.at(t).power, np.flatnonzero(np.isclose(fine.time, t))[-1]
        for name, work in fine.power.work.items():
            np.testing.assert_allclose(power.work[name], work[row], atol=1e-8, err_msg=f"{name} at {t}")
        np.testing.assert_allclose(power.dissipated, fine.power.dissipated[row], atol=1e-8)
        np.testing.assert_allclose(power.balance, 0.0, atol=1e-8)


def test_turns_between_outputs_that_are_turns_apart():
    rod = Body.box("rod", 1.0, [1.0, 0.05, 0.05], angular_velocity=[0, 0, 50.0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 0, 1])
    result = quirk.simulate(quirk.System([rod, hinge]), 1.0, output=0.05)
    times = np.linspace(0.0, 1.0, 31)
    at = result.at(times)
    np.testing.assert_allclose(at["hinge"].rotation[:, 2], 50.0 * times, atol=1e-3)
    assert abs(at["hinge"].rotation[:, 2] - 50.0 * times).max() < 10 * at.uncertainty.max()


def test_internal_variables_between_outputs():
    rod, hinge = level_rod()
    motor = quirk.Controller("motor", hinge, Motion.sinusoid(1.0, 3.0), kp=20.0, ki=30.0, kd=5.0)
    system = quirk.System([rod, hinge, motor], gravity=[0, 0, -9.81])
    fine = quirk.simulate(system, 0.6, output=0.01, rtol=1e-12, atol=1e-14)
    at = quirk.simulate(system, 0.6, output=0.06, rtol=1e-12, atol=1e-14).at(fine.time)
    np.testing.assert_allclose(at["motor"].internal(), fine["motor"].internal(), atol=1e-9)
    np.testing.assert_allclose(at["motor"].along(), fine["motor"].along(), atol=1e-6)


def test_drift_is_not_taken_away():
    system = random_system(np.random.default_rng(4), bodies=3, loops=0)
    result = quirk.simulate(system, 0.5, method="RK4", step=0.02, output=0.02, stabilization=None)
    assert result.residual.position[-2] > 1e-7
    joint = system.constraints[-1].name
    near, at = result.residual.position, result.at([0.491]).residual.position
    assert near[-2] * 0.5 < at[0] < 2 * near[-1], joint


def test_kinematics_between_times():
    crank = Body.box("crank", 1.0, [0.2, 0.05, 0.05], position=[0.1, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, crank, point=[0, 0, 0], axis=[0, 0, 1])
    drive = quirk.Drive("drive", hinge, Motion.sinusoid(7.0, 3.0))
    system = quirk.System([crank, hinge, drive])
    few, all_ = quirk.kinematics(system, np.linspace(0, 1, 21)), quirk.kinematics(system, np.linspace(0, 1, 101))
    at = few.at(all_.time)
    np.testing.assert_allclose(at["crank"].position, all_["crank"].position, atol=1e-12)
    np.testing.assert_allclose(at["crank"].snap, all_["crank"].snap, atol=1e-7)
    np.testing.assert_allclose(at["drive"].torque(), all_["drive"].torque(), atol=1e-9)
    np.testing.assert_allclose(at["hinge"].rotation, all_["hinge"].rotation, atol=1e-12)
    np.testing.assert_allclose(at.power.work["drive"], all_.power.work["drive"], atol=2e-4)


@pytest.mark.parametrize(
    ("t", "says"),
    [
        (1.1, "between 0 and 1 s"),
        (-0.1, "between 0 and 1 s"),
        ([0.2, 0.1], "increase"),
        ([], "list of times"),
        (np.nan, "finite"),
        ("x", "times"),
        ([[0.1]], "list of times"),
        (None, "times"),
    ],
)
def test_times_that_are_refused(fine, t, says):
    with pytest.raises(InputError, match=rf"(?s)Result\.at: t .*{says}"):
        fine.at(t)


def test_sides_that_are_refused(fine):
    with pytest.raises(InputError, match="side"):
        fine.at(0.5, side="left")


def test_outputs_that_are_too_far_apart(fine):
    few = quirk.simulate(fine.system, 1.0, output=1.0)
    with pytest.raises(InputError, match=r"outputs are 1 s apart.*output=0\.2"):
        few.at(0.5)


@pytest.fixture(scope="module")
def parts():
    release = quirk.Event("cut", "time", level=0.15, action=quirk.release("elbow"))
    system = chain(parts=[release])
    first = quirk.simulate(system, 0.3, output=0.05)
    return first, quirk.simulate(system, 0.2, output=0.05, initial_state=first.state_at(), start=first.time[-1])


def test_runs_that_go_on_are_one(parts):
    first, second = parts
    whole = quirk.join(first, second)
    assert whole.time[-1] == 0.5 and (np.diff(whole.time) >= 0).all()
    for name in ("hinge", "elbow"):
        both = [part[name].force() for part in parts]
        np.testing.assert_array_equal(whole[name].force(), np.concatenate(both))
    assert whole.statistics.steps == first.statistics.steps + second.statistics.steps
    assert len(whole.events) == 1 and len(whole.options) == 2 and whole.active("elbow").sum() < len(whole.time)
    assert np.abs(whole.power.balance).max() < 1e-9
    assert np.abs(whole.at([0.1, 0.4]).power.balance).max() < 1e-7
    assert "0.5 s" in whole.summary()


def test_runs_of_systems_that_are_alike_are_one(parts):
    first, second = parts
    other = chain(parts=[quirk.Event("cut", "time", level=0.15, action=quirk.release("elbow"))])
    again = quirk.simulate(other, 0.2, output=0.05, initial_state=first.state_at(), start=first.time[-1])
    whole = quirk.join(first, again)
    np.testing.assert_array_equal(whole["spring"].force(), quirk.join(first, second)["spring"].force())
    assert whole.segments[-1].model is not again.segments[-1].model


def test_derivatives_stay_with_single_runs():
    system = chain()
    first = quirk.simulate(system, 0.1, sensitivities=["gravity"])
    second = quirk.simulate(system, 0.1, initial_state=first.state_at(), start=first.time[-1])
    with pytest.warns(quirk.SensitivityWarning, match="join: the joined result has no sensitivities"):
        whole = quirk.join(first, second)
    with pytest.raises(InputError, match="has none"):
        whole.sensitivity  # noqa: B018


def test_runs_that_do_not_fit(parts):
    first, second = parts
    with pytest.raises(InputError, match=r"starts at t = 0 s.*start=before\.time"):
        quirk.join(second, first)
    with pytest.raises(InputError, match="give results"):
        quirk.join(first, 3)
    with pytest.raises(InputError, match="give results"):
        quirk.join(first.at(0.1), second)
    moved = first.state_at()
    moved.velocity = 0 * moved.velocity
    moved.angular_velocity = 0 * moved.angular_velocity
    other = quirk.simulate(first.system, 0.1, initial_state=moved, start=first.time[-1])
    with pytest.raises(InputError, match="velocities that differ"):
        quirk.join(first, other)
    heavier = chain(parts=[Body.sphere("more", 1.0, 0.1)])
    with pytest.raises(InputError, match="another system: bodies: rod, tip was saved"):
        quirk.join(first, quirk.simulate(heavier, 0.1, start=0.3))


def test_turns_that_do_not_fit():
    rod = Body.box("rod", 1.0, [1.0, 0.05, 0.05], angular_velocity=[0, 0, 50.0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 0, 1])
    system = quirk.System([rod, hinge])
    first = quirk.simulate(system, 0.5)
    bare = quirk.State(*first.state_at().parts)
    with pytest.raises(InputError, match='turns of joint "hinge"'):
        quirk.join(first, quirk.simulate(system, 0.5, initial_state=bare, start=0.5))
    whole = quirk.join(first, quirk.simulate(system, 0.5, initial_state=first.state_at(), start=0.5))
    assert whole["hinge"].rotation[-1, 2] == pytest.approx(50.0)


@pytest.mark.parametrize("how", ["steps", "sampled", "run", "function"])
def test_inputs_that_jump_at_outputs(how):
    """A particle pushed by a force that is held between the outputs, against its parabolas."""
    forces = np.array([0.1, -0.1, 0.2, -0.3, 0.05])
    ball, zero = Body("ball", 1.0, [1, 1, 1]), [0.0, 0, 0]
    if how == "steps":
        push = quirk.Force("push", ball, [Motion.steps(np.arange(5.0), forces), 0, 0])
    elif how == "function":
        push = quirk.Force("push", ball, lambda t, r, q, v, w: np.array([forces[min(int(t), 4)], 0, 0]))
    else:
        push = quirk.Force("push", ball, zero)
    parts = [ball, push]
    if how == "sampled":
        parts += [quirk.Sampled("hold", 1.0, lambda t, state: [forces[min(round(t), 4)], 0, 0], inputs=["push"])]
    if how == "run":
        run = quirk.Run(quirk.System(parts), inputs=["push"], keep=1.0)
        for force in forces:
            run.inputs["push"] = [force, 0, 0]
            run.advance(1.0)
        result = run.result()
    else:
        result = quirk.simulate(quirk.System(parts), 5.0, output=1.0, breaks=np.arange(1.0, 5.0))
    times = np.array([0.25, 0.5, 1.5, 2.5, 2.75, 3.3, 4.5])
    v = np.concatenate([[0.0], np.cumsum(forces)])
    x = np.concatenate([[0.0], np.cumsum(v[:-1] + 0.5 * forces)])
    k, s = times.astype(int), times % 1.0
    found = result.at(times)
    np.testing.assert_allclose(found["ball"].position[:, 0], x[k] + v[k] * s + 0.5 * forces[k] * s**2, atol=1e-9)
    np.testing.assert_allclose(found["ball"].velocity[:, 0], v[k] + forces[k] * s, atol=1e-9)
    np.testing.assert_allclose(found.power.work["push"], 0.5 * (v[k] + forces[k] * s) ** 2, atol=1e-9)
    assert found.uncertainty.max() < 1e-9


def test_loads_of_stiff_parts_between_coarse_outputs_cause_a_warning():
    """Two balls that turn about each other, held together by a stiff spring: loads against the centripetal force."""
    omega, k = 3.0, 1e7
    stretched = 1.0 / (1.0 - omega**2 * 0.5 / k)  # k (length - 1) = 0.5 length omega^2
    balls = [
        Body(name, 1.0, [1, 1, 1], position=[x, 0, 0], velocity=[0, x * omega, 0])
        for name, x in (("one", -0.5 * stretched), ("two", 0.5 * stretched))
    ]
    spring = quirk.Spring("spring", *balls, stiffness=k, rest_length=1.0)
    system = quirk.System([*balls, spring])
    times, force = [0.37, 0.61], 0.5 * stretched * omega**2
    for interval, accurate in ((0.25, False), (0.01, True)):
        result = quirk.simulate(system, 1.0, output=interval, method="RadauIIA9", rtol=1e-9, atol=1e-12)
        if accurate:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = result.at(times)
            np.testing.assert_allclose(np.linalg.norm(found["spring"].force(), axis=1), force, rtol=1e-3)
        else:
            with pytest.warns(quirk.OutputWarning, match="accelerations are uncertain by .* of .* m/s"):
                found = result.at(times)
            assert np.abs(np.linalg.norm(found["spring"].force(), axis=1) - force).max() > 0.1 * force


STEP_FORCES = {
    "numpy": lambda t, x, v: np.where(t < 1.0, 1.0, -3.0) - 4.0 * x,
    "of the state": lambda t, state: np.where(t < 1.0, 1.0, -3.0) - 4.0 * state["rail"].travel,
    "in Python": lambda t, x, v: math.copysign(2.0, 1.0 - t) - 1.0 - 4.0 * x,
}


@pytest.mark.parametrize("kind", STEP_FORCES)
def test_a_function_that_jumps_at_an_output(kind):
    """Jerk and snap at the output are those of each side, as closed forms of a spring with a constant force have them."""

    def position(t):
        w = 2.0
        x, v = 0.25 * (1.0 - np.cos(w)), 0.5 * np.sin(w)
        after = (x + 0.75) * np.cos(w * (t - 1.0)) + v / w * np.sin(w * (t - 1.0)) - 0.75
        return np.where(t < 1.0, 0.25 * (1.0 - np.cos(w * t)), after)

    puck = Body.box("puck", 1.0, [0.1, 0.1, 0.1])
    rail = quirk.Prismatic("rail", GROUND, puck, point=[0, 0, 0], axis="x")
    system = quirk.System([puck, rail, quirk.JointForce("push", rail, STEP_FORCES[kind])])
    times = np.array([0.81, 0.93, 1.13, 1.21])
    at = quirk.simulate(system, 2.0, output=0.25, rtol=1e-12, atol=1e-14).at(times)
    error = np.abs(at["puck"].position[:, 0] - position(times))
    assert error.max() < 1e-11
    assert (error < at.uncertainty).all()


def test_runs_join_where_friction_has_stopped_a_body():
    """Its velocity there is round-off, such as 1e-79 m/s."""
    block = quirk.Body.box("block", 1.0, [0.1, 0.1, 0.1], velocity=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, block, axis="x")
    system = quirk.System([block, rail, quirk.Friction("rub", rail, 0.3)], gravity=[0, 0, -9.81])
    first = quirk.simulate(system, 1.0, output=0.1)
    second = quirk.simulate(system, 1.0, start=1.0, initial_state=first.state_at(), output=0.1)
    whole = quirk.join(first, second)
    assert whole.time[-1] == 2.0 and whole["rub"].sticking[-1]
    assert whole["block"].position[-1, 0] == pytest.approx(1 / (2 * 0.3 * 9.81), rel=1e-6)


FORCES = np.array([2.0, -4.0, 6.0, 0.0, 8.0])
CHANGES = 0.1 * np.arange(5)


def pushed_puck(how, interval):
    """Result of a puck pushed by a force that changes every 0.1 s, with outputs that do not show these times."""
    puck = Body.box("puck", 2.0, [0.1, 0.1, 0.1])
    rail = quirk.Prismatic("rail", GROUND, puck, point=[0, 0, 0], axis="x")
    if how == "steps":
        push = quirk.JointForce("push", rail, Motion.steps(CHANGES, FORCES))
        return quirk.simulate(quirk.System([puck, rail, push]), 0.5, output=interval)
    if how == "breaks":
        push = quirk.JointForce("push", rail, lambda t, x, v: FORCES[sum(t >= CHANGES) - 1])
        return quirk.simulate(quirk.System([puck, rail, push]), 0.5, output=interval, breaks=CHANGES[1:])
    parts = [puck, rail, quirk.JointForce("push", rail, 0.0)]
    if how == "sampled":
        hold = quirk.Sampled("hold", 0.1, lambda t, state: FORCES[round(10 * t)], inputs=["push"])
        return quirk.simulate(quirk.System([*parts, hold]), 0.45, output=interval)
    run = quirk.Run(quirk.System(parts), inputs=["push"], keep=interval)
    for force in FORCES:
        run.inputs["push"] = force
        run.advance(0.1)
    return run.result()


@pytest.mark.parametrize("interval", [0.03, 0.07])
@pytest.mark.parametrize("how", ["steps", "breaks", "sampled", "run"])
def test_inputs_that_jump_between_outputs(how, interval):
    """The puck follows parabolas; velocities were off by 0.01 of 0.2 m/s beside the jumps."""
    result = pushed_puck(how, interval)
    times = np.array([0.095, 0.1, 0.105, 0.2, 0.307, 0.395])
    v = np.concatenate([[0.0], np.cumsum(0.1 * FORCES / 2.0)])
    x = np.concatenate([[0.0], np.cumsum(0.1 * v[:-1] + 0.5 * 0.01 * FORCES / 2.0)])
    k = np.floor(10 * times + 1e-9).astype(int)
    s, a = times - CHANGES[k], FORCES[k] / 2.0
    at = result.at(times)
    np.testing.assert_allclose(at["puck"].position[:, 0], x[k] + v[k] * s + 0.5 * a * s**2, atol=1e-13)
    np.testing.assert_allclose(at["puck"].velocity[:, 0], v[k] + a * s, atol=1e-13)
    np.testing.assert_allclose(at.power.work["push"], (v[k] + a * s) ** 2, atol=1e-12)
    assert at.uncertainty.max() < 1e-13
    jumps = [0.1, 0.2, 0.4]
    for side, forces in (("before", FORCES[[0, 1, 3]]), ("after", FORCES[[1, 2, 4]])):
        shown = result.at(jumps, side=side)
        np.testing.assert_allclose(shown["push"].effort, forces, atol=1e-12)
        np.testing.assert_allclose(shown["puck"].acceleration[:, 0], forces / 2.0, atol=1e-12)


def test_sides_of_an_input_that_changes_at_an_output():
    """There is one row at the change, which showed the new force on both sides."""
    result = pushed_puck("run", 0.1)
    assert len(result.time) == 6
    before, after = (result.at([0.0, 0.1, 0.2], side=side) for side in ("before", "after"))
    np.testing.assert_array_equal(before["push"].effort, [2.0, 2.0, -4.0])
    np.testing.assert_array_equal(after["push"].effort, [2.0, -4.0, 6.0])
    np.testing.assert_array_equal(before.state.velocity, after.state.velocity)


def test_mechanisms_whose_inputs_jump_between_outputs():
    """A double pendulum with a motor, and a controller with an integral, against outputs at the same times."""
    rods = [Body.box(f"rod {k}", 1.0, [0.5, 0.05, 0.05], position=[0.25 + 0.5 * k, 0, 0]) for k in range(2)]
    hinge = quirk.Revolute("hinge", GROUND, rods[0], point=[0, 0, 0], axis="y")
    elbow = quirk.Revolute("elbow", rods[0], rods[1], point=[0.5, 0, 0], axis="y")
    motor = quirk.JointTorque("motor", hinge, Motion.steps([0.0, 0.2, 0.35, 0.77], [3.0, -20.0, 40.0, 90.0]))
    servo = quirk.Controller("servo", elbow, Motion.steps([0.0, 0.6], [0.5, -0.5]), kp=8.0, ki=20.0, kd=1.0)
    system = quirk.System([*rods, hinge, elbow, motor, servo], gravity=[0, 0, -9.81])
    coarse = quirk.simulate(system, 1.0, output=0.13, rtol=1e-11, atol=1e-13)
    times = [0.14, 0.2, 0.25, 0.3, 0.38, 0.55, 0.61, 0.72, 0.775]
    exact, at = quirk.simulate(system, 1.0, output=times, rtol=1e-11, atol=1e-13), coarse.at(times)
    for one, other in zip(at.state.parts, exact.state.parts, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(at.state.internal["servo"], exact.state.internal["servo"], atol=1e-9)
    np.testing.assert_allclose(at["elbow"].rotation, exact["elbow"].rotation, atol=1e-9)
    np.testing.assert_allclose(at["elbow"].force(), exact["elbow"].force(), atol=1e-6)
    np.testing.assert_allclose(at.power.balance, 0.0, atol=1e-9)


def test_jumps_beside_functions_that_may_have_changed_cause_a_warning():
    values, ball = {"pull": 1.0}, Body("ball", 1.0, [1, 1, 1])
    pull = quirk.Force("pull", ball, lambda t, r, q, v, w: np.array([values["pull"], 0, 0]))
    push = quirk.Force("push", ball, [Motion.steps([0.0, 0.25], [1.0, -2.0]), 0, 0])
    change = quirk.Event("change", "time", level=0.5, action=lambda t, state: values.update(pull=3.0))
    result = quirk.simulate(quirk.System([ball, pull, push, change]), 1.0, output=0.2)
    with pytest.warns(quirk.OutputWarning, match='jump between the outputs at t = 0.2 and 0.4 s, .* Force "pull" may'):
        result.at(0.3)


@pytest.mark.parametrize("seed", range(4))
def test_slip_that_turns_fast_between_outputs(seed):
    """A ball that slides and spins on an incline until it rolls: slip turns ever faster before it ends."""
    rng = np.random.default_rng(seed)
    velocity, spin = [*rng.normal(size=2), 0], 10 * rng.normal(size=3)
    print(seed, velocity, spin)
    ball = Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.1], velocity=velocity, angular_velocity=spin)
    floor = quirk.Contact("floor", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    system = quirk.System([ball, floor, quirk.Friction("rub", floor, 0.4)], gravity=[1.5, 1.0, -9.5])
    coarse = quirk.simulate(system, 1.0, output=0.05, rtol=1e-10, atol=1e-12)
    (rolls,) = coarse.events.time
    times = rolls - np.array([0.4, 0.1, 0.02, 0.005, 0.001]) * rolls
    at, expected = coarse.at(times), quirk.simulate(system, 1.0, output=[0.0, *times], rtol=1e-10, atol=1e-12)
    # The expected outputs follow the initial one; the event adds two more at the end.
    np.testing.assert_allclose(at["ball"].velocity, expected["ball"].velocity[1:6], atol=1e-9)
    # Errors of slip, over the slip that is left, turn the force.
    np.testing.assert_allclose(at["rub"].force(), expected["rub"].force()[1:6], atol=2e-5)
    assert not at["rub"].sticking.any()


def test_impacts_have_no_work_where_contacts_only_rest():
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.1])
    floor = quirk.Contact(
        "floor", quirk.GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1), restitution=0.5
    )
    result = quirk.simulate(quirk.System([ball, floor], gravity=[0, 0, -9.81]), 1.0, output=0.5)
    assert result.power.work["impacts"].tolist() == [0.0, 0.0, 0.0]
    assert result.at(0.25).power.work["impacts"].tolist() == [0.0]
