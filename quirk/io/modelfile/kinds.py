"""Kinds: names, in model files, of the classes and functions that create bodies, constraints and other objects.

A kind is the name in the package `quirk`, such as "Revolute", "Body.box", "planar.PlanarBody.bar", "surface.sphere" and
"Motion.spline". Every public class or function that records its arguments has a kind.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import quirk
from quirk.beams import Beam, BeamSegment
from quirk.bodies import solids as shapes
from quirk.bodies.body import Body, Ground
from quirk.constraints import Constraint, Joint, planar, surface
from quirk.events import Event
from quirk.forces import ForceElement
from quirk.functions.motion import Motion
from quirk.util.construction import ConstructorMeta

Maker = Callable[..., Any]

# Classes whose names are not kinds: base classes, Motion, which is created by class methods, and BeamSegment, which is
# created by its beam.
BASES = {Constraint, Joint, ForceElement, shapes.Shape, Motion, BeamSegment}
PARTS = (Body, Beam, Ground, Constraint, ForceElement, Event)


@functools.cache
def makers() -> Mapping[str, Maker]:
    """Return the class or function for each kind, as a dict."""
    found: dict[str, Maker] = {}
    for prefix, module in (("", quirk), ("planar.", planar), ("surface.", surface), ("shapes.", shapes)):
        names = getattr(module, "__all__", None) or _own_names(module)
        for name in names:
            made = getattr(module, name)
            if isinstance(made, ConstructorMeta):
                if made not in BASES:
                    found[prefix + name] = made
                found.update({f"{prefix}{name}.{way}": getattr(made, way) for way in _constructors(made)})
            elif made is quirk.sensors or getattr(made, "remembers", False):
                found[prefix + name] = made
    return found


@functools.cache
def kinds() -> Mapping[Maker, str]:
    """Return the name in model files (kind) of each class or function that creates objects, as a dict.

    If a class or function has several names, the first one is used.
    """
    return {maker: kind for kind, maker in reversed(list(makers().items()))}


def kinds_of(cls: type) -> list[str]:
    """Return the kinds whose class or function creates objects of the class `cls`."""
    classes = {kind: getattr(maker, "__self__", maker) for kind, maker in makers().items()}
    return [kind for kind, made in classes.items() if isinstance(made, type) and issubclass(made, cls)]


@functools.cache
def parameters(maker: Maker) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of a class or function by name.

    Variadic keyword arguments are replaced by the parameters of the function to which they are passed.
    """
    function = maker.__init__ if isinstance(maker, type) else maker  # type: ignore[misc]
    listed = list(inspect.signature(function).parameters.values())
    found = {p.name: p for p in (listed[1:] if isinstance(maker, type) else listed)}
    for name in [name for name, p in found.items() if p.kind is inspect.Parameter.VAR_KEYWORD]:
        del found[name]
        if isinstance(maker, type):
            inner: Any = next(base for base in maker.__mro__[1:] if "__init__" in vars(base))
        else:
            inner = getattr(maker, "__self__")  # noqa: B009  # noqa: B009  # the class of the method
        # Arguments that the method sets itself are excluded.
        found = {**{key: p.replace(default=None) for key, p in parameters(inner).items()}, **found}
    return found


@functools.cache
def names_parts(annotation: str) -> bool:
    """Whether an argument with this annotation is a body, constraint, force or event, which files refer to by name."""
    named = (getattr(planar, word, getattr(quirk, word, None)) for word in re.findall(r"\w+", annotation))
    return any(isinstance(found, type) and issubclass(found, PARTS) for found in named)


def _own_names(module: Any) -> list[str]:
    """Return the names that a module without `__all__` defines, except those of objects that are also in `quirk`."""
    return [
        name
        for name, x in vars(module).items()
        if getattr(x, "__module__", None) == module.__name__ and getattr(quirk, name, None) is not x
    ]


def _constructors(cls: Any) -> list[str]:
    return [name for name in dir(cls) if getattr(getattr(cls, name), "remembers", False)]
