"""Impacts of touching bodies one after the other, against closed forms."""

import itertools

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, surface
from quirk.dynamics.contact.lcp import solve_lcp


def row_of_balls(speeds, masses=None, restitution=1.0, radius=0.1, friction=None):
    """Balls that touch in a row along x, with given speeds."""
    masses = np.ones(len(speeds)) if masses is None else masses
    balls = [
        Body.sphere(f"{k}", mass=m, radius=radius, position=[2 * radius * k, 0, 0], velocity=[v, 0, 0])
        for k, (v, m) in enumerate(zip(speeds, masses, strict=True))
    ]
    pairs = [
        quirk.Contact(
            f"c{k}", one, two, on_i=surface.sphere(radius), on_j=surface.sphere(radius), restitution=restitution
        )
        for k, (one, two) in enumerate(itertools.pairwise(balls))
    ]
    dry = [] if friction is None else [quirk.Friction(f"f{k}", c, friction) for k, c in enumerate(pairs)]
    return quirk.System([*balls, *pairs, *dry])


def after(system, impacts="sequential", **options):
    result = quirk.simulate(system, 0.5, output=0.5, impacts=impacts, **options)
    return result.state.velocity[-1, :, 0], result


@pytest.mark.parametrize("radius", study([1e-4, 0.1, 1e3], {1e-4}))
@pytest.mark.parametrize("friction", [None, 0.3])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_as_many_balls_leave_newtons_cradle_as_come(count, friction, radius):
    speeds = [2.0 * radius] * count + [0.0] * (5 - count)
    v, result = after(row_of_balls(speeds, radius=radius, friction=friction))
    np.testing.assert_allclose(v, speeds[::-1], atol=1e-12 * radius)
    np.testing.assert_allclose(result.energy.kinetic[-1], result.energy.kinetic[0], rtol=1e-12)
    at_once, _ = after(row_of_balls(speeds, radius=radius, friction=friction), "simultaneous")
    P = sum(speeds) / 5
    if count == 1:
        np.testing.assert_allclose(at_once, 2 * P - np.array(speeds), atol=1e-12 * radius)


def test_balls_from_both_sides_change_places():
    v, _ = after(row_of_balls([1.0, 0.0, 0.0, -2.0]))
    np.testing.assert_allclose(v, [-2.0, 0.0, 0.0, 1.0], atol=1e-12)
    v, _ = after(row_of_balls([1.0, 0.0, -1.0]))
    np.testing.assert_allclose(v, [-1.0, 0.0, 1.0], atol=1e-12)


def test_a_shock_through_a_row_with_gaps_is_the_limit():
    """Random masses and restitutions: the same as with gaps that are small but not zero."""
    rng = np.random.default_rng(4)
    for _ in range(3):
        masses, e = rng.uniform(0.5, 2.0, 5), float(rng.uniform(0.85, 1.0))
        together, result = after(row_of_balls([1.0, 0, 0, 0, 0], masses, e))
        apart = row_of_balls([1.0, 0, 0, 0, 0], masses, e)
        state = apart.initial_state()
        state.position[:, 0] += 1e-7 * np.arange(5)
        wide = quirk.simulate(apart, 0.5, output=0.5, initial_state=state).state.velocity[-1, :, 0]
        np.testing.assert_allclose(together, wide, atol=1e-6)
        assert masses @ together == pytest.approx(masses[0], rel=1e-12)
        # Impulses are summed: that of the last contact is all of the momentum of the last ball.
        sums = {}
        for event in result.events:
            for name, impulse in event.impulse.items():
                sums[name] = sums.get(name, 0.0) + impulse.force[0]
        assert sums["c3"] == pytest.approx(masses[4] * together[4], rel=1e-10)


def test_without_restitution_both_laws_agree():
    for impacts in ("simultaneous", "sequential"):
        v, _ = after(row_of_balls([1.0, 0.0, 0.0], restitution=0.0), impacts)
        np.testing.assert_allclose(v, np.full(3, 1 / 3), atol=1e-9)


def test_a_box_that_lands_flat_bounces_without_turning():
    """Contacts that close at one instant belong to one round, so symmetry is kept."""
    box = Body.box("box", 1.0, [1, 1, 0.2], position=[0, 0, 0.2])
    corners = [(x, y, -0.1) for x in (-0.5, 0.5) for y in (-0.5, 0.5)]
    contacts = [
        quirk.Contact(f"c{k}", GROUND, box, on_i=surface.plane(), on_j=surface.point(c), restitution=0.5)
        for k, c in enumerate(corners)
    ]
    system = quirk.System([box, *contacts], gravity=[0, 0, -9.81])
    results = [quirk.simulate(system, 0.3, output=0.1, impacts=impacts) for impacts in ("simultaneous", "sequential")]
    np.testing.assert_allclose(results[1].state.velocity, results[0].state.velocity, atol=1e-9)
    assert np.abs(results[1].state.angular_velocity).max() < 1e-9


def test_a_run_and_its_restrictions():
    run = quirk.Run(row_of_balls([1.0, 0.0, 0.0]), impacts="sequential")
    run.advance(0.1)
    np.testing.assert_allclose(run.state.velocity[:, 0], [0, 0, 1], atol=1e-12)
    system = row_of_balls([1.0, 0.0, 0.0])
    with pytest.raises(quirk.InputError, match="impacts must be one of"):
        quirk.simulate(system, 1.0, impacts="one")
    with pytest.raises(quirk.InputError, match=r'impacts="sequential" are not differentiated'):
        quirk.simulate(system, 1.0, impacts="sequential", sensitivities=[("0", "mass")])


def hanging_row(count, lifted, angle, length, radius, restitution, friction=None, string=False):
    """Touching balls on parallel hinged rods or strings; the first ones are lifted by an angle (rad)."""
    parts, shape = [], surface.sphere(radius)
    for k in range(count):
        x, at = 2 * radius * k, angle if k < lifted else 0.0
        ball = Body.sphere(f"ball {k}", 0.1, radius, position=[x - length * np.sin(at), 0, -length * np.cos(at)])
        top = {"point_i": [x, 0, 0], "point_j": [0, 0, 0]} if string else {"point": [x, 0, 0], "axis": "y"}
        parts += [ball, (quirk.Distance if string else quirk.Revolute)(f"string {k}", GROUND, ball, **top)]
    for k in range(count - 1):
        pair = parts[2 * k], parts[2 * k + 2]
        contact = quirk.Contact(f"contact {k}", *pair, on_i=shape, on_j=shape, restitution=restitution)
        parts.append(contact)
        if friction is not None:
            parts.append(quirk.Friction(f"friction {k}", contact, friction))
    return quirk.System(parts, gravity=[0, 0, -9.81])


@pytest.mark.parametrize("seed", study(range(12), 4))
def test_balls_that_swing_together_without_load(seed):
    """Where balls touch, their accelerations differ by round-off alone: that is no load, and no reason to part."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(4, 9))
    case = {
        "count": count,
        "lifted": int(rng.integers(1, count)),
        "angle": rng.uniform(0.1, 1.0),
        "length": float(rng.choice([0.1, 0.25, 1.0])),
        "radius": float(rng.choice([0.01, 0.02, 0.05])),
        "restitution": float(rng.choice([1.0, 1.0, 0.95, 0.5, 0.0])),
    }
    options = {
        "impacts": str(rng.choice(["sequential", "simultaneous"])),
        "method": str(rng.choice(["Vern9", "Taylor"])),
        "rtol": float(rng.choice([1e-6, 1e-9, 1e-12])),
    }
    print(case, options)
    result = quirk.simulate(hanging_row(**case), 3.0, output=0.05, **options)
    assert result.status == "completed"
    energy = result.energy.total
    assert np.diff(energy).max() < 1e3 * options["rtol"] * np.ptp(result.energy.potential)
    if case["restitution"] == 1.0:
        assert np.ptp(energy) < 1e3 * options["rtol"] * np.ptp(result.energy.potential)


@pytest.mark.parametrize("seed", study(range(16), 4))
def test_balls_with_friction_that_swing_together_without_load(seed):
    """Loads of round-off between balls that touch have no friction, and neither load nor open their contacts."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 6))
    case = {
        "count": count,
        "lifted": int(rng.integers(1, count + 1)),
        "angle": rng.uniform(0.05, 0.7),
        "length": rng.uniform(0.5, 2.0),
        "radius": rng.uniform(0.02, 0.1),
        "restitution": float(rng.choice([1.0, 0.5, 0.0])),
        "friction": rng.uniform(0.05, 0.8),
        "string": bool(rng.integers(2)),
    }
    impacts = str(rng.choice(["sequential", "simultaneous"]))
    print(case, impacts)
    result = quirk.simulate(hanging_row(**case), 3.0, output=0.05, rtol=1e-9, impacts=impacts)
    assert result.status == "completed"
    turned = np.ptp(result.energy.potential)
    assert np.diff(result.energy.total).max() < 1e-9 * turned
    assert np.abs(result.power.balance).max() < 1e-9 * turned
    if case["lifted"] == count:
        assert not len(result.events)
        assert np.ptp(result.energy.total) < 1e-9 * turned


@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e12])
def test_loads_of_any_size_solve_the_complementarity_problem(scale):
    W = 20.0 * np.eye(6) - 10.0 * (np.eye(6, k=1) + np.eye(6, k=-1))
    for seed in range(200):
        q = scale * np.random.default_rng(seed).normal(size=6)
        x = solve_lcp(W, q)
        assert (x >= 0).all(), seed
        assert (W @ x + q > -1e-12 * scale).all(), seed
        assert abs(x @ (W @ x + q)) < 1e-12 * scale**2, seed


def test_speeds_of_round_off_beside_a_separating_contact():
    """A contact that separates gets no impulse, although the solution gives it one of round-off."""
    W = 20.0 * np.eye(6) - 10.0 * (np.eye(6, k=1) + np.eye(6, k=-1))
    q = np.array([1.3e-15, -4.4e-16, 0.0, 0.0, 2.08, -1.3e-15])
    x = solve_lcp(W, q)
    assert x[4] == 0.0
    assert 0 < x.max() < 1e-15
    assert (W @ x + q > -1e-14).all()


@pytest.mark.parametrize("lifted", [1, 2])
def test_a_hanging_cradle_swings_to_and_fro(lifted):
    """Speeds of round-off between balls that touch are no impacts: they would change how the next shock passes."""
    angle = np.radians(30)
    system = hanging_row(5, lifted, angle, 0.25, 0.02, 1.0)
    # After the first shock the last balls swing out, and after the second one the first balls.
    result = quirk.simulate(system, 1.2, output=0.01, impacts="sequential")
    angles = np.array([result[f"string {k}"].angle + (angle if k < lifted else 0.0) for k in range(5)])
    times = sorted({round(event.time, 6) for event in result.events if event.impulse})
    out = (result.time > times[0]) & (result.time < times[1])
    back = result.time > times[-1]
    np.testing.assert_allclose(angles[: 5 - lifted, out], 0, atol=1e-6)
    assert np.abs(angles[5 - lifted :, out]).max() == pytest.approx(angle, rel=1e-3)
    np.testing.assert_allclose(angles[lifted:, back], 0, atol=1e-6)
    assert np.ptp(result.energy.total) < 1e-11 * np.ptp(result.energy.potential)


@pytest.mark.parametrize("impacts", ["simultaneous", "sequential"])
@pytest.mark.parametrize("suspension", ["hinge", "ball joint", "string"])
@pytest.mark.parametrize(("count", "scale"), study([(3, 1.0), (5, 1e-3), (7, 1e3)], {(3, 1.0), (5, 1e-3)}))
def test_balls_that_touch_without_load_cause_no_events(count, scale, suspension, impacts):
    """Only the outer balls strike; between the strikes round-off of loads neither opens nor closes contacts."""
    radius, length, angle = 0.02 * scale, 0.25 * scale, np.radians(30)
    balls, joints = [], []
    for k in range(count):
        top, at = np.array([2 * radius * k, 0, 0]), angle if k == 0 else 0.0
        hangs = length * np.array([-np.sin(at), 0, -np.cos(at)])
        ball = Body.sphere(f"ball {k}", 0.2 * scale, radius, position=top + hangs)
        match suspension:
            case "hinge":
                joints.append(quirk.Revolute(f"joint {k}", GROUND, ball, point=top, axis="y"))
            case "ball joint":
                joints.append(quirk.Spherical(f"joint {k}", GROUND, ball, point=top))
            case _:
                joints.append(quirk.Distance(f"joint {k}", GROUND, ball, point_i=top, point_j=[0, 0, 0]))
        balls.append(ball)
    shape = surface.sphere(radius)
    contacts = [
        quirk.Contact(f"contact {k}", one, two, on_i=shape, on_j=shape, restitution=1.0)
        for k, (one, two) in enumerate(itertools.pairwise(balls))
    ]
    system = quirk.System([*balls, *joints, *contacts], gravity=[0, 0, -9.81 * scale])
    result = quirk.simulate(system, 3.0, output=0.05, impacts=impacts, atol=1e-12 * scale)
    strikes = [event for event in result.events if event.impulse]
    assert len(strikes) == len(result.events) == 6
    assert all(event.time - before.time > 0.4 for before, event in itertools.pairwise(strikes))
    assert np.ptp(result.energy.total) < 1e-11 * np.ptp(result.energy.kinetic)


def ball_on_a_falling_table(excess, restitution):
    """A ball rests on a table that moves down at constant speed; a slanting rope goes taut and lifts it slightly."""
    table = quirk.Body.box("table", 1.0, [2, 2, 0.2], position=[0, 0, -0.1], velocity=[0, 0, -0.4])
    rail = quirk.Prismatic("rail", quirk.GROUND, table, point=[0, 0, 0], axis="z")
    drive = quirk.Drive("drive", rail, quirk.Motion.constant_rate(-0.4))
    ball = quirk.Body.sphere("ball", 20.0, 0.1, position=[0, 0, 0.1], velocity=[-0.12 + excess, 0, -0.4])
    top, sphere = quirk.surface.plane([0, 0, 0.1], [0, 0, 1]), quirk.surface.sphere(0.1)
    contact = quirk.Contact("contact", table, ball, on_i=top, on_j=sphere)
    ends = {"point_i": [-1, 0, 0.4], "point_j": [0, 0, 0]}
    rope = quirk.Rope("rope", quirk.GROUND, ball, **ends, length=np.hypot(1, 0.3) + 1e-9, restitution=restitution)
    push = quirk.Force("push", ball, [5.0, 0, 0])
    return quirk.System([table, rail, drive, ball, contact, rope, push], gravity=[0, 0, -9.81])


@pytest.mark.parametrize("excess", np.geomspace(2e-6, 2e-4, 12).round(8))
@pytest.mark.parametrize("restitution", [0.0, 0.36])
def test_contacts_that_others_open_slowly_stop_or_open(restitution, excess):
    """Near the limit of rest: a contact that stays closed has no rate, and no velocity changes without an impulse."""
    result = quirk.simulate(ball_on_a_falling_table(excess, restitution), 2e-3, output=4e-4)
    velocity, time = result["ball"].velocity, result.time
    rate = velocity[:, 2] - result["table"].velocity[:, 2]
    after = np.append(time[1:] > time[:-1], True)  # not the first of two states at an event
    assert np.abs(rate[result.active("contact") & after]).max(initial=0.0) < 1e-12
    assert np.abs(result.power.balance).max() < 1e-9
    for k in np.flatnonzero(time[1:] <= time[:-1]):
        here = [event.impulse for event in result.events if event.time == time[k]]
        acted = sum((one[name].force for one in here for name in ("contact", "rope") if name in one), np.zeros(3))
        np.testing.assert_allclose(20.0 * (velocity[k + 1] - velocity[k]), acted, atol=1e-12)
