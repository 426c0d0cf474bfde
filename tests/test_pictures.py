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
    (lambda plot, path: plot.paths(at=0.25, path=path), 1),
    (lambda plot, path: plot.paths(color="jerk", path=path), 2),
    (lambda plot, path: plot.derivatives("rod", [0.5, 0, 0], path=path), 5),
], ids=["overview", "motion", "joint", "energy", "residuals", "loads", "paths", "point paths", "paths with bodies",
        "colored paths", "derivatives"])  # fmt: skip
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


def test_derivatives_of_a_point(result):
    angle = np.degrees(result["hinge"].rotation[:, 2])
    figure = result.plot.derivatives("rod", [0.5, 0, 0], over=("hinge (deg)", angle))
    path = result["rod"].path([0.5, 0, 0])
    for order, ax in enumerate(figure.axes):
        curves = {line.get_label(): line for line in ax.lines}
        assert list(curves) == (["x", "z", "magnitude"] if order else ["x", "z"])  # it never moves along y
        np.testing.assert_array_equal(curves["x"].get_xdata(), angle)
        np.testing.assert_array_equal(curves["z"].get_ydata(), path.derivative(order)[:, 2])
    assert figure.axes[-1].get_xlabel() == "hinge (deg)"
    plt.close(figure)


def test_derivatives_in_a_plane():
    """Along the plane's axes; a motion of which f_ttt is not known has neither jerk nor snap to draw."""
    plane = quirk.planar.Plane(origin=[1, 2, 3], normal=[0, -1, 0], x=[0, 0, 1])
    slider = quirk.planar.PlanarBody.box("slider", 1.0, [0.2, 0.1, 0.1], plane=plane)
    x = (1, 0)
    motion = quirk.Motion.function(np.sin, np.cos, lambda t: -np.sin(t))
    system = quirk.System(
        [
            slider,
            quirk.planar.PinInSlot("guide", quirk.GROUND, slider, vector_i=x),
            quirk.planar.ParallelVectors("level", quirk.GROUND, slider, vector_i=x, vector_j=x),
            quirk.planar.SlotDriver("motor", quirk.GROUND, slider, motion, vector_i=x),
        ]
    )
    times = np.linspace(0, 1, 11)
    figure = quirk.kinematics(system, times).plot.derivatives("slider")
    assert [ax.get_title() for ax in figure.axes] == ["position along x", "velocity along x", "acceleration along x"]
    for ax, values in zip(figure.axes, (np.sin(times), np.cos(times), -np.sin(times)), strict=True):
        np.testing.assert_allclose(ax.lines[0].get_ydata(), values, atol=1e-12)
    plt.close(figure)


def test_colored_paths(result):
    figure = result.plot.paths([("ball", [0, 0, 0])], color="velocity")
    (pieces,) = figure.axes[0].collections
    curve, speed = result["ball"].position[:, [0, 2]], np.linalg.norm(result["ball"].velocity, axis=1)
    np.testing.assert_array_equal([piece[0] for piece in pieces.get_segments()], curve[:-1])
    np.testing.assert_allclose(pieces.get_array(), 0.5 * (speed[:-1] + speed[1:]))
    plt.close(figure)


def test_mechanism_beside_paths():
    """Pins are marked; what holds a planar body in its plane and what only turns it are not."""
    bar = quirk.planar.PlanarBody.bar("bar", [0, 0], [1, 0], 1.0)
    system = quirk.System(
        [
            bar,
            quirk.planar.Revolute("pin", quirk.GROUND, bar, point=[0, 0]),
            quirk.planar.AngleDriver("motor", quirk.GROUND, bar, quirk.Motion.constant_rate(np.pi)),
        ]
    )
    figure = quirk.kinematics(system, np.linspace(0, 1, 21)).plot.paths([("bar", [0.5, 0, 0])], at=0.5)
    marked = [line.get_xydata() for line in figure.axes[0].lines if line.get_marker() == "o"]
    np.testing.assert_allclose(np.concatenate(marked), [[0, 0], [0, 1]], atol=1e-6)
    (drawn,) = figure.axes[0].collections
    corners = np.concatenate([path.vertices for path in drawn.get_paths()])
    np.testing.assert_allclose(np.ptp(corners, axis=0), [0.05, 1.0], atol=1e-6)
    plt.close(figure)


def test_paths_in_space():
    ball = quirk.Body.sphere("ball", 1.0, 0.1, velocity=[1, 0, 0], angular_velocity=[0, 3, 2])
    result = quirk.simulate(quirk.System([ball], gravity=[0, 1, 0]), 0.5, output=0.1)
    figure = result.plot.paths([("ball", [0, 0, 0.1])], color="acceleration", at=0.3)
    assert figure.axes[0].name == "3d"
    assert len(figure.axes[0].collections) == 2  # the ball and its path
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
    (lambda r: r.plot.paths([("hinge", [0, 0, 0])]), 'plot.paths: "hinge" must be the name of a body; got Revolute'),
    (lambda r: r.plot.paths(color="speed"), "plot.paths: color must be"),
    (lambda r: r.plot.paths(at=0.6), "plot.paths: at must be from 0 to 0.5 s; got 0.6"),
    (lambda r: r.plot.derivatives("hinge"), 'plot.derivatives: "hinge" must be the name of a body; got Revolute'),
    (lambda r: r.plot.derivatives("rod", over=("deg", [1, 2])), "plot.derivatives: values of over must have shape (26,)"),
    (lambda r: r.plot.derivatives("rod", over="deg"), 'plot.derivatives: over must be a label with values'),
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
