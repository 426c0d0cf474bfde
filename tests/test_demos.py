"""Every demo runs, saves its pictures and shows the physics it is about."""

import matplotlib as mpl

mpl.use("Agg")

from importlib import import_module

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image
from quirk.demos import DEMOS

from quirk.cli import main


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


CHECKS = [double_pendulum, four_bar, bricard, door, tennis_racket, heavy_top, flyball_governor]


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
    assert "100%" in printed.err
    files = sorted(path.name for path in tmp_path.iterdir())
    assert f"{name}.gif" in files
    assert any(file.endswith(".png") for file in files)
    for file in files:
        assert f"wrote {tmp_path / file}" in printed.out
        with Image.open(tmp_path / file) as image:
            image.verify()
    (result,) = results
    assert result.residual.position.max() < 1e-11
    check(result)
    plt.close("all")


def test_each_demo_has_its_check():
    assert [check.__name__.replace("_", "-") for check in CHECKS] == list(DEMOS)


def test_unknown_demo(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["demo", "perpetuum"])
    assert stop.value.code == 2
    assert "double-pendulum" in capsys.readouterr().err
