"""Variants of numba's compiler with modified passes, which compile kernels in half the time.

numba optimizes each kernel again for each kernel that calls it, and searches for constructs that kernels do not
contain. The classes of this module avoid both by overriding private parts of numba. They are therefore used only with
versions of numba for which they have been tested (`compilation.TESTED`); other versions compile the same kernels with
numba's own passes. A library is numba's object that holds the LLVM code or machine code of one function.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar

from llvmlite import ir
from llvmlite.binding import Linkage, parse_assembly
from numba import types
from numba.core import lowering
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

# numba passes that are omitted to save compilation time. They have no effect on kernels, which have no closures,
# contexts, exceptions or array expressions.
NEEDLESS = {
    DeadBranchPrune, DumpParforDiagnostics, FindLiterallyCalls, InlineClosureLikes, InlineInlinables, InlineOverloads,
    LiteralPropagationSubPipelinePass, LiteralUnroll, MakeFunctionToJitFunction, NopythonRewrites,
    NoPythonSupportedFeatureValidation, RewriteDynamicRaises, RewriteSemanticConstants, WithLifting,
}  # fmt: skip


class Lower(lowering.Lower):
    """numba's generator of LLVM code, which also marks the memory of record arguments as always readable.

    LLVM's optimizer can then move loads of members out of loops and branches.
    """

    def setup_function(self, fndesc: Any) -> None:
        """Begin the LLVM code of a function, and mark the memory of its record arguments as always readable."""
        super().setup_function(fndesc)
        for given in self.call_conv.get_arguments(self.function):
            kept = getattr(given.type, "pointee", None)
            if isinstance(kept, ir.LiteralStructType):
                given.attributes.dereferenceable = self.context.get_abi_sizeof(kept)


class Library(JITCodeLibrary):
    """numba library with the LLVM code of one function, which is optimized only after it is linked into an entry."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def dependencies(self, visited: dict[JITCodeLibrary, None] | None = None) -> dict[JITCodeLibrary, None]:
        """Return the libraries of all functions that this library calls, directly or indirectly, each once."""
        visited = {} if visited is None else visited
        for library in self._linking_libraries:
            if library not in visited:
                visited[library] = None
                if isinstance(library, KernelLibrary):
                    library.dependencies(visited)
        return visited

    def link(self, module: Any) -> None:
        """Link the libraries of all functions that this library calls into an LLVM module."""
        for library in self.dependencies():
            own = library._final_module if isinstance(library, KernelLibrary) else library._get_module_for_linking()
            module.link_in(own, preserve=True)


class KernelLibrary(Library):
    """Unoptimized code of one kernel, which is linked into entries and optimized together with their code.

    By default numba links each kernel with all functions that it calls, optimizes the result and generates machine
    code, at each level of calls. This would take three fifths of the compilation time.
    """

    def finalize(self) -> None:
        """Mark the functions of this library so that each calling entry can link a copy of them."""
        self._raise_if_finalized()
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = "linkonce_odr"
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """Return the LLVM code of the kernel, linked with that of all functions that it calls.

        numba calls this method if a function compiled with numba's own passes calls the kernel.
        """
        if self._shared_module is None:
            self._shared_module = self._final_module.clone()
            self.link(self._shared_module)
        return self._shared_module

    def get_pointer_to_function(self, name: str) -> int:
        """Return a null pointer, because a kernel is compiled into entries and has no machine code of its own."""
        return 0

    @property
    def codegen(self) -> KernelLibrary:
        """The library itself, so that numba calls `KernelLibrary.set_env` instead of writing to machine code."""
        return self

    def set_env(self, name: str, environment: object) -> None:
        """Do nothing, because a kernel has no machine code that could use numba's environment."""


class EntryLibrary(Library):
    """LLVM code and machine code of an entry or component, optimized together with all its kernels.

    Attributes
    ----------
    components : the components that the code calls, each as (module, name, argument types, symbol)
    """

    components: tuple[Any, ...] = ()

    def finalize(self) -> None:
        """Link all kernels, optimize the code, and generate machine code."""
        below = self.dependencies()
        for library in below:
            self._reload_init.update(library._reload_init)
        self.components = tuple(library.component for library in below if hasattr(library, "component"))
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
        """Return the data for the disk cache: the machine code, and LLVM code that only declares the symbols.

        The actual LLVM code is omitted: no other code is linked with it later, and reading it would take most of the
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
    """numba pass that generates the LLVM code of a function, and stores it in a library of the class `library`."""

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
    """numba pass that generates the LLVM code of kernels."""

    _name: Any = "kernel_lowering"
    library = KernelLibrary


@register_pass(mutates_CFG=True, analysis_only=False)
class EntryLowering(Lowering):
    """numba pass that generates the LLVM code of entries."""

    _name: Any = "entry_lowering"
    library = EntryLibrary


class CachingContext(Context):
    """numba's typing context with a cache of the signatures of functions, operators and attributes."""

    signatures: ClassVar[dict[Any, Any]] = {}

    def __init__(self, context: Context) -> None:
        self.__dict__ = context.__dict__

    def resolve_function_type(self, function: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return the signature of a call with the given argument types, or None if the call is invalid."""
        if (isinstance(function, types.Type) and not isinstance(function, types.Function)) or keywords:
            return super().resolve_function_type(function, arguments, keywords)
        case = function, arguments
        if self.signatures.get(case) is None:
            self.signatures[case] = super().resolve_function_type(function, arguments, keywords)
        return self.signatures[case]


caching_context = functools.cache(CachingContext)


@register_pass(mutates_CFG=True, analysis_only=False)
class TypeInference(NopythonTypeInference):
    """Type inference with a cache of signatures that all kernels share."""

    _name: Any = "type_inference"

    def run_pass(self, state: Any) -> bool:
        """Infer the types of all variables of one function."""
        context, state.typingctx = state.typingctx, caching_context(state.typingctx)
        try:
            return super().run_pass(state)
        finally:
            state.typingctx = context


class Compiler(CompilerBase):
    """numba's compiler with modified passes, and without passes that kernels do not need."""

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
