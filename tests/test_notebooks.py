"""What notebooks show: well-formed HTML of bounded size, in no time, in which names mean nothing but themselves."""

import time
from xml.etree import ElementTree

import numpy as np
import pytest
from mechanisms import chain, level_rod

import quirk
from quirk import GROUND, Body
from quirk.graphics.notebook import results
from quirk.graphics.notebook.tables import MOST_ROWS

# Characters of the largest page, whatever the system.
BOUND = 40_000
NASTY = '<script>alert("&")</script>'


def parsed(shown):
    """The elements of what `_repr_html_` returns, and all of its text."""
    html = shown._repr_html_()
    root = ElementTree.fromstring(html)  # refuses what is not well-formed
    assert root.find(".//script") is None
    assert len(html) < BOUND
    return root, "".join(root.itertext())


def sprung(name):
    """A pendulum with a spring and an event, all with names made from one."""
    rod, hinge = level_rod(name)
    spring = quirk.Spring(f"{name} spring", GROUND, rod, stiffness=3.0)
    bottom = quirk.Event(f"{name} at the bottom", "time", level=0.5)
    return quirk.System([rod, hinge, spring, bottom], gravity=[0, 0, -9.81])


@pytest.fixture(scope="module")
def result():
    return quirk.simulate(sprung(NASTY), 1.0, output=0.05)


def of(result):
    """All that has a page of its own."""
    system = result.system
    views = [result[NASTY], result[f"{NASTY} hinge"], result[f"{NASTY} spring"]]
    rows = system.constraint_rows(system.initial_state())
    return [system, system.mobility(), rows, result, *views, result.events, result.health()]


def test_names_are_escaped(result):
    for shown in of(result):
        root, text = parsed(shown)
        assert text.count("<") == text.count(NASTY) * 2
        assert root.tag == "div"
    _, text = parsed(result.system)
    assert text.count(NASTY) == 6  # the body, twice as an end, and the start of three other names


def test_tables_say_what_there_is(result):
    _, text = parsed(result.system)
    assert "1 body, 1 constraint, 1 force, 1 event" in text
    assert "6 × 1 − 5 = 1" in text
    _, text = parsed(result)
    assert "completed, 1 s" in text
    assert f"drift {result.energy.drift:.1e}" in text
    assert f"{result.residual.position.max():.1e} at position level" in text
    _, text = parsed(result[NASTY])
    assert f"({result[NASTY].position[-1, 0]:.6g}, 0, {result[NASTY].position[-1, 2]:.6g})" in text
    _, text = parsed(result[f"{NASTY} hinge"])
    assert f"{np.linalg.norm(result[f'{NASTY} hinge'].force(), axis=1).max():.6g}" in text
    root, text = parsed(result.events)
    assert len(root.findall(".//tbody/tr")) == len(result.events) == 1


def test_loads_that_are_not_unique_are_listed():
    door = Body("door", 20.0, [1, 1, 1])
    hinges = [quirk.Revolute(n, GROUND, door, point=[0, 0, z], axis=[0, 0, 1]) for n, z in (("low", -1), ("high", 1))]
    _, text = parsed(quirk.System([door, *hinges]).mobility())
    assert "rank 5 of 10 rows" in text
    assert "0 of 2 are unique" in text
    assert text.count("unique only in sum") >= 2


def test_a_pattern_has_a_mark_for_each_entry(result):
    rows = result.system.constraint_rows(result.system.initial_state())
    root, _ = parsed(rows)
    assert len(root.findall(".//{*}rect")) == np.count_nonzero(rows.A)


def test_a_system_without_rows():
    system = quirk.System([Body("b", 1.0, [1, 1, 1])])
    root, text = parsed(system.constraint_rows(system.initial_state()))
    assert text == "Constraint rows: A of 0 × 7, 0 entries that are not zero"
    assert root.find(".//{*}svg") is None


def test_energies_are_drawn_within_the_picture(result):
    (svg,) = parsed(result)[0].findall(".//{*}svg")
    lines = [np.array([p.split(",") for p in line.get("points").split()], float) for line in svg]
    assert len(lines) == 3
    for line in lines:
        assert len(line) == len(result.time)
        assert line.min() >= 0
        assert (line.max(axis=0) <= [int(svg.get("width")), int(svg.get("height"))]).all()
    # The kinetic energy begins at zero, below what it becomes: y points down.
    assert lines[1][0, 1] > lines[1][-1, 1]


def held_chain(count):
    """A chain of which each rod hangs on a spring, too."""
    rods, hinges = chain([f"b{k}" for k in range(count)])
    springs = [quirk.Spring(f"s{k}", GROUND, rod, stiffness=1.0) for k, rod in enumerate(rods)]
    return quirk.System([*rods, *hinges, *springs], gravity=[0, 0, -9.81])


def test_large_systems_have_small_pages_soon(monkeypatch):
    system = held_chain(500)
    began = time.process_time()
    root, text = parsed(system)
    assert time.process_time() - began < 1.0
    assert len(root.findall(".//tr")) < 4 * (MOST_ROWS + 2)
    assert "and 488 more in system.bodies" in text


def test_of_large_results_nothing_is_computed(monkeypatch):
    result = quirk.simulate(held_chain(20), 1e-3, output=1e-4)
    assert results.small(result)
    monkeypatch.setattr(results, "MOST_STATES", 219)
    assert not results.small(result)
    monkeypatch.setattr(quirk.Result, "energy", property(lambda self: pytest.fail("energies were computed")))
    monkeypatch.setattr(quirk.Result, "_joint_loads", property(lambda self: pytest.fail("loads were computed")))
    pages = [parsed(shown)[1] for shown in (result, result["b7"], result["hinge b7"], result["s7"], result.events)]
    assert "not computed for a result of this size" in pages[0]
    assert "not computed for a result of this size" in pages[2]


def test_many_rows_are_drawn_in_part():
    system = held_chain(30)
    rows = system.constraint_rows(system.initial_state())
    _, text = parsed(rows)
    assert "the first 40 rows and 12 bodies" in text


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda r: r.mobility, "<Mobility: 1 degrees of freedom, rank 5 of 5 rows>"),
        (lambda r: r.health(), "<Health: of the constraints at 21 times; print it>"),
        (lambda r: r.system.constraint_rows(r.state_at()), "<ConstraintRows: 5 rows over 1 bodies>"),
        (lambda r: r[NASTY], f'<BodyView: Body "{NASTY}" at 21 times>'),
        (lambda r: r[f"{NASTY} hinge"], f'<JointView: Revolute "{NASTY} hinge" at 21 times>'),
        (lambda r: r[f"{NASTY} spring"], f'<ForceView: Spring "{NASTY} spring" at 21 times>'),
        (lambda r: r[NASTY].path([0.5, 0, 0]), f'<PointPath: (0.5, 0, 0) m of Body "{NASTY}">'),
        (lambda r: r.center_of_mass(), "<CenterOfMass: of 1 bodies, 1 kg>"),
        (lambda r: r.momentum, "<Momentum: linear and angular, at 21 times>"),
        (lambda r: r.power, f"<Power: of gravity, {NASTY} spring, {NASTY} hinge>"),
    ],
)  # fmt: skip
def test_text(result, ask, said):
    assert repr(ask(result)) == said


def test_text_of_energies_and_residuals(result):
    assert repr(result.energy) == f"<Energy: 0 J at the start, {result.energy.total[-1]:.6g} J at the end>"
    assert repr(result.residual).startswith("<Residual: up to ")
