"""A Geneva drive: a crank of constant speed turns a wheel by 90 degrees in each revolution, and locks it otherwise.

The pin of the crank enters and leaves a slot along its direction, while the wheel is at rest, so that there are no
impacts.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk
from quirk import planar
from quirk.shapes import Box

RADIUS = 0.05  # m, of the pin about the crank's bearing
DISTANCE = np.sqrt(2) * RADIUS  # of both bearings, so that the pin enters and leaves at 45 degrees
RATE = np.pi  # rad/s, of the crank
X, Y = (1, 0), (0, 1)  # along both lines of slots, in the wheel


def build() -> quirk.System:
    """Crank and wheel; for each line of slots a constraint for the pin in it, and one for the locked wheel."""
    crank = planar.PlanarBody.bar("crank", [0, 0], [-RADIUS, 0], mass=0.2, width=0.01)
    corners = RADIUS * np.array([[1, 1, 0], [1, -1, 0], [-1, 1, 0], [-1, -1, 0]])
    # Four blocks that leave the slots between them.
    blocks = [Box((0.6 * RADIUS, 0.6 * RADIUS, 0.01), frame=quirk.Frame(0.4 * corner)) for corner in corners]
    wheel = planar.PlanarBody("wheel", 0.3, 1.3e-4, position=[DISTANCE, 0], angle=np.pi / 4, shape=blocks)
    bearing = planar.Revolute("crank bearing", quirk.GROUND, crank, point=[0, 0])
    items: list = [
        crank,
        wheel,
        bearing,
        planar.Revolute("wheel bearing", quirk.GROUND, wheel, point=[DISTANCE, 0]),
        planar.AngleDriver("motor", quirk.GROUND, crank, quirk.Motion.constant_rate(RATE), offset=-np.pi),
    ]
    for line, along in enumerate((X, Y)):
        names = f"slot {line}", f"lock {line}"
        items += [
            planar.PinInSlot(names[0], wheel, crank, vector_i=along, point_j=[RADIUS / 2, 0], active=False),
            planar.ParallelVectors(names[1], quirk.GROUND, wheel, vector_i=(1, 1), vector_j=along, active=line == 0),
        ]
        items += pin_events(line)
    system = quirk.System(items)
    system.assemble()  # which gives the crank its velocity
    return system


def pin_events(line: int) -> list[quirk.Event]:
    """The pin enters a slot when the crank comes within 45 degrees of the wheel, and leaves it beyond 45 degrees.

    The lines of slots alternate in successive revolutions of the crank, whose angle the motor prescribes.
    """
    sign, within = "+-"[line], np.cos(np.radians(45) / 2)
    facing = quirk.Expression(f"{sign}cos(({RATE}*t - pi)/2)")
    enter = [quirk.disable(f"lock {line}"), quirk.enable(f"slot {line}")]
    leave = [quirk.disable(f"slot {line}"), quirk.enable(f"lock {1 - line}")]
    return [
        quirk.Event(f"pin enters slot {line}", facing, direction=1, level=within, action=enter),
        quirk.Event(f"pin leaves slot {line}", facing, direction=-1, level=within, action=leave),
    ]


def run(out: Path) -> quirk.Result:
    """Simulate four turns of the crank, one of the wheel; save its motion, the pin's force and an animation."""
    # The motor's work does not limit steps: short ones make it as exact as the motion.
    result = quirk.simulate(build(), 8 * np.pi / RATE, output=0.01, max_step=0.02, progress=True)
    print(result.summary())
    print(result.events)

    wheel = result["wheel"].in_plane
    force = sum(np.linalg.norm(result[f"slot {line}"].force(), axis=1) for line in (0, 1))
    figure, axes = plt.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
    for ax, values, title, label in (
        (axes[0], np.degrees(wheel.angle), "angle of the wheel", "Angle (deg)"),
        (axes[1], wheel.angular_velocity, "angular velocity of the wheel", "Angular velocity (rad/s)"),
        (axes[2], force, "force between pin and slot", "Force (N)"),
    ):
        ax.plot(result.time, values)
        ax.set(title=title, ylabel=label)
        ax.grid(alpha=0.3)
        for event in result.events:
            ax.axvline(event.time, color="0.7", linestyle=":", zorder=0)
    axes[-1].set_xlabel("Time (s)")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "geneva-drive.png", dpi=120)
    plt.close(figure)
    result.animate(out / "geneva-drive.gif", fps=15, view=(90, -90), trails=(("crank", [RADIUS / 2, 0, 0]),))
    return result


if __name__ == "__main__":
    run(Path("out"))
