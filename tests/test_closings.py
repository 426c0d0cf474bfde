"""Loops and relations over a forest of joints: recursion with closing rows, against the dense solver and against rows."""

import badly_scaled
import high_precision
import numpy as np
import pytest
import scale_sweep
from mechanisms import random_body, random_closings, random_forest, random_unit
from recursion_checks import check_projection, check_tangential, rates_by_recursion, rows_alone, started
from studies import study

import quirk
from quirk.dynamics.sparse.kernels.workspace import RECURSIVE

OPEN = [quirk.Revolute, quirk.Spherical, quirk.Fixed, quirk.Prismatic, quirk.Cylindrical, quirk.Universal]
CLOSING = [quirk.Distance, quirk.PointOnPlane, quirk.PointOnLine, quirk.Spherical, quirk.Universal, quirk.Planar,
           quirk.Gear, quirk.Coupling, quirk.Pulley, quirk.PointOnCurve, quirk.Generic, quirk.Screw]  # fmt: skip


def looped(rng, bodies=8, loops=2, kinds=CLOSING, held=True, tree=OPEN):
    """A random tree, with constraints between random bodies that close loops; the second body is free."""
    parts, items = random_forest(rng, bodies, tree, free=(1,) if held else (0, 1))
    items.extend(random_closings(rng, parts, loops, kinds))
    items.append(quirk.Spring("spring", parts[0], parts[-1], point_i=rng.normal(size=3), stiffness=30.0, damping=2.0))
    system = quirk.System([*parts, *items], gravity=[0.3, -0.2, -9.81])
    system.assemble()
    return system


def by_recursion(solver, y, t=0.0):
    """Accelerations of all bodies, in the inertial frame, and angular ones in body axes."""
    return solver.slots.body_states(rates_by_recursion(solver, y, t))


def selected(solver):
    """Whether rows of the closings were selected that complete those of the forest to the rank of all."""
    closings, tree_rows = solver.closings, solver.model.rows - len(solver.closings.lane)
    return bool(closings.norm.any()) and closings.kept.sum() == solver.counts.best_rank - tree_rows


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("kind", CLOSING, ids=lambda kind: kind.__name__)
def test_accelerations(kind, held):
    """As the dense solver has them, for every kind of closing and of joints in the tree."""
    found = 0
    for seed in range(4):
        system = looped(np.random.default_rng([seed, held]), kinds=[kind], held=held)
        solver, y = started(system)
        if not selected(solver):
            continue
        found += 1
        bodies, true = by_recursion(solver, y), system.acceleration(system.initial_state(), solver="dense")
        for part, values in ((bodies[:, 7:10], true.linear), (bodies[:, 10:], true.angular)):
            np.testing.assert_allclose(part, values, rtol=0, atol=2e-12 * np.abs(values).max(), err_msg=str(seed))
    assert found > 1


@pytest.mark.parametrize("duplicate", [quirk.Revolute, quirk.Spherical])
def test_dependent_rows(duplicate):
    """A hinge again, or a point of it: the recursion is that of the tree."""
    rng = np.random.default_rng(1)
    system = looped(rng, loops=0, tree=[quirk.Revolute])
    again = badly_scaled.again("again", duplicate, system["joint3"])
    system = system.with_parts(again)
    solver, y = started(system)
    assert selected(solver) and solver.closings.kept.sum() == 0
    bodies, true = by_recursion(solver, y), system.acceleration(system.initial_state(), solver="dense")
    np.testing.assert_allclose(bodies[:, 7:10], true.linear, rtol=0, atol=1e-12 * np.abs(true.linear).max())


@pytest.mark.parametrize("family", ["loop", "redundant"])
@pytest.mark.parametrize("ratio", study([1e-1, 1e-3], {1e-3}))
@pytest.mark.parametrize("seeds", study([range(2), range(2, 4)], 1))
def test_slender_and_light_bodies(seeds, family, ratio):
    for moment, mass in ((ratio, 1.0), (1.0, ratio)):
        for seed in seeds:
            system = badly_scaled.mechanism(np.random.default_rng(seed), family, moment, mass)
            solver, y = started(system)
            if not selected(solver):
                continue
            found, true = by_recursion(solver, y), high_precision.solve(system, system.initial_state())[:2]
            off = max(
                np.abs(part - values).max() / max(np.abs(values).max(), 1.0)
                for part, values in zip((found[:, 7:10], found[:, 10:]), true, strict=True)
            )
            assert off < 2e-12, (seed, moment, mass)


def test_bodies_that_differ_much_are_left_to_rows():
    system = badly_scaled.mechanism(np.random.default_rng(0), "loop", 1e-7, 1.0)
    assert started(system)[0].work.summary[RECURSIVE] == 0.0
    assert scale_sweep.difference(system) < 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_projection_is_the_nearest_state(seed):
    rng = np.random.default_rng(seed)
    solver, y = started(looped(rng))
    assert selected(solver)
    check_projection(solver, y, rng, 1e4)


def test_variations_along_the_constraints():
    rng = np.random.default_rng(5)
    solver, y = started(looped(rng))
    assert selected(solver)
    by_recursion(solver, y)
    check_tangential(solver, y, rng, 1e-12)


def four_bars(count=3):
    """Four-bar loops of unequal bars on a swinging arm, each on the coupler of the one before."""

    def bar(name, start, end, mass):
        start, end = np.asarray(start, float), np.asarray(end, float)
        d = end - start
        turn = quirk.rotation.exp(np.array([0.0, -np.arctan2(d[2], d[0]), 0.0]))
        size = [np.linalg.norm(d), 0.06, 0.06]
        return quirk.Body.box(name, mass=mass, size=size, position=(start + end) / 2, orientation=turn)

    items, base, corner = [], quirk.GROUND, np.zeros(3)
    for k in range(count):
        a, b, c, d = (corner + p for p in ([0, 0, 0], [0.1, 0, 0.4], [0.7, 0, 0.6], [0.6, 0, 0]))
        bars = [bar(f"crank{k}", a, b, 0.5), bar(f"coupler{k}", b, c, 0.8), bar(f"rocker{k}", d, c, 0.6)]
        ends = [(base, bars[0], a), (bars[0], bars[1], b), (bars[1], bars[2], c), (base, bars[2], d)]
        hinges = [quirk.Revolute(f"hinge{k}{m}", i, j, point=p, axis="y") for m, (i, j, p) in enumerate(ends)]
        items += [*bars, *hinges]
        base, corner = bars[1], b
    return quirk.System(items, gravity=[0, 0, -9.81])


@pytest.mark.parametrize("method", ["RK4", "Tsit5", "Vern9"])
def test_runs(method, monkeypatch):
    """Runs are those by rows, with redundant rows, loads, energy and residuals."""
    options = {"method": method, "output": 0.05} | ({"step": 1e-3} if method == "RK4" else {"rtol": 1e-10})
    found = quirk.simulate(system := four_bars(), 0.4, **options)
    assert len(system.plant.tables.closings.nodes) == 3
    assert found.residual.position.max() < 1e-12 and found.residual.velocity.max() < 1e-11
    rows_alone(monkeypatch)
    true = quirk.simulate(other := four_bars(), 0.4, **options)
    assert not len(other.plant.tables.closings.nodes)
    for body in system.bodies:
        np.testing.assert_allclose(found[body.name].position, true[body.name].position, rtol=0, atol=1e-9)
    for name in ("hinge00", "hinge21"):
        np.testing.assert_allclose(found[name].force(), true[name].force(), rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.energy.total, true.energy.total, rtol=0, atol=1e-8)


def test_runs_use_recursion():
    """A long ring of hinges is faster by recursion; its run, too, has the energy of the start."""
    turn = 2 * np.pi * np.arange(13) / 12
    corners = np.column_stack([np.cos(turn), 0 * turn, np.sin(turn)])
    bodies = [
        quirk.Body.box(f"b{k}", mass=0.5, size=[0.5, 0.1, 0.1], position=corners[k : k + 2].mean(axis=0),
                       orientation=quirk.rotation.exp(np.array([0.0, -turn[k] - np.pi / 2 - np.pi / 12, 0.0])))
        for k in range(12)
    ]  # fmt: skip
    joints = [quirk.Revolute(f"h{k}", bodies[k - 1], bodies[k], point=corners[k], axis="y") for k in range(12)]
    held = quirk.Revolute("held", quirk.GROUND, bodies[0], point=corners[0], axis="y")
    system = quirk.System([*bodies, *joints, held], gravity=[1.0, 0, -9.81])
    assert started(system)[0].work.summary[RECURSIVE] == 1.0
    result = quirk.simulate(system, 0.3, rtol=1e-10, output=0.05)
    assert np.ptp(result.energy.total) < 1e-7 and result.residual.position.max() < 1e-12


def test_passes_singular_poses_as_rows_do(monkeypatch):
    """A parallelogram that becomes flat, where rows become dependent and another motion branches off."""

    def flat():
        bars = [
            quirk.Body.box(name, mass=1.0, size=[1.0, 0.05, 0.05], position=p, orientation=q)
            for name, p, q in (
                ("crank", [0, 0, 0.5], quirk.rotation.exp(np.array([0, -np.pi / 2, 0]))),
                ("coupler", [0.5, 0, 1.0], [1, 0, 0, 0]),
                ("rocker", [1.0, 0, 0.5], quirk.rotation.exp(np.array([0, -np.pi / 2, 0]))),
            )
        ]
        ends = [(quirk.GROUND, bars[0], [0, 0, 0]), (bars[0], bars[1], [0, 0, 1]), (bars[1], bars[2], [1, 0, 1]),
                (quirk.GROUND, bars[2], [1, 0, 0])]  # fmt: skip
        joints = [quirk.Revolute(f"h{k}", i, j, point=p, axis="y") for k, (i, j, p) in enumerate(ends)]
        system = quirk.System([*bars, *joints], gravity=[0, 0, -9.81])
        system.assemble(rates={"h0": 3.0})
        return system

    found = quirk.simulate(flat(), 1.0, rtol=1e-9, output=0.1)
    rows_alone(monkeypatch)
    true = quirk.simulate(flat(), 1.0, rtol=1e-9, output=0.1)
    np.testing.assert_allclose(found["coupler"].position, true["coupler"].position, rtol=0, atol=1e-5)
    assert np.ptp(found.energy.total) < 1e-5


def test_coupled_hinges():
    """A relation between two joints, in a run with projection."""
    rng = np.random.default_rng(3)
    one, two = (random_body(rng, name) for name in ("one", "two"))
    hinges = [
        quirk.Revolute(f"hinge {b.name}", quirk.GROUND, b, point=b.position, axis=random_unit(rng)) for b in (one, two)
    ]
    gear = quirk.Coupling("gear", *hinges, coefficients=[0, -0.5])
    system = quirk.System([one, two, *hinges, gear, quirk.Torque("torque", one, [1.0, 2.0, -0.5])])
    system.assemble()
    result = quirk.simulate(system, 0.5, method="RK4", step=1e-3, output=0.1)
    assert result.residual.position.max() < 1e-12 and result.residual.velocity.max() < 1e-12
