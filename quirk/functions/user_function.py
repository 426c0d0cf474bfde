"""Copies of user functions that can be evaluated on jets or compiled to machine code.

Jets are numbers with derivatives; tracers are placeholders for numbers that record operations. The functions of `math`
and numpy would convert such arguments to floats or branch on them. In a copy, the global and closure names therefore
refer to replacements of these functions. Only operations, functions and values from lists are allowed; others raise
NotTraceableError. Lists, dicts, arrays and objects are read-only. A copy therefore performs only arithmetic, and a
single run of it records the operations for all times.
"""

from __future__ import annotations

import dis
import functools
import inspect
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..errors import InputError
from ..jit.scalar import is_traced
from ..jit.traced_value import exactly
from .array_api import CONSTANTS, JETS, Vocabulary, has_own_builtins, python_of
from .code_rules import global_names
from .expression import Derivative, Expression
from .float_functions import FLOATS
from .object_kinds import is_user_made
from .tracer import NotTraceableError, checking, refusing
from .tracer_conversions import traced_arguments, untraced

# Methods of classes that read attributes as they are stored.
_PLAIN_READS = (object.__getattribute__, types.SimpleNamespace.__getattribute__)


class _Copies:
    """Cache of the copies of user functions.

    Attributes
    ----------
    vocabulary : replacements of global names
    functions : copies of functions, by id of the original function
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.functions: dict[int, Any] = {}


class _ReadOnly:
    """Proxy of an object that allows its attributes to be read, but not set."""

    def __init__(self, target: Any, copies: _Copies) -> None:
        object.__setattr__(self, "_quirk_of", (target, copies))

    def __getattr__(self, name: str) -> Any:
        of, copies = object.__getattribute__(self, "_quirk_of")
        kind = type(of)
        if hasattr(kind, "__getattr__") or kind.__getattribute__ not in _PLAIN_READS:
            raise NotTraceableError(f"{kind.__name__} computes its attributes")
        own = object.__getattribute__(of, "__dict__") if kind.__dictoffset__ else {}
        found = next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
        if type(found) is property:
            return _replacement(found.fget, copies)(self)
        if type(found) is types.MemberDescriptorType:
            return _replacement(found.__get__(of), copies)
        if hasattr(type(found), "__set__") or hasattr(type(found), "__delete__"):
            raise NotTraceableError(f"{name} of {kind.__name__} is computed")
        if name in own:
            return _replacement(own[name], copies)
        if type(found) is types.FunctionType:
            return types.MethodType(_copied(found, copies), self)
        if type(found) is staticmethod:
            return _replacement(found.__func__, copies)
        if hasattr(type(found), "__get__"):
            raise NotTraceableError(f"{name} of {kind.__name__} is computed")
        if not any(name in vars(base) for base in kind.__mro__):
            raise NotTraceableError(f"{kind.__name__} has no {name}")
        return _replacement(found, copies)

    def __setattr__(self, name: str, value: Any) -> None:
        raise NotTraceableError(f"{name} is set")

    __eq__ = __ne__ = __bool__ = refusing("an object is used for more than its attributes")
    __len__ = __iter__ = __contains__ = __getitem__ = __call__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__
    __repr__ = __str__ = __format__ = __reduce__ = __reduce_ex__ = __bool__
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __bool__
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __bool__
    __neg__ = __pos__ = __abs__ = __float__ = __int__ = __index__ = __complex__ = __enter__ = __exit__ = __bool__
    __hash__ = None  # type: ignore[assignment]


class _ReadOnlyClass(_ReadOnly):
    """Proxy of a class that allows its values and functions to be read, but makes no objects."""

    def __getattr__(self, name: str) -> Any:
        of, copies = object.__getattribute__(self, "_quirk_of")
        if not any(name in vars(base) for base in of.__mro__):
            raise NotTraceableError(f"{of.__name__} has no {name}")
        found = next(vars(base)[name] for base in of.__mro__ if name in vars(base))
        if type(found) is staticmethod:
            return _replacement(found.__func__, copies)
        if hasattr(type(found), "__get__") and type(found) is not types.FunctionType:
            raise NotTraceableError(f"{name} of {of.__name__} is computed")
        return _replacement(found, copies)


class _FrozenList(list[Any]):
    """A list whose elements cannot be replaced, added or removed."""

    append = extend = insert = remove = pop = clear = sort = reverse = refusing("a list is changed")
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append


def traceable(function: Any, vocabulary: Vocabulary = JETS) -> Callable[..., Any]:
    """Return a copy of a function that can be run on jets or, with the vocabulary FLOATS, on tracers.

    Raises
    ------
    NotTraceableError
        If `function` is not a Python function, or uses unsupported operations; some of them are detected only when the
        copy is run.
    """
    made: Callable[..., Any] = _replacement(function, _Copies(vocabulary))
    return made


def of_floats(
    function: Any, t: Jet, *arguments: Any, wrap: Callable[[Any], Any] | None = None
) -> tuple[Any, list[Any]]:
    """Evaluate a user function of floats and arrays on jets.

    The results are the function value and a list of values to be checked: if one of them is not finite, Python may have
    raised an error or returned another result. `wrap` converts arguments that are neither numbers nor arrays.
    """
    function = python_of(function)
    if getattr(type(function), "takes_jets", False):
        return function(t, *arguments), []
    with checking() as checks, exactly():
        copy = traceable(function, FLOATS)
        given = traced_arguments((t, *arguments)) if wrap is None else [*traced_arguments((t,)), *map(wrap, arguments)]
        return untraced(copy(*given)), list(checks)


def required_arguments(function: Any) -> int | None:
    """Return the number of positional arguments of a function that have no default.

    The result is None if it is unknown, or if the function accepts any number of arguments.
    """
    try:
        parameters = inspect.signature(python_of(function)).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in positional and p.default is p.empty for p in parameters)


def check_arguments(owner: str, argument: str, function: Any, forms: Mapping[str, int]) -> None:
    """Check that a user function has the arguments of one of the forms in which it is called.

    Only arguments without defaults count, because the defaults belong to the user.

    Parameters
    ----------
    owner, argument : object and argument, for errors
    function : the function; texts, lists and other objects that are not functions pass
    forms : number of arguments of each form, such as {"f(t, state)": 2}
    """
    if not callable(function) or isinstance(function, Expression | Derivative):
        return
    count = required_arguments(function)
    if count is not None and count not in forms.values():
        raise InputError(
            f"{owner}: {argument} must be a function {' or '.join(forms)}; got a function with {count} argument"
            f"{'' if count == 1 else 's'} without a default (arguments with a default keep it)"
        )


def check_state_arguments(owner: str, argument: str, function: Any, call: str) -> None:
    """Raise an InputError for a function with two arguments that are certainly not a time and a state.

    This is so if the function does not read its second argument, and the name of the first one is not that of a time,
    as in ``lambda x, v: -k * x``, which would silently be called with the time as x.

    Parameters
    ----------
    owner, argument : object and argument, for errors
    function : function that is called as ``f(t, state)`` because it has two arguments without a default
    call : the other form in which a function may be called
    """
    function = python_of(function)
    if type(function) is not types.FunctionType:
        return
    code = function.__code__
    first, second = code.co_varnames[:2]
    reads = {step.argval for step in dis.get_instructions(code) if step.opname.startswith("LOAD")}
    reads_second = second in reads or second in code.co_cellvars
    if not reads_second and not re.match("_|t|now|clock", first, re.IGNORECASE):
        raise InputError(
            f"{owner}: {argument} is a function of ({first}, {second}). A function of two arguments is called as "
            f"f(t, state): write {call} for a function of these, or call the first argument t for one of the time"
        )


def takes_state(function: Any, names: Sequence[str]) -> bool:
    """Whether a function has the arguments (t, state) instead of the arguments `names`.

    A function with two arguments without defaults is one of (t, state), unless `names` has two entries.
    """
    if len(names) == 2 or not callable(function) or isinstance(function, Expression):
        return False
    return required_arguments(function) == 2


def on_jets(function: Any, t: Jet, *arguments: Any) -> Any:
    """Return the value of a user function for arguments that are jets.

    While machine code is generated, a copy of the function is run. Otherwise the function itself is called, or a copy
    if it requires floats.
    """
    function = python_of(function)
    if is_traced(t.value):
        return traceable(function)(t, *arguments)
    try:
        return function(t, *arguments)
    except TypeError as error:
        try:
            return traceable(function)(t, *arguments)
        except Exception:
            raise error from None


def read_only(x: Any) -> Any:
    """Return a read-only proxy of an object; its methods are run on jets."""
    return _ReadOnly(x, _Copies(JETS))


def _with_jets(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that applies `function`, a function of jets such as an `Expression`, to tracers."""

    def call(*arguments: Any) -> Any:
        (result,) = traced_arguments([function(*map(untraced, arguments))])
        return result

    return call


def _replacement(x: Any, copies: _Copies) -> Any:
    """Return the replacement of the outside value x in a copied function, or x if it needs none."""
    x, vocabulary = python_of(x), copies.vocabulary
    if id(x) in vocabulary.replacements:
        return vocabulary.replacements[id(x)]
    if vocabulary is FLOATS and type(x) in (Expression, Derivative):
        return _with_jets(x)
    if type(x) in CONSTANTS or (vocabulary is JETS and getattr(type(x), "takes_jets", False)):
        return x
    if isinstance(x, types.ModuleType) and x in vocabulary.modules:
        return vocabulary.modules[x]
    if isinstance(x, types.ModuleType) and x.__name__ == "quirk":
        return types.SimpleNamespace(**vocabulary.quirk)
    if type(x) is types.MethodType:
        return types.MethodType(_replacement(x.__func__, copies), _ReadOnly(x.__self__, copies))
    if type(x) is types.FunctionType:
        return _copied(x, copies)
    if type(x) is list:
        return _FrozenList(_replacement(part, copies) for part in x)
    if type(x) is tuple:
        return tuple(_replacement(part, copies) for part in x)
    if type(x) is dict:
        if not all(type(key) in CONSTANTS for key in x):
            raise NotTraceableError("a dict with keys that are no numbers or texts")
        return types.MappingProxyType({key: _replacement(part, copies) for key, part in x.items()})
    if type(x) is np.ndarray:
        return vocabulary.of_array(x)
    if type(x) is functools.partial and not x.__dict__:
        function, *given = (_replacement(part, copies) for part in (x.func, *x.args))
        return functools.partial(
            function, *given, **{name: _replacement(part, copies) for name, part in x.keywords.items()}
        )
    if type(x) is type and is_user_made(x):
        return _ReadOnlyClass(x, copies)
    if isinstance(x, types.ModuleType | type | list | tuple | dict | np.ndarray | int | float | str) or callable(x):
        raise NotTraceableError(f"{x!r}")
    return _ReadOnly(x, copies)


def _copied(function: types.FunctionType, copies: _Copies) -> Any:
    """Return a copy of a function in which globals, closure variables and defaults are replaced.

    A NotTraceableError is raised for functions with attributes, because code may read and change these.
    """
    if id(function) in copies.functions:
        return copies.functions[id(function)]
    if function.__dict__.keys() - {"__wrapped__"}:
        raise NotTraceableError(f"{function.__name__} has attributes")
    code, given = function.__code__, dict(copies.vocabulary.builtins)
    names: dict[str, Any] = {"__builtins__": {**given, "True": True, "False": False, "None": None}}
    cells = tuple(types.CellType() for _ in code.co_freevars)
    copy = types.FunctionType(code, names, function.__name__, None, cells)
    copies.functions[id(function)] = copy
    for name in global_names(code):
        if name in function.__globals__:
            names[name] = _replacement_or_refusal(function.__globals__[name], copies)
        elif name not in given or not has_own_builtins(function):
            names[name] = _Refusal(NotTraceableError(name))
    for cell, content in zip(cells, function.__closure__ or (), strict=True):
        cell.cell_contents = _replacement_or_refusal(content.cell_contents, copies)
    copy.__defaults__ = tuple(_replacement_or_refusal(x, copies) for x in function.__defaults__ or ()) or None
    named = (function.__kwdefaults__ or {}).items()
    copy.__kwdefaults__ = {name: _replacement_or_refusal(x, copies) for name, x in named} or None
    return copy


class _Refusal:
    """Replacement of an unsupported value; any use of it raises NotTraceableError."""

    def __init__(self, error: Exception) -> None:
        object.__setattr__(self, "_quirk_error", error)

    def _refused(self, *arguments: Any, **named: Any) -> Any:
        raise object.__getattribute__(self, "_quirk_error")

    __getattr__ = __call__ = __eq__ = __ne__ = __bool__ = __len__ = __iter__ = __contains__ = __getitem__ = _refused
    __lt__ = __le__ = __gt__ = __ge__ = __repr__ = __str__ = __format__ = __reduce__ = __reduce_ex__ = _refused
    __hash__ = None  # type: ignore[assignment]


def _replacement_or_refusal(x: Any, copies: _Copies) -> Any:
    try:
        return _replacement(x, copies)
    except RecursionError:
        return _Refusal(NotTraceableError("a list, tuple or dict that contains itself"))
    except NotTraceableError as error:
        return _Refusal(error)
