"""Friction where a user's function gives the gap: as of contacts that are alike, and against closed forms."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from studies import study

import quirk
from quirk.errors import InputError, SimulationError

G, MU = 9.81, 0.3
S = quirk.surface
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
HALF = np.array([0.1, 0.1, 0.05])


def box_on_corners(of_user, velocity=(2.0, 0.6, 0.0)):
    box = quirk.Body.box("box", 2.0, 2 * HALF, position=[0, 0, HALF[2]], velocity=velocity)
    parts = [box]
    for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        corner = (x * HALF[0], y * HALF[1], -HALF[2])
        on = (
            quirk.OneSided(f"{x} {y}", box, lambda t, a, corner=corner: a.point(corner)[2], point=corner)
            if of_user
            else quirk.Contact(f"{x} {y}", quirk.GROUND, box, on_i=S.plane(), on_j=S.point(corner))
        )
        parts += [on, quirk.Friction(f"rub {x} {y}", on, MU)]
    return quirk.System(parts, gravity=[0, 0, -G])


@pytest.mark.slow
def test_a_box_on_a_floor_of_the_users():
    """It slides with mu g, on corners that carry the moment of friction, until it stops."""
    v = np.array([2.0, 0.6, 0.0])
    result = quirk.simulate(box_on_corners(True), 1.0, output=0.1, **TIGHT)
    speed = np.linalg.norm(v)
    np.testing.assert_allclose(result.events.time[-1], speed / (MU * G), rtol=1e-9)
    np.testing.assert_allclose(result["box"].position[-1, :2], v[:2] * speed / (2 * MU * G), rtol=1e-9)
    np.testing.assert_allclose(result["box"].orientation[-1], [1, 0, 0, 0], atol=1e-12)
    np.testing.assert_allclose(result.power.balance, 0, atol=1e-9)
    other = quirk.simulate(box_on_corners(False), 1.0, output=0.1, **TIGHT)
    for x, y in ((1, 1), (-1, -1)):
        np.testing.assert_allclose(result[f"{x} {y}"].force()[1], other[f"{x} {y}"].force()[1], atol=1e-8)


@pytest.mark.parametrize("friction", [0.2, np.inf])
def test_a_ball_in_a_bowl_of_the_users(friction):
    """The place where it touches moves over the ball and over the bowl: it rolls with the period of a rolling ball."""
    R, r, small = 1.0, 0.1, 1e-4

    def outward(ball):
        return ball.position / np.sqrt(ball.position @ ball.position)

    ball = quirk.Body.sphere("ball", 1.0, r, position=[small, 0, -np.sqrt((R - r) ** 2 - small**2)])
    bowl = quirk.OneSided(
        "bowl",
        ball,
        lambda t, a: R - r - np.sqrt(a.position @ a.position),
        point=lambda t, a: a.position + r * outward(a),
    )
    passes = quirk.Event("passes", "ball.position.x")
    system = quirk.System([ball, bowl, quirk.Friction("rub", bowl, friction), passes], gravity=[0, 0, -G])
    result = quirk.simulate(system, 3.0, output=0.5, **TIGHT)
    times = [event.time for event in result.events if event.name == "passes"]
    np.testing.assert_allclose(2 * np.diff(times), 2 * np.pi * np.sqrt(1.4 * (R - r) / G), rtol=1e-6)
    assert result["rub"].sticking.all()


def test_a_ball_on_a_plate_that_is_free_to_slide():
    """Momentum is kept, and the ball comes to roll; both functions are text."""
    r = 0.1
    plate = quirk.Body.box("plate", 3.0, [2, 1, 0.1], position=[0, 0, -0.05])
    ball = quirk.Body.sphere("ball", 1.0, r, position=[0, 0, r], velocity=[2, 0, 0])
    on = quirk.OneSided("on", [plate, ball], "b.position[2] - a.position[2] - 0.15", point="b.position - [0, 0, 0.1]")
    table = quirk.Prismatic("table", quirk.GROUND, plate, axis=[1, 0, 0], point=[0, 0, 0])
    system = quirk.System([plate, ball, table, on, quirk.Friction("rub", on, MU)], gravity=[0, 0, -G])
    one = quirk.simulate(system, 1.0, output=0.1, **TIGHT)
    np.testing.assert_allclose(one.momentum.linear[:, 0], 2.0, rtol=1e-10)
    v, u = one["ball"].velocity[-1, 0], one["plate"].velocity[-1, 0]
    spin = one["ball"].angular_velocity[-1, 1]
    np.testing.assert_allclose(v - r * spin, u, rtol=1e-9)
    np.testing.assert_allclose(0.4 * r * spin, 2.0 - v, rtol=1e-9)
    assert one.events.name == ["rub"]


def test_a_bead_on_a_parabola():
    """Against the motion along the curve: N = m (g cos + curvature v^2); it slides down, turns back, and slides on."""
    mu = 0.1

    def height(t, bead):
        x, _, z = bead.position
        return (z - x**2) / np.sqrt(1 + 4 * x**2)

    def along(t, y):
        x, v = y
        c = 1 / np.sqrt(1 + 4 * x * x)
        return [v * c, -2 * G * x * c - mu * (G * c + 2 * c**3 * v * v) * np.sign(v)]

    def turns(t, y):
        return y[1] if t > 0.1 else -1.0

    turns.terminal = True
    tight = {"rtol": 1e-11, "atol": 1e-13}
    down = solve_ivp(along, [0, 1], [0.5, -1e-12], events=turns, **tight)
    back = solve_ivp(along, [down.t[-1], 1], [down.y[0, -1], 1e-12], **tight)
    bead = quirk.Body.sphere("bead", 0.1, 0.01, position=[0.5, 0, 0.25])
    rough = quirk.OneSided("rough", bead, height, point=[0, 0, 0])
    system = quirk.System([bead, rough, quirk.Friction("rub", rough, mu)], gravity=[0, 0, -G])
    result = quirk.simulate(system, 1.0, output=0.5, **TIGHT)
    np.testing.assert_allclose(result["bead"].position[-1, 0], back.y[0, -1], rtol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(result["bead"].velocity[-1]), back.y[1, -1], rtol=1e-8)
    np.testing.assert_allclose(result.events.time, [down.t[-1]], rtol=1e-8)


def slider(gap, point, **options):
    ball = quirk.Body.sphere("ball", 1.0, 0.1, position=[0, 0, 0.1], velocity=[1, 0, 0])
    on = quirk.OneSided("on", ball, gap, point=point, **options)
    return quirk.System([ball, on, quirk.Friction("rub", on, MU)], gravity=[0, 0, -G])


@pytest.mark.parametrize(
    ("gap", "point", "message"),
    [
        (lambda t, a: 2.0 * (a.position[2] - 0.1), [0, 0, -0.1], "must be the distance between its bodies"),
        (lambda t, a: a.position[2] - 0.1, [0.05, 0, -0.1], "is not where its bodies touch"),
    ],
)
def test_gaps_and_points_that_do_not_fit(gap, point, message):
    with pytest.raises(SimulationError, match=message):
        quirk.simulate(slider(gap, point), 0.1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: slider(lambda t, a: a.position[2] - 0.1, None), "has no contact point: give it point="),
        (lambda: slider(lambda t, a: a.position[2] - 0.1, [0, 0, -0.1], unit="torque"), "must act between two bodies"),
        (lambda: slider(lambda t, a: a.position[2] - 0.1, [0, 0]), "point"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(InputError, match=message):
        make()


@pytest.mark.parametrize("how", study(["new", "in place", "element"], {"in place"}))
def test_the_place_of_contact_may_be_found_in_place(how):
    """A ball that slides on a level floor and begins to roll at 5/7 of its speed; its function changes what it gets."""

    def point(t, ball):
        if how == "new":
            return ball.position - [0.0, 0.0, 0.1]
        place = ball.position
        if how == "in place":
            place -= [0.0, 0.0, 0.1]
        else:
            place[2] = 0.0
        return place

    ball = quirk.Body.sphere("ball", 5.0, 0.1, position=[0, 0, 0.1], velocity=[7.0, 0, 0])
    floor = quirk.OneSided("floor", ball, lambda t, a: a.position[2] - 0.1, point=point)
    system = quirk.System([ball, floor, quirk.Friction("friction", floor, 0.2)], gravity=[0, 0, -9.81])
    result = quirk.simulate(system, 2.0, output=0.5)
    np.testing.assert_allclose(result["ball"].velocity[-1], [5.0, 0, 0], atol=1e-8)
    np.testing.assert_allclose(result["ball"].angular_velocity[-1], [0, 50.0, 0], atol=1e-6)


@pytest.mark.parametrize("unit", study(["force", "torque"], 1))
def test_work_of_a_gap_that_depends_on_time(unit):
    """A floor that rises at a constant rate lifts a ball, or turns a wheel, at constant power."""
    if unit == "force":
        body = quirk.Body.sphere("body", 1.0, 0.1, velocity=[0, 0, 1.5])
        floor = quirk.OneSided("floor", body, lambda t, a: a.position[2] - 1.5 * t)
        parts = [body, floor]
    else:
        body = quirk.Body("body", 1.0, [0.5, 0.5, 0.5], angular_velocity=[0, 0, 1.5])
        floor = quirk.OneSided(
            "floor", body, lambda t, a: 2.0 * a.rotation[1, 0] - 2.0 * np.sin(1.5 * t), unit="torque"
        )
        hinge = quirk.Revolute("hinge", quirk.GROUND, body, point=[0, 0, 0], axis=[0, 0, 1])
        parts = [body, floor, hinge, quirk.Torque("load", body, [0, 0, -2.0])]
    result = quirk.simulate(quirk.System(parts, gravity=[0, 0, -2.0]), 0.2, output=0.1)
    assert result.power.work["floor"][-1] == pytest.approx(3.0 * 0.2, rel=1e-8)
    np.testing.assert_allclose(result.power.balance, 0, atol=1e-8)
