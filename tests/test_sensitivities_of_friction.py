"""Derivatives of runs with friction: while bodies slide, and where sliding ends or begins."""

import itertools
import re

import numpy as np
import pytest
from test_friction import KINDS, G, moving_pair
from test_tangent import T, check, random_directions, sparse

import quirk
from quirk import GROUND, Body

SHARP = {"rtol": 1e-12, "atol": 1e-14}


@pytest.mark.parametrize("name", KINDS)
def test_tangents_while_anything_slides(name):
    """Two joints with friction, whose loads depend on each other; the same in millimeters and kilometers."""

    def at(unit, mass):
        system, state = moving_pair(name.split()[0], KINDS[name], 5, unit, mass)
        directions = random_directions(system, 7)
        directions.bodies[:, [0, 1, 2, 6, 7, 8]] *= unit
        return system, state, directions

    check(*at(1.0, 1.0))
    one = sparse(*at(1.0, 1.0)[:2], T, at(1.0, 1.0)[2])
    for unit, mass in ((1e-3, 1e-3), (1e3, 1e3)):
        system, state, directions = at(unit, mass)
        other = sparse(system, state, T, directions)
        np.testing.assert_allclose(other.linear / unit, one.linear, atol=1e-9 * np.abs(one.linear).max())
        np.testing.assert_allclose(other.friction / (mass * unit), one.friction, atol=1e-9 * np.abs(one.friction).max())


def derivative(function, h):
    """By central differences over h, h / 2 and h / 4, extrapolated."""
    table = [(function(x) - function(-x)) / (2 * x) for x in (h, h / 2, h / 4)]
    for k in (1, 2):
        table = [(4**k * fine - coarse) / (4**k - 1) for coarse, fine in itertools.pairwise(table)]
    return table[0]


def compare(build, body, keys, duration, h=1e-3, tolerance=1e-8):
    """Sensitivities of positions and velocities at times of the output against differences of whole runs."""
    times = np.linspace(0.0, duration, 8)
    run = quirk.simulate(build({}), duration, output=times, sensitivities=keys, **SHARP)
    asked = np.isin(run.time, times)

    def motion(result):
        return np.concatenate([result[body].position, result[body].velocity], axis=1)[np.isin(result.time, times)]

    for key in keys:
        found = run.sensitivity[key][body]
        got = np.concatenate([found.position, found.velocity], axis=1)[asked]
        want = derivative(
            lambda x, key=key: motion(quirk.simulate(build({key: x}), duration, output=times, **SHARP)), h
        )
        np.testing.assert_allclose(got, want, atol=tolerance * np.abs(want).max(), err_msg=f"{key}")
    return run


def sliding_ball(unit=1.0, mass=5.0):
    r = 0.1 * unit
    ball = Body("ball", mass, [0.4 * mass * r**2] * 3, position=[0, 0, r], velocity=[unit, 0, 0])
    floor = quirk.Contact("floor", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(r))
    return quirk.System([ball, floor, quirk.Friction("f", floor, 0.1)], gravity=[0, 0, -G * unit])


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e3])
def test_a_bowling_ball_rolls_later_the_smoother_it_is(unit):
    """It slides for t = 2 v / (7 mu g), and rolls with 5/7 of its speed whatever mu is."""
    keys = [("f", "coefficient"), ("ball", "velocity"), ("ball", "mass")]
    run = quirk.simulate(sliding_ball(unit), 1.0, output=[0.1, 1.0], sensitivities=keys, rtol=1e-11, atol=1e-14 * unit)
    rolls = 2 / (7 * 0.1 * G)
    later = run.sensitivity[("f", "coefficient")].event_times
    np.testing.assert_allclose(later, [-rolls / 0.1], rtol=1e-10)
    np.testing.assert_allclose(run.sensitivity[("ball", "velocity")].event_times[0, 0], rolls / unit, rtol=1e-10)
    by_mu = run.sensitivity[("f", "coefficient")]["ball"]
    rows = [int(np.flatnonzero(run.time == t)[0]) for t in (0.1, 1.0)]
    np.testing.assert_allclose(by_mu.velocity[rows, 0], [-0.1 * G * unit, 0.0], atol=1e-9 * unit)
    # x = 5/7 v t + v t_1 / 7 once it rolls.
    np.testing.assert_allclose(by_mu.position[rows[1], 0], -unit * rolls / 0.1 / 7, rtol=1e-9)
    force = run.sensitivity[("f", "coefficient")]["f"].force()
    np.testing.assert_allclose(force[rows[0]], [-5.0 * G * unit, 0, 0], atol=1e-9 * unit)
    np.testing.assert_allclose(run.sensitivity[("ball", "mass")]["f"].force()[rows[0], 0], -0.1 * G * unit, rtol=1e-9)


@pytest.mark.slow
def test_stick_and_slip_over_many_turns():
    def build(moved):
        mu, static, mass, stiffness = (
            value + moved.get(key, 0.0)
            for key, value in [(("f", "coefficient"), 0.3), (("f", "static"), 0.45), (("block", "mass"), 1.0),
                               (("spring", "stiffness"), 40.0)]
        )  # fmt: skip
        block, cart = (
            Body("block", mass, [0.01] * 3),
            Body("cart", 1.0, [0.01] * 3, position=[1, 0, 0], velocity=[0.5, 0, 0]),
        )
        rail = quirk.Prismatic("rail", GROUND, block, point=[0, 0, 0], axis=[1, 0, 0])
        track = quirk.Prismatic("track", GROUND, cart, point=[1, 0, 0], axis=[1, 0, 0])
        drive = quirk.Drive("drive", track, quirk.Motion.constant_rate(0.5))
        spring = quirk.Spring(
            "spring", block, cart, point_i=[0] * 3, point_j=[0] * 3, stiffness=stiffness, rest_length=1
        )
        return quirk.System(
            [block, cart, rail, track, drive, spring, quirk.Friction("f", rail, mu, static=static)], gravity=[0, 0, -G]
        )

    keys = [("f", "coefficient"), ("f", "static"), ("block", "mass"), ("spring", "stiffness")]
    run = compare(build, "block", keys, 3.0, tolerance=1e-9)
    assert len(run.events) == 5
    # It breaks away where the spring pulls with static m g: at 0.45 m g / (k v), and later in proportion.
    by_static = run.sensitivity[("f", "static")].event_times
    np.testing.assert_allclose(by_static[0], G / (40 * 0.5), rtol=1e-9)


@pytest.mark.slow
def test_a_pin_in_two_bearings_that_turns_back():
    def build(moved):
        def number(*key, value):
            return value + moved.get(key, 0.0)

        rod = Body("rod", number("rod", "mass", value=1.0), [0.01, 0.1, 0.1], position=[0.5, 0, 0.1])
        pin = quirk.Revolute("pin", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
        push = quirk.Force("push", rod, [0, 3.0, 0], point=[0.2, 0, 0])
        friction = quirk.Friction(
            "f", pin, number("f", "coefficient", value=0.3), radius=number("f", "radius", value=0.1),
            length=number("f", "length", value=0.3),
        )  # fmt: skip
        return quirk.System([rod, pin, push, friction], gravity=[0, 0.5, -G])

    keys = [("rod", "mass"), ("f", "coefficient"), ("f", "radius"), ("f", "length")]
    run = compare(build, "rod", keys, 2.5)
    assert len(run.events) == 2


def test_a_puck_that_curves_until_it_stops():
    def build(moved):
        puck = Body("puck", 1.0, [0.02] * 3, velocity=[0.4, 0.1, 0])
        plane = quirk.PointOnPlane("plane", GROUND, puck, point=[0, 0, 0], axis=[0, 0, 1])
        stiffness = 30.0 + moved.get(("spring", "stiffness"), 0.0)
        spring = quirk.Spring(
            "spring", GROUND, puck, point_i=[0.3, 0.4, 0], point_j=[0] * 3, stiffness=stiffness, rest_length=0.05
        )
        mu = 0.3 + moved.get(("f", "coefficient"), 0.0)
        return quirk.System([puck, plane, spring, quirk.Friction("f", plane, mu)], gravity=[0, 0, -G])

    compare(build, "puck", [("spring", "stiffness"), ("f", "coefficient")], 2.0)


def test_a_joint_whose_axis_tilts_while_its_friction_holds():
    """By the place of frames: what sticks keeps to the joint as it is moved."""
    block = Body("block", 2.0, [0.01] * 3, velocity=[1, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, block, point=[0, 0, 0], axis=[1, 0, 0])
    system = quirk.System([block, rail, quirk.Friction("f", rail, 0.2)], gravity=[0, 0, -G])
    run = quirk.simulate(system, 1.0, output=[0.1, 1.0], sensitivities=[("rail", "frame_i.rotation")], **SHARP)
    # The rail, along z of the frame, falls by an angle: the block is pulled by g times it, and goes down with it.
    axes = rail.frame_i.matrix
    turn = axes.T @ [0, 1, 0]  # about y of N, which tilts x downwards
    found = run.sensitivity[("rail", "frame_i.rotation")]
    first = int(np.flatnonzero(run.time == 0.1)[0])
    np.testing.assert_allclose(found["block"].velocity[first] @ turn, [G * 0.1, 0, -(1 - 0.2 * G * 0.1)], atol=1e-9)
    np.testing.assert_allclose(found.event_times @ turn, [G * (1 / (0.2 * G)) / (0.2 * G)], rtol=1e-9)
    np.testing.assert_allclose(found["block"].velocity[-1] @ turn, 0.0, atol=1e-9)


def test_linear_systems_while_it_slides_and_none_at_rest():
    """A block that slides on a rail through air: v' = -mu sqrt(g^2 + (c v)^2 / m^2) for a lift of c v across."""
    block = Body("block", 2.0, [0.01] * 3, velocity=[3.0, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, block, point=[0, 0, 0], axis=[1, 0, 0])
    lift = quirk.Force("lift", block, lambda t, r, q, v, w: [0.0, 4.0 * v[0], 0.0])
    system = quirk.System([block, rail, lift, quirk.Friction("f", rail, 0.2)], gravity=[0, 0, -G])
    state = system.initial_state()
    found = system.linearize(state, coordinates=["rail.travel"])
    slope = -0.2 * (4.0 / 2.0) ** 2 * 3.0 / np.hypot(G, 4.0 * 3.0 / 2.0)
    np.testing.assert_allclose(found.A, [[0, 1], [0, slope]], atol=1e-12)
    state.velocity[:] = 0.0
    with pytest.raises(quirk.InputError, match=re.escape('Friction "f": nothing slides in this state')):
        system.linearize(state, coordinates=["rail.travel"])


def test_what_is_not_differentiated_is_told():
    ball = Body("ball", 1.0, [0.004] * 3, position=[0, 0, 0.3])
    floor = quirk.Contact(
        "floor", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1), restitution=0.5
    )
    bouncing = quirk.System([ball, floor, quirk.Friction("f", floor, 0.1)], gravity=[0, 0, -G])
    with pytest.raises(quirk.InputError, match='Friction "f": its impulses when Contact "floor" closes'):
        quirk.simulate(bouncing, 0.5, sensitivities=[("ball", "velocity")])
    rolling = sliding_ball()
    with pytest.raises(quirk.InputError, match='Friction "f": its load is not differentiated for the steps of this'):
        quirk.simulate(rolling, 0.1, method="Rodas5P")
    explicit, implicit = (quirk.simulate(rolling, 0.1, output=[0.1], method=name) for name in ("Vern9", "RadauIIA9"))
    np.testing.assert_allclose(implicit["ball"].velocity[-1], explicit["ball"].velocity[-1], atol=1e-8)
    with pytest.raises(quirk.InputError, match='Friction "f": its load is not differentiated for sensitivities along'):
        quirk.simulate(rolling, 0.1, method="RadauIIA9", sensitivities=[("ball", "mass")])
    objective = quirk.Objective(["ball.position.x"], lambda x: (float(x[-1, 0]), np.eye(len(x))[-1:].T))
    with pytest.raises(quirk.InputError, match='Friction "f": its load is not differentiated for gradients'):
        quirk.simulate(rolling, 0.1, output=0.05, objective=objective, sensitivities=[("ball", "mass")])


@pytest.mark.parametrize("mass", [2.0, 2.857640263930919, *np.random.default_rng(3).uniform(2.0, 4.0, 6)])
def test_a_force_that_turns_while_a_block_slides(mass):
    """No contact closes at that event, whatever round-off is in the speed normal to the floor."""
    force, mu, speed, turn, end = 8.2, 0.456, 0.94, 0.14, 0.25

    def build(force):
        return quirk.Force("push", block, [force, 0, 0])

    block = Body.box("block", mass, [0.1, 0.1, 0.1], velocity=[speed, 0, 0])
    floor = quirk.Contact("floor", GROUND, block, on_i=quirk.surface.plane(), on_j=quirk.surface.point([0, 0, 0]))
    turns = quirk.Event("turn", "block.position.x", level=turn, action=quirk.replace("push", build(-force)))
    parts = [block, floor, quirk.Friction("rubs", floor, mu), build(force), turns]
    result = quirk.simulate(
        quirk.System(parts, gravity=[0, 0, -G]), end, output=[end], sensitivities=[("block", "mass")], **SHARP
    )

    def place(m):
        first, second = force / m - mu * G, -force / m - mu * G
        faster = np.sqrt(speed**2 + 2 * first * turn)
        left = end - (faster - speed) / first
        return turn + faster * left + 0.5 * second * left**2

    h = 1e-5
    np.testing.assert_allclose(result["block"].position[-1, 0], place(mass), rtol=1e-10)
    slope = result.sensitivity["block", "mass"]["block"].position[-1, 0]
    np.testing.assert_allclose(slope, (place(mass + h) - place(mass - h)) / (2 * h), rtol=1e-6)
