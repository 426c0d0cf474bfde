"""Constraint rows of primitives as functions of moving frames, so that all rows can be treated as relations.

A relation is a constraint given by a function; a primitive is any of the four elementary constraints.
"""

from __future__ import annotations

import functools
from itertools import groupby

import numpy as np

from quirk.autodiff.jet import Jet
from quirk.constraints import Constraint
from quirk.constraints.primitives import INERTIAL, SEPARATION, Primitive
from quirk.constraints.relation import Function, MovingFrame, Relation, frame_numbers

from .model import Model, PlacedRelation


def as_relations(model: Model) -> list[PlacedRelation]:
    """Return relations for all rows of a model: one for each group of primitives, and the model's own relations.

    A group consists of consecutive primitives of a constraint.
    """
    placed = []
    for constraint, bodies in model.joint_bodies:
        first = model.joint_rows[constraint.name].start
        for _, group in groupby(constraint.primitives, lambda part: isinstance(part, Primitive)):
            parts = list(group)
            count = sum(len(part.labels) for part in parts)
            primitives = [part for part in parts if isinstance(part, Primitive)]
            if primitives:
                placed.append(_placed(constraint, bodies, primitives, slice(first, first + count)))
            first += count
    return placed + model.relations


def _placed(
    constraint: Constraint, bodies: tuple[int, int], primitives: list[Primitive], rows: slice
) -> PlacedRelation:
    """Return consecutive primitives (elementary constraints) of a constraint as one relation with the given rows."""
    relation = Relation(
        _function(tuple((*primitive.factors, primitive.axis_i, primitive.axis_j) for primitive in primitives)),
        tuple(label for primitive in primitives for label in primitive.labels),
        tuple(unit for primitive in primitives for unit in primitive.units),
        tuple(primitive.offset for primitive in primitives),
    )
    frames = np.array([frame_numbers(frame) for frame in (constraint.frame_i, constraint.frame_j)])
    return PlacedRelation(relation, rows, bodies, frames, str(constraint))


@functools.cache
def _function(recipe: tuple[tuple[int, int, int, int], ...]) -> Function:
    """Return a function (t, frames, numbers, motions) that computes the residuals of primitive constraints.

    `recipe` has an entry for each primitive: its factors x and y, and the indices (0 to 2 for x to z) of its axes in
    frames i and j. The function's argument `frames` are the moving frames i and j, and `numbers` the offsets of the
    primitives: m, m^2 for a distance, or the cosine of an angle for dot-1. It returns three residuals for a
    coincidence, and one for each other primitive.
    """

    def rows(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> list[Jet]:
        frame_i, frame_j = frames
        d = frame_j.position - frame_i.position
        values: list[Jet] = []
        for (of_x, of_y, axis_i, axis_j), offset in zip(recipe, numbers, strict=True):
            if of_x == INERTIAL:
                values += list(d)
                continue
            x = d if of_x == SEPARATION else frame_i.rotation[:, axis_i]
            y = d if of_y == SEPARATION else frame_j.rotation[:, axis_j]
            values.append(x @ y - offset)
        return values

    return rows
