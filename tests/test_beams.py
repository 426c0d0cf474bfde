"""Elastic beams against published solutions and closed forms."""

import itertools

import matplotlib.pyplot as plt
import numpy as np
import pytest
from model_texts import assert_same
from scipy.optimize import brentq
from scipy.special import jv

import quirk
from benchmarks.published.beam_motion import exact_frequencies, frequencies
from benchmarks.published.beams import CASES, TIPS, clamp_of, composite, extrapolated, held, tip
from quirk import GROUND, Beam, Section
from quirk.beams.helix import between_nodes
from quirk.beams.segment import relative_strains
from quirk.io.modelfile import system_of, text_of

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
    state = system.equilibrium()
    assert tip(system, state) == pytest.approx([-10, 0, 0], abs=1e-8)
    assert not state.stable  # it would buckle sideways, which nothing excites


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


def test_eigenfrequencies_of_a_section_that_couples_twist_and_bending():
    """The linear equations of the beam, solved by a matrix exponential along its axis."""
    found = extrapolated([frequencies(composite(elements), 4) for elements in (8, 16, 32)])
    exact = exact_frequencies(composite(1)["beam"].section, 10.0, found)
    assert found == pytest.approx(exact, rel=2e-5)


def test_a_spinning_beam_is_stretched():
    """The centrifugal forces of the steady spin of Simo and Vu-Quoc (1986), in the axes of the beam."""
    rate, section = 6.0, Section(EA=2.8e7, GA=1e7, GJ=1.4e4, EI=1.4e4, mass=1.2, inertia=6e-4)

    def stretched(elements):
        beam = Beam("beam", [0, 0, 0], [10, 0, 0], section=section, elements=elements)
        loads = [
            quirk.Force(f"load {k}", body, lambda t, r, *motion, m=body.mass: [m * rate**2 * r[0], 0.0, 0.0])
            for k, body in enumerate(beam.bodies)
        ]
        system = quirk.System([beam, clamp_of(beam), *loads])
        return tip(system, system.equilibrium())[0]

    waves = rate * 10 * np.sqrt(1.2 / 2.8e7)
    exact = 10 * (np.tan(waves) / waves - 1)
    assert exact == pytest.approx(5.14317457504e-4, rel=1e-8)
    assert extrapolated([stretched(4), stretched(8)]) == pytest.approx(exact, rel=1e-6)


def test_a_narrow_cantilever_buckles_sideways_at_its_critical_load():
    """The load of Prandtl and Michell, for a beam that is rigid in the plane of the load."""
    root = brentq(lambda x: jv(-0.25, x), 1.0, 3.0)
    critical = 2 * root * np.sqrt(0.8)
    section = Section(EA=1e8, GA=1e8, GJ=0.8, EI=[1e6, 1.0], mass=1.0, inertia=1e-4)

    def least(elements, load):
        """Square of the lowest frequency, which vanishes at the critical load."""
        beam = Beam("beam", [0, 0, 0], [1, 0, 0], section=section, elements=elements)
        return -(held(beam, [0, 0, -load]).equilibrium().eigenvalues ** 2).real.max()

    def buckling(elements):
        loads = critical * np.array([0.9, 0.94, 0.96, 0.98])
        squares = np.polyfit([least(elements, load) for load in loads], loads**2, 3)
        return np.sqrt(squares[-1])

    assert extrapolated([buckling(8), buckling(16)]) == pytest.approx(critical, rel=1e-4)


def test_damping_of_modes_is_that_of_rayleigh():
    section = Section(EA=1e4, GA=1e4, GJ=10.0, EI=[1.0, 3.0], mass=1.0)
    beam = Beam("beam", [0, 0, 0], [1, 0, 0], section=section, elements=5, damping=2e-3, mass_damping=0.3)
    modes = quirk.System([beam, clamp_of(beam)]).modes()
    frequency = 2 * np.pi * modes.frequencies[:6]
    assert modes.damping[:6] == pytest.approx(0.5 * (2e-3 * frequency + 0.3 / frequency), rel=1e-6)


def test_energy_is_constant_without_damping_and_taken_with_it():
    section = Section(EA=1e3, GA=1e3, GJ=10.0, EI=10.0, mass=1.0)

    def swung(**more):
        beam = Beam("beam", [0, 0, 0], [1, 0, 0], section=section, elements=3, **more)
        hinge = quirk.Revolute("hinge", GROUND, beam.bodies[0], point=[0, 0, 0], axis="y")
        system = quirk.System([beam, hinge], gravity=[0, 0, -9.81])
        return quirk.simulate(system, 0.5, rtol=1e-9, output=0.05)

    assert swung().energy.drift < 1e-7
    result = swung(damping=[1e-2] * 6)
    assert result.energy.total[-1] < result.energy.total[0] - 1e-3
    assert np.abs(result.power.balance).max() < 1e-5


@pytest.mark.parametrize("more", [{"twist": 0.3, "up": "y", "damping": 1e-3}, {"mass_damping": 0.1}])
def test_model_files_keep_beams(more):
    system = composite(3, **more)
    system.assemble(system.equilibrium())
    text = text_of(system)
    assert "[[beam]]" in text and text.count("[[force]]") == 1 and "[[body]]" not in text
    again = system_of(text)
    assert text_of(again) == text
    assert_same(system, again)


def test_points_of_curves_are_written_and_functions_refused():
    points = [[0, 0, 0], [1, 0, 0], [2, 1, 0], [2, 2, 0]]
    system = quirk.System([Beam("beam", curve=points, section=STRIP, elements=2)])
    assert_same(system, system_of(text_of(system)))
    with pytest.raises(quirk.InputError, match="Python function"):
        text_of(quirk.System([Beam("beam", curve=lambda u: [u, u**2, 0], section=STRIP, elements=2)]))


def test_a_beam_is_one_part_of_a_system():
    beam = Beam("beam", [0, 0, 0], [1, 0, 0], section=STRIP, elements=2)
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[1, 0, 0])
    weld = quirk.Fixed("weld", beam.bodies[-1], ball, point=[1, 0, 0])
    system = quirk.System([ball, beam, weld])
    assert system["beam"] is beam and [body.name for body in system.bodies[1:]] == [b.name for b in beam.bodies]
    assert [body.name for body in system.without("beam", dependents=True).bodies] == ["ball"]
    assert len(system.with_parts(quirk.Damping("air")).bodies) == 4
    with pytest.raises(quirk.InputError, match=r'belongs to Beam "beam": remove the beam'):
        system.without("beam segment 0")


def test_pictures_show_beams(tmp_path):
    system = CASES["arc"](4)
    result = quirk.simulate(system, 2e-3, method="RK4", step=1e-4, output=1e-3)
    view = result["beam"]
    curve = view.curve(5)
    assert curve[:, ::5] == pytest.approx(view.center_line)
    assert np.linalg.norm(np.diff(curve[0], axis=0), axis=1) == pytest.approx(100 * np.pi / 4 / 20, rel=1e-3)
    assert result.animate(tmp_path / "arc.gif", fps=50, speed=0.02, size=2.0).stat().st_size > 0
    result.plot.ghosts([0.0, 2e-3], path=tmp_path / "arc.png")
    plt.close("all")


@pytest.mark.parametrize(
    "section, area, second, torsion",
    [
        (Section.rectangle(2.0, 1.0, **STEEL), 2.0, (1 / 6, 2 / 3), 0.457363),  # Timoshenko and Goodier: 0.229 a b^3
        (Section.circle(2.0, **STEEL), 4 * np.pi, (4 * np.pi,) * 2, 8 * np.pi),
        (Section.tube(2.0, 1.0, **STEEL), 3 * np.pi, (15 * np.pi / 4,) * 2, 15 * np.pi / 2),
    ],
)
def test_sections_of_a_homogeneous_material(section, area, second, torsion):
    shear = STEEL["young"] / 2.6
    stiffness, mass = section.stiffness.diagonal(), section.inertia.diagonal()
    assert stiffness[0] == pytest.approx(STEEL["young"] * area)
    assert stiffness[3] == pytest.approx(shear * torsion, rel=1e-5)
    assert stiffness[4:] == pytest.approx(STEEL["young"] * np.array(second))
    assert mass == pytest.approx(STEEL["density"] * np.array([area] * 3 + [sum(second), *second]))
    assert 0.5 < stiffness[1] / (shear * area) < 0.95


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda: Section(EA=1.0), "give either stiffness, or all of EA, GA, GJ and EI"),
        (lambda: Section(stiffness=[1, 1, 1, 1, 1, 0], mass=1.0), "positive definite"),
        (lambda: Section(stiffness=[1] * 6), "give mass"),
        (lambda: Section(stiffness=[1] * 6, inertia=[1, 1, 2, 1, 1, 1]), "must be of the form"),
        (lambda: Section.circle(1.0, young=1.0, poisson=0.6, density=1.0), "poisson must be above -1"),
        (lambda: Section.tube(1.0, 2.0, **STEEL), "inner_radius must be less"),
        (lambda: Beam("b", [0, 0, 0], [0, 0, 0], section=STRIP, elements=2), "start and end must differ"),
        (lambda: Beam("b", [0, 0, 0], [0, 0, 1], section=STRIP, elements=2, up="z"), "up must not be parallel"),
        (lambda: Beam("b", [0, 0, 0], [0, 0, 1], section=STRIP, elements=0), "positive whole number"),
        (lambda: Beam("b", [0, 0, 0], [0, 0, 1], section=None, elements=2), "section must be a quirk.Section"),
        (lambda: Beam("b", section=STRIP, elements=2), "needs start and end, or curve"),
        (lambda: Beam("b", curve=[[0, 0, 0]], section=STRIP, elements=2), "points (n, 3)"),
        (lambda: Beam("b", [0, 0, 0], [1, 0, 0], section=STRIP, elements=2, damping=-1.0), "must not be negative"),
    ],
)
def test_what_is_wrong_is_said(make, said):
    with pytest.raises(quirk.InputError) as error:
        make()
    assert said in str(error.value)


def test_an_elastic_four_bar_with_a_tilted_hinge_moves():
    """Rigid bars with one hinge tilted by 5 degrees cannot move (Bauchau et al. 2016)."""
    thick = Section(EA=52.99e6, GA=16.88e6, GJ=733.5, EI=1131.0, mass=1.997, inertia=42.6e-6)
    thin = Section(EA=13.25e6, GA=4.22e6, GJ=45.84, EI=70.66, mass=0.4992, inertia=2.662e-6)
    corners = np.array([[0, 0, 0], [0, 0.12, 0], [0.24, 0.12, 0], [0.24, 0, 0]])
    tilted = np.array([np.sin(np.radians(5)), 0, np.cos(np.radians(5))])

    def hinged(bars, ends):
        pairs = [(GROUND, ends[0][0]), *((a[1], b[0]) for a, b in itertools.pairwise(ends)), (ends[-1][1], GROUND)]
        hinges = [
            quirk.Revolute(name, *pair, point=point, axis=axis)
            for name, pair, point, axis in zip("ABCD", pairs, corners, ["z", "z", tilted, "z"], strict=True)
        ]
        return [*bars, *hinges]

    names = ["crank", "coupler", "rocker"]
    rigid = [quirk.Body.bar(name, *ends, 0.2) for name, ends in zip(names, itertools.pairwise(corners), strict=True)]
    assert quirk.System(hinged(rigid, [(bar, bar) for bar in rigid])).mobility().degrees_of_freedom == 0
    beams = [
        Beam(name, *ends, section=section, elements=2, damping=1e-4)
        for name, ends, section in zip(names, itertools.pairwise(corners), [thick, thick, thin], strict=True)
    ]
    items = hinged(beams, [(beam.bodies[0], beam.bodies[-1]) for beam in beams])
    system = quirk.System([*items, quirk.Drive("motor", items[3], "-0.6*t")])
    system.assemble()
    result = quirk.simulate(system, 1.0, method="RadauIIA9", rtol=1e-4, output=0.1)
    assert result["A"].angle[-1] == pytest.approx(-0.6)
    assert 1e-3 < np.abs(result["rocker"].center_line[:, 0, 2]).max() < 1e-2  # the bars bend out of their plane
    assert result.residual.position.max() < 1e-12
