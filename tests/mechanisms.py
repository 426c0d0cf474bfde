"""Random mechanisms for tests: trees and loops of all joints, poses and velocities on the constraints."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import rotation


def random_quaternion(rng):
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def random_inertia(rng, scale=1.0):
    """A full tensor that obeys the triangle inequality."""
    a, b, c = rng.uniform(0.5, 2.0, size=3)
    R = rotation.matrix(random_quaternion(rng))
    return scale * R @ np.diag([b + c, a + c, a + b]) @ R.T


def random_body(rng, name, size=1.0, mass=1.0):
    mass = mass * rng.uniform(0.5, 2.0)
    return quirk.Body(
        name,
        mass,
        random_inertia(rng, 0.02 * mass * size**2),
        position=size * rng.uniform(-1, 1, size=3),
        orientation=random_quaternion(rng),
        velocity=size * rng.normal(size=3),
        angular_velocity=rng.normal(size=3),
    )


def random_unit(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def random_joint(rng, name, body_i, body_j, kind=None, size=1.0):
    """A joint of the given or a random kind, satisfied by the initial poses."""
    kinds = [quirk.Spherical, quirk.Revolute, quirk.Universal, quirk.Cylindrical, quirk.Prismatic,
             quirk.Distance, quirk.Fixed]  # fmt: skip
    kind = kind or kinds[rng.integers(len(kinds))]
    point = size * rng.uniform(-1, 1, size=3)
    axis = random_unit(rng)
    if kind is quirk.Distance:
        return kind(name, body_i, body_j, point_i=0.3 * size * random_unit(rng), point_j=0.3 * size * random_unit(rng))
    if kind is quirk.Universal:
        other = np.cross(axis, random_unit(rng))
        return kind(name, body_i, body_j, point=point, axis_i=axis, axis_j=other / np.linalg.norm(other))
    if kind in (quirk.Spherical, quirk.Fixed):
        return kind(name, body_i, body_j, point=point)
    return kind(name, body_i, body_j, point=point, axis=axis)


def random_system(rng, bodies=4, loops=1, gravity=(0.3, -0.2, -9.81), size=1.0, mass=1.0, extra=()):
    """A tree on the ground with `loops` further joints; initial velocities are projected onto the constraints."""
    parts = [random_body(rng, f"body{k}", size, mass) for k in range(bodies)]
    items = list(parts)
    for k, body in enumerate(parts):
        lower = quirk.GROUND if k == 0 or rng.random() < 0.2 else parts[rng.integers(k)]
        items.append(random_joint(rng, f"joint{k}", lower, body, size=size))
    for k in range(loops):
        i, j = rng.choice(bodies, size=2, replace=False)
        # Loops are closed by joints that leave the mechanism some freedom.
        kind = [quirk.Spherical, quirk.Distance, quirk.Universal][rng.integers(3)]
        items.append(random_joint(rng, f"loop{k}", parts[i], parts[j], kind, size=size))
    system = quirk.System([*items, *extra], gravity=gravity)
    system.assemble()
    return system


def random_state(rng, count):
    """Any state, off the constraints too."""
    q = rng.normal(size=(count, 4))
    return quirk.State(
        rng.normal(size=(count, 3)),
        q / np.linalg.norm(q, axis=1, keepdims=True),
        rng.normal(size=(count, 3)),
        rng.normal(size=(count, 3)),
    )
