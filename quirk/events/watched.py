"""Watched quantities given as expressions of time, bodies and joints."""

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
    """Function of (t, state) given by an expression of t, `state`, and names of bodies and constraints.

    Attributes
    ----------
    expression : Expression of t, state and the names of bodies and constraints that are valid Python identifiers
    names : names of the bodies and constraints in the expression
    """

    expression: Expression
    names: tuple[str, ...]

    takes_jets = True

    @classmethod
    def of(cls, title: str, expression: Expression, parts: Mapping[str, Any]) -> Watched:
        """Return the watched function for an expression; unknown names raise an InputError.

        `title` names the event in errors; `parts` are all parts of the system by name.
        """
        known = {name for name, part in parts.items() if isinstance(part, Body | Constraint)}
        asked = dict.fromkeys(name for name in expression.names() if name not in ("t", "state"))
        for name in asked:
            if name not in known:
                raise InputError(f'{title}: {expression}: there is no body or joint "{name}" in the system')
        direct = [name for name in expression.variables if name in asked]
        return cls(Expression(expression.text, "t", "state", *direct), tuple(asked))

    def __call__(self, t: Any, state: Any) -> Any:
        """Return the value of the expression at time t (s); `state` is a `StateView`."""
        direct = self.expression.arguments[2:]
        return self.expression(t, state, *(state[name] for name in direct))
