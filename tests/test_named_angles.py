"""Loads, limits, couplings and drivers of one of three angles that are all free."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Frame, Motion

JOINT = np.array([0.1, 0.2, -0.3])


def top(*more, spin=(1.0, -2.0, 1.5)):
    """A body on a ball joint in the origin, a name for each of its 1-2-3 angles, and what acts on these."""
    body = quirk.Body(
        "body", 2.0, [0.03, 0.04, 0.05], position=-JOINT, angular_velocity=spin, velocity=np.cross(spin, -JOINT)
    )
    frames = {"frame_i": Frame(), "frame_j": Frame(JOINT)}
    angles = [quirk.Free(letter, GROUND, body, angle=letter, **frames) for letter in "xyz"]
    parts = [part for make in more for part in make(*angles)]
    return quirk.System([body, quirk.Spherical("ball", GROUND, body, **frames), *angles, *parts])


def motors(x, y, z):
    return [quirk.JointTorque(f"motor {k}", joint, 1.0 + k) for k, joint in enumerate((x, y, z))]


def springs(x, y, z):
    return [quirk.TorsionSpring(f"spring {joint.name}", joint, stiffness=4.0) for joint in (x, y, z)]


def test_a_torque_works_on_its_angle_alone():
    result = quirk.simulate(top(motors, springs), 0.5, output=0.1)
    for k, letter in enumerate("xyz"):
        angle, rate = result[letter].angle, result[letter].angle_rate
        np.testing.assert_allclose(angle, result["ball"].rotation[:, k], atol=1e-12)
        np.testing.assert_allclose(result.power[f"motor {k}"], (1.0 + k) * rate, atol=1e-11)
    assert np.ptp(result["y"].angle) > 0.1


@pytest.mark.parametrize("letter", "xyz")
def test_each_angle_bounces_off_a_limit(letter):
    def limit(x, y, z):
        joint = {"x": x, "y": y, "z": z}[letter]
        return [quirk.Stop("stop", joint, lower=-0.1, upper=0.1, restitution=1.0)]

    result = quirk.simulate(top(springs, limit), 1.0, output=0.01)
    assert len(result.events) > 0 and np.abs(result[letter].angle).max() < 0.1 + 1e-9
    assert np.ptp(result.energy.total) < 1e-7 * result.energy.kinetic[0]


@pytest.mark.parametrize("ratio", [2.0, np.sqrt(2)])
def test_a_wheel_follows_one_angle(ratio):
    """Over whole turns, with a ratio of teeth and with one that is none."""
    wheel = quirk.Body("wheel", 1.0, [0.5, 0.5, 0.5], angular_velocity=[0, 0, ratio * 1.5])
    shaft = quirk.Revolute("shaft", GROUND, wheel, point=[0, 0, 0], axis=[0, 0, 1])
    system = top(lambda x, y, z: [wheel, shaft, quirk.Coupling("belt", z, shaft, coefficients=[0, ratio])])
    result = quirk.simulate(system, 1.0, output=0.1)
    assert np.ptp(result["z"].angle) > 1.0
    np.testing.assert_allclose(result["shaft"].angle, ratio * result["z"].angle, atol=1e-7)


def test_a_driver_and_assembly_take_the_angle():
    system = top(lambda x, y, z: [quirk.Drive("servo", y, Motion.polynomial([0.0, -2.0]))])
    state = system.assemble(coordinates={"x": 0.3})
    result = quirk.simulate(system, 0.4, output=0.1, initial_state=state)
    assert result["x"].angle[0] == pytest.approx(0.3)
    np.testing.assert_allclose(result["y"].angle, -2.0 * result.time, atol=1e-9)
