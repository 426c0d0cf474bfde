"""Base classes of values that replace floats, such as traced values and dual numbers.

Traced values stand for numbers of machine code that is being generated; operations on them emit instructions. Lanes are
the eight entries of a vector register. The integer 0 represents a structural zero, a number that is zero for every
input; operations on it are skipped. A jet is a number with time derivatives and a gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar


class Scalar:
    """Base class of numbers, vectors of eight lanes, and arrays that replace floats in jets and force laws.

    Numbers have the methods `splat`, `function`, `compared` and `chosen`; vectors have `lane` and `replaced`; arrays
    have `load`, `store` and `zero`, and arrays of kernels also `load4`, `store4`, `gathered`, `halved` and `lanes`.
    """

    load: Any
    store: Any
    load4: Any
    store4: Any
    gathered: Any
    halved: Any
    lanes: Any
    splat: Any
    lane: Any
    replaced: Any
    zero: Any

    @property
    def written(self) -> bool:
        """Whether operations emit instructions of machine code instead of computing values."""
        raise NotImplementedError

    @classmethod
    def chosen(cls, truth: Any, a: Any, b: Any) -> Any:
        """Return `a` where the condition `truth` is true, and `b` otherwise.

        Machine code evaluates the condition at run time.
        """
        raise NotImplementedError

    def function(self, name: str, *numbers: Any) -> Any:
        """Return the value at `numbers` of the function `name`: a function of the module `math`, or "rint"."""
        raise NotImplementedError

    def compared(self, operator: str, other: Any) -> Any:
        """Return the result of comparing this number with another; `operator` is a string such as "<"."""
        raise NotImplementedError


def is_traced(x: Any) -> bool:
    """Return whether x is a traced value of machine code that is being generated."""
    return isinstance(x, Scalar) and x.written


def is_zero(x: Any) -> bool:
    """Return whether x is the integer 0, which represents a number that is zero for every input."""
    return type(x) is int and x == 0


def plus(a: Any, b: Any) -> Any:
    """Return a + b; the addition is skipped if either is the integer 0."""
    if type(a) is int and a == 0:  # as `is_zero`, but without the calls, which take longer than the sum
        return b
    return a if type(b) is int and b == 0 else a + b


def times(a: Any, b: Any) -> Any:
    """Return a * b; the multiplication is skipped if either is the integer 0."""
    return 0 if (type(a) is int and a == 0) or (type(b) is int and b == 0) else a * b


class Entries(Scalar):
    """Eight numbers, such as the gradient of a jet, stored as a list instead of in a vector register.

    Attributes
    ----------
    entries : the numbers; the integer 0 represents a number that is zero for every input
    number : class of the numbers
    """

    number: ClassVar[type[Scalar]]

    def __init__(self, entries: Sequence[Any]) -> None:
        self.entries = list(entries)

    @property
    def written(self) -> bool:
        """Whether operations on any of the numbers emit instructions of machine code instead of computing values."""
        return any(is_traced(x) for x in self.entries)

    def replaced(self, lane: int, x: Any) -> Any:
        """Return a copy in which the number with index `lane` is replaced by x."""
        entries = self.entries.copy()
        entries[lane] = x
        return type(self)(entries)

    def lane(self, lane: int) -> Any:
        """Return the number with index `lane`."""
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
        """Return `a` where the condition `truth` is true and `b` otherwise, for each of the eight numbers."""
        one, two = (x.entries if isinstance(x, Entries) else [0] * 8 for x in (a, b))

        def entry(x: Any, y: Any) -> Any:
            if is_zero(x) and is_zero(y):
                return 0
            return cls.number.chosen(truth, *(0.0 if is_zero(z) else z for z in (x, y)))

        return cls([entry(x, y) for x, y in zip(one, two, strict=True)])
