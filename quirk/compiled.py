"""Compilation of numerical kernels, in one place with one switch.

Kernels are plain Python functions over arrays; numba compiles them at their first call, never at import, and
`machine_code` keeps what comes out. Setting the environment variable NUMBA_DISABLE_JIT=1 runs every kernel as plain
Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering
from numba.extending import register_jitable

from .machine_code import MachineCode
from .record import Lower

# What the compiler may do to floats: fuse a product and a sum, ignore the sign of zero. Not: assume finite numbers.
FAST_MATH = {"contract", "nsz"}

OPTIONS: dict[str, Any] = {"fastmath": FAST_MATH, "error_model": "numpy", "_nrt": False}

# Entries are called from Python alone, and kernels not from there.
ENTRY_OPTIONS: dict[str, Any] = {"no_cfunc_wrapper": True, **OPTIONS}
KERNEL_OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **OPTIONS}


class KernelLibrary(JITCodeLibrary):
    """The code of a kernel: to be linked into an entry and optimised there, not to be run by itself.

    numba would optimise each kernel with all that it calls and make machine code of it, at each level of calls
    anew; three fifths of the time that compiling takes would go there.
    """

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return a null pointer: there is no machine code."""
        return 0

    @property
    def codegen(self) -> KernelLibrary:
        """The one whose `set_env` is called."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Leave out what only machine code could use."""


class EntryLibrary(JITCodeLibrary):
    """The code of an entry with all its kernels, optimised once."""

    def _optimize_final_module(self) -> None:
        # numba has a cheaper pass before this one, to prune reference counts; kernels count none.
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)


class Lowering(NativeLowering):
    """Puts code into a library of a given kind."""

    library: type[JITCodeLibrary]

    @property
    def lowering_class(self) -> type[Lower]:
        """What does it."""
        return Lower

    def run_pass(self, state: Any) -> bool:
        """Lower to LLVM's language."""
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(Lowering):
    """Lowering of a kernel."""

    _name: Any = "kernel_lowering"
    library = KernelLibrary


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(Lowering):
    """Lowering of an entry."""

    _name: Any = "entry_lowering"
    library = EntryLibrary


class Compiler(CompilerBase):
    """Compiles as numba does, but for the lowering."""

    lowering: type[Lowering]

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes with the lowering replaced."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(self.lowering if p is NativeLowering else p, why) for p, why in passes.passes]
        passes.finalize()
        return [passes]


class KernelCompiler(Compiler):
    """Compiler of kernels."""

    lowering = KernelLowering


class EntryCompiler(Compiler):
    """Compiler of entries."""

    lowering = EntryLowering


def plain_python() -> bool:
    """Whether kernels run as plain Python."""
    return bool(getattr(numba.config, "DISABLE_JIT", False))


def entry(function: Callable[..., Any] | None = None, *, notice: str = "") -> Callable[..., Any]:
    """Compile `function`, which Python calls, at its first call; keep the machine code where that can be written.

    `notice` is said on standard error before compiling: what is compiled, and how long that usually takes.
    """
    if function is None:
        return functools.partial(entry, notice=notice)
    compiled = numba.njit(pipeline_class=EntryCompiler, **ENTRY_OPTIONS)(function)
    if not plain_python():
        compiled._cache = MachineCode(function, notice)
    return compiled


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` for entries and other kernels to call; Python cannot."""
    return numba.njit(pipeline_class=KernelCompiler, **KERNEL_OPTIONS)(function)


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` into each kernel that calls it, anew for each constant argument."""
    return numba.njit(pipeline_class=KernelCompiler, forceinline=True, **KERNEL_OPTIONS)(function)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of an entry or a kernel."""
    return getattr(function, "py_func", function)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Leave `function` as it is for Python, and let kernels call it in compiled form."""
    return register_jitable(**OPTIONS)(function)
