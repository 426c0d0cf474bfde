"""Motions: values and derivatives, compiled and plain, and what is refused."""

import numba
import numpy as np
import pytest
from mechanisms import random_body

import quirk
from quirk import Motion

KNOTS, HEIGHTS = [0, 0.5, 1.1, 1.6, 2.0, 2.7, 3.0], [0, 0.2, 1.0, 0.7, -0.3, 0.1, 0.4]
MOTIONS = {
    "rate": Motion.constant_rate(2.0, start=0.3),
    "polynomial": Motion.polynomial([0.1, -0.2, 0.3, 0.4, -0.5, 0.06]),
    "sinusoid": Motion.sinusoid(0.7, 3.0, phase=0.4, offset=-0.2),
    "spline": Motion.spline(KNOTS, HEIGHTS),
    "function": Motion.function(np.exp, np.exp, np.exp, np.exp, np.exp),
    "compiled function": Motion.function(*[numba.njit(lambda t: np.exp(t))] * 5),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_derivatives(name):
    motion, h = MOTIONS[name], 1e-5
    for t in (0.2, 0.5, 1.37, 2.9):
        for k in range(4):
            ahead, behind = (motion.derivatives(t + s * h, 4)[k] for s in (1, -1))
            assert motion.derivatives(t, 4)[k + 1] == pytest.approx((ahead - behind) / (2 * h), abs=1e-5)


def test_a_spline_passes_its_points_and_has_continuous_snap():
    motion = MOTIONS["spline"]
    np.testing.assert_allclose([motion(t) for t in KNOTS], HEIGHTS, atol=1e-14)
    for t in KNOTS[1:-1]:
        np.testing.assert_allclose(motion.derivatives(t - 1e-12, 4), motion.derivatives(t, 4), atol=1e-6)
    assert Motion.spline([0, 2], [1, 5]).derivatives(1.0, 2).tolist() == [3.0, 2.0, 0.0]


@pytest.mark.parametrize("name", MOTIONS)
def test_drives_follow_them(name):
    """The compiled solver, the dense one and the motion itself."""
    motion = MOTIONS[name]
    rod = random_body(np.random.default_rng(1), "rod")
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[1, 2, 3])
    system = quirk.System([rod, hinge, quirk.Drive("motor", hinge, motion)], gravity=[0, 0, -9.81])
    system.assemble()
    result = quirk.simulate(system, 2.5, rtol=1e-10, output=0.25)
    angle = result["hinge"].rotation[:, 2]
    want = np.array([motion.derivatives(t, 2) for t in result.time])
    np.testing.assert_allclose(angle, want[:, 0] + np.round((angle[0] - want[0, 0]) / 6.28), atol=1e-12)
    np.testing.assert_allclose(result["hinge"].angular_velocity[:, 2], want[:, 1], atol=1e-11)
    state = result.state_at(4)
    dense, sparse = (system.acceleration(state, result.time[4], s) for s in ("dense", "sparse"))
    np.testing.assert_allclose(sparse.angular, dense.angular, rtol=1e-11, atol=1e-12)
    z = quirk.rotation.matrix(state.orientation[0]) @ hinge.frame_j.matrix[:, 2]
    R = quirk.rotation.matrix(state.orientation[0])
    assert z @ (R @ dense.angular[0]) == pytest.approx(want[4, 2], rel=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Motion.constant_rate("fast"), "Motion.constant_rate: rate must be a number"),
        (lambda: Motion.polynomial([]), "coefficients must be a list of finite numbers"),
        (lambda: Motion.sinusoid(1, np.nan), "angular_frequency must be finite"),
        (lambda: Motion.spline([0, 1, 1], [0, 1, 2]), "times must increase strictly"),
        (lambda: Motion.spline([0, 1, 2], [0, 1]), r"values must have shape \(3,\)"),
        (lambda: Motion.function(np.sin, np.cos, None), "f_tt must be a function"),
        (lambda: Motion.function(np.sin, np.cos, np.sin).derivatives(0.0, 3), "f_ttt is needed here"),
        (lambda: MOTIONS["spline"](3.5), "is defined from 0 to 3 s; asked for at 3.5 s"),
        (lambda: Motion.function(lambda t: "x", np.cos, np.sin)(0.0), "what f returns"),
    ],
)
def test_errors(make, message):
    with pytest.raises(quirk.InputError, match=message):
        make()
