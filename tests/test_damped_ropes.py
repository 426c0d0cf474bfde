"""Damping of elastic ropes: closed forms of the damped oscillator, slack, energy, derivatives, files, and refusals."""

import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import brentq
from studies import study

import quirk
from quirk import GROUND, Body, Drum
from quirk.io.modelfile import system_of, text_of

G, CENTER = 9.81, [0, 0, 0]
MASS, EA, D, LENGTH = 2.0, 600.0, 9.0, 3.0  # kg, N, N s, m
FINE = {"rtol": 1e-12, "atol": 1e-14}


def hanging(m=1.0, kg=1.0, up=0.0, speed=0.0, damping=D, stiffness=EA, **more):
    """A weight on a rope of 3 m without load, over two points, `up` m above where the rope gets taut."""
    weight = Body.sphere(
        "weight", MASS * kg, 0.1 * m, position=[m, 0, (up - 1) * m], velocity=[0, 0, speed * m]
    )  # fmt: skip
    points = [(GROUND, [0, 0, -m]), (GROUND, CENTER), (GROUND, [m, 0, 0]), (weight, CENTER)]
    rope = quirk.Pulley(
        "rope", points, stiffness=stiffness * kg * m, damping=damping * kg * m, length=LENGTH * m, **more
    )
    return quirk.System([weight, rope], gravity=[0, 0, -G * m])


def stretched(t, x, v, damping=D, stiffness=EA):
    """Stretch (m) and its rate at times t (nt,) of a taut rope that has x and v at first."""
    k, c = stiffness / LENGTH, damping / LENGTH
    A, rest = np.array([[0, 1], [-k / MASS, -c / MASS]]), MASS * G / k
    return np.array([expm(A * one) @ [x - rest, v] for one in t]) + np.array([rest, 0.0])


@pytest.mark.parametrize(("m", "kg"), study([(1.0, 1.0), (1e3, 1e-3)], {(1e3, 1e-3)}))
@pytest.mark.parametrize(
    "how",
    study(
        [
            {"method": "Vern9"},
            {"method": "Taylor"},
            {"method": "RadauIIA9"},
            {"method": "DOP853", "solver": "dense"},
        ],
        3,
    ),
    ids=str,
)
def test_a_weight_on_a_taut_rope_is_a_damped_oscillator(how, m, kg):
    system = hanging(m, kg, up=-0.05)
    end = 0.25 if "solver" in how else 3.0  # s; the dense solver takes long
    result = quirk.simulate(system, end, output=0.25, rtol=1e-12, atol=1e-14 * m, **how)
    x, v = stretched(result.time, 0.05, 0.0).T
    assert x.min() > 0.02
    np.testing.assert_allclose(-result["weight"].position[:, 2] / m - 1, x, atol=1e-10)
    np.testing.assert_allclose(-result["weight"].velocity[:, 2] / m, v, atol=1e-9)
    for k in range(3):
        tension = result["rope spans"].coordinate(f"tension {k}") / (kg * m)
        np.testing.assert_allclose(tension, (EA * x + D * v) / LENGTH, atol=1e-8)


def test_energy_is_lost_by_the_strain_rate_alone():
    result = quirk.simulate(hanging(up=-0.05), 3.0, output=0.002, **FINE)
    x, v = stretched(result.time, 0.05, 0.0).T
    np.testing.assert_allclose(result["rope spans"].energy, 0.5 * EA * x**2 / LENGTH, atol=1e-9)
    assert np.abs(result.power.balance).max() < 1e-9
    lost = np.trapezoid(D / LENGTH * v**2, result.time)
    assert result.energy.total[0] - result.energy.total[-1] == pytest.approx(lost, rel=1e-5)
    assert not hanging()["rope spans"].conservative
    assert hanging(damping=0.0)["rope spans"].conservative


@pytest.mark.parametrize("method", ["Vern9", "Tsit5", "RadauIIA9", "Taylor"])
def test_it_gets_taut_and_slack_without_pushing(method):
    """Free fall; from taut on a damped oscillator, whose tension jumps; then slack while it is still stretched."""
    up, stiff = 0.3, {"damping": 40.0, "stiffness": 3000.0}
    fall = np.sqrt(2 * up / G)
    impact = G * fall

    def tension(t):
        x, v = stretched([t], 0.0, impact, **stiff)[0]
        return stiff["stiffness"] * x + stiff["damping"] * v

    later = np.linspace(1e-6, 1.0, 5000)
    first = next(k for k, t in enumerate(later) if tension(t) < 0)
    loose = brentq(tension, later[first - 1], later[first], xtol=1e-15)
    x, v = stretched([loose], 0.0, impact, **stiff)[0]
    assert x > 1e-3  # it would push
    flight = 0.05
    result = quirk.simulate(
        hanging(up=up, **stiff), fall + loose + flight, output=[fall, fall + 0.5 * loose, fall + loose + flight],
        method=method, rtol=1e-11, atol=1e-13,
    )  # fmt: skip
    found = -result["weight"].position[:, 2] - 1
    middle = stretched([0.5 * loose], 0.0, impact, **stiff)[0, 0]
    end = x + v * flight + 0.5 * G * flight**2
    np.testing.assert_allclose(found[-3:], [0.0, middle, end], atol=1e-8)
    spans = result["rope spans"].coordinate("tension 0")
    assert spans.min() >= 0.0 and spans[-1] == 0.0


def test_small_motions_have_the_roots_of_the_oscillator():
    system = hanging(up=-MASS * G * LENGTH / EA)
    roots = system.linearize().eigenvalues
    k, c = EA / LENGTH, D / LENGTH
    want = -c / (2 * MASS) + 1j * np.sqrt(k / MASS - (c / (2 * MASS)) ** 2)
    assert np.abs(roots - want).min() < 1e-9 * abs(want)
    assert system.equilibrium().of("weight.position.z") == pytest.approx(-1 - MASS * G * LENGTH / EA, rel=1e-12)


@pytest.mark.parametrize("method", ["Vern9", "RadauIIA9"])
def test_sensitivities_are_those_of_the_closed_form(method):
    parameters = [("rope spans", "damping"), ("rope spans", "stiffness")]
    result = quirk.simulate(hanging(up=-0.05), 1.0, output=0.25, method=method, sensitivities=parameters, **FINE)
    h = 1e-5
    for name, step in (("damping", h * D), ("stiffness", h * EA)):
        given = {"damping": D, "stiffness": EA}
        up, down = (
            stretched(result.time, 0.05, 0.0, **{**given, name: given[name] + sign * step})[:, 0] for sign in (1, -1)
        )
        found = result.sensitivity[("rope spans", name)].of("weight.position.z")
        np.testing.assert_allclose(found, -(up - down) / (2 * step), rtol=1e-6, atol=1e-11)


def test_belts_without_friction_are_damped_too():
    """Two pegs that a frictionless belt pulls together: one moves along a rail."""
    peg = Body.cylinder("peg", MASS, 0.1, 0.1, axis="y", position=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, peg, axis="x")
    spring = quirk.Spring("spring", GROUND, peg, points=[[3, 0, 0], [1, 0, 0]], stiffness=100.0, rest_length=1.5)
    belt = quirk.Pulley(
        "belt", [Drum(GROUND, CENTER, "y", 0.1), Drum(peg, CENTER, "y", 0.1)], closed=True, stiffness=EA, damping=D,
        pretension=30.0,
    )  # fmt: skip
    system = quirk.System([peg, rail, spring, belt])
    L = belt.length
    k, c, force = 4 * EA / L + 100.0, 4 * D / L, 50.0 - 2 * 30.0
    A, rest = np.array([[0, 1], [-k / MASS, -c / MASS]]), force / k
    result = quirk.simulate(system, 1.0, output=0.1, **FINE)
    want = [(expm(A * t) @ [-rest, 0])[0] + rest for t in result.time]
    np.testing.assert_allclose(result["rail"].travel, want, atol=1e-10)


def test_files_keep_the_damping(tmp_path):
    system = hanging(up=-0.05)
    again = system_of(text_of(system))
    assert again["rope"].damping == D
    result = quirk.simulate(system, 0.5, output=0.25)
    np.testing.assert_array_equal(quirk.simulate(again, 0.5, output=0.25)["weight"].position, result["weight"].position)
    result.save(tmp_path / "result.nc")
    loaded = quirk.Result.load(tmp_path / "result.nc")
    np.testing.assert_array_equal(
        loaded["rope spans"].coordinate("tension 1"), result["rope spans"].coordinate("tension 1")
    )


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"damping": -1.0}, "damping"),
        ({"friction": 0.2}, "damping is available for ropes without friction"),
        ({"stiffness": None}, "damping requires stiffness="),
    ],
)
def test_refused(change, says):
    weight = Body.sphere("weight", 1.0, 0.1, position=[1, 0, -1])
    points = [(GROUND, [0, 0, -1]), (GROUND, CENTER), (GROUND, [1, 0, 0]), (weight, CENTER)]
    with pytest.raises(quirk.InputError, match=says):
        quirk.Pulley("rope", points, **{"stiffness": EA, "damping": D, **change})


def test_refused_on_winding_drums():
    weight = Body.sphere("weight", 1.0, 0.1, position=[0.1, 0, -1])
    winch = Body.cylinder("winch", 1.0, 0.1, 0.1, axis="y")
    with pytest.raises(quirk.InputError, match="winding drums"):
        quirk.Pulley("rope", [Drum(winch, CENTER, "y", 0.1), (weight, CENTER)], stiffness=EA, damping=D)
