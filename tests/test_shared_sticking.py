"""Sticking joints, and contacts, that hold the same freedoms: they slip where no efforts within all limits are left."""

import numpy as np
import pytest
from scipy.optimize import linprog
from studies import study

import quirk
from quirk import GROUND, Body, Motion


def five_bars(seed, scale):
    """Return a linkage with two freedoms and five sticking hinges, its limits, and where it breaks away.

    Torques at both ends grow in time. The linkage is held as long as efforts within all limits balance them in both
    freedoms, which is a linear program: its solution has the time, and the joints that stay below their limits.
    """
    rng = np.random.default_rng(seed)
    corners = np.array([[0, 0], [-0.3, 0.9], [0.6, 1.5], [1.4, 0.8], [1.1, 0]]) + rng.uniform(-0.2, 0.2, (5, 2))
    points = scale * np.insert(corners, 1, 0.0, axis=1)
    masses, limits, loads = rng.uniform(0.5, 2, 4), rng.uniform(0.2, 1.5, 5) * scale**2, np.zeros(5)
    loads[[0, 4]] = rng.uniform(-0.5, 0.5, 2) * scale**2
    print(seed, scale, corners, limits, loads)
    bars = [Body.bar(f"bar {k}", points[k], points[k + 1], mass=mass) for k, mass in enumerate(masses)]
    bodies = [GROUND, *bars, GROUND]
    hinges = [quirk.Revolute(f"hinge {k}", *bodies[k : k + 2], point=p, axis="y") for k, p in enumerate(points)]
    frictions = [
        quirk.JointFriction(f"friction {k}", hinge, coulomb=limit, sticking=True)
        for k, (hinge, limit) in enumerate(zip(hinges, limits, strict=True))
    ]
    torques = [quirk.JointTorque(f"torque {k}", hinges[k], Motion.polynomial([0.0, loads[k]])) for k in (0, 4)]
    # Rates of the hinges add to zero, and so do their moments.
    rates = np.linalg.svd(np.vstack([np.ones(5), corners.T]))[2][3:]
    balance = np.column_stack([rates, rates @ loads / scale**2])
    bounds = [*((-x, x) for x in limits / scale**2), (0, None)]
    best = linprog([0, 0, 0, 0, 0, -1], A_eq=balance, b_eq=[0, 0], bounds=bounds)
    holds = np.abs(best.x[:5]) < limits / scale**2 * (1 - 1e-9)
    return quirk.System([*bars, *hinges, *frictions, *torques]), rates, limits, loads, best.x[5], holds


@pytest.mark.parametrize("scale", study([1e-3, 1e3], 1))
@pytest.mark.parametrize("seed", study(range(6), 3))
def test_a_linkage_with_two_freedoms_breaks_away_as_by_a_linear_program(seed, scale):
    system, _, _, _, breaks, holds = five_bars(seed, scale)
    result = quirk.simulate(system, 1.01 * breaks, output=np.array([0.5, 1.01]) * breaks)
    assert result.events.time[0] == pytest.approx(breaks, rel=1e-9)
    assert np.abs(result["hinge 0"].angle[0]) < 1e-12
    assert len(result.events) == 1
    np.testing.assert_array_equal([result[f"friction {k}"].sticking[-1] for k in range(5)], holds)


def car(brakes, coefficient, growth, scale=1.0):
    """A car on two wheels, with brakes (N m), that a force pushes forward at the height of its axles."""
    chassis = Body.box("chassis", 1000.0, np.array([3, 1.5, 0.5]) * scale, position=[0, 0, 0.6 * scale])
    parts = [chassis, quirk.Planar("plane", GROUND, chassis, point=[0, 0, 0.6 * scale], axis="y")]
    for k, (x, limit) in enumerate(zip((1.2 * scale, -1.2 * scale), brakes, strict=True)):
        wheel = Body.cylinder(f"wheel {k}", 20.0, 0.3 * scale, 0.2 * scale, axis="y", position=[x, 0, 0.3 * scale])
        axle = quirk.Revolute(f"axle {k}", chassis, wheel, point=[x, 0, 0.3 * scale], axis="y")
        brake = quirk.JointFriction(f"brake {k}", axle, coulomb=limit * scale**2, sticking=True)
        surfaces = {"on_i": quirk.surface.plane(), "on_j": quirk.surface.sphere(0.3 * scale)}
        tire = quirk.Contact(f"tire {k}", GROUND, wheel, **surfaces)
        parts += [wheel, axle, brake, tire, quirk.Friction(f"grip {k}", tire, coefficient)]
    at = [0, 0, -0.3 * scale]
    push = quirk.Force("push", chassis, lambda t, *state: [growth * scale * t, 0, 0], point=at)
    return quirk.System([*parts, push], gravity=[0, 0, -9.81 * scale])


@pytest.mark.parametrize("scale", study([1.0, 1e-3, 1e3], {1e-3}))
@pytest.mark.parametrize(("brakes", "coefficient"), [((1000, 50), 0.8), ((300, 700), 0.8), ((5000, 100), 0.4), ((100, 5000), 0.4)])  # fmt: skip
def test_brakes_of_a_car_and_its_tires_hold_together(brakes, coefficient, scale):
    """Each wheel holds by its brake, or up to the friction of its tire, with loads that the push shifts forward."""
    growth, g = 500.0, 9.81
    shift = growth * 0.3 / 2.4
    loads = [(520 * g, shift), (520 * g, -shift)]  # N, and N/s
    at_rest = [min((b / 0.3, 0.0), (coefficient * n, coefficient * m)) for b, (n, m) in zip(brakes, loads, strict=True)]
    breaks = sum(limit for limit, _ in at_rest) / (growth - sum(change for _, change in at_rest))
    result = quirk.simulate(car(brakes, coefficient, growth, scale), 1.1 * breaks, output=breaks / 10)
    assert result.events.time[0] == pytest.approx(breaks, rel=1e-9)
    assert np.abs(result["chassis"].position[result.time < breaks, 0]).max() < 1e-12 * scale
    assert result["chassis"].position[-1, 0] > 1e-4 * scale
    # A wheel whose tire holds rolls, the other one is dragged.
    for k, (_, change) in enumerate(at_rest):
        turned = np.abs(result[f"axle {k}"].angle[-1])
        assert turned > 1e-3 if change == 0 else turned < 1e-12


def door(limits, u=1.0):
    """A door on two hinges with friction in both, under a torque that grows by half a newton meter a second."""
    panel = Body.box("panel", 10.0, np.array([0.8, 0.04, 2.0]) * u, position=[0.4 * u, 0, 0])
    hinges = [quirk.Revolute(f"hinge {k}", GROUND, panel, point=[0, 0, z * u], axis="z") for k, z in enumerate((-1, 1))]
    frictions = [
        quirk.JointFriction(f"friction {k}", hinge, coulomb=limit * u**2, sticking=True)
        for k, (hinge, limit) in enumerate(zip(hinges, limits, strict=True))
    ]
    torque = quirk.JointTorque("torque", hinges[0], Motion.polynomial([0.0, 0.5 * u**2]))
    return quirk.System([panel, *hinges, *frictions, torque], gravity=[0, 0, -9.81 * u])


@pytest.mark.parametrize("u", study([1e-3, 1.0, 1e3], 1))
def test_hinges_of_a_door_share_in_proportion_to_their_limits(u, tmp_path):
    """With limits of 1 and 3 N m they carry a quarter and three quarters, and break away together at 4 N m."""
    system = door((1.0, 3.0), u)
    result = quirk.simulate(system, 9.0, output=1.0, rtol=1e-11)
    assert result.events.time == pytest.approx([8.0], rel=1e-9)
    total = -np.minimum(0.5 * result.time, 4.0) * u**2
    for k, share in enumerate((0.25, 0.75)):
        view = result[f"friction {k}"]
        np.testing.assert_allclose(view.along(), share * total, atol=1e-9 * u**2)
        np.testing.assert_allclose(view.torque()[:, 2], share * total, atol=1e-9 * u**2)
    assert np.abs(result.power.balance).max() < 1e-9 * u**2
    result.save(tmp_path / "door.nc")
    again = quirk.Result.load(tmp_path / "door.nc", system)
    np.testing.assert_allclose(again["friction 1"].along(), result["friction 1"].along(), atol=1e-12 * u**2)
    run = quirk.Run(system)
    run.advance_to(5.0)
    assert run["friction 0"].along() == pytest.approx(-0.625 * u**2, rel=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
@pytest.mark.parametrize("seed", study(range(6), 3))
def test_efforts_of_a_linkage_are_within_the_limits_as_long_as_it_holds(seed, scale):
    """They minimize the sum of e^2 / limit among all that balance the torques."""
    system, rates, limits, loads, breaks, _ = five_bars(seed, scale)
    times = np.array([0.3, 0.9, 0.99, 0.999]) * breaks
    result = quirk.simulate(system, times[-1], output=times)
    efforts = np.array([result[f"friction {k}"].along() for k in range(5)]).T
    assert (np.abs(efforts) <= limits * (1 + 1e-9)).all()
    for t, e in zip(times, efforts, strict=True):
        np.testing.assert_allclose(rates @ (e + loads * t), 0, atol=1e-9 * scale**2)
        # A change d without effect increases the sum, to first order, unless it leaves the limits: a linear program.
        slope, at_limit = 2 * e / limits, np.abs(e) > limits * (1 - 1e-9)
        free = [(-1.0 if not full or x > 0 else 0.0, 1.0 if not full or x < 0 else 0.0) for x, full in zip(e, at_limit, strict=True)]  # fmt: skip
        best = linprog(slope, A_eq=rates, b_eq=[0, 0], bounds=free)
        assert best.fun > -1e-7


@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e3])
def test_reported_loads_balance_each_body(scale):
    """Four sticking hinges of a parallelogram, unequal limits: forces and torques on each body add to zero."""
    points = scale * np.array([[0, 0, 0], [0.3, 0, 1], [2.3, 0, 1], [2, 0, 0]])
    bars = [Body.bar(f"bar {k}", points[k], points[k + 1], mass=1.0 + k) for k in range(3)]
    bodies = [GROUND, *bars, GROUND]
    hinges = [quirk.Revolute(f"hinge {k}", *bodies[k : k + 2], point=p, axis="y") for k, p in enumerate(points)]
    limits = np.array([1.0, 0.5, 0.25, 0.75]) * scale**2
    frictions = [
        quirk.JointFriction(f"friction {k}", hinge, coulomb=limit, sticking=True)
        for k, (hinge, limit) in enumerate(zip(hinges, limits, strict=True))
    ]
    torque = quirk.JointTorque("torque", hinges[0], Motion.polynomial([0.0, scale**2]))
    result = quirk.simulate(quirk.System([*bars, *hinges, *frictions, torque]), 2.4, output=[1.0, 2.4])
    for bar in bars:
        force, moment = np.zeros((2, 3)), np.zeros((2, 3))
        for k, hinge in enumerate(hinges):
            if bar not in (hinge.body_i, hinge.body_j):
                continue
            sign, arm = 1.0 if bar is hinge.body_j else -1.0, points[k] - bar.position
            force += sign * result[hinge.name].force()
            moment += sign * (result[hinge.name].torque() + result[f"friction {k}"].torque())
            moment += np.cross(arm, sign * result[hinge.name].force())
        if bar is bars[0]:
            moment[:, 1] += result.time * scale**2
        np.testing.assert_allclose(force, 0, atol=1e-9 * scale)
        np.testing.assert_allclose(moment, 0, atol=1e-9 * scale**2)
    # In a parallelogram all hinges turn equally far, so each takes the same part of its limit.
    for k in range(4):
        np.testing.assert_allclose(np.abs(result[f"friction {k}"].along()), limits[k] * result.time / 2.5, rtol=1e-9)


@pytest.mark.parametrize("scale", study([1.0, 1e-3, 1e3], {1e3}))
@pytest.mark.parametrize("brakes", [(1000, 50), (50, 1000), (300, 700)])
def test_loads_of_brakes_and_tires_are_within_their_limits(brakes, scale):
    result = quirk.simulate(car(brakes, 0.8, 500.0, scale), 6.5, output=0.5)
    for k, limit in enumerate(brakes):
        effort, grip, tire = (result[f"{name} {k}"] for name in ("brake", "grip", "tire"))
        assert (np.abs(effort.along()) <= limit * scale**2 * (1 + 1e-9)).all()
        np.testing.assert_allclose(grip.force()[:, 0] * 0.3 * scale, effort.along(), atol=1e-9 * limit * scale**2)
        assert (np.abs(grip.force()[:, 0]) <= 0.8 * tire.force()[:, 2]).all()
    total = sum(result[f"grip {k}"].force()[:, 0] for k in range(2))
    np.testing.assert_allclose(total, -500.0 * scale * result.time, atol=1e-8 * scale)


def test_shared_efforts_have_no_derivatives():
    """The loads of the hinges themselves, which do not depend on the distribution, have derivatives."""
    result = quirk.simulate(door((1.0, 3.0)), 4.0, output=1.0, sensitivities=[("panel", "mass")])
    derivative = result.sensitivity[("panel", "mass")]
    for name in ("friction 0.torque.z", "friction 1.torque.z"):
        with pytest.raises(quirk.InputError, match="shares its load with contacts, joints or sticking"):
            derivative.of(name)
    np.testing.assert_allclose(derivative.of("hinge 0.force.z"), 9.81 / 2, rtol=1e-9)


@pytest.mark.parametrize("angle", [0.0, 0.3, 1.0, 1.5, 1.55])
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_friction_of_a_contact_beside_a_guide_stays_within_its_cone(angle, unit):
    """A guide holds the box across a horizontal direction, friction along it: the guide carries nothing else."""
    axes = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
    box = quirk.Body.box("box", unit, unit * np.array([0.2, 0.1, 0.1]), orientation=axes)
    frames = {"frame_i": quirk.Frame([0, 0, 0], axes), "frame_j": quirk.Frame()}
    guide = quirk.Generic("guide", quirk.GROUND, box, **frames, constrained=[0, 1, 0, 1, 1, 1])
    corner = [0, 0, -0.05 * unit]
    contact = quirk.Contact(
        "contact", quirk.GROUND, box, on_i=quirk.surface.plane(corner), on_j=quirk.surface.point(corner)
    )
    push = quirk.Force("push", box, 2.0 * unit**2 * axes[:, 0])
    parts = [box, guide, contact, quirk.Friction("friction", contact, 0.3), push]
    result = quirk.simulate(quirk.System(parts, gravity=[0, 0, -9.81 * unit]), 0.1, output=0.1)
    assert result["friction"].sticking.all()
    np.testing.assert_allclose(result["friction"].force() @ axes, [[-2.0 * unit**2, 0, 0]] * 2, atol=1e-9 * unit**2)
    np.testing.assert_allclose(result["guide"].force(), 0.0, atol=1e-9 * unit**2)
    # The contact could hold the box across the guide, too, and the guide along with the contact.
    assert result["guide"].unique.force == "unique only in sum"
    assert result["guide"].unique.torque == "unique only in sum"


def test_loads_beside_friction_that_sticks_are_unique_where_no_other_holds_the_same():
    """Without its guide a box has friction alone; in a linkage with two brakes too many no hinge load is unique."""
    box = quirk.Body.box("box", 2.0, [0.2, 0.1, 0.1], position=[0, 0, 0.05])
    slide = quirk.Prismatic("slide", quirk.GROUND, box, axis="x")
    brake = quirk.JointFriction("brake", slide, coulomb=3.0, sticking=True)
    push = quirk.Force("push", box, [2.0, 0, 0])
    result = quirk.simulate(quirk.System([box, slide, brake, push], gravity=[0, 0, -9.81]), 0.1, output=0.1)
    assert result["slide"].unique.force == result["slide"].unique.torque == "unique"
    system = five_bars(0, 1.0)[0]
    result = quirk.simulate(system, 0.1, output=0.1)
    assert [result[f"hinge {k}"].unique.force for k in range(5)] == 5 * ["indeterminate"]


def on_a_guide(seed, feet):
    """A plate that a guide carries, with friction in the guide, and with or without feet that touch the floor."""
    rng = np.random.default_rng(seed)
    length, mass, (kind, places) = 10 ** rng.uniform(-2, 2), rng.uniform(0.5, 3), [("rail", 3), ("table", 4)][seed % 2]
    plate = Body.box("plate", mass, length * np.array([2, 2, 0.2]), position=[0, 0, 0.1 * length])
    if kind == "rail":
        guide = quirk.Prismatic("guide", GROUND, plate, point=plate.position, axis=[0.96, 0.28, 0])
        hold = quirk.JointFriction("hold", guide, coulomb=rng.uniform(1, 6) * mass, sticking=True)
    else:
        guide = quirk.Planar("guide", GROUND, plate, point=plate.position, normal="z")
        hold = quirk.Friction("hold", guide, rng.uniform(0.1, 0.6))
    pushes = [quirk.Motion.sinusoid(rng.uniform(5, 12) * mass, rng.uniform(1, 6), phase=k) for k in (1, 0)]
    items = [plate, guide, hold, quirk.Force("push", plate, [*pushes, 0])]
    for k, place in enumerate(rng.uniform(-1, 1, (places, 2)) if feet else ()):
        under = quirk.surface.point(length * np.array([*place, -0.1]))
        foot = quirk.Contact(f"foot {k}", GROUND, plate, on_i=quirk.surface.plane(), on_j=under)
        items += [foot, quirk.Friction(f"sole {k}", foot, rng.uniform(0.1, 0.8))]
    return quirk.System([items[k] for k in rng.permutation(len(items))], gravity=[0, 0, -9.81]), length


@pytest.mark.parametrize("seed", study(range(20), 6))
def test_feet_of_a_plate_that_a_guide_carries_have_neither_load_nor_friction(seed):
    (system, length), (bare, _) = (on_a_guide(seed, feet) for feet in (True, False))
    result, want = (quirk.simulate(one, 1.0, output=0.5, rtol=1e-9, atol=1e-11 * length) for one in (system, bare))
    assert result.events.of("hold").time == pytest.approx(want.events.of("hold").time, rel=1e-6, abs=1e-6)
    np.testing.assert_allclose(result["plate"].position[-1], want["plate"].position[-1], atol=1e-7 * length)
    assert not any(result[f"sole {k}"].force().any() for k in range(3))
