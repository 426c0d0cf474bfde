"""Parser of expressions: numbers, variables, + - * / **, comparisons and calls of known functions.

The text is never executed by Python. The grammar is

::

    truth     compares, joined by "not", "and" and "or"
    compare   sum (< <= > >= == != sum)*
    sum       product (+ - product)*
    product   signed (* / signed)*
    signed    - signed, or placed ** signed
    placed    atom, followed by any number of .name, .name(vector) and [key]
    atom      number, name, name(arguments), (truth), [sum, sum, ...]
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from quirk.errors import InputError
from quirk.util.suggestion import suggestion

from .functions import FUNCTIONS, NAMES, WHERE
from .nodes import (
    ATTRIBUTES,
    METHODS,
    Attribute,
    Call,
    Chain,
    Comparison,
    Exponentiation,
    Item,
    Logical,
    Method,
    Negative,
    Node,
    Not,
    Number,
    Variable,
    Vector,
    Where,
)

# Maximum number of characters of an expression, and of nested brackets; typical expressions are far shorter.
LONGEST, DEEPEST = 20_000, 25
# Maximum number of successive names and keys after a name, as in state["rod"].rotation[0].x.
MOST_BEHIND = 4

TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<text>\"[^\"]*\"|'[^']*')|(?P<sign>\*\*|<=|>=|==|!=|[-+*/<>()\[\],.]))",
    re.ASCII,
)
WORDS = ("and", "or", "not")
COMPARING = ("<", "<=", ">", ">=", "==", "!=")


class Parser:
    """Parser of one expression.

    Attributes
    ----------
    tokens : kind, text and column (from 1) of each token; the last token marks the end of the text
    place : index of the next token to be parsed
    """

    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0
        if len(text) > LONGEST:
            raise InputError(f"an expression may have {LONGEST} characters; this one has {len(text)}")
        self.tokens: list[tuple[str, str, int]] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = TOKEN.match(text, at)
            if found is None:
                at += len(text[at:]) - len(text[at:].lstrip())
                meant = ": write ** for a power" if text[at] == "^" else ""
                raise self._error(f"{text[at]!r} has no meaning here{meant}", at + 1)
            kind = str(found.lastgroup)
            self.tokens.append((kind, found[kind], found.start(kind) + 1))
            at = found.end()
        self.tokens.append(("end", "", len(text) + 1))

    def parse(self) -> Node:
        """Parse the whole text, and return its syntax tree."""
        node = self._truth()
        if self._kind != "end":
            raise self._error(f"{self._next!r} is not expected here")
        return node

    @property
    def _kind(self) -> str:
        return self.tokens[self.place][0]

    @property
    def _next(self) -> str:
        """Text of the next token, or an empty string if the token is a number or quoted string."""
        kind, text, _ = self.tokens[self.place]
        return "" if kind in ("text", "number") else text

    @property
    def _column(self) -> int:
        return self.tokens[self.place][2]

    def _error(self, message: str, column: int | None = None) -> InputError:
        column = self._column if column is None else column
        shown = self.text if len(self.text) <= 80 else self.text[max(0, column - 40) : column + 39]
        return InputError(f'expression "{shown}", column {column}: {message}')

    def _accept(self, *signs: str) -> str:
        """Consume the next token and return it if it is one of `signs`; otherwise return an empty string."""
        found = self._next
        if found and found in signs:
            self.place += 1
            return found
        return ""

    def _expect(self, sign: str) -> None:
        if not self._accept(sign):
            got = self.tokens[self.place][1]
            raise self._error(f"{sign!r} is expected here; got {got!r}" if got else f"{sign!r} is missing at the end")

    def _nested(self, read: Callable[[], Node]) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._error(f"brackets and signs are within each other more than {DEEPEST} times")
        node = read()
        self.depth -= 1
        return node

    def _numeric(self, read: Callable[[], Node]) -> Node:
        """Parse an operand with the method `read`; raise an InputError if it is a condition instead of a number."""
        column, node = self._column, read()
        if node.truth:
            raise self._error("a comparison belongs into where(comparison, a, b), not among numbers", column)
        return node

    def _compared(self, read: Callable[[], Node]) -> Node:
        """Parse an operand with the method `read`; raise an InputError if it is a number instead of a condition."""
        column, node = self._column, read()
        if not node.truth:
            raise self._error("a comparison is needed here, such as x > 0", column)
        return node

    def _truth(self) -> Node:
        return self._joined("or", lambda: self._joined("and", self._negated))

    def _joined(self, word: str, read: Callable[[], Node]) -> Node:
        column, terms = self._column, [read()]
        while self._accept(word):
            terms.append(self._compared(read))
        if len(terms) == 1:
            return terms[0]
        if not terms[0].truth:
            raise self._error("a comparison is needed here, such as x > 0", column)
        return Logical(word == "and", tuple(terms))

    def _negated(self) -> Node:
        if self._accept("not"):
            return Not(self._compared(lambda: self._nested(self._negated)))
        column, first, rest = self._column, self._sum(), []
        while sign := self._accept(*COMPARING):
            rest.append((sign, self._numeric(self._sum)))
        if rest and first.truth:
            raise self._error("a comparison cannot be compared", column)
        return Comparison(first, tuple(rest)) if rest else first

    def _sum(self) -> Node:
        return self._chain(("+", "-"), lambda: self._chain(("*", "/"), self._signed))

    def _chain(self, signs: tuple[str, ...], read: Callable[[], Node]) -> Node:
        column, first, rest = self._column, read(), []
        while sign := self._accept(*signs):
            rest.append((sign, self._numeric(read)))
        if rest and first.truth:
            raise self._error("a comparison belongs into where(comparison, a, b), not among numbers", column)
        return Chain(first, tuple(rest)) if rest else first

    def _signed(self) -> Node:
        if sign := self._accept("-", "+"):
            node = self._numeric(lambda: self._nested(self._signed))
            return Negative(node) if sign == "-" else node
        column, base = self._column, self._placed()
        if not self._accept("**"):
            return base
        if base.truth:
            raise self._error("a comparison has no power", column)
        return Exponentiation(base, self._numeric(lambda: self._nested(self._signed)))

    def _placed(self) -> Node:
        node, times = self._atom(), 0
        while sign := self._accept(".", "["):
            times += 1
            if times > MOST_BEHIND:
                raise self._error(f"there are more than {MOST_BEHIND} names and brackets behind each other")
            node = self._member(node) if sign == "." else self._item(node)
        return node

    def _member(self, owner: Node) -> Node:
        kind, name, column = self.tokens[self.place]
        known = (*ATTRIBUTES, *METHODS, "x", "y", "z", "w")
        if kind != "name" or name not in known:
            raise self._error(f"there is no {name!r} behind a dot; {suggestion(name, known)}", column)
        self.place += 1
        if name not in METHODS:
            return Attribute(owner, name)
        self._expect("(")
        argument = self._nested(lambda: self._numeric(self._sum))
        self._expect(")")
        return Method(owner, name, argument)

    def _item(self, owner: Node) -> Node:
        kind, text, column = self.tokens[self.place]
        if kind != "text" and (kind != "number" or not text.isdigit() or len(text) > 3):
            raise self._error("a whole number is needed in brackets, such as [0], or a name in quotes", column)
        self.place += 1
        self._expect("]")
        return Item(owner, text[1:-1] if kind == "text" else int(text))

    def _atom(self) -> Node:
        kind, text, column = self.tokens[self.place]
        if kind == "end":
            raise self._error("it ends too early")
        self.place += 1
        if kind == "number":
            if not math.isfinite(float(text)):
                raise self._error("the number is too large", column)
            return Number(float(text))
        if kind == "name" and text not in WORDS:
            return self._call(text, column) if self._next == "(" else Variable(text, column)
        if text == "(":
            node = self._nested(self._truth)
            self._expect(")")
            return node
        if text == "[":
            return Vector(self._listed("]", lambda: self._numeric(self._sum)))
        raise self._error(f"{text!r} is not expected here", column)

    def _call(self, name: str, column: int) -> Node:
        if name not in NAMES:
            raise self._error(f'there is no function "{name}"; {suggestion(name, NAMES)}', column)
        self._expect("(")
        if name == WHERE:
            condition = self._compared(lambda: self._nested(self._truth))
            self._expect(",")
            values = self._listed(")", lambda: self._numeric(self._sum))
            if len(values) != 2:
                raise self._error(f"where takes a comparison and two values; got {len(values)}", column)
            return Where(condition, *values)
        function, arguments = FUNCTIONS[name], self._listed(")", lambda: self._numeric(self._sum))
        if len(arguments) < function.least or (function.most is not None and len(arguments) > function.most):
            wanted = (
                f"{function.least} or more arguments"
                if function.most is None
                else f"{function.least} argument" + "s" * (function.least > 1)
            )
            raise self._error(f"{name} takes {wanted}; got {len(arguments)}", column)
        return Call(name, arguments)

    def _listed(self, end: str, read: Callable[[], Node]) -> tuple[Node, ...]:
        """Parse values separated by commas with the method `read`, up to the closing bracket `end`."""
        if self._accept(end):
            return ()
        nodes = [self._nested(read)]
        while self._accept(","):
            nodes.append(self._nested(read))
        self._expect(end)
        return tuple(nodes)
