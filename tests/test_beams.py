"""Elastic beams against published solutions and closed forms."""

import numpy as np
import pytest
from beam_cases import CASES, TIPS, clamp_of, composite, extrapolated, tip
from scipy.optimize import brentq

import quirk
from quirk import Beam, Section
from quirk.beams.helix import between_nodes
from quirk.beams.segment import relative_strains

STEEL = {"young": 2.1e11, "poisson": 0.3, "density": 7850.0}
STRIP = Section.rectangle(0.02, 0.01, **STEEL)


@pytest.mark.parametrize("name", [name for name in CASES if name != "roll-up"])
def test_tips_converge_with_the_square_of_the_segment_length_to_published_values(name):
    found = []
    for elements in (8, 16, 32):
        system = CASES[name](elements)
        state = system.equilibrium()
        assert state.residual < 1e-8
        found.append(tip(system, state))
    size = np.linalg.norm(TIPS[name])
    assert np.abs(extrapolated(found) - TIPS[name]).max() <= 1e-6 * size
    errors = [np.linalg.norm(x - TIPS[name]) / size for x in found]
    assert 3.8 < errors[-2] / errors[-1] < 4.2


def test_a_beam_rolled_up_into_a_circle_is_exact():
    """Strains are constant, so that any number of elements gives the circle."""
    system = CASES["roll-up"](4)
    assert tip(system, system.equilibrium()) == pytest.approx([-10, 0, 0], abs=1e-8)


def test_reactions_and_section_loads_balance_the_load():
    system = composite(8)
    state = system.equilibrium()
    load = state.loads["clamp"]
    assert load.force == pytest.approx([0, 0, -150], abs=1e-7)
    arm = np.array([10.0, 0, 0]) + tip(system, state)
    assert load.torque == pytest.approx(-np.cross(arm, [0, 0, 150]), abs=1e-6)
    result = quirk.simulate(system, 1e-6, initial_state=state, output=1e-6, method="RK4", step=1e-6)
    view = result["beam"]
    assert view.force("inertial")[0] == pytest.approx(np.tile([0, 0, 150.0], (8, 1)), abs=0.05)
    middle = 0.5 * (view.center_line[0, 1:] + view.center_line[0, :-1])
    expected = np.cross(np.array([10.0, 0, 0]) + tip(system, state) - middle, [0, 0, 150])
    assert np.abs(view.moment("inertial")[0] - expected).max() < 0.01 * np.abs(expected).max()
    assert view.energy[0] == pytest.approx(result.energy.potential[0])


def test_straight_pieces_have_the_mass_and_inertia_of_the_beam():
    beam = Beam("beam", [0, 0, 0], [3, 0, 0], section=STRIP, elements=5)
    mass = sum(body.mass for body in beam.bodies)
    assert mass == pytest.approx(3 * STRIP.mass)
    center = sum(body.mass * body.position for body in beam.bodies) / mass
    assert center == pytest.approx([1.5, 0, 0])
    about = sum(
        body.inertia + body.mass * ((r := body.position - center) @ r * np.eye(3) - np.outer(r, r))
        for body in beam.bodies
    )
    assert about == pytest.approx(quirk.shapes.Box((3, 0.02, 0.01)).inertia(mass), rel=1e-12)


def test_curved_and_twisted_beams_are_unloaded_as_declared():
    def helix(u):
        return [np.cos(9 * u), np.sin(9 * u), 0.3 * u]

    for more in ({"curve": helix, "up": "z"}, {"start": [1, 2, 3], "end": [2, 2, 2], "twist": lambda u: 2 * u**2}):
        beam = Beam("beam", section=STRIP, elements=9, **more)
        system = quirk.System([beam])
        acceleration = system.acceleration(system.initial_state())
        assert np.abs(acceleration.linear).max() < 1e-3  # 1e11 Pa and 16 digits
    assert Beam("beam", curve=helix, section=STRIP, elements=9).length == pytest.approx(np.hypot(9, 0.3), rel=1e-9)


def test_a_curve_may_be_given_by_points():
    angle = np.linspace(0, np.pi / 2, 15)
    points = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    beam = Beam("beam", curve=points, section=STRIP, elements=4)
    assert beam.length == pytest.approx(np.pi / 2, rel=1e-7)
    end = beam.bodies[-1].position + quirk.rotation.matrix(beam.bodies[-1].orientation) @ beam.end_point
    assert end == pytest.approx([0, 1, 0], abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_strains_are_those_of_a_helix_at_any_angle(seed):
    """The differential equations of a curve with constant strains, integrated, have these strains."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=3)
    v = rng.normal(size=3)
    v *= rng.uniform(0.01, 3.1) / np.linalg.norm(v)
    steps, place, turn = 2000, np.zeros(3), quirk.rotation.IDENTITY
    for _ in range(steps):
        half = quirk.rotation.multiply(turn, quirk.rotation.exp(0.5 * v / steps))
        place = place + quirk.rotation.matrix(half) @ u / steps
        turn = quirk.rotation.multiply(turn, quirk.rotation.exp(v / steps))
    assert relative_strains(place, quirk.rotation.log(turn)) == pytest.approx([*u, *v], abs=1e-5)
    ends = np.stack([np.zeros(3), place]), np.stack([quirk.rotation.IDENTITY, turn])
    points, turns = between_nodes(*ends, 2)
    assert relative_strains(points[1], quirk.rotation.log(turns[1])) == pytest.approx(
        0.5 * np.array([*u, *v]), abs=1e-5
    )


def test_rigid_motions_do_not_strain():
    beam = Beam("beam", [0, 0, 0], [1, 0, 0], section=STRIP, elements=3, twist=0.4)
    system = quirk.System([beam])
    state, turn = system.initial_state(), quirk.rotation.exp(np.array([1.0, -2.0, 0.5]))
    state.position[:] = state.position @ quirk.rotation.matrix(turn).T + [5, 6, 7]
    state.orientation[:] = quirk.rotation.multiply(turn, state.orientation)
    assert np.abs(system.acceleration(state).linear).max() < 1e-2  # 1e11 Pa and 16 digits


def test_eigenfrequencies_of_a_cantilever():
    roots = [brentq(lambda b: np.cos(b) * np.cosh(b) + 1, *ends) for ends in ((1, 3), (4, 6), (7, 9))]
    section = Section(EA=1e7, GA=1e7, GJ=10.0, EI=[1.0, 1e4], mass=1.0)

    def frequencies(elements):
        beam = Beam("beam", [0, 0, 0], [1, 0, 0], section=section, elements=elements)
        return 2 * np.pi * np.sort(quirk.System([beam, clamp_of(beam)]).modes().frequencies)[:3]

    found = [frequencies(elements) for elements in (8, 16, 32)]
    exact = np.square(roots)
    assert extrapolated(found) == pytest.approx(exact, rel=3e-5)
    ratios = (found[1] / exact - 1) / (found[2] / exact - 1)
    assert (ratios > 3.8).all() and (ratios < 4.2).all()
