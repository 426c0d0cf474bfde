"""``python -m benchmarks.stepping``: time of calls of `quirk.Run` in a loop at 1 kHz, and the share of Python in it."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import quirk
from quirk.dynamics.sparse.stepping.compiled_run import CompiledRun

from .markdown import table
from .models import revolute_chain

INTERVAL = 1e-3  # s
HEAD = ["call", "median", "quickest tenth", "of it Python"]


def chain() -> quirk.System:
    """Return ten hinged rods with a torque at the first hinge."""
    system = revolute_chain(10)
    return system.with_parts(quirk.JointTorque("motor", system.constraints[0], 0.0))


def started() -> quirk.Run:
    """Return a run of the chain some time after its start, with all kernels compiled."""
    run = quirk.Run(chain(), inputs=["motor"], method="Vern9", rtol=1e-6)
    for k in range(200):
        run.inputs["motor"] = float(k % 2)
        run.advance(INTERVAL)
    return run


@contextmanager
def machine_code() -> Iterator[list[float]]:
    """Yield a list that receives the duration, s, of each call of compiled steps."""
    durations: list[float] = []
    loop = CompiledRun._step_loop

    def step_loop(run: CompiledRun) -> Callable[..., Any]:
        entry = loop.__get__(run)

        def timed(*arguments: Any) -> Any:
            begun = time.perf_counter()
            outcome = entry(*arguments)
            durations.append(time.perf_counter() - begun)
            return outcome

        return timed

    CompiledRun._step_loop = property(step_loop)  # type: ignore[assignment, method-assign]
    try:
        yield durations
    finally:
        CompiledRun._step_loop = loop  # type: ignore[method-assign]


def advances(run: quirk.Run, count: int, changed: bool) -> np.ndarray:
    """Return the time, s, of each of `count` calls of `advance` (:, 0), and of machine code in it (:, 1)."""
    found = np.empty((count, 2))
    with machine_code() as durations:
        for k in range(count):
            durations.clear()
            begun = time.perf_counter()
            if changed:
                run.inputs["motor"] = 0.1 * (k % 7)
            run.advance(INTERVAL)
            found[k] = time.perf_counter() - begun, sum(durations)
    return found


def called(function: Callable[[], object], count: int) -> np.ndarray:
    """Return the time, s, of each of `count` calls (:, 0); the time of machine code in it (:, 1) is zero."""
    found = np.zeros((count, 2))
    for k in range(count):
        begun = time.perf_counter()
        function()
        found[k, 0] = time.perf_counter() - begun
    return found


def measured(count: int) -> list[tuple[str, np.ndarray]]:
    """Return the names of the measured calls, with the times of all repetitions."""
    run = started()
    observe = run.observe(names(run.system))
    observe()
    free = advances(run, count, changed=False)
    # Calls that take no step read from the step just taken.
    steps = free[:, 1] > 5 * np.median(free[:, 1])
    saved = run.save()
    return [
        ("`advance` within a step", free[~steps]),
        ("`advance` that takes a step", free[steps]),
        ("`advance` after a changed input", advances(run, count, changed=True)),
        ("`observe()` of four quantities", called(observe, count)),
        ("`save`", called(run.save, count // 10)),
        ("`restore`", called(lambda: run.restore(saved), count // 10)),
    ]


def names(system: quirk.System) -> list[str]:
    """Return the names of angle and rate of the first and of the last hinge."""
    hinges = [part.name for part in system.constraints]
    return [f"{hinges[k]}.{quantity}" for k in (0, -1) for quantity in ("angle", "angle_rate")]


def rows(count: int) -> list[list[str]]:
    """Return the rows of the table: medians, and the fastest tenth, which load on the machine affects least."""
    found = []
    for what, times in measured(count):
        total, inside = times[:, 0], times[:, 1]
        python = microseconds(np.quantile(total - inside, 0.1)) if inside.any() else ""
        found.append([what, microseconds(np.median(total)), microseconds(np.quantile(total, 0.1)), python])
    return found


def microseconds(seconds: float) -> str:
    """Return a time as text in microseconds."""
    return f"{1e6 * seconds:.3g} us"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stepping", description="time of calls of quirk.Run")
    parser.add_argument("--count", type=int, default=4000, help="number of calls")
    print(table(HEAD, rows(parser.parse_args().count)))


if __name__ == "__main__":
    main()
