"""Runs of a sweep on a cluster, through dask.distributed."""

from __future__ import annotations

import functools
import pickle
import time
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..io.resultfile.dataset import library
from .run import Job, Outcome, SweepRun, error_text, outcome

if TYPE_CHECKING:
    import distributed

LOOK = 0.05  # interval between checks for completed runs, s


def computed_on(
    client: Any, job: bytes, runs: Sequence[SweepRun], stop: np.ndarray
) -> Generator[Outcome | None, None, None]:
    """Compute runs on a cluster; yield each outcome when it is available, and None from time to time.

    The iteration ends soon after `stop` (1,) is set. `client` is the client of the cluster, and `job` the pickled Job.
    The scheduler repeats runs whose worker died, up to its configured limit ("distributed.scheduler.allowed-failures").
    """
    import cloudpickle

    distributed = library("distributed", "sweep with a client", "cluster")
    connected, opened = _connected(client)
    numbers = {connected.submit(computed, job, cloudpickle.dumps(run), pure=False): run.number for run in runs}
    completed = distributed.as_completed(list(numbers))
    try:
        while numbers and not stop[0]:
            ready = completed.next_batch(block=False)
            for future in ready:
                yield _outcome(future, numbers.pop(future))
            if not ready:
                yield None
                time.sleep(LOOK)
    finally:
        connected.cancel(list(numbers))
        if opened:
            connected.close()


def computed(job: bytes, run: bytes) -> Outcome:
    """Compute one run in a worker of the cluster; `job` and `run` are pickled."""
    return outcome(_job(job), pickle.loads(run))


@functools.lru_cache(2)
def _job(job: bytes) -> Job:
    """Return the unpickled job; it is cached, so that its functions are compiled only once in each worker."""
    return pickle.loads(job)


def _connected(client: Any) -> tuple[distributed.Client, bool]:
    """Return a client of the cluster, and whether it was created here.

    `client` is the user's argument: a client, a cluster or an address.
    """
    import distributed

    if isinstance(client, str | distributed.deploy.Cluster):
        try:
            return distributed.Client(client), True
        except (OSError, ValueError) as error:
            raise InputError(f"sweep: client: no connection to {client!r}: {error}") from None
    if not isinstance(client, distributed.Client) or client.asynchronous:
        raise InputError(
            f"sweep: client must be a dask.distributed.Client, a cluster such as LocalCluster, or an address; got "
            f"{client!r}"
        )
    return client, False


def _outcome(future: distributed.Future, number: int) -> Outcome:
    """Return the outcome of the run with index `number`, which the cluster has computed.

    A failure of the cluster is returned as a failure of the run.
    """
    try:
        return future.result()
    except Exception as error:  # from the cluster; errors of the run are part of its outcome
        return Outcome(number, "failed", error_text(error))
