"""Worker processes that are copies of this one, which have all that it has imported and compiled.

A new Python takes seconds until it can compute; a copy of this process takes none. Where copying it is not safe, as
other threads may be in the middle of something, there is no copy, and new ones are started.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

# Libraries whose threads do not go on in a copy, and which then wait for these for ever: OpenMP's, and what uses GPUs.
THREADED = ("libgomp", "libiomp", "libomp", "libcuda", "libtorch", "jaxlib", "tensorflow")


def safe() -> bool:
    """Whether a copy of this process can compute: on Linux, with one thread of Python and no library that minds."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    try:
        loaded = Path("/proc/self/maps").read_text()
    except OSError:
        return False
    return not any(name in loaded for name in THREADED)


class Forked:
    """A copy of this process that serves over pipes, with what `subprocess.Popen` has of a process.

    Parameters
    ----------
    serve : called in the copy, with the pipes from which it reads and to which it writes
    others : file descriptors of this process that the copy closes, so that each pipe has one owner at either end
    """

    def __init__(self, serve: Callable[[BinaryIO, BinaryIO], None], others: list[int]) -> None:
        requests, replies = os.pipe(), os.pipe()
        mine = [requests[1], replies[0]]
        self._process: Any = multiprocessing.get_context("fork").Process(
            target=_served, args=(serve, requests[0], replies[1], [*others, *mine])
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of threads of BLAS, which do go on in a copy
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
            try:
                self._process.start()
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for end in (requests[0], replies[1]):
            os.close(end)
        self.descriptors = mine
        self.stdin, self.stdout = os.fdopen(mine[0], "wb"), os.fdopen(mine[1], "rb")

    @property
    def returncode(self) -> int | None:
        """Exit status, or the signal that has ended it, negative; None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it has ended; raises subprocess.TimeoutExpired if that takes longer, s."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a worker of sweep", timeout or 0.0)


def _served(serve: Callable[[BinaryIO, BinaryIO], None], requests: int, replies: int, others: list[int]) -> None:
    """Serve in the copy."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for end in others:
        with contextlib.suppress(OSError):
            os.close(end)
    # Copies would all draw the same numbers.
    random.seed()
    np.random.seed()  # noqa: NPY002
    serve(os.fdopen(requests, "rb"), os.fdopen(replies, "wb"))
