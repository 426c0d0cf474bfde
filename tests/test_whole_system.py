"""Systems and groups of bodies as a whole: centre of mass, momenta, what constraints allow, parts, and who is joined."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from mechanisms import random_body, random_joint, random_system
from scipy.interpolate import make_interp_spline

import quirk
from quirk import GROUND, Body, rotation

G = [0, 0, -9.81]


@pytest.fixture(scope="module")
def result():
    system = random_system(np.random.default_rng(5), bodies=5, loops=1)
    return quirk.simulate(system, 0.5, rtol=1e-11, atol=1e-13, output=0.005)


INNER = slice(10, -10)  # the spline's ends are less exact


def derivative(result, values):
    """By a spline of degree 7, whose error at outputs every 5 ms is below 1e-8 of the values."""
    return make_interp_spline(result.time, values, k=7).derivative()(result.time)[INNER]


class TestCentreOfMass:
    def test_it_is_the_mean_by_mass(self, result):
        centre = result.centre_of_mass()
        masses = np.array([body.mass for body in result.system.bodies])
        assert centre.mass == pytest.approx(masses.sum())
        want = sum(body.mass * result[body.name].position for body in result.system.bodies) / masses.sum()
        np.testing.assert_allclose(centre.position, want, atol=1e-14)

    def test_of_one_body_it_is_its_own(self, result):
        name = result.system.bodies[2].name
        centre, view = result.centre_of_mass(name), result[name]
        for quantity in ("position", "velocity", "acceleration"):
            np.testing.assert_allclose(getattr(centre, quantity), getattr(view, quantity), rtol=1e-14)

    def test_velocity_and_acceleration_are_its_derivatives(self, result):
        centre = result.centre_of_mass([result.system.bodies[0], result.system.bodies[3].name])
        for rate, value in ((centre.velocity, centre.position), (centre.acceleration, centre.velocity)):
            want = derivative(result, value)
            np.testing.assert_allclose(rate[INNER], want, atol=1e-6 * (1 + np.abs(want).max()))

    @pytest.mark.parametrize(("bodies", "said"), [
        (["rod", "hinge"], "must be names of bodies"), ([], "one body or more"), (3, "must be a list"),
        (["rod", "rod"], "must differ"), ("rodd", 'did you mean "rod"'),
    ])  # fmt: skip
    def test_what_is_no_group(self, bodies, said):
        run = pendulum()
        for ask in (run.centre_of_mass, run.momentum_of):
            with pytest.raises(quirk.QuirkError, match=said):
                ask(bodies)


def pendulum():
    rod = Body.box("rod", 1.0, [1, 0.05, 0.05], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    return quirk.simulate(quirk.System([rod, hinge], gravity=G), 0.5, output=0.01)


class TestMomentum:
    def test_of_all_bodies_about_the_origin(self, result):
        found, want = result.momentum_of(about=[0, 0, 0]), result.momentum
        np.testing.assert_allclose(found.linear, want.linear, atol=1e-13)
        np.testing.assert_allclose(found.angular, want.angular, atol=1e-13)

    def test_moved_to_another_point(self, result):
        """By Koenig: L_P = L_C + (C - P) x p."""
        names, point = [body.name for body in result.system.bodies[1:4]], np.array([0.3, -2.0, 0.7])
        own, moved = result.momentum_of(names), result.momentum_of(names, about=point)
        centre = result.centre_of_mass(names)
        np.testing.assert_allclose(own.linear, centre.mass * centre.velocity, atol=1e-13)
        want = own.angular + np.cross(centre.position - point, own.linear)
        np.testing.assert_allclose(moved.angular, want, atol=1e-12)

    def test_loads_from_outside_change_it(self):
        """Joint loads of the ground, gravity and a thruster are all that changes the momenta of a chain."""
        rng = np.random.default_rng(3)
        bodies = [random_body(rng, name) for name in "abc"]
        joints = [random_joint(rng, f"{i.name}{j.name}", i, j, quirk.Spherical)
                  for i, j in zip([GROUND, *bodies], bodies, strict=False)]  # fmt: skip
        jet = quirk.Thruster("jet", bodies[2], 5.0, "x", point=[0, 0.2, 0])
        system = quirk.System([*bodies, *joints, jet], gravity=G)
        system.assemble()
        run = quirk.simulate(system, 0.5, rtol=1e-11, atol=1e-13, output=0.005)
        centre, jet = run.centre_of_mass(), run["jet"]
        force, torque, joint = run["grounda"].force(), run["grounda"].torque(), run["grounda"].point
        where = run["c"].path([0, 0.2, 0]).position
        outside = force + jet.force() + centre.mass * np.array(G)
        moments = (torque + np.cross(joint - centre.position, force)
                   + np.cross(where - centre.position, jet.force()) + jet.torque())  # fmt: skip
        momentum = run.momentum_of()
        for rate, want in ((momentum.linear, outside), (momentum.angular, moments)):
            np.testing.assert_allclose(derivative(run, rate), want[INNER], atol=1e-6 * np.abs(want).max())
        np.testing.assert_allclose(centre.mass * centre.acceleration, outside, atol=1e-9 * np.abs(outside).max())

    @pytest.mark.parametrize(("draw", "axes"), [
        (lambda plot, path: plot.momentum(path=path), 2),
        (lambda plot, path: plot.momentum("rod", [0, 0, 1.0], path=path), 2),
        (lambda plot, path: plot.centre_of_mass(path=path), 3),
    ], ids=["momentum", "of one body", "centre of mass"])  # fmt: skip
    def test_pictures(self, tmp_path, draw, axes):
        path = tmp_path / "picture.png"
        assert len(draw(pendulum().plot, path).axes) == axes
        assert path.stat().st_size > 10_000


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
        rod = Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
        hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
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
        rod = Body.box("rod", 1.0, [1, 0.1, 0.1], position=[0.5, 0, 0])
        hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
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


def craft():
    """Three modules in a row, hinged, with a boom on a spring, and a probe that nothing holds."""
    at = {name: [x, 0, 0] for name, x in (("one", 0), ("two", 1), ("three", 2), ("boom", 3), ("probe", 9))}
    bodies = {name: Body.box(name, 1.0, [0.8, 0.8, 0.8], position=r) for name, r in at.items()}
    one, two, three, boom, _ = bodies.values()
    hinges = [quirk.Revolute("a", one, two, point=[0.5, 0, 0], axis=[0, 0, 1]),
              quirk.Revolute("b", two, three, point=[1.5, 0, 0], axis=[0, 0, 1])]  # fmt: skip
    return quirk.System([
        *bodies.values(), *hinges, quirk.Free("docking", three, boom),
        quirk.Spring("spring", three, boom, stiffness=5.0),
        quirk.Drive("drive", hinges[0], quirk.Motion.polynomial([0, 0, 0.1]), active=False),
        quirk.TorsionSpring("closer", hinges[1], stiffness=2.0),
        quirk.Damping("damping", translational=0.1),
    ])  # fmt: skip


class TestWhoIsJoined:
    def test_groups(self):
        system = craft()
        assert system.groups() == [["one", "two", "three"], ["boom"], ["probe"]]
        assert system.groups(forces=True) == [["one", "two", "three", "boom"], ["probe"]]
        system.deactivate("b")
        assert system.groups() == [["one", "two"], ["three"], ["boom"], ["probe"]]

    def test_orphans(self):
        system = craft()
        assert system.orphans() == ["probe"]
        system.deactivate("a")
        assert system.orphans() == ["one", "probe"]  # a field joins nothing, and the other hinge stays

    def test_the_ground_holds_but_joins_nothing(self):
        balls = [Body.sphere(name, 1.0, 0.1, position=[x, 0, 0]) for name, x in (("left", -1), ("right", 1))]
        pins = [quirk.Spherical(f"{b.name} pin", GROUND, b, point=b.position) for b in balls]
        system = quirk.System([*balls, *pins])
        assert system.groups() == [["left"], ["right"]]
        assert system.orphans() == []
        assert quirk.System([*balls, quirk.Spring("s", GROUND, balls[0], stiffness=1.0)]).orphans() == ["right"]

    def test_a_gear_joins_its_carrier(self):
        arm, sun, planet = (Body.sphere(name, 1.0, 0.1) for name in ("arm", "sun", "planet"))
        gear = quirk.Gear("gear", sun, planet, ratio=-2.0, axis=[0, 0, 1], carrier=arm)
        assert quirk.System([arm, sun, planet, gear]).groups() == [["arm", "sun", "planet"]]

    def test_a_plane_joins_nothing(self):
        bars = [quirk.planar.PlanarBody.bar(name, [x, 0], [x + 1, 0], 1.0) for name, x in (("p", 0), ("q", 1))]
        assert quirk.System(bars).orphans() == ["p", "q"]
        pin = quirk.planar.Revolute("pin", *bars, point_i=[0.5, 0], point_j=[-0.5, 0])
        assert quirk.System([*bars, pin]).groups() == [["p", "q"]]

    def test_two_large_groups_meet(self):
        """Joined in any order, all of a ring are one group."""
        rng = np.random.default_rng(2)
        bodies = [Body.sphere(f"{k}", 1.0, 0.1, position=[k, 0, 0]) for k in range(12)]
        links = [quirk.Distance(f"link {k}", bodies[k], bodies[k - 1]) for k in rng.permutation(12)]
        assert quirk.System([*bodies, *links]).groups() == [[f"{k}" for k in range(12)]]


class TestParts:
    def test_added_parts_leave_the_others_as_they_are(self):
        system = craft()
        system.deactivate("b")
        system.assemble(coordinates={"a": 0.3}, rates={"a": 1.0})
        tank = Body.sphere("tank", 3.0, 0.2, position=[0, 5, 0], velocity=[0, 1, 0])
        more = system.with_parts(tank, quirk.Distance("rope", tank, system["one"]),
                                 quirk.Distance("slack", tank, system["two"], active=False))  # fmt: skip
        assert [body.name for body in more.bodies] == ["one", "two", "three", "boom", "probe", "tank"]
        before, after = system.initial_state(), more.initial_state()
        for old, new in zip(before.parts, after.parts, strict=True):
            np.testing.assert_array_equal(new[:5], old)
        np.testing.assert_array_equal(after.velocity[5], [0, 1, 0])
        assert after.angles["a"][2] == pytest.approx(0.3)
        assert [more.is_active(name) for name in ("a", "b", "drive", "rope", "slack")] == [
            True,
            False,
            False,
            True,
            False,
        ]
        assert len(more["damping"].bodies) == 6
        assert "tank" not in system

    def test_planar_bodies_bring_their_plane(self):
        bar, other = (quirk.planar.PlanarBody.bar(name, [x, 0], [x + 1, 0], 1.0) for name, x in (("p", 0), ("q", 1)))
        system = quirk.System([bar]).with_parts(other)
        assert system.is_active("q in plane")
        assert [part.name for part in system.without("p")] == ["q", "q in plane"]
        with pytest.raises(quirk.InputError, match='"q in plane" belongs to Body "q"'):
            system.without("q in plane")

    def test_parts_taken_out(self):
        system = craft()
        system.deactivate("b")
        system.assemble(coordinates={"a": 0.3})
        less = system.without("probe", "spring")
        assert [part.name for part in less] == [part.name for part in system if part.name not in ("probe", "spring")]
        for old, new in zip(system.initial_state().parts, less.initial_state().parts, strict=True):
            np.testing.assert_array_equal(new, old[:4])
        assert (less.is_active("a"), less.is_active("b")) == (True, False)
        assert len(less["damping"].bodies) == 4
        back = less.with_parts(system["probe"])
        np.testing.assert_array_equal(back.initial_state().position, system.initial_state().position)

    def test_parts_that_others_need(self):
        system = craft()
        with pytest.raises(quirk.InputError, match='Revolute "a", Revolute "b", Drive "drive", TorsionSpring "closer" '
                           'cannot be without Body "two"'):  # fmt: skip
            system.without("two")
        with pytest.raises(quirk.InputError, match='TorsionSpring "closer" cannot be without Revolute "b"'):
            system.without("b")
        less = system.without("two", dependents=True)
        assert [part.name for part in less] == ["one", "three", "boom", "probe", "docking", "spring", "damping"]
        assert [part.name for part in system.without("b", "closer", "probe", system["a"], "drive")] == [
            "one", "two", "three", "boom", "docking", "spring", "damping"]  # fmt: skip

    def test_a_run_goes_on_with_a_part_less(self):
        """A spacecraft jettisons its boom: the others move on as they were."""
        system = craft()
        run = quirk.simulate(system, 1.0, initial_state=system.remove_disallowed_velocity())
        system.assemble(run.state_at())
        went = quirk.simulate(system.without("boom", dependents=True), 0.5)
        for name in ("one", "two", "three", "probe"):
            for quantity in ("position", "orientation", "velocity", "angular_velocity"):
                start, end = getattr(went[name], quantity)[0], getattr(run[name], quantity)[-1]
                np.testing.assert_allclose(start, end, atol=1e-12)

    def test_what_cannot_be_taken_out(self):
        system = craft()
        with pytest.raises(quirk.UnknownNameError, match='did you mean "probe"'):
            system.without("prob")
        with pytest.raises(quirk.InputError, match="at least one body"):
            system.without(*(body.name for body in system.bodies), dependents=True)
        with pytest.raises(quirk.InputError, match="dependents must be True or False"):
            system.without("probe", dependents="yes")
        with pytest.raises(quirk.InputError, match="names must be unique"):
            system.with_parts(Body.sphere("one", 1.0, 0.1))

    def test_internal_variables_stay(self):
        rod = Body.box("rod", 1.0, [1, 0.1, 0.1])
        hinge = quirk.Revolute("hinge", GROUND, rod, point=[0, 0, 0], axis=[0, 0, 1])
        servo = quirk.Controller("servo", hinge, 1.0, kp=1.0, ki=1.0)
        ball = Body.sphere("ball", 1.0, 0.1)
        system = quirk.System([rod, hinge, servo, ball])
        state = system.initial_state()
        state.internal = {"servo": [0.4]}
        system.assemble(state)
        kept = system.initial_state().internal
        assert dict(system.without("ball").initial_state().internal) == kept
        assert not system.without("servo").initial_state().internal
