"""A cam moves a follower, which tilts a rocker through a push rod: dwell, rise, dwell, fall.

The lift is a spline of degree 5 through a table of heights, so that acceleration and jerk are continuous. The force
between cam and follower shows up to which speed a spring keeps them in contact.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from numpy.polynomial import Polynomial

import quirk

LIFT, BASE = 0.010, 0.030  # m: of the cam, and its radius in the lower dwell
DWELL, RISE, TOP, FALL = 60, 90, 60, 90  # deg; the lower dwell takes what is left of a turn, too
SLOW, FAST = 1200, 2400  # turns a minute

# Height over part of the rise, with velocity, acceleration and jerk zero at both ends.
LAW = Polynomial([0, 0, 0, 0, 35, -84, 70, -20])


def lift(angle: np.ndarray, order: int = 0) -> np.ndarray:
    """Return the lift at cam angles in degrees, from which the table is computed, or its derivative, m/deg^order."""
    angle = np.asarray(angle) % 360
    fall = DWELL + RISE + TOP
    rising, falling = np.clip((angle - DWELL) / RISE, 0, 1), np.clip(1 - (angle - fall) / FALL, 0, 1)
    law, up = LAW.deriv(order), angle < fall
    return LIFT * np.where(up, law(rising) / RISE**order, law(falling) / (-FALL) ** order)


def build(speed: float = SLOW) -> quirk.System:
    """Follower, push rod and rocker, with a valve spring at the far end of the rocker; `speed` in turns per minute."""
    follower = quirk.Body.box("follower", 0.10, [0.02, 0.08, 0.02], position=[0, 0.04, 0])
    rod = quirk.Body.cylinder("push rod", 0.05, 0.003, 0.12, axis="y", position=[0, 0.14, 0])
    rocker = quirk.Body.box("rocker", 0.12, [0.08, 0.01, 0.01], position=[0.04, 0.20, 0])
    guide = quirk.Prismatic("guide", quirk.GROUND, follower, axis=[0, 1, 0])
    # One turn before the one that is looked at and one after it, so that the ends of the spline are far away.
    table = np.arange(-360, 721, 15)
    motion = quirk.Motion.spline(table / (6 * speed), lift(table))
    items: list = [
        follower,
        rod,
        rocker,
        guide,
        quirk.Universal("foot", follower, rod, point=[0, 0.08, 0], axis_i=[1, 0, 0], axis_j=[0, 0, 1]),
        quirk.Spherical("head", rod, rocker, point=[0, 0.20, 0]),
        quirk.Revolute("pivot", quirk.GROUND, rocker, point=[0.04, 0.20, 0], axis=[0, 0, 1]),
        quirk.Drive("cam", guide, motion),
        quirk.Spring("spring", quirk.GROUND, rocker, [0.08, 0.12, 0], [0.04, 0, 0], stiffness=12e3, rest_length=0.09),
    ]
    return quirk.System(items, gravity=[0, -9.81, 0])


def run(out: Path) -> quirk.Result:
    """Analyze one turn at two speeds; save the follower's motion, the forces and an animation."""
    angle = np.linspace(0, 360, 721)
    slow, fast = (quirk.kinematics(build(speed), angle / (6 * speed)) for speed in (SLOW, FAST))
    print(slow.summary())
    jerk = np.abs(slow["follower"].jerk[:, 1])
    print(f"largest jerk of the follower: {jerk.max():.0f} m/s^3 at a cam angle of {angle[jerk.argmax()]:.0f} deg")
    for speed, result in ((SLOW, slow), (FAST, fast)):
        least = result["cam"].force()[:, 1].min()
        print(f"{speed} turns/min: force of the cam at least {least:.0f} N, it {'holds' if least > 0 else 'lifts off'}")

    figure = slow.plot.derivatives("follower", over=("Cam angle (deg)", angle))
    for order, ax in enumerate(figure.axes[1:4], start=1):
        ax.plot(angle, lift(angle, order) * (6 * SLOW) ** order, "k:", label="law of the table")
    figure.axes[3].plot(angle[jerk.argmax()], slow["follower"].jerk[jerk.argmax(), 1], "ro", label="peak")
    figure.axes[3].legend(fontsize="small")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "cam-follower.png", dpi=120)
    plt.close(figure)

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    for speed, result, style in ((SLOW, slow, "-"), (FAST, fast, "--")):
        left.plot(angle, result["cam"].force()[:, 1], style, label=f"{speed} turns/min")
    left.set_ylim(left.get_ylim())  # as the curves need it
    left.axhspan(left.get_ylim()[0], 0, color="0.92", label="no contact")
    left.set(title="force on the follower by the cam", xlabel="Cam angle (deg)", ylabel="Force (N)")
    left.set_xticks(range(0, 361, 45))
    left.grid(alpha=0.3)
    left.legend(loc="upper center")
    profile, turn = BASE + slow["guide"].displacement[:, 2], np.radians(angle)
    right.plot(profile * np.sin(turn), profile * np.cos(turn), label="profile for a pointed follower")
    right.plot(BASE * np.sin(turn), BASE * np.cos(turn), "--", color="0.6", label="base circle")
    right.set(title="cam", xlabel="x (m)", ylabel="y (m)", aspect="equal")
    right.grid(alpha=0.3)
    right.legend(loc="center")
    figure.savefig(out / "cam-follower-force.png", dpi=120)
    plt.close(figure)
    slow.animate(out / "cam-follower.gif", fps=20, speed=0.02, view=(0, 0), trails=(("rocker", [0.04, 0, 0]),))
    return slow


if __name__ == "__main__":
    run(Path("out"))
