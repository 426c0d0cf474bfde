"""`Result.at` around the instant at which sliding friction comes to stick, where slip turns ever faster."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body


def ball_on_turntable(seed):
    """A ball that slides and spins on a table that turns at a constant rate, until it rolls."""
    rng = np.random.default_rng(seed)
    table = Body("table", 5.0, [1.0, 1.0, 1.0])
    hinge = quirk.Revolute("hinge", GROUND, table, point=[0, 0, 0], axis="z")
    turn = quirk.Drive("turn", hinge, quirk.Motion.constant_rate(rng.uniform(-4, 4)))
    place, velocity, spin = [rng.uniform(0, 0.5), 0, 0.1], [*rng.normal(size=2), 0], 10 * rng.normal(size=3)
    print(seed, turn, place, velocity, spin)
    ball = Body.sphere("ball", 1.0, 0.1, position=place, velocity=velocity, angular_velocity=spin)
    touch = quirk.Contact("touch", table, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    rub = quirk.Friction("rub", touch, 0.3)
    system = quirk.System([table, hinge, turn, ball, touch, rub], gravity=[0, 0, -9.81])
    system.assemble()
    return system


def toward(instant):
    """Times that approach an instant from both sides, down to the round-off of time."""
    before = instant * np.geomspace(1e-15, 0.1, 30)
    return np.unique([instant - before, instant + before])


def differences(result, system, times, **options):
    """Largest differences of velocities, m/s, and angular velocities, rad/s, from a run with these outputs."""
    expected = quirk.simulate(system, times[-1], output=[0.0, *times], **options)
    rows = np.searchsorted(expected.time, times, side="right") - 1
    one, other = result["ball"], expected["ball"]
    return [np.abs(getattr(one, name) - getattr(other, name)[rows]).max() for name in ("velocity", "angular_velocity")]


@pytest.mark.parametrize("seed", [14, 17, 21, 25])
@pytest.mark.parametrize("method", ["auto", "DOP853", "RadauIIA9"])
def test_times_around_the_end_of_slip(seed, method):
    system = ball_on_turntable(seed)
    result = quirk.simulate(system, 1.0, output=0.02, method=method)
    (rolls,) = result.events.time
    times = toward(rolls)
    at = result.at(times)
    velocity, spin = differences(at, system, times, method=method)
    assert velocity < 5e-7 and spin < 1e-5
    # The values at one time do not depend on the other times of the call.
    for k in range(0, len(times), 7):
        np.testing.assert_allclose(result.at(times[k])["ball"].velocity[0], at["ball"].velocity[k], atol=1e-7)


def test_short_interval_before_the_end_of_slip():
    """Positions are known to 1e-10 m by polynomials, but not the slip that is left, and its direction."""
    system = ball_on_turntable(8)
    (rolls,) = quirk.simulate(system, 1.0, output=0.5).events.time
    times = rolls - np.geomspace(1e-6, 7e-5, 20)[::-1]
    result = quirk.simulate(system, 1.0, output=[0.0, rolls - 7.5e-5, 1.0])
    assert max(differences(result.at(times), system, times, rtol=1e-12, atol=1e-14)) < 1e-7


def test_slip_that_ends_long_before_it_did_in_an_inaccurate_run():
    """Integrated from the last output, slip ends 5 ms earlier than in the run."""
    system = ball_on_turntable(959494388)
    result = quirk.simulate(system, 1.0, output=0.02, rtol=1e-4, atol=1e-6)
    (rolls,) = result.events.time
    near = result.at(rolls * (1 - 1e-5))
    np.testing.assert_allclose(near["ball"].velocity[0], result.at(rolls)["ball"].velocity[0], atol=1e-4)
    assert near.uncertainty[0] > 1e-4


@pytest.mark.parametrize("gravity", [0.0, 9.81])
def test_times_around_the_end_of_slip_in_a_ball_joint(gravity):
    """The torque of the friction is constant, and its direction turns ever faster."""
    for seed in range(4):
        rng = np.random.default_rng(seed)
        place, spin = np.array([0.3, 0.1, -0.2]), 2 * rng.normal(size=3)
        inertia, velocity = 0.1 * rng.uniform(0.6, 1.0, 3), np.cross(spin, place)
        body = Body("ball", 1.0, inertia, position=place, velocity=velocity, angular_velocity=spin)
        joint = quirk.Spherical("joint", GROUND, body, point=[0, 0, 0])
        brake = quirk.JointFriction("brake", joint, coulomb=4.0, sticking=True)
        system = quirk.System([body, joint, brake], gravity=[0, 0, -gravity])
        result = quirk.simulate(system, 2.0, output=0.05)
        times = toward(result.events.time[0])
        velocity, spin = differences(result.at(times), system, times)
        assert velocity < 1e-6 and spin < 1e-6, seed
