"""What objects were made with: the call that makes the same again.

Classes whose metaclass is `ConstructorMeta`, and functions marked `remembered`, note on what they return which of them
was called and with which arguments. Where one calls another, the outermost is noted: what the user wrote. Both name the
object where the arguments do not fit. `with_keywords` writes out keywords that are handed on.
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
    """A call.

    Attributes
    ----------
    maker : the class, or the function or class method, that was called
    arguments : those that were given, by name; of ``*names`` a tuple; lists and arrays are copies
    """

    maker: Callable[..., Any]
    arguments: Mapping[str, Any]


class ConstructorMeta(ABCMeta):
    """Notes on objects what they were made with, and names them when their arguments do not fit."""

    if not TYPE_CHECKING:  # type checkers take the arguments from __init__, which this would hide

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            """Make the object."""
            signature = construction(cls)
            bound = _bound(signature, cls.__name__, args, kwargs)
            made = super().__call__(*args, **kwargs)
            object.__setattr__(made, "_made", ConstructorCall(cls, _given(signature, bound)))
            return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """The arguments of the constructor, for help and tooltips; the metaclass would hide them."""
        return construction(cls)


@functools.cache
def construction(cls: type) -> inspect.Signature:
    """Return the arguments with which objects of a class are made."""
    # Read from __init__: asking the class would give the metaclass's own arguments.
    arguments = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    return inspect.Signature(arguments)


def with_keywords(constructor: Callable[..., Any], keywords: type) -> Callable[[F], F]:
    """Write out, in the signature of a function, the keywords that it takes as `**` and hands on to a constructor.

    Parameters
    ----------
    constructor : function
        The `__init__` that has the keywords, with their annotations and default values.
    keywords : TypedDict
        Those of them that the function takes.
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


def _bound(
    signature: inspect.Signature, called: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> inspect.BoundArguments:
    """Return the arguments of a call, or raise a TypeError with the name of what it was to make."""
    try:
        return signature.bind(*args, **kwargs)
    except TypeError:
        name = f' "{kwargs.get("name", args[0] if args else "?")}"' if "name" in signature.parameters else ""
        message = misfit(signature, called, args, kwargs, name)
    raise TypeError(message)


def remembered(function: F) -> F:
    """Let a function, or what a class method is made of, note on what it returns that it was called, and with what."""
    signature = inspect.signature(function)
    of_class = next(iter(signature.parameters), "") == "cls"
    taken = list(signature.parameters.values())[of_class:]
    signature = signature.replace(parameters=taken, return_annotation=inspect.Signature.empty)

    @functools.wraps(function)
    def remembering(*args: Any, **kwargs: Any) -> Any:
        cls, given, kwargs = args[:of_class], args[of_class:], present_arguments(function, kwargs)
        called = f"{cls[0].__name__}.{function.__name__}" if of_class else function.__name__
        bound = _bound(signature, called, given, kwargs)
        result = function(*args, **kwargs)
        maker = getattr(cls[0], function.__name__) if of_class else remembering
        object.__setattr__(result, "_made", ConstructorCall(maker, _given(signature, bound)))
        return result

    remembering.remembers = True  # type: ignore[attr-defined]
    return remembering  # type: ignore[return-value]


def made_with(x: Any) -> ConstructorCall | None:
    """Return the call that made an object, or None if that is not known."""
    found: ConstructorCall | None = getattr(x, "__dict__", {}).get("_made")
    return found


def _given(signature: inspect.Signature, bound: inspect.BoundArguments) -> dict[str, Any]:
    """Return the arguments of a call by name, as they are now."""
    given: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        several = signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD
        given.update({key: _kept(x) for key, x in value.items()} if several else {name: _kept(value)})
    return given


def _kept(value: Any) -> Any:
    """Return a copy of what a caller could change later."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, list | tuple):
        return tuple(_kept(part) for part in value)
    return {key: _kept(part) for key, part in value.items()} if type(value) is dict else value
