"""A damped four-bar linkage with a spring along its diagonal, which comes to rest at its equilibrium."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

import quirk
from quirk import GROUND, planar

from .section import Section, checked, compare_number, data, run_settings

LIBRARY = data("iftomm")
PRINTED = LIBRARY["four_bar_with_spring"]
# Where it is released, and for how long: its swing decays by exp(-0.24 t), to round-off.
START, DURATION = 2.0, 150.0


def build() -> quirk.System:
    """Return three rods of a parallelogram above the ground, with a spring that starts at the left ground pin."""
    L = PRINTED["length"]
    up = L * np.array([np.cos(START), np.sin(START)])
    left, right = np.zeros(2), np.array([L, 0.0])
    rods = [
        planar.PlanarBody(
            name,
            PRINTED["mass"],
            PRINTED["mass"] * L**2 / 12,
            position=(start + end) / 2,
            angle=np.arctan2(*(end - start)[::-1]),
        )
        for name, start, end in (("left", left, up), ("coupler", up, right + up), ("right", right, right + up))
    ]
    one_, coupler, other = rods
    return quirk.System(
        [
            *rods,
            planar.Revolute("A", GROUND, one_, point=left),
            planar.Revolute("B", one_, coupler, point=up),
            planar.Revolute("C", other, coupler, point=right + up),
            planar.Revolute("D", GROUND, other, point=right),
            quirk.Spring(
                "spring",
                GROUND,
                other,
                points=[[*left, 0], [*(right + up), 0]],
                stiffness=PRINTED["stiffness"],
                damping=PRINTED["damping"],
                rest_length=PRINTED["rest_length"],
            ),
        ],
        gravity=[0, -LIBRARY["gravity"], 0],
    )


def equilibrium() -> float:
    """Return the equilibrium angle, rad, of weight and spring; the length of the spring is 2 L cos(angle / 2)."""
    L, k, s0 = PRINTED["length"], PRINTED["stiffness"], PRINTED["rest_length"]
    weight = 2 * PRINTED["mass"] * LIBRARY["gravity"]

    def moment(angle: float) -> float:
        return weight * np.cos(angle) - k * (2 * L * np.cos(angle / 2) - s0) * np.sin(angle / 2)

    return brentq(moment, 2.0, 2.5, xtol=1e-15)


def sections() -> list[Section]:
    """Return the comparison of the position of rest."""
    options, how = run_settings()
    result = quirk.simulate(build(), DURATION, output=1.0, **options)
    angle = result["right"].in_plane.angle[-1]
    return [
        Section(
            title="Four-bar with a diagonal spring",
            what=f"Three rods of 1 m and 1 kg between pins on level ground; a damped spring of 25 N/m from one ground "
            f"pin to the opposite corner. Released at {START:g} rad, it swings for {DURATION:g} s and comes to rest.",
            how=how,
            lines=[
                compare_number(
                    "angle of the right rod at rest, rad: root of the balance of moments", equilibrium(), angle
                ),
                compare_number("the same: as published", PRINTED["equilibrium"], angle, digits=12),
            ],
            checks=checked(result),
            remarks=PRINTED["remarks"],
            source=PRINTED["source"],
        )
    ]
