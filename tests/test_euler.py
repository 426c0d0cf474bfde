"""Angles of a body's orientation: all sequences, over turns and singularities, from outputs near and far."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import quirk
from quirk import GROUND, Body, rotation
from quirk.bodies import euler_angles as euler

SEQUENCES = pytest.mark.parametrize("sequence", euler.SEQUENCES)
PROPER, THREE_AXES = ([s for s in euler.SEQUENCES if (s[0] == s[2]) == alike] for alike in (True, False))


def angles(t):
    """Angles (nt, 3), of which the first goes round and the second beyond all bounds, with rates that change."""
    return np.stack([2 * np.sin(0.7 * t) + t, 0.2 + 2.5 * np.sin(1.3 * t), 0.8 * t], axis=-1)


def motion(sequence, t, of=angles):
    """Orientations (nt, 4), with any signs, and angular velocities (nt, 3) of angles over time."""
    h = 1e-5
    now, before, after = (Rotation.from_euler(sequence.upper(), of(t + dt)) for dt in (0, -h, h))
    signs = np.random.default_rng(1).choice([-1, 1], size=(len(t), 1))
    return signs * np.roll(now.as_quat(), 1, axis=1), (before.inv() * after).as_rotvec() / (2 * h)


def rotation_of(sequence, found):
    return Rotation.from_euler(sequence.upper(), found).as_matrix()


def test_there_are_twelve():
    assert len(set(euler.SEQUENCES)) == 12


@SEQUENCES
@pytest.mark.parametrize("step", [0.003, 0.02, 0.1])
def test_through_singularities_and_over_turns(sequence, step):
    """The second angle passes 0 and -pi/2 and pi/2 each way: all three come back as they were put in."""
    t = np.arange(0.0, 20.0, step)
    found = euler.continued(sequence, t, *motion(sequence, t))
    np.testing.assert_allclose(found, angles(t), atol=1e-9)


@SEQUENCES
def test_turns_between_outputs_that_are_far_apart(sequence):
    """Each axis in turn, and each is one of the three: five turns a second, seen every second."""
    t = np.arange(0.0, 20.0)
    for axis in range(3):
        omega = np.zeros((len(t), 3))
        omega[:, axis] = 31.0
        found = euler.continued(sequence, t, rotation.exp(omega * t[:, None]), omega)
        np.testing.assert_allclose(
            rotation_of(sequence, found), Rotation.from_rotvec(omega * t[:, None]).as_matrix(), atol=1e-12
        )
        turned = np.abs(found[-1]).sum()
        assert turned == pytest.approx(31.0 * 19) or ("xyz"[axis] not in sequence and np.isfinite(found).all())


@pytest.mark.parametrize("output", [0.01, 0.15])
def test_a_free_symmetric_body_precesses(output):
    """With L along z: the first angle at L / A, the second constant, the third at w3 (1 - C / A)."""
    A, C, tilt, spin = 1.0, 1.6, 0.3, 9.0
    across = C * spin * np.tan(tilt) / A
    q = rotation.exp(np.array([tilt, 0.0, 0.0]))
    body = Body("body", 1.0, [A, A, C], orientation=q, angular_velocity=[0, across, spin])
    result = quirk.simulate(quirk.System([body]), 30.0, output=output)
    t, found = result.time, result["body"].euler_angles("zxz")
    momentum = C * spin / np.cos(tilt)
    want = np.stack([momentum / A * t, np.full(len(t), tilt), (spin - C * spin / A) * t], axis=1)
    np.testing.assert_allclose(found, want, atol=1e-6)
    assert want[-1, 0] > 60 * np.pi


def test_they_are_those_of_a_joint_to_the_ground():
    body = Body("body", 1.0, [1.0, 1.2, 1.4], angular_velocity=[0.1, 3.0, -0.7])
    system = quirk.System([body, quirk.Free("pair", GROUND, body)])
    result = quirk.simulate(system, 20.0, output=0.01)
    R = rotation_of("xyz", result["body"].euler_angles("xyz"))
    np.testing.assert_allclose(R, rotation_of("xyz", result["pair"].rotation), atol=1e-12)
    slow = Body("body", 1.0, [1.0, 1.2, 1.4], angular_velocity=[0.3, 0.1, 4.0])
    result = quirk.simulate(quirk.System([slow, quirk.Free("pair", GROUND, slow)]), 20.0, output=0.05)
    assert np.cos(result["pair"].rotation[:, 1]).min() > 0.1
    np.testing.assert_allclose(result["body"].euler_angles("xyz"), result["pair"].rotation, atol=1e-9)


@SEQUENCES
def test_passing_close_by_is_followed(sequence):
    """The second angle comes within 0.01 of the singularity and turns back; the others turn quickly, as they do."""
    singular = 0.0 if sequence in PROPER else 0.5 * np.pi

    def near(t):
        toward = t - 1.0
        second = np.hypot(toward, 0.01)
        swing = np.arctan2(toward, 0.01)
        return np.stack([swing, singular + (second if singular == 0 else -second), -swing], axis=-1)

    t = np.linspace(0, 2, 4001)
    found = euler.continued(sequence, t, *motion(sequence, t, near))
    np.testing.assert_allclose(found, near(t), atol=1e-6)


class TestOnASingularity:
    def test_it_starts_there_and_tips_over(self):
        """At rest upright, then about an axis across: the angles before are those that it tips over with."""
        t = np.linspace(0, 4, 41)
        tipped = np.maximum(t - 1.0, 0.0)
        axis = np.array([np.cos(0.4), np.sin(0.4), 0])
        found = euler.continued("zxz", t, rotation.exp(tipped[:, None] * axis), (tipped > 0)[:, None] * axis)
        np.testing.assert_allclose(found, np.stack([0.4 + 0 * t, tipped, -0.4 + 0 * t], axis=1), atol=1e-12)

    def test_it_stays_there(self):
        t = np.linspace(0, 4, 41)
        omega = np.tile([0, 0, 2.0], (41, 1))
        found = euler.continued("zxz", t, rotation.exp(omega * t[:, None]), omega)
        np.testing.assert_allclose(found, np.stack([t, 0 * t, t], axis=1), atol=1e-12)

    def test_over_and_over(self):
        """A wheel about the second axis goes on without the others moving, whatever the sequence."""
        t = np.linspace(0, 10, 101)
        for sequence in euler.SEQUENCES:
            omega = np.tile(np.eye(3)["xyz".index(sequence[1])] * -7.0, (101, 1))
            found = euler.continued(sequence, t, rotation.exp(omega * t[:, None]), omega)
            want = np.zeros((101, 3))
            want[:, 1] = -7.0 * t
            if sequence in PROPER:  # starts with the second angle positive, about an axis that is turned over
                want = np.stack([np.full(101, found[0, 0]), 7.0 * t, np.full(101, found[0, 2])], axis=1)
                assert np.abs(found[0, [0, 2]]) == pytest.approx([np.pi, np.pi])
            np.testing.assert_allclose(found, want, atol=1e-9)


def test_starts_in_the_principal_range():
    for seed in range(20):
        q = np.random.default_rng(seed).normal(size=(1, 4))
        q /= np.linalg.norm(q)
        for sequence in euler.SEQUENCES:
            (found,) = euler.continued(sequence, np.zeros(1), q, np.zeros((1, 3)))
            np.testing.assert_allclose(rotation_of(sequence, found), rotation.matrix(q[0]), atol=1e-14)
            low, high = (0, np.pi) if sequence in PROPER else (-np.pi / 2, np.pi / 2)
            assert low <= found[1] <= high
            assert np.abs(found).max() <= np.pi


@pytest.mark.parametrize("sequence", ["ZXZ", "zzx", "313", "xy", 5, None])
def test_other_sequences_are_refused(sequence):
    body = Body("body", 1.0, [1, 1, 1])
    result = quirk.simulate(quirk.System([body]), 0.1, output=0.1)
    with pytest.raises(quirk.InputError, match=r'Body "body": euler_angles: sequence must be .*"?xyx'):
        result["body"].euler_angles(sequence)
