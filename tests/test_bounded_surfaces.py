"""Contacts of spheres with rectangles, disks and bowls: faces, edges, corners and rims, against closed forms."""

import numpy as np
import pytest
from differences import extrapolated

import quirk
from quirk.errors import InputError

G = 9.81
S = quirk.surface
TIGHT = {"rtol": 1e-11, "atol": 1e-13}
RADIUS, HALF = 0.1, (0.5, 0.3)
PLATES = {"rectangle": S.rectangle([2 * HALF[0], 2 * HALF[1]]), "disk": S.disk(0.5)}


def ball_and(surface, position, velocity=(0, 0, 0), *, rolls=False, friction=None, restitution=0.0):
    """A ball at a surface that is fixed in the ground."""
    spin = np.cross([0, 0, 1], velocity) / RADIUS if rolls else np.zeros(3)
    ball = quirk.Body.sphere("ball", 1.0, RADIUS, position=position, velocity=velocity, angular_velocity=spin)
    contact = quirk.Contact("contact", quirk.GROUND, ball, on_i=surface, on_j=S.sphere(RADIUS), restitution=restitution)
    rubs = [] if friction is None else [quirk.Friction("friction", contact, friction)]
    return quirk.System([ball, contact, *rubs], gravity=[0, 0, -G])


def center_at(result, t):
    return result["ball"].position[np.flatnonzero(result.time == t)[0]]


@pytest.mark.parametrize("kind", PLATES)
@pytest.mark.parametrize(("x", "rests"), [(0.2, True), (3.0, False), (0.5 + 1.01 * RADIUS, False)])
def test_a_ball_rests_on_a_plate_and_falls_beside_it(kind, x, rests):
    result = quirk.simulate(ball_and(PLATES[kind], [x, 0.1 * rests, 0.5]), 1.0, output=0.1, **TIGHT)
    z = RADIUS if rests else 0.5 - 0.5 * G
    np.testing.assert_allclose(result["ball"].position[-1], [x, 0.1 * rests, z], rtol=1e-12)
    assert result.events.name == ["contact"] * rests


def test_a_face_of_a_box_does_not_reach_beside_the_box():
    box = quirk.Body.box("box", 5.0, [1, 0.6, 0.4], position=[0, 0, 0.2])
    ball = quirk.Body.sphere("ball", 1.0, RADIUS, position=[3, 0, 0.4 + RADIUS])
    held = quirk.Fixed("held", quirk.GROUND, box)
    face = quirk.Contact("face", ball, box, on_i=S.sphere(RADIUS), on_j=S.rectangle([1, 0.6], center=[0, 0, 0.2]))
    result = quirk.simulate(quirk.System([box, ball, held, face], gravity=[0, 0, -G]), 1.0, output=0.5, **TIGHT)
    np.testing.assert_allclose(result["ball"].position[-1, 2], 0.4 + RADIUS - 0.5 * G, rtol=1e-12)


@pytest.mark.parametrize("kind", PLATES)
def test_a_fast_ball_flies_off_the_edge(kind):
    """With v^2 > g r no push holds it on the edge: it flies from there with the velocity that it had."""
    start, v = np.array([0.1, 0.05, RADIUS]), np.array([1.2, 0.0, 0.0])
    edge = HALF[0] if kind == "rectangle" else np.sqrt(0.25 - 0.05**2)
    leaves = (edge - start[0]) / v[0]
    result = quirk.simulate(ball_and(PLATES[kind], start, v), 1.0, output=0.25, **TIGHT)
    np.testing.assert_allclose(result.events.time, [leaves], rtol=1e-12)
    assert result.events[0].direction == 1
    assert not result.events[0].impulse
    np.testing.assert_allclose(result["ball"].velocity[-1], [*v[:2], -G * (1 - leaves)], rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(result["ball"].position[-1], start + v - [0, 0, 0.5 * G * (1 - leaves) ** 2], rtol=1e-11)


@pytest.mark.parametrize(("kind", "rolls"), [("rectangle", False), ("rectangle", True), ("disk", True)])
def test_a_slow_ball_turns_about_the_edge_before_it_falls(kind, rolls):
    """Its load on the edge, m g cos - m v^2 / r, falls to zero at an angle that follows from the energy."""
    v, part = 0.5, 0.4 if rolls else 0.0  # of rotation in the kinetic energy, over that of translation
    system = ball_and(PLATES[kind], [0, 0, RADIUS], [v, 0, 0], rolls=rolls, friction=np.inf if rolls else None)
    result = quirk.simulate(system, 1.5, output=0.1, **TIGHT)
    assert result.events.name == ["contact"]
    center = center_at(result, result.events.time[0]) - [HALF[0], 0, 0]
    np.testing.assert_allclose(np.linalg.norm(center), RADIUS, rtol=1e-13)
    fall = v * v / (G * RADIUS)
    np.testing.assert_allclose(center[2] / RADIUS, (2 / (1 + part) + fall) / (2 / (1 + part) + 1), rtol=1e-10)
    np.testing.assert_allclose(result.energy.total, result.energy.total[0], rtol=1e-12)


def test_a_ball_rolls_across_a_corner():
    """First over one edge, then past its end: angular momentum about the corner has the moment of gravity alone."""
    v = np.array([0.11, 0.05, 0])
    system = ball_and(PLATES["rectangle"], [0.45, 0.29, RADIUS], v, rolls=True, friction=np.inf)
    result = quirk.simulate(system, 1.0, output=0.02, **TIGHT)
    assert result.events.name == ["contact"]
    assert len(result.segments) == 5  # the face, an edge, the corner, close to it in flight, and far from it
    np.testing.assert_allclose(result.energy.total, result.energy.total[0], rtol=1e-12)
    gap = np.linalg.norm(np.maximum(np.abs(result["ball"].position) - [*HALF, 0], 0), axis=1)[result.active("contact")]
    np.testing.assert_allclose(gap, RADIUS, rtol=1e-12)


@pytest.mark.parametrize(
    ("kind", "touched", "normal"),
    [
        ("rectangle", [0.2, 0.1, 0], [0, 0, 1]),
        ("rectangle", [0.5, 0.1, 0], [np.sin(0.6), 0, np.cos(0.6)]),
        ("rectangle", [-0.5, -0.3, 0], np.array([-1, -2, 3]) / np.sqrt(14)),
        ("disk", [0.3, -0.4, 0], [0.6 * np.sin(1.1), -0.8 * np.sin(1.1), np.cos(1.1)]),
    ],
)
def test_impulses_are_along_the_line_from_the_place_that_is_touched(kind, touched, normal):
    e, height, normal = 0.7, 0.3, np.array(normal)
    start = np.array(touched) + RADIUS * normal + [0, 0, height]
    result = quirk.simulate(ball_and(PLATES[kind], start, restitution=e), 0.3, output=0.3, **TIGHT)
    impulse = (1 + e) * np.sqrt(2 * G * height) * normal[2] * normal
    np.testing.assert_allclose(result.events[0].impulse["contact"].force, impulse, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(result.events.time[0], np.sqrt(2 * height / G), rtol=1e-12)


@pytest.mark.parametrize("kind", PLATES)
def test_plates_are_hit_from_both_sides(kind):
    result = quirk.simulate(ball_and(PLATES[kind], [0.1, 0, -0.5], [0, 0, 5], restitution=1.0), 0.3, output=0.1)
    assert result.events.name == ["contact"]
    np.testing.assert_allclose(result["ball"].position[:, 2].max(), -RADIUS, rtol=1e-12)


@pytest.mark.parametrize("y", [0.0, 0.3])
def test_what_rests_or_moves_right_above_an_edge_does_not_chatter(y):
    result = quirk.simulate(ball_and(PLATES["rectangle"], [0.5, y, RADIUS]), 1.0, output=0.5)
    np.testing.assert_allclose(result["ball"].position[-1], [0.5, y, RADIUS], atol=1e-14)
    system = ball_and(PLATES["rectangle"], [0.5, -0.2, RADIUS], [0, 0.3, 0], rolls=True, friction=0.3)
    result = quirk.simulate(system, 1.0, output=0.5)
    assert len(result.segments) == 1
    np.testing.assert_allclose(result["ball"].position[-1], [0.5, 0.1, RADIUS], rtol=1e-9)


@pytest.mark.parametrize(("friction", "factor"), [(None, 1.0), (np.inf, 7 / 5), (0.2, 7 / 5)])
def test_periods_in_a_bowl(friction, factor):
    R, small = 1.0, 1e-4
    system = ball_and(S.bowl(R, center=[0, 0, R]), [small, 0, R - np.sqrt((R - RADIUS) ** 2 - small**2)],
                      friction=friction)  # fmt: skip
    passes = quirk.Event("passes", "ball.position.x")
    result = quirk.simulate(system, 4.0, output=0.5, events=[passes], **TIGHT)
    period = 2 * np.pi * np.sqrt(factor * (R - RADIUS) / G)
    np.testing.assert_allclose(2 * np.diff([event.time for event in result.events]), period, rtol=1e-7)


def test_a_ball_falls_from_the_middle_of_a_bowl_and_rests_in_it():
    result = quirk.simulate(ball_and(S.bowl(1.0), [0, 0, 0], restitution=0.3), 3.0, output=0.5, **TIGHT)
    np.testing.assert_allclose(result.events.time[0], np.sqrt(2 * 0.9 / G), rtol=1e-12)
    np.testing.assert_allclose(result["ball"].position[-1], [0, 0, -0.9], atol=1e-12)
    np.testing.assert_allclose(result["contact"].force()[-1], [0, 0, G], rtol=1e-12)


def test_a_rod_whose_ends_slide_in_a_bowl():
    """Points in a bowl: the period of a physical pendulum about its center, J + m d^2 about there."""
    R, half = 1.0, 0.4
    depth, angle = np.sqrt(R * R - half * half), 1e-4
    turn = [np.cos(angle / 2), 0, np.sin(angle / 2), 0]
    rod = quirk.Body.box("rod", 2.0, [2 * half, 0.02, 0.02], orientation=turn,
                         position=[-depth * np.sin(angle), 0, -depth * np.cos(angle)])  # fmt: skip
    ends = [quirk.Contact(f"{x}", quirk.GROUND, rod, on_i=S.bowl(R), on_j=S.point([x * half, 0, 0])) for x in (-1, 1)]
    guide = quirk.Generic("guide", quirk.GROUND, rod, constrained=[0, 1, 0, 1, 0, 1], point=[0, 0, 0])
    passes = quirk.Event("passes", "rod.position.x")
    result = quirk.simulate(quirk.System([rod, *ends, guide, passes], gravity=[0, 0, -G]), 4.0, output=0.5, **TIGHT)
    inertia = rod.inertia[1, 1] + rod.mass * depth**2
    times = [event.time for event in result.events if event.name == "passes"]
    np.testing.assert_allclose(2 * np.diff(times), 2 * np.pi * np.sqrt(inertia / (rod.mass * G * depth)), rtol=1e-7)


def moving_table(turned):
    """A box on a rail with a ball that slips on it and rolls off behind."""
    box = quirk.Body.box("box", 5.0, [1, 0.6, 0.4], position=[0, 0, 0.2])
    ball = quirk.Body.sphere("ball", 1.0, RADIUS, position=[-0.2, 0.1, 0.4 + RADIUS], velocity=[-0.6, 0.1, 0])
    top, round_ = S.rectangle([0.6, 1.0], center=[0, 0, 0.2], along=[0, 1, 0]), S.sphere(RADIUS)
    on = {"on_i": round_, "on_j": top} if turned else {"on_i": top, "on_j": round_}
    contact = quirk.Contact("contact", *((ball, box) if turned else (box, ball)), **on)
    rail = quirk.Prismatic("rail", quirk.GROUND, box, axis=[1, 0, 0], point=[0, 0, 0])
    push = quirk.Force("push", box, [3.0, 0, 0])
    return quirk.System([box, ball, contact, rail, push, quirk.Friction("rub", contact, 0.1)], gravity=[0, 0, -G])


def test_either_body_may_carry_the_plate_and_files_keep_it(tmp_path):
    one, two = (quirk.simulate(moving_table(turned), 1.0, output=0.05, **TIGHT) for turned in (False, True))
    assert one.events.name == two.events.name
    assert one.events.name[-1] == "contact"
    np.testing.assert_allclose(one["ball"].position, two["ball"].position, atol=1e-11)
    np.testing.assert_allclose(one.power.balance, 0, atol=1e-12)
    one.save(tmp_path / "run.nc")
    loaded = quirk.Result.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(loaded["contact"].force(), one["contact"].force())
    np.testing.assert_array_equal(loaded["rub"].force(), one["rub"].force())
    moving_table(False).save(tmp_path / "model.toml")
    again = quirk.simulate(quirk.load(tmp_path / "model.toml"), 1.0, output=0.05, **TIGHT)
    np.testing.assert_array_equal(again["ball"].position, one["ball"].position)


@pytest.mark.parametrize(
    ("kind", "position", "velocity", "restitution"),
    [
        ("rectangle", [0.1, 0, RADIUS], [1.2, 0.2, 0], 0.0),  # flies off the edge
        ("rectangle", [0.1, 0, RADIUS], [0.5, 0.2, 0], 0.0),  # turns about the edge
        ("disk", [0.1, 0, RADIUS], [0.5, 0.1, 0], 0.0),
        ("rectangle", [0.55, 0.02, 0.4], [0, 0, 0], 0.6),  # bounces off the edge
        ("rectangle", [0.54, 0.33, 0.4], [0, 0, 0], 0.6),  # and off a corner
    ],
)
def test_sensitivities_by_velocities(kind, position, velocity, restitution):
    def run(x, **options):
        moved = ball_and(PLATES[kind], position, np.add(velocity, [x, 0, 0]), restitution=restitution)
        return quirk.simulate(moved, 0.9, output=[0.9], rtol=1e-12, atol=1e-14, **options)

    key = ("ball", "velocity")
    got = run(0.0, sensitivities=[key]).sensitivity[key]["ball"].position[-1, :, 0]
    want = extrapolated(lambda x: run(x)["ball"].position[-1], 4e-3)
    np.testing.assert_allclose(got, want, atol=1e-7 * np.abs(want).max())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: S.rectangle([1.0, 0.0]), "size must be two positive lengths"),
        (lambda: S.rectangle(1.0), "size"),
        (lambda: S.rectangle([1, 1], normal=[0, 0, 1], along=[0, 0, 2]), "along must not be parallel to normal"),
        (lambda: S.disk(-1.0), "radius"),
        (lambda: S.bowl(0.0), "radius"),
    ],
)
def test_bad_surfaces(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize(
    ("one", "two", "message"),
    [
        (S.rectangle([1, 1]), S.point(), "a point cannot touch a rectangle"),
        (S.point(), S.disk(1), "a point cannot touch a disk"),
        (S.rectangle([1, 1]), S.rectangle([1, 1]), "a rectangle touches a sphere"),
        (S.rim(0.1), S.disk(1), "a rim touches a plane"),
        (S.bowl(1.0), S.plane(), "a bowl touches a sphere"),
        (S.bowl(1.0), S.sphere(1.0), "must be less than that of the bowl"),
    ],
)
def test_pairs_that_cannot_touch(one, two, message):
    ball = quirk.Body.sphere("ball", 1.0, RADIUS)
    with pytest.raises(InputError, match=message):
        quirk.Contact("contact", quirk.GROUND, ball, on_i=one, on_j=two)


def test_a_ball_within_a_plate_at_the_start_is_told():
    with pytest.raises(InputError, match="cannot be negative: move the bodies apart"):
        quirk.simulate(ball_and(PLATES["disk"], [0.1, 0, 0]), 1.0)


@pytest.mark.parametrize("kind", PLATES)
@pytest.mark.parametrize(("friction", "slides"), [(0.08, True), (0.2, False)])
def test_friction_that_begins_to_slide_at_an_edge(kind, friction, slides):
    """On the edge the ball also turns about it, so that sticking needs v w / 3.5, with the spin w about the vertical."""
    system = ball_and(PLATES[kind], [0.2, 0, RADIUS], [0.5, 0, 0], rolls=True, friction=friction)
    start = system.initial_state()
    start.angular_velocity[0, 2] = spin = 8.0
    needed, pressed = 0.5 * spin / 3.5, G - 0.5**2 / RADIUS
    assert slides == (needed > friction * pressed)
    result = quirk.simulate(system, 0.61, initial_state=start, output=0.1, **TIGHT)
    slid = [event for event in result.events if event.name == "friction"]
    assert [(event.direction, round(event.time, 9)) for event in slid] == [(1, 0.6)] * slides
    assert result["friction"].sticking[-1] == (not slides)


def test_a_ball_meets_the_other_plate_of_an_edge():
    """Two plates of a box share an edge: from there on the ball touches both, and then leaves both."""
    ball = quirk.Body.sphere("ball", 1.0, RADIUS, position=[-0.2, 0, RADIUS], velocity=[0.5, 0, 0])
    plates = {
        "top": S.rectangle([1, 1], center=[-0.5, 0, 0]),
        "side": S.rectangle([1, 1], center=[0, 0, -0.5], normal=[1, 0, 0]),
    }
    contacts = [
        quirk.Contact(name, quirk.GROUND, ball, on_i=plate, on_j=S.sphere(RADIUS)) for name, plate in plates.items()
    ]
    result = quirk.simulate(quirk.System([ball, *contacts], gravity=[0, 0, -G]), 1.0, output=0.1, **TIGHT)
    assert [(event.name, event.direction) for event in result.events] == [("side", -1), ("top", 1), ("side", 1)]
    np.testing.assert_allclose(result.events.time[0], 0.4, rtol=1e-9)
    closed = result.active("side")
    for name, direction in (("side", -1), ("side", 1)):
        (event,) = [one for one in result.events if one.name == name and one.direction == direction]
        after = closed[result.time > event.time + 1e-6]
        assert len(after) and after[0] == (direction < 0)


# On the first three the direction of slip has turned by more than a right angle on the disk since it began.
@pytest.mark.parametrize("seed", [5, 17, 28, 0])
def test_a_ball_that_slides_over_the_rim_of_a_turning_disk_slides_on(seed):
    rng = np.random.default_rng(seed)
    rate = rng.uniform(2.0, 6.0) * rng.choice([-1, 1])
    plate = quirk.Body.sphere("plate", 1.0, 0.3, angular_velocity=[0, 0, rate])
    axle = quirk.Revolute("axle", quirk.GROUND, plate, point=[0, 0, 0], axis="z")
    drive = quirk.Drive("drive", axle, quirk.Motion.constant_rate(rate))
    angle = rng.uniform(0, 2 * np.pi)
    place = [0.2 * np.cos(angle), 0.2 * np.sin(angle), RADIUS]
    velocity = [*rng.uniform(-0.5, 0.5, 2), 0]
    ball = quirk.Body.sphere(
        "ball", 1.0, RADIUS, position=place, velocity=velocity, angular_velocity=rng.uniform(-20, 20, 3)
    )
    contact = quirk.Contact("contact", plate, ball, on_i=S.disk(0.3), on_j=S.sphere(RADIUS))
    friction = quirk.Friction("friction", contact, 0.1)
    result = quirk.simulate(quirk.System([plate, ball, axle, drive, contact, friction], gravity=[0, 0, -G]), 0.5)
    begins = [event.time for event in result.events if event.name == "friction" and event.direction == 1]
    for t in begins:
        assert np.linalg.norm(result["friction"].slip[result.time == t], axis=1).min() < 1e-3
