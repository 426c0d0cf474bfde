"""Identity of a run: digests by which a checkpoint is matched with a run."""

from __future__ import annotations

import hashlib
import json
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

from quirk.bodies.body import GROUND
from quirk.bodies.state import State
from quirk.simulation.hybrid.run_factory import RunFactory
from quirk.system.system import System
from quirk.util.construction import made_with

# Largest nesting depth of values; the arguments of parts are nested a few levels deep.
DEEPEST = 30


def identity(system: System, state: State, phases: RunFactory) -> dict[str, str]:
    """Return digests of all parts of a system, of the initial state of a run, and of the options of the computation.

    Functions are compared by their code and the values they contain, not by global variables of their modules.
    """
    names = {id(part): part.name for part in [GROUND, *system]}
    found = {}
    for part in [*system, *(event for event in phases.events if id(event) not in names)]:
        others = {key: name for key, name in names.items() if key != id(part)}
        found[f"{part}"] = _digest(part, others)
    changed = [state.angles, state.internal, state.switched, state.replaced]
    closure = [] if system.closure is None else [system.closure.tolerance, system.closure.offsets]
    active, idle = system.configuration.active, sorted(system.configuration.idle)
    whole = {
        "gravity and active parts": [system.gravity, sorted(active), *idle, *closure],
        "initial state": [*state.parts, *map(dict, changed)],
        "output": phases.asked,
        "solver": phases.solver,
        "method": phases.method,
        "breaks": phases.breaks.times,
        **phases.settings._asdict(),
    }
    return {**found, **{name: _digest(value, names) for name, value in whole.items()}}


def differences(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names of the entries that differ between two identities."""
    return [name for name in {**one, **other} if one.get(name) != other.get(name)]


def _digest(value: Any, names: Mapping[int, str]) -> str:
    text = json.dumps(_described(value, names, 0), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _described(value: Any, names: Mapping[int, str], depth: int) -> Any:
    """Return an equal representation (texts, lists and dicts) for equivalent values, in every process."""
    if depth > DEEPEST:
        return type(value).__qualname__
    if id(value) in names:
        return ["part", names[id(value)]]
    if value is None or isinstance(value, str | bytes | int | bool | complex):
        return repr(value)
    if isinstance(value, float | np.generic):
        return repr(value.item() if isinstance(value, np.generic) else value)
    if isinstance(value, np.ndarray) and value.dtype != object:
        return [value.dtype.str, list(value.shape), hashlib.sha256(value.tobytes()).hexdigest()]
    if isinstance(value, list | tuple | np.ndarray):
        return [_described(one, names, depth + 1) for one in value]
    if isinstance(value, Mapping):
        return {str(key): _described(one, names, depth + 1) for key, one in value.items()}
    call = made_with(value)
    if call is not None:
        return [call.maker.__qualname__, _described(call.arguments, names, depth + 1)]
    function = getattr(value, "py_func", value)
    if isinstance(function, types.FunctionType):
        held = [cell.cell_contents for cell in function.__closure__ or ()]
        return [_of_code(function.__code__), _described([held, function.__defaults__], names, depth + 1)]
    return type(value).__qualname__


def _of_code(code: types.CodeType) -> list[Any]:
    constants = [_of_code(one) if isinstance(one, types.CodeType) else repr(one) for one in code.co_consts]
    return [code.co_code.hex(), constants, list(code.co_names)]
