"""The command line: `quirk demo NAME`."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path

from . import validate
from .errors import QuirkError

# What a shell says of programs that ended by these signals.
INTERRUPTED, CLOSED_PIPE = 128 + 2, 128 + 13


class Interrupted(BaseException):
    """Control-C. Of a KeyboardInterrupt a run would make a shorter result, and the demo go on."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    try:
        try:
            with _interruptible():
                _run(arguments)
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:  # who reads has seen enough
        _discard_output()
        return CLOSED_PIPE
    except (Interrupted, KeyboardInterrupt):
        print("quirk: interrupted", file=sys.stderr)
        return INTERRUPTED
    except (QuirkError, OSError) as error:
        print(f"quirk: {error}", file=sys.stderr)
        _discard_output()
        return 1
    return 0


def _run(arguments: Sequence[str] | None) -> None:
    from . import __version__
    from .demos import DEMOS

    parser = argparse.ArgumentParser(prog="quirk", description="Simulate rigid bodies joined by constraints.")
    parser.add_argument("--version", action="version", version=f"quirk {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    listed = "\n".join(f"  {name:<18} {title}" for name, title in DEMOS.items())
    demo = commands.add_parser(
        "demo",
        help="run a demo",
        description=f"Run a demo and save its pictures:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    demo.add_argument("name", choices=DEMOS, metavar="NAME", help="one of the names above")
    demo.add_argument("--out", type=Path, default=Path("out"), help="folder for the pictures (default: ./out)")
    options = parser.parse_args(arguments)

    out = validate.output_folder("demo", "--out", options.out)

    import matplotlib as mpl

    mpl.use("Agg")  # the pictures go to files, also where a display is there
    module = import_module("quirk.demos." + options.name.replace("-", "_"))
    print(f"{options.name}: {DEMOS[options.name]}")
    module.run(out)
    for path in sorted(out.glob(f"{options.name}*")):
        print(f"wrote {path}")


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let Control-C end everything, where it would raise a KeyboardInterrupt."""

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
    """Let what cannot be printed go nowhere, lest the interpreter complain of it at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError, AttributeError):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # there may be no stream
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
