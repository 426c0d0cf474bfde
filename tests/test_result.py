"""Views of a result: by name, in the asked frames, consistent with each other."""

import numpy as np
import pytest
import quaternion
from mechanisms import random_system
from scipy.interpolate import CubicSpline

import quirk
from quirk import rotation


@pytest.fixture(scope="module")
def result():
    system = random_system(np.random.default_rng(12), bodies=4, loops=1)
    return quirk.simulate(system, 0.5, rtol=1e-11, atol=1e-13, output=0.005)


def derivative(result, values):
    return CubicSpline(result.time, values).derivative()(result.time)


INNER = slice(5, -5)  # the spline's ends are less exact


def test_body_views(result):
    for body in result.system.bodies:
        view = result[body.name]
        for rate, value in ((view.velocity, view.position), (view.acceleration, view.velocity),
                            (view.angular_acceleration, view.angular_velocity)):  # fmt: skip
            want = derivative(result, value)
            np.testing.assert_allclose(rate[INNER], want[INNER], atol=2e-3 * (1 + np.abs(want).max()))
        assert view.quaternion.dtype == np.dtype(quaternion.quaternion)
        np.testing.assert_array_equal(quaternion.as_float_array(view.quaternion), view.orientation)
        np.testing.assert_allclose(view.point([0, 0, 0]), view.position)


def test_joint_coordinates_and_rates(result):
    for joint in result.system.constraints:
        view = result[joint.name]
        np.testing.assert_allclose(view.velocity[INNER], derivative(result, view.displacement)[INNER], atol=2e-3)
        # The 1-2-3 angles' rates give the relative angular velocity in frame i (notes, eq. 22).
        a, b, _ = view.rotation.T
        rates = derivative(result, view.rotation)
        zero, one = np.zeros_like(a), np.ones_like(a)
        E = np.array([[one, zero, np.sin(b)],
                      [zero, np.cos(a), -np.sin(a) * np.cos(b)],
                      [zero, np.sin(a), np.cos(a) * np.cos(b)]])  # fmt: skip
        omega = np.einsum("ijt,tj->ti", E, rates)
        usable = np.abs(np.cos(b)) > 0.3
        usable[:5] = usable[-5:] = False
        np.testing.assert_allclose(view.angular_velocity[usable], omega[usable], atol=5e-3)


@pytest.mark.parametrize("kind", ["force", "torque"])
def test_load_frames(result, kind):
    for joint in result.system.constraints:
        view = result[joint.name]
        for which, body in (("i", joint.body_i), ("j", joint.body_j)):
            q = rotation.IDENTITY[None] if body is quirk.GROUND else result[body.name].orientation
            back = np.einsum(
                "tij,tj->ti",
                np.broadcast_to(rotation.matrix(q), (len(result.time), 3, 3)),
                getattr(view, kind)(frame=which),
            )
            np.testing.assert_allclose(back, getattr(view, kind)(), atol=1e-10)


def test_loads_along_the_run_are_those_of_each_state(result):
    state = result.state_at(40)
    for name, load in result.system.joint_loads(state).items():
        np.testing.assert_allclose(result[name].force()[40], load.force, atol=1e-8)
        np.testing.assert_allclose(result[name].torque()[40], load.torque, atol=1e-8)


def test_energy_and_momentum(result):
    kinetic = 0.0
    for body in result.system.bodies:
        view = result[body.name]
        kinetic = kinetic + 0.5 * body.mass * (view.velocity**2).sum(axis=1)
        kinetic = kinetic + 0.5 * np.einsum("ti,ij,tj->t", view.angular_velocity, body.inertia, view.angular_velocity)
    np.testing.assert_allclose(result.energy.kinetic, kinetic, rtol=1e-13)
    np.testing.assert_allclose(result.energy.total, result.energy.kinetic + result.energy.potential)
    total = sum(b.mass * result[b.name].velocity for b in result.system.bodies)
    np.testing.assert_allclose(result.momentum.linear, total, atol=1e-12)
    # The rate of the angular momentum about the origin is the moment of gravity and of the ground's loads.
    H_rate = derivative(result, result.momentum.angular)
    moment = sum(np.cross(result[b.name].position, b.mass * result.system.gravity) for b in result.system.bodies)
    for joint in result.system.constraints:
        if joint.body_i is quirk.GROUND:
            view = result[joint.name]
            moment = moment + view.torque() + np.cross(view.point, view.force())
    np.testing.assert_allclose(H_rate[INNER], moment[INNER], atol=1e-2 * np.abs(moment).max())


def test_multi_turn_rotation():
    wheel = quirk.Body.cylinder("wheel", 1.0, 0.2, 0.1, angular_velocity=[0, 0, 10.0])
    axle = quirk.Revolute("axle", quirk.GROUND, wheel, point=[0, 0, 0], axis=[0, 0, 1])
    result = quirk.simulate(quirk.System([wheel, axle]), 5.0, output=0.1)
    np.testing.assert_allclose(result["axle"].rotation[:, 2], 10.0 * result.time, atol=1e-7)
    np.testing.assert_allclose(result["axle"].angular_velocity[:, 2], 10.0, atol=1e-9)


def test_inactive_joint_carries_nothing():
    body = quirk.Body("b", 1.0, [1, 1, 1])
    joint = quirk.Spherical("off", quirk.GROUND, body, point=[0, 0, 0], active=False)
    result = quirk.simulate(quirk.System([body, joint], gravity=[0, 0, -2]), 1.0, output=[0, 1])
    np.testing.assert_array_equal(result["off"].force(), 0)
    np.testing.assert_allclose(result["off"].displacement[-1], [0, 0, -1], atol=1e-10)


def test_universal_joint_angles_are_those_of_its_cross():
    """A cross turned by 0.4 about its axis in i, then by -0.3 about its axis in j: third angle zero."""
    a, b = quirk.Body("a", 1.0, [1, 1, 1]), quirk.Body("b", 1.0, [1, 1, 1])
    joint = quirk.Universal("u", a, b, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[0, 1, 0])
    system = quirk.System([a, b, joint])
    state = system.initial_state()
    state.orientation[1] = rotation.multiply(rotation.exp(np.array([0.4, 0, 0])), rotation.exp(np.array([0, -0.3, 0])))
    np.testing.assert_allclose(system.constraint_rows(state).phi, 0, atol=1e-15)
    result = quirk.simulate(system, 0.1, initial_state=state, output=[0.0])
    np.testing.assert_allclose(result["u"].rotation, [[0.4, -0.3, 0]], atol=1e-14)


def test_summary_says_what_happened(result):
    text = result.summary()
    for word in ("4 bodies", "5 constraints", "energy drift", "constraint residual", "joint0", "force (N)"):
        assert word in text


def test_arrays_of_a_result_cannot_be_written_to():
    """They are shared, so that writing to one would change others."""
    rod = quirk.Body.box("rod", 1.0, [0.5, 0.1, 0.1])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0.25, 0, 0], axis="y")
    result = quirk.simulate(quirk.System([rod, hinge], gravity=[0, 0, -9.81]), 1.0, output=0.1)
    energy = result.energy.total.copy()
    for array in (result.time, result["rod"].position, result["rod"].velocity, result["hinge"].force()):
        with pytest.raises(ValueError, match="read-only"):
            array[:] = 0.0
    copy = result["rod"].position.copy()
    copy[:] = 0.0
    np.testing.assert_array_equal(result.energy.total, energy)
