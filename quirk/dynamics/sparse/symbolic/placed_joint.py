"""Groups of constraint rows that are eliminated together."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlacedJoint:
    """Group of rows of one constraint that are eliminated together.

    The constraint is a relation, which is defined by a function, or consists of primitives, the four elementary
    constraints.

    Attributes
    ----------
    bodies : indices of bodies i and j, or of the bodies of a relation
    rows : range of the rows among all rows of the model
    primitives : range of the primitives in the model's table of primitives, empty for a relation
    relation : index among the model's relations, None for primitives
    """

    bodies: tuple[int, ...]
    rows: range
    primitives: range
    relation: int | None = None
