"""Rotor inertia of joints and actuators, against closed forms."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Motion

FINE = {"rtol": 1e-11, "atol": 1e-13}
G = [0, 0, -9.81]


@pytest.mark.parametrize("u", [1e-3, 1.0, 1e3])
def test_two_masses_on_a_geared_shaft(u):
    """Arm and rotor on a torsion spring: w^2 = k / (I + n^2 J), with I about the hinge."""
    m, length, J, n, k = 2.0, 0.5 * u, 0.003 * u * u, 20.0, 40.0 * u * u
    rod = Body.bar(
        "rod", [0, 0, 0], [length, 0, 0], mass=m, angular_velocity=[0, 0, 1.2], velocity=[0, 0.6 * length, 0]
    )
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis="z", armature=(J, n))
    spring = quirk.TorsionSpring("spring", hinge, stiffness=k)
    system = quirk.System([rod, hinge, spring])
    result = quirk.simulate(system, 3.0, output=0.1, **FINE)
    inertia = rod.inertia[2, 2] + m * length**2 / 4 + n**2 * J
    w = np.sqrt(k / inertia)
    np.testing.assert_allclose(result["hinge"].angle, 1.2 / w * np.sin(w * result.time), atol=1e-9)
    assert result.energy.kinetic[0] == pytest.approx(0.5 * inertia * 1.2**2, rel=1e-12)
    assert system.mobility().degrees_of_freedom == 1


def test_the_inertia_resists_the_rate_of_the_joint_alone():
    """A turning base carries an arm: 2 x 2 inertia matrix, of which the rotor adds to the element of the joint."""
    base = Body.cylinder("base", 4.0, 0.3, 0.1)
    arm = Body.box("arm", 1.0, [0.4, 0.05, 0.05], position=[0.2, 0, 0])
    pivot = quirk.Revolute("pivot", GROUND, base, point=[0, 0, 0], axis="z")
    elbow = quirk.Revolute("elbow", base, arm, point=[0, 0, 0], axis="z", armature=0.7)
    motor = quirk.JointTorque("motor", elbow, 3.0)
    system = quirk.System([base, arm, pivot, elbow, motor])
    I, A = base.inertia[2, 2], arm.inertia[2, 2] + 0.04
    want = np.linalg.solve([[I + A, A], [A, A + 0.7]], [0.0, 3.0])
    for solver in ("dense", "sparse"):
        got = system.acceleration(system.initial_state(), solver=solver).angular[:2, 2]
        np.testing.assert_allclose(got, [want[0], want[0] + want[1]], rtol=1e-11)


@pytest.mark.parametrize("kind", ["slide", "screw", "motor", "driver"])
def test_slides_screws_and_actuators(kind):
    """A mass of 2 kg that falls, slowed by a rotor: 2 g / (2 + inertia felt along the axis)."""
    mass = Body.box("mass", 2.0, [0.1] * 3)
    felt = 3.0
    joint = quirk.Prismatic("joint", GROUND, mass, axis="z", armature=felt if kind == "slide" else None)
    parts = [joint]
    if kind == "screw":
        lead = 0.2
        turn = lead / (2 * np.pi)
        joint = quirk.Screw("joint", GROUND, mass, axis="z", point=[0, 0, 0], lead=lead, armature=felt * turn**2)
        felt += mass.inertia[2, 2] / turn**2
        parts = [joint]
    if kind == "motor":
        parts.append(quirk.JointForce("force", joint, 0.0, armature=(0.03, 10.0)))
    if kind == "driver":
        parts.append(quirk.Actuator("force", joint, 0.0, armature=felt))
    system = quirk.System([mass, *parts], gravity=G)
    for solver in ("dense", "sparse"):
        got = system.acceleration(system.initial_state(), solver=solver).linear[0, 2]
        assert got == pytest.approx(-9.81 * 2 / (2 + felt), rel=1e-12)


def test_a_joint_that_starts_elsewhere(tmp_path):
    """The rotor starts at the joint's angle and rate; files and edited systems keep it."""
    arm = Body.box(
        "arm",
        1.0,
        [0.4, 0.05, 0.05],
        orientation=quirk.rotation.exp(np.array([0, 0, 2.5])),
        angular_velocity=[0, 0, 3.0],
    )
    hinge = quirk.Revolute("hinge", GROUND, arm, frame_i=quirk.Frame(), frame_j=quirk.Frame(), armature=0.5)
    system = quirk.System([arm, hinge, quirk.JointTorque("motor", hinge, Motion.polynomial([0.1]))])
    result = quirk.simulate(system, 4.0, output=0.5, **FINE)
    a = 0.1 / (arm.inertia[2, 2] + 0.5)
    np.testing.assert_allclose(result["hinge"].angle, 2.5 + 3 * result.time + a * result.time**2 / 2, atol=1e-9)
    system.save(tmp_path / "arm.toml")
    again = quirk.load(tmp_path / "arm.toml")
    assert [part.name for part in again] == [part.name for part in system]
    got = again.acceleration(again.initial_state()).angular
    np.testing.assert_allclose(got, system.acceleration(system.initial_state()).angular, rtol=1e-13)
    assert [part.name for part in system.without("motor")] == [
        "arm",
        "hinge",
        "hinge rotor",
        "hinge rotor bearing",
        "hinge rotor gear",
    ]
    assert [part.name for part in system.without("motor", "hinge")] == ["arm"]
    with pytest.raises(quirk.InputError, match='"hinge rotor" belongs to Revolute "hinge"'):
        system.without("hinge rotor")


@pytest.mark.parametrize("armature", [-1.0, 0.0, (1.0, 0.0), (1.0, 2.0, 3.0), "heavy"])
def test_impossible_rotors_are_refused(armature):
    body = Body.sphere("body", 1.0, 0.1)
    with pytest.raises(quirk.InputError, match=r'Revolute "hinge": .*armature'):
        quirk.Revolute("hinge", GROUND, body, point=[0, 0, 0], axis="z", armature=armature)
