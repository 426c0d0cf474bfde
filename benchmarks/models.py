"""Mechanisms of the benchmarks, built with QuIRK's public interface.

Each function returns a `quirk.System` whose initial poses and velocities, which are not zero, satisfy the constraints.
Random numbers have fixed seeds, so that the mechanisms are reproducible.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import quirk
from quirk import rotation

from . import references
from .paths import Placed, orientations, placed, spins

GRAVITY = (0.0, 0.0, -9.81)

# A link is a rod along its z axis with joints at both ends; three different moments keep its turning 3-D.
LENGTH = 0.3
MASS = 0.5
INERTIA = (0.0040, 0.0045, 0.0010)
UPPER = np.array([0.0, 0.0, 0.5 * LENGTH])
LOWER = -UPPER

# Frames whose z axis is x or y of the body: the axes of hinges.
TO_X = rotation.exp(np.array([0.0, 0.5 * np.pi, 0.0]))
TO_Y = rotation.exp(np.array([-0.5 * np.pi, 0.0, 0.0]))


def ball_chain(n: int) -> quirk.System:
    """Return n rods in a row, joined by ball joints and hung from the ground."""
    rng = np.random.default_rng(1)
    parent = np.arange(n) - 1
    above = np.where(parent[:, None] < 0, 0.0, LOWER)
    q = orientations(parent, _bends(rng, n))
    # Random angular velocities, not random relative ones: these would add up along a long chain.
    chain = placed(parent, q, rng.uniform(-1, 1, (n, 3)), above, np.tile(UPPER, (n, 1)))
    bodies = _links(chain)
    joints = [_ball(k, bodies[k - 1] if k else quirk.GROUND, bodies[k], above[k], UPPER) for k in range(n)]
    return quirk.System([*bodies, *joints], gravity=GRAVITY)


def chain_angles(n: int) -> np.ndarray:
    """Return the initial angles (n,), rad, of the rods of `hinged_chain` from the downward vertical."""
    return 1.5 + 0.2 * np.sin(np.arange(n))


def hinged_chain(n: int) -> quirk.System:
    """Return n uniform thin rods in the plane of x and z, hinged in a row about y and hung from the ground."""
    angles = chain_angles(n)
    ends, centers = _ends(angles), chain_positions(angles)
    across = MASS * LENGTH**2 / 12
    turns = rotation.exp(np.outer(-angles, [0.0, 1.0, 0.0]))
    bodies = [
        # The moment about its own axis, which does not turn, is of no account.
        quirk.Body(f"link{k}", MASS, [across, across, across], position=centers[k], orientation=q)
        for k, q in enumerate(turns)
    ]
    joints = [
        quirk.Revolute(f"joint{k}", bodies[k - 1] if k else quirk.GROUND, body, point=ends[k], axis=[0, 1, 0])
        for k, body in enumerate(bodies)
    ]
    return quirk.System([*bodies, *joints], gravity=GRAVITY)


def chain_positions(angles: np.ndarray) -> np.ndarray:
    """Return the centers of mass (n, 3) of the rods of `hinged_chain` at angles (n,) from the vertical."""
    ends = _ends(angles)
    return 0.5 * (ends[:-1] + ends[1:])


def _ends(angles: np.ndarray) -> np.ndarray:
    along = LENGTH * np.stack([np.sin(angles), np.zeros(len(angles)), -np.cos(angles)], axis=1)
    return np.vstack([np.zeros(3), np.cumsum(along, axis=0)])


def spread(count: int) -> np.ndarray:
    """Return `count` equidistributed numbers between -1 and 1."""
    return np.random.default_rng(6).uniform(-1.0, 1.0, count)


def revolute_chain(n: int) -> quirk.System:
    """Return n rods in a row, joined by hinges about y and x in turn and hung from the ground."""
    return _hinged(np.arange(n) - 1, np.arange(n), seed=2)


def revolute_tree(n: int) -> quirk.System:
    """Return n rods in a binary tree of hinges: rods 2 k + 1 and 2 k + 2 hang on rod k."""
    k = np.arange(n)
    # Axes differ from generation to generation.
    return _hinged((k + 1) // 2 - 1, np.floor(np.log2(k + 1)).astype(int), seed=3)


def panda() -> quirk.System:
    """Return the arm of Franka Emika's Panda, seven hinges, at random angles and rates."""
    return _robot("panda")


def baxter() -> quirk.System:
    """Return Rethink Robotics' Baxter, a tree of fifteen hinges: two arms and a head, at random angles and rates."""
    return _robot("baxter")


def hub(arms: int, joint: str = "revolute") -> quirk.System:
    """Return a free body with `arms` arms of three rods each, 3 arms + 1 bodies in total.

    Parameters
    ----------
    arms : int
    joint : "revolute" or "spherical"
    """
    rng = np.random.default_rng(4)
    n = 3 * arms + 1
    k = np.arange(1, n)
    first = (k - 1) % 3 == 0
    parent = np.append(-1, np.where(first, 0, k - 1))
    # The arms leave a sphere of radius LENGTH, evenly spread by the golden angle.
    height = 1 - (2 * np.arange(arms) + 1) / arms
    azimuth = np.arange(arms) * np.pi * (3 - np.sqrt(5))
    ring = np.sqrt(1 - height**2)
    above = np.tile(LOWER, (n, 1))
    above[0] = 0.0
    above[1::3] = LENGTH * np.column_stack([ring * np.cos(azimuth), ring * np.sin(azimuth), height])
    below = np.tile(UPPER, (n, 1))
    below[0] = 0.0
    spherical = joint == "spherical"
    relative = _bends(rng, n) if spherical else rotation.exp(rng.uniform(-1, 1, (n, 1)) * [0.0, 1.0, 0.0])
    rate = rng.uniform(-1, 1, (n, 3)) if spherical else rng.uniform(-1, 1, (n, 1)) * [0.0, 1.0, 0.0]
    q = orientations(parent, relative)
    mechanism = placed(parent, q, spins(parent, q, rate), above, below)
    # A hub much lighter than its arms together would be flung about by them.
    bodies = _links(mechanism, replacement=quirk.Body.sphere("hub", MASS * arms, LENGTH, **mechanism.initial(0)))
    make = _ball if spherical else _hinge_y
    joints = [make(c, bodies[parent[c]], bodies[c], above[c], UPPER) for c in range(1, n)]
    return quirk.System([*bodies, *joints], gravity=GRAVITY)


def ladder(windows: int) -> quirk.System:
    """Return a planar ladder of four-bar windows: rockers hinged to the ground, with couplers between their upper ends.

    The hinges are spatial, with parallel axes. There are 2 windows + 1 bodies, 3 windows + 1 hinges, 3 redundant rows
    per window and one degree of freedom. The rockers stay parallel, so that the motion has a closed form.
    """
    tilt, speed, spacing, rod = 0.4, 1.5, 1.0, 0.8
    bars = np.arange(windows + 1)
    along_rod = np.array([np.sin(tilt), 0.0, np.cos(tilt)])
    tip_velocity = speed * rod * np.array([np.cos(tilt), 0.0, -np.sin(tilt)])
    q = rotation.exp(np.array([0.0, tilt, 0.0]))
    inertia = (0.03, 0.03, 0.001)
    rockers = [
        quirk.Body(
            f"rocker{k}",
            0.6,
            inertia,
            position=[spacing * k, 0, 0] + 0.5 * rod * along_rod,
            orientation=q,
            velocity=0.5 * tip_velocity,
            angular_velocity=[0, speed, 0],
        )
        for k in bars
    ]
    couplers = [
        quirk.Body(
            f"coupler{k}",
            0.8,
            (0.001, 0.06, 0.06),
            position=[spacing * (k + 0.5), 0, 0] + rod * along_rod,
            velocity=tip_velocity,
        )
        for k in bars[:-1]
    ]
    end, half = np.array([0, 0, 0.5 * rod]), np.array([0.5 * spacing, 0, 0])
    feet = [_hinge(f"foot{k}", quirk.GROUND, rockers[k], [spacing * k, 0, 0], -end, TO_Y) for k in bars]
    left = [_hinge(f"left{k}", rockers[k], c, end, -half, TO_Y) for k, c in enumerate(couplers)]
    right = [_hinge(f"right{k}", c, rockers[k + 1], half, end, TO_Y) for k, c in enumerate(couplers)]
    return quirk.System([*rockers, *couplers, *feet, *left, *right], gravity=GRAVITY)


def ball_chain10() -> quirk.System:
    """Return the ten-link chain of the reference table."""
    return references.build(references.load("ball_chain10"))


def ball_chain10_positions(t: float = 2.0) -> np.ndarray:
    """Return the reference positions (10, 3) of `ball_chain10` at a time of its table."""
    data = references.load("ball_chain10")
    entry = next(e for e in data["reference"] if e["t"] == t)
    return np.array([entry["bodies"][b["name"]]["position"] for b in data["bodies"]])


def _robot(name: str) -> quirk.System:
    """Return a robot of hinges from its table, whose bodies are in the order of the tree."""
    table = json.loads((Path(__file__).parent / "robots" / f"{name}.json").read_text())["bodies"]
    rng = np.random.default_rng(5)
    parent = np.array([row["parent"] for row in table])
    in_parent, in_body = ([quirk.Frame(**row[key]) for row in table] for key in ("joint_in_parent", "joint_in_body"))
    axis = np.array([frame.matrix[:, 2] for frame in in_body])
    zero = [
        rotation.multiply(i.rotation, rotation.conjugate(j.rotation)) for i, j in zip(in_parent, in_body, strict=True)
    ]
    q = orientations(
        parent, rotation.multiply(np.array(zero), rotation.exp(axis * rng.uniform(-1, 1, (len(table), 1))))
    )
    spin = spins(parent, q, axis * rng.uniform(-0.5, 0.5, (len(table), 1)))
    origins = [np.array([frame.origin for frame in frames]) for frames in (in_parent, in_body)]
    poses = placed(parent, q, spin, *origins)
    bodies = [
        quirk.Body(row["name"], row["mass"], references.tensor(row["inertia"]), **poses.initial(k))
        for k, row in enumerate(table)
    ]
    joints = [
        quirk.Revolute(f"joint{k}", bodies[p] if p >= 0 else quirk.GROUND, bodies[k], frame_i=i, frame_j=j)
        for k, (p, i, j) in enumerate(zip(parent, in_parent, in_body, strict=True))
    ]
    return quirk.System([*bodies, *joints], gravity=GRAVITY)


def _bends(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return random rotations (n, 4) by angles up to about 90 degrees."""
    return rotation.exp(rng.uniform(-0.9, 0.9, (n, 3)))


def _hinged(parent: np.ndarray, generation: np.ndarray, seed: int) -> quirk.System:
    """Return a tree of rods with hinges about y in even generations and about x in odd ones."""
    rng = np.random.default_rng(seed)
    n = len(parent)
    axis = np.where(generation[:, None] % 2 == 0, [0.0, 1.0, 0.0], [1.0, 0.0, 0.0])
    above = np.where(parent[:, None] < 0, 0.0, LOWER)
    q = orientations(parent, rotation.exp(axis * rng.uniform(-1, 1, (n, 1))))
    spin = spins(parent, q, axis * rng.uniform(-0.5, 0.5, (n, 1)))
    tree = placed(parent, q, spin, above, np.tile(UPPER, (n, 1)))
    bodies = _links(tree)
    joints = [
        _hinge(f"joint{k}", bodies[p] if p >= 0 else quirk.GROUND, bodies[k], above[k], UPPER, (TO_Y, TO_X)[g % 2])
        for k, (p, g) in enumerate(zip(parent, generation, strict=True))
    ]
    return quirk.System([*bodies, *joints], gravity=GRAVITY)


def _links(poses: Placed, replacement: quirk.Body | None = None) -> list[quirk.Body]:
    """Return rods at given poses; if `replacement` is given, it replaces rod 0."""
    bodies = [] if replacement is None else [replacement]
    count = len(poses.position)
    return bodies + [quirk.Body(f"link{k}", MASS, INERTIA, **poses.initial(k)) for k in range(len(bodies), count)]


def _ball(
    k: int, body_i: quirk.Body | quirk.Ground, body_j: quirk.Body, above: np.ndarray, below: np.ndarray
) -> quirk.Spherical:
    return quirk.Spherical(f"joint{k}", body_i, body_j, frame_i=quirk.Frame(above), frame_j=quirk.Frame(below))


def _hinge_y(k: int, body_i: quirk.Body, body_j: quirk.Body, above: np.ndarray, below: np.ndarray) -> quirk.Revolute:
    return _hinge(f"joint{k}", body_i, body_j, above, below, TO_Y)


def _hinge(name, body_i, body_j, above, below, axis) -> quirk.Revolute:
    frames = quirk.Frame(above, axis), quirk.Frame(below, axis)
    return quirk.Revolute(name, body_i, body_j, frame_i=frames[0], frame_j=frames[1])
