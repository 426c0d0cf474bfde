"""Cold starts: a new process imports a library, builds a chain and computes the first result.

``python -m benchmarks.cold SIDE evaluation|step BODIES`` is the command of that process; it prints its times as JSON.
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
    """Return rows for the first use of QuIRK, without cached machine code, and for later processes compared with peers.

    The first use is not measured if `small`, because it mostly consists of compilation, which the tests cover.
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


def _later(case: str, benchmark: str, n: int, repeats: int, peer_name: str, variables: dict[str, str]) -> Row:
    """Return the row that compares processes using QuIRK's cached machine code with processes of a peer."""
    from .peers.installed import peer

    times = _measured("QuIRK", benchmark, n, repeats, variables)
    row = Row(f"{case}, compiled before", quirk=in_units(sum(times.values())), judged=False)
    row.details = {"quirk": times}
    if peer(peer_name):
        theirs = _measured(peer_name, benchmark, n, repeats, {})
        row.peer, row.other = peer_name, in_units(sum(theirs.values()))
        row.ratio, row.details["peer"] = sum(theirs.values()) / sum(times.values()), theirs
    return row


def _measured(side: str, benchmark: str, n: int, repeats: int, variables: dict[str, str]) -> dict[str, float]:
    """Return the median over several processes of the time of each part, s."""
    runs = []
    for _ in range(repeats):
        process = subprocess.run(
            [sys.executable, "-m", "benchmarks.cold", side, benchmark, str(n)],
            cwd=ROOT,
            env={**os.environ, **variables},
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=600,
        )
        runs.append(json.loads(process.stdout.splitlines()[-1]))
    return {key: median(run[key] for run in runs) for key in runs[0]}


def parts(side: str, benchmark: str, n: int) -> dict[str, float]:
    """Return the times, s, for the import, the construction of the chain, and the first result.

    The chain of a peer is translated from QuIRK's; the times to import QuIRK and to build its chain are not included.
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
    make = module.calls if side == "Pinocchio" else getattr(module, f"{benchmark}s")
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
