"""A body in weightlessness that rotates about its intermediate axis: it flips over repeatedly.

Rotation about the axes of the largest and of the smallest moment of inertia is stable, rotation about the intermediate
axis is not, although no torque acts and the angular momentum is constant.
"""

from pathlib import Path

import numpy as np

import quirk


def build() -> quirk.System:
    """A free box that rotates about its intermediate axis (body y), with a small disturbance."""
    box = quirk.Body.box("racket", mass=0.4, size=[0.3, 0.2, 0.02], angular_velocity=[0.01, 6.0, 0.01])
    return quirk.System([box])


def run(out: Path) -> quirk.Result:
    """Simulate ten seconds; save the motion and an animation, and show that the momentum is constant."""
    result = quirk.simulate(build(), 10.0, rtol=1e-12, atol=1e-14, output=0.02, progress=True)
    print(result.summary())
    momentum = result.momentum.angular
    change = np.abs(momentum - momentum[0]).max() / np.linalg.norm(momentum[0])
    print(f"angular momentum changed by {change:.1e} of its size")
    result.plot.motion("racket", path=out / "tennis-racket.png")
    result.animate(out / "tennis-racket.gif", fps=12, view=(15, -60))
    return result


if __name__ == "__main__":
    run(Path("out"))
