"""Sensitivities of runs in which a load jumps with the state: complete with an event there, and told without."""

import re
import warnings

import numpy as np
import pytest
from differences import extrapolated
from scipy.optimize import brentq
from studies import study

import quirk

TIGHT = {"rtol": 1e-11, "atol": 1e-14}
BEFORE, BEHIND, PLACE, SPEED, SPAN = 1.0, -5.0, 0.3, 1.0, 0.5


def pushed(event=True, length=1.0, mass=1.0, jump_at=None):
    """A body that a force pushes on before a place, and back behind it; or from a time on."""

    def push(t, r, q, v, w):
        behind = r[2] > PLACE * length if jump_at is None else t > jump_at
        return [0, 0, np.where(behind, BEHIND, BEFORE) * mass * length]

    body = quirk.Body("body", mass, mass * length**2 * np.ones(3), velocity=[0, 0, SPEED * length])
    parts = [body, quirk.Force("push", body, push)]
    if event:
        parts.append(quirk.Event("passes", "body.position.z", level=PLACE * length))
    return quirk.System(parts)


def by_speed():
    """The height at the end by the speed at the start, in closed form."""
    passing = np.sqrt(SPEED**2 + 2 * BEFORE * PLACE)
    later, rest = (SPEED / passing - 1) / BEFORE, SPAN - (passing - SPEED) / BEFORE
    return SPEED / passing * rest - (passing + BEHIND * rest) * later


@pytest.mark.parametrize("method", ["Vern9", "DOP853", "RadauIIA9"])
@pytest.mark.parametrize(("length", "mass"), [(1e-3, 1e3), (1.0, 1.0), (1e3, 1e-3)])
def test_force_that_jumps_at_a_place(method, length, mass):
    """In millimeters, meters and kilometers."""
    options = {**TIGHT, "atol": 1e-14 * length, "method": method, "output": [SPAN]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quirk.simulate(pushed(length=length, mass=mass), SPAN, sensitivities=[("body", "velocity")], **options)
    found = result.sensitivity[("body", "velocity")]["body"].position[-1, 2, 2]
    assert found == pytest.approx(by_speed(), rel=1e-8)


@pytest.mark.parametrize("method", ["Vern9", "RadauIIA9", "Rodas5P"])
def test_without_an_event_a_warning_tells_when(method):
    with pytest.warns(quirk.SensitivityWarning, match=r"sensitivities: .* jump within a step at t = 0\.2649\d* s"):
        quirk.simulate(pushed(event=False), SPAN, method=method, sensitivities=[("body", "velocity")])


@pytest.mark.parametrize("event", [False, True])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-11])
def test_series_meet_the_jump_at_the_end_of_a_step(rtol, event):
    """A damped spring that pushes alone: it takes hold with a jump, and lets go with a kink."""
    ball = quirk.Body("ball", 1.0, [0.1, 0.1, 0.1], position=[0, 0, 0.8], velocity=[0, 0, -1.0])
    spring = quirk.Spring("spring", quirk.GROUND, ball, stiffness=2e3, damping=30.0, rest_length=0.5,
                          one_sided="compression")  # fmt: skip
    parts = [ball, spring] + ([quirk.Event("touch", "spring.length", level=0.5)] if event else [])
    system = quirk.System(parts, gravity=[0, 0, -9.81])
    options = {"method": "Taylor", "rtol": rtol, "atol": rtol / 100, "sensitivities": [("spring", "damping")]}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        quirk.simulate(system, 0.35, **options)
    messages = [str(one.message) for one in told if "accelerations jump" in str(one.message)]
    assert len(messages) == (0 if event else 1)
    assert event or re.search(r"at t = 0\.16555[678]\d* s", messages[0])


def test_gradient_warns_too():
    goal = quirk.Objective(["body.position.z"], lambda z: (float(z[-1, 0]), np.eye(len(z))[:, -1:]))
    with pytest.warns(quirk.SensitivityWarning, match=r"objective: .* jump within a step .* an Event"):
        quirk.simulate(
            pushed(event=False), SPAN, output=[0, SPAN], objective=goal, sensitivities=[("body", "velocity")]
        )


@pytest.mark.parametrize(
    "quantity",
    [
        lambda t, state: state["body"].velocity[2] ** 3,
        lambda t, state: state["body"].position[0] + 1e-20 * np.sin(50 * t),
    ],
    ids=["without a rate", "round-off"],
)
def test_events_of_no_certain_time_leave_smooth_motion_alone(quantity):
    """By how much later they happen has no bound, which must not multiply round-off of loads that do not jump."""
    body = quirk.Body("body", 1.0, [0.1, 0.1, 0.1], velocity=[0, 0, 2.0])
    system = quirk.System([body, quirk.Event("passes", quantity)], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 1.0, output=[1.0], sensitivities=[("body", "velocity")])
    assert len(result.events) >= 1
    found = result.sensitivity[("body", "velocity")]["body"].position[-1]
    np.testing.assert_allclose(found, np.eye(3), atol=1e-12)


def bouncing(damping):
    """A body thrown at a one-sided spring."""
    body = quirk.Body("body", 1.0, [0.01, 0.01, 0.01], velocity=[0, 0, 5.0])
    pushing = {"stiffness": 1e3, "damping": damping, "rest_length": 1.8, "one_sided": "compression"}
    spring = quirk.Spring("spring", quirk.GROUND, body, [0, 0, 3], [0, 0, 0], **pushing)
    return quirk.System([body, spring], gravity=[0, 0, -9.81])


@pytest.mark.parametrize(
    ("system", "span"),
    [(pushed(event=False, jump_at=0.1234), SPAN), (bouncing(0.0), 1.0)],
    ids=["jump in time", "kink"],
)
def test_nothing_is_said_of_what_is_no_jump_with_the_state(system, span):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quirk.simulate(system, span, sensitivities=[("body", "velocity")])
    # Before the spring is touched, nothing depends on the place.
    by_speed, free = result.sensitivity["body", "velocity"]["body"].position, result.time < 0.2
    assert np.isfinite(by_speed).all() and free.sum() > 10
    np.testing.assert_allclose(by_speed[free], result.time[free, None, None] * np.eye(3), atol=1e-9)


def bounced(speed, span=1.0, k=1e3, c=30.0, g=9.81):
    """How high the body is at the end, in closed form: thrown, in contact until the force is zero, and falling."""
    gap, decay = 1.2, c / 2
    turning = np.sqrt(k - decay**2)
    touching = np.sqrt(speed**2 - 2 * g * gap)
    rest = -g / k
    cosine, sine = -rest, (touching - decay * rest) / turning

    def pressed(t):
        wave = cosine * np.cos(turning * t) + sine * np.sin(turning * t)
        rate = turning * (sine * np.cos(turning * t) - cosine * np.sin(turning * t))
        return rest + np.exp(-decay * t) * wave, np.exp(-decay * t) * (rate - decay * wave)

    contact = brentq(lambda t: k * pressed(t)[0] + c * pressed(t)[1], 0.02, 0.07, xtol=1e-16)
    x, v = pressed(contact)
    left = span - (speed - touching) / g - contact
    return np.array([gap + x + v * left - g * left**2 / 2])


@pytest.mark.parametrize(("quantity", "level", "way"), [("body.position.z", 1.2, 1), ("spring.length", 1.8, -1)])
def test_damped_bumper_with_events(quantity, level, way):
    """Its force jumps where it touches, and has a kink where it lets go, which costs derivatives digits."""
    free = bouncing(30.0)
    touches = quirk.Event("touches", quantity, level=level, direction=way)

    def force(t, state):
        return 1e3 * (state["body"].position[2] - 1.2) + 30.0 * state["body"].velocity[2]

    goes = quirk.Event("lets go", force, direction=-1)
    system = quirk.System([free["body"], free["spring"], touches, goes], gravity=[0, 0, -9.81])
    key = ("body", "velocity")
    result = quirk.simulate(system, 1.0, output=[1.0], sensitivities=[key], rtol=1e-12, atol=1e-15)
    assert result["body"].position[-1, 2] == pytest.approx(bounced(5.0)[0], rel=1e-10)
    want = extrapolated(lambda x: bounced(5.0 + x), 1e-2)
    assert result.sensitivity[key]["body"].position[-1, 2, 2] == pytest.approx(want[0], rel=1e-6)


def swinging(x=0.0, event=True):
    """Two hinged bars, the first under a moment that jumps with its angle."""
    first = quirk.Body.bar("first", [0, 0, 0], [0, 0, -0.5], mass=1.0 + x)
    second = quirk.Body.bar("second", [0, 0, -0.5], [0.3, 0, -0.7], mass=0.7)
    hinge = quirk.Revolute("hinge", quirk.GROUND, first, point=[0, 0, 0], axis=[0, 1, 0])
    knee = quirk.Revolute("knee", first, second, point=[0, 0, -0.5], axis=[0, 1, 0])
    kick = quirk.JointTorque("kick", hinge, lambda t, angle, rate: np.where(angle > -0.2, 0.4, -0.3 - 0.3 * rate))
    parts = [first, second, hinge, knee, kick]
    if event:
        parts.append(quirk.Event("passes", "hinge.angle", level=-0.2))
    return quirk.System(parts, gravity=[0, 0, -9.81])


def test_moment_that_jumps_at_an_angle():
    """By a mass, of positions and of joint loads behind several jumps, against differences of runs."""
    options = {**TIGHT, "output": [2.0]}
    key = ("first", "mass")
    result = quirk.simulate(swinging(), 2.0, sensitivities=[key], **options)
    assert len(result.events) >= 2

    def run(x):
        moved = quirk.simulate(swinging(x, event=False), 2.0, **options)
        return np.concatenate([moved["second"].position[-1], moved["hinge"].force()[-1]])

    here = result.sensitivity[key]
    got = np.concatenate([here["second"].position[-1], here["hinge"].force()[-1]])
    want = extrapolated(run, 1e-3)
    np.testing.assert_allclose(got, want, atol=1e-6 * np.abs(want).max())


def hung(quantity, level, release, numbers):
    """A body on springs, bushing and coil, with an event of a coordinate of one of these, which may cut a rope."""
    body = quirk.Body("body", numbers["mass"], [0.1, 0.12, 0.13], position=[0.2, 0.1, 0.3], velocity=[3.0, 0, 0],
                      angular_velocity=[0.3, 0.2, 0.5])  # fmt: skip
    wheel = quirk.Body("wheel", 0.5, [0.02, 0.02, 0.02], position=[0, 2, 0], angular_velocity=[0, 0, 30.0])
    axle = quirk.Revolute("axle", quirk.GROUND, wheel, point=[0, 2, 0], axis=[0, 0, 1])
    parts = [
        quirk.Spring("spring", quirk.GROUND, body, [numbers["anchor"], 0, 0], [0, 0.05, 0], stiffness=80.0,
                     damping=5.0, rest_length=1.6),
        quirk.Bushing("bush", quirk.GROUND, body, point=[0, 0, 0.3], stiffness=[5, 6, 7, 8, 9, 10], damping=[0.1] * 6),
        quirk.TorsionSpring("coil", axle, stiffness=numbers["stiffness"]),
        quirk.Spring("tie", wheel, body, [0.1, 0, 0], [0, 0, 0], stiffness=0.5),
        quirk.Distance("rope", quirk.GROUND, body, point_i=[0.2, 50.1, 0.3]),
    ]  # fmt: skip
    happens = quirk.Event("passes", quantity, level=level, action=quirk.release("rope") if release else "record")
    return quirk.System([body, wheel, axle, *parts, happens], gravity=[0, 0, -1.0])


@pytest.mark.parametrize("release", [False, True])
@pytest.mark.parametrize(
    ("quantity", "level"),
    study(
        [("spring.length", 1.65), ("bush.x", -0.1), ("bush.about z", 0.02), ("coil.angle", 7.0)],
        {("spring.length", 1.65), ("coil.angle", 7.0)},
    ),
)
def test_events_of_coordinates_of_force_elements(quantity, level, release):
    """Their times, and what is behind them, by numbers of the element itself and of others, against differences."""
    numbers = {"mass": 1.0, "anchor": -1.5, "stiffness": 0.1}
    keys = {"mass": ("body", "mass"), "anchor": ("spring", "point_i"), "stiffness": ("coil", "stiffness")}

    def run(**more):
        return quirk.simulate(hung(quantity, level, release, numbers | more.pop("changed", {})), 0.8, output=[0.8],
                              rtol=1e-12, atol=1e-14, **more)  # fmt: skip

    result = run(sensitivities=list(keys.values()))
    assert len(result.events) >= 1

    def shown(run):
        return np.concatenate([run["body"].position[-1], run["wheel"].velocity[-1], [e.time for e in run.events]])

    for name, key in keys.items():
        found = result.sensitivity[key]
        parts = [found["body"].position[-1], found["wheel"].velocity[-1], found.event_times]
        got = np.concatenate([part if name != "anchor" else part[..., 0] for part in parts])
        size = 0.05 if name == "stiffness" else 0.01
        want = extrapolated(lambda x, name=name: shown(run(changed={name: numbers[name] + x})), size)
        np.testing.assert_allclose(got, want, atol=1e-8 * np.abs(want).max())
