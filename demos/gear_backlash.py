"""Two gears with backlash: the driven gear rattles between the flanks when the driver reverses.

The teeth are elastic and damped. When the driver reverses, the driven gear moves freely through the play until the
opposite flanks touch.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

RADII, BACKLASH = (0.04, 0.08), np.radians(2.0)  # m; rad of the driven gear while the driver is held
STIFFNESS, DAMPING = 400.0, 0.15  # N m/rad and N m s/rad of the teeth, at the driven gear
SWING, RATE = 1.0, 6.0  # rad, rad/s


def build() -> quirk.System:
    """A driver with an oscillating motion, and a gear with twice as many teeth."""
    start = [0, 0, SWING * RATE], [0, 0, -SWING * RATE * RADII[0] / RADII[1]]
    gears = [
        quirk.Body.cylinder(
            name, mass=50 * radius, radius=radius, length=0.02, axis="z", position=[x, 0, 0], angular_velocity=rate,
            color=color,
        )
        for name, radius, x, rate, color in zip(
            ("driver", "driven gear"), RADII, (0, sum(RADII)), start, ("lightsteelblue", "wheat"), strict=True
        )
    ]  # fmt: skip
    axles = [quirk.Revolute(f"{g.name} axle", quirk.GROUND, g, point=g.position, axis="z") for g in gears]
    mesh = quirk.Gear(
        "mesh", *gears, ratio=-RADII[0] / RADII[1], axis="z", backlash=BACKLASH, stiffness=STIFFNESS, damping=DAMPING
    )
    motor = quirk.Drive("motor", axles[0], quirk.Motion.sinusoid(SWING, RATE))
    oil = quirk.TorsionSpring("oil", axles[1], stiffness=0.0, damping=0.01)
    return quirk.System([*gears, *axles, mesh, motor, oil])


def run(out: Path) -> quirk.Result:
    """Simulate two swings; save the play, the torque of the teeth and an animation."""
    result = quirk.simulate(build(), 4 * np.pi / RATE, output=0.002, progress=True)
    print(result.summary())
    flanks = result["mesh flanks"]
    play, torque = np.degrees(flanks.coordinate()), flanks.load()
    print(f"{len(result.events)} contacts and partings; the teeth carry up to {np.abs(torque).max():.3f} N m")

    figure, axes = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    axes[0].plot(result.time, play)
    for side in (-1, 1):
        axes[0].axhline(0.5 * side * np.degrees(BACKLASH), color="gray", linestyle="--")
    axes[0].set(title="driven gear within the free play", ylabel="Angle (deg)")
    axes[1].plot(result.time, torque)
    axes[1].set(title="torque of the teeth on it", xlabel="Time (s)", ylabel="Torque (N m)")
    for ax in axes:
        ax.grid(alpha=0.3)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "gear-backlash.png", dpi=120)
    plt.close(figure)
    result.animate(out / "gear-backlash.gif", fps=20, speed=0.3, view=(90, -90))
    return result


if __name__ == "__main__":
    run(Path("out"))
