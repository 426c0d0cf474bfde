"""Digests of values, functions, bodies, constraints and forces that are the same in every process."""

from __future__ import annotations

import builtins
import collections
import ctypes
import enum
import functools
import hashlib
import json
import operator
import types
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..util.construction import ConstructorCall, made_with
from .array_api import python_of
from .code_use import use_of
from .effects import MAKING, Effects
from .object_kinds import (
    CALLABLES,
    attributes_of,
    is_empty,
    is_user_made,
    module_of_ufunc,
)
from .object_members import (
    is_library,
    is_made_of_attributes,
    is_part_of_python,
    is_special,
    own_members,
    parts_of_callable,
    user_bases,
    without_cached,
)
from .unresolved_reads import imported_modules, unresolved_object, unresolved_reads

# Maximum nesting depth of digested values, well above that of the arguments of bodies, constraints and forces.
DEEPEST = 100
# Maximum number of functions, classes and objects that one digest includes, as for the analysis of side effects.
MOST_OBJECTS = 20_000
# Description of a value that functions set during a run: its value at the start may differ when a run is continued.
SET_IN_RUN = ["set during the run"]
# Types of immutable values that are described by their text; subclasses in user code may have attributes, too.
_TEXTS = (str, bytes, int, bool, float, complex, range, type(...), type(None))
# Types of objects with memory in the format of C.
_OF_C = (ctypes.Array, ctypes.Structure, ctypes.Union)
# Functions and attributes that read attributes of an object whose names are not in the code.
_READ_ALL = {"getattr", "vars", "dir", "astuple", "asdict", "attrgetter", "copy", "deepcopy", "__dict__", "__slots__"}


def digest(value: Any, names: Mapping[int, str]) -> str:
    """Return a digest of a value; equivalent values have equal digests, in every process.

    `names` are the names of bodies, constraints and forces by id, which replace these objects.
    """
    return Digests(names)(value)


def has_functions(value: Any, names: Mapping[int, str]) -> bool:
    """Whether Python functions, or objects that functions may read, are among the arguments that made an object.

    `names` are the names of bodies, constraints and forces by id, whose own arguments are not searched.
    """
    call = made_with(value)
    if call is not None:
        inner: Iterable[Any] = [part for part in call.arguments.values() if id(part) not in names]
        return is_user_made(type(value)) or any(has_functions(part, names) for part in inner)
    if isinstance(value, list | tuple):
        return any(has_functions(part, names) for part in value)
    return any(has_functions(part, names) for part in value.values()) if isinstance(value, dict) else callable(value)


class Digests:
    """Function that returns digests of values; equivalent values have equal digests, in every process.

    A function is described by its code and by its outside values: the global names, closure variables and attributes
    that it reads, directly or through other functions and objects. Values that the functions themselves set during a
    run are excluded, such as counters and stored results.

    Parameters
    ----------
    names : names of bodies, constraints and forces by id, which replace these objects
    called : user functions that a run calls in addition to the digested ones, and that may set values

    Attributes
    ----------
    unknown : names of the types of objects that could not be described, as far as digests have been computed
    unresolved : names by which functions read values that could not be determined, such as "open" and "os.environ"
    """

    def __init__(self, names: Mapping[int, str], called: Iterable[Any] = ()) -> None:
        self._names = names
        self._writers = [effects for effects in map(Effects, called) if effects.known]
        self._reads: frozenset[str] | None = None  # names of the attributes to describe, or None for all
        self._in_function = False
        self._numbers: dict[Any, tuple[int, Any]] = {}
        self._whole: int | None = None
        self._open: set[int] = set()
        self.unknown: set[str] = set()
        self.unresolved: set[str] = set()

    def take_unknown(self) -> list[str]:
        """Return phrases for what functions read but digests do not describe, and begin to collect it anew."""
        phrases = [f"objects of type {', '.join(sorted(self.unknown))}"] if self.unknown else []
        phrases += [f"values by {', '.join(sorted(self.unresolved))}"] if self.unresolved else []
        self.unknown.clear()
        self.unresolved.clear()
        return phrases

    def __call__(self, value: Any, without: int | None = None) -> str:
        """Return the digest of a value; `without` is the id of an object that its name does not replace."""
        self._numbers, self._whole = {}, without
        text = json.dumps(self._described(value, 0), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _described(self, value: Any, depth: int) -> Any:
        """Return a value as nested lists and dicts of strings; `depth` is the level of nesting."""
        if depth > DEEPEST:
            return self._unknown(value)
        if id(value) in self._names and id(value) != self._whole:
            return ["part", self._names[id(value)]]
        if type(value) in _TEXTS:
            return repr(value)
        if isinstance(value, np.generic):
            return repr(value.item())
        if id(value) in self._open or any(writer.fills(value) for writer in self._writers):
            return ["again"] if id(value) in self._open else SET_IN_RUN
        self._open.add(id(value))
        try:
            return self._of_container(value, depth + 1)
        finally:
            self._open.discard(id(value))

    def _of_container(self, value: Any, depth: int) -> Any:
        """Return the description of an object that contains others, at the level of nesting `depth` of these."""
        if isinstance(value, np.ndarray) and value.dtype != object:
            content = [value.dtype.str, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
            return [content, self._of_function(value, depth)] if is_user_made(type(value)) else content
        if isinstance(value, _OF_C):
            return [type(value).__qualname__, bytes(value).hex()]
        call = made_with(value)
        if call is not None:
            return self._of_part(value, call, depth)
        user_made = is_user_made(type(value))
        if isinstance(value, enum.Enum):
            members = [type(value).__qualname__, value.name, self._described(value.value, depth)]
            return [members, self._of_function(value, depth)]
        if isinstance(value, _TEXTS):
            plain: Any = next(kind for kind in _TEXTS if isinstance(value, kind))
            return [plain.__repr__(value), self._of_function(value, depth)]
        if isinstance(value, list | tuple | np.ndarray):
            listed = [self._described(one, depth) for one in value]
            return [listed, self._of_function(value, depth)] if user_made else listed
        if isinstance(value, Mapping):
            if unresolved_object(value) is not None:
                return self._unresolved(value)
            items = {self._key(key, depth): self._described(value[key], depth) for key in sorted(value, key=str)}
            order = [self._key(key, depth) for key in value]
            if self._in_function and order != sorted(order):  # which a function may read, too
                items = {"items": items, "order": order}
            if isinstance(value, collections.defaultdict):
                return [items, self._described(value.default_factory, depth)]
            return [items, self._of_function(value, depth)] if user_made else items
        if isinstance(value, set | frozenset):
            members = sorted((self._described(one, depth) for one in value), key=json.dumps)
            return [members, self._of_function(value, depth)] if user_made else members
        return self._of_function(value, depth)

    def _key(self, key: Any, depth: int) -> str:
        plain = key is None or isinstance(key, str | int | float)
        return str(key) if plain else json.dumps(self._described(key, depth))

    def _of_part(self, value: Any, call: ConstructorCall, depth: int) -> Any:
        """Return the description of an object with a recorded constructor call, such as a body or a motion."""
        described = [call.maker.__qualname__, self._described(call.arguments, depth)]
        if not is_user_made(type(value)):
            return described
        members = [member for base in user_bases(type(value)) for member in vars(base).values()]
        methods = [member for member in members if isinstance(member, types.FunctionType)]
        effects = [Effects(types.MethodType(method, value)) for method in methods]
        return [*described, self._with_reads(value, effects, depth, [method.__name__ for method in methods])]

    def _of_function(self, value: Any, depth: int) -> Any:
        """Return the description of a function, or of an object that may be called or that functions read."""
        return self._of_object(value, depth) if self._in_function else self._with_reads(value, [Effects(value)], depth)

    def _with_reads(self, value: Any, effects: Sequence[Effects], depth: int, called: Iterable[str] = ()) -> Any:
        """Return the description of an object with the attributes that functions with the given effects read.

        `called` are names of methods of the object that a run calls.
        """
        before = self._reads, self._in_function, self._writers
        names = frozenset(called).union(*(one.names for one in effects))
        everything = any(not one.known or one.called_names & _READ_ALL for one in effects) or names & _READ_ALL
        self._reads, self._in_function = None if everything else names, True
        self._writers = [*self._writers, *(one for one in effects if one.known)]
        try:
            return self._of_object(value, depth)
        finally:
            self._reads, self._in_function, self._writers = before

    def _of_object(self, value: Any, depth: int) -> Any:
        """Return the description of a function, class or object, once in each digest."""
        value = python_of(value)
        if id(value) in self._numbers:
            return ["again", self._numbers[id(value)][0]]
        if len(self._numbers) > MOST_OBJECTS:
            return self._unknown(value)
        self._numbers[id(value)] = len(self._numbers), value
        if unresolved_object(value) is not None:
            return self._unresolved(value)
        if isinstance(value, types.FunctionType):
            return self._of_code_and_variables(value, depth)
        if isinstance(value, types.ModuleType):
            return ["module", value.__name__, {} if is_library(value) else self._of_user_module(value, depth)]
        if isinstance(value, type):
            return self._of_class(value, depth, creates=True)
        parts = parts_of_callable(value)
        if parts is not None:
            own = vars(value) if isinstance(value, functools.partial) else {}
            described = [type(value).__qualname__, [self._described(part, depth) for part in parts]]
            return [*described, self._attributes(value, own, depth)] if own else described
        if isinstance(value, CALLABLES):
            return self._of_builtin(value, depth)
        if is_made_of_attributes(type(value)):
            defaults = [own_members(base, methods=False) for base in user_bases(type(value))]
            own = functools.reduce(operator.or_, reversed(defaults), {}) | attributes_of(value)
            own.pop("_made", None)
            return ["object", self._of_class(type(value), depth, creates=False), self._attributes(value, own, depth)]
        return self._of_library_object(value, depth)

    def _of_user_module(self, module: types.ModuleType, depth: int) -> Any:
        """Return the descriptions of those attributes of a user's module that functions read."""
        own = {name: part for name, part in vars(module).items() if not is_special(name)}
        getter = [self._described(part, depth) for name, part in vars(module).items() if name == "__getattr__"]
        return [self._attributes(module, own, depth), *getter]

    def _of_imported(self, module: types.ModuleType, names: Iterable[str], depth: int) -> Any:
        """Return the descriptions of those attributes `names` that a module has which a function imports."""
        if is_library(module):
            return module.__name__
        own = {name: vars(module)[name] for name in {*names, "__getattr__"} if name in vars(module)}
        return [module.__name__, self._attributes(module, own, depth)]

    def _of_code_and_variables(self, function: types.FunctionType, depth: int) -> Any:
        if is_library(function):
            return ["function", function.__module__, function.__qualname__, self._cells(function, depth)]
        outside, code = function.__globals__, function.__code__
        own = {name: outside[name] for name in use_of(code).globals if name in outside}
        inherited = {
            name: vars(builtins)[name]
            for name in use_of(code).globals
            if name not in outside and name in vars(builtins) and not is_part_of_python(vars(builtins)[name])
        }
        read = {
            name: SET_IN_RUN if self._is_set((id(outside), name)) else self._described(value, depth)
            for name, value in sorted((own | inherited).items())
        }
        imported = [self._of_imported(module, use_of(code).names, depth) for module in imported_modules(function)]
        self.unresolved |= unresolved_reads(function)
        defaults = [function.__defaults__, function.__kwdefaults__]
        return [
            _of_code(code),
            self._cells(function, depth),
            self._described(defaults, depth),
            read,
            self._attributes(function, vars(function), depth),
            *imported,
        ]

    def _cells(self, function: types.FunctionType, depth: int) -> list[Any]:
        cells = [cell for cell in function.__closure__ or () if not is_empty(cell)]
        return [SET_IN_RUN if self._is_set(id(c)) else self._described(c.cell_contents, depth) for c in cells]

    def _is_set(self, variable: Any) -> bool:
        return any(variable in writer.stored_slots for writer in self._writers)

    def _attributes(self, owner: Any, own: Mapping[str, Any], depth: int) -> dict[str, Any]:
        """Return the descriptions of those attributes `own` of an object that functions read and do not set."""
        own = without_cached(owner, own)
        return {
            name: self._described(own[name], depth)
            for name in sorted(own if self._reads is None else own.keys() & self._reads)
            if not any(writer.sets(owner, name) for writer in self._writers)
        }

    def _of_class(self, kind: type, depth: int, *, creates: bool) -> Any:
        """Return the description of a class; with `creates`, functions may also create objects of the class."""
        if (kind, creates) in self._numbers:
            return ["again", self._numbers[kind, creates][0]]
        self._numbers[kind, creates] = len(self._numbers), kind
        bases = user_bases(kind)
        described: list[Any] = ["class", kind.__qualname__]
        if not bases:
            return [*described, kind.__module__]
        if not is_library(type(kind)):
            described.append(self._of_class(type(kind), depth, creates=True))
        if issubclass(kind, enum.Enum):
            described.append({name: self._described(m.value, depth) for name, m in kind.__members__.items()})
        for base in bases:
            own = own_members(base, methods=True) | (own_members(base, methods=False) if creates else {})
            special = {name: own[name] for name in sorted(own) if is_special(name)}
            called = {name: part for name, part in special.items() if creates or name not in MAKING}
            described += [
                {name: self._described(part, depth) for name, part in called.items()},
                self._attributes(base, {name: own[name] for name in own.keys() - special.keys()}, depth),
            ]
        return described

    def _of_builtin(self, value: Any, depth: int) -> Any:
        """Return the description of a function in machine code: its name, and the object if it is a bound method."""
        if isinstance(value, np.ufunc):
            module = module_of_ufunc(value)
            return self._unknown(value) if module is None else ["function", module, value.__name__]
        owner = getattr(value, "__self__", None)
        named = ["function", getattr(value, "__module__", None), getattr(value, "__qualname__", value.__name__)]
        in_module = owner is None or isinstance(owner, types.ModuleType)
        return named if in_module else [*named, self._described(owner, depth)]

    def _of_library_object(self, value: Any, depth: int) -> Any:
        """Return the description of an object of a library by the content of its pickle."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                content: Any = value.__reduce_ex__(4)
        except Exception:  # objects may refuse to be pickled in any way
            return self._unknown(value)
        if isinstance(content, str):
            return [type(value).__qualname__, content]
        maker, arguments, *rest = content
        states = [without_cached(value, state) if isinstance(state, dict) else state for state in rest[:1]]
        parts = [maker, arguments, *states, *(list(part or ()) for part in rest[1:3])]
        return [type(value).__qualname__, [self._described(part, depth) for part in parts]]

    def _unresolved(self, value: Any) -> Any:
        """Record an object that reads files, the environment or any variable, and return its name."""
        name = unresolved_object(value)
        assert name is not None
        self.unresolved.add(name)
        return ["unresolved", name]

    def _unknown(self, value: Any) -> Any:
        """Record the type of an object that cannot be described, and return its name."""
        kind = type(value)
        self.unknown.add(f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."))
        return kind.__qualname__


def _of_code(code: types.CodeType) -> list[Any]:
    return [code.co_code.hex(), [_of_constant(one) for one in code.co_consts], list(code.co_names)]


def _of_constant(value: Any) -> Any:
    if isinstance(value, types.CodeType):
        return _of_code(value)
    if isinstance(value, tuple):
        return [_of_constant(one) for one in value]
    return sorted(map(repr, value)) if isinstance(value, frozenset) else repr(value)
