"""Integrators on plain differential equations, without bodies."""

from dataclasses import replace

import numpy as np
import pytest
from quirk.integrators import (
    DOP853,
    RK4,
    RK45,
    TABLEAUX,
    TSIT5,
    VERN9,
    IntegrationError,
    Recorder,
    Statistics,
    Tolerance,
    adaptive_steps,
    fixed_steps,
    stiff_steps,
)

EACH = pytest.mark.parametrize("tableau", TABLEAUX.values(), ids=TABLEAUX)
ADAPTIVE = pytest.mark.parametrize("tableau", [RK45, TSIT5, DOP853, VERN9], ids=lambda tableau: tableau.name)


def kepler(t, y):
    """An orbit of eccentricity 0.3 in the plane."""
    r3 = np.hypot(y[0], y[1]) ** 3
    return np.array([y[2], y[3], -y[0] / r3, -y[1] / r3])


def kepler_exact(t, e=0.3):
    E = t
    for _ in range(60):
        E = E - (E - e * np.sin(E) - t) / (1 - e * np.cos(E))
    b, rate = np.sqrt(1 - e * e), 1 / (1 - e * np.cos(E))
    return np.array([np.cos(E) - e, b * np.sin(E), -np.sin(E) * rate, b * np.cos(E) * rate])


def forced(t, y):
    """Not autonomous; exact solution y = sin(t) + cos(3 t)."""
    return np.array([np.cos(t) - 3 * np.sin(3 * t) - 0.5 * (y[0] - np.sin(t) - np.cos(3 * t))])


def forced_exact(t):
    return np.array([np.sin(t) + np.cos(3 * t)])


def run(f, exact, end, step, tableau, times=None):
    recorder = Recorder(times, None)
    if times is None or times[0] <= 0:
        recorder.keep(0.0, exact(0.0))
    for s in fixed_steps(f, 0.0, exact(0.0), end, step, tableau, None, Statistics()):
        recorder.add(s)
    return np.array(recorder.times), np.array(recorder.states)


def slope(sizes, errors):
    return np.polyfit(np.log(sizes), np.log(errors), 1)[0]


# Numbers of steps at which the error is asymptotic and above round-off.
COUNTS = {
    ("RK4", "kepler"): [60, 90, 135],
    ("RK4", "forced"): [60, 90, 135],
    ("RK45", "kepler"): [60, 90, 135],
    ("RK45", "forced"): [40, 60, 90],
    ("Tsit5", "kepler"): [60, 90, 135],
    ("Tsit5", "forced"): [40, 60, 90],
    ("DOP853", "kepler"): [40, 48, 56, 64],
    ("DOP853", "forced"): [10, 14, 20],
    ("Vern9", "kepler"): [16, 20, 24],
    ("Vern9", "forced"): [8, 10, 12],
}


@pytest.mark.parametrize(("name", "problem"), COUNTS)
def test_order_of_steps(name, problem):
    f, exact = {"kepler": (kepler, kepler_exact), "forced": (forced, forced_exact)}[problem]
    tableau, counts, end = TABLEAUX[name], COUNTS[name, problem], 3.0
    errors = [np.abs(run(f, exact, end, end / n, tableau)[1][-1] - exact(end)).max() for n in counts]
    assert slope([1 / n for n in counts], errors) == pytest.approx(tableau.order, abs=0.2)


@EACH
def test_order_of_dense_output(tableau):
    """Cubic for RK4, of order 4 for RK45 and Tsit5, 7 for DOP853 and 9 for Vern9: one more for the error within a step.

    The step starts away from the apsides of the orbit, where terms of the error vanish by symmetry.
    """
    want = {"RK4": 4, "RK45": 5, "Tsit5": 5, "DOP853": 8, "Vern9": 10}[tableau.name]
    sizes = {4: [0.2, 0.1, 0.05], 5: [0.2, 0.1, 0.05], 8: [0.2, 0.16, 0.13], 10: [0.4, 0.33, 0.27]}[want]
    exact = lambda t: kepler_exact(t + 1.5)  # noqa: E731
    errors = []
    for h in sizes:
        times = h * np.linspace(0.05, 0.95, 37)
        _, states = run(kepler, exact, h, h, tableau, times)
        errors.append(max(np.abs(y - exact(t)).max() for t, y in zip(times, states, strict=True)))
    assert slope(sizes, errors) == pytest.approx(want, abs=0.2)


@EACH
def test_dense_output_meets_both_ends_and_their_slopes(tableau):
    step = next(fixed_steps(kepler, 0.0, kepler_exact(0.0), 0.3, 0.3, tableau, None, Statistics()))
    np.testing.assert_allclose(step.sample(0.0), step.y, atol=1e-15)
    np.testing.assert_allclose(step.sample(0.3), step.y_new, atol=1e-14)
    eps = 1e-6
    np.testing.assert_allclose((step.sample(eps) - step.y) / eps, kepler(0, step.y), atol=1e-5)
    np.testing.assert_allclose((step.y_new - step.sample(0.3 - eps)) / eps, kepler(0, step.y_new), atol=1e-5)


@ADAPTIVE
def test_adaptive_steps_keep_the_tolerance_within_a_work_budget(tableau):
    budget = {
        "RK45": {1e-4: 140, 1e-7: 420, 1e-10: 1700},
        "Tsit5": {1e-4: 150, 1e-7: 460, 1e-10: 1700},
        "DOP853": {1e-4: 230, 1e-7: 360, 1e-10: 620},
        "Vern9": {1e-4: 230, 1e-7: 370, 1e-10: 680},
    }
    for rtol, most in budget[tableau.name].items():
        statistics, evaluations = Statistics(), []

        def counted(t, y, evaluations=evaluations):
            evaluations.append(t)
            return kepler(t, y)

        tolerance = Tolerance(rtol, rtol, np.array([0, 2]))
        for step in adaptive_steps(counted, 0.0, kepler_exact(0.0), 6.0, tableau, tolerance, None, statistics):
            last = step.y_new
        assert np.abs(last - kepler_exact(6.0)).max() < 60 * rtol
        assert len(evaluations) < most
        assert statistics.rejected < 0.2 * statistics.steps + 2


def test_error_norm_does_not_depend_on_the_axes():
    tolerance = Tolerance(1e-3, 1e-6, np.array([0, 3]))
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    e, y, z = np.random.default_rng(1).normal(size=(3, 6))
    turned = [np.concatenate([Q @ v[:3], Q @ v[3:]]) for v in (e, y, z)]
    assert tolerance.norm(*turned) == pytest.approx(tolerance.norm(e, y, z), rel=1e-13)


def test_time_runs_back():
    """RK4 over a step and back misses by the square of its error only."""
    forward = run(kepler, kepler_exact, 1.0, 0.01, RK4)[1][-1]
    reverse = lambda t, y: -kepler(1.0 - t, y)  # noqa: E731
    for step in fixed_steps(reverse, 0.0, forward, 1.0, 0.01, RK4, None, Statistics()):
        back = step.y_new
    assert np.abs(back - kepler_exact(0.0)).max() < 1e-8


def test_last_step_ends_where_asked():
    times, _ = run(forced, forced_exact, 1.0, 0.3, RK4)
    np.testing.assert_allclose(times, [0, 0.3, 0.6, 0.9, 1.0])
    times, _ = run(forced, forced_exact, 0.3, 0.1, RK4)
    np.testing.assert_allclose(times, [0, 0.1, 0.2, 0.3])


def test_a_mistyped_tableau_is_refused():
    a = RK45.a.copy()
    a[3, 1] += 1e-6
    with pytest.raises(ValueError, match="row sums of a are c"):
        replace(RK45, a=a)
    with pytest.raises(ValueError, match="quadrature"):
        replace(RK4, b=RK4.b[::-1] * np.array([1, 1, 1, 2]))
    with pytest.raises(ValueError, match="error weights"):
        replace(RK45, errors=(RK45.errors[0] + 1e-6,))


def test_collapse_is_reported_where_it_happens():
    """y' = y^2 blows up at t = 1."""
    tolerance = Tolerance(1e-9, 1e-9, np.array([0]))
    with pytest.raises(IntegrationError, match=r"step size collapsed|no longer finite") as error:
        for _ in adaptive_steps(lambda t, y: y**2, 0.0, np.array([1.0]), 2.0, DOP853, tolerance, None, Statistics()):
            pass
    assert error.value.time == pytest.approx(1.0, abs=1e-3)
    assert error.value.components == (0,)


def test_values_that_are_not_numbers_end_the_run():
    f = lambda t, y: np.array([0.0, np.nan if t > 0.5 else 0.0])  # noqa: E731
    with pytest.raises(IntegrationError, match="no longer finite") as error:
        for _ in fixed_steps(f, 0.0, np.zeros(2), 1.0, 0.1, RK4, None, Statistics()):
            pass
    assert error.value.components == (1,)
    tolerance = Tolerance(1e-6, 1e-6, np.array([0, 1]))
    with pytest.raises(IntegrationError, match="no longer finite"):
        for _ in adaptive_steps(f, 0.0, np.zeros(2), 1.0, RK45, tolerance, None, Statistics()):
            pass


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA"])
def test_stiff_methods(method):
    """y' = -1e5 (y - cos t) - sin t: an explicit method would need 1e5 steps."""
    f = lambda t, y: -1e5 * (y - np.cos(t)) - np.sin(t)  # noqa: E731
    statistics = Statistics()
    recorder = Recorder(None, None)
    recorder.keep(0.0, np.array([1.0]))
    for step in stiff_steps(f, 0.0, np.array([1.0]), 1.0, method, 1e-8, 1e-10, None, statistics):
        recorder.add(step)
    np.testing.assert_allclose(np.ravel(recorder.states), np.cos(recorder.times), atol=1e-6)
    assert statistics.steps < 300


class Circle:
    """The unit circle in (x, y), for motion at unit speed."""

    def project(self, t, y):
        radius = np.linalg.norm(y)
        if not 0.5 < radius < 2:
            return None
        self.normal = y / radius
        return self.normal.copy()

    def tangential(self, error):
        return error - self.normal * (self.normal @ error)


@ADAPTIVE
def test_a_manifold_is_kept_at_every_step(tableau):
    circle = Circle()
    f = lambda t, y: np.array([-y[1], y[0]])  # noqa: E731
    tolerance = Tolerance(1e-4, 1e-4, np.array([0]))
    start = np.array([1.0, 0.0])
    recorder = Recorder(np.linspace(0, 20, 101), circle)
    recorder.keep(0.0, start)
    for step in adaptive_steps(f, 0.0, start, 20.0, tableau, tolerance, circle, Statistics()):
        recorder.add(step)
    states = np.array(recorder.states)
    np.testing.assert_allclose(np.linalg.norm(states, axis=1), 1, atol=1e-15)
    np.testing.assert_allclose(states[-1], [np.cos(20), np.sin(20)], atol=1e-2)
