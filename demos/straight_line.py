"""A four-bar linkage whose coupler point follows a straight line: its lengths are computed by optimization.

A motor turns the crank at constant speed. With the derivatives of the coupler motion with respect to the lengths, least
squares finds dimensions for a straight path at constant speed in about two dozen runs.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import least_squares

import quirk
from quirk import planar

CRANK, BASE = 0.10, 0.20  # m
RATE = 2 * np.pi  # rad/s: one turn in a second
# m: lengths of coupler and rocker, and where the point is on the coupler, along it and beside it.
GUESS = {"coupler": 0.30, "rocker": 0.22, "along": 0.45, "beside": 0.04}
# The line is to be followed over half of the turn, at constant speed.
TIMES = np.linspace(0.25, 0.75, 51)
KEYS = [("rocker", "point_j"), ("rocker", "length")]


def build(coupler: float = GUESS["coupler"], rocker: float = GUESS["rocker"]) -> quirk.System:
    """Crank and coupler in the plane; the rocker is a massless rod from the ground to the coupler."""
    pin, post = np.array([CRANK, 0]), np.array([BASE, 0])
    # Where the circles of coupler and rocker meet, above the base.
    base = BASE - CRANK
    x = (coupler**2 - rocker**2 + base**2) / (2 * base)
    angle = np.arctan2(np.sqrt(coupler**2 - x**2), x)
    crank = planar.PlanarBody.bar("crank", [0, 0], pin, mass=0.2, width=0.012)
    body = planar.PlanarBody("coupler", 1.0, 0.03, position=pin, angle=angle)
    return quirk.System([
        crank,
        body,
        planar.Revolute("crank pivot", quirk.GROUND, crank, point=[0, 0]),
        planar.Revolute("crank pin", crank, body, point=pin),
        quirk.Distance("rocker", quirk.GROUND, body, point_i=[*post, 0], point_j=[coupler, 0, 0], length=rocker),
        planar.AngleDriver("motor", quirk.GROUND, crank, quirk.Motion.constant_rate(RATE)),
    ])  # fmt: skip


def simulated(x: np.ndarray, times: np.ndarray = TIMES, progress: bool = False) -> quirk.Result:
    """Simulate one turn of a linkage."""
    system = build(*x[:2])
    system.assemble()  # the crank turns, and all else has the velocities that go with it
    return quirk.simulate(system, 1.0, output=times, sensitivities=KEYS, progress=progress)


def curve(result: quirk.Result, point: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Path (nt, 2) of a coupler point (2,), and its derivatives (nt, 2, 4) with respect to the parameters in GUESS."""
    local = np.append(point, 0.0)
    R = result["coupler"].path(local)
    by = np.zeros((len(result.time), 2, len(GUESS)))
    axes = quirk.rotation.matrix(result["coupler"].orientation)
    for k, (key, index) in enumerate(zip(KEYS, ((Ellipsis, 0), (Ellipsis,)), strict=True)):
        one = result.sensitivity[key]["coupler"]
        moved = one.position[index] + np.einsum("tij,tj->ti", axes, np.cross(one.turn[index], local))
        by[..., k] = moved[:, :2]
    by[..., 2:] = axes[:, :2, :2]
    return R.position[:, :2], by


def run(out: Path) -> quirk.Result:
    """Optimize the lengths, and draw the path before and after."""
    pace = (TIMES - 0.5)[:, None]

    def missed(x: np.ndarray) -> np.ndarray:
        """Deviation from the desired path; x: lengths, coupler point, and middle, height and speed of the line."""
        line = np.concatenate([x[4] + x[6] * pace, np.full_like(pace, x[5])], axis=1)
        return np.ravel(curve(simulated(x), x[2:4])[0] - line)

    def slopes(x: np.ndarray) -> np.ndarray:
        by = curve(simulated(x), x[2:4])[1]
        line = np.zeros((len(TIMES), 2, 3))
        line[:, 0, 0], line[:, 1, 1], line[:, 0, 2] = -1.0, -1.0, -pace[:, 0]
        return np.concatenate([by, line], axis=2).reshape(-1, 7)

    lengths = np.array(list(GUESS.values()))
    middle = curve(simulated(lengths), lengths[2:])[0]
    speed = (middle[-1, 0] - middle[0, 0]) / (TIMES[-1] - TIMES[0])
    start = np.concatenate([lengths, middle.mean(axis=0), [speed]])
    found = least_squares(missed, start, jac=slopes, x_scale="jac", xtol=1e-10)
    print(f"{found.nfev} runs")
    for name, guess, x in zip(GUESS, lengths, found.x, strict=False):
        print(f"{name:8s} guess {guess:6.3f} m  found {x:8.5f} m")
    whole = np.linspace(0, 1, 361)
    figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
    for title, x, style in (("with the lengths guessed", start, "--"), ("with the lengths found", found.x, "-")):
        result = simulated(x, whole, progress=True)
        path = curve(result, x[2:4])[0]
        part = path[(whole >= TIMES[0]) & (whole <= TIMES[-1])]
        across = np.ptp(part[:, 1]) * 1000
        print(f"{title}: {1000 * np.ptp(part[:, 0]):.1f} mm along, and {across:.2f} mm across")
        ax.plot(*path.T, style, label=f"{title}: {across:.2f} mm across")
        ax.plot(*part[:: len(part) // 10].T, "o", markersize=4, color=ax.lines[-1].get_color())
    ax.set(xlabel="x (m)", ylabel="y (m)", aspect="equal", title="Path of the coupler point; dots at equal times")
    ax.grid(alpha=0.3)
    ax.legend()
    out.mkdir(parents=True, exist_ok=True)
    figure.savefig(out / "straight-line.png", dpi=120)
    plt.close(figure)
    print(result.summary())
    tip = [*found.x[2:4], 0.0]
    result.animate(out / "straight-line.gif", fps=25, speed=0.5, view=(0, 0), trails=(("coupler", tip),))
    return result


if __name__ == "__main__":
    run(Path("out"))
