"""Records of constructor calls, from which equal objects can be constructed later.

Classes with the metaclass `ConstructorMeta`, and functions decorated with `remembered`, store the called class or
function and its arguments on the object that they return. If such calls are nested, the outermost one, written by the
user, is stored. Both also add the object's name to the TypeError of a call with wrong arguments. `with_keywords` adds
to a function's signature the keywords that it passes on to a constructor.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABCMeta
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from .misuse import misfit
from .renamed import present_arguments

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True)
class ConstructorCall:
    """A recorded constructor call.

    Attributes
    ----------
    maker : the class, function or class method that was called
    arguments : the arguments by name, variadic ones as a tuple; lists and arrays are copies
    """

    maker: Callable[..., Any]
    arguments: Mapping[str, Any]


class ConstructorMeta(ABCMeta):
    """Metaclass that records constructor arguments and adds the object's name to TypeErrors."""

    if not TYPE_CHECKING:  # type checkers take the arguments from __init__, which this would hide

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            """Construct the object and record the call."""
            given = _binding(cls).given(cls.__name__, args, kwargs)
            made = super().__call__(*args, **kwargs)
            object.__setattr__(made, "_made", ConstructorCall(cls, given))
            return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """Signature of the class's constructor, for help and tooltips, in place of the signature of the metaclass."""
        return construction(cls)


@functools.cache
def construction(cls: type) -> inspect.Signature:
    """Return the signature of the constructor of a class, without `self`."""
    # Read from __init__, because the signature of the class is that of the metaclass.
    arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    return inspect.Signature(arguments)


def with_keywords(constructor: Callable[..., Any], keywords: type) -> Callable[[F], F]:
    """Return a decorator that lists constructor arguments in a function's signature, in place of ``**keywords``.

    Parameters
    ----------
    constructor : function
        The `__init__` that defines the keywords, their annotations and defaults.
    keywords : TypedDict
        The keywords that the function accepts.
    """
    known = inspect.signature(constructor).parameters
    names = sorted(keywords.__annotations__, key=list(known).index)

    def decorated(function: F) -> F:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        listed = [*own, *(known[name] for name in names)]
        function.__signature__ = signature.replace(parameters=listed)  # type: ignore[attr-defined]
        return function

    return decorated


class Binding:
    """Assignment of the arguments of a call to parameter names; ten times as fast as `inspect.Signature.bind`.

    Parameters
    ----------
    signature : signature of a function, without `self` and `cls`
    """

    def __init__(self, signature: inspect.Signature) -> None:
        kind = inspect.Parameter
        kinds = {one.kind for one in signature.parameters.values()}
        named = [one for one in signature.parameters.values() if one.kind is not kind.VAR_KEYWORD]
        self._signature = signature
        self._usual = not kinds & {kind.VAR_POSITIONAL, kind.POSITIONAL_ONLY}
        self._positional = [one.name for one in named if one.kind is kind.POSITIONAL_OR_KEYWORD]
        self._names = dict.fromkeys(one.name for one in named)  # used as an ordered set
        self._required = {one.name for one in named if one.default is kind.empty}
        self._keywords = kind.VAR_KEYWORD in kinds

    def given(self, called: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return copies of the arguments of a call, by parameter name.

        `called` names the function and the object in the TypeError that is raised for wrong arguments.
        """
        known = self._names
        given = {**dict(zip(self._positional, args, strict=False)), **kwargs}
        fits = self._usual and len(args) <= len(self._positional) and len(given) == len(args) + len(kwargs)
        fits = fits and self._required <= given.keys()
        if not (fits and (self._keywords or kwargs.keys() <= known.keys())):
            given = self._bound(called, args, kwargs)
        ordered = {name: _kept(given[name]) for name in known if name in given}
        if len(ordered) < len(given):
            ordered.update((name, _kept(value)) for name, value in given.items() if name not in known)
        return ordered

    def _bound(self, called: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by name, including those of ``**keywords``, by `inspect.Signature.bind`.

        `called` is the name of the function for error messages.
        """
        signature, given = self._signature, dict[str, Any]()
        try:
            bound = signature.bind(*args, **kwargs).arguments
        except TypeError:
            name = f' "{kwargs.get("name", args[0] if args else "?")}"' if "name" in signature.parameters else ""
            raise TypeError(misfit(signature, called, args, kwargs, name)) from None
        for name, value in bound.items():
            several = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
            given.update(value if several else {name: value})
        return given


@functools.cache
def _binding(cls: type) -> Binding:
    """Return the argument binding of the constructor of a class."""
    return Binding(construction(cls))


def remembered(function: F) -> F:
    """Decorate a function or class method so that its calls are recorded on the objects it returns."""
    signature = inspect.signature(function)
    of_class = next(iter(signature.parameters), "") == "cls"
    taken = list(signature.parameters.values())[of_class:]
    signature = signature.replace(parameters=taken, return_annotation=inspect.Signature.empty)

    binding = Binding(signature)

    @functools.wraps(function)
    def remembering(*args: Any, **kwargs: Any) -> Any:
        cls, given, kwargs = args[:of_class], args[of_class:], present_arguments(function, kwargs)
        called = f"{cls[0].__name__}.{function.__name__}" if of_class else function.__name__
        recorded = binding.given(called, given, kwargs)
        result = function(*args, **kwargs)
        maker = getattr(cls[0], function.__name__) if of_class else remembering
        object.__setattr__(result, "_made", ConstructorCall(maker, recorded))
        return result

    remembering.remembers = True  # type: ignore[attr-defined]
    return remembering  # type: ignore[return-value]


def made_with(x: Any) -> ConstructorCall | None:
    """Return the recorded constructor call of an object, or None if no call was recorded."""
    own = getattr(x, "__dict__", None)
    return own.get("_made") if isinstance(own, Mapping) else None  # an object may answer to any name


def _kept(value: Any) -> Any:
    """Return a copy of an array, list or dict, which the caller might modify later; return other values unchanged."""
    if isinstance(value, str | float):  # the most frequent ones
        return value
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list | tuple):
        return tuple(_kept(part) for part in value)
    return {key: _kept(part) for key, part in value.items()} if type(value) is dict else value
