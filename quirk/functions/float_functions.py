"""Replacements of `math`, numpy and built-in functions for user functions that are compiled to machine code.

A user function is run once on tracers, objects that represent numbers and record the operations on them. For constant
arguments each replacement calls the original function. For tracers the results of the machine code are bit-identical
with those of the original, except for functions that numpy computes with its own SIMD code (docs/forces.md). Operations
without replacement raise NotTraceableError.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np

from ..autodiff.jet import where
from .array_api import TracedNames, Vocabulary
from .numpy_functions import NUMPY_FUNCTIONS, norm, of_numpy
from .python_functions import BUILTIN_FUNCTIONS, MATH_FUNCTIONS
from .tracer import NotTraceableError, Truth, chosen, operand
from .tracer_arrays import TracerArray
from .tracer_conversions import frozen


def _chosen_by_user(condition: Any, a: Any, b: Any) -> Any:
    """Return `a` where a condition is true and `b` otherwise, as the replacement of `quirk.where`.

    The arguments must be scalars.
    """
    if any(type(x) in (TracerArray, list, tuple) for x in (condition, a, b)):
        raise NotTraceableError("arrays are chosen from")
    if any(isinstance(x, bool | np.bool_ | Truth) for x in (a, b)):
        raise NotTraceableError("truths are chosen from")
    if not isinstance(condition, Truth):
        return a if condition else b
    return chosen(condition, a, b, operand(a)[1] and operand(b)[1])


_CONSTANTS = {math: ("pi", "e", "tau", "inf", "nan"), np: ("pi", "e", "inf", "nan", "newaxis")}
_LINALG = TracedNames(np.linalg, {"norm": of_numpy("norm", norm)})
FLOATS = Vocabulary(
    modules={
        math: TracedNames(math, {**MATH_FUNCTIONS, **{name: getattr(math, name) for name in _CONSTANTS[math]}}),
        np: TracedNames(
            np, {**NUMPY_FUNCTIONS, **{name: getattr(np, name) for name in _CONSTANTS[np]}}, {"linalg": _LINALG}
        ),
        np.linalg: _LINALG,
    },
    quirk={"where": _chosen_by_user},
    builtins=BUILTIN_FUNCTIONS,
    of_array=frozen,
    replacements={
        **{id(getattr(math, name)): replacement for name, replacement in MATH_FUNCTIONS.items()},
        **{id(getattr(np, name)): replacement for name, replacement in NUMPY_FUNCTIONS.items()},
        id(np.linalg.norm): _LINALG.norm,
        id(where): _chosen_by_user,
        **{id(getattr(builtins, name)): replacement for name, replacement in BUILTIN_FUNCTIONS.items()},
    },
)
