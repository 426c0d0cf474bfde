"""``python -m benchmarks.accuracy_page``: run all systems with a known or published motion, and write the page.

The command requires a checkout, because the tables of the reference motions are data of the tests.
"""

from __future__ import annotations

import argparse
import platform
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import quirk

from . import references
from .markdown import page, table
from .published import (
    andrews,
    beam_motion,
    beams,
    bicycle,
    bouncing_ball,
    bricard,
    car_axis,
    drives,
    four_bar_spring,
    four_bar_windows,
    governor,
    pendulum,
    rolling_ball,
    ropes,
    slider_crank,
    sliding,
    stick,
    woodpecker,
)
from .published.section import Section, run_settings

PAGE = Path(__file__).parents[1] / "docs" / "accuracy.md"
PROBLEMS = (
    pendulum, four_bar_windows, andrews, bricard, governor, four_bar_spring, bicycle, car_axis, bouncing_ball,
    rolling_ball, sliding, woodpecker, slider_crank, stick, beams,
    beam_motion, ropes, drives,
)  # fmt: skip

# One line on each table of tests/data.
SYSTEMS = {
    "torque_free": "free body, spun about its intermediate axis, 30 s",
    "heavy_top": "fast symmetric top on a ball joint, 2 s",
    "pendulum": "body on a hinge, released at 2 rad, 10 s",
    "spatial_double_pendulum": "two bodies on ball joints, 3 s",
    "ball_chain10": "ten bodies on ball joints, chaotic, 2 s",
    "cylindrical_incline": "body on an inclined axle, sliding and turning, 2 s",
    "screw_joint": "body on a vertical screw, 2 s",
    "prismatic_spring": "body on an inclined guide with a spring, 5 s",
    "slider_rotating_rod_free": "slider on a rod that turns freely, 2 s",
    "gear_pair": "two gears and a torque, 2 s",
    "gyrostat": "free hub with two rotors, 20 s",
    "rolling_disk_steady": "disk that rolls in a circle; unstable, 5 s",
    "slider_crank3d_driven": "spatial slider-crank with a speed drive, 2 s",
    "bricard": "overconstrained loop, 30 rows of rank 29, 10 s",
    "fourbar2": "two parallelograms through ten singular configurations, 10 s",
}
STATES = ("position", "orientation", "velocity", "omega")
ACCELERATIONS = ("acceleration", "alpha")
# How they share a load is not determined.
LOADS_NOT_UNIQUE = {"bricard"}


@dataclass(frozen=True)
class Row:
    """Largest deviations from one reference motion, relative to the scale of each quantity.

    Attributes
    ----------
    system : str
    states, accelerations, loads : float
        Deviations; `loads` is None if the system has no loads, or only loads that are not unique.
    residual : float
        Largest constraint residual, m or rad.
    drift : float
        Change of the energy relative to its scale; None if the system is driven.
    steps : int
    by_default : float
        Deviation of the states with the default method and tolerances.
    floor : float
        Change of the table's states if the inputs are rounded to double precision; None if it is unknown.
    """

    system: str
    states: float
    accelerations: float
    loads: float | None
    residual: float
    drift: float | None
    steps: int
    by_default: float
    floor: float | None

    def cells(self) -> list[str]:
        """Return the cells of the table row."""
        numbers = (self.states, self.accelerations, self.loads, self.residual, self.drift)
        return [
            f"`{self.system}`", SYSTEMS[self.system], *(short(x) for x in numbers), str(self.steps),
            short(self.by_default), short(self.floor),
        ]  # fmt: skip


HEAD = (
    "system", "what moves", "states", "accelerations", "loads", "residual", "energy", "steps", "states by default",
    "inputs rounded",
)  # fmt: skip


def short(x: float | None) -> str:
    """Return a number with two digits."""
    return "" if x is None else f"{x:.1e}"


def reference(name: str) -> Row:
    """Compute one reference motion, with the tolerances of the tests and with the default tolerances."""
    data = references.load(name)
    times = [entry["t"] for entry in data["reference"]]
    options, _ = run_settings("DOP853")
    result, plain = (
        quirk.simulate(references.build(data), data["duration"], output=times, **chosen) for chosen in (options, {})
    )
    miss, by_default = (references.deviations(data, run) for run in (result, plain))
    floor = data.get("double_input_floor")
    return Row(
        system=name,
        states=max(miss[what] for what in STATES),
        accelerations=max(miss[what] for what in ACCELERATIONS),
        loads=None if name in LOADS_NOT_UNIQUE else miss.get("loads"),
        residual=float(result.residual.position.max()),
        drift=float(result.energy.drift) if result.conservative else None,
        steps=result.statistics.steps,
        by_default=max(by_default[what] for what in STATES),
        floor=floor and max(floor[what] for what in ("position", "quaternion", "velocity_omega")),
    )


def problem(section: Section) -> str:
    """Return the section of the page on one published problem."""
    parts = [f"### {section.title}", section.what, f"Run: {section.how}."]
    if section.lines:
        shown = any(line.found for line in section.lines)
        head = ["compared", *(["published", "QuIRK"] if shown else ["published"]), "difference", "over"]
        rows = [
            [
                line.quantity,
                *([line.published, line.found] if shown else [line.published]),
                short(line.difference),
                line.scale,
            ]
            for line in section.lines
        ]
        parts.append(table(head, rows))
    if section.others:
        parts.append(table(["other solvers", "difference"], [[who, short(error)] for who, error in section.others]))
    if section.checks:
        parts.append(table(["check", "value"], [[what, short(value)] for what, value in section.checks.items()]))
    return "\n\n".join([*parts, *section.remarks, f"Source: {section.source}."])


def versions() -> str:
    """Return a text with the versions and the machine with which the page was computed."""
    libraries = ", ".join(f"{name} {metadata.version(name)}" for name in ("numpy", "scipy", "numba"))
    return f"QuIRK {quirk.__version__}, Python {platform.python_version()}, {libraries}, {platform.machine()}"


INTRODUCTION = """How near QuIRK comes to motions that are known, and to results that others have printed. All numbers
of this page come from running the systems."""

READING = """A difference is the largest one, over all components and times, divided by the scale of its quantity: the
largest magnitude of that quantity, or 1 in SI units for states of the first table that are smaller. A difference of
1e-13 so stands for 13 digits. Where the published digits are fewer or wrong, the difference is theirs."""

KNOWN = """The true motion of these is known to about 15 digits, by closed forms or by integration with 80 and 113
bits: states, accelerations, loads of all joints, and energies. The tables are in `tests/data`. Columns *states* to
*steps* are from runs by {how}; *states by default* from runs with no settings at all, which are Vern9 with rtol 1e-9
and atol 1e-12. *residual* is that of the constraints (m or rad); *energy* its change over the largest kinetic energy,
empty where a drive or a torque feeds energy in. *inputs rounded* is how far the true motion moves when masses, places
and velocities are rounded to double precision, where that is known: nothing that computes with doubles can be expected
to be nearer."""

NOTES = """* `bricard`: one self-stress; its loads are not unique, and are not compared.
* `fourbar2`: its reference goes on straight at the singular configurations, where the rank of the rows falls and a
  second motion begins; small errors are magnified there.
* `torque_free`, `ball_chain10`, `rolling_disk_steady`: unstable or chaotic; errors grow by factors of up to 1e5 over
  the run."""

PUBLISHED = """Others have printed results of these. *balance of energy* is the change of kinetic energy less the work
of all loads. What other solvers did, with their times, is as their sources say, on their machines; where a table calls
their errors *difference*, it is by the same measure as QuIRK's."""


def written(rows: list[Row], sections: list[Section]) -> str:
    """Return the Markdown text of the page."""
    _, how = run_settings("DOP853")
    return page(
        "Accuracy",
        f"<!-- Written by python -m benchmarks.accuracy_page; do not edit. -->\n\n{INTRODUCTION}",
        f"Made by `python -m benchmarks.accuracy_page`, with {versions()}.",
        f"## How to read the numbers\n\n{READING}",
        f"## Motions that are known\n\n{KNOWN.format(how=how)}",
        table(HEAD, [row.cells() for row in rows]),
        NOTES,
        f"## Published problems\n\n{PUBLISHED}",
        *(problem(section) for section in sections),
    )


def main() -> None:
    """Write the accuracy page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.accuracy_page", description="write docs/accuracy.md")
    parser.add_argument("--out", type=Path, default=PAGE, help="the page")
    given = parser.parse_args()
    rows = []
    for name in SYSTEMS:
        print(name, flush=True)
        rows.append(reference(name))
    sections: list[Section] = []
    for module in PROBLEMS:
        print(module.__name__.rsplit(".", 1)[-1], flush=True)
        sections += module.sections()
    given.out.write_text(written(rows, sections), encoding="utf-8")
    print(f"wrote {given.out}")


if __name__ == "__main__":
    main()
