"""Functions with loops and branches that relations ask for numbers, such as where in a table to look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autodiff.dual import DualArray, of_values
from ..jit.compilation import entry
from ..jit.tracing import TracedValue


class Lookup:
    """A function of arrays and numbers that returns so many doubles; relations may call it, traced or not.

    What it returns has no derivatives: it says which piece of something a relation is to take, and from where an
    equation is to be solved.
    """

    def __init__(self, function: Callable[..., tuple[float, ...]], count: int) -> None:
        self._function, self._compiled, self._count = function, entry(function), count

    def __call__(self, array: Any, *arguments: Any) -> tuple[Any, ...]:
        """Call it, from Python or from the code of a kernel that is being compiled."""
        if isinstance(array, DualArray):
            return of_values(self, array, arguments)
        if isinstance(array, TracedValue):
            return tuple(array.computed(self._function, arguments, self._count))
        return tuple(self._compiled(array, *arguments))
