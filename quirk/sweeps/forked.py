"""Worker processes that are forks of this process, and so share its imported modules and compiled code.

A new Python process takes seconds to start; a fork starts immediately. Where forking is unsafe, because other threads
may hold locks, new processes are started instead.
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

# Libraries whose threads do not survive a fork, so that the child process would block: OpenMP and GPU libraries.
THREADED = ("libgomp", "libiomp", "libomp", "libcuda", "libtorch", "jaxlib", "tensorflow")


def safe() -> bool:
    """Whether forking is safe: on Linux, with one Python thread, and without libraries that forbid it."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    try:
        loaded = Path("/proc/self/maps").read_text()
    except OSError:
        return False
    return not any(name in loaded for name in THREADED)


class Forked:
    """A fork of this process that answers requests through pipes.

    The interface is a subset of `subprocess.Popen`.

    Parameters
    ----------
    serve : function called in the fork with the pipes for reading and writing
    inherited : file descriptors that are closed in the fork, so that each end of a pipe has one owner
    """

    def __init__(self, serve: Callable[[BinaryIO, BinaryIO], None], inherited: list[int]) -> None:
        requests, replies = os.pipe(), os.pipe()
        mine = [requests[1], replies[0]]
        self._process: Any = multiprocessing.get_context("fork").Process(
            target=_served, args=(serve, requests[0], replies[1], [*inherited, *mine])
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # about threads of BLAS, which support forking
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
        """Exit status, or minus the number of the signal that ended the process; None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        """End the process immediately."""
        self._process.kill()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until the process has ended, at most `timeout`, s; then raise subprocess.TimeoutExpired."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("a worker of sweep", timeout or 0.0)


def _served(serve: Callable[[BinaryIO, BinaryIO], None], requests: int, replies: int, inherited: list[int]) -> None:
    """Answer requests in the fork; `requests` and `replies` are the file descriptors of the pipes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    for end in inherited:
        with contextlib.suppress(OSError):
            os.close(end)
    # Without new seeds all forks would generate the same random numbers.
    random.seed()
    np.random.seed()  # noqa: NPY002
    serve(os.fdopen(requests, "rb"), os.fdopen(replies, "wb"))
