"""Attitude control by reaction wheels, against the closed form and the conservation of angular momentum."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import Body, Motion, rotation
from quirk.bodies.frame import axes_with_z

PYRAMID = np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]]) / np.sqrt(3)


def craft(axes, spinning=0.0, seed=3, meter=1.0):
    """A craft with a welded mast and wheels in any place, which are declared in either order."""
    rng = np.random.default_rng(seed)
    q = rotation.exp(rng.normal(size=3)) if spinning else np.array([1.0, 0, 0, 0])
    w, R = spinning * rng.normal(size=3), rotation.matrix(q)

    def at(name, mass, inertia, point, orientation, spin):
        point = meter * (R @ point)
        return Body(name, mass, np.array(inertia) * meter**2, position=point, velocity=np.cross(R @ w, point),
                    orientation=orientation, angular_velocity=rotation.matrix(orientation).T @ spin)  # fmt: skip

    hub = at("hub", 50.0, [[8, 0.5, -0.3], [0.5, 6, 0.4], [-0.3, 0.4, 9]], np.zeros(3), q, R @ w)
    parts, joints = [hub], []
    for k, axis in enumerate(axes @ R.T):
        turn = rotation.from_matrix(axes_with_z(axis))
        spin = R @ w + (20 * rng.normal() if spinning else 0.0) * axis
        wheel = at(f"wheel {k}", 2.0, np.diag([0.02, 0.02, 0.04]), rng.uniform(-0.4, 0.4, 3), turn, spin)
        i, j = (hub, wheel) if k % 2 else (wheel, hub)
        joints.append(quirk.Revolute(f"axle {k}", i, j, point=wheel.position, axis=axis))
        parts += [wheel, joints[-1]]
    mast = at("mast", 3.0, np.diag([0.1, 0.2, 0.25]), np.array([0.5, 0, 0.2]), q, R @ w)
    return [*parts, mast, quirk.Fixed("weld", mast, hub)], hub, joints


@pytest.mark.parametrize(("axes", "meter"), [(np.eye(3), 1.0), (PYRAMID, 1.0), (PYRAMID, 1e3)])
def test_a_turn_about_an_axis_is_that_of_the_closed_form(axes, meter):
    parts, hub, joints = craft(axes, meter=meter)
    axis, angle = np.array([1, 2, -1]) / np.sqrt(6), 2.5
    control = quirk.AttitudeControl("control", hub, joints, rotation.exp(angle * axis), kp=1.0, kd=2.0)
    result = quirk.simulate(quirk.System([*parts, control]), 6.0, output=0.1, rtol=1e-11, atol=1e-13)
    exact = angle * (1 + result.time) * np.exp(-result.time)
    np.testing.assert_allclose(result["control"].coordinate("angle"), exact, atol=1e-10)
    np.testing.assert_allclose(
        result["hub"].angular_velocity @ axis, angle * result.time * np.exp(-result.time), atol=1e-10
    )


@pytest.mark.parametrize("axes", [np.eye(3), PYRAMID])
@pytest.mark.parametrize("seed", study(range(3), 1))
def test_a_tumbling_craft_is_caught_and_momentum_is_conserved(axes, seed):
    parts, hub, joints = craft(axes, spinning=0.3, seed=seed)
    target = rotation.exp([0.3, -0.4, 0.8])
    control = quirk.AttitudeControl("control", hub, joints, target, kp=1.0, kd=2.0)
    result = quirk.simulate(quirk.System([*parts, control]), 30.0, output=1.0, rtol=1e-11, atol=1e-13)
    angle = result["control"].coordinate("angle")
    assert angle[0] > 0.1 and angle[-1] < 1e-9, seed
    momentum = result.momentum.angular
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (len(momentum), 1)), atol=1e-9 * np.abs(momentum).max())
    assert np.abs(np.abs(result["hub"].orientation[-1] @ target) - 1) < 1e-12
    # The torques are the least that add up.
    torques = np.array([result["control"].coordinate(joint.name) for joint in joints])
    null = np.eye(len(axes)) - np.linalg.pinv(axes).T @ axes.T if len(axes) > 3 else np.zeros((3, 3))
    assert np.abs(null @ torques).max() < 1e-10


def test_a_moving_target_is_followed():
    parts, hub, joints = craft(PYRAMID, spinning=0.2)
    angles = [Motion.sinusoid(0.5, 1.0, 0.3), Motion.sinusoid(0.3, 0.7, 1.0), Motion.constant_rate(0.2)]
    control = quirk.AttitudeControl("control", hub, joints, angles, kp=4.0, kd=4.0)
    result = quirk.simulate(quirk.System([*parts, control]), 15.0, output=1.0, rtol=1e-11, atol=1e-13)
    angle = result["control"].coordinate("angle")
    assert angle[0] > 0.1 and angle[-1] < 1e-9
    (ca, cb, cc), (sa, sb, sc) = (f([angle(15.0) for angle in angles]) for f in (np.cos, np.sin))
    first = np.array([[1, 0, 0], [0, ca, -sa], [0, sa, ca]])
    second = np.array([[cb, 0, sb], [0, 1, 0], [-sb, 0, cb]])
    third = np.array([[cc, -sc, 0], [sc, cc, 0], [0, 0, 1]])
    found = rotation.matrix(result["hub"].orientation[-1])
    np.testing.assert_allclose(found, first @ second @ third, atol=1e-9)


def test_limited_torques_and_both_solvers():
    parts, hub, joints = craft(PYRAMID, spinning=0.3)
    control = quirk.AttitudeControl("control", hub, joints, [0, 0, 1.0], kp=1.0, kd=2.0, limits=0.5)
    system = quirk.System([*parts, control])
    assert not system.plant.solver().applied.in_python
    start = system.initial_state()
    dense, sparse = (system.acceleration(start, solver=solver) for solver in ("dense", "sparse"))
    np.testing.assert_allclose(sparse.angular, dense.angular, rtol=1e-11, atol=1e-11)
    result = quirk.simulate(system, 5.0, output=0.1)
    torques = np.array([result["control"].coordinate(joint.name) for joint in joints])
    assert np.abs(torques).max() == 0.5
    # What the wheels receive is the opposite of what the craft receives.
    total = sum(result["control"].torque(end=end) for end in range(5))
    assert np.abs(total).max() < 1e-12
    assert np.abs(result["control"].force(end=0)).max() == 0


def test_masses_that_vary_are_known_to_the_law():
    parts, hub, joints = craft(np.eye(3))
    control = quirk.AttitudeControl("control", hub, joints, [0, 0.4, 0], kp=1.0, kd=2.0)
    batch = quirk.Batch(
        quirk.System([*parts, control]), 3, vary={("mast", "mass"): [1.0, 3.0, 9.0]}, method="RK4", step=1e-2
    )
    batch.advance(1.0)
    angle = 2 * np.arccos(np.abs(batch.state.orientation[:, 0, 0]))
    np.testing.assert_allclose(angle, 0.4 * (1 - 2 * np.exp(-1)), atol=1e-6)


def test_half_a_turn_has_no_axis():
    parts, hub, joints = craft(np.eye(3))
    control = quirk.AttitudeControl("control", hub, joints, [0, 0, 1, 0], kp=1.0, kd=2.0)
    system = quirk.System([*parts, control])
    with pytest.raises(quirk.InputError, match="half a turn"):
        system.acceleration(system.initial_state())


def test_model_files_hold_it(tmp_path):
    parts, hub, joints = craft(PYRAMID, spinning=0.3)
    for target in ([1.0, 0.2, 0, 0.3], [0.1, "sin(t)", 0.2]):
        system = quirk.System(
            [*parts, quirk.AttitudeControl("control", hub, joints, target, kp=1.0, kd=2.0, limits=1.0)]
        )
        system.save(tmp_path / "craft.toml")
        again = quirk.load(tmp_path / "craft.toml")
        one, other = (s.acceleration(s.initial_state()).angular for s in (system, again))
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


PARTS, HUB, AXLES = craft(np.eye(3))


@pytest.mark.parametrize(("make", "message"), [
    (lambda: quirk.AttitudeControl("c", HUB, AXLES[:2], [0, 0, 0], kp=1, kd=1), "wheels must be at least three whose axes span"),
    (lambda: quirk.AttitudeControl("c", HUB, [*AXLES, AXLES[0]], [0, 0, 0], kp=1, kd=1), "got one of them twice"),
    (lambda: quirk.AttitudeControl("c", HUB, ["axle 0"], [0, 0, 0], kp=1, kd=1), "enabled Revolute joints; got 'axle 0'"),
    (lambda: quirk.AttitudeControl("c", PARTS[1], AXLES, [0, 0, 0], kp=1, kd=1), "joints between .* and a wheel"),
    (lambda: quirk.AttitudeControl("c", HUB, AXLES, [0, 0], kp=1, kd=1), "target must have shape"),
    (lambda: quirk.AttitudeControl("c", HUB, AXLES, [0, 0, 0], kp=0, kd=1), "kp must be positive"),
    (lambda: quirk.System([HUB, PARTS[1], AXLES[0], quirk.AttitudeControl("c", HUB, AXLES, [0, 0, 0], kp=1, kd=1)]),
     "wheels names .*axle 1.*, which is not an enabled joint"),
])  # fmt: skip
def test_what_is_wrong_is_named(make, message):
    with pytest.raises(quirk.InputError, match=message):
        make()
