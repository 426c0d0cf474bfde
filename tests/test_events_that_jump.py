"""Events whose actions let their own quantity jump away from the level: they happen once."""

import numpy as np
import pytest

import quirk


@pytest.mark.parametrize("solver", ["sparse", "dense"])
def test_a_speed_that_is_set_by_its_own_event(solver):
    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    slow = quirk.Event("slow", "ball.speed", level=3.0, action=quirk.set_velocity("ball", [0, 0, -1.0]))
    result = quirk.simulate(quirk.System([ball, slow], gravity=[0, 0, -10.0]), 1.0, solver=solver)
    np.testing.assert_allclose(result.events.time, [0.3, 0.5, 0.7, 0.9], rtol=1e-12)
    assert {event.direction for event in result.events} == {1}


@pytest.mark.parametrize("solver", ["sparse", "dense"])
def test_a_latch_that_opens_at_its_load(solver):
    ball = quirk.Body.sphere("ball", 1.0, 0.1)
    hold = quirk.Fixed("hold", quirk.GROUND, ball)
    pull = quirk.Force("pull", ball, [quirk.Motion.polynomial([0, 1.0]), 0, 0])
    breaks = quirk.Event("breaks", "hold.force", level=0.5, action=quirk.release(hold))
    result = quirk.simulate(quirk.System([ball, hold, pull, breaks]), 1.0, solver=solver)
    np.testing.assert_allclose(result.events.time, [0.5], rtol=1e-12)


@pytest.mark.parametrize("solver", ["sparse", "dense"])
def test_a_distance_that_a_latch_closes(solver):
    """The latch moves the body by what is left of the distance, whose rate is then round-off."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[1.0, 0, 0], velocity=[-1.0, 0, 0])
    catch = quirk.Spherical("catch", quirk.GROUND, ball, frame_i=quirk.Frame(), frame_j=quirk.Frame(), active=False)
    push = quirk.Force("push", ball, [0.03, 0.02, 0.01], point=[0.1, 0, 0])
    latch = quirk.Event(
        "latch",
        quirk.distance_between(quirk.GROUND, ball),
        level=0.05,
        action=quirk.engage(catch, tolerance=0.1),
    )
    result = quirk.simulate(quirk.System([ball, catch, push, latch]), 2.0, solver=solver)
    assert [event.direction for event in result.events] == [-1]


def test_a_bounce_off_a_level_goes_on_from_there():
    """Poses stay, so that the quantity still is at the level, and rises from it: no second event."""
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 1.0])
    flip = quirk.Event("flip", "ball.position.z", level=0.2, action=quirk.set_velocity("ball", [0, 0, 4.0]))
    result = quirk.simulate(quirk.System([ball, flip], gravity=[0, 0, -10.0]), 1.9)
    np.testing.assert_allclose(result.events.time, [0.4, 1.2], rtol=1e-12)
