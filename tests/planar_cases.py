"""Every planar constraint, as the notes have it, between two bodies of a plane."""

import numpy as np
import pytest
from quirk.constraints.planar import PlanarBody, Plane

import quirk
from quirk import GROUND, Motion, planar, rotation

TILTED = Plane(origin=(30, -20, 50), normal=(1, 2, 3), x=(1, 0, 1))
FAR = Plane(origin=(3e5, -2e5, 1e5), normal=(1, 2, 3), x=(1, 0, 1))
PLANES = {"xy": Plane(), "far": FAR}
# At 4e5 m from the origin positions are rounded to 6e-11 m.
ROUNDING = {"xy": 1e-12, "far": 1e-9}
F = np.array([0.9, 0.4, -0.3, 0.2, 0.1])
TWO_ROWS = ("Revolute", "Prismatic")
FOLLOWS = ("AngleDriver", "CoordinateDriver", "SlotDriver", "DistanceDriver")
POINTS = {"point_i": (0.3, -0.2), "point_j": (-0.4, 0.5)}
SLOT = {**POINTS, "vector_i": (1.2, -0.7)}
CASES = [
    ("Revolute", POINTS),
    ("Prismatic", {**SLOT, "vector_j": (-0.4, 0.9)}),
    ("DoubleRevolute", {**POINTS, "length": 0.8}),
    ("ParallelVectors", {"vector_i": (0.5, 1.1), "vector_j": (-0.4, 0.9)}),
    ("PinInSlot", SLOT),
    ("AngleDriver", {"offset": 0.4}),
    ("GearPair", {"ratio": -5 / 12, "offset": 0.1}),
    ("GearPair", {"ratio": -np.sqrt(0.5), "offset": 0.0}),
    ("GearOnLink", {"ratio": 7 / 3, "offset": 0.1}),
    ("GearOnLink", {"ratio": np.sqrt(0.5), "offset": 0.0}),
    ("CoordinateDriver", {"coordinate": "x", "ratio": -0.7, "offset": 0.2}),
    ("CoordinateDriver", {"coordinate": "y", "ratio": 1.3, "offset": 0.2}),
    ("CoordinateDriver", {"coordinate": "angle", "ratio": 2 / 3, "offset": 0.2}),
    ("CoordinateDriver", {"coordinate": "angle", "ratio": np.sqrt(0.5), "offset": 0.0}),
    ("SlotDriver", SLOT),
    ("Rolling", {**SLOT, "radius": -0.3, "offset": 0.1}),
    ("DistanceDriver", POINTS),
]
EVERY_CASE = pytest.mark.parametrize(("kind", "parameters"), CASES, ids=lambda x: x if isinstance(x, str) else "")


def with_motion(kind):
    return (Motion.polynomial(F),) if kind in FOLLOWS else ()


def body(rng, name, plane=PLANES["xy"]):
    x, y, angle, u, v, spin = rng.normal(size=6)
    return PlanarBody(name, rng.uniform(0.5, 2), rng.uniform(0.1, 0.3), plane=plane, position=(x, y), angle=angle,
                      velocity=(u, v), angular_velocity=spin)  # fmt: skip


def system_of(kind, parameters, plane=PLANES["xy"], ground=None, seed=0, **options):
    """A system of two bodies, and a link where there is one, with one constraint."""
    rng = np.random.default_rng(seed)
    a, b, link = (body(rng, name, plane) for name in ("a", "b", "link"))
    ends = {None: (a, b), "i": (GROUND, b), "j": (a, GROUND)}[ground]
    more = (link,) if kind == "GearOnLink" else ()
    joint = getattr(planar, kind)("joint", *ends, *more, *with_motion(kind), **parameters)
    return quirk.System([a, b, *more, joint], **options)


def state_of(plane, towers):
    """The state with these coordinates and their rates, (n, 2, 3)."""
    place, rate = towers[:, 0], towers[:, 1]
    turn = rotation.exp(place[:, 2:] * [0, 0, 1.0])
    return quirk.State(
        np.array([plane.point(q[:2]) for q in place]),
        rotation.multiply(np.broadcast_to(plane.orientation, turn.shape), turn),
        np.array([plane.vector(v[:2]) for v in rate]),
        rate[:, 2:] * [0, 0, 1.0],
    )
