"""Detection of numpy calls that pass an output array by position, such as ``np.add(a, b, result)``.

Such a call modifies the array, which other functions may read.
"""

from __future__ import annotations

import dis
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

# Number of positional arguments of array methods before the output array. The numpy function of the same name has one
# more, the input array.
_BEFORE_OUTPUT = {
    "all": 1, "any": 1, "argmax": 1, "argmin": 1, "clip": 2, "compress": 2, "cumprod": 2, "cumsum": 2, "dot": 1,
    "max": 1, "mean": 2, "min": 1, "prod": 2, "round": 1, "std": 2, "sum": 2, "take": 2, "trace": 4, "var": 2,
    # These exist as functions only.
    "concatenate": 1, "stack": 1, "outer": 1, "fft": 3, "fix": 0,
}  # fmt: skip
# Operations that read a variable which is not local.
VARIABLES = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"}
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD"}
_CALLS = {"CALL", "CALL_KW", "CALL_FUNCTION_EX"}


@dataclass(frozen=True)
class CallSite:
    """A call in the bytecode of a function, such as ``np.add(a, b)``.

    Attributes
    ----------
    variable : global or closure variable at the start of the called expression, such as "np", or None
    names : attributes in the called expression, such as "add"; empty if the variable itself is called
    argument_count : number of arguments; infinite if a sequence is unpacked
    """

    variable: str | None
    names: frozenset[str]
    argument_count: float

    def may_give_output(self, *, of_module: bool, names: Collection[str] = ()) -> bool:
        """Whether the number of arguments is so large that one of them may be the output array.

        `of_module` is true for a function of a module, and false for a method. `names` are the possible names of the
        called function if the attribute `names` is empty.
        """
        return any(self.argument_count > _arguments_before_output(name, of_module) for name in self.names or names)


def _arguments_before_output(name: str, of_module: bool) -> float:
    """Return the number of arguments before the output array in the function or method `name`.

    `of_module` is true for a function of a module, and false for a method.
    """
    function = getattr(np, name, None)
    if isinstance(function, np.ufunc):
        return function.nin
    return _BEFORE_OUTPUT.get(name, math.inf) + of_module


def calls_of(instructions: Sequence[dis.Instruction]) -> frozenset[CallSite]:
    """Return the calls among the bytecode instructions of a function; nested functions are excluded.

    A call and the expression that it calls are recognized by the same start position in the source.
    """
    variables: dict[object, str] = {}
    names: dict[object, set[str]] = {}
    for one in instructions:
        if one.opname in VARIABLES:
            variables.setdefault(start_of(one), str(one.argval))
        elif one.opname in _ATTRIBUTES:
            names.setdefault(start_of(one), set()).add(str(one.argval))
    found = set()
    for one in instructions:
        if one.opname in _CALLS:
            start = start_of(one)
            given = math.inf if one.opname == "CALL_FUNCTION_EX" else int(one.arg or 0)
            variable = variables.get(start) if start is not None else None
            found.add(CallSite(variable, frozenset(names.get(start, ())), given))
    return frozenset(found)


def start_of(instruction: dis.Instruction) -> object:
    """Return the source position at which the expression of an instruction starts, or None if it is not recorded."""
    places = instruction.positions
    if places is None or places.lineno is None or places.col_offset is None:
        return None
    return places.lineno, places.col_offset
