"""Syntax tree of expressions.

The nodes of the tree are evaluated for values of the variables, which are floats or jets (numbers with derivatives). A
comparison gives a bool or, while machine code is generated, a symbolic Condition.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quirk.autodiff.condition import Condition
from quirk.autodiff.jet import Jet, where

from .functions import CONSTANTS, FUNCTIONS, SMOOTH, number, power

Values = Mapping[str, Any]

COMPONENTS = {3: "xyz", 4: "wxyz"}
# Quantities of bodies, joints and frames that expressions can read; nothing else is accessible.
ATTRIBUTES = (
    "position", "velocity", "rotation", "orientation", "spin", "angular_velocity", "speed", "angular_speed", "angle",
    "angle_rate", "travel", "travel_rate", "displacement", "distance", "tilt",
)  # fmt: skip
METHODS = ("point", "direction", "velocity_of")
OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


class Node(ABC):
    """Base class of the nodes of a syntax tree.

    Attributes
    ----------
    truth : whether the node is a condition, such as a comparison, instead of a number
    """

    truth = False

    @abstractmethod
    def of(self, values: Values) -> Any:
        """Return the value of the node for the given values of the variables."""

    def parts(self) -> Sequence[Node]:
        """Return the child nodes."""
        return ()

    def variables(self) -> Iterator[Variable]:
        """Yield all variables in this node and its children."""
        for part in self.parts():
            yield from part.variables()

    def texts(self) -> Iterator[str]:
        """Yield all quoted strings in this node and its children."""
        for part in self.parts():
            yield from part.texts()

    def smooth(self) -> bool:
        """Whether the node and its children are functions without kinks and jumps; False if that is not known."""
        return all(part.smooth() for part in self.parts())


@dataclass(frozen=True)
class Number(Node):
    """A numeric constant."""

    value: float

    def of(self, values: Values) -> Any:
        """Return the number, which does not depend on variables."""
        return self.value


@dataclass(frozen=True)
class Variable(Node):
    """A variable or named constant.

    Attributes
    ----------
    name : name in the text
    column : column of the name in the text
    """

    name: str
    column: int

    def of(self, values: Values) -> Any:
        """Return the value of the variable or, if there is no variable of this name, of the constant."""
        return values[self.name] if self.name in values else CONSTANTS[self.name]

    def variables(self) -> Iterator[Variable]:
        """Yield the variable itself."""
        yield self


@dataclass(frozen=True)
class Chain(Node):
    """A sequence of sums and differences, or of products and quotients, evaluated from left to right.

    Attributes
    ----------
    first : first operand
    rest : pairs of an operator and the next operand
    """

    first: Node
    rest: tuple[tuple[str, Node], ...]

    def of(self, values: Values) -> Any:
        """Return the result for the given values of the variables; operands are numbers or vectors."""
        total = _quantity(self.first.of(values))
        for sign, node in self.rest:
            other = _quantity(node.of(values))
            if sign in "*/" and isinstance(other, np.ndarray) and (sign == "/" or isinstance(total, np.ndarray)):
                raise ValueError("multiply vectors with dot or cross; division by a vector is undefined")
            total = OPERATORS[sign](total, other)
        return total

    def parts(self) -> Sequence[Node]:
        """Return the child nodes: all operands."""
        return self.first, *(node for _, node in self.rest)


@dataclass(frozen=True)
class Negative(Node):
    """Negative of a number or vector."""

    part: Node

    def of(self, values: Values) -> Any:
        """Return the negative of the operand for the given values of the variables."""
        return -_quantity(self.part.of(values))

    def parts(self) -> Sequence[Node]:
        """Return the child node: the operand."""
        return (self.part,)


@dataclass(frozen=True)
class Exponentiation(Node):
    """Power of a number."""

    base: Node
    exponent: Node

    def smooth(self) -> bool:
        """Whether the base is smooth and the exponent is a whole number."""
        whole = isinstance(self.exponent, Number) and float(self.exponent.value).is_integer()
        return whole and super().smooth()

    def of(self, values: Values) -> Any:
        """Return the base raised to the exponent."""
        return power(self.base.of(values), self.exponent.of(values))

    def parts(self) -> Sequence[Node]:
        """Return the child nodes: the base and the exponent."""
        return self.base, self.exponent


@dataclass(frozen=True)
class Comparison(Node):
    """Chained comparison of two or more numbers, such as a < b < c."""

    first: Node
    rest: tuple[tuple[str, Node], ...]
    truth = True

    def of(self, values: Values) -> Any:
        """Whether the comparison holds for the given values of the variables."""
        one, found = number(self.first.of(values)), True
        for sign, node in self.rest:
            other = number(node.of(values))
            compared = OPERATORS[sign](one, other)
            found = compared if found is True else found & compared
            one = other
        return found

    def parts(self) -> Sequence[Node]:
        """Return the child nodes: the compared numbers."""
        return self.first, *(node for _, node in self.rest)


@dataclass(frozen=True)
class Logical(Node):
    """Conditions combined by "and" or "or"; later conditions are evaluated only if necessary.

    Attributes
    ----------
    every : True for "and", False for "or"
    terms : the conditions
    """

    every: bool
    terms: tuple[Node, ...]
    truth = True

    def of(self, values: Values) -> Any:
        """Whether all conditions (for "and") or any condition (for "or") hold for the given values of the variables."""
        found: Any = self.every
        for term in self.terms:
            if found is not self.every and not isinstance(found, Condition):
                break
            one = term.of(values)
            found = one if found is self.every else (found & one if self.every else found | one)
        return found

    def parts(self) -> Sequence[Node]:
        """Return the child nodes: the conditions."""
        return self.terms


@dataclass(frozen=True)
class Not(Node):
    """Negation of a condition."""

    part: Node
    truth = True

    def of(self, values: Values) -> Any:
        """Whether the condition is false for the given values of the variables."""
        found = self.part.of(values)
        return ~found if isinstance(found, Condition) else not found

    def parts(self) -> Sequence[Node]:
        """Return the child node: the condition."""
        return (self.part,)


@dataclass(frozen=True)
class Where(Node):
    """Conditional expression: selects one of two values by a condition."""

    condition: Node
    one: Node
    other: Node

    def smooth(self) -> bool:
        """Return False: the value may jump where the condition changes."""
        return False

    def of(self, values: Values) -> Any:
        """Return the selected value; the other value is not evaluated if the truth of the condition is known."""
        found = self.condition.of(values)
        if not isinstance(found, Condition):
            return (self.one if found else self.other).of(values)
        return where(found, self.one.of(values), self.other.of(values))

    def parts(self) -> Sequence[Node]:
        """Return the child nodes: the condition and both values."""
        return self.condition, self.one, self.other


@dataclass(frozen=True)
class Call(Node):
    """Call of a function by name."""

    name: str
    arguments: tuple[Node, ...]

    def smooth(self) -> bool:
        """Whether the function is one without kinks and jumps, and its arguments are smooth."""
        return self.name in SMOOTH and super().smooth()

    def of(self, values: Values) -> Any:
        """Return the value of the function for the given values of the variables."""
        return FUNCTIONS[self.name].of(*(node.of(values) for node in self.arguments))

    def parts(self) -> Sequence[Node]:
        """Return the child nodes: the arguments of the call."""
        return self.arguments


@dataclass(frozen=True)
class Vector(Node):
    """Vector of numbers."""

    entries: tuple[Node, ...]

    def of(self, values: Values) -> Any:
        """Return the vector as an array of its entries, for the given values of the variables."""
        found = [number(node.of(values)) for node in self.entries]
        return np.array(found, dtype=object if any(isinstance(x, Jet) for x in found) else float)

    def parts(self) -> Sequence[Node]:
        """Return the child nodes: the entries of the vector."""
        return self.entries


@dataclass(frozen=True)
class Item(Node):
    """An entry of a vector, a row of a matrix, or a named part of a state, written in brackets.

    Attributes
    ----------
    owner : node before the brackets
    key : index or name in the brackets
    """

    owner: Node
    key: int | str

    def of(self, values: Values) -> Any:
        """Return the entry, row or part that the key selects."""
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
        """Return the child node before the brackets."""
        return (self.owner,)

    def texts(self) -> Iterator[str]:
        """Yield the quoted strings before the brackets, then the quoted string inside the brackets."""
        yield from self.owner.texts()
        if isinstance(self.key, str):
            yield self.key


@dataclass(frozen=True)
class Attribute(Node):
    """A component of a vector, or a quantity of a body, joint or frame, written after a dot."""

    owner: Node
    name: str

    def of(self, values: Values) -> Any:
        """Return the component or quantity with this name."""
        owner = self.owner.of(values)
        if isinstance(owner, np.ndarray) and owner.ndim == 1:
            letters = COMPONENTS.get(len(owner), "")
            if self.name not in tuple(letters):
                raise ValueError(f'a vector of {len(owner)} has no component "{self.name}"')
            return owner[letters.index(self.name)]
        if self.name not in ATTRIBUTES or isinstance(owner, np.ndarray | Jet | float | int):
            raise ValueError(f'the object before the dot has no "{self.name}"')
        return getattr(owner, self.name)

    def parts(self) -> Sequence[Node]:
        """Return the child node before the dot."""
        return (self.owner,)


@dataclass(frozen=True)
class Method(Node):
    """Method of a body or frame that returns a position or direction, such as ``.point([0, 0, 1])``."""

    owner: Node
    name: str
    argument: Node

    def of(self, values: Values) -> Any:
        """Return the result of the method."""
        owner = self.owner.of(values)
        if isinstance(owner, np.ndarray | Jet | float | int):
            raise ValueError(f"a body or frame is needed before .{self.name}(...)")
        return getattr(owner, self.name)(self.argument.of(values))

    def parts(self) -> Sequence[Node]:
        """Return the child nodes: the body or frame before the dot, and the argument."""
        return self.owner, self.argument


def _quantity(x: Any) -> Any:
    return x if isinstance(x, np.ndarray) else number(x)
