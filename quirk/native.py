"""Machine code of functions traced by themselves, to be called by pointer as ``function(t, inputs, outputs)``.

What such a function does is written down once as instructions (`quirk.traced`) and compiled without numba's analysis of
Python code. Functions that come to the same instructions share their machine code; that of functions of QuIRK itself
stays on disk for later processes.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pickle
import re
from collections.abc import Callable
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from .compiled import EntryLibrary
from .machine_code import folders, read, reason, say, write
from .traced import DOUBLE, Traced

FUNCTION = ir.FunctionType(ir.VoidType(), [DOUBLE, DOUBLE.as_pointer(), DOUBLE.as_pointer()])
ARRAY = types.Array(types.float64, 1, "C")

# An address in code.
ADDRESS = re.compile(r"inttoptr i64 \d")

# Stands for the name of a function in its code: within a process, functions of the same name would be one.
PLACEHOLDER = "written.here"

# So many functions are kept compiled for systems to come; those of present ones are kept by these.
MOST_COMPILED = 256


class Native:
    """A function in machine code.

    Attributes
    ----------
    address : at which it is, as long as this object lives
    """

    def __init__(self, library: Any, symbol: str) -> None:
        self._library = library
        self.address = int(library.get_pointer_to_function(symbol))


class TracedPointer(Traced):
    """An array of doubles that a function is given by the address of its first element."""

    def __init__(self, context: Any, builder: Any, pointer: Any) -> None:
        super().__init__(context, builder, ARRAY, None)
        self._data = pointer


def native(function: Callable[[Any, Any, Any], None], *, keep: bool) -> Native:
    """Return the machine code of a function of a time and two arrays of numbers, which is run once to write it.

    `keep` lets it stay on disk. Whatever the function raises is raised here.
    """

    def write(context: Any, builder: Any, t: Any, inputs: Any, outputs: Any) -> None:
        arrays = (TracedPointer(context, builder, array) for array in (inputs, outputs))
        function(Traced(context, builder, types.float64, t), *arrays)
        builder.ret_void()

    return written(write, keep=keep)


def written(write: Callable[..., None], *, keep: bool) -> Native:
    """Return the machine code that ``write(context, builder, t, inputs, outputs)`` puts down, with all its blocks."""
    context = cpu_target.target_context
    context.refresh()
    module = ir.Module(PLACEHOLDER)
    made = ir.Function(module, FUNCTION, PLACEHOLDER)
    builder = ir.IRBuilder(made.append_basic_block())
    write(context, builder, *made.args)
    code = str(module)
    # An address of this process has no meaning in others.
    return _compiled(code, keep and not ADDRESS.search(code))


@functools.lru_cache(MOST_COMPILED)
@global_compiler_lock
def _compiled(code: str, keep: bool) -> Native:
    """Compile a module, given as text, or find what it was compiled to before."""
    codegen = cpu_target.target_context.codegen()
    made_from = (code, codegen.magic_tuple(), numba.__version__, llvmlite.__version__)
    identity = hashlib.sha256(repr(made_from).encode()).digest()
    symbol = f"quirk.{identity.hex()}"
    file, places = f"traced.{identity.hex()[:16]}.quirk", folders(native) if keep else []
    for folder in places:
        try:
            payload = read(folder / file, identity)
            if payload is not None:
                return Native(codegen.unserialize_library(pickle.loads(payload)), symbol)
        except Exception as error:  # a damaged file may lead to any
            say("trouble", f"machine code in {folder / file} cannot be used ({reason(error)}), so it is compiled anew")
    library = EntryLibrary(codegen, symbol)
    library.enable_object_caching()
    library.add_llvm_module(llvm.parse_assembly(code.replace(PLACEHOLDER, symbol)))
    library.finalize()
    made = Native(library, symbol)
    for folder in places:
        # Where it cannot be kept, the next process takes a few hundredths of a second to compile it anew.
        with contextlib.suppress(OSError):
            write(folder / file, identity, pickle.dumps(library.serialize_using_object_code()))
            break
    return made


def call_address(array: Traced, index: int, t: Traced, inputs: Any, outputs: Any) -> None:
    """Write a call of the function whose address is kept, as an integer, in the place of one element of an array."""
    build = array.builder
    place = build.bitcast(array.address(index), ir.IntType(64).as_pointer())
    build.call(build.inttoptr(build.load(place), FUNCTION.as_pointer()), [t.value, inputs, outputs])
