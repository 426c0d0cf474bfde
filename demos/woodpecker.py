"""A woodpecker toy on a pole: it pecks its way down, with sliding, sticking and impacts in every swing.

The hole of the sleeve is wider than the pole: the tilted sleeve jams at its edges, the upright one slides. The bird
swings on a spring on the sleeve and tilts it in alternating directions; at the end of each swing its beak hits the
pole. Dimensions and approximate initial state are those of F. Pfeiffer and C. Glocker, Multibody Dynamics with
Unilateral Contacts (1996).
"""

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import quirk
from quirk import planar
from quirk.shapes import Box, Cylinder

POLE, BORE, HALF_HEIGHT = 2.5e-3, 3.1e-3, 5.8e-3  # m: radii of pole and sleeve, half the sleeve's height
PIVOT, CENTER = 10e-3, 15e-3  # m: from the sleeve's middle to the bird's pivot, and from there to its center of mass
BEAK, BEAK_HEIGHT = 20.1e-3, 20e-3  # m: from the bird's center of mass back to its beak, and up
STIFFNESS, FRICTION, BOUNCE = 5.6e-3, 0.3, 0.5  # N m/rad, of all contacts, of the beak
TILT, SWING, FALL, RATE = -0.1005, -0.2788, -0.3411, -7.4583  # rad, rad, m/s, rad/s: at the start


def bodies() -> tuple[planar.PlanarBody, planar.PlanarBody, np.ndarray]:
    """The sleeve, tilted against the pole; the bird, which swings away from it; and the pivot between them."""
    pivot = PIVOT * np.array([np.cos(TILT), np.sin(TILT)])
    arm = CENTER * np.array([np.cos(SWING), np.sin(SWING)])
    sleeve = planar.PlanarBody(
        "sleeve", 0.3e-3, 5e-9, angle=TILT, velocity=[0, FALL], shape=Box((2 * BORE + 3e-3, 2 * HALF_HEIGHT, 6e-3))
    )
    neck, head = (quirk.Frame([x, BEAK_HEIGHT, 0]) for x in (-BEAK + 3e-3, -BEAK + 11e-3))
    bird = planar.PlanarBody(
        "bird",
        4.5e-3,
        7e-7,
        position=pivot + arm,
        angle=SWING,
        velocity=[-RATE * arm[1], FALL + RATE * arm[0]],
        angular_velocity=RATE,
        shape=[
            Box((8e-3, 50e-3, 8e-3), frame=quirk.Frame([0, -4e-3, 0]), color="firebrick"),
            Box((6e-3, 2e-3, 2e-3), frame=neck, color="goldenrod"),
            Cylinder(6e-3, 8e-3, frame=head, color="firebrick"),
        ],
    )
    return sleeve, bird, pivot


def build() -> quirk.System:
    """The toy, with three points that can touch the pole."""
    sleeve, bird, pivot = bodies()
    hinge = planar.Revolute("hinge", sleeve, bird, point=pivot)
    stick = quirk.Body("pole", 1.0, [1.0] * 3, shape=Cylinder(POLE, 0.2, axis="y", color="tan"))
    parts: list[Any] = [
        stick,
        quirk.Fixed("foot", quirk.GROUND, stick),
        sleeve,
        bird,
        quirk.PointOnLine("along the pole", quirk.GROUND, sleeve, point=[0, 0, 0], axis=[0, 1, 0]),
        hinge,
        quirk.TorsionSpring("spring", hinge, stiffness=STIFFNESS),
    ]
    pole = quirk.surface.plane([POLE, 0, 0], [1, 0, 0])
    for name, body, place, bounce in (
        ("beak", bird, [-BEAK, BEAK_HEIGHT, 0], BOUNCE),
        ("upper edge", sleeve, [BORE, HALF_HEIGHT, 0], 0.0),
        ("lower edge", sleeve, [BORE, -HALF_HEIGHT, 0], 0.0),
    ):
        tip = quirk.surface.point(place)
        contact = quirk.Contact(name, quirk.GROUND, body, on_i=pole, on_j=tip, restitution=bounce)
        parts += [contact, quirk.Friction(f"{name} rubs", contact, FRICTION)]
    return quirk.System(parts, gravity=[0, -9.81, 0])


def run(out: Path) -> quirk.Result:
    """Simulate twelve pecks; save the swinging and the descent, and an animation."""
    result = quirk.simulate(build(), 1.6, output=1e-3, progress=True)
    print(result.summary())
    pecks = result.events.of("beak").time
    heights = np.interp(pecks, result.time, result["sleeve"].position[:, 1])
    print(f"it pecks every {pecks[-1] - pecks[-2]:.6f} s and comes down by {(heights[-2] - heights[-1]) * 1e3:.4f} mm")

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    top.plot(result.time, result["sleeve"].position[:, 1] * 1e3)
    top.plot(pecks, heights * 1e3, "v", color="firebrick", label="the beak hits")
    top.set(title="height of the sleeve", ylabel="Height (mm)")
    top.legend()
    for name, style in (("sleeve", "-"), ("bird", "--")):
        angle = 2 * np.arctan2(result[name].orientation[:, 3], result[name].orientation[:, 0])
        bottom.plot(result.time, np.degrees(angle), style, label=name)
    bottom.set(title="angles", xlabel="Time (s)", ylabel="Angle (deg)")
    bottom.legend()
    for ax in (top, bottom):
        ax.grid(alpha=0.3)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "woodpecker.png", dpi=120)
    plt.close(figure)
    quirk.simulate(build(), 0.4, output=2e-3).animate(out / "woodpecker.gif", fps=20, speed=0.05, view=(0, 0))
    return result


if __name__ == "__main__":
    run(Path("out"))
