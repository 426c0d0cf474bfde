"""Plots and animations, without a display."""

import matplotlib as mpl

mpl.use("Agg")

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

import quirk


@pytest.fixture(scope="module")
def result():
    rod = quirk.Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    ball = quirk.Body.sphere("ball", 0.5, 0.1, position=[1.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    wire = quirk.Distance("wire", rod, ball, point_i=[0.5, 0, 0])
    return quirk.simulate(quirk.System([rod, ball, hinge, wire], gravity=[0, 0, -9.81]), 0.5, output=0.02)


@pytest.mark.parametrize(("draw", "axes"), [
    (lambda plot, path: plot(path), 4),
    (lambda plot, path: plot.motion("rod", path=path), 4),
    (lambda plot, path: plot.joint("hinge", path=path), 4),
    (lambda plot, path: plot.energy(path=path), 1),
    (lambda plot, path: plot.residuals(path=path), 1),
    (lambda plot, path: plot.loads("hinge", frame="j", path=path), 2),
    (lambda plot, path: plot.paths(path=path), 1),
    (lambda plot, path: plot.paths([("rod", [0.5, 0, 0])], path=path), 1),
], ids=["overview", "motion", "joint", "energy", "residuals", "loads", "paths", "point paths"])  # fmt: skip
def test_plots(result, tmp_path, draw, axes):
    path = tmp_path / "folder" / "picture.png"
    figure = draw(result.plot, path)
    assert len(figure.axes) == axes
    with Image.open(path) as image:
        assert np.asarray(image.convert("L")).std() > 5  # not blank
    drawn = [line for ax in figure.axes for line in ax.lines if len(line.get_xdata()) > 0]
    assert drawn
    plt.close(figure)


def test_curves_are_the_result(result):
    figure = result.plot.energy()
    curves = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    np.testing.assert_array_equal(curves["total"], result.energy.total)
    plt.close(figure)


def test_gif(result, tmp_path):
    path = result.animate(tmp_path / "motion.gif", fps=20, trails=(("ball", [0, 0, 0]),), size=3)
    with Image.open(path) as image:
        assert image.n_frames == 10
        assert image.info["duration"] == 50
        first = np.asarray(image.convert("L"), dtype=float)
        image.seek(9)
        assert np.abs(np.asarray(image.convert("L"), dtype=float) - first).max() > 50  # something moved


def test_mp4_where_ffmpeg_is(result, tmp_path, monkeypatch):
    import shutil

    if shutil.which("ffmpeg"):
        assert result.animate(tmp_path / "motion.mp4", fps=10, size=2).stat().st_size > 1000
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(quirk.InputError, match=r"ffmpeg.*write a \.gif"):
        result.animate(tmp_path / "motion.mp4")


@pytest.mark.parametrize(("action", "message"), [
    (lambda r: r.plot.motion("hinge"), 'plot.motion: "hinge" must be the name of a body; got Revolute "hinge"'),
    (lambda r: r.plot.loads("rod"), 'plot.loads: "rod" must be the name of a joint; got Body "rod"'),
    (lambda r: r.plot.paths("rod"), 'plot.paths: points must be a list such as'),
    (lambda r: r.plot.paths([("rod", [0, 0])]), "plot.paths: point of 'rod' must have shape (3,)"),
    (lambda r: r.animate("x.gif", trails=("rod", [0, 0, 0])), "animate: trails must be a list such as"),
    (lambda r: r.animate("x.gif", trails=[("hinge", [0, 0, 0])]), "animate: trails must be points of bodies"),
    (lambda r: r.animate("x.gif", view="top"), "animate: view must be 2 numbers; got 'top'"),
    (lambda r: r.animate("x.gif", fps=0), "animate: fps must be positive"),
    (lambda r: r.state_at(0.25), "Result: row must be the number of one of its 26 times; got 0.25"),
    (lambda r: r.state_at(99), "Result: row must be the number of one of its 26 times; got 99"),
])  # fmt: skip
def test_messages(result, action, message):
    with pytest.raises(quirk.InputError, match=re.escape(message)):
        action(result)


def test_other_files_are_refused(result, tmp_path):
    with pytest.raises(quirk.InputError, match=r"must end in \.gif or \.mp4"):
        result.animate(tmp_path / "motion.avi")
