"""Bodies that begin to slide under loads whose direction turns.

Reference: masses m (2,) with slip velocity s (2,), m/s, under loads f of growing magnitude and turning direction, and
friction of magnitude F, m s' = f - F s/|s|. Sliding begins at |f| = F. There the right-hand side is not defined, since
s = 0; the integration starts shortly after it, with the first term of the series in time.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from quirk.integrators import RADAU_IIA9, VERN9
from scipy.integrate import solve_ivp

import quirk
from quirk import GROUND, Body
from quirk.dynamics.sparse.stepping.method_switching import MethodCosts
from quirk.dynamics.sparse.stepping.slip_switching import SlipSwitching
from quirk.forces.slip_direction import friction_direction

G, MU, RADIUS, RATE, TURNING, AFTER = 9.81, 0.2, 0.05, 2.3, 4.8, 0.5
LIMIT = MU * G
START = LIMIT / RATE


def load(t):
    return RATE * t * np.array([np.cos(TURNING * t), np.sin(TURNING * t)])


def reference_slip(masses):
    """Return the slip velocity (2,), m/s, at the time AFTER the onset of sliding, s, of the masses (2,), kg.

    At the onset, the direction of slip is that of the loads, and their excess over the limit grows at RATE.
    """
    begun = 1e-6
    direction = load(START + begun) / np.linalg.norm(load(START + begun))
    acceleration_along = 1 / (masses @ direction**2)
    slip = 0.5 * RATE * begun**2 * acceleration_along * direction

    def rates(t, s):
        return (load(t) - LIMIT * s / np.linalg.norm(s)) / masses

    times = [START + begun, START + AFTER]
    return solve_ivp(rates, times, slip, method="Radau", rtol=1e-9, atol=1e-16).y[:, -1]


def in_plane(body):
    return quirk.Force("push", body, lambda t, *state: [*load(t), 0.0])


def planar(kind):
    block = Body.box("body", 1.0, [0.4, 0.4, 0.1])
    joint = kind("joint", GROUND, block, point=[0, 0, 0], axis="z")
    parts = [block, joint, quirk.Friction("friction", joint, MU), in_plane(block)]
    return parts, np.ones(2), lambda result: result["body"].velocity[-1, :2]


def contacts(count):
    """A block on `count` feet at the height of its center of mass, so that their loads are equal."""
    block = Body.box("body", 1.0, [0.4, 0.4, 0.1])
    parts = [block, in_plane(block)]
    radius = 0.2 if count > 1 else 0.0
    for k, angle in enumerate(2 * np.pi * np.arange(count) / count):
        foot = quirk.surface.point([radius * np.cos(angle), radius * np.sin(angle), 0])
        contact = quirk.Contact(f"contact {k}", GROUND, block, on_i=quirk.surface.plane(), on_j=foot)
        parts += [contact, quirk.Friction(f"friction {k}", contact, MU)]
    return parts, np.ones(2), lambda result: result["body"].velocity[-1, :2]


def pin():
    """A pin that slides in its bearing along the axis, and about it, with slip velocity `RADIUS` times the rotation."""
    inertia = 0.01
    rod = Body("body", 1.0, [inertia, 0.02, 0.02])
    joint = quirk.Cylindrical("joint", GROUND, rod, point=[0, 0, 0], axis="x")
    push = quirk.Force("push", rod, lambda t, *state: [load(t)[0], 0.0, 0.0])
    turn = quirk.Torque("turn", rod, lambda t, *state: [RADIUS * load(t)[1], 0.0, 0.0])
    parts = [rod, joint, quirk.Friction("friction", joint, MU, radius=RADIUS), push, turn]
    masses = np.array([1.0, inertia / RADIUS**2])
    return (
        parts,
        masses,
        lambda result: [result["body"].velocity[-1, 0], RADIUS * result["body"].angular_velocity[-1, 0]],
    )


def ball(friction):
    inertia = 0.01
    body = Body("body", 1.0, [inertia] * 3)
    joint = quirk.Spherical("joint", GROUND, body, point=[0, 0, 0])
    turn = quirk.Torque("turn", body, lambda t, *state: [*RADIUS * load(t), 0.0], frame="inertial")
    masses = np.full(2, inertia / RADIUS**2)

    def slip(result):
        return RADIUS * result["joint"].angular_velocity[-1, :2]

    return [body, joint, friction(joint), turn], masses, slip


SYSTEMS = {
    "Planar": lambda: planar(quirk.Planar),
    "PointOnPlane": lambda: planar(quirk.PointOnPlane),
    "one contact": lambda: contacts(1),
    "three contacts": lambda: contacts(3),
    "four contacts": lambda: contacts(4),
    "Cylindrical": pin,
    "Spherical": lambda: ball(lambda joint: quirk.Friction("friction", joint, MU, radius=RADIUS)),
    "constant torque": lambda: ball(
        lambda joint: quirk.JointFriction("friction", joint, coulomb=LIMIT * RADIUS, sticking=True)
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_slip_begins_under_a_turning_load(name):
    parts, masses, slip = SYSTEMS[name]()
    system = quirk.System(parts, gravity=[0, 0, -G])
    result = quirk.simulate(system, START + AFTER, output=[START + AFTER])
    np.testing.assert_allclose(slip(result), reference_slip(masses), atol=1e-7)
    np.testing.assert_allclose([event.time for event in result.events], START, rtol=1e-9)
    assert all(event.direction == 1 for event in result.events)
    # 110 to 200 are needed, and 570 with constant torque, where only the smoothness of the motion reveals stiffness.
    assert result.statistics.steps + result.statistics.rejected < 800


@pytest.mark.filterwarnings("ignore::quirk.SaveWarning")
def test_friction_of_the_slowest_slip_has_the_direction_of_the_load(tmp_path):
    system = quirk.System(planar(quirk.Planar)[0], gravity=[0, 0, -G])
    early = START + 5e-5
    result = quirk.simulate(system, early, output=[early])
    assert np.linalg.norm(result["friction"].slip[-1]) < 1e-8
    friction = -LIMIT * load(early) / np.linalg.norm(load(early))
    np.testing.assert_allclose(result["friction"].force()[-1, :2], friction, atol=1e-6 * LIMIT)
    result.save(tmp_path / "onset.nc")
    loaded = quirk.Result.load(tmp_path / "onset.nc", system=system)
    np.testing.assert_allclose(loaded["friction"].force()[-1], result["friction"].force()[-1], rtol=1e-14)


@pytest.mark.parametrize("begins", [0.0, 1.0])
def test_the_direction_of_friction_is_a_unit_vector(begins):
    rng, floor = np.random.default_rng(0), 1e-3
    initial = np.array([0.6, 0.8, 0.0])
    for slip in rng.uniform(-1, 1, (50, 3)) * floor:
        direction = friction_direction(slip, initial, floor, begins)
        assert np.linalg.norm(direction) == pytest.approx(1.0, rel=1e-14)
        if np.linalg.norm(slip) <= floor:
            across = slip - slip @ initial * initial
            expected = begins * across / floor
            np.testing.assert_allclose(direction - direction @ initial * initial, expected, atol=1e-15)
        else:
            np.testing.assert_allclose(direction, slip / np.linalg.norm(slip), rtol=1e-14)


def test_the_direction_at_the_onset_is_continuous_at_the_floor():
    initial, floor = np.array([1.0, 0.0]), 1e-3
    for angle in (-1.2, 0.0, 0.7):
        along = np.array([np.cos(angle), np.sin(angle)])
        for speed in (floor * (1 - 1e-12), floor * (1 + 1e-12)):
            np.testing.assert_allclose(friction_direction(speed * along, initial, floor, 1.0), along, atol=1e-11)


def test_a_stalled_explicit_method_is_replaced_once():
    run = SimpleNamespace(clock=SimpleNamespace(t=0.0))
    switching = SlipSwitching(None, VERN9, RADAU_IIA9, lambda method: None)
    switching.start(0.0, MethodCosts())
    assert switching.rescue(run, 10, stalled=False) is None
    assert switching.rescue(run, 1000, stalled=True).method is RADAU_IIA9
    assert switching.rescue(run, 1010, stalled=False).method is VERN9
    assert switching.rescue(run, 2010, stalled=True) is None


def test_a_system_that_the_implicit_method_does_not_support_keeps_the_explicit_one():
    asked = []

    def refuse(method):
        asked.append(method)
        raise quirk.InputError("the element is not supported")

    run = SimpleNamespace(clock=SimpleNamespace(t=0.0))
    switching = SlipSwitching(None, VERN9, RADAU_IIA9, refuse)
    switching.start(0.0, MethodCosts())
    assert switching.rescue(run, 1000, stalled=True) is None
    switching.start(1.0, MethodCosts())
    assert switching.rescue(run, 1000, stalled=True) is None
    assert asked == [RADAU_IIA9]
