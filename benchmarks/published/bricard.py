"""IFToMM A04: Bricard's mechanism, overconstrained."""

from __future__ import annotations

import numpy as np

import quirk

from ..references import build, deviations, load
from .section import Line, Section, checked, data, run_settings

LIBRARY = data("iftomm")
STATES = ("position", "orientation", "velocity", "omega")


def sections() -> list[Section]:
    """Return the comparison with the reference motion."""
    options, how = run_settings()
    reference = load("bricard")
    times = [row["t"] for row in reference["reference"]]
    result = quirk.simulate(build(reference), reference["duration"], output=times, **options)
    miss = deviations(reference, result)
    drift = np.abs(result.energy.total - result.energy.total[0]).max()
    return [
        Section(
            title="IFToMM A04: Bricard's mechanism",
            what=f"Five bars and six hinges in one loop: 30 rows of rank {result.rank}, one motion left; released from "
            "rest, for 10 s. The library's own reference is not printed; the motion is that of "
            "the first part of this page.",
            how=how,
            lines=[
                Line(
                    "states at 13 times (reference motion, 15 digits)",
                    "",
                    "",
                    max(miss[what] for what in STATES),
                    "the largest of each",
                )
            ],
            checks={**checked(result), "largest change of energy, J": float(drift)},
            remarks=LIBRARY["a04"]["remarks"],
            source=LIBRARY["source"],
        )
    ]
