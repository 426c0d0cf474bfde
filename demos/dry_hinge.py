"""A bar on a spring with dry friction: its amplitude decreases by the same angle in each swing, until it sticks.

Friction of constant magnitude takes 2 coulomb / stiffness from the amplitude in each half swing. The bar comes to
rest at a turning point where the spring torque is below static friction, not where the spring is relaxed.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

INERTIA, STIFFNESS, SIZE = 2e-3, 0.5, (0.24, 0.03, 0.02)  # kg m^2, N m/rad, m
SLIDING, STICKING, START = 0.06, 0.08, 1.6  # N m, N m, rad


def build() -> quirk.System:
    """A bar on a hinge with a spring, and friction that sticks."""
    mass = 12 * INERTIA / (SIZE[0] ** 2 + SIZE[1] ** 2)
    bar = quirk.Body.box("bar", mass, size=SIZE, color="goldenrod")
    hinge = quirk.Revolute("hinge", quirk.GROUND, bar, point=[0, 0, 0], axis="z")
    spring = quirk.TorsionSpring("spring", hinge, stiffness=STIFFNESS, rest_angle=-START)
    friction = quirk.JointFriction("friction", hinge, coulomb=SLIDING, static=STICKING, sticking=True)
    return quirk.System([bar, hinge, spring, friction])


def run(out: Path) -> quirk.Result:
    """Simulate three seconds; save the deflection of the spring, the torques and an animation."""
    result = quirk.simulate(build(), 3.0, output=0.005, progress=True)
    print(result.summary())
    angle, friction = START + result["hinge"].angle, result["friction"]
    print(f"it comes to rest at {angle[-1]:.6f} rad, after {len(result.events)} stops")

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    top.plot(result.time, angle)
    half = np.pi * np.sqrt(INERTIA / STIFFNESS)
    top.plot(result.time, np.maximum(START - 2 * SLIDING / STIFFNESS * result.time / half, abs(angle[-1])), "--",
             color="gray", label="a straight line, by 2 coulomb / stiffness in each half swing")  # fmt: skip
    top.set(title="angle from where the spring is relaxed", ylabel="Angle (rad)")
    top.legend()
    bottom.plot(result.time, friction.along(), label="friction")
    bottom.plot(result.time, result["spring"].load(), label="spring")
    bottom.fill_between(
        result.time, -0.9, 0.9, where=friction.sticking, color="gray", alpha=0.2, linewidth=0, label="it sticks"
    )
    bottom.set(title="torques on the bar", xlabel="Time (s)", ylabel="Torque (N m)")
    bottom.legend()
    for ax in (top, bottom):
        ax.grid(alpha=0.3)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "dry-hinge.png", dpi=120)
    plt.close(figure)
    result.animate(out / "dry-hinge.gif", fps=20, speed=0.5, view=(90, -90))
    return result


if __name__ == "__main__":
    run(Path("out"))
