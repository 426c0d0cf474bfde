"""Digests of values, bodies, constraints and forces that are the same in every process."""

from __future__ import annotations

import hashlib
import json
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from .construction import made_with

# Maximum nesting depth of digested values; arguments of bodies, constraints and forces are nested a few levels deep.
DEEPEST = 30


def digest(value: Any, names: Mapping[int, str]) -> str:
    """Return a digest of a value; equivalent values have equal digests, in every process.

    `names` are the names of bodies, constraints and forces by id, which replace these objects.
    """
    text = json.dumps(_described(value, names, 0), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _described(value: Any, names: Mapping[int, str], depth: int) -> Any:
    """Return a value as nested lists and dicts of strings, the same for equivalent values, in every process.

    `names` are the names of bodies, constraints and forces by id, which replace these objects; `depth` is the level of
    nesting.
    """
    if depth > DEEPEST:
        return type(value).__qualname__
    if id(value) in names:
        return ["part", names[id(value)]]
    if value is None or isinstance(value, str | bytes | int | bool | complex):
        return repr(value)
    if isinstance(value, float | np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [value.dtype.str, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, list | tuple | np.ndarray):
        return [_described(one, names, depth + 1) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _described(one, names, depth + 1) for key, one in value.items()}
    call = made_with(value)
    if call is not None:
        return [call.maker.__qualname__, _described(call.arguments, names, depth + 1)]
    function = getattr(value, "py_func", value)
    if isinstance(function, types.FunctionType):
        held = [cell.cell_contents for cell in function.__closure__ or ()]
        return [_of_code(function.__code__), _described([held, function.__defaults__], names, depth + 1)]
    return type(value).__qualname__


def _of_code(code: types.CodeType) -> list[Any]:
    constants = [_of_code(one) if isinstance(one, types.CodeType) else repr(one) for one in code.co_consts]
    return [code.co_code.hex(), constants, list(code.co_names)]
