"""A door on two hinges: ten constraint rows of rank five, and loads that are not unique.

Two coaxial hinges constrain the door twice. Its motion and the resultant of both hinge loads are unique; how the hinges
share it is not determined by rigid-body mechanics. QuIRK reports this, and returns the loads with the least sum of
squares. If one hinge is disabled, the other bears the whole load.
"""

from pathlib import Path

import numpy as np

import quirk

HEIGHTS = {"lower": 0.3, "upper": 1.7}


def build() -> quirk.System:
    """A leaf of 20 kg, 0.9 m wide and 2 m high, pushed open and damped by a closer."""
    leaf = quirk.Body.box("leaf", 20.0, [0.9, 0.04, 2.0], position=[0.45, 0, 1.0])
    hinges = [
        quirk.Revolute(name, quirk.GROUND, leaf, point=[0, 0, height], axis=[0, 0, 1])
        for name, height in HEIGHTS.items()
    ]
    closer = quirk.JointTorque("closer", hinges[0], "-6*angle - 8*rate")
    return quirk.System([leaf, *hinges, closer], gravity=[0, 0, -9.81])


def run(out: Path) -> quirk.Result:
    """Report the mobility, open the door, compare the loads; save plots and an animation."""
    system = build()
    print(system.mobility(), "\n")
    system.assemble(coordinates={"lower": 1.5})
    result = quirk.simulate(system, 6.0, output=0.02, progress=True)
    print(result.summary(), "\n")
    together = result["lower"].force() + result["upper"].force()
    system.disable("upper")
    alone = quirk.simulate(system, 6.0, output=0.02)
    print(f"both hinges together bear at most {np.linalg.norm(together, axis=1).max():.4f} N")
    print(f"one hinge alone bears at most     {np.linalg.norm(alone['lower'].force(), axis=1).max():.4f} N")
    result.plot(out / "door.png")
    result.plot.loads("upper", path=out / "door-upper-hinge.png")
    result.animate(out / "door.gif", fps=12)
    return result


if __name__ == "__main__":
    run(Path("out"))
