"""Small functions without loops or branches, which are inlined into each compiled kernel that calls them.

A function marked `traced` runs as plain Python on numbers and arrays. When a kernel that calls it is compiled, it is
run once per call on traced values, which emit each operation as an instruction. It therefore needs neither a call nor a
compilation of its own, and accepts any type of argument that supports its operations.

Lanes are the eight entries of a vector register. A halved array is a view of an array in which only the first four of
every eight elements are accessed.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
import math
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import lower_builtin, models, register_model, type_callable
from numba.np.unsafe.ndarray import to_fixed_tuple

from .scalar import Scalar

WIDTH = 8
# Nominal length of arrays specified only by an address; it is never read.
LONGEST = 1 << 40
# Integers from this limit on are not exact as doubles.
LARGEST_INDEX = 1 << 53


class LanesType(types.Type):
    """numba type of a vector of eight doubles, or of the first four of eight."""

    def __init__(self, width: int) -> None:
        self.width, self.vector = width, ir.VectorType(ir.DoubleType(), width)
        super().__init__(name=f"Lanes{width}")


class HalvedType(types.Array):
    """numba type of a halved array: a flat array of which only the first four of every eight elements are accessed."""

    def __init__(self) -> None:
        super().__init__(types.float64, 1, "C", name="Halved")


LANES, HALF, HALVED = LanesType(WIDTH), LanesType(WIDTH // 2), HalvedType()
VECTOR, DOUBLE, INT, INDEX = LANES.vector, ir.DoubleType(), ir.IntType(32), ir.IntType(64)

# Alias of `pow` that the optimizer does not recognize: it would replace pow(x, 2) by x * x, which rounds differently.
POWER = "quirk.pow"
_LIBRARY = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
llvm.add_symbol(POWER, ctypes.cast(_LIBRARY.pow, ctypes.c_void_p).value)

# Floating-point relaxations: fusing a product and a sum, ignoring the sign of zero. Not included: assuming finite
# numbers.
FLAGS = ("contract", "nsz")


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, fe_type.vector)


register_model(HalvedType)(models.ArrayModel)


class TooLongError(Exception):
    """Error raised if a traced function emits more instructions than the limit of `bounded`."""


@contextmanager
def bounded(instructions: int) -> Iterator[None]:
    """Context manager that raises TooLongError if about `instructions` instructions are emitted in its block."""
    before = TracedValue.limit
    TracedValue.limit = min(before, TracedValue.made + instructions)
    try:
        yield
    finally:
        TracedValue.limit = before


@contextmanager
def exactly() -> Iterator[None]:
    """Context manager for operations with Python's results: no fused operations, and signed zeros."""
    before, TracedValue.flags = TracedValue.flags, ()
    try:
        yield
    finally:
        TracedValue.flags = before


class TracedValue(Scalar):
    """A value in a kernel that is being compiled; operations on it emit instructions.

    Attributes
    ----------
    context : numba's target context for arrays of kernels, or None
    kind : numba type of the value: an integer, float64, LANES, HALF or a flat array
    value : LLVM value
    """

    # Number of traced values created so far, and its limit: see `bounded`.
    made, limit = 0, math.inf
    # Floating-point relaxations: see `exactly`.
    flags: tuple[str, ...] = FLAGS

    def __init__(self, context: Any, builder: Any, kind: Any, value: Any) -> None:
        self.context, self.builder, self.kind, self.value = context, builder, kind, value
        self._data: Any = None
        self._splat: tuple[Any, TracedValue] | None = None
        TracedValue.made += 1
        if TracedValue.made > TracedValue.limit:
            raise TooLongError("it comes to more instructions than are worth writing down")

    @property
    def written(self) -> bool:
        """Always true, because operations on this value emit instructions."""
        return True

    @classmethod
    def chosen(cls, truth: TracedValue, a: Any, b: Any) -> TracedValue:
        """Return `a` where a condition is true and `b` otherwise, for numbers or vectors."""
        return truth.selected(a, b)

    def like(self, kind: Any, value: Any) -> TracedValue:
        """Return an LLVM value of the same kernel, wrapped as a traced value of numba type `kind`."""
        return TracedValue(self.context, self.builder, kind, value)

    def splat(self, kind: LanesType = LANES) -> TracedValue:
        """Return a vector with this number in all lanes."""
        if self.kind is kind:
            return self
        block = self.builder.block
        # Emitted once per block, because other blocks may not have run.
        if self._splat is None or self._splat[0] is not block or self._splat[1].kind is not kind:
            self._splat = block, self._in_all_lanes(self.number().value, kind)
        return self._splat[1]

    def _in_all_lanes(self, number: Any, kind: LanesType) -> TracedValue:
        width, undefined = kind.width, ir.Constant(kind.vector, ir.Undefined)
        if isinstance(number, ir.Constant):
            return self.like(kind, ir.Constant(kind.vector, [number] * width))
        one = self.builder.insert_element(undefined, number, ir.Constant(INT, 0))
        first = ir.Constant(ir.VectorType(INT, width), [0] * width)
        return self.like(kind, self.builder.shuffle_vector(one, undefined, first))

    @property
    def zero(self) -> TracedValue:
        """The number zero in this kernel."""
        return self._constant(0.0)

    def number(self) -> TracedValue:
        """Return an integer or double as a double."""
        if self.kind is types.float64:
            return self
        signed = isinstance(self.kind, types.Integer) and getattr(self.kind, "signed", True)
        convert = self.builder.sitofp if signed else self.builder.uitofp
        return self.like(types.float64, convert(self.value, DOUBLE))

    def _as_index(self) -> Any:
        """Return an integer of any size as a 64-bit integer."""
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
        """Type of the vectors loaded from this array: eight lanes, or four for a view returned by `halved`."""
        return HALF if self.kind is HALVED else LANES

    def halved(self) -> TracedValue:
        """Return a view of this array in which only the first four of every eight elements are accessed."""
        return self.like(HALVED, self.value)

    def load(self, index: Any) -> TracedValue:
        """Load a vector of eight adjacent elements of this array, from element `index` on.

        Four elements are loaded if the array is a view returned by `halved`.
        """
        pointer = self.builder.bitcast(self.address(index), self.lanes.vector.as_pointer())
        return self.like(self.lanes, self.builder.load(pointer, align=8))

    def store(self, index: Any, lanes: Any) -> None:
        """Store a vector in eight adjacent elements of this array, from element `index` on.

        Four elements are stored if the array is a view returned by `halved`.
        """
        pointer = self.builder.bitcast(self.address(index), self.lanes.vector.as_pointer())
        self.builder.store(self._constant(lanes).splat(self.lanes).value, pointer, align=8)

    def load4(self, index: Any) -> TracedValue:
        """Load a vector of four adjacent elements of this array."""
        pointer = self.builder.bitcast(self.address(index), HALF.vector.as_pointer())
        return self.like(HALF, self.builder.load(pointer, align=8))

    def store4(self, index: Any, lanes: Any) -> None:
        """Store a vector of four lanes in adjacent elements of this array."""
        pointer = self.builder.bitcast(self.address(index), HALF.vector.as_pointer())
        self.builder.store(self._constant(lanes).splat(HALF).value, pointer, align=8)

    def gathered(self, indices: Sequence[Any]) -> TracedValue:
        """Load a vector of eight elements of this array with the given indices."""
        lanes = ir.Constant(VECTOR, ir.Undefined)
        for k, index in enumerate(indices):
            lanes = self.builder.insert_element(lanes, self[index].value, ir.Constant(INT, k))
        return self.like(LANES, lanes)

    def shuffled(self, other: TracedValue, order: Sequence[int]) -> TracedValue:
        """Return a vector of lanes of this vector and of `other`, with the indices `order`; see `simd.shuffled`."""
        return self.like(self.kind, self._shuffled(other.value, list(order)))

    def folded(self, combine: Callable[[Any, Any], Any]) -> TracedValue:
        """Reduce the lanes to one number; `combine` is applied to upper and lower half until one lane is left."""
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
        """Return the larger of two vectors lane by lane."""
        a, b = self.splat().value, self._constant(other).splat().value
        return self.like(LANES, self.builder.select(self.builder.fcmp_ordered(">", b, a), b, a))

    def spread(self, lane: int) -> TracedValue:
        """Return a vector whose entries are all equal to lane `lane` of this vector."""
        return self.like(self.kind, self._shuffled(self.value, [lane] * self.kind.width))

    def permuted(self, order: Sequence[int]) -> TracedValue:
        """Return a copy of this vector with its first lanes permuted."""
        return self.like(self.kind, self._shuffled(self.value, [*order, *range(len(order), self.kind.width)]))

    def replaced(self, lane: int, other: Any) -> TracedValue:
        """Return a copy of this vector in which lane `lane` is replaced by the number `other`."""
        width = self.kind.width
        mask = [width + k if k == lane else k for k in range(width)]
        return self.like(self.kind, self._shuffled(self._constant(other).splat(self.kind).value, mask))

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
        """Return 1 / `of` where this number is above `limit`, and 0 otherwise."""
        small = self.builder.fcmp_ordered("<=", self.value, self._constant(limit).number().value)
        zero = ir.Constant(DOUBLE, 0.0)
        return self.like(types.float64, self.builder.select(small, zero, (1.0 / of).value))

    def compared(self, operator: str, other: Any) -> TracedValue:
        """Compare this number with another; the result is false if either is NaN, except for "!="."""
        a, b = self.number().value, self._constant(other).number().value
        # Only "!=" is true for NaN.
        compare = self.builder.fcmp_unordered if operator == "!=" else self.builder.fcmp_ordered
        return self.like(types.boolean, compare(operator, a, b))

    def logical(self, operator: str, other: Any) -> TracedValue:
        """Combine two conditions by "and_", "or_" or "xor"."""
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
        """Return the square roots of the lanes."""
        signature = ir.FunctionType(VECTOR, [VECTOR])
        function = cgutils.get_or_insert_function(self.builder.module, signature, f"llvm.sqrt.v{WIDTH}f64")
        return self.like(LANES, self.builder.call(function, [self.value]))

    def fused(self, factor: Any, term: Any) -> TracedValue:
        """Return the product of this value and `factor` plus `term`, rounded once."""
        given = [self, self._constant(factor), self._constant(term)]
        lanes = next((x.kind for x in given if isinstance(x.kind, LanesType)), None)
        values = [(x.number() if lanes is None else x.splat(lanes)).value for x in given]
        kind, name = (DOUBLE, "f64") if lanes is None else (lanes.vector, f"v{lanes.width}f64")
        signature = ir.FunctionType(kind, [kind] * 3)
        function = cgutils.get_or_insert_function(self.builder.module, signature, f"llvm.fma.{name}")
        return self.like(types.float64 if lanes is None else lanes, self.builder.call(function, values))

    def function(self, name: str, *numbers: Any) -> TracedValue:
        """Emit a call of the function called `name` for doubles; it is a function of the module `math`, or "rint"."""
        values = [self._constant(x).number().value for x in numbers]
        kind = ir.FunctionType(DOUBLE, [DOUBLE] * len(values))
        # Three functions are instructions of the processor; all others are in the C library.
        symbol = f"llvm.{name}.f64" if name in ("sqrt", "rint", "fabs") else name
        if name == "pow" and not self.flags:
            symbol = POWER
        function = cgutils.get_or_insert_function(self.builder.module, kind, symbol)
        return self.like(types.float64, self.builder.call(function, values))

    def computed(self, function: Callable[..., Any], arguments: Sequence[Any], count: int) -> list[TracedValue]:
        """Emit a call of a function that is compiled separately, with its loops and branches.

        The function takes this array, then `arguments`: first integers known at compilation, then doubles. It returns
        `count` doubles.
        """
        build = self.builder
        known = tuple(x for x in arguments if not isinstance(x, TracedValue))
        given = [x.number().value for x in arguments[len(known) :]]
        with build.goto_entry_block():
            numbers, found = (build.alloca(DOUBLE, size=max(size, 1)) for size in (len(given), count))
        for k, x in enumerate(given):
            build.store(x, build.gep(numbers, [ir.Constant(INT, k)]))
        address = ir.Constant(ir.IntType(64), _computing(function, known, len(given), count).address)
        pointer = DOUBLE.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer] * 3)
        build.call(build.inttoptr(address, kind.as_pointer()), [self.address(0), numbers, found])
        places = (build.gep(found, [ir.Constant(INT, k)]) for k in range(count))
        return [self.like(types.float64, build.load(place)) for place in places]

    def _constant(self, x: Any) -> TracedValue:
        if isinstance(x, TracedValue):
            return x
        if not isinstance(x, int | float | np.integer | np.floating | np.bool_):
            raise TypeError(f"{x!r} is no number")
        # Integers beyond LARGEST_INDEX are numbers, not indices.
        whole = isinstance(x, int | np.integer) and not isinstance(x, bool) and abs(int(x)) < LARGEST_INDEX
        kind = types.intp if whole else types.float64
        return self.like(kind, ir.Constant(INDEX, int(x)) if whole else ir.Constant(DOUBLE, float(x)))

    def _with(self, other: Any, name: str, turned: bool = False) -> Any:
        if not isinstance(other, TracedValue | int | float | np.integer | np.floating):
            return NotImplemented
        a, b = self, self._constant(other)
        if turned:
            a, b = b, a
        lanes = next((kind for kind in (a.kind, b.kind) if isinstance(kind, LanesType)), None)
        if lanes is not None:
            a, b = a.splat(lanes), b.splat(lanes)
        elif isinstance(a.kind, types.Integer) and isinstance(b.kind, types.Integer) and name != "div":
            return self.like(types.intp, getattr(self.builder, name)(a._as_index(), b._as_index()))
        else:
            a, b = a.number(), b.number()
        return self.like(a.kind, getattr(self.builder, "f" + name)(a.value, b.value, flags=self.flags))

    def __add__(self, other: Any) -> TracedValue:
        return self._with(other, "add")

    def __radd__(self, other: Any) -> TracedValue:
        return self._with(other, "add", turned=True)

    def __sub__(self, other: Any) -> TracedValue:
        return self._with(other, "sub")

    def __rsub__(self, other: Any) -> TracedValue:
        return self._with(other, "sub", turned=True)

    def __mul__(self, other: Any) -> TracedValue:
        return self._with(other, "mul")

    def __rmul__(self, other: Any) -> TracedValue:
        return self._with(other, "mul", turned=True)

    def __truediv__(self, other: Any) -> TracedValue:
        return self._with(other, "div")

    def __rtruediv__(self, other: Any) -> TracedValue:
        return self._with(other, "div", turned=True)

    def __neg__(self) -> TracedValue:
        return self.like(self.kind, self.builder.fneg(self.value))


@functools.cache
def _computing(function: Callable[..., Any], known: tuple[int, ...], numbers: int, count: int) -> Any:
    """Return a C function that calls `function`, compiled for an array, the integers `known`, and `numbers` doubles.

    The C function takes pointers to the array, to these doubles, and to an array to which the `count` results are
    written.
    """

    def call(array, given, found):  # type: ignore[no-untyped-def]
        whole = numba.carray(array, LONGEST)
        results = function(whole, *(known + to_fixed_tuple(numba.carray(given, numbers), numbers)))  # type: ignore[call-arg]
        for k in range(count):
            found[k] = results[k]

    function = numba.njit(error_model="numpy")(function)
    doubles = types.CPointer(types.float64)
    return numba.cfunc(types.void(doubles, doubles, doubles))(call)


def traced(function: Callable[..., Any], returns: bool = True) -> Callable[..., Any]:
    """Decorate a function such that its instructions are inlined into each kernel that calls it.

    The type of its result is determined by a trial run, unless `returns` is False.
    """
    results: dict[tuple[Any, ...], Any] = {}

    @type_callable(function)
    def typed(_: Any) -> Callable[..., Any]:
        def result_type(*kinds: Any) -> Any:
            if kinds not in results:
                results[kinds] = _kind(_trial(function, kinds)) if returns else types.none
            return results[kinds]

        result_type.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
        return result_type

    @lower_builtin(function, types.VarArg(types.Any))
    def lowered(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        given = (_given(context, builder, kind, x) for kind, x in zip(signature.args, args, strict=True))
        result = function(*given)
        return context.get_dummy_value() if result is None else _value(context, builder, result)

    return function


def _trial(function: Callable[..., Any], kinds: tuple[Any, ...]) -> Any:
    """Run a function on traced arguments of the numba types `kinds` in a temporary kernel, and return its result."""
    context = cpu_target.target_context
    signature = ir.FunctionType(ir.VoidType(), [context.get_value_type(kind) for kind in kinds])
    scratch = ir.Function(ir.Module(), signature, "scratch")
    builder = ir.IRBuilder(scratch.append_basic_block())
    return function(*(_given(context, builder, kind, x) for kind, x in zip(kinds, scratch.args, strict=True)))


def _given(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    part_kinds = getattr(kind, "types", None)  # of a tuple
    if part_kinds is not None:
        parts = zip(part_kinds, cgutils.unpack_tuple(builder, value), strict=True)
        given = (_given(context, builder, part_kind, part) for part_kind, part in parts)
        named = getattr(kind, "instance_class", None)
        return tuple(given) if named is None else named(*given)
    return TracedValue(context, builder, kind, value)


def _kind(result: Any) -> Any:
    """Return the numba type of a traced result or of a tuple of results."""
    if result is None:
        return types.none
    if isinstance(result, tuple):
        kinds = [_kind(part) for part in result]
        return types.NamedTuple(kinds, type(result)) if hasattr(result, "_fields") else types.Tuple(kinds)
    return result.kind


def _value(context: Any, builder: Any, result: Any) -> Any:
    """Return the LLVM value of a traced result or of a tuple of results."""
    if not isinstance(result, tuple):
        return result.value
    return context.make_tuple(builder, _kind(result), [_value(context, builder, part) for part in result])


def _operator(function: Callable[..., Any]) -> None:
    """Define a binary operator of kernels for two vectors, and for a vector and a number."""

    @type_callable(function)
    def typed(_: Any) -> Callable[..., Any]:
        def result_type(a: Any, b: Any) -> Any:
            kinds = {kind for kind in (a, b) if not isinstance(kind, types.Number)}
            lanes = kinds.pop() if len(kinds) == 1 else None
            return lanes if isinstance(lanes, LanesType) else None

        return result_type

    def lowered(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a, b = (_given(context, builder, kind, x) for kind, x in zip(signature.args, args, strict=True))
        return function(a, b).value

    for kinds in ((LanesType, LanesType), (LanesType, types.Number), (types.Number, LanesType)):
        lower_builtin(function, *kinds)(lowered)


for _function in (operator.add, operator.sub, operator.mul, operator.truediv):
    _operator(_function)


@type_callable(operator.neg)
def _typed_negative(_: Any) -> Callable[..., Any]:
    return lambda a: a if isinstance(a, LanesType) else None


@lower_builtin(operator.neg, LanesType)
def _lowered_negative(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return (-TracedValue(context, builder, signature.args[0], args[0])).value
