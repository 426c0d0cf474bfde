"""What sticks and what slides where the limits of several are reached at once, in rigid bodies on two points."""

import numpy as np
import pytest

from quirk.dynamics.contact.contact_modes import FrictionElement
from quirk.dynamics.contact.coulomb import solve_coulomb
from quirk.dynamics.contact.dependent_contacts import COMPLIANCE_ACCURACY

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


def single_contact(seed):
    """W (3, 3) and the rates (3,) of the gap and of the slip of a body that strikes a plane at one point."""
    rng = np.random.default_rng(seed)
    arm, moments = rng.uniform(-0.5, 0.5, 3), rng.uniform(0.05, 1.0, 3) * 0.1
    across = np.array([[0, -arm[2], arm[1]], [arm[2], 0, -arm[0]], [-arm[1], arm[0], 0]])
    J = np.hstack([np.eye(3), -across])[[2, 0, 1]]
    inertia = np.diag([moments[1] + moments[2], moments[0] + moments[2], moments[0] + moments[1]])
    W = J @ np.block([[np.eye(3) / rng.uniform(0.5, 3), np.zeros((3, 3))], [np.zeros((3, 3)), np.linalg.inv(inertia)]])
    return W @ J.T, np.array([-rng.uniform(0.05, 2.0), *rng.normal(size=2)]), rng.uniform(0.05, 0.8)


def slides(W, q, mu, angle):
    """Component, across the direction at `angle`, of the slip that friction against this direction leaves; that along it."""
    e = np.array([np.cos(angle), np.sin(angle)])
    pushes = np.array([1.0, *(-mu * e)])
    w = (q - q[0] / (W[0] @ pushes) * (W @ pushes))[1:]
    return w[1] * e[0] - w[0] * e[1], w @ e, W[0] @ pushes


@pytest.mark.parametrize("restitution", [0.0, 1.0])
def test_a_contact_slides_where_static_friction_does_not_hold_it(restitution):
    """With a lower coefficient of sliding: wherever a body neither sticks nor is jammed, the impulses of sliding are found."""
    angles, searched = np.linspace(-np.pi, np.pi, 721), 0
    for seed in range(600):
        W, rates, mu = single_contact(seed)
        q = rates + np.array([restitution * rates[0], 0.0, 0.0])
        sticks = np.linalg.solve(W, -q)
        if np.hypot(*sticks[1:]) <= 1.5 * mu * sticks[0]:
            continue
        values = [slides(W, q, mu, angle) for angle in angles]
        across = np.array([value[0] for value in values])
        crossings = np.flatnonzero(across[:-1] * across[1:] < 0)
        true = [k for k in crossings if values[k][1] > 0 and values[k][2] > 0 and values[k + 1][2] > 0]
        if not true:
            continue
        searched += 1
        found = solve_coulomb(W, q, range(1), [FrictionElement([1, 2], mu, 1.5 * mu, contact=0)])
        assert found is not None, seed
        (e,) = found.slip_directions
        assert e is not None, seed
        np.testing.assert_allclose(found.w[1:] / np.linalg.norm(found.w[1:]), e, atol=1e-9, err_msg=f"{seed}")
        np.testing.assert_allclose(found.z[1:], -mu * found.z[0] * e, atol=1e-12, err_msg=f"{seed}")
        assert abs(found.w[0]) < 1e-12, seed
    assert searched > 100


@pytest.mark.parametrize("mu", [0.3, 3.0, 30.0, 300.0])
def test_a_single_contact_has_impulses_whatever_its_coefficient(mu):
    """A contact that approaches always has a solution if its slip may begin in any direction."""
    for seed in range(100):
        rng = np.random.default_rng(seed)
        A, q = rng.normal(size=(3, 3)), rng.normal(size=3)
        W, q[0] = A @ A.T + 1e-3 * np.eye(3), -abs(q[0])
        found = solve_coulomb(W, q, range(1), [FrictionElement([1, 2], mu, mu, contact=0)])
        assert found is not None, seed
        (e,), (normal, *across) = found.slip_directions, found.z
        assert abs(found.w[0]) < 1e-9, seed
        if e is None:
            assert np.hypot(*across) <= mu * normal * (1 + 1e-9), seed
            assert np.abs(found.w).max() < 1e-9, seed
        else:
            assert across == pytest.approx(-mu * normal * e, rel=1e-6, abs=1e-9 * np.hypot(*across)), seed
            assert found.w[1:] == pytest.approx(np.hypot(*found.w[1:]) * e, abs=1e-7 * np.abs(found.w).max()), seed
