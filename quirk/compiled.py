"""Compilation of numerical kernels, in one place with one switch.

Kernels are plain Python functions over arrays; numba compiles them at their first call, never at import,
and keeps the machine code beside the source or in the user's cache folder. Setting the environment
variable NUMBA_DISABLE_JIT=1 runs every kernel as plain Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` at its first call; keep the machine code where a cache folder is writable."""
    try:
        return numba.njit(cache=True)(function)
    except RuntimeError:  # no cache folder is writable: compile anew in each process
        return numba.njit(function)
