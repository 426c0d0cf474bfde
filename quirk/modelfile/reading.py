"""From the text of a model file to a system and the options of a run."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from quirk import validate
from quirk.errors import InputError, QuirkError
from quirk.simulate import simulate
from quirk.state import State
from quirk.system import System

from .lines import lines_of
from .mistakes import Mistakes, suggestion
from .parts import FLAWED, PartMaker
from .written import FAMILIES, FORMAT

SECTIONS = ("format", "system", *FAMILIES, "state", "run")
# Arguments of `simulate` that a file says elsewhere.
ELSEWHERE = ("system", "initial_state")


@dataclass(frozen=True)
class Model:
    """What a model file holds.

    Attributes
    ----------
    system : System
    run : dict
        Arguments for `simulate` besides the system: ``quirk.simulate(model.system, **model.run)``; empty if the file
        says nothing of a run.
    """

    system: System
    run: Mapping[str, Any] = field(default_factory=dict)


def model_of(text: str, where: str = "the model") -> Model:
    """Return the model that a text describes.

    Parameters
    ----------
    where : what the text is, for messages

    Raises
    ------
    InputError
        With all mistakes of the text, each with its line.
    """
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise InputError(f"{where} is no model file: its lists or tables are within each other too often") from None
    except ValueError as error:
        raise InputError(f"{where} is no TOML text: {error}") from None
    mistakes = Mistakes(where, lines_of(text))
    _check_sections(tables, mistakes)
    maker = PartMaker(tables, mistakes)
    items = maker.all_parts()
    options = _options(tables, mistakes)
    run = _run(tables, maker, mistakes)
    mistakes.check()
    system = _system(items, options, maker, mistakes)
    mistakes.check()
    assert system is not None
    _switch(system, options, mistakes)
    _start(system, tables.get("state", {}), mistakes)
    mistakes.check()
    return Model(system, run)


def _check_sections(tables: Mapping[str, Any], mistakes: Mistakes) -> None:
    for key in tables:
        if key not in SECTIONS:
            mistakes.add((key,), f'there is no section "{key}"; {suggestion(key, SECTIONS)}')
    number = tables.get("format", FORMAT)
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        mistakes.add(("format",), f"format must be a whole number, such as format = {FORMAT}; got {number!r}")
    elif number > FORMAT:
        mistakes.add(("format",), f"format {number} is newer than {FORMAT}, the newest that this QuIRK reads")


def _section(tables: Mapping[str, Any], key: str, mistakes: Mistakes) -> dict[str, Any]:
    section = tables.get(key, {})
    if not isinstance(section, dict):
        mistakes.add((key,), f"{key} must be a section [{key}]; got {section!r}")
        return {}
    return section


def _options(tables: Mapping[str, Any], mistakes: Mistakes) -> dict[str, Any]:
    """Return what [system] says: arguments of `System`, what is switched, and the order of parts."""
    section = _section(tables, "system", mistakes)
    named = ("switched_on", "switched_off", "order")
    arguments = [p.name for p in inspect.signature(System).parameters.values() if p.kind is p.KEYWORD_ONLY]
    for key, value in section.items():
        if key not in (*arguments, *named):
            mistakes.add(("system", key), f'[system]: there is no "{key}"; {suggestion(key, (*arguments, *named))}')
        elif key in named and not (isinstance(value, list) and all(isinstance(x, str) for x in value)):
            mistakes.add(("system", key), f"[system]: {key} must be a list of names; got {value!r}")
    return section


def _system(items: list[Any], options: dict[str, Any], maker: PartMaker, mistakes: Mistakes) -> System | None:
    arguments = {key: value for key, value in options.items() if key not in ("switched_on", "switched_off", "order")}
    if "order" in options:
        by_name = {item.name: item for item in items}
        listed = [by_name.get(name) or maker.companion(name) for name in options["order"]]
        for name, part in zip(options["order"], listed, strict=True):
            if part is None:
                mistakes.add(("system", "order"), f'[system]: order: there is no part "{name}"')
        items = [part for part in listed if part is not None] + [x for x in items if x.name not in options["order"]]
    try:
        return System(items, **arguments)
    except (QuirkError, TypeError) as error:
        mistakes.add(("system",), str(error))
        return None


def _switch(system: System, options: Mapping[str, Any], mistakes: Mistakes) -> None:
    for key, switch in (("switched_on", system.activate), ("switched_off", system.deactivate)):
        try:
            switch(*options.get(key, ()))
        except QuirkError as error:
            mistakes.add(("system", key), f"[system]: {key}: {error}")


def _start(system: System, state: Any, mistakes: Mistakes) -> None:
    """Let runs start in the state that is given, or as far as it is."""
    if not isinstance(state, dict):
        mistakes.add(("state",), f"state must be a section [state]; got {state!r}")
        return
    keys = ("position", "orientation", "velocity", "angular_velocity")
    start, bodies = system.initial_state(), {body.name: row for row, body in enumerate(system.bodies)}
    for key in state:
        if key not in ("angles", "internal", "body"):
            hint = suggestion(key, ("angles", "internal", "body"))
            mistakes.add(("state", key), f'[state]: there is no "{key}"; {hint}')
    moved = state.get("body", [])
    if not isinstance(moved, list) or not all(isinstance(table, dict) for table in moved):
        mistakes.add(("state", "body"), "[state]: write a section [[state.body]] for each body")
        moved = []
    for k, table in enumerate(moved):
        name = table.get("name")
        if not isinstance(name, str) or name not in bodies:
            hint = suggestion(str(name), bodies)
            mistakes.add(("state", "body", k), f"[[state.body]]: there is no body {name!r}; {hint}")
            continue
        for key, value in table.items():
            path = ("state", "body", k, key)
            if key in keys:
                part = getattr(start, key)
                try:
                    part[bodies[name]] = validate.array(f'state of "{name}"', key, value, part.shape[1:])
                except InputError as error:
                    mistakes.add(path, str(error))
            elif key != "name":
                mistakes.add(path, f'state of "{name}": there is no "{key}"; {suggestion(key, keys)}')
    for key in ("angles", "internal"):
        setattr(start, key, state.get(key, {}))
    if mistakes.found or not state:
        return
    try:
        checked = system.checked(start)
    except (QuirkError, TypeError) as error:
        mistakes.add(("state",), str(error))
        return
    system._initial = _as_given(start, checked)


def _as_given(start: State, checked: State) -> State:
    """Return a checked state with those quaternions as they were given that are of unit length already."""
    lengths = np.linalg.norm(start.orientation, axis=1, keepdims=True)
    unit = np.abs(lengths - 1.0) < 4 * np.finfo(float).eps
    checked.orientation = np.where(unit, start.orientation, checked.orientation)
    return checked


def _run(tables: Mapping[str, Any], maker: PartMaker, mistakes: Mistakes) -> dict[str, Any]:
    """Return the arguments of `simulate` that [run] gives."""
    section = dict(_section(tables, "run", mistakes))
    known = [key for key in inspect.signature(simulate).parameters if key not in (*ELSEWHERE, "events")]
    events = section.pop("event", [])
    for key in section:
        if key not in known:
            mistakes.add(("run", key), f'[run]: there is no "{key}"; {suggestion(key, (*known, "event"))}')
    if "run" in tables and "duration" not in section:
        mistakes.add(("run",), "[run]: it needs duration, in s")
    if not isinstance(events, list) or not all(isinstance(table, dict) for table in events):
        mistakes.add(("run", "event"), "[run]: write a section [[run.event]] for each event")
        return section
    made = [maker.event_of_run(k, table) for k, table in enumerate(events)]
    listed = [event for one in made for event in (one if isinstance(one, list) else [one]) if event is not FLAWED]
    return {**section, "events": listed} if listed else section
