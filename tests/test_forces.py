"""Forces against closed forms and balances."""

import numpy as np
import pytest
from mechanisms import random_body, random_unit
from scipy.interpolate import CubicSpline

import quirk
from quirk import rotation


def single(*forces, gravity=(0, 0, 0), **initial):
    body = quirk.Body("b", 2.0, [0.1, 0.2, 0.25], **initial)
    return quirk.System([body, *(make(body) for make in forces)], gravity=gravity)


TURNED = {"orientation": [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]}  # body x points along y


def test_gravity_alone():
    acceleration = single(gravity=[1, 2, 3]).acceleration(single().initial_state())
    np.testing.assert_allclose(acceleration.linear, [[1, 2, 3]])
    np.testing.assert_allclose(acceleration.angular, 0, atol=1e-15)


@pytest.mark.parametrize(("frame", "linear", "torque"), [
    ("inertial", [2, 0, 0], [0, 2, 0]),  # at body point (0, 0, 0.5): z x force
    ("body", [0, 2, 0], [0, 2, 0]),
])  # fmt: skip
def test_force_at_a_point(frame, linear, torque):
    system = single(lambda b: quirk.Force("f", b, [4, 0, 0], point=[0, 0, 0.5], frame=frame), **TURNED)
    acceleration = system.acceleration(system.initial_state())
    np.testing.assert_allclose(acceleration.linear[0], linear, atol=1e-14)
    body_torque = np.array(torque) if frame == "body" else rotation.matrix(system.bodies[0].orientation).T @ torque
    np.testing.assert_allclose(acceleration.angular[0], body_torque / [0.1, 0.2, 0.25], atol=1e-13)


@pytest.mark.parametrize(("frame", "angular"), [("body", [5, 0, 0]), ("inertial", [0, -2.5, 0])])
def test_torque_frames(frame, angular):
    system = single(lambda b: quirk.Torque("t", b, [0.5, 0, 0], frame=frame), **TURNED)
    np.testing.assert_allclose(system.acceleration(system.initial_state()).angular[0], angular, atol=1e-13)


def test_functions_get_the_motion_of_their_body():
    seen = {}

    def drag(t, position, orientation, velocity, angular_velocity):
        seen.update(t=t, position=position, orientation=orientation, omega=angular_velocity)
        position[:] = np.nan  # a copy: what the function does to it has no effect
        return -3.0 * velocity

    system = single(
        lambda b: quirk.Force("drag", b, drag), position=[1, 2, 3], velocity=[2, 0, 0], angular_velocity=[0, 0, 1]
    )
    acceleration = system.acceleration(system.initial_state(), t=1.5)
    np.testing.assert_allclose(acceleration.linear, [[-3, 0, 0]])
    assert seen["t"] == 1.5
    np.testing.assert_array_equal(seen["orientation"], [1, 0, 0, 0])
    np.testing.assert_array_equal(seen["omega"], [0, 0, 1])
    result = quirk.simulate(system, 1.0, rtol=1e-11, atol=1e-13, output=[1.0])
    np.testing.assert_allclose(result["b"].velocity[-1], [2 * np.exp(-1.5), 0, 0], atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [
    lambda joints: quirk.JointTorque("actuator", joints["hinge"], 1.7),
    lambda joints: quirk.JointForce("actuator", joints["slider"], 1.7),
    lambda joints: quirk.Spring("actuator", joints["hinge"].body_i, joints["hinge"].body_j, [0.1, 0, 0], [0, 0.2, 0],
                                stiffness=30.0, damping=2.0, rest_length=0.1),
], ids=["JointTorque", "JointForce", "Spring"])  # fmt: skip
def test_internal_forces_change_no_momentum(make, seed):
    rng = np.random.default_rng(seed)
    a, b, c = (random_body(rng, name) for name in "abc")
    joints = {
        "hinge": quirk.Revolute("hinge", a, b, point=rng.normal(size=3), axis=random_unit(rng)),
        "slider": quirk.Cylindrical("slider", b, c, point=rng.normal(size=3), axis=random_unit(rng)),
    }
    system = quirk.System([a, b, c, *joints.values(), make(joints)])
    system.assemble()
    result = quirk.simulate(system, 0.5, output=0.1)
    for momentum in (result.momentum.linear, result.momentum.angular):
        np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-8)


def test_joint_torque_turns_j_about_the_axis_and_i_against_it():
    a, b = (quirk.Body(name, 1.0, [0.1, 0.1, 0.2]) for name in "ab")
    hinge = quirk.Revolute("hinge", a, b, point=[0, 0, 0], axis=[0, 0, 1])
    system = quirk.System([a, b, hinge, quirk.JointTorque("motor", hinge, 0.4)])
    np.testing.assert_allclose(system.acceleration(system.initial_state()).angular, [[0, 0, -2], [0, 0, 2]], atol=1e-12)


def test_joint_functions_get_coordinate_and_rate():
    body = quirk.Body("b", 2.0, [0.1, 0.1, 0.1], velocity=[0, 0, 0.5], angular_velocity=[0, 0, 3.0])
    joint = quirk.Cylindrical("c", quirk.GROUND, body, point=[0, 0, 0], axis=[0, 0, 1])
    seen = {}
    torque = quirk.JointTorque("t", joint, lambda t, angle, rate: seen.update(torque=(t, angle, rate)) or 0.0)
    force = quirk.JointForce("f", joint, lambda t, s, rate: seen.update(force=(t, s, rate)) or 0.0)
    system = quirk.System([body, joint, torque, force])
    state = system.initial_state()
    state.position[0, 2] = 0.7
    state.orientation[0] = rotation.exp(np.array([0, 0, 1.1]))
    system.acceleration(state, t=2.0)
    np.testing.assert_allclose(seen["torque"], (2.0, 1.1, 3.0), atol=1e-14)
    np.testing.assert_allclose(seen["force"], (2.0, 0.7, 0.5), atol=1e-14)


def test_damped_spring_on_a_rail():
    """m x'' = -k (x - L0) - c x' against its closed form."""
    m, k, c, L0, x0 = 2.0, 50.0, 3.0, 0.4, 0.9
    body = quirk.Body("b", m, [0.1, 0.1, 0.1], position=[x0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, body, axis=[1, 0, 0])
    spring = quirk.Spring("spring", quirk.GROUND, body, stiffness=k, damping=c, rest_length=L0)
    result = quirk.simulate(quirk.System([body, rail, spring]), 2.0, rtol=1e-11, atol=1e-13, output=0.25)
    t, d = result.time, c / (2 * m)
    w = np.sqrt(k / m - d * d)
    x = L0 + (x0 - L0) * np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))
    np.testing.assert_allclose(result["b"].position[:, 0], x, atol=1e-10)
    assert not result.conservative


def test_spring_energy_and_default_rest_length():
    body = quirk.Body("b", 1.0, [0.1, 0.1, 0.1], position=[0, 0, 2.0])
    spring = quirk.Spring("s", quirk.GROUND, body, stiffness=8.0)
    assert spring.rest_length == 2.0
    system = quirk.System([body, spring], gravity=[0, 0, -3.0])
    result = quirk.simulate(system, 1.0, rtol=1e-11, atol=1e-13)
    assert result.conservative
    assert result.energy.drift < 1e-10
    stretch = result["b"].position[:, 2] - 2.0
    np.testing.assert_allclose(result.energy.potential, 3.0 * result["b"].position[:, 2] + 4.0 * stretch**2, atol=1e-9)


def test_spring_without_rest_length_passes_through_its_anchor():
    body = quirk.Body("b", 1.0, [0.1, 0.1, 0.1], position=[1.0, 0, 0])
    spring = quirk.Spring("s", quirk.GROUND, body, stiffness=4.0, rest_length=0)
    result = quirk.simulate(quirk.System([body, spring]), 3.0, rtol=1e-11, atol=1e-13, output=0.5)
    np.testing.assert_allclose(result["b"].position[:, 0], np.cos(2 * result.time), atol=1e-9)


def test_power_of_a_motor_is_the_change_of_energy():
    body = quirk.Body.box("arm", 1.5, [1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, body, point=[0, 0, 0], axis=[0, 1, 0])
    motor = quirk.JointTorque("motor", hinge, lambda t, angle, rate: 3.0 * np.cos(t) - 0.2 * rate)
    result = quirk.simulate(
        quirk.System([body, hinge, motor], gravity=[0, 0, -9.81]), 3.0, rtol=1e-11, atol=1e-13, output=0.01
    )
    rate = result["hinge"].angular_velocity[:, 2]
    power = (3.0 * np.cos(result.time) - 0.2 * rate) * rate
    work = CubicSpline(result.time, power).antiderivative()(result.time)
    np.testing.assert_allclose(result.energy.total - result.energy.total[0], work, atol=1e-8)
