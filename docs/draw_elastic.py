"""Draws the diagrams of docs/beams.md and docs/ropes.md: `python docs/draw_elastic.py`."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import quirk
from quirk import GROUND, Body, Drum, Motion

IMAGES = Path(__file__).parent / "images"
BLUE, ORANGE, GRAY = "#1f6fb4", "#e06c00", "#8a8a8a"
# A cantilever of 1 m, with a bending stiffness of 100 N m^2.
SECTION = quirk.Section(EA=1e6, GA=1e6, GJ=100.0, EI=100.0, mass=1.0)


def bent(elements, load):
    """Return the nodes (elements + 1, 3) of the cantilever under a transverse load, N, at its end."""
    beam = quirk.Beam("beam", [0, 0, 0], [1, 0, 0], section=SECTION, elements=elements)
    clamp = quirk.Fixed("clamp", GROUND, beam.bodies[0], point=[0, 0, 0])
    force = quirk.Force("load", beam.bodies[-1], [0, 0, load], point=beam.end_point)
    system = quirk.System([beam, clamp, force])
    state = system.equilibrium()
    result = quirk.simulate(system, 1e-5, initial_state=state, output=[1e-5], method="RK4", step=1e-5)
    return result["beam"].center_line[0]


def beams():
    """Draw the cantilever under growing loads, and the error of its tip against the number of elements."""
    figure, (shapes, errors) = plt.subplots(1, 2, figsize=(9, 3.6), constrained_layout=True)
    for k, load in enumerate((0, 100, 300, 1000, 3000)):
        line = bent(24, load)
        shapes.plot(line[:, 0], line[:, 2], color=plt.cm.viridis(0.2 * k), lw=2.5, label=f"{load} N")
    shapes.set(aspect="equal", xlabel="x, m", ylabel="z, m", title="Cantilever with a load at its end")
    shapes.legend(frameon=False)
    counts = np.array([4, 8, 16, 32, 64])
    tips = np.array([bent(n, 300.0)[-1] for n in counts])
    true = (4 * tips[-1] - tips[-2]) / 3
    better = (4 * tips[1:-1] - tips[:-2]) / 3
    for found, number, color, label in (
        (tips, counts, BLUE, "as computed"),
        (better, counts[1:-1], ORANGE, "extrapolated from this number and half of it"),
    ):
        errors.loglog(number, np.linalg.norm(found - true, axis=1), "o-", color=color, label=label)
    errors.loglog(counts, 0.3 / counts**2, ":", color=GRAY, label="second order")
    errors.set(xlabel="elements", ylabel="error of the tip, m", title="300 N")
    errors.set_xticks(counts, counts.astype(str))
    errors.minorticks_off()
    errors.legend(frameon=False)
    figure.savefig(IMAGES / "beams.png", dpi=110)


def ropes():
    """Draw the tensions of a belt drive that starts, and its creep."""
    rate, radii = 40.0, (0.05, 0.12)
    wheels = [
        Body.cylinder(f"wheel {k}", mass=1.0 + k, radius=r, length=0.03, position=[0.35 * k, 0, 0])
        for k, r in enumerate(radii)
    ]
    axles = [quirk.Revolute(f"axle {k}", GROUND, w, point=w.position, axis="z") for k, w in enumerate(wheels)]
    drums = [Drum(w, [0, 0, 0], [0, 0, -1], r) for w, r in zip(wheels, radii, strict=True)]
    belt = quirk.Pulley("belt", drums, closed=True, stiffness=8000.0, friction=0.35, pretension=150.0)
    motor = quirk.Drive("motor", axles[0], Motion.polynomial([0.0, 0.0, 0.0, -rate / 3.0]))
    load = quirk.TorsionSpring("load", axles[1], stiffness=0.0, damping=0.5)
    system = quirk.System([*wheels, *axles, belt, motor, load])
    result = quirk.simulate(system, 1.0, output=0.002)
    spans = result["belt spans"]
    figure, (tensions, speeds) = plt.subplots(1, 2, figsize=(9, 3.4), constrained_layout=True)
    tensions.plot(result.time, spans.coordinate("tension 1"), color=ORANGE, label="tight span")
    tensions.plot(result.time, spans.coordinate("tension 0"), color=BLUE, label="slack span")
    tensions.axhline(150.0, color=GRAY, ls=":", label="pretension")
    tensions.set(xlabel="time, s", ylabel="tension, N", title="Tensions")
    tensions.legend(frameon=False)
    driven, driving = (wheel_rate(result, k) * r for k, r in ((1, radii[1]), (0, radii[0])))
    moving = np.abs(driving) > 0.02
    creep = 1 - (driven / np.where(moving, driving, 1.0))
    speeds.plot(result.time[moving], 100 * creep[moving], color=BLUE)
    speeds.set(xlabel="time, s", ylabel="loss of speed, %", title="Creep")
    figure.savefig(IMAGES / "belt-start.png", dpi=110)


def wheel_rate(result, k):
    """Return the angular velocity of a wheel about z, rad/s."""
    return result[f"wheel {k}"].angular_velocity[:, 2]


if __name__ == "__main__":
    beams()
    ropes()
