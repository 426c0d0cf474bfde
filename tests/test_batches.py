"""Members of a batch move as systems of their own: numbers, states, inputs, failures, data sets."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Batch, Body, Motion

DOWN = [0, 0, -9.81]
ADAPTIVE = {"method": "Vern9", "rtol": 1e-7}
FIXED = {"method": "RK4", "step": 0.01}


def pendulum(mass=1.0, stiffness=5.0, gravity=DOWN, turning=(0, 0, 0.3), torque=0.0):
    """A box on a hinge with a spring and a motor, and a second box that a drive turns."""
    rod = Body.box("rod", mass=mass, size=[1, 0.1, 0.1], position=[0.5, 0, 0])
    wheel = Body.cylinder("wheel", 2.0, 0.2, 0.1, axis="y", position=[0, 2, 0])
    tip = Body.sphere("tip", 0.3, 0.05, position=[1.0, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis="y")
    axle = quirk.Revolute("axle", GROUND, wheel, point=[0, 2, 0], axis="y")
    ball = quirk.Spherical("ball", rod, tip, point=[1, 0, 0])
    return quirk.System([
        rod, wheel, tip, hinge, axle, ball,
        quirk.Drive("drive", axle, Motion.polynomial(turning)),
        quirk.TorsionSpring("coil", hinge, stiffness=stiffness, damping=0.1),
        quirk.JointTorque("motor", hinge, torque),
        quirk.PointGravity("planet", GROUND, rod, mu=0.1, point=[3, 0, 3]),
    ], gravity=gravity)  # fmt: skip


def final(system, duration=0.4, **options):
    """The last state of a single run."""
    return quirk.simulate(system, duration, output=[duration], **options).state_at(-1)


def assert_member(batch, k, state):
    """Member k is in a state, to the last bit."""
    for name in ("position", "orientation", "velocity", "angular_velocity"):
        np.testing.assert_array_equal(getattr(batch.state, name)[k], getattr(state, name))


@pytest.mark.parametrize("options", [ADAPTIVE, FIXED], ids=["adaptive", "fixed"])
@pytest.mark.parametrize(
    ("key", "values", "argument"),
    [
        (("rod", "mass"), [0.5, 1.0, 2.5], "mass"),
        (("coil", "stiffness"), [0.0, 5.0, 40.0], "stiffness"),
        ("gravity", [[0, 0, -9.81], [0, 1, -1], [3, 0, 0]], "gravity"),
        (("drive", "motion.coefficients"), [[0, 0, 0], [0, 0, 0.2], [0, 0, -1.5]], "turning"),
        (("motor", "torque"), [-1.0, 0.0, 2.0], "torque"),
    ],
)
def test_members_move_as_systems_made_with_their_numbers(key, values, argument, options):
    batch = Batch(pendulum(), 3, vary={key: values}, threads=1, **options)
    batch.advance(0.4)
    assert batch.status.tolist() == ["completed"] * 3
    for k, value in enumerate(values):
        single = final(pendulum(**{argument: value}), **options)
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            here, there = getattr(batch.state, name)[k], getattr(single, name)
            np.testing.assert_allclose(here, there, rtol=0, atol=1e-13 * max(1.0, np.abs(there).max()))
            if options is ADAPTIVE:
                np.testing.assert_array_equal(here, there)


def test_two_parameters_and_an_initial_velocity_vary_together():
    rng = np.random.default_rng(5)
    spin = np.zeros((3, 3))
    spin[:, 1] = rng.uniform(-1, 1, 3)
    velocity = np.stack([-0.5 * np.zeros(3), np.zeros(3), -0.5 * spin[:, 1]], axis=1)
    vary = {
        ("rod", "mass"): rng.uniform(1, 2, 3), ("rod", "angular_velocity"): spin, ("rod", "velocity"): velocity,
        ("tip", "velocity"): 2 * velocity, ("coil", "damping"): [0.0, 1.0, 2.0],
    }  # fmt: skip
    batch = Batch(pendulum(), 3, vary=vary, threads=1, **ADAPTIVE)
    np.testing.assert_array_equal(batch.state.angular_velocity[:, 0], spin)
    start = batch.state.member(1, {}, {})
    batch.advance(0.4)
    assert_member(batch, 1, final(batch.member(1), initial_state=start, **ADAPTIVE))
    assert_member(batch, 1, final(batch.member(1), **ADAPTIVE))  # it has the varied initial state itself
    assert batch.member(1)["rod"].mass == vary["rod", "mass"][1]
    assert batch.member(2)["coil"].damping == 2.0
    assert (batch.state.angular_velocity[0] != batch.state.angular_velocity[1]).any()


def test_repeated_calls_continue_from_states_that_the_caller_changes():
    batch = Batch(pendulum(), 2, threads=1, **ADAPTIVE)
    batch.advance(0.1)
    batch.state.angular_velocity[1, 0] += [0, 0.5, 0]
    batch.state.velocity[1, 0] += [0.0, 0, -0.25]
    before = batch.state.member(1, {}, {})
    batch.advance(0.1)
    assert batch.status.tolist() == ["completed", "failed"]  # the ball no longer fits the rod
    assert "ball" in batch.error[1]
    assert batch.time.tolist() == [0.2, 0.1]
    assert_member(batch, 1, before)
    single = quirk.simulate(pendulum(), 0.1, output=[0.1], **ADAPTIVE).state_at(-1)
    single = quirk.simulate(pendulum(), 0.1, output=[0.2], start=0.1, initial_state=single, **ADAPTIVE).state_at(-1)
    assert_member(batch, 0, single)
    batch.reset([1])
    assert batch.status.tolist() == ["completed", "not run"]
    assert batch.time.tolist() == [0.2, 0.0]
    batch.advance(0.1)
    assert batch.time.tolist() == [3 * 0.1, 0.1]
    assert_member(batch, 1, final(pendulum(), 0.1, **ADAPTIVE))


@pytest.mark.parametrize("wave", [0.3, "0.4*sin(9*t)", Motion.sinusoid(0.4, 9.0)])
@pytest.mark.parametrize("options", [{"method": "RK4", "step": 1e-3}, {"rtol": 1e-8}])
def test_members_that_were_reset_advance_from_their_own_time(options, wave):
    """Episodes that begin at different times: each member moves as if it were alone."""
    system = pendulum()
    system = system.without("drive").with_parts(quirk.JointTorque("wave", system["hinge"], wave))
    batch = Batch(system, 3, **options)
    for k in range(7):
        if k in (2, 5):
            batch.reset([{2: 0, 5: 2}[k]])
        batch.advance(0.1 if k < 6 else 0.05)
    assert batch.time == pytest.approx([0.45, 0.65, 0.65 - 0.5])
    for k, duration in enumerate(batch.time):
        want = quirk.simulate(system, duration, output=[duration], **options).state_at(-1)
        np.testing.assert_allclose(batch.state.position[k], want.position, atol=1e-8)
        np.testing.assert_allclose(batch.state.angular_velocity[k], want.angular_velocity, atol=1e-7)


def test_inputs_hold_until_they_are_set_again():
    batch = Batch(pendulum(), 2, threads=1, **ADAPTIVE)
    assert batch.inputs["motor"].shape == (2,)
    batch.inputs["motor"] = [1.0, -2.0]
    batch.advance(0.2)
    for k, torque in enumerate((1.0, -2.0)):
        assert_member(batch, k, final(pendulum(torque=torque), 0.2, **ADAPTIVE))
    batch.inputs["motor"][:] = 0.5
    state = batch.state.member(0, {}, {})
    batch.advance(0.2)
    after = quirk.simulate(pendulum(torque=0.5), 0.2, start=0.2, output=[0.4], initial_state=state, **ADAPTIVE)
    assert_member(batch, 0, after.state_at(-1))


def test_events_stop_one_member():
    stop = quirk.Event("low", "hinge.angle", level=0.5, action="stop")
    system = pendulum().with_parts(stop)
    batch = Batch(system, 2, vary={("coil", "stiffness"): [0.0, 500.0]}, threads=1, **ADAPTIVE)
    batch.advance(1.0)
    assert batch.status.tolist() == ["stopped", "completed"]
    assert 0.1 < batch.time[0] < 0.9
    assert batch.time[1] == 1.0
    held = batch.time[0]
    batch.advance(0.5)
    assert batch.time.tolist() == [held, 1.5]


def relay(reader):
    """A particle whose event sets a value that a force, a motion, a gap or the quantity of another event reads."""
    values = {"u": 1.0}
    ball = Body("ball", 1.0, [1, 1, 1], velocity=[1.0, 0, 0])
    parts = [ball]
    if reader == "force":
        parts += [quirk.Force("f", ball, lambda t, r, q, v, w: np.array([values["u"], 0, 0]))]
    elif reader == "motion":
        rail = quirk.Prismatic("rail", GROUND, ball, axis="x")
        parts += [
            rail,
            quirk.Drive(
                "f", rail, quirk.Motion.function(lambda t: values["u"] * t, lambda t: values["u"], lambda t: 0.0)
            ),
        ]
    elif reader == "gap":
        parts += [quirk.OneSided("f", ball, lambda t, b: values["u"] + b.position[2] + 1.0)]
    elif reader == "quantity":
        parts += [quirk.Event("f", lambda t, state: state["ball"].position[0] - values["u"])]
    set_value = quirk.Event("set", "ball.position.x", level=0.5, action=lambda t, state: values.update(u=-1.0))
    return quirk.System([*parts, set_value])


@pytest.mark.parametrize("reader", ["force", "motion", "gap", "quantity"])
def test_members_share_no_values_that_events_change(reader):
    message = 'the action of Event "set" may change values that a function of .* "f" reads'
    with pytest.raises(quirk.InputError, match=message):
        Batch(relay(reader), 2)


def test_members_that_share_a_counter_cause_a_warning():
    times = []
    count = quirk.Event("count", "ball.position.x", level=0.5, action=lambda t, state: times.append(t))
    with pytest.warns(quirk.StatefulWarning, match='the action of Event "count" reads values'):
        batch = Batch(relay("none").without("set").with_parts(count), 2, threads=1)
    batch.advance(1.0)
    np.testing.assert_allclose(times, [0.5, 0.5], atol=1e-12)


def test_internal_variables_and_turns_continue():
    rod = Body.box(
        "rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0], angular_velocity=[0, 12.0, 0], velocity=[0, 0, -6.0]
    )
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis="y")
    control = quirk.Controller("control", hinge, 6.0, kp=0.5, ki=0.2, kd=0.1)
    system = quirk.System([rod, hinge, control])
    batch = Batch(system, 2, threads=1, **ADAPTIVE)
    batch.advance(1.0)
    batch.advance(1.0)
    state = None
    for start in (0.0, 1.0):
        result = quirk.simulate(system, 1.0, start=start, initial_state=state, output=[start + 1.0], **ADAPTIVE)
        state = result.state_at(-1)
    assert abs(result["hinge"].angle[-1]) > 2 * np.pi
    assert_member(batch, 1, state)
    np.testing.assert_array_equal(batch.state.internal["control"][1], state.internal["control"])
    np.testing.assert_array_equal(batch.state.angles["hinge"][1], state.angles["hinge"])


def test_data_sets_are_those_of_sweeps():
    values = [3.0, 6.0]
    batch = Batch(pendulum(), 2, vary={("coil", "stiffness"): values}, threads=1, **ADAPTIVE)
    groups = ["motion", "joints"]
    data = batch.simulate(0.3, output=0.1, quantities=groups)
    swept = quirk.sweep(
        lambda stiffness: pendulum(stiffness=stiffness), {"stiffness": values}, 0.3, output=0.1, quantities=groups,
        workers=1, progress=False, **ADAPTIVE,
    )  # fmt: skip
    swept = swept.rename(stiffness="coil.stiffness")
    assert set(data.variables) == set(swept.variables)
    for name in swept.variables:
        assert data[name].dims == swept[name].dims
        np.testing.assert_array_equal(data[name].values, swept[name].values)
    assert batch.status.tolist() == ["not run"] * 2
    assert (batch.time == 0.0).all()


def test_threads_give_the_same_bits():
    vary = {("rod", "mass"): np.linspace(0.5, 2, 4)}
    one, two = (Batch(pendulum(), 4, vary=vary, threads=threads, **ADAPTIVE) for threads in (1, 2))
    one.advance(0.3)
    two.advance(0.3)
    np.testing.assert_array_equal(one.state.position, two.state.position)
    np.testing.assert_array_equal(one.state.angular_velocity, two.state.angular_velocity)


def test_companions_and_frames_of_varied_parts():
    planar = quirk.constraints.planar
    disk = planar.PlanarBody("disk", mass=1.0, inertia=0.1, position=[1.0, 0.0])
    pin = planar.Revolute("pin", GROUND, disk, point=[0.0, 0.0])
    batch = Batch(quirk.System([disk, pin], gravity=[0, -9.81, 0]), 2, vary={("disk", "mass"): [1.0, 3.0]}, threads=1)
    member = batch.member(1)
    assert member["disk"].mass == 3.0
    assert len(list(member)) == len(list(batch.system))
    batch.advance(0.1)
    assert batch.status.tolist() == ["completed"] * 2
    assert np.abs(batch.state.position[0] - batch.state.position[1]).max() > 1e-4


@pytest.mark.parametrize("options", [{"method": "RK4", "step": 1e-3}, {"rtol": 1e-8}])
def test_member_that_violates_constraints_is_mended_as_its_error_says(options):
    batch = Batch(pendulum(), 3, vary={("rod", "mass"): [1.0, 1.1, 1.2]}, **options)
    batch.state.position[1, 0, 2] += 0.01
    batch.advance(0.1)
    assert batch.status.tolist() == ["completed", "failed", "completed"]
    message, cure = batch.error[1].split(" or assemble it: ")
    assert "the initial poses violate it by 0.01 m (row hinge: coincidence along z)" in message
    assert message.endswith(": correct the initial poses,")
    exec(cure, {"batch": batch})  # the statements of the message
    assert np.abs(batch.state.position[1, 0, 2]) < 0.01
    batch.advance(0.1)
    assert batch.status.tolist() == ["completed"] * 3 and batch.error[1] == ""


@pytest.mark.parametrize(
    ("vary", "text"),
    [
        ({("rod", "mass"): [1.0, 2.0, 3.0]}, r"\('rod', 'mass'\) must be .* shape \(2,\); got shape \(3,\)"),
        ({("rod", "mass"): [1.0, np.nan]}, "not finite"),
        ({("rod", "mass"): "heavy"}, "heavy"),
        (
            {("rod", "weight"): [1.0, 2.0]},
            r"argument 'weight'; did you mean \('rod', 'mass'\)\? available: \('rod', 'po",
        ),
        ({("rod", "volume"): [1.0, 2.0]}, r"argument 'volume'; available: \('rod', 'position'\), .*\('rod', 'mass'\)"),
        ({("road", "mass"): [1.0, 2.0]}, "rod"),
        (
            {"mass": [1.0, 2.0]},
            r"must be pairs .*; got 'mass'; did you mean \('rod', 'mass'\) or \('wheel', 'mass'\)\?",
        ),
        ({"rod.mas": [1.0, 2.0]}, r"must be pairs .*; got 'rod.mas'; did you mean \('rod', 'mass'\)\?"),
        ({3: [1.0, 2.0]}, r"must be pairs .*; got 3$"),
        ([1.0, 2.0], "must map"),
        ({("rod", "mass"): [-1.0, 2.0]}, "mass must be positive"),
        ({"gravity": [0.0, 1.0]}, r"shape \(2, 3\)"),
    ],
)
def test_wrong_variations_are_named(vary, text):
    with pytest.raises((quirk.InputError, quirk.UnknownNameError), match=text):
        Batch(pendulum(), 2, vary=vary)


def test_wrong_arguments_are_named():
    with pytest.raises(quirk.InputError, match="count"):
        Batch(pendulum(), 0)
    with pytest.raises(quirk.InputError, match="step"):
        Batch(pendulum(), 2, method="RK4")
    with pytest.raises(quirk.InputError, match="threads"):
        Batch(pendulum(), 2, threads=0)
    with pytest.raises(quirk.InputError, match="hinge"):
        Batch(pendulum(), 2, inputs=["hinge"])
    batch = Batch(pendulum(), 2)
    with pytest.raises(quirk.InputError, match=r"\(2,\).*got shape \(3,\)"):
        batch.inputs["motor"] = [1.0, 2.0, 3.0]
    with pytest.raises(quirk.UnknownNameError, match="motor"):
        batch.inputs["engine"] = 1.0
    with pytest.raises(quirk.InputError, match="duration"):
        batch.advance(0.0)
    with pytest.raises(quirk.InputError, match="members"):
        batch.reset([2])


def test_observations_are_the_quantities_of_single_runs():
    rng = np.random.default_rng(5)
    vary = {
        ("rod", "mass"): rng.uniform(0.5, 2, 5),
        ("drive", "motion.coefficients"): np.outer(rng.uniform(2, 4, 5), [0, 0, 1]),
    }
    names = [
        "time",
        "hinge.angle",
        "hinge.angle_rate",
        "axle.angle",
        "tip.velocity.z",
        "rod.speed",
        "ball.rotation.y",
        "hinge.angle.deg",
    ]
    batch = Batch(pendulum(), 5, vary=vary, rtol=1e-8)
    observe = batch.observe(names)
    for _ in range(4):
        batch.advance(0.5)
    assert observe().shape == (5, len(names)) and np.abs(observe()[:, 3]).max() > 6.3  # more than a turn
    for k in range(5):
        run = quirk.Run(batch.member(k), rtol=1e-8)
        run.advance(2.0)
        np.testing.assert_allclose(observe()[k, :7], run.observe(names[:7])(), atol=1e-6)
    np.testing.assert_allclose(observe()[:, 7], np.degrees(observe()[:, 1]), rtol=1e-14)


@pytest.mark.parametrize("options", [{"method": "RK4", "step": 0.005}, {"rtol": 1e-9}])
def test_observed_angles_count_all_turns(options):
    """Wheels that turn several times within a call, from an angle beyond half a turn; one member is reset."""
    wheel = Body.cylinder("wheel", 1.0, 0.2, 0.1)
    axle = quirk.Revolute("axle", GROUND, wheel, point=[0, 0, 0], axis="z")
    system = quirk.System([wheel, axle])
    system.assemble(coordinates={"axle": 3.5})
    rates = np.array([0.0, 20.0, -35.0])
    batch = Batch(system, 3, vary={("wheel", "angular_velocity"): np.outer(rates, [0, 0, 1])}, **options)
    observe = batch.observe(["axle.angle", "axle"])
    np.testing.assert_allclose(observe(), [[3.5, 3.5]] * 3)
    for k in range(1, 5):
        batch.advance(0.5)
        want = 3.5 + rates * 0.5 * k
        np.testing.assert_allclose(observe(), np.transpose([want, want]), atol=1e-4)
    batch.reset([2])
    np.testing.assert_allclose(observe()[2], 3.5)
    assert ("eight at a time" in batch.summary()) is ("step" in options)


@pytest.mark.parametrize("options", [ADAPTIVE, FIXED], ids=["adaptive", "fixed"])
def test_numbers_of_a_part_and_of_parts_that_refer_to_it(options):
    """A mass and a spring on its body, and both parts of a frame, differ between members at the same time."""

    def rod(mass=1.0, stiffness=50.0, origin=(0.0, 0, 0), rotation=(1.0, 0, 0, 0)):
        body = Body("rod", mass, [0.1, 0.2, 0.25], position=[0.5, 0, 0])
        frame_j = quirk.Frame([-0.5, 0, 0])
        return quirk.System([
            body, quirk.Revolute("hinge", GROUND, body, frame_i=quirk.Frame(origin, rotation), frame_j=frame_j),
            quirk.Spring("spring", GROUND, body, point_i=[0, 1, 0.2], stiffness=stiffness, rest_length=0.3),
        ], gravity=[3, -9.81, 0])  # fmt: skip

    tilt = 0.5 * np.array([0.1, -0.2, 0.3])
    numbers = {
        "mass": [0.5, 1.0, 2.0], "stiffness": [30.0, 50.0, 70.0], "origin": [[0, 0, 0.1], [0.2, 0, 0], [0, 0.3, 0]],
        "rotation": np.column_stack([np.cos(tilt), np.sin(tilt), 0 * tilt, 0 * tilt]),
    }  # fmt: skip
    keys = [("rod", "mass"), ("spring", "stiffness"), ("hinge", "frame_i.origin"), ("hinge", "frame_i.rotation")]
    batch = Batch(rod(), 3, vary=dict(zip(keys, numbers.values(), strict=True)), threads=1, **options)
    batch.assemble()
    starts = [batch.state.member(k, {}, {}) for k in range(3)]
    batch.advance(0.3)
    for k, start in enumerate(starts):
        single = rod(**{name: values[k] for name, values in numbers.items()})
        last = final(single, 0.3, initial_state=start, **options)
        for name in ("position", "orientation", "velocity", "angular_velocity"):
            np.testing.assert_allclose(getattr(batch.state, name)[k], getattr(last, name), rtol=0, atol=1e-12)


def test_observations_of_members_with_other_joints():
    """The frames of a joint differ between members."""
    tilt = np.array([[1, 0, 0, 0], [np.cos(0.1), 0, 0, np.sin(0.1)]])
    rod = Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, frame_i=quirk.Frame(), frame_j=quirk.Frame([-0.5, 0, 0]))
    batch = Batch(quirk.System([rod, hinge]), 2, vary={("hinge", "frame_j.rotation"): tilt})
    np.testing.assert_allclose(batch.observe(["hinge.angle"])()[:, 0], [0, 0.2], atol=1e-12)


@pytest.mark.parametrize("name", ["hinge.force.x", "rod.acceleration.x", "energy.total", "coil.energy", "motor.effort"])
def test_observations_of_loads_are_refused(name):
    with pytest.raises(quirk.InputError, match=f"Batch.observe: {name}: an observation reads poses and velocities"):
        Batch(pendulum(), 2).observe([name])


def test_unknown_observations_are_named():
    with pytest.raises(quirk.InputError, match=r'no quantity "hing.angle"; did you mean "hinge.angle"'):
        Batch(pendulum(), 2).observe(["hing.angle"])
    with pytest.raises(quirk.InputError, match="names must be a list of quantities"):
        Batch(pendulum(), 2).observe([])


def test_misspelled_quantities_are_named():
    batch = Batch(pendulum(), 2)
    with pytest.raises(quirk.InputError, match=r'no quantity "hinge.angel"; did you mean "hinge.angle"\?'):
        batch.observe(["hinge.angel"])
    with pytest.raises(quirk.InputError, match=r'no quantity "rod.velocty.x"; did you mean "rod.velocity"\?'):
        batch.observe(["rod.velocty.x"])
    with pytest.raises(quirk.InputError, match=r"hinge.force.x: an observation reads poses and velocities"):
        batch.observe(["hinge.force.x"])


def test_an_error_of_an_observation_names_the_member():
    """The frame of the second member has a zero quaternion, which no joint accepts."""
    rod = Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, frame_i=quirk.Frame(), frame_j=quirk.Frame([-0.5, 0, 0]))
    rotations = np.array([[1.0, 0, 0, 0], [0, 0, 0, 0]])
    batch = Batch(quirk.System([rod, hinge]), 2, vary={("hinge", "frame_j.rotation"): rotations})
    with pytest.raises(quirk.InputError, match=r"Batch.observe: member 1: .*rotation"):
        batch.observe(["hinge.angle"])


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_methods_that_locate_no_events_are_refused_at_construction(method):
    system = pendulum()
    assert Batch(system, 2, method=method).count == 2
    stop = quirk.Stop("stop", system["hinge"], lower=-1.0, upper=1.0)
    with pytest.raises(quirk.InputError, match=f'Batch: Stop "stop": method="{method}" does not locate events'):
        Batch(system.with_parts(stop), 2, method=method)
    event = quirk.Event("low", "hinge.angle", level=0.5)
    with pytest.raises(quirk.InputError, match=f'Batch: Event "low": method="{method}" does not locate events'):
        Batch(system.with_parts(event), 2, method=method)


def four_bar():
    """A four-bar linkage whose closure depends on the length of its coupler."""
    crank = Body.box("crank", 1.0, [0.1, 0.02, 0.3], position=[0, 0, 0.15])
    rocker = Body.box("rocker", 1.0, [0.1, 0.02, 0.5], position=[1, 0, 0.25])
    left = quirk.Revolute("left", GROUND, crank, point=[0, 0, 0], axis="y")
    right = quirk.Revolute("right", GROUND, rocker, point=[1, 0, 0], axis="y")
    length = float(np.hypot(1.0, 0.2))
    coupler = quirk.Distance("coupler", crank, rocker, point_i=[0, 0, 0.15], point_j=[0, 0, 0.25], length=length)
    return quirk.System([crank, rocker, left, right, coupler], gravity=DOWN)


@pytest.mark.parametrize("options", [FIXED, ADAPTIVE])
def test_members_are_assembled_as_their_systems(options):
    lengths = np.array([1.0, 1.1, 5.0, 0.9])
    batch = Batch(four_bar(), 4, vary={("coupler", "length"): lengths}, **options)
    batch.assemble([0, 1, 2])
    assert batch.status.tolist() == ["not run", "not run", "failed", "not run"] and "coupler" in batch.error[2]
    np.testing.assert_array_equal(batch.state.position[3], batch.system.initial_state().position)
    for k in (0, 1):
        np.testing.assert_array_equal(batch.state.position[k], batch.member(k).assemble().position)
    batch.advance(0.05)
    assert batch.status.tolist() == ["completed", "completed", "failed", "failed"]
    batch.assemble(np.array([False, False, False, True]))  # a member that has failed starts again
    assert batch.status[3] == "not run" and batch.error[3] == "" and batch.time[3] == 0.0
    batch.advance(0.05)
    assert batch.status.tolist() == ["completed", "completed", "failed", "completed"]
    np.testing.assert_allclose(batch.time, [0.1, 0.1, 0.0, 0.05], rtol=1e-15)


def test_members_are_assembled_at_their_own_coordinates():
    batch = Batch(pendulum(), 3)
    angles = np.array([0.1, -0.4, 3.5])
    batch.assemble(coordinates={"hinge": angles}, rates={"hinge": {"rotation": -angles}})
    assert batch.status.tolist() == ["not run"] * 3
    observe = batch.observe(["hinge.angle", "hinge.angle_rate"])
    np.testing.assert_allclose(observe(), np.transpose([angles, -angles]), atol=1e-12)
    batch.assemble(coordinates={"hinge": -angles})
    np.testing.assert_allclose(observe()[:, 0], -angles, atol=1e-12)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"coordinates": {"hinge": [0.1, 0.2, 0.3]}},
            r"coordinates\['hinge'\] must be a finite number, or an array \(2,\)",
        ),
        ({"coordinates": {"hinge": np.nan}}, r"coordinates\['hinge'\] must be a finite number"),
        ({"rates": {"rod": 1.0}}, 'Body "rod" is not a joint'),
        ({"coordinates": {"hinge": [0.0, 7.0]}}, "Batch.assemble: member 1: .*hinge"),
        ({"coordinates": [0.0, 0.1]}, "coordinates must be a dict"),
        ({"members": [2]}, "members"),
    ],
)
def test_wrong_arguments_of_assembly_are_named(arguments, text):
    batch = Batch(pendulum(), 2)
    before = batch.state.bodies
    with pytest.raises(quirk.InputError, match=text):
        batch.assemble(**arguments)
    np.testing.assert_array_equal(batch.state.bodies, before)


def test_states_of_members_name_what_events_have_changed():
    """A spring is replaced: a run from the state of a member goes on with it, and so does a member that is given it."""
    box = quirk.Body.box("box", 2.0, [0.1, 0.1, 0.1], position=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, box, point=[0, 0, 0], axis="x")
    weak, strong = (quirk.Spring("spring", quirk.GROUND, box, stiffness=k, rest_length=0.5) for k in (5.0, 9.0))
    change = quirk.Event("change", "time", level=1.0, action=quirk.replace("spring", strong))
    system = quirk.System([box, rail, weak, change])
    want = quirk.simulate(system, 2.5, output=[1.5, 2.5])
    batch, other = (Batch(system, 2, threads=1) for _ in range(2))
    batch.advance(1.5)
    state = batch.state.member(1)
    assert [*state.replaced] == ["spring"]
    run = quirk.simulate(batch.member(1), 1.0, start=1.5, initial_state=state, output=[2.5])
    np.testing.assert_allclose(run["box"].position[-1], want["box"].position[-1], atol=1e-9)
    other.state.put(0, quirk.simulate(system, 1.5, output=1.5).state_at())
    other.time[0] = 1.5
    other.advance(1.0)
    np.testing.assert_allclose(other.state.position[0, 0], want["box"].position[-1], atol=1e-9)
    other.reset()
    assert not other.state.member(0).replaced


@pytest.mark.parametrize("options", [{}, {"method": "RK4", "step": 0.01}])
@pytest.mark.parametrize("varied", [("cart", "mass"), ("spring", "stiffness")])
def test_members_have_forces_of_their_own_that_events_put_in(varied, options):
    """The force that an event puts in acts on the body of its member; changed numbers of the old force are not its own."""

    def system(value=None):
        mass, stiffness = (1.0 if value is None or varied[0] != "cart" else value), 10.0
        stiffness = value if value is not None and varied[0] == "spring" else stiffness
        cart = quirk.Body.sphere("cart", mass, 0.1, position=[0.3, 0, 0])
        rail = quirk.Prismatic("rail", quirk.GROUND, cart, point=[0, 0, 0], axis=[1, 0, 0])
        spring, harder = (
            quirk.Spring("spring", quirk.GROUND, cart, stiffness=k, rest_length=0.1) for k in (stiffness, 40.0)
        )
        actions = [quirk.after(1, quirk.replace("spring", harder)), "record"]
        passes = quirk.Event("passes", "rail.travel", level=-0.05, direction=-1, action=actions)
        return quirk.System([cart, rail, spring, passes])

    values = [0.8, 1.3, 2.0] if varied[0] == "cart" else [9.0, 12.0, 20.0]
    batch = quirk.Batch(system(), 3, vary={varied: values}, **options)
    batch.advance(2.0)
    batch.advance(2.0)
    expected = [quirk.simulate(system(value), 4.0, output=[4.0], **options)["cart"].position[-1] for value in values]
    np.testing.assert_allclose(batch.state.position[:, 0], expected, atol=1e-7)
    assert set(batch.status) == {"completed"}
