"""Time measurement: batches of repetitions, medians, alternation of two tasks, and data of the machine."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import numpy as np

# Does what is measured `count` times; the loop is on the side of what is measured, as tight as it can be there.
Task = Callable[[int], None]

LIBRARIES = ("quirk-dynamics", "numpy", "scipy", "numba", "pin", "mujoco", "exudyn", "heyoka")


@dataclass(frozen=True)
class Effort:
    """Duration of measurements.

    Attributes
    ----------
    batch : float
        Minimum duration of a batch of repetitions, s.
    batches : int
        Number of batches for each task.
    """

    batch: float = 0.05
    batches: int = 15


FULL = Effort()
SMALL = Effort(batch=0.002, batches=3)


@dataclass(frozen=True)
class Timing:
    """Time per repetition, s, in each batch."""

    batches: list[float]

    @property
    def median(self) -> float:
        """Median over the batches, s."""
        return float(np.median(self.batches))

    def over(self, parts: int) -> Timing:
        """Return the timing of one of `parts` equal parts of a repetition."""
        return Timing([seconds / parts for seconds in self.batches])

    def record(self) -> dict[str, float | int]:
        """Return the timing as plain data for the record."""
        return {"median_s": self.median, "minimum_s": min(self.batches), "batches": len(self.batches)}


def elapsed(task: Task, count: int) -> float:
    """Return the time of one batch of `count` repetitions, s."""
    start = time.perf_counter()
    task(count)
    return time.perf_counter() - start


def repetitions(task: Task, batch: float) -> int:
    """Return the number of repetitions in a batch of given duration, s; the task is also warmed up."""
    task(1)
    count = 1
    while (seconds := elapsed(task, count)) < batch:
        # A single repetition may be over before the clock ticks: grow tenfold at most.
        count = min(10 * count, int(np.ceil(1.2 * count * batch / max(seconds, 1e-9))))
    return count


def timed(task: Task, effort: Effort = FULL) -> Timing:
    """Measure the time of a task."""
    count = repetitions(task, effort.batch)
    return Timing([elapsed(task, count) / count for _ in range(effort.batches)])


def in_turn(first: Task, second: Task, effort: Effort = FULL) -> tuple[Timing, Timing, float]:
    """Measure two tasks in alternating batches; return both timings and the ratio second / first.

    The ratio is the median over pairs of neighboring batches, so that temporary load on the machine affects both tasks.
    """
    counts = [repetitions(task, effort.batch) for task in (first, second)]
    a, b = [], []
    for _ in range(effort.batches):
        a.append(elapsed(first, counts[0]) / counts[0])
        b.append(elapsed(second, counts[1]) / counts[1])
    return Timing(a), Timing(b), float(np.median(np.array(b) / np.array(a)))


class Others:
    """Measurement, from its creation on, of the load on the machine by other processes."""

    def __init__(self) -> None:
        self._began, self._before = time.perf_counter(), _busy()

    def cores(self) -> float | None:
        """Return the mean number of cores used by other processes; None if it is unknown."""
        if self._before is None or (now := _busy()) is None:
            return None
        return max(0.0, (now - self._before) / (time.perf_counter() - self._began))


def _busy() -> float | None:
    """Return the processor time, s, of all processes except this one and its ended child processes."""
    try:
        counts = [int(n) for n in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    except OSError:
        return None
    user, nice, system, _, _, irq, softirq, *stolen = counts
    own = os.times()
    ticks = user + nice + system + irq + softirq + sum(stolen[:1])
    return ticks / os.sysconf("SC_CLK_TCK") - sum(own[:4])


def environment() -> dict[str, object]:
    """Return the commit, the machine and the versions of the libraries."""
    versions = {}
    for name in LIBRARIES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "commit": _git("rev-parse", "HEAD"),
        "changed": bool(_git("status", "--porcelain")),
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "architecture": platform.machine(),
        "python": platform.python_version(),
        "versions": versions,
    }


def _git(*arguments: str) -> str | None:
    try:
        run = subprocess.run(
            ["git", *arguments], capture_output=True, text=True, check=True, cwd=Path(__file__).parent, timeout=20
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
