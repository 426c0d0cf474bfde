"""Checks of solutions by recursion over a forest, with and without closing rows."""

import numpy as np

from quirk.dynamics.sparse.kernels.bodies import VELOCITIES
from quirk.dynamics.sparse.kernels.recursion_solve import accelerate, accelerate_closed, closed, tangential_recursively
from quirk.dynamics.sparse.kernels.workspace import FACTORED, RECURSIVE
from quirk.jit.compilation import entry
from quirk.jit.simd import aligned


@entry
def accelerations(mechanism, t, y, ydot):
    if closed(mechanism):
        return accelerate_closed(mechanism, t, y, ydot)
    accelerate(mechanism, t, y, ydot)
    return True


@entry
def tangent(mechanism, y):
    tangential_recursively(mechanism, y, VELOCITIES)


def started(system):
    """The solver of a system, settled at the initial state, and this state in the layout of the solver."""
    solver = system.plant.solver()
    y = solver.slots.state_to_lanes(system.initial_state().pack())
    solver.settle(y, 0.0)
    return solver, y


def rows_alone(monkeypatch):
    """Let all constraints of new systems be eliminated by rows."""
    tables = "quirk.dynamics.sparse.symbolic.tables"
    monkeypatch.setattr(f"{tables}.forest_with_closings", lambda *_: (None, [], None))


def rates_by_recursion(solver, y, t=0.0):
    """y', computed by the recursion over the forest and its closings."""
    ydot = aligned(y.size)
    with solver.applied.calling():
        assert accelerations(solver.mechanism, t, y, ydot)
    assert solver.work.summary[FACTORED] == 1.0
    return ydot


def check_projection(solver, y, rng, curvature):
    """Projection gives the poses and velocities of projection by rows, to the second order of the violation.

    y is a state on the constraints, and `curvature` an upper bound of the second-order term.
    """
    size = 1e-6
    y += np.where(y != 0, size * rng.normal(size=y.size), 0.0)
    z = y.copy()
    solver.work.summary[RECURSIVE] = 1.0
    assert solver.project(y, 0.0) and solver.work.summary[FACTORED] > 0.0
    solver.work.summary[RECURSIVE] = 0.0
    assert solver.project(z, 0.0) and solver.work.summary[FACTORED] == 0.0
    assert np.abs(y - z).max() < curvature * size**2
    assert np.abs(solver.residuals(y, 0.0)).max() < 1e-13


def check_tangential(solver, y, rng, tolerance):
    """A projected variation is tangential, and the removed part does no work on tangential variations.

    The accelerations at the state y must have been computed by recursion.
    """
    work, given = solver.work, aligned(solver.work.motion.size)
    lanes = solver.slots.to_lanes(np.ones((solver.slots.bodies, 6)))
    given[:] = rng.normal(size=given.size) * lanes
    work.motion[:] = given
    tangent(solver.mechanism, y)
    along = work.motion.copy()
    tangent(solver.mechanism, y)
    np.testing.assert_allclose(work.motion, along, rtol=0, atol=tolerance)
    mass = np.ones((solver.slots.bodies, 6))
    mass[:, :3] = solver.model.mass[:, None]  # rotations are in units in which all inertias are 1
    work.motion[:] = rng.normal(size=given.size) * lanes
    tangent(solver.mechanism, y)
    assert abs((solver.slots.to_lanes(mass) * (given - along) * work.motion).sum()) < 10 * tolerance
