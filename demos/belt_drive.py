"""A belt drive under a growing load: the belt first creeps, and slips when its friction is exhausted.

The tight span is stretched more than the slack one, so that the driven wheel is slower than the driving one by the
ratio of (1 + T / EA) in both spans (creep). At the tension ratio exp(mu theta) the belt slips on the smaller wheel.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

RADII, DISTANCE, RATE = (0.05, 0.12), 0.35, 40.0  # m, m, rad/s of the motor
STIFFNESS, FRICTION, PRETENSION = 8e3, 0.35, 150.0  # N, 1, N
GROWTH = 12.0  # N m/s of the torque of the load


def build() -> quirk.System:
    """Two wheels with a belt around both, a motor on the first and a brake on the second."""
    rates = RATE, RATE * RADII[0] / RADII[1]
    wheels = [
        quirk.Body.cylinder(
            name, mass=20 * radius, radius=radius, length=0.03, axis="z", position=[x, 0, 0],
            angular_velocity=[0, 0, -rate], color=color,
        )
        for name, radius, x, rate, color in zip(
            ("motor wheel", "driven wheel"), RADII, (0, DISTANCE), rates, ("lightsteelblue", "wheat"), strict=True
        )
    ]  # fmt: skip
    axles = [quirk.Revolute(f"{w.name} axle", quirk.GROUND, w, point=w.position, axis="z") for w in wheels]
    drums = [quirk.Drum(w, [0, 0, 0], [0, 0, -1], radius) for w, radius in zip(wheels, RADII, strict=True)]
    belt = quirk.Pulley("belt", drums, closed=True, stiffness=STIFFNESS, friction=FRICTION, pretension=PRETENSION)
    load = quirk.JointTorque("load", axles[1], quirk.Motion.polynomial([0, GROWTH]))
    bearing = quirk.TorsionSpring("bearing", axles[1], stiffness=0.0, damping=0.02)
    motor = quirk.Drive("motor", axles[0], quirk.Motion.constant_rate(-RATE))
    return quirk.System([*wheels, *axles, belt, load, bearing, motor])


def limit() -> float:
    """Ratio of the tensions at which the belt slips on the smaller wheel."""
    return float(np.exp(FRICTION * (np.pi - 2 * np.arcsin((RADII[1] - RADII[0]) / DISTANCE))))


def run(out: Path) -> quirk.Result:
    """Simulate until the belt has slipped for a while; save tensions, creep and slip, and an animation."""
    result = quirk.simulate(build(), 1.4, output=0.005, progress=True)
    print(result.summary())
    spans, driven = result["belt spans"], -result["driven wheel"].angular_velocity[:, 2]
    above, below = spans.coordinate("tension 0"), spans.coordinate("tension 1")
    behind = 1 - driven * RADII[1] / (RATE * RADII[0])
    law = 1 - (1 + above / STIFFNESS) / (1 + below / STIFFNESS)
    print(f"it slips from {result.events.time[0]:.4f} s on, at a ratio of the tensions of {limit():.4f}")

    figure, axes = plt.subplots(3, 1, figsize=(8, 10), sharex=True, layout="constrained")
    axes[0].plot(result.time, below, label="tight span")
    axes[0].plot(result.time, above, label="slack span")
    axes[0].set(title="tensions", ylabel="Tension (N)")
    axes[1].plot(result.time, below / above)
    axes[1].axhline(limit(), color="gray", linestyle="--", label="exp(mu theta)")
    axes[1].set(title="ratio of the tensions", ylabel="Ratio")
    axes[2].plot(result.time, 1e2 * behind, label="how far the driven wheel is behind")
    axes[2].plot(result.time, 1e2 * law, "--", label="steady creep at these tensions")
    axes[2].set(title="loss of speed", xlabel="Time (s)", ylabel="Loss (%)", ylim=(-0.2, 6))
    for ax in axes:
        ax.grid(alpha=0.3)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(loc="upper left")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "belt-drive.png", dpi=120)
    plt.close(figure)
    result.animate(out / "belt-drive.gif", fps=20, speed=0.1, view=(90, -90))
    return result


if __name__ == "__main__":
    run(Path("out"))
