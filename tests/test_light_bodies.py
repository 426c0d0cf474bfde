"""Light bodies between heavy ones: double-double arithmetic, accelerations to 50 digits, runs, and what is refused."""

import warnings
from fractions import Fraction

import high_precision
import numpy as np
import pytest
from badly_scaled import between_balls, of_any_mass
from scale_sweep import compared
from studies import study

import quirk
from quirk.dynamics.sparse.kernels.workspace import DOUBLED
from quirk.jit.compilation import entry
from quirk.jit.double_double import DoubleDouble
from quirk.jit.simd import load, store
from quirk.jit.tracing import traced

# Error of accelerations over the largest.
ERROR = 1e-11


@traced
def combined(numbers, results):
    """Results of operations on eight pairs of numbers, higher and lower parts one after the other."""
    a, b, c, d = (load(numbers, 8 * k) for k in range(4))
    one, two = DoubleDouble(a, b), DoubleDouble(c, d)
    for k, found in enumerate((one + two, one - two, one * two, one.inverse(), 2.0 - one * c, -two)):
        store(results, 16 * k, found.high)
        store(results, 16 * k + 8, found.low)


@entry(needed_by="tests need")
def combine(numbers: np.ndarray, results: np.ndarray) -> bool:
    combined(numbers, results)
    return True


@pytest.mark.parametrize("compiled", [True, False])
def test_double_double_arithmetic(compiled):
    rng = np.random.default_rng(0)
    for _ in range(20):
        high = rng.normal(size=(2, 8)) * 10.0 ** rng.uniform(-8, 8, (2, 8))
        low = high * rng.uniform(-1e-16, 1e-16, (2, 8))
        numbers, results = np.stack([high, low], axis=1).ravel(), np.zeros(96)
        (combine if compiled else combined)(numbers, results)
        for lane in range(8):
            (a, b), c = ([Fraction(high[k, lane]) + Fraction(low[k, lane]) for k in range(2)], Fraction(high[1, lane]))
            found = [Fraction(x) + Fraction(y) for x, y in results.reshape(6, 2, 8)[:, :, lane]]
            terms = abs(a) + abs(b)
            true = [(a + b, terms), (a - b, terms), (a * b, abs(a * b)), (1 / a, abs(1 / a)), (2 - a * c, 2 + abs(a * c)),
                    (-b, abs(b))]  # fmt: skip
            for k, (value, size) in enumerate(true):
                assert abs(found[k] - value) <= Fraction(1e-31) * size, (k, lane)


def doubled(system):
    """Whether the accelerations of the initial state are computed in double-double arithmetic."""
    solver = system.plant.solver()
    y = solver.slots.state_to_lanes(system.initial_state().pack())
    solver.settle(y, 0.0)
    solver.rates(0.0, y)
    return solver.work.summary[DOUBLED] > 0.0


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("seed", study(range(8), 1))
@pytest.mark.parametrize("decades", [3, 6, 8])
def test_masses_over_many_decades_to_fifty_digits(decades, seed, closed):
    """Trees and loops of joints of all kinds; masses are 10^-decades to 10^decades kg."""
    system = of_any_mass(np.random.default_rng([seed, decades]), decades, closed)
    state = system.initial_state()
    assert compared(system.acceleration(state), high_precision.solve(system, state)[:2]) <= ERROR


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("seed", study(range(12), 2))
def test_masses_beyond_all_limits_are_right_or_refused(seed, closed):
    system = of_any_mass(np.random.default_rng(seed), 15, closed)
    state = system.initial_state()
    try:
        found = system.acceleration(state)
    except quirk.InputError as error:
        assert "inertias differ too much" in str(error)
    else:
        assert compared(found, high_precision.solve(system, state)[:2]) <= 1e-9


@pytest.mark.parametrize("seed", study(range(6), 1))
@pytest.mark.parametrize("mass", [1e-4, 1e-7, 1e-9, 1e-12])
@pytest.mark.parametrize("closed", [False, True])
def test_a_light_rod_between_ball_joints(closed, mass, seed):
    """No load turns it about the line through both."""
    system = between_balls(np.random.default_rng(seed), mass, closed)
    state = system.initial_state()
    assert compared(system.acceleration(state), high_precision.solve(system, state)[:2]) <= ERROR
    assert doubled(system) or mass > 1e-8  # above that, doubles can be exact enough


def test_masses_are_measured_by_each_other():
    """In grams or tonnes, in millimeters or kilometers."""
    for unit in (1e-3, 1.0, 1e3):
        for mass in (1e-6, 1.0, 1e6):
            system = between_balls(np.random.default_rng(1), 1e-10, True, unit, mass)
            assert doubled(system)
            true = high_precision.solve(system, system.initial_state())[:2]
            found = system.acceleration(system.initial_state())
            assert np.abs(found.linear - true[0]).max() <= ERROR * np.abs(true[0]).max()
            assert np.abs(found.angular - true[1]).max() <= ERROR * np.abs(true[1]).max()


@pytest.mark.parametrize("moment", [1.0, 1e-6, 1e-12])
def test_bodies_alike_and_slender_ones_need_doubles_only(moment):
    """Ball joints on the axes of slender rods do not turn them; hinges hold them."""
    parts, lower = [], quirk.GROUND
    for k in range(5):
        body = quirk.Body(f"rod{k}", 1.0, [0.1 * moment, 0.1, 0.1], position=[k + 0.5, 0, 0])
        kind = {"axis": [0, 1, 0]} if k % 2 else {}
        parts += [
            body,
            (quirk.Revolute if kind else quirk.Spherical)(f"joint{k}", lower, body, point=[k, 0, 0], **kind),
        ]
        lower = body
    assert not doubled(quirk.System(parts, gravity=[0, 0, -9.81]))


@pytest.mark.parametrize("extra", ["friction", "drive"])
def test_with_friction_and_relations(extra):
    """Their loads are summed with those of other constraints; neither turns the rod."""
    system = between_balls(np.random.default_rng(3), 1e-11, True)
    first = system["first"]
    system = system.with_parts(
        quirk.JointFriction("friction", first, coulomb=0.1, creep=1e-3)
        if extra == "friction"
        else quirk.Drive("drive", first, quirk.Motion.polynomial([0, 0, 1.0]))
    )
    assert doubled(system)
    state, rod = system.initial_state(), system.bodies.index(system["rod"])
    state.angular_velocity[:] = np.random.default_rng(4).normal(size=(3, 3))
    found, body = system.acceleration(state), system["rod"]
    # The moment about the line through both joints is that of the inertia of the rod, in its axes.
    R, omega, inertia = quirk.rotation.matrix(state.orientation[rod]), state.angular_velocity[rod], body.inertia
    arms = system["first to rod"].frame_j.origin, system["rod to last"].frame_i.origin
    thrust = body.mass * R.T @ (found.linear[rod] - system.gravity)
    moment = inertia @ found.angular[rod] + np.cross(omega, inertia @ omega) - np.cross(arms[0], thrust)
    assert abs(moment @ np.subtract(*arms)) <= 1e-9 * body.mass * np.abs(found.linear).max()


@pytest.mark.parametrize("method", ["Vern9", "DOP853", "RadauIIA9"])
def test_runs_with_a_light_rod(method):
    """It moves as a rod of 1e-6 of the mass does, whose accelerations need no more digits, but for that part."""
    found, like = (between_balls(np.random.default_rng(2), mass, True) for mass in (1e-11, 1e-6))
    assert doubled(found)
    runs = [quirk.simulate(system, 0.3, method=method, rtol=1e-10, atol=1e-12, output=0.1) for system in (found, like)]
    for name in ("one", "two", "rod"):
        one, other = (run[name].angular_velocity for run in runs)
        assert np.abs(one - other).max() <= 1e-4 * np.abs(other).max(), name
    assert runs[0].energy.drift <= 1e-8


def test_members_of_batches_with_light_bodies_are_computed_by_themselves():
    system = between_balls(np.random.default_rng(2), 1e-11, False)
    batch = quirk.Batch(system, 2, method="RK4", step=1e-3)
    batch.advance(0.05)
    single = quirk.simulate(system, 0.05, method="RK4", step=1e-3, output=[0.05])
    for part in ("position", "angular_velocity"):
        found, true = getattr(batch.state, part)[1], getattr(single.state, part)[-1]
        assert np.abs(found - true).max() <= 1e-12


def both(acceleration):
    return acceleration.linear, acceleration.angular


def by_dense(system):
    """Whether the dense solver gives a RoundOffWarning, and the error of its accelerations over the largest."""
    state = system.initial_state()
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        dense = both(system.acceleration(state, solver="dense"))
    sparse = both(system.acceleration(state))
    error = max(np.abs(d - s).max() / np.abs(s).max() for d, s in zip(dense, sparse, strict=True))
    return any(w.category is quirk.RoundOffWarning for w in given), error


@pytest.mark.parametrize("decades", [3, 8, None])
def test_the_dense_solver_warns_where_it_loses_digits_and_only_there(decades):
    """Trees and loops of bodies of any mass, and light rods between balls, on seeds 0 to 29."""
    lost = kept = 0
    for seed in range(30):
        rng = np.random.default_rng([seed, decades or 0])
        light = 10.0 ** -rng.integers(3, 13)
        system = of_any_mass(rng, decades, seed % 2) if decades else between_balls(rng, light, seed % 2)
        warned, error = by_dense(system)
        assert warned or error < 1e-8, (seed, error)
        if warned:
            # Round-off may cancel in one order of the parts; it depends on the processor in which.
            parts = [*system.bodies, *system.constraints, *system.forces]
            orders = [quirk.System(rng.permutation(parts).tolist(), gravity=system.gravity) for _ in range(4)]
            largest = max(error, *(by_dense(other)[1] for other in orders))
            assert largest > 1e-11, (seed, largest)
        lost, kept = lost + warned, kept + (not warned)
    assert kept > 0 and (lost > 0 or decades == 3)


def test_runs_with_the_dense_solver_warn_at_the_line_of_the_caller():
    system = between_balls(np.random.default_rng(0), 1e-12, True)
    with pytest.warns(quirk.RoundOffWarning, match=r"'rod', 1e-12 kg, by .* m/s\^2, .* masses differ by") as given:
        quirk.simulate(system, 0.01, method="RK4", step=0.005, solver="dense", output=[0.01])
    assert given[0].filename == __file__
