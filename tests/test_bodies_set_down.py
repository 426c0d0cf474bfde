"""Drives that come to rest exactly where a gap vanishes: bodies set down on others, and joints moved to a stop."""

from __future__ import annotations

import numpy as np
import pytest

import quirk
from quirk import GROUND, Body, Contact, Event, Friction, Motion, surface

G = 9.81
CORNERS = [(-1, -1), (-1, 1), (1, -1), (1, 1)]


def set_down(seed: int, holder: str, friction: bool, further: float = 0.0) -> quirk.System:
    """Return a box that a drive sets down on a floor in 1 s, or a plate that it sets down on a standing box.

    `holder` is "rail", where the drive moves the box itself, the class of the joint at a driven hook, or "plate". The
    drive goes down `further` (m) than to the floor. At 1.5 s it lets the box go.
    """
    rng = np.random.default_rng(seed)
    half = 0.5 * rng.uniform(0.2, 1.0, 3)
    height, floor, mass = rng.uniform(0.05, 0.5), rng.uniform(-1.0, 1.0), rng.uniform(0.5, 3.0)
    stands = holder == "plate"
    box = Body.box("box", mass, 2 * half, position=[0, 0, floor + half[2] + (0.0 if stands else height)])
    motion = Motion.rest_to_rest([0, 1], [0, -height - further])
    items: list = [box]
    top = floor + 2 * half[2] + height
    moved = box if holder == "rail" else Body.box("hook", 1.0, [0.1, 0.1, 0.1], position=[0, 0, top + 0.05])
    rail = quirk.Prismatic("rail", GROUND, moved, point=[0, 0, 0], axis=[0, 0, 1])
    items += [rail, quirk.Drive("drive", rail, motion)]
    held = ["drive", "rail"]
    if moved is not box:
        items.append(moved)
        held = ["joint"]
    if holder in ("Fixed", "Spherical"):
        items.append(getattr(quirk, holder)("joint", moved, box, point=[0, 0, top]))
    feet = [(GROUND, surface.plane([0, 0, floor]), -half[2], "foot")]
    if stands:
        feet.append((moved, surface.plane([0, 0, -0.05], [0, 0, -1]), half[2], "pad"))
    else:
        items.append(Event("lets go", "time", level=1.5, action=quirk.disable(*held)))
    for other, plane, z, name in feet:
        for k, (x, y) in enumerate(CORNERS):
            corner = surface.point([x * half[0], y * half[1], z])
            contact = Contact(f"{name} {k}", other, box, on_i=plane, on_j=corner)
            items += [contact, Friction(f"friction {name} {k}", contact, 0.5)] if friction else [contact]
    return quirk.System(items, gravity=[0, 0, -G])


@pytest.mark.parametrize("impacts", ["simultaneous", "sequential"])
@pytest.mark.parametrize("friction", [True, False])
@pytest.mark.parametrize("holder", ["rail", "Fixed", "Spherical", "plate"])
def test_a_drive_sets_a_body_down_without_impact(holder: str, friction: bool, impacts: str) -> None:
    for seed in range(8):
        system = set_down(seed, holder, friction)
        result = quirk.simulate(system, 2.0, output=0.25, impacts=impacts)
        assert not any(event.impulse and event.name != "lets go" for event in result.events), seed
        weight = system["box"].mass * G
        load = sum(result[f"foot {k}"].force()[:, 2] for k in range(4))
        after = result.time > 1.5
        if holder != "plate":
            assert not load[result.time < 1.5].any(), seed
        assert load[after] == pytest.approx(weight, rel=1e-9), seed
        height = result["box"].position[result.time > 1.0, 2]
        assert np.ptp(height) < 1e-12, seed


@pytest.mark.parametrize("joint", ["Revolute", "Prismatic"])
def test_a_drive_ends_at_a_stop_and_leaves_it(joint: str) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        end, size = rng.uniform(0.3, 2.0), 10 ** rng.uniform(-3, 3)
        limit = end if joint == "Revolute" else end * size
        rod = Body.bar("rod", [0, 0, 0], [size, 0, 0], mass=rng.uniform(0.1, 10.0))
        pin = getattr(quirk, joint)("pin", GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
        stop = quirk.Stop("stop", pin, upper=limit)
        drive = quirk.Drive("drive", pin, Motion.rest_to_rest([0, 1, 1.5, 2.5], [0, limit, limit, 0]))
        result = quirk.simulate(quirk.System([rod, pin, stop, drive], gravity=[0, 0, -G]), 2.5, output=0.1)
        assert not any(event.impulse for event in result.events), seed
        assert not result["stop"].force().any() and not result["stop"].torque().any(), seed


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("further", [1e-3, 1e-7, 1e-10])
@pytest.mark.parametrize("holder", ["rail", "plate"])
def test_a_drive_that_goes_on_cannot(holder: str, further: float, beside: bool) -> None:
    system = set_down(0, holder, False, further)
    if beside:  # a ball that slides with friction
        ball = Body.sphere("ball", 1.0, 0.1, position=[5, 0, 0.1], velocity=[1, 0, 0])
        floor = Contact("floor", GROUND, ball, on_i=surface.plane(), on_j=surface.sphere(0.1))
        items = [*system.bodies, ball, *system.constraints, floor, *system.forces, Friction("rub", floor, 0.1)]
        system = quirk.System([*items, *system.events], gravity=[0, 0, -G])
    with pytest.raises(quirk.SimulationError, match=r"no impulses prevent interpenetration .*Contact \"foot 0\""):
        quirk.simulate(system, 1.4)
