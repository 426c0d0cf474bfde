"""Joint angles count turns: by the run, not by its output."""

import numba
import numpy as np
import pytest
from mechanisms import pendulum
from studies import study

import quirk
from quirk import GROUND, Body, Motion
from quirk.dynamics.model.revolution_counter import FARTHEST, by_cubic, by_rates, nearest_quadrant, on_one_side

RUNS = [{}, {"method": "RK4", "step": 2e-3}, {"method": "Radau"}, {"solver": "dense"}, {"method": "LSODA"}]
RUN_NAMES = ["compiled", "RK4", "Radau", "dense", "LSODA"]
STIFFNESS, INERTIA, SPEED = 0.08, 0.02, 60.0
FREQUENCY = np.sqrt(STIFFNESS / INERTIA)
INPUT = quirk.InputError


def wheel(rate=0.0):
    return Body("wheel", 1.0, [0.015, 0.015, INERTIA], angular_velocity=[0, 0, rate])


def on_axle(body, *more):
    axle = quirk.Revolute("axle", GROUND, body, point=[0, 0, 0], axis=[0, 0, 1])
    return quirk.System([body, axle, *(item(axle) for item in more)])


def wound(function=lambda t, angle, rate: -STIFFNESS * angle):
    """A wheel on a spiral spring that winds it up by 30 rad: theta = 30 sin(2 t)."""
    return on_axle(wheel(SPEED), lambda axle: quirk.JointTorque("spring", axle, function))


def angle_of_wound(t):
    return SPEED / FREQUENCY * np.sin(FREQUENCY * t)


class TestRotation:
    @pytest.mark.parametrize("options", [{"output": 2.0}, {"output": [20.0]}, {}], ids=["seldom", "once", "each step"])
    def test_a_pendulum_swings_whatever_the_output(self, options):
        system = pendulum()
        often = quirk.simulate(system, 20.0, output=0.01)["hinge"].rotation
        assert often[:, 2].min() > -1e-6
        assert often[:, 2].max() < np.pi
        result = quirk.simulate(system, 20.0, **options)
        np.testing.assert_allclose(result["hinge"].rotation[-1], often[-1], atol=1e-9)
        assert result["hinge"].rotation[:, 2].min() > -1e-6
        assert result["hinge"].rotation[:, 2].max() < np.pi

    @pytest.mark.parametrize("options", study(RUNS, 2), ids=RUN_NAMES)
    def test_there_and_back_over_many_turns(self, options):
        result = quirk.simulate(wound(), 1.9, output=0.38, **options)
        assert angle_of_wound(result.time).min() < -4 * np.pi < 8 * np.pi < angle_of_wound(result.time).max()
        np.testing.assert_allclose(result["axle"].rotation[:, 2], angle_of_wound(result.time), atol=1e-4)
        np.testing.assert_array_equal(result["axle"].rotation[:, :2], 0)

    @pytest.mark.parametrize("seed", study(range(3), 1))
    @pytest.mark.parametrize("solver", study(["sparse", "dense"], 1))
    def test_tumbling_past_right_angles(self, seed, solver):
        """1-2-3 angles jump by half a turn where the second passes a right one; seeds come as close as 0.03 rad."""
        random = np.random.default_rng(seed)
        moments = np.sort(random.uniform(0.5, 1.0, 3))
        body = Body("body", 1.0, moments, angular_velocity=3 * random.normal(size=3), orientation=random.normal(size=4))
        system = quirk.System([body, quirk.Free("pair", GROUND, body)])
        often = quirk.simulate(system, 20.0, output=0.002)["pair"].rotation
        assert np.abs(np.diff(often, axis=0)).max() < np.pi
        assert np.cos(often[:, 1]).min() < 0.1
        assert np.ptp(often[:, 0]) > 4 * np.pi
        seldom = quirk.simulate(system, 20.0, output=5.0, solver=solver, rtol=1e-8)["pair"].rotation
        np.testing.assert_allclose(seldom, often[::2500], atol=1e-5)

    def test_angles_give_the_relative_rotation(self):
        random = np.random.default_rng(7)
        a, b = (Body(c, 1.0, [1, 1.2, 1.4], angular_velocity=random.normal(size=3)) for c in "ab")
        frames = {f"frame_{c}": quirk.Frame(random.normal(size=3), random.normal(size=4)) for c in "ij"}
        result = quirk.simulate(quirk.System([a, b, quirk.Free("pair", a, b, **frames)]), 9.0, output=0.5)
        i, j = result["pair"].frames
        x, y, z = (turns(axis, result["pair"].rotation[:, axis]) for axis in range(3))
        np.testing.assert_allclose(np.swapaxes(i.axes, 1, 2) @ j.axes, x @ y @ z, atol=1e-12)

    def test_fast_rotors(self):
        system = on_axle(wheel(1e4))
        loose = quirk.simulate(system, 0.1, rtol=0.1, output=[0.1])["axle"].rotation[-1, 2]
        assert loose == pytest.approx(1000.0, abs=1.0)
        # Steps of more than three turns say nothing of the pose; the rates still count the turns.
        blind = quirk.simulate(system, 1.0, method="RK4", step=2e-3, output=0.25)["axle"]
        np.testing.assert_allclose(blind.rotation[:, 2], 1e4 * blind._result.time, atol=4 * np.pi)

    def test_planar_bodies(self):
        bar = quirk.planar.PlanarBody.bar("bar", [0, 0], [1, 0], 1.0, angular_velocity=7.0)
        result = quirk.simulate(quirk.System([bar]), 10.0, output=5.0)
        np.testing.assert_allclose(result["bar"].in_plane.angle, [0, 35, 70], atol=1e-9)

    @pytest.mark.slow
    def test_a_run_that_fails_has_counted(self):
        def torque(t, angle, rate):
            return np.nan if angle > 20 else 0.0

        system = on_axle(wheel(SPEED), lambda axle: quirk.JointTorque("fuse", axle, torque))
        for solver in ("sparse", "dense"):
            with pytest.raises(quirk.SimulationError) as caught:
                quirk.simulate(system, 1.0, output=[0.1, 0.9], solver=solver)
            result = caught.value.result
            np.testing.assert_allclose(result["axle"].rotation[:, 2], SPEED * result.time, atol=1e-8)
            assert result["axle"].rotation[-1, 2] == pytest.approx(20.0, abs=1e-3)

    @pytest.mark.parametrize("solver", ["sparse", "dense"])
    def test_a_run_that_is_interrupted_has_counted(self, solver):
        def torque(t, angle, rate):
            if angle > 20:
                raise KeyboardInterrupt
            return 0.0

        system = on_axle(wheel(SPEED), lambda axle: quirk.JointTorque("key", axle, torque))
        result = quirk.simulate(system, 1.0, output=[0.1, 0.9], solver=solver)
        assert result.status == "interrupted"
        np.testing.assert_allclose(result["axle"].rotation[:, 2], SPEED * result.time, atol=1e-8)
        assert 10 < result["axle"].rotation[-1, 2] <= 20 + 1e-9


def turns(axis, angle):
    """Rotations (nt, 3, 3) about an axis."""
    R = np.zeros((len(angle), 3, 3))
    a, b = (axis + 1) % 3, (axis + 2) % 3
    R[:, axis, axis], R[:, a, a], R[:, b, b] = 1, np.cos(angle), np.cos(angle)
    R[:, b, a], R[:, a, b] = np.sin(angle), -np.sin(angle)
    return R


class TestCross:
    @pytest.mark.parametrize("options", study([{"output": 2.5}, {}, {"solver": "dense", "output": 2.5}], 2))
    @pytest.mark.parametrize("lower", ["ground", "body"])
    def test_angles_of_a_universal_go_round(self, options, lower):
        a, b = Body("a", 1.0, [1, 1.2, 1.4]), Body("b", 1.0, [1, 1.3, 1.1])
        i = GROUND if lower == "ground" else a
        cross = quirk.Universal("cross", i, b, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[0, 1, 0])
        system = quirk.System([a, b, cross])
        system.assemble(rates={"cross": {"rotation x": 1.0, "rotation y": 3.0}})
        often = quirk.simulate(system, 10.0, output=0.001)
        rotation, rate = often["cross"].rotation, often["cross"].rotation_rate
        assert np.abs(np.diff(rotation, axis=0)).max() < 0.01
        assert rotation[-1, 1] > 8 * np.pi
        np.testing.assert_array_equal(rotation[:, 2], 0)
        np.testing.assert_allclose(rate[1:-1], (rotation[2:] - rotation[:-2]) / 0.002, atol=1e-5)
        frame_i, frame_j = often["cross"].frames
        want = turns(0, rotation[:, 0]) @ turns(1, rotation[:, 1])
        np.testing.assert_allclose(np.swapaxes(frame_i.axes, 1, 2) @ frame_j.axes, want, atol=1e-9)
        end = quirk.simulate(system, 10.0, **options)["cross"].rotation[-1]
        np.testing.assert_allclose(end, rotation[-1], atol=1e-9)

    def test_its_drivers_show_the_same(self):
        b = Body("b", 1.0, [1, 1.3, 1.1])
        cross = quirk.Universal("cross", GROUND, b, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[0, 1, 0])
        motions = Motion.constant_rate(3.0, start=2.0), Motion.constant_rate(-5.0, start=-20.0)
        drives = [quirk.Drive(f"{c}", cross, m, f"rotation {c}") for c, m in zip("xy", motions, strict=True)]
        system = quirk.System([b, cross, *drives])
        system.assemble()
        for result in (quirk.simulate(system, 4.0, output=2.0), quirk.kinematics(system, [0.0, 2.0, 4.0])):
            want = np.array([[m(t) for m in motions] + [0] for t in result.time])
            for name in ("cross", "x", "y"):
                np.testing.assert_allclose(result[name].rotation, want, atol=1e-9)

    @pytest.mark.parametrize("solver", ["sparse", "dense"])
    def test_a_generic_joint_that_turns_about_y(self, solver):
        b = Body("b", 1.0, [1, 1.3, 1.1])
        joint = quirk.Generic("joint", GROUND, b, point=[0, 0, 0], constrained=[1, 1, 1, 1, 0, 1])
        spring = quirk.JointTorque("spring", joint, lambda t, angle, rate: -0.5 * angle)
        system = quirk.System([b, joint, spring])
        system.assemble(rates={"joint": {"rotation": 12.0}})
        result = quirk.simulate(system, 1.0, output=0.25, solver=solver)
        assert result["joint"].rotation[-1, 1] > 2 * np.pi
        w = np.sqrt(0.5 / 1.3)
        np.testing.assert_allclose(result["joint"].rotation[:, 1], 12 / w * np.sin(w * result.time), atol=1e-8)
        np.testing.assert_array_equal(result["joint"].rotation[:, 2], 0)


class TestFunctions:
    """A function of a joint's angle sees what `rotation` shows: within runs, and after them."""

    @pytest.mark.parametrize("compiled", [False, True], ids=["Python", "numba"])
    @pytest.mark.parametrize("options", study(RUNS, 2), ids=RUN_NAMES)
    def test_loads_after_a_run(self, options, compiled):
        def spring(t, angle, rate):
            return -0.08 * angle

        # To both ends; whatever errors the run makes, the loads belong to the angles.
        loose = options if "step" in options else {"rtol": 1e-6, **options}
        result = quirk.simulate(wound(numba.njit(spring) if compiled else spring), 0.8, output=0.2, **loose)
        angle, rate = result["axle"].rotation[:, 2], result["axle"].rotation_rate[:, 2]
        assert np.abs(angle).max() > 8 * np.pi
        np.testing.assert_allclose(result["wheel"].angular_acceleration[:, 2], -(FREQUENCY**2) * angle, atol=1e-9)
        np.testing.assert_allclose(result["wheel"].angular_jerk[:, 2], -(FREQUENCY**2) * rate, atol=1e-8)
        assert np.abs(result.health().power_balance).max() < 1e-9

    def test_loads_of_a_joint_that_the_torque_passes_on(self):
        """The torque on the wheel is carried by what holds the other end of the axle."""
        base, body = Body("base", 1.0, [1, 1, 1]), wheel(SPEED)
        weld = quirk.Fixed("weld", GROUND, base)
        axle = quirk.Revolute("axle", base, body, point=[0, 0, 0], axis=[0, 0, 1])
        spring = quirk.JointTorque("spring", axle, lambda t, angle, rate: -STIFFNESS * angle)
        result = quirk.simulate(quirk.System([base, body, weld, axle, spring]), 7.0, output=0.7)
        angle, rate = result["axle"].rotation[:, 2], result["axle"].rotation_rate[:, 2]
        assert np.abs(angle).max() > 8 * np.pi
        np.testing.assert_allclose(result["weld"].torque()[:, 2], -STIFFNESS * angle, atol=1e-9)
        np.testing.assert_allclose(result["weld"].torque_rate()[:, 2], -STIFFNESS * rate, atol=1e-9)

    @pytest.mark.parametrize("solver", ["sparse", "dense"])
    def test_of_one_state(self, solver):
        system = wound()
        state = system.initial_state()
        assert system.acceleration(state, solver=solver).angular[0, 2] == pytest.approx(0.0, abs=1e-12)
        state.angles = {"axle": [0, 0, 6.3], "no such joint": [1, 2, 3]}
        want = -(FREQUENCY**2) * 2 * np.pi
        assert system.acceleration(state, solver=solver).angular[0, 2] == pytest.approx(want)
        assert system.derivatives(state, solver=solver).angular[0, 0, 2] == pytest.approx(want)
        ended = quirk.simulate(system, 3.5, output=[3.5])
        want = -(FREQUENCY**2) * ended["axle"].rotation[-1, 2]
        assert system.acceleration(ended.state_at(), solver=solver).angular[0, 2] == pytest.approx(want)

    @pytest.mark.parametrize("options", study([RUNS[0], *RUNS[2:4]], 1), ids=[RUN_NAMES[0], *RUN_NAMES[2:4]])
    def test_a_run_goes_on(self, options):
        system = wound()
        first = quirk.simulate(system, 0.12, output=0.06, **options)
        second = quirk.simulate(system, 0.12, output=0.06, initial_state=first.state_at(), start=0.12, **options)
        assert first["axle"].rotation[-1, 2] > 2 * np.pi
        np.testing.assert_allclose(second["axle"].rotation[:, 2], angle_of_wound(second.time), atol=1e-7)

    def test_without_its_angles_a_state_is_within_half_a_turn(self):
        end = quirk.simulate(wound(), 3.5, output=[3.5]).state_at()
        bare = quirk.State(end.position, end.orientation, end.velocity, end.angular_velocity)
        result = quirk.simulate(wound(), 0.1, initial_state=bare)
        assert abs(result["axle"].rotation[0, 2]) <= np.pi

    def test_from_the_angles_that_were_asked_for(self):
        system = wound()
        state = system.assemble(coordinates={"axle": 5.0}, rates={"axle": 0.0})
        assert state.angles["axle"][2] == pytest.approx(5.0)
        result = quirk.simulate(system, np.pi / FREQUENCY, output=0.1)
        np.testing.assert_allclose(result["axle"].rotation[:, 2], 5.0 * np.cos(FREQUENCY * result.time), atol=1e-8)

    @pytest.mark.parametrize("solver", ["sparse", "dense"])
    def test_stages_of_a_step_go_on_from_where_it_starts(self, solver):
        """Seen angles of a wheel that turns at a constant rate are those of the times at which they are seen."""
        seen = []

        def watch(t, angle, rate):
            seen.append(angle - SPEED * t)
            return 0.0

        system = on_axle(wheel(SPEED), lambda axle: quirk.JointTorque("watch", axle, watch))
        quirk.simulate(system, 2.0, output=2.0, rtol=1e-4, solver=solver)
        assert np.abs(seen).max() < 1.0


class TestDrivers:
    TIMES = np.linspace(0, 2, 12)
    MOTION = Motion.spline(TIMES, 300 * TIMES**2 + 40)

    def system(self, *more):
        system = on_axle(wheel(), lambda axle: quirk.Drive("drive", axle, self.MOTION), *more)
        system.assemble()
        return system

    @pytest.mark.parametrize(
        ("duration", "options"),
        [
            (2.0, {"output": 0.5}),
            (2.0, {"output": [2.0]}),
            (2.0, {}),
            (0.15, {"solver": "dense", "method": "RK4", "step": 5e-3, "output": 0.05}),
        ],
    )
    def test_runs_show_the_motion(self, duration, options):
        result = quirk.simulate(self.system(), duration, **options)
        want = [self.MOTION(t) for t in result.time]
        for name in ("axle", "drive"):
            np.testing.assert_allclose(result[name].rotation[:, 2], want, atol=1e-8)

    def test_torques_see_the_motion(self):
        system = self.system(lambda axle: quirk.JointTorque("spring", axle, lambda t, angle, rate: 0.1 * angle))
        for result in (quirk.simulate(system, 2.0, output=0.5), quirk.kinematics(system, [0, 0.7, 2.0])):
            want = [INERTIA * 600 - 0.1 * self.MOTION(t) for t in result.time]
            np.testing.assert_allclose(result["drive"].torque()[:, 2], want, atol=1e-6)

    @pytest.mark.parametrize(
        "motion", [MOTION, Motion.constant_rate(1e4), Motion.polynomial([5, 0, 0, 1e4]), Motion.sinusoid(500.0, 3.0)],
        ids=["spline", "steady", "cubic", "to and fro"],
    )  # fmt: skip
    def test_kinematics_takes_steps_of_many_turns(self, motion):
        """Another wheel is driven through gears, and its turns are counted as well."""
        one, two = wheel(), Body("two", 1.0, [1, 1, 1], position=[1, 0, 0])
        axles = [
            quirk.Revolute(f"axle {k}", GROUND, body, point=body.position, axis=[0, 0, 1])
            for k, body in enumerate((one, two))
        ]
        gear = quirk.Gear("gear", one, two, ratio=-3, axis=[0, 0, 1])
        system = quirk.System([one, two, *axles, gear, quirk.Drive("drive", axles[0], motion)])
        result = quirk.kinematics(system, [0, 0.1, 1.0, 2.0])
        want = np.array([motion(t) for t in result.time])
        np.testing.assert_allclose(result["axle 0"].rotation[:, 2], want, atol=1e-6)
        turned = result["axle 1"].rotation[:, 2]
        np.testing.assert_allclose(turned - turned[0], -3 * (want - want[0]), atol=1e-5)

    def test_a_planar_driver(self):
        bar = quirk.planar.PlanarBody.bar("bar", [0, 0], [1, 0], 1.0)
        pivot = quirk.planar.Revolute("pivot", GROUND, bar, point=[0, 0])
        driver = quirk.planar.AngleDriver("driver", GROUND, bar, Motion.constant_rate(30.0, start=9.0))
        system = quirk.System([bar, pivot, driver])
        system.assemble()
        result = quirk.simulate(system, 2.0, output=1.0)
        np.testing.assert_allclose(result["driver"].rotation[:, 2], [9, 39, 69], atol=1e-8)


class TestCounting:
    """The parts, in plain Python."""

    @pytest.mark.parametrize("q", [-7, -2, 0, 1, 6])
    def test_quadrants(self, q):
        for ahead, sense in ((-1, 0.0), (0, 0.0), (1, 0.0), (2, 1.0), (-2, -1.0)):
            angle = (q + ahead + 0.5) * np.pi / 2
            assert nearest_quadrant(q, np.cos(angle), np.sin(angle), sense) == q + ahead

    @pytest.mark.parametrize("rate", [-0.45 * FARTHEST, 0.1, 0.45 * FARTHEST])
    def test_half_angles_of_a_step(self, rate):
        for begin in np.linspace(-6, 6, 41):
            u, u_new = ((np.cos(x), np.sin(x), np.cos(-x), np.sin(-x)) for x in (begin, begin + rate))
            v, v_new = ((-rate * y, rate * x, -rate * -z, -rate * w) for x, y, w, z in (u, u_new))
            q, want = (int(np.floor(x / (np.pi / 2))) for x in (begin, begin + rate))
            assert by_cubic(q, 0, u, v, u_new, v_new, 1.0) == want
            assert by_rates(q, 0, u, v, u_new, v_new, 1.0) == pytest.approx(begin + rate)

    def test_a_curve_goes_round_the_side_on_which_it_passes(self):
        for offset, turned in ((1e-3, -2), (-1e-3, 2)):
            u, u_new = (-1.0, offset, 1.0, 0.0), (1.0, offset, 1.0, 0.0)
            v = (2.0, 0.0, 0.0, 0.0)
            q = nearest_quadrant(0, *u[:2], 1.0)
            begin = by_cubic(q, 0, u, v, u_new, v, 1.0)
            assert begin - q == (-1 if turned < 0 else 1)

    def test_a_curve_on_one_side_is_counted_from_its_ends(self):
        rng, short = np.random.default_rng(4), 0
        for case in range(400):
            u, u_new = rng.normal(size=2), rng.normal(size=2)
            v, v_new = rng.normal(size=2) * 3 * rng.random(), rng.normal(size=2) * 3 * rng.random()
            short += on_one_side(*u, *v, *u_new, *v_new)
            s = np.linspace(0, 1, 4001)[:, None]
            curve = u * (1 - s) ** 2 * (1 + 2 * s) + u_new * s**2 * (3 - 2 * s)
            curve += v * s * (1 - s) ** 2 - v_new * s**2 * (1 - s)
            if np.linalg.norm(curve, axis=1).min() < 0.05:
                continue  # so short that points of the cubic may pass the origin on its other side
            angle = np.unwrap(np.arctan2(curve[:, 1], curve[:, 0]))
            start, end = (int(np.floor(x / (np.pi / 2))) for x in angle[[0, -1]])
            found = by_cubic(start, 0, (*u, 0, 0), (*v, 0, 0), (*u_new, 0, 0), (*v_new, 0, 0), 1.0)
            assert found == end, f"case {case}"
        assert 50 < short < 350


class TestStates:
    def test_a_state_carries_angles(self):
        state = quirk.simulate(wound(), 1.0).state_at()
        np.testing.assert_allclose(state.angles["axle"], [0, 0, angle_of_wound(1.0)], atol=1e-7)
        state.copy().angles["axle"][2] = 0.0
        assert state.angles["axle"][2] > 2 * np.pi
        assert [len(part) for part in state.parts] == [1] * 4

    @pytest.mark.parametrize(
        ("angles", "message"),
        [
            ({"axle": 3.0}, r"State: angles\['axle'\] must have shape \(3,\)"),
            ({"axle": [0, 0, np.nan]}, r"State: angles\['axle'\] must be finite"),
            ([1, 2, 3], "angles a dict of such"),
        ],
    )
    def test_angles_are_checked(self, angles, message):
        state = wound().initial_state()
        state.angles = angles
        with pytest.raises(INPUT, match=message):
            quirk.simulate(wound(), 1.0, initial_state=state)
