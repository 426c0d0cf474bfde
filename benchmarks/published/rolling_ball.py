"""A bowling ball that first slides along a curve and then rolls."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import GROUND

from .section import Section, checked, compare_arrays, compare_number, data, run_settings

PRINTED = data("rolling_ball")
UP = np.array([0.0, 1.0, 0.0])
TIMES = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]  # s: on both sides of the change


def build() -> quirk.System:
    """Return the ball on the lane."""
    r = PRINTED["radius"]
    ball = quirk.Body(
        "ball", PRINTED["mass"], [PRINTED["inertia"]] * 3, position=r * UP,
        velocity=[0, 0, PRINTED["speed"]], angular_velocity=[0, 0, PRINTED["spin"]],
    )  # fmt: skip
    lane = quirk.Contact("lane", GROUND, ball, on_i=quirk.surface.plane(normal=UP), on_j=quirk.surface.sphere(r))
    return quirk.System(
        [ball, lane, quirk.Friction("friction", lane, PRINTED["friction"])], gravity=-PRINTED["gravity"] * UP
    )


def closed_form(times: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the time at which rolling begins, and velocity and angular velocity (nt, 3) over time."""
    r, m, inertia = PRINTED["radius"], PRINTED["mass"], PRINTED["inertia"]
    pull = PRINTED["friction"] * PRINTED["gravity"]
    v, w = np.array([0, 0, PRINTED["speed"]]), np.array([0, 0, PRINTED["spin"]])
    rolling = r / (inertia + m * r**2) * np.cross(inertia * w + m * r * np.cross(UP, v), UP)
    slip = v - r * np.cross(w, UP)
    u = slip / np.linalg.norm(slip)
    begins = (v - rolling) @ u / pull
    slid = np.minimum(times, begins)[:, None]
    return begins, v - pull * slid * u, w + m * r * pull / inertia * slid * np.cross(UP, u)


def sections() -> list[Section]:
    """Return the comparison with the closed form."""
    options, how = run_settings()
    result = quirk.simulate(build(), TIMES[-1], output=TIMES, **options)
    begins, velocity, spin = closed_form(result.time)
    view = result["ball"]
    turn = quirk.rotation.matrix(view.orientation)
    return [
        Section(
            title="Bowling ball",
            what="A ball is thrown at 8 m/s, spinning about the way it goes: it slides along a curve, and rolls as "
            "soon as it can. The closed form is that of Drake's benchmarks.",
            how=how,
            lines=[
                compare_number("time at which it begins to roll, s", begins, float(result.events.time[0])),
                compare_arrays(f"velocity at {len(TIMES)} times and at the change, m/s", velocity, view.velocity),
                compare_arrays(
                    "angular velocity at these times, rad/s", spin, np.einsum("tij,tj->ti", turn, view.angular_velocity)
                ),
            ],
            checks=checked(result),
            source=PRINTED["source"],
        )
    ]
