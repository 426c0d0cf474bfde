"""The command line `quirk`; `quirk --help` lists the commands."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module

from ..errors import QuirkError
from .parser import UsageError, parser

# Exit statuses of shells for programs ended by these signals.
INTERRUPTED, CLOSED_PIPE = 128 + 2, 128 + 13
WRONG_USE = 2
# Exit status by return value of a command; other values mean success.
STATUS = {"interrupted": INTERRUPTED, "failed": 1}
# Commands for which Control-C shortens the result, which is then written.
SHORTENED = ("run", "kinematics", "sweep")


class Interrupted(BaseException):
    """Exception raised by Control-C in a command.

    It is not a KeyboardInterrupt, so that code inside the command does not catch it, and it ends the command.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line with the given arguments (default: `sys.argv`), and return the exit status."""
    name = "quirk"
    try:
        try:
            options = parser().parse_args(arguments)
            name = f"quirk {options.command}"
            module = import_module(f"quirk.commands.{options.command}")
            with contextlib.nullcontext() if options.command in SHORTENED else _interruptible():
                return STATUS.get(module.command(options), 0)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed the pipe
        _discard_output()
        return CLOSED_PIPE
    except (Interrupted, KeyboardInterrupt):
        print("quirk: interrupted", file=sys.stderr)
        return INTERRUPTED
    except UsageError as error:
        print(f"{name}: {error}; {name} --help shows how it is used", file=sys.stderr)
        return WRONG_USE
    except (QuirkError, OSError) as error:
        print(f"quirk: {error}", file=sys.stderr)
        _discard_output()
        return 1


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Context manager in which Control-C ends the command immediately, without a KeyboardInterrupt."""

    def interrupt(number: int, frame: object) -> None:
        raise Interrupted

    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _discard_output() -> None:
    """Discard output that could not be written, so that the interpreter reports no error at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no stream
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
