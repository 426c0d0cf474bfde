"""Cold starts: a fresh process imports a library, builds a chain and computes its first result.

``python -m benchmarks.cold SIDE evaluation|step BODIES`` is that process; it prints its times as JSON.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from .row import Row, in_units

ROOT = Path(__file__).parents[1]
LIBRARIES = {"QuIRK": "quirk", "Pinocchio": "pinocchio", "MuJoCo": "mujoco"}
PEERS = {"evaluation": "Pinocchio", "step": "MuJoCo"}


def rows(small: bool) -> list[Row]:
    """Return rows of QuIRK's first use ever, with nothing compiled, and of later processes against the peers.

    A smoke test leaves the first use out: to compile is most of its time, and what the tests do already.
    """
    result = []
    for what, other in list(PEERS.items())[-1 if small else 0 :]:
        for n in (10,) if small else (10, 100):
            case = f"cold, first {what}, ball chain {n}"
            if small:
                result.append(_later(case, what, n, 1, other, {}))
                continue
            with tempfile.TemporaryDirectory() as cache:
                # numba keeps its machine code here; what it compiles is all that QuIRK compiles.
                variables = {"NUMBA_CACHE_DIR": cache}
                first = _measured("QuIRK", what, n, 1, variables)
                row = Row(f"{case}, nothing compiled", quirk=in_units(sum(first.values())), judged=False)
                row.details = {"quirk": first}
                result += [row, _later(case, what, n, 3, other, variables)]
    return result


def _later(case: str, what: str, n: int, repeats: int, other: str, variables: dict[str, str]) -> Row:
    """Return the row of processes that find QuIRK's machine code, against the peer's."""
    from .peers.installed import peer

    times = _measured("QuIRK", what, n, repeats, variables)
    row = Row(f"{case}, compiled before", quirk=in_units(sum(times.values())), judged=False)
    row.details = {"quirk": times}
    if peer(other):
        theirs = _measured(other, what, n, repeats, {})
        row.peer, row.other = other, in_units(sum(theirs.values()))
        row.ratio, row.details["peer"] = sum(theirs.values()) / sum(times.values()), theirs
    return row


def _measured(side: str, what: str, n: int, repeats: int, variables: dict[str, str]) -> dict[str, float]:
    """Return the median of each part over fresh processes."""
    runs = []
    for _ in range(repeats):
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.cold", side, what, str(n)],
            cwd=ROOT,
            env={**os.environ, **variables},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=600,
        )
        runs.append(json.loads(process.stdout.splitlines()[-1]))
    return {key: median(run[key] for run in runs) for key in runs[0]}


def parts(side: str, what: str, n: int) -> dict[str, float]:
    """Return the times of import, of building the chain, and of the first result.

    A peer's chain is built from QuIRK's, whose own time is left out, as that of importing QuIRK.
    """
    clock = time.perf_counter
    times = {}
    began = clock()
    importlib.import_module(LIBRARIES[side])
    times["import"] = clock() - began

    from . import models, quirk_side
    from .peers.installed import peer

    began = clock()
    system = models.ball_chain(n)
    times["build"] = clock() - began
    module = quirk_side if side == "QuIRK" else peer(side)
    # Batches would make Pinocchio allocate its data twice, which takes most of the time of long chains.
    make = module.calls if side == "Pinocchio" else getattr(module, f"{what}s")
    began = clock()
    task = make(system)
    if side == "QuIRK":
        times["build"] += clock() - began
    else:
        times["build"] = clock() - began
    began = clock()
    task(1)
    times["first"] = clock() - began
    return times


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("side", choices=LIBRARIES)
    parser.add_argument("what", choices=PEERS)
    parser.add_argument("bodies", type=int)
    given = parser.parse_args()
    print(json.dumps(parts(given.side, given.what, given.bodies)))
