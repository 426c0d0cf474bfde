"""Random mechanisms of slender and of light bodies, on their constraints and at rest."""

from __future__ import annotations

import numpy as np
from mechanisms import random_quaternion, random_unit

import quirk
from quirk import rotation

OPEN = (quirk.Spherical, quirk.Revolute, quirk.Universal, quirk.Cylindrical, quirk.Prismatic, quirk.Fixed)
CLOSING = (quirk.Spherical, quirk.Revolute, quirk.Universal)
FAMILIES = ("chain", "tree", "hub", "loop", "redundant")


def slender(rng, name, mass, moment):
    """A body with one principal moment that is `moment` times the others, about any axis."""
    moments = mass * 0.1 * np.array([moment, 1.0, 1.0])
    return quirk.Body(
        name, mass, moments[rng.permutation(3)], position=rng.uniform(-1, 1, 3), orientation=random_quaternion(rng)
    )


def joint(rng, name, body_i, body_j, kinds=OPEN):
    """A joint at a random point, with a random axis."""
    kind, point = kinds[rng.integers(len(kinds))], rng.uniform(-1, 1, 3)
    return joint_at(rng, kind, name, body_i, body_j, point)


def joint_at(rng, kind, name, body_i, body_j, point):
    """A joint of one kind at a point, with a random axis."""
    axis = random_unit(rng)
    if kind is quirk.Universal:
        other = np.cross(axis, random_unit(rng))
        return kind(name, body_i, body_j, point=point, axis_i=axis, axis_j=other / np.linalg.norm(other))
    if kind is quirk.Distance:
        return kind(name, body_i, body_j, point_i=rng.uniform(-1, 1, 3), point_j=rng.uniform(-1, 1, 3))
    placement = {"point": point} if kind in (quirk.Spherical, quirk.Fixed) else {"point": point, "axis": axis}
    return kind(name, body_i, body_j, **placement)


def again(name, kind, constraint):
    """Another joint on the frames of one."""
    return kind(name, constraint.body_i, constraint.body_j, frame_i=constraint.frame_i, frame_j=constraint.frame_j)


def mechanism(rng, family, moment, mass, n=4):
    """A system of n bodies, every second one of `mass` kg, the others of 1 kg, with slender ones of ratio `moment`."""
    bodies = [slender(rng, f"b{k}", mass if k % 2 else 1.0, moment if rng.random() < 0.8 else 1.0) for k in range(n)]
    lower = {
        "chain": lambda k: k - 1,
        "tree": lambda k: rng.integers(-1, k),
        "hub": lambda k: 0,
        "loop": lambda k: k - 1,
        "redundant": lambda k: k - 1,
    }[family]
    kinds = OPEN if family in ("chain", "tree", "hub") else CLOSING
    joints = []
    for k, body in enumerate(bodies):
        i = lower(k) if k else -1
        joints.append(joint(rng, f"j{k}", quirk.GROUND if i < 0 else bodies[i], body, kinds))
    if family == "loop":
        joints.append(joint(rng, "close", bodies[-1], quirk.GROUND, (quirk.Spherical,)))
        joints.append(joint(rng, "rod", bodies[0], bodies[-1], (quirk.Distance,)))
    if family == "redundant":
        joints += [again("point", quirk.Spherical, joints[1]), again("same", type(joints[2]), joints[2])]
        joints.append(quirk.Fixed("weld", quirk.GROUND, bodies[0]))
    return quirk.System([*bodies, *joints], gravity=[0.3, -0.2, -9.81])


def chain_of_wires(rng, moment, mass, n=4):
    """Rods of 1 m along x of their bodies, with ball joints at their ends, on their axes."""
    items, bodies, end = [], [], np.zeros(3)
    for k in range(n):
        q = random_quaternion(rng)
        along = rotation.matrix(q) @ [0.5, 0.0, 0.0]
        m = mass if k % 2 else 1.0
        body = quirk.Body(f"rod{k}", m, m / 12 * np.array([moment, 1.0, 1.0]), position=end + along, orientation=q)
        frame_i = quirk.Frame([0.5, 0, 0] if k else [0, 0, 0])
        lower = bodies[-1] if k else quirk.GROUND
        items += [body, quirk.Spherical(f"joint{k}", lower, body, frame_i=frame_i, frame_j=quirk.Frame([-0.5, 0, 0]))]
        bodies.append(body)
        end = end + 2 * along
    return quirk.System(items, gravity=[0.3, -0.2, -9.81])


def thin_rods(rng, n, moment, closed):
    """A chain of n rods with joints beside their axes, held by a rod at its end if it is `closed`."""
    bodies, joints, at = [], [], np.zeros(3)
    for k in range(n):
        orientation, step = random_quaternion(rng), rng.normal(size=3)
        bodies.append(
            quirk.Body(f"b{k}", 1.0, [0.08 * moment, 0.08, 0.08], position=at + step / 2, orientation=orientation)
        )
        lower, point = quirk.GROUND if k == 0 else bodies[-2], at + 0.2 * rng.normal(size=3)
        joints.append(joint_at(rng, CLOSING[k % 3], f"j{k}", lower, bodies[-1], point))
        at = at + step
    if closed:
        joints.append(quirk.Distance("rod", quirk.GROUND, bodies[-1], point_i=at + rng.normal(size=3)))
    return quirk.System([*bodies, *joints], gravity=[0, 0, -9.81])


def of_any_mass(rng, decades, closed):
    """A tree of 3 to 7 bodies of 10^-decades to 10^decades kg, half of its joints balls; with loops if it is `closed`."""
    everything = (*OPEN, quirk.Planar, quirk.PointOnLine, quirk.PointOnPlane, quirk.Distance)
    bodies, joints = [], []
    for k in range(int(rng.integers(3, 8))):
        mass = 10.0 ** (rng.uniform(-decades, decades) if rng.random() < 0.5 else decades * rng.integers(-1, 2))
        bodies.append(slender(rng, f"b{k}", mass, 1.0))
        lower = quirk.GROUND if k == 0 else bodies[k - 1 if rng.random() < 0.6 else rng.integers(k)]
        kind = everything[rng.integers(len(everything))] if rng.random() < 0.5 else quirk.Spherical
        joints.append(joint_at(rng, kind, f"j{k}", lower, bodies[-1], rng.uniform(-1, 1, 3)))
    for k in range(int(rng.integers(1, 3)) if closed else 0):
        one, two = rng.choice(len(bodies), 2, replace=False)
        kind = (quirk.Spherical, quirk.Distance, quirk.PointOnPlane, quirk.PointOnLine)[rng.integers(4)]
        joints.append(joint_at(rng, kind, f"l{k}", bodies[one], bodies[two], rng.uniform(-1, 1, 3)))
    return quirk.System([*bodies, *joints], gravity=[0.3, -0.2, -9.81])


def between_balls(rng, mass, closed, unit=1.0, heavy=1.0):
    """A rod between balls on two heavy bodies; the second one is on a hinge if the chain is `closed`."""
    scale = heavy * unit**2
    items = [
        quirk.Body(name, heavy * m, 0.1 * scale * m * rng.uniform(0.7, 1.3, 3), position=unit * rng.uniform(-1, 1, 3),
                   orientation=random_quaternion(rng))
        for name, m in (("one", 1.0), ("rod", mass), ("two", 1.0))
    ]  # fmt: skip
    one, rod, two = items
    items += [
        quirk.Revolute("first", quirk.GROUND, one, point=unit * rng.uniform(-1, 1, 3), axis=random_unit(rng)),
        quirk.Spherical("first to rod", one, rod, point=unit * rng.uniform(-1, 1, 3)),
        quirk.Spherical("rod to last", rod, two, point=unit * rng.uniform(-1, 1, 3)),
    ]
    if closed:
        items.append(quirk.Universal("last", quirk.GROUND, two, point=unit * rng.uniform(-1, 1, 3), axis_i=[1, 0, 0],
                                     axis_j=[0, 1, 0]))  # fmt: skip
    return quirk.System(items, gravity=[0.3 * unit, -0.2 * unit, -9.81 * unit])
