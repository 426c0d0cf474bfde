"""Sensitivities of runs that events end, or in which they put one part in the place of another."""

import numpy as np
import pytest
from differences import extrapolated

import quirk
from quirk import GROUND, Body, InputError

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
LAST = quirk.Objective(["puck.position.x"], lambda x: (float(x[-1, 0]), np.eye(len(x))[:, -1:]))


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("stops", [quirk.after(1, "stop"), None])
def test_of_a_run_that_an_event_ends(stops, gradient):
    """Or of one at whose end something happens."""

    def build(g):
        ball = quirk.Body("ball", 1.0, [0.1, 0.1, 0.1], velocity=[0, 0, 2.0])
        turn = quirk.Event("turn", "ball.velocity.z", action="stop" if stops is None else stops)
        return quirk.System([ball, turn], gravity=[0, 0, -g])

    goal = quirk.Objective(["ball.position.z"], lambda z: (float(z[-1, 0]), np.eye(len(z))[:, -1:]))
    with_goal = {"objective": goal, "output": [0.1, 0.2]} if gradient else {"output": 0.1}
    result = quirk.simulate(build(10.0), 1.0, sensitivities=["gravity"], **with_goal)
    assert result.time[-1] < 0.21
    t = 0.2
    if gradient:
        assert result.gradient["gravity"][2] == pytest.approx(0.5 * t**2, rel=1e-9)
    else:
        found = result.sensitivity["gravity"]["ball"].position[:, 2, 2]
        np.testing.assert_allclose(found, 0.5 * result.time**2, atol=1e-12)


def replaced(first=4.0, second=9.0):
    """A puck on a spring, in whose place another comes after a while."""
    puck = quirk.Body("puck", 1.0, [0.1, 0.1, 0.1], position=[1.0, 0.2, 0])
    spring, other = (quirk.Spring("s", quirk.GROUND, puck, stiffness=k, rest_length=0.5) for k in (first, second))
    return quirk.System([puck, spring, quirk.Event("later", "time", level=0.4, action=quirk.replace("s", other))])


def led(amplitude=0.3):
    """A driven slider pulls a puck; after a while it follows another motion, of the same kind."""
    slider = quirk.Body("slider", 1.0, [0.1, 0.1, 0.1])
    puck = quirk.Body("puck", 1.0, [0.1, 0.1, 0.1], position=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, slider, point=[0, 0, 0], axis=[1, 0, 0])
    motor = quirk.Drive("motor", rail, quirk.Motion.sinusoid(amplitude, np.pi / 0.7))
    spring = quirk.Spring("spring", slider, puck, stiffness=20.0, damping=0.2, rest_length=0.9)
    event = quirk.Event("other", "time", level=0.7, action=quirk.follow(motor, quirk.Motion.sinusoid(0.2, np.pi / 0.7)))
    system = quirk.System([slider, puck, rail, motor, spring, event])
    system.assemble()
    return system


@pytest.mark.parametrize(
    ("build", "value", "key", "end"),
    [(replaced, 4.0, ("s", "stiffness"), 1.0), (led, 0.3, ("motor", "motion.amplitude"), 1.2)],
)
def test_what_an_event_puts_in_the_place_of_a_part_does_not_vary_with_it(build, value, key, end):
    """Derivatives are those by the number of the part that the system has; loads of what took its place as well."""
    options = {"output": [0.3, end], **TIGHT}
    found = quirk.simulate(build(value), end, sensitivities=[key], **options).sensitivity[key]
    want = extrapolated(lambda x: quirk.simulate(build(value + x), end, **options)["puck"].position, 1e-2)
    np.testing.assert_allclose(found["puck"].position, want, atol=1e-8 * np.abs(want).max())
    gradient = quirk.simulate(build(value), end, sensitivities=[key], objective=LAST, **options).gradient[key]
    assert gradient == pytest.approx(want[-1, 0], rel=1e-7)
    load = key[0] if build is replaced else "spring"
    want = extrapolated(lambda x: quirk.simulate(build(value + x), end, **options)[load].force(), 1e-2)
    np.testing.assert_allclose(found[load].force(), want, atol=1e-7 * np.abs(want).max())


@pytest.mark.parametrize("quantity", ["box.velocity.x", "own", "two"])
@pytest.mark.parametrize("action", [True, False])
def test_an_event_that_a_jump_at_an_impact_triggers_has_the_time_of_the_impact(action, quantity):
    """A force pushes a box to a stop in the time sqrt(2 d m / F); at the impact its velocity jumps below a level."""
    distance, force, end = 0.5, 2.0, 1.3

    def run(mass, **options):
        box = Body.box("box", mass, [0.1, 0.1, 0.1])
        rail = quirk.Prismatic("rail", GROUND, box, point=[0, 0, 0], axis="x")
        stop = quirk.Stop("stop", rail, upper=distance, restitution=0.5)
        push = quirk.JointForce("push", rail, force)
        function = "box.velocity.x" if quantity == "box.velocity.x" else lambda t, s: s["box"].velocity[0]
        first = {"action": quirk.disable("push")} if action else {}
        events = [quirk.Event("turns", function, level=0.2, direction=-1, **first)]
        if quantity == "two":
            events.append(
                quirk.Event("turns again", "box.velocity.x", level=0.1, direction=-1, action=lambda t, s: None)
            )
        system = quirk.System([box, rail, stop, push, *events])
        return quirk.simulate(system, end, output=0.1, rtol=1e-11, atol=1e-13, **options)

    sensitivity = run(1.0, sensitivities=[("box", "mass")]).sensitivity[("box", "mass")]
    impact = np.sqrt(0.5 * distance / force)
    assert sensitivity.event_times[: 3 if quantity == "two" else 2] == pytest.approx(impact, rel=1e-9)
    h = 1e-6
    sides = [run(1.0 + side * h)["box"].position[-1, 0] for side in (1, -1)]
    assert sensitivity["box"].position[-1, 0] == pytest.approx((sides[0] - sides[1]) / (2 * h), rel=1e-6)
    if action:
        goal = quirk.Objective(["box.position.x"], lambda x: ((x**2).sum(), 2 * x))
        with pytest.raises(InputError, match='Event "turns": its quantity jumps over its level at another event'):
            run(1.0, objective=goal, sensitivities=[("box", "mass")])


@pytest.mark.parametrize(
    "quantity",
    [
        lambda t, s: np.where(s["box"].position[0] < 0.3, -1.0, 1.0) + 0.1 * s["box"].velocity[0],
        lambda t, s: np.where(t < 0.5, -1.0, 1.0) + 0.1 * s["box"].velocity[0],
        lambda t, s: 1.0 if s["box"].velocity[0] > 0.7 else -1.0,
    ],
    ids=["by position", "by time", "by a branch"],
)
def test_quantities_that_jump_by_themselves_have_no_derivative(quantity):
    box = Body.box("box", 1.0, [0.1, 0.1, 0.1], velocity=[0.1, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, box, point=[0, 0, 0], axis="x")
    push = quirk.JointForce("push", rail, 2.0)
    event = quirk.Event("ends", quantity, action=quirk.disable("push"))
    system = quirk.System([box, rail, push, event])
    with pytest.raises(InputError, match='Event "ends": its quantity jumps over its level'):
        quirk.simulate(system, 1.3, output=0.1, sensitivities=[("box", "mass")])
