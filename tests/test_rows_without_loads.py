"""Constraint rows that carry no load: their residuals are round-off, and so are all terms that cancel in them."""

import numpy as np

import quirk
from quirk.dynamics.sparse.kernels.workspace import METHOD, PASSES, REFLECTIONS
from quirk.dynamics.sparse.stepping.event_functions import quantities_at
from quirk.dynamics.sparse.stepping.watched_quantities import EventFunction, EventMonitor
from quirk.events.names import Reading


def test_masses_on_rails_of_which_two_are_locked_far_apart():
    """By reflections, near states on the constraints; nothing turns, and nothing presses on the rails.

    Springs at rest pull with k times their elongation: 3 N/m x 1 m at the left mass, -5 N/m x 0.2 m at the right one.
    """
    for seed in range(4):
        rng = np.random.default_rng(seed)
        along, masses = rng.normal(size=3), rng.uniform(0.5, 2, 3)
        along /= np.linalg.norm(along)
        left, middle, right = (
            quirk.Body.box(f"body {k}", mass, [0.1, 0.1, 0.1], position=10 * k * along, velocity=0.7 * along)
            for k, mass in enumerate(masses)
        )
        rails = [quirk.Prismatic(f"rail of {body}", quirk.GROUND, body, axis=along) for body in (left, middle, right)]
        lock = quirk.Fixed("lock", left, middle)
        points = [[-10 * along, 0 * along], [10 * along, 20 * along]]
        pull = quirk.Spring("pull", quirk.GROUND, left, points=points[0], stiffness=3.0, rest_length=9.0)
        push = quirk.Spring("push", middle, right, points=points[1], stiffness=5.0, rest_length=10.2)
        system = quirk.System([left, middle, right, *rails, lock, pull, push])
        solver, auxiliary = system.plant.solver(), system.plant.model.auxiliary
        state = auxiliary.flat(system.initial_state())
        solver.settle(solver.slots.state_to_lanes(state), 0.0)
        energy = EventFunction(None, "energy", Reading(None, "kinetic", None, 0.0), 0, False)
        table, values = EventMonitor([energy], solver).table, np.zeros(2)
        together = (-3.0 * 1.0 - 5.0 * 0.2) / masses[:2].sum()
        expected = np.array([together, together, 5.0 * 0.2 / masses[2]])[:, None] * along
        for size in np.repeat([0.0, 1e-16, 1e-12, 1e-9], 5):
            solver.work.summary[[METHOD, PASSES]] = REFLECTIONS, 2
            moved = state + size * rng.normal(size=state.size)
            assert quantities_at(solver.mechanism, table, 0.0, solver.slots.state_to_lanes(moved), values)
            found = auxiliary.state(solver.slots.state_from_lanes(table.slope)).velocity
            np.testing.assert_allclose(found, expected, atol=1e-6)
