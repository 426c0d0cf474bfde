"""Events: where quantities cross, and what happens then."""

import numpy as np
import pytest
from scipy.special import ellipk

import quirk
from quirk.errors import InputError, SimulationError, UnknownNameError

G = 9.81


def pendulum(angle=1.0, *events, length=1.0, moment=1e-3):
    """A pendulum that starts at rest, and its period."""
    x, z = length * np.sin(angle), -length * np.cos(angle)
    bob = quirk.Body("bob", mass=1.0, inertia=[moment] * 3, position=[x, 0, z])
    hinge = quirk.Revolute("hinge", quirk.GROUND, bob, point=[0, 0, 0], axis=[0, 1, 0])
    omega = np.sqrt(G * length / (length**2 + moment))
    return quirk.System([bob, hinge, *events], gravity=[0, 0, -G]), 4 / omega * ellipk(np.sin(angle / 2) ** 2)


VERTICAL = quirk.Event("vertical", "bob.position.x")


@pytest.mark.parametrize(
    ("options", "tolerance"),
    [
        ({"rtol": 1e-13, "atol": 1e-15}, 1e-12),
        ({"method": "DOP853", "rtol": 1e-13, "atol": 1e-15}, 1e-12),
        ({"method": "RK4", "step": 1e-3}, 1e-10),
        ({"method": "Tsit5", "rtol": 1e-11}, 1e-9),
        ({"method": "RadauIIA9", "rtol": 1e-11}, 1e-9),
    ],
    ids=lambda options: options.get("method", "Vern9") if isinstance(options, dict) else "",
)
def test_passages_of_a_pendulum(options, tolerance):
    """Through the vertical at T/4, 3T/4, ..., with T the complete elliptic integral."""
    system, period = pendulum(1.0, VERTICAL)
    result = quirk.simulate(system, 1.5 * period, output=0.5, **options)
    np.testing.assert_allclose(result.events.time, period * np.array([0.25, 0.75, 1.25]), rtol=tolerance)
    assert [event.direction for event in result.events] == [-1, 1, -1]
    assert result.status == "completed"
    assert len(result["vertical"]) == 3


def test_recording_changes_nothing():
    bare, _ = pendulum()
    watched, _ = pendulum(1.0, VERTICAL, quirk.Event("function", lambda t, state: state["bob"].velocity[2] - 0.1))
    one, two = (quirk.simulate(system, 3.0, output=0.1) for system in (bare, watched))
    np.testing.assert_array_equal(one["bob"].position, two["bob"].position)
    assert len(two.events.of("function")) > 2


def test_stops_where_it_is_to():
    event = quirk.Event("third", "hinge.angle", level=0.3, direction=-1, action="stop")
    system, _ = pendulum(1.0)
    result = quirk.simulate(system, 5.0, output=0.1, events=[event], rtol=1e-11)
    assert result.status == "stopped"
    assert result.events[-1].time == result.time[-1]
    assert abs(result["hinge"].rotation[-1, 2] - 0.3) < 1e-12
    assert result.events[-1].direction == -1


def test_names_and_functions_agree():
    by_name = {
        "bob.position.z": lambda t, state: state["bob"].position[2],
        "bob.velocity.x": lambda t, state: state["bob"].velocity[0],
        "bob.speed": lambda t, state: state["bob"].speed,
        "bob.angular_velocity.y": lambda t, state: state["bob"].angular_velocity[1],
        "bob.angular_speed": lambda t, state: np.sqrt(state["bob"].spin @ state["bob"].spin),
        "hinge.angle": lambda t, state: state["hinge"].angle,
        "time": lambda t, state: t,
    }
    system, _ = pendulum(1.0)
    probe = quirk.simulate(system, 0.7, output=[0.7])
    body, hinge = probe["bob"], probe["hinge"]
    values = [
        body.position[0, 2], body.velocity[0, 0], np.linalg.norm(body.velocity[0]), body.angular_velocity[0, 1],
        np.linalg.norm(body.angular_velocity[0]), hinge.rotation[0, 2], 0.7,
    ]  # fmt: skip
    events = []
    for (name, function), level in zip(by_name.items(), values, strict=True):
        events.append(quirk.Event(f"{name} by name", name, level=level))
        events.append(quirk.Event(f"{name} by function", lambda t, s, f=function, x=level: f(t, s) - x))
    result = quirk.simulate(system, 0.9, output=0.1, events=events)
    for name in by_name:
        for how in ("name", "function"):
            assert np.abs(result.events.of(f"{name} by {how}").time - 0.7).min() < 1e-9, (name, how)


def test_loads_and_energies_by_name():
    """Where each reading has the value that the result shows there."""
    rod = quirk.Body.box("rod", mass=2.0, size=[1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    tip = quirk.Body.sphere("tip", mass=0.5, radius=0.1, position=[1.2, 0, 0])
    wrist = quirk.Universal("wrist", rod, tip, point=[1, 0, 0], axis_i=[0, 1, 0], axis_j=[0, 0, 1])
    spring = quirk.Spring("spring", quirk.GROUND, tip, point_i=[0, 0, 1], stiffness=3.0)
    system = quirk.System([rod, hinge, tip, wrist, spring], gravity=[0.3, 1, -G])
    probe = quirk.simulate(system, 0.4, output=[0.37], rtol=1e-12)
    want = {
        "hinge.force": np.linalg.norm(probe["hinge"].force()[0]),
        "hinge.force.z": probe["hinge"].force()[0, 2],
        "hinge.torque": np.linalg.norm(probe["hinge"].torque()[0]),
        "wrist.force.x": probe["wrist"].force()[0, 0],
        "wrist.torque.x": probe["wrist"].torque()[0, 0],
        "spring.force": np.linalg.norm(probe["spring"].force()[0]),
        "spring.force.x": probe["spring"].force()[0, 0],
        "spring.length": probe["spring"].coordinate()[0],
        "spring.energy": probe["spring"].energy[0],
        "energy.kinetic": probe.energy.kinetic[0],
        "energy.potential": probe.energy.potential[0],
    }
    events = [quirk.Event(name, name, level=level) for name, level in want.items()]
    result = quirk.simulate(system, 0.4, output=0.1, rtol=1e-12, events=events)
    for name in want:
        assert np.abs(result.events.of(name).time - 0.37).min() < 1e-8, (name, result.events.of(name).time)


def free(z=0.0, velocity=(0, 0, 0), *events):
    ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1, position=[0, 0, z], velocity=velocity)
    return quirk.System([ball, *events], gravity=[0, 0, -G])


def test_two_crossings_in_one_step():
    """A throw that just passes its level and comes back: both are found, though a step is much longer."""
    top = 5.0**2 / (2 * G)
    for below in (1e-2, 1e-6, 1e-9):
        system = free(0.0, (0, 0, 5.0), quirk.Event("height", "ball.position.z", level=top - below))
        result = quirk.simulate(system, 1.0, output=0.5)
        dt = np.sqrt(2 * below / G)
        assert result.statistics.steps < 60
        np.testing.assert_allclose(result.events.time, 5.0 / G + np.array([-dt, dt]), atol=1e-15 / dt + 1e-14)
    system = free(0.0, (0, 0, 5.0), quirk.Event("height", "ball.position.z", level=top * (1 + 1e-12)))
    assert len(quirk.simulate(system, 1.0, output=0.5).events) == 0


def test_turning_point():
    """A spring at its turning point: a velocity that passes zero at half periods."""
    ball = quirk.Body.sphere("ball", mass=2.0, radius=0.1, position=[1.3, 0, 0])
    guide = quirk.Prismatic("guide", quirk.GROUND, ball, axis=[1, 0, 0])
    spring = quirk.JointForce("spring", guide, lambda t, x, rate: -50.0 * x - 65.0)
    system = quirk.System([ball, guide, spring, quirk.Event("turn", "guide.travel_rate")])
    result = quirk.simulate(system, 4.0, output=1.0, rtol=1e-13, atol=1e-15)
    want = np.pi / 5 * np.arange(1, len(result.events) + 1)
    np.testing.assert_allclose(result.events.time, want, rtol=1e-12)
    assert len(want) == 6


def test_turns_count():
    wheel = quirk.Body.cylinder("wheel", mass=1.0, radius=0.2, length=0.1, axis="z", angular_velocity=[0, 0, 7.0])
    axle = quirk.Revolute("axle", quirk.GROUND, wheel, point=[0, 0, 0], axis=[0, 0, 1])
    turns = [quirk.Event(f"{k}", "axle.angle", level=2 * np.pi * k + 0.5, direction=1) for k in range(-1, 9)]
    system = quirk.System([wheel, axle, *turns])
    result = quirk.simulate(system, 7.5, output=2.5)
    np.testing.assert_allclose(result.events.time, (2 * np.pi * np.arange(9) + 0.5) / 7.0, rtol=1e-12)
    assert result.events.name == [str(k) for k in range(9)]


def test_a_quantity_that_starts_at_zero():
    """It has not crossed yet; it does when it comes back."""
    system = free(0.0, (0, 0, 3.0), quirk.Event("level", "ball.position.z"))
    result = quirk.simulate(system, 1.0, output=0.5)
    np.testing.assert_allclose(result.events.time, [6.0 / G], rtol=1e-13)
    assert result.events[0].direction == -1


def test_simultaneous_events_come_in_the_order_of_declaration():
    seen = []

    def noted(name):
        return lambda t, state: seen.append((name, t))

    events = [
        quirk.Event(name, quantity, level=level, action=noted(name))
        for name, quantity, level in (("b", "time", 0.5), ("a", "time", 0.5), ("c", "ball.position.x", 1.0))
    ]
    quirk.simulate(free(0.0, (2.0, 0, 0), *events), 1.0)
    assert [name for name, _ in seen] == ["b", "a", "c"]
    assert len({t for _, t in seen}) == 1


def test_both_sides_of_what_changes_are_kept():
    event = quirk.Event("kick", "time", level=0.25, action=quirk.set_velocity("ball", velocity=[0, 0, 2.0]))
    result = quirk.simulate(free(0.0, (1.0, 0, 0), event), 1.0, output=0.5)
    np.testing.assert_allclose(result.time, [0, 0.25, 0.25, 0.5, 1.0])
    np.testing.assert_allclose(result["ball"].velocity[1:3], [[1, 0, -0.25 * G], [0, 0, 2.0]], atol=1e-14)
    (happened,) = result.events
    np.testing.assert_allclose(happened.energy_loss, 0.5 * (1 + (0.25 * G) ** 2 - 4), rtol=1e-12)


def test_forces_are_switched_and_replaced():
    ball = quirk.Body.sphere("ball", mass=2.0, radius=0.1)
    push = quirk.Force("push", ball, [4.0, 0, 0])
    harder = quirk.Force("push", ball, [10.0, 0, 0])
    events = [
        quirk.Event("off", "time", level=1.0, action=quirk.switch_off("push")),
        quirk.Event("on", "time", level=2.0, action=quirk.switch_on("push")),
        quirk.Event("more", "time", level=3.0, action=quirk.replace("push", harder)),
    ]
    result = quirk.simulate(quirk.System([ball, push, *events]), 4.0, output=0.5)
    np.testing.assert_allclose(result["ball"].velocity[-1, 0], 2 + 0 + 2 + 5, rtol=1e-13)
    np.testing.assert_allclose(result["push"].force()[[0, 4, -1], 0], [4, 0, 10], rtol=1e-13)
    np.testing.assert_allclose(result.power.balance, 0, atol=1e-11)


def test_constraints_and_forces_are_enabled_and_disabled_by_the_same_words(tmp_path):
    """During a run and between runs; what is disabled stays so in systems and files that are made from a system."""
    ball = quirk.Body.sphere("ball", mass=2.0, radius=0.1, velocity=[1.0, 0, 0])
    push = quirk.Force("push", ball, [4.0, 0, 0])
    hold = quirk.Fixed("hold", quirk.GROUND, ball, active=False)
    stand = quirk.Event(
        "stand", "time", level=1.0, action=[quirk.disable("push"), quirk.enable(hold, keep_offset=True)]
    )
    go = quirk.Event("go", "time", level=2.0, action=[quirk.disable(hold), quirk.enable("push")])
    system = quirk.System([ball, push, hold, stand, go])
    result = quirk.simulate(system, 3.0, output=0.5)
    np.testing.assert_allclose(result.at([0.5, 1.5, 3.0])["ball"].velocity[:, 0], [2, 0, 2], atol=1e-12)
    np.testing.assert_allclose(result["push"].force()[[0, 4, -1], 0], [4, 0, 4], rtol=1e-13)
    assert result.at([0.5, 1.5, 3.0]).active("push").tolist() == [True, False, True]
    system.disable("push")
    assert not system.is_active("push")
    assert quirk.simulate(system, 0.5)["ball"].velocity[-1, 0] == 1.0
    assert not system.with_parts(quirk.Torque("turn", ball, [1, 0, 0])).is_active("push")
    system.save(tmp_path / "m.toml")
    again = quirk.load(tmp_path / "m.toml")
    assert not again.is_active("push") and again["stand"].actions == stand.actions
    again.enable("push")
    assert quirk.simulate(again, 0.5)["ball"].velocity[-1, 0] == pytest.approx(2.0)


def test_a_driver_follows_another_motion():
    wheel = quirk.Body.cylinder("wheel", mass=1.0, radius=0.2, length=0.1, axis="z")
    axle = quirk.Revolute("axle", quirk.GROUND, wheel, point=[0, 0, 0], axis=[0, 0, 1])
    motor = quirk.Drive("motor", axle, quirk.Motion.constant_rate(2.0))
    event = quirk.Event("faster", "time", level=1.0,
                        action=quirk.follow("motor", quirk.Motion.polynomial([-1.0, 3.0])))  # fmt: skip
    system = quirk.System([wheel, axle, motor, event])
    system.assemble()
    result = quirk.simulate(system, 2.0, output=0.5)
    np.testing.assert_allclose(result["axle"].rotation[-1, 2], 5.0, rtol=1e-12)
    inertia = wheel.inertia[2, 2]
    np.testing.assert_allclose(result.events[0].impulse["motor"].torque, [0, 0, inertia * 1.0], atol=1e-13)
    np.testing.assert_allclose(result.events[0].energy_after, 0.5 * inertia * 9, rtol=1e-12)


def test_functions_return_actions():
    def decide(t, state):
        assert state.position.shape == (1, 3)
        return [quirk.set_velocity("ball", velocity=[0, 0, 0]), None] if t > 0.3 else None

    events = [quirk.Event(f"{t}", "time", level=t, action=decide) for t in (0.2, 0.4)]
    result = quirk.simulate(free(0.0, (1.0, 0, 0), *events), 0.4, output=0.1)
    np.testing.assert_allclose(result["ball"].velocity[-1], 0, atol=1e-15)
    np.testing.assert_allclose(result["ball"].position[-1, 0], 0.4, rtol=1e-13)


class TestErrors:
    def test_a_function_that_is_not_a_number(self):
        event = quirk.Event("bad", lambda t, state: np.sqrt(state["ball"].position[2] + 0.5))
        with pytest.raises(SimulationError, match=r'Event "bad": its function is not a number at t = 0\.') as caught:
            quirk.simulate(free(0.0, (0, 0, 0), event), 1.0, output=0.1)
        assert caught.value.result.time[-1] > 0.2

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            (lambda t, state: state["bal"].position[2], 'no body or constraint "bal"'),
            (lambda t, state: True, "must return a number"),
            (lambda t, state: state["ball"].position, "must return a number"),
            (lambda t, state: t.nothing, r"f\(t, state\), failed"),
            (lambda t: 0.0, r"must be a function f\(t, state\); got a function with 1 argument"),
            ("ball.hight", 'no quantity is called "ball.hight"'),
            ("bell.speed", "does not start with a name of the system"),
            (3.0, "must be a function of"),
        ],
    )
    def test_what_is_no_quantity(self, function, message):
        with pytest.raises(InputError, match=message):
            quirk.simulate(free(0.0, (0, 0, 0), quirk.Event("bad", function)), 1.0)

    def test_actions(self):
        with pytest.raises(InputError, match='Event "e": action must be "record", "stop"'):
            quirk.Event("e", "time", action="stpo")
        with pytest.raises(UnknownNameError, match="nothing"):
            quirk.simulate(free(0.0, (0, 0, 0), quirk.Event("e", "time", action=quirk.engage("nothing"))), 1.0)
        with pytest.raises(InputError, match='Event "e": Body "ball" is not a constraint'):
            quirk.simulate(free(0.0, (0, 0, 0), quirk.Event("e", "time", action=quirk.release("ball"))), 1.0)

    def test_events_without_end(self):
        """Each event throws the ball back to where it crosses at once."""
        event = quirk.Event("again", "ball.position.z", level=-0.5, direction=-1,
                            action=lambda t, s: quirk.set_velocity("ball", velocity=[0, 0, 1e-12]))  # fmt: skip
        with pytest.raises(SimulationError, match=r'\d+ events within .* most of them "again"') as caught:
            quirk.simulate(free(0.0, (0, 0, 0), event), 1.0, output=0.1)
        np.testing.assert_allclose(caught.value.time, np.sqrt(1 / G), rtol=1e-6)
        assert 199 <= len(caught.value.result.events) < 300

    def test_an_action_that_fails(self):
        event = quirk.Event("broken", "time", level=0.5, action=lambda t, s: 1 / 0)
        with pytest.raises(SimulationError, match='Event "broken": its action failed: ZeroDivisionError') as caught:
            quirk.simulate(free(0.0, (0, 0, 0), event), 1.0, output=0.1)
        assert caught.value.time == 0.5
        assert caught.value.result.time[-1] == 0.5


class TestMotionsThatEnd:
    """A carriage on a rail that a spline drives from 0 to 1 s, in runs of 3 s."""

    OPTIONS = pytest.mark.parametrize(
        "options", [{}, {"method": "RK4", "step": 0.03}, {"method": "RadauIIA9"}, {"method": "Taylor"}]
    )

    def carriage(self, *events, force=False):
        box = quirk.Body.box("box", 1.0, [0.1, 0.1, 0.1])
        rail = quirk.Prismatic("rail", quirk.GROUND, box, point=[0, 0, 0], axis="x")
        path = quirk.Motion.spline([0.0, 0.2, 0.5, 0.7, 0.9, 1.0], [0.0, 0.2, 0.5, 0.7, 0.9, 1.0])
        push = quirk.JointForce("drive", rail, path) if force else quirk.Drive("drive", rail, path)
        system = quirk.System([box, rail, push, *events])
        system.assemble()
        return system

    @OPTIONS
    def test_a_run_that_stops_before(self, options):
        there = quirk.Event("there", "rail.travel", level=0.6, action="stop")
        result = quirk.simulate(self.carriage(there), 3.0, output=0.1, **options)
        assert result.status == "stopped"
        np.testing.assert_allclose(result.time[-1], 0.6, atol=1e-9)

    @OPTIONS
    def test_a_drive_that_is_released_before(self, options):
        there = quirk.Event("there", "rail.travel", level=0.6, action=quirk.release("drive"))
        result = quirk.simulate(self.carriage(there), 3.0, output=0.1, **options)
        assert result.status == "completed"
        np.testing.assert_allclose(result["rail"].travel[-1], 3.0, atol=1e-9)

    @OPTIONS
    @pytest.mark.parametrize("force", [False, True])
    def test_a_run_that_goes_on(self, options, force):
        never = quirk.Event("never", "rail.travel", level=50.0, action="stop")
        text = r'(Drive|JointForce) "drive", (motion|force): .* is defined to 1 s, and no event has stopped the run'
        with pytest.raises(SimulationError, match=text) as error:
            quirk.simulate(self.carriage(never, force=force), 3.0, output=0.1, **options)
        assert 1.0 <= error.value.time < 1.03
        assert error.value.result.time[-1] <= 1.03

    def test_without_events_that_act_it_is_refused_at_the_start(self):
        seen = quirk.Event("seen", "rail.travel", level=0.6)
        for events in ((), (seen,)):
            with pytest.raises(InputError, match=r'Drive "drive", motion: .* is defined from 0 to 1 s'):
                quirk.simulate(self.carriage(*events), 3.0)

    def test_a_run_that_starts_after_its_end(self):
        there = quirk.Event("there", "rail.travel", level=2.0, action="stop")
        system = self.carriage(there)
        with pytest.raises(InputError, match=r'Drive "drive", motion: .* is defined from 0 to 1 s'):
            quirk.simulate(system, 3.0, start=1.0)

    def test_in_a_loop(self):
        there = quirk.Event("there", "rail.travel", level=0.6, action=quirk.release("drive"))
        run = quirk.Run(self.carriage(there), end=3.0)
        assert run.advance(2.0) == "event"
        assert run.advance_to(3.0) == "time"
        run = quirk.Run(self.carriage(quirk.Event("never", "rail.travel", level=50.0, action="stop")), end=3.0)
        with pytest.raises(SimulationError, match=r'Drive "drive", motion: .* is defined to 1 s'):
            run.advance(2.0)


def shared_shaft(drivers, action_of):
    """A bar on a hinge with drivers at 1 rad/s, and the result of a run with an action of their names at 0.5 s."""
    bar = quirk.Body.box("bar", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, bar, point=[0, 0, 0], axis=[0, 1, 0])
    names = [f"d{k}" for k in range(drivers)]
    drives = [quirk.Drive(name, hinge, quirk.Motion.constant_rate(1.0)) for name in names]
    event = quirk.Event("event", "time", level=0.5, action=action_of(names))
    system = quirk.System([bar, hinge, *drives, event], gravity=[0, 0, -G])
    system.assemble()
    return quirk.simulate(system, 1.0, output=0.1, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("listed", ["actions", "after", "function", "mixed"])
@pytest.mark.parametrize("drivers", [2, 3])
def test_drivers_of_one_freedom_follow_new_motions_at_one_event(drivers, listed):
    """All drivers turn to another random rate: angle, impulse and kinetic energy are known."""
    rate = np.random.default_rng(drivers).uniform(1.5, 4.0)
    motion = quirk.Motion.polynomial([0.5 * (1 - rate), rate])

    def action_of(names):
        actions = [quirk.follow(name, motion) for name in names]
        kinds = {
            "actions": actions,
            "after": [quirk.after(1, action) for action in actions],
            "function": lambda t, state: actions,
            "mixed": [actions[0], "record", *(quirk.after(1, action) for action in actions[1:]), lambda t, state: None],
        }
        return kinds[listed]

    result = shared_shaft(drivers, action_of)
    moment = (1**2 + 0.1**2) / 12 + 0.5**2
    after = result.time > 0.55
    np.testing.assert_allclose(result["hinge"].angle[after], 0.5 + rate * (result.time[after] - 0.5), atol=1e-9)
    np.testing.assert_allclose(result["hinge"].angle_rate[after], rate, rtol=1e-9)
    event = result.events[0]
    assert event.energy_after - event.energy_before == pytest.approx(moment * (rate**2 - 1) / 2, rel=1e-9)
    assert sum(impulse.torque[1] for impulse in event.impulse.values()) == pytest.approx(moment * (rate - 1), rel=1e-9)
    assert np.abs(result.power.balance).max() < 1e-8


def test_a_driver_that_contradicts_another_is_named():
    faster = quirk.Motion.polynomial([-0.5, 2.0])
    with pytest.raises(
        SimulationError, match=r'new motion of Drive "d0": velocities .* Drive "d1" is violated by 1 rad'
    ):
        shared_shaft(2, lambda names: [quirk.follow(names[0], faster)])
    with pytest.raises(SimulationError, match=r'new motion of Drive "d0": velocities .* contradict each other'):
        # The function between the two reads velocities.
        shared_shaft(2, lambda names: [quirk.follow("d0", faster), lambda t, s: None, quirk.follow("d1", faster)])
    with pytest.raises(SimulationError, match=r'new motion of Drive "d0", Drive "d1": .* jumps away from the bodies'):
        shared_shaft(2, lambda names: [quirk.follow(name, quirk.Motion.constant_rate(2.0)) for name in names])


def test_a_driver_moves_bodies_before_a_later_action_disables_it():
    faster = quirk.Motion.polynomial([-0.5, 2.0])
    both = [quirk.follow("d0", faster), quirk.follow("d1", faster), quirk.disable("d0", "d1")]
    result = shared_shaft(2, lambda names: both)
    first = np.flatnonzero(result.time == 0.5)[-1]
    np.testing.assert_allclose(result["hinge"].angle_rate[first], 2.0, rtol=1e-9)


@pytest.mark.parametrize("change", [
    lambda t, state: state.velocity.__setitem__((0, 0), 99.0),
    lambda t, state: state.position.fill(0.0),
    lambda t, state: state.angles["hinge"].fill(0.0),
    lambda t, state: setattr(state, "velocity", 2.0 * state.velocity),
    lambda t, state: state.angles.clear(),
])  # fmt: skip
def test_an_action_that_writes_to_the_state_is_an_error(change):
    rod = quirk.Body.box("rod", 1.0, [1.0, 0.1, 0.1], angular_velocity=[0, 0, 1.0])
    system = quirk.System([rod, quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="z")])
    event = quirk.Event("late", "time", level=0.5, action=change)
    with pytest.raises(quirk.QuirkError, match=r'Event "late".*return quirk.set_velocity\(\.\.\.\)'):
        quirk.simulate(system, 1.0, events=[event])


def test_a_state_that_an_action_keeps_can_be_changed_later():
    kept = []
    rod = quirk.Body.box("rod", 1.0, [1.0, 0.1, 0.1], velocity=[1.0, 0, 0])
    event = quirk.Event("late", "time", level=0.5, action=lambda t, state: kept.append(state))
    quirk.simulate(quirk.System([rod]), 1.0, events=[event])
    kept[0].velocity[0, 0] = 3.0
    result = quirk.simulate(quirk.System([rod]), 1.0, initial_state=kept[0])
    assert result["rod"].position[-1, 0] == pytest.approx(3.5)


@pytest.mark.parametrize("how", ["event", "sampled", "loop"])
def test_switches_of_a_system_during_a_run_are_told(how):
    """They act on later runs; an action that returns quirk.disable acts on its own run."""
    body = quirk.Body.box("body", 1.0, [0.1, 0.1, 0.1])
    rail = quirk.Prismatic("rail", quirk.GROUND, body, axis="x")
    made = []

    def act(t, state):
        if t > 0.5:
            made[0].disable("push")
        return 0.0 if how == "sampled" else None

    items = [body, rail, quirk.JointForce("push", rail, 1.0), quirk.JointForce("input", rail, 0.0)]
    if how == "event":
        items.append(quirk.Event("cut", "time", level=1.0, action=act))
    if how == "sampled":
        items.append(quirk.Sampled("controller", 0.25, act, ["input"]))
    made.append(quirk.System(items))
    if how == "loop":
        run = quirk.Run(made[0])
        run.advance(0.5)
        made[0].disable("push")
        with pytest.warns(UserWarning, match=r"Run: enable\(\) and disable\(\) of a system act on later runs"):
            run.advance(0.5)
        assert run["body"].velocity[0] == pytest.approx(1.0)
        run.advance(0.5)  # told once
    else:
        with pytest.raises((quirk.SimulationError, quirk.InputError), match=r"calls enable\(\) or disable\(\)"):
            quirk.simulate(made[0], 2.0)
