"""Works of drivers that share a load, and the warnings for outputs whose loads or works are inaccurate."""

import warnings

import numpy as np
import pytest
from scipy.integrate import simpson

import quirk
from quirk import GROUND, Body, Motion

RATE = 2.0  # rad/s


def linkage(corners, masses):
    """Bars between successive corners, in the x-z plane, and hinges at the corners; the first and last are on GROUND."""
    bars = [Body.bar(f"bar {k}", *corners[[k, k + 1]], mass=mass) for k, mass in enumerate(masses)]
    ends = zip([GROUND, *bars], [*bars, GROUND], corners, strict=True)
    pins = [quirk.Revolute(f"pin {k}", *bodies, point=p, axis=[0, 1, 0]) for k, (*bodies, p) in enumerate(ends)]
    return [*bars, *pins], pins


def four_bar():
    """A four-bar whose crank turns at a constant rate, and whose rocker has a driver with the motion caused by it."""
    corners = np.array([[0, 0, 0], [0, 0, 0.3], [1.0, 0, 0.7], [1.2, 0, 0]])
    times = np.linspace(0, 2.0, 401)
    parts, pins = linkage(corners, [1.0, 2.0, 3.0])
    drives = [quirk.Drive("one", pins[0], Motion.constant_rate(RATE))]
    alone = quirk.System([*parts, *drives], gravity=[0, 0, -9.81])
    alone.assemble()
    follow = quirk.simulate(alone, 2.0, output=times, rtol=1e-12, atol=1e-13)["pin 3"].angle
    drives.append(quirk.Drive("two", pins[3], Motion.spline(times, follow)))
    system = quirk.System([*parts, *drives], gravity=[0, 0, -9.81])
    system.assemble()
    return system


def shaft():
    """A bar on a horizontal hinge with two drivers that agree."""
    bar = Body.box("bar", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, bar, point=[0, 0, 0], axis=[0, 1, 0])
    drives = [quirk.Drive(name, hinge, Motion.constant_rate(RATE)) for name in ("one", "two")]
    system = quirk.System([bar, hinge, *drives], gravity=[0, 0, -9.81])
    system.assemble()
    return system


def potential(t):
    """Potential energy (J) of the bar of `shaft` minus that at the start."""
    return 9.81 * 0.5 * np.sin(-RATE * np.asarray(t))


@pytest.mark.parametrize("method", ["auto", "RadauIIA9"])
def test_two_drivers_of_one_hinge_do_half_of_the_work_each(method):
    run = quirk.simulate(shaft(), 2.0, method=method, rtol=1e-10, atol=1e-12)
    for name in ("one", "two"):
        np.testing.assert_allclose(run.power.work[name], potential(run.time) / 2, atol=1e-8)
    assert np.abs(run.power.balance).max() < 1e-8


def test_a_driver_that_is_switched_off_leaves_its_work_to_the_other():
    stop = quirk.Event("stop", "time", level=1.0, action=quirk.disable("two"))
    run = quirk.simulate(shaft(), 2.0, events=[stop], rtol=1e-10, atol=1e-12)
    half = potential(np.minimum(run.time, 1.0)) / 2
    np.testing.assert_allclose(run.power.work["two"], half, atol=1e-8)
    np.testing.assert_allclose(run.power.work["one"], potential(run.time) - half, atol=1e-8)


def test_work_of_shared_drivers_is_the_integral_of_their_power():
    run = quirk.simulate(four_bar(), 2.0, output=np.linspace(0, 2.0, 401))
    works = run.power.work
    for name, pin in (("one", "pin 0"), ("two", "pin 3")):
        power = run.power[name]
        np.testing.assert_allclose(power, run[name].effort * run[pin].angle_rate, atol=1e-6)
        assert works[name][-1] == pytest.approx(simpson(power, run.time), abs=1e-6)
        assert np.ptp(works[name]) > 0.1
    stored = run.energy.total - run.energy.total[0]
    np.testing.assert_allclose(works["one"] + works["two"], stored, atol=1e-6)


def test_work_at_other_times_agrees_with_that_at_outputs():
    run = quirk.simulate(shaft(), 2.0, output=0.01)
    times = np.array([0.333, 1.0, 1.777])
    at = run.at(times)
    for name in ("one", "two"):
        np.testing.assert_allclose(at.power.work[name], potential(times) / 2, atol=1e-6)


def test_outputs_too_far_apart_for_works_are_named():
    run = quirk.simulate(shaft(), 2.0, output=[0.0, 0.7, 2.0])
    with pytest.warns(quirk.OutputWarning, match="the work of one and two, which share a load"):
        works = run.power.work
    np.testing.assert_allclose(works["one"] + works["two"], potential(run.time), atol=1e-6)


@pytest.mark.parametrize("outputs", [6, 11, 51])
@pytest.mark.parametrize("drivers", [2, 3])
def test_equal_shares_are_exact_at_few_outputs(drivers, outputs):
    """The bar of `shaft`, moved by equal drivers; its total energy is known as a function of time."""
    random = np.random.default_rng(10 * drivers + outputs)
    amplitude, frequency = random.uniform(0.3, 1.0), random.uniform(3.0, 8.0)
    bar = Body.box("bar", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, bar, point=[0, 0, 0], axis=[0, 1, 0])
    drives = [quirk.Drive(f"d{k}", hinge, Motion.sinusoid(amplitude, frequency)) for k in range(drivers)]
    system = quirk.System([bar, hinge, *drives], gravity=[0, 0, -9.81])
    system.assemble()
    run = quirk.simulate(system, 1.0, output=np.linspace(0, 1.0, outputs), rtol=1e-10, atol=1e-12)
    inertia = 1.0 * (1**2 + 0.1**2) / 12 + 0.5**2
    turned, rate = run["hinge"].angle, amplitude * frequency * np.cos(frequency * run.time)
    energy = inertia * rate**2 / 2 - 9.81 * 0.5 * np.sin(turned)
    at = run.at([0.0, 0.333, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.OutputWarning)
        works, between = run.power.work, at.power.work
    for drive in drives:
        np.testing.assert_allclose(works[drive.name], (energy - energy[0]) / drivers, atol=1e-7)
        assert between[drive.name][-1] == pytest.approx((energy[-1] - energy[0]) / drivers, abs=1e-7)


@pytest.mark.parametrize("outputs", [3, 5, 6, 8, 11, 15, 21, 41, 401])
def test_unequal_shares_are_accurate_or_named(outputs):
    system = four_bar()
    fine = quirk.simulate(system, 2.0, output=np.linspace(0, 2.0, 2001))
    true = simpson(fine.power["one"], fine.time)
    run = quirk.simulate(system, 2.0, output=np.linspace(0, 2.0, outputs))
    with warnings.catch_warnings(record=True) as issued:
        warnings.simplefilter("always")
        works = run.power.work
    error, size = abs(works["one"][-1] - true), np.abs([works["one"], works["two"]]).max()
    assert error <= 1e-4 * size or any(w.category is quirk.OutputWarning for w in issued)
    assert outputs < 401 or not issued


def flat_parallelogram(offset):
    """A driven parallelogram and output times; it lies flat at pi/4 s, and one output is `offset` (s) later."""
    c, b = 0.3, 1.0
    corners = np.array([[0, 0, 0], [0, 0, c], [b, 0, c], [b, 0, 0]], dtype=float)
    parts, pins = linkage(corners, [1.0, 2.0, 1.0])
    drive = quirk.Drive("drive", pins[0], Motion.constant_rate(RATE))
    system = quirk.System([*parts, drive], gravity=[0, 0, -9.81])
    system.assemble()
    return system, np.array([0, 0.5, np.pi / 4 + offset, 1.2]), -(2 * 0.5 + 2) * 9.81 * c


@pytest.mark.parametrize("method", ["Vern9", "Rodas5P", "Tsit5"])
@pytest.mark.parametrize("offset", [0.0, -1e-7, 1e-5, 1e-4])
def test_outputs_near_a_singular_configuration_are_named(offset, method):
    system, times, amplitude = flat_parallelogram(offset)
    run = quirk.simulate(system, 1.2, output=times, method=method)
    with pytest.warns(quirk.RoundOffWarning, match=r"at t = 0\.785\d* s are inaccurate: a singular configuration is"):
        effort = run["drive"].effort
    far = [0, 1, 3]
    np.testing.assert_allclose(effort[far], amplitude * np.sin(RATE * times[far]), rtol=1e-6, atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        work = run.power.work["drive"]  # integrated with the motion, whatever the loads at outputs are
    expected = amplitude * (1 - np.cos(RATE * times))
    np.testing.assert_allclose(work, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["Vern9", "Rodas5P", "Tsit5", "Taylor"])
def test_outputs_without_a_warning_have_accurate_loads(method):
    system, times, amplitude = flat_parallelogram(1e-3)
    effort = quirk.simulate(system, 1.2, output=times, method=method)["drive"].effort
    np.testing.assert_allclose(effort, amplitude * np.sin(RATE * times), rtol=1e-7, atol=1e-9)


def test_light_bodies_in_loops_cause_no_warning():
    """A slider-crank with a rod of 1e-9 kg has rows that are nearly dependent in the mass metric at all times."""
    crank = Body.bar("crank", [0, 0, 0], [0.1, 0, 0], mass=1.0)
    rod = Body.bar("rod", [0.1, 0, 0], [0.4, 0, 0], mass=1e-9)
    piston = Body.box("piston", 1.0, [0.1, 0.1, 0.1], position=[0.4, 0, 0])
    pins = [((GROUND, crank), 0.0), ((crank, rod), 0.1), ((rod, piston), 0.4)]
    joints = [quirk.Revolute(f"pin {k}", *ends, point=[x, 0, 0], axis=[0, 0, 1]) for k, (ends, x) in enumerate(pins)]
    bore = quirk.Prismatic("bore", GROUND, piston, axis=[1, 0, 0])
    system = quirk.System([crank, rod, piston, *joints, bore], gravity=[0, -9.81, 0])
    system.assemble(rates={"pin 0": 3.0})
    run = quirk.simulate(system, 1.0)
    assert np.isfinite(run["pin 1"].force()).all()
