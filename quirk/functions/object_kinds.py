"""Kinds of objects that user functions can reach, as the analysis of what they read and change tells them apart."""

from __future__ import annotations

import collections
import functools
import operator
import types
from typing import Any

import numpy as np

# Modules whose functions change nothing but their arguments and what belongs to the module itself.
LIBRARIES = {
    "abc", "bisect", "cmath", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "functools",
    "itertools", "math", "numbers", "numpy", "operator", "quaternion", "quirk", "random", "re", "scipy", "statistics",
    "string", "time", "typing",
}  # fmt: skip

# Values that never change.
CONSTANTS = (int, float, complex, bool, str, bytes, type(None), type(...), range, slice, np.generic, np.dtype)

# Py_TPFLAGS_HEAPTYPE: classes made by a class statement.
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

# Methods of types built into Python that set attributes, or find them, by names that are given.
SETTING = {"__setattr__", "__delattr__", "__set__", "__delete__", "__getattribute__", "__call__", "__reduce_ex__"}
# What reads attributes, or calls methods, of names that are kept inside of it.
NAMING = {operator.methodcaller, operator.attrgetter}


def root_of(x: Any) -> str:
    """First part of the name of the module of a function or class."""
    module = getattr(x, "__module__", None)
    if isinstance(x, np.ufunc):
        return "numpy"
    return module.partition(".")[0] if isinstance(module, str) else ""


def attributes_of(x: Any) -> dict[str, Any]:
    """Return the attributes of a module, class or object that are kept in itself, by name."""
    found = dict(getattr(x, "__dict__", {}))
    if not isinstance(x, types.ModuleType | type):
        for base in type(x).__mro__:
            slots = [(name, part) for name, part in vars(base).items() if isinstance(part, types.MemberDescriptorType)]
            found.update((name, part.__get__(x)) for name, part in slots if hasattr(x, name))
    return found


def acts_when_set(x: Any) -> bool:
    """Whether something found in a class acts where an attribute of its name is set: a property or a descriptor."""
    return isinstance(x, property) or (is_user_made(type(x)) and hasattr(type(x), "__set__"))


def has_contents(x: Any) -> bool:
    """Whether an object has contents besides named attributes, as lists and arrays have."""
    if isinstance(x, types.ModuleType | type | types.FunctionType):
        return False
    kinds = [base for base in type(x).__mro__ if is_user_made(base)]
    return len(kinds) < len(type(x).__mro__) - 1


def is_user_made(kind: type) -> bool:
    """Whether a class was made by a class statement outside of the libraries."""
    return root_of(kind) not in LIBRARIES and kind.__module__ != "builtins" and bool(kind.__flags__ & _HEAP_TYPE)


def is_empty(cell: types.CellType) -> bool:
    """Whether a variable of an outer function has no value yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False
