"""What joints leave free, and what drivers and actuators exert along it, by name."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Motion, planar
from quirk.errors import InputError
from quirk.result.named_quantities import curve

SWING = Motion.sinusoid(0.5, 3.0, offset=0.4)


def rod():
    return Body.box("rod", 2.0, [1, 0.1, 0.2], position=[0.5, 0, 0])


def hinged(*more):
    body = rod()
    hinge = quirk.Revolute("hinge", GROUND, body, point=[0, 0, 0], axis="y")
    return body, hinge, *(make(hinge) for make in more)


def run_of(*parts, coordinates=None, **options):
    system = quirk.System(parts, gravity=[0, -5.0, -9.81])
    start = system.assemble(coordinates=coordinates) if coordinates else system.assemble()
    return quirk.simulate(system, 0.5, output=0.05, initial_state=start, **options)


def slid(coordinate="translation"):
    """A body that turns about and slides along a slanting axis, of which a driver moves one."""
    body = rod()
    pin = quirk.Cylindrical("joint", GROUND, body, point=[0.1, 0, 0], axis=[1, 1, 2])
    return run_of(body, pin, quirk.Drive("motor", pin, SWING, coordinate))


def crossed():
    """A cross of which one angle is driven, the other swings."""
    body = rod()
    cross = quirk.Universal("joint", GROUND, body, point=[0, 0, 0], axis_i="y", axis_j="z")
    return run_of(body, cross, quirk.Drive("motor", cross, SWING, "rotation y"))


def telescope():
    body, hinge = hinged()
    return run_of(body, hinge, quirk.DistanceDrive("motor", GROUND, body, Motion.sinusoid(0.1, 3.0, offset=1.2),
                                                   point_i=[0, 0, 1], point_j=[0.3, 0, 0]))  # fmt: skip


def flat(driver):
    """A planar bar on a pivot, driven by a driver of planar bodies."""
    bar = planar.PlanarBody.bar("rod", (0, 0), (1, 0), 2.0)
    pivot = planar.Revolute("joint", GROUND, bar, point=(0, 0))
    return run_of(bar, pivot, driver(bar))


def rates(values, at=1e-5):
    """The rate of what a driver prescribes."""
    return lambda run: (np.array([values(t + at) - values(t - at) for t in run.time])) / (2 * at)


TELESCOPE = Motion.sinusoid(0.1, 3.0, offset=1.2)
CASES = {
    "angle": (lambda: run_of(*hinged(lambda h: quirk.Drive("motor", h, SWING))), lambda r: r["hinge"].angle_rate),
    "travel": (slid, lambda r: r["joint"].travel_rate),
    "angle of two": (lambda: slid("rotation"), lambda r: r["joint"].angle_rate),
    "angle of a cross": (crossed, lambda r: r["joint"].rotation_rate[:, 1]),
    "distance": (telescope, rates(TELESCOPE)),
    "planar angle": (lambda: flat(lambda b: planar.AngleDriver("motor", GROUND, b, SWING)), rates(SWING)),
    "planar distance": (
        lambda: flat(lambda b: planar.DistanceDriver("motor", GROUND, b, TELESCOPE, point_i=(0, 1))),
        rates(TELESCOPE),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_effort_times_rate_is_power(case):
    make, rate = CASES[case]
    run = make()
    power = run.power["motor"]
    assert np.abs(power).max() > 1.0
    np.testing.assert_allclose(run["motor"].effort * rate(run), power, rtol=0, atol=1e-7 * np.abs(power).max())


def test_effort_of_actuators():
    parts = hinged(lambda h: quirk.Actuator("motor", h, lambda t, x, rate: 30.0 - 5.0 * rate, limits=25.0))
    run = run_of(*parts)
    effort, rate = run["motor"].effort, run["hinge"].angle_rate
    np.testing.assert_allclose(effort, np.clip(30.0 - 5.0 * rate, -25.0, 25.0), atol=1e-12)
    np.testing.assert_allclose(effort * rate, run.power["motor"], atol=1e-11)
    found = curve("here", run, "motor.effort")
    assert (found.unit, found.values.tolist()) == ("N m", effort.tolist())


def test_effort_holds_a_weight_up():
    """2 kg, 0.5 m from a hinge about y: the weight turns it down, by a positive angle; the motor holds against."""
    parts = hinged(lambda h: quirk.Drive("motor", h, Motion.constant_rate(0.0)))
    run = run_of(*parts)
    np.testing.assert_allclose(run["motor"].effort, -2.0 * 9.81 * 0.5, rtol=1e-12)
    off = quirk.System(hinged(lambda h: quirk.Drive("motor", h, SWING, active=False)), gravity=[0, 0, -9.81])
    assert not quirk.simulate(off, 0.1, output=0.1)["motor"].effort.any()


def test_names_in_every_way_out(tmp_path):
    """The same names on views, of results that are opened again, at single times, in plots and data sets."""
    run = slid()
    path = run.save(tmp_path / "run.nc")
    again = quirk.Result.load(path)
    for name, unit, column in (
        ("angle", "rad", run["joint"].rotation[:, 2]),
        ("angle_rate", "rad/s", run["joint"].rotation_rate[:, 2]),
        ("travel", "m", run["joint"].displacement[:, 2]),
        ("travel_rate", "m/s", run["joint"].velocity[:, 2]),
        ("distance", "m", np.linalg.norm(run["joint"].displacement, axis=1)),
    ):
        found = curve("here", run, f"joint.{name}")
        assert found.unit == unit
        for values in (getattr(run["joint"], name), getattr(again["joint"], name), found.values):
            np.testing.assert_array_equal(values, column)
    np.testing.assert_array_equal(again["motor"].effort, run["motor"].effort)
    np.testing.assert_array_equal(run["rod"].speed, curve("here", run, "rod.speed").values)
    data = run.to_xarray("loads")
    np.testing.assert_array_equal(data.driver_effort.sel(driver="motor"), run["motor"].effort)
    assert data.driver_effort.attrs["units"] == "N"
    assert "motor.effort [N]" in run.to_pandas("loads")
    assert "effort" in run["motor"]._repr_html_()


@pytest.mark.parametrize(
    ("read", "said"),
    [
        (lambda r: r["hinge"].travel, 'Revolute "hinge": it has no travel, because it has no single axis'),
        (lambda r: r["hinge"].travel, "it has angle, displacement"),
        (lambda r: r["hinge"].effort, "only drivers of one coordinate"),
        (lambda r: r["push"].effort, "only drivers and actuators of one joint have effort"),
        (
            lambda r: curve("here", r, "rod.position.q"),
            r'no quantity "rod.position.q"; did you mean "rod.position.x"\?',
        ),
        (lambda r: curve("here", r, "hinge.angel"), r'did you mean "hinge.angle"\?'),
        (lambda r: curve("here", r, "hing.angle"), r'did you mean "hinge.angle"\?'),
        (lambda r: curve("here", r, "slide.displacement_rat"), r'did you mean "slide.displacement_rate"\?'),
    ],
)
def test_what_there_is_not(read, said):
    body, hinge = hinged()
    push = quirk.Force("push", body, [0, 0, 1.0])
    other = Body.sphere("other", 1.0, 0.1)
    guide = quirk.Prismatic("guide", GROUND, other, axis="x")
    run = run_of(body, hinge, push, other, guide, quirk.JointForce("slide", guide, 1.0))
    assert curve("here", run, "slide.displacement").unit == "m"
    with pytest.raises(InputError, match=said):
        read(run)
