"""Gravity compensation and computed torque, against closed forms and the equation of motion in joint coordinates."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Motion
from quirk.analysis.assembly import assemble
from quirk.functions.motion_derivative import derivative_of

G = np.array([1.0, -2.0, -9.0])
KP, KD = np.array([4.0, 9.0, 1.0, 16.0]), np.array([4.0, 6.0, 2.0, 8.0])


def robot(seed=1, meter=1.0, kilogram=1.0, slide=2, rotor=1):
    """A chain of four joints with skew axes, a branch, a welded hand and a rotor, which is declared in either order."""
    rng = np.random.default_rng(seed)
    parts, joints, inner, at = [], [], GROUND, np.zeros(3)
    for k in range(4):
        tip = at + rng.uniform(-0.5, 0.5, 3)
        inertia = 0.1 * kilogram * meter**2 * np.diag(rng.uniform(1, 1.6, 3))
        body = Body(f"link {k}", kilogram * rng.uniform(0.5, 2), inertia, orientation=rng.normal(size=4),
                    position=meter * (0.5 * (at + tip) + 0.1 * rng.normal(size=3)))  # fmt: skip
        i, j = (inner, body) if k % 2 == 0 else (body, inner)
        kind = quirk.Prismatic if k == slide else quirk.Revolute
        unit = kilogram * (1.0 if k == slide else meter**2)
        more = {"armature": 0.3 * unit} if k == rotor else {}
        joints.append(kind(f"joint {k}", i, j, point=meter * at, axis=rng.normal(size=3), **more))
        parts += [body, joints[-1]]
        inner, at = body if k != 2 else inner, tip  # the last link branches off
    hand = Body("hand", 0.5 * kilogram, np.array([0.02, 0.03, 0.04]) * kilogram * meter**2, position=meter * at,
                orientation=rng.normal(size=4))  # fmt: skip
    return [*parts, hand, quirk.Fixed("weld", hand, parts[4])], joints


def computed_torque(joints, meter=1.0, **changed):
    targets = [Motion.sinusoid(0.3 * unit(j, meter), 2.0, 0.1 * k, 0.2 * unit(j, meter)) for k, j in enumerate(joints)]
    return quirk.ComputedTorque(
        "control", joints, targets, **{"kp": KP, "kd": KD, "gravity": G * meter, **changed}
    ), targets


def unit(joint, meter):
    return meter if isinstance(joint, quirk.Prismatic) else 1.0


def coordinate(result, joint):
    view = result[joint.name]
    return view.travel if isinstance(joint, quirk.Prismatic) else view.angle


def moving(system, joints, seed=5):
    rng = np.random.default_rng(seed)
    values, rates = (
        {j.name: x for j, x in zip(joints, rng.uniform(-0.8, 0.8, len(joints)), strict=True)} for _ in range(2)
    )
    return system.assemble(coordinates=values, rates=rates)


@pytest.mark.parametrize("seed", range(4))
def test_a_robot_holds_its_pose(seed):
    parts, joints = robot(seed)
    system = quirk.System([*parts, quirk.GravityCompensation("floating", gravity=G)], gravity=G)
    start = system.assemble(coordinates={j.name: 0.4 for j in joints})
    for solver in ("sparse", "dense"):
        acceleration = system.acceleration(start, solver=solver)
        assert max(np.abs(acceleration.linear).max(), np.abs(acceleration.angular).max()) < 1e-12, seed
    end = quirk.simulate(system, 5.0, initial_state=start).state_at(-1)
    assert np.abs(end.position - start.position).max() < 1e-10, seed
    assert np.abs(end.orientation - start.orientation).max() < 1e-10, seed


def test_in_a_loop_at_a_kilohertz_it_stays():
    parts, _ = robot()
    run = quirk.Run(quirk.System([*parts, quirk.GravityCompensation("floating", gravity=G)], gravity=G))
    before = run.state.position.copy()
    for _ in range(1000):
        run.advance(1e-3)
    assert np.abs(run.state.position - before).max() < 1e-11


@pytest.mark.parametrize("seed", range(3))
def test_efforts_are_those_of_the_equation_in_joint_coordinates(seed):
    parts, joints = robot(seed, rotor=None)
    control, targets = computed_torque(joints)
    system = quirk.System([*parts, quirk.GravityCompensation("floating", gravity=G), control], gravity=G)
    start = moving(system, joints, seed)
    names = [joint.name for joint in joints]
    space = system.joint_space(start, coordinates=names)
    result = quirk.simulate(system, 1e-3, output=1e-3, initial_state=start)
    found = [[result[name].along(joint)[0] for joint in names] for name in ("floating", "control")]
    q, rates = ([float(result[name].coordinate(j.name)[0]) for j in joints] for name in ("control", "floating"))
    rates = [float(result["control"].rate(j.name)[0]) for j in joints]
    wanted = np.array([m.derivatives(0.0, 2) for m in targets])
    command = wanted[:, 2] + KD * (wanted[:, 1] - rates) + KP * (wanted[:, 0] - q)
    np.testing.assert_allclose(found[0], space.gravity, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(
        found[1], space.mass_matrix @ command + space.bias + space.gravity, rtol=1e-10, atol=1e-10
    )


@pytest.mark.parametrize(("seed", "meter", "kilogram"), [(1, 1.0, 1.0), (2, 1.0, 1.0), (3, 1e3, 1e3), (4, 1e-3, 1.0)])
def test_the_error_is_that_of_the_closed_form(seed, meter, kilogram):
    parts, joints = robot(seed, meter, kilogram)
    control, targets = computed_torque(joints, meter)
    system = quirk.System([*parts, control], gravity=G * meter)
    result = quirk.simulate(
        system, 3.0, output=0.1, rtol=1e-11, atol=1e-13, initial_state=moving_scaled(system, joints, meter)
    )
    t = result.time
    for joint, target, damping in zip(joints, targets, KD, strict=True):
        w = 0.5 * damping  # critically damped
        error = np.array([target(time) for time in t]) - coordinate(result, joint)
        rate = target.derivatives(0.0, 1)[1] - result["control"].rate(joint.name)[0]
        exact = (error[0] + (rate + w * error[0]) * t) * np.exp(-w * t)
        np.testing.assert_allclose(error, exact, atol=1e-9 * unit(joint, meter), err_msg=f"{joint} of seed {seed}")


def moving_scaled(system, joints, meter):
    values, rates = ({j.name: 0.3 * unit(j, meter) * (-1) ** k for k, j in enumerate(joints)} for _ in range(2))
    return system.assemble(coordinates=values, rates=rates)


def test_machine_code_does_what_the_reference_does():
    parts, joints = robot()
    control, _ = computed_torque(joints, limits=[-3.0, 5.0])
    system = quirk.System([*parts, control], gravity=G)
    assert not system.plant.solver().applied.in_python
    start = moving(system, joints)
    dense, sparse = (system.acceleration(start, 0.3, solver=solver) for solver in ("dense", "sparse"))
    np.testing.assert_allclose(sparse.linear, dense.linear, rtol=1e-11, atol=1e-11)
    result = quirk.simulate(system, 0.5, output=0.05, initial_state=start)
    efforts = np.array([result["control"].along(joint.name) for joint in joints])
    assert efforts.min() == -3.0 or efforts.max() == 5.0
    assert (efforts >= -3.0).all() and (efforts <= 5.0).all()


def test_joints_without_effort_move_freely_and_their_weight_is_carried():
    parts, joints = robot(rotor=None)
    named = [joints[0], joints[2]]
    system = quirk.System([*parts, quirk.GravityCompensation("some", named, gravity=G)], gravity=G)
    space = system.joint_space(system.initial_state(), coordinates=[joint.name for joint in joints])
    result = quirk.simulate(system, 1e-3, output=1e-3)
    efforts = [result["some"].along(joint.name)[0] for joint in joints]
    np.testing.assert_allclose(efforts, space.gravity * [1, 0, 1, 0], rtol=1e-11, atol=1e-11)
    with pytest.raises(quirk.InputError, match="joint 1, joint 3 has no target"):
        quirk.System([*parts, quirk.ComputedTorque("c", named, [0, 0], kp=1, kd=1, gravity=G)])


def test_joints_that_follow_others():
    """A coupled gripper: the leading joint carries the effort of both."""
    arm = Body.box("arm", 2.0, [0.5, 0.1, 0.1], position=[0.25, 0, 0])
    fingers = [Body.box(f"finger {s}", 0.3, [0.02, 0.02, 0.1], position=[0.5, 0, 0.1 * s]) for s in (1, 2)]
    shoulder = quirk.Revolute("shoulder", GROUND, arm, point=[0, 0, 0], axis="y")
    slides = [quirk.Prismatic(f"slide {k}", arm, finger, axis="z") for k, finger in enumerate(fingers)]
    mimic = quirk.Coupling("mimic", *slides, coefficients=[0.0, -0.7])
    parts = [arm, *fingers, shoulder, *slides, mimic]
    system = quirk.System([*parts, quirk.GravityCompensation("floating", gravity=G)], gravity=G)
    acceleration = system.acceleration(system.assemble(coordinates={"shoulder": 0.5, "slide 0": 0.02}))
    assert np.abs(acceleration.linear).max() < 1e-12
    targets = [Motion.sinusoid(0.3, 2.0), Motion.sinusoid(0.02, 3.0)]
    control = quirk.ComputedTorque("control", [shoulder, slides[0]], targets, kp=4.0, kd=4.0, gravity=G)
    result = quirk.simulate(quirk.System([*parts, control], gravity=G), 2.0, output=0.1, rtol=1e-11, atol=1e-13)
    t = result.time
    for joint, target in zip((shoulder, slides[0]), targets, strict=True):
        error = np.array([target(time) for time in t]) - coordinate(result, joint)
        np.testing.assert_allclose(error, target.derivatives(0.0, 1)[1] * t * np.exp(-2 * t), atol=1e-10)
    for wrong in (slides, [shoulder, slides[1]]):
        with pytest.raises(quirk.InputError, match=r"slide 1.* follows another"):
            quirk.System([*parts, quirk.GravityCompensation("g", wrong, gravity=G)])


def test_with_controllers_it_comes_back():
    """Small motions about the pose of a PD controller with gravity compensation decay to exactly that pose."""
    parts, joints = robot(rotor=None)
    servos = [quirk.Controller(f"servo {k}", joint, 0.3, kp=40.0, kd=20.0) for k, joint in enumerate(joints)]
    system = quirk.System([*parts, quirk.GravityCompensation("floating", gravity=G), *servos], gravity=G)
    result = quirk.simulate(system, 60.0, output=60.0)
    np.testing.assert_allclose([coordinate(result, joint)[-1] for joint in joints], 0.3, atol=1e-7)


@pytest.mark.slow
def test_taylor_series_and_stiff_methods_run_it():
    parts, joints = robot()
    control, _ = computed_torque(joints)
    system = quirk.System([*parts, control], gravity=G)
    one, *others = (
        quirk.simulate(system, 0.4, method=method, rtol=1e-10, atol=1e-12).state_at(-1).position
        for method in ("Vern9", "Taylor", "RadauIIA9")
    )
    for other in others:
        np.testing.assert_allclose(other, one, atol=1e-8)


def test_masses_that_vary_are_known_to_the_law():
    """Whatever the masses, joint coordinates move alike: their sensitivities are zero, and so are differences of members."""
    parts, joints = robot()
    control, _ = computed_torque(joints)
    system = quirk.System([*parts, control], gravity=G)
    names = [("hand", "mass"), ("link 0", "mass")]
    result = quirk.simulate(system, 1.0, output=0.5, sensitivities=names, rtol=1e-10, atol=1e-12)
    for name in names:
        assert np.abs(result.sensitivity[name].of("hand.position.x")).max() < 1e-7
    batch = quirk.Batch(system, 3, vary={("hand", "mass"): [0.5, 1.0, 2.0]}, method="RK4", step=1e-2)
    batch.advance(1.0)
    np.testing.assert_allclose(batch.state.position, np.broadcast_to(batch.state.position[0], (3, 6, 3)), atol=1e-7)
    fixed = quirk.System([*parts, quirk.GravityCompensation("floating", gravity=G, limits=3.0)], gravity=G)
    step = 1e-5
    name, end = ("hand", "mass"), []
    for change in (-step, step):
        batch = quirk.Batch(fixed, 1, vary={name: [0.5 + change]}, method="DOP853", rtol=1e-12, atol=1e-13)
        batch.advance(0.3)
        end.append(batch.state.position[0, 4, 0])
    result = quirk.simulate(fixed, 0.3, output=0.3, sensitivities=[name], rtol=1e-10, atol=1e-12)
    found = result.sensitivity[name].of("hand.position.x")[-1]
    np.testing.assert_allclose(found, (end[1] - end[0]) / (2 * step), rtol=1e-4, atol=1e-8)


def test_frames_that_vary_are_known_to_the_law():
    """A sensitivity to the frame of a hinge, against differences of runs."""
    parts, joints = robot(rotor=None)
    key, end = ("joint 1", "frame_j.origin"), []

    def build(x):
        old = joints[1]
        frame_j = quirk.Frame(old.frame_j.origin + np.array([x, 0, 0]), old.frame_j.rotation)
        moved = quirk.Revolute("joint 1", old.body_i, old.body_j, frame_i=old.frame_i, frame_j=frame_j)
        named = [moved if joint is old else joint for joint in joints[:3]]
        law = quirk.GravityCompensation("floating", named, gravity=G)
        return quirk.System([*(moved if part is old else part for part in parts), law], gravity=G)

    system, tight = build(0.0), {"output": 0.3, "rtol": 1e-11, "atol": 1e-13}
    start = system.initial_state()
    found = quirk.simulate(system, 0.3, sensitivities=[key], **tight).sensitivity[key].of("hand.position.x")[-1, 0]
    for x in (-1e-4, 1e-4):
        begin = assemble(build(x), start, 0.0)
        end.append(quirk.simulate(build(x), 0.3, initial_state=begin, **tight)["hand"].position[-1, 0])
    np.testing.assert_allclose(found, (end[1] - end[0]) / 2e-4, rtol=1e-5)


def test_derivatives_of_motions():
    times, values = np.linspace(0, 3, 12), np.random.default_rng(1).normal(size=12)
    motions = [
        Motion.sinusoid(0.3, 2.0, 0.4, 1.0),
        Motion.polynomial([1.0, 2.0, 3.0, 4.0]),
        Motion.polynomial([1.0]),
        Motion.spline(times, values),
        Motion.spline(times, [*values[:-1], values[0]], periodic=True),
        Motion.function("sin(t)*exp(-t)"),
        Motion.function(np.sin, np.cos, lambda t: -np.sin(t)),
        Motion.steps([0, 1, 2], [3.0, 1.0, 2.0]),
        Motion.rest_to_rest([0.5, 1, 2], [3.0, 1.0, 2.0]),
    ]
    for motion in [*motions, motions[0] + motions[3], motions[5] + motions[1]]:
        slope = derivative_of(motion)
        for t in (0.1, 1.3, 2.7):
            np.testing.assert_allclose(slope.derivatives(t, 1), motion.derivatives(t, 2)[1:], rtol=1e-12, atol=1e-12)


def loop():
    bars = [
        Body.box(f"bar {k}", 1.0, [1, 0.1, 0.1], position=p)
        for k, p in enumerate([[0.5, 0, 0], [1, 0, 0.5], [0.5, 0, 1]])
    ]
    pins = [quirk.Revolute(f"pin {k}", i, j, point=p, axis="y") for k, (i, j, p) in enumerate([
        (GROUND, bars[0], [0, 0, 0]), (bars[0], bars[1], [1, 0, 0]), (bars[1], bars[2], [1, 0, 1]), (bars[2], GROUND, [0, 0, 1])])]  # fmt: skip
    return [*bars, *pins]


def floating():
    a, b = Body.sphere("a", 1.0, 0.1), Body.sphere("b", 1.0, 0.1, position=[1, 0, 0])
    return [a, b, quirk.Revolute("hinge", a, b, point=[0.5, 0, 0], axis="z")]


def spherical():
    a, b = Body.sphere("a", 1.0, 0.1), Body.sphere("b", 1.0, 0.1, position=[1, 0, 0])
    return [
        a,
        b,
        quirk.Revolute("hinge", GROUND, a, point=[0, 0, 0], axis="z"),
        quirk.Spherical("ball", a, b, point=[0.5, 0, 0]),
    ]


@pytest.mark.parametrize(("parts", "message"), [
    (loop, 'GravityCompensation "g": Revolute "pin .*" closes a loop: the joints must form a tree'),
    (floating, 'Revolute "hinge" is not connected to the ground by joints'),
    (spherical, 'Spherical "ball" acts on the tree of its joints, which may contain Revolute, Prismatic and Fixed'),
    (lambda: [Body.sphere("a", 1.0, 0.1)], "the system has no enabled Revolute or Prismatic joint"),
])  # fmt: skip
def test_what_is_no_tree_is_refused(parts, message):
    with pytest.raises(quirk.InputError, match=message):
        quirk.System([*parts(), quirk.GravityCompensation("g", gravity=G)])


def flexible(links):
    """An arm of beams, with a hinge at the start of each."""
    section = quirk.Section(EA=1e6, GA=1e6, GJ=100.0, EI=100.0, mass=1.0)
    beams = [quirk.Beam(f"link {k}", [k, 0, 0], [k + 1, 0, 0], section=section, elements=2) for k in range(links)]
    ends = [GROUND, *(beam.bodies[-1] for beam in beams)]
    joints = [
        quirk.Revolute(f"hinge {k}", ends[k], beam.bodies[0], point=[k, 0, 0], axis="y") for k, beam in enumerate(beams)
    ]
    return beams, joints


@pytest.mark.parametrize("links", [1, 2])
def test_beams_are_refused_as_links(links):
    """Of a beam the law would know only the body at the hinge."""
    beams, joints = flexible(links)
    for law in (
        quirk.GravityCompensation("law", joints, gravity=G),
        quirk.ComputedTorque("law", joints, [0.0] * links, kp=1, kd=1, gravity=G),
    ):
        with pytest.raises(
            quirk.InputError, match=r'"law": Body "link 0 body 0" belongs to a beam, but .* rigid links'
        ):
            quirk.System([*beams, *joints, law])
    said = "belongs to a beam" if links == 1 else "beams among its links are not supported"
    with pytest.raises(quirk.InputError, match=said):
        quirk.System([*beams, *joints, quirk.GravityCompensation("law", gravity=G)])
    gripper = Body.sphere("gripper", 1.0, 0.1, position=[-0.5, 0, 0])
    wrist = quirk.Revolute("wrist", GROUND, gripper, point=[-1, 0, 0], axis="y")
    law = quirk.GravityCompensation("law", [wrist], gravity=G)
    assert quirk.System([*beams, *joints, gripper, wrist, law])["law"].count == 1  # beams elsewhere do not matter


HINGE = spherical()[2]


@pytest.mark.parametrize(("make", "message"), [
    (lambda: quirk.GravityCompensation("g", [], gravity=G), "joints must be at least one joint"),
    (lambda: quirk.GravityCompensation("g", ["hinge"], gravity=G), "enabled Revolute or Prismatic joints; got 'hinge'"),
    (lambda: quirk.GravityCompensation("g", [HINGE, HINGE], gravity=G), "got one of them twice"),
    (lambda: quirk.GravityCompensation("g", gravity=[0, 0]), "gravity must have shape"),
    (lambda: quirk.GravityCompensation("g", gravity=G, limits=-1.0), "limits must be positive"),
    (lambda: quirk.ComputedTorque("c", [HINGE], [0.0, 1.0], kp=1, kd=1, gravity=G), "one for each of its 1 joints; got 2"),
    (lambda: quirk.ComputedTorque("c", [HINGE], [0.0], kp=-1, kd=1, gravity=G), "kp must not be negative"),
    (lambda: quirk.ComputedTorque("c", [HINGE], [0.0], kp=1, kd=[1, 2], gravity=G), "kd must have shape"),
    (lambda: quirk.ComputedTorque("c", [HINGE], [None], kp=1, kd=1, gravity=G), r"targets\[0\] must be"),
])  # fmt: skip
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(quirk.InputError, match=message):
        make()


def test_a_joint_that_is_not_in_the_system():
    a, b, _, _ = spherical()
    other = quirk.Revolute("other", GROUND, b, point=[1, 0, 0], axis="z")
    with pytest.raises(quirk.InputError, match='names Revolute "other", which is not an enabled joint of the system'):
        quirk.System([a, b, HINGE, quirk.GravityCompensation("g", [other], gravity=G)])


def test_model_files_hold_it(tmp_path):
    parts, joints = robot()
    control, _ = computed_torque(joints)
    system = quirk.System([*parts, control, quirk.GravityCompensation("floating", gravity=G, limits=3.0)], gravity=G)
    system.save(tmp_path / "robot.toml")
    again = quirk.load(tmp_path / "robot.toml")
    one, other = (s.acceleration(s.initial_state()).linear for s in (system, again))
    np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)
