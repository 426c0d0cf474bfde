"""Search for the user functions and the prescribed motions in a model.

A relation is a constraint given by a function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..constraints.relation import Relation
from ..functions.motion import Motion
from .model.model import Model


def functions_of(model: Model) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the user functions in force elements, constraints and motions, each with the title of its element."""
    for element, _ in model.forces:
        functions = [*(value.source for value in element.functions), *element.sources]
        functions += [function for name in element.motions for function in element.motion(name).functions]
        yield from ((f"{element}", function) for function in functions if function is not None)
    for placed in model.relations:
        yield from ((placed.owner, function) for function in functions_in(placed.relation))


def functions_in(relation: Relation) -> list[Callable[..., Any]]:
    """Return the user functions in a relation (constraint function) and in its prescribed motions."""
    functions = [relation.source, *(function for motion in relation.motions for function in motion.functions)]
    return [function for function in functions if function is not None]


def owners_of(model: Model, condition: Callable[[Any], bool]) -> Iterator[str]:
    """Yield the title of each element of a model with a user function that satisfies `condition`."""
    return (owner for owner, function in functions_of(model) if condition(function))


def prescribed_motions(model: Model) -> list[tuple[str, Motion]]:
    """Return the prescribed motions of the active constraints and forces of a model, each with a title for messages."""
    motions = [(f"{placed.owner}, motion", motion) for placed in model.relations for motion in placed.relation.motions]
    return motions + [
        (f"{element}, {name}", element.motion(name)) for element, _ in model.forces for name in element.motions
    ]
