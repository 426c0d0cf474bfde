"""The woodpecker toy on its limit cycle, linearized for small angles as in its published model."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import GROUND, planar

from . import woodpecker_stepping
from .section import Section, compare_arrays, data, run_settings, scaled_difference

PRINTED = data("woodpecker")
# The published model is linear in the angles. Levers that are longer by the inverse of this, and angles that are as
# much smaller, give the same linear model, and nonlinear terms that are this part of what they were.
SMALLER = 1e-6
TOUCHING = -(PRINTED["bore"] - PRINTED["pole"]) / PRINTED["half_height"]  # rad: of the sleeve on its lower edge
FINE = 2e-7  # s: a step of time stepping


def bodies() -> tuple[planar.PlanarBody, planar.PlanarBody, np.ndarray]:
    """Return sleeve, bird and the pivot between them at the initial state of the published run."""
    P, longer = PRINTED, 1 / SMALLER
    _, height, fall, *turns = P["motion"][0]
    # The lower edge touches: printed with four digits the sleeve's angle lets it reach 0.9 um into the pole.
    turns[:2] = TOUCHING, 0.0
    tilt, tilting, swing, swinging = (SMALLER * turn for turn in turns)
    pivot = longer * P["to_pivot"] * np.array([np.cos(tilt), np.sin(tilt)])
    arm = longer * P["to_bird"] * np.array([np.cos(swing), np.sin(swing)])
    across = tilting * np.array([-pivot[1], pivot[0]]) + swinging * np.array([-arm[1], arm[0]])
    start, drop = np.array([0, height]), np.array([0, fall])
    sleeve = planar.PlanarBody(
        "sleeve", P["mass_sleeve"], P["inertia_sleeve"] * longer**2,
        position=start, angle=tilt, velocity=drop, angular_velocity=tilting,
    )  # fmt: skip
    bird = planar.PlanarBody(
        "bird", P["mass_bird"], P["inertia_bird"] * longer**2,
        position=start + pivot + arm, angle=swing, velocity=across + drop, angular_velocity=swinging,
    )  # fmt: skip
    return sleeve, bird, start + pivot


def build() -> quirk.System:
    """Return the toy with its three contacts: the beak, and both edges of the sleeve."""
    P, longer = PRINTED, 1 / SMALLER
    sleeve, bird, pivot = bodies()
    hinge = planar.Revolute("hinge", sleeve, bird, point=pivot)
    parts: list = [
        sleeve,
        bird,
        quirk.PointOnLine("along the pole", GROUND, sleeve, point=[0, 0, 0], axis=[0, 1, 0]),
        hinge,
        quirk.TorsionSpring("spring", hinge, stiffness=P["stiffness"] * longer**2),
    ]
    # Where the contact point is with all angles zero, and its gap there.
    ahead = P["to_pivot"] + P["to_bird"] - P["beak_back"]
    play = P["bore"] - P["pole"]
    for name, body, point, at, gap, restitution in (
        ("beak", bird, [-P["beak_back"], P["beak_up"], 0], ahead, ahead - P["pole"], P["beak_restitution"]),
        ("upper edge", sleeve, [P["bore"], P["half_height"], 0], P["bore"], play, 0.0),
        ("lower edge", sleeve, [P["bore"], -P["half_height"], 0], P["bore"], play, 0.0),
    ):
        contact = quirk.Contact(
            name, GROUND, body, on_i=quirk.surface.plane([longer * at - gap, 0, 0], [1, 0, 0]),
            on_j=quirk.surface.point(longer * np.array(point)), restitution=restitution, rest_speed=1e-7,
        )  # fmt: skip
        parts += [contact, quirk.Friction(f"{name} rubs", contact, P["friction"])]
    return quirk.System(parts, gravity=[0, -P["gravity"], 0])


def motion(result: quirk.Result, times: np.ndarray) -> np.ndarray:
    """Return the published coordinates (nt, 6) at output times; at an impact, those after it."""
    rows = np.searchsorted(result.time, times, side="right") - 1
    sleeve, bird = result["sleeve"], result["bird"]
    columns = [sleeve.position[:, 1], sleeve.velocity[:, 1]]
    for view in (sleeve, bird):
        columns += [view.in_plane.angle / SMALLER, view.angular_velocity[:, 2] / SMALLER]
    return np.column_stack(columns)[rows]


COORDINATES = (
    "height, m", "its rate, m/s", "angle of the sleeve, rad", "its rate, rad/s", "angle of the bird, rad",
    "its rate, rad/s",
)  # fmt: skip


def sections() -> list[Section]:
    """Return the comparison over the two published pecks, and with the published method at other step sizes."""
    options, how = run_settings()
    printed = np.array(PRINTED["motion"])
    times, states = printed[:, 0], printed[:, 1:]
    result = quirk.simulate(build(), times[-1], output=list(times), **options)
    found, first = motion(result, times), times < 0.135
    scale, step = np.abs(states).max(axis=0), PRINTED["step"]
    again = woodpecker_stepping.motion(step, printed[0, 3])
    coarse, fine = (woodpecker_stepping.motion(h, TOUCHING) for h in (step, FINE))
    return [
        Section(
            title="Woodpecker toy",
            what="A bird on a spring pecks its way down a pole; its sleeve slides, sticks and hits the pole. The "
            "published model is linear in the angles: levers are 1e6 times as long here, and angles as much smaller.",
            how=how,
            lines=[
                compare_arrays(f"{name}, {span}", states[rows, k], found[rows, k], scale=scale[k])
                for span, rows in (("first peck", first), ("second peck", ~first))
                for k, name in enumerate(COORDINATES)
            ],
            checks={"balance of energy, J": float(np.abs(result.power.balance).max())},
            remarks=[
                f"Published: {PRINTED['method']}. Its model and method, written anew for this page, give what is "
                "published at the published step, and come to QuIRK's motion with smaller steps."
            ],
            source=PRINTED["source"],
            others=[
                (f"Moreau-Jean, step {step:g} s: against what is published", scaled_difference(again, states, scale)),
                (f"Moreau-Jean, step {step:g} s: against QuIRK", scaled_difference(coarse, found, scale)),
                (f"Moreau-Jean, step {FINE:g} s: against QuIRK", scaled_difference(fine, found, scale)),
            ],
        )
    ]
