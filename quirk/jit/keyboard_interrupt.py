"""Deferred Ctrl-C while compiled code calls user functions.

Python may raise KeyboardInterrupt between any two of its instructions. A KeyboardInterrupt inside a callback from
compiled code could not be caught: it would be printed and lost, and the run would continue with missing values.
Therefore the signal is recorded, compiled code is requested to return, and the previous handler, usually the one that
raises KeyboardInterrupt, is called after that return. A second signal is handled immediately, so that a user function
that never returns can also be interrupted.

KeyboardInterrupt can also be lost while Python deletes objects. Therefore the signal is deferred during the whole run,
and handled between two evaluations and between two compilations.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

import numpy as np
from numba.core import event

# Modules whose code runs immediately before and after a user function. A second signal is not handled inside them,
# because the KeyboardInterrupt could not be caught there.
AROUND_CALLS = (__name__, "quirk.jit.function_pointers", "quirk.dynamics.sparse.codegen.force_functions")


class _Keyboard:
    """State of the deferred SIGINT handler.

    Attributes
    ----------
    blocks : active `DeferredInterrupt` blocks of the main thread, which is the only one that receives signals
    previous_handler : the handler installed before the outermost block
    pending : whether a signal has been recorded but not yet handled
    """

    def __init__(self) -> None:
        self.blocks: list[DeferredInterrupt] = []
        self.previous_handler: Any = None
        self.pending = False

    def record(self, number: int, frame: FrameType | None) -> None:
        """Record a signal; a second signal is passed to the previous handler immediately."""
        if self.pending and frame is not None and frame.f_globals.get("__name__") not in AROUND_CALLS:
            self.previous_handler(number, frame)
        self.pending = True
        for block in self.blocks:
            block.request_stop()

    def handle_pending(self) -> None:
        """Call the previous SIGINT handler if a signal is pending."""
        if self.pending and threading.current_thread() is threading.main_thread():
            self.pending = False
            self.previous_handler(signal.SIGINT, None)


_KEYBOARD = _Keyboard()
_HANDLER = _KEYBOARD.record


class DeferredInterrupt:
    """Context manager that defers Ctrl-C until its block ends.

    The context manager does nothing outside the main thread, or if the signal is ignored or not handled by Python.

    Parameters
    ----------
    stop : (1,) integers, optional
        Flag for compiled code: set to 0 at the start of the block, and to 1 by the signal to request a return.
    """

    def __init__(self, stop: np.ndarray | None = None) -> None:
        self._stop, self._holds = stop, False

    def __enter__(self) -> DeferredInterrupt:
        if self._stop is not None:
            self._stop[0] = 0
        if threading.current_thread() is not threading.main_thread():
            return self
        if not _KEYBOARD.blocks:
            handler = signal.getsignal(signal.SIGINT)
            if not callable(handler):
                return self
            _KEYBOARD.previous_handler, _KEYBOARD.pending = handler, False
            signal.signal(signal.SIGINT, _HANDLER)
        _KEYBOARD.blocks.append(self)
        self._holds = True
        if _KEYBOARD.pending:
            self.request_stop()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._holds:
            return
        _KEYBOARD.blocks.pop()
        if not _KEYBOARD.blocks:
            present = signal.signal(signal.SIGINT, _KEYBOARD.previous_handler)
            if present is not _HANDLER:  # a user function has installed another handler, which is kept
                signal.signal(signal.SIGINT, present)
        if isinstance(error, KeyboardInterrupt):
            _KEYBOARD.pending = False  # the signal has already raised this error
        _KEYBOARD.handle_pending()

    def request_stop(self) -> None:
        """Set the flag `stop`, so that compiled code returns early."""
        if self._stop is not None:
            self._stop[0] = 1


def handle_pending() -> None:
    """Call the previous SIGINT handler if a signal is pending.

    The function may be called only where a KeyboardInterrupt can be caught and leaves no object in an invalid state.
    """
    _KEYBOARD.handle_pending()


def within_a_call() -> bool:
    """Return whether the current thread is the main thread and a `DeferredInterrupt` block is active."""
    return bool(_KEYBOARD.blocks) and threading.current_thread() is threading.main_thread()


class _BetweenFunctions(event.Listener):
    """numba event listener that handles a pending signal before numba compiles the next function."""

    def on_start(self, event: Any) -> None:
        """Handle a pending signal, which may raise KeyboardInterrupt."""
        handle_pending()

    def on_end(self, event: Any) -> None:
        """Do nothing; numba's interface requires the method."""


event.register("numba:compile", _BetweenFunctions())
