"""Motions of drivers whose rate jumps: warnings, and the motion after the jump."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import quirk
from quirk.functions.rate_jumps import rate_jumps

MASS, LENGTH = 2.0, 0.8  # of a uniform rod
# Motions at rest until the time {t}, and with the rate {b} afterward.
TEXTS = {
    "where": "where(t < {t}, 0.0, {b}*(t - {t}))",
    "max": "{b}*max(0, t - {t})",
    "clip": "{b}*clip(t - {t}, 0.0, 10.0)",
    "abs": "0.5*{b}*(t - {t} + abs(t - {t}))",
    "sign": "0.5*{b}*(t - {t})*(1 + sign(t - {t}))",
}


def cart(motion: quirk.Motion | str) -> quirk.System:
    """Return a driven cart along x with a free rod that hangs from it, without gravity."""
    block = quirk.Body.box("block", mass=1.0, size=[0.1, 0.1, 0.1])
    rod = quirk.Body("rod", MASS, [MASS * LENGTH**2 / 12, MASS * LENGTH**2 / 12, 1e-3], position=[0, 0, -LENGTH / 2])
    rail = quirk.Prismatic("rail", quirk.GROUND, block, point=[0, 0, 0], axis="x")
    hinge = quirk.Revolute("hinge", block, rod, point=[0, 0, 0], axis="y")
    return quirk.System([block, rod, rail, hinge, quirk.Drive("motor", rail, motion)])


def of_python(t_jump: float, b: float) -> quirk.Motion:
    """Return the motion of TEXTS as Python functions."""
    rate = lambda t: 0.0 if t < t_jump else b  # noqa: E731
    return quirk.Motion.function(lambda t: rate(t) * (t - t_jump), rate, *[lambda t: 0.0] * 3)


class TestRunAcrossAJump:
    @pytest.mark.parametrize("method", ["Vern9", "RadauIIA9", "Rodas5P"])
    @pytest.mark.parametrize("kind", [*TEXTS, "python", "sum"])
    def test_rod_turns_as_after_an_impulse(self, kind, method):
        """A uniform rod of length L at rest whose hinge gets the velocity v across it turns at the rate 3 v / (2 L)."""
        kinds = [*TEXTS, "python", "sum"]
        rng = np.random.default_rng([kinds.index(kind), len(method)])
        t, b = rng.uniform(0.2, 0.8), rng.uniform(0.5, 1.5)
        motion = of_python(t, b) if kind in ("python", "sum") else TEXTS[kind].format(t=t, b=b)
        if kind == "sum":
            motion = quirk.Motion.polynomial([0.0]) + motion
        with pytest.warns(
            quirk.RateJumpWarning, match=f'simulate: Drive "motor": .* jumps from 0 to {b:.6g} at t = {t:.9g} s: '
        ) as told:
            result = quirk.simulate(cart(motion), 1.0, method=method, rtol=1e-10, atol=1e-12, breaks=[t])
        assert [warning.filename for warning in told] == [__file__]
        assert np.abs(result.time - t).min() < 1e-14
        assert abs(result["hinge"].angle[-1]) == pytest.approx(1.5 * b / LENGTH * (1.0 - t), abs=1e-8)

    def test_pieces_that_an_event_changes_have_the_work_of_the_impulse(self):
        """The way that the warning names: the energy after it is that of a rod that turns about its moving end."""
        system = cart(quirk.Motion.constant_rate(0.0))
        piece = quirk.Motion.polynomial([-0.4, 1.0])
        event = quirk.Event("go", "time", level=0.4, action=quirk.follow("motor", piece))
        with warnings.catch_warnings():
            warnings.simplefilter("error", quirk.RateJumpWarning)
            result = quirk.simulate(system, 1.0, events=[event], output=0.1)
        # Velocity of the center v - w L/2 = v/4 with w = 3 v / (2 L); energies of the cart and the rod.
        expected = 0.5 + 0.5 * MASS * 0.25**2 + 0.5 * MASS * LENGTH**2 / 12 * (1.5 / LENGTH) ** 2
        assert result.power.work["impacts"][-1] == pytest.approx(expected, rel=1e-9)

    def test_warning_counts_further_jumps(self):
        with pytest.warns(quirk.RateJumpWarning, match=r"jumps from 0 to 1 at t = 0\.3 s, and at 2 more times"):
            quirk.simulate(cart("max(0, t - 0.3) - 2*max(0, t - 0.5) + max(0, t - 0.7)"), 1.0)

    @pytest.mark.parametrize(
        "motion", ["0.1*t**2", "max(0, t - 0.5)**2", "where(t < 0.5, 0.0, (t - 0.5)**2)", "max(0, t)", "max(0, t - 1)"]
    )
    def test_no_warning_without_a_jump_within_the_run(self, motion):
        system = cart(motion)
        system.assemble()
        with warnings.catch_warnings():
            warnings.simplefilter("error", quirk.RateJumpWarning)
            quirk.simulate(system, 1.0)


class TestSearch:
    def test_random_jumps_on_a_moving_background(self):
        """Jumps of random times and sizes are found among oscillations and jumps of the second derivative."""
        rng = np.random.default_rng(5)
        for _ in range(10):
            start, duration = rng.uniform(-2.0, 2.0), 10 ** rng.uniform(-2, 2)
            times = start + duration * np.sort((np.arange(4) + rng.uniform(0.1, 0.9, 4)) / 4)
            sizes = rng.uniform(0.01, 1.0, 3) * rng.choice([-1, 1], 3)
            text = f"{0.3 * duration}*sin({20 / duration}*t)/20 + {1 / duration}*max(0, t - {times[3]})**2"
            text += "".join(f" + {size}*max(0, t - {t})" for t, size in zip(times, sizes, strict=False)).replace(
                "- -", "+ "
            )
            jumps = rate_jumps(quirk.Motion.function(text), start, start + duration)
            near = 20 * np.spacing(max(abs(start), times[-1]))
            np.testing.assert_allclose([jump.t for jump in jumps], times[:3], rtol=0, atol=near)
            np.testing.assert_allclose([jump.after - jump.before for jump in jumps], sizes, rtol=1e-8)

    def test_functions_that_fail_and_smooth_steep_functions(self):
        def rate(t):
            if t > 0.6:
                raise ValueError
            return float(np.tanh(2e3 * (t - 0.3)))

        motion = quirk.Motion.function(lambda t: 0.0, rate, lambda t: 2e3 / np.cosh(2e3 * (t - 0.3)) ** 2)
        assert rate_jumps(motion, 0.0, 1.0) == []

    def test_texts_that_are_smooth(self):
        smooth = ["sin(3*t)**2 + exp(-t)", "2**3*t/(1 + t**2)", "dot([t, 1, 0], [1, t, 2])"]
        assert [quirk.Expression(text, "t").smooth for text in smooth] == [True] * 3
        kinked = ["abs(t)", "hypot(t, 0)", "sin(max(t, 1))", "where(t > 1, t, 1)", "(t*t)**0.5", "norm([t, 0, 0])"]
        assert [quirk.Expression(text, "t").smooth for text in kinked] == [False] * 6
