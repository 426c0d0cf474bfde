"""A tug pulls a train of boxes with growing force; the latches between them break one after the other.

The strength of the latches decreases toward the end of the train. Detached boxes keep their velocity.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

MASS, SIZE = 40.0, 0.4  # kg and m, of each box
STRENGTHS = (1.0, 3.0, 8.0)  # N, from the last latch to the first
RATE = 2.0  # N/s, at which the pull grows


def build() -> quirk.System:
    """Boxes in a row, in free space, numbered from the one that is pulled."""
    boxes = [
        quirk.Body.box(f"box {k + 1}", MASS, [SIZE, 0.3, 0.3], position=[-1.1 * SIZE * k, 0, 0])
        for k in range(len(STRENGTHS) + 1)
    ]
    latches = [
        quirk.Fixed(f"latch {k + 1}", boxes[k], boxes[k + 1], point=0.5 * (boxes[k].position + boxes[k + 1].position))
        for k in range(len(STRENGTHS))
    ]
    breaks = [
        quirk.Event(f"break {k + 1}", f"{latch.name}.force", level=strength, direction=1, action=quirk.disable(latch))
        for k, (latch, strength) in enumerate(zip(latches, STRENGTHS[::-1], strict=True))
    ]
    tug = quirk.Force("tug", boxes[0], [quirk.Motion.polynomial([0.0, RATE]), 0, 0], point=[0.5 * SIZE, 0, 0])
    return quirk.System([*boxes, *latches, *breaks, tug])


def run(out: Path) -> quirk.Result:
    """Simulate ten seconds; save velocities and loads, and an animation."""
    system = build()
    result = quirk.simulate(system, 10.0, output=0.02, progress=True)
    print(result.summary())
    print(result.events)

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    velocities = [(body.name, result[body.name].velocity[:, 0], "m/s") for body in system.bodies]
    loads = [(latch.name, np.linalg.norm(result[latch.name].force(), axis=1), "N") for latch in system.constraints]
    for ax, quantities, title in ((top, velocities, "velocity"), (bottom, loads, "load of the latches")):
        result.plot.quantity(*quantities, ax=ax, events=False)
        ax.set_title(title)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "train-of-boxes.png", dpi=120)
    plt.close(figure)
    result.animate(out / "train-of-boxes.gif", fps=15, view=(20, -90))
    return result


if __name__ == "__main__":
    run(Path("out"))
