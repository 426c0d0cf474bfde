"""Compilation of single functions, called by pointer as ``function(t, inputs, outputs)``.

Such a function is traced: it is run once on traced values, which emit its operations as instructions
(`quirk.jit.tracing`). These are compiled without numba's analysis of Python code. Functions with the same instructions
share their machine code. The code of QuIRK's functions is cached on disk; that of user functions is freed when no
longer in use.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import itertools
import re
import struct
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.compiler_lock import global_compiler_lock

from .cache import folders, read, reason, say, write
from .lane_types import DOUBLE
from .target_machine import code_identity, compiled_image
from .traced_value import TracedValue

FUNCTION = ir.FunctionType(ir.VoidType(), [DOUBLE, DOUBLE.as_pointer(), DOUBLE.as_pointer()])
ARRAY = types.Array(types.float64, 1, "C")

# Pattern of a memory address in LLVM code. Code with addresses of this process is not cached on disk.
ADDRESS = re.compile(r"inttoptr i64 \d")

# Name of a function in its LLVM code before compilation; code of equal functions must be equal, whatever their names.
PLACEHOLDER = "written.here"
# Name of the function in compiled code; each compiled function has a library of its own.
OWN_SYMBOL = "quirk.function"
# Name of the array of constants that compiled code reads, patterns of a number and of a constant vector in LLVM code,
# and the numbers that remain in the code: 0, 1, 2, 1/2 and their negatives, for which LLVM simplifies operations.
DATA = "quirk.numbers"
NUMBER, CONSTANT_LANES = re.compile(r"\b0x[0-9a-fA-F]{16}\b"), "<double "
PLAIN_NUMBERS = {f"0x{struct.pack('>d', sign * x).hex()}" for x in (0.0, 1.0, 2.0, 0.5) for sign in (1.0, -1.0)}
# Counter for unique names of libraries.
_NUMBERS = itertools.count()

# Maximum number of compiled functions in the cache for future systems. Functions of existing systems are kept anyway.
MOST_COMPILED = 256


class Native:
    """Machine code of a single compiled function.

    Parameters
    ----------
    owner : object that holds the machine code, which is freed when `owner` is deleted
    address : address of the function

    Attributes
    ----------
    address : address of the function, valid while this object exists
    """

    def __init__(self, owner: Any, address: int) -> None:
        self._owner, self.address = owner, address


class TracedPointer(TracedValue):
    """A traced array of doubles, given by the address of its first element."""

    def __init__(self, builder: Any, pointer: Any) -> None:
        super().__init__(None, builder, ARRAY, None)
        self._data = pointer


def native(function: Callable[[Any, Any, Any], None], *, keep: bool) -> Native:
    """Compile a Python function ``function(t, inputs, outputs)`` by calling it once on traced values.

    The traced values emit the operations of the function as instructions. If `keep` is true, the machine code is cached
    on disk. Exceptions of the function propagate to the caller.
    """

    def write(builder: Any, t: Any, inputs: Any, outputs: Any) -> None:
        arrays = (TracedPointer(builder, array) for array in (inputs, outputs))
        function(TracedValue(None, builder, types.float64, t), *arrays)
        builder.ret_void()

    return from_instructions(write, keep=keep)


def from_instructions(write: Callable[..., None], *, keep: bool) -> Native:
    """Compile a function whose instructions are emitted by ``write(builder, t, inputs, outputs)``.

    The function may have several blocks, with branches between them. If `keep` is true, the machine code is cached on
    disk.
    """
    module = ir.Module(PLACEHOLDER)
    made = ir.Function(module, FUNCTION, PLACEHOLDER)
    builder = ir.IRBuilder(made.append_basic_block())
    write(builder, *made.args)
    code = str(module)
    # Code with an address of this process is invalid in other processes.
    return _linked(code, keep and not ADDRESS.search(code))


@functools.lru_cache(MOST_COMPILED)
@global_compiler_lock
def _linked(code: str, keep: bool) -> Native:
    """Compile LLVM code, given as a string, and return its machine code, which is freed with the returned object.

    Codes that differ only in numerical constants are compiled once: each copy of the machine code reads its constants
    from an array. If `keep` is true, the machine code is cached on disk.
    """
    text, numbers = _with_constants_as_data(code)
    image, outside = (_stored_image if keep else _image)(text)
    library = llvm.JITLibraryBuilder().add_object_img(image).add_current_process()
    for name in outside:
        address = llvm.address_of_symbol(name)
        if address:  # others are found among those of the process
            library.import_symbol(name, address)
    library.export_symbol(OWN_SYMBOL).export_symbol(DATA)
    tracker = library.link(_linker(), f"quirk.{next(_NUMBERS)}")
    ctypes.memmove(tracker[DATA], numbers.ctypes.data, numbers.nbytes)
    return Native(tracker, int(tracker[OWN_SYMBOL]))


def _with_constants_as_data(code: str) -> tuple[str, np.ndarray]:
    """Replace numerical constants in LLVM code by elements of an array; return the code and the array.

    Constants that allow simplifications, such as zero, and constant vectors remain in the code.
    """
    found: dict[str, int] = {}
    lines: list[str] = []
    for line in code.replace(PLACEHOLDER, OWN_SYMBOL).splitlines():
        instruction = line.startswith("  ") and CONSTANT_LANES not in line
        for number in dict.fromkeys(NUMBER.findall(line)) if instruction else ():
            if number in PLAIN_NUMBERS:
                continue
            k, name = found.setdefault(number, len(found)), f'%"number.{len(lines)}"'
            place = f'getelementptr ([1 x double], [1 x double]* @"{DATA}", i32 0, i32 {k})'
            lines.append(f"  {name} = load double, double* {place}, !invariant.load !0")
            line = line.replace(number, name)
        lines.append(line)
    text, size = "\n".join(lines).replace("[1 x double]", f"[{max(len(found), 1)} x double]"), max(len(found), 1)
    data = f'@"{DATA}" = global [{size} x double] zeroinitializer\n!0 = !{{}}\n'
    values = [struct.unpack(">d", bytes.fromhex(number[2:]))[0] for number in found]
    return f"{text}\n{data}", np.array([*values, *[0.0] * (size - len(values))])


_image = functools.lru_cache(MOST_COMPILED)(compiled_image)


@functools.lru_cache(MOST_COMPILED)
def _stored_image(text: str) -> tuple[bytes, list[str]]:
    """Return the machine code for the LLVM code `text` from the disk cache; if missing, compile and store it.

    The second result is a list with the names of the functions that the code calls.
    """
    identity = hashlib.sha256(repr((text, code_identity())).encode()).digest()
    file, places = f"traced.{identity.hex()[:16]}.quirk", folders(native)
    for folder in places:
        try:
            payload = read(folder / file, identity)
            if payload is not None:
                names, _, image = payload.partition(b"\n")
                return image, names.decode().split()
        except Exception as error:  # a damaged file may cause any error
            say("trouble", f"machine code in {folder / file} cannot be used ({reason(error)}), so it is compiled anew")
    image, outside = compiled_image(text)
    for folder in places:
        # If it cannot be stored, each process recompiles it in a few hundredths of a second.
        with contextlib.suppress(OSError):
            write(folder / file, identity, " ".join(outside).encode() + b"\n" + image)
            break
    return image, outside


@functools.cache
def _linker() -> Any:
    """Return an LLVM linker whose machine code can be freed."""
    return llvm.create_lljit_compiler()


def call_address(array: TracedValue, index: int, t: TracedValue, inputs: Any, outputs: Any) -> None:
    """Emit a call with the arguments (t, inputs, outputs) of the function whose address is `array[index]`."""
    build = array.builder
    place = build.bitcast(array.address(index), ir.IntType(64).as_pointer())
    build.call(build.inttoptr(build.load(place), FUNCTION.as_pointer()), [t.value, inputs, outputs])
