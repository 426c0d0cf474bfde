"""Motions: values and derivatives, compiled and plain, and what is refused."""

import numba
import numpy as np
import pytest
from mechanisms import random_body

import quirk
from quirk import Motion

KNOTS, HEIGHTS = [0, 0.5, 1.1, 1.6, 2.0, 2.7, 3.0], [0, 0.2, 1.0, 0.7, -0.3, 0.1, 0.4]
PERIODIC = Motion.spline(
    [0.1, 0.3, 0.4, 0.8, 1.15, 1.4, 1.6, 1.9], [0.2, 0.5, 0.1, 0.3, 0.9, 0.6, 0.4, 0.2], periodic=True
)
MOTIONS = {
    "rate": Motion.constant_rate(2.0, start=0.3),
    "polynomial": Motion.polynomial([0.1, -0.2, 0.3, 0.4, -0.5, 0.06]),
    "sinusoid": Motion.sinusoid(0.7, 3.0, phase=0.4, offset=-0.2),
    "spline": Motion.spline(KNOTS, HEIGHTS),
    "rest to rest": Motion.rest_to_rest([0.3, 1.2, 1.6, 2.6], [0.2, 0.9, 0.9, -0.4]),
    "function": Motion.function(np.exp, np.exp, np.exp, np.exp, np.exp),
    "periodic": PERIODIC,
    "sum": Motion.sinusoid(0.7, 3.0) + Motion.spline(KNOTS, HEIGHTS) + Motion.constant_rate(0.4, start=0.1),
    "sum with functions": Motion.function(np.exp, np.exp, np.exp, np.exp, np.exp)
    + PERIODIC
    + Motion.function(np.sin, np.cos, lambda t: -np.sin(t), lambda t: -np.cos(t), np.sin),
    "compiled function": Motion.function(*[numba.njit(lambda t: np.exp(t))] * 5),
}


@pytest.mark.parametrize("name", MOTIONS)
def test_derivatives(name):
    motion, h = MOTIONS[name], 1e-5
    for t in (0.2, 0.5, 1.37, 2.9):
        for k in range(4):
            ahead, behind = (motion.derivatives(t + s * h, 4)[k] for s in (1, -1))
            assert motion.derivatives(t, 4)[k + 1] == pytest.approx((ahead - behind) / (2 * h), abs=1e-5)


def test_a_spline_passes_its_points_and_has_continuous_snap():
    motion = MOTIONS["spline"]
    np.testing.assert_allclose([motion(t) for t in KNOTS], HEIGHTS, atol=1e-14)
    for t in KNOTS[1:-1]:
        np.testing.assert_allclose(motion.derivatives(t - 1e-12, 4), motion.derivatives(t, 4), atol=1e-6)
    assert Motion.spline([0, 2], [1, 5]).derivatives(1.0, 2).tolist() == [3.0, 2.0, 0.0]


class TestRestToRest:
    @pytest.mark.parametrize("count", [2, 3, 7])
    @pytest.mark.parametrize("unit", [1.0, 1e-6, 1e6])
    def test_each_piece_is_the_polynomial_that_rests_at_both_ends(self, count, unit):
        """The six coefficients are found from six conditions: value, rate and acceleration at both ends."""
        rng = np.random.default_rng(count)
        times, values = unit * np.cumsum(rng.uniform(0.3, 2.0, count)), rng.normal(size=count)
        motion = Motion.rest_to_rest(times, values)
        for k, T in enumerate(np.diff(times)):
            powers = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 2, 0, 0, 0],
                               [1, 1, 1, 1, 1, 1], [0, 1, 2, 3, 4, 5], [0, 0, 2, 6, 12, 20]])  # fmt: skip
            c = np.linalg.solve(powers, [values[k], 0, 0, values[k + 1], 0, 0])
            shape = np.polynomial.Polynomial(c)
            for s in (0.0, 0.1, 0.5, 0.83):
                want = [shape.deriv(m)(s) / T**m if m else shape(s) for m in range(5)]
                found = motion.derivatives(times[k] + s * T, 4)
                np.testing.assert_allclose(found * T ** np.arange(5), want * T ** np.arange(5), atol=1e-12)

    def test_it_rests_at_the_times_and_beyond(self):
        times, values = [0.3, 1.2, 1.6, 2.6], [0.2, 0.9, 0.9, -0.4]
        motion = MOTIONS["rest to rest"]
        for t, x in zip(times, values, strict=True):
            for side in (-1e-9, 0.0, 1e-9):
                np.testing.assert_allclose(motion.derivatives(t + side, 2), [x, 0, 0], atol=1e-7)
        for t, x in ((-100.0, 0.2), (0.3, 0.2), (1.4, 0.9), (2.6, -0.4), (1e4, -0.4)):
            assert motion.derivatives(t, 4)[:3].tolist() == [x, 0.0, 0.0]
        assert (motion.start, motion.end) == (-np.inf, np.inf)

    def test_largest_rate_and_acceleration(self):
        motion, t = Motion.rest_to_rest([1.0, 3.0], [0.5, -0.3]), np.linspace(1, 3, 2001)
        rates = np.array([motion.derivatives(x, 2) for x in t])
        assert rates[:, 1].min() == pytest.approx(15 / 8 * -0.8 / 2)
        assert np.abs(rates[:, 2]).max() == pytest.approx(10 / np.sqrt(3) * 0.8 / 4, rel=1e-6)

    def test_steps_end_where_the_jerk_jumps(self):
        np.testing.assert_array_equal(MOTIONS["rest to rest"].kinks, [0.3, 1.2, 1.6, 2.6])
        assert not Motion.rest_to_rest([0, 1], [0.3, 0.3]).kinks.size
        rod = quirk.Body.box("rod", 1.0, [1, 0.1, 0.1])
        slide = quirk.Prismatic("slide", quirk.GROUND, rod, axis=[0, 0, 1])
        push = quirk.Force("push", rod, [0, 0, MOTIONS["rest to rest"]])
        result = quirk.simulate(quirk.System([rod, slide, push]), 3.0, rtol=1e-6)
        assert {0.3, 1.2, 1.6, 2.6} <= set(result.time)

    def test_no_motion_has_less_squared_jerk(self):
        """Variations that rest at both ends only add to the integral of the squared jerk."""
        s, w = np.polynomial.legendre.leggauss(12)
        s, w = 0.5 * (s + 1), 0.5 * w
        jerk = np.array([Motion.rest_to_rest([0, 1], [0, 1]).derivatives(x, 3)[3] for x in s])
        for power in range(3, 7):
            change = np.polynomial.Polynomial([0, 1]) ** power * np.polynomial.Polynomial([1, -1]) ** 3
            assert abs(w @ (jerk * change.deriv(3)(s))) < 1e-12

    @pytest.mark.parametrize("part", ["drive", "servo"])
    def test_derivatives_with_respect_to_its_values(self, part):
        times, values = [0.2, 0.6, 0.9], np.array([0.1, 0.5, -0.2])

        def system(values):
            rod = quirk.Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
            hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="y")
            tip = quirk.Body.sphere("tip", 0.5, 0.1, position=[1.4, 0, 0])
            elbow = quirk.Revolute("elbow", rod, tip, point=[1, 0, 0], axis="y")
            motion = Motion.rest_to_rest(times, values)
            servo = quirk.Controller("servo", hinge, motion, kp=50.0, kd=5.0)
            made = quirk.System([rod, tip, hinge, elbow], gravity=[0, 0, -9.81])
            return made.with_parts(quirk.Drive("drive", hinge, motion) if part == "drive" else servo)

        def moved(values, **options):
            one = system(values)
            start = system([0.1, 0.5, -0.2]).assemble()
            return quirk.simulate(one, 1.0, initial_state=start, output=0.5, rtol=1e-10, atol=1e-12, **options)

        name = f"{'motion' if part == 'drive' else 'target'}.values"
        found = moved(values, sensitivities=[(part, name)]).sensitivity[part, name]["tip"].position
        for k in (1, 2) if part == "drive" else range(3):  # the drive's first value would move its initial pose
            h = 1e-5 * np.eye(3)[k]
            change = (moved(values + h)["tip"].position - moved(values - h)["tip"].position) / 2e-5
            np.testing.assert_allclose(found[..., k], change, atol=1e-6)


class TestPeriodic:
    @pytest.mark.parametrize("count", [4, 5, 7, 30])
    def test_it_begins_again_with_all_derivatives_up_to_snap(self, count):
        rng = np.random.default_rng(count)
        times = np.cumsum(rng.uniform(0.5, 1.5, size=count))
        values = rng.normal(size=count)
        values[-1] = values[0]
        motion, period = Motion.spline(times, values, periodic=True), times[-1] - times[0]
        np.testing.assert_allclose([motion(t) for t in times], values, atol=1e-13)
        for t in (*times, -3.3, 0.7):
            for turns in (-2, 1, 50):
                again = motion.derivatives(t + turns * period + 1e-11, 4)
                np.testing.assert_allclose(again, motion.derivatives(t - 1e-11, 4), rtol=1e-7, atol=1e-7)
        assert (motion.start, motion.end) == (-np.inf, np.inf)

    def test_a_sine(self):
        times = np.linspace(0, 2, 61)
        values = np.sin(np.pi * times)
        values[-1] = values[0]
        motion = Motion.spline(times, values, periodic=True)
        for t in (-7.3, 0.01, 1.99, 123.4):
            want = [np.pi**k * np.sin(np.pi * t + k * np.pi / 2) for k in range(4)]
            np.testing.assert_allclose(motion.derivatives(t, 3), want, rtol=1e-4, atol=1e-5)

    def test_kinks_come_again(self):
        one = PERIODIC.kinks
        assert one.max() == pytest.approx(1.9)
        np.testing.assert_allclose(PERIODIC.kinks_between(-1.6, 5.6), np.add.outer([-1.8, 0, 1.8, 3.6], one).ravel())
        both = PERIODIC + Motion.spline(KNOTS, HEIGHTS)
        assert set(both.kinks) == set(one) | set(MOTIONS["spline"].kinks)

    def test_a_cam_that_turns_for_ever(self):
        """Runs go over the ends of periods, and steps end at their kinks."""
        rod = random_body(np.random.default_rng(2), "rod")
        slide = quirk.Prismatic("slide", quirk.GROUND, rod, axis=[0, 0, 1])
        system = quirk.System([rod, slide, quirk.Drive("cam", slide, PERIODIC)])
        system.assemble()
        result = quirk.simulate(system, 6.0, rtol=1e-10)
        assert set(np.round(PERIODIC.kinks_between(0, 6), 9)) <= set(np.round(result.time, 9))
        want = [PERIODIC.derivatives(t, 2)[2] * rod.mass for t in result.time]
        np.testing.assert_allclose(result["cam"].force()[:, 2], want, atol=1e-8)


class TestSums:
    def test_they_are_what_their_parts_add_up_to(self):
        for name in ("sum", "sum with functions"):
            motion = MOTIONS[name]
            for t in (0.3, 2.2):
                parts = np.sum([part.derivatives(t, 4) for part in motion.parts], axis=0)
                np.testing.assert_allclose(motion.derivatives(t, 4), parts, rtol=1e-14)
        twice = MOTIONS["rate"] + MOTIONS["rate"]
        assert twice.derivatives(1.5, 1).tolist() == [6.6, 4.0]

    def test_they_are_defined_where_all_parts_are(self):
        motion = Motion.spline([0, 2, 3], [0, 1, 0]) + Motion.spline([1, 2, 5], [0, 1, 0]) + PERIODIC
        assert (motion.start, motion.end) == (1, 3)
        with pytest.raises(quirk.InputError, match="is defined from 1 to 3 s; asked for at 4 s"):
            motion(4.0)

    def test_they_know_as_many_derivatives_as_their_functions(self):
        one, other = (Motion.function(*[np.exp] * count) for count in (4, 3))
        assert (one + MOTIONS["rate"]).known == 3
        assert (one + other).known == 2
        with pytest.raises(quirk.InputError, match="f_ttt is needed here"):
            (one + other).derivatives(0.0, 3)

    def test_they_say_what_they_are(self):
        assert repr(MOTIONS["rest to rest"]) == "Motion(from 0.2 at 0.3 s to -0.4 at 2.6 s)"
        assert repr(MOTIONS["rate"] + Motion.sinusoid(1, 2)) == "Motion(0.3 t^0 + 2 t^1 + 0 + 1 sin(2 t + 0))"

    def test_only_motions_can_be_added(self):
        with pytest.raises(TypeError):
            MOTIONS["rate"] + 1.0


@pytest.mark.parametrize("name", MOTIONS)
def test_drives_follow_them(name):
    """The compiled solver, the dense one and the motion itself."""
    motion = MOTIONS[name]
    rod = random_body(np.random.default_rng(1), "rod")
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[1, 2, 3])
    system = quirk.System([rod, hinge, quirk.Drive("motor", hinge, motion)], gravity=[0, 0, -9.81])
    system.assemble()
    result = quirk.simulate(system, 2.5, rtol=1e-10, output=0.25)
    angle = result["hinge"].rotation[:, 2]
    want = np.array([motion.derivatives(t, 2) for t in result.time])
    np.testing.assert_allclose(angle, want[:, 0] + np.round((angle[0] - want[0, 0]) / 6.28), atol=1e-12)
    np.testing.assert_allclose(result["hinge"].angular_velocity[:, 2], want[:, 1], atol=1e-11)
    state = result.state_at(4)
    dense, sparse = (system.acceleration(state, result.time[4], s) for s in ("dense", "sparse"))
    np.testing.assert_allclose(sparse.angular, dense.angular, rtol=1e-11, atol=1e-12)
    z = quirk.rotation.matrix(state.orientation[0]) @ hinge.frame_j.matrix[:, 2]
    R = quirk.rotation.matrix(state.orientation[0])
    assert z @ (R @ dense.angular[0]) == pytest.approx(want[4, 2], rel=1e-9)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Motion.constant_rate("fast"), "Motion.constant_rate: rate must be a number"),
        (lambda: Motion.polynomial([]), "coefficients must be a list of finite numbers"),
        (lambda: Motion.sinusoid(1, np.nan), "angular_frequency must be finite"),
        (lambda: Motion.spline([0, 1, 1], [0, 1, 2]), "times must increase strictly"),
        (lambda: Motion.spline([0, 1, 2, 3], [0, 1, 2, 3], periodic=True), "the same at the last time.* got 0 and 3"),
        (lambda: Motion.spline([0, 1, 2], [0, 1, 0], periodic=True), "must be 4 or more; got 3"),
        (lambda: Motion.spline([0, 1], [0, 1], periodic=1), "periodic must be True or False"),
        (lambda: Motion.spline([0, 1, 2], [0, 1]), r"values must have shape \(3,\)"),
        (lambda: Motion.rest_to_rest([0, 1, 1], [0, 1, 2]), "Motion.rest_to_rest: times must increase strictly"),
        (lambda: Motion.rest_to_rest([0], [1]), "rest_to_rest: times must be a list of at least two times"),
        (
            lambda: Motion.rest_to_rest([0, 1e-70, 1], [0, 1, 2]),
            r"rest_to_rest: times: the interval from 0 to 1e-70 s is too short",
        ),
        (
            lambda: Motion.rest_to_rest([0, 1, 1e300], [0, 1, 2]),
            r"rest_to_rest: times: the interval from 1 to 1e\+300 s is too",
        ),
        (
            lambda: Motion.rest_to_rest([-1e308, 1e308], [1, 1]),
            r"rest_to_rest: times: the interval from -1e\+308 to 1e\+308 s",
        ),
        (lambda: Motion.rest_to_rest([0, 2], [1]), r"rest_to_rest: values must have shape \(2,\)"),
        (lambda: Motion.function(np.sin, np.cos, None), "f_tt must be a function"),
        (lambda: Motion.function(np.sin, np.cos, np.sin).derivatives(0.0, 3), "f_ttt is needed here"),
        (lambda: MOTIONS["spline"](np.linspace(0, 3, 4)), r"t must be a single time, s; got array"),
        (lambda: MOTIONS["spline"](3.5), "is defined from 0 to 3 s; asked for at 3.5 s"),
        (lambda: Motion.function(lambda t: "x", np.cos, np.sin)(0.0), "what f returns"),
    ],
)
def test_errors(make, message):
    with pytest.raises(quirk.InputError, match=message):
        make()


@pytest.mark.parametrize(
    "options", [{"method": "RK4", "step": 0.01}, {"rtol": 1e-8}, {"method": "RadauIIA9", "rtol": 1e-8}]
)
@pytest.mark.parametrize("raises", [False, True])
@pytest.mark.parametrize("which", [0, 2])
def test_a_motion_that_fails_for_a_moment_is_named(which, raises, options):
    """The second of two motions fails within a step; later stages of the step succeed."""

    def sine(size):
        return [lambda t, k=k: size * np.sin(t + k * np.pi / 2) for k in range(4)]

    def fails(t):
        if 0.3101 < t < 0.3199:
            if raises:
                raise ValueError("no data")
            return np.nan
        return 0.2 * np.sin(t + which * np.pi / 2)

    functions = sine(0.2)
    functions[which] = fails
    parts = []
    for name, of_time in [("one", sine(0.1)), ("two", functions)]:
        body = quirk.Body.box(f"body {name}", 1.0, [0.1, 0.2, 0.3])
        hinge = quirk.Revolute(f"hinge {name}", quirk.GROUND, body, point=[0, 0, 0], axis=[0, 1, 0])
        parts += [body, hinge, quirk.Drive(f"drive {name}", hinge, quirk.Motion.function(*of_time))]
    system = quirk.System(parts)
    start = system.assemble()
    reason = "failed .*no data" if raises else "must be finite; got nan"
    with pytest.raises(quirk.SimulationError, match=rf"Motion\(.*{reason}"):
        quirk.simulate(system, 1.0, output=0.1, initial_state=start, **options)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("options", [{"method": "RK4", "step": 0.01}, {"rtol": 1e-8}])
def test_a_compiled_motion_that_is_undefined_for_a_moment_is_named(options):
    """Machine code reports bad values through an address that each caller has to give, also between stages."""

    def bad(t):
        return -0.2 * np.sin(t) + 0 * np.sqrt((t - 0.3151) ** 2 - 1.6e-5)

    sine = [lambda t, k=k: 0.2 * np.sin(t + k * np.pi / 2) for k in range(2)]
    parts = []
    for name, last in [("one", lambda t: -0.2 * np.sin(t)), ("two", bad)]:
        body = quirk.Body.box(f"body {name}", 1.0, [0.1, 0.2, 0.3])
        hinge = quirk.Revolute(f"hinge {name}", quirk.GROUND, body, point=[0, 0, 0], axis=[0, 1, 0])
        parts += [body, hinge, quirk.Drive(f"drive {name}", hinge, quirk.Motion.function(*sine, last))]
    system = quirk.System(parts)
    with pytest.raises(quirk.SimulationError, match=r"Motion\(.*f_tt|Motion\(.*must be finite"):
        quirk.simulate(system, 1.0, output=0.1, initial_state=system.assemble(), **options)
