"""Slender and light bodies: accelerations and loads against 50 digits, runs, and what they cost."""

import high_precision
import numpy as np
import pytest
from badly_scaled import FAMILIES, chain_of_wires, joint, mechanism, thin_rods
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mechanisms import random_quaternion
from scale_sweep import ALLOWED, sweep
from studies import study

import quirk

ACCELERATIONS, LOADS = 1e-11, 1e-9

# Ratios of moments, and of masses, of which one is extreme.
RATIOS = [(1.0, 1.0), (1e-6, 1.0), (1e-9, 1.0), (1e-12, 1.0), (1.0, 1e-6), (1.0, 1e-9), (1.0, 1e-12), (1e-6, 1e-6)]


def errors(system, solver="sparse"):
    """Largest error of accelerations over the largest, and of unique loads over the largest of all loads."""
    state = system.initial_state()
    linear, angular, loads = high_precision.solve(system, state)
    found = system.acceleration(state, solver=solver)
    # Where gravity finds all bodies held, accelerations are compared with it.
    scale = max(np.abs(linear).max(), np.abs(angular).max(), 9.81)
    wrong = max(np.abs(found.linear - linear).max(), np.abs(found.angular - angular).max()) / scale
    joint_loads, unique = system.joint_loads(state, solver=solver), system.mobility(state).loads
    pairs = [
        (part, joint_loads[name], loads[name])
        for name, load in unique.items()
        for part in ("force", "torque")
        if getattr(load, part) == "unique"
    ]
    values = [(getattr(got, part), true[part == "torque"]) for part, got, true in pairs]
    largest = max(np.abs([(load.force, load.torque) for load in joint_loads.values()]).max(), np.finfo(float).tiny)
    off = max((np.abs(got - true).max() for got, true in values), default=0.0) / largest
    return wrong, off


@pytest.mark.parametrize(("moment", "mass"), study(RATIOS, {*RATIOS[::8]}))
@pytest.mark.parametrize("family", FAMILIES)
def test_accelerations_and_loads_to_fifty_digits(family, moment, mass):
    rng = np.random.default_rng([FAMILIES.index(family), RATIOS.index((moment, mass))])
    system = mechanism(rng, family, moment, mass)
    wrong, off = errors(system)
    assert wrong <= ACCELERATIONS
    assert off <= LOADS


@pytest.mark.slow
@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.sampled_from(FAMILIES), st.sampled_from(RATIOS), st.integers(0, 10**6))
def test_random_ones_to_fifty_digits(family, ratios, seed):
    system = mechanism(np.random.default_rng(seed), family, *ratios)
    wrong, off = errors(system)
    assert wrong <= ACCELERATIONS
    assert off <= LOADS


@pytest.mark.parametrize("trials", study([4, 32], 1))
@pytest.mark.parametrize("moment", 10.0 ** -np.arange(7.0, 11.0, 0.5))
def test_chains_of_thin_rods_for_which_blocks_are_too_inexact(moment, trials):
    """Between moments for which refinement converges and those for which pivots tell that it would not."""
    rng = np.random.default_rng(11)
    for trial in range(trials):
        system = thin_rods(rng, 3 + trial % 4, moment, trial % 2)
        state = system.initial_state()
        true, found = (system.acceleration(state, solver=solver) for solver in ("dense", "sparse"))
        for part in ("linear", "angular"):
            scale = np.abs(getattr(true, part)).max()
            assert np.abs(getattr(found, part) - getattr(true, part)).max() <= ACCELERATIONS * scale, trial


@pytest.mark.slow
@pytest.mark.parametrize("of_masses", [False, True])
def test_a_sample_of_the_sweep(of_masses):
    """As the table in docs/measured.md has it."""
    for errors in sweep([1e-5, 3e-7, 1e-8, 1e-12], of_masses, 14):
        assert errors[0][0] <= ALLOWED, errors[0]


@pytest.mark.parametrize("moment", [1e-8, 1e-9])
def test_derivatives_of_chains_of_thin_rods(moment):
    """Series use the factorization of accelerations for further right-hand sides."""
    rng = np.random.default_rng(11)
    for trial in range(8):
        system = thin_rods(rng, 3 + trial % 4, moment, trial % 2)
        state = system.initial_state()
        true, found = (system.derivatives(state, order=2, solver=solver) for solver in ("dense", "sparse"))
        assert np.abs(found.linear - true.linear).max() <= 1e-8 * np.abs(true.linear).max(), trial


@pytest.mark.parametrize("hub", study([1.0, 1e-3, 1e-9], {1e-9}))
def test_heavy_branches_on_a_slender_hub(hub):
    rng = np.random.default_rng(4)
    middle = quirk.Body("hub", hub, 0.1 * hub * np.array([1e-7, 1.0, 1.0]), orientation=random_quaternion(rng))
    branches = [
        quirk.Body(f"b{k}", 10.0**k, 10.0**k * np.array([0.1, 0.1, 0.15]), position=rng.uniform(-1, 1, 3))
        for k in range(6)
    ]
    joints = [joint(rng, f"j{k}", middle, branch) for k, branch in enumerate(branches)]
    system = quirk.System([middle, *branches, *joints, joint(rng, "root", quirk.GROUND, middle)], gravity=[1, 2, -9.81])
    wrong, off = errors(system)
    assert wrong <= ACCELERATIONS
    assert off <= LOADS


@pytest.mark.parametrize("mass", [1.0, 1e-6, 1e-12])
@pytest.mark.parametrize("moment", [1e-6, 1e-12])
def test_ball_joints_on_the_axes_of_wires_do_not_spin_them(moment, mass):
    system = chain_of_wires(np.random.default_rng(3), moment, mass)
    wrong, off = errors(system)
    assert wrong <= ACCELERATIONS
    assert off <= LOADS
    assert np.abs(system.acceleration(system.initial_state()).angular[:, 0]).max() <= 1e-14


@pytest.mark.parametrize(("moment", "mass"), study([(1.0, 1e-9), (1e-12, 1.0), (1e-9, 1.0)], 2))
@pytest.mark.parametrize("family", FAMILIES)
def test_the_dense_reference_is_as_good(family, moment, mass):
    system = mechanism(np.random.default_rng(FAMILIES.index(family)), family, moment, mass)
    assert errors(system, "dense")[0] <= ACCELERATIONS


@pytest.mark.parametrize("solver", ["sparse", "dense"])
def test_a_needle_hangs_on_its_weld(solver):
    needle = quirk.Body.cylinder("needle", 1e-3, radius=5e-6, length=1.0, axis="x", position=[0.5, 0.2, 0.1])
    weld = quirk.Fixed("weld", quirk.GROUND, needle, point=[0.3, 0.25, 0.0])
    system = quirk.System([needle, weld], gravity=[0, 0, -9.81])
    state = system.initial_state()
    assert np.abs(system.acceleration(state, solver=solver).linear).max() <= 1e-12
    load = system.joint_loads(state, solver=solver)["weld"]
    assert np.allclose(load.force, [0, 0, 9.81e-3], rtol=1e-12, atol=1e-15)
    result = quirk.simulate(system, 1.0, output=0.5, solver=solver)
    assert np.abs(result["needle"].position - [0.5, 0.2, 0.1]).max() <= 1e-13


def test_runs_of_a_chain_of_wires():
    system = chain_of_wires(np.random.default_rng(1), 1e-6, 1.0)
    result = quirk.simulate(system, 1.0, rtol=1e-10, atol=1e-12, output=0.25)
    assert result.energy.drift <= 1e-9
    assert result.residual.position.max() <= 1e-12
    sparse, dense = (
        quirk.simulate(system, 0.1, method="RK4", step=2e-3, output=0.05, solver=solver)
        for solver in ("sparse", "dense")
    )
    for part, found in vars(sparse.state).items():
        if isinstance(found, np.ndarray):
            assert np.allclose(found, vars(dense.state)[part], atol=1e-9), part


def test_a_driven_four_bar_with_links_of_a_microgram():
    """Without projection, too: what the joints carry keeps them together."""
    points = np.array([[0, 0, 0], [0, 0, 1.0], [2.0, 0, 1.5], [2.5, 0, 0]])
    links = []
    for k, mass in enumerate((1.0, 1e-9, 1.0)):
        along = points[k + 1] - points[k]
        angle, length = np.arctan2(along[2], along[0]), np.linalg.norm(along)
        links.append(
            quirk.Body.box(f"link{k}", mass, [length, 0.05, 0.05], position=(points[k] + points[k + 1]) / 2,
                           orientation=[np.cos(angle / 2), 0, -np.sin(angle / 2), 0])
        )  # fmt: skip
    ends = [quirk.GROUND, *links, quirk.GROUND]
    hinges = [quirk.Revolute(f"h{k}", ends[k], ends[k + 1], point=points[k], axis=[0, 1, 0]) for k in range(4)]
    drive = quirk.Drive("motor", hinges[0], quirk.Motion.constant_rate(0.5))
    system = quirk.System([*links, *hinges, drive], gravity=[0, 0, -9.81])
    system.assemble()
    result = quirk.simulate(system, 0.5, stabilization=None, output=0.1)
    assert result.residual.position.max() <= 1e-9
    assert np.abs(result["h2"].force()).max() > 1.0
    angle = 0.5 * result.time
    tip = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    # The other end of the coupler is above the line from the crank's tip to the pin on the ground.
    coupler, rocker = (np.linalg.norm(points[k + 1] - points[k]) for k in (1, 2))
    across = points[3, [0, 2]] - tip
    apart = np.linalg.norm(across, axis=1)
    along = (apart**2 + coupler**2 - rocker**2) / (2 * apart)
    unit = across / apart[:, None]
    end = tip + along[:, None] * unit + np.sqrt(coupler**2 - along**2)[:, None] * np.stack([-unit[:, 1], unit[:, 0]], 1)
    exact = 0.5 * (end + points[3, [0, 2]])
    assert np.abs(result["link2"].position[:, [0, 2]] - exact).max() <= 1e-8


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e3])
def test_units_do_not_matter(unit, mass):
    """Lengths in millimeters or kilometers, masses in grams or tonnes."""

    def made(unit, mass):
        rod = quirk.Body("rod", mass, mass * unit**2 * np.array([1e-7, 0.08, 0.08]), position=[0.5 * unit, 0, 0])
        light = quirk.Body("light", 1e-8 * mass, 1e-8 * mass * unit**2 * np.array([0.01, 0.08, 0.08]),
                           position=[1.5 * unit, 0, 0])  # fmt: skip
        one = quirk.Revolute("one", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
        two = quirk.Spherical("two", rod, light, point=[unit, 0.1 * unit, 0])
        three = quirk.Distance("three", light, quirk.GROUND, point_i=[0.5 * unit, 0, 0], point_j=[2 * unit, 0, unit])
        return quirk.System([rod, light, one, two, three], gravity=[0, 0, -9.81 * unit])

    system, one = made(unit, mass), made(1.0, 1.0)
    assert system.mobility().rank == one.mobility().rank
    found, true = (s.acceleration(s.initial_state()) for s in (system, one))
    assert np.allclose(found.linear, unit * true.linear, rtol=1e-10, atol=1e-11 * unit)
    assert np.allclose(found.angular, true.angular, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scale", [1e160, 1e200, 1e300, 1e-160, 1e-300])
def test_functions_of_a_size_whose_squares_are_no_floats_are_named(scale):
    bead = quirk.Body("bead", 1.0, [0.1, 0.1, 0.1])
    floor = quirk.Implicit("floor", bead, lambda t, bead: scale * bead.position[2])
    system = quirk.System([bead, floor], gravity=[1, 0, -9.81])
    with pytest.raises(quirk.InputError, match=r'Implicit "floor": phi\[0\] changes by up to .* multiply it by'):
        quirk.simulate(system, 1.0)
    for ask in (system.mobility, lambda: system.acceleration(system.initial_state())):
        with pytest.raises(quirk.InputError, match="multiply it by"):
            ask()


@pytest.mark.parametrize("scale", [1e120, 1e-120])
def test_functions_of_any_size_whose_squares_are_floats_hold(scale):
    bead = quirk.Body("bead", 1.0, [0.1, 0.1, 0.1])
    floor = quirk.Implicit("floor", bead, lambda t, bead: scale * bead.position[2])
    result = quirk.simulate(quirk.System([bead, floor], gravity=[1, 0, -9.81]), 1.0, output=0.5)
    assert np.allclose(result["bead"].position[-1], [0.5, 0, 0], atol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["Vern9", "Taylor"])
@pytest.mark.parametrize(
    ("length", "time"), study([(1e-9, 1.0), (1.0, 1e9), (1e-6, 1.0), (1e6, 1.0), (1.0, 1e-9), (1e-6, 1e-6)], 2)
)
def test_runs_of_any_scale(length, time, method):
    """Arms of micrometers are not rounded as directions are; squares of coefficients of series stay floats."""

    def run(meter, second):
        rng = np.random.default_rng(0)
        bodies, joints, before, point = [], [], quirk.GROUND, np.zeros(3)
        for k, kind in enumerate(("hinge", "cross", "hinge")):
            along, axis, across = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            body = quirk.Body(
                f"body {k}", 1.0, 0.05 * meter**2 * np.diag([1.0, 1.3, 1.7]), position=meter * (point + 0.5 * along),
                orientation=random_quaternion(rng), angular_velocity=rng.normal(size=3) / second,
            )  # fmt: skip
            where = {"point": meter * point}
            joints.append(
                quirk.Revolute(kind + str(k), before, body, axis=axis, **where)
                if kind == "hinge"
                else quirk.Universal(kind + str(k), before, body, axis_i=axis, axis_j=across, **where)
            )
            bodies.append(body)
            before, point = body, point + along
        system = quirk.System([*bodies, *joints], gravity=[0, 0, -9.81 * meter / second**2])
        system.assemble()
        least = 1e-13 * min(1.0, meter, 1 / second, meter / second)
        result = quirk.simulate(system, second, method=method, rtol=1e-11, atol=least, output=[0.5 * second, second])
        states = [
            np.hstack([result[body].velocity * second / meter, result[body].angular_velocity * second])
            for body in bodies
        ]
        loads = [result[joint].force() * second**2 / meter for joint in joints]
        return np.hstack([*states, *loads]), result.statistics.steps

    (found, steps), (same, usual) = run(length, time), run(1.0, 1.0)
    np.testing.assert_allclose(found, same, atol=1e-8)
    assert steps <= 3 * usual
