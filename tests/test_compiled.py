"""Compilation: traced functions, machine code kept and renewed, functions of a user called by pointer."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest
from mechanisms import pendulum

import quirk
from quirk.dynamics.model import vectors
from quirk.jit import simd as lanes
from quirk.jit.compilation import OPTIONS
from quirk.jit.tracing import traced

ROOT = Path(quirk.__file__).parent


def entry_of(function, *arguments):
    """Run a function of plain arguments both ways."""
    return numba.njit(function)(*arguments), function(*arguments)


def test_lanes():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 16))

    def work(x, y, out):
        a, b = lanes.load(x, 3), lanes.load(y, 0)
        lanes.store(out, 0, 2.0 * a - b / 3.0 + a * b - 1.5)
        lanes.store(out, 8, lanes.greater(lanes.root(a * a), -b))
        lanes.put(out, 16, lanes.total(a))
        lanes.put(out, 17, lanes.highest(b))
        lanes.add(out, 17, lanes.at(x, 2))
        lanes.store(out, 18, lanes.splat(lanes.at(y, 1)))

    results = [np.zeros(26) for _ in range(2)]
    numba.njit(work)(x, y, results[0])
    work(x, y, results[1])
    np.testing.assert_allclose(results[0], results[1], rtol=1e-14)
    a, b = x[3:11], y[:8]
    np.testing.assert_allclose(results[1][:8], 2 * a - b / 3 + a * b - 1.5, rtol=1e-14)
    np.testing.assert_allclose(results[1][16:18], [a.sum(), b.max() + x[2]], rtol=1e-14)


def test_lanes_of_which_four_matter():
    x, y = np.random.default_rng(2).normal(size=(2, 8))

    def work(x, y, out):
        few = lanes.halved(x)
        a, b = lanes.load(few, 0), lanes.load(lanes.halved(y), 0)
        lanes.store(lanes.halved(out), 0, 2.0 * a - b / 3.0 + (lanes.zero_of(few) - a) * b)
        lanes.store(out, 8, lanes.widened(a + 1.0))

    compiled, plain = np.full((2, 16), np.nan)
    numba.njit(**OPTIONS)(work)(x, y, compiled)  # without counts of references, as all kernels are
    work(x, y, plain)
    np.testing.assert_allclose(compiled[:4], (2 * x - y / 3 - x * y)[:4], rtol=1e-14)
    assert np.isnan(compiled[4:8]).all()  # not written
    np.testing.assert_array_equal(compiled[8:], [*(x[:4] + 1), 0, 0, 0, 0])
    for part in (slice(4), slice(8, 16)):
        np.testing.assert_allclose(compiled[part], plain[part], rtol=1e-14)


def test_products_of_lanes():
    """The terms of a cross product, of a scalar product and of a matrix times a vector."""
    M, a = (np.random.default_rng(3).normal(size=shape) for shape in ((3, 3, 8), (3, 8)))

    def work(M, a, out):
        v, row = vectors.load3(a, 0), vectors.load3(M, 0)
        vectors.store3(out, 0, vectors.minus(vectors.cyclic(row, v), vectors.cyclic(v, row)))
        vectors.store3(out, 24, vectors.componentwise(row, v))
        x, y, z = vectors.column(M, 0, 0), vectors.column(M, 0, 1), vectors.column(M, 0, 2)
        product = vectors.plus(vectors.times(x, v[0]), vectors.times(y, v[1]))
        vectors.store3(out, 48, vectors.plus(product, vectors.times(z, v[2])))

    want = np.stack([np.cross(M[0], a, axis=0), M[0] * a, np.einsum("ijn,jn->in", M, a)])
    out = np.zeros((2, 72))
    numba.njit(work)(M.ravel(), a.ravel(), out[0])
    work(M.ravel(), a.ravel(), out[1])
    for found in out:
        np.testing.assert_allclose(found.reshape(3, 3, 8), want, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", ["plus", "minus", "cross"])
def test_vectors_of_numbers_and_of_lanes(name):
    function = getattr(vectors, name)
    want = {"plus": np.add, "minus": np.subtract, "cross": np.cross}[name]
    a, b = np.random.default_rng(1).normal(size=(2, 3))

    def work(a, b):
        return function((a[0], a[1], a[2]), (b[0], b[1], b[2]))

    for got in entry_of(work, a, b):
        np.testing.assert_allclose(got, want(a, b), rtol=1e-14)


def test_traced_functions_write_out_loops_over_constants():
    @traced
    def power(x):
        result = 1.0
        for _ in range(3):
            result = result * x
        return result

    def work(x):
        return power(x)

    assert entry_of(work, 1.5) == (1.5**3, 1.5**3)


def test_lanes_that_are_not_numbers_are_noticed():
    def work(x):
        return lanes.total(lanes.load(x, 0))

    x = np.ones(8)
    x[5] = np.nan
    assert all(np.isnan(got) for got in entry_of(work, x))


SCRIPT = """
import numpy as np
from quirk.constraints.primitives import PrimitiveTable, constraint_time_derivatives
table = PrimitiveTable(*(np.zeros(0, int) for _ in range(2)), np.zeros((0, 2), int), np.zeros((0, 2, 3)), np.zeros((0, 2, 3)), np.zeros(0))
constraint_time_derivatives(table, np.zeros((1, 3, 3)), np.zeros((1, 2, 3)), np.zeros((1, 1, 3)), np.zeros((3, 2, 3)), np.zeros((0, 2)))
stats = constraint_time_derivatives.compiled.stats
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.mark.slow
def test_machine_code_is_renewed_when_any_kernel_changed(tmp_path):
    """A kernel in another file than the entry that calls it, which numba by itself does not see; but not a plot."""
    package = tmp_path / "quirk"
    shutil.copytree(ROOT, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("constraints", "integrators"):
        folder = package / name
        if not folder.exists():
            shutil.copytree(ROOT.parent / name, folder, ignore=shutil.ignore_patterns("__pycache__"))

    def run():
        environment = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], capture_output=True, text=True, cwd=tmp_path, env=environment
        )
        assert done.returncode == 0, done.stderr
        assert done.stderr == ""
        return done.stdout.split()

    assert run() == ["0", "1"]
    assert run() == ["1", "0"]
    derivatives = package / "constraints" / "time_derivatives.py"
    plot = package / "graphics" / "plot" / "plot.py"
    for path, line, counts in (
        (derivatives, "# changed", ["1", "0"]),
        (derivatives, "CHANGED = True", ["0", "1"]),
        (plot, "CHANGED = True", ["1", "0"]),
    ):
        path.write_text(f"{path.read_text()}\n{line}\n")
        assert run() == counts, (path, line)


def spinning(torque):
    body = quirk.Body("top", 1.0, [1, 2, 3], angular_velocity=[0.1, 2, 0.3])
    return quirk.System([body, quirk.Torque("brake", body, torque)])


def brake(t, position, orientation, velocity, angular_velocity):
    return -0.3 * angular_velocity[0], -0.2 * angular_velocity[1] + t, orientation[0]


def test_users_functions_compiled_and_plain():
    results = [quirk.simulate(spinning(f), 1.0, output=0.1) for f in (brake, numba.njit(brake))]
    np.testing.assert_allclose(results[0].state.angular_velocity, results[1].state.angular_velocity, rtol=1e-12)
    assert results[0].statistics.evaluations == results[1].statistics.evaluations


def test_users_compiled_functions_of_a_joint():
    def motor(t, angle, rate):
        return np.sin(3 * angle) - 0.1 * rate + t

    found = []
    for function in (motor, numba.njit(motor)):
        system = pendulum(lambda rod, hinge, f=function: quirk.JointTorque("motor", hinge, f), thickness=0.1)
        found.append(quirk.simulate(system, 1.0, output=0.1)["hinge"].rotation)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)


def test_keyboard_interrupt_within_a_users_function_ends_the_run_with_what_there_is():
    def interrupted(t, *motion):
        if t > 0.5:
            raise KeyboardInterrupt
        return [0, 0, 0]

    result = quirk.simulate(spinning(interrupted), 1.0, method="RK4", step=0.01)
    assert result.status == "interrupted"
    assert 0.4 < result.time[-1] <= 0.5


def test_errors_of_a_users_function_reach_the_user():
    with pytest.raises(quirk.InputError, match=r'Torque "brake".*failed at t = 0 s: ZeroDivisionError'):
        quirk.simulate(spinning(lambda t, *motion: 1 / 0), 1.0)
    with pytest.raises(quirk.SimulationError, match=r'Torque "brake".*must have shape') as error:
        quirk.simulate(spinning(lambda t, *motion: [0, 0, 0] if t < 0.5 else [0, 0]), 1.0)
    assert error.value.result.time[-1] == pytest.approx(0.5, abs=1e-3)


def test_runs_do_not_share_arrays():
    """A function that itself asks the system for accelerations does not disturb the run."""
    bare = pendulum(thickness=0.1)

    def nosy(t, angle, rate):
        bare.acceleration(bare.initial_state())
        return 0.0

    system = pendulum(lambda rod, hinge: quirk.JointTorque("none", hinge, nosy), thickness=0.1)
    one, other = (quirk.simulate(s, 0.2, method="RK4", step=0.01) for s in (bare, system))
    np.testing.assert_array_equal(one.state.position, other.state.position)
