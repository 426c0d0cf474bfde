"""Members of objects, classes and callables that digests of functions describe, and those of libraries."""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
import types
from collections.abc import Mapping
from typing import Any

from .object_kinds import LIBRARIES, file_of, is_compiled, is_user_made

# Folders of the standard library and of installed packages, whose functions and classes are described by name.
_INSTALLED = tuple(sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib"))
# Types of class attributes that stand for attributes of the objects.
_OF_SLOTS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def user_bases(kind: type) -> list[type]:
    """Return a class and its bases as far as they are defined in user code, in the order of attribute lookup."""
    return [base for base in kind.__mro__ if not is_library(base)]


def own_members(kind: type, *, methods: bool) -> dict[str, Any]:
    """Return the methods and properties, or else the values, that a class itself defines, by name."""
    own = {name: part for name, part in vars(kind).items() if not isinstance(part, _OF_SLOTS)}
    if methods:
        return {name: part for name, part in own.items() if hasattr(type(part), "__get__")}
    return {name: part for name, part in own.items() if not hasattr(type(part), "__get__") and not is_special(name)}


def is_special(name: str) -> bool:
    """Whether a name begins and ends with two underscores."""
    return name[:2] == "__" == name[-2:]


def without_cached(owner: Any, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes `own` of an object without stored values of its cached properties."""
    kind = type(owner)
    return {k: v for k, v in own.items() if not isinstance(getattr(kind, k, None), functools.cached_property)}


def parts_of_callable(value: Any) -> tuple[Any, ...] | None:
    """Return the objects that a method, property or other wrapper of a function consists of, or None for others."""
    if isinstance(value, types.MethodType):
        return value.__func__, value.__self__
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, property):
        return value.fget, value.fset, value.fdel
    if isinstance(value, staticmethod | classmethod):
        return (value.__func__,)
    if isinstance(value, functools.cached_property):
        return (value.func,)
    return (value.__wrapped__,) if isinstance(value, functools._lru_cache_wrapper) else None


def is_made_of_attributes(kind: type) -> bool:
    """Whether objects of a class are described by those attributes that functions read."""
    return kind is types.SimpleNamespace or (is_user_made(kind) and not is_library(kind))


def is_library(x: Any) -> bool:
    """Whether a module, class or function belongs to Python, an installed package or an extension module."""
    name = x.__name__ if isinstance(x, types.ModuleType) else x.__module__ or ""
    if not isinstance(name, str):  # of classes of extension modules
        return True
    module = x if isinstance(x, types.ModuleType) else sys.modules.get(name)
    file = x.__code__.co_filename if isinstance(x, types.FunctionType) else file_of(module)
    if name.partition(".")[0] in LIBRARIES:
        return True
    if file is None:
        made_by_hand = isinstance(x, types.ModuleType) and x.__spec__ is None and not is_compiled(name)
        return module is not None and name != "__main__" and not made_by_hand
    return file.startswith(_INSTALLED) or is_compiled(name)


def is_part_of_python(value: Any) -> bool:
    """Whether a value in the module `builtins` is a function or class of Python, or a constant such as `__debug__`."""
    constants = bool | type(None) | type(...) | type(NotImplemented)
    return isinstance(value, types.BuiltinFunctionType | type | constants) or type(value).__module__ == "_sitebuiltins"
