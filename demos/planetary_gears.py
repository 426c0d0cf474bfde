"""A planetary gear: a motor drives the sun, the ring is fixed, and the planet carrier drives the load.

One planet would suffice: with three planets, four of the meshes are redundant, and all carry the same load. If the ring
is three times as large as a planet, the path of a planet's tooth is a deltoid.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk
from quirk import planar

# Numbers of teeth; the module, m, is the pitch diameter over the number of teeth.
SUN, PLANET, RING, MODULE = 24, 24, 72, 0.004
PLANETS = 3
RATE, LOAD = 2 * np.pi, 20.0  # of the sun, rad/s; torque on the carrier, N m

# Willis: seen from the carrier, sun and ring turn as if their axes stood still, at the ratio -RING / SUN.
WILLIS = SUN / (SUN + RING)


def radius(teeth: int) -> float:
    """Return the pitch radius, m."""
    return 0.5 * MODULE * teeth


def gear(name: str, teeth: int, mass: float, position: np.ndarray) -> planar.PlanarBody:
    """Return a disc with the radius of the pitch circle."""
    return planar.PlanarBody.cylinder(name, mass, radius(teeth), 0.02, position=position)


def build() -> quirk.System:
    """Sun, carrier and planets on a table; the ring is the ground."""
    center, arm = np.zeros(2), radius(SUN) + radius(PLANET)
    sun = gear("sun", SUN, 1.0, center)
    carrier = planar.PlanarBody("carrier", 1.0, 0.01)
    output = planar.Revolute("output", quirk.GROUND, carrier, point=center)
    items: list = [
        sun,
        carrier,
        output,
        planar.Revolute("input", quirk.GROUND, sun, point=center),
        planar.AngleDriver("motor", quirk.GROUND, sun, quirk.Motion.constant_rate(RATE)),
        quirk.JointTorque("load", output, -LOAD),
    ]
    for number in range(1, PLANETS + 1):
        angle = 2 * np.pi * (number - 1) / PLANETS
        position = arm * np.array([np.cos(angle), np.sin(angle)])
        planet = gear(f"planet {number}", PLANET, 0.8, position)
        items += [
            planet,
            planar.Revolute(f"pin {number}", carrier, planet, point=position),
            planar.GearOnLink(f"sun mesh {number}", sun, planet, carrier, ratio=-SUN / PLANET),
            planar.GearOnLink(f"ring mesh {number}", quirk.GROUND, planet, carrier, ratio=RING / PLANET),
        ]
    return quirk.System(items)


def run(out: Path) -> quirk.Result:
    """Analyze four turns of the sun; save the angles, the path of a planet's tooth and an animation."""
    result = quirk.kinematics(build(), np.linspace(0, 4 * 2 * np.pi / RATE, 481))
    print(result.summary())
    turns = {name: result[name].in_plane.angle / (2 * np.pi) for name in ("sun", "carrier", "planet 1")}
    ratio = (turns["carrier"][-1] - turns["carrier"][0]) / (turns["sun"][-1] - turns["sun"][0])
    print(f"carrier : sun  {ratio:.6f}; Willis's formula {WILLIS:.6f}")
    print(f"motor torque   {result['motor'].torque()[-1, 2]:.3f} N m for a load of {LOAD:g} N m")

    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for (name, angle), style in zip(turns.items(), ("-", "--", "-.", ":"), strict=False):
        ax.plot(result.time, angle, style, label=name)
    ax.set(title="angles", xlabel="Time (s)", ylabel="Angle (turns)")
    ax.grid(alpha=0.3)
    ax.legend()
    tooth = ("planet 1", [radius(PLANET), 0, 0])
    drawn = result.plot.paths([tooth], color="velocity", at=0.4)
    drawn.axes[0].add_patch(plt.Circle((0, 0), radius(RING), fill=False, linestyle="--", label="ring's pitch circle"))
    drawn.axes[0].legend(loc="upper right")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "planetary-gears.png", dpi=120)
    plt.close(figure)
    drawn.savefig(out / "planetary-gears-tooth.png", dpi=120)
    plt.close(drawn)
    result.animate(out / "planetary-gears.gif", fps=15, view=(90, -90), trails=(tooth,))
    return result


if __name__ == "__main__":
    run(Path("out"))
