"""Computed-torque control of a robot: feedforward torques by inverse dynamics, and feedback to the path.

Two motors on the ground move the tip of a closed five-bar linkage above them, which would fall over without feedback.
Drivers at the tip prescribe its path, from which inverse dynamics computes the motor torques. The robot is then
simulated under these torques, with and without feedback, and with feedback alone.
"""

from pathlib import Path
from typing import cast

import matplotlib.pyplot as plt
import numpy as np

import quirk
from quirk import GROUND, Motion, planar

DURATION, STEP = 10.0, 0.01  # s
STIFFNESS, DAMPING = 500.0, 50.0  # of the feedback, N m/rad and N m s/rad
# The linkage as it starts, m: shoulders at the ends, elbows, and in the middle the tip.
CORNERS = np.array([[-0.15, 0], [-0.45, 0.35], [0, 0.75], [0.45, 0.35], [0.15, 0]])
# A figure of eight in five seconds: m and rad/s along x and y.
PATH = ((0.2, 0.4 * np.pi), (0.1, 0.8 * np.pi))
TIP = [0.5 * float(np.linalg.norm(CORNERS[2] - CORNERS[1])), 0, 0]  # in the coordinates of the left forearm
MOTORS = {"left motor": "left shoulder", "right motor": "right shoulder"}


def build() -> quirk.System:
    """Return arms and forearms of 2 kg each, motors at rest, and drivers that prescribe the motion of the tip."""
    names = ("left arm", "left forearm", "right forearm", "right arm")
    bars = [planar.PlanarBody.bar(n, a, b, mass=2.0) for n, a, b in zip(names, CORNERS, CORNERS[1:], strict=False)]
    left, left_fore, right_fore, right = bars
    shoulders = [
        planar.Revolute("left shoulder", GROUND, left, point=CORNERS[0]),
        planar.Revolute("right shoulder", GROUND, right, point=CORNERS[4]),
    ]
    pins = [
        planar.Revolute("left elbow", left, left_fore, point=CORNERS[1]),
        planar.Revolute("tip", left_fore, right_fore, point=CORNERS[2]),
        planar.Revolute("right elbow", right_fore, right, point=CORNERS[3]),
    ]
    path = [
        planar.SlotDriver(
            name, GROUND, left_fore, Motion.sinusoid(*swing, offset=start), vector_i=axis, point_j=TIP[:2]
        )
        for name, swing, start, axis in zip(("path x", "path y"), PATH, CORNERS[2], np.eye(2), strict=True)
    ]
    motors = [quirk.JointTorque(name, joint, 0.0) for name, joint in zip(MOTORS, shoulders, strict=True)]
    return quirk.System([*bars, *shoulders, *pins, *motors, *path], gravity=[0, -9.81, 0])


def feedback(robot: quirk.System, reference: quirk.Result) -> list[quirk.Controller]:
    """Return a controller at each shoulder that follows the angles of a motion."""
    return [
        quirk.Controller(
            f"{name} feedback", cast(quirk.Joint, robot[joint]),
            Motion.spline(reference.time, reference[joint].rotation[:, 2]), kp=STIFFNESS, kd=DAMPING,
        )
        for name, joint in MOTORS.items()
    ]  # fmt: skip


def run(out: Path) -> quirk.Result:
    """Compute the torques, simulate with and without feedback; save plots of errors and torques, and an animation."""
    robot, times = build(), np.linspace(0, DURATION, round(DURATION / STEP) + 1)
    wanted = quirk.inverse_dynamics(robot, times, list(MOTORS))
    controllers = feedback(robot, wanted)
    for name in ("path x", "path y"):
        robot.disable(name)
    robots = {
        "torques alone": wanted.system,
        "feedback alone": robot.with_parts(*controllers),
        "torques and feedback": wanted.system.with_parts(*controllers),
    }
    start, tip = wanted.state_at(0), wanted["tip"].point
    runs, errors = {}, {}
    for name, system in robots.items():
        runs[name] = quirk.simulate(
            system, DURATION, output=times, initial_state=start, rtol=1e-12, atol=1e-13, progress=True
        )
        errors[name] = np.linalg.norm(runs[name]["tip"].point - tip, axis=1)
        print(f"{name:<22} the tip is off its path by {errors[name].max():.1e} m at most in {DURATION:g} s")

    tracked = runs["torques and feedback"]
    print(tracked.summary())

    figure, axes = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
    for name, style in zip(MOTORS, ("-", "--"), strict=True):
        axes[0].plot(times, wanted.effort[name], style, label=name)
    for (name, error), style in zip(errors.items(), ("-", "--", "-."), strict=False):
        axes[1].semilogy(times[1:], np.maximum(error[1:], 1e-16), style, label=name)
    axes[0].set_ylabel("Torque (N m)")
    axes[1].set(xlabel="Time (s)", ylabel="Distance of the tip from its path (m)")
    for ax in axes:
        ax.grid(alpha=0.3)
        ax.legend()
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "computed-torque.png", dpi=120)
    plt.close(figure)
    tracked.animate(out / "computed-torque.gif", fps=15, view=(0, 0), trails=(("left forearm", TIP),))
    return tracked


if __name__ == "__main__":
    run(Path("out"))
