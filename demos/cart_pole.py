"""A cart swings up a pole and balances it, by a controller that is called in a loop at 100 Hz."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import quirk

CART, POLE, LENGTH, GRAVITY = 1.0, 0.2, 1.0, 9.81
INTERVAL, DURATION = 0.01, 8.0


def build() -> quirk.System:
    """A cart on a rail with a pole that hangs down."""
    cart = quirk.Body.box("cart", CART, [0.3, 0.2, 0.1])
    pole = quirk.Body.bar("pole", [0, 0, 0], [0, 0, -LENGTH], mass=POLE)
    rail = quirk.Prismatic("rail", quirk.GROUND, cart, axis="x")
    hinge = quirk.Revolute("hinge", cart, pole, point=[0, 0, 0], axis="y")
    drive = quirk.Actuator("drive", rail, 0.0, limits=12.0)
    return quirk.System([cart, pole, rail, hinge, drive], gravity=[0, 0, -GRAVITY])


def gains(system: quirk.System) -> np.ndarray:
    """Return feedback gains for position, angle and their rates that balance the pole: a linear-quadratic regulator."""
    from scipy.linalg import solve_continuous_are

    upright = system.assemble(coordinates={"hinge": np.pi})
    linear = system.linearize(upright, inputs=["drive"], coordinates=["rail.travel", "hinge.angle"])
    A, B, Q = linear.A, linear.B, np.diag([2.0, 20.0, 1.0, 1.0])
    return np.asarray(B.T @ solve_continuous_are(A, B, Q, np.eye(1)))[0]


def run(out: Path) -> quirk.Result:
    """Swing the pole up and balance it; save the motion over time, and an animation."""
    feedback = gains(build())
    loop = quirk.Run(build(), inputs=["drive"], method="Vern9", rtol=1e-6, keep=0.02)
    observe = loop.observe(["rail.travel", "hinge.angle", "rail.travel_rate", "hinge.angle_rate"])
    while loop.time < DURATION:
        x, angle, v, rate = observe()
        # From upright, where the angle is pi after half a turn in either sense.
        off = (angle % (2 * np.pi)) - np.pi
        if abs(off) < 0.5 and abs(rate) < 4.0:
            force = -feedback @ [x, off, v, rate]
        else:
            # Energy of the pole about its hinge, zero when upright at rest: the cart pumps it up, near the middle.
            energy = POLE * LENGTH**2 / 6 * rate**2 - 0.5 * POLE * GRAVITY * LENGTH * (1 + np.cos(angle))
            force = -25.0 * np.sign(rate * np.cos(angle) * energy + 1e-9) * min(abs(energy), 0.4) - 4.0 * x - 2.0 * v
        loop.inputs["drive"] = float(force)
        loop.advance(INTERVAL)
    result = loop.result()
    print(result.summary())
    print(f"upright to {abs((result['hinge'].angle[-1] % (2 * np.pi)) - np.pi):.1e} rad, {loop.statistics.steps} steps")

    figure, axes = plt.subplots(3, 1, figsize=(8, 7), sharex=True, layout="constrained")
    axes[0].plot(result.time, np.degrees(result["hinge"].angle))
    axes[0].set(title="angle of the pole, 0 where it hangs down", ylabel="Angle (deg)")
    axes[1].plot(result.time, result["rail"].travel)
    axes[1].set(title="position of the cart", ylabel="Position (m)")
    axes[2].step(result.time, result["drive"].effort, where="post")
    axes[2].set(title="force of the drive", xlabel="Time (s)", ylabel="Force (N)")
    for ax in axes:
        ax.grid(alpha=0.3)
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "cart-pole.png", dpi=120)
    plt.close(figure)
    result.animate(out / "cart-pole.gif", fps=20, view=(5, -90))
    return result


if __name__ == "__main__":
    run(Path("out"))
