"""No load is skipped: steps end where forces jump, wherever these act and however shortly."""

import itertools
import math
import os
import signal
import threading
import time

import numba
import numpy as np
import pytest
from quirk.integrators import DOP853, RK45, TSIT5, VERN9, Breaks
from quirk.integrators.breaks import PARTS
from quirk.integrators.jump_location import locate_change
from studies import study

import quirk
from quirk import GROUND, Motion, planar
from quirk.dynamics.sparse.stepping.discontinuity_location import locate_discontinuities
from quirk.dynamics.sparse.stepping.probed_functions import Functions, ProbedStretch

ADAPTIVE = ["Vern9", "DOP853", "Tsit5", "RK45", "Radau", "BDF", "LSODA"]
OPTIONS = [*({"method": name} for name in ADAPTIVE), {"method": "RK4", "step": 0.1}, {"method": "RK4", "step": 0.007},
           {"method": "Tsit5", "solver": "dense"}, {"method": "RK4", "step": 0.1, "solver": "dense"},
           {"method": "BDF", "solver": "dense"}]  # fmt: skip


def ball():
    return quirk.Body.sphere("ball", mass=1.0, radius=0.1)


def pushed(force, duration, **options):
    """Velocity and position along x, after `duration`, of a ball of 1 kg; and how often the force was asked."""
    body, calls = ball(), []

    def function(t, position, orientation, velocity, angular_velocity):
        calls.append(t)
        return [force(t, position[0], velocity[0]), 0.0, 0.0]

    result = quirk.simulate(quirk.System([body, quirk.Force("push", body, function)]), duration, **options)
    assert min(calls) >= 0 and max(calls) <= duration
    return result["ball"].velocity[-1, 0], result["ball"].position[-1, 0], len(calls)


def pulse(begin, end, size=100.0):
    return lambda t, x, v: size if begin <= t < end else 0.0


class TestHiddenLoads:
    @pytest.mark.parametrize("options", study(OPTIONS, 6))
    def test_of_ten_milliseconds_in_six_seconds(self, options):
        speed, place, _ = pushed(pulse(3.0, 3.01), 6.0, **options)
        assert speed == pytest.approx(1.0, abs=1e-9)
        assert place == pytest.approx(0.005 + 2.99, abs=1e-8)

    @pytest.mark.parametrize(("begin", "end"), [(0.0, 0.01), (1e-3, 0.011), (5.99, 6.0), (5.98, 5.99), (1.23, 1.237)])
    @pytest.mark.parametrize("method", ["Vern9", "Tsit5"])
    def test_whenever_they_act(self, begin, end, method):
        assert pushed(pulse(begin, end), 6.0, method=method)[0] == pytest.approx(100 * (end - begin), abs=1e-9)

    @pytest.mark.parametrize("seed", study(range(4), 1))
    def test_of_a_thousandth_of_a_run(self, seed):
        begin = np.random.default_rng(seed).uniform(0, 99.9)
        assert pushed(pulse(begin, begin + 0.1, 10.0), 100.0)[0] == pytest.approx(1.0, abs=1e-9)

    @pytest.mark.parametrize("heights", study([1, 5], 1))
    @pytest.mark.parametrize("method", ["Vern9", "DOP853", "Tsit5", "RadauIIA9", "Rodas5P", "Taylor", "LSODA"])
    @pytest.mark.parametrize("kind", ["built in", "compiled", "in Python"])
    def test_of_stops(self, kind, method, heights):
        """Steps of free fall are long; a stop may be felt by early stages alone, which it throws beyond it."""
        given = {"stiffness": 1e5, "rest_length": 0.2, "one_sided": "compression"}
        if kind == "compiled":
            given = {"law": lambda length, rate: np.where(length < 0.2, 1e5 * (length - 0.2), 0.0)}
        elif kind == "in Python":
            given = {"law": lambda length, rate: 1e5 * (length - 0.2) if length < 0.2 else 0.0}
            method = "Vern9" if method == "Taylor" else method
        # A step of LSODA, which runs in Python, costs some thousand times as much.
        for height in np.linspace(1.0, 3.5, min(heights, 3) if method == "LSODA" else heights):
            ball = quirk.Body.sphere("ball", mass=2.0, radius=0.05, position=[0, 0, 0.2 + height])
            stop = quirk.Spring("stop", GROUND, ball, [0, 0, 0], [0, 0, 0], **given)
            fall = np.sqrt(2 * height / 9.81)
            result = quirk.simulate(quirk.System([ball, stop], gravity=[0, 0, -9.81]), 1.9 * fall, method=method)
            assert result["ball"].position[:, 2].min() > 0.0, height

    @pytest.mark.parametrize("tableau", [VERN9, DOP853, TSIT5, RK45])
    def test_at_a_stage_at_the_end_whose_time_is_rounded_beyond_it(self, tableau):
        """And where a break comes right behind the step, so that functions are called no later than before that."""
        t, h, end = 0.1, 0.2, 0.3
        assert t + h > end
        body = ball()
        push = quirk.Force("push", body, lambda t, *_: [math.sin(50 * t), 0.0, 0.0])
        solver = quirk.System([body, push]).plant.solver()
        functions = Functions(solver, tableau, fixed=False)
        functions.samples.outputs[:] = np.random.default_rng(1).normal(size=len(functions.samples.outputs))
        for high in (end, np.nextafter(end, 0.0)):
            step = ProbedStretch(t, h, t, high, gap=1e-3)
            for seen in (t, t + h):
                with solver.applied.calling():
                    found = locate_discontinuities(functions, 0, step, seen, 1e-9, 1e-12)
                assert all(t <= place.time <= t + h for place in found)

    def test_several(self):
        pulses = [pulse(1.0, 1.01), pulse(2.0, 2.02, -50.0), pulse(2.5, 2.51)]
        assert pushed(lambda *a: sum(p(*a) for p in pulses), 6.0)[0] == pytest.approx(1.0, abs=1e-9)

    @pytest.mark.parametrize("method", study(["Vern9", "Tsit5", "Radau"], 2))
    def test_on_top_of_what_changes_smoothly(self, method):
        speed, *_ = pushed(lambda t, x, v: 100 * math.sin(t) + pulse(3.0, 3.01, 1.0)(t, x, v), 6.0, method=method)
        assert speed == pytest.approx(100 * (1 - math.cos(6.0)) + 0.01, abs=1e-5)

    @pytest.mark.parametrize("method", study(["Vern9", "Tsit5", "DOP853", "BDF"], 2))
    def test_without_jumps(self, method):
        smooth = [
            (lambda t, x, v: 50 * (math.tanh((t - 3) / 5e-4) - math.tanh((t - 3.01) / 5e-4)), 1.0),
            (lambda t, x, v: 100 * math.exp(-(((t - 3) / 5e-3) ** 2)), 0.5 * math.sqrt(math.pi)),
        ]
        for force, gain in smooth:
            assert pushed(force, 6.0, method=method)[0] == pytest.approx(gain, abs=1e-6)

    def test_that_depend_on_the_state_that_is_reached(self):
        def brake(t, x, v):
            return 1.0 if t < 1 else -200 * v if 3 <= t < 3.01 else 0.0

        assert pushed(brake, 6.0)[0] == pytest.approx(math.exp(-2), abs=1e-8)
        assert pushed(brake, 6.0, method="Tsit5", solver="dense")[0] == pytest.approx(math.exp(-2), abs=1e-8)

    def test_at_a_place(self):
        magnet = lambda t, x, v: 1.0 if t < 1 else 100.0 if 2 <= x < 2.01 else 0.0  # noqa: E731
        assert pushed(magnet, 6.0)[0] == pytest.approx(math.sqrt(3), abs=1e-6)

    @pytest.mark.parametrize("step", study([0.2, 0.1, 0.05], 2))
    def test_without_jumps_in_fixed_steps(self, step):
        force = lambda t, x, v: 100 * math.exp(-(((t - 3.02) / 0.02) ** 2))  # noqa: E731
        speed, *_ = pushed(force, 6.0, method="RK4", step=step)
        assert speed == pytest.approx(2 * math.sqrt(math.pi), rel=0.05)

    def test_of_motors(self):
        wheel = quirk.Body.cylinder("wheel", mass=1.0, radius=0.1, length=0.1, axis="z")
        hinge = quirk.Revolute("hinge", GROUND, wheel, point=[0, 0, 0], axis=[0, 0, 1])
        inertia = float(wheel.inertia[2, 2])
        # Already in motion, so that the angle passes from pi to -pi within steps.
        motor = quirk.JointTorque("motor", hinge, lambda t, a, w: inertia * (10 if t < 1 else 100 * (3 <= t < 3.01)))
        result = quirk.simulate(quirk.System([wheel, hinge, motor]), 6.0)
        assert result["wheel"].angular_velocity[-1, 2] == pytest.approx(11.0, abs=1e-7)
        slide = quirk.Prismatic("slide", GROUND, ball_ := ball(), axis=[1, 0, 0])
        kick = quirk.JointForce("kick", slide, numba.njit(lambda t, x, v: 100.0 if 3 <= t < 3.01 else 0.0))
        result = quirk.simulate(quirk.System([ball_, slide, kick]), 6.0)
        assert result["ball"].velocity[-1, 0] == pytest.approx(1.0, abs=1e-9)

    @pytest.mark.parametrize("options", [{}, {"method": "BDF"}, {"method": "RK4", "step": 0.1}])
    def test_of_rows_given_as_functions(self, options):
        body = ball()
        rows = quirk.CustomRows(
            "rows", body, lambda t, p, q, v, w: ([[1, 0, 0, 0, 0, 0]], [100.0 if 3 <= t < 3.01 else 0.0])
        )
        result = quirk.simulate(quirk.System([body, rows]), 6.0, **options)
        assert result["ball"].velocity[-1, 0] == pytest.approx(1.0, abs=1e-7)

    def test_of_constraints_given_as_functions(self):
        body = ball()
        rail = quirk.Implicit("rail", body, lambda t, a: a.position[0] - np.exp(-(((t - 3) / 0.005) ** 2)))
        result = quirk.simulate(quirk.System([body, rail]), 6.0, output=0.001)
        bump = np.exp(-(((result.time - 3) / 0.005) ** 2))
        np.testing.assert_allclose(result["ball"].position[:, 0], bump, atol=1e-9)

    def test_of_elements_written_in_python(self):
        class Kick(quirk.forces.ForceElement):
            def load(self, t, place):
                return np.array([100.0 if 3 <= t < 3.01 else 0.0, 0.0, 0.0]), 0

        body = ball()
        result = quirk.simulate(quirk.System([body, Kick("kick", (body, quirk.Frame()))]), 6.0)
        assert result["ball"].velocity[-1, 0] == pytest.approx(1.0, abs=1e-9)

    def test_in_the_function_of_a_driver(self):
        """A cart is pushed on for 10 ms, and the rod that hangs from it swings."""

        def swing(options):
            cart, rod = ball(), quirk.Body.box("rod", mass=1.0, size=[0.05, 0.05, 1.0], position=[0, 0, -0.5])
            slide = quirk.Prismatic("slide", GROUND, cart, axis=[1, 0, 0])
            hinge = quirk.Revolute("hinge", cart, rod, point=[0, 0, 0], axis=[0, 1, 0])
            motion = Motion.function(
                lambda t: 0.0 if t < 3 else 50 * (t - 3) ** 2 if t < 3.01 else t - 3.005,
                lambda t: min(max(100 * (t - 3), 0.0), 1.0),
                lambda t: 100.0 if 3 <= t < 3.01 else 0.0,
            )
            parts = [cart, rod, slide, hinge, quirk.Drive("drive", slide, motion)]
            result = quirk.simulate(quirk.System(parts, gravity=[0, 0, -9.81]), 6.0, **options)
            return result["hinge"].rotation[-1, 2]

        reference = swing({"max_step": 0.01, "breaks": [3.0, 3.01]})
        assert abs(reference) > 0.1
        for options in ({}, {"method": "Tsit5"}, {"method": "BDF"}):
            assert swing(options) == pytest.approx(reference, abs=1e-7)


FIXED = [{"method": "RK4", "step": 0.1}, {"method": "Vern9", "step": 0.1}, {"method": "DOP853", "step": 0.6},
         {"method": "RK4", "step": 0.006}, {"method": "Tsit5", "step": 0.002},
         {"method": "RK4", "step": 0.1, "solver": "dense"}, {"method": "RK4", "step": 0.006, "solver": "dense"}]  # fmt: skip

# Functions of time that jump from 0 to 1 at zero, by their value there.
STEPS = {
    "sign": lambda t: 0.5 + 0.5 * np.sign(t),
    "a half": lambda t: np.heaviside(t, 0.5),
    "nearly the first": lambda t: 0.0 if t < 0 else 1.0 if t > 0 else 0.02,
    "undefined": lambda t: 0.5 + 0.5 * abs(t) / t if t != 0 else math.nan,
    "both": lambda t: np.where(t < 0, 0.0, 1.0),
    "ramp of a nanosecond": lambda t: np.clip(1e9 * t, 0.0, 1.0),
    "ramp of round-off": lambda t: np.clip(2e14 * t + 0.5, 0.0, 1.0),
    "smooth ramp": lambda t: 0.5 + 0.5 * np.tanh(1e10 * t),
}


class TestFixedStepsAtJumps:
    """Steps of a fixed size are divided wherever a function changes in a small part of them."""

    @staticmethod
    def impulse(function, duration, **options):
        """Velocity after `duration` of a ball of 1 kg under a force along x, and the number of steps."""
        body = ball()
        slide = quirk.Prismatic("slide", GROUND, body, axis=[1, 0, 0])
        system = quirk.System([body, slide, quirk.JointForce("push", slide, function)])
        result = quirk.simulate(system, duration, output=[duration], **options)
        return result["ball"].velocity[-1, 0], result.statistics.steps

    @pytest.mark.parametrize("options", study(FIXED, 4))
    @pytest.mark.parametrize("name", STEPS)
    def test_of_any_value_between_both_sides(self, name, options):
        step, steps = STEPS[name], round(6 / options["step"])
        speed, taken = self.impulse(lambda t, x, v: 2.0 * step(t - 2.2345), 6.0, **options)
        assert speed == pytest.approx(2 * (6 - 2.2345), abs=1e-8)
        assert taken <= steps + 12

    @pytest.mark.parametrize("options", study(FIXED, 4))
    @pytest.mark.parametrize("length", [0.007, 0.05])
    @pytest.mark.parametrize("name", ["sign", "a half", "undefined", "ramp of a nanosecond"])
    def test_of_pulses(self, name, length, options):
        step = STEPS[name]
        speed, _ = self.impulse(lambda t, x, v: 100 * (step(t - 2.2345) - step(t - 2.2345 - length)), 6.0, **options)
        assert speed == pytest.approx(100 * length, abs=1e-6)

    @pytest.mark.parametrize("options", study(FIXED, 4))
    @pytest.mark.parametrize("begin", [0.0, 0.0007, 0.0067])
    def test_in_the_first_steps(self, begin, options):
        speed, _ = self.impulse(lambda t, x, v: np.sign(t - begin), 6.0, **options)
        assert speed == pytest.approx(6.0 - 2 * begin, abs=1e-12)

    @pytest.mark.parametrize("step", [0.1, 0.006, 0.002])
    def test_by_which_friction_changes_before(self, step):
        """Friction that changes its sign with the velocity is searched in vain, again and again."""
        rub = lambda v: -0.3 * np.sign(v)  # noqa: E731
        push = lambda t: 500 * (np.sign(t - 5.0003) - np.sign(t - 5.0083))  # noqa: E731
        options = {"method": "RK4", "step": step}
        kicked, _ = self.impulse(lambda t, x, v: np.cos(5 * t) + rub(v) + push(t), 6.0, **options)
        exact, _ = self.impulse(lambda t, x, v: np.cos(5 * t) + rub(v) + push(t), 6.0, method="Vern9")
        assert kicked == pytest.approx(exact, abs=0.2 * step)

    def test_on_slopes(self):
        """A ramp on a curve that the steps resolve is located between its edges."""
        ramp = lambda t: np.clip((t - 2.2345) / 1e-4, 0.0, 1.0)  # noqa: E731
        speed, taken = self.impulse(lambda t, x, v: np.sin(t) + 0.1 * ramp(t), 6.0, method="Vern9", step=0.05)
        assert speed == pytest.approx(1 - math.cos(6.0) + 0.1 * (6 - 2.2345 - 5e-5), abs=1e-11)
        assert taken <= 124

    @pytest.mark.parametrize(("begin", "end"), [(0.3, 0.4), (0.3, 0.3 + 1e-15), (0.5, 0.5 + 1e-15), (0.5 - 1e-15, 0.5)])
    def test_breaks_enclose_ramps(self, begin, end):
        breaks = Breaks(0.0, 1.0, [0.5])
        assert breaks.find_ramp(begin, end)
        assert not breaks.find_ramp(begin, end)
        before, after = max(t for t in breaks.times if t <= begin), min(t for t in breaks.times if t >= end)
        assert begin - 1e-14 < before < after < end + 1e-14
        assert [piece.end for piece in breaks.pieces(0.0)] == [*breaks.times, 1.0]


class TestWhatLookingCosts:
    def test_square_waves(self):
        """200 jumps: each is found once, and steps end there."""
        speed, place, calls = pushed(lambda t, x, v: 100.0 if (50 * t) % 1 < 0.5 else -100.0, 2.0)
        assert speed == pytest.approx(0.0, abs=1e-10)
        assert place == pytest.approx(1.0, abs=1e-10)
        assert calls < 20_000

    @pytest.mark.parametrize("method", ["Vern9", "Tsit5"])
    @pytest.mark.parametrize(
        "force", [lambda t, x, v: 1 - x - 0.1 * v, lambda t, x, v: math.sin(3 * t)], ids=["state", "time"]
    )
    def test_of_smooth_functions_is_bounded(self, force, method):
        body, calls = ball(), []

        def function(t, p, q, v, w):
            calls.append(t)
            return [force(t, p[0], v[0]), 0.0, 0.0]

        result = quirk.simulate(
            quirk.System([body, quirk.Force("push", body, function)]), 20.0, method=method, output=[20.0]
        )
        assert len(calls) <= result.statistics.evaluations + PARTS + 100
        assert result.statistics.rejected <= 1

    @pytest.mark.parametrize("method", ["Vern9", "DOP853", "RadauIIA9"])
    @pytest.mark.parametrize("hold", ["drive", "weld", "distance"])
    @pytest.mark.parametrize("law", ["-5*displacement-0.3*rate", lambda t, x, v: -20.0 * x - 0.3 * v])
    def test_of_loads_on_held_coordinates(self, hold, law, method):
        """Such loads are round-off at the ends of steps, and small errors of the coordinate at stages."""
        one = quirk.Body.box("one", 1.0, [0.2, 0.3, 0.4], position=[0.3, 0.1, 0.2])
        two = quirk.Body.box("two", 1.0, [0.2, 0.3, 0.4], position=[0.9, 0.2, -0.1])
        hinge = quirk.Revolute("hinge", GROUND, one, point=[0, 0, 0], axis=[0.1, 1, 0.3])
        rail = quirk.Prismatic("rail", one, two, point=[0.6, 0, 0], axis=[1.0, 0.2, 0.3])
        held = {
            "drive": lambda: quirk.Drive("hold", rail, Motion.constant_rate(0.0)),
            "weld": lambda: quirk.Fixed("hold", one, two),
            "distance": lambda: quirk.Distance("hold", one, two, points=([0.33, 0.15, 0.22], [0.95, 0.3, -0.2])),
        }[hold]()
        bare = quirk.System([one, two, hinge, rail, held], gravity=[0, 0, -9.81])
        loaded = bare.with_parts(quirk.JointForce("force", rail, law))
        few, many = (quirk.simulate(s, 2.0, output=[2.0], method=method).statistics.steps for s in (bare, loaded))
        assert many <= 3 * few, (many, few)

    def test_functions_of_nothing_are_left_alone(self):
        random = np.random.default_rng(0)
        _, _, calls = pushed(lambda t, x, v: random.normal(), 6.0, method="RK4", step=0.01)
        assert calls < 1.1 * 2400
        _, _, calls = pushed(lambda t, x, v: math.sin(1e9 * t), 6.0, method="RK4", step=0.01)
        assert calls < 20_000

    def test_functions_may_fail_where_a_run_would_not_ask_them(self):
        speed, *_ = pushed(lambda t, x, v: [][0] if 3 < t < 3.003 else 1.0, 6.0)
        assert speed == pytest.approx(6.0)

    @pytest.mark.parametrize("solver", ["sparse", "dense"])
    def test_the_keyboard_is_heard_there(self, solver):
        def interrupted(t, p, q, v, w):
            if 3 <= t < 3.007:
                raise KeyboardInterrupt
            return [1.0, 0.0, 0.0]

        body = ball()
        system = quirk.System([body, quirk.Force("push", body, interrupted)])
        result = quirk.simulate(system, 6.0, method="Tsit5", solver=solver)
        assert result.status == "interrupted"
        assert 2 < result.time[-1] <= 3.007

    def test_jumps_with_the_state_end_no_steps(self):
        body = ball()
        spring = quirk.Force("stop", body, lambda t, p, q, v, w: [-1.0 - 100 * p[0] * (p[0] < 0), 0, 0])
        body = quirk.Body.sphere("ball", mass=1.0, radius=0.1, position=[1, 0, 0])
        spring = quirk.Force("stop", body, spring.force.function)
        result = quirk.simulate(quirk.System([body, spring]), 5.0)
        assert result.status == "completed"
        energy = 0.5 * result["ball"].velocity[:, 0] ** 2 + result["ball"].position[:, 0]
        energy += 50 * np.minimum(result["ball"].position[:, 0], 0) ** 2
        np.testing.assert_allclose(energy, 1.0, atol=1e-7)


class TestBreaksThatAreGiven:
    @pytest.mark.parametrize(
        "options", [{"method": "Vern9"}, {"method": "Radau"}, {"method": "RK45", "solver": "dense"}]
    )
    def test_steps_end_there(self, options):
        body = ball()
        with pytest.warns(quirk.BreaksWarning, match=r"breaks: 5, -1 s: outside of the run, from 0 to 1 s") as told:
            result = quirk.simulate(quirk.System([body]), 1.0, breaks=[0.7, 0.3, 0.3, 5.0, -1, 0, 1], **options)
        assert told[0].filename == __file__
        assert {0.3, 0.7} <= set(result.time)
        assert result.time[-1] == 1.0
        assert (np.diff(result.time) > 0).all()

    @pytest.mark.parametrize("solver", ["sparse", "dense"])
    def test_fixed_steps_are_divided(self, solver):
        result = quirk.simulate(quirk.System([ball()]), 0.6, method="RK4", step=0.1, breaks=[0.33, 0.5], solver=solver)
        np.testing.assert_allclose(result.time, [0, 0.1, 0.2, 0.3, 0.33, 0.4, 0.5, 0.6], atol=1e-15)

    def test_fixed_steps_keep_their_order(self):
        """A force that jumps within a step costs all orders but one, and none with a break there."""

        def error(step, breaks):
            force = lambda t, x, v: -x + (1.0 if t < math.pi / 2 else 2.0)  # noqa: E731
            x, *_ = pushed(force, 4.0, method="RK4", step=step, breaks=breaks)[1:]
            at, rate = 1.0, 1.0  # x = 1 - cos t until pi / 2
            since = 4.0 - math.pi / 2
            return abs(x - (2 + (at - 2) * math.cos(since) + rate * math.sin(since)))

        order = math.log2(error(0.04, [math.pi / 2]) / error(0.02, [math.pi / 2]))
        assert order == pytest.approx(4.0, abs=0.2)

    def test_both_sides_of_a_jump(self):
        """It does not matter to which side of a jump the break itself belongs."""
        for before in (lambda t: t < 0.5, lambda t: t <= 0.5):
            speed, place, calls = pushed(lambda t, x, v: float(before(t)), 1.0, breaks=[0.5])  # noqa: B023
            assert (speed, place) == (pytest.approx(0.5, abs=1e-14), pytest.approx(0.375, abs=1e-14))
            assert calls < PARTS + 1000

    def test_thousands(self):
        breaks = np.arange(1, 10_000) * 0.01
        wave = numba.njit(lambda t, p, q, v, w: (1.0 if (50 * t) % 1 < 0.5 else -1.0, 0.0, 0.0))
        body = ball()
        result = quirk.simulate(quirk.System([body, quirk.Force("push", body, wave)]), 100.0, breaks=breaks, output=1.0)
        assert result.statistics.rejected == 0
        assert result.statistics.steps < 40_000
        assert result["ball"].position[-1, 0] == pytest.approx(0.5, abs=1e-10)

    @pytest.mark.parametrize(("method", "solver"), [("Vern9", "sparse"), ("Tsit5", "dense"), ("LSODA", "sparse")])
    def test_longest_step(self, method, solver):
        result = quirk.simulate(quirk.System([ball()]), 1.0, method=method, solver=solver, max_step=0.07)
        assert np.diff(result.time).max() <= 0.07 * (1 + 1e-8)
        assert result.statistics.steps < 200

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"max_step": 0}, "max_step must be positive; got 0"),
            ({"max_step": math.nan}, "max_step must be finite"),
            ({"max_step": 1e-12}, r"max_step of 1e-12 s would be 1.0e\+12 steps"),
            ({"max_step": 0.1, "method": "RK4", "step": 0.1}, "so max_step has no meaning"),
            ({"breaks": [0.1, math.nan]}, "breaks must be finite"),
            ({"breaks": 0.1}, "breaks must be a list of times"),
            ({"breaks": "soon"}, "breaks must be a list of times"),
            ({"breaks": [[0.1]]}, "breaks must be a list of times"),
        ],
    )
    def test_bad_input(self, options, message):
        with pytest.raises(quirk.InputError, match=message):
            quirk.simulate(quirk.System([ball()]), 1.0, **options)

    def test_pieces(self):
        breaks = Breaks(0.0, 1.0, [0.5, 0.25, 0.5, 0.5 + 1e-16, 2.0, -1.0, 0.0])
        pieces = breaks.pieces(0.0)
        assert [piece.end for piece in pieces] == [0.25, 0.5, 1.0]
        assert all(a.high < a.end < b.low for a, b in itertools.pairwise(pieces))
        assert pieces[0].low > 0.0
        assert pieces[-1].high == 1.0
        assert breaks.add(0.75, first=0.01)
        assert not breaks.add(0.75)
        assert breaks.piece(0.75).first == 0.01
        assert breaks.piece(0.6) == (0.6, pytest.approx(0.75), 0.75, np.inf)

    def test_changes_are_located(self):
        jump = locate_change(lambda t: np.array([t + (t >= 0.3)]), 0.0, 1.0)
        assert jump == (np.nextafter(0.3, 0), 0.3, True)
        assert locate_change(lambda t: np.array([math.sin(t)]), 0.0, 1.0) is None
        assert locate_change(lambda t: np.array([1.0]), 0.0, 1.0) is None
        assert locate_change(lambda t: np.array([math.nan if t > 0.3 else 0.0]), 0.0, 1.0) is None
        for at in (0.3, 0.5, 1.0, 4.0, -1.0):  # floats below a power of two are closer than those above it
            sign = locate_change(lambda t, at=at: np.array([np.sign(t - at)]), at - 0.6, at + 0.4)
            assert sign.jump and sign.last_before < at < sign.first_after <= at + 4 * np.spacing(abs(at))
        steep = locate_change(lambda t: np.array([math.tanh(1e4 * (t - 0.3))]), 0.0, 1.0)
        assert not steep.jump and steep.stepwise
        assert -1 < math.tanh(1e4 * (steep.last_before - 0.3)) < -1 + 1e-5
        assert 1 > math.tanh(1e4 * (steep.first_after - 0.3)) > 1 - 1e-5
        ramp = locate_change(lambda t: np.array([t**2 + np.clip((t - 0.3) / 1e-5, 0.0, 1.0)]), 0.0, 1.0)
        assert (ramp.last_before, ramp.first_after) == (pytest.approx(0.3), pytest.approx(0.30001, abs=1e-9))
        noise = locate_change(lambda t: np.array([math.sin(1e20 * t)]), 0.0, 1.0)
        assert noise is None or not noise.jump


class TestSplines:
    def knots(self, count):
        values = np.random.default_rng(1).normal(size=count).cumsum()
        return np.linspace(0, 6, count), values

    def test_knots_are_breaks_where_they_matter(self):
        for count, kinks in ((4, 0), (6, 0), (7, 1), (31, 25)):
            assert len(Motion.spline(*self.knots(count)).kinks) == kinks
        times = np.linspace(0, 6, 1001)
        assert len(Motion.spline(times, np.sin(times)).kinks) == 0
        assert len(Motion.spline(times, times**4).kinks) == 0
        assert len(Motion.polynomial([1.0, 2.0, 3.0]).kinks) == len(Motion.sinusoid(1.0, 2.0).kinks) == 0

    def test_steps_end_at_knots(self):
        times, values = self.knots(13)
        cart = ball()
        slide = quirk.Prismatic("slide", GROUND, cart, axis=[1, 0, 0])
        rod = quirk.Body.box("rod", mass=1.0, size=[0.05, 0.05, 1.0], position=[0, 0, -0.5])
        hinge = quirk.Revolute("hinge", cart, rod, point=[0, 0, 0], axis=[0, 1, 0])
        motion = Motion.spline(times, 0.2 * (values - values[0]))
        system = quirk.System([cart, rod, slide, hinge, quirk.Drive("drive", slide, motion)], gravity=[0, 0, -9.81])
        result = quirk.simulate(system, 6.0, initial_state=system.assemble())
        assert set(motion.kinks) <= set(result.time)


class TestLateTimes:
    @pytest.mark.parametrize(
        ("start", "duration", "options", "message"),
        [
            (
                1e18,
                1.0,
                {},
                r"start = 1e\+18 s is too late for a duration of 1 s: times around 1e\+18 s are 1.3e\+02 s",
            ),
            (-1e18, 1.0, {"method": "BDF"}, "too late for a duration"),
            (1e9, 1e-8, {"method": "RK4", "step": 1e-9}, "too late for a duration"),
            (1e9, 10.0, {"method": "RK4", "step": 1e-9}, r"step of 1e-09 s is too short at a start of 1e\+09 s"),
            (1e9, 10.0, {"max_step": 1e-9}, "max_step of 1e-09 s is too short"),
        ],
    )
    def test_are_said_to_be_that(self, start, duration, options, message):
        with pytest.raises(quirk.InputError, match=message):
            quirk.simulate(quirk.System([ball()]), duration, start=start, **options)

    def test_where_it_shows(self):
        body = ball()
        shaking = quirk.Force("shaking", body, lambda t, p, q, v, w: [math.sin(1e4 * (t - 1e9)), 0, 0])
        with pytest.raises(quirk.SimulationError, match=r"times as late as this are 1\.2e-07 s apart"):
            quirk.simulate(quirk.System([body, shaking]), 10.0, start=1e9)

    def test_that_can_be_resolved(self):
        body = ball()
        push = quirk.Force("push", body, [1.0, 0, 0])
        result = quirk.simulate(quirk.System([body, push]), 1.0, start=1e9)
        assert result["ball"].velocity[-1, 0] == pytest.approx(1.0)


class TestLongWaysOfKinematics:
    def crank(self, rate):
        body = planar.PlanarBody.bar("bar", (0, 0), (1, 0), mass=1.0)
        pin = planar.Revolute("pin", GROUND, body, point=(0, 0))
        return quirk.System([body, pin, planar.AngleDriver("motor", GROUND, body, Motion.constant_rate(rate))])

    def test_end_with_what_to_do(self):
        began = time.perf_counter()
        with pytest.raises(
            quirk.SimulationError, match=r'"motor" with 1e\+07 rad/s .* steps, .* times in between'
        ) as caught:
            quirk.kinematics(self.crank(1e7), [0.0, 0.5, 1.0])
        assert time.perf_counter() - began < 60
        assert len(caught.value.result.time) == 1
        assert 0 < caught.value.time < 0.5

    def test_are_heard(self, monkeypatch):
        quirk.kinematics(self.crank(1.0), [0.0, 1.0])  # compiled from here on
        monkeypatch.setattr("quirk.dynamics.sparse.solver.derivatives.MOST_STEPS", 10**9)
        timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        result = quirk.kinematics(self.crank(1e7), [0.0, 0.5, 1.0])
        timer.join()
        assert result.status == "interrupted"
        assert len(result.time) == 1

    def test_show_how_far_they_are(self, capsys):
        quirk.kinematics(self.crank(1.0), [0.0, 0.5, 1.0], progress=True)
        assert "t = 1.000 of 1 s" in capsys.readouterr().err
        quirk.kinematics(self.crank(1.0), [0.5], progress=True)
        assert "100%" in capsys.readouterr().err

    def test_may_be_long(self):
        result = quirk.kinematics(self.crank(1e3), [0.0, 1.0])
        assert result.statistics.steps > 1000
        assert result["bar"].in_plane.angle[-1] == pytest.approx(1000.0)
