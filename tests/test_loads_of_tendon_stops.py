"""The load of a TendonStop is its tension at the last point, in whatever order it meets ground and bodies."""

import numpy as np
import pytest

import quirk

HEAVY, LIGHT, GRAVITY = 2.0, 1.0, 9.81
TENSION = 2 * HEAVY * LIGHT * GRAVITY / (HEAVY + LIGHT)  # Atwood's machine
OVER = [(quirk.GROUND, [-0.5, 0, 0]), (quirk.GROUND, [0.5, 0, 0])]


def weights(at=(0, 0, 0)):
    """Return two hanging spheres, and the path from one to the other over ground; `at` is the point of the second."""
    left = quirk.Body.sphere("left", HEAVY, 0.1, position=[-0.5, 0, -1])
    right = quirk.Body.sphere("right", LIGHT, 0.1, position=np.array([0.5, 0, -1]) - at)
    return left, right, [(left, [0, 0, 0]), *OVER, (right, list(at))]


@pytest.mark.parametrize("reverse", [False, True])
def test_atwood_machine(reverse):
    left, right, path = weights()
    rope = quirk.TendonStop("rope", path[::-1] if reverse else path, upper=3.0)
    result = quirk.simulate(quirk.System([left, right, rope], gravity=[0, 0, -GRAVITY]), 0.2, output=0.1)
    assert rope.body_j is (left if reverse else right)
    assert np.abs(result["rope"].force() - [0, 0, TENSION]).max() < 1e-6
    assert np.abs(result["rope"].torque()).max() < 1e-9


def test_moment_of_the_tension_about_the_center_of_mass():
    left, right, path = weights(at=(0.05, 0, 0))
    held = quirk.Prismatic("held", quirk.GROUND, right, point=[0.5, 0, 0], axis="z")
    rope = quirk.TendonStop("rope", path, upper=3.0)
    result = quirk.simulate(quirk.System([left, right, held, rope], gravity=[0, 0, -GRAVITY]), 0.2, output=0.1)
    assert np.abs(result["rope"].force() - [0, 0, TENSION]).max() < 1e-6
    assert np.abs(result["rope"].torque() - [0, -0.05 * TENSION, 0]).max() < 1e-6


def test_a_closed_path_has_the_load_on_the_second_body():
    left, _, path = weights()
    loop = quirk.TendonStop("loop", [*path, (left, [0, 0, 0])], upper=4.0)
    assert [body.name for body, _ in loop.ends] == ["left", "ground", "right"]
