"""Classification of objects in user functions, for the analysis of their side effects."""

from __future__ import annotations

import collections
import functools
import operator
import sys
import types
from collections.abc import Hashable, Mapping
from importlib.machinery import EXTENSION_SUFFIXES
from typing import Any

import numpy as np

from quirk.util.construction import ConstructorCall

# Modules whose functions change only their arguments and the module's own data.
LIBRARIES = {
    "abc", "bisect", "cmath", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "functools",
    "itertools", "math", "numbers", "numpy", "operator", "quaternion", "quirk", "random", "re", "scipy", "statistics",
    "string", "time", "typing",
}  # fmt: skip

# Types of immutable values.
CONSTANTS = (int, float, complex, bool, str, bytes, type(None), type(...), range, slice, np.generic, np.dtype)

# Flag Py_TPFLAGS_HEAPTYPE of classes defined by a class statement, and of some classes of extension modules.
_HEAP_TYPE = 1 << 9
# Modules of universal functions, which are known by name.
_OF_UFUNCS = ("numpy", "scipy.special")
# Objects without values that user functions read: also the fields of a class made by `collections.namedtuple`, whose
# values are elements of its tuples, and the call that made an element, which only `quirk.replace` reads.
_FIELD = vars(collections.namedtuple("_Fields", "x"))["x"]
LEAVES = {*CONSTANTS, types.CodeType, types.NotImplementedType, type(_FIELD), ConstructorCall}
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


def identity(function: Any) -> Hashable:
    """Return a key of a function, by identity; a bound method is identified by its object and its function.

    Python makes bound methods anew at each access.
    """
    if isinstance(function, types.MethodType):
        return id(function.__self__), id(function.__func__)
    return id(function)


def root_of(x: Any) -> str:
    """Return the top-level module in which a function or class was defined, such as "numpy"."""
    module = getattr(x, "__module__", None)
    if isinstance(x, np.ufunc):
        return "numpy"
    return module.partition(".")[0] if isinstance(module, str) else ""


def is_compiled(module: str) -> bool:
    """Whether the module with a given name is built into Python or an extension, so that it has no Python code."""
    if module in sys.builtin_module_names:
        return True
    return (file_of(sys.modules.get(module)) or "").endswith(tuple(EXTENSION_SUFFIXES))


def file_of(module: Any) -> str | None:
    """Return the file of a module, or None; a function `__getattr__` of the module is not called."""
    file = getattr(module, "__dict__", {}).get("__file__")
    return file if isinstance(file, str) else None


def module_of_ufunc(x: np.ufunc) -> str | None:
    """Return the library module that contains a universal function, or None for a function made by `frompyfunc`."""
    return next((m for m in _OF_UFUNCS if getattr(sys.modules.get(m), x.__name__, None) is x), None)


def has_hidden_contents(kind: type) -> bool:
    """Whether objects of a class may have data outside of Python's objects, as those of `array` and `ctypes` have."""
    bases = [base for base in kind.__mro__ if base not in CONTAINERS and root_of(base) not in LIBRARIES]
    return any(base.__module__ != "builtins" and is_compiled(base.__module__) for base in bases)


def attributes_of(x: Any) -> dict[str, Any]:
    """Return the attributes stored in a module, class or object itself, by name; inherited ones are excluded."""
    own = getattr(x, "__dict__", None)
    found = dict(own) if isinstance(own, Mapping) else {}  # an object may answer to any name
    if not isinstance(x, types.ModuleType | type):
        found.update((name, slot.__get__(x)) for name, slot in slots_of(type(x)).items() if hasattr(x, name))
    return found


def slots_of(kind: type) -> dict[str, types.MemberDescriptorType]:
    """Return the slots of a class by the name of their attribute, including inherited ones."""
    members = [pair for base in reversed(kind.__mro__) for pair in vars(base).items()]
    return {name: slot for name, slot in members if isinstance(slot, types.MemberDescriptorType)}


def built_in_base(kind: type) -> type | None:
    """Return the first base class in machine code, such as `list`, whose objects have contents besides attributes."""
    for base in kind.__mro__[:-1]:
        if isinstance(vars(base).get("__new__"), types.BuiltinFunctionType):
            return base
    return None


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
    if root_of(kind) in LIBRARIES or kind.__module__ == "builtins" or not kind.__flags__ & _HEAP_TYPE:
        return False
    return not is_compiled(kind.__module__)


def is_empty(cell: types.CellType) -> bool:
    """Whether a closure cell is empty, because no value has been assigned yet."""
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False
