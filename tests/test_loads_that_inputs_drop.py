"""Events on the load of a stop, a function of time that inputs of a run change at once, against closed forms."""

import numpy as np
import pytest
from scipy.optimize import brentq
from studies import study

import quirk
from quirk import GROUND, Body, Event

LEVEL = 10.0


def pressed(direction, *more):
    """A body that rests on a stop under a load 9.3 + 1.3 sin 6 t + u, N, that is watched in one direction."""
    body = Body.box("body", 1.0, [0.1, 0.1, 0.1])
    rail = quirk.Prismatic("rail", GROUND, body, axis="x")
    load = quirk.JointForce("load", rail, "9.3 + 1.3*sin(6*t)")
    event = Event("event", "stop.force", level=LEVEL, direction=direction)
    return quirk.System(
        [body, rail, quirk.Stop("stop", rail, upper=0.0), load, quirk.JointForce("u", rail, 0.0), event, *more]
    )


def exact(times, values, end, direction):
    """Return the events, as times and directions, of the load with input `values` from `times` on."""
    found, before = [], None
    for begin, stop, u in zip(times, [*times[1:], end], values, strict=True):
        off = lambda t, u=u: 9.3 + 1.3 * np.sin(6 * t) + u - LEVEL  # noqa: E731
        if before is not None and before * off(begin) < 0:
            found.append((begin, np.sign(off(begin))))
        grid = np.linspace(begin, stop, 400)
        signs = np.sign(off(grid))
        found += [(brentq(off, grid[k], grid[k + 1], xtol=1e-14), signs[k + 1]) for k in np.flatnonzero(np.diff(signs))]
        before = off(stop)
    return [(t, way) for t, way in found if way * direction >= 0]


@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("seed", study(range(20), 4))
def test_crossings_that_are_not_watched_count_for_later_jumps(seed, direction):
    rng = np.random.default_rng(seed)
    times = np.concatenate([[0.0], np.sort(rng.uniform(0.05, 1.95, 6))]).tolist()
    values = rng.uniform(-2.0, 2.0, 7).tolist()
    run, found = quirk.Run(pressed(direction), inputs=["u"]), []
    for stop, u in zip([*times[1:], 2.0], values, strict=True):
        run.inputs["u"] = u
        reached = "event"
        while reached == "event":
            reached = run.advance_to(stop)
            found += [(event.time, event.direction) for event in run.events]
    expected = exact(times, values, 2.0, direction)
    assert [way for _, way in found] == [way for _, way in expected]
    assert [t for t, _ in found] == pytest.approx([t for t, _ in expected], abs=1e-9)


@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("seed", study(range(10), 2))
def test_and_for_jumps_by_sampled_values(seed, direction):
    values = np.random.default_rng(seed).uniform(-2.0, 2.0, 10)
    hold = quirk.Sampled("hold", 0.2, lambda t, state: values[min(round(t / 0.2), 9)], inputs=["u"])
    events = quirk.simulate(pressed(direction, hold), 2.0).events
    expected = exact((0.2 * np.arange(10)).tolist(), values.tolist(), 2.0, direction)
    assert list(events.direction) == [way for _, way in expected]
    assert events.time == pytest.approx([t for t, _ in expected], abs=1e-9)
