"""Energy drift of a double pendulum in a long run, compared with the run time."""

from __future__ import annotations

import time

import quirk

from . import references
from .accuracy import Curve, Point
from .row import Row, in_units

METHODS = {"Taylor": range(8, 15), "Vern9": range(8, 14), "DOP853": range(8, 12)}
# Relative to the largest kinetic energy; and s that a run with so little drift may take.
ENOUGH, SECONDS = 1e-11, 3.0


def duration(small: bool) -> float:
    """Return the end time, s."""
    return 10.0 if small else 1e4


def long_runs(small: bool) -> tuple[list[Row], list[Curve]]:
    """Return table rows with targets, and curves of energy drift and run time, of the spatial double pendulum."""
    system, t = references.build(references.load("spatial_double_pendulum")), duration(small)
    curves = []
    for method, digits in METHODS.items():
        points = [
            Point(10.0**-k, *_drift(system, t, method, 10.0**-k)) for k in (list(digits)[:3] if small else digits)
        ]
        best = min((p for p in points if p.error <= ENOUGH), key=lambda p: p.seconds, default=None)
        curves.append(Curve(f"QuIRK {method}", "rtol", points, best))
    best = curves[0].best
    row = Row(f"seconds of {t:g} s by Taylor series, drift <= {ENOUGH:g}", target=SECONDS, below=True, judged=not small)
    if best:
        row.quirk, row.ratio, row.details = (
            in_units(best.seconds),
            best.seconds,
            {"drift": best.error, "rtol": best.setting},
        )
    return [row], curves


def _drift(system: quirk.System, t: float, method: str, rtol: float) -> tuple[float, float]:
    """Return the relative drift of the energy in a run, and its run time, s."""
    began = time.perf_counter()
    result = quirk.simulate(system, t, method=method, rtol=rtol, atol=1e-3 * rtol, output=t / 100)
    seconds = time.perf_counter() - began
    return float(result.energy.drift), seconds
