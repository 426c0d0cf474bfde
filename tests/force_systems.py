"""Bodies, and mechanisms of one freedom, on which force elements are tried."""

import quirk
from quirk import GROUND, Body

# Tolerances of runs that are compared with closed forms.
FINE = {"rtol": 1e-12, "atol": 1e-14}


def ball(name="b", mass=2.0, inertia=(0.1, 0.1, 0.1), **initial):
    return Body(name, mass, inertia, **initial)


def hinged(*elements, inertia=0.5, **initial):
    """A body that turns about z, and what acts on its hinge."""
    body = Body("b", 1.0, [inertia, inertia, inertia], **initial)
    hinge = quirk.Revolute("hinge", GROUND, body, point=[0, 0, 0], axis=[0, 0, 1])
    return quirk.System([body, hinge, *(make(hinge) for make in elements)])


def railed(*elements, mass=2.0, **initial):
    """A body that slides along x, and what acts on its rail."""
    body = ball(mass=mass, **initial)
    rail = quirk.Prismatic("rail", GROUND, body, axis=[1, 0, 0], point=[0, 0, 0])
    return quirk.System([body, rail, *(make(rail) for make in elements)])
