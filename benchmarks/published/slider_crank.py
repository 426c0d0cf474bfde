"""A slider-crank mechanism with clearance between slider and guide."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import GROUND, planar

from . import slider_crank_stepping
from .section import Line, Section, data, run_settings, scaled_difference

PRINTED = data("slider_crank")


def build() -> quirk.System:
    """Return the mechanism in its extended position; the four corners of the slider can touch the guide."""
    P = PRINTED
    (crank_length, rod_length), rates = P["lengths"], P["rates"]
    tip, end = crank_length, crank_length + rod_length
    tip_speed = rates[0] * crank_length
    crank, rod, slider = (
        planar.PlanarBody(name, m, inertia, position=[x, 0], velocity=[0, v], angular_velocity=w)
        for name, m, inertia, x, v, w in zip(
            ("crank", "rod", "slider"), P["masses"], P["inertias"],
            (tip / 2, (tip + end) / 2, end),
            (tip_speed / 2, tip_speed + rates[1] * rod_length / 2, tip_speed + rates[1] * rod_length),
            rates, strict=True,
        )
    )  # fmt: skip
    parts: list = [
        crank,
        rod,
        slider,
        planar.Revolute("bearing", GROUND, crank, point=[0, 0]),
        planar.Revolute("crank pin", crank, rod, point=[tip, 0]),
        planar.Revolute("piston pin", rod, slider, point=[end, 0]),
    ]
    wall = P["half_height"] + P["clearance"]
    for side in (1, -1):
        guide = quirk.surface.plane([0, side * wall, 0], [0, -side, 0])
        for where in (-1, 1):
            name = f"{'upper' if side > 0 else 'lower'} {'left' if where < 0 else 'right'}"
            corner = quirk.surface.point([where * P["half_length"], side * P["half_height"], 0])
            contact = quirk.Contact(name, GROUND, slider, on_i=guide, on_j=corner, restitution=P["restitution"])
            parts += [contact, quirk.Friction(f"{name} rubs", contact, P["friction"])]
    return quirk.System(parts, gravity=[0, -P["gravity"], 0])


def motion(result: quirk.Result, times: np.ndarray) -> np.ndarray:
    """Return the published coordinates (nt, 6) at output times: number of turns, angles, and three rates."""
    rows = np.searchsorted(result.time, times, side="right") - 1
    views = [result[name] for name in ("crank", "rod", "slider")]
    angles = [view.in_plane.angle for view in views]
    rates = [view.angular_velocity[:, 2] for view in views]
    return np.column_stack([angles[0] / (2 * np.pi), *angles[1:], *rates])[rows]


# The slider stays level: its angle and rate are zero but for round-off.
MOVING = [0, 1, 3, 4]
STEPS = (1e-4, 1e-5, 1e-6)  # s: of time stepping


def sections() -> list[Section]:
    """Return the comparison at the published times, and with time stepping at other step sizes."""
    options, how = run_settings()
    printed = np.array(PRINTED["motion"])
    times, states = printed[:, 0], printed[:, 1:][:, MOVING]
    result = quirk.simulate(build(), times[-1], output=list(times), **options)
    found, scale = motion(result, times)[:, MOVING], np.abs(states).max(axis=0)
    return [
        Section(
            title="Slider-crank with clearance",
            what="The slider has 1 mm of clearance in its guide and knocks against it with its four corners, with "
            f"restitution 0.4 and friction 0.01, for 0.2 s: {len(result.events)} events.",
            how=how,
            lines=[
                Line(
                    f"turns of the crank, angle of the rod, both rates at {times[row]:g} s",
                    "4 values",
                    "",
                    scaled_difference(found[row], states[row], scale),
                    "the largest of each",
                )
                for row in (1, 2, 3, 5, 10)
            ],
            checks={"balance of energy, J": float(np.abs(result.power.balance).max())},
            remarks=[
                f"Published: {PRINTED['method']}. Time stepping without projection, written anew for this page, comes "
                "to QuIRK's motion with smaller steps, in proportion to them: what is published is as far from it as "
                "its step is long."
            ],
            source=PRINTED["source"],
            others=[
                (
                    f"Moreau-Jean, step {step:g} s: against QuIRK, all times to 0.2 s",
                    scaled_difference(slider_crank_stepping.motion(step)[:, MOVING], found, scale),
                )
                for step in STEPS
            ],
        )
    ]
