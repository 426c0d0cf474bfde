"""Inlined functions without loops or branches, for use in compiled kernels.

A function marked `traced` runs as plain Python on numbers and arrays. When a kernel that calls it is compiled, the
function is executed on traced values for each call in the kernel; they emit each operation as an instruction. The
function therefore needs neither a call at run time nor a separate compilation, and accepts any type of argument that
supports its operations.
Lanes are the eight entries of a vector register.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import lower_builtin, type_callable

from .lane_types import LanesType
from .traced_value import TracedValue


def traced(function: Callable[..., Any], returns: bool = True) -> Callable[..., Any]:
    """Decorate a function so that its instructions are inlined into each kernel that calls it.

    The type of its result is determined by a trial run; `returns` is False for functions without a result.
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
        arguments = (_as_traced(context, builder, kind, x) for kind, x in zip(signature.args, args, strict=True))
        result = function(*arguments)
        return context.get_dummy_value() if result is None else _value(context, builder, result)

    return function


def specialized(function: Callable[..., Any], *last: Any) -> Callable[..., Any]:
    """Return a traced function without a result that calls `function` with the fixed last arguments `last`.

    The result of `function` is discarded. Several kernels, or branches of a kernel, that differ in a flag or do not
    need the result can thus use the same function.
    """

    def inlined(*arguments: Any) -> None:
        function(*arguments, *last)

    signature = inspect.signature(function)
    own = list(signature.parameters.values())[: len(signature.parameters) - len(last)]
    inlined.__signature__ = signature.replace(parameters=own)  # type: ignore[attr-defined]
    return traced(inlined, returns=False)


def _trial(function: Callable[..., Any], kinds: tuple[Any, ...]) -> Any:
    """Return the result of a function for traced arguments of the numba types `kinds` in a temporary kernel."""
    context = cpu_target.target_context
    signature = ir.FunctionType(ir.VoidType(), [context.get_value_type(kind) for kind in kinds])
    scratch = ir.Function(ir.Module(), signature, "scratch")
    builder = ir.IRBuilder(scratch.append_basic_block())
    return function(*(_as_traced(context, builder, kind, x) for kind, x in zip(kinds, scratch.args, strict=True)))


def _as_traced(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """Return an LLVM value of numba type `kind` as a traced value or, for a tuple, as a tuple of traced values."""
    part_kinds = getattr(kind, "types", None)  # of a tuple
    if part_kinds is not None:
        parts = zip(part_kinds, cgutils.unpack_tuple(builder, value), strict=True)
        traced_parts = (_as_traced(context, builder, part_kind, part) for part_kind, part in parts)
        named = getattr(kind, "instance_class", None)
        return tuple(traced_parts) if named is None else named(*traced_parts)
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
    """Implement the binary operator `function` in kernels, for two vectors and for a vector and a number."""

    @type_callable(function)
    def typed(_: Any) -> Callable[..., Any]:
        def result_type(a: Any, b: Any) -> Any:
            kinds = {kind for kind in (a, b) if not isinstance(kind, types.Number)}
            lanes = kinds.pop() if len(kinds) == 1 else None
            return lanes if isinstance(lanes, LanesType) else None

        return result_type

    def lowered(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        a, b = (_as_traced(context, builder, kind, x) for kind, x in zip(signature.args, args, strict=True))
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
