"""Elastic beams: run time for a given accuracy, with the numbers of elements and steps that suit each simulator.

``python -m benchmarks.beams`` runs only these benchmarks, and prints their section of docs/performance.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import product
from statistics import median
from types import ModuleType
from typing import Any

import numpy as np

import quirk

from .markdown import table
from .peers.installed import peer
from .published.beams import TIPS, arc, clamp_of, tip
from .row import in_units

# Distance of the end of the beam from where it should be that is enough, relative to the size of the displacement.
ENOUGH = 1e-3
ROUNDS = 7
DURATION = 0.5
# Displacement, m, of the end of the swinging beam: QuIRK with 32, 64 and 128 elements, extrapolated; Exudyn's plane
# geometrically exact elements of second order, 16 of them with 4000 steps, agree to 2e-7 m.
SWUNG = (-0.9268085, -0.2565815, 0.0)

HEAD = ("problem", "engine", "elements", "setting", "error", "time", "ratio")

TEXT = """The end of an elastic beam within {enough:g} of its displacement: the quickest of several numbers of
elements, steps and tolerances. *Arc*: the curved beam of Bathe and Bolourchi at rest under 600 N across its plane, by
`system.equilibrium` and by Exudyn's static solver. *Cantilever*: a straight one in a plane, bent by more than a right
angle. *Pendulum*: a soft beam that swings for {duration:g} s from rest, hinged at its end, from the horizontal.
QuIRK's beams are spatial, with six freedoms at each node, and so are Exudyn's geometrically exact ones, which have
the same statics, element by element; its plane elements have three or four freedoms at a node and cubic or quadratic
shapes. All engines have the same section, and are compared by where the end is. Times are medians of {rounds} runs in
turn, without building the model."""

# A run of one side: elements and a setting in, the displacement (3,) of the end and the seconds out.
Run = Callable[[int, Any], tuple[np.ndarray, float]]


@dataclass
class Best:
    """The fastest sufficiently accurate run of a simulator or, if there is none, its most accurate run.

    Attributes
    ----------
    problem, side : names of the problem and of the simulator
    elements : number of elements
    setting : method, with its tolerance or number of steps
    error : error of the displacement, relative to its magnitude
    seconds : median run time of alternating runs
    ratio : run time of the other simulator divided by that of QuIRK; None for QuIRK
    enough : whether the run is sufficiently accurate
    """

    problem: str
    side: str
    elements: int
    setting: str
    error: float
    seconds: float
    ratio: float | None = None
    enough: bool = True

    def cells(self) -> list[str]:
        """Return the cells of the table row."""
        ratio = "" if self.ratio is None else f"{self.ratio:.3g}"
        took = in_units(self.seconds) if self.enough else f"{in_units(self.seconds)}, not enough"
        return [self.problem, self.side, str(self.elements), self.setting, f"{self.error:.1e}", took, ratio]


def plane_cantilever(elements: int) -> quirk.System:
    """Return the cantilever of `published.beams`, loaded in the x-y plane."""
    area, second, young = 0.01, 1e-4 / 12, 2.07e11
    section = quirk.Section(EA=young * area, GA=1e4 * young * area, GJ=young * second, EI=young * second, mass=78.0)
    beam = quirk.Beam("beam", [0, 0, 0], [2, 0, 0], section=section, elements=elements)
    load = quirk.Force("load", beam.bodies[-1], [0, -3 * young * second / 4, 0], point=beam.end_point)
    return quirk.System([beam, clamp_of(beam), load])


def pendulum(elements: int) -> quirk.System:
    """Return a soft beam of 0.5 m, hinged at its start about z, under gravity."""
    section = quirk.Section(EA=2000.0, GA=650.0, GJ=6e-4, EI=8e-4, mass=0.02, inertia=8e-9)
    beam = quirk.Beam("beam", [0, 0, 0], [0.5, 0, 0], section=section, elements=elements)
    hinge = quirk.Revolute("hinge", quirk.GROUND, beam.bodies[0], point=[0, 0, 0], axis=[0, 0, 1])
    return quirk.System([beam, hinge], gravity=[0, -9.81, 0])


def rest(build: Callable[[int], quirk.System]) -> Run:
    """Return a function that computes an equilibrium by QuIRK and measures the time."""

    def run(elements: int, setting: Any) -> tuple[np.ndarray, float]:
        system = build(elements)
        began = time.perf_counter()
        state = system.equilibrium()
        return tip(system, state), time.perf_counter() - began

    return run


def swing(elements: int, setting: tuple[str, float]) -> tuple[np.ndarray, float]:
    """Simulate the pendulum by QuIRK with a method and a tolerance; return the tip displacement and the run time, s."""
    system, (method, rtol) = pendulum(elements), setting
    began = time.perf_counter()
    result = quirk.simulate(system, DURATION, method=method, rtol=rtol, atol=1e-3 * rtol, output=DURATION)
    return tip(system, result.state_at()), time.perf_counter() - began


def exudyn(module: ModuleType, build: Callable[[int], quirk.System], kind: str, moves: bool) -> Run:
    """Return a function that simulates a system with one beam by Exudyn, with elements of the given kind."""

    def run(elements: int, steps: int) -> tuple[np.ndarray, float]:
        system = build(elements)
        force = next((part.force.constant for part in system.forces if isinstance(part, quirk.Force)), [0, 0, 0])
        model = module.BeamModel(system["beam"], kind, 2 if moves else None, system.gravity, force)
        try:
            seconds = model.move(DURATION, steps) if moves else model.rest(steps)
        except module.exudyn.SolverError:  # its Newton iteration does not converge
            return np.full(3, np.inf), np.inf
        return model.displacement(), seconds

    return run


def quickest(
    problem: str, side: str, run: Run, pairs: Iterable[tuple[int, Any]], exact: np.ndarray
) -> tuple[Best, Any]:
    """Return the fastest sufficiently accurate run of a simulator with its setting, or else the most accurate run."""
    found: list[tuple[Best, Any]] = []
    for elements, setting in pairs:
        displacement, seconds = run(elements, setting)
        error = float(np.linalg.norm(displacement - exact) / np.linalg.norm(exact))
        shown = f"{setting[0]}, rtol {setting[1]:g}" if isinstance(setting, tuple) else f"{setting} steps"
        shown = "" if setting == 1 else shown  # one load step, as QuIRK's Newton method takes
        found.append((Best(problem, side, elements, shown, error, seconds, enough=error <= ENOUGH), setting))
    good = [pair for pair in found if pair[0].enough]
    return min(good, key=lambda p: p[0].seconds) if good else min(found, key=lambda p: p[0].error)


def compared(small: bool) -> list[Best]:
    """Return the best runs of all simulators for all problems."""
    module = peer("Exudyn beams")
    sizes = (6, 8) if small else (4, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32)
    steps = (250,) if small else (125, 250, 500, 1000)
    cantilever = np.array(TIPS["cantilever"])[[0, 2, 1]]
    methods = [("RadauIIA9", 10.0**-k) for k in (2, 3, 4)] + [("Tsit5", 1e-3), ("auto", 1e-3)]
    problems: list[tuple[str, Callable[[int], quirk.System], np.ndarray, Run, Any, bool]] = [
        ("arc", arc, np.array(TIPS["arc"]), rest(arc), [1], False),
        ("cantilever", plane_cantilever, cantilever, rest(plane_cantilever), [1], False),
        ("pendulum", pendulum, np.array(SWUNG), swing, methods[1:2] if small else methods, True),
    ]
    result = []
    for problem, build, exact, run, settings, moves in problems:
        run(4, settings[0])  # compiles
        ours, setting = quickest(problem, "QuIRK", run, product(sizes, settings), exact)
        result.append(ours)
        kinds = () if module is None else (module.SPATIAL, module.QUADRATIC, module.CABLE)
        for kind in kinds[:1] if problem == "arc" else kinds:
            theirs = exudyn(module, build, kind, moves)
            tried = product((2, *sizes) if kind != kinds[0] else sizes, steps if moves else (1, 4))
            best, of_best = quickest(problem, f"Exudyn, {kind}", theirs, tried, exact)
            times = [
                (run(ours.elements, setting)[1], theirs(best.elements, of_best)[1])
                for _ in range(2 if small else ROUNDS)
            ]
            ours.seconds, best.seconds = (median(side) for side in zip(*times, strict=True))
            best.ratio = median(b / a for a, b in times)
            result.append(best)
    return result


def records(small: bool) -> list[dict[str, object]]:
    """Return the best runs as plain data for the record."""
    return [asdict(best) for best in compared(small)]


def section(rows: list[dict[str, Any]]) -> str:
    """Return the section of the page, with its table."""
    text = TEXT.format(enough=ENOUGH, duration=DURATION, rounds=ROUNDS)
    return f"{text}\n\n{table(HEAD, [Best(**row).cells() for row in rows])}"


if __name__ == "__main__":
    print(section(records(small=False)))
