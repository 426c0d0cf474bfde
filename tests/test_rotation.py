import re

import numpy as np
import pytest
import quaternion
from scipy.spatial.transform import Rotation

import quirk
from quirk import rotation

CASES = range(5)


def unit(seed, shape=(4,)):
    q = np.random.default_rng(seed).normal(size=shape)
    return q / np.linalg.norm(q, axis=-1, keepdims=True)


@pytest.mark.parametrize("seed", CASES)
def test_matrix_and_product_agree_with_numpy_quaternion(seed):
    p, q = unit(seed), unit(seed + 100)
    P, Q = quaternion.quaternion(*p), quaternion.quaternion(*q)
    np.testing.assert_allclose(rotation.matrix(p), quaternion.as_rotation_matrix(P), atol=1e-15)
    np.testing.assert_allclose(rotation.multiply(p, q), quaternion.as_float_array(P * Q), atol=1e-15)
    np.testing.assert_allclose(
        rotation.matrix(rotation.multiply(p, q)), rotation.matrix(p) @ rotation.matrix(q), atol=1e-14
    )


@pytest.mark.parametrize("seed", CASES)
def test_exp_and_log_are_inverse_and_match_scipy(seed):
    v = np.random.default_rng(seed).normal(size=(7, 3)) * 0.9
    v[0] = 0
    v[1] *= 1e-9
    np.testing.assert_allclose(rotation.log(rotation.exp(v)), v, atol=1e-14)
    np.testing.assert_allclose(rotation.matrix(rotation.exp(v)), Rotation.from_rotvec(v).as_matrix(), atol=1e-14)


@pytest.mark.parametrize("seed", CASES)
def test_T_matrix_maps_rates_to_angular_velocity(seed):
    q, omega = unit(seed), np.random.default_rng(seed).normal(size=3)
    h = 1e-6
    ahead, behind = (rotation.multiply(q, rotation.exp(s * h * omega)) for s in (1, -1))
    qdot = (ahead - behind) / (2 * h)
    np.testing.assert_allclose(rotation.rate(q, omega), qdot, atol=1e-9)
    np.testing.assert_allclose(rotation.T_matrix(q) @ rotation.rate(q, omega), omega, atol=1e-14)
    np.testing.assert_allclose(rotation.T_matrix(q) @ q, 0, atol=1e-15)


@pytest.mark.parametrize("seed", CASES)
def test_rate_of_T_times_qdot_vanishes(seed):
    """T is linear in q, so its rate is T(qdot), and T(qdot) qdot = 0: b of the ball joint needs no such term."""
    qdot = np.random.default_rng(seed).normal(size=4)
    np.testing.assert_allclose(rotation.T_matrix(qdot) @ qdot, 0, atol=1e-15)


@pytest.mark.parametrize("seed", CASES)
@pytest.mark.parametrize("b", [None, np.pi / 2, -np.pi / 2])
def test_123_angles_give_the_rotation_back(seed, b):
    angles = np.random.default_rng(seed).uniform(-1, 1, size=3) * [np.pi, np.pi / 2, np.pi]
    if b is not None:
        angles[1] = b
    R = Rotation.from_euler("XYZ", angles).as_matrix()
    found = rotation.angles_123(R)
    np.testing.assert_allclose(Rotation.from_euler("XYZ", found).as_matrix(), R, atol=1e-14)
    if b is None:
        np.testing.assert_allclose(found, angles, atol=1e-13)


@pytest.mark.parametrize(
    "value",
    [
        [2.0, 0, 0, 2.0],
        quaternion.quaternion(1, 0, 0, 1),
        np.array([quaternion.quaternion(1, 0, 0, 1)])[0],
        Rotation.from_euler("z", 90, degrees=True),
    ],
)
def test_orientations_come_in_three_forms(value):
    np.testing.assert_allclose(rotation.as_orientation("test", "q", value), np.sqrt([0.5, 0, 0, 0.5]), atol=1e-15)


def test_skew_is_the_cross_product():
    a, b = np.random.default_rng(0).normal(size=(2, 6, 3))
    np.testing.assert_allclose(np.einsum("nij,nj->ni", rotation.skew(a), b), np.cross(a, b), atol=1e-15)


def test_matrices_are_orientations(tmp_path):
    """In bodies and frames, with rounded digits, and in model files."""
    R = Rotation.from_rotvec([0.3, -2.0, 0.4]).as_matrix()
    rounded = np.round(R, 8)
    body = quirk.Body("b", 1.0, [1, 1, 1], orientation=R, frames={"tip": quirk.Frame(rotation=rounded.tolist())})
    np.testing.assert_allclose(rotation.matrix(body.orientation), R, atol=1e-15)
    np.testing.assert_allclose(body.frame("tip").matrix, R, atol=1e-8)
    quirk.System([body]).save(tmp_path / "m.toml")
    again = quirk.load(tmp_path / "m.toml")["b"]
    np.testing.assert_array_equal(again.orientation, body.orientation)
    np.testing.assert_array_equal(again.frame("tip").matrix, body.frame("tip").matrix)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (np.diag([1, 1, -1]), "Frame: rotation must be a rotation matrix; this one mirrors"),
        (np.diag([1, 1, 1.001]), "Frame: rotation must be a rotation matrix; the largest entry of R R^T - 1 is 0.002"),
        (np.eye(4), "Frame: rotation must have shape (4,), a quaternion, or (3, 3), a matrix; got shape (4, 4)"),
    ],
)
def test_what_is_no_orientation(value, message):
    with pytest.raises(quirk.InputError, match=re.escape(message)):
        quirk.Frame(rotation=value)
