"""One way to say where: points and directions in N or in bodies, and what follows from both."""

import inspect

import numpy as np
import pytest
from mechanisms import random_quaternion

import quirk


def test_points_and_directions_of_bodies():
    rng = np.random.default_rng(0)
    body = quirk.Body("body", 1.0, [1, 1, 1], position=rng.normal(size=3), orientation=random_quaternion(rng))
    R = quirk.rotation.matrix(body.orientation)
    local, vector = rng.normal(size=(2, 3))
    np.testing.assert_allclose(body.local(body.position + R @ local), local, atol=1e-15)
    np.testing.assert_allclose(body.direction(R @ vector), vector, atol=1e-15)
    np.testing.assert_array_equal(quirk.GROUND.local([1, 2, 3]), [1, 2, 3])
    with pytest.raises(quirk.InputError, match='Body "body": point must have shape'):
        body.local([1, 2])


def test_bars_in_space():
    bar = quirk.Body.bar("bar", [1, 0, 0], [1, 3, 4], 2.0, radius=0.1)
    np.testing.assert_allclose(bar.position, [1, 1.5, 2])
    np.testing.assert_allclose(bar.local([1, 3, 4]), [2.5, 0, 0], atol=1e-15)
    np.testing.assert_allclose(np.diag(bar.inertia), [0.01, 2 * (0.03 + 25) / 12, 2 * (0.03 + 25) / 12])
    with pytest.raises(quirk.InputError, match='Body "bar": start and end must differ'):
        quirk.Body.bar("bar", [1, 2, 3], [1, 2, 3], 1.0)


def test_elements_between_two_points_take_either():
    rng = np.random.default_rng(1)
    one, two = (
        quirk.Body(name, 1.0, [1, 1, 1], position=rng.normal(size=3), orientation=random_quaternion(rng))
        for name in ("one", "two")
    )
    ends = rng.normal(size=(2, 3))
    for kind, more in (
        (quirk.Distance, {}),
        (quirk.DistanceDrive, {"motion": quirk.Motion.constant_rate(0.1, start=np.linalg.norm(ends[1] - ends[0]))}),
        (quirk.Spring, {"stiffness": 1.0}),
    ):
        by_points = kind("a", one, two, points=ends, **more)
        by_bodies = kind("b", one, two, point_i=one.local(ends[0]), point_j=two.local(ends[1]), **more)
        system = quirk.System([one, two, by_points])
        other = quirk.System([one, two, by_bodies])
        found, expected = (s.acceleration(s.initial_state()) for s in (system, other))
        np.testing.assert_allclose(found.linear, expected.linear, atol=1e-14)
        with pytest.raises(quirk.InputError, match="points are both ends in the inertial frame"):
            kind("c", one, two, points=ends, point_i=[0, 0, 0], **more)


def test_help_shows_the_arguments():
    assert list(inspect.signature(quirk.Body).parameters)[:3] == ["name", "mass", "inertia"]
    assert "point" in inspect.signature(quirk.Revolute).parameters
    assert "points" in inspect.signature(quirk.Distance).parameters
