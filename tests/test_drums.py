"""Ropes over sheaves and on winding drums: closed forms, energies, and what is refused."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from studies import study

import quirk
from quirk import GROUND, Body, Drum

G = 9.81
DOWN = [0, 0, -G]
TIGHT = {"rtol": 1e-11, "atol": 1e-13}
UNITS = pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3], ids=["mm", "m", "km"])
CENTER = [0, 0, 0]


def weight(name, mass, x, z, unit=1.0, **more):
    return Body.sphere(name, mass, 0.05 * unit, position=[x * unit, 0, z * unit], **more)


def on_bearing(body):
    return quirk.Revolute(f"{body.name} bearing", GROUND, body, point=body.position, axis=[0, 1, 0])


def wheel(name, radius, x=0.0, z=0.0, moment=0.02):
    return Body(name, 1.0, [0.03, moment, 0.03], position=[x, 0, z])


class TestSheaves:
    @UNITS
    @pytest.mark.parametrize("fixed", [True, False])
    def test_atwood(self, unit, fixed):
        """(m1 - m2) g / (m1 + m2), whether the sheave turns or not; it carries twice the tension and its weight."""
        m1, m2, r = 3.0, 2.0, 0.1 * unit
        one, two, round_ = (
            weight("one", m1, -0.1, -1, unit),
            weight("two", m2, 0.1, -2, unit),
            Body("round", 1.0, 0.01 * unit**2 * np.ones(3), angular_velocity=[0, 0 if fixed else 5.0, 0]),
        )
        rope = quirk.Pulley("rope", [(one, CENTER), Drum(round_, CENTER, "y", r), (two, CENTER)])
        assert rope.length == pytest.approx((3 + 0.1 * np.pi) * unit)
        hold = quirk.Fixed("hold", GROUND, round_) if fixed else on_bearing(round_)
        system = quirk.System([one, two, round_, hold, rope], gravity=[0, 0, -G * unit])
        a, tension = (m1 - m2) / (m1 + m2) * G * unit, 2 * m1 * m2 / (m1 + m2) * G * unit
        for solver in ("sparse", "dense"):
            acceleration = system.acceleration(system.initial_state(), solver=solver).linear[:2, 2]
            np.testing.assert_allclose(acceleration, [-a, a], rtol=1e-12)
        result = quirk.simulate(system, 0.4, **TIGHT, output=0.1)
        np.testing.assert_allclose(result["one"].position[:, 2], -unit - 0.5 * a * result.time**2, rtol=1e-10)
        np.testing.assert_allclose(result["rope"].force()[:, 2], tension, rtol=1e-9)
        np.testing.assert_allclose(result[hold.name].force()[:, 2], 2 * tension + G * unit, rtol=1e-9)
        np.testing.assert_allclose(result["round"].angular_velocity[:, 1], 0 if fixed else 5.0, atol=1e-10)

    @pytest.mark.parametrize("crossed", [False, True])
    @pytest.mark.parametrize("turned_over", [False, True])
    def test_the_length_of_a_belt(self, crossed, turned_over):
        """Half of an open or crossed belt: sqrt(d^2 - (R -+ r)^2) and both arcs; whichever way axes point."""
        r, R, d = 0.1, 0.25, 1.0
        # Up to one, along the top of both and down; or across and up again.
        sense = -1 if crossed else 1
        a, b = wheel("a", r), wheel("b", R, x=d)
        start, end = weight("start", 1.0, -r, -2), weight("end", 1.0, d + R, -2 * sense)
        drums = [Drum(a, CENTER, [0, 1, 0], r), Drum(b, CENTER, [0, sense, 0], R)]
        if turned_over:
            drums[1] = Drum(
                Body("b", 1.0, [0.03, 0.02, 0.03], position=[d, 0, 0], orientation=[0, 1, 0, 0]),
                CENTER,
                [0, -sense, 0],
                R,
            )
        rope = quirk.Pulley("rope", [(start, CENTER), *drums, (end, CENTER)])
        across = R + r if crossed else R - r
        tilt = np.arcsin(across / d)
        arcs = (r + R) * (0.5 * np.pi + tilt) if crossed else r * (0.5 * np.pi - tilt) + R * (0.5 * np.pi + tilt)
        assert rope.length == pytest.approx(4 + np.sqrt(d**2 - across**2) + arcs, rel=1e-12)

    def test_a_hanging_block(self):
        """From the ceiling around a loose sheave, over a fixed one: the load moves at half the pull."""
        load, pull = wheel("load", 0.2, x=0.2, z=-2.0), weight("pull", 1.7, 0.6, -1)
        sheaves = Drum(load, CENTER, [0, -1, 0], 0.2), Drum(GROUND, [0.5, 0, 0], "y", 0.1)
        rope = quirk.Pulley("rope", [(GROUND, CENTER), *sheaves, (pull, CENTER)])
        system = quirk.System([load, pull, rope], gravity=DOWN)
        want = (1.0 - 2 * 1.7) / (1.0 + 4 * 1.7) * G
        linear = system.acceleration(system.initial_state()).linear
        np.testing.assert_allclose(linear[:, 2], [-want, 2 * want], rtol=1e-12)
        assert abs(system.joint_loads(system.initial_state())["rope"].force[2] - 1.7 * (G + 2 * want)) < 1e-10

    def test_small_ones_are_points(self):
        """Weights that swing in space; the sheave's size matters in proportion."""

        def ends(radius):
            one = weight("one", 1.0, -0.6, -1, velocity=[0, 0.3, 0])
            two = weight("two", 1.1, 0.2, -1.5, velocity=[0.2, -0.4, 0])
            middle = (GROUND, CENTER) if radius == 0 else Drum(GROUND, CENTER, "y", radius)
            system = quirk.System(
                [one, two, quirk.Pulley("rope", [(one, CENTER), middle, (two, CENTER)])], gravity=DOWN
            )
            system.assemble()
            return np.concatenate(quirk.simulate(system, 1.0, **TIGHT, output=[1.0]).state.position[-1])

        far, near, limit = ends(2e-3), ends(1e-3), ends(0)
        np.testing.assert_allclose(near, limit, atol=5e-3)
        np.testing.assert_allclose(2 * near - far, limit, atol=2e-5)

    def test_out_of_its_plane(self):
        """Energy is kept, and the force is off the rope's direction by no more than is said of it."""
        one = weight("one", 1.0, -0.1, -1, velocity=[0, 1.5, 0])
        two = weight("two", 1.05, 0.1, -1.2, velocity=[0.4, -1.0, 0])
        rope = quirk.Pulley("rope", [(one, CENTER), Drum(GROUND, CENTER, "y", 0.1), (two, CENTER)])
        system = quirk.System([one, two, rope], gravity=DOWN)
        system.assemble()
        result = quirk.simulate(system, 1.0, **TIGHT, output=0.02)
        assert np.abs(result.energy.total - result.energy.total[0]).max() < 1e-11
        x, _, z = result["two"].position.T
        d = np.hypot(x, z)
        s = np.sqrt(d**2 - 0.01)
        touch = 0.1 * np.stack([0.1 * x - s * z, 0 * x, 0.1 * z + s * x], axis=1) / (d**2)[:, None]
        along = touch - result["two"].position
        length = np.linalg.norm(along, axis=1)
        force = result["rope"].force()
        across = np.linalg.norm(np.cross(along / length[:, None], force), axis=1) / np.linalg.norm(force, axis=1)
        bound = (1 - s / length) * 0.1 / s
        assert bound.max() > 1e-3
        assert (across <= 1.05 * bound + 1e-12).all()

    def test_a_rope_that_leaves_its_sheave_ends_the_run(self):
        load = weight("load", 1.0, 0.5, -0.4)
        rope = quirk.Pulley("rope", [(GROUND, [-1, 0, 0]), Drum(GROUND, [0, 0, -0.1], "y", 0.1), (load, CENTER)])
        lift = quirk.Force("lift", load, [0, 0, 30.0])
        with pytest.raises(
            quirk.SimulationError, match='Pulley "rope": its rope has left a sheave, or a point'
        ) as caught:
            quirk.simulate(quirk.System([load, rope, lift], gravity=DOWN), 2.0, output=0.01)
        x, _, z = caught.value.result["load"].position[-1]
        assert abs(z) < 0.02 * x


class TestWinding:
    R, I, M = 0.1, 0.02, 5.0

    def winch(self, torque):
        """A drum that lifts a load on its right side: it turns by the right-hand rule about -y."""
        drum, load = wheel("drum", self.R), weight("load", self.M, self.R, -20.0)
        bearing = on_bearing(drum)
        rope = quirk.Pulley("rope", [(load, CENTER), Drum(drum, CENTER, [0, -1, 0], self.R)])
        return quirk.System([drum, load, bearing, rope, quirk.JointTorque("motor", bearing, -torque)], gravity=DOWN)

    @pytest.mark.parametrize("solver", study(["sparse", "dense"], 1))
    def test_a_winch(self, solver):
        """(torque / r - m g) / (m + I / r^2), over many turns."""
        torque = 6.0
        result = quirk.simulate(
            self.winch(torque), 3.0 if solver == "sparse" else 0.2, **TIGHT, output=0.1, solver=solver
        )
        a = (torque / self.R - self.M * G) / (self.M + self.I / self.R**2)
        risen = 0.5 * a * result.time**2
        np.testing.assert_allclose(result["load"].position[:, 2], -20 + risen, rtol=1e-10)
        np.testing.assert_allclose(result["load"].position[:, 0], self.R, atol=1e-9)
        np.testing.assert_allclose(result["drum bearing"].rotation[:, 2], -risen / self.R, rtol=1e-8, atol=1e-9)
        tension = self.M * (G + a)
        np.testing.assert_allclose(result["rope"].force()[:, 2], -tension, rtol=1e-8)
        np.testing.assert_allclose(result["rope"].torque()[:, 1], tension * self.R, rtol=1e-8)
        assert np.abs(result.health().power_balance).max() < 1e-8
        if solver == "sparse":
            assert risen[-1] / self.R > 8 * np.pi

    def test_a_driven_winch(self):
        """Kinematics: the load hangs still below where the rope leaves, and rises by r times the angle."""
        drum, load = wheel("drum", self.R), weight("load", self.M, self.R, -5.0)
        bearing, guide = on_bearing(drum), quirk.Prismatic("guide", GROUND, load, axis=[0, 0, 1])
        rope = quirk.Pulley("rope", [(load, CENTER), Drum(drum, CENTER, [0, -1, 0], self.R)])
        drive = quirk.Drive("motor", bearing, quirk.Motion.constant_rate(-12.0))
        motion = quirk.kinematics(
            quirk.System([drum, load, bearing, guide, rope, drive], gravity=DOWN), np.linspace(0, 3, 7)
        )
        np.testing.assert_allclose(motion["load"].position[:, 2], -5 + 1.2 * motion.time, atol=1e-12)
        np.testing.assert_allclose(motion["motor"].torque()[:, 1], -self.M * G * self.R, rtol=1e-10)

    @UNITS
    def test_a_yo_yo(self, unit):
        """A drum that unwinds itself: a = g / (1 + I / m r^2), straight down."""
        r = 0.1 * unit
        yo_yo = Body("yo-yo", 1.0, unit**2 * np.array([0.03, 0.02, 0.03]), position=[r, 0, -unit])
        rope = quirk.Pulley("rope", [(GROUND, CENTER), Drum(yo_yo, CENTER, [0, -1, 0], r)])
        result = quirk.simulate(quirk.System([yo_yo, rope], gravity=[0, 0, -G * unit]), 1.5, **TIGHT, output=0.1)
        fallen = 0.5 * G / (1 + 0.02 / 0.01) * result.time**2
        np.testing.assert_allclose(
            result["yo-yo"].position / unit, np.stack([0.1 + 0 * fallen, 0 * fallen, -1 - fallen], axis=1), atol=1e-9
        )
        np.testing.assert_allclose(
            result["yo-yo"].euler_angles("yxy")[:, [0, 2]].sum(axis=1), fallen / 0.1, rtol=1e-8, atol=1e-9
        )
        assert fallen[-1] / 0.1 > 4 * np.pi

    @pytest.mark.parametrize(("one", "other"), [(0.1, 0.1), (0.1, 0.3), (0.125, 0.08)])
    @pytest.mark.parametrize("crossed", [False, True])
    def test_from_drum_to_drum(self, one, other, crossed):
        """Over many turns of both: r1 theta1' = +-r2 theta2'."""
        a, b = wheel("a", one), wheel("b", other, x=1.0)
        bearings = on_bearing(a), on_bearing(b)
        sense = -1 if crossed else 1
        rope = quirk.Pulley("rope", [Drum(a, CENTER, "y", one), Drum(b, CENTER, [0, sense, 0], other)])
        motor = quirk.JointTorque("motor", bearings[1], 0.5 * sense)
        result = quirk.simulate(quirk.System([a, b, *bearings, rope, motor]), 3.0, **TIGHT, output=0.5)
        paid = 0.5 * 0.5 / other / (0.02 / other**2 + 0.02 / one**2) * result.time**2
        np.testing.assert_allclose(result["a bearing"].rotation[:, 2], paid / one, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(result["b bearing"].rotation[:, 2], sense * paid / other, rtol=1e-8, atol=1e-10)
        assert paid[-1] / other > 2 * np.pi

    def test_a_sheave_that_the_rope_takes_along(self):
        """Two ropes wound on one drum do not slip: (m1 - m2) g / (m1 + m2 + I / r^2)."""
        one, two, round_ = weight("one", 3.0, -self.R, -1), weight("two", 2.0, self.R, -5), wheel("round", self.R)
        left = quirk.Pulley("left", [(one, CENTER), Drum(round_, CENTER, "y", self.R)])
        right = quirk.Pulley("right", [Drum(round_, CENTER, "y", self.R), (two, CENTER)])
        system = quirk.System([one, two, round_, on_bearing(round_), left, right], gravity=DOWN)
        a = G / (5.0 + self.I / self.R**2)
        np.testing.assert_allclose(system.acceleration(system.initial_state()).linear[:2, 2], [-a, a], rtol=1e-12)

    def test_a_pendulum_on_an_involute(self):
        """Free length l, angle f of the rope from the vertical: l f'' + l' f' + g sin f = 0 with l' = r f'."""
        r, start, angle = 0.2, 1.0, 1.1
        # The rope leaves on the right of a fixed drum where it hangs straight down.
        touch = r * np.array([np.cos(angle), 0, np.sin(angle)])
        bob = Body.sphere("bob", 2.0, 0.01, position=touch + start * np.array([np.sin(angle), 0, -np.cos(angle)]))
        rope = quirk.Pulley("rope", [Drum(GROUND, CENTER, "y", r), (bob, CENTER)])
        assert rope.length == pytest.approx(start)
        result = quirk.simulate(quirk.System([bob, rope], gravity=DOWN), 5.0, **TIGHT, output=0.05)

        def rates(t, y):
            free = start + r * (y[0] - angle)
            return [y[1], -(r * y[1] ** 2 + G * np.sin(y[0])) / free]

        f, rate = solve_ivp(rates, (0, 5), [angle, 0], t_eval=result.time, rtol=1e-11, atol=1e-12).y
        free = start + r * (f - angle)
        want = np.stack([r * np.cos(f) + free * np.sin(f), r * np.sin(f) - free * np.cos(f)], axis=1)
        np.testing.assert_allclose(result["bob"].position[:, [0, 2]], want, atol=1e-8)
        np.testing.assert_allclose(np.linalg.norm(result["bob"].velocity, axis=1), free * np.abs(rate), atol=1e-8)
        assert np.abs(result.energy.total - result.energy.total[0]).max() < 1e-10


A, B, C = (Body.sphere(name, 1.0, 0.1, position=[k, 0, 0]) for k, name in enumerate("abc"))
POINT = (A, CENTER)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Drum("b", CENTER, "y", 1), "Drum: body must be a quirk.Body or quirk.GROUND; got 'b'"),
        (lambda: Drum(A, [0, 0], "y", 1), "Drum on a: center must have shape (3,)"),
        (lambda: Drum(A, CENTER, [0, 0, 0], 1), "Drum on a: axis must be a direction"),
        (lambda: Drum(A, CENTER, "y", 0), "Drum on a: radius must be positive; got 0"),
        (lambda: quirk.Pulley("p", [POINT, (B, CENTER, "y", 1)]), "a list of at least two pairs (body, point in its coordinates) or quirk.Drum"),
        (lambda: quirk.Pulley("p", [POINT, Drum(B, CENTER, "y", 1.0)]), "points[0] and points[1] are 1 m apart across the axis at the initial poses, and a straight part between them requires more than 1 m"),
        (lambda: quirk.Pulley("p", [POINT, Drum(B, CENTER, "x", 0.1)]), "are 0 m apart across the axis"),
        (lambda: quirk.Pulley("p", [POINT, Drum(B, CENTER, "y", 0.5), Drum(C, CENTER, [0, -1, 0], 0.5)]), "points[1] and points[2] are 1 m apart across the axis"),
        (lambda: quirk.Pulley("p", [POINT, Drum(B, CENTER, "y", 0.1), Drum(C, CENTER, "z", 0.1)]), "points[1] and points[2] are drums, whose axes must be parallel: insert a point between them"),
        (lambda: quirk.Pulley("p", [POINT, Drum(B, CENTER, "y", 0.1), (C, CENTER)], weights=[1, 2]), "weights[1] must be 1, as next to any drum; got 2"),
        (lambda: quirk.Pulley("p", [POINT, Drum(B, CENTER, "y", 0.1)], length=2.0), "length must be within 0.314159 m of 0.994987 m, the length at the initial poses"),
        (lambda: quirk.Pulley("p", [Drum(A, CENTER, "y", 0.1), Drum(B, CENTER, "y", 0.1 * np.sqrt(2))]), "radii of drums at both ends must have a ratio of whole numbers up to 200"),
    ],
)  # fmt: skip
def test_errors(make, message):
    with pytest.raises(quirk.InputError, match=re.escape(message)):
        make()
