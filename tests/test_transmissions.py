"""Gears across axes, racks, ropes and planar sliders: closed forms, energies, units and what is refused."""

import numpy as np
import pytest
from mechanisms import random_unit

import quirk
from quirk import GROUND, Body, Motion, planar

G = 9.81
UNITS = pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3], ids=["mm", "m", "km"])


def wheel(name, axis, moment=0.02, spin=0.0, **where):
    """A body of 1 kg with the same moments across its axis, that turns about it."""
    a = np.asarray(axis, dtype=float)
    inertia = 0.03 * np.eye(3) + (moment - 0.03) * np.outer(a, a)
    return Body(name, 1.0, inertia, angular_velocity=spin * a, **where)


def on_bearing(body, axis, carrier=GROUND):
    return quirk.Revolute(f"{body.name} bearing", carrier, body, point=body.position, axis=axis)


class TestCrossedGears:
    def test_bevel_gears_share_their_energy_as_their_ratio_says(self):
        """Two wheels with a torque on one: (J_i + ratio^2 J_j) theta_i'' = torque."""
        ratio, torque = 20 / 30, 0.7
        one, two = wheel("one", [0, 0, 1]), wheel("two", [1, 0, 0], 0.05, position=[0.2, 0, 0.2])
        bearings = on_bearing(one, [0, 0, 1]), on_bearing(two, [1, 0, 0])
        bevel = quirk.Gear("bevel", one, two, ratio=ratio, axis_i=[0, 0, 1], axis_j=[1, 0, 0])
        system = quirk.System([one, two, *bearings, bevel, quirk.JointTorque("motor", bearings[0], torque)])
        result = quirk.simulate(system, 20.0, rtol=1e-11, atol=1e-13, output=1.0)
        rate = torque / (0.02 + ratio**2 * 0.05)
        t = result.time
        np.testing.assert_allclose(result["one bearing"].rotation[:, 2], 0.5 * rate * t**2, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(
            result["two bearing"].rotation[:, 2], ratio * 0.5 * rate * t**2, rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(result["bevel"].torque(), [[0.05 * ratio * rate, 0, 0]] * len(t), atol=1e-11)
        assert result.residual.position.max() < 1e-12

    def test_a_worm_turns_its_wheel_by_one_tooth(self):
        """40 teeth, one start; the worm is left-handed, so that the wheel turns against the right-hand rule."""
        worm, gear = wheel("worm", [1, 0, 0]), wheel("gear", [0, 1, 0], position=[0, 0, 0.3])
        bearings = on_bearing(worm, [1, 0, 0]), on_bearing(gear, [0, 1, 0])
        mesh = quirk.Gear("mesh", worm, gear, ratio=-1 / 40, axis_i=[1, 0, 0], axis_j=[0, 1, 0])
        drive = quirk.Drive("motor", bearings[0], Motion.constant_rate(100.0))
        system = quirk.System([worm, gear, *bearings, mesh, drive])
        motion = quirk.kinematics(system, np.linspace(0, 3, 13))
        np.testing.assert_allclose(motion["gear bearing"].rotation[:, 2], -100.0 / 40 * motion.time, atol=1e-11)

    def test_a_bevel_differential(self):
        """The cage turns at the mean of both sides, for any of their rates; the pinion at half their difference."""
        axes = {"left": [1, 0, 0], "right": [1, 0, 0], "pinion": [0, 1, 0]}
        left, right = (wheel(name, axes[name], position=[x, 0, 0]) for name, x in (("left", -0.1), ("right", 0.1)))
        cage = Body("cage", 2.0, [0.1, 0.2, 0.2])
        pinion = wheel("pinion", axes["pinion"], position=[0, 0.1, 0])
        sides = [on_bearing(body, [1, 0, 0]) for body in (left, right, cage)]
        spider = on_bearing(pinion, [0, 1, 0], cage)
        meshes = [
            quirk.Gear(f"{side.name} mesh", side, pinion, ratio=ratio, axis_i=[1, 0, 0], axis_j=[0, 1, 0], carrier=cage)
            for side, ratio in ((left, 1), (right, -1))
        ]
        drives = [quirk.Drive(f"d{k}", sides[k], Motion.constant_rate(rate)) for k, rate in enumerate((3.0, -0.4))]
        system = quirk.System([left, right, cage, pinion, *sides, spider, *meshes, *drives])
        motion = quirk.kinematics(system, np.linspace(0, 5, 11))
        np.testing.assert_allclose(motion["cage bearing"].rotation[:, 2], 1.3 * motion.time, atol=1e-11)
        np.testing.assert_allclose(motion["pinion bearing"].rotation[:, 2], 1.7 * motion.time, atol=1e-11)

    def test_ratios_without_teeth_relate_rates(self):
        one, two = wheel("one", [0, 0, 1], spin=2.0), wheel("two", [0, 1, 0])
        bearings = on_bearing(one, [0, 0, 1]), on_bearing(two, [0, 1, 0])
        gear = quirk.Gear("gear", one, two, ratio=np.sqrt(0.5), axis_i=[0, 0, 1], axis_j=[0, 1, 0])
        system = quirk.System([one, two, *bearings, gear])
        assert gear.primitives[0].of_velocities
        state = system.assemble()
        assert state.angular_velocity[1, 1] == pytest.approx(np.sqrt(0.5) * state.angular_velocity[0, 2], rel=1e-12)

    def test_parallel_axes_given_twice_are_the_same_gear(self):
        rng = np.random.default_rng(3)
        axis = random_unit(rng)
        one, two = (wheel(name, axis, spin=rng.normal(), position=rng.normal(size=3)) for name in ("one", "two"))
        bearings = on_bearing(one, axis), on_bearing(two, axis)
        found = []
        for axes in ({"axis": axis}, {"axis_i": axis, "axis_j": axis}):
            gear = quirk.Gear("gear", one, two, ratio=-3 / 7, **axes)
            system = quirk.System([one, two, *bearings, gear, quirk.JointTorque("motor", bearings[0], 1.0)])
            found.append(system.acceleration(system.assemble()).angular)
        np.testing.assert_allclose(*found, atol=1e-12)


class TestRackPinion:
    @UNITS
    @pytest.mark.parametrize("radius", [0.05, -0.05])
    def test_the_rack_runs_as_the_pinion_turns(self, radius, unit):
        """m x'' = m g - (J / r^2) x'': down, over ten turns."""
        radius = radius * unit
        rack = Body("rack", 2.0, 2.0 * unit**2 * np.array([0.1, 0.1, 0.01]))
        pinion = wheel("pinion", [0, 1, 0], 0.02, position=[0.05 * unit, 0, 0])
        pinion = Body("pinion", 1.0, pinion.inertia * unit**2, position=pinion.position)
        slide = quirk.Prismatic("slide", GROUND, rack, axis=[0, 0, -1])
        bearing = on_bearing(pinion, [0, 1, 0])
        mesh = quirk.RackPinion("mesh", rack, pinion, radius=radius, direction=[0, 0, -1], axis=[0, 1, 0])
        system = quirk.System([rack, pinion, slide, bearing, mesh], gravity=[0, 0, -G * unit])
        result = quirk.simulate(system, 1.0, rtol=1e-11, atol=1e-13, output=0.1)
        fall = 0.5 * 2.0 * G / (2.0 + 0.02 / 0.05**2) * result.time**2
        np.testing.assert_allclose(result["slide"].displacement[:, 2] / unit, fall, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(result["pinion bearing"].rotation[:, 2], fall * unit / radius, rtol=1e-9, atol=1e-11)
        assert abs(fall[-1] * unit / radius) > 2 * np.pi

    def test_on_a_carrier_that_moves(self):
        """A pinion held by a carriage climbs a rack at rest: speed = radius times rate, and opposite for the rack."""
        carriage = Body("carriage", 1.0, [0.1, 0.1, 0.1])
        pinion = wheel("pinion", [0, 1, 0])
        slide = quirk.Prismatic("slide", GROUND, carriage, axis=[0, 0, 1])
        bearing = on_bearing(pinion, [0, 1, 0], carriage)
        mesh = quirk.RackPinion(
            "mesh", GROUND, pinion, radius=0.1, direction=[0, 0, 1], axis=[0, 1, 0], carrier=carriage
        )
        drive = quirk.Drive("motor", bearing, Motion.constant_rate(7.0))
        motion = quirk.kinematics(quirk.System([carriage, pinion, slide, bearing, mesh, drive]), np.linspace(0, 4, 9))
        np.testing.assert_allclose(motion["slide"].displacement[:, 2], -0.7 * motion.time, atol=1e-12)


def weight(name, mass, x, z, unit=1.0):
    return Body.sphere(name, mass, 0.05 * unit, position=[x * unit, 0, z * unit])


class TestPulley:
    @UNITS
    def test_atwood(self, unit):
        """(m1 - m2) g / (m1 + m2), with a tension of 2 m1 m2 g / (m1 + m2)."""
        m1, m2 = 3.0, 2.0
        one, two = weight("one", m1, -0.1, -1, unit), weight("two", m2, 0.1, -2, unit)
        sheave = [(GROUND, [x * unit, 0, 0]) for x in (-0.1, 0.1)]
        rope = quirk.Pulley("rope", [(one, [0, 0, 0]), *sheave, (two, [0, 0, 0])])
        assert rope.length == pytest.approx(3.2 * unit)
        system = quirk.System([one, two, rope], gravity=[0, 0, -G * unit])
        a, tension = (m1 - m2) / (m1 + m2) * G * unit, 2 * m1 * m2 / (m1 + m2) * G * unit
        for solver in ("sparse", "dense"):
            acceleration = system.acceleration(system.initial_state(), solver=solver).linear[:, 2]
            np.testing.assert_allclose(acceleration, [-a, a], rtol=1e-12)
        result = quirk.simulate(system, 0.4, rtol=1e-11, atol=1e-13, output=0.1)
        np.testing.assert_allclose(result["one"].position[:, 2], -unit - 0.5 * a * result.time**2, rtol=1e-10)
        np.testing.assert_allclose(result["rope"].force()[:, 2], tension, rtol=1e-9)
        np.testing.assert_allclose(
            system.derivatives(system.initial_state(), order=1).multipliers, [[tension]], rtol=1e-12
        )

    def test_block_and_tackle(self):
        """Four falls carry the load: it moves at a quarter of the pull, which is the tension."""
        load, pull = weight("load", 8.0, 0, -3), weight("pull", 1.9, 1, -1)
        load_slide, pull_slide = (
            quirk.PointOnLine(f"{b.name} guide", GROUND, b, point=b.position, axis=[0, 0, 1]) for b in (load, pull)
        )
        top, hook = (GROUND, [0, 0, 0]), (load, [0, 0, 0])
        rope = quirk.Pulley("rope", [top, hook, top, hook, top, (GROUND, [1, 0, 0]), (pull, [0, 0, 0])])
        bundled = quirk.Pulley("rope", [hook, top, (GROUND, [1, 0, 0]), (pull, [0, 0, 0])], weights=[4, 1, 1])
        want = (8.0 - 4 * 1.9) / (8.0 + 16 * 1.9) * G
        for one in (rope, bundled):
            system = quirk.System([load, pull, load_slide, pull_slide, one], gravity=[0, 0, -G])
            linear = system.acceleration(system.initial_state()).linear[:, 2]
            np.testing.assert_allclose(linear, [-want, 4 * want], rtol=1e-12)
            loads = system.joint_loads(system.initial_state())
            np.testing.assert_allclose(loads["rope"].force, [0, 0, 1.9 * (G + 4 * want)], rtol=1e-11, atol=1e-12)

    def test_swinging_weights_keep_their_energy(self):
        one, two = weight("one", 1.0, -0.6, -1), weight("two", 1.1, 0.2, -1.5)
        rope = quirk.Pulley(
            "rope", [(one, [0, 0, 0.05]), (GROUND, [-0.1, 0, 0]), (GROUND, [0.1, 0, 0]), (two, [0, 0, 0.05])]
        )
        system = quirk.System([one, two, rope], gravity=[0, 0, -G])
        result = quirk.simulate(system, 2.0, rtol=1e-11, atol=1e-13, output=0.1)
        assert np.abs(result.energy.total - result.energy.total[0]).max() < 1e-10
        assert np.abs(result["one"].position[-1] - result["one"].position[0]).max() > 0.3


class TestPlanarPrismatic:
    @UNITS
    def test_down_an_incline(self, unit):
        angle = 0.4
        along = [np.cos(angle), -np.sin(angle)]
        block = planar.PlanarBody("block", 2.0, 0.01 * unit**2, position=(0.3 * unit, 0.2 * unit), angle=0.7)
        slide = planar.Prismatic("slide", GROUND, block, point_i=block.coordinates[:2], vector_i=along)
        system = quirk.System([block, slide], gravity=[0, -G * unit, 0])
        result = quirk.simulate(system, 1.0, rtol=1e-11, atol=1e-13, output=0.1)
        want = 0.5 * G * np.sin(angle) * result.time**2
        np.testing.assert_allclose(result["slide"].displacement[:, 0] / unit, want, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            np.linalg.norm(result["slide"].force(), axis=1), 2 * G * unit * np.cos(angle), rtol=1e-9
        )
        assert quirk.Drive("drive", slide, Motion.constant_rate(1.0)).coordinate == "translation x"

    def test_a_slider_crank_is_that_of_spatial_joints(self):
        crank = planar.PlanarBody.bar("crank", (0, 0), (0.1, 0), 1.0)
        rod = planar.PlanarBody.bar("rod", (0.1, 0), (0.5, 0), 1.0)
        piston = planar.PlanarBody("piston", 0.5, 0.001, position=(0.5, 0))
        joints = [
            planar.Revolute("pivot", GROUND, crank, point=(0, 0)),
            planar.Revolute("pin", crank, rod, point=(0.1, 0)),
            planar.Revolute("wrist", rod, piston, point=(0.5, 0)),
        ]
        slides = [
            planar.Prismatic("slide", GROUND, piston, vector_i=(1, 0)),
            quirk.Prismatic("slide", GROUND, piston, axis=[1, 0, 0], point=[0.5, 0, 0]),
        ]
        drive = quirk.Drive("motor", joints[0], Motion.constant_rate(10.0))
        for slide in slides:
            system = quirk.System([crank, rod, piston, *joints, slide, drive])
            motion = quirk.kinematics(system, np.linspace(0, 1, 21))
            angle = 10 * motion.time
            want = 0.1 * np.cos(angle) + np.sqrt(0.16 - (0.1 * np.sin(angle)) ** 2)
            np.testing.assert_allclose(motion["piston"].position[:, 0], want, atol=1e-12)

    def test_it_is_not_put_together_the_wrong_way_round(self):
        block = planar.PlanarBody("block", 1.0, 0.01, angle=3.0)
        slide = planar.Prismatic("slide", GROUND, block, vector_i=(1, 0), vector_j=(1, 0))
        state = quirk.System([block, slide]).assemble()
        assert abs(quirk.rotation.matrix(state.orientation[0])[0, 0] - 1) < 1e-12


A, B, C = (Body.sphere(name, 1.0, 0.1, position=[k, 0, 0]) for k, name in enumerate("abc"))
SLOT = planar.PlanarBody("flat", 1.0, 0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: quirk.Gear("g", A, B, ratio=1), 'Gear "g": give either axis.* or axis_i and axis_j'),
        (lambda: quirk.Gear("g", A, B, ratio=1, axis_i="x"), "give either axis"),
        (lambda: quirk.Gear("g", A, B, ratio=1, axis="x", axis_i="x", axis_j="y"), "give either axis"),
        (lambda: quirk.Gear("g", A, B, ratio=1, axis_i=[0, 0, 0], axis_j="y"), "axis_i must"),
        (lambda: quirk.RackPinion("r", A, B, radius=0, direction="x", axis="y"), "radius must not be zero"),
        (lambda: quirk.RackPinion("r", A, B, radius=1, direction="x", axis="y", carrier=B), "neither the rack nor the"),
        (lambda: quirk.RackPinion("r", A, A, radius=1, direction="x", axis="y"), "body_i and body_j must differ"),
        (lambda: quirk.Pulley("p", [(A, [0, 0, 0])]), "a list of at least two pairs"),
        (lambda: quirk.Pulley("p", A), "a list of at least two pairs"),
        (lambda: quirk.Pulley("p", [(A, [0, 0, 0]), (A, [1, 0, 0])]), "points must belong to at least two bodies"),
        (lambda: quirk.Pulley("p", [(A, [0, 0, 0]), ("B", [1, 0, 0])]), r"points\[1\]\[0\] must be"),
        (lambda: quirk.Pulley("p", [(A, [0, 0, 0]), (B, [1, 0])]), r"points\[1\]\[1\] must have shape \(3,\)"),
        (lambda: quirk.Pulley("p", [(A, [0, 0, 0]), (B, [-1, 0, 0])]), r"points\[0\] and points\[1\] coincide"),
        (lambda: quirk.Pulley("p", [(A, [0, 0, 0]), (B, [0, 0, 0])], weights=[-1]), "weights must be positive"),
        (lambda: quirk.Pulley("p", [(A, [0, 0, 0]), (B, [0, 0, 0])], length=0), "length must be positive"),
        (lambda: planar.Prismatic("s", GROUND, SLOT, vector_i=(0, 0)), "vector_i must be a direction"),
        (lambda: planar.Prismatic("s", GROUND, A, vector_i=(1, 0)), "body_j must be a quirk.planar.PlanarBody"),
    ],
)
def test_errors(make, message):
    with pytest.raises(quirk.InputError, match=message):
        make()
