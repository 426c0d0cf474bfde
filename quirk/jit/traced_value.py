"""Traced values: numbers, vectors and arrays of a kernel under compilation, whose operations emit instructions.

Lanes are the eight entries of a vector register. A halved array is a view of an array in which only the first four of
every eight elements are accessed.
"""

from __future__ import annotations

import ctypes
import math
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .lane_types import DOUBLE, HALF, HALVED, INDEX, INT, LANES, VECTOR, WIDTH, LanesType
from .scalar import Scalar
from .separate_functions import compiled_separately

# Limit of the magnitude of integers that are treated as indices; all integers below it are exact as doubles.
LARGEST_INDEX = 1 << 53

# Alias of `pow` that LLVM's optimizer does not recognize. It would replace powers such as pow(x, 2) by x * x, whose
# result may be rounded differently.
POWER = "quirk.pow"
_LIBRARY = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
llvm.add_symbol(POWER, ctypes.cast(_LIBRARY.pow, ctypes.c_void_p).value)

# Floating-point relaxations of LLVM: a product and a sum may be fused ("contract"), and the sign of zero is ignored
# ("nsz"). LLVM must not assume finite numbers, because NaN must be preserved.
FLAGS = ("contract", "nsz")


class TooLongError(Exception):
    """Error raised if a traced function emits more instructions than the limit of `bounded`."""


class _Trace(threading.local):
    """Settings and state of the tracing in the current thread; several threads may trace at the same time.

    Attributes
    ----------
    count, limit : number of traced values created in this thread, and its limit, which `bounded` sets
    flags : floating-point relaxations of emitted instructions; none in a block of `exactly`
    """

    count: int = 0
    limit: float = math.inf
    flags: tuple[str, ...] = FLAGS


_TRACE = _Trace()


@contextmanager
def bounded(instructions: int) -> Iterator[None]:
    """Context manager that limits the number of emitted instructions; TooLongError is raised beyond the limit.

    `instructions` is the limit for the block. Each traced value counts as one instruction.
    """
    before = _TRACE.limit
    _TRACE.limit = min(before, _TRACE.count + instructions)
    try:
        yield
    finally:
        _TRACE.limit = before


@contextmanager
def exactly() -> Iterator[None]:
    """Context manager that makes results of traced functions bit-identical with those of plain Python.

    Operations are not fused, and zeros keep their signs.
    """
    before, _TRACE.flags = _TRACE.flags, ()
    try:
        yield
    finally:
        _TRACE.flags = before


class TracedValue(Scalar):
    """A value in a kernel under compilation; operations on it emit instructions.

    Attributes
    ----------
    context : numba's target context for arrays of kernels, or None
    kind : numba type of the value: an integer, float64, LANES, HALF or a flat array
    value : LLVM value
    """

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        self.context, self.builder, self.kind, self.value = context, builder, kind, value
        self._data: Any = None
        self._splat: tuple[Any, TracedValue] | None = None
        _TRACE.count += 1
        if _TRACE.count > _TRACE.limit:
            raise TooLongError("the function emits too many instructions")

    @property
    def written(self) -> bool:
        """Always true, because operations on this value emit instructions."""
        return True

    @classmethod
    def chosen(cls, truth: TracedValue, a: Any, b: Any) -> TracedValue:
        """Return `a` where a condition is true and `b` otherwise, for numbers or vectors."""
        return truth.selected(a, b)

    def like(self, kind: Any, value: Any) -> TracedValue:
        """Return the LLVM value `value` as a traced value of numba type `kind`, in the same kernel as this value."""
        return TracedValue(self.context, self.builder, kind, value)

    def splat(self, kind: LanesType = LANES) -> TracedValue:
        """Return a vector with this number in all lanes."""
        if self.kind is kind:
            return self
        block = self.builder.block
        # Emitted once per block, because other blocks may not have run.
        if self._splat is None or self._splat[0] is not block or self._splat[1].kind is not kind:
            self._splat = block, self._broadcast(self.number().value, kind)
        return self._splat[1]

    def _broadcast(self, number: Any, kind: LanesType) -> TracedValue:
        """Return a vector of type `kind` with the LLVM value `number` in all lanes."""
        width, undefined = kind.width, ir.Constant(kind.vector, ir.Undefined)
        if isinstance(number, ir.Constant):
            return self.like(kind, ir.Constant(kind.vector, [number] * width))
        single = self.builder.insert_element(undefined, number, ir.Constant(INT, 0))
        first = ir.Constant(ir.VectorType(INT, width), [0] * width)
        return self.like(kind, self.builder.shuffle_vector(single, undefined, first))

    @property
    def zero(self) -> TracedValue:
        """The number zero, as a traced value in the same kernel as this value."""
        return self._constant(0.0)

    def number(self) -> TracedValue:
        """Convert an integer or double to a double."""
        if self.kind is types.float64:
            return self
        signed = isinstance(self.kind, types.Integer) and getattr(self.kind, "signed", True)
        convert = self.builder.sitofp if signed else self.builder.uitofp
        return self.like(types.float64, convert(self.value, DOUBLE))

    def _as_index(self) -> Any:
        """Convert an integer of any size to a 64-bit integer."""
        if self.kind.bitwidth == INDEX.width:
            return self.value
        extend = self.builder.sext if self.kind.signed else self.builder.zext
        return extend(self.value, INDEX)

    def address(self, index: Any) -> Any:
        """Return the pointer to the element `index` of this array."""
        if self._data is None:
            self._data = self.context.data_model_manager[self.kind].get(self.builder, self.value, "data")
        return self.builder.gep(self._data, [self._constant(index).value])

    def __getitem__(self, index: Any) -> TracedValue:
        return self.like(self.kind.dtype, self.builder.load(self.address(index)))

    def __setitem__(self, index: Any, x: Any) -> None:
        self.builder.store(self._constant(x).number().value, self.address(index))

    @property
    def lanes(self) -> LanesType:
        """Type of the vectors loaded from this array: eight lanes, or four for a halved array."""
        return HALF if self.kind is HALVED else LANES

    def halved(self) -> TracedValue:
        """Return a view of this array in which only the first four of every eight elements are accessed."""
        return self.like(HALVED, self.value)

    def load(self, index: Any) -> TracedValue:
        """Load a vector of eight adjacent elements of this array, beginning at element `index`.

        For a halved array, four elements are loaded.
        """
        pointer = self.builder.bitcast(self.address(index), self.lanes.vector.as_pointer())
        return self.like(self.lanes, self.builder.load(pointer, align=8))

    def store(self, index: Any, lanes: Any) -> None:
        """Store a vector in eight adjacent elements of this array, beginning at element `index`.

        For a halved array, four elements are stored.
        """
        pointer = self.builder.bitcast(self.address(index), self.lanes.vector.as_pointer())
        self.builder.store(self._constant(lanes).splat(self.lanes).value, pointer, align=8)

    def load4(self, index: Any) -> TracedValue:
        """Load a vector of four adjacent elements of this array, beginning at element `index`."""
        pointer = self.builder.bitcast(self.address(index), HALF.vector.as_pointer())
        return self.like(HALF, self.builder.load(pointer, align=8))

    def store4(self, index: Any, lanes: Any) -> None:
        """Store a vector of four lanes in adjacent elements of this array, beginning at element `index`."""
        pointer = self.builder.bitcast(self.address(index), HALF.vector.as_pointer())
        self.builder.store(self._constant(lanes).splat(HALF).value, pointer, align=8)

    def gathered(self, indices: Sequence[Any]) -> TracedValue:
        """Return a vector of the elements of this array with the given eight indices."""
        lanes = ir.Constant(VECTOR, ir.Undefined)
        for k, index in enumerate(indices):
            lanes = self.builder.insert_element(lanes, self[index].value, ir.Constant(INT, k))
        return self.like(LANES, lanes)

    def shuffled(self, other: TracedValue, order: Sequence[int]) -> TracedValue:
        """Return the lanes with indices `order` of the concatenated vectors `self` and `other`."""
        return self.like(self.kind, self._shuffled(other.value, list(order)))

    def folded(self, combine: Callable[[Any, Any], Any]) -> TracedValue:
        """Reduce the lanes to one number by `combine`, which combines the lower and upper halves repeatedly."""
        part, width = self.value, WIDTH
        while width > 1:
            width //= 2
            halves = [
                self.builder.shuffle_vector(part, part, ir.Constant(ir.VectorType(INT, width), list(lanes)))
                for lanes in (range(width), range(width, 2 * width))
            ]
            part = combine(*halves)
        return self.like(types.float64, self.builder.extract_element(part, ir.Constant(INT, 0)))

    def greater(self, other: Any) -> TracedValue:
        """Return the larger of two vectors, lane by lane."""
        a, b = self.splat().value, self._constant(other).splat().value
        return self.like(LANES, self.builder.select(self.builder.fcmp_ordered(">", b, a), b, a))

    def spread(self, lane: int) -> TracedValue:
        """Return a vector with lane `lane` of this vector in all lanes."""
        return self.like(self.kind, self._shuffled(self.value, [lane] * self.kind.width))

    def permuted(self, order: Sequence[int]) -> TracedValue:
        """Return a copy of this vector with its first lanes permuted; `order` contains their indices."""
        return self.like(self.kind, self._shuffled(self.value, [*order, *range(len(order), self.kind.width)]))

    def replaced(self, lane: int, number: Any) -> TracedValue:
        """Return a copy of this vector in which lane `lane` is replaced by `number`."""
        width = self.kind.width
        mask = [width + k if k == lane else k for k in range(width)]
        return self.like(self.kind, self._shuffled(self._constant(number).splat(self.kind).value, mask))

    def widened(self) -> TracedValue:
        """Extend a vector of four lanes to eight lanes with zeros."""
        zeros = ir.Constant(HALF.vector, [0.0] * HALF.width)
        return self.like(LANES, self._shuffled(zeros, list(range(LANES.width)))) if self.kind is HALF else self

    def _shuffled(self, other: Any, mask: list[int]) -> Any:
        return self.builder.shuffle_vector(self.value, other, ir.Constant(ir.VectorType(INT, len(mask)), mask))

    def lane(self, lane: int) -> TracedValue:
        """Return the number in lane `lane` of this vector."""
        return self.like(types.float64, self.builder.extract_element(self.value, ir.Constant(INT, lane)))

    def reciprocal_above(self, limit: Any, of: TracedValue) -> TracedValue:
        """Return 1 / `of`, or 0 if this number is at most `limit`; if this number is NaN, the result is 1 / `of`."""
        small = self.builder.fcmp_ordered("<=", self.value, self._constant(limit).number().value)
        zero = ir.Constant(DOUBLE, 0.0)
        return self.like(types.float64, self.builder.select(small, zero, (1.0 / of).value))

    def compared(self, operator: str, other: Any) -> TracedValue:
        """Return the comparison with another number by `operator`, such as "<"; false for NaN, except for "!="."""
        a, b = self.number().value, self._constant(other).number().value
        # Only "!=" is true for NaN.
        compare = self.builder.fcmp_unordered if operator == "!=" else self.builder.fcmp_ordered
        return self.like(types.boolean, compare(operator, a, b))

    def logical(self, operator: str, other: Any) -> TracedValue:
        """Return the combination of two conditions by `operator`: "and_", "or_" or "xor"."""
        value = other.value if isinstance(other, TracedValue) else ir.Constant(ir.IntType(1), int(bool(other)))
        return self.like(types.boolean, getattr(self.builder, operator)(self.value, value))

    def selected(self, a: Any, b: Any) -> TracedValue:
        """Return `a` where this condition is true and `b` otherwise, for numbers or vectors."""
        a, b = (self._constant(float(x) if isinstance(x, int) else x) for x in (a, b))
        if LANES in (a.kind, b.kind):
            a, b = a.splat(), b.splat()
        else:
            a, b = a.number(), b.number()
        return self.like(a.kind, self.builder.select(self.value, a.value, b.value))

    def root(self) -> TracedValue:
        """Return the square roots of the lanes of this vector."""
        signature = ir.FunctionType(VECTOR, [VECTOR])
        function = cgutils.get_or_insert_function(self.builder.module, signature, f"llvm.sqrt.v{WIDTH}f64")
        return self.like(LANES, self.builder.call(function, [self.value]))

    def fused(self, factor: Any, term: Any) -> TracedValue:
        """Return this value times `factor` plus `term` with a single rounding (fused multiply-add)."""
        operands = [self, self._constant(factor), self._constant(term)]
        lanes = next((x.kind for x in operands if isinstance(x.kind, LanesType)), None)
        values = [(x.number() if lanes is None else x.splat(lanes)).value for x in operands]
        kind, name = (DOUBLE, "f64") if lanes is None else (lanes.vector, f"v{lanes.width}f64")
        signature = ir.FunctionType(kind, [kind] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, signature, f"llvm.fma.{name}")
        return self.like(types.float64 if lanes is None else lanes, self.builder.call(function, values))

    def function(self, name: str, *numbers: Any) -> TracedValue:
        """Emit a call of the function `name` with doubles as arguments: a function of the module `math`, or "rint"."""
        values = [self._constant(x).number().value for x in numbers]
        kind = ir.FunctionType(DOUBLE, [DOUBLE] * len(values))
        # Three functions are instructions of the processor; all others are in the C library.
        symbol = f"llvm.{name}.f64" if name in ("sqrt", "rint", "fabs") else name
        if name == "pow" and not _TRACE.flags:
            symbol = POWER
        function = cgutils.get_or_insert_function(self.builder.module, kind, symbol)
        return self.like(types.float64, self.builder.call(function, values))

    def computed(self, function: Callable[..., Any], arguments: Sequence[Any], count: int) -> list[TracedValue]:
        """Emit a call of a separately compiled function, which may contain loops and branches.

        The function takes this array, then `arguments`: first integers known at compilation, then doubles. It returns
        `count` doubles.
        """
        build = self.builder
        constants = tuple(x for x in arguments if not isinstance(x, TracedValue))
        numbers = [x.number().value for x in arguments[len(constants) :]]
        with build.goto_entry_block():
            inputs, results = (build.alloca(DOUBLE, size=max(size, 1)) for size in (len(numbers), count))
        for k, x in enumerate(numbers):
            build.store(x, build.gep(inputs, [ir.Constant(INT, k)]))
        address = ir.Constant(ir.IntType(64), compiled_separately(function, constants, len(numbers), count).address)
        pointer = DOUBLE.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer] * 3)
        build.call(build.inttoptr(address, kind.as_pointer()), [self.address(0), inputs, results])
        pointers = (build.gep(results, [ir.Constant(INT, k)]) for k in range(count))
        return [self.like(types.float64, build.load(pointer)) for pointer in pointers]

    def _constant(self, x: Any) -> TracedValue:
        """Return a number as a traced constant; traced values are returned unchanged."""
        if isinstance(x, TracedValue):
            return x
        if not isinstance(x, int | float | np.integer | np.floating | np.bool_):
            raise TypeError(f"{x!r} is no number")
        # Integers beyond LARGEST_INDEX are numbers, not indices.
        is_index = isinstance(x, int | np.integer) and not isinstance(x, bool) and abs(int(x)) < LARGEST_INDEX
        kind = types.intp if is_index else types.float64
        return self.like(kind, ir.Constant(INDEX, int(x)) if is_index else ir.Constant(DOUBLE, float(x)))

    def _with(self, other: Any, name: str, swapped: bool = False) -> Any:
        """Return the sum, difference, product or quotient ("add", "sub", "mul", "div") with another number or vector.

        If `swapped` is true, `other` is the first operand.
        """
        if not isinstance(other, TracedValue | int | float | np.integer | np.floating):
            return NotImplemented
        a, b = self, self._constant(other)
        if swapped:
            a, b = b, a
        lanes = next((kind for kind in (a.kind, b.kind) if isinstance(kind, LanesType)), None)
        if lanes is not None:
            a, b = a.splat(lanes), b.splat(lanes)
        elif isinstance(a.kind, types.Integer) and isinstance(b.kind, types.Integer) and name != "div":
            return self.like(types.intp, getattr(self.builder, name)(a._as_index(), b._as_index()))
        else:
            a, b = a.number(), b.number()
        return self.like(a.kind, getattr(self.builder, "f" + name)(a.value, b.value, flags=_TRACE.flags))

    def __add__(self, other: Any) -> TracedValue:
        return self._with(other, "add")

    def __radd__(self, other: Any) -> TracedValue:
        return self._with(other, "add", swapped=True)

    def __sub__(self, other: Any) -> TracedValue:
        return self._with(other, "sub")

    def __rsub__(self, other: Any) -> TracedValue:
        return self._with(other, "sub", swapped=True)

    def __mul__(self, other: Any) -> TracedValue:
        return self._with(other, "mul")

    def __rmul__(self, other: Any) -> TracedValue:
        return self._with(other, "mul", swapped=True)

    def __truediv__(self, other: Any) -> TracedValue:
        return self._with(other, "div")

    def __rtruediv__(self, other: Any) -> TracedValue:
        return self._with(other, "div", swapped=True)

    def __neg__(self) -> TracedValue:
        return self.like(self.kind, self.builder.fneg(self.value))
