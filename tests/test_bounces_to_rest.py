"""Bounces that become ever lower come to rest, where round-off of the gap is as large as what is left of them."""

import numpy as np
import pytest

import quirk


@pytest.mark.parametrize(
    "options", [{}, {"solver": "dense"}, {"method": "RK45"}, {"method": "RK4", "step": 0.01}, {"rtol": 1e-6}]
)
def test_a_pendulum_comes_to_rest_on_a_stop(options):
    rod = quirk.Body.box("rod", 1.0, [1.0, 0.05, 0.05], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    stop = quirk.Stop("stop", hinge, upper=1.0, lower=-0.5, restitution=0.5)
    result = quirk.simulate(quirk.System([rod, hinge, stop], gravity=[0, 0, -9.81]), 2.0, output=0.1, **options)
    assert 15 < len(result.events) < 30
    assert result.events.time[-1] < 1.5
    assert result["hinge"].rotation[-1, 2] == pytest.approx(1.0, abs=1e-9)
    assert result["stop"].torque()[-1, 1] == pytest.approx(-0.5 * 9.81 * np.cos(1.0), rel=1e-9)


def test_a_slider_comes_to_rest_on_a_stop():
    """Bounces last ever shorter, by the restitution: a geometric series."""
    slider = quirk.Body.sphere("slider", 1.0, 0.1, position=[0, 0, 7.3])
    rail = quirk.Prismatic("rail", quirk.GROUND, slider, frame_i=quirk.Frame([0, 0, 6.3]), frame_j=quirk.Frame())
    stop = quirk.Stop("stop", rail, lower=0.0, restitution=0.7)
    result = quirk.simulate(quirk.System([slider, rail, stop], gravity=[0, 0, -10.0]), 4.0, output=0.1)
    fall = np.sqrt(0.2)
    np.testing.assert_allclose(
        result.events.time[:6], fall + 2 * fall * np.cumsum(0.7 ** np.arange(6)) - 2 * fall, rtol=1e-9
    )
    assert result.events.time[-1] == pytest.approx(fall * 1.7 / 0.3, rel=1e-5)


@pytest.mark.parametrize("method", ["Vern9", "Taylor"])
def test_a_double_pendulum_with_a_coil_comes_to_rest(method):
    """What a contact at rest carries is asked for with the turns that the coil has made by then."""
    rng = np.random.default_rng(1)
    for case in range(12):
        e, k, damping, z = rng.uniform(0, 0.5), rng.uniform(5, 15), rng.choice([0, 0.1]), rng.uniform(-1, -0.6)
        print(case, e, k, damping, z)
        a = quirk.Body("a", 1.8, [0.01, 0.08, 0.08], position=[0.5, 0, 0])
        b = quirk.Body("b", 0.7, [0.02, 0.08, 0.08], position=[1.5, 0, 0])
        joints = [
            quirk.Revolute("h1", quirk.GROUND, a, point=[0, 0, 0], axis=[0, 1, 0]),
            quirk.Revolute("h2", a, b, point=[1, 0, 0], axis=[0, 1, 0]),
        ]
        floor = quirk.Contact("floor", quirk.GROUND, b, on_i=quirk.surface.plane([0, 0, z], [0, 0, 1]),
                              on_j=quirk.surface.sphere(0.05, [0.5, 0, 0]), restitution=e)  # fmt: skip
        coil = quirk.TorsionSpring("coil", joints[1], stiffness=k, damping=damping)
        result = quirk.simulate(quirk.System([a, b, *joints, floor, coil], gravity=[0, 0, -9.81]), 1.5, method=method)
        assert result.status == "completed"
        assert np.diff(result.energy.total).max() < 1e-6 * np.abs(result.energy.total).max()
