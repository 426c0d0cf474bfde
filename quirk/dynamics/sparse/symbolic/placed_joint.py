"""Groups of constraint rows that are eliminated together.

A relation is a constraint given by a function, a primitive is one of four elementary constraints.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PlacedJoint:
    """Group of rows of one constraint that are eliminated together.

    Attributes
    ----------
    bodies : indices of bodies i and j, or of the bodies of a relation
    rows : range of rows of the model
    primitives : range in the model's table of primitives, empty for a relation
    relation : index among the model's relations, None for primitives
    """

    bodies: tuple[int, ...]
    rows: range
    primitives: range
    relation: int | None = None
