"""Arithmetic of generated code for Taylor coefficients; a vector contains one number for each of several elements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from quirk.autodiff.tape import (
    ADD,
    AND,
    ANGLE,
    CHOOSE,
    CONSTANT,
    COSINE,
    COSINE_H,
    DIVIDE,
    EQUAL,
    EXPONENTIAL,
    LESS,
    LESS_EQUAL,
    LOGARITHM,
    MULTIPLY,
    NEAREST,
    NEGATE,
    NOT,
    OR,
    POWER,
    ROOT,
    SCALE,
    SINE,
    SINE_H,
    SLOPE_H,
    SQUARE,
    SUBTRACT,
    TANGENT_H,
)
from quirk.jit.lane_types import DOUBLE
from quirk.jit.traced_value import FLAGS

WORD, INDEX = ir.IntType(64), ir.IntType(32)

# Functions of one argument in the C library or the processor.
LIBRARY = {
    EXPONENTIAL: "exp", LOGARITHM: "log", SINE: "sin", COSINE: "cos", SINE_H: "sinh", COSINE_H: "cosh",
    TANGENT_H: "tanh", NEAREST: "llvm.rint.f64",
}  # fmt: skip


class Arithmetic:
    """Generator of machine instructions on vectors with one number for each of several elements.

    Parameters
    ----------
    tape : list of operations shared by the elements
    width : number of elements in a vector
    builder : LLVM builder to which the instructions are appended
    """

    def __init__(self, tape: Any, width: int, builder: Any) -> None:
        self.tape, self.width, self.vector, self.build = tape, width, ir.VectorType(DOUBLE, width), builder
        self.values: dict[int, Any] = {}

    def _value(self, place: int) -> Any:
        code, *operands = self.tape.lines[place]
        if code == CONSTANT:
            return self._filled(self.tape.constants[place])
        build = self.build
        x = [self.values[p] for p in operands]
        if code in (MULTIPLY, SCALE):
            return self._times(*x)
        if code == SQUARE:
            return self._times(x[0], x[0])
        if code in (ADD, SUBTRACT, NEGATE):
            return self._linear(code, x)
        if code == DIVIDE:
            return build.fdiv(*x, flags=FLAGS)
        if code == ROOT:
            return build.call(self._function(f"llvm.sqrt.v{self.width}f64", self.vector, 1), x)
        if code in (LESS, LESS_EQUAL, EQUAL):
            truth = build.fcmp_ordered({LESS: "<", LESS_EQUAL: "<=", EQUAL: "=="}[code], *x)
            return build.select(truth, self._filled(1.0), self._filled(0.0))
        if code == CHOOSE:
            return self._chosen(*x)
        if code in (AND, OR, NOT):
            return self._logical(code, x)
        if code == SLOPE_H:
            tangent = self.values[place - 1]
            return build.fsub(self._filled(1.0), self._times(tangent, tangent), flags=FLAGS)
        if code == ANGLE:
            return self._by_lanes(self._function("atan2", DOUBLE, 2), x[:2])
        if code == POWER:
            return self._by_lanes(self._function("pow", DOUBLE, 2), x)
        return self._by_lanes(self._function(LIBRARY[code], DOUBLE, 1), x)

    def _linear(self, code: int, x: Sequence[Any]) -> Any:
        if code == ADD:
            return self.build.fadd(*x, flags=FLAGS)
        return self.build.fsub(*(x if code == SUBTRACT else (self._filled(0.0), x[0])), flags=FLAGS)

    def _logical(self, code: int, x: Sequence[Any]) -> Any:
        truths = [self._truth(operand) for operand in x]
        if code == NOT:
            combined = self.build.not_(truths[0])
        else:
            combined = (self.build.and_ if code == AND else self.build.or_)(*truths)
        return self.build.select(combined, self._filled(1.0), self._filled(0.0))

    def _truth(self, x: Any) -> Any:
        return self.build.fcmp_unordered("!=", x, self._filled(0.0))

    def _chosen(self, truth: Any, a: Any, b: Any) -> Any:
        return self.build.select(self._truth(truth), a, b)

    def _by_lanes(self, function: Any, x: Sequence[Any]) -> Any:
        lanes = ir.Constant(self.vector, ir.Undefined)
        for lane in range(self.width):
            arguments = [self.build.extract_element(operand, short_integer(lane)) for operand in x]
            lanes = self.build.insert_element(lanes, self.build.call(function, arguments), short_integer(lane))
        return lanes

    def _function(self, symbol: str, kind: Any, count: int) -> Any:
        module = self.build.module
        if symbol in module.globals:
            return module.globals[symbol]
        return ir.Function(module, ir.FunctionType(kind, [kind] * count), symbol)

    def _times(self, a: Any, b: Any) -> Any:
        return self.build.fmul(a, b, flags=FLAGS)

    def _plus(self, *parts: Any) -> Any:
        return functools.reduce(lambda a, b: self.build.fadd(a, b, flags=FLAGS), parts)

    def _minus(self, *parts: Any) -> Any:
        return functools.reduce(lambda a, b: self.build.fsub(a, b, flags=FLAGS), parts)

    def _filled(self, x: float) -> Any:
        return ir.Constant(self.vector, [x] * self.width)

    def _splat(self, x: Any) -> Any:
        undefined = ir.Constant(self.vector, ir.Undefined)
        vector = self.build.insert_element(undefined, x, short_integer(0))
        zeros = ir.Constant(ir.VectorType(INDEX, self.width), [0] * self.width)
        return self.build.shuffle_vector(vector, undefined, zeros)


def integer(x: int) -> Any:
    """Return an integer constant of 64 bits for generated code."""
    return ir.Constant(WORD, x)


def short_integer(x: int) -> Any:
    """Return an integer constant of 32 bits for generated code."""
    return ir.Constant(INDEX, x)


def double(x: float) -> Any:
    """Return a constant double for generated code."""
    return ir.Constant(DOUBLE, x)
