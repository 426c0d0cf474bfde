"""``python -m benchmarks.performance_page RECORD``: write docs/performance.md from a record of the benchmarks.

The pictures in the folder of the record are copied to docs/images. `python -m benchmarks` also writes the page, into
its own folder.
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from . import beams, drift, stepping
from .accuracy import goal
from .markdown import page, table
from .row import in_units

DOCS = Path(__file__).parents[1] / "docs"
COMPARED = ("case", "bodies", "QuIRK", "quickest", "other engine", "its time", "quickest", "ratio")
PICTURES = ("work-precision.png", "drift.png", "scaling.png")
NAMES = {"quirk-dynamics": "QuIRK", "pin": "Pinocchio", "mujoco": "MuJoCo", "exudyn": "Exudyn", "heyoka": "heyoka"}

INTRODUCTION = """Times of QuIRK and of other engines on the same mechanisms, each side on one thread. *ratio* is
the other engine's time over QuIRK's: above 1 QuIRK takes less, below 1 it takes more."""

HOW = """Mechanisms are built as `quirk.System`, and the other engines get theirs from there; before one is timed, its
accelerations must agree with QuIRK's to 1e-8 of the largest. A batch of repetitions lasts 50 ms or more, batches of
both sides alternate, and the ratio is the median of those of neighboring batches; times are medians, with the quickest
batch beside them. Pinocchio's and MuJoCo's repetitions are inside their libraries, so that no call from Python is in
their times. `benchmarks/README.md` has the settings of each engine."""

SMALL = """**This is a smoke test: small cases, few repetitions. Its times say nothing.**"""

STEPS = """An evaluation is that of all accelerations at one state. A step of RK4 is four of them, with QuIRK's also the
projection onto the constraints, which the others do not have. Chains, trees and hubs are of rods with ball joints or
hinges in space; the ladder is planar four-bars side by side in hinges in space, with three redundant rows for each; the
net is of rods joined by ball joints in squares, with loops everywhere. Panda, an arm of seven hinges, and Baxter, two
arms and a head with fifteen, have the masses and joints of their URDF models in Gepetto/example-robot-data."""

GOAL = """Ten rods joined by ball joints, a chaotic motion that is known to 15 digits, for {t:g} s: the quickest run of
each engine whose largest error of a position at the end is at most {enough:g} m. The ratio is that of the best runs of
both sides, repeated in turn. The picture has time and error of all settings."""

SERIES = """Hanging chains of rods, hinged in a plane, at rest at first, by Taylor series at rtol 1e-12. QuIRK takes
them as bodies and hinges in space; heyoka is given the second derivatives of the angles, derived by hand, and tells
neither loads nor positions. QuIRK's times are of whole runs through the public interface."""

DRIFT = """A double pendulum in space, chaotic, for {t:g} s: how far its energy drifts, over the largest kinetic energy,
and how long the run takes. The table has the quickest run of each method that drifts at most {enough:g}."""

GROWTH = """Time of one step of RK4, QuIRK's with projection. Where a row ends early, a step of that engine took more
than 50 ms, or it was not tried with so many bodies."""

LOOP = """Ten hinged rods with a motor in a loop at 1 kHz, `quirk.Run` by Vern9 at rtol 1e-6, each call timed by itself.
*Python* is all of a call of `advance` that is not spent in the compiled loop of steps; calling that loop counts as
compiled."""

BATCHES = """Time of one step of one member: `quirk.Batch` by RK4 with projection, members with masses of their own,
against `mujoco.rollout`, where all members have the same numbers and nothing is projected; both on one thread. One over
this time is the number of steps per second and core. The ladder is compared with a single run of QuIRK, and two threads
with one."""

AVX2 = """The processor of this page has AVX-512. These are measurements of QuIRK's kernels compiled for a processor
with AVX2 (x86-64-v3), as wheels with machine code carry them, in a process of their own; the other engines are the
same."""

COLD = """A fresh process imports the library, builds the chain, and computes its first result. *nothing compiled* is
the first use after an installation, when QuIRK compiles its kernels; later processes find them in files. What QuIRK
needs is imported where it is first used, and so counts in *build*."""


EARLIER = """The two pictures are of an earlier run, of commit {commit}: they do not show the numbers of the tables."""


def machine(record: dict[str, Any]) -> str:
    """Return a text with the machine, the versions, and the load by other processes."""
    found = record["environment"]
    versions = ", ".join(f"{NAMES.get(name, name)} {v}" for name, v in found["versions"].items() if v)
    missing = [NAMES.get(name, name) for name, v in found["versions"].items() if not v]
    architecture = f" ({found['architecture']})" if found.get("architecture") else ""
    changed = ", with changes" if found["changed"] else ""
    lines = [
        f"* Made by `python -m benchmarks` at commit {found['commit'][:12]}{changed}, {found['time'][:10]}.",
        f"* Processor: {found['processor']}{architecture}, {found['cores']} cores.",
        f"* Python {found['python']}, {versions}.",
    ]
    if missing:
        lines.append(f"* Not installed, and so left out: {', '.join(missing)}.")
    if (others := record.get("other_cores")) is not None:
        lines.append(
            f"* Other load: on average {others:.1f} of {found['cores']} cores worked for others. Times are the longer "
            "for it; ratios less so, since both sides alternate."
        )
    return "\n".join(lines)


def compared(rows: list[dict[str, Any]]) -> str:
    """Return the table of evaluations and steps, with notes on its rows."""
    cells = [
        [
            row["case"].split(", us per rod")[0],
            str(row["details"].get("bodies", "")),
            row["quirk"],
            _quickest(row, "quirk"),
            row["peer"],
            row["other"],
            _quickest(row, "peer"),
            ratio(row) if row["peer"] else "",
        ]
        for row in rows
    ]
    notes = [f"* {row['case']}: {row['note']}." for row in rows if row["note"]]
    return "\n\n".join([table(COMPARED, cells), "\n".join(notes)])


def _quickest(row: dict[str, Any], side: str) -> str:
    timing = row["details"].get(side)
    return in_units(timing["minimum_s"]) if timing else ""


def ratio(row: dict[str, Any]) -> str:
    """Return a ratio with three digits; an empty text if the row has none."""
    return "" if row["ratio"] is None else f"{row['bound']}{row['ratio']:.3g}"


def reached(curves: list[dict[str, Any]], rows: list[dict[str, Any]]) -> str:
    """Return the table of run times for a given accuracy."""
    ratios = {row["peer"]: ratio(row) for row in rows}
    cells = []
    for curve in curves:
        best = curve["best"]
        point = best or curve["points"][-1]
        cells.append(
            [
                curve["side"],
                f"{curve['setting']} {_setting(point['setting'])}",
                f"{point['error']:.1e}",
                in_units(point["seconds"]),
                "yes" if best else "no: its finest run",
                ratios.get(curve["side"], ""),
            ]
        )
    return table(["engine", "setting", "error, m", "time", "enough", "ratio"], cells)


def drifting(curves: list[dict[str, Any]]) -> str:
    """Return the table of energy drift in long runs."""
    cells = []
    for curve in curves:
        best = curve["best"]
        point = best or curve["points"][-1]
        enough = "yes" if best else "no: its finest run"
        cells.append(
            [curve["side"], f"rtol {point['setting']:.2g}", f"{point['error']:.1e}", in_units(point["seconds"]), enough]
        )
    return table(["engine", "setting", "drift", "time", "enough"], cells)


def _setting(value: float) -> str:
    """Return a number of steps, or a tolerance, as text."""
    return f"{value:.0f}" if value >= 1 else f"{value:.2g}"


def growth(lines: list[dict[str, Any]]) -> str:
    """Return the table of the time of a step by number of bodies; each cell has the measurement next to its column."""
    sizes = sorted({_round(n) for line in lines for n in line["bodies"]})
    cells = []
    for line in lines:
        times = {_round(n): in_units(s) for n, s in zip(line["bodies"], line["seconds"], strict=True)}
        cells.append([line["side"], line["mechanism"], *(times.get(size, "") for size in sizes)])
    return table(["engine", "mechanism", *(f"{size} bodies" for size in sizes)], cells)


def _round(n: int) -> int:
    """Return a number of bodies rounded to one digit, since ladders have one more body than a round number."""
    return int(float(f"{n:.0e}"))


def starts(rows: list[dict[str, Any]]) -> str:
    """Return the table of first results in new processes."""
    cells = []
    for row in rows:
        case = row["case"].removeprefix("cold, ")
        for side, parts in (("QuIRK", row["details"]["quirk"]), (row["peer"], row["details"].get("peer"))):
            if parts:
                whole = in_units(sum(parts.values()))
                cells.append([case, side, *(in_units(parts[key]) for key in ("import", "build", "first")), whole])
    return table(["case", "engine", "import", "build", "first result", "together"], cells)


def written(record: dict[str, Any], pictures: str, picture_commit: str | None = None) -> str:
    """Return the Markdown text of the page.

    Parameters
    ----------
    record : record written by `python -m benchmarks`
    pictures : folder of the pictures in links of the page
    picture_commit : commit with which the pictures were computed, if it differs from that of the record
    """
    warm = record["warm"]
    t, enough = goal(record["small"])
    to_accuracy = [row for row in warm if row["case"].startswith("ball_chain10")]
    by_series = [row for row in warm if "by Taylor series" in row["case"]]
    in_batches = [row for row in warm if row["case"].startswith("batch of")]
    elsewhere = (*to_accuracy, *by_series, *in_batches)
    timed = [row for row in warm if row not in elsewhere and not row["case"].startswith("step per body")]
    against = [row for row in by_series if row["peer"]]
    work, drifts, scaling = (f"{pictures}{name}" for name in PICTURES)
    return page(
        "Performance",
        f"<!-- Written by python -m benchmarks.performance_page; do not edit. -->\n\n{INTRODUCTION}",
        SMALL if record["small"] else "",
        f"## How it was measured\n\n{machine(record)}\n\n{HOW}",
        EARLIER.format(commit=picture_commit) if picture_commit else "",
        f"## Evaluations and steps\n\n{STEPS}\n\n{compared(timed)}",
        f"## Time to an accuracy\n\n{GOAL.format(t=t, enough=enough)}",
        reached(record["work_precision"], to_accuracy),
        f"![Time of a run against its error, for ten links with ball joints]({work})",
        f"## Taylor series\n\n{SERIES}",
        compared(against),
        f"## Long runs\n\n{DRIFT.format(t=drift.duration(record['small']), enough=drift.ENOUGH)}",
        drifting(record["drift"]),
        f"![Time of long runs against the drift of the energy]({drifts})",
        f"## Number of bodies\n\n{GROWTH}",
        growth(record["scaling"]),
        f"![Time of a step against the number of bodies]({scaling})",
        f"## In a loop\n\n{LOOP}\n\n{table(stepping.HEAD, record['stepping'])}" if "stepping" in record else "",
        f"## Batches\n\n{BATCHES}\n\n{compared(in_batches)}" if in_batches else "",
        f"## With the instructions of AVX2\n\n{AVX2}\n\n{compared(record['avx2'])}" if record.get("avx2") else "",
        f"## Elastic beams\n\n{beams.section(record['beams'])}" if "beams" in record else "",
        f"## First results\n\n{COLD}",
        starts(record["cold"]),
    )


def main() -> None:
    """Write the page, and copy the pictures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.performance_page", description="write the page")
    parser.add_argument("record", type=Path, help="benchmarks.json, with its pictures beside it")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the page")
    parser.add_argument("--pictures-of", metavar="COMMIT", help="keep the pictures, which are of that commit")
    given = parser.parse_args()
    record = json.loads(given.record.read_text(encoding="utf-8"))
    images = given.docs / "images"
    images.mkdir(parents=True, exist_ok=True)
    for name in () if given.pictures_of else PICTURES:
        shutil.copyfile(given.record.parent / name, images / name)
    (given.docs / "performance.md").write_text(written(record, "images/", given.pictures_of), encoding="utf-8")
    print(f"wrote {given.docs / 'performance.md'}")


if __name__ == "__main__":
    main()
