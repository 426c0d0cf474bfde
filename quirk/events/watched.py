"""Expressions of a system's state, as functions that events watch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..bodies.body import Body
from ..constraints import Constraint
from ..errors import InputError
from ..functions.expression import Expression


@dataclass(frozen=True)
class Watched:
    """A function of time and state, from an expression of t, `state`, and bodies and joints by name.

    Attributes
    ----------
    names : names of the bodies and constraints in the expression
    """

    expression: Expression
    names: tuple[str, ...]

    takes_jets = True

    @classmethod
    def of(cls, title: str, expression: Expression, parts: Mapping[str, Any]) -> Watched:
        """Return the watched function in a system of these parts by name; InputError for unknown names."""
        known = {name for name, part in parts.items() if isinstance(part, Body | Constraint)}
        asked = dict.fromkeys(name for name in expression.names() if name not in ("t", "state"))
        for name in asked:
            if name not in known:
                raise InputError(f'{title}: {expression}: there is no body or joint "{name}" in the system')
        direct = [name for name in expression.variables if name in asked]
        return cls(Expression(expression.text, "t", "state", *direct), tuple(asked))

    def __call__(self, t: Any, state: Any) -> Any:
        """Return the value of the expression."""
        direct = self.expression.arguments[2:]
        return self.expression(t, state, *(state[name] for name in direct))
