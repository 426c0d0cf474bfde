"""Worker processes on this machine.

Each is a copy of this process where that is safe, else a new Python. A thread hands it runs and reads what comes out,
over pipes. Nothing of the script that asked for it is run again there: what its functions need travels with them. A
process that dies takes one run with it, which a new one then repeats.
"""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from ..errors import QuirkError
from .forked import Forked, safe
from .run import Job, Outcome, SweepRun, outcomes, said

# What a worker starts with: the same places to import from, and nothing else.
START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from quirk.sweeps.workers import serve; serve()"

# So many runs at most are handed over at once; towards the end, fewer, so that all workers end together.
MOST_AT_ONCE, SHARES = 32, 4
# s between two looks at what else there is to do, such as Ctrl-C; s that a killed process may take to be gone.
LOOK, GONE = 0.2, 5.0


class WorkersError(QuirkError, RuntimeError):
    """Worker processes cannot be started."""


class WorkerDiedError(Exception):
    """A worker process has ended in the middle of something."""


class Worker:
    """A process that computes runs of one job: a copy of this one, or a new Python if there is none."""

    def __init__(self, copy: Forked | None = None) -> None:
        command = [sys.executable, "-c", START, json.dumps(sys.path)]
        self._process: Any = copy or subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def start(self, job: bytes) -> None:
        """Hand over the job, pickled, as all that is handed over; raises WorkersError where it cannot be read."""
        try:
            self._send(job)
            trouble = pickle.loads(self._receive())
        except WorkerDiedError as death:
            raise WorkersError(f"sweep: a worker process cannot be started: {death}") from None
        if trouble:
            raise WorkersError(f"sweep: what the runs need cannot be loaded in a worker process: {trouble}")

    def compute(self, runs: Sequence[SweepRun]) -> Iterator[Outcome]:
        """Compute runs; raises WorkerDiedError where the process does not survive one."""
        import cloudpickle

        self._send(cloudpickle.dumps(runs))
        for run in runs:
            received = self._receive()
            try:
                outcome = pickle.loads(received)
            except Exception as error:  # classes of the user may raise any
                outcome = Outcome(run.number, "failed", f"what was kept cannot be handed over: {said(error)}")
            yield outcome

    def kill(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()

    def leave(self) -> None:
        """Kill it and close its pipes."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # what was not sent yet cannot be
                pipe.close()
        self._process.wait()

    def _send(self, content: bytes) -> None:
        try:
            pickle.dump(content, self._process.stdin)
            self._process.stdin.flush()
        except OSError:
            raise self._died() from None

    def _receive(self) -> bytes:
        try:
            return pickle.load(self._process.stdout)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise self._died() from None

    def _died(self) -> WorkerDiedError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GONE)  # its pipes close a moment before it has an exit status
        self.leave()
        code = self._process.returncode
        return WorkerDiedError(f"signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"exit status {code}")


class Crew:
    """Threads that have runs computed, each by a worker process of its own.

    Attributes
    ----------
    found : queue of outcomes; of each thread that has no more to do None, or the exception that has ended it
    left : runs that no thread has taken
    """

    def __init__(self, job: bytes, runs: Sequence[SweepRun], count: int, retries: int) -> None:
        self._job, self._retries = job, retries
        self.left, self._lock, self._ended = deque(runs), threading.Lock(), False
        self._workers: dict[int, Worker] = {}
        self.found: queue.Queue[Outcome | BaseException | None] = queue.Queue()
        self._copies = _copies(count)
        self._threads = [threading.Thread(target=self._work, args=(k,), daemon=True) for k in range(count)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """End all processes, whatever they are doing."""
        with self._lock:
            self._ended = True
            for worker in self._workers.values():
                worker.kill()
            for copy in self._copies:
                Worker(copy).leave()
        for thread in self._threads:
            thread.join(GONE)

    def _work(self, own: int) -> None:
        """Be one of the threads."""
        if hasattr(signal, "pthread_sigmask"):
            # Ctrl-C is for the main thread; processes that are started here inherit that it is not for them.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        end: BaseException | None = None
        try:
            while batch := self._next():
                self._compute(own, batch)
        except BaseException as error:
            end = error  # for the thread that waits
        if own in self._workers:
            self._workers[own].leave()
        self.found.put(end)

    def _next(self) -> list[SweepRun]:
        """Return the next runs to be computed; none if there are no more."""
        with self._lock:
            share = max(1, min(MOST_AT_ONCE, len(self.left) // (SHARES * len(self._threads))))
            return [] if self._ended else [self.left.popleft() for _ in range(min(share, len(self.left)))]

    def _compute(self, own: int, batch: list[SweepRun]) -> None:
        """Compute runs; one that a process does not survive is tried anew in another one."""
        deaths: list[str] = []  # of the first of them
        while batch and not self._ended:
            try:
                for outcome in self._worker(own, batch).compute(tuple(batch)):
                    self.found.put(outcome)
                    del batch[0], deaths[:]
            except WorkerDiedError as death:
                del self._workers[own]
                deaths.append(str(death))
                if len(deaths) > self._retries and not self._ended:
                    error = f"the worker process died in each of {len(deaths)} attempts: {'; '.join(deaths)}"
                    self.found.put(Outcome(batch.pop(0).number, "failed", error))
                    deaths = []

    def _worker(self, own: int, batch: Sequence[SweepRun]) -> Worker:
        """Return the worker of a thread, which is started if there is none."""
        if own not in self._workers:
            try:
                with self._lock:
                    if self._ended:
                        raise WorkerDiedError
                    self._workers[own] = Worker(self._copies.pop() if self._copies else None)
                self._workers[own].start(self._job)
            except (WorkersError, OSError):
                with self._lock:
                    self.left.extendleft(reversed(batch))
                raise
        return self._workers[own]


def _copies(count: int) -> list[Forked]:
    """Copies of this process, made while it has no thread but this one."""
    made: list[Forked] = []
    with contextlib.suppress(OSError):  # there may be no room for more
        while len(made) < count and safe():
            made.append(Forked(_serve, [end for one in made for end in one.descriptors]))
    return made


def computed_here(
    job: bytes, runs: Sequence[SweepRun], count: int, retries: int, stop: np.ndarray
) -> Generator[Outcome | None, None, None]:
    """Compute runs in worker processes; yields what comes out as it does, and None from time to time meanwhile.

    Ends soon when `stop` (1,) is set, with all that is there.

    Raises
    ------
    WorkersError
        If no process can be started.
    """
    crew = Crew(job, runs, count, retries)
    working, done, trouble = count, 0, None
    try:
        while working and not stop[0]:
            try:
                news = crew.found.get(timeout=LOOK)
            except queue.Empty:
                yield None
                continue
            if isinstance(news, Outcome):
                done += 1
                yield news
            else:
                working, trouble = working - 1, news or trouble
    finally:
        crew.end()
    if stop[0]:
        while not crew.found.empty():
            news = crew.found.get()
            if isinstance(news, Outcome):
                yield news
        return
    if trouble is not None and (not done or not isinstance(trouble, WorkersError | OSError)):
        raise trouble
    for run in crew.left:
        yield Outcome(run.number, "failed", f"no worker process was left: {trouble}")


def serve() -> None:
    """Be a worker process: read a job and then runs, and write what comes out, until there is no more to read."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    _serve(requests, replies)


def _serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """The same over given pipes."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)  # what functions of the user print, goes where errors go
    try:
        job: Job = pickle.loads(pickle.load(requests))
    except BaseException as error:
        _reply(replies, said(error))
        return
    _reply(replies, "")
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            for outcome in outcomes(job, pickle.loads(pickle.load(requests))):
                try:
                    _reply(replies, outcome)
                except (pickle.PicklingError, TypeError, AttributeError) as error:
                    _reply(replies, Outcome(outcome.number, "failed", f"what was kept: {said(error)}"))


def _reply(replies: Any, content: Any) -> None:
    import cloudpickle

    pickle.dump(cloudpickle.dumps(content), replies)
    replies.flush()
