"""Components: kernels that are compiled once for all entries that call them.

An entry, a function that Python calls, is compiled together with all its kernels. Large kernels that many entries need,
such as the equations of motion, would then be compiled once per entry. The machine code of a component is stored in a
separate file, and code that calls it refers to it by a symbol that contains its identity, a digest of all sources and
versions. The call of a component cannot be inlined and takes a few nanoseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.core.compiler import CompileResult

from .cache import MachineCode
from .compilation import COMPONENT_OPTIONS, kernel, plain_python, tested, with_general_integers


def component(*, effort: float, needed_by: str = "") -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Decorate a kernel that is compiled once for all entries that call it.

    Parameters
    ----------
    effort : float
        Compilation time on a reference machine, s; see `compile_times`.
    needed_by : str
        Feature that needs the component, such as "every state needs", for a message before compilation.
    """

    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        if plain_python() or not tested(numba.__version__):
            return kernel(function)
        dispatcher = numba.njit(**COMPONENT_OPTIONS)(function)
        dispatcher._cache = ComponentCode(function, needed_by, effort)
        dispatcher.compile = dispatcher._cache.locked(dispatcher.compile)
        return with_general_integers(dispatcher)

    return compiled


class ComponentCode(MachineCode):
    """Cache of the machine code of a component, which also makes the component callable from other machine code."""

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """Return the cached component for the argument types `sig`, or None if it must be compiled."""
        found = super().load_overload(sig, target_context)
        if found is not None:
            self._publish(sig, found)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save a compiled component in the first writable folder."""
        super().save_overload(sig, data)
        self._publish(sig, data)

    def _publish(self, sig: Any, compiled: Any) -> None:
        """Define the symbol of the component in this process, and generate the function that other code calls."""
        _, identity = self._name_and_identity(sig, compiled.target_context.codegen())
        symbol, library = f"quirk.{identity.hex()}", compiled.library
        llvm.add_symbol(symbol, library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
        library._shared_module = caller(symbol, compiled.fndesc, compiled.target_context)
        library.component = self.function.__module__, self.function.__qualname__, sig, symbol


def caller(symbol: str, description: Any, context: Any) -> Any:
    """Return an LLVM module with a function that has the component's name and calls the machine code at `symbol`.

    `description` is numba's function descriptor of the component, and `context` numba's target context.
    """
    module = ir.Module(name=symbol)
    kind = context.call_conv.get_function_type(description.restype, description.argtypes)
    callee, function = ir.Function(module, kind, symbol), ir.Function(module, kind, description.mangled_name)
    function.linkage = "linkonce_odr"
    function.attributes.add("alwaysinline")
    builder = ir.IRBuilder(function.append_basic_block())
    builder.ret(builder.call(callee, function.args))
    return llvm.parse_assembly(str(module))
