"""Comparison of two systems by names and parameters, used when results are loaded or joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..constraints import Constraint
from ..constraints.unilateral import Unilateral
from ..forces import ForceElement

if TYPE_CHECKING:
    from ..analysis.closure import Closure
    from .system import System

# Largest difference of equal numbers, relative to the largest number in the compared lists.
SAME = 1e-9
# Maximum number of differences named in a message.
MOST_NAMED = 3


def likeness(system: System) -> dict[str, Any]:
    """Return a description of a system, for comparisons, as nested dicts and lists of strings and numbers.

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
            *(x for row in rows for x in row.numbers),
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


def differences(saved: Any, current: Any, location: str = "") -> list[str]:
    """Return a message for each difference between two descriptions made by `likeness`.

    `saved` is the description in the file, `current` the description of the user's system; `location` names the entry
    of the description that is compared.
    """
    if isinstance(saved, dict) and isinstance(current, dict) and saved.keys() == current.keys():
        return [
            found
            for key in saved
            for found in differences(saved[key], current[key], _entry_title(location, saved, key))
        ]
    if _is_numeric(saved) and _is_numeric(current) and len(saved) == len(current):
        return [] if _is_equal(saved, current) else [f"{location}: {saved} was saved, {current} is given"]
    if isinstance(saved, list) and isinstance(current, list):
        if len(saved) != len(current):
            return [f"{location}: {_listed_names(saved)} was saved, {_listed_names(current)} is given"]
        return [found for a, b in zip(saved, current, strict=True) for found in differences(a, b, location)]
    if isinstance(saved, float | int) and isinstance(current, float | int):
        return [] if _is_equal([saved], [current]) else [f"{location}: {saved} was saved, {current} is given"]
    return [] if saved == current else [f"{location}: {saved!r} was saved, {current!r} is given"]


def _is_equal(first: list[float], second: list[float]) -> bool:
    """Whether the lists of numbers `first` and `second` are equal up to round-off of the largest number."""
    largest = np.abs([first, second]).max(initial=0.0)
    return first == second or bool((np.abs(np.subtract(first, second)) <= SAME * largest).all())


def _entry_title(location: str, entry: dict[str, Any], key: str) -> str:
    """Return the name of an entry of a description for messages, preceded by that of its body, constraint or force.

    `entry` is the dict that describes the body, constraint or force, and contains `key`; if it has no item "name",
    `location` is used.
    """
    owner = f'"{entry["name"]}"' if isinstance(entry.get("name"), str) else location
    return f"{key} of {owner}" if owner else key


def _is_numeric(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(x, float | int) for x in value)


def _listed_names(items: list[Any]) -> str:
    names = [x.get("name", x) if isinstance(x, dict) else x for x in items]
    return ", ".join(map(str, names[:20])) + (", ..." if len(names) > 20 else "") if names else "nothing"


def difference_text(differing: list[str]) -> str:
    """Return a message that lists at most MOST_NAMED differences and states the number of further ones."""
    more = f"; and {len(differing) - MOST_NAMED} more" if len(differing) > MOST_NAMED else ""
    return "; ".join(differing[:MOST_NAMED]) + more
