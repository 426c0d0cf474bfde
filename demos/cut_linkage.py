"""A four-bar linkage whose rocker breaks off at a load; crank and coupler continue as a driven double pendulum."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from quirk.demos import four_bar

import quirk

STRENGTH = 40.0  # N, of the pin between coupler and rocker


def build() -> quirk.System:
    """The four-bar linkage with a pin that breaks at a given load."""
    breaks = quirk.Event("break", "C.force", direction=1, level=STRENGTH, action=quirk.disable("C"))
    return four_bar.build().with_parts(breaks)


def run(out: Path) -> quirk.Result:
    """Simulate three seconds; save the load of the pin, the linkage before and after, and an animation."""
    result = quirk.simulate(build(), 3.0, output=0.005, progress=True)
    print(result.summary())
    (cut,) = result.events
    print(f"the pin gives way at {cut.time:.6f} s")

    load = np.linalg.norm(result["C"].force(), axis=1)
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    ax.plot(result.time, load)
    ax.axhline(STRENGTH, color="0.5", linestyle="--", label="strength of the pin")
    ax.set(title="force in the pin between coupler and rocker", xlabel="Time (s)", ylabel="Force (N)")
    ax.legend()
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "cut-linkage-load.png", dpi=120)
    plt.close(figure)
    result.plot.ghosts([cut.time + dt for dt in (-0.2, 0.0, 0.2, 0.4)], path=out / "cut-linkage.png")
    result.animate(out / "cut-linkage.gif", fps=15, view=(0, 0), trails=(("coupler", [0.3, 0, 0]),))
    return result


if __name__ == "__main__":
    run(Path("out"))
