"""Base class of force elements that act independently on each of many bodies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np

from ..bodies.body import Body, Ground
from ..bodies.frame import Frame
from ..constraints import Constraint
from ..errors import InputError
from ..util import validate
from .element import ForceElement


class OnBodies(ForceElement):
    """Base class of elements that act at the centers of mass of some bodies, or of all bodies of a system.

    Attributes
    ----------
    masses : (n,) masses of the n bodies, kg
    everywhere : whether the element acts on all bodies of its system
    """

    drawing = ""
    between = False

    aside: tuple[str, ...] = ("everywhere",)
    masses: Any

    def __init__(self, name: str, bodies: Any) -> None:
        owner = f'{type(self).__name__} "{validate.name(type(self).__name__, name)}"'
        self.everywhere = bodies is None
        listed = checked_bodies(owner, bodies or ())
        if not listed and not self.everywhere:
            raise InputError(
                f"{owner}: bodies must be at least one body, or None for all bodies of the system; got {bodies!r}"
            )
        self.name = name
        vars(self).update(self._on(listed))

    def _on(self, bodies: Sequence[Body]) -> dict[str, Any]:
        """Return the attributes that depend on `bodies`: a frame at each center of mass, and the masses, kg."""
        ends = tuple((body, Frame()) for body in bodies)
        return {"ends": ends, "masses": np.array([body.mass for body in bodies])}

    @property
    def needs(self) -> tuple[Body | Ground, ...]:
        """Bodies that the user has listed; none if the element acts on all bodies."""
        return () if self.everywhere else self.bodies

    def placed(self, bodies: Sequence[Body], constraints: Sequence[Constraint]) -> Self:
        """Return the element for a system with the given bodies.

        An element that acts on all bodies is copied for these bodies; other elements are returned unchanged.
        """
        return self.with_values(self._on(bodies)) if self.everywhere else self


def as_list(bodies: Any) -> list[Any]:
    """Return a list from an iterable or a single object; its entries are not checked."""
    return list(bodies) if isinstance(bodies, Iterable) else [bodies]


def checked_bodies(owner: str, bodies: Any) -> list[Body]:
    """Return a list of bodies from a body or an iterable.

    An InputError is raised if an item is not a Body or occurs twice.
    """
    listed = as_list(bodies)
    for body in listed:
        if not isinstance(body, Body):
            raise InputError(f"{owner}: bodies must be quirk.Body objects; got {body!r}")
    if len({id(body) for body in listed}) < len(listed):
        raise InputError(f"{owner}: bodies must differ; got one of them twice")
    return listed
