"""Bearings whose friction is in proportion to their load, beside brakes and contacts that hold the same freedoms."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from studies import study

import quirk
from quirk import GROUND, Body, Motion


class Linkage:
    """A planar linkage with brakes in all hinges, bearings in some of them, and torques at both ends.

    Parameters
    ----------
    seed, n : seed of all numbers, and number of hinges
    bearings : hinges with a bearing
    coupling : factor on the radii of the bearings, by which brakes change the limits of bearings
    scale : factor on lengths; masses and accelerations are kept
    """

    def __init__(self, seed, n, bearings, coupling=1.0, scale=1.0):
        rng = np.random.default_rng(seed)
        corners = np.array([[0, 0], [-0.3, 0.9], [0.6, 1.5], [1.4, 0.8], [1.1, 0]]) + rng.uniform(-0.2, 0.2, (5, 2))
        self.corners = scale * (corners if n == 5 else corners[[0, 1, 3, 4]])
        self.n, self.masses = n, rng.uniform(0.5, 2, n - 1)
        self.limits = scale * rng.uniform(6, 14, n)
        self.friction, self.radii = rng.uniform(0.1, 0.6, n), coupling * scale * rng.uniform(0.02, 0.2, n)
        self.torques, self.bearings = np.zeros(n), bearings
        self.torques[[0, -1]] = 20 * scale * rng.uniform(-1, 1, 2)

    def system(self, torque=None):
        """Return the system, with torques that grow in proportion to time, or to the motion `torque`."""
        points = np.insert(self.corners, 1, 0.0, axis=1)
        bars = [Body.bar(f"bar {k}", *points[k : k + 2], mass=mass) for k, mass in enumerate(self.masses)]
        bodies = [GROUND, *bars, GROUND]
        hinges = [quirk.Revolute(f"hinge {k}", *bodies[k : k + 2], point=p, axis="y") for k, p in enumerate(points)]
        parts = [
            quirk.JointFriction(f"brake {k}", hinge, coulomb=limit, sticking=True)
            for k, (hinge, limit) in enumerate(zip(hinges, self.limits, strict=True))
        ]
        parts += [
            quirk.Friction(f"bearing {k}", hinges[k], self.friction[k], radius=self.radii[k]) for k in self.bearings
        ]
        for k in (0, self.n - 1):
            motion = Motion.polynomial([0, self.torques[k]]) if torque is None else torque(self.torques[k])
            parts.append(quirk.JointTorque(f"torque {k}", hinges[k], motion))
        return quirk.System([*bars, *hinges, *parts], gravity=[0, 0, -9.81])

    def statics(self):
        """Return E, T, c and d of the balance E F + T tau + c + d t = 0 of forces F and friction torques tau.

        The hinges exert both on the bar after them; t is the time, s.
        """
        bars, n = self.n - 1, self.n
        E, T, c, d = np.zeros((3 * bars, 2 * n)), np.zeros((3 * bars, n)), np.zeros(3 * bars), np.zeros(3 * bars)
        for b in range(bars):
            center = self.corners[b : b + 2].mean(axis=0)
            for k, sign in ((b, 1.0), (b + 1, -1.0)):
                x, z = self.corners[k] - center
                E[3 * b : 3 * b + 3, 2 * k : 2 * k + 2] = sign * np.array([[1, 0], [0, 1], [z, -x]])
                T[3 * b + 2, k] = sign
                d[3 * b + 2] += sign * self.torques[k]
            c[3 * b + 1] = -9.81 * self.masses[b]
        return E, T, c, d

    def breaks(self):
        """Return the time at which no torques of brakes and bearings within their limits balance the linkage.

        It is computed by sequential quadratic programming, from several starts, with the limits of the bearings at the
        forces that belong to the torques.
        """
        E, T, c, d = self.statics()
        left, sizes, _ = np.linalg.svd(E)
        still, solve = left[:, (sizes > 1e-10 * sizes[0]).sum() :].T, -np.linalg.pinv(E)
        per_load = np.zeros(self.n)
        per_load[list(self.bearings)] = (self.friction * self.radii)[list(self.bearings)]
        unit = self.limits.max()

        def margin(x):
            forces = (solve @ (unit * T @ x[1:] + c + d * x[0])).reshape(self.n, 2)
            limits = (self.limits + per_load * np.sqrt((forces**2).sum(axis=1) + 1e-20)) / unit
            return np.concatenate([limits - x[1:], limits + x[1:]])

        balance = {"type": "eq", "fun": lambda x: still @ (T @ x[1:] + (c + d * x[0]) / unit)}
        constraints, best, rng = [balance, {"type": "ineq", "fun": margin}], 0.0, np.random.default_rng(0)
        for _ in range(4):
            start = np.concatenate([rng.uniform(0.2, 1.0, 1), rng.uniform(-0.5, 0.5, self.n)])
            found = minimize(
                lambda x: -x[0], start, method="SLSQP", constraints=constraints,
                bounds=[(0, 30), *(self.n * [(None, None)])], options={"maxiter": 500, "ftol": 1e-15},
            )  # fmt: skip
            best = max(best, found.x[0]) if found.success and margin(found.x).min() > -1e-9 else best
        return best


def excess(result):
    """Return the largest excess of sticking friction over its limit, relative to the largest limit."""
    worst = -np.inf
    for friction in result.system.forces:
        if isinstance(friction, quirk.JointFriction):
            effort, limit = np.abs(result[friction.name].along()), np.full(len(result.time), friction.static)
        elif isinstance(friction, quirk.Friction) and isinstance(friction.on, quirk.Contact):
            force = result[friction.on.name].force()
            effort, limit = np.linalg.norm(force[:, :2], axis=1), friction.static * force[:, 2]
        elif isinstance(friction, quirk.Friction):
            effort = np.abs(result[friction.name].torque()[:, 1])
            force, couple = result[friction.on.name].force()[:, [0, 2]], np.zeros((len(result.time), 2))
            limit = np.linalg.norm(force, axis=1)
            if friction.length > 0:
                torque = result[friction.on.name].torque()
                couple = np.column_stack([torque[:, 2], -torque[:, 0]]) / friction.length
                limit = sum(np.linalg.norm(force / 2 + sign * couple, axis=1) for sign in (1, -1))
            limit = friction.static * friction.radius * limit
        else:
            continue
        over = (effort - limit) / np.abs(limit).max()
        worst = max(worst, over[result[friction.name].sticking].max(initial=-np.inf))
    return worst


def most_at_once(times, span=0.02):
    """Return the largest number of events within `span`, s."""
    return max((int(((times >= t) & (times < t + span)).sum()) for t in times), default=0)


@pytest.mark.parametrize("bearings", study(["all", [0, 3], [1]], 1))
@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("seed", study(range(3), 1))
def test_a_linkage_with_bearings_breaks_away_as_by_a_nonlinear_program(seed, n, bearings):
    linkage = Linkage(seed, n, range(n) if bearings == "all" else bearings)
    breaks = linkage.breaks()
    if not 0.05 < breaks < 29:
        pytest.skip("it does not break away")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quirk.simulate(linkage.system(), 1.005 * breaks, output=np.linspace(0, 1.005 * breaks, 20))
        assert result.events.time[0] == pytest.approx(breaks, rel=1e-7)
        assert len(result.events) == 1
        assert excess(result) < 1e-6


@pytest.mark.parametrize("scale", study([1e-3, 1e3], 1))
@pytest.mark.parametrize("n", study([4, 5], 1))
def test_breaking_away_does_not_depend_on_units(n, scale):
    """Bearings of up to half the length of a bar, whose limits depend strongly on the torques of brakes."""
    times, breaks = [], Linkage(3, n, range(n), 2.5).breaks()
    for factor in (1.0, scale):
        linkage = Linkage(3, n, range(n), 2.5, factor)
        result = quirk.simulate(linkage.system(), 1.01 * breaks, output=0.2 * breaks)
        times.append(result.events.time[0])
        assert excess(result) < 1e-6
    assert times[0] == pytest.approx(breaks, rel=1e-7)
    assert times[1] == pytest.approx(times[0], rel=1e-7)


@pytest.mark.parametrize("seed", study([2, 3, 0, 1], 1))
def test_loads_that_reverse_cause_few_events_and_no_gain_of_energy(seed):
    rng = np.random.default_rng(seed)
    n = 4 + seed % 2
    linkage = Linkage(seed, n, [k for k in range(n) if rng.random() < 0.6] or [1])

    def motion(torque):
        return Motion.sinusoid(torque, rng.uniform(2, 6), phase=rng.uniform(0, 6))

    linkage.limits *= 0.5
    result = quirk.simulate(linkage.system(motion), 3.0, output=0.02)
    assert most_at_once(np.asarray(result.events.time)) <= 5
    assert excess(result) < 1e-6
    for friction in result.system.forces:
        if isinstance(friction, quirk.JointFriction | quirk.Friction):
            hinge = result[friction.on.name]
            power = np.einsum("ti,ti->t", result[friction.name].torque(), hinge.angular_velocity)
            assert power.max() <= 1e-9 * max(np.abs(power).max(), 1.0)


@pytest.mark.parametrize("seed", study(range(4), 2))
def test_a_released_linkage_comes_to_rest_and_stays_there(seed):
    linkage = Linkage(seed, 5, (1,))
    system = linkage.system(lambda torque: 0.0)
    rates = dict(zip(("hinge 0", "hinge 4"), np.random.default_rng(seed).uniform(-2, 2, 2), strict=True))
    result = quirk.simulate(system, 3.0, initial_state=system.assemble(rates=rates), output=0.5)
    assert np.abs(result.state.angular_velocity[-1]).max() < 1e-30
    assert most_at_once(np.asarray(result.events.time)) <= 5


class Brace:
    """Two bars that lean against each other: a pin with a brake and a bearing at the top, feet on the floor, a push."""

    top, feet, masses = np.array([0, 1.1]), np.array([[-0.5, 0], [0.4, 0]]), (2.0, 1.5)

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.brake, self.bearing, self.radius = rng.uniform(0.2, 3), rng.uniform(0.2, 0.6), rng.uniform(0.05, 0.3)
        self.soles, self.push = rng.uniform(0.3, 0.7, 2), rng.choice([-1, 1]) * rng.uniform(2, 6)

    def system(self):
        """Return the system, with a push on the center of the first bar that grows in proportion to time."""
        top, feet = np.insert(self.top, 1, 0.0), np.insert(self.feet, 1, 0.0, axis=1)
        bars = [Body.bar(name, foot, top, mass=mass) for name, foot, mass in zip("ab", feet, self.masses, strict=True)]
        pin = quirk.Revolute("pin", *bars, point=top, axis="y")
        parts = [*bars, pin, quirk.Planar("plane", GROUND, bars[0], point=top, axis="y")]
        for bar, foot, mu in zip(bars, feet, self.soles, strict=True):
            tip = quirk.surface.point(bar.local(foot))
            contact = quirk.Contact(f"foot {bar.name}", GROUND, bar, on_i=quirk.surface.plane(), on_j=tip)
            parts += [contact, quirk.Friction(f"sole {bar.name}", contact, mu)]
        parts.append(quirk.Friction("bearing", pin, self.bearing, radius=self.radius))
        parts.append(quirk.JointFriction("brake", pin, coulomb=self.brake, sticking=True))
        parts.append(quirk.Force("push", bars[0], [Motion.polynomial([0, self.push]), 0, 0]))
        return quirk.System(parts, gravity=[0, 0, -9.81])

    def margin(self, t, torque):
        """Return the margin to the limits at time t for friction torques (k,) in the pin, on bar b."""
        A, b = np.zeros((6, 6)), np.zeros((6, len(torque)))  # unknown: force at each foot, force in the pin on bar b
        for k, (foot, mass, sign) in enumerate(zip(self.feet, self.masses, (-1, 1), strict=True)):
            center = (foot + self.top) / 2
            A[3 * k : 3 * k + 2, 2 * k : 2 * k + 2], A[3 * k : 3 * k + 2, 4:] = np.eye(2), sign * np.eye(2)
            A[3 * k + 2, 2 * k : 2 * k + 2] = (foot - center)[1], -(foot - center)[0]
            A[3 * k + 2, 4:] = sign * np.array([(self.top - center)[1], -(self.top - center)[0]])
            b[3 * k + 1], b[3 * k + 2] = mass * 9.81, -sign * torque
        b[0] = -self.push * t
        x = np.linalg.solve(A, b)
        limit = self.brake + self.bearing * self.radius * np.hypot(x[4], x[5])
        soles = [mu * x[2 * k + 1] - np.abs(x[2 * k]) for k, mu in enumerate(self.soles)]
        return np.min([limit - np.abs(torque), *soles], axis=0)

    def breaks(self):
        """Return the time at which no torque in the pin keeps all friction within its limits."""
        low, high, torque = 0.0, 20.0, np.linspace(-10, 10, 20001)
        for _ in range(50):
            middle, width, around = (low + high) / 2, 1e-3, torque
            for _ in range(4):
                best = around[np.argmax(self.margin(middle, around))]
                around, width = best + np.linspace(-2 * width, 2 * width, 4001), 1e-3 * width
            low, high = (middle, high) if self.margin(middle, around).max() >= 0 else (low, middle)
        return low


@pytest.mark.parametrize("seed", study(range(5), 2))
def test_a_bearing_shares_with_feet_on_the_floor(seed):
    brace = Brace(seed)
    breaks = brace.breaks()
    if not 0.05 < breaks < 19:
        pytest.skip("it does not stand, or does not slip")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = quirk.simulate(brace.system(), 1.001 * breaks, output=np.linspace(0, 1.001 * breaks, 20))
        assert result.events.time[0] == pytest.approx(breaks, rel=1e-6)
        assert len(result.events) == 1
        assert excess(result) < 1e-6


def shaft(length, offset):
    """A shaft in a bearing pair with a brake and a second bearing pair; a load at `offset` along the axis."""
    disk = Body.cylinder("disk", 4.0, 0.2, 0.1, position=[0, 0, 0])
    pin = quirk.Revolute("pin", GROUND, disk, point=[0, 0, 0], axis="x")
    brake = quirk.JointFriction("brake", pin, coulomb=1.5, sticking=True)
    pair = quirk.Friction("pair", pin, 0.3, radius=0.1, length=length)
    load = quirk.Force("load", disk, [0, 0, -50.0], point=[offset, 0, 0])
    torque = quirk.JointTorque("torque", pin, Motion.polynomial([0, 1.0]))
    return quirk.System([disk, pin, brake, pair, load, torque], gravity=[0, 0, -9.81])


@pytest.mark.parametrize("offset", [0.0, 0.1, 0.4])
def test_two_bearings_beside_a_brake_have_the_limit_of_their_forces(offset):
    weight, length = 4.0 * 9.81, 0.25
    one = 0.5 * (weight + 50) + 50 * offset / length
    other = 0.5 * (weight + 50) - 50 * offset / length
    limit = 1.5 + 0.3 * 0.1 * (abs(one) + abs(other))
    result = quirk.simulate(shaft(length, offset), 1.001 * limit, output=0.5)
    assert result.events.time == pytest.approx([limit], rel=1e-9)


def test_a_linkage_on_a_turning_table_holds():
    """Bearing forces are read in axes of a body: the limits of a linkage that is carried around stay the same."""
    linkage = Linkage(3, 4, (0, 1, 2, 3))
    table = Body.cylinder("table", 5.0, 1.0, 0.1)
    axle = quirk.Revolute("axle", GROUND, table, point=[0, 0, 0], axis="y")
    points = np.insert(linkage.corners, 1, 0.0, axis=1)
    bars = [Body.bar(f"bar {k}", *points[k : k + 2], mass=mass) for k, mass in enumerate(linkage.masses)]
    ends = [table, *bars, table]
    hinges = [quirk.Revolute(f"hinge {k}", *ends[k : k + 2], point=p, axis="y") for k, p in enumerate(points)]
    parts = [
        table,
        axle,
        quirk.Drive("drive", axle, Motion.sinusoid(np.pi, 0.8, phase=np.pi / 2, offset=-np.pi)),
        *bars,
        *hinges,
    ]
    for k, hinge in enumerate(hinges):
        parts.append(quirk.JointFriction(f"brake {k}", hinge, coulomb=4 * linkage.limits[k], sticking=True))
        parts.append(quirk.Friction(f"bearing {k}", hinge, linkage.friction[k], radius=linkage.radii[k]))
    system = quirk.System(parts, gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 4.0, initial_state=system.assemble(), output=0.25)
    assert len(result.events) == 0
    assert excess(result) < 1e-6


@pytest.mark.parametrize("axial", study([0.0, 5.0, -11.0], 2))
def test_a_sleeve_that_is_pushed_along_its_axis_keeps_the_rest_of_its_friction(axial):
    """The friction of a sleeve has one cone for both directions; a brake takes part in turning alone."""
    weight, radius = 4.0 * 9.81, 0.1
    sleeve = Body.cylinder("sleeve", 4.0, 0.2, 0.3)
    rod = quirk.Cylindrical("rod", GROUND, sleeve, point=[0, 0, 0], axis="x")
    brake = quirk.JointFriction("brake", rod, coulomb=1.5, coordinate="rotation", sticking=True)
    bearing = quirk.Friction("bearing", rod, 0.3, radius=radius)
    push = quirk.Force("push", sleeve, [axial, 0, 0])
    torque = quirk.Torque("torque", sleeve, [Motion.polynomial([0, 1.0]), 0, 0], frame="inertial")
    limit = 1.5 + radius * np.sqrt((0.3 * weight) ** 2 - axial**2)
    system = quirk.System([sleeve, rod, brake, bearing, push, torque], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 1.001 * limit, output=0.5)
    assert result.events.time == pytest.approx([limit], rel=1e-9)


def test_brakes_and_a_bearing_pair_of_one_hinge_add_up():
    """The weight of a door loads both bearings of its hinge by the couple that it exerts."""
    door = Body.box("door", 10.0, [0.8, 0.05, 2.0], position=[0.4, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, door, point=[0, 0, 0], axis="z")
    brakes = [
        quirk.JointFriction(f"brake {k}", hinge, coulomb=limit, sticking=True) for k, limit in enumerate((1.0, 3.0))
    ]
    bearing = quirk.Friction("bearing", hinge, 0.2, radius=0.02, length=1.6)
    torque = quirk.Torque("torque", door, [0, 0, Motion.polynomial([0, 1.0])], frame="inertial")
    limit = 4.0 + 0.2 * 0.02 * 2 * (10.0 * 9.81 * 0.4 / 1.6)
    system = quirk.System([door, hinge, *brakes, bearing, torque], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 1.001 * limit, output=0.5)
    assert result.events.time == pytest.approx([limit], rel=1e-9)


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("across", [(0.0, 0.0), (0.8, 0.0), (0.5, -0.9)])
def test_a_ball_joint_keeps_the_rest_of_its_friction_beside_a_brake(across, constant):
    """The friction of a ball joint has one cone for three directions; a brake takes part in turning about z alone."""
    weight, radius = 4.0 * 9.81, 0.1
    body = Body.box("body", 4.0, [0.2, 0.3, 0.4])
    ball = quirk.Spherical("ball", GROUND, body, point=[0, 0, 0])
    meter = quirk.Free("meter", GROUND, body, point=[0, 0, 0], angle="z")
    brake = quirk.JointFriction("brake", meter, coulomb=1.5, sticking=True)
    socket = quirk.Friction("socket", ball, 0.4, radius=radius)
    if constant:
        socket = quirk.JointFriction("socket", ball, coulomb=0.4 * weight * radius, sticking=True)
    torque = quirk.Torque("torque", body, [*across, Motion.polynomial([0, 1.0])], frame="inertial")
    limit = 1.5 + np.sqrt((0.4 * weight * radius) ** 2 - across[0] ** 2 - across[1] ** 2)
    system = quirk.System([body, ball, meter, brake, socket, torque], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 1.001 * limit, output=0.5)
    assert result.events.time == pytest.approx([limit], rel=1e-8)
    # Both hold the torque about z in proportion to their limits, as far as the ball is within its limit.
    most, t = 0.4 * weight * radius, result.time[result.time < limit]
    about_z = np.minimum(t * most / (most + 1.5), limit - 1.5)
    want = -np.column_stack([np.tile(across, (len(t), 1)), about_z])
    np.testing.assert_allclose(result["socket"].torque()[: len(t)], want, atol=1e-7)
    np.testing.assert_allclose(result["brake"].torque()[: len(t), 2], about_z - t, atol=1e-7)


def spatial(seed, strength=8.0, rotor=False, order=None):
    """A crank, a rod with ball joints and a rocker, all with friction, and a torque that reverses.

    `rotor` adds a rotor elsewhere, whose bearing slides; `order` is the seed of a random order of all items.
    """
    rng = np.random.default_rng(seed)
    places = np.array([[0, 0, 0], [0, 0.2, 0.5], [1.2, 0.6, 0.4], [1.2, 0.3, 0]])
    places[1:3] += rng.uniform(-0.1, 0.1, (2, 3))
    bars = [Body.bar(name, *places[k : k + 2], mass=rng.uniform(0.5, 2)) for k, name in enumerate("abc")]
    joints = [
        quirk.Revolute("crank", GROUND, bars[0], point=places[0], axis=[0, 1, 0.2]),
        quirk.Spherical("first", *bars[:2], point=places[1]),
        quirk.Spherical("second", *bars[1:], point=places[2]),
        quirk.Revolute("rocker", bars[2], GROUND, point=places[3], axis=[0.3, 1, 0]),
    ]
    brakes = [
        quirk.JointFriction(f"brake {joint.name}", joint, coulomb=rng.uniform(0.5, 4), sticking=True)
        for joint in (joints[0], joints[3])
    ]
    bearings = [
        quirk.Friction(f"bearing {joint.name}", joint, rng.uniform(0.1, 0.6), radius=rng.uniform(0.02, 0.1))
        for joint in joints[:3]
    ]
    motion = Motion.sinusoid(strength * rng.uniform(-1, 1), rng.uniform(2, 6), phase=rng.uniform(0, 6))
    torque = quirk.JointTorque("torque", joints[0], motion)
    items = [*bars, *joints, *brakes, *bearings, torque]
    if rotor:
        place = [5.0, 0, 0]
        wheel = Body.box("wheel", 1.0, [0.1, 0.1, 0.1], position=place, angular_velocity=[0, 0, 100.0])
        axle = quirk.Revolute("axle", GROUND, wheel, point=place, axis="z")
        items += [wheel, axle, quirk.Friction("bearing axle", axle, 0.2, radius=0.02)]
    if order is not None:
        items = [items[k] for k in np.random.default_rng(order).permutation(len(items))]
    return quirk.System(items, gravity=[0, 0, -9.81])


@pytest.mark.parametrize("seed", study([0, 2, 6, 7], 2))
def test_a_linkage_with_ball_joints_sticks_and_slips_in_few_events(seed):
    result = quirk.simulate(spatial(seed), 1.0, output=0.5)
    assert most_at_once(np.asarray(result.events.time)) <= 4


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 8])
def test_a_linkage_whose_friction_reaches_its_limit_at_one_instant_begins_to_slide(seed):
    """The motion depends neither on the order of parts, nor on sliding friction elsewhere."""
    end = {4: 0.948, 8: 0.2}[seed]
    positions = []
    for rotor, order in ((False, None), (False, 1), (True, 2)):
        result = quirk.simulate(spatial(seed, 20.0, rotor, order), end, output=[end])
        assert most_at_once(np.asarray(result.events.time)) <= 4
        positions.append(result["b"].position[-1])
    assert np.ptp(positions, axis=0).max() < 1e-6


@pytest.mark.parametrize("seed", study([0, 6, 7, 2, 3], 2))
def test_friction_of_ball_joints_depends_neither_on_the_order_of_parts_nor_on_friction_elsewhere(seed):
    """Held or slipping, the loads of balls and brakes are within their limits, whatever the rows that a run keeps."""
    names = ["bearing crank", "bearing first", "bearing second", "brake crank", "brake rocker"]
    outputs = np.arange(6) * 0.1
    alone = quirk.simulate(spatial(seed, 20.0), 0.5, output=0.1)
    for rotor, order in [(True, None), (False, 1), (True, 2)]:
        other = quirk.simulate(spatial(seed, 20.0, rotor, order), 0.5, output=0.1)
        for name in names:
            one, two = (run[name].torque()[np.searchsorted(run.time, outputs, "right") - 1] for run in (alone, other))
            np.testing.assert_allclose(two, one, atol=1e-6, err_msg=f"{name}, rotor={rotor}, order={order}")
