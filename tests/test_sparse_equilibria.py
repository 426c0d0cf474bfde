"""Equilibria of large systems with beams, by sparse matrices, against the dense search and against closed forms."""

import numpy as np
import pytest
from studies import study

import quirk
from benchmarks.published.beams import CASES, TIPS, clamp_of, held, tip
from quirk.analysis.linear import equilibrium, sparse_statics
from quirk.analysis.linear.free_accelerations import accelerations
from quirk.analysis.linear.null_space import NullSpaceBasis
from quirk.analysis.linear.operating_point import Point
from quirk.analysis.linear.sparse_descent import sparse_descent
from quirk.analysis.linear.sparse_jacobians import Local
from quirk.analysis.linear.sparse_stability import stability
from quirk.analysis.linear.sparse_statics import LinearizedStatics, sparse_newton

STRIP = quirk.Section.rectangle(0.02, 0.01, young=2.1e9, poisson=0.3, density=7850.0)


def column(load, aside=0.0, elements=16):
    """A clamped column under a dead load at its end; it buckles at about 0.09 N."""
    section = quirk.Section(EA=1e4, GA=1e4, GJ=0.05, EI=[0.036, 0.05], mass=0.1, inertia=1e-5)
    beam = quirk.Beam("beam", [0, 0, 0], [0, 0, 1], section=section, elements=elements)
    push = quirk.Force("push", beam.bodies[-1], [aside, 0.3 * aside, -load], point=beam.end_point)
    return quirk.System([beam, clamp_of(beam), push])


def portal():
    """Two beams that carry a rigid bar on hinges, in a loop, under wind."""
    left, right = (
        quirk.Beam(name, [x, 0, 0], [x, 0, 1], section=STRIP, elements=10, up="y")
        for name, x in (("left", 0.0), ("right", 2.0))
    )
    bar = quirk.Body.box("bar", mass=0.5, size=[2.0, 0.1, 0.1], position=[1.0, 0, 1.0])
    hinges = [
        quirk.Revolute(f"{beam.name} hinge", beam.bodies[-1], bar, point=[x, 0, 1], axis=[0, 1, 0])
        for beam, x in ((left, 0.0), (right, 2.0))
    ]
    clamps = [
        quirk.Fixed(f"{beam.name} clamp", quirk.GROUND, beam.bodies[0], point=[x, 0, 0])
        for beam, x in ((left, 0.0), (right, 2.0))
    ]
    wind = quirk.Force("wind", bar, [2.0, 0.5, 0.0])
    return quirk.System([left, right, bar, *hinges, *clamps, wind], gravity=[0, 0, -9.81])


@pytest.fixture
def sparse(monkeypatch):
    monkeypatch.setattr(sparse_statics, "LARGE", 0)


SYSTEMS = {
    **{name: lambda build=build: build(12) for name, build in CASES.items()},
    "column": lambda: column(0.05, 1e-3),
    "portal": portal,
}


@pytest.mark.parametrize("name", study([name for name in SYSTEMS if name != "roll-up"], 4))
def test_sparse_and_dense_searches_agree(name, monkeypatch, sparse):
    system = SYSTEMS[name]()
    found = sparse_newton(system, system.initial_state(), 0.0)
    assert found is not None
    state = system.equilibrium()
    monkeypatch.setattr(sparse_statics, "LARGE", np.inf)
    dense = system.equilibrium()
    scale = np.ptp(dense.position)
    assert np.abs(state.position - found[0].position).max() <= 1e-12 * scale
    assert np.abs(state.position - dense.position).max() <= 1e-9 * scale
    assert np.abs(np.abs((state.orientation * dense.orientation).sum(axis=1)) - 1).max() <= 1e-12
    assert state.residual < 1e-8
    for joint, load in dense.loads.items():
        size = max(np.linalg.norm(other.force) for other in dense.loads.values())
        assert np.abs(state.loads[joint].force - load.force).max() <= 1e-6 * size, joint


def test_the_cost_of_many_elements_is_that_of_steps_not_of_matrices():
    """With 200 elements, 1200 free coordinates, the search takes a second; dense matrices took minutes."""
    system = CASES["arc"](200)
    state = system.equilibrium()
    missing = np.linalg.norm(tip(system, state) - TIPS["arc"]) / np.linalg.norm(TIPS["arc"])
    assert missing == pytest.approx(6.8864e-4 * (16 / 200) ** 2, rel=1e-2)


@pytest.mark.parametrize(("load", "count"), [(0.05, 0), (0.11, 1), (0.13, 2), (1.5, 4)])
def test_growing_motions_are_all_found(load, count):
    """The straight column has a growing motion for each buckling load that is exceeded."""
    system = column(load)
    state = system.initial_state()
    moved = state.position.copy()
    moved[:, 2] *= 1 - load / 1e4
    short = quirk.State(moved, state.orientation, state.velocity, state.angular_velocity, bodies=state.bodies)
    point = Point(system, system.assemble(state=short), 0.0)
    linear = LinearizedStatics.at(point, Local.at(point, freedoms=6))
    K = accelerations(NullSpaceBasis.at(point), 0)[1]
    dense = np.linalg.eigvals(K).real
    dense = np.sort(dense[dense > sparse_statics.GROWS * np.abs(K).max()])
    growing = linear.growing()
    assert growing.shape[1] == len(dense) == count
    if count:
        values = np.linalg.lstsq(growing, np.asarray(linear.K @ growing), rcond=None)[0]
        assert np.sort(np.linalg.eigvals(values).real) == pytest.approx(dense, rel=1e-5)


def test_unstable_equilibria_count_only_if_nothing_excites_the_growing_motions(sparse):
    straight, aside = column(0.2), column(0.2, 1e-4)
    found = sparse_newton(straight, straight.initial_state(), 0.0)
    assert np.abs(found[0].position[:, :2]).max() < 1e-9
    assert not straight.equilibrium().stable
    assert sparse_newton(aside, aside.initial_state(), 0.0) is None


def coiled(system, curvature, points):
    """The state of a clamped beam along x whose sections turn by `curvature` (rad/m, body axes) times the lengths."""
    state, R, r, done = system.initial_state(), np.eye(3), np.zeros(3), 0.0
    for k, x in enumerate(state.position[:, 0].copy()):
        step = (x - done) / points
        for _ in range(points):
            r = r + R @ [step, 0, 0]
            R = R @ quirk.rotation.matrix(quirk.rotation.exp(np.array(curvature) * step))
        done = x
        state.position[k], state.orientation[k] = r, quirk.rotation.from_matrix(R)
    return state


@pytest.mark.parametrize("scale", study([1.0, 1e3], 1))
def test_a_coiled_beam_finds_the_equilibrium_of_the_straight_one(monkeypatch, scale):
    """By the sparse descent: Newton's method does not find it from there in a hundred steps."""
    # Lengths times `scale`: at the same sag over length, moduli grow as scale squared where densities remain.
    section = quirk.Section.rectangle(0.02 * scale, 0.03 * scale, young=7e9 * scale, poisson=0.3, density=2700.0)
    beam = quirk.Beam("beam", [0, 0, 0], [3 * scale, 0, 0], section=section, elements=16)
    system = quirk.System([beam, clamp_of(beam)], gravity=[0, 0, -9.81])
    start = coiled(system, np.array([1.5, 2.0, 1.0]) / scale, 20)
    assert sparse_newton(system, start, 0.0) is None
    monkeypatch.setattr(equilibrium, "_dense_search", None)
    found, straight = system.equilibrium(start), system.equilibrium()
    assert found.stable and found.residual < 1e-8
    assert np.abs(found.position - straight.position).max() < 1e-9 * scale


def test_a_column_that_buckles_descends_to_the_shape_of_the_dense_search(monkeypatch, sparse):
    system = column(0.2, 0.02, 4)
    with monkeypatch.context() as without:
        without.setattr(equilibrium, "_dense_search", None)
        found = system.equilibrium()
    monkeypatch.setattr(sparse_statics, "LARGE", np.inf)
    dense = system.equilibrium()
    assert np.abs(found.position - dense.position).max() < 1e-8
    assert found.position[-1, 0] > 0.1


def test_a_beam_that_nothing_holds_is_no_case_for_a_descent(sparse):
    beam = quirk.Beam("beam", [0, 0, 0], [1, 0, 0], section=STRIP, elements=16)
    system = quirk.System([beam], gravity=[0, 0, -9.81])
    assert sparse_descent(system, system.initial_state(), 0.0) is None


def damped_column(load, damping, mass_damping, frame="inertial"):
    """A clamped column with damping under a dead load, or one that turns with the end, and a spring at its middle."""
    section = quirk.Section(EA=1e4, GA=1e4, GJ=0.05, EI=[0.036, 0.05], mass=0.1, inertia=1e-5)
    beam = quirk.Beam(
        "beam", [0, 0, 0], [0, 0, 1], section=section, elements=12, damping=damping, mass_damping=mass_damping
    )
    push = quirk.Force("push", beam.bodies[-1], [0, 0, -load], point=beam.end_point, frame=frame)
    spring = quirk.Spring("spring", quirk.GROUND, beam.bodies[6], point_i=[0.4, 0, 0.5], stiffness=0.3, damping=0.01)
    return quirk.System([beam, clamp_of(beam), push, spring])


@pytest.mark.parametrize("damping", [(0.0, 0.0), (1e-3, 0.0), (0.0, 0.3), (0.2, 1.0)])
@pytest.mark.parametrize(
    ("load", "stable"), study([(-0.5, True), (0.05, True), (0.2, False), (0.5, False)], {(0.05, True), (0.2, False)})
)
def test_stability_is_that_of_the_eigenvalues(load, stable, damping, sparse):
    system = damped_column(load, *damping)
    try:
        state = system.equilibrium()
    except quirk.ConvergenceError as error:
        pytest.skip(f"no equilibrium to compare: {error}")
    found = stability(state.system, state.copy(), 0.0)
    state.eigenvalues  # noqa: B018 (from now on these decide)
    assert found is state.stable
    if load < 0.1:
        assert found is stable


@pytest.mark.parametrize("load", [0.05, 0.11, 0.2])
def test_stability_of_a_straight_column(load, sparse):
    """The column is unstable above its buckling load of 0.089 N; nothing pushes it aside."""
    state = column(load).equilibrium()
    assert stability(state.system, state.copy(), 0.0) is (load < 0.089)
    assert state.stable is (load < 0.089) and "eigenvalues" not in vars(state)


def test_stability_that_stiffness_does_not_determine_is_left_to_eigenvalues(sparse):
    """A load that turns with the tip, and one that is a function."""
    follower = damped_column(0.05, 0.0, 0.0, frame="body")
    plain = column(0.05)
    last = plain.bodies[-1]
    of_function = plain.with_parts(quirk.Force("wind", last, lambda t, *motion: [1e-3 - 1e-3 * motion[0][0], 0, 0]))
    for system in (follower, of_function):
        state = system.equilibrium()
        assert stability(state.system, state.copy(), 0.0) is None
        assert state.stable


def test_motions_without_stiffness_count_as_stable(sparse):
    """A beam that hangs on a ball joint, and may turn about its axis."""
    section = quirk.Section(EA=1e4, GA=1e4, GJ=0.05, EI=[0.036, 0.05], mass=0.1, inertia=1e-5)
    beam = quirk.Beam("beam", [0, 0, 0], [0, 0, -1], section=section, elements=12)
    pin = quirk.Spherical("pin", quirk.GROUND, beam.bodies[0], point=[0, 0, 0])
    state = quirk.System([beam, pin], gravity=[0, 0, -9.81]).equilibrium()
    assert stability(state.system, state.copy(), 0.0) in (True, None)


def test_stiff_loads_converge_as_well(monkeypatch, sparse):
    """Near its buckling load a narrow cantilever shows errors of the loads, which large EA makes of small strains."""
    section = quirk.Section(EA=1e8, GA=1e8, GJ=0.8, EI=[1e6, 1.0], mass=1.0, inertia=1e-4)
    beam = quirk.Beam("beam", [0, 0, 0], [1, 0, 0], section=section, elements=12)
    system = held(beam, [0, 0, -0.94 * 4.0126 * np.sqrt(0.8)])
    assert sparse_newton(system, system.initial_state(), 0.0) is not None
    slow = np.abs(system.equilibrium().eigenvalues[:2]).max()
    monkeypatch.setattr(sparse_statics, "LARGE", np.inf)
    assert slow == pytest.approx(np.abs(system.equilibrium().eigenvalues[:2]).max(), rel=1e-5)


def test_motions_without_stiffness_are_left_to_the_dense_search(sparse):
    beam = quirk.Beam("beam", [0, 0, 0], [1, 0, 0], section=STRIP, elements=12)
    ends = [
        quirk.Torque(f"torque {k}", beam.bodies[k], [0, 0, sign * 0.2], frame="body") for k, sign in ((0, -1), (-1, 1))
    ]
    system = quirk.System([beam, *ends])
    assert sparse_newton(system, system.initial_state(), 0.0) is None
    state = system.equilibrium()
    assert state.residual < 1e-8


def test_units_do_not_matter(sparse):
    """The same column in m, kg, s and in mm, g, ms."""

    def tips(length, mass, time):
        force = mass * length / time**2
        section = quirk.Section(
            EA=1e4 * force, GA=1e4 * force, GJ=0.05 * force * length**2, EI=np.array([0.036, 0.05]) * force * length**2,
            mass=0.1 * mass / length, inertia=1e-5 * mass * length,
        )  # fmt: skip
        beam = quirk.Beam("beam", [0, 0, 0], [0, 0, length], section=section, elements=16)
        push = quirk.Force("push", beam.bodies[-1], [1e-2 * force, 0, -0.05 * force], point=beam.end_point)
        system = quirk.System([beam, clamp_of(beam), push])
        found = sparse_newton(system, system.initial_state(), 0.0)
        assert found is not None
        return tip(system, found[0]) / length

    assert tips(1e3, 1e3, 1e3) == pytest.approx(tips(1.0, 1.0, 1.0), rel=1e-9)


@pytest.mark.parametrize("seed", study([1, 5], 1))
def test_a_body_that_hangs_on_a_beam_may_turn_freely(seed):
    """Nothing resists its rotation about the vertical, so the matrix of the mixed Newton method is singular."""
    along = np.random.default_rng(seed).normal(size=3)
    along /= np.linalg.norm(along)
    section = quirk.Section.rectangle(0.03, 0.02, young=1e10, poisson=0.3, density=7850.0)
    beam = quirk.Beam("beam", [0, 0, 0], along, section=section, elements=12)
    load = quirk.Body.box("load", 2.0, [0.1, 0.2, 0.3], position=1.2 * along)
    ball = quirk.Spherical("ball", beam.bodies[-1], load, point=along)
    system = quirk.System([beam, clamp_of(beam), load, ball], gravity=[0, 0, -9.81])
    state = system.equilibrium()
    assert state.residual < 1e-8
    number = [body.name for body in system.bodies].index("load")
    arm = quirk.rotation.matrix(state.orientation[number]) @ (0.2 * along)
    np.testing.assert_allclose(arm, [0, 0, -0.2], atol=1e-8)
    weight = (2.0 + 7850.0 * 0.03 * 0.02) * 9.81
    np.testing.assert_allclose(np.abs(state.loads["clamp"].force), [0, 0, weight], atol=1e-6 * weight)


@pytest.mark.parametrize("elements", [4, 24])
@pytest.mark.parametrize("curve", [None, lambda u: [np.cos(u), np.sin(u), 0.2 * u]])
@pytest.mark.parametrize("load", study([0.0, 1e-12], {1e-12}))
def test_a_beam_with_no_load_to_speak_of_is_at_rest_as_it_is(elements, curve, load):
    section = quirk.Section(EA=1e6, GA=1e6, GJ=100.0, EI=100.0, mass=1.0)
    ends = {"curve": curve} if curve else {"start": [0, 0, 0], "end": [1, 0, 0]}
    beam = quirk.Beam("beam", section=section, elements=elements, **ends)
    clamp = quirk.Fixed("clamp", quirk.GROUND, beam.bodies[0], point=beam.bodies[0].position)
    system = quirk.System([beam, clamp, quirk.Force("load", beam.bodies[-1], [0, 0, load])])
    state = system.equilibrium()
    assert np.abs(state.position - system.initial_state().position).max() <= 1e-12
