"""What a function of a user finds outside of itself: whether two do the same, and whether others may change it."""

from __future__ import annotations

import builtins
import dis
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .stand_ins import BUILTINS, CONSTANTS, KNOWN, MODULES, NotTraceableError

# Flags of the code of generators and coroutines.
GENERATES = 0x20 | 0x80 | 0x200
_WRITING = ("STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME", "STORE_ATTR", "DELETE_ATTR")
# What catches errors would catch those that tell that a function cannot be copied.
_CATCHING = ("PUSH_EXC_INFO", "SETUP_FINALLY", "SETUP_WITH", "BEFORE_WITH")


def names_in(code: types.CodeType) -> set[str]:
    """Global names that code may ask for, with those of functions inside it; code that writes such is refused."""
    before = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in _CATCHING:
            raise NotTraceableError(f"{code.co_name} catches errors")
        if instruction.opname == "IS_OP" and before != ("LOAD_CONST", None):
            raise NotTraceableError(f"{code.co_name} asks whether something is the same object")
        before = instruction.opname, instruction.argval
        outer = instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars
        if instruction.opname in _WRITING or outer:
            raise NotTraceableError(f"{code.co_name} sets {instruction.argval}")
    inner = (names_in(part) for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*inner)


def fingerprint(function: Any) -> Any:
    """Return what is equal for functions that do the same: their code, and the values that they find outside.

    None if that cannot be told, as for methods of objects, whose attributes may change.
    """
    try:
        return _print(function, {})
    except (_UnknownError, NotTraceableError):
        return None


def found_by(x: types.FunctionType) -> list[tuple[str, Any, Any]]:
    """What a function finds outside of itself: names, where the values are kept, and these."""
    code, cells = x.__code__, x.__closure__ or ()
    names = sorted(name for name in names_in(code) if name in x.__globals__)
    return [
        *((name, (id(x.__globals__), name), x.__globals__[name]) for name in names),
        *((name, id(cell), cell.cell_contents) for name, cell in zip(code.co_freevars, cells, strict=True)),
        ("defaults", None, x.__defaults__),
        ("named", None, tuple((x.__kwdefaults__ or {}).items())),
    ]


def changed_by(others: Sequence[Any]) -> Callable[[Any], bool]:
    """Return what tells of a function whether it reads what other functions may change when they are called.

    Functions that use nothing but numbers and known functions change nothing. If there are others, whatever is not
    within a function may be changed.
    """
    harmless = all(_contained(getattr(other, "py_func", other), True, set()) for other in others)
    return lambda function: not harmless and not _contained(getattr(function, "py_func", function), False, set())


def _contained(x: Any, numbers: bool, seen: set[int]) -> bool:
    """Whether a function finds nothing outside of itself but known functions, and with `numbers` such."""
    if id(x) in KNOWN or (isinstance(x, types.ModuleType) and x in MODULES):
        return True
    if isinstance(x, CONSTANTS):
        return True
    if type(x) is tuple:
        return all(_contained(part, numbers, seen) for part in x)
    if not isinstance(x, types.FunctionType):
        return False
    if id(x) in seen:
        return True
    seen.add(id(x))
    try:
        found = found_by(x)
    except NotTraceableError:
        return False
    known = {*x.__globals__, *BUILTINS, "print", "round", "divmod", "sorted", "isinstance", "str"}
    calls = all(name in known or not hasattr(builtins, name) for name in names_in(x.__code__))
    return calls and all(
        (numbers or place is None or value is None or not isinstance(value, CONSTANTS))
        and _contained(value, numbers, seen)
        for _, place, value in found
    )


class _UnknownError(Exception):
    """Raised where the values that a function finds cannot be listed."""


def _print(x: Any, seen: dict[int, int]) -> Any:
    x = getattr(x, "py_func", x)
    if id(x) in KNOWN or (isinstance(x, types.ModuleType) and x in MODULES):
        return x
    if isinstance(x, CONSTANTS):
        return type(x), x
    if isinstance(x, types.FunctionType):
        if id(x) in seen:
            return "again", seen[id(x)]
        seen[id(x)] = len(seen)
        return x.__code__, tuple((name, _print(value, seen)) for name, _, value in found_by(x))
    if isinstance(x, tuple | list):
        return tuple(_print(part, seen) for part in x)
    if isinstance(x, dict):
        return tuple((key, _print(part, seen)) for key, part in x.items())
    if isinstance(x, np.ndarray) and x.dtype != object:
        return x.shape, x.dtype.str, x.tobytes()
    raise _UnknownError
