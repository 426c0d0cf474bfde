"""Simulation of members of a batch one by one, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from ..analysis.assembly import of_member
from ..bodies.state import State
from ..errors import InconsistentStateError, SimulationError
from ..jit.unlocked import releasing
from ..result.result import Result
from ..simulation.simulate import simulate
from ..system.system import System


@dataclass(frozen=True)
class MemberRun:
    """Result or failure of one member.

    Attributes
    ----------
    number : index of the member
    status : status of its result, or "failed"
    result : the motion, up to a failure; None if nothing was computed
    error : the exception of a failure, or None
    """

    number: int
    status: str
    result: Result | None
    error: BaseException | None = None


def member_run(
    number: int,
    system: Callable[[], System],
    state: State,
    start: float,
    duration: float,
    output: Any,
    options: Mapping[str, Any],
) -> MemberRun:
    """Simulate one member from a state; return its result, or the exception of a failure.

    Parameters
    ----------
    number : index of the member
    system : function that returns the system of the member
    state : initial state
    start, duration : initial time and duration, s
    output : interval between output states, or output times, s
    options : further arguments of `simulate` by name
    """
    try:
        result = simulate(
            system(), duration, start=start, initial_state=state, output=output, progress=False, **options
        )
    except SimulationError as error:
        return MemberRun(number, "failed", error.result, error)
    except InconsistentStateError as error:
        return MemberRun(number, "failed", None, of_member(error, number))
    except Exception as error:  # user functions may raise any error
        return MemberRun(number, "failed", None, error)
    return MemberRun(number, result.status, result)


def computed(members: Iterable[Callable[[], Any]], threads: int, take: Callable[[Any], None]) -> None:
    """Call the functions `members` on several threads, and pass each return value to `take`.

    `take` is called in the calling thread, in the order of `members`. After Ctrl-C the calls in progress are completed
    and KeyboardInterrupt is raised.
    """
    if threads == 1:
        for compute in members:
            take(compute())
        return
    with ThreadPoolExecutor(threads) as pool:
        pending: list[Future[Any]] = [pool.submit(_released, compute) for compute in members]
        try:
            for future in pending:
                take(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _released(compute: Callable[[], Any]) -> Any:
    """Return the value of `compute()`; compiled runs in it release the interpreter lock for other threads."""
    with releasing():
        return compute()
