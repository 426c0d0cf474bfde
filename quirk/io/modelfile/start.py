"""The section [state] of a model file: an initial state that differs from the one that the bodies declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from quirk.bodies.state import State
from quirk.errors import InputError, QuirkError
from quirk.system.system import System
from quirk.util import validate
from quirk.util.suggestion import suggestion

from .mistakes import Mistakes

PARTS = {"position": 3, "orientation": 4, "velocity": 3, "angular_velocity": 3}
NAMED = ("angles", "internal")


def moved_bodies(state: Mapping[str, Any], bodies: Iterable[str], mistakes: Mistakes) -> dict[str, dict[str, Any]]:
    """Return the positions, orientations and velocities in sections [[state.body]], as dicts of arrays by body name.

    `bodies` are the names of existing bodies.
    """
    known = list(bodies)
    for key in state:
        if key not in (*NAMED, "body"):
            mistakes.add(("state", key), f'[state]: there is no "{key}"; {suggestion(key, (*NAMED, "body"))}')
    tables = state.get("body", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        mistakes.add(("state", "body"), "[state]: write a section [[state.body]] for each body")
        return {}
    moved: dict[str, dict[str, Any]] = {}
    for k, table in enumerate(tables):
        name, path = table.get("name"), ("state", "body", k)
        if not isinstance(name, str) or name not in known:
            mistakes.add(path, f"[[state.body]]: there is no body {name!r}; {suggestion(str(name), known)}")
        elif name in moved:
            mistakes.add(path, f'[[state.body]]: "{name}" is given twice')
        else:
            given = {key: value for key, value in table.items() if key != "name"}
            moved[name] = _arrays(f'state of "{name}"', given, path, mistakes)
    return moved


def _arrays(owner: str, table: Mapping[str, Any], path: tuple[str | int, ...], mistakes: Mistakes) -> dict[str, Any]:
    found = {}
    for key, value in table.items():
        if key not in PARTS:
            mistakes.add((*path, key), f'{owner}: there is no "{key}"; {suggestion(key, PARTS)}')
            continue
        try:
            found[key] = validate.array(owner, key, value, (PARTS[key],))
        except InputError as error:
            mistakes.add((*path, key), str(error))
    return found


def start_from(
    system: System, state: Mapping[str, Any], moved: Mapping[str, Mapping[str, Any]], mistakes: Mistakes
) -> None:
    """Set the initial state of a system from the section [state].

    `moved` is the result of `moved_bodies`.
    """
    start, rows = system.initial_state(), {body.name: row for row, body in enumerate(system.bodies)}
    for name, arrays in moved.items():
        for key, numbers in arrays.items():
            getattr(start, key)[rows[name]] = numbers
    for key in NAMED:
        setattr(start, key, state.get(key, {}))
    try:
        checked = system.checked(start)
    except (QuirkError, TypeError) as error:
        mistakes.add(("state",), str(error))
        return
    system._initial = _as_given(start, checked)


def _as_given(start: State, checked: State) -> State:
    """Return the validated state `checked` with the quaternions of `start` where these have unit length.

    The normalization in `checked` would change their last digits.
    """
    lengths = np.linalg.norm(start.orientation, axis=1, keepdims=True)
    unit = np.abs(lengths - 1.0) < 4 * np.finfo(float).eps
    checked.orientation = np.where(unit, start.orientation, checked.orientation)
    return checked
