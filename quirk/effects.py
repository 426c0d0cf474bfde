"""What user functions read and may change outside of themselves, found from their code and from all they can reach.

A function that a run calls in Python may change what another one reads. Machine code would keep the old value, so the
reader then has to run in Python too. The analysis is conservative: what is not known to be harmless counts as a change.
"""

from __future__ import annotations

import builtins
import collections
import functools
import gc
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .code_use import ATTRIBUTES, BUILTINS, MUTATING, CodeUse, use_of
from .stand_ins import python_of

# Modules whose functions change nothing but their arguments and what belongs to the module itself.
LIBRARIES = {
    "abc", "bisect", "cmath", "collections", "copy", "dataclasses", "decimal", "enum", "fractions", "functools",
    "itertools", "math", "numbers", "numpy", "operator", "quaternion", "quirk", "random", "re", "scipy", "statistics",
    "string", "time", "typing",
}  # fmt: skip

# Values that never change.
CONSTANTS = (int, float, complex, bool, str, bytes, type(None), type(...), range, slice, np.generic, np.dtype)

# Methods that run when an object is made, not when it is used.
MAKING = {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__class_getitem__"}

# Objects that one function may reach before the analysis gives up.
MOST_OBJECTS = 20_000


class _UnknownError(Exception):
    """Raised where a function uses something whose effects are not known."""


class Effects:
    """What a function reads and may change.

    Attributes
    ----------
    known : False if it uses something whose effects are not known; it may then read and change anything
    slots : closure cells, by id, and global names, as (id of the globals, name), that it reads
    objects : all objects with contents that it can reach, by id
    names : attributes that it uses
    stored_slots, stored_names : slots and attributes that it sets
    mutates : whether it may change the contents of lists, arrays and other objects that it can reach
    fixed : whether it reads no value from outside that anybody could change
    """

    def __init__(self, function: Any) -> None:
        self.known, self.fixed, self.mutates = True, True, False
        self.slots: set[Any] = set()
        self.objects: dict[int, Any] = {}
        self.names: set[str] = set()
        self.stored_slots: set[Any] = set()
        self.stored_names: set[str] = set()
        self._seen: dict[int, Any] = {}
        self._holders: dict[int, Any] = {}  # user modules, classes and objects: attributes are visited if named
        try:
            self._visit(function)
            self._visit_named()
        except (_UnknownError, RecursionError):
            self.known = self.fixed = False
        self.mutates |= any(not self._harmless(name) for name in self.names)

    @property
    def writes(self) -> bool:
        """Whether it may change anything."""
        return not self.known or self.mutates or bool(self.stored_slots or self.stored_names)

    def may_change(self, other: Effects) -> bool:
        """Whether a call of this function may change what another one reads."""
        if not self.known:
            return not other.fixed
        if not other.known:
            return self.writes
        if self.stored_slots & other.slots:
            return True
        shared = [self.objects[key] for key in self.objects.keys() & other.objects.keys()]
        if self.stored_names & other.names and shared:
            return True
        return self.mutates and any(_has_contents(x) for x in shared)

    def _harmless(self, name: str) -> bool:
        """Whether to use an attribute of this name changes nothing: it only reads, or is a user's, which is visited."""
        if name in ATTRIBUTES:
            return True
        return name not in MUTATING and any(name in _attributes(x) for x in self._holders.values())

    def _visit_named(self) -> None:
        """Visit the attributes of user modules, classes and objects that are named, until there are no more."""
        done: set[tuple[int, str]] = set()
        while True:
            cases = [
                (key, name)
                for key, holder in list(self._holders.items())
                for name in self.names
                if (key, name) not in done and name in _attributes(holder)
            ]
            if not cases:
                return
            for key, name in cases:
                done.add((key, name))
                self._visit(_attributes(self._holders[key])[name])

    def _visit(self, x: Any) -> None:
        x = python_of(x)
        if type(x) in _LEAVES or isinstance(x, np.generic) or id(x) in self._seen:
            return
        self._seen[id(x)] = x
        if len(self._seen) > MOST_OBJECTS:
            raise _UnknownError
        if isinstance(x, types.FunctionType):
            self._visit_function(x)
        elif isinstance(x, types.ModuleType):
            self._visit_module(x)
        elif isinstance(x, type):
            self._visit_class(x, made=True)
        elif isinstance(x, _CALLABLES):
            self._visit_callable(x)
        elif isinstance(x, property):
            self._visit_all((x.fget, x.fset, x.fdel))
        elif isinstance(x, staticmethod | classmethod):
            self._visit(x.__func__)
        else:
            self._visit_object(x)

    def _visit_all(self, parts: Iterable[Any]) -> None:
        for part in parts:
            self._visit(part)

    def _visit_function(self, x: types.FunctionType) -> None:
        if _root(x) in LIBRARIES:
            self._called(x.__name__)
            if x.__closure__:  # as of a function that a library has made around one of the user
                self._visit_all(cell.cell_contents for cell in x.__closure__ if not _is_empty(cell))
            return
        self.objects[id(x)] = x
        use = use_of(x.__code__)
        self._take(use)
        self.stored_slots |= {(id(x.__globals__), name) for name in use.stored_globals}
        for name in use.globals:
            self._visit_global(x, name)
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            if name in use.stored_cells:
                self.stored_slots.add(id(cell))
            if not _is_empty(cell):
                self._read(id(cell), cell, cell.cell_contents)
        self._visit_all((*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()))
        if "__wrapped__" in vars(x) or use.names & vars(x).keys():
            self._visit_all(vars(x).values())

    def _visit_global(self, x: types.FunctionType, name: str) -> None:
        if name in x.__globals__:
            self._read((id(x.__globals__), name), x.__globals__, x.__globals__[name])
            return
        self.slots.add((id(x.__globals__), name))
        given = getattr(builtins, name, None)
        is_error = isinstance(given, type) and issubclass(given, BaseException)
        if name not in BUILTINS and not is_error:
            raise _UnknownError

    def _read(self, slot: Any, keep: Any, value: Any) -> None:
        """Note that a value is read from a slot, which is kept alive, and visit it."""
        self._seen[id(keep)] = keep
        self.slots.add(slot)
        if isinstance(value, CONSTANTS):
            self.fixed = False
        self._visit(value)

    def _take(self, use: CodeUse) -> None:
        if not use.known:
            raise _UnknownError
        if not use.modules <= LIBRARIES:
            raise _UnknownError
        self.names |= use.names
        self.stored_names |= use.stored_names
        self.mutates |= use.mutates

    def _visit_module(self, x: types.ModuleType) -> None:
        root = x.__name__.partition(".")[0]
        self.objects[id(x)] = x
        if root in LIBRARIES:
            return
        if not hasattr(x, "__file__") and root != "__main__":  # as sys, builtins and gc, which reach everything
            raise _UnknownError
        self.fixed = False
        self._holders[id(x)] = x

    def _visit_class(self, x: type, made: bool) -> None:
        """Visit a class whose objects are used or, if `made`, may also be created."""
        for base in x.__mro__:
            if _root(base) in LIBRARIES or base.__module__ == "builtins":
                continue
            self.objects[id(base)] = base
            self._holders[id(base)] = base
            self.fixed = False
            for name, value in list(vars(base).items()):
                special = isinstance(value, types.FunctionType) and name[:2] == "__" == name[-2:]
                if special and (made or name not in MAKING):
                    self._visit(value)
        if type(x) is not type and _root(type(x)) not in LIBRARIES:
            self._visit_class(type(x), made=False)

    def _visit_callable(self, x: Any) -> None:
        owner = getattr(x, "__self__", None)
        if isinstance(x, types.MethodType):
            self._visit_all((x.__func__, owner))
        elif isinstance(x, functools.partial):
            self._visit_all((x.func, *x.args, *x.keywords.values()))
        elif isinstance(owner, types.ModuleType) and owner is builtins:
            if x.__name__ not in BUILTINS:
                raise _UnknownError
        elif _root(x) in LIBRARIES or isinstance(owner, types.ModuleType):
            if _root(x) not in LIBRARIES:
                raise _UnknownError
            self._called(x.__name__)
        else:  # a method of a type built into Python
            self._called(x.__name__)
            if owner is not None:
                self._visit(owner)

    def _called(self, name: str) -> None:
        """Note the call of a function of a library."""
        self.mutates |= name not in ATTRIBUTES

    def _visit_object(self, x: Any) -> None:
        kind = type(x)
        if isinstance(x, tuple | frozenset) and kind in (tuple, frozenset):
            self._visit_all(x)
            return
        self.fixed = False
        if isinstance(x, np.ndarray):
            self._visit_array(x)
            return
        self.objects[id(x)] = x
        if kind in _CONTAINERS or _root(kind) in LIBRARIES:
            pass
        elif _is_user_made(kind):
            self._visit_class(kind, made=False)
            self._holders[id(x)] = x
            if not _has_contents(x):
                return
        else:
            raise _UnknownError
        self._visit_all(part for part in gc.get_referents(x) if part is not kind)

    def _visit_array(self, x: np.ndarray) -> None:
        if x.dtype == object:
            self._visit_all(x.ravel().tolist())
        base: Any = x
        while isinstance(base, np.ndarray):
            self.objects[id(base)] = base
            base = base.base
        if base is not None:  # memory of something else, which may be shared under other names
            raise _UnknownError


# Py_TPFLAGS_HEAPTYPE: classes made by a class statement.
_HEAP_TYPE = 1 << 9
_LEAVES = {*CONSTANTS, types.CodeType, types.NotImplementedType}
_CONTAINERS = {
    list, dict, set, tuple, frozenset, bytearray, types.SimpleNamespace, types.MappingProxyType, collections.deque,
    collections.defaultdict, collections.OrderedDict, collections.Counter,
}  # fmt: skip
_CALLABLES = (
    types.MethodType, types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
    types.MethodWrapperType, types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    functools.partial, np.ufunc, type(np.cross),
)  # fmt: skip


def _root(x: Any) -> str:
    """First part of the name of the module of a function or class."""
    module = getattr(x, "__module__", None)
    if isinstance(x, np.ufunc):
        return "numpy"
    return module.partition(".")[0] if isinstance(module, str) else ""


def _attributes(x: Any) -> dict[str, Any]:
    """Return the attributes of a module, class or object that are kept in itself, by name."""
    found = dict(getattr(x, "__dict__", {}))
    if not isinstance(x, types.ModuleType | type):
        for base in type(x).__mro__:
            slots = [(name, part) for name, part in vars(base).items() if isinstance(part, types.MemberDescriptorType)]
            found.update((name, part.__get__(x)) for name, part in slots if hasattr(x, name))
    return found


def _has_contents(x: Any) -> bool:
    """Whether an object has contents besides named attributes, as lists and arrays have."""
    if isinstance(x, types.ModuleType | type | types.FunctionType):
        return False
    kinds = [base for base in type(x).__mro__ if _is_user_made(base)]
    return len(kinds) < len(type(x).__mro__) - 1


def _is_user_made(kind: type) -> bool:
    """Whether a class was made by a class statement outside of the libraries."""
    return _root(kind) not in LIBRARIES and kind.__module__ != "builtins" and bool(kind.__flags__ & _HEAP_TYPE)


def _is_empty(cell: types.CellType) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return True
    return False


def changed_by(others: Sequence[Any]) -> Callable[[Any], bool]:
    """Return a predicate: whether a function reads what calls of these others may change."""
    writers = [effects for effects in map(Effects, others) if effects.writes]
    if not writers:
        return lambda function: False

    known: dict[int, tuple[Any, bool]] = {}

    def changed(function: Any) -> bool:
        if id(function) not in known:
            reads = Effects(function)
            known[id(function)] = function, any(writer.may_change(reads) for writer in writers)
        return known[id(function)][1]

    return changed
