"""What single joints do: turns, ratios, drivers, loads, and the formulas of the source documents."""

import numpy as np
import pytest
from mechanisms import level_rod, point_of, random_body, random_unit
from scipy.integrate import solve_ivp
from studies import study

import quirk
from quirk import GROUND, Body, Motion, rotation

G = [0, 0, -9.81]


def shaft(name, position=(0, 0, 0), **initial):
    return Body(name, 2.0, [0.02, 0.02, 0.03], position=position, **initial)


class TestGears:
    def test_ratio_holds_for_angles_over_many_turns_and_after_a_restart(self):
        one, two = shaft("one", angular_velocity=[0, 0, 200.0]), shaft("two", (0.3, 0, 0))
        axles = (
            quirk.Revolute(f"axle {body.name}", GROUND, body, point=body.position, axis=[0, 0, 1])
            for body in (one, two)
        )
        items = [one, two, *axles]
        gear = quirk.Gear("mesh", one, two, ratio=-17 / 43, axis=[0, 0, 1])
        system = quirk.System([*items, gear, quirk.Torque("load", two, [0, 0, -0.5])])
        system.assemble()
        first = quirk.simulate(system, 1.5, output=0.01)
        again = quirk.simulate(system, 1.0, output=0.01, initial_state=first.state_at(), start=first.time[-1])
        for result in (first, again):
            turned = [result[f"axle {name}"].rotation[:, 2] for name in ("one", "two")]
            turned = [angle - angle[0] for angle in turned]
            assert abs(turned[0][-1]) > 100
            np.testing.assert_allclose(turned[1], -17 / 43 * turned[0], atol=1e-10)
            assert result.residual.position.max() < 1e-12
        tooth = first["mesh"].torque()[:, 2]
        one_feels = [system.constraint_forces(first.state_at(k)).torque[0, 2] for k in (0, 50)]
        np.testing.assert_allclose(one_feels, 17 / 43 * tooth[[0, 50]], rtol=1e-9)

    def test_planet_on_a_rotating_arm_around_a_fixed_sun(self):
        """Willis: the planet turns (1 + z_sun / z_planet) times as fast as the arm; in a ring, the other way."""
        for ratio in (-40 / 16, 72 / 16):
            arm, planet = shaft("arm", (0.1, 0, 0)), shaft("planet", (0.2, 0, 0))
            axle = quirk.Revolute("axle", GROUND, arm, point=[0, 0, 0], axis=[0, 0, 1])
            pin = quirk.Revolute("pin", arm, planet, point=[0.2, 0, 0], axis=[0, 0, 1])
            mesh = quirk.Gear("mesh", GROUND, planet, ratio=ratio, axis=[0, 0, 1], carrier=arm)
            motor = quirk.Drive("motor", axle, Motion.polynomial([0, 3.0, 2.0]))
            system = quirk.System([arm, planet, axle, pin, mesh, motor], gravity=[0, -9.81, 0])
            system.assemble()
            result = quirk.simulate(system, 3.0, output=0.1)
            turned = 3.0 * result.time + 2.0 * result.time**2
            np.testing.assert_allclose(result["axle"].rotation[:, 2], turned, atol=1e-9)
            np.testing.assert_allclose(result["pin"].rotation[:, 2], -ratio * turned, atol=1e-8)
            np.testing.assert_allclose(result["planet"].angular_velocity[:, 2], (1 - ratio) * (3 + 4 * result.time))

    def test_a_ratio_without_teeth_holds_for_rates(self):
        one, two = shaft("one", angular_velocity=[0, 0, 20.0]), shaft("two", (0.3, 0, 0))
        items = [
            quirk.Revolute(f"axle {body.name}", GROUND, body, point=body.position, axis=[0, 0, 1])
            for body in (one, two)
        ]
        system = quirk.System([one, two, *items, quirk.Gear("mesh", one, two, ratio=-np.sqrt(0.5), axis=[0, 0, 1])])
        system.assemble()
        result = quirk.simulate(system, 5.0, rtol=1e-12, output=0.1)
        one, two = (result[f"axle {name}"].rotation[:, 2] for name in ("one", "two"))
        np.testing.assert_allclose(two, -np.sqrt(0.5) * one, atol=1e-9)


def test_constant_velocity_joint_turns_both_shafts_alike_where_a_cross_does_not():
    bend = 0.6
    z_j = np.array([np.sin(bend), 0, np.cos(bend)])
    R = rotation.matrix(np.array([np.cos(bend / 2), 0, np.sin(bend / 2), 0]))
    swings = {}
    for kind in ("constant velocity", "cross"):
        one = shaft("one", (0, 0, -0.2))
        two = Body("two", 2.0, [0.02, 0.02, 0.03], position=0.2 * z_j, orientation=rotation.from_matrix(R))
        items = [
            quirk.Revolute("in", GROUND, one, point=[0, 0, -0.4], axis=[0, 0, 1]),
            quirk.Revolute("out", GROUND, two, point=0.4 * z_j, axis=z_j),
        ]
        if kind == "cross":
            items.append(quirk.Universal("joint", one, two, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[0, 1, 0]))
        else:
            items.append(quirk.ConstantVelocity("joint", one, two, point=[0, 0, 0], axis_i=[0, 0, 1], axis_j=z_j))
        motor = quirk.Drive("motor", items[0], Motion.constant_rate(5.0))
        system = quirk.System([one, two, *items, motor])
        system.assemble(rates={"in": 5.0})
        result = quirk.simulate(system, 2.0, output=0.02)
        swings[kind] = result["out"].angular_velocity[:, 2]
    np.testing.assert_allclose(swings["constant velocity"], 5.0, atol=1e-9)
    # A cross: between omega cos(bend) and omega / cos(bend).
    assert swings["cross"].min() == pytest.approx(5 * np.cos(bend), rel=1e-3)
    assert swings["cross"].max() == pytest.approx(5 / np.cos(bend), rel=1e-3)


@pytest.mark.parametrize("method", study(["Vern9", "DOP853", "Taylor", "RadauIIA9"], 2))
def test_constant_velocity_joint_may_be_folded_and_bent_further(method):
    """A pendulum thrown over the top and on; of the quaternion (w, x, y, z) of a joint without twist z is zero."""
    inertia, arm, spin = np.diag([0.1, 0.2, 0.25]), np.array([0.05, 0.02, 0.5]), np.array([9.0, -7.0, 0.0])
    body = Body("body", 1.0, inertia, position=arm, angular_velocity=spin, velocity=np.cross(spin, arm))
    joint = quirk.ConstantVelocity("joint", GROUND, body, point=[0, 0, 0], axis_i=[0, 0, 1], axis_j=[0, 0, 1])
    system = quirk.System([body, joint], gravity=G)
    result = quirk.simulate(system, 2.0, method=method, rtol=1e-12, atol=1e-14, output=[0.5, 1.0, 2.0])

    about = inertia + (arm @ arm) * np.eye(3) - np.outer(arm, arm)

    def rates(t, state):
        (w, x, y, _), omega = state[:4], state[4:]
        turning = rotation.multiply(state[:4], np.array([0.0, *omega])) / 2
        row, row_rate = np.array([-y, x, w]), np.array([-turning[2], turning[1], turning[0]])
        moment = np.cross(arm, rotation.matrix(state[:4]).T @ G) - np.cross(omega, about @ omega)
        free, along = np.linalg.solve(about, moment), np.linalg.solve(about, row)
        return np.array([*turning, *(free - along * (row @ free + row_rate @ omega) / (row @ along))])

    exact = solve_ivp(
        rates, (0, 2.0), [1, 0, 0, 0, *spin], method="DOP853", rtol=1e-12, atol=1e-13, t_eval=[0.5, 1.0, 2.0]
    )
    assert exact.y[0].min() < 0 < exact.y[0].max()
    found = np.stack([rotation.matrix(q) for q in result["body"].orientation])
    np.testing.assert_allclose(found, [rotation.matrix(q) for q in exact.y[:4].T], atol=1e-8)
    np.testing.assert_allclose(result["body"].angular_velocity, exact.y[4:].T, atol=1e-7)
    assert result.energy.drift < 1e-9


def test_knife_edge_on_an_incline():
    """A skate on a slope that spins: x = g sin(a) sin^2(w t) / (2 w^2), a cycloid (Neimark and Fufaev)."""
    slope, w = 0.3, 2.0
    skate = Body("skate", 3.0, [0.1, 0.1, 0.2], angular_velocity=[0, 0, w])
    plane = quirk.Planar("ice", GROUND, skate, point=[0, 0, 0], normal=[0, 0, 1])
    edge = quirk.KnifeEdge("edge", GROUND, skate, axis=[0, 1, 0])
    g = 9.81
    system = quirk.System([skate, plane, edge], gravity=[g * np.sin(slope), 0, -g * np.cos(slope)])
    result = quirk.simulate(system, 3.0, rtol=1e-11, output=0.1)
    k, t = g * np.sin(slope) / (2 * w**2), result.time
    np.testing.assert_allclose(result["skate"].position[:, 0], k * np.sin(w * t) ** 2, atol=1e-9)
    np.testing.assert_allclose(result["skate"].position[:, 1], k * (w * t - 0.5 * np.sin(2 * w * t)), atol=1e-9)
    assert result.energy.drift < 1e-10


def test_rolling_disk_in_any_frame():
    """The plane tilted and on a body that moves: the same motion relative to it, for a plane that does not turn."""
    rng = np.random.default_rng(3)
    normal = random_unit(rng)
    start = {"position": [0, 0, 0.5], "orientation": [1, 1, 0, 0], "angular_velocity": [0.1, 0.3, 4.0]}
    disk = Body.cylinder("disk", 2.0, 0.5, 0.001, "z", **start)
    axis = rotation.matrix(disk.orientation)[:, 2]
    velocity = np.cross(rotation.matrix(disk.orientation) @ disk.angular_velocity, [0, 0, 0.5])
    disk = Body.cylinder("disk", 2.0, 0.5, 0.001, "z", **start, velocity=velocity)
    plain = quirk.System([disk, quirk.RollingDisk("roll", GROUND, disk, radius=0.5)], gravity=G)
    result = quirk.simulate(plain, 1.5, rtol=1e-11, output=0.1)
    height = np.abs(np.cross([0, 0, 1], rotation.matrix(result["disk"].orientation)[..., 2]))
    np.testing.assert_allclose(result["disk"].position[:, 2], 0.5 * np.linalg.norm(height, axis=1), atol=1e-12)
    assert result.energy.drift < 1e-10
    # The whole scene turned.
    turn = rotation.from_matrix(quirk.bodies.frame.axes_with_z(normal))
    Q = rotation.matrix(turn)
    moved = Body.cylinder("disk", 2.0, 0.5, 0.001, "z", position=Q @ disk.position, velocity=Q @ velocity,
                          orientation=rotation.multiply(turn, disk.orientation),
                          angular_velocity=disk.angular_velocity)  # fmt: skip
    roll = quirk.RollingDisk("roll", GROUND, moved, radius=0.5, plane_normal=normal)
    other = quirk.simulate(quirk.System([moved, roll], gravity=Q @ G), 1.5, rtol=1e-11, output=0.1)
    np.testing.assert_allclose(other["disk"].position, result["disk"].position @ Q.T, atol=1e-8)
    assert np.isfinite(axis).all()


class TestDrivers:
    def test_what_a_motor_gives_is_what_the_power_balance_asks(self):
        rod, hinge = level_rod()
        motor = quirk.Drive("motor", hinge, Motion.sinusoid(2.0, 3.0))
        system = quirk.System([rod, hinge, motor], gravity=G)
        system.assemble()
        result = quirk.simulate(system, 2.0, rtol=1e-10, output=0.05)
        torque, rate = result["motor"].torque("joint i")[:, 2], result["hinge"].angular_velocity[:, 2]
        health = result.health()
        np.testing.assert_allclose(health.power, torque * rate, atol=1e-9)
        assert np.abs(health.power_balance).max() < 1e-9
        np.testing.assert_allclose(result["hinge"].torque("joint i")[:, 2], 0, atol=1e-10)

    def test_any_coordinate(self):
        """A ball joint driven about x, a slider, a strut and a point on a path, all at once."""
        rng = np.random.default_rng(5)
        a, b, c, d = (random_body(rng, name) for name in "abcd")
        a = Body("a", 1.0, [0.1, 0.2, 0.2])  # at rest: tilting about x must not reach the pole of the angles
        ball = quirk.Spherical("ball", GROUND, a, point=[0, 0, 0])
        sleeve = quirk.Cylindrical("sleeve", GROUND, b, point=[1, 0, 0], axis=[0, 1, 1])
        strut = Motion.polynomial([np.linalg.norm(c.position), 0.3])
        path = [Motion.polynomial([x, 0.1, 0.2]) for x in d.position]
        system = quirk.System([
            a, b, c, d, ball, sleeve,
            quirk.Drive("tilt", ball, Motion.sinusoid(0.3, 2.0), "rotation x"),
            quirk.Drive("slide", sleeve, Motion.sinusoid(0.2, 3.0), "translation"),
            quirk.Drive("spin", sleeve, Motion.constant_rate(4.0), "rotation"),
            quirk.DistanceDrive("strut", GROUND, c, strut),
            quirk.TrajectoryDrive("path", GROUND, d, *path),
        ])  # fmt: skip
        system.assemble()
        result = quirk.simulate(system, 2.0, rtol=1e-9, output=0.1)
        t = result.time
        np.testing.assert_allclose(result["ball"].rotation[:, 0], 0.3 * np.sin(2 * t), atol=1e-11)
        np.testing.assert_allclose(result["sleeve"].displacement[:, 2], 0.2 * np.sin(3 * t), atol=1e-11)
        np.testing.assert_allclose(result["sleeve"].rotation[:, 2], 4 * t, atol=1e-11)
        np.testing.assert_allclose(np.linalg.norm(result["c"].position, axis=1), strut.coefficients[0] @ [t * 0 + 1, t],
                                   atol=1e-11)  # fmt: skip
        np.testing.assert_allclose(
            result["d"].position, d.position + 0.1 * t[:, None] + 0.2 * t[:, None] ** 2, atol=1e-11
        )

    def test_drivers_that_contradict_each_other_end_the_run(self):
        body = Body.box("body", 1.0, [1, 1, 1])
        slide = quirk.Prismatic("slide", GROUND, body, axis=[1, 0, 0])
        one = quirk.Drive("one", slide, Motion.polynomial([0, 0, 0, 1.0]))
        two = quirk.Drive("two", slide, Motion.polynomial([0, 0, 0, -3.0]))
        with pytest.raises(quirk.SimulationError, match=r'Drive "(one|two)" is violated by') as caught:
            quirk.simulate(quirk.System([body, slide, one, two]), 1.0)
        assert caught.value.result.status == "completed"

    def test_a_cross_turns_on_beyond_right_angles(self):
        rod = shaft("rod")
        cross = quirk.Universal("cross", GROUND, rod, point=[0, 0, 0], axis_i=[0, 0, 1], axis_j=[0, 1, 0])
        motions = [Motion.constant_rate(5.0), Motion.sinusoid(2.0, 7.0)]
        drives = [quirk.Drive(f"about {c}", cross, m, f"rotation {c}") for c, m in zip("xy", motions, strict=True)]
        system = quirk.System([rod, cross, *drives])
        system.assemble()
        result = quirk.simulate(system, 1.0, output=0.05)
        R = rotation.matrix(result["rod"].orientation) @ cross.frame_j.matrix
        R = cross.frame_i.matrix.T @ R
        angle = np.unwrap(np.arctan2(R[:, 0, 2], R[:, 0, 0]))
        np.testing.assert_allclose(angle, 2.0 * np.sin(7 * result.time), atol=1e-11)

    def test_a_start_against_the_motion_is_refused_and_assembled(self):
        rod, hinge = level_rod()
        motor = quirk.Drive("motor", hinge, Motion.constant_rate(2.0, start=0.5))
        system = quirk.System([rod, hinge, motor])
        with pytest.raises(
            quirk.InconsistentStateError, match=r'Drive "motor": the initial poses violate it by 0\.5 rad'
        ):
            quirk.simulate(system, 1.0)
        state = system.assemble()
        np.testing.assert_allclose(state.angular_velocity[0], [0, 2, 0], atol=1e-12)
        assert quirk.simulate(system, 1.0)["hinge"].rotation[-1, 2] == pytest.approx(2.5)


class TestLoadFormulas:
    """Moments of hinges and universal joints resolved in both bodies: the notes on inter-body joints, eqs. 44-75."""

    def loads(self, flags, seed):
        rng = np.random.default_rng(seed)
        lower, upper = random_body(rng, "J"), random_body(rng, "K")
        point = rng.normal(size=3)
        frames = [
            quirk.Frame(rotation.matrix(b.orientation).T @ (point - b.position), rotation.conjugate(b.orientation))
            for b in (lower, upper)
        ]
        constrained = [1, 1, 1, *flags]
        joint = quirk.Generic("joint", lower, upper, frame_i=frames[0], frame_j=frames[1], constrained=constrained)
        system = quirk.System([lower, upper, joint], gravity=G)
        system.assemble()
        free = {"xyz"[k]: rng.uniform(-1, 1) for k in range(3) if not flags[k]}
        system.assemble(coordinates={"joint": {f"rotation {axis}": angle for axis, angle in free.items()}})
        result = quirk.simulate(system, 0.01, output=0.01)
        angles = result["joint"].rotation[0]
        np.testing.assert_allclose(angles, [free.get(axis, 0.0) for axis in "xyz"], atol=1e-9)
        return angles, result["joint"].torque("joint i")[0], result["joint"].torque("joint j")[0]

    @pytest.mark.parametrize("seed", range(3))
    def test_universal_joints(self, seed):
        (_, t2, t3), J, K = self.loads([1, 0, 0], seed)
        moment = J[0]
        np.testing.assert_allclose(J, [moment, 0, -np.tan(t2) * moment], atol=1e-9)  # eq. 45
        np.testing.assert_allclose(K, np.array([np.cos(t3), -np.sin(t3), 0]) / np.cos(t2) * moment, atol=1e-9)  # 48, 52
        (t1, _, t3), J, K = self.loads([0, 1, 0], seed)
        moment = J[1:] @ [np.cos(t1), np.sin(t1)]
        np.testing.assert_allclose(J, [0, np.cos(t1) * moment, np.sin(t1) * moment], atol=1e-9)  # eq. 54
        np.testing.assert_allclose(K, [np.sin(t3) * moment, np.cos(t3) * moment, 0], atol=1e-9)  # eq. 55
        (t1, t2, _), J, K = self.loads([0, 0, 1], seed)
        moment = K[2]
        np.testing.assert_allclose(J, np.array([0, -np.sin(t1), np.cos(t1)]) / np.cos(t2) * moment, atol=1e-9)
        np.testing.assert_allclose(K, [-np.tan(t2) * moment, 0, moment], atol=1e-9)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("axis", range(3))
    def test_hinges(self, axis, seed):
        """About the free axis there is no moment in either frame; the others are turned by the angle (64-75)."""
        flags = [int(k != axis) for k in range(3)]
        angles, J, K = self.loads(flags, seed)
        assert abs(J[axis]) < 1e-9
        assert abs(K[axis]) < 1e-9
        a, b = (axis + 1) % 3, (axis + 2) % 3
        cosine, sine = np.cos(angles[axis]), np.sin(angles[axis])
        np.testing.assert_allclose(K[[a, b]], [cosine * J[a] + sine * J[b], -sine * J[a] + cosine * J[b]], atol=1e-9)


class TestGeneric:
    @pytest.mark.parametrize(
        ("kind", "flags"),
        [
            (quirk.Spherical, [1, 1, 1, 0, 0, 0]),
            (quirk.Revolute, [1, 1, 1, 1, 1, 0]),
            (quirk.Cylindrical, [1, 1, 0, 1, 1, 0]),
            (quirk.Prismatic, [1, 1, 0, 1, 1, 1]),
            (quirk.Planar, [0, 0, 1, 1, 1, 0]),
            (quirk.Fixed, [1, 1, 1, 1, 1, 1]),
            (quirk.PointOnPlane, [0, 0, 1, 0, 0, 0]),
        ],
    )
    def test_is_the_named_joints(self, kind, flags):
        rng = np.random.default_rng(1)
        a, b = random_body(rng, "a"), random_body(rng, "b")
        frames = [quirk.Frame(rng.normal(size=3), rng.normal(size=4)) for _ in range(2)]
        frames[1] = self.matching(frames[0], a, b)
        other = quirk.Generic("joint", a, b, frame_i=frames[0], frame_j=frames[1], constrained=flags)
        one = kind("joint", a, b, frame_i=frames[0], frame_j=frames[1])
        results = [quirk.System([a, b, joint], gravity=G) for joint in (one, other)]
        states = [system.assemble() for system in results]
        loads = [system.joint_loads(state)["joint"] for system, state in zip(results, states, strict=True)]
        np.testing.assert_allclose(states[0].velocity, states[1].velocity, atol=1e-10)
        np.testing.assert_allclose(loads[0].force, loads[1].force, atol=1e-9)
        np.testing.assert_allclose(loads[0].torque, loads[1].torque, atol=1e-9)

    @staticmethod
    def matching(frame, a, b):
        """The frame of b that lies where `frame` of a does."""
        axes = rotation.matrix(a.orientation) @ frame.matrix
        R = rotation.matrix(b.orientation)
        return quirk.Frame(R.T @ (point_of(a, frame.origin) - b.position), rotation.from_matrix(R.T @ axes))

    def test_alternative_rows_do_not_hold_when_turned_over(self):
        rod = Body.box("rod", 1.0, [1, 0.1, 0.2])
        flipped = quirk.State(np.zeros((1, 3)), np.array([[1e-3, 0, 1.0, 0]]), np.zeros((1, 3)), np.zeros((1, 3)))
        for alternative in (False, True):
            system = quirk.System([rod, quirk.Generic("weld", GROUND, rod, alternative=alternative)])
            largest = np.abs(system.constraint_rows(flipped).phi).max()
            assert (largest > 0.1) == alternative

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"constrained": [1, 1]}, "constrained must be six flags"),
            ({"constrained": 3}, "constrained must be six flags"),
            ({"offset": 3.0}, "offset must have six entries"),
            ({"offset": [None] * 6}, "numbers or Motions"),
            ({"offset": ["a"] * 6}, "offset: expression .a., column 1: there is no variable"),
            ({"constrained": [2, 0, 0, 0, 0, 0]}, "constrained must be six flags"),
            ({"offset": [1, 2]}, "offset must have six entries"),
            ({"offset": lambda t, p: [t]}, "must have six entries; got 1"),
            ({"offset": lambda t, p: 1 / 0}, "its offset function, called as offset"),
            ({"constrained": [1, 1, 1, 1, 1, 0], "alternative": True}, "alternative rows are for three"),
            ({"drawing": "red"}, "drawing must be a quirk.Drawing"),
        ],
    )
    def test_errors(self, options, message):
        with pytest.raises(quirk.InputError, match=message):
            quirk.Generic("joint", GROUND, shaft("a"), **options)


class TestWrittenByTheUser:
    def test_a_function_that_branches_is_followed_in_python(self):
        def phi(t, a):
            x = a.position[0]
            return x**2 if x < 5 else x  # never the second

        body = shaft("a", velocity=[0, 1.0, 0])
        system = quirk.System([body, quirk.Implicit("wall", body, phi), quirk.Force("push", body, [0, 0, 1.0])])
        result = quirk.simulate(system, 1.0)
        np.testing.assert_allclose(result["a"].position[-1], [0, 1.0, 0.25], atol=1e-12)

    def test_more_rows_than_a_node_holds(self):
        rng = np.random.default_rng(2)
        a, b = random_body(rng, "a"), random_body(rng, "b")

        def phi(t, a, b):
            return [*a.position, *a.rotation[0, 1:], a.rotation[1, 2], *b.position]

        a = Body("a", 1.0, [1, 1, 1.5])
        b = Body("b", 1.0, [1, 1, 1.5], angular_velocity=[0, 0, 1.0])
        system = quirk.System([a, b, quirk.Implicit("all", [a, b], phi)], gravity=G)
        assert system.model.rows == 9
        result = quirk.simulate(system, 1.0)
        np.testing.assert_allclose(result["b"].position, 0, atol=1e-14)
        assert system.mobility().degrees_of_freedom == 3

    def test_both_forms_of_custom_rows_are_the_ball_joint(self):
        rod = Body.box("rod", 1.0, [1, 0.05, 0.05], position=[0.5, 0, 0], angular_velocity=[3.0, 2.0, 1.0],
                       velocity=[0, 0.5, -1.0])  # fmt: skip
        arm = np.array([-0.5, 0, 0])

        def rows(t, r, q, v, w):
            R = rotation.matrix(q[0])
            spin = R @ w[0]
            A = np.hstack([np.eye(3), -rotation.skew(R @ arm) @ R])
            return A, -np.cross(spin, np.cross(spin, R @ arm)), r[0] + R @ arm, v[0] + np.cross(spin, R @ arm)

        def quaternion_rows(t, r, q, v, w):
            A, b, *rest = rows(t, r, q, v, w)
            return np.hstack([A[:, :3], A[:, 3:] @ rotation.T_matrix(q[0])]), b, *rest

        want = quirk.simulate(
            quirk.System([rod, quirk.Spherical("ball", GROUND, rod, point=[0, 0, 0])], gravity=G), 1.0
        )
        for function in (rows, quaternion_rows):
            system = quirk.System([rod, quirk.CustomRows("ball", rod, function)], gravity=G)
            result = quirk.simulate(system, 1.0)
            np.testing.assert_allclose(result["rod"].position[-1], want["rod"].position[-1], atol=1e-8)
            np.testing.assert_allclose(result["ball"].force()[-1], want["ball"].force()[-1], atol=1e-6)

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda a: quirk.Implicit("x", [a, a], lambda t, a, b: 0), "bodies must differ"),
            (lambda a: quirk.Implicit("x", [GROUND], lambda t, a: 0), "at least one body"),
            (lambda a: quirk.Implicit("x", a, 3.0), "phi must be a function"),
            (lambda a: quirk.Implicit("x", a, "phi"), "phi: expression .phi., column 1: there is no variable"),
            (lambda a: quirk.Implicit("x", a, lambda t, a: t * 0), "must depend on the poses"),
            (
                lambda a: quirk.Implicit("x", a, lambda t, a: a.position[0] == 1),
                "it must return quantities computed from its arguments; got False",
            ),
            (lambda a: quirk.Implicit("x", a, lambda t, a: a.position, level="velocity"), "depend on the velocities"),
            (lambda a: quirk.Implicit("x", a, lambda t, a: []), "one or more finite quantities"),
            (
                lambda a: quirk.Implicit("x", a, lambda t, a: a.velocity),
                "velocities are only available in relations of",
            ),
            (lambda a: quirk.Implicit("x", a, lambda t, a: a.position[0] - np.nan), "finite quantities"),
            (lambda a: quirk.Implicit("x", a, lambda t, a: a.nothing), "called as phi"),
            (lambda a: quirk.Implicit("x", a, lambda t: 0), "phi must be a function phi"),
            (lambda a: quirk.CustomRows("x", a, lambda *s: np.eye(6)), "must return A and b"),
            (lambda a: quirk.CustomRows("x", a, lambda *s: (np.eye(5), np.zeros(5))), r"A must have shape \(5, 6\)"),
            (lambda a: quirk.CustomRows("x", a, lambda *s: 1 / 0), "ZeroDivisionError"),
        ],
    )
    def test_errors(self, make, message):
        with pytest.raises(quirk.InputError, match=message):
            make(shaft("a"))

    def test_a_function_that_fails_during_a_run_ends_it_with_its_error(self):
        def rows(t, r, q, v, w):
            if t > 0.5:
                raise RuntimeError("lost contact")
            return np.eye(6)[:1], np.zeros(1)

        body = shaft("a")
        system = quirk.System([body, quirk.CustomRows("x", body, rows)])
        with pytest.raises((quirk.SimulationError, quirk.InputError), match="lost contact"):
            quirk.simulate(system, 1.0, output=0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda a, b: quirk.Screw("s", a, b, point=[0, 0, 0], axis=[0, 0, 1], lead=0), "lead must not be zero"),
        (lambda a, b: quirk.Gear("g", a, b, ratio=0, axis=[0, 0, 1]), "ratio must not be zero"),
        (lambda a, b: quirk.Gear("g", a, b, ratio=1, axis=[0, 0, 1], carrier=a), "carrier must be neither"),
        (lambda a, b: quirk.Gear("g", a, GROUND, ratio=1, axis=[0, 0, 1]), "carrier must be neither"),
        (lambda a, b: quirk.RollingDisk("r", a, GROUND, radius=1), "body_j is the disk"),
        (lambda a, b: quirk.RollingDisk("r", a, b, radius=-1), "radius must be positive"),
        (lambda a, b: quirk.Planar("p", a, b, normal=[0, 0, 1], axis=[0, 0, 1]), "are aliases"),
        (lambda a, b: quirk.ConstantVelocity("c", a, b, point=[0, 0, 0], axis_i=[0, 0, 1], axis_j=[0, 0, -1]),
         "must not be opposite"),
        (lambda a, b: quirk.Drive("d", a, Motion.constant_rate(1)), "joint must be a joint"),
        (lambda a, b: quirk.Drive("d", quirk.Spherical("s", a, b, point=[0, 0, 0]), Motion.constant_rate(1)),
         "has no single axis"),
        (lambda a, b: quirk.Drive("d", quirk.Cylindrical("s", a, b, point=[0, 0, 0], axis=[0, 0, 1]),
                                  Motion.constant_rate(1)), "both a rotation and a translation"),
        (lambda a, b: quirk.Drive("d", quirk.Spherical("s", a, b, point=[0, 0, 0]), Motion.constant_rate(1), "spin"),
         "coordinate must be"),
        (lambda a, b: quirk.Drive("d", quirk.Spherical("s", a, b, point=[0, 0, 0]), 3.0), r"motion must be a quirk.Motion.* hold the coordinate at this value, use Motion.polynomial\(\[3.0\]\)"),
        (lambda a, b: quirk.Revolute("r", a, b, frame_i="tip", frame_j="tip"), "has no frame 'tip'"),
    ],
)  # fmt: skip
def test_errors(make, message):
    with pytest.raises(quirk.InputError, match=message):
        make(shaft("a"), shaft("b", (1, 0, 0)))
