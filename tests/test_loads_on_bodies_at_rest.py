"""Loads that vary faster than the steps of a run whose bodies are at rest: no crossing of a watched load is missed."""

import math

import numpy as np
import pytest
from studies import study

import quirk

METHODS = ("auto", "Vern9", "DOP853", "RK45", "Tsit5", "RadauIIA9", "Taylor")


def first_beyond(limit, amplitude, frequency, phase, offset):
    """The first time at which |offset + amplitude sin(frequency t + phase)| reaches the limit."""
    reached = [(side * limit - offset) / amplitude for side in (1, -1)]
    angles = [a for x in reached if abs(x) <= 1 for a in (math.asin(x), math.pi - math.asin(x))]
    return min((a - phase) % (2 * math.pi) for a in angles) / frequency


@pytest.mark.filterwarnings("ignore::quirk.SeriesWarning")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("count", study([2, 6], 1))
def test_what_sticks_breaks_away_at_the_first_peak(count, method):
    """A slider that is held by friction, under a sinusoidal force whose peaks exceed the limit by 1 to 5 %."""
    rng = np.random.default_rng(20261127)
    for _ in range(count):
        frequency, phase, offset = rng.uniform(30, 60), rng.uniform(0, 2 * math.pi), rng.uniform(-0.9, 0.9)
        amplitude = rng.uniform(1.01, 1.05) - abs(offset)
        print(f"frequency {frequency}, phase {phase}, offset {offset}, amplitude {amplitude}")
        slider = quirk.Body.sphere("slider", 1.0, 0.1)
        rail = quirk.Prismatic("rail", quirk.GROUND, slider, axis="x")
        start = offset + amplitude * math.sin(phase)
        if abs(start) >= 1.0:
            continue
        system = quirk.System(
            [
                slider,
                rail,
                quirk.JointFriction("friction", rail, coulomb=1.0, sticking=True),
                quirk.JointForce("push", rail, quirk.Motion.sinusoid(amplitude, frequency, phase, offset)),
            ]
        )
        expected = first_beyond(1.0, amplitude, frequency, phase, offset)
        run = quirk.Run(system, method=method)
        run.advance_to(expected + 0.01)  # the steps of a run may go beyond this time
        assert run.events[0].time == pytest.approx(expected, abs=1e-7)


def pulse(middle, width, size):
    """A Gaussian, which underflows to zero far away."""
    return lambda t: size * math.exp(-(((t - middle) / width) ** 2))


def on_rope(load):
    """A ball that hangs at rest on a rope, or lies on a floor."""
    ball = quirk.Body.sphere("ball", 1.3627, 0.1, position=[0, 0, 0.1])
    rope = quirk.Rope("held", quirk.GROUND, ball, points=[[0, 0, 5.1], [0, 0, 0.1]], length=5.0)
    return ball, rope, quirk.Force("lift", ball, lambda t, r, q, v, w: [0, 0, load(t)])


@pytest.mark.filterwarnings("ignore::quirk.SeriesWarning")
@pytest.mark.parametrize("method", METHODS)
def test_pulses_lift_a_ball_that_hangs_at_rest(method):
    """A rope goes slack where the lift exceeds the weight, however flat the load is before."""
    for middle, width in ((2.5918, 0.05), (3.31, 0.005), (7.235, 0.05), (0.7, 0.0125)):
        load = pulse(middle, width, 60.0)
        result = quirk.simulate(quirk.System(on_rope(load), gravity=[0, 0, -9.81]), 10.0, output=[10.0], method=method)
        slack = middle - width * math.sqrt(math.log(60.0 / (1.3627 * 9.81)))
        assert result.events[0].time == pytest.approx(slack, abs=1e-7), (middle, width)


@pytest.mark.filterwarnings("ignore::quirk.SeriesWarning")
@pytest.mark.parametrize("method", METHODS)
def test_pulses_in_the_load_of_a_weld(method):
    """An event on a load that moves nothing, recorded where it rises and where it falls."""
    block = quirk.Body.box("block", 1.0, [0.1, 0.1, 0.1])
    weld = quirk.Fixed("weld", quirk.GROUND, block)
    watch = quirk.Event("watch", "weld.force", level=2.0)
    for middle, width in ((7.7172, 0.05), (3.7621, 0.05), (3.31, 0.005), (5.125, 0.0125)):
        load = pulse(middle, width, 3.6)
        push = quirk.Force("push", block, lambda t, r, q, v, w, load=load: [load(t), 0, 0])
        result = quirk.simulate(quirk.System([block, weld, push, watch]), 10.0, output=[10.0], method=method)
        half = width * math.sqrt(math.log(1.8))
        np.testing.assert_allclose(result.events.time, [middle - half, middle + half], atol=1e-9)


@pytest.mark.parametrize("method", ["RK45", "Tsit5", "RadauIIA9"])
@pytest.mark.parametrize("load", [1e-300, 1e-200, 1e-170])
def test_loads_whose_squares_underflow_take_no_steps(method, load):
    """The tolerance of their work is in proportion to the load, as for loads of any other size."""
    few, many = (
        quirk.simulate(quirk.System(on_rope(lambda t, f=f: f), gravity=[0, 0, -9.81]), 10.0, method=method, rtol=1e-9)
        for f in (1e-3, load)
    )
    assert many.statistics.steps <= few.statistics.steps + 5
