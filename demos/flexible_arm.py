"""A flexible arm in a spin-up maneuver: it bends backward, swings forward, and is finally straight and stretched."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

LENGTH, SPIN_UP, RATE = 10.0, 15.0, 6.0  # m, s, rad/s
ANGLE = "where(t < 15, t**2/5 + 22.5/pi**2*(cos(2*pi*t/15) - 1), 6*t - 45)"


def build() -> quirk.System:
    """The arm of Simo and Vu-Quoc (1986) on a driven hinge, with a little structural damping."""
    section = quirk.Section(EA=2.8e7, GA=1e7, GJ=1.4e4, EI=1.4e4, mass=1.2, inertia=6e-4)
    arm = quirk.Beam("arm", [0, 0, 0], [LENGTH, 0, 0], section=section, elements=6, damping=1e-3)
    hinge = quirk.Revolute("hinge", quirk.GROUND, arm.bodies[0], point=[0, 0, 0], axis="z")
    return quirk.System([arm, hinge, quirk.Drive("motor", hinge, ANGLE)])


def run(out: Path) -> quirk.Result:
    """Simulate twenty seconds; save the motion of the tip and the root moment, and an animation."""
    result = quirk.simulate(build(), 20.0, method="RadauIIA9", rtol=1e-5, output=0.05, progress=True)
    arm, angle = result["arm"], result["hinge"].angle
    tip = arm.center_line[:, -1]
    along = np.cos(angle) * tip[:, 0] + np.sin(angle) * tip[:, 1] - LENGTH
    across = np.cos(angle) * tip[:, 1] - np.sin(angle) * tip[:, 0]
    print(result.summary())
    print(f"the tip lags by up to {-across.min():.3f} m; at last the arm is {1e3 * along[-1]:.3f} mm longer")

    figure, (top, bottom) = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
    top.plot(result.time, across, label="across")
    top.plot(result.time, along, label="along")
    top.set_ylabel("displacement of the tip, m")
    top.legend()
    bottom.plot(result.time, arm.moment()[:, 0, 2])
    bottom.set_ylabel("bending moment near the hinge, N m")
    bottom.set_xlabel("time, s")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "flexible-arm-tip.png", dpi=120)
    plt.close(figure)
    result.animate(out / "flexible-arm.gif", fps=10, speed=2.0, view=(90, -90))
    return result


if __name__ == "__main__":
    run(Path("out"))
