"""Every demo runs, saves its pictures and shows the physics it is about."""

import matplotlib as mpl

mpl.use("Agg")

from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from quirk.demos import DEMOS
from scipy.integrate import cumulative_simpson

from quirk.cli import main
from quirk.kinematics import KinematicResult


def double_pendulum(result):
    assert result.energy.drift < 1e-8
    reach = np.linalg.norm(result["lower"].point([0.4, 0, 0]), axis=1)
    assert reach.max() <= 1.8 + 1e-12


def four_bar(result):
    assert result.rank == 17
    assert result["crank pin"].rotation[-1, 2] > 4 * np.pi  # the crank goes round
    assert np.ptp(result["rocker pin"].rotation[:, 2]) < np.pi  # the rocker rocks


def bricard(result):
    assert result.rank == 29
    assert result.energy.drift < 1e-8
    assert np.ptp(result["bar 2"].position[:, 1]) > 0.2


def door(result):
    assert result.rank == 5
    assert result["upper"].unique.force == "unique only in sum"
    together = result["lower"].force() + result["upper"].force()
    np.testing.assert_allclose(together[:, 2], 20 * 9.81, atol=1e-9)
    assert abs(result["lower"].rotation[-1, 2]) < 0.5 < result["lower"].rotation[0, 2]  # it has closed


def tennis_racket(result):
    spin = result["racket"].angular_velocity[:, 1]
    assert spin.min() < -5.5 < 5.5 < spin.max()  # it flips
    momentum = result.momentum.angular
    np.testing.assert_allclose(momentum, np.broadcast_to(momentum[0], momentum.shape), atol=1e-11)


def heavy_top(result):
    assert result["disc"].position[:, 2].min() > 0.09  # it does not fall
    angle = np.unwrap(np.arctan2(*result["disc"].position[:, 1::-1].T))
    assert angle[-1] > 2 * np.pi  # and precesses more than once around


def flyball_governor(result):
    lift, balls = result["guide"].displacement[:, 2], result["right ball"].position
    assert lift[-1] > 0.1
    assert np.hypot(balls[-1, 0], balls[-1, 1]) > np.hypot(balls[0, 0], balls[0, 1]) + 0.1
    left = result["left ball"].position
    np.testing.assert_allclose(left[:, :2], -balls[:, :2], atol=1e-6)


def coupler_curve(result):
    tip, angle = result["coupler"].path([0.25, 0, 0]), result["crank"].in_plane.angle
    straight = tip.position[(angle > np.pi / 2) & (angle < 1.5 * np.pi)]
    assert np.ptp(straight[:, 0]) > 0.39
    assert np.ptp(straight[:, 1]) < 1e-3
    # The motion repeats turn by turn, with all derivatives.
    for order in range(5):
        derivative = tip.derivative(order)
        np.testing.assert_allclose(derivative[-1], derivative[0], atol=1e-9 * np.abs(derivative).max())
    # The motor lifts the bars and gives them their speed: its work is the change of their energy.
    torque, rate = result["motor"].torque()[:, 2], result["crank"].angular_velocity[:, 2]
    work = cumulative_simpson(torque * rate, x=result.time, initial=0)
    np.testing.assert_allclose(result.energy.total - result.energy.total[0], work, atol=1e-5)


def quick_return(result):
    from quirk.demos.quick_return import STROKE, TIME_RATIO, turning_points

    ram = result["ram"]
    assert np.ptp(ram.position[:, 0]) == pytest.approx(STROKE, rel=1e-9)  # both ends are among the times
    start, end = turning_points(result.time, ram.velocity[:, 0])
    assert (1 - (end - start)) / (end - start) == pytest.approx(TIME_RATIO, rel=1e-9)
    np.testing.assert_allclose(ram.position[:, 1], 0.47, atol=1e-12)


def planetary_gears(result):
    angles = {name: result[name].in_plane.angle for name in ("sun", "carrier", "planet 1")}
    np.testing.assert_allclose(angles["carrier"], 0.25 * angles["sun"], atol=1e-12)  # Willis
    np.testing.assert_allclose(angles["planet 1"], -2 * angles["carrier"], atol=1e-12)
    np.testing.assert_allclose(result["motor"].torque()[:, 2], 5.0, rtol=1e-9)  # a quarter of the load
    # A tooth of the planet draws the deltoid 2 exp(i u) + exp(-2 i u).
    tooth, u = result["planet 1"].point([0.048, 0, 0]), angles["carrier"]
    deltoid = 0.048 * (2 * np.exp(1j * u) + np.exp(-2j * u))
    np.testing.assert_allclose(tooth[:, 0] + 1j * tooth[:, 1], deltoid, atol=1e-12)


def slider_crank(result):
    from quirk.demos.slider_crank import CRANK, RATE, ROD, gas

    piston, crank_angle = result["piston"], RATE * result.time
    assert np.ptp(piston.position[:, 1]) == pytest.approx(2 * CRANK, rel=1e-9)
    assert piston.acceleration[0, 1] == pytest.approx(-CRANK * RATE**2 * (1 + CRANK / ROD), rel=1e-9)
    # What the gas does, the driver takes: the cycle ends as it began.
    force = np.array([gas(t)[1] for t in result.time])
    work = np.trapezoid(force * piston.velocity[:, 1], result.time)
    assert np.trapezoid(result["driver"].torque()[:, 2], crank_angle) == pytest.approx(-work, rel=1e-9)
    # The rod leans by arcsin(CRANK / ROD sin); the wall takes what the piston pin pushes across.
    wall, pin = result["cylinder wall"].force(), result["piston pin"].force()
    np.testing.assert_allclose(wall[:, 0], -pin[:, 0], atol=1e-8)
    np.testing.assert_allclose(pin[:, 1], 0.5 * (piston.acceleration[:, 1] + 9.81) - force, atol=1e-7)


def cam_follower(result):
    from quirk.demos.cam_follower import SLOW, lift

    angle = 6 * SLOW * result.time
    moved = result["guide"].displacement[:, 2]
    at_table = np.isclose(angle % 15, 0) | np.isclose(angle % 15, 15)
    assert at_table.sum() == 25
    np.testing.assert_allclose(moved[at_table], lift(angle[at_table]), atol=1e-12)
    np.testing.assert_allclose(moved, lift(angle), atol=2e-5)
    # A spline of degree 5: snap is a line between the points of the table.
    assert np.abs(np.diff(result["follower"].snap[:, 1], 2)[~at_table[1:-1]]).max() < 1e-3
    # Energy: what the cam does goes into the bodies and the spring.
    work = cumulative_simpson(result["cam"].force()[:, 1] * result["follower"].velocity[:, 1], x=result.time, initial=0)
    np.testing.assert_allclose(result.energy.total - result.energy.total[0], work, atol=1e-5)


CHECKS = [
    double_pendulum,
    four_bar,
    bricard,
    door,
    tennis_racket,
    heavy_top,
    flyball_governor,
    coupler_curve,
    quick_return,
    planetary_gears,
    slider_crank,
    cam_follower,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_demo(check, tmp_path, capsys, monkeypatch):
    name = check.__name__.replace("_", "-")
    demo = import_module("quirk.demos." + check.__name__)
    results = []
    run = demo.run
    monkeypatch.setattr(demo, "run", lambda out: results.append(run(out)))
    assert main(["demo", name, "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    assert "constraint residual" in printed.out
    files = sorted(path.name for path in tmp_path.iterdir())
    assert f"{name}.gif" in files
    assert any(file.endswith(".png") for file in files)
    for file in files:
        assert f"wrote {tmp_path / file}" in printed.out
        with Image.open(tmp_path / file) as image:
            image.verify()
    (result,) = results
    assert ("100%" in printed.err) is not isinstance(result, KinematicResult)  # which is there at once
    assert result.residual.position.max() < 1e-11
    assert plt.get_fignums() == []
    check(result)


def test_each_demo_has_its_check():
    assert [check.__name__.replace("_", "-") for check in CHECKS] == list(DEMOS)


def test_unknown_demo(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["demo", "perpetuum"])
    assert stop.value.code == 2
    assert "double-pendulum" in capsys.readouterr().err
