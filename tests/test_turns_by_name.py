"""Quantities by name that depend on counted turns agree with views, in events and in observations of a run."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Event, Motion

STIFFNESS, FAST = 0.01, 40.0
# Values of observations and views come from the same state, so they differ by round-off alone.
ROUND_OFF = 1e-11


def wheel(*more, rate=FAST):
    """A wheel on a hinge with a weak torsion spring, which turns many times before the spring stops it."""
    body = Body("wheel", 1.0, [1.0, 1.0, 1.0])
    hinge = quirk.Revolute("hinge", GROUND, body, point=[0, 0, 0], axis="z")
    spring = quirk.TorsionSpring("spring", hinge, stiffness=STIFFNESS)
    system = quirk.System([body, hinge, spring, *(make(hinge) for make in more)])
    system.assemble(rates={"hinge": rate})
    return system


def cross(*events):
    """A body on a universal joint, whose angles grow as those of two successive hinges, driven by motors."""
    body = Body("body", 1.0, [0.1, 0.1, 0.1])
    joint = quirk.Universal("cross", GROUND, body, point=[0, 0, 0], axis_i="x", axis_j="y")
    motors = [
        quirk.Drive(f"drive {c}", joint, Motion.constant_rate(rate), coordinate=f"rotation {c}")
        for c, rate in (("x", 3.0), ("y", -4.0))
    ]
    system = quirk.System([body, joint, *motors, *events])
    system.assemble()
    return system


def tumbling(*events, angular_velocity):
    """A free body and its 1-2-3 angles."""
    body = Body("body", 1.0, [1.0, 1.5, 2.1], angular_velocity=angular_velocity)
    return quirk.System([body, quirk.Free("pose", GROUND, body, point=[0, 0, 0]), *events])


def crossings(time, values, level):
    """Times at which sampled values cross a level, by linear interpolation, and the directions, 1 or -1."""
    g = values - level
    at = np.flatnonzero(np.sign(g[1:]) != np.sign(g[:-1]))
    return time[at] - g[at] * np.diff(time)[at] / np.diff(g)[at], np.sign(np.diff(g)[at])


@pytest.mark.parametrize("interval", [0.05, 0.3, 2.0])
def test_springs_keep_their_turns_between_rare_observations(interval):
    run = quirk.Run(wheel())
    observe = run.observe(
        ["hinge.angle", "hinge.rotation.z", "spring.angle", "spring.energy", "energy.total", "spring.torque.z",
         "hinge.torque.z"]
    )  # fmt: skip
    for _ in range(4):
        run.advance(interval)
        omega = np.sqrt(STIFFNESS)
        angle = FAST / omega * np.sin(omega * run.time)
        energy = 0.5 * STIFFNESS * angle**2
        want = [angle, angle, angle, energy, 0.5 * FAST**2, -STIFFNESS * angle, 0.0]
        np.testing.assert_allclose(observe(), want, atol=1e-6)
        np.testing.assert_allclose(observe()[5], run["spring"].torque()[2], atol=ROUND_OFF)


def test_loads_follow_the_turns_of_controllers_and_functions():
    laws = [
        lambda hinge: quirk.Controller("control", hinge, 91.0, kp=0.02),
        lambda hinge: quirk.JointTorque("motor", hinge, lambda t, angle, rate: 0.03 * angle),
    ]
    run = quirk.Run(wheel(*laws))
    observe = run.observe(["control.torque.z", "motor.torque.z", "control.angle"])
    for interval in (0.7, 0.2, 1.1):
        run.advance(interval)
        angle = run["hinge"].angle
        assert angle > 20.0
        np.testing.assert_allclose(observe(), [0.02 * (91.0 - angle), 0.03 * angle, angle], atol=1e-9)


def test_events_of_a_rotation_count_its_turns():
    def event(name, level, direction=0):
        return lambda hinge: Event(name, "hinge.rotation.z", level=level, direction=direction)

    result = quirk.simulate(wheel(event("first", 0.5), event("third", 7.0), event("back", -0.5, -1)), 0.5, output=0.5)
    assert result.events.name == ["first", "third"]
    omega = np.sqrt(STIFFNESS)
    want = np.arcsin(np.array([0.5, 7.0]) * omega / FAST) / omega
    np.testing.assert_allclose(result.events.time, want, rtol=1e-8)


def test_both_angles_of_a_cross_are_counted():
    events = [Event("x", "cross.rotation.x", level=8.0), Event("y", "cross.rotation.y", level=-9.0)]
    zero = Event("z", "cross.rotation.z", level=0.1)
    result = quirk.simulate(cross(*events, zero), 3.0, output=0.5)
    assert result.events.name == ["y", "x"]
    np.testing.assert_allclose(result.events.time, [9.0 / 4.0, 8.0 / 3.0], rtol=1e-9)
    run = quirk.Run(cross())
    observe = run.observe([f"cross.rotation.{c}" for c in "xyz"])
    for _ in range(3):
        run.advance(0.9)
        np.testing.assert_allclose(observe(), [3.0 * run.time, -4.0 * run.time, 0.0], atol=1e-8)
        np.testing.assert_allclose(observe(), run["cross"].rotation, atol=ROUND_OFF)


@pytest.mark.parametrize("method", ["auto", "RadauIIA9"])
def test_turns_are_counted_beside_gimbal_lock(method):
    """The second angle comes within 0.1 degrees of 90, where the others change by half a turn in milliseconds."""
    spin = [0.02, 4.0, 0.03]
    dense = quirk.simulate(tumbling(angular_velocity=spin), 4.0, output=5e-4, method=method)
    angles = dense["pose"].rotation
    assert np.abs(angles[:, 1]).max() > np.radians(89.0)
    levels = {c: angles[:, k].min() + 0.4 * np.ptp(angles[:, k]) for k, c in ((0, "x"), (2, "z"))}
    events = [Event(c, f"pose.rotation.{c}", level=level) for c, level in levels.items()]
    system = tumbling(*events, angular_velocity=spin)
    result = quirk.simulate(system, 4.0, output=1.0, method=method)
    for k, c in ((0, "x"), (2, "z")):
        times, directions = crossings(dense.time, angles[:, k], levels[c])
        found = result.events.of(c)
        assert len(times) > 0
        np.testing.assert_allclose(found.time, times, atol=1e-3)
        np.testing.assert_array_equal([event.direction for event in found], directions)
    run = quirk.Run(system, method=method)
    observe = run.observe([f"pose.rotation.{c}" for c in "xyz"])
    while run.time < 4.0:
        run.advance_to(min(run.time + 0.7, 4.0))
        np.testing.assert_allclose(observe(), run["pose"].rotation, atol=ROUND_OFF)


@pytest.mark.parametrize("letter", "xyz")
def test_the_angle_of_one_of_three(letter):
    body = Body("body", 1.0, [1.0, 1.5, 2.1], angular_velocity=[0.3, 0.2, 9.0])
    run = quirk.Run(quirk.System([body, quirk.Free("pose", GROUND, body, point=[0, 0, 0], angle=letter)]))
    observe = run.observe(["pose.angle", "pose.angle_rate"])
    for _ in range(5):
        run.advance(0.9)
        np.testing.assert_allclose(observe(), [run["pose"].angle, run["pose"].angle_rate], atol=1e-9)


def test_a_stop_beyond_half_a_turn_about_y_of_a_generic_joint():
    body = Body("body", 1.0, [1.0, 1.0, 1.0], angular_velocity=[0, 2.0, 0])
    joint = quirk.Generic("tilt", GROUND, body, point=[0, 0, 0], constrained=[1, 1, 1, 1, 0, 1], offset=np.zeros(6))
    system = quirk.System([body, joint, quirk.Stop("far", joint, upper=4.0)])
    result = quirk.simulate(system, 3.0, output=0.1)
    np.testing.assert_allclose(result.events.of("far").time, [2.0], atol=1e-9)
    np.testing.assert_allclose(result["tilt"].angle, np.minimum(2.0 * result.time, 4.0), atol=1e-9)
