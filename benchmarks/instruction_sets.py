"""``python -m benchmarks.instruction_sets``: evaluations, steps and batches with the instructions of AVX2.

On a processor with AVX-512, `python -m benchmarks` measures them once more in a process of its own, whose kernels are
compiled for a processor without, as those in wheels with machine code; the other engines' libraries stay as they are.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import llvmlite.binding

from quirk.jit.carried import TARGETS

TARGET = TARGETS["x86_64"]
AVX2 = {"NUMBA_CPU_NAME": TARGET.name, "NUMBA_CPU_FEATURES": TARGET.features}


def with_avx2(small: bool) -> list[dict[str, Any]]:
    """Return the records of the rows with AVX2; an empty list on a processor without AVX-512."""
    if not llvmlite.binding.get_host_cpu_features().get("avx512f", False):
        return []
    process = subprocess.run(
        [sys.executable, "-m", "benchmarks.instruction_sets", *(["--small"] if small else [])],
        cwd=Path(__file__).parents[1],
        env={**os.environ, **AVX2},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return json.loads(process.stdout.splitlines()[-1])


def main() -> None:
    """Measure, and print the records of all rows as one line of JSON."""
    from . import batches, cases
    from .measure import FULL, SMALL

    small = "--small" in sys.argv
    effort = SMALL if small else FULL
    found = [row for part in (cases.evaluations, cases.steps, batches.rows) for row in part(small, effort)]
    print(json.dumps([row.record() for row in found]))


if __name__ == "__main__":
    main()
