"""Accelerations and projections of forests by recursion: against the dense solver, 50 digits, rows, and plain Python."""

from types import SimpleNamespace

import badly_scaled
import high_precision
import numpy as np
import pytest
import scale_sweep
from mechanisms import random_body, random_forest, random_joint, random_quaternion, random_unit
from recursion_checks import check_projection, check_tangential, rows_alone, started
from scipy.integrate import solve_ivp
from studies import study

import quirk
from quirk.dynamics.sparse.kernels.recursion import (
    BALL,
    CYLINDRICAL,
    DRIVEN_HINGE,
    FREE,
    HINGE,
    JOINT_ENTRIES,
    KIND,
    PARENT,
    SLIDER,
    UNIVERSAL,
    WELD,
)
from quirk.dynamics.sparse.kernels.recursion_solve import accelerate, correct_recursively
from quirk.dynamics.sparse.kernels.workspace import FACTORED, METHOD, RECURSIVE, REFLECTIONS
from quirk.jit.compilation import entry
from quirk.jit.simd import aligned

KINDS = [quirk.Revolute, quirk.Spherical, quirk.Fixed, quirk.Prismatic, quirk.Cylindrical, quirk.Universal]


@entry
def accelerations(mechanism, y, ydot):
    accelerate(mechanism, 0.0, y, ydot)


@entry
def corrected(mechanism, y, level, length):
    return correct_recursively(mechanism, 0.0, y, level, length)


def forest(rng, bodies=9, kinds=KINDS, held=True, forces=True):
    """A random tree whose second body is free; joints name the child before the parent or after it."""
    parts, items = random_forest(rng, bodies, kinds, free=(1,) if held else (0, 1))
    if forces:
        items.append(
            quirk.Spring("spring", parts[0], parts[-1], point_i=rng.normal(size=3), stiffness=30.0, damping=2.0)
        )
        items.append(quirk.Torque("torque", parts[2], rng.normal(size=3)))
    system = quirk.System([*parts, *items], gravity=[0.3, -0.2, -9.81])
    system.assemble()
    return system


def prepared(system):
    """The solver of a system that is a forest, settled at the initial state, and this state."""
    solver, y = started(system)
    assert solver.work.summary[RECURSIVE] == 1.0
    return solver, y


def moved(solver, y):
    """A state some way along the constraints, in which joints have slid and turned."""
    for _ in range(5):
        rates = solver.rates(0.0, y)
        y = y + min(0.05, 0.3 / np.abs(rates).max()) * rates
        assert solver.project(y, 0.0)
    return y, quirk.State(*np.split(solver.slots.body_states(y), [3, 7, 10], axis=1))


def by_recursion(solver, y):
    """Accelerations of all bodies: in the inertial frame, and angular ones in body axes."""
    ydot = aligned(y.size)
    with solver.applied.calling():
        accelerations(solver.mechanism, y, ydot)
    assert solver.work.summary[FACTORED] == 1.0
    return solver.slots.body_states(ydot)


@pytest.mark.parametrize(
    "kinds",
    [*([kind] for kind in KINDS[:2]), [quirk.Revolute, quirk.Fixed], *([kind] for kind in KINDS[3:]), KINDS],
    ids=["hinges", "balls", "welds", "sliders", "cylindrical joints", "universal joints", "all"],
)
@pytest.mark.parametrize("held", [True, False])
def test_accelerations(kinds, held):
    for seed in range(8):
        system = forest(np.random.default_rng([seed, held]), kinds=kinds, held=held)
        solver, y = prepared(system)
        y, state = moved(solver, y)
        found, true = by_recursion(solver, y), system.acceleration(state, solver="dense")
        for part, values in ((found[:, 7:10], true.linear), (found[:, 10:], true.angular)):
            np.testing.assert_allclose(part, values, rtol=0, atol=1e-12 * np.abs(values).max(), err_msg=str(seed))


@pytest.mark.parametrize("off", [1e-4, 1e-6])
def test_off_the_constraints_both_forms_differ_by_the_violation(off):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        solver, y = prepared(forest(rng, forces=False))
        y += np.where(y != 0, off * rng.normal(size=y.size), 0.0)
        found, true = by_recursion(solver, y), solver.slots.body_states(solver.rates(0.0, y))
        assert np.abs(found - true).max() < 300 * off * np.abs(true).max(), seed
        np.testing.assert_array_equal(found[:, :7], true[:, :7])


@pytest.mark.parametrize("family", ["chain", "tree", "hub"])
@pytest.mark.parametrize("ratio", study([1e-2, 1e-3], {1e-3}))
@pytest.mark.parametrize("seeds", study([range(2), range(2, 4)], 1))
def test_slender_and_light_bodies(seeds, family, ratio, monkeypatch):
    """Errors are about those of the row form, which sets the limit where the motion itself is ill conditioned."""
    monkeypatch.setattr(badly_scaled, "OPEN", tuple(KINDS))
    for moment, mass in ((ratio, 1.0), (1.0, ratio)):
        errors = []
        for seed in seeds:
            system = badly_scaled.mechanism(np.random.default_rng(seed), family, moment, mass)
            state = system.initial_state()
            true = high_precision.solve(system, state)[:2]
            found = by_recursion(*prepared(system))
            by_joints = SimpleNamespace(linear=found[:, 7:10], angular=found[:, 10:])
            errors.append([scale_sweep.compared(one, true) for one in (by_joints, system.acceleration(state))])
        worst, of_rows = np.max(errors, axis=0)
        assert worst <= max(1e-13, 10 * of_rows), (moment, mass)


def test_bodies_that_differ_much_are_left_to_rows(monkeypatch):
    """Loads of light bodies between heavy ones are checked, and computed to more digits."""
    monkeypatch.setattr(badly_scaled, "OPEN", tuple(KINDS))
    system = badly_scaled.mechanism(np.random.default_rng(0), "chain", 1e-8, 1.0)
    solver = system.plant.solver()
    solver.settle(solver.slots.state_to_lanes(system.initial_state().pack()), 0.0)
    assert solver.work.summary[RECURSIVE] == 0.0


def chain(n, kinds):
    """A chain of n rods in random directions, with joints of the given kinds by turns, about random axes."""
    rng, parts, lower, end = np.random.default_rng(n), [], quirk.GROUND, np.zeros(3)
    for k in range(n):
        along = random_unit(rng)
        q = quirk.rotation.from_matrix(np.linalg.qr(np.column_stack([along, rng.normal(size=(3, 2))]))[0])
        R = quirk.rotation.matrix(q)
        q = q if R[:, 0] @ along > 0 else quirk.rotation.multiply(q, np.array([0.0, 0, 0, 1]))
        parts.append(quirk.Body(f"rod{k}", 1.0, [0.01, 0.08, 0.08], position=end + along / 2, orientation=q))
        parts.append(badly_scaled.joint_at(rng, kinds[k % len(kinds)], f"joint{k}", lower, parts[-1], end))
        lower, end = parts[-2], end + along
    return quirk.System(parts, gravity=[0, 0, -9.81])


@pytest.mark.parametrize(
    "kinds",
    [*([kind] for kind in KINDS if kind is not quirk.Fixed), KINDS],
    ids=["hinges", "balls", "sliders", "cylindrical joints", "universal joints", "all"],
)
def test_long_chains_do_not_amplify_round_off(kinds):
    """Without symmetric inertias round-off would grow with each ball joint, to 1e6 after 100 of them."""
    system = chain(300, kinds)
    true = system.acceleration(system.initial_state())
    found = by_recursion(*prepared(system))
    assert np.abs(found[:, 7:10] - true.linear).max() < 1e-11 * np.abs(true.linear).max()


@pytest.mark.parametrize("seed", range(4))
def test_projection_is_the_nearest_state(seed):
    rng = np.random.default_rng(seed)
    solver, y = prepared(forest(rng))
    check_projection(solver, y, rng, 1e3)


def test_variations_along_the_constraints():
    rng = np.random.default_rng(5)
    solver, y = prepared(forest(rng))
    by_recursion(solver, y)
    check_tangential(solver, y, rng, 1e-13)


@pytest.mark.parametrize("method", ["RK4", "Tsit5", "Vern9"])
@pytest.mark.parametrize("stabilization", ["projection", None])
def test_runs(method, stabilization, monkeypatch):
    """Runs are those by rows, with springs, whose work is integrated, and free bodies."""
    system = forest(np.random.default_rng(11))
    options = {"method": method, "output": 0.05, "stabilization": stabilization}
    options |= {"step": 1e-3} if method == "RK4" else {"rtol": 1e-10}
    found = quirk.simulate(system, 0.3, **options)
    assert system.plant.tables.recursion.entries.size
    rows_alone(monkeypatch)
    other = system.with_parts()
    true = quirk.simulate(other, 0.3, **options)
    assert not other.plant.tables.recursion.entries.size
    for body in system.bodies:
        np.testing.assert_allclose(found[body.name].position, true[body.name].position, rtol=0, atol=1e-8)
    for name in ("joint0", "joint5"):
        np.testing.assert_allclose(found[name].force(), true[name].force(), rtol=0, atol=1e-5)
    if stabilization:
        assert found.residual.position.max() < 1e-12 and found.residual.velocity.max() < 1e-11


@pytest.mark.parametrize("step", [0.02, 0.01])
def test_fixed_steps_have_the_errors_of_those_by_rows(step, monkeypatch):
    """Stages off the constraints differ by less than a tenth of the error of the steps."""
    system = forest(np.random.default_rng(7), held=True, forces=False)
    true = quirk.simulate(system, 0.4, rtol=1e-12, output=[0.4]).state_at(-1).position
    found = quirk.simulate(system, 0.4, method="RK4", step=step, output=[0.4]).state_at(-1).position
    rows_alone(monkeypatch)
    by_rows = quirk.simulate(system.with_parts(), 0.4, method="RK4", step=step, output=[0.4]).state_at(-1).position
    error, error_by_rows = np.abs(found - true).max(), np.abs(by_rows - true).max()
    assert error < 1.2 * error_by_rows + 1e-12
    assert np.abs(found - by_rows).max() < 0.2 * error_by_rows + 1e-12


def test_tables_hold_forests_of_these_kinds_alone():
    rng = np.random.default_rng(2)
    system = forest(rng, bodies=40)
    entries = system.plant.tables.recursion.entries.reshape(-1, JOINT_ENTRIES)
    assert set(entries[:, KIND]) == {HINGE, BALL, WELD, FREE, SLIDER, CYLINDRICAL, UNIVERSAL}
    assert (entries[:, PARENT] > 64 * np.arange(len(entries))).all()  # children come first
    one, two = random_body(rng, "one"), random_body(rng, "two")
    first = random_joint(rng, "first", quirk.GROUND, one, kind=quirk.Revolute)
    second = random_joint(rng, "second", one, two, kind=quirk.Spherical)
    third = quirk.Spherical("third", quirk.GROUND, two, point=two.position)
    drive = quirk.Drive("drive", first, quirk.Motion.constant_rate(1.0))
    table = random_joint(rng, "table", one, two, kind=quirk.Planar)
    for parts in (
        [first, second, third],
        [first, second, drive, quirk.Drive("again", first, drive.motion)],
        [first, table],
    ):
        tables = quirk.System([one, two, *parts]).plant.tables
        assert set(tables.recursion.entries.reshape(-1, JOINT_ENTRIES)[:, KIND]) <= {HINGE, BALL, FREE, DRIVEN_HINGE}
        assert len(tables.closings.nodes) == 1


@pytest.mark.parametrize("kind", [quirk.Prismatic, quirk.Cylindrical, quirk.Revolute])
@pytest.mark.parametrize("first", [0, 1])
def test_axes_against_each_other(kind, first):
    """The rows of these joints allow it; projection keeps the axes so."""
    rng = np.random.default_rng(3)
    one, two = (random_body(rng, name) for name in ("one", "two"))
    root = random_joint(rng, "root", quirk.GROUND, one, kind=quirk.Universal)
    point, q = rng.normal(size=3), random_quaternion(rng)
    bodies, turned = (one, two)[:: 1 - 2 * first], quirk.rotation.multiply(q, np.array([0.0, 1.0, 0.0, 0.0]))
    frames = []
    for body, axes in zip(bodies, (q, turned), strict=True):
        back = quirk.rotation.conjugate(body.orientation)
        origin = quirk.rotation.matrix(back) @ (point - body.position)
        frames.append(quirk.Frame(origin=origin, rotation=quirk.rotation.multiply(back, axes)))
    system = quirk.System([one, two, root, kind("joint", *bodies, frame_i=frames[0], frame_j=frames[1])])
    system.assemble()
    solver, y = prepared(system)
    y, state = moved(solver, y)
    found, true = by_recursion(solver, y), system.acceleration(state, solver="dense")
    np.testing.assert_allclose(found[:, 7:10], true.linear, rtol=0, atol=1e-12 * np.abs(true.linear).max())
    np.testing.assert_allclose(found[:, 10:], true.angular, rtol=0, atol=1e-12 * np.abs(true.angular).max())


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_a_bead_on_a_turning_rod_is_thrown_outward(scale):
    """A slider in a rod that turns freely about a fixed axis: the distance r and the angle rate w by two integrals.

    The angular momentum (J + m r^2) w and the energy m r'^2 / 2 + (J + m r^2) w^2 / 2 are constant, with the moment of
    inertia J of the rod and of the bead about its center.
    """
    m, J, moment, spin, start = 2.0, 3.0 * scale**2, 0.1 * scale**2, 5.0, 0.4 * scale
    rod = quirk.Body("rod", 1.0, [0.1 * scale**2, J, J], angular_velocity=[0, 0, spin])
    bead = quirk.Body(
        "bead", m, [moment] * 3, position=[start, 0, 0], velocity=[0, spin * start, 0], angular_velocity=[0, 0, spin]
    )
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis="z")
    system = quirk.System([rod, bead, hinge, quirk.Prismatic("slide", rod, bead, axis="x")])
    result = quirk.simulate(system, 1.0, rtol=1e-11, atol=1e-14 * scale, output=0.1)
    r, v = np.linalg.norm(result["bead"].position, axis=1), result["slide"].velocity[:, 2]
    w, inertia = result["rod"].angular_velocity[:, 2], J + moment + m * r**2
    np.testing.assert_allclose(inertia * w, inertia[0] * spin, rtol=1e-9)
    np.testing.assert_allclose(m * v**2 + inertia * w**2, inertia[0] * spin**2, rtol=1e-9)
    assert r[-1] > 3 * start


@pytest.mark.parametrize("seed", range(4))
def test_welded_bodies_move_as_one(seed):
    """A chain of welded parts is one body with their total mass and inertia."""
    rng = np.random.default_rng(seed)
    parts = [
        quirk.Body(f"part{k}", 1.0 + k, [2, 3, 4], position=rng.normal(size=3), orientation=random_quaternion(rng))
        for k in range(4)
    ]
    welds = [random_joint(rng, f"weld{k}", parts[k], parts[k + 1], kind=quirk.Fixed) for k in range(3)]
    point, axis = rng.normal(size=3), random_unit(rng)
    hinge = quirk.Revolute("hinge", parts[1], quirk.GROUND, point=point, axis=axis)
    found = quirk.simulate(quirk.System([*parts, *welds, hinge], gravity=[0, 0, -9.81]), 1.0, rtol=1e-11, output=[1.0])
    # Moments about the hinge: of inertia, and of the weights at first.
    inertia = first = 0.0
    for part in parts:
        R, arm = quirk.rotation.matrix(part.orientation), part.position - point
        inertia += axis @ R @ part.inertia @ R.T @ axis + part.mass * np.linalg.norm(np.cross(axis, arm)) ** 2
        first += part.mass * arm
    first = first - (first @ axis) * axis
    across, g = np.cross(axis, first), np.array([0, 0, -9.81])
    angle = solve_ivp(
        lambda t, x: [x[1], g @ (across * np.cos(x[0]) - first * np.sin(x[0])) / inertia],
        (0, 1),
        [0, 0],
        rtol=1e-12,
        atol=1e-13,
        method="DOP853",
    ).y[0, -1]
    assert abs(abs(found["hinge"].angle[-1]) - abs(angle)) < 1e-9 * max(1.0, abs(angle))


def test_friction_is_left_to_rows():
    """It needs multipliers at every state."""
    body = quirk.Body("body", 1.0, [1, 2, 3], position=[1, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, body, point=[0, 0, 0], axis="y")
    friction = quirk.Friction("friction", hinge, 0.1, radius=0.1)
    system = quirk.System([body, hinge, friction], gravity=[0, 0, -9.81])
    solver = system.plant.solver()
    solver.settle(solver.slots.state_to_lanes(system.initial_state().pack()), 0.0)
    assert solver.work.summary[RECURSIVE] == 0.0 and solver.work.summary[METHOD] != REFLECTIONS
