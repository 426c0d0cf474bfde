"""Two modules in free space attract each other, latch at a hinge, fold about it, and separate again.

No external loads act, so that linear and angular momentum are constant through all events.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

FOLDED = np.radians(80)
NEAR = 0.02  # m, at which the latch catches


# Force, N, and torque, N m, of the magnets on the visitor.
ATTRACTION = "-6*displacement/(dot(displacement, displacement) + 0.1) - 8*velocity"
ALIGNMENT = "-4*rotation - 6*angular_velocity"


def build() -> quirk.System:
    """Two modules with ports at one edge each, magnets in the ports, and a latch that becomes a hinge."""
    station = quirk.Body.box("station", 40.0, [1.0, 1.0, 1.0], angular_velocity=[0, 0.05, 0])
    visitor = quirk.Body.box(
        "visitor",
        20.0,
        [1.0, 0.8, 0.8],
        position=[2.2, 0, 0.6],
        orientation=[np.cos(0.15), 0, np.sin(0.15), 0],
        velocity=[0, 0, -0.05],
    )
    # Ports: z is the axis of the hinge, -y of the body, so that a positive angle folds the visitor upwards.
    turned = [np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0]
    port, plug = [0.5, 0, 0.5], [-0.5, 0, 0.4]
    hinge = quirk.Revolute(
        "hinge",
        station,
        visitor,
        frame_i=quirk.Frame(port, turned),
        frame_j=quirk.Frame(plug, turned),
        active=False,
    )
    magnets = quirk.Interaction("magnets", station, visitor, port, plug, force=ATTRACTION, torque=ALIGNMENT, frame="i")
    idle, motor = (quirk.JointTorque("motor", hinge, torque) for torque in (0.0, 1.5))
    latched = quirk.Event(
        "latch",
        quirk.distance_between(station, visitor, port, plug),
        level=NEAR,
        direction=-1,
        action=[quirk.disable(magnets), quirk.enable(hinge, tolerance=2 * NEAR), quirk.replace("motor", motor)],
    )
    parted = quirk.Event(
        "part", "hinge.angle", level=FOLDED, direction=1, action=[quirk.disable(hinge), quirk.disable("motor")]
    )
    return quirk.System([station, visitor, hinge, magnets, idle, latched, parted])


def run(out: Path) -> quirk.Result:
    """Simulate twenty seconds; save momenta, the modules at each event and an animation."""
    result = quirk.simulate(build(), 20.0, output=0.02, progress=True)
    print(result.summary())
    print(result.events)
    latch = result.events.of("latch")[0]
    print(f"impulse of the latch on the visitor: {latch.impulse['hinge'].force} N s")

    figure = result.plot.momentum(about=[0, 0, 0])
    for ax in figure.axes:
        for event in result.events:
            ax.axvline(event.time, color="0.6", linestyle=":", zorder=0)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "docking-momentum.png", dpi=120)
    plt.close(figure)
    times = [0.0, *result.events.time, result.time[-1]]
    result.plot.ghosts(times, trails=(("visitor", [0, 0, 0]),), path=out / "docking.png")
    result.animate(out / "docking.gif", fps=15, speed=2, view=(0, -90), trails=(("visitor", [0, 0, 0]),))
    return result


if __name__ == "__main__":
    run(Path("out"))
