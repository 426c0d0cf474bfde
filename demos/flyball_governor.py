"""Watt's flyball governor: a motor speeds up the spindle, the balls swing out and lift the sleeve.

Two closed loops share the spindle and the sleeve. A spring between collar and sleeve pulls the balls inward; the height
of the sleeve is a measure of the speed.
"""

from pathlib import Path

import numpy as np

import quirk

ARM, LINK, COLLAR, HANG = 0.30, 0.24, 0.03, np.radians(20)
MOTOR = "0.5*(12 - rate)"  # N m: it brings the spindle towards 12 rad/s


def build() -> quirk.System:
    """Spindle, two arms with balls, two links, and the sleeve that slides on the spindle."""
    spindle = quirk.Body.cylinder("spindle", mass=2.0, radius=0.015, length=0.7, position=[0, 0, -0.30])
    items: list = [spindle]
    bearing = quirk.Revolute("bearing", quirk.GROUND, spindle, point=[0, 0, 0], axis=[0, 0, 1])
    out, down = np.sin(HANG), np.cos(HANG)
    # A link hangs from the middle of its arm and holds the sleeve at the same distance from the axis.
    middle_out, middle_down = COLLAR + 0.5 * ARM * out, 0.5 * ARM * down
    drop = np.sqrt(LINK**2 - (middle_out - COLLAR) ** 2)
    sleeve = quirk.Body.cylinder("sleeve", mass=0.4, radius=0.03, length=0.04, position=[0, 0, -middle_down - drop])
    items += [sleeve, bearing, quirk.Prismatic("guide", spindle, sleeve, axis=[0, 0, 1])]
    for side, name in ((1, "right"), (-1, "left")):
        top = np.array([side * COLLAR, 0, 0])
        middle = np.array([side * middle_out, 0, -middle_down])
        foot = np.array([side * COLLAR, 0, -middle_down - drop])
        ball = quirk.Body.sphere(
            f"{name} ball", mass=1.0, radius=0.045, position=top + ARM * np.array([side * out, 0, -down])
        )
        link = quirk.Body(
            f"{name} link", mass=0.1, inertia=[4.8e-4, 4.8e-4, 1e-5], position=(middle + foot) / 2,
            orientation=tilt(foot - middle),
        )  # fmt: skip
        items += [
            ball,
            link,
            quirk.Revolute(f"{name} shoulder", spindle, ball, point=top, axis=[0, 1, 0]),
            quirk.Revolute(f"{name} elbow", ball, link, point=middle, axis=[0, 1, 0]),
            quirk.Revolute(f"{name} foot", sleeve, link, point=foot, axis=[0, 1, 0]),
        ]
    items += [
        quirk.JointTorque("motor", bearing, MOTOR),
        quirk.Spring("spring", spindle, sleeve, [0, 0, 0.30], stiffness=150.0, damping=4.0),
    ]
    return quirk.System(items, gravity=[0, 0, -9.81])


def tilt(direction: np.ndarray) -> list[float]:
    """Return the orientation about y that points body -z along a direction in the plane y = 0."""
    angle = np.arctan2(-direction[0], -direction[2])
    return [np.cos(angle / 2), 0, np.sin(angle / 2), 0]


def run(out: Path) -> quirk.Result:
    """Simulate five seconds; save the sleeve's motion, the loads on a shoulder and an animation."""
    result = quirk.simulate(build(), 5.0, output=0.01, progress=True)
    print(result.summary())
    speed, lift = result["spindle"].angular_velocity[:, 2], result["guide"].displacement[:, 2]
    print(f"the spindle ends at {speed[-1]:.2f} rad/s, the sleeve {1000 * lift[-1]:.1f} mm above its start")
    result.plot.joint("guide", path=out / "flyball-governor.png")
    result.plot.loads("right shoulder", frame="i", path=out / "flyball-governor-loads.png")
    result.animate(out / "flyball-governor.gif", fps=15, view=(10, -60))
    return result


if __name__ == "__main__":
    run(Path("out"))
