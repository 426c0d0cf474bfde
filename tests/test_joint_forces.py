"""Forces of joints against closed forms."""

import numpy as np
import pytest
from force_systems import FINE, ball, hinged, railed

import quirk
from quirk import GROUND, Motion


def angle(result):
    return result["hinge"].rotation[:, 2]


def test_torsional_pendulum_over_many_turns():
    system = hinged(lambda hinge: quirk.TorsionSpring("spring", hinge, stiffness=2.0, rest_angle=-20.0))
    result = quirk.simulate(system, 5.0, output=0.1, **FINE)
    w = np.sqrt(2.0 / 0.5)
    np.testing.assert_allclose(angle(result), -20 + 20 * np.cos(w * result.time), atol=1e-9)
    assert result.conservative
    np.testing.assert_allclose(result.energy.potential_of["spring"], (angle(result) + 20) ** 2, atol=1e-12 * 400)
    assert result.energy.drift < 1e-11
    np.testing.assert_allclose(result["spring"].coordinate("angle"), angle(result), atol=1e-12)


def test_damped_torsion_spring():
    J, k, c, x0 = 0.5, 2.0, 0.3, 0.4
    system = hinged(lambda hinge: quirk.TorsionSpring("spring", hinge, stiffness=k, damping=c, rest_angle=x0))
    result = quirk.simulate(system, 5.0, output=0.1, **FINE)
    t, d = result.time, c / (2 * J)
    w = np.sqrt(k / J - d * d)
    want = x0 - x0 * np.exp(-d * t) * (np.cos(w * t) + d / w * np.sin(w * t))
    np.testing.assert_allclose(angle(result), want, atol=1e-11)
    assert not result.conservative


def test_controller_is_a_spring_and_damper_that_follows_its_target():
    """J x'' = kp (X - x) + kd (X' - x') with X = 0.3 + 0.7 t, from rest."""
    J, kp, kd = 0.5, 8.0, 1.5
    system = hinged(lambda hinge: quirk.Controller("pd", hinge, Motion.constant_rate(0.7, 0.3), kp=kp, kd=kd))
    result = quirk.simulate(system, 4.0, output=0.1, **FINE)
    t, d = result.time, kd / (2 * J)
    w = np.sqrt(kp / J - d * d)
    error = np.exp(-d * t) * (0.3 * np.cos(w * t) + (0.7 + d * 0.3) / w * np.sin(w * t))
    np.testing.assert_allclose(angle(result), 0.3 + 0.7 * t - error, atol=1e-11)


def test_controller_step_and_limits_on_a_rail():
    system = railed(lambda rail: quirk.Controller("pd", rail, 1.0, kp=100.0, limits=4.0))
    result = quirk.simulate(system, 0.9, output=0.1, **FINE)
    # 4 N on 2 kg until the error is below 4 cm, at 0.98 s.
    np.testing.assert_allclose(result["b"].position[:, 0], result.time**2, atol=1e-12)
    np.testing.assert_allclose(result["pd"].along(), 4.0)


@pytest.mark.parametrize(("limits", "want"), [(None, 3.0), (2.0, 2.0), ([-1.0, 0.5], 0.5), ([4.0, 5.0], 4.0)])
def test_actuator_keeps_its_limits(limits, want):
    for effort in (3.0, lambda t, x, rate: 3.0, Motion.constant_rate(0.0, 3.0)):
        system = hinged(lambda hinge, e=effort: quirk.Actuator("motor", hinge, e, limits=limits))
        for solver in ("dense", "sparse"):
            found = system.acceleration(system.initial_state(), solver=solver)
            np.testing.assert_allclose(found.angular[0], [0, 0, want / 0.5], rtol=1e-12, atol=1e-13)


def test_friction_creeps_as_it_says():
    T, coulomb, creep = 0.6, 0.8, 1e-3
    system = hinged(lambda hinge: quirk.JointFriction("friction", hinge, coulomb=coulomb, creep=creep),
                    lambda hinge: quirk.JointTorque("load", hinge, T))  # fmt: skip
    result = quirk.simulate(system, 0.2, method="Radau", rtol=1e-9, atol=1e-12)
    rate = result["hinge"].rotation_rate[-1, 2]
    assert rate == pytest.approx(creep * np.arctanh(T / coulomb), rel=1e-9)


def test_friction_slides_with_stribeck_and_stops():
    v, part = 2.0, 2.0 / 0.5
    system = railed(lambda rail: quirk.JointFriction("f", rail, viscous=0.3, coulomb=1.0, static=1.5, stribeck=0.5, creep=0.01),
                    velocity=[v, 0, 0])  # fmt: skip
    for solver in ("dense", "sparse"):
        found = system.acceleration(system.initial_state(), solver=solver)
        want = -0.3 * v - (1.0 + 0.5 * np.exp(-part * part)) * np.tanh(v / 0.01)
        np.testing.assert_allclose(found.linear[0, 0], want / 2.0, rtol=1e-13)
    dry = railed(lambda rail: quirk.JointFriction("f", rail, coulomb=1.0, creep=1e-4), velocity=[v, 0, 0])
    result = quirk.simulate(dry, 6.0, output=1.0, method="Radau")
    # v - F t / m until it stands.
    np.testing.assert_allclose(result["b"].velocity[:4, 0], v - 0.5 * result.time[:4], atol=1e-4)
    np.testing.assert_allclose(result["b"].velocity[5:, 0], 0, atol=1e-6)


class Wound(quirk.ForceElement):
    """Stores energy in two coordinates, one of them an angle whose turns count; one parameter is left out."""

    parameters = ("absent", "k")
    aside = ("sleeve",)
    coordinates = ("z", "angle")
    turning = (1,)

    def __init__(self, sleeve, k):
        self.absent, self.k, self.sleeve = None, np.array(k), sleeve.name
        super().__init__("wound", (sleeve.body_i, sleeve.frame_i), (sleeve.body_j, sleeve.frame_j))

    def turns_near(self, angles):
        return [float(angles[self.sleeve][2])]

    def coordinate(self, t, i, j):
        return [j.position[2], np.arctan2(j.rotation[1, 0], j.rotation[0, 0])]

    def stored(self, t, x):
        return 0.5 * (self.k[0] * x[0] ** 2 + self.k[1] * x[1] ** 2)


def test_energy_stored_in_several_coordinates():
    body = ball(position=[0, 0, 0.5], angular_velocity=[0, 0, 30.0])
    sleeve = quirk.Cylindrical("sleeve", GROUND, body, point=[0, 0, 0.5], axis=[0, 0, 1])
    result = quirk.simulate(quirk.System([body, sleeve, Wound(sleeve, [8.0, 0.4])]), 3.0, output=0.1, **FINE)
    np.testing.assert_allclose(result["b"].position[:, 2], 0.5 * np.cos(2 * result.time), atol=1e-11)
    np.testing.assert_allclose(result["wound"].coordinate("angle"), 15 * np.sin(2 * result.time), atol=1e-9)
    assert result.energy.drift < 1e-10


def test_held_motors_are_named_whatever_they_follow():
    body, target = ball(), Motion.spline([3.0, 4.0], [0.0, 1.0])
    fixed = quirk.Fixed("fixed", GROUND, body, point=[0, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, body, point=[0, 0, 0], axis=[0, 0, 1])
    motors = [quirk.Controller("pd", hinge, target, kp=1.0), quirk.JointTorque("torque", hinge, target)]
    assert quirk.System([body, hinge, fixed, *motors]).mobility().held_motors == ["pd", "torque"]
    assert quirk.System([body, hinge, *motors]).mobility().held_motors == []
