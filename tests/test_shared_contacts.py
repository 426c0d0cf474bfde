"""Bodies that rest and slide on more contacts than determine their loads, against closed forms and their own solution."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from studies import study

import quirk
from quirk import GROUND, Body, Contact, Force, Friction, Motion, surface
from quirk.dynamics.contact.contact_modes import FrictionElement
from quirk.dynamics.contact.coulomb import solve_coulomb
from quirk.dynamics.contact.friction_cones import is_inside_cones, least_norm_loads
from quirk.dynamics.contact.largest_margin import loads_of_largest_margin
from quirk.dynamics.contact.loads_at_rest import loads_with_all_sticking

G = 9.81


def feet(count, rng=None):
    """Feet on a circle, or about as far away, none of them in one line."""
    angles = 2 * np.pi * (np.arange(count) + 0.3) / count
    radius = np.ones(count) if rng is None else rng.uniform(0.7, 1.3, count)
    return np.stack([radius * np.cos(angles), radius * np.sin(angles)], axis=1)


def on_feet(name, on, height, points, mu, *, half, top=0.0, static=None, **motion):
    """A body of 2 kg on feet below it, on a plane of another body, with its contacts and their friction."""
    body = Body(name, 2.0, [0.6, 0.7, 0.9], position=[0, 0, height + half], **motion)
    parts = [body]
    for k, (x, y) in enumerate(points):
        contact = Contact(f"{name} c{k}", on, body, on_i=surface.plane([0, 0, top]), on_j=surface.point([x, y, -half]))
        parts += [contact, Friction(f"{name} f{k}", contact, mu, static=static)]
    return parts


def exerted(result, name, count):
    """Normal loads (count, nt), magnitudes of friction, and whether each sticks, of a body on feet."""
    normal = np.array([result[f"{name} c{k}"].force()[:, 2] for k in range(count)])
    tangential = np.array([np.linalg.norm(result[f"{name} f{k}"].force()[:, :2], axis=1) for k in range(count)])
    return normal, tangential, np.array([result[f"{name} f{k}"].sticking for k in range(count)])


@pytest.mark.parametrize("count", [3, 4, 5, 8])
def test_loads_at_rest_are_those_of_least_norm_inside_the_cones(count):
    points, mu, pull = feet(count, np.random.default_rng(count)), 0.3, np.array([1.0, 0.5, 0.0])
    parts = on_feet("box", GROUND, 0.0, points, mu, half=0.1)
    result = quirk.simulate(quirk.System([*parts, Force("pull", parts[0], pull)], gravity=[0, 0, -G]), 1.0, output=0.5)
    assert len(result.events) == 0
    assert result.statistics.steps < 200
    assert abs(result["box"].velocity[-1]).max() < 1e-14
    normal, tangential, sticking = exerted(result, "box", count)
    assert sticking.all()
    assert (tangential <= mu * normal + 1e-9).all()
    # As of equal springs: affine in the place of a foot, with the total and the moments of weight and pull.
    B = np.column_stack([np.ones(count), points])
    moments = [2.0 * G, 0.1 * pull[0], 0.1 * pull[1]]
    np.testing.assert_allclose(normal[:, -1], B @ np.linalg.solve(B.T @ B, moments), rtol=1e-10)
    total = sum(result[f"box f{k}"].force()[-1] for k in range(count))
    np.testing.assert_allclose(total, -pull, atol=1e-10)


@pytest.mark.parametrize(("count", "static", "seed"), [(3, None, 0), (4, 0.35, 1), (6, None, 2)])
def test_a_push_that_grows_begins_to_slide_once(count, static, seed):
    """The push acts where friction does not turn the body: in the direction in which the center of mass is pushed."""
    rng = np.random.default_rng(seed)
    mu, rate, turn = rng.uniform(0.15, 0.3), rng.uniform(5, 15), rng.uniform(0, 2 * np.pi)
    points, way = feet(count), np.array([np.cos(turn), np.sin(turn), 0.0])
    parts = on_feet("box", GROUND, 0.0, points, mu, half=0.1, static=static)
    push = Force("push", parts[0], [Motion.polynomial([0, rate * x]) for x in way], point=[0, 0, -0.1])
    result = quirk.simulate(quirk.System([*parts, push], gravity=[0, 0, -G]), 1.5, output=0.5)
    start = (mu if static is None else static) * 2.0 * G / rate
    assert len(result.events) == 1, result.events
    assert result.events[0].time == pytest.approx(start, rel=1e-9)
    assert result.events[0].direction == 1
    speed = (0.5 * rate * (1.5**2 - start**2) - mu * 2.0 * G * (1.5 - start)) / 2.0
    np.testing.assert_allclose(result["box"].velocity[-1], speed * way, atol=1e-9)
    assert abs(result["box"].angular_velocity[-1]).max() < 1e-9
    assert result.statistics.steps < 200
    assert abs(result.power.balance).max() < 1e-9


def turning(points, half, mu, pull, at, inertia, y0, duration):
    """The motion (x, y, angle, and rates) of a body that slides and turns on feet, from loads affine in their places."""

    def rates(t, y):
        c, s = np.cos(y[2]), np.sin(y[2])
        r = points @ np.array([[c, s], [-s, c]])
        slip = y[3:5] + y[5] * np.stack([-r[:, 1], r[:, 0]], axis=1)
        e = slip / np.linalg.norm(slip, axis=1)[:, None]
        B = np.column_stack([np.ones(len(r)), r])
        force = np.array(pull(t))
        # Loads B p: their sum carries the weight; moments of loads and of friction below the center of mass vanish.
        moment_x = (B * r[:, 1:] - half * mu * B * e[:, 1:]).sum(axis=0)
        moment_y = (-B * r[:, :1] + half * mu * B * e[:, :1]).sum(axis=0)
        p = np.linalg.solve([B.sum(axis=0), moment_x, moment_y], [2.0 * G, 0.0, 0.0])
        drag = -mu * (B @ p)[:, None] * e
        torque = (r[:, 0] * drag[:, 1] - r[:, 1] * drag[:, 0]).sum()
        arm = np.array([c * at[0] - s * at[1], s * at[0] + c * at[1]])
        torque += arm[0] * force[1] - arm[1] * force[0]
        return [*y[3:], *((drag.sum(axis=0) + force) / 2.0), torque / inertia]

    found = solve_ivp(rates, [0, duration], y0, rtol=1e-12, atol=1e-13, method="DOP853")
    return found.y[:, -1]


@pytest.mark.parametrize(("count", "seed"), [(4, 0), (5, 1), (3, 2)])
def test_a_body_that_slides_and_turns(count, seed):
    rng = np.random.default_rng(seed)
    points, mu, half = feet(count, rng), rng.uniform(0.1, 0.4), 0.1
    v, w = rng.uniform(1.5, 2.5, 2), rng.uniform(-2, 2)
    parts = on_feet("box", GROUND, 0.0, points, mu, half=half, velocity=[*v, 0], angular_velocity=[0, 0, w])
    result = quirk.simulate(quirk.System(parts, gravity=[0, 0, -G]), 0.4, output=0.1)
    expected = turning(points, half, mu, lambda t: (0.0, 0.0), (0, 0), 0.9, [0, 0, 0, *v, w], 0.4)
    np.testing.assert_allclose(result["box"].velocity[-1, :2], expected[3:5], atol=1e-8)
    np.testing.assert_allclose(result["box"].angular_velocity[-1, 2], expected[5], atol=1e-8)
    assert len(result.events) == 0
    assert result.statistics.steps < 200


@pytest.mark.parametrize("acceleration", [1.0, 3.0])
def test_a_box_on_a_belt_that_gets_faster(acceleration):
    belt = Body("belt", 5.0, [1, 1, 1])
    path = quirk.Prismatic("path", GROUND, belt, point=[0, 0, 0], axis=[1, 0, 0])
    drive = quirk.Drive("drive", path, Motion.polynomial([0, 0, 0, acceleration / 6]))
    parts = on_feet("box", belt, 0.0, feet(4), 0.2, half=0.1)
    result = quirk.simulate(quirk.System([belt, path, drive, *parts], gravity=[0, 0, -G]), 1.0, output=0.25)
    slips = 0.2 * G / acceleration
    if slips > 1.0:
        assert len(result.events) == 0
        np.testing.assert_allclose(result["box"].velocity[-1], result["belt"].velocity[-1], atol=1e-12)
    else:
        assert len(result.events) == 1, result.events
        assert result.events[0].time == pytest.approx(slips, rel=1e-9)
        speed = 0.5 * acceleration * slips**2 + 0.2 * G * (1.0 - slips)
        np.testing.assert_allclose(result["box"].velocity[-1], [speed, 0, 0], atol=1e-9)
    assert result.statistics.steps < 200


def test_a_stack_of_which_the_lowest_is_pushed():
    """The lowest body slides on the floor, those on it are carried along until its acceleration is too large."""
    mu, on_top, rate = 0.1, 0.3, 30.0
    parts = on_feet("lower", GROUND, 0.0, feet(4), mu, half=0.1)
    parts += on_feet("upper", parts[0], 0.2, 0.8 * feet(4), on_top, half=0.1, top=0.1)
    push = Force("push", parts[0], [Motion.polynomial([0, rate]), 0, 0])
    result = quirk.simulate(quirk.System([*parts, push], gravity=[0, 0, -G]), 1.0, output=0.25)
    weight = 4.0 * G
    first = mu * weight / rate
    second = 4.0 * (on_top + mu) * G / rate
    assert len(result.events) == 2, result.events
    np.testing.assert_allclose(result.events.time, [first, second], rtol=1e-8)
    joint = (0.5 * rate * (second**2 - first**2) - mu * weight * (second - first)) / 4.0
    upper = joint + on_top * G * (1.0 - second)
    lower = joint + (0.5 * rate * (1 - second**2) - (mu * weight + on_top * 2.0 * G) * (1 - second)) / 2.0
    found = result["lower"].velocity[-1, 0], result["upper"].velocity[-1, 0]
    np.testing.assert_allclose(found, [lower, upper], atol=1e-8)
    assert result.statistics.steps < 300


def test_ways_to_share_a_load_agree_on_whether_there_is_one():
    """Loads of least norm are found just where loads have a margin inside their cones."""
    rng = np.random.default_rng(3)
    for case in range(60):
        count = int(rng.integers(2, 7))
        normals = rng.normal(size=(3 * count, 6))
        V = np.linalg.qr(normals)[0][:, : min(6, 3 * count - 1)]
        z = rng.normal(size=(count, 3))
        z[:, 0] = np.abs(z[:, 0]) + rng.uniform(0, 3)
        coefficients = rng.uniform(0.1, 1.0, count)
        c = V.T @ z.ravel()
        ways = np.linalg.svd(V, full_matrices=True)[0][:, V.shape[1] :]
        shared, far = loads_of_largest_margin(V @ c, ways, 1 / coefficients)
        found = least_norm_loads(V, c, coefficients)
        np.testing.assert_allclose(V.T @ shared, c, atol=1e-9, err_msg=f"case {case}")
        if abs(far) < 1e-3:
            continue
        assert (found is not None) == (far > 0), f"case {case}: margin {far}"
        if found is not None:
            grown = coefficients * (1 + 1e-9) + 1e-9
            assert is_inside_cones(found + np.tile([1e-9, 0, 0], count), grown), f"case {case}"
            assert found @ found <= shared @ shared * (1 + 1e-9), f"case {case}"


def rows_of_a_stack(mass):
    """Rates of gaps and slips of stacked boxes on four corners each, per velocity of the boxes, and inverse masses."""
    count, corners = len(mass), [(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)]
    gaps, slips = [], []
    for n in range(count):
        for x, y in corners:
            for direction in ([0, 0, 1], [1, 0, 0], [0, 1, 0]):
                row = np.zeros((count, 6))
                row[n] = [*direction, *np.cross([x, y, -0.1], direction)]
                if n > 0:
                    row[n - 1] = [*(-x for x in direction), *(-np.cross([x, y, 0.1], direction))]
                (gaps if direction[2] else slips).append(row.ravel())
    inverse = [np.concatenate([np.ones(3), 12 / np.array([1.04, 1.04, 2.0])]) / m for m in mass]
    return np.array(gaps + slips), np.concatenate(inverse)


def test_impulses_in_stacks_of_unequal_boxes_are_numbers():
    """A falling box strikes a stack; masses change by a factor of 10 to 100 from box to box."""
    for seed in range(120):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, 5))
        mass = 10 ** (rng.choice([-1, 1]) * rng.uniform(1, 2) * np.arange(count))
        A, inverse = rows_of_a_stack(mass)
        W, velocity = (A * inverse) @ A.T, np.zeros(6 * count)
        velocity[-4], velocity[-2] = -rng.uniform(0, 1), rng.choice([0.0, 0.01]) * rng.normal()
        elements = [FrictionElement([4 * count + 2 * c, 4 * count + 2 * c + 1], 0.5, 0.5, c) for c in range(4 * count)]
        found = loads_with_all_sticking(W, A @ velocity, range(4 * count), elements, np.ones(len(W)))
        assert found is not None, seed
        z, far = found
        missed = (W @ z + A @ velocity) / np.sqrt(np.diag(W))
        np.testing.assert_allclose(missed, 0.0, atol=1e-9, err_msg=f"seed {seed}")
        assert np.isfinite(far), seed


@pytest.mark.parametrize(("angle", "speed", "spin"), [(0.75, -20.0, -1.0), (0.8, -4.0, -1.0), (0.8, -20.0, 3.0)])
def test_a_rod_that_turns_into_a_paradox_names_its_friction(angle, speed, spin):
    """It slides on its tip with a coefficient of 1.6, and rises to where friction outgrows its load."""
    place = [np.cos(angle) / 2, 0, np.sin(angle) / 2]
    motion = {"velocity": np.cross([0, spin, 0], place) + np.array([speed, 0, 0]), "angular_velocity": [0, spin, 0]}
    rod = Body("rod", 1.0, [1 / 12, 1 / 12, 1e-2], position=place, **motion)
    tip = Contact("tip", GROUND, rod, on_i=surface.plane(), on_j=surface.point(rod.local(np.zeros(3))))
    system = quirk.System([rod, tip, Friction("rough", tip, 1.6)], gravity=[0, 0, -G])
    with pytest.raises(quirk.SimulationError, match=r'Friction "rough".*Painleve'):
        quirk.simulate(system, 1.0, output=0.5)


def test_loads_that_contacts_share_have_no_derivatives():
    """Which of the ways to share a load is shown does not follow from the motion."""
    parts = on_feet("box", GROUND, 0.0, feet(4), 0.3, half=0.1)
    system = quirk.System(parts, gravity=[0, 0, -G])
    changes = quirk.simulate(system, 0.1, output=0.1, sensitivities=[("box", "mass")]).sensitivity["box", "mass"]
    for name in ("box c0", "box f3"):
        with pytest.raises(quirk.InputError, match=f'"{name}.*" has no derivative, since .* shares its load'):
            changes[name].force()
    parts = [part for part in on_feet("box", GROUND, 0.0, feet(3), 0.3, half=0.1) if not isinstance(part, Friction)]
    three = quirk.System(parts, gravity=[0, 0, -G])
    changes = quirk.simulate(three, 0.1, output=0.1, sensitivities=[("box", "mass")]).sensitivity["box", "mass"]
    np.testing.assert_allclose(changes["box c0"].force()[:, 2], G / 3, rtol=1e-9)


def test_events_at_loads_that_contacts_share_are_refused():
    parts = on_feet("box", GROUND, 0.0, feet(4), 0.3, half=0.1)
    lift = Force("lift", parts[0], [0, 0, "10*t"])
    for watched in ("box c0.force", "box f2.force"):
        system = quirk.System([*parts, lift, quirk.Event("light", watched, level=1.0)], gravity=[0, 0, -G])
        with pytest.raises(quirk.InputError, match=r'"light": .* shares its load with other contacts'):
            quirk.simulate(system, 1.0)
    three = [part for part in on_feet("box", GROUND, 0.0, feet(3), 0.3, half=0.1) if not isinstance(part, Friction)]
    lift = Force("lift", three[0], [0, 0, "10*t"])
    system = quirk.System([*three, lift, quirk.Event("light", "box c0.force", level=1.0)], gravity=[0, 0, -G])
    assert quirk.simulate(system, 1.8).events[0].time == pytest.approx((2.0 * G - 3.0) / 10.0)


def test_a_box_that_slides_and_turns_on_a_stack_is_carried_as_by_springs():
    """Of four corners the loads of both diagonals are equal, while the boxes below rest; masses are random."""
    for seed in range(25):
        rng = np.random.default_rng(seed)
        count = int(rng.integers(2, 6))
        A, inverse = rows_of_a_stack(10 ** rng.uniform(-1.5, 1.5, count).cumsum())
        acceleration = np.zeros(6 * count)
        acceleration[2::6] = -9.81
        turn, slide = rng.choice([-1, 1]) * rng.uniform(0.2, 2.0), rng.uniform(-1, 1, 2)
        rows = [[4 * count + 2 * c, 4 * count + 2 * c + 1] for c in range(4 * count)]
        elements = [FrictionElement(pair, 0.3, 0.3, c) for c, pair in enumerate(rows)]
        velocity = np.zeros(6 * count)
        velocity[-6:] = *slide, 0.0, 0.0, 0.0, turn
        for element in elements[-4:]:
            slip = A[element.rows] @ velocity
            element.slip_direction = slip / np.linalg.norm(slip)
        W, q = (A * inverse) @ A.T, A @ acceleration
        found = solve_coulomb(W, q, range(4 * count), elements)
        assert found is not None, seed
        missed = (found.w / np.sqrt(np.diag(W)))[found.active]
        np.testing.assert_allclose(missed, 0.0, atol=1e-7 * np.abs(found.z).max(), err_msg=f"seed {seed}")
        loads = found.z[4 * count - 4 : 4 * count]
        _, _, ways = np.linalg.svd(A[4 * count - 4 : 4 * count].T)
        if (loads > 1e-6 * loads.max()).all():
            assert abs(ways[-1] @ loads) <= 1e-5 * loads.max(), (seed, loads)


def stack(rng, length=1.0, mass=1.0):
    """A stack of two to five boxes on four points each, with random masses, sizes, friction and forces."""
    count, size, above, parts, below = int(rng.integers(2, 6)), mass, 0.0, [], (GROUND, 0.0)
    mu = rng.uniform(0.2, 0.8)
    for k in range(count):
        size *= 10 ** rng.uniform(-1.5, 1.5) if k else 1.0
        height, width = length * rng.uniform(0.2, 0.5), length * rng.uniform(0.5, 1)
        box = Body.box(f"box {k}", size, [width, width, height], position=[0, 0, above + height / 2])
        parts.append(box)
        plane = surface.plane([0, 0, below[1] / 2])
        for i, (x, y) in enumerate([(-1, -1), (-1, 1), (1, -1), (1, 1)]):
            foot = surface.point([x * length / 4, y * length / 4, -height / 2])
            contact = Contact(f"contact {k}{i}", below[0], box, on_i=plane, on_j=foot)
            parts += [contact, Friction(f"friction {k}{i}", contact, mu)]
        below, above = (box, height), above + height
    for box in [part for part in parts if isinstance(part, Body)]:
        if rng.random() < 0.7:
            push = np.append(rng.normal(size=2), 0) * box.mass * G * length * rng.uniform(0, 0.8)
            parts.append(Force(f"push {box.name}", box, push, point=[0, 0, length * rng.uniform(-0.1, 0.1)]))
    return quirk.System(parts, gravity=[0, 0, -G * length])


@pytest.mark.parametrize(
    ("seed", "length", "mass"),
    study([(2, 1, 1), (9, 1, 1), (22, 1, 1), (24, 1, 1), (24, 1e3, 1e3)], {(2, 1, 1), (24, 1e3, 1e3)}),
)
def test_stacks_that_slide_and_tip_have_few_events(seed, length, mass):
    """A box that tips over an edge leaves its other points at once, instead of alternating between two modes."""
    result = quirk.simulate(stack(np.random.default_rng(seed), length, mass), 0.5, output=0.1)
    assert 0 < len(result.events) < 20
    assert np.abs(result.power.balance).max() < 1e-8 * np.abs(result.energy.total).max()


@pytest.mark.parametrize("scale", study([1e-9, 1.0, 1e9], 1))
def test_loads_of_least_norm_inside_the_cones_are_found_wherever_there_are_any(scale):
    rng = np.random.default_rng(5)
    for case in range(1000):
        count = int(rng.integers(2, 9))
        coefficients = rng.uniform(0.05, 1.0, count) * (rng.random(count) > 0.1)
        normal = rng.uniform(0.0, 1.0, count) * (rng.random(count) > 0.3)
        across = rng.normal(size=(count, 2))
        across *= (coefficients * normal * rng.uniform(0, 0.999, count) / np.linalg.norm(across, axis=1))[:, None]
        loads = scale * np.column_stack([normal, across]).ravel()
        V = np.linalg.qr(rng.normal(size=(3 * count, int(rng.integers(2, 7)))))[0]
        found = least_norm_loads(V, V.T @ loads, coefficients)
        assert found is not None, case
        assert np.linalg.norm(V.T @ (found - loads)) <= 1e-11 * np.linalg.norm(V.T @ loads), case
        assert np.linalg.norm(found) <= np.linalg.norm(loads) * (1 + 1e-9), case
        normal, across = found.reshape(-1, 3)[:, 0], np.linalg.norm(found.reshape(-1, 3)[:, 1:], axis=1)
        assert (across - coefficients * normal <= 1e-11 * np.linalg.norm(loads)).all(), case


@pytest.mark.parametrize("seed", study(range(6), {2, 3}))
def test_a_ball_in_a_groove_that_is_shaken_is_held_within_the_cones(seed):
    """Two contacts with friction share a load: at all times both push, and no friction exceeds its limit."""
    rng = np.random.default_rng(seed)
    tilts, mu, radius = rng.uniform(0.3, 1.2, 2), rng.uniform(0.05, 0.6), 0.1
    frequency, mass = rng.uniform(2.0, 6.0), rng.uniform(0.5, 3.0)
    amplitude = rng.uniform(0.2, 0.6) * G / frequency**2
    print(tilts, mu, frequency, mass, amplitude)
    cart = Body.box("cart", 5.0, [1.0, 1.0, 0.1])
    rail = quirk.Prismatic("rail", GROUND, cart, point=[0, 0, 0], axis="x")
    drive = quirk.Drive("drive", rail, Motion.sinusoid(amplitude, frequency, phase=np.pi / 2, offset=-amplitude))
    normals = np.array([[side * np.sin(a), 0, np.cos(a)] for side, a in zip((1, -1), tilts, strict=True)])
    x, z = np.linalg.solve(normals[:, [0, 2]], [radius, radius])
    ball = Body.sphere("ball", mass, radius, position=[x, 0, z])
    parts = [cart, ball, rail, drive]
    for k, normal in enumerate(normals):
        on = surface.plane([0, 0, 0], normal)
        contact = Contact(f"contact {k}", cart, ball, on_i=on, on_j=surface.sphere(radius))
        parts += [contact, Friction(f"friction {k}", contact, mu)]
    system = quirk.System(parts, gravity=[0, 0, -G])
    result = quirk.simulate(system, 3.0, output=0.01, initial_state=system.assemble(), rtol=1e-9)
    total = np.zeros((len(result.time), 3))
    for k, normal in enumerate(normals):
        push, rub = result[f"contact {k}"].force(), result[f"friction {k}"].force()
        assert (push @ normal >= -1e-9).all()
        assert (np.linalg.norm(rub, axis=1) <= mu * (push @ normal) + 1e-8 * mass * G).all()
        total += push + rub
    needed = mass * (result["ball"].acceleration + np.array([0, 0, G]))
    np.testing.assert_allclose(total, needed, atol=1e-8 * mass * G)


@pytest.mark.parametrize("scale", study([1.0, 1e-3, 1e3], {1e-3}))
@pytest.mark.parametrize("seed", [2, 4, 13, 21, 62])
def test_a_box_leaves_a_wall_when_the_run_begins(seed, scale):
    """At rest speeds are round-off alone, and no impacts: a box between floor and wall of a cart that is pulled away."""
    rng = np.random.default_rng(seed)
    mu, frequency = rng.uniform(0.1, 0.8), rng.uniform(2.0, 8.0)
    far, side, g = rng.uniform(0.2, 1.5) * mu * G / frequency**2 * scale, 0.2 * scale, G * scale
    assert far * frequency**2 > mu * g
    cart = Body.box("cart", 5.0, [scale, scale, 0.1 * scale])
    rail = quirk.Prismatic("rail", GROUND, cart, point=[0, 0, 0], axis="x")
    drive = quirk.Drive("drive", rail, Motion.sinusoid(far, frequency, phase=np.pi / 2, offset=-far))
    box = Body.box("box", 2.0, [side] * 3, position=[0, 0, 0.05 * scale + side / 2])
    parts = [cart, box, rail, drive]
    places = [(x, y, -1) for x in (-1, 1) for y in (-1, 1)], [(-1, -1, -1), (-1, 1, 1)]
    surfaces = surface.plane([0, 0, 0.05 * scale]), surface.plane([-side / 2, 0, 0], [1, 0, 0])
    for name, on, corners in zip(("floor", "wall"), surfaces, places, strict=True):
        for k, corner in enumerate(corners):
            point = surface.point(side / 2 * np.array(corner))
            contact = Contact(f"{name} {k}", cart, box, on_i=on, on_j=point)
            parts += [contact, Friction(f"friction of {name} {k}", contact, mu)]
    system = quirk.System(parts, gravity=[0, 0, -g])
    result = quirk.simulate(system, 0.02, output=0.01, initial_state=system.assemble(), rtol=1e-9, atol=1e-12 * scale)
    assert not len(result.events)
    np.testing.assert_allclose(result["box"].position[:, 0], -0.5 * mu * g * result.time**2, atol=1e-8 * scale)


WHEELS = [(0.4, 0.3), (0.4, -0.3), (-0.4, 0.3), (-0.4, -0.3)]


def car(order=(0, 1, 2, 3), *, locked=False, speed=0.0, torque=0.0, brake=None, meter=1.0, kilogram=1.0):
    """A chassis on four balls that roll, or are `locked`, with a motor whose torque grows at wheel 0.

    `brake` is a function that returns a part on the axle of wheel 3.
    """
    radius, force = 0.15 * meter, kilogram * meter
    size = np.array([1.0, 0.5, 0.1]) * meter
    velocity = [speed * meter, 0, 0]
    chassis = Body.box("chassis", 4.0 * kilogram, size, position=[0, 0, 0.25 * meter], velocity=velocity)
    parts = [chassis]
    for k in order:
        center = [*(np.array(WHEELS[k]) * meter), radius]
        spin = [0, 0 if locked else speed * meter / radius, 0]
        wheel = Body.sphere(
            f"wheel {k}", 0.5 * kilogram, radius, position=center, velocity=velocity, angular_velocity=spin
        )
        kind = quirk.Fixed if locked else quirk.Revolute
        axle = kind(f"axle {k}", chassis, wheel, point=center, **({} if locked else {"axis": "y"}))
        tire = quirk.Contact(f"tire {k}", GROUND, wheel, on_i=surface.plane(), on_j=surface.sphere(radius))
        parts += [wheel, axle, tire, quirk.Friction(f"rub {k}", tire, 0.6)]
        if k == 0 and torque:
            motor = quirk.Motion.polynomial([0, torque * force * meter])
            parts.append(quirk.JointTorque("motor", axle, motor))
        if k == 3 and brake is not None:
            parts += brake(axle)
    return quirk.System(parts, gravity=[0, 0, -9.81 * meter])


@pytest.mark.parametrize(("meter", "kilogram"), study([(1.0, 1.0), (1e-3, 1e-6), (1e3, 1e3)], 2))
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_loads_of_a_car_with_locked_wheels_are_those_of_its_friction(order, meter, kilogram):
    """Front wheels carry more, since the friction acts below the center of mass; left and right wheels carry alike."""
    force = kilogram * meter
    system = car(order, locked=True, speed=2.0, meter=meter, kilogram=kilogram)
    result = quirk.simulate(system, 0.2, output=0.1)
    weight, height = 6.0 * 9.81, (4.0 * 0.25 + 2.0 * 0.15) / 6.0
    moved = 0.6 * weight * height / 0.8  # from the rear wheels to the front wheels
    for k in range(4):
        normal = weight / 4 + (moved if k < 2 else -moved) / 2
        loads = result[f"tire {k}"].force()[:2] / force
        np.testing.assert_allclose(loads, [[0, 0, normal]] * 2, rtol=0, atol=1e-9 * weight)
        drag = result[f"rub {k}"].force()[:2] / force
        np.testing.assert_allclose(drag, [[-0.6 * normal, 0, 0]] * 2, rtol=0, atol=1e-9 * weight)
        np.testing.assert_allclose(result.multipliers[f"tire {k}"][:2] / force, normal, rtol=0, atol=1e-9 * weight)
        vertical = result[f"axle {k}"].force()[:2, 2] / force
        np.testing.assert_allclose(vertical, 0.5 * 9.81 - normal, rtol=0, atol=1e-9 * weight)


def test_loads_of_a_car_stay_within_their_cones_when_a_wheel_spins(tmp_path):
    """At first all wheels roll, and each friction has two components; then one slides, and some rows are redundant."""
    result = quirk.simulate(car(torque=6.0), 0.6, output=0.1)
    assert [event.name for event in result.events] == ["rub 0"]
    for k in range(4):
        normal, drag = result[f"tire {k}"].force()[:, 2], result[f"rub {k}"].force()
        assert (normal > 0).all()
        # Events are located to 1e-6 of the load.
        assert (np.linalg.norm(drag, axis=1) <= 0.6 * normal * (1 + 1e-6)).all()
        slips = result.multipliers[f"rub {k}"]
        held = result[f"rub {k}"].sticking
        np.testing.assert_allclose(np.linalg.norm(slips, axis=1)[held], np.linalg.norm(drag, axis=1)[held], atol=1e-9)
    rub, tire = result["rub 0"].force()[-1], result["tire 0"].force()[-1]
    assert np.linalg.norm(rub) == pytest.approx(0.6 * tire[2], rel=1e-9)
    result.save(tmp_path / "car.nc")


def _rotor(axle):
    """A brake torque, and a rotor that has nothing to do with the car, with friction of its bearing."""
    rotor = Body.sphere("rotor", 1.0, 0.1, position=[5, 5, 1], angular_velocity=[0, 0, 3])
    bearing = quirk.Revolute("bearing", GROUND, rotor, point=[5, 5, 1], axis="z")
    rub = quirk.JointFriction("rub", bearing, coulomb=1e-3, sticking=True)
    return [quirk.JointTorque("brake", axle, -1.8), rotor, bearing, rub]


BRAKES = {
    "torque": lambda axle: [quirk.JointTorque("brake", axle, -1.8)],
    "friction": lambda axle: [quirk.JointFriction("brake", axle, coulomb=1.8, sticking=True)],
    "rotor": _rotor,
}


@pytest.mark.parametrize("kind", BRAKES)
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 0, 2)])
def test_wheels_roll_as_long_as_there_is_any_way_to_share_the_load(order, kind):
    """Friction that slides elsewhere, as in a brake, does not change that."""
    result = quirk.simulate(car(order, speed=1.0, brake=BRAKES[kind]), 0.1, output=0.05)
    inertia = 0.4 * 0.5 * 0.15**2
    deceleration = 1.8 / 0.15 / (6.0 + 4 * inertia / 0.15**2)
    assert len(result.events) == 0
    assert result["chassis"].velocity[-1, 0] == pytest.approx(1.0 - 0.1 * deceleration, abs=1e-9)
    for k in range(4):
        normal, drag = result[f"tire {k}"].force()[:, 2], result[f"rub {k}"].force()
        assert result[f"rub {k}"].sticking.all()
        assert (np.linalg.norm(drag, axis=1) <= 0.6 * normal * (1 + 1e-9)).all()


def test_a_brake_that_breaks_away_leaves_the_wheels_rolling():
    """The motor of wheel 0 overcomes a brake beside it; the load of the wheels is shared anew at that event."""
    system = car(torque=6.0, brake=lambda axle: [quirk.JointFriction("brake", axle, coulomb=0.2, sticking=True)])
    result = quirk.simulate(system, 0.3, output=0.05)
    assert {event.name for event in result.events} == {"brake"}
    wheels = [result[f"wheel {k}"].angular_velocity[-1, 1] * 0.15 for k in range(4)]
    np.testing.assert_allclose(wheels, result["chassis"].velocity[-1, 0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("tilt", [0.0, 0.3])
def test_bearing_friction_of_a_car_does_not_depend_on_the_order_of_its_wheels(tilt):
    """Contacts share the weight as equal springs do, and the axles carry it with the friction that belongs to it."""
    runs, bearing, radius = [], 0.3, 0.05
    for order in [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)]:
        system = car(order, speed=1.0)
        rubs = [quirk.Friction(f"bearing {k}", system[f"axle {k}"], bearing, radius=radius) for k in range(4)]
        gravity = [0, 9.81 * np.sin(tilt), -9.81 * np.cos(tilt)]
        result = quirk.simulate(quirk.System([*system, *rubs], gravity=gravity), 0.2, output=0.1)
        runs.append(result["chassis"].velocity[-1, 0])
        normal = [result[f"tire {k}"].force()[:, 2] for k in range(4)]
        np.testing.assert_allclose(np.sum(normal, axis=0), 6.0 * 9.81 * np.cos(tilt), rtol=1e-12)
        moment = sum(n * WHEELS[k][1] for k, n in enumerate(normal))
        height = (4.0 * 0.25 + 2.0 * 0.15) / 6.0
        np.testing.assert_allclose(moment, 6.0 * 9.81 * np.sin(tilt) * height, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(normal[0] + normal[3], normal[1] + normal[2], rtol=1e-9)  # as of equal springs
        for k in range(4):
            across = np.linalg.norm(result[f"axle {k}"].force()[:, [0, 2]], axis=1)
            friction = np.abs(result[f"bearing {k}"].torque()[:, 1])
            np.testing.assert_allclose(friction, bearing * radius * across, rtol=1e-9)
    assert np.ptp(runs) < 1e-12


def test_sensitivities_refuse_bearings_that_carry_shared_loads():
    system = car(speed=1.0)
    bearing = quirk.Friction("bearing", system["axle 0"], 0.3, radius=0.05)
    system = quirk.System([*system, bearing], gravity=[0, 0, -9.81])
    with pytest.raises(quirk.InputError, match='Friction "bearing": Revolute "axle 0" takes part of a load'):
        quirk.simulate(system, 0.1, output=0.1, sensitivities=[("chassis", "mass")])


@pytest.mark.parametrize("seed", study([2, 3, 6, 7], {2, 6}))
def test_cars_with_brakes_and_motors_have_few_events(seed):
    """Wheels slip while others roll and brakes hold or slide; a run and its events share the loads alike."""
    rng = np.random.default_rng(seed)
    limits, braked, torques = rng.uniform(0.2, 3, 4), rng.random(4) < 0.6, rng.uniform(0, 4, 2)
    system = car(speed=rng.uniform(0, 2))
    frequency = rng.uniform(1, 6)
    parts = [
        quirk.JointFriction(f"brake {k}", system[f"axle {k}"], coulomb=limits[k], sticking=True)
        for k in np.flatnonzero(braked)
    ]
    for k, torque in enumerate(torques):
        parts.append(quirk.JointTorque(f"motor {k}", system[f"axle {k}"], Motion.sinusoid(torque, frequency)))
    result = quirk.simulate(quirk.System([*system, *parts], gravity=[0, 0, -G]), 0.6, output=0.05)
    print(seed, braked, len(result.events))
    assert len(result.events) < 10
    assert np.abs(result.power.balance).max() < 1e-6 * result.energy.kinetic.max()


@pytest.mark.parametrize("place", study([-0.0831, 0.0], {-0.0831}))
def test_two_boxes_in_a_row_that_are_pushed_beside_their_middle_begin_to_slide_once(place):
    """All corners slide as soon as any does; those near the pole of the rotation are slow at first."""
    parts, before = [], None
    for k in range(2):
        box = Body.box(f"box {k}", 1.0 + 0.5 * k, [0.2, 0.2, 0.1], position=[0.2 * k, 0, 0.05])
        parts.append(box)
        for n, (x, y) in enumerate([(-0.1, -0.1), (-0.1, 0.1), (0.1, -0.1), (0.1, 0.1)]):
            corner = surface.point([x, y, -0.05])
            contact = Contact(f"foot {k} {n}", GROUND, box, on_i=surface.plane(), on_j=corner)
            parts += [contact, Friction(f"rub {k} {n}", contact, 0.4133)]
        if before is not None:
            face = surface.plane([0.1, 0, 0], [1, 0, 0])
            for n, (y, z) in enumerate([(-0.1, -0.05), (0.1, -0.05), (-0.1, 0.05), (0.1, 0.05)]):
                contact = Contact(f"side {n}", before, box, on_i=face, on_j=surface.point([-0.1, y, z]))
                parts += [contact, Friction(f"grip {n}", contact, 0.4823)]
        before = box
    push = Force("push", parts[0], [Motion.polynomial([0, 29.87]), 0, 0], point=[-0.1, place, -0.0258])
    result = quirk.simulate(quirk.System([*parts, push], gravity=[0, 0, -G]), 0.36, output=0.045)
    assert [event.direction for event in result.events] == [1]


def _locked_by(torque):
    """A car with a torque against the spin of wheel 3, N m, and friction in its bearing."""
    system = car(speed=1.0, brake=lambda axle: [quirk.JointTorque("brake", axle, -torque)])
    bearing = quirk.Friction("bearing", system["axle 3"], 0.25, radius=0.03)
    return quirk.simulate(quirk.System([*system, bearing], gravity=[0, 0, -G]), 0.5, output=0.1)


@pytest.mark.parametrize(("part", "holds"), [(0.5, True), (1.5, False)])
def test_a_wheel_that_a_bearing_may_hold_stops_once(part, holds):
    """The wheel slips and its spin ends; the bearing may take the part of the torque that the tire leaves."""
    held = _locked_by(1.3)
    tire, axle = held["tire 3"].force()[-1], held["axle 3"].force()[-1]
    grip, limit = 0.6 * 0.15 * tire[2], 0.25 * 0.03 * np.linalg.norm(axle[[0, 2]])
    result = _locked_by(grip + part * limit)
    assert len([event for event in result.events if event.name == "bearing"]) == 1
    across = np.linalg.norm(result["axle 3"].force()[:, [0, 2]], axis=1)
    effort = np.abs(result["bearing"].torque()[:, 1])
    assert (effort <= 0.25 * 0.03 * across * (1 + 1e-6)).all()
    assert bool(result["bearing"].sticking[-1]) is holds


@pytest.mark.parametrize("seed", study(range(6), {2}))
def test_a_box_of_two_halves_on_five_feet_comes_to_rest_on_all_of_them(seed):
    """All feet stick, and show no friction, although their slip ends at slightly different times."""
    rng = np.random.default_rng(seed)
    spin, (along, across) = rng.uniform(-2, 2), rng.uniform(-0.5, 0.5, 2)
    halves = [
        Body.box(
            f"half {k}", mass, [0.5, 0.6, 0.1], position=[0.5 * k - 0.25, 0, 0.05],
            velocity=[along, across + spin * (0.5 * k - 0.25), 0], angular_velocity=[0, 0, spin],
        )
        for k, mass in enumerate((1.0, 1.7))
    ]  # fmt: skip
    parts = [*halves, quirk.Fixed("weld", *halves, point=[0, 0, 0.05])]
    for k, (x, y) in enumerate([(-0.5, -0.3), (-0.5, 0.3), (0.5, -0.3), (0.5, 0.3), (0.1, 0.25)]):
        foot = surface.point([x - (0.25 if x > 0 else -0.25), y, -0.05])
        contact = Contact(f"foot {k}", GROUND, halves[int(x > 0)], on_i=surface.plane(), on_j=foot)
        parts += [contact, Friction(f"rub {k}", contact, 0.38)]
    result = quirk.simulate(quirk.System(parts, gravity=[0, 0, -G]), 1.0, output=0.1)
    assert np.abs(result["half 0"].velocity[-1]).max() < 1e-9
    for k in range(5):
        assert result[f"rub {k}"].sticking[-1]
        assert np.linalg.norm(result[f"rub {k}"].force()[-1]) < 1e-6 * G


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("coefficient", [0.0, 0.3])
def test_all_feet_that_touch_the_floor_are_active(order, coefficient):
    """A box falls on four feet; three of them determine its motion."""
    box = quirk.Body.box("box", 1.0, [1, 1, 0.2], position=[0, 0, 0.2], velocity=[0.5, 0, 0])
    items = []
    for k, (x, y) in enumerate([(-0.5, -0.5), (-0.5, 0.5), (0.5, -0.5), (0.5, 0.5)]):
        under = quirk.surface.point([x, y, -0.1])
        items.append(foot := quirk.Contact(f"foot {k}", quirk.GROUND, box, on_i=quirk.surface.plane(), on_j=under))
        items += [quirk.Friction(f"sole {k}", foot, coefficient)] if coefficient else []
    result = quirk.simulate(quirk.System([box, *items[::order]], gravity=[0, 0, -9.81]), 0.6, output=0.05)
    # The later of the two outputs at the impact has the state after it.
    lands = np.flatnonzero(np.isclose(result.time, np.sqrt(0.2 / 9.81), rtol=1e-9))
    for name in (item.name for item in items):
        np.testing.assert_array_equal(result.active(name), np.arange(len(result.time)) >= lands[-1], err_msg=name)
    for k in range(4):
        pushes = result[f"foot {k}"].force()[:, 2] > 0
        np.testing.assert_array_equal(result.active(f"foot {k}"), pushes)
