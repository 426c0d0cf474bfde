"""A crank-rocker four-bar linkage, driven by a motor torque on its crank.

All four hinges are spatial: of their 20 constraint rows 17 are independent. Redundant rows need no special treatment.
"""

from pathlib import Path

import numpy as np

import quirk

# Joint points in the plane z = 0 at the start; crank 0.2 m, coupler 0.6 m, rocker 0.5 m, base 0.7 m.
BASE, CRANK, COUPLER, ROCKER = 0.7, 0.2, 0.6, 0.5
MOTOR = "6*(1 - rate/10)"  # N m: it falls with speed and reaches zero at 10 rad/s


def corners() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the four joint points with the crank pointing straight up."""
    a, d = np.array([0.0, 0, 0]), np.array([BASE, 0, 0])
    b = np.array([0.0, CRANK, 0])
    # c lies where the circles about b and d meet, on the upper side.
    to_d = d - b
    span = np.linalg.norm(to_d)
    along = (COUPLER**2 - ROCKER**2 + span**2) / (2 * span)
    across = np.sqrt(COUPLER**2 - along**2)
    c = b + along * to_d / span + across * np.array([-to_d[1], to_d[0], 0]) / span
    return a, b, c, d


def bar(name: str, start: np.ndarray, end: np.ndarray) -> quirk.Body:
    """Return a steel bar from one joint point to another; body x points along it."""
    length = float(np.linalg.norm(end - start))
    angle = np.arctan2(end[1] - start[1], end[0] - start[0])
    return quirk.Body.box(
        name,
        mass=4.0 * length,
        size=[length, 0.03, 0.02],
        position=(start + end) / 2,
        orientation=[np.cos(angle / 2), 0, 0, np.sin(angle / 2)],
    )


def build() -> quirk.System:
    """Three bars, four hinges about z, and a motor on the crank."""
    a, b, c, d = corners()
    crank, coupler, rocker = bar("crank", a, b), bar("coupler", b, c), bar("rocker", d, c)
    z = [0, 0, 1]
    crank_pin = quirk.Revolute("crank pin", quirk.GROUND, crank, point=a, axis=z)
    items: list = [
        crank,
        coupler,
        rocker,
        crank_pin,
        quirk.Revolute("B", crank, coupler, point=b, axis=z),
        quirk.Revolute("C", coupler, rocker, point=c, axis=z),
        quirk.Revolute("rocker pin", quirk.GROUND, rocker, point=d, axis=z),
        quirk.JointTorque("motor", crank_pin, MOTOR),
    ]
    return quirk.System(items, gravity=[0, -9.81, 0])


def run(out: Path) -> quirk.Result:
    """Simulate five seconds; save loads, the coupler curve and an animation."""
    result = quirk.simulate(build(), 5.0, output=0.01, progress=True)
    print(result.summary())
    turns = result["crank pin"].rotation[-1, 2] / (2 * np.pi)
    print(f"the crank made {turns:.2f} turns")
    coupler_point = ("coupler", [0.0, 0.2, 0.0])
    result.plot.loads("rocker pin", path=out / "four-bar-loads.png")
    result.plot.paths([coupler_point, ("crank", [0.1, 0, 0])], path=out / "four-bar-paths.png")
    result.animate(out / "four-bar.gif", fps=15, view=(0, 0), trails=(coupler_point,))
    return result


if __name__ == "__main__":
    run(Path("out"))
