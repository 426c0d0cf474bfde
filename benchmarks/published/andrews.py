"""Andrews' squeezing mechanism: seven bodies in a plane, three loops at one pin, and a motion within milliseconds."""

from __future__ import annotations

import numpy as np

import quirk
from quirk import GROUND, planar

from .section import AGAIN, OTHER, Section, checked, compare_arrays, data, digits, largest_difference, run_settings

PRINTED = data("andrews")
BODIES = tuple(f"K{k}" for k in range(1, 8))
PINS = ("squeezed K3", "squeezed K4", "squeezed K6")
# The angles of K1 to K7 are sums of the coordinates beta, Theta, gamma, Phi, delta, Omega, epsilon.
SUMS = np.array(
    [
        [1, 0, 0, 0, 0, 0, 0],
        [1, 1, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 1, 1, 0, 0],
        [0, 0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 1, 1],
        [0, 0, 0, 0, 0, 0, 1],
    ]
)


def build() -> quirk.System:
    """Return the mechanism at its initial position, at rest."""
    L, angle = PRINTED["lengths"], SUMS @ PRINTED["start"]
    A, B, C = (np.array(PRINTED["points"][name]) for name in "ABC")
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    y = np.column_stack([-np.sin(angle), np.cos(angle)])
    tip = L["rr"] * x[0]
    squeezed = tip - L["d"] * x[1]
    shoulder, knee = A + L["zt"] * x[4], A - L["u"] * y[6]
    centers = [
        L["ra"] * x[0],
        tip - L["da"] * x[1],
        B - L["sa"] * y[2] + L["sb"] * x[2],
        shoulder - (L["e"] - L["ea"]) * y[3],
        A + L["ta"] * x[4] - L["tb"] * y[4],
        knee + (L["zf"] - L["fa"]) * x[5],
        A - L["ua"] * y[6] + L["ub"] * x[6],
    ]
    K = [
        planar.PlanarBody(name, m, inertia, position=center, angle=turn)
        for name, m, inertia, center, turn in zip(
            BODIES, PRINTED["mass"], PRINTED["inertia"], centers, angle, strict=True
        )
    ]
    hinges = [
        ("motor", GROUND, K[0], np.zeros(2)),
        ("tip", K[0], K[1], tip),
        ("B", GROUND, K[2], B),
        ("A K5", GROUND, K[4], A),
        ("A K7", GROUND, K[6], A),
        ("shoulder", K[4], K[3], shoulder),
        ("knee", K[6], K[5], knee),
        *zip(PINS, [K[1]] * 3, [K[2], K[3], K[5]], [squeezed] * 3, strict=True),
    ]
    held = B + L["sd"] * x[2] - L["sc"] * y[2]
    return quirk.System(
        [
            *K,
            *(planar.Revolute(name, i, j, point=point) for name, i, j, point in hinges),
            quirk.Torque("torque", K[0], [0, 0, PRINTED["torque"]]),
            quirk.Spring(
                "spring", GROUND, K[2], points=[[*C, 0], [*held, 0]],
                stiffness=PRINTED["stiffness"], rest_length=PRINTED["rest_length"],
            ),
        ]
    )  # fmt: skip


def quantities(result: quirk.Result) -> dict[str, np.ndarray]:
    """Return the published quantities over time: angles, rates and accelerations (nt, 7), and multipliers (nt, 6)."""
    turns = np.linalg.inv(SUMS).T
    views = [result[name] for name in BODIES]
    return {
        "angles": np.column_stack([view.in_plane.angle for view in views]) @ turns,
        "rates": np.column_stack([view.angular_velocity[:, 2] for view in views]) @ turns,
        "accelerations": np.column_stack([view.angular_acceleration[:, 2] for view in views]) @ turns,
        "multipliers": np.column_stack([result[pin].force()[:, :2] for pin in PINS]),
    }


UNITS = {"angles": "rad", "rates": "rad/s", "accelerations": "rad/s²", "multipliers": "N"}


def sections() -> list[Section]:
    """Return the comparison with the IVP test set, and the energy balance of IFToMM's longer run."""
    options, how = run_settings()
    end = PRINTED["time"]
    result, again = (quirk.simulate(build(), end, output=[0.0, end], **chosen) for chosen in (options, OTHER))
    found, other = quantities(result), quantities(again)
    lines = [
        compare_arrays("accelerations at 0 s, rad/s²", PRINTED["start_accelerations"], found["accelerations"][0]),
        compare_arrays("multipliers at 0 s, N", PRINTED["start_multipliers"], found["multipliers"][0]),
        *(compare_arrays(f"{name} at {end:g} s, {UNITS[name]}", PRINTED[name], found[name][1]) for name in found),
    ]
    doubt = largest_difference(found, other)
    judged = digits(lines[2:], list(found), doubt)
    long = quirk.simulate(build(), 0.05, output=1e-3, **options)
    return [
        Section(
            title="Andrews' squeezing mechanism",
            what="Seven bodies in a plane, three loops closed at one pin, a spring, and a torque that turns the crank "
            "ever faster, up to 1140 rad/s after 0.03 s; as differential-algebraic equations of index 3.",
            how=how,
            lines=lines,
            checks={**checked(result), AGAIN: doubt},
            remarks=[judged, *PRINTED["remarks"]],
            source=PRINTED["source"],
        ),
        Section(
            title="IFToMM A03: Andrews' mechanism to 0.05 s",
            what="The same mechanism for longer. No numbers are printed; the library asks for the balance of energy.",
            how=how,
            lines=[],
            checks=checked(long),
            remarks=["Others: OpenSim 3.2 takes 0.384 s (i5-4570, 3.2 GHz)."],
            source=data("iftomm")["source"],
        ),
    ]
