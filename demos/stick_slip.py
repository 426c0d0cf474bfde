"""A block on a moving belt, held by a spring: the belt carries it along until static friction is exceeded.

Coulomb friction is larger during sticking than during sliding. Below a critical speed of the belt the block alternates
between sticking and slipping; above it, it would oscillate about the position where spring and friction balance.
"""

from pathlib import Path

import matplotlib.pyplot as plt

import quirk
from quirk.shapes import Box

MASS, STIFFNESS, SPEED = 1.0, 100.0, 0.1  # kg, N/m, m/s of the belt
SLIDING, STICKING = 0.2, 0.35  # coefficients of friction


def build() -> quirk.System:
    """A belt with a drive, a block on it in a guide, and a spring to the wall."""
    belt = quirk.Body("belt", 1.0, [0.1] * 3, velocity=[SPEED, 0, 0], shape=Box((1.6, 0.3, 0.02)))
    block = quirk.Body.box("block", MASS, size=[0.1, 0.1, 0.1], position=[0, 0, 0.06], velocity=[SPEED, 0, 0])
    path = quirk.Prismatic("path", quirk.GROUND, belt, point=[0, 0, 0], axis=[1, 0, 0])
    top = quirk.Prismatic("top", belt, block, point=[0, 0, 0.01], axis=[1, 0, 0])
    return quirk.System(
        [
            belt,
            block,
            path,
            top,
            quirk.Drive("drive", path, quirk.Motion.polynomial([0, SPEED])),
            quirk.Spring("spring", quirk.GROUND, block, points=[[-0.4, 0, 0.06], [0, 0, 0.06]], stiffness=STIFFNESS),
            quirk.Friction("friction", top, SLIDING, static=STICKING),
        ],
        gravity=[0, 0, -9.81],
    )


def run(out: Path) -> quirk.Result:
    """Simulate five seconds; save displacement, friction and the orbit in the phase plane, and an animation."""
    result = quirk.simulate(build(), 5.0, output=0.01, progress=True)
    print(result.summary())
    x, v = result["block"].position[:, 0], result["block"].velocity[:, 0]
    times = result.events.time
    print(f"it slips for {times[1] - times[0]:.6f} s and sticks for {times[2] - times[1]:.6f} s")

    figure, axes = plt.subplots(3, 1, figsize=(8, 10), layout="constrained")
    axes[0].plot(result.time, x * 1e3)
    axes[0].set(title="displacement of the block", xlabel="Time (s)", ylabel="Displacement (mm)")
    axes[1].plot(result.time, result["friction"].force()[:, 0], label="friction")
    axes[1].fill_between(result.time, 0, 4, where=result["friction"].sticking, alpha=0.2, label="it sticks")
    axes[1].set(title="friction on the block", xlabel="Time (s)", ylabel="Force (N)")
    axes[1].legend(loc="lower right")
    axes[2].plot(x * 1e3, v)
    axes[2].set(title="orbit", xlabel="Displacement (mm)", ylabel="Velocity (m/s)")
    for ax in axes:
        ax.grid(alpha=0.3)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "stick-slip.png", dpi=120)
    plt.close(figure)
    result.animate(out / "stick-slip.gif", fps=20, view=(8, -85))
    return result


if __name__ == "__main__":
    run(Path("out"))
