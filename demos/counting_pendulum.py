"""A pendulum counts its passages through the lowest point; the tenth passage ends the run."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

PASSAGES = 10


def build() -> quirk.System:
    """A rod of 1 m, hinged about y, released at rest in horizontal position; its angle is 90 degrees at the bottom."""
    rod = quirk.Body.box("rod", mass=1.0, size=[1.0, 0.05, 0.05], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    return quirk.System([rod, hinge], gravity=[0, 0, -9.81])


def passage() -> quirk.Event:
    """The hinge passes the vertical in either direction; the tenth passage ends the run."""
    times: list[float] = []

    def count(t: float, state: quirk.State) -> str:
        times.append(t)
        return "stop" if len(times) == PASSAGES else "record"

    return quirk.Event("vertical", "hinge.angle", level=np.pi / 2, action=count)


def run(out: Path) -> quirk.Result:
    """Simulate until the tenth passage; save the swing and an animation."""
    result = quirk.simulate(build(), 60.0, output=0.02, progress=True, events=[passage()])
    print(result.summary())
    print(result.events)
    print(f"period of the swing: {np.diff(result.events.time[::2]).mean():.9f} s")
    figure = result.plot.joint("hinge")
    for ax in figure.axes:
        for t in result.events.time:
            ax.axvline(t, color="0.7", linestyle=":", zorder=0)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "counting-pendulum.png", dpi=120)
    plt.close(figure)
    result.animate(out / "counting-pendulum.gif", fps=15, view=(0, -90), trails=(("rod", [0.5, 0, 0]),))
    return result


if __name__ == "__main__":
    run(Path("out"))
