"""A fast top on a ball joint: under gravity its axis precesses and nutates.

For a fast top the mean precession rate is close to m g l / (I_3 spin).
"""

from pathlib import Path

import numpy as np

import quirk

TILT, SPIN, ARM = np.radians(25), 150.0, 0.12


def build() -> quirk.System:
    """Return a disc on a massless stem, released spinning about its axis (body z), whose direction is at rest."""
    axis = np.array([np.sin(TILT), 0, np.cos(TILT)])
    disc = quirk.Body.cylinder(
        "disc",
        mass=0.5,
        radius=0.08,
        length=0.02,
        axis="z",
        position=ARM * axis,
        orientation=[np.cos(TILT / 2), 0, np.sin(TILT / 2), 0],
        angular_velocity=[0, 0, SPIN],
    )
    tip = quirk.Spherical("tip", quirk.GROUND, disc, point=[0, 0, 0])
    return quirk.System([disc, tip], gravity=[0, 0, -9.81])


def run(out: Path) -> quirk.Result:
    """Simulate three seconds; save the path of the axis, the load at the tip and an animation."""
    system = build()
    result = quirk.simulate(system, 3.0, rtol=1e-11, atol=1e-13, output=0.005, progress=True)
    print(result.summary())
    position = result["disc"].position
    precession = np.unwrap(np.arctan2(position[:, 1], position[:, 0]))[-1] / result.time[-1]
    disc = system.bodies[0]
    expected = disc.mass * 9.81 * ARM / (disc.inertia[2, 2] * SPIN)
    print(f"mean precession {precession:.4f} rad/s; fast-top estimate {expected:.4f} rad/s")
    result.plot.paths([("disc", [0, 0, 0])], path=out / "heavy-top.png")
    result.plot.loads("tip", path=out / "heavy-top-loads.png")
    result.animate(out / "heavy-top.gif", fps=15, trails=(("disc", [0, 0, 0]),))
    return result


if __name__ == "__main__":
    run(Path("out"))
