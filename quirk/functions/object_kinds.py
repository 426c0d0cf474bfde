"""Classification of objects in user functions, for the analysis of their side effects."""

from __future__ import annotations

import collections
import functools
import operator
import types
from typing import Any

import numpy as np

# Modules whose functions change only their arguments and the module's own data.
LIBRARIES = {
    "abc", "bisect", "cmath", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "functools",
    "itertools", "math", "numbers", "numpy", "operator", "quaternion", "quirk", "random", "re", "scipy", "statistics",
    "string", "time", "typing",
}  # fmt: skip

# Types of immutable values.
CONSTANTS = (int, float, complex, bool, str, bytes, type(None), type(...), range, slice, np.generic, np.dtype)

# Flag Py_TPFLAGS_HEAPTYPE of classes defined by a class statement.
_HEAP_TYPE = 1 << 9
LEAVES = {*CONSTANTS, types.CodeType, types.NotImplementedType}
CONTAINERS = {
    list, dict, set, tuple, frozenset, bytearray, types.SimpleNamespace, types.MappingProxyType, collections.deque,
    collections.defaultdict, collections.OrderedDict, collections.Counter,
}  # fmt: skip
CALLABLES = (
    types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.MethodWrapperType, types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    functools.partial, np.ufunc, type(np.cross),
)  # fmt: skip

# Methods of built-in types that set or read attributes by name.
SETTING = {"__setattr__", "__delattr__", "__set__", "__delete__", "__getattribute__", "__call__", "__reduce_ex__"}
# Callables that access attributes or methods by a stored name.
NAMING = {operator.methodcaller, operator.attrgetter}


def root_of(x: Any) -> str:
    """Return the top-level module in which a function or class was defined, such as "numpy"."""
    module = getattr(x, "__module__", None)
    if isinstance(x, np.ufunc):
        return "numpy"
    return module.partition(".")[0] if isinstance(module, str) else ""


def attributes_of(x: Any) -> dict[str, Any]:
    """Return the attributes stored in a module, class or object itself, by name; inherited ones are excluded."""
    found = dict(getattr(x, "__dict__", {}))
    if not isinstance(x, types.ModuleType | type):
        for base in type(x).__mro__:
            slots = [(name, part) for name, part in vars(base).items() if isinstance(part, types.MemberDescriptorType)]
            found.update((name, part.__get__(x)) for name, part in slots if hasattr(x, name))
    return found


def acts_when_set(x: Any) -> bool:
    """Whether a class attribute runs code when it is set: a property or a user-defined descriptor."""
    return isinstance(x, property) or (is_user_made(type(x)) and hasattr(type(x), "__set__"))


def has_contents(x: Any) -> bool:
    """Whether an object may have contents besides its attributes, such as the elements of a list or array."""
    if isinstance(x, types.ModuleType | type | types.FunctionType):
        return False
    kinds = [base for base in type(x).__mro__ if is_user_made(base)]
    return len(kinds) < len(type(x).__mro__) - 1


def is_user_made(kind: type) -> bool:
    """Whether a class was defined in user code by a class statement, and not in a library."""
    return root_of(kind) not in LIBRARIES and kind.__module__ != "builtins" and bool(kind.__flags__ & _HEAP_TYPE)


def is_empty(cell: types.CellType) -> bool:
    """Whether a closure cell is empty, because no value has been assigned yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False
