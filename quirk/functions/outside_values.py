"""Outside values of a user function at one time, in a form that can be compared later.

An outside value is a global variable, closure variable or attribute that a function uses.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from .effects import OWN, Effects
from .object_kinds import CONSTANTS, attributes_of, has_contents, is_empty, root_of
from .object_members import is_special

# Key of a variable without a value.
ABSENT = "absent"
# Length in bytes beyond which arrays are compared by hash instead of by content.
LONG = 256


def title_of(function: Any) -> str:
    """Return the name of a user function with the file and line of its definition, for error messages.

    For a function of this package that calls a user function, it is the name of the latter.
    """
    inner = [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if not is_empty(cell)]
    if root_of(function) == OWN and any(map(callable, inner)):
        return title_of(next(filter(callable, inner)))
    name = getattr(function, "__qualname__", None) or type(function).__name__
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


def outside_values(reads: Effects) -> dict[Any, Any]:
    """Return keys that identify the outside values that a function reads, by variable or object.

    Constants are identified by value, other objects by identity, and containers also by their contents.
    """
    # Built-in functions are global names without a value of their own.
    found: dict[Any, Any] = dict.fromkeys((slot for slot in reads.slots if isinstance(slot, tuple)), ABSENT)
    found |= {slot: _value(value) for slot, value in reads.values_of_slots()}
    for key, x in reads.objects.items():
        if isinstance(x, types.ModuleType):  # lazy modules may load attributes on first use
            own = vars(x)
            found.update({(key, name): _value(own[name]) for name in reads.names if name in own})
        else:
            late = _cached(x, reads.names)
            found.update({(key, name): _value(value) for name, value in late.items()})
            found[key] = _contents(x, reads.names - late.keys())
    return found


def differ(previous: dict[Any, Any], current: dict[Any, Any]) -> bool:
    """Whether two results of `outside_values` differ; `current` may contain additional variables and objects."""
    return not (previous.keys() <= current.keys() and all(value == current[key] for key, value in previous.items()))


def refer_to_others(previous: dict[Any, Any], current: dict[Any, Any]) -> bool:
    """Whether variables, attributes or elements refer to other objects than in a previous result of `outside_values`.

    Constants and the contents of arrays may differ.
    """
    return any(_objects(value) != _objects(current.get(key)) for key, value in previous.items())


def _objects(value: Any) -> Any:
    """Return the part of a value of `outside_values` that identifies objects: ids, possibly nested."""
    if isinstance(value, tuple):
        return None if value and isinstance(value[0], type) else tuple(map(_objects, value))
    if isinstance(value, dict):
        return {name: _objects(part) for name, part in value.items()}
    return value if isinstance(value, int) else None


def _value(x: Any) -> Any:
    """Return a key that identifies a value: a constant by its value, any other object by its identity."""
    if isinstance(x, float):
        return type(x), x.hex()  # distinguishes the signs of zeros, and NaN equals NaN
    return (type(x), x) if type(x) in CONSTANTS else id(x)


def _values(parts: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(_value(part) for part in parts)


def _contents(x: Any, names: Iterable[str]) -> Any:
    """Return a key that identifies the contents of an object and the values of its attributes `names`."""
    if isinstance(x, np.ma.MaskedArray):
        return _contents(np.ma.getdata(x), names), _contents(np.ma.getmaskarray(x), names)
    if isinstance(x, np.ndarray):
        text = x.tobytes() if x.dtype != object else repr(_values(x.ravel().tolist())).encode()
        return x.shape, x.dtype.str, text if len(text) <= LONG else hashlib.blake2b(text).digest()
    if isinstance(x, bytearray):
        return bytes(x)
    if isinstance(x, types.FunctionType):
        named = {name: _value(vars(x)[name]) for name in names if name in vars(x)}
        return x.__code__, _values(x.__defaults__ or ()), _values((x.__kwdefaults__ or {}).values()), named
    own = attributes_of(x)
    named = {name: _value(own[name]) for name in names if name in own}
    if isinstance(x, functools.partial):
        return id(x.func), _values(x.args), tuple(x.keywords), _values(x.keywords.values()), named
    if isinstance(x, type):
        special = {
            name: _value(part) for name, part in own.items() if is_special(name) and hasattr(type(part), "__get__")
        }
        return _values(x.__mro__), special, named
    return id(type(x)), named, _values(gc.get_referents(x)) if has_contents(x) else ()


def _cached(x: Any, names: Iterable[str]) -> dict[str, Any]:
    """Return the values of cached properties that an object has stored; it stores them when they are first read."""
    of_class = {name for name in names if isinstance(getattr(type(x), name, None), functools.cached_property)}
    return {name: value for name, value in attributes_of(x).items() if name in of_class} if of_class else {}
