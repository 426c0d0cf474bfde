"""Hoeken's linkage: a crank-rocker four-bar whose coupler point moves along a straight line for half of a turn.

The crank turns at constant speed, so that no degree of freedom remains: the positions are computed for each time, and
velocity, acceleration, jerk and snap follow from the derivatives of the same constraint rows.
"""

from pathlib import Path

import numpy as np

import quirk
from quirk import planar

# Lengths, m; the coupler's bar goes on as far again beyond the pin of the rocker.
CRANK, BASE, COUPLER, ROCKER = 0.10, 0.20, 0.25, 0.25
RATE = 2 * np.pi  # rad/s: one turn in a second


def build() -> quirk.System:
    """Crank, coupler and rocker in the plane, pinned together, and a motor of constant speed."""
    # The crank starts on the base line, towards the rocker, where all three bars make an upright triangle.
    a, b, d = np.array([0.0, 0]), np.array([CRANK, 0]), np.array([BASE, 0])
    half = 0.5 * (BASE - CRANK)
    c = np.array([CRANK + half, np.sqrt(COUPLER**2 - half**2)])
    crank = planar.PlanarBody.bar("crank", a, b, mass=0.2, width=0.012)
    coupler = planar.PlanarBody.bar("coupler", b, 2 * c - b, mass=1.0, width=0.012)
    rocker = planar.PlanarBody.bar("rocker", d, c, mass=0.5, width=0.012)
    items: list = [
        crank,
        coupler,
        rocker,
        planar.Revolute("A", quirk.GROUND, crank, point=a),
        planar.Revolute("B", crank, coupler, point=b),
        planar.Revolute("C", coupler, rocker, point=c),
        planar.Revolute("D", quirk.GROUND, rocker, point=d),
        planar.AngleDriver("motor", quirk.GROUND, crank, quirk.Motion.constant_rate(RATE)),
    ]
    return quirk.System(items, gravity=[0, -9.81, 0])


TIP = [COUPLER, 0.0, 0.0]  # the coupler point: body coordinates start in the middle of a bar


def run(out: Path) -> quirk.Result:
    """Analyze one turn, a position for each degree; save the coupler curve, its derivatives and an animation."""
    result = quirk.kinematics(build(), np.linspace(0, 2 * np.pi / RATE, 361))
    print(result.summary())
    tip, angle = result["coupler"].path(TIP), np.degrees(result["crank"].in_plane.angle)
    straight = (angle > 90) & (angle < 270)
    length, height = np.ptp(tip.position[straight, :2], axis=0)
    print(
        f"crank angles of 90 to 270 deg: the tip moves {1000 * length:.1f} mm along, and {1000 * height:.2f} mm across"
    )
    jerk = np.linalg.norm(tip.jerk, axis=1)
    print(f"largest jerk of the tip: {jerk.max():.1f} m/s^3 at {angle[jerk.argmax()]:.0f} deg")
    result.plot.paths([("coupler", TIP)], color="jerk", at=0.65, path=out / "coupler-curve.png")
    over = ("Crank angle (deg)", angle)
    result.plot.derivatives("coupler", TIP, over=over, path=out / "coupler-curve-derivatives.png")
    result.animate(out / "coupler-curve.gif", fps=25, speed=0.5, view=(0, 0), trails=(("coupler", TIP),))
    return result


if __name__ == "__main__":
    run(Path("out"))
