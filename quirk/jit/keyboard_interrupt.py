"""Ctrl-C while compiled code runs that calls functions of a user.

Python raises KeyboardInterrupt between any two of its instructions. In a function that compiled code has called,
nobody could catch it: it would be printed and lost, and the run would go on with what the function has not computed.
So the signal is noted, compiled code is asked to return, and the signal is handed on right after that to the handler
that was there before, as a rule the one that raises KeyboardInterrupt. A second signal is handed on at once, so that
functions that never return can be left, too.

Even where KeyboardInterrupt may be raised it can be lost: in what Python does as objects are deleted. So the signal is
held back for the whole of a run, and handed on between two evaluations and between two functions to be compiled.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

import numpy as np
from numba.core import event

# Where Python is about to call a function of a user or has just done so; it will be out of there in no time.
AROUND_CALLS = (__name__, "quirk.jit.function_pointers", "quirk.dynamics.sparse.codegen.force_functions")


class _Keyboard:
    """What is known of the signal: whether one is to be handed on, and to whom.

    Attributes
    ----------
    blocks : of the main thread, which alone hears signals, those that have been entered and not left
    former : the handler that was there before the outermost of them
    noted : whether a signal has come that has not been handed on
    """

    def __init__(self) -> None:
        self.blocks: list[DeferredInterrupt] = []
        self.former: Any = None
        self.noted = False

    def note(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal: hold it back, unless one is held back already."""
        if self.noted and frame is not None and frame.f_globals.get("__name__") not in AROUND_CALLS:
            self.former(number, frame)
        self.noted = True
        for block in self.blocks:
            block.ask_to_stop()

    def hand_on(self) -> None:
        """Call the former handler, if a signal is waiting for it."""
        if self.noted and threading.current_thread() is threading.main_thread():
            self.noted = False
            self.former(signal.SIGINT, None)


_KEYBOARD = _Keyboard()
_NOTE = _KEYBOARD.note


class DeferredInterrupt:
    """A block in which Ctrl-C raises nothing; it is handed on at the end of the block.

    Does nothing outside the main thread, and where the signal is ignored or not handled by Python.

    Parameters
    ----------
    stop : (1,) integers, optional
        Set to 1 when the signal comes, so that compiled code returns; 0 from the start of the block until then.
    """

    def __init__(self, stop: np.ndarray | None = None) -> None:
        self._stop, self._holds = stop, False

    def __enter__(self) -> DeferredInterrupt:
        if self._stop is not None:
            self._stop[0] = 0
        if threading.current_thread() is not threading.main_thread():
            return self
        if not _KEYBOARD.blocks:
            former = signal.getsignal(signal.SIGINT)
            if not callable(former):
                return self
            _KEYBOARD.former, _KEYBOARD.noted = former, False
            signal.signal(signal.SIGINT, _NOTE)
        _KEYBOARD.blocks.append(self)
        self._holds = True
        if _KEYBOARD.noted:
            self.ask_to_stop()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._holds:
            return
        _KEYBOARD.blocks.pop()
        if not _KEYBOARD.blocks:
            present = signal.signal(signal.SIGINT, _KEYBOARD.former)
            if present is not _NOTE:  # a function of the user has put up another one, to stay
                signal.signal(signal.SIGINT, present)
        if isinstance(error, KeyboardInterrupt):
            _KEYBOARD.noted = False  # this is what it has led to
        _KEYBOARD.hand_on()

    def ask_to_stop(self) -> None:
        """Let compiled code return soon."""
        if self._stop is not None:
            self._stop[0] = 1


def hand_on() -> None:
    """Hand on a signal that is held back, at a place where KeyboardInterrupt does no harm."""
    _KEYBOARD.hand_on()


def within_a_call() -> bool:
    """Whether a function of a user is being called by compiled code, in this thread and further out."""
    return bool(_KEYBOARD.blocks) and threading.current_thread() is threading.main_thread()


class _BetweenFunctions(event.Listener):
    """Hands on a signal before numba compiles the next function."""

    def on_start(self, event: Any) -> None:
        """Raise what the former handler raises."""
        hand_on()

    def on_end(self, event: Any) -> None:
        """Do nothing."""


event.register("numba:compile", _BetweenFunctions())
