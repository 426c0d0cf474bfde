"""Loads of relays, whose values actions of events change, beside inputs that change between the events."""

import warnings

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Event


def relay(lift, *more):
    """A ball on a floor, pushed to and fro and lifted a little by forces with signs that events change; see `pushes`."""
    sign = {"push": 1.0}
    ball = Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.1])
    upright = quirk.Generic("upright", GROUND, ball, constrained=[0, 1, 0, 1, 1, 1])
    floor = quirk.Contact("floor", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    push = quirk.Force("push", ball, lambda t, r, q, v, w: [3.0 * sign["push"] - r[0], 0.0, lift * sign["push"]])

    def turn(t, state):
        sign["push"] = -sign["push"]

    ends = [Event("far", "ball.position.x", level=0.3, direction=1, action=turn),
            Event("near", "ball.position.x", level=-0.3, direction=-1, action=turn)]  # fmt: skip
    motor = quirk.Force("motor", ball, [0.0, 0, 0])
    return quirk.System([ball, upright, floor, push, motor, *ends, *more], gravity=[0, 0, -9.81])


def held(t):
    return 0.5 * np.sin(3 * t)


def of_sampled(lift):
    system = relay(lift, quirk.Sampled("motor's", 0.1, lambda t, state: [held(t), 0, 0], inputs=["motor"]))
    return quirk.simulate(system, 6.0)


def of_a_loop(lift):
    run = quirk.Run(relay(lift), end=6.0, inputs=["motor"], keep=0.01)
    for k in range(60):
        run.inputs["motor"] = [held(0.1 * k), 0, 0]
        run.advance_to(0.1 * (k + 1))
    return run.result()


@pytest.mark.parametrize("lift", [0.0, 2.0])
@pytest.mark.parametrize("run", [of_sampled, of_a_loop])
def test_loads_before_an_event_have_the_values_of_then_beside_inputs(run, lift):
    """Also where the inputs have changed several times between two events that change other values."""
    result = run(lift)
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.ChangedFunctionWarning)
        push, acceleration = result["push"].force(), result["ball"].acceleration
        reaction = result["floor"].force()[:, 2]
    turns = np.array([event.time for event in result.events])
    assert len(turns) >= 3
    after = np.append(False, np.diff(result.time) == 0.0)
    sign = (-1.0) ** np.where(after, np.searchsorted(turns, result.time, "right"), np.searchsorted(turns, result.time))
    x = result["ball"].position[:, 0]
    assert push[:, 0] == pytest.approx(3.0 * sign - x, abs=1e-9)
    assert acceleration[:, 0] - push[:, 0] == pytest.approx(result["motor"].force()[:, 0], abs=1e-9)
    assert reaction == pytest.approx(9.81 - lift * sign, abs=1e-9)
