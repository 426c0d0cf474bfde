"""Number of cores for parallel work."""

from __future__ import annotations

import contextlib
import os


def available_cores() -> int:
    """Return the number of cores available to this process."""
    with contextlib.suppress(AttributeError):  # not on all systems
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
