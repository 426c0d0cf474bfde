"""Where watched quantities cross: several times in a step, on drivers, next to zero; and rest of contacts by round-off."""

import configparser
from pathlib import Path

import numpy as np
import pytest

import quirk


def nothing(t, state):
    """Happen, and leave all as it is."""


def moving(function, action="record", **options):
    """Times at which a function of x crosses zero, where x is the time."""
    ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1, velocity=[1, 0, 0])
    event = quirk.Event("crossing", lambda t, s: function(s["ball"].position[0]), action=action)
    options = {"method": "RK4", "step": 1.0, **options}
    return quirk.simulate(quirk.System([ball]), 6.0, events=[event], **options).events.time


@pytest.mark.parametrize("action", ["record", nothing])
@pytest.mark.parametrize("width", [0.05, 0.01, 1e-4])
def test_two_crossings_anywhere_in_a_step(action, width):
    for middle in (3.025, 3.05, 3.175, 3.3, 3.975):
        roots = [middle - width / 2, middle + width / 2]
        found = moving(lambda x, roots=roots: (x - roots[0]) * (x - roots[1]), action)
        np.testing.assert_allclose(found, roots, rtol=1e-13)


def test_what_stays_at_zero_has_crossed_once():
    ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1)
    event = quirk.Event("slack", lambda t, s: max(3.0 - float(t), 0.0))
    events = quirk.simulate(quirk.System([ball]), 6.0, method="RK4", step=0.7, events=[event]).events
    assert [(row.time, row.direction) for row in events] == [(pytest.approx(3.0, rel=1e-14), -1)]


@pytest.mark.parametrize("action", ["record", nothing])
@pytest.mark.parametrize("method", [{"method": "Vern9"}, {"method": "Tsit5"}, {"method": "RK4", "step": 0.01}])
def test_crossings_of_what_is_driven_are_where_the_driver_says(action, method):
    w, amplitude = 30.0, 0.02
    table = quirk.Body.box("table", mass=5.0, size=[1, 1, 0.1], velocity=[0, 0, amplitude * w])
    slide = quirk.Prismatic("slide", quirk.GROUND, table, axis=[0, 0, 1])
    drive = quirk.Drive("drive", slide, quirk.Motion.sinusoid(amplitude, w))
    event = quirk.Event("half", "table.position.z", level=amplitude / 2, action=action)
    found = quirk.simulate(quirk.System([table, slide, drive]), 2.0, events=[event], **method).events.time
    turns = 2 * np.pi * np.arange(10)
    expected = np.sort(np.concatenate([np.pi / 6 + turns, 5 * np.pi / 6 + turns])) / w
    np.testing.assert_allclose(found, expected[expected < 2.0], rtol=1e-12)


def dropped(orientation, angular_velocity, velocity, restitution, **options):
    """Lowest height of the corners of a box that falls on a plane, its energy, and its height at the end."""
    size = np.array([1.0, 0.6, 0.4])
    box = quirk.Body.box(
        "box",
        mass=2.0,
        size=size,
        position=[0, 0, 1],
        orientation=np.array(orientation) / np.linalg.norm(orientation),
        velocity=velocity,
        angular_velocity=angular_velocity,
    )
    corners = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).T.reshape(-1, 3) * size / 2
    plane = quirk.surface.plane()
    contacts = [
        quirk.Contact(f"c{n}", quirk.GROUND, box, on_i=plane, on_j=quirk.surface.point(corner), restitution=restitution)
        for n, corner in enumerate(corners)
    ]
    result = quirk.simulate(quirk.System([box, *contacts], gravity=[0, 0, -9.81]), 3.0, **options)
    heights = [result["box"].path(corner).position[:, 2].min() for corner in corners]
    return min(heights), result.energy.total, result["box"].position[-1, 2]


@pytest.mark.parametrize(
    ("turned", "options"),
    [
        # A contact that has opened so slowly that its gap is round-off.
        (([1, 0.2, 0.1, 0.05], [1, 2, 3], [1, 0, 0], 0.3), {"rtol": 1e-10, "atol": 1e-12}),
        # Of three corners that rest two carry all of the weight.
        (([1, 0.2, 0.1, 0.05], [0, 0, 0], [0, 0, 0], 0.0), {"method": "RK4", "step": 0.01}),
    ],
)
def test_a_box_comes_to_rest_on_a_plane(turned, options):
    lowest, energy, height = dropped(*turned, **options)
    assert lowest > -1e-10
    assert np.diff(energy).max() < 1e-9
    assert height == pytest.approx(0.2, abs=1e-12)


def test_all_packages_are_installed():
    root = Path(__file__).parent.parent
    config = configparser.ConfigParser()
    config.read(root / "setup.cfg")
    folders = {path.parent for path in (root / "quirk").rglob("*.py")}
    found = {".".join(folder.relative_to(root).parts) for folder in folders}
    assert found <= set(config["options"]["packages"].split())


def fails(t, state):
    """A quantity that cannot be found from some time on."""
    if float(t) > 0.7:
        raise KeyError("boom")
    return 1.0


@pytest.mark.parametrize("function", [fails, lambda t, s: 1.0 if float(t) < 0.7 else True])
def test_functions_that_fail_on_the_way_end_the_run(function):
    ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1)
    with pytest.raises(quirk.SimulationError, match='Event "bad"') as caught:
        quirk.simulate(quirk.System([ball]), 2.0, max_step=0.1, events=[quirk.Event("bad", function)])
    assert 0.5 < caught.value.result.time[-1] < 0.75


def test_quantities_by_name_are_those_of_their_own_frames():
    def found(point, name):
        rod = quirk.Body.box("rod", mass=1.0, size=[1, 0.05, 0.05], position=[0.5, 0, 0])
        hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=point, axis=[0, 1, 0])
        event = quirk.Event("e", name, level=0.5)
        by_hand = quirk.Event("f", lambda t, s: s["hinge"].angle - 0.5)
        system = quirk.System([rod, hinge], gravity=[0, 0, -9.81])
        return quirk.simulate(system, 1.0, events=[event, by_hand]).events.time

    for point in ([0, 0, 0], [0.2, 0, 0]):
        one, other = found(point, "hinge.angle")
        assert one == pytest.approx(other, rel=1e-13)


@pytest.mark.parametrize("method", ["RadauIIA9", "Tsit5", "Vern9"])
def test_a_crossing_happens_once(method):
    """Round-off of states within a step lets a quantity cross its level three times in 4e-16 s; that is one event."""
    rod = quirk.Body.box("rod", 1.0, [1.0, 0.05, 0.05], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
    fastest = np.sqrt(3 * 9.81 * 0.5 / 0.5)
    levels = {f"level{k}": level * fastest for k, level in enumerate(np.linspace(-0.95, 0.95, 21))}
    events = [quirk.Event(name, "hinge.angle_rate", level=level) for name, level in levels.items()]
    system = quirk.System([rod, hinge, *events], gravity=[0, 0, -9.81])
    log = quirk.simulate(system, 6.0, method=method, output=[6.0]).events
    for name in levels:
        rows = [(row.time, row.direction) for row in log if row.name == name]
        times, ways = np.array(rows).T
        assert (np.diff(times) > 1e-3).all(), (name, rows)
        assert (np.diff(ways) != 0).all(), (name, rows)
