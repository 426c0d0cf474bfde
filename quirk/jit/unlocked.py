"""Entries that release Python's global interpreter lock, so that several threads can compute at the same time.

An entry is a compiled function that Python calls. The version that releases the lock is compiled separately, when it is
first needed. It may be called only with arrays that no other thread uses.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numba

from .cache import MachineCode
from .compilation import ENTRY_OPTIONS, Entry, plain_python


class _Thread(threading.local):
    """Per-thread flag: whether `present` returns entries that release the lock."""

    releases = False


_THREAD = _Thread()


@contextlib.contextmanager
def releasing() -> Iterator[None]:
    """Context manager in which `present` returns entries that release the lock, for calls in the current thread."""
    before, _THREAD.releases = _THREAD.releases, True
    try:
        yield
    finally:
        _THREAD.releases = before


def present(entry: Callable[..., Any]) -> Callable[..., Any]:
    """Return an entry, or inside a `releasing` block the version of it that releases the lock."""
    return unlocked(entry) if _THREAD.releases else entry


@functools.cache
def unlocked(entry: Callable[..., Any]) -> Callable[..., Any]:
    """Return the version of an entry that releases the interpreter lock while it runs."""
    source = getattr(entry, "py_func", entry)
    # Another name, under which its machine code is cached.
    function = FunctionType(
        source.__code__, source.__globals__, source.__name__, source.__defaults__, source.__closure__
    )
    function.__qualname__, function.__module__ = f"{source.__qualname__}_unlocked", source.__module__
    return unlocked_entry(needed_by="runs of a batch on several threads need", effort=15)(function)


def unlocked_entry(*, needed_by: str, effort: float) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a function as an entry that releases the interpreter lock while it runs.

    The arguments are those of `entry`: the feature that needs the entry, and its compilation time on a reference
    machine, s.
    """

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        if plain_python():
            return function
        dispatcher = numba.njit(nogil=True, **ENTRY_OPTIONS)(function)
        dispatcher._cache = MachineCode(function, needed_by, effort)
        dispatcher.compile = dispatcher._cache.locked(dispatcher.compile)
        return Entry(dispatcher)

    return compiled
