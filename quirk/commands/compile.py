"""`quirk compile`: all kernels ahead of time."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from quirk.errors import QuirkError

# What needs the kernels: each in a process of its own. What several of them need, one compiles and the others await.
WORK = ("runs", "kinematics", "events", "stiff runs with events", "rows")
START = "import sys; from quirk.commands.compile import need; need(sys.argv[1])"


def command(options: argparse.Namespace) -> str:
    """Do it."""
    from quirk import validate
    from quirk.compiled import plain_python

    if plain_python():
        raise QuirkError("NUMBA_DISABLE_JIT is set, so that kernels run as plain Python: there is nothing to compile")
    count = os.cpu_count() or 1
    if options.workers is not None:
        count = validate.whole("compile", "--workers", options.workers)
    began, waiting = time.perf_counter(), list(WORK)
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        while waiting or running:
            while waiting and len(running) < count:
                work = waiting.pop(0)
                running[work] = subprocess.Popen([sys.executable, "-c", START, work])
            for work, process in list(running.items()):
                if process.poll() is not None:
                    del running[work]
                    if process.returncode:
                        raise QuirkError(f"compiling what {work} need has failed; see above")
            time.sleep(0.05)
    finally:
        for process in running.values():
            process.kill()
    print(f"all kernels are compiled, after {time.perf_counter() - began:.1f} s")
    return "completed"


def need(work: str) -> None:
    """Compute a little that needs the kernels of some kind."""
    import quirk

    rod = quirk.Body.box("rod", mass=1.0, size=[1.0, 0.05, 0.05], position=[0.5, 0, 0])
    hinge = quirk.Revolute("hinge", quirk.GROUND, rod, point=[0, 0, 0], axis=[0, 1, 0])
    system = quirk.System([rod, hinge], gravity=[0, 0, -9.81])
    if work == "runs":
        quirk.simulate(system, 0.01, output=0.01)
    elif work in ("events", "stiff runs with events"):
        method = "Vern9" if work == "events" else "Radau"
        level = quirk.Event("level", "hinge.rotation", action="record")
        quirk.simulate(system, 0.01, output=0.01, method=method, events=[level])
    elif work == "kinematics":
        drive = quirk.Drive("drive", hinge, quirk.Motion.constant_rate(1.0))
        motion = quirk.kinematics(system.with_parts(drive), [0.0, 0.01])
        motion["rod"].jerk  # noqa: B018
    else:
        system.acceleration(system.initial_state(), solver="dense")
