"""Conversion of a system to tables of strings, numbers and Boolean values.

The table of a part describes the call that created it: the class or function (its kind) and the arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from quirk.beams import Beam
from quirk.bodies.body import GROUND, Body
from quirk.bodies.state import initial_state
from quirk.constraints import Constraint
from quirk.dynamics.model.model import RANK_TOLERANCE
from quirk.errors import InputError
from quirk.events import Sampled
from quirk.forces import ForceElement
from quirk.system.configuration import Configuration
from quirk.system.system import System
from quirk.util.construction import made_with

from .kinds import kinds, names_parts, parameters

# Format number of written files; files with a larger number are rejected on reading.
FORMAT = 1
FAMILIES: dict[str, Any] = {
    "body": Body,
    "beam": Beam,
    "constraint": Constraint,
    "force": ForceElement,
    "sampled": Sampled,
    "event": object,
}
# Default kind of tables, by family.
DEFAULT_KINDS = {"body": "Body", "beam": "Beam", "sampled": "Sampled", "event": "Event"}
NESTED = "Frame"
HOW = 'write it as an expression, such as quirk.Expression("2*sin(3*t)")'


class UnwritableError(Exception):
    """Error raised for a value that cannot be written to a file.

    The message states the path of the value within the arguments, and the reason.
    """


def tables_of(system: System, run: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return a system and options of a run as nested dicts and lists of strings, numbers and Boolean values.

    Raises
    ------
    InputError
        If some parts cannot be written, such as parts with Python functions; the message names all of them.
    """
    companions = {id(x): x for part in system for x in getattr(part, "companions", ())}
    parts = [part for part in system if id(part) not in companions]
    # A system replaces a force on all bodies by another object; the recorded calls of both are identical.
    names = {id(made_with(part)): part.name for part in [GROUND, *system] if made_with(part)}
    tables: dict[str, Any] = {"format": FORMAT, "system": _settings(system, parts)}
    troubles: list[str] = []

    def table(title: str, part: Any, default: str | None = None) -> dict[str, Any]:
        try:
            return _table(part, names, default)
        except UnwritableError as error:
            troubles.append(f"{title}: {error}")
            return {}

    for part in parts:
        family = next(family for family, kind in FAMILIES.items() if isinstance(part, kind))
        tables.setdefault(family, []).append(table(f"{part}", part, DEFAULT_KINDS.get(family)))
    tables = {key: tables[key] for key in ("format", "system", *FAMILIES) if key in tables}
    tables |= _state(system)
    if run:
        tables["run"] = {}
        for key, value in run.items():
            if key == "events":
                tables["run"]["event"] = [table(f"{event}", event, "Event") for event in value]
            elif value is not None:
                try:
                    tables["run"][key] = _value(value, names, "")
                except UnwritableError as error:
                    troubles.append(f"run: {key}: {error}")
    if troubles:
        raise InputError("this system cannot be written to a file:\n  " + "\n  ".join(troubles))
    return tables


def _table(item: Any, names: Mapping[int, str], default: str | None = None) -> dict[str, Any]:
    """Return the table that describes an object: its arguments, and its kind unless that is `default`.

    `names` are the names of the bodies, constraints and forces by id; they replace these objects in arguments.
    """
    call = made_with(item)
    kind = None if call is None else kinds().get(call.maker)
    if call is None or kind is None:
        raise UnwritableError(f"{type(item).__name__} was not created by a public class or function of quirk: use one")
    given = dict(call.arguments)
    if isinstance(item, Body) and item.frames:
        given["frames"] = item.frames  # frames can be added after construction
    table: dict[str, Any] = {"kind": kind} if kind != default or not given else {}
    known = parameters(call.maker)
    if "name" in given and default != NESTED:
        table = {"name": given.pop("name"), **table}
    for argument, value in given.items():
        if value is None and known[argument].default is None:
            continue
        try:
            table[argument] = _value(value, names, str(known[argument].annotation))
        except UnwritableError as error:
            raise UnwritableError(f"{argument}: {error}") from None
    return table


def _value(value: Any, names: Mapping[int, str], annotation: str) -> Any:
    """Return the value of an argument, converted to strings, numbers, Boolean values, lists and dicts.

    `names` are the names of the bodies, constraints and forces by id; `annotation` is the annotation of the parameter.
    """
    call = made_with(value)
    if call is not None and id(call) in names:
        if not names_parts(annotation):
            raise UnwritableError(f"{value} is given instead of a name: use {value.name!r}")
        return names[id(call)]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value.item()
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, list | tuple | np.ndarray):
        return [_value(part, names, annotation) for part in value]
    if type(value) is dict:
        return {str(key): _value(part, names, annotation) for key, part in value.items()}
    if call is not None:
        return _table(value, names, NESTED)
    components = _components(value)
    if components is not None:
        return components
    if callable(value):
        raise UnwritableError(f"a file cannot store the Python function {_called(value)}: {HOW}")
    raise UnwritableError(f"a file cannot store {value!r}: use numbers, texts, or objects created by quirk")


def _components(value: Any) -> list[float] | None:
    """Return the components (w, x, y, z) of an orientation of scipy or numpy-quaternion; None for other values."""
    if hasattr(value, "as_quat"):
        return [float(x) for x in np.roll(value.as_quat(), 1, axis=-1)]
    if hasattr(value, "components"):
        return [float(x) for x in value.components]
    return None


def _called(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _settings(system: System, parts: Sequence[Any]) -> dict[str, Any]:
    """Return gravity and other options of a system, and the names of parts that have been enabled or disabled."""
    settings: dict[str, Any] = {"gravity": system.gravity.tolist()}
    if system._load_length is not None:
        settings["load_length"] = system._load_length
    if system._rank_tolerance != RANK_TOLERANCE:
        settings["rank_tolerance"] = system._rank_tolerance
    if system.closure is not None:
        offsets = {name: list(numbers) for name, numbers in system.closure.offsets.items()}
        settings["closure"] = {"tolerance": system.closure.tolerance, "offsets": offsets}
    declared = Configuration(frozenset(c.name for c in system.constraints if c.active))
    switched, _ = system.configuration.since(declared)
    for key, on in (("switched_on", True), ("switched_off", False)):
        if found := [name for name in switched if switched[name] is on]:
            settings[key] = found
    # Companion parts are last unless a user has changed the order.
    usual = [*parts, *(x for part in parts for x in getattr(part, "companions", ()))]
    for listed in FAMILIES.values():
        own = [[id(x) for x in some if isinstance(x, listed)] for some in (usual, list(system))]
        if own[0] != own[1]:
            settings["order"] = [part.name for part in system]
            break
    return settings


def _state(system: System) -> dict[str, Any]:
    """Return the section [state]: the initial state, as far as it differs from the one that the bodies declare."""
    start, declared = system.initial_state(), initial_state(system.bodies)
    keys = ("position", "orientation", "velocity", "angular_velocity")
    state: dict[str, Any] = {}
    for key in ("angles", "internal"):
        if named := getattr(start, key):
            state[key] = {name: np.asarray(numbers).tolist() for name, numbers in named.items()}
    moved = []
    for row, body in enumerate(system.bodies):
        own = {
            key: now[row].tolist()
            for key, now, before in zip(keys, start.parts, declared.parts, strict=True)
            if now[row].tobytes() != before[row].tobytes()
        }
        if own:
            moved.append({"name": body.name, **own})
    if moved:
        state["body"] = moved
    return {"state": state} if state else {}
