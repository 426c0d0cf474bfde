"""A ball bounces ever lower, infinitely often in a finite time, and comes to rest on the floor."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

HEIGHT, RADIUS, RESTITUTION = 1.0, 0.1, 0.7

# Falls of the height, then bounces that are shorter by the restitution each time: a geometric series.
FALL = np.sqrt(2 * HEIGHT / 9.81)
AT_REST = FALL * (1 + RESTITUTION) / (1 - RESTITUTION)


def build() -> quirk.System:
    """A ball above the ground."""
    ball = quirk.Body.sphere("ball", mass=0.5, radius=RADIUS, position=[0, 0, HEIGHT + RADIUS], velocity=[0.3, 0, 0])
    floor = quirk.Contact(
        "floor",
        quirk.GROUND,
        ball,
        on_i=quirk.surface.plane(),
        on_j=quirk.surface.sphere(RADIUS),
        restitution=RESTITUTION,
    )
    return quirk.System([ball, floor], gravity=[0, 0, -9.81])


def run(out: Path) -> quirk.Result:
    """Simulate four seconds; save height and load over time, and an animation."""
    result = quirk.simulate(build(), 4.0, output=0.01, progress=True)
    print(result.summary())
    bounces = result.events.of("floor")
    print(f"{len(bounces)} bounces, at rest after {bounces.time[-1]:.7f} s; by the series {AT_REST:.7f} s")

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
    top.plot(result.time, result["ball"].position[:, 2] - RADIUS)
    top.set(title="height of the ball above the floor", ylabel="Height (m)")
    bottom.plot(result.time, result["floor"].force()[:, 2], label="force at rest (N)")
    bottom.plot(bounces.time, [bounce.impulse["floor"].force[2] for bounce in bounces], "o", label="impulses (N s)")
    bottom.set(title="what the floor exerts on the ball", xlabel="Time (s)", ylabel="Force (N), impulse (N s)")
    for ax in (top, bottom):
        ax.axvline(AT_REST, color="0.5", linestyle="--", zorder=0)
        ax.grid(alpha=0.3)
    bottom.legend()
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "bouncing-ball.png", dpi=120)
    plt.close(figure)
    result.animate(out / "bouncing-ball.gif", fps=20, view=(5, -90), trails=(("ball", [0, 0, 0]),))
    return result


if __name__ == "__main__":
    run(Path("out"))
