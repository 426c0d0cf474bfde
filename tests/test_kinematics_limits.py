"""Where kinematic analyses stop, how long they take, and what they stand."""

import math
import re
import time
import warnings
from functools import partial

import numpy as np
import pytest
from closed_forms import derivatives
from driven import (
    DEAD_POINT,
    DOWN,
    KINDS,
    OUTPUTS,
    START,
    STEADY,
    TEN_TURNS,
    TOLERANCE,
    WAVE,
    FourBar,
    Turning,
    agree,
    bar,
    motor,
    pin,
    simulated,
    wave,
)
from quirk.constraints.planar import PlanarBody, Plane
from studies import study

import quirk
from quirk import GROUND, Body, Motion, planar


def ladder(kind, loops):
    """Rockers in a row, nearly alike, coupled at their tips, the first of which swings."""
    rng, plane = np.random.default_rng(0), Plane()
    feet = np.column_stack([np.arange(loops + 1.0), np.zeros(loops + 1)])
    tips = feet + [0.3, 1.0] + 0.003 * rng.normal(size=feet.shape)
    rockers = [bar(kind, f"rocker {k}", feet[k], tips[k], 1.0, plane) for k in range(loops + 1)]
    couplers = [bar(kind, f"coupler {k}", tips[k], tips[k + 1], 1.0, plane) for k in range(loops)]
    hinges = [pin(kind, f"foot {k}", GROUND, rocker, feet[k], plane) for k, rocker in enumerate(rockers)]
    for k, coupler in enumerate(couplers):
        hinges.append(pin(kind, f"start {k}", rockers[k], coupler, tips[k], plane))
        hinges.append(pin(kind, f"end {k}", coupler, rockers[k + 1], tips[k + 1], plane))
    start = float(np.arctan2(*(tips[0] - feet[0])[::-1]))
    swing = motor(kind, hinges[0], Motion.sinusoid(0.3, 2 * np.pi), start)
    return quirk.System([*rockers, *couplers, *hinges, swing], gravity=(*DOWN, 0))


@KINDS
class TestManyLoops:
    TIMES = np.linspace(0, 1, 1000)

    @staticmethod
    def cost(*analyses):
        """Least time, s, of this process, of each of the functions, called three times in turns after a first call."""
        for analysis in analyses:
            analysis()
        spent = np.full(len(analyses), np.inf)
        for _ in range(3):
            for k, analysis in enumerate(analyses):
                began = time.process_time()
                analysis()
                spent[k] = min(spent[k], time.process_time() - began)
        return spent

    @pytest.mark.slow
    def test_a_thousand_positions_of_forty_loops_cost_at_most_as_many_steps_of_a_run_twice_and_a_half(self, kind):
        """About 0.5 s where this was written; told in steps, so that slow machines do not matter."""
        system = ladder(kind, 40)
        system.assemble()
        positions, steps = self.cost(
            lambda: quirk.kinematics(system, self.TIMES),
            lambda: quirk.simulate(system, 1.0, method="RK4", step=1e-3),
        )
        assert positions < 2.5 * steps

    @pytest.mark.slow
    def test_cost_is_in_proportion_to_the_loops(self, kind):
        times = self.TIMES[::3]
        few, many = self.cost(*(
            partial(quirk.kinematics, ladder(kind, loops), times) for loops in (20, 80)
        ))  # fmt: skip
        assert many / 80 < 2 * few / 20

    def test_loops_are_closed(self, kind):
        result = quirk.kinematics(ladder(kind, 40), self.TIMES[::50])
        assert result.residual.position.max() < 1e-12
        turned = result["foot 0"].rotation[:, 2]
        agree(turned - turned[0], 0.3 * np.sin(2 * np.pi * result.time))
        assert np.ptp(result["foot 40"].rotation[:, 2]) > 0.4


def parallelogram(kind, drawn):
    """Driven at 1 rad/s from an angle; where all parts are in line there is another way to go on, crossed."""
    plane, tip = Plane(), 0.4 * np.array([np.cos(drawn), np.sin(drawn)])
    foot = np.array([1.0, 0])
    far = foot + tip
    crank, coupler, rocker = (
        bar(kind, name, start, end, mass, plane)
        for name, start, end, mass in (
            ("crank", 0 * tip, tip, 1.0),
            ("coupler", tip, far, 2.0),
            ("rocker", foot, far, 1.5),
        )
    )
    hinge = pin(kind, "O", GROUND, crank, (0, 0), plane)
    return quirk.System([
        crank, coupler, rocker, hinge, pin(kind, "A", crank, coupler, tip, plane),
        pin(kind, "B", coupler, rocker, far, plane), pin(kind, "C", GROUND, rocker, foot, plane),
        motor(kind, hinge, Motion.constant_rate(1.0), drawn),
    ])  # fmt: skip


@KINDS
class TestBranchPoints:
    def check(self, result):
        """The branch is kept: rocker and crank turn alike, and the coupler not at all."""
        agree(result["rocker"].angular_velocity, np.broadcast_to([0, 0, 1.0], (len(result.time), 3)))
        crank, rocker = (result[name].rotation[:, 2] for name in "OC")
        agree(rocker - rocker[0], crank - crank[0])
        np.testing.assert_allclose(result["coupler"].angular_velocity, 0, atol=TOLERANCE)

    def test_are_passed_in_steps_over_them_for_ten_turns(self, kind):
        times = np.linspace(0, TEN_TURNS, 161)  # eight a turn
        self.check(quirk.kinematics(parallelogram(kind, START), times))

    @pytest.mark.parametrize("beyond", [0.1, 0.01, 0.001, -0.001, -0.01])
    @pytest.mark.parametrize("ahead", [0.2, 1.0])
    def test_are_passed_next_to_them(self, kind, beyond, ahead):
        drawn = 0.2
        flat = np.pi - drawn
        self.check(quirk.kinematics(parallelogram(kind, drawn), [0, flat - ahead, flat + beyond, flat + 1]))

    def test_end_an_analysis_that_meets_them(self, kind):
        times = np.array([0.0, 1.0, np.pi / 2, 2.0])
        message = r'at t = 1\.5707\d* s the mechanism is at a branch point, where [\w.]+ "\w+"'
        with pytest.raises(quirk.SimulationError, match=message) as caught:
            quirk.kinematics(parallelogram(kind, np.pi / 2), times)
        assert caught.value.time == pytest.approx(np.pi / 2, abs=DEAD_POINT)
        assert caught.value.result.status == "failed"
        np.testing.assert_array_equal(caught.value.result.time, times[:2])


def parallel_cranks(kind, cranks, lead, rates, beyond):
    """Parallel cranks of length 0.4 m and a plate on their tips, with gravity; the rank is the same at all positions.

    `lead`, rad, is the angle of the cranks at the start, ahead of the line through the first two feet (1 m apart). All
    cranks with `rates`, rad/s, are driven; a third foot is off this line by `beyond`, m.
    """
    plane, tip = Plane(), 0.4 * np.array([np.cos(lead), np.sin(lead)])
    feet = np.array([[0.0, 0], [1.0, 0], [0.4, beyond]])[:cranks]
    plate = bar(kind, "plate", feet[0] + tip, feet[1] + tip, 2.0, plane)
    parts = [plate]
    for k, foot in enumerate(feet):
        crank = bar(kind, f"crank {k}", foot, foot + tip, 1.0, plane)
        hinge = pin(kind, f"foot {k}", GROUND, crank, foot, plane)
        parts += [crank, hinge, pin(kind, f"tip {k}", crank, plate, foot + tip, plane)]
        if k < len(rates):
            motion = Motion.constant_rate(rates[k])
            drive = (
                planar.AngleDriver(f"drive {k}", GROUND, crank, motion, offset=lead)
                if kind == "planar"
                else quirk.Drive(f"drive {k}", hinge, motion)
            )
            parts.append(drive)
    return quirk.System(parts, gravity=(*DOWN, 0))


@KINDS
@pytest.mark.parametrize(("cranks", "drives"), [(2, 2), (3, 1), (3, 3)])
@pytest.mark.parametrize("seed", study(range(3), 1))
class TestRowsThatBecomeDependentWhileOthersDoNot:
    """Flat, the loop of two cranks is singular; the mechanism is not, because of a second driver or a third crank."""

    @staticmethod
    def draw(kind, cranks, drives, seed):
        """Return a system, the angle of the cranks at the start, rad, their rate, rad/s, and the time when flat, s."""
        rng = np.random.default_rng(seed)
        lead, rate = rng.uniform(0.3, 2.5), rng.uniform(0.7, 1.5)
        system = parallel_cranks(kind, cranks, lead, [rate] * drives, rng.uniform(0.3, 0.8))
        return system, lead, rate, (np.pi - lead) / rate

    @staticmethod
    def efforts(result, cranks, drives, along):
        """Return the sum of the efforts of all drivers, N m, and its value by virtual power; `along` are the cranks.

        The kinetic energy is constant, so that the drivers have the power that raises the weights.
        """
        effort = sum(result[f"drive {k}"].effort for k in range(drives))
        return effort, -DOWN[1] * (2.0 + 0.5 * cranks) * along[:, 0]

    def test_in_kinematics(self, kind, cranks, drives, seed):
        system, lead, rate, flat = self.draw(kind, cranks, drives, seed)
        times = np.array([0.0, 0.6 * flat, flat - 1e-6, flat, flat + 1e-8, flat + 1.0, flat + np.pi / rate])
        result = quirk.kinematics(system, times)
        angle = lead + rate * times
        along = 0.4 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
        across = along[:, [1, 0, 2]] * [-1, 1, 1]
        plate = result["plate"]
        agree(plate.position - [0.5, 0, 0], along)
        agree(plate.velocity, rate * across)
        agree(plate.acceleration, -(rate**2) * along)
        agree(plate.jerk, -(rate**3) * across)
        np.testing.assert_allclose(plate.angular_velocity, 0, atol=TOLERANCE)
        agree(*self.efforts(result, cranks, drives, along))

    def test_loads_of_simulations(self, kind, cranks, drives, seed):
        """Runs project states with the rows selected before, which enlarge round-off here: loads are off by 2e-6."""
        system, lead, rate, flat = self.draw(kind, cranks, drives, seed)
        times = np.array([0.0, 0.6 * flat, flat, flat + 0.5])
        angle = lead + rate * times
        along = 0.4 * np.column_stack([np.cos(angle), np.sin(angle), 0 * angle])
        effort, expected = self.efforts(simulated(system, times), cranks, drives, along)
        np.testing.assert_allclose(effort, expected, atol=1e-4 * np.abs(expected).max())


# Coupler and rocker are too short for the crank to pass the angle at which they are in line.
TOO_SHORT = {"ground": 1.0, "crank": 0.6, "coupler": 0.5, "rocker": 0.6}
FARTHEST = np.arccos((1 + 0.6**2 - 1.1**2) / (2 * 0.6))


class TestWhatCannotBeReached:
    @KINDS
    @pytest.mark.parametrize("count", [4, 61, 400])
    def test_a_crank_beyond_its_reach(self, kind, count):
        start, rate = np.pi / 3, 0.5
        turning = Turning(Motion.constant_rate(rate), lambda t: rate * t)
        bars, times = FourBar(kind, turning, lengths=TOO_SHORT, start=start), np.linspace(0, 3, count)
        message = r't = 0\.79654\d* s.* (Revolute|Drive|planar\.\w+) "\w+"'
        with pytest.raises(quirk.SimulationError, match=message) as caught:
            quirk.kinematics(bars.system, times)
        reached = (FARTHEST - start) / rate
        assert caught.value.time == pytest.approx(reached, abs=DEAD_POINT)
        partial = caught.value.result
        assert partial.status == "failed"
        np.testing.assert_array_equal(partial.time, times[times < reached])
        want = derivatives(lambda t: np.array(bars.pins(t))[1], partial.time[:1], 0)[0]
        agree(partial["rocker"].path([0.3, 0, 0]).position[:1], want @ np.eye(3)[:2])

    def test_a_rod_that_is_too_short_at_the_first_time(self):
        slider = Body("slider", 1.0, [0.01, 0.01, 0.01], position=[0.2, 0.5, 0])
        guide = quirk.Prismatic("guide", GROUND, slider, axis=[1, 0, 0])
        rod = quirk.Distance("rod", GROUND, slider, length=0.4)
        with pytest.raises(quirk.AssemblyError, match='Distance "rod": cannot be assembled'):
            quirk.kinematics(quirk.System([slider, guide, rod]), [0.0, 1.0])

    @pytest.mark.parametrize(
        "second", [Motion.constant_rate(1.5), Motion.constant_rate(1.3, start=0.2), Motion.polynomial([0, 1.3, 1e-3])],
        ids=["rate", "start", "later"],
    )  # fmt: skip
    def test_drivers_that_contradict_each_other(self, second):
        crank = FourBar("planar", STEADY)
        drive = planar.AngleDriver("second", GROUND, crank.bodies["crank"], second, offset=START)
        system = quirk.System([*crank.undriven, crank.system["motor"], drive])
        with pytest.raises(quirk.QuirkError, match=r'planar\.AngleDriver "(motor|second)"'):
            quirk.kinematics(system, STEADY.times)

    def test_drivers_that_say_the_same_are_redundant(self):
        bars = FourBar("planar", STEADY)
        drive = planar.AngleDriver("second", GROUND, bars.bodies["crank"], STEADY.motion, offset=START)
        system = quirk.System([*bars.undriven, bars.system["motor"], drive])
        bars.check(quirk.kinematics(system, STEADY.times))


class TestArguments:
    def test_freedoms_that_nothing_drives_are_named(self):
        bars = FourBar("planar", STEADY)
        alone = PlanarBody("alone", 1.0, 0.1, position=(3, 0))
        with pytest.raises(
            quirk.InputError, match=r'4 degrees of freedom of the system.* "crank", "coupler", "rocker", "alone"'
        ):
            quirk.kinematics(quirk.System([*bars.undriven, alone]), STEADY.times)
        fixed = planar.AngleDriver("motor", GROUND, bars.bodies["crank"], STEADY.motion, offset=START)
        with pytest.raises(
            quirk.InputError, match=r'3 degrees of freedom of the system.* still move: "alone": add a driver'
        ):
            quirk.kinematics(quirk.System([*bars.undriven, fixed, alone]), STEADY.times)

    @pytest.mark.parametrize(
        ("times", "message"),
        [
            ([0, 1, 1], "times must increase strictly; got 1 s before 1 s"),
            ([0, 2, 1], "times must increase strictly; got 2 s before 1 s"),
            ([0, np.nan], "times must be finite"),
            ([0, np.inf], "times must be finite"),
            ([], "times must be a list of times"),
            (3.0, "times must be a list of times"),
            ([[0, 1]], "times must be a list of times"),
            (["a"], "times must be times in seconds"),
            (None, "times must be times in seconds"),
        ],
    )
    def test_times(self, times, message):
        with pytest.raises(quirk.InputError, match=f"kinematics: {message}"):
            quirk.kinematics(FourBar("planar", STEADY).system, times)

    def test_a_system(self):
        with pytest.raises(quirk.InputError, match=r"kinematics: system must be a quirk\.System; got \[1\]"):
            quirk.kinematics([1], [0.0])

    def test_a_motion_that_ends_before(self):
        ramp = Turning(Motion.spline([0, 1, 2], [0, 1, 4]), None)
        with pytest.raises(quirk.InputError, match=r'AngleDriver "motor", motion: .* is defined from 0 to 2 s'):
            quirk.kinematics(FourBar("planar", ramp).system, [0.0, 3.0])

    def test_one_time_and_times_that_start_anywhere(self):
        bars, times = FourBar("planar", STEADY), np.array([-1.0, -0.7, 0.6, 2.0])
        for some in (times, times[:1], times[3:]):
            bars.check(quirk.kinematics(bars.system, some))

    @pytest.mark.parametrize("seed", study(range(4), 1))
    def test_parts_that_are_drawn_roughly_are_assembled(self, seed):
        bars, rng = FourBar("planar", STEADY), np.random.default_rng(seed)
        lengths = [bars.lengths[name] for name in bars.BODIES]
        crank, coupler, rocker = (
            PlanarBody(name, 1.0, 0.02, position=body.coordinates[:2] + 0.1 * rng.normal(size=2),
                       angle=body.coordinates[2] + 0.1 * rng.normal())
            for name, body in bars.bodies.items()
        )  # fmt: skip
        starts, ends = ([(s * length / 2, 0) for length in lengths] for s in (-1, 1))
        system = quirk.System([
            crank, coupler, rocker,
            planar.Revolute("O", GROUND, crank, point_i=(0, 0), point_j=starts[0]),
            planar.Revolute("A", crank, coupler, point_i=ends[0], point_j=starts[1]),
            planar.Revolute("B", coupler, rocker, point_i=ends[1], point_j=ends[2]),
            planar.Revolute("C", GROUND, rocker, point_i=(1, 0), point_j=starts[2]),
            planar.AngleDriver("motor", GROUND, crank, STEADY.motion, offset=START),
        ])  # fmt: skip
        bars.check(quirk.kinematics(system, STEADY.times))


class TestDerivativesThatAreMissing:
    @pytest.mark.parametrize("analyze", [quirk.kinematics, simulated])
    def test_of_a_function(self, analyze):
        short = Turning(Motion.function(*WAVE.functions[:3]), wave)
        bars = FourBar("planar", short)
        result = analyze(bars.system, short.times)
        angles = derivatives(bars.angles, result.time)
        agree(result["rocker"].in_plane.angular_acceleration, angles[2, :, 2])
        assert np.isfinite(result["A"].force()).all()
        for give, quantity in (("f_ttt", "jerk"), ("f_ttt", "angular_jerk"), ("f_tttt", "snap")):
            with pytest.raises(quirk.InputError, match=f'"motor".* no {give}, so there is no .*: give {give}'):
                getattr(result["rocker"], quantity)
        with pytest.raises(quirk.InputError, match=r'"motor".* no f_ttt'):
            result["A"].force_rate()

    def test_jerk_of_a_function_without_its_fourth_derivative(self):
        short = Turning(Motion.function(*WAVE.functions[:4]), wave)
        bars = FourBar("planar", short)
        result = quirk.kinematics(bars.system, short.times)
        agree(result["rocker"].in_plane.angular_jerk, derivatives(bars.angles, result.time)[3, :, 2])
        with pytest.raises(quirk.InputError, match=r'"motor".* no f_tttt, so there is no snap'):
            result["rocker"].angular_snap  # noqa: B018

    def test_of_custom_rows(self):
        def rows(t, position, orientation, velocity, angular_velocity):
            along_x = np.eye(1, 7)
            return along_x, [-np.sin(t)], [position[0, 0] - np.sin(t)], [velocity[0, 0] - np.cos(t)]

        block, times = Body.box("block", 1.0, [0.1, 0.1, 0.1]), np.linspace(0, TEN_TURNS, OUTPUTS)
        slide = quirk.Prismatic("slide", GROUND, block, axis=[1, 0, 0])
        result = quirk.kinematics(quirk.System([block, slide, quirk.CustomRows("wave", [block], rows)]), times)
        agree(result["block"].position[:, 0], np.sin(times))
        agree(result["block"].acceleration[:, 0], -np.sin(times))
        for quantity in ("jerk", "snap"):
            with pytest.raises(quirk.InputError, match=f'"wave".* no derivatives, so there is no {quantity}'):
                getattr(result["block"], quantity)


def swinging(*more, motion=None):
    """A planar bar on a pin, driven."""
    body = PlanarBody.bar("bar", (0, 0), (1, 0), mass=1.0)
    driver = planar.AngleDriver("motor", GROUND, body, motion or Motion.constant_rate(1.0))
    return [body, planar.Revolute("pin", GROUND, body, point=(0, 0)), driver, *more]


class TestWhatAnalysesStand:
    @pytest.mark.parametrize("ratio", [-1.99, -150 / 7, 97 / 13])
    def test_gears_keep_their_teeth_however_far_apart_times_are(self, ratio):
        wheel = PlanarBody("wheel", 1.0, 0.1, position=(2, 0))
        parts = swinging(wheel, planar.Revolute("axle", GROUND, wheel, point=(2, 0)))
        for motion in (Motion.constant_rate(1.0), Motion.sinusoid(1.0, 2.0)):
            parts = swinging(wheel, parts[-1], motion=motion)
            system = quirk.System([*parts, planar.GearPair("mesh", parts[0], wheel, ratio=ratio)])
            result = quirk.kinematics(system, 1.5 * np.arange(6))
            turned = ratio * np.array([motion(t) for t in result.time])
            np.testing.assert_allclose(np.exp(1j * (result["wheel"].in_plane.angle - turned)), 1, atol=1e-9)

    @pytest.mark.parametrize("stiffness", [0.0, 1e12])
    def test_loads_change_no_motion(self, stiffness):
        parts = swinging()
        spring = quirk.Spring("spring", GROUND, parts[0], [2, 2, 0], [0.5, 0, 0], stiffness=stiffness, rest_length=1.0)
        result = quirk.kinematics(quirk.System([*parts, spring]), np.linspace(0, 3, 7))
        center = -0.5 * np.column_stack([np.cos(result.time), np.sin(result.time)])
        np.testing.assert_allclose(result["bar"].in_plane.acceleration, center, atol=1e-14)

    def test_clocks_that_count_from_long_ago(self):
        """A dead point at 1e5 s: steps cannot be shorter than the digits of the time."""
        linkage = FourBar("planar", STEADY)
        late = Motion.polynomial([START - 1e5, 1.0])
        rocker = linkage.bodies["rocker"]
        driver = planar.AngleDriver("push", GROUND, rocker, late, offset=rocker.coordinates[2] - START)
        with pytest.raises(quirk.SimulationError, match="dead point"):
            quirk.kinematics(quirk.System([*linkage.undriven, driver]), 1e5 + np.arange(0, 5, 1e-3))

    def test_functions_that_fail_are_named(self):
        def phi(t, body):
            x = body.position[0]
            if x > 0.55:  # a comparison: not compiled
                raise ValueError("the rail ends here")
            return x - t

        body = PlanarBody("body", 1.0, 0.1)
        level = planar.CoordinateDriver("level", GROUND, body, Motion.constant_rate(0.0), coordinate="y")
        upright = planar.CoordinateDriver("upright", GROUND, body, Motion.constant_rate(0.0), coordinate="angle")
        system = quirk.System([body, level, upright, quirk.Implicit("rail", body, phi)])
        with pytest.raises(quirk.SimulationError, match="the rail ends here") as caught:
            quirk.kinematics(system, np.linspace(0, 1, 11))
        assert len(caught.value.result.time) == 6

    def test_interrupted_from_the_keyboard(self):
        def phi(t, body):
            if t > 0.55:
                raise KeyboardInterrupt
            return body.position[0] - t

        body = PlanarBody("body", 1.0, 0.1)
        still = [
            planar.CoordinateDriver(name, GROUND, body, Motion.constant_rate(0.0), coordinate=name)
            for name in ("y", "angle")
        ]
        system = quirk.System([body, *still, quirk.Implicit("rail", body, phi)])
        result = quirk.kinematics(system, np.linspace(0, 1, 11))
        assert result.status == "interrupted"
        np.testing.assert_allclose(result["body"].position[:, 0], result.time)
        assert len(result.time) == 6

    def test_starting_from_rest_with_drag(self):
        """A force whose jets are not defined at rest is differentiated by values."""
        parts = swinging(motion=Motion.polynomial([0.0, 0.0, 1.0]))
        drag = quirk.Force("drag", parts[0], lambda t, p, q, v, w: -0.1 * np.linalg.norm(v) * v)
        result = quirk.kinematics(quirk.System([*parts, drag]), [0.0, 0.1, 0.2])
        np.testing.assert_allclose(result["bar"].in_plane.angular_acceleration, 2.0)
        assert np.isfinite(result["motor"].torque_rate()).all()

    @pytest.mark.parametrize("seed", study(range(6), 2))
    @pytest.mark.parametrize("text", ["{b}*t+{a}*abs(t-{jump})", "{b}*t+2*{a}*max(0,t-{jump})-{a}*t"])
    def test_rates_that_jump_are_named_with_their_time(self, seed, text):
        rng = np.random.default_rng(seed)
        jump, a, b = rng.uniform(0.2, 0.8), rng.uniform(0.5, 2), rng.uniform(-2, 2)
        system = quirk.System(swinging(motion=text.format(a=a, b=b, jump=jump)))
        times = np.linspace(0, 1, rng.integers(5, 50))
        with pytest.raises(quirk.SimulationError, match=r'the rate of planar\.AngleDriver "motor" jumps') as caught:
            quirk.kinematics(system, times)
        before, after = re.search(r"from (\S+) to (\S+) rad/s", str(caught.value)).groups()
        np.testing.assert_allclose([float(before), float(after)], [b - a, b + a], rtol=1e-5, atol=1e-5)
        assert caught.value.time == pytest.approx(jump, abs=1e-8)
        # As the message advises.
        for part, rate in ((times[times < jump], b - a), (times[times > jump], b + a)):
            np.testing.assert_allclose(quirk.kinematics(system, part)["bar"].angular_velocity[:, 2], rate)

    def test_an_end_of_the_range_where_the_driver_is_at_rest_is_no_jump(self):
        """The crank is driven to and fro, with its rate zero just where coupler and rocker are in line."""
        bars = FourBar(
            "planar",
            Turning(Motion.sinusoid(FARTHEST + 1e-4 - np.pi / 3, 1.0), None),
            lengths=TOO_SHORT,
            start=np.pi / 3,
        )
        with pytest.raises(quirk.SimulationError, match=r"there is no position beyond|dead point") as caught:
            quirk.kinematics(bars.system, np.linspace(0, 2, 41))
        assert "jumps" not in str(caught.value)

    def test_times_too_close_together_to_judge_a_function_by(self):
        function = Motion.function(lambda t: math.sin(t - 5), lambda t: math.cos(t - 5), lambda t: -math.sin(t - 5))
        system = quirk.System(swinging(motion=function))
        assert len(quirk.kinematics(system, 5 + 1e-10 * np.arange(4)).time) == 4
        assert quirk.kinematics(system, [5.1])["bar"].in_plane.angular_acceleration == pytest.approx(-np.sin(0.1))

    def test_rounding_counts_no_rows(self):
        """Small pivots enlarge round-off: in this plane a dependent row once passed for independent."""
        plane = Plane(
            origin=(8.431520350525714, -22.953577785637954, 61.31353001581087),
            normal=(0.3344011530394108, -0.9423193700253802, 0.014493920135117388),
            x=(-0.9305340246377934, -0.3277048381383333, 0.16345020052639575),
        )
        linkage = FourBar("spatial", STEADY, plane=plane)
        linkage.check(quirk.kinematics(linkage.system, STEADY.times))


def test_gaps_and_events_that_kinematics_ignores_are_named():
    slide = quirk.Body.box("slide", 1.0, [0.2, 0.2, 0.2])
    rail = quirk.Prismatic("rail", quirk.GROUND, slide, axis="x")
    drive = quirk.Drive("drive", rail, quirk.Motion.sinusoid(0.5, 3.0))
    system = quirk.System([slide, rail, drive])
    parts = {
        'Stop "part"': quirk.Stop("part", rail, upper=0.3),
        'Rope "part"': quirk.Rope("part", quirk.GROUND, slide, length=0.3),
        'Contact "part"': quirk.Contact(
            "part", quirk.GROUND, slide, on_i=quirk.surface.plane([0.3, 0, 0], [-1, 0, 0]), on_j=quirk.surface.point()
        ),
    }
    for title, part in parts.items():
        message = f"the gap of {title} is negative from t = 0.22 s on, down to -0.2"
        with pytest.warns(quirk.IgnoredPartWarning, match=message):
            quirk.kinematics(system.with_parts(part), np.arange(0.0, 0.6, 0.02))
    with pytest.warns(quirk.IgnoredPartWarning, match='Event "end" does not act'):
        quirk.kinematics(system.with_parts(quirk.Event("end", "rail.travel", level=0.2, action="stop")), [0.0, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quirk.kinematics(system.with_parts(quirk.Stop("far", rail, upper=0.6)), [0.0, 0.5])
