"""The benchmark bicycle: small motions compared with the published linear equations, and energy in large motions."""

from __future__ import annotations

import numpy as np
from scipy.linalg import expm

import quirk
from quirk import GROUND

from .section import Section, checked, compare_arrays, data, run_settings

PRINTED = data("bicycle")
# Rate of roll of the small motion, rad/s: what is not linear is smaller by its square.
SMALL = 1e-4
SPEEDS = (4.0, 5.0, 8.0)  # m/s: weaving, stable, capsizing


def build(speed: float, roll_rate: float) -> quirk.System:
    """Return the upright bicycle, rolling straight ahead at a speed (m/s), with a roll rate (rad/s)."""
    wheels = {"rear wheel": ("rear_wheel", 0.0), "front wheel": ("front_wheel", PRINTED["wheel_base"])}
    bodies = {}
    for name in ("frame", "fork"):
        given = PRINTED[name]
        bodies[name] = _body(name, given, given["center"], speed, [roll_rate, 0, 0])
    for name, (key, x) in wheels.items():
        given = PRINTED[key]
        spin = [roll_rate, -speed / given["radius"], 0]
        bodies[name] = _body(name, given, [x, 0, -given["radius"]], speed, spin)
    axis = [np.sin(PRINTED["tilt"]), 0, np.cos(PRINTED["tilt"])]
    joints = [quirk.Revolute("steer", bodies["frame"], bodies["fork"], point=PRINTED["steer_point"], axis=axis)]
    for (name, (key, _)), holder in zip(wheels.items(), ("frame", "fork"), strict=True):
        wheel = bodies[name]
        joints += [
            quirk.Revolute(f"{name} hub", bodies[holder], wheel, point=wheel.position, axis=[0, 1, 0]),
            quirk.RollingDisk(
                f"{name} rolls",
                GROUND,
                wheel,
                radius=PRINTED[key]["radius"],
                disk_axis=[0, 1, 0],
                plane_normal=[0, 0, -1],
            ),
        ]
    return quirk.System([*bodies.values(), *joints], gravity=[0, 0, PRINTED["gravity"]])


def _body(name: str, parameters: dict, center: list[float], speed: float, spin: list[float]) -> quirk.Body:
    # All of it falls over about the line on the ground.
    velocity = [speed, -spin[0] * center[2], 0]
    return quirk.Body(
        name, parameters["mass"], parameters["inertia"], position=center, velocity=velocity, angular_velocity=spin
    )  # fmt: skip


def roll_and_steer(result: quirk.Result) -> np.ndarray:
    """Return roll and steering angle (nt, 2), rad, positive to the right."""
    sideways = quirk.rotation.matrix(result["frame"].orientation)[:, :, 1]
    return np.column_stack([np.arcsin(sideways[:, 2]), result["steer"].rotation[:, 2]])


def linear(speed: float, times: np.ndarray) -> np.ndarray:
    """Return roll and steering angle by the published linear equations, from the same initial state."""
    matrix = PRINTED["state_matrix"]
    lower = sum(speed**k * np.array(matrix[name]) for k, name in enumerate(("constant", "linear", "square")))
    whole = np.vstack([np.eye(4)[2:], lower])
    start = np.array([0, 0, SMALL, 0])
    return np.array([(expm(whole * t) @ start)[:2] for t in times])


def sections() -> list[Section]:
    """Return the comparison of small motions with the linear equations, and the energy balance of large motions."""
    options, how = run_settings()
    lines = []
    for speed in SPEEDS:
        result = quirk.simulate(build(speed, SMALL), 2.0, output=0.1, **options)
        lines.append(
            compare_arrays(
                f"roll and steer over 2 s at {speed:g} m/s from a roll rate of {SMALL:g} rad/s, rad",
                linear(speed, result.time),
                roll_and_steer(result),
            )
        )
    checks = {}
    for name, (speed, roll_rate) in PRINTED["manoeuvres"].items():
        duration = 20.0 if name == "M2" else 5.0
        result = quirk.simulate(build(speed, roll_rate), duration, output=0.05)
        energy = result.energy.total
        checks[f"100 (max E − min E) / E(0), {name}, {duration:g} s, default tolerances"] = float(
            100 * np.ptp(energy) / abs(energy[0])
        )
    checks |= checked(result)
    return [
        Section(
            title="Benchmark bicycle",
            what="Rear frame with rider, front frame and two knife-edged wheels that roll without slipping. QuIRK runs "
            "the nonlinear motion; where it is small, it must follow the published linear equations, but for terms "
            f"of the order {SMALL**2:g}.",
            how=how,
            lines=lines,
            checks=checks,
            remarks=PRINTED["remarks"],
            source=PRINTED["source"],
        )
    ]
