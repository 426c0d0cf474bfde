"""Run time for a given accuracy: the ten-link chain of the reference table, computed by each simulator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median

import numpy as np

from . import models, quirk_side
from .peers.installed import peer
from .row import Row, in_units

# A side's run at a setting: the error in m and the seconds that it took.
Run = Callable[[float], tuple[float, float]]

# QuIRK's, the default first.
METHODS = ("Vern9", "Taylor", "DOP853", "Tsit5")

LONG = 20.0  # s: such runs are not repeated
TARGETS = {"MuJoCo RK4": 6.0, "Exudyn generalized-alpha": 500.0, "Pinocchio ABA + SciPy DOP853": 15.0}


@dataclass
class Point:
    """Error and run time of one simulation."""

    setting: float
    error: float
    seconds: float


@dataclass
class Curve:
    """Work-precision curve of one simulator.

    Attributes
    ----------
    side : str
        Name of the simulator and its method.
    setting : str
        Name of the setting that is varied, such as the relative tolerance or the number of steps.
    points : list of Point
        In order of increasing accuracy.
    best : Point or None
        The fastest run that meets the required accuracy; None if no run does.
    """

    side: str
    setting: str
    points: list[Point]
    best: Point | None

    def record(self) -> dict[str, object]:
        """Return the curve as plain data for the record."""
        return asdict(self)


def curve(side: str, setting: str, run: Run, settings: list[float], enough: float, refinements: int = 3) -> Curve:
    """Run a simulator at settings of increasing accuracy, then refine the setting that just meets the required one.

    `enough` is the largest admissible error, m. Bisection continues for `refinements` runs between the last setting
    that exceeds it and the first one that meets it.
    """
    points = []
    for value in settings:
        points.append(Point(value, *run(value)))
        # Two more beyond the first that is enough complete the diagram.
        if len(points) > 2 and points[-3].error <= enough:
            break
    hit = next((k for k, p in enumerate(points) if p.error <= enough), 0)
    if hit:
        coarse, fine = points[hit - 1].setting, points[hit].setting
        for _ in range(refinements):
            middle = _between(coarse, fine)
            points.append(Point(middle, *run(middle)))
            coarse, fine = (coarse, middle) if points[-1].error <= enough else (middle, fine)
    points.sort(key=lambda p: p.setting, reverse=settings[0] > settings[-1])
    best = min((p for p in points if p.error <= enough), key=lambda p: p.seconds, default=None)
    return Curve(side, setting, points, best)


def goal(small: bool) -> tuple[float, float]:
    """Return the end time, s, and the largest admissible error, m."""
    return (0.25, 1e-4) if small else (2.0, 1e-6)


def chain(small: bool, long: bool) -> tuple[list[Row], list[Curve]]:
    """Return table rows and work-precision curves of `ball_chain10`, for an error of 1e-6 m at 2 s.

    Exudyn's method of order two requires millions of steps for this error: they are computed only if `long`; otherwise
    its most accurate run gives a lower bound of its run time.
    """
    t, enough = goal(small)
    system, positions = models.ball_chain10(), models.ball_chain10_positions(t)
    repeats = 1 if small else 3

    def runner(module, repetitions: int = repeats) -> Run:
        return lambda setting: module.error_and_seconds(system, t, positions, setting, repeats=repetitions)

    tolerances = [10.0**-k for k in (range(3, 6) if small else range(3, 13))]

    def own(method: str, repetitions: int = repeats) -> Run:
        def run(setting: float) -> tuple[float, float]:
            return quirk_side.error_and_seconds(system, t, positions, setting, repetitions, method)

        run(1e-3)  # compiles
        return run

    ours = [curve(f"QuIRK {method}", "rtol", own(method), tolerances, enough) for method in METHODS]
    rows, curves = [], list(ours)

    def compare(side: str, setting: str, module, settings: list[float], repetitions: int, refinements: int) -> None:
        curves.append(curve(side, setting, runner(module, repetitions), settings, enough, refinements))
        rows.append(_row(ours[0], curves[-1], small))
        _in_turn(rows[-1], ours[0], own(METHODS[0], 1), curves[-1], runner(module, 1), repeats)

    if module := peer("Pinocchio"):
        compare("Pinocchio ABA + SciPy DOP853", "rtol (atol = rtol / 10)", module, tolerances, repeats, 3)
    if module := peer("MuJoCo"):
        counts = [125, 250, 500] if small else [500 * 2**k for k in range(10)]
        compare("MuJoCo RK4", "steps", module, counts, repeats, 3)
    if module := peer("Exudyn"):
        counts = [250, 1000] if small else [1000 * 4**k for k in range(5)]
        if long and not small:
            # The last is what the second order asks for, and a little more.
            counts += [1_024_000, 3_400_000]
        compare("Exudyn generalized-alpha", "steps", module, counts, 1, 0)
    return rows, curves


def _between(a: float, b: float) -> float:
    """Return the geometric mean of two settings; integers give an integer."""
    middle = float(np.sqrt(a * b))
    return round(middle) if a >= 1 and b >= 1 else middle


def _row(ours: Curve, theirs: Curve, small: bool) -> Row:
    """Return the table row that compares the best runs of two curves."""
    t, enough = goal(small)
    row = Row(f"ball_chain10 to {enough:g} m at {t:g} s", theirs.side, target=TARGETS[theirs.side], judged=not small)
    reached = theirs.best
    if reached is None:
        reached, row.bound = theirs.points[-1], ">"
        row.note = f"{theirs.side} is at {reached.error:.1e} m after {reached.seconds:.3g} s"
    row.other = row.bound + in_units(reached.seconds)
    row.details = {"peer": asdict(reached), "peer_setting": theirs.setting}
    if ours.best:
        row.quirk, row.details["quirk"] = in_units(ours.best.seconds), asdict(ours.best)
        row.ratio = reached.seconds / ours.best.seconds
    return row


def _in_turn(row: Row, ours: Curve, our_run: Run, theirs: Curve, their_run: Run, rounds: int) -> None:
    """Replace the run times of a row by those of alternately repeated best runs, unless these take long."""
    if not (ours.best and theirs.best and theirs.best.seconds < LONG):
        return
    times = [(our_run(ours.best.setting)[1], their_run(theirs.best.setting)[1]) for _ in range(rounds)]
    row.details["in_turn_s"] = times
    row.ratio = median(b / a for a, b in times)
    row.quirk, row.other = (in_units(median(side)) for side in zip(*times, strict=True))
