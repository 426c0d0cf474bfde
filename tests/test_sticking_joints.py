"""Joint friction that sticks and slides, against closed forms."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq
from studies import study

import quirk
from quirk import GROUND, Body, Motion

FINE = {"rtol": 1e-11, "atol": 1e-13}
G = [0, 0, -9.81]


def slider(u=1.0, **given):
    """A slider of 2 kg on a rail along x; lengths in units of u meters."""
    mass = Body.box("mass", 2.0, [0.1 * u] * 3, **given)
    return mass, quirk.Prismatic("rail", GROUND, mass, axis="x")


def arm_on(joint, u=1.0):
    """An arm under gravity, held by dry friction of a joint: 0.6 N m of weight (u = 1) against 1 N m."""
    arm = Body.box("arm", 1.0, np.array([0.2, 0.02, 0.02]) * u, position=[0.0612 * u, 0, 0])
    return arm, joint(arm)


JOINTS = {
    "revolute": (lambda arm: quirk.Revolute("joint", GROUND, arm, point=[0, 0, 0], axis="y"), "rotation", 1.0),
    "planar": (lambda arm: quirk.Generic("joint", GROUND, arm, constrained=[1, 1, 1, 1, 0, 1], point=[0, 0, 0]), "rotation", 1.0),
    "slide": (lambda arm: quirk.Prismatic("joint", GROUND, arm, point=[0, 0, 0], axis="z"), "translation", 10.0),
    "sleeve": (lambda arm: quirk.Cylindrical("joint", GROUND, arm, point=[0.0612, 0, 0], axis="z"), "translation", 10.0),
    "screw": (lambda arm: quirk.Screw("joint", GROUND, arm, point=[0.0612, 0, 0], axis="z", lead=0.1), "rotation", 0.2),
    "thread": (lambda arm: quirk.Screw("joint", GROUND, arm, point=[0.0612, 0, 0], axis="z", lead=0.1), "translation", 10.0),
}  # fmt: skip


@pytest.mark.parametrize("kind", JOINTS)
def test_a_joint_holds_for_a_long_time(kind):
    make, coordinate, limit = JOINTS[kind]
    arm, joint = arm_on(make)
    friction = quirk.JointFriction("friction", joint, coulomb=limit, coordinate=coordinate, sticking=True)
    result = quirk.simulate(quirk.System([arm, joint, friction], gravity=G), 1000.0, output=[1000.0])
    assert np.abs(result["arm"].position[-1] - arm.position).max() < 1e-14
    assert result["friction"].sticking.all() and len(result.events) == 0
    # The friction carries the weight.
    needed = {"rotation": 9.81 * (0.0612 if kind in ("revolute", "planar") else 0.1 / (2 * np.pi)), "translation": 9.81}
    assert abs(result["friction"].along()[-1]) == pytest.approx(needed[coordinate], rel=1e-12)


@pytest.mark.parametrize("viscous", [0.0, 1.0])
def test_friction_without_a_limit_never_sticks(viscous):
    """A sweep of the limit to zero ends with the result of a joint without dry friction."""
    door = Body.box("door", 2.0, size=[0.3, 0.3, 0.3])
    hinge = quirk.Revolute("hinge", GROUND, door, point=[0, 0, 0], axis="z")
    motor = quirk.JointTorque("motor", hinge, Motion.polynomial([0, 0.5]))
    free = quirk.simulate(
        quirk.System([door, hinge, motor, quirk.JointFriction("rub", hinge, viscous=viscous)]), 1.0, output=0.5
    )
    for limit in (0.2, 0.0):
        rub = quirk.JointFriction("rub", hinge, viscous=viscous, coulomb=limit, sticking=True)
        result = quirk.simulate(quirk.System([door, hinge, motor, rub]), 1.0, output=0.5)
        assert result["rub"].sticking.any() == result["rub"].sticking[0] == (limit > 0)
        assert result["rub"].slip.shape == (len(result.time), 1)
    np.testing.assert_allclose(result["hinge"].angle, free["hinge"].angle, rtol=1e-12)
    np.testing.assert_allclose(result["rub"].along(), free["rub"].along(), rtol=1e-12)


@pytest.mark.parametrize("angle", "xyz")
def test_each_angle_of_a_joint_with_three_sticks(angle):
    """Friction about all three angles of a ball joint holds an arm; that about one alone lets the others move."""
    hold = {"coulomb": 1.0, "sticking": True}
    arm = Body.box("arm", 1.0, [0.2, 0.03, 0.02], position=[0.05, 0.02, 0.01])
    ball = quirk.Spherical("ball", GROUND, arm, point=[0, 0, 0])
    views = [quirk.Free(f"about {a}", GROUND, arm, point=[0, 0, 0], angle=a) for a in "xyz"]
    frictions = [quirk.JointFriction(f"f{a}", view, **hold) for a, view in zip("xyz", views, strict=True)]
    held = quirk.simulate(quirk.System([arm, ball, *views, *frictions], gravity=[1.0, 2.0, -9.81]), 100.0)
    assert np.abs(held["arm"].position - arm.position).max() < 1e-14
    k = "xyz".index(angle)
    strong = quirk.JointFriction("strong", views[k], coulomb=20.0, sticking=True)
    part = quirk.simulate(quirk.System([arm, ball, views[k], strong], gravity=[1.0, 2.0, -9.81]), 0.1)
    assert np.abs(part[f"about {angle}"].rotation[:, k]).max() < 1e-12
    assert np.abs(part["arm"].position[-1] - arm.position).max() > 1e-3


@pytest.mark.parametrize("u", [1e-3, 1.0, 1e3])
def test_it_breaks_away_where_the_load_reaches_the_static_limit(u):
    """J w' = r t - coulomb from t0 = static / r on."""
    J, r, coulomb, static = 2.0 * u * u, 0.5 * u * u, 4.0 * u * u, 5.0 * u * u
    rotor = Body("rotor", 1.0, [J, J, J])
    axle = quirk.Revolute("axle", GROUND, rotor, point=[0, 0, 0], axis="z")
    friction = quirk.JointFriction("friction", axle, coulomb=coulomb, static=static, sticking=True)
    load = quirk.JointTorque("load", axle, lambda t, x, rate: r * t)
    result = quirk.simulate(quirk.System([rotor, axle, friction, load]), 14.0, output=1.0, **FINE)
    np.testing.assert_allclose(result.events.of("friction").time, [static / r], rtol=1e-9)
    t, t0 = result.time, static / r
    s = np.maximum(t - t0, 0.0)
    want = (0.5 * (static - coulomb) * s**2 + r * s**3 / 6) / J
    np.testing.assert_allclose(result["axle"].angle, want, atol=1e-8)
    held = np.where(t < t0, -r * t, -coulomb)
    away = np.abs(t - t0) > 1e-3
    np.testing.assert_allclose(result["friction"].along()[away], held[away], atol=1e-10 * static)
    np.testing.assert_allclose(result["friction"].torque()[away, 2], held[away], atol=1e-10 * static)
    np.testing.assert_allclose(result["friction"].coordinate(), result["axle"].angle)
    np.testing.assert_array_equal(result["friction"].sticking[away], t[away] < t0)
    assert np.abs(result.power.balance).max() < 1e-9 * static


def test_an_oscillator_loses_the_same_amplitude_in_each_half_turn():
    """From x0 with dry friction F: turning points (-1)^n (x0 - 2 n F / k), until k |x| is below F."""
    k, F, x0 = 50.0, 1.0, 0.19
    mass, rail = slider()
    spring = quirk.Spring(
        "spring", GROUND, mass, point_i=[-1 - x0, 0, 0], point_j=[0, 0, 0], stiffness=k, rest_length=1.0
    )
    friction = quirk.JointFriction("friction", rail, coulomb=F, sticking=True)
    result = quirk.simulate(quirk.System([mass, rail, spring, friction]), 5.0, **FINE)
    half = np.pi / np.sqrt(k / 2.0)
    stops = int(np.ceil((x0 - F / k) / (2 * F / k)))
    events = result.events.of("friction")
    np.testing.assert_allclose(events.time, half * np.arange(1, stops + 1), rtol=1e-9)
    at = result.at(events.time)["mass"].position[:, 0] + x0
    n = np.arange(1, stops + 1)
    np.testing.assert_allclose(at, (-1.0) ** n * (x0 - 2 * n * F / k), atol=1e-9)
    assert bool(result["friction"].sticking[-1]) and abs(k * at[-1]) < F


def test_a_mass_on_a_belt_sticks_and_slips_in_a_limit_cycle():
    """Slip lasts 2 (pi - arctan(w d / v)) / w and sticking 2 d / v, with d = (static - coulomb) / k."""
    k, m, v, coulomb, static = 40.0, 2.0, 0.05, 1.0, 1.6
    belt = Body.box("belt", 1.0, [1, 0.1, 0.1], velocity=[v, 0, 0])
    mass = Body.box("mass", m, [0.1] * 3, velocity=[v, 0, 0])
    bed = quirk.Prismatic("bed", GROUND, belt, axis="x")
    drive = quirk.Drive("drive", bed, Motion.constant_rate(v))
    rail = quirk.Prismatic("rail", belt, mass, axis="x")
    spring = quirk.Spring("spring", GROUND, mass, point_i=[-10, 0, 0], point_j=[0, 0, 0], stiffness=k)
    friction = quirk.JointFriction("friction", rail, coulomb=coulomb, static=static, sticking=True)
    result = quirk.simulate(quirk.System([belt, mass, bed, drive, rail, spring, friction]), 8.0, **FINE)
    w, d = np.sqrt(k / m), (static - coulomb) / k
    slip, stick = 2 * (np.pi - np.arctan(w * d / v)) / w, 2 * d / v
    times = result.events.of("friction").time
    np.testing.assert_allclose(times[0], static / (k * v), rtol=1e-9)
    np.testing.assert_allclose(np.diff(times)[::2], slip, rtol=1e-8)
    np.testing.assert_allclose(np.diff(times)[1::2], stick, rtol=1e-8)
    assert len(times) > 6


def test_stribeck_friction_has_the_rate_of_its_law():
    """m v' = F - viscous v - coulomb - (static - coulomb) exp(-(v / vs)^2), after it breaks away."""
    from scipy.integrate import solve_ivp

    m, viscous, coulomb, static, vs, pull = 2.0, 0.3, 1.0, 1.5, 0.2, 1.52
    mass, rail = slider()
    friction = quirk.JointFriction(
        "f", rail, viscous=viscous, coulomb=coulomb, static=static, stribeck=vs, sticking=True
    )
    load = quirk.JointForce("load", rail, pull)
    result = quirk.simulate(quirk.System([mass, rail, friction, load]), 5.0, output=0.5, **FINE)
    law = lambda t, v: (pull - viscous * v - coulomb - (static - coulomb) * np.exp(-((v / vs) ** 2))) / m  # noqa: E731
    want = solve_ivp(law, (0, 5), [0.0], t_eval=np.arange(0, 5.1, 0.5), rtol=1e-11, atol=1e-13).y[0]
    np.testing.assert_allclose(result.at(np.arange(0, 5.1, 0.5))["rail"].travel_rate, want, atol=1e-9)


def test_friction_in_redundant_hinges_adds_up():
    """A door in two hinges, redundant, with friction in both: it moves where the torque exceeds both limits."""
    door = Body.box("door", 10.0, [0.8, 0.04, 2.0], position=[0.4, 0, 0])
    low = quirk.Revolute("low", GROUND, door, point=[0, 0, -0.8], axis="z")
    high = quirk.Revolute("high", GROUND, door, point=[0, 0, 0.8], axis="z")
    frictions = [quirk.JointFriction("f low", low, coulomb=1.0, sticking=True),
                 quirk.JointFriction("f high", high, coulomb=2.0, sticking=True)]  # fmt: skip
    load = quirk.JointTorque("load", low, lambda t, x, rate: 0.5 * t)
    result = quirk.simulate(quirk.System([door, low, high, *frictions, load], gravity=G), 8.0, output=0.5, **FINE)
    J = door.inertia[2, 2] + 10.0 * 0.4**2
    want = np.maximum(result.time - 6.0, 0.0) ** 3 * 0.5 / 6 / J
    np.testing.assert_allclose(result["low"].angle, want, atol=1e-9)
    held = sum(result[f.name].along() for f in frictions)
    np.testing.assert_allclose(held, -np.minimum(0.5 * result.time, 3.0), atol=1e-9)
    # Both stick, although one row holds the door.
    for friction in frictions:
        assert result[friction.name].sticking[result.time < 6.0].all()
        assert not result[friction.name].sticking[result.time > 6.1].any()


def test_redundant_friction_that_an_event_disables_does_not_stick():
    """Two hinges on one axis: after the friction of one is disabled, that of the other still holds the door."""
    door = Body.box("door", 10.0, [0.8, 0.04, 2.0], position=[0.4, 0, 0])
    hinges = [quirk.Revolute(f"h{k}", GROUND, door, point=[0, 0, z], axis="z") for k, z in enumerate((-0.8, 0.8))]
    frictions = [quirk.JointFriction(f"f{k}", h, coulomb=1.0, sticking=True) for k, h in enumerate(hinges)]
    load = quirk.JointTorque("load", hinges[0], 0.5)
    for k in (0, 1):
        loosen = quirk.Event("loosen", lambda t, *state: t, level=1.0, action=quirk.disable(f"f{k}"))
        system = quirk.System([door, *hinges, *frictions, load, loosen], gravity=G)
        result = quirk.simulate(system, 2.0, output=0.5)
        assert np.abs(result["h0"].angle).max() < 1e-12
        np.testing.assert_array_equal(result[f"f{k}"].sticking[[0, 1, -2, -1]], [True, True, False, False])
        assert result[f"f{1 - k}"].sticking.all()
        np.testing.assert_allclose(sum(result[f.name].along() for f in frictions), -0.5, atol=1e-10)


def test_friction_in_all_joints_of_a_closed_loop():
    """A parallelogram of light links turns where the torque exceeds the sum of the limits of its four hinges."""
    crank = Body.box("crank", 1.0, [0.05, 0.05, 1.0], position=[0, 0, 0.5])
    rocker = Body.box("rocker", 1.0, [0.05, 0.05, 1.0], position=[2, 0, 0.5])
    rod = Body.box("rod", 1.0, [2.0, 0.05, 0.05], position=[1, 0, 1])
    ends = [(GROUND, crank, [0, 0, 0]), (GROUND, rocker, [2, 0, 0]), (crank, rod, [0, 0, 1]), (rocker, rod, [2, 0, 1])]
    hinges = [quirk.Revolute(f"h{k}", i, j, point=p, axis="y") for k, (i, j, p) in enumerate(ends)]
    limits = [1.0, 0.5, 0.25, 0.75]
    frictions = [quirk.JointFriction(f"f{k}", h, coulomb=c, sticking=True)
                 for k, (h, c) in enumerate(zip(hinges, limits, strict=True))]  # fmt: skip
    load = quirk.JointTorque("load", hinges[0], Motion.polynomial([0.0, 1.0]))
    result = quirk.simulate(quirk.System([crank, rocker, rod, *hinges, *frictions, load]), 3.0, output=0.25, **FINE)
    still = result.time <= 2.5
    assert np.abs(result["h0"].angle[still]).max() < 1e-13
    assert result["h0"].angle[-1] > 1e-3
    for friction in frictions:
        # The state at the event, when its torque reaches the sum of the limits, is stored before and after.
        before = int(np.searchsorted(result.time, result.events.time[0], side="left"))
        np.testing.assert_array_equal(result[friction.name].sticking, np.arange(len(result.time)) <= before)
    # Rigid bodies determine the virtual work of the efforts in a turn of the parallelogram, not each effort.
    turns = np.array([1.0, 1.0, -1.0, -1.0])
    work = turns @ [result[friction.name].along() for friction in frictions]
    np.testing.assert_allclose(work, -np.minimum(result.time, 2.5), atol=1e-9)
    np.testing.assert_allclose(result.events.time, 2.5, rtol=1e-9)
    assert np.abs(result.power.balance).max() < 1e-9


@pytest.mark.parametrize("scale", study([1e-3, 1e3], 1))
@pytest.mark.parametrize("seed", study(range(8), 3))
def test_a_four_bar_linkage_breaks_away_by_virtual_work(seed, scale):
    """It moves where the torque on the crank exceeds the sum of all limits times the rates relative to the crank's."""
    rng = np.random.default_rng(seed)
    angles, lengths = rng.uniform([0.6, 0.8], [2.2, 2.0]), rng.uniform([0.2, 0.6, 0.8], [0.5, 1.0, 1.5])
    one, two = (size * np.array([np.cos(a), 0, np.sin(a)]) for a, size in zip(angles, lengths[:2], strict=True))
    ground = lengths[2] * np.array([1.0, 0, 0])
    ends = [np.zeros(3), one, ground + two, ground]
    bars = [
        Body.bar(name, scale * i, scale * j, mass=m)
        for name, (i, j), m in zip(
            ("crank", "rod", "rocker"), itertools.pairwise(ends), rng.uniform(0.5, 2.0, 3), strict=True
        )
    ]
    bodies = [GROUND, *bars, GROUND]
    hinges = [quirk.Revolute(f"hinge {k}", *bodies[k : k + 2], point=scale * p, axis="y") for k, p in enumerate(ends)]
    across = [np.array([b[2] - a[2], a[0] - b[0]]) for a, b in itertools.pairwise(ends)]
    rod, rocker = np.linalg.solve(np.array(across[1:]).T, -across[0])
    rates = np.array([1.0, rod - 1.0, rocker - rod, -rocker])
    limits = rng.uniform(0.1, 1.2, 4) * (rng.random(4) < 0.8) * scale**2
    limits[0] = max(limits[0], 0.1 * scale**2)
    above, sense = rng.choice([1.0, 1.4]), rng.choice([-1.0, 1.0])
    print(ends, limits, above, sense)
    frictions = [
        quirk.JointFriction(f"friction {k}", hinge, coulomb=limit, static=above * limit, sticking=True)
        for k, (hinge, limit) in enumerate(zip(hinges, limits, strict=True))
        if limit
    ]
    needed = above * limits @ np.abs(rates)
    torque = quirk.JointTorque("torque", hinges[0], lambda t, x, rate: 0.25 * sense * needed * t * np.sin(3.0 * t))
    system = quirk.System([*bars, *hinges, *frictions, torque])
    # After it was pushed to and fro four times.
    breaks = brentq(lambda t: 0.25 * t * abs(np.sin(3.0 * t)) - 1.0, 4.2, 4.7)
    result = quirk.simulate(system, 5.0, output=0.05, rtol=1e-10, atol=1e-12 * scale)
    assert result.events[0].time == pytest.approx(breaks, abs=1e-9)
    assert np.abs(result["hinge 0"].angle[result.time < breaks]).max() < 1e-12
    assert np.abs(result["hinge 0"].angle[-1]) > 1e-3
    assert np.abs(result.power.balance).max() < 1e-9 * result.energy.kinetic.max()


def test_it_acts_beside_friction_of_contacts():
    """A box slides on a floor and stops; a hinged arm on it breaks away, or not, by the box's deceleration."""
    mu, m, length = 0.3, 1.0, 0.4
    needed = m * mu * 9.81 * length / 2  # torque that turns the arm with the decelerating box
    for limit in (1.01 * needed, 0.5 * needed):
        box = Body.box("box", 5.0, [1, 1, 0.2], position=[0, 0, 0.1], velocity=[2.0, 0, 0])
        arm = Body.box("arm", m, [0.02, length, 0.02], position=[0, length / 2, 0.1], velocity=[2.0, 0, 0])
        corners = [(x, y, -0.1) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
        on = quirk.surface.plane()
        contacts = [
            quirk.Contact(f"c{k}", GROUND, box, on_i=on, on_j=quirk.surface.point(c)) for k, c in enumerate(corners)
        ]
        dry = [quirk.Friction(f"f{k}", c, mu) for k, c in enumerate(contacts)]
        hinge = quirk.Revolute("hinge", box, arm, point=[0, 0, 0.1], axis="z")
        friction = quirk.JointFriction("friction", hinge, coulomb=limit, sticking=True)
        system = quirk.System([box, arm, *contacts, *dry, hinge, friction], gravity=G)
        result = quirk.simulate(system, 4.0, output=0.05)
        angle = result["hinge"].angle
        if limit > needed:
            assert np.abs(angle).max() < 1e-12 and result["friction"].sticking.all()
            np.testing.assert_allclose(result["box"].position[-1, 0], 2.0**2 / (2 * mu * 9.81), rtol=1e-8)
        else:
            assert abs(angle[-1]) > 1.0
            sticks = result["friction"].sticking
            assert not sticks[np.searchsorted(result.time, 0.3)] and sticks[-1]
        assert np.abs(result["friction"].along()).max() <= limit * (1 + 1e-9)


def braked(J=2.0, coulomb=4.0, static=5.0, rate=0.5, viscous=0.1):
    """A rotor that a brake stops, and that breaks away under a growing torque."""
    rotor = Body("rotor", 1.0, [J, J, J], angular_velocity=[0, 0, 5.0])
    axle = quirk.Revolute("axle", GROUND, rotor, point=[0, 0, 0], axis="z")
    brake = quirk.JointFriction("brake", axle, coulomb=coulomb, static=static, viscous=viscous, sticking=True)
    load = quirk.JointTorque("load", axle, Motion.polynomial([0.0, rate]))
    return quirk.System([rotor, axle, brake, load])


def test_sensitivities_through_stopping_and_breaking_away():
    """Against differences of whole runs: on a rail, and about an axis with the mass off it."""
    start = {"coulomb": 4.0, "static": 5.0, "viscous": 0.1}
    keys, times, h = [("brake", name) for name in start], [1.0, 6.0, 14.0], 1e-4

    def moved(kind, **change):
        if kind == "rail":
            mass, joint = slider(velocity=[5.0, 0, 0])
            load = quirk.JointForce("load", joint, Motion.polynomial([0.0, 0.5]))
        else:
            mass = Body.box(
                "mass", 1.0, [0.1] * 3, position=[1, 0, 0], velocity=[0, 5.0, 0], angular_velocity=[0, 0, 5.0]
            )
            joint = quirk.Revolute("axle", GROUND, mass, point=[0, 0, 0], axis="z")
            load = quirk.JointTorque("load", joint, Motion.polynomial([0.0, 0.5]))
        brake = quirk.JointFriction("brake", joint, **{**start, **change}, sticking=True)
        asked = {} if change else {"sensitivities": keys}
        return quirk.simulate(quirk.System([mass, joint, brake, load]), 14.0, output=times, **asked, **FINE)

    for kind in ("rail", "axle"):
        run = moved(kind)
        rows = [np.flatnonzero(run.time == t)[0] for t in times]
        for key in keys:
            ends = [moved(kind, **{key[1]: start[key[1]] + s}) for s in (h, -h)]
            one, two = (end.at(np.array(times))["mass"].position for end in ends)
            got = run.sensitivity[key]["mass"].position[rows]
            np.testing.assert_allclose(got, (one - two) / (2 * h), rtol=1e-5, atol=1e-5, err_msg=f"{kind} {key}")


def test_runs_and_results_with_joints_that_stick_are_saved(tmp_path):
    whole = quirk.simulate(braked(), 14.0, output=1.0)
    run = quirk.Run(braked())
    run.advance_to(6.5)
    saved = run.save()
    run.advance_to(14.0)
    end = run.state.orientation.copy()
    other = quirk.Run(braked())
    other.restore(saved)
    other.advance_to(14.0)
    np.testing.assert_array_equal(other.state.orientation, end)
    whole.save(tmp_path / "run.nc")
    again = quirk.Result.load(tmp_path / "run.nc", braked())
    np.testing.assert_array_equal(again["brake"].sticking, whole["brake"].sticking)
    np.testing.assert_allclose(again["brake"].along(), whole["brake"].along(), atol=1e-12)
    braked().save(tmp_path / "model.toml")
    assert quirk.load(tmp_path / "model.toml")["brake"].sticks


def test_what_has_no_derivative_is_refused():
    system = braked()
    rotor = Body("rotor", 1.0, [1, 1, 1])
    axle = quirk.Revolute("axle", GROUND, rotor, point=[0, 0, 0], axis="z")
    still = quirk.System([rotor, axle, quirk.JointFriction("brake", axle, coulomb=1.0, sticking=True)])
    with pytest.raises(quirk.InputError, match='JointFriction "brake": nothing slides in this state'):
        still.linearize()
    assert still.equilibrium().residual == 0
    A = system.linearize(system.initial_state()).A
    assert A.min() == pytest.approx(-0.1 / 2.0, rel=1e-9)  # only viscous friction depends on the rate


def test_a_driven_joint_pays_for_its_friction():
    """The effort of a driver that turns a joint to and fro is J x'' + coulomb sign(x')."""
    rotor = Body("rotor", 1.0, [2.0, 2.0, 2.0], angular_velocity=[0, 0, 0.9])
    axle = quirk.Revolute("axle", GROUND, rotor, point=[0, 0, 0], axis="z")
    drive = quirk.Drive("drive", axle, Motion.sinusoid(0.3, 3.0))
    brake = quirk.JointFriction("brake", axle, coulomb=4.0, sticking=True)
    result = quirk.simulate(quirk.System([rotor, axle, drive, brake]), 3.0, output=0.1, **FINE)
    t = result.time
    want = -2.0 * 0.3 * 9.0 * np.sin(3 * t) + 4.0 * np.sign(np.cos(3 * t))
    moving = np.abs(np.cos(3 * t)) > 1e-6
    np.testing.assert_allclose(result["drive"].effort[moving], want[moving], atol=1e-8)


def test_batches_stick_and_slip_as_single_runs_do():
    """Members with friction that sticks are computed one by one, with events."""
    limits = np.array([3.0, 4.0])
    system = braked(coulomb=3.0, static=3.0)
    batch = quirk.Batch(
        system, 2, vary={("brake", "coulomb"): limits, ("brake", "static"): limits}, method="RK4", step=0.01
    )
    batch.advance(6.0)
    for k, limit in enumerate(limits):
        single = quirk.simulate(braked(coulomb=limit, static=limit), 6.0, output=[6.0], method="RK4", step=0.01)
        np.testing.assert_allclose(batch.state.orientation[k], single.state.orientation[-1], atol=1e-12)


@pytest.mark.parametrize("scale", study([1e-3, 1.0, 1e3], {1e3}))
@pytest.mark.parametrize("method", ["Vern9", "Tsit5", "RadauIIA9", "Taylor"])
def test_a_brake_is_all_that_stops_a_rotor(method, scale):
    """No other load gives a measure of slow rates."""
    rng = np.random.default_rng(3)
    for _ in range(3):
        spin, coulomb = rng.uniform(1, 9) / np.sqrt(scale), rng.uniform(1, 5) * scale**4
        rotor = quirk.Body("rotor", scale**3, np.array([1.0, 1.0, 2.0]) * scale**5, angular_velocity=[0, 0, spin])
        axle = quirk.Revolute("axle", quirk.GROUND, rotor, point=[0, 0, 0], axis="z")
        brake = quirk.JointFriction("brake", axle, coulomb=coulomb, sticking=True)
        stop = 2.0 * scale**5 * spin / coulomb
        result = quirk.simulate(
            quirk.System([rotor, axle, brake]), 2.0 * stop, method=method, rtol=1e-10, output=[2.0 * stop]
        )
        assert result.events.of("brake").time == pytest.approx([stop], rel=1e-9), (spin, coulomb)
        assert result["axle"].angle[-1] == pytest.approx(0.5 * spin * stop, rel=1e-7), (spin, coulomb)


def _bounces(speed, deceleration, restitution, lower, upper):
    """Times of impacts, and time and place of rest, of a coordinate between stops that begins at 0 with a speed."""
    t, x, v, times = 0.0, 0.0, speed, []
    while True:
        stop = upper if v > 0 else lower
        left = v * v - 2 * deceleration * abs(stop - x)
        if left <= 0:
            return times, t + abs(v) / deceleration, x + np.sign(v) * v * v / (2 * deceleration)
        t += (abs(v) - np.sqrt(left)) / deceleration
        times.append(t)
        x, v = stop, -np.sign(v) * restitution * np.sqrt(left)


@pytest.mark.parametrize("scale", study([1.0, 1e-3, 1e3], {1e-3}))
@pytest.mark.parametrize("kind", ["brake", "slide brake", "pin", "guide"])
def test_friction_turns_round_with_a_slip_that_an_impact_reverses(kind, scale):
    """Between two stops, speeds fall by a constant deceleration on the way and by the restitution at each impact."""
    rng = np.random.default_rng(17)
    turns, g = kind in ("brake", "pin"), 9.81 * scale
    unit = 1.0 if turns else scale  # of the coordinate
    for _ in range(4):
        restitution, decelerates = rng.uniform(0.4, 0.95), rng.uniform(0.2, 2.0) * unit
        lower, upper, speed = (rng.uniform(0.1, 0.6, 3) * [-1, 1, 1] + [0, 0, 2.5]) * unit
        print(restitution, decelerates, lower, upper, speed)
        inertia = 0.2 * scale**2
        rate = {"angular_velocity" if turns else "velocity": [0, speed, 0]}
        body = Body("body", 1.0, [inertia] * 3, **rate)
        joint = (quirk.Revolute if turns else quirk.Prismatic)("joint", GROUND, body, point=[0, 0, 0], axis="y")
        match kind:
            case "brake" | "slide brake":
                effort = decelerates * (inertia if turns else 1.0)
                friction = quirk.JointFriction("friction", joint, coulomb=effort, sticking=True)
            case "pin":
                friction = quirk.Friction("friction", joint, 0.3, radius=decelerates * inertia / (0.3 * g))
            case _:
                friction = quirk.Friction("friction", joint, decelerates / g)
        stop = quirk.Stop("stop", joint, lower=lower, upper=upper, restitution=restitution)
        system = quirk.System([body, joint, friction, stop], gravity=[0, 0, -g])
        times, rests, place = _bounces(speed, decelerates, restitution, lower, upper)
        assert times
        result = quirk.simulate(system, rests + 1.0, output=0.5, rtol=1e-10, atol=1e-12 * scale)
        np.testing.assert_allclose(result.events.of("stop").time, times, atol=1e-10)
        np.testing.assert_allclose(result.events.of("friction").time, [rests], atol=1e-10)
        last = (result["joint"].angle if turns else result["joint"].travel)[-1]
        assert last == pytest.approx(place, abs=1e-9 * unit)
        assert np.abs(result.power.balance).max() < 1e-9 * result.energy.kinetic.max()


@pytest.mark.parametrize("u", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("times", [[0.0, 1.0], [0.5, 1.5]])
def test_friction_acts_on_a_joint_that_a_driver_moves_from_rest(u, times):
    """The drive begins and ends without acceleration: no load tells that the joint, which it holds, begins to slip."""
    mass, rail = slider(u)
    friction = quirk.JointFriction("friction", rail, coulomb=3.0 * u, static=4.0 * u, sticking=True)
    drive = quirk.Drive("drive", rail, Motion.rest_to_rest(times, [0.0, u]))
    moments = np.linspace(*times, 9)[1:-1]
    result = quirk.simulate(quirk.System([mass, rail, friction, drive]), 2.0, output=[*moments, 2.0])
    within = np.isin(result.time, moments)
    assert within.sum() == 7
    np.testing.assert_allclose(result["friction"].along()[within], -3.0 * u, rtol=1e-12)
    needed = 2.0 * result["mass"].acceleration[:, 0] + 3.0 * u
    np.testing.assert_allclose(result["drive"].force()[within, 0], needed[within], rtol=0, atol=1e-9 * u)
    assert not result["friction"].sticking[within].any() and result["friction"].sticking[-1]


def test_friction_acts_each_time_that_a_driver_moves_a_hinge():
    """Friction by the load of the hinge: back and forth, with rests between."""
    disk = Body("disk", 1.0, [1.0, 1.0, 2.0])
    hinge = quirk.Revolute("hinge", GROUND, disk, point=[0, 0, 0], axis="z")
    friction = quirk.Friction("friction", hinge, 0.2, radius=0.05)
    drive = quirk.Drive("drive", hinge, Motion.rest_to_rest([0.5, 1.0, 1.5, 2.0, 2.5, 3.0], [0.0, 1, 1, 0, 0, 1]))
    result = quirk.simulate(quirk.System([disk, hinge, friction, drive], gravity=[5.0, 0, 0]), 3.5, output=0.125)
    rate = result["hinge"].angle_rate
    moves = np.abs(rate) > 1e-3
    assert moves.sum() >= 9
    torque = 2.0 * result["disk"].angular_acceleration[:, 2] + 0.05 * np.sign(rate)
    np.testing.assert_allclose(result["drive"].torque()[moves, 2], torque[moves], rtol=0, atol=1e-9)


@pytest.mark.parametrize("u", [1e-3, 1.0])
def test_friction_acts_where_its_load_is_due_to_the_driven_motion_alone(u):
    """A disk on an eccentric hinge without gravity: the hinge carries the centripetal force m r omega^2."""
    disk = Body("disk", 1.0, np.multiply([1.0, 1.0, 2.0], u**2), position=[0.1 * u, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, disk, point=[0, 0, 0], axis="z")
    friction = quirk.Friction("friction", hinge, 0.2, radius=0.05 * u)
    drive = quirk.Drive("drive", hinge, Motion.rest_to_rest([0.5, 1.5], [0.0, 2.0]))
    result = quirk.simulate(quirk.System([disk, hinge, friction, drive]), 2.0, output=[0.75, 1.0, 1.25])
    load = np.linalg.norm(result["hinge"].force(), axis=1)
    torque = (2.0 + 0.01) * u**2 * result["disk"].angular_acceleration[:, 2] + 0.2 * 0.05 * u * load
    within = np.isin(result.time, [0.75, 1.0, 1.25])
    np.testing.assert_allclose(result["drive"].torque()[within, 2], torque[within], rtol=0, atol=1e-9 * u**2)
    assert load[within].min() > 0.1 * u


@pytest.mark.parametrize("u", [1e-3, 1.0])
def test_friction_acts_on_a_foot_that_a_driver_pulls_over_the_floor(u):
    cart = Body.box("cart", 2.0, np.array([1.0, 0.4, 0.2]) * u, position=[0, 0, u])
    foot = Body.box("foot", 1.0, [0.2 * u] * 3, position=[0, 0, 0.1 * u])
    rail, leg = quirk.Prismatic("rail", GROUND, cart, axis="x"), quirk.Prismatic("leg", cart, foot, axis="z")
    floor = quirk.Contact("floor", GROUND, foot, on_i=quirk.surface.plane(), on_j=quirk.surface.point([0, 0, -0.1 * u]))
    friction, drive = (
        quirk.Friction("friction", floor, 0.3),
        quirk.Drive("drive", rail, Motion.rest_to_rest([0.5, 1.5], [0, u])),
    )
    system = quirk.System([cart, foot, rail, leg, floor, friction, drive], gravity=np.multiply(G, u))
    result = quirk.simulate(system, 2.0, output=0.125)
    moves = result["cart"].velocity[:, 0] > 1e-3 * u
    assert moves.sum() >= 7
    needed = 3.0 * result["cart"].acceleration[:, 0] + 0.3 * 9.81 * u
    np.testing.assert_allclose(result["drive"].force()[moves, 0], needed[moves], rtol=0, atol=1e-9 * u)


def test_sensitivities_pass_the_instant_at_which_a_driver_begins_slip():
    """The base moves by -m/(M + m) of the travel of the driven mass, whatever its friction."""

    def moved(m):
        base = Body("base", 5.0, [1.0, 1.0, 1.0])
        mass = Body("mass", m, [1.0, 1.0, 1.0])
        rail, track = quirk.Prismatic("rail", GROUND, base, axis="x"), quirk.Prismatic("track", base, mass, axis="x")
        friction = quirk.JointFriction("friction", track, coulomb=3.0, sticking=True)
        drive = quirk.Drive("drive", track, Motion.rest_to_rest([0.5, 1.0], [0.0, 1.0]))
        return quirk.System([base, mass, rail, track, friction, drive])

    keys = ("mass", "mass"), ("friction", "coulomb")
    result = quirk.simulate(moved(2.0), 1.5, output=[1.5], sensitivities=keys)
    assert [event.name for event in result.events][:1] == ["friction"]
    np.testing.assert_allclose(result["base"].position[-1, 0], -2.0 / 7.0, atol=1e-9)
    by_mass, by_friction = (result.sensitivity[key]["base"].position[-1, 0] for key in keys)
    np.testing.assert_allclose([by_mass, by_friction], [-5.0 / 49.0, 0.0], atol=1e-7)


@pytest.mark.parametrize("u", study([1e-3, 1.0], 1))
@pytest.mark.parametrize(("to_cart", "to_ground"), [(1.0, 3.0), (3.0, 1.0)])
def test_a_part_that_sticks_to_the_ground_and_to_a_driven_part(to_cart, to_ground, u):
    """At rest one of both rows is redundant: the weaker friction slides, each time the driver begins to move."""
    cart, rail = slider(u)
    part = Body.box("part", 1.0, [0.1 * u] * 3, position=[0, 0, 0.5 * u])
    bed = quirk.Prismatic("bed", GROUND, part, axis="x")
    sleeve = quirk.Cylindrical("sleeve", cart, part, point=[0, 0, 0.5 * u], axis="x")
    motion = Motion.rest_to_rest([0.5, 1.0, 1.5, 2.0], [0.0, 0.5 * u, 0.5 * u, 0.0])
    frictions = [
        quirk.JointFriction("to cart", sleeve, coulomb=to_cart * u, coordinate="translation", sticking=True),
        quirk.JointFriction("to ground", bed, coulomb=to_ground * u, sticking=True),
    ]
    system = quirk.System([cart, part, rail, bed, sleeve, quirk.Drive("drive", rail, motion), *frictions])
    result = quirk.simulate(system, 2.5, output=[0.505, 0.75, 1.505, 1.75])
    first, moving, second, back = (np.argmin(np.abs(result.time - t)) for t in (0.505, 0.75, 1.505, 1.75))
    velocity, drive = result["part"].velocity[:, 0], result["drive"].force()[:, 0]
    if to_cart < to_ground:
        assert np.abs(velocity).max() < 1e-6 * u
        inertia, effort = 2.0, to_cart
    else:
        # The part sticks to the cart until its acceleration takes what the ground leaves of that friction.
        both = [first, second]
        np.testing.assert_allclose(velocity[both], result["mass"].velocity[both, 0], rtol=1e-9)
        inertia, effort = 3.0, to_ground
        event = next(event.time for event in result.events if event.name == "to cart")
        s = 2.0 * (event - 0.5)
        assert 120 * s - 360 * s**2 + 240 * s**3 == pytest.approx(2.0, rel=1e-6)  # the acceleration of the cart, / u
    needed = inertia * result["mass"].acceleration[[first, second], 0] + np.array([effort, -effort]) * u
    np.testing.assert_allclose(drive[[first, second]], needed, rtol=1e-9)
    np.testing.assert_allclose(drive[[moving, back]], [to_cart * u, -to_cart * u], rtol=1e-9)


@pytest.mark.parametrize("u", [1e-3, 1.0])
def test_friction_that_breaks_away_as_other_friction_comes_to_stick(u):
    """A sledge that a fast belt catches up with at 0.5 s jerks its load loose at that instant.

    The sledge slides at -2 m/s^2, to which 2 N hold the load of 1 kg, limit 3 N; the belt's 5 m/s^2 need 5 N.
    """
    speeds = {"belt": 0.0, "sledge": 3.5 * u, "load": 3.5 * u}
    belt, sledge, load = (Body.box(name, 1.0, [0.1 * u] * 3, velocity=[v, 0, 0]) for name, v in speeds.items())
    rail = quirk.Prismatic("rail", GROUND, belt, axis="x")
    runner, bed = quirk.Prismatic("runner", belt, sledge, axis="x"), quirk.Prismatic("bed", sledge, load, axis="x")
    frictions = [
        quirk.JointFriction("under", runner, coulomb=4.0 * u, static=20.0 * u, sticking=True),
        quirk.JointFriction("on", bed, coulomb=3.0 * u, sticking=True),
    ]
    drive = quirk.Drive("drive", rail, Motion.polynomial([0, 0, 2.5 * u]))
    result = quirk.simulate(quirk.System([belt, sledge, load, rail, runner, bed, drive, *frictions]), 1.0, output=0.25)
    assert [(event.name, event.direction) for event in result.events] == [("under", -1), ("on", 1)]
    np.testing.assert_allclose(result.events.time, 0.5, rtol=1e-9)
    np.testing.assert_allclose(result["load"].velocity[-1, 0], (3.5 - 1.0 + 1.5) * u, rtol=1e-9)
