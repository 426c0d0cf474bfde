"""Work that runs integrate beside the motion: it is right to the tolerance, and costs nothing where loads are smooth."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Motion, planar
from quirk.dynamics.model import work_tolerance

RATE = 2 * np.pi * 50  # rad/s


def driven_crank(width, *, meter=1.0, kilogram=1.0):
    """A slider-crank at constant rate against a gas pulse, whose width is an angle of the crank, deg: no freedom left."""
    R, L = 0.05 * meter, 0.15 * meter
    crank = Body.bar("crank", [0, 0, 0], [R, 0, 0], mass=0.5 * kilogram)
    rod = Body.bar("rod", [R, 0, 0], [R + L, 0, 0], mass=0.4 * kilogram)
    size = np.array([0.04, 0.06, 0.06]) * meter
    piston = Body.box("piston", 0.3 * kilogram, size, position=[R + L, 0, 0])
    main = quirk.Revolute("main", GROUND, crank, point=[0, 0, 0], axis=[0, 0, 1])
    force = f"{-25e3 * kilogram * meter!r}*exp(-(({RATE!r}*t - radians(375))/radians({width!r}))**2)"
    system = quirk.System([
        crank, rod, piston, main,
        quirk.Revolute("pin", crank, rod, point=[R, 0, 0], axis=[0, 0, 1]),
        quirk.Revolute("wrist", rod, piston, point=[R + L, 0, 0], axis=[0, 0, 1]),
        quirk.Prismatic("bore", GROUND, piston, axis=[1, 0, 0]),
        quirk.Drive("drive", main, Motion.constant_rate(RATE)),
        quirk.Force("gas", piston, [force, 0, 0]),
    ])  # fmt: skip
    system.assemble()
    return system, 4 * np.pi / RATE


def pushed_cart(width):
    """A cart on a rail whose motion is prescribed, against a pulse that oscillates."""
    cart = Body("cart", 1.0, [1, 1, 1], velocity=[0.9, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, cart, axis=[1, 0, 0])
    drive = quirk.Drive("drive", rail, Motion.sinusoid(0.3, 3.0))
    force = f"10*exp(-((t-1)/{width!r})**2)*cos(25*t)"
    return quirk.System([cart, rail, drive, quirk.Force("saw", cart, [force, 0, 0])]), 2.0


def hit_ball(width):
    """A free body that tumbles, hit by two pulses off its center."""
    ball = Body("ball", 0.7, [0.01, 0.02, 0.03], velocity=[3, 0.5, 0], angular_velocity=[1, 2, 0.5])
    pulses = [f"5*exp(-((t-1)/{width!r})**2)/{width!r}", f"2*sin(40*t)*exp(-((t-1.2)/{width!r})**2)", 0]
    return quirk.System([ball, quirk.Force("pulse", ball, pulses, point=[0, 0.1, 0.05])]), 2.0


def hit_servo(width):
    """A door on a servo with an integral part, hit by a pulse."""
    door = Body("door", 2.0, [0.3, 0.3, 0.3], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, door, point=[0, 0, 0], axis=[0, 0, 1])
    servo = quirk.Controller("servo", hinge, Motion.sinusoid(0.5, 2.0), kp=400.0, ki=300.0, kd=60.0)
    hit = quirk.Torque("hit", door, [0, 0, f"30*exp(-((t-1)/{width!r})**2)"])
    return quirk.System([door, hinge, servo, hit]), 2.0


CASES = [
    *((driven_crank, width) for width in (30.0, 5.0, 1.0)),
    *((make, width) for make in (pushed_cart, hit_ball, hit_servo) for width in (0.2, 0.02, 0.002)),
]
METHODS = [("Vern9", 1e-9), ("DOP853", 1e-9), ("RK45", 1e-7), ("Taylor", 1e-9), ("RadauIIA9", 1e-7), ("Rodas5P", 1e-5),
           ("auto", 1e-9)]  # fmt: skip


def at_play(result):
    """Twice the largest kinetic energy and the magnitudes of all work, J."""
    return 2 * result.energy.kinetic.max() + sum(np.abs(np.diff(done)).sum() for done in result.power.work.values())


@pytest.mark.parametrize(("method", "rtol"), study(METHODS, 4))
@pytest.mark.parametrize(("make", "width"), study(CASES, {(driven_crank, 5.0), (hit_ball, 0.002), (hit_servo, 0.02)}))
def test_work_is_right_where_loads_vary_faster_than_the_motion(make, width, method, rtol):
    system, duration = make(width)
    result = quirk.simulate(system, duration, output=duration / 200, method=method, rtol=rtol, atol=1e-3 * rtol)
    # Between the ends of its steps the states of RadauIIA9, and so the work, are those of a lower order.
    rows = slice(-1, None) if method == "RadauIIA9" else slice(None)
    missing = np.abs(result.power.balance[rows]).max() / at_play(result)
    print(make.__name__, width, method, missing, result._course)
    assert missing < (100 if method == "RK45" else 5) * rtol


@pytest.mark.parametrize(("make", "width"), study([(hit_ball, 0.02), (driven_crank, 5.0)], 1))
def test_work_is_right_with_the_dense_solver(make, width):
    system, duration = make(width)
    end = 0.7 * duration  # after all pulses
    result = quirk.simulate(system, end, output=end / 35, solver="dense", method="DOP853", rtol=1e-7)
    assert np.abs(result.power.balance).max() < 3e-7 * at_play(result)


def almost_singular_crank(longer):
    """A driven slider-crank whose rod is a little `longer` than the crank, m: the slider turns round within a moment."""
    R, angle = 0.3, 0.4
    tip = np.array([R * np.cos(angle), R * np.sin(angle)])
    end = np.array([tip[0] + np.sqrt((R + longer) ** 2 - tip[1] ** 2), 0.0])
    crank = planar.PlanarBody.bar("crank", [0, 0], tip, mass=1.0)
    rod = planar.PlanarBody.bar("rod", tip, end, mass=1.3)
    slider = planar.PlanarBody.box("slider", 2.0, [0.1, 0.1, 0.1], position=end)
    system = quirk.System([
        crank, rod, slider,
        planar.Revolute("main", GROUND, crank, point=[0, 0]),
        planar.Revolute("pin", crank, rod, point=tip),
        planar.Revolute("wrist", rod, slider, point=end),
        planar.Prismatic("guide", GROUND, slider, vector_i=[1, 0]),
        planar.AngleDriver("drive", GROUND, crank, Motion.constant_rate(2.0), offset=angle),
    ], gravity=[0, -9.81, 0])  # fmt: skip
    system.assemble()
    return system


@pytest.mark.parametrize("method", ["Vern9", "DOP853", "Taylor", "RadauIIA9"])
@pytest.mark.parametrize("rtol", study([1e-9, 1e-10, 1e-11, 1e-12, 1e-13], {1e-10, 1e-12}))
@pytest.mark.parametrize("longer", study([3e-4, 3e-6, 3e-7], {3e-7}))
def test_work_of_a_driver_close_to_a_singular_configuration(longer, rtol, method):
    """Round-off of loads grows there, but less than errors of steps that are too long."""
    result = quirk.simulate(almost_singular_crank(longer), 1.5, output=0.1, method=method, rtol=rtol, atol=1e-2 * rtol)
    missing = abs(result.power.balance[-1]) / at_play(result)
    print(longer, rtol, method, missing)
    assert missing < 300 * rtol + 1e-15 / longer


@pytest.mark.parametrize("method", study(["Vern9", "Taylor", "RadauIIA9"], 1))
def test_steps_do_not_depend_on_units(method):
    runs = []
    for units in ({}, {"meter": 1e3, "kilogram": 1e3}, {"meter": 0.1, "kilogram": 1e-6}):
        system, duration = driven_crank(5.0, **units)
        runs.append(quirk.simulate(system, duration, output=duration / 200, method=method, rtol=1e-6, atol=1e-10))
        energy = units.get("kilogram", 1.0) * units.get("meter", 1.0) ** 2
        done, expected = runs[-1].power.work["drive"][-1] / energy, runs[0].power.work["drive"][-1]
        assert done == pytest.approx(expected, abs=5e-6 * at_play(runs[0]))
    # Those of the motion depend on atol.
    steps = [run.statistics.steps for run in runs]
    assert max(steps) < 2 * min(steps), steps


@pytest.mark.parametrize("method", ["Vern9", "DOP853", "Taylor"])
def test_work_on_bodies_at_rest_takes_no_steps(method):
    """The work of large loads on bodies that are held is all round-off."""
    beam = Body("beam", 1.0, [0.01, 0.1, 0.1], position=[0.6, 0.3, 0], orientation=[np.cos(0.2), 0, 0, np.sin(0.2)])
    hinge = quirk.Revolute("hinge", GROUND, beam, point=[0.3, 0.1, 0], axis=[0, 0, 1])
    stay = quirk.Distance("stay", GROUND, beam, point_i=[1.0, 1.5, 0], point_j=[0.4, 0, 0])
    push = quirk.Force("push", beam, [3e6, -2e6, "1e6*cos(20*t)"], point=[0.1, 0.2, 0])
    system = quirk.System([beam, hinge, stay, push], gravity=[0, -9.81, 0])
    result = quirk.simulate(system, 1.0, output=0.1, method=method, rtol=1e-9)
    print(result._course)
    assert result.statistics.steps < 60


def test_smooth_loads_cost_no_steps(monkeypatch):
    """Steps are those of the motion alone where dampers and motors are as smooth as that is."""
    parts, before = [], GROUND
    for k in range(2):
        rod = Body(f"rod {k}", 1.0, [0.02, 0.08, 0.08], position=[0.5 + k, 0, 0])
        hinge = quirk.Revolute(f"hinge {k}", before, rod, point=[k, 0, 0], axis=[0, 1, 0])
        parts += [rod, hinge, quirk.TorsionSpring(f"spring {k}", hinge, stiffness=3.0, damping=0.5)]
        before = rod
    system = quirk.System(parts, gravity=[0, 0, -9.81])
    steps = []
    for factor in (work_tolerance.ALLOWED, np.inf):
        monkeypatch.setattr(work_tolerance, "ALLOWED", factor)
        steps.append(
            quirk.simulate(system, 0.5, output=0.5, solver="dense", method="DOP853", rtol=1e-7).statistics.steps
        )
    assert steps[0] <= 1.03 * steps[1], steps


@pytest.mark.parametrize("output", [[0.5, 1.0], [1.0]])
def test_work_without_an_output_at_the_start_is_told(output):
    """A force of 2 N on 1 kg has done 2 t^2 joules, of which the outputs show the part since the first of them."""
    body = quirk.Body.sphere("body", 1.0, 0.1)
    system = quirk.System([body, quirk.Force("push", body, [2.0, 0, 0])])
    result = quirk.simulate(system, 1.0, output=output)
    for read in (lambda: result.power.work, lambda: result.power.dissipated, lambda: result.at([1.0]).power.work):
        with pytest.warns(quirk.OutputWarning, match=r"from the first output, at t = .* begin with it"):
            read()
    assert abs(result.power.balance).max() < 1e-9
    assert "energy" in result.summary()
    whole = quirk.simulate(system, 1.0, output=[0.0, *output])
    assert abs(whole.power.work["push"] - 2.0 * whole.time**2).max() < 1e-9
