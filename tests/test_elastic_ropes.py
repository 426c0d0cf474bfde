"""Elastic ropes and belts: capstan, creep, tackles, the limit of a rope of constant length, and what is refused."""

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Drum, Motion
from quirk.bodies.state import Kinematics
from quirk.dynamics.model.applied_loads import exerted
from quirk.dynamics.model.time_derivatives import PoseDerivatives
from quirk.forces.rope_sections import AHEAD, BACK, FREE, STICKS

G, CENTER = 9.81, [0, 0, 0]
UNITS = pytest.mark.parametrize(("m", "kg"), [(1.0, 1.0), (1e3, 1e-3)])


def weight(name, mass, x, z, m=1.0, kg=1.0):
    return Body.sphere(name, mass * kg, 0.05 * m, position=[x * m, 0, z * m])


def over_a_bar(light=1.0, heavy=3.0, friction=0.2, turns=0, m=1.0, kg=1.0, stiffness=1e4, **more):
    """Two weights on a rope over a round bar that stands still."""
    one, two = weight("one", light, -0.1, -1, m, kg), weight("two", heavy, 0.1, -1.5, m, kg)
    bar = Drum(GROUND, CENTER, "y", 0.1 * m, turns)
    rope = quirk.Pulley(
        "rope", [(one, CENTER), bar, (two, CENTER)], stiffness=stiffness * kg * m, friction=friction, **more
    )
    return quirk.System([one, two, rope], gravity=[0, 0, -G * m])


def belt_drive(
    r=(0.1, 0.2), crossed=False, load=8.0, friction=0.3, rate=20.0, pretension=200.0, motion=None, m=1.0, kg=1.0
):
    """Two wheels with a belt: the first is driven, the second carries a load in proportion to its speed."""
    stiffness, sense = 2e4 * kg * m, -1 if crossed else 1
    driven = sense * rate * r[0] / r[1]
    bodies = [
        Body.cylinder("a", 2.0 * kg, r[0] * m, 0.05 * m, axis="y", angular_velocity=[0, rate, 0]),
        Body.cylinder(
            "b", 4.0 * kg, r[1] * m, 0.05 * m, axis="y", position=[0.6 * m, 0, 0], angular_velocity=[0, driven, 0]
        ),
    ]
    axles = [quirk.Revolute(f"axle {b.name}", GROUND, b, point=b.position, axis="y") for b in bodies]
    drums = [Drum(bodies[0], CENTER, "y", r[0] * m), Drum(bodies[1], CENTER, [0, sense, 0], r[1] * m)]
    belt = quirk.Pulley(
        "belt", drums, closed=True, stiffness=stiffness, friction=friction, pretension=pretension * kg * m
    )
    motor = quirk.Drive("motor", axles[0], motion or Motion.constant_rate(rate))
    brake = quirk.TorsionSpring("brake", axles[1], stiffness=0.0, damping=load / abs(rate) * kg * m**2)
    return quirk.System([*bodies, *axles, belt, motor, brake]), stiffness


def tensions(view, count=2):
    """Tensions (count, nt) of the spans, N."""
    return np.array([view.coordinate(f"tension {k}") for k in range(count)])


def later(result, count=2, since=0.5):
    """Tensions of the spans in the later part of a run."""
    return tensions(result["rope spans"], count)[:, result.time > since * result.time[-1]]


class TestCapstan:
    @UNITS
    @pytest.mark.parametrize("turns", [0, 2])
    def test_ratio_while_it_slips(self, m, kg, turns):
        """exp(mu theta), Euler and Eytelwein, after several periods of the axial oscillation."""
        angle = np.pi + 2 * np.pi * turns
        heavy = 1.5 * np.exp(0.2 * angle)
        for light, other, sign in ((1.0, heavy, 1), (heavy, 1.0, -1)):
            system = over_a_bar(light, other, turns=turns, m=m, kg=kg)
            result = quirk.simulate(system, 0.4, output=[0.3, 0.35, 0.4])
            one, two = later(result)
            np.testing.assert_allclose(two / one, np.exp(sign * 0.2 * angle), rtol=1e-9)
            assert (sign * result["rope spans"].coordinate("slip 1")[-3:] > 0.01 * m).all()

    def test_holds_below_the_ratio(self):
        """The weights hang on a rope that does not move over the bar."""
        system = over_a_bar(heavy=1.5, pretension=[G, 1.5 * G])
        result = quirk.simulate(system, 5.0, output=0.5)
        assert len(result.events) == 0
        np.testing.assert_allclose(tensions(result["rope spans"])[1], 1.5 * G, rtol=1e-9)
        assert np.abs(result["two"].velocity).max() < 1e-9

    def test_slips_back_and_sticks_again(self):
        """A pull over the bar that comes and goes: hysteresis, one slip and one end of it in each half period."""
        one = weight("one", 1.0, -0.1, -1)
        two = Body.sphere("two", 1.0, 0.05, position=[0.1, 0, -1.5], velocity=[0, 0, 0.1])
        guide = quirk.Prismatic("guide", GROUND, two, point=[0.1, 0, -1.5], axis="z")
        rope = quirk.Pulley(
            "rope", [(one, CENTER), Drum(GROUND, CENTER, "y", 0.1), (two, CENTER)], stiffness=1e4, friction=0.2,
            pretension=G,
        )  # fmt: skip
        pull = quirk.Drive("pull", guide, Motion.sinusoid(0.05, 2.0))
        settle = quirk.Damping("settle", one, translational=50.0)
        system = quirk.System([one, two, guide, rope, pull, settle], gravity=[0, 0, -G])
        result = quirk.simulate(system, 4 * np.pi, output=0.05)
        ratio = np.divide(*tensions(result["rope spans"])[::-1])
        assert ratio.max() == pytest.approx(np.exp(0.2 * np.pi), rel=1e-8)
        assert ratio.min() == pytest.approx(np.exp(-0.2 * np.pi), rel=1e-8)
        assert 12 <= len(result.events) <= 20

    def test_around_points(self):
        """Eyelets: the angle is that between the spans."""
        one, two = weight("one", 1.0, -1.0, -1.0), weight("two", 3.0, 1.0, -1.0)
        points = [(one, CENTER), (GROUND, [-1, 0, 0]), (GROUND, [1, 0, 0]), (two, CENTER)]
        rope = quirk.Pulley("rope", points, stiffness=1e4, friction=[0.1, 0.3])
        result = quirk.simulate(quirk.System([one, two, rope], gravity=[0, 0, -G]), 0.3, output=[0.2, 0.3])
        first, second, third = later(result, 3)
        np.testing.assert_allclose(second / first, np.exp(0.1 * np.pi / 2), rtol=1e-9)
        np.testing.assert_allclose(third / second, np.exp(0.3 * np.pi / 2), rtol=1e-9)


class TestBelt:
    @UNITS
    @pytest.mark.parametrize(("r", "crossed", "rate"), [((0.1, 0.2), False, 20), ((0.12, 0.1), True, -15)])
    def test_creep(self, m, kg, r, crossed, rate):
        """Speed ratio (1 + T_slack / EA) / (1 + T_tight / EA); each wheel loses EA (change of strain)^2 / 2 of flow."""
        system, stiffness = belt_drive(r, crossed, rate=float(rate), m=m, kg=kg)
        result = quirk.simulate(system, 8.0, output=[8.0], rtol=1e-11)
        assert len(result.events) == 0
        slack, tight = np.sort(tensions(result["belt spans"])[:, -1])
        driven = result["b"].angular_velocity[-1, 1]
        ratio = abs(driven) * r[1] / (abs(rate) * r[0])
        assert ratio == pytest.approx((1 + slack / stiffness) / (1 + tight / stiffness), rel=1e-9)
        torque = 8.0 / abs(rate) * kg * m**2 * driven
        assert (tight - slack) * r[1] * m == pytest.approx(abs(torque), rel=1e-8)
        flow = abs(rate) * r[0] * m / (1 + tight / stiffness)
        lost = result["motor"].torque()[-1] @ [0, rate, 0] - torque * driven
        assert abs(lost) == pytest.approx(flow * (tight - slack) ** 2 / stiffness, rel=1e-5)

    def test_slips_on_the_smaller_wheel(self):
        """The arc on the smaller wheel decides: pi - 2 arcsin((R - r) / d)."""
        system, _ = belt_drive(load=200.0)
        result = quirk.simulate(system, 1.0, output=[0.5, 1.0])
        assert [event.direction for event in result.events] == [1]
        one, two = tensions(result["belt spans"])[:, -2:]
        np.testing.assert_allclose(two / one, np.exp(0.3 * (np.pi - 2 * np.arcsin(0.1 / 0.6))), rtol=1e-9)
        assert (result["belt spans"].coordinate("slip 0")[-2:] < 0).all()
        assert np.abs(result["belt spans"].coordinate("slip 1")).max() == 0

    @pytest.mark.parametrize("method", study(["Vern9", "RK4", "RadauIIA9"], 2))
    def test_equal_wheels_at_their_limit(self, method):
        """Both reach it at once: the belt slips on one and goes along with the other, by one event."""
        system, _ = belt_drive((0.1, 0.1), load=60.0)
        fixed = {"step": 5e-4} if method == "RK4" else {}
        result = quirk.simulate(system, 1.0, method=method, output=0.1, **fixed)
        assert len(result.events) == 1
        np.testing.assert_allclose(np.divide(*tensions(result["belt spans"])[::-1])[2:], np.exp(0.3 * np.pi), rtol=1e-7)

    @pytest.mark.slow
    def test_reversals_do_not_chatter(self):
        """A motor to and fro, stronger than the belt: two events for each slip, and each ends by sticking."""
        system, _ = belt_drive((0.1, 0.13), load=1.0, pretension=1.0, motion=Motion.sinusoid(1.0, 20.0))
        result = quirk.simulate(system, 3.0, output=0.1)
        directions = [event.direction for event in result.events]
        assert 20 < len(directions) < 60
        assert np.ptp(np.diff(np.cumsum([0, *directions]))) == 2 and abs(sum(directions)) <= 2
        assert np.abs(result.power.balance).max() < 1e-9

    @pytest.mark.slow
    def test_serpentine(self):
        """Four wheels: one flow of unstretched belt over all that it does not slip on."""
        r, rate = [0.08, 0.05, 0.06, 0.04], 30.0
        places = [[0, 0, 0], [0.4, 0, 0.1], [0.35, 0, -0.35], [0.02, 0, -0.3]]
        wheels = [
            Body.cylinder(
                f"w{k}", 1.0, r[k], 0.05, axis="y", position=place, angular_velocity=[0, rate * r[0] / r[k], 0]
            )
            for k, place in enumerate(places)
        ]
        axles = [quirk.Revolute(f"axle {w.name}", GROUND, w, point=w.position, axis="y") for w in wheels]
        belt = quirk.Pulley(
            "belt", [Drum(w, CENTER, "y", r[k]) for k, w in enumerate(wheels)], closed=True, stiffness=1e4,
            friction=[0.6, 0.4, 0.4, 0.4], pretension=80.0,
        )  # fmt: skip
        loads = [quirk.TorsionSpring(f"load {k}", axles[k], stiffness=0.0, damping=0.01) for k in (1, 2, 3)]
        motor = quirk.Drive("motor", axles[0], Motion.constant_rate(rate))
        result = quirk.simulate(quirk.System([*wheels, *axles, belt, *loads, motor]), 4.0, output=[4.0], rtol=1e-11)
        assert len(result.events) == 0
        T = tensions(result["belt spans"], 4)[:, -1]
        flows = [r[k] * result[w.name].angular_velocity[-1, 1] / (1 + T[k - 1] / 1e4) for k, w in enumerate(wheels)]
        np.testing.assert_allclose(flows, flows[0], rtol=1e-8)

    def test_gets_slack_and_taut(self):
        """A tensioner that gives way: no tension, and no push, until it comes back."""
        wheel = Body.cylinder("wheel", 1.0, 0.1, 0.05, axis="y", angular_velocity=[0, 5, 0])
        start = [-0.04 * np.pi, 0, 0]
        idler = Body.cylinder(
            "idler", 1.0, 0.1, 0.05, axis="y", position=[0.5, 0, 0], angular_velocity=[0, 5, 0], velocity=start
        )
        slide = Body.box("slide", 1.0, [0.1, 0.1, 0.1], position=[0.5, 0, 0], velocity=start)
        rail = quirk.Prismatic("rail", GROUND, slide, point=[0.5, 0, 0], axis="x")
        axles = [
            quirk.Revolute("axle", GROUND, wheel, point=CENTER, axis="y"),
            quirk.Revolute("pin", slide, idler, point=[0.5, 0, 0], axis="y"),
        ]
        belt = quirk.Pulley(
            "belt", [Drum(wheel, CENTER, "y", 0.1), Drum(idler, CENTER, "y", 0.1)], closed=True, stiffness=1e4,
            friction=0.3, pretension=100.0,
        )  # fmt: skip
        drive = quirk.Drive("drive", rail, Motion.sinusoid(-0.02, 2 * np.pi))
        result = quirk.simulate(quirk.System([wheel, idler, slide, rail, *axles, belt, drive]), 2.0, output=0.01)
        T = tensions(result["belt spans"])
        assert T.min() == 0 and T.max() > 100
        slack = result["belt spans"].coordinate("stretch") < 0
        assert slack.any() and T[:, slack].max() < 1e-7
        assert np.abs(result["belt spans"].force()[slack]).max() < 1e-6
        assert result["rail"].displacement[slack, 2].max() < 0
        assert 4 <= len(result.events) <= 8


def test_block_and_tackle_with_friction():
    """Two falls carry the load: a pull of k^2 / (1 + k) W lifts it, W / (k + k^2) lets it down, k = exp(mu pi)."""
    k = np.exp(0.15 * np.pi)
    for speed, want in ((0.2, k**2 / (1 + k)), (-0.2, 1 / (k + k**2))):
        load = Body.sphere("load", 10.0, 0.1, position=[0.2, 0, -2], velocity=[0, 0, 0.5 * speed])
        hand = Body.sphere("hand", 1.0, 0.1, position=[0.5, 0, -1], velocity=[0, 0, -speed])
        rail = quirk.Prismatic("rail", GROUND, hand, point=hand.position, axis="z")
        guide = quirk.Prismatic("guide", GROUND, load, point=load.position, axis="z")
        points = [
            (GROUND, [0.1, 0, 0]), Drum(load, CENTER, [0, -1, 0], 0.1), Drum(GROUND, [0.4, 0, 0], "y", 0.1),
            (hand, CENTER),
        ]  # fmt: skip
        rope = quirk.Pulley("rope", points, stiffness=1e5, friction=0.15)
        pull = quirk.Drive("pull", rail, Motion.constant_rate(-speed))
        damping = quirk.Damping("damping", load, translational=200.0)
        system = quirk.System([load, hand, rail, guide, rope, pull, damping], gravity=[0, 0, -G])
        result = quirk.simulate(system, 2.0, output=[2.0], rtol=1e-10)
        carried = 10.0 * G + 200.0 * result["load"].velocity[-1, 2]
        assert result["rope spans"].coordinate("tension 2")[-1] == pytest.approx(want * carried, rel=1e-6)
        assert result["load"].velocity[-1, 2] == pytest.approx(0.5 * speed, rel=2e-3)


class TestLimitOfConstantLength:
    """A rope whose tension is that of the rope of constant length moves the bodies alike."""

    def pairs(self, make):
        """Accelerations of both, for the function `make` of the arguments of a rope."""
        rigid = make()
        state = rigid.initial_state()
        tension = rigid.derivatives(state, order=1).multipliers[0, -1]
        for solver in ("sparse", "dense"):
            for name in ("linear", "angular"):
                ours = getattr(make(stiffness=3e4, pretension=tension).acceleration(state, solver=solver), name)
                np.testing.assert_allclose(
                    ours, getattr(rigid.acceleration(state), name), rtol=1e-11, atol=1e-11, err_msg=name
                )

    @pytest.mark.slow
    def test_over_a_sheave_and_points(self):
        def make(**elastic):
            one, two = weight("one", 3.0, -0.3, -1), weight("two", 2.0, 0.8, -2)
            points = [(one, [0.01, 0, 0.05]), Drum(GROUND, CENTER, "y", 0.2), (GROUND, [0.7, 0, 0.1]), (two, CENTER)]
            return quirk.System([one, two, quirk.Pulley("rope", points, **elastic)], gravity=[0, 0, -G])

        self.pairs(make)

    def test_with_winding_drums(self):
        def make(**elastic):
            winch = Body("winch", 4.0, [0.02, 0.03, 0.02])
            load = weight("load", 5.0, 0.5, -2)
            bearing = quirk.Revolute("bearing", GROUND, winch, point=CENTER, axis="y")
            points = [
                (load, CENTER),
                Drum(GROUND, [0.4, 0, 0.3], [0, -1, 0], 0.1),
                Drum(winch, CENTER, [0, -1, 0], 0.1),
            ]
            rope = quirk.Pulley("rope", points, **elastic)
            return quirk.System([winch, load, bearing, rope], gravity=[0, 0, -G])

        self.pairs(make)

    def test_with_weights(self):
        def make(**elastic):
            load, pull = weight("load", 8.0, 0, -3), weight("pull", 1.9, 1, -1)
            points = [(load, CENTER), (GROUND, CENTER), (GROUND, [1, 0, 0]), (pull, CENTER)]
            rope = quirk.Pulley("rope", points, weights=[4, 1, 1], **elastic)
            return quirk.System([load, pull, rope], gravity=[0, 0, -G])

        self.pairs(make)

    def test_motion_of_a_stiff_rope(self):
        """The tension remains constant, so that the elastic rope moves as the rigid one, whatever its stiffness."""
        rigid = quirk.simulate(over_a_bar_of(None), 0.5, output=[0.5])["one"].position[-1, 2]
        errors = [
            abs(quirk.simulate(over_a_bar_of(ea), 0.5, output=[0.5], rtol=1e-10)["one"].position[-1, 2] - rigid)
            for ea in (1e5, 4e5)
        ]
        assert max(errors) < 1e-10


def over_a_bar_of(stiffness):
    """Two weights over a sheave without friction, whose rope starts with the tension of the rigid one."""
    one, two = weight("one", 1.0, -0.1, -1), weight("two", 3.0, 0.1, -1.5)
    elastic = {} if stiffness is None else {"stiffness": stiffness, "pretension": 1.5 * G}
    rope = quirk.Pulley("rope", [(one, CENTER), Drum(GROUND, CENTER, "y", 0.1), (two, CENTER)], **elastic)
    return quirk.System([one, two, rope], gravity=[0, 0, -G])


class TestLaw:
    """The law by itself: loads, power, flows and their rates, in all states, along random motions."""

    STATES = ((STICKS, STICKS, STICKS), (AHEAD, STICKS, BACK), (BACK, AHEAD, STICKS), (STICKS, FREE, FREE))

    def random_rope(self, seed, closed):
        rng = np.random.default_rng(seed)
        places = np.array([[0, 0, 0], [1, 0.2, 0], [1.2, -0.8, 0], [0.1, -1.1, 0]]) + 0.05 * rng.normal(size=(4, 3))
        bodies = [
            Body(f"b{k}", 1.0, [0.02, 0.03, 0.025], position=place, velocity=rng.normal(size=3),
                 angular_velocity=rng.normal(size=3))
            for k, place in enumerate(places)
        ]  # fmt: skip
        drums = [Drum(b, [0, 0, 0.01], [0, 0, -1], 0.1 + 0.03 * k) for k, b in enumerate(bodies)]
        points = [drums[0], drums[1], (bodies[2], [0.05, 0, 0]), drums[3]]
        friction = [0.2, 0, 0.1, 0.4] if closed else [0.2, 0.1]
        rope = quirk.Pulley("rope", points, closed=closed, stiffness=50.0, friction=friction, length=3.0)
        return quirk.System([*bodies, rope])

    def exerted(self, system, states, order=0):
        rope, state = system["rope spans"].in_state(states), system.initial_state()
        kin = Kinematics.of(state)
        rows = [next((k for k, b in enumerate(system.bodies) if b is body), 4) for body in rope.bodies]
        unstretched = np.array([getattr(rope, name) for name in rope.internal])
        unstretched = unstretched * (1 + 0.1 * np.sin(np.arange(len(unstretched))))
        return (
            exerted(rope, rows, PoseDerivatives.of(kin, order + 1), 0.0, order, {}, {rope.name: unstretched}),
            kin,
            rows,
        )

    @pytest.mark.parametrize("closed", [True, False])
    @pytest.mark.parametrize("seed", range(3))
    def test_momentum_power_and_flow(self, seed, closed):
        system = self.random_rope(seed, closed)
        rope = system["rope spans"]
        for states in self.STATES:
            states = states if closed else states[:2]
            acts, kin, rows = self.exerted(system, states)
            loads = acts.loads[:, 0]
            np.testing.assert_allclose(loads[:, :3].sum(axis=0), 0, atol=1e-12)
            moments = loads[:, 3:] + np.cross(kin.position[rows], loads[:, :3])
            np.testing.assert_allclose(moments.sum(axis=0), 0, atol=1e-11)
            if closed:
                assert abs(acts.rates[:, 0].sum()) < 1e-13  # no rope is lost
            shown = dict(zip(rope.coordinates, acts.coordinates, strict=True))
            for stop, state in zip(rope.sections.stops, states, strict=True):
                slip = shown[f"slip {stop}"][0]
                assert (slip == 0) == (state == STICKS)

    def test_the_ratio_stays_while_it_slips(self):
        """From a ratio at the limit, the rate of the margin is zero; steps along the motion confirm it."""
        system = over_a_bar(pretension=[20.0, 20.0 * np.exp(0.2 * np.pi)])
        result = quirk.simulate(system, 1e-3, output=[0.0, 1e-3])
        one, two = tensions(result["rope spans"])
        np.testing.assert_allclose(two / one, np.exp(0.2 * np.pi), rtol=1e-9)
        assert result["rope spans"].coordinate("slip 1")[-1] > 0

    @pytest.mark.parametrize("seed", study(range(3), 1))
    def test_reversed_order_moves_alike(self, seed):
        rng = np.random.default_rng(seed)
        friction = rng.uniform(0.05, 0.3, 2)

        def make(back):
            one, two = weight("one", 1.0, -0.5, -1), weight("two", 4.0, 0.9, -1.2)
            wheel = Body.cylinder("wheel", 0.5, 0.1, 0.05, axis="y", position=[-0.3, 0, 0])
            axle = quirk.Revolute("axle", GROUND, wheel, point=wheel.position, axis="y")
            sense = [0, -1, 0] if back else [0, 1, 0]
            points = [
                (one, CENTER),
                Drum(wheel, CENTER, sense, 0.1),
                Drum(GROUND, [0.6, 0, 0.1], sense, 0.2),
                (two, CENTER),
            ]
            order = slice(None, None, -1) if back else slice(None)
            rope = quirk.Pulley("rope", points[order], stiffness=2e3, friction=friction[order])
            return quirk.System([one, two, wheel, axle, rope], gravity=[0, 0, -G])

        one, two = (quirk.simulate(make(back), 0.6, output=0.1, rtol=1e-10) for back in (False, True))
        assert len(one.events) == len(two.events) > 1
        for name in ("one", "two", "wheel"):
            np.testing.assert_allclose(one[name].position, two[name].position, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(one[name].angular_velocity, two[name].angular_velocity, rtol=1e-6, atol=1e-7)

    def test_energy_of_a_rope_without_friction(self):
        """Swinging in space over a sheave: elastic, kinetic and potential energy are constant."""
        one, two = weight("one", 1.0, -0.6, -1), weight("two", 1.1, 0.4, -1.5)
        one = Body.sphere("one", 1.0, 0.05, position=[-0.6, 0.1, -1], velocity=[0, 0.5, 0])
        points = [(one, [0, 0, 0.05]), Drum(GROUND, CENTER, "y", 0.1), (two, [0, 0, 0.05])]
        rope = quirk.Pulley("rope", points, stiffness=500.0, length=2.6)
        system = quirk.System([one, two, rope], gravity=[0, 0, -G])
        result = quirk.simulate(system, 1.0, rtol=1e-11, atol=1e-13, output=0.1)
        assert result.conservative and result.energy.potential_of["rope spans"].max() > 0.1
        assert np.abs(result.energy.total - result.energy.total[0]).max() < 1e-9

    def test_balance_with_friction(self):
        result = quirk.simulate(over_a_bar(), 0.5, output=0.05, rtol=1e-10)
        assert np.abs(result.power.balance).max() < 1e-10
        assert result.energy.total[-1] < result.energy.total[0] - 0.1
        assert (np.diff(result.energy.total) < 1e-12).all()

    def test_a_winch_gets_stiffer(self):
        """Rope on a drum does not stretch: frequency sqrt(EA / (m l)) for the free length l alone."""
        winch = Body("winch", 4.0, [0.02, 0.03, 0.02], angular_velocity=[0, 10, 0])
        bearing = quirk.Revolute("bearing", GROUND, winch, point=CENTER, axis="y")
        load = Body.sphere("load", 5.0, 0.1, position=[-0.1, 0, -3], velocity=[0, 0, 0.95])
        rope = quirk.Pulley("rope", [(load, CENTER), Drum(winch, CENTER, "y", 0.1)], stiffness=2e4, pretension=5 * G)
        turn = quirk.Drive("turn", bearing, Motion.polynomial([0, 10.0]))
        system = quirk.System([winch, load, bearing, rope, turn], gravity=[0, 0, -G])
        result = quirk.simulate(system, 2.0, output=0.001)
        # 2 m have been wound up; the load oscillates about the speed of 1 m/s.
        relative = result["load"].velocity[1900:, 2] - 1.0
        crossings = np.flatnonzero(np.diff(np.sign(relative)))
        period = 2 * np.diff(result.time[1900:][crossings]).mean()
        assert 2 * np.pi / period == pytest.approx(np.sqrt(2e4 / (5.0 * 1.05)), rel=0.05)


class TestInterfaces:
    """Other ways to run, store and read systems with ropes."""

    @pytest.fixture
    def slipping(self):
        return over_a_bar()

    @pytest.mark.parametrize("method", study(["RadauIIA9", "RK4", "Taylor"], 2))
    def test_solvers_and_methods_agree(self, slipping, method):
        want = quirk.simulate(slipping, 0.1, output=[0.1], rtol=1e-11)["two"].position[-1]
        how = {"step": 1e-4} if method == "RK4" else {"rtol": 1e-10}
        got = quirk.simulate(slipping, 0.1, output=[0.1], method=method, **how)
        np.testing.assert_allclose(got["two"].position[-1], want, rtol=1e-8)

    def test_continues_from_a_state(self, slipping):
        whole = quirk.simulate(slipping, 0.2, output=[0.2], rtol=1e-11)
        half = quirk.simulate(slipping, 0.1, output=[0.1], rtol=1e-11)
        rest = quirk.simulate(slipping, 0.1, initial_state=half.state_at(), start=0.1, output=[0.2], rtol=1e-11)
        assert len(rest.events) == 0
        np.testing.assert_allclose(rest["two"].position[-1], whole["two"].position[-1], rtol=1e-9)

    def test_run_restores_what_it_saved(self, slipping):
        run = quirk.Run(slipping, method="Vern9")
        run.advance(0.06)
        saved = run.save()
        run.advance(0.06)
        want = run.state.position.copy()
        run.restore(saved)
        run.advance(0.06)
        np.testing.assert_array_equal(run.state.position, want)

    def test_checkpoints(self, slipping, tmp_path):
        plain = quirk.simulate(slipping, 0.2, output=0.05)
        kept = quirk.simulate(slipping, 0.2, output=0.05, checkpoint=tmp_path / "run.quirk")
        np.testing.assert_array_equal(kept["two"].position, plain["two"].position)

    def test_files(self, slipping, tmp_path):
        result = quirk.simulate(slipping, 0.2, output=0.05)
        result.save(tmp_path / "run.nc")
        again = quirk.Result.load(tmp_path / "run.nc")
        for name in ("tension 0", "slip 1"):
            want = result["rope spans"].coordinate(name)
            np.testing.assert_array_equal(again["rope spans"].coordinate(name), want)
        drive = belt_drive()[0]
        drive.save(tmp_path / "drive.toml")
        loaded = quirk.load(tmp_path / "drive.toml")
        assert loaded["belt"].closed and loaded["belt spans"].unstretched_0 == drive["belt spans"].unstretched_0

    def test_batch_and_sweep(self, slipping):
        batch = quirk.Batch(slipping, 2, vary={("two", "mass"): [2.5, 3.0]}, method="RK4", step=1e-3)
        batch.advance(0.1)
        want = quirk.simulate(slipping, 0.1, output=[0.1], method="RK4", step=1e-3)["two"].position[-1]
        np.testing.assert_allclose(batch.state.position[1, 1], want, rtol=1e-12)

    def test_batch_with_another_drum(self):
        """Wheels with other masses: the rope then runs over the new ones."""
        system, _ = belt_drive()
        batch = quirk.Batch(system, 2, vary={("b", "mass"): [4.0, 6.0]}, method="RK4", step=1e-3)
        batch.advance(0.05)
        want = quirk.simulate(system, 0.05, output=[0.05], method="RK4", step=1e-3)["b"].angular_velocity[-1]
        np.testing.assert_allclose(batch.state.angular_velocity[0, 1], want, rtol=1e-12)
        assert not np.allclose(batch.state.angular_velocity[1, 1], want, rtol=1e-6)

    def test_sensitivities_without_friction(self):
        def final(stiffness, mass):
            one, two = weight("one", mass, -0.1, -1), weight("two", 3.0, 0.1, -1.5)
            bar = Drum(GROUND, CENTER, "y", 0.1)
            rope = quirk.Pulley("rope", [(one, CENTER), bar, (two, CENTER)], stiffness=stiffness, length=2.8)
            system = quirk.System([one, two, rope], gravity=[0, 0, -G])
            return system, {"output": [0.2], "rtol": 1e-12, "atol": 1e-14}

        system, how = final(1e3, 1.0)
        wanted = [("rope spans", "stiffness"), ("one", "mass")]
        result = quirk.simulate(system, 0.2, sensitivities=wanted, **how)
        for parameter, h in zip(wanted, ((1e-3, 0), (0, 1e-6)), strict=True):
            ends = []
            for sign in (1, -1):
                changed, how = final(1e3 + sign * h[0], 1.0 + sign * h[1])
                ends.append(quirk.simulate(changed, 0.2, **how)["two"].position[-1])
            want = (ends[0] - ends[1]) / (2 * max(h))
            got = result.sensitivity[parameter]["two"].position[-1]
            np.testing.assert_allclose(got.ravel(), want, rtol=1e-5, atol=1e-9)

    def test_modes(self):
        """Two equal weights on a rope: half of it carries each, sqrt(2 EA / (m l)) against each other."""
        one, two = weight("one", 1.0, -0.1, -1), weight("two", 1.0, 0.1, -1)
        points = [(one, CENTER), Drum(GROUND, CENTER, "y", 0.1), (two, CENTER)]
        rope = quirk.Pulley("rope", points, stiffness=1e4, pretension=G)
        system = quirk.System([one, two, rope], gravity=[0, 0, -G])
        length = rope.length
        fastest = np.abs(system.modes(system.equilibrium()).eigenvalues.imag).max()
        assert fastest == pytest.approx(np.sqrt(2 * 1e4 / length), rel=1e-3)

    def test_a_running_belt_is_linearized(self):
        system, _ = belt_drive()
        A = system.linearize().A
        assert np.isfinite(A).all() and A.shape == (4, 4)

    def test_a_closed_line_is_drawn(self):
        from quirk.graphics.scene.ropes import rods
        from quirk.graphics.scene.scene import Scene

        system, _ = belt_drive((0.1, 0.1))
        result = quirk.simulate(system, 0.1, output=0.05)
        ((_, line),) = rods(Scene(result, result.time, []), [system["belt"]])
        np.testing.assert_allclose(line[0, 0], line[0, -1], atol=1e-12)
        assert np.linalg.norm(np.diff(line[0], axis=0), axis=1).sum() == pytest.approx(1.2 + 0.2 * np.pi, rel=5e-3)


A, B = weight("a", 1.0, -1, -1), weight("b", 1.0, 1, -1)
ENDS = (A, CENTER), (B, CENTER)
BAR, LOOP = Drum(GROUND, CENTER, "y", 0.1), [Drum(A, CENTER, "y", 0.1), Drum(B, CENTER, "y", 0.1)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: quirk.Pulley("p", [ENDS[0], BAR, ENDS[1]], friction=0.1), "friction requires stiffness="),
        (lambda: quirk.Pulley("p", [ENDS[0], BAR, ENDS[1]], pretension=1.0), "pretension requires stiffness="),
        (lambda: quirk.Pulley("p", LOOP, closed=True), "a closed rope requires stiffness="),
        (lambda: quirk.Pulley("p", LOOP, closed=1, stiffness=1e3), "closed must be True or False; got 1"),
        (lambda: quirk.Pulley("p", LOOP, stiffness=0), "stiffness must be positive; got 0"),
        (lambda: quirk.Pulley("p", LOOP, stiffness="big"), "stiffness must be a number; got 'big'"),
        (lambda: quirk.Pulley("p", LOOP, stiffness=1e3, friction=[0.1]), "friction must be a number or 0 numbers, one for each stop between the ends"),
        (lambda: quirk.Pulley("p", LOOP, closed=True, stiffness=1e3, friction=[0.1]), "friction must be a number or 2 numbers, one for each stop"),
        (lambda: quirk.Pulley("p", LOOP, closed=True, stiffness=1e3, friction=-0.1), "friction must not be negative"),
        (lambda: quirk.Pulley("p", LOOP, closed=True, stiffness=1e3, pretension=[1, 2, 3]), "pretension must be a number or 2 numbers, one for each span"),
        (lambda: quirk.Pulley("p", LOOP, closed=True, stiffness=1e3, pretension=[1, 2]), "pretension must be the same in spans without friction between them"),
        (lambda: quirk.Pulley("p", LOOP, closed=True, stiffness=1e3, friction=0.1, pretension=[1, 2]), "must have a ratio of at most exp(friction * angle) = 1.36911"),
        (lambda: quirk.Pulley("p", LOOP, closed=True, stiffness=1e3, pretension=1.0, length=2.0), "give either length, of the rope without load, or pretension, not both"),
        (lambda: quirk.Pulley("p", LOOP, stiffness=1e3, active=False), "an elastic rope is a force, which acts from the start"),
        (lambda: quirk.Pulley("p", [ENDS[0], (GROUND, CENTER), ENDS[1]], stiffness=1e3, friction=0.1, weights=[2, 1]), "weights next to points[1], which has friction, must be 1"),
        (lambda: quirk.Pulley("p", [ENDS[0], (GROUND, [0, 0, -1]), ENDS[1]], stiffness=1e3, friction=0.1), "the rope runs straight past points[1]"),
        (lambda: Drum(GROUND, CENTER, "y", 0.1, turns=1.5), "turns must be a whole number, zero or more; got 1.5"),
        (lambda: quirk.Pulley("p", [ENDS[0], Drum(B, CENTER, "y", 0.1, turns=2)]), "takes any number of turns; leave out turns"),
    ],
)  # fmt: skip
def test_refused(make, says):
    with pytest.raises(quirk.InputError) as error:
        make()
    assert says in str(error.value)


def test_refused_by_what_needs_no_history():
    system = over_a_bar()
    with pytest.raises(quirk.InputError, match="where a rope rests depends on how it came there"):
        system.equilibrium()
    with pytest.raises(quirk.InputError, match="a rope with friction slips and sticks are not differentiated"):
        quirk.simulate(system, 0.1, sensitivities=[("one", "mass")])
    with pytest.raises(quirk.InputError, match="has internal variables"):
        quirk.kinematics(system, [0.0, 0.1])


def test_refused_at_rest_with_unequal_tensions():
    """Creep differs forward and back, so that nothing is linear there."""
    wheel = Body.cylinder("wheel", 1.0, 0.1, 0.05, axis="y")
    axle = quirk.Revolute("axle", GROUND, wheel, point=CENTER, axis="y")
    one, two = weight("one", 1.0, -0.1, -1), weight("two", 1.2, 0.1, -1)
    hold = quirk.JointTorque("hold", axle, -0.2 * G * 0.1)
    points = [(one, CENTER), Drum(wheel, CENTER, "y", 0.1), (two, CENTER)]
    rope = quirk.Pulley("rope", points, stiffness=1e4, friction=0.3, pretension=[G, 1.2 * G])
    system = quirk.System([wheel, axle, one, two, rope, hold], gravity=[0, 0, -G])
    with pytest.raises(quirk.InputError, match="it rests with different tensions on both sides"):
        system.linearize(system.initial_state())


def test_refused_start_beyond_the_limit():
    system = over_a_bar(pretension=[G, 1.5 * G])
    state = system.initial_state()
    state.position[1, 2] -= 0.05
    with pytest.raises(quirk.SimulationError, match="differ by more than friction can hold"):
        quirk.simulate(system, 0.1, initial_state=state)


def test_quantities_have_their_units():
    """In tables, in names of columns, and along the axes of plots."""
    system = over_a_bar(friction=0.2)
    result = quirk.simulate(system, 0.01, output=0.01)
    rope = next(force for force in system.forces if force.coordinates)
    columns = result.to_pandas("forces").columns
    units = {
        "tension": ("N", "N/s"),
        "stretch": ("", "1/s"),
        "speed": ("m/s", "m/s^2"),
        "slip": ("m/s", "m/s^2"),
        "slipping": ("m/s", "m/s^2"),
        "grip ahead": ("N", "N/s"),
        "grip back": ("N", "N/s"),
        "reserve": ("", "1/s"),
    }
    for coordinate in rope.coordinates:
        unit = units[coordinate.rstrip("0123456789 ")]
        own = [column for column in columns if f"{rope.name}.{coordinate}" in column]
        assert [column.partition(" [")[2].rstrip("]") for column in own][:2] == list(unit), own
