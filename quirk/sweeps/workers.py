"""Worker processes on this machine, for the runs of a sweep.

Each worker is a fork of this process where this is safe, otherwise a new Python process. A thread of this process sends
runs to the worker, and reads the outcomes, through pipes. Workers do not execute the calling script again: functions
are sent with their dependencies. If a worker dies, a new one repeats its current run.
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
from .in_lanes import Computer
from .run import Job, Outcome, SweepRun, error_text

# Program of a new worker, with the same import path.
START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from quirk.sweeps.workers import serve; serve()"

# Maximum number of runs sent to a worker at once; number of portions per worker into which the remaining runs are
# divided, so that all workers end at about the same time.
MOST_AT_ONCE, SHARES = 32, 4
# Interval between checks for Ctrl-C and new outcomes, s; time allowed for a process or thread to end, s.
LOOK, GONE = 0.2, 5.0


class WorkersError(QuirkError, RuntimeError):
    """Error raised if no worker process can be started."""


class WorkerDiedError(Exception):
    """Error raised if a worker process ends during a computation."""


class Worker:
    """A worker process that computes runs of one job."""

    def __init__(self, copy: Forked | None = None) -> None:
        command = [sys.executable, "-c", START, json.dumps(sys.path)]
        self._process: Any = copy or subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def start(self, job: bytes) -> None:
        """Send the pickled job to the process.

        Raises
        ------
        WorkersError
            If the process cannot load the job.
        """
        try:
            self._send(job)
            trouble = pickle.loads(self._receive())
        except WorkerDiedError as death:
            raise WorkersError(f"sweep: a worker process cannot be started: {death}") from None
        if trouble:
            raise WorkersError(f"sweep: the data of the runs cannot be loaded in a worker process: {trouble}")

    def compute(self, runs: Sequence[SweepRun]) -> Iterator[Outcome]:
        """Yield the outcomes of runs.

        Raises
        ------
        WorkerDiedError
            If the process dies.
        """
        import cloudpickle

        self._send(cloudpickle.dumps(runs))
        for run in runs:
            received = self._receive()
            try:
                outcome = pickle.loads(received)
            except Exception as error:  # classes of the user may raise any error
                outcome = Outcome(run.number, "failed", f"the stored data cannot be transferred: {error_text(error)}")
            yield outcome

    def kill(self) -> None:
        """End the process immediately."""
        self._process.kill()

    def leave(self) -> None:
        """Kill the process and close the pipes to it."""
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):  # unsent data cannot be sent any more
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
            self._process.wait(GONE)  # the exit status is available shortly after the pipes close
        self.leave()
        code = self._process.returncode
        return WorkerDiedError(f"signal {-code}, {signal.strsignal(-code)}" if code < 0 else f"exit status {code}")


class WorkerPool:
    """Group of threads that compute the runs of a sweep, each with one worker process.

    Several runs are computed together in SIMD lanes. If their process dies, they are repeated one by one until one of
    them has an outcome.

    Attributes
    ----------
    outcomes : queue of outcomes; when a thread ends it adds None, or the exception that ended it
    pending : runs that are not started yet
    """

    def __init__(self, job: bytes, runs: Sequence[SweepRun], count: int, retries: int, lanes: bool) -> None:
        self._job, self._retries, self._lanes = job, retries, lanes
        self.pending, self._lock, self._ended = deque(runs), threading.Lock(), False
        self._workers: dict[int, Worker] = {}
        self.outcomes: queue.Queue[Outcome | BaseException | None] = queue.Queue()
        self._copies = _copies(count)
        self._threads = [threading.Thread(target=self._work, args=(k,), daemon=True) for k in range(count)]
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """End all processes immediately."""
        with self._lock:
            self._ended = True
            for worker in self._workers.values():
                worker.kill()
            for copy in self._copies:
                Worker(copy).leave()
        for thread in self._threads:
            thread.join(GONE)

    def _work(self, thread: int) -> None:
        """Compute runs until none is left; executed by the thread with index `thread`."""
        if hasattr(signal, "pthread_sigmask"):
            # Only the main thread handles Ctrl-C; processes started here inherit the blocked signal.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        end: BaseException | None = None
        try:
            while batch := self._next():
                self._compute(thread, batch)
        except BaseException as error:
            end = error  # passed to the waiting thread
        if thread in self._workers:
            self._workers[thread].leave()
        self.outcomes.put(end)

    def _next(self) -> list[SweepRun]:
        """Return the next runs to be computed by a thread, or an empty list if none is left."""
        with self._lock:
            share = max(1, min(MOST_AT_ONCE, len(self.pending) // (SHARES * len(self._threads))))
            return [] if self._ended else [self.pending.popleft() for _ in range(min(share, len(self.pending)))]

    def _compute(self, thread: int, batch: list[SweepRun]) -> None:
        """Compute several runs; a run whose process dies is repeated in another process."""
        deaths: list[str] = []  # of the first run
        sought = False  # whether the first run is computed alone, to find out which one ends the process
        while batch and not self._ended:
            portion = batch[:1] if sought else batch[:]
            try:
                for outcome in self._worker(thread, batch).compute(tuple(portion)):
                    self.outcomes.put(outcome)
                    del batch[0], deaths[:]
                sought = False
            except WorkerDiedError as death:
                del self._workers[thread]
                sought = self._lanes
                if self._lanes and len(portion) > 1:
                    continue  # the runs are computed together
                deaths.append(str(death))
                if len(deaths) > self._retries and not self._ended:
                    error = f"the worker process died in each of {len(deaths)} attempts: {'; '.join(deaths)}"
                    self.outcomes.put(Outcome(batch.pop(0).number, "failed", error))
                    deaths = []

    def _worker(self, thread: int, batch: Sequence[SweepRun]) -> Worker:
        """Return the worker process of the thread with index `thread`, and start it if necessary."""
        if thread not in self._workers:
            try:
                with self._lock:
                    if self._ended:
                        raise WorkerDiedError
                    self._workers[thread] = Worker(self._copies.pop() if self._copies else None)
                self._workers[thread].start(self._job)
            except (WorkersError, OSError):
                with self._lock:
                    self.pending.extendleft(reversed(batch))
                raise
        return self._workers[thread]


def _copies(count: int) -> list[Forked]:
    """Return `count` forks of this process; they must be created before other threads start."""
    made: list[Forked] = []
    with contextlib.suppress(OSError):  # memory or process limits may prevent more forks
        while len(made) < count and safe():
            made.append(Forked(_serve, [end for one in made for end in one.descriptors]))
    return made


def computed_in_processes(
    job: bytes, runs: Sequence[SweepRun], count: int, retries: int, stop: np.ndarray, lanes: bool
) -> Generator[Outcome | None, None, None]:
    """Compute runs in worker processes; yield each outcome when it is available, and None from time to time.

    The iteration ends soon after `stop` (1,) is set, without waiting for runs in progress. `count` is the number of
    processes, `retries` the maximum number of repetitions of a run whose process dies, and `lanes` whether SIMD lanes
    may be used.

    Raises
    ------
    WorkersError
        If no process can be started.
    """
    pool = WorkerPool(job, runs, count, retries, lanes)
    working, done, trouble = count, 0, None
    try:
        while working and not stop[0]:
            try:
                news = pool.outcomes.get(timeout=LOOK)
            except queue.Empty:
                yield None
                continue
            if isinstance(news, Outcome):
                done += 1
                yield news
            else:
                working, trouble = working - 1, news or trouble
    finally:
        pool.end()
    if stop[0]:
        while not pool.outcomes.empty():
            news = pool.outcomes.get()
            if isinstance(news, Outcome):
                yield news
        return
    if trouble is not None and (not done or not isinstance(trouble, WorkersError | OSError)):
        raise trouble
    for run in pool.pending:
        yield Outcome(run.number, "failed", f"no worker process is left: {trouble}")


def serve() -> None:
    """Main function of a new worker process: read a job and runs, and write the outcomes, until the input ends."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    _serve(requests, replies)


def _serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Read a job and runs from the pipe `requests`, and write the outcomes to `replies`, until the input ends."""
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)  # output of user functions goes to standard error
    try:
        job: Job = pickle.loads(pickle.load(requests))
        computer = Computer(job)
    except BaseException as error:
        _reply(replies, error_text(error))
        return
    _reply(replies, "")
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            for outcome in computer.outcomes(pickle.loads(pickle.load(requests))):
                try:
                    _reply(replies, outcome)
                except (pickle.PicklingError, TypeError, AttributeError) as error:
                    _reply(replies, Outcome(outcome.number, "failed", f"stored data: {error_text(error)}"))


def _reply(replies: Any, content: Any) -> None:
    import cloudpickle

    pickle.dump(cloudpickle.dumps(content), replies)
    replies.flush()
