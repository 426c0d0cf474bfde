"""Conservative analysis of the outside values that user functions read and may modify.

An outside value is a global variable, closure variable or attribute. A function called in Python during a run may
change values that another function reads. As machine code would keep the old values, the other function must then also
run in Python. An unknown effect counts as a change.
"""

from __future__ import annotations

import builtins
import functools
import gc
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from .array_api import python_of
from .code_use import ATTRIBUTES, BUILTINS, MUTATING, CallSite, CodeUse, use_of
from .object_kinds import (
    CALLABLES,
    CONSTANTS,
    CONTAINERS,
    LEAVES,
    LIBRARIES,
    NAMING,
    SETTING,
    acts_when_set,
    attributes_of,
    has_contents,
    has_hidden_contents,
    is_empty,
    is_user_made,
    module_of_ufunc,
    root_of,
)

# Special methods that run only when an object or class is created.
MAKING = {"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__class_getitem__"}

# Library functions that read files, whose contents may change.
READING_FILES = {
    "load", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "open_memmap", "loadmat", "mmread",
    "DataSource",
}  # fmt: skip

# This package. Those of its functions that have closure variables may call user functions, and are analyzed like them.
OWN = "quirk"

# Methods that `collections.namedtuple` makes.
OF_NAMED_TUPLES = {"__repr__", "__getnewargs__"}

# Maximum number of objects analyzed for one function; the effects of a function that can access more are unknown.
MOST_OBJECTS = 20_000


class _UnknownError(Exception):
    """Error raised if a function uses an object or operation with unknown effects."""


class Effects:
    """Outside values that a user function reads and may modify; see the module's docstring.

    Attributes
    ----------
    known : False if some effects are unknown, so that the function may read and modify any value
    slots : variables that the function reads: ids of closure cells, and pairs (id of the global namespace, name)
    objects : functions, modules, classes and mutable objects that the function can access, by id
    names : attributes that the function reads
    stored_slots, stored_names : variables and attributes that the function sets
    called_names : library functions and built-in methods that the function calls
    mutates : whether the function may modify the contents of the lists, arrays and other objects in `objects`
    fixed : whether the function reads only constants
    remembered : attributes that the function reads and sets, at least once by a text
    """

    def __init__(self, function: Any) -> None:
        self.known, self.fixed, self.mutates = True, True, False
        self.slots: set[Any] = set()
        self.objects: dict[int, Any] = {}
        self.names: set[str] = set()
        self.stored_slots: set[Any] = set()
        self.stored_names: set[str] = set()
        self._filled: dict[int, Any] = {}
        self._filled_names: set[str] = set()
        self._of_unknown: set[CallSite] = set()
        self.called_names: set[str] = set()
        self.remembered: set[str] = set()
        self._set_later: set[str] = set()  # attributes set otherwise than by the constructors of new objects
        self._seen: dict[int, Any] = {}
        self._holders: dict[int, Any] = {}  # user modules, classes and objects, whose attributes are visited if named
        try:
            self._visit(function)
            self._visit_named()
            self._add_filled()
        except (_UnknownError, RecursionError):
            self.known = self.fixed = False
        self.mutates |= any(not self._without_side_effect(name) for name in self.names)
        names = self.names | self.called_names
        self.mutates |= any(call.may_give_output(of_module=False, names=names) for call in self._of_unknown)

    @property
    def writes(self) -> bool:
        """Whether the function may modify any outside value."""
        return not self.known or self.mutates or bool(self.stored_slots or self.stored_names)

    @property
    def remembers(self) -> bool:
        """Whether the function sets a variable or attribute that it also reads, so that calls are not independent."""
        attributes = self._set_later & self.names
        of_functions = any(
            attributes & vars(x).keys() for x in self.objects.values() if isinstance(x, types.FunctionType)
        )
        return bool(self.stored_slots & self.slots or self.remembered or (attributes and self._holders) or of_functions)

    def sets(self, owner: Any, name: str) -> bool:
        """Whether the function sets the attribute `name` of an object, `owner`, whose attributes it reads.

        Constructors set attributes of new objects.
        """
        return name in self._set_later and id(owner) in self.objects

    def fills(self, x: Any) -> bool:
        """Whether the function modifies the contents of the object x, by the name under which it reads it."""
        return id(x) in self._filled

    def may_change(self, other: Effects) -> bool:
        """Whether this function may modify outside values that the function with the effects `other` reads."""
        if not self.known:
            return not other.fixed
        if not other.known:
            return self.writes
        if self.stored_slots & other.slots:
            return True
        shared = [self.objects[key] for key in self.objects.keys() & other.objects.keys()]
        if self.stored_names & other.names and shared:
            return True
        return self.mutates and any(has_contents(x) for x in shared)

    def values_of_slots(self) -> Iterator[tuple[Any, Any]]:
        """Yield the closure cells and global names that the function reads, each with its value if it has one."""
        for slot in self.slots:
            if isinstance(slot, tuple):
                owner, name = slot
                if owner in self._seen and name in self._seen[owner]:
                    yield slot, self._seen[owner][name]
            elif not is_empty(self._seen[slot]):
                yield slot, self._seen[slot].cell_contents

    def _without_side_effect(self, name: str) -> bool:
        """Whether access to the attribute `name` has no side effect.

        The result is true for operations that only read, and for attributes of user objects that have been analyzed.
        """
        if name in ATTRIBUTES:
            return True
        return name not in MUTATING and any(name in attributes_of(x) for x in self._holders.values())

    def _visit_named(self) -> None:
        """Analyze attributes of user modules, classes and objects by name, until no further attributes are found."""
        done: set[tuple[int, str]] = set()
        while True:
            cases = [
                (key, name)
                for key, holder in list(self._holders.items())
                for name in self.names
                if (key, name) not in done and name in attributes_of(holder)
            ]
            cases += [
                (key, name)
                for key, holder in list(self._holders.items())
                for name in self.stored_names
                if (key, name) not in done and acts_when_set(attributes_of(holder).get(name))
            ]
            if not cases:
                return
            for key, name in cases:
                done.add((key, name))
                self._visit(attributes_of(self._holders[key])[name])

    def _add_filled(self) -> None:
        """Record the attributes whose contents the function modifies."""
        for holder in self._holders.values():
            own = attributes_of(holder)
            for name in self._filled_names & own.keys():
                self._filled[id(own[name])] = own[name]

    def _visit(self, x: Any) -> None:
        x = python_of(x)
        if type(x) in LEAVES or isinstance(x, np.generic) or id(x) in self._seen:
            return
        self._seen[id(x)] = x
        if len(self._seen) > MOST_OBJECTS:
            raise _UnknownError
        if isinstance(x, types.FunctionType):
            self._visit_function(x)
        elif isinstance(x, types.ModuleType):
            self._visit_module(x)
        elif isinstance(x, type):
            self._visit_class(x, creates=True)
        elif isinstance(x, CALLABLES):
            self._visit_callable(x)
        elif isinstance(x, property):
            self._visit_all((x.fget, x.fset, x.fdel))
        elif isinstance(x, staticmethod | classmethod):
            self._visit(x.__func__)
        elif isinstance(x, functools.cached_property):
            self._visit(x.func)
        else:
            self._visit_object(x)

    def _visit_all(self, parts: Iterable[Any]) -> None:
        for part in parts:
            self._visit(part)

    def _visit_function(self, x: types.FunctionType) -> None:
        if root_of(x) in LIBRARIES and not (root_of(x) == OWN and x.__closure__):
            if x.__name__ in READING_FILES:
                raise _UnknownError
            self._called(x.__name__)
            if x.__closure__:  # such as a library's wrapper around a user function
                self._visit_all(cell.cell_contents for cell in x.__closure__ if not is_empty(cell))
            return
        self.objects[id(x)] = x
        use = use_of(x.__code__)
        self.remembered |= use.remembered
        self._add_use(use)
        self._set_later |= use.stored_beyond_self if x.__name__ in MAKING else use.stored_names
        if use.filled:
            self._filled.update((id(value), value) for name, value in _variables(x).items() if name in use.filled)
        for call in use.calls:
            self._note_call(x, call)
        self.stored_slots |= {(id(x.__globals__), name) for name in use.stored_globals}
        for name in use.globals:
            self._visit_global(x, name)
        for name, cell in zip(x.__code__.co_freevars, x.__closure__ or (), strict=True):
            if name in use.stored_cells:
                self.stored_slots.add(id(cell))
            if not is_empty(cell):
                self._read(id(cell), cell, cell.cell_contents)
        self._visit_all((*(x.__defaults__ or ()), *(x.__kwdefaults__ or {}).values()))
        if "__wrapped__" in vars(x) or use.names & vars(x).keys():
            self.fixed = False
            self._visit_all(vars(x).values())

    def _note_call(self, x: types.FunctionType, call: CallSite) -> None:
        """Record whether a call in the function `x` may write its result to an array passed as an argument.

        Calls of library functions that read files have unknown effects.
        """
        first = _variables(x).get(call.variable or "")
        if isinstance(first, types.ModuleType) and call.names & READING_FILES:
            raise _UnknownError
        if call.names:
            self.mutates |= call.may_give_output(of_module=isinstance(first, types.ModuleType))
        elif first is None or not callable(first):  # a local variable, or attributes on separate lines
            self._of_unknown.add(call)
        elif isinstance(first, np.ufunc):
            self.mutates |= call.argument_count > first.nin
        elif root_of(first) in LIBRARIES:
            self.mutates |= call.may_give_output(of_module=True, names=[getattr(first, "__name__", "")])

    def _visit_global(self, x: types.FunctionType, name: str) -> None:
        if name in x.__globals__:
            self._read((id(x.__globals__), name), x.__globals__, x.__globals__[name])
            return
        self._seen[id(x.__globals__)] = x.__globals__
        self.slots.add((id(x.__globals__), name))
        given = getattr(builtins, name, None)
        is_error = isinstance(given, type) and issubclass(given, BaseException)
        if name not in BUILTINS and not is_error:
            raise _UnknownError

    def _read(self, slot: Any, keep: Any, value: Any) -> None:
        """Record that the function reads `value` from the variable `slot`, and analyze the value.

        `keep`, the object whose id is part of `slot`, is stored so that this id remains valid.
        """
        self._seen[id(keep)] = keep
        self.slots.add(slot)
        if isinstance(value, CONSTANTS):
            self.fixed = False
        self._visit(value)

    def _add_use(self, use: CodeUse) -> None:
        if not use.known:
            raise _UnknownError
        if not use.modules <= LIBRARIES:
            raise _UnknownError
        self.names |= use.names
        self.stored_names |= use.stored_names
        self.mutates |= use.mutates
        self._filled_names |= use.filled

    def _visit_module(self, x: types.ModuleType) -> None:
        root = x.__name__.partition(".")[0]
        self.objects[id(x)] = x
        if root in LIBRARIES:
            return
        if x.__name__ in sys.builtin_module_names:  # such as sys and gc, which reach everything
            raise _UnknownError
        self.fixed = False
        self._holders[id(x)] = x
        if "__getattr__" in vars(x):
            self._visit(vars(x)["__getattr__"])

    def _visit_class(self, x: type, creates: bool) -> None:
        """Analyze the class `x` of an object that the function uses.

        If `creates`, the function may also create objects of the class, so that its constructor is analyzed.
        """
        for base in x.__mro__:
            if root_of(base) in LIBRARIES or base.__module__ == "builtins":
                continue
            self.objects[id(base)] = base
            self._holders[id(base)] = base
            self.fixed = False
            for name, value in list(vars(base).items()):
                function = value.__func__ if isinstance(value, staticmethod | classmethod) else value
                special = isinstance(function, types.FunctionType) and name[:2] == "__" == name[-2:]
                if special and (creates or name not in MAKING):
                    self._visit(function)
        if type(x) is not type and root_of(type(x)) not in LIBRARIES:
            self._visit_class(type(x), creates=False)

    def _visit_callable(self, x: Any) -> None:
        owner = getattr(x, "__self__", None)
        if isinstance(x, types.MethodType):
            self._visit_all((x.__func__, owner))
        elif isinstance(x, functools.partial):
            self.objects[id(x)], self.fixed = x, False
            self._visit_all((x.func, *x.args, *x.keywords.values()))
        elif isinstance(owner, types.ModuleType) and owner is builtins:
            if x.__name__ not in BUILTINS:
                raise _UnknownError
        elif root_of(x) in LIBRARIES or isinstance(owner, types.ModuleType):
            if root_of(x) not in LIBRARIES or x.__name__ in READING_FILES:
                raise _UnknownError
            if isinstance(x, np.ufunc) and module_of_ufunc(x) is None:  # made from a Python function
                raise _UnknownError
            self._called(x.__name__)
        else:  # a method of a built-in type
            self._called(x.__name__)
            if owner is not None:
                self._visit(owner)

    def _called(self, name: str) -> None:
        """Record the call of the library function or built-in method `name`."""
        if name in SETTING:
            raise _UnknownError
        self.mutates |= name not in ATTRIBUTES and name not in OF_NAMED_TUPLES
        self.called_names.add(name)

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
        if kind in NAMING:
            raise _UnknownError
        if kind in CONTAINERS or root_of(kind) in LIBRARIES:
            pass
        elif is_user_made(kind) and not has_hidden_contents(kind):
            self._visit_class(kind, creates=False)
            self._holders[id(x)] = x
            if not has_contents(x):
                return
        else:
            raise _UnknownError
        self._visit_all(part for part in gc.get_referents(x) if part is not kind)

    def _visit_array(self, x: np.ndarray) -> None:
        if root_of(type(x)) not in LIBRARIES:  # a user's class, whose arrays have attributes
            raise _UnknownError
        if x.dtype == object:
            self._visit_all(x.ravel().tolist())
        base: Any = x
        while isinstance(base, np.ndarray):
            self.objects[id(base)] = base
            base = base.base
        if base is not None:  # memory owned by another object, which may be shared under other names
            raise _UnknownError


def _variables(x: types.FunctionType) -> dict[str, Any]:
    """Return the values of the global names and closure variables of a function, by name."""
    cells = zip(x.__code__.co_freevars, x.__closure__ or (), strict=True)
    return vars(builtins) | x.__globals__ | {name: cell.cell_contents for name, cell in cells if not is_empty(cell)}
