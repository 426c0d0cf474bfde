"""IFToMM A05: a flyball governor whose lower links are stiff springs with dampers."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import GROUND

from .section import Section, checked, compare_arrays, data

LIBRARY = data("iftomm")
PRINTED = LIBRARY["a05"]


def rod_with_ball(side: int) -> quirk.Body:
    """Return one rod with a ball at its end, hung from the top of the shaft; its x axis points outward."""
    length, width, _ = PRINTED["rod"]
    rod, ball = PRINTED["density"] * np.prod(PRINTED["rod"]), PRINTED["ball"]
    mass = rod + ball
    center = (rod * length / 2 + ball * length) / mass
    across = rod * ((length**2 + width**2) / 12 + (center - length / 2) ** 2) + ball * (center - length) ** 2
    below = np.radians(PRINTED["below"])
    along = np.array([side * np.cos(below), 0, -np.sin(below)])
    # About y, so that x points along the rod.
    turn = np.arctan2(-along[2], along[0])
    place = hinge(side) + center * along
    return quirk.Body(
        f"rod {side:+d}",
        mass,
        [rod * width**2 / 6, across, across],
        position=place,
        orientation=[np.cos(turn / 2), 0, np.sin(turn / 2), 0],
        velocity=[0, PRINTED["rate"] * place[0], 0],
        angular_velocity=quirk.rotation.matrix(np.array([np.cos(turn / 2), 0, np.sin(turn / 2), 0])).T
        @ [0, 0, PRINTED["rate"]],
    )


def hinge(side: int) -> np.ndarray:
    """Return the position of the hinge between a rod and the top of the shaft."""
    return np.array([side * PRINTED["apart"] / 2, 0, PRINTED["rod"][0]])


def build() -> quirk.System:
    """Return the governor, rotating about z."""
    length, width, _ = PRINTED["rod"]
    spin = {"angular_velocity": [0, 0, PRINTED["rate"]]}
    shaft = quirk.Body.box(
        "shaft",
        PRINTED["density"] * np.prod(PRINTED["rod"]),
        [width, width, length],
        position=[0, 0, length / 2],
        **spin,
    )
    edge, height = PRINTED["slider"], PRINTED["height"]
    slider = quirk.Body.box("slider", PRINTED["density"] * edge**3, [edge] * 3, position=[0, 0, height], **spin)
    items = [
        shaft,
        slider,
        quirk.Revolute("bearing", GROUND, shaft, point=[0, 0, 0], axis=[0, 0, 1]),
        quirk.Prismatic("guide", shaft, slider, axis=[0, 0, 1]),
    ]
    for side in (1, -1):
        rod = rod_with_ball(side)
        top = hinge(side)
        middle = top + length / 2 * (rod.position - top) / np.linalg.norm(rod.position - top)
        items += [
            rod,
            quirk.Revolute(f"hinge {side:+d}", shaft, rod, point=top, axis=[0, 1, 0]),
            quirk.Spring(
                f"link {side:+d}",
                slider,
                rod,
                points=[[side * edge / 2, 0, height], middle],
                stiffness=PRINTED["stiffness"],
                damping=PRINTED["damping"],
                rest_length=PRINTED["rest_length"],
            ),
        ]
    return quirk.System(items, gravity=[0, 0, -LIBRARY["gravity"]])


def sections() -> list[Section]:
    """Return the difference between runs by an explicit and by an implicit method."""
    duration, tolerance = PRINTED["duration"], {"rtol": 1e-9, "atol": 1e-12}
    result, again = (
        quirk.simulate(build(), duration, output=0.1, method=method, **tolerance) for method in ("Vern9", "Radau")
    )
    heights = [run["slider"].position[:, 2] for run in (result, again)]
    return [
        Section(
            title="IFToMM A05: stiff flyball governor",
            what="A shaft turning at one revolution per second, two rods with balls of 5 kg hinged to its top, a "
            "slider of 3 kg on the shaft, and springs of 8e5 N/m with dampers of 4e4 N s/m between rods and slider, "
            f"for 10 s. The dampers bring rates of 1e4/s: Vern9 takes {result.statistics.steps} steps for its "
            f"stability, Radau {again.statistics.steps}.",
            how="Vern9 and Radau, rtol 1e-9, atol 1e-12",
            lines=[
                compare_arrays(
                    "height of the slider at 0, 0.1, ... 10 s, m: Vern9 (found) and Radau", heights[1], heights[0]
                )
            ],
            checks=checked(result),
            remarks=PRINTED["remarks"],
            source=LIBRARY["source"],
        )
    ]
