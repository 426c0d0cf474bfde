"""Closed forms for gears with backlash and for joints with dry friction."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import GROUND, Body, Motion

from .section import Section, compare_arrays, compare_number, run_settings


def wheels(inertias: tuple[float, float], speeds: tuple[float, float], **mesh: float) -> quirk.System:
    """Return two wheels with parallel axes along z that mesh with ratio 1."""
    bodies = [
        Body(f"w{k}", 1.0, [J, J, J], position=[0.5 * k, 0, 0], angular_velocity=[0, 0, w])
        for k, (J, w) in enumerate(zip(inertias, speeds, strict=True))
    ]
    axles = [quirk.Revolute(f"a{k}", GROUND, b, point=b.position, axis="z") for k, b in enumerate(bodies)]
    return quirk.System([*bodies, *axles, quirk.Gear("mesh", *bodies, ratio=1, axis="z", **mesh)])


def slider(spring: float, offset: float, **friction: float) -> quirk.System:
    """Return a mass of 2 kg on a rail, with dry friction and a spring (N/m) that is stretched by `offset`, m."""
    mass = Body.box("mass", 2.0, [0.1] * 3)
    rail = quirk.Prismatic("rail", GROUND, mass, axis="x")
    start = [-1 - offset, 0, 0]
    pull = quirk.Spring(
        "spring", GROUND, mass, point_i=start, point_j=[0, 0, 0], stiffness=spring, rest_length=1.0
    )  # fmt: skip
    return quirk.System([mass, rail, pull, quirk.JointFriction("friction", rail, sticking=True, **friction)])


def describing_function(play: float) -> np.ndarray:
    """Return sine and cosine components of the output of a gear with play, for an input of amplitude 1 rad.

    Friction holds the driven wheel while the play is traversed.
    """
    system = wheels((1.0, 1e-3), (1.0, 0.0), backlash=play)
    drive = quirk.Drive("drive", system["a0"], Motion.sinusoid(1.0, 1.0))
    brake = quirk.JointFriction("brake", system["a1"], coulomb=1.0, sticking=True)
    times = 2 * np.pi * (1 + np.arange(800) / 800)
    result = quirk.simulate(system.with_parts(drive, brake), 4 * np.pi, output=times)
    y = result["a1"].angle[np.searchsorted(result.time, times)]
    return 2 / 800 * np.array([y @ np.sin(times), y @ np.cos(times)])


def gears() -> Section:
    """Return the comparison of gears with backlash."""
    options, how = run_settings(rtol=1e-11, atol=1e-13)
    J, k, c = (2.0, 0.5), 80.0, 0.3
    result = quirk.simulate(wheels(J, (1.0, 0.0), stiffness=k, damping=c), 2.0, output=0.05, **options)
    reduced = 1 / (1 / J[0] + 1 / J[1])
    decay = c / (2 * reduced)
    w = np.sqrt(k / reduced - decay**2)
    swing = -np.exp(-decay * result.time) * np.sin(w * result.time) / w
    lines = [compare_arrays("twist of two wheels on elastic teeth, rad", swing, result["mesh flanks"].coordinate())]
    hit = quirk.simulate(wheels((2.0, 3.0), (1.0, 0.0), backlash=0.1, restitution=0.6), 0.1, output=0.05, **options)
    impulse = 1.6 / (1 / 2.0 + 1 / 3.0)
    after = [0.05, 1.0 - impulse / 2.0, impulse / 3.0]
    rates = [float(hit[f"a{n}"].angle_rate[-1]) for n in (0, 1)]
    lines.append(
        compare_arrays("impact across play, e = 0.6: time, s, and rates, rad/s", after, [hit.events[0].time, *rates])
    )
    rattle = wheels((2.0, 2.0), (1.0, -1.0), backlash=0.1, stiffness=5e4)
    times = quirk.simulate(rattle, 0.4, output=0.01, **options).events.of("mesh flanks").time
    contact = float(times[1] - times[0])
    lines.append(
        compare_number("time of contact on elastic flanks, π / √(k / J), s", np.pi / np.sqrt(5e4), contact, 12)
    )
    flight = float(times[2] - times[1])
    lines.append(compare_number("time of flight across the play, s", 0.05, flight, 12))
    play = 0.6
    s = 1 - play
    harmonic = [(np.pi / 2 + np.arcsin(s) + s * np.sqrt(1 - s * s)) / np.pi, -play * (2 - play) / np.pi]
    lines.append(
        compare_arrays("describing function of play with friction, b/A = 0.6", harmonic, describing_function(play))
    )
    return Section(
        title="Gears with backlash",
        what="Wheels that mesh at ratio 1: on elastic teeth without play, with an impact across their play, with "
        "contacts and flights in turn, and driven to and fro with a brake on the driven one.",
        how=f"{how}; the describing function by default, from 800 times of one period",
        lines=lines,
        checks={},
        source="closed forms; describing function: A. Gelb and W. E. Vander Velde, Multiple-Input Describing Functions "
        "and Nonlinear System Design, 1968",
    )


def dry_joints() -> Section:
    """Return the comparison of joints that stick."""
    options, how = run_settings(rtol=1e-11, atol=1e-13)
    k, F, x0 = 50.0, 1.0, 0.19
    result = quirk.simulate(slider(k, x0, coulomb=F), 5.0, output=1.0, **options)
    n = np.arange(1, int(np.ceil((x0 - F / k) / (2 * F / k))) + 1)
    turns = result.events.of("friction").time
    place = result.at(turns)["mass"].position[:, 0] + x0
    lines = [
        compare_arrays("times of the turning points, n π √(m / k), s", n * np.pi * np.sqrt(2.0 / k), turns),
        compare_arrays("turning points, (-1)ⁿ (x₀ - 2 n F / k), m", (-1.0) ** n * (x0 - 2 * n * F / k), place),
    ]
    k, v, coulomb, static = 40.0, 0.05, 1.0, 1.6
    times = quirk.simulate(on_belt(k, v, coulomb, static), 8.0, output=1.0, **options).events.of("friction").time
    w, d = np.sqrt(k / 2.0), (static - coulomb) / k
    lines += [
        compare_number("time of the first slip on a belt, F_s / (k v), s", static / (k * v), float(times[0])),
        compare_number(
            "slip lasts 2 (π - arctan(w d / v)) / w, s", 2 * (np.pi - np.arctan(w * d / v)) / w, times[1] - times[0]
        ),
        compare_number("sticking lasts 2 d / v, d = (F_s - F) / k, s", 2 * d / v, float(times[2] - times[1])),
    ]
    return Section(
        title="Joints that stick",
        what="A mass of 2 kg on a spring and a rail with dry friction: released, it stops for good after five half "
        "turns; on a belt it sticks and slips.",
        how=how,
        lines=lines,
        checks={},
        source="closed forms, as in J. P. Den Hartog, Mechanical Vibrations",
    )


def on_belt(stiffness: float, speed: float, coulomb: float, static: float) -> quirk.System:
    """Return a mass on a belt of constant speed, connected to the ground by a spring."""
    belt = Body.box("belt", 1.0, [1, 0.1, 0.1], velocity=[speed, 0, 0])
    mass = Body.box("mass", 2.0, [0.1] * 3, velocity=[speed, 0, 0])
    bed = quirk.Prismatic("bed", GROUND, belt, axis="x")
    drive = quirk.Drive("drive", bed, Motion.constant_rate(speed))
    rail = quirk.Prismatic("rail", belt, mass, axis="x")
    spring = quirk.Spring("spring", GROUND, mass, point_i=[-10, 0, 0], point_j=[0, 0, 0], stiffness=stiffness)
    friction = quirk.JointFriction("friction", rail, coulomb=coulomb, static=static, sticking=True)
    return quirk.System([belt, mass, bed, drive, rail, spring, friction])


def sections() -> list[Section]:
    """Return both comparisons."""
    return [gears(), dry_joints()]
