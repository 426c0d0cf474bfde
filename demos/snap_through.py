"""A shallow truss of two elastic bars (von Mises truss) under a growing load: at its limit load it snaps through.

The equilibria are computed over the load, through both turning points; of the three equilibria at small loads the
middle one is unstable. A run with a slowly growing load follows the upper branch to its end, jumps, and comes to rest
on the lower one.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

HALF, HEIGHT = 1.0, 0.4  # m: half of the span, and the height of the unloaded truss
STIFFNESS, DAMPING = 500.0, 15.0  # N/m and N s/m of a bar
REST = np.hypot(HALF, HEIGHT)  # m
RATE, DURATION = 2.0, 10.0  # N/s and s


def build(force: float | str = 0.0) -> quirk.System:
    """Two bars between supports and a block on a rail, with a force along it; N, up, a number or a function of t."""
    block = quirk.Body.box("block", mass=1.0, size=[0.12, 0.12, 0.08], position=[0, 0, HEIGHT])
    rail = quirk.Prismatic("rail", quirk.GROUND, block, axis=[0, 0, 1], point=[0, 0, 0])
    bars = [
        quirk.Spring(name, quirk.GROUND, block, [side * HALF, 0, 0], [0, 0, 0], stiffness=STIFFNESS, damping=DAMPING,
                     rest_length=REST)
        for name, side in (("left bar", -1), ("right bar", 1))
    ]  # fmt: skip
    return quirk.System([block, rail, *bars, quirk.Force("load", block, [0, 0, force])])


def run(out: Path) -> quirk.Result:
    """Compute the equilibria, load the truss until it snaps through; save a load-height diagram and an animation."""
    path = quirk.equilibrium_path(lambda load: build(-load), 0.0, RATE * DURATION, step=0.1)
    height = path.of("block.position.z")
    limit = path.values[path.turning[0]]
    result = quirk.simulate(build(f"-{RATE}*t"), DURATION, output=0.01, rtol=1e-9, atol=1e-12, progress=True)
    print(result.summary())
    print(f"limit load {limit:.6f} N at a height of {height[path.turning[0]]:.6f} m")

    out.mkdir(parents=True, exist_ok=True)
    figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
    one, two = path.turning
    for branch, style, label in (
        (slice(None, one + 1), "-", "stable equilibria"),
        (slice(one, two + 1), "--", "unstable ones"),
        (slice(two, None), "-", None),
    ):
        ax.plot(height[branch], path.values[branch], style, color="C0", label=label)
    ax.plot(height[path.turning], path.values[path.turning], "o", color="C0", label="turning points")
    ax.plot(result["block"].position[:, 2], RATE * result.time, color="C1", linewidth=1, label="run, the load grows")
    ax.set(xlabel="Height of the block (m)", ylabel="Load (N)", ylim=(-1.3 * limit, RATE * DURATION))
    ax.grid(alpha=0.3)
    ax.legend()
    figure.savefig(out / "snap-through.png", dpi=120)
    plt.close(figure)
    result.animate(out / "snap-through.gif", fps=20, speed=1.0, view=(0, -90))
    return result


if __name__ == "__main__":
    run(Path("out"))
