"""What takes the place of floats in jets and lanes: instructions of machine code, and numbers with directions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class Scalar:
    """A number, lanes or an array of numbers that jets and laws compute with as if they were floats.

    Numbers have `splat`, `function`, `compared` and `chosen`; lanes have `lane` and `replaced`, arrays `load`, `store`
    and `zero`, and those of kernels `halved` and `lanes`.
    """

    load: Any
    store: Any
    halved: Any
    lanes: Any
    splat: Any
    lane: Any
    replaced: Any
    zero: Any

    @property
    def written(self) -> bool:
        """Whether operations become instructions of machine code, so that no value is known."""
        raise NotImplementedError

    @classmethod
    def chosen(cls, truth: Any, a: Any, b: Any) -> Any:
        """Return `a` where a truth, known when machine code runs, holds, and `b` where it does not."""
        raise NotImplementedError

    def function(self, name: str, *numbers: Any) -> Any:
        """Return a function of numbers, one of those of `math` or "rint"."""
        raise NotImplementedError

    def compared(self, operator: str, other: Any) -> Any:
        """Return whether this number is less than another, or in what relation else."""
        raise NotImplementedError


def is_written(x: Any) -> bool:
    """Whether x is part of machine code that is being written."""
    return isinstance(x, Scalar) and x.written


def is_zero(x: Any) -> bool:
    """Whether x is the integer 0, which stands for what is zero whatever the numbers are."""
    return type(x) is int and x == 0


def plus(a: Any, b: Any) -> Any:
    """Return a sum in which the integer 0 costs nothing."""
    if type(a) is int and a == 0:  # as `is_zero` says, without the calls, which take longer than the sum
        return b
    return a if type(b) is int and b == 0 else a + b


def times(a: Any, b: Any) -> Any:
    """Return a product in which the integer 0 costs nothing."""
    return 0 if (type(a) is int and a == 0) or (type(b) is int and b == 0) else a * b


class Entries(Scalar):
    """Eight numbers side by side, where there are no registers: what gradients of jets are made of.

    Attributes
    ----------
    entries : the numbers; the integer 0 stands for what is zero whatever the others are
    number : their class
    """

    number: ClassVar[type[Scalar]]

    def __init__(self, entries: Sequence[Any]) -> None:
        self.entries = list(entries)

    @property
    def written(self) -> bool:
        """Whether operations become instructions."""
        return any(is_written(x) for x in self.entries)

    def replaced(self, lane: int, x: Any) -> Any:
        """Return the same but for one."""
        entries = self.entries.copy()
        entries[lane] = x
        return type(self)(entries)

    def lane(self, lane: int) -> Any:
        """Return one of them."""
        return self.entries[lane]

    def __add__(self, other: Any) -> Any:
        if not isinstance(other, Entries):
            return NotImplemented
        return type(self)([plus(a, b) for a, b in zip(self.entries, other.entries, strict=True)])

    def __mul__(self, other: Any) -> Any:
        return NotImplemented if isinstance(other, Entries) else type(self)([times(a, other) for a in self.entries])

    __rmul__ = __mul__

    @classmethod
    def chosen(cls, truth: Any, a: Any, b: Any) -> Any:
        """Return `a` where a truth holds and `b` where not."""
        one, two = (x.entries if isinstance(x, Entries) else [0] * 8 for x in (a, b))

        def entry(x: Any, y: Any) -> Any:
            if is_zero(x) and is_zero(y):
                return 0
            return cls.number.chosen(truth, *(0.0 if is_zero(z) else z for z in (x, y)))

        return cls([entry(x, y) for x, y in zip(one, two, strict=True)])
