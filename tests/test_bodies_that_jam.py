"""A ball between two rough walls that converge above it: it jams, or falls, depending on the angle of the walls."""

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Contact, Friction, surface
from quirk.dynamics.contact.friction_cones import least_norm_loads

G, MASS = 9.81, 2.0


def ball_between_walls(angle, mu, length, weight):
    """A ball that touches both walls from below; the normals of the walls point downward by the angle, rad."""
    radius = 0.1 * length
    ball = Body.sphere("ball", MASS * weight, radius)
    parts = [ball]
    for name, side in (("left", 1.0), ("right", -1.0)):
        normal = np.array([side * np.cos(angle), 0.0, -np.sin(angle)])
        wall = Contact(
            name, GROUND, ball, on_i=surface.plane(-radius * normal, normal=normal), on_j=surface.sphere(radius)
        )
        parts += [wall, Friction(f"{name} friction", wall, mu)]
    return quirk.System(parts, gravity=[0, 0, -G * length])


@pytest.mark.parametrize(("length", "weight"), [(1.0, 1.0), (1e3, 1e-3), (1e-3, 1e3)])
@pytest.mark.parametrize("missing", [1e-1, 1e-2, 1e-3, 1e-4])
def test_a_ball_jams_however_large_its_loads_are(missing, length, weight):
    """Both walls carry n (mu cos a - sin a) = m g / 2 upward, without bound where tan a approaches mu."""
    mu = 0.5
    angle = np.arctan(mu * (1 - missing))
    result = quirk.simulate(ball_between_walls(angle, mu, length, weight), 1.0, output=0.5)
    assert np.abs(result["ball"].velocity).max() < 1e-12 * length
    load = 0.5 * MASS * weight * G * length / (mu * np.cos(angle) - np.sin(angle))
    for name in ("left", "right"):
        force, friction = result[name].force(), result[f"{name} friction"].force()
        np.testing.assert_allclose(np.linalg.norm(force, axis=1), load, rtol=1e-9)
        np.testing.assert_allclose(np.linalg.norm(friction, axis=1), mu * load, rtol=1e-9)


@pytest.mark.parametrize("excess", [1e-1, 1e-3, 1e-5])
def test_it_falls_where_no_loads_hold_it(excess):
    mu = 0.5
    angle = np.arctan(mu * (1 + excess))
    result = quirk.simulate(ball_between_walls(angle, mu, 1.0, 1.0), 1.0, output=0.5)
    np.testing.assert_allclose(result["ball"].velocity[-1], [0, 0, -G], atol=1e-9)


def test_least_loads_far_larger_than_those_given_are_found():
    """Cones of two contacts that barely hold a force along their edges."""
    mu = 0.5
    for missing in 10.0 ** -np.arange(1, 5):
        angle = np.arctan(mu * (1 - missing))
        along = np.array([[c, -s] for c, s in [(np.cos(angle), np.sin(angle)), (-np.cos(angle), np.sin(angle))]])
        # Columns: the normal and the two tangents of each contact, as forces in the plane and across it.
        A = np.array([[x, z, 0.0] for x, z in along])
        up = np.array([[s * np.sin(angle), np.cos(angle), 0.0] for s in (1.0, -1.0)])
        forces = np.column_stack([A[0], up[0], [0, 0, 1.0], A[1], up[1], [0, 0, 1.0]])
        V, R = np.linalg.qr(forces.T)
        loads = least_norm_loads(V, np.linalg.solve(R.T, [0.0, 1.0, 0.0]), np.array([mu, mu]))
        assert loads is not None, missing
        normal = 0.5 / (mu * np.cos(angle) - np.sin(angle))
        np.testing.assert_allclose(loads, [normal, mu * normal, 0, normal, mu * normal, 0], atol=1e-8 * normal)
