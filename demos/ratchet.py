"""A ratchet: a pawl engages the teeth of a wheel, which can then turn in one direction only.

An oscillating torque drives the wheel forward from tooth to tooth; the pawl blocks the backward rotation.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk
from quirk import planar
from quirk.shapes import Cylinder

TEETH, RADIUS, HEIGHT = 12, 0.10, 0.010  # m, of the wheel and of its teeth
STEEPNESS = 0.9  # of the teeth's flanks: the larger, the steeper the one behind which the pawl falls
PAWL = 0.08  # m


def height(angle: str) -> str:
    """Return an expression for the height of the teeth, m, at an angle of the wheel: a smooth sawtooth curve."""
    turned = f"{TEETH}*{angle}"
    return f"{HEIGHT / 2}*atan2({STEEPNESS}*sin({turned}), 1 - {STEEPNESS}*cos({turned}))"


def tooth_gap() -> str:
    """Return an expression for the height, m, of the pawl tip (body b) above the teeth of the wheel (body a)."""
    tip = f"(b.point([{PAWL / 2}, 0, 0]) - a.position)"
    x, y = (f"dot({tip}, a.direction({axis}))" for axis in ([1, 0, 0], [0, 1, 0]))
    return f"hypot({x}, {y}) - {RADIUS} - {height(f'atan2({y}, {x})')}"


def saw_tooth(number: int) -> Cylinder:
    """Return a cylinder that displays the highest part of a tooth."""
    angle = (2 * np.pi * number + np.arccos(STEEPNESS)) / TEETH
    place = (RADIUS - HEIGHT / 2) * np.array([np.cos(angle), np.sin(angle), 0])
    return Cylinder(HEIGHT, 0.012, frame=quirk.Frame(place), color="gray")


def build() -> quirk.System:
    """A wheel with a torque and some friction, and a pawl that a spring presses on its teeth."""
    spokes = [saw_tooth(k) for k in range(TEETH)]
    wheel = planar.PlanarBody("wheel", 1.0, 0.5 * RADIUS**2, shape=[Cylinder(RADIUS - HEIGHT, 0.01), *spokes])
    top = quirk.Expression(height("angle"), "angle")(np.pi / 2)
    tip = np.array([0.0, RADIUS + 1.01 * top])
    foot = tip + PAWL * np.array([np.cos(np.radians(10)), np.sin(np.radians(10))])
    pawl = planar.PlanarBody.bar("pawl", foot, tip, mass=0.02, width=0.006)
    axle = planar.Revolute("axle", quirk.GROUND, wheel, point=[0, 0])
    pivot = planar.Revolute("pivot", quirk.GROUND, pawl, point=foot)
    return quirk.System(
        [
            wheel,
            pawl,
            axle,
            pivot,
            quirk.OneSided("teeth", [wheel, pawl], tooth_gap()),
            quirk.JointTorque("drive", axle, "0.2*sin(tau*t) - 0.02*rate"),
            quirk.TorsionSpring("spring", pivot, stiffness=0.05, damping=1e-4, rest_angle=1.0),
        ]
    )


def run(out: Path) -> quirk.Result:
    """Simulate four periods; save the angle of the wheel, the force on the pawl and an animation."""
    result = quirk.simulate(build(), 4.0, output=0.005, progress=True)
    print(result.summary())
    turned = result["axle"].rotation[:, 2]
    print(f"the wheel has gone forward by {TEETH * turned[-1] / (2 * np.pi):.2f} teeth; {len(result.events)} events")

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    top.plot(result.time, TEETH * turned / (2 * np.pi))
    top.set(title="how far the wheel has turned", ylabel="Angle (teeth)")
    bottom.plot(result.time, np.linalg.norm(result["teeth"].force(), axis=1))
    bottom.set(title="force of the teeth on the pawl", xlabel="Time (s)", ylabel="Force (N)")
    bottom.set(yscale="log", ylim=(0.3, 1000))
    for ax in (top, bottom):
        ax.grid(alpha=0.3)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "ratchet.png", dpi=120)
    plt.close(figure)
    result.animate(out / "ratchet.gif", fps=20, speed=0.5, view=(90, -90))
    return result


if __name__ == "__main__":
    run(Path("out"))
