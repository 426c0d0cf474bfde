"""A user's function made fit for other numbers than floats: jets, and instructions of machine code that is written.

The function is copied with stand-ins for what it finds outside of itself: the functions of `math` and numpy that would
turn their arguments into floats or branch on them, `min`, `max` and the like. What could make a call differ from the
next one, or be noticed outside, is not let in: lists, dicts and objects are read-only, unknown objects are refused.
So a copy that runs does nothing but arithmetic, and running it once tells what it does at any time.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from quirk.scalar import is_written

from .fingerprint import GENERATES, names_in
from .jets import Jet
from .stand_ins import BUILTINS, CONSTANTS, KNOWN, MODULES, QUIRK, NotTraceableError


class _ReadOnly:
    """An object whose attributes can be read, and of which nothing else can be asked."""

    def __init__(self, of: Any, copies: dict[int, Any]) -> None:
        object.__setattr__(self, "_of", (of, copies))

    def __getattr__(self, name: str) -> Any:
        of, copies = object.__getattribute__(self, "_of")
        if hasattr(type(of), "__getattr__"):
            raise NotTraceableError(f"{type(of).__name__} computes its attributes")
        found = inspect.getattr_static(of, name)
        if isinstance(found, property):
            return _stand_in(found.fget, copies)(self)
        if isinstance(found, types.FunctionType) and name not in getattr(of, "__dict__", {}):
            return types.MethodType(_copied(found, copies), self)
        if isinstance(found, types.MemberDescriptorType):
            found = getattr(of, name)
        elif hasattr(type(found), "__get__") and not isinstance(found, types.FunctionType):
            raise NotTraceableError(f"{name} of {type(of).__name__} is computed")
        return _stand_in(found, copies)

    def __setattr__(self, name: str, value: Any) -> None:
        raise NotTraceableError(f"{name} is set")

    def _refused(self, *arguments: Any) -> Any:
        raise NotTraceableError("an object is asked for more than its attributes")

    __eq__ = __ne__ = __bool__ = __len__ = __iter__ = __contains__ = __call__ = _refused
    __hash__ = _refused


class _FrozenList(list[Any]):
    """A list that cannot be changed."""

    def _refused(self, *arguments: Any, **named: Any) -> Any:
        raise NotTraceableError("a list is changed")

    append = extend = insert = remove = pop = clear = sort = reverse = _refused
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refused


def traceable(function: Any) -> Callable[..., Any]:
    """Return a copy of a function that can be run on jets.

    Raises
    ------
    NotTraceableError
        If it is not written in Python, or uses what a copy cannot have; also when the copy is run.
    """
    made: Callable[..., Any] = _stand_in(function, {})
    return made


def on_jets(function: Any, t: Jet, *arguments: Any) -> Any:
    """Return what a user's function gives for jets.

    While machine code is written a copy is run; else the function itself, or a copy if it uses what takes floats alone.
    """
    function = getattr(function, "py_func", function)
    if is_written(t.value):
        return traceable(function)(t, *arguments)
    try:
        return function(t, *arguments)
    except TypeError as error:
        try:
            return traceable(function)(t, *arguments)
        except Exception:
            raise error from None


def read_only(x: Any) -> Any:
    """Return a stand-in for an object whose methods are to be run on jets."""
    return _ReadOnly(x, {})


def _stand_in(x: Any, copies: dict[int, Any]) -> Any:
    """What a copy finds in the place of x."""
    x = getattr(x, "py_func", x)  # of numba
    if id(x) in KNOWN:
        return KNOWN[id(x)]
    if isinstance(x, CONSTANTS) or getattr(type(x), "takes_jets", False):
        return x
    if isinstance(x, types.ModuleType) and x in MODULES:
        return MODULES[x]
    if isinstance(x, types.ModuleType) and x.__name__ == "quirk":
        return QUIRK
    if isinstance(x, types.MethodType):
        return types.MethodType(_stand_in(x.__func__, copies), _ReadOnly(x.__self__, copies))
    if isinstance(x, types.FunctionType):
        return _copied(x, copies)
    if isinstance(x, list):
        return _FrozenList(_stand_in(part, copies) for part in x)
    if type(x) is tuple:
        return tuple(_stand_in(part, copies) for part in x)
    if type(x) is dict:
        return types.MappingProxyType({key: _stand_in(part, copies) for key, part in x.items()})
    if isinstance(x, np.ndarray):
        frozen = x.copy()
        frozen.setflags(write=False)
        return frozen
    if isinstance(x, types.ModuleType | types.BuiltinFunctionType | type) or callable(x):
        raise NotTraceableError(f"{x!r}")
    return _ReadOnly(x, copies)


def _copied(function: types.FunctionType, copies: dict[int, Any]) -> Any:
    """Copy a function with stand-ins for its globals, its closure and its defaults."""
    if id(function) in copies:
        return copies[id(function)]
    code = function.__code__
    if code.co_flags & GENERATES:
        raise NotTraceableError(f"{function.__name__} is a generator")
    names: dict[str, Any] = {"__builtins__": BUILTINS}
    cells = tuple(types.CellType() for _ in code.co_freevars)
    copy = types.FunctionType(code, names, function.__name__, None, cells)
    copies[id(function)] = copy
    for name in names_in(code):
        if name in function.__globals__:
            names[name] = _stand_in_or_refusal(function.__globals__[name], copies)
    for cell, given in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = _stand_in_or_refusal(given.cell_contents, copies)
    copy.__defaults__ = tuple(_stand_in(x, copies) for x in function.__defaults__ or ()) or None
    copy.__kwdefaults__ = {k: _stand_in(x, copies) for k, x in (function.__kwdefaults__ or {}).items()} or None
    return copy


class _Refusal:
    """In the place of what a copy cannot have, should it ask for it."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def __getattr__(self, name: str) -> Any:
        raise self._error

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        raise self._error


def _stand_in_or_refusal(x: Any, copies: dict[int, Any]) -> Any:
    try:
        return _stand_in(x, copies)
    except NotTraceableError as error:
        return _Refusal(error)
