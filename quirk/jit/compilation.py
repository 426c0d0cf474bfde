"""Compilation of numerical functions with numba.

Kernels are plain Python functions over arrays that only compiled code calls; entries are those that Python calls. numba
compiles them at their first call, never at import, and `quirk.jit.cache` saves the machine code. A library is numba's
object that holds the LLVM code or machine code of one function. With the environment variable NUMBA_DISABLE_JIT=1 every
kernel runs as plain Python.
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

# Floating-point relaxations: fusing a product and a sum, ignoring the sign of zero. Not included: assuming finite
# numbers.
FAST_MATH = {"contract", "nsz"}

OPTIONS: dict[str, Any] = {"fastmath": FAST_MATH, "error_model": "numpy", "_nrt": False}

# numba passes without effect on kernels, which have no closures, contexts, exceptions or array expressions. Each would
# inspect all variables again.
NEEDLESS = {
    DeadBranchPrune, DumpParforDiagnostics, FindLiterallyCalls, InlineClosureLikes, InlineInlinables, InlineOverloads,
    LiteralPropagationSubPipelinePass, LiteralUnroll, MakeFunctionToJitFunction, NopythonRewrites,
    NoPythonSupportedFeatureValidation, RewriteDynamicRaises, RewriteSemanticConstants, WithLifting,
}  # fmt: skip

# Entries are called from Python only, kernels only from compiled code, so each needs one kind of wrapper.
ENTRY_OPTIONS: dict[str, Any] = {"no_cfunc_wrapper": True, **OPTIONS}
KERNEL_OPTIONS: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, **OPTIONS}


class Library(JITCodeLibrary):
    """Code of one function, which is optimized only when an entry is linked."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def below(self, seen: dict[JITCodeLibrary, None] | None = None) -> dict[JITCodeLibrary, None]:
        """Return all libraries that this one calls, directly or indirectly; each occurs once."""
        seen = {} if seen is None else seen
        for library in self._linking_libraries:
            if library not in seen:
                seen[library] = None
                if isinstance(library, KernelLibrary):
                    library.below(seen)
        return seen

    def link(self, module: Any) -> None:
        """Link all libraries that this one calls into an LLVM module."""
        for library in self.below():
            own = library._final_module if isinstance(library, KernelLibrary) else library._get_module_for_linking()
            module.link_in(own, preserve=True)


class KernelLibrary(Library):
    """Unoptimized code of one kernel, which is linked into entries and optimized together with their code.

    By default numba links each kernel with all functions that it calls, optimizes the result and generates machine
    code, and repeats this at each level of calls. That would take three fifths of the compilation time.
    """

    def finalize(self) -> None:
        """Mark the functions such that several entries can each link a copy of them."""
        self._raise_if_finalized()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the code of the kernel together with all code that it calls.

        Functions compiled by plain numba are linked with it.
        """
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            self.link(self._shared_module)
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        """Return a null pointer, because a kernel has no machine code of its own."""
        return 0

    @property
    def codegen(self) -> KernelLibrary:
        """The library itself, so that numba's calls of `set_env` reach the method below."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing; numba's environments are used by machine code only."""


class EntryLibrary(Library):
    """Code of an entry with all its kernels, optimized together."""

    def finalize(self) -> None:
        """Link all kernels, optimize the code, and generate machine code."""
        for library in self.below():
            self._reload_init.update(library._reload_init)
        self.link(self._final_module)
        self._linking_libraries = []
        # Kernels of entries compiled in different processes may share a name and differ. Internal functions are
        # renamed, because LLVM would otherwise resolve calls of plain numba code in this process to them by name.
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = "internal"
                function.name = f"own.{function.name}"
        super().finalize()

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """Return the data for the disk cache: the machine code, and the symbol names of the LLVM code.

        The rest of the LLVM code is left out: nothing is linked with it later, and reading it would take most of the
        loading time.
        """
        self._ensure_finalized()
        module = self._final_module
        own = [one for one in module.functions if one.linkage == Linkage.external and not one.is_declaration]
        lines = [f'define void @"{one.name}"() {{ ret void }}' for one in own]
        lines += [f'@"{one.name}" = global i8 0' for one in module.global_variables if not one.is_declaration]
        return self.name, "object", (self._get_compiled_object(), parse_assembly("\n".join(lines)).as_bitcode())

    def _optimize_final_module(self) -> None:
        # numba's cheaper pass before this one prunes reference counts, which kernels do not have.
        manager, builder = self._codegen._module_pass_manager()
        manager.run(self._final_module, builder)


class Lowering(NativeLowering):
    """Compiler pass that generates LLVM code into a library of the class `library`."""

    library: type[JITCodeLibrary]

    @property
    def lowering_class(self) -> type[Lower]:
        """Class that generates LLVM code for one function."""
        return Lower

    def run_pass(self, state: Any) -> bool:
        """Generate the LLVM code of one function."""
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(Lowering):
    """Compiler pass that generates the LLVM code of kernels."""

    _name: Any = "kernel_lowering"
    library = KernelLibrary


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(Lowering):
    """Compiler pass that generates the LLVM code of entries."""

    _name: Any = "entry_lowering"
    library = EntryLibrary


class Remembering(Context):
    """numba's typing context with a cache of the signatures of functions, operators and attributes."""

    found: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Context) -> None:
        self.__dict__ = context.__dict__

    def resolve_function_type(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the signature of a call with these argument types, or None if there is none."""
        if (isinstance(function, types.Type) and not isinstance(function, types.Function)) or keywords:
            return super().resolve_function_type(function, arguments, keywords)
        case = function, arguments
        if self.found.get(case) is None:
            self.found[case] = super().resolve_function_type(function, arguments, keywords)
        return self.found[case]


remembering = functools.cache(Remembering)


@register_pass(mutates_CFG=True, analysis_only=False)
class TypeInference(NopythonTypeInference):
    """Type inference with a cache of signatures that all kernels share."""

    _name: Any = "type_inference"

    def run_pass(self, state: Any) -> bool:
        """Infer the types of all variables of one function."""
        context, state.typingctx = state.typingctx, remembering(state.typingctx)
        try:
            return super().run_pass(state)
        finally:
            state.typingctx = context


class Compiler(CompilerBase):
    """numba's compiler with QuIRK's passes, and without passes that kernels do not need."""

    lowering: type[Lowering]

    def define_pipelines(self) -> list[Any]:
        """Return numba's list of passes with some passes replaced or removed."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        ours = {NativeLowering: self.lowering, NopythonTypeInference: TypeInference}
        passes.passes = [(ours.get(p, p), why) for p, why in passes.passes if p not in NEEDLESS]
        passes.finalize()
        return [passes]


class KernelCompiler(Compiler):
    """numba's compiler for kernels, which leaves their code unoptimized."""

    lowering = KernelLowering


class EntryCompiler(Compiler):
    """numba's compiler for entries, which optimizes an entry with all its kernels."""

    lowering = EntryLowering


def plain_python() -> bool:
    """Whether kernels run as plain Python (NUMBA_DISABLE_JIT)."""
    return bool(getattr(numba.config, "DISABLE_JIT", False))


def entry(
    function: Callable[..., Any] | None = None, *, needed_by: str = "", effort: float = 0.0
) -> Callable[..., Any]:
    """Compile a function that Python calls, at its first call, and save the machine code on disk if possible.

    Parameters
    ----------
    function : the function
    needed_by : str
        Feature that needs the entry, such as "runs need", for a message on standard error before compilation.
    effort : float
        Compilation time on a reference machine, s, relative to other entries; see `compile_times`.
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
    """Compiled function that is called from Python with positional arguments.

    At each call numba inspects all members of all records to determine their types, which takes ten times as long as
    passing them. Here the classes of the arguments determine the types, so all records of a class must have members of
    the same types.

    Attributes
    ----------
    compiled : numba's dispatcher
    """

    def __init__(self, compiled: Any) -> None:
        functools.update_wrapper(self, compiled.py_func)
        self.compiled, self.py_func = compiled, compiled.py_func
        self._found: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def __call__(self, *given: Any) -> Any:
        """Call the machine code for the types of the arguments; it is loaded or compiled at the first call."""
        kinds = tuple(map(kind_of, given))
        found = self._found.get(kinds)
        if found is not None:
            return found(*given)
        result = self.compiled(*given)
        signature = tuple(map(self.compiled.typeof_pyval, given))
        self._found[kinds] = self.compiled.overloads[signature].entry_point
        return result


def machine_code(entry: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    """Return the machine code of an entry for fast repeated calls with arguments of the same types as `given`.

    Such calls do not check the types. The entry itself is returned if it has not yet been called with arguments of
    these types.
    """
    return entry._found.get(tuple(map(kind_of, given)), entry) if isinstance(entry, Entry) else entry


def kind_of(given: Any) -> Any:
    """Return a key for an argument; arguments with equal keys can use the same machine code.

    The key is the class of the argument or, for an array, its data type, dimension, contiguity and writability.
    """
    if isinstance(given, np.ndarray):
        return given.dtype, given.ndim, given.flags.c_contiguous, given.flags.writeable
    return type(given)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that entries and other kernels call; Python cannot call it.

    Integers of all types, constant or not, share one compilation.
    """
    # By default numba also copies the callees of an inlined kernel into each caller.
    compiled = numba.njit(pipeline_class=KernelCompiler, forceinline=False, **KERNEL_OPTIONS)(function)
    if not plain_python():
        template = compiled.get_call_template
        compiled.get_call_template = lambda given, named: template(
            tuple(map(general, given)), {name: general(kind) for name, kind in named.items()}
        )
    return compiled


def general(kind: types.Type) -> types.Type:
    """Return the type for which a kernel is compiled, given the type of an argument: all integers become intp."""
    kind = types.unliteral(kind)
    return types.intp if isinstance(kind, types.Integer) else kind


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function whose code is inlined into each calling kernel and specialized for constant arguments."""
    return numba.njit(pipeline_class=KernelCompiler, forceinline=True, **KERNEL_OPTIONS)(function)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function from which an entry or kernel was compiled."""
    return getattr(function, "py_func", function)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that kernels call in compiled form and that Python calls unchanged."""
    return register_jitable(pipeline_class=KernelCompiler, **KERNEL_OPTIONS)(function)
