"""Equilibria over a parameter through turning points, against closed forms."""

import numpy as np
import pytest

import quirk

G = 9.81


def test_a_truss_snaps_through_at_its_limit_load(tmp_path):
    """Two springs between supports 2 b apart and a pin at height h, pushed down (von Mises)."""
    b, h, k = 1.0, 0.4, 500.0
    rest = np.hypot(b, h)

    def build(force):
        pin = quirk.Body.sphere("pin", mass=1.0, radius=0.05, position=[0, 0, h])
        rail = quirk.Prismatic("rail", quirk.GROUND, pin, axis=[0, 0, 1], point=[0, 0, 0])
        bars = [quirk.Spring(f"bar {s}", quirk.GROUND, pin, [s * b, 0, 0], [0, 0, 0], stiffness=k, rest_length=rest)
                for s in (-1, 1)]  # fmt: skip
        return quirk.System([pin, rail, *bars, quirk.Force("load", pin, [0, 0, -force])])

    path = quirk.equilibrium_path(build, 0.0, 60.0, step=0.25)
    # F = 2 k z (rest / l - 1) is largest where l^3 = rest b^2.
    length = np.cbrt(rest * b**2)
    z = np.sqrt(length**2 - b**2)
    limit = 2 * k * z * (rest / length - 1)
    np.testing.assert_allclose(path.values[path.turning], [limit, -limit], rtol=1e-11)
    heights = path.of("pin.position.z")
    np.testing.assert_allclose(heights[path.turning], [z, -z], rtol=1e-8)
    forces = 2 * k * heights * (rest / np.hypot(b, heights) - 1)
    np.testing.assert_allclose(forces, path.values, atol=2e-11)
    assert path.values[-1] == pytest.approx(60.0, abs=1e-8)
    one, two = path.turning
    assert path.stable[:one].all()
    assert not path.stable[one + 1 : two].any()
    assert path.stable[two + 1 :].all()
    path.plot("pin.position.z", path=tmp_path / "path.png", size=(5, 4))


def test_a_pendulum_under_a_growing_torque_turns_back_at_the_level():
    """m g l sin(angle) = torque has its fold at 90 degrees."""

    def build(torque):
        rod = quirk.Body.bar("rod", [0, 0, 0], [0, 0, -1], mass=2.0)
        hinges = [quirk.Revolute(f"{y}", quirk.GROUND, rod, point=[0, y, 0], axis=[0, 1, 0]) for y in (0, 1)]
        return quirk.System([rod, *hinges, quirk.JointTorque("motor", hinges[0], torque)], gravity=[0, 0, -G])

    path = quirk.equilibrium_path(build, 0.0, 12.0, step=0.1, most=20)
    np.testing.assert_allclose(path.values[path.turning][0], G, rtol=1e-12)
    angles = path.of("0.angle")
    np.testing.assert_allclose(angles[path.turning][0], np.pi / 2, rtol=1e-7)
    np.testing.assert_allclose(G * np.sin(angles), path.values, atol=1e-11)
    np.testing.assert_allclose(
        path.states[3].loads["0"].force + path.states[3].loads["1"].force, [0, 0, 2 * G], atol=1e-11
    )


def test_paths_that_cannot_be_followed():
    def falling(force):
        ball = quirk.Body.sphere("ball", mass=1.0, radius=0.1)
        return quirk.System([ball, quirk.Force("force", ball, [0, 0, force])], gravity=[0, 0, -G])

    with pytest.raises(quirk.InputError, match="fall freely"):
        quirk.equilibrium_path(falling, 0.0, 1.0)
    with pytest.raises(quirk.InputError, match="must return a System"):
        quirk.equilibrium_path(lambda value: None, 0.0, 1.0)
    with pytest.raises(quirk.InputError, match="start and stop must differ"):
        quirk.equilibrium_path(falling, 1.0, 1.0)
