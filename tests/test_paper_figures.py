"""Figures at the width of a column: nothing is cut, lines differ without color, round-off fills no axes."""

import itertools
import re

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.text import Text
from studies import study

import quirk
from quirk import GROUND, Body
from quirk.graphics.plot.event_marks import is_mark

COLUMN = (3.4, 2.6)


@pytest.fixture(autouse=True)
def none_is_left_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def run():
    """Long names, a body that tumbles in space, and one in a plane that passes events."""
    frames = {"tip": quirk.Frame(origin=[0.5, 0, 0])}
    rod = Body.box("swinging_connecting_rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0], frames=frames)
    hinge = quirk.Revolute("upper hinge of the rod", GROUND, rod, point=[0, 0, 0], axis="y")
    spin = {"velocity": [0.4, -0.2, 0], "angular_velocity": [1, 2, 30]}
    top = Body.box("tumbling top", 2.0, [0.3, 0.2, 0.1], position=[0, 1, 0.2], **spin)
    tip = quirk.Spherical("tip", GROUND, top, point=[0, 1, 0])
    spring = quirk.Spring("spring to the ground", GROUND, rod, point_i=[1, 0, -1], stiffness=20.0, damping=0.1)
    events = [quirk.Event(f"angle {k}", "upper hinge of the rod.angle", level=0.3 * k) for k in range(1, 4)]
    system = quirk.System([rod, hinge, top, tip, spring, *events], gravity=[0, 0, -9.81])
    return quirk.simulate(system, 1.0, output=0.01)


ROD, HINGE = "swinging_connecting_rod", "upper hinge of the rod"
PLOTS = {
    "overview": lambda plot, **options: plot(**options),
    "motion": lambda plot, **options: plot.motion("tumbling top", **options),
    "joint": lambda plot, **options: plot.joint(HINGE, **options),
    "coordinates": lambda plot, **options: plot.coordinates(**options),
    "loads of one": lambda plot, **options: plot.loads("tip", **options),
    "loads": lambda plot, **options: plot.loads(**options),
    "quantity": lambda plot, **options: plot.quantity(HINGE, f"{ROD}.position.x", f"{HINGE}.force", **options),
    "phase": lambda plot, **options: plot.phase(HINGE, **options),
    "spectrum": lambda plot, **options: plot.spectrum(HINGE, **options),
    "energy": lambda plot, **options: plot.energy(**options),
    "energies": lambda plot, **options: plot.energies(**options),
    "power": lambda plot, **options: plot.power(**options),
    "balance": lambda plot, **options: plot.balance(**options),
    "momentum": lambda plot, **options: plot.momentum(**options),
    "center of mass": lambda plot, **options: plot.center_of_mass(**options),
    "residuals": lambda plot, **options: plot.residuals(**options),
    "rank": lambda plot, **options: plot.rank(**options),
    "polar": lambda plot, **options: plot.polar(["tip", HINGE], "inertial", **options),
    "polar in color": lambda plot, **options: plot.polar("tip", color="tumbling top.euler_zxz.1.deg", **options),
    "derivatives": lambda plot, **options: plot.derivatives(ROD, "tip", **options),
    "paths": lambda plot, **options: plot.paths(events=True, **options),
    "path in a plane": lambda plot, **options: plot.paths([(ROD, "tip")], color="jerk", at=0.5, **options),
    "path in space": lambda plot, **options: plot.paths([("tumbling top", [0, 0, 0])], color="velocity", **options),
    "ghosts": lambda plot, **options: plot.ghosts(**options),
}


def written(figure):
    """Texts of a figure that are seen, with their boxes; ticks outside of the axes are not."""
    figure.draw_without_rendering()
    hidden = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis, getattr(ax, "zaxis", ax.xaxis)):
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            hidden |= {t for tick in ticks if not low <= tick.get_loc() <= high for t in (tick.label1, tick.label2)}
    texts = figure.findobj(lambda artist: isinstance(artist, Text) and artist.get_text() and artist.get_visible())
    return [(text, text.get_window_extent()) for text in texts if text not in hidden]


@pytest.mark.parametrize("style", study(["paper", None], 1))
@pytest.mark.parametrize(
    "name", study(PLOTS, {*PLOTS} - {"center of mass", "path in space", "ghosts", "derivatives", "paths", "momentum"})
)
def test_nothing_is_cut_in_a_column(run, name, style):
    figure = PLOTS[name](run.plot, size=COLUMN, style=style)
    width, height = figure.bbox.max
    for text, box in written(figure):
        inside = box.x0 > -0.5 and box.y0 > -0.5 and box.x1 < width + 0.5 and box.y1 < height + 0.5
        assert inside, (text.get_text(), box.extents)
        assert text.get_fontsize() >= 3.5
    titles = [ax.title.get_window_extent() for ax in figure.axes if ax.get_title()]
    titles += [figure._suptitle.get_window_extent()] if figure._suptitle is not None else []
    assert not any(one.overlaps(two) for one, two in itertools.combinations(titles, 2))
    if style == "paper":
        check_that_lines_differ_by_more_than_color(figure, name)


def check_that_lines_differ_by_more_than_color(figure, name):
    for ax in figure.axes:
        named = [line for line in ax.lines if not line.get_label().startswith("_")]
        assert name != "overview" or len(named) > 1
        marks = [(line._unscaled_dash_pattern, line.get_marker()) for line in named if is_mark(line)]
        curves = [(line.get_linestyle(), line.get_marker()) for line in named if not is_mark(line)]
        for looks in (marks, curves):
            assert len(set(looks)) == len(looks), looks


@pytest.mark.slow
def test_narrow_paths_and_points_at_rest(tmp_path):
    """Ticks of the short side do not lie on one another; a point that stays where it is is drawn as well."""
    ball = Body.sphere("ball", 1.0, 0.1, velocity=[1e-4, 0, 1.0])
    still = Body.sphere("still", 1.0, 0.1, position=[0.01, 0, 0])
    plot = quirk.simulate(quirk.System([ball, still], gravity=[1e-3, 0, 0]), 1.0, output=0.01).plot
    for figure in (plot.paths(size=COLUMN), plot.ghosts(size=COLUMN, style="paper")):
        boxes = [box for text, box in written(figure) if text in figure.axes[0].get_xticklabels()]
        assert boxes and not any(one.overlaps(two) for one, two in itertools.combinations(boxes, 2))
    alone = quirk.simulate(quirk.System([Body.box("box", 1.0, [3, 2, 1], angular_velocity=[1, 2, 3])]), 1.0, output=0.1)
    for color in (None, "velocity"):
        figure = alone.plot.paths([("box", [0, 0, 0])], color=color, size=COLUMN, style="paper")
        for text, box in written(figure):
            assert (box.min > -0.5).all() and (box.max < figure.bbox.max + 0.5).all(), text.get_text()


@pytest.mark.slow
def test_vertical_axes_say_what_they_show(run):
    for name in ("overview", "motion", "joint", "loads", "energies", "power", "momentum", "center of mass"):
        for ax in PLOTS[name](run.plot).axes:
            assert re.fullmatch(r"[A-Z][a-z]+( [a-z]+)?( \([^()]+\))?", ax.get_ylabel()), ax.get_ylabel()
    assert [ax.get_ylabel() for ax in run.plot.loads("tip").axes] == ["Force (N)", "Torque (N m)"]


@pytest.mark.parametrize("size", [None, COLUMN])
def test_zero_to_round_off_fills_no_axes(run, size):
    """A spherical joint carries no torque: the axes are low, say so, and show no noise."""
    above, below = run.plot.loads("tip", size=size).axes
    (text,) = [text.get_text() for text in below.texts]
    assert text.startswith("zero")
    heights = [ax.get_window_extent().height for ax in (above, below)]
    assert heights[1] < 0.5 * heights[0]
    noise = max(np.abs(line.get_ydata()).max() for line in below.lines if not is_mark(line))
    assert noise < 0.01 * below.get_ylim()[1]
    assert not above.texts
    legend = [text.get_text() for text in run.plot.loads(HINGE).axes[0].get_legend().get_texts()]
    assert legend[:3] == ["x", "y (zero)", "z"]


def test_round_off_of_constants_and_in_phase_portraits_fills_no_axes():
    ball = Body.sphere("ball", 1.0, 0.1, velocity=[1, 0, 0])
    guide = quirk.Prismatic("guide", GROUND, ball, axis="x")
    result = quirk.simulate(quirk.System([ball, guide]), 1.0, output=0.01)
    noise = 1e-14 * np.sin(1e3 * result.time)
    (ax,) = result.plot.quantity(("speed", 3.0 + noise, "m/s")).axes
    assert np.ptp(ax.get_ylim()) > 0.1
    (ax,) = result.plot.phase(("x", result.time, "m"), ("y", noise, "m")).axes
    assert np.ptp(ax.get_ylim()) > 1e3 * np.ptp(noise)
    assert np.ptp(ax.get_xlim()) < 1.2
    (ax,) = result.plot.spectrum(("y", noise, "m"), ("z", np.sin(20 * result.time), "m")).axes
    told = [text.get_text() for text in ax.get_legend().get_texts()]
    assert told[0] == "y: zero to round-off"
    assert told[1].startswith("z: largest at 2.97 Hz")


def test_small_quantities_of_small_systems_are_shown():
    """Microns and nanonewtons are no round-off."""
    bead = Body.sphere("bead", 1e-12, 1e-6, velocity=[1e-6, 0, 0], position=[1e-6, 0, 0])
    spring = quirk.Spring("spring", GROUND, bead, stiffness=1e-6, rest_length=2e-6)
    result = quirk.simulate(quirk.System([bead, spring]), 0.01, output=1e-4)
    for figure in (result.plot.motion("bead"), result.plot.energy(), result.plot.loads("spring")):
        assert not figure.axes[0].texts
        assert figure.axes[0].dataLim.height > 0.3 * np.ptp(figure.axes[0].get_ylim())


def test_the_style_of_papers_is_complete(run, tmp_path):
    figure = run.plot.energy(style="paper")
    assert figure.get_size_inches().tolist() == [3.4, 2.6]
    (ax,) = figure.axes
    assert ax.xaxis.label.get_fontsize() == 8.0 == ax.title.get_fontsize()
    assert ax.lines[-1].get_linewidth() == 1.0
    assert {text.get_fontfamily()[0] for text, _ in written(figure)} == {"STIXGeneral"}
    figure = run.plot.energy(style=["paper", {"font.size": 9.0, "axes.labelsize": 9.0}], size=(3.5, 2.0))
    assert figure.get_size_inches().tolist() == [3.5, 2.0]
    assert figure.axes[0].xaxis.label.get_fontsize() == 9.0
    run.plot.energy(style="paper", path=tmp_path / "energy.png")
    assert plt.imread(tmp_path / "energy.png").shape[:2] == (780, 1020)
    assert plt.rcParams["font.size"] == mpl.rcParamsDefault["font.size"]


@pytest.mark.slow
def test_legends_are_where_nothing_is_drawn():
    time = np.linspace(0, 1, 101)
    ball = Body.sphere("ball", 1.0, 0.1, velocity=[1, 0, 0])
    plot = quirk.simulate(quirk.System([ball]), 1.0, output=time).plot
    for shape in (time, 1 - time, np.sin(40 * time), (2 * time - 1) ** 8):
        (ax,) = plot.quantity(("first", shape, "N"), ("second", 0.9 * shape, "N"), size=COLUMN).axes
        ax.get_figure().draw_without_rendering()
        box = ax.get_legend().get_window_extent()
        for line in ax.lines:
            assert not line.get_transform().transform_path(line.get_path()).intersects_bbox(box, filled=False)


class TestNamedPoints:
    def test_paths_of_frames(self, run):
        np.testing.assert_array_equal(run[ROD].path("tip").position, run[ROD].path([0.5, 0, 0]).position)
        np.testing.assert_array_equal(run[ROD].point("tip"), run[ROD].point([0.5, 0, 0]))
        points = [(ROD, "tip"), (ROD, [-0.5, 0, 0]), ("tumbling top", [0, 0, 0]), (ROD, [0.1, 0, 0.2])]
        (ax,) = run.plot.paths(points).axes
        names = [line.get_label() for line in ax.lines if not line.get_label().startswith("_")]
        assert names == [f"{ROD} tip", f"{ROD} at {HINGE}", "tumbling top", f"point of {ROD}"]
        (ax,) = run.plot.paths([(ROD, [0.1, 0, 0.2]), (ROD, [0.2, 0, 0.2])]).axes
        names = [line.get_label() for line in ax.lines if not line.get_label().startswith("_")]
        assert names == [f"point 1 of {ROD}", f"point 2 of {ROD}"]

    @pytest.mark.slow
    def test_in_other_pictures(self, run, tmp_path):
        figure = run.plot.derivatives(ROD, "tip")
        assert figure.get_suptitle() == f"{ROD} tip"
        (one,), (two,) = (run.plot.ghosts(trails=[(ROD, point)]).axes for point in ("tip", [0.5, 0, 0]))
        np.testing.assert_array_equal(one.lines[-1].get_data(), two.lines[-1].get_data())
        assert run.animate(tmp_path / "run.gif", fps=5, trails=[(ROD, "tip")], size=2).exists()

    def test_frames_that_a_body_has_not(self, run):
        for draw in (run[ROD].path, lambda name: run.plot.paths([(ROD, name)])):
            with pytest.raises(quirk.InputError, match="has no frame 'end'; there are: tip"):
                draw("end")

    def test_in_a_plane(self):
        bar = quirk.planar.PlanarBody.bar("bar", [0, 0], [1, 0], 1.0)
        bar.add_frame("end", quirk.Frame(origin=[0.5, 0, 0]))
        pin = quirk.planar.Revolute("pin", GROUND, bar, point=[0, 0])
        view = quirk.simulate(quirk.System([bar, pin], gravity=[0, -9.81, 0]), 0.2, output=0.1)["bar"]
        np.testing.assert_array_equal(view.in_plane.path("end").velocity, view.in_plane.path([0.5, 0]).velocity)
