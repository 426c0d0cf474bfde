"""Functions of a unilateral constraint whose gap, and perhaps contact point, the user gives as functions.

They are objects instead of local functions, so that systems can be pickled.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..functions.user_function import on_jets
from .relation import MovingFrame


# Two gaps or points are equal only if they are the same object: an equality of the user's functions may mean anything.
@dataclass(frozen=True, eq=False)
class UserGap:
    """Gap function that calls a function of the user.

    Attributes
    ----------
    function : function of the time and the moving frames of the given bodies that returns the gap, m or rad
    skipped : number of leading frames that are not passed to `function`
    title : title of the constraint, for error messages
    """

    function: Callable[..., Any]
    skipped: int
    title: str

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> Sequence[Jet]:
        """Return a list with the gap; there are no constants and motions."""
        found = on_jets(self.function, t, *frames[self.skipped :])
        if not isinstance(found, Jet):
            raise TypeError(f"{self.title}: gap() must return a scalar built from its arguments; got {found!r}")
        return [found]


@dataclass(frozen=True, eq=False)
class UserPoint:
    """Contact point that a function of the user returns.

    The attributes are those of `UserGap`; `function` returns the point (3,) in the inertial frame, m.
    """

    function: Callable[..., Any]
    skipped: int
    title: str

    def __call__(self, t: Any, frames: Sequence[Any]) -> Any:
        """Return the point (3,) in the inertial frame, m, for moving frames."""
        found = np.asarray(on_jets(self.function, t, *frames[self.skipped :]), dtype=object)
        if found.shape != (3,):
            raise TypeError(f"{self.title}: its point must be a place (3,) in the inertial frame; got {found!r}")
        return found + t * 0.0


@dataclass(frozen=True)
class PointOfBody:
    """Contact point at fixed coordinates `local` (3,), m, of the last body."""

    local: tuple[float, ...]

    def __call__(self, t: Any, frames: Sequence[Any]) -> Any:
        """Return the point (3,) in the inertial frame, m, for moving frames; the time is unused."""
        return frames[-1].point(self.local)


@functools.lru_cache(256)
def functions_in(gap: UserGap, point: UserPoint | PointOfBody) -> Callable[..., Any]:
    """Return a function whose closure contains the user's functions, so that their analysis finds both.

    The same arguments give the same function object: runs remember by the object which functions cannot be compiled.
    """
    if isinstance(point, PointOfBody):
        return gap.function
    first, second = gap.function, point.function

    def both(*arguments: Any) -> Any:
        return first(*arguments), second(*arguments)

    return both
