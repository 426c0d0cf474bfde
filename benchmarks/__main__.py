"""``python -m benchmarks``: run the benchmarks, print the table, and write the record, the diagrams and the page."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

parser = argparse.ArgumentParser(prog="python -m benchmarks", description="QuIRK timed against its peers")
parser.add_argument("--small", action="store_true", help="smoke test: small cases, times are not judged")
parser.add_argument("--long", action="store_true", help="let Exudyn reach 1e-6, in ten minutes more")
parser.add_argument("--out", type=Path, default=Path("out/benchmarks"), help="folder of record, diagrams and page")
given = parser.parse_args()
# Libraries read these when they are imported: every side works on one thread.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import json  # noqa: E402

from . import accuracy, batches, beams, cases, cold, diagrams, drift, performance_page, scaling, stepping  # noqa: E402
from .instruction_sets import with_avx2  # noqa: E402
from .measure import FULL, SMALL, Others, environment  # noqa: E402
from .row import Row, printed  # noqa: E402


def main() -> None:
    """Run the benchmark suite."""
    small, effort = given.small, SMALL if given.small else FULL
    given.out.mkdir(parents=True, exist_ok=True)

    # Taken first: the load should be that of the machine, not of the benchmarks.
    record: dict[str, object] = {"environment": environment(), "small": small}
    others = Others()
    warm: list[Row] = []
    cold_rows: list[Row] = []
    lines: list[scaling.Line] = []
    curves: list[accuracy.Curve] = []
    long_curves: list[accuracy.Curve] = []

    def store() -> None:
        """Write the record of the parts measured so far, so that it survives a failure of a later part."""
        record["other_cores"] = others.cores()
        record["warm"] = [row.record() for row in warm]
        record["cold"] = [row.record() for row in cold_rows]
        record["work_precision"] = [curve.record() for curve in curves]
        record["drift"] = [curve.record() for curve in long_curves]
        record["scaling"] = [line.record() for line in lines]
        (given.out / "benchmarks.json").write_text(json.dumps(record, indent=1) + "\n")

    for part in (cases.evaluations, cases.ladder, cases.steps, cases.series, cases.rods, batches.rows):
        print(f"{part.__module__}.{part.__name__} ...", flush=True)
        warm += part(small, effort)
        store()
    print("accuracy ...", flush=True)
    rows, curves = accuracy.chain(small, given.long)
    warm += rows
    store()
    t, enough = accuracy.goal(small)
    diagrams.work_precision(curves, f"Ten links with ball joints, {t:g} s", enough, given.out / "work-precision.png")
    print("drift ...", flush=True)
    rows, long_curves = drift.long_runs(small)
    warm += rows
    store()
    t = drift.duration(small)
    diagrams.work_precision(
        long_curves, f"Double pendulum, {t:g} s", drift.ENOUGH, given.out / "drift.png", "drift of the energy", ""
    )
    print("scaling ...", flush=True)
    rows, lines = scaling.step_times(small, effort)
    warm += rows
    store()
    diagrams.scaling(lines, given.out / "scaling.png")
    print("stepping ...", flush=True)
    record["stepping"] = stepping.rows(200 if small else 4000)
    print("with AVX2 ...", flush=True)
    record["avx2"] = with_avx2(small)
    print("beams ...", flush=True)
    record["beams"] = beams.records(small)
    print("cold ...", flush=True)
    cold_rows += cold.rows(small)
    store()
    (given.out / "performance.md").write_text(performance_page.written(record, ""), encoding="utf-8")
    print(f"\nWarm: the same thing again and again, in one process\n{printed(warm)}", flush=True)
    print(f"\nCold: a fresh process imports, builds and computes its first result\n{printed(cold_rows)}")
    print(f"\nRecord, diagrams and page: {given.out}")


main()
