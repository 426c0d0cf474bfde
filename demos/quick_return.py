"""The quick-return mechanism of a shaping machine: the ram cuts slowly and returns fast.

A crank pin slides along a slotted arm, which swings about a pivot below the crank; a link transmits the motion of the
arm's tip to the ram. The arm swings slowly while the pin is above the crank bearing, far from the pivot, and fast while
it is below.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk
from quirk import planar

# Lengths, m. The arm's pivot is the origin; the crank turns about a point at `CENTER` above it.
CENTER, CRANK, ARM, LINK, HEIGHT = 0.20, 0.10, 0.50, 0.20, 0.47
RATE = 2 * np.pi  # rad/s: 60 strokes a minute

# The arm turns back where the crank is at a right angle to it.
SWING = np.arcsin(CRANK / CENTER)
STROKE = 2 * ARM * np.sin(SWING)
TIME_RATIO = (np.pi + 2 * SWING) / (np.pi - 2 * SWING)


def build() -> quirk.System:
    """Slotted arm, crank, link and ram, starting with the arm upright, and a motor of constant speed."""
    center, tip = np.array([0.0, CENTER]), np.array([0.0, ARM])
    ram_pin = np.array([np.sqrt(LINK**2 - (ARM - HEIGHT) ** 2), HEIGHT])
    arm = planar.PlanarBody.bar("arm", [0, 0], tip, mass=4.0, width=0.03, thickness=0.01)
    crank = planar.PlanarBody.bar("crank", center, [0, CENTER + CRANK], mass=1.0, width=0.02)
    link = planar.PlanarBody.bar("link", tip, ram_pin, mass=0.5, width=0.015)
    ram = planar.PlanarBody.box("ram", mass=10.0, size=[0.10, 0.05, 0.05], position=ram_pin)
    x = (1, 0)  # along a bar in its body coordinates, which start in its middle; level for ram and ground
    items: list = [
        arm,
        crank,
        link,
        ram,
        planar.Revolute("pivot", quirk.GROUND, arm, point=[0, 0]),
        planar.Revolute("crank bearing", quirk.GROUND, crank, point=center),
        planar.PinInSlot("crank pin", arm, crank, vector_i=x, point_j=[CRANK / 2, 0]),
        planar.Revolute("tip", arm, link, point=tip),
        planar.Revolute("ram pin", link, ram, point=ram_pin),
        planar.PinInSlot("guide", quirk.GROUND, ram, point_i=[0, HEIGHT], vector_i=x),
        planar.ParallelVectors("level", quirk.GROUND, ram, vector_i=x, vector_j=x),
        planar.AngleDriver("motor", quirk.GROUND, crank, quirk.Motion.constant_rate(RATE), offset=np.pi / 2),
    ]
    return quirk.System(items, gravity=[0, -9.81, 0])


def turning_points(time: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """Return the times at which a velocity changes its sign, s."""
    before = np.flatnonzero(np.diff(np.sign(velocity)))
    part = velocity[before] / (velocity[before] - velocity[before + 1])
    return time[before] + part * (time[before + 1] - time[before])


def run(out: Path) -> quirk.Result:
    """Analyze one turn, a position for each degree; save the ram's motion, the mechanism and an animation."""
    result = quirk.kinematics(build(), np.linspace(0, 2 * np.pi / RATE, 361))
    print(result.summary())
    ram, time = result["ram"], result.time
    start, end = turning_points(time, ram.velocity[:, 0])
    ratio = (time[-1] - (end - start)) / (end - start)
    print(f"stroke      {1000 * np.ptp(ram.position[:, 0]):.1f} mm; by geometry {1000 * STROKE:.1f} mm")
    print(f"time ratio  {ratio:.3f} of cut to return; by geometry {TIME_RATIO:.3f}")

    turned = np.degrees(RATE * time)
    figure = result.plot.derivatives("ram", over=("Crank angle from upright (deg)", turned))
    for ax in figure.axes:
        ax.axvspan(np.degrees(RATE * start), np.degrees(RATE * end), color="0.92", zorder=0, label="return stroke")
    figure.axes[0].legend(loc="lower right")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "quick-return.png", dpi=120)
    plt.close(figure)
    pins = [("arm", [ARM / 2, 0, 0]), ("crank", [CRANK / 2, 0, 0]), ("ram", [0, 0, 0])]
    result.plot.paths(pins, color="velocity", at=0.15, path=out / "quick-return-paths.png")
    result.animate(out / "quick-return.gif", fps=20, speed=0.5, view=(0, 0))
    return result


if __name__ == "__main__":
    run(Path("out"))
