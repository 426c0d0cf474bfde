"""Compilation of numerical kernels with numba.

Kernels are plain Python functions over arrays. numba compiles them at their first call, never at import, and
`quirk.jit.cache` saves the machine code. With the environment variable NUMBA_DISABLE_JIT=1 every kernel runs as plain
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
    """Library whose code is optimized only when an entry is linked."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def below(self, seen: dict[JITCodeLibrary, None] | None = None) -> dict[JITCodeLibrary, None]:
        """Return all libraries that this one needs, directly or indirectly, each once."""
        seen = {} if seen is None else seen
        for library in self._linking_libraries:
            if library not in seen:
                seen[library] = None
                if isinstance(library, KernelLibrary):
                    library.below(seen)
        return seen

    def link(self, module: Any) -> None:
        """Link all libraries that this one needs into a module."""
        for library in self.below():
            own = library._final_module if isinstance(library, KernelLibrary) else library._get_module_for_linking()
            module.link_in(own, preserve=True)


class KernelLibrary(Library):
    """Unoptimized code of one kernel, linked into entries and optimized there; not callable by itself.

    numba would link each kernel with everything it calls, optimize it and generate machine code, at each level of calls
    again; that would take three fifths of the compilation time.
    """

    def finalize(self) -> None:
        """Mark the functions as linkable into several entries, each with its own copy."""
        self._raise_if_finalized()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the code with everything it needs, for functions compiled by plain numba."""
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            self.link(self._shared_module)
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        """Return a null pointer, because a kernel has no machine code of its own."""
        return 0

    @property
    def codegen(self) -> KernelLibrary:
        """Object on which numba calls `set_env`: the library itself."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing: only machine code uses environments."""


class EntryLibrary(Library):
    """Code of an entry with all its kernels, optimized once."""

    def finalize(self) -> None:
        """Link all kernels, optimize, and generate machine code."""
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
        """Return the data to be saved: the machine code, and only the symbol names of the LLVM code.

        Nothing is linked with the LLVM code later, and reading all of it would dominate the loading time.
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
    """Lowering pass that puts the code into a library of the given class."""

    library: type[JITCodeLibrary]

    @property
    def lowering_class(self) -> type[Lower]:
        """Class that generates LLVM code for one function."""
        return Lower

    def run_pass(self, state: Any) -> bool:
        """Generate LLVM code for the function."""
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return super().run_pass(state)


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(Lowering):
    """Lowering pass of kernels."""

    _name: Any = "kernel_lowering"
    library = KernelLibrary


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(Lowering):
    """Lowering pass of entries."""

    _name: Any = "entry_lowering"
    library = EntryLibrary


class Remembering(Context):
    """numba's typing context with a cache of resolved function, operator and attribute signatures."""

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
    """Type inference whose resolved signatures are shared by all kernels."""

    _name: Any = "type_inference"

    def run_pass(self, state: Any) -> bool:
        """Infer the types of all variables."""
        context, state.typingctx = state.typingctx, remembering(state.typingctx)
        try:
            return super().run_pass(state)
        finally:
            state.typingctx = context


class Compiler(CompilerBase):
    """numba's compiler with QuIRK's lowering and without the needless passes."""

    lowering: type[Lowering]

    def define_pipelines(self) -> list[Any]:
        """Return numba's pass pipeline with some passes replaced or removed."""
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
    """Whether kernels run as plain Python (NUMBA_DISABLE_JIT)."""
    return bool(getattr(numba.config, "DISABLE_JIT", False))


def entry(
    function: Callable[..., Any] | None = None, *, needed_by: str = "", effort: float = 0.0
) -> Callable[..., Any]:
    """Compile a function that Python calls, at its first call, and save the machine code on disk if possible.

    Parameters
    ----------
    function : the kernel to be called from Python
    needed_by : str
        Feature that needs the entry, such as "runs need", for a line on standard error before compilation.
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
    """A compiled function that is called from Python with positional arguments.

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
        """Call the machine code for the types of the arguments; load or compile it at the first call."""
        kinds = tuple(map(kind_of, given))
        found = self._found.get(kinds)
        if found is not None:
            return found(*given)
        result = self.compiled(*given)
        signature = tuple(map(self.compiled.typeof_pyval, given))
        self._found[kinds] = self.compiled.overloads[signature].entry_point
        return result


def machine_code(entry: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    """Return the machine code of an entry for repeated fast calls with arguments of the given types.

    The machine code accepts only arguments of these types, without a check. Before the first call with such arguments,
    and without compilation, the entry itself is returned.
    """
    return entry._found.get(tuple(map(kind_of, given)), entry) if isinstance(entry, Entry) else entry


def kind_of(given: Any) -> Any:
    """Return a key that distinguishes arguments that need different machine code."""
    if isinstance(given, np.ndarray):
        return given.dtype, given.ndim, given.flags.c_contiguous, given.flags.writeable
    return type(given)


def kernel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function that entries and other kernels call; Python cannot call it.

    All integers, constant or not and of any size, share one compilation.
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
    """Return the type of a kernel's argument for compilation: all integer types become intp."""
    kind = types.unliteral(kind)
    return types.intp if isinstance(kind, types.Integer) else kind


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Inline `function` into each kernel that calls it, specialized for constant arguments."""
    return numba.njit(pipeline_class=KernelCompiler, forceinline=True, **KERNEL_OPTIONS)(function)


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the Python function behind an entry or kernel."""
    return getattr(function, "py_func", function)


def shared(function: Callable[..., Any]) -> Callable[..., Any]:
    """Leave `function` unchanged for Python, and let kernels call it in compiled form."""
    return register_jitable(pipeline_class=KernelCompiler, **KERNEL_OPTIONS)(function)
