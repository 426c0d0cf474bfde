"""Friction in proportion to constraint loads, against closed forms and solutions written for it alone."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq
from studies import study

import quirk
from quirk import GROUND, Body

G = 9.81
DOWN = [0, 0, -G]


def ball_on_floor(mu, *, radius=0.1, **motion):
    ball = Body("ball", 5.0, [0.4 * 5.0 * radius**2] * 3, position=[0, 0, radius], **motion)
    floor = quirk.Contact(
        "floor", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(radius), restitution=0.8
    )
    return quirk.System([ball, floor, quirk.Friction("f", floor, mu)], gravity=DOWN)


def block_on_rail(slope, mu, speed=0.0, **options):
    """A block on a guide down a slope (rad), and the direction down it."""
    down = np.array([np.cos(slope), 0, -np.sin(slope)])
    block = Body("block", 2.0, [0.01] * 3, velocity=speed * down)
    rail = quirk.Prismatic("rail", GROUND, block, point=[0, 0, 0], axis=down)
    return quirk.System([block, rail, quirk.Friction("f", rail, mu, **options)], gravity=DOWN), down


def block_on_points(slope, mu, speed=0.0, half=(0.1, 0.1, 0.05)):
    """A block on its four lower corners."""
    down, normal = np.array([np.cos(slope), 0, -np.sin(slope)]), np.array([np.sin(slope), 0, np.cos(slope)])
    turn = [np.cos(slope / 2), 0, np.sin(slope / 2), 0]
    block = Body("block", 2.0, [0.01] * 3, position=half[2] * normal, orientation=turn, velocity=speed * down)
    parts = [block]
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        corner = quirk.surface.point([x * half[0], y * half[1], -half[2]])
        contact = quirk.Contact(f"c{k}", GROUND, block, on_i=quirk.surface.plane(normal=normal), on_j=corner)
        parts += [contact, quirk.Friction(f"f{k}", contact, mu)]
    return quirk.System(parts, gravity=DOWN), down


def test_a_bowling_ball_slides_and_then_rolls():
    v, mu = 7.0, 0.2
    system = ball_on_floor(mu, velocity=[v, 0, 0])
    result = quirk.simulate(system, 2.0, output=[0.0, 0.5, 1.5, 2.0])
    (rolls,) = result.events
    assert rolls.name == "f"
    assert rolls.direction == -1
    assert rolls.time == pytest.approx(2 * v / (7 * mu * G), rel=1e-12)
    np.testing.assert_allclose(result["ball"].velocity[-1], [5 / 7 * v, 0, 0], atol=1e-12)
    np.testing.assert_allclose(result["ball"].angular_velocity[-1], [0, 5 / 7 * v / 0.1, 0], atol=1e-10)
    sticking = result["f"].sticking
    assert not sticking[0]
    assert sticking[-1]
    np.testing.assert_allclose(result["f"].force()[0], [-mu * 5.0 * G, 0, 0], atol=1e-12)
    np.testing.assert_allclose(result["f"].force(end=0)[0], [mu * 5.0 * G, 0, 0], atol=1e-12)
    np.testing.assert_allclose(result["f"].torque(end=1)[0], [0, mu * 5.0 * G * 0.1, 0], atol=1e-12)
    np.testing.assert_allclose(result["f"].force()[-1], 0, atol=1e-12)
    assert abs(result.power.balance).max() < 1e-10
    assert result.power.work["f"][-1] == pytest.approx(-0.5 * 5.0 * v * v * 2 / 7, rel=1e-12)


def test_a_ball_with_spin_about_any_axis():
    v, w, mu, r = np.array([1.0, 0.5]), np.array([20.0, 5.0, 7.0]), 0.2, 0.1
    system = ball_on_floor(mu, velocity=[*v, 0], angular_velocity=w)
    result = quirk.simulate(system, 1.0, output=[1.0])
    slip = v + r * np.array([-w[1], w[0]])
    assert result.events[0].time == pytest.approx(np.linalg.norm(slip) / (3.5 * mu * G), rel=1e-10)
    np.testing.assert_allclose(result["ball"].velocity[-1, :2], v - 2 / 7 * slip, rtol=1e-10)


@pytest.mark.parametrize("make", [block_on_rail, block_on_points])
@pytest.mark.parametrize("off", [-1e-3, -1e-8, 1e-3, 0.2])
def test_a_block_sticks_below_the_angle_of_friction_and_slides_above(make, off):
    mu = 0.3
    slope = np.arctan(mu) + off
    system, down = make(slope, mu)
    result = quirk.simulate(system, 1.0, output=[1.0])
    gain = max(0.0, G * (np.sin(slope) - mu * np.cos(slope)))
    assert result["block"].velocity[-1] @ down == pytest.approx(gain, rel=1e-10, abs=1e-14)
    assert not result.events


@pytest.mark.parametrize("make", [block_on_rail, block_on_points])
@pytest.mark.parametrize("slope", [0.2, 0.5])
def test_a_block_thrown_up_a_slope_stops_and_stays_or_slides_back(make, slope):
    mu, speed = 0.3, 2.0
    system, down = make(slope, mu, -speed)
    result = quirk.simulate(system, 2.0, output=[1.9, 2.0])
    stops = speed / (G * (np.sin(slope) + mu * np.cos(slope)))
    assert result.events[0].time == pytest.approx(stops, rel=1e-12)
    back = max(0.0, G * (np.sin(slope) - mu * np.cos(slope)))
    assert result["block"].velocity[-1] @ down == pytest.approx((2.0 - stops) * back, rel=1e-10, abs=1e-12)
    assert result.events[0].direction == (1 if back else -1)


def test_a_tall_block_tips_where_its_weight_passes_the_edge():
    half = (0.1, 0.1, 0.2)
    for slope, tips in ((0.45, False), (0.48, True)):  # atan(0.5) = 0.464
        system, _ = block_on_points(slope, 1.0, half=half)
        result = quirk.simulate(system, 0.2, output=[0.2])
        assert (result["block"].angular_velocity[-1, 1] > 1e-3) == tips, slope


def test_stick_and_slip_of_a_block_on_a_belt():
    m, k, mu, static, v = 1.0, 100.0, 0.2, 0.4, 0.3
    belt, block = Body("belt", 1.0, [0.1] * 3), Body("block", m, [0.1] * 3)
    path = quirk.Prismatic("path", GROUND, belt, point=[0, 0, 0], axis=[1, 0, 0])
    rail = quirk.Prismatic("rail", belt, block, point=[0, 0, 0], axis=[1, 0, 0])
    spring = quirk.Spring("spring", GROUND, block, point_i=[-1, 0, 0], stiffness=k, rest_length=1.0)
    drive = quirk.Drive("drive", path, quirk.Motion.polynomial([0, v]))
    friction = quirk.Friction("f", rail, mu, static=static)
    system = quirk.System([belt, block, path, rail, spring, drive, friction], gravity=DOWN)
    state = system.initial_state()
    state.velocity[:, 0] = v
    result = quirk.simulate(system, 3.0, initial_state=state, output=0.1)
    breaks, sliding = static * m * G / k, mu * m * G / k
    w = np.sqrt(k / m)
    slips = 2 / w * (np.pi - np.arctan((breaks - sliding) * w / v))
    sticks = 2 * (breaks - sliding) / v
    times = result.events.time
    assert times[0] == pytest.approx(breaks / v, rel=1e-12)
    np.testing.assert_allclose(np.diff(times)[0::2], slips, rtol=1e-9)
    np.testing.assert_allclose(np.diff(times)[1::2], sticks, rtol=1e-9)
    assert [event.direction for event in result.events] == [1 - 2 * (n % 2) for n in range(len(times))]
    assert abs(result.power.balance).max() < 1e-9


def test_a_pendulum_on_a_pin_with_friction():
    m, L, inertia, mu, r = 2.0, 0.5, 0.03, 0.3, 0.08
    rod = Body("rod", m, [inertia] * 3, position=[L, 0, 0])
    pin = quirk.Revolute("pin", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    system = quirk.System([rod, pin, quirk.Friction("f", pin, mu, radius=r)], gravity=DOWN)
    result = quirk.simulate(system, 2.0, output=[2.0], rtol=1e-12, atol=1e-14)

    def motion(sign):
        def rates(t, y):
            along, across = np.array([np.cos(y[0]), -np.sin(y[0])]), np.array([-np.sin(y[0]), -np.cos(y[0])])

            def missing(a):
                load = m * (L * (a * across - y[1] ** 2 * along) + np.array([0, G]))
                drag = sign * mu * r * np.linalg.norm(load)
                return (inertia + m * L * L) * a - m * G * L * np.cos(y[0]) + drag

            return [y[1], brentq(missing, -1e3, 1e3, xtol=1e-15, rtol=1e-14)]

        return rates

    t, y, turns = 0.0, np.zeros(2), []
    for sign in (1, -1, 1):

        def turned(t, y, sign=sign):
            return sign * y[1]

        turned.terminal, turned.direction = True, -1
        y[1] = 1e-14 * sign
        found = solve_ivp(motion(sign), [t, 2.0], y, events=turned, rtol=1e-12, atol=1e-14, method="DOP853")
        t, y = found.t[-1], found.y[:, -1]
        turns.append(t)
    np.testing.assert_allclose(result.events.time, turns[:2], rtol=1e-10)
    assert result["pin"].rotation[-1, 2] == pytest.approx(y[0], rel=1e-9)
    assert abs(result.power.balance).max() < 1e-10


KINDS = {
    "Revolute": {"radius": 0.07},
    "Revolute on two bearings": {"radius": 0.07, "length": 0.3},
    "Cylindrical": {"radius": 0.07},
    "Cylindrical on two bearings": {"radius": 0.07, "length": 0.3},
    "Prismatic": {},
    "Prismatic over a length": {"length": 0.2},
    "Spherical": {"radius": 0.07},
    "Planar": {},
    "PointOnPlane": {},
    "PointOnLine": {},
}


def moving_pair(kind, options, seed, unit=1.0, mass=1.0):
    """Two bodies with friction in both joints, moving, in any units of length and mass."""
    rng = np.random.default_rng(seed)
    b = Body("b", 2.0 * mass, mass * unit**2 * np.diag([0.1, 0.2, 0.25]), position=unit * np.array([0.3, 0.1, 0.2]))
    c = Body("c", 1.0 * mass, mass * unit**2 * np.diag([0.05, 0.06, 0.07]), position=unit * np.array([0.8, 0.3, 0.2]))
    base = quirk.Revolute("base", GROUND, b, point=[0, 0, 0], axis=[0.1, 1, 0.2])
    place = {"point": unit * np.array([0.5, 0.2, 0.2])}
    if kind != "Spherical":
        place["axis"] = [0.3, 0.4, 1.0]
    joint = getattr(quirk, kind)("joint", b, c, **place)
    scaled = {name: unit * size for name, size in options.items()}
    frictions = [
        quirk.Friction("f", joint, 0.4, **scaled),
        quirk.Friction("g", base, 0.3, radius=0.05 * unit, length=0.2 * unit),
    ]
    system = quirk.System([b, c, base, joint, *frictions], gravity=unit * np.array([0.5, -1, -G]))
    state = system.initial_state()
    state.velocity[:], state.angular_velocity[:] = unit * rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    return system, system.remove_disallowed_velocity(state)


@pytest.mark.parametrize("name", KINDS)
def test_loads_agree_with_the_dense_reference_in_any_units(name):
    kind, options = name.split()[0], KINDS[name]
    for seed in range(3):
        one, state = moving_pair(kind, options, seed)
        fast, dense = (one.acceleration(state, solver=solver) for solver in ("sparse", "dense"))
        np.testing.assert_allclose(fast.linear, dense.linear, rtol=1e-12, atol=1e-12, err_msg=f"seed {seed}")
        np.testing.assert_allclose(fast.angular, dense.angular, rtol=1e-12, atol=1e-12, err_msg=f"seed {seed}")
        loads, reference = one.joint_loads(state), one.joint_loads(state, solver="dense")
        for joint, load in loads.items():
            np.testing.assert_allclose(load.force, reference[joint].force, rtol=1e-11, atol=1e-11)
    for unit, mass in ((1e3, 1e3), (1e-3, 1e-3)):
        other, state = moving_pair(kind, options, 2, unit, mass)
        found = other.acceleration(state)
        np.testing.assert_allclose(found.linear / unit, fast.linear, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", KINDS)
def test_friction_is_the_coefficient_times_the_load_against_the_slip(name):
    kind, options = name.split()[0], KINDS[name]
    system, state = moving_pair(kind, options, 7)
    result = quirk.simulate(system, 1e-3, initial_state=state, output=[0.0])
    force, torque = result["f"].force()[0], result["f"].torque()[0]
    load, axis = result["joint"].force()[0], np.array([0.3, 0.4, 1.0]) / np.linalg.norm([0.3, 0.4, 1.0])
    moment = result["joint"].torque()[0]
    along = axis * (axis @ load)
    N = np.linalg.norm({"Spherical": load, "Planar": along, "PointOnPlane": along}.get(kind, load - along))
    if "length" in options:
        half, couple = (load - along) / 2, np.cross(axis, moment) / options["length"]
        N = np.linalg.norm(half + couple) + np.linalg.norm(half - couple)
    size = np.sqrt(force @ force + (torque @ torque) / options.get("radius", 1.0) ** 2)
    assert size == pytest.approx(0.4 * N, rel=1e-10)
    slip = result["f"].slip[0]
    assert result["f"].power[0] == pytest.approx(-0.4 * N * np.linalg.norm(slip), rel=1e-10)


def test_a_ball_that_bounces_with_friction_rolls_in_the_end():
    r, m, v, mu, e = 0.1, 5.0, 1.0, 0.02, 0.8
    system = ball_on_floor(mu, velocity=[v, 0, 0])
    state = system.initial_state()
    state.position[0, 2] += 1.0
    result = quirk.simulate(system, 20.0, initial_state=state, output=[0.5, 20.0])
    push = m * (1 + e) * np.sqrt(2 * G)
    hit = result.events[0]
    np.testing.assert_allclose(hit.impulse["floor"].force, [0, 0, push], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(hit.impulse["f"].force, [-mu * push, 0, 0], rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose(hit.impulse["f"].torque, [0, mu * push * r, 0], rtol=1e-11, atol=1e-11)
    after = np.flatnonzero(result.time == 0.5)[0]
    np.testing.assert_allclose(result["ball"].velocity[after, 0], v - mu * push / m, rtol=1e-11)
    np.testing.assert_allclose(result["ball"].velocity[-1], [5 / 7 * v, 0, 0], atol=1e-10)
    assert (np.diff(result.energy.total) <= 1e-12).all()


def sliding_rod(mu, angle, speed):
    """A rod that leans to the right and slides on its lower end."""
    rod = Body("rod", 1.0, [1 / 12, 1 / 12, 1e-2], position=[np.cos(angle) / 2, 0, np.sin(angle) / 2])
    tip = quirk.surface.point(rod.local(np.zeros(3)))
    rod = Body("rod", 1.0, [1 / 12, 1 / 12, 1e-2], position=rod.position, velocity=[speed, 0, 0])
    contact = quirk.Contact("tip", GROUND, rod, on_i=quirk.surface.plane(), on_j=tip)
    return quirk.System([rod, contact, quirk.Friction("f", contact, mu)], gravity=DOWN)


@pytest.mark.parametrize("angle", [0.9, 1.1, 1.3])
def test_painleves_rod(angle):
    s, c = np.sin(angle), np.cos(angle)
    most = (1 + 3 * c * c) / (3 * s * c)
    # Dragged towards where it leans the load grows; pushed so, it falls.
    for mu, speed, known in ((0.99 * most, -1.0, True), (1.01 * most, -1.0, False), (1.01 * most, 1.0, True)):
        system = sliding_rod(mu, angle, speed)
        if known:
            result = quirk.simulate(system, 1e-3, output=[0.0])
            load = result["tip"].force()[0, 2]
            expected = G / (1 + 3 * c * c + np.sign(speed) * 3 * mu * s * c)
            assert load == pytest.approx(expected, rel=1e-9), (mu, speed)
        else:
            with pytest.raises(quirk.SimulationError, match=r"Painleve.*Friction \"f\""):
                quirk.simulate(system, 1e-3)


def test_a_joint_that_jams_is_told():
    # Bearings so close that friction of sliding grows faster than what it holds back.
    slider = Body("slider", 1.0, [0.1] * 3, position=[0.5, 0, 0], velocity=[0, 0, -1.0])
    guide = quirk.Prismatic("guide", GROUND, slider, point=[0, 0, 0], axis=[0, 0, 1])
    push = quirk.Force("push", slider, [0, 0, -1.0])
    for length, jams in ((1.2, False), (0.4, True)):
        friction = quirk.Friction("f", guide, 0.6, length=length)
        system = quirk.System([slider, guide, push, friction])
        if jams:
            with pytest.raises(quirk.SimulationError, match="Friction"):
                quirk.simulate(system, 0.1)
        else:
            assert quirk.simulate(system, 0.1, output=[0.1]).status == "completed"


def test_what_slides_with_its_direction_turning():
    """A disk on three feet that slides and spins: no energy but what friction takes, to rest."""
    disk = Body(
        "disk", 1.0, [0.01, 0.01, 0.02], position=[0, 0, 0.05], velocity=[1, 0.2, 0], angular_velocity=[0, 0, 8]
    )
    parts = [disk]
    for k, a in enumerate(2 * np.pi * np.arange(3) / 3):
        foot = quirk.surface.point([0.1 * np.cos(a), 0.1 * np.sin(a), -0.05])
        contact = quirk.Contact(f"c{k}", GROUND, disk, on_i=quirk.surface.plane(), on_j=foot)
        parts += [contact, quirk.Friction(f"f{k}", contact, 0.3)]
    result = quirk.simulate(quirk.System(parts, gravity=DOWN), 2.0, output=0.1)
    assert abs(result.power.balance).max() < 1e-10
    assert abs(result["disk"].velocity[-1]).max() < 1e-12
    moving = result.time < 0.65
    for k in range(3):
        force, slip = result[f"f{k}"].force()[moving], result[f"f{k}"].slip[moving]
        N = result[f"c{k}"].force()[moving, 2]
        expected = -0.3 * N[:, None] * slip / np.linalg.norm(slip, axis=1)[:, None]
        np.testing.assert_allclose(force[:, :2], expected, atol=1e-9)


def test_two_spheres_that_roll_on_each_other():
    # A ball on top of a fixed one begins to roll, then slides: with mu and static alike, where |T| = mu N.
    R, r, m, mu = 1.0, 0.2, 1.0, 0.3
    start = 0.1
    place = (R + r) * np.array([np.sin(start), 0, np.cos(start)])
    ball = Body("ball", m, [0.4 * m * r * r] * 3, position=place)
    contact = quirk.Contact("on", GROUND, ball, on_i=quirk.surface.sphere(R), on_j=quirk.surface.sphere(r))
    system = quirk.System([ball, contact, quirk.Friction("f", contact, mu)], gravity=DOWN)
    result = quirk.simulate(system, 2.0, output=0.05)
    slips = result.events[0]
    assert (slips.name, slips.direction) == ("f", 1)
    row = int(np.searchsorted(result.time, slips.time))
    x, _, z = result["ball"].position[row]
    angle = np.arctan2(x, z)
    # Rolling: N = m g (17 cos a - 10 cos a0) / 7, T = 2/7 m g sin a.
    missing = brentq(lambda a: 2 * np.sin(a) - mu * (17 * np.cos(a) - 10 * np.cos(start)), start, 1.0, xtol=1e-15)
    assert angle == pytest.approx(missing, rel=1e-10)
    assert any(event.name == "on" and event.direction == 1 for event in result.events)  # it leaves in the end


def test_the_same_below_a_sphere():
    # A ball held against the underside of another one by a field: tangents are smooth there, too.
    ball = Body("ball", 1.0, [0.01] * 3, position=[0, 0, -1.2], velocity=[0.1, 0, 0])
    contact = quirk.Contact("on", GROUND, ball, on_i=quirk.surface.sphere(1.0), on_j=quirk.surface.sphere(0.2))
    system = quirk.System([ball, contact, quirk.Friction("f", contact, 0.1)], gravity=[0, 0, G])
    result = quirk.simulate(system, 1.0, output=0.1)
    assert np.isfinite(result["f"].force()).all()
    assert abs(result.power.balance).max() < 1e-10


def disk_on_floor(tilt, spin, *, one_sided):
    """A disk that rolls, tilted by `tilt` from the vertical; spin (3,) about the vertical, its axis, and x."""
    R, m, half = 0.5, 2.0, (np.pi / 2 - tilt) / 2
    turn = np.array([np.cos(half), -np.sin(half), 0, 0])
    axes = quirk.rotation.matrix(turn)
    cosine = axes[2, 2]
    arm = (axes[:, 2] * cosine - [0, 0, 1]) * R / np.sqrt(1 - cosine**2)
    omega = np.array([spin[2], 0, spin[0]]) + spin[1] * axes[:, 2]
    inertia = m * R * R * np.array([0.25, 0.25, 0.5])
    motion = {"velocity": np.cross(omega, -arm), "angular_velocity": axes.T @ omega}
    disk = Body("disk", m, inertia, position=-arm, orientation=turn, **motion)
    if not one_sided:
        return quirk.System([disk, quirk.RollingDisk("roll", GROUND, disk, radius=R)], gravity=DOWN)
    contact = quirk.Contact("roll", GROUND, disk, on_i=quirk.surface.plane(), on_j=quirk.surface.rim(R))
    return quirk.System([disk, contact, quirk.Friction("grip", contact, np.inf)], gravity=DOWN)


def test_a_rim_that_never_slips_rolls_as_a_rolling_disk_does():
    spin = (0.5, 6.0, 0.0)
    one, two = (
        quirk.simulate(disk_on_floor(0.2, spin, one_sided=one_sided), 1.0, output=[0.0, 1.0], rtol=1e-11, atol=1e-12)
        for one_sided in (True, False)
    )
    assert not one.events
    np.testing.assert_allclose(one.state.position[-1], two.state.position[-1], atol=1e-11)
    np.testing.assert_allclose(one["roll"].force() + one["grip"].force(), two["roll"].force(), atol=1e-9)


def test_it_lifts_off_where_a_rolling_disk_would_be_pulled():
    for one_sided in (True, False):
        system = disk_on_floor(0.0, (0.0, 2.0, 0.0), one_sided=one_sided)
        crane = quirk.Force("crane", system.bodies[0], [0, 0, quirk.Motion.polynomial([0, 40.0])])
        result = quirk.simulate(system.with_parts(crane), 1.0, output=0.05)
        height = result["disk"].position[-1, 2]
        if one_sided:
            assert result.events[-1].direction == 1
            assert height > 0.55
        else:
            assert height < 0.5 + 1e-12


def test_a_rim_that_falls_flat_is_told():
    system = disk_on_floor(0.9, (0, 0, 0), one_sided=True).without("grip")
    with pytest.raises(quirk.SimulationError, match='Contact "roll": its rim lies flat on the plane'):
        quirk.simulate(system, 1.0)


def test_a_contact_that_has_left_without_a_load_is_open():
    """A stop whose load has fallen to zero takes no part in what others do later."""
    slider = Body("slider", 1.0, [0.1] * 3)
    rail = quirk.Prismatic("rail", GROUND, slider, point=[0, 0, 0], axis=[1, 0, 0])
    push = quirk.Force("push", slider, [quirk.Motion.polynomial([-1.0, 1.0]), 0, 0])
    stops = [quirk.Stop("left", rail, lower=0.0), quirk.Stop("right", rail, upper=0.3, restitution=0.5)]
    result = quirk.simulate(quirk.System([slider, rail, push, *stops]), 3.0, output=[3.0])
    leaves, hits = result.events[0], result.events[1]
    assert (leaves.name, hits.name) == ("left", "right")
    assert leaves.time == pytest.approx(1.0, rel=1e-11)
    assert hits.time == pytest.approx(1 + 1.8 ** (1 / 3), rel=1e-10)
    assert set(hits.impulse) == {"right", "rail"} or set(hits.impulse) == {"right"}
    after = np.flatnonzero(result.time == hits.time)[-1]
    speed = 0.5 * 1.8 ** (2 / 3)
    assert result["slider"].velocity[after, 0] == pytest.approx(-0.5 * speed, rel=1e-10)


def test_one_block_comes_to_rest_on_another_that_slides():
    lower = Body.box("lower", 4.0, size=[0.6, 0.6, 0.1], position=[0, 0, 0.05], velocity=[1.5, 0, 0])
    upper = Body.box("upper", 1.0, size=[0.2, 0.2, 0.1], position=[0, 0, 0.15])
    ground = quirk.Planar("floor", GROUND, lower, point=[0, 0, 0], normal=[0, 0, 1])
    top = quirk.Planar("top", lower, upper, point=[0, 0, 0.1], normal=[0, 0, 1])
    frictions = [quirk.Friction("f", ground, 0.2), quirk.Friction("g", top, 0.4)]
    result = quirk.simulate(quirk.System([lower, upper, ground, top, *frictions], gravity=DOWN), 1.0, output=0.1)
    # The lower one slows down by (0.2 5 + 0.4) g / 4, the upper one speeds up by 0.4 g; then both slow down by 0.2 g.
    meet = 1.5 / (G * (1.4 / 4 + 0.4))
    stop = meet + 0.4 * meet / 0.2
    assert list(result.events.name) == ["g", "f"]
    np.testing.assert_allclose(result.events.time, [meet, stop], rtol=1e-12)
    assert result["f"].power[0] == pytest.approx(-0.2 * 5.0 * G * 1.5, rel=1e-12)  # with what sticks later in the run
    assert result["g"].sticking[-1]


def stacked(force):
    """A box on a box on the floor, each on four corners; the lower one is pulled."""
    lower = Body.box("lower", 4.0, size=[0.6, 0.6, 0.1], position=[0, 0, 0.05])
    upper = Body.box("upper", 1.0, size=[0.2, 0.2, 0.1], position=[0, 0, 0.15])
    parts = [lower, upper, quirk.Force("pull", lower, [force, 0, 0])]
    for name, on, body, half, mu in (
        ("floor", GROUND, lower, [0.3, 0.3], 0.2),
        ("top", lower, upper, [0.1, 0.1], 0.4),
    ):
        plane = quirk.surface.plane([0, 0, 0.05] if body is upper else [0, 0, 0])
        for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
            corner = quirk.surface.point([x * half[0], y * half[1], -0.05])
            contact = quirk.Contact(f"{name} {k}", on, body, on_i=plane, on_j=corner)
            parts += [contact, quirk.Friction(f"friction {name} {k}", contact, mu)]
    return quirk.System(parts, gravity=DOWN)


@pytest.mark.parametrize("force", [9.0, 12.0, 25.0, 40.0])
def test_a_box_on_a_box_that_is_pulled(force):
    result = quirk.simulate(stacked(force), 0.2, output=[0.2])
    slides = max(0.0, (force - 0.2 * 5 * G) / 5)
    expected = (slides, slides) if slides < 0.4 * G else ((force - 0.2 * 5 * G - 0.4 * G) / 4, 0.4 * G)
    found = result["lower"].velocity[-1, 0], result["upper"].velocity[-1, 0]
    np.testing.assert_allclose(found, 0.2 * np.array(expected), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("mu", "yaw"), [(0.51, 0.3), (0.52, 0.7854), (0.55, 0.5), (0.6, 0.0)])
def test_a_box_holds_on_a_slope_however_it_is_turned(mu, yaw):
    slope = np.arctan(0.5)
    tilt = [np.cos(slope / 2), 0, np.sin(slope / 2), 0]
    turn = quirk.rotation.multiply(np.array(tilt), np.array([np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)]))
    normal = np.array([np.sin(slope), 0, np.cos(slope)])
    box = Body.box("box", 2.0, size=[0.3, 0.2, 0.1], position=0.05 * normal, orientation=turn)
    parts = [box]
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        corner = quirk.surface.point([0.15 * x, 0.1 * y, -0.05])
        contact = quirk.Contact(f"c{k}", GROUND, box, on_i=quirk.surface.plane(normal=normal), on_j=corner)
        parts += [contact, quirk.Friction(f"f{k}", contact, mu)]
    result = quirk.simulate(quirk.System(parts, gravity=DOWN), 0.5, output=[0.5])
    assert abs(result["box"].velocity[-1]).max() < 1e-14


@pytest.mark.parametrize("seed", study([7, 0, 5, 15, 20], 1))
def test_a_box_thrown_on_a_rough_floor(seed):
    rng = np.random.default_rng(seed)
    mu, e = rng.uniform(0.1, 0.9), rng.uniform(0, 0.8)
    turn = rng.normal(size=4)
    size = np.array([0.3, 0.2, 0.1])
    box = Body(
        "box",
        2.0,
        2.0 / 12 * (size @ size - size**2),
        position=[0, 0, 0.5],
        orientation=turn / np.linalg.norm(turn),
        velocity=rng.normal(size=3),
        angular_velocity=4.0 * rng.normal(size=3),
    )
    parts = [box]
    for k, signs in enumerate(np.array(np.meshgrid([1, -1], [1, -1], [-1, 1])).reshape(3, -1).T):
        corner = quirk.surface.point(signs * size / 2)
        contact = quirk.Contact(f"c{k}", GROUND, box, on_i=quirk.surface.plane(), on_j=corner, restitution=e)
        parts += [contact, quirk.Friction(f"f{k}", contact, mu)]
    result = quirk.simulate(quirk.System(parts, gravity=DOWN), 3.0, output=0.5)
    total = result.energy.total
    assert np.diff(total).max() < 1e-11 * np.ptp(total)
    assert abs(result.power.balance).max() < 1e-9 * np.ptp(total)
    corners = [result["box"].point(part.surfaces[1].frame.origin)[:, 2] for part in parts[1::2]]
    assert np.min(corners) > -1e-10
    assert abs(result["box"].velocity[-1]).max() < 1e-12


def test_friction_turns_with_the_slip_where_a_stop_or_an_event_reverses_it():
    slider = Body("slider", 2.0, [0.01] * 3, velocity=[3.0, 0, 0])
    rail = quirk.Prismatic("rail", GROUND, slider, point=[0, 0, 0], axis=[1, 0, 0])
    stop = quirk.Stop("stop", rail, upper=0.5, restitution=0.5)
    result = quirk.simulate(
        quirk.System([slider, rail, stop, quirk.Friction("f", rail, 0.3)], gravity=DOWN), 2.0, output=[2.0]
    )
    a = 0.3 * G
    back = 0.5 * np.sqrt(9 - 2 * a * 0.5)
    assert result["slider"].position[-1, 0] == pytest.approx(0.5 - back**2 / (2 * a), rel=1e-10)
    kick = quirk.Event("kick", "time", level=0.5, action=quirk.set_velocity("slider", velocity=[-3.0, 0, 0]))
    kicked = quirk.simulate(
        quirk.System([slider, rail, quirk.Friction("f", rail, 0.1), kick], gravity=DOWN), 1.0, output=[1.0]
    )
    assert kicked["slider"].velocity[-1, 0] == pytest.approx(-3.0 + 0.5 * 0.1 * G, rel=1e-11)


@pytest.mark.parametrize("law", ["load", "constant"])
@pytest.mark.parametrize("amplitude", [0.05, 6.5 / 64])
def test_friction_reverses_wherever_contacts_determine_the_slip(law, amplitude):
    """A block on a vertical guide with friction that rests on a driven lift, and leaves it if the lift is fast."""
    omega, mass, limit = 8.0, 1.0, 4.0
    speed = amplitude * omega
    plate = Body.box("plate", 5.0, [1, 1, 0.1], velocity=[0, 0, speed])
    shaft = quirk.Prismatic("shaft", GROUND, plate, axis="z")
    lift = quirk.Drive("lift", shaft, quirk.Motion.sinusoid(amplitude, omega))
    block = Body.box("block", mass, [0.2] * 3, position=[0, 0, 0.15], velocity=[0, 0, speed])
    guide = quirk.Prismatic("guide", GROUND, block, point=[0, 0, 0.15], axis="z")
    lies = quirk.Contact(
        "lies", plate, block, on_i=quirk.surface.plane([0, 0, 0.05]), on_j=quirk.surface.point([0, 0, -0.1])
    )
    if law == "load":
        friction = quirk.Friction("f", guide, 0.2)
    else:
        friction = quirk.JointFriction("f", guide, coulomb=limit, sticking=True)
    side = quirk.Force("side", block, [limit / 0.2, 0, 0])
    system = quirk.System([plate, shaft, lift, block, guide, lies, friction, side], gravity=DOWN)
    result = quirk.simulate(system, 3.0, output=0.01)

    turns = np.pi / omega * np.arange(0.5, 7.6)
    np.testing.assert_allclose([e.time for e in result.events if e.name == "f"], turns, atol=1e-8)
    top = turns[4]
    if amplitude * omega**2 < G - limit / mass:
        travel = amplitude * (16.0 + np.sin(3.0 * omega))  # 15 strokes and a part of one
        assert result.power.work["f"][-1] == pytest.approx(-limit * travel, rel=1e-9)
        assert result["lies"].force()[:, 2].min() > 0
    else:
        landing = next(e.time for e in result.events if e.name == "lies" and e.time > top)
        falls = (result.time > top) & (result.time < landing)
        fallen = 0.5 * (G - limit / mass) * (result.time[falls] - top) ** 2
        np.testing.assert_allclose(result["block"].position[falls, 2], 0.15 + amplitude - fallen, atol=1e-8)
    assert np.abs(result.power.balance).max() < 1e-7


def test_what_is_held_by_a_drive_needs_no_friction():
    for across in (1.0, 1e-3, 0.0):
        slider = Body("slider", 2.0, [0.01] * 3)
        rail = quirk.Prismatic("rail", GROUND, slider, point=[0, 0, 0], axis=[1, 0, 0])
        hold = quirk.Drive("hold", rail, quirk.Motion.polynomial([0.0]))
        friction = quirk.Friction("f", rail, 0.3)
        result = quirk.simulate(quirk.System([slider, rail, hold, friction], gravity=[across, 0, -G]), 0.1, output=0.1)
        np.testing.assert_allclose(result["f"].force(), 0.0, atol=1e-12)


def test_a_load_that_is_not_unique_is_told():
    a, b = (Body(name, 1.0, [0.1] * 3, position=[0.5, 0, 0]) for name in "ab")
    joints = [
        quirk.Revolute("one", GROUND, a, point=[0, 0, 0], axis=[0, 0, 1]),
        quirk.Fixed("weld", a, b),
        quirk.Revolute("two", GROUND, b, point=[0, 0, 0.3], axis=[0, 0, 1]),
    ]
    friction = quirk.Friction("f", joints[0], 0.2, radius=0.02, length=0.1)
    with pytest.raises(quirk.SimulationError, match='Friction "f": the normal load of Revolute "one" is not unique'):
        quirk.simulate(quirk.System([a, b, *joints, friction], gravity=[0, -G, 0]), 0.1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda j, c: quirk.Friction("f", j["ball"], 0.1), "radius must be given"),
        (lambda j, c: quirk.Friction("f", j["rail"], 0.1, radius=0.1), "radius has no effect"),
        (lambda j, c: quirk.Friction("f", c, 0.1, length=0.1), "length has no effect"),
        (lambda j, c: quirk.Friction("f", c, -0.1), "coefficient must not be negative"),
        (lambda j, c: quirk.Friction("f", c, 0.2, static=0.1), "static must be at least coefficient, 0.2"),
        (lambda j, c: quirk.Friction("f", j["fixed"], 0.1), "on must be a Contact, a OneSided, or a Revolute"),
        (lambda j, c: quirk.Friction("f", "rail", 0.1), "on must be a Contact"),
        (lambda j, c: quirk.Friction("f", j["universal"], 0.1, radius=0.1), "on must be a Contact"),
        (lambda j, c: quirk.Friction("f", c, np.nan), "coefficient must be"),
    ],
)
def test_bad_arguments(arguments, message):
    b = Body("b", 1.0, [1, 1, 1], position=[0, 0, 1])
    joints = {
        "ball": quirk.Spherical("ball", GROUND, b, point=[0, 0, 0]),
        "rail": quirk.Prismatic("rail", GROUND, b, point=[0, 0, 0], axis=[0, 0, 1]),
        "fixed": quirk.Fixed("fixed", GROUND, b),
        "universal": quirk.Universal("universal", GROUND, b, point=[0, 0, 0], axis_i=[1, 0, 0], axis_j=[0, 1, 0]),
    }
    contact = quirk.Contact("c", GROUND, b, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    with pytest.raises(quirk.InputError, match=r'Friction "f": ' + re.escape(message)):
        arguments(joints, contact)


def test_a_friction_needs_its_joint_in_the_system():
    b = Body("b", 1.0, [1, 1, 1])
    rail = quirk.Prismatic("rail", GROUND, b, point=[0, 0, 0], axis=[0, 0, 1])
    with pytest.raises(quirk.InputError, match='acts on Prismatic "rail", which is not in the system'):
        quirk.System([b, quirk.Friction("f", rail, 0.1)])


def test_derivatives_are_refused_while_anything_slides():
    system, _ = block_on_rail(0.5, 0.1, 1.0)
    result = quirk.simulate(system, 0.1, output=[0.0, 0.1])
    with pytest.raises(quirk.InputError, match=r'Friction "f": no .* while it slides'):
        result["block"].jerk  # noqa: B018


def test_events_switch_friction_and_runs_go_on():
    system, down = block_on_rail(0.5, 0.8)
    oil = quirk.Event("oil", "time", level=0.5, action=quirk.switch_off("f"))
    oiled = quirk.simulate(system, 1.0, events=[oil], output=[1.0])
    assert oiled["block"].velocity[-1] @ down == pytest.approx(0.5 * G * np.sin(0.5), rel=1e-11)
    dry = quirk.Event("dry", "time", level=0.5, action=quirk.replace("f", quirk.Friction("f", system["rail"], 1.0)))
    with pytest.raises(quirk.InputError, match='Friction "f" cannot be replaced'):
        quirk.simulate(system, 1.0, events=[dry])
    half = quirk.simulate(system, 0.5, output=[0.5])
    whole = quirk.simulate(system, 0.5, start=0.5, initial_state=half.state_at(), output=[1.0])
    assert whole["f"].sticking.all()


@pytest.mark.parametrize("constant", [False, True])
def test_friction_up_to_the_end_of_slip_that_an_impact_has_reversed(constant):
    """A block breaks loose to the left, bounces off a stop, and comes to rest on its way to the right."""
    block = Body.box("block", mass=1.0, size=[0.2, 0.2, 0.2])
    rail = quirk.Prismatic("rail", GROUND, block, point=[0, 0, 0], axis=[1, 0, 0])
    rub = (
        quirk.JointFriction("rub", rail, coulomb=3.0, sticking=True)
        if constant
        else quirk.Friction("rub", rail, 3.0 / G)
    )
    stop = quirk.Stop("stop", rail, lower=-0.1, restitution=0.5)
    push = quirk.Force("push", block, [quirk.Motion.steps([0.0, 0.25], [-5.0, 0.0]), 0, 0])
    result = quirk.simulate(quirk.System([block, rail, rub, stop, push], gravity=DOWN), 1.0, output=0.1)
    hit, rests = result.events.of("stop").time[0], result.events.of("rub").time[-1]
    assert rests > hit
    between = (result.time > hit) & (result.time < rests)
    between[np.flatnonzero(result.time == rests)[0]] = True
    np.testing.assert_allclose(result["rub"].force()[between, 0], -3.0, rtol=1e-12)
    np.testing.assert_allclose(result["block"].acceleration[between, 0], -3.0, rtol=1e-12)


def ball_that_slides():
    ball = Body.sphere("box", 5.0, 0.1, position=[0, 0, 0.1], velocity=[7, 1, 0], angular_velocity=[3, 2, 1])
    lane = quirk.Contact("pin", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(0.1))
    return [ball, lane, quirk.Friction("rub", lane, 0.3)]


def of_ball(v, w):
    """Slip of the lowest point of a ball of radius 0.1 m on a horizontal floor."""
    return v[:, :2] + 0.1 * np.column_stack([-w[:, 1], w[:, 0]])


def turning(joint, friction, **options):
    """A box that turns on the ground by one joint, from an angular velocity of 3 rad/s, with friction in it."""
    box = Body.box("box", 1.0, [0.3, 0.2, 0.1], angular_velocity=[0, 0, 3.0])
    return [box, pin := joint("pin", GROUND, box, point=[0, 0, 0], **options), friction(pin)]


def constant(joint):
    return quirk.JointFriction("rub", joint, coulomb=0.005, static=0.007, sticking=True)


def by_load(joint):
    return quirk.Friction("rub", joint, 0.01, radius=0.02)


def slider():
    box = Body.box("box", 1.0, [0.3, 0.2, 0.1], velocity=[3.0, 0, 0])
    return [box, rail := quirk.Prismatic("pin", GROUND, box, point=[0, 0, 0], axis="x"), constant(rail)]


def collar():
    box = Body.box("box", 1.0, [0.3, 0.2, 0.1], velocity=[0, 0, 2.0], angular_velocity=[0, 0, 3.0])
    return [box, rail := quirk.Cylindrical("pin", GROUND, box, point=[0, 0, 0], axis="z"), by_load(rail)]


SLIDING = {
    "contact": (ball_that_slides, of_ball),
    "hinge": (lambda: turning(quirk.Revolute, constant, axis="z"), lambda v, w: w[:, 2:]),
    "bearing": (lambda: turning(quirk.Revolute, by_load, axis="z"), lambda v, w: 0.02 * w[:, 2:]),
    "ball": (lambda: turning(quirk.Spherical, constant), lambda v, w: w),
    "loaded ball": (lambda: turning(quirk.Spherical, by_load), lambda v, w: 0.02 * w),
    "slider": (slider, lambda v, w: v[:, :1]),
    "collar": (collar, lambda v, w: np.column_stack([v[:, 2], 0.02 * w[:, 2]])),
}


@pytest.mark.parametrize("kind", SLIDING)
def test_friction_that_an_event_disables_shows_the_slip_and_does_not_stick(kind):
    build, slip_of = SLIDING[kind]
    items = [*build(), quirk.Event("off", "time", level=0.1, action=quirk.disable("rub"))]
    result = quirk.simulate(quirk.System(items, gravity=[0, 0, -9.81]), 0.2, output=0.05)
    rub, box = result["rub"], result["box"]
    turned = np.einsum("tij,tj->ti", quirk.bodies.rotation.matrix(box.orientation), box.angular_velocity)
    assert not rub.sticking.any()
    assert not rub.force()[~result.active("rub")].any()
    assert (~result.active("rub")).sum() >= 3
    np.testing.assert_allclose(rub.slip, slip_of(box.velocity, turned), atol=1e-9)


def test_friction_is_disabled_for_loads_that_contacts_share():
    """A box on four feet is pushed; an event disables the friction of two, and the others take their shares."""
    box = Body.box("box", 2.0, [2, 2, 0.2], position=[0, 0, 0.1])
    items = [box, quirk.Force("push", box, [3.0, 0, 0])]
    for k, (x, y) in enumerate([(-1, -1), (-1, 1), (1, -1), (1, 1)]):
        foot = quirk.Contact(f"c{k}", GROUND, box, on_i=quirk.surface.plane(), on_j=quirk.surface.point([x, y, -0.1]))
        items += [foot, quirk.Friction(f"f{k}", foot, 0.6)]
    off = quirk.Event("off", "time", level=0.5, action=[quirk.disable("f0"), quirk.disable("f1")])
    result = quirk.simulate(quirk.System([*items, off], gravity=[0, 0, -9.81]), 1.0, output=0.25)
    for k, (before, after) in enumerate([(-0.75, 0.0), (-0.75, 0.0), (-0.75, -1.5), (-0.75, -1.5)]):
        shares = result[f"f{k}"].force()[:, 0]
        np.testing.assert_allclose(shares[:3], before, atol=1e-9)
        np.testing.assert_allclose(shares[3:], after, atol=1e-9)
        np.testing.assert_array_equal(result[f"f{k}"].sticking, 3 * [True] + 3 * [after != 0.0])
