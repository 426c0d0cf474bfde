"""Compilation of numerical functions with numba.

Kernels are functions of arrays that only compiled code calls; entries are compiled functions that Python calls. numba
compiles them at their first call, never at import, and `quirk.jit.cache` saves the machine code. With the environment
variable NUMBA_DISABLE_JIT=1 every kernel runs as plain Python.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import register_jitable

from .cache import MachineCode
from .carried import use_carried

# Oldest and newest minor versions of numba with which `pipelines` has been tested. Other versions compile kernels with
# numba's own passes: results are the same, but compilation takes several times as long.
TESTED = (0, 64), (0, 68)

# Floating-point relaxations of LLVM: a product and a sum may be fused ("contract"), and the sign of zero is ignored
# ("nsz"). LLVM must not assume finite numbers, because kernels test for NaN.
FAST_MATH = {"contract", "nsz"}

OPTIONS: dict[str, Any] = {"fastmath": FAST_MATH, "error_model": "numpy", "_nrt": False}

# Options of numba. Entries, called from Python only, need its wrapper for Python; kernels, called from compiled code
# only, need no wrapper.
ENTRY_OPTIONS: dict[str, Any] = {"no_cfunc_wrapper": True, **OPTIONS}
KERNEL_OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **OPTIONS}
COMPONENT_OPTIONS: dict[str, Any] = dict(KERNEL_OPTIONS)


use_carried()


def tested(version: str) -> bool:
    """Return whether the modified passes of `quirk.jit.pipelines` have been tested with this version of numba."""
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    return TESTED[0] <= numbers <= TESTED[1]


if tested(numba.__version__):
    from .pipelines import EntryCompiler, KernelCompiler

    ENTRY_OPTIONS["pipeline_class"] = EntryCompiler
    KERNEL_OPTIONS["pipeline_class"] = KernelCompiler
    COMPONENT_OPTIONS["pipeline_class"] = EntryCompiler


def plain_python() -> bool:
    """Return whether kernels run as plain Python, because NUMBA_DISABLE_JIT is set."""
    return bool(getattr(numba.config, "DISABLE_JIT", False))


def entry(
    function: Callable[..., Any] | None = None, *, needed_by: str = "", effort: float = 0.0
) -> Callable[..., Any]:
    """Decorate a function that Python calls: it is compiled at its first call, and its machine code is cached on disk.

    Parameters
    ----------
    function : the function
    needed_by : str
        Feature that needs the entry, such as "runs need", for a message on standard error before compilation.
    effort : float
        Compilation time on a reference machine, s; see `compile_times`.
    """
    if function is None:
        return functools.partial(entry, needed_by=needed_by, effort=effort)
    compiled = numba.njit(**ENTRY_OPTIONS)(function)
    if plain_python():
        return compiled
    compiled._cache = MachineCode(function, needed_by, effort)
    compiled.compile = compiled._cache.locked(compiled.compile)
    return Entry(compiled)


class Entry:
    """Compiled function that is called from Python with positional arguments.

    The argument types are derived from the classes of the arguments, so that all records of a class must have members
    of the same types. numba itself would inspect all members of all records at each call, which takes ten times as long
    as passing the records.

    Attributes
    ----------
    compiled : numba's dispatcher
    """

    def __init__(self, compiled: Any) -> None:
        functools.update_wrapper(self, compiled.py_func)
        self.compiled, self.py_func = compiled, compiled.py_func
        self._found: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code for the types of the arguments; the first call loads or compiles it."""
        kinds = tuple(map(argument_key, arguments))
        found = self._found.get(kinds)
        if found is not None:
            return found(*arguments)
        result = self.compiled(*arguments)
        signature = tuple(map(self.compiled.typeof_pyval, arguments))
        self._found[kinds] = self.compiled.overloads[signature].entry_point
        return result


def machine_code(entry: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """Return the machine code of an entry for fast repeated calls with arguments of the same types as `arguments`.

    Calls of the machine code do not check the types. If the entry has not yet been called with arguments of these
    types, the entry itself is returned.
    """
    return entry._found.get(tuple(map(argument_key, arguments)), entry) if isinstance(entry, Entry) else entry


def argument_key(argument: Any) -> Any:
    """Return a key for an argument; arguments with equal keys can use the same machine code.

    The key is the class of the argument or, for an array, its data type, dimension, contiguity and writability.
    """
    if isinstance(argument, np.ndarray):
        return argument.dtype, argument.ndim, argument.flags.c_contiguous, argument.flags.writeable
    return type(argument)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a kernel: a function that is compiled for calls from entries and other kernels, and not from Python.

    Integers of all types, including constants, share one compilation.
    """
    # By default numba also copies the callees of an inlined kernel into each caller.
    return with_general_integers(numba.njit(forceinline=False, **KERNEL_OPTIONS)(function))


def with_general_integers(compiled: Any) -> Any:
    """Modify a compiled kernel so that integers of all types, including constants, share one compilation; return it."""
    if not plain_python():
        template = compiled.get_call_template
        compiled.get_call_template = lambda given, named: template(
            tuple(map(general, given)), {name: general(kind) for name, kind in named.items()}
        )
    return compiled


def general(kind: types.Type) -> types.Type:
    """Return the type for which a kernel is compiled if an argument has type `kind`: intp for all integers."""
    kind = types.unliteral(kind)
    return types.intp if isinstance(kind, types.Integer) else kind


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function whose code is inlined into each calling kernel and specialized for constant arguments."""
    return numba.njit(forceinline=True, **KERNEL_OPTIONS)(function)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function from which an entry or kernel was compiled."""
    return getattr(function, "py_func", function)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function for kernels and for Python: kernels call it in compiled form, Python calls it unchanged."""
    return register_jitable(**KERNEL_OPTIONS)(function)
