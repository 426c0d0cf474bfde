"""Functions given as strings, in a small language of arithmetic expressions.

A jet is a number with time derivatives and a gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from quirk.autodiff.jet import Jet
from quirk.errors import InputError
from quirk.util.immutable import Immutable
from quirk.util.suggestion import suggestion

from .functions import CONSTANTS
from .nodes import Variable
from .parse import Parser

__all__ = ["Derivative", "Expression", "function_of"]


class Expression(Immutable):
    """A function given as a string, such as ``quirk.Expression("2*sin(3*t)")``, instead of a Python function.

    The language has numbers, ``+ - * / **``, comparisons in ``where(x > 0, a, b)``, sin, cos, tan, asin, acos, atan,
    atan2, sinh, cosh, tanh, exp, log, sqrt, abs, sign, min, max, clip, hypot, radians, vectors ``[a, b, c]`` with dot,
    cross and norm, and pi, tau and e. The text is parsed, never executed by Python; it is compiled, and its derivatives
    are exact.

    Parameters
    ----------
    text : str
    arguments : str
        Names of the arguments in the order of the call. Default: the argument names in the documentation of the
        parameter that accepts the expression, such as t, angle and rate for ``f(t, angle, rate)``. Components of
        vectors are written ``position.x`` or ``position[0]``.

    Raises
    ------
    InputError
        If the text is invalid, with the column of the error, or has unknown variables.

    Examples
    --------
    >>> law = quirk.Expression("2 * sin(pi * t)", "t")
    >>> law(0.5)
    2.0
    """

    # Jets are accepted as arguments.
    takes_jets = True

    def __init__(self, text: str, *arguments: str) -> None:
        if not isinstance(text, str):
            raise InputError(f"Expression: text must be a text such as 2*sin(3*t); got {text!r}")
        self.text = text
        self.root = Parser(text).parse()
        if self.root.truth:
            raise InputError(f'expression "{text}": it is a comparison; use it in where(comparison, a, b)')
        self.arguments = arguments
        if not all(isinstance(name, str) and name.isidentifier() for name in arguments):
            raise InputError(f"{self}: arguments must be names of variables; got {arguments!r}")
        if arguments:
            self._check(arguments)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of variables in the text, without named constants, in order of appearance."""
        names = (variable.name for variable in self.root.variables())
        return tuple(dict.fromkeys(name for name in names if name in self.arguments or name not in CONSTANTS))

    @property
    def smooth(self) -> bool:
        """Whether the expression has derivatives of any order wherever it is defined, without kinks and jumps."""
        return self.root.smooth()

    def names(self) -> tuple[str, ...]:
        """All variables and all quoted strings in the text."""
        return tuple(dict.fromkeys([*self.variables, *self.root.texts()]))

    def of(self, arguments: Sequence[str]) -> Expression:
        """Return the expression as a function of `arguments`, or unchanged if it has declared arguments."""
        return self if self.arguments else Expression(self.text, *arguments)

    def __call__(self, *values: Any) -> Any:
        """Return the value for the given arguments: floats, arrays or jets."""
        if len(values) != len(self.arguments):
            names = ", ".join(self.arguments) or "none that are known: name them after the text"
            raise InputError(f"{self}: it was called with {len(values)} values; its arguments are {names}")
        return self.root.of(dict(zip(self.arguments, values, strict=True)))

    def _check(self, arguments: Sequence[str]) -> None:
        for variable in self.root.variables():
            if not isinstance(variable, Variable) or variable.name in arguments or variable.name in CONSTANTS:
                continue
            hint = suggestion(variable.name, arguments)
            raise InputError(f'{self}, column {variable.column}: there is no variable "{variable.name}"; {hint}')

    def __eq__(self, other: object) -> bool:
        same = isinstance(other, Expression) and (self.text, self.arguments) == (other.text, other.arguments)
        return bool(same)

    def __hash__(self) -> int:
        return hash((self.text, self.arguments))

    def __str__(self) -> str:
        return f'expression "{self.text}"'

    def __repr__(self) -> str:
        return f"Expression({', '.join(map(repr, (self.text, *self.arguments)))})"


@dataclass(frozen=True)
class Derivative:
    """Time derivative of order `order` of an expression in t."""

    function: Expression
    order: int

    takes_jets = True

    def __call__(self, t: Any) -> Any:
        """Return the derivative at the time `t`, which is a float or a jet without derivatives."""
        value = t.value if isinstance(t, Jet) else float(t)
        found = self.function(Jet([value, 1.0, *[0] * (self.order - 1)], []))
        # The value is a number if it does not depend on time.
        slope = found.taylor[self.order] * float(math.factorial(self.order)) if isinstance(found, Jet) else 0.0
        return Jet([slope], []) if isinstance(t, Jet) else float(slope)


def function_of(owner: str, argument: str, value: Any, names: Sequence[str]) -> Any:
    """Convert a string, an expression, or a list with strings to a function; return other values unchanged.

    Parameters
    ----------
    owner, argument : object and argument, for error messages
    value : value of the argument
    names : names of the arguments with which the function will be called
    """
    try:
        if isinstance(value, str):
            value = Expression(value)
        elif isinstance(value, list | tuple) and any(isinstance(x, str) for x in value):
            entries = [f"({Expression(x).text})" if isinstance(x, str) else _number(x) for x in value]
            value = Expression(f"[{', '.join(entries)}]")
        return value.of(names) if isinstance(value, Expression) else value
    except InputError as error:
        raise InputError(f"{owner}: {argument}: {error}") from None


def _number(x: Any) -> str:
    if isinstance(x, bool) or not isinstance(x, int | float) or not math.isfinite(x):
        raise InputError(f"entries must be finite numbers or texts; got {x!r}")
    return repr(float(x))
