"""A user's function made fit for other numbers than floats: jets, and instructions of machine code that is written.

The function is copied with stand-ins for what it finds outside of itself: the functions of `math` and numpy that would
turn their arguments into floats or branch on them, `min`, `max` and the like. What could make a call differ from the
next one, or be noticed outside, is not let in: lists, dicts and objects are read-only, unknown objects are refused.
So a copy that runs does nothing but arithmetic, and running it once tells what it does at any time.
"""

from __future__ import annotations

import builtins
import dis
import enum
import inspect
import math
import operator
import types
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from quirk.constraints.jets import BranchingError, Condition, Jet, where
from quirk.traced import Traced

# Each pass of a loop is written out.
MOST_PASSES = 200


class NotTraceableError(BranchingError):
    """Raised where a function uses what its copy cannot have."""


def numpy_minimum(a: Any, b: Any) -> Any:
    """The lesser of two, not a number if one of them is none."""
    return where(b != b, b, where(b < a, b, a))


def numpy_maximum(a: Any, b: Any) -> Any:
    """The larger of two, not a number if one of them is none."""
    return where(b != b, b, where(b > a, b, a))


def minimum(*values: Any) -> Any:
    """The least of several."""
    return reduce(lambda a, b: where(b < a, b, a), _several(values))


def maximum(*values: Any) -> Any:
    """The largest of several."""
    return reduce(lambda a, b: where(b > a, b, a), _several(values))


def clip(x: Any, low: Any, high: Any) -> Any:
    """The nearest value to x between two bounds."""
    if low is None or high is None:
        raise NotTraceableError("a bound is left out")
    return numpy_minimum(numpy_maximum(x, low), high)


def sign(x: Any) -> Any:
    """-1, 0 or 1."""
    return where(x > 0, 1.0, where(x < 0, -1.0, x * 0.0))


def heaviside(x: Any, at_zero: Any) -> Any:
    """0 below zero, 1 above it."""
    return where(x > 0, 1.0, where(x < 0, 0.0, at_zero))


def norm(x: Any) -> Any:
    """Length of a vector, or of a matrix by all its elements."""
    x = np.ravel(x)
    return np.sqrt(np.dot(x, x))


def _several(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values


def _elementwise(function: Callable[..., Any], count: int) -> Callable[..., Any]:
    """A function of numbers, for arrays as well."""
    of_arrays = np.frompyfunc(function, count, 1)
    return lambda *x: of_arrays(*x) if any(isinstance(part, np.ndarray) for part in x) else function(*x)


def _method(name: str) -> Callable[[Any], Any]:
    """A function of numpy that jets have as a method."""
    return lambda x: getattr(np, name)(x)


def _array(x: Any, dtype: Any = None) -> np.ndarray:
    """An array of jets and numbers; of a type that jets do not have, none."""
    made = np.array(x, dtype=object)
    if not any(isinstance(entry, Jet) for entry in made.ravel()):
        return np.array(x, dtype=dtype)
    _check_type(dtype)
    return made


def _zeros(shape: Any, dtype: Any = None) -> np.ndarray:
    """An array of zeros in which jets can be put."""
    _check_type(dtype)
    made = np.empty(shape, dtype=object)
    made.fill(0.0)
    return made


def _zeros_like(x: Any) -> np.ndarray:
    given = np.asarray(x)
    return _zeros(given.shape, None if given.dtype == object else given.dtype)


def _check_type(dtype: Any) -> None:
    if dtype is not None and np.dtype(dtype) not in (np.dtype(float), np.dtype(object)):
        raise NotTraceableError(f"an array of {dtype!r}")


def _logical(condition: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """A function of truths, of which some may be conditions."""

    def combined(*truths: Any) -> Any:
        return condition(*truths) if any(isinstance(x, Condition) for x in truths) else plain(*truths)

    return combined


_WHERE = np.frompyfunc(where, 3, 1)
_HYPOT = _elementwise(lambda a, b: (a * a + b * b) ** 0.5, 2)
_RADIAN = np.pi / 180
_NUMPY: dict[str, Any] = {
    "where": lambda *x: _WHERE(*x) if any(np.ndim(part) > 0 for part in x) else where(*x),
    "minimum": _elementwise(numpy_minimum, 2), "maximum": _elementwise(numpy_maximum, 2),
    "clip": _elementwise(clip, 3), "sign": _elementwise(sign, 1), "heaviside": _elementwise(heaviside, 2),
    "abs": abs, "absolute": abs, "fabs": abs, "square": lambda x: x * x, "power": operator.pow, "hypot": _HYPOT,
    "array": _array, "asarray": _array, "zeros": _zeros, "zeros_like": _zeros_like,
    "logical_and": _logical(operator.and_, np.logical_and), "logical_or": _logical(operator.or_, np.logical_or),
    "logical_not": _logical(operator.invert, np.logical_not),
    "deg2rad": lambda x: x * _RADIAN, "radians": lambda x: x * _RADIAN,
    "rad2deg": lambda x: x / _RADIAN, "degrees": lambda x: x / _RADIAN,
}  # fmt: skip
# Of numpy as they are: they work on arrays of jets.
_PLAIN = (
    "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2", "sinh", "cosh", "tanh", "sqrt", "exp", "log", "cross",
    "dot", "vdot", "outer", "sum", "add", "subtract", "multiply", "divide", "negative", "concatenate", "stack",
    "hstack", "append", "eye", "ones", "pi", "e", "inf", "nan", "float64", "newaxis", "reciprocal", "inner",
    "matmul", "prod",
)  # fmt: skip
_MATH = {
    **{name: _method(name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "sqrt", "exp", "log")},
    "asin": _method("arcsin"), "acos": _method("arccos"), "atan": _method("arctan"),
    "atan2": lambda y, x: np.arctan2(y, x), "hypot": _HYPOT, "fabs": abs, "pow": operator.pow,
    "radians": _NUMPY["radians"], "degrees": _NUMPY["degrees"],
    **{name: getattr(math, name) for name in ("pi", "e", "tau", "inf", "nan")},
}  # fmt: skip


def _number(x: Any = 0.0) -> Any:
    return x if isinstance(x, Jet) else float(x)


def _range(*bounds: int) -> range:
    """A range that is not so long that a copy of each pass would be too much."""
    made = range(*bounds)
    if len(made) > MOST_PASSES:
        raise NotTraceableError(f"a loop of {len(made)} passes")
    return made


_BUILTINS: dict[str, Any] = {
    **{name: getattr(builtins, name) for name in ("abs", "len", "enumerate", "zip", "tuple", "list", "sum",
                                                  "pow", "int", "bool", "reversed", "True", "False",
                                                  "None", "slice", "all", "any", "map") if hasattr(builtins, name)},
    "min": minimum, "max": maximum, "float": _number, "range": _range,
}  # fmt: skip


class _Names:
    """A module of which some names are known, and no others."""

    def __init__(self, module: str, names: dict[str, Any]) -> None:
        self._module, self._names = module, names

    def __getattr__(self, name: str) -> Any:
        if name not in self._names:
            raise NotTraceableError(f"{self._module}.{name}")
        return self._names[name]


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


_LINALG = _Names("numpy.linalg", {"norm": norm})
_MODULES: dict[Any, Any] = {
    math: _Names("math", _MATH),
    np: _Names("numpy", {**{name: getattr(np, name) for name in _PLAIN}, **_NUMPY, "linalg": _LINALG}),
    np.linalg: _LINALG,
}
_QUIRK = _Names("quirk", {"where": where})
# The same functions imported by their names.
_FUNCTIONS: dict[int, Any] = {
    **{id(getattr(math, name)): made for name, made in _MATH.items() if callable(made)},
    **{id(getattr(np, name)): made for name, made in _NUMPY.items()},
    **{id(getattr(np, name)): getattr(np, name) for name in _PLAIN if callable(getattr(np, name))},
    **{id(getattr(builtins, name)): made for name, made in _BUILTINS.items() if callable(made)},
    id(np.linalg.norm): norm,
    **{id(made): made for made in (where, minimum, maximum, clip, sign, heaviside, norm)},
}
_CONSTANTS = (int, float, str, bool, type(None), np.number, np.bool_, enum.Enum, Jet)


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
    if isinstance(t.value, Traced):
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
    if id(x) in _FUNCTIONS:
        return _FUNCTIONS[id(x)]
    if isinstance(x, _CONSTANTS) or getattr(type(x), "takes_jets", False):
        return x
    if isinstance(x, types.ModuleType) and x in _MODULES:
        return _MODULES[x]
    if isinstance(x, types.ModuleType) and x.__name__ == "quirk":
        return _QUIRK
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
    if code.co_flags & _GENERATES:
        raise NotTraceableError(f"{function.__name__} is a generator")
    names: dict[str, Any] = {"__builtins__": _BUILTINS}
    cells = tuple(types.CellType() for _ in code.co_freevars)
    copy = types.FunctionType(code, names, function.__name__, None, cells)
    copies[id(function)] = copy
    for name in _names(code):
        if name in function.__globals__:
            names[name] = _stand_in_or_refusal(function.__globals__[name], copies)
    for cell, given in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = _stand_in_or_refusal(given.cell_contents, copies)
    copy.__defaults__ = tuple(_stand_in(x, copies) for x in function.__defaults__ or ()) or None
    copy.__kwdefaults__ = {k: _stand_in(x, copies) for k, x in (function.__kwdefaults__ or {}).items()} or None
    return copy


def fingerprint(function: Any) -> Any:
    """Return what is equal for functions that do the same: their code, and the values that they find outside.

    None if that cannot be told, as for methods of objects, whose attributes may change.
    """
    try:
        return _print(function, {})
    except (_UnknownError, NotTraceableError):
        return None


def _found(x: types.FunctionType) -> list[tuple[str, Any, Any]]:
    """What a function finds outside of itself: names, where the values are kept, and these."""
    code, cells = x.__code__, x.__closure__ or ()
    names = sorted(name for name in _names(code) if name in x.__globals__)
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
    if id(x) in _FUNCTIONS or (isinstance(x, types.ModuleType) and x in _MODULES):
        return True
    if isinstance(x, _CONSTANTS):
        return True
    if type(x) is tuple:
        return all(_contained(part, numbers, seen) for part in x)
    if not isinstance(x, types.FunctionType):
        return False
    if id(x) in seen:
        return True
    seen.add(id(x))
    try:
        found = _found(x)
    except NotTraceableError:
        return False
    known = {*x.__globals__, *_BUILTINS, "print", "round", "divmod", "sorted", "isinstance", "str"}
    calls = all(name in known or not hasattr(builtins, name) for name in _names(x.__code__))
    return calls and all(
        (numbers or place is None or value is None or not isinstance(value, _CONSTANTS))
        and _contained(value, numbers, seen)
        for _, place, value in found
    )


class _UnknownError(Exception):
    """Raised where the values that a function finds cannot be listed."""


def _print(x: Any, seen: dict[int, int]) -> Any:
    x = getattr(x, "py_func", x)
    if id(x) in _FUNCTIONS or (isinstance(x, types.ModuleType) and x in _MODULES):
        return x
    if isinstance(x, _CONSTANTS):
        return type(x), x
    if isinstance(x, types.FunctionType):
        if id(x) in seen:
            return "again", seen[id(x)]
        seen[id(x)] = len(seen)
        return x.__code__, tuple((name, _print(value, seen)) for name, _, value in _found(x))
    if isinstance(x, tuple | list):
        return tuple(_print(part, seen) for part in x)
    if isinstance(x, dict):
        return tuple((key, _print(part, seen)) for key, part in x.items())
    if isinstance(x, np.ndarray) and x.dtype != object:
        return x.shape, x.dtype.str, x.tobytes()
    raise _UnknownError


# Flags of the code of generators and coroutines.
_GENERATES = 0x20 | 0x80 | 0x200
_WRITING = ("STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME", "STORE_ATTR", "DELETE_ATTR")
# What catches errors would catch those that tell that a function cannot be copied.
_CATCHING = ("PUSH_EXC_INFO", "SETUP_FINALLY", "SETUP_WITH", "BEFORE_WITH")


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


def _names(code: types.CodeType) -> set[str]:
    """Global names that code may ask for, with those of functions inside it; code that writes such is refused."""
    before = None
    for instruction in dis.get_instructions(code):
        if instruction.opname in _CATCHING:
            raise NotTraceableError(f"{code.co_name} catches errors")
        if instruction.opname == "IS_OP" and not (before is not None and before.argval is None):
            raise NotTraceableError(f"{code.co_name} asks whether something is the same object")
        before = instruction
        outer = instruction.opname == "STORE_DEREF" and instruction.argval in code.co_freevars
        if instruction.opname in _WRITING or outer:
            raise NotTraceableError(f"{code.co_name} sets {instruction.argval}")
    inner = (_names(part) for part in code.co_consts if isinstance(part, types.CodeType))
    return set(code.co_names).union(*inner)
