"""Constraints whose residual Phi is replaced by Phi minus a constant offset.

A constraint consists of relations, which are functions of the motion, and of primitives, which are constraints of four
elementary kinds (`constraints.primitives`). The offset of a relation is an additional constant of its function; that of
a primitive changes its constant or a joint frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..autodiff.jet import Jet
from ..bodies.frame import Frame
from .constraint import Constraint
from .custom import GivenRows
from .numbers import Numbers
from .planar.constraint import PlanarConstraint
from .planar.joints import coincidence as planar_coincidence
from .primitives import COINCIDENCE, Primitive
from .relation import Function, MovingFrame, Relation


def with_offsets(constraint: Constraint, offsets: Sequence[float]) -> Constraint:
    """Return a copy of a constraint in which an offset is subtracted from the residual of each row.

    Parameters
    ----------
    constraint : Constraint
    offsets : (rows,)
        Offsets in the units of the residuals Phi. Those of coincidences, m, shift the origin of frame i in its body
        along the directions returned by `coincidences`.
    """
    rest, shift = np.array(offsets, dtype=float), np.zeros(3)
    for rows, _, axes in coincidences(constraint):
        shift += axes @ rest[rows]
        rest[rows] = 0.0
    primitives = [
        primitive if not rest[rows].any() else _primitive_with(primitive, rest[rows].tolist())
        for primitive, rows in _rows(constraint)
    ]
    frame = Frame(constraint.frame_i.origin + shift, constraint.frame_i.rotation)
    made: Constraint = object.__new__(type(constraint))
    vars(made).update({**vars(constraint), "frame_i": frame, "primitives": tuple(primitives), "exact": constraint})
    return made


def without_offsets(constraint: Constraint) -> Constraint:
    """Return the original of a copy made by `with_offsets`, or the constraint itself if it has no offsets."""
    exact: Constraint = vars(constraint).get("exact", constraint)
    return exact


def coincidences(constraint: Constraint) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield the rows that are components of the vector p_j - p_i between the joint points.

    Each item is a triple for k such rows: their slice; the directions (3, k) of the components in the inertial frame;
    and the directions (3, k) in body axes along which offsets of these rows shift the origin of frame i.
    """
    for primitive, rows in _rows(constraint):
        if isinstance(primitive, Primitive) and primitive.kind == COINCIDENCE:
            yield rows, np.eye(3), np.eye(3)
        elif isinstance(constraint, PlanarConstraint) and primitive.function is planar_coincidence:  # type: ignore[union-attr]
            yield rows, constraint.plane.axes[:, :2], constraint.frame_i.matrix[:, :2]


def may_be_offset(constraint: Constraint) -> np.ndarray:
    """Return a mask (rows,), bool, of the rows that can have an offset.

    Rows of velocity constraints and rows given as A and b cannot have an offset.
    """
    found: list[bool] = []
    for primitive in constraint.primitives:
        fixed = isinstance(primitive, GivenRows) or (isinstance(primitive, Relation) and primitive.of_velocities)
        found += [not fixed] * len(primitive.labels)
    return np.array(found, dtype=bool)


def as_amounts(constraint: Constraint, offsets: Sequence[float]) -> list[tuple[float, str]]:
    """Convert offsets of rows to signed lengths and angles, as pairs of a number and its unit, "m" or "rad".

    `offsets` (rows,) are in the units of the residuals, such as m^2 for a squared distance.
    """
    found: list[tuple[float, str]] = []
    for primitive in constraint.primitives:
        for k in range(len(primitive.labels)):
            offset = float(offsets[len(found)])
            unit = ("m", "rad")[primitive.units[k]]
            if isinstance(primitive, Relation):
                found.append((offset / primitive.scale, unit))
            elif primitive.is_square:
                found.append((float(np.sqrt(max(primitive.offset + offset, 0.0)) - np.sqrt(primitive.offset)), unit))
            else:
                found.append((float(np.arcsin(np.clip(offset, -1.0, 1.0))) if unit == "rad" else offset, unit))
    return found


def _rows(constraint: Constraint) -> Iterator[tuple[Primitive | Relation, slice]]:
    """Yield the primitives and relations of a constraint, each with the slice of its rows."""
    first = 0
    for primitive in constraint.primitives:
        yield primitive, slice(first, first + len(primitive.labels))
        first += len(primitive.labels)


def _primitive_with(primitive: Primitive | Relation, offsets: list[float]) -> Primitive | Relation:
    """Return a copy of a primitive or relation with `offsets` subtracted from its rows.

    They are added to the constant of a primitive, or appended to the constants of a relation.
    """
    if isinstance(primitive, Primitive):
        return replace(primitive, offset=primitive.offset + offsets[0])
    function = Shifted(primitive.function, len(primitive.numbers))
    return replace(primitive, function=function, numbers=(*primitive.numbers, *offsets), offsets=len(offsets))


@dataclass(frozen=True)
class Shifted:
    """Constraint function that subtracts an offset from each row of `function`.

    The offsets follow the `count` constants of `function` in its array of constants.
    """

    function: Function
    count: int

    def __call__(self, t: Jet, frames: list[MovingFrame], numbers: Any, motions: list[Jet]) -> list[Jet]:
        """Return the rows of `function` minus the offsets."""
        own: Numbers = numbers.first(self.count)
        rows = self.function(t, frames, own, motions)
        return [row - offset for row, offset in zip(rows, numbers[self.count :], strict=True)]
