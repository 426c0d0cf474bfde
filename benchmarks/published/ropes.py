"""Closed forms for elastic ropes and belts with friction: capstan, creep, slip, and block and tackle."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import GROUND, Body, Drum

from .section import Section, compare_number

GRAVITY, CENTER = 9.81, [0, 0, 0]
CAPSTAN = 0.2  # friction of rope on bar
TACKLE = 0.15
BELT, PRETENSION, EA, RADII, DISTANCE, RATE = 0.3, 200.0, 2e4, (0.1, 0.2), 0.6, 20.0


def weight(name: str, mass: float, position: list[float], speed: float = 0.0) -> Body:
    """Return a small ball that moves along z."""
    return Body.sphere(name, mass, 0.05, position=position, velocity=[0, 0, speed])


def capstan(turns: int) -> tuple[float, float]:
    """Return the wrap angle of a rope on a fixed drum, and the ratio of its tensions during slip."""
    angle = np.pi * (1 + 2 * turns)
    light, heavy = weight("light", 1.0, [-0.1, 0, -1]), weight("heavy", 1.5 * np.exp(CAPSTAN * angle), [0.1, 0, -1.5])
    bar = Drum(GROUND, CENTER, "y", 0.1, turns)
    rope = quirk.Pulley("rope", [(light, CENTER), bar, (heavy, CENTER)], stiffness=1e4, friction=CAPSTAN)
    result = quirk.simulate(quirk.System([light, heavy, rope], gravity=[0, 0, -GRAVITY]), 0.4, output=[0.4])
    slack, tight = tensions(result, "rope", 2)
    return angle, tight / slack


def belt(load: float, duration: float) -> tuple[float, float, float]:
    """Return both tensions of a belt drive, and the ratio of its circumferential speeds, driven to driving pulley."""
    speeds = RATE, RATE * RADII[0] / RADII[1]
    wheels = [
        Body.cylinder(f"w{k}", 2.0, r, 0.05, axis="y", position=[x, 0, 0], angular_velocity=[0, speed, 0])
        for k, (r, x, speed) in enumerate(zip(RADII, (0.0, DISTANCE), speeds, strict=True))
    ]
    axles = [quirk.Revolute(f"axle {k}", GROUND, w, point=w.position, axis="y") for k, w in enumerate(wheels)]
    drums = [Drum(w, CENTER, "y", r) for w, r in zip(wheels, RADII, strict=True)]
    rope = quirk.Pulley("belt", drums, closed=True, stiffness=EA, friction=BELT, pretension=PRETENSION)
    motor = quirk.Drive("motor", axles[0], quirk.Motion.constant_rate(RATE))
    brake = quirk.TorsionSpring("brake", axles[1], stiffness=0.0, damping=load / RATE)
    system = quirk.System([*wheels, *axles, rope, motor, brake])
    result = quirk.simulate(system, duration, output=[duration], rtol=1e-11)
    slack, tight = np.sort(tensions(result, "belt", 2))
    return slack, tight, result["w1"].angular_velocity[-1, 1] * RADII[1] / (RATE * RADII[0])


def tackle(speed: float) -> float:
    """Return the pull on a tackle with two supporting ropes, relative to their load, at a given rope speed."""
    load = weight("load", 10.0, [0.2, 0, -2], 0.5 * speed)
    hand = weight("hand", 1.0, [0.5, 0, -1], -speed)
    rail = quirk.Prismatic("rail", GROUND, hand, point=hand.position, axis="z")
    guide = quirk.Prismatic("guide", GROUND, load, point=load.position, axis="z")
    sheaves = [Drum(load, CENTER, [0, -1, 0], 0.1), Drum(GROUND, [0.4, 0, 0], "y", 0.1)]
    rope = quirk.Pulley("rope", [(GROUND, [0.1, 0, 0]), *sheaves, (hand, CENTER)], stiffness=1e5, friction=TACKLE)
    pull = quirk.Drive("pull", rail, quirk.Motion.constant_rate(-speed))
    damping = quirk.Damping("damping", load, translational=200.0)
    system = quirk.System([load, hand, rail, guide, rope, pull, damping], gravity=[0, 0, -GRAVITY])
    result = quirk.simulate(system, 2.0, output=[2.0], rtol=1e-10)
    return tensions(result, "rope", 3)[2] / (10.0 * GRAVITY + 200.0 * result["load"].velocity[-1, 2])


def tensions(result: quirk.Result, name: str, count: int) -> np.ndarray:
    """Return the tensions (count,) of the spans of a rope at the end of a run, N."""
    return np.array([result[f"{name} spans"].coordinate(f"tension {k}")[-1] for k in range(count)])


def sections() -> list[Section]:
    """Return the comparison with the closed forms."""
    lines = []
    for turns, said in ((0, "half a turn"), (2, "two and a half turns")):
        angle, ratio = capstan(turns)
        lines.append(
            compare_number(f"ratio of the tensions over {said}, exp(μ θ)", float(np.exp(CAPSTAN * angle)), float(ratio))
        )
    slack, tight, speeds = belt(8.0, 8.0)
    lines.append(
        compare_number("speeds of a belt drive, (1 + T₁/EA) / (1 + T₂/EA)", (1 + slack / EA) / (1 + tight / EA), speeds)
    )
    slack, tight, _ = belt(200.0, 1.0)
    angle = np.pi - 2 * np.arcsin((RADII[1] - RADII[0]) / DISTANCE)
    lines.append(
        compare_number("ratio of the tensions of a belt that slips", float(np.exp(BELT * angle)), float(tight / slack))
    )
    k = float(np.exp(TACKLE * np.pi))
    lines.append(compare_number("pull of a tackle over its load, up: k² / (1 + k)", k**2 / (1 + k), float(tackle(0.2))))
    lines.append(compare_number("the same down: 1 / (k + k²), k = exp(μ π)", 1 / (k + k**2), float(tackle(-0.2))))
    return [
        Section(
            title="Elastic ropes and belts",
            what="A rope that slips over a bar at rest; a belt around wheels of 0.1 m and 0.2 m that creeps under a "
            "small load and slips on the smaller wheel under a large one; and a tackle of two falls, in steady motion.",
            how="Vern9, rtol 1e-9 (capstan), 1e-11 (belt), 1e-10 (tackle)",
            lines=lines,
            checks={},
            remarks=["T₁ and T₂ are the computed tensions of the slack and of the tight span."],
            source="L. Euler and J. A. Eytelwein (ropes over bars); O. Reynolds, and K. L. Johnson, Contact Mechanics, "
            "1985, section 8.2 (creep of belts)",
        )
    ]
