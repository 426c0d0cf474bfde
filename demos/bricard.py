"""Bricard's mechanism: a closed loop of six bars and six hinges, which is mobile although overconstrained.

Benchmark A04 of the IFToMM library of computational mechanics: five moving bars along the edges of a unit cube, and
the ground as the sixth. 30 constraint rows act on 30 coordinates, but only 29 of them are independent, so that one
degree of freedom remains. Programs that require independent rows fail here.
"""

from pathlib import Path

import numpy as np

import quirk

# The closed way along edges of the cube, and the direction of the hinge at each corner.
CORNERS = np.array([[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float)
AXES = [[0, 1, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]]


def build() -> quirk.System:
    """Bars of 1 kg, 1 m long and 0.1 m thick; the last edge, from corner 5 to corner 0, is the ground."""
    bars: list[quirk.Body] = []
    for k in range(5):
        start, end = CORNERS[k], CORNERS[k + 1]
        size = np.where(np.abs(end - start) > 0, 1.0, 0.1)
        bars.append(quirk.Body.box(f"bar {k}", mass=1.0, size=size, position=(start + end) / 2))
    links: list = [quirk.GROUND, *bars, quirk.GROUND]
    hinges = [quirk.Revolute(f"hinge {k}", links[k], links[k + 1], point=CORNERS[k], axis=AXES[k]) for k in range(6)]
    return quirk.System([*bars, *hinges], gravity=[0, -9.81, 0])


def run(out: Path) -> quirk.Result:
    """Simulate ten seconds; save energies and residuals, the path of a corner and an animation."""
    result = quirk.simulate(build(), 10.0, rtol=1e-10, atol=1e-12, output=0.02, progress=True)
    print(result.summary())
    corner = ("bar 2", [0, 0, 0.5])
    result.plot(out / "bricard.png")
    result.plot.paths([corner], path=out / "bricard-path.png")
    result.animate(out / "bricard.gif", fps=12, speed=2, trails=(corner,))
    return result


if __name__ == "__main__":
    run(Path("out"))
