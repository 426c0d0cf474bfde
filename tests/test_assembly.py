import time

import numpy as np
import pytest
from mechanisms import random_quaternion, random_system
from scipy.optimize import minimize
from studies import study

import quirk
from quirk import GROUND, planar, rotation


def disturbed(state, rng, amount):
    n = len(state.position)
    turn = rotation.exp(amount * rng.normal(size=(n, 3)))
    return quirk.State(
        state.position + amount * rng.normal(size=(n, 3)),
        rotation.multiply(state.orientation, turn),
        rng.normal(size=(n, 3)),
        rng.normal(size=(n, 3)),
    )


def distance(system, start, state):
    theta = rotation.log(rotation.multiply(rotation.conjugate(start.orientation), state.orientation))
    J = system.model.inertia
    return (system.model.mass @ ((state.position - start.position) ** 2).sum(axis=1)
            + np.einsum("ni,nij,nj->", theta, J, theta))  # fmt: skip


@pytest.mark.parametrize("amount", [1e-6, 1e-2, 0.2])
@pytest.mark.parametrize("seed", study(range(4), 1))
def test_assembled_states_satisfy_all_constraints(seed, amount):
    rng = np.random.default_rng(seed)
    system = random_system(rng, bodies=4, loops=seed % 3)
    start = disturbed(system.initial_state(), rng, amount)
    state = system.assemble(start)
    rows = system.constraint_rows(state)
    np.testing.assert_allclose(rows.phi, 0, atol=1e-11)
    np.testing.assert_allclose(rows.phi_dot, 0, atol=1e-11)
    again = system.initial_state()
    np.testing.assert_array_equal(again.position, state.position)


@pytest.mark.parametrize("seed", study(range(4), 1))
def test_no_pose_on_the_constraints_is_nearer(seed):
    rng = np.random.default_rng(seed)
    system = random_system(rng, bodies=2, loops=0)
    start = disturbed(system.initial_state(), rng, 0.15)
    found = system.assemble(start)

    def at(x):
        x = x.reshape(-1, 6)
        q = rotation.multiply(found.orientation, rotation.exp(x[:, 3:]))
        return quirk.State(found.position + x[:, :3], q, found.velocity, found.angular_velocity)

    best = minimize(
        lambda x: distance(system, start, at(x)), np.zeros(12), method="SLSQP",
        constraints={"type": "eq", "fun": lambda x: system.constraint_rows(at(x)).phi},
        options={"ftol": 1e-14, "maxiter": 300},
    )  # fmt: skip
    assert distance(system, start, found) <= best.fun * (1 + 1e-6)


def test_rates_alone_are_met_on_the_constraints():
    rod = quirk.Body("rod", 1.0, [0.01, 0.1, 0.1], position=[0.52, 0, 0.01])
    hinge = quirk.Revolute(
        "hinge", quirk.GROUND, rod, frame_i=quirk.Frame([0, 0, 0]), frame_j=quirk.Frame([-0.5, 0, 0])
    )
    system = quirk.System([rod, hinge])
    assert np.abs(system.constraint_rows(system.initial_state()).phi).max() > 1e-3
    state = system.assemble(rates={"hinge": 3.0})
    rows = system.constraint_rows(state)
    np.testing.assert_allclose([*rows.phi, *rows.phi_dot], 0, atol=1e-12)
    assert state.angular_velocity[0, 2] == pytest.approx(3.0, rel=1e-12)


def test_velocities_change_as_little_as_kinetic_energy_tells():
    rng = np.random.default_rng(5)
    system = random_system(rng, bodies=3, loops=1)
    start = disturbed(system.initial_state(), rng, 0.0)
    state = system.assemble(start)
    change = np.concatenate([state.velocity - start.velocity, state.angular_velocity - start.angular_velocity], axis=1)
    momentum = np.concatenate(
        [system.model.mass[:, None] * change[:, :3], np.einsum("nij,nj->ni", system.model.inertia, change[:, 3:])],
        axis=1,
    )
    # The impulse that changes them does no work on the velocities that the constraints allow.
    allowed = np.concatenate([state.velocity, state.angular_velocity], axis=1)
    assert abs((momentum * allowed).sum()) < 1e-10


def test_assembly_from_far_away():
    """A closed four-bar loop whose bars lie about at random."""
    rng = np.random.default_rng(1)
    bars = [
        quirk.Body(f"bar{k}", 1.0, [0.01, 0.1, 0.1], position=rng.normal(size=3), orientation=random_quaternion(rng))
        for k in range(3)
    ]
    ends = [quirk.GROUND, *bars, quirk.GROUND]
    joints = []
    for k in range(4):
        frame_i = quirk.Frame([0.5, 0, 0]) if k else quirk.Frame([0, 0, 0])
        frame_j = quirk.Frame([-0.5, 0, 0]) if k < 3 else quirk.Frame([0.8, 0, 0])
        joints.append(quirk.Spherical(f"joint{k}", ends[k], ends[k + 1], frame_i=frame_i, frame_j=frame_j))
    system = quirk.System([*bars, *joints])
    with pytest.raises(quirk.InconsistentStateError, match=r"assemble\(\)"):
        quirk.simulate(system, 1.0)
    rows = system.constraint_rows(system.assemble())
    np.testing.assert_allclose(rows.phi, 0, atol=1e-12)
    quirk.simulate(system, 0.1)


@pytest.mark.parametrize("degrees", [30, 91, 100, 135, 179])
@pytest.mark.parametrize("axis", ["x", "z"])
@pytest.mark.parametrize("kind", [quirk.Fixed, quirk.Prismatic, quirk.Revolute])
def test_joints_are_not_assembled_the_wrong_way_round(kind, axis, degrees):
    """Perpendicular axes leave two ways to fit; only the one in which the frames agree is right."""
    turn = np.radians(degrees) / 2
    frame = quirk.Frame([-0.5, 0, 0], [np.cos(turn), *(np.sin(turn) * np.eye(3)["xyz".index(axis)])])
    body = quirk.Body("b", 1.0, [0.1, 0.2, 0.25], position=[0.1, 0, 0])
    system = quirk.System([body, kind("joint", quirk.GROUND, body, frame_i=quirk.Frame(), frame_j=frame)])
    state = system.assemble()
    axes = rotation.matrix(state.orientation[0]) @ frame.matrix
    aligned = [2] if kind is quirk.Revolute else [0, 1, 2]
    np.testing.assert_allclose(axes[:, aligned], np.eye(3)[:, aligned], atol=1e-10)


def test_what_cannot_be_assembled_is_named():
    a = quirk.Body("a", 1.0, [0.1, 0.1, 0.1], position=[0.5, 0, 0])
    ball = quirk.Spherical("ball", quirk.GROUND, a, point=[0, 0, 0])
    wire = quirk.Distance("wire", quirk.GROUND, a, point_i=[5, 0, 0], point_j=[0.5, 0, 0], length=1.0)
    system = quirk.System([a, ball, wire])
    with pytest.raises(quirk.AssemblyError, match=r'(Spherical "ball"|Distance "wire"): cannot be assembled') as error:
        system.assemble()
    assert "check lengths" in str(error.value)


def hinged(cells, rng):
    """A ladder of four-bars of hinges in space: three redundant rows in each cell."""
    items, below = [], GROUND
    for c in range(cells):
        ends = (("l", [0, 0, c], [0, 0, c + 1]), ("r", [1, 0, c], [1, 0, c + 1]), ("t", [0, 0, c + 1], [1, 0, c + 1]))
        left, right, top = (quirk.Body.bar(f"{n}{c}", p, q, mass=rng.uniform(0.5, 2)) for n, p, q in ends)
        joints = (
            ("a", below, left, 0, c),
            ("b", below, right, 1, c),
            ("c", left, top, 0, c + 1),
            ("d", right, top, 1, c + 1),
        )
        items += [
            left,
            right,
            top,
            *(quirk.Revolute(f"{n}{c}", i, j, point=[x, 0, z], axis="y") for n, i, j, x, z in joints),
        ]
        below = top
    return quirk.System(items)


def pinned(cells):
    """The same ladder in a plane."""
    items, below = [], GROUND
    for c in range(cells):
        ends = (("l", [0, c], [0, c + 1]), ("r", [1, c], [1, c + 1]), ("t", [0, c + 1], [1, c + 1]))
        left, right, top = (planar.PlanarBody.bar(f"{n}{c}", p, q, mass=1.0) for n, p, q in ends)
        joints = (
            ("a", below, left, 0, c),
            ("b", below, right, 1, c),
            ("c", left, top, 0, c + 1),
            ("d", right, top, 1, c + 1),
        )
        items += [left, right, top, *(planar.Revolute(f"{n}{c}", i, j, point=[x, y]) for n, i, j, x, y in joints)]
        below = top
    return quirk.System(items)


def net(rng):
    """Balls in a grid, joined by rods."""
    balls = {
        (a, b): quirk.Body.sphere(f"ball {a}{b}", 1.0, 0.1, position=[a, b, 0.3 * rng.normal()])
        for a in range(3) for b in range(3)
    }  # fmt: skip
    rods = [
        quirk.Distance(f"rod {a}{b} {c}{d}", ball, balls[c, d])
        for (a, b), ball in balls.items() for c, d in ((a + 1, b), (a, b + 1)) if (c, d) in balls
    ]  # fmt: skip
    return quirk.System([*balls.values(), *rods, quirk.Distance("mooring", GROUND, balls[0, 0], point_i=[-1, 0, 0])])


@pytest.mark.parametrize("amount", [0.01, 0.1, 0.3])
@pytest.mark.parametrize("seed", study(range(3), 1))
@pytest.mark.parametrize("kind", ["hinged", "net", "pinned", "random"])
def test_redundant_and_large_systems_scattered_near_and_far(kind, seed, amount):
    rng = np.random.default_rng(seed)
    system = {
        "hinged": lambda: hinged(2 + seed, rng),
        "net": lambda: net(rng),
        "pinned": lambda: pinned(2 + seed),
        "random": lambda: random_system(rng, bodies=4 + seed, loops=2),
    }[kind]()
    start = disturbed(system.initial_state(), rng, amount)
    state = system.assemble(start)
    rows = system.constraint_rows(state)
    np.testing.assert_allclose(rows.phi, 0, atol=1e-11)
    np.testing.assert_allclose(rows.phi_dot, 0, atol=1e-10)
    if amount > 0.1:
        return
    # No displacement that the constraints allow leads nearer, to first order.
    for move in system.virtual_displacements(state):
        h = 1e-4 / np.abs(move).max()
        ends = [
            quirk.State(
                state.position + x * move[:, :3], rotation.multiply(state.orientation, rotation.exp(x * move[:, 3:])),
                state.velocity, state.angular_velocity,
            )
            for x in (h, -h)
        ]  # fmt: skip
        plus, minus = (distance(system, start, end) for end in ends)
        assert abs(plus - minus) / (2 * h) < 1e-6


def test_assembly_takes_time_in_proportion_to_the_bodies():
    """In seconds of a processor: dense matrices would take minutes."""
    rng = np.random.default_rng(0)
    pinned(1).assemble()  # loads machine code
    for cells, scatter, most in ((20, 0.3, 3.0), (100, 0.01, 5.0)):
        system = pinned(cells)
        start = system.initial_state()
        half = 0.5 * scatter * rng.uniform(-1, 1, len(start.position))
        turn = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
        start.orientation = rotation.multiply(start.orientation, turn)
        start.position[:, :2] += scatter * rng.uniform(-1, 1, (len(half), 2))
        began = time.process_time()
        state = system.assemble(start)
        taken = time.process_time() - began
        print(cells, scatter, taken)
        assert taken < most
        assert np.abs(system.constraint_rows(state).phi).max() < 1e-9


@pytest.mark.parametrize("seed", study(range(4), 1))
def test_frames_turned_over_on_the_way_are_turned_back(seed):
    """From so far that the nearest poses are often those with a hinge turned over."""
    rng = np.random.default_rng(seed)
    system = hinged(1 + seed, rng)
    state = system.assemble(disturbed(system.initial_state(), rng, 1.0))
    assert np.abs(system.constraint_rows(state).phi).max() < 1e-11
    quirk.simulate(system, 0.01)


def test_coordinates_on_rows_that_are_left_out():
    """A light pole on a cart: far from the constraints the row of its angle seems to depend on others at first."""
    from quirk.demos.cart_pole import build

    system = build()
    start = system.initial_state()
    found = system.assemble(start, coordinates={"hinge": 0.4})
    mass = np.array([body.mass for body in system.bodies])
    moved = (found.position - start.position)[:, 0]
    assert np.abs(moved).min() > 1e-3 and abs(mass @ moved) < 1e-12  # the nearest state, in the mass metric


def test_it_keeps_what_poses_do_not_contain():
    """The integral of a controller, and the parts that events have switched, remain in an assembled state."""
    box = quirk.Body.box("box", 2.0, [0.1, 0.1, 0.1], position=[1.0, 0, 0])
    rail = quirk.Prismatic("rail", quirk.GROUND, box, point=[0, 0, 0], axis="x")
    lock = quirk.Fixed("lock", quirk.GROUND, box, active=False)
    hold = quirk.Controller("hold", rail, target=0.3, kp=4.0, ki=2.0, kd=1.0)
    engage = quirk.Event("engage", "time", level=1.0, action=quirk.enable("lock", keep_offset=True))
    system = quirk.System([box, rail, lock, hold, engage])
    before = quirk.simulate(system, 0.8, output=0.8).state_at()
    for options in ({}, {"coordinates": {"rail": 0.2}}):
        assembled = system.assemble(before, **options)
        np.testing.assert_array_equal(assembled.internal["hold"], before.internal["hold"])
    after = quirk.simulate(system, 1.5, output=1.5).state_at()
    assert system.assemble(after).switched == after.switched
    assert system.mobility().degrees_of_freedom == 0
