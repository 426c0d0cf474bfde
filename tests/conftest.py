"""Settings for all tests."""

import gc
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


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config):
    """Let each worker begin with a share of neighboring tests, and take over tests of others when it is done.

    Tests that need the same machine code are neighbors: dealt out in turns, they would keep all workers waiting for the
    one that compiles it.
    """
    if getattr(config.option, "numprocesses", None) and config.option.dist == "no":
        config.option.dist = "worksteal"


def pytest_collection_finish():
    """Keep the garbage collector from passing through imported modules again and again: an eighth of the whole time."""
    gc.collect()
    gc.freeze()
