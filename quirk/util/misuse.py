"""Error messages for wrong arguments and unknown attributes, with the nearest valid name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .suggestion import nearest_names, quoted, suggestion

T = TypeVar("T", bound=Callable[..., Any])


def misfit(
    signature: inspect.Signature, called: str, args: tuple[Any, ...], kwargs: Mapping[str, Any], of: str = ""
) -> str | None:
    """Return an error message if the arguments of a call do not fit a signature, otherwise None.

    Parameters
    ----------
    signature : inspect.Signature
        Signature of the function or class.
    called : str
        Name of the function or class; for methods with the name of the class.
    args, kwargs : arguments of the call
    of : str
        Name of the object for the message, such as ' "rod"', or an empty string.
    """
    taken = signature.parameters.values()
    named = [p.name for p in taken if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    opened = any(p.kind is p.VAR_KEYWORD for p in taken)
    unknown = [] if opened else [name for name in kwargs if name not in named]
    expected = f"expected {called}{inspect.Signature([p.replace(annotation=p.empty) for p in taken])}"
    if unknown:
        others = [name for name in named if name not in kwargs]
        meant = [quoted(names) for names in (nearest_names(name, others) for name in unknown) if names]
        several = "s" if len(unknown) > 1 else ""
        said = f"got {'' if several else 'an '}unexpected keyword argument{several} {' and '.join(map(repr, unknown))}"
        hint = f"did you mean {' and '.join(meant)}? {expected.capitalize()[0]}{expected[1:]}" if meant else expected
        return f"{called}{of}: {said}; {hint}"
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        return f"{called}{of}: {error}; {expected}"
    return None


def explained(public: T) -> T:
    """Decorate a public function or class so that errors caused by wrong names suggest valid ones.

    A TypeError for wrong arguments then states the most similar argument and the signature. An AttributeError states
    the most similar attribute of the object. Other errors are not affected.
    """
    return explained_as(public.__name__)(public) if isinstance(public, type) else _explained(public, public.__name__)


def explained_as(title: str) -> Callable[[T], T]:
    """Return the decorator `explained` for a base class; messages call it `title`, the name of its public subclass."""
    return functools.partial(_explained_class, title=title)


def _explained_class(public: Any, title: str) -> Any:
    """Return the class `public` with explained methods; messages call it `title`."""
    for name, attribute in list(vars(public).items()):
        function = getattr(attribute, "__func__", attribute)
        if not inspect.isfunction(function) or (name.startswith("_") and name != "__init__"):
            continue
        called = title if name == "__init__" else f"{title}.{name}"
        wrapped = _explained(function, called, 0 if isinstance(attribute, staticmethod) else 1)
        kind = type(attribute) if attribute is not function else None
        setattr(public, name, wrapped if kind is None else kind(wrapped))
    if "__getattr__" not in dir(public):
        public.__getattr__ = unknown_attribute
    return public


def _explained(function: Callable[..., Any], called: str, bound: int = 0) -> Any:
    """Return a function wrapped so that its TypeErrors for wrong arguments suggest valid names.

    `called` is its name in the message; `bound` is the number of implicit arguments, such as `self`.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            # Errors raised inside the function have a traceback frame below this one.
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise
            signature = inspect.signature(function)
            own = signature.replace(
                parameters=list(signature.parameters.values())[bound:], return_annotation=signature.empty
            )
            message = misfit(own, called, args[bound:], kwargs)
            if message is None:
                raise
        raise TypeError(message)

    return call


class UnknownAttributeError(AttributeError):
    """Error raised if an object has no attribute of the requested name.

    The message suggests the most similar name, and lists all attributes.
    """

    def __init__(self, kind: str, attribute: str, known: tuple[str, ...]) -> None:
        # If `name` is set, Python adds no suggestion of its own.
        super().__init__(kind, attribute, known, name=attribute)

    def __str__(self) -> str:
        # Composed on demand: `getattr` with a default discards most of these errors.
        kind, attribute, known = self.args
        return f"{kind} has no attribute {attribute!r}; {suggestion(attribute, known, every=True)}"


def unknown_attribute(of: Any, name: str) -> Any:
    """Raise UnknownAttributeError for a missing attribute of the object `of`; used by classes as `__getattr__`.

    If the attribute is a property that has raised an error, that error is raised again.
    """
    kind: Any = type(of)
    if name.startswith("_") or name in _attributes(kind):
        return object.__getattribute__(of, name)
    own = (key for key in getattr(of, "__dict__", ()) if not key.startswith("_"))
    raise UnknownAttributeError(kind.__name__, name, tuple(dict.fromkeys([*own, *_attributes(kind)])))


@functools.cache
def _attributes(kind: Any) -> tuple[str, ...]:
    """Return the names of all public attributes of the objects of class `kind`."""
    return tuple(name for name in dir(kind) if not name.startswith("_"))
