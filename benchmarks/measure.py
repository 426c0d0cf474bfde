"""Timing: batches of repetitions, medians, and two sides taken in turn; and what was measured on what."""

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
    """How long to measure.

    Attributes
    ----------
    batch : float
        s, the least time of a batch.
    batches : int
        Of each side.
    """

    batch: float = 0.05
    batches: int = 15


FULL = Effort()
SMALL = Effort(batch=0.002, batches=3)


@dataclass(frozen=True)
class Timing:
    """Seconds per repetition, of all batches."""

    batches: list[float]

    @property
    def median(self) -> float:
        """The middle batch, s."""
        return float(np.median(self.batches))

    def over(self, parts: int) -> Timing:
        """Return the seconds of each of the equal parts of a repetition."""
        return Timing([seconds / parts for seconds in self.batches])

    def record(self) -> dict[str, float | int]:
        """Return what is stored of it."""
        return {"median_s": self.median, "minimum_s": min(self.batches), "batches": len(self.batches)}


def elapsed(task: Task, count: int) -> float:
    """Return the seconds that one batch takes."""
    start = time.perf_counter()
    task(count)
    return time.perf_counter() - start


def repetitions(task: Task, batch: float) -> int:
    """Return how many repetitions fill a batch; this also warms the task up."""
    task(1)
    count = 1
    while (seconds := elapsed(task, count)) < batch:
        # A single repetition may be over before the clock ticks: grow tenfold at most.
        count = min(10 * count, int(np.ceil(1.2 * count * batch / max(seconds, 1e-9))))
    return count


def timed(task: Task, effort: Effort = FULL) -> Timing:
    """Measure one task."""
    count = repetitions(task, effort.batch)
    return Timing([elapsed(task, count) / count for _ in range(effort.batches)])


def in_turn(first: Task, second: Task, effort: Effort = FULL) -> tuple[Timing, Timing, float]:
    """Measure two tasks by batches A B A B; return both and the ratio second / first.

    The ratio is the median of the ratios of neighboring batches, so that a machine that slows down for a while
    slows both.
    """
    counts = [repetitions(task, effort.batch) for task in (first, second)]
    a, b = [], []
    for _ in range(effort.batches):
        a.append(elapsed(first, counts[0]) / counts[0])
        b.append(elapsed(second, counts[1]) / counts[1])
    return Timing(a), Timing(b), float(np.median(np.array(b) / np.array(a)))


class Others:
    """How many cores of the machine work for others, from now on."""

    def __init__(self) -> None:
        self._began, self._before = time.perf_counter(), _busy()

    def cores(self) -> float | None:
        """Return their mean number; None where the machine does not tell."""
        if self._before is None or (now := _busy()) is None:
            return None
        return max(0.0, (now - self._before) / (time.perf_counter() - self._began))


def _busy() -> float | None:
    """Return the seconds for which cores have worked for others than this process and those that it has waited for."""
    try:
        counts = [int(n) for n in Path("/proc/stat").read_text().split("\n")[0].split()[1:]]
    except OSError:
        return None
    user, nice, system, _, _, irq, softirq, *stolen = counts
    own = os.times()
    ticks = user + nice + system + irq + softirq + sum(stolen[:1])
    return ticks / os.sysconf("SC_CLK_TCK") - sum(own[:4])


def environment() -> dict[str, object]:
    """Return commit, machine and versions."""
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
