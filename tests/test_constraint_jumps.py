"""Functions of constraints and gaps that jump in time, or whose rates jump: warnings and errors that name them."""

import re
import warnings

import numpy as np
import pytest

import quirk

G, T = 9.81, 0.7


def system(constraint, *parts, **body):
    ball = quirk.Body.sphere("ball", 0.5, 0.01, **body)
    return quirk.System([ball, constraint(ball), *parts], gravity=[0, 0, -G])


def steps(b, kind):
    """Return a function that is 0 before T and b (t - T) after it."""
    return {
        "where": lambda t: np.where(t < T, 0.0, b * (t - T)),
        "branch": lambda t: 0.0 if t < T else b * (t - T),
        "maximum": lambda t: b * np.maximum(0.0, t - T),
        "abs": lambda t: 0.5 * b * (t - T + np.abs(t - T)),
    }[kind]


def height(of_time):
    return lambda t, a: a.position[2] - of_time(t)


METHODS = {"auto": {}, "RadauIIA9": {"method": "RadauIIA9"}, "RK4": {"method": "RK4", "step": 0.01}}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["where", "branch", "maximum", "abs"])
def test_constraints_whose_rate_jumps(kind, method):
    moved = system(lambda ball: quirk.Implicit("level", ball, height(steps(0.2, kind))), velocity=[1.0, 0, 0])
    with pytest.warns(
        quirk.RateJumpWarning,
        match=r'simulate: Implicit "level": the rate of its function jumps from 0 to -0\.2 at t = 0\.7 s: velocities',
    ) as told:
        result = quirk.simulate(moved, 1.5, output=0.5, **METHODS[method])
    assert [warning.filename for warning in told] == [__file__]
    np.testing.assert_allclose(result["ball"].position[-1], [1.5, 0, 0.2 * (1.5 - T)], atol=1e-10)


def test_texts_offsets_and_velocities():
    for part in (
        lambda ball: quirk.Implicit("level", ball, "a.position.z - 0.2*max(0, t - 0.7)"),
        lambda ball: quirk.Generic(
            "level", quirk.GROUND, ball, constrained=[0, 0, 1, 0, 0, 0],
            offset=lambda t, p: [0, 0, p[0] * np.maximum(0.0, t - T), 0, 0, 0], parameters=[0.2],
        ),
        lambda ball: quirk.Implicit(
            "level", ball, lambda t, a: a.velocity[2] - np.where(t < T, 0.0, 0.2), level="velocity"
        ),
    ):  # fmt: skip
        with pytest.warns(quirk.RateJumpWarning, match=r'"level": the rate .* from -?0 to -0\.2 at t = 0\.7 s'):
            quirk.simulate(system(part), 1.5, output=0.5)


@pytest.mark.parametrize(
    "phi",
    [
        lambda t, a: a.position[2] - np.where(t < T, 0.0, (t - T) ** 2),
        lambda t, a: a.position[2] - 0.1 * np.sin(40.0 * t) ** 2,
        lambda t, a: a.position[2] + 0.1 * np.abs(a.position[2]),
        "a.position.z - 0.1*sin(t)**2",
        lambda t, a: a.position[2] - 0.2 * np.maximum(0.0, t - 3.0),
    ],
)
def test_no_warning_without_a_jump(phi):
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.RateJumpWarning)
        quirk.simulate(system(lambda ball: quirk.Implicit("level", ball, phi)), 1.5, output=0.5)


class Lift:
    rate = 0.0


@pytest.mark.parametrize("of_time", [lambda t: t - T, lambda t: np.where(t < T, 0.0, t - T)])
@pytest.mark.parametrize("kind", [quirk.Implicit, quirk.OneSided])
def test_a_value_that_an_event_sets_has_the_impulse(kind, of_time):
    """The way that the warning names: the work of the impulse is the kinetic energy."""
    lift = Lift()

    def start(t, state):
        lift.rate = 0.2

    lifted = system(
        lambda ball: kind("floor", ball, lambda t, a: a.position[2] - lift.rate * of_time(t)),
        quirk.Event("start", "time", level=T, action=start),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.RateJumpWarning)
        result = quirk.simulate(lifted, 1.5, output=0.1)
    np.testing.assert_allclose(result["ball"].velocity[-1, 2], 0.2, atol=1e-12)
    np.testing.assert_allclose(result.power.balance, 0.0, atol=1e-12)


@pytest.mark.parametrize("b", [0.2, -0.2])
def test_closed_gaps_whose_rate_jumps(b):
    floor = lambda ball: quirk.OneSided("floor", ball, height(steps(b, "where")))  # noqa: E731
    with pytest.warns(
        quirk.RateJumpWarning, match=rf'OneSided "floor": the rate of its gap jumps from 0 to {-b} at t = 0\.7 s'
    ):
        quirk.simulate(system(floor), 1.5, output=0.5)


def test_gaps_whose_rate_jumps_in_flight():
    floor = lambda ball: quirk.OneSided("floor", ball, height(steps(0.2, "where")))  # noqa: E731
    with warnings.catch_warnings():
        warnings.simplefilter("error", quirk.RateJumpWarning)
        result = quirk.simulate(system(floor, position=[0, 0, 1.0], velocity=[0, 0, 3.0]), 1.5, output=0.5)
    assert result["ball"].position[-1, 2] == pytest.approx(0.2 * (1.5 - T), abs=1e-10)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["Implicit", "OneSided closes", "OneSided opens", "OneSided in flight"])
def test_values_that_jump_are_named(kind, method):
    before, after, start = {"Implicit": (0.0, 0.2, 0.0), "OneSided closes": (0.0, 0.2, 0.0)}.get(kind, (0.2, 0.0, 0.2))
    if "flight" in kind:
        before, after, start = 0.0, 5.0, 3.0
    part = getattr(quirk, kind.split()[0])
    stepped = system(
        lambda ball: part("floor", ball, height(lambda t: np.where(t < T, before, after))), position=[0, 0, start]
    )
    with pytest.raises(quirk.SimulationError) as failure:
        quirk.simulate(stepped, 1.5, output=0.1, **METHODS[method])
    size = re.escape(f"{before - after:.6g}")
    assert re.search(
        rf'"floor": the value of .* that its function returns jumps by {size} m at t = 0\.7 s', str(failure.value)
    )
