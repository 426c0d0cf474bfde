"""Loads that contacts share while the bodies turn relative to each other, so that the ways to share them change."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import quirk
from quirk import GROUND, Body, Contact, Friction, surface

G, HEIGHT = 9.81, 0.1
# Height of the centers of mass of plates whose feet lose their load in the motion.
TALL = 0.35
# Masses, moments of inertia about the vertical, and centers of mass from the hinge along x, of two plates.
MASS, INERTIA, ARM = (3.0, 2.0), (0.08, 0.0417), (-0.25, 0.25)


def feet_of(rng):
    """Places of three feet of each plate about its center of mass, around it, and their coefficients of friction."""
    turned = np.array([0.5, 2.6, 4.7]) + rng.uniform(-0.3, 0.3, (2, 3))
    places = rng.uniform(0.12, 0.2, (2, 3, 1)) * np.stack([np.cos(turned), np.sin(turned)], axis=-1)
    return places, rng.uniform(0.1, 0.3, (2, 3))


def plates(feet, mu, spins, meter=1.0, reverse=False, height=HEIGHT):
    """Two plates with a common vertical hinge that slide on feet and spin, with the hinge at the origin."""
    bodies = [
        Body(
            name, MASS[k], [0.04, 0.05, INERTIA[k]] * np.array(meter**2), position=[ARM[k] * meter, 0, height * meter],
            velocity=[0, ARM[k] * spins[k] * meter, 0], angular_velocity=[0, 0, spins[k]],
        )
        for k, name in enumerate("ab")
    ]  # fmt: skip
    items = [*bodies, quirk.Revolute("hinge", *bodies, point=[0, 0, height * meter], axis="z")]
    for k, body in enumerate(bodies):
        for n, (x, y) in enumerate(feet[k]):
            ball = surface.sphere(0.05 * meter, center=[x * meter, y * meter, (0.05 - height) * meter])
            contact = Contact(f"{body.name}{n}", GROUND, body, on_i=surface.plane(), on_j=ball)
            items += [contact, Friction(f"f{body.name}{n}", contact, mu[k][n])]
    return quirk.System(items[::-1] if reverse else items, gravity=[0, 0, -G * meter])


def loads(feet, mu, pose, speed, height=HEIGHT):
    """Places of the feet (6, 2) from the hinge, and normal loads and friction (6, 2) of equal springs under them.

    `pose` and `speed` are place of the hinge and angles of both plates, and their rates. Springs do not pull.
    """
    centers, places, slips = [], [], []
    for k in range(2):
        angle, spin = pose[2 + k], speed[2 + k]
        R = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        centers.append(R @ [ARM[k], 0.0])
        places.extend(centers[-1] + foot @ R.T for foot in feet[k])
        slips.extend(speed[:2] + spin * np.array([-p[1], p[0]]) for p in places[-3:])
    places, slips = np.array(places), np.array(slips)
    drag = -np.ravel(mu)[:, None] * slips / np.linalg.norm(slips, axis=1)[:, None]
    # The hinge makes the plates one body for forces across the plane: total force, and moments about x and y through
    # the hinge at the height of the centers of mass, where forces in the plane have no moment.
    A = np.vstack([np.ones(6), places[:, 1], -places[:, 0]])
    tips = np.vstack([np.zeros(6), height * drag[:, 1], -height * drag[:, 0]])
    weight = G * np.array([sum(MASS), *(np.array(MASS) @ np.array(centers))[::-1]]) * [1.0, 1.0, -1.0]
    # The load of each spring is that of its compression, an affine function of its place, or zero.
    for pressed in np.array(list(itertools.product([True, False], repeat=6))):
        if pressed.sum() < 3:
            continue
        compression = A.T @ np.linalg.solve((A + tips)[:, pressed] @ A[:, pressed].T, weight)
        if (compression[pressed] >= 0).all() and (compression[~pressed] <= 0).all():
            normal = np.where(pressed, compression, 0.0)
            return places, normal, normal[:, None] * drag
    raise AssertionError(f"no springs carry the plates at {pose}")


def rates(t, y, feet, mu, height=HEIGHT):
    pose, speed = y[:4], y[4:]
    places, _, forces = loads(feet, mu, pose, speed, height)
    M, load = np.diag([sum(MASS), sum(MASS), 0.0, 0.0]), np.zeros(4)
    load[:2] = forces.sum(axis=0)
    for k in range(2):
        ahead = np.array([np.cos(pose[2 + k]), np.sin(pose[2 + k])])
        across, own = np.array([-ahead[1], ahead[0]]), slice(3 * k, 3 * k + 3)
        M[2 + k, 2 + k] = INERTIA[k] + MASS[k] * ARM[k] ** 2
        M[:2, 2 + k] = M[2 + k, :2] = MASS[k] * ARM[k] * across
        load[:2] += MASS[k] * ARM[k] * speed[2 + k] ** 2 * ahead
        load[2 + k] = (places[own, 0] * forces[own, 1] - places[own, 1] * forces[own, 0]).sum()
    return np.concatenate([speed, np.linalg.solve(M, load)])


def angle_of(body):
    return np.unwrap(2.0 * np.arctan2(body.orientation[:, 3], body.orientation[:, 0]))


@pytest.mark.parametrize("meter", [1.0, 1e-3])
@pytest.mark.parametrize("seed", range(4))
def test_plates_that_slide_and_turn_have_the_friction_of_their_present_loads(seed, meter):
    """Friction in proportion to the loads of equal springs, against an integration of four coordinates."""
    rng = np.random.default_rng(seed)
    feet, mu = feet_of(rng)
    spins = rng.uniform(4.0, 8.0, 2) * [1.0, -1.0]
    result = quirk.simulate(plates(feet, mu, spins, meter, reverse=seed % 2 == 1), 0.15, output=0.05, rtol=1e-10)
    assert len(result.events) == 0
    start = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, *spins])
    true = solve_ivp(rates, (0.0, 0.15), start, "DOP853", result.time, args=(feet, mu), rtol=1e-11, atol=1e-12)
    for k, body in enumerate("ab"):
        np.testing.assert_allclose(angle_of(result[body]), true.y[2 + k], atol=1e-8)
    for row, y in enumerate(true.y.T):
        _, normal, forces = loads(feet, mu, y[:4], y[4:])
        for n, name in enumerate(["a0", "a1", "a2", "b0", "b1", "b2"]):
            shown = result[name].force()[row, 2] / meter, result[f"f{name}"].force()[row, :2] / meter
            assert shown[0] == pytest.approx(normal[n], abs=1e-6)
            np.testing.assert_allclose(shown[1], forces[n], atol=1e-6)


@pytest.mark.parametrize("seed", [5, 10, 38])
def test_feet_that_lose_their_load_take_it_again(seed):
    """The loads of tall plates follow the turning friction; feet without load stay on the floor."""
    rng = np.random.default_rng(seed)
    feet, mu = feet_of(rng)
    spins = rng.uniform(4.0, 9.0, 2) * [1.0, -1.0]
    result = quirk.simulate(plates(feet, mu, spins, height=TALL), 0.3, output=0.005, rtol=1e-10)
    # A foot without load may touch the floor with an impact that is round-off.
    end = min([event.time for event in result.events if event.energy_loss > 1e-9], default=0.3)
    times = np.unique(result.time[result.time < end])
    start = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, *spins])
    true = solve_ivp(rates, (0.0, times[-1]), start, "DOP853", times, args=(feet, mu, TALL), rtol=1e-9, atol=1e-11)
    expected = np.array([loads(feet, mu, y[:4], y[4:], TALL)[1] for y in true.y.T])
    changes = np.diff((expected > 1e-6).astype(int), axis=0)
    assert (changes == 1).any(), "no foot is loaded again"
    rows = np.searchsorted(result.time, times)
    for n, name in enumerate(["a0", "a1", "a2", "b0", "b1", "b2"]):
        np.testing.assert_allclose(result[name].force()[rows, 2], expected[:, n], atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_parts_and_the_method_do_not_matter(seed):
    feet, mu = feet_of(np.random.default_rng(10 + seed))
    one, *others = (
        quirk.simulate(plates(feet, mu, [7.0, -5.0], reverse=reverse), 0.3, output=0.1, rtol=1e-9, method=method)
        for reverse, method in ((False, "Vern9"), (True, "Vern9"), (False, "RadauIIA9"), (True, "RK45"))
    )
    for other in others:
        assert [event.name for event in other.events] == [event.name for event in one.events]
        np.testing.assert_allclose(other.events.time, one.events.time, atol=1e-7)
        np.testing.assert_allclose(angle_of(other["b"]), angle_of(one["b"]), atol=1e-6)


def test_saved_runs_and_results_go_on_with_their_loads(tmp_path):
    feet, mu = feet_of(np.random.default_rng(3))
    system = plates(feet, mu, [6.0, -7.0])
    run = quirk.Run(system, keep=0.05)
    run.advance(0.1)
    saved = pickle.loads(pickle.dumps(run.save()))
    run.advance(0.1)
    whole = run.result()
    again = quirk.Run(system, keep=0.05)
    again.restore(saved)
    again.advance(0.1)
    assert np.array_equal(again.state.position, run.state.position)
    whole.save(tmp_path / "plates.nc")
    read = quirk.Result.load(tmp_path / "plates.nc", system=plates(feet, mu, [6.0, -7.0]))
    for name in ("a0", "fa0", "fb2"):
        np.testing.assert_allclose(read[name].force(), whole[name].force(), rtol=1e-12)


def test_sensitivities_of_shares_that_turn_are_refused():
    feet, mu = feet_of(np.random.default_rng(0))
    with pytest.raises(quirk.InputError, match="their shares change as the bodies move"):
        quirk.simulate(plates(feet, mu, [6.0, -7.0]), 0.1, output=0.1, sensitivities=[("a", "mass")])


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_accelerations_are_those_of_the_dense_reference(seed, pinned):
    """With friction of the pin, its bearings take part in the load that the feet share."""
    feet, mu = feet_of(np.random.default_rng(20 + seed))
    system = plates(feet, mu, [6.0, -7.0])
    if pinned:
        pin = Friction("pin", system["hinge"], 0.3, radius=0.02, length=0.05)
        system = quirk.System([*system, pin], gravity=[0, 0, -G])
    result = quirk.simulate(system, 0.1, output=0.05)
    for row, t in enumerate(result.time):
        state = result.state_at(row)
        fast, dense = (system.acceleration(state, t, solver=solver) for solver in ("sparse", "dense"))
        np.testing.assert_allclose(fast.linear, dense.linear, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(fast.angular, dense.angular, rtol=1e-10, atol=1e-10)
        run = [
            [result[name].acceleration[row] for name in "ab"],
            [result[name].angular_acceleration[row] for name in "ab"],
        ]
        np.testing.assert_allclose(run[0], dense.linear, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(run[1], dense.angular, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kinds", ["sp", "ps", "ss", "pp"])
def test_feet_rub_while_a_pushed_box_strikes_a_mass_and_tips(kinds):
    """The pads that push share their load; where it needs no other row, the feet beside them keep their own loads."""
    size, speed, mu = np.array([0.3, 0.3, 0.2]), 0.6, 0.5
    box = quirk.Body.box("box", 3.0, size, position=[0, 0, 0.1], velocity=[speed, 0, 0])
    plate = quirk.Body.box("plate", 3.0, [0.02, 0.2, 0.2], position=[-0.16, 0, 0.1], velocity=[speed, 0, 0])
    free = quirk.Body.box("free", 1.0, [0.02, 0.2, 0.2], position=[0.17, 0, 0.1])
    rail = quirk.Prismatic("rail", quirk.GROUND, plate, axis="x")
    parts = [box, plate, free, rail, quirk.Drive("drive", rail, quirk.Motion.constant_rate(speed))]
    parts.append(quirk.Prismatic("guide", quirk.GROUND, free, axis="x"))
    for k, (x, y) in enumerate([(-1, -1), (-1, 1), (1, -1), (1, 1)]):
        point = quirk.surface.point([0.15 * x, 0.15 * y, -0.1])
        foot = quirk.Contact(f"foot {k}", quirk.GROUND, box, on_i=quirk.surface.plane(), on_j=point)
        parts += [foot, quirk.Friction(f"rub {k}", foot, mu)]
    for k, (kind, y) in enumerate(zip(kinds, (-0.06, 0.06), strict=True)):
        face, point = quirk.surface.plane([0.01, 0, 0], [1, 0, 0]), quirk.surface.point([-0.15, y, -0.023])
        back, ball = quirk.surface.plane([-0.15, 0, 0], [-1, 0, 0]), quirk.surface.sphere(0.01, [0, y, -0.023])
        ends = (plate, box, face, point) if kind == "p" else (box, plate, back, ball)
        parts.append(quirk.Contact(f"pad {k}", ends[0], ends[1], on_i=ends[2], on_j=ends[3]))
        front, tip = quirk.surface.plane([0.15, 0, 0], [1, 0, 0]), quirk.surface.point([-0.01, y, 0.04])
        parts.append(quirk.Contact(f"tip {k}", box, free, on_i=front, on_j=tip))
    result = quirk.simulate(quirk.System(parts, gravity=[0, 0, -9.81]), 0.03, output=0.01)
    loads = [np.linalg.norm(result[f"foot {k}"].force()[-1]) for k in range(4)]
    rubs = [np.linalg.norm(result[f"rub {k}"].force()[-1]) for k in range(4)]
    assert rubs == pytest.approx(mu * np.array(loads), rel=1e-9, abs=1e-9)
    # The values for pads of one kind, with and without a second tip.
    assert loads == pytest.approx([4.5548, 4.5548, 0, 0], abs=1e-3)
    assert result["box"].angular_velocity[-1, 1] == pytest.approx(0.2943, abs=1e-4)
