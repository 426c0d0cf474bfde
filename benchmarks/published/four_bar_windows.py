"""IFToMM A02: parallelograms side by side, which pass singular configurations where two branches of motion meet."""

from __future__ import annotations

import numpy as np

import quirk

from ..references import build, load
from .section import Section, checked, compare_arrays, data, run_settings

LIBRARY = data("iftomm")
PRINTED = LIBRARY["a02"]
TOP = (0.5, 0, 0)  # m: of the first upright bar, in its coordinates


def sections() -> list[Section]:
    """Return the comparison of the final state with the closed form, as published for runs of Exudyn."""
    options, how = run_settings("DOP853")
    reference = load("fourbar2")
    result = quirk.simulate(build(reference), PRINTED["time"], output=[0.0, PRINTED["time"]], **options)
    top = result["V0"].path(TOP)
    found = np.concatenate([top.position[-1, :2], top.velocity[-1, :2]])
    (end,) = (row for row in reference["reference"] if row["t"] == PRINTED["time"])
    exact = np.array([*end["B0"][:2], *end["B0_velocity"][:2]])
    finest = PRINTED["exudyn"][-1]
    drift = np.abs(result.energy.total - result.energy.total[0]).max()
    return [
        Section(
            title="IFToMM A02: two four-bar windows",
            what="Three upright bars of 1 m and 1 kg joined by two level ones, pushed over at 1 m/s, for 10 s. All "
            "bars come to lie on one line ten times, where a second motion begins.",
            how=how,
            lines=[
                compare_arrays("place (m) and velocity (m/s) of joint B0 at 10 s: closed form", exact, found),
                compare_arrays(f"the same: Exudyn's finest run, step {finest[0]:g} s", finest[1:5], found),
            ],
            checks={**checked(result), "largest change of energy, J": float(drift)},
            remarks=PRINTED["remarks"],
            source=f"{LIBRARY['source']}; {PRINTED['source']}",
            others=[
                (
                    f"Exudyn, generalized-alpha, step {step:g} s: the same against the closed form",
                    float(np.abs(values - exact).max() / np.abs(exact).max()),
                )
                for step, *values, _ in PRINTED["exudyn"]
            ],
        )
    ]
