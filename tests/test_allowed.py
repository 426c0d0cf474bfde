"""What constraints allow at a state: the nearest velocities, virtual displacements, and the work along these."""

import numpy as np
import pytest
from mechanisms import level_rod, random_body, random_system

import quirk
from quirk import GROUND, Body, rotation

G = [0, 0, -9.81]


def mass_metric(system, u, v):
    """The inner product of velocities (..., n, 6)."""
    mass = np.array([body.mass for body in system.bodies])
    inertia = np.array([body.inertia for body in system.bodies])
    return np.einsum("n,...ni,...ni->...", mass, u[..., :3], v[..., :3]) + np.einsum(
        "...ni,nij,...nj->...", u[..., 3:], inertia, v[..., 3:]
    )


def velocities(state):
    return np.hstack([state.velocity, state.angular_velocity])


def displaced(state, moved):
    """The state moved by (n, 6): a translation in N and a rotation vector in body axes."""
    q = rotation.multiply(state.orientation, rotation.exp(moved[:, 3:]))
    return quirk.State(state.position + moved[:, :3], q, state.velocity, state.angular_velocity)


def disturbed(system, rng):
    """The initial state with other velocities, which the constraints do not allow."""
    state = system.initial_state()
    state.velocity += rng.normal(size=state.velocity.shape)
    state.angular_velocity += rng.normal(size=state.velocity.shape)
    return state


class TestRemoveDisallowedVelocity:
    @pytest.mark.parametrize("seed", range(3))
    def test_the_nearest_that_is_allowed(self, seed):
        rng = np.random.default_rng(seed)
        system = random_system(rng, bodies=5, loops=1)
        state = disturbed(system, rng)
        allowed = system.remove_disallowed_velocity(state)
        np.testing.assert_array_equal(allowed.position, state.position)
        np.testing.assert_allclose(allowed.orientation, state.orientation, atol=1e-15)
        assert np.abs(system.constraint_rows(state).phi_dot).max() > 0.1
        assert np.abs(system.constraint_rows(allowed).phi_dot).max() < 1e-12
        # Nearest: what was taken off is at right angles to all that is allowed.
        off = velocities(allowed) - velocities(state)
        free = system.virtual_displacements(state)
        np.testing.assert_allclose(mass_metric(system, free, off), 0, atol=1e-12)
        again = system.remove_disallowed_velocity(allowed)
        np.testing.assert_allclose(velocities(again), velocities(allowed), atol=1e-12)

    def test_a_falling_rod_is_caught_at_its_end(self):
        """By angular momentum about the hinge: omega = m v (L/2) / (m L^2 / 3) = 3 v / (2 L)."""
        rod = Body("rod", 2.0, [1e-3, 2.0 * 0.8**2 / 12, 2.0 * 0.8**2 / 12], position=[0.4, 0, 0], velocity=[0, 0, -1])
        hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
        system = quirk.System([rod, hinge])
        with pytest.raises(quirk.InconsistentStateError, match="initial velocities violate"):
            quirk.simulate(system, 0.1)
        state = system.remove_disallowed_velocity()
        np.testing.assert_allclose(state.angular_velocity, [[0, 1.5 / 0.8, 0]], atol=1e-12)
        np.testing.assert_allclose(state.velocity, [[0, 0, -0.75]], atol=1e-12)
        quirk.simulate(system, 0.1, initial_state=state)
        np.testing.assert_array_equal(system.initial_state().velocity, [[0, 0, -1]])

    def test_bodies_that_dock_keep_their_momentum(self):
        a, b = (random_body(np.random.default_rng(seed), name) for seed, name in ((1, "a"), (2, "b")))
        system = quirk.System([a, b, quirk.Fixed("dock", a, b)])
        start = system.initial_state()
        docked = system.remove_disallowed_velocity()
        system.deactivate("dock")
        one, other = (quirk.simulate(system, 0.01, initial_state=state).momentum for state in (start, docked))
        np.testing.assert_allclose(other.linear[0], one.linear[0], atol=1e-13)
        np.testing.assert_allclose(other.angular[0], one.angular[0], atol=1e-13)

    def test_a_skate_keeps_what_goes_along_its_edge(self):
        """A relation of velocities: sideways motion of the blade's point is taken off, by an impulse there."""
        skate = Body("skate", 2.0, [0.3, 0.3, 0.5], velocity=[1, 3, 0])
        edge = quirk.KnifeEdge("edge", GROUND, skate, point=[0.5, 0, 0], axis=[0, 1, 0])
        state = quirk.System([skate, edge]).remove_disallowed_velocity()
        # p (1/m + a^2/J) = -v_y: the impulse p over mass and lever.
        p = -3.0 / (1 / 2.0 + 0.5**2 / 0.5)
        np.testing.assert_allclose(state.velocity, [[1, 3 + p / 2.0, 0]], atol=1e-12)
        np.testing.assert_allclose(state.angular_velocity, [[0, 0, 0.5 * p / 0.5]], atol=1e-12)

    def test_drivers_ask_for_their_rates_and_states_keep_what_else_they_hold(self):
        rod, hinge = level_rod(thickness=0.1)
        drive = quirk.Drive("drive", hinge, quirk.Motion.polynomial([0.0, 0.5, 2.0]))
        system = quirk.System([rod, hinge, drive])
        assert system.remove_disallowed_velocity().angular_velocity[0, 1] == pytest.approx(0.5)
        system.deactivate("drive")
        state = system.initial_state()
        state.angles = {"hinge": [0, 0, 4 * np.pi]}
        np.testing.assert_array_equal(system.remove_disallowed_velocity(state).angles["hinge"], [0, 0, 4 * np.pi])

    def test_poses_that_violate_a_constraint(self):
        rod = Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
        system = quirk.System([rod, quirk.Spherical("ball", GROUND, rod, point=[0, 0, 0])])
        state = system.initial_state()
        state.position[0, 2] = 0.01
        for ask in (system.remove_disallowed_velocity, system.virtual_displacements):
            with pytest.raises(quirk.InconsistentStateError, match=r'"ball": the poses violate it by 0.01 m.*assemble'):
                ask(state)

    def test_nothing_is_removed_without_constraints(self):
        body = random_body(np.random.default_rng(0), "body")
        system = quirk.System([body])
        np.testing.assert_array_equal(system.remove_disallowed_velocity().velocity, [body.velocity])
        assert system.virtual_displacements().shape == (6, 1, 6)


class TestVirtualDisplacements:
    @pytest.mark.parametrize("seed", range(3))
    def test_they_leave_the_constraints_as_they_are(self, seed):
        system = random_system(np.random.default_rng(seed), bodies=4, loops=1)
        state, h = system.initial_state(), 1e-4
        basis = system.virtual_displacements()
        assert len(basis) == system.mobility().degrees_of_freedom > 0
        for moved in basis:
            before, after = (system.constraint_rows(displaced(state, x * moved)).phi for x in (-h, h))
            # Central differences: an error of third derivatives times h^2.
            np.testing.assert_allclose((after - before) / (2 * h), 0, atol=1e-6 * (1 + np.abs(moved).max() ** 3))
        np.testing.assert_allclose(mass_metric(system, basis[:, None], basis), np.eye(len(basis)), atol=1e-12)

    def test_drivers_are_held(self):
        rod, hinge = level_rod(thickness=0.1)
        drive = quirk.Drive("drive", hinge, quirk.Motion.constant_rate(2.0))
        assert quirk.System([rod, hinge]).virtual_displacements().shape == (1, 1, 6)
        assert quirk.System([rod, hinge, drive]).virtual_displacements().shape == (0, 1, 6)


class TestVirtualWork:
    @pytest.mark.parametrize("seed", range(3))
    def test_dalembert(self, seed):
        """Along any displacement all loads do the work of the inertia; ideal constraints none where they allow it."""
        rng = np.random.default_rng(seed)
        system = random_system(rng, bodies=4, loops=1)
        a, b, c, _ = system.bodies
        system = quirk.System([
            *system, quirk.Spring("spring", a, c, stiffness=30.0, damping=2.0), quirk.Thruster("jet", b, 3.0, "y"),
            quirk.Torque("torque", a, [0.1, 0.5, -0.3]), quirk.Damping("drag", translational=0.3, rotational=0.1),
        ], gravity=[1, 2, -9])  # fmt: skip
        state = system.initial_state()
        moved = rng.normal(size=(4, 6))
        work = system.virtual_work(state, 0.0, moved)
        assert list(work.applied) == ["gravity", "spring", "jet", "torque", "drag"]
        acceleration, omega = system.acceleration(state), state.angular_velocity
        inertia = np.array([body.inertia for body in system.bodies])
        spun = np.cross(omega, np.einsum("nij,nj->ni", inertia, omega))
        along = np.hstack([acceleration.linear, acceleration.angular])
        want = mass_metric(system, along, moved) + np.sum(spun * moved[:, 3:])
        assert work.total + work.of_constraints == pytest.approx(want, rel=1e-9)
        assert abs(work.of_constraints) > 1e-3
        basis = system.virtual_displacements()
        along = system.virtual_work(state, 0.0, basis)
        assert along.total.shape == (len(basis),)
        np.testing.assert_allclose(along.of_constraints, 0, atol=1e-9 * (1 + np.abs(along.total).max()))
        one = system.virtual_work(state, 0.0, basis[0])
        for name, value in one.applied.items():
            assert value == pytest.approx(along.applied[name][0], abs=1e-14)

    def test_what_energies_give_away(self):
        """The work of gravity and of a spring is what their energies lose, by central differences."""
        rng = np.random.default_rng(4)
        a, b = (random_body(rng, name) for name in "ab")
        spring = quirk.Spring("spring", a, b, [0.1, 0.2, 0], [0, 0.3, 0.1], stiffness=30.0, rest_length=0.2)
        system = quirk.System([a, b, spring], gravity=G)
        state, moved, h = system.initial_state(), rng.normal(size=(2, 6)), 1e-4
        work = system.virtual_work(state, 0.0, moved)

        def energy(x):
            return quirk.simulate(system, 1e-6, initial_state=displaced(state, x * moved)).energy.potential_of

        before, after = energy(-h), energy(h)
        for name in ("gravity", "spring"):
            assert work.applied[name] == pytest.approx(-(after[name][0] - before[name][0]) / (2 * h), rel=1e-6)

    def test_a_lever_in_balance(self):
        """Arms of 1 and 3 m with weights of 3 and 1 kg: no work of all weights, and none of a torque-free hinge."""
        beam = Body.box("beam", 1.0, [4, 0.1, 0.1])
        pivot = quirk.Revolute("pivot", GROUND, beam, point=[0, 0, 0], axis=[0, 1, 0])
        loads = [quirk.Force("short", beam, [0, 0, -3.0], point=[1, 0, 0]),
                 quirk.Force("long", beam, [0, 0, -1.0], point=[-3, 0, 0])]  # fmt: skip
        system = quirk.System([beam, pivot, *loads])
        tilt = [[0, 0, 0, 0, 0.01, 0]]
        work = system.virtual_work(system.initial_state(), 0.0, tilt)
        assert work.applied["short"] == pytest.approx(0.03)
        assert work.applied["long"] == pytest.approx(-0.03)
        assert work.total == pytest.approx(0, abs=1e-15)
        lifted = system.virtual_work(system.initial_state(), 0.0, [[0, 0, 0.01, 0, 0, 0]])
        assert lifted.constraints["pivot"] == pytest.approx(0.04)  # the hinge carries both

    @pytest.mark.parametrize("displacement", [[1.0] * 6, [[1.0] * 5], "up", [[np.nan] * 6]])
    def test_what_is_no_displacement(self, displacement):
        system = quirk.System([random_body(np.random.default_rng(0), "body")])
        with pytest.raises(quirk.InputError, match="displacement"):
            system.virtual_work(system.initial_state(), 0.0, displacement)
