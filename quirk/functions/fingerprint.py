"""Keys that are equal for user functions with the same behavior.

The outside values of a function are its global names, closure variables and defaults.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from .array_api import CONSTANTS, has_own_builtins, python_of
from .code_rules import global_names
from .float_functions import FLOATS
from .tracer import NotTraceableError


def fingerprint(function: Any) -> Any:
    """Return a key that is equal for functions with the same code and outside values.

    The result is None if the outside values cannot be determined, as for bound methods.
    """
    try:
        return _print(function, {})
    except (_UnknownError, NotTraceableError, RecursionError):  # a list may contain itself
        return None


def _variables_of(x: types.FunctionType) -> list[tuple[str, Any]]:
    """Return the outside values of a function as pairs of name and value."""
    code, cells = x.__code__, x.__closure__ or ()
    names = sorted(name for name in global_names(code) if name in x.__globals__)
    if not has_own_builtins(x):
        raise _UnknownError
    return [
        *((name, x.__globals__[name]) for name in names),
        *((name, cell.cell_contents) for name, cell in zip(code.co_freevars, cells, strict=True)),
        ("defaults", x.__defaults__),
        ("named", tuple((x.__kwdefaults__ or {}).items())),
    ]


class _UnknownError(Exception):
    """Error raised if the outside values of a function cannot be listed."""


def _print(x: Any, numbering: dict[int, int]) -> Any:
    x = python_of(x)
    if id(x) in FLOATS.replacements:
        return x
    if isinstance(x, types.ModuleType) and x in FLOATS.modules and FLOATS.modules[x].intact:
        return x
    if type(x) in (float, np.float64):
        return type(x), float(x).hex()  # distinguishes the signs of zeros
    if type(x) in CONSTANTS:
        return type(x), x
    if isinstance(x, types.FunctionType):
        if id(x) in numbering:
            return "again", numbering[id(x)]
        numbering[id(x)] = len(numbering)
        return x.__code__, tuple((name, _print(value, numbering)) for name, value in _variables_of(x))
    if type(x) in (tuple, list):
        return type(x), tuple(_print(part, numbering) for part in x)
    if type(x) is dict:
        return dict, tuple((_print(key, numbering), _print(part, numbering)) for key, part in x.items())
    if type(x) is np.ndarray and x.dtype != object:
        return x.shape, x.dtype.str, x.tobytes()
    raise _UnknownError
