"""Bodies of a result taken together: center of mass and momenta."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pytest
from mechanisms import pendulum, random_body, random_joint, random_system
from scipy.interpolate import make_interp_spline

import quirk
from quirk import GROUND

G = [0, 0, -9.81]


@pytest.fixture(scope="module")
def result():
    system = random_system(np.random.default_rng(5), bodies=5, loops=1)
    return quirk.simulate(system, 0.5, rtol=1e-11, atol=1e-13, output=0.005)


INNER = slice(10, -10)  # the spline's ends are less exact


def derivative(result, values):
    """By a spline of degree 7, whose error at outputs every 5 ms is below 1e-8 of the values."""
    return make_interp_spline(result.time, values, k=7).derivative()(result.time)[INNER]


class TestCenterOfMass:
    def test_it_is_the_mean_by_mass(self, result):
        center = result.center_of_mass()
        masses = np.array([body.mass for body in result.system.bodies])
        assert center.mass == pytest.approx(masses.sum())
        want = sum(body.mass * result[body.name].position for body in result.system.bodies) / masses.sum()
        np.testing.assert_allclose(center.position, want, atol=1e-14)

    def test_of_one_body_it_is_its_own(self, result):
        name = result.system.bodies[2].name
        center, view = result.center_of_mass(name), result[name]
        for quantity in ("position", "velocity", "acceleration"):
            np.testing.assert_allclose(getattr(center, quantity), getattr(view, quantity), rtol=1e-14)

    def test_velocity_and_acceleration_are_its_derivatives(self, result):
        center = result.center_of_mass([result.system.bodies[0], result.system.bodies[3].name])
        for rate, value in ((center.velocity, center.position), (center.acceleration, center.velocity)):
            want = derivative(result, value)
            np.testing.assert_allclose(rate[INNER], want, atol=1e-6 * (1 + np.abs(want).max()))

    @pytest.mark.parametrize(("bodies", "said"), [
        (["rod", "hinge"], "must be names of bodies"), ([], "one body or more"), (3, "must be a list"),
        (["rod", "rod"], "must differ"), ("rodd", 'did you mean "rod"'),
    ])  # fmt: skip
    def test_what_is_no_group(self, bodies, said):
        run = quirk.simulate(pendulum(), 0.5, output=0.01)
        for ask in (run.center_of_mass, run.momentum_of):
            with pytest.raises(quirk.QuirkError, match=said):
                ask(bodies)


class TestMomentum:
    def test_of_all_bodies_about_the_origin(self, result):
        found, want = result.momentum_of(about=[0, 0, 0]), result.momentum
        np.testing.assert_allclose(found.linear, want.linear, atol=1e-13)
        np.testing.assert_allclose(found.angular, want.angular, atol=1e-13)

    def test_moved_to_another_point(self, result):
        """By Koenig: L_P = L_C + (C - P) x p."""
        names, point = [body.name for body in result.system.bodies[1:4]], np.array([0.3, -2.0, 0.7])
        own, moved = result.momentum_of(names), result.momentum_of(names, about=point)
        center = result.center_of_mass(names)
        np.testing.assert_allclose(own.linear, center.mass * center.velocity, atol=1e-13)
        want = own.angular + np.cross(center.position - point, own.linear)
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
        center, jet = run.center_of_mass(), run["jet"]
        force, torque, joint = run["grounda"].force(), run["grounda"].torque(), run["grounda"].point
        where = run["c"].path([0, 0.2, 0]).position
        outside = force + jet.force() + center.mass * np.array(G)
        moments = (torque + np.cross(joint - center.position, force)
                   + np.cross(where - center.position, jet.force()) + jet.torque())  # fmt: skip
        momentum = run.momentum_of()
        for rate, want in ((momentum.linear, outside), (momentum.angular, moments)):
            np.testing.assert_allclose(derivative(run, rate), want[INNER], atol=1e-6 * np.abs(want).max())
        np.testing.assert_allclose(center.mass * center.acceleration, outside, atol=1e-9 * np.abs(outside).max())

    @pytest.mark.parametrize(("draw", "axes"), [
        (lambda plot, path: plot.momentum(path=path), 2),
        (lambda plot, path: plot.momentum("rod", [0, 0, 1.0], path=path), 2),
        (lambda plot, path: plot.center_of_mass(path=path), 3),
    ], ids=["momentum", "of one body", "center of mass"])  # fmt: skip
    def test_pictures(self, tmp_path, draw, axes):
        path = tmp_path / "picture.png"
        assert len(draw(quirk.simulate(pendulum(), 0.5, output=0.01).plot, path).axes) == axes
        assert path.stat().st_size > 10_000
