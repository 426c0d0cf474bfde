"""Detection of user functions that read values modified by other functions during a run.

An outside value is a global variable, closure variable or attribute that a function uses.
"""

from __future__ import annotations

import functools
import gc
import hashlib
import types
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .effects import Effects
from .object_kinds import CONSTANTS, attributes_of, has_contents

# Length in bytes beyond which arrays are compared by hash instead of by content.
LONG = 256


class Changes:
    """Selection of user functions that must run in Python, because other functions may modify values that they read.

    The remaining functions are compiled, with their outside values as constants. After the actions of events and at its
    end, a run checks that these outside values have not changed.

    Parameters
    ----------
    functions : functions that are called in Python during a run
    """

    def __init__(self, functions: Sequence[Any]) -> None:
        self._others = {id(function): Effects(function) for function in functions}
        self._writers = [effects for effects in self._others.values() if effects.writes]
        self._known: dict[int, tuple[Any, Effects | None, Any]] = {}

    def __call__(self, function: Any) -> bool:
        """Whether a function reads outside values that functions called in Python may modify."""
        if not self._others:
            return False
        if id(function) not in self._known:
            reads = Effects(function)
            if any(writer.may_change(reads) for writer in self._writers):
                self._known[id(function)] = function, None, None
            else:
                self._known[id(function)] = function, reads, _read_by(reads)
        return self._known[id(function)][1] is None

    def remembers(self, function: Any) -> bool:
        """Whether a function that is called in Python reads a variable or attribute that it sets itself."""
        effects = self._others.get(id(function))
        return effects is not None and effects.remembers

    def may_alter(self, function: Any) -> bool:
        """Whether a call of `function` may modify outside values that are read by functions called in Python."""
        readers = [*self._others.values(), *(Effects(f) for f, reads, _ in self._known.values() if reads is None)]
        return any(self._others[id(function)].may_change(reader) for reader in readers)

    def unforeseen(self) -> list[str]:
        """Return the names of compiled functions whose outside values have changed although no change was expected."""
        kept = [(function, reads, before) for function, reads, before in self._known.values() if reads is not None]
        return [_title(function) for function, reads, before in kept if not _is_unchanged(before, _read_by(reads))]


def _title(function: Any) -> str:
    """Return the name of a user function with the file and line of its definition, for error messages."""
    name = getattr(function, "__qualname__", None) or type(function).__name__
    code = getattr(function, "__code__", None)
    return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


def _read_by(reads: Effects) -> dict[Any, Any]:
    """Return keys that identify the outside values that a function reads, by variable or object; see `_value`."""
    found: dict[Any, Any] = {slot: _value(value) for slot, value in reads.values_of_slots()}
    for key, x in reads.objects.items():
        if isinstance(x, types.ModuleType):  # lazy modules may load attributes on first use
            own = attributes_of(x)
            found.update({(key, name): _value(own[name]) for name in reads.names if name in own})
        else:
            found[key] = _contents(x, reads.names)
    return found


def _is_unchanged(previous: dict[Any, Any], current: dict[Any, Any]) -> bool:
    """Whether two results of `_read_by` agree; `current` may contain additional variables and objects."""
    return previous.keys() <= current.keys() and all(value == current[key] for key, value in previous.items())


def _value(x: Any) -> Any:
    """Return a key that identifies a value: a constant by its value, any other object by its identity."""
    if isinstance(x, float):
        return type(x), x.hex()  # distinguishes the signs of zeros, and NaN equals NaN
    return (type(x), x) if type(x) in CONSTANTS else id(x)


def _values(parts: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(_value(part) for part in parts)


def _contents(x: Any, names: Iterable[str]) -> Any:
    """Return a key that identifies the contents of an object and the values of its attributes `names`."""
    if isinstance(x, np.ndarray):
        text = x.tobytes() if x.dtype != object else repr(_values(x.ravel().tolist())).encode()
        return x.shape, x.dtype.str, text if len(text) <= LONG else hashlib.blake2b(text).digest()
    if isinstance(x, bytearray):
        return bytes(x)
    if isinstance(x, types.FunctionType):
        return x.__code__, _values(x.__defaults__ or ()), _values((x.__kwdefaults__ or {}).values())
    own = attributes_of(x)
    late = {name for name in names if isinstance(getattr(type(x), name, None), functools.cached_property)}
    named = {name: _value(own[name]) for name in names if name in own and name not in late}
    return (named, _values(gc.get_referents(x))) if has_contents(x) else named
