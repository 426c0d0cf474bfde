"""All constraint rows as relations: primitives written as functions of moving frames."""

from __future__ import annotations

import functools
from itertools import groupby

import numpy as np

from quirk.autodiff.jet import Jet
from quirk.constraints import Constraint
from quirk.constraints.primitives import COINCIDENCE, DISTANCE, DOT1, Primitive
from quirk.constraints.relation import FORCE, TORQUE, Function, MovingFrame, Relation, frame_numbers

from .model import Model, PlacedRelation


def as_relations(model: Model) -> list[PlacedRelation]:
    """Return relations with all rows of a model: first one per group of primitives, then the model's own relations."""
    made = []
    for constraint, bodies in model.joint_bodies:
        first = model.joint_rows[constraint.name].start
        for _, group in groupby(constraint.primitives, lambda part: isinstance(part, Primitive)):
            parts = list(group)
            count = sum(len(part.labels) for part in parts)
            primitives = [part for part in parts if isinstance(part, Primitive)]
            if primitives:
                made.append(_placed(constraint, bodies, primitives, slice(first, first + count)))
            first += count
    return made + model.relations


def _placed(
    constraint: Constraint, bodies: tuple[int, int], primitives: list[Primitive], rows: slice
) -> PlacedRelation:
    """Return consecutive primitives of a constraint as one relation."""
    relation = Relation(
        _function(tuple((one.kind, one.axis_i, one.axis_j) for one in primitives)),
        tuple(label for one in primitives for label in one.labels),
        tuple(TORQUE if one.kind == DOT1 else FORCE for one in primitives for _ in one.labels),
        tuple(one.offset for one in primitives),
    )
    frames = np.array([frame_numbers(frame) for frame in (constraint.frame_i, constraint.frame_j)])
    return PlacedRelation(relation, rows, bodies, frames, str(constraint))


@functools.cache
def _function(recipe: tuple[tuple[int, int, int], ...]) -> Function:
    """Return the function that computes the rows of primitives, each specified by its kind and the axes on i and j."""

    def rows(t: Jet, frames: list[MovingFrame], numbers: list[Jet], motions: list[Jet]) -> list[Jet]:
        one, two = frames
        d = two.position - one.position
        found: list[Jet] = []
        for (kind, axis_i, axis_j), offset in zip(recipe, numbers, strict=True):
            if kind == COINCIDENCE:
                found += list(d)
                continue
            x = d if kind == DISTANCE else one.rotation[:, axis_i]
            y = two.rotation[:, axis_j] if kind == DOT1 else d
            found.append(x @ y - offset)
        return found

    return rows
