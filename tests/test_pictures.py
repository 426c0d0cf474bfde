"""Plots and animations, without a display."""

import matplotlib as mpl

mpl.use("Agg")

import os
import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.collections import PathCollection
from matplotlib.text import Text
from PIL import Image
from studies import study

import quirk
from quirk import GROUND, Body
from quirk.graphics.animation.film import Film
from quirk.graphics.plot import figures
from quirk.graphics.plot import power as plot_power
from quirk.graphics.scene.drawing import OPACITY_OF_BODIES
from quirk.graphics.scene.scene import Scene


@pytest.fixture(autouse=True)
def none_is_left_open(monkeypatch):
    monkeypatch.setattr(figures, "DPI", 40)  # what is checked of pictures takes no more
    yield
    left = plt.get_fignums()
    plt.close("all")
    assert left == []


@pytest.fixture(scope="module")
def result():
    rod = quirk.Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    ball = quirk.Body.sphere("ball", 0.5, 0.1, position=[1.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    wire = quirk.Distance("wire", rod, ball, point_i=[0.5, 0, 0])
    return quirk.simulate(quirk.System([rod, ball, hinge, wire], gravity=[0, 0, -9.81]), 0.5, output=0.02)


PLOTS = [
    (lambda plot, path: plot(path), 4),
    (lambda plot, path: plot.motion("rod", path=path), 4),
    (lambda plot, path: plot.joint("hinge", path=path), 4),
    (lambda plot, path: plot.energy(path=path), 1),
    (lambda plot, path: plot.power(path=path), 2),
    (lambda plot, path: plot.balance(path=path), 2),
    (lambda plot, path: plot.residuals(path=path), 1),
    (lambda plot, path: plot.loads("hinge", frame="j", path=path), 2),
    (lambda plot, path: plot.paths(path=path), 1),
    (lambda plot, path: plot.paths([("rod", [0.5, 0, 0])], path=path), 1),
    (lambda plot, path: plot.paths(at=0.25, path=path), 1),
    (lambda plot, path: plot.paths(color="jerk", path=path), 2),
    (lambda plot, path: plot.derivatives("rod", [0.5, 0, 0], path=path), 5),
]  # fmt: skip
every_plot = pytest.mark.parametrize(("draw", "axes"), PLOTS, ids=["overview", "motion", "joint", "energy", "power", "balance", "residuals", "loads", "paths", "point paths", "paths with bodies",
        "colored paths", "derivatives"])  # fmt: skip


@every_plot
def test_plots(result, tmp_path, draw, axes):
    path = tmp_path / "folder" / "picture.png"
    figure = draw(result.plot, path)
    assert len(figure.axes) == axes
    with Image.open(path) as image:
        assert np.asarray(image.convert("L")).std() > 5  # not blank
    drawn = [line for ax in figure.axes for line in ax.lines if len(line.get_xdata()) > 0]
    assert drawn
    assert plt.get_fignums() == []


def test_curves_are_the_result(result):
    figure = result.plot.energy()
    curves = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    np.testing.assert_array_equal(curves["total"], result.energy.total)
    plt.close(figure)


@pytest.fixture(scope="module")
def driven():
    """A driven arm with an elbow, a spring and a damper in it, and air."""
    arm = quirk.Body.box("arm", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    hand = quirk.Body.box("hand", 1.0, [1, 0.1, 0.1], position=[1.5, 0, 0])
    shoulder = quirk.Revolute("shoulder", quirk.GROUND, arm, point=[0, 0, 0], axis="y")
    elbow = quirk.Revolute("elbow", arm, hand, point=[1, 0, 0], axis="y")
    parts = [
        quirk.Drive("motor", shoulder, quirk.Motion.sinusoid(0.5, 3.0)),
        quirk.TorsionSpring("spring", elbow, stiffness=3.0, damping=0.3),
        quirk.Damping("air", translational=0.1),
    ]
    system = quirk.System([arm, hand, shoulder, elbow, *parts], gravity=[0, 0, -9.81])
    system.assemble()
    return quirk.simulate(system, 1.0, output=0.01)


def test_power(driven):
    """Of all that does work, which ideal hinges do not."""
    figure = driven.plot.power()
    curves = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    assert list(curves) == ["gravity", "spring", "air", "motor", "total"]
    for name in ("gravity", "spring", "air", "motor"):
        np.testing.assert_array_equal(curves[name], driven.power[name])
    np.testing.assert_allclose(curves["total"], sum(curves[name] for name in list(curves)[:-1]), atol=1e-9)
    np.testing.assert_array_equal(figure.axes[1].lines[0].get_ydata(), driven.power.dissipated)
    plt.close(figure)


def test_balance(driven):
    """What is stored and dissipated is what the motor has put in; the rest is drawn below."""
    figure = driven.plot.balance()
    curves = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    left, right = ["kinetic", "potential", "dissipated by forces"], "work of constraints"
    assert list(curves) == [*left, right]
    assert np.abs(curves[right]).max() > 1
    np.testing.assert_allclose(sum(curves[label] for label in left), curves[right], atol=1e-7)
    missing = figure.axes[1].lines[0].get_ydata()
    np.testing.assert_array_equal(missing[missing > 0], np.abs(driven.power.balance)[missing > 0])
    plt.close(figure)


def test_balance_tells_motors_from_dampers():
    """A hinge with a motor, a spring and a damper: work of the motor and losses of the damper are drawn apart."""
    arm = quirk.Body.box("arm", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, arm, point=[0, 0, 0], axis="y")
    spring = quirk.TorsionSpring("spring", hinge, stiffness=3.0, damping=0.8)
    motor = quirk.JointTorque("motor", hinge, "4*sin(5*t)")
    result = quirk.simulate(quirk.System([arm, hinge, spring, motor]), 1.0, output=0.01)
    figure = result.plot.balance()
    curves = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    np.testing.assert_allclose(curves["work of motors and prescribed loads"], result.power.work["motor"], atol=1e-12)
    lost = curves["dissipated by forces"]
    rate = result["hinge"].angle_rate
    np.testing.assert_allclose(np.gradient(lost, 0.01)[1:-1], 0.8 * rate[1:-1] ** 2, atol=2e-3 * 0.8 * (rate**2).max())
    assert lost[-1] > 0.0 and (np.diff(lost) >= -1e-12).all()
    stored = curves["kinetic"] + curves["potential"]
    np.testing.assert_allclose(stored + lost, curves["work of motors and prescribed loads"], atol=1e-7)
    plt.close(figure)


@pytest.mark.slow
def test_many_names_leave_no_legend_cut_off():
    """Of forty of each there are a few in legends, and how many more."""
    parts, lower = [], quirk.GROUND
    for k in range(40):
        link = quirk.Body.box(f"link {k} of a long chain", 1.0, [0.1, 0.02, 0.02], position=[0.1 * k + 0.05, 0, 0])
        hinge = quirk.Revolute(f"hinge {k} of a long chain", lower, link, point=[0.1 * k, 0, 0], axis="y")
        spring = quirk.TorsionSpring(f"spring {k} of a long chain", hinge, stiffness=0.1 + 0.01 * k, damping=0.01)
        parts, lower = [*parts, link, hinge, spring], link
    result = quirk.simulate(quirk.System(parts, gravity=[0, 0, -9.81]), 0.1, output=0.02)
    for draw in (result.plot, result.plot.power, result.plot.balance):
        figure = draw()
        figure.draw_without_rendering()
        for ax in figure.axes:
            if ax.get_legend() is not None:
                corners = figure.transFigure.inverted().transform(ax.get_legend().get_window_extent())
                assert ((corners > 0) & (corners < 1)).all(), (ax.get_title(), corners)
        plt.close(figure)
    figure = result.plot()
    names = [text.get_text() for text in figure.axes[2].get_legend().get_texts()]
    plt.close(figure)
    position = result.state.position
    furthest = np.argsort(-np.linalg.norm(position - position[0], axis=2).max(axis=0))[:8]
    assert names == ["32 others, all smaller", *(f"link {k} of a long chain" for k in sorted(furthest))]


def test_many_powers_are_summed_up():
    """The nine largest are drawn, in their order, with the sum of the others; none stands for what does no work."""
    powers = {f"p{k}": (-1) ** k * np.array([0.0, k]) for k in range(40)}
    curves = plot_power.largest(powers)
    assert list(curves) == [*(f"p{k}" for k in range(31, 40)), "30 others"]
    np.testing.assert_allclose(sum(curves.values()), sum(powers.values()))
    assert list(plot_power.largest({f"p{k}": powers[f"p{k}"] for k in range(11)})) == [f"p{k}" for k in range(1, 11)]
    assert plot_power.largest({}) == {}


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
    inside, edges = figure.axes[0].collections
    for drawn in (inside, edges):
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


def test_several_shapes(tmp_path):
    """Each is drawn in its place and color: in a plane, in space and in films."""
    head = quirk.shapes.Box((0.2, 0.2, 0.2), frame=quirk.Frame([0.5, 0, 0]), color="tab:green")
    shapes = [quirk.shapes.Cylinder(0.05, 1.0, "x"), head]
    hammer = quirk.Body("hammer", 1.0, [1, 1, 1], shape=shapes, velocity=[1, 0, 0])
    bare = quirk.Body("bare", 1.0, [1, 1, 1], velocity=[1, 0.1, 0])
    result = quirk.simulate(quirk.System([hammer, bare]), 0.5, output=0.1)
    scene = Scene(result, np.array([0.0]), [])
    green = mpl.colors.to_rgb("tab:green")
    assert [color[:3] for color in scene.colors["hammer"][-6:]] == [green] * 6
    assert scene.colors["hammer"][0][:3] != green
    assert len(scene.colors["hammer"]) == len(scene.faces["hammer"]) == 22 + 6
    corners = np.concatenate(scene.faces["hammer"][-6:])
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[0.4, -0.1, -0.1], [0.6, 0.1, 0.1]])
    figure = result.plot.paths(at=0.0)
    filled = [drawn for drawn in figure.axes[0].collections if isinstance(drawn, PathCollection)]
    assert len(filled) == 2  # one of each color
    (head,) = (drawn for drawn in filled if tuple(drawn.get_facecolor()[0]) == (*green, OPACITY_OF_BODIES))
    corners = np.concatenate([path.vertices for path in head.get_paths()])
    np.testing.assert_allclose([corners.min(axis=0), corners.max(axis=0)], [[0.4, -0.1], [0.6, 0.1]], atol=1e-9)
    plt.close(figure)
    path = result.animate(tmp_path / "motion.gif", fps=10, size=3)
    with Image.open(path) as image:
        pixels = np.asarray(image.convert("RGB"), dtype=float)
    assert ((pixels[:, :, 1] > 1.3 * pixels[:, :, 0]) & (pixels[:, :, 1] > 1.3 * pixels[:, :, 2])).sum() > 100


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
    (lambda r: r.state_at(0.25), "Result: row must be the index of one of its 26 times; got 0.25"),
    (lambda r: r.state_at(99), "Result: row must be the index of one of its 26 times; got 99"),
])  # fmt: skip
def test_messages(result, action, message):
    with pytest.raises(quirk.InputError, match=re.escape(message)):
        action(result)


REFUSED = [
    ("motion.avi", r"path must end in .*; got '.*motion.avi'"),
    ("motion", r"path must end in"),
    (3, r"path must be the name of a file; got 3"),
    ("folder.KIND", r"path '.*folder.KIND' is not a file; choose another name"),
    ("file/motion.KIND", r"nothing can be written at '.*file': there is a file where a folder should be; choose"),
    ("x" * 300 + ".KIND", r"File name too long"),
    ("null\0.KIND", r"null byte"),
]


@pytest.mark.parametrize(("name", "message"), REFUSED)
@pytest.mark.parametrize("kind", ["png", "gif"])
def test_paths_that_cannot_be_written_are_named_before_anything_is_drawn(
    result, tmp_path, monkeypatch, name, message, kind
):
    (tmp_path / f"folder.{kind}").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.setattr(figures.plt, "figure", None)
    monkeypatch.setattr("quirk.graphics.animation.animate.Scene", None)
    path = tmp_path / name.replace("KIND", kind) if isinstance(name, str) else name
    draw = result.animate if kind == "gif" else result.plot
    owner = "animate" if kind == "gif" else "plot"
    with pytest.raises(quirk.InputError, match=f"{owner}: .*{message.replace('KIND', kind)}"):
        draw(path)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", f"folder.{kind}"]


def test_folders_are_made_and_links_followed(result, tmp_path):
    there, link = tmp_path / "there.png", tmp_path / "new" / "folder" / "link.png"
    there.write_bytes(b"old")
    result.plot.energy(path=link)
    link.unlink()
    link.symlink_to(there)
    result.plot.energy(path=link)
    assert link.is_symlink()
    with Image.open(there) as image:
        image.verify()


@pytest.mark.parametrize("error", study([RuntimeError, KeyboardInterrupt], {KeyboardInterrupt}))
@every_plot
def test_what_fails_in_the_middle_closes_the_figure_and_keeps_the_old_file(
    result, tmp_path, monkeypatch, draw, axes, error
):
    path = tmp_path / "picture.png"
    path.write_bytes(b"good")

    def fail(*_, **__):
        raise error

    for target, method in (("matplotlib.axes.Axes", "plot"), ("matplotlib.figure.Figure", "savefig")):
        with monkeypatch.context() as patch:
            patch.setattr(f"{target}.{method}", fail)
            if target.endswith("Axes"):
                patch.setattr("mpl_toolkits.mplot3d.Axes3D.plot", fail)
                patch.setattr("matplotlib.axes.Axes.semilogy", fail)
            with pytest.raises(error):
                draw(result.plot, path)
    assert plt.get_fignums() == []
    assert path.read_bytes() == b"good"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("number", [0, 5])
def test_animations_that_fail_keep_the_old_file(result, tmp_path, monkeypatch, error, number):
    path = tmp_path / "motion.gif"
    path.write_bytes(b"good")
    draw = Film.draw

    def fail(film, frame):
        if frame == number:
            raise error
        draw(film, frame)

    monkeypatch.setattr(Film, "draw", fail)
    with pytest.raises(error):
        result.animate(path, size=1)
    assert path.read_bytes() == b"good"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("options", "message"), [
    ({"fps": float("nan")}, "fps must be finite"),
    ({"fps": -5}, "fps must be positive; got -5"),
    ({"fps": 12.5}, "fps must be a whole number, for a GIF not above 50; got 12.5"),
    ({"fps": 60}, "fps must be a whole number, for a GIF not above 50; got 60"),
    ({"fps": "fast"}, "fps must be a number; got 'fast'"),
    ({"speed": -1}, "speed must be positive; got -1"),
    ({"speed": 0}, "speed must be positive; got 0"),
    ({"speed": float("inf")}, "speed must be finite"),
    ({"size": 1e4}, "size must be from 0.5 to 40 inches; got 10000"),
    ({"size": 0.001}, "size must be from 0.5 to 40 inches; got 0.001"),
    ({"size": float("nan")}, "size must be finite"),
    ({"speed": 1e-6}, "0.5 s with fps=25 and speed=1e-06 would be 12500000 pictures; at most 100000 are drawn: choose a "
                      "higher speed or a lower fps"),
    ({"speed": 5e-324}, "would be inf pictures; at most"),
    ({"speed": 0.0005}, "would be 25000 pictures, for which a GIF needs 23.3 GiB of memory; at most 4 GiB are used: choose"),
    ({"speed": 0.05, "size": 40}, "would be 250 pictures, for which a GIF needs 14.9 GiB"),
    ({"speed": 12.5}, "would be 1 pictures, which show no motion: choose a lower speed or a higher fps"),
    ({"trails": [("nobody", [0, 0, 0])]}, "nobody"),
])  # fmt: skip
def test_animations_that_make_no_sense(result, tmp_path, monkeypatch, options, message):
    monkeypatch.setattr("quirk.graphics.animation.animate.Scene", None)
    with pytest.raises(quirk.QuirkError, match=re.escape(message)):
        result.animate(tmp_path / "motion.gif", **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_single_time(result, tmp_path):
    """All but a film can be made of it."""
    single = quirk.simulate(result.system, 0.5, output=[0.25])
    for draw, _ in PLOTS:
        plt.close(draw(single.plot, None))
    with pytest.raises(quirk.InputError, match="the result has a single time; simulate with more output"):
        single.animate(tmp_path / "motion.gif")


def test_a_program_for_films_that_fails(result, tmp_path, monkeypatch):
    program = tmp_path / "ffmpeg"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    with pytest.raises(quirk.QuirkError, match="animate: the program ffmpeg failed"):
        result.animate(tmp_path / "motion.mp4")
    assert list(tmp_path.iterdir()) == [program]


NAMES = [
    "_hidden",
    "$x^2$",
    r"b\all_{1} 100% \$5 ^",
    "hinge\n$\\frac{",
    "one $",
    "numbered " + 50 * "very " + "long 17",
]


@pytest.mark.slow
@pytest.mark.parametrize("turn", study([1, -1], 1))
def test_names_are_shown_as_they_are(tmp_path, turn):
    names = NAMES[::turn]
    bodies = [quirk.Body.sphere(name, 1.0, 0.1, position=[k + 1, 0, 0]) for k, name in enumerate(names[:3])]
    pairs = zip([quirk.GROUND, *bodies], bodies, names[3:], strict=False)
    hinges = [quirk.Spherical(name, i, j, point=[k + 0.5, 0, 0]) for k, (i, j, name) in enumerate(pairs)]
    plot = quirk.simulate(quirk.System([*bodies, *hinges], gravity=[0, 0, -9.81]), 0.1, output=0.02).plot
    with plt.rc_context({"text.usetex": True}):
        for figure, shown in (
            (plot(tmp_path / "picture.png"), names),
            (plot.motion(names[0]), names[:1]),
            (plot.derivatives(names[1], [0, 0, 0.1]), names[1:2]),
            (plot.joint(names[3]), names[3:4]),
            (plot.power(), []),
            (plot.loads(names[5], frame="i"), [names[5], names[2], names[1]]),
            (plot.paths(), names[:3]),
            (plot.paths(color="velocity"), names[:3]),
        ):
            texts = figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_text())
            assert not any(text.get_usetex() for text in texts)
            seen = [text._preprocess_math(text.get_text()) for text in texts]
            seen = [" ".join(string.replace(figures.INVISIBLE, "").split()) for string, math in seen if not math]
            for name in shown:
                want = name.replace("\n", r"\n") if len(name) < 50 else "numbered very very ve…ry long 17"
                assert any(want in string for string in seen), (want, seen)
            plt.close(figure)


class TestForcesInScenes:
    def scene(self, *forces, times=(0.0, 0.5, 1.0)):
        bodies = [force.ends[-1][0] for force in forces]
        system = quirk.System([*dict.fromkeys(bodies), *forces])
        return Scene(quirk.simulate(system, 1.0, output=0.1), np.array(times), [])

    def line(self, scene, frame, number=0):
        return scene.forces.curves(frame, scene.half)[number][1]

    def test_a_spring_is_a_coil_between_its_ends(self):
        body = Body("b", 1.0, [1, 1, 1], position=[1, 0, 0])
        spring = quirk.Spring("s", GROUND, body, point_i=[0, 0, 1], stiffness=1.0, rest_length=1.0)
        scene = self.scene(spring)
        for frame in (0, 2):
            points = self.line(scene, frame)
            np.testing.assert_allclose(points[0], [0, 0, 1], atol=1e-12)
            np.testing.assert_allclose(points[-1], scene.poses["b"][0][frame], atol=1e-12)
            assert len(points) > 50

    def test_arrows_show_forces_and_torques(self):
        body = Body("b", 1.0, [1, 1, 1])
        grows = quirk.Force("f", body, lambda t, *pose: [2 * t, 0, 0])
        scene = self.scene(grows, quirk.Torque("q", body, [0, 0, 3.0]))
        start, tip = self.line(scene, 1)[:2]
        whole = self.line(scene, 2)
        np.testing.assert_allclose(2 * (tip - start), whole[1] - whole[0], atol=1e-12)
        np.testing.assert_allclose((whole[1] - whole[0])[1:], 0, atol=1e-12)
        turning = self.line(scene, 2, 1)
        assert turning[1, 2] > turning[0, 2] and abs(turning[1, 0] - turning[0, 0]) < 1e-12

    def test_each_span_of_a_tendon_is_a_line(self):
        body = Body("b", 1.0, [1, 1, 1], position=[0, 0, -1])
        points = [(quirk.GROUND, [0, 0, 0]), (body, [0, 0, 0]), (quirk.GROUND, [1, 0, 0]), (body, [0, 0.1, 0])]
        scene = self.scene(quirk.Tendon("t", points, weights=[1, 0, 0.5], stiffness=1.0))
        np.testing.assert_allclose(self.line(scene, 0), [[0, 0, 0], [0, 0, -1]], atol=1e-12)
        np.testing.assert_allclose(self.line(scene, 0, 1), [[1, 0, 0], [0, 0.1, -1]], atol=1e-12)
        assert len(scene.forces.curves(0, scene.half)) == 2

    def test_what_has_no_direction_is_not_drawn(self):
        body = Body("b", 1.0, [1, 1, 1])
        scene = self.scene(quirk.Damping("d", body, translational=1.0), quirk.Force("zero", body, [0, 0, 0]))
        assert len(scene.forces.curves(1, scene.half)) == 1
        assert np.ptp(self.line(scene, 1), axis=0).max() == 0

    def test_colors_keep_their_opacity(self):
        shapes = [quirk.shapes.Box([1, 1, 1], color=color) for color in ("red", (0, 0, 1, 0.1), "#00ff0080")]
        body = Body("b", 1.0, [1, 1, 1], shape=shapes)
        system = quirk.System([body])
        scene = Scene(quirk.simulate(system, 1.0, output=0.5), np.array([0.0]), [])
        assert sorted({round(color[3], 2) for color in scene.colors["b"]}) == [0.1, 0.5, 1.0]
