"""Plots that answer questions in one call: what is in their axes, of few bodies and of hundreds, and options of all."""

import matplotlib as mpl

mpl.use("Agg")

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from mechanisms import level_rod, pendulum

import quirk
from quirk import GROUND, Body
from quirk.graphics.plot.event_marks import MOST_LINES, is_mark
from quirk.graphics.plot.figures import draw_largest
from quirk.graphics.plot.spectrum import evenly, spectrum
from quirk.util.si_prefixes import InUnit, prefixed


@pytest.fixture(autouse=True)
def none_is_left_open():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def run():
    """A pendulum that passes its lowest point twice in a second, and a mass on a spring beside it."""
    rod, hinge = level_rod(thickness=0.1)
    mass = Body.sphere("mass", 1.0, 0.1, position=[0, 2, 0])
    guide = quirk.Prismatic("guide", GROUND, mass, axis="x")
    spring = quirk.Spring("spring", GROUND, mass, point_i=[-1, 2, 0], stiffness=(2 * np.pi * 3) ** 2, rest_length=0.8)
    events = [quirk.Event("lowest", "hinge.angle", level=np.pi / 2), quirk.Event("fast", "rod.speed", level=1.0)]
    system = quirk.System([rod, hinge, mass, guide, spring, *events], gravity=[0, 0, -9.81])
    return quirk.simulate(system, 2.0, output=0.01)


def texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()] if ax.get_legend() else []


def curves(ax):
    return {line.get_label(): np.asarray(line.get_ydata()) for line in ax.lines if not is_mark(line)}


def test_loads_by_joint_frame_and_component(run):
    view = run["hinge"]
    above, below = run.plot.loads("hinge", "joint i", components=["z", "magnitude"]).axes
    assert above.get_title() == "hinge: force on rod by ground, axes of joint frame i"
    np.testing.assert_array_equal(curves(above)["z"], view.force("joint i")[:, 2])
    np.testing.assert_allclose(curves(below)["magnitude"], np.linalg.norm(view.torque(), axis=1), atol=1e-12)
    assert (above.get_ylabel(), below.get_ylabel()) == ("Force (N)", "Torque (N m)")
    above, _ = run.plot.loads().axes
    assert list(curves(above)) == ["hinge", "guide"]
    (above, _) = run.plot.loads("spring").axes
    np.testing.assert_array_equal(curves(above)["x"], run["spring"].force()[:, 0])


def test_coordinates_and_their_rates(run):
    angles, travels, rates, speeds = run.plot.coordinates().axes
    np.testing.assert_array_equal(curves(angles)["hinge"], run["hinge"].rotation[:, 2])
    np.testing.assert_array_equal(curves(rates)["hinge"], run["hinge"].rotation_rate[:, 2])
    np.testing.assert_array_equal(curves(travels)["guide"], run["guide"].displacement[:, 2])
    np.testing.assert_array_equal(curves(speeds)["guide"], run["guide"].velocity[:, 2])
    labels = ["Angle (rad)", "Travel (m)", "Angular velocity (rad/s)", "Velocity (m/s)"]
    assert [ax.get_ylabel() for ax in (angles, travels, rates, speeds)] == labels
    assert [ax.get_xlabel() for ax in (angles, speeds)] == ["", "Time (s)"]


QUANTITIES = {
    "hinge": ("Angle (rad)", lambda r: r["hinge"].rotation[:, 2]),
    "hinge.angle_rate": ("Angular velocity (rad/s)", lambda r: r["hinge"].rotation_rate[:, 2]),
    "guide.travel": ("Travel (m)", lambda r: r["guide"].displacement[:, 2]),
    "hinge.deg": ("Angle (deg)", lambda r: np.degrees(r["hinge"].rotation[:, 2])),
    "hinge.angle_rate.deg": ("Angular velocity (deg/s)", lambda r: np.degrees(r["hinge"].rotation_rate[:, 2])),
    "rod.angular_velocity.y.deg": (
        "Angular velocity (deg/s)",
        lambda r: np.degrees(r["rod"].angular_velocity[:, 1]),
    ),
    "rod.euler_zyx.2": ("Angle (rad)", lambda r: r["rod"].euler_angles("zyx")[:, 1]),
    "rod.euler_xyz.2.deg": ("Angle (deg)", lambda r: np.degrees(r["rod"].euler_angles("xyz")[:, 1])),
    "rod.velocity.z": ("Velocity (m/s)", lambda r: r["rod"].velocity[:, 2]),
    "rod.speed": ("Velocity (m/s)", lambda r: np.linalg.norm(r["rod"].velocity, axis=1)),
    "hinge.force": ("Force (N)", lambda r: np.linalg.norm(r["hinge"].force(), axis=1)),
    "hinge.torque.x": ("Torque (N m)", lambda r: r["hinge"].torque()[:, 0]),
    "spring.length": ("Length (m)", lambda r: r["spring"].length),
    "spring.length_rate": ("Velocity (m/s)", lambda r: r["spring"].rate()),
    "spring.power": ("Power (W)", lambda r: r.power["spring"]),
    "spring.energy": ("Energy (J)", lambda r: r["spring"].energy),
    "energy.kinetic": ("Energy (J)", lambda r: r.energy.kinetic),
    "time": ("Time (s)", lambda r: r.time),
}


@pytest.mark.parametrize("name", QUANTITIES)
def test_quantities_by_name(run, name):
    label, values = QUANTITIES[name]
    (ax,) = run.plot.quantity(name).axes
    assert ax.get_ylabel() == label
    (drawn,) = curves(ax).values()
    np.testing.assert_array_equal(drawn, values(run))


def test_all_three_euler_angles(run):
    (ax,) = run.plot.quantity("rod.euler_yxz.deg").axes
    assert list(curves(ax)) == [f"rod.euler_yxz.{k}.deg" for k in "123"]
    np.testing.assert_array_equal(list(curves(ax).values()), np.degrees(run["rod"].euler_angles("yxz")).T)
    along, across = run.plot.phase("rod.euler_yxz.1", "rod.euler_yxz.2.deg").axes[0].lines[0].get_data()
    np.testing.assert_array_equal(along, run["rod"].euler_angles("yxz")[:, 0])
    np.testing.assert_array_equal(across, np.degrees(run["rod"].euler_angles("yxz")[:, 1]))


def test_quantities_share_axes_by_unit(run):
    own = ("twice", 2 * run["hinge"].rotation[:, 2], "rad")
    one, two = run.plot.quantity("hinge.angle", "rod.position.x", own).axes
    assert list(curves(one)) == ["hinge.angle", "twice"]
    assert list(curves(two)) == ["rod.position.x"]
    assert two.get_title() == "rod.position.x"
    names = [[text for text in texts(ax) if text in ("hinge.angle", "twice", "rod.position.x")] for ax in (one, two)]
    assert names == [["hinge.angle", "twice"], []]


def test_a_balance_shows_what_is_uncertain_alone():
    """A run integrates the work of drivers; kinematics sums it up between the times."""
    motion = quirk.Motion.polynomial([0, 0, 1.0])
    system = pendulum(lambda rod, hinge: quirk.Drive("motor", hinge, motion), thickness=0.1)
    found = [quirk.simulate(system, 0.5, output=0.05), quirk.kinematics(system, np.linspace(0, 0.5, 11))]
    names = [texts(result.plot.balance().axes[1]) for result in found]
    assert names == [["missing"], ["missing", "uncertainty of the work"]]


@pytest.mark.parametrize(("ask", "said"), [
    (lambda p: p.quantity("rod.speed.deg"), "'rod.speed.deg' must be an angle or the rate of one to be in degrees"),
    (lambda p: p.quantity("rod.euler_xxz"), 'there is no quantity "rod.euler_xxz.1"'),
    (lambda p: p.phase("rod.euler_xyz", "time"), 'select a component of "rod.euler_xyz" by .1, .2, .3'),
    (lambda p: p.quantity("rod.euler_xyz.x"), 'select a component of "rod.euler_xyz" by .1, .2, .3'),
    (lambda p: p.quantity("rod.position.1"), 'select a component of "rod.position" by .x, .y, .z'),
    (lambda p: p.quantity("rod.color"), 'there is no quantity "rod.color"; there are: rod.position.x'),
    (lambda p: p.quantity("nobody.speed"), 'no quantity "nobody.speed"; a quantity is "time"'),
    (lambda p: p.quantity("spring.length.x"), '"spring.length" is a scalar and has no component x'),
    (lambda p: p.quantity(), "name at least one quantity"),
    (lambda p: p.quantity(3), "a quantity must be a name"),
    (lambda p: p.quantity(("short", [1, 2])), "values of 'short' must have shape"),
    (lambda p: p.quantity("rod"), 'select a quantity of "rod"'),
    (lambda p: p.phase("hinge.force"), "the rate of 'hinge.force' is not available"),
    (lambda p: p.spectrum("hinge", window="cosy"), "window must be one of scipy.signal; got 'cosy'"),
    (lambda p: p.coordinates("spring"), "joints must have a free rotation or translation; got Spring"),
    (lambda p: p.loads("hinge", "k"), "frame must be one of"),
    (lambda p: p.loads("hinge", components="w"), "components must be some of"),
    (lambda p: p.compare(3), "other must be a result; got 3"),
    (lambda p: p.compare(p.result, "spring"), '"spring" must be a body or a joint in both'),
    (lambda p: p.energy(ax=3), "ax must be axes of matplotlib"),
    (lambda p: p.energy(size=(1, -1)), "size must be positive"),
    (lambda p: p.energy(size=3), "size must have shape"),
    (lambda p: p.energy(style="plain and simple"), "style must be one of"),
    (lambda p: p.energy(events="few"), "events must be True or False"),
])  # fmt: skip
def test_what_cannot_be_drawn(run, ask, said):
    with pytest.raises(quirk.InputError) as error:
        ask(run.plot)
    assert said in str(error.value)
    assert plt.get_fignums() == []


def test_options_that_no_plot_has(run):
    with pytest.raises(
        TypeError, match=r"plot.energy\(\) has no argument 'color'; the arguments of all pictures: path"
    ):
        run.plot.energy(color="red")
    with pytest.raises(TypeError, match="has no argument 'events'"):
        run.plot.spectrum("hinge", events=True)


def test_phase_portraits(run):
    (ax,) = run.plot.phase("hinge").axes
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), run["hinge"].rotation[:, 2])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), run["hinge"].rotation_rate[:, 2])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("hinge.angle (rad)", "hinge.angle_rate (rad/s)")
    (lowest,) = [line for line in ax.lines if is_mark(line) and "lowest" in line.get_label()]
    np.testing.assert_allclose(lowest.get_xdata(), np.pi / 2, atol=1e-5)


def test_spectrum_of_a_spring(run):
    """3 Hz, 0.2 m; times that events add are resampled."""
    frequency, amplitude = spectrum(run.time, run["spring"].length, "flattop")
    assert frequency[np.argmax(amplitude)] == pytest.approx(3.0, abs=0.3)
    assert amplitude.max() == pytest.approx(0.2, rel=2e-3)
    (ax,) = run.plot.spectrum("spring.length").axes
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Frequency (Hz)", "Amplitude (m)")
    assert float(texts(ax)[0].split()[-2]) == pytest.approx(3.0, abs=0.25)


@pytest.mark.parametrize("count", [400, 401])
def test_amplitudes_of_sinusoids(count):
    time = np.arange(count) / 100.0
    values = 5.0 + 0.7 * np.sin(2 * np.pi * 50 / (count / 100) * time)
    frequency, amplitude = spectrum(time, values, "boxcar")
    assert amplitude.max() == pytest.approx(0.7, rel=1e-9)
    assert frequency[np.argmax(amplitude)] == pytest.approx(50 / (count / 100))


def test_uneven_times_are_resampled_on_each_side_of_a_jump():
    time = np.sort(np.concatenate([np.linspace(0, 2, 81), [0.333, 0.777, 1.0]]))
    jumps = np.arange(len(time)) > np.flatnonzero(time == 1.0)[0]
    step, even = evenly(time, np.sin(time) + 10.0 * jumps)
    at = step * np.arange(len(even))
    np.testing.assert_allclose(even, np.sin(at) + 10.0 * (at >= 1.0), atol=1e-6)


def test_two_results_compared(run):
    looser = quirk.simulate(run.system, 1.5, output=0.01, method="RK4", step=0.01)
    apart, turned, forces = run.plot.compare(looser, ["rod", "hinge"]).axes
    shared = run.time <= 1.5
    assert list(curves(apart)) == ["rod"] == list(curves(turned))
    assert list(curves(forces)) == ["hinge"]
    assert len(curves(apart)["rod"]) == shared.sum()
    # The center of mass is half a meter from the hinge: both panels show the same angle.
    np.testing.assert_allclose(curves(apart)["rod"][5:], 0.5 * curves(turned)["rod"][5:], rtol=1e-3, atol=1e-12)
    assert 1e-10 < np.nanmax(curves(turned)["rod"]) < 1e-3
    itself = run.plot.compare(run)
    assert np.isnan(curves(itself.axes[0])["rod"]).all()


def test_energies_by_name(run):
    above, below = run.plot.energies().axes
    np.testing.assert_allclose(sum(curves(above).values()), run.energy.kinetic, rtol=1e-12)
    np.testing.assert_allclose(sum(curves(below).values()), run.energy.potential, rtol=1e-12)


def test_rank_over_time(run):
    above, below = quirk.simulate(run.system, 0.1, output=0.05).plot.rank().axes
    np.testing.assert_array_equal(curves(above)["independent"], 10)
    np.testing.assert_array_equal(curves(above)["rows"], 10)
    assert np.nanmin(below.lines[-1].get_ydata()) > 0


def test_events_are_marked_while_they_are_few(run):
    (ax,) = run.plot.energy().axes
    lowest = next(line for line in ax.lines if is_mark(line) and line.get_label().startswith("lowest"))
    times = run.events.of("lowest").time
    np.testing.assert_array_equal(lowest.get_xdata()[::3], times)
    assert lowest.get_ydata()[0] == 0.0  # across the axes
    assert f"lowest ({len(times)} events)" in texts(ax)
    (plain,) = run.plot.energy(events=False).axes
    assert not any(is_mark(line) for line in plain.lines)


def test_hundreds_of_events_are_strokes_at_the_border():
    ball = Body.sphere("ball", 1.0, 0.1)
    events = [quirk.Event(f"each {k}", "time", level=0.1 * k) for k in range(1, 9)]
    result = quirk.simulate(quirk.System([ball, *events]), 1.0, output=0.1)
    result.events._rows = [row for row in result.events for _ in range(40)]
    (ax,) = result.plot.quantity("ball.speed").axes
    marks = [line for line in ax.lines if is_mark(line)]
    assert len(marks) == 5
    assert sum(len(line.get_xdata()) for line in marks) == 3 * 8 * 40 > MOST_LINES
    assert all(np.nanmin(line.get_ydata()) > 0.9 for line in marks)
    assert texts(ax)[-1] == "4 other names (160 events)"


def test_many_curves_are_a_few_and_a_band():
    _, ax = plt.subplots()
    every = {f"c{k}": np.array([0.0, k]) for k in range(500)}
    draw_largest(ax, np.array([0.0, 1.0]), every)
    assert list(curves(ax)) == [f"c{k}" for k in range(492, 500)]
    (band,) = ax.collections
    assert band.get_label() == "492 others, all smaller"
    assert np.concatenate([path.vertices[:, 1] for path in band.get_paths()]).max() == 491


def test_axes_of_the_user(run):
    figure, axes = plt.subplots(2, 2)
    assert run.plot.motion("rod", ax=axes) is figure
    assert axes[0, 0].get_title() == "rod\nposition, inertial axes"
    assert figure.get_suptitle() == ""
    assert all(len(ax.lines) >= 3 for ax in axes.ravel())
    _, solid = plt.subplots(subplot_kw={"projection": "3d"})
    with pytest.raises(quirk.InputError, match=r"plot\.motion: ax must be 4 axes, row by row, for this picture; got 1"):
        run.plot.motion("rod", ax=solid)
    with pytest.raises(quirk.InputError, match="ax must be axes of a plane"):
        run.plot.energy(ax=solid)
    with pytest.raises(quirk.InputError, match='ax must be axes with projection="3d"'):
        run.plot.ghosts(view=(20, 30), ax=axes[0, 0])


def test_a_figure_of_the_user_is_saved_and_left_open(run, tmp_path):
    figure, ax = plt.subplots()
    run.plot.energy(ax=ax, path=tmp_path / "own.png")
    assert (tmp_path / "own.png").stat().st_size > 1000
    assert plt.fignum_exists(figure.number)


def test_size_and_style(run):
    figure = run.plot.energy(size=(3.5, 2.0), style=["seaborn-v0_8-paper", {"font.size": 6.0, "lines.linewidth": 3.0}])
    assert figure.get_size_inches().tolist() == [3.5, 2.0]
    assert figure.axes[0].lines[-1].get_linewidth() == 3.0
    assert plt.rcParams["lines.linewidth"] != 3.0


@pytest.mark.slow
def test_a_hundred_saved_plots_leave_nothing_open(run, tmp_path, monkeypatch):
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda figure, path, **_: path.write_bytes(b"picture"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for k in range(30):
            run.plot.quantity("hinge", path=tmp_path / f"{k}.png")
    assert plt.get_fignums() == []


@pytest.mark.parametrize(("unit", "largest", "found"), [
    ("m", 3e-3, (1e-3, "mm")), ("m", 0.5, (1.0, "m")), ("m", 5e4, (1e3, "km")), ("N m", 2e6, (1e6, "MN m")),
    ("rad", 1e5, (1.0, "rad")), ("rad", 1e-5, (1e-6, "µrad")), ("s", 1e6, (1.0, "s")), ("m/s$^2$", 1e6, (1.0, "m/s$^2$")),
    ("kg m/s", 1e9, (1.0, "kg m/s")), ("", 1e9, (1.0, "")), ("m", 1e-30, (1.0, "m")), ("m", np.inf, (1.0, "m")),
])  # fmt: skip
def test_prefixes(unit, largest, found):
    assert prefixed(unit, largest) == pytest.approx(found)


def test_ticks_of_a_prefix_and_lines_in_meters():
    figure, ax = plt.subplots()
    ax.plot([0.0, 1.0], [0.0, 4e-3])
    ax.yaxis.set_major_formatter(InUnit(1e-3))
    figure.draw_without_rendering()
    labels = {text.get_text() for text in ax.get_yticklabels()}
    assert {"0.0", "1.0", "4.0"} <= labels


class TestSummary:
    def test_round_off_is_no_load(self):
        """A hinge whose axis leans carries no torque about it, and beside its force what is left of one is nothing."""
        rod = Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0.1, 0.3])
        ball = quirk.Spherical("ball", GROUND, rod, point=[0, 0, 0])
        fixed = quirk.System([rod, ball, quirk.Fixed("stay", GROUND, rod)], gravity=[0, 0, -9.81])
        result = quirk.simulate(fixed, 0.1, output=0.05)
        said = {line.split()[0]: line.split()[1:] for line in result.summary().splitlines() if len(line.split()) == 3}
        for name in ("ball", "stay"):
            for text, load in zip(said[name], (result[name].force(), result[name].torque()), strict=True):
                value, exact = float(text), np.linalg.norm(load, axis=1).max()
                assert value == 0.0 if exact < 1e-12 else value == pytest.approx(exact, rel=1e-4)
        assert said["ball"][1] == "0"

    def test_it_tells_events_and_the_largest_loads_alone(self):
        """Of sixty bodies on as many wires: few lines, with how many are left out."""
        parts = []
        for k in range(60):
            ball = Body.sphere(f"ball {k}", 1.0 + 0.01 * k, 0.01, position=[k, 0, -1])
            parts += [ball, quirk.Distance(f"wire {k}", GROUND, ball, point_i=[k, 0, 0])]
        ticks = [quirk.Event(f"tick {k}", "time", level=0.01 * k) for k in range(1, 12)]
        text = quirk.simulate(quirk.System([*parts, *ticks], gravity=[0, 0, -9.81]), 0.2, output=0.1).summary()
        lines = text.splitlines()
        assert len(lines) < 45
        assert "tick 1: 1 event, at 0.01 s" in lines
        assert "and 3 events of 3 other names" in lines
        assert "and 44 more, with smaller forces and torques" in lines
        assert any(line.startswith("wire 59 ") for line in lines)
        assert not any(line.startswith("wire 0 ") for line in lines)

    def test_friction_and_segments(self):
        """One block slides to rest, another does not stop within the run."""
        parts = []
        for name, speed in (("slow", 0.5), ("swift", 20.0)):
            block = Body.box(name, 1.0, [0.1, 0.1, 0.1], velocity=[speed, 0, 0])
            guide = quirk.Prismatic(f"{name} guide", GROUND, block, axis="x")
            parts += [block, guide, quirk.Friction(f"{name} rub", guide, 0.5)]
        text = quirk.simulate(quirk.System(parts, gravity=[0, 0, -9.81]), 0.4, output=0.1).summary()
        assert "friction at the end    slides: swift rub; sticks: slow rub" in text
        assert "segments               2, with 10 to 11 rows, none redundant" in text


class TestPolar:
    def test_the_tip_of_the_force(self, run):
        """In a plane of the body, as an observer on it sees the force."""
        (ax,) = run.plot.polar("hinge", "j", plane="zx").axes
        angle, size = ax.lines[0].get_data()
        force = run["hinge"].force("j")
        np.testing.assert_allclose(size * np.cos(angle), force[:, 2], atol=1e-12)
        np.testing.assert_allclose(size * np.sin(angle), force[:, 0], atol=1e-12)
        assert ax.get_title() == "hinge: force on rod by ground, axes of rod"
        assert ax.get_ylabel() == "Force (N)"
        assert [text.get_text() for text in ax.get_xticklabels()][:3] == ["z  0°", "45°", "x  90°"]

    def test_on_the_other_body_across_the_least_axis(self, run):
        (ax,) = run.plot.polar("hinge", "i", on="i").axes
        angle, size = ax.lines[0].get_data()
        np.testing.assert_allclose(size * np.cos(angle), -run["hinge"].force("i")[:, 2], atol=1e-12)
        assert ax.get_title() == "hinge: force on ground by rod, axes of ground"
        assert ax.get_xlabel() == ""
        (ax,) = run.plot.polar("hinge", plane="xy").axes
        assert ax.get_xlabel().startswith(f"along z up to {np.abs(run['hinge'].force('j')[:, 2]).max():.3g} N")

    def test_several_and_in_color(self, run):
        (ax,) = run.plot.polar(["hinge", "spring"], "inertial").axes
        assert texts(ax) == ["hinge", "spring"]
        shaded, bar = run.plot.polar("hinge", color="hinge.deg").axes
        (pieces,) = shaded.collections
        degrees = np.degrees(run["hinge"].angle)
        np.testing.assert_allclose(pieces.get_array(), 0.5 * (degrees[:-1] + degrees[1:]))
        assert bar.get_ylabel() == "hinge.deg (deg)"
        _, own = plt.subplots(subplot_kw={"projection": "polar"})
        assert run.plot.polar("hinge", ax=own).axes == [own]

    def test_what_cannot_be_drawn(self, run):
        for ask, said in (
            (lambda p: p.polar("rod"), '"rod" must be the name of a joint'),
            (lambda p: p.polar([]), "joint must be the name of a joint or a force, or several"),
            (lambda p: p.polar("hinge", "k"), "frame must be one of"),
            (lambda p: p.polar("hinge", on="rod"), "on must be one of"),
            (lambda p: p.polar("hinge", plane="xx"), "plane must be one of"),
            (lambda p: p.polar(["hinge", "guide"], color="hinge"), "color is for a single joint; got 2"),
            (lambda p: p.polar("hinge", ax=plt.subplots()[1]), 'ax must be axes with projection="polar"'),
        ):
            with pytest.raises(quirk.InputError) as error:
                ask(run.plot)
            assert said in str(error.value)
