"""Conditions in machine code under construction, whose truth values are unknown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .jet import Jet


class BranchingError(TypeError):
    """Error raised if a function branches on a value that is unknown while machine code is generated."""


class Condition:
    """Result of a comparison of jets in machine code under construction.

    Its truth value is unknown, so that Python cannot branch on it. Conditions are arguments of `where`, and are
    combined by ``&``, ``|`` and ``~``.

    Attributes
    ----------
    value : traced truth value
    of : one of the compared jets; `where` converts constants to jets like this one
    """

    def __init__(self, value: Any, of: Jet) -> None:
        self.value, self.of = value, of

    def __bool__(self) -> bool:
        raise BranchingError("a branch on a comparison of jets while machine code is being written")

    def __eq__(self, other: object) -> bool:
        raise BranchingError("comparisons are compared while machine code is being written")

    __ne__ = __eq__

    def __hash__(self) -> int:
        raise BranchingError("a comparison is looked up while machine code is being written")

    def __invert__(self) -> Condition:
        return Condition(self.value.logical("xor", True), self.of)

    def __and__(self, other: Any) -> Condition:
        return Condition(self.value.logical("and_", other.value if isinstance(other, Condition) else other), self.of)

    def __or__(self, other: Any) -> Condition:
        return Condition(self.value.logical("or_", other.value if isinstance(other, Condition) else other), self.of)

    __rand__, __ror__ = __and__, __or__
