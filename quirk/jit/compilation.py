"""Compilation of numerical kernels, in one place with one switch.

Kernels are plain Python functions over arrays; numba compiles them at their first call, never at import, and
`machine_code` keeps what comes out. Setting the environment variable NUMBA_DISABLE_JIT=1 runs every kernel as plain
Python.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numba
import numpy as np
from llvmlite.binding import Linkage, parse_assembly
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import (
    DumpParforDiagnostics,
    InlineOverloads,
    NativeLowering,
    NopythonRewrites,
    NoPythonSupportedFeatureValidation,
    NopythonTypeInference,
)
from numba.core.typing import Context
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FindLiterallyCalls,
    InlineClosureLikes,
    InlineInlinables,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    RewriteDynamicRaises,
    RewriteSemanticConstants,
    WithLifting,
)
from numba.extending import register_jitable

from .cache import MachineCode
from .record import Lower

# What the compiler may do to floats: fuse a product and a sum, ignore the sign of zero. Not: assume finite numbers.
FAST_MATH = {"contract", "nsz"}

OPTIONS: dict[str, Any] = {"fastmath": FAST_MATH, "error_model": "numpy", "_nrt": False}

# Passes of numba that find nothing in kernels, which have no closures, no contexts, no exceptions and no array
# expressions; each looks at all variables anew.
NEEDLESS = {
    DeadBranchPrune, DumpParforDiagnostics, FindLiterallyCalls, InlineClosureLikes, InlineInlinables, InlineOverloads,
    LiteralPropagationSubPipelinePass, LiteralUnroll, MakeFunctionToJitFunction, NopythonRewrites,
    NoPythonSupportedFeatureValidation, RewriteDynamicRaises, RewriteSemanticConstants, WithLifting,
}  # fmt: skip

# Entries are called from Python alone, and kernels not from there.
ENTRY_OPTIONS: dict[str, Any] = {"no_cfunc_wrapper": True, **OPTIONS}
KERNEL_OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **OPTIONS}


class Library(JITCodeLibrary):
    """Code that is optimized when an entry is put together, not before."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def below(self, seen: dict[JITCodeLibrary, None] | None = None) -> dict[JITCodeLibrary, None]:
        """Return all libraries whose code this one needs, each once."""
        seen = {} if seen is None else seen
        for library in self._linking_libraries:
            if library not in seen:
                seen[library] = None
                if isinstance(library, KernelLibrary):
                    library.below(seen)
        return seen

    def link(self, module: Any) -> None:
        """Put the code that this one needs into a module."""
        for library in self.below():
            own = library._final_module if isinstance(library, KernelLibrary) else library._get_module_for_linking()
            module.link_in(own, preserve=True)


class KernelLibrary(Library):
    """The code of a kernel alone: to be linked into an entry and optimized there, not to be run by itself.

    numba would link each kernel with all that it calls, optimize that and make machine code of it, at each level of
    calls anew; three fifths of the time that compiling takes would go there.
    """

    def finalize(self) -> None:
        """Let entries have a copy of their own of each function."""
        self._raise_if_finalized()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the code with all that it needs, for what numba compiles by itself."""
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            self.link(self._shared_module)
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        """Return a null pointer: there is no machine code."""
        return 0

    @property
    def codegen(self) -> KernelLibrary:
        """The one whose `set_env` is called."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Leave out what only machine code could use."""


class EntryLibrary(Library):
    """The code of an entry with all its kernels, optimized once."""

    def finalize(self) -> None:
        """Link, optimize and make machine code."""
        for library in self.below():
            self._reload_init.update(library._reload_init)
        self.link(self._final_module)
        self._linking_libraries = []
        # Kernels of two entries that were compiled in two processes may have one name and differ. Internal functions
        # are renamed, since LLVM would find them by name for plain numba code of the same process.
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
                function.name = f"own.{function.name}"
        super().finalize()

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """Return what a file keeps: machine code, and of LLVM's code the names alone, since nothing is linked with it.

        All of that would take longer to read than everything else.
        """
        self._ensure_finalized()
        module = self._final_module
        own = [one for one in module.functions if one.linkage == Linkage.external and not one.is_declaration]
        lines = [f'define void @"{one.name}"() {{ ret void }}' for one in own]
        lines += [f'@"{one.name}" = global i8 0' for one in module.global_variables if not one.is_declaration]
        return self.name, "object", (self._get_compiled_object(), parse_assembly("\n".join(lines)).as_bitcode())

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


class Remembering(Context):
    """numba's knowledge of what functions return; of operators and the like, each case is found out once."""

    found: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Context) -> None:
        self.__dict__ = context.__dict__

    def resolve_function_type(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the signature of a call, or None."""
        if (isinstance(function, types.Type) and not isinstance(function, types.Function)) or keywords:
            return super().resolve_function_type(function, arguments, keywords)
        case = function, arguments
        if self.found.get(case) is None:
            self.found[case] = super().resolve_function_type(function, arguments, keywords)
        return self.found[case]


remembering = functools.cache(Remembering)


@register_pass(mutates_CFG=True, analysis_only=False)
class TypeInference(NopythonTypeInference):
    """Type inference that goes through all kinds of sum, and of call, once for all kernels."""

    _name: Any = "type_inference"

    def run_pass(self, state: Any) -> bool:
        """Find the types of all variables."""
        context, state.typingctx = state.typingctx, remembering(state.typingctx)
        try:
            return super().run_pass(state)
        finally:
            state.typingctx = context


class Compiler(CompilerBase):
    """Compiles as numba does, but for the lowering, and for what can be left out."""

    lowering: type[Lowering]

    def define_pipelines(self) -> list[Any]:
        """Return numba's passes with some replaced."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        ours = {NativeLowering: self.lowering, NopythonTypeInference: TypeInference}
        passes.passes = [(ours.get(p, p), why) for p, why in passes.passes if p not in NEEDLESS]
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


def entry(
    function: Callable[..., Any] | None = None, *, needed_by: str = "", effort: float = 0.0
) -> Callable[..., Any]:
    """Compile `function`, which Python calls, at its first call; keep the machine code where that can be written.

    Parameters
    ----------
    function : kernel that Python calls
    needed_by : str
        What needs it, such as "runs need", for a line on standard error before it is compiled.
    effort : float
        How long that takes in relation to other entries, in seconds of one machine; see `compile_times`.
    """
    if function is None:
        return functools.partial(entry, needed_by=needed_by, effort=effort)
    compiled = numba.njit(pipeline_class=EntryCompiler, **ENTRY_OPTIONS)(function)
    if plain_python():
        return compiled
    compiled._cache = MachineCode(function, needed_by, effort)
    compiled.compile = compiled._cache.one_at_a_time(compiled.compile)
    return Entry(compiled)


class Entry:
    """A compiled function that Python calls, with positional arguments.

    numba looks at all members of all records at each call to tell their types, which takes ten times as long as to hand
    them over. Here their classes do, so all records of a class have members of the same types.

    Attributes
    ----------
    compiled : numba's function
    """

    def __init__(self, compiled: Any) -> None:
        functools.update_wrapper(self, compiled.py_func)
        self.compiled, self.py_func = compiled, compiled.py_func
        self._found: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *given: Any) -> Any:
        """Call the machine code for arguments of these kinds, which is found or made at the first call."""
        kinds = tuple(map(kind_of, given))
        found = self._found.get(kinds)
        if found is not None:
            return found(*given)
        result = self.compiled(*given)
        signature = tuple(map(self.compiled.typeof_pyval, given))
        self._found[kinds] = self.compiled.overloads[signature].entry_point
        return result


def kind_of(given: Any) -> Any:
    """What tells apart arguments of entries that need machine code of their own."""
    if isinstance(given, np.ndarray):
        return given.dtype, given.ndim, given.flags.c_contiguous, given.flags.writeable
    return type(given)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` for entries and other kernels to call; Python cannot.

    It is compiled once for all integers, constant or not and of whatever size.
    """
    # Unless it is told not to, numba writes what an inlined kernel calls into each caller, too.
    compiled = numba.njit(pipeline_class=KernelCompiler, forceinline=False, **KERNEL_OPTIONS)(function)
    if not plain_python():
        template = compiled.get_call_template
        compiled.get_call_template = lambda given, named: template(
            tuple(map(general, given)), {name: general(kind) for name, kind in named.items()}
        )
    return compiled


def general(kind: types.Type) -> types.Type:
    """The type that stands for one of an argument."""
    kind = types.unliteral(kind)
    return types.intp if isinstance(kind, types.Integer) else kind


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile `function` into each kernel that calls it, anew for each constant argument."""
    return numba.njit(pipeline_class=KernelCompiler, forceinline=True, **KERNEL_OPTIONS)(function)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function of an entry or a kernel."""
    return getattr(function, "py_func", function)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Leave `function` as it is for Python, and let kernels call it in compiled form."""
    return register_jitable(pipeline_class=KernelCompiler, **KERNEL_OPTIONS)(function)
