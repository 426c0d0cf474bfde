"""Deprecated names of attributes and arguments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from .misuse import unknown_attribute

F = TypeVar("F", bound=Callable[..., Any])


class Renamed:
    """Base class of classes with renamed attributes; the deprecated names still work, with a DeprecationWarning."""

    # Present names by deprecated name.
    _earlier_names: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Return the attribute that replaces the one with a deprecated name, and issue a DeprecationWarning."""
            now = type(self)._earlier_names.get(name)
            if now is None:
                return unknown_attribute(self, name)
            warnings.warn(f"{type(self).__name__}.{name} is called {now} now", DeprecationWarning, stacklevel=2)
            return getattr(self, now)


def with_earlier_arguments(**present_names: str) -> Callable[[F], F]:
    """Return a decorator that accepts deprecated names of a function's arguments, such as ``centre="center"``.

    A deprecated name in a call is replaced by the present name, with a warning.
    """

    def noted(function: F) -> F:
        function.earlier_arguments = present_names  # type: ignore[attr-defined]
        return function

    return noted


def present_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return keyword arguments with deprecated names replaced by the present ones, each with a warning."""
    earlier: Mapping[str, str] = getattr(function, "earlier_arguments", {})
    for name in arguments.keys() & earlier.keys():
        said = f"{function.__name__}: the argument {name} is called {earlier[name]} now"
        warnings.warn(said, DeprecationWarning, stacklevel=3)
    return {earlier.get(name, name): value for name, value in arguments.items()}
