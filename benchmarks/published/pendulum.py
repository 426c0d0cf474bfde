"""IFToMM A01: a point mass on a massless rod, released in horizontal position."""

from __future__ import annotations

import numpy as np
from scipy.special import ellipj, ellipk

import quirk

from .section import Section, checked, compare_arrays, data, run_settings

LIBRARY = data("iftomm")
PRINTED = LIBRARY["a01"]


def build() -> quirk.System:
    """Return the pendulum in the x-y plane, with its mass at (-1, 0)."""
    # Nothing turns a point: its moments have no part in the motion.
    point = quirk.Body("point", PRINTED["mass"], [1.0] * 3, position=[-PRINTED["length"], 0, 0])
    rod = quirk.Distance("rod", quirk.GROUND, point, length=PRINTED["length"])
    return quirk.System([point, rod], gravity=[0, -LIBRARY["gravity"], 0])


def closed_form(times: np.ndarray) -> np.ndarray:
    """Return the position (nt, 2) over time: sin(angle / 2) = k sn(K - w t, k), with k for the horizontal start."""
    m, w = 0.5, np.sqrt(LIBRARY["gravity"] / PRINTED["length"])
    sn, _, dn, _ = ellipj(ellipk(m) - w * times, m)
    half_sine = np.sqrt(m) * sn
    return PRINTED["length"] * np.column_stack([-2 * half_sine * dn, 2 * half_sine**2 - 1])


def sections() -> list[Section]:
    """Return the comparison with the closed form."""
    options, how = run_settings()
    result = quirk.simulate(build(), PRINTED["duration"], output=0.01, **options)
    drift = np.abs(result.energy.total - result.energy.total[0]).max()
    return [
        Section(
            title="IFToMM A01: pendulum",
            what="A mass of 1 kg on a massless rod of 1 m, released level, for 10 s.",
            how=how,
            lines=[
                compare_arrays(
                    "position at 0, 0.01, ... 10 s, m (closed form, Jacobi's elliptic functions)",
                    closed_form(result.time),
                    result["point"].position[:, :2],
                )
            ],
            checks={**checked(result), "largest change of energy, J": float(drift)},
            remarks=PRINTED["remarks"],
            source=LIBRARY["source"],
        )
    ]
