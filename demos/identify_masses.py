"""Identification of masses, stiffnesses and damping of a five-bar linkage with springs from a noisy motion.

Noise, as of a camera, is added to a motion with known parameters. From an inaccurate guess, the parameters are
identified by least squares, with the derivatives of the motion with respect to each parameter.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import quirk
from quirk import planar

TRUE = {"b.mass": 0.8, "c.mass": 0.5, "spring.stiffness": 20.0, "coil.stiffness": 0.8, "coil.damping": 0.05}
GUESS = {"b.mass": 0.6, "c.mass": 0.7, "spring.stiffness": 15.0, "coil.stiffness": 0.5, "coil.damping": 0.1}
KEYS = [tuple(name.split(".")) for name in TRUE]
# Seen every 20 ms, with errors of a millimeter.
DURATION, INTERVAL, NOISE = 1.0, 0.02, 1e-3
POINTS = {"a": ([0, 0], [0.1, 0.49]), "b": ([0.1, 0.49], [0.7, 0.9]), "c": ([0.7, 0.9], [1.1, 0.35]),
          "d": ([1.1, 0.35], [1.0, -0.08])}  # fmt: skip


def build(numbers: Mapping[str, float] = TRUE) -> quirk.System:
    """Four bars and the ground, pinned in a loop with two degrees of freedom, with a spring and a torsion spring."""
    links, pins = {}, {}
    before: Any = quirk.GROUND
    for name, ends in POINTS.items():
        start, end = np.array(ends[0]), np.array(ends[1])
        middle, along = np.mean([start, end], axis=0), np.subtract(end, start)
        angle = np.arctan2(along[1], along[0])
        mass = numbers.get(f"{name}.mass", 0.6)
        links[name] = planar.PlanarBody(name, mass, 0.03, position=middle, angle=angle)
        pins[name] = planar.Revolute(f"pin {name}", before, links[name], point=start)
        before = links[name]
    end_pin = planar.Revolute("last pin", before, quirk.GROUND, point=POINTS["d"][1])
    spring = quirk.Spring(
        "spring", quirk.GROUND, links["b"], point_i=[0, 1, 0], stiffness=numbers["spring.stiffness"], rest_length=0.6
    )
    coil = quirk.TorsionSpring(
        "coil", pins["c"], stiffness=numbers["coil.stiffness"], damping=numbers["coil.damping"], rest_angle=0.2
    )
    return quirk.System([*links.values(), *pins.values(), end_pin, spring, coil], gravity=[0, -9.81, 0])


def seen(result: quirk.Result) -> np.ndarray:
    """Positions (nt, 2, 2) in the plane of the centers of two bars, as measured by the camera."""
    return np.stack([result[name].position[:, :2] for name in ("b", "c")], axis=1)


def run(out: Path) -> quirk.Result:
    """Add noise to a motion, identify its parameters, and draw both motions."""
    truth = quirk.simulate(build(TRUE), DURATION, output=INTERVAL)
    measured = seen(truth) + np.random.default_rng(1).normal(scale=NOISE, size=seen(truth).shape)
    runs: dict[bytes, quirk.Result] = {}

    def simulated(x: np.ndarray) -> quirk.Result:
        if x.tobytes() not in runs:
            system = build(dict(zip(TRUE, x, strict=True)))
            runs[x.tobytes()] = quirk.simulate(system, DURATION, output=INTERVAL, sensitivities=KEYS)
        return runs[x.tobytes()]

    def missed(x: np.ndarray) -> np.ndarray:
        return np.ravel((seen(simulated(x)) - measured) / NOISE)

    def slopes(x: np.ndarray) -> np.ndarray:
        by = simulated(x).sensitivity
        parts = [np.stack([by[key][name].position[:, :2] for name in ("b", "c")], axis=1).ravel() for key in KEYS]
        return np.stack(parts, axis=1) / NOISE

    guess = np.array(list(GUESS.values()))
    found = least_squares(missed, guess, jac=slopes, x_scale=guess, bounds=(0, np.inf))
    # The standard deviations that the noise leaves, by the slopes at the solution.
    deviation = np.sqrt(np.diag(np.linalg.inv(found.jac.T @ found.jac)))
    rest = np.sqrt(np.mean(found.fun**2))
    print(f"{found.nfev} runs; the root mean square of what is missed is {rest:.3f} of the noise")
    for (name, true), guessed, x, off in zip(TRUE.items(), guess, found.x, deviation, strict=True):
        print(f"{name:16s} true {true:7.4f}  guess {guessed:7.4f}  found {x:8.5f} +- {off:.5f}")
    system = build(dict(zip(TRUE, found.x, strict=True)))
    result = quirk.simulate(system, DURATION, output=INTERVAL, progress=True)
    print(result.summary())
    draw(out, truth.time, measured, seen(simulated(guess)), seen(result))
    result.animate(out / "identify-masses.gif", fps=20, speed=0.5, view=(0, 0))
    return result


def draw(out: Path, time: np.ndarray, measured: np.ndarray, guessed: np.ndarray, identified: np.ndarray) -> None:
    """Draw the heights of both bars: measured, with the guessed and with the identified parameters."""
    figure, axes = plt.subplots(2, 1, figsize=(8, 6), sharex=True, layout="constrained")
    for k, (ax, name) in enumerate(zip(axes, ("b", "c"), strict=True)):
        ax.plot(time, measured[:, k, 1], ".", markersize=4, color="0.5", label="measured")
        ax.plot(time, guessed[:, k, 1], "--", color="C1", label="with the numbers guessed")
        ax.plot(time, identified[:, k, 1], color="C0", label="with the numbers found")
        ax.set(ylabel=f"Height of bar {name} (m)")
        ax.grid(alpha=0.3)
    axes[0].legend(loc="upper right")
    axes[1].set_xlabel("Time (s)")
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "identify-masses.png", dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    run(Path("out"))
