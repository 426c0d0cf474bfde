"""Compiled functions with loops and branches for use in constraint functions, such as table searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autodiff.dual import DualArray, of_values
from ..jit.compilation import entry
from ..jit.traced_value import TracedValue


class Lookup:
    """A compiled function of an array and scalars that returns `count` floats.

    The function can be called from Python and from functions that are being translated into machine code. Its results,
    such as the selected polynomial piece of a curve and the initial guess of an iteration, are treated as constants in
    derivatives.
    """

    def __init__(self, function: Callable[..., tuple[float, ...]], count: int) -> None:
        self._function, self._compiled, self._count = function, entry(function), count

    def __call__(self, array: Any, *arguments: Any) -> tuple[Any, ...]:
        """Return the results of the function or, while machine code is generated, insert a call of the function."""
        if isinstance(array, DualArray):
            return of_values(self, array, arguments)
        if isinstance(array, TracedValue):
            return tuple(array.computed(self._function, arguments, self._count))
        return tuple(self._compiled(array, *arguments))
