"""The car axis of the IVP test set: two points on stiff springs, a rod, and a time-dependent constraint row."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import GROUND

from .section import AGAIN, OTHER, Section, checked, compare_arrays, data, digits, largest_difference, run_settings

PRINTED = data("car_axis")


def build() -> quirk.System:
    """Return the axle on its road."""
    L, r, w = PRINTED["length"], PRINTED["amplitude"], PRINTED["frequency"]
    places, rates = np.array(PRINTED["start"]).reshape(2, 2, 2)
    # Nothing turns these points: their moments have no part in the motion.
    left, right = (
        quirk.Body(name, PRINTED["mass"], [1e-4] * 3, position=[*place, 0], velocity=[*rate, 0])
        for name, place, rate in zip(("left", "right"), places, rates, strict=True)
    )
    road = quirk.Body("road", 1.0, [1.0] * 3, position=[L, 0, 0], velocity=[0, r * w, 0])

    def bumps(t, ground):
        """Constraint function: the right wheel moves vertically, at constant distance from the left one."""
        x, y, z = ground.position
        return [y - r * np.sin(w * t), x * x + y * y - L * L, z]

    def upright(t, wheel, ground):
        """Constraint function: the left wheel is at its point on the line between the wheels."""
        return wheel.position[0] * ground.position[0] + wheel.position[1] * ground.position[1]

    springs = {"stiffness": PRINTED["stiffness"], "rest_length": PRINTED["rest_length"]}
    return quirk.System(
        [
            left,
            right,
            road,
            quirk.Implicit("bumps", road, bumps),
            quirk.Distance("axle", left, right, length=L),
            quirk.Implicit("upright", [left, road], upright),
            quirk.Spring("left spring", GROUND, left, **springs),
            quirk.Spring("right spring", road, right, **springs),
        ],
        gravity=[0, -PRINTED["gravity"], 0],
    )


def quantities(result: quirk.Result) -> dict[str, np.ndarray]:
    """Return the quantities that the test set publishes for the end of the run."""
    left, right = result["left"], result["right"]
    between = left.position[-1] - right.position[-1]
    # The rows are x_l x_b + y_l y_b = 0, which pulls the place (x_b, y_b) by lambda_1 (x_l, y_l), and
    # (x_l - x_r)^2 + (y_l - y_r)^2 = L^2, which pulls the right end by -2 lambda_2 (x_l - x_r, y_l - y_r).
    pull, push = result["upright"].force()[-1], result["axle"].force()[-1]
    place = left.position[-1]
    return {
        "places": np.concatenate([left.position[-1, :2], right.position[-1, :2]]),
        "rates": np.concatenate([left.velocity[-1, :2], right.velocity[-1, :2]]),
        "multipliers": np.array([pull @ place / (place @ place), -push @ between / (2 * between @ between)]),
    }


UNITS = {"places": "m", "rates": "m/s", "multipliers": "N/m"}


def sections() -> list[Section]:
    """Return the comparison at the end of the run."""
    options, how = run_settings()
    end = PRINTED["time"]
    result, again = (quirk.simulate(build(), end, output=[0.0, end], **chosen) for chosen in (options, OTHER))
    found, other = quantities(result), quantities(again)
    doubt = largest_difference(found, other)
    lines = [compare_arrays(f"{name} at {end:g} s, {UNITS[name]}", PRINTED[name], found[name]) for name in found]
    return [
        Section(
            title="Car axis",
            what="Two light wheels on springs, joined by an axle, over a road that shakes the right one at 10 rad/s; "
            "the left one stays upright above its place. As differential-algebraic equations of index 3.",
            how=how,
            lines=lines,
            checks={**checked(result), AGAIN: doubt},
            remarks=[digits(lines, list(found), doubt), *PRINTED["remarks"]],
            source=PRINTED["source"],
        )
    ]
