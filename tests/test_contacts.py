"""Constraints that push: impacts, rest, release."""

import numpy as np
import pytest
from mechanisms import level_rod
from studies import study

import quirk
from quirk.dynamics.contact.lcp import solve_lcp
from quirk.errors import InputError

G = 9.81
S = quirk.surface


def ball_on_a_floor(restitution, *, height=1.0, radius=0.1, velocity=(0, 0, 0), scale=1.0, mass=1.0, **options):
    ball = quirk.Body.sphere(
        "ball", mass=mass, radius=radius * scale,
        position=[0, 0, (height + radius) * scale], velocity=np.multiply(velocity, scale),
    )  # fmt: skip
    floor = quirk.Contact(
        "floor", quirk.GROUND, ball, on_i=S.plane(), on_j=S.sphere(radius * scale), restitution=restitution, **options
    )
    return quirk.System([ball, floor], gravity=[0, 0, -G * scale])


def bounces(e, height, count):
    """Times at which a ball that falls from a height hits the floor."""
    first = np.sqrt(2 * height / G)
    return first * (1 + 2 * np.concatenate([[0], np.cumsum(e ** np.arange(1, count))]))


@pytest.mark.parametrize(("scale", "mass"), [(1.0, 1.0), (1e-3, 1e-6), (1e3, 1e6)])
def test_fifty_bounces_and_rest(scale, mass):
    system = ball_on_a_floor(0.9, velocity=(0.3, 0, 0), scale=scale, mass=mass)
    result = quirk.simulate(system, 10.0, output=0.5, rtol=1e-12, atol=1e-14 * scale)
    hits = [event for event in result.events if event.impulse]
    np.testing.assert_allclose([event.time for event in hits[:50]], bounces(0.9, 1.0, 50), rtol=1e-12)
    speed = np.sqrt(2 * G) * scale
    np.testing.assert_allclose([event.impulse["floor"].force[2] for event in hits[:50]],
                               1.9 * mass * speed * 0.9 ** np.arange(50), rtol=1e-11)  # fmt: skip
    np.testing.assert_allclose([event.energy_loss for event in hits[:30]],
                               0.5 * mass * speed**2 * 0.19 * 0.81 ** np.arange(30), rtol=1e-9)  # fmt: skip
    assert result.active("floor")[-1]
    np.testing.assert_allclose(result["floor"].force()[-1], [0, 0, mass * G * scale], rtol=1e-12, atol=1e-12 * mass)
    np.testing.assert_allclose(result["ball"].velocity[-1], [0.3 * scale, 0, 0], rtol=1e-12, atol=1e-14 * scale)
    assert result["ball"].position[:, 2].min() > 0.1 * scale * (1 - 1e-12)
    assert np.abs(result.power.balance).max() < 1e-12 * mass * (G * scale) * scale * 10
    # The last bounce is slower than what counts as rest.
    assert 100 < len(hits) < 200


def row_of_balls(gap):
    """Five balls in a row, of which the first comes with 1 m/s."""
    places = [-0.3, *(0.2 * k + gap * k for k in range(1, 5))]
    balls = [
        quirk.Body.sphere(f"{k}", mass=1.0, radius=0.1, position=[x, 0, 0], velocity=[float(k == 0), 0, 0])
        for k, x in enumerate(places)
    ]
    contacts = [
        quirk.Contact(
            f"{k} on {k + 1}", balls[k], balls[k + 1], on_i=S.sphere(0.1), on_j=S.sphere(0.1), restitution=1.0
        )
        for k in range(4)
    ]
    return quirk.System([*balls, *contacts])


def test_newtons_cradle():
    """With gaps the last ball leaves alone. In touch Newton's law for all at once gives the least change, 2 P v - v."""
    apart = quirk.simulate(row_of_balls(1e-3), 1.0, output=0.5)
    np.testing.assert_allclose(apart.state.velocity[-1, :, 0], [0, 0, 0, 0, 1], atol=1e-14)
    assert apart.events.name == ["0 on 1", "1 on 2", "2 on 3", "3 on 4"]
    together = quirk.simulate(row_of_balls(0.0), 1.0, output=0.5)
    np.testing.assert_allclose(together.state.velocity[-1, :, 0], [-0.6, 0.4, 0.4, 0.4, 0.4], atol=1e-14)
    for result in (apart, together):
        np.testing.assert_allclose(np.ptp(result.energy.total), 0, atol=1e-14)
        np.testing.assert_allclose(np.ptp(result.momentum.linear[:, 0]), 0, atol=1e-14)


def rocking_block(tilt, h=0.5, b=0.15):
    """A block on one edge of its base, in a plane and without friction."""
    c, s = np.cos(tilt), np.sin(tilt)
    position = -np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]]) @ [b, 0, -h]
    block = quirk.Body.box("block", mass=1.0, size=[2 * b, 1, 2 * h], position=position,
                           orientation=[np.cos(tilt / 2), 0, np.sin(tilt / 2), 0])  # fmt: skip
    corners = [
        quirk.Contact(f"{x}{y}", quirk.GROUND, block, on_i=S.plane(), on_j=S.point([x * b, y * 0.5, -h]))
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    guide = quirk.Generic("guide", quirk.GROUND, block, constrained=[0, 1, 0, 1, 0, 1], point=[0, 0, 0])
    return quirk.System([block, *corners, guide], gravity=[0, 0, -G]), block


def test_a_rocking_block_comes_to_rest():
    """Each change of edge leaves (J - m b^2) / (J + m b^2) of the angular velocity: the blow passes the other edge."""
    b = 0.15
    system, block = rocking_block(0.2)
    result = quirk.simulate(system, 3.0, output=0.02)
    part = (block.inertia[1, 1] - b * b) / (block.inertia[1, 1] + b * b)
    times = [event.time for event in result.events if event.impulse]
    rates = []
    for t in times[:5]:
        rows = np.flatnonzero(result.time == t)
        rates.append(result["block"].angular_velocity[rows[[0, -1]], 1])
    before, after = np.array(rates).T
    np.testing.assert_allclose(after, part * before, rtol=1e-10)
    assert np.diff(result.energy.total).max() < 1e-12
    np.testing.assert_allclose(result["block"].position[-1, 2], 0.5, rtol=1e-12)
    np.testing.assert_allclose(np.abs(result.state.angular_velocity[-1]).max(), 0, atol=1e-12)
    total = sum(result[contact.name].force()[-1, 2] for contact in system.constraints if contact.name != "guide")
    np.testing.assert_allclose(total, G, rtol=1e-12)


def test_a_contact_opens_where_its_load_changes_sign():
    """A ball on a table that is shaken leaves it at sin(w t) = g / (a w^2)."""
    a, w = 0.05, 20.0
    table = quirk.Body.box("table", mass=1.0, size=[1, 1, 0.1], position=[0, 0, -0.05], velocity=[0, 0, a * w])
    rail = quirk.Prismatic("rail", quirk.GROUND, table, axis=[0, 0, 1], point=[0, 0, 0])
    drive = quirk.Drive("drive", rail, quirk.Motion.sinusoid(a, w))
    ball = quirk.Body.sphere("ball", mass=0.1, radius=0.05, position=[0, 0, 0.05], velocity=[0, 0, a * w])
    contact = quirk.Contact("contact", table, ball, on_i=S.plane([0, 0, 0.05]), on_j=S.sphere(0.05))
    system = quirk.System([table, rail, drive, ball, contact], gravity=[0, 0, -G])
    result = quirk.simulate(system, 0.3, output=0.01, rtol=1e-12)
    np.testing.assert_allclose(result.events[0].time, np.arcsin(G / (a * w * w)) / w, rtol=1e-11)
    assert result.events[0].direction == 1
    # It flies until the table catches up.
    leave = result.events[0].time
    hit = result.events[1].time

    def height(t):
        return a * np.sin(w * leave) + a * w * np.cos(w * leave) * (t - leave) - 0.5 * G * (t - leave) ** 2

    np.testing.assert_allclose(height(hit), a * np.sin(w * hit), atol=1e-13)


def test_a_ball_leaves_a_sphere():
    """Sliding from rest at an angle it leaves where the cosine is two thirds of that at the start."""
    start = 0.1
    ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1, position=1.1 * np.array([np.sin(start), 0, np.cos(start)]))
    contact = quirk.Contact("contact", quirk.GROUND, ball, on_i=S.sphere(1.0), on_j=S.sphere(0.1))
    result = quirk.simulate(quirk.System([ball, contact], gravity=[0, 0, -G]), 2.0, output=0.01, rtol=1e-12)
    (event,) = result.events
    row = np.flatnonzero(result.time == event.time)[0]
    np.testing.assert_allclose(result["ball"].position[row, 2] / 1.1, 2 / 3 * np.cos(start), rtol=1e-11)


def test_stops_of_a_joint():
    rod, hinge = level_rod(thickness=0.1)
    stop = quirk.Stop("stop", hinge, lower=-0.5, upper=0.7, restitution=0.5)
    system = quirk.System([rod, hinge, stop], gravity=[0, 0, -G])
    result = quirk.simulate(system, 5.0, output=0.05, rtol=1e-11)
    inertia = rod.inertia[1, 1] + 0.25
    hit = result.events[0]
    speed = np.sqrt(2 * 0.5 * G * np.sin(0.7) / inertia)
    np.testing.assert_allclose(hit.impulse["stop"].torque, [0, -1.5 * inertia * speed, 0], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(result["hinge"].rotation[-1, 2], 0.7, rtol=1e-12)
    np.testing.assert_allclose(result["stop"].torque()[-1], [0, -0.5 * G * np.cos(0.7), 0], rtol=1e-11, atol=1e-12)
    assert result["hinge"].rotation[:, 2].max() < 0.7 + 1e-12


def test_a_stop_counts_turns():
    wheel = quirk.Body.cylinder("wheel", mass=1.0, radius=0.2, length=0.1, axis="z", angular_velocity=[0, 0, 3.0])
    axle = quirk.Revolute("axle", quirk.GROUND, wheel, point=[0, 0, 0], axis=[0, 0, 1])
    stop = quirk.Stop("stop", axle, lower=-1.0, upper=20.0, restitution=1.0)
    result = quirk.simulate(quirk.System([wheel, axle, stop]), 16.0, output=1.0)
    np.testing.assert_allclose(result.events.time, [20 / 3, (20 + 21) / 3], rtol=1e-12)


def test_a_rope_goes_slack_and_taut():
    ball = quirk.Body.sphere("ball", mass=2.0, radius=0.1, position=[0.6, 0, 0])
    rope = quirk.Rope("rope", quirk.GROUND, ball, length=1.0, restitution=0.0)
    result = quirk.simulate(quirk.System([ball, rope], gravity=[0, 0, -G]), 1.5, output=0.01, rtol=1e-11)
    taut = result.events[0]
    # It falls freely until the rope is taut at a depth of 0.8, and keeps the speed across the rope.
    np.testing.assert_allclose(taut.time, np.sqrt(2 * 0.8 / G), rtol=1e-12)
    speed = np.sqrt(2 * G * 0.8)
    np.testing.assert_allclose(taut.energy_loss, 0.5 * 2.0 * (0.8 * speed) ** 2, rtol=1e-10)
    np.testing.assert_allclose(taut.impulse["rope"].force, 2.0 * 0.8 * speed * np.array([-0.6, 0, 0.8]), rtol=1e-10)
    assert np.linalg.norm(result["ball"].position, axis=1).max() < 1 + 1e-12
    assert result.active("rope")[-1]


def test_a_gap_that_a_user_writes():
    """A bead in a bowl that it may leave: z >= (x^2 + y^2) / 2."""
    bead = quirk.Body.sphere("bead", mass=1.0, radius=0.01, position=[0, 0, 1.0], velocity=[0.3, 0, 0])
    bowl = quirk.OneSided("bowl", bead, lambda t, b: b.position[2] - 0.5 * (b.position[:2] @ b.position[:2]),
                          restitution=0.6)  # fmt: skip
    result = quirk.simulate(quirk.System([bead, bowl], gravity=[0, 0, -G]), 6.0, output=0.02, rtol=1e-11)
    x, z = result["bead"].position[:, 0], result["bead"].position[:, 2]
    assert (z - 0.5 * x * x).min() > -1e-11
    assert result.active("bowl")[-1]
    assert np.diff(result.energy.total).max() < 1e-8
    losses = [event.energy_loss for event in result.events if event.impulse]
    assert min(losses) >= -1e-12


def test_a_box_falls_flat():
    """Four corners hit and rest at once, of which any three would do."""
    box = quirk.Body.box("box", mass=2.0, size=[1, 0.6, 0.4], position=[0, 0, 0.7])
    corners = [
        quirk.Contact(
            f"{x}{y}", quirk.GROUND, box, on_i=S.plane(), on_j=S.point([x * 0.5, y * 0.3, -0.2]), restitution=0.4
        )
        for x in (-1, 1)
        for y in (-1, 1)
    ]
    result = quirk.simulate(quirk.System([box, *corners], gravity=[0, 0, -G]), 3.0, output=0.1)
    np.testing.assert_allclose(result["box"].position[-1], [0, 0, 0.2], atol=1e-12)
    loads = [result[corner.name].force()[-1, 2] for corner in corners]
    np.testing.assert_allclose(sum(loads), 2 * G, rtol=1e-12)
    assert min(loads) > -1e-9
    assert np.diff(result.energy.total).max() < 1e-11


def test_a_rim_rolls_and_falls_on_its_edge():
    """A cylinder set down on its lower edge does not pass through the floor."""
    can = quirk.Body.cylinder("can", mass=1.0, radius=0.1, length=0.3, axis="z", position=[0, 0, 0.4],
                              orientation=[np.cos(0.3), np.sin(0.3), 0, 0], angular_velocity=[0, 0, 5.0])  # fmt: skip
    rims = [
        quirk.Contact(
            f"{side}", quirk.GROUND, can, on_i=S.plane(), on_j=S.rim(0.1, [0, 0, side * 0.15]), restitution=0.3
        )
        for side in (-1, 1)
    ]
    result = quirk.simulate(quirk.System([can, *rims], gravity=[0, 0, -G]), 1.0, output=0.01)
    R = quirk.rotation.matrix(result["can"].orientation)
    for side in (-1, 1):
        center = result["can"].point([0, 0, side * 0.15])[:, 2]
        lowest = center - 0.1 * np.sqrt(1 - R[:, 2, 2] ** 2)
        assert lowest.min() > -1e-10
    assert len(result.events) > 3
    assert np.diff(result.energy.total).max() < 1e-9


@pytest.mark.parametrize("seed", study(range(20), 3))
def test_complementarity(seed):
    """Pushes and what they leave satisfy all conditions, with dependent columns and different units."""
    rng = np.random.default_rng(seed)
    count, rank = int(rng.integers(1, 9)), int(rng.integers(1, 7))
    J = rng.normal(size=(count, rank)) * 10 ** rng.uniform(-3, 3, size=(count, 1))
    W, q = J @ J.T, J @ rng.normal(size=rank)
    x = solve_lcp(W, q)
    if x is None:
        # Then some combination of pushes with no effect asks for the impossible.
        from scipy.optimize import linprog

        found = linprog(q, A_eq=J.T, b_eq=np.zeros(rank), A_ub=[[1.0] * count], b_ub=[1.0])
        assert found.fun < 0, f"seed {seed}"
        return
    w = W @ x + q
    scale = np.sqrt(np.diag(W))
    assert x.min() >= 0, f"seed {seed}"
    assert (w / scale).min() > -1e-10 * np.abs(q / scale).max(), f"seed {seed}"
    assert np.abs(x * w).max() <= 1e-9 * np.abs(x * q).max(initial=1e-300), f"seed {seed}"
    push = J[x > 0] / np.linalg.norm(J[x > 0], axis=1, keepdims=True)
    assert len(push) == 0 or np.linalg.matrix_rank(push) == len(push), f"seed {seed}"


def test_a_rope_is_cut():
    ball = quirk.Body.sphere("ball", mass=2.0, radius=0.1, position=[0, 0, -1.0])
    rope = quirk.Rope("rope", quirk.GROUND, ball, length=1.0)
    cut = quirk.Event("cut", "time", level=0.5, action=quirk.release("rope"))
    system = quirk.System([ball, rope, cut], gravity=[0, 0, -G])
    result = quirk.simulate(system, 0.7, output=0.1)
    np.testing.assert_allclose(result["ball"].position[-1, 2], -1 - 0.5 * G * 0.04, rtol=1e-12)
    assert result.active("rope").tolist() == [True] * 6 + [False] * (len(result.time) - 6)
    again = quirk.simulate(system, 0.2, start=0.7, initial_state=result.state_at(), output=0.1)
    assert not again.active("rope").any()
    np.testing.assert_allclose(again["ball"].position[-1, 2], -1 - 0.5 * G * 0.16, rtol=1e-12)
    system.deactivate("rope")
    assert not system.is_active("rope")
    free = quirk.simulate(system, 0.3, output=0.1)
    np.testing.assert_allclose(free["ball"].position[-1, 2], -1 - 0.5 * G * 0.09, rtol=1e-12)


def test_rest_without_gravity():
    """Pressed by a force, a ball comes to rest as it does under its weight."""
    ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1, position=[0, 0, 1.1])
    floor = quirk.Contact("floor", quirk.GROUND, ball, on_i=S.plane(), on_j=S.sphere(0.1), restitution=0.5)
    press = quirk.Force("press", ball, [0, 0, -G])
    result = quirk.simulate(quirk.System([ball, floor, press]), 2.0, output=0.1)
    weighed = quirk.simulate(ball_on_a_floor(0.5), 2.0, output=0.1)
    assert result.active("floor")[-1]
    np.testing.assert_allclose(result.events.time, weighed.events.time, rtol=1e-10)


class TestErrors:
    def test_bodies_in_each_other(self):
        with pytest.raises(InputError, match=r'Contact "floor": its gap \(gap\) is -0.2 at the start'):
            quirk.simulate(ball_on_a_floor(0.5, height=-0.2), 1.0)

    def test_what_cannot_touch(self):
        a, b = (quirk.Body.sphere(name, mass=1.0, radius=0.1, position=[x, 0, 0]) for name, x in (("a", 0), ("b", 1)))
        with pytest.raises(InputError, match='Contact "c": a plane and a plane cannot touch'):
            quirk.Contact("c", a, b, on_i=S.plane(), on_j=S.plane())
        with pytest.raises(InputError, match="two points cannot touch"):
            quirk.Contact("c", a, b, on_i=S.point(), on_j=S.point())
        with pytest.raises(InputError, match="restitution must be between 0 and 1"):
            ball_on_a_floor(1.2)
        with pytest.raises(InputError, match="on_j must be a surface"):
            quirk.Contact("c", a, b, on_i=S.plane(), on_j=0.1)

    def test_stops(self):
        a = quirk.Body.sphere("a", mass=1.0, radius=0.1)
        ball_joint = quirk.Spherical("ball joint", quirk.GROUND, a, point=[0, 0, 0])
        hinge = quirk.Revolute("hinge", quirk.GROUND, a, point=[0, 0, 0], axis=[0, 0, 1])
        with pytest.raises(InputError, match='Stop "s": Spherical "ball joint" has no free'):
            quirk.Stop("s", ball_joint, lower=0)
        with pytest.raises(InputError, match="give lower or upper"):
            quirk.Stop("s", hinge)
        with pytest.raises(InputError, match="lower must be less than upper"):
            quirk.Stop("s", hinge, lower=1, upper=-1)


@pytest.mark.parametrize("scale", study([1.0, 1e-3, 1e3], {1e-3}))
@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("coefficient", [None, 0.1, 0.5])
def test_a_ball_that_leaves_a_bowl_smoothly_lands_on_it_without_interpenetration(coefficient, beside, scale):
    """Where the load of a contact fades away its gap opens slowly; what strikes later strikes at the surface."""
    radius, place = 0.1 * scale, np.array([0, 0, -0.9]) * scale
    ball = quirk.Body.sphere("ball", 1.0, radius, position=place, velocity=[5.2 * scale, 0, 0])
    other = quirk.Body.sphere("other", 1.0, radius, position=[5 * scale, 0, radius])
    shape = quirk.surface.sphere(radius)
    bowl = quirk.Contact("bowl", quirk.GROUND, ball, on_i=quirk.surface.bowl(scale), on_j=shape, restitution=0.5)
    floor = quirk.Contact("floor", quirk.GROUND, other, on_i=quirk.surface.plane(), on_j=shape)
    contacts = [bowl, floor] if beside else [bowl]
    parts = [ball, other, *contacts] if beside else [ball, *contacts]
    if coefficient is not None:
        parts += [quirk.Friction(f"friction of {one.name}", one, coefficient) for one in contacts]
    system = quirk.System(parts, gravity=[0, 0, -9.81 * scale])
    result = quirk.simulate(system, 1.5, output=0.05, rtol=1e-11, atol=1e-14 * scale)
    lifts, *strikes = (event for event in result.events if event.name == "bowl")
    assert lifts.direction == 1
    assert strikes[0].time > lifts.time + 0.1
    at = result["ball"].position[result.time == strikes[0].time]
    np.testing.assert_allclose(np.linalg.norm(at, axis=1), scale - radius, rtol=0, atol=1e-13 * scale)
    assert np.abs(result.power.balance).max() < 1e-11 * result.energy.kinetic.max()
