"""Settings for all tests."""

import os
import signal
import sys
from pathlib import Path

import pytest

# The matrices are small: threads of the linear algebra library would only get in each other's way.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Pictures are drawn to files.
os.environ.setdefault("MPLBACKEND", "Agg")
# Started in the background of a shell, tests ignore Ctrl-C, which some of them send to themselves.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Reference motions and published problems are shared with the benchmarks, beside this folder. Last, so that an installed
# quirk goes before the checkout's.
sys.path.append(str(Path(__file__).parents[1]))

from quirk.jit.compilation import Entry, kind_of


@pytest.fixture(autouse=True, scope="session")
def entries_tell_their_arguments_apart():
    """At each call of compiled code, its arguments' classes are enough to tell the types of all their members."""
    patch = pytest.MonkeyPatch()
    seen = {}

    def checked(entry, *given):
        kinds = seen.setdefault(entry, set())
        kinds.add(tuple(map(kind_of, given)))
        result = entry.compiled(*given)
        assert len(entry.compiled.overloads) <= len(kinds), f"{entry.__name__}: records of a class differ in types"
        return result

    patch.setattr(Entry, "__call__", checked)
    yield
    patch.undo()
