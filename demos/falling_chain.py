"""A chain swings from a hook, is released, and falls on a smooth floor, which its joints hit one after the other."""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import quirk
from quirk import planar

LINKS, LENGTH, HOOK = 6, 0.2, 2.0  # m
LEAN = np.radians(30)  # at the start, from the vertical
CUT = 0.5  # s


def build() -> quirk.System:
    """Links on hinges in the x-z plane, with possible contacts of each end with the floor."""
    plane = planar.Plane(normal=[0, -1, 0], x=[1, 0, 0])
    along = LENGTH * np.array([np.sin(LEAN), -np.cos(LEAN)])
    ends = np.array([0.0, HOOK]) + np.outer(np.arange(LINKS + 1), along)
    links = [
        planar.PlanarBody.bar(f"link {k + 1}", ends[k], ends[k + 1], mass=0.1, width=0.02, plane=plane)
        for k in range(LINKS)
    ]
    bodies: list[Any] = [quirk.GROUND, *links]
    hinges = [
        planar.Revolute("hook" if k == 0 else f"hinge {k}", bodies[k], bodies[k + 1], point=ends[k])
        for k in range(LINKS)
    ]
    tips = [(links[0], -1), *((link, 1) for link in links)]
    contacts = [
        quirk.Contact(
            f"contact {k}",
            quirk.GROUND,
            body,
            on_i=quirk.surface.plane(),
            on_j=quirk.surface.point([side * LENGTH / 2, 0, 0]),
            restitution=0.2,
        )
        for k, (body, side) in enumerate(tips)
    ]
    cut = quirk.Event("cut", "time", level=CUT, action=quirk.disable("hook"))
    dampers = [quirk.TorsionSpring(f"damper {k}", hinges[k], stiffness=0.0, damping=2e-4) for k in range(1, LINKS)]
    return quirk.System([*links, *hinges, *contacts, cut, *dampers], gravity=[0, 0, -9.81])


def run(out: Path) -> quirk.Result:
    """Simulate two seconds; save energies and the loads of the floor, ghosts and an animation."""
    result = quirk.simulate(build(), 2.0, output=0.01, progress=True)
    print(result.summary())
    impacts = [event for event in result.events if event.impulse]
    print(f"{len(impacts)} impacts took {sum(event.energy_loss for event in impacts):.6f} J")

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    result.plot.energy(ax=top, events=False)
    loads = [(f"contact {k}", result[f"contact {k}"].force()[:, 2], "N") for k in range(LINKS + 1)]
    result.plot.quantity(*loads, ax=bottom, events=False)
    bottom.set_title("loads of the floor at rest")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "falling-chain-loads.png", dpi=120)
    plt.close(figure)
    result.plot.ghosts([0.0, CUT, 0.8, 1.0, 1.2, 2.0], path=out / "falling-chain.png")
    result.animate(out / "falling-chain.gif", fps=25, speed=0.5, view=(0, -90))
    return result


if __name__ == "__main__":
    run(Path("out"))
