"""Comparison of two systems by their names and numbers, for saved and joined results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints import Constraint
from ..constraints.relation import Relation
from ..constraints.unilateral import Unilateral
from ..forces import ForceElement

if TYPE_CHECKING:
    from ..analysis.closure import Closure
    from .system import System

# Relative tolerance for equal numbers, with respect to the largest number beside them.
SAME = 1e-9
# Maximum number of differences named in a message.
MOST_NAMED = 3


def likeness(system: System) -> dict[str, Any]:
    """Return a description of a system as nested dicts and lists of text and numbers.

    The description contains all names, masses, constraint rows, frames and parameters that affect the motion.
    """
    return {
        "gravity": system.gravity.tolist(),
        "bodies": [{"name": b.name, "mass": b.mass, "inertia": b.inertia.ravel().tolist()} for b in system.bodies],
        "constraints": [_constraint(constraint, system.closure) for constraint in system.constraints],
        "forces": [_force(force) for force in system.forces],
        "rank_tolerance": system.model.rank_tolerance,
        "load_length": system._load_length,
    }


def _constraint(constraint: Constraint, closure: Closure | None) -> dict[str, Any]:
    rows = constraint.gaps if isinstance(constraint, Unilateral) else constraint.primitives
    return {
        **_part(constraint, [(body.name, frame) for body, frame in constraint.ends]),
        "rows": [label for row in rows for label in row.labels],
        "numbers": [
            *(x for row in rows for x in (row.numbers if isinstance(row, Relation) else [row.offset])),
            *(() if closure is None else closure.offsets.get(constraint.name, ())),
        ],
    }


def _force(force: ForceElement) -> dict[str, Any]:
    return {
        **_part(force, [(body.name, frame) for body, frame in force.ends]),
        "numbers": [*force.numbers.tolist(), *(getattr(force, name) for name in force.internal)],
        "internal": list(force.internal),
    }


def _part(part: Any, ends: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    frames = [[*frame.origin.tolist(), *frame.rotation.tolist()] for _, frame in ends]
    return {"name": part.name, "kind": type(part).__name__, "bodies": [name for name, _ in ends], "frames": frames}


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Return a text for each difference between two descriptions from `likeness`.

    In the texts `one` is the saved value and `other` the value in the user's system. `where` names the entry that
    contains both.
    """
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        return [found for key in one for found in differences(one[key], other[key], _said(where, one, key))]
    if _numbers(one) and _numbers(other) and len(one) == len(other):
        return [] if _alike(one, other) else [f"{where}: {one} was saved, {other} is given"]
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return [f"{where}: {_names(one)} was saved, {_names(other)} is given"]
        return [found for a, b in zip(one, other, strict=True) for found in differences(a, b, where)]
    if isinstance(one, float | int) and isinstance(other, float | int):
        return [] if _alike([one], [other]) else [f"{where}: {one} was saved, {other} is given"]
    return [] if one == other else [f"{where}: {one!r} was saved, {other!r} is given"]


def _alike(one: list[float], other: list[float]) -> bool:
    """Whether two lists of numbers, `one` and `other`, are equal up to round-off of the largest."""
    largest = np.abs([one, other]).max(initial=0.0)
    return one == other or bool((np.abs(np.subtract(one, other)) <= SAME * largest).all())


def _said(where: str, of: dict[str, Any], key: str) -> str:
    """Return the name of an entry for messages, with the name of the part that contains it.

    `of` is the dict that describes the part and contains `key`; `where` names the part if `of` has no entry "name".
    """
    owner = f'"{of["name"]}"' if isinstance(of.get("name"), str) else where
    return f"{key} of {owner}" if owner else key


def _numbers(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(x, float | int) for x in found)


def _names(found: list[Any]) -> str:
    names = [x.get("name", x) if isinstance(x, dict) else x for x in found]
    return ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "") if names else "nothing"


def said(found: list[str]) -> str:
    """Return at most MOST_NAMED differences as one text, with the number of further ones."""
    more = f"; and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return "; ".join(found[:MOST_NAMED]) + more
