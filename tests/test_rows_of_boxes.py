"""Rows of boxes that slide on a floor while they stick to each other, against closed forms and balances."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from studies import study

import quirk
from quirk import GROUND, Body, Contact, Force, Friction, Motion, surface
from quirk.analysis.contact.friction_modes import FrictionMode
from quirk.dynamics.contact.contact_modes import FrictionElement
from quirk.dynamics.contact.coulomb import solve_coulomb
from quirk.dynamics.contact.loads_at_rest import loads_with_all_sticking
from quirk.dynamics.contact.painleve import has_one_solution
from quirk.simulation.hybrid.friction_after_event import creep_limit

G = 9.81
CORNERS = [(-1, -1), (-1, 1), (1, -1), (1, 1)]


def row(masses, side, floor, between, corners=CORNERS, *, gravity=G, **motion):
    """Boxes side by side along x, with friction on the floor and between each other; bodies, and all parts."""
    boxes = [
        Body.box(f"box {k}", mass, [side] * 3, position=[side * k, 0, side / 2], **motion)
        for k, mass in enumerate(masses)
    ]
    parts = [*boxes]
    for k, box in enumerate(boxes):
        for i, (x, y) in enumerate(CORNERS):
            foot = surface.point(side / 2 * np.array([x, y, -1]))
            contact = Contact(f"floor {k}{i}", GROUND, box, on_i=surface.plane(), on_j=foot)
            parts += [contact, Friction(f"rub {k}{i}", contact, floor)]
    for k, (one, two) in enumerate(pairwise(boxes)):
        for i, (y, z) in enumerate(corners):
            on, corner = surface.plane([side / 2, 0, 0], [1, 0, 0]), surface.point(side / 2 * np.array([-1, y, z]))
            contact = Contact(f"side {k}{i}", one, two, on_i=on, on_j=corner)
            parts += [contact, Friction(f"grip {k}{i}", contact, between)]
    return boxes, parts


def outside_cones(result):
    """The largest negative normal load, and the largest excess of friction, over the largest load (nt,)."""
    worst, largest = np.zeros(len(result.time)), np.zeros(len(result.time))
    for friction in [part for part in result.system.forces if isinstance(part, Friction)]:
        contact = friction.on
        normal = result[contact.name].force(frame="i") @ contact.frame_i.matrix[:, 2]
        rub = np.linalg.norm(result[friction.name].force(), axis=1)
        worst = np.maximum(worst, np.maximum(-normal, rub - friction.static * np.maximum(normal, 0)))
        largest = np.maximum(largest, np.maximum(np.abs(normal), rub))
    return worst / np.maximum(largest, np.finfo(float).tiny)


def at_events(result, within=1e-9):
    """Whether each output time (nt,) is that of an event, to `within` s."""
    return np.abs(result.time[:, None] - result.events.time).min(axis=1, initial=np.inf) < within


def missing_loads(result):
    """The largest force (nt,) on a box that neither contacts nor applied forces account for, N."""
    missing = 0.0
    for box in result.system.bodies:
        total = result[box.name].acceleration * box.mass - box.mass * result.system.gravity
        for part in result.system.constraints:
            for end, body in enumerate((part.body_i, part.body_j)):
                if body is box:
                    total = total - (1.0 if end else -1.0) * result[part.name].force()
        for force in result.system.forces:
            if isinstance(force, Friction):
                for end, body in enumerate(force.bodies):
                    if body is box:
                        total = total - result[force.name].force(end=end)
            elif force.bodies[0] is box:
                total = total - result[force.name].force()
        missing = np.maximum(missing, np.linalg.norm(total, axis=1))
    return missing


@pytest.mark.parametrize(("length", "mass"), study([(1.0, 1.0), (1e-3, 1e3), (1e3, 1e-3)], {(1e3, 1e-3)}))
def test_two_boxes_pushed_at_the_top_part_where_no_loads_hold_them(length, mass):
    """The rear box tips when the grip between the boxes, at its limit, and its front edge carry all loads.

    The boxes press on each other at the top with N, and the rear box is pulled up by the largest T = grip N. The floor
    pushes with m g - T at its front edge, and with m g + T under the front box. Then N = F/2 + floor T, as the boxes
    have equal accelerations, and the moments about the center of the rear box are, with the push F at the top,
    F = N + (1 - floor) (m g - T) + T.
    """
    side, floor, element, rate = 0.2 * length, 0.2, 0.3, 10.0 * mass * length
    g = G * length
    boxes, parts = row([mass, mass], side, floor, element, gravity=g)
    push = Force("push", boxes[0], [Motion.polynomial([0, rate]), 0, 0], point=[0, 0, side / 2])
    system = quirk.System([*parts, push], gravity=[0, 0, -g])
    normal = 0.5 / (1.0 - floor * element)
    tips = (1.0 - floor) * mass * g / (1.0 - normal - floor * element * normal)
    slides = 2 * floor * mass * g
    # The front box stays on the floor.
    assert normal * tips < (1.0 - floor) * mass * g + (2.0 - floor) * element * normal * tips
    result = quirk.simulate(system, (1 + 1e-6) * tips / rate, output=0.1, atol=1e-12 * length)
    np.testing.assert_allclose(result.events.time[:2], [slides / rate, tips / rate], rtol=1e-8)
    assert len(result.events) < 12, result.events
    held = (result.time > 1.001 * slides / rate) & (result.time < tips / rate)
    assert held.sum() > 10
    speed = (0.5 * (rate * result.time) ** 2 - 0.5 * slides**2) / (2 * mass * rate)
    speed -= floor * g * (result.time - slides / rate)
    for box in boxes:
        np.testing.assert_allclose(result[box.name].velocity[held, 0], speed[held], rtol=1e-7, atol=1e-10 * length)
    assert outside_cones(result)[held].max() < 1e-9
    assert missing_loads(result)[held].max() < 1e-9 * mass * g


def pushed(seed, length=1.0, mass=1.0):
    """A random row whose first box is pushed to and fro."""
    rng = np.random.default_rng(seed)
    count, side = int(rng.integers(2, 5)), length * rng.uniform(0.1, 0.4)
    masses = mass * (rng.uniform(0.5, 2, count) if rng.random() < 0.5 else np.ones(count))
    corners = CORNERS if rng.random() < 0.5 else [(-1, -1), (1, 1)]
    floor, between = rng.uniform(0.05, 0.6, 2)
    boxes, parts = row(masses, side, floor, between, corners)
    force = rng.uniform(1.0, 2.5) * floor * G * length * masses.sum()
    parts.append(Force("push", boxes[0], [Motion.sinusoid(force, rng.uniform(2, 6)), 0, 0]))
    print(count, side, masses, len(corners), floor, between, force)
    return quirk.System(parts, gravity=[0, 0, -G * length])


@pytest.mark.parametrize(("seed", "length", "mass"), study([(0, 1, 1), (3, 1, 1), (4, 1e3, 1e-3)], 1))
def test_pushed_rows_have_few_events_and_loads_inside_the_cones(seed, length, mass):
    result = quirk.simulate(pushed(seed, length, mass), 1.0, output=0.05, atol=1e-12 * length)
    assert len(result.events) < 30, result.events
    assert np.abs(result.power.balance).max() < 1e-8 * result.energy.kinetic.max()
    unsure = at_events(result)
    assert outside_cones(result)[~unsure].max() < 1e-8
    assert missing_loads(result)[~unsure].max() < 1e-8 * mass * G * length


@pytest.mark.parametrize(("sideways", "turn"), [(0.3, 1.5), (0.0, 2.0), (-0.2, 0.8)])
def test_a_row_that_turns_and_loses_the_load_of_a_corner_goes_on(sideways, turn):
    """The spring load of a sliding corner falls to zero while the boxes stick to each other."""
    side = 0.2
    boxes, parts = row([1.0, 1.5], side, 0.2, 0.4)
    push = Force("push", boxes[0], [Motion.polynomial([10, 40]), 0, 0], frame="body", point=[0, 0, 0.4 * side])
    system = quirk.System([*parts, push], gravity=[0, 0, -G])
    state = system.initial_state()
    state.velocity[:] = [[1.5, sideways + turn * side * k, 0] for k in range(2)]
    state.angular_velocity[:] = [0, 0, turn]
    result = quirk.simulate(system, 0.6, output=0.05, initial_state=state)
    assert len(result.events) < 10, result.events
    assert np.abs(result.power.balance).max() < 1e-9
    assert outside_cones(result).max() < 1e-9
    assert missing_loads(result).max() < 1e-8


def row_matrices(count, side, yaw, floor, between):
    """W and q of a row of boxes that slide and turn together on a floor, as seen in a contact problem."""
    gaps, slips, elements = [], [], []

    def touch(one, two, point, directions):
        for into, direction in zip((gaps, slips, slips), directions, strict=True):
            rates = np.zeros((count, 6))
            for k, sign in ((one, -1), (two, 1)):
                if k is not None:
                    rates[k] = sign * np.append(direction, np.cross(point - np.array([side * k, 0, 0]), direction))
            into.append(rates.ravel())

    x, y, z = np.eye(3)
    for k in range(count):
        for a, b in CORNERS:
            touch(None, k, side / 2 * np.array([2 * k + a, b, -1]), (z, x, y))
    for k in range(count - 1):
        for a, b in CORNERS:
            touch(k, k + 1, side / 2 * np.array([2 * k + 1, a, b]), (x, y, z))
    A, contacts = np.array(gaps + slips), len(gaps)
    velocity = np.concatenate([[1.0, yaw * side * k, 0, 0, 0, yaw] for k in range(count)])
    for c in range(contacts):
        rows, mu = [contacts + 2 * c, contacts + 2 * c + 1], floor if c < 4 * count else between
        elements.append(FrictionElement(rows, mu, mu, c))
        if c < 4 * count:
            slip = A[rows] @ velocity
            elements[-1].slip_direction = slip / np.linalg.norm(slip)
    acceleration = np.zeros((count, 6))
    acceleration[:, 2], acceleration[0, 0] = -G, 25.0
    inverse = np.tile([1.0, 1.0, 1.0, *[6 / side**2] * 3], count)
    return (A * inverse) @ A.T, A @ acceleration.ravel(), contacts, elements


@pytest.mark.parametrize("count", [2, 3])
def test_the_margin_of_a_row_is_continuous_where_slip_directions_become_parallel(count):
    margins = []
    for yaw in (0.0, 1e-12, 1e-9, 1e-6):
        W, q, contacts, elements = row_matrices(count, 0.2, yaw, 0.2, 0.5)
        found = loads_with_all_sticking(W, q, range(contacts), elements, np.ones(len(W)))
        assert found is not None
        margins.append(found[1])
    assert margins[0] > 0
    np.testing.assert_allclose(margins, margins[0], rtol=1e-5)


def edge_problem(floor, between, push, height, mass, length):
    """W, q, and friction of two boxes that slide along x: the rear one on its front edge, the other on four feet.

    They grip each other at the two upper corners above this edge. `push`, m/s^2, acts on the rear box at `height`.
    """
    count, feet = 2, (CORNERS[2:], CORNERS)
    side, gaps, slips, elements = 0.2 * length, [], [], []

    def touch(one, two, point, directions):
        for into, direction in zip((gaps, slips, slips), directions, strict=True):
            rates = np.zeros((count, 6))
            for k, sign in ((one, -1), (two, 1)):
                if k is not None:
                    rates[k] = sign * np.append(direction, np.cross(point - np.array([side * k, 0, 0]), direction))
            into.append(rates.ravel())

    x, y, z = np.eye(3)
    for k, corners in enumerate(feet):
        for a, b in corners:
            touch(None, k, side / 2 * np.array([2 * k + a, b, -1]), (z, x, y))
    on_floor = len(gaps)
    for k in range(count - 1):
        for b in (-1, 1):
            touch(k, k + 1, side / 2 * np.array([2 * k + 1, b, 1]), (x, y, z))
    A, contacts = np.array(gaps + slips), len(gaps)
    for c in range(contacts):
        mu = floor if c < on_floor else between
        moving = np.array([1.0, 0.0]) if c < on_floor else None
        elements.append(FrictionElement([contacts + 2 * c, contacts + 2 * c + 1], mu, mu, c, slip_direction=moving))
    acceleration = np.zeros((count, 6))
    acceleration[:, 2], acceleration[0, 0] = -G * length, push * length
    acceleration[0, 4] = push * length * height * 6 / side
    inverse = np.tile([1.0, 1.0, 1.0, *[6 / side**2] * 3], count) / mass
    return (A * inverse) @ A.T, A @ acceleration.ravel(), contacts, elements


@pytest.mark.parametrize("values", [(0.263, 0.594, 19.12, 0.289), (0.447, 0.421, 7.72, -0.386)])
@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (1e-3, 1e3), (1e3, 1e-3)])
def test_boxes_on_an_edge_below_their_grip_have_one_solution(values, length, mass):
    """Other contacts could be loaded only if friction sticks outside its cone, or does not stick."""
    W, q, contacts, elements = edge_problem(*values, mass, length)
    found = solve_coulomb(W, q, range(contacts), elements, 1e-12 * length)
    assert found is not None and found.active[:contacts].all()
    np.testing.assert_allclose(W[found.active] @ found.z + q[found.active], 0.0, atol=1e-10 * G * length)
    assert has_one_solution(W, q, range(contacts), elements, found, np.ones(len(W)))


@pytest.mark.parametrize("tips", [1, 2, 3])
@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (1e-3, 1e3)])
def test_a_rod_on_dependent_tips_has_two_solutions_beyond_painleves_limit(tips, length, mass):
    """A leaning rod is dragged on tips side by side, while it rises: it may part from the floor, or jam."""
    lean = 1.1
    s, c = np.sin(lean), np.cos(lean)
    most = (1 + 3 * c * c) / (3 * s * c)
    points = [np.array([-c / 2, 0.2 * y, -s / 2]) * length for y in np.linspace(-1, 1, tips + 2)[1:-1]]
    A = np.array([[*d, *np.cross(p, d)] for axes in ((2,), (0, 1)) for p in points for d in np.eye(3)[list(axes)]])
    inverse = np.array([1.0, 1.0, 1.0, *[12 / length**2] * 3]) / mass
    W, q = (A * inverse) @ A.T, A @ np.array([0.0, 0.0, length, 0.0, 0.0, 0.0])
    for mu, unique in ((0.99 * most, True), (1.01 * most, False)):
        elements = [
            FrictionElement([tips + 2 * k, tips + 2 * k + 1], mu, mu, k, slip_direction=np.array([-1.0, 0.0]))
            for k in range(tips)
        ]
        found = solve_coulomb(W, q, range(tips), elements, 1e-12 * length)
        assert found is not None
        assert has_one_solution(W, q, range(tips), elements, found, np.ones(len(W))) == unique


def at_the_limit():
    """Two boxes that grip at two corners of a diagonal, pushed until they slide, and turn a little as they begin to."""
    boxes, parts = row([1.6, 1.7], 0.2, 0.1884, 0.1929, [(-1, -1), (1, 1)])
    push = Force("push", boxes[0], [Motion.polynomial([0, 50.0]), 0, 0], point=[0, 0, 0.06])
    return quirk.simulate(quirk.System([*parts, push], gravity=[0, 0, -G]), 0.2, output=0.01)


def test_loads_at_the_limit_of_sticking_are_inside_the_cones():
    """One distribution of the load is left, which has the largest margin."""
    result = at_the_limit()
    end = len(result.segments[0].time)
    assert result.time[end - 1] == result.events.time[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quirk.ContactLoadWarning)
        assert outside_cones(result)[:end].max() < 1e-8


@pytest.mark.parametrize("ulps", study(range(0, 80, 8), {0, 40}))
def test_loads_at_the_limit_of_sticking_do_not_depend_on_round_off(ulps):
    """The margin is that of the loads that are found, also where round-off ends the search for the largest one early."""
    result = at_the_limit()
    first = result.segments[0]
    first.instants = first.time - ulps * np.spacing(first.time)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quirk.ContactLoadWarning)
        assert outside_cones(result)[: len(first.time)].max() < 1e-8


def test_loads_outside_the_cones_are_warned_of():
    """Slip begins in directions that differ, so that other loads would change the acceleration of the slip.

    Grips begin to slide at the same instant, because no loads that keep this acceleration are inside the cones.
    """
    result = at_the_limit()
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        outside = outside_cones(result)
    assert outside.max() > 1e-3
    assert outside[~at_events(result)].max() < 1e-8
    told = [warning for warning in given if warning.category is quirk.ContactLoadWarning]
    start = result.events.time[0]
    assert told and f"from t = {start:.9g} to" in str(told[0].message), [str(warning.message) for warning in given]
    assert result.events.name == ["rub 00", "grip 00"]
    np.testing.assert_allclose(result.events.time, start, rtol=1e-9)
    assert missing_loads(result).max() < 1e-8 * G
    assert np.abs(result.power.balance).max() < 1e-9 * result.energy.kinetic.max()


def on_a_belt(seed, *, mirrored=False, grips=True):
    """A random row with a coefficient of friction for each box, on a belt whose acceleration grows from rest."""
    rng = np.random.default_rng(seed)
    count, side, sign = int(rng.integers(2, 4)), rng.uniform(0.1, 0.4), -1 if mirrored else 1
    masses, floor, between = rng.uniform(0.5, 2, count), rng.uniform(0.1, 0.6, count), rng.uniform(0.05, 0.6, count)
    belt = Body.box("belt", 1.0, [1, 1, 0.1])
    pull = Force("pull", belt, [Motion.polynomial([0, sign * 40.0 * masses.sum()]), 0, 0])
    boxes = [Body.box(f"box {k}", m, [side] * 3, position=[sign * side * k, 0, side / 2]) for k, m in enumerate(masses)]
    parts = [belt, quirk.Prismatic("track", GROUND, belt, axis="x"), pull, *boxes]
    for k, box in enumerate(boxes):
        for i, (x, y) in enumerate(CORNERS):
            foot = surface.point(side / 2 * np.array([sign * x, y, -1]))
            contact = Contact(f"floor {k}{i}", belt, box, on_i=surface.plane(), on_j=foot)
            parts += [contact, Friction(f"rub {k}{i}", contact, floor[k])]
    for k, (one, two) in enumerate(pairwise(boxes)):
        for i, (y, z) in enumerate([(-1, -1), (1, 1)]):
            on = surface.plane([sign * side / 2, 0, 0], [sign, 0, 0])
            corner = surface.point(side / 2 * np.array([-sign, y, z]))
            contact = Contact(f"side {k}{i}", one, two, on_i=on, on_j=corner)
            parts += [contact, *([Friction(f"grip {k}{i}", contact, between[k])] if grips else [])]
    return quirk.System(parts, gravity=[0, 0, -G]), masses, floor


def moved_on_a_belt(masses, floor, end):
    """Distances by which boxes without grip have moved, m, at a time `end` at which all slide on the belt.

    Sliding boxes that push each other have a common acceleration. Each box has that of the belt up to the largest that
    its friction allows: the weighted isotonic regression of the coefficients, times g, because boxes do not overlap.
    """
    mean, count = np.full((len(masses), len(masses)), np.nan), len(masses)
    for i in range(count):
        mean[i, i:] = np.cumsum((floor * masses)[i:]) / np.cumsum(masses[i:])
    most = G * np.array([max(mean[i, k:].min() for i in range(k + 1)) for k in range(count)])
    # The pull at which the belt reaches the acceleration at which further boxes slide.
    levels = np.append(0.0, np.unique(most))
    times = (levels + np.minimum(most, levels[:, None]) @ masses) / (40.0 * masses.sum())
    assert times[-1] < end
    h = np.diff(np.append(times, end))[:, None]
    a = np.minimum(most, np.append(levels, levels[-1])[:, None])
    v = np.concatenate([np.zeros((1, count)), np.cumsum(h * (a[1:] + a[:-1]) / 2, axis=0)])
    return (h * v[:-1] + h**2 * (2 * a[:-1] + a[1:]) / 6).sum(axis=0)


@pytest.mark.parametrize("seed", study(range(8), {1, 2}))
def test_boxes_that_only_push_each_other_move_on_a_belt_as_by_isotonic_regression(seed):
    system, masses, floor = on_a_belt(seed, grips=False)
    result = quirk.simulate(system, 0.4, output=0.1)
    moved = [result[body.name].position[-1, 0] - result[body.name].position[0, 0] for body in system.bodies[1:]]
    np.testing.assert_allclose(moved, moved_on_a_belt(masses, floor, 0.4), rtol=1e-7)


@pytest.mark.parametrize("seed", study(range(8), {1, 2}))
def test_boxes_with_different_friction_break_away_from_a_belt_in_few_events(seed):
    results = []
    for mirrored in (False, True):
        system, _, _ = on_a_belt(seed, mirrored=mirrored)
        result = quirk.simulate(system, 0.4, output=0.01)
        assert len(result.events) < 30, result.events
        assert np.abs(result.power.balance).max() < 1e-8 * result.energy.kinetic.max()
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            outside, missing = outside_cones(result), missing_loads(result)
        # While the slip is below 1e-6 m/s, loads inside the cones are not always found; this is warned of.
        assert outside[~at_events(result, within=1e-6)].max() < 1e-8
        warned = any(warning.category is quirk.ContactLoadWarning for warning in given)
        assert warned or outside.max() < 1e-8
        assert missing[~at_events(result)].max() < 1e-8 * G
        results.append(np.array([result[box.name].position[-1] for box in system.bodies]))
    np.testing.assert_allclose(results[0], results[1] * [-1, 1, 1], atol=1e-8)


@pytest.mark.slow
def test_friction_at_its_limit_keeps_its_force_while_other_contacts_slide():
    """The rear box lifts its rear corners several times; loads at events and between them follow one law."""
    boxes, parts = row([1.0, 1.3], 0.2, 0.3, 0.2, [(-1, -1), (1, 1)])
    push = Force("push", boxes[0], [Motion.polynomial([0, 60.0]), 0, 0], point=[0, 0, 0.09])
    result = quirk.simulate(quirk.System([*parts, push], gravity=[0, 0, -G]), 0.2, output=0.01)
    assert len(result.events) < 40, result.events
    assert np.abs(result.power.balance).max() < 1e-9 * result.energy.kinetic.max()


@pytest.mark.slow
def test_edges_slide_that_stick_in_one_position_only():
    """Three boxes tip, each on its front edge: their faces stay on each other, so that edges part at second order."""
    side, floor = 0.2, 0.83
    boxes, parts = row([1.5, 1.0, 0.5], side, floor, 0.137)
    push = Force("push", boxes[0], [Motion.sinusoid(33.0, 2.86), 0, 0], point=[0, 0, 0.35 * side])
    result = quirk.simulate(quirk.System([*parts, push], gravity=[0, 0, -G]), 0.3, output=0.002)
    tips = result.events.time[0]
    opened = {event.name for event in result.events if event.time == tips}
    # Faces slide on each other from there on, which is an event of the first friction of these contacts.
    assert opened == {"grip 00", *(f"floor {box}{point}" for box in range(3) for point in range(2))}
    assert len(np.unique(result.events.time)) < 4, result.events
    assert np.abs(result.power.balance).max() < 1e-8 * result.energy.kinetic.max()
    assert outside_cones(result).max() < 1e-8
    for name in ("rub 12", "rub 13", "rub 22", "rub 23"):
        contact, slip = result.system[name].on, result[name].slip
        speed, normal = np.linalg.norm(slip, axis=1), result[contact.name].force(frame="i")[:, 2]
        slides = speed > 1e-6
        assert slides.sum() > 15 and result.time[slides][0] < tips + 0.02, name
        drag = -floor * (normal / np.maximum(speed, 1e-12))[slides, None] * slip[slides]
        np.testing.assert_allclose(result[name].force()[slides, :2], drag, atol=1e-9, err_msg=name)


def test_a_box_that_tips_about_two_gripping_corners_slides_in_few_events():
    """The two corners are held at first order only: friction that begins to slide goes on with the motion."""
    boxes, parts = row([1.0, 1.3], 0.2, 0.3, 0.2, [(-1, -1), (1, 1)])
    push = Force("push", boxes[0], [Motion.polynomial([0, 60.0]), 0, 0], point=[0, 0, 0.09])
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*may slip without friction")
        result = quirk.simulate(quirk.System([*parts, push], gravity=[0, 0, -G]), 0.137, output=0.05)
    slides, tips = result.events.time[0], result.events.time[-1]
    # Two corners open, which tips the box.
    assert result.events.name == ["rub 00", "grip 00", "floor 00", "floor 01", "grip 00"]
    np.testing.assert_allclose(result.events.time, [slides, slides, tips, tips, tips], rtol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quirk.ContactLoadWarning)
        assert outside_cones(result)[~at_events(result)].max() < 1e-8
    assert np.abs(result.power.balance).max() < 1e-9 * result.energy.kinetic.max()


def test_slip_that_friction_stops_at_once_is_warned_of():
    """Redundant friction that slid for a moment only may slip without friction from then on; otherwise it may slide."""
    block = Body.box("block", 1.0, [0.1, 0.1, 0.1])
    rail = quirk.Prismatic("rail", GROUND, block, axis="x")
    friction, limit, shortest = quirk.Friction("rub", rail, 0.3), 1e-9, 1e-3
    sticking = FrictionMode((), creep=limit)
    sliding = FrictionMode(None, creep=limit, slides_since=1.0)
    assert creep_limit(friction, None, limit, 1.0, shortest) == limit
    assert creep_limit(friction, sticking, limit, 1.0, shortest) == limit
    assert creep_limit(friction, sliding, limit, 1.002, shortest) == limit
    with pytest.warns(quirk.ContactLoadWarning, match=r'Friction "rub": from t = 1.0005 s on it may slip without'):
        assert creep_limit(friction, sliding, limit, 1.0005, shortest) == 0.0
