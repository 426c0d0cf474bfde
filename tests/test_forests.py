"""Elimination of tree joints by their freedoms: against the dense solver, against blocks, and badly scaled."""

import high_precision
import numpy as np
import pytest
import scale_sweep
from badly_scaled import chain_of_wires
from mechanisms import random_body, random_forest, random_joint, random_unit
from studies import study

import quirk
from quirk.dynamics.sparse.kernels.workspace import FOREST, FREEDOMS, LEAST, METHOD, PASSES

# All joints whose rows are primitives: from a weld to a point on a plane.
KINDS = [
    quirk.Revolute, quirk.Spherical, quirk.Universal, quirk.Fixed, quirk.Prismatic, quirk.Cylindrical, quirk.Planar,
    quirk.PointOnLine, quirk.PointOnPlane, quirk.Distance,
]  # fmt: skip


def tree(rng, kinds, bodies=6, held=True):
    """A random tree; joints take child and parent in both orders, and it hangs on the ground if it is `held`."""
    parts, joints = random_forest(rng, bodies, kinds, free=() if held else (0,))
    return quirk.System([*parts, *joints], gravity=[0.3, -0.2, -9.81])


def by_freedoms(system, state):
    """A solver that eliminates by freedoms whatever the pivots are, and the state as it takes it."""
    solver = system.plant.solver()
    y = solver.slots.state_to_lanes(state.pack())
    solver.settle(y, 0.0)
    assert solver.work.summary[FOREST] == 1.0
    solver.work.summary[METHOD] = FREEDOMS
    return solver, y


def by_rows(system, state):
    """A solver that eliminates by rows, refined."""
    solver = system.plant.solver()
    solver.tree = solver.tree._replace(entries=solver.tree.entries[:0])
    y = solver.slots.state_to_lanes(state.pack())
    solver.settle(y, 0.0)
    assert solver.work.summary[METHOD] != FREEDOMS
    solver.work.summary[PASSES] = max(3, solver.work.summary[PASSES])
    return solver, y


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("kind", [*KINDS, None], ids=lambda kind: "mixed" if kind is None else kind.__name__)
def test_accelerations_and_loads(kind, held):
    """As the dense solver has them, at states on the constraints and off them."""
    for seed in range(4):
        rng = np.random.default_rng([seed, held])
        system = tree(rng, KINDS if kind is None else [kind], held=held)
        system.assemble()
        for off in (0.0, 1e-3):
            state = system.initial_state()
            state.position += off * rng.normal(size=state.position.shape)
            state.velocity += off * rng.normal(size=state.velocity.shape)
            solver, y = by_freedoms(system, state)
            found = solver.rates(0.0, y)
            other, y = by_rows(system, state)
            true = other.rates(0.0, y)
            assert np.abs(found - true).max() <= 1e-12 * max(np.abs(true).max(), 1.0), (seed, off)
            loads, true_loads = solver.multipliers(), other.multipliers()
            assert np.abs(loads - true_loads).max() <= 1e-11 * max(np.abs(true_loads).max(), 1.0), (seed, off)
        dense = system.acceleration(system.initial_state(), solver="dense")
        default = system.acceleration(system.initial_state())
        size = max(np.abs(dense.linear).max(), 1.0)
        np.testing.assert_allclose(default.linear, dense.linear, rtol=0, atol=1e-12 * size)


@pytest.mark.parametrize("seed", range(4))
def test_projection_and_impulses(seed):
    rng = np.random.default_rng(seed)
    system = tree(rng, KINDS)
    system.assemble()
    state = system.initial_state()
    (solver, y), (other, z) = by_freedoms(system, state), by_rows(system, state)
    rates, wrench = rng.normal(size=system.model.rows), rng.normal(size=(len(system.bodies), 6))
    for found, true in zip(solver.respond(y, 0.0, rates, wrench), other.respond(z, 0.0, rates, wrench), strict=True):
        np.testing.assert_allclose(found, true, rtol=0, atol=1e-11 * np.abs(true).max())
    moved = np.where(y != 0, 1e-3 * rng.normal(size=y.size), 0.0)
    y += moved
    z += moved
    assert solver.project(y, 0.0) and other.project(z, 0.0)
    assert solver.work.summary[METHOD] == FREEDOMS
    np.testing.assert_allclose(y, z, rtol=0, atol=1e-12)


@pytest.mark.parametrize("method", ["RK4", "Vern9", "Taylor", "RadauIIA9"])
def test_runs(method, monkeypatch):
    """A chain of hinges with small pivots runs by freedoms, to the same motion as by rows."""
    parts, lower, end = [], quirk.GROUND, np.zeros(3)
    rng = np.random.default_rng(3)
    for k in range(12):
        along = random_unit(rng)
        mass = 1.0 if k % 2 else 1e-3
        parts.append(quirk.Body(f"rod{k}", mass, mass * np.array([0.08, 0.08, 0.08]), position=end + along / 2))
        parts.append(quirk.Revolute(f"hinge{k}", lower, parts[-1], point=end, axis=random_unit(rng)))
        lower, end = parts[-2], end + along
    system = quirk.System(parts, gravity=[0, 0, -9.81])
    solver = system.plant.solver()
    solver.settle(solver.slots.state_to_lanes(system.initial_state().pack()), 0.0)
    assert solver.work.summary[METHOD] == FREEDOMS and solver.work.summary[LEAST] < 2e-3
    options = {"method": method, "output": [0.2], **({"step": 1e-3} if method == "RK4" else {"rtol": 1e-11})}
    found = quirk.simulate(system, 0.2, **options)
    monkeypatch.setattr("quirk.dynamics.sparse.symbolic.tables_of_tree._is_forest", lambda joints, n: False)
    other = quirk.System(parts, gravity=[0, 0, -9.81])
    assert not len(other.plant.tables.tree.entries)
    true = quirk.simulate(other, 0.2, **options)
    allowed = 1e-12 if method == "RK4" else 1e-9
    for name in ("rod3", "rod11"):
        np.testing.assert_allclose(found[name].position, true[name].position, rtol=0, atol=allowed)
        np.testing.assert_allclose(found[name].velocity, true[name].velocity, rtol=0, atol=10 * allowed)


@pytest.mark.parametrize("ratio", study([1e-6, 1e-9, 1e-13], {1e-13}))
def test_slender_and_light_bodies(ratio):
    """Rods of a small moment, with ball joints on their axes, turn about these as they should: not at all."""
    for seed in range(2):
        for moment, mass in ((ratio, 1.0), (1.0, ratio)):
            system = chain_of_wires(np.random.default_rng(seed), moment, mass)
            assert len(system.plant.tables.tree.entries)
            state = system.initial_state()
            true = high_precision.solve(system, state)[:2]
            assert scale_sweep.compared(system.acceleration(state), true) <= 1e-13, (seed, moment, mass)


def test_dependent_rows_of_a_joint_are_left_to_blocks():
    """Far off the constraints the two normals of a hinge may coincide, so that rows do not determine its freedom."""
    body = quirk.Body("body", 1.0, [1, 2, 3])
    system = quirk.System([body, quirk.Revolute("hinge", quirk.GROUND, body, point=[0, 0, 1], axis="z")])
    solver, _ = by_freedoms(system, system.initial_state())
    state = system.initial_state()
    state.orientation[0] = quirk.rotation.exp(np.array([np.pi / 2, 0, 0]))
    solver.rates(0.0, solver.slots.state_to_lanes(state.pack()))
    assert solver.work.summary[METHOD] != FREEDOMS and solver.work.summary[FOREST] == 0.0


@pytest.mark.parametrize("extra", ["loop", "second joint", "relation"])
def test_others_are_eliminated_by_rows(extra):
    rng = np.random.default_rng(0)
    one, two = random_body(rng, "one"), random_body(rng, "two")
    joints = [random_joint(rng, "first", quirk.GROUND, one, quirk.Revolute)]
    if extra != "second joint":
        joints.append(random_joint(rng, "second", one, two, quirk.Revolute))
    joints.append({
        "loop": quirk.Distance("rod", two, quirk.GROUND),
        "second joint": quirk.Distance("rod", quirk.GROUND, one),
        "relation": quirk.Drive("drive", joints[0], quirk.Motion.constant_rate(1.0)),
    }[extra])  # fmt: skip
    assert not len(quirk.System([one, two, *joints]).plant.tables.tree.entries)
