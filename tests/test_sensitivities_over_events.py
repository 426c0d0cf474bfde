"""Sensitivities of runs that events end, or in which they put one part in the place of another."""

import numpy as np
import pytest
from differences import extrapolated

import quirk

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
