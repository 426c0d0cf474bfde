"""Stiff runs: the Rosenbrock method in compiled runs, and how runs notice that they are stiff."""

import warnings

import numpy as np
import pytest
from mechanisms import random_system
from quirk.integrators import RODAS5P, Rosenbrock

import quirk
from benchmarks.references import build, load

FINE = {"rtol": 1e-13, "atol": 1e-15}


def loop():
    return random_system(np.random.default_rng(5), loops=1)


def driven():
    """A motor at a varying rate, a load that depends on time and velocity, and one on a joint."""
    arm = quirk.Body.box("arm", 1.0, [1.0, 0.1, 0.1], position=[0.5, 0, 0])
    rod = quirk.Body.box("rod", 0.5, [1.0, 0.1, 0.1], position=[1.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, arm, point=[0, 0, 0], axis=[0, 1, 0])
    elbow = quirk.Revolute("elbow", arm, rod, point=[1, 0, 0], axis=[0, 1, 0])
    system = quirk.System([
        arm, rod, hinge, elbow, quirk.Drive("motor", hinge, quirk.Motion.sinusoid(0.7, 3.0)),
        quirk.Force("push", rod, lambda t, r, q, v, w: np.array([np.sin(5 * t), 0.0, np.cos(t) * r[0] - v[2]])),
        quirk.TorsionSpring("spring", elbow, stiffness=3.0, damping=0.2),
    ], gravity=[0, 0, -9.81])  # fmt: skip
    system.assemble()
    return system


def sprung():
    a = quirk.Body("a", 1.0, [0.1, 0.2, 0.25], position=[1, 0, 0], angular_velocity=[0.2, 1.0, 0.3])
    b = quirk.Body("b", 2.0, [0.3, 0.2, 0.25], position=[2, 0, 0.1], velocity=[0, 1.0, 0])
    spring = quirk.Spring("s", a, b, point_i=[0.2, 0.3, 0], point_j=[0, 0, 0.4], stiffness=50, damping=3.0)
    bushing = quirk.Bushing("m", quirk.GROUND, a, point=[0, 0, 0], stiffness=[90, 90, 90, 5, 5, 5], damping=[1.0] * 6)
    return quirk.System([a, b, spring, bushing], gravity=[0, 0, -9.81])


@pytest.mark.parametrize("make", [loop, driven, sprung, lambda: build(load("bricard"))])
def test_order_is_five(make):
    """It is so with the exact Jacobian and derivative by time alone."""
    system = make()
    exact = quirk.simulate(system, 0.4, output=[0.4], **FINE).state_at(-1).pack()
    errors = []
    for steps in (10, 20, 40):
        run = quirk.simulate(system, 0.4, method="Rodas5P", step=0.4 / steps, output=[0.4])
        errors.append(np.abs(run.state_at(-1).pack() - exact).max())
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert orders[-1] > 4.5, (errors, orders)


@pytest.mark.parametrize("name", ["fourbar2", "rolling_disk_steady", "slider_crank3d_driven", "gear_pair"])
def test_references(name):
    system = build(load(name))
    exact = quirk.simulate(system, 2.0, output=[2.0], rtol=1e-12, atol=1e-14)
    result = quirk.simulate(system, 2.0, method="Rodas5P", rtol=1e-8, atol=1e-10, output=0.1)
    assert np.abs(result.state_at(-1).pack() - exact.state_at(-1).pack()).max() < 3e-6
    assert result.residual.position.max() < 1e-12
    assert result.residual.velocity.max() < 1e-11


def test_states_between_steps_are_as_good():
    system, times = sprung(), np.linspace(0, 1, 57)
    exact = quirk.simulate(system, 1.0, output=times, **FINE)
    result = quirk.simulate(system, 1.0, method="Rodas5P", rtol=1e-7, atol=1e-9, output=times)
    for name in ("a", "b"):
        np.testing.assert_allclose(result[name].position, exact[name].position, atol=1e-6)
    assert np.abs(result.energy.total + result.work["s"] - exact.energy.total - exact.work["s"]).max() < 1e-4


def hung(stiffness, damping):
    ball = quirk.Body("ball", 1.0, [0.1, 0.1, 0.1])
    spring = quirk.Spring("s", quirk.GROUND, ball, point_i=[0, 0, 1.0], stiffness=stiffness, damping=damping)
    return quirk.System([ball, spring], gravity=[0.5, 0, -9.81])


def test_steps_hardly_feel_what_is_damped():
    """Four times as many steps where motion decays ten thousand times as fast (L-stability)."""
    steps = [
        quirk.simulate(hung(1e2 * rate, rate), 2.0, method="Rodas5P", rtol=1e-5, atol=1e-8).statistics.steps
        for rate in (1e3, 1e5, 1e7)
    ]
    assert max(steps) < 5 * min(steps), steps


def test_a_stiff_run_says_so_and_auto_goes_on_otherwise(tmp_path):
    system = hung(1e7, 1e4)
    with pytest.warns(quirk.StiffnessWarning, match='decays at .* 1/s; method="RadauIIA9"'):
        slow = quirk.simulate(system, 2.0, method="Tsit5", rtol=1e-6, atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.StiffnessWarning)
        result = quirk.simulate(system, 2.0, method="auto", rtol=1e-6, atol=1e-9)
        quirk.simulate(build(load("ball_chain10")), 2.0, method="Tsit5", rtol=1e-9, atol=1e-12)
    assert result.statistics.steps < 0.6 * slow.statistics.steps
    assert slow.statistics.methods == []
    ((t, name),) = result.statistics.methods
    assert name == "RadauIIA9"
    assert 0.0 < t < 1.0
    assert f"methods that took over: RadauIIA9 at t = {t:.6g} s\n" in result.summary() + "\n"
    result.save(tmp_path / "run.nc")
    assert quirk.Result.load(tmp_path / "run.nc").statistics == result.statistics
    kept = quirk.simulate(system, 2.0, method="auto", rtol=1e-6, atol=1e-9, checkpoint=tmp_path / "kept")
    assert quirk.read_checkpoint(tmp_path / "kept").statistics.methods == kept.statistics.methods == [(t, name)]
    np.testing.assert_allclose(result["ball"].position[-1], slow["ball"].position[-1], atol=1e-7)


def test_events_are_found():
    ball = quirk.Body("ball", 1.0, [0.1, 0.1, 0.1], position=[0, 0, 1.0])
    low = quirk.Event("low", "ball.position.z", level=0.5, action="stop")
    system = quirk.System([ball, low], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 2.0, method="Rodas5P", rtol=1e-8, atol=1e-10)
    assert abs(result.time[-1] - np.sqrt(1.0 / 9.81)) < 1e-10


def test_wrong_coefficients_are_refused():
    wrong = dict(vars(RODAS5P), c=RODAS5P.c + 1e-9)
    with pytest.raises(ValueError, match="the row sums of alpha are c"):
        Rosenbrock(**wrong)


def test_what_it_does_not_take_is_said():
    system = hung(1e2, 1.0)
    with pytest.raises(quirk.InputError, match="is compiled: leave out solver"):
        quirk.simulate(system, 1.0, method="Rodas5P", solver="dense")
    with pytest.raises(quirk.InputError, match="chooses its own steps"):
        quirk.simulate(system, 1.0, method="BDF", step=1e-3)
