"""Compilation of numerical kernels, in one place with one switch.

Kernels are plain Python functions over arrays; numba compiles them at their first call, never at import,
and keeps the machine code beside the source or in the user's cache folder. Setting the environment
variable NUMBA_DISABLE_JIT=1 runs every kernel as plain Python.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.extending import register_jitable

# What the compiler may do to floats: fuse a product and a sum, ignore the sign of zero. Not: assume finite numbers.
FAST_MATH = {"contract", "nsz"}

OPTIONS: dict[str, Any] = {"fastmath": FAST_MATH, "error_model": "numpy", "_nrt": False}


def entry(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function`, which Python calls, at its first call; keep the machine code where that can be written."""
    try:
        compiled = numba.njit(cache=True, no_cfunc_wrapper=True, **OPTIONS)(function)
    except RuntimeError:  # no cache folder is writable: compile anew in each process
        return numba.njit(no_cfunc_wrapper=True, **OPTIONS)(function)
    if not numba.config.DISABLE_JIT:
        # numba takes machine code for stale when the function's own file has changed. Entries contain the
        # kernels that they call, which live in other files, so the whole package has to count.
        compiled._cache._cache_file._source_stamp = source_stamp()
    return compiled


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` for entries and other kernels to call; Python cannot."""
    return numba.njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` into each kernel that calls it, anew for each constant argument."""
    return numba.njit(forceinline=True, no_cpython_wrapper=True, no_cfunc_wrapper=True, **OPTIONS)(function)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Leave `function` as it is for Python, and let kernels call it in compiled form."""
    return register_jitable(**OPTIONS)(function)


@functools.cache
def source_stamp() -> tuple[tuple[str, int, int], ...]:
    """Path, time and size of every file that may contain a kernel."""
    specs = [importlib.util.find_spec(name) for name in ("quirk", "quirk.constraints", "quirk.integrators")]
    folders = {folder for spec in specs if spec for folder in spec.submodule_search_locations or ()}
    files = sorted({file for folder in folders for file in Path(folder).rglob("*.py")})
    return tuple((str(file), file.stat().st_mtime_ns, file.stat().st_size) for file in files)
