"""What sticks and what slides where the limits of several are reached at once, in rigid bodies on two points."""

import numpy as np
import pytest

from quirk.dynamics.contact.contact_modes import FrictionElement
from quirk.dynamics.contact.coulomb import COMPLIANCE_ACCURACY, solve_coulomb

MU = 0.6


def on_an_edge(seed):
    """W (6, 6) of both gaps and both slips of a box on two points below it; it is redundant along their line."""
    rng = np.random.default_rng(seed)
    turn, height, half = rng.uniform(0, 2 * np.pi), rng.uniform(0.1, 0.3), rng.uniform(0.05, 0.3)
    line = np.array([np.cos(turn), np.sin(turn), 0.0])
    points = [sign * half * line - [0, 0, height] for sign in (1, -1)]
    J = np.zeros((6, 6))
    rows = [(0, 0, 2), (1, 1, 2), (2, 0, 0), (3, 0, 1), (4, 1, 0), (5, 1, 1)]
    for row, point, axis in rows:
        e = np.eye(3)[axis]
        J[row] = [*e, *np.cross(points[point], e)]
    inertia = np.diag(rng.uniform(0.01, 0.03, 3)) + height**2 * np.diag([1, 1, 0])
    return J @ np.block([[np.eye(3) / 2, np.zeros((3, 3))], [np.zeros((3, 3)), np.linalg.inv(inertia)]]) @ J.T


def at_the_limit(W, way, off):
    """q (6,) at which forces of sticking in a direction (2,) take 1 + off of what friction can at both points."""
    z = np.array([3.0, 3.0, *(3.0 * MU * (1 + off) * way), *(3.0 * MU * (1 + off) * way)])
    return -W @ z


@pytest.mark.parametrize("off", [-6e-11, 0.0, 5e-11, 3e-10, 1e-5])
@pytest.mark.parametrize("seed", [2, 3, 5])
def test_both_points_of_an_edge_reach_their_limit(seed, off):
    W, turn = on_an_edge(seed), np.random.default_rng(seed + 100).uniform(0, 2 * np.pi)
    way = np.array([np.cos(turn), np.sin(turn)])
    q = at_the_limit(W, way, off)
    elements = [FrictionElement([2, 3], MU, MU, contact=0), FrictionElement([4, 5], MU, MU, contact=1, at_limit=True)]
    found = solve_coulomb(W, q, range(2), elements, 2e-12)
    assert found is not None
    assert found.active[:2].all()
    np.testing.assert_allclose(found.w[:2], 0, atol=1e-9)
    for element, e in zip(elements, found.slip_directions, strict=True):
        force, limit = found.z[element.rows], MU * found.z[element.contact]
        if e is None:
            assert np.linalg.norm(force) <= limit * (1 + 1e-9)
            np.testing.assert_allclose(found.w[element.rows], 0, atol=1e-9)
        else:
            # Friction opposes what begins to slide, at first along the force that had held it.
            np.testing.assert_allclose(force, -limit * e, rtol=2e-6, atol=2e-6 * limit)
            np.testing.assert_allclose(e, -way, atol=1e-3)
            noise = COMPLIANCE_ACCURACY * (np.abs(W) @ np.abs(found.z))[element.rows].max()
            assert found.w[element.rows] @ e > -noise
            # Slip begins along e, up to the digits to which shared forces are known.
            across = found.w[element.rows] - (found.w[element.rows] @ e) * e
            assert np.linalg.norm(across) < noise
