"""Drivers that push bodies through contacts: rows of contacts are then dependent, and rates need not be in their range."""

import numpy as np
import pytest
from scipy.optimize import linprog

import quirk
from quirk import GROUND, Body, Contact, Motion, Prismatic, surface
from quirk.dynamics.contact.lcp import solve_lcp


def train(motion, gap, *, seat=True, order=1):
    """A driven plunger behind two sliders that touch each other; the last one rests against a seat behind it."""
    bodies = [Body.sphere(name, 1.0, 0.05, position=[x, 0, 0]) for name, x in (("p", -gap), ("a", 0.1), ("b", 0.2))]
    plunger, first, last = bodies
    rails = [Prismatic(f"rail {body.name}", GROUND, body, axis="x") for body in bodies]
    ball = surface.sphere(0.05)
    contacts = [Contact("pa", plunger, first, on_i=ball, on_j=ball), Contact("ab", first, last, on_i=ball, on_j=ball)]
    if seat:
        contacts.append(Contact("seat", GROUND, last, on_i=surface.plane([0.15, 0, 0], [1, 0, 0]), on_j=ball))
    spring = quirk.Force("spring", last, [-10.0, 0, 0])
    return quirk.System([*bodies, *rails, quirk.Drive("drive", rails[0], motion), *contacts[::order], spring])


@pytest.mark.parametrize("impacts", ["simultaneous", "sequential"])
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("seat", [True, False])
def test_a_driven_plunger_takes_a_train_along(seat, order, impacts):
    system = train(Motion.constant_rate(1.0), 0.1, seat=seat, order=order)
    system.assemble()
    result = quirk.simulate(system, 0.3, output=0.1, impacts=impacts)
    if seat:
        np.testing.assert_allclose([event.time for event in result.events], [0.1], rtol=1e-9)
    for body in system.bodies:
        np.testing.assert_allclose(result[body.name].velocity[-1], [1, 0, 0], atol=1e-9)


def test_a_plunger_that_accelerates_lifts_a_train_off_its_seat():
    """The train follows x = t^2 / 2; the force between the sliders is 10 N + 1 N, that of the plunger 1 N more."""
    system = train(Motion.polynomial([0, 0, 0.5]), 0.0)
    system.assemble()
    result = quirk.simulate(system, 0.5, output=0.1)
    np.testing.assert_allclose(result["b"].position[-1, 0], 0.2 + 0.125, rtol=1e-9)
    np.testing.assert_allclose(result["ab"].force()[-1], [11, 0, 0], atol=1e-9)
    np.testing.assert_allclose(result["pa"].force()[-1], [12, 0, 0], atol=1e-9)
    np.testing.assert_allclose(result["seat"].force()[-1], 0.0, atol=1e-9)


def test_contact_problems_are_solved_wherever_they_can_be():
    """Singular matrices, with rates inside and outside of their range, of 1500 random problems."""
    rng = np.random.default_rng(5)
    solved = 0
    for case in range(1500):
        count, freedoms = int(rng.integers(1, 7)), int(rng.integers(1, 5))
        G = rng.normal(size=(count, freedoms))
        q = rng.normal(size=count) if rng.random() < 0.5 else G @ rng.normal(size=freedoms)
        scale = 10 ** rng.uniform(-2, 2, count)
        G, q = G * scale[:, None], q * scale * 10 ** rng.uniform(-4, 4)
        size = np.abs(q / scale).max()
        possible = linprog(np.zeros(freedoms), -G / scale[:, None], q / scale / size, bounds=[(None, None)] * freedoms)
        x = solve_lcp(G @ G.T, q)
        assert (x is not None) == (possible.status == 0), case
        if x is not None:
            solved += 1
            w = G @ (G.T @ x) + q
            assert (x >= 0).all(), case
            assert (w / scale >= -1e-8 * size).all(), case
            assert (np.abs(x * w) <= 1e-8 * size * max(size, (x * scale).max())).all(), case
    assert 300 < solved < 1500
