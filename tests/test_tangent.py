"""The tangent of accelerations and loads, against extrapolated differences, for every constraint and force."""

import numpy as np
import pytest
from dense_tangents import tangent as dense_tangent
from differences import extrapolated, moved_along
from mechanisms import random_system
from pairs import KINDS, LONG, pair
from studies import study
from test_force_contract import FIRST_VARIANTS, system_with

import quirk
from benchmarks.references import build, load
from quirk.bodies.state import Kinematics
from quirk.dynamics.dense import equations
from quirk.dynamics.dense.rows import tangent_rows
from quirk.dynamics.model.constrained_motion import angular_acceleration
from quirk.dynamics.model.directions import Directions
from quirk.dynamics.sparse.tangent.tangent import Differential

T = 0.3


def sparse(system, state, t, directions):
    solver = system.plant.solver()
    solver.settle_state(state, t)
    return Differential(solver).at(solver.slots.state_to_lanes(system.model.auxiliary.flat(state)), t, directions)


def dense(system, state, t, directions):
    kept = system.plant.solver().row_independence(state, t).independent
    return dense_tangent(system.model, system.plant.metric, state, t, directions, kept)


def random_directions(system, seed, count=1):
    rng = np.random.default_rng(seed)
    directions = Directions.none(system.model, count)
    directions.bodies[:] = rng.normal(size=directions.bodies.shape)
    directions.time[:] = rng.normal(size=count)
    return directions


def along_constraints(system, state, directions):
    """The nearest directions along which the constraints hold, as those must be where rows are redundant."""
    inverse = np.linalg.pinv(tangent_rows(system.model, Kinematics.of(state), T), rcond=1e-9)
    for level, part in ((0, slice(0, 6)), (1, slice(6, 12))):
        missing = dense(system, state, T, directions).levels[..., level]
        change = (inverse @ missing.T).reshape(-1, 6, directions.count)
        directions.bodies[:, part] -= change
    return directions


def motion_at(system, state, t, kept):
    """Accelerations and multipliers (6 n + m,) by the rows that are kept: differences are taken off the constraints."""
    kin = Kinematics.of(state)
    found = equations.motion(system.model, t, kin, independent=kept)
    accelerations = np.concatenate([found.acceleration[:, :3], angular_acceleration(found, kin)], axis=1)
    return np.concatenate([accelerations.ravel(), found.multipliers])


def check(system, state, directions, tolerance=1e-9):
    both = [dense(system, state, T, directions), sparse(system, state, T, directions)]
    kept = system.plant.solver().row_independence(state, T).independent
    for d in range(directions.count):
        change, dt = directions.bodies[..., d], directions.time[d]
        want = extrapolated(lambda h, c=change, dt=dt: motion_at(system, moved_along(state, h * c), T + h * dt, kept))
        here, split = motion_at(system, state, T, kept), 6 * len(system.bodies)
        for found in both:
            accelerations = np.concatenate([found.linear[d], found.angular[d]], axis=1)
            got = np.concatenate([accelerations.ravel(), found.multipliers[d]])
            for part in (slice(0, split), slice(split, None)):
                scale = np.abs(want[part]).max(initial=0.0) + np.abs(here[part]).max(initial=0.0)
                np.testing.assert_allclose(got[part], want[part], atol=tolerance * scale)


@pytest.mark.parametrize("kind", study(KINDS, {*KINDS} - LONG), ids=lambda kind: kind.__name__)
def test_of_every_constraint(kind):
    system, _ = pair(kind, 6)
    system = quirk.System(list(system), gravity=[1.0, 2.0, -3.0])
    check(system, system.assemble(t=T), random_directions(system, 1))


@pytest.mark.parametrize(("kind", "variant"), FIRST_VARIANTS)
def test_of_every_force(kind, variant):
    system = system_with(kind, variant)
    check(system, system.initial_state(), random_directions(system, 2))


@pytest.mark.parametrize("name", ["bricard", "fourbar2"])
def test_of_redundant_loops(name):
    """Along the constraints, with loads of least norm."""
    system = build(load(name))
    state = quirk.simulate(system, 0.37).state_at(-1)
    directions = along_constraints(system, state, random_directions(system, 4))
    check(system, state, directions)


def test_of_loops():
    for seed in range(3):
        system = random_system(np.random.default_rng(seed), loops=2)
        state = system.initial_state()
        directions = along_constraints(system, state, random_directions(system, seed))
        check(system, state, directions)
