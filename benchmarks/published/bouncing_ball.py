"""A ball that bounces on a floor: times and speeds of twenty impacts."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import GROUND

from .section import Section, compare_arrays, data, run_settings

PRINTED = data("bouncing_ball")
RADIUS = 0.5  # m; has no part in the result


def build() -> quirk.System:
    """Return the ball at rest above the floor."""
    ball = quirk.Body.sphere("ball", 1.0, RADIUS, position=[0, 0, PRINTED["gap"] + RADIUS])
    floor = quirk.Contact(
        "floor", GROUND, ball, on_i=quirk.surface.plane(), on_j=quirk.surface.sphere(RADIUS),
        restitution=PRINTED["restitution"],
    )  # fmt: skip
    return quirk.System([ball, floor], gravity=[0, 0, -PRINTED["gravity"]])


def closed_form(count: int) -> np.ndarray:
    """Return the time of the first impacts, and the speed before and after each, (count, 3)."""
    g, e = PRINTED["gravity"], PRINTED["restitution"]
    fall, speed = np.sqrt(2 * PRINTED["gap"] / g), np.sqrt(2 * g * PRINTED["gap"])
    k = np.arange(count)
    # Flights between impacts are 2 e^k v / g long: a geometric sum.
    times = fall + 2 * speed / g * e * (1 - e**k) / (1 - e)
    return np.column_stack([times, -speed * e**k, speed * e ** (k + 1)])


def impacts(result: quirk.Result, count: int) -> np.ndarray:
    """Return the time of the first impacts of a run, and the speed before and after each, (count, 3)."""
    times = result.events.of("floor").time[:count]
    # The output has each of these times twice, before and after the impact.
    before = np.searchsorted(result.time, times)
    speed = result["ball"].velocity[:, 2]
    return np.column_stack([times, speed[before], speed[before + 1]])


def sections() -> list[Section]:
    """Return the comparison with the closed form and with Siconos."""
    options, how = run_settings()
    printed = np.array(PRINTED["impacts"])[:, 1:]
    count = len(printed)
    result = quirk.simulate(build(), PRINTED["duration"], output=0.5, **options)
    found, exact = impacts(result, count), closed_form(count)
    return [
        Section(
            title="Bouncing ball",
            what="A ball falls by 1 m and bounces with restitution 0.9: times of the first twenty impacts, and "
            "velocities before and after each.",
            how=how,
            lines=[
                compare_arrays("times, s: closed form", exact[:, 0], found[:, 0]),
                compare_arrays("velocities, m/s: closed form", exact[:, 1:], found[:, 1:]),
                compare_arrays("times, s: Siconos, event driven, as published", printed[:, 0], found[:, 0]),
                compare_arrays("velocities, m/s: the same", printed[:, 1:], found[:, 1:]),
            ],
            checks={"balance of energy, J": float(np.abs(result.power.balance).max())},
            source=PRINTED["source"],
            others=[
                ("Siconos: times against the closed form", _relative_error(printed[:, :1], exact[:, :1])),
                ("Siconos: velocities against the closed form", _relative_error(printed[:, 1:], exact[:, 1:])),
            ],
        )
    ]


def _relative_error(computed: np.ndarray, exact: np.ndarray) -> float:
    return float(np.abs(computed - exact).max() / np.abs(exact).max())
