"""Newton's cradle: impacts propagate through a row of touching balls, and as many balls leave as arrive.

By the default law of simultaneous impacts all contacts of the row act at once: three balls leave, and the two arriving
ones rebound. With `impacts="sequential"` the contacts act one after the other, as for elastic balls.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

BALLS, LIFTED, RADIUS, LENGTH, ANGLE = 5, 2, 0.02, 0.25, np.radians(30)  # 1, 1, m, m, rad
RESTITUTION = 0.995
LAWS = ("sequential", "simultaneous")


def build() -> quirk.System:
    """Five touching balls on parallel strings; the first two are raised."""
    balls, strings, contacts = [], [], []
    shape = quirk.surface.sphere(RADIUS)
    for k in range(BALLS):
        x, angle = 2 * RADIUS * k, ANGLE if k < LIFTED else 0.0
        place = [x - LENGTH * np.sin(angle), 0, -LENGTH * np.cos(angle)]
        balls.append(quirk.Body.sphere(f"ball {k}", mass=0.25, radius=RADIUS, position=place))
        strings.append(quirk.Revolute(f"string {k}", quirk.GROUND, balls[k], point=[x, 0, 0], axis="y"))
        if k:
            pair = balls[k - 1], balls[k]
            contacts.append(quirk.Contact(f"contact {k}", *pair, on_i=shape, on_j=shape, restitution=RESTITUTION))
    return quirk.System([*balls, *strings, *contacts], gravity=[0, 0, -9.81])


def displacements(result: quirk.Result) -> np.ndarray:
    """Return the displacements (nt, balls) of the balls to the right of their rest positions, m."""
    return np.array([result[f"ball {k}"].position[:, 0] - 2 * RADIUS * k for k in range(BALLS)]).T


def run(out: Path) -> quirk.Result:
    """Simulate one second by both laws; save the motion of all balls, and an animation."""
    results = {law: quirk.simulate(build(), 1.0, output=0.005, impacts=law, progress=True) for law in LAWS}
    print(results["sequential"].summary())

    figure, axes = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    for ax, (law, result) in zip(axes, results.items(), strict=True):
        ax.plot(result.time, 1e3 * (displacements(result) + 2 * RADIUS * np.arange(BALLS)))
        ax.set(title=f'impacts="{law}"', ylabel="Place of the balls (mm)")
        ax.grid(alpha=0.3)
    axes[-1].set(xlabel="Time (s)")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "newtons-cradle.png", dpi=120)
    plt.close(figure)
    results["sequential"].animate(out / "newtons-cradle.gif", fps=20, speed=0.3, view=(5, -90))
    return results["sequential"]


if __name__ == "__main__":
    run(Path("out"))
