"""Two rods on hinges, released from rest: the double pendulum, with its loads and its energy."""

from pathlib import Path

import quirk


def build() -> quirk.System:
    """Two rods of 1 m and 0.8 m, hinged about y; both start horizontal."""
    upper = quirk.Body.box("upper", mass=1.0, size=[1.0, 0.06, 0.06], position=[0.5, 0, 0])
    lower = quirk.Body.box("lower", mass=0.6, size=[0.8, 0.05, 0.05], position=[1.4, 0, 0])
    shoulder = quirk.Revolute("shoulder", quirk.GROUND, upper, point=[0, 0, 0], axis=[0, 1, 0])
    elbow = quirk.Revolute("elbow", upper, lower, point=[1.0, 0, 0], axis=[0, 1, 0])
    return quirk.System([upper, lower, shoulder, elbow], gravity=[0, 0, -9.81])


def run(out: Path) -> quirk.Result:
    """Simulate ten seconds, print a summary, save a picture and an animation."""
    result = quirk.simulate(build(), 10.0, rtol=1e-10, atol=1e-12, output=0.02, progress=True)
    print(result.summary())
    result.plot(out / "double-pendulum.png")
    tip = ("lower", [0.4, 0, 0])
    result.animate(out / "double-pendulum.gif", fps=15, speed=2, view=(10, -75), trails=(tip,))
    return result


if __name__ == "__main__":
    run(Path("out"))
