"""What a parsed expression consists of; each node gives its value for values of the variables, floats or jets."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.autodiff.jet import Condition, Jet, where

from .functions import CONSTANTS, FUNCTIONS, number, power

Values = Mapping[str, Any]

COMPONENTS = {3: "xyz", 4: "wxyz"}
# What can be asked of bodies, joints and frames; nothing else of them can be reached.
ATTRIBUTES = (
    "position", "velocity", "rotation", "orientation", "spin", "angular_velocity", "speed", "angular_speed", "angle",
    "travel", "displacement", "distance", "tilt",
)  # fmt: skip
METHODS = ("point", "direction", "velocity_of")
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


class Node:
    """A part of an expression.

    Attributes
    ----------
    truth : whether its value is that of a comparison
    """

    truth = False

    def of(self, values: Values) -> Any:
        """Return its value."""
        raise NotImplementedError

    def parts(self) -> Sequence[Node]:
        """What it is made of."""
        return ()

    def variables(self) -> Iterator[Variable]:
        """All variables in it."""
        for part in self.parts():
            yield from part.variables()

    def texts(self) -> Iterator[str]:
        """All names in quotes in it."""
        for part in self.parts():
            yield from part.texts()


@dataclass(frozen=True)
class Number(Node):
    """A number."""

    value: float

    def of(self, values: Values) -> Any:
        """Return it."""
        return self.value


@dataclass(frozen=True)
class Variable(Node):
    """A variable or a constant, and the column at which it stands."""

    name: str
    column: int

    def of(self, values: Values) -> Any:
        """Return its value; variables come before constants."""
        return values[self.name] if self.name in values else CONSTANTS[self.name]

    def variables(self) -> Iterator[Variable]:
        """Itself."""
        yield self


@dataclass(frozen=True)
class Chain(Node):
    """Sums and differences, or products and quotients, from left to right."""

    first: Node
    rest: tuple[tuple[str, Node], ...]

    def of(self, values: Values) -> Any:
        """Return numbers, or vectors where they fit."""
        total = _quantity(self.first.of(values))
        for sign, node in self.rest:
            other = _quantity(node.of(values))
            if sign in "*/" and isinstance(other, np.ndarray) and (sign == "/" or isinstance(total, np.ndarray)):
                raise ValueError("vectors are multiplied by dot or cross, and nothing is divided by them")
            total = OPERATORS[sign](total, other)
        return total

    def parts(self) -> Sequence[Node]:
        """The terms or factors."""
        return self.first, *(node for _, node in self.rest)


@dataclass(frozen=True)
class Negative(Node):
    """A number or vector with the other sign."""

    part: Node

    def of(self, values: Values) -> Any:
        """Return it."""
        return -_quantity(self.part.of(values))

    def parts(self) -> Sequence[Node]:
        """What has the sign."""
        return (self.part,)


@dataclass(frozen=True)
class Exponentiation(Node):
    """A number to a power."""

    base: Node
    exponent: Node

    def of(self, values: Values) -> Any:
        """Return it."""
        return power(self.base.of(values), self.exponent.of(values))

    def parts(self) -> Sequence[Node]:
        """Base and exponent."""
        return self.base, self.exponent


@dataclass(frozen=True)
class Comparison(Node):
    """Numbers compared with each other, each with the next one."""

    first: Node
    rest: tuple[tuple[str, Node], ...]
    truth = True

    def of(self, values: Values) -> Any:
        """Return a truth, or a condition of machine code."""
        one, found = number(self.first.of(values)), True
        for sign, node in self.rest:
            other = number(node.of(values))
            compared = OPERATORS[sign](one, other)
            found = compared if found is True else found & compared
            one = other
        return found

    def parts(self) -> Sequence[Node]:
        """What is compared."""
        return self.first, *(node for _, node in self.rest)


@dataclass(frozen=True)
class Logical(Node):
    """Comparisons that all hold, or of which one does; the later ones are asked for only if they matter."""

    every: bool
    terms: tuple[Node, ...]
    truth = True

    def of(self, values: Values) -> Any:
        """Return a truth, or a condition of machine code."""
        found: Any = self.every
        for term in self.terms:
            if found is not self.every and not isinstance(found, Condition):
                break
            one = term.of(values)
            found = one if found is self.every else (found & one if self.every else found | one)
        return found

    def parts(self) -> Sequence[Node]:
        """The comparisons."""
        return self.terms


@dataclass(frozen=True)
class Not(Node):
    """What holds where a comparison does not."""

    part: Node
    truth = True

    def of(self, values: Values) -> Any:
        """Return a truth, or a condition of machine code."""
        found = self.part.of(values)
        return ~found if isinstance(found, Condition) else not found

    def parts(self) -> Sequence[Node]:
        """The comparison."""
        return (self.part,)


@dataclass(frozen=True)
class Where(Node):
    """One of two values, as a comparison says."""

    condition: Node
    one: Node
    other: Node

    def of(self, values: Values) -> Any:
        """Return the value that is taken; the other one is not asked for, where it is known which that is."""
        found = self.condition.of(values)
        if not isinstance(found, Condition):
            return (self.one if found else self.other).of(values)
        return where(found, self.one.of(values), self.other.of(values))

    def parts(self) -> Sequence[Node]:
        """The comparison and both values."""
        return self.condition, self.one, self.other


@dataclass(frozen=True)
class Call(Node):
    """A function of numbers or vectors."""

    name: str
    arguments: tuple[Node, ...]

    def of(self, values: Values) -> Any:
        """Return its value."""
        return FUNCTIONS[self.name].of(*(node.of(values) for node in self.arguments))

    def parts(self) -> Sequence[Node]:
        """The arguments."""
        return self.arguments


@dataclass(frozen=True)
class Vector(Node):
    """Several numbers."""

    entries: tuple[Node, ...]

    def of(self, values: Values) -> Any:
        """Return an array."""
        found = [number(node.of(values)) for node in self.entries]
        return np.array(found, dtype=object if any(isinstance(x, Jet) for x in found) else float)

    def parts(self) -> Sequence[Node]:
        """The entries."""
        return self.entries


@dataclass(frozen=True)
class Item(Node):
    """An entry of a vector, a row of a matrix, or a part of a state by name."""

    owner: Node
    key: int | str

    def of(self, values: Values) -> Any:
        """Return it."""
        owner = self.owner.of(values)
        if isinstance(self.key, str):
            if isinstance(owner, np.ndarray | Jet | float | int):
                raise ValueError(f'a state is needed before ["{self.key}"]')
            return owner[self.key]
        if not isinstance(owner, np.ndarray):
            raise ValueError(f"a vector is needed before [{self.key}]")
        if self.key >= len(owner):
            raise ValueError(f"a vector of {len(owner)} has no entry [{self.key}]: the first is [0]")
        return owner[self.key]

    def parts(self) -> Sequence[Node]:
        """What has the entry."""
        return (self.owner,)

    def texts(self) -> Iterator[str]:
        """The name, if it is one, and those before it."""
        yield from self.owner.texts()
        if isinstance(self.key, str):
            yield self.key


@dataclass(frozen=True)
class Attribute(Node):
    """A component of a vector, or a quantity of a body, joint or frame."""

    owner: Node
    name: str

    def of(self, values: Values) -> Any:
        """Return it."""
        owner = self.owner.of(values)
        if isinstance(owner, np.ndarray) and owner.ndim == 1:
            letters = COMPONENTS.get(len(owner), "")
            if self.name not in tuple(letters):
                raise ValueError(f'a vector of {len(owner)} has no component "{self.name}"')
            return owner[letters.index(self.name)]
        if self.name not in ATTRIBUTES or isinstance(owner, np.ndarray | Jet | float | int):
            raise ValueError(f'there is no "{self.name}" of what is before it')
        return getattr(owner, self.name)

    def parts(self) -> Sequence[Node]:
        """What has it."""
        return (self.owner,)


@dataclass(frozen=True)
class Method(Node):
    """A point or direction of a body or frame."""

    owner: Node
    name: str
    argument: Node

    def of(self, values: Values) -> Any:
        """Return it."""
        owner = self.owner.of(values)
        if isinstance(owner, np.ndarray | Jet | float | int):
            raise ValueError(f"a body or frame is needed before .{self.name}(...)")
        return getattr(owner, self.name)(self.argument.of(values))

    def parts(self) -> Sequence[Node]:
        """Whose, and which."""
        return self.owner, self.argument


def _quantity(x: Any) -> Any:
    return x if isinstance(x, np.ndarray) else number(x)
