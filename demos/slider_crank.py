"""The crank drive of a four-stroke engine at constant speed: torque, side force and bearing loads over a cycle.

A driver prescribes the rotation of the crank; the loads follow by inverse dynamics. The torque of the driver is that of
the external load and of the flywheel, which returns its energy in the idle strokes.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk
from quirk import planar

CRANK, ROD = 0.045, 0.15  # m
RATE = 2 * np.pi * 50  # rad/s: 3000 turns a minute
CYCLE = 4 * np.pi / RATE  # s: two turns
# N, along y: the gas pushes the piston in a pulse that peaks 15 deg after the second top dead center.
GAS = "-25e3 * exp(-((tau*50*t - radians(375)) / radians(30))**2)"


def build() -> quirk.System:
    """Crank, rod and piston at top dead center; counterweights put the crank's center of mass on its axis."""
    pin, top = np.array([0.0, CRANK]), np.array([0.0, CRANK + ROD])
    crank = planar.PlanarBody.cylinder("crank", 5.0, 0.06, 0.01, angle=np.pi / 2)
    rod = planar.PlanarBody.bar("rod", pin, top, mass=0.6, width=0.016)
    piston = planar.PlanarBody.box("piston", 0.5, [0.08, 0.05, 0.08], position=top)
    up = (0, 1)
    items: list = [
        crank,
        rod,
        piston,
        planar.Revolute("main bearing", quirk.GROUND, crank, point=[0, 0]),
        planar.Revolute("crank pin", crank, rod, point=pin),
        planar.Revolute("piston pin", rod, piston, point=top),
        planar.PinInSlot("cylinder wall", quirk.GROUND, piston, vector_i=up),
        planar.ParallelVectors("upright", quirk.GROUND, piston, vector_i=up, vector_j=up),
        planar.AngleDriver("driver", quirk.GROUND, crank, quirk.Motion.constant_rate(RATE), offset=np.pi / 2),
        quirk.Force("gas", piston, [0, GAS, 0]),
    ]
    return quirk.System(items, gravity=[0, -9.81, 0])


def run(out: Path) -> quirk.Result:
    """Analyze a cycle, a position for each degree; save loads, polar load diagrams and an animation."""
    result = quirk.kinematics(build(), np.linspace(0, CYCLE, 721))
    print(result.summary())
    angle, torque = np.degrees(RATE * result.time), -result["driver"].torque()[:, 2]
    mean = np.trapezoid(torque, angle) / angle[-1]
    print(f"output torque {mean:.1f} N m in the mean, {torque.max():.0f} N m at most: {mean * RATE / 1000:.1f} kW")

    figure, axes = plt.subplots(3, 1, figsize=(8, 9), sharex=True, layout="constrained")
    axes[0].plot(angle, torque, label="output torque")
    axes[0].axhline(mean, linestyle="--", color="black", linewidth=0.8, label=f"mean, {mean:.0f} N m")
    axes[1].plot(angle, result["cylinder wall"].force()[:, 0] / 1000, label="side force on the piston, along x")
    for name, style in (("main bearing", "-"), ("crank pin", "--"), ("piston pin", "-.")):
        axes[2].plot(angle, np.linalg.norm(result[name].force(), axis=1) / 1000, style, label=f"force on the {name}")
    for ax, label in zip(axes, ("Torque (N m)", "Force (kN)", "Force (kN)"), strict=True):
        ax.set(ylabel=label, xticks=np.arange(0, 721, 90))
        ax.grid(alpha=0.3)
        ax.legend()
    axes[2].set_xlabel("Crank angle (deg)")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "slider-crank.png", dpi=120)
    plt.close(figure)

    # Results are the forces on the second body, the rod and the crank; on="i" is for those on the pin and the bearing.
    figure, axes = plt.subplots(1, 2, figsize=(11, 5), subplot_kw={"projection": "polar"}, layout="constrained")
    color = ("Crank angle", angle, "deg")
    result.plot.polar("crank pin", "i", on="i", color=color, ax=axes[0])
    result.plot.polar("main bearing", "inertial", on="i", color=color, ax=axes[1])
    figure.savefig(out / "slider-crank-polar.png", dpi=120)
    plt.close(figure)
    result.animate(out / "slider-crank.gif", fps=20, speed=0.01, view=(0, 0), trails=(("rod", [0, 0, 0]),))
    return result


if __name__ == "__main__":
    run(Path("out"))
