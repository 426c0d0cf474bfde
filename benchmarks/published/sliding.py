"""Closed forms of sliding, of rebound, and of a rope that becomes taut."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import GROUND

from .section import Line, Section, checked, compare_number, run_settings

GRAVITY = 9.81  # m/s^2
SPEED, FRICTION = 5.0, 0.4  # m/s of the block, and its coefficient
HEIGHT, RADIUS = 2.0, 0.25  # m: of the fall, of the spheres
RESTITUTIONS = (0.0, 0.25, 0.5, 0.75, 1.0)
SOURCE = "Project Chrono: src/tests/unit_tests, utest_SMC_sliding_gravity and tests of restitution"


def block() -> quirk.System:
    """Return a block that slides on its four lower corners."""
    size = np.array([0.4, 0.3, 0.2])
    body = quirk.Body.box("block", 2.0, size, position=[0, 0, size[2] / 2], velocity=[SPEED, 0, 0])
    parts: list = [body]
    for k, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        corner = quirk.surface.point(np.array([x, y, -1]) * size / 2)
        contact = quirk.Contact(f"corner {k}", GROUND, body, on_i=quirk.surface.plane(), on_j=corner)
        parts += [contact, quirk.Friction(f"friction {k}", contact, FRICTION)]
    return quirk.System(parts, gravity=[0, 0, -GRAVITY])


def spheres() -> quirk.System:
    """Return spheres side by side that fall on the floor, with different coefficients of restitution."""
    parts: list = []
    for k, e in enumerate(RESTITUTIONS):
        ball = quirk.Body.sphere(f"ball {k}", 1.0, RADIUS, position=[k, 0, HEIGHT + RADIUS])
        floor = quirk.Contact(
            f"floor {k}", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(RADIUS), restitution=e
        )
        parts += [ball, floor]
    return quirk.System(parts, gravity=[0, 0, -GRAVITY])


def rope() -> quirk.System:
    """Return a ball that falls from the suspension point of its rope until the rope is taut."""
    ball = quirk.Body.sphere("ball", 1.0, RADIUS)
    return quirk.System([ball, quirk.Rope("rope", GROUND, ball, length=HEIGHT)], gravity=[0, 0, -GRAVITY])


def sections() -> list[Section]:
    """Return the comparison with the closed forms."""
    options, how = run_settings()
    slid = quirk.simulate(block(), 2.0, output=[0.0, 2.0], **options)
    fall = np.sqrt(2 * HEIGHT / GRAVITY)
    fallen = quirk.simulate(spheres(), 0.8 * 2 * fall, output=[0.0, fall * 0.5], **options)
    taut = quirk.simulate(rope(), 2 * fall, output=[0.0], **options)
    speed, rebounds = np.sqrt(2 * GRAVITY * HEIGHT), []
    for k, e in enumerate(RESTITUTIONS):
        after = np.flatnonzero(fallen.time == fallen.events.time[0])[-1]
        rebounds.append(abs(fallen[f"ball {k}"].velocity[after, 2] - e * speed) / speed)
    return [
        Section(
            title="Sliding to rest, rebound, and a rope that becomes taut",
            what="A block on its four corners, thrown along a floor; spheres that fall on it with restitution 0 to 1; "
            "a ball that falls until its rope is taut.",
            how=how,
            lines=[
                compare_number(
                    "way of the block to rest, v²/(2 μ g), m", SPEED**2 / (2 * FRICTION * GRAVITY), _way(slid)
                ),
                Line("speeds of five rebounds, e √(2 g h), m/s", "5 values", "", max(rebounds), "of the impact"),
                compare_number("time at which the rope is taut, √(2 h/g), s", fall, float(taut.events.time[0])),
            ],
            checks=checked(slid),
            remarks=["Others: Chrono's own tests allow 0.5 % for the block, and 1e-3 for the rebound."],
            source=SOURCE,
        )
    ]


def _way(result: quirk.Result) -> float:
    return float(result["block"].position[-1, 0] - result["block"].position[0, 0])
