"""Constants of a constraint function, as jets and as an array.

A jet is a number with time derivatives and a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, overload

from ..autodiff.jet import Jet
from ..jit.simd import at


class Numbers(Sequence[Jet]):
    """The constants of a constraint function; each entry is converted to a constant jet when it is read.

    Attributes
    ----------
    array : flat array of floats, or an array variable of generated machine code
        The constants without conversion, for functions that search a large table.
    """

    def __init__(self, array: Any, count: int, order: int, frames: int) -> None:
        self.array = array
        self._count, self._rest, self._none = count, [0] * order, [None] * frames

    def first(self, count: int) -> Numbers:
        """Return the first `count` constants as `Numbers` that share the array."""
        found = copy(self)
        found._count = count
        return found

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, k: int) -> Jet: ...

    @overload
    def __getitem__(self, k: slice) -> list[Jet]: ...

    def __getitem__(self, k: int | slice) -> Jet | list[Jet]:
        if isinstance(k, slice):
            return [self[one] for one in range(*k.indices(self._count))]
        return Jet([at(self.array, range(self._count)[k]), *self._rest], self._none)
